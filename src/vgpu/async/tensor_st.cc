// Cell by cell: a warp that stores late is one that runs to be looked at.
#include "vgpu/async/tensor_st.h"

#include <algorithm>

namespace lemma::vgpu {

bool accesses(const TensorSt& st, const Cta& cta, uint32_t column, uint32_t count) {
  return st.cta == &cta && std::ranges::any_of(*st.cells, [&](layout::TensorCell cell) {
           const uint32_t at = st.at.column + cell.column;
           return at >= column && at < column + count;
         });
}

void execute(const TensorSt& st) {
  TensorMemory& memory = *st.cta->tensor.memory;
  const size_t cells_of_value = st.packed ? 2 : 1;
  for (size_t i = 0; i < st.cells->size(); ++i) {
    const uint32_t value = st.values[i / cells_of_value], column = st.at.column + (*st.cells)[i].column,
                   lane = st.at.lane + (*st.cells)[i].lane;
    memory.column(column)[lane] = st.packed ? value >> 16 * (i % 2) & 0xffff : value;
    memory.written(column)[lane / kWarpSize] |= LaneMask{1} << lane % kWarpSize;
  }
}

} // namespace lemma::vgpu
