// The parser's state and methods, spread over parser.cc (module), parse_variable.cc (declarations),
// parse_function.cc (headers and bodies) and parse_operand.cc (instructions, operands, constant expressions).
// Private to this folder.
//
// A method that returns bool returns false after it has reported an error; its caller recovers at the next
// statement. Nothing recurses over the text but vectors, expressions and initializers, each with a limit.
//
// Tests: tests/unit/ptx/, robustness_test.cc above all; tests/fuzz/.
#pragma once

#include "isa/directive.h"
#include "isa/form.h"
#include "ptx/constant.h"
#include "ptx/lexer.h"
#include "ptx/names.h"
#include "ptx/parser.h"

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lemma::ptx {

// A vector that grows holds, and leaves behind, up to so many times what is in it.
inline constexpr uint64_t kRoomToGrow = 2;
inline constexpr size_t kMostSuggestedFrom = 1000; // names, when there is none of a word
inline constexpr uint64_t kBytesOfName = 128;      // in the tables of names

// A declaration's words up to its type: linkage, state space, alignment, vector, type.
struct Declarator {
  Linkage linkage = Linkage::none;
  StateSpace space = StateSpace::generic;
  Type type = Type::none;
  int vector_elems = 1;
  uint32_t align = 0;
  std::vector<std::string> attributes;
  uint32_t begin = 0; // where the declaration begins
};

class Parser {
public:
  Parser(std::shared_ptr<const SourceText> source, uint64_t most_bytes);
  ParseOutcome run();

private:
  struct ModuleSymbol {
    bool is_function = false;
    uint32_t index = 0; // Module::variables or Module::functions
  };
  struct PendingLabel {
    std::string_view name;
    SourceRange range;
    uint32_t instruction = kNone; // operand 0 of this instruction, or
    uint32_t target_list = kNone; // entry `entry` of this target list
    uint32_t entry = 0;
  };
  struct OpenScope {
    uint32_t index = 0;
    uint32_t first_pending = 0;
    SourceRange brace;
  };
  // What is known while a body is read.
  struct Body {
    Function function;
    ScopedNames names;
    std::vector<OpenScope> open;
    std::vector<PendingLabel> pending; // those of inner scopes last
    uint32_t location = kNone;
  };

  // Tokens and messages (parser.cc).
  void advance();
  bool at(TokenKind kind) const { return token_.kind == kind; }
  bool at_word(std::string_view word) const { return at(TokenKind::dot_word) && text(token_) == word; }
  bool accept(TokenKind kind);
  bool accept_word(std::string_view word);
  isa::DirectivePlace body_place() const {
    return body_->function.is_entry ? isa::kEntryBody : isa::kFunctionBody;
  }
  // Notes the use of a directive that has a row.
  void use(isa::Directive::Kind kind, std::string_view name, isa::DirectivePlace place, SourceRange range);
  bool expect(TokenKind kind, std::string_view context);
  // The semicolon of a statement. One forgotten at the end of a line is reported without losing the next
  // statement.
  bool expect_semicolon(std::string_view after);
  std::string_view text(const Token& token) const { return lexer_.text(token); }
  SourceRange since(uint32_t begin) const { return {begin, last_end_}; }
  Diagnostic& error(std::string_view id, SourceRange range, std::string message);
  // A text for a PTX version later than those that are known.
  bool is_newer() const;
  // An error; in a text for a later version, which may have what is not known here, unsupported.
  Diagnostic& unknown(std::string_view id, SourceRange range, std::string message, bool may_come_later);
  // The next token is a directive that nobody knows where those of `known` may stand.
  void unknown_directive(const std::vector<std::string_view>& known, bool may_come_later = true);
  static bool is_misspelt(std::string_view word, const std::vector<std::string_view>& known);
  bool warn(Diagnostic warning); // false: there are too many already
  void stop();
  // Counts what is kept of the text. False: that is more than the caller allows, and parsing has stopped.
  bool take_memory(uint64_t bytes);
  bool unexpected(std::string_view wanted, std::string_view context);
  void suggest(Diagnostic& diagnostic, std::string_view word,
               const std::vector<std::string_view>& candidates);
  bool expect_name(Token& name, std::string_view what);

  // Module level (parser.cc).
  bool parse_header();
  void parse_top_level();
  bool parse_module_statement();
  bool parse_version();
  bool parse_target();
  bool parse_address_size();
  bool parse_file();
  bool parse_section();
  bool parse_section_item(DebugSection& section);
  bool parse_section_data(DebugSection& section, int bits);
  bool parse_intermediate_sources();
  bool parse_code_block();
  void check_inlined_names();
  bool parse_pragma(std::vector<std::string>& pragmas, isa::DirectivePlace place);
  bool parse_alias();
  void resolve_aliases();
  bool parse_string(std::string& out);
  bool parse_number(uint64_t& out, uint64_t limit, std::string_view what);
  void recover_in_module();
  void skip_block(); // from { to its }

  // Declarations (parse_variable.cc).
  bool parse_declarator(Declarator& out);
  void unknown_declarator_word(const Declarator& declarator);
  bool parse_attributes(std::vector<std::string>& out, isa::DirectivePlace place);
  bool parse_align(uint32_t& out);
  bool parse_variables(const Declarator& declarator);
  bool parse_dimensions(Variable& variable);
  bool finish_layout(Variable& variable);
  bool parse_initializer(Variable& variable);
  bool parse_initializer_level(Variable& variable, const std::vector<uint64_t>& shape, size_t level,
                               uint64_t base);
  bool parse_init_value(Variable& variable);
  bool parse_init_symbol(InitValue& value);
  bool check_address_element(const InitValue& value, Type type, SourceRange range);
  bool check_init_symbol(const Token& name, InitValue& value);
  bool parse_opaque_initializer(Variable& variable);
  bool parse_count_of_names(std::optional<uint64_t>& count);
  bool check_declaration(const Variable& variable);
  bool declare_variables(const Variable& variable, const Token& name, std::optional<uint64_t> count);
  bool declare_variable(Variable variable, std::string_view name, SourceRange range);
  bool declare_module_variable(Variable variable, std::string_view name, SourceRange range);
  bool parse_registers(const Declarator& declarator);
  bool parse_thread_variables(const Declarator& declarator);
  bool take_thread_variables();
  bool add_registers(const Declarator& declarator, const Token& name, std::optional<uint64_t> count);

  // Functions (parse_function.cc).
  bool parse_function(Linkage linkage);
  bool parse_parameters(std::vector<Variable>& out, bool unnamed);
  bool parse_parameter(std::vector<Variable>& out, bool unnamed);
  bool parse_pointer_attributes(Variable& parameter);
  bool parse_function_directives(Function& function);
  bool parse_language(Function& function);
  bool parse_dim3(std::array<uint32_t, 3>& out, std::string_view what, uint32_t least);
  bool parse_count(uint32_t& out, std::string_view what);
  void refuse_zero(const Token& directive, bool good, uint32_t count);
  bool declare_function(Function& function, const Token& name, uint32_t& index);
  void declare_parameters();
  void parse_body(uint32_t function_index, SourceRange brace);
  bool parse_statement();
  bool parse_body_directive();
  bool parse_label(const Token& name);
  bool parse_prototype(const Token& name);
  bool parse_target_list(const Token& name, bool is_call);
  bool parse_loc();
  bool parse_inlined_at(LineLocation& location);
  bool parse_loc_intermediate();
  bool keep_location(LineLocation location);
  void open_scope(SourceRange brace);
  void close_scope();
  void resolve_labels(const OpenScope& scope);
  void report_unknown_label(const PendingLabel& pending);
  void recover_in_body();
  uint32_t here() const { return static_cast<uint32_t>(body_->function.instructions.size()); }
  uint32_t scope() const { return body_->open.back().index; }

  // Instructions (parse_operand.cc).
  bool parse_instruction();
  bool parse_instruction_into(Instruction& instruction);
  bool keep_instruction(Instruction instruction);
  bool parse_guard(Guard& guard);
  bool parse_opcode(const isa::Match*& match);
  void warn_about_order(const isa::Match& match, const isa::Binding& binding);
  bool count_element();
  bool push_operand(int depth);
  Operands take_operands(size_t first);
  void unwrap_single_elements(Instruction& instruction);
  bool parse_operands(Instruction& instruction);
  bool parse_call_operands(Instruction& instruction);
  bool parse_call_parts(Operand& callee, Operand& returned, Operand& arguments, Operand& prototype);
  bool parse_call_list(Operand& out);
  bool parse_branch_target(Instruction& instruction);
  bool parse_operand(Operand& out, int depth);
  bool parse_pair(Operand& out);
  bool parse_vector(Operand& out, int depth);
  bool parse_address(Operand& out, int depth);
  bool parse_identifier_operand(Operand& out);
  bool parse_array_element(Operand& out);
  bool parse_component(Operand& out);
  bool parse_selector_list(std::string_view word, Operand& out);
  bool next_is_register() const;
  bool resolve(const Token& name, Operand& out);
  bool resolve_special_register(const Token& name, Operand& out);
  bool parse_immediate(Operand& out);
  bool parse_offset(int64_t& out);
  void report_unknown_name(const Token& name, std::string_view what);

  // Constant expressions (parse_operand.cc).
  bool parse_expression(Constant& out);
  bool parse_ternary(Constant& out, int depth);
  bool parse_binary(Constant& out, int tightest, int depth);
  bool parse_unary(Constant& out, int depth);
  bool parse_primary(Constant& out, int depth);
  bool take(ConstantResult result, SourceRange range, Constant& out);
  bool parse_integer_expression(uint64_t& out, std::string_view what);

  std::shared_ptr<const SourceText> source_;
  std::string_view text_;
  Lexer lexer_;
  Token token_;           // the next one, not consumed
  uint32_t last_end_ = 0; // end of the token consumed last
  int open_braces_ = 0;   // of vectors and initializers, within the current statement

  std::unique_ptr<Module> module_;
  Diagnostics diagnostics_;
  Diagnostic discarded_; // where messages beyond the limit go
  size_t errors_ = 0;
  size_t warnings_ = 0;
  size_t suggestions_ = 0;
  size_t unknown_messages_ = 0;
  bool stopped_ = false;
  bool not_understood_ =
      false; // of the current statement: legal or not, it is beyond what is known or supported

  std::unordered_map<std::string_view, ModuleSymbol> symbols_;
  std::shared_ptr<isa::MatchCache> matches_ = std::make_shared<isa::MatchCache>();
  isa::OperandShapes shapes_;                                    // of the current instruction
  const isa::Form* form_ = nullptr;                              // likewise: one that its words fit
  size_t elements_ = 0;                                          // likewise
  SourceRange opcode_range_;                                     // likewise
  bool opcode_is_together_ = true;                               // likewise
  std::unordered_map<const isa::Match*, size_t> order_warnings_; // indices of diagnostics_
  std::set<std::string, std::less<>> unknown_; // spellings and names of a newer text that were reported
  std::vector<Operand> operands_; // likewise: what has been read of the lists that are not complete
  uint64_t operand_bytes_ = 0;    // likewise: of its operands
  std::string joined_;            // likewise, the spelling of its opcode
  // File, line, column -> the last such of Module::locations.
  std::map<std::array<uint64_t, 3>, uint32_t> locations_;
  std::set<std::string_view> section_labels_;
  std::map<std::string_view, SourceRange> inlined_names_; // labels that .loc takes functions' names from
  std::deque<std::string> made_names_;                    // of name<N>
  std::vector<uint32_t> inline_depth_;                    // of each of Module::locations
  const uint64_t most_bytes_;                             // of memory, for the module
  uint64_t taken_bytes_ = 0;                              // ... of which so much is taken
  uint64_t registers_left_ = 0;                           // of the module
  uint64_t init_padding_left_ = 0;                        // elements that nested initializers may leave out
  std::unique_ptr<Body> body_;                            // while a body is read
  std::unique_ptr<Body> thread_;                          // of Module::thread_variables, once there are any
};

} // namespace lemma::ptx
