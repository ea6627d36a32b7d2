// Calls against what they call: the number of arguments and returned values, their types, sizes and
// alignments. PTX ISA: "Control Flow Instructions: call", "Abstracting the ABI".
#include "verify/verifier.h"

#include <fmt/format.h>

namespace lemma::verify {
namespace {

using isa::StateSpace;
using isa::Type;
using isa::TypeKind;
using ptx::OperandKind;
using ptx::Variable;

constexpr std::string_view kSee = "PTX ISA, call";

// Registers and scalars as the assembler compares them: sizes agree, floating types are not integers.
bool types_agree(Type formal, Type actual) {
  if (formal == Type::pred || actual == Type::pred)
    return formal == actual;
  if (isa::bits_of(formal) != isa::bits_of(actual))
    return false;
  const TypeKind a = isa::kind_of(formal), b = isa::kind_of(actual);
  return a == TypeKind::untyped || b == TypeKind::untyped ||
         (a == TypeKind::floating) == (b == TypeKind::floating);
}

class CallCheck {
public:
  CallCheck(Context& context, const Function& function, const Instruction& instruction)
      : context_(context), function_(function), instruction_(instruction) {}

  void run() {
    const Operand& callee = instruction_.operands[0];
    if (callee.kind == OperandKind::function)
      return check_direct(callee);
    check_indirect(callee);
  }

private:
  Diagnostic& error(std::string_view id, SourceRange range, std::string message) {
    Diagnostic& d = context_.error(id, range, std::move(message));
    return d;
  }

  void check_direct(const Operand& callee) {
    const Function& f = context_.module.functions[callee.symbol];
    if (f.is_entry) {
      error("call", callee.range, fmt::format("{} is an entry and cannot be called", f.name))
          .notes.push_back({"legal", "a .func"});
      return;
    }
    check_lists(f.name, f.returns, f.params);
  }

  void check_indirect(const Operand& callee) {
    if (callee.reg != ptx::kNone && isa::is_float(function_.registers[callee.reg].type))
      return void(error("operand-type", callee.range, "a function's address is an integer"));
    if (instruction_.operands.size() < 4) {
      error("call", callee.range, "an indirect call needs a prototype or a list of targets")
          .notes.push_back({"legal", "call (ret), reg, (args), prototype"});
      return;
    }
    context_.need_part("a call through a register", callee.range);
    const Operand& proto = instruction_.operands[3];
    if (proto.kind == OperandKind::targets) {
      if (!function_.target_lists[proto.symbol].is_call)
        error("call", proto.range,
              fmt::format("{} is a list of branch targets", function_.target_lists[proto.symbol].name))
            .notes.push_back({"legal", "the label of a .callprototype or .calltargets directive"});
      return;
    }
    const ptx::Prototype& p = function_.prototypes[proto.symbol];
    check_lists(p.name, p.returns, p.params);
  }

  // A last parameter `.b8 name[]` takes anything that is left.
  static bool is_variadic(const std::vector<Variable>& formals) {
    return !formals.empty() && formals.back().is_array && !formals.back().dims.empty() &&
           formals.back().dims[0] == 0;
  }

  void check_lists(const std::string& name, const std::vector<Variable>& returns,
                   const std::vector<Variable>& params) {
    check_list(name, "returned value", returns, instruction_.operands[1], false);
    check_list(name, "argument", params, instruction_.operands[2], is_variadic(params));
  }

  void check_list(const std::string& name, std::string_view what, const std::vector<Variable>& formals,
                  const Operand& list, bool variadic) {
    const size_t fixed = formals.size() - (variadic ? 1 : 0);
    if (variadic ? list.elems.size() < fixed : list.elems.size() != fixed) {
      Diagnostic& d = error("call-arguments", list.elems.empty() ? instruction_.range : list.range,
                            fmt::format("{} has {} {}{}, found {}", name, fixed, what, fixed == 1 ? "" : "s",
                                        list.elems.size()));
      d.notes.push_back({"see", std::string(kSee)});
      return;
    }
    for (size_t i = 0; i < fixed; ++i)
      check_argument(what, formals[i], list.elems[i]);
  }

  void check_argument(std::string_view what, const Variable& formal, const Operand& actual) {
    if (formal.type == Type::pred) {
      error("call-arguments", actual.range,
            fmt::format("{} {}: a predicate cannot be passed", what, formal.name))
          .notes.push_back({"legal", "selp to an integer, and setp after the call"});
      return;
    }
    std::string why;
    switch (actual.kind) {
    case OperandKind::reg:
      why = against_register(formal, actual);
      break;
    case OperandKind::imm:
      why = what == "argument" ? against_immediate(formal, actual) : "a constant cannot be written";
      break;
    case OperandKind::symbol:
      why = against_variable(formal, actual);
      break;
    case OperandKind::sink:
      why = what == "argument" ? "_ is for returned values" : "";
      break;
    case OperandKind::sreg:
      why = "a special register cannot be passed";
      break;
    default:
      why = "it is no register, constant or parameter";
      break;
    }
    if (why.empty())
      return;
    Diagnostic& d = error("call-arguments", actual.range, fmt::format("{} {}: {}", what, formal.name, why));
    d.notes.push_back({"legal", describe(formal)});
    d.notes.push_back({"see", std::string(kSee)});
  }

  static std::string against_scalar(const Variable& formal, Type type) {
    if (formal.is_array)
      return "a register cannot stand for an array";
    return types_agree(formal.type, type)
               ? ""
               : fmt::format("a .{} register is not .{}", isa::to_string(type), isa::to_string(formal.type));
  }

  std::string against_register(const Variable& formal, const Operand& actual) const {
    if (actual.offset != 0)
      return "a sum cannot be passed: add before the call";
    const ptx::Register& reg = function_.registers[actual.reg];
    const int elems = actual.component >= 0 ? 1 : reg.vector_elems;
    if (!formal.is_array && formal.vector_elems != elems)
      return fmt::format("a register of {} element{} is not one of {}", elems, elems == 1 ? "" : "s",
                         formal.vector_elems);
    return against_scalar(formal, reg.type);
  }

  static std::string against_immediate(const Variable& formal, const Operand& actual) {
    const bool floating = actual.imm_kind == ptx::ImmKind::f32 || actual.imm_kind == ptx::ImmKind::f64;
    if (formal.is_array)
      return "a constant cannot stand for an array";
    const TypeKind kind = isa::kind_of(formal.type);
    return kind == TypeKind::untyped || (kind == TypeKind::floating) == floating
               ? ""
               : fmt::format("{} constant is not .{}", floating ? "a floating-point" : "an integer",
                             isa::to_string(formal.type));
  }

  std::string against_variable(const Variable& formal, const Operand& actual) const {
    const Variable* v = ptx::variable_of(actual, function_, context_.module);
    if (!v)
      return "";
    if (v->space != StateSpace::param)
      return fmt::format("{} lives in the .{} space", v->name, isa::to_string(v->space));
    if (formal.space == StateSpace::reg)
      return v->is_array ? "an array cannot stand for a register" : against_scalar(formal, v->type);
    if (formal.is_array != v->is_array || formal.size_bytes != v->size_bytes ||
        (!formal.is_array && !types_agree(formal.type, v->type)))
      return fmt::format("{} is {}", v->name, describe(*v));
    return formal.align == v->align ? "" : fmt::format("{} is aligned to {} bytes", v->name, v->align);
  }

  static std::string describe(const Variable& v) {
    return v.is_array
               ? fmt::format(".{} .align {} .{}, {} bytes in all", isa::to_string(v.space), v.align,
                             isa::to_string(v.type), v.size_bytes)
               : fmt::format(".{} .align {} .{}", isa::to_string(v.space), v.align, isa::to_string(v.type));
  }

  Context& context_;
  const Function& function_;
  const Instruction& instruction_;
};

} // namespace

void check_call(Context& context, const Function& function, const Instruction& instruction) {
  CallCheck(context, function, instruction).run();
}

} // namespace lemma::verify
