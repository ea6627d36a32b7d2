// Which part of a warp runs, and how parts meet. See warp.h.
#include "vgpu/engine/warp.h"

#include "isa/catalogue.h"
#include "isa/effects.h"
#include "vgpu/code/program.h"
#include "vgpu/code/segments.h"
#include "vgpu/compiled/compiled_code.h"
#include "vgpu/engine/observer.h"
#include "vgpu/engine/schedule.h"
#include "vgpu/handlers/matrix/wgmma_groups.h"
#include "vgpu/handlers/tensor/tensor_chain.h"
#include "vgpu/memory/poison.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lemma::vgpu {
namespace {

bool same_place(const Split& a, const Split& b) {
  return a.pc == b.pc && a.stack == b.stack;
}

// `into` goes on with the lanes of `from` too, which is at the same place: what alloca has taken for either
// stays taken.
void take_lanes(Split& into, const Split& from) {
  into.ran_before_others = std::max(into.ran_before_others, from.ran_before_others);
  into.polling.join(from.polling);
  for (size_t i = 0; i < into.stack.size(); ++i)
    into.stack[i].alloca_bytes = std::max(into.stack[i].alloca_bytes, from.stack[i].alloca_bytes);
}

// Sets what the lanes hold in a register, whose components lie one after the other.
void poison_lanes(std::byte* frame, const Code::Lanes& at, uint64_t key, LaneMask lanes) {
  std::byte* memory = frame + at.offset;
  if (at.lane_bytes == 0) {
    LaneMask old;
    std::memcpy(&old, memory, sizeof old);
    const auto value = static_cast<LaneMask>(poison_word(key, at.offset / 4));
    old = (old & ~lanes) | (value & lanes);
    std::memcpy(memory, &old, sizeof old);
  } else if (lanes == kAllLanes) {
    poison(memory, key, at.offset, at.bytes);
  } else {
    for (uint32_t component = 0; component < at.bytes; component += at.lane_bytes * kWarpSize)
      for_lanes(lanes, [&](int lane) {
        const uint32_t begin = component + static_cast<uint32_t>(lane) * at.lane_bytes;
        poison(memory + begin, key, at.offset + begin, at.lane_bytes);
      });
  }
}

// What a frame holds at the beginning of an activation, as far as it may be read before it is written: the
// registers of which that is not known, and .param variables that no caller fills.
void poison_frame(const Warp& warp, size_t depth, Frame& frame, LaneMask lanes) {
  const Code& code = *frame.code;
  const bool has_variables = code.param_bytes > code.passed_bytes;
  if (code.poisoned.empty() && !has_variables)
    return;
  const uint64_t key = poison_key(warp.poison_key, Poisoned::frame, depth);
  for (const Code::Lanes& at : code.poisoned)
    poison_lanes(frame.data, at, key, lanes);
  const auto poison_params = [&](uint64_t offset, uint64_t bytes) {
    poison(frame.data + offset, key, offset, bytes);
  };
  if (has_variables && lanes == kAllLanes)
    poison_params(code.param_area_offset, uint64_t{code.param_bytes} * kWarpSize);
  else if (has_variables)
    for_lanes(lanes, [&](int lane) {
      poison_params(code.param_area_offset + static_cast<uint64_t>(lane) * code.param_bytes,
                    code.param_bytes);
    });
}

} // namespace

void start_warp(Warp& warp, uint32_t index, LaneMask lanes, const Code& entry, uint64_t poison_key,
                MemoryBudget& budget) {
  if (warp.taken.bytes() == 0) { // else its memory is used again
    warp.taken = MemoryShare(budget);
    warp.taken.take(kWarpSize * sizeof(CallFrame), "call stacks"); // parts of the warp have one each
  }
  warp.index = index;
  warp.poison_key = poison_key;
  warp.live = lanes;
  warp.exited = ~lanes;
  warp.instructions = 0;
  warp.effects = 0;
  warp.cluster_arrived = warp.cluster_passed = 0;
  warp.wgmma.reset();
  warp.late_copies.reset();
  warp.splits.clear();
  if (entry.local_bytes != 0) {
    reserve_local(warp, entry.local_bytes);
    forget_local(warp, 0, entry.local_bytes, kAllLanes);
  }
  static const Split kNew; // a copy takes less than to set as many bytes
  Split& split = warp.splits.emplace_back(kNew);
  split.mask = lanes;
  split.stack = std::move(warp.spare_stack);
  split.stack.clear();
  split.stack.push_back({&entry, nullptr, nullptr, 0, 0});
}

namespace {

// An activation by `lanes` begins.
void renew_frame(const Warp& warp, size_t depth, Frame& frame, LaneMask lanes) {
  ++frame.activation;
  if (!frame.code->poisoned.empty())
    for (LaneMask& written : frame.written)
      written &= ~lanes;
  if (lanes == kAllLanes)
    frame.carried.clear();
  for (Frame::Carried& carried : frame.carried)
    carried.lanes &= ~lanes;
  frame.carry &= ~lanes;
  poison_frame(warp, depth, frame, lanes);
}

// The warp runs for the first time.
Frame* take_frame(Cta& cta, Warp& warp) {
  Frame* frame = cta.free_frames.back();
  cta.free_frames.pop_back();
  renew_frame(warp, 0, *frame, kAllLanes);
  CallFrame& call = warp.splits.front().stack.front();
  call.frame = frame;
  call.registers = frame->data;
  return frame;
}

} // namespace

std::unique_ptr<Frame> make_frame(const Code& code, MemoryShare& taken) {
  constexpr size_t kAlign = 64;
  taken.take(sizeof(Frame) + code.frame_bytes + kAlign + code.registers.size() * sizeof(LaneMask),
             "the registers of " + code.function->name);
  auto frame = std::make_unique<Frame>();
  frame->code = &code;
  frame->storage = std::make_unique<std::byte[]>(code.frame_bytes + kAlign);
  const auto raw = reinterpret_cast<uintptr_t>(frame->storage.get());
  frame->data = frame->storage.get() + (kAlign - raw % kAlign) % kAlign;
  frame->written.assign(code.registers.size(), 0);
  return frame;
}

Frame* activate_frame(Warp& warp, size_t depth, const Code& code, LaneMask lanes) {
  if (warp.frames.size() <= depth) {
    warp.taken.take(kWarpSize * sizeof(CallFrame), "call stacks"); // parts of the warp have one each
    warp.frames.resize(depth + 1);
  }
  for (auto& frame : warp.frames[depth])
    if (frame->code == &code) {
      renew_frame(warp, depth, *frame, lanes);
      return frame.get();
    }
  warp.frames[depth].push_back(make_frame(code, warp.taken));
  Frame& frame = *warp.frames[depth].back();
  poison_frame(warp, depth, frame, kAllLanes);
  return &frame;
}

bool reserve_local(Warp& warp, uint64_t bytes_per_lane) {
  constexpr uint64_t kAlign = 16; // the widest element: lanes lie at multiples of it
  if (bytes_per_lane <= warp.local_capacity)
    return true;
  if (bytes_per_lane > kMaxLocalBytes)
    return false;
  const uint64_t doubled = std::max(bytes_per_lane, uint64_t{warp.local_capacity} * 2);
  const auto capacity =
      static_cast<uint32_t>(std::min(kMaxLocalBytes, (doubled + kAlign - 1) / kAlign * kAlign));
  warp.taken.take(uint64_t{capacity - warp.local_capacity} * (kWarpSize + sizeof(LaneMask)), "local memory");
  std::vector<std::byte> grown(static_cast<size_t>(capacity) * kWarpSize);
  for (int lane = 0; lane < kWarpSize; ++lane)
    std::copy_n(warp.local.begin() + static_cast<size_t>(lane) * warp.local_capacity, warp.local_capacity,
                grown.begin() + static_cast<size_t>(lane) * capacity);
  warp.local = std::move(grown);
  warp.local_written.resize(capacity);
  warp.local_capacity = capacity;
  return true;
}

void forget_local(Warp& warp, uint64_t begin, uint64_t end, LaneMask lanes) {
  if (lanes == kAllLanes)
    std::fill(warp.local_written.begin() + static_cast<ptrdiff_t>(begin),
              warp.local_written.begin() + static_cast<ptrdiff_t>(end), LaneMask{0});
  else
    for (uint64_t i = begin; i < end; ++i)
      warp.local_written[i] &= ~lanes;
}

void drop_carried(Exec& x, const Slot& slot) {
  for (Frame::Carried& carried : x.frame->carried)
    if (carried.offset == slot.offset)
      carried.lanes &= ~x.active;
}

void leave_inactive_behind(Exec& x) {
  const LaneMask others = x.mask & ~x.active;
  if (!others)
    return;
  Split rest = x.warp->splits[x.split];
  rest.mask = others;
  rest.pc = x.pc + 1;
  x.warp->splits[x.split].mask = x.active;
  x.mask = x.active;
  x.warp->splits.push_back(std::move(rest));
}

void wake_collectives(Warp& warp) {
  for (Split& split : warp.splits)
    if (split.state == SplitState::at_collective)
      split.state = SplitState::ready;
}

// --- Exec: waiting for lanes
// ----------------------------------------------------------------------------------------

bool Exec::converge(const DecodedInst& in, const uint32_t* members) {
  const LaneMask exited = warp->exited;
  // A lane waits for all that its membermask names to come here with the same membermask; who comes with
  // another one does not count.
  const auto satisfied = [&](LaneMask lanes, LaneMask present) {
    LaneMask run = 0;
    while (lanes) {
      const uint32_t named = members[std::countr_zero(lanes)];
      LaneMask same = 0;
      for_lanes(present, [&](int lane) { same |= LaneMask{members[lane] == named} << lane; });
      if (!(named & ~exited & ~same))
        run |= lanes & same;
      lanes &= ~same;
    }
    return run;
  };
  LaneMask unnamed = 0;
  for_lanes(active, [&](int lane) {
    if (!(members[lane] >> lane & 1))
      unnamed |= LaneMask{1} << lane;
  });
  if (!unnamed)
    return gather(in, satisfied);
  // Measured on an H200, all shfl, vote, match, redux, bar.warp and elect.sync
  // (tests/golden/asked/masks.csv): the lanes that execute the instruction together do it as if each named
  // all of them, whatever they name, if all name the same; else, and under a guard, it is an illegal
  // instruction there, too.
  const int lane = std::countr_zero(unnamed);
  LaneMask same = 0;
  for_lanes(active, [&](int other) { same |= LaneMask{members[other] == members[lane]} << other; });
  if (same == active && !in.guarded && !launch->config.check) {
    remark(in,
           fmt::format("lane {} executes {}, and its membermask {:#010x} does not name that lane: the PTX "
                       "ISA leaves undefined what happens (warp.mask, an error with --check). An H200 "
                       "takes the lanes that are there, and so does this run",
                       lane, isa::to_string(ptx_instruction(in).opcode), members[lane]));
    return true;
  }
  misuse(in, "warp.mask",
         "a lane executes this instruction, but its membermask does not name that lane (undefined behaviour)",
         lane);
  return false;
}

bool Exec::converge_all(const DecodedInst& in) {
  return gather(in, [&](LaneMask lanes, LaneMask present) { return warp->live & ~present ? 0 : lanes; });
}

// `satisfied(lanes, present)`: which of the lanes may execute if `present` are all at this instruction.
template <class Satisfied>
bool Exec::gather(const DecodedInst&, Satisfied satisfied) {
  if (satisfied(active, active) == active)
    return true;
  std::vector<Split>& splits = warp->splits;
  splits[split].pc = pc;
  LaneMask present = active;
  for (size_t i = 0; i < splits.size(); ++i)
    if (i != split && splits[i].state == SplitState::at_collective && same_place(splits[i], splits[split]))
      present |= splits[i].mask;
  const LaneMask run = satisfied(present, present);
  const LaneMask wait = active & ~run;
  if (!run) {
    leave_inactive_behind(*this);
    splits[split].wait_pc = pc;
    splits[split].state = SplitState::at_collective;
    return false;
  }
  for (size_t i = 0; i < splits.size(); ++i)
    if (i != split && splits[i].state == SplitState::at_collective && same_place(splits[i], splits[split])) {
      splits[i].mask &= ~run;
      take_lanes(splits[split], splits[i]);
    }
  if (wait) {
    Split waiting = splits[split];
    waiting.mask = wait;
    waiting.wait_pc = pc;
    waiting.state = SplitState::at_collective;
    splits.push_back(std::move(waiting));
  }
  mask = (mask & ~wait) | run;
  splits[split].mask = mask;
  active = run;
  // Splits left without lanes go; the current one may move.
  for (size_t i = splits.size(); i-- > 0;)
    if (!splits[i].mask) {
      splits.erase(splits.begin() + static_cast<ptrdiff_t>(i));
      split -= i < split;
    }
  return true;
}

// --- WarpRunner
// -----------------------------------------------------------------------------------------------------

WarpRunner::WarpRunner(Launch& launch, uint32_t worker)
    : launch_(launch), other_path_first_(launch.schedule && launch.schedule->other_path_first) {
  exec_.launch = &launch;
  exec_.worker = worker;
  const auto functions = static_cast<uint32_t>(launch.program->module().functions.size());
  for (uint32_t f = 0; f < functions && launch.config.async != AsyncMode::eager; ++f)
    exec_.late_wgmma |= launch.program->code(f).has_wgmma;
}

// The split to run: deepest call, lowest pc. One that has run long while others were ready comes after them.
[[gnu::always_inline]] inline size_t WarpRunner::pick() {
  std::vector<Split>& splits = exec_.warp->splits;
  if (splits.size() != 1)
    return pick_of_several();
  splits[0].ran_before_others = 0;
  return splits[0].state == SplitState::ready ? 0 : SIZE_MAX;
}

size_t WarpRunner::pick_of_several() {
  std::vector<Split>& splits = exec_.warp->splits;
  const auto best_of = [&](bool all) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < splits.size(); ++i) {
      if (splits[i].state != SplitState::ready || (!all && splits[i].ran_before_others >= kGiveWayAfter))
        continue;
      if (best == SIZE_MAX || splits[i].stack.size() > splits[best].stack.size() ||
          (splits[i].stack.size() == splits[best].stack.size() && splits[i].pc < splits[best].pc))
        best = i;
    }
    return best;
  };
  if (const size_t best = best_of(false); best != SIZE_MAX)
    return best;
  for (Split& split : splits) // all have had their turn
    split.ran_before_others = 0;
  return best_of(true);
}

// Of parts that need not give way, the one with the highest pc; SIZE_MAX if there are not two.
size_t WarpRunner::pick_other_path() const {
  const std::vector<Split>& splits = exec_.warp->splits;
  size_t best = SIZE_MAX, fresh = 0;
  for (size_t i = 0; i < splits.size(); ++i) {
    if (splits[i].state != SplitState::ready || splits[i].ran_before_others >= kGiveWayAfter)
      continue;
    ++fresh;
    if (best == SIZE_MAX || splits[i].pc > splits[best].pc)
      best = i;
  }
  return fresh > 1 ? best : SIZE_MAX;
}

// Instructions of the loaded split's basic block from its pc on: up to a branch or before a label. So it does
// not run past the place where the others would meet it.
uint64_t WarpRunner::to_block_end() {
  const Code& code = *exec_.code;
  const auto& instructions = code.function->instructions;
  std::vector<bool>& begins = block_begins_[&code];
  if (begins.empty()) {
    begins.resize(instructions.size() + 1);
    for (const auto& label : code.function->labels)
      begins[std::min<size_t>(label.target, instructions.size())] = true;
  }
  uint64_t count = 0;
  for (size_t pc = exec_.pc; pc < code.insts.size(); ++pc) {
    const uint32_t source = code.insts[pc].source;
    if (source == ptx::kNone)
      continue;
    if (count > 0 && begins[source])
      break;
    ++count;
    if (isa::effects_of(instructions[source].opcode).has_any(isa::effect::jumps | isa::effect::calls))
      break;
  }
  return std::max<uint64_t>(count, 1);
}

[[gnu::always_inline]] inline void WarpRunner::load(size_t split) {
  const Split& s = exec_.warp->splits[split];
  exec_.split = split;
  exec_.mask = s.mask;
  exec_.pc = s.pc;
  const CallFrame& call = s.stack.back();
  exec_.code = call.code;
  exec_.frame = call.frame;
  exec_.bases[0] = call.registers;
}

// Joins the loaded split with every ready one at the same place. True if there was one.
bool WarpRunner::join_meeting_splits() {
  std::vector<Split>& splits = exec_.warp->splits;
  bool joined = false;
  for (size_t i = splits.size(); i-- > 0;) {
    if (i == exec_.split || splits[i].state != SplitState::ready ||
        !same_place(splits[i], splits[exec_.split]))
      continue;
    splits[exec_.split].mask |= splits[i].mask;
    take_lanes(splits[exec_.split], splits[i]);
    splits.erase(splits.begin() + static_cast<ptrdiff_t>(i));
    exec_.split -= i < exec_.split;
    joined = true;
  }
  if (joined)
    exec_.mask = splits[exec_.split].mask;
  return joined;
}

// Where the loaded split must stop, since other parts of the warp may join it: the lowest pc of theirs that
// is not below its own.
WarpRunner::Meeting WarpRunner::find_meeting() const {
  const std::vector<Split>& splits = exec_.warp->splits;
  const std::vector<CallFrame>& stack = splits[exec_.split].stack;
  Meeting meeting;
  for (size_t i = 0; i < splits.size(); ++i)
    if (i != exec_.split && splits[i].state == SplitState::ready && splits[i].stack == stack) {
      if (splits[i].pc >= exec_.pc)
        meeting.pc = std::min(meeting.pc, splits[i].pc);
      else
        meeting.others_below = true;
    }
  return meeting;
}

namespace {

void check_sources_written(Exec& x, const DecodedInst& in) {
  if (const uint32_t guard = x.code->guard_register(in); guard != ptx::kNone && x.code->tracked[guard])
    x.check_register(in, guard, x.mask);
  for (int i = 0; i < in.op_count - in.dst_count; ++i)
    if (i != in.asks_itself)
      x.check_written(in, i, x.active);
}

void mark_written(Exec& x, const DecodedInst& in) {
  for (const Slot& slot : x.code->dsts_of(in)) {
    if (slot.reg() == ptx::kNone)
      continue;
    x.frame->written[slot.reg()] |= x.active;
    if (!x.frame->carried.empty() && !x.code->is_load(in)) // that has looked after it itself
      drop_carried(x, slot);
  }
}

} // namespace

// Executes `count` instructions of a run, or fewer if one does not go on to the next, lanes come or go or an
// observer begins to follow values; what the last one did.
template <WarpRunner::Tells tells>
[[gnu::always_inline]] inline Step WarpRunner::execute_run(const DecodedInst* in, uint64_t count) {
  Exec& x = exec_; // counts in place: of what outlives calls the host has few registers
  const LaneMask mask = x.mask;
  x.active = mask;
  for (;;) {
    if (in->plain > 1) { // nothing of the state changes but registers
      const uint64_t plain = std::min<uint64_t>(in->plain, count);
      count -= plain;
      x.executed += plain;
      x.pc += static_cast<uint32_t>(plain);
      for (uint64_t i = plain; i != 0; --i, ++in)
        in->handler(x, *in);
      if (count == 0)
        return Step::next;
    } else {
      ++x.executed;
      const Step step = in->handler(x, *in);
      bool follows = false;
      if constexpr (tells == Tells::values) {
        follows = x.warp->follows_values;
        if (follows && (step == Step::next || step == Step::jumped || step == Step::done)) [[unlikely]]
          x.watch.tell(&Observer::ends, x, *in);
      }
      if (step != Step::next) [[unlikely]]
        return step;
      ++in;
      ++x.pc;
      x.active = mask;
      if (--count == 0 || x.mask != mask || follows)
        return Step::next;
    }
  }
}

// What else the loop does for an instruction, where somebody watches or the instruction asks for it.
template <WarpRunner::Tells tells>
Step WarpRunner::execute_with_care(Exec& x, const DecodedInst& in, bool runs) {
  if constexpr (tells == Tells::instructions)
    if (in.source != ptx::kNone)
      x.watch.tell(&Observer::executes, x, in);
  if (in.checks_init)
    check_sources_written(x, in);
  constexpr bool watched = tells == Tells::values || tells == Tells::instructions;
  if (!runs) {
    if constexpr (watched)
      if (x.warp->follows_values) {
        x.watch.tell(&Observer::begins, x);
        x.watch.tell(&Observer::ends, x, in);
      }
    return Step::next;
  }
  if constexpr (watched) {
    if (in.touches_wgmma && x.active)
      x.watch.tell(&Observer::touches_wgmma_registers, x);
    if (x.warp->follows_values)
      x.watch.tell(&Observer::begins, x);
  }
  if (tells != Tells::nothing && x.late_wgmma && in.touches_wgmma && x.active && !wait_for_registers(x, in))
    return Step::stopped;
  const Step step = in.handler(x, in);
  if constexpr (watched)
    if (x.warp->follows_values && (step == Step::next || step == Step::jumped || step == Step::done))
      x.watch.tell(&Observer::ends, x, in);
  if (in.marks_written && (step == Step::next || step == Step::done))
    mark_written(x, in);
  return step;
}

// Has the slice ended that may execute until Exec::executed is `end`, or `exactly` so?
bool WarpRunner::may_go_on(uint64_t end, bool exactly) const {
  return exec_.executed < end || (!exactly && !exec_.code->insts[exec_.pc].begins_segment);
}

// Goes on by compiled code from Exec::pc on; what its last instruction did. `slice` is as after that; it has
// ended where the parts are to be picked anew.
Step WarpRunner::run_compiled(CompiledEntry entry, Slice& slice) {
  Exec& x = exec_;
  const Frame* const frame = x.frame;
  const uint32_t pc = x.pc;
  const uint64_t before = x.executed;
  CompiledState& state = x.compiled;
  state.begin_part(slice.ran, slice.part_begin, slice.turn_end, slice.parts != 1);
  state.meeting = slice.meeting.pc;
  state.others_below = slice.meeting.others_below;
  Step step = static_cast<Step>(entry(&x));
  slice.ran = state.ran;
  slice.part_begin = state.part_begin;
  slice.end = state.end;
  slice.lanes += state.lanes;
  x.stats.compiled_instructions += x.executed - before;
  bool passes = x.pc >= slice.meeting.pc;
  if (state.has_made_splits) { // and counted for them
    const std::vector<Split>& splits = x.warp->splits;
    for (; slice.parts < splits.size(); ++slice.parts)
      passes |= splits[slice.parts].pc <= x.pc;
  }
  if (state.problem) [[unlikely]]
    std::rethrow_exception(std::exchange(state.problem, nullptr));
  if (x.frame != frame) { // it has gone on in another function
    if (step == Step::next || step == Step::jumped)
      x.warp->splits[x.split].pc = x.pc;
    step = step == Step::stopped ? step : Step::reschedule;
  }
  slice.has_ended = passes || (step != Step::next && step != Step::jumped);
  if (!slice.has_ended && ((slice.meeting.others_below && x.pc <= pc) || state.has_made_splits)) {
    slice.meeting = find_meeting();
    slice.has_ended = x.pc == slice.meeting.pc;
  }
  return step;
}

template <WarpRunner::Tells tells>
void WarpRunner::execute(uint64_t budget, bool exactly) {
  constexpr bool careful = tells != Tells::nothing;
  Exec& x = exec_;
  // Nobody is told of instructions while an observer follows no values, nor of registers that wgmma has.
  const auto may_run = [&] {
    return tells == Tells::nothing || (tells == Tells::values && !x.warp->follows_values && !x.late_wgmma &&
                                       x.code->wgmma_numbers.empty());
  };
  CompiledCode* const compiled = x.code->compiled[tells == Tells::values].get();
  const uint64_t begin = x.executed;
  Slice slice{.turn_end = begin + budget, .part_begin = begin};
  if (x.warp->splits.size() != 1) {
    join_meeting_splits();
    slice.meeting = find_meeting();
  }
  slice.parts = x.warp->splits.size();
  if (slice.parts != 1) {
    slice.ran = x.warp->splits[x.split].ran_before_others;
    budget = std::min(budget, left_before_giving_way(slice.ran));
  } else {
    x.warp->splits[x.split].ran_before_others = 0;
  }
  slice.end = begin + budget;
  const DecodedInst* insts = x.code->insts.data();
  LaneMask mask = x.mask;
  uint64_t mask_lanes = lanes_of(mask);
  Step step = Step::next;
  // Lanes may have come or gone; false: with them a part, and those that are left are picked anew.
  const auto looks_after_lanes = [&] {
    if (x.mask == mask) [[likely]]
      return true;
    mask = x.mask;
    mask_lanes = lanes_of(mask);
    return x.warp->splits.size() == slice.parts;
  };
  // After what stands at `from`: false where others may join, or the parts are picked anew.
  const auto goes_on = [&](uint32_t from) {
    if (slice.meeting.others_below && x.pc <= from) [[unlikely]]
      slice.meeting = find_meeting();
    return x.pc < slice.meeting.pc && looks_after_lanes();
  };
  while (may_go_on(slice.end, exactly)) {
    const uint32_t pc = x.pc;
    const DecodedInst& in = insts[pc];
    if (in.begins_segment && !exactly && visits_before_compiling_ != kNeverCompiled && may_run()) {
      const uint64_t before = x.executed;
      if (const CompiledEntry entry = compiled->find(x, x.pc, mask, visits_before_compiling_)) {
        step = run_compiled(entry, slice);
        if (slice.has_ended || !looks_after_lanes())
          break;
        if (x.executed != before || x.pc != pc) // a jump of the decoder's own does not count
          continue;
      }
    }
    if (in.run > 1 && may_run()) {
      const uint64_t before = x.executed;
      uint64_t most = std::min<uint64_t>(in.run, slice.meeting.pc - pc);
      if (exactly) [[unlikely]]
        most = std::min(most, slice.end - before);
      step = execute_run<tells>(&in, most);
      slice.lanes += (x.executed - before) * mask_lanes;
      if (step != Step::next && step != Step::jumped)
        break;
      if (!goes_on(pc))
        break;
      continue;
    }
    const LaneMask active = mask & x.guard(in);
    x.active = active;
    const bool runs = active || in.always_run;
    if (in.source != ptx::kNone) {
      ++x.executed;
      slice.lanes += active == mask || in.guards_itself ? mask_lanes : active == 0 ? 0 : lanes_of(active);
    }
    if (careful || in.checks_init || in.marks_written)
      step = execute_with_care<tells>(x, in, runs);
    else
      step = runs ? in.handler(x, in) : Step::next;
    if (step == Step::next)
      ++x.pc;
    else if (step != Step::jumped)
      break;
    if (!goes_on(pc))
      break;
  }
  if (x.tensor_chain) // before anybody else comes
    multiply_left(x);
  // A handler that rescheduled has left the splits as they must be; otherwise the split goes on from here.
  const uint64_t executed = x.executed - begin;
  if (step == Step::next || step == Step::jumped)
    x.warp->splits[x.split].pc = x.pc;
  if (slice.parts != 1)
    count_before_others(slice.parts, slice.ran + (x.executed - slice.part_begin));
  x.stats.warp_instructions += executed;
  x.stats.lane_instructions += slice.lanes;
  x.warp->instructions += executed;
}

// Of the part that has run, and of those that it has left behind: there were `parts` before.
void WarpRunner::count_before_others(size_t parts, uint64_t ran) {
  std::vector<Split>& splits = exec_.warp->splits;
  if (exec_.split < splits.size())
    splits[exec_.split].ran_before_others = ran;
  for (size_t i = parts; i < splits.size(); ++i)
    splits[i].ran_before_others = ran;
}

// Has a part come to wait in a new state?
[[gnu::always_inline]] inline void WarpRunner::note_waiting(Warp& warp) {
  if (exec_.split >= warp.splits.size())
    return;
  Split& split = warp.splits[exec_.split];
  if (split.state == SplitState::polling && split.last_poll != split.polling.snapshot) {
    split.last_poll = split.polling.snapshot;
    moved = true;
  } else if (split.state == SplitState::at_collective && split.last_poll != split.pc) {
    split.last_poll = split.pc;
    moved = true;
  }
}

[[gnu::always_inline]] inline uint64_t WarpRunner::run_parts(Warp& warp, uint64_t budget) {
  const uint64_t limit = launch_.config.max_instructions;
  while (exec_.executed < budget && !exec_.gives_way && !launch_.stop.load(std::memory_order_relaxed)) {
    if (warp.splits.empty())
      break;
    const size_t other = other_path_first_ ? pick_other_path() : SIZE_MAX;
    const size_t next = other != SIZE_MAX ? other : pick();
    if (next == SIZE_MAX)
      break;
    load(next);
    if (!exec_.frame) [[unlikely]] {
      exec_.frame = take_frame(*exec_.cta, warp);
      exec_.bases[0] = exec_.frame->data;
    }
    uint64_t slice = budget - exec_.executed;
    bool exactly = false;
    if (other != SIZE_MAX)
      slice = std::min(slice, to_block_end());
    if (limit) {
      if (warp.instructions >= limit) {
        exec_.fault(exec_.code->insts[exec_.pc], FaultKind::too_many_instructions,
                    "a warp has executed " + std::to_string(limit) + " instructions (--max-instructions)");
        break;
      }
      exactly = limit - warp.instructions < slice + 2 * kMostInSegment;
      slice = std::min(slice, limit - warp.instructions);
    }
    switch (tells_) {
    case Tells::nothing:
      execute<Tells::nothing>(slice, exactly);
      break;
    case Tells::registers:
      execute<Tells::registers>(slice, exactly);
      break;
    case Tells::values:
      execute<Tells::values>(slice, exactly);
      break;
    case Tells::instructions:
      execute<Tells::instructions>(slice, exactly);
      break;
    }
    if (other != SIZE_MAX && warp.splits.size() > 1 && exec_.split < warp.splits.size())
      warp.splits[exec_.split].ran_before_others = kGiveWayAfter;
    note_waiting(warp);
  }
  return exec_.executed;
}

Step WarpRunner::execute_with_care(Exec& x, const DecodedInst& in, bool is_watched) {
  const bool runs = x.active || in.always_run;
  return is_watched ? execute_with_care<Tells::values>(x, in, runs)
                    : execute_with_care<Tells::nothing>(x, in, runs);
}

void WarpRunner::begin_turn(const Cluster& cluster) {
  exec_.watch_by(cluster.async.watch());
  tells_ = exec_.late_wgmma ? Tells::registers : Tells::nothing;
  exec_.watch.tell([&](const Observer& observer) {
    tells_ = observer.watches_instructions() ? Tells::instructions : Tells::values;
  });
  exec_.bases[1] = launch_.program->constants();
  visits_before_compiling_ = tells_ == Tells::nothing || tells_ == Tells::values
                                 ? visits_before_compiling(launch_.config.engine)
                                 : kNeverCompiled;
}

uint64_t WarpRunner::run(Cta& cta, Warp& warp, uint64_t budget) {
  exec_.cta = &cta;
  exec_.warp = &warp;
  exec_.split = SIZE_MAX;
  exec_.executed = 0;
  exec_.gives_way = false;
  try {
    return run_parts(warp, budget);
  } catch (const std::exception& problem) {
    const auto [kind, message] = describe(problem);
    exec_.fault(exec_.code->insts[exec_.pc], kind, message);
    exec_.tensor_chain.reset();
    return exec_.executed;
  }
}

} // namespace lemma::vgpu
