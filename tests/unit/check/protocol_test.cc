// One rule of use a test: a kernel that breaks it, and its twin that does not.
#include "findings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::check {
namespace {

TEST(Protocol, AlignedBarriersAreForWholeWarps) {
  EXPECT_EQ(findings_of(kernel("@%p bar.sync 0;\n@!%p bar.sync 0;"), 64),
            "barrier.divergent: bar.sync ~ bar.sync\n");
  EXPECT_EQ(findings_of(kernel("bar.sync 0;"), 64), "");
  EXPECT_EQ(findings_of(kernel("bar.sync 0;"), 40), ""); // there are no others
  // What has exited is not waited for.
  EXPECT_EQ(findings_of(kernel("setp.gt.u32 %q, %t, 40;\n@%q ret;\nbar.sync 0;"), 64),
            "note barrier.divergent: bar.sync\n");
}

TEST(Protocol, BarriersWaitForAsManyAsArrive) {
  EXPECT_EQ(findings_of(kernel("bar.arrive 1, 96;"), 64), "note barrier.count: bar.arrive\n");
  EXPECT_EQ(findings_of(kernel("@%w bar.arrive 1, 64;\n@!%w bar.sync 1, 64;"), 64), "");
  EXPECT_EQ(findings_of(kernel("bar.sync 1, 64;"), 128), "barrier.count: bar.sync ~ bar.sync\n");
  EXPECT_EQ(findings_of(kernel("bar.sync 1, 96;"), 64), "fault barrier.count\n");
  EXPECT_EQ(findings_of(kernel("@%w bar.arrive 1, 64;\n@!%w bar.sync 1, 96;"), 64), "fault barrier.count\n");
}

// Warps 0 and 1 meet, then 0 and 2.
TEST(Protocol, OneNumberIsForOneMeeting) {
  const auto meets = [](int second, const std::string& between) {
    return findings_of(kernel(fmt::format(R"(
  setp.lt.u32 %q, %t, 64;
  @%q bar.sync 1, 64;
  {}
  and.b32 %r1, %t, 32;
  setp.eq.u32 %q, %r1, 0;
  @%q bar.sync {}, 64;)",
                                          between, second)),
                       128);
  };
  EXPECT_EQ(meets(2, ""), "");
  EXPECT_EQ(meets(1, "bar.sync 0;"), "");
  EXPECT_EQ(meets(1, ""), "barrier.id: bar.sync ~ bar.sync\n");
}

TEST(Protocol, MbarriersAreInitializedOnce) {
  const auto again = [](const std::string& between) {
    return findings_of(
        kernel("@%p mbarrier.init.shared.b64 [%m], 1;\n@%p mbarrier.arrive.shared.b64 %state, [%m];\n" +
               between + "\n@%p mbarrier.init.shared.b64 [%m], 2;\n" + "@%p mbarrier.inval.shared.b64 [%m];"),
        32);
  };
  EXPECT_EQ(again("@%p mbarrier.inval.shared.b64 [%m];"), "");
  EXPECT_EQ(again(""), "mbarrier.init: mbarrier.arrive.shared.b64 ~ mbarrier.init.shared.b64\n");
  EXPECT_EQ(findings_of(kernel("@%p mbarrier.arrive.shared.b64 %state, [%m];"), 32), "fault mbarrier.init\n");
}

TEST(Protocol, TheAsyncProxyIsToldOfMbarriers) {
  const auto signalled = [](const std::string& fence) {
    return findings_of(kernel("@%p mbarrier.init.shared.b64 [%m], 1;\n" + fence + R"(
  bar.sync 0;
  @%p mbarrier.arrive.expect_tx.shared.b64 %state, [%m], 256;
  @%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%m];
L: mbarrier.try_wait.parity.shared.b64 %q, [%m], 0;
  @!%q bra L;)"),
                       32);
  };
  EXPECT_EQ(signalled("@%p fence.mbarrier_init.release.cluster;"), "");
  EXPECT_EQ(signalled("@%p fence.proxy.async;"), "");
  EXPECT_EQ(signalled(""), "note mbarrier.init: mbarrier.init.shared.b64 ~ "
                           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes\n");
}

TEST(Protocol, MbarriersEndBeforeTheirMemoryIsReused) {
  const auto reused = [](const std::string& between) {
    return findings_of(
        kernel("@%p mbarrier.init.shared.b64 [%m], 1;\n" + between + "\n@%p st.shared.u32 [%m], 0;"), 32);
  };
  EXPECT_EQ(reused("@%p mbarrier.inval.shared.b64 [%m];"), "");
  EXPECT_EQ(reused(""), "mbarrier.inval: mbarrier.init.shared.b64 ~ st.shared.u32\n");
  EXPECT_EQ(findings_of(kernel("@%p mbarrier.init.shared.b64 [%m], 1;\n@%p ld.shared.u32 %r1, [%m];"), 32),
            "mbarrier.plain: mbarrier.init.shared.b64 ~ ld.shared.u32\n");
}

TEST(Protocol, MbarriersCountArrivals) {
  const auto counted = [](int expected, const std::string& more = "") {
    return findings_of(kernel(fmt::format("@%p mbarrier.init.shared.b64 [%m], {};\nbar.sync 0;\n"
                                          "mbarrier.arrive.shared.b64 %state, [%m];\n{}",
                                          expected, more)),
                       64);
  };
  EXPECT_EQ(counted(64), "");
  EXPECT_EQ(counted(96), "note mbarrier.count: mbarrier.arrive.shared.b64\n");
  EXPECT_EQ(counted(96, "L: mbarrier.try_wait.shared.b64 %q, [%m], %state;\n@!%q bra L;"),
            "fault mbarrier.count\n");
  EXPECT_EQ(
      findings_of(kernel("@%p mbarrier.init.shared.b64 [%m], 3;\n@%p mbarrier.arrive.shared.b64 %state, "
                         "[%m], 4;"),
                  32),
      "fault mbarrier.count\n");
}

TEST(Protocol, MbarriersCountBytes) {
  const auto loaded = [](int bytes, const std::string& wait = "") {
    return findings_of(kernel(fmt::format(R"(
  @%p mbarrier.init.shared.b64 [%m], 1;
  @%p fence.mbarrier_init.release.cluster;
  bar.sync 0;
  @%p mbarrier.arrive.expect_tx.shared.b64 %state, [%m], {};
  @%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%m];
  {})",
                                          bytes, wait)),
                       32);
  };
  const std::string wait = "L: mbarrier.try_wait.parity.shared.b64 %q, [%m], 0;\n@!%q bra L;";
  EXPECT_EQ(loaded(256, wait), "");
  EXPECT_EQ(loaded(512, wait), "fault mbarrier.tx\n");
  EXPECT_NE(loaded(512).find("mbarrier.tx: "), std::string::npos);
  EXPECT_NE(loaded(128).find("mbarrier.tx: "), std::string::npos);
}

// Warp 0 completes phases on its own, warp 1 waits for the first.
TEST(Protocol, PhasesAreNotLapped) {
  const auto laps = [](const std::string& hold) {
    return findings_of(kernel(R"(
  @%p mbarrier.init.shared.b64 [%m], 1;
  @%p mbarrier.init.shared.b64 [%s], 32;
  bar.sync 0;
  @!%w bra L_wait;
  mov.u32 %r1, 0;
L_next:
  )" + hold + R"(
  @%p mbarrier.arrive.shared.b64 %state, [%m];
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %q, %r1, 3;
  @%q bra L_next;
  bra L_end;
L_wait:
  mov.u32 %r1, 0;
L_phase:
  and.b32 %r2, %r1, 1;
L_test:
  mbarrier.try_wait.parity.shared.b64 %q, [%m], %r2;
  @!%q bra L_test;
  mbarrier.arrive.shared.b64 %state, [%s];
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %q, %r1, 3;
  @%q bra L_phase;
L_end:)"),
                       64);
  };
  EXPECT_EQ(laps(R"(
  setp.eq.u32 %q, %r1, 0;
  @%q bra L_go;
  add.u32 %r3, %r1, 1;
  and.b32 %r3, %r3, 1;
L_empty: mbarrier.try_wait.parity.shared.b64 %q, [%s], %r3;
  @!%q bra L_empty;
L_go:)"),
            "");
}

TEST(Protocol, ClustersStartAndEndTogether) {
  const auto remote = [](const std::string& before, const std::string& after) {
    return findings_of(kernel(before + R"(
  mov.u32 %r2, %cluster_ctarank;
  xor.b32 %r2, %r2, 1;
  mapa.shared::cluster.u32 %r3, %a, %r2;
  setp.eq.u32 %q, %r2, 0;
  @%q st.shared::cluster.u32 [%r3], %t;
)" + after,
                              ".reqnctapercluster 2"),
                       32, 2);
  };
  const std::string meet = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
  EXPECT_EQ(remote(meet, meet), "");
  EXPECT_EQ(remote("", meet), "cluster.start: st.shared::cluster.u32\n");
  EXPECT_EQ(remote(meet, ""), "cluster.exit: st.shared::cluster.u32 ~ ret\n");
  EXPECT_EQ(remote(meet, "barrier.cluster.arrive;"),
            "cluster.exit: st.shared::cluster.u32 ~ ret\ncluster.arrive: barrier.cluster.arrive ~ ret\n");
  EXPECT_EQ(remote(meet, "barrier.cluster.arrive;\nbarrier.cluster.arrive;"), "fault cluster.arrive\n");
}

// Each CTA waits for the arrivals of all before it exits; the lanes of one instruction arrive in all of them.
TEST(Protocol, ArrivalsThatWereWaitedForComeBeforeTheExit) {
  const auto arrive = [](const std::string& wait) {
    return findings_of(kernel(R"(
  @%p mbarrier.init.shared.b64 [%m], 2;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  setp.ge.u32 %q, %t, 32;
  @%q bra L_wait;
  setp.ge.u32 %q, %t, 2;
  @%q bra L_end;
  mapa.shared::cluster.u32 %r1, %m, %t;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];
  bra L_end;
L_wait:
)" + wait + "L_end:",
                              ".reqnctapercluster 2"),
                       64, 2);
  };
  EXPECT_EQ(
      arrive("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%m], 0;\n@!%q bra L_wait;\n"),
      "");
  EXPECT_EQ(arrive("nanosleep.u32 100000;\n"),
            "cluster.exit: mbarrier.arrive.release.cluster.shared::cluster.b64 ~ ret\n");
}

TEST(Protocol, MasksNameTheirCaller) {
  EXPECT_EQ(findings_of(kernel("bar.warp.sync 0xfffffffe;"), 32), "fault warp.mask\n");
}

TEST(Protocol, AccessesStayInTheirVariable) {
  const auto word = [](int offset) {
    return findings_of(kernel(fmt::format(R"(
  .shared .align 16 .b8 first[16];
  .shared .align 16 .b8 second[16];
  .local .align 4 .b8 own[4];
  mov.u32 %r1, first;
  add.u32 %r2, %r1, {};
  @%p st.shared.u32 [%r2], 1;
  mov.u32 %r3, second;
  @%p st.shared.u32 [%r3], 1;)",
                                          offset)),
                       32);
  };
  EXPECT_EQ(word(12), "");
  EXPECT_EQ(word(14 + 2), "memory.bounds: st.shared.u32\n");
  EXPECT_EQ(findings_of(kernel(R"(
  .local .align 4 .b8 own[4];
  .local .align 4 .b8 other[12];
  st.local.u32 [own+4], 1;)"),
                        32),
            "memory.bounds: st.local.u32\n");
}

// As libcu++ does with clusterlaunchcontrol: whether the bytes come before that or after is up to the
// schedule.
TEST(Protocol, BytesMayBeExpectedAfterTheCopyIsIssued) {
  const auto loads = [](const std::string& body) {
    return findings_of(kernel("mbarrier.init.shared.b64 [%m], 1;\nfence.mbarrier_init.release.cluster;\n"
                              "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nLOOP:\n" +
                              body + R"(
WAIT:
  mbarrier.try_wait.parity.shared.b64 %q, [%m], %r1;
  @!%q bra WAIT;
  xor.b32 %r1, %r1, 1;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %q, %r2, 40;
  @%q bra LOOP;)"),
                       1, 1, AsyncMode::random);
  };
  const std::string copy =
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%m];\n";
  const std::string expect = "mbarrier.arrive.expect_tx.shared.b64 _, [%m], 256;\n";
  EXPECT_EQ(loads(expect + copy), "");
  EXPECT_EQ(loads(copy + expect), "");
}

// Four words where there are three: compilers make such reads, and the hardware has memory there.
TEST(Protocol, AReadOfTheRestOfAUnitOfSharedMemoryIsANote) {
  const auto reads = [](const std::string& load) { // three words, the first at 1024
    return findings_of(R"(
.visible .entry k(.param .u64 pin, .param .u64 pout) {
  .shared .align 4 .b8 own[12];
  .reg .b32 %r<5>;
  st.shared.u32 [own], 1;
  st.shared.u32 [own+4], 2;
  st.shared.u32 [own+8], 3;
)" + load + "\n  ret;\n}\n",
                       1);
  };
  EXPECT_EQ(reads("ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [1040];"),
            "note memory.bounds: ld.shared.v4.u32\n");
  EXPECT_EQ(reads("ld.shared.u32 %r1, [1148];"), "note memory.bounds: ld.shared.u32\n");
  EXPECT_EQ(reads("ld.shared.v2.u32 {%r1, %r2}, [1024];\nld.shared.u32 %r3, [1032];"), "");
  EXPECT_EQ(reads("ld.shared.u32 %r1, [1152];"), "fault memory.bounds\n");
}

TEST(Protocol, GridsWaitBeforeTheyRead) {
  EXPECT_EQ(findings_of(kernel("griddepcontrol.wait;\nld.global.u32 %r1, [%in];"), 1), "");
  EXPECT_EQ(findings_of(kernel("@%p griddepcontrol.wait;\nbar.sync 0;\nld.global.u32 %r1, [%in];"), 64), "");
  EXPECT_EQ(
      findings_of(kernel("ld.global.u32 %r1, [%in];\ngriddepcontrol.wait;\nld.global.u32 %r1, [%in+4];"), 1),
      "warp.griddepcontrol: ld.global.u32\n");
  // Weights are there from the beginning.
  EXPECT_EQ(
      findings_of(kernel("ld.global.u32 %r1, [%in];\ngriddepcontrol.wait;\nld.global.u32 %r1, [%out];"), 1),
      "");
}

TEST(Protocol, ReadsOutsideTheModel) {
  EXPECT_EQ(findings_of(kernel("st.global.u32 [%out], 1;\nmembar.gl;\nld.global.nc.u32 %r1, [%out];"), 1),
            "race.weak: st.global.u32 ~ ld.global.nc.u32\n");
  EXPECT_EQ(findings_of(kernel("st.global.u32 [%out], 1;\nld.global.nc.u32 %r1, [%in];"), 1), "");
}

// A and B of an m64n8k16, K-major without a swizzle: 2048 bytes of A from the begin of `tile`; of B the 16
// threads from `first` on write 16 bytes each from 2048 bytes on, and the descriptor has that leading
// dimension byte offset.
std::string multiplied(int first, int leading) {
  return findings_of(
      kernel(fmt::format(
          "mad.lo.u32 %r0, %t, 16, %s;\nmov.u32 %r1, 0;\nst.shared.v4.u32 [%r0], {{%r1, %r1, %r1, %r1}};\n"
          "setp.ge.u32 %q, %t, {};\nsetp.lt.and.u32 %q, %t, {}, %q;\n"
          "@%q st.shared.v4.u32 [%r0+2048], {{%r1, %r1, %r1, %r1}};\nfence.proxy.async;\nbar.sync 0;\n"
          "shr.u32 %r2, %s, 4;\ncvt.u64.u32 %g, %r2;\nadd.u64 %state, %g, 128;\n"
          "or.b64 %g, %g, 0x1000080000;\nor.b64 %state, %state, {:#x};\n"
          "mov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\n"
          "wgmma.fence.sync.aligned;\n"
          "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %g, %state, 1, "
          "1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;",
          first, first + 16, uint64_t{0x1000000000} | static_cast<uint64_t>(leading / 16) << 16)),
      128);
}

TEST(Tiles, DescriptorsLeadToWhatWasWritten) {
  const std::string note = "note tile.layout: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16\n";
  EXPECT_EQ(multiplied(0, 128), "");
  EXPECT_EQ(multiplied(0, 64), note);  // core matrices overlap
  EXPECT_EQ(multiplied(0, 256), note); // the second one is nobody's, and the one that was written is left out
  EXPECT_EQ(multiplied(64, 128), "");  // nothing lies beside it
}

TEST(Protocol, ACtaThatIsNotWatchedMayBeStuck) {
  vgpu::Kernel kernel(R"(
.visible .entry k() {
  .reg .pred %p;
  .reg .b64 %s;
  .reg .b32 %c;
  .shared .align 8 .b64 bar;
  mov.u32 %c, %ctaid.x;
  setp.eq.u32 %p, %c, 0;
@%p bra DONE;
  mbarrier.init.shared.b64 [bar], 2;
  mbarrier.arrive.shared.b64 %s, [bar];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;
@!%p bra WAIT;
DONE:
  ret;
}
)");
  Checker checker;
  kernel.watch(checker);
  kernel.config().grid = {3, 1, 1};
  kernel.config().block = {1, 1, 1};
  kernel.config().check = true;
  kernel.config().check_ctas = 1;
  const Report report = kernel.run({});
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(report.fault->kind, FaultKind::deadlock);
  EXPECT_EQ(report.checked_ctas, 1u);
}

} // namespace
} // namespace lemma::check
