// cp.async, bulk copies and reductions, st.async, red.async: what arrives, in both modes; what a missing wait
// shows under late; misuse. Every size, type and direction is replayed against recorded bits (tests/golden,
// async_copy).
#include "run_ptx.h"
#include "vgpu/handlers/arithmetic/levels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

namespace lemma::vgpu {
namespace {

constexpr const char* kDeclarations = R"(
    .shared .align 128 .b8 from[256];
    .shared .align 128 .b8 to[256];
    .shared .align 8 .b64 bar;
    .shared .align 16 .b8 big[512];
    mov.u32 %r90, from;
    mov.u32 %r91, to;
    mov.u32 %r92, bar;
)";

// `in` counts up from 100.
KernelRun run(const std::string& body, AsyncMode mode, uint32_t threads = 1, uint32_t ctas = 1) {
  LaunchConfig config;
  config.grid = {ctas, 1, 1};
  config.block = {threads, 1, 1};
  config.cluster = {ctas > 1 ? ctas : 0, 1, 1};
  config.async = mode;
  std::vector<uint32_t> in(256);
  std::iota(in.begin(), in.end(), 100);
  return run_body(kDeclarations + body, config, 1024, in);
}

class AsyncCopy : public testing::TestWithParam<AsyncMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, AsyncCopy,
                         testing::Values(AsyncMode::eager, AsyncMode::late, AsyncMode::random),
                         [](const auto& info) {
                           return info.param == AsyncMode::eager  ? "eager"
                                  : info.param == AsyncMode::late ? "late"
                                                                  : "random";
                         });

TEST_P(AsyncCopy, CpAsyncBringsBytesAndZeros) {
  const KernelRun r = run(R"(
    mul.lo.u32 %r0, %t, 16;
    add.u32 %r1, %r91, %r0;
    cvt.u64.u32 %rd0, %r0;
    add.u64 %rd1, %in, %rd0;
    add.u64 %rd2, %out, %rd0;
    mul.lo.u32 %r2, %t, 4;
    cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r1];
    st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};
    ret;)",
                          GetParam(), 5);
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  for (uint32_t thread = 0; thread < 5; ++thread)
    for (uint32_t i = 0; i < 4; ++i)
      EXPECT_EQ(r.out[thread * 4 + i], i < thread ? 100 + thread * 4 + i : 0);
}

// A whole warp, lane t from piece 5 t % 32 to piece 7 t % 32, of every size; one lane's copy wrong, too.
TEST(AsyncCopy, ByEveryLevelOfTheHost) {
  const HostLevel before = host_level();
  const auto copy = [](uint32_t bytes, const std::string& change) {
    return run(
        fmt::format(R"(
    mul.lo.u32 %r0, %t, 5; and.b32 %r0, %r0, 31; mul.lo.u32 %r0, %r0, {0};
    cvt.u64.u32 %rd0, %r0; add.u64 %rd1, %in, %rd0;
    mul.lo.u32 %r1, %t, 7; and.b32 %r1, %r1, 31; mul.lo.u32 %r1, %r1, {0}; add.u32 %r1, %r1, big;
    mov.u32 %r3, {0};
    setp.eq.u32 %p1, %t, 19;
    {1}
    cp.async.ca.shared.global [%r1], [%rd1], {0}, %r3;
    cp.async.wait_all;
    bar.warp.sync -1;
    shl.b32 %r4, %t, 2; cvt.u64.u32 %rd0, %r4; add.u64 %rd2, %out, %rd0; add.u32 %r4, %r4, big;
    )",
                    bytes, change) +
            [&] {
              std::string out;
              for (uint32_t i = 0; i < bytes / 4; ++i)
                out += fmt::format("ld.shared.u32 %r5, [%r4+{0}]; st.global.u32 [%rd2+{0}], %r5;\n", i * 128);
              return out;
            }(),
        AsyncMode::eager, 32);
  };
  for (const HostLevel level : host_levels()) {
    set_host_level(level);
    for (const uint32_t bytes : {4u, 8u, 16u}) {
      SCOPED_TRACE(fmt::format("{} bytes, {}", bytes, to_string(level)));
      const uint32_t words = bytes / 4;
      for (const bool zero : {false, true}) {
        const KernelRun r = copy(bytes, zero ? "@%p1 mov.u32 %r3, 0;" : "");
        ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
        for (uint32_t lane = 0; lane < 32; ++lane)
          for (uint32_t i = 0; i < words; ++i)
            EXPECT_EQ(r.out[lane * 7 % 32 * words + i],
                      zero && lane == 19 ? 0 : 100 + lane * 5 % 32 * words + i);
      }
      for (const char* wrong : {"@%p1 add.u32 %r1, %r1, 2;", "@%p1 add.u64 %rd1, %rd1, 2;"})
        EXPECT_EQ(fault_in(copy(bytes, wrong).report).kind, FaultKind::misaligned) << wrong;
      for (const char* wrong : {"@%p1 add.u32 %r1, %r1, 0x10000;", "@%p1 add.u64 %rd1, %rd1, 0x10000;"}) {
        const Fault fault = fault_in(copy(bytes, wrong).report);
        EXPECT_EQ(fault.kind, FaultKind::out_of_bounds) << wrong;
        EXPECT_EQ(fault.lane, 19) << wrong;
      }
    }
  }
  set_host_level(before);
}

TEST_P(AsyncCopy, CpAsyncArrivesWhenItsCopiesAreDone) {
  for (const char* noinc : {"", ".noinc"}) {
    const KernelRun r = run(fmt::format(R"(
    mbarrier.init.shared.b64 [bar], 1;
    cp.async.ca.shared.global [%r91], [%in+8], 4;
    cp.async.mbarrier.arrive{}.shared.b64 [bar];
    {}
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0;
    @!%p0 bra WAIT;
    ld.shared.u32 %r0, [to];
    st.global.u32 [%out], %r0;
    ret;)",
                                        noinc, *noinc ? "" : "mbarrier.arrive.shared.b64 _, [bar];"),
                            GetParam());
    ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
    EXPECT_EQ(r.out[0], 102u);
  }
}

TEST_P(AsyncCopy, BulkCopyGoesToSharedMemoryAndBack) {
  const KernelRun r = run(R"(
    mbarrier.init.shared.b64 [bar], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r91], [%in+16], 64, [%r92];
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0;
    @!%p0 bra WAIT;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r91], 64;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ld.global.u32 %r0, [%out+60];
    st.global.u32 [%out+128], %r0;
    ret;)",
                          GetParam());
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  EXPECT_EQ(r.out[0], 104u);
  EXPECT_EQ(r.out[15], 119u);
  EXPECT_EQ(r.out[32], 119u);
}

// Of 64 bytes 8 on the left and 4 on the right lie outside of the allocation: they are not read, and nobody
// knows what is in their place.
TEST_P(AsyncCopy, BytesAtTheEndsMayLieOutside) {
  const auto copied = [](const char* ignored, const char* sem) {
    return run(fmt::format(R"(
    mbarrier.init.shared.b64 [bar], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;
    add.u64 %rd0, %in, {2};
    cp.async.bulk{1}.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob{3} [%r91], [%rd0], 64, {0}, [%r92];
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0;
    @!%p0 bra WAIT;
    ld.shared.u32 %r0, [to+16];
    st.global.u32 [%out], %r0;
    ld.shared.u32 %r0, [to+44];
    st.global.u32 [%out+4], %r0;
    ret;)",
                           ignored, sem, 1028 - 48 - 4, std::string(sem) == ".relaxed.gpu" ? ".b128" : ""),
               AsyncMode::eager);
  };
  for (const char* sem : {"", ".weak", ".relaxed.gpu"}) {
    const KernelRun r = copied("0, 12", sem);
    ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
    EXPECT_EQ(r.out[0], 100u + (1028 - 48 - 4 + 16) / 4);
  }
  EXPECT_EQ(fault_in(copied("0, 8", "").report).kind, FaultKind::out_of_bounds);
  EXPECT_NE(fault_in(copied("16, 0", "").report).message.find("legal are 0 to 15"), std::string::npos);
}

// Bytes 0, 3 and 15 of each 16.
TEST_P(AsyncCopy, AMaskedCopyStoresSomeBytes) {
  for (const char* sem : {"", ".weak", ".relaxed.sys"}) {
    const KernelRun r = run(fmt::format(R"(
    st.shared.v4.u32 [from], {{0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c}};
    st.shared.v4.u32 [from+16], {{0x13121110, 0x17161514, 0x1b1a1918, 0x1f1e1d1c}};
    mov.u32 %r0, 0xffffffff;
    st.global.v4.u32 [%out], {{%r0, %r0, %r0, %r0}};
    st.global.v4.u32 [%out+16], {{%r0, %r0, %r0, %r0}};
    fence.proxy.async;
    .reg .b16 %mask;
    mov.b16 %mask, 0x8009;
    cp.async.bulk{}.global.shared::cta.bulk_group.cp_mask{} [%out], [%r90], 32, %mask;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ret;)",
                                        sem, std::string(sem) == ".relaxed.sys" ? ".b128" : ""),
                            GetParam());
    ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
    const uint32_t expected[] = {0x03ffff00, ~0u, ~0u, 0x0fffffff, 0x13ffff10, ~0u, ~0u, 0x1fffffff};
    for (size_t i = 0; i < std::size(expected); ++i)
      EXPECT_EQ(r.out[i], expected[i]) << i;
  }
}

TEST_P(AsyncCopy, AStoreOf128Bits) {
  const KernelRun r = run(R"(
    .reg .b128 %w;
    mov.u32 %r0, %cluster_ctarank;
    xor.b32 %r1, %r0, 1;
    mapa.shared::cluster.u32 %r2, %r91, %r1;
    mapa.shared::cluster.u32 %r3, %r92, %r1;
    mbarrier.init.shared.b64 [bar], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    cvt.u64.u32 %rd0, %r0;
    mov.u64 %rd1, 0x0123456789abcdef;
    mov.b128 %w, {%rd0, %rd1};
    st.async.shared::cluster.mbarrier::complete_tx::bytes.b128 [%r2], %w, [%r3];
  WAIT:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p0, [bar], 0;
    @!%p0 bra WAIT;
    mad.wide.u32 %rd0, %r0, 64, %out;
    ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [to];
    st.global.v4.u32 [%rd0], {%r4, %r5, %r6, %r7};
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;)",
                          GetParam(), 1, 2);
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(r.out[rank * 16], rank ^ 1);
    EXPECT_EQ(r.out[rank * 16 + 1], 0u);
    EXPECT_EQ(r.out[rank * 16 + 2], 0x89abcdef);
    EXPECT_EQ(r.out[rank * 16 + 3], 0x01234567u);
  }
}

// Nobody waits for these: they are performed at once.
TEST_P(AsyncCopy, StoresAndReductionsInGlobalMemory) {
  const KernelRun r = run(R"(
    mov.u32 %r0, 7;
    st.async.release.gpu.global.u32 [%out], %r0;
    red.async.relaxed.gpu.global.add.u32 [%out], %r0;
    red.async.release.sys.max.s32 [%out+4], %r0;
    st.async.mmio.release.sys.global.u8 [%out+8], %r0;
    ret;)",
                          GetParam());
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  EXPECT_EQ(r.out[0], 14u);
  EXPECT_EQ(r.out[1], 7u);
  EXPECT_EQ(r.out[2], 7u);
}

// To both CTAs of a cluster, with a mask of 16 bits that is said to be one.
TEST_P(AsyncCopy, AMulticastMaySayHowWideItsMaskIs) {
  const KernelRun r = run(R"(
    .reg .b16 %mask;
    mov.b16 %mask, 3;
    mov.u32 %r0, %cluster_ctarank;
    mbarrier.init.shared.b64 [bar], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster::16b [%r91], [%in], 16, [%r92], %mask;
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0;
    @!%p0 bra WAIT;
    mad.wide.u32 %rd0, %r0, 64, %out;
    ld.shared.u32 %r4, [to+12];
    st.global.u32 [%rd0], %r4;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;)",
                          GetParam(), 1, 2);
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  EXPECT_EQ(r.out[0], 103u);
  EXPECT_EQ(r.out[16], 103u);
}

TEST_P(AsyncCopy, AWaitForTheAsyncProxyAlone) {
  const KernelRun r = run(R"(
    st.shared.v4.u32 [from], {1, 2, 3, 4};
    fence.proxy.async;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r90], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.sync_restrict::proxy::async 0;
    fence.alias.sync_restrict::read.release.sys;
    ld.global.u32 %r0, [%out+4];
    st.global.u32 [%out+64], %r0;
    ret;)",
                          GetParam());
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  EXPECT_EQ(r.out[16], 2u);
}

// Both CTAs of a cluster send 16 bytes and add a number to the other one, which waits for both.
TEST_P(AsyncCopy, OtherCtasGetStoresReductionsAndCopies) {
  const KernelRun r = run(R"(
    mov.u32 %r0, %cluster_ctarank;
    xor.b32 %r1, %r0, 1;
    mapa.shared::cluster.u32 %r2, %r91, %r1;
    mapa.shared::cluster.u32 %r3, %r92, %r1;
    add.u32 %r4, %r0, 7;
    st.shared.v4.u32 [from], {%r4, %r4, %r4, %r4};
    st.shared.u32 [to+32], 1000;
    mbarrier.init.shared.b64 [bar], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 28;
    fence.mbarrier_init.release.cluster;
    fence.proxy.async;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [%r90], 16, [%r3];
    st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r2+16], {%r4, %r0}, [%r3];
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r2+32], %r4, [%r3];
  WAIT:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p0, [bar], 0;
    @!%p0 bra WAIT;
    mad.wide.u32 %rd0, %r0, 64, %out;
    ld.shared.u32 %r5, [to+12];
    st.global.u32 [%rd0], %r5;
    ld.shared.u32 %r5, [to+16];
    st.global.u32 [%rd0+4], %r5;
    ld.shared.u32 %r5, [to+32];
    st.global.u32 [%rd0+8], %r5;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;)",
                          GetParam(), 1, 2);
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const uint32_t sent = 7 + (rank ^ 1);
    EXPECT_EQ(r.out[rank * 16], sent);
    EXPECT_EQ(r.out[rank * 16 + 1], sent);
    EXPECT_EQ(r.out[rank * 16 + 2], 1000 + sent);
  }
}

TEST_P(AsyncCopy, BulkReductionsAddToGlobalMemory) {
  const KernelRun r = run(R"(
    st.shared.v4.u32 [from], {1, 2, 3, 4};
    fence.proxy.async;
    st.global.v4.u32 [%out], {10, 20, 30, 40};
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [%r90], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ret;)",
                          GetParam());
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  EXPECT_EQ(r.out[0], 11u);
  EXPECT_EQ(r.out[3], 44u);
}

// One rule: the mbarrier lies in the CTA that the data go to.
TEST_P(AsyncCopy, TheMbarrierLiesBesideTheData) {
  const char* instructions[] = {
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%in], 16, [%r3];",
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [%r90], 16, [%r3];",
      "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r2], [%r90], "
      "16, "
      "[%r3];",
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r2], {%r4, %r4, %r4, %r4}, [%r3];",
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r2], %r4, [%r3];",
  };
  for (const char* instruction : instructions)
    for (const bool beside : {true, false}) {
      const KernelRun r = run(fmt::format(R"(
    mov.u32 %r0, %cluster_ctarank;
    mov.u32 %r4, 1;
    mapa.shared::cluster.u32 %r2, %r91, %r4;
    mapa.shared::cluster.u32 %r3, %r92, %r4;
    st.shared.v4.u32 [from], {{1, 2, 3, 4}};
    st.shared.v4.u32 [to], {{1, 2, 3, 4}};
    mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    fence.proxy.async;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    {}
    setp.eq.u32 %p0, %r0, 0;
    @%p0 {}
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;)",
                                          beside ? "" : "mov.u32 %r3, bar;", instruction),
                              GetParam(), 1, 2);
      const std::string wrong = beside ? "" : "the data go to CTA rank 1, but the mbarrier is in CTA rank 0";
      EXPECT_EQ(r.report.ok(), beside) << instruction;
      EXPECT_NE(fault_in(r.report).message.find(wrong), std::string::npos)
          << instruction << fault_in(r.report).message;
    }
}

TEST_P(AsyncCopy, GenericAddressesNameSharedMemory) {
  const char* text = R"(
    st.shared.u32 [to], 1;
    mbarrier.init.shared.b64 [bar], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4;
    cvta.shared.u64 %rd0, to;
    cvta.shared.u64 %rd1, bar;
    st.async.mbarrier::complete_tx::bytes.u32 [%rd{}], 7, [%rd1];
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0;
    @!%p0 bra WAIT;
    ld.shared.u32 %r0, [to];
    st.global.u32 [%out], %r0;
    ret;)";
  const KernelRun r = run(fmt::format(fmt::runtime(text), 0), GetParam(), 1, 2);
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  EXPECT_EQ(r.out[0], 7u);
  const KernelRun global = run("mov.u64 %rd2, %out;" + fmt::format(fmt::runtime(text), 2), GetParam());
  EXPECT_NE(fault_in(global.report).message.find("needs shared memory"), std::string::npos)
      << fault_in(global.report).message;
}

// 2^20 - 1 bytes are the most that an mbarrier counts, on either side of zero.
TEST_P(AsyncCopy, ACompletionBeyondTheTxCountIsAFault) {
  const KernelRun r = run(R"(
    mbarrier.init.shared.b64 [bar], 1;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 1048570;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r91], [%in], 16, [%r92];
    ret;)",
                          GetParam());
  EXPECT_NE(fault_in(r.report).message.find(
                "when cp.async.bulk completes, it signals the mbarrier at shared address"),
            std::string::npos)
      << fault_in(r.report).message;
  EXPECT_NE(fault_in(r.report).message.find("its tx-count would be -1048586"), std::string::npos)
      << fault_in(r.report).message;
}

TEST(AsyncCopyLate, AnMbarrierThatEndsBeforeTheCopyIsAFault) {
  const KernelRun r = run(R"(
    mbarrier.init.shared.b64 [bar], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r91], [%in], 16, [%r92];
    mbarrier.inval.shared.b64 [bar];
    ret;)",
                          AsyncMode::late);
  EXPECT_NE(fault_in(r.report).message.find("mbarrier.inval has ended it before that"), std::string::npos)
      << fault_in(r.report).message;
}

// A size of 0 moves nothing and looks nowhere; the largest size does not wrap.
TEST_P(AsyncCopy, SizesAtTheirEnds) {
  for (const char* copy :
       {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r91], [%in], %r0, [%r92];",
        "cp.async.bulk.global.shared::cta.bulk_group [%out], [%r90], %r0;"}) {
    const std::string before = "mbarrier.init.shared.b64 [bar], 1; mov.u32 %r0, ";
    EXPECT_TRUE(run(before + "0; " + copy + " ret;", GetParam()).report.ok());
    for (const char* size : {"0xfffffff0", "0x80000000", "0x7ffffff0"}) {
      const KernelRun r = run(before + size + "; " + copy + " ret;", GetParam());
      EXPECT_NE(fault_in(r.report).message.find("out of bounds"), std::string::npos)
          << fault_in(r.report).message;
    }
  }
}

TEST(AsyncCopyLate, AMissingWaitShowsTheOldBytes) {
  const KernelRun copied = run(R"(
    st.shared.u32 [to], 5;
    cp.async.ca.shared.global [%r91], [%in], 4;
    cp.async.commit_group;
    ld.shared.u32 %r0, [to];
    st.global.u32 [%out], %r0;
    cp.async.wait_group 0;
    ret;)",
                               AsyncMode::late);
  EXPECT_EQ(copied.out[0], 5u);
  // The source is read when the group is waited for: too late for what it held when the copy was issued.
  const KernelRun stored = run(R"(
    st.shared.v4.u32 [from], {1, 1, 1, 1};
    fence.proxy.async;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r90], 16;
    cp.async.bulk.commit_group;
    st.shared.v4.u32 [from], {2, 2, 2, 2};
    fence.proxy.async;
    cp.async.bulk.wait_group 0;
    ret;)",
                               AsyncMode::late);
  EXPECT_EQ(stored.out[0], 2u);
}

// Lanes commit groups of their own: odd ones two, even ones one. Lane 3 copies a part and zeros.
TEST(AsyncCopyLate, GroupsAreThoseOfEachLane) {
  const KernelRun r = run(R"(
    mul.lo.u32 %r0, %t, 4;
    add.u32 %r1, %r90, %r0;
    add.u32 %r2, %r91, %r0;
    cvt.u64.u32 %rd0, %r0;
    add.u64 %rd1, %in, %rd0;
    add.u64 %rd2, %out, %rd0;
    st.shared.u32 [%r1], 5;
    st.shared.u32 [%r2], 6;
    and.b32 %r3, %t, 1;
    setp.ne.u32 %p0, %r3, 0;
    setp.eq.u32 %p1, %t, 3;
    selp.b32 %r4, 2, 4, %p1;
    cp.async.ca.shared.global [%r1], [%rd1], 4, %r4;
    cp.async.commit_group;
    @!%p0 bra WAIT;
    cp.async.ca.shared.global [%r2], [%rd1+256], 4;
    cp.async.commit_group;
WAIT:
    cp.async.wait_group 1;
    ld.shared.u32 %r5, [%r1];
    ld.shared.u32 %r6, [%r2];
    st.global.u32 [%rd2], %r5;
    st.global.u32 [%rd2+128], %r6;
    cp.async.ca.shared.global [%r2], [%rd1+512], 4;
    cp.async.wait_all;
    ld.shared.u32 %r5, [%r1];
    ld.shared.u32 %r6, [%r2];
    st.global.u32 [%rd2+256], %r5;
    st.global.u32 [%rd2+384], %r6;
    ret;)",
                          AsyncMode::late, 32);
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t copied = 100 + t;
    EXPECT_EQ(r.out[t], t % 2 == 1 ? copied : 5) << t; // 103 is a number of 16 bits
    EXPECT_EQ(r.out[32 + t], 6u) << t;
    EXPECT_EQ(r.out[64 + t], copied) << t;
    EXPECT_EQ(r.out[96 + t], copied + 128) << t;
  }
}

TEST(AsyncCopyLate, AMissingFenceShowsTheOldBytes) {
  const KernelRun r = run(R"(
    st.shared.v4.u32 [from], {1, 1, 1, 1};
    fence.proxy.async;
    st.shared.v4.u32 [from], {2, 2, 2, 2};
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r90], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ret;)",
                          AsyncMode::late);
  EXPECT_EQ(r.out[0], 1u);
}

TEST(AsyncCopyLate, ReadWaitTakesTheSource) {
  const KernelRun r = run(R"(
    st.shared.v4.u32 [from], {1, 1, 1, 1};
    fence.proxy.async;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r90], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
    st.shared.v4.u32 [from], {2, 2, 2, 2};
    fence.proxy.async;
    ld.global.u32 %r0, [%out];
    st.global.u32 [%out+64], %r0;
    ret;)",
                          AsyncMode::late);
  EXPECT_EQ(r.out[0], 1u);
  EXPECT_EQ(r.out[16], 0u); // the destination is written later
}

TEST(AsyncCopyLate, NobodyWaitsForTheLastStore) {
  const KernelRun r = run(R"(
    st.shared.v4.u32 [from], {1, 1, 1, 1};
    fence.proxy.async;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r90], 16;
    cp.async.bulk.commit_group;
    ret;)",
                          AsyncMode::late);
  EXPECT_EQ(r.out[0], 1u);
  ASSERT_EQ(r.report.warnings.size(), 1u);
  EXPECT_NE(r.report.warnings[0].find("a bulk copy still had shared memory to read"), std::string::npos)
      << r.report.warnings[0];
}

TEST(AsyncCopyLate, NothingIsSaidOfAStoreWhoseSourceWasWaitedFor) {
  const KernelRun r = run(R"(
    st.shared.v4.u32 [from], {1, 1, 1, 1};
    fence.proxy.async;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r90], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
    ret;)",
                          AsyncMode::late);
  EXPECT_EQ(r.out[0], 1u);
  EXPECT_TRUE(r.report.warnings.empty());
}

TEST(AsyncCopy, MisuseIsNamed) {
  const struct {
    const char* body;
    const char* message;
  } cases[] = {
      {"mov.u32 %r0, 24; cp.async.bulk.global.shared::cta.bulk_group [%out], [%r90], %r0; ret;",
       "multiples of 16"},
      {"cp.async.bulk.global.shared::cta.bulk_group [%out+4], [%r90], 16; ret;", "not a multiple of 16"},
      {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r91], [%in], 16, [%r92]; ret;",
       "mbarrier.init has not run there"},
      {"mbarrier.init.shared.b64 [bar], 1; mov.b16 %h0, 2;"
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r91], [%in], "
       "16, "
       "[%r92], %h0; ret;",
       "names CTAs that the cluster of 1 does not have"},
      {"mov.u32 %r0, 9; cp.async.ca.shared.global [%r91], [%in], 8, %r0; ret;", "more than the 8 bytes"},
      {"cp.async.ca.shared.global [%r91], [%in+1024], 8; ret;", "out of bounds"},
  };
  for (const auto& c : cases) {
    const KernelRun r = run(std::string(".reg .b16 %h0;") + c.body, AsyncMode::eager);
    EXPECT_FALSE(r.report.ok()) << c.body;
    EXPECT_NE(fault_in(r.report).message.find(c.message), std::string::npos) << fault_in(r.report).message;
  }
}

// st.bulk, which machines from sm_100 on have: each lane its own range.
TEST(AsyncCopy, ABulkStoreWritesZeros) {
  const auto run_on_sm_100 = [](const std::string& size) {
    Kernel kernel(fmt::format(R"(.version 8.6
.target sm_100
.address_size 64
.visible .entry k(.param .u64 p_out) {{
  .shared .align 16 .b8 tile[256];
  .reg .b64 %out, %size; .reg .b32 %t, %s, %v, %a;
  ld.param.u64 %out, [p_out];
  mov.u32 %t, %tid.x; mov.u32 %s, tile;
  mad.lo.u32 %a, %t, 4, %s; st.shared.u32 [%a], 7; st.shared.u32 [%a+128], 7;
  bar.sync 0;
  mad.lo.u32 %a, %t, 64, %s; cvt.u64.u32 %size, %t; shl.b64 %size, %size, 3;
  {}
  bar.sync 0;
  mad.lo.u32 %a, %t, 4, %s; mad.wide.u32 %out, %t, 4, %out;
  ld.shared.u32 %v, [%a]; st.global.u32 [%out], %v;
  ld.shared.u32 %v, [%a+128]; st.global.u32 [%out+128], %v;
  ret;
}})",
                              size));
    const uint64_t out = kernel.buffer(std::vector<uint32_t>(64));
    const Report report = kernel.run({out});
    return std::pair(fault_text(report), kernel.read<uint32_t>(out, 64));
  };
  const std::string of_four = ".reg .pred %p; setp.lt.u32 %p, %t, 4; @%p st.bulk.weak.shared::cta [%a], ";
  const auto [fault, words] = run_on_sm_100(of_four + "%size, 0;");
  ASSERT_EQ(fault, "");
  for (uint32_t i = 0; i < 64; ++i)
    ASSERT_EQ(words[i], i % 16 < i / 16 * 2 ? 0u : 7u) << i; // lane t has zeroed 8 * t bytes
  EXPECT_NE(run_on_sm_100(of_four + "264, 0;").first.find("out of bounds"), std::string::npos);
  EXPECT_NE(
      run_on_sm_100("add.u64 %size, %size, 4; " + of_four + "%size, 0;").first.find("not a multiple of 8"),
      std::string::npos);
}

} // namespace
} // namespace lemma::vgpu
