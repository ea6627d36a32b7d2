// Registers that wgmma has in flight and other instructions touch: as an H200 does, which tests/golden/asked
// (flight.csv) has of each of these forms; and metadata, which is read when an operation is issued.
#include "wgmma_kernel.h"

#include <vector>

namespace lemma::vgpu {
namespace {

constexpr const char* kWaitForOlder = "wgmma.wait_group.sync.aligned 1;\n";
constexpr const char* kStoreCopies = "st.global.v4.f32 [%rd9], {%f8, %f9, %f10, %f11};\n";

// An instruction for each of four accumulators from %f`first` on: {d} becomes a copy, {s} is the accumulator.
std::string for_each(std::string_view instruction, int first = 0) {
  std::string all;
  for (int i = 0; i < kAccumulators; ++i)
    all += fmt::format(fmt::runtime(instruction), fmt::arg("d", fmt::format("%f{}", 8 + i)),
                       fmt::arg("s", fmt::format("%f{}", first + i)), fmt::arg("i", i)) +
           "\n";
  return all;
}

const std::vector<std::string> kReads = {
    "mov.b32 {d}, {s};",
    "add.f32 {d}, {s}, 0f00000000;",
    "{{ .reg .b16 %l, %u; mov.b32 {{%l, %u}}, {s}; mov.b32 {d}, {{%l, %u}}; }}",
    "shfl.sync.idx.b32 {d}, {s}, 3, 31, 0xffffffff;",
    "{{ .reg .pred %q; setp.gt.f32 %q, {s}, 0f41000000; selp.f32 {d}, 0f41880000, 0f00000000, %q; }}",
    "{{ .reg .s32 %n; cvt.rzi.s32.f32 %n, {s}; cvt.rn.f32.s32 {d}, %n; }}",
    "mov.b32 {d}, 0f41880000; setp.gt.f32 %p1, {s}, 0f41000000;\n@%p1 bra ON{i};\nmov.b32 {d}, 0;\nON{i}:",
    "mov.b32 {d}, 0f41880000; setp.lt.u32 %p1, %t, 70;\n@%p1 mov.b32 {d}, {s};",
};

TEST(WgmmaFlight, WhatReadsAnAccumulatorWaitsForIt) {
  const std::string begin = text({kPublish, kFence, mma()});
  for (const std::string& instruction : kReads) {
    SCOPED_TRACE(instruction);
    const std::string read = for_each(instruction);
    expect_both(begin + kCommit + read + kWait + kStoreCopies, 17);
    expect_both(begin + read + kCommit + kWait + kStoreCopies, 17);
    expect_both(begin + kCommit + read + kStoreCopies, 17);
    expect_both(begin + kWait + read + kStoreCopies, 17);
    expect_both(begin + kCommit + kWaitForOlder + read + kStoreCopies, 17);
    const std::string other = for_each(instruction, 4);
    expect_both(begin + kCommit + mma("%rd1", "1", kOtherD) + kCommit + kWaitForOlder + other + kWait +
                    kStoreCopies,
                17);
    expect_both(begin + kCommit + read + kWait + kFence + mma() + kCommit + kWait + kStoreCopies, 17);
    expect_both(begin + kCommit + read + kWait + kFence + mma() + kCommit + kWait + kStore, 33);
  }
}

TEST(WgmmaFlight, SoDoStoresAndCalls) {
  const std::string begin = text({kPublish, kFence, mma()});
  for (const std::string& order :
       {kStore + std::string(kCommit) + kWait, kCommit + std::string(kStore) + kWait,
        std::string(kCommit) + kStore, std::string(kWait) + kStore, std::string(kCommit) + kFence + kStore})
    expect_both(begin + order, 17);
  expect_both(begin + kCommit + "st.shared.v4.f32 [%r1], {%f0, %f1, %f2, %f3};\n" + kWait +
                  "ld.shared.v4.f32 {%f8, %f9, %f10, %f11}, [%r1];\n" + kStoreCopies,
              17);
  const std::string functions = R"(
.func (.param .b32 out) same(.param .b32 in) {
  .reg .b32 %v;
  ld.param.b32 %v, [in];
  st.param.b32 [out], %v;
  ret;
}
)";
  const std::string call = for_each(
      "{{ .param .b32 a; .param .b32 b; st.param.b32 [a], {s}; call (b), same, (a); ld.param.b32 {d}, "
      "[b]; }}");
  expect_both(begin + kCommit + call + kWait + kStoreCopies, 17, functions);
}

TEST(WgmmaFlight, WhatIsWrittenStays) {
  const std::string begin = text({kPublish, kFence, mma(), kCommit});
  const std::string five = for_each("mov.f32 {s}, 0f40a00000;");
  expect_both(begin + five + kWait + kStore, 5);
  expect_both(begin + for_each("add.f32 {s}, {s}, 0f3f800000;") + kWait + kStore, 18);
  // In some lanes: the others have the product.
  for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late, AsyncMode::random}) {
    const KernelRun done =
        run(begin + "setp.lt.u32 %p1, %t, 70;\n" + for_each("@%p1 mov.f32 {s}, 0f40a00000;") + kWait + kStore,
            mode);
    for (size_t i = 0; i < done.out.size(); ++i)
      ASSERT_EQ(std::bit_cast<float>(done.out[i]), i / kAccumulators < 70 ? 5 : 17) << i;
  }
}

// Between a wgmma.fence and the next operation ptxas sees nothing to wait for.
TEST(WgmmaFlight, LateShowsWhatAFenceHidesFromTheAssembler) {
  const std::string five = for_each("mov.f32 {s}, 0f40a00000;");
  expect_shown(text({kPublish, kFence, mma(), kCommit, five, kFence, mma(), kCommit, kWait, kStore}), 21, 33);
  // f16 accumulators, 1 and then 17, as A of ones.
  const std::string ones = "mov.b32 %r20, %r2;\nmov.b32 %r21, %r2;\nmov.b32 %r22, %r2;\nmov.b32 %r23, %r2;\n";
  const std::string halves =
      ones + kPublish + kFence +
      "wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16 {%r20, %r21, %r22, %r23}, %rd1, "
      "%rd2, 1, 1, 1, 0, 0;\n" +
      kCommit;
  const std::string as_a = mma("{%r20, %r21, %r22, %r23}") + kCommit + kWait + kStore;
  expect_both(halves + kWait + kFence + as_a, 1 + 16 * 17);
  expect_both(halves + as_a, 1 + 16 * 17);
  expect_shown(halves + kFence + as_a, 1 + 16 * 17, 17);
}

TEST(WgmmaFlight, AIsWhatItWasWhenItWasIssued) {
  const char* zeros = "mov.b32 %r10, 0;\nmov.b32 %r11, 0;\nmov.b32 %r12, 0;\nmov.b32 %r13, 0;\n";
  const std::string begin = text({kPublish, kFence, mma(kRegistersOfA)});
  expect_both(begin + zeros + kCommit + kWait + kStore, 17);
  expect_both(begin + kCommit + zeros + kWait + kStore, 17);
  expect_both(begin + kCommit + zeros + kFence + mma(kRegistersOfA) + kCommit + kWait + kStore, 17);
  expect_both(begin + kCommit + "ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r1];\n" + kWait + kStore, 17);
}

// B is 0, 1, 2, 3 along K, again and again; the metadata choose 0 and 1, or 2 and 3, of each four.
TEST(WgmmaFlight, MetadataIsReadAtIssue) {
  const std::string setup = R"(
  .reg .b32 %meta, %b0, %b1;
  mov.b32 %b0, 0x3c000000; mov.b32 %b1, 0x42004000;
  st.shared.v4.b32 [%r1+2048], {%b0, %b1, %b0, %b1};
  mov.b32 %meta, 0x44444444;
)";
  const std::string product =
      "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, "
      "%rd2, %meta, 0, 1, 1, 1, 0, 0;\n";
  const std::string others = "mov.b32 %meta, 0xeeeeeeee;\n";
  const std::string end = text({kCommit, kWait, kStore});
  expect_both(setup + kPublish + kFence + product + end, 1 + 8 * 1);
  expect_both(setup + kPublish + others + kFence + product + end, 1 + 8 * 5);
  expect_both(setup + kPublish + kFence + others + product + end, 1 + 8 * 5);
  expect_both(setup + kPublish + kFence + product + others + end, 1 + 8 * 1);
  expect_both(setup + kPublish + kFence + product + kCommit + others + kFence + product + end,
              1 + 8 * 1 + 8 * 5);
}

} // namespace
} // namespace lemma::vgpu
