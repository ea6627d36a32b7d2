// wgmma on the virtual GPU: when operations complete, what they see meanwhile, and what is refused; the four
// warps as one: wgmma_group_test.cc. What they compute, from every kind of descriptor, is compared with
// recorded hardware bits (tests/golden, group wgmma).
#include "wgmma_kernel.h"

namespace lemma::vgpu {
namespace {

TEST(Wgmma, RightProgramsGiveTheSameEagerAndLate) {
  expect_both(text({kPublish, kFence, mma(), kCommit, kWait, kStore}), 17);
  expect_both(text({kPublish, kFence, mma("%rd1", "0"), kCommit, kWait, kStore}), 16);
  expect_both(text({kPublish, kFence, mma(kRegistersOfA), kCommit, kWait, kStore}), 17);
  expect_both(text({kPublish, kFence, mma(), mma(), mma(kRegistersOfA), kCommit, kWait, kStore}), 49);
}

TEST(Wgmma, ScaleDMayBeANegatedPredicate) {
  const std::string small = "setp.lt.u32 %p1, %t, 4096;\n";
  expect_both(text({kPublish, small, kFence, mma("%rd1", "%p1"), kCommit, kWait, kStore}), 17);
  expect_both(text({kPublish, small, kFence, mma("%rd1", "!%p1"), kCommit, kWait, kStore}), 16);
}

TEST(Wgmma, SkippedByAPredicateOfAllLanes) {
  const std::string none = "setp.gt.u32 %p1, %t, 4096;\n";
  expect_both(text({kPublish, none, kFence, mma(), "@%p1 " + mma(), kCommit, kWait, kStore}), 17);
}

TEST(Wgmma, AccumulatorsStayInFlightOverAFence) {
  expect_both(text({kPublish, kFence, mma(), kCommit, kFence, mma(), kCommit, kWait, kStore}), 33);
  expect_both(text({kPublish, kFence, mma(), kFence, mma(), kCommit, kWait, kStore}), 33);
}

TEST(Wgmma, WaitLeavesTheLastGroups) {
  const std::string two = text({kPublish, kFence, mma(), kCommit, mma("%rd1", "1", kOtherD), kCommit,
                                "wgmma.wait_group.sync.aligned 1;\n"});
  expect_both(two + kStore, 17);
  expect_both(two + kStoreOther, 17); // a store waits for what it stores: wgmma_flight_test.cc
  expect_both(two + kWait + kStoreOther, 17);
}

TEST(Wgmma, LateShowsAMissingFence) {
  const char* two =
      "add.f32 %f0, %f0, %f0;\nadd.f32 %f1, %f1, %f1;\nadd.f32 %f2, %f2, %f2;\nadd.f32 %f3, %f3, %f3;\n";
  expect_both(text({kPublish, two, kFence, mma(), kCommit, kWait, kStore}), 18);
  expect_shown(text({kPublish, kFence, two, mma(), kCommit, kWait, kStore}), 18, 17);
  const char* zeros = "xor.b32 %r10, %r10, %r10;\nxor.b32 %r11, %r11, %r11;\n"
                      "xor.b32 %r12, %r12, %r12;\nxor.b32 %r13, %r13, %r13;\n";
  expect_shown(text({kPublish, kFence, zeros, mma(kRegistersOfA), kCommit, kWait, kStore}), 1, 17);
}

// Compilers put the zeros of new accumulators behind the fence, and ptxas passes it without a word
// (checks.md, wgmma.fence).
TEST(Wgmma, APlainMoveBehindTheFenceCountsAsInFrontOfIt) {
  const char* two = "mov.b32 %f0, 0f40000000;\nmov.b32 %f1, %f0;\nmov.b32 %f2, %f0;\nmov.b32 %f3, %f0;\n";
  expect_both(text({kPublish, kFence, two, mma(), kCommit, kWait, kStore}), 18);
  expect_both(text({kPublish, kFence, two, mma(), mma(), kCommit, kWait, kStore}), 34);
  const char* zeros = "mov.b32 %r10, 0;\nmov.b32 %r11, 0;\nmov.b32 %r12, 0;\nmov.b32 %r13, 0;\n";
  expect_both(text({kPublish, kFence, zeros, mma(kRegistersOfA), kCommit, kWait, kStore}), 1);
  // Behind a product of other registers, too.
  expect_both(text({kPublish, kFence, mma("%rd1", "1", kOtherD), two, mma(), kCommit, kWait, kStore}), 18);
  // But not behind one of the same, nor of a value that something else has written since.
  expect_shown(text({kPublish, kFence, mma(), kCommit, kWait, two, mma(), kCommit, kWait, kStore}), 18, 33);
  const char* more =
      "add.f32 %f0, %f0, %f0;\nadd.f32 %f1, %f1, %f1;\nadd.f32 %f2, %f2, %f2;\nadd.f32 %f3, %f3, %f3;\n";
  expect_shown(text({kPublish, kFence, two, more, mma(), kCommit, kWait, kStore}), 20, 17);
}

TEST(Wgmma, LateShowsAMissingProxyFence) {
  const std::string missing = text({"bar.sync 0;\n", kFence, mma("%rd1", "0"), kCommit, kWait, kStore});
  EXPECT_EQ(value_of(missing, AsyncMode::eager), 16);
  const KernelRun late = run(missing, AsyncMode::late);
  EXPECT_NE(late.out[0], std::bit_cast<uint32_t>(16.0f));
}

TEST(Wgmma, LateReadsSharedMemoryWhenItCompletes) {
  const std::string overwritten =
      text({kPublish, kFence, mma(), kCommit, "bar.sync 0;\nmov.b32 %r2, 0;\n",
            "st.shared.v4.b32 [%r1], {%r2, %r2, %r2, %r2};\n", kPublish, kWait, kStore});
  expect_shown(overwritten, 17, 1);
}

// --- What is refused ---

TEST(Wgmma, NeedsAWholeWarpgroup) {
  EXPECT_SAYS(fault_of(mma(), 64), "warpgroup");
  EXPECT_SAYS(fault_of(kFence, 64), "warpgroup");
  EXPECT_SAYS(fault_of(std::string("setp.lt.u32 %p1, %t, 100;\n@!%p1 bra OUT;\n") + mma() + "OUT:\n"),
              "needs all 32 threads");
}

TEST(Wgmma, LanesMustAgree) {
  EXPECT_SAYS(fault_of("cvt.u64.u32 %rd3, %t;\nadd.u64 %rd2, %rd2, %rd3;\n" + mma()),
              "lanes 0 and 1 give wgmma.mma_async different descriptors of B");
  EXPECT_SAYS(fault_of("cvt.u64.u32 %rd3, %t;\nadd.u64 %rd1, %rd1, %rd3;\n" + mma()),
              "different descriptors of A");
  EXPECT_SAYS(fault_of("and.b32 %r5, %t, 1;\nsetp.eq.u32 %p1, %r5, 0;\n" + mma("%rd1", "%p1")),
              "scale-d is true in lanes 0x55555555");
}

TEST(Wgmma, MatricesMustLieInSharedMemory) {
  EXPECT_SAYS(fault_of("add.u64 %rd2, %rd2, 0x2000;\n" + mma()), "the descriptor of B");
  EXPECT_SAYS(fault_of("or.b64 %rd1, %rd1, 0x3fff00000000;\n" + mma()), "the descriptor of A");
  EXPECT_SAYS(fault_of("mov.b64 %rd1, 0;\n" + mma()), "outside the CTA's shared memory");
}

TEST(Wgmma, UnwrittenSharedMemoryIsReported) {
  // B reaches into bytes that nobody wrote.
  const std::string longer =
      ".shared .align 1024 .b8 more[1024];\n mov.u32 %r5, more;\n shr.u32 %r5, %r5, 4;\n"
      " cvt.u64.u32 %rd3, %r5;\n or.b64 %rd3, %rd3, 0x1000080000;\n";
  const KernelRun done = run(text({kPublish, longer, kFence, mma("%rd1", "0", "{%f0, %f1, %f2, %f3}", "%rd3"),
                                   kCommit, kWait, kStore}),
                             AsyncMode::eager);
  EXPECT_SAYS(uninitialized_text(done.report), "shared memory of B");
}

TEST(Wgmma, UnwrittenAccumulatorsAreReportedWhereTheyAreRead) {
  const std::string fresh = ".reg .f32 %fresh<4>;\n setp.gt.u32 %p1, %t, 4096;\n";
  const char* d = "{%fresh0, %fresh1, %fresh2, %fresh3}";
  const auto reported = [&](const std::string& products) {
    return uninitialized_text(
        run(text({kPublish, fresh, kFence, products, kCommit, kWait}), AsyncMode::eager).report);
  };
  EXPECT_SAYS(reported(mma("%rd1", "1", d)), "register %fresh0");
  EXPECT_EQ(reported(mma("%rd1", "%p1", d) + mma("%rd1", "1", d)), "");
}

} // namespace
} // namespace lemma::vgpu
