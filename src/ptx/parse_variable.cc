// Declarations of variables and registers, and initializers.
// PTX ISA: "State Spaces", "Variables", "Initializers", "Alignment".
// Tests: tests/unit/ptx/module_test.cc.
#include "ptx/parser_impl.h"
#include "support/edit_distance.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lemma::ptx {
namespace {

constexpr uint64_t kRegistersOfFunction = 1'000'000;
constexpr uint64_t kNameBytesOfRegister = 16;
constexpr uint64_t kRegistersPerVariable = 16; // in memory
constexpr size_t kMostDimensions = 32;
constexpr uint64_t kLargestAlignment = uint64_t{1} << 31;

std::optional<Linkage> parse_linkage(std::string_view word) {
  if (word == ".visible")
    return Linkage::visible;
  if (word == ".extern")
    return Linkage::extern_;
  if (word == ".weak")
    return Linkage::weak;
  if (word == ".common")
    return Linkage::common;
  return std::nullopt;
}

// Elements of a `{ }` at each depth: dimensions, then the vector's length.
std::vector<uint64_t> initializer_shape(const Variable& variable) {
  std::vector<uint64_t> shape = variable.dims;
  if (variable.vector_elems > 1)
    shape.push_back(static_cast<uint64_t>(variable.vector_elems));
  return shape;
}

// Untyped elements take any constant; no floating type but f32 and f64 has an initial value.
bool fits_element(Constant constant, Type type) {
  if (isa::kind_of(type) == isa::TypeKind::untyped)
    return true;
  return isa::is_float(type) ? !constant.is_integer() && (type == Type::f32 || type == Type::f64)
                             : constant.is_integer();
}

} // namespace

// .extern .global .attribute(.managed) .align 8 .v4 .f32; stops behind the type, or before .entry and .func.
bool Parser::parse_declarator(Declarator& out) {
  out.begin = token_.begin;
  while (at(TokenKind::dot_word)) {
    const std::string_view word = text(token_);
    if ((word == ".entry" || word == ".func") && out.space == StateSpace::generic)
      return true;
    if (word == ".align") {
      if (!parse_align(out.align))
        return false;
    } else if (word == ".attribute") {
      if (!parse_attributes(out.attributes, isa::kVariable))
        return false;
    } else if (const auto linkage = parse_linkage(word); linkage && out.space == StateSpace::generic) {
      if (out.linkage != Linkage::none) {
        error("syntax", token_.range(), fmt::format("'{}' after another linkage", word));
        return false;
      }
      out.linkage = *linkage;
      use(isa::Directive::Kind::word, word, isa::kVariable, token_.range());
      advance();
    } else if (const auto space = isa::parse_state_space(word.substr(1));
               space && out.space == StateSpace::generic) {
      out.space = *space;
      use(isa::Directive::Kind::word, word, isa::kVariable, token_.range());
      advance();
    } else if (word == ".v2" || word == ".v4" || word == ".v8") {
      out.vector_elems = word[2] - '0';
      advance();
    } else if (const auto type = isa::parse_type(word.substr(1)); type && out.space != StateSpace::generic) {
      out.type = *type;
      advance();
      return true;
    } else {
      unknown_declarator_word(out);
      return false;
    }
  }
  return unexpected(out.space == StateSpace::generic ? "a state space" : "a type", "in the declaration");
}

void Parser::unknown_declarator_word(const Declarator& declarator) {
  bool is_type = false;
  for (int t = 1; t < isa::kTypeCount && declarator.space != StateSpace::generic; ++t)
    is_type |= lemma::is_misspelt(text(token_).substr(1), isa::to_string(static_cast<Type>(t)), 2);
  not_understood_ = false;
  unknown_directive({".visible", ".extern", ".weak", ".common", ".entry", ".func", ".global", ".const",
                     ".shared", ".local", ".param", ".reg", ".align", ".attribute", ".file", ".section",
                     ".pragma", ".alias"},
                    !is_type);
  module_->lost_declaration |= not_understood_;
}

bool Parser::parse_align(uint32_t& out) {
  advance();
  const SourceRange range = token_.range();
  uint64_t align = 0;
  if (!parse_number(align, kLargestAlignment, "the alignment"))
    return false;
  if (!std::has_single_bit(align)) {
    error("alignment", range, fmt::format("an alignment is a power of two, not {}", align));
    return false;
  }
  out = static_cast<uint32_t>(align);
  return true;
}

// .attribute(.managed), .attribute(.unified(19, 95))
bool Parser::parse_attributes(std::vector<std::string>& out, isa::DirectivePlace place) {
  advance();
  if (!expect(TokenKind::lparen, "after '.attribute'"))
    return false;
  do {
    if (!at_word(".managed") && !at_word(".unified"))
      return unexpected("'.managed' or '.unified'", "as an attribute");
    std::string attribute(text(token_));
    use(isa::Directive::Kind::word, attribute, place, token_.range());
    advance();
    if (attribute == ".unified") {
      uint64_t id[2] = {};
      if (!expect(TokenKind::lparen, "after '.unified'") || !parse_number(id[0], UINT64_MAX, "the id") ||
          !expect(TokenKind::comma, "between the halves of the id") ||
          !parse_number(id[1], UINT64_MAX, "the id") || !expect(TokenKind::rparen, "after the id"))
        return false;
      attribute += fmt::format("({}, {})", id[0], id[1]);
    }
    out.push_back(std::move(attribute));
  } while (accept(TokenKind::comma));
  return expect(TokenKind::rparen, "after the attributes");
}

// a, b[4], c = 5;
bool Parser::parse_variables(const Declarator& declarator) {
  do {
    Variable variable;
    variable.space = declarator.space;
    variable.type = declarator.type;
    variable.vector_elems = declarator.vector_elems;
    variable.align = declarator.align;
    variable.linkage = declarator.linkage;
    variable.attributes = declarator.attributes;
    Token name;
    if (!expect_name(name, "a variable"))
      return false;
    variable.name = text(name);
    std::optional<uint64_t> count;
    if (at(TokenKind::less) ? !parse_count_of_names(count) : !parse_dimensions(variable))
      return false;
    if (at(TokenKind::equal) && !count && !parse_initializer(variable))
      return false;
    variable.range = since(declarator.begin);
    if (!finish_layout(variable) || !check_declaration(variable) || !declare_variables(variable, name, count))
      return false;
  } while (accept(TokenKind::comma));
  return expect_semicolon("the declaration");
}

// [3][], []: literals only. A first dimension may be left open.
bool Parser::parse_dimensions(Variable& variable) {
  while (at(TokenKind::lbracket)) {
    advance();
    uint64_t extent = 0;
    if (at(TokenKind::rbracket)) {
      if (variable.is_array) {
        error("array", token_.range(), "only the first dimension may be left open");
        return false;
      }
    } else if (!parse_number(extent, UINT64_MAX, "the dimension")) {
      return false;
    }
    if (!expect(TokenKind::rbracket, "after the dimension"))
      return false;
    if (variable.dims.size() == kMostDimensions) {
      error("limit", token_.range(), fmt::format("more than {} dimensions", kMostDimensions));
      return false;
    }
    variable.is_array = true;
    variable.dims.push_back(extent);
  }
  return true;
}

// Alignment, if not given, is that of the element; a size beyond 64 bits is an error.
bool Parser::finish_layout(Variable& variable) {
  const uint64_t element = static_cast<uint64_t>(isa::bytes_of(variable.type)) * variable.vector_elems;
  if (variable.align == 0)
    variable.align = static_cast<uint32_t>(element);
  variable.size_bytes = element;
  for (const uint64_t extent : variable.dims) {
    if (extent != 0 && variable.size_bytes > UINT64_MAX / extent) {
      error("limit", variable.range, fmt::format("the size of '{}' does not fit 64 bits", variable.name));
      return false;
    }
    variable.size_bytes *= extent;
  }
  return true;
}

bool Parser::parse_initializer(Variable& variable) {
  advance();
  if (isa::kind_of(variable.type) == isa::TypeKind::opaque)
    return parse_opaque_initializer(variable);
  const std::vector<uint64_t> shape = initializer_shape(variable);
  if (shape.empty())
    return parse_init_value(variable);
  if (!at(TokenKind::lbrace))
    return unexpected("'{'", "before the values of an array or vector");
  return parse_initializer_level(variable, shape, 0, 0);
}

// The braces of depth `level`, whose first value is element `base` of the whole.
bool Parser::parse_initializer_level(Variable& variable, const std::vector<uint64_t>& shape, size_t level,
                                     uint64_t base) {
  const SourceRange brace = token_.range();
  if (!expect(TokenKind::lbrace, "before the values of an inner dimension"))
    return false;
  ++open_braces_;
  uint64_t stride = 1; // elements under one item of this level
  for (size_t i = level + 1; i < shape.size(); ++i) {
    if (shape[i] != 0 && stride > UINT64_MAX / shape[i]) {
      error("limit", brace, "the initialized array is too large");
      return false;
    }
    stride *= shape[i];
  }
  const bool open = level == 0 && variable.is_array && shape[0] == 0;
  const bool vector = variable.vector_elems > 1 && level + 1 == shape.size();
  uint64_t count = 0;
  while (!at(TokenKind::rbrace)) {
    if (!open && count == shape[level]) {
      error("initializer", token_.range(),
            fmt::format("more than the {} values that belong here", shape[level]));
      return false;
    }
    const uint64_t position = base + count * stride;
    const uint64_t padding = position - variable.init.size();
    if (padding > init_padding_left_ || position < base) {
      error("limit", brace, "the initializer leaves out too many elements");
      return false;
    }
    init_padding_left_ -= padding;
    if (!take_memory(padding * sizeof(InitValue)))
      return false;
    variable.init.resize(position);
    const bool good = level + 1 < shape.size() ? parse_initializer_level(variable, shape, level + 1, position)
                                               : parse_init_value(variable);
    if (!good)
      return false;
    ++count;
    if (!accept(TokenKind::comma))
      break;
    if (at(TokenKind::rbrace))
      return unexpected("a value", "after ','");
  }
  if (vector && count != shape[level] && at(TokenKind::rbrace)) {
    error("initializer", token_.range(),
          fmt::format("a vector takes {} values, not {}", shape[level], count));
    return false;
  }
  if (open)
    variable.dims[0] = count;
  if (!expect(TokenKind::rbrace, "after the values"))
    return false;
  --open_braces_;
  return true;
}

// A constant, symbol, symbol+4, generic(symbol)+4, 0xFF00(symbol) or 0xFF00(generic(symbol)+4).
bool Parser::parse_init_value(Variable& variable) {
  InitValue value;
  const Token first = token_;
  if (at(TokenKind::identifier) && text(first) != "WARP_SZ") {
    if (!parse_init_symbol(value) || !check_address_element(value, variable.type, since(first.begin)))
      return false;
  } else {
    Constant constant;
    if (!parse_expression(constant))
      return false;
    if (at(TokenKind::lparen)) { // the constant was a mask
      const int shift = std::countr_zero(constant.bits);
      if (!constant.is_integer() || shift % 8 != 0 || constant.bits != uint64_t{0xFF} << (shift & 63)) {
        error("initializer", since(first.begin),
              "a mask selects one byte: 0xFF, 0xFF00, ... 0xFF00000000000000");
        return false;
      }
      value.mask_shift = static_cast<uint8_t>(shift);
      use(isa::Directive::Kind::part, "a part of an address as initializer", isa::kVariable, token_.range());
      advance();
      if (!parse_init_symbol(value) || !expect(TokenKind::rparen, "after the masked symbol") ||
          !check_address_element(value, variable.type, since(first.begin)))
        return false;
    } else {
      if (!fits_element(constant, variable.type)) {
        error("initializer", since(first.begin),
              fmt::format("a .{} variable takes no {} constant", isa::to_string(variable.type),
                          constant.is_integer() ? "integer" : "floating-point"));
        return false;
      }
      value.bits = element_bits(constant, variable.type);
    }
  }
  value.range = since(first.begin);
  variable.init.push_back(std::move(value));
  return take_memory(kRoomToGrow * sizeof(InitValue));
}

bool Parser::check_address_element(const InitValue& value, Type type, SourceRange range) {
  const bool masked = value.mask_shift < 64;
  if (type == Type::u32 || type == Type::u64 || (type == Type::u8 && masked))
    return true;
  Diagnostic& diagnostic =
      error("initializer", range, fmt::format("a .{} variable holds no address", isa::to_string(type)));
  diagnostic.notes.push_back({"legal", ".u32 and .u64; .u8 for one byte of an address, 0xFF00(symbol)"});
  return false;
}

bool Parser::parse_init_symbol(InitValue& value) {
  Token name;
  if (!expect_name(name, "a symbol"))
    return false;
  value.generic = text(name) == "generic" && at(TokenKind::lparen);
  if (value.generic) {
    advance();
    if (!expect_name(name, "a symbol"))
      return false;
  }
  if (!check_init_symbol(name, value))
    return false;
  const auto symbol = symbols_.find(text(name));
  const bool is_function = symbol != symbols_.end() && symbol->second.is_function;
  use(isa::Directive::Kind::part, is_function ? "a function as initializer" : "an address as initializer",
      isa::kVariable, name.range());
  if (value.generic)
    use(isa::Directive::Kind::part, "generic() in an initializer", isa::kVariable, name.range());
  if (value.generic && !expect(TokenKind::rparen, "after the symbol"))
    return false;
  return parse_offset(value.addend);
}

// Variables of the enclosing function and the module, and functions.
bool Parser::check_init_symbol(const Token& name, InitValue& value) {
  value.symbol = text(name);
  Binding binding;
  if (body_ && body_->names.find(text(name), binding)) {
    if (binding.kind == Binding::Kind::variable)
      return true;
    error("initializer", name.range(), fmt::format("'{}' has no address", value.symbol));
    return false;
  }
  if (symbols_.contains(text(name)))
    return true;
  report_unknown_name(name, "symbol");
  return false;
}

// { addr_mode_0 = wrap, filter_mode = nearest } of a sampler: kept as text.
bool Parser::parse_opaque_initializer(Variable& variable) {
  if (!at(TokenKind::lbrace))
    return unexpected("'{'", "before the fields of an opaque variable");
  const uint32_t begin = token_.begin;
  skip_block();
  variable.opaque_init = text_.substr(begin, last_end_ - begin);
  return true;
}

// <N> of name<N>, which declares name0 .. name<N - 1>.
bool Parser::parse_count_of_names(std::optional<uint64_t>& count) {
  advance();
  uint64_t number = 0;
  if (!parse_number(number, kRegistersOfFunction, "the number of names") ||
      !expect(TokenKind::greater, "after the number of names"))
    return false;
  count = number;
  return true;
}

bool Parser::check_declaration(const Variable& variable) {
  const bool has_value = !variable.init.empty() || !variable.opaque_init.empty();
  const bool keeps_value = variable.space == StateSpace::global || variable.space == StateSpace::const_;
  if (has_value && (!keeps_value || variable.linkage == Linkage::extern_)) {
    error("initializer", variable.range,
          keeps_value ? "an .extern variable is initialized where it is defined"
                      : fmt::format("a .{} variable has no initial value", isa::to_string(variable.space)));
    return false;
  }
  if (!variable.attributes.empty() && variable.space != StateSpace::global) {
    error("attribute", variable.range, "only .global variables have attributes");
    return false;
  }
  return true;
}

bool Parser::declare_variables(const Variable& variable, const Token& name, std::optional<uint64_t> count) {
  if (!count)
    return declare_variable(variable, text(name), name.range());
  const uint64_t cost = *count * (kRegistersPerVariable + (name.end - name.begin) / kNameBytesOfRegister);
  if (cost > registers_left_) {
    error("limit", name.range(), "too many variables in one module");
    return false;
  }
  registers_left_ -= cost;
  for (uint64_t i = 0; i < *count; ++i) {
    Variable one = variable;
    one.name = fmt::format("{}{}", text(name), i);
    made_names_.push_back(one.name);
    if (!declare_variable(std::move(one), made_names_.back(), name.range()))
      return false;
  }
  return true;
}

// `name` outlives the parser's tables: it stands in the text or in made_names_.
bool Parser::declare_variable(Variable variable, std::string_view name, SourceRange range) {
  if (!take_memory(kRoomToGrow * sizeof(Variable) + kBytesOfName + name.size()))
    return false;
  if (!body_)
    return declare_module_variable(std::move(variable), name, range);
  Function& function = body_->function;
  if (!body_->names.declare(name, Binding::Kind::variable,
                            static_cast<uint32_t>(function.variables.size()))) {
    error("duplicate", range, fmt::format("'{}' is declared already in this scope", name));
    return false;
  }
  variable.scope = scope();
  variable.position = here();
  function.variables.push_back(std::move(variable));
  return true;
}

// An .extern declaration and a definition, in either order, are one variable.
bool Parser::declare_module_variable(Variable variable, std::string_view name, SourceRange range) {
  const auto index = static_cast<uint32_t>(module_->variables.size());
  const auto [it, fresh] = symbols_.try_emplace(name, ModuleSymbol{false, index});
  if (fresh) {
    module_->variables.push_back(std::move(variable));
    return true;
  }
  if (it->second.is_function) {
    error("duplicate", range, fmt::format("'{}' is a function already", name));
    return false;
  }
  Variable& known = module_->variables[it->second.index];
  if (known.linkage != Linkage::extern_ && variable.linkage != Linkage::extern_) {
    error("duplicate", range, fmt::format("'{}' is defined already", name));
    return false;
  }
  if (known.type != variable.type || known.vector_elems != variable.vector_elems ||
      known.space != variable.space || known.dims.size() != variable.dims.size()) {
    error("duplicate", range, fmt::format("'{}' was declared with another type", name));
    return false;
  }
  if (known.linkage == Linkage::extern_)
    known = std::move(variable);
  return true;
}

// .reg .pred p, %q<10>;
bool Parser::parse_registers(const Declarator& declarator) {
  do {
    Token name;
    if (!expect_name(name, "a register"))
      return false;
    std::optional<uint64_t> count;
    if (at(TokenKind::less) && !parse_count_of_names(count))
      return false;
    if (!add_registers(declarator, name, count))
      return false;
  } while (accept(TokenKind::comma));
  return expect_semicolon("the declaration");
}

// .reg and .local at module scope: declared as in a body of nobody's.
bool Parser::parse_thread_variables(const Declarator& declarator) {
  if (!thread_) {
    thread_ = std::make_unique<Body>();
    thread_->names.open_scope(kNone); // around that of a body, which is 0
    thread_->open.push_back({});
  }
  body_ = std::move(thread_);
  const bool good =
      declarator.space == StateSpace::reg ? parse_registers(declarator) : parse_variables(declarator);
  thread_ = std::move(body_);
  module_->thread_variables = thread_->function;
  return good;
}

// The body that begins has them, in a scope around its own.
bool Parser::take_thread_variables() {
  if (!thread_)
    return true;
  const Function& from = thread_->function;
  const size_t count = from.registers.size() + from.variables.size();
  if (count > registers_left_) {
    error("limit", token_.range(), "too many registers in one module");
    return false;
  }
  registers_left_ -= count;
  if (!take_memory(count * (sizeof(Register) + sizeof(Variable))))
    return false;
  Function& function = body_->function;
  body_->names = thread_->names;
  function.register_stems = from.register_stems;
  function.registers = from.registers;
  function.variables = from.variables;
  function.thread_registers = static_cast<uint32_t>(from.registers.size());
  function.thread_variables = static_cast<uint32_t>(from.variables.size());
  return true;
}

bool Parser::add_registers(const Declarator& declarator, const Token& name, std::optional<uint64_t> count) {
  Function& function = body_->function;
  const auto first = static_cast<uint32_t>(function.registers.size());
  const uint64_t number = count.value_or(1);
  if (first + number > kRegistersOfFunction) {
    error("limit", name.range(), fmt::format("more than {} registers in one function", kRegistersOfFunction));
    return false;
  }
  const uint64_t cost = number + (name.end - name.begin) / kNameBytesOfRegister; // long names are memory, too
  if (cost > registers_left_) {
    error("limit", name.range(), "too many registers in one module");
    return false;
  }
  registers_left_ -= cost;
  if (!take_memory(number * kRoomToGrow * sizeof(Register) + (name.end - name.begin) + kBytesOfName))
    return false;
  const bool fresh = count ? body_->names.declare_range(text(name), static_cast<uint32_t>(number), first)
                           : body_->names.declare(text(name), Binding::Kind::reg, first);
  if (!fresh) {
    error("duplicate", name.range(), fmt::format("'{}' is declared already in this scope", text(name)));
    return false;
  }
  const Register reg{.stem = static_cast<uint32_t>(function.register_stems.size()),
                     .type = declarator.type,
                     .vector_elems = static_cast<uint8_t>(declarator.vector_elems),
                     .scope = scope(),
                     .position = here()};
  function.register_stems.emplace_back(text(name));
  function.registers.insert(function.registers.end(), number, reg);
  for (uint32_t i = 0; count && i < number; ++i)
    function.registers[first + i].number = i;
  return true;
}

} // namespace lemma::ptx
