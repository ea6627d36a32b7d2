// mbarrier.init, inval, arrive, arrive_drop, expect_tx, complete_tx, test_wait, try_wait, pending_count,
// check_layout.
//
// Lanes take their turns in order. What the ISA leaves undefined is a fault: an object that was not
// initialized, counts out of range, more arrivals than a phase waits for. The result of test_wait for a phase
// other than the current and the one before it is undefined too, but an object does not tell.
//
// Not here: the object itself (mbarrier.h), cp.async.mbarrier.arrive (cp_async.cc).
//
// PTX ISA: "Parallel Synchronization and Communication Instructions: mbarrier.*".
// Tests: tests/unit/vgpu/mbarrier_test.cc.
#include "vgpu/async/mbarrier.h"

#include "vgpu/engine/observer.h"
#include "vgpu/engine/waiting.h"
#include "vgpu/handlers/memory/async_operands.h"

#include <fmt/format.h>

#include <bit>
#include <cassert>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using isa::Type;
using ptx::Instruction;

struct MbarrierPlan {
  StateSpace space = StateSpace::generic;
  int64_t offset = 0;
  bool drop = false, expect_tx = false, no_complete = false, completes_tx = false;
  bool has_count = false;
  bool parity = false;   // of a wait: by parity, not by state
  bool may_park = false; // try_wait: at once
  bool is_v1 = false;    // init, check_layout
};

namespace {

SharedPlace find(Exec& x, const DecodedInst& in, int lane) {
  const auto& plan = x.plan<MbarrierPlan>(in);
  return find_mbarrier(x, in, plan.space, lane_address(x, in, 0, plan.offset, lane), lane);
}

// What lanes do to mbarriers, to who watches: accesses by warp, arrivals by mbarrier and phase.
class Watched {
public:
  Watched(const Exec& x, const DecodedInst& in, AccessKind kind)
      : x_(x), in_(in), kind_(kind), accesses_(x) {}
  ~Watched() noexcept(false) { // who watches may throw
    tell_arrival();
    tell_accesses();
  }
  Watched(const Watched&) = delete;

  bool is_on() const { return x_.watch.is_on(); }
  // Those so far; at the end at the latest.
  void tell_accesses() {
    if (!std::exchange(told_, true))
      accesses_.tell();
  }
  void access(const SharedPlace& at, int lane) {
    if (!is_on())
      return;
    Access access;
    access.space = StateSpace::shared;
    access.cta = at.cta;
    access.offset = at.offset;
    access.host = at.cta->shared.data() + at.offset;
    access.instruction = &in_;
    access.kind = kind_;
    access.order = in_.order;
    access.lanes = LaneMask{1} << lane;
    access.bytes = kMbarrierBytes;
    accesses_.add(lane, access);
  }
  void arrive(const SharedPlace& at, const MbarrierChange& change, bool parity, bool completes, int lane) {
    if (!is_on())
      return;
    if (arrival_.lanes && (arrival_.at.cta != at.cta || arrival_.at.offset != at.offset))
      tell_arrival();
    arrival_.at = at;
    arrival_.change.arrivals += change.arrivals;
    arrival_.change.dropped += change.dropped;
    arrival_.change.expect_bytes += change.expect_bytes;
    arrival_.parity = parity;
    arrival_.completes_phase = completes;
    arrival_.lanes |= LaneMask{1} << lane;
    if (completes)
      tell_arrival();
  }

private:
  void tell_arrival() {
    if (!arrival_.lanes)
      return;
    arrival_.x = &x_;
    arrival_.order = in_.order;
    x_.watch.tell(&Observer::arrives, arrival_);
    arrival_ = {};
  }

  const Exec& x_;
  const DecodedInst& in_;
  AccessKind kind_;
  bool told_ = false;
  PieceAccesses accesses_;
  MbarrierArrival arrival_;
};

// Calls f(lane), which says whether to go on, for the active lanes.
template <class F>
Step each_lane(Exec& x, F&& f) {
  for (LaneMask left = x.active; left != 0; left &= left - 1)
    if (!f(std::countr_zero(left)))
      return Step::stopped;
  return Step::next;
}

bool is_waited_for(const SharedPlace& at) {
  for (const auto& cta : at.cta->cluster->ctas)
    for (const Warp& warp : cta->warps)
      for (const Split& split : warp.splits)
        if (split.state == SplitState::at_mbarrier && split.mbarrier_rank == at.cta->rank &&
            split.mbarrier_offset == at.offset)
          return true;
  return false;
}

// mbarrier.init where an object is already: undefined, and on the hardware the new one takes its place. That
// does no harm unless somebody waits for a phase of the old one. False after a fault.
bool check_init(Exec& x, const DecodedInst& in, const SharedPlace& at, int lane) {
  if (!is_mbarrier(at))
    return true;
  if (is_waited_for(at)) {
    x.misuse(
        in, "mbarrier.init",
        fmt::format("mbarrier.init at shared address {:#x} of CTA rank {}, where threads wait for a phase "
                    "of the mbarrier that is there (undefined behaviour)",
                    at.offset, at.cta->rank),
        lane, {}, at.offset);
    return false;
  }
  x.remark(in,
           fmt::format(
               "mbarrier.init at shared address {:#x}, which holds an mbarrier already: mbarrier.inval has "
               "to end it first (undefined behaviour)",
               at.offset));
  return true;
}

Step run_init(Exec& x, const DecodedInst& in) {
  Watched watched(x, in, AccessKind::write);
  return each_lane(x, [&](int lane) {
    const auto& plan = x.plan<MbarrierPlan>(in);
    const uint64_t address = lane_address(x, in, 0, plan.offset, lane);
    const Access access =
        x.access(in, plan.space, address, kMbarrierBytes, kMbarrierBytes, AccessKind::write, lane);
    if (!access)
      return false;
    const SharedPlace at = shared_place(access);
    const auto count = static_cast<uint32_t>(x.src_lane(in, 1, lane));
    const uint32_t most = plan.is_v1 ? kMbarrierMaxCountV1 : kMbarrierMaxCount;
    if (!at.cta || count == 0 || count > most) {
      x.misuse(in, at.cta ? "mbarrier.count" : "mbarrier.init",
               at.cta ? fmt::format("mbarrier.init with a count of {}: legal are 1 to {}", count, most)
                      : fmt::format("an mbarrier lies in shared memory, but {:#x} does not", address),
               lane, {}, address);
      return false;
    }
    if (!check_init(x, in, at, lane))
      return false;
    init_mbarrier(at, count, plan.is_v1);
    watched.access(at, lane);
    return true;
  });
}

Step run_inval(Exec& x, const DecodedInst& in) {
  Watched watched(x, in, AccessKind::write);
  return each_lane(x, [&](int lane) {
    const SharedPlace at = find(x, in, lane);
    if (!at.cta)
      return false;
    inval_mbarrier(at);
    watched.access(at, lane);
    x.effect();
    return true;
  });
}

// arrive and arrive_drop, expect_tx and complete_tx: source 1 is the count of arrivals or of bytes.
Step run_change(Exec& x, const DecodedInst& in) {
  const auto& plan = x.plan<MbarrierPlan>(in);
  Watched watched(x, in, AccessKind::atomic);
  return each_lane(x, [&](int lane) {
    const SharedPlace at = find(x, in, lane);
    if (!at.cta)
      return false;
    const auto operand = static_cast<uint32_t>(plan.has_count ? x.src_lane(in, 1, lane) : 1);
    MbarrierChange change;
    if (plan.expect_tx || plan.completes_tx)
      change.expect_bytes = plan.completes_tx ? -int64_t{operand} : int64_t{operand};
    const Opcode opcode = x.ptx_instruction(in).opcode;
    const bool arrives = opcode == Opcode::mbarrier_arrive || opcode == Opcode::mbarrier_arrive_drop;
    if (arrives)
      change.arrivals = plan.expect_tx ? 1 : operand;
    change.dropped = plan.drop ? change.arrivals : 0;
    const Mbarrier before = read_mbarrier(at);
    std::optional<std::string> wrong = wrong_change(at, change);
    if (!wrong && arrives && change.arrivals == 0)
      wrong = "its count is 0: legal are 1 to 1048575";
    if (!wrong && plan.no_complete && change.arrivals == before.pending && before.pending_bytes == 0)
      wrong = "it completes the phase, which .noComplete promises not to do";
    if (wrong) {
      x.misuse(
          in, arrives ? "mbarrier.count" : "mbarrier.tx",
          fmt::format("{} on the mbarrier at shared address {:#x} of CTA rank {}: {} (undefined behaviour)",
                      isa::to_string(opcode), at.offset, at.cta->rank, *wrong),
          lane, {}, at.offset);
      return false;
    }
    if (in.dst_count)
      x.dst<uint64_t>(in)[lane] = before.encode();
    const bool completes = change_mbarrier(at, change);
    watched.access(at, lane);
    watched.arrive(at, change, before.parity, completes, lane);
    x.effect();
    return true;
  });
}

void add_wait(std::vector<MbarrierWait>& waits, const SharedPlace& at, bool parity, MemoryOrder order,
              int lane) {
  const LaneMask bit = LaneMask{1} << lane;
  for (MbarrierWait& wait : waits)
    if (wait.at.cta == at.cta && wait.at.offset == at.offset && wait.parity == parity) {
      wait.lanes |= bit;
      return;
    }
  waits.push_back({at, parity, bit, order});
}

// test_wait and try_wait: source 1 is the parity or the state of the phase that is waited for.
Step run_wait(Exec& x, const DecodedInst& in) {
  const auto& plan = x.plan<MbarrierPlan>(in);
  std::vector<MbarrierWait> waits_told; // by place and phase
  LaneMask done = 0;
  SharedPlace first;
  bool first_parity = false, same = true;
  const int first_lane = std::countr_zero(x.active);
  Watched watched(x, in, AccessKind::read);
  const Step step = each_lane(x, [&](int lane) {
    const uint64_t operand = x.src_lane(in, 1, lane);
    if (first.cta && !watched.is_on() && operand == x.src_lane(in, 1, first_lane) &&
        x.src_lane(in, 0, lane) == x.src_lane(in, 0, first_lane)) { // asks what the first one did
      done |= (done >> first_lane & 1) << lane;
      return true;
    }
    const SharedPlace at = find(x, in, lane);
    if (!at.cta)
      return false;
    if (plan.parity && operand > 1)
      x.remark(in,
               fmt::format("the phase parity is {}: legal are 0 and 1; its lowest bit is taken (undefined "
                           "behaviour)",
                           operand));
    const bool parity = plan.parity ? operand & 1 : operand >> 63 != 0;
    watched.access(at, lane);
    if (read_mbarrier(at).parity != parity ||
        has_ended(x.warp->splits[x.split], *at.cta, at.offset, parity)) {
      done |= LaneMask{1} << lane;
      if (watched.is_on())
        add_wait(waits_told, at, parity, in.order, lane);
    }
    if (!first.cta) {
      first = at;
      first_parity = parity;
    }
    same &= at.cta == first.cta && at.offset == first.offset && parity == first_parity;
    return true;
  });
  if (step != Step::next)
    return step;
  watched.tell_accesses(); // what they find is known to them afterwards
  for (const MbarrierWait& wait : waits_told)
    x.watch.tell(&Observer::finds_complete, x, wait);
  Split& split = x.warp->splits[x.split];
  const bool waits = done == 0 && same && !split.timed_out && (plan.may_park || test_failed_again(x));
  assert(!waits || first.cta); // some lane is active
  if (waits)
    return wait_at_mbarrier(x, *first.cta, first.offset, first_parity);
  split.timed_out = split.phase_ended = false;
  x.set_pred(in, 0, done);
  if (in.dst_count > 1) // nothing has been reported
    x.set_pred(in, 1, 0);
  if (in.dst_count > 2)
    for_lanes(x.active, [&](int lane) { x.dst<uint16_t>(in, 2)[lane] = 0; });
  return done != 0 ? go_on_after_wait(x) : Step::next;
}

Step run_check_layout(Exec& x, const DecodedInst& in) {
  LaneMask equal = 0;
  Watched watched(x, in, AccessKind::read);
  const Step step = each_lane(x, [&](int lane) {
    const SharedPlace at = find(x, in, lane);
    if (!at.cta)
      return false;
    watched.access(at, lane);
    equal |= LaneMask{read_mbarrier(at).is_v1 == x.plan<MbarrierPlan>(in).is_v1} << lane;
    return true;
  });
  if (step == Step::next)
    x.set_pred(in, 0, equal);
  return step;
}

Step run_pending_count(Exec& x, const DecodedInst& in) {
  for_lanes(x.active,
            [&](int lane) { x.dst<uint32_t>(in)[lane] = Mbarrier::decode(x.src_lane(in, 0, lane)).pending; });
  return Step::next;
}

bool select_mbarrier(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  const auto& operands = instruction.operands;
  const Opcode opcode = instruction.opcode;
  if (opcode == Opcode::mbarrier_pending_count) {
    in.handler = run_pending_count;
    d.set_operands(in, {d.dst(0, Type::u32)}, {d.src(1, Type::b64)});
    return true;
  }
  auto& plan = d.make_plan<MbarrierPlan>(in);
  const bool waits = opcode == Opcode::mbarrier_test_wait || opcode == Opcode::mbarrier_try_wait;
  const bool arrives = opcode == Opcode::mbarrier_arrive || opcode == Opcode::mbarrier_arrive_drop;
  const bool checks = opcode == Opcode::mbarrier_check_layout;
  // Of the address: after what is written, for which a wait may have two predicates and a byte.
  const bool reports_value = waits && operands[1].kind == ptx::OperandKind::reg;
  const size_t at = reports_value ? 2 : waits || arrives || checks ? 1 : 0;
  const PlacedAddress address = d.address(at);
  plan.space = address.space;
  plan.offset = address.offset;
  plan.drop = opcode == Opcode::mbarrier_arrive_drop;
  plan.expect_tx = opcode == Opcode::mbarrier_expect_tx || instruction.has(Qual::expect_tx);
  plan.completes_tx = opcode == Opcode::mbarrier_complete_tx;
  plan.no_complete = instruction.has(Qual::noComplete);
  plan.has_count = operands.size() > at + 1;
  plan.parity = instruction.has(Qual::parity);
  plan.may_park = opcode == Opcode::mbarrier_try_wait;
  plan.is_v1 = instruction.has(Qual::layout_v1);
  std::vector<Slot> dsts, srcs{address.base};
  if (waits || checks)
    d.add_dsts(dsts, 0, Type::pred);
  else if (arrives && operands[0].kind == ptx::OperandKind::reg)
    dsts.push_back(d.dst(0, Type::b64));
  if (reports_value)
    dsts.push_back(d.dst(1, Type::b8));
  if (plan.has_count)
    srcs.push_back(d.src(at + 1, waits && !plan.parity ? Type::b64 : Type::u32));
  in.handler = opcode == Opcode::mbarrier_init    ? run_init
               : opcode == Opcode::mbarrier_inval ? run_inval
               : waits                            ? run_wait
               : checks                           ? run_check_layout
                                                  : run_change;
  d.set_operands(in, dsts, srcs);
  return true;
}

} // namespace

void add_mbarrier_selectors(SelectorTable& table) {
  table.add({Opcode::mbarrier_init, Opcode::mbarrier_inval, Opcode::mbarrier_arrive,
             Opcode::mbarrier_arrive_drop, Opcode::mbarrier_expect_tx, Opcode::mbarrier_complete_tx,
             Opcode::mbarrier_test_wait, Opcode::mbarrier_try_wait, Opcode::mbarrier_pending_count,
             Opcode::mbarrier_check_layout},
            select_mbarrier);
}

} // namespace lemma::vgpu
