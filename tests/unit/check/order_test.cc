// One rule of order a test: a kernel that nothing orders, and its twin that this rule orders.
#include "findings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace lemma::check {
namespace {

std::string in_shared(const std::string& between, uint32_t threads = 64, const std::string& word = "%b") {
  return findings_of(kernel("st.shared.u32 [%a], %t;\n" + between + "\nld.shared.u32 %r1, [" + word + "];"),
                     threads);
}

TEST(Order, BarriersOrderWarps) {
  EXPECT_EQ(in_shared(""), "race.shared: st.shared.u32 ~ ld.shared.u32\n");
  EXPECT_EQ(in_shared("bar.sync 0;"), "");
  EXPECT_EQ(in_shared("bar.warp.sync 0xffffffff;"), "race.shared: st.shared.u32 ~ ld.shared.u32\n");
  EXPECT_EQ(in_shared("membar.cta;"), "race.shared: st.shared.u32 ~ ld.shared.u32\n");
}

// Kernels of a module have their shared variables at the same offsets.
TEST(Order, AFindingNamesTheVariableOfItsOwnKernel) {
  std::string text, fault;
  for (int i = 0; i < 8; ++i) {
    std::string other = kernel("st.shared.u32 [%a], %t;\nld.shared.u32 %r1, [%b];");
    for (const auto& [from, to] : {std::pair("entry k(", "entry k{}("), {"tile", "tile{}"}, {"bar", "bar{}"}})
      for (size_t at = 0; (at = other.find(from, at)) != other.npos; at += std::strlen(to)) {
        const std::string name = fmt::format(fmt::runtime(to), i);
        other.replace(at, std::strlen(from), name);
      }
    text += other;
  }
  const std::vector<Finding> findings = all_findings_of(text, 64, 1, AsyncMode::eager, fault);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(findings[0].memory.starts_with("tile0")) << findings[0].memory;
}

TEST(Order, OnlyWarpBarriersOrderLanes) {
  EXPECT_EQ(in_shared("", 32, "%c"), "race.shared: st.shared.u32 ~ ld.shared.u32\n");
  EXPECT_EQ(in_shared("bar.warp.sync 0xffffffff;", 32, "%c"), "");
  EXPECT_EQ(in_shared("bar.sync 0;", 32, "%c"), "");
  EXPECT_EQ(in_shared("shfl.sync.idx.b32 %r2, %t, 0, 31, 0xffffffff;", 32, "%c"),
            "race.shared: st.shared.u32 ~ ld.shared.u32\n");
  EXPECT_EQ(in_shared("vote.sync.any.pred %q, %p, 0xffffffff;", 32, "%c"),
            "race.shared: st.shared.u32 ~ ld.shared.u32\n");
}

TEST(Order, WarpBarriersOrderTheirLanesAlone) {
  // Lanes 0 to 15 meet; lane 0's word is read by lane 1, and by lane 16.
  const auto read_by = [](int lane) {
    return findings_of(kernel(fmt::format(R"(
  setp.lt.u32 %q, %t, 16;
  st.shared.u32 [%a], %t;
  @%q bar.warp.sync 0x0000ffff;
  setp.eq.u32 %q, %t, {};
  @%q ld.shared.u32 %r1, [%s];)",
                                          lane)),
                       32);
  };
  EXPECT_EQ(read_by(1), "");
  EXPECT_EQ(read_by(16), "race.shared: st.shared.u32 ~ ld.shared.u32\n");
}

TEST(Order, ReadsComeBeforeWrites) {
  EXPECT_EQ(findings_of(kernel("st.shared.u32 [%a], %t;\nbar.sync 0;\nld.shared.u32 %r1, [%b];\n"
                               "st.shared.u32 [%a], %r1;"),
                        64),
            "race.shared: ld.shared.u32 ~ st.shared.u32\n");
  EXPECT_EQ(findings_of(kernel("st.shared.u32 [%a], %t;\nbar.sync 0;\nld.shared.u32 %r1, [%b];\nbar.sync 0;\n"
                               "st.shared.u32 [%a], %r1;"),
                        64),
            "");
}

TEST(Order, BarriersOrderGlobalMemory) {
  // The second warp is whole, or half of one.
  for (const uint32_t threads : {64u, 48u}) {
    const auto found = [&](const std::string& between) {
      return findings_of(kernel("mad.wide.u32 %g, %t, 4, %out;\nst.global.u32 [%g], %t;\n" + between +
                                "\nld.global.u32 %r1, [%out+160];"),
                         threads);
    };
    EXPECT_EQ(found("bar.sync 0;"), "") << threads;
    EXPECT_EQ(found(""), "race.global: st.global.u32 ~ ld.global.u32\n") << threads;
  }
}

// What threads have done who exit at once, a barrier of the others does not order.
TEST(Order, ABarrierIsNotOfThoseWhoHaveExited) {
  const std::string last = "setp.ge.u32 %q, %t, 32;\n@%q st.shared.u32 [%a], %t;\n";
  EXPECT_EQ(findings_of(kernel(last + "@%q exit;\nbar.sync 0;\nld.shared.u32 %r1, [%b];"), 64),
            "race.shared: st.shared.u32 ~ ld.shared.u32\n");
  EXPECT_EQ(findings_of(kernel(last + "bar.sync 0;\n@%q exit;\nld.shared.u32 %r1, [%b];"), 64), "");
}

// Of reads and of atomic operations, all are found that come before what they race with.
// `other`: a thread that accesses that word, which is one of the other warp's, whichever of the warps runs
// first.
void expect_met(int other, int word) {
  const std::string at = fmt::format("[%s+{}]", 4 * word);
  const auto found = [other](const std::string& before, const std::string& after,
                             const std::string& between = "") {
    return findings_of(kernel("st.shared.u32 [%a], %t;\nbar.sync 0;\n" +
                              fmt::format("setp.eq.u32 %q, %t, {};\n", other) + before + "\n" + between +
                              "\n" + after),
                       64);
  };
  const std::string store = "@%q st.shared.u32 " + at + ", 999999;";
  const std::string scattered = "xor.b32 %r0, %t, 9;\nmad.lo.u32 %r0, %r0, 4, %s;\nld.shared.u32 %r1, [%r0];";
  for (const std::string& read :
       {std::string("ld.shared.u32 %r1, [%a];"), "ld.shared.u32 %r1, " + at + ";", scattered}) {
    EXPECT_EQ(found(read, store), "race.shared: ld.shared.u32 ~ st.shared.u32\n") << read;
    EXPECT_EQ(found(read, store, "bar.sync 0;"), "") << read;
    EXPECT_EQ(found(read, store, "bar.sync 1, 64;"), "") << read;
  }
  const std::string load = "@%q ld.shared.u32 %r1, " + at + ";";
  for (const std::string& update :
       {std::string("red.shared.add.u32 [%a], 1;"), "red.shared.add.u32 " + at + ", 1;",
        std::string("xor.b32 %r0, %t, 9;\nmad.lo.u32 %r0, %r0, 4, %s;\nred.shared.add.u32 [%r0], 1;")}) {
    EXPECT_EQ(found(update, load), "race.weak: red.shared.add.u32 ~ ld.shared.u32\n") << update;
    EXPECT_EQ(found(update, store), "race.weak: red.shared.add.u32 ~ st.shared.u32\n") << update;
    EXPECT_EQ(found(update, load, "bar.sync 0;"), "") << update;
    EXPECT_EQ(found(update, update), "") << update;
  }
  EXPECT_EQ(found("red.shared.add.u32 [%a], 1;", "red.shared.add.u64 " + at + ", 1;"),
            "race.mixed-size: red.shared.add.u32 ~ red.shared.add.u64\n");
}

TEST(Order, WhatWaitsForAnotherAccessIsFoundByIt) {
  expect_met(40, 8);
  expect_met(4, 40);
}

TEST(Order, GlobalCountersAreFoundByWhoeverComesNext) {
  const auto found = [](const std::string& before, const std::string& after, uint32_t ctas = 1) {
    return findings_of(
        kernel("mad.wide.u32 %g, %t, 4, %out;\nsetp.eq.u32 %q, %t, 40;\n" + before + "\n" + after), 64, ctas);
  };
  const std::string load = "@%q ld.global.u32 %r1, [%out+32];",
                    store = "@%q st.global.u32 [%out+32], 999999;";
  for (const std::string& update :
       {std::string("red.global.add.u32 [%g], 1;"), std::string("red.global.add.u32 [%out+32], 1;"),
        std::string("atom.global.add.u32 %r2, [%out+32], 1;")}) {
    const std::string opcode = update.substr(0, update.find(' '));
    EXPECT_EQ(found(update, load), "race.weak: " + opcode + " ~ ld.global.u32\n") << update;
    EXPECT_EQ(found(update, store), "race.weak: " + opcode + " ~ st.global.u32\n") << update;
    EXPECT_EQ(found(update, "bar.sync 0;" + load), "") << update;
    EXPECT_EQ(found(update, "bar.sync 0;" + load, 2), "race.weak: " + opcode + " ~ ld.global.u32\n")
        << update;
    EXPECT_EQ(found(update, update, 2), "") << update;
  }
  EXPECT_EQ(found("red.global.add.u32 [%g], 1;", "red.global.add.u64 [%out+32], 1;"),
            "race.mixed-size: red.global.add.u32 ~ red.global.add.u64\n");
}

TEST(Order, AllReadersCount) {
  // Every thread reads word 0; thread 0 writes it after its own warp has met.
  EXPECT_EQ(findings_of(kernel("@%p st.shared.u32 [%s], %t;\nbar.sync 0;\nld.shared.u32 %r1, [%s];\n"
                               "bar.warp.sync 0xffffffff;\n@%p st.shared.u32 [%s], %r1;\n"
                               "st.shared.u32 [%a+1024], %r1;"),
                        64),
            "race.shared: ld.shared.u32 ~ st.shared.u32\n");
  EXPECT_EQ(findings_of(kernel("@%p st.shared.u32 [%s], %t;\nbar.sync 0;\nld.shared.u32 %r1, [%s];\n"
                               "bar.sync 0;\n@%p st.shared.u32 [%s], %r1;\n"
                               "st.shared.u32 [%a+1024], %r1;"),
                        64),
            "");
}

TEST(Order, LanesOfOneStore) {
  EXPECT_EQ(findings_of(kernel("st.shared.u32 [%s], %t;"), 32),
            "race.shared: st.shared.u32 ~ st.shared.u32\n");
  EXPECT_EQ(findings_of(kernel("st.shared.u32 [%s], 7;"), 32),
            "note race.shared: st.shared.u32 ~ st.shared.u32\n");
}

TEST(Order, InvalidatesInWhicheverProxy) {
  EXPECT_EQ(
      findings_of(kernel("@%p mbarrier.init.shared.b64 [%m], 1;\n@%p mbarrier.init.shared.b64 [%s], 1;\n"
                         "fence.proxy.async;\nbar.sync 0;\n@%p mbarrier.inval.shared.b64 [%s];\n"
                         "bar.sync 0;\n@%p mbarrier.arrive.expect_tx.shared.b64 %state, [%m], 16;\n"
                         "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                         "[%s], [%in], 16, [%m];"),
                  64),
      "note race.proxy: mbarrier.inval.shared.b64 ~ "
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes\n");
}

// Two warps store the same rows.
TEST(Order, MatricesOfTheSameValue) {
  const auto stored = [](const std::string& second) {
    return findings_of(kernel("and.b32 %r7, %t, 7;\nmad.lo.u32 %r7, %r7, 16, %s;\nand.b32 %r1, %t, 31;\n"
                              "bar.sync 0;\n" +
                              second + "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r7], {%r1};"),
                       64);
  };
  const std::string name = "stmatrix.sync.aligned.m8n8.x1.shared.b16";
  EXPECT_EQ(stored(""), fmt::format("note race.shared: {} ~ {}\n", name, name));
  EXPECT_EQ(stored("mov.u32 %r1, %t;\n"), fmt::format("race.shared: {} ~ {}\n", name, name));
}

TEST(Order, SaysAddressesAndValues) {
  using Texts = std::vector<std::string>;
  const std::string fill = "add.u32 %r1, %t, 0x100;\nst.shared.u32 [%a], %r1;\n";
  // A store after a load: from the register, and from what was there.
  EXPECT_EQ(accesses_of(kernel(fill + "bar.sync 0;\n@!%w ld.shared.u32 %r2, [%b];\n@%w bar.warp.sync -1;\n"
                                      "@%w st.shared.u32 [%a], %t;"),
                        64)
                .size(),
            2u);
  const auto lanes = [](const std::string& body) { return accesses_of(kernel(body), 32); };
  EXPECT_EQ(lanes("st.shared.u32 [%s], 9;\nbar.warp.sync -1;\n@%p ld.shared.u32 %r2, [%s];\n"
                  "setp.eq.u32 %q, %t, 5;\n@%q st.shared.u32 [%s], 7;")
                .back(),
            "reads 4 bytes at 0x400: 0x00000009");
  EXPECT_EQ(lanes("setp.eq.u32 %q, %t, 5;\n@%q st.shared.v2.u32 [%s+8], {1, 2};\n@%p ld.shared.v2.u32 {%r1, "
                  "%r2}, [%s+8];"),
            (Texts{"reads 8 bytes at 0x408: {0x00000001, 0x00000002}",
                   "writes 8 bytes at 0x408: {0x00000001, 0x00000002}"}));
  EXPECT_EQ(lanes("st.shared.u16 [%s], 3;\nmov.u32 %r1, %t;\nbar.warp.sync -1;\nst.shared.u16 [%s+2], %r1;")
                .back()
                .substr(0, 32),
            "writes 2 bytes at 0x402: 0x0000");
  // Who has part of what was written cannot tell all of it.
  EXPECT_EQ(lanes("@%p st.shared.u32 [%s], 3;\nsetp.eq.u32 %q, %t, 5;\n@%q st.shared.u8 [%s+1], 7;"),
            (Texts{"writes 1 bytes at 0x401: 0x07", "writes 4 bytes at 0x400"}));
}

TEST(Order, LoadsAndStoresOfAWarp) {
  // In place: which lane has what of a fragment is not said.
  const std::string load = "wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 "
                           "{%e0, %e1, %e2, %e3, %e4, %e5, %e6, %e7}, [%s];\n";
  const std::string store = "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 "
                            "[%s], {%e0, %e1, %e2, %e3, %e4, %e5, %e6, %e7};\n";
  const auto found = [&](const std::string& body) {
    return findings_of(kernel(".reg .f32 %e<8>;\n" + body), 32);
  };
  const std::string fill = "st.shared.u32 [%a], %t;\n";
  EXPECT_EQ(found(load + store + load), "");
  EXPECT_NE(found(fill + load), "");
  EXPECT_EQ(found(fill + "bar.warp.sync 0xffffffff;\n" + load), "");
  EXPECT_NE(found(store + "ld.shared.u32 %r1, [%a];"), "");
}

TEST(Order, AtomicsDoNotRace) {
  EXPECT_EQ(findings_of(kernel("atom.shared.add.u32 %r1, [%s], 1;"), 64), "");
  EXPECT_EQ(findings_of(kernel("red.global.add.u32 [%out], 1;"), 64, 4), "");
  EXPECT_EQ(findings_of(kernel("red.relaxed.cta.global.add.u32 [%out], 1;"), 64), "");
  EXPECT_EQ(findings_of(kernel("red.relaxed.cta.global.add.u32 [%out], 1;"), 64, 4),
            "race.scope: red.relaxed.cta.global.add.u32 ~ red.relaxed.cta.global.add.u32\n");
  EXPECT_EQ(findings_of(kernel("red.global.add.u32 [%out], 1;\nld.global.u32 %r1, [%out];"), 64),
            "race.weak: red.global.add.u32 ~ ld.global.u32\n");
}

TEST(Order, AtomicsHideNoneOfOtherSizesOrScopesBeforeThem) {
  // CTA 1 conflicts with the first of CTA 0's two and not with the second, after which it comes: it polls.
  const auto two = [](const std::string& first, const std::string& second) {
    return findings_of(kernel(fmt::format(R"(
  setp.eq.u32 %q, %cta, 1;
  @%q bra L_wait;
  {};
  {};
  st.relaxed.gpu.global.u32 [%in], 1;
  bra L_end;
L_wait:
  ld.relaxed.gpu.global.u32 %r1, [%in];
  setp.eq.u32 %q, %r1, 0;
  @%q bra L_wait;
  red.global.add.u32 [%out], 1;
L_end:)",
                                          first, second)),
                       1, 2);
  };
  const std::string same = "red.global.add.u32 [%out], 2", wide = "red.global.add.u64 [%out], 2",
                    narrow = "red.relaxed.cta.global.add.u32 [%out], 2",
                    wider = "red.relaxed.sys.global.add.u32 [%out], 2";
  EXPECT_EQ(two(same, same), "");
  EXPECT_EQ(two(wider, same), "");
  for (const std::string& last : {same, wider}) {
    EXPECT_EQ(two(wide, last), "race.mixed-size: red.global.add.u64 ~ red.global.add.u32\n");
    EXPECT_EQ(two(narrow, last), "race.scope: red.relaxed.cta.global.add.u32 ~ red.global.add.u32\n");
  }
}

TEST(Order, AtomicsDoNotHideTheWriteBeforeThem) {
  // The second warp's additions are not ordered after the first value, whatever the first warp's are.
  const auto counted = [](const std::string& between) {
    return findings_of(kernel("@%p st.shared.u32 [%s], 0;\nbar.warp.sync 0xffffffff;\n" + between +
                              "\nred.shared.add.u32 [%s], 1;"),
                       64);
  };
  EXPECT_EQ(counted("bar.sync 0;"), "");
  EXPECT_EQ(counted(""), "race.weak: st.shared.u32 ~ red.shared.add.u32\n");
}

// CTA 0 writes, then says so; CTA 1 waits for that and reads.
std::string message(const std::string& say, const std::string& hear) {
  return findings_of(kernel(fmt::format(R"(
  setp.eq.u32 %q, %cta, 1;
  @%q bra L_hear;
  st.global.u32 [%in], 5;
  {}
  bra L_end;
L_hear:
  {}
  setp.eq.u32 %q, %r1, 0;
  @%q bra L_hear;
  {}
  ld.global.u32 %r2, [%in];
L_end:)",
                                        say, hear.substr(0, hear.find('|')),
                                        hear.find('|') == hear.npos ? "" : hear.substr(hear.find('|') + 1))),
                     1, 2);
}

TEST(Order, ReleaseAndAcquire) {
  EXPECT_EQ(message("st.release.gpu.global.u32 [%out], 1;", "ld.acquire.gpu.global.u32 %r1, [%out];"), "");
  EXPECT_EQ(message("fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%out], 1;",
                    "ld.relaxed.gpu.global.u32 %r1, [%out];|fence.acq_rel.gpu;"),
            "");
  EXPECT_EQ(message("membar.gl;\nst.volatile.global.u32 [%out], 1;",
                    "ld.volatile.global.u32 %r1, [%out];|membar.gl;"),
            "");
  EXPECT_EQ(
      message("membar.gl;\nred.global.add.u32 [%out], 1;", "atom.acquire.gpu.global.add.u32 %r1, [%out], 0;"),
      "");
  const std::string relaxed = "race.weak: st.global.u32 ~ ld.global.u32\n";
  EXPECT_EQ(message("st.relaxed.gpu.global.u32 [%out], 1;", "ld.acquire.gpu.global.u32 %r1, [%out];"),
            relaxed);
  EXPECT_EQ(message("st.release.gpu.global.u32 [%out], 1;", "ld.relaxed.gpu.global.u32 %r1, [%out];"),
            relaxed);
  const std::string narrow = "race.scope: st.global.u32 ~ ld.global.u32\n";
  EXPECT_EQ(message("st.release.gpu.global.u32 [%out], 1;",
                    "ld.relaxed.gpu.global.u32 %r1, [%out];|fence.acq_rel.cta;"),
            narrow);
  EXPECT_EQ(message("membar.cta;\nst.volatile.global.u32 [%out], 1;",
                    "ld.volatile.global.u32 %r1, [%out];|membar.gl;"),
            narrow);
}

TEST(Order, AnAtomicPrecedesWhoeverHasReadIt) {
  const auto counts = [](const std::string& then, uint32_t threads = 1) {
    return findings_of(kernel("@%p atom.relaxed.gpu.global.add.u32 %r1, [%out], 1;\n" + then), threads, 2);
  };
  const std::string races = "race.weak: atom.relaxed.gpu.global.add.u32 ~ st.global.u32\n";
  EXPECT_EQ(counts("setp.eq.u32 %q, %r1, 1;\n@%q st.global.u32 [%out], 0;"), "");
  EXPECT_EQ(counts("setp.eq.u32 %q, %cta, 0;\n@%q st.global.u32 [%out], 0;"), races);
  EXPECT_EQ(counts("setp.eq.u32 %q, %cta, 1;\n@%q st.global.u32 [%out+4], 0;"), "");
  // Neither red nor an atom whose result nobody takes tells a thread that it came last.
  EXPECT_EQ(counts("ld.global.u32 %r2, [%out];"),
            "race.weak: atom.relaxed.gpu.global.add.u32 ~ ld.global.u32\n");
  EXPECT_EQ(
      findings_of(kernel("red.relaxed.gpu.global.add.u32 [%out], 1;\nld.global.u32 %r1, [%out];"), 1, 2),
      "race.weak: red.relaxed.gpu.global.add.u32 ~ ld.global.u32\n");
  // Another warp of the CTA that came last resets the counter.
  EXPECT_EQ(counts(R"(
  @%p st.shared.u32 [%s], %r1;
  bar.sync 0;
  setp.ne.u32 %q, %t, 33;
  @%q bra L_end;
  ld.shared.u32 %r2, [%s];
  setp.eq.u32 %q, %r2, 1;
  @%q st.global.u32 [%out], 0;
L_end:)",
                   64),
            "");
}

TEST(Order, WhatIsReadAgain) {
  const std::string say = "st.release.gpu.global.u32 [%out], 1;";
  const std::string again = "ld.relaxed.gpu.global.u32 %r1, [%out];";
  EXPECT_EQ(message(say, again + "|ld.acquire.gpu.global.u32 %r1, [%out];"), "");
  EXPECT_EQ(message(say, again + "|fence.acq_rel.cta;\n" + again + "\nfence.acq_rel.gpu;"), "");
  EXPECT_EQ(message(say, again + "|" + again), "race.weak: st.global.u32 ~ ld.global.u32\n");
}

TEST(Order, AReleaseAndWhatItsThreadWritesAfterIt) {
  const std::string hear = "ld.acquire.gpu.global.u32 %r1, [%out];";
  EXPECT_EQ(message("st.release.gpu.global.u32 [%out], 0;\nst.relaxed.gpu.global.u32 [%out], 1;", hear), "");
  EXPECT_EQ(message("st.release.gpu.global.u32 [%out+4], 1;\nst.relaxed.gpu.global.u32 [%out], 1;", hear),
            "race.weak: st.global.u32 ~ ld.global.u32\n");
}

// "red.add [M], 1; fence.acquire; is not an acquire pattern."
TEST(Order, ARedAcquiresNothing) {
  const auto counts = [](const std::string& counted) {
    return findings_of(kernel(R"(
  setp.eq.u32 %q, %cta, 0;
  @!%q bra L_wait;
  st.global.u32 [%in], 1;
  st.release.gpu.global.u32 [%out], 2;
  bra L_end;
L_wait:
)" + counted + R"(
  fence.acq_rel.gpu;
  ld.relaxed.gpu.global.u32 %r1, [%out];
  setp.lt.u32 %q, %r1, 3;
  @%q bra L_wait;
  ld.global.u32 %r2, [%in];
L_end:)"),
                       1, 2);
  };
  EXPECT_EQ(counts("atom.relaxed.gpu.global.add.u32 %r3, [%out], 1;\nadd.u32 %r3, %r3, %r3;"), "");
  EXPECT_EQ(counts("red.relaxed.gpu.global.add.u32 [%out], 1;"),
            "race.weak: st.global.u32 ~ ld.global.u32\n");
}

// The last of many CTAs, whose tickets are a chain of atomics: however many have released, it is its own
// acquire that is missing, also to the threads that it tells by a barrier.
TEST(Order, TheLastOfManyLacksTheAcquire) {
  const auto last = [](const std::string& ticket) {
    std::string fault;
    return all_findings_of(kernel(R"(
  mad.wide.u32 %g, %cta, 4, %in;
  @%p st.global.u32 [%g], 1;
  @%p fence.acq_rel.gpu;
  @%p )" + ticket + R"(
  @%p st.shared.u32 [%s], %r1;
  bar.sync 0;
  ld.shared.u32 %r2, [%s];
  setp.ne.u32 %q, %r2, 23;
  @%q bra L_end;
  mad.wide.u32 %g, %t, 4, %in;
  ld.global.u32 %r3, [%g];
  st.shared.u32 [%a+64], %r3;
L_end:)"),
                           16, 24, AsyncMode::eager, fault);
  };
  EXPECT_TRUE(last("atom.acquire.gpu.global.add.u32 %r1, [%out], 1;").empty());
  const std::vector<Finding> findings = last("atom.relaxed.gpu.global.add.u32 %r1, [%out], 1;");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "race.weak");
  EXPECT_EQ(findings[0].fix, "an acquire before the second (.acquire on the read or wait that sees it, or "
                             "fence.acq_rel after that); the release is there");
}

TEST(Order, ReleasesOfAScope) {
  const std::string found =
      message("st.release.cta.global.u32 [%out], 1;", "ld.acquire.gpu.global.u32 %r1, [%out];");
  EXPECT_NE(found.find("race.scope: st.global.u32 ~ ld.global.u32\n"), found.npos) << found;
  EXPECT_NE(found.find("race.scope: st.release.cta.global.u32 ~ ld.acquire.gpu.global.u32\n"), found.npos)
      << found;
}

TEST(Order, CopiesOfThreads) {
  const auto copied = [](const std::string& wait, const std::string& word) {
    return findings_of(kernel("cp.async.ca.shared.global [%a], [%in], 4;\ncp.async.commit_group;\n" + wait +
                              "\nld.shared.u32 %r1, [" + word + "];"),
                       64);
  };
  const std::string unwaited = "async.unwaited: cp.async.ca.shared.global ~ ld.shared.u32\n";
  EXPECT_EQ(copied("", "%a"), unwaited);
  EXPECT_EQ(copied("cp.async.wait_group 1;", "%a"), unwaited);
  EXPECT_EQ(copied("cp.async.wait_group 0;", "%a"), "");
  EXPECT_EQ(copied("cp.async.wait_all;", "%a"), "");
  EXPECT_EQ(copied("bar.sync 0;", "%a"), unwaited);
  EXPECT_EQ(copied("cp.async.wait_group 0;", "%b"), unwaited); // another thread's
  EXPECT_EQ(copied("cp.async.wait_group 0;\nbar.sync 0;", "%b"), "");
  EXPECT_EQ(copied("bar.sync 0;\ncp.async.wait_group 0;", "%b"), unwaited);
}

// Thread 0 of 64 loads 256 bytes in bulk; then `wait`, then all read.
std::string bulk_load(const std::string& wait) {
  return findings_of(kernel(R"(
  @%p mbarrier.init.shared.b64 [%m], 1;
  @%p fence.mbarrier_init.release.cluster;
  bar.sync 0;
  @%p mbarrier.arrive.expect_tx.shared.b64 %state, [%m], 256;
  @%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%m];
)" + wait + "\n  ld.shared.u32 %r1, [%a];"),
                     64);
}

TEST(Order, CompletionOnAnMbarrier) {
  const std::string unwaited =
      "async.unwaited: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ~ ld.shared.u32\n";
  EXPECT_EQ(bulk_load("L_wait: mbarrier.try_wait.parity.shared.b64 %q, [%m], 0;\n@!%q bra L_wait;"), "");
  EXPECT_EQ(bulk_load(""), unwaited);
  EXPECT_EQ(bulk_load("bar.sync 0;"), unwaited);
  // Thread 0 waits, and the others through a barrier after it - or not.
  const std::string one = "@!%p bra L_past;\nL_wait: mbarrier.try_wait.parity.shared.b64 %q, [%m], 0;\n"
                          "@!%q bra L_wait;\nL_past:\n";
  EXPECT_EQ(bulk_load(one + "bar.sync 0;"), "");
  EXPECT_EQ(bulk_load(one), unwaited);
}

// Every thread arrives, and waits for all.
std::string arrived(const std::string& before, const std::string& arrive) {
  return findings_of(
      kernel("@%p mbarrier.init.shared.b64 [%m], 64;\nbar.sync 0;\n" + before + "\n" + arrive + R"(
L_wait:
  mbarrier.try_wait.parity.shared.b64 %q, [%m], 0;
  @!%q bra L_wait;
  ld.shared.u32 %r1, [%b];)"),
      64);
}

TEST(Order, ArrivalsOnAnMbarrier) {
  const std::string store = "st.shared.u32 [%a], %t;";
  EXPECT_EQ(arrived(store, "mbarrier.arrive.shared.b64 %state, [%m];"), "");
  EXPECT_EQ(arrived(store, "mbarrier.arrive.relaxed.cta.shared.b64 %state, [%m];"),
            "race.weak: st.shared.u32 ~ ld.shared.u32\n");
  EXPECT_EQ(arrived(store, "fence.acq_rel.cta;\nmbarrier.arrive.relaxed.cta.shared.b64 %state, [%m];"), "");
  const std::string copy = "cp.async.ca.shared.global [%a], [%in], 4;";
  EXPECT_EQ(arrived(copy, "cp.async.mbarrier.arrive.noinc.shared.b64 [%m];"), "");
  EXPECT_EQ(arrived(copy, "mbarrier.arrive.shared.b64 %state, [%m];"),
            "async.unwaited: cp.async.ca.shared.global ~ ld.shared.u32\n");
}

TEST(Order, DestinationsOfBulkStores) {
  const auto read = [](const std::string& wait) {
    return findings_of(kernel(R"(
  @%p st.shared.v4.u32 [%s], {%t, %t, %t, %t};
  @%p fence.proxy.async;
  @%p cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 16;
  @%p cp.async.bulk.commit_group;
)" + wait + "\n  @%p ld.global.u32 %r1, [%out];\n  @%p cp.async.bulk.wait_group 0;"),
                       32);
  };
  EXPECT_EQ(read("@%p cp.async.bulk.wait_group 0;"), "");
  EXPECT_EQ(read("@%p cp.async.bulk.wait_group.read 0;"),
            "async.unwaited: cp.async.bulk.global.shared::cta.bulk_group ~ ld.global.u32\n");
}

TEST(Order, ProxyFences) {
  const auto stored = [](const std::string& between) {
    return findings_of(kernel("st.shared.u32 [%a], %t;\n" + between + R"(
  @%p cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 256;
  @%p cp.async.bulk.commit_group;
  @%p cp.async.bulk.wait_group 0;)"),
                       64);
  };
  const std::string proxy = "race.proxy: st.shared.u32 ~ cp.async.bulk.global.shared::cta.bulk_group\n";
  EXPECT_EQ(stored("bar.sync 0;"), proxy);
  EXPECT_EQ(stored("fence.proxy.async;\nbar.sync 0;"), "");
  EXPECT_EQ(stored("bar.sync 0;\nfence.proxy.async;"), "");
  EXPECT_EQ(stored("fence.proxy.async;"),
            "async.unwaited: st.shared.u32 ~ cp.async.bulk.global.shared::cta.bulk_group\n");
}

TEST(Order, ReadsBeforeARefill) {
  const auto refill = [](const std::string& between) {
    return findings_of(kernel(R"(
  @%p mbarrier.init.shared.b64 [%m], 1;
  st.shared.u32 [%a], %t;
  fence.proxy.async;
  bar.sync 0;
  ld.shared.u32 %r1, [%a];
)" + between + R"(
  @%p mbarrier.arrive.expect_tx.shared.b64 %state, [%m], 256;
  @%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%m];)"),
                       64);
  };
  EXPECT_EQ(
      refill("bar.sync 0;"),
      "race.proxy: ld.shared.u32 ~ cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes\n");
  EXPECT_EQ(refill("fence.proxy.async;\nbar.sync 0;"), "");
}

TEST(Order, SourcesOfBulkStores) {
  const auto overwritten = [](const std::string& wait) {
    return findings_of(kernel(R"(
  st.shared.u32 [%a], %t;
  fence.proxy.async;
  bar.sync 0;
  @%p cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 256;
  @%p cp.async.bulk.commit_group;
)" + wait + "\n  st.shared.u32 [%a], 1;\n  @%p cp.async.bulk.wait_group.read 0;"),
                       64);
  };
  EXPECT_EQ(overwritten("@%p cp.async.bulk.wait_group.read 0;\nbar.sync 0;"), "");
  EXPECT_EQ(overwritten("bar.sync 0;"),
            "async.unwaited: cp.async.bulk.global.shared::cta.bulk_group ~ st.shared.u32\n");
  EXPECT_EQ(overwritten("@%p cp.async.bulk.wait_group.read 1;\nbar.sync 0;"),
            "async.unwaited: cp.async.bulk.global.shared::cta.bulk_group ~ st.shared.u32\n");
}

TEST(Order, ClusterBarriers) {
  const auto remote = [](const std::string& between) {
    return findings_of(kernel(R"(
  mov.u32 %r2, %cluster_ctarank;
  xor.b32 %r2, %r2, 1;
  mapa.shared::cluster.u32 %r3, %a, %r2;
  st.shared.u32 [%a], %t;
)" + between + R"(
  ld.shared::cluster.u32 %r1, [%r3];
  barrier.cluster.arrive;
  barrier.cluster.wait;)",
                              ".reqnctapercluster 2"),
                       32, 2);
  };
  EXPECT_EQ(remote("barrier.cluster.arrive;\nbarrier.cluster.wait;"), "");
  EXPECT_EQ(remote("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;"),
            "race.weak: st.shared.u32 ~ ld.shared::cluster.u32\n");
  EXPECT_EQ(remote("fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;"), "");
}

TEST(Order, MbarriersAreInitializedBeforeTheyAreUsed) {
  const auto used = [](const std::string& between) {
    return findings_of(kernel("@%p mbarrier.init.shared.b64 [%m], 64;\n" + between +
                              "\nmbarrier.arrive.shared.b64 %state, [%m];"),
                       64);
  };
  EXPECT_EQ(used("bar.sync 0;"), "");
  EXPECT_EQ(used("bar.warp.sync 0xffffffff;"),
            "mbarrier.init: mbarrier.init.shared.b64 ~ mbarrier.arrive.shared.b64\n");
  EXPECT_EQ(findings_of(kernel("@%p mbarrier.init.shared.b64 [%m], 64;\nbar.sync 0;\n"
                               "mbarrier.arrive.shared.b64 %state, [%m];\nld.shared.b64 %g, [%m];"),
                        64),
            "mbarrier.plain: mbarrier.arrive.shared.b64 ~ ld.shared.b64\n");
}

// A relaxed barrier holds its thread back until the others have their answers; the ISA does not say that it
// is enough.
TEST(Order, MbarriersAreInvalidatedAfterTheWaits) {
  const auto ended = [](const std::string& between) {
    return findings_of(kernel("@%p mbarrier.init.shared.b64 [%m], 1;\nbar.sync 0;\n"
                              "mbarrier.test_wait.parity.shared.b64 %q, [%m], 1;\n" +
                              between + "\n@%p mbarrier.inval.shared.b64 [%m];"),
                       64);
  };
  EXPECT_EQ(ended("bar.sync 0;"), "");
  EXPECT_EQ(ended("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;"),
            "note mbarrier.init: mbarrier.test_wait.parity.shared.b64 ~ mbarrier.inval.shared.b64\n");
}

TEST(Order, NobodyExitsBeforeItsBulkReads) {
  const auto ends = [](const std::string& end) {
    return findings_of(kernel("@%p cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 256;\n" + end),
                       32);
  };
  EXPECT_EQ(ends("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;"), "");
  const std::string early = "async.unwaited: cp.async.bulk.global.shared::cta.bulk_group ~ ret\n";
  EXPECT_EQ(ends(""), early);
  EXPECT_EQ(ends("cp.async.bulk.commit_group;"), early);
  EXPECT_EQ(ends("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 1;"), early);
  EXPECT_EQ(ends("cp.async.bulk.wait_group.read 0;"), early);
}

// The response of clusterlaunchcontrol.try_cancel is written by the async proxy: read after a wait, and over
// before the next one by a proxy fence.
TEST(Order, ResponsesOfLaunchControl) {
  const auto asks = [](const std::string& before_read, const std::string& before_next, uint32_t ctas = 3,
                       const std::string& at_end = "") {
    const std::string request = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::"
                                "bytes.b128 [response], [bar];\n"
                                "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;\n";
    std::string text = R"(.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 pin, .param .u64 pout) {
  .shared .align 16 .b8 response[16];
  .shared .align 8 .b64 bar;
  .reg .b128 %h;
  .reg .b32 %x;
  .reg .pred %p, %canceled;
  mbarrier.init.shared.b64 [bar], 1;
  fence.proxy.async;
)" + request + before_read +
                       R"(
  ld.shared.b128 %h, [response];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %canceled, %h;
  @!%canceled ret;
)" + before_next + "\n" +
                       request + R"(
LAST: mbarrier.try_wait.parity.shared.b64 %p, [bar], 1;
  @!%p bra LAST;
)" + at_end + "\n  ret;\n}";
    return findings_of(text, 1, ctas);
  };
  const std::string wait = "WAIT: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;\n@!%p bra WAIT;";
  const std::string fence = "fence.proxy.async.shared::cta;";
  const std::string what =
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128";
  EXPECT_EQ(asks(wait, fence), "");
  EXPECT_EQ(asks("", wait + fence), "async.unwaited: " + what + " ~ ld.shared.b128\n");
  EXPECT_EQ(asks(wait, ""), "race.proxy: ld.shared.b128 ~ " + what + "\n");
  // The first CTA of the second request, which fails where there are two.
  const std::string first = "ld.shared.b128 %h, [response];\n"
                            "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %x, %h;";
  EXPECT_EQ(asks(wait, fence, 3, first), "");
  EXPECT_EQ(asks(wait, fence, 2, first),
            "note cluster.cancel: clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128\n");
}

// CTA 0 writes `in`, has a fence and then looks at `out`; CTA 1 writes `out`, has a fence, waits until CTA 0
// says that it has found 0 there, and reads `in`.
std::string fenced(const std::string& first, const std::string& second) {
  return findings_of(
      kernel("setp.eq.u32 %q, %cta, 0;\n@!%q bra OTHER;\nst.global.u32 [%in], 5;\n" + first +
             "ld.relaxed.gpu.global.u32 %r1, [%out];\nsetp.ne.u32 %q, %r1, 0;\n@%q bra END;\n"
             "st.relaxed.gpu.global.u32 [%out+4], 1;\nbra END;\nOTHER:\n"
             "st.relaxed.gpu.global.u32 [%out], 1;\n" +
             second +
             "ld.relaxed.gpu.global.u32 %r1, [%out+4];\nsetp.ne.u32 %q, %r1, 1;\n@%q bra END;\n"
             "ld.global.u32 %r2, [%in];\nEND:"),
      1, 2);
}

TEST(Order, OfFencesIsWhatAThreadHearsOf) {
  EXPECT_EQ(fenced("fence.sc.gpu;\n", "fence.sc.gpu;\n"), "");
  EXPECT_EQ(fenced("membar.gl;\n", "fence.sc.sys;\n"), "");
  const std::string race = "race.weak: st.global.u32 ~ ld.global.u32\n";
  EXPECT_EQ(fenced("fence.acq_rel.gpu;\n", "fence.sc.gpu;\n"), race);
  EXPECT_EQ(fenced("fence.sc.gpu;\n", "fence.acq_rel.gpu;\n"), race);
  EXPECT_EQ(fenced("fence.sc.cta;\n", "fence.sc.gpu;\n"), "race.scope: st.global.u32 ~ ld.global.u32\n");
}

// The word by which CTA 1 hears of CTA 0 was written before the read: it says nothing of what that has found,
// and in another run the fences may come the other way round.
TEST(Order, OfFencesIsNotKnownByWhatWasWrittenBeforeTheRead) {
  EXPECT_EQ(findings_of(kernel(R"(setp.eq.u32 %q, %cta, 0;
  @!%q bra OTHER;
  st.global.u32 [%in], 5;
  st.relaxed.gpu.global.u32 [%out+4], 1;
  fence.sc.gpu;
  ld.relaxed.gpu.global.u32 %r1, [%out];
  bra END;
OTHER: st.relaxed.gpu.global.u32 [%out], 1;
  fence.sc.gpu;
  ld.relaxed.gpu.global.u32 %r1, [%out+4];
  setp.ne.u32 %q, %r1, 1;
  @%q bra END;
  ld.global.u32 %r2, [%in];
END:)"),
                        1, 2),
            "race.weak: st.global.u32 ~ ld.global.u32\n");
}

TEST(Order, IsWeakThroughAThreadThatPassesOnAWordRelaxed) {
  EXPECT_EQ(findings_of(kernel(R"(setp.eq.u32 %q, %cta, 2;
  @%q bra READ;
  setp.eq.u32 %q, %cta, 1;
  @%q bra PASS;
  st.global.u32 [%in], 5;
  st.release.gpu.global.u32 [%out], 1;
  bra END;
PASS: ld.relaxed.gpu.global.u32 %r1, [%out];
  setp.ne.u32 %q, %r1, 1;
  @%q bra PASS;
  st.relaxed.gpu.global.u32 [%out+4], 1;
  bra END;
READ: ld.acquire.gpu.global.u32 %r1, [%out+4];
  setp.ne.u32 %q, %r1, 1;
  @%q bra READ;
  ld.global.u32 %r2, [%in];
END:)"),
                        1, 3),
            "race.weak: st.global.u32 ~ ld.global.u32\n");
}

} // namespace
} // namespace lemma::check
