// One rule of wgmma's registers a test: a kernel that breaks it, and a twin that does not.
#include "check/checker.h"
#include "kernel.h"
#include "wgmma_kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::check {
namespace {

using vgpu::kCommit;
using vgpu::kFence;
using vgpu::kOtherD;
using vgpu::kPublish;
using vgpu::kRegistersOfA;
using vgpu::kStore;
using vgpu::kWait;
using vgpu::mma;
using vgpu::text;

constexpr const char* kWaitForAllButOne = "wgmma.wait_group.sync.aligned 1;\n";
constexpr const char* kEnd = "ret;\n";

// "wgmma.wait: st.global.v4.f32 ~ wgmma.mma_async... x4" a line, notes with "note " before; the same in both
// modes. The name of a matrix instruction ends where its shape begins.
std::string findings_of(const std::string& statements, const std::string& before = "") {
  std::string found[2];
  for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late}) {
    vgpu::Kernel kernel(before + R"(
.visible .entry k(.param .u64 pout) {
  .reg .pred %p<10>;
  .reg .b32 %r<100>, %t;
  .reg .b64 %rd<100>, %out;
  .reg .f32 %f<100>;
  mov.u32 %t, %tid.x;
  ld.param.u64 %out, [pout];
)" + vgpu::kSetup + kPublish +
                        statements + "}\n");
    Checker checker;
    kernel.watch(checker);
    kernel.config().block = {vgpu::kGroup, 1, 1};
    kernel.config().workers = 1;
    kernel.config().async = mode;
    kernel.config().count_accesses = mode == AsyncMode::late; // another observer beside the checker
    const Report report = kernel.run({kernel.buffer(std::vector<uint32_t>(4096), "out")});
    EXPECT_EQ(vgpu::fault_text(report), "");
    const auto opcode = [](const Place& place) {
      const std::string all =
          place.instruction.substr(place.instruction[0] == '@' ? place.instruction.find(' ') + 1 : 0);
      return all.substr(0, std::min(all.find_first_of(" ;"), all.find(".sync")));
    };
    std::string& text = found[mode == AsyncMode::late];
    for (const Finding& finding : checker.findings())
      text += fmt::format("{}{}: {} ~ {} x{}\n", finding.is_note ? "note " : "", finding.id,
                          opcode(finding.access.place),
                          finding.earlier ? opcode(finding.earlier->place) : "nothing", finding.count);
  }
  EXPECT_EQ(found[0], found[1]);
  return found[0];
}

std::string of(std::initializer_list<std::string> parts, const std::string& before = "") {
  return findings_of(text(parts) + kEnd, before);
}

TEST(WgmmaRegisters, AProductFencedCommittedAndWaitedFor) {
  EXPECT_EQ(of({kFence, mma(), mma(), kCommit, kWait, kStore}), "");
}

TEST(WgmmaRegisters, AccumulatorsInFlight) {
  EXPECT_EQ(of({kFence, mma(), kCommit, kStore, kWait}),
            "wgmma.inflight: st.global.v4.f32 ~ wgmma.mma_async x4\n");
  EXPECT_EQ(of({kFence, mma(), kCommit, "add.f32 %f9, %f0, %f1;\n", kWait}),
            "wgmma.inflight: add.f32 ~ wgmma.mma_async x4\n");
  EXPECT_EQ(of({kFence, mma(), kCommit, "add.f32 %f1, %f9, %f9;\n", kWait}),
            "wgmma.inflight: add.f32 ~ wgmma.mma_async x4\n");
  // An instruction that no lane executes, and one of other registers.
  EXPECT_EQ(of({"setp.gt.u32 %p0, %t, 1000;\n", kFence, mma(), kCommit, "@%p0 add.f32 %f1, %f9, %f9;\n",
                "add.f32 %f4, %f5, %f6;\n", kWait}),
            "");
  // One in a few lanes.
  EXPECT_EQ(of({"setp.eq.u32 %p0, %t, 3;\n", kFence, mma(), kCommit, "@%p0 add.f32 %f1, %f9, %f9;\n", kWait}),
            "wgmma.inflight: add.f32 ~ wgmma.mma_async x1\n");
}

TEST(WgmmaRegisters, RegistersOfAInFlight) {
  const std::string by_registers = mma(kRegistersOfA);
  EXPECT_EQ(of({kFence, by_registers, kCommit, "add.u32 %r10, %r10, 1;\n", kWait}),
            "wgmma.inflight: add.u32 ~ wgmma.mma_async x4\n");
  EXPECT_EQ(of({kFence, by_registers, kCommit, "add.u32 %r20, %r10, 1;\n", kWait}), ""); // read alone
  EXPECT_EQ(of({kFence, by_registers, kCommit, kWait, "add.u32 %r10, %r10, 1;\n"}), "");
  EXPECT_EQ(of({kFence, by_registers, mma(kRegistersOfA, "1", kOtherD), kCommit, kWait}), "");
}

TEST(WgmmaRegisters, MovesCarryAndAreNotes) {
  EXPECT_EQ(of({kFence, mma(), kCommit, "mov.f32 %f9, %f0;\n", kWait, kStore}),
            "note wgmma.inflight: mov.f32 ~ wgmma.mma_async x4\n");
  EXPECT_EQ(of({kFence, mma(), kCommit, "mov.f32 %f0, 0f00000000;\n", kWait}),
            "wgmma.inflight: mov.f32 ~ wgmma.mma_async x4\n");
  // The value that was moved is used before the wait.
  EXPECT_EQ(of({kFence, mma(), mma("%rd1", "1", kOtherD), kCommit, "mov.f32 %f4, %f0;\n",
                "add.f32 %f9, %f4, %f4;\n", kWait}),
            "note wgmma.inflight: mov.f32 ~ wgmma.mma_async x4\n"
            "wgmma.inflight: add.f32 ~ wgmma.mma_async x4\n");
}

TEST(WgmmaRegisters, AWaitThatCoversTooLittle) {
  EXPECT_EQ(of({kFence, mma(), kCommit, kWaitForAllButOne, kStore}),
            "wgmma.wait: st.global.v4.f32 ~ wgmma.mma_async x4\n");
  EXPECT_EQ(of({kFence, mma(), kWait, kStore}), "wgmma.wait: st.global.v4.f32 ~ wgmma.mma_async x4\n");
  EXPECT_EQ(
      of({kFence, mma(), kCommit, mma("%rd1", "1", kOtherD), kCommit, kWaitForAllButOne, kStore, kWait}), "");
}

TEST(WgmmaRegisters, PipelinesOfGroups) {
  const auto pipeline = [](const char* in_loop, const char* at_end) {
    return of({"mov.u32 %r50, 5;\n", "LOOP:\n", kFence, mma(), kCommit, in_loop, "sub.u32 %r50, %r50, 1;\n",
               "setp.ne.u32 %p0, %r50, 0;\n", "@%p0 bra LOOP;\n", at_end, kStore});
  };
  EXPECT_EQ(pipeline(kWaitForAllButOne, kWait), "");
  EXPECT_EQ(pipeline(kWait, ""), "");
  EXPECT_EQ(pipeline("", kWait), "");
  EXPECT_EQ(pipeline(kWaitForAllButOne, ""), "wgmma.wait: st.global.v4.f32 ~ wgmma.mma_async x4\n");
  EXPECT_EQ(pipeline("", ""), "wgmma.inflight: st.global.v4.f32 ~ wgmma.mma_async x4\n");
}

TEST(WgmmaRegisters, AWaitInAFunctionThatIsCalled) {
  const std::string function = ".func settle() { wgmma.commit_group.sync.aligned; "
                               "wgmma.wait_group.sync.aligned 0; ret; }\n"
                               ".func idle() { ret; }\n";
  EXPECT_EQ(of({kFence, mma(), "call settle;\n", kStore}, function), "");
  EXPECT_EQ(of({kFence, mma(), kCommit, "call idle;\n", kStore, kWait}, function),
            "wgmma.inflight: st.global.v4.f32 ~ wgmma.mma_async x4\n");
}

TEST(WgmmaRegisters, TheFirstProductNeedsAFence) {
  EXPECT_EQ(of({mma("%rd1", "0"), mma(), kCommit, kWait}), "wgmma.fence: wgmma.mma_async ~ nothing x4\n");
}

TEST(WgmmaRegisters, WhatIsWrittenNeedsAFence) {
  EXPECT_EQ(of({kFence, "add.f32 %f0, %f0, %f1;\n", mma(), kCommit, kWait}),
            "wgmma.fence: wgmma.mma_async ~ add.f32 x4\n");
  EXPECT_EQ(of({kFence, "add.u32 %r10, %r10, 1;\n", mma(kRegistersOfA), kCommit, kWait}),
            "wgmma.fence: wgmma.mma_async ~ add.u32 x4\n");
  EXPECT_EQ(of({kFence, mma(), kCommit, kWait, "add.f32 %f0, %f0, %f1;\n", mma(), kCommit, kWait}),
            "wgmma.fence: wgmma.mma_async ~ add.f32 x4\n");
  EXPECT_EQ(of({kFence, mma(), kCommit, kWait, "add.f32 %f0, %f0, %f1;\n", kFence, mma(), kCommit, kWait}),
            "");
  EXPECT_EQ(of({kFence, mma(), kCommit, kWait, mma(), kCommit, kWait}), ""); // nobody came between
  // ptxas puts a move before the fence, unless a product has the register there.
  EXPECT_EQ(of({kFence, "mov.f32 %f0, 0f00000000;\n", mma(), kCommit, kWait}),
            "note wgmma.fence: wgmma.mma_async ~ mov.f32 x4\n");
  EXPECT_EQ(of({kFence, mma(), kCommit, kWait, "mov.f32 %f0, 0f00000000;\n", mma(), kCommit, kWait}),
            "wgmma.fence: wgmma.mma_async ~ mov.f32 x4\n");
}

TEST(WgmmaRegisters, OneMissingFenceOrWaitIsOneFinding) {
  const std::string other = mma("%rd1", "1", kOtherD);
  EXPECT_EQ(of({kFence, "add.f32 %f0, %f0, %f1;\nadd.f32 %f4, %f4, %f5;\n", mma(), other, kCommit, kWait}),
            "wgmma.fence: wgmma.mma_async ~ add.f32 x8\n");
  EXPECT_EQ(of({kFence, mma(), other, kCommit, kStore, vgpu::kStoreOther, kWait}),
            "wgmma.inflight: st.global.v4.f32 ~ wgmma.mma_async x8\n");
}

TEST(WgmmaRegisters, WhatIsReadIsANote) {
  EXPECT_EQ(of({kFence, mma(), kCommit, kWait, kStore, mma("%rd1", "0"), kCommit, kWait}),
            "note wgmma.fence: wgmma.mma_async ~ st.global.v4.f32 x4\n");
}

TEST(WgmmaRegisters, ProductsOfTwoShapes) {
  const std::string wide = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 "
                           "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, %rd1, %rd2, 1, 1, 1, 0, 0;\n";
  EXPECT_EQ(of({kFence, mma(), wide, kCommit, kWait}),
            "wgmma.inflight: wgmma.mma_async ~ wgmma.mma_async x4\n");
  EXPECT_EQ(of({kFence, mma(), kCommit, kWait, wide, kCommit, kWait}),
            "wgmma.fence: wgmma.mma_async ~ wgmma.mma_async x4\n");
  EXPECT_EQ(of({kFence, mma(), kCommit, kFence, wide, kCommit, kWait}),
            "note wgmma.inflight: wgmma.mma_async ~ wgmma.mma_async x4\n");
  EXPECT_EQ(of({kFence, mma(), kCommit, kWait, kFence, wide, kCommit, kWait}), "");
}

TEST(WgmmaRegisters, AccumulatorsThatBecomeA) {
  const std::string halves = "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r10, %r11}, %rd1, %rd2, 1, "
                             "1, 1, 0, 0;\n";
  EXPECT_EQ(of({kFence, halves, kCommit, kFence, mma(kRegistersOfA), kCommit, kWait}),
            "wgmma.inflight: wgmma.mma_async ~ wgmma.mma_async x4\n");
  EXPECT_EQ(of({kFence, halves, kCommit, kWait, kFence, mma(kRegistersOfA), kCommit, kWait}), "");
}

TEST(WgmmaRegisters, NamesBothLinesAndWhatIsMissing) {
  vgpu::Kernel kernel(
      text({".visible .entry k(.param .u64 pout) {\n.reg .b32 %r<100>, %t;\n.reg .b64 %rd<100>, "
            "%out;\n.reg .f32 %f<100>;\nmov.u32 %t, %tid.x;\nld.param.u64 %out, [pout];\n",
            vgpu::kSetup, kPublish, kFence, mma(), kCommit, kWaitForAllButOne, kStore, "}\n"}));
  Checker checker;
  kernel.watch(checker);
  kernel.config().block = {vgpu::kGroup, 1, 1};
  EXPECT_EQ(vgpu::fault_text(kernel.run({kernel.buffer(std::vector<uint32_t>(4096), "out")})), "");
  ASSERT_EQ(checker.findings().size(), 1u);
  const Finding finding = checker.findings().front();
  EXPECT_EQ(finding.memory, "register %f0");
  EXPECT_EQ(finding.access.what, "reads %f0");
  EXPECT_EQ(finding.earlier->what, "has %f0 as an accumulator");
  EXPECT_EQ(finding.fix, "wgmma.wait_group 0 between the two");
}

TEST(WgmmaRegisters, TilesAreTheProductsUntilTheWait) {
  const std::string refill = "bar.sync 0;\nst.shared.b32 [%r1], %r2;\n";
  EXPECT_EQ(findings_of(text({kFence, mma(), kCommit, kWait, refill, kEnd})), "");
  const std::string early = findings_of(text({kFence, mma(), kCommit, refill, kWait, kEnd}));
  EXPECT_NE(early.find("async.unwaited: st.shared.b32 ~ wgmma.mma_async"), std::string::npos) << early;
}

} // namespace
} // namespace lemma::check
