// Compiled code and the interpreter do the same: results, counts, faults, who waits. That each instruction
// computes the same is arithmetic_fixture.h's; here is what stands around instructions: loops, parts of a
// warp, ways out.
#include "kernel.h"
#include "run_ptx.h"
#include "vgpu/compiled/code_pages.h"
#include "vgpu/compiled/compiled_code.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <fstream>
#include <thread>

namespace lemma::vgpu {
namespace {

#define SKIP_WITHOUT_COMPILER()                                                                              \
  if (std::string why; !can_compile(&why))                                                                   \
  GTEST_SKIP() << why

LaunchConfig with(Engine engine, uint32_t block = 64, uint32_t grid = 1) {
  LaunchConfig config;
  config.grid = {grid, 1, 1};
  config.block = {block, 1, 1};
  config.engine = engine;
  config.workers = 1;
  return config;
}

// What a launch can be told apart by.
std::string story(const KernelRun& run) {
  std::string text = fmt::format("{} warp instructions, {} of lanes; ", *run.report.stats.warp_instructions,
                                 *run.report.stats.lane_instructions);
  if (run.report.fault)
    text += fmt::format("{} [line {}, lane {}]; ", fault_text(run.report), run.report.fault->place.ptx_line,
                        run.report.fault->lane);
  for (const Waiting& waiting : run.report.waiting)
    text += fmt::format("warp {} waits at line {}; ", waiting.warp, waiting.place.ptx_line);
  text += uninitialized_text(run.report);
  return text;
}

// Runs it by both engines; gives what the compiled one did.
KernelRun run_by_both(std::string_view body, LaunchConfig config, const std::vector<uint32_t>& in = {},
                      std::string_view before = "") {
  config.engine = Engine::interpreter;
  const KernelRun by_hand = run_body(body, config, 1024, in, before);
  config.engine = Engine::compiled;
  KernelRun run = run_body(body, config, 1024, in, before);
  EXPECT_EQ(run.out, by_hand.out);
  EXPECT_EQ(story(run), story(by_hand));
  EXPECT_EQ(*by_hand.report.stats.compiled_instructions, 0u);
  if (config.max_instructions == 0 || config.max_instructions >= 1000) {
    EXPECT_GT(*run.report.stats.compiled_instructions, 0u);
  }
  return run;
}

constexpr std::string_view kStore = R"(
    mad.wide.u32 %rd9, %t, 4, %out;
    st.global.u32 [%rd9], %r1;
    ret;
)";
std::string with_store(std::string_view body) {
  return fmt::format("{}{}", body, kStore);
}

TEST(Compiled, ALoopOfAllLanes) {
  SKIP_WITHOUT_COMPILER();
  const KernelRun run = run_by_both(with_store(R"(
    mov.u32 %r1, 1;
    mov.u32 %r2, 0;
  LOOP:
    mad.lo.u32 %r1, %r1, 1664525, %t;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 1000;
    @%p1 bra LOOP;
  )"),
                                    with(Engine::compiled));
  uint32_t expected = 1;
  for (int i = 0; i < 1000; ++i)
    expected = expected * 1664525 + 7;
  EXPECT_EQ(run.out[7], expected);
  EXPECT_EQ(run.report.stats.compiled_instructions, run.report.stats.warp_instructions);
}

// Within a turn, and over many.
TEST(Compiled, LanesThatGoDifferentWays) {
  SKIP_WITHOUT_COMPILER();
  for (const auto& [block, rounds] : {std::pair(64u, 3u), {32u, 3u}, {20u, 3u}, {1u, 3u}, {64u, 700u}}) {
    run_by_both(with_store(fmt::format(R"(
      mov.u32 %r1, %t;
      mov.u32 %r2, 0;
    LOOP:
      and.b32 %r3, %r1, 1;
      setp.eq.u32 %p1, %r3, 0;
      @%p1 bra EVEN;
      mad.lo.u32 %r1, %r1, 3, 1;
      setp.gt.u32 %p3, %r1, 5000;
      @%p3 bra HIGH;
      bra ON;
    HIGH:
      xor.b32 %r1, %r1, 0x155;
      bra ON;
    EVEN:
      shr.u32 %r1, %r1, 1;
      @%p1 add.u32 %r1, %r1, %t;
    ON:
      add.u32 %r2, %r2, 1;
      and.b32 %r4, %t, 3;
      mad.lo.u32 %r4, %r4, {0}, 5;
      setp.lt.u32 %p2, %r2, %r4;
      @%p2 bra LOOP;
    )",
                                       rounds)),
                with(Engine::compiled, block));
  }
}

// A loop goes round so often that its state is looked at, while others wait for its end.
// What lanes keep that do not write is in a host register where a turn ends.
TEST(Compiled, ValuesThatSomeLanesKeep) {
  SKIP_WITHOUT_COMPILER();
  run_by_both(with_store(R"(
    setp.lt.u32 %p1, %t, 7;
    mov.u32 %r1, %t;
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
  LOOP:
    @%p1 mov.u32 %r1, %r2;
    mad.lo.u32 %r3, %r3, 5, %r1;
    xor.b32 %r1, %r3, %r2;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p2, %r2, 5000;
    @%p2 bra LOOP;
  )"),
              with(Engine::compiled));
}

TEST(Compiled, PartsThatWaitForALongLoop) {
  SKIP_WITHOUT_COMPILER();
  const KernelRun run = run_by_both(with_store(R"(
    mov.u32 %r1, 0;
    mov.u32 %r3, 0;
  OUTER:
    mov.u32 %r2, 0;
    mad.lo.u32 %r4, %t, 7, 90;
  LOOP:
    add.u32 %r1, %r1, 1;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p2, %r2, %r4;
    @%p2 bra LOOP;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p3, %r3, 4;
    @%p3 bra OUTER;
    bar.sync 0;
  )"),
                                    with(Engine::compiled));
  EXPECT_TRUE(run.report.ok()) << fault_text(run.report);
  for (uint32_t t = 0; t < 64; ++t)
    EXPECT_EQ(run.out[t], 4 * (7 * t + 90));
}

TEST(Compiled, PartsMeetAtBarriersAndWarpInstructions) {
  SKIP_WITHOUT_COMPILER();
  run_by_both(with_store(R"(
    .shared .b32 tile[64];
    mov.u32 %r5, tile;
    mad.lo.u32 %r5, %t, 4, %r5;
    mov.u32 %r1, %t;
    mov.u32 %r2, 0;
  LOOP:
    and.b32 %r3, %r1, 3;
    setp.eq.u32 %p1, %r3, 0;
    @%p1 bra SKIP;
    add.u32 %r1, %r1, 5;
    vote.sync.ballot.b32 %r6, %p1, 0xffffffff;
    bra ON;
  SKIP:
    add.u32 %r1, %r1, 1;
    vote.sync.ballot.b32 %r6, %p1, 0xffffffff;
  ON:
    shfl.sync.bfly.b32 %r7, %r1, 1, 31, 0xffffffff;
    xor.b32 %r1, %r1, %r7;
    st.shared.u32 [%r5], %r1;
    bar.sync 0;
    ld.shared.u32 %r8, [%r5];
    add.u32 %r1, %r8, %r6;
    bar.sync 0;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p2, %r2, 30;
    @%p2 bra LOOP;
  )"),
              with(Engine::compiled));
}

TEST(Compiled, AFaultIsWhereItIs) {
  SKIP_WITHOUT_COMPILER();
  for (const char* const body : {R"(
      mov.u32 %r2, 0;
      mov.u64 %rd1, %in;
    LOOP:
      ld.global.u32 %r1, [%rd1];
      add.u64 %rd1, %rd1, 128;
      add.u32 %r2, %r2, 1;
      bra LOOP;
    )",
                                 R"(
      mov.u32 %r2, 0;
      mad.wide.u32 %rd1, %t, 4, %out;
    LOOP:
      st.global.u32 [%rd1], %r2;
      mad.wide.u32 %rd1, %t, 12, %rd1;
      add.u32 %r2, %r2, 1;
      bra LOOP;
    )",
                                 R"(
      mov.u32 %r2, 1;
      setp.eq.u32 %p1, %t, 17;
      @%p1 add.u64 %in, %in, 2;
      ld.global.u32 %r1, [%in];
    )",
                                 R"(
      .shared .b32 tile[64];
      mov.u32 %r5, tile;
      and.b32 %r6, %t, 31;
      mad.lo.u32 %r5, %r6, 4, %r5;
    LOOP:
      st.shared.u32 [%r5], %t;
      add.u32 %r5, %r5, 128;
      bra LOOP;
    )"}) {
    const KernelRun run =
        run_by_both(with_store(body), with(Engine::compiled), std::vector<uint32_t>(512, 3));
    EXPECT_TRUE(run.report.fault.has_value());
  }
}

// Where an allocation lies is known from the loads before; it goes meanwhile.
// All of it is written first: where a page is not, compiled code asks the interpreter's handler.
TEST(Compiled, MemoryThatHasGone) {
  SKIP_WITHOUT_COMPILER();
  const KernelRun run = run_by_both(with_store(R"(
    .param .b64 bytes; .param .b64 memory;
    st.param.b64 [bytes], 4096;
    call (memory), malloc, (bytes);
    ld.param.b64 %rd1, [memory];
    mov.u32 %r2, 0;
  FILL:
    mad.wide.u32 %rd2, %r2, 4, %rd1;
    st.global.u32 [%rd2], %r2;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 1024;
    @%p1 bra FILL;
    mov.u32 %r2, 0;
  LOOP:
    st.global.u32 [%rd1], %r2;
    ld.global.u32 %r1, [%rd1];
    setp.ne.u32 %p1, %r2, 20;
    @%p1 bra ON;
    st.param.b64 [memory], %rd1;
    call free, (memory);
  ON:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p2, %r2, 40;
    @%p2 bra LOOP;
  )"),
                                    with(Engine::compiled, 1), {}, R"(
    .extern .func (.param .b64 memory) malloc (.param .b64 bytes);
    .extern .func free (.param .b64 memory);
  )");
  ASSERT_TRUE(run.report.fault);
  EXPECT_NE(fault_text(run.report), "");
}

TEST(Compiled, InstructionsEndWhereTheyMay) {
  SKIP_WITHOUT_COMPILER();
  LaunchConfig config = with(Engine::compiled);
  for (const uint64_t most : {1u, 7u, 100u, 1000u, 5555u}) {
    config.max_instructions = most;
    run_by_both(with_store(R"(
      mov.u32 %r1, 1;
    LOOP:
      mad.lo.u32 %r1, %r1, 1664525, %t;
      xor.b32 %r1, %r1, 77;
      bra LOOP;
    )"),
                config);
  }
}

TEST(Compiled, ALoopThatOnlyPollsIsADeadlock) {
  SKIP_WITHOUT_COMPILER();
  const KernelRun run = run_by_both(with_store(R"(
  LOOP:
    ld.volatile.global.u32 %r1, [%in];
    setp.eq.u32 %p1, %r1, 3;
    @%p1 bra LOOP;
  )"),
                                    with(Engine::compiled), std::vector<uint32_t>(64, 3));
  EXPECT_EQ(run.report.fault->kind, FaultKind::deadlock);
}

// To the lanes that they wait for.
TEST(Compiled, SpinsGiveWay) {
  SKIP_WITHOUT_COMPILER();
  const KernelRun run = run_by_both(with_store(R"(
    mov.u32 %r1, 0;
    setp.eq.u32 %p1, %t, 3;
    @%p1 bra LAST;
  LOOP:
    ld.volatile.global.u32 %r2, [%in];
    add.u32 %r1, %r1, 1;
    setp.ne.u32 %p2, %r2, 9;
    @%p2 bra LOOP;
    mov.u32 %r1, 5;
    bra ON;
  LAST:
    mov.u32 %r3, 9;
    st.volatile.global.u32 [%in], %r3;
  ON:
  )"),
                                    with(Engine::compiled, 32), std::vector<uint32_t>(64, 3));
  EXPECT_TRUE(run.report.ok());
  EXPECT_EQ(run.out[0], 5u);
  EXPECT_EQ(run.out[3], 0u);
}

TEST(Compiled, RegistersThatWereNeverWritten) {
  SKIP_WITHOUT_COMPILER();
  const KernelRun run = run_by_both(with_store(R"(
    setp.lt.u32 %p1, %t, 5;
    mov.u32 %r2, 0;
    @%p1 mov.u32 %r1, 9;
  LOOP:
    add.u32 %r1, %r1, 1;
    add.u32 %r3, %r4, 1;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p2, %r2, 100;
    @%p2 bra LOOP;
  )"),
                                    with(Engine::compiled));
  EXPECT_NE(uninitialized_text(run.report), "");
}

TEST(Compiled, Calls) {
  SKIP_WITHOUT_COMPILER();
  run_by_both(with_store(R"(
    .param .b32 a; .param .b32 b;
    mov.u32 %r1, %t;
    mov.u32 %r2, 0;
  LOOP:
    st.param.b32 [a], %r1;
    call (b), twice, (a);
    ld.param.b32 %r1, [b];
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p2, %r2, 50;
    @%p2 bra LOOP;
  )"),
              with(Engine::compiled), {}, R"(
    .func (.param .b32 result) twice(.param .b32 x) {
      .reg .b32 %a; .reg .pred %p;
      ld.param.b32 %a, [x];
      and.b32 %a, %a, 0xffff;
      setp.gt.u32 %p, %a, 1000;
      @%p bra BIG;
      mul.lo.u32 %a, %a, 2;
      st.param.b32 [result], %a;
      ret;
    BIG:
      sub.u32 %a, %a, 999;
      st.param.b32 [result], %a;
      ret;
    })");
}

// Every width in every register, by all lanes and by some, side by side, at one place, half a warp a row,
// anyhow.
TEST(Compiled, LoadsAndStoresOfEveryForm) {
  SKIP_WITHOUT_COMPILER();
  std::vector<uint32_t> in(1024);
  for (uint32_t i = 0; i < in.size(); ++i)
    in[i] = i * 0x9e3779b9 ^ i << 13;
  struct Form {
    const char *type, *reg;
    int bytes;
  };
  for (const Form& form :
       {Form{"u8", "%h", 1}, Form{"s8", "%h", 1}, Form{"u8", "%r", 1}, Form{"s8", "%r", 1},
        Form{"u16", "%h", 2}, Form{"s16", "%r", 2}, Form{"u16", "%r", 2}, Form{"u32", "%r", 4},
        Form{"u32", "%rd", 4}, Form{"s32", "%rd", 4}, Form{"u64", "%rd", 8}}) {
    const std::string_view reg = form.reg;
    const char* const whole = reg == "%h" ? "u16" : reg == "%r" ? "u32" : "u64";
    for (const char* const place : {"mov.u32 %r1, %t;", "mov.u32 %r1, 3;", "mad.lo.u32 %r1, %r4, 24, %r5;",
                                    "mul.lo.u32 %r1, %t, 7; and.b32 %r1, %r1, 63;"})
      for (const char* const lanes : {"", "@%p1 "}) {
        SCOPED_TRACE(fmt::format("{} in {}, {} {}", form.type, form.reg, place, lanes));
        run_by_both(fmt::format(R"(
    .reg .b16 %h<10>;
    .shared .align 8 .b8 tile[512];
    shr.u32 %r4, %t, 4;
    and.b32 %r5, %t, 15;
    and.b32 %r6, %t, 11;
    setp.ne.u32 %p1, %r6, 2;
    cvt.u64.u32 %rd6, %t;
    mul.wide.u32 %rd1, %t, 16;
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %t, 16, %r2;
    st.shared.v2.u64 [%r3], {{%rd6, %rd1}};
    bar.warp.sync -1;
    mov.u32 {1}7, 0;
    {3}
    mad.lo.u32 %r3, %r1, {2}, %r2;
    mad.wide.u32 %rd2, %r1, {2}, %in;
    {4}ld.global.{0} {1}7, [%rd2];
    {4}st.shared.{0} [%r3], {1}7;
    bar.warp.sync -1;
    {4}ld.shared.{0} {1}8, [%r3];
    {4}st.global.{0} [%rd2], {1}8;
    mul.wide.u32 %rd3, %t, 8;
    add.u64 %rd3, %rd3, %out;
    add.{5} {1}9, {1}7, {1}8;
    st.global.{5} [%rd3], {1}9;
    ret;
  )",
                                form.type, form.reg, form.bytes, place, lanes, whole),
                    with(Engine::compiled, 32), in);
      }
  }
}

TEST(Compiled, MoreValuesThanTheHostHasRegisters) {
  SKIP_WITHOUT_COMPILER();
  std::string body = "mov.u32 %r2, 0;\n";
  for (int i = 10; i < 90; ++i)
    body += fmt::format("mad.lo.u32 %r{0}, %t, {0}, {0};\ncvt.u64.u32 %rd{0}, %r{0};\n", i);
  body += "LOOP:\n";
  for (int i = 10; i < 90; ++i)
    body += fmt::format("add.u32 %r{0}, %r{0}, %r{1};\nadd.u64 %rd{0}, %rd{0}, %rd{1};\n", i,
                        i == 89 ? 10 : i + 1);
  body += "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 20;\n@%p2 bra LOOP;\nmov.u32 %r1, 0;\n";
  for (int i = 10; i < 90; ++i)
    body += fmt::format("cvt.u32.u64 %r3, %rd{0};\nxor.b32 %r1, %r1, %r{0};\nadd.u32 %r1, %r1, %r3;\n", i);
  run_by_both(with_store(body), with(Engine::compiled));
}

TEST(Compiled, TheHostsRoundingIsAsBefore) {
  SKIP_WITHOUT_COMPILER();
  ASSERT_EQ(std::fegetround(), FE_TONEAREST);
  run_by_both(with_store(R"(
    cvt.rn.f32.u32 %f1, %t;
    mov.u32 %r2, 0;
  LOOP:
    add.rp.ftz.f32 %f1, %f1, 0f33800000;
    @%p0 add.rz.f32 %f1, %f1, 0f33800000;
    mul.rm.f32 %f1, %f1, 0f3F800001;
    add.rn.f32 %f1, %f1, 0f33800001;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p0, %r2, 100;
    @%p0 bra LOOP;
    mov.b32 %r1, %f1;
  )"),
              with(Engine::compiled));
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  EXPECT_EQ(__builtin_ia32_stmxcsr() & 0x8040u, 0u); // nothing is flushed
}

TEST(Compiled, ManyThreadsAndLaunches) {
  SKIP_WITHOUT_COMPILER();
  LaunchConfig config = with(Engine::compiled, 128, 16);
  config.workers = 4;
  for (int i = 0; i < 5; ++i) {
    const KernelRun run = run_body(with_store(R"(
      mov.u32 %r1, 1;
      mov.u32 %r2, 0;
    LOOP:
      mad.lo.u32 %r1, %r1, 3, %t;
      add.u32 %r2, %r2, 1;
      setp.lt.u32 %p1, %r2, 3000;
      @%p1 bra LOOP;
    )"),
                                   config);
    uint32_t expected = 1;
    for (int round = 0; round < 3000; ++round)
      expected = expected * 3 + 11;
    EXPECT_EQ(run.out[11], expected);
    // While one thread compiles, the others wait.
    EXPECT_EQ(*run.report.stats.compiled_instructions, *run.report.stats.warp_instructions);
  }
}

TEST(Compiled, SaysOnceWhyNothingIs) {
  std::string why;
  const bool can = can_compile(&why);
  EXPECT_EQ(can, why.empty());
  EXPECT_FALSE(warn_of_no_compiler(Engine::automatic));
  if (const auto warning = warn_of_no_compiler(Engine::compiled)) {
    EXPECT_FALSE(can);
    EXPECT_NE(warning->find(why), std::string::npos);
  }
  EXPECT_FALSE(warn_of_no_compiler(Engine::compiled));
}

TEST(CodePages, AreNeverWritableAndExecutable) {
  const auto pages = CodePages::allocate(100);
  ASSERT_TRUE(pages);
  const auto permissions = [&] {
    std::ifstream maps("/proc/self/maps");
    const auto at = reinterpret_cast<uintptr_t>(pages->data());
    for (std::string line; std::getline(maps, line);) {
      const uintptr_t begin = std::stoull(line, nullptr, 16);
      const uintptr_t end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
      if (begin <= at && at < end)
        return line.substr(line.find(' ') + 1, 3);
    }
    return std::string();
  };
  EXPECT_EQ(permissions(), "rw-");
  pages->data()[0] = std::byte{0xc3}; // ret
  ASSERT_TRUE(pages->make_executable());
  EXPECT_EQ(permissions(), "r-x");
  reinterpret_cast<void (*)()>(pages->data())();
}

} // namespace
} // namespace lemma::vgpu
