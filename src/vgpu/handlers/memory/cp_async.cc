// cp.async, its groups, and cp.async.mbarrier.arrive.
//
// Copies of 4, 8 or 16 bytes from global to shared memory, each by a thread of its own. They belong to the
// generic proxy. Both memories are checked when a copy is issued. What was never written may be copied, and
// is not written by that.
//
// PTX ISA: "Data Movement and Conversion Instructions: cp.async". Tests: tests/unit/vgpu/async_copy_test.cc.
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/memory/async_operands.h"
#include "vgpu/handlers/memory/cp_async_vectors.h"
#include "vgpu/handlers/memory/lane_memory.h"
#include "vgpu/handlers/memory/lane_places.h"
#include "vgpu/memory/find_access.h"
#include "vgpu/memory/racing_copy.h"

#include <fmt/format.h>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using isa::Type;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

constexpr uint32_t kMaxBytes = 16;

// Sources: destination, source, and src-size or ignore-src.
struct CopyPlan {
  PlacedAddress to, from;
  uint32_t bytes = 0;
  bool has_source_size = false, has_ignore = false;
  LanePlaces lanes;
  CopyLanes copy = nullptr; // null: there is none
};

struct ArrivePlan {
  PlacedAddress address;
  bool noinc = false;
};

namespace {

// One lane's copy.
struct LaneCopy {
  MemoryPlace to, from;
  uint32_t bytes = 0, taken = 0;
};

bool prepare(Exec& x, const DecodedInst& in, int lane, LaneCopy& copy) {
  const auto& plan = x.plan<CopyPlan>(in);
  copy.bytes = copy.taken = plan.bytes;
  if (plan.has_source_size)
    copy.taken = static_cast<uint32_t>(x.src_lane(in, 2, lane));
  if (plan.has_ignore && (x.pred(in, 2) >> lane & 1))
    copy.taken = 0;
  if (copy.taken > plan.bytes) {
    x.fault(in, FaultKind::illegal_instruction,
            fmt::format("src-size is {}, more than the {} bytes of the copy (undefined behaviour)",
                        copy.taken, plan.bytes),
            lane);
    return false;
  }
  copy.to = check_place(x, in, StateSpace::shared, lane_address(x, in, 0, plan.to.offset, lane), plan.bytes,
                        plan.bytes, AccessKind::write, lane);
  if (!copy.to.host)
    return false;
  if (copy.taken != 0)
    copy.from = check_place(x, in, StateSpace::global, lane_address(x, in, 1, plan.from.offset, lane),
                            copy.taken, plan.bytes, AccessKind::copy, lane);
  return copy.taken == 0 || copy.from.host;
}

// Where the lanes of `taken` find their bytes, all of them written: `from` and the range of it; no host where
// one check for all does not say yes.
template <uint32_t kBytes>
Access find_sources(Exec& x, const DecodedInst& in, const CopyPlan& plan, LaneMask taken, uint64_t* from,
                    uint64_t& lowest) {
  AddressRange range = plan.lanes.place(x, in, 1, plan.from.offset, from);
  if (taken != x.active) { // what the others give is no address
    for (int lane = 0; lane < kWarpSize; ++lane)
      from[lane] = (taken >> lane & 1) ? from[lane] : from[std::countr_zero(taken)];
    range = range_of(from, kWarpSize);
  }
  lowest = range.lowest;
  const Access source = x.find_access(in, StateSpace::global, range.lowest,
                                      span_of(range.lowest, range.highest, kBytes), AccessKind::copy);
  if (!source || range.any_bits % kBytes != 0)
    return {};
  // Lines of a matrix are far apart: so all are on their way, not one after the other.
  for (int lane = 0; lane < kWarpSize; ++lane)
    __builtin_prefetch(source.host + (from[lane] - range.lowest));
  if (source.init)
    for (int lane = 0; lane < kWarpSize; ++lane)
      if (!source.was_written(from[lane] - range.lowest, kBytes))
        return {};
  return source;
}

// The copies of all active lanes at once, of kBytes each: those of `taken` from global memory, zeros for the
// others; or, where there is a `later`, what is to be done then. False, and nothing done, where one check for
// all of them does not say yes.
template <uint32_t kBytes>
bool copy_together(Exec& x, const DecodedInst& in, const CopyPlan& plan, LaneMask taken, LateCopy* later) {
  alignas(64) uint64_t to[kWarpSize], from[kWarpSize];
  Access source;
  uint64_t lowest = 0;
  if (taken != 0) {
    source = find_sources<kBytes>(x, in, plan, taken, from, lowest);
    if (!source)
      return false;
  }
  const AddressRange targets = plan.lanes.place(x, in, 0, plan.to.offset, to);
  const uint64_t span = span_of(targets.lowest, targets.highest, kBytes);
  const Access target = x.find_access(in, StateSpace::shared, targets.lowest, span, AccessKind::write);
  if (!target || targets.any_bits % kBytes != 0)
    return false;
  if (later) {
    later->taken = taken;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      later->to[lane] = static_cast<uint32_t>(target.offset + (to[lane] - targets.lowest));
      later->from[lane] = source.host + (taken != 0 ? from[lane] - lowest : 0);
    }
    return true;
  }
  for (int lane = 0; lane < kWarpSize; ++lane) // those that are not active have another's
    target.mark_written(to[lane] - targets.lowest, kBytes);
  if (taken == kAllLanes) {
    for (int lane = 0; lane < kWarpSize; ++lane)
      copy_racing(target.host + (to[lane] - targets.lowest), source.host + (from[lane] - lowest), kBytes);
    return true;
  }
  for_lanes(x.active, [&](int lane) {
    std::byte* const host = target.host + (to[lane] - targets.lowest);
    if (taken >> lane & 1)
      copy_racing(host, source.host + (from[lane] - lowest), kBytes);
    else
      std::memset(host, 0, kBytes);
  });
  return true;
}

bool copy_together(Exec& x, const DecodedInst& in, LateCopy* later = nullptr) {
  const auto& plan = x.plan<CopyPlan>(in);
  LaneMask taken = x.active;
  if (plan.has_ignore)
    taken &= ~x.pred(in, 2);
  if (plan.has_source_size) {
    if (x.src_slot(in, 2).bytes != sizeof(uint32_t))
      return false;
    const auto* bytes = x.src<uint32_t>(in, 2);
    const LaneMask whole = plan.lanes.equal(bytes, plan.bytes), others = x.active & ~whole;
    if (others != 0 && (others & ~plan.lanes.equal(bytes, 0)) != 0)
      return false;
    taken &= whole;
  }
  if (!later && taken == kAllLanes && plan.copy && plan.copy(x, in, plan.from.offset))
    return true;
  return plan.bytes == 16  ? copy_together<16>(x, in, plan, taken, later)
         : plan.bytes == 8 ? copy_together<8>(x, in, plan, taken, later)
                           : copy_together<4>(x, in, plan, taken, later);
}

// Is every copy done when it was issued, so that there are no groups to keep?
bool are_done(const Exec& x) {
  return x.launch->config.async == AsyncMode::eager;
}

// Do the warp's own records have its copies, and not the cluster's queue (late_copies.h)?
bool are_late(const Exec& x) {
  return x.launch->config.async == AsyncMode::late && !x.watch.is_on();
}

Step run_late_copy(Exec& x, const DecodedInst& in) {
  const auto& plan = x.plan<CopyPlan>(in);
  LateCopies& copies = x.warp->late_copies;
  MemoryBudget& budget = x.launch->memory->budget();
  LateCopy& together = copies.add(x.active, budget);
  together.bytes = plan.bytes;
  together.cta = x.cta;
  x.effect();
  if (copy_together(x, in, &together))
    return Step::next;
  copies.take_back();
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    LaneCopy copy;
    if (!prepare(x, in, lane, copy))
      return Step::stopped;
    LateCopy& one = copies.add(LaneMask{1} << lane, budget);
    one.bytes = copy.bytes;
    one.cta = x.cta;
    one.odd = LateCopy::Odd{.to = copy.to, .from = copy.from, .taken = copy.taken};
  }
  return Step::next;
}

Step run_copy(Exec& x, const DecodedInst& in) {
  if (are_late(x))
    return run_late_copy(x, in);
  const bool at_once = are_done(x) && !x.watch.is_on();
  if (at_once && copy_together(x, in)) {
    x.effect();
    return Step::next;
  }
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    LaneCopy copy;
    if (!prepare(x, in, lane, copy))
      return Step::stopped;
    if (at_once) { // as the operation would
      copy_cp_async(copy.to, copy.from, copy.bytes, copy.taken);
      continue;
    }
    AsyncOperation operation;
    operation.kind = AsyncKind::cp_async;
    operation.group = AsyncGroup::cp_async;
    operation.proxy = Proxy::generic;
    operation.issuer = x.issuer(in, lane);
    operation.source = copy.from;
    operation.source_bytes = copy.taken;
    operation.destination = copy.to;
    operation.bytes = copy.bytes;
    x.start_async(std::move(operation));
  }
  if (at_once)
    x.effect();
  return Step::next;
}

Step run_commit(Exec& x, const DecodedInst&) {
  if (are_late(x))
    x.warp->late_copies.commit(x.active);
  else if (!are_done(x))
    for_lanes(x.active, [&](int lane) { x.async().commit(x.thread(lane), AsyncGroup::cp_async); });
  x.watch.tell(&Observer::commits, x, AsyncGroup::cp_async, x.active);
  return Step::next;
}

Step run_wait(Exec& x, const DecodedInst& in) {
  if (are_late(x))
    x.warp->late_copies.wait(x.active, static_cast<uint64_t>(in.imm));
  else if (!are_done(x))
    for_lanes(x.active, [&](int lane) {
      x.async().wait(x.thread(lane), AsyncGroup::cp_async, static_cast<uint64_t>(in.imm));
    });
  x.watch.tell(&Observer::waits, x,
               {.group = AsyncGroup::cp_async, .pending = static_cast<uint64_t>(in.imm), .lanes = x.active});
  return Step::next;
}

// wait_all waits for what was not committed too.
Step run_wait_all(Exec& x, const DecodedInst&) {
  if (are_late(x))
    x.warp->late_copies.complete(x.active);
  else if (!are_done(x))
    for_lanes(x.active, [&](int lane) { x.async().complete(x.thread(lane), AsyncGroup::cp_async); });
  x.watch.tell(&Observer::waits, x, {.group = AsyncGroup::cp_async, .uncommitted = true, .lanes = x.active});
  return Step::next;
}

// Arrives when all copies that the thread has issued are done. Without .noinc the phase waits for one arrival
// more.
Step run_arrive(Exec& x, const DecodedInst& in) {
  const auto& plan = x.plan<ArrivePlan>(in);
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const SharedPlace at =
        find_mbarrier(x, in, plan.address.space, lane_address(x, in, 0, plan.address.offset, lane), lane);
    if (!at.cta)
      return Step::stopped;
    if (!plan.noinc && read_mbarrier(at).pending == kMbarrierMaxCount)
      return x.misuse(
          in, "mbarrier.count",
          fmt::format("cp.async.mbarrier.arrive on the mbarrier at shared address {:#x}: its phase waits "
                      "for {} arrivals already, the most there may be (undefined behaviour)",
                      at.offset, kMbarrierMaxCount),
          lane, {}, at.offset);
    if (!plan.noinc)
      expect_arrival(at);
    else if (const auto wrong = wrong_change(at, {.arrivals = 1}))
      return x.misuse(
          in, "mbarrier.count",
          fmt::format("cp.async.mbarrier.arrive.noinc on the mbarrier at shared address {:#x}: {} "
                      "(undefined behaviour)",
                      at.offset, *wrong),
          lane, {}, at.offset);
    AsyncOperation operation;
    operation.kind = AsyncKind::cp_async_arrive;
    operation.proxy = Proxy::generic;
    operation.issuer = x.issuer(in, lane);
    operation.targets.push_back({{}, at});
    if (!start(x, std::move(operation)))
      return Step::stopped;
  }
  return Step::next;
}

bool select_copy(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  const auto& operands = instruction.operands;
  auto& plan = d.make_plan<CopyPlan>(in);
  plan.to = d.address(0);
  plan.from = d.address(1);
  plan.bytes = static_cast<uint32_t>(operands[2].bits);
  if (plan.bytes != 4 && plan.bytes != 8 && plan.bytes != kMaxBytes)
    return false;
  std::vector<Slot> srcs{plan.to.base, plan.from.base};
  const bool has_policy = instruction.has(Qual::L2_cache_hint);
  if (operands.size() > (has_policy ? 4u : 3u)) {
    plan.has_ignore = operands[3].negated || (d.operands(3)[0].is_register() && d.operands(3)[0].bytes == 0);
    plan.has_source_size = !plan.has_ignore;
    srcs.push_back(d.src(3, plan.has_ignore ? Type::pred : Type::u32));
  }
  plan.lanes = lane_places();
  plan.copy = copy_lanes(plan.bytes);
  in.imm = plan.to.offset;
  in.width = static_cast<uint8_t>(plan.bytes);
  in.handler = run_copy;
  d.set_operands(in, {}, srcs);
  return true;
}

bool select_group(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  in.handler = instruction.opcode == Opcode::cp_async_commit_group ? run_commit
               : instruction.opcode == Opcode::cp_async_wait_group ? run_wait
                                                                   : run_wait_all;
  if (instruction.opcode == Opcode::cp_async_wait_group)
    in.imm = static_cast<int64_t>(instruction.operands[0].bits);
  d.set_operands(in, {}, {});
  return true;
}

bool select_arrive(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  auto& plan = d.make_plan<ArrivePlan>(in);
  plan.address = d.address(0);
  plan.noinc = instruction.has(Qual::noinc);
  in.handler = run_arrive;
  d.set_operands(in, {}, {plan.address.base});
  return true;
}

} // namespace

void add_cp_async_selectors(SelectorTable& table) {
  table.add(Opcode::cp_async, select_copy);
  table.add({Opcode::cp_async_commit_group, Opcode::cp_async_wait_group, Opcode::cp_async_wait_all},
            select_group);
  table.add(Opcode::cp_async_mbarrier_arrive, select_arrive);
}

} // namespace lemma::vgpu
