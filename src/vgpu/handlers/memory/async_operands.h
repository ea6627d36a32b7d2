// What the asynchronous instructions have in common: addresses in the cluster's shared memory, mbarriers,
// where copies that signal one go to.
//
// One rule for all of them: the mbarrier lies in the CTA that the data go to. PTX ISA: of
// cp.async.bulk.tensor with .cta_group::1, the default, and of st.async and red.async ("belong to the same
// CTA"); a multicast signals the mbarrier "in the shared memory of the destination CTA". With .cta_group::2
// it may lie in that CTA's peer too, and each CTA of a multicast signals in its own pair the CTA whose rank
// is as odd or as even as that of the mbarrier's.
//
// Tests: tests/unit/vgpu/mbarrier_test.cc, async_copy_test.cc, tensor_copy_test.cc, tensor_rows_test.cc,
// tensor_pair_test.cc.
#pragma once

#include "vgpu/async/mbarrier.h"
#include "vgpu/code/decoder.h"

#include <optional>

namespace lemma::vgpu {

// The address in each lane: source `index` plus the offset.
uint64_t lane_address(const Exec& x, const DecodedInst& in, int index, int64_t offset, int lane);

// Is there a CTA mask, of 16 bits?
inline bool names_ctas(const ptx::Instruction& instruction) {
  return instruction.has(isa::Qual::multicast_cluster) || instruction.has(isa::Qual::multicast_cluster_16b);
}

// A place in shared memory; no CTA if it is not there.
inline SharedPlace shared_place(const MemoryPlace& place) {
  return {place.cta, place.cta ? static_cast<uint32_t>(place.offset) : 0};
}

// The mbarrier at an address, checked: in shared memory, aligned, initialized. No CTA after a fault.
SharedPlace find_mbarrier(Exec& x, const DecodedInst& in, isa::StateSpace space, uint64_t address, int lane);

// The targets of an operation whose operands name `data` and the mbarrier at `mbarrier_address`: those
// places, or with a CTA mask the same ones in every CTA that it names. `cta_group`: 2 where the mbarrier may
// be in the peer. Checked; empty after a fault.
std::vector<AsyncTarget> find_targets(Exec& x, const DecodedInst& in, int lane, const SharedPlace& data,
                                      isa::StateSpace mbarrier_space, uint64_t mbarrier_address,
                                      std::optional<uint16_t> cta_mask, uint8_t cta_group = 1);

// What an operation is to access later, checked now. Bytes that it reads and that were never written are
// reported; what it writes counts as written once it completes. Null after a fault.
Access check_async(Exec& x, const DecodedInst& in, isa::StateSpace space, uint64_t address, uint32_t bytes,
                   uint32_t align, AccessKind kind, int lane);

// Issues a checked operation. False if it has completed already and that was a fault.
bool start(Exec& x, AsyncOperation operation);

} // namespace lemma::vgpu
