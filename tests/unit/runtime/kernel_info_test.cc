// Where kernel parameters lie, and what is said of arguments that do not fit. src/runtime/kernel_info.h.
#include "runtime/kernel_info.h"

#include "ptx/parser.h"

#include <gtest/gtest.h>

namespace lemma::runtime {
namespace {

std::unique_ptr<ptx::Module> parse(const std::string& body) {
  auto outcome = ptx::parse(std::make_shared<const SourceText>(
      "test.ptx", ".version 8.0\n.target sm_90a\n.address_size 64\n" + body));
  EXPECT_TRUE(outcome.diagnostics.empty());
  return std::move(outcome.module);
}

constexpr const char* kMixed = R"(
.visible .entry k(.param .u8 a, .param .u64 b, .param .u16 c, .param .f32 d, .param .align 16 .b8 e[24],
                  .param .u64 .ptr .global .align 4 f)
{ ret; }
)";

TEST(KernelInfo, AlignsEachParameter) {
  const auto module = parse(kMixed);
  const std::vector<KernelInfo> kernels = kernel_infos(*module);
  ASSERT_EQ(kernels.size(), 1u);
  const KernelInfo& k = kernels[0];
  ASSERT_EQ(k.parameters.size(), 6u);
  const uint64_t offsets[] = {0, 8, 16, 20, 32, 56};
  const uint64_t sizes[] = {1, 8, 2, 4, 24, 8};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(k.parameters[i].offset_bytes, offsets[i]) << i;
    EXPECT_EQ(k.parameters[i].size_bytes, sizes[i]) << i;
  }
  EXPECT_EQ(k.parameters[4].type, ".b8[24]");
  EXPECT_FALSE(k.parameters[1].is_pointer);
  EXPECT_TRUE(k.parameters[5].is_pointer);
  EXPECT_EQ(k.parameter_bytes, 64u);
}

TEST(KernelInfo, LaysArgumentsOut) {
  const auto module = parse(kMixed);
  const KernelInfo k = kernel_infos(*module)[0];
  std::array<std::byte, 24> aggregate;
  aggregate.fill(std::byte{0xee});
  const Argument arguments[] = {uint8_t{0x11}, uint64_t{0x2222222222222222},    uint16_t{0x3333},
                                1.0f,          Argument::from_bytes(aggregate), uint64_t{0x5555555555555555}};
  const auto bytes = lay_out_arguments(k, arguments);
  ASSERT_TRUE(bytes);
  ASSERT_EQ(bytes->size(), 64u);
  const auto at = [&](size_t i) { return std::to_integer<int>((*bytes)[i]); };
  EXPECT_EQ(at(0), 0x11);
  EXPECT_EQ(at(1), 0);
  EXPECT_EQ(at(8), 0x22);
  EXPECT_EQ(at(16), 0x33);
  EXPECT_EQ(at(23), 0x3f); // 1.0f is 0x3f800000
  EXPECT_EQ(at(32), 0xee);
  EXPECT_EQ(at(55), 0xee);
  EXPECT_EQ(at(63), 0x55);
}

TEST(KernelInfo, RefusesWrongArgumentsAndListsTheParameters) {
  const auto module = parse(".visible .entry k(.param .u64 out, .param .u32 n)\n{ ret; }\n");
  const KernelInfo k = kernel_infos(*module)[0];
  const Argument one[] = {uint64_t{0}};
  const auto few = lay_out_arguments(k, one);
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().kind, ErrorKind::invalid_argument);
  EXPECT_NE(few.error().text.find("kernel k takes 2 arguments, 1 given"), std::string::npos)
      << few.error().text;
  const Argument wide[] = {uint64_t{0}, uint64_t{0}};
  const auto wrong = lay_out_arguments(k, wide);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().text.find("argument 1 has 8 bytes, parameter n (.u32) has 4"), std::string::npos)
      << wrong.error().text;
  EXPECT_NE(wrong.error().text.find("out"), std::string::npos);
}

TEST(KernelInfo, FindsWhatNeedsACooperativeLaunch) {
  const auto module = parse(R"(
.func helper() { .reg .b32 %r1; mov.u32 %r1, %envreg2; ret; }
.visible .entry grid_wide() { call helper; ret; }
.visible .entry plain() { ret; }
)");
  const std::vector<KernelInfo> kernels = kernel_infos(*module);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_TRUE(kernels[0].reads_envreg);
  EXPECT_FALSE(kernels[1].reads_envreg);
}

// As deep as it is long, and as many kernels: neither recursion nor a walk for each of them.
TEST(KernelInfo, FollowsLongChainsOfCalls) {
  constexpr int kFunctions = 100'000;
  std::string text = ".func f0() { .reg .b32 %r1; mov.u32 %r1, %envreg2; ret; }\n";
  for (int i = 1; i < kFunctions; ++i)
    text += ".func f" + std::to_string(i) + "() { call f" + std::to_string(i - 1) + "; ret; }\n";
  for (int i = 0; i < 1000; ++i)
    text += ".entry k" + std::to_string(i) + "() { call f" + std::to_string(kFunctions - 1) + "; ret; }\n";
  const std::vector<KernelInfo> kernels = kernel_infos(*parse(text));
  ASSERT_EQ(kernels.size(), 1000u);
  EXPECT_TRUE(kernels.front().reads_envreg);
  EXPECT_TRUE(kernels.back().reads_envreg);
}

TEST(ArchNumber, TakesTargetsAndNothingElse) {
  EXPECT_EQ(arch_number("sm_90"), 90);
  EXPECT_EQ(arch_number("sm_90a"), 90);
  EXPECT_EQ(arch_number("sm_100f"), 100);
  EXPECT_EQ(arch_number("compute_75"), 75);
  for (const char* wrong :
       {"", "sm_", "sm_a", "90", "sm_90x", "sm_90aa", "sm_-1", "hopper", "sm_95", "sm_80a"})
    EXPECT_EQ(arch_number(wrong), 0) << wrong;
}

} // namespace
} // namespace lemma::runtime
