// One pass in the order of the code: what is read comes later than what is written but in loops, and what a
// loop carries has two writers. See values.h.
#include "lowered/values.h"

#include "lowered/uses.h"

#include <algorithm>
#include <cstdlib>

namespace lemma::lowered {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;

constexpr int64_t kMost = int64_t{1} << 31; // a step above it is not followed: products do not overflow
constexpr uint64_t kLaneBits = 5;

using Step = std::optional<int64_t>;

bool is_whole_number(Type type) {
  const isa::TypeKind kind = isa::kind_of(type);
  return (isa::is_integer(type) || kind == isa::TypeKind::untyped) &&
         (isa::bits_of(type) == 32 || isa::bits_of(type) == 64);
}

Step scaled(const Step& step, int64_t factor) {
  if (!step || std::abs(*step) > kMost || factor <= 0)
    return std::nullopt;
  return *step * factor;
}

Step sum(const Step& a, const Step& b, int bits) {
  if (!a || !b || (bits == 64 && *a != 0 && *b != 0)) // both may have wrapped, in other lanes
    return std::nullopt;
  return *a + *b;
}

Step negative(const Step& step) {
  return step ? Step(-*step) : step;
}

// Sources of an instruction that a step can be followed through: their steps, and those that are constants.
struct Terms {
  std::vector<Step> steps;
  std::vector<int64_t> constants; // positive ones; 0: none

  // Of the first two sources.
  Step product() const {
    if (steps[0] == 0 && steps[1] == 0)
      return 0;
    return constants[1] > 0 ? scaled(steps[0], constants[1]) : scaled(steps[1], constants[0]);
  }
};

// Of the instructions that addresses are made of; those of all others are not known.
Step step_of_result(const ptx::Instruction& instruction, const Terms& terms) {
  const int bits = instruction.has(Qual::wide) ? 64 : isa::bits_of(instruction.type());
  switch (instruction.opcode) {
  case Opcode::mov:
  case Opcode::cvt:
  case Opcode::cvta:
  case Opcode::cvta_to:
    return terms.steps[0];
  case Opcode::add:
    return sum(terms.steps[0], terms.steps[1], bits);
  case Opcode::sub:
    return sum(terms.steps[0], negative(terms.steps[1]), bits);
  case Opcode::shl:
    return terms.constants[1] > 0 && terms.constants[1] < 31
               ? scaled(terms.steps[0], int64_t{1} << terms.constants[1])
               : std::nullopt;
  case Opcode::mul:
    return terms.product();
  case Opcode::mad:
    return sum(terms.product(), terms.steps[2], bits);
  default:
    return std::nullopt;
  }
}

bool is_parameter_load(const Function& function, const Inst& inst) {
  const ptx::Instruction* instruction = function.instruction_of(inst);
  if (!instruction || instruction->opcode != Opcode::ld || inst.count != inst.destinations + 1)
    return false;
  const Operand& from = function.sources_of(inst)[0];
  return from.kind == OperandKind::address && // not what a call has returned
         function.addresses[from.index].space == isa::StateSpace::param;
}

// Results follow from the sources, lane by lane, each time.
bool is_function(const Function& function, const Inst& inst) {
  switch (inst.op) {
  case Op::instruction:
    break;
  case Op::special:
    return isa::extent_of(special_register_of(function, inst)) != isa::Extent::moment;
  case Op::place:
  case Op::add:
  case Op::low:
  case Op::not_:
    return true;
  case Op::jump:
  case Op::end:
    return false;
  }
  const ptx::Instruction& instruction = *function.instruction_of(inst);
  const isa::Effects effects = isa::effects_of(instruction.opcode);
  return is_parameter_load(function, inst) ||
         (effects.has(isa::effect::pure) && !effects.has(isa::effect::carry) && !instruction.has(Qual::cc));
}

} // namespace

Values::Values(const Function& function)
    : function_(function), writers_(function.registers.size()), values_(function.registers.size()) {
  for_each_parameter(function, [&](uint32_t reg) { writers_[reg] += 2; });
  for (const Inst& inst : function.insts)
    for_each_write(function, inst, [&](uint32_t reg) { ++writers_[reg]; });
  for (const Inst& inst : function.insts) {
    const bool is_known = makes_known(inst);
    Value value = is_known ? result_of(inst) : Value{};
    value.is_constant = is_constant_move(inst);
    if (is_known || value.is_constant)
      for_each_write(function, inst, [&](uint32_t reg) { values_[reg] = value; });
  }
}

Value Values::of(const Operand& operand) const {
  switch (operand.kind) {
  case OperandKind::reg:
    return values_[operand.index];
  case OperandKind::constant:
    return {.is_constant = true, .is_known = true, .is_of_cta = true, .step = 0};
  case OperandKind::none:
  case OperandKind::special:
  case OperandKind::variable:
  case OperandKind::function:
    return {.is_known = true, .is_of_cta = true, .step = 0};
  case OperandKind::address:
    return of_address(operand);
  default:
    return {};
  }
}

Value Values::of_address(const Operand& address) const {
  const Operand& base = function_.addresses[address.index].base;
  return of(base);
}

std::vector<Value> Values::sources_of(const Inst& inst) const {
  std::vector<Value> sources;
  for (const Operand& source : function_.sources_of(inst))
    sources.push_back(of(source));
  return sources;
}

bool Values::makes_known(const Inst& inst) const {
  if (inst.destinations == 0 || !is_plain(inst) || !is_function(function_, inst))
    return false;
  bool is_only_writer = true;
  for_each_write(function_, inst, [&](uint32_t reg) { is_only_writer &= writers_[reg] == 1; });
  return is_only_writer && std::ranges::all_of(function_.sources_of(inst),
                                               [&](const Operand& source) { return of(source).is_known; });
}

bool Values::is_constant_move(const Inst& inst) const {
  const ptx::Instruction* instruction = function_.instruction_of(inst);
  if (!instruction || instruction->opcode != Opcode::mov || inst.op != Op::instruction ||
      inst.guard != kNone || inst.count != 2 || inst.destinations != 1)
    return false;
  const Operand &to = function_.operands_of(inst)[0], &from = function_.operands_of(inst)[1];
  return to.is_register() && writers_[to.index] == 1 && of(from).is_constant;
}

// Of an instruction that makes_known().
Value Values::result_of(const Inst& inst) const {
  const std::vector<Value> sources = sources_of(inst);
  Value result;
  result.is_known = true;
  if (inst.op == Op::special || inst.op == Op::place) {
    const bool is_kernel = function_.text->is_entry; // a function's caller may be divided
    if (inst.op == Op::special) {
      const auto sreg = special_register_of(function_, inst);
      const isa::Extent extent = isa::extent_of(sreg);
      result.is_tid_x = sreg == isa::SpecialRegister::tid_x;
      result.is_of_cta = is_kernel && extent == isa::Extent::cta;
      if (extent == isa::Extent::thread)
        result.step = result.is_tid_x ? Step(1) : std::nullopt;
      else if (is_kernel)
        result.step = 0;
    } else if (is_kernel) {
      result.step = 0;
    }
    return result;
  }
  result.is_of_cta =
      function_.text->is_entry && std::ranges::all_of(sources, [](const Value& v) { return v.is_of_cta; });
  const ptx::Instruction* instruction = function_.instruction_of(inst);
  result.is_tid_x =
      instruction && instruction->opcode == Opcode::mov && sources.size() == 1 && sources[0].is_tid_x;
  result.step = step_of(inst, sources);
  return result;
}

Step Values::step_of(const Inst& inst, const std::vector<Value>& sources) const {
  if (std::ranges::all_of(sources, [](const Value& v) { return v.step == 0; }))
    return 0;
  const ptx::Instruction* instruction = function_.instruction_of(inst);
  if (!instruction || inst.op != Op::instruction || inst.destinations != 1)
    return std::nullopt;
  Terms terms;
  for (size_t i = 0; i < sources.size(); ++i) {
    const Operand& operand = function_.sources_of(inst)[i];
    const uint64_t bits = operand.kind == OperandKind::constant ? function_.constants[operand.index]
                                                                : static_cast<uint64_t>(kMost);
    terms.steps.push_back(sources[i].step);
    terms.constants.push_back(bits < static_cast<uint64_t>(kMost) ? static_cast<int64_t>(bits) : 0);
    // The bits in which the lanes of a row differ.
    const bool is_second = i == 1 && sources[0].is_tid_x && operand.kind == OperandKind::constant;
    if (is_second && ((instruction->opcode == Opcode::shr && bits >= kLaneBits) ||
                      (instruction->opcode == Opcode::and_ && bits % (uint64_t{1} << kLaneBits) == 0)))
      return 0;
  }
  if (instruction->operands.size() != 1 + sources.size() || instruction->has(Qual::sat) ||
      instruction->has(Qual::hi) || !std::ranges::all_of(instruction->types(), is_whole_number))
    return std::nullopt;
  Step step = step_of_result(*instruction, terms);
  if (step && function_.destinations_of(inst)[0].bytes == 4)
    step = static_cast<int32_t>(*step);
  return step && std::abs(*step) <= kMost ? step : std::nullopt;
}

} // namespace lemma::lowered
