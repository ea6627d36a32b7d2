// Tokens of PTX text. Comments and white space separate tokens and are dropped; a dotted word (`.s32`,
// `.shared::cta`, `.2d`) is one token, and so is an identifier with its sigil (`%r1`, `$L__BB0_1`).
// `#line` lines are skipped. Knows nothing of the grammar but this: after a dot a digit begins a dotted word
// (`.2d`), and the parser asks for the number `.5` where it expects one.
//
// PTX ISA: "Syntax": source format, comments, identifiers, constants.
// Tests: tests/unit/ptx/lexer_test.cc, tests/fuzz/.
#pragma once

#include "support/source.h"

#include <cstdint>
#include <string_view>

namespace lemma::ptx {

enum class TokenKind : uint8_t {
  end,
  identifier, // name, %name, $name, _name; `_` alone too
  dot_word,   // .name, .a::b
  integer,    // 12, 0x1F, 017, 0b101, each with an optional U
  decimal,    // 1.5, 1., 1e5
  f32_bits,   // 0f3F800000
  f64_bits,   // 0d3FF0000000000000
  string,     // "text"; there are no escapes
  comma,
  semicolon,
  colon,
  lparen,
  rparen,
  lbrace,
  rbrace,
  lbracket,
  rbracket,
  less,
  greater,
  plus,
  minus,
  star,
  slash,
  percent,
  exclaim,
  tilde,
  amp,
  pipe,
  caret,
  question,
  equal,
  at,
  equal_equal,
  exclaim_equal,
  less_equal,
  greater_equal,
  less_less,
  greater_greater,
  amp_amp,
  pipe_pipe,
  bad_number,    // 08, 0f12, 12ab
  bad_character, // a byte that begins no token
  open_string,   // "text up to the end of the line
  open_comment,  // /* up to the end of the text
};

// How a message names a token of this kind: "','", "an identifier".
std::string_view describe(TokenKind kind);

struct Token {
  TokenKind kind = TokenKind::end;
  bool line_start = false; // the first token of its line
  uint32_t begin = 0;
  uint32_t end = 0;
  SourceRange range() const { return {begin, end}; }
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // The next token; TokenKind::end again and again at the end.
  Token next();
  // Reads a number that begins with the dot at `begin` (`.5`, `.5e3`) and goes on behind it.
  Token number_at(uint32_t begin);
  // Goes on at `offset`.
  void seek(uint32_t offset) { at_ = offset; }

  std::string_view text(const Token& token) const {
    return text_.substr(token.begin, token.end - token.begin);
  }

private:
  char peek(uint32_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  // Skips white space, comments and preprocessor lines; true if a line began. Stops at an unterminated
  // comment.
  bool skip_blank();
  void skip_identifier();
  TokenKind scan();
  TokenKind scan_number();
  TokenKind scan_hex_float(uint32_t digits, TokenKind kind);
  TokenKind scan_dot_word();
  TokenKind scan_string();
  TokenKind scan_punctuation();

  std::string_view text_;
  uint32_t at_ = 0;
};

} // namespace lemma::ptx
