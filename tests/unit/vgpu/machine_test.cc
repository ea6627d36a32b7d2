// Sizes of the machines: a launch that one takes and another does not.
#include "kernel.h"

#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

TEST(Machine, IsAnH200ByDefault) {
  const MachineLimits limits = limits_of();
  EXPECT_EQ(limits.sm_count, 132u);
  EXPECT_EQ(limits.threads_per_sm, 2048u);
  EXPECT_EQ(limits.ctas_per_sm, 32u);
  EXPECT_EQ(limits.shared_bytes_per_sm, 228u * 1024);
  EXPECT_EQ(limits.reserved_shared_bytes, kSharedReservedBytes);
  EXPECT_EQ(limits.max_shared_bytes_per_cta, 227u * 1024);
  EXPECT_EQ(limits.max_cluster_ctas, 16u);
}

TEST(Machine, SharedMemoryOfACtaDiffers) {
  EXPECT_EQ(limits_of(Arch{70}).max_shared_bytes_per_cta, 96u * 1024);
  EXPECT_EQ(limits_of(Arch{75}).max_shared_bytes_per_cta, 64u * 1024);
  EXPECT_EQ(limits_of(Arch{80}).max_shared_bytes_per_cta, 163u * 1024);
  EXPECT_EQ(limits_of(Arch{89}).max_shared_bytes_per_cta, 99u * 1024);
  EXPECT_EQ(limits_of(Arch{100}).max_shared_bytes_per_cta, 227u * 1024);
  EXPECT_EQ(limits_of(Arch{120}).max_shared_bytes_per_cta, 99u * 1024);
}

TEST(Machine, ClustersCameWithSm90) {
  EXPECT_EQ(limits_of(Arch{89}).max_cluster_ctas, 1u);
  EXPECT_EQ(limits_of(Arch{90}).max_cluster_ctas, 16u);
}

TEST(Machine, AnOlderOneIsTheOldestModelled) {
  EXPECT_EQ(limits_of(Arch{52}).sm_count, limits_of(Arch{70}).sm_count);
}

// The most CTAs that a cooperative launch of a kernel with so much shared memory may have.
uint32_t most_resident(int sm, uint32_t shared_bytes) {
  Kernel kernel(".visible .entry k() { ret; }");
  kernel.limits() = limits_of(Arch{sm});
  kernel.config().cooperative = true;
  kernel.config().shared_bytes = shared_bytes;
  uint32_t most = 0;
  for (uint32_t step = 1u << 14; step != 0; step /= 2) {
    kernel.config().grid = {most + step, 1, 1};
    if (kernel.check().empty())
      most += step;
  }
  return most;
}

// cuda_occupancy.h: the system's share counts where there is one, and a CTA has whole units.
TEST(Machine, SharedMemoryLimitsWhatIsResident) {
  EXPECT_EQ(most_resident(70, 48 * 1024), 2u * 80);
  EXPECT_EQ(most_resident(80, 82 * 1024), 1u * 108);
  EXPECT_EQ(most_resident(80, 81 * 1024), 2u * 108);
  EXPECT_EQ(most_resident(90, 45568), 5u * 132);
  EXPECT_EQ(most_resident(90, 45569), 4u * 132); // a fifth of the SM's, but for the last unit
  EXPECT_EQ(most_resident(75, 0), 16u * 72);
}

TEST(Machine, SharedMemoryComesInUnits) {
  for (const auto& [sm, bytes] : {std::pair{70, 256u}, {80, 128u}}) {
    Kernel kernel(
        ".version 7.0\n.target sm_" + std::to_string(sm) +
        "\n.address_size 64\n"
        ".visible .entry k(.param .u64 out) { .reg .b64 %rd; .reg .b32 %r; ld.param.u64 %rd, [out];\n"
        "mov.u32 %r, %total_smem_size; st.global.u32 [%rd], %r; ret; }");
    kernel.config().shared_bytes = 4;
    const uint64_t out = kernel.buffer(std::vector<uint32_t>(32));
    ASSERT_TRUE(kernel.run({out}).ok());
    EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], bytes) << sm;
  }
}

TEST(Machine, WarpsOfAnSmDiffer) {
  for (const auto& [sm, warps] : {std::pair{75, 32u}, {80, 64u}, {86, 48u}, {90, 64u}, {120, 48u}}) {
    Kernel kernel(
        ".visible .entry k(.param .u64 out) { .reg .b64 %rd; .reg .b32 %r; ld.param.u64 %rd, [out];\n"
        "mov.u32 %r, %nwarpid; st.global.u32 [%rd], %r; ret; }");
    kernel.limits() = limits_of(Arch{sm});
    const uint64_t out = kernel.buffer(std::vector<uint32_t>(32));
    ASSERT_TRUE(kernel.run({out}).ok());
    EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], warps);
  }
}

} // namespace
} // namespace lemma::vgpu
