// Control flow: branches, loops, switches, calls, early exits, barriers, lanes that hand over to each other.
// PTX ISA: "Control Flow Instructions", "bar, barrier", "bar.warp.sync", "Predicated Execution".
//
// Every kernel's result depends on which lanes took which way, and on nothing else: not on the order in which
// a machine runs the ways.
#include "golden/fill.h"
#include "golden/templates.h"
#include "golden/thread_kernel.h"

#include <fmt/format.h>

namespace lemma::golden {
namespace {

using isa::Type;

constexpr uint64_t kUnits = 4096;

// A kernel from u32 a to u32 d. Lines of `body` use %a, %d, %n (lane), %i (thread) and registers %r<8>,
// %p<8>.
struct Template {
  const char* name;
  const char* prefix; // functions
  const char* declarations;
  const char* body;
  uint64_t bound = 0; // of the operand; 0: any bits
  uint32_t block = 128;
};

constexpr const char* kFibonacci = R"(
.func (.param .b32 result) fibonacci(.param .b32 n)
{
  .reg .pred %p;
  .reg .b32 %n, %x, %y;
  .param .b32 in0, out0, in1, out1;
  ld.param.u32 %n, [n];
  setp.lt.u32 %p, %n, 2;
  @%p bra SMALL;
  sub.u32 %x, %n, 1;
  st.param.b32 [in0], %x;
  call (out0), fibonacci, (in0);
  ld.param.b32 %x, [out0];
  sub.u32 %y, %n, 2;
  st.param.b32 [in1], %y;
  call (out1), fibonacci, (in1);
  ld.param.b32 %y, [out1];
  add.u32 %n, %x, %y;
SMALL:
  st.param.b32 [result], %n;
  ret;
}
)";

constexpr const char* kThreeFunctions = R"(
.func (.param .b32 r) triple(.param .b32 x) { .reg .b32 %x; ld.param.b32 %x, [x]; mul.lo.u32 %x, %x, 3; st.param.b32 [r], %x; ret; }
.func (.param .b32 r) flip(.param .b32 x) { .reg .b32 %x; ld.param.b32 %x, [x]; not.b32 %x, %x; st.param.b32 [r], %x; ret; }
.func (.param .b32 r) half(.param .b32 x) { .reg .b32 %x; ld.param.b32 %x, [x]; shr.u32 %x, %x, 1; st.param.b32 [r], %x; ret; }
.global .align 8 .u64 functions[3] = { triple, flip, half };
)";

constexpr Template kTemplates[] = {
    {"nested if and else", "", "", R"(
  mov.u32 %d, 1;
  and.b32 %r0, %a, 1;  setp.ne.u32 %p0, %r0, 0;
  and.b32 %r1, %a, 2;  setp.ne.u32 %p1, %r1, 0;
  and.b32 %r2, %a, 4;  setp.ne.u32 %p2, %r2, 0;
  @%p0 bra ODD;
  @%p1 bra EVEN_1;
  @%p2 bra EVEN_01;
  mad.lo.u32 %d, %d, 3, 1;
  bra EVEN_0_END;
EVEN_01:
  mad.lo.u32 %d, %d, 5, 2;
EVEN_0_END:
  mad.lo.u32 %d, %d, 7, 3;
  bra EVEN_END;
EVEN_1:
  mad.lo.u32 %d, %d, 11, 4;
  @!%p2 bra EVEN_END;
  mad.lo.u32 %d, %d, 13, 5;
EVEN_END:
  mad.lo.u32 %d, %d, 17, 6;
  bra END;
ODD:
  mad.lo.u32 %d, %d, 19, 7;
  @%p1 bra END;
  @%p2 bra ODD_1;
  mad.lo.u32 %d, %d, 23, 8;
  bra END;
ODD_1:
  mad.lo.u32 %d, %d, 29, 9;
END:
  mad.lo.u32 %d, %d, 31, %a;
)"},
    {"loop of as many rounds as the operand says", "", "", R"(
  mov.u32 %d, 0;
  mov.u32 %r0, %a;
LOOP:
  setp.eq.u32 %p0, %r0, 0;
  @%p0 bra DONE;
  mad.lo.u32 %d, %d, 5, %r0;
  sub.u32 %r0, %r0, 1;
  bra LOOP;
DONE:
)",
     97},
    {"nested loops with break and continue", "", "", R"(
  mov.u32 %d, 0;
  mov.u32 %r0, 0;
OUTER:
  add.u32 %r0, %r0, 1;
  setp.gt.u32 %p0, %r0, 12;
  @%p0 bra DONE;
  and.b32 %r2, %r0, %a;
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra OUTER;
  mov.u32 %r1, %a;
INNER:
  mad.lo.u32 %d, %d, 3, %r1;
  shr.u32 %r1, %r1, 1;
  and.b32 %r2, %r1, 5;
  setp.eq.u32 %p2, %r2, 5;
  @%p2 bra OUTER;
  setp.gt.u32 %p3, %d, 0xf0000000;
  @%p3 bra DONE;
  setp.ne.u32 %p4, %r1, 0;
  @%p4 bra INNER;
  bra OUTER;
DONE:
  xor.b32 %d, %d, %r0;
)"},
    {"steps of the Collatz sequence", "", "", R"(
  mov.u32 %d, 0;
  add.u32 %r0, %a, 1;
LOOP:
  setp.le.u32 %p0, %r0, 1;
  @%p0 bra DONE;
  and.b32 %r1, %r0, 1;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 shr.u32 %r0, %r0, 1;
  @!%p1 mad.lo.u32 %r0, %r0, 3, 1;
  add.u32 %d, %d, 1;
  bra LOOP;
DONE:
)",
     1000},
    {"early return", "", "", R"(
  mov.u32 %d, 7;
  rem.u32 %r0, %a, 3;
  setp.eq.u32 %p0, %r0, 0;
  @%p0 ret;
  setp.eq.u32 %p1, %r0, 1;
  @%p1 exit;
  add.u32 %d, %d, %a;
)"},
    {"switch by brx.idx", "", "TABLE: .branchtargets A, B, C, D, B;", R"(
  rem.u32 %r0, %a, 5;
  mov.u32 %d, 1;
  brx.idx %r0, TABLE;
A:
  mad.lo.u32 %d, %d, 3, 100;
B:
  mad.lo.u32 %d, %d, 5, 200;
  bra END;
C:
  mad.lo.u32 %d, %d, 7, 300;
D:
  mad.lo.u32 %d, %d, 11, 400;
END:
  add.u32 %d, %d, %r0;
)"},
    {"recursive calls", kFibonacci, ".param .b32 in0, out0;", R"(
  st.param.b32 [in0], %a;
  call (out0), fibonacci, (in0);
  ld.param.b32 %d, [out0];
)",
     12},
    {"calls from some lanes only", kFibonacci, ".param .b32 in0, out0;", R"(
  mov.u32 %d, 1000;
  setp.lt.u32 %p0, %a, 6;
  @%p0 bra SKIP;
  st.param.b32 [in0], %a;
  call (out0), fibonacci, (in0);
  ld.param.b32 %d, [out0];
SKIP:
  add.u32 %d, %d, %a;
)",
     12},
    {"indirect calls, one target a lane", kThreeFunctions,
     ".reg .b64 %f;\n  .param .b32 in0, out0;\n  SHAPE: .callprototype (.param .b32 _) _ (.param .b32 _);",
     R"(
  rem.u32 %r0, %a, 3;
  mov.u64 %f, functions;
  mad.wide.u32 %f, %r0, 8, %f;
  ld.global.u64 %f, [%f];
  st.param.b32 [in0], %a;
  call (out0), %f, (in0), SHAPE;
  ld.param.b32 %d, [out0];
)"},
    {"predicated instructions", "", "", R"(
  mov.u32 %d, 0;
  setp.lt.u32 %p0|%p1, %a, 0x80000000;
  and.b32 %r0, %a, 3;
  setp.eq.and.u32 %p2|%p3, %r0, 2, %p0;
  @%p0 add.u32 %d, %d, 1;
  @!%p0 add.u32 %d, %d, 16;
  @%p1 add.u32 %d, %d, 256;
  @%p2 add.u32 %d, %d, 4096;
  @!%p2 mad.lo.u32 %d, %d, 3, %r0;
  @%p3 not.b32 %d, %d;
)"},
    {"warp instructions after divergence", "", "", R"(
  mov.u32 %d, %a;
  and.b32 %r0, %a, 1;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra ODD;
  mad.lo.u32 %d, %d, 3, 1;
  bra JOIN;
ODD:
  shr.u32 %d, %d, 1;
JOIN:
  bar.warp.sync 0xffffffff;
  shfl.sync.bfly.b32 %r1, %d, 5, 31, 0xffffffff;
  vote.sync.ballot.b32 %r2, %p0, 0xffffffff;
  add.u32 %d, %r1, %r2;
)"},
    {"warp instructions inside a branch", "", "", R"(
  vote.sync.ballot.b32 %r3, 1, 0xffffffff;
  and.b32 %r0, %a, 1;
  setp.ne.u32 %p0, %r0, 0;
  vote.sync.ballot.b32 %r1, %p0, 0xffffffff;
  not.b32 %r2, %r1;
  @%p0 bra ODD;
  redux.sync.add.u32 %d, %a, %r2;
  bra END;
ODD:
  redux.sync.max.u32 %d, %a, %r1;
END:
)"},
    {"loop until no lane wants more", "", "", R"(
  mov.u32 %r0, %a;
  mov.u32 %d, 0;
LOOP:
  and.b32 %r1, %r0, 7;
  setp.ne.u32 %p0, %r1, 0;
  @%p0 shr.u32 %r0, %r0, 1;
  add.u32 %d, %d, 1;
  vote.sync.any.pred %p1, %p0, 0xffffffff;
  @%p1 bra LOOP;
  mad.lo.u32 %d, %r0, 64, %d;
)"},
    // Each lane waits for the one before it: only independent progress of the lanes ends this.
    {"lanes in turn through shared memory", "",
     ".shared .align 4 .b32 turn[4];\n  .shared .align 4 .b32 sum[4];", R"(
  mov.u32 %r0, %tid.x;  shr.u32 %r0, %r0, 5;  shl.b32 %r0, %r0, 2;
  mov.u32 %r1, turn;  add.u32 %r1, %r1, %r0;
  mov.u32 %r2, sum;  add.u32 %r2, %r2, %r0;
  st.volatile.shared.u32 [%r1], 0;
  st.volatile.shared.u32 [%r2], 1;
  bar.warp.sync 0xffffffff;
WAIT:
  ld.volatile.shared.u32 %r3, [%r1];
  setp.ne.u32 %p0, %r3, %n;
  @%p0 bra WAIT;
  ld.volatile.shared.u32 %d, [%r2];
  mad.lo.u32 %r4, %d, 3, %a;
  st.volatile.shared.u32 [%r2], %r4;
  membar.cta;
  add.u32 %r3, %r3, 1;
  st.volatile.shared.u32 [%r1], %r3;
)"},
    {"exchange through shared memory and bar.sync", "", ".shared .align 4 .b32 slots[128];", R"(
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, slots;
  mad.lo.u32 %r2, %r0, 4, %r1;
  mov.u32 %d, %a;
  mov.u32 %r4, 64;
STEP:
  bar.sync 0;
  st.shared.u32 [%r2], %d;
  bar.sync 0;
  xor.b32 %r3, %r0, %r4;
  mad.lo.u32 %r3, %r3, 4, %r1;
  ld.shared.u32 %r5, [%r3];
  mad.lo.u32 %d, %d, 3, %r5;
  shr.u32 %r4, %r4, 1;
  setp.ne.u32 %p0, %r4, 0;
  @%p0 bra STEP;
)"},
    {"bar.red of a block", "", "", R"(
  and.b32 %r0, %a, 3;
  setp.ne.u32 %p0, %r0, 0;
  setp.lt.u32 %p3, %i, 2048;
  or.pred %p4, %p0, %p3;
  bar.red.popc.u32 %r1, 0, %p0;
  bar.red.and.pred %p1, 0, %p4;
  bar.red.or.pred %p2, 0, !%p4;
  bar.red.popc.u32 %r2, 1, 128, !%p0;
  selp.u32 %r3, 1, 0, %p1;
  selp.u32 %r4, 2, 0, %p2;
  mad.lo.u32 %d, %r1, 256, %r2;
  mad.lo.u32 %d, %d, 4, %r3;
  add.u32 %d, %d, %r4;
)"},
    {"barriers of pairs of warps", "", ".shared .align 4 .b32 slots[128];", R"(
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, slots;
  mad.lo.u32 %r2, %r0, 4, %r1;
  st.shared.u32 [%r2], %a;
  shr.u32 %r3, %r0, 6;
  add.u32 %r3, %r3, 1;
  barrier.sync %r3, 64;
  xor.b32 %r4, %r0, 32;
  mad.lo.u32 %r4, %r4, 4, %r1;
  ld.shared.u32 %r5, [%r4];
  sub.u32 %d, %r5, %a;
  barrier.cta.red.popc.aligned.u32 %r6, %r3, 64, 1;
  add.u32 %d, %d, %r6;
)"},
    {"barrier.arrive and barrier.red", "", ".shared .align 4 .b32 slots[128];", R"(
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, slots;
  mad.lo.u32 %r2, %r0, 4, %r1;
  and.b32 %r3, %a, 31;
  setp.ne.u32 %p0, %r3, 0;
  setp.ge.u32 %p1, %r0, 64;
  mov.u32 %d, 9;
  @%p1 bra CONSUMER;
  st.shared.u32 [%r2], %a;
  barrier.arrive 5, 128;
  bra JOIN;
CONSUMER:
  barrier.sync 5, 128;
  sub.u32 %r4, %r2, 256;
  ld.shared.u32 %d, [%r4];
JOIN:
  barrier.red.and.pred %p2, 6, %p0;
  barrier.red.or.pred %p3, 6, 128, !%p0;
  barrier.red.popc.u32 %r5, 6, %p0;
  selp.u32 %r6, 1000, 0, %p2;
  selp.u32 %r7, 2000, 0, %p3;
  add.u32 %d, %d, %r5;
  add.u32 %d, %d, %r6;
  add.u32 %d, %d, %r7;
)"},
    // The same barriers as they are spelled since clusters came.
    {"bar.cta and barrier.cta", "", ".shared .align 4 .b32 slots[128];", R"(
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, slots;
  mad.lo.u32 %r2, %r0, 4, %r1;
  st.shared.u32 [%r2], %a;
  and.b32 %r3, %a, 1;
  setp.ne.u32 %p0, %r3, 0;
  bar.cta.sync 0;
  barrier.cta.sync.aligned 1, 128;
  sub.u32 %r4, 127, %r0;
  mad.lo.u32 %r4, %r4, 4, %r1;
  ld.shared.u32 %d, [%r4];
  bar.cta.red.popc.u32 %r5, 2, %p0;
  bar.cta.red.or.pred %p1, 2, 128, %p0;
  barrier.cta.red.and.pred %p2, 3, %p0;
  barrier.cta.red.popc.u32 %r6, 3, 128, !%p0;
  mad.lo.u32 %d, %d, 3, %r5;
  mad.lo.u32 %d, %d, 3, %r6;
  @%p1 add.u32 %d, %d, 1;
  @%p2 add.u32 %d, %d, 2;
  setp.ge.u32 %p3, %r0, 64;
  @%p3 bra CONSUMER;
  bar.cta.arrive 4, 128;
  barrier.cta.arrive 5, 128;
  bra END;
CONSUMER:
  bar.cta.sync 4, 128;
  barrier.cta.sync 5, 128;
END:
)"},
    {"producers arrive and consumers wait", "", ".shared .align 4 .b32 slots[128];", R"(
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, slots;
  mov.u32 %d, 5;
  setp.ge.u32 %p0, %r0, 64;
  @%p0 bra CONSUMER;
  mad.lo.u32 %r2, %r0, 4, %r1;
  st.shared.u32 [%r2], %a;
  bar.arrive 3, 128;
  bra END;
CONSUMER:
  bar.sync 3, 128;
  sub.u32 %r2, 127, %r0;
  mad.lo.u32 %r2, %r2, 4, %r1;
  ld.shared.u32 %d, [%r2];
END:
)"},
    {"barrier after some threads returned", "", ".shared .align 4 .b32 slots[128];", R"(
  mov.u32 %r0, %tid.x;
  mov.u32 %d, 3;
  setp.ge.u32 %p0, %r0, 96;
  @%p0 ret;
  mov.u32 %r1, slots;
  mad.lo.u32 %r2, %r0, 4, %r1;
  st.shared.u32 [%r2], %a;
  bar.sync 0;
  sub.u32 %r3, 95, %r0;
  mad.lo.u32 %r3, %r3, 4, %r1;
  ld.shared.u32 %d, [%r3];
)"},
};

Case make(const Template& t) {
  ThreadKernel kernel(t.name, t.name);
  kernel.memory("_m", Type::u32, 4); // stored as soon as it is known: some threads return early
  kernel.in("a", Type::u32, 32);
  kernel.prefix(t.prefix);
  kernel.declare(".reg .b32 %d, %n, %i, %r<8>;\n  .reg .pred %p<8>;");
  if (*t.declarations != '\0')
    kernel.declare(t.declarations);
  kernel.body("mov.u32 %n, %_n;\n  mov.u32 %i, %_i;");
  // `ret` and `exit` before the end leave what the memory began with.
  kernel.body(t.body);
  kernel.body("st.global.u32 [%_m], %d;");
  kernel.block(t.block);
  Case c = kernel.finish(kUnits);
  c.fill = fill_each({any_bits(), t.bound != 0 ? below(t.bound) : any_bits()});
  return c;
}

} // namespace

std::vector<Case> divergence_cases(std::string_view) {
  std::vector<Case> cases;
  for (const Template& t : kTemplates)
    cases.push_back(make(t));
  return cases;
}

} // namespace lemma::golden
