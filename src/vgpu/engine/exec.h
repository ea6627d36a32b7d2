// What an instruction handler sees: the lanes that execute, its operands, memory, and how to report a fault.
//
// A handler computes all active lanes of one warp instruction. Arithmetic handlers are loops over 32 lanes
// that the compiler vectorizes: compute every lane, keep the active ones (map1, map2, map3 below do that).
//
// Tests: tests/unit/vgpu/.
#pragma once

#include "numeric/dot_scratch.h"
#include "vgpu/compiled/state.h"
#include "vgpu/engine/launch.h"
#include "vgpu/engine/watch.h"
#include "vgpu/memory/access.h"

#include <array>
#include <bit>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace lemma::vgpu {

struct Resolved;   // find_access.h
class TensorChain; // handlers/tensor/tensor_chain.h

class Exec {
public:
  LaneMask active = 0;    // lanes that execute this instruction: the split's, less those whose guard is false
  LaneMask mask = 0;      // the split's lanes
  uint32_t pc = 0;        // of this instruction; a handler that returns Step::jumped has set it
  uint64_t executed = 0;  // instructions, since the warp's slice began
  bool gives_way = false; // the slice ends with this instruction
  std::byte* bases[2] = {nullptr, nullptr}; // frame, constant pool
  Warp* warp = nullptr;
  Cta* cta = nullptr;
  Launch* launch = nullptr;
  const Code* code = nullptr;
  Frame* frame = nullptr;
  size_t split = 0;    // index in Warp::splits; invalid after a call that adds or removes splits
  WorkerCounts stats;  // of this worker
  uint32_t worker = 0; // of the launch's threads
  CompiledState compiled;
  Watch watch; // of this cluster

  // --- operands
  // --------------------------------------------------------------------------------------------------- Index
  // 0 is the first destination, respectively the first source.
  template <class T>
  T* dst(const DecodedInst& in, int index = 0) const {
    return reinterpret_cast<T*>(bases[0] + (index == 0 ? in.dst_offset : dst_slot(in, index).offset));
  }
  template <class T>
  const T* src(const DecodedInst& in, int index) const {
    if (__builtin_constant_p(index) && index < DecodedInst::kNearSources)
      return reinterpret_cast<const T*>(bases[in.src_bases[index]] + in.src_offsets[index]);
    const Slot& slot = src_slot(in, index);
    return reinterpret_cast<const T*>(bases[slot.base] + slot.offset);
  }
  // The plan of an instruction that has one of type T.
  template <class T>
  const T& plan(const DecodedInst& in) const {
    return code->plan<T>(in);
  }
  const Slot& dst_slot(const DecodedInst& in, int index = 0) const { return code->dsts_of(in)[index]; }
  const Slot& src_slot(const DecodedInst& in, int index) const { return code->srcs_of(in)[index]; }
  // A predicate source as a mask of lanes.
  LaneMask pred(const DecodedInst& in, int index) const { return *src<LaneMask>(in, index); }
  // Writes the active lanes of a predicate destination.
  void set_pred(const DecodedInst& in, int index, LaneMask value) const {
    LaneMask* d = dst<LaneMask>(in, index);
    *d = (*d & ~active) | (value & active);
  }
  // The lanes that the instruction's guard lets execute.
  LaneMask guard(const DecodedInst& in) const {
    if (!in.guarded)
      return kAllLanes;
    const LaneMask value = *reinterpret_cast<const LaneMask*>(bases[0] + in.guard_offset);
    return in.guard_negated ? ~value : value;
  }
  // Lane value of an integer operand of 2, 4 or 8 bytes, zero-extended by its register's width.
  static uint64_t load_lane(const std::byte* lanes, int bytes, int lane) {
    switch (bytes) {
    case 2:
      return reinterpret_cast<const uint16_t*>(lanes)[lane];
    case 4:
      return reinterpret_cast<const uint32_t*>(lanes)[lane];
    default:
      return reinterpret_cast<const uint64_t*>(lanes)[lane];
    }
  }
  uint64_t src_lane(const DecodedInst& in, int index, int lane) const {
    const Slot& slot = src_slot(in, index);
    return load_lane(bases[slot.base] + slot.offset, slot.bytes, lane);
  }

  // --- memory ---
  // `generic` addresses are resolved by window; `shared_cluster` addresses name a CTA of the cluster and an
  // offset in its shared memory, `shared` ones this CTA (or none: then too it is this one); `local` are
  // offsets in the lane's local memory, `param` offsets in the kernel's parameters, `reg` offsets in the
  // lane's part of the frame's .param area, `const_` and `global` are device addresses.
  //
  // One lane's access to [address, address + bytes), bytes not 0. Checks bounds, that the address is a
  // multiple of `align`, write permission; for reads, counts a read of what was never written; for writes,
  // marks it written and notes an effect (none of a store to the .param area). Null after a fault: the
  // handler then returns Step::stopped.
  Access access(const DecodedInst& in, isa::StateSpace space, uint64_t address, uint32_t bytes,
                uint32_t align, AccessKind kind, int lane);
  // Where access() of so many bytes, a power of two, would fail past the end of memory and the launch may go
  // on there: reads of shared memory in the last unit that the CTA has, and what LaunchConfig::on_fault says.
  // What it accesses then; of shared memory a copy, whose `bytes` are those inside. Null otherwise, and
  // nothing was recorded.
  Access access_past_end(const DecodedInst& in, isa::StateSpace space, uint64_t address, uint32_t bytes,
                         AccessKind kind, int lane);
  // The same checks alone.
  Access check(const DecodedInst& in, isa::StateSpace space, uint64_t address, uint32_t bytes, uint32_t align,
               AccessKind kind, int lane);
  // [address, address + bytes) in every active lane at once. Where the answer is not simply yes (out of
  // bounds, read-only, no bytes) it is null and nothing was recorded: the caller goes lane by lane through
  // access(). Alignment, what was written before or is now, and effects are the caller's. Several addresses
  // have a range by span_of().
  Access find(const DecodedInst& in, isa::StateSpace space, uint64_t address, uint64_t bytes,
              AccessKind kind);
  // What find() has accepted for all active lanes, each `bytes` at its address, to who watches.
  void tell(const Access& range, const uint64_t* addresses, uint64_t lowest, uint32_t bytes,
            LanesLie lie = LanesLie::anyhow) const;
  // The same, inlined; in find_access.h.
  Access find_access(const DecodedInst& in, isa::StateSpace space, uint64_t address, uint64_t bytes,
                     AccessKind kind);
  // Where the range lies; null: no live allocation holds it. In find_access.h, inlined, too.
  const Translation* translate(uint64_t address, uint64_t bytes);
  // The same by what is known: null too where the allocation has to be looked up.
  const Translation* translated(uint64_t address, uint64_t bytes) const;
  // Where on the host a warp's copy to shared memory last read, and how far that was from the one before.
  struct Copied {
    uint64_t at = 0;
    uint64_t step = 0;
  } copied;
  // What a store of this CTA's marks in another's Cta::unpublished, or in its own.
  uint8_t unpublished_mark(const Cta& owner) const {
    return &owner == cta ? Cta::kByOwnThread : Cta::kByOtherCta;
  }
  // The CTA whose shared memory the address names (`shared` or `shared_cluster`); null if that is no CTA of
  // the cluster, one that has exited, or for `shared` another than this one. Its offset there is
  // `address & kSharedOffsetMask`.
  Cta* shared_owner(isa::StateSpace space, uint64_t address) const;

  // --- collective instructions ---
  // Warp-wide instructions wait until all lanes they name are here. `members[lane]` is each active lane's
  // membermask (exited lanes are not waited for). On true, `active` holds the lanes that execute now, lanes
  // that had been waiting here included; the handler works on them all. On false the handler returns
  // Step::reschedule. A fault (a lane that its own membermask does not name) makes it return false too, with
  // launch->stop set.
  bool converge(const DecodedInst& in, const uint32_t* members);
  // The same for `.aligned` instructions: all live lanes of the warp.
  bool converge_all(const DecodedInst& in);

  // --- asynchronous operations ---
  ThreadId thread(int lane) const { return {cta->rank, warp->index, static_cast<uint32_t>(lane)}; }
  AsyncIssuer issuer(const DecodedInst& in, int lane) const {
    return {launch, cta, warp, code, code->id_of(in), lane};
  }
  // Issues an operation for its issuer's thread. Everything about it has been checked.
  void start_async(AsyncOperation operation);
  AsyncQueue& async() const { return cta->cluster->async; }

  // --- reports
  // ------------------------------------------------------------------------------------------------------
  // Records the fault (the first one of a launch wins), stops the launch, returns Step::stopped.
  Step fault(const DecodedInst& in, FaultKind kind, std::string message, int lane = -1,
             std::vector<std::string> notes = {});
  // What the ISA leaves undefined, by its id of docs/checks.md: FaultKind::illegal_instruction.
  Step misuse(const DecodedInst& in, std::string_view id, std::string message, int lane = -1,
              std::vector<std::string> notes = {}, std::optional<uint64_t> address = {});
  // Out of bounds without an id is "memory.bounds".
  Step fault_at(const DecodedInst& in, FaultKind kind, std::string message, int lane, uint64_t address,
                std::vector<std::string> notes = {}, std::string_view id = {});
  void uninitialized(const DecodedInst& in, int lane, std::string what);
  // A warning of the launch, Report::warnings: the first of an instruction, and how often it had one. Of what
  // the ISA leaves undefined and the hardware runs all the same, for one.
  void remark(const DecodedInst& in, std::string text);
  // The first byte of the lane's access that was never written, if there is one.
  void report_unwritten(const Access& access, int lane);
  // Counts a read of the instruction's source `index` in those of the lanes that have never written it.
  void check_written(const DecodedInst& in, int index, LaneMask lanes) {
    const uint32_t reg = src_slot(in, index).reg();
    if (src_slot(in, index).base == 0 && reg != ptx::kNone && code->tracked[reg])
      check_register(in, reg, lanes);
  }
  void check_register(const DecodedInst& in, uint32_t reg, LaneMask lanes);
  // Notes that something happened which another warp can see: the warp is not merely polling.
  void effect() { ++warp->effects; }
  // All 32 lanes execute and nobody watches: what quick paths are for.
  bool is_quick() const { return (active & quick_) == kAllLanes; }
  // Whom the turn of a warp is told to from now on.
  void watch_by(Watch who) {
    watch = who;
    quick_ = who.is_on() ? 0 : kAllLanes;
  }
  // Handlers that do the work of the instructions after theirs too, or find it done. May they be passed over?
  // Not where somebody watches or counts them, or a part of the warp is elsewhere.
  bool may_pass_over() const {
    return mask == kAllLanes && !watch.is_on() && !late_wgmma && launch->config.max_instructions == 0;
  }
  // On to what comes `count` instructions after this one; those between count as executed.
  Step pass_over(uint32_t count) {
    executed += count - 1;
    pc += count;
    return Step::jumped;
  }
  void note_approximate() { approximate = true; }
  bool late_wgmma =
      false; // registers may be in flight: see wait_for_registers() (handlers/matrix/wgmma_groups.h)
  bool approximate = false;
  bool float_atomics = false;                // Report::float_atomics
  numeric::DotScratch dot_scratch;           // this worker's, for its matrix products
  std::shared_ptr<TensorChain> tensor_chain; // what tcgen05.mma has left for the next one; null: never any

  const ptx::Instruction& ptx_instruction(const DecodedInst& in) const {
    return code->function->instructions[in.source];
  }

private:
  friend class Emit; // compiled code knows where things are
  Step fail(const DecodedInst& in, Fault fault);
  template <class Satisfied>
  bool gather(const DecodedInst& in, Satisfied satisfied);
  void fill_unwritten(const Access& access, int lane) const;
  Access read_past_shared(const DecodedInst& in, const Resolved& place, uint32_t bytes, AccessKind kind,
                          int lane);
  struct Wrong; // what check() has refused
  void fault_global(const Wrong& wrong);
  void fault_shared(const Wrong& wrong);
  void fault_no_owner(const Wrong& wrong);
  void fault_outside(const Wrong& wrong);
  uint64_t local_limit() const;
  LaneMask quick_ = kAllLanes; // 0 where somebody watches
  Translations translations_;
  static constexpr size_t kMostLaneBytes = 32;                               // of one access
  std::array<std::array<std::byte, kMostLaneBytes>, kWarpSize> past_shared_; // read_past_shared()
};

// What an exception inside the virtual GPU is to a launch: memory that ran out, or a bug of ours.
std::pair<FaultKind, std::string> describe(const std::exception& problem);

// Calls f(lane) for every lane of the mask, lowest first. f returns nothing.
template <class F>
inline void for_lanes(LaneMask mask, F&& f) {
  for (; mask; mask &= mask - 1)
    f(std::countr_zero(mask));
}

// How many lanes a mask has. The host's own instruction for it is none that every host has, and a call
// elsewhere.
inline uint32_t lanes_of(LaneMask mask) {
  if (mask == kAllLanes)
    return kWarpSize;
  mask -= mask >> 1 & 0x55555555;
  mask = (mask & 0x33333333) + (mask >> 2 & 0x33333333);
  return ((mask + (mask >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

// d[lane] = values[lane] for the active lanes.
template <class T>
inline void keep_active(T* d, const T* values, LaneMask active) {
  if (active == kAllLanes) {
    std::memcpy(d, values, kWarpSize * sizeof(T));
    return;
  }
  for (int lane = 0; lane < kWarpSize; ++lane)
    d[lane] = (active >> lane & 1) ? values[lane] : d[lane];
}

// d = f(a), f(a, b), f(a, b, c) lane by lane. f is evaluated for inactive lanes too, so it must accept any
// bits.
template <class D, class A, class F>
inline void map1(const Exec& x, const DecodedInst& in, F f) {
  const A* a = x.src<A>(in, 0);
  D values[kWarpSize];
  for (int lane = 0; lane < kWarpSize; ++lane)
    values[lane] = f(a[lane]);
  keep_active(x.dst<D>(in), values, x.active);
}
template <class D, class A, class B, class F>
inline void map2(const Exec& x, const DecodedInst& in, F f) {
  const A* a = x.src<A>(in, 0);
  const B* b = x.src<B>(in, 1);
  D values[kWarpSize];
  for (int lane = 0; lane < kWarpSize; ++lane)
    values[lane] = f(a[lane], b[lane]);
  keep_active(x.dst<D>(in), values, x.active);
}
template <class D, class A, class B, class C, class F>
inline void map3(const Exec& x, const DecodedInst& in, F f) {
  const A* a = x.src<A>(in, 0);
  const B* b = x.src<B>(in, 1);
  const C* c = x.src<C>(in, 2);
  D values[kWarpSize];
  for (int lane = 0; lane < kWarpSize; ++lane)
    values[lane] = f(a[lane], b[lane], c[lane]);
  keep_active(x.dst<D>(in), values, x.active);
}

} // namespace lemma::vgpu
