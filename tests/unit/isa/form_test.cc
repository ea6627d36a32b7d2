// The form tables read without error, and match() resolves spellings as the assembler does.
#include "isa/form.h"

#include <gtest/gtest.h>

#include <filesystem>
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

TEST(Forms, RowsFitTheirColumns) {
  constexpr size_t kColumns = 120;
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(LEMMA_ISA)) {
    const std::string extension = entry.path().extension();
    if (extension != ".inc" && extension != ".def")
      continue;
    ++files;
    std::ifstream file(entry.path());
    std::string line;
    for (int number = 1; std::getline(file, line); ++number)
      EXPECT_LE(line.size(), kColumns) << entry.path() << ":" << number;
  }
  EXPECT_GT(files, 20);
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
  EXPECT_EQ(match->bindings[0].quals, (std::vector<Qual>{Qual::rn, Qual::ftz}));
  EXPECT_EQ(match->bindings[0].types, (std::vector<Type>{Type::f32}));
  ASSERT_EQ(match->warnings.size(), 1u);
  EXPECT_EQ(match->warnings[0].id, "qualifier-order");
  EXPECT_EQ(spelling_of(match->bindings[0]), "add.rn.ftz.f32");
  EXPECT_TRUE(resolve("add.rn.ftz.f32")->warnings.empty());
}

TEST(Match, OfAShapeTheNearestInSizeAreNamed) {
  Diagnostic error;
  EXPECT_EQ(resolve("wgmma.mma_async.sync.aligned.m64n20k16.f32.f16.f16", &error), nullptr);
  ASSERT_GE(error.notes.size(), 2u);
  EXPECT_EQ(error.notes[0].text, ".m64nNk16 with N = 8..256 in steps of 8");
  EXPECT_EQ(error.notes[1].label, "did you mean");
  EXPECT_EQ(error.notes[1].text, ".m64n16k16, .m64n24k16");
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

TEST(Match, TakesQualifiersInAnyOrderButTypesAndSpacesInTheirs) {
  EXPECT_NE(resolve("setp.s32.eq"), nullptr);
  EXPECT_NE(resolve("ld.gpu.f32.relaxed.global"), nullptr);
  EXPECT_NE(resolve("shfl.down.b32.sync"), nullptr);
  EXPECT_EQ(resolve("cvt.rn.s32.f32"), nullptr); // .rn rounds to floating point
  ASSERT_NE(resolve("cvt.f32.s32.rn"), nullptr);
  EXPECT_EQ(resolve("cvt.f32.s32.rn")->bindings[0].types, (std::vector<Type>{Type::f32, Type::s32}));
  EXPECT_EQ(resolve("cp.async.ca.global.shared"), nullptr);
}

TEST(Match, TakesSomeQualifiersTwice) {
  ASSERT_NE(resolve("add.sat.sat.s32"), nullptr);
  EXPECT_EQ(resolve("add.sat.sat.s32")->bindings[0].quals, (std::vector<Qual>{Qual::sat}));
  EXPECT_EQ(resolve("add.sat.sat.s32")->warnings.size(), 1u);
  EXPECT_EQ(resolve("add.ftz.ftz.f32"), nullptr);
  EXPECT_EQ(resolve("add.f32.f32"), nullptr);
}

TEST(Match, WantsSomeWordsRightAfterTheOpcode) {
  Diagnostic error;
  EXPECT_NE(resolve("mul.wide.u32"), nullptr);
  EXPECT_EQ(resolve("mul.u32.wide", &error), nullptr);
  EXPECT_EQ(error.id, "qualifier-place");
  EXPECT_EQ(error.notes[0].text, "mul.wide.u32");
  EXPECT_NE(resolve("shf.l.b32.wrap"), nullptr);
  EXPECT_EQ(resolve("shf.wrap.l.b32"), nullptr);
}

TEST(Match, SaysWhatWouldBeLegal) {
  Diagnostic error;
  EXPECT_EQ(resolve("add.rn.fzt.f32", &error), nullptr);
  ASSERT_GE(error.notes.size(), 2u);
  EXPECT_EQ(error.notes[0].label, "legal");
  EXPECT_NE(error.notes[0].text.find(".ftz"), std::string::npos);
  EXPECT_EQ(error.notes[1].label, "did you mean");
  EXPECT_NE(error.notes[1].text.find(".ftz"), std::string::npos);
}

OperandShape reg(Type type) {
  OperandShape shape;
  shape.type = type;
  return shape;
}

// {a, b} of b16 and a 32-bit register: the operands of a packing mov.
TEST(Match, TellsWhatALaterVersionMayHave) {
  const auto may_be_later = [](std::string_view spelling) {
    MatchCache cache;
    Diagnostic refusal;
    bool later = false;
    EXPECT_EQ(cache.find(spelling, 0, refusal, &later), nullptr) << spelling;
    return later;
  };
  for (const std::string_view spelling :
       {"frobnicate.u32", "cp.frobnicate", "add.frob.u32", "add.volatile.u32", "add.sat.u64"})
    EXPECT_TRUE(may_be_later(spelling)) << spelling;
  for (const std::string_view spelling :
       {"ad.u32", "cp.asink.wait_all", "st.globl.u32", "st.lobal.u32", "add.globl.u32", "add.u32.u32", "add",
        "add.e4m3", "mul.u32.wide", "wgmma.mma_async.sync.aligned.m64n8k32.f32.f16.f16",
        "wgmma.mma_async.sync.aligned.m64n20k16.f32.f16.f16"})
    EXPECT_FALSE(may_be_later(spelling)) << spelling;
}

TEST(Choose, TheOperandsDecideAmongForms) {
  const Match* match = resolve("mov.b32");
  ASSERT_NE(match, nullptr);
  ASSERT_GT(match->bindings.size(), 1u);
  OperandShapes plain;
  plain.nodes = {reg(Type::b32), reg(Type::f32)};
  plain.count = 2;
  EXPECT_EQ(choose(*match, plain).binding->form->operands[1].elems, 0);
  OperandShapes packing;
  OperandShape vector;
  vector.kind = OperandShape::Kind::vector;
  vector.first_child = 2;
  vector.children = 2;
  packing.nodes = {reg(Type::b32), vector, reg(Type::b16), reg(Type::b16)};
  packing.count = 2;
  const Choice choice = choose(*match, packing);
  EXPECT_TRUE(choice.fits);
  const Form* form = choice.binding->form;
  EXPECT_EQ(form->operands[1].elems, 2);
  EXPECT_FALSE(operands_fit(*form, *choice.binding, plain));
}

TEST(Targets, AFormMayBeGone) {
  const Match* match = resolve("shfl.idx.b32");
  ASSERT_NE(match, nullptr);
  const Target old{60, 0}, volta{70, 0};
  EXPECT_TRUE(is_available(*match->bindings[0].form, {6, 3}, volta));
  EXPECT_FALSE(is_available(*match->bindings[0].form, {6, 4}, volta));
  EXPECT_TRUE(is_available(*match->bindings[0].form, {6, 4}, old));
}

} // namespace
} // namespace lemma::isa
