// Spellings of the shapes, which data path an instruction uses, and the tables of D and of tcgen05.cp. See
// tensor_memory.h.
#include "layout/tensor_memory.h"

#include <span>

namespace lemma::layout {
namespace {

constexpr std::array<std::string_view, 5> kShapes = {".32x32b", ".16x64b", ".16x128b", ".16x256b",
                                                     ".16x32bx2"};
constexpr std::array<std::string_view, 5> kCopyShapes = {".128x256b", ".4x256b", ".128x128b", ".64x128b",
                                                         ".32x128b"};
constexpr std::array<std::string_view, 4> kMulticasts = {"", ".warpx2::02_13", ".warpx2::01_23", ".warpx4"};

template <typename Enum>
std::optional<Enum> find(std::span<const std::string_view> names, std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return static_cast<Enum>(i);
  return std::nullopt;
}

} // namespace

std::optional<TensorShape> tensor_shape(std::string_view qualifier) {
  return find<TensorShape>(kShapes, qualifier);
}

std::string_view to_string(TensorShape shape) {
  return kShapes[static_cast<size_t>(shape)];
}

std::optional<DataPath> data_path(uint32_t m, uint32_t cta_group, bool ws, bool sparse) {
  if (cta_group == 2 && !ws) {
    if (m == 256)
      return DataPath::a;
    if (m == 128)
      return sparse ? DataPath::c : DataPath::b;
  }
  if (cta_group == 1) {
    if (m == 128)
      return DataPath::d;
    if (m == 64)
      return ws ? DataPath::e : DataPath::f;
    if (m == 32 && ws)
      return DataPath::g;
  }
  return std::nullopt;
}

AccumulatorCell accumulator_cell(DataPath path, uint32_t m, uint32_t n, uint32_t row, uint32_t column,
                                 uint32_t half) {
  const uint32_t rows = m / ctas_of(path); // of one CTA
  const uint32_t in_cta = row % rows;
  TensorCell cell{in_cta, column};
  switch (path) {
  case DataPath::a:
  case DataPath::d:
    break;
  case DataPath::b:
  case DataPath::e:
  case DataPath::g: { // blocks of columns below each other
    const uint32_t columns = accumulator_columns(path, n);
    cell = {in_cta + rows * (column / columns), column % columns};
    break;
  }
  case DataPath::c:
  case DataPath::f: // 16 lanes of each warp's 32
    cell.lane = in_cta / 16 * kWarpLanes + 16 * half + in_cta % 16;
    break;
  }
  return {row / rows, cell};
}

std::optional<CopyShape> copy_shape(std::string_view qualifier) {
  return find<CopyShape>(kCopyShapes, qualifier);
}

std::optional<CopyMulticast> copy_multicast(std::string_view qualifier) {
  return find<CopyMulticast>(kMulticasts, qualifier);
}

uint32_t copy_rows(CopyShape shape) {
  constexpr uint32_t kRows[] = {128, 4, 128, 64, 32};
  return kRows[static_cast<size_t>(shape)];
}

uint32_t copy_columns(CopyShape shape) {
  return shape == CopyShape::s128x256b || shape == CopyShape::s4x256b ? 8 : 4;
}

CopyLanes copy_lanes(CopyShape shape, CopyMulticast multicast, uint32_t row) {
  const auto lane = [](uint32_t value) { return static_cast<uint8_t>(value); };
  switch (shape) {
  case CopyShape::s128x256b:
  case CopyShape::s128x128b:
    if (multicast == CopyMulticast::none)
      return {{lane(row)}, 1};
    break;
  case CopyShape::s4x256b:
    if (multicast == CopyMulticast::none)
      return {{lane(row * kWarpLanes)}, 1};
    break;
  case CopyShape::s64x128b: // rows 0-31 go to the first two warps that the qualifier names
    if (multicast == CopyMulticast::warpx2_02_13)
      return {{lane(row), lane(row + 64)}, 2};
    if (multicast == CopyMulticast::warpx2_01_23) {
      const uint32_t first = row / 32 * 64 + row % 32;
      return {{lane(first), lane(first + 32)}, 2};
    }
    break;
  case CopyShape::s32x128b:
    if (multicast == CopyMulticast::warpx4)
      return {{lane(row), lane(row + 32), lane(row + 64), lane(row + 96)}, 4};
    break;
  }
  return {};
}

} // namespace lemma::layout
