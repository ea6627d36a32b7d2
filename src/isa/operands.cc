// Whether operands fit a form: the agreement of registers, immediates and addresses with what the row says.
// PTX ISA: "Type Information for Instructions and Operands", "Operand Size Exceeding Instruction-Type Size".
// Where the assembler is more lenient or stricter than the text, the assembler decides.
#include "isa/catalogue.h"
#include "isa/form.h"

#include <algorithm>

namespace lemma::isa {
namespace {

using Kind = OperandShape::Kind;
using Fault = OperandFault::Kind;

bool is_immediate(Kind kind) {
  return kind == Kind::imm_int || kind == Kind::imm_f32 || kind == Kind::imm_f64;
}
bool is_packed(Type type) {
  return type == Type::u16x2 || type == Type::s16x2 || type == Type::u8x4 || type == Type::s8x4;
}

// Optional groups of operands are there or not: a set of them, a bit a group.
uint32_t all_groups(const Form& form) {
  int groups = 0;
  for (const OperandSpec& spec : form.operands)
    groups = std::max(groups, spec.group + 1);
  return (uint32_t{1} << groups) - 1;
}
bool is_present(const OperandSpec& spec, uint32_t groups) {
  return spec.group < 0 || (groups >> spec.group & 1);
}
// May an instruction of `count` operands have just these groups?
bool may_have(const Form& form, const Binding& binding, uint32_t groups, size_t count) {
  for (const OperandSpec& spec : form.operands) {
    count -= is_present(spec, groups);
    if (spec.if_slot >= 0) {
      const Qual qual = binding.qual(spec.if_slot);
      const bool wanted = spec.if_qual == Qual::none ? qual != Qual::none : qual == spec.if_qual;
      if (wanted != is_present(spec, groups))
        return false;
    }
  }
  return count == 0;
}

Type twice_as_wide(Type type) {
  switch (type) {
  case Type::u16:
    return Type::u32;
  case Type::s16:
    return Type::s32;
  case Type::u32:
    return Type::u64;
  case Type::s32:
    return Type::s64;
  case Type::b32:
    return Type::b64;
  case Type::b16:
    return Type::b32;
  default:
    return type;
  }
}

class Fitter {
public:
  Fitter(const Form& form, const Binding& binding, const OperandShapes& shapes, OperandFault* fault)
      : form_(form), binding_(binding), shapes_(shapes), fault_(fault) {}

  // All choices of optional groups are tried: there are at most a few.
  bool fit() {
    OperandFault best;
    best.kind = Fault::count;
    for (uint32_t groups = all_groups(form_) + 1; groups-- > 0;) {
      if (!may_have(form_, binding_, groups, shapes_.count))
        continue;
      OperandFault fault;
      if (fit_with(groups, fault))
        return true;
      if (fault.operand > best.operand || (fault.operand == best.operand && fault.child > best.child))
        best = fault;
    }
    if (fault_)
      *fault_ = best;
    return false;
  }

private:
  bool fit_with(uint32_t groups, OperandFault& fault) {
    size_t next = 0;
    for (const OperandSpec& spec : form_.operands) {
      if (!is_present(spec, groups))
        continue;
      fault.spec = &spec;
      fault.operand = static_cast<int>(next);
      fault.child = -1;
      fault.kind = check(spec, shapes_.nodes[next], fault);
      if (fault.kind != Fault::none)
        return false;
      ++next;
    }
    return true;
  }

  const OperandShape& child(const OperandShape& shape, size_t i) const {
    return shapes_.nodes[static_cast<size_t>(shape.first_child) + i];
  }

  Type type_of(const OperandSpec& spec) const { return isa::type_of(spec, binding_); }
  int bits_wanted(const OperandSpec& spec) const { return bits_of(type_of(spec)) * (spec.widened ? 2 : 1); }

  Fault check(const OperandSpec& spec, const OperandShape& shape, OperandFault& fault) {
    switch (spec.kind) {
    case OperandSpec::Kind::address:
      return check_address(spec, shape, fault);
    case OperandSpec::Kind::label:
      return shape.kind == Kind::label ? Fault::none : Fault::kind;
    case OperandSpec::Kind::function:
      return shape.kind == Kind::function || shape.kind == Kind::reg ? Fault::none : Fault::kind;
    case OperandSpec::Kind::list:
      return shape.kind == Kind::vector ? Fault::none : Fault::kind;
    case OperandSpec::Kind::proto:
      return shape.kind == Kind::proto || shape.kind == Kind::function ? Fault::none : Fault::kind;
    case OperandSpec::Kind::data:
      break;
    }
    return spec.has_second ? check_pair(spec, shape, fault) : check_first(spec, shape, fault);
  }

  // Data without the second half of a pair.
  Fault check_first(const OperandSpec& spec, const OperandShape& shape, OperandFault& fault) {
    int n = elems_of(spec, binding_);
    const bool said = spec.elems_slot >= 0 && n > 0; // by a qualifier
    if (shape.kind == Kind::vector && shape.children != n && !said)
      for (const int other : spec.elems_or)
        if (other == shape.children)
          n = other;
    if (spec.most_bits != 0) {
      const int bits = bits_of(type_of(spec)) * std::max(n, 1);
      if (spec.exact_bits ? bits != spec.most_bits : bits > spec.most_bits)
        return Fault::size;
    }
    return n == 0 ? check_scalar(spec, shape) : check_vector(spec, shape, n, fault);
  }

  Fault check_pair(const OperandSpec& spec, const OperandShape& shape, OperandFault& fault) {
    if (shape.kind != Kind::pair)
      return spec.second_optional ? check_first(spec, shape, fault) : Fault::kind;
    fault.child = 0;
    if (child(shape, 0).kind != Kind::sink || !spec.sink) // _|p
      if (const Fault f = check_first(spec, child(shape, 0), fault); f != Fault::none)
        return f;
    fault.child = 1;
    const OperandShape& second = child(shape, 1);
    if (second.kind == Kind::sink)
      return spec.second_optional && child(shape, 0).kind != Kind::sink ? Fault::none : Fault::kind;
    return second.kind == Kind::reg && second.type == Type::pred && !second.negated ? Fault::none
                                                                                    : Fault::type;
  }

  Fault check_vector(const OperandSpec& spec, const OperandShape& shape, int n, OperandFault& fault) {
    if (shape.kind == Kind::sink && spec.sink)
      return Fault::none;
    if (shape.kind == Kind::reg && shape.vector_elems == n && n > 1)
      return shape.offset ? Fault::expression : agrees(spec, shape.type) ? Fault::none : Fault::type;
    if (shape.kind != Kind::vector)
      return Fault::kind;
    if (shape.children != n)
      return Fault::length;
    if (shape.value != 0 && !spec.special) // %tid
      return Fault::special;
    int sinks = 0;
    bool has_special = false, has_constant = false;
    for (int i = 0; i < n; ++i) {
      fault.child = i;
      const OperandShape& element = child(shape, static_cast<size_t>(i));
      if (element.kind == Kind::sink && (spec.written ? !spec.no_sinks : spec.holes) && ++sinks < n)
        continue;
      // The assembler finds no type for {1} where it is the instruction's, nor for a matrix, but for wmma's
      // of 4 bits.
      if (n == 1 && element.kind == Kind::imm_int &&
          (spec.type_slot >= 0 || (form_.matrix && !is_four_bit_wmma())))
        return Fault::kind;
      if (element.kind == Kind::reg && element.offset)
        return Fault::expression;
      // A special register stands for a register of its width, whatever the type.
      if (element.kind == Kind::sreg && !spec.written && !spec.plain && element.type != Type::pred &&
          bits_of(element.type) == bits_wanted(spec)) {
        has_special = true;
        if (has_constant) // the assembler takes constants beside registers only
          return Fault::special;
        continue;
      }
      has_constant |= is_immediate(element.kind);
      if (has_special && has_constant)
        return Fault::kind;
      if (const Fault f = check_scalar(spec, element, i); f != Fault::none)
        return f;
    }
    return Fault::none;
  }

  bool is_four_bit_wmma() const {
    return form_.opcode == Opcode::wmma_mma && form_.matrix->op == Qual::none &&
           bits_of(form_.matrix->types.a.first()) == 4;
  }

  // Element `index` of a vector, or all of the operand.
  Fault check_scalar(const OperandSpec& spec, const OperandShape& shape, int index = 0) {
    if (shape.negated && !spec.negatable)
      return Fault::negation;
    switch (shape.kind) {
    case Kind::reg:
      if (!spec.reg)
        return Fault::kind;
      // %r1+4: the assembler adds integers, to a source alone.
      if (shape.offset &&
          (spec.written || shape.selector >= 0 || is_float(shape.type) || shape.type == Type::pred))
        return Fault::expression;
      if (shape.selector >= 0 && !selects(spec.selects, shape))
        return Fault::kind;
      return shape.vector_elems == 1 && agrees(spec, shape.type) ? Fault::none : Fault::type;
    case Kind::sreg:
      if (!spec.special || is_float(type_of(spec)))
        return Fault::special;
      // The low half of a 32-bit special register is readable, and what %gridid was before it had 64 bits.
      if (bits_wanted(spec) == 16 || (shape.value != 0 && bits_wanted(spec) == 32))
        return shape.type == Type::u32 || shape.value != 0 ? Fault::none : Fault::type;
      return agrees(spec, shape.type) ? Fault::none : Fault::type;
    case Kind::imm_int:
      if (!spec.immediate)
        return spec.written ? Fault::written : Fault::kind;
      if (is_float(type_of(spec)) || is_packed(type_of(spec)))
        return Fault::type;
      if (!in_range(spec, shape.value, index))
        return Fault::range;
      return Fault::none;
    case Kind::imm_f32:
    case Kind::imm_f64:
      if (!spec.immediate)
        return spec.written ? Fault::written : Fault::kind;
      return float_immediate_agrees(spec, shape.kind) ? Fault::none : Fault::type;
    case Kind::symbol:
    case Kind::function:
      if (!spec.symbol)
        return Fault::symbol;
      return is_float(type_of(spec)) || type_of(spec) == Type::pred ? Fault::type : Fault::none;
    case Kind::sink:
      return spec.sink ? Fault::none : Fault::kind;
    default:
      return Fault::kind;
    }
  }

  // With both a list and a range the list is the first element's, the range the second's.
  static bool in_range(const OperandSpec& spec, int64_t value, int index) {
    if (!spec.one_of.empty() && !(spec.ranged && index > 0))
      return std::find(spec.one_of.begin(), spec.one_of.end(), value) != spec.one_of.end();
    if (!spec.ranged)
      return true;
    const int64_t from = std::min<int64_t>(spec.min, 0);
    return value >= spec.min && value <= spec.max && (value - from) % spec.step == 0;
  }

  // The digits of a list, highest first, follow a 1.
  static bool selects(Selects legal, const OperandShape& shape) {
    const bool is_byte = shape.selector >= kFirstByte && shape.selector < kFirstHalf;
    const bool is_half = shape.selector >= kFirstHalf && shape.selector < kHalfList;
    int digits = 0, highest = 0;
    bool falls = true;
    for (int64_t left = shape.value; left > 1; left >>= 4) {
      const int digit = static_cast<int>(left & 15);
      falls &= digits == 0 || digit > highest;
      highest = std::max(highest, digit);
      ++digits;
    }
    switch (legal) {
    case Selects::none:
      return false;
    case Selects::part:
      return is_byte || is_half;
    case Selects::mask2:
      return is_half || (shape.selector == kHalfList && shape.value == 0x110);
    case Selects::mask4:
      return is_byte || (shape.selector == kByteList && falls && highest < 4);
    case Selects::halves:
      return shape.selector == kHalfList && digits == 2 && highest < 4;
    case Selects::bytes:
      return shape.selector == kByteList && digits == 4 && highest < 8;
    }
    return false;
  }

  bool float_immediate_agrees(const OperandSpec& spec, Kind kind) const {
    const Type type = type_of(spec);
    if (type == Type::f32 || type == Type::f64)
      return spec.reg;
    return spec.reg && kind_of(type) == TypeKind::untyped &&
           bits_wanted(spec) == (kind == Kind::imm_f64 ? 64 : 32);
  }

  bool agrees(const OperandSpec& spec, Type reg) const {
    const Type type = type_of(spec);
    if (type == Type::pred || reg == Type::pred || spec.only)
      return type == reg;
    const int bits = bits_wanted(spec);
    if (spec.wider ? bits_of(reg) < bits : bits_of(reg) != bits)
      return false;
    const TypeKind a = kind_of(type), b = kind_of(reg);
    if (spec.same_bits || a == TypeKind::untyped || b == TypeKind::untyped)
      return true;
    // The assembler takes an .f16x2 register as 32 bits where the type is the instruction's own.
    if (reg == Type::f16x2 && is_integer(type))
      return spec.type_slot >= 0 && !spec.fixed;
    if (a == TypeKind::floating || b == TypeKind::floating || is_packed(type))
      return type == reg;
    return is_integer(type) && is_integer(reg);
  }

  Fault check_address(const OperandSpec& spec, const OperandShape& shape, OperandFault& fault) {
    if (shape.kind != Kind::address)
      return Fault::kind;
    fault.child = 0;
    const OperandShape& base = child(shape, 0);
    if (base.kind == Kind::reg && (is_float(base.type) || base.type == Type::pred || base.vector_elems != 1))
      return Fault::type;
    if (spec.tensor_memory && (base.kind != Kind::reg || bits_of(base.type) != 32))
      return base.kind == Kind::reg ? Fault::type : Fault::kind;
    if (base.kind == Kind::symbol && !space_agrees(spec, base.space))
      return Fault::space;
    if (base.kind != Kind::reg && base.kind != Kind::symbol && base.kind != Kind::imm_int)
      return Fault::kind;
    if (shape.children != spec.parts.size() + 1)
      return Fault::length;
    if ((spec.bare || !spec.parts.empty()) && shape.offset)
      return Fault::kind; // [map+4, {x}] is a syntax error to the assembler
    for (size_t i = 0; i < spec.parts.size(); ++i) {
      OperandFault ignored;
      fault.child = static_cast<int>(i + 1);
      // [map, 0] is a syntax error to the assembler; [map, %r1] it takes for textures alone.
      const Kind kind = child(shape, i + 1).kind;
      if (is_immediate(kind) || (kind != Kind::vector && spec.parts[i].elems_slot >= 0))
        return Fault::kind;
      const bool bare = kind != Kind::vector && elems_of(spec.parts[i], binding_) == 1;
      if (const Fault f = bare ? check_scalar(spec.parts[i], child(shape, i + 1))
                               : check(spec.parts[i], child(shape, i + 1), ignored);
          f != Fault::none)
        return f;
    }
    return Fault::none;
  }

  bool space_agrees(const OperandSpec& spec, StateSpace of_symbol) const {
    StateSpace wanted = space_of(spec, binding_);
    if (wanted == StateSpace::shared_cluster)
      wanted = StateSpace::shared;
    return wanted == StateSpace::generic || wanted == of_symbol;
  }

  const Form& form_;
  const Binding& binding_;
  const OperandShapes& shapes_;
  OperandFault* fault_;
};

} // namespace

Type type_of(const OperandSpec& spec, const Binding& binding) {
  return spec.type_slot >= 0 ? binding.type(spec.type_slot) : spec.type;
}

int elems_of(const OperandSpec& spec, const Binding& binding) {
  if (spec.elems_slot < 0)
    return spec.elems;
  const Qual qual = binding.qual(spec.elems_slot);
  if (qual == Qual::none)
    return 0;
  const std::string_view word = to_string(qual);
  int n = 0;
  for (size_t i = spec.elems_n ? word.find('n') + 1 : word.find_first_of("0123456789");
       i < word.size() && word[i] >= '0' && word[i] <= '9'; ++i)
    n = n * 10 + (word[i] - '0');
  return (n * spec.elems_times + spec.elems_over - 1) / spec.elems_over - spec.elems_less;
}

StateSpace space_of(const OperandSpec& spec, const Binding& binding) {
  if (spec.space_slot < 0)
    return spec.space;
  const Qual qual = binding.qual(spec.space_slot);
  return qual == Qual::none ? StateSpace::generic : space_of(qual).value_or(StateSpace::generic);
}

Type value_type(const OperandSpec& spec, const Binding& binding) {
  const Type type = type_of(spec, binding);
  return spec.widened ? twice_as_wide(type) : type;
}

std::vector<const OperandSpec*> specs_of(const Binding& binding, size_t count) {
  const Form& form = *binding.form;
  std::vector<const OperandSpec*> specs;
  for (uint32_t groups = all_groups(form) + 1; groups-- > 0 && specs.empty();)
    if (may_have(form, binding, groups, count))
      for (const OperandSpec& spec : form.operands)
        if (is_present(spec, groups))
          specs.push_back(&spec);
  return specs;
}

bool operands_fit(const Form& form, const Binding& binding, const OperandShapes& shapes,
                  OperandFault* fault) {
  return Fitter(form, binding, shapes, fault).fit();
}

Choice choose(const Match& match, const OperandShapes& shapes) {
  const Binding* best = &match.bindings.front();
  std::pair<int, int> reached{-2, -2};
  for (const Binding& binding : match.bindings) {
    OperandFault fault;
    if (operands_fit(*binding.form, binding, shapes, &fault))
      return {&binding, true};
    if (const std::pair at{fault.operand, fault.child}; at > reached) {
      reached = at;
      best = &binding;
    }
  }
  return {best, false};
}

} // namespace lemma::isa
