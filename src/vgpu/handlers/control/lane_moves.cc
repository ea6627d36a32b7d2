// Once a level, as arithmetic is; the loops stand in lane_moves.inc.
#include "vgpu/handlers/control/lane_moves.h"

#include "vgpu/handlers/arithmetic/levels.h"

#include <immintrin.h>

#define LEMMA_KERNELS "vgpu/handlers/control/lane_moves.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {

const LaneMoves& lane_moves() {
  static const LeveledTables<LaneMoves> tables(LEMMA_FILLS);
  return tables.now();
}

} // namespace lemma::vgpu
