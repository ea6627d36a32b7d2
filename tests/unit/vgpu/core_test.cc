// Divergence, collectives, calls, barriers, polling, deadlock: how warps, CTAs and grids run. Results are
// compared with what the program text says; where instructions are counted, the count shows that lanes ran
// together.
#include "kernel.h"
#include "run_ptx.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lemma::vgpu {
namespace {

LaunchConfig shape(uint32_t grid, uint32_t block) {
  LaunchConfig config;
  config.grid = {grid, 1, 1};
  config.block = {block, 1, 1};
  return config;
}

constexpr std::string_view kStoreR0 = R"(
  mad.wide.u32 %rd99, %t, 4, %out;
  st.global.u32 [%rd99], %r0;
  ret;
)";

std::string with_store(std::string_view body) {
  return std::string(body) + std::string(kStoreR0);
}

TEST(Divergence, both_sides_of_an_if_run_and_join) {
  const KernelRun run = run_body(with_store(R"(
    setp.lt.u32 %p0, %t, 10;
    @%p0 bra LOW;
    mov.b32 %r0, 200;
    bra JOIN;
  LOW:
    mov.b32 %r0, 100;
  JOIN:
    add.u32 %r0, %r0, %t;
    add.u32 %r0, %r0, 0;
    add.u32 %r0, %r0, 0;
  )"),
                                 shape(1, 32));
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(run.out[i], (i < 10 ? 100 : 200) + i);
  // 3 before, setp, bra; 2 and 1 in the arms; then 6 once, not twice.
  EXPECT_EQ(run.report.stats.warp_instructions, 5u + 3u + 6u);
}

TEST(Divergence, lanes_of_a_loop_wait_for_the_longest) {
  const KernelRun run = run_body(with_store(R"(
    mov.b32 %r0, 0;
    mov.b32 %r1, 0;
  LOOP:
    add.u32 %r0, %r0, %r1;
    add.u32 %r1, %r1, 1;
    setp.le.u32 %p0, %r1, %t;
    @%p0 bra LOOP;
    add.u32 %r0, %r0, 0;
  )"),
                                 shape(1, 32));
  ASSERT_TRUE(run.report.ok());
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(run.out[i], i * (i + 1) / 2);
  EXPECT_EQ(run.report.stats.warp_instructions, 3u + 2u + 32u * 4 + 4u);
}

TEST(Divergence, a_lane_that_spins_does_not_starve_the_lane_it_waits_for) {
  // Lane 0 spins at a lower address than the code of lane 31 that sets the flag.
  const KernelRun run = run_body(with_store(R"(
    .shared .align 4 .b32 flag;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra OTHERS;
    st.volatile.shared.u32 [flag], 0;
  SPIN:
    ld.volatile.shared.u32 %r1, [flag];
    setp.eq.u32 %p0, %r1, 0;
    @%p0 bra SPIN;
    mov.b32 %r0, %r1;
    bra JOIN;
  OTHERS:
    mov.b32 %r0, 5;
    setp.eq.u32 %p2, %t, 31;
    @%p2 st.volatile.shared.u32 [flag], 77;
  JOIN:
  )"),
                                 shape(1, 32));
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  EXPECT_EQ(run.out[0], 77u);
  EXPECT_EQ(run.out[1], 5u);
}

TEST(Divergence, lanes_of_one_warp_may_take_a_spin_lock_one_after_the_other) {
  const KernelRun run = run_body(R"(
  TRY:
    atom.global.cas.b32 %r1, [%out], 0, 1;
    setp.ne.u32 %p0, %r1, 0;
    @%p0 bra TRY;
    ld.volatile.global.u32 %r2, [%out+4];
    add.u32 %r2, %r2, 1;
    st.volatile.global.u32 [%out+4], %r2;
    atom.global.exch.b32 %r3, [%out], 0;
    ret;
  )",
                                 shape(4, 64));
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  EXPECT_EQ(run.out[1], 256u);
}

TEST(Divergence, a_collective_waits_for_the_lanes_it_names) {
  const KernelRun run = run_body(with_store(R"(
    setp.lt.u32 %p0, %t, 16;
    mov.b32 %r0, 0;
    @%p0 bra LOW;
    mov.b32 %r2, 1;
    bra SYNC;
  LOW:
    mov.b32 %r2, 2;
  SYNC:
    shfl.sync.bfly.b32 %r0, %r2, 16, 31, 0xffffffff;
  )"),
                                 shape(1, 32));
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(run.out[i], i < 16 ? 1u : 2u);
}

TEST(Divergence, a_collective_whose_lanes_never_come_is_a_deadlock) {
  const KernelRun run = run_body(R"(
    setp.eq.u32 %p0, %t, 3;
    @%p0 bra WAIT;
    vote.sync.all.pred %p1, %p0, 0xffffffff;
    ret;
  WAIT:
    bar.warp.sync 0xffffffff;
    ret;
  )",
                                 shape(1, 32));
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::deadlock);
  ASSERT_EQ(run.report.waiting.size(), 2u);
}

TEST(Divergence, brx_idx_goes_where_each_lane_says) {
  const KernelRun run = run_body(with_store(R"(
    and.b32 %r1, %t, 3;
    T: .branchtargets A, B, C, B;
    brx.idx %r1, T;
  A:
    mov.b32 %r0, 10;
    bra J;
  B:
    mov.b32 %r0, 20;
    bra J;
  C:
    mov.b32 %r0, 30;
  J:
  )"),
                                 shape(1, 32));
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  const uint32_t expected[] = {10, 20, 30, 20};
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(run.out[i], expected[i % 4]);
}

TEST(Divergence, brx_idx_beyond_its_table_faults) {
  const KernelRun run = run_body(R"(
    T: .branchtargets A, A;
    brx.idx %t, T;
  A:
    ret;
  )",
                                 shape(1, 3));
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::bad_call);
  EXPECT_EQ(fault_in(run.report).lane, 2);
}

TEST(Barrier, all_threads_meet) {
  const KernelRun run = run_body(with_store(R"(
    .shared .align 4 .b32 cells[256];
    mov.u32 %r1, cells;
    mad.lo.u32 %r2, %t, 4, %r1;
    st.shared.u32 [%r2], %t;
    bar.sync 0;
    xor.b32 %r3, %t, 255;
    mad.lo.u32 %r4, %r3, 4, %r1;
    ld.shared.u32 %r0, [%r4];
  )"),
                                 shape(3, 256));
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  for (uint32_t i = 0; i < 256; ++i)
    EXPECT_EQ(run.out[i], 255 - i);
  EXPECT_EQ(run.report.uninitialized_reads, 0u);
}

TEST(Barrier, warps_that_have_exited_do_not_count) {
  const KernelRun run = run_body(with_store(R"(
    setp.ge.u32 %p0, %t, 64;
    @%p0 exit;
    bar.sync 0;
    mov.b32 %r0, 1;
  )"),
                                 shape(1, 128));
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  EXPECT_EQ(std::accumulate(run.out.begin(), run.out.end(), 0u), 64u);
}

// Of 72 threads: a warp that comes whole, one whose odd lanes come by another way, and one of eight lanes, of
// which one has gone.
TEST(Barrier, whole_warps_and_parts_meet_again_and_again) {
  const KernelRun run = run_body(R"(
    .shared .align 4 .b32 words[72];
    setp.eq.u32 %p0, %t, 70;
    @%p0 exit;
    mov.u32 %r1, words;
    mad.lo.u32 %r1, %t, 4, %r1;
    xor.b32 %r2, %t, 1;
    mov.u32 %r3, words;
    mad.lo.u32 %r3, %r2, 4, %r3;
    and.b32 %r4, %t, 33;
    setp.eq.u32 %p1, %r4, 33;
    setp.eq.u32 %p2, %t, 71;
    mov.u32 %r5, 0;
    mov.u32 %r6, 0;
  ROUND:
    mad.lo.u32 %r7, %t, 3, %r5;
    st.shared.u32 [%r1], %r7;
    @%p1 bra ODD;
    barrier.sync 0;
    bra READ;
  ODD:
    barrier.sync 0;
  READ:
    mov.u32 %r8, 0;
    @!%p2 ld.shared.u32 %r8, [%r3];
    add.u32 %r6, %r6, %r8;
    barrier.sync 0;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p3, %r5, 200;
    @%p3 bra ROUND;
    mad.wide.u32 %rd1, %t, 4, %out;
    st.global.u32 [%rd1], %r6;
    ret;
  )",
                                 shape(1, 72));
  ASSERT_EQ(fault_text(run.report), "");
  EXPECT_EQ(uninitialized_text(run.report), "");
  for (uint32_t t = 0; t < 72; ++t)
    EXPECT_EQ(run.out[t], t >= 70 ? 0 : 200 * 3 * (t ^ 1) + 199 * 100) << t;
}

TEST(Barrier, producers_arrive_and_consumers_sync) {
  const KernelRun run = run_body(with_store(R"(
    .shared .align 4 .b32 cell;
    setp.ge.u32 %p0, %t, 32;
    @%p0 bra CONSUMER;
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.shared.u32 [cell], 42;
    bar.arrive 3, 64;
    mov.b32 %r0, 7;
    bra J;
  CONSUMER:
    bar.sync 3, 64;
    ld.shared.u32 %r0, [cell];
  J:
  )"),
                                 shape(1, 64));
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  EXPECT_EQ(run.out[5], 7u);
  EXPECT_EQ(run.out[40], 42u);
}

TEST(Barrier, reductions_count_and_combine_all_threads) {
  const KernelRun run = run_body(with_store(R"(
    setp.lt.u32 %p0, %t, 70;
    bar.red.popc.u32 %r0, 1, %p0;
    bar.red.and.pred %p1, 1, %p0;
    bar.red.or.pred %p2, 1, %p0;
    selp.u32 %r1, 1000, 0, %p1;
    selp.u32 %r2, 10000, 0, %p2;
    add.u32 %r0, %r0, %r1;
    add.u32 %r0, %r0, %r2;
  )"),
                                 shape(1, 96));
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  for (uint32_t i = 0; i < 96; ++i)
    EXPECT_EQ(run.out[i], 10070u);
}

TEST(Barrier, a_barrier_that_not_all_reach_is_a_deadlock_that_says_who_waits) {
  const KernelRun run = run_body(R"(
    setp.ge.u32 %p0, %t, 96;
    @%p0 bra SKIP;
    bar.sync 0;
    ret;
  SKIP:
    bar.sync 1;
    ret;
  )",
                                 shape(1, 128));
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::deadlock);
  ASSERT_EQ(run.report.waiting.size(), 4u);
  EXPECT_EQ(run.report.waiting[0].reason, "barrier 0: 96 of 128 threads have arrived");
  EXPECT_EQ(run.report.waiting[3].reason, "barrier 1: 32 of 128 threads have arrived");
  EXPECT_NE(run.report.waiting[0].place.ptx_line, 0u);
}

// Every CTA adds one and waits until all have.
constexpr std::string_view kGridBarrier = R"(
    mov.u32 %r1, %nctaid.x;
    setp.ne.u32 %p0, %t, 0;
    @%p0 bra DONE;
    atom.global.add.u32 %r2, [%out], 1;
  SPIN:
    ld.volatile.global.u32 %r3, [%out];
    setp.lt.u32 %p1, %r3, %r1;
    @%p1 bra SPIN;
    red.global.add.u32 [%out+4], %r3;
  DONE:
    bar.sync 0;
    ret;
)";

TEST(Grid, a_barrier_across_all_resident_ctas_works) {
  const KernelRun run = run_body(kGridBarrier, shape(264, 64));
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  EXPECT_EQ(run.out[1], 264u * 264u);
}

TEST(Grid, a_barrier_across_more_ctas_than_the_gpu_holds_is_a_deadlock) {
  const KernelRun run = run_body(kGridBarrier, shape(132 * 2 + 1, 1024));
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::deadlock);
  ASSERT_FALSE(fault_in(run.report).notes.empty());
  EXPECT_NE(fault_in(run.report).notes[0].find("1 of 265 CTAs have not started"), std::string::npos)
      << fault_in(run.report).notes[0];
}

TEST(Grid, polling_what_nobody_writes_is_a_deadlock) {
  const KernelRun run = run_body(R"(
  SPIN:
    atom.global.or.b32 %r1, [%out], 0;
    nanosleep.u32 20;
    setp.eq.u32 %p0, %r1, 0;
    @%p0 bra SPIN;
    ret;
  )",
                                 shape(2, 32));
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::deadlock);
  ASSERT_EQ(run.report.waiting.size(), 2u);
  EXPECT_EQ(run.report.waiting[0].reason, "its loop only polls memory that nobody changes");
}

TEST(Grid, a_loop_with_a_timeout_is_no_deadlock) {
  const KernelRun run = run_body(R"(
    mov.u64 %rd1, %globaltimer;
    add.u64 %rd2, %rd1, 100000;
  SPIN:
    ld.volatile.global.u32 %r1, [%out];
    mov.u64 %rd3, %globaltimer;
    setp.lt.u64 %p0, %rd3, %rd2;
    @%p0 bra SPIN;
    st.global.u32 [%out+4], 9;
    ret;
  )",
                                 shape(1, 32));
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  EXPECT_EQ(run.out[1], 9u);
}

TEST(Grid, deterministic_launches_repeat_and_seeds_move_the_order) {
  constexpr std::string_view ticket = R"(
    atom.global.add.u32 %r1, [%out], 1;
    mov.u32 %r2, %ctaid.x;
    mad.wide.u32 %rd1, %r1, 4, %out;
    st.global.u32 [%rd1+4], %r2;
    ret;
  )";
  LaunchConfig config = shape(50, 1);
  config.deterministic = true;
  const KernelRun a = run_body(ticket, config), b = run_body(ticket, config);
  EXPECT_EQ(a.out, b.out);
  config.seed = 12345;
  const KernelRun c = run_body(ticket, config), d = run_body(ticket, config);
  EXPECT_EQ(c.out, d.out);
  EXPECT_NE(a.out, c.out);
}

TEST(Limits, a_warp_that_never_ends_is_stopped_with_its_line) {
  LaunchConfig config = shape(1, 32);
  config.max_instructions = 100000;
  const KernelRun run = run_body(R"(
    mov.b32 %r1, 0;
  LOOP:
    add.u32 %r1, %r1, 1;
    bra LOOP;
  )",
                                 config);
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::too_many_instructions);
  EXPECT_NE(fault_in(run.report).place.ptx_line, 0u);
}

TEST(Calls, recursion_has_registers_of_its_own) {
  constexpr std::string_view fib = R"(
.func (.param .b32 r) fib(.param .b32 n) {
  .reg .pred %p;
  .reg .b32 %a, %b, %c;
  ld.param.u32 %a, [n];
  setp.lt.u32 %p, %a, 2;
  @%p bra BASE;
  {
    .param .b32 x;
    .param .b32 y;
    sub.u32 %b, %a, 1;
    st.param.b32 [x], %b;
    call.uni (y), fib, (x);
    ld.param.b32 %c, [y];
  }
  {
    .param .b32 x;
    .param .b32 y;
    sub.u32 %b, %a, 2;
    st.param.b32 [x], %b;
    call.uni (y), fib, (x);
    ld.param.b32 %b, [y];
  }
  add.u32 %a, %b, %c;
BASE:
  st.param.b32 [r], %a;
  ret;
}
)";
  const KernelRun run = run_body(with_store(R"(
    and.b32 %r1, %t, 15;
    {
      .param .b32 x;
      .param .b32 y;
      st.param.b32 [x], %r1;
      call (y), fib, (x);
      ld.param.b32 %r0, [y];
    }
  )"),
                                 shape(1, 32), 64, {}, fib);
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  uint32_t f[16] = {0, 1};
  for (int i = 2; i < 16; ++i)
    f[i] = f[i - 1] + f[i - 2];
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(run.out[i], f[i % 16]);
}

TEST(Calls, recursion_is_bounded_by_the_bytes_of_its_frames_alone) {
  constexpr std::string_view sum = R"(
.func (.param .b32 r) sum(.param .b32 n) {
  .reg .pred %p;
  .reg .b32 %a, %b;
  ld.param.u32 %a, [n];
  setp.eq.u32 %p, %a, 0;
  @%p bra BASE;
  {
    .param .b32 x;
    .param .b32 y;
    sub.u32 %b, %a, 1;
    st.param.b32 [x], %b;
    call.uni (y), sum, (x);
    ld.param.b32 %b, [y];
  }
  add.u32 %a, %a, %b;
BASE:
  st.param.b32 [r], %a;
  ret;
}
)";
  const KernelRun run = run_body(with_store(R"(
    mov.u32 %r1, 4000;
    {
      .param .b32 x;
      .param .b32 y;
      st.param.b32 [x], %r1;
      call (y), sum, (x);
      ld.param.b32 %r0, [y];
    }
  )"),
                                 shape(1, 32), 32, {}, sum);
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  EXPECT_EQ(run.out[0], 4000u * 4001 / 2);
}

TEST(Calls, recursion_without_end_is_a_fault) {
  const KernelRun run = run_body("call f;\n ret;", shape(1, 32), 16, {}, R"(
.func f() {
  call f;
  ret;
}
)");
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::call_too_deep);
}

TEST(Calls, lanes_may_call_different_functions_through_a_pointer) {
  constexpr std::string_view functions = R"(
.func (.param .b32 r) one(.param .b32 n) { .reg .b32 %a; ld.param.u32 %a, [n]; add.u32 %a, %a, 1; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) two(.param .b32 n) { .reg .b32 %a; ld.param.u32 %a, [n]; add.u32 %a, %a, 2; st.param.b32 [r], %a; ret; }
.global .u64 table[2] = {one, two};
)";
  const KernelRun run = run_body(with_store(R"(
    and.b32 %r1, %t, 1;
    mul.wide.u32 %rd1, %r1, 8;
    mov.u64 %rd2, table;
    add.u64 %rd3, %rd2, %rd1;
    ld.global.u64 %rd4, [%rd3];
    {
      .param .b32 x;
      .param .b32 y;
      st.param.b32 [x], %t;
      P: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (y), %rd4, (x), P;
      ld.param.b32 %r0, [y];
    }
  )"),
                                 shape(1, 32), 64, {}, functions);
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(run.out[i], i + 1 + i % 2);
}

TEST(Calls, a_pointer_to_nothing_is_a_fault) {
  const KernelRun run = run_body(R"(
    mov.u64 %rd1, 4096;
    P: .callprototype _ ();
    call %rd1, P;
    ret;
  )",
                                 shape(1, 32));
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::bad_call);
}

TEST(Faults, trap_and_brkpt_say_where) {
  const KernelRun trap = run_body("setp.eq.u32 %p0, %t, 5;\n@%p0 trap;\nret;", shape(1, 32));
  EXPECT_EQ(fault_in(trap.report).kind, FaultKind::trap);
  EXPECT_EQ(fault_in(trap.report).lane, 5);
  EXPECT_EQ(fault_in(trap.report).place.instruction, "@%p0 trap;");
  const KernelRun breakpoint = run_body("brkpt;\nret;", shape(1, 32));
  EXPECT_EQ(fault_in(breakpoint.report).kind, FaultKind::breakpoint);
}

TEST(Faults, inlined_code_names_its_calls) {
  Kernel kernel(R"(
.visible .entry k() {
  .reg .b32 %r;
  .loc 1 20 0
  mov.u32 %r, 1;
  .loc 2 7 0, function_name $L__info_string0, inlined_at 1 20 0
  mov.u32 %r, 2;
  .loc 2 3 0, function_name $L__info_string1+1, inlined_at 2 7 0
  trap;
}
.file 1 "kernel.cu"
.file 2 "header.h"
.section .debug_str {
$L__info_string0:
.b8 102, 0
$L__info_string1:
.b8 103, 103, 0
})");
  const Place place = fault_in(kernel.run({})).place;
  EXPECT_EQ(place.file, "header.h");
  EXPECT_EQ(place.line, 3u);
  EXPECT_EQ(place.inlined_function, "g");
  ASSERT_EQ(place.inlined_at.size(), 2u);
  const auto text = [](const SourceFrame& f) {
    return f.file + ":" + std::to_string(f.line) + " " + f.function;
  };
  EXPECT_EQ(text(place.inlined_at[0]), "header.h:7 f");
  EXPECT_EQ(text(place.inlined_at[1]), "kernel.cu:20 k");
}

// .alias plus, add_one: whoever calls it, passes its address or stores it in a table reaches the function.
TEST(Calls, an_alias_is_its_function) {
  const KernelRun run = run_body(R"(
  .param .b32 a;
  .param .b32 r;
  prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
  st.param.b32 [a], 41;
  call (r), plus, (a);
  ld.param.b32 %r0, [r];
  st.global.b32 [%out], %r0;
  mov.u64 %rd0, plus;
  mov.u64 %rd1, add_one;
  ld.global.b64 %rd2, [table];
  call (r), %rd2, (a), prototype;
  ld.param.b32 %r1, [r];
  st.global.b32 [%out+4], %r1;
  setp.eq.u64 %p0, %rd0, %rd1;
  selp.b32 %r2, 1, 0, %p0;
  st.global.b32 [%out+8], %r2;
)",
                                 {}, 4, {}, R"(
.func (.param .b32 r) plus(.param .b32 a);
.func (.param .b32 r) add_one(.param .b32 a)
{
  .shared .b32 in_between;
  .reg .b32 %x;
  ld.param.b32 %x, [a];
  st.shared.b32 [in_between], %x;
  ld.shared.b32 %x, [in_between];
  add.u32 %x, %x, 1;
  st.param.b32 [r], %x;
  ret;
}
.alias plus, add_one;
.global .u64 table = plus;
)");
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  EXPECT_EQ(run.out, (std::vector<uint32_t>{42, 42, 1, 0}));
}

TEST(Faults, an_unsupported_form_is_one_only_when_reached) {
  constexpr std::string_view body = R"(
    setp.eq.u32 %p0, %t, 99;
    @%p0 bra NEVER;
    ret;
  NEVER:
    multimem.red.relaxed.gpu.global.add.u32 [%out], %t;
    ret;
  )";
  EXPECT_TRUE(run_body(body, shape(1, 32)).report.ok());
  const KernelRun reached = run_body(body, shape(1, 128));
  EXPECT_EQ(fault_in(reached.report).kind, FaultKind::unsupported);
}

TEST(Unwritten, reads_are_counted_and_named) {
  const KernelRun run = run_body(with_store(R"(
    setp.lt.u32 %p0, %t, 30;
    @%p0 mov.b32 %r5, 1;
    add.u32 %r0, %r5, 1;
  )"),
                                 shape(1, 32));
  ASSERT_TRUE(run.report.ok());
  ASSERT_EQ(run.report.uninitialized.size(), 1u);
  EXPECT_EQ(run.report.uninitialized[0].what, "register %r5");
  EXPECT_EQ(run.report.uninitialized[0].lane, 30);
}

TEST(Unwritten, a_register_written_under_both_guards_is_written) {
  const KernelRun run = run_body(with_store(R"(
    setp.lt.u32 %p0, %t, 30;
    @%p0 mov.b32 %r5, 1;
    @!%p0 mov.b32 %r5, 2;
    add.u32 %r0, %r5, 1;
  )"),
                                 shape(1, 32));
  ASSERT_TRUE(run.report.ok());
  EXPECT_EQ(run.report.uninitialized_reads, 0u);
}

// Measured on an H200: an address that cvta.const gives is one of constant memory only.
TEST(GenericAddresses, belong_to_one_space) {
  const KernelRun run =
      run_body(R"(
    .shared .align 8 .b8 in_shared[8];
    .local .align 8 .b8 in_local[8];
    mov.u64 %rd1, in_global;  cvta.global.u64 %rd1, %rd1;
    mov.u64 %rd2, in_const;   cvta.const.u64 %rd2, %rd2;
    mov.u64 %rd3, in_shared;  cvta.shared.u64 %rd3, %rd3;
    mov.u64 %rd4, in_local;   cvta.local.u64 %rd4, %rd4;
    mov.u32 %r1, 0;
    isspacep.global %p1, %rd1;  @%p1 or.b32 %r1, %r1, 0x0001;
    isspacep.const  %p1, %rd1;  @%p1 or.b32 %r1, %r1, 0x0002;
    isspacep.global %p1, %rd2;  @%p1 or.b32 %r1, %r1, 0x0010;
    isspacep.const  %p1, %rd2;  @%p1 or.b32 %r1, %r1, 0x0020;
    isspacep.global %p1, %rd3;  @%p1 or.b32 %r1, %r1, 0x0100;
    isspacep.shared %p1, %rd3;  @%p1 or.b32 %r1, %r1, 0x0400;
    isspacep.global %p1, %rd4;  @%p1 or.b32 %r1, %r1, 0x1000;
    isspacep.local  %p1, %rd4;  @%p1 or.b32 %r1, %r1, 0x8000;
    st.global.u32 [%out], %r1;
    ret;
  )",
               {}, 1, {}, ".global .align 8 .b64 in_global;\n.const .align 8 .b64 in_const = 77;\n");
  EXPECT_EQ(run.out[0], 0x8421u);
}

TEST(SpecialRegisters, thread_and_cta_indices) {
  LaunchConfig config;
  config.grid = {2, 3, 2};
  config.block = {4, 3, 5};
  const KernelRun run = run_body(R"(
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ctaid.y;
    mov.u32 %r3, %ctaid.z;
    mad.lo.u32 %r4, %r3, 3, %r2;
    mad.lo.u32 %r4, %r4, 2, %r1;
    mov.u32 %r5, %tid.x;
    mov.u32 %r6, %tid.y;
    mov.u32 %r7, %tid.z;
    mad.lo.u32 %r8, %r7, 3, %r6;
    mad.lo.u32 %r8, %r8, 4, %r5;
    mad.lo.u32 %r9, %r4, 60, %r8;
    mad.wide.u32 %rd1, %r9, 4, %out;
    mul.lo.u32 %r10, %r9, 7;
    st.global.u32 [%rd1], %r10;
    ret;
  )",
                                 config);
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  for (uint32_t i = 0; i < 12 * 60; ++i)
    EXPECT_EQ(run.out[i], i * 7);
}

} // namespace
} // namespace lemma::vgpu
