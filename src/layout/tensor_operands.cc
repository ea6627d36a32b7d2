// See tensor_operands.h. Which lanes a row has is read off D's cells, so that no data path is stated twice.
#include "layout/tensor_operands.h"

#include <algorithm>

namespace lemma::layout {

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
  const bool dense = kind == TensorKind::mxf4 || kind == TensorKind::mxf4nvf4;
  return dense ? element_bits(format) : std::max(element_bits(format), 8u);
}

std::vector<uint32_t> lanes_of_row(DataPath path, uint32_t m, uint32_t n, uint32_t row, uint32_t half) {
  std::vector<uint32_t> lanes;
  const uint32_t columns = accumulator_columns(path, n);
  for (uint32_t column = 0; column < n; column += columns)
    lanes.push_back(accumulator_cell(path, m, n, row, column, half).cell.lane);
  return lanes;
}

} // namespace lemma::layout
