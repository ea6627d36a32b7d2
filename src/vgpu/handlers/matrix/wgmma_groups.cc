// Three instructions, and what they share: meet(), where the four warps wait for each other, and
// complete_operations(), which executes operations in order and hands a warp its accumulators. In the late
// mode an operation writes to a copy of the registers, a WgmmaView, made at the fence: registers that a
// program reads too early then hold what they held, or poison, and not by luck the result.
#include "vgpu/handlers/matrix/wgmma_groups.h"

#include "isa/catalogue.h"
#include "vgpu/code/wgmma_registers.h"
#include "vgpu/engine/observer.h"
#include "vgpu/memory/place.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::vgpu {
namespace {

constexpr std::byte kPoison{0xcb}; // of registers that no fence has shown

bool is_late(const Exec& x) {
  return x.launch->config.async != AsyncMode::eager;
}

const Split& current_split(const Exec& x) {
  return x.warp->splits[x.split];
}

bool is_of(const WgmmaView& view, const Frame& frame) {
  return view.frame == &frame && view.activation == frame.activation;
}

// Has the function not returned?
bool is_alive(const Exec& x, const WgmmaView& view) {
  const auto& stack = current_split(x).stack;
  return std::any_of(stack.begin(), stack.end(),
                     [&](const CallFrame& call) { return is_of(view, *call.frame); });
}

std::span<const Slot> accumulators_of(const WgmmaOperation& operation) {
  return operation.code->dsts_of(decoded(operation));
}

// Calls f(the warp's part of an operation, its accumulators) for what the warp has in flight.
template <class F>
void for_operations_in_flight(Exec& x, F&& f) {
  const WgmmaState& state = x.warp->wgmma;
  for (uint64_t number = state.complete; number < state.issued; ++number) {
    WgmmaOperation& operation = warpgroup_of(x).operation(number);
    f(operation.parts[place_in_group(x)], accumulators_of(operation));
  }
}

void copy_accumulators(std::span<const Slot> accumulators, const std::byte* from, std::byte* to) {
  for (const Slot& slot : accumulators)
    std::memcpy(to + slot.offset, from + slot.offset, sizeof(uint32_t) * kWarpSize);
}

// The number after that of the last operation in flight, below `end`, that has the register of the running
// function as an accumulator; 0: none has.
uint64_t flight_end(Exec& x, const Slot& slot, uint64_t end) {
  if (slot.base != 0 || slot.reg() == ptx::kNone)
    return 0;
  for (uint64_t number = std::min(end, x.warp->wgmma.issued); number-- > x.warp->wgmma.complete;) {
    const WgmmaOperation& operation = warpgroup_of(x).operation(number);
    const auto& view = operation.parts[place_in_group(x)].view;
    if (view && is_of(*view, *x.frame) && std::ranges::any_of(accumulators_of(operation), [&](const Slot& d) {
          return d.offset == slot.offset;
        }))
      return number + 1;
  }
  return 0;
}

// The results of an operation that the warp has issued, but where another instruction has written since.
void take_results(const WgmmaState& state, uint64_t number, std::span<const Slot> accumulators,
                  const WgmmaView& view) {
  if (state.overwritten.empty())
    return copy_accumulators(accumulators, view.registers.data(), view.frame->data);
  for (const Slot& slot : accumulators) {
    LaneMask kept = 0;
    for (const WgmmaState::Overwritten& o : state.overwritten)
      if (o.frame == view.frame && o.offset == slot.offset && number < o.issued)
        kept |= o.lanes;
    const std::byte* from = view.registers.data() + slot.offset;
    std::byte* to = view.frame->data + slot.offset;
    for_lanes(~kept, [&](int lane) {
      std::memcpy(to + static_cast<size_t>(lane) * sizeof(uint32_t),
                  from + static_cast<size_t>(lane) * sizeof(uint32_t), sizeof(uint32_t));
    });
  }
}

bool has_register(const Code& code, const DecodedInst& mma, uint32_t offset) {
  return std::ranges::any_of(code.ops_of(mma), [&](const Slot& slot) {
    return slot.base == 0 && slot.reg() != ptx::kNone && slot.offset == offset;
  });
}

// An instruction that is no wgmma is about to write registers.
void note_moves(Exec& x, const DecodedInst& in) {
  WgmmaState& state = x.warp->wgmma;
  for (const Slot& slot : x.code->dsts_of(in)) {
    if (slot.base != 0 || slot.reg() == ptx::kNone)
      continue;
    for (WgmmaState::Moved& moved : state.moved)
      if (moved.frame == x.frame && moved.offset == slot.offset)
        moved.lanes = moved.activation == x.frame->activation ? moved.lanes & ~x.active : 0;
    std::erase_if(state.moved, [](const WgmmaState::Moved& moved) { return moved.lanes == 0; });
    const bool is_had = std::any_of(
        state.since_fence.begin(), state.since_fence.end(), [&](const WgmmaState::Issued& issued) {
          return issued.frame == x.frame &&
                 has_register(*x.code, x.code->at(issued.instruction), slot.offset);
        });
    if (is_plain_move(*x.code, in) && !is_had && flight_end(x, slot, state.issued) == 0)
      state.moved.push_back({x.frame, x.frame->activation, slot.offset, x.active});
  }
}

std::vector<std::byte> registers_of(const Frame& frame) {
  return {frame.data, frame.data + frame.code->frame_bytes};
}

std::shared_ptr<WgmmaView> make_view(const Exec& x, const Frame& frame) {
  auto view = std::make_shared<WgmmaView>(
      WgmmaView{&frame, frame.activation, {}, MemoryShare(x.launch->memory->budget())});
  view->taken.take(frame.code->frame_bytes, "the registers that wgmma sees");
  return view;
}

// The view of a function that runs, as registers are now, but for the accumulators that are in flight.
std::shared_ptr<WgmmaView> renewed_view(Exec& x, const Frame& frame) {
  const auto& views = x.warp->wgmma.views;
  const auto found =
      std::find_if(views.begin(), views.end(), [&](const auto& view) { return is_of(*view, frame); });
  if (found == views.end()) {
    const auto view = make_view(x, frame);
    view->registers = registers_of(frame);
    return view;
  }
  std::vector<std::byte> now = registers_of(frame);
  for_operations_in_flight(x, [&](const WgmmaOperation::Part& part, std::span<const Slot> accumulators) {
    if (part.view == *found)
      copy_accumulators(accumulators, part.view->registers.data(), now.data());
  });
  (*found)->registers = std::move(now);
  return *found;
}

// An operation that every warp has completed is forgotten.
void forget_complete(const Exec& x, Warpgroup& group) {
  const auto* warps = &x.cta->warps[x.warp->index - place_in_group(x)];
  uint64_t complete = warps[0].wgmma.complete;
  for (uint32_t i = 1; i < kWarpsInGroup; ++i)
    complete = std::min(complete, warps[i].wgmma.complete);
  for (; group.first < complete; ++group.first)
    group.operations.pop_front();
}

Step fault_unequal(Exec& x, const DecodedInst& in, const WgmmaMeeting& meeting) {
  return x.misuse(
      in, "wgmma.warps",
      fmt::format("warp {} comes here after {} wgmma.mma_async, and warp {} of its warpgroup to {} at "
                  "line {} after {}: the four warps must execute the same (undefined behaviour)",
                  x.warp->index, x.warp->wgmma.issued, meeting.first_warp,
                  isa::to_string(meeting.code->function->instructions[meeting.instruction.index].opcode),
                  place_of(*meeting.code, meeting.instruction).ptx_line, meeting.issued));
}

} // namespace

bool whole_warpgroup(Exec& x, const DecodedInst& in, Step& step) {
  if (!x.converge_all(in)) {
    step = Step::reschedule;
    return false;
  }
  const auto name = isa::to_string(x.ptx_instruction(in).opcode);
  if (x.active != kAllLanes) {
    step = x.misuse(
        in, "warp.aligned",
        fmt::format("{} needs all 32 threads of the warp, but only those of mask {:#010x} execute it "
                    "(undefined behaviour)",
                    name, x.active));
    return false;
  }
  if (x.warp->index / kWarpsInGroup >= x.cta->warpgroups.size()) {
    step =
        x.misuse(in, "warp.aligned",
                 fmt::format("{} needs a warpgroup, four warps of which the first has a multiple of 4 as its "
                             "index: warp {} is in an incomplete one, for the CTA has {} warps",
                             name, x.warp->index, x.cta->warps.size()));
    return false;
  }
  return true;
}

Warpgroup& warpgroup_of(Exec& x) {
  return x.cta->warpgroups[x.warp->index / kWarpsInGroup];
}

uint32_t place_in_group(const Exec& x) {
  return x.warp->index % kWarpsInGroup;
}

Step meet(Exec& x, const DecodedInst& in) {
  WgmmaMeeting& meeting = warpgroup_of(x).meeting;
  if (meeting.arrived == 0)
    meeting = {.code = x.code,
               .instruction = x.code->id_of(in),
               .first_warp = x.warp->index,
               .arrived = 0,
               .issued = x.warp->wgmma.issued};
  else if (meeting.issued != x.warp->wgmma.issued)
    return fault_unequal(x, in, meeting);
  x.effect();
  if (++meeting.arrived < kWarpsInGroup) {
    Split& split = x.warp->splits[x.split];
    split.state = SplitState::at_warpgroup;
    split.wait_pc = x.pc;
    split.pc = x.pc + 1;
    return Step::done;
  }
  meeting = {};
  if (!is_late(x))
    execute_operations(x, x.warp->wgmma.issued);
  Warp* warps = &x.cta->warps[x.warp->index - place_in_group(x)];
  for (uint32_t i = 0; i < kWarpsInGroup; ++i)
    for (Split& split : warps[i].splits)
      if (split.state == SplitState::at_warpgroup)
        split.state = SplitState::ready;
  return Step::next;
}

std::shared_ptr<WgmmaView> view_of_frame(Exec& x) {
  auto& views = x.warp->wgmma.views;
  for (const auto& view : views)
    if (is_of(*view, *x.frame))
      return view;
  views.push_back(make_view(x, *x.frame));
  views.back()->registers.assign(x.code->frame_bytes, kPoison);
  return views.back();
}

void execute_operations(Exec& x, uint64_t end) {
  Warpgroup& group = warpgroup_of(x);
  while (group.executed < end) {
    const uint64_t length = chain_from(group, group.executed, end);
    execute_chain(x, group, group.executed, length);
    group.executed += length;
  }
  if (!is_late(x)) // nobody asks for them again
    for (; group.first < group.executed; ++group.first)
      group.operations.pop_front();
}

bool complete_operations(Exec& x, const DecodedInst& in, uint64_t end) {
  Warpgroup& group = warpgroup_of(x);
  execute_operations(x, end);
  WgmmaState& state = x.warp->wgmma;
  for (; state.complete < end; ++state.complete) {
    const WgmmaOperation& operation = group.operation(state.complete);
    const WgmmaView& view = *operation.parts[place_in_group(x)].view;
    if (!is_alive(x, view)) {
      x.misuse(in, "wgmma.wait",
               fmt::format(
                   "the wgmma.mma_async at line {} completes here, but function {}, whose registers are its "
                   "accumulators, has returned (undefined behaviour)",
                   place_of(*operation.code, operation.instruction).ptx_line, operation.code->function->name),
               -1, {"wait for an operation in the function that issues it"});
      return false;
    }
    take_results(state, state.complete, accumulators_of(operation), view);
  }
  if (state.complete == state.issued)
    state.overwritten.clear();
  forget_complete(x, group);
  return true;
}

void take_moves(Exec& x, const DecodedInst& mma, WgmmaView& view) {
  WgmmaState& state = x.warp->wgmma;
  std::erase_if(state.moved, [&](const WgmmaState::Moved& moved) {
    if (moved.frame != x.frame || !has_register(*x.code, mma, moved.offset))
      return false;
    if (moved.activation == x.frame->activation)
      for_lanes(moved.lanes, [&](int lane) {
        const size_t at = moved.offset + static_cast<size_t>(lane) * sizeof(uint32_t);
        std::memcpy(view.registers.data() + at, x.frame->data + at, sizeof(uint32_t));
      });
    return true;
  });
  const WgmmaState::Issued issued{x.frame, x.code->id_of(mma)};
  if (std::find(state.since_fence.begin(), state.since_fence.end(), issued) == state.since_fence.end())
    state.since_fence.push_back(issued);
}

bool wait_for_registers(Exec& x, const DecodedInst& in) {
  note_moves(x, in);
  WgmmaState& state = x.warp->wgmma;
  if (state.complete == state.issued)
    return true;
  uint64_t end = 0;
  for (const Slot& slot : x.code->srcs_of(in))
    end = std::max(end, flight_end(x, slot, state.issued));
  if (end != 0 && !complete_operations(x, in, end))
    return false;
  for (const Slot& slot : x.code->dsts_of(in))
    if (flight_end(x, slot, state.issued) != 0)
      state.overwritten.push_back({x.frame, slot.offset, x.active, state.issued});
  return true;
}

bool are_in_flight(Exec& x, std::span<const Slot> registers, uint64_t end) {
  return std::any_of(registers.begin(), registers.end(),
                     [&](const Slot& slot) { return flight_end(x, slot, end) != 0; });
}

Step run_wgmma_fence(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warpgroup(x, in, step))
    return step;
  x.watch.tell(&Observer::synchronizes, x,
               {.kind = SyncKind::wgmma_fence, .lanes = x.active, .order = in.order});
  if (!is_late(x))
    return Step::next;
  WgmmaState& state = x.warp->wgmma;
  // A of operations in flight stays as it was, whatever its registers have become (measured on an H200); but
  // for accumulators of operations before, which are to come.
  for (uint64_t number = state.complete; number < state.issued; ++number) {
    WgmmaOperation& operation = warpgroup_of(x).operation(number);
    const uint32_t place = place_in_group(x);
    WgmmaOperation::Part& part = operation.parts[place];
    if (number < warpgroup_of(x).executed || operation.took_a[place] || registers_of_a(operation).empty() ||
        (is_of(*part.view, *x.frame) && are_in_flight(x, registers_of_a(operation), number)))
      continue;
    take_a(x, operation, place, part.registers());
    operation.took_a[place] = true;
  }
  state.fenced = state.issued;
  state.overwritten.clear();
  state.since_fence.clear();
  state.moved.clear();
  // Of every function that is running: the fence may stand in another than the operation.
  std::vector<std::shared_ptr<WgmmaView>> views;
  for (const CallFrame& call : current_split(x).stack)
    if (call.code->has_wgmma)
      views.push_back(renewed_view(x, *call.frame));
  x.warp->wgmma.views = std::move(views);
  return Step::next;
}

Step run_wgmma_commit(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warpgroup(x, in, step))
    return step;
  x.watch.tell(&Observer::commits, x, AsyncGroup::wgmma, x.active);
  WgmmaState& state = x.warp->wgmma;
  if (is_late(x)) {
    state.groups.push_back(state.issued);
    if (state.groups.size() > kWgmmaRun) { // a program that never waits
      if (!complete_operations(x, in, state.groups.front()))
        return Step::stopped;
      state.groups.erase(state.groups.begin());
    }
  }
  return meet(x, in); // of an empty group too (measured on an H200)
}

Step run_wgmma_wait(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warpgroup(x, in, step))
    return step;
  std::vector<uint64_t>& groups = x.warp->wgmma.groups;
  while (groups.size() > static_cast<uint64_t>(in.imm)) {
    if (!complete_operations(x, in, groups.front()))
      return Step::stopped;
    groups.erase(groups.begin());
  }
  x.watch.tell(&Observer::waits, x,
               {.group = AsyncGroup::wgmma, .pending = static_cast<uint64_t>(in.imm), .lanes = x.active});
  return Step::next;
}

} // namespace lemma::vgpu
