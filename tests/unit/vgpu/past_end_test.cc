// Accesses past the end of memory that go on: in what a GPU has mapped behind an allocation, where the launch
// says so, and reads of what is left of the last unit of shared memory. tests/golden/asked/past_end.csv has
// what an H200 did.
#include "kernel.h"
#include "run_ptx.h"
#include "vgpu/engine/observer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

// One thread; `statements` may use %at, the begin of 1000 bytes, and %out.
std::string global_kernel(const std::string& statements) {
  return fmt::format(R"(
.visible .entry k(.param .u64 p_at, .param .u64 p_out) {{
  .reg .b64 %at, %out; .reg .b32 %r<8>;
  ld.param.u64 %at, [p_at]; ld.param.u64 %out, [p_out];
  {}
  ret;
}})",
                     statements);
}
struct Done {
  Report report;
  std::vector<uint32_t> out;
};
Done run_global(const std::string& statements, OnFault on_fault, bool check = false) {
  Kernel kernel(global_kernel(statements));
  kernel.config().block = {1, 1, 1};
  kernel.config().on_fault = on_fault;
  kernel.config().check = check;
  const uint64_t at = kernel.buffer(std::vector<uint32_t>(250, 7), "cells"),
                 out = kernel.buffer(std::vector<uint32_t>(4));
  Report report = kernel.run({at, out});
  return {std::move(report), kernel.read<uint32_t>(out, 4)};
}

constexpr const char* kOffByOne =
    "mov.b32 %r0, 5; st.global.u32 [%at+1000], %r0; ld.global.u32 %r1, [%at+1000];\n"
    "ld.global.u32 %r2, [%at+996]; ld.global.u32 %r3, [%at+1004];\n"
    "atom.global.add.u32 %r4, [%at+1000], 2; ld.global.u32 %r5, [%at+1000];\n"
    "add.u32 %r4, %r4, %r5;\n"
    "st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};\n";

TEST(PastEnd, AnAllocationEndsWhereItEnds) {
  EXPECT_NE(fault_text(run_global(kOffByOne, OnFault::stop).report).find("at the end of cells (1000 bytes)"),
            std::string::npos);
}

TEST(PastEnd, WithAWarningAGpusMemoryGoesOn) {
  const Done done = run_global(kOffByOne, OnFault::warn);
  EXPECT_EQ(fault_text(done.report), "");
  EXPECT_EQ(done.out, (std::vector<uint32_t>{5, 7, 0, 5 + 7}));
  ASSERT_EQ(done.report.warnings.size(), 4u); // of five instructions, two of which read one word
  EXPECT_NE(done.report.warnings[0].find("write of 4 bytes at global address"), std::string::npos);
  EXPECT_NE(done.report.warnings[0].find("at the end of cells (1000 bytes). A GPU has memory there"),
            std::string::npos)
      << done.report.warnings[0];
}

TEST(PastEnd, OnlyThere) {
  const std::string value = "mov.b32 %r0, 5; ";
  for (const char* access : {"st.global.u32 [%at+600000], %r0;", "st.global.u32 [%at+-4], %r0;",
                             "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%at+992];", "st.u32 [0], %r0;",
                             "st.global.u32 [%at+1001], %r0;"}) {
    const std::string text = std::string(access).find("[0]") != std::string::npos
                                 ? "mov.u64 %at, 0; st.global.u32 [%at], %r0;"
                                 : access;
    EXPECT_NE(fault_text(run_global(value + text, OnFault::warn).report), "") << access;
  }
}

// --- shared memory ---

constexpr uint32_t kAsked = 28;

KernelRun run_shared(const std::string& access) {
  LaunchConfig config;
  config.block = {1, 1, 1};
  config.shared_bytes = kAsked;
  return run_body("mov.u32 %r0, dyn; mov.b32 %r5, 3;\n"
                  "st.shared.v4.u32 [%r0], {%r5, %r5, %r5, %r5}; st.shared.v2.u32 [%r0+16], {%r5, %r5};\n"
                  "st.shared.u32 [%r0+24], %r5;\n" +
                      access + "st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};\nret;",
                  config, 4, {}, ".extern .shared .align 16 .b8 dyn[];\n");
}

TEST(PastEnd, ReadsInTheLastUnitOfSharedMemoryGoOn) {
  const KernelRun done = run_shared("ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r0+16];\n");
  EXPECT_EQ(fault_text(done.report), "");
  EXPECT_EQ(done.report.warnings.size(), 0u);
  EXPECT_EQ(done.report.uninitialized_reads, 0u);
  EXPECT_EQ((std::vector<uint32_t>(done.out.begin(), done.out.begin() + 3)),
            (std::vector<uint32_t>{3, 3, 3}));
  const KernelRun last =
      run_shared("ld.shared.u32 %r1, [%r0+124]; mov.b32 %r2, %r1; mov.b32 %r3, %r1; mov.b32 %r4, %r1;\n");
  EXPECT_EQ(fault_text(last.report), "");
  for (const char* wrong : {"ld.shared.u32 %r1, [%r0+128];\n", "st.shared.u32 [%r0+28], %r5;\n",
                            "atom.shared.add.u32 %r1, [%r0+28], 1;\n"})
    EXPECT_NE(fault_text(run_shared(wrong).report), "") << wrong;
}

// Whoever watches is told; the checker makes a note of it (tests/unit/check/protocol_test.cc).
TEST(PastEnd, ObserversAreToldOfThem) {
  class Watcher : public Observer {
  public:
    void reads_past_shared(const Exec&, const Access& access, int lane, uint32_t past_bytes) override {
      told.push_back({access.bytes, past_bytes, static_cast<uint64_t>(lane)});
    }
    std::vector<std::vector<uint64_t>> told;
  };
  Kernel kernel(R"(
.extern .shared .align 16 .b8 dyn[];
.visible .entry k() {
  .reg .b32 %r<5>;
  mov.u32 %r0, dyn;
  ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r0];
  ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r0+16];
  ld.shared.u32 %r1, [%r0+124];
  ret;
})");
  Watcher watcher;
  kernel.watch(watcher);
  kernel.config().block = {1, 1, 1};
  kernel.config().shared_bytes = kAsked;
  const Report report = kernel.run({});
  EXPECT_EQ(fault_text(report), "");
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_EQ(watcher.told, (std::vector<std::vector<uint64_t>>{{12, 4, 0}, {0, 4, 0}}));
}

} // namespace
} // namespace lemma::vgpu
