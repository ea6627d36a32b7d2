// What is passed over in loops has its values all the same: in every launch, by every lane, for who counts
// and for who watches.
#include "accesses_in_place.h"
#include "kernel.h"
#include "vgpu/handlers/memory/memory_handlers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lemma::vgpu {
namespace {

size_t groups_of(const Code& code) {
  return code.plans.count<LaunchConstants>();
}

// Each thread adds what `body` leaves in %x, `rounds` times, and stores the sum.
std::string loop_of(const std::string& rounds, const std::string& body) {
  return ".visible .entry k(.param .u64 p_out, .param .u64 p_value) {\n .reg .pred %p, %q;\n"
         ".reg .b64 %rd<3>;\n .reg .b32 %t, %i, %n, %x, %sum, %a, %b, %c, %v;\n ld.param.u64 %rd0, [p_out];\n"
         "mov.u32 %t, %tid.x;\n mul.wide.u32 %rd1, %t, 4;\n add.u64 %rd0, %rd0, %rd1;\n mov.u32 %sum, 0;\n"
         "mov.u32 %i, 0;\n" +
         rounds + "loop:\n" + body +
         "add.u32 %sum, %sum, %x;\n add.u32 %i, %i, 1;\n setp.lt.u32 %p, %i, %n;\n @%p bra loop;\n"
         "st.global.u32 [%rd0], %sum;\n ret;\n}\n";
}

constexpr const char* kThree = "mov.u32 %n, 3;\n";
constexpr const char* kConstants = "ld.param.u32 %v, [p_value];\n add.u32 %a, %t, %v;\n"
                                   "shl.b32 %b, %a, 1;\n xor.b32 %x, %b, 5;\n";

std::vector<uint32_t> run(Kernel& kernel, uint64_t value, Report* report = nullptr) {
  const size_t threads = kernel.config().block[0];
  const uint64_t to = kernel.buffer(std::vector<uint32_t>(threads));
  const Report made = kernel.run({to, value});
  EXPECT_EQ(fault_text(made), "");
  if (report)
    *report = made;
  return kernel.read<uint32_t>(to, threads);
}

std::vector<uint32_t> expected(size_t threads, uint32_t value, auto rounds) {
  std::vector<uint32_t> out;
  for (uint32_t t = 0; t < threads; ++t)
    out.push_back(((t + value) * 2 ^ 5) * rounds(t));
  return out;
}

TEST(LaunchConstants, ArePassedOverAndCounted) {
  Kernel kernel(loop_of(kThree, kConstants));
  EXPECT_EQ(groups_of(kernel.code()), 1u);
  kernel.config().block = {64, 1, 1};
  Report report;
  for (const uint32_t value : {7u, 1000u}) // the second launch has the first one's frames
    EXPECT_EQ(run(kernel, value, &report), expected(64, value, [](uint32_t) { return 3u; }));
  EXPECT_EQ(*report.stats.warp_instructions, 2u * (7 + 3 * 8 + 2));
  EXPECT_EQ(*report.stats.lane_instructions, 64u * (7 + 3 * 8 + 2 - 1)); // but for the jump not taken
}

TEST(LaunchConstants, LanesLeaveALoopOneAfterTheOther) {
  Kernel kernel(loop_of("and.b32 %n, %t, 7;\n add.u32 %n, %n, 1;\n", kConstants));
  EXPECT_EQ(run(kernel, 9), expected(32, 9, [](uint32_t t) { return t % 8 + 1; }));
}

TEST(LaunchConstants, OfAWarpThatIsNotWhole) {
  Kernel kernel(loop_of(kThree, kConstants));
  kernel.config().block = {40, 1, 1};
  EXPECT_EQ(run(kernel, 2), expected(40, 2, [](uint32_t) { return 3u; }));
}

TEST(LaunchConstants, AreExecutedForWhoWatches) {
  AccessesInPlace nothing;
  Kernel kernel(loop_of(kThree, kConstants));
  kernel.watch(nothing);
  EXPECT_EQ(run(kernel, 2), expected(32, 2, [](uint32_t) { return 3u; }));
}

TEST(LaunchConstants, NoMoreInstructionsThanAllowed) {
  Kernel kernel(loop_of(kThree, kConstants));
  const uint64_t to = kernel.buffer(std::vector<uint32_t>(32));
  kernel.config().max_instructions = 7 + 8 + 2;
  const Report report = kernel.run({to, 1});
  EXPECT_EQ(*report.stats.warp_instructions, 7u + 8 + 2);
}

TEST(LaunchConstants, WhatElseIsWrittenIsNone) {
  for (const char* body : {
           "add.u32 %a, %t, %i;\n shl.b32 %x, %a, 1;\n",                          // by the loop
           "add.u32 %a, %t, 1;\n add.u32 %a, %a, 1;\n mov.u32 %x, %a;\n",         // by two
           "setp.eq.u32 %q, %t, 3;\n @%q mov.u32 %x, 2;\n @!%q mov.u32 %x, 1;\n", // under a guard: setp alone
           "mov.u32 %a, %clock;\n mov.u32 %b, %a;\n mov.u32 %x, %b;\n",
           "add.cc.u32 %a, %t, -1;\n addc.u32 %x, %t, 0;\n",
           "ld.global.u32 %a, [%rd0];\n mov.u32 %x, %a;\n",
       })
    EXPECT_EQ(groups_of(Kernel(loop_of(kThree, body)).code()), 0u) << body;
  EXPECT_EQ(groups_of(Kernel(loop_of(kThree, "add.u32 %x, %t, 1;\n")).code()), 0u)
      << "one alone saves nothing";
  const std::string straight = loop_of(kThree, kConstants);
  const size_t jump = straight.find("@%p bra loop;");
  ASSERT_NE(jump, std::string::npos);
  EXPECT_EQ(groups_of(Kernel(std::string(straight).replace(jump, 13, "")).code()), 0u) << "no loop";
}

TEST(LaunchConstants, WhatACallReturnsIsNone) {
  Kernel kernel(
      ".func (.param .b32 result) twice(.param .b32 value) {\n .reg .b32 %v;\n ld.param.u32 %v, [value];\n"
      "shl.b32 %v, %v, 1;\n st.param.b32 [result], %v;\n ret;\n}\n" +
      loop_of("mov.u32 %n, 4;\n", "{\n .param .b32 value;\n .param .b32 result;\n st.param.b32 [value], %i;\n"
                                  "call (result), twice, (value);\n ld.param.u32 %a, [result];\n"
                                  "add.u32 %x, %a, 1;\n}\n"));
  EXPECT_EQ(groups_of(kernel.code()), 0u);
  EXPECT_EQ(run(kernel, 0), std::vector<uint32_t>(32, 2 * (0 + 1 + 2 + 3) + 4));
}

// Addresses that the lanes have side by side, or all the same, as far as the code says: where a number wraps
// within a warp, or rows are no warps, they are not.
TEST(LaunchConstants, AddressesOfLanesMayWrap) {
  struct Case {
    const char* address; // in %a of 32 bits: which element, of 64
    uint8_t flags;
    uint32_t (*element)(uint32_t thread, uint32_t value);
  };
  const Case cases[] = {
      {"add.u32 %a, %t, %v;\n", kSideBySide, [](uint32_t t, uint32_t v) { return t + v; }},
      {"mad.lo.u32 %a, %t, 3, %v;\n shl.b32 %b, %t, 1;\n sub.u32 %a, %a, %b;\n", 0,
       [](uint32_t t, uint32_t v) { return t + v; }}, // %a has two writers
      {"mad.lo.u32 %b, %t, 3, %v;\n shl.b32 %c, %t, 1;\n sub.u32 %a, %b, %c;\n", kSideBySide,
       [](uint32_t t, uint32_t v) { return t + v; }},
      {"mul.lo.u32 %b, %t, 2;\n add.u32 %a, %b, %v;\n", 0, [](uint32_t t, uint32_t v) { return 2 * t + v; }},
      {"xor.b32 %a, %t, %v;\n", 0, [](uint32_t t, uint32_t v) { return t ^ v; }},
      {"shr.u32 %a, %t, 5;\n", kOneAddress, [](uint32_t t, uint32_t) { return t >> 5; }},
      {"mov.u32 %a, %v;\n", kOneAddress, [](uint32_t, uint32_t v) { return v; }},
      {"neg.s32 %b, %t;\n add.u32 %a, %b, %v;\n", 0, [](uint32_t t, uint32_t v) { return v - t; }},
      {"sub.u32 %a, %v, %t;\n", 0, [](uint32_t t, uint32_t v) { return v - t; }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.address);
    Kernel kernel(
        std::string(".visible .entry k(.param .u64 p_out, .param .u32 p_value) {\n .reg .b64 %rd<5>;\n"
                    ".reg .b32 %t, %v, %a, %b, %c, %w, %x;\n "
                    "ld.param.u64 %rd0, [p_out];\n ld.param.u32 %v, [p_value];\n mov.u32 %t, %tid.x;\n") +
        one.address +
        "and.b32 %x, %a, 63;\n mul.wide.u32 %rd1, %x, 4;\n add.u64 %rd1, %rd1, %rd0;\n" // wraps at 64
        "ld.global.u32 %w, [%rd1];\n mul.wide.s32 %rd2, %a, 4;\n add.u64 %rd3, %rd0, %rd2;\n"
        "st.global.u32 [%rd3+65536], %w;\n ret;\n}\n");
    uint8_t flags = 0;
    for (const DecodedInst& in : kernel.code().insts)
      if (kernel.code().opcode_of(in) == isa::Opcode::st)
        flags = in.flags & (kOneAddress | kSideBySide);
    EXPECT_EQ(flags, one.flags);
    for (const Dim3 block : {Dim3{64, 1, 1}, Dim3{16, 4, 1}})
      for (const uint32_t value : {0u, 64u, 0xfffffff0u}) { // the last one wraps within the first warp
        kernel.config().block = block;
        std::vector<uint32_t> memory(1 << 16);
        for (uint32_t i = 0; i < memory.size(); ++i)
          memory[i] = i * 7;
        const uint64_t at = kernel.buffer(memory);
        const Report report = kernel.run({at + 4096, value});
        EXPECT_EQ(fault_text(report), "");
        for (uint32_t y = 0; y < block[1]; ++y)
          for (uint32_t x = 0; x < block[0]; ++x) {
            const auto element = static_cast<int32_t>(one.element(x, value));
            memory[static_cast<size_t>(1024 + 16384 + element)] =
                (1024u + (static_cast<uint32_t>(element) & 63)) * 7;
          }
        EXPECT_EQ(kernel.read<uint32_t>(at, memory.size()), memory);
      }
  }
}

// A load of a matrix whose address depends on the warp alone, if warps are rows of the block.
TEST(LaunchConstants, AddressesOfMatricesAreComparedWhereRowsAreNoWarps) {
  const std::string text =
      ".visible .entry k(.param .u64 p_out) {\n .reg .b64 %rd<3>;\n .reg .b32 %r<4>;\n .reg .f64 %d;\n"
      ".shared .align 16 .b8 tile[4096];\n ld.param.u64 %rd0, [p_out];\n mov.u32 %r0, %tid.x;\n"
      "shr.u32 %r1, %r0, 5;\n mul.lo.u32 %r1, %r1, 256;\n mov.u32 %r2, tile;\n add.u32 %r2, %r2, %r1;\n"
      "mul.lo.u32 %r3, %r0, 8;\n add.u32 %r3, %r3, %r2;\n sub.u32 %r3, %r3, %r1;\n mov.f64 %d, "
      "0d3ff0000000000000;\n"
      "st.shared.f64 [%r3], %d;\n bar.sync 0;\n"
      "wmma.load.a.sync.aligned.row.m8n8k4.shared.f64 {%d}, [%r2];\n"
      "st.global.f64 [%rd0], %d;\n ret;\n}\n";
  Kernel kernel(text);
  kernel.config().block = {64, 1, 1};
  const uint64_t to = kernel.buffer(std::vector<double>(1));
  EXPECT_EQ(fault_text(kernel.run({to})), "");
  EXPECT_EQ(kernel.read<double>(to, 1)[0], 1);
  kernel.config().block = {48, 2, 1}; // the second warp has the end of one row and the begin of the next
  EXPECT_NE(fault_text(kernel.run({to})).find("lanes 0 and 16 give wmma.load different addresses"),
            std::string::npos);
}

// --- Of a CTA

// Each thread stores what it computes of a parameter, of its CTA's place and of its own; and of the warp's
// number, which no other warp has.
constexpr const char* kByCta =
    ".visible .entry k(.param .u64 p_out, .param .u32 p_value) {\n .reg .pred %p;\n .reg .b64 %rd<3>;\n"
    ".reg .b32 %t, %c, %n, %i, %v, %w, %x, %y, %z;\n ld.param.u64 %rd0, [p_out];\n"
    "ld.param.u32 %v, [p_value];\n mov.u32 %t, %tid.x;\n mov.u32 %c, %ctaid.x;\n mov.u32 %n, %ntid.x;\n"
    "mad.lo.u32 %i, %c, %n, %t;\n mul.wide.u32 %rd1, %i, 4;\n add.u64 %rd2, %rd0, %rd1;\n"
    "mul.lo.u32 %x, %v, 100;\n add.u32 %x, %x, 0;\n mad.lo.u32 %y, %v, 100, %c;\n mov.u32 %w, %warpid;\n"
    "setp.lt.u32 %p, %c, 2;\n selp.u32 %z, %y, %v, %p;\n shl.b32 %w, %w, 16;\n add.u32 %z, %z, %w;\n"
    "st.global.u32 [%rd2], %z;\n ret;\n}\n";

std::vector<uint32_t> expected_by_cta(uint32_t ctas, uint32_t threads, uint32_t value) {
  std::vector<uint32_t> out;
  for (uint32_t c = 0; c < ctas; ++c)
    for (uint32_t t = 0; t < threads; ++t)
      out.push_back((c < 2 ? 100 * value + c : value) + (t / 32 << 16));
  return out;
}

std::vector<uint32_t> run_by_cta(Kernel& kernel, uint32_t value, Report* report = nullptr) {
  const LaunchConfig& config = kernel.config();
  const size_t threads = size_t{config.grid[0]} * config.block[0];
  const uint64_t to = kernel.buffer(std::vector<uint32_t>(threads));
  const Report made = kernel.run({to, value});
  EXPECT_EQ(fault_text(made), "");
  if (report)
    *report = made;
  return kernel.read<uint32_t>(to, threads);
}

TEST(ConstantsOfACta, AreComputedByOneOfItsWarps) {
  Kernel kernel(kByCta);
  EXPECT_EQ(kernel.code().plans.count<CtaConstants>(), 1u);
  for (const uint32_t threads : {32u, 128u, 112u, 20u}) // the last warp of some is not whole
    for (const uint32_t value : {7u, 1000u}) {          // the second launch has the first one's frames
      SCOPED_TRACE(threads);
      kernel.config().block = {threads, 1, 1};
      kernel.config().grid = {5, 1, 1};
      Report report;
      EXPECT_EQ(run_by_cta(kernel, value, &report), expected_by_cta(5, threads, value));
      EXPECT_EQ(*report.stats.warp_instructions, 5u * ((threads + 31) / 32) * 18);
      EXPECT_EQ(*report.stats.lane_instructions, 5u * threads * 18);
    }
}

TEST(ConstantsOfACta, AreExecutedForWhoWatchesOrCounts) {
  AccessesInPlace nothing;
  Kernel watched(kByCta), counted(kByCta);
  watched.watch(nothing);
  counted.config().max_instructions = 2 * 18;
  for (Kernel* kernel : {&watched, &counted}) {
    kernel->config().block = {64, 1, 1};
    EXPECT_EQ(run_by_cta(*kernel, 3), expected_by_cta(1, 64, 3));
  }
}

// A thread that leaves first takes no part; the others have the values all the same.
TEST(ConstantsOfACta, PartsOfAWarpComputeThemToo) {
  std::string text = kByCta;
  const std::string at = "mul.lo.u32 %x";
  text.insert(text.find(at), "setp.eq.u32 %p, %t, 3;\n @%p ret;\n");
  Kernel kernel(text);
  kernel.config().block = {96, 1, 1};
  std::vector<uint32_t> expected = expected_by_cta(1, 96, 4);
  expected[3] = 0;
  EXPECT_EQ(run_by_cta(kernel, 4), expected);
}

} // namespace
} // namespace lemma::vgpu
