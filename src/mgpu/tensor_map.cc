// Tensor maps of memrefs. See tensor_map.h.
#include "mgpu/tensor_map.h"

#include "mgpu/memref.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace lemma::mgpu {
namespace {

constexpr int64_t kMaxRank = 5;

constexpr uint32_t kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4}; // by TensorType

// TensorType, ... have the driver's numbers; `highest` is the last of them.
template <class Enum>
bool take(Enum& to, int32_t from, Enum highest) {
  to = static_cast<Enum>(from);
  return from >= 0 && from <= static_cast<int32_t>(highest);
}

// `values` of the memref's dimensions [0, count) as type T, last first.
template <class T>
OrFailure<std::vector<T>> reversed(const char* what, const int64_t* values, size_t count) {
  std::vector<T> out;
  for (size_t i = count; i-- > 0;) {
    if (values[i] < std::numeric_limits<T>::min() || values[i] > std::numeric_limits<T>::max())
      return wrong(fmt::format("tensor map: {} of dimension {} is {}: it must be from {} to {}", what, i,
                               values[i], std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    out.push_back(static_cast<T>(values[i]));
  }
  return out;
}

} // namespace

OrFailure<TensorMap> with_modes(const TensorModes& modes) {
  TensorMap map;
  const auto no_such = [](const char* what, int32_t value, const char* legal) {
    return wrong(fmt::format("tensor map: no {} {}: {}", what, value, legal));
  };
  if (!take(map.type, modes.type, TensorType::tf32_ftz))
    return no_such("element type", modes.type, "CUtensorMapDataType is 0 (u8) to 12 (tf32_ftz)");
  if (!take(map.interleave, modes.interleave, TensorInterleave::b32))
    return no_such("interleave", modes.interleave, "0 (none), 1 (16B) and 2 (32B)");
  if (!take(map.swizzle, modes.swizzle, TensorSwizzle::b128))
    return no_such("swizzle", modes.swizzle, "0 (none), 1 (32B), 2 (64B) and 3 (128B)");
  if (!take(map.l2_promotion, modes.l2_promotion, TensorL2::b256))
    return no_such("L2 promotion", modes.l2_promotion, "0 (none), 1 (64B), 2 (128B) and 3 (256B)");
  if (!take(map.oob_fill, modes.oob_fill, TensorFill::nan))
    return no_such("out-of-bounds fill", modes.oob_fill, "0 (zeros) and 1 (NaN)");
  return map;
}

OrFailure<TensorMap> of_memref(int64_t rank, const void* descriptor, const TensorModes& modes,
                               const int64_t* element_strides) {
  OrFailure<TensorMap> map = with_modes(modes);
  if (!map)
    return map;
  if (rank < 1 || rank > kMaxRank)
    return wrong(fmt::format("tensor map: the memref has {} dimensions; a tensor has 1 to 5", rank));
  if (!descriptor)
    return wrong("tensor map: the memref's descriptor is null");
  const MemRef memref = MemRef::of(rank, descriptor);
  const auto n = static_cast<size_t>(rank);
  if (memref.sizes[n - 1] > 1 && memref.strides[n - 1] != 1)
    return wrong(
        fmt::format("tensor map: the memref's innermost stride is {}; elements must be adjacent (stride 1)",
                    memref.strides[n - 1]));
  const int64_t element_bytes = kElementBytes[static_cast<size_t>(map->type)];
  map->address = reinterpret_cast<uintptr_t>(memref.aligned) +
                 static_cast<uint64_t>(memref.offset) * static_cast<uint64_t>(element_bytes);
  for (size_t i = n; i-- > 0;) {
    if (memref.sizes[i] < 1)
      return wrong(fmt::format("tensor map: the memref's dimension {} has size {}; it must be from 1 up", i,
                               memref.sizes[i]));
    map->dims.push_back(static_cast<uint64_t>(memref.sizes[i]));
  }
  for (size_t i = n - 1; i-- > 0;) {
    if (memref.strides[i] < 0 || memref.strides[i] > INT64_MAX / element_bytes)
      return wrong(fmt::format("tensor map: the memref's dimension {} has stride {}; it must not be negative",
                               i, memref.strides[i]));
    map->strides_bytes.push_back(static_cast<uint64_t>(memref.strides[i] * element_bytes));
  }
  if (element_strides) {
    auto strides = reversed<uint32_t>("the element stride", element_strides, n);
    if (!strides)
      return Unexpected<Failure>{strides.error()};
    map->element_strides = *std::move(strides);
  }
  return map;
}

OrFailure<void> set_box(TensorMap& map, const int64_t* box) {
  if (!box)
    return wrong("tensor map: the box is null");
  auto sizes = reversed<uint32_t>("the box", box, map.dims.size());
  if (!sizes)
    return Unexpected<Failure>{sizes.error()};
  map.box = *std::move(sizes);
  return {};
}

OrFailure<void> set_im2col(TensorMap& map, const int64_t* lower, const int64_t* upper, int64_t channels,
                           int64_t pixels) {
  const size_t rank = map.dims.size();
  if (rank < 3)
    return wrong(fmt::format("tensor map: an im2col tensor has 3 to 5 dimensions, not {}", rank));
  if (!lower || !upper)
    return wrong("tensor map: a corner of the im2col box is null");
  for (const auto& [what, value] : {std::pair{"channels", channels}, std::pair{"pixels", pixels}})
    if (value < 1 || value > UINT32_MAX)
      return wrong(fmt::format("tensor map: {} {}: it must be from 1 up", value, what));
  auto low = reversed<int32_t>("the lower corner", lower, rank - 2);
  if (!low)
    return Unexpected<Failure>{low.error()};
  auto high = reversed<int32_t>("the upper corner", upper, rank - 2);
  if (!high)
    return Unexpected<Failure>{high.error()};
  map.im2col = TensorIm2col{.lower = *std::move(low),
                            .upper = *std::move(high),
                            .channels_per_pixel = static_cast<uint32_t>(channels),
                            .pixels_per_column = static_cast<uint32_t>(pixels)};
  return {};
}

} // namespace lemma::mgpu
