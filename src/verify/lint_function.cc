// Constants and thread numbers in one pass over the text, post-dominators and divided parts
// once. See lint_function.h.
#include "verify/lint_function.h"

#include "isa/effects.h"
#include "ptx/dominators.h"
#include "ptx/registers.h"

#include <algorithm>
#include <array>

namespace lemma::verify {

namespace effect = isa::effect;
using isa::Opcode;
using isa::Qual;
using isa::SpecialRegister;
using isa::Type;
using ptx::Instruction;
using ptx::kNone;
using ptx::Operand;
using ptx::OperandKind;

namespace {

constexpr uint64_t kLanes = 32, kMostThreads = Threads().size();
constexpr size_t kMostFindings = 100; // of a module; as many as the verifier has errors

std::vector<uint32_t> blocks_of_instructions(const ptx::Flow& flow, size_t instructions) {
  std::vector<uint32_t> block_of(instructions);
  for (uint32_t b = 0; b < flow.blocks.size(); ++b)
    for (uint32_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i)
      block_of[i] = b;
  return block_of;
}

bool is_plain_register(const Operand& operand) {
  return operand.kind == OperandKind::reg && operand.component < 0 && operand.offset == 0;
}

Outcomes outcomes_of(const Known& known) {
  return known.outcomes ? *known.outcomes : Outcomes{Threads().set(), Threads().set()};
}

// Of a predicate that holds for the threads from `begin` on to before `end`, or for the others.
std::shared_ptr<const Outcomes> within(uint64_t begin, uint64_t end, bool others) {
  Outcomes outcomes;
  for (uint64_t i = 0; i < kMostThreads; ++i)
    ((i >= begin && i < end) != others ? outcomes.holds : outcomes.fails).set(i);
  return std::make_shared<const Outcomes>(outcomes);
}

std::shared_ptr<const Outcomes> the_other_way(const Outcomes& outcomes) {
  return std::make_shared<const Outcomes>(Outcomes{outcomes.fails, outcomes.holds});
}

// Null: it has none.
const Operand* membermask_of(const Instruction& instruction) {
  return isa::effects_of(instruction.opcode).has(effect::masked) ? &instruction.operands.back() : nullptr;
}

} // namespace

LintFunction::LintFunction(const ptx::Module& of, const ptx::Function& what, Diagnostics& found)
    : module(of), function(what), flow(ptx::flow_of(what)), order(ptx::layout_order(flow)),
      block_of(blocks_of_instructions(flow, what.instructions.size())), origins(of, what), found_(found) {
  if (!flow.has_successors)
    return;
  for (const auto& bounds : {function.bounds.reqntid, function.bounds.maxntid})
    if (threads_ == 0)
      threads_ = bounds[0];
  find_known();
  find_reaching();
  find_divisions();
}

uint32_t LintFunction::line(uint32_t instruction) const {
  return module.source->line_column(function.instructions[instruction].range.begin).line;
}

void LintFunction::warn(std::string_view id, uint32_t instruction, std::string message, std::string missing) {
  if (found_.size() >= kMostFindings || !warned_.emplace(id, instruction).second)
    return;
  found_.push_back({Severity::warning,
                    std::string(id),
                    shortened(std::move(message), kLongestMessage),
                    function.instructions[instruction].range,
                    {{"missing", std::move(missing)}, {"see", "docs/checks.md, " + std::string(id)}}});
}

// --- what registers hold

Known LintFunction::known(const Operand& operand) const {
  switch (operand.kind) {
  case OperandKind::reg:
    return is_plain_register(operand) ? known_[operand.reg] : Known{};
  case OperandKind::imm:
    return {.kind = Known::Kind::constant, .bits = operand.bits};
  case OperandKind::sreg:
    if (operand.sreg == SpecialRegister::tid_x)
      return {.kind = Known::Kind::thread};
    if (operand.sreg == SpecialRegister::laneid)
      return {.kind = Known::Kind::lane, .bits = kLanes - 1};
    return {};
  default:
    return {};
  }
}

// A comparison with a constant. Does it come out differently in one warp, some time?
Known LintFunction::compare(const Instruction& instruction) const {
  const Known divided{.kind = Known::Kind::divided};
  if (instruction.operands.size() > 3) // combined with another predicate
    return known(instruction.operands[3]).kind == Known::Kind::divided ? divided : Known{};
  Known value = known(instruction.operands[1]), bound = known(instruction.operands[2]);
  enum class Order : uint8_t { unknown, equal, below, up_to }; // or its negation: less, less or equal
  Order order = instruction.has(Qual::eq) || instruction.has(Qual::ne)                       ? Order::equal
                : instruction.one_of({Qual::lt, Qual::lo, Qual::ge, Qual::hs}) != Qual::none ? Order::below
                : instruction.one_of({Qual::le, Qual::ls, Qual::gt, Qual::hi}) != Qual::none ? Order::up_to
                                                                                             : Order::unknown;
  const bool is_swapped = value.kind == Known::Kind::constant;
  if (is_swapped) {
    std::swap(value, bound);
    order = order == Order::below ? Order::up_to : order == Order::up_to ? Order::below : order;
  }
  if (bound.kind != Known::Kind::constant || bound.bits > INT32_MAX || order == Order::unknown)
    return {};
  const bool is_equality = order == Order::equal;
  const uint64_t first = bound.bits + (order == Order::up_to); // not below, or the one
  if (value.kind == Known::Kind::lane)
    return (is_equality || first > 0) && first <= value.bits ? divided : Known{};
  if (value.kind != Known::Kind::thread)
    return {};
  const uint64_t thread = first << value.shift;
  const bool is_divided = (threads_ == 0 || (thread < threads_ && threads_ != 1)) &&
                          (thread % kLanes != 0 || (is_equality && value.shift < 5));
  const bool is_other = instruction.one_of({Qual::ne, Qual::ge, Qual::hs, Qual::gt, Qual::hi}) != Qual::none;
  Known result{.kind = is_divided ? Known::Kind::divided : Known::Kind::nothing};
  if (!value.is_part)
    result.outcomes = within(is_equality ? thread : 0, is_equality ? (first + 1) << value.shift : thread,
                             is_other != (is_swapped && !is_equality));
  return result;
}

// Of a number and a mask, or its remainder: its low bits.
Known LintFunction::mask(Known a, Known b) const {
  if (a.kind == Known::Kind::constant)
    std::swap(a, b);
  if (b.kind != Known::Kind::constant || a.kind != Known::Kind::thread || a.shift != 0)
    return {};
  const uint64_t low = b.bits % kLanes;
  if (low == kLanes - 1)
    return b.bits == low ? Known{.kind = Known::Kind::lane, .bits = low}
                         : Known{.kind = a.kind, .is_part = true};
  return b.bits == low && (low & (low + 1)) == 0 && low != 0 ? Known{.kind = Known::Kind::lane, .bits = low}
                                                             : Known{};
}

Known LintFunction::compute(const Instruction& instruction) const {
  const auto& operands = instruction.operands;
  const auto is_constant = [](const Known& known) { return known.kind == Known::Kind::constant; };
  const auto is_divided = [](const Known& known) { return known.kind == Known::Kind::divided; };
  const Known divided{.kind = Known::Kind::divided};
  const isa::Effects does = isa::effects_of(instruction.opcode);
  if (instruction.opcode == Opcode::elect_sync)
    return divided;
  if (!does.has(effect::pure))
    return {};
  const Known a = known(operands[1]), b = operands.size() > 2 ? known(operands[2]) : Known{};
  if (does.has(effect::moves))
    return operands[0].kind == OperandKind::reg ? a : Known{};
  if (does.has(effect::converts))
    return !isa::is_float(instruction.type(0)) && !isa::is_float(instruction.type(1)) &&
                   isa::bits_of(instruction.type(0)) >= 32 && !is_constant(a)
               ? a
               : Known{};
  if (does.has_any(effect::zero_decides | effect::one_decides) && instruction.type(0) == Type::pred) {
    const Outcomes of_a = outcomes_of(a), of_b = outcomes_of(b);
    Known both{.kind = is_divided(a) || is_divided(b)
                           ? Known::Kind::divided // in a warp where the other does not decide
                           : Known::Kind::nothing};
    if (a.outcomes || b.outcomes)
      both.outcomes = std::make_shared<const Outcomes>(
          does.has(effect::zero_decides) ? Outcomes{of_a.holds & of_b.holds, of_a.fails | of_b.fails}
                                         : Outcomes{of_a.holds | of_b.holds, of_a.fails & of_b.fails});
    return both;
  }
  if (does.has(effect::zero_decides))
    return mask(a, b);
  if (instruction.opcode == Opcode::not_) {
    Known negated = is_divided(a) || a.outcomes ? a : Known{};
    if (negated.outcomes)
      negated.outcomes = the_other_way(*negated.outcomes);
    return negated;
  }
  if (instruction.opcode == Opcode::rem)
    return a.kind == Known::Kind::thread && a.shift == 0 && is_constant(b) && b.bits == kLanes
               ? Known{.kind = Known::Kind::lane, .bits = kLanes - 1}
               : Known{};
  if (does.has(effect::shifts_right) && is_constant(b) && b.bits < 10) {
    if (a.kind == Known::Kind::thread && a.shift + b.bits < 10)
      return {.kind = a.kind, .shift = static_cast<uint8_t>(a.shift + b.bits), .is_part = a.is_part};
    if (a.kind == Known::Kind::lane && a.bits >> b.bits != 0)
      return {.kind = a.kind, .bits = a.bits >> b.bits};
  }
  return does.has(effect::compares) && !isa::is_float(instruction.type(0)) ? compare(instruction) : Known{};
}

// What a register holds that several instructions write is known within a block alone; what is read was
// written before it in the text.
void LintFunction::find_known() {
  known_.resize(function.registers.size());
  guard_divided_.resize(function.instructions.size());
  std::vector<uint8_t> writes(function.registers.size()); // 2: several
  for (const Instruction& instruction : function.instructions)
    for_each_written(instruction, [&](uint32_t reg) {
      writes[reg] = writes[reg] == 0 && instruction.guard.reg == kNone ? 1 : 2;
    });
  std::vector<uint32_t> local; // that hold no longer than the block
  for (const ptx::BasicBlock& block : flow.blocks) {
    for (const uint32_t reg : std::exchange(local, {}))
      known_[reg] = {};
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const Instruction& instruction = function.instructions[i];
      if (instruction.guard.reg != kNone) {
        const Known& guard = known_[instruction.guard.reg];
        guard_divided_[i] = guard.kind == Known::Kind::divided;
        if (guard.outcomes)
          guard_outcomes_[i] = instruction.guard.negated ? the_other_way(*guard.outcomes) : guard.outcomes;
      }
      if (const Operand* mask = membermask_of(instruction))
        if (const Known value = known(*mask); value.kind == Known::Kind::constant)
          masks_[i] = static_cast<uint32_t>(value.bits);
      Known value =
          first_source(instruction) == 1 && instruction.guard.reg == kNone ? compute(instruction) : Known{};
      for_each_written(instruction, [&](uint32_t reg) {
        known_[reg] = {};
        if (writes[reg] == 2)
          local.push_back(reg);
      });
      if (value.kind == Known::Kind::nothing && !value.outcomes)
        continue;
      const Operand& result = instruction.operands[0];
      const auto set = [&](const Operand& operand) {
        if (is_plain_register(operand))
          known_[operand.reg] = value;
      };
      if (result.kind != OperandKind::pair) {
        set(result);
      } else if (value.kind == Known::Kind::divided || value.outcomes) {
        const bool compares = isa::effects_of(instruction.opcode).has(effect::compares);
        if (compares)
          set(result.elems[0]);
        if (compares && value.outcomes) // of p|q the other way round
          value.outcomes = the_other_way(*value.outcomes);
        set(result.elems[1]);
      }
    }
  }
}

std::optional<uint32_t> LintFunction::membermask(uint32_t instruction) const {
  const auto found = masks_.find(instruction);
  return found == masks_.end() ? std::nullopt : std::optional(found->second);
}

const ptx::Variable* LintFunction::shared_variable(const Operand& operand) const {
  const ptx::Variable* variable = origins.made_from(operand).variable;
  return variable && variable->space == isa::StateSpace::shared ? variable : nullptr;
}

// --- divided warps

// Threads that a branch, of which it is known whom it lets through, keeps away.
void LintFunction::find_reaching() {
  reaching_.resize(flow.blocks.size());
  reaching_[0].set();
  constexpr int kMostPasses = 64;
  bool again = true;
  for (int pass = 0; again && pass < kMostPasses; ++pass) {
    again = false;
    for (const uint32_t b : order) {
      const ptx::BasicBlock& block = flow.blocks[b];
      if (block.begin == block.end)
        continue;
      const Instruction& last = function.instructions[block.end - 1];
      const auto found = is_branch(last) ? guard_outcomes_.find(block.end - 1) : guard_outcomes_.end();
      for (const uint32_t next : block.successors) {
        Threads threads = reaching_[b];
        if (found != guard_outcomes_.end() && block.successors.size() == 2)
          threads &= next == block.successors[1] ? found->second->holds : found->second->fails;
        again |= (threads & ~reaching_[next]).any();
        reaching_[next] |= threads;
      }
    }
  }
  if (again)
    for (Threads& threads : reaching_)
      threads.reset().set(0); // not known: not whole
}

bool LintFunction::is_for_whole_warps(uint32_t block) const {
  const size_t count = threads_ != 0 ? std::min<size_t>(threads_, kMostThreads) : kMostThreads;
  for (size_t warp = 0; warp < count; warp += kLanes) {
    const size_t end = std::min<size_t>(warp + kLanes, count);
    for (size_t i = warp + 1; i < end; ++i)
      if (reaching_[block][i] != reaching_[block][warp])
        return false;
  }
  return true;
}

void LintFunction::find_divisions() {
  constexpr uint64_t kMostSteps = uint64_t{1} << 22;
  const auto count = static_cast<uint32_t>(flow.blocks.size());
  const std::vector<uint32_t> dominator = ptx::post_dominators(flow);
  on_every_path_.assign(count, false);
  for (uint32_t b = 0; b < count && dominator[b] != kNone; b = dominator[b])
    on_every_path_[b] = true;
  uint64_t steps = 0;
  for (const uint32_t b : order) {
    const ptx::BasicBlock& block = flow.blocks[b];
    if (block.begin == block.end || block.successors.size() < 2)
      continue;
    const Instruction& last = function.instructions[block.end - 1];
    // Where the parts do not meet again one of them exits, and the others are all that is left.
    if (!is_branch(last) || last.guard.reg == kNone || !guard_divided_[block.end - 1] ||
        dominator[b] == kNone || dominator[b] == count)
      continue;
    Division division{block.end - 1, std::vector<bool>(count)};
    std::vector<uint32_t> stack(block.successors);
    while (!stack.empty()) {
      const uint32_t at = stack.back();
      stack.pop_back();
      if (at == dominator[b] || division.blocks[at])
        continue;
      division.blocks[at] = true;
      stack.insert(stack.end(), flow.blocks[at].successors.begin(), flow.blocks[at].successors.end());
    }
    if ((steps += count) > kMostSteps)
      return;
    if (guard_outcomes_.contains(division.branch))
      for (uint32_t at = 0; at < count; ++at)
        if (division.blocks[at] && is_for_whole_warps(at))
          division.blocks[at] = false;
    divisions_.push_back(std::move(division));
  }
}

const LintFunction::Division* LintFunction::division_of(uint32_t instruction) const {
  const Division* innermost = nullptr;
  for (const Division& division : divisions_)
    if (division.blocks[block_of[instruction]] &&
        (!innermost || innermost->blocks[block_of[division.branch]]))
      innermost = &division;
  return innermost;
}

} // namespace lemma::verify
