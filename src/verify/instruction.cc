// An instruction against its form: operands, target, PTX version.
#include "ptx/lexer.h"
#include "verify/verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <fmt/ranges.h>

namespace lemma::verify {
namespace {

using isa::Binding;
using isa::Form;
using isa::OperandFault;
using isa::OperandShape;
using isa::OperandSpec;
using isa::Type;

std::string operands_of(const Form& form) {
  const std::string syntax = isa::syntax_of(form);
  const size_t at = syntax.find(' ');
  return at == std::string::npos ? "no operands" : syntax.substr(syntax.find_first_not_of(' ', at));
}

std::string describe_wanted(const OperandSpec& spec, const Binding& binding) {
  switch (spec.kind) {
  case OperandSpec::Kind::address:
    return "an address [a]";
  case OperandSpec::Kind::label:
    return "a label";
  case OperandSpec::Kind::function:
    return "a function or a register";
  case OperandSpec::Kind::list:
    return "an argument list";
  case OperandSpec::Kind::proto:
    return "a prototype or target list";
  case OperandSpec::Kind::data:
    break;
  }
  if (!spec.reg && !spec.one_of.empty())
    return fmt::format("{}", fmt::join(spec.one_of, ", "));
  if (!spec.reg && spec.ranged)
    return fmt::format("an immediate in {}..{}{}", spec.min, spec.max,
                       spec.step > 1 ? fmt::format(" in steps of {}", spec.step) : "");
  if (!spec.reg)
    return spec.sink ? "_" : "an immediate";
  std::string text = fmt::format("a register of type .{}", isa::to_string(isa::type_of(spec, binding)));
  if (spec.widened)
    text = fmt::format("a register twice as wide as .{}", isa::to_string(isa::type_of(spec, binding)));
  else if (spec.wider)
    text += " or wider";
  if (spec.elems || (spec.elems_slot >= 0 && binding.qual(spec.elems_slot) != isa::Qual::none))
    text = "a vector in braces, each element " + text;
  if (spec.immediate)
    text += " or an immediate";
  if (!spec.one_of.empty() && spec.ranged)
    text += fmt::format(": the first {}, the second {} to {}", fmt::join(spec.one_of, " or "), spec.min,
                        spec.max);
  if (spec.has_second)
    text += ", | and a predicate";
  return text;
}

std::string describe_found(const OperandShape& shape) {
  using Kind = OperandShape::Kind;
  switch (shape.kind) {
  case Kind::reg:
    return fmt::format("a .{} register", isa::to_string(shape.type));
  case Kind::imm_int:
    return "an integer";
  case Kind::imm_f32:
  case Kind::imm_f64:
    return "a floating-point constant";
  case Kind::sreg:
    return fmt::format("a special register of type .{}", isa::to_string(shape.type));
  case Kind::symbol:
    return "the address of a variable";
  case Kind::function:
    return "a function";
  case Kind::label:
    return "a label";
  case Kind::vector:
    return fmt::format("a vector of {}", shape.children);
  case Kind::pair:
    return "a pair";
  case Kind::address:
    return "an address";
  case Kind::sink:
    return "_";
  case Kind::proto:
    return "a prototype";
  }
  return "something else";
}

class InstructionCheck {
public:
  InstructionCheck(Context& context, const Function& function, const Instruction& instruction,
                   isa::OperandShapes& shapes)
      : context_(context), function_(function), instruction_(instruction), binding_(*instruction.binding),
        shapes_(shapes) {}

  void run() {
    if (!instruction_.fits)
      return report_operands(binding_);
    if (!available(*binding_.form) && !another_form_is_available())
      return report_unavailable();
    check_needs();
    check_rules(context_, function_, instruction_);
  }

private:
  bool available(const Form& form) const {
    return isa::is_available(form, context_.version, context_.target);
  }

  // The parser chose by the operands alone; a form that the target has may stand beside the one that it took.
  bool another_form_is_available() const {
    ptx::shapes_of(instruction_, function_, context_.module, shapes_);
    for (const Binding& other : binding_.match->bindings)
      if (available(*other.form) && isa::operands_fit(*other.form, other, shapes_))
        return true;
    return false;
  }

  // Qualifiers and special registers that came later than the instruction.
  void check_needs() {
    if (binding_.has_needs)
      check_words();
    for (const Operand& operand : instruction_.operands)
      check_special_registers(operand);
  }

  // Whether one was refused: %clusterid is a vector of four, and one message will do.
  bool check_special_registers(const Operand& operand) {
    for (const Operand& element : operand.elems)
      if (check_special_registers(element))
        return true;
    if (operand.kind == ptx::OperandKind::sreg)
      check_memory_of_cta(operand);
    if (operand.kind != ptx::OperandKind::sreg || context_.has(isa::need_of(operand.sreg)))
      return false;
    if (Diagnostic* d =
            context_.refuse(isa::need_of(operand.sreg), isa::to_string(operand.sreg), operand.range))
      d->notes.push_back({"see", "PTX ISA, Special Registers"});
    return true;
  }

  // What tells an .entry of its CTA's global memory wants it declared there; a .func may be called from such.
  void check_memory_of_cta(const Operand& operand) {
    if ((operand.sreg != isa::SpecialRegister::perctamemoryoffset &&
         operand.sreg != isa::SpecialRegister::perctamemorysize) ||
        !function_.is_entry || function_.bounds.min_per_cta_memory_bytes)
      return;
    Diagnostic& d = context_.error(
        "launch-bounds", operand.range,
        fmt::format("{} reads {} without .minperctamemory", function_.name, isa::to_string(operand.sreg)));
    d.notes = {{"legal", fmt::format(".entry {}(...) .minperctamemory 2048", function_.name)},
               {"see", "PTX ISA, .minperctamemory"}};
  }

  void check_words() {
    for (const isa::Qual qual : binding_.quals)
      if (const isa::Need* need = isa::need_of(qual); need && !context_.has(*need))
        context_.refuse(*need, fmt::format("qualifier .{}", isa::to_string(qual)), instruction_.range);
    for (const Type type : binding_.types)
      if (const isa::Need* need = isa::need_of(type); need && !context_.has(*need))
        context_.refuse(*need, fmt::format("type .{}", isa::to_string(type)), instruction_.range);
    check_lacking();
    check_gone();
    for (const isa::WordNeed& word : binding_.form->needs) {
      if (context_.has(word.need))
        continue;
      const bool of_qual = word.qual != isa::Qual::none, of_type = word.type != Type::none;
      if ((of_qual && !has(binding_.quals, word.qual)) || (of_type && !has(binding_.types, word.type)))
        continue;
      std::string what(isa::to_string(binding_.form->opcode));
      if (of_type)
        what += fmt::format(" of .{}", isa::to_string(word.type));
      if (of_qual)
        what += fmt::format(" with .{}", isa::to_string(word.qual));
      if (Diagnostic* d = context_.refuse(word.need, what, instruction_.range))
        d->notes.push_back({"see", isa::citation(*binding_.form)});
    }
  }

  // A word that the assembler does without, or did so once.
  void check_lacking() {
    const isa::Form& form = *binding_.form;
    for (size_t s = 0; s < form.slots.size(); ++s) {
      const isa::Slot& slot = form.slots[s];
      if (!slot.may_lack || binding_.value[s] != 0 ||
          (slot.lack_until.major && context_.version <= slot.lack_until))
        continue;
      const std::string message = fmt::format("{} lacks {}", isa::spelling_of(binding_), slot.name);
      Diagnostic* told = nullptr;
      if (slot.lack_until.major) {
        told = &context_.error("missing-qualifier", instruction_.range, message);
        told->notes.push_back({"legal", fmt::format("{}, from PTX 6.3 on", slot.name)});
      } else {
        told = &context_.diagnostics.emplace_back(
            Diagnostic{Severity::warning,
                       "missing-qualifier",
                       message,
                       instruction_.range,
                       {{"legal", fmt::format("{}; the assembler does without", slot.name)},
                        {"see", isa::citation(form)}}});
      }
      if (slot.quals.size() == 1)
        told->repairs.push_back({opcode_range(), spelling_with(s)});
    }
  }

  // The instruction's words with that of a slot that lacks.
  std::string spelling_with(size_t slot) const {
    Binding whole = binding_;
    whole.value[slot] = static_cast<uint16_t>(whole.form->slots[slot].quals.front());
    return isa::spelling_of(whole);
  }

  // From behind the guard to before the operands.
  SourceRange opcode_range() const {
    ptx::Lexer lexer(context_.module.source->text());
    lexer.seek(instruction_.range.begin);
    ptx::Token word = lexer.next();
    if (word.kind == ptx::TokenKind::at) {
      while (word.kind != ptx::TokenKind::identifier)
        word = lexer.next();
      word = lexer.next();
    }
    SourceRange range = word.range();
    for (word = lexer.next(); word.kind == ptx::TokenKind::dot_word; word = lexer.next())
      range.end = word.end;
    return range;
  }

  // A word that the assembler took once.
  void check_gone() {
    const isa::Match* match = binding_.match;
    if (!match || match->gone == isa::Qual::none || context_.version <= match->gone_after)
      return;
    Diagnostic& d = context_.error(
        "ptx-version", instruction_.range,
        fmt::format("{} has no .{} after PTX {}.{}", isa::to_string(binding_.form->opcode),
                    isa::to_string(match->gone), match->gone_after.major, match->gone_after.minor));
    d.notes.push_back({"legal", fmt::format("the instruction without .{}", isa::to_string(match->gone))});
    d.notes.push_back({"see", isa::citation(*binding_.form)});
  }

  static bool has(const auto& words, auto word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  }

  // Another form of the same words is there, and takes all but the value of a constant.
  bool report_value() {
    for (const Binding& other : binding_.match->bindings) {
      OperandFault fault;
      if (!available(*other.form) || isa::operands_fit(*other.form, other, shapes_, &fault) ||
          fault.kind != OperandFault::Kind::range)
        continue;
      report_operands(other);
      return true;
    }
    return false;
  }

  void report_unavailable() {
    if (report_value())
      return;
    const Form& form = *binding_.form;
    if (!form.targets.contains(context_.target)) {
      Diagnostic& d = context_.error(
          "target", instruction_.range,
          fmt::format("{} is not in {}", isa::spelling_of(binding_), isa::to_string(context_.target)));
      d.notes.push_back({"legal", isa::to_string(form.targets)});
      d.notes.push_back({"see", isa::citation(form)});
      return;
    }
    if (form.since <= context_.version) {
      Diagnostic& d =
          context_.error("ptx-version", instruction_.range,
                         fmt::format("{} is gone from {} after PTX {}.{}", isa::spelling_of(binding_),
                                     isa::to_string(context_.target), form.until.major, form.until.minor));
      d.notes.push_back({"see", isa::citation(form)});
      return;
    }
    Diagnostic& d = context_.error("ptx-version", instruction_.range,
                                   fmt::format("{} is not in PTX {}.{}", isa::spelling_of(binding_),
                                               context_.version.major, context_.version.minor));
    d.notes.push_back({"legal", fmt::format(".version {}.{} or later", form.since.major, form.since.minor)});
    context_.offer_version(d, form.since);
    d.notes.push_back({"see", isa::citation(form)});
  }

  void report_operands(const Binding& binding) {
    const Form& form = *binding.form;
    ptx::shapes_of(instruction_, function_, context_.module, shapes_);
    OperandFault fault;
    isa::operands_fit(form, binding, shapes_, &fault);
    const std::string name = isa::spelling_of(binding);
    if (fault.operand < 0 || fault.spec == nullptr) {
      Diagnostic& d = context_.error(
          "operand-count", instruction_.range,
          fmt::format("{} does not take {} operand{}", name, shapes_.count, shapes_.count == 1 ? "" : "s"));
      d.notes.push_back({"legal", operands_of(form)});
      d.notes.push_back({"see", isa::citation(form)});
      return;
    }
    const Operand& operand = instruction_.operands[static_cast<size_t>(fault.operand)];
    const OperandShape& outer = shapes_.nodes[static_cast<size_t>(fault.operand)];
    SourceRange range = operand.range;
    const OperandShape* shape = &outer;
    if (fault.child >= 0 && static_cast<size_t>(fault.child) < operand.elems.size()) {
      range = operand.elems[static_cast<size_t>(fault.child)].range;
      shape = &shapes_.nodes[outer.first_child + static_cast<size_t>(fault.child)];
    }
    Diagnostic& d = context_.error(id_of(fault.kind), range, message(name, fault, *shape));
    d.notes.push_back({"legal", describe_wanted(*fault.spec, binding)});
    d.notes.push_back({"see", isa::citation(form)});
  }

  static std::string_view id_of(OperandFault::Kind kind) {
    using K = OperandFault::Kind;
    switch (kind) {
    case K::count:
      return "operand-count";
    case K::type:
      return "operand-type";
    case K::length:
    case K::size:
      return "vector-length";
    case K::range:
      return "operand-range";
    case K::negation:
      return "negation";
    case K::written:
      return "destination";
    case K::special:
      return "special-register";
    case K::space:
      return "state-space";
    default:
      return "operand-kind";
    }
  }

  std::string message(const std::string& name, const OperandFault& fault, const OperandShape& shape) const {
    using K = OperandFault::Kind;
    const std::string place = fmt::format("operand {} ({}) of {}", fault.operand + 1, fault.spec->name, name);
    switch (fault.kind) {
    case K::length:
      return fmt::format("{} has {} elements", place, shape.children);
    case K::size:
      return fmt::format("{} is a vector of too many or too few bits", place);
    case K::range:
      return fmt::format("{} is out of range: {}", place, shape.value);
    case K::negation:
      return fmt::format("{} cannot be negated", place);
    case K::written:
      return fmt::format("{} is written and cannot be {}", place, describe_found(shape));
    case K::special:
      return fmt::format("{} cannot be a special register; move it to a register first", place);
    case K::space:
      return fmt::format("{} names a variable of the .{} space", place, isa::to_string(shape.space));
    case K::expression:
      return fmt::format("{} cannot be a sum: only an integer register that is read whole, outside of a "
                         "vector, takes a constant to be added",
                         place);
    default:
      return fmt::format("{} cannot be {}", place, describe_found(shape));
    }
  }

  Context& context_;
  const Function& function_;
  const Instruction& instruction_;
  const Binding& binding_;
  isa::OperandShapes& shapes_;
};

} // namespace

void check_instruction(Context& context, const Function& function, const Instruction& instruction,
                       isa::OperandShapes& shapes) {
  InstructionCheck(context, function, instruction, shapes).run();
}

} // namespace lemma::verify
