// Loads that race with a write: an error where somebody uses what they have got, else a note.
#include "findings.h"

#include <gtest/gtest.h>

namespace lemma::check {
namespace {

const std::string kUsed = "race.global: ld.global.u32 ~ st.global.u32\n";

// Every thread loads one word, and thread 0 stores it: before the others' loads, or, where its warp sleeps,
// after them.
const std::string kThreadZeroLast = "@%w bra L_late;\nld.global.u32 %r1, [%out];\n"
                                    "add.u32 %r2, %r1, 1;\nbra L_use;\nL_late:\nnanosleep.u32 100000;\n"
                                    "ld.global.u32 %r1, [%out];\nadd.u32 %r2, %r1, 1;\nL_use:\n";

std::string in_both_orders(const std::string& use, const std::string& before = "") {
  const auto verdict = [&](const std::string& body) {
    const std::string found = findings_of(kernel(before + body), 96);
    return found.starts_with(kUsed) || found.find("\n" + kUsed) != found.npos ? "error"
           : found.starts_with("note " + kUsed)                               ? "note"
                                                                              : "nothing";
  };
  const std::string early = verdict("ld.global.u32 %r1, [%out];\nadd.u32 %r2, %r1, 1;\n" + use);
  EXPECT_EQ(early, verdict(kThreadZeroLast + use)) << use;
  return early;
}

TEST(Loaded, IsNoRaceWhereOneThreadUsesIt) {
  EXPECT_EQ(in_both_orders("@%p st.global.u32 [%out], %r2;"), "note");
  // The predicate is made behind the load.
  EXPECT_EQ(in_both_orders("setp.lt.u32 %q, %t, 1;\n@%q st.global.u32 [%out], %r2;"), "note");
  // The others' is selected away.
  EXPECT_EQ(
      in_both_orders("@%p st.global.u32 [%out], %r2;\nselp.u32 %r3, %r2, 7, %p;\nselp.u32 %r4, 5, %r3, %p;\n"
                     "mad.wide.u32 %g, %t, 4, %out;\n@!%p st.global.u32 [%g+64], %r4;"),
      "note");
  // The others' goes to others of their warp, which do not use it: sums of which one thread stores its own.
  EXPECT_EQ(in_both_orders("shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;\nadd.u32 %r3, %r3, %r2;\n"
                           "@%p st.global.u32 [%out], %r3;"),
            "note");
  // What all lanes match, or vote, is nobody's.
  EXPECT_EQ(in_both_orders("@%p st.global.u32 [%out], %r2;\nmatch.any.sync.b32 %r3, %r1, -1;"), "note");
  // A branch in the place of the predicate.
  EXPECT_EQ(in_both_orders("@!%p bra L_end;\nst.global.u32 [%out], %r2;\nL_end:"), "note");
}

TEST(Loaded, IsARaceWhereAnotherThreadUsesIt) {
  const std::string store = "@%p st.global.u32 [%out], %r2;\n";
  // A store, an address, a branch, a predicate, another lane's number, an atomic operation.
  for (const std::string use : {"mad.wide.u32 %g, %t, 4, %out;\n@!%p st.global.u32 [%g+64], %r2;",
                                "and.b32 %r3, %r1, 4;\nadd.u32 %r3, %r3, %a;\nst.shared.u32 [%r3], %t;",
                                "setp.eq.u32 %q, %r1, 77;\n@%q bra L_end;\nst.shared.u32 [%a], 1;\nL_end:",
                                "setp.eq.u32 %q, %r1, 77;\n@%q st.shared.u32 [%a], 1;",
                                "shfl.sync.idx.b32 %r3, %t, %r1, 31, -1;", "red.shared.add.u32 [%s], %r1;"})
    EXPECT_EQ(in_both_orders(store + use), "error") << use;
  // It has come from another lane.
  for (const std::string use :
       {"@!%p st.shared.u32 [%a], %r3;", "setp.gt.u32 %q, %t, 90;\n@%q st.shared.u32 [%a], %r3;"})
    EXPECT_EQ(in_both_orders(store + "shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;\n" + use), "error") << use;
  // The others' is selected.
  EXPECT_EQ(in_both_orders(store + "selp.u32 %r3, 7, %r2, %p;\nmad.wide.u32 %g, %t, 4, %out;\n"
                                   "@!%p st.global.u32 [%g+64], %r3;"),
            "error");
  // The last warp alone: the value has come through other registers.
  EXPECT_EQ(in_both_orders(store +
                           "mov.u32 %r4, %r2;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\nxor.b32 %r4, %r4, %t;\n"
                           "setp.gt.u32 %q, %t, 90;\n@%q st.shared.u32 [%a], %r4;"),
            "error");
}

const std::string kDecides = "@%p st.global.u32 [%out], %r2;\nsetp.lt.u32 %q, %r1, 1;\nmov.u32 %r3, 1;\n";
const std::string kStore = "@!%p st.shared.u32 [%a], %r3;\n"; // by all but thread 0

// What a predicate is made of goes on in what it selects, guards and branches past: in one thread's own.
TEST(Loaded, IsFollowedThroughPredicates) {
  const std::string stores[] = {
      "selp.u32 %r3, %r2, 7, %q;\n",
      "setp.gt.and.u32 %q, %t, 3, %q;\nselp.u32 %r3, %r2, 7, %q;\n",
      "@%q add.u32 %r3, %r2, 1;\n",
      "@!%q mov.u32 %r3, 2;\n",
      "@%q ld.shared.u32 %r3, [%a];\n",
      "@%q bra L_more;\nmov.u32 %r3, 2;\nL_more:\n",
      "@!%q bra L_more;\nmov.u32 %r3, 2;\nL_more:\n",
      "@%q bra L_other;\nmov.u32 %r3, 2;\nbra L_more;\nL_other:\nmov.u32 %r3, 3;\nL_more:\n",
      "and.b32 %r4, %r1, 7;\nL_loop:\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %q, %r3, %r4;\n@%q bra L_loop;\n",
      "@%q bra L_more;\nst.local.u32 [%local], %t;\nL_more:\nld.local.u32 %r3, [%local];\n",
      "st.local.u32 [%local], %r1;\nld.local.u32 %r3, [%local];\n",
      "and.b32 %r4, %r1, 4;\nadd.u32 %r4, %r4, %local;\nld.local.u32 %r3, [%r4];\n",
  };
  const std::string local = ".local .align 4 .b32 words[2];\n.reg .b32 %local;\nmov.u32 %local, words;\n"
                            "st.local.v2.u32 [%local], {1, 2};\nst.shared.u32 [%a], 0;\nbar.sync 0;\n";
  for (const std::string& made : stores) {
    const auto race = [&](const std::string& use) { return in_both_orders(kDecides + made + use, local); };
    EXPECT_EQ(race(kStore), "error") << made;
    EXPECT_EQ(race("@%p st.shared.u32 [%a], %r3;\n"), "note") << made;
    EXPECT_EQ(race("mov.u32 %r3, 7;\n" + kStore), "note") << made;
  }
  // It is not asked where another predicate decides.
  EXPECT_EQ(in_both_orders("setp.lt.u32 %q, %r1, 1;\nand.pred %q, %q, %p;\n@%q st.global.u32 [%out], %r2;\n"),
            "note");
  EXPECT_EQ(in_both_orders("setp.lt.u32 %q, %r1, 1;\nor.pred %q, %p, %q;\n@%p st.global.u32 [%out], %r2;\n"
                           "@%q st.shared.u32 [%a], 1;\n"),
            "error");
}

TEST(Loaded, IsARaceWhereAPredicateDecidesWhatOthersSee) {
  for (const std::string use :
       {// a guard that lets nobody store, a branch past a store, the bound of a loop that stores
        "@!%q st.shared.u32 [%a], 1;\n", "@%q bra L_end;\nst.shared.u32 [%a], 1;\nL_end:\n",
        "and.b32 %r4, %r1, 3;\nL_loop:\nst.shared.u32 [%a], %r3;\nadd.u32 %r3, %r3, 1;\n"
        "setp.le.u32 %q, %r3, %r4;\n@%q bra L_loop;\n",
        // a branch past a barrier, an exit
        "@%q bra L_end;\nbarrier.sync 1, 32;\nL_end:\n", "@%q ret;\nst.shared.u32 [%a], 1;\n",
        // an address, of a load too: what is there may be nobody's
        "selp.u32 %r3, 4, 0, %q;\nadd.u32 %r3, %r3, %a;\nst.shared.u32 [%r3], 1;\n",
        "selp.u32 %r3, 4, 0, %q;\nadd.u32 %r3, %r3, %a;\nld.shared.u32 %r4, [%r3];\n",
        // all lanes have what lanes with the value have voted
        "vote.sync.any.pred %q, %q, -1;\n@!%q st.shared.u32 [%a], 1;\n",
        "redux.sync.add.u32 %r3, %r1, -1;\n@%p st.shared.u32 [%a], %r3;\n",
        "match.any.sync.b32 %r3, %r1, -1;\n@%p st.shared.u32 [%a], %r3;\n"})
    EXPECT_EQ(in_both_orders(kDecides + use), "error") << use;
}

TEST(Loaded, IsWhatLduHasGot) {
  const std::string load =
      "ldu.global.u32 %r1, [%out];\nadd.u32 %r2, %r1, 1;\n@%p st.global.u32 [%out], %r2;\n";
  const std::string found = "race.global: ldu.global.u32 ~ st.global.u32\n";
  EXPECT_EQ(findings_of(kernel(load), 96), "note " + found);
  EXPECT_EQ(findings_of(kernel(load + "@!%p st.shared.u32 [%a], %r2;"), 96), found);
}

// A branch past a store is nothing to those that a guard keeps from it.
TEST(Loaded, IsNoRaceWhereAGuardKeepsTheOthersFromStoring) {
  const std::string store = "st.global.u32 [%out], %r2;\n";
  const auto past = [&](const std::string& guarded, const std::string& more = "") {
    return in_both_orders("setp.gt.u32 %q, %r1, 5;\n@%q bra L_more;\n" + guarded + more +
                          "L_more:\n@%p st.global.u32 [%out], 9;\n");
  };
  EXPECT_EQ(past("@%p " + store), "note");
  EXPECT_EQ(past("@%p red.shared.add.u32 [%s], 2;\n"), "note");
  EXPECT_EQ(past("@%p " + store, "@!%w " + store), "error"); // that others execute
  EXPECT_EQ(past("@%w st.shared.u32 [%a], 1;\n"), "error");
  EXPECT_EQ(past("@!%p st.shared.u32 [%a], 1;\n"), "error");
  EXPECT_EQ(past("setp.lt.u32 %w, %t, 90;\n@!%w " + store), "error"); // nobody knows of whom, before
  EXPECT_EQ(past("@%p " + store, "bar.sync 1, 32;\n"), "error");
  // The guard is the value's.
  EXPECT_EQ(
      in_both_orders(
          "setp.gt.u32 %q, %r1, 5;\nsetp.gt.u32 %w, %r1, 100;\n@%q bra L_more;\n@%w st.shared.u32 [%a], 1;\n"
          "L_more:\n@%p st.global.u32 [%out], 9;\n"),
      "error");
  // What is computed there is uncertain; one way or the other; as often as it says.
  const std::string either =
      "setp.gt.u32 %q, %r1, 5;\n@%q bra L_other;\nmov.u32 %r3, 1;\n@%p " + store +
      "bra L_more;\nL_other:\nmov.u32 %r3, 2;\n@%p st.global.u32 [%out], 9;\nL_more:\n";
  EXPECT_EQ(in_both_orders(either), "note");
  EXPECT_EQ(in_both_orders(either + "@!%p st.shared.u32 [%a], %r3;\n"), "error");
  EXPECT_EQ(in_both_orders("@%p st.global.u32 [%out], 9;\nand.b32 %r4, %r1, 3;\nmov.u32 %r3, "
                           "0;\nL_loop:\n@%p st.global.u32 [%out], %r2;\nadd.u32 %r3, %r3, 1;\n"
                           "setp.lt.u32 %q, %r3, %r4;\n@%q bra L_loop;\n"),
            "note");
}

// Each thread goes through words of the next warp, and loads one more than it needs.
std::string pipelined(const std::string& then) {
  return findings_of(kernel("st.shared.u32 [%a], %t;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\nbar.sync 0;\n"
                            "ld.shared.u32 %r1, [%b];\nL_loop:\nmad.lo.u32 %r3, %r3, 3, %r1;\n"
                            "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %q, %r2, 4;\nbar.sync 0;\n"
                            "ld.shared.u32 %r1, [%b];\n@%q bra L_loop;\n" +
                            then),
                     64);
}

TEST(Loaded, IsNoRaceWhereItIsFetchedPastTheEnd) {
  const std::string race = "race.shared: ld.shared.u32 ~ st.shared.u32\n";
  EXPECT_EQ(pipelined("st.shared.u32 [%a], %r3;"), "note " + race);
  EXPECT_EQ(pipelined("st.shared.u32 [%a], %r3;\nmov.u32 %r1, %t;\nst.shared.u32 [%a+1024], %r1;"),
            "note " + race);
  EXPECT_EQ(pipelined("st.shared.u32 [%a], %r3;\nst.shared.u32 [%a+1024], %r1;"), race);
  EXPECT_EQ(pipelined("st.shared.u32 [%a+1024], %r1;\nst.shared.u32 [%a], %r3;"), race);
}

// The load has come again since, and what it had got before was used.
TEST(Loaded, IsNotForgottenInALoop) {
  EXPECT_EQ(findings_of(kernel("st.shared.u32 [%a], %t;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\n"
                               "bar.sync 0;\n@%w bra L_late;\nmov.u32 %r4, %b;\nL_loop:\n"
                               "add.u32 %r3, %r3, %r1;\nld.shared.u32 %r1, [%r4];\nmov.u32 %r4, %a;\n"
                               "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %q, %r2, 2;\n@%q bra L_loop;\n"
                               "st.shared.u32 [%a+2048], %r3;\nbra L_end;\nL_late:\nnanosleep.u32 100000;\n"
                               "st.shared.u32 [%a], 7;\nL_end:"),
                        64),
            "race.shared: ld.shared.u32 ~ st.shared.u32\n");
}

// All load a word that thread 0 counts up, and load it again; its warp is the first to, or the last.
std::string counted(const std::string& loop, const std::string& then = "") {
  const auto found = [&](const std::string& sleeps) {
    const std::string all =
        findings_of(kernel("mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\nmov.u32 %r4, 0;\n" + sleeps +
                           " bra L_loop;\nnanosleep.u32 100000;\nL_loop:\n" + loop +
                           "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %q, %r2, 4;\n@%q bra L_loop;\n" + then),
                    96);
    return all.empty() ? "nothing" : all.starts_with("note ") ? "note" : "error";
  };
  const std::string early = found("@%w");
  EXPECT_EQ(early, found("@!%w")) << loop << then;
  return early;
}

TEST(Loaded, IsFollowedRoundALoop) {
  const std::string load = "ld.global.u32 %r1, [%out];\n", more = "add.u32 %r3, %r1, 1;\n",
                    store = "@%p st.global.u32 [%out], %r3;\n", use = "@!%p st.shared.u32 [%a], ";
  for (const std::string& loop :
       {load + more + store,
        // what it gave the time before, in other registers
        store + load + more, "mov.u32 %r4, %r3;\n" + load + more + store,
        load + more + store + "xor.b32 %r4, %r4, %r1;\n",
        // a branch in the place of the predicate, a loop in the loop
        load + more + "@!%p bra L_past;\nst.global.u32 [%out], %r3;\nL_past:\n",
        "mov.u32 %r5, 0;\nL_inner:\n" + load + more + store +
            "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %q, %r5, 3;\n@%q bra L_inner;\n",
        // not each time, or not by all
        "setp.eq.u32 %q, %r2, 2;\n@%q bra L_past;\n" + load + "L_past:\n" + more + store,
        "setp.ne.u32 %q, %r2, 2;\n@%q ld.global.u32 %r1, [%out];\n" + more + store,
        // it decides what is computed, how often, and whether it is loaded again
        load + more + "setp.gt.u32 %q, %r1, 2;\n@%q add.u32 %r3, %r3, 5;\n" + store,
        load + more + "setp.gt.u32 %q, %r1, 2;\n@%q bra L_past;\nadd.u32 %r3, %r3, 5;\nL_past:\n" + store,
        load + more + store +
            "and.b32 %r5, %r1, 7;\nL_inner:\nld.shared.u32 %r6, [%a];\nsetp.eq.u32 %q, %r5, 0;\n"
            "@%q bra L_past;\nsub.u32 %r5, %r5, 1;\nbra L_inner;\nL_past:\n",
        "setp.gt.u32 %q, %r1, 20;\n@%q bra L_past;\n" + load + "L_past:\n" + more + store,
        // who stores is told anew each time, and is no other
        ".reg .pred %who;\nsetp.eq.u32 %who, %t, 0;\n" + load + more +
            "@!%who bra L_past;\nst.global.u32 [%out], %r3;\nL_past:\n",
        ".reg .pred %who;\nsetp.lt.u32 %q, %r2, 3;\nand.pred %who, %p, %q;\n" + load + more +
            "@!%who bra L_past;\nst.global.u32 [%out], %r3;\nL_past:\n",
        ".reg .pred %who;\nsetp.lt.and.u32 %who, %r2, 3, %p;\n" + load + more +
            "@%who st.global.u32 [%out], %r3;\n"}) {
    EXPECT_EQ(counted(loop), "note") << loop;
    EXPECT_EQ(counted(loop + use + "%r1;\n"), "error") << loop;
    EXPECT_EQ(counted(use + "%r3;\n" + loop), "error") << loop;
    EXPECT_EQ(counted(loop, use + "%r1;\n"), "error") << loop;
  }
  // Another one each time; the address of the next load.
  EXPECT_EQ(counted(".reg .pred %who;\nsetp.eq.u32 %who, %t, %r2;\n" + load + more +
                    "@!%who bra L_past;\nst.global.u32 [%out], %r3;\nL_past:\n"),
            "error");
  EXPECT_EQ(counted("mul.wide.u32 %g, %r1, 4;\nadd.u64 %g, %g, %out;\nld.global.u32 %r1, [%g];\n"
                    "mov.u32 %r3, 1;\n" +
                    store),
            "error");
}

// Who waits for a word to change goes by it, though nothing is stored before.
TEST(Loaded, IsARaceWhereItIsWaitedFor) {
  for (const std::string wait :
       {"L_wait:\nld.global.u32 %r1, [%out];\nsetp.eq.u32 %q, %r1, 0;\n@%q bra L_wait;\n",
        "L_wait:\nld.global.u32 %r1, [%out];\nsetp.ne.u32 %q, %r1, 0;\n@%q bra L_done;\nbra "
        "L_wait;\nL_done:\n",
        "L_wait:\nld.global.u32 %r1, [%out];\nmov.u32 %r3, 0;\nsetp.eq.u32 %q, %r1, 0;\n@%q bra L_past;\n"
        "mov.u32 %r3, 1;\nL_past:\nsetp.eq.u32 %q, %r3, 0;\n@%q bra L_wait;\n",
        "ld.global.u32 %r1, [%out];\nsetp.ne.u32 %q, %r1, 0;\n@%q bra L_done;\nL_wait:\n"
        "ld.global.u32 %r1, [%out];\nsetp.eq.u32 %q, %r1, 0;\n@%q bra L_wait;\nL_done:\n"}) {
    const std::string store = "@%p st.global.u32 [%out], 1;\n";
    EXPECT_EQ(findings_of(kernel("@%p bra L_last;\n" + wait + "bra L_end;\nL_last:\nnanosleep.u32 1000;\n" +
                                 store + "L_end:\n"),
                          64)
                  .substr(0, 5),
              "race.")
        << wait;
    EXPECT_EQ(findings_of(kernel("@!%w bra L_first;\nnanosleep.u32 100000;\nL_first:\n" + store + wait), 64)
                  .substr(0, 5),
              "race.")
        << wait;
  }
}

// A warp reads shared memory together: one lane's use counts for all.
TEST(Loaded, CountsForAllLanesInSharedMemory) {
  const auto found = [](const std::string& use) {
    return findings_of(kernel("@%p st.shared.u32 [%s], 5;\nbar.sync 0;\nld.shared.u32 %r1, [%s];\n" + use),
                       32);
  };
  const std::string race = "race.shared: ld.shared.u32 ~ st.shared.u32\n";
  EXPECT_EQ(found("@%p st.global.u32 [%out], %r1;\n@%p st.shared.u32 [%s], 6;"), race);
  EXPECT_EQ(found("setp.gt.u32 %q, %t, 99;\n@%q st.global.u32 [%out], %r1;\n@%p st.shared.u32 [%s], 6;"),
            "note " + race);
}

// A run that ends before the value is used shows neither.
TEST(Loaded, IsARaceWhereTheRunEndsBefore) {
  const std::string body =
      "ld.global.u32 %r1, [%out];\nadd.u32 %r2, %r1, 1;\n@%p st.global.u32 [%out], %r2;\n"
      "ld.global.u32 %r3, [%in+0x40000000];\nst.shared.u32 [%a], %r1;";
  std::string fault;
  const std::vector<Finding> found = all_findings_of(kernel(body), 64, 1, AsyncMode::eager, fault);
  EXPECT_EQ(fault, "memory.bounds");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "race.global");
  EXPECT_FALSE(found[0].is_note);
}

// A matrix's fragment is used by whoever multiplies it.
TEST(Loaded, IsFollowedIntoMatrices) {
  const auto found = [](const std::string& use) {
    return findings_of(
        kernel("st.shared.u32 [%a], %t;\nst.shared.u32 [%a+128], %t;\nbar.sync 0;\nand.b32 %r7, %t, 7;\n"
               "mad.lo.u32 %r7, %r7, 16, %s;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\nmov.u32 %r4, 0;\n"
               "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r7];\n"
               "mov.u32 %r5, %r1;\n" +
               use + "@%p st.shared.u32 [%s], 9;"),
        32);
  };
  const std::string race = "race.shared: ldmatrix.sync.aligned.m8n8.x1.shared.b16 ~ st.shared.u32\n";
  EXPECT_EQ(found("mov.u32 %r5, 0;\n"), "note " + race);
  EXPECT_EQ(
      found("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r3, %r4}, {%r2, %r2}, {%r5}, {%r3, %r4};\n"),
      race);
}

} // namespace
} // namespace lemma::check
