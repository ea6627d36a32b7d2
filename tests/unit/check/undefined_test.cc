// What uses a value that was never written, and what only moves it.
#include "findings.h"

#include <gtest/gtest.h>

namespace lemma::check {
namespace {

// Thread t holds word t of `tile` in %r1; what nobody has written but thread 0.
std::string used(const std::string& use) {
  return findings_of(kernel("@%p st.shared.u32 [%a], 7;\nbar.sync 0;\nld.shared.u32 %r1, [%a];\n" + use), 32);
}

TEST(Undefined, IsAUseWhereItCanBeSeen) {
  EXPECT_EQ(used("add.u32 %r2, %r1, 1;\nst.global.u32 [%out], %r2;"),
            "memory.undefined: ld.shared.u32 ~ st.global.u32\nrace.global: st.global.u32 ~ st.global.u32\n");
  EXPECT_EQ(used("setp.eq.u32 %q, %r1, 3;\n@%q bra L_end;\nadd.u32 %r2, %r1, 1;\nL_end:"),
            "memory.undefined: ld.shared.u32 ~ bra\n");
  EXPECT_EQ(used("and.b32 %r2, %r1, 60;\nadd.u32 %r2, %r2, %s;\nld.shared.u32 %r3, [%r2];"),
            "memory.undefined: ld.shared.u32 ~ ld.shared.u32\n");
  EXPECT_EQ(used("and.b32 %r2, %r1, 60;\nmad.wide.u32 %g, %r2, 4, %out;\nldu.global.u32 %r3, [%g];"),
            "memory.undefined: ld.shared.u32 ~ ldu.global.u32\n");
}

TEST(Undefined, GoesThroughSharedMemoryAndShuffles) {
  EXPECT_EQ(used("add.u32 %r2, %r1, 1;\nst.shared.u32 [%a+1024], %r2;\nld.shared.u32 %r3, [%a+1024];\n"
                 "shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;\n@%p st.global.u32 [%out], %r4;"),
            "memory.undefined: ld.shared.u32 ~ st.global.u32\n");
  EXPECT_EQ(used("atom.shared.add.u32 %r2, [%a+1024], 1;\nld.shared.u32 %r3, [%a+1024];\n"
                 "@%p st.global.u32 [%out], %r3;"),
            "memory.undefined: atom.shared.add.u32 ~ st.global.u32\n");
}

TEST(Undefined, IsNoUseWhereItIsMovedOrLeft) {
  // Lane 0's is written; the others' sums go nowhere.
  EXPECT_EQ(used("add.u32 %r2, %r1, 1;\n@%p st.global.u32 [%out], %r2;"), "");
  EXPECT_EQ(used("shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nst.shared.u32 [%a+1024], %r2;"), "");
  // Selected away, and overwritten.
  EXPECT_EQ(used("selp.u32 %r2, %r1, 0, %p;\nadd.u32 %r2, %r2, 1;\nst.shared.u32 [%a+1024], %r2;\n"
                 "ld.shared.u32 %r3, [%a+1024];\nmad.wide.u32 %g, %t, 4, %out;\nst.global.u32 [%g], %r3;"),
            "");
  EXPECT_EQ(used("add.u32 %r2, %r1, 1;\nmov.u32 %r2, 5;\nmad.wide.u32 %g, %t, 4, %out;\n"
                 "st.global.u32 [%g], %r2;"),
            "");
}

// Rows of 16 bytes, of which the last was never written; %r7 is that of the lane, %g its place in `out`.
std::string rows(const std::string& body) {
  return findings_of(kernel("setp.lt.u32 %q, %t, 28;\n@%q st.shared.u32 [%a], %t;\nbar.sync 0;\n"
                            "and.b32 %r7, %t, 7;\nmad.lo.u32 %r7, %r7, 16, %s;\n"
                            "mad.wide.u32 %g, %t, 4, %out;\n" +
                            body),
                     32);
}
const char* const kThroughMatrices =
    "bar.warp.sync -1;\nld.shared.u32 %r2, [%a+1024];\nadd.u32 %r2, %r2, 1;\n";

TEST(Undefined, GoesThroughMatrices) {
  // Of .trans a register has elements of two rows.
  for (const std::string trans : {"", ".trans"}) {
    const std::string there_and_back = "ldmatrix.sync.aligned.m8n8.x1" + trans +
                                       ".shared.b16 {%r1}, [%r7];\n" + "stmatrix.sync.aligned.m8n8.x1" +
                                       trans + ".shared.b16 [%r7+1024], {%r1};\n" + kThroughMatrices;
    EXPECT_EQ(rows(there_and_back + "st.global.u32 [%g], %r2;"),
              "memory.undefined: ldmatrix.sync.aligned.m8n8.x1" + trans + ".shared.b16 ~ st.global.u32\n");
    EXPECT_EQ(rows(there_and_back + "@%q st.global.u32 [%g], %r2;"), "");
  }
  EXPECT_EQ(rows("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r7];\n"
                 "movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r1;\n"
                 "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r7+1024], {%r3};\n" +
                 std::string(kThroughMatrices) + "@%q st.global.u32 [%g], %r2;"),
            "");
  // What was written over is defined.
  EXPECT_EQ(rows("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r7];\n"
                 "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r7+1024], {%r1};\nmov.u32 %r1, 0;\n"
                 "bar.warp.sync -1;\nstmatrix.sync.aligned.m8n8.x1.shared.b16 [%r7+1024], {%r1};\n" +
                 std::string(kThroughMatrices) + "st.global.u32 [%g], %r2;"),
            "");
}

TEST(Undefined, GoesByByte) {
  // Of a vector, and of registers that are put together, what was written.
  const std::string two = "add.u32 %r2, %r1, 1;\nst.shared.v2.u32 [%s+1024], {%r2, %t};\n"
                          "ld.shared.v2.u32 {%r3, %r4}, [%s+1024];\nmov.b64 %state, {%r3, %r4};\n"
                          "st.local.u64 [kept], %state;\nld.local.u64 %state, [kept];\n"
                          "mov.b64 {%r5, %r6}, %state;\n";
  const auto stored = [&](const std::string& reg) {
    return findings_of(
        kernel(".local .align 8 .b64 kept;\n@%p st.shared.u32 [%s+4], 7;\nbar.sync 0;\nld.shared.u32 %r1, "
               "[%s+8];\n" +
               two + "st.global.u32 [%out], " + reg + ";"),
        1);
  };
  EXPECT_EQ(stored("%r5"), "memory.undefined: ld.shared.u32 ~ st.global.u32\n");
  EXPECT_EQ(stored("%r6"), "");
}

// The upper half of a pair of words was never written, as the padding of a struct is not: what is taken of
// the lower one has a value.
TEST(Undefined, IsNotInWhatIsTakenOfTheOtherBytes) {
  const auto pair = [](const std::string& use) {
    return findings_of(
        kernel("shl.b32 %r3, %t, 3;\nadd.u32 %r3, %r3, %s;\nst.shared.u32 [%r3+1024], 7;\nbar.sync 0;\n"
               ".reg .b64 %pair; .reg .b32 %half; .reg .b16 %short;\nld.shared.u64 %pair, [%r3+1024];\n" +
               use + "\n@%p add.u32 %half, %half, 1;\n@%p st.global.u32 [%out], %half;"),
        32);
  };
  const std::string found = "memory.undefined: ld.shared.u64 ~ st.global.u32\n";
  EXPECT_EQ(pair("cvt.u32.u64 %half, %pair;"), "");
  EXPECT_EQ(pair("cvt.u16.u64 %short, %pair;\ncvt.s32.s16 %half, %short;"), "");
  EXPECT_EQ(pair("shr.u64 %pair, %pair, 16;\ncvt.u16.u64 %short, %pair;\ncvt.u32.u16 %half, %short;"), "");
  EXPECT_EQ(pair("shl.b64 %pair, %pair, 32;\nshr.u64 %pair, %pair, 32;\ncvt.u32.u64 %half, %pair;"), "");
  EXPECT_EQ(pair("shr.u64 %pair, %pair, 32;\ncvt.u32.u64 %half, %pair;"), found);
  EXPECT_EQ(pair("shr.u64 %pair, %pair, 1;\ncvt.u32.u64 %half, %pair;"), found);
  EXPECT_EQ(pair("shr.u64 %pair, %pair, 24;\ncvt.u32.u64 %half, %pair;"), found);
  EXPECT_EQ(pair("cvt.u32.u64 %half, %pair;\nshr.u64 %pair, %pair, %half;\ncvt.u32.u64 %half, %pair;"),
            found);
}

TEST(Undefined, IsMaskedAway) {
  const std::string use = "selp.u32 %r2, 1, 2, %q;\nmad.wide.u32 %g, %t, 4, %out;\nst.global.u32 [%g], %r2;";
  EXPECT_EQ(used("setp.eq.u32 %q, %r1, 3;\nsetp.gt.u32 %w, %t, 0;\nor.pred %q, %q, %w;\n" + use), "");
  EXPECT_EQ(used("setp.eq.u32 %q, %r1, 3;\nor.pred %q, %q, %p;\n" + use),
            "memory.undefined: ld.shared.u32 ~ st.global.u32\n");
  const auto masked = [](const std::string& mask) {
    return used("st.shared.u8 [%a], %t;\nld.shared.u32 %r1, [%a];\nand.b32 %r2, %r1, " + mask +
                ";\nmad.wide.u32 %g, %t, 4, %out;\nst.global.u32 [%g], %r2;");
  };
  EXPECT_EQ(masked("0xff"), "");
  EXPECT_EQ(masked("0x1ff"), "memory.undefined: ld.shared.u32 ~ st.global.u32\n");
}

TEST(Undefined, GoesWithAsynchronousCopies) {
  const auto copied = [](const std::string& body) {
    return findings_of(kernel("@%p mbarrier.init.shared.b64 [%m], 1;\nfence.proxy.async;\nbar.sync 0;\n"
                              "ld.shared.u32 %r1, [%s+64];\nadd.u32 %r2, %r1, 1;\n" +
                              body),
                       1);
  };
  const std::string wait = "W: mbarrier.try_wait.parity.shared.b64 %q, [%m], 0;\n@!%q bra W;\n";
  EXPECT_EQ(copied("mbarrier.arrive.expect_tx.shared.b64 %state, [%m], 4;\n"
                   "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%s], %r2, [%m];\n" +
                   wait + "ld.shared.u32 %r3, [%s];\nst.global.u32 [%out], %r3;"),
            "memory.undefined: ld.shared.u32 ~ st.global.u32\n");
  const std::string row = "st.shared.v4.u32 [%s+16], {%t, %t, %t, %r2};\nfence.proxy.async;\n";
  const std::string there = "mbarrier.arrive.expect_tx.shared.b64 %state, [%m], 16;\n"
                            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                            "[%s], [%s+16], 16, [%m];\n" +
                            wait;
  EXPECT_EQ(copied(row + there + "ld.shared.u32 %r3, [%s+12];\nst.global.u32 [%out], %r3;"),
            "memory.undefined: ld.shared.u32 ~ st.global.u32\n");
  EXPECT_EQ(copied(row + there + "ld.shared.u32 %r3, [%s+8];\nst.global.u32 [%out], %r3;"), "");
  // To global memory, it is stored there.
  EXPECT_EQ(copied(row + "cp.async.bulk.global.shared::cta.bulk_group [%out], [%s+16], 16;\n"
                         "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;"),
            "memory.undefined: ld.shared.u32 ~ cp.async.bulk.global.shared::cta.bulk_group\n");
}

const char* const kWait = "W: mbarrier.try_wait.parity.shared.b64 %q, [%m], 0;\n@!%q bra W;\n";

// The reduction finds the value and uses it.
const char* const kBothAtOnce =
    "memory.undefined: cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 ~ "
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32\n";

TEST(Undefined, GoesWithAsynchronousReductions) {
  const auto reduced = [](const std::string& body) {
    return findings_of(kernel("@%p mbarrier.init.shared.b64 [%m], 1;\nst.shared.u32 [%s+32], 5;\n"
                              "fence.proxy.async;\nbar.sync 0;\n" +
                              body),
                       1);
  };
  const auto sum_of = [&](const std::string& set) {
    return reduced(set +
                   "mbarrier.arrive.expect_tx.shared.b64 %state, [%m], 4;\n"
                   "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%s], "
                   "%t, [%m];\n" +
                   kWait + "ld.shared.u32 %r3, [%s];\nst.global.u32 [%out], %r3;");
  };
  EXPECT_EQ(sum_of(""), "memory.undefined: red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::"
                        "bytes.add.u32 ~ st.global.u32\n");
  EXPECT_EQ(sum_of("st.shared.u32 [%s], 0;\nfence.proxy.async;\n"), "");
  const std::string group = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
  EXPECT_EQ(
      reduced("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [%s+16], 16;\n" + group),
      kBothAtOnce);
}

// Of device malloc, which nobody has written: %g.
std::string of_malloc(const std::string& body) {
  return findings_of(".extern .func (.param .b64 p) malloc(.param .b64 n);\n" +
                         kernel(".param .b64 n, p;\nst.param.b64 [n], 64;\ncall.uni (p), malloc, (n);\n"
                                "ld.param.b64 %g, [p];\nmbarrier.init.shared.b64 [%m], 1;\n"
                                "st.shared.v4.u32 [%s+16], {%t, %t, %t, %t};\nfence.proxy.async;\n" +
                                body),
                     1);
}

TEST(Undefined, GoesFromGlobalMemoryWithCopies) {
  const std::string load =
      "mbarrier.arrive.expect_tx.shared.b64 %state, [%m], 16;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 16, "
      "[%m];\n" +
      std::string(kWait);
  const std::string use = "ld.shared.u32 %r1, [%s+4];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%out], %r1;";
  EXPECT_EQ(of_malloc(load + use), "memory.undefined: ld.shared.u32 ~ st.global.u32\n");
  EXPECT_EQ(of_malloc("st.global.v2.u32 [%g], {1, 2};\nfence.proxy.async;\n" + load + use), "");
  const std::string store = "cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], 16;\n"
                            "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
                            "ld.global.u32 %r1, [%g+4];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%out], %r1;";
  EXPECT_EQ(of_malloc(load + store), "memory.undefined: ld.global.u32 ~ st.global.u32\n");
  EXPECT_EQ(of_malloc("st.shared.v4.u32 [%s], {1, 2, 3, 4};\nfence.proxy.async;\n" + store), "");
}

TEST(Undefined, IsUsedWhereAReductionUpdatesGlobalMemory) {
  const std::string add = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%g], [%s+16], 16;\n"
                          "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
  EXPECT_EQ(of_malloc(add), kBothAtOnce);
  EXPECT_EQ(of_malloc("st.global.v4.u32 [%g], {1, 2, 3, 4};\nfence.proxy.async;\n" + add), "");
}

TEST(Undefined, GoesThroughTheReductionsOfBarriers) {
  // Of 64 threads the last has no value; a thread of the other warp stores what the barrier gives.
  const auto reduced = [](const std::string& reduction, const std::string& result) {
    return findings_of(kernel("setp.lt.u32 %w, %t, 63;\n@%w mov.u32 %r1, 7;\nsetp.eq.u32 %q, %r1, 7;\n" +
                              reduction + "\n" + result),
                       64);
  };
  const std::string found = "memory.undefined: setp.eq.u32 ~ st.global.u32\n";
  EXPECT_EQ(reduced("bar.red.popc.u32 %r2, 0, %q;", "@%p st.global.u32 [%out], %r2;"), found);
  const std::string select = "selp.u32 %r2, 1, 2, %w;\n@%p st.global.u32 [%out], %r2;";
  EXPECT_EQ(reduced("barrier.red.and.pred %w, 0, %q;", select), found);
  // Another thread decides.
  EXPECT_EQ(reduced("barrier.red.or.pred %w, 0, %q;", select), "");
  EXPECT_EQ(reduced("setp.lt.u32 %w, %t, 40;\n@!%w setp.eq.u32 %q, %t, %t;\n"
                    "bar.red.popc.u32 %r2, 0, %q;",
                    "@%p st.global.u32 [%out], %r2;"),
            "");
}

TEST(Undefined, GoesBitByBitThroughBallots) {
  // Lane 31 has no value.
  const auto ballot = [](const std::string& then) {
    return findings_of(kernel("setp.lt.u32 %w, %t, 31;\n@%w mov.u32 %r1, 7;\nsetp.eq.u32 %q, %r1, 7;\n"
                              "vote.sync.ballot.b32 %r2, %q, 0xffffffff;\n" +
                              then + "\n@%p st.global.u32 [%out], %r2;"),
                       32);
  };
  const std::string found = "memory.undefined: setp.eq.u32 ~ st.global.u32\n";
  EXPECT_EQ(ballot(""), found);
  EXPECT_EQ(ballot("popc.b32 %r2, %r2;"), found);
  EXPECT_EQ(ballot("and.b32 %r2, %r2, 0xc0000000;\npopc.b32 %r2, %r2;"), found);
  EXPECT_EQ(ballot("and.b32 %r2, %r2, 0x7fffffff;\npopc.b32 %r2, %r2;"), "");
  EXPECT_EQ(ballot("mov.u32 %r3, %lanemask_lt;\nand.b32 %r2, %r2, %r3;\npopc.b32 %r2, %r2;"), "");
  EXPECT_EQ(ballot("or.b32 %r2, %r2, 0x80000000;"), "");
  EXPECT_EQ(ballot("shl.b32 %r2, %r2, 1;\npopc.b32 %r2, %r2;"), "");
  EXPECT_EQ(ballot("shr.b32 %r2, %r2, 31;\nadd.u32 %r2, %r2, 1;"), found);
  EXPECT_EQ(ballot("mov.u32 %r4, %r2;\nshr.u32 %r2, %r4, 1;\nand.b32 %r2, %r2, 1;"), "");
}

TEST(Undefined, KnowsTheRegistersThatNobodyWrote) {
  const std::string some = "@%p mov.u32 %r1, 1;\nmad.wide.u32 %g, %t, 4, %out;\n";
  const auto stored = [&](const std::string& body) { return findings_of(kernel(some + body), 32); };
  EXPECT_EQ(stored("add.u32 %r2, %r1, 1;\nst.global.u32 [%g], %r2;"),
            "memory.undefined: add.u32 ~ st.global.u32\n");
  EXPECT_EQ(stored("add.u32 %r2, %r1, 1;\n@%p st.global.u32 [%g], %r2;"), "");
  EXPECT_EQ(stored("st.shared.u32 [%a], %r1;\nld.shared.u32 %r2, [%a];\nadd.u32 %r2, %r2, 1;\n"
                   "st.global.u32 [%g], %r2;"),
            "memory.undefined: st.shared.u32 ~ st.global.u32\n");
  EXPECT_EQ(stored("shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%g], %r2;"),
            "");
  EXPECT_EQ(stored("shfl.sync.idx.b32 %r2, %r1, 1, 31, -1;\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%g], %r2;"),
            "memory.undefined: shfl.sync.idx.b32 ~ st.global.u32\n");
}

} // namespace
} // namespace lemma::check
