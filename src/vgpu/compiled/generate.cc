// The code of a unit has a segment twice, for a part of the warp that is all 32 lanes, and for any lanes, if
// it has run both ways:
//
//   entry of s:  saves registers, goes to all:s or some:s
//   all:s        counts, ends the slice if it is over, the instructions of s, then the next segment's
//   some:s       the same with masks; where a part waits for this one, they go on together
//   asides       what is seldom done: handlers called for slow cases, parts that divide, ways out
//
// A branch on which lanes differ divides the part: the one that has the lower pc goes on, the other one waits
// at its segment (CompiledState::waiting), until the one that runs comes there. That is the order in which
// WarpRunner would run them.
#include "vgpu/compiled/generate.h"

#include "vgpu/compiled/emit.h"
#include "vgpu/compiled/jit_dump.h"
#include "vgpu/compiled/parts.h"
#include "vgpu/compiled/runtime.h"
#include "vgpu/engine/warp.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace lemma::vgpu {
namespace {

using asmjit::Label;

constexpr int kScratchBytes = kMostParts * kPartBytes; // at rsp, for emitters

class FirstError : public asmjit::ErrorHandler {
public:
  void handleError(asmjit::Error, const char*, asmjit::BaseEmitter*) override { failed = true; }
  bool failed = false;
};

class Generator {
public:
  Generator(asmjit::CodeHolder& holder, const Unit& unit, const Liveness& liveness, const uint32_t* join_pcs,
            bool is_watched, Exec& example)
      : unit_(unit), code_(*unit.code), x_(example), join_pcs_(join_pcs), is_watched_(is_watched),
        e_(holder, code_, liveness, example), a(e_.a), parts_(e_), leave_(a.newLabel()) {
    e_.make_slow = [this] { return make_slow(); };
    e_.make_skip = [this] { make_skip(); };
  }

  void run() {
    for (Copy& copy : copies_) {
      copy.labels.resize(unit_.segments.size());
      copy.loads.resize(unit_.segments.size());
      copy.held.resize(unit_.segments.size());
      copy.entries.resize(unit_.segments.size());
      for (size_t s = 0; s < unit_.segments.size(); ++s) {
        copy.labels[s] = a.newLabel();
        copy.loads[s] = a.newLabel();
      }
    }
    for (all_ = true;; all_ = false) {
      emit_segments();
      if (!all_)
        break;
    }
    for (uint32_t s = 0; s < unit_.segments.size(); ++s)
      for (Copy& copy : copies_)
        emit_entry(s, copy);
    name("entries");
    emit_enter();
    name("asides");
    e_.emit_asides();
    emit_leave();
    std::vector<Label> loads;
    for (const uint32_t pc : unit_.join_pcs)
      loads.push_back(copies_[1].loads[unit_.segment_at(pc)]);
    parts_.emit(loads);
    e_.emit_host_check();
    e_.emit_pool();
  }
  // Of the segments, for all lanes or for some; those without code have none that is valid.
  struct EntryLabels {
    Label entry, inside;
  };
  const std::vector<EntryLabels>& entries(bool for_all) const { return copies_[for_all ? 0 : 1].entries; }
  // What lies where, in the order of the code, and what each begins with.
  const std::vector<std::pair<Label, std::string>>& names() const { return names_; }
  uint32_t called() const { return called_; }

private:
  struct Copy {
    std::vector<Label> labels; // of segments, with what they begin with held
    std::vector<Label> loads;  // ... with nothing held
    std::vector<HeldValues> held;
    std::vector<EntryLabels> entries;
  };
  Copy& copy() { return copies_[all_ ? 0 : 1]; }

  // --- segments

  bool has_code(const Segment& segment) const { return all_ ? segment.for_all : segment.for_some; }

  // What a segment to which others jump begins with.
  HeldValues held_at(uint32_t s) const {
    const Segment& segment = unit_.segments[s];
    const bool holds = segment.zone != kNoZone && has_code(segment);
    return holds ? e_.held_in_zone(unit_.zones[segment.zone]) : HeldValues{};
  }

  void emit_segments() {
    bool falls = false;
    for (uint32_t s = 0; s < unit_.segments.size(); ++s) {
      const Segment& segment = unit_.segments[s];
      const bool inherits = falls && !segment.is_jumped_to && has_code(segment) &&
                            (all_ || segment.join_point == kNoJoinPoint) &&
                            (s == 0 || unit_.segments[s - 1].zone == segment.zone);
      if (!inherits) {
        const HeldValues held = held_at(s);
        if (falls)
          e_.change_held(held, segment.begin);
        else
          e_.set_held(held);
      }
      e_.prefer(segment.zone == kNoZone ? std::vector<Kept>{} : unit_.zones[segment.zone]);
      e_.forget_masks();
      copy().held[s] = e_.held();
      a.bind(copy().labels[s]);
      segment_ = s;
      name_segment(segment);
      if (has_code(segment))
        emit_segment(segment);
      else
        emit_way_out(segment);
      falls = has_code(segment) && segment.next != kNoSegment;
    }
  }

  void emit_segment(const Segment& segment) {
    if (!all_ && segment.join_point != kNoJoinPoint)
      emit_join(segment);
    // The slice's end, or another part's place within.
    const Label over = a.newLabel();
    a.cmp(x86::r15, e_.member(x_.compiled.end));
    a.jae(over);
    if (!all_) {
      a.cmp(e_.member(x_.compiled.meeting), segment.end);
      a.jb(over);
    }
    e_.aside([this, over, pc = segment.begin] {
      a.bind(over);
      leave_at(pc, 0, 0);
    });
    a.add(x86::r15, segment.counted);
    counted_after_ = segment.counted;
    lanes_after_ = segment.unguarded; // branches count themselves
    count_lanes(lanes_after_);
    for (uint32_t pc = segment.begin; pc < segment.end; ++pc)
      emit_instruction(pc, pc + 1 == segment.end ? &segment : nullptr);
    e_.mode(kHostDefaultMode);
    if (segment.next == kNoSegment && falls_through(code_, code_.insts[segment.end - 1]))
      leave_at(segment.end, 0, 0);
  }

  void name_segment(const Segment& segment) {
    if (!JitDump::wanted())
      return;
    const auto line = [&](uint32_t pc) {
      const uint32_t source = code_.insts[pc].source;
      return source == ptx::kNone
                 ? 0
                 : code_.module->source->line_column(code_.function->instructions[source].range.begin).line;
    };
    name(fmt::format("lines {} to {}, {} lanes", line(segment.begin), line(segment.end - 1),
                     all_ ? "all" : "some"));
  }
  // What follows, for who looks at the code.
  void name(std::string_view what) {
    if (!JitDump::wanted())
      return;
    names_.emplace_back(a.newLabel(), fmt::format("{} of {}", what, code_.function->name));
    a.bind(names_.back().first);
  }

  // In place of a segment's code.
  void emit_way_out(const Segment& segment) {
    if (!all_ && segment.join_point != kNoJoinPoint)
      emit_join(segment);
    leave_at(segment.begin, 0, 0);
  }

  bool counts_for_all(const DecodedInst& in) const { return in.source != ptx::kNone && !in.guarded; }

  // rbp += n * lanes of the part that runs. Overwrites rax.
  void count_lanes(int64_t n) {
    if (n == 0)
      return;
    if (all_) {
      a.add(x86::rbp, n * kWarpSize);
      return;
    }
    a.popcnt(x86::eax, x86::r14d);
    if (n != 1)
      a.imul(x86::rax, x86::rax, static_cast<int32_t>(n));
    a.add(x86::rbp, x86::rax);
  }

  // --- instructions

  void emit_instruction(uint32_t pc, const Segment* ends) {
    const DecodedInst& in = code_.insts[pc];
    if (in.source != ptx::kNone) {
      --counted_after_;
      lanes_after_ -= counts_for_all(in);
    }
    if (ends && (is_goto(in) || is_branch(code_, in))) {
      emit_branch(pc, in, *ends);
      return;
    }
    e_.begin_instruction(pc, all_);
    if (in.guarded && in.source != ptx::kNone && !in.guards_itself) {
      a.popcnt(x86::eax, x86::r10d);
      a.add(x86::rbp, x86::rax);
    }
    after_ = nullptr;
    const bool asks = in.checks_init || in.marks_written || in.always_run;
    // What is not modelled has no operands.
    const bool has_emitter = !asks && in.source != ptx::kNone && in.op_count != 0 && !is_told(in);
    const Emitter emitter = has_emitter ? emitters().find(code_.opcode_of(in)) : nullptr;
    if (!emitter || !emitter(e_, e_.text()))
      emit_call();
    e_.end_instruction();
    if (after_) {
      after_->held = e_.held();
      after_->mode = e_.mode();
      a.bind(after_->label);
      e_.forget_masks();
    }
  }

  // What comes after an instruction that some of its ways jump to.
  struct After {
    Label label;
    HeldValues held;
    uint32_t mode = kHostDefaultMode;
  };
  std::shared_ptr<After> after() {
    if (!after_)
      after_ = std::make_shared<After>(After{.label = a.newLabel(), .held = {}});
    return after_;
  }

  Label make_slow() {
    const Label slow = a.newLabel();
    e_.aside([this, slow, after = after(), counted = counted_after_, lanes = lanes_after_] {
      a.bind(slow);
      e_.store_new();
      call_handler(false, counted);
      const Label other = a.newLabel();
      a.test(x86::al, x86::al);
      a.jnz(other);
      if (is_structural(e_.in()))
        leave_if_changed(counted, lanes);
      e_.forget_held();
      e_.change_held(after->held);
      e_.mode(after->mode);
      a.jmp(after->label);
      a.bind(other);
      leave_after_call(counted, lanes);
    });
    return slow;
  }

  void make_skip() {
    const Label skip = a.newLabel();
    a.test(x86::r10d, x86::r10d);
    a.jz(skip);
    e_.aside([this, skip, after = after()] {
      a.bind(skip);
      e_.change_held(after->held);
      e_.mode(after->mode);
      a.jmp(after->label);
    });
  }

  // Calls the handler: the frame has everything, and nothing is held afterwards.
  void emit_call() {
    const DecodedInst& in = e_.in();
    const uint32_t pc = e_.pc();
    called_ += all_;
    const bool structural = is_structural(in);
    if (structural && !all_) { // such a handler looks at the warp's splits
      const Label divided = a.newLabel();
      a.cmp(e_.member(x_.compiled.waiting_at), 0);
      a.jne(divided);
      const uint32_t counted = counted_after_ + (in.source != ptx::kNone);
      const uint32_t lanes = lanes_after_ + counts_for_all(in);
      e_.aside([this, divided, pc, counted, lanes, guarded = in.guarded && in.source != ptx::kNone] {
        a.bind(divided);
        if (guarded && !e_.in().guards_itself) {
          a.popcnt(x86::eax, x86::r10d);
          a.sub(x86::rbp, x86::rax);
        }
        leave_at(pc, counted, lanes);
      });
    }
    e_.store_new();
    e_.mode(kHostDefaultMode);
    const Label done = a.newLabel();
    const bool asks = in.checks_init || in.marks_written;
    if (e_.active() == Lanes::guarded && !in.always_run && !asks) {
      a.test(x86::r10d, x86::r10d);
      a.jz(done);
    }
    call_handler(asks, counted_after_);
    const Label other = a.newLabel();
    a.test(x86::al, x86::al);
    a.jnz(other);
    e_.aside([this, other, counted = counted_after_, lanes = lanes_after_, opcode = code_.opcode_of(in)] {
      a.bind(other);
      if (opcode == isa::Opcode::call || opcode == isa::Opcode::ret)
        emit_follow(lanes);
      leave_after_call(counted, lanes);
    });
    if (structural)
      leave_if_changed(counted_after_, lanes_after_);
    a.bind(done);
    e_.forget_held();
    e_.forget_masks();
  }

  // After the handler of a call or a return, eax being what it returned: the code of the other function, if
  // there is some.
  void emit_follow(uint32_t lanes) {
    const Label stays = a.newLabel(), out = a.newLabel();
    a.cmp(x86::al, static_cast<uint8_t>(Step::reschedule));
    a.jne(out);
    a.cmp(e_.member(x_.compiled.is_divided), 0);
    a.jne(out);
    a.mov(x86::rdi, x86::r13);
    a.mov(x86::rax, reinterpret_cast<uint64_t>(is_watched_ ? &follow<true> : &follow<false>));
    a.call(x86::rax);
    a.test(x86::rax, x86::rax);
    a.jz(stays);
    a.mov(x86::rcx, x86::rax);
    count_lanes(-int64_t{lanes});
    a.mov(x86::r15, e_.member(x_.executed));
    a.mov(x86::rbx, e_.member(x_.bases[0]));
    a.mov(x86::r14d, e_.member(x_.mask));
    a.jmp(x86::rcx);
    a.bind(stays);
    a.mov(x86::eax, static_cast<uint32_t>(Step::reschedule));
    a.bind(out);
  }

  // After a handler that returned Step::next: lanes may have come or gone.
  void leave_if_changed(uint32_t counted, uint32_t lanes) {
    const Label changed = a.newLabel();
    a.cmp(e_.member(x_.mask), x86::r14d);
    a.jne(changed);
    e_.aside([this, changed, counted, lanes] {
      a.bind(changed);
      a.add(e_.member(x_.pc), 1);
      a.mov(x86::eax, static_cast<uint32_t>(Step::jumped));
      leave_after_call(counted, lanes);
    });
  }

  bool is_structural(const DecodedInst& in) const { return !in.computes && !leaves_parts_alone(in); }

  // May an observer be told of such an instruction? Its handler tells it.
  bool is_told(const DecodedInst& in) const { return is_watched_ && !in.computes; }

  // Handlers of which it is known that they look at no other part of the warp. An observer may.
  bool leaves_parts_alone(const DecodedInst& in) const {
    using isa::Opcode;
    if (is_told(in))
      return false;
    switch (code_.opcode_of(in)) {
    case Opcode::ld:
    case Opcode::ldu:
    case Opcode::st:
    case Opcode::atom:
    case Opcode::red:
      return true;
    case Opcode::none: // the decoder's own, but for the end of a function
      return !in.always_run;
    default:
      return false;
    }
  }

  // eax: what the handler returns. The frame has everything.
  void call_handler(bool asks, uint32_t counted) {
    const DecodedInst& in = e_.in();
    e_.mode(kHostDefaultMode);
    a.mov(e_.member(x_.pc), e_.pc());
    a.lea(x86::rax, x86::ptr(x86::r15, -static_cast<int32_t>(counted)));
    a.mov(e_.member(x_.executed), x86::rax);
    a.mov(e_.member(x_.active), e_.active() == Lanes::guarded ? x86::r10d : x86::r14d);
    a.mov(e_.member(x_.mask), x86::r14d);
    if (in.source != ptx::kNone)
      a.inc(e_.member(x_.stats.called[static_cast<size_t>(code_.opcode_of(in))]));
    a.mov(x86::rdi, x86::r13);
    a.mov(x86::rsi, reinterpret_cast<uint64_t>(&in));
    uint64_t callee = reinterpret_cast<uint64_t>(is_watched_ ? &call_with_care<true>
                                                 : asks      ? &call_with_care<false>
                                                             : &lemma::vgpu::call_handler);
    if (in.computes && !asks) // throws nothing
      callee = reinterpret_cast<uint64_t>(in.handler);
    a.mov(x86::rax, callee);
    a.vzeroupper();
    a.call(x86::rax);
  }

  // --- branches

  void emit_branch(uint32_t pc, const DecodedInst& in, const Segment& segment) {
    e_.mode(kHostDefaultMode);
    e_.begin_instruction(pc, all_);
    const bool backward = in.target() <= pc;
    if (!in.guarded) {
      go(in.target(), segment.target, backward && !is_goto(in));
      e_.end_instruction();
      return;
    }
    // r10d: the lanes that jump.
    const Label divide = a.newLabel(), stay = a.newLabel();
    const x86::Gp lanes = x86::r10d;
    a.test(lanes, lanes);
    a.jz(stay);
    if (all_)
      a.cmp(lanes, -1);
    else
      a.cmp(lanes, x86::r14d);
    a.jne(divide);
    e_.aside([this, divide, &segment] {
      a.bind(divide);
      emit_divide(segment);
    });
    const HeldValues held = e_.held();
    count_lanes(1);
    go(in.target(), segment.target, backward);
    e_.set_held(held);
    a.bind(stay);
    e_.end_instruction();
  }

  // Goes to a segment, or leaves where the unit does not have it.
  void go(uint32_t pc, uint32_t s, bool backward) {
    if (backward)
      emit_backward_jump(pc);
    if (backward && !all_) { // others may be there, or between
      const Label others = a.newLabel();
      a.cmp(e_.member(x_.compiled.others_below), 0);
      a.jne(others);
      e_.aside([this, others, pc] {
        a.bind(others);
        leave_at(pc, 0, 0);
      });
    }
    if (s == kNoSegment) {
      leave_at(pc, 0, 0);
      return;
    }
    const uint32_t there = unit_.segments[s].join_point;
    if (!all_ && !backward && s > segment_ + 1 && there != kNoJoinPoint) {
      // Parts may wait before that.
      uint64_t between = 0;
      for (uint32_t i = segment_ + 1; i < s; ++i)
        if (unit_.segments[i].join_point != kNoJoinPoint)
          between |= uint64_t{1} << unit_.segments[i].join_point;
      if (between != 0) {
        const Label others = a.newLabel();
        a.mov(x86::rax, between);
        a.test(e_.member(x_.compiled.waiting_at), x86::rax);
        a.jnz(others);
        e_.aside([this, others, there, s] {
          a.bind(others);
          e_.store_new(unit_.segments[s].begin);
          a.mov(x86::edx, x86::r14d);
          a.mov(x86::ecx, there);
          a.call(parts_.wait);
          a.jmp(parts_.dispatch);
        });
      }
    }
    e_.change_held(held_at(s), pc);
    a.jmp(copy().labels[s]);
  }

  // A loop that polls waits: notice_backward_jump(), whose usual case stands here.
  void emit_backward_jump(uint32_t target) {
    const Label slow = a.newLabel(), changed = a.newLabel(), on = a.newLabel();
    const Polling& polling = x_.warp->splits[0].polling;
    const auto of_polling = [&, this](const auto& member) {
      return member_of(x86::rcx, x_.warp->splits[0], member);
    };
    if (!all_) {
      const Label divided = a.newLabel(), recorded = a.newLabel();
      a.mov(x86::rax, e_.member(x_.compiled.remembers));
      a.andn(x86::rax, x86::rax, e_.member(x_.compiled.waiting_at));
      a.jnz(divided);
      a.bind(recorded);
      e_.aside([this, divided, recorded] {
        a.bind(divided);
        a.call(parts_.jump);
        a.jmp(recorded);
      });
    }
    e_.find_split(x86::rcx, x86::rax);
    a.mov(x86::rdx, member_of(x86::rax, *x_.warp, x_.warp->effects));
    a.cmp(x86::rdx, of_polling(polling.effects_seen));
    a.jne(changed);
    a.mov(x86::rdx, of_polling(polling.backward_jumps));
    a.inc(x86::rdx);
    a.cmp(x86::rdx, of_polling(polling.quiet_until));
    a.jae(slow);
    a.mov(of_polling(polling.backward_jumps), x86::rdx);
    a.bind(on);
    e_.aside([this, changed, on, of_polling, &polling] {
      a.bind(changed);
      a.mov(of_polling(polling.effects_seen), x86::rdx);
      a.mov(of_polling(polling.backward_jumps), 1);
      a.mov(of_polling(polling.snapshot_pc), ptx::kNone);
      a.mov(of_polling(polling.compare_until), 0);
      a.mov(of_polling(polling.quiet_until), kFirstSnapshot);
      a.jmp(on);
    });
    e_.aside([this, slow, on, target] {
      const HeldValues held = e_.held();
      a.bind(slow);
      e_.store_new();
      a.mov(e_.member(x_.executed), x86::r15);
      a.mov(e_.member(x_.mask), x86::r14d);
      a.mov(x86::rdi, x86::r13);
      a.mov(x86::esi, target);
      a.mov(x86::rax, reinterpret_cast<uint64_t>(&notices_backward_jump));
      a.vzeroupper();
      a.call(x86::rax);
      e_.forget_held();
      const Label waits = a.newLabel();
      a.test(x86::al, x86::al);
      a.jnz(waits);
      e_.change_held(held);
      a.jmp(on);
      a.bind(waits);
      a.mov(x86::eax, static_cast<uint32_t>(Step::reschedule));
      a.jmp(leave_);
    });
  }

  // r10d: the lanes that jump, r14d: all lanes of the part. Some jump and some do not.
  void emit_divide(const Segment& segment) {
    const auto here = static_cast<uint32_t>(&segment - unit_.segments.data());
    const uint32_t to = segment.target, next = segment.next;
    const auto join_point = [&](uint32_t s) {
      return s == kNoSegment ? kNoJoinPoint : unit_.segments[s].join_point;
    };
    // Lanes that jump have executed the branch.
    a.popcnt(x86::eax, x86::r10d);
    if (join_point(to) == kNoJoinPoint || join_point(next) == kNoJoinPoint) {
      leave_before_branch(segment.end - 1);
      return;
    }
    if (to <= here) { // others may be there, or between
      const Label others = a.newLabel();
      a.cmp(e_.member(x_.compiled.others_below), 0);
      a.jne(others);
      e_.aside([this, others, pc = segment.end - 1] {
        a.bind(others);
        leave_before_branch(pc);
      });
    }
    a.add(x86::rbp, x86::rax);
    const bool jumpers_first = to < next;
    const uint32_t first = jumpers_first ? to : next, later = jumpers_first ? next : to;
    a.mov(x86::edx, x86::r14d);
    a.xor_(x86::edx, x86::r10d); // those that do not jump
    a.mov(x86::r14d, x86::r10d);
    if (!jumpers_first)
      a.xchg(x86::edx, x86::r14d);
    a.mov(x86::ecx, join_point(later));
    a.call(parts_.wait);
    e_.store_new(); // the part that waits finds its values in the frame, whatever the other one leaves out
    e_.change_held(copies_[1].held[first]);
    a.jmp(copies_[1].labels[first]);
  }

  // The interpreter divides the part.
  void leave_before_branch(uint32_t pc) {
    a.sub(x86::r15, 1);
    e_.store_new();
    leave_with(pc, Step::jumped);
  }

  // A part may wait here.
  void emit_join(const Segment& segment) {
    const Label join = a.newLabel(), on = a.newLabel();
    a.bt(e_.member(x_.compiled.waiting_at), segment.join_point);
    a.jc(join);
    a.bind(on);
    e_.aside([this, join, on, point = segment.join_point, s = segment_] {
      a.bind(join);
      a.mov(x86::ecx, point);
      a.call(parts_.join);
      a.cmp(x86::r14d, -1);
      a.jne(on);
      e_.change_held(copies_[0].held[s]);
      a.jmp(copies_[0].labels[s]);
    });
  }

  // --- in and out

  // rax: where the code goes on, with nothing held.
  void emit_enter() {
    a.bind(enter_);
    for (const x86::Gp& reg : {x86::rbx, x86::rbp, x86::r12, x86::r13, x86::r14, x86::r15})
      a.push(reg);
    a.sub(x86::rsp, kScratchBytes + 8); // a multiple of 16
    a.mov(x86::r13, x86::rdi);
    a.mov(x86::rbx, e_.member(x_.bases[0]));
    a.mov(x86::r12, e_.member(x_.bases[1]));
    a.mov(x86::r14d, e_.member(x_.mask));
    a.mov(x86::r15, e_.member(x_.executed));
    a.xor_(x86::ebp, x86::ebp);
    name_join_pcs();
    a.jmp(x86::rax);
  }
  void name_join_pcs() {
    a.mov(x86::rcx, reinterpret_cast<uint64_t>(join_pcs_));
    a.mov(e_.member(x_.compiled.join_pcs), x86::rcx);
  }
  // Does control come from another function?
  bool follows_call(const Segment& segment) const {
    return segment.begin == 0 || code_.opcode_of(code_.insts[segment.begin - 1]) == isa::Opcode::call;
  }

  void emit_entry(uint32_t s, Copy& copy) {
    const bool has_code = &copy == &copies_[0] ? unit_.segments[s].for_all : unit_.segments[s].for_some;
    if (has_code) {
      EntryLabels& labels = copy.entries[s];
      labels.entry = a.newLabel();
      a.bind(labels.entry);
      a.lea(x86::rax, x86::ptr(copy.loads[s]));
      a.jmp(enter_);
      if (follows_call(unit_.segments[s])) {
        labels.inside = a.newLabel();
        a.bind(labels.inside);
        name_join_pcs();
      }
    }
    a.bind(copy.loads[s]);
    e_.forget_held();
    e_.change_held(copy.held[s]);
    a.jmp(copy.labels[s]);
  }

  // Nothing follows a function's end.
  bool begins_segment(uint32_t pc) const { return pc < code_.insts.size() && code_.insts[pc].begins_segment; }

  // Leaves before the instruction at the pc, of the current segment so many not executed.
  void leave_at(uint32_t pc, uint32_t counted, uint32_t lanes) {
    if (counted != 0)
      a.sub(x86::r15, counted);
    count_lanes(-int64_t{lanes});
    e_.store_new(counted == 0 && begins_segment(pc) ? std::optional(pc) : std::nullopt);
    leave_with(pc, Step::jumped);
  }
  void leave_with(uint32_t pc, Step step) {
    e_.mode(kHostDefaultMode);
    a.mov(e_.member(x_.pc), pc);
    a.mov(e_.member(x_.executed), x86::r15);
    a.mov(e_.member(x_.mask), x86::r14d);
    a.mov(x86::eax, static_cast<uint32_t>(step));
    a.jmp(leave_);
  }

  // After a handler, which returned eax; the frame has everything. Exec::executed is what it left.
  void leave_after_call(uint32_t counted, uint32_t lanes) {
    a.movzx(x86::r11d, x86::al);
    // More may have been executed than that: each for all lanes of the part.
    a.mov(x86::rcx, e_.member(x_.executed));
    a.sub(x86::rcx, x86::r15);
    a.add(x86::rcx, static_cast<int32_t>(counted) - static_cast<int32_t>(lanes));
    a.popcnt(x86::eax, x86::r14d);
    a.imul(x86::rcx, x86::rax);
    a.add(x86::rbp, x86::rcx);
    a.mov(x86::eax, x86::r11d);
    a.jmp(leave_);
  }

  // eax: the step; Exec::pc, mask, executed are set.
  void emit_leave() {
    a.bind(leave_);
    a.mov(e_.member(x_.compiled.lanes), x86::rbp);
    const Label out = a.newLabel();
    a.cmp(e_.member(x_.compiled.waiting_at), 0);
    a.je(out);
    a.mov(x86::rdi, x86::r13);
    a.mov(x86::esi, x86::eax);
    a.mov(x86::rax, reinterpret_cast<uint64_t>(&leave_parts));
    a.vzeroupper();
    a.call(x86::rax);
    a.bind(out);
    a.vzeroupper();
    a.add(x86::rsp, kScratchBytes + 8);
    for (const x86::Gp& reg : {x86::r15, x86::r14, x86::r13, x86::r12, x86::rbp, x86::rbx})
      a.pop(reg);
    a.ret();
  }

  const Unit& unit_;
  const Code& code_;
  Exec& x_;
  const uint32_t* join_pcs_;
  const bool is_watched_;
  Emit e_;
  x86::Assembler& a;
  PartsCode parts_;
  std::array<Copy, 2> copies_; // for all lanes, for some
  bool all_ = true;
  uint32_t segment_ = 0;
  uint32_t counted_after_ = 0;   // of the segment, after the current instruction
  uint32_t lanes_after_ = 0;     // ... by all lanes of the part
  uint32_t called_ = 0;          // instructions without an emitter
  std::shared_ptr<After> after_; // of the current instruction; null: nobody jumps there
  Label leave_;
  std::vector<std::pair<Label, std::string>> names_;
  Label enter_ = a.newLabel();
};

// For perf, where somebody has asked for it.
void dump(const CodePages& pages, const asmjit::CodeHolder& holder,
          const std::vector<std::pair<Label, std::string>>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    const auto begin = static_cast<size_t>(holder.labelOffset(names[i].first));
    const size_t end = i + 1 < names.size() ? static_cast<size_t>(holder.labelOffset(names[i + 1].first))
                                            : holder.codeSize();
    JitDump::wanted()->add({pages.data() + begin, end - begin}, names[i].second);
  }
}

} // namespace

Generated generate(const Unit& unit, const Liveness& liveness, const uint32_t* join_pcs, bool is_watched,
                   Exec& example) {
  asmjit::CodeHolder holder;
  FirstError error;
  holder.init(asmjit::Environment::host());
  holder.setErrorHandler(&error);
  Generator generator(holder, unit, liveness, join_pcs, is_watched, example);
  generator.run();
  Generated made;
  if (error.failed || holder.flatten() != asmjit::kErrorOk ||
      holder.resolveUnresolvedLinks() != asmjit::kErrorOk)
    return made;
  auto pages = CodePages::allocate(holder.codeSize());
  if (!pages || holder.relocateToBase(reinterpret_cast<uint64_t>(pages->data())) != asmjit::kErrorOk ||
      holder.copyFlattenedData(pages->data(), pages->bytes()) != asmjit::kErrorOk ||
      !pages->make_executable())
    return made;
  for (const bool for_all : {true, false})
    for (const auto& [entry, inside] : generator.entries(for_all)) {
      const auto place = [&](const Label& label) {
        return label.isValid() ? pages->data() + holder.labelOffset(label) : nullptr;
      };
      (for_all ? made.entries_for_all : made.entries_for_some).push_back({place(entry), place(inside)});
    }
  dump(*pages, holder, generator.names());
  made.called = generator.called();
  made.pages = std::move(pages);
  return made;
}

Generated generate_one(const Code& code, uint32_t pc, Exec& example) {
  Unit unit;
  unit.code = &code;
  unit.segments.push_back({.begin = pc, .end = pc + 1, .counted = 1, .unguarded = !code.insts[pc].guarded});
  return generate(unit, Liveness(code), nullptr, false, example);
}

} // namespace lemma::vgpu

// What asmjit has to say in no case that happens here. Its own three functions lie in the one object of
// Debian's libasmjit.a that names `stderr` as a shared library must not: with these that object is not
// linked.
ASMJIT_BEGIN_NAMESPACE
namespace DebugUtils {

const char* errorAsString(Error) noexcept {
  return "";
}

void debugOutput(const char*) noexcept {}

void assertionFailed(const char*, int, const char*) noexcept {
  std::abort();
}

} // namespace DebugUtils
ASMJIT_END_NAMESPACE
