// The catalogue as the dialect's verifiers and lowering ask it: registers of an instruction's operands, where
// it may be used, what else there is when a spelling fits nothing.
//
// Not here: the catalogue itself (tests/unit/isa), messages that quote it (tests/mlir/dialect).
#include "nvgpu/instruction.h"

#include <gtest/gtest.h>

#include <set>

namespace lemma::nvgpu {
namespace {

Instruction must_find(std::string_view spelling, size_t form_index = 0) {
  auto found = Instruction::find(spelling, form_index);
  EXPECT_TRUE(found) << spelling << ": " << (found ? "" : found.error().message);
  return found ? *std::move(found) : Instruction();
}

void expect_registers(const Instruction& instruction, size_t index, int count, isa::Type type) {
  const Registers registers = instruction.registers(index);
  EXPECT_EQ(registers.count, count) << instruction.spelling() << " operand " << index;
  EXPECT_EQ(isa::to_string(registers.type), isa::to_string(type))
      << instruction.spelling() << " operand " << index;
}

isa::Target target(std::string_view word) {
  return isa::parse_target(word).value();
}

TEST(Instruction, KnowsTheRegistersOfAProduct) {
  const Instruction f16 = must_find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  EXPECT_EQ(f16.spelling(), "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  EXPECT_EQ(f16.form().operands.size(), 4u);
  EXPECT_EQ(f16.registers(0).count, 4);
  EXPECT_EQ(f16.registers(1).count, 4);
  EXPECT_EQ(f16.registers(2).count, 2);
  EXPECT_EQ(f16.registers(3).count, 4);
  expect_registers(f16, 0, 4, isa::Type::f32);
  expect_registers(f16, 3, 4, isa::Type::f32);

  const Instruction f64 = must_find("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64");
  expect_registers(f64, 0, 2, isa::Type::f64);
  expect_registers(f64, 1, 1, isa::Type::f64);
  expect_registers(f64, 2, 1, isa::Type::f64);
  expect_registers(f64, 3, 2, isa::Type::f64);
}

TEST(Instruction, CountsAScalarAsOneRegister) {
  const Instruction init = must_find("mbarrier.init.shared.b64");
  EXPECT_EQ(init.registers(1).count, 1);
  EXPECT_EQ(init.registers(1).type, isa::Type::u32);
}

TEST(Instruction, TakesTheLengthFromTheSpelling) {
  for (const int count : {1, 2, 4}) {
    const std::string words = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) + ".shared.b16";
    EXPECT_EQ(must_find(words).registers(0).count, count) << words;
  }
  EXPECT_EQ(must_find("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16").registers(0).count, 64);
  EXPECT_EQ(must_find("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16").registers(0).count, 2);
}

TEST(Instruction, ChoosesAmongFormsOfOneSpelling) {
  // A from shared memory (a descriptor, 64 bits), or four registers.
  constexpr std::string_view kSpelling = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16";
  std::vector<int> a_registers;
  for (size_t form = 0; form < 2; ++form)
    a_registers.push_back(must_find(kSpelling, form).registers(1).count);
  EXPECT_EQ(std::set<int>(a_registers.begin(), a_registers.end()), (std::set<int>{1, 4}));
  // Of an index too high, the last.
  EXPECT_EQ(must_find(kSpelling, 7).registers(1).count, a_registers.back());
}

TEST(Instruction, SaysWhereItIsAvailable) {
  const Instruction wgmma = must_find("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16");
  EXPECT_TRUE(wgmma.is_available(target("sm_90a")));
  EXPECT_FALSE(wgmma.is_available(target("sm_90")));
  EXPECT_FALSE(wgmma.is_available(target("sm_100a")));
  const Instruction mma = must_find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  EXPECT_FALSE(mma.is_available(target("sm_75")));
  EXPECT_TRUE(mma.is_available(target("sm_80")));
  EXPECT_TRUE(mma.is_available(target("sm_120a")));
}

TEST(Instruction, NamesTheWordThatFitsNothing) {
  const auto opcode = Instruction::find("mna.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  ASSERT_FALSE(opcode);
  EXPECT_NE(opcode.error().message.find("mna"), std::string::npos) << opcode.error().message;
  const auto shape = Instruction::find("mma.sync.aligned.m16n8k20.row.col.f32.f16.f16.f32");
  ASSERT_FALSE(shape);
  EXPECT_NE(shape.error().message.find("m16n8k20"), std::string::npos) << shape.error().message;
}

using Names = std::set<std::string>;

// Each there once.
Names as_set(const std::vector<std::string>& names) {
  Names set(names.begin(), names.end());
  EXPECT_EQ(set.size(), names.size());
  return set;
}

TEST(LegalShapes, AreThoseOfTheTypes) {
  using isa::Type;
  const auto dense = [](std::vector<Type> types) {
    return as_set(legal_shapes({isa::Opcode::mma, {}, {"sp", "sp::ordered_metadata"}, std::move(types)}));
  };
  EXPECT_EQ(dense({Type::f32, Type::f16, Type::f16, Type::f32}), (Names{"m8n8k4", "m16n8k8", "m16n8k16"}));
  EXPECT_EQ(dense({Type::f64, Type::f64, Type::f64, Type::f64}),
            (Names{"m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"}));
  EXPECT_EQ(dense({Type::f32, Type::f16, Type::bf16, Type::f32}), Names{});
}

TEST(LegalShapes, AreThoseOfFormsWithTheWords) {
  using isa::Type;
  const std::vector<Type> types = {Type::f32, Type::f16, Type::f16, Type::f32};
  EXPECT_EQ(as_set(legal_shapes({isa::Opcode::mma, {"sp"}, {}, types})), (Names{"m16n8k16", "m16n8k32"}));
}

TEST(LegalTypes, AreWrittenAsAProduct) {
  const std::vector<std::string> types =
      legal_types({isa::Opcode::mma, {}, {"sp"}, {isa::Type::f32, isa::Type::f64}});
  EXPECT_EQ(types, std::vector<std::string>{"f64 x f64 + f64 -> f64"});
}

} // namespace
} // namespace lemma::nvgpu
