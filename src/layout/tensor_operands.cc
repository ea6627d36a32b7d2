// See tensor_operands.h. Which lanes a row has is read off D's cells, so that no data path is stated twice.
#include "layout/tensor_operands.h"

#include "layout/tensor_instruction_fields.h"
#include "layout/tensor_metadata.h"

#include <algorithm>

namespace lemma::layout {
namespace {

constexpr uint32_t kCellBits = 32, kScaleBits = 8, kQuarters = kTensorLanes / kWarpLanes;

} // namespace

uint32_t element_bits(TensorFormat format) {
  switch (format) {
  case TensorFormat::none:
    return 0;
  case TensorFormat::e2m1:
    return 4;
  case TensorFormat::e2m3:
  case TensorFormat::e3m2:
    return 6;
  case TensorFormat::f16:
  case TensorFormat::bf16:
    return 16;
  case TensorFormat::tf32:
  case TensorFormat::f32:
  case TensorFormat::s32:
    return 32;
  case TensorFormat::e4m3:
  case TensorFormat::e5m2:
  case TensorFormat::u8:
  case TensorFormat::s8:
    break;
  }
  return 8;
}

uint32_t a_element_bits(TensorKind kind, TensorFormat format) {
  return instruction_fields::is_f4(kind) ? element_bits(format) : std::max(element_bits(format), 8u);
}

uint32_t scales_of(const TensorInstructionDescriptor& descriptor, uint32_t scale_vec) {
  return descriptor.k96 ? scale_vec * 3 / 2 : scale_vec;
}

uint32_t columns_to_more_scales(uint32_t rows, uint32_t blocks) {
  constexpr uint32_t kTogether = 128;
  return (rows + kTogether - 1) / kTogether * kTogether / kWarpLanes / blocks;
}

std::vector<uint32_t> TensorOperands::lanes_of_row(uint32_t row) const {
  std::vector<uint32_t> lanes;
  const uint32_t columns = accumulator_columns(path, descriptor.n);
  for (uint32_t column = 0; column < descriptor.n; column += columns)
    lanes.push_back(accumulator_cell(path, descriptor.m, descriptor.n, row, column).cell.lane);
  return lanes;
}

std::vector<TensorBits> TensorOperands::d(uint32_t row, uint32_t column) const {
  const AccumulatorCell at = accumulator_cell(path, descriptor.m, descriptor.n, row, column);
  return {{at.cta, at.cell, 0}};
}

std::vector<TensorBits> TensorOperands::a(uint32_t row, uint32_t k) const {
  const uint32_t bit = k * a_element_bits(descriptor.kind, descriptor.a);
  std::vector<TensorBits> places;
  for (const uint32_t lane : lanes_of_row(row))
    places.push_back({row / rows(), {lane, bit / kCellBits}, bit % kCellBits});
  return places;
}

TensorBits TensorOperands::scale(uint32_t cta, uint32_t quarter, uint32_t row, uint32_t byte,
                                 uint32_t to_more) const {
  constexpr uint32_t kOfCell = kCellBits / kScaleBits;
  return {cta,
          {quarter * kWarpLanes + row % kWarpLanes, row / kWarpLanes + byte / kOfCell * to_more},
          byte % kOfCell * kScaleBits};
}

std::vector<TensorBits> TensorOperands::scale_a(uint32_t row, uint32_t index) const {
  const uint32_t to_more = columns_to_more_scales(rows(), 1);
  std::vector<TensorBits> places;
  for (uint32_t quarter = 0; quarter < kQuarters; ++quarter)
    places.push_back(scale(row / rows(), quarter, row % rows(), descriptor.scale_a_id + index, to_more));
  return places;
}

std::vector<TensorBits> TensorOperands::scale_b(uint32_t column, uint32_t index) const {
  const uint32_t in_block = accumulator_columns(path, descriptor.n), block = column / in_block,
                 place = column % in_block, blocks = column_blocks_of(path), quarters = kQuarters / blocks,
                 to_more = columns_to_more_scales(descriptor.n, blocks);
  std::vector<TensorBits> places;
  for (uint32_t cta = 0; cta < ctas_of(path); ++cta)
    for (uint32_t quarter = block * quarters; quarter < (block + 1) * quarters; ++quarter)
      places.push_back(scale(cta, quarter, place, descriptor.scale_b_id + index, to_more));
  return places;
}

std::vector<TensorBits> TensorOperands::metadata(uint32_t row, uint32_t chunk) const {
  const uint32_t cta = row / rows();
  const MetadataPlace at = metadata_place(a_element_bits(descriptor.kind, descriptor.a), row % rows(), chunk,
                                          descriptor.sparsity_selector);
  std::vector<TensorBits> places;
  for (const uint32_t lane : lanes_of_row(cta * rows() + at.lane_of_row))
    places.push_back({cta, {lane, at.column}, at.bit});
  return places;
}

} // namespace lemma::layout
