// In the order of a module: declarations, function headers, bodies, instructions. Two things are harder than
// they look. Declarations come back in the scopes and before the instructions where they stood, by cursors
// that run along the tables (print_scope, print_declarations); and what is used before it is defined must be
// declared first (declared_functions, print_module_variables). Qualifiers come in the order of the form's
// slots (print_spelling).
#include "ptx/printer.h"

#include "ptx/shapes.h"

#include "isa/effects.h"
#include "isa/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <unordered_map>

namespace lemma::ptx {
namespace {

constexpr uint32_t kDeepestIndent = 8; // tabs; deeper scopes are not moved further to the right

// Appends to one string; every print_ method below ends where its statement ends.
class Printer {
public:
  explicit Printer(const Module& module) : module_(module) {}

  std::string print_module();
  void print_instruction(const Instruction& instruction, const Function& function);
  std::string take() { return std::move(out_); }

private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  void indent(uint32_t depth) { out_.append(std::min(depth, kDeepestIndent), '\t'); }

  // Declarations.
  void print_linkage(Linkage linkage);
  void print_attributes(const std::vector<std::string>& attributes);
  void print_variable(const Variable& variable, bool with_initializer);
  void print_parameter(const Variable& parameter);
  void print_parameters(const std::vector<Variable>& parameters, const char* separator);
  void print_initializer(const Variable& variable);
  void print_level(const Variable& variable, const std::vector<uint64_t>& shape, size_t level, size_t& next,
                   size_t end);
  void print_init_value(const InitValue& value, Type type);
  void print_module_variables();
  void print_thread_variables();

  // Functions.
  void print_header(const Function& function);
  void print_bounds(const Function& function);
  void print_definition(const Function& function);
  size_t declared_functions() const;

  // Bodies. The tables are in the order of the text, so that one cursor in each serves the whole walk.
  struct Cursors {
    size_t scope = 1, reg = 0, variable = 0, prototype = 0, target_list = 0, pragma = 0, label = 0;
    uint32_t location = kNone;
  };
  void print_scope(const Function& function, uint32_t scope, uint32_t depth, Cursors& at);
  void print_declarations(const Function& function, uint32_t scope, uint32_t position, uint32_t depth,
                          Cursors& at);
  void print_registers(const Function& function, uint32_t scope, uint32_t position, uint32_t depth,
                       size_t& next);
  void print_prototype(const Prototype& prototype);
  void print_location(uint32_t location, uint32_t depth);

  // Instructions.
  void print_call(const Instruction& instruction, const Function& function);
  void print_list(const Operands& operands, const Function& function);
  void print_operand(const Operand& operand, const Function& function);
  void print_immediate(const Operand& operand);

  const Module& module_;
  std::string out_;
  std::string_view negation_ = "!"; // of the instruction's operands
  // File, line and column -> the location printed last with them: `inlined_at` refers to that one.
  std::unordered_map<uint64_t, std::vector<std::pair<uint64_t, uint32_t>>> printed_locations_;
};

uint64_t natural_alignment(const Variable& variable) {
  return static_cast<uint64_t>(isa::bytes_of(variable.type)) * variable.vector_elems;
}

// --- declarations ---

void Printer::print_linkage(Linkage linkage) {
  constexpr const char* names[] = {"", ".extern ", ".visible ", ".weak ", ".common "};
  out_ += names[static_cast<size_t>(linkage)];
}

void Printer::print_attributes(const std::vector<std::string>& attributes) {
  if (!attributes.empty())
    put(".attribute({}) ", fmt::join(attributes, ", "));
}

// .global .align 8 .v2 .f32 name[3]
void Printer::print_parameter(const Variable& variable) {
  put(".{} ", isa::to_string(variable.space));
  print_attributes(variable.attributes);
  if (variable.align != natural_alignment(variable))
    put(".align {} ", variable.align);
  if (variable.vector_elems > 1)
    put(".v{} ", variable.vector_elems);
  put(".{} ", isa::to_string(variable.type));
  if (variable.is_pointer) {
    out_ += ".ptr ";
    if (variable.pointee_space != StateSpace::generic)
      put(".{} ", isa::to_string(variable.pointee_space));
    if (variable.pointee_type != Type::none)
      put(".{} ", isa::to_string(variable.pointee_type));
    if (variable.pointee_align != 0)
      put(".align {} ", variable.pointee_align);
  }
  out_ += variable.name;
  for (size_t i = 0; i < variable.dims.size(); ++i)
    if (i == 0 && variable.dims[0] == 0)
      out_ += "[]";
    else
      put("[{}]", variable.dims[i]);
}

void Printer::print_parameters(const std::vector<Variable>& parameters, const char* separator) {
  out_ += '(';
  for (size_t i = 0; i < parameters.size(); ++i) {
    out_ += i == 0 ? separator : "";
    if (i > 0)
      put(",{}", *separator ? separator : " ");
    print_parameter(parameters[i]);
  }
  out_ += *separator && !parameters.empty() ? "\n)" : ")";
}

void Printer::print_variable(const Variable& variable, bool with_initializer) {
  print_linkage(with_initializer ? variable.linkage : Linkage::extern_);
  print_parameter(variable);
  if (with_initializer)
    print_initializer(variable);
  out_ += ";\n";
}

void Printer::print_initializer(const Variable& variable) {
  if (!variable.opaque_init.empty())
    put(" = {}", variable.opaque_init);
  if (variable.init.empty())
    return;
  out_ += " = ";
  std::vector<uint64_t> shape = variable.dims;
  if (variable.vector_elems > 1)
    shape.push_back(static_cast<uint64_t>(variable.vector_elems));
  size_t next = 0;
  if (shape.empty())
    print_init_value(variable.init[0], variable.type);
  else
    print_level(variable, shape, 0, next, variable.init.size());
}

// The braces of one dimension, as far as values are given.
void Printer::print_level(const Variable& variable, const std::vector<uint64_t>& shape, size_t level,
                          size_t& next, size_t end) {
  out_ += '{';
  for (uint64_t i = 0; i < shape[level] && next < end; ++i) {
    if (i > 0)
      out_ += ", ";
    if (level + 1 < shape.size())
      print_level(variable, shape, level + 1, next, end);
    else
      print_init_value(variable.init[next++], variable.type);
  }
  out_ += '}';
}

void Printer::print_init_value(const InitValue& value, Type type) {
  if (value.symbol.empty()) {
    if (type == Type::f32)
      put("0f{:08X}", value.bits);
    else if (type == Type::f64)
      put("0d{:016X}", value.bits);
    else
      put("{}", value.bits);
    return;
  }
  if (value.mask_shift < 64)
    put("0x{:X}(", uint64_t{0xFF} << value.mask_shift);
  put("{}{}{}", value.generic ? "generic(" : "", value.symbol, value.generic ? ")" : "");
  if (value.addend != 0)
    put("+{}", value.addend);
  if (value.mask_shift < 64)
    out_ += ')';
}

// A variable whose initializer names a later one was declared .extern first; so it is here, and defined at
// the end.
void Printer::print_module_variables() {
  std::unordered_map<std::string_view, size_t> index;
  for (size_t i = 0; i < module_.variables.size(); ++i)
    index.emplace(module_.variables[i].name, i);
  std::vector<const Variable*> deferred;
  for (size_t i = 0; i < module_.variables.size(); ++i) {
    const Variable& variable = module_.variables[i];
    const bool later = std::any_of(variable.init.begin(), variable.init.end(), [&](const InitValue& value) {
      const auto it = value.symbol.empty() ? index.end() : index.find(value.symbol);
      return it != index.end() && it->second >= i;
    });
    if (later)
      deferred.push_back(&variable);
    print_variable(variable, !later);
  }
  for (const Variable* variable : deferred)
    print_variable(*variable, true);
}

// Before all functions: one that stood before them has them then, too, and names none.
void Printer::print_thread_variables() {
  Cursors at;
  print_declarations(module_.thread_variables, 0, 0, 0, at);
}

// --- functions ---

void Printer::print_bounds(const Function& function) {
  const LaunchBounds& bounds = function.bounds;
  const auto put_dim3 = [&](const char* name, const std::array<uint32_t, 3>& extent) {
    if (extent != std::array<uint32_t, 3>{})
      put("{} {}, {}, {}\n", name, extent[0], extent[1], extent[2]);
  };
  const auto put_count = [&](const char* name, uint32_t count) {
    if (count != 0)
      put("{} {}\n", name, count);
  };
  put_dim3(".maxntid", bounds.maxntid);
  put_dim3(".reqntid", bounds.reqntid);
  put_dim3(".reqnctapercluster", bounds.reqnctapercluster);
  if (bounds.explicit_cluster)
    out_ += ".explicitcluster\n";
  if (bounds.blocks_are_clusters)
    out_ += ".blocksareclusters\n";
  put_count(".maxclusterrank", bounds.maxclusterrank);
  put_count(".minnctapersm", bounds.minnctapersm);
  put_count(".maxnctapersm", bounds.maxnctapersm);
  put_count(".maxnreg", bounds.maxnreg);
  if (bounds.min_per_cta_memory_bytes)
    put(".minperctamemory {}\n", *bounds.min_per_cta_memory_bytes);
  put_count(".abi_preserve", bounds.abi_preserve);
  put_count(".abi_preserve_control", bounds.abi_preserve_control);
  if (bounds.noreturn)
    out_ += ".noreturn\n";
  for (const std::string& unknown : function.unknown_directives)
    put("{}\n", unknown);
  if (!function.languages.empty()) // of a .func nothing may follow it
    put(".language {}\n", fmt::join(function.languages, ", "));
  for (const std::string& pragma : function.pragmas)
    put(".pragma \"{}\";\n", pragma);
}

// Up to and including the launch bounds.
void Printer::print_header(const Function& function) {
  print_linkage(function.linkage);
  out_ += function.is_entry ? ".entry " : ".func ";
  print_attributes(function.attributes);
  if (!function.returns.empty()) {
    print_parameters(function.returns, "");
    out_ += ' ';
  }
  out_ += function.name;
  print_parameters(function.params, "\n\t");
  out_ += '\n';
  print_bounds(function);
}

// How many functions, from the first on, are declared before any is defined: all up to the last one that has
// no body or that is used before its definition. Declaring all before it keeps their order.
size_t Printer::declared_functions() const {
  size_t count = 0;
  std::unordered_map<std::string_view, size_t> index;
  for (size_t i = 0; i < module_.functions.size(); ++i) {
    index.emplace(module_.functions[i].name, i);
    if (!module_.functions[i].has_body)
      count = i + 1;
  }
  const auto use_operand = [&](const Operand& operand, size_t in_function) {
    if (operand.kind == OperandKind::function && operand.symbol > in_function)
      count = std::max<size_t>(count, operand.symbol + 1);
  };
  const auto use = [&](std::string_view name, size_t in_function) {
    const auto it = name.empty() ? index.end() : index.find(name);
    if (it != index.end() && it->second > in_function)
      count = std::max(count, it->second + 1);
  };
  for (const Variable& variable : module_.variables)
    for (const InitValue& value : variable.init)
      if (const auto it = value.symbol.empty() ? index.end() : index.find(value.symbol); it != index.end())
        count = std::max(count, it->second + 1);
  for (size_t i = 0; i < count || i < module_.functions.size(); ++i) {
    const Function& function = module_.functions[i];
    for (const Instruction& instruction : function.instructions)
      for (const Operand& operand : instruction.operands) {
        use_operand(operand, i);
        for (const Operand& elem : operand.elems)
          use_operand(elem, i);
      }
    for (const TargetList& list : function.target_lists)
      for (const std::string& name : list.names)
        use(list.is_call ? name : std::string_view(), i);
    for (const Variable& variable : function.variables)
      for (const InitValue& value : variable.init)
        use(value.symbol, i);
  }
  return count;
}

void Printer::print_definition(const Function& function) {
  print_header(function);
  out_ += "{\n";
  Cursors at;
  at.reg = function.thread_registers;
  for (const auto* list : {&function.returns, &function.params}) // those in .reg stand in the header
    at.reg += static_cast<size_t>(
        std::count_if(list->begin(), list->end(), [](const Variable& v) { return v.reg != kNone; }));
  at.variable = function.thread_variables;
  print_scope(function, 0, 1, at);
  out_ += "}\n";
}

std::string Printer::print_module() {
  put(".version {}.{}\n.target {}\n.address_size {}\n\n", module_.version.major, module_.version.minor,
      fmt::join(module_.targets, ", "), module_.address_size_bits);
  for (const std::string& pragma : module_.pragmas)
    put(".pragma \"{}\";\n", pragma);
  for (const auto& [index, file] : module_.files)
    if (file.timestamp != 0 || file.size_bytes != 0)
      put(".file {} \"{}\", {}, {}\n", index, file.name, file.timestamp, file.size_bytes);
    else
      put(".file {} \"{}\"\n", index, file.name);
  if (!module_.intermediate_sources.empty())
    out_ += ".nv_intermediate_source_section {\n";
  for (const IntermediateSource& each : module_.intermediate_sources)
    put(".code_block {{\n.ir_name: \"{}\"\n.sourceFileName: {}\n.source_begin\n{}.source_end\n}}\n",
        each.language, each.file, each.text);
  if (!module_.intermediate_sources.empty())
    out_ += "}\n";
  const size_t declared = declared_functions();
  for (size_t i = 0; i < declared; ++i) {
    print_header(module_.functions[i]);
    out_ += ";\n";
  }
  print_module_variables();
  print_thread_variables();
  for (const Function& function : module_.functions)
    if (function.has_body)
      print_definition(function);
  for (const Alias& alias : module_.aliases)
    put(".alias {}, {};\n", alias.name, alias.function);
  for (const DebugSection& section : module_.sections)
    put(".section {}\n{{{}}}\n", section.name, section.text);
  return std::move(out_);
}

// --- bodies ---

void Printer::print_scope(const Function& function, uint32_t scope, uint32_t depth, Cursors& at) {
  uint32_t next = function.scopes[scope].begin;
  for (;;) {
    print_declarations(function, scope, next, depth, at);
    if (at.scope < function.scopes.size() && function.scopes[at.scope].parent == scope &&
        function.scopes[at.scope].begin == next) {
      const auto inner = static_cast<uint32_t>(at.scope++);
      indent(depth);
      out_ += "{\n";
      print_scope(function, inner, depth + 1, at);
      indent(depth);
      out_ += "}\n";
      next = function.scopes[inner].end;
      continue;
    }
    if (next >= function.scopes[scope].end)
      return;
    const Instruction& instruction = function.instructions[next++];
    if (instruction.location != at.location && instruction.location != kNone) {
      print_location(instruction.location, depth);
      at.location = instruction.location;
    }
    indent(depth);
    print_instruction(instruction, function);
    out_ += '\n';
  }
}

// What the scope declares before the instruction at `position`.
void Printer::print_declarations(const Function& function, uint32_t scope, uint32_t position, uint32_t depth,
                                 Cursors& at) {
  const auto here = [&](const auto& table, size_t next) {
    return next < table.size() && table[next].scope == scope && table[next].position == position;
  };
  print_registers(function, scope, position, depth, at.reg);
  for (; here(function.variables, at.variable); ++at.variable) {
    indent(depth);
    print_variable(function.variables[at.variable], true);
  }
  for (; here(function.prototypes, at.prototype); ++at.prototype) {
    indent(depth);
    print_prototype(function.prototypes[at.prototype]);
  }
  for (; here(function.target_lists, at.target_list); ++at.target_list) {
    const TargetList& list = function.target_lists[at.target_list];
    indent(depth);
    put("{}: {} {};\n", list.name, list.is_call ? ".calltargets" : ".branchtargets",
        fmt::join(list.names, ", "));
  }
  const auto label_here = [&] {
    return at.label < function.labels.size() && function.labels[at.label].scope == scope &&
           function.labels[at.label].target == position;
  };
  for (;;) {
    if (here(function.body_pragmas, at.pragma) && function.body_pragmas[at.pragma].label <= at.label) {
      indent(depth);
      put(".pragma \"{}\";\n", function.body_pragmas[at.pragma++].text);
    } else if (label_here()) {
      put("{}:\n", function.labels[at.label++].name);
    } else {
      return;
    }
  }
}

// p0, p1, ... pN-1 in a row, all alike, are `p<N>`.
void Printer::print_registers(const Function& function, uint32_t scope, uint32_t position, uint32_t depth,
                              size_t& next) {
  const auto& registers = function.registers;
  std::string expected;
  while (next < registers.size() && registers[next].scope == scope && registers[next].position == position) {
    const Register& first = registers[next];
    const std::string name = function.register_name(static_cast<uint32_t>(next));
    std::string_view prefix = name;
    size_t count = 0;
    if (prefix.ends_with('0') && (prefix.size() > 2 || (prefix.size() == 2 && std::isalpha(prefix[0])))) {
      prefix.remove_suffix(1);
      for (; next + count < registers.size(); ++count) {
        const Register& reg = registers[next + count];
        expected = fmt::format("{}{}", prefix, count);
        if (function.register_name(static_cast<uint32_t>(next + count)) != expected ||
            reg.type != first.type || reg.vector_elems != first.vector_elems || reg.scope != scope ||
            reg.position != position)
          break;
      }
    }
    indent(depth);
    out_ += ".reg ";
    if (first.vector_elems > 1)
      put(".v{} ", first.vector_elems);
    if (count > 1)
      put(".{} \t{}<{}>;\n", isa::to_string(first.type), prefix, count);
    else
      put(".{} \t{};\n", isa::to_string(first.type), name);
    next += std::max<size_t>(count, 1);
  }
}

void Printer::print_prototype(const Prototype& prototype) {
  put("{}: .callprototype ", prototype.name);
  if (!prototype.returns.empty())
    print_parameters(prototype.returns, "");
  out_ += prototype.returns.empty() ? "_ " : " _ ";
  print_parameters(prototype.params, "");
  if (prototype.noreturn)
    out_ += " .noreturn";
  if (prototype.abi_preserve != 0)
    put(" .abi_preserve {}", prototype.abi_preserve);
  if (prototype.abi_preserve_control != 0)
    put(" .abi_preserve_control {}", prototype.abi_preserve_control);
  out_ += ";\n";
}

// The location, after those that it was inlined at unless they are the last with their file, line and column.
void Printer::print_location(uint32_t location, uint32_t depth) {
  const auto last = [&](const LineLocation& at) -> uint32_t& {
    auto& bucket = printed_locations_[uint64_t{at.file} << 32 | at.line];
    for (auto& [column, index] : bucket)
      if (column == at.column)
        return index;
    return bucket.emplace_back(at.column, kNone).second;
  };
  std::vector<uint32_t> chain = {location};
  for (;;) {
    const uint32_t caller = module_.locations[chain.back()].inlined_at;
    if (caller == kNone || last(module_.locations[caller]) == caller)
      break;
    chain.push_back(caller);
  }
  while (!chain.empty()) {
    const LineLocation& at = module_.locations[chain.back()];
    last(at) = chain.back();
    chain.pop_back();
    indent(depth);
    put(".loc\t{} {} {}", at.file, at.line, at.column);
    if (at.inlined_at != kNone) {
      const LineLocation& caller = module_.locations[at.inlined_at];
      put(", function_name {}, inlined_at {} {} {}", at.inlined_function, caller.file, caller.line,
          caller.column);
    }
    out_ += '\n';
    if (at.intermediate_file != 0) {
      indent(depth);
      put(".loc_intermediate\t{} {} {}\n", at.intermediate_file, at.intermediate_line,
          at.intermediate_column);
    }
  }
}

// --- instructions ---

void Printer::print_instruction(const Instruction& instruction, const Function& function) {
  if (!instruction.form()) {
    const auto index = static_cast<uint32_t>(&instruction - function.instructions.data());
    out_ += function.unknown_instructions.at(index);
    return;
  }
  if (instruction.guard.reg != kNone)
    put("@{}{} ", instruction.guard.negated ? "!" : "", function.register_name(instruction.guard.reg));
  out_ += isa::spelling_of(*instruction.binding);
  negation_ = negates_numbers(*instruction.form()) ? "-" : "!";
  if (isa::effects_of(instruction.opcode).has(isa::effect::calls)) {
    print_call(instruction, function);
  } else if (!instruction.operands.empty()) {
    out_ += ' ';
    print_list(instruction.operands, function);
  }
  out_ += ';';
}

void Printer::print_call(const Instruction& instruction, const Function& function) {
  const auto& operands = instruction.operands;
  out_ += ' ';
  if (!operands[1].elems.empty()) {
    out_ += '(';
    print_list(operands[1].elems, function);
    out_ += "), ";
  }
  print_operand(operands[0], function);
  if (!operands[2].elems.empty()) {
    out_ += ", (";
    print_list(operands[2].elems, function);
    out_ += ')';
  }
  if (operands.size() > 3) {
    out_ += ", ";
    print_operand(operands[3], function);
  }
}

void Printer::print_list(const Operands& operands, const Function& function) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i > 0)
      out_ += ", ";
    print_operand(operands[i], function);
  }
}

void Printer::print_immediate(const Operand& operand) {
  switch (operand.imm_kind) {
  case ImmKind::integer:
    if (operand.bits == uint64_t{1} << 63)
      out_ += "(.s64)0x8000000000000000"; // no literal: 9223372036854775808 is unsigned
    else
      put("{}", static_cast<int64_t>(operand.bits));
    break;
  case ImmKind::unsigned_integer:
    put("{}U", operand.bits);
    break;
  case ImmKind::f32:
    put("0f{:08X}", operand.bits);
    break;
  case ImmKind::f64:
    put("0d{:016X}", operand.bits);
    break;
  }
}

void Printer::print_operand(const Operand& operand, const Function& function) {
  constexpr const char* components[] = {".x", ".y", ".z", ".w", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
  switch (operand.kind) {
  case OperandKind::none:
    break;
  case OperandKind::reg:
    put("{}{}{}", operand.negated ? negation_ : "", function.register_name(operand.reg),
        operand.component >= 0 && operand.component < isa::kHalfList ? components[operand.component] : "");
    if (operand.component >= isa::kHalfList) // the digits after their 1
      put(".{}{}", operand.component == isa::kHalfList ? 'h' : 'b',
          fmt::format("{:x}", operand.bits).substr(1));
    if (operand.offset != 0)
      put("+{}", operand.offset);
    break;
  case OperandKind::imm:
    print_immediate(operand);
    break;
  case OperandKind::sreg:
    out_ += isa::to_string(operand.sreg);
    break;
  case OperandKind::symbol:
    out_ += name_of(operand, function, module_);
    if (operand.offset != 0)
      put("+{}", operand.offset);
    break;
  case OperandKind::function:
  case OperandKind::label:
  case OperandKind::proto:
  case OperandKind::targets:
    out_ += name_of(operand, function, module_);
    break;
  case OperandKind::vector:
    if (operand.sreg != isa::SpecialRegister::none) { // %tid of %tid.x
      const std::string_view first = isa::to_string(operand.sreg);
      out_ += first.substr(0, first.rfind('.'));
      break;
    }
    out_ += '{';
    print_list(operand.elems, function);
    out_ += '}';
    break;
  case OperandKind::pair:
    print_operand(operand.elems[0], function);
    out_ += '|';
    print_operand(operand.elems[1], function);
    break;
  case OperandKind::address:
    out_ += '[';
    print_operand(operand.elems[0], function);
    if (operand.offset != 0)
      put("+{}", operand.offset);
    for (size_t i = 1; i < operand.elems.size(); ++i) {
      out_ += ", ";
      print_operand(operand.elems[i], function);
    }
    out_ += ']';
    break;
  case OperandKind::sink:
    out_ += '_';
    break;
  }
}

} // namespace

std::string print(const Module& module) {
  return Printer(module).print_module();
}

std::string print(const Instruction& instruction, const Function& function, const Module& module) {
  Printer printer(module);
  printer.print_instruction(instruction, function);
  return printer.take();
}

} // namespace lemma::ptx
