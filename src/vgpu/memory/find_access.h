// Where an address lies: Exec::find() as an inline function, for the handlers of which every warp instruction
// asks it. Parts of the Access that they do not look at are never made.
//
// Tests: tests/unit/vgpu/access_test.cc, memory_ops_test.cc.
#pragma once

#include "vgpu/engine/exec.h"

#include <algorithm>

namespace lemma::vgpu {

// A state space that an address lies in, and the address there.
struct Resolved {
  isa::StateSpace space;
  uint64_t address;
};

// What no window holds is global.
[[gnu::always_inline]] inline Resolved resolve(isa::StateSpace space, uint64_t address) {
  switch (space) {
  case isa::StateSpace::generic:
    if (address - kSharedWindow < kSharedWindowBytes)
      return {isa::StateSpace::shared_cluster, address - kSharedWindow};
    if (address - kLocalWindow < kWindowBytes)
      return {isa::StateSpace::local, address - kLocalWindow};
    if (address - kParamWindow < kWindowBytes)
      return {isa::StateSpace::param, address - kParamWindow};
    return {isa::StateSpace::global, address};
  default:
    return {space, address};
  }
}

inline bool within(uint64_t address, uint64_t bytes, uint64_t begin, uint64_t end) {
  return address >= begin && address <= end && bytes <= end - address;
}

[[gnu::always_inline]] inline const Translation* Exec::translated(uint64_t address, uint64_t bytes) const {
  return translations_.find(pc, address, bytes, launch->memory->generation());
}

[[gnu::always_inline]] inline const Translation* Exec::translate(uint64_t address, uint64_t bytes) {
  if (const Translation* entry = translated(address, bytes)) [[likely]]
    return entry;
  return translations_.renew(*launch->memory, pc, address, bytes);
}

// End of the lanes' local memory that is in use: what the running function's frame and its callers' hold.
inline uint64_t Exec::local_limit() const {
  const uint64_t capacity = warp->local_capacity;
  if (split >= warp->splits.size() || warp->splits[split].stack.empty())
    return capacity;
  return std::min<uint64_t>(capacity, warp->splits[split].stack.back().local_end());
}

// The CTA whose memory a shared address names, or null. `.shared::cta` may leave the rank out.
inline Cta* Exec::shared_owner(isa::StateSpace space, uint64_t address) const {
  const uint64_t rank = address >> kSharedRankShift;
  if (rank == cta->rank || (rank == 0 && space == isa::StateSpace::shared))
    return cta;
  if (space == isa::StateSpace::shared || rank >= cta->cluster->ctas.size())
    return nullptr;
  Cta* owner = cta->cluster->ctas[rank].get();
  return owner->is_finished() ? nullptr : owner;
}

[[gnu::always_inline]] inline Access Exec::find_access(const DecodedInst& in, isa::StateSpace space,
                                                       uint64_t address, uint64_t bytes, AccessKind kind) {
  const Resolved place = resolve(space, address);
  Access a;
  if (bytes == 0)
    return a;
  a.instruction = &in;
  a.kind = kind;
  a.order = in.order;
  a.lanes = active;
  a.bytes = bytes;
  a.space = place.space;
  a.offset = place.address;
  switch (place.space) {
  case isa::StateSpace::shared:
  case isa::StateSpace::shared_cluster: {
    Cta* owner = shared_owner(place.space, place.address);
    a.space = isa::StateSpace::shared;
    a.offset = place.address & kSharedOffsetMask;
    if (!owner || !within(a.offset, bytes, owner->shared_begin, owner->shared.size()))
      return a;
    a.cta = owner;
    if (writes(kind) ? !owner->written_pages.hold(a.offset, bytes) : !owner->find_written(a.offset, bytes))
      a.written = owner->shared_written.data() + a.offset;
    if (!owner->unpublished.empty()) {
      a.unpublished = owner->unpublished.data() + a.offset;
      a.unpublished_mark = unpublished_mark(*owner);
    }
    a.host = owner->shared.data() + a.offset;
    return a;
  }
  case isa::StateSpace::local:
    if (!within(place.address, bytes, 0, local_limit()))
      return a;
    a.host = warp->local.data() + place.address;
    a.lane_stride = warp->local_capacity;
    a.lanes_written = warp->local_written.data() + place.address;
    return a;
  case isa::StateSpace::param:
    if (writes(kind) || !within(place.address, bytes, 0, launch->params.size()))
      return a;
    a.host = launch->params.data() + place.address;
    return a;
  case isa::StateSpace::reg:
    if (!within(place.address, bytes, 0, code->param_bytes))
      return a;
    a.host = bases[0] + code->param_area_offset + place.address;
    a.lane_stride = code->param_bytes;
    return a;
  default: {
    const Translation* found = translate(place.address, bytes);
    // .const may be read through its generic address too.
    if (!found || (found->is_read_only ? writes(kind) : place.space == isa::StateSpace::const_))
      return a;
    a.space = found->is_read_only ? isa::StateSpace::const_ : isa::StateSpace::global;
    a.allocation = found->allocation;
    a.init = found->init;
    a.offset = place.address - found->begin;
    a.host = found->host + a.offset;
    return a;
  }
  }
}

// Exec::check() where the place alone is wanted, in memory that lanes share: without the rest of an Access it
// costs a third. No host after a fault.
[[gnu::always_inline]] inline MemoryPlace check_place(Exec& x, const DecodedInst& in, isa::StateSpace space,
                                                      uint64_t address, uint32_t bytes, uint32_t align,
                                                      AccessKind kind, int lane) {
  const Access found = x.find_access(in, space, address, bytes, kind);
  if (found && (address & (align - 1)) == 0 && found.lane_stride == 0)
    return found.at(0);
  return x.check(in, space, address, bytes, align, kind, lane);
}

} // namespace lemma::vgpu
