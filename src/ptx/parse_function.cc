// Functions: headers, parameters, launch bounds, bodies with their scopes, labels and directives.
// PTX ISA: "Kernel and Function Directives", "Performance-Tuning Directives", "Debugging Directives",
// "Control Flow Directives". Tests: tests/unit/ptx/function_test.cc.
#include "ptx/parameters.h"
#include "ptx/parser_impl.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace lemma::ptx {
namespace {

constexpr size_t kDeepestScope = 256;
constexpr uint32_t kDeepestInlining = 1000;

} // namespace

// --- headers ---

// .entry name (params) directives { body }, .func (returns) name (params) directives { body } or ;
bool Parser::parse_function(Linkage linkage) {
  const uint32_t begin = token_.begin;
  Function function;
  function.linkage = linkage;
  function.is_entry = at_word(".entry");
  advance();
  if (at_word(".attribute") && !parse_attributes(function.attributes, isa::kFunction))
    return false;
  if (!function.is_entry && at(TokenKind::lparen) && !parse_parameters(function.returns, false))
    return false;
  Token name;
  if (!expect_name(name, "a function's name"))
    return false;
  function.name = text(name);
  if (at(TokenKind::lparen) && !parse_parameters(function.params, false))
    return false;
  for (const Variable& parameter : function.params) {
    if (function.is_entry && parameter.space == StateSpace::reg) {
      error("state-space", parameter.range, "a kernel's parameter lives in .param");
      return false;
    }
    if (!function.is_entry && parameter.is_pointer) {
      error("pointer", parameter.range, ".ptr describes parameters of a kernel only");
      return false;
    }
  }
  if (!parse_function_directives(function))
    return false;
  function.has_body = at(TokenKind::lbrace);
  function.range = {begin, last_end_};
  if (function.is_entry && !function.params.empty())
    use(isa::Directive::Kind::part, "parameters of an .entry", isa::kEntry, function.params.front().range);
  if (!function.is_entry)
    for (const auto* list : {&function.returns, &function.params})
      for (const Variable& parameter : *list)
        if (parameter.space == StateSpace::param)
          use(isa::Directive::Kind::part, "a parameter of a .func in .param", isa::kFunction,
              parameter.range);
  if (function.is_entry && !function.has_body)
    use(isa::Directive::Kind::part, "an .entry without a body", isa::kEntry, function.range);
  if (function.linkage == Linkage::common || (function.linkage == Linkage::extern_ && function.has_body)) {
    error("linkage", function.range,
          function.has_body ? fmt::format("a function with a body is not {}",
                                          function.linkage == Linkage::common ? ".common" : ".extern")
                            : "a function is not .common");
    return false;
  }
  uint32_t index = 0;
  if (function.has_body && !function.is_entry && !function.pragmas.empty()) {
    error("directive-place", function.range, ".pragma stands in the body of a .func, not before it");
    return false;
  }
  if (!declare_function(function, name, index) || !take_memory(kRoomToGrow * sizeof(Function) + kBytesOfName))
    return false;
  if (!function.has_body) {
    const bool is_entry = function.is_entry;
    module_->functions[index] = std::move(function);
    if (is_entry || at(TokenKind::semicolon))
      return expect_semicolon("the declaration of a function");
    warn({Severity::warning,
          "syntax",
          fmt::format("the declaration of {} ends without ';'", text(name)),
          {last_end_, last_end_ + 1},
          {{"legal", fmt::format(".func {}();", text(name))}, {"see", "PTX ISA, .func"}},
          {{{last_end_, last_end_}, ";"}}});
    return true;
  }
  body_ = std::make_unique<Body>();
  body_->function = std::move(function);
  if (!take_thread_variables())
    return false;
  parse_body(index, token_.range());
  module_->functions[index] = std::move(body_->function);
  body_.reset();
  return true;
}

// The place of the function in the module. A body, or a declaration after a declaration, takes the place of
// what was declared before; a placeholder stands there until the body has been read, so that calls find it.
bool Parser::declare_function(Function& function, const Token& name, uint32_t& index) {
  index = static_cast<uint32_t>(module_->functions.size());
  const auto [it, fresh] = symbols_.try_emplace(text(name), ModuleSymbol{true, index});
  if (fresh) {
    module_->functions.emplace_back();
    module_->functions.back().name = function.name;
    return true;
  }
  if (!it->second.is_function) {
    error("duplicate", name.range(), fmt::format("'{}' is a variable already", text(name)));
    return false;
  }
  index = it->second.index;
  const Function& known = module_->functions[index];
  if (known.has_body) {
    error("duplicate", name.range(), fmt::format("'{}' is defined already", text(name)));
    return false;
  }
  if (known.is_entry != function.is_entry || !same_parameters(known, function)) {
    error("duplicate", name.range(), fmt::format("'{}' was declared with other parameters", text(name)));
    return false;
  }
  if (known.linkage == Linkage::extern_ && function.has_body) {
    error("duplicate", name.range(),
          fmt::format("'{}' was declared .extern: it has no body in this module", text(name)));
    return false;
  }
  if (function.linkage == Linkage::none)
    function.linkage = known.linkage;
  return true;
}

// ( .param .u64 a, .reg .b32 b ); `unnamed`: in a prototype, where names are `_`.
bool Parser::parse_parameters(std::vector<Variable>& out, bool unnamed) {
  advance();
  if (accept(TokenKind::rparen))
    return true;
  do {
    if (!parse_parameter(out, unnamed))
      return false;
  } while (accept(TokenKind::comma));
  return expect(TokenKind::rparen, "after the parameters");
}

bool Parser::parse_parameter(std::vector<Variable>& out, bool unnamed) {
  Declarator declarator;
  if (!parse_declarator(declarator))
    return false;
  if (declarator.space != StateSpace::param && declarator.space != StateSpace::reg) {
    error("state-space", since(declarator.begin), "a parameter lives in .param or .reg");
    return false;
  }
  Variable parameter;
  parameter.space = declarator.space;
  parameter.type = declarator.type;
  parameter.vector_elems = declarator.vector_elems;
  parameter.align = declarator.align;
  if (at_word(".ptr") && !parse_pointer_attributes(parameter))
    return false;
  Token name = token_;
  if (unnamed && at(TokenKind::identifier))
    advance();
  else if (!expect_name(name, "a parameter"))
    return false;
  parameter.name = text(name);
  if (!parse_dimensions(parameter))
    return false;
  parameter.range = since(declarator.begin);
  if (parameter.is_array && !parameter.dims.empty() && parameter.dims.front() == 0)
    use(isa::Directive::Kind::part, "an array parameter without a bound", isa::kVariable, parameter.range);
  if (parameter.space == StateSpace::reg && parameter.is_array) {
    error("state-space", parameter.range, "an array parameter lives in .param");
    return false;
  }
  if (!finish_layout(parameter))
    return false;
  out.push_back(std::move(parameter));
  return take_memory(kRoomToGrow * sizeof(Variable) + kBytesOfName);
}

// .ptr .global .align 16
bool Parser::parse_pointer_attributes(Variable& parameter) {
  use(isa::Directive::Kind::word, ".ptr", isa::kVariable, token_.range());
  advance();
  parameter.is_pointer = true;
  if (at(TokenKind::dot_word)) {
    const auto space = isa::parse_state_space(text(token_).substr(1));
    if (space == StateSpace::const_ || space == StateSpace::global || space == StateSpace::local ||
        space == StateSpace::shared) {
      parameter.pointee_space = *space;
      advance();
    }
  }
  if (at(TokenKind::dot_word))
    if (const auto type = isa::parse_type(text(token_).substr(1));
        type && isa::kind_of(*type) == isa::TypeKind::opaque) {
      parameter.pointee_type = *type;
      use(isa::Directive::Kind::part, ".ptr to a texture or a surface", isa::kVariable, token_.range());
      advance();
    }
  return !at_word(".align") || parse_align(parameter.pointee_align);
}

bool Parser::parse_dim3(std::array<uint32_t, 3>& out, std::string_view what, uint32_t least) {
  advance();
  out = {1, 1, 1};
  for (size_t i = 0; i < 3; ++i) {
    uint64_t extent = 0;
    const SourceRange range = token_.range();
    if (!parse_number(extent, UINT32_MAX, what))
      return false;
    if (extent < least) {
      error("launch-bounds", range, fmt::format("{} is at least {}", what, least));
      return false;
    }
    out[i] = static_cast<uint32_t>(extent);
    if (i == 2 || !accept(TokenKind::comma))
      return true;
  }
  return true;
}

bool Parser::parse_count(uint32_t& out, std::string_view what) {
  advance();
  uint64_t count = 0;
  if (!parse_number(count, UINT32_MAX, what))
    return false;
  out = static_cast<uint32_t>(count);
  return true;
}

void Parser::refuse_zero(const Token& directive, bool good, uint32_t count) {
  if (good && count == 0)
    error("launch-bounds", since(directive.begin), fmt::format("{} must not be 0", text(directive)));
}

// Words of a module that no head of a function has.
static bool begins_definition(std::string_view word) {
  constexpr std::string_view words[] = {".visible", ".extern", ".weak",    ".common", ".entry",
                                        ".func",    ".global", ".const",   ".shared", ".align",
                                        ".file",    ".alias",  ".section", ".tex"};
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// What may stand between the parameters and the body, in any order.
bool Parser::parse_function_directives(Function& function) {
  LaunchBounds& bounds = function.bounds;
  const isa::DirectivePlace place = function.is_entry ? isa::kEntry : isa::kFunction;
  while (at(TokenKind::dot_word)) {
    const Token directive = token_;
    const std::string_view word = text(directive);
    bool good = true;
    if (!function.is_entry && begins_definition(word))
      return true;         // after a declaration without its semicolon
    if (word != ".pragma") // parse_pragma() does
      use(isa::Directive::Kind::word, word, place, directive.range());
    if (word == ".maxntid") {
      good = parse_dim3(bounds.maxntid, "a CTA's extent", 1);
    } else if (word == ".reqntid") {
      good = parse_dim3(bounds.reqntid, "a CTA's extent", 1);
    } else if (word == ".reqnctapercluster") {
      good = parse_dim3(bounds.reqnctapercluster, "a cluster's extent", 0);
    } else if (word == ".maxclusterrank") {
      good = parse_count(bounds.maxclusterrank, "the number of CTAs");
    } else if (word == ".minnctapersm") {
      good = parse_count(bounds.minnctapersm, "the number of CTAs");
      refuse_zero(directive, good, bounds.minnctapersm);
    } else if (word == ".maxnctapersm") {
      good = parse_count(bounds.maxnctapersm, "the number of CTAs");
    } else if (word == ".maxnreg") {
      good = parse_count(bounds.maxnreg, "the number of registers");
      refuse_zero(directive, good, bounds.maxnreg);
    } else if (word == ".abi_preserve") {
      good = parse_count(bounds.abi_preserve, "the number of registers");
    } else if (word == ".abi_preserve_control") {
      good = parse_count(bounds.abi_preserve_control, "the number of registers");
    } else if (word == ".explicitcluster" || word == ".blocksareclusters" || word == ".noreturn") {
      (word == ".explicitcluster" ? bounds.explicit_cluster
       : word == ".noreturn"      ? bounds.noreturn
                                  : bounds.blocks_are_clusters) = true;
      advance();
    } else if (word == ".minperctamemory") {
      good = parse_count(bounds.min_per_cta_memory_bytes.emplace(), "the number of bytes");
    } else if (word == ".language") {
      good = parse_language(function);
    } else if (word == ".pragma") {
      good = parse_pragma(function.pragmas, place);
    } else {
      not_understood_ = false;
      unknown_directive({".maxntid", ".reqntid", ".reqnctapercluster", ".maxclusterrank", ".minnctapersm",
                         ".maxnctapersm", ".maxnreg", ".explicitcluster", ".blocksareclusters", ".noreturn",
                         ".pragma", ".abi_preserve", ".abi_preserve_control", ".minperctamemory",
                         ".language"});
      if (!not_understood_)
        return false;
      do // its operands
        advance();
      while (!at(TokenKind::dot_word) && !at(TokenKind::lbrace) && !at(TokenKind::semicolon) &&
             !at(TokenKind::end));
      function.unknown_directives.emplace_back(source_->slice(since(directive.begin)));
    }
    if (!good)
      return false;
  }
  return true;
}

// .language "cuda c++", 10: names of languages and their numbers, behind which the head of a .func ends.
bool Parser::parse_language(Function& function) {
  constexpr uint64_t kLastLanguage = 10;
  constexpr std::string_view known[] = {"cuda c++", "fortran", "nvvm",    "optix",
                                        "ptx",      "sass",    "tile ir", "unknown"};
  advance();
  do {
    const Token language = token_;
    if (at(TokenKind::string)) {
      std::string name;
      parse_string(name);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      if (std::find(std::begin(known), std::end(known), name) == std::end(known)) {
        error("language", language.range(), fmt::format("there is no language {}", text(language)))
            .notes.push_back({"legal", fmt::format("\"{}\"", fmt::join(known, "\", \""))});
        return false;
      }
    } else if (uint64_t number = 0; !parse_number(number, kLastLanguage, "a language's number")) {
      return false;
    }
    function.languages.emplace_back(text(language));
  } while (accept(TokenKind::comma));
  if (at(TokenKind::lbrace) || (function.is_entry && at(TokenKind::dot_word)))
    return true;
  return unexpected("the body", "after .language");
}

// Parameters are names of the body's outermost scope; those in .reg are registers there.
void Parser::declare_parameters() {
  Function& function = body_->function;
  const auto declare = [&](std::vector<Variable>& list, Binding::Kind kind) {
    for (uint32_t i = 0; i < list.size(); ++i) {
      Variable& parameter = list[i];
      const bool in_register = parameter.space == StateSpace::reg;
      if (in_register) {
        parameter.reg = static_cast<uint32_t>(function.registers.size());
        function.registers.push_back({.stem = static_cast<uint32_t>(function.register_stems.size()),
                                      .type = parameter.type,
                                      .vector_elems = static_cast<uint8_t>(parameter.vector_elems)});
        function.register_stems.push_back(parameter.name);
      }
      // The name as it stands in the text, which outlives the body; Variable::name moves about.
      const std::string_view declared = source_->slice(parameter.range);
      const std::string_view name = declared.substr(declared.rfind(parameter.name), parameter.name.size());
      if (!body_->names.declare(name, in_register ? Binding::Kind::reg : kind,
                                in_register ? parameter.reg : i))
        error("duplicate", parameter.range, fmt::format("'{}' is declared already", parameter.name));
    }
  };
  declare(function.returns, Binding::Kind::return_param);
  declare(function.params, Binding::Kind::param);
}

// --- bodies ---

void Parser::open_scope(SourceRange brace) {
  Function& function = body_->function;
  const auto index = static_cast<uint32_t>(function.scopes.size());
  function.scopes.push_back({body_->open.empty() ? kNone : scope(), here(), here()});
  body_->open.push_back({index, static_cast<uint32_t>(body_->pending.size()), brace});
  body_->names.open_scope(index);
}

void Parser::close_scope() {
  resolve_labels(body_->open.back());
  body_->function.scopes[scope()].end = here();
  body_->names.close_scope();
  body_->open.pop_back();
}

void Parser::parse_body(uint32_t function_index, SourceRange brace) {
  // Calls of the function itself, and messages, need its parameters while the body is read.
  Function& placeholder = module_->functions[function_index];
  placeholder.params = body_->function.params;
  placeholder.returns = body_->function.returns;
  placeholder.is_entry = body_->function.is_entry;
  placeholder.has_body = true;

  open_scope(brace);
  declare_parameters();
  advance();
  while (!body_->open.empty()) {
    open_braces_ = 0;
    if (at(TokenKind::end)) {
      if (!stopped_)
        error("syntax", body_->open.back().brace, "this '{' has no '}'");
      while (!body_->open.empty())
        close_scope();
    } else if (at(TokenKind::rbrace)) {
      close_scope();
      advance();
    } else if (at(TokenKind::lbrace) && body_->open.size() < kDeepestScope) {
      open_scope(token_.range());
      advance();
    } else if (at(TokenKind::lbrace)) {
      error("limit", token_.range(), fmt::format("scopes nest deeper than {}", kDeepestScope));
      skip_block();
    } else if (!parse_statement()) {
      recover_in_body();
    }
  }
}

// To behind the next ';' or to the '}' of the scope; braces that the statement has opened are passed over,
// and so is a block where none may stand.
void Parser::recover_in_body() {
  if (at(TokenKind::lbrace) && open_braces_ == 0) {
    skip_block();
    if (!at(TokenKind::comma) && !at(TokenKind::semicolon))
      return; // else it was a vector operand
  }
  int depth = open_braces_;
  while (!at(TokenKind::end)) {
    if (accept(TokenKind::semicolon))
      return;
    if (at(TokenKind::lbrace))
      ++depth;
    if (at(TokenKind::rbrace) && depth-- == 0)
      return;
    advance();
  }
}

bool Parser::parse_statement() {
  switch (token_.kind) {
  case TokenKind::dot_word:
    return parse_body_directive();
  case TokenKind::at:
    return parse_instruction();
  case TokenKind::identifier: {
    Lexer ahead = lexer_;
    const bool instruction =
        text_[std::min<size_t>(token_.end, text_.size() - 1)] == '.'; // the common case, quickly
    if (!instruction && ahead.next().kind == TokenKind::colon) {
      const Token name = token_;
      advance();
      advance();
      return parse_label(name);
    }
    return parse_instruction();
  }
  default:
    return unexpected("an instruction, a label or a directive", "in a body");
  }
}

bool Parser::parse_body_directive() {
  const std::string_view word = text(token_);
  if (word == ".loc")
    return parse_loc();
  if (word == ".loc_intermediate")
    return parse_loc_intermediate();
  if (word == ".pragma") {
    std::vector<std::string> pragmas;
    if (!parse_pragma(pragmas, body_place()))
      return false;
    for (std::string& pragma : pragmas)
      body_->function.body_pragmas.push_back(
          {std::move(pragma), scope(), here(), static_cast<uint32_t>(body_->function.labels.size())});
    return true;
  }
  if (word == ".callprototype" || word == ".branchtargets" || word == ".calltargets") {
    error("syntax", token_.range(), fmt::format("'{}' needs a label before it", word));
    return false;
  }
  Declarator declarator;
  if (!parse_declarator(declarator))
    return false;
  if (at_word(".entry") || at_word(".func")) { // the body's end is missing: read the function as the next one
    error("syntax", body_->open.back().brace, "this '{' has no '}' before the next function");
    while (!body_->open.empty())
      close_scope();
    lexer_.seek(declarator.begin);
    advance();
    return true;
  }
  if (declarator.linkage != Linkage::none) {
    error("linkage", since(declarator.begin), "a name of a body has no linkage");
    return false;
  }
  return declarator.space == StateSpace::reg ? parse_registers(declarator) : parse_variables(declarator);
}

// Behind "name :".
bool Parser::parse_label(const Token& name) {
  use(isa::Directive::Kind::word, text(token_), body_place(), token_.range());
  if (at_word(".callprototype"))
    return parse_prototype(name);
  if (at_word(".branchtargets") || at_word(".calltargets"))
    return parse_target_list(name, at_word(".calltargets"));
  Function& function = body_->function;
  if (!body_->names.declare(text(name), Binding::Kind::label,
                            static_cast<uint32_t>(function.labels.size()))) {
    error("duplicate", name.range(), fmt::format("'{}' is declared already in this scope", text(name)));
    return true; // the statement behind it is well
  }
  function.labels.push_back({std::string(text(name)), scope(), here(), name.range()});
  return take_memory(kRoomToGrow * sizeof(Label) + kBytesOfName);
}

// name: .callprototype (ret) _ (params) .noreturn .abi_preserve N;
bool Parser::parse_prototype(const Token& name) {
  advance();
  Prototype prototype;
  prototype.name = text(name);
  if (at(TokenKind::lparen) && !parse_parameters(prototype.returns, true))
    return false;
  if (!at(TokenKind::identifier) || text(token_) != "_")
    return unexpected("'_'", "in the place of a function's name");
  advance();
  if (at(TokenKind::lparen) && !parse_parameters(prototype.params, true))
    return false;
  while (at(TokenKind::dot_word)) {
    use(isa::Directive::Kind::word, text(token_), isa::kPrototype, token_.range());
    if (accept_word(".noreturn"))
      prototype.noreturn = true;
    else if (at_word(".abi_preserve") || at_word(".abi_preserve_control")) {
      uint32_t& count = at_word(".abi_preserve") ? prototype.abi_preserve : prototype.abi_preserve_control;
      if (!parse_count(count, "the number of registers"))
        return false;
    } else {
      return unexpected("';'", "after the prototype");
    }
  }
  prototype.scope = scope();
  prototype.position = here();
  auto& list = body_->function.prototypes;
  if (!body_->names.declare(text(name), Binding::Kind::prototype, static_cast<uint32_t>(list.size()))) {
    error("duplicate", name.range(), fmt::format("'{}' is declared already in this scope", text(name)));
    return false;
  }
  list.push_back(std::move(prototype));
  return expect_semicolon("the prototype");
}

// name: .branchtargets a, b; or name: .calltargets f, g;
bool Parser::parse_target_list(const Token& name, bool is_call) {
  advance();
  auto& lists = body_->function.target_lists;
  const auto index = static_cast<uint32_t>(lists.size());
  TargetList list;
  list.name = text(name);
  list.is_call = is_call;
  std::vector<PendingLabel> references;
  do {
    Token target;
    if (!expect_name(target, is_call ? "a function" : "a label"))
      return false;
    if (is_call) {
      const auto it = symbols_.find(text(target));
      if (it == symbols_.end() || !it->second.is_function) {
        report_unknown_name(target, "function");
        return false;
      }
    } else {
      references.push_back(
          {text(target), target.range(), kNone, index, static_cast<uint32_t>(list.labels.size())});
      list.labels.push_back(kNone);
    }
    list.names.emplace_back(text(target));
    if (!take_memory(kRoomToGrow * (sizeof(PendingLabel) + sizeof(std::string))))
      return false;
  } while (accept(TokenKind::comma));
  list.scope = scope();
  list.position = here();
  if (!body_->names.declare(text(name), Binding::Kind::target_list, index)) {
    error("duplicate", name.range(), fmt::format("'{}' is declared already in this scope", text(name)));
    return false;
  }
  lists.push_back(std::move(list));
  body_->pending.insert(body_->pending.end(), references.begin(), references.end());
  return expect_semicolon("the targets");
}

// .loc file line column [, function_name label[+n], inlined_at file line column]
bool Parser::parse_loc() {
  advance();
  LineLocation location;
  uint64_t file = 0, line = 0, column = 0;
  if (!parse_number(file, UINT32_MAX, "the file") || !parse_number(line, UINT32_MAX, "the line") ||
      !parse_number(column, UINT32_MAX, "the column"))
    return false;
  location.file = static_cast<uint32_t>(file);
  location.line = static_cast<uint32_t>(line);
  location.column = static_cast<uint32_t>(column);
  if (at(TokenKind::comma) && !parse_inlined_at(location))
    return false;
  return keep_location(std::move(location));
}

bool Parser::parse_inlined_at(LineLocation& location) {
  std::array<uint64_t, 3> caller{};
  advance();
  if (!at(TokenKind::identifier) || text(token_) != "function_name")
    return unexpected("'function_name'", "after ','");
  advance();
  const uint32_t begin = token_.begin;
  Token label;
  if (!expect_name(label, "a label in .debug_str"))
    return false;
  if (accept(TokenKind::plus)) {
    uint64_t offset = 0;
    if (!parse_number(offset, UINT32_MAX, "the offset"))
      return false;
    location.inlined_function = fmt::format("{}+{}", text(label), offset);
  } else {
    location.inlined_function = source_->slice(since(begin));
  }
  inlined_names_.emplace(text(label), label.range());
  if (!expect(TokenKind::comma, "before 'inlined_at'") || !at(TokenKind::identifier) ||
      text(token_) != "inlined_at")
    return unexpected("'inlined_at'", "after the function's name");
  const SourceRange range = token_.range();
  use(isa::Directive::Kind::part, "inlined_at", body_place(), range);
  advance();
  for (uint64_t& number : caller)
    if (!parse_number(number, UINT32_MAX, "the place of the call"))
      return false;
  const auto it = locations_.find(caller);
  if (it == locations_.end()) {
    error("location", range, fmt::format("no .loc {} {} {} precedes", caller[0], caller[1], caller[2]));
    return false;
  }
  if (inline_depth_[it->second] == kDeepestInlining) {
    error("limit", range, fmt::format("inlined deeper than {}", kDeepestInlining));
    return false;
  }
  location.inlined_at = it->second;
  return true;
}

// .loc_intermediate file line column: of the .loc before it. Without one it says nothing of the source.
bool Parser::parse_loc_intermediate() {
  use(isa::Directive::Kind::word, ".loc_intermediate", body_place(), token_.range());
  advance();
  uint64_t file = 0, line = 0, column = 0;
  if (!parse_number(file, UINT32_MAX, "the file") || !parse_number(line, UINT32_MAX, "the line") ||
      !parse_number(column, UINT32_MAX, "the column"))
    return false;
  if (body_->location == kNone)
    return true;
  LineLocation location = module_->locations[body_->location];
  location.intermediate_file = static_cast<uint32_t>(file);
  location.intermediate_line = static_cast<uint32_t>(line);
  location.intermediate_column = static_cast<uint32_t>(column);
  return keep_location(std::move(location));
}

// Puts the location in force.
bool Parser::keep_location(LineLocation location) {
  const auto index = static_cast<uint32_t>(module_->locations.size());
  locations_[{location.file, location.line, location.column}] = index;
  inline_depth_.push_back(location.inlined_at == kNone ? 0 : inline_depth_[location.inlined_at] + 1);
  module_->locations.push_back(std::move(location));
  body_->location = index;
  return take_memory(kRoomToGrow * sizeof(LineLocation) + kBytesOfName);
}

// --- labels ---

// Binds the references that were read in the scope to its labels; the others wait for the scope around it.
void Parser::resolve_labels(const OpenScope& open) {
  Function& function = body_->function;
  auto& pending = body_->pending;
  size_t kept = open.first_pending;
  for (size_t i = open.first_pending; i < pending.size(); ++i) {
    const PendingLabel& reference = pending[i];
    const Binding* binding = body_->names.find_here(reference.name);
    if (!binding || binding->kind != Binding::Kind::label) {
      if (open.index == 0)
        report_unknown_label(reference);
      else
        pending[kept++] = pending[i];
      continue;
    }
    if (reference.instruction != kNone)
      function.instructions[reference.instruction].operands[0].symbol = binding->index;
    else
      function.target_lists[reference.target_list].labels[reference.entry] =
          function.labels[binding->index].target;
  }
  pending.resize(kept);
}

void Parser::report_unknown_label(const PendingLabel& pending) {
  Diagnostic& diagnostic =
      error("unknown-label", pending.range, fmt::format("there is no label '{}' in reach", pending.name));
  std::vector<std::string_view> names;
  for (const Label& label : body_->function.labels)
    if (names.size() < kMostSuggestedFrom)
      names.emplace_back(label.name);
  suggest(diagnostic, pending.name, names);
}

} // namespace lemma::ptx
