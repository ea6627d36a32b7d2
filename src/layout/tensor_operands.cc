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

std::vector<TensorBits> TensorOperands::scale_a(uint32_t row, uint32_t index) const {
  const uint32_t in_cta = row % rows();
  std::vector<TensorBits> places;
  for (uint32_t quarter = 0; quarter < kQuarters; ++quarter)
    places.push_back({row / rows(),
                      {quarter * kWarpLanes + in_cta % kWarpLanes, in_cta / kWarpLanes},
                      (descriptor.scale_a_id + index) * kScaleBits});
  return places;
}

std::vector<TensorBits> TensorOperands::scale_b(uint32_t column, uint32_t index) const {
  const uint32_t in_block = accumulator_columns(path, descriptor.n), block = column / in_block,
                 place = column % in_block, quarters = kQuarters / column_blocks_of(path);
  std::vector<TensorBits> places;
  for (uint32_t cta = 0; cta < ctas_of(path); ++cta)
    for (uint32_t quarter = block * quarters; quarter < (block + 1) * quarters; ++quarter)
      places.push_back({cta,
                        {quarter * kWarpLanes + place % kWarpLanes, place / kWarpLanes},
                        (descriptor.scale_b_id + index) * kScaleBits});
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
