// One pass over the text, by a table of character classes. What is malformed becomes a token too (bad_number,
// bad_character, open_string, open_comment), which the parser reports when it comes to it; so the lexer
// itself has no messages.
#include "ptx/lexer.h"

#include <array>

namespace lemma::ptx {
namespace {

enum CharClass : uint8_t { kSpace = 1, kIdentifier = 2, kDigit = 4, kHex = 8, kSigil = 16 };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (const char c : {' ', '\t', '\r', '\v', '\f', '\n'})
    classes[static_cast<uint8_t>(c)] = kSpace;
  for (int c = '0'; c <= '9'; ++c)
    classes[c] = kIdentifier | kDigit | kHex;
  for (int c = 0; c < 26; ++c) {
    classes['a' + c] = kIdentifier | (c < 6 ? kHex : 0);
    classes['A' + c] = kIdentifier | (c < 6 ? kHex : 0);
  }
  classes['_'] = kIdentifier | kSigil;
  classes['$'] = kIdentifier | kSigil;
  classes['%'] = kSigil;
  return classes;
}

constexpr std::array<uint8_t, 256> kClasses = make_classes();

bool is(char c, uint8_t classes) {
  return (kClasses[static_cast<uint8_t>(c)] & classes) != 0;
}

struct Punctuation {
  char first;
  TokenKind alone;
  char second = '\0'; // with `pair` the token of two characters
  TokenKind pair = TokenKind::end;
};

constexpr Punctuation kPunctuation[] = {
    {',', TokenKind::comma},
    {';', TokenKind::semicolon},
    {':', TokenKind::colon},
    {'(', TokenKind::lparen},
    {')', TokenKind::rparen},
    {'{', TokenKind::lbrace},
    {'}', TokenKind::rbrace},
    {'[', TokenKind::lbracket},
    {']', TokenKind::rbracket},
    {'+', TokenKind::plus},
    {'-', TokenKind::minus},
    {'*', TokenKind::star},
    {'/', TokenKind::slash},
    {'%', TokenKind::percent},
    {'~', TokenKind::tilde},
    {'^', TokenKind::caret},
    {'?', TokenKind::question},
    {'@', TokenKind::at},
    {'=', TokenKind::equal, '=', TokenKind::equal_equal},
    {'!', TokenKind::exclaim, '=', TokenKind::exclaim_equal},
    {'&', TokenKind::amp, '&', TokenKind::amp_amp},
    {'|', TokenKind::pipe, '|', TokenKind::pipe_pipe},
    {'<', TokenKind::less, '<', TokenKind::less_less},
    {'>', TokenKind::greater, '>', TokenKind::greater_greater},
};

constexpr std::array<uint8_t, 128> make_punctuation_index() {
  std::array<uint8_t, 128> index{};
  for (size_t i = 0; i < std::size(kPunctuation); ++i)
    index[static_cast<uint8_t>(kPunctuation[i].first)] = static_cast<uint8_t>(i + 1);
  return index;
}

constexpr std::array<uint8_t, 128> kPunctuationIndex = make_punctuation_index();

} // namespace

std::string_view describe(TokenKind kind) {
  constexpr std::string_view names[] = {"the end of the text",
                                        "an identifier",
                                        "a directive",
                                        "an integer",
                                        "a number",
                                        "a number",
                                        "a number",
                                        "a string",
                                        "','",
                                        "';'",
                                        "':'",
                                        "'('",
                                        "')'",
                                        "'{'",
                                        "'}'",
                                        "'['",
                                        "']'",
                                        "'<'",
                                        "'>'",
                                        "'+'",
                                        "'-'",
                                        "'*'",
                                        "'/'",
                                        "'%'",
                                        "'!'",
                                        "'~'",
                                        "'&'",
                                        "'|'",
                                        "'^'",
                                        "'?'",
                                        "'='",
                                        "'@'",
                                        "'=='",
                                        "'!='",
                                        "'<='",
                                        "'>='",
                                        "'<<'",
                                        "'>>'",
                                        "'&&'",
                                        "'||'",
                                        "a malformed number",
                                        "a stray character",
                                        "an unterminated string",
                                        "an unterminated comment"};
  static_assert(std::size(names) == static_cast<size_t>(TokenKind::open_comment) + 1);
  return names[static_cast<size_t>(kind)];
}

void Lexer::skip_identifier() {
  const char* const text = text_.data();
  const auto size = static_cast<uint32_t>(text_.size());
  uint32_t at = at_;
  while (at < size && is(text[at], kIdentifier))
    ++at;
  at_ = at;
}

bool Lexer::skip_blank() {
  const char* const text = text_.data();
  const auto size = static_cast<uint32_t>(text_.size());
  bool line_start = at_ == 0;
  for (;;) {
    uint32_t at = at_;
    for (; at < size && is(text[at], kSpace); ++at)
      line_start |= text[at] == '\n';
    at_ = at;
    const char c = peek();
    if (c != '/' && c != '#')
      return line_start;
    if (c == '/' && peek(1) == '/') {
      const size_t newline = text_.find('\n', at_);
      at_ = static_cast<uint32_t>(newline == std::string_view::npos ? text_.size() : newline);
    } else if (c == '/' && peek(1) == '*') {
      const size_t close = text_.find("*/", at_ + 2);
      if (close == std::string_view::npos)
        return line_start;
      line_start |= text_.substr(at_, close - at_).find('\n') != std::string_view::npos;
      at_ = static_cast<uint32_t>(close + 2);
    } else if (c == '#' && line_start && text_.substr(at_, 5) == "#line") {
      const size_t newline = text_.find('\n', at_);
      at_ = static_cast<uint32_t>(newline == std::string_view::npos ? text_.size() : newline);
    } else {
      return line_start;
    }
  }
}

Token Lexer::next() {
  Token token;
  token.line_start = skip_blank();
  token.begin = at_;
  token.kind = at_ < text_.size() ? scan() : TokenKind::end;
  token.end = at_;
  return token;
}

Token Lexer::number_at(uint32_t begin) {
  at_ = begin;
  Token token;
  token.begin = begin;
  token.kind = scan_number();
  token.end = at_;
  return token;
}

TokenKind Lexer::scan() {
  const char c = peek();
  if (is(c, kDigit))
    return scan_number();
  if (is(c, kIdentifier) || (c == '%' && is(peek(1), kIdentifier))) {
    ++at_;
    skip_identifier();
    return TokenKind::identifier;
  }
  if (c == '.')
    return scan_dot_word();
  if (c == '"')
    return scan_string();
  if (c == '/' && peek(1) == '*') { // skip_blank() stops here only when the comment has no end
    at_ = static_cast<uint32_t>(text_.size());
    return TokenKind::open_comment;
  }
  return scan_punctuation();
}

TokenKind Lexer::scan_hex_float(uint32_t digits, TokenKind kind) {
  at_ += 2;
  const uint32_t first = at_;
  while (is(peek(), kIdentifier))
    ++at_;
  const std::string_view written = text_.substr(first, at_ - first);
  bool good = written.size() == digits;
  for (const char c : written)
    good &= is(c, kHex);
  return good ? kind : TokenKind::bad_number;
}

TokenKind Lexer::scan_number() {
  const char second = static_cast<char>(peek(1) | 0x20);
  if (peek() == '0' && second == 'f')
    return scan_hex_float(8, TokenKind::f32_bits);
  if (peek() == '0' && second == 'd')
    return scan_hex_float(16, TokenKind::f64_bits);

  const uint32_t begin = at_;
  bool integer = true;
  if (peek() == '0' && (second == 'x' || second == 'b')) {
    at_ += 2;
    const uint32_t first = at_;
    while (second == 'x' ? is(peek(), kHex) : (peek() == '0' || peek() == '1'))
      ++at_;
    if (at_ == first)
      integer = false; // 0x without digits
    if (peek() == 'U')
      ++at_;
    const bool good = integer && !is(peek(), kIdentifier);
    while (is(peek(), kIdentifier))
      ++at_;
    return good ? TokenKind::integer : TokenKind::bad_number;
  }

  bool octal = true;
  for (; is(peek(), kDigit); ++at_)
    octal &= peek() <= '7';
  if (peek() == '.') {
    integer = false;
    for (++at_; is(peek(), kDigit);)
      ++at_;
  }
  if ((peek() | 0x20) == 'e') {
    const uint32_t sign = peek(1) == '+' || peek(1) == '-';
    if (is(peek(1 + sign), kDigit)) {
      integer = false;
      for (at_ += 1 + sign; is(peek(), kDigit);)
        ++at_;
    }
  }
  if (integer && peek() == 'U')
    ++at_;
  const bool octal_fault = integer && text_[begin] == '0' && at_ - begin > 1 && !octal;
  const bool good = !is(peek(), kIdentifier) && !octal_fault;
  while (is(peek(), kIdentifier))
    ++at_;
  return !good ? TokenKind::bad_number : integer ? TokenKind::integer : TokenKind::decimal;
}

// .u32, .shared::cta, .sp::2:4
TokenKind Lexer::scan_dot_word() {
  ++at_;
  if (!is(peek(), kIdentifier))
    return TokenKind::bad_character;
  for (;;) {
    const bool number = is(peek(), kDigit);
    skip_identifier();
    if (number && peek() == ':' && is(peek(1), kDigit))
      at_ += 1;
    else if (peek() == ':' && peek(1) == ':' && is(peek(2), kIdentifier))
      at_ += 2;
    else
      return TokenKind::dot_word;
  }
}

TokenKind Lexer::scan_string() {
  const size_t close = text_.find_first_of("\"\n", at_ + 1);
  if (close == std::string_view::npos || text_[close] == '\n') {
    at_ = static_cast<uint32_t>(close == std::string_view::npos ? text_.size() : close);
    return TokenKind::open_string;
  }
  at_ = static_cast<uint32_t>(close + 1);
  return TokenKind::string;
}

TokenKind Lexer::scan_punctuation() {
  const auto c = static_cast<uint8_t>(peek());
  ++at_;
  const uint8_t index = c < 128 ? kPunctuationIndex[c] : 0;
  if (index == 0) {
    while (at_ < text_.size() && static_cast<uint8_t>(text_[at_]) >= 0x80) // the rest of a UTF-8 sequence
      ++at_;
    return TokenKind::bad_character;
  }
  const Punctuation& entry = kPunctuation[index - 1];
  if (entry.second != '\0' && peek() == entry.second) {
    ++at_;
    return entry.pair;
  }
  if ((c == '<' || c == '>') && peek() == '=') {
    ++at_;
    return c == '<' ? TokenKind::less_equal : TokenKind::greater_equal;
  }
  return entry.alone;
}

} // namespace lemma::ptx
