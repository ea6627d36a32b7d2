// Once a level, as arithmetic is; the loops stand in lane_moves.inc.
#include "vgpu/handlers/lane_moves.h"

#include "vgpu/handlers/levels.h"

#include <array>
#include <immintrin.h>

#define LEMMA_KERNELS "vgpu/handlers/lane_moves.inc"
#include "vgpu/handlers/levels.inc"

namespace lemma::vgpu {

const LaneMoves& lane_moves() {
  using Fill = void (*)(LaneMoves&);
  static const std::array<LaneMoves, kHostLevels> levels = [] {
    std::array<LaneMoves, kHostLevels> out;
    const Fill fills[kHostLevels] = {LEMMA_FILLS};
    for (size_t i = 0; i < out.size(); ++i)
      if (fills[i])
        fills[i](out[i]);
    return out;
  }();
  return levels[static_cast<size_t>(host_level())];
}

} // namespace lemma::vgpu
