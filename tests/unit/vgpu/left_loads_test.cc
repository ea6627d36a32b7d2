// wmma.load of f64 that leave their elements in shared memory: the same bits as loads that do not, which a
// guard on each product makes them.
#include "vgpu/handlers/matrix/left_loads.h"

#include "accesses_in_place.h"
#include "kernel.h"
#include "vgpu/handlers/arithmetic/levels.h"
#include "vgpu/handlers/matrix/mma_runs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lemma::vgpu {
namespace {

constexpr int kRows = 2, kColumns = 3, kSteps = 5; // fragments of A, of B, along K
constexpr unsigned kCtas = 3;                      // which do the same
constexpr int kSharedDoubles = 1024, kPitch = 20;  // of a line: 4 * kSteps

struct Around {
  std::string before = {};        // the first load
  std::string after_loads = {};   // of the step kSteps / 2, before its products
  std::string after = {};         // all products
  std::string a_pitch = "%pitch"; // of A's second row
  int unwritten = 0;              // doubles at the begin of shared memory
  int rounds = 1;                 // of all of it; between them shared memory changes
};

// Shared memory has kSharedDoubles numbers, of which A has the first ones and B those from 512 on. Sums go to
// `out`, eight rows of two doubles a lane.
std::string kernel_of(bool apart, const Around& around) {
  std::string text = fmt::format(
      ".visible .entry k(.param .u64 p_out, .param .u64 p_in) {{\n"
      ".reg .pred %p<3>;\n .reg .b64 %rd<9>;\n .reg .b32 %r<9>, %at<{}>, %t, %round, %pitch, %other;\n .reg "
      ".f64 %v;\n"
      ".reg .f64 %d<{}>, %a<{}>, %b<{}>;\n .shared .align 32 .f64 memory[{}];\n"
      "ld.param.u64 %rd0, [p_out];\n ld.param.u64 %rd1, [p_in];\n mov.u32 %t, %tid.x;\n"
      "add.u32 %r0, %t, {};\n"
      "LOOP:\n mul.wide.u32 %rd2, %r0, 8;\n add.u64 %rd3, %rd1, %rd2;\n ld.global.f64 %v, [%rd3];\n"
      "cvt.u32.u64 %r1, %rd2;\n mov.u32 %r2, memory;\n add.u32 %r2, %r2, %r1;\n"
      "st.shared.f64 [%r2], %v;\n add.u32 %r0, %r0, %ntid.x;\n setp.lt.u32 %p0, %r0, {};\n @%p0 bra LOOP;\n"
      "bar.sync 0;\n mov.u32 %r3, memory;\n mov.u32 %pitch, {};\n mov.u32 %other, {};\n"
      "setp.lt.u32 %p1, %t, 4096;\n",
      (kRows + kColumns) * kSteps, 2 * kRows * kColumns, kRows * kSteps, kColumns * kSteps, kSharedDoubles,
      around.unwritten, kSharedDoubles, kPitch, kPitch + 4);
  for (int i = 0; i < 2 * kRows * kColumns; ++i)
    text += fmt::format("mov.f64 %d{}, 0d3ff0000000000000;\n", i);
  if (around.rounds > 1)
    text += "mov.u32 %round, 0;\nROUND:\n";
  text += around.before;
  int loads = 0;
  for (int step = 0; step < kSteps; ++step) {
    const auto load = [&](char matrix, int fragment, int at, const std::string& pitch) {
      text += fmt::format("add.u32 %at{0}, %r3, {1};\n"
                          "wmma.load.{2}.sync.aligned.{3}.m8n8k4.shared.f64 {{%{2}{4}}}, [%at{0}], {5};\n",
                          loads++, 8 * at, matrix, matrix == 'a' ? "row" : "col", fragment * kSteps + step,
                          pitch);
    };
    for (int i = 0; i < kRows; ++i)
      load('a', i, i * 8 * kPitch + 4 * step, i == 1 ? around.a_pitch : "%pitch");
    for (int j = 0; j < kColumns; ++j)
      load('b', j, 512 + j * 8 * kPitch + 4 * step, "%pitch");
    if (step == kSteps / 2)
      text += around.after_loads;
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kColumns; ++j) {
        const int d = 2 * (i * kColumns + j);
        text += fmt::format("{}wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64 {{%d{}, %d{}}}, "
                            "{{%a{}}}, {{%b{}}}, {{%d{}, %d{}}};\n",
                            apart ? "@%p1 " : "", d, d + 1, i * kSteps + step, j * kSteps + step, d, d + 1);
      }
  }
  text += around.after;
  if (around.rounds > 1)
    text += fmt::format("bar.sync 0;\n mul.lo.u32 %r5, %t, {};\n add.u32 %r5, %r5, %r3;\n"
                        "ld.shared.f64 %v, [%r5];\n add.f64 %v, %v, 0d3ff8000000000000;\n"
                        "st.shared.f64 [%r5], %v;\n bar.sync 0;\n add.u32 %round, %round, 1;\n"
                        "setp.lt.u32 %p2, %round, {};\n @%p2 bra ROUND;\n",
                        kSharedDoubles / 64 * 8, around.rounds);
  text += fmt::format("mad.lo.u32 %r7, %ctaid.x, {}, %t;\n mul.wide.u32 %rd4, %r7, 8;\n"
                      "add.u64 %rd0, %rd0, %rd4;\n",
                      64 * 2 * kRows * kColumns);
  for (int i = 0; i < 2 * kRows * kColumns; ++i)
    text += fmt::format("st.global.f64 [%rd0+{}], %d{};\n", 64 * 8 * i, i);
  return text + "ret;\n}\n";
}

struct Ran {
  std::vector<double> out;
  uint64_t instructions = 0;
  ptrdiff_t left = 0;    // loads that leave their elements
  ptrdiff_t settled = 0; // runs that may be
  std::string uninitialized{};
};

Ran run(bool apart, const Around& around, Observer* observer = nullptr) {
  Kernel kernel(kernel_of(apart, around));
  kernel.config().block = {64, 1, 1};
  kernel.config().grid = {kCtas, 1, 1};
  std::vector<double> in(kSharedDoubles);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<double>(i * i % 61) / 8 - 3;
  const size_t count = size_t{kCtas} * 64 * 2 * kRows * kColumns;
  const uint64_t to = kernel.buffer(std::vector<double>(count), "out");
  if (observer)
    kernel.watch(*observer);
  const Report report = kernel.run({to, kernel.buffer(in, "in")});
  EXPECT_EQ(fault_text(report), "");
  Ran ran{.out = kernel.read<double>(to, count), .instructions = *report.stats.warp_instructions};
  ran.uninitialized = uninitialized_text(report);
  const std::vector<DecodedInst>& insts = kernel.code().insts;
  ran.settled = static_cast<ptrdiff_t>(kernel.code().plans.count<SettledRun>());
  if (const Handler leaves = leaving_wmma_load())
    ran.left = ran.settled + std::count_if(insts.begin(), insts.end(),
                                           [&](const DecodedInst& in) { return in.handler == leaves; });
  return ran;
}

constexpr ptrdiff_t kAll = (kRows + kColumns) * kSteps;

// As many loads are left as `left` says, where the host's level leaves any.
void expect_as_loaded(const Around& around, ptrdiff_t left) {
  const Ran together = run(false, around), apart = run(true, around);
  EXPECT_EQ(together.left, leaving_wmma_load() ? left : 0);
  EXPECT_EQ(apart.left, 0);
  EXPECT_EQ(together.out, apart.out);
  EXPECT_EQ(together.instructions, apart.instructions);
  EXPECT_EQ(together.uninitialized, apart.uninitialized);
}

TEST(LeftLoads, AllOfARunAre) {
  for (const HostLevel level : host_levels()) {
    set_host_level(level);
    expect_as_loaded({}, kAll);
  }
}

TEST(LeftLoads, WhatTheyFindUnusualIsInRegistersForAll) {
  expect_as_loaded({.a_pitch = "%other"}, kAll); // two pitches in A
  expect_as_loaded({.before = "mov.u32 %pitch, 0;\n"}, kAll);
  expect_as_loaded({.unwritten = 2}, kAll);
  EXPECT_NE(run(false, {.unwritten = 2}).uninitialized, "");
}

TEST(LeftLoads, NotWhereMemoryMayChangeBefore) {
  for (const char* between : {"st.shared.f64 [%r3], %d0;\n", "bar.sync 0;\n", "bar.warp.sync 0xffffffff;\n",
                              "ld.acquire.gpu.global.u64 %rd5, [%rd1];\n",
                              "atom.shared.add.u32 %r5, [%r3], 1;\n", "membar.cta;\n"}) {
    SCOPED_TRACE(between);
    const Ran ran = run(false, {.after_loads = between});
    EXPECT_EQ(ran.out, run(true, {.after_loads = between}).out);
    EXPECT_LT(ran.left, kAll);
  }
  expect_as_loaded({.after_loads = "ld.global.u64 %rd5, [%rd1];\n"}, kAll);
  expect_as_loaded({.before = "bar.sync 0;\n"}, kAll);
}

TEST(LeftLoads, NotWhereSomebodyElseReadsAFragment) {
  expect_as_loaded({.after = "add.f64 %d0, %d0, %a3;\n"}, 0);
  expect_as_loaded({.after = "mov.f64 %d1, %b7;\n"}, 0);
}

TEST(LeftLoads, AWarpMayBeInterrupted) {
  std::string long_way;
  for (int i = 0; i < 600; ++i)
    long_way += "add.u32 %t, %t, 0;\n";
  expect_as_loaded({.after_loads = long_way}, kAll);
}

TEST(LeftLoads, WatchedTheyLoad) {
  for (const int rounds : {1, 3}) {
    AccessesInPlace nothing;
    EXPECT_EQ(run(false, {.rounds = rounds}, &nothing).out, run(true, {.rounds = rounds}).out);
  }
}

// What a loop comes back to, with other elements in the same places.
TEST(LeftLoads, ArePassedOverWhereTheyAreKnown) {
  for (const HostLevel level : host_levels()) {
    set_host_level(level);
    for (const int rounds : {2, 5}) {
      expect_as_loaded({.rounds = rounds}, kAll);
      EXPECT_EQ(run(false, {.rounds = rounds}).settled, leaving_wmma_load() ? 1 : 0);
    }
  }
  EXPECT_NE(run(false, {.rounds = 2}).out, run(false, {.rounds = 3}).out);
  EXPECT_EQ(run(false, {}).settled, 0);
}

TEST(LeftLoads, AreExecutedInEachRoundWhereTheyAreNotKnown) {
  expect_as_loaded({.a_pitch = "%other", .rounds = 3}, kAll);
  expect_as_loaded({.unwritten = 2, .rounds = 3}, kAll);
  const std::string by_round = "mul.lo.u32 %pitch, %round, 0;\n add.u32 %pitch, %pitch, 24;\n";
  expect_as_loaded({.before = by_round, .rounds = 3}, kAll);
  EXPECT_EQ(run(false, {.before = by_round, .rounds = 3}).settled, 0);
  for (const char* between : {"ld.global.u64 %rd5, [%rd1];\n", "add.u32 %r6, %round, 1;\n"}) { // in the run
    SCOPED_TRACE(between);
    expect_as_loaded({.after_loads = between, .rounds = 3}, kAll);
  }
}

} // namespace
} // namespace lemma::vgpu
