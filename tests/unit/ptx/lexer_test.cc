// Tokens: every kind, their borders, and text that is no token.
#include "ptx/lexer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lemma::ptx {
namespace {

using Kinds = std::vector<TokenKind>;

Kinds kinds(std::string_view text) {
  Lexer lexer(text);
  Kinds out;
  for (Token token = lexer.next(); token.kind != TokenKind::end; token = lexer.next())
    out.push_back(token.kind);
  return out;
}

std::vector<std::string> texts(std::string_view text) {
  Lexer lexer(text);
  std::vector<std::string> out;
  for (Token token = lexer.next(); token.kind != TokenKind::end; token = lexer.next())
    out.emplace_back(lexer.text(token));
  return out;
}

using Texts = std::vector<std::string>;

TEST(Lexer, Identifiers) {
  EXPECT_EQ(texts("abc %r1 $L__BB0_1 _x _ %SP a$b_1"),
            (Texts{"abc", "%r1", "$L__BB0_1", "_x", "_", "%SP", "a$b_1"}));
  for (const TokenKind kind : kinds("abc %r1 $L__BB0_1 _x _ %SP a$b_1"))
    EXPECT_EQ(kind, TokenKind::identifier);
}

TEST(Lexer, DottedWordsKeepTheirColons) {
  EXPECT_EQ(texts("cp.async.bulk.tensor.2d.shared::cluster.global L:"),
            (Texts{"cp", ".async", ".bulk", ".tensor", ".2d", ".shared::cluster", ".global", "L", ":"}));
  EXPECT_EQ(texts(".L2::cache_hint"), (Texts{".L2::cache_hint"}));
  EXPECT_EQ(texts("%tid.x"), (Texts{"%tid", ".x"}));
}

TEST(Lexer, Integers) {
  for (const char* text : {"0", "12", "12U", "0x1fU", "0X1F", "017", "017U", "0b101", "0B1U"})
    EXPECT_EQ(kinds(text), Kinds{TokenKind::integer}) << text;
  for (const char* text : {"08", "08f", "12u", "12ab", "0x", "0xg", "0b2", "0b", "1UU"})
    EXPECT_EQ(kinds(text), Kinds{TokenKind::bad_number}) << text;
}

TEST(Lexer, Floats) {
  for (const char* text : {"1.0", "1.", "1.5e-3", "1e5", "1E+5", "9.0", "00.5"})
    EXPECT_EQ(kinds(text), Kinds{TokenKind::decimal}) << text;
  EXPECT_EQ(kinds("0f3F800000"), Kinds{TokenKind::f32_bits});
  EXPECT_EQ(kinds("0F3f800000"), Kinds{TokenKind::f32_bits});
  EXPECT_EQ(kinds("0d3FF0000000000000"), Kinds{TokenKind::f64_bits});
  for (const char* text : {"0f3f80000", "0f3f8000000", "0d3ff", "0f", "1.5x", "1.5e", "1e+"})
    EXPECT_EQ(kinds(text)[0], TokenKind::bad_number) << text;
}

TEST(Lexer, ANumberMayBeginWithADot) {
  Lexer lexer(".5e3;");
  const Token word = lexer.next();
  EXPECT_EQ(word.kind, TokenKind::dot_word);
  const Token number = lexer.number_at(word.begin);
  EXPECT_EQ(number.kind, TokenKind::decimal);
  EXPECT_EQ(lexer.text(number), ".5e3");
  EXPECT_EQ(lexer.next().kind, TokenKind::semicolon);
}

TEST(Lexer, Punctuation) {
  EXPECT_EQ(texts(",;:(){}[]<>+-*/%!~&|^?=@"),
            (Texts{",", ";", ":", "(", ")", "{", "}", "[", "]", "<", ">", "+",
                   "-", "*", "/", "%", "!", "~", "&", "|", "^", "?", "=", "@"}));
  EXPECT_EQ(kinds("== != <= >= << >> && ||"),
            (Kinds{TokenKind::equal_equal, TokenKind::exclaim_equal, TokenKind::less_equal,
                   TokenKind::greater_equal, TokenKind::less_less, TokenKind::greater_greater,
                   TokenKind::amp_amp, TokenKind::pipe_pipe}));
  EXPECT_EQ(texts("7 % 3"), (Texts{"7", "%", "3"}));
  EXPECT_EQ(texts("7%3"), (Texts{"7", "%3"})); // as ptxas reads it
}

TEST(Lexer, CommentsAndLinesAreBlank) {
  EXPECT_EQ(texts("a // b\nc /* d\n e */ f /**/ g"), (Texts{"a", "c", "f", "g"}));
  EXPECT_EQ(texts("#line 5 \"x.cu\"\na\n#line 7\n"), (Texts{"a"}));
  EXPECT_EQ(kinds("a # b"), (Kinds{TokenKind::identifier, TokenKind::bad_character, TokenKind::identifier}));
}

TEST(Lexer, KnowsWhereLinesBegin) {
  Lexer lexer("a b\n c /*\n*/ d");
  std::vector<bool> starts;
  for (Token token = lexer.next(); token.kind != TokenKind::end; token = lexer.next())
    starts.push_back(token.line_start);
  EXPECT_EQ(starts, (std::vector<bool>{true, false, true, true}));
}

TEST(Lexer, TextThatIsNoToken) {
  EXPECT_EQ(kinds("/* abc"), Kinds{TokenKind::open_comment});
  EXPECT_EQ(kinds("\"abc\n"), Kinds{TokenKind::open_string});
  EXPECT_EQ(kinds("\"abc"), Kinds{TokenKind::open_string});
  EXPECT_EQ(kinds("\xc3\xa9 x"), (Kinds{TokenKind::bad_character, TokenKind::identifier}));
  EXPECT_EQ(kinds(std::string_view("\0", 1)), Kinds{TokenKind::bad_character});
  EXPECT_EQ(kinds(". x"), (Kinds{TokenKind::bad_character, TokenKind::identifier}));
  EXPECT_EQ(kinds("\"a b\""), Kinds{TokenKind::string});
}

TEST(Lexer, EveryKindHasAName) {
  for (int kind = 0; kind <= static_cast<int>(TokenKind::open_comment); ++kind)
    EXPECT_FALSE(describe(static_cast<TokenKind>(kind)).empty());
}

} // namespace
} // namespace lemma::ptx
