// Once a level, as arithmetic is; the loops stand in lane_places.inc.
#include "vgpu/handlers/memory/lane_places.h"

#include "vgpu/handlers/arithmetic/levels.h"

#include <immintrin.h>

#define LEMMA_KERNELS "vgpu/handlers/memory/lane_places.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {

const LanePlaces& lane_places() {
  static const LeveledTables<LanePlaces> tables(LEMMA_FILLS);
  return tables.now();
}

} // namespace lemma::vgpu
