// Remedies that change what stands there: an operand, the size of a variable, where an instruction stands, or
// that it does. An operand is a number, or a register to which one mov alone gives a number: then that of the
// mov is changed, if nothing else reads the register.
//
// Tests: tests/check/corpus/advice.py, tests/unit/check/rewrite_test.cc.
#include "check/advice.h"
#include "check/edits.h"
#include "isa/effects.h"
#include "ptx/registers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <set>

namespace lemma::check {

using ptx::Function;
using ptx::Instruction;
using ptx::kNone;
using ptx::Operand;
using ptx::OperandKind;

namespace {

constexpr uint32_t kBarriers = 16; // of a CTA

bool reads(const Instruction& instruction, uint32_t reg) {
  bool found = instruction.guard.reg == reg;
  ptx::for_each_read(instruction, [&](uint32_t read, size_t) { found |= read == reg; });
  return found;
}

bool writes(const Instruction& instruction, uint32_t reg) {
  bool found = false;
  ptx::for_each_written(instruction, [&](uint32_t written) { found |= written == reg; });
  return found;
}

// A number in the text.
struct Number {
  uint32_t instruction = 0;
  SourceRange range = {};
  int64_t value = 0;
};

bool is_plain_register(const Operand& operand) {
  return operand.kind == OperandKind::reg && operand.component < 0 && operand.offset == 0;
}

// `by_mov`: where a mov gives it, that of the mov if it may be another.
std::optional<Number> number_of(const Function& function, uint32_t index, size_t operand,
                                bool by_mov = true) {
  const Instruction& instruction = function.instructions[index];
  if (operand >= instruction.operands.size())
    return std::nullopt;
  const Operand& its = instruction.operands[operand];
  const auto value_of = [](const Operand& number) { return static_cast<int64_t>(number.bits); };
  if (its.kind == OperandKind::imm)
    return Number{index, its.range, value_of(its)};
  if (!is_plain_register(its))
    return std::nullopt;
  uint32_t writer = kNone, writers = 0;
  bool shared = false; // others read it, who mean something else
  for (uint32_t i = 0; i < function.instructions.size(); ++i) {
    const Instruction& other = function.instructions[i];
    if (writes(other, its.reg)) {
      writer = i;
      ++writers;
    }
    ptx::for_each_read(other, [&](uint32_t reg, size_t at) {
      shared |= reg == its.reg && (other.opcode != instruction.opcode || at != operand);
    });
  }
  if (writers != 1)
    return std::nullopt;
  const Instruction& mov = function.instructions[writer];
  if (!isa::effects_of(mov.opcode).has(isa::effect::moves) || mov.guard.reg != kNone ||
      mov.operands.size() != 2 || mov.operands[1].kind != OperandKind::imm)
    return std::nullopt;
  return shared || !by_mov ? Number{index, its.range, value_of(mov.operands[1])}
                           : Number{writer, mov.operands[1].range, value_of(mov.operands[1])};
}

bool is_barrier(const Instruction& instruction) {
  return isa::effects_of(instruction.opcode).has(isa::effect::meets_cta);
}

// A barrier that no instruction names. Those that are computed are low ones, as a rule.
std::optional<uint32_t> free_barrier(const ptx::Module& module) {
  std::array<bool, kBarriers> used{};
  used[0] = true;
  for (const Function& function : module.functions)
    for (uint32_t i = 0; i < function.instructions.size(); ++i)
      if (is_barrier(function.instructions[i]))
        if (const auto number = number_of(function, i, 0);
            number && number->value >= 0 && number->value < int64_t{kBarriers})
          used[static_cast<size_t>(number->value)] = true;
  for (uint32_t i = kBarriers; i-- > 0;)
    if (!used[i])
      return i;
  return std::nullopt;
}

using Spots = std::set<uint32_t>; // instructions of one function

// All registers that the instruction names.
std::vector<uint32_t> registers_of(const Instruction& instruction) {
  std::vector<uint32_t> found;
  if (instruction.guard.reg != kNone)
    found.push_back(instruction.guard.reg);
  for (const Operand& operand : instruction.operands)
    ptx::for_each_register(operand, [&](uint32_t reg, bool) { found.push_back(reg); });
  return found;
}

bool encloses(const Function& function, uint32_t outer, uint32_t scope) {
  while (scope != outer && scope != kNone)
    scope = function.scopes[scope].parent;
  return scope == outer;
}

// The instruction does there what it does where it stands, as far as registers say.
bool can_move(const Function& function, uint32_t from, const Point& to) {
  const Instruction& moved = function.instructions[from];
  const uint32_t scope = function.instructions[to.instruction].scope;
  const std::vector<uint32_t> named = registers_of(moved);
  if (!std::all_of(named.begin(), named.end(),
                   [&](uint32_t reg) { return encloses(function, function.registers[reg].scope, scope); }))
    return false;
  const uint32_t begin = to.instruction < from ? to.instruction + to.behind : from + 1;
  const uint32_t end = to.instruction < from ? from : to.instruction;
  for (uint32_t i = begin; i < end; ++i)
    for (const uint32_t reg : named)
      if (const Instruction& between = function.instructions[i];
          writes(between, reg) || (writes(moved, reg) && reads(between, reg)))
        return false;
  return true;
}

std::string text_of(const vgpu::Code& code, SourceRange range) {
  return std::string(code.module->source->slice(range));
}

} // namespace

void Uses::add(uint32_t warp, const Use& use) {
  if (by_warp.size() <= warp)
    by_warp.resize(warp + 1);
  std::vector<Use>& its = by_warp[warp];
  const auto found = std::find_if(its.rbegin(), its.rend(), [&](const Use& other) {
    return other.by == use.by && other.object == use.object;
  });
  if (found == its.rend())
    its.push_back(use);
  else
    found->lanes |= use.lanes;
}

int64_t Uses::threads(uint32_t object) const {
  int64_t count = 0;
  for (const std::vector<Use>& of_warp : by_warp) {
    vgpu::LaneMask lanes = 0;
    for (const Use& use : of_warp)
      lanes |= use.object == object ? use.lanes : 0;
    count += std::popcount(lanes);
  }
  return count;
}

Remedy with_operand(Spot at, size_t operand, int64_t number, bool by) {
  return {.kind = Remedy::Kind::operand,
          .at = at,
          .operand = static_cast<uint32_t>(operand),
          .by = by,
          .number = std::make_shared<const int64_t>(number)};
}

Remedy with_last(Spot at, int64_t number, bool by) {
  const size_t count = at.instruction.is_of_text() ? at.ptx().operands.size() : 0;
  return with_operand(at, count ? count - 1 : 0, number, by);
}

Remedy with_last_here(Spot at, int64_t number) {
  Remedy made = with_last(at, number);
  made.by_mov = false;
  return made;
}

std::vector<Remedy> without(Spot at) {
  return {{.kind = Remedy::Kind::remove, .at = at}};
}

std::vector<std::vector<Remedy>> moved_out(Spot at, Together together) {
  return {{{.kind = Remedy::Kind::out_behind, .at = at, .together = together}},
          {{.kind = Remedy::Kind::out_before, .at = at, .together = together}}};
}

namespace {

using Edits = std::vector<FindingRepair>;

bool put(std::optional<FindingRepair> made, Edits& to) {
  if (made)
    to.push_back(std::move(*made));
  return made.has_value();
}

// Another number there. True, too, if it is that number.
bool put_number(const vgpu::Code& code, const Number& number, int64_t value, Edits& to) {
  if (number.value == value)
    return true;
  const bool is_mask = value < 0 || value > INT32_MAX;
  return put(
      replacement(code, number.instruction, number.range,
                  is_mask ? fmt::format("{:#x}", static_cast<uint32_t>(value)) : std::to_string(value)),
      to);
}

bool put_operand(const Remedy& remedy, Edits& to) {
  const vgpu::Code& code = *remedy.at.code;
  const auto number = number_of(*code.function, remedy.at.instruction.index, remedy.operand, remedy.by_mov);
  if (!number)
    return false;
  const int64_t value = *remedy.number + (remedy.by ? number->value : 0);
  const bool is_none = remedy.by && value <= 0; // bytes
  return value != number->value && !is_none && put_number(code, *number, value, to);
}

bool put_removal(const Remedy& remedy, Edits& to) {
  const vgpu::Code& code = *remedy.at.code;
  const Instruction& removed = remedy.at.ptx();
  bool is_read = false;
  ptx::for_each_written(removed, [&](uint32_t reg) {
    for (const Instruction& other : code.function->instructions)
      is_read |= reads(other, reg);
  });
  const uint32_t index = remedy.at.instruction.index;
  return !is_read && put(replacement(code, index, range_with_guard(code, index), ""), to);
}

// An array of one dimension.
bool put_room(const Remedy& remedy, Edits& to) {
  const vgpu::Code& code = *remedy.at.code;
  const ptx::Variable& variable = *remedy.variable;
  if (variable.dims.size() != 1 || variable.dims[0] == 0)
    return false;
  const SourceText& source = *code.module->source;
  const std::string_view text = source.slice(variable.range);
  const size_t open = text.find('[', text.rfind(variable.name)), close = text.find(']', open);
  if (open == text.npos || close == text.npos)
    return false;
  const auto element = static_cast<int64_t>(variable.size_bytes / variable.dims[0]);
  const auto begin = variable.range.begin + static_cast<uint32_t>(open) + 1;
  const LineColumn place = source.line_column(begin);
  std::string_view line = source.line(place.line);
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  Place declared;
  declared.ptx_line = place.line;
  declared.instruction = line;
  declared.function = code.function->name;
  to.push_back({.where = FindingRepair::Where::instead,
                .place = std::move(declared),
                .replaced = std::string(text.substr(open + 1, close - open - 1)),
                .edit = {.line = place.line,
                         .column = place.column,
                         .length = static_cast<uint32_t>(close - open - 1),
                         .text = std::to_string((*remedy.number + element - 1) / element)}});
  return true;
}

// By which `warp` comes to the barrier, and all who come by these; none if `other` does, too.
Spots of_group(const Uses& uses, const Remedy& remedy) {
  Spots spots{remedy.at.instruction.index};
  const auto is_of_group = [&](const std::vector<Uses::Use>& of_warp) {
    return std::any_of(of_warp.begin(), of_warp.end(), [&](const Uses::Use& use) {
      return use.object == remedy.object && use.by.code == remedy.at.code &&
             spots.contains(use.by.instruction.index);
    });
  };
  for (size_t before = 0; before != spots.size();) {
    before = spots.size();
    for (const auto& of_warp : uses.by_warp)
      if (is_of_group(of_warp))
        for (const Uses::Use& use : of_warp)
          if (use.object == remedy.object && use.by.code == remedy.at.code)
            spots.insert(use.by.instruction.index);
  }
  const bool has_other = remedy.from.code == remedy.at.code && remedy.from.instruction &&
                         spots.contains(remedy.from.instruction.index);
  return has_other ? Spots{remedy.at.instruction.index} : spots;
}

bool put_other_barrier(const Remedy& remedy, Edits& to) {
  const vgpu::Code& code = *remedy.at.code;
  const std::optional<uint32_t> number = free_barrier(*code.module);
  if (!number)
    return false;
  for (const uint32_t index : of_group(*remedy.uses, remedy)) {
    const auto old = number_of(*code.function, index, 0);
    if (!old || !put_number(code, *old, *number, to))
      return false;
  }
  return true;
}

bool put_arrivals(const Remedy& remedy, Edits& to) {
  const vgpu::Code& code = *remedy.at.code;
  Spots spots;
  for (const auto& of_warp : remedy.uses->by_warp)
    for (const Uses::Use& use : of_warp)
      if (use.object == remedy.object) {
        if (use.by.code != remedy.at.code)
          return false;
        spots.insert(use.by.instruction.index);
      }
  const int64_t threads = remedy.number ? *remedy.number : remedy.uses->threads(remedy.object);
  if (threads % vgpu::kWarpSize != 0)
    return false;
  const size_t before = to.size();
  for (const uint32_t index : spots) {
    const Instruction& barrier = code.function->instructions[index];
    const auto old = barrier.operands.size() == 2 ? number_of(*code.function, index, 1) : std::nullopt;
    if (!old || !put_number(code, *old, threads, to))
      return false;
  }
  return to.size() > before;
}

// In wait.parity: result, object, parity.
constexpr size_t kResult = 0, kParity = 2;

bool is_parity_wait(const Instruction& instruction) {
  return instruction.has(isa::Qual::parity) && instruction.operands.size() > kParity &&
         instruction.operands[kResult].kind == OperandKind::reg && instruction.guard.reg == kNone;
}

// A register of the function has it, from the parity on that each was first waited for.
bool put_alternating(const Remedy& remedy, Edits& to) {
  const vgpu::Code& code = *remedy.at.code;
  const Function& function = *code.function;
  if (!function.is_entry || function.instructions.front().scope != 0)
    return false;
  Spots spots;
  std::optional<bool> first;
  bool is_alike = true; // and the only object of them
  const auto each = [&](auto&& f) {
    for (const auto& of_warp : remedy.uses->by_warp)
      for (const Uses::Use& use : of_warp)
        f(use);
  };
  each([&](const Uses::Use& use) {
    if (use.object != remedy.object)
      return;
    is_alike &= use.by.code == remedy.at.code && is_parity_wait(use.by.ptx());
    spots.insert(use.by.instruction.index);
    if (use.by == remedy.at)
      first = use.first_parity;
  });
  each([&](const Uses::Use& use) {
    is_alike &= use.object == remedy.object || !spots.contains(use.by.instruction.index);
  });
  if (!is_alike || !first)
    return false;
  const std::string name =
      fmt::format("parity_{}", code.module->source->line_column(remedy.at.ptx().range.begin).line);
  to.push_back(
      insertion(code, {0, false}, fmt::format(".reg .b32 {};\nmov.b32 {}, {};", name, name, *first ? 1 : 0)));
  for (const uint32_t index : spots) {
    const Instruction& wait = function.instructions[index];
    to.push_back(insertion(
        code, {index, true},
        fmt::format("@{} xor.b32 {}, {}, 1;", text_of(code, wait.operands[kResult].range), name, name)));
    if (!put(replacement(code, index, wait.operands[kParity].range, name), to))
      return false;
  }
  return true;
}

} // namespace

// A guard divides its threads as a branch does.
bool Repairs::add_move(const Remedy& remedy, Edits& to) {
  const vgpu::Code& code = *remedy.at.code;
  const uint32_t index = remedy.at.instruction.index;
  const SourceRange all = range_with_guard(code, index), its = range_without_guard(code, index);
  const bool behind = remedy.kind == Remedy::Kind::out_behind;
  const std::optional<Point> point = places(*code.function).outside(index, remedy.together, behind);
  if (!point)
    return behind && all.begin != its.begin && put(replacement(code, index, {all.begin, its.begin}, ""), to);
  if (!can_move(*code.function, index, *point) || !put(replacement(code, index, all, ""), to))
    return false;
  to.push_back(insertion(code, *point, text_of(code, all)));
  return true;
}

bool Repairs::rewrite(const Remedy& remedy, Edits& to) {
  switch (remedy.kind) {
  case Remedy::Kind::operand:
    return put_operand(remedy, to);
  case Remedy::Kind::remove:
    return put_removal(remedy, to);
  case Remedy::Kind::out_behind:
  case Remedy::Kind::out_before:
    return add_move(remedy, to);
  case Remedy::Kind::room:
    return put_room(remedy, to);
  case Remedy::Kind::other_barrier:
    return put_other_barrier(remedy, to);
  case Remedy::Kind::arrivals:
    return put_arrivals(remedy, to);
  case Remedy::Kind::alternate:
    return put_alternating(remedy, to);
  default:
    return false;
  }
}

} // namespace lemma::check
