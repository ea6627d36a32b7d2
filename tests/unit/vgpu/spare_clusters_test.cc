// Clusters that launches leave for later ones: what is kept, what the budget counts; and that a kernel cannot
// tell a cluster that has been used from a new one.
#include "vgpu/engine/spare_clusters.h"

#include "kernel.h"
#include "run_ptx.h"
#include "vgpu/engine/launch.h"

#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// One CTA that has taken so much; nothing is behind it.
std::vector<std::unique_ptr<Cluster>> cluster_of(MemoryBudget& budget, uint64_t bytes) {
  std::vector<std::unique_ptr<Cluster>> clusters;
  clusters.push_back(std::make_unique<Cluster>());
  clusters[0]->ctas.push_back(std::make_unique<Cta>());
  clusters[0]->ctas[0]->taken = MemoryShare(budget);
  clusters[0]->ctas[0]->taken.take(bytes, "a CTA");
  return clusters;
}

TEST(SpareClusters, AreOfOneUseAndCountOnlyInUse) {
  MemoryBudget budget(100 * kMiB);
  SpareClusters spares;
  const SpareClusters::Use use{.threads = 32, .ctas = 1}, other{.threads = 64, .ctas = 1};
  spares.keep(use, cluster_of(budget, 3 * kMiB));
  EXPECT_EQ(budget.in_use(), 0u);
  EXPECT_EQ(spares.take(other), nullptr);
  const auto taken = spares.take(use);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(budget.in_use(), 3 * kMiB);
  EXPECT_EQ(spares.take(use), nullptr);
}

TEST(SpareClusters, TheOldestMakesRoom) {
  MemoryBudget budget(1000 * kMiB);
  SpareClusters spares;
  const SpareClusters::Use first{.threads = 32}, second{.threads = 64}, third{.threads = 96};
  spares.keep(first, cluster_of(budget, SpareClusters::kMostBytes / 2));
  spares.keep(second, cluster_of(budget, SpareClusters::kMostBytes / 2));
  spares.keep(third, cluster_of(budget, SpareClusters::kMostBytes + 1)); // never
  EXPECT_EQ(spares.take(third), nullptr);
  spares.keep(third, cluster_of(budget, 1));
  EXPECT_EQ(spares.take(first), nullptr);
  EXPECT_NE(spares.take(second), nullptr);
  EXPECT_NE(spares.take(third), nullptr);
}

TEST(SpareClusters, AreFewWhereTheDeviceHasLittleMemory) {
  MemoryBudget budget(1000 * kMiB);
  SpareClusters spares(1600 * kMiB);
  spares.keep({.threads = 32}, cluster_of(budget, 100 * kMiB + 1));
  EXPECT_EQ(spares.take({.threads = 32}), nullptr);
  spares.keep({.threads = 32}, cluster_of(budget, 100 * kMiB));
  EXPECT_NE(spares.take({.threads = 32}), nullptr);
  SpareClusters in_any_case(kMiB);
  in_any_case.keep({.threads = 32}, cluster_of(budget, SpareClusters::kFewBytes));
  EXPECT_NE(in_any_case.take({.threads = 32}), nullptr);
}

TEST(SpareClusters, GoWithTheirProgram) {
  MemoryBudget budget(100 * kMiB);
  SpareClusters spares;
  const auto* program = reinterpret_cast<const Program*>(&budget); // some address
  spares.keep({.program = program}, cluster_of(budget, kMiB));
  spares.keep({.threads = 32}, cluster_of(budget, kMiB));
  spares.forget(*program);
  EXPECT_EQ(spares.take({.program = program}), nullptr);
  EXPECT_NE(spares.take({.threads = 32}), nullptr);
}

TEST(SpareClusters, TheBudgetMayHaveNoRoomForOne) {
  MemoryBudget budget(2 * kMiB);
  SpareClusters spares;
  spares.keep({.threads = 32}, cluster_of(budget, 2 * kMiB));
  budget.take(kMiB, "a buffer");
  EXPECT_THROW(spares.take({.threads = 32}), OverBudget);
  EXPECT_EQ(budget.in_use(), kMiB);
}

// Registers, local and shared memory that the kernel has not written, and a named barrier half full at the
// end: every launch finds the same, reports the same, and gives back what it took.
TEST(SpareClusters, EveryLaunchIsAsTheFirst) {
  Kernel kernel(R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %o; .local .align 4 .b32 mine; .shared .align 4 .b32 ours[64];
  ld.param.u64 %o, [out];
  mov.u32 %r0, %tid.x;
  mad.wide.u32 %o, %r0, 16, %o;
  ld.local.b32 %r1, [mine];
  st.global.b32 [%o], %r1;
  ld.shared.b32 %r1, [ours];
  st.global.b32 [%o+4], %r1;
  setp.eq.u32 %p, %r0, 77;
  @%p mov.b32 %r2, 5;
  st.global.b32 [%o+8], %r2;
  st.global.b32 [%o+12], %r0;
  bar.sync 0;
  st.local.b32 [mine], 1;
  st.shared.b32 [ours], 2;
  mov.b32 %r2, 3;
  ret;
}
)");
  kernel.config().block = {64, 1, 1};
  kernel.config().seed = 7;
  kernel.config().engine = Engine::interpreter; // compiled code stays, and takes memory
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(64 * 4));
  const uint64_t in_use = kernel.memory().budget().in_use();
  const Report first = kernel.run({out});
  const auto values = kernel.read<uint32_t>(out, 64 * 4);
  const std::string unwritten = uninitialized_text(first);
  EXPECT_NE(unwritten, "");
  EXPECT_EQ(fault_text(first), "");
  EXPECT_EQ(kernel.memory().budget().in_use(), in_use);
  for (int i = 0; i < 3; ++i) {
    const Report again = kernel.run({out});
    EXPECT_EQ(kernel.read<uint32_t>(out, 64 * 4), values);
    EXPECT_EQ(uninitialized_text(again), unwritten);
    EXPECT_EQ(fault_text(again), "");
    EXPECT_EQ(kernel.memory().budget().in_use(), in_use);
  }
}

// Warps that end before others begin leave them their registers, those that meet at a barrier first do not:
// what a warp has not written, and what is reported of it, is the same.
TEST(Registers, AreTheWarpsOwnWhoeverHadThemBefore) {
  const auto run_with = [](const char* meeting) {
    Kernel kernel(std::string(R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %o;
  ld.param.u64 %o, [out];
  mov.u32 %r0, %tid.x;
  mad.wide.u32 %o, %r0, 8, %o;
  and.b32 %r1, %r0, 7;
  setp.eq.u32 %p, %r1, 3;
  @%p mov.b32 %r2, %r0;
  @%p add.cc.u32 %r3, %r0, -1;
  addc.u32 %r4, %r1, 0;
  st.global.b32 [%o], %r2;
  st.global.b32 [%o+4], %r4;
  setp.gt.u32 %p, %r1, 5;
  @%p exit;
)") + meeting + "  mov.b32 %r2, 1;\n  add.cc.u32 %r3, %r0, -1;\n  ret;\n}\n");
    kernel.config().block = {256, 1, 1};
    kernel.config().seed = 9;
    const uint64_t out = kernel.buffer(std::vector<uint32_t>(256 * 2));
    const Report report = kernel.run({out});
    EXPECT_EQ(fault_text(report), "");
    EXPECT_NE(uninitialized_text(report), "");
    return std::pair(kernel.read<uint32_t>(out, 256 * 2), uninitialized_text(report));
  };
  EXPECT_EQ(run_with(""), run_with("  bar.sync 0;\n"));
}

// As many host threads as there may be start clusters at once; there is memory for a few only.
TEST(SpareClusters, ClustersStartAtOnceWhereMemoryIsShort) {
  constexpr uint32_t kCtas = 200;
  Kernel kernel(R"(
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<3>; .reg .b64 %o; .shared .align 16 .b8 much[40000];
  ld.param.u64 %o, [out];
  mov.u32 %r0, %ctaid.x;
  mad.wide.u32 %o, %r0, 4, %o;
  atom.global.add.u32 %r1, [%o], 1;
  ret;
}
)",
                200'000);
  kernel.config().grid = {kCtas, 1, 1};
  kernel.config().workers = 8;
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(kCtas));
  const Report report = kernel.run({out});
  EXPECT_EQ(fault_text(report), "");
  EXPECT_EQ(kernel.read<uint32_t>(out, kCtas), std::vector<uint32_t>(kCtas, 32));
}

} // namespace
} // namespace lemma::vgpu
