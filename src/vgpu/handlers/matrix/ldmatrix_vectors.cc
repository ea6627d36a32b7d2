// Picks by level, number and `.trans`; the loops stand in ldmatrix_vectors.inc.
#include "vgpu/handlers/arithmetic/levels.h"
#include "vgpu/handlers/matrix/ldmatrix.h"
#include "vgpu/handlers/memory/memory_handlers.h"
#include "vgpu/memory/find_access.h"

#include <array>
#include <immintrin.h>

namespace lemma::vgpu {
namespace {

// By matrices, 1, 2 and 4, and `.trans`.
using VectorLdmatrix = std::array<std::array<Handler, 2>, 3>;

} // namespace
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/matrix/ldmatrix_vectors.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {

Handler vector_ldmatrix(int matrices, bool transposed) {
  static const LeveledTables<VectorLdmatrix> tables(LEMMA_FILLS);
  return tables.now()[static_cast<size_t>(matrices / 2)][transposed];
}

} // namespace lemma::vgpu
