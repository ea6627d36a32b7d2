// What orders operations on tensor memory: a kernel that lacks something, and its twin.
#include "findings.h"

#include <gtest/gtest.h>

namespace lemma::check {
namespace {

const std::string kBefore = "tcgen05.fence::before_thread_sync;\n";
const std::string kAfter = "tcgen05.fence::after_thread_sync;\n";
const std::string kBarrier = "bar.sync 0;\n";
const std::string kLoad = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%own];\n";
const std::string kStore = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%own], {%t};\n";
const std::string kWaitLoad = "tcgen05.wait::ld.sync.aligned;\n";
const std::string kWaitStore = "tcgen05.wait::st.sync.aligned;\n";
const std::string kCommit =
    "@%p tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%m];\n";
const std::string kCopy = "@%p tcgen05.cp.cta_group::1.128x128b [%d32], %desc;\n";

// D, 128 x n, at %d; it is added to.
std::string product(uint32_t n = 16) {
  return fmt::format("@%p tcgen05.mma.cta_group::1.kind::f16 [%d], %desc, %desc, {:#x}, %p;\n",
                     8u << 24 | n / 8 << 17 | 1u << 4);
}

std::string wait(const std::string& label = "WAIT", const std::string& order = "") {
  return label + ":\nmbarrier.try_wait.parity" + order + ".shared::cta.b64 %q, [%m], 0;\n@!%q bra " + label +
         ";\n";
}

// 128 threads with 64 columns of tensor memory at %d; %own is %d in the lanes of each warp. A tile of zeros
// in shared memory, by %desc; an mbarrier at %m of one arrival, and one at %all of 128. No fence of tcgen05
// but in `body`, nothing of tensor memory that was written.
std::string found(const std::string& body, const std::string& end = kBefore + kBarrier) {
  std::string text = kernel(R"(
  .reg .b32 %d, %d32, %own, %all;
  .reg .b64 %desc;
  mad.lo.u32 %r0, %t, 32, %s;
  st.shared.v4.b32 [%r0], {0, 0, 0, 0};
  st.shared.v4.b32 [%r0+16], {0, 0, 0, 0};
  fence.proxy.async.shared::cta;
  mov.u32 %all, everybody;
  @%p mbarrier.init.shared::cta.b64 [%m], 1;
  @%p mbarrier.init.shared::cta.b64 [%all], 128;
  @!%w bra ALLOCATED;
  mov.u32 %r1, slot;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;
ALLOCATED:
  bar.sync 0;
  ld.shared.b32 %d, [slot];
  add.u32 %d32, %d, 32;
  shr.u32 %own, %t, 5;
  shl.b32 %own, %own, 21;
  add.u32 %own, %own, %d;
  shr.u32 %r0, %s, 4;
  cvt.u64.u32 %desc, %r0;
  or.b64 %desc, %desc, 0x0000401000080000;
)" + body + end + R"(
  @!%w bra END;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 64;
END:
)");
  text.replace(text.find(".shared .align 8 .b64 bar;"), 0,
               ".shared .align 4 .b32 slot;\n  .shared .align 8 .b64 everybody;\n  ");
  return findings_of(".version 8.6\n.target sm_100a\n.address_size 64\n" + text, 128);
}

// A product's D is read by all warps.
TEST(TensorOrder, ACommitAndAFenceOrderAProductAndALoad) {
  const std::string pair = "tcgen05.mma.cta_group::1.kind::f16 ~ tcgen05.ld.sync.aligned.32x32b.x1.b32\n";
  EXPECT_EQ(found(product() + kCommit + wait() + kAfter + kLoad + kWaitLoad), "");
  EXPECT_EQ(found(product() + kCommit + wait() + kLoad + kWaitLoad), "tcgen05.fence: " + pair);
  EXPECT_EQ(found(product() + kCommit + kBefore + kBarrier + kAfter + kLoad + kWaitLoad + wait()),
            "async.unwaited: " + pair);
  EXPECT_EQ(found(product() + kAfter + kLoad + kWaitLoad + kCommit + wait()), "async.unwaited: " + pair);
}

// What the warps store, thread 0's product adds to.
TEST(TensorOrder, AWaitFencesAndABarrierOrderAStoreAndAProduct) {
  const std::string then = product() + kCommit + wait() + kAfter;
  const std::string pair = "tcgen05.st.sync.aligned.32x32b.x1.b32 ~ tcgen05.mma.cta_group::1.kind::f16\n";
  EXPECT_EQ(found(kStore + kWaitStore + kBefore + kBarrier + kAfter + then), "");
  EXPECT_EQ(found(kStore + kBefore + kBarrier + kAfter + then), "async.unwaited: " + pair);
  EXPECT_EQ(found(kStore + kWaitStore + kBarrier + kAfter + then), "tcgen05.fence: " + pair);
  EXPECT_EQ(found(kStore + kWaitStore + kBefore + kBarrier + then), "tcgen05.fence: " + pair);
  EXPECT_EQ(found(kStore + kWaitStore + kBefore + kAfter + then), "race.tensor: " + pair);
}

// A product, and a load of the one before by another warp.
TEST(TensorOrder, AWaitFencesAndABarrierOrderALoadAndAProduct) {
  const std::string first = product() + kCommit + wait() + kAfter + kLoad;
  const std::string again = product() +
                            "@%p mbarrier.inval.shared::cta.b64 [%m];\n@%p "
                            "mbarrier.init.shared::cta.b64 [%m], 1;\n" +
                            kCommit + kBarrier + wait("AGAIN");
  const std::string pair = "tcgen05.ld.sync.aligned.32x32b.x1.b32 ~ tcgen05.mma.cta_group::1.kind::f16\n";
  EXPECT_EQ(found(first + kWaitLoad + kBefore + kBarrier + kAfter + again), "");
  EXPECT_EQ(found(first + kBefore + kBarrier + kAfter + again + kWaitLoad), "async.unwaited: " + pair);
  EXPECT_EQ(found(first + kWaitLoad + kBarrier + kAfter + again), "tcgen05.fence: " + pair);
}

TEST(TensorOrder, WhatAWarpMovesItWaitsForItself) {
  const std::string ld = "tcgen05.ld.sync.aligned.32x32b.x1.b32",
                    st = "tcgen05.st.sync.aligned.32x32b.x1.b32";
  EXPECT_EQ(found(kStore + kWaitStore + kLoad + kWaitLoad + kStore + kWaitStore), "");
  EXPECT_EQ(found(kStore + kLoad + kWaitLoad + kWaitStore), "async.unwaited: " + st + " ~ " + ld + "\n");
  EXPECT_EQ(found(kStore + kWaitStore + kLoad + kStore + kWaitStore + kWaitLoad),
            "async.unwaited: " + ld + " ~ " + st + "\n");
  EXPECT_EQ(found(kStore + kWaitLoad + kLoad + kWaitLoad + kWaitStore),
            "async.unwaited: " + st + " ~ " + ld + "\n");
}

TEST(TensorOrder, ACommitTracksNoStore) {
  EXPECT_EQ(
      found(kStore + kCommit + wait() + kAfter + kLoad + kWaitLoad + kWaitStore),
      "async.unwaited: tcgen05.st.sync.aligned.32x32b.x1.b32 ~ tcgen05.ld.sync.aligned.32x32b.x1.b32\n");
}

TEST(TensorOrder, ProductsOfOneSizeAndCopiesBeforeThemAreInOrder) {
  const std::string end = kCommit + wait() + kAfter;
  EXPECT_EQ(found(product() + product() + end), "");
  EXPECT_EQ(found(product() + product(32) + end),
            "async.unwaited: tcgen05.mma.cta_group::1.kind::f16 ~ tcgen05.mma.cta_group::1.kind::f16\n");
  EXPECT_EQ(found(kCopy + kCopy + end), "note async.unwaited: tcgen05.cp.cta_group::1.128x128b ~ "
                                        "tcgen05.cp.cta_group::1.128x128b\n");
  // As A.
  const std::string from_copy =
      "@%p tcgen05.mma.cta_group::1.kind::f16 [%d], [%d32], %desc, 0x8040010, %p;\n";
  EXPECT_EQ(found(kCopy + "@%p tcgen05.cp.cta_group::1.128x128b [%d32+4], %desc;\n" + from_copy + end), "");
  EXPECT_EQ(found(from_copy + kCopy + end), "note async.unwaited: tcgen05.mma.cta_group::1.kind::f16 ~ "
                                            "tcgen05.cp.cta_group::1.128x128b\n");
  const std::string mma = "tcgen05.mma.cta_group::1.kind::f16",
                    over_a = "@%p " + mma + " [%d32], %desc, %desc, 0x8040010, %p;\n";
  EXPECT_EQ(found(from_copy + over_a + end), "note async.unwaited: " + mma + " ~ " + mma + "\n");
  EXPECT_EQ(found(over_a + from_copy + end), "async.unwaited: " + mma + " ~ " + mma + "\n");
}

TEST(TensorOrder, ShiftsAndProductsAreInOrder) {
  const std::string end = kCommit + wait() + kAfter;
  const std::string product = "@%p tcgen05.mma.cta_group::1.kind::f16 [%d], [%d32], %desc, 0x8040010, %p;\n";
  const std::string shift = "@%p tcgen05.shift.cta_group::1.down [%d32];\n";
  EXPECT_EQ(found(product + shift + product + end), "");
  EXPECT_EQ(found(shift + "@%p tcgen05.cp.cta_group::1.4x256b [%d32], %desc;\n" + end), "");
  EXPECT_EQ(found(shift + kCopy + end),
            "async.unwaited: tcgen05.shift.cta_group::1.down ~ tcgen05.cp.cta_group::1.128x128b\n");
  EXPECT_EQ(found(kCopy + shift + end),
            "async.unwaited: tcgen05.cp.cta_group::1.128x128b ~ tcgen05.shift.cta_group::1.down\n");
}

// Then nothing else orders.
TEST(TensorOrder, FencesGoWithRelaxedSynchronization) {
  const auto handed = [](const std::string& before, const std::string& after) {
    return found(kStore + kWaitStore + before +
                 "mbarrier.arrive.relaxed.cta.shared::cta.b64 %state, [%all];\nHANDED:\n"
                 "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %q, [%all], 0;\n@!%q bra HANDED;\n" +
                 after + product() + kCommit + wait() + kAfter);
  };
  const std::string pair = "tcgen05.st.sync.aligned.32x32b.x1.b32 ~ tcgen05.mma.cta_group::1.kind::f16\n";
  EXPECT_EQ(handed(kBefore, kAfter), "");
  EXPECT_EQ(handed(kBefore, ""), "tcgen05.fence: " + pair);
  EXPECT_EQ(handed("", kAfter), "race.tensor: " + pair);
}

// A module without any fence of tcgen05 relies on the barrier.
TEST(TensorOrder, AModuleWithoutFencesGetsNotes) {
  EXPECT_EQ(
      found(product() + kCommit + wait() + kLoad + kWaitLoad, kBarrier),
      "note tcgen05.fence: tcgen05.mma.cta_group::1.kind::f16 ~ tcgen05.ld.sync.aligned.32x32b.x1.b32\n");
  EXPECT_EQ(found(product() + kCommit + kBarrier + kLoad + kWaitLoad + wait(), kBarrier),
            "async.unwaited: tcgen05.mma.cta_group::1.kind::f16 ~ tcgen05.ld.sync.aligned.32x32b.x1.b32\n");
}

TEST(TensorOrder, ADeallocationComesAfterAllUses) {
  const std::string first = kStore + kWaitStore + kLoad;
  EXPECT_EQ(found(first + kWaitLoad), "");
  EXPECT_EQ(found(first), "async.unwaited: tcgen05.ld.sync.aligned.32x32b.x1.b32 ~ "
                          "tcgen05.dealloc.cta_group::1.sync.aligned.b32\n");
  // All have come, and nothing says that they have read.
  const std::string relaxed = "mbarrier.arrive.relaxed.cta.shared::cta.b64 %state, [%all];\nALL:\n"
                              "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %q, [%all], 0;\n"
                              "@!%q bra ALL;\n";
  EXPECT_EQ(found(first + kWaitLoad, relaxed), "race.tensor: tcgen05.ld.sync.aligned.32x32b.x1.b32 ~ "
                                               "tcgen05.dealloc.cta_group::1.sync.aligned.b32\n");
}

// Instructions that need its registers wait for a load; copies are none, which a compiler leaves out.
TEST(TensorOrder, WhatNeedsTheRegistersOfALoadWaitsForIt) {
  const std::string ld = "tcgen05.ld.sync.aligned.32x32b.x1.b32",
                    st = "tcgen05.st.sync.aligned.32x32b.x1.b32",
                    dealloc = "tcgen05.dealloc.cta_group::1.sync.aligned.b32";
  const std::string first = kStore + kWaitStore + kLoad, need = "add.u32 %r2, %r1, 1;\n",
                    copy = "mov.b32 %r2, %r1;\n", end = kWaitLoad + kWaitStore;
  const std::string over = "async.unwaited: " + ld + " ~ " + st + "\n",
                    freed = "async.unwaited: " + ld + " ~ " + dealloc + "\n";
  EXPECT_EQ(found(first + need + kStore + end), "note " + over);
  EXPECT_EQ(found(first + copy + kStore + need + end), over);
  EXPECT_EQ(found(first + copy + "add.u32 %r3, %r2, 1;\n" + kStore + end), "note " + over);
  EXPECT_EQ(found(first + "@%p " + need + kStore + end), over);
  EXPECT_EQ(found(first + "@%p bra OVER;\n" + need + "OVER:\n" + kStore + end), over);
  // Of other warps' loads: before these let the one that frees go on.
  EXPECT_EQ(found(first + need), "note " + freed);
  EXPECT_EQ(found(first + "@%p bra NEED;\nadd.u32 %r3, %t, 1;\nNEED:\n" + need), "note " + freed);
  EXPECT_EQ(found(first, kBefore + kBarrier + need), freed);
  EXPECT_EQ(found(first, kBefore + kBarrier + need + kBarrier), "note " + freed);
}

} // namespace
} // namespace lemma::check
