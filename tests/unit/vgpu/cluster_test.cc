// Clusters: addresses and registers as an H200 gives them, each other's shared memory, the barrier and its
// misuse, what a launch refuses, and what is said when nothing can move.
#include "kernel.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lemma::vgpu {
namespace {

// A kernel: %t the thread's x index, %rank the CTA's, %i its linear index in the grid (of one dimension)
// times its threads plus %t, %out the address of word %i of `out`.
std::string kernel(const std::string& body, const std::string& directives = "") {
  return R"(
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 out)
)" + directives +
         R"({
  .shared .align 16 .b8 words[512];
  .reg .b64 %out, %a<8>;
  .reg .b32 %t, %rank, %i, %n, %r<16>;
  .reg .pred %p<4>;
  ld.param.u64 %out, [out];
  mov.u32 %r15, words;
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %i, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mad.lo.u32 %i, %i, %n, %t;
  mad.wide.u32 %out, %i, 4, %out;
)" + body +
         "\n  ret;\n}\n";
}

class Clusters : public testing::Test {
protected:
  // Runs with `ctas` CTAs in clusters of `cluster`; the words that were stored are in `out`.
  Report run(const std::string& text, uint32_t cluster = 2, uint32_t ctas = 4, uint32_t threads = 32) {
    Kernel kernel(text);
    kernel.config().grid = {ctas, 1, 1};
    kernel.config().block = {threads, 1, 1};
    kernel.config().cluster = {cluster, 1, 1};
    kernel.config().shared_bytes = dynamic;
    kernel.config().async = async;
    const uint64_t buffer = kernel.buffer(std::vector<uint32_t>(ctas * threads));
    Report report = kernel.run({buffer});
    out = kernel.read<uint32_t>(buffer, ctas * threads);
    return report;
  }

  std::vector<uint32_t> out;
  uint32_t dynamic = 0;
  AsyncMode async = AsyncMode::eager;
};

constexpr const char* kMeet = "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n";

// --- addresses and registers

// Each thread stores one value: those of an H200, from a kernel with 512 static bytes.
TEST_F(Clusters, AddressesNameTheCta) {
  const auto value_in_cta_1 = [&](const std::string& statements) {
    const Report report = run(kernel(statements + "\n  st.global.u32 [%out], %r0;"));
    EXPECT_EQ(fault_text(report), "");
    return out[3 * 32]; // rank 1 of the second cluster
  };
  EXPECT_EQ(value_in_cta_1("mov.u32 %r0, words;"), 0x01000400u);
  EXPECT_EQ(value_in_cta_1("mov.u32 %r0, words+4;"), 0x01000404u);
  EXPECT_EQ(value_in_cta_1("mov.u32 %r0, dynamic;"), 0x01000600u);
  EXPECT_EQ(value_in_cta_1("mapa.shared::cluster.u32 %r0, words, 0;"), 0x00000400u);
  EXPECT_EQ(value_in_cta_1("mov.u32 %r1, words; mapa.shared::cluster.u32 %r0, %r1, 5;"), 0x05000400u);
  EXPECT_EQ(value_in_cta_1("mov.u32 %r1, 1024; mapa.shared::cluster.u32 %r0, %r1, %rank;"), 0x01000400u);
  EXPECT_EQ(value_in_cta_1("cvta.shared.u64 %a0, words; mapa.u64 %a1, %a0, 0; sub.u64 %a0, %a0, %a1;"
                           "cvt.u32.u64 %r0, %a0;"),
            0x01000000u);
  EXPECT_EQ(value_in_cta_1("cvta.shared.u64 %a0, words; cvta.to.shared::cluster.u64 %a0, %a0;"
                           "cvt.u32.u64 %r0, %a0;"),
            0x01000400u);
  EXPECT_EQ(value_in_cta_1("getctarank.shared::cluster.u32 %r0, words;"), 1u);
  EXPECT_EQ(value_in_cta_1("mov.u32 %r1, words; mapa.shared::cluster.u32 %r1, %r1, 0;"
                           "getctarank.shared::cluster.u32 %r0, %r1;"),
            0u);
  EXPECT_EQ(value_in_cta_1("cvta.shared.u64 %a0, words; getctarank.u64 %r0, %a0;"), 1u);
}

TEST_F(Clusters, IsspacepTellsOwnFromOthers) {
  std::string body = "  cvta.shared.u64 %a0, words;\n  mapa.u64 %a1, %a0, 0;\n  mov.u32 %r0, 0;\n";
  uint32_t bit = 1;
  for (const char* space : {"shared", "shared::cta", "shared::cluster", "global"})
    for (const char* address : {"%a0", "%a1"}) {
      body += std::string("  isspacep.") + space + " %p0, " + address + ";\n  @%p0 add.u32 %r0, %r0, " +
              std::to_string(bit) + ";\n";
      bit *= 2;
    }
  ASSERT_EQ(fault_text(run(kernel(body + "  st.global.u32 [%out], %r0;"))), "");
  EXPECT_EQ(out[0], 0b00'11'11'11u);  // rank 0: both addresses are its own
  EXPECT_EQ(out[32], 0b00'11'01'01u); // rank 1
}

TEST_F(Clusters, SpecialRegisters) {
  dynamic = 1000;
  const auto values = [&](const std::string& name) {
    const Report report = run(kernel("  mov.u32 %r0, %" + name + ";\n  st.global.u32 [%out], %r0;"));
    EXPECT_EQ(fault_text(report), "");
    return std::vector<uint32_t>{out[0], out[32], out[64], out[96]};
  };
  using V = std::vector<uint32_t>;
  EXPECT_EQ(values("clusterid.x"), (V{0, 0, 1, 1}));
  EXPECT_EQ(values("nclusterid.x"), (V{2, 2, 2, 2}));
  EXPECT_EQ(values("cluster_ctaid.x"), (V{0, 1, 0, 1}));
  EXPECT_EQ(values("cluster_nctaid.x"), (V{2, 2, 2, 2}));
  EXPECT_EQ(values("cluster_nctaid.z"), (V{1, 1, 1, 1}));
  EXPECT_EQ(values("cluster_ctarank"), (V{0, 1, 0, 1}));
  EXPECT_EQ(values("cluster_nctarank"), (V{2, 2, 2, 2}));
  // 512 static bytes; as on an H200.
  EXPECT_EQ(values("dynamic_smem_size")[1], 1000u);
  EXPECT_EQ(values("total_smem_size")[1], 1536u);
  EXPECT_EQ(values("aggr_smem_size")[1], 1024u + 512 + 1000);
  EXPECT_EQ(values("reserved_smem_offset_begin")[1], 0u);
  EXPECT_EQ(values("reserved_smem_offset_end")[1], 0x120u);
  EXPECT_EQ(values("reserved_smem_offset_cap")[1], 0x400u);
  EXPECT_EQ(values("reserved_smem_offset_0")[1], 0u);
  EXPECT_EQ(values("reserved_smem_offset_1")[1], 0u);
}

// The system's part of shared memory, which cooperative groups find by %reserved_smem_offset_1: zeros at
// first, as on an H100. Kernels that do not ask for it have no business there.
TEST_F(Clusters, ReservedSharedMemory) {
  const std::string use =
      "  ld.shared.u32 %r0, [%r1+284];\n  add.u32 %r0, %r0, 7;\n  st.shared.u32 [%r1+284], %r0;\n"
      "  ld.shared.u32 %r0, [%r1+284];\n  st.global.u32 [%out], %r0;";
  ASSERT_EQ(fault_text(run(kernel("  mov.u32 %r1, %reserved_smem_offset_1;\n" + use), 2, 4, 1)), "");
  EXPECT_EQ(out, (std::vector<uint32_t>{7, 7, 7, 7}));
  EXPECT_NE(fault_text(run(kernel("  mov.u32 %r1, 0;\n" + use), 2, 4, 1)).find("out of bounds"),
            std::string::npos);
}

TEST(Cluster, RanksCountXFirst) {
  Kernel kernel(R"(
.visible .entry k(.param .u64 out) {
  .reg .b64 %out;
  .reg .b32 %x, %y, %n, %r;
  ld.param.u64 %out, [out];
  mov.u32 %x, %ctaid.x;
  mov.u32 %y, %ctaid.y;
  mov.u32 %n, %nctaid.x;
  mad.lo.u32 %x, %y, %n, %x;
  mad.wide.u32 %out, %x, 4, %out;
  mov.u32 %r, %cluster_ctarank;
  mov.u32 %x, %clusterid.x;
  mad.lo.u32 %r, %x, 10, %r;
  mov.u32 %y, %cluster_ctaid.y;
  mad.lo.u32 %r, %y, 100, %r;
  st.global.u32 [%out], %r;
  ret;
})");
  kernel.config().grid = {4, 2, 1};
  kernel.config().cluster = {2, 2, 1};
  kernel.config().block = {1, 1, 1};
  const uint64_t buffer = kernel.buffer(std::vector<uint32_t>(8));
  ASSERT_EQ(fault_text(kernel.run({buffer})), "");
  EXPECT_EQ(kernel.read<uint32_t>(buffer, 8), (std::vector<uint32_t>{0, 1, 10, 11, 102, 103, 112, 113}));
}

TEST_F(Clusters, ExplicitClusterOfOne) {
  const std::string text = kernel("  mov.pred %p0, %is_explicit_cluster;\n  selp.u32 %r0, 1, 0, %p0;\n"
                                  "  st.global.u32 [%out], %r0;");
  ASSERT_EQ(fault_text(run(text, 1)), "");
  EXPECT_EQ(out[0], 1u);
  Kernel plain(text);
  const uint64_t buffer = plain.buffer(std::vector<uint32_t>(32, 7));
  ASSERT_EQ(fault_text(plain.run({buffer})), "");
  EXPECT_EQ(plain.read<uint32_t>(buffer, 1)[0], 0u);
}

// --- each other's memory

TEST_F(Clusters, LoadsStoresAndAtomicsReachOtherCtas) {
  // Every thread stores into its neighbour's memory, adds to CTA 0's, and reads back from both.
  const std::string body = R"(
  shl.b32 %r0, %t, 2;
  mov.u32 %r1, words;
  add.u32 %r0, %r0, %r1;           // its own word
  add.u32 %r2, %rank, 1;
  rem.u32 %r2, %r2, 4;
  mapa.shared::cluster.u32 %r3, %r0, %r2;
  st.shared::cluster.u32 [%r3], %i;
  mov.u32 %r4, 0;
  st.shared.u32 [words+256], %r4;
)" + std::string(kMeet) + R"(
  mov.u32 %r5, words;
  mapa.shared::cluster.u32 %r5, %r5, 0;
  atom.relaxed.cluster.shared::cluster.add.u32 %r6, [%r5+256], 1;
  cvta.shared.u64 %a0, words;
  mapa.u64 %a0, %a0, 0;
  red.add.u32 [%a0+256], 100;      // by a generic address
)" + std::string(kMeet) + R"(
  ld.shared.u32 %r7, [%r0];        // what the neighbour before has stored
  ld.u32 %r8, [%a0+256];
  mad.lo.u32 %r7, %r8, 1000, %r7;
)" + std::string(kMeet) + "  st.global.u32 [%out], %r7;\n";
  ASSERT_EQ(fault_text(run(kernel(body), 4, 8)), "");
  const uint32_t sum = 4 * 32 * 101;
  for (uint32_t cta = 0; cta < 8; ++cta)
    for (uint32_t t = 0; t < 32; ++t) {
      const uint32_t neighbour = cta / 4 * 4 + (cta + 3) % 4;
      EXPECT_EQ(out[cta * 32 + t], sum * 1000 + neighbour * 32 + t) << cta << " " << t;
    }
}

TEST_F(Clusters, LanesMayReachDifferentCtas) {
  const std::string body = R"(
  st.shared.u32 [words+8], %rank;
)" + std::string(kMeet) + R"(
  mov.u32 %r0, words;
  and.b32 %r1, %t, 3;
  mapa.shared::cluster.u32 %r0, %r0, %r1;
  ld.shared::cluster.u32 %r2, [%r0+8];
)" + std::string(kMeet) + "  st.global.u32 [%out], %r2;\n";
  ASSERT_EQ(fault_text(run(kernel(body), 4, 4)), "");
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(out[i], i % 4);
}

// By its name a variable is the CTA's own, in either space.
TEST_F(Clusters, AVariableByNameIsTheOwnCtas) {
  dynamic = 64;
  const std::string body = R"(
  st.shared.u32 [words+8], %rank;
  st.shared::cluster.u32 [dynamic+4], %rank;
)" + std::string(kMeet) + R"(
  ld.shared::cluster.u32 %r0, [words+8];
  ld.shared.u32 %r1, [dynamic+4];
  mad.lo.u32 %r0, %r1, 10, %r0;
)" + std::string(kMeet) + "  st.global.u32 [%out], %r0;\n";
  ASSERT_EQ(fault_text(run(kernel(body))), "");
  EXPECT_EQ(out[0], 0u);
  EXPECT_EQ(out[32], 11u);
}

TEST_F(Clusters, WrongAddresses) {
  const auto text = [&](const std::string& statements) {
    return fault_text(
        run(kernel("  mov.u32 %r0, words;\n  st.shared.u32 [words], %t;\n" + std::string(kMeet) +
                   "  setp.eq.u32 %p0, %rank, 1;\n  @!%p0 bra DONE;\n" + statements + "\nDONE:\n" + kMeet),
            2, 2));
  };
  EXPECT_EQ(text("  mapa.shared::cluster.u32 %r0, %r0, 2;\n  ld.shared::cluster.u32 %r1, [%r0];"),
            "out of bounds: read of 4 bytes at shared::cluster address 0x2000400 is out of bounds: it names "
            "CTA rank 2 of a cluster of 2 CTAs (the rank is in bits 24 and up)");
  EXPECT_EQ(
      text("  mapa.shared::cluster.u32 %r0, %r0, 0;\n  st.shared::cluster.u32 [%r0+512], %r1;"),
      "out of bounds: write of 4 bytes at shared::cluster address 0x600 is out of bounds: at the end of "
      "CTA rank 0's shared memory (1536 bytes)");
  EXPECT_EQ(text("  ld.shared.u32 %r1, [%r0+0xff000000];"), "");
}

TEST_F(Clusters, AnotherCtasAddressIsNotOfSharedCta) {
  const std::string body = "  mov.u32 %r0, words;\n  st.shared.u32 [words], %t;\n" + std::string(kMeet) +
                           "  mapa.shared::cluster.u32 %r0, %r0, 1;\n  ld.shared::cta.u32 %r1, [%r0];\n" +
                           kMeet;
  const Report report = run(kernel(body), 2, 2);
  EXPECT_EQ(fault_text(report),
            "address of another state space: read of 4 bytes at shared address 0x1000400 is in the "
            "shared memory of CTA rank 1, and this CTA has rank 0");
}

TEST_F(Clusters, MemoryOfACtaThatHasExited) {
  const std::string body = R"(
  setp.eq.u32 %p0, %rank, 0;
  @%p0 ret;
  mov.u32 %r0, words;
  mapa.shared::cluster.u32 %r0, %r0, 0;
LOOP:
  st.shared::cluster.u32 [%r0], %t;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 1000;
  @%p1 bra LOOP;
)";
  const Report report = run(kernel("  mov.u32 %r1, 0;\n" + body), 2, 2);
  EXPECT_EQ(fault_text(report),
            "out of bounds: write of 4 bytes at shared::cluster address 0x400 is in the shared "
            "memory of CTA rank 0, which has exited: its memory may be gone");
  ASSERT_EQ(fault_in(report).notes.size(), 1u);
  EXPECT_NE(fault_in(report).notes[0].find("barrier.cluster"), std::string::npos);
}

TEST_F(Clusters, AnUnwrittenWordOfAnotherCta) {
  const std::string body = "  mov.u32 %r0, words;\n  mapa.shared::cluster.u32 %r0, %r0, 1;\n"
                           "  setp.eq.u32 %p0, %i, 0;\n  @%p0 ld.shared::cluster.u32 %r1, [%r0+4];\n" +
                           std::string(kMeet);
  const Report report = run(kernel(body), 2, 2);
  EXPECT_EQ(uninitialized_text(report),
            "@%p0 ld.shared::cluster.u32 %r1, [%r0+4];: shared memory at 0x404 of CTA rank 1 x1\n");
}

// --- the barrier

// A chain of messages round the cluster needs a barrier for each.
TEST_F(Clusters, TheBarrierIsUsedAgain) {
  std::string body = "  st.shared.u32 [words], %rank;\n";
  for (int round = 0; round < 3; ++round)
    body += std::string(kMeet) + R"(
  ld.shared.u32 %r1, [words];
  add.u32 %r1, %r1, 10;
  add.u32 %r2, %rank, 1;
  rem.u32 %r2, %r2, 3;
  mov.u32 %r3, words;
  mapa.shared::cluster.u32 %r3, %r3, %r2;
  barrier.cluster.arrive.release;
  barrier.cluster.wait.acquire;
  setp.eq.u32 %p0, %t, 0;
  @%p0 st.shared::cluster.u32 [%r3], %r1;
)";
  body += std::string(kMeet) + "  ld.shared.u32 %r1, [words];\n" + kMeet + "  st.global.u32 [%out], %r1;\n";
  ASSERT_EQ(fault_text(run(kernel(body), 3, 6, 64)), "");
  for (uint32_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], 30 + i / 64 % 3) << i;
}

// Threads do other work between arriving and waiting; one half of a warp runs far ahead of the other.
TEST_F(Clusters, ArrivalsAndWaitsMayLieApart) {
  const std::string body = R"(
  and.b32 %r0, %t, 1;
  setp.eq.u32 %p0, %r0, 0;
  mov.u32 %r1, 0;
  barrier.cluster.arrive.relaxed;
  @%p0 bra EVEN;
  barrier.cluster.wait;
  barrier.cluster.arrive;
  add.u32 %r1, %r1, 1;
  barrier.cluster.wait;
  bra DONE;
EVEN:
  add.u32 %r1, %r1, 2;
  barrier.cluster.wait;
  barrier.cluster.arrive;
  barrier.cluster.wait;
DONE:
  st.global.u32 [%out], %r1;
)";
  ASSERT_EQ(fault_text(run(kernel(body), 4, 4)), "");
  for (uint32_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], i % 2 ? 1u : 2u);
}

// As on an H200: threads that have exited are not waited for, arrived or not.
TEST_F(Clusters, ExitedThreadsAreNotWaitedFor) {
  const std::string body = R"(
  setp.eq.u32 %p0, %rank, 1;
  @%p0 ret;
  setp.lt.u32 %p1, %t, 5;
  barrier.cluster.arrive;
  @%p1 exit;
  barrier.cluster.wait;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mov.u32 %r0, 1;
  st.global.u32 [%out], %r0;
)";
  ASSERT_EQ(fault_text(run(kernel(body), 2, 2)), "");
  EXPECT_EQ(std::count(out.begin(), out.end(), 1u), 27);
}

TEST_F(Clusters, MisuseOfTheBarrier) {
  const auto text = [&](const std::string& body) { return fault_text(run(kernel(body))); };
  EXPECT_EQ(
      text("  barrier.cluster.arrive;\n  barrier.cluster.arrive;\n  barrier.cluster.wait;"),
      "illegal instruction: a thread arrives at the cluster's barrier a second time without waiting there "
      "in between (undefined behaviour)");
  EXPECT_EQ(
      text("  barrier.cluster.wait;"),
      "illegal instruction: a thread waits at the cluster's barrier and has not arrived there: it would "
      "wait for itself");
}

// --- proxies

// Ones are stored for a wgmma, in the CTA's own memory or by CTA 0 in CTA 1's, and `fence` comes after. True
// if the wgmma of CTA 1 has seen them, in AsyncMode::late.
class Proxies : public Clusters {
protected:
  bool sees_stores(const std::string& fence, bool remote) {
    async = AsyncMode::late;
    dynamic = 4096;
    std::string body = R"(
  .reg .f32 %d<4>;
  .reg .b32 %s;
  .reg .b64 %desc;
  mov.u32 %s, dynamic;
  mov.u32 %r0, %s;
  mad.lo.u32 %r0, %t, 4, %r0;
  mov.u32 %r2, 0x3c003c00;
  mov.u32 %r1, 0;
)" + std::string(kMeet);
    if (remote)
      body += "  setp.ne.u32 %p0, %rank, 0;\n  @%p0 bra STORED;\n"
              "  mapa.shared::cluster.u32 %r0, %r0, 1;\n";
    body += R"(
STORE:
  st.shared::cluster.u32 [%r0], %r2;
  add.u32 %r0, %r0, 512;
  add.u32 %r1, %r1, 512;
  setp.lt.u32 %p1, %r1, 4096;
  @%p1 bra STORE;
)" + fence + "\nSTORED:\n" +
            std::string(kMeet) + R"(
  // Core matrices 128 bytes apart along K and 256 along M and N: all inside the 4096 bytes.
  and.b32 %s, %s, 0x3ffff;
  shr.u32 %s, %s, 4;
  cvt.u64.u32 %desc, %s;
  or.b64 %desc, %desc, 0x0000001000080000;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %desc, %desc, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  st.global.f32 [%out], %d3;
)";
    EXPECT_EQ(fault_text(run(kernel(body), 2, 2, 128)), "");
    const bool sees = out[255] == 0x41800000; // 16
    for (uint32_t i = 128; i < 256; ++i)
      EXPECT_EQ(out[i] == 0x41800000, sees) << i;
    return sees;
  }
};

TEST_F(Proxies, OwnStoresNeedAFence) {
  EXPECT_FALSE(sees_stores("", false));
  EXPECT_TRUE(sees_stores("  fence.proxy.async;", false));
  EXPECT_TRUE(sees_stores("  fence.proxy.async.shared::cta;", false));
  EXPECT_TRUE(sees_stores("  fence.proxy.async.shared::cluster;", false));
  EXPECT_TRUE(sees_stores("  fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;", false));
  EXPECT_FALSE(sees_stores("  fence.proxy.async.global;", false));
  EXPECT_FALSE(sees_stores("  fence.proxy.alias;", false));
  EXPECT_FALSE(sees_stores("  fence.acq_rel.cluster;", false));
}

TEST_F(Proxies, StoresToOtherCtasNeedAFenceOfTheCluster) {
  EXPECT_FALSE(sees_stores("", true));
  EXPECT_TRUE(sees_stores("  fence.proxy.async;", true));
  EXPECT_TRUE(sees_stores("  fence.proxy.async.shared::cluster;", true));
  EXPECT_FALSE(sees_stores("  fence.proxy.async.shared::cta;", true));
}

// --- when nothing can move

TEST_F(Clusters, ADeadlockAtTheClustersBarrierNamesWhoIsMissing) {
  const std::string body = R"(
  setp.ne.u32 %p0, %rank, 0;
  @%p0 bra OTHER;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
OTHER:
  setp.lt.u32 %p1, %t, 32;
  @%p1 bar.sync 3, 64;
  barrier.cluster.arrive;
  barrier.cluster.wait;
)";
  const Report report = run(kernel(body), 2, 2, 64);
  EXPECT_EQ(fault_text(report), "deadlock: nothing can move: 4 warps in 2 CTAs wait for ever");
  ASSERT_EQ(report.waiting.size(), 4u);
  const Waiting& first = report.waiting[0];
  EXPECT_EQ(first.reason, "the cluster's barrier: 96 of 128 threads have arrived");
  const std::string line = std::to_string(report.waiting[2].place.ptx_line);
  EXPECT_EQ(first.notes, std::vector<std::string>{"missing: CTA 1,0,0 warp 0 waits at line " + line});
  EXPECT_EQ(report.waiting[2].reason, "barrier 3: 32 of 64 threads have arrived");
  EXPECT_EQ(report.waiting[2].notes,
            std::vector<std::string>{"missing: warp 1 waits at line " +
                                     std::to_string(report.waiting[3].place.ptx_line)});
}

TEST_F(Clusters, ADeadlockNamesWarpsThatHaveExited) {
  const Report report = run(kernel("  setp.ge.u32 %p0, %t, 64;\n  @%p0 ret;\n  bar.sync 1, 96;\n"), 1, 1, 96);
  ASSERT_EQ(report.waiting.size(), 2u);
  EXPECT_EQ(report.waiting[0].reason, "barrier 1: 64 of 96 threads have arrived");
  EXPECT_EQ(report.waiting[0].notes, std::vector<std::string>{"missing: warp 2 has exited"});
}

// A consumer that waits for bytes nobody sends, and for an arrival of a warp that waits itself.
TEST_F(Clusters, ADeadlockAtAnMbarrierSaysWhatIsPending) {
  const std::string body = R"(
  setp.ne.u32 %p0, %t, 0;
  @%p0 bra READY;
  mbarrier.init.shared.b64 [words], 2;
  mbarrier.arrive.expect_tx.shared.b64 _, [words], 4096;
READY:
  bar.sync 0;
  setp.ge.u32 %p0, %t, 32;
  @%p0 bra PRODUCER;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p1, [words], 0;
  @!%p1 bra WAIT;
  ret;
PRODUCER:
  bar.sync 1, 64;
)";
  const Report report = run(kernel(body), 1, 1, 64);
  ASSERT_EQ(report.waiting.size(), 2u);
  EXPECT_EQ(report.waiting[0].reason,
            "mbarrier at shared address 0x400: its phase of parity 0 has 1 of 2 arrivals, and waits for "
            "4096 bytes");
  const std::string line = std::to_string(report.waiting[1].place.ptx_line);
  EXPECT_EQ(report.waiting[0].notes,
            (std::vector<std::string>{
                "bytes: 4096 were expected that no asynchronous operation in flight will bring",
                "others: warp 1 waits at line " + line}));
  EXPECT_EQ(report.waiting[1].notes,
            std::vector<std::string>{"missing: warp 0 waits at line " +
                                     std::to_string(report.waiting[0].place.ptx_line)});
}

// --- what a launch refuses

class ClusterLaunch : public testing::Test {
protected:
  std::string check(const std::string& directives, Dim3 grid, Dim3 cluster, bool is_explicit = true) {
    Kernel made(kernel("", directives));
    LaunchConfig& config = made.config();
    config.grid = grid;
    config.cluster = is_explicit ? cluster : Dim3{};
    made.params().resize(8);
    return made.check();
  }
};

TEST_F(ClusterLaunch, Sizes) {
  EXPECT_EQ(check("", {16, 1, 1}, {16, 1, 1}), "");
  EXPECT_EQ(check("", {4, 4, 1}, {4, 4, 1}), "");
  EXPECT_EQ(check("", {7, 1, 1}, {7, 1, 1}), "");
  EXPECT_EQ(check("", {17, 1, 1}, {17, 1, 1}),
            "the cluster of 17,1,1 has 17 CTAs: legal are 1 to 16 (more than 8 is not portable)");
  EXPECT_EQ(check("", {4, 3, 1}, {2, 2, 1}), "grid y is 3, which is not a multiple of the cluster's 2");
}

TEST_F(ClusterLaunch, WhatTheKernelDeclares) {
  EXPECT_EQ(check(".reqnctapercluster 2, 1, 1 ", {4, 1, 1}, {2, 1, 1}), "");
  EXPECT_EQ(check(".reqnctapercluster 2 ", {4, 1, 1}, {4, 1, 1}),
            "the cluster is 4,1,1, but the kernel requires .reqnctapercluster 2,1,1");
  EXPECT_EQ(check(".maxclusterrank 4 ", {8, 1, 1}, {8, 1, 1}),
            "the cluster of 8,1,1 has 8 CTAs, but the kernel was compiled for at most 4 (.maxclusterrank)");
  EXPECT_EQ(check(".explicitcluster ", {4, 1, 1}, {1, 1, 1}, false),
            "the kernel is declared .explicitcluster: the launch must name the cluster's size");
  EXPECT_EQ(check(".explicitcluster ", {4, 1, 1}, {1, 1, 1}), "");
}

// --- the rest

TEST_F(Clusters, AllOfSharedMemory) {
  dynamic = 227 * 1024 - 512;
  const std::string body = R"(
  mov.u32 %r0, dynamic;
  mov.u32 %r1, %dynamic_smem_size;
  add.u32 %r1, %r0, %r1;
  st.shared.u32 [%r1+-4], %rank;
  ld.shared.u32 %r2, [%r1+-4];
  st.global.u32 [%out], %r2;
)";
  ASSERT_EQ(fault_text(run(kernel(body), 2, 2)), "");
  EXPECT_EQ(out[32], 1u);
}

TEST_F(Clusters, SleepAndClocksMove) {
  const std::string body = R"(
  mov.u64 %a0, %globaltimer;
  mov.u64 %a1, %clock64;
  nanosleep.u32 20000;
  mov.u64 %a2, %globaltimer;
  mov.u64 %a3, %clock64;
  sub.u64 %a2, %a2, %a0;
  setp.ge.u64 %p0, %a2, 20000;
  setp.lt.u64 %p1, %a2, 100000;
  and.pred %p0, %p0, %p1;
  setp.gt.u64 %p1, %a3, %a1;
  and.pred %p0, %p0, %p1;
  selp.u32 %r0, 1, 0, %p0;
  st.global.u32 [%out], %r0;
)";
  ASSERT_EQ(fault_text(run(kernel(body), 1, 1)), "");
  EXPECT_EQ(out[0], 1u);
}

// A wait with a deadline ends, however nobody answers.
TEST_F(Clusters, ADeadlinePasses) {
  const std::string body = R"(
  mov.u64 %a0, %globaltimer;
LOOP:
  nanosleep.u32 100;
  mov.u64 %a1, %globaltimer;
  sub.u64 %a1, %a1, %a0;
  setp.lt.u64 %p0, %a1, 100000;
  @%p0 bra LOOP;
  mov.u32 %r0, 1;
  st.global.u32 [%out], %r0;
)";
  ASSERT_EQ(fault_text(run(kernel(body), 1, 1)), "");
  EXPECT_EQ(out[0], 1u);
}

TEST_F(Clusters, InstructionsForTheMachineAlone) {
  const std::string body = R"(
  griddepcontrol.wait;
  setp.lt.u32 %p0, %t, 128;
  @%p0 bra LESS;
  setmaxnreg.inc.sync.aligned.u32 232;
  bra DONE;
LESS:
  setmaxnreg.dec.sync.aligned.u32 40;
DONE:
  fence.mbarrier_init.release.cluster;
  fence.proxy.async;
  fence.proxy.async.shared::cta;
  fence.proxy.async.global;
  fence.proxy.async.shared::cluster;
  fence.proxy.alias;
  fence.acquire.sync_restrict::shared::cluster.cluster;
  fence.release.sync_restrict::shared::cta.cluster;
  fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
  fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;
  fence.proxy.tensormap::generic.release.gpu;
  fence.proxy.tensormap::generic.acquire.gpu [%out], 128;
  fence.acq_rel.cluster;
  fence.sc.cluster;
  pmevent 3;
  griddepcontrol.launch_dependents;
  st.global.u32 [%out], %t;
)";
  ASSERT_EQ(fault_text(run(kernel(body), 2, 2, 256)), "");
  EXPECT_EQ(out[511], 255u);
}

} // namespace
} // namespace lemma::vgpu
