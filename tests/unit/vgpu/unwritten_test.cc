// What was never written: which reads are reported, to the instruction and the lane, which are not, and what
// such bytes hold.
#include "kernel.h"
#include "vgpu/memory/poison.h"

#include <gtest/gtest.h>

#include <set>

namespace lemma::vgpu {
namespace {

// Every lane has 64 bytes of `out`, at %out; %p holds in lane 0, %q is false.
std::string kernel(const std::string& body, const std::string& before = "") {
  return before + R"(
.shared .align 16 .b8 table[1024];
.shared .align 16 .b8 copy[1024];
.visible .entry k(.param .u64 out, .param .u64 scratch) {
  .local .align 16 .b8 depot[64];
  .local .align 16 .b8 twin[64];
  .reg .b64 %out, %scratch, %mine, %a, %d<8>, %x<4>;
  .reg .b32 %t, %s, %r<16>;
  .reg .b16 %h<4>;
  .reg .f32 %f<4>;
  .reg .pred %p, %q;
  mov.u32 %t, %tid.x;
  ld.param.u64 %out, [out];
  ld.param.u64 %scratch, [scratch];
  mul.wide.u32 %mine, %t, 64;
  add.u64 %out, %out, %mine;
  mul.lo.u32 %s, %t, 16;
  mov.u32 %r15, table;
  add.u32 %s, %s, %r15;
  setp.eq.u32 %p, %t, 0;
  setp.gt.u32 %q, %t, 99;
)" + body +
         "\n  ret;\n}\n";
}

class NeverWritten : public testing::Test {
protected:
  // What was reported; "" if nothing.
  std::string run(const std::string& body, LaunchConfig config = {}, const std::string& before = "") {
    Kernel made(kernel(body, before));
    config.block = {32, 1, 1};
    config.workers = 2;
    made.config() = config;
    const uint64_t buffer = made.buffer(std::vector<uint32_t>(16 * 32 * config.grid[0]));
    report = made.run({buffer, made.uninitialized_buffer(4096, "scratch")});
    EXPECT_EQ(fault_text(report), "");
    out = made.read<uint32_t>(buffer, 16 * 32 * config.grid[0]);
    return uninitialized_text(report);
  }
  Report report;
  std::vector<uint32_t> out;
};

// --- local memory

TEST_F(NeverWritten, LocalMemoryIsTracked) {
  EXPECT_EQ(run(R"(
  @%p st.local.u32 [depot+4], 7;
  ld.local.u32 %r0, [depot+4];
  add.u32 %r0, %r0, 1;
  st.local.v2.u32 [depot+8], {%r0, %r0};
  ld.local.u64 %a, [depot+8];
  ld.local.u16 %h0, [depot+14];
  ld.local.u8 %h0, [depot+16];
  add.u16 %h0, %h0, 1;)"),
            "ld.local.u32 %r0, [depot+4];: local memory at 0x4 x31\n"
            "ld.local.u8 %h0, [depot+16];: local memory at 0x10 x32\n");
  EXPECT_EQ(report.uninitialized[0].lane, 1);
}

TEST_F(NeverWritten, LocalMemoryByTheLanesOwnIndex) {
  EXPECT_EQ(run(R"(
  and.b32 %r1, %t, 15;
  mul.wide.u32 %a, %r1, 4;
  mov.u64 %d0, depot;
  add.u64 %d0, %d0, %a;
  st.local.u32 [%d0], %t;
  ld.local.u32 %r0, [%d0];
  add.u32 %r0, %r0, 1;
  cvta.local.u64 %d1, %d0;
  xor.b64 %d1, %d1, 4;
  ld.u32 %r0, [%d1];
  add.u32 %r0, %r0, 1;)"),
            "ld.u32 %r0, [%d1];: local memory at 0x4 x32\n");
}

// A function that is called again finds nothing of what it wrote before; the caller's memory stays written.
TEST_F(NeverWritten, AFrameThatIsActivatedAgain) {
  const std::string callee = R"(
.func (.param .b32 result) callee(.param .b32 first) {
  .local .align 4 .b8 own[8];
  .reg .b32 %r<4>;
  .reg .pred %p;
  ld.param.b32 %r0, [first];
  setp.ne.u32 %p, %r0, 0;
  @%p st.local.u32 [own], %r0;
  ld.local.u32 %r1, [own];
  add.u32 %r1, %r1, 1;
  st.param.b32 [result], %r1;
  ret;
}
)";
  const auto call = [](const std::string& argument) {
    return "  { .param .b32 a; .param .b32 b; st.param.b32 [a], " + argument +
           "; call (b), callee, (a); ld.param.b32 %r2, [b]; }\n";
  };
  EXPECT_EQ(run("  st.local.u32 [depot], 5;\n" + call("9") + call("0") + call("3") +
                    "  ld.local.u32 %r0, [depot];\n  add.u32 %r0, %r0, %r2;",
                {}, callee),
            "ld.local.u32 %r1, [own];: local memory at 0x80 x32\n");
  // Some lanes only: the others are at the same frame.
  EXPECT_EQ(
      run("  @%p bra TWO;\n" + call("9") + "  bra END;\nTWO:\n" + call("3") + call("0") + "END:", {}, callee),
      "ld.local.u32 %r1, [own];: local memory at 0x80 x1\n");
}

TEST_F(NeverWritten, AllocaGivesUnwrittenMemory) {
  EXPECT_EQ(run(R"(
  stacksave.u64 %d1;
  alloca.u64 %d0, 32;
  st.local.u32 [%d0+4], 1;
  stackrestore.u64 %d1;
  alloca.u64 %d0, 32;
  ld.local.u32 %r0, [%d0+4];
  add.u32 %r0, %r0, 1;)"),
            "ld.local.u32 %r0, [%d0+4];: local memory at 0x84 x32\n");
}

// The next CTA on the same host thread gets the same host memory.
TEST_F(NeverWritten, ACtaBeginsWithUnwrittenLocalMemory) {
  LaunchConfig config;
  config.grid = {20, 1, 1};
  config.deterministic = true;
  EXPECT_EQ(run("  ld.local.u32 %r0, [depot];\n  add.u32 %r0, %r0, 1;\n  st.local.u32 [depot], %r0;", config),
            "ld.local.u32 %r0, [depot];: local memory at 0x0 x640\n");
}

// --- instructions that read other lanes' registers

TEST_F(NeverWritten, ShuffleAsksTheLanesItReads) {
  const auto text = [](const std::string& shuffle) { return "  @%p mov.u32 %r1, 5;\n" + shuffle; };
  EXPECT_EQ(run(text("  shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\n  st.global.u32 [%out], %r2;")), "");
  EXPECT_EQ(out[16 * 31], 5u);
  EXPECT_EQ(run(text("  shfl.sync.idx.b32 %r2, %r1, 1, 31, -1;")),
            "shfl.sync.idx.b32 %r2, %r1, 1, 31, -1;: register %r1 x1\n");
  EXPECT_EQ(report.uninitialized[0].lane, 1); // whose register it is
  EXPECT_EQ(run(text("  shfl.sync.up.b32 %r2, %r1, 31, 0, -1;")),
            "shfl.sync.up.b32 %r2, %r1, 31, 0, -1;: register %r1 x1\n"); // lanes 0 to 30 keep their own
  EXPECT_EQ(run("  setp.eq.u32 %p, %t, 31;\n  @!%p bra L;\n  mov.u32 %r1, 5;\nL:\n  bar.warp.sync -1;\n"
                "  shfl.sync.idx.b32 %r2, %r1, 31, 31, -1;"),
            "");
  // Here it is the lane's own that matters.
  for (const std::string op :
       {"match.any.sync.b32 %r2, %r1, -1;", "redux.sync.add.u32 %r2, %r1, -1;", "add.u32 %r2, %r1, 1;"}) {
    EXPECT_EQ(run(text("  " + op)), op + ": register %r1 x1\n");
    EXPECT_EQ(report.uninitialized[0].lane, 1);
  }
  EXPECT_EQ(
      run("  .reg .pred %fresh;\n  @%p setp.eq.u32 %fresh, %t, 0;\n  vote.sync.ballot.b32 %r2, %fresh, -1;"),
      "vote.sync.ballot.b32 %r2, %fresh, -1;: register %fresh x1\n");
}

TEST_F(NeverWritten, MatrixRowsAskTheLanesThatNameThem) {
  const std::string write = "  st.shared.v4.u32 [%s], {%t, %t, %t, %t};\n  bar.warp.sync -1;\n"
                            "  setp.lt.u32 %p, %t, 8;\n  @%p mov.u32 %r1, %s;\n";
  EXPECT_EQ(run(write + "  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];"), "");
  EXPECT_EQ(run(write + "  stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%t};"), "");
}

TEST_F(NeverWritten, ARowOfSeveralMatrices) {
  const std::string write = "  setp.ne.u32 %q, %t, 27;\n  @%q st.shared.v4.u32 [%s], {%t, %t, %t, %t};\n"
                            "  bar.warp.sync -1;\n";
  const std::string load = "  ldmatrix.sync.aligned.m8n8.";
  EXPECT_EQ(run(write + load + "x2.shared.b16 {%r0, %r1}, [%s];"), "");
  EXPECT_EQ(
      run(write + load + "x4.shared.b16 {%r0, %r1, %r2, %r3}, [%s];"),
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%s];: shared memory at 0x5b0 x1\n");
}

// A kilobyte that was found to be wholly written is looked at again when a part of it is not any more.
TEST_F(NeverWritten, MemoryThatWasWhollyWritten) {
  const std::string look = "  ld.shared.u32 %r0, [%s];\n  add.u32 %r0, %r0, 1;\n";
  const std::string fill = "  mov.u32 %r9, copy;\n  st.shared.v4.u32 [%s], {%t, %t, %t, %t};\n"
                           "  st.shared.v4.u32 [%s+512], {%t, %t, %t, %t};\n  bar.warp.sync -1;\n" +
                           look +
                           "  ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%s];\n  add.u32 %r1, %r2, %r3;\n";
  const std::string report = "ld.shared.u32 %r0, [%s];: shared memory at 0x400 x32\n";
  EXPECT_EQ(run(fill + look), "");
  EXPECT_EQ(run(fill + "  ld.shared.u32 %r5, [%r9];\n  st.shared.u32 [%s], %r5;\n" + look), report);
  EXPECT_EQ(run(fill + "  ld.shared.u8 %r5, [%r9];\n  st.shared.u8 [%s+3], %r5;\n" + look),
            "ld.shared.u32 %r0, [%s];: shared memory at 0x403 x32\n");
  EXPECT_EQ(run(fill + "  cp.async.ca.shared.global [%s], [%scratch], 16;\n  cp.async.wait_all;\n" + look),
            report);
}

// --- copies of unwritten bytes

// struct { char c; double d; } and struct { double d; int i; }, copied as compilers do.
TEST_F(NeverWritten, PaddingMayBeCopied) {
  const std::string first =
      "  mov.u16 %h0, 1;\n  st.local.u8 [depot], %h0;\n  st.local.u64 [depot+8], %out;\n";
  const std::string second = "  st.local.u64 [depot], %out;\n  st.local.u32 [depot+8], %t;\n";
  const std::string vector = "  ld.local.v2.u64 {%d0, %d1}, [depot];\n";
  const std::string words = "  ld.local.v4.u32 {%r0, %r1, %r2, %r3}, [depot];\n";
  for (const std::string& fields : {first, second}) {
    EXPECT_EQ(run(fields + vector + "  st.global.v2.u64 [%out], {%d0, %d1};"), "") << fields;
    EXPECT_EQ(run(fields + vector + "  st.shared.v2.u64 [%s], {%d0, %d1};"), "") << fields;
    EXPECT_EQ(run(fields + words + "  st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};"), "") << fields;
  }
  EXPECT_EQ(run(first + "  ld.local.u64 %d0, [depot];\n  st.global.u64 [%out], %d0;"), "");
}

// ... and stays unwritten where it was copied to.
TEST_F(NeverWritten, ACopyCarriesWhatIsUnwritten) {
  const std::string make = "  mov.u16 %h0, 1;\n  st.shared.u8 [%s], %h0;\n  st.shared.u64 [%s+8], %out;\n"
                           "  ld.shared.v2.u64 {%d0, %d1}, [%s];\n  add.u32 %r9, %s, 512;\n"
                           "  add.u64 %d7, %scratch, %mine;\n";
  const auto uses = [](const std::string& at) {
    return "  ld." + at + "u8 %h1, [X];\n  add.u16 %h1, %h1, 1;\n  ld." + at +
           "u64 %a, [X+8];\n  add.u64 %a, %a, 1;\n";
  };
  const auto check = [&](const std::string& space, const std::string& place, const std::string& where) {
    std::string body = make + "  st." + space + "v2.u64 [" + place + "], {%d0, %d1};\n" + uses(space) +
                       "  ld." + space + "u8 %h2, [X+7];\n  add.u16 %h2, %h2, 1;";
    for (size_t at; (at = body.find("[X")) != body.npos;)
      body.replace(at, 2, "[" + place);
    const std::string text = run(body);
    EXPECT_TRUE(text.starts_with("ld." + space + "u8 %h2, [" + place + "+7];: " + where)) << text;
    EXPECT_EQ(report.uninitialized.size(), 1u) << text;
    EXPECT_EQ(report.uninitialized_reads, 32u);
  };
  check("local.", "depot", "local memory at 0x7 x32");
  check("shared.", "%r9", "shared memory at 0x607 x32");
  check("global.", "%d7", "'scratch' at byte 7 x32");
}

// Of several lanes that store to one place one value stays (store_order.h), of 4 bytes the lowest lane's, and
// with it what is known of its bytes.
TEST_F(NeverWritten, TheLaneWhoseValueStaysSaysWhatIsWritten) {
  const auto all_to = [&](const std::string& space, const std::string& place,
                          const std::string& unwritten_in) {
    return run("  setp." + unwritten_in +
               ";\n  @%q st.shared.u32 [%s], 5;\n  ld.shared.u32 %r0, [%s];\n  st." + space + ".u32 [" +
               place + "], %r0;\n  ld." + space + ".u32 %r1, [" + place + "];\n  add.u32 %r1, %r1, 1;");
  };
  // Lanes 16 to 31 carry what was never written, lane 0 does not; and the other way round.
  EXPECT_EQ(all_to("shared", "copy", "lt.u32 %q, %t, 16"), "");
  EXPECT_EQ(all_to("global", "%scratch", "lt.u32 %q, %t, 16"), "");
  EXPECT_EQ(all_to("shared", "copy", "gt.u32 %q, %t, 15"),
            "ld.shared.u32 %r1, [copy];: shared memory at 0x800 x32\n");
  EXPECT_EQ(all_to("global", "%scratch", "gt.u32 %q, %t, 15"),
            "ld.global.u32 %r1, [%scratch];: 'scratch' at byte 0 x32\n");
  // Two places in turn: lanes 0 and 1 decide.
  EXPECT_EQ(
      run("  and.b32 %r2, %t, 1;\n  shl.b32 %r2, %r2, 2;\n  mov.u32 %r3, copy;\n  add.u32 %r2, %r2, %r3;\n"
          "  setp.eq.u32 %q, %t, 0;\n  @%q st.shared.u32 [%s], 5;\n  ld.shared.u32 %r0, [%s];\n"
          "  st.shared.u32 [%r2], %r0;\n  ld.shared.u32 %r1, [%r2];\n  add.u32 %r1, %r1, 1;"),
      "ld.shared.u32 %r1, [%r2];: shared memory at 0x804 x16\n");
  // Local memory is every lane's own.
  EXPECT_EQ(all_to("local", "depot", "gt.u32 %q, %t, 15"),
            "ld.local.u32 %r1, [depot];: local memory at 0x0 x16\n");
}

TEST_F(NeverWritten, WhatIsUsedIsReportedWhereItIsLoaded) {
  EXPECT_EQ(run(R"(
  st.shared.u32 [%s], %t;
  ld.shared.v2.u32 {%r0, %r1}, [%s];
  st.global.u32 [%out], %r0;
  add.u32 %r1, %r1, 1;)"),
            "ld.shared.v2.u32 {%r0, %r1}, [%s];: shared memory at 0x404 x32\n");
  // A register that is stored and used.
  EXPECT_EQ(run(R"(
  ld.shared.u32 %r0, [%s];
  st.global.u32 [%out], %r0;
  add.u32 %r1, %r0, 1;)"),
            "ld.shared.u32 %r0, [%s];: shared memory at 0x400 x32\n");
  EXPECT_EQ(run("  ld.shared.v2.u32 {%r0, _}, [%s];\n  add.u32 %r0, %r0, 1;"),
            "ld.shared.v2.u32 {%r0, _}, [%s];: shared memory at 0x400 x32\n");
  EXPECT_EQ(run("  st.shared.u32 [%s], 1;\n  ld.shared.v2.u32 {%r0, _}, [%s];\n  add.u32 %r0, %r0, 1;"), "");
}

// Nothing but unwritten bytes on the way to where the host looks is no padding.
TEST_F(NeverWritten, ACopyToTheHostIsReportedWhereItIsLoaded) {
  EXPECT_EQ(run("  ld.shared.u32 %r0, [%s];\n  st.global.u32 [%out], %r0;"),
            "ld.shared.u32 %r0, [%s];: shared memory at 0x400 x32\n");
  EXPECT_EQ(run("  ld.local.v2.u64 {%d0, %d1}, [depot];\n  st.global.v2.u64 [%out], {%d0, %d1};"),
            "ld.local.v2.u64 {%d0, %d1}, [depot];: local memory at 0x0 x32\n");
  // Through memory of the device first.
  EXPECT_EQ(run(R"(
  ld.global.u32 %r0, [%scratch];
  st.local.u32 [depot], %r0;
  ld.local.u32 %r1, [depot];
  st.global.u32 [%out], %r1;)"),
            "ld.local.u32 %r1, [depot];: local memory at 0x0 x32\n");
  // The same register holds something else by then.
  EXPECT_EQ(run("  ld.shared.u32 %r0, [%s];\n  mov.u32 %r0, 3;\n  st.global.u32 [%out], %r0;"), "");
  EXPECT_EQ(run("  ld.shared.u32 %r0, [%s];\n  @%p mov.u32 %r0, 3;\n  st.global.u32 [%out], %r0;"),
            "ld.shared.u32 %r0, [%s];: shared memory at 0x410 x31\n");
  EXPECT_EQ(run("  st.shared.u32 [%s], 1;\n  ld.shared.u32 %r0, [%s+4];\n  ld.shared.u32 %r0, [%s];\n"
                "  st.global.u32 [%out], %r0;"),
            "");
  // The low byte of it was written.
  EXPECT_EQ(run("  mov.u16 %h0, 1;\n  st.shared.u8 [%s], %h0;\n  ld.shared.u32 %r0, [%s];\n"
                "  st.shared.u8 [%s+512], %r0;\n  ld.shared.u8 %r1, [%s+512];\n  add.u32 %r1, %r1, 1;"),
            "");
  // The sign of a byte fills the register.
  EXPECT_EQ(run("  ld.shared.s8 %r0, [%s];\n  st.shared.u32 [%s+512], %r0;\n  ld.shared.u8 %r1, [%s+515];\n"
                "  add.u32 %r1, %r1, 1;"),
            "ld.shared.u8 %r1, [%s+515];: shared memory at 0x603 x32\n");
  EXPECT_EQ(run("  ld.shared.u8 %r0, [%s];\n  st.shared.u32 [%s+512], %r0;\n  ld.shared.u8 %r1, [%s+515];\n"
                "  add.u32 %r1, %r1, 1;"),
            "");
}

TEST_F(NeverWritten, AsynchronousCopiesCarryItToo) {
  const std::string copy = "  cp.async.ca.shared.global [%s], [%scratch], 16;\n  cp.async.wait_all;\n";
  const std::string fill = "  @%p st.global.v2.u32 [%scratch], {%t, %t};\n  bar.warp.sync -1;\n";
  EXPECT_EQ(run(fill + copy + "  ld.shared.u64 %a, [%s];\n  add.u64 %a, %a, 1;"), "");
  EXPECT_EQ(run(fill + copy + "  ld.shared.u32 %r0, [%s+12];\n  add.u32 %r0, %r0, 1;"),
            "ld.shared.u32 %r0, [%s+12];: shared memory at 0x40c x32\n");
}

// --- what such bytes hold

// Registers, local, shared, poisoned global memory and a block of malloc, as they are found.
const char* const kLook = R"(
  @%q mov.u32 %r1, 1;
  add.u32 %r1, %r1, 0;
  @%q setp.eq.u32 %fresh, %t, 0;
  selp.u32 %r2, 1, 0, %fresh;
  ld.local.u32 %r3, [depot+8];
  add.u32 %r3, %r3, 0;
  ld.shared.u32 %r4, [%s+4];
  add.u32 %r4, %r4, 0;
  mul.wide.u32 %a, %t, 16;
  add.u64 %a, %a, %scratch;
  ld.global.u32 %r5, [%a+8];
  add.u32 %r5, %r5, 0;
  { .param .b64 n; .param .b64 block; st.param.b64 [n], 32;
    call (block), malloc, (n); ld.param.b64 %d0, [block]; }
  ld.u32 %r6, [%d0+12];
  add.u32 %r6, %r6, 0;
  mov.u32 %r8, %ctaid.x;
  mul.wide.u32 %d1, %r8, 2048;
  add.u64 %out, %out, %d1;
  st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};
  st.global.v2.u32 [%out+16], {%r5, %r6};
END:
)";

class Poison : public NeverWritten {
protected:
  std::vector<uint32_t> look(uint64_t seed, unsigned workers, bool deterministic = false,
                             const std::string& first = "") {
    Kernel made(kernel("  .reg .pred %fresh;\n" + first + kLook,
                       ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"));
    made.config().grid = {64, 1, 1};
    made.config().seed = seed;
    made.config().workers = workers;
    made.config().deterministic = deterministic;
    const uint64_t buffer = made.buffer(std::vector<uint32_t>(16 * 32 * 64));
    const Report report = made.run({buffer, made.uninitialized_buffer(4096, "scratch")});
    EXPECT_EQ(fault_text(report), "");
    return made.read<uint32_t>(buffer, 16 * 32 * 64);
  }
};

TEST_F(Poison, DependsOnSeedAndPlaceAlone) {
  const std::vector<uint32_t> once = look(0, 1);
  EXPECT_EQ(look(0, 1, true), once);
  EXPECT_EQ(look(0, 4), once);
  const std::vector<uint32_t> seeded = look(7, 4);
  EXPECT_EQ(look(7, 1), seeded);
  for (int word = 0; word < 6; ++word) {
    std::set<uint32_t> places;
    int differ = 0;
    for (size_t i = 0; i < 64 * 32; ++i) {
      places.insert(once[16 * i + word]);
      differ += once[16 * i + word] != seeded[16 * i + word];
    }
    // Word 1 is a predicate; scratch memory is the same for all CTAs, and a block of malloc is as any other.
    const size_t least = word == 1 ? 2 : word == 4 ? 32 : word == 5 ? 1 : 64 * 32 - 8;
    EXPECT_GE(places.size(), least) << "word " << word;
    EXPECT_GE(differ, word == 1 ? 64 * 8 : 64 * 32 - 8) << "word " << word;
  }
}

// What ran before in the same place does not shine through.
TEST_F(Poison, NothingOfOtherCtasIsSeen) {
  const std::string leave = R"(
  mov.u32 %r9, %ctaid.x;
  and.b32 %r9, %r9, 1;
  setp.eq.u32 %p, %r9, 0;
  @%p bra LOOK;
  mov.u32 %r1, 0x55555555;
  st.local.u32 [depot+8], %r1;
  st.shared.u32 [%s+4], %r1;
  bra END;
LOOK:
)";
  const std::vector<uint32_t> alone = look(3, 1, true), after = look(3, 1, true, leave);
  for (size_t cta = 0; cta < 64; cta += 2)
    for (size_t i = 16 * 32 * cta; i < 16 * 32 * (cta + 1); ++i)
      ASSERT_EQ(after[i], alone[i]) << "CTA " << cta << ", word " << i % 16;
}

// However a range is filled, each byte is that of its place.
TEST_F(Poison, RangesAgreeWithBytes) {
  for (const uint64_t offset : {0, 1, 7, 8, 13})
    for (const uint64_t bytes : {0, 1, 5, 8, 63, 64, 65, 200, 1000}) {
      std::vector<std::byte> filled(bytes + 1);
      poison(filled.data(), 77, offset, bytes);
      for (uint64_t i = 0; i < bytes; ++i)
        ASSERT_EQ(filled[i], poison_byte(77, offset + i)) << offset << " " << bytes << " " << i;
      ASSERT_EQ(filled[bytes], std::byte{0});
    }
}

// A second launch with another seed on the same memory; what was written stays.
TEST_F(Poison, MemoryFollowsTheSeedOfTheLaunch) {
  Kernel made(
      kernel("  mul.wide.u32 %a, %t, 16;\n  add.u64 %a, %a, %scratch;\n  ld.global.v2.u32 {%r0, %r1}, "
             "[%a];\n  add.u32 %r0, %r0, 0;\n  add.u32 %r1, %r1, 0;\n  st.global.v2.u32 [%out], {%r0, "
             "%r1};\n  st.global.u32 [%a], %t;"));
  const uint64_t buffer = made.buffer(std::vector<uint32_t>(16 * 32));
  const uint64_t scratch = made.uninitialized_buffer(4096);
  std::vector<std::vector<uint32_t>> seen;
  for (const uint64_t seed : {0, 5, 0}) {
    made.config().seed = seed;
    EXPECT_EQ(fault_text(made.run({buffer, scratch})), "");
    seen.push_back(made.read<uint32_t>(buffer, 16 * 32));
  }
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(seen[1][16 * lane], lane);
    EXPECT_NE(seen[0][16 * lane], lane);
    EXPECT_NE(seen[0][16 * lane + 1], seen[1][16 * lane + 1]);
    EXPECT_EQ(seen[0][16 * lane + 1], seen[2][16 * lane + 1]);
  }
}

} // namespace
} // namespace lemma::vgpu
