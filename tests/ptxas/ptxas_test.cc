// Answers come from the record, and from ptxas where the record has none.
#include "ptxas/ptxas.h"

#include <gtest/gtest.h>

namespace lemma::ptxas {
namespace {

constexpr const char* kOptions = "-c -O0 -arch=sm_90";

std::string kernel(const std::string& body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n.reg .b32 r<4>;\n" + body +
         "ret;\n}\n";
}

TEST(Ptxas, SaysWhatIsLegal) {
  const auto answer = ask(kernel("mov.b32 r0, 1;\n"), kOptions);
  ASSERT_TRUE(answer) << kNobodyAnswers;
  EXPECT_TRUE(answer->accepts);
  EXPECT_TRUE(answer->wrong_lines.empty());
}

TEST(Ptxas, NamesTheWrongLines) {
  const auto answer = ask(kernel("mov.b32 r0, 1;\nadd.b32 r0, r0, 1;\nmov.b32 r1, 1;\nfoo r0;\n"), kOptions);
  ASSERT_TRUE(answer) << kNobodyAnswers;
  EXPECT_FALSE(answer->accepts);
  EXPECT_FALSE(answer->wrong_lines.empty());
}

// That it is not the text's length, say, or the options alone by which an answer is found.
TEST(Ptxas, AnswersEachTextAndEachTarget) {
  const std::string text = kernel("elect.sync r0|p, -1;\n");
  const auto with_predicate = ask(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n"
                                  ".reg .b32 r; .reg .pred p;\nelect.sync r|p, -1;\nret;\n}\n",
                                  kOptions);
  const auto without = ask(text, kOptions);
  ASSERT_TRUE(with_predicate && without) << kNobodyAnswers;
  EXPECT_TRUE(with_predicate->accepts);
  EXPECT_FALSE(without->accepts); // no p
}

TEST(Ptxas, MakesTheSameCodeOfTheSameInstructions) {
  const auto code = [](const std::string& text) { return code_of(text, "-c -arch=sm_90"); };
  const std::string store = "st.global.b32 [rd], r0;\n", head = ".reg .b64 rd; mov.b64 rd, 4096;\n";
  const auto one = code(kernel(head + "mov.b32 r0, 1;\n" + store)),
             renamed = code(kernel(head + "mov.b32 r1, 1;\nst.global.b32 [rd], r1;\n")),
             other = code(kernel(head + "mov.b32 r0, 2;\n" + store)), none = code(kernel("foo;\n"));
  ASSERT_TRUE(one && renamed && other && none) << kNobodyAnswers;
  EXPECT_NE(*one, 0u);
  EXPECT_EQ(*one, *renamed);
  EXPECT_NE(*one, *other);
  EXPECT_EQ(*none, 0u);
}

} // namespace
} // namespace lemma::ptxas
