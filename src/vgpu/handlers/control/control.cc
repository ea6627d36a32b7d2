// Control flow and CTA barriers: bra brx.idx call ret exit trap brkpt nanosleep bar barrier.
//
// Not here: warp-wide synchronization (warp_ops.cc), cluster barriers (cluster.cc). PTX ISA, "Control Flow
// Instructions" and "Parallel Synchronization and Communication Instructions: bar, barrier". Tests:
// tests/unit/vgpu/control_test.cc, tests/programs.
#include "support/align.h"
#include "vgpu/code/decode.h"
#include "vgpu/code/decoder.h"
#include "vgpu/engine/builtins.h"
#include "vgpu/engine/observer.h"
#include "vgpu/engine/waiting.h"
#include "vgpu/engine/warp.h"
#include "vgpu/handlers/tensor/tensor_allocation.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::vgpu {
namespace {

using isa::Qual;
using isa::StateSpace;
using isa::Type;
using ptx::Operand;
using ptx::OperandKind;

// A thread's frames, of the functions that it is in: their registers and .param variables, and what a call
// costs besides.
constexpr uint64_t kMaxFrameBytes = kMaxLocalBytes;
constexpr uint64_t kCallBytes = 16;
constexpr uint32_t kPassedRegisterBytes =
    16; // in the param area, of a register that a builtin takes or gives

// --- branches
// -------------------------------------------------------------------------------------------------------

Step jump(Exec& x, uint32_t target) {
  const bool backward = target <= x.pc;
  x.pc = target;
  return backward && notice_backward_jump(x) ? Step::reschedule : Step::jumped;
}

Step run_bra(Exec& x, const DecodedInst& in) {
  x.active = x.mask & x.guard(in);
  if (x.active == x.mask)
    return jump(x, in.target());
  x.stats.lane_instructions -= lanes_of(x.mask & ~x.active);
  if (!x.active)
    return Step::next;
  leave_inactive_behind(x);
  x.pc = in.target();
  x.warp->splits[x.split].pc = in.target();
  return Step::reschedule;
}

} // namespace

struct BranchTable {
  const std::vector<uint32_t>* instructions = nullptr; // the module's: targets as instruction indices
};

namespace {

Step run_brx(Exec& x, const DecodedInst& in) {
  const auto& table = x.plan<BranchTable>(in);
  if (!x.active)
    return Step::next;
  leave_inactive_behind(x);
  const auto* index = x.src<uint32_t>(in, 0);
  LaneMask rest = x.active;
  const Split original = x.warp->splits[x.split];
  bool first = true;
  while (rest) {
    const int lane = std::countr_zero(rest);
    const uint32_t chosen = index[lane];
    if (chosen >= table.instructions->size())
      return x.fault(
          in, FaultKind::bad_call,
          fmt::format("brx.idx index {} is outside its {} targets", chosen, table.instructions->size()),
          lane);
    LaneMask same = 0;
    for_lanes(rest, [&](int l) { same |= static_cast<LaneMask>(index[l] == chosen) << l; });
    rest &= ~same;
    const uint32_t target = x.code->inst_to_pc[(*table.instructions)[chosen]];
    if (first && !rest)
      return jump(x, target);
    Split part = original;
    part.mask = same;
    part.pc = target;
    if (first)
      x.warp->splits[x.split] = std::move(part);
    else
      x.warp->splits.push_back(std::move(part));
    first = false;
  }
  return Step::reschedule;
}

bool select_branch(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  in.always_run = true;
  if (instruction.opcode == isa::Opcode::bra) {
    in.handler = run_bra;
    in.guards_itself = true; // so that loops are runs
    in.imm = d.target(0);
    return true;
  }
  in.handler = run_brx;
  auto& table = d.make_plan<BranchTable>(in);
  table.instructions = &d.function().target_lists[instruction.operands[1].symbol].labels;
  d.set_operands(in, {}, {d.src(0, Type::u32)});
  return true;
}

} // namespace

// --- calls
// ----------------------------------------------------------------------------------------------------------

struct CallSite {
  // One value that crosses a call, as the caller names it.
  struct Passed {
    std::vector<Slot> elements; // in registers, or constants; of a vector register, each element
    uint32_t offset =
        0; // in the caller's param area: where there are no elements, or a builtin takes or gives it
    uint32_t bytes = 0; // of that
  };
  const Code* callee = nullptr; // null: indirect, a builtin, or declared only
  std::string name;
  int builtin = -1;
  std::vector<Passed> arguments, results;
};

namespace {

using Passed = CallSite::Passed;

std::byte* lane_params(const Code& code, const Frame& frame, int lane) {
  return frame.data + code.param_area_offset + static_cast<size_t>(lane) * code.param_bytes;
}

// Bytes of each lane: lane l's lie at first + l * stride.
struct LaneBytes {
  std::byte* first = nullptr;
  size_t stride = 0;
  size_t bytes = 0;

  LaneBytes from(size_t skipped) const { return {first + skipped, stride, bytes - std::min(skipped, bytes)}; }
};

template <size_t kBytes>
void copy_lanes_of(LaneMask lanes, const LaneBytes& to, const LaneBytes& from) {
  if (lanes == kAllLanes) { // a plain loop, which the compiler unrolls
    std::byte* out = to.first;
    const std::byte* in = from.first;
#pragma GCC unroll 8
    for (int lane = 0; lane < kWarpSize; ++lane, out += to.stride, in += from.stride)
      std::memcpy(out, in, kBytes);
    return;
  }
  for_lanes(lanes, [&](int lane) {
    std::memcpy(to.first + lane * to.stride, from.first + lane * from.stride, kBytes);
  });
}

void copy_lanes(LaneMask lanes, const LaneBytes& to, const LaneBytes& from) {
  const size_t bytes = std::min(to.bytes, from.bytes);
  switch (bytes) {
  case 4:
    return copy_lanes_of<4>(lanes, to, from);
  case 8:
    return copy_lanes_of<8>(lanes, to, from);
  case 16:
    return copy_lanes_of<16>(lanes, to, from);
  default:
    for_lanes(lanes, [&](int lane) {
      std::memcpy(to.first + lane * to.stride, from.first + lane * from.stride, bytes);
    });
  }
}

LaneBytes in_register(std::byte* const* bases, const Slot& slot) {
  return {bases[slot.base] + slot.offset, slot.bytes, slot.bytes};
}
LaneBytes in_params(const Code& code, const Frame& frame, uint32_t offset, size_t bytes) {
  return {lane_params(code, frame, 0) + offset, code.param_bytes, bytes};
}

// A parameter of a device function lies in the param area, or, declared .reg, in a register.
struct Formal {
  const Code& code;
  const ptx::Variable& variable;
  uint32_t offset; // in the param area

  bool in_registers() const { return variable.space == StateSpace::reg; }
  int elements() const { return in_registers() ? variable.vector_elems : 1; }
  // Element i where the other side has its values in registers of `step` bytes.
  LaneBytes element(const Frame& frame, int i, size_t step) const {
    std::byte* const bases[] = {frame.data, nullptr};
    return in_registers() ? in_register(bases, code.register_slot(variable.reg, i))
                          : in_params(code, frame, offset, variable.size_bytes).from(i * step);
  }
};

// The same of a value that the caller names.
LaneBytes element_of(const Exec& x, const Passed& passed, int i, size_t step) {
  return passed.elements.empty() ? in_params(*x.code, *x.frame, passed.offset, passed.bytes).from(i * step)
                                 : in_register(x.bases, passed.elements[i]);
}

// How many copies a value takes, and how far apart they lie where a side is in memory.
struct Steps {
  int count = 1;
  size_t bytes = 0;
};
Steps steps_between(const Formal& formal, const Passed& passed) {
  const int given = static_cast<int>(passed.elements.size());
  if (!formal.in_registers())
    return {std::max(given, 1), given > 0 ? passed.elements[0].bytes : size_t{0}};
  // An indirect call may reach a function with other parameters than its prototype says.
  return {given > 0 ? std::min(given, formal.elements()) : formal.elements(),
          formal.code.register_slot(formal.variable.reg, 0).bytes};
}

void copy_arguments(Exec& x, const CallSite& site, const Code& callee, Frame& frame) {
  const auto& params = callee.function->params;
  for (size_t i = 0; i < std::min(params.size(), site.arguments.size()); ++i) {
    const Formal formal{callee, params[i], callee.param_offsets[i]};
    if (formal.in_registers() && callee.tracked[params[i].reg])
      frame.written[params[i].reg] |= x.active;
    const Steps steps = steps_between(formal, site.arguments[i]);
    for (int e = 0; e < steps.count; ++e)
      copy_lanes(x.active, formal.element(frame, e, steps.bytes),
                 element_of(x, site.arguments[i], e, steps.bytes));
  }
}

// Into the frame that x has loaded, the caller's.
void copy_results(Exec& x, const CallSite& site, const Code& callee, const Frame& frame) {
  const auto& returns = callee.function->returns;
  for (size_t i = 0; i < std::min(returns.size(), site.results.size()); ++i) {
    const Formal formal{callee, returns[i], callee.return_offsets[i]};
    const Passed& to = site.results[i];
    const Steps steps = steps_between(formal, to);
    for (const Slot& slot : to.elements)
      if (slot.reg() != ptx::kNone && x.code->tracked[slot.reg()])
        x.frame->written[slot.reg()] |= x.active;
    for (int e = 0; e < steps.count; ++e)
      copy_lanes(x.active, element_of(x, to, e, steps.bytes), formal.element(frame, e, steps.bytes));
  }
}

Step enter(Exec& x, const DecodedInst& in, const CallSite& site, const Code& callee) {
  Split& split = x.warp->splits[x.split];
  const CallFrame caller = split.stack.back();
  const uint64_t align = callee.local_align;
  const uint64_t local_base = align_up(caller.local_end(), align);
  const uint64_t frame_bytes = caller.frame_bytes + callee.frame_bytes / kWarpSize + kCallBytes;
  // One function may have more, as it may be called once.
  if (caller.frame_bytes > kMaxFrameBytes || !reserve_local(*x.warp, local_base + callee.local_bytes))
    return x.fault(
        in, FaultKind::call_too_deep,
        fmt::format(
            "call of {} at depth {}: a thread has at most {} KiB of frames and {} KiB of local memory",
            callee.function->name, split.stack.size(), kMaxFrameBytes / 1024, kMaxLocalBytes / 1024),
        std::countr_zero(x.active),
        {"is the recursion's end ever reached? the call stack of a real GPU is smaller still "
         "(cudaLimitStackSize)"});
  forget_local(*x.warp, caller.local_end(), local_base + callee.local_bytes, x.active);
  Frame* frame = activate_frame(*x.warp, split.stack.size(), callee, x.active);
  copy_arguments(x, site, callee, *frame);
  split.stack.push_back({.code = &callee,
                         .frame = frame,
                         .registers = frame->data,
                         .return_pc = x.pc + 1,
                         .local_base = static_cast<uint32_t>(local_base),
                         .frame_bytes = static_cast<uint32_t>(frame_bytes)});
  split.pc = 0;
  return Step::reschedule;
}

// Builtins take and give everything in the param area: registers go through it.
Step run_builtin(Exec& x, const DecodedInst& in, const CallSite& site) {
  const auto area = [&](const Passed& passed) {
    return in_params(*x.code, *x.frame, passed.offset, kPassedRegisterBytes);
  };
  std::vector<uint32_t> arguments, results;
  for (const Passed& argument : site.arguments) {
    arguments.push_back(argument.offset);
    for (const Slot& slot : argument.elements) {
      for_lanes(x.active, [&](int lane) {
        std::memset(lane_params(*x.code, *x.frame, lane) + argument.offset, 0, kPassedRegisterBytes);
      });
      copy_lanes(x.active, area(argument), in_register(x.bases, slot));
    }
  }
  for (const Passed& result : site.results)
    results.push_back(result.offset);
  const Step step = call_builtin(x, in, site.builtin, arguments, results);
  for (const Passed& result : site.results)
    for (const Slot& slot : result.elements)
      if (step == Step::next)
        copy_lanes(x.active, in_register(x.bases, slot), area(result));
  return step;
}

// A module that is not linked yet: a driver refuses it as a whole, here all else of it runs.
Step run_undefined_call(Exec& x, const DecodedInst& in) {
  const auto& site = x.plan<CallSite>(in);
  if (site.name.starts_with("__cudaCDP2")) // of the device's part of the CUDA runtime
    return x.fault(
        in, FaultKind::unsupported,
        fmt::format("{} launches kernels from a kernel (dynamic parallelism), or asks what only that needs: "
                    "Lemma does not execute it",
                    site.name),
        -1, {"fix: launch from the host"});
  return x.fault(
      in, FaultKind::bad_call,
      fmt::format("{} is declared but has no body: relocatable code (nvcc -rdc=true) is to be linked "
                  "with the file that defines it",
                  site.name),
      -1, {"fix: lemma link THIS.ptx OTHER.ptx -o PROGRAM.ptx"});
}

Step run_call(Exec& x, const DecodedInst& in) {
  const auto& site = x.plan<CallSite>(in);
  if (site.builtin >= 0)
    return run_builtin(x, in, site);
  leave_inactive_behind(x);
  if (site.callee)
    return enter(x, in, site, *site.callee);
  // Indirect: one callee after the other; lanes of the others call again from here.
  const auto* addresses = x.src<uint64_t>(in, 0);
  const int lane = std::countr_zero(x.active);
  const uint64_t address = addresses[lane];
  const Code* callee = x.launch->program->code_at(address);
  if (!callee || !callee->function->has_body || callee->function->is_entry)
    return x.fault_at(
        in, FaultKind::bad_call,
        fmt::format("indirect call of 0x{:x}, which is not the address of a device function", address), lane,
        address);
  LaneMask same = 0;
  for_lanes(x.active, [&](int l) { same |= static_cast<LaneMask>(addresses[l] == address) << l; });
  if (same != x.active) {
    Split rest = x.warp->splits[x.split];
    rest.mask = x.active & ~same;
    rest.pc = x.pc;
    x.warp->splits[x.split].mask = same;
    x.warp->splits.push_back(std::move(rest));
    x.active = x.mask = same;
  }
  return enter(x, in, site, *callee);
}

Step exit_lanes(Exec& x, const DecodedInst& in);

Step run_ret(Exec& x, const DecodedInst& in) {
  if (!x.active)
    return Step::next;
  leave_inactive_behind(x);
  Split& split = x.warp->splits[x.split];
  if (split.stack.size() == 1) // a kernel's ret is an exit
    return exit_lanes(x, in);
  const CallFrame callee = split.stack.back();
  split.stack.pop_back();
  const CallFrame& caller = split.stack.back();
  const DecodedInst& call = caller.code->insts[callee.return_pc - 1];
  x.code = caller.code;
  x.frame = caller.frame;
  x.bases[0] = caller.registers;
  copy_results(x, x.plan<CallSite>(call), *callee.code, *callee.frame);
  split.pc = callee.return_pc;
  return Step::reschedule;
}

// Takes the operands of an argument or a result, `text`, off the front of `operands`. False for what no call
// can pass.
bool pass(Decoder& d, const Operand& text, bool is_result, std::span<const lowered::Operand>& operands,
          Passed& passed) {
  const uint32_t width = lowered::width_of(text, d.function());
  for (const lowered::Operand& operand : operands.first(width)) {
    if (operand.kind != lowered::OperandKind::variable) {
      passed.elements.push_back(is_result ? d.dst(operand, Type::b64) : d.src(operand));
      continue;
    }
    const lowered::VariableAddress& address = d.lowered().variables[operand.index];
    const ptx::Variable& variable = d.lowered().variable_of(address);
    if (variable.space != StateSpace::param || address.offset != 0)
      return false;
    passed.offset = d.param_offset(address);
    passed.bytes = static_cast<uint32_t>(variable.size_bytes);
  }
  operands = operands.subspan(width);
  return true;
}

// Gives the registers among a builtin's arguments and results their places in the param area. False where it
// cannot be called so.
bool place_for_builtin(Decoder& d, CallSite& site) {
  std::vector<uint32_t> bytes[2];
  for (auto* passed : {&site.arguments, &site.results})
    for (Passed& p : *passed) {
      if (p.elements.size() > 1)
        return false;
      if (!p.elements.empty()) {
        p.offset = d.code().param_bytes;
        p.bytes = kPassedRegisterBytes;
        d.code().param_bytes += kPassedRegisterBytes;
      }
      bytes[passed == &site.results].push_back(p.bytes);
    }
  return fits_builtin(site.builtin, bytes[0], bytes[1]);
}

bool select_call(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const Operand& callee = instruction.operands[0];
  auto& site = d.make_plan<CallSite>(in);
  if (callee.kind == OperandKind::function) {
    site.name = d.module().functions[callee.symbol].name;
    site.callee = &d.program().code(d.module().body_of(callee.symbol));
    if (!site.callee->function->has_body) {
      site.callee = nullptr;
      site.builtin = find_builtin(site.name);
      if (site.builtin < 0) {
        in.handler = run_undefined_call;
        return true;
      }
    }
  }
  const auto add = [&](size_t list, bool is_result, std::vector<Passed>& out) {
    std::span<const lowered::Operand> left = d.operands(list);
    return instruction.operands.size() <= list ||
           std::ranges::all_of(instruction.operands[list].elems, [&](const Operand& text) {
             return pass(d, text, is_result, left, out.emplace_back());
           });
  };
  if (!add(1, true, site.results) || !add(2, false, site.arguments))
    return false;
  if (site.builtin >= 0 && !place_for_builtin(d, site))
    return false;
  in.handler = run_call;
  // Registers among the arguments are sources, so that reads of unwritten ones show.
  std::vector<Slot> srcs, dsts;
  if (callee.kind != OperandKind::function)
    srcs.push_back(d.src(0, Type::u64));
  for (const Passed& argument : site.arguments)
    srcs.insert(srcs.end(), argument.elements.begin(), argument.elements.end());
  for (const Passed& result : site.results)
    dsts.insert(dsts.end(), result.elements.begin(), result.elements.end());
  d.set_operands(in, dsts, srcs);
  return true;
}

bool select_ret(Decoder&, const ptx::Instruction&, DecodedInst& in) {
  in.handler = run_ret;
  in.always_run = true;
  return true;
}

// --- barriers
// -------------------------------------------------------------------------------------------------------

enum BarrierMode : uint8_t { kSync, kArrive, kRedAnd, kRedOr, kRedPopc };

bool is_complete(const Cta& cta, const Barrier& barrier) {
  if (!barrier.arrived)
    return false;
  if (barrier.expected)
    return barrier.arrived >= barrier.expected;
  return barrier.arrived >= cta.live_warps * kWarpSize;
}

void release(Cta& cta, int id) {
  Barrier& barrier = cta.barriers[id];
  cta.cluster->async.watch().tell(&Observer::barrier_completes, cta, static_cast<uint32_t>(id));
  for (Warp& warp : cta.warps)
    for (Split& split : warp.splits)
      if (split.state == SplitState::at_barrier && split.barrier == id) {
        split.state = SplitState::ready;
        split.barrier_done = split.pc == split.wait_pc; // a reduction runs again for its result
        split.barrier_popc = barrier.popc;
        split.barrier_threads = barrier.voters;
      }
  barrier = Barrier{};
  cta.used_barriers &= ~(1u << id);
}

// Once every living lane of a warp has arrived, the lanes that are no more count too.
void count_absent_lanes(const Warp& warp, Barrier& barrier) {
  LaneMask& lanes = barrier.lanes[warp.index];
  if (!lanes || (warp.live & ~lanes))
    return;
  barrier.arrived += kWarpSize - lanes_of(lanes);
  lanes = 0;
}

Step finish_barrier(Exec& x, const DecodedInst& in) {
  Split& split = x.warp->splits[x.split];
  split.barrier_done = false;
  switch (in.flags) {
  case kRedAnd:
    x.set_pred(in, 0, split.barrier_popc == split.barrier_threads ? kAllLanes : 0);
    break;
  case kRedOr:
    x.set_pred(in, 0, split.barrier_popc ? kAllLanes : 0);
    break;
  case kRedPopc: {
    auto* d = x.dst<uint32_t>(in);
    for_lanes(x.active, [&](int lane) { d[lane] = split.barrier_popc; });
    break;
  }
  default:
    break;
  }
  return Step::next;
}

Step run_barrier(Exec& x, const DecodedInst& in) {
  if (x.warp->splits[x.split].barrier_done)
    return finish_barrier(x, in);
  const int lane = std::countr_zero(x.active);
  const auto id = static_cast<uint32_t>(x.src_lane(in, 0, lane));
  const auto expected = static_cast<uint32_t>(x.src_lane(in, 1, lane));
  if (id >= x.cta->barriers.size())
    return x.fault(in, FaultKind::illegal_instruction,
                   fmt::format("there is no barrier {}: legal are 0 to 15", id), lane);
  if (expected % kWarpSize)
    return x.misuse(
        in, "barrier.count",
        fmt::format("barrier {} is to wait for {} threads, which is not a multiple of the warp size, 32", id,
                    expected),
        lane);
  Barrier& barrier = x.cta->barriers[id];
  if (barrier.arrived && barrier.expected != expected)
    return x.misuse(in, "barrier.count",
                    fmt::format("barrier {} is in use for {} threads, but this arrival names {}", id,
                                barrier.expected ? std::to_string(barrier.expected) : "all",
                                expected ? std::to_string(expected) : "all"),
                    lane);
  leave_inactive_behind(x);
  x.effect();
  x.watch.tell(&Observer::synchronizes, x,
               {.kind = SyncKind::barrier_arrive,
                .lanes = x.active,
                .order = in.order,
                .id = id,
                .waits = in.flags != kArrive,
                .expected = expected});
  x.cta->used_barriers |= 1u << id;
  barrier.expected = expected;
  barrier.arrived += lanes_of(x.active);
  if (in.flags >= kRedAnd) {
    barrier.popc += lanes_of(x.active & x.pred(in, 2));
    barrier.voters += lanes_of(x.active);
  }
  barrier.lanes[x.warp->index] |= x.active;
  count_absent_lanes(*x.warp, barrier);
  Split& split = x.warp->splits[x.split];
  split.wait_pc = x.pc;
  split.pc = in.flags >= kRedAnd ? x.pc : x.pc + 1;
  if (in.flags != kArrive) {
    split.state = SplitState::at_barrier;
    split.barrier = static_cast<uint8_t>(id);
  }
  if (is_complete(*x.cta, barrier))
    release(*x.cta, static_cast<int>(id));
  return Step::reschedule;
}

// bar.sync ID, the barrier a constant and for all threads of the CTA. Where a whole warp comes at once there
// is little to ask, and the last one to come goes on.
Step run_sync_of_all(Exec& x, const DecodedInst& in) {
  Cta& cta = *x.cta;
  const auto id = static_cast<uint32_t>(in.imm);
  Barrier& barrier = cta.barriers[id];
  if (x.active != x.warp->live || barrier.expected != 0 || x.watch.is_on()) [[unlikely]]
    return run_barrier(x, in);
  x.effect();
  cta.used_barriers |= 1u << id;
  barrier.arrived += kWarpSize;
  if (is_complete(cta, barrier)) {
    release(cta, static_cast<int>(id));
    return Step::next;
  }
  Split& split = x.warp->splits[x.split];
  split.wait_pc = x.pc;
  split.pc = x.pc + 1;
  split.state = SplitState::at_barrier;
  split.barrier = static_cast<uint8_t>(id);
  return Step::reschedule;
}

bool select_barrier(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const bool red = instruction.has(Qual::red);
  size_t first = red ? 1 : 0;
  in.flags = instruction.has(Qual::arrive) ? kArrive : kSync;
  if (red)
    in.flags = instruction.has(Qual::popc) ? kRedPopc : instruction.has(Qual::and_) ? kRedAnd : kRedOr;
  const auto& operands = instruction.operands;
  const Slot id = d.src(first, Type::u32);
  const size_t rest = operands.size() - first - 1 - (red ? 1 : 0);
  const Slot count = rest >= 1 ? d.src(first + 1, Type::u32) : d.constant(0, Type::u32);
  in.handler = run_barrier;
  if (in.flags == kSync && rest == 0 && operands[first].kind == OperandKind::imm &&
      operands[first].bits < std::tuple_size_v<decltype(Cta::barriers)>) {
    in.handler = run_sync_of_all;
    in.imm = static_cast<int64_t>(operands[first].bits);
  }
  if (red)
    d.set_operands(in, {d.dst(0, in.flags == kRedPopc ? Type::u32 : Type::pred)},
                   {id, count, d.src(operands.size() - 1, Type::pred)});
  else
    d.set_operands(in, {}, {id, count});
  return true;
}

// --- the end
// --------------------------------------------------------------------------------------------------------

// The active lanes, which are all of their split, are no more.
Step exit_lanes(Exec& x, const DecodedInst& in) {
  x.watch.tell(&Observer::exits, x, x.active);
  x.warp->live &= ~x.active;
  x.warp->exited |= x.active;
  x.effect();
  if (x.warp->live == 0) {
    --x.cta->live_warps;
    // A wgmma may yet write to its registers, and who watches may know them.
    if (!x.watch.is_on() && !x.launch->entry->has_wgmma)
      x.cta->free_frames.push_back(x.warp->splits[x.split].stack.front().frame);
  }
  x.warp->spare_stack = std::move(x.warp->splits[x.split].stack);
  x.warp->splits.erase(x.warp->splits.begin() + static_cast<ptrdiff_t>(std::exchange(x.split, SIZE_MAX)));
  wake_collectives(*x.warp);
  leave_cluster_barrier(*x.cta->cluster, *x.warp, x.active);
  for (uint32_t used = x.cta->used_barriers; used; used &= used - 1) {
    const int id = std::countr_zero(used);
    Barrier& barrier = x.cta->barriers[id];
    count_absent_lanes(*x.warp, barrier);
    if (is_complete(*x.cta, barrier))
      release(*x.cta, id);
  }
  return x.cta->is_finished() ? end_tensor_memory(x, in) : Step::reschedule;
}

Step run_exit(Exec& x, const DecodedInst& in) {
  leave_inactive_behind(x);
  return exit_lanes(x, in);
}

Step run_trap(Exec& x, const DecodedInst& in) {
  return x.fault(in, FaultKind::trap, "the kernel executed trap", std::countr_zero(x.active));
}

Step run_brkpt(Exec& x, const DecodedInst& in) {
  return x.fault(in, FaultKind::breakpoint, "the kernel executed brkpt, and no debugger is there",
                 std::countr_zero(x.active));
}

bool select_end(Decoder&, const ptx::Instruction& instruction, DecodedInst& in) {
  in.handler = instruction.opcode == isa::Opcode::exit   ? run_exit
               : instruction.opcode == isa::Opcode::trap ? run_trap
                                                         : run_brkpt;
  return true;
}

// Others may run meanwhile. A loop that does nothing but sleep still only polls.
Step run_nanosleep(Exec& x, const DecodedInst& in) {
  constexpr uint32_t kLongestNs = 1'000'000;
  uint32_t longest = 0;
  for_lanes(x.active, [&](int lane) {
    longest = std::max(longest, std::min(kLongestNs, static_cast<uint32_t>(x.src_lane(in, 0, lane))));
  });
  return start_sleep(x, longest);
}

bool select_nanosleep(Decoder& d, const ptx::Instruction&, DecodedInst& in) {
  in.handler = run_nanosleep;
  d.set_operands(in, {}, {d.src(0, Type::u32)});
  return true;
}

} // namespace

DecodedInst return_instruction() {
  DecodedInst in;
  in.handler = run_ret;
  in.always_run = true;
  in.imm = ptx::kNone;
  return in;
}

void add_control_selectors(SelectorTable& table) {
  using isa::Opcode;
  table.add({Opcode::bra, Opcode::brx_idx}, select_branch);
  table.add(Opcode::call, select_call);
  table.add(Opcode::ret, select_ret);
  table.add({Opcode::exit, Opcode::trap, Opcode::brkpt}, select_end);
  table.add({Opcode::bar, Opcode::barrier}, select_barrier);
  table.add(Opcode::nanosleep, select_nanosleep);
}

} // namespace lemma::vgpu
