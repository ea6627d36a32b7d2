// A chunk is four cells of each lane that its row goes to.
#include "vgpu/async/tensor_cp.h"

#include <cstring>

namespace lemma::vgpu {

bool accesses(const TensorCp& cp, const Cta& cta, uint32_t column, uint32_t count) {
  return cp.ctas.contains(cta) && cp.to.column < column + count &&
         column < cp.to.column + layout::copy_columns(cp.shape);
}

void each_cell_written(const TensorCp& cp, const TensorVisit& visit) {
  TensorLanes lanes{};
  for (uint32_t row = 0; row < layout::copy_rows(cp.shape); ++row)
    for (const uint8_t of_row : layout::copy_lanes(cp.shape, cp.multicast, row)) {
      const uint32_t lane = cp.to.lane + of_row;
      lanes[lane / kWarpSize] |= LaneMask{1} << lane % kWarpSize;
    }
  for (const Cta* cta : cp.ctas)
    for (uint32_t column = 0; column < layout::copy_columns(cp.shape); ++column)
      visit(*cta, cp.to.column + column, lanes);
}

void each_source(const TensorCp& cp, const AsyncOperation::Visit& visit) {
  for (Cta* cta : cp.ctas)
    for (uint32_t i = 0; i < layout::copy_rows(cp.shape) * cp.row_chunks(); ++i)
      visit(place_of({cta, cp.chunk(i)}), layout::kChunkBytes);
}

namespace {

void copy_in(const TensorCp& cp, const Cta& cta) {
  constexpr uint32_t kCells = layout::kChunkBytes / 4;
  TensorMemory& memory = *cta.tensor.memory;
  for (uint32_t i = 0; i < layout::copy_rows(cp.shape) * cp.row_chunks(); ++i) {
    std::byte chunk[layout::kChunkBytes];
    std::memcpy(chunk, cta.async_read(cp.chunk(i)), sizeof chunk);
    if (cp.packed_bits < 8)
      unpack_chunk(chunk, cp.packed_bits);
    uint32_t cells[kCells];
    std::memcpy(cells, chunk, sizeof cells);
    for (const uint8_t of_row : layout::copy_lanes(cp.shape, cp.multicast, i / cp.row_chunks()))
      for (uint32_t cell = 0; cell < kCells; ++cell) {
        const uint32_t column = cp.to.column + i % cp.row_chunks() * kCells + cell,
                       lane = cp.to.lane + of_row;
        memory.column(column)[lane] = cells[cell];
        memory.written(column)[lane / kWarpSize] |= LaneMask{1} << lane % kWarpSize;
      }
  }
}

} // namespace

void execute(const TensorCp& cp) {
  for (const Cta* cta : cp.ctas)
    copy_in(cp, *cta);
}

} // namespace lemma::vgpu
