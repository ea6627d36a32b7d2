// Instructions: guards, opcodes, operands, and constant expressions.
// PTX ISA: "Instruction Operands", "Instruction Statements", "Constant Expressions".
// Tests: tests/unit/ptx/operand_test.cc.
#include "isa/effects.h"
#include "ptx/parser_impl.h"
#include "ptx/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace lemma::ptx {
namespace {

constexpr int kDeepestExpression = 200;
constexpr int kDeepestOperand = 8;
constexpr size_t kMostOperands = 64;
constexpr size_t kMostElements = 8192; // of all vectors, addresses and argument lists of one instruction
constexpr uint64_t kBytesOfBinding = sizeof(isa::Binding) + 64; // with its words

constexpr std::string_view kSpecialRegisters[] = {
#define SREG(name, spelling, type, major, minor, targets) spelling,
#include "isa/special_registers.def"
#undef SREG
};
// Without their components: %tid.
std::vector<std::string_view> special_registers() {
  std::vector<std::string_view> names;
  for (const std::string_view spelling : kSpecialRegisters)
    names.push_back(spelling.substr(0, spelling.find('.')));
  return names;
}

constexpr std::string_view kComponents[] = {".x", ".y", ".z", ".w", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
constexpr std::string_view kColours[] = {".r", ".g", ".b", ".a"};

} // namespace

// --- instructions ---

// One that is not understood stays, without operands, so that whoever reaches it can say so.
bool Parser::parse_instruction() {
  const uint32_t begin = token_.begin;
  Instruction instruction;
  not_understood_ = false;
  if (parse_instruction_into(instruction))
    return true;
  if (!not_understood_ || stopped_)
    return false;
  recover_in_body();
  Instruction unknown;
  unknown.guard = instruction.guard;
  unknown.range = since(begin);
  body_->function.unknown_instructions.emplace(here(), source_->slice(unknown.range));
  return keep_instruction(std::move(unknown));
}

bool Parser::keep_instruction(Instruction instruction) {
  instruction.location = body_->location;
  instruction.scope = scope();
  body_->function.instructions.push_back(std::move(instruction));
  return take_memory(kRoomToGrow * sizeof(Instruction) + operand_bytes_);
}

bool Parser::parse_instruction_into(Instruction& instruction) {
  const uint32_t begin = token_.begin;
  operand_bytes_ = 0;
  if (at(TokenKind::at) && !parse_guard(instruction.guard))
    return false;
  const isa::Match* match = nullptr;
  if (!parse_opcode(match))
    return false;
  assert(match);
  instruction.opcode = match->opcode;
  instruction.binding = &match->bindings.front();
  form_ = match->bindings.front().form;
  elements_ = 0;
  operands_.clear();
  const uint32_t number = here();
  bool good = true;
  if (isa::effects_of(instruction.opcode).has(isa::effect::calls))
    good = parse_call_operands(instruction);
  else if (!form_->operands.empty() && form_->operands[0].kind == isa::OperandSpec::Kind::label)
    good = parse_branch_target(instruction);
  else if (!at(TokenKind::semicolon) && !at(TokenKind::rbrace)) // ret }: only the semicolon is missing
    good = parse_operands(instruction);
  if (!good) {
    while (!body_->pending.empty() && body_->pending.back().instruction == number)
      body_->pending.pop_back();
    return false;
  }
  const bool ended = expect_semicolon("the instruction");
  unwrap_single_elements(instruction);
  shapes_of(instruction, body_->function, *module_, shapes_);
  const isa::Choice choice = isa::choose(*match, shapes_);
  instruction.binding = choice.binding;
  instruction.fits = choice.fits;
  if (!match->warnings.empty())
    warn_about_order(*match, *choice.binding);
  instruction.range = since(begin);
  return keep_instruction(std::move(instruction)) && ended;
}

// @p, @!p
bool Parser::parse_guard(Guard& guard) {
  advance();
  guard.negated = accept(TokenKind::exclaim);
  Token name;
  if (!expect_name(name, "a predicate"))
    return false;
  Binding binding;
  if (!body_->names.find(text(name), binding)) {
    report_unknown_name(name, "predicate");
    return false;
  }
  if (binding.kind != Binding::Kind::reg || body_->function.registers[binding.index].type != Type::pred) {
    error("guard", name.range(), fmt::format("'{}' is no predicate register", text(name)));
    return false;
  }
  guard.reg = binding.index;
  return true;
}

// The dotted words of an instruction. They usually stand together; where white space divides them, `joined_`
// holds the spelling without it, and messages point at the whole.
bool Parser::parse_opcode(const isa::Match*& match) {
  if (!at(TokenKind::identifier))
    return unexpected("an opcode", "after the guard");
  const uint32_t begin = token_.begin;
  bool together = true;
  advance();
  while (at(TokenKind::dot_word)) {
    if (together && token_.begin != last_end_)
      joined_ = source_->slice(since(begin));
    together &= token_.begin == last_end_;
    if (!together)
      joined_ += text(token_);
    advance();
  }
  const SourceRange range = since(begin);
  Diagnostic fault;
  const size_t spellings = matches_->size();
  const std::string_view spelling = together ? source_->slice(range) : std::string_view(joined_);
  if (unknown_.contains(spelling)) { // said already
    not_understood_ = true;
    return false;
  }
  bool later = false;
  match = matches_->find(spelling, begin, fault, is_newer() ? &later : nullptr);
  if (!match) {
    Diagnostic& diagnostic =
        unknown(fault.id, together ? fault.range : range, std::move(fault.message), later);
    diagnostic.notes.insert(diagnostic.notes.begin(), fault.notes.begin(), fault.notes.end());
    if (not_understood_)
      unknown_.emplace(spelling);
    return false;
  }
  opcode_range_ = range;
  opcode_is_together_ = together;
  return matches_->size() == spellings ||
         take_memory(kBytesOfName + match->bindings.size() * kBytesOfBinding);
}

// Where a spelling occurs first; the repair is of all places.
void Parser::warn_about_order(const isa::Match& match, const isa::Binding& binding) {
  std::string spelling = isa::spelling_of(binding);
  if (source_->slice(opcode_range_) == spelling)
    return; // another form's order is not this one's
  const auto [known, fresh] = order_warnings_.try_emplace(&match, diagnostics_.size());
  if (fresh) {
    Diagnostic warning = match.warnings.front();
    warning.range = opcode_is_together_ ? SourceRange{warning.range.begin + opcode_range_.begin,
                                                      warning.range.end + opcode_range_.begin}
                                        : opcode_range_;
    if (!warn(std::move(warning)))
      known->second = SIZE_MAX;
  }
  if (known->second == SIZE_MAX)
    return;
  std::vector<Replacement>& repairs = diagnostics_[known->second].repairs;
  take_memory(kRoomToGrow * sizeof(Replacement) + spelling.size());
  repairs.push_back({opcode_range_, std::move(spelling)});
}

// ld.global.b32 {%r1}, [%rd1]: Triton writes vectors of one element, which mean the element.
void Parser::unwrap_single_elements(Instruction& instruction) {
  const isa::Effects does = isa::effects_of(instruction.opcode);
  const bool moves_bits =
      does.has(isa::effect::moves) && isa::kind_of(instruction.type()) == isa::TypeKind::untyped;
  if (!is_load(does) && !is_store(does) && !moves_bits)
    return;
  for (const Qual vector : {Qual::v2, Qual::v4, Qual::v8})
    if (instruction.has(vector))
      return;
  for (Operand& operand : instruction.operands)
    if (operand.kind == OperandKind::vector && operand.elems.size() == 1 &&
        operand.elems[0].kind != OperandKind::sink) {
      Operand element = std::move(operand.elems[0]);
      operand = std::move(element);
    }
}

// Those read since the stack had `first`.
Operands Parser::take_operands(size_t first) {
  Operands out = Operands::taken_from(std::span(operands_).subspan(first));
  operands_.resize(first);
  operand_bytes_ += Operands::memory_bytes(out.size());
  return out;
}

bool Parser::parse_operands(Instruction& instruction) {
  do {
    if (operands_.size() == kMostOperands) {
      error("limit", token_.range(), fmt::format("more than {} operands", kMostOperands));
      return false;
    }
    if (!push_operand(0))
      return false;
  } while (accept(TokenKind::comma));
  instruction.operands = take_operands(0);
  return true;
}

bool Parser::parse_branch_target(Instruction& instruction) {
  Token name;
  if (!expect_name(name, "a label"))
    return false;
  Operand label;
  label.kind = OperandKind::label;
  label.range = name.range();
  operands_.push_back(std::move(label));
  instruction.operands = take_operands(0);
  body_->pending.push_back({text(name), name.range(), here(), kNone, 0});
  return true;
}

// [(ret),] callee [, (args)] [, prototype]
bool Parser::parse_call_operands(Instruction& instruction) {
  Operand callee, returned, arguments, prototype;
  returned.kind = arguments.kind = OperandKind::vector;
  if (!parse_call_parts(callee, returned, arguments, prototype))
    return false;
  for (Operand* part : {&callee, &returned, &arguments, &prototype})
    if (part->kind != OperandKind::none)
      operands_.push_back(std::move(*part));
  instruction.operands = take_operands(0);
  return true;
}

bool Parser::parse_call_parts(Operand& callee, Operand& returned, Operand& arguments, Operand& prototype) {
  if (at(TokenKind::lparen) &&
      (!parse_call_list(returned) || !expect(TokenKind::comma, "after the returned values")))
    return false;
  if (!at(TokenKind::identifier))
    return unexpected("a function or a register", "as the callee");
  const Token name = token_;
  advance();
  if (!resolve(name, callee))
    return false;
  if (callee.kind != OperandKind::function && callee.kind != OperandKind::reg) {
    error("call", name.range(), fmt::format("'{}' is neither a function nor a register", text(name)));
    return false;
  }
  if (!accept(TokenKind::comma))
    return true;
  if (at(TokenKind::lparen)) {
    if (!parse_call_list(arguments))
      return false;
    if (!accept(TokenKind::comma))
      return true;
  }
  const Token proto_name = token_;
  if (!at(TokenKind::identifier))
    return unexpected("a prototype or a list of targets", "after the arguments");
  advance();
  if (!resolve(proto_name, prototype))
    return false;
  if (prototype.kind != OperandKind::proto && prototype.kind != OperandKind::targets) {
    error("call", proto_name.range(),
          fmt::format("'{}' is no prototype and no list of targets", text(proto_name)));
    return false;
  }
  return true;
}

bool Parser::parse_call_list(Operand& out) {
  const uint32_t begin = token_.begin;
  const size_t first = operands_.size();
  advance();
  if (!at(TokenKind::rparen)) {
    do {
      if (!count_element() || !push_operand(kDeepestOperand))
        return false;
    } while (accept(TokenKind::comma));
  }
  if (!expect(TokenKind::rparen, "after the arguments"))
    return false;
  out.elems = take_operands(first);
  out.range = since(begin);
  return true;
}

// --- operands ---

// Onto the stack of what the current lists have.
bool Parser::push_operand(int depth) {
  Operand operand;
  if (!parse_operand(operand, depth))
    return false;
  operands_.push_back(std::move(operand));
  return true;
}

bool Parser::parse_operand(Operand& out, int depth) {
  const uint32_t begin = token_.begin;
  bool good = false;
  if (at(TokenKind::lbrace)) {
    good = parse_vector(out, depth) && (!at(TokenKind::pipe) || parse_pair(out));
  } else if (at(TokenKind::lbracket)) {
    good = parse_address(out, depth);
  } else if (at(TokenKind::exclaim)) {
    if (next_is_register()) {
      advance();
      good = parse_identifier_operand(out);
      out.negated = true;
      const bool is_number =
          good && out.kind == OperandKind::reg && body_->function.registers[out.reg].type != Type::pred;
      if (good && (out.kind != OperandKind::reg || (is_number && negates_numbers(*form_)))) {
        error("operand", since(begin), "'!' negates a predicate register");
        return false;
      }
    } else {
      good = parse_immediate(out);
    }
  } else if (at(TokenKind::minus) && negates_numbers(*form_) && next_is_register()) {
    advance();
    good = parse_identifier_operand(out);
    out.negated = true;
  } else if (at(TokenKind::identifier) && text(token_) != "WARP_SZ") {
    good = parse_identifier_operand(out) && (!at(TokenKind::pipe) || parse_pair(out));
  } else {
    good = parse_immediate(out);
  }
  out.range = since(begin);
  return good;
}

// Behind a sign: a name other than WARP_SZ.
bool Parser::next_is_register() const {
  Lexer ahead = lexer_;
  const Token next = ahead.next();
  return next.kind == TokenKind::identifier && text(next) != "WARP_SZ";
}

// d|p behind d, a vector of tex and its kin.
bool Parser::parse_pair(Operand& out) {
  if (out.kind != OperandKind::reg && out.kind != OperandKind::sink && out.kind != OperandKind::vector)
    return unexpected("','", "after the operand");
  advance();
  Operand second;
  const uint32_t begin = token_.begin;
  if (!at(TokenKind::identifier))
    return unexpected("a register", "after '|'");
  if (!parse_identifier_operand(second))
    return false;
  second.range = since(begin);
  if (second.kind != OperandKind::reg && second.kind != OperandKind::sink) {
    error("operand", second.range, "a register or '_' stands after '|'");
    return false;
  }
  Operand pair;
  pair.kind = OperandKind::pair;
  out.range = {out.range.begin, begin};
  const size_t first = operands_.size();
  operands_.push_back(std::move(out));
  operands_.push_back(std::move(second));
  pair.elems = take_operands(first);
  out = std::move(pair);
  return true;
}

bool Parser::count_element() {
  if (++elements_ <= kMostElements)
    return true;
  error("limit", token_.range(), fmt::format("more than {} elements in one instruction", kMostElements));
  return false;
}

bool Parser::parse_vector(Operand& out, int depth) {
  const SourceRange brace = token_.range();
  advance();
  ++open_braces_;
  if (depth >= kDeepestOperand) {
    error("syntax", brace, "a vector cannot stand here");
    return false;
  }
  out.kind = OperandKind::vector;
  const size_t first = operands_.size();
  do {
    if (!count_element() || !push_operand(depth + 1))
      return false;
  } while (accept(TokenKind::comma));
  if (!expect(TokenKind::rbrace, "after the vector"))
    return false;
  out.elems = take_operands(first);
  --open_braces_;
  return true;
}

// [base + offset, parts...]
bool Parser::parse_address(Operand& out, int depth) {
  if (depth >= kDeepestOperand) {
    error("syntax", token_.range(), "an address cannot stand here");
    return false;
  }
  advance();
  out.kind = OperandKind::address;
  Operand base;
  if (!parse_operand(base, kDeepestOperand))
    return false;
  if (base.kind != OperandKind::reg && base.kind != OperandKind::symbol && base.kind != OperandKind::imm) {
    error("address", base.range, "an address is a register, a variable or an integer");
    return false;
  }
  out.offset = std::exchange(base.offset, 0);
  if (at(TokenKind::minus)) {
    Diagnostic& diagnostic = error("address", token_.range(), "an offset is added");
    diagnostic.notes.push_back({"legal", "[base+-4]"});
    diagnostic.repairs.push_back({token_.range(), "+-"});
    return false;
  }
  const size_t first = operands_.size();
  operands_.push_back(std::move(base));
  while (accept(TokenKind::comma))
    if (!count_element() || !push_operand(depth + 1))
      return false;
  out.elems = take_operands(first);
  return expect(TokenKind::rbracket, "after the address");
}

// A register with its component or with a constant to be added, a special register, `_`, a symbol with its
// offset, a function.
bool Parser::parse_identifier_operand(Operand& out) {
  const Token name = token_;
  if (text(name) == "_") {
    advance();
    out.kind = OperandKind::sink;
    return true;
  }
  advance();
  if (!resolve(name, out))
    return false;
  switch (out.kind) {
  case OperandKind::reg:
    return parse_component(out) && parse_offset(out.offset);
  case OperandKind::symbol:
    if (at(TokenKind::lbracket))
      return parse_array_element(out);
    return parse_offset(out.offset);
  default:
    return true;
  }
}

// name[2]: what ld and st access, the address of the element for others. The index counts elements.
bool Parser::parse_array_element(Operand& out) {
  const uint32_t begin = token_.begin;
  advance();
  if (at(TokenKind::identifier) && text(token_) != "WARP_SZ") {
    error("array-index", token_.range(), "an index in a register is not supported: compute the address")
        .severity = Severity::unsupported;
    not_understood_ = true;
    return false;
  }
  uint64_t index = 0;
  if (!parse_integer_expression(index, "an index") || !expect(TokenKind::rbracket, "after the index"))
    return false;
  const Variable* variable = variable_of(out, body_->function, *module_);
  if (!variable->is_array || variable->dims.size() != 1) {
    error("array-index", since(begin), fmt::format("'{}' is no array of one dimension", variable->name));
    return false;
  }
  const uint64_t element_bytes =
      static_cast<uint64_t>(isa::bytes_of(variable->type)) * variable->vector_elems;
  out.offset = static_cast<int64_t>(index * element_bytes);
  const isa::Effects does = isa::effects_of(form_->opcode);
  if (!does.has(isa::effect::accesses | isa::effect::ordered) || is_atomic(does)) // neither ld nor st
    return true;
  Operand base = std::move(out);
  out = Operand();
  out.kind = OperandKind::address;
  out.offset = std::exchange(base.offset, 0);
  out.elems = Operands::taken_from(std::span(&base, 1));
  operand_bytes_ += Operands::memory_bytes(1);
  return true;
}

bool Parser::parse_component(Operand& out) {
  if (!at(TokenKind::dot_word))
    return true;
  const std::string_view word = text(token_);
  for (size_t i = 0; i < std::size(kComponents); ++i)
    if (word == kComponents[i])
      out.component = static_cast<int8_t>(i);
  for (size_t i = 0; i < std::size(kColours); ++i)
    if (word == kColours[i])
      out.component = static_cast<int8_t>(i);
  const int elems = body_->function.registers[out.reg].vector_elems;
  if (out.component < 0 && elems == 1 && parse_selector_list(word, out)) {
    advance();
    return true;
  }
  if (out.component < 0 ||
      (out.component < isa::kFirstByte ? elems == 1 || out.component >= elems : elems > 1)) {
    error("component", token_.range(),
          elems == 1 ? fmt::format("the register is no vector and has no component '{}'", word)
                     : fmt::format("the register, a vector of {}, has no component '{}'", elems, word));
    return false;
  }
  advance();
  return true;
}

// .h32, .b7654: several halves or bytes of the sources of a SIMD video instruction.
bool Parser::parse_selector_list(std::string_view word, Operand& out) {
  constexpr size_t kMostDigits = 4;
  if (word.size() < 4 || word.size() > 2 + kMostDigits || (word[1] != 'h' && word[1] != 'b'))
    return false;
  uint64_t digits = 1;
  for (const char c : word.substr(2)) {
    if (c < '0' || c > '7')
      return false;
    digits = digits << 4 | static_cast<uint64_t>(c - '0');
  }
  out.component = word[1] == 'h' ? isa::kHalfList : isa::kByteList;
  out.bits = digits;
  return true;
}

// +constant behind a register or symbol.
bool Parser::parse_offset(int64_t& out) {
  if (!accept(TokenKind::plus))
    return true;
  uint64_t bits = 0;
  if (!parse_integer_expression(bits, "an offset"))
    return false;
  out = static_cast<int64_t>(bits);
  return true;
}

// What a name means here: locals first, then the module, then special registers.
bool Parser::resolve(const Token& name, Operand& out) {
  const std::string_view word = text(name);
  out.range = name.range();
  Binding binding;
  if (body_->names.find(word, binding)) {
    switch (binding.kind) {
    case Binding::Kind::reg:
      out.kind = OperandKind::reg;
      out.reg = binding.index;
      return true;
    case Binding::Kind::variable:
    case Binding::Kind::param:
    case Binding::Kind::return_param:
      out.kind = OperandKind::symbol;
      out.symbol = binding.index;
      out.symbol_scope = binding.kind == Binding::Kind::variable ? Operand::SymbolScope::function
                         : binding.kind == Binding::Kind::param  ? Operand::SymbolScope::param
                                                                 : Operand::SymbolScope::return_param;
      return true;
    case Binding::Kind::prototype:
    case Binding::Kind::target_list:
      out.kind = binding.kind == Binding::Kind::prototype ? OperandKind::proto : OperandKind::targets;
      out.symbol = binding.index;
      return true;
    case Binding::Kind::label:
      error("operand", name.range(), fmt::format("'{}' is a label: only a branch takes one", word));
      return false;
    }
  }
  if (const auto it = symbols_.find(word); it != symbols_.end()) {
    out.kind = it->second.is_function ? OperandKind::function : OperandKind::symbol;
    out.symbol = it->second.index;
    out.symbol_scope = Operand::SymbolScope::module;
    return true;
  }
  if (word[0] == '%' && resolve_special_register(name, out))
    return true;
  report_unknown_name(name, "name");
  return false;
}

// %laneid, %tid.x; %tid alone is the vector of its components.
bool Parser::resolve_special_register(const Token& name, Operand& out) {
  if (at(TokenKind::dot_word)) {
    if (const auto sreg = isa::parse_special_register(fmt::format("{}{}", text(name), text(token_)))) {
      advance();
      out.kind = OperandKind::sreg;
      out.sreg = *sreg;
      return true;
    }
  }
  if (const auto sreg = isa::parse_special_register(text(name))) {
    out.kind = OperandKind::sreg;
    out.sreg = *sreg;
    return true;
  }
  const size_t first = operands_.size();
  for (const char* component : {".x", ".y", ".z", ".w"}) {
    const auto sreg = isa::parse_special_register(fmt::format("{}{}", text(name), component));
    if (!sreg)
      return false;
    Operand& part = operands_.emplace_back();
    part.kind = OperandKind::sreg;
    part.sreg = *sreg;
    part.range = name.range();
  }
  out.kind = OperandKind::vector;
  out.sreg = operands_[first].sreg; // not { %tid.x, ... }
  out.elems = take_operands(first);
  return true;
}

void Parser::report_unknown_name(const Token& name, std::string_view what) {
  const std::string_view word = text(name);
  std::vector<std::string_view> names;
  if (body_)
    names = body_->names.some_names(kMostSuggestedFrom);
  for (size_t i = 0; i < std::min(module_->functions.size(), kMostSuggestedFrom); ++i)
    names.push_back(module_->functions[i].name);
  for (size_t i = 0; i < std::min(module_->variables.size(), kMostSuggestedFrom); ++i)
    names.push_back(module_->variables[i].name);
  // Special registers have no numbers, but for those that are known.
  const bool may_be_special = is_newer() && word[0] == '%' &&
                              word.find_first_of("0123456789") == std::string_view::npos &&
                              !is_misspelt(word, names) && !is_misspelt(word, special_registers());
  const bool may_come_later = may_be_special || module_->lost_declaration;
  if (may_come_later && is_newer() && !unknown_.emplace(word).second) { // said already
    not_understood_ = true;
    return;
  }
  Diagnostic& diagnostic =
      unknown("unknown-name", name.range(), fmt::format("there is no {} '{}'", what, word), may_come_later);
  if (body_)
    if (const std::string range = body_->names.range_like(word); !range.empty())
      diagnostic.notes.push_back({"declared", range});
  suggest(diagnostic, word, names);
}

bool Parser::parse_immediate(Operand& out) {
  Constant value;
  if (!parse_expression(value))
    return false;
  out.kind = OperandKind::imm;
  out.imm_kind = value.kind;
  out.bits = value.bits;
  return true;
}

// --- constant expressions ---

bool Parser::parse_expression(Constant& out) {
  return parse_ternary(out, 0);
}

bool Parser::parse_integer_expression(uint64_t& out, std::string_view what) {
  const uint32_t begin = token_.begin;
  Constant value;
  if (!parse_expression(value))
    return false;
  if (!value.is_integer()) {
    error("constant", since(begin), fmt::format("{} is an integer", what));
    return false;
  }
  out = value.bits;
  return true;
}

bool Parser::take(ConstantResult result, SourceRange range, Constant& out) {
  if (result.fault != ConstantFault::none) {
    error("constant", range, std::string(describe(result.fault)));
    return false;
  }
  out = result.value;
  return true;
}

// condition ? a : b, both of which are evaluated.
bool Parser::parse_ternary(Constant& out, int depth) {
  const uint32_t begin = token_.begin;
  if (!parse_binary(out, 1, depth))
    return false;
  if (!at(TokenKind::question))
    return true;
  advance();
  Constant chosen[2];
  if (!parse_ternary(chosen[0], depth + 1) || !expect(TokenKind::colon, "between the values of '?'") ||
      !parse_ternary(chosen[1], depth + 1))
    return false;
  if (!out.is_integer() || !chosen[0].is_integer() || !chosen[1].is_integer()) {
    error("constant", since(begin), "the operands of '?' are integers");
    return false;
  }
  out = out.bits != 0 ? chosen[0] : chosen[1];
  return true;
}

// Operators that bind at least as tightly as `tightest`, from left to right.
bool Parser::parse_binary(Constant& out, int tightest, int depth) {
  const uint32_t begin = token_.begin;
  if (!parse_unary(out, depth))
    return false;
  for (;;) {
    const TokenKind op = token_.kind;
    const int precedence = binary_precedence(op);
    if (precedence == 0 || precedence < tightest)
      return true;
    advance();
    Constant right;
    if (!parse_binary(right, precedence + 1, depth + 1) ||
        !take(apply_binary(op, out, right), since(begin), out))
      return false;
  }
}

bool Parser::parse_unary(Constant& out, int depth) {
  if (depth > kDeepestExpression) {
    error("limit", token_.range(), fmt::format("an expression nests deeper than {}", kDeepestExpression));
    return false;
  }
  const uint32_t begin = token_.begin;
  const TokenKind op = token_.kind;
  if (op != TokenKind::plus && op != TokenKind::minus && op != TokenKind::exclaim && op != TokenKind::tilde)
    return parse_primary(out, depth);
  advance();
  Constant operand;
  return parse_unary(operand, depth + 1) && take(apply_unary(op, operand), since(begin), out);
}

// A literal, WARP_SZ, ( expression ), or a cast (.s64) or (.u64) of what follows.
bool Parser::parse_primary(Constant& out, int depth) {
  if (at(TokenKind::lparen)) {
    const uint32_t begin = token_.begin;
    advance();
    if (!at_word(".s64") && !at_word(".u64"))
      return parse_ternary(out, depth + 1) && expect(TokenKind::rparen, "after the expression");
    const ImmKind kind = at_word(".s64") ? ImmKind::integer : ImmKind::unsigned_integer;
    advance();
    if (!expect(TokenKind::rparen, "after the type") || !parse_unary(out, depth + 1))
      return false;
    if (!out.is_integer())
      return take({{}, ConstantFault::needs_integer}, since(begin), out);
    out.kind = kind;
    return true;
  }
  if (at(TokenKind::identifier) && text(token_) == "WARP_SZ") {
    out = {ImmKind::integer, 32};
    advance();
    return true;
  }
  if (at(TokenKind::dot_word) && text(token_)[1] >= '0' && text(token_)[1] <= '9')
    token_ = lexer_.number_at(token_.begin);
  if (!at(TokenKind::integer) && !at(TokenKind::decimal) && !at(TokenKind::f32_bits) &&
      !at(TokenKind::f64_bits))
    return unexpected("an operand", "here");
  if (!take(parse_constant(token_.kind, text(token_)), token_.range(), out))
    return false;
  advance();
  return true;
}

} // namespace lemma::ptx
