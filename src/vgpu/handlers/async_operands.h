// What the asynchronous instructions have in common: addresses in the cluster's shared memory, mbarriers,
// where copies that signal one go to, and what becomes of an mbarrier when they complete.
//
// One rule for all of them: the mbarrier lies in the CTA that the data go to. PTX ISA: of
// cp.async.bulk.tensor with .cta_group::1, the default, and of st.async and red.async ("belong to the same
// CTA"); a multicast signals the mbarrier "in the shared memory of the destination CTA". (.cta_group::2,
// which is not modelled, may name the peer's.)
//
// Tests: tests/unit/vgpu/mbarrier_test.cc, async_copy_test.cc, tensor_copy_test.cc.
#pragma once

#include "vgpu/decoder.h"
#include "vgpu/mbarrier.h"

#include <optional>

namespace lemma::vgpu {

// Places an address operand as a source: its base register, or the constant 0 where the offset is all of it.
struct PlacedAddress {
  Slot base;
  int64_t offset = 0;
  isa::StateSpace space = isa::StateSpace::generic;
};
PlacedAddress place_address(Decoder& decoder, const ptx::Instruction& instruction,
                            const ptx::Operand& operand);

// The address in each lane: source `index` plus the offset.
uint64_t lane_address(const Exec& x, const DecodedInst& in, int index, int64_t offset, int lane);

// A place in shared memory; no CTA if it is not there.
inline MbarrierPlace shared_place(const MemoryPlace& place) {
  return {place.cta, place.cta ? static_cast<uint32_t>(place.offset) : 0};
}

// The mbarrier at an address, checked: in shared memory, aligned, initialized. No CTA after a fault.
MbarrierPlace find_mbarrier(Exec& x, const DecodedInst& in, isa::StateSpace space, uint64_t address,
                            int lane);

// Where an asynchronous operation puts its data and what it signals, in one CTA.
struct CopyTarget {
  MbarrierPlace data, mbarrier;
};

// The targets of an operation whose operands name `data` and the mbarrier at `mbarrier_address`: those
// places, or with a CTA mask the same ones in every CTA that it names. Checked; empty after a fault.
std::vector<CopyTarget> find_targets(Exec& x, const DecodedInst& in, int lane, const MbarrierPlace& data,
                                     isa::StateSpace mbarrier_space, uint64_t mbarrier_address,
                                     std::optional<uint16_t> cta_mask);

// What an operation does to an mbarrier when it is done. That may be long after its instruction, and the
// mbarrier may be gone, or have no room for the change: then the fault is the instruction's.
class Completion {
public:
  Completion(const Exec& x, const DecodedInst& in, int lane)
      : launch_(x.launch), code_(x.code), cta_(x.cta), warp_(x.warp), in_(&in), lane_(lane) {}
  void complete_bytes(const MbarrierPlace& at, uint32_t bytes) const;
  void arrive(const MbarrierPlace& at) const;

private:
  void change(const MbarrierPlace& at, const MbarrierChange& change) const;

  Launch* launch_;
  const Code* code_;
  Cta* cta_;
  Warp* warp_;
  const DecodedInst* in_;
  int lane_;
};

// Issues a checked operation. False if it has completed already and that was a fault.
bool start(Exec& x, int lane, AsyncOperation operation);

// Adds a warning about the instruction to the launch's report, unless it is there already.
void warn(Exec& x, const DecodedInst& in, const std::string& message);

} // namespace lemma::vgpu
