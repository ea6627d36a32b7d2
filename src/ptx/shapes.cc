// A tree of operands as a flat list: the operands first, then the children of each, level by level, so that a
// shape needs only the index of its first child and their number.
#include "ptx/shapes.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::ptx {
namespace {

using isa::OperandShape;
using Kind = OperandShape::Kind;

Kind shape_kind(const Operand& operand) {
  switch (operand.kind) {
  case OperandKind::imm:
    return operand.imm_kind == ImmKind::f32   ? Kind::imm_f32
           : operand.imm_kind == ImmKind::f64 ? Kind::imm_f64
                                              : Kind::imm_int;
  case OperandKind::sreg:
    return Kind::sreg;
  case OperandKind::symbol:
    return Kind::symbol;
  case OperandKind::function:
    return Kind::function;
  case OperandKind::label:
    return Kind::label;
  case OperandKind::vector:
    return Kind::vector;
  case OperandKind::pair:
    return Kind::pair;
  case OperandKind::address:
    return Kind::address;
  case OperandKind::proto:
  case OperandKind::targets:
    return Kind::proto;
  case OperandKind::reg:
    return Kind::reg;
  case OperandKind::none:
  case OperandKind::sink:
    break;
  }
  return Kind::sink;
}

OperandShape shape_of(const Operand& operand, const Function& function, const Module& module) {
  OperandShape shape;
  shape.kind = shape_kind(operand);
  shape.negated = operand.negated;
  if (operand.component >= isa::kFirstByte) { // .b0, .h1; a component of a vector is a scalar like any other
    shape.selector = operand.component;
    shape.value = static_cast<int64_t>(operand.bits);
  }
  shape.offset = operand.offset != 0;
  if (shape.kind == Kind::reg) {
    const Register& reg = function.registers[operand.reg];
    shape.type = reg.type;
    shape.vector_elems = static_cast<uint8_t>(operand.component >= 0 ? 1 : reg.vector_elems);
  } else if (shape.kind == Kind::sreg) {
    shape.type = isa::type_of(operand.sreg);
    shape.value = operand.sreg == isa::SpecialRegister::gridid;
  } else if (shape.kind == Kind::symbol) {
    if (const Variable* variable = variable_of(operand, function, module))
      shape.space = variable->space;
  } else if (shape.kind == Kind::imm_int) {
    shape.value = static_cast<int64_t>(operand.bits);
  }
  if (shape.kind == Kind::vector)
    shape.value = operand.sreg != isa::SpecialRegister::none;
  shape.children = static_cast<uint16_t>(operand.elems.size());
  return shape;
}

} // namespace

const Variable* variable_of(const Operand& operand, const Function& function, const Module& module) {
  if (operand.kind != OperandKind::symbol)
    return nullptr;
  const std::vector<Variable>* table = nullptr;
  switch (operand.symbol_scope) {
  case Operand::SymbolScope::module:
    table = &module.variables;
    break;
  case Operand::SymbolScope::function:
    table = &function.variables;
    break;
  case Operand::SymbolScope::param:
    table = &function.params;
    break;
  case Operand::SymbolScope::return_param:
    table = &function.returns;
    break;
  }
  return operand.symbol < table->size() ? &(*table)[operand.symbol] : nullptr;
}

bool negates_numbers(const isa::Form& form) {
  return std::any_of(form.operands.begin(), form.operands.end(),
                     [](const isa::OperandSpec& spec) { return spec.negatable && spec.type != Type::pred; });
}

std::string_view name_of(const Operand& operand, const Function& function, const Module& module) {
  const auto name_in = [&](const auto& table) -> std::string_view {
    return operand.symbol < table.size() ? std::string_view(table[operand.symbol].name) : std::string_view();
  };
  switch (operand.kind) {
  case OperandKind::symbol: {
    const Variable* variable = variable_of(operand, function, module);
    return variable ? std::string_view(variable->name) : std::string_view();
  }
  case OperandKind::function:
    return name_in(module.functions);
  case OperandKind::label:
    return name_in(function.labels);
  case OperandKind::proto:
    return name_in(function.prototypes);
  case OperandKind::targets:
    return name_in(function.target_lists);
  default:
    return {};
  }
}

// Breadth first: the children of one node stand together.
void shapes_of(const Instruction& instruction, const Function& function, const Module& module,
               isa::OperandShapes& out) {
  out.nodes.clear();
  out.count = instruction.operands.size();
  fmt::basic_memory_buffer<const Operand*, 64> parents; // few: no allocation
  for (const Operand& operand : instruction.operands) {
    out.nodes.push_back(shape_of(operand, function, module));
    parents.push_back(&operand);
  }
  for (size_t i = 0; i < parents.size(); ++i) {
    const Operand& parent = *parents[i];
    out.nodes[i].first_child = static_cast<uint16_t>(out.nodes.size());
    for (const Operand& child : parent.elems) {
      out.nodes.push_back(shape_of(child, function, module));
      parents.push_back(&child);
    }
  }
}

} // namespace lemma::ptx
