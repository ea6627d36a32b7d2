// The parser's common ground and the module level: tokens, messages and their limits, recovery, then
// .version, .target, .file, .section and what else stands outside functions. After an error
// recover_in_module() (for bodies recover_in_body(), parse_function.cc) skips to what can begin a statement.
//
// PTX ISA: "PTX Module Directives", "Debugging Directives", "Linking Directives".
#include "ptx/debug_strings.h"
#include "ptx/foreign.h"
#include "ptx/parser_impl.h"
#include "support/edit_distance.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace lemma::ptx {
namespace {

constexpr std::string_view kIntermediateSources = ".nv_intermediate_source_section";
constexpr size_t kMostErrors = 100;
constexpr size_t kMostWarnings = 100;
constexpr size_t kLongestText = size_t{1} << 30;
constexpr uint64_t kRegistersOfModule = uint64_t{1} << 20;   // and one for each byte of text
constexpr uint64_t kInitPaddingOfModule = uint64_t{1} << 20; // likewise
constexpr size_t kLongestComparedName = 64;
constexpr PtxVersion kLastThreadVariables{2, 3}; // that has .reg and .local at module scope
constexpr size_t kMostSuggestions = 20;          // comparing names costs more than all else

constexpr std::string_view kModuleDirectives[] = {
    ".version", ".target", ".address_size", ".visible", ".extern",           ".weak", ".common",
    ".entry",   ".func",   ".global",       ".const",   ".shared",           ".tex",  ".file",
    ".section", ".pragma", ".alias",        ".align",   kIntermediateSources};

bool begins_module_statement(std::string_view word) {
  return std::find(std::begin(kModuleDirectives), std::end(kModuleDirectives), word) !=
         std::end(kModuleDirectives);
}

} // namespace

Parser::Parser(std::shared_ptr<const SourceText> source, uint64_t most_bytes)
    : source_(std::move(source)), text_(source_->text()), lexer_(text_), module_(std::make_unique<Module>()),
      most_bytes_(most_bytes), registers_left_(kRegistersOfModule + text_.size()),
      init_padding_left_(kInitPaddingOfModule + text_.size()) {
  module_->source = source_;
  module_->spellings = matches_;
}

// --- tokens and messages ---

void Parser::advance() {
  last_end_ = token_.end;
  if (stopped_)
    return;
  token_ = lexer_.next();
  switch (token_.kind) {
  case TokenKind::bad_number:
    error("number", token_.range(), fmt::format("malformed number '{}'", text(token_)));
    break;
  case TokenKind::bad_character: {
    const auto byte = static_cast<unsigned char>(text_[token_.begin]);
    error("character", token_.range(),
          byte > 0x20 && byte < 0x7f ? fmt::format("stray character '{}'", text(token_))
                                     : fmt::format("stray byte 0x{:02x}: PTX is ASCII text", byte));
    break;
  }
  case TokenKind::open_string:
    error("string", token_.range(), "the string does not end on its line");
    break;
  case TokenKind::open_comment:
    error("comment", {token_.begin, token_.begin + 2}, "the comment has no end");
    token_.kind = TokenKind::end;
    break;
  default:
    break;
  }
}

bool Parser::accept(TokenKind kind) {
  if (!at(kind))
    return false;
  advance();
  return true;
}

bool Parser::accept_word(std::string_view word) {
  if (!at_word(word))
    return false;
  advance();
  return true;
}

bool Parser::expect(TokenKind kind, std::string_view context) {
  return accept(kind) || unexpected(describe(kind), context);
}

bool Parser::expect_semicolon(std::string_view after) {
  if (accept(TokenKind::semicolon))
    return true;
  if (token_.line_start || at(TokenKind::rbrace) || at(TokenKind::end)) {
    error("syntax", {last_end_, last_end_ + 1}, fmt::format("';' expected after {}", after))
        .repairs.push_back({{last_end_, last_end_}, ";"});
    return true;
  }
  return unexpected("';'", fmt::format("after {}", after));
}

Diagnostic& Parser::error(std::string_view id, SourceRange range, std::string message) {
  if (stopped_)
    return discarded_;
  if (errors_ == kMostErrors) {
    diagnostics_.push_back({Severity::error,
                            "too-many-errors",
                            fmt::format("more than {} errors: stopped", kMostErrors),
                            range,
                            {}});
    stop();
    return discarded_;
  }
  ++errors_;
  diagnostics_.push_back(
      {Severity::error, std::string(id), shortened(std::move(message), kLongestMessage), range, {}});
  return diagnostics_.back();
}

bool Parser::is_newer() const {
  return isa::IsaVersion{module_->version.major, module_->version.minor} > isa::kNewestVersion;
}

Diagnostic& Parser::unknown(std::string_view id, SourceRange range, std::string message,
                            bool may_come_later) {
  if (!may_come_later || !is_newer() || stopped_)
    return error(id, range, std::move(message));
  not_understood_ = true;
  if (unknown_messages_++ >= kMostErrors)
    return discarded_ = {};
  diagnostics_.push_back(
      {Severity::unsupported,
       std::string(id),
       shortened(std::move(message), kLongestMessage),
       range,
       {{"note", fmt::format("PTX {}.{} may have it: it is not known here, where {}.{} is the newest",
                             module_->version.major, module_->version.minor, isa::kNewestVersion.major,
                             isa::kNewestVersion.minor)}}});
  return diagnostics_.back();
}

// Behind the . or %.
bool Parser::is_misspelt(std::string_view word, const std::vector<std::string_view>& known) {
  constexpr size_t kLettersPerEdit = 2;
  return std::any_of(known.begin(), known.end(), [&](std::string_view each) {
    return each.front() == word.front() &&
           lemma::is_misspelt(word.substr(1), each.substr(1), kLettersPerEdit);
  });
}

void Parser::unknown_directive(const std::vector<std::string_view>& known, bool may_come_later) {
  const std::string_view word = text(token_);
  suggest(unknown("unknown-directive", token_.range(), fmt::format("unknown directive '{}'", word),
                  may_come_later && !is_misspelt(word, known)),
          word, known);
}

// The rest of the text is not looked at.
void Parser::stop() {
  stopped_ = true;
  const auto end = static_cast<uint32_t>(text_.size());
  lexer_.seek(end);
  token_ = {TokenKind::end, true, end, end};
}

bool Parser::take_memory(uint64_t bytes) {
  if (stopped_)
    return false;
  taken_bytes_ += bytes;
  if (taken_bytes_ <= most_bytes_)
    return true;
  error("memory", token_.range(),
        fmt::format("up to here the module takes more than {} bytes of memory (--max-memory)", most_bytes_));
  stop();
  return false;
}

bool Parser::warn(Diagnostic warning) {
  if (stopped_ || warnings_++ >= kMostWarnings)
    return false;
  diagnostics_.push_back(std::move(warning));
  return true;
}

// The lexer has reported a malformed token already.
bool Parser::unexpected(std::string_view wanted, std::string_view context) {
  if (token_.kind >= TokenKind::bad_number)
    return false;
  const bool named = at(TokenKind::identifier) || at(TokenKind::dot_word) || at(TokenKind::integer);
  std::string found(describe(token_.kind));
  if (named)
    found = fmt::format("'{}'", text(token_).substr(0, kLongestComparedName));
  error("syntax", token_.range(), fmt::format("{} expected {}, not {}", wanted, context, found));
  return false;
}

void Parser::suggest(Diagnostic& diagnostic, std::string_view word,
                     const std::vector<std::string_view>& candidates) {
  if (word.size() > kLongestComparedName || suggestions_ == kMostSuggestions)
    return;
  ++suggestions_;
  std::vector<std::string_view> near_length;
  for (const std::string_view candidate : candidates)
    if (candidate.size() <= word.size() * 2 && word.size() <= candidate.size() * 2 &&
        near_length.size() < kMostSuggestedFrom)
      near_length.push_back(candidate);
  std::string names;
  for (const std::string& name : nearest(word, near_length))
    names += (names.empty() ? "" : ", ") + name;
  if (!names.empty())
    diagnostic.notes.push_back({"did you mean", names});
}

bool Parser::expect_name(Token& name, std::string_view what) {
  if (!at(TokenKind::identifier))
    return unexpected(what, "here");
  constexpr std::string_view reserved[] = {"_", "WARP_SZ", "function_name", "inlined_at"};
  if (std::find(std::begin(reserved), std::end(reserved), text(token_)) != std::end(reserved)) {
    error("name", token_.range(), fmt::format("'{}' is no name for {}", text(token_), what));
    return false;
  }
  name = token_;
  advance();
  return true;
}

// --- the module ---

ParseOutcome Parser::run() {
  if (text_.size() > kLongestText) {
    error("limit", {0, 0}, fmt::format("the text has {} bytes, more than {}", text_.size(), kLongestText));
  } else if (const auto foreign = recognise_foreign(text_)) {
    error("not-ptx", {0, 0}, fmt::format("this is no PTX: it is {}", foreign->what))
        .notes.push_back({"fix", foreign->fix});
  } else if (take_memory(source_->memory_bytes())) {
    advance();
    if (parse_header())
      while (!at(TokenKind::end))
        parse_top_level();
    check_inlined_names();
    resolve_aliases();
  }
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.range.begin < b.range.begin; });
  return {std::move(module_), std::move(diagnostics_), taken_bytes_};
}

bool Parser::parse_header() {
  if (!at_word(".version")) {
    unexpected("'.version'", "at the beginning of a module");
    return at(TokenKind::dot_word); // something else of PTX: go on
  }
  if (!parse_version())
    recover_in_module();
  if (!at_word(".target"))
    unexpected("'.target'", "after '.version'");
  else if (!parse_target())
    recover_in_module();
  return true;
}

void Parser::parse_top_level() {
  open_braces_ = 0;
  const uint32_t before = token_.begin;
  if (!parse_module_statement())
    recover_in_module();
  if (!at(TokenKind::end) && token_.begin == before) // whatever happens, go forward
    advance();
}

bool Parser::parse_module_statement() {
  if (!at(TokenKind::dot_word))
    return unexpected("a directive", "at module scope");
  const std::string_view word = text(token_);
  if (word == ".entry" || word == ".func")
    return parse_function(Linkage::none);
  if (word == ".file")
    return parse_file();
  if (word == ".section")
    return parse_section();
  if (word == kIntermediateSources)
    return parse_intermediate_sources();
  if (word == ".alias")
    return parse_alias();
  if (word == ".address_size")
    return parse_address_size();
  if (word == ".pragma")
    return parse_pragma(module_->pragmas, isa::kModule);
  if (word == ".version" || word == ".target") {
    error("syntax", token_.range(), fmt::format("'{}' stands once, at the beginning of a module", word));
    do
      advance();
    while (!at(TokenKind::end) && !token_.line_start);
    return true;
  }
  Declarator declarator;
  if (!parse_declarator(declarator))
    return false;
  if (at_word(".entry") || at_word(".func"))
    return parse_function(declarator.linkage);
  const bool by_thread = declarator.space == StateSpace::reg || declarator.space == StateSpace::local;
  if (by_thread && module_->version <= kLastThreadVariables)
    return parse_thread_variables(declarator);
  if (by_thread || declarator.space == StateSpace::param) {
    Diagnostic& wrong =
        error("state-space", since(declarator.begin),
              fmt::format("a .{} variable belongs into a function body", isa::to_string(declarator.space)));
    if (by_thread)
      wrong.notes = {{"legal", "in a body; at module scope in PTX 2.3 and older"},
                     {"see", "PTX ISA, Register State Space, Local State Space"}};
    return false;
  }
  return parse_variables(declarator);
}

bool Parser::parse_version() {
  advance();
  if (!at(TokenKind::decimal))
    return unexpected("a version such as 9.0", "after '.version'");
  const std::string written(text(token_));
  const size_t point = written.find('.');
  const auto parse_part = [](const std::string& digits, int& out) {
    const char* const end = digits.data() + digits.size();
    const auto [stop, fault] = std::from_chars(digits.data(), end, out);
    return fault == std::errc() && stop == end;
  };
  const bool good = point != std::string_view::npos &&
                    parse_part(written.substr(0, point), module_->version.major) &&
                    parse_part(written.substr(point + 1), module_->version.minor);
  if (!good) {
    error("version", token_.range(), fmt::format("'{}' is no PTX version", written));
    return false;
  }
  module_->version_range = token_.range();
  advance();
  return true;
}

bool Parser::parse_target() {
  advance();
  do {
    if (!at(TokenKind::identifier))
      return unexpected("a target such as sm_90a", "after '.target'");
    if (module_->targets.empty())
      module_->target_range = token_.range();
    module_->targets.emplace_back(text(token_));
    advance();
  } while (accept(TokenKind::comma));
  return true;
}

bool Parser::parse_address_size() {
  use(isa::Directive::Kind::word, ".address_size", isa::kModule, token_.range());
  advance();
  const SourceRange range = token_.range();
  uint64_t bits = 0;
  if (!parse_number(bits, UINT32_MAX, "the address size"))
    return false;
  if (bits != 32 && bits != 64) {
    error("address-size", range, fmt::format("an address has 32 or 64 bits, not {}", bits));
    return false;
  }
  module_->address_size_bits = static_cast<int>(bits);
  return true;
}

bool Parser::parse_number(uint64_t& out, uint64_t limit, std::string_view what) {
  Constant value{ImmKind::integer, 32};
  const bool warp_size = at(TokenKind::identifier) && text(token_) == "WARP_SZ";
  if (!warp_size && !at(TokenKind::integer))
    return unexpected("an integer", fmt::format("for {}", what));
  if (!warp_size && !take(parse_constant(token_.kind, text(token_)), token_.range(), value))
    return false;
  if (value.bits > limit) {
    error("limit", token_.range(), fmt::format("{} is {}, more than {}", what, value.bits, limit));
    return false;
  }
  out = value.bits;
  advance();
  return true;
}

bool Parser::parse_string(std::string& out) {
  if (!at(TokenKind::string))
    return unexpected("a string", "here");
  const std::string_view quoted = text(token_);
  out = quoted.substr(1, quoted.size() - 2);
  advance();
  return true;
}

bool Parser::parse_file() {
  advance();
  const SourceRange range = token_.range();
  uint64_t index = 0;
  FileEntry entry;
  if (!parse_number(index, UINT32_MAX - 1, "the file's number") || !parse_string(entry.name))
    return false;
  if (at(TokenKind::comma)) {
    use(isa::Directive::Kind::part, "time and size of a .file", isa::kModule, token_.range());
    advance();
    if (!parse_number(entry.timestamp, UINT64_MAX, "the time stamp") ||
        !expect(TokenKind::comma, "before the size") ||
        !parse_number(entry.size_bytes, UINT64_MAX, "the size"))
      return false;
  }
  if (!module_->files.emplace(static_cast<uint32_t>(index), std::move(entry)).second) {
    error("duplicate", range, fmt::format("there is a file {} already", index));
    return false;
  }
  return true;
}

// .section .debug_info { label: .b8 1, 2 .b32 .debug_line .b64 label+4 }: checked, and kept as text;
// .debug_str as bytes, too.
bool Parser::parse_section() {
  use(isa::Directive::Kind::word, ".section", isa::kModule, token_.range());
  advance();
  if (!at(TokenKind::dot_word))
    return unexpected("a section name such as .debug_info", "after '.section'");
  DebugSection section;
  section.name = text(token_);
  advance();
  const SourceRange brace = token_.range();
  if (!expect(TokenKind::lbrace, "after the section's name"))
    return false;
  ++open_braces_;
  while (!at(TokenKind::rbrace)) {
    if (at(TokenKind::end)) {
      error("syntax", brace, "this '{' has no '}'");
      return false;
    }
    if (!parse_section_item(section))
      return false;
  }
  section.text = text_.substr(brace.end, token_.begin - brace.end);
  advance();
  module_->sections.push_back(std::move(section));
  return true;
}

bool Parser::parse_section_item(DebugSection& section) {
  if (at(TokenKind::identifier)) {
    section_labels_.insert(text(token_));
    if (section.name == kDebugStrings) {
      section.labels.emplace(text(token_), section.bytes.size());
      if (!take_memory(kBytesOfName))
        return false;
    }
    use(isa::Directive::Kind::part, "a label in a section", isa::kModule, token_.range());
    advance();
    return expect(TokenKind::colon, "after the label");
  }
  constexpr std::pair<std::string_view, int> types[] = {{".b8", 8}, {".b16", 16}, {".b32", 32}, {".b64", 64}};
  for (const auto& [word, bits] : types)
    if (accept_word(word))
      return parse_section_data(section, bits);
  return unexpected("'.b8', '.b16', '.b32', '.b64', a label or '}'", "in a section");
}

// Integers, or one label, section, label+n, section+n or difference of labels.
bool Parser::parse_section_data(DebugSection& section, int bits) {
  if ((at(TokenKind::identifier) && text(token_) != "WARP_SZ") || at(TokenKind::dot_word)) {
    if (bits < 32) {
      error("section", token_.range(), "a label stands in .b32 or .b64 data");
      return false;
    }
    advance();
    uint64_t offset = 0;
    if (at(TokenKind::plus)) {
      use(isa::Directive::Kind::part, "a label and an offset in a section", isa::kModule, token_.range());
      advance();
      return parse_number(offset, UINT64_MAX, "the offset");
    }
    if (!at(TokenKind::minus))
      return true;
    use(isa::Directive::Kind::part, "a difference of labels in a section", isa::kModule, token_.range());
    advance();
    Token label;
    return expect_name(label, "a label");
  }
  do {
    const SourceRange range = token_.range();
    const bool negative = accept(TokenKind::minus);
    uint64_t value = 0;
    if (!parse_number(value, UINT64_MAX, "a section"))
      return false;
    const uint64_t limit = negative ? uint64_t{1} << (bits - 1) : UINT64_MAX >> (64 - bits);
    if (value > limit) {
      error("number", range, fmt::format("the number does not fit .b{}", bits));
      return false;
    }
    if (section.name == kDebugStrings)
      for (int bit = 0; bit < bits; bit += 8)
        section.bytes += static_cast<char>((negative ? -value : value) >> bit);
  } while (accept(TokenKind::comma));
  return true;
}

// .nv_intermediate_source_section { .code_block { ... } ... }
bool Parser::parse_intermediate_sources() {
  use(isa::Directive::Kind::word, kIntermediateSources, isa::kModule, token_.range());
  advance();
  if (!expect(TokenKind::lbrace, "after the section's name"))
    return false;
  ++open_braces_;
  while (!accept(TokenKind::rbrace)) {
    if (!accept_word(".code_block"))
      return unexpected("'.code_block' or '}'", "in a section of intermediate sources");
    if (!expect(TokenKind::lbrace, "after '.code_block'"))
      return false;
    ++open_braces_;
    if (!parse_code_block())
      return false;
    --open_braces_;
  }
  return true;
}

// .ir_name: "tile ir" .sourceFileName: 2 .source_begin, the lines up to one that says .source_end, and }
bool Parser::parse_code_block() {
  const auto named = [&](std::string_view word) {
    if (at_word(word) && text_.substr(token_.end, 1) == ":") {
      advance();
      advance();
      return true;
    }
    return unexpected(fmt::format("'{}:'", word), "in a .code_block");
  };
  IntermediateSource source;
  if (!named(".ir_name") || !parse_string(source.language) || !named(".sourceFileName"))
    return false;
  const SourceRange range = token_.range();
  uint64_t file = 0;
  if (!parse_number(file, UINT32_MAX, "the file"))
    return false;
  if (!module_->files.contains(static_cast<uint32_t>(file))) {
    error("unknown-name", range, fmt::format("no .file {} precedes", file));
    return false;
  }
  source.file = static_cast<uint32_t>(file);
  const auto is_blank = [](std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; };
  const Token begin = token_;
  size_t at = text_.find('\n', begin.end);
  if (!at_word(".source_begin") || at == text_.npos || !is_blank(text_.substr(begin.end, at - begin.end)))
    return unexpected("'.source_begin' and a new line", "in a .code_block");
  constexpr std::string_view kEnd = ".source_end";
  while (at != text_.npos) {
    const size_t first = at + 1;
    at = text_.find('\n', first);
    const std::string_view line = text_.substr(first, at == text_.npos ? at : at - first);
    const size_t word = line.find_first_not_of(" \t");
    if (word != line.npos && line.substr(word).starts_with(kEnd) &&
        is_blank(line.substr(word + kEnd.size()))) {
      lexer_.seek(static_cast<uint32_t>(first + line.size()));
      advance();
      const uint64_t bytes = source.text.size();
      module_->intermediate_sources.push_back(std::move(source));
      return take_memory(kRoomToGrow * (sizeof(IntermediateSource) + bytes) + kBytesOfName) &&
             expect(TokenKind::rbrace, "after '.source_end'");
    }
    source.text.append(line).append("\n");
  }
  error("syntax", begin.range(), "no line '.source_end' follows");
  stop();
  return false;
}

// Sections may follow the functions that refer to them.
void Parser::check_inlined_names() {
  for (const auto& [name, range] : inlined_names_)
    if (!section_labels_.contains(name))
      error("unknown-name", range, fmt::format("no section has a label '{}'", name));
}

bool Parser::parse_pragma(std::vector<std::string>& pragmas, isa::DirectivePlace place) {
  use(isa::Directive::Kind::word, ".pragma", place, token_.range());
  advance();
  do {
    std::string pragma;
    const SourceRange range = token_.range();
    if (!parse_string(pragma))
      return false;
    if (place == isa::kModule && !isa::find_directive(isa::Directive::Kind::pragma, pragma))
      unknown("pragma", range, fmt::format("no module has the pragma \"{}\"", pragma), true);
    use(isa::Directive::Kind::pragma, pragma, place, range);
    pragmas.push_back(std::move(pragma));
  } while (accept(TokenKind::comma));
  return expect_semicolon("the pragma");
}

void Parser::use(isa::Directive::Kind kind, std::string_view name, isa::DirectivePlace place,
                 SourceRange range) {
  if (const isa::Directive* directive = isa::find_directive(kind, name))
    module_->directives.push_back({directive, place, range});
}

void Parser::resolve_aliases() {
  for (const Alias& alias : module_->aliases)
    module_->functions[symbols_.at(alias.name).index].alias_of = symbols_.at(alias.function).index;
}

bool Parser::parse_alias() {
  const uint32_t begin = token_.begin;
  use(isa::Directive::Kind::word, ".alias", isa::kModule, token_.range());
  advance();
  Token names[2];
  if (!expect_name(names[0], "a function") ||
      !expect(TokenKind::comma, "between the alias and its function") || !expect_name(names[1], "a function"))
    return false;
  for (const Token& name : names) {
    const auto it = symbols_.find(text(name));
    if (it == symbols_.end() || !it->second.is_function) {
      error("unknown-name", name.range(), fmt::format("there is no function '{}'", text(name)));
      return false;
    }
  }
  module_->aliases.push_back({std::string(text(names[0])), std::string(text(names[1])), since(begin)});
  return expect_semicolon("the alias");
}

// Leaves the text just behind the matching brace, or at its end.
void Parser::skip_block() {
  const SourceRange brace = token_.range();
  size_t depth = 0;
  do {
    if (at(TokenKind::lbrace))
      ++depth;
    if (at(TokenKind::rbrace))
      --depth;
    if (at(TokenKind::end)) {
      error("syntax", brace, "this '{' has no '}'");
      return;
    }
    advance();
  } while (depth > 0);
}

void Parser::recover_in_module() {
  int depth = open_braces_;
  while (!at(TokenKind::end)) {
    if (accept(TokenKind::semicolon))
      return;
    if (depth > 0 && accept(TokenKind::rbrace)) {
      --depth;
      continue;
    }
    if (at(TokenKind::lbrace) && depth == 0) {
      skip_block();
      if (!at(TokenKind::semicolon) && !at(TokenKind::comma)) // the end of a body, not of an initializer
        return;
      continue;
    }
    if (token_.line_start && at(TokenKind::dot_word) && begins_module_statement(text(token_)))
      return;
    depth += at(TokenKind::lbrace);
    advance();
  }
}

ParseOutcome parse(std::shared_ptr<const SourceText> source, uint64_t most_bytes) {
  return Parser(std::move(source), most_bytes).run();
}

} // namespace lemma::ptx
