// The addresses of a warp's lanes with their range, by the host's vectors: lane_addresses() and range_of()
// (lane_memory.h) at the level in force. The decoder asks for it, and a plan keeps it.
//
// Tests: tests/unit/vgpu/async_copy_test.cc, matrix_test.cc.
#pragma once

#include "vgpu/handlers/memory/lane_memory.h"

namespace lemma::vgpu {

struct LanePlaces {
  // Source `index` plus an offset, of all lanes as lane_addresses() has them.
  AddressRange (*place)(const Exec& x, const DecodedInst& in, int index, int64_t offset,
                        uint64_t* at) = nullptr;
  // Has every lane the value of lane 0 in these two sources, of 4 or 8 bytes?
  bool (*are_uniform)(const Exec& x, const DecodedInst& in, int first, int second) = nullptr;
  // The lanes whose value is this one.
  LaneMask (*equal)(const uint32_t* lanes, uint32_t value) = nullptr;
};

const LanePlaces& lane_places();

} // namespace lemma::vgpu
