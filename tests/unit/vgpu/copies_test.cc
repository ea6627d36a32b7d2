// A load and the store after it as one: what they leave, count and report is what they do one after the
// other, which they do where somebody reads a register besides.
#include "vgpu/code/code.h"

#include "kernel.h"
#include "vgpu/engine/observer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

extern "C" [[gnu::weak]] void __tsan_init();

namespace lemma::vgpu {
namespace {

// Under ThreadSanitizer, which this file may be linked with and is not compiled for, there are no copies.
bool has_thread_sanitizer() {
  return &__tsan_init != nullptr;
}

// Each thread copies 16 bytes from byte `from` * tid + first of the input to byte `to` * tid of shared
// memory, and then what stands there at 16 * tid to the output.
struct Copy {
  bool pairs = false; // of 64 bits
  int from = 16, to = 16;
  int first = 0;
  const char* guard = "";   // of the copy
  const char* order = "";   // of the store
  const char* between = ""; // the two
};

std::string kernel_of(const Copy& copy, bool apart) {
  const std::string type = copy.pairs ? "v2.u64" : "v4.u32";
  const std::string registers = copy.pairs ? "{%l0, %l1}" : "{%r0, %r1, %r2, %r3}";
  const std::string other = copy.pairs ? "{%l2, %l3}" : "{%r4, %r5, %r6, %r7}";
  std::string text =
      ".visible .entry k(.param .u64 p_out, .param .u64 p_in) {\n .reg .pred %p;\n"
      ".reg .b64 %rd<6>, %l<4>;\n .reg .b32 %r<8>, %t, %s, %x;\n .shared .align 16 .b8 tile[4096];\n"
      "ld.param.u64 %rd0, [p_out];\n ld.param.u64 %rd1, [p_in];\n mov.u32 %t, %tid.x;\n"
      "setp.lt.u32 %p, %t, 20;\n mov.u32 %s, tile;\n";
  text += fmt::format("mad.wide.u32 %rd2, %t, {}, %rd1;\n mad.lo.u32 %x, %t, {}, %s;\n", copy.from, copy.to);
  text += fmt::format("{0}ld.global.{1} {2}, [%rd2+{3}];\n{4}{0}st.shared{5}.{1} [%x], {2};\n", copy.guard,
                      type, registers, copy.first, copy.between, copy.order);
  if (apart)
    text += copy.pairs ? "xor.b64 %rd5, %l0, %l1;\n" : "xor.b32 %r4, %r0, %r1;\n";
  text += "bar.sync 0;\n mad.lo.u32 %x, %t, 16, %s;\n mad.wide.u32 %rd3, %t, 16, %rd0;\n";
  text += fmt::format("ld.shared.{0} {1}, [%x];\n st.global.{0} [%rd3], {1};\n ret;\n}}\n", type, other);
  return text;
}

bool is_one(const Code& code) {
  return code.plans.count<LoadOfCopy>() != 0;
}

struct Ran {
  std::vector<uint32_t> out;
  std::string fault;
  uint64_t instructions = 0, lanes = 0, unwritten = 0;
  bool one = false;
};

Ran run(const Copy& copy, bool apart, bool written = true, uint32_t threads = 64,
        Observer* observer = nullptr) {
  Kernel kernel(kernel_of(copy, apart));
  kernel.config().block = {threads, 1, 1};
  if (observer)
    kernel.watch(*observer);
  std::vector<uint32_t> in(1024);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<uint32_t>(i * 2654435761u);
  const uint64_t from = written ? kernel.buffer(in, "in") : kernel.uninitialized_buffer(4096, "in");
  const uint64_t to = kernel.buffer(std::vector<uint32_t>(4 * threads), "out");
  const Report report = kernel.run({to, from});
  Ran ran{.out = kernel.read<uint32_t>(to, 4 * threads),
          .fault = fault_text(report),
          .instructions = report.stats.warp_instructions.value_or(0),
          .lanes = report.stats.lane_instructions.value_or(0),
          .unwritten = report.uninitialized.size(),
          .one = is_one(kernel.code())};
  return ran;
}

void expect_same(const Copy& copy, bool one, bool written = true, uint32_t threads = 64) {
  const Ran together = run(copy, false, written, threads), apart = run(copy, true, written, threads);
  EXPECT_EQ(together.one, one && !has_thread_sanitizer());
  EXPECT_FALSE(apart.one);
  EXPECT_EQ(together.out, apart.out);
  EXPECT_EQ(together.fault, apart.fault);
  if (together.fault.empty()) {
    EXPECT_EQ(together.instructions + threads / 32, apart.instructions);
    EXPECT_EQ(together.lanes + threads, apart.lanes);
  }
}

TEST(Copies, LeaveWhatLoadAndStoreDo) {
  for (const bool pairs : {false, true})
    for (const int from : {0, 16, 32, 48})
      for (const int to : {0, 16, 32}) {
        SCOPED_TRACE(fmt::format("{} {} {}", pairs, from, to));
        if (to != 32) // so that all is written that is read
          expect_same({.pairs = pairs, .from = from, .to = to, .first = 16}, true, true, to == 0 ? 32 : 64);
      }
}

TEST(Copies, WhatWasNeverWrittenStaysSo) {
  for (const bool pairs : {false, true}) {
    const Ran together = run({.pairs = pairs}, false, false);
    const Ran in_turn = run({.pairs = pairs, .between = "add.u32 %x, %x, 0;\n"}, false, false);
    EXPECT_FALSE(in_turn.one);
    EXPECT_EQ(together.out, in_turn.out);
    EXPECT_EQ(together.unwritten, in_turn.unwritten);
  }
  // Rows that are left out are never written.
  const Ran together = run({.to = 32}, false, true, 32), apart = run({.to = 32}, true, true, 32);
  EXPECT_EQ(together.out, apart.out);
  EXPECT_EQ(together.unwritten, apart.unwritten);
}

TEST(Copies, FaultsAreOfTheInstructionThatHasThem) {
  for (const Copy& copy :
       {Copy{.from = 64, .first = 1024}, Copy{.first = 4}, Copy{.to = 128}, Copy{.to = 20}}) {
    expect_same(copy, true);
    EXPECT_NE(run(copy, false).fault, "");
  }
}

TEST(Copies, OfPartsOfAWarp) {
  expect_same({}, true, true, 32);
  const Ran together = run({.guard = "@%p "}, false), apart = run({.guard = "@%p "}, true);
  EXPECT_FALSE(together.one);
  EXPECT_EQ(together.fault, apart.fault);
}

TEST(Copies, WhatElseStandsThereIsNone) {
  EXPECT_FALSE(run({.order = ".release.cta"}, false).one);
  EXPECT_FALSE(run({.between = "add.u32 %x, %x, 0;\n"}, false).one);
}

TEST(Copies, AreLoadAndStoreForWhoWatches) {
  AccessCounter counter;
  EXPECT_EQ(run({}, false, true, 64, &counter).out, run({}, false).out);
}

} // namespace
} // namespace lemma::vgpu
