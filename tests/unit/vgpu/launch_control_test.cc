// clusterlaunchcontrol: every tile of a grid is worked on once, by whoever gets it, in every schedule; what
// responses say; what is undefined.
#include "kernel.h"
#include "vgpu/engine/cluster_start.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace lemma::vgpu {
namespace {

constexpr const char* kTryCancel = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::"
                                   "bytes.b128 [response], [bar];\n";
constexpr const char* kTryCancelAll = "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes."
                                      "multicast::cluster::all.b128 [response], "
                                      "[bar];\n";
constexpr const char* kExpect = "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64 _, [bar], 16;\n";
constexpr const char* kWait = R"(
  WAIT{0}:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p9, [bar], {1};
    @!%p9 bra WAIT{0};
)";
constexpr const char* kRead = R"(
    ld.shared.b128 %h, [response];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %canceled, %h;
)";
constexpr const char* kFirst = R"(
    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%x, %y, %z, _}, %h;
)";

// A kernel whose CTAs are of one thread each, and its mbarrier of one arrival.
std::string kernel(const std::string& body) {
  return R"(.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 p_out) {
  .shared .align 16 .b8 response[32];
  .shared .align 8 .b64 bar;
  .reg .b64 %out, %rd<8>;
  .reg .b32 %x, %y, %z, %r<16>;
  .reg .b128 %h;
  .reg .pred %canceled, %p<10>;
  ld.param.u64 %out, [p_out];
  mov.u32 %x, %ctaid.x;
  mov.u32 %y, %ctaid.y;
  mov.u32 %z, %ctaid.z;
  mbarrier.init.shared.b64 [bar], 1;
)" + body +
         "\n  ret;\n}\n";
}

// The grid's words count how often a tile was worked on; the one after them, clusters that were launched.
std::string persistent(bool multicast) {
  return kernel(std::string(R"(
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u32 %r9, %cluster_ctarank;
    setp.eq.u32 %p0, %r9, 0;
    mov.u32 %r0, %nctaid.x;
    mov.u32 %r1, %nctaid.y;
    mov.u32 %r2, %nctaid.z;
    mul.lo.u32 %r3, %r0, %r1;
    mul.lo.u32 %r3, %r3, %r2;
    mad.wide.u32 %rd1, %r3, 4, %out;
    @%p0 red.global.add.u32 [%rd1], 1;
    mov.u32 %r4, 0;
  TILE:
)") + kExpect + (multicast ? "@%p0 " : "") +
                (multicast ? kTryCancelAll : kTryCancel) + R"(
    mad.lo.u32 %r5, %z, %r1, %y;
    mad.lo.u32 %r5, %r5, %r0, %x;
    mad.wide.u32 %rd2, %r5, 4, %out;
    red.global.add.u32 [%rd2], 1;
)" + fmt::format(fmt::runtime(kWait), 0, "%r4") +
                R"(
    xor.b32 %r4, %r4, 1;
)" + kRead + "@!%canceled ret;\n" +
                kFirst + R"(
    mov.u32 %r6, %cluster_ctaid.x;
    mov.u32 %r7, %cluster_ctaid.y;
    add.u32 %x, %x, %r6;
    add.u32 %y, %y, %r7;
    fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;
    barrier.cluster.arrive.relaxed;
    barrier.cluster.wait;
    fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
    bra TILE;
)");
}

class LaunchControl : public testing::Test {
protected:
  LaunchControl() { config.block = {1, 1, 1}; }

  Report run(const std::string& text, size_t words = 64) {
    Kernel kernel(text);
    kernel.config() = config;
    const uint64_t buffer = kernel.buffer(std::vector<uint32_t>(words));
    Report report = kernel.run({buffer});
    out = kernel.read<uint32_t>(buffer, words);
    return report;
  }

  // Every tile once; returns how many clusters were launched.
  uint32_t run_persistent(bool multicast) {
    const size_t tiles = product(config.grid);
    const Report report = run(persistent(multicast), tiles + 1);
    EXPECT_EQ(fault_text(report), "");
    EXPECT_EQ(uninitialized_text(report), "");
    EXPECT_EQ(std::vector<uint32_t>(out.begin(), out.end() - 1), std::vector<uint32_t>(tiles, 1));
    return out.back();
  }

  LaunchConfig config;
  std::vector<uint32_t> out;
};

TEST_F(LaunchControl, OneCtaCanDoTheWorkOfTheGrid) {
  config.grid = {5, 3, 2};
  config.deterministic = true;
  for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late, AsyncMode::random}) {
    config.async = mode;
    EXPECT_EQ(run_persistent(false), 1u);
  }
}

TEST_F(LaunchControl, EveryTileOnceInEverySchedule) {
  config.grid = {5, 3, 2};
  config.deterministic = true;
  bool several = false, in_between = false;
  for (uint64_t schedule = 0; schedule < 40; ++schedule) {
    config.schedule = schedule;
    const uint32_t launched = run_persistent(false);
    several |= launched > 1;
    in_between |= launched > 1 && launched < 30;
    EXPECT_EQ(run_persistent(false), launched) << "a schedule repeats";
  }
  EXPECT_TRUE(several);
  EXPECT_TRUE(in_between);
}

TEST_F(LaunchControl, EveryTileOnceOnSeveralThreads) {
  config.grid = {2000, 1, 1};
  config.workers = 4;
  for (int i = 0; i < 5; ++i)
    EXPECT_LE(run_persistent(false), 2000u);
}

TEST_F(LaunchControl, WholeClusters) {
  config.grid = {4, 6, 2};
  config.cluster = {2, 2, 1};
  config.deterministic = true;
  EXPECT_EQ(run_persistent(true), 1u);
  for (uint64_t schedule = 1; schedule < 30; ++schedule) {
    config.schedule = schedule;
    EXPECT_LE(run_persistent(true), 12u);
  }
  config.schedule = 0;
  config.deterministic = false;
  config.workers = 3;
  EXPECT_LE(run_persistent(true), 12u);
}

// Where there is no memory for a second cluster, what was put off is canceled as well.
TEST_F(LaunchControl, ClustersThatHaveNoRoom) {
  Kernel kernel(persistent(false), 320 << 10);
  kernel.config() = config;
  kernel.config().grid = {64, 1, 1};
  kernel.config().shared_bytes = 100 << 10;
  kernel.config().workers = 4;
  const uint64_t buffer = kernel.buffer(std::vector<uint32_t>(65));
  EXPECT_EQ(fault_text(kernel.run({buffer})), "");
  const auto counts = kernel.read<uint32_t>(buffer, 64);
  EXPECT_EQ(counts, std::vector<uint32_t>(64, 1));
}

TEST_F(LaunchControl, WhatAResponseSays) {
  config.grid = {3, 5, 7};
  config.deterministic = true;
  const Report report =
      run(kernel(std::string(kTryCancel) + kExpect + fmt::format(fmt::runtime(kWait), 0, 0) + kRead + R"(
    @!%canceled ret;
    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r0, %r1, %r2, %r3}, %h;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r4, %h;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r5, %h;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %r6, %h;
    setp.eq.u32 %p0, %x, 0;
    setp.eq.and.u32 %p0, %y, 4, %p0;
    setp.eq.and.u32 %p0, %z, 2, %p0;
    @!%p0 ret;
    st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};
    st.global.v2.u32 [%out+16], {%r4, %r5};
    st.global.u32 [%out+24], %r6;
)"));
  ASSERT_EQ(fault_text(report), "");
  const std::vector<uint32_t> next = {1, 4, 2}; // of every second CTA the next one does not start
  EXPECT_EQ(std::vector<uint32_t>(out.begin(), out.begin() + 3), next);
  EXPECT_EQ(std::vector<uint32_t>(out.begin() + 4, out.begin() + 7), next);
}

TEST_F(LaunchControl, ACooperativeLaunchHasLaunchedAll) {
  config.grid = {4, 1, 1};
  config.cooperative = true;
  config.deterministic = true;
  EXPECT_EQ(run_persistent(false), 4u);
}

// Dependents may start when all CTAs have ended, those among them that never began.
TEST_F(LaunchControl, CanceledCtasHaveLaunchedDependents) {
  Kernel kernel(persistent(false));
  kernel.config() = config;
  kernel.config().grid = {9, 1, 1};
  const auto program_runs = kernel.buffer(std::vector<uint32_t>(10));
  int times = 0;
  kernel.surroundings().dependents_may_start = [&] { ++times; };
  EXPECT_EQ(fault_text(kernel.run({program_runs})), "");
  EXPECT_EQ(times, 1);
}

// Of those that were to be watched, the ones that never began are no longer among them.
TEST_F(LaunchControl, WatchedCtasAreThoseThatBegan) {
  config.grid = {36, 1, 1};
  config.deterministic = true;
  config.check = true;
  config.check_ctas = 4;
  EXPECT_EQ(run(persistent(false), 37).checked_ctas, 1u);
  config.check_ctas = 0;
  EXPECT_EQ(run(persistent(false), 37).checked_ctas, 1u);
}

// --- what is undefined

class LaunchControlMisuse : public LaunchControl {
protected:
  // "<id>: <message>" of the fault.
  std::string fault_of(const std::string& body, uint32_t ctas = 1) {
    config.grid = {ctas, 1, 1};
    const Report report = run(kernel(body));
    if (!report.fault)
      return "";
    return fmt::format("{}: {}", report.fault->id, report.fault->message);
  }
  static std::string one(int wait = 0) {
    return std::string(kTryCancel) + kExpect + fmt::format(fmt::runtime(kWait), wait, wait % 2);
  }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(LaunchControlMisuse, AnotherRequestAfterOneThatFailed) {
  const std::string text = fault_of(one() + kRead + one(1));
  EXPECT_TRUE(text.starts_with("cluster.cancel: ")) << text;
  EXPECT_TRUE(has(text, "that a request failed")) << text;
  // Two requests, the first of which is looked at afterwards, are fine: it was not seen to have failed.
  EXPECT_EQ(fault_of(one() + one(1) + kRead), "");
  // Nor was one that succeeded.
  config.deterministic = true;
  EXPECT_EQ(fault_of("setp.ne.u32 %p0, %x, 0;\n@%p0 ret;\n" + one() + kRead + one(1) + kRead, 3), "");
}

// Compiled code asks, and does not use the answer: who watches is told (tests/unit/check/protocol_test.cc).
TEST_F(LaunchControlMisuse, TheFirstCtaOfNoClusterIsNoId) {
  EXPECT_EQ(
      fault_of(one() + kRead + kFirst + "st.global.v2.u32 [%out], {%x, %y};\nst.global.u32 [%out+8], %z;"),
      "");
  EXPECT_EQ(std::vector<uint32_t>(out.begin(), out.begin() + 3), std::vector<uint32_t>(3, 0xcbcbcbcb));
}

TEST_F(LaunchControlMisuse, BytesThatAreNoResponse) {
  const std::string zeros = "st.shared.v4.u32 [response], {0, 0, 0, 0};\n";
  const std::string text = fault_of(zeros + kRead);
  EXPECT_TRUE(has(text, "no response")) << text;
  EXPECT_EQ(fault_of(zeros + kRead + kFirst), text);
  // Nobody has waited: what was there before.
  config.async = AsyncMode::late;
  EXPECT_EQ(fault_of(zeros + kTryCancel + kExpect + kRead), text);
}

TEST_F(LaunchControlMisuse, Operands) {
  const auto request = [](const std::string& response, const std::string& mbarrier, const char* space = "") {
    return fmt::format(
        "clusterlaunchcontrol.try_cancel.async{}.mbarrier::complete_tx::bytes.b128 [{}], [{}];\n", space,
        response, mbarrier);
  };
  EXPECT_TRUE(has(fault_of(request("response+8", "bar")), "16")) << fault_of(request("response+8", "bar"));
  EXPECT_TRUE(has(fault_of(request("response", "response+16")), "mbarrier.init: "));
  EXPECT_TRUE(has(fault_of(request("%out", "bar")), "shared memory of the executing CTA"));
  config.cluster = {2, 1, 1};
  const std::string other = R"(
    mov.u32 %r0, response;
    cvta.shared.u32 %r0, %r0;
    mov.u64 %rd0, response;
    cvta.shared.u64 %rd0, %rd0;
    mov.u32 %r1, %cluster_ctarank;
    xor.b32 %r1, %r1, 1;
    mapa.u64 %rd0, %rd0, %r1;
    barrier.cluster.arrive;
    barrier.cluster.wait;
)";
  const std::string text = fault_of(other + request("%rd0", "bar"), 2);
  EXPECT_TRUE(has(text, "shared memory of the executing CTA")) << text;
}

TEST_F(LaunchControlMisuse, AResponseForACtaThatHasExited) {
  config.cluster = {2, 1, 1};
  config.deterministic = true;
  const std::string text = fault_of(std::string(R"(
    mov.u32 %r1, %cluster_ctarank;
    setp.eq.u32 %p0, %r1, 1;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    @%p0 ret;
    mov.u32 %r2, 0;
  LATER:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 10000;
    @%p1 bra LATER;
)") + kTryCancelAll,
                                    2);
  EXPECT_TRUE(has(text, "cluster.cancel: CTA rank 1 has exited")) << text;
}

} // namespace
} // namespace lemma::vgpu
