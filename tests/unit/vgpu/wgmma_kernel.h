// Parts of kernels of one warpgroup that multiply by wgmma, for tests of it.
#pragma once

#include "kernel.h"
#include "run_ptx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <initializer_list>
#include <set>
#include <string>

namespace lemma::vgpu {

inline constexpr uint32_t kGroup = 128; // threads
inline constexpr int kAccumulators = 4; // registers of m64n8, f32

// Shared memory with f16 ones, for two warpgroups: A at its start, B 2048 bytes on; %rd1 and %rd2 their
// descriptors, K-major without a swizzle; accumulators %f0-3 and %f4-7 all 1, A in %r10-13 all ones. A
// product adds 16.
inline constexpr const char* kSetup = R"(
  .shared .align 1024 .b8 smem[8192];
  mov.u32 %r0, smem;
  mad.lo.u32 %r1, %t, 16, %r0;
  mov.b32 %r2, 0x3c003c00;
  st.shared.v4.b32 [%r1], {%r2, %r2, %r2, %r2};
  st.shared.v4.b32 [%r1+2048], {%r2, %r2, %r2, %r2};
  mov.b32 %r10, %r2;  mov.b32 %r11, %r2;  mov.b32 %r12, %r2;  mov.b32 %r13, %r2;
  mov.b32 %f0, 0f3f800000;  mov.b32 %f1, %f0;  mov.b32 %f2, %f0;  mov.b32 %f3, %f0;
  mov.b32 %f4, %f0;  mov.b32 %f5, %f0;  mov.b32 %f6, %f0;  mov.b32 %f7, %f0;
  shr.u32 %r3, %r0, 4;
  cvt.u64.u32 %rd0, %r3;
  or.b64 %rd1, %rd0, 0x1000080000;
  add.u64 %rd2, %rd1, 128;
  mad.wide.u32 %rd9, %t, 16, %out;
)";
inline constexpr const char* kPublish = "fence.proxy.async;\nbar.sync 0;\n";
inline constexpr const char* kFence = "wgmma.fence.sync.aligned;\n";
inline constexpr const char* kCommit = "wgmma.commit_group.sync.aligned;\n";
inline constexpr const char* kWait = "wgmma.wait_group.sync.aligned 0;\n";
inline constexpr const char* kStore = "st.global.v4.f32 [%rd9], {%f0, %f1, %f2, %f3};\n";
inline constexpr const char* kStoreOther = "st.global.v4.f32 [%rd9], {%f4, %f5, %f6, %f7};\n";

inline std::string mma(const char* a = "%rd1", const char* scale_d = "1",
                       const char* d = "{%f0, %f1, %f2, %f3}", const char* b = "%rd2") {
  return fmt::format("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {}, {}, {}, {}, 1, 1{}, 0;\n", d, a,
                     b, scale_d, a[0] == '{' ? "" : ", 0");
}
inline constexpr const char* kRegistersOfA = "{%r10, %r11, %r12, %r13}";
inline constexpr const char* kOtherD = "{%f4, %f5, %f6, %f7}";

inline std::string text(std::initializer_list<std::string> parts) {
  std::string all;
  for (const std::string& part : parts)
    all += part;
  return all;
}

// `before`: functions, before the kernel.
inline KernelRun run(const std::string& statements, AsyncMode mode, uint32_t threads = kGroup,
                     const std::string& before = "") {
  LaunchConfig config;
  config.block = {threads, 1, 1};
  config.async = mode;
  return run_body(kSetup + statements, config, size_t{kGroup} * kAccumulators, {}, before);
}

// The one value that all accumulators have; fails if there are several.
inline float value_of(const std::string& statements, AsyncMode mode, const std::string& before = "") {
  const KernelRun done = run(statements, mode, kGroup, before);
  EXPECT_EQ(fault_text(done.report), "");
  EXPECT_EQ(uninitialized_text(done.report), "");
  const std::set<uint32_t> values(done.out.begin(), done.out.end());
  EXPECT_EQ(values.size(), 1u);
  return std::bit_cast<float>(*values.begin());
}

inline void expect_both(const std::string& statements, float value, const std::string& before = "") {
  EXPECT_EQ(value_of(statements, AsyncMode::eager, before), value);
  EXPECT_EQ(value_of(statements, AsyncMode::late, before), value);
  EXPECT_EQ(value_of(statements, AsyncMode::random, before), value);
}

// A mistake: eager hides it, late shows it.
inline void expect_shown(const std::string& statements, float hidden, float shown) {
  EXPECT_EQ(value_of(statements, AsyncMode::eager), hidden);
  EXPECT_EQ(value_of(statements, AsyncMode::late), shown);
}

// What both modes say of it.
inline std::string fault_of(const std::string& statements, uint32_t threads = kGroup,
                            const std::string& before = "") {
  std::string faults[2];
  for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late})
    faults[mode == AsyncMode::late] = fault_text(run(kPublish + statements, mode, threads, before).report);
  EXPECT_EQ(faults[0], faults[1]);
  return faults[0];
}

#define EXPECT_SAYS(fault, part) EXPECT_NE((fault).find(part), std::string::npos) << (fault)

} // namespace lemma::vgpu
