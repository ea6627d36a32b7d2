// Errors are found all in one run, and hostile text costs no more than its length.
#include "parse_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lemma::ptx {
namespace {

size_t lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string repeat(std::string_view piece, size_t count) {
  std::string out;
  out.reserve(piece.size() * count);
  for (size_t i = 0; i < count; ++i)
    out += piece;
  return out;
}

TEST(Recovery, EveryStatementIsLookedAt) {
  EXPECT_EQ(messages(kernel(
                "mov.b32 %r1, nix;\nmov.b32 {%r1, +}, 3;\nmov.b32 %r1, 4\nmov.b32 %r2, nox;\n{ bra Q; }")),
            "5:14 unknown-name: there is no name 'nix'\n"
            "6:16 syntax: an operand expected here, not '}'\n"
            "7:15 syntax: ';' expected after the instruction\n"
            "8:14 unknown-name: there is no name 'nox'\n"
            "9:7 unknown-label: there is no label 'Q' in reach\n");
}

TEST(Recovery, VectorsBehindAnUnknownWordAreNoBlocks) {
  const std::string said = messages(kernel("mov.v9.b32 {%r1, %r2}, {%r3, %r4};\nmov.b32 %r1, nix;"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
  EXPECT_NE(said.find("5:5 unknown-qualifier"), std::string::npos) << said;
  EXPECT_NE(said.find("6:14 unknown-name"), std::string::npos) << said;
}

TEST(Recovery, AVectorCutShortDoesNotEndTheBody) {
  EXPECT_EQ(messages(kernel("mov.b64 {%r1, ?}, %rd1; mov.b32 %r1, {%h1, %h2;\nmov.b32 %r1, x;")),
            "5:15 syntax: an operand expected here, not '?'\n"
            "5:47 syntax: '}' expected after the vector, not ';'\n"
            "6:14 unknown-name: there is no name 'x'\n");
}

TEST(Recovery, FunctionsAfterABrokenOne) {
  EXPECT_EQ(messages(with_header(
                ".entry 5() { bra X; }\n.entry k() { bra Y; }\n.global .u32 = 3;\n.entry j() { bra Z; }")),
            "4:8 syntax: a function's name expected here, not '5'\n"
            "5:18 unknown-label: there is no label 'Y' in reach\n"
            "6:14 syntax: a variable expected here, not '='\n"
            "7:18 unknown-label: there is no label 'Z' in reach\n");
}

TEST(Recovery, AListOfTargetsCutShortLeavesNothingBehind) { // found by fuzzing
  EXPECT_EQ(messages(kernel("ts: .branchtargets L, 5; L: ret;")),
            "5:23 syntax: a label expected here, not '5'\n");
}

TEST(Recovery, MessagesAreLimited) {
  const std::string all = messages(kernel(repeat("mov.b32 %r1, x;\n", 1000)));
  EXPECT_EQ(lines(all), 101u);
  EXPECT_NE(all.find("105:14 too-many-errors: more than 100 errors: stopped\n"), std::string::npos);
}

TEST(Hostile, DeepScopes) {
  EXPECT_TRUE(messages(with_header(".func f " + repeat("{", 256) + repeat("}", 256))).empty());
  EXPECT_EQ(messages(with_header(".func f " + repeat("{", 300) + repeat("}", 300))),
            "4:265 limit: scopes nest deeper than 256\n");
  EXPECT_GE(lines(messages(with_header(".func f " + repeat("{", 1000000)))), 1u);
  EXPECT_GE(lines(messages(with_header(repeat("{", 1000000)))), 1u);
}

TEST(Hostile, DeepOperands) {
  EXPECT_NE(messages(kernel("mov.b32 " + repeat("{", 100000) + ";")), "");
  EXPECT_NE(messages(kernel("mov.b32 " + repeat("[", 100000) + ";")), "");
  EXPECT_NE(
      messages(kernel("mov.b32 {" + repeat("%r1,", 100000) + "%r1};")).find("elements in one instruction"),
      std::string::npos);
  EXPECT_NE(messages(kernel("mov.b32 " + repeat("%r1,", 1000) + "%r1;")).find("operands"), std::string::npos);
  EXPECT_NE(messages(with_header(".global .u32 x" + repeat("[1]", 1000) + ";")).find("dimensions"),
            std::string::npos);
}

TEST(Hostile, HugeNumbersAllocateNothing) {
  EXPECT_NE(messages(with_header(".global .u32 x[2][0x4000000000000000] = {{1},{2}};")), "");
  EXPECT_NE(
      messages(with_header(".global .u8 x[4][0x3000000000000000] = {{1},{2}};")).find("leaves out too many"),
      std::string::npos);
  EXPECT_TRUE(messages(with_header(".global .u8 x[0x3000000000000000] = {1};")).empty());
  std::string functions = with_header("");
  for (int i = 0; i < 40; ++i)
    functions += ".func f" + std::to_string(i) + " { .reg .b32 a<900000>; }\n";
  const ParseOutcome outcome = parse_text(functions);
  size_t registers = 0;
  for (const Function& f : outcome.module->functions)
    registers += f.registers.size();
  EXPECT_LE(registers, 5'000'000u);
  EXPECT_TRUE(has_errors(outcome.diagnostics));
}

// Names that clash, forward branches and scopes: none costs more than in proportion (a quadratic one takes
// minutes).
TEST(Hostile, LongTextsTakeLinearTime) {
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += ".reg .b32 a" + std::to_string(i) + ", b" + std::to_string(i) + "_<3>; bra L" +
            std::to_string(i) + ";\n";
  for (int i = 0; i < 20000; ++i)
    text += "{ { L" + std::to_string(i) + ": } } L" + std::to_string(i) + ":";
  EXPECT_EQ(messages(kernel(text)), "");
  std::string digits; // every prefix ends in a digit
  for (int i = 0; i < 20000; ++i)
    digits += ".reg .b32 a" + std::to_string(i) + "_1<3>;";
  EXPECT_EQ(messages(kernel(digits)), "");
}

// Whatever is kept for each of them, many of them are more than a caller may allow.
TEST(Hostile, MemoryIsCounted) {
  const auto parse_within = [](const std::string& text, uint64_t most_bytes) {
    return parse(std::make_shared<const SourceText>("large.ptx", text), most_bytes);
  };
  const ParseOutcome small = parse_within(kernel("ret;"), UINT64_MAX);
  EXPECT_GT(small.memory_bytes, kernel("ret;").size());
  EXPECT_LT(small.memory_bytes, 1u << 16);
  EXPECT_FALSE(has_errors(parse_within(kernel("ret;"), small.memory_bytes).diagnostics));
  EXPECT_TRUE(has_errors(parse_within(kernel("ret;"), small.memory_bytes - 1).diagnostics));

  constexpr uint64_t kMost = 4 << 20;
  for (const std::string& text : {
           kernel(repeat("ret;", 50000)),
           kernel(repeat("{}", 10) + ".reg .b32 many<120000>;"),
           kernel(repeat(".loc 1 2 3\n", 40000)),
           with_header(".global .u8 x[] = {" + repeat("1,", 40000) + "1};"),
           with_header(".global .u8 x[2][60000] = {{1},{1}};"),
           with_header(repeat("\n", 2 << 20)),
           with_header(".global .u8 x<20000>;"),
       }) {
    const ParseOutcome outcome = parse_within(text, kMost);
    ASSERT_EQ(outcome.diagnostics.size(), 1u) << text.substr(0, 200);
    EXPECT_EQ(outcome.diagnostics[0].id, "memory");
    EXPECT_NE(outcome.diagnostics[0].message.find("more than 4194304 bytes of memory (--max-memory)"),
              std::string::npos)
        << outcome.diagnostics[0].message;
  }
}

TEST(Hostile, LongNamesMakeNoLongMessages) {
  const std::string name(3'000'000, 'n');
  for (const std::string& text :
       {kernel("mov.b32 " + name + ", 1;"), kernel("bra " + name + ";"), kernel(name + ".u32 %r1;"),
        kernel("mov." + name + " %r1, 1;"), kernel("call " + name + ";"), with_header("." + name + " x;"),
        kernel("mov.b32 %r1, 0x" + std::string(3'000'000, 'f') + ";")}) {
    const std::string all = messages(text);
    EXPECT_GT(all.size(), 10u);
    EXPECT_LT(all.size(), 10'000u) << all.substr(0, 200);
  }
}

TEST(Hostile, TextsCutAnywhere) {
  const std::string whole = kernel(R"(.loc 1 2 3
{ .param .align 4 .b8 q[8]; pr: .callprototype (.param .b32 _) _ (.param .b32 _); @!%p1 bra L; }
ld.shared.v2.b32 {%r1, _}, [sh+4*(2-1)]; setp.eq.s32 %p1|%p2, %r1, 0x1F; L: ts: .branchtargets L; ret;)");
  ASSERT_EQ(messages(whole), "");
  const size_t body = whole.find('{');
  for (size_t length = 0; length < whole.rfind('}'); ++length)
    EXPECT_TRUE(!messages(whole.substr(0, length)).empty() || length < body) << length;
}

} // namespace
} // namespace lemma::ptx
