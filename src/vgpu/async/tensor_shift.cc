// Column by column: the cells of a column lie one after the other. What was never written stays so where it
// goes.
#include "vgpu/async/tensor_shift.h"

#include <cstring>

namespace lemma::vgpu {

bool accesses(const TensorShift& shift, const Cta& cta, uint32_t column, uint32_t count) {
  return shift.ctas.contains(cta) && shift.at.column < column + count &&
         column < shift.at.column + TensorShift::kColumns;
}

void each_cell(const TensorShift& shift, const TensorVisit& visit) {
  TensorLanes lanes{};
  lanes[shift.at.lane / kWarpSize] = kAllLanes;
  for (const Cta* cta : shift.ctas)
    for (uint32_t i = 0; i < TensorShift::kColumns; ++i)
      visit(*cta, shift.at.column + i, lanes);
}

void execute(const TensorShift& shift) {
  for (const Cta* cta : shift.ctas)
    for (uint32_t i = 0; i < TensorShift::kColumns; ++i) {
      TensorMemory& memory = *cta->tensor.memory;
      uint32_t* lanes = memory.column(shift.at.column + i) + shift.at.lane;
      std::memmove(lanes + 1, lanes, (kWarpSize - 1) * sizeof *lanes);
      LaneMask& written = memory.written(shift.at.column + i)[shift.at.lane / kWarpSize];
      written = written << 1 | (written & 1);
    }
}

} // namespace lemma::vgpu
