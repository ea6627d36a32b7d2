// Control flow and CTA barriers: bra brx.idx call ret exit trap brkpt nanosleep bar barrier.
//
// Not here: warp-wide synchronization (warp_ops.cc), cluster barriers (cluster.cc). PTX ISA, "Control Flow
// Instructions" and "Parallel Synchronization and Communication Instructions: bar, barrier". Tests:
// tests/unit/vgpu/control_test.cc, tests/programs.
#include "vgpu/builtins.h"
#include "vgpu/decode.h"
#include "vgpu/decoder.h"
#include "vgpu/waiting.h"
#include "vgpu/warp.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::vgpu {
namespace {

using isa::Qual;
using isa::StateSpace;
using isa::Type;
using ptx::Operand;
using ptx::OperandKind;

constexpr size_t kMaxCallDepth = 1024;
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
  if (x.active == x.mask)
    return jump(x, in.target);
  if (!x.active)
    return Step::next;
  leave_inactive_behind(x);
  x.pc = in.target;
  x.warp->splits[x.split].pc = in.target;
  return Step::reschedule;
}

struct BranchTable {
  const std::vector<uint32_t>* instructions = nullptr; // the module's: targets as instruction indices
};

Step run_brx(Exec& x, const DecodedInst& in) {
  const auto& table = *static_cast<const BranchTable*>(in.extra);
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
    return true;
  }
  in.handler = run_brx;
  auto* table = d.make_extra<BranchTable>(in);
  table->instructions = &d.function().target_lists[instruction.operands[1].target].labels;
  d.set_operands(in, {}, {d.src(instruction.operands[0], Type::u32)});
  return true;
}

// --- calls
// ----------------------------------------------------------------------------------------------------------

// One value that crosses a call: from a lane's param area or a register to the other side's.
struct Passed {
  bool from_register = false;
  Slot slot;           // register, or constant
  uint32_t offset = 0; // in the caller's param area; of a register too, where a builtin takes or gives it
  uint32_t bytes = 0;  // of a .param; registers pass their own width
};

struct CallSite {
  const Code* callee = nullptr; // null: indirect, a builtin, or declared only
  std::string name;
  int builtin = -1;
  std::vector<Passed> arguments, results;
};

std::byte* lane_params(const Code& code, const Frame& frame, int lane) {
  return frame.data + code.param_area_offset + static_cast<size_t>(lane) * code.param_bytes;
}

// A parameter of a device function lies in the param area, or, declared .reg, in a register of the same name.
const Slot* parameter_register(const Code& code, const ptx::Variable& variable) {
  if (variable.space != StateSpace::reg)
    return nullptr;
  return &code.registers[variable.reg];
}

size_t lane_bytes(const Slot& slot) {
  return slot.bytes;
}

void copy_arguments(Exec& x, const CallSite& site, const Code& callee, Frame& frame) {
  const auto& params = callee.function->params;
  for (size_t i = 0; i < std::min(params.size(), site.arguments.size()); ++i) {
    const Passed& from = site.arguments[i];
    const Slot* to = parameter_register(callee, params[i]);
    if (to && callee.tracked[to->reg])
      frame.written[to->reg] |= x.active;
    for_lanes(x.active, [&](int lane) {
      std::byte* target = to ? frame.data + to->offset + lane * lane_bytes(*to)
                             : lane_params(callee, frame, lane) + callee.param_offsets[i];
      const size_t room = to ? lane_bytes(*to) : params[i].size_bytes;
      const std::byte* source =
          from.from_register ? x.bases[from.slot.base] + from.slot.offset + lane * lane_bytes(from.slot)
                             : lane_params(*x.code, *x.frame, lane) + from.offset;
      std::memcpy(target, source, std::min<size_t>(room, from.from_register ? from.slot.bytes : from.bytes));
    });
  }
}

Step enter(Exec& x, const DecodedInst& in, const CallSite& site, const Code& callee) {
  Split& split = x.warp->splits[x.split];
  const CallFrame caller = split.stack.back();
  const uint64_t align = callee.local_align;
  const uint64_t local_base = (caller.local_end() + align - 1) / align * align;
  if (split.stack.size() >= kMaxCallDepth || !reserve_local(*x.warp, local_base + callee.local_bytes))
    return x.fault(in, FaultKind::call_too_deep,
                   fmt::format("call of {} at depth {}: at most {} calls and {} KiB of local memory a thread",
                               callee.function->name, split.stack.size(), kMaxCallDepth,
                               kMaxLocalBytes / 1024),
                   std::countr_zero(x.active),
                   {"is the recursion's end ever reached? the call stack of a real GPU is smaller still "
                    "(cudaLimitStackSize)"});
  forget_local(*x.warp, caller.local_end(), local_base + callee.local_bytes, x.active);
  Frame* frame = activate_frame(*x.warp, split.stack.size(), callee, x.active);
  copy_arguments(x, site, callee, *frame);
  split.stack.push_back({&callee, frame, x.pc + 1, static_cast<uint32_t>(local_base)});
  split.pc = 0;
  return Step::reschedule;
}

// Builtins take and give everything in the param area: registers go through it.
Step run_builtin(Exec& x, const DecodedInst& in, const CallSite& site) {
  std::vector<uint32_t> arguments, results;
  for (const Passed& argument : site.arguments) {
    arguments.push_back(argument.offset);
    if (argument.from_register)
      for_lanes(x.active, [&](int lane) {
        std::byte* area = lane_params(*x.code, *x.frame, lane) + argument.offset;
        std::memset(area, 0, kPassedRegisterBytes);
        std::memcpy(area, x.bases[argument.slot.base] + argument.slot.offset + lane * argument.slot.bytes,
                    argument.slot.bytes);
      });
  }
  for (const Passed& result : site.results)
    results.push_back(result.offset);
  const Step step = call_builtin(x, in, site.builtin, arguments, results);
  for (const Passed& result : site.results)
    if (result.from_register && step == Step::next)
      for_lanes(x.active, [&](int lane) {
        std::memcpy(x.bases[0] + result.slot.offset + lane * result.slot.bytes,
                    lane_params(*x.code, *x.frame, lane) + result.offset, result.slot.bytes);
      });
  return step;
}

// A module that is not linked yet: a driver refuses it as a whole, here all else of it runs.
Step run_undefined_call(Exec& x, const DecodedInst& in) {
  const auto& site = *static_cast<const CallSite*>(in.extra);
  return x.fault(in, FaultKind::bad_call,
                 fmt::format("{} is declared but has no body: this file must define it (nvcc does so without "
                             "-rdc=true, with all sources in one)",
                             site.name));
}

Step run_call(Exec& x, const DecodedInst& in) {
  const auto& site = *static_cast<const CallSite*>(in.extra);
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

void exit_lanes(Exec& x);

Step run_ret(Exec& x, const DecodedInst& in) {
  if (!x.active)
    return Step::next;
  leave_inactive_behind(x);
  Split& split = x.warp->splits[x.split];
  if (split.stack.size() == 1) { // a kernel's ret is an exit
    exit_lanes(x);
    return Step::reschedule;
  }
  (void)in;
  const CallFrame callee = split.stack.back();
  split.stack.pop_back();
  const CallFrame& caller = split.stack.back();
  const DecodedInst& call = caller.code->insts[callee.return_pc - 1];
  const auto& site = *static_cast<const CallSite*>(call.extra);
  const auto& returns = callee.code->function->returns;
  for (size_t i = 0; i < std::min(returns.size(), site.results.size()); ++i) {
    const Passed& to = site.results[i];
    const Slot* from = parameter_register(*callee.code, returns[i]);
    if (to.from_register && to.slot.reg != ptx::kNone && caller.code->tracked[to.slot.reg])
      caller.frame->written[to.slot.reg] |= x.active;
    for_lanes(x.active, [&](int lane) {
      const std::byte* source =
          from ? callee.frame->data + from->offset + lane * lane_bytes(*from)
               : lane_params(*callee.code, *callee.frame, lane) + callee.code->return_offsets[i];
      std::byte* target = to.from_register ? caller.frame->data + to.slot.offset + lane * lane_bytes(to.slot)
                                           : lane_params(*caller.code, *caller.frame, lane) + to.offset;
      const size_t bytes = from ? lane_bytes(*from) : returns[i].size_bytes;
      std::memcpy(target, source, std::min<size_t>(bytes, to.from_register ? to.slot.bytes : to.bytes));
    });
  }
  split.pc = callee.return_pc;
  return Step::reschedule;
}

Passed pass(Decoder& d, const Operand& operand, Type register_type) {
  Passed passed;
  if (operand.kind == OperandKind::symbol && d.variable_of(operand).space == StateSpace::param) {
    passed.offset = d.param_offset(operand);
    passed.bytes = static_cast<uint32_t>(d.variable_of(operand).size_bytes);
    return passed;
  }
  passed.from_register = true;
  passed.slot = d.src(operand, register_type);
  return passed;
}

// A returned value: `_` has a register that nobody reads.
Passed pass_result(Decoder& d, const Operand& operand, Type register_type) {
  if (operand.kind == OperandKind::symbol)
    return pass(d, operand, register_type);
  Passed passed;
  passed.from_register = true;
  passed.slot = d.dst(operand, register_type);
  return passed;
}

// Gives the registers among a builtin's arguments and results their places in the param area. False where it
// cannot be called so.
bool place_for_builtin(Decoder& d, CallSite& site) {
  std::vector<uint32_t> bytes[2];
  for (auto* passed : {&site.arguments, &site.results})
    for (Passed& p : *passed) {
      if (p.from_register) {
        p.offset = d.code().param_bytes;
        p.bytes = kPassedRegisterBytes;
        d.code().param_bytes += kPassedRegisterBytes;
      }
      bytes[passed == &site.results].push_back(p.bytes);
    }
  return fits_builtin(site.builtin, bytes[0], bytes[1]);
}

// Types of a callee's parameters, for immediates; of an indirect call, by its prototype.
const std::vector<ptx::Variable>* parameters_of(Decoder& d, const ptx::Instruction& instruction) {
  if (instruction.operands[0].kind == OperandKind::function) {
    return &d.module().functions[instruction.operands[0].symbol].params;
  }
  if (instruction.operands.size() > 3 && instruction.operands[3].target < d.function().prototypes.size())
    return &d.function().prototypes[instruction.operands[3].target].params;
  return nullptr;
}

bool select_call(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const Operand& callee = instruction.operands[0];
  auto* site = d.make_extra<CallSite>(in);
  if (callee.kind == OperandKind::function) {
    site->name = callee.symbol_name;
    site->callee = &d.program().code(callee.symbol);
    if (!site->callee->function->has_body) {
      site->callee = nullptr;
      site->builtin = find_builtin(callee.symbol_name);
      if (site->builtin < 0) {
        in.handler = run_undefined_call;
        return true;
      }
    }
  }
  const auto* params = parameters_of(d, instruction);
  if (instruction.operands.size() > 1)
    for (const Operand& result : instruction.operands[1].elems)
      site->results.push_back(pass_result(d, result, Type::b64));
  if (instruction.operands.size() > 2)
    for (size_t i = 0; i < instruction.operands[2].elems.size(); ++i)
      site->arguments.push_back(pass(d, instruction.operands[2].elems[i],
                                     params && i < params->size() ? (*params)[i].type : Type::b64));
  if (site->builtin >= 0 && !place_for_builtin(d, *site))
    return false;
  in.handler = run_call;
  // Registers among the arguments are sources, so that reads of unwritten ones show.
  std::vector<Slot> srcs, dsts;
  if (callee.kind != OperandKind::function)
    srcs.push_back(d.src(callee, Type::u64));
  for (const Passed& argument : site->arguments)
    if (argument.from_register)
      srcs.push_back(argument.slot);
  for (const Passed& result : site->results)
    if (result.from_register)
      dsts.push_back(result.slot);
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
  uint32_t all = 0;
  for (const Warp& warp : cta.warps)
    all += warp.live ? kWarpSize : 0;
  return barrier.arrived >= all;
}

void release(Cta& cta, int id) {
  Barrier& barrier = cta.barriers[id];
  for (Warp& warp : cta.warps)
    for (Split& split : warp.splits)
      if (split.state == SplitState::at_barrier && split.barrier == id) {
        split.state = SplitState::ready;
        split.barrier_done = split.pc == split.wait_pc; // a reduction runs again for its result
        split.barrier_popc = barrier.popc;
        split.barrier_threads = barrier.voters;
      }
  barrier = Barrier{};
}

// Once every living lane of a warp has arrived, the lanes that are no more count too.
void count_absent_lanes(const Warp& warp, Barrier& barrier) {
  LaneMask& lanes = barrier.lanes[warp.index];
  if (!lanes || (warp.live & ~lanes))
    return;
  barrier.arrived += kWarpSize - std::popcount(lanes);
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
    return x.fault(
        in, FaultKind::illegal_instruction,
        fmt::format("barrier {} is to wait for {} threads, which is not a multiple of the warp size, 32", id,
                    expected),
        lane);
  Barrier& barrier = x.cta->barriers[id];
  if (barrier.arrived && barrier.expected != expected)
    return x.fault(in, FaultKind::illegal_instruction,
                   fmt::format("barrier {} is in use for {} threads, but this arrival names {}", id,
                               barrier.expected ? std::to_string(barrier.expected) : "all",
                               expected ? std::to_string(expected) : "all"),
                   lane);
  leave_inactive_behind(x);
  x.effect();
  barrier.expected = expected;
  barrier.arrived += std::popcount(x.active);
  if (in.flags >= kRedAnd) {
    barrier.popc += std::popcount(x.active & x.pred(in, 2));
    barrier.voters += std::popcount(x.active);
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

bool select_barrier(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const bool red = instruction.has(Qual::red);
  size_t first = red ? 1 : 0;
  in.flags = instruction.has(Qual::arrive) ? kArrive : kSync;
  if (red)
    in.flags = instruction.has(Qual::popc) ? kRedPopc : instruction.has(Qual::and_) ? kRedAnd : kRedOr;
  const auto& operands = instruction.operands;
  const Slot id = d.src(operands[first], Type::u32);
  const size_t rest = operands.size() - first - 1 - (red ? 1 : 0);
  const Slot count = rest >= 1 ? d.src(operands[first + 1], Type::u32) : d.constant(0, Type::u32);
  in.handler = run_barrier;
  if (red)
    d.set_operands(in, {d.dst(operands[0], in.flags == kRedPopc ? Type::u32 : Type::pred)},
                   {id, count, d.src(operands.back(), Type::pred)});
  else
    d.set_operands(in, {}, {id, count});
  return true;
}

// --- the end
// --------------------------------------------------------------------------------------------------------

// The active lanes, which are all of their split, are no more.
void exit_lanes(Exec& x) {
  x.warp->live &= ~x.active;
  x.warp->exited |= x.active;
  x.effect();
  x.warp->splits.erase(x.warp->splits.begin() + static_cast<ptrdiff_t>(x.split));
  wake_collectives(*x.warp);
  leave_cluster_barrier(*x.cta->cluster, *x.warp, x.active);
  for (size_t id = 0; id < x.cta->barriers.size(); ++id) {
    count_absent_lanes(*x.warp, x.cta->barriers[id]);
    if (is_complete(*x.cta, x.cta->barriers[id]))
      release(*x.cta, static_cast<int>(id));
  }
}

Step run_exit(Exec& x, const DecodedInst&) {
  leave_inactive_behind(x);
  exit_lanes(x);
  return Step::reschedule;
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

bool select_nanosleep(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  in.handler = run_nanosleep;
  d.set_operands(in, {}, {d.src(instruction.operands[0], Type::u32)});
  return true;
}

} // namespace

DecodedInst return_instruction() {
  DecodedInst in;
  in.handler = run_ret;
  in.always_run = true;
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
