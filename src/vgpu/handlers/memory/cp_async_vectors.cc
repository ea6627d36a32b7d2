// Picks by level and size; the loop stands in cp_async_vectors.inc.
#include "vgpu/handlers/memory/cp_async_vectors.h"

#include "vgpu/handlers/arithmetic/levels.h"
#include "vgpu/handlers/memory/lane_memory.h"
#include "vgpu/handlers/memory/memory_handlers.h"
#include "vgpu/memory/find_access.h"

#include <array>
#include <immintrin.h>

namespace lemma::vgpu {
namespace {

using VectorCopies = std::array<CopyLanes, 3>; // of 4, 8 and 16 bytes

} // namespace
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/memory/cp_async_vectors.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {

CopyLanes copy_lanes(uint32_t bytes) {
  static const LeveledTables<VectorCopies> tables(LEMMA_FILLS);
  return tables.now()[static_cast<size_t>(bytes / 8)];
}

} // namespace lemma::vgpu
