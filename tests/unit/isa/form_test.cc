// The form tables read without error, and match() resolves spellings as the assembler does.
#include "isa/form.h"

#include <gtest/gtest.h>

namespace lemma::isa {
namespace {

TEST(Forms, EveryRowReads) {
  for (const std::string& error : row_errors())
    ADD_FAILURE() << error;
  EXPECT_GT(forms().size(), 100u);
}

const Match* resolve(std::string_view dotted, Diagnostic* error = nullptr) {
  static MatchCache cache;
  Diagnostic ignored;
  return cache.find(dotted, 0, error ? *error : ignored);
}

TEST(Match, PutsQualifiersInTheOrderOfTheIsa) {
  const Match* match = resolve("add.ftz.f32.rn");
  ASSERT_NE(match, nullptr);
  EXPECT_EQ(match->opcode, Opcode::add);
  EXPECT_EQ(match->quals, (std::vector<Qual>{Qual::rn, Qual::ftz}));
  EXPECT_EQ(match->types, (std::vector<Type>{Type::f32}));
  ASSERT_EQ(match->warnings.size(), 1u);
  EXPECT_EQ(match->warnings[0].notes[0].text, "add.rn.ftz.f32");
  EXPECT_TRUE(resolve("add.rn.ftz.f32")->warnings.empty());
}

TEST(Match, NamesTheWordThatFitsNoForm) {
  Diagnostic error;
  EXPECT_EQ(resolve("add.rn.fzt.f32", &error), nullptr);
  EXPECT_EQ(error.id, "unknown-qualifier");
  EXPECT_EQ(error.range, (SourceRange{7, 10}));
  EXPECT_EQ(resolve("addd.f32", &error), nullptr);
  EXPECT_EQ(error.id, "unknown-opcode");
  EXPECT_EQ(resolve("add.rn.rz.f32", &error), nullptr);
  EXPECT_EQ(error.range, (SourceRange{7, 9}));
}

} // namespace
} // namespace lemma::isa
