// The form tables read without error, and match() resolves spellings as the assembler does.
#include "isa/form.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace lemma::isa {
namespace {

TEST(Forms, EveryRowReads) {
  for (const std::string& error : row_errors())
    ADD_FAILURE() << error;
  EXPECT_GT(forms().size(), 100u);
}

// A word that no row uses is a word that nothing can be spelled with.
TEST(Forms, EveryWordOfTheVocabularyIsUsed) {
  std::set<Opcode> opcodes;
  std::set<Qual> quals;
  std::set<Type> types;
  for (const Form& form : forms()) {
    opcodes.insert(form.opcode);
    for (const Slot& slot : form.slots) {
      quals.insert(slot.quals.begin(), slot.quals.end());
      types.insert(slot.types.begin(), slot.types.end());
    }
    for (const OperandSpec& operand : form.operands)
      types.insert(operand.type);
  }
  for (int i = 1; i < kOpcodeCount; ++i)
    EXPECT_TRUE(opcodes.contains(static_cast<Opcode>(i))) << to_string(static_cast<Opcode>(i));
  for (int i = 1; i < kQualCount; ++i)
    EXPECT_TRUE(quals.contains(static_cast<Qual>(i))) << to_string(static_cast<Qual>(i));
  for (int i = 1; i < kTypeCount; ++i)
    EXPECT_TRUE(types.contains(static_cast<Type>(i))) << to_string(static_cast<Type>(i));
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

TEST(Match, ResolvesSpellingsFoundInRealKernels) {
  std::ifstream file(LEMMA_TEST_DATA "/spellings_in_the_wild.txt");
  ASSERT_TRUE(file);
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    Diagnostic error;
    ++count;
    if (!resolve(line, &error))
      ADD_FAILURE() << line << ": " << error.message
                    << (error.notes.empty() ? "" : " (" + error.notes[0].text + ")");
  }
  EXPECT_GT(count, 800);
}

} // namespace
} // namespace lemma::isa
