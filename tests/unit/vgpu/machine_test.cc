// Sizes of the machines: a launch that one takes and another does not.
#include "kernel.h"

#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

TEST(Machine, AnH200IsWhatLimitsAreByDefault) {
  const MachineLimits made, found = limits_of(Arch{90});
  EXPECT_EQ(made.sm_count, found.sm_count);
  EXPECT_EQ(made.threads_per_sm, found.threads_per_sm);
  EXPECT_EQ(made.ctas_per_sm, found.ctas_per_sm);
  EXPECT_EQ(made.shared_bytes_per_sm, found.shared_bytes_per_sm);
  EXPECT_EQ(made.max_shared_bytes_per_cta, found.max_shared_bytes_per_cta);
  EXPECT_EQ(made.max_cluster_ctas, found.max_cluster_ctas);
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

TEST(Machine, OneBetweenIsTheNearestBelow) {
  EXPECT_EQ(limits_of(Arch{72}).sm_count, limits_of(Arch{70}).sm_count);
  EXPECT_EQ(limits_of(Arch{103}).sm_count, limits_of(Arch{100}).sm_count);
  EXPECT_EQ(limits_of(Arch{121}).ctas_per_sm, 24u);
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
