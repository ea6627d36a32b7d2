// What the tests of threads launch, of the C++ API and of the C one.
//
// Tests: tests/unit/runtime/threads_test.cc, tests/unit/capi/threads_test.cc.
#pragma once

namespace lemma {

// says: prints, then stores to out[0] `rounds` times, last of all 42. spin: endless. fault: a null pointer.
// takes: 25 MB of registers a warp. counts: adds to `counter`. address: its address.
inline constexpr const char* kThreadsPtx = R"(.version 8.0
.target sm_90a
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[3] = {104, 105, 0};
.global .align 8 .u64 counter;
.visible .entry says(.param .u64 out, .param .u32 rounds)
{
  .reg .pred %p;
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  .param .b64 f; .param .b64 a; .param .b32 r;
  mov.u64 %rd1, text;
  st.param.b64 [f], %rd1;
  st.param.b64 [a], 0;
  call (r), vprintf, (f, a);
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [rounds];
LOOP:
  st.global.u32 [%rd2], %r1;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p, %r1, 0;
  @%p bra LOOP;
  st.global.u32 [%rd2], 42;
  ret;
}
.visible .entry spin() { .reg .b64 %rd; LOOP: st.global.u64 [counter], %rd; bra LOOP; }
.visible .entry fault() { .reg .b64 %rd; mov.u64 %rd, 0; st.global.u64 [%rd], %rd; ret; }
.visible .entry takes() { .reg .b64 %rd<100000>; ret; }
.visible .entry counts() { .reg .b64 %rd; atom.global.add.u64 %rd, [counter], 1; ret; }
.visible .entry address(.param .u64 out)
{
  .reg .b64 %rd<3>;
  mov.u64 %rd1, counter;
  ld.param.u64 %rd2, [out];
  st.global.u64 [%rd2], %rd1;
  ret;
}
)";

} // namespace lemma
