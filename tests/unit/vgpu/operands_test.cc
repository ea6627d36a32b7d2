// What an operand may be, and that each is taken for what it says: whole vector registers and their elements,
// sums of a register and a constant, values narrower than what they are read from, results that nobody takes.
#include "kernel.h"
#include "run_ptx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

const std::vector<uint32_t> kIn{0x11111111, 0x22222222, 0x33333333, 0x44444444};

// The words that a kernel of one thread stores; %t.. are four elements of `in`.
std::vector<uint32_t> words(std::string_view body, std::string_view before = "", size_t count = 8) {
  const std::string head = R"(
  .reg .v4 .b32 t, u;
  .reg .v2 .b32 g, h;
  .reg .v2 .b64 l;
  .reg .v4 .f32 f;
  .reg .b128 q;
  .reg .b16 s;
  ld.global.v4.b32 t, [%in];
)";
  const KernelRun run = run_body(head + std::string(body), {}, count, kIn, before);
  EXPECT_TRUE(run.report.ok()) << fault_in(run.report).message;
  return run.out;
}

using Words = std::vector<uint32_t>;
constexpr uint32_t A = 0x11111111, B = 0x22222222, C = 0x33333333, D = 0x44444444;

TEST(VectorRegister, LoadsAndStores) {
  EXPECT_EQ(words("st.global.v4.b32 [%out], t; ld.global.v2.b32 g, [%in+8]; st.global.v2.b32 [%out+16], g;"),
            (Words{A, B, C, D, C, D, 0, 0}));
  EXPECT_EQ(words(R"(
  .local .align 16 .b8 stack[16];
  .shared .align 16 .b8 room[16];
  st.local.v4.b32 [stack], t;
  ld.local.v4.b32 u, [stack];
  st.shared.v2.b32 [room], {u.w, u.z};
  ld.shared.v2.b32 h, [room];
  st.global.v4.b32 [%out], u;
  st.volatile.global.v2.b32 [%out+16], h;)"),
            (Words{A, B, C, D, D, C, 0, 0}));
  EXPECT_EQ(words("ld.global.v4.f32 f, [%in]; st.global.v4.f32 [%out+16], f;"),
            (Words{0, 0, 0, 0, A, B, C, D}));
  EXPECT_EQ(words("ld.global.v4.u8 u, [%in+4]; st.global.v4.b32 [%out], u; st.global.v4.u8 [%out+16], t;"),
            (Words{0x22, 0x22, 0x22, 0x22, 0x44332211, 0, 0, 0}));
}

TEST(VectorRegister, Moves) {
  EXPECT_EQ(words("mov.v4.b32 u, t; mov.v2.b32 g, {u.w, u.x}; st.global.v4.b32 [%out], u;\n"
                  "st.global.v2.b32 [%out+16], g;"),
            (Words{A, B, C, D, D, A, 0, 0}));
  // Read before anything is written.
  EXPECT_EQ(words("mov.v4.b32 t, {t.w, t.z, t.y, t.x}; mov.v4.b32 {%r0, %r1, %r2, %r3}, t;\n"
                  "st.global.v4.b32 [%out], {%r0, %r1, %r2, %r3};"),
            (Words{D, C, B, A, 0, 0, 0, 0}));
  EXPECT_EQ(words("mov.v4.u32 t, %ntid; st.global.v4.b32 [%out], t;"), (Words{1, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(words("mov.v4.b32 u, {7, t.r, 9, 0x3f800000}; mov.b32 u.b, t.a; st.global.v4.b32 [%out], u;"),
            (Words{7, A, D, 0x3f800000, 0, 0, 0, 0}));
}

TEST(VectorRegister, PacksAndUnpacks) {
  EXPECT_EQ(words("mov.v2.b32 g, {t.x, t.y}; mov.b64 %rd0, g; st.global.b64 [%out], %rd0;\n"
                  "mov.b64 h, %rd0; st.global.v2.b32 [%out+8], h;"),
            (Words{A, B, A, B, 0, 0, 0, 0}));
  EXPECT_EQ(words("mov.b128 q, t; mov.b128 l, q; mov.v2.b64 l, {l.y, l.x}; st.global.v2.b64 [%out], l;\n"
                  "mov.b128 u, q; st.global.v4.b32 [%out+16], u;"),
            (Words{C, D, A, B, A, B, C, D}));
  EXPECT_EQ(words("mov.b128 q, {t.x, t.x, t.y, t.w}; st.global.b128 [%out], q;"),
            (Words{A, A, B, D, 0, 0, 0, 0}));
}

TEST(VectorRegister, Reductions) {
  EXPECT_EQ(words("mov.v4.f32 f, {0f3f800000, 0f40000000, 0f40400000, 0f40800000};\n"
                  "red.global.add.v4.f32 [%out], f; red.global.add.v2.f32 [%out+16], {f.w, f.z};"),
            (Words{0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0x40800000, 0x40400000, 0, 0}));
}

TEST(VectorRegister, MatrixFragments) {
  // The product of a matrix of ones with itself: 16 everywhere.
  LaunchConfig config;
  config.block = {32, 1, 1};
  const KernelRun run = run_body(R"(
  .reg .v4 .b32 a; .reg .v2 .b32 b; .reg .v4 .f32 d;
  mov.v4.b32 a, {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00};
  mov.v2.b32 b, {0x3c003c00, 0x3c003c00};
  mov.v4.f32 d, {0f00000000, 0f3f800000, 0f40000000, 0f40400000};
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, d;
  mad.wide.u32 %rd0, %t, 16, %out;
  st.global.v4.f32 [%rd0], d;)",
                                 config, 128);
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  for (size_t i = 0; i < run.out.size(); ++i)
    EXPECT_EQ(std::bit_cast<float>(run.out[i]), 16.0f + static_cast<float>(i % 4)) << i;
}

TEST(VectorRegister, Calls) {
  constexpr const char* kTurn = R"(
.func (.reg .v4 .b32 r, .reg .b32 s) turn(.reg .v4 .b32 v, .reg .b32 a) {
  add.u32 r.x, v.y, a;
  mov.b32 r.y, v.z;
  mov.b32 r.z, v.w;
  mov.b32 r.w, v.x;
  mov.b32 s, a;
  ret;
}
)";
  EXPECT_EQ(
      words("call (u, %r0), turn, (t, 1); st.global.v4.b32 [%out], u; st.global.b32 [%out+16], %r0;", kTurn),
      (Words{B + 1, C, D, A, 1, 0, 0, 0}));
  // A result that nobody takes harms no register.
  EXPECT_EQ(
      words("call (u, _), turn, (t, 2); st.global.v4.b32 [%out], u; st.global.v4.b32 [%out+16], t;", kTurn),
      (Words{B + 2, C, D, A, A, B, C, D}));
}

TEST(Sum, OfARegisterAndAConstant) {
  EXPECT_EQ(words("st.global.b32 [%out], t.x; mov.b32 %r0, t.x; st.global.b32 [%out+4], %r0+1;\n"
                  "add.u32 %r1, %r0+2, %r0+-3; st.global.b32 [%out+8], %r1;\n"
                  "mov.b64 %rd0, {-1, 0}; st.global.b64 [%out+16], %rd0+2; mov.b64 %rd1, %rd0+(1<<4);\n"
                  "st.global.b32 [%out+24], %rd1;"),
            (Words{A, A + 1, 2 * A - 1, 0, 1, 1, 15, 0}));
  // In the register's own width.
  EXPECT_EQ(words("mov.b32 %r0, -1; st.global.b64 [%out], %r0+2; mov.b16 s, 0xfff0; cvt.u32.u16 %r1, s+17;\n"
                  "st.global.b32 [%out+8], %r1; setp.eq.u32 %p0, %r0+1, 0; selp.b32 %r2, %r0+6, 1, %p0;\n"
                  "st.global.b32 [%out+12], %r2;"),
            (Words{1, 0, 1, 5, 0, 0, 0, 0}));
}

// A register of 16 bits takes the low half of what is 32 bits wide, in every lane.
TEST(Narrow, SpecialRegistersAndAddresses) {
  LaunchConfig config;
  config.block = {32, 1, 1};
  const KernelRun run = run_body(R"(
  .shared .align 16 .b8 room[64];
  .reg .b16 s, v;
  mov.u16 s, %laneid;
  mov.u16 v, room;
  mov.u32 %r2, room;
  cvt.u32.u16 %r0, s;
  cvt.u32.u16 %r1, v;
  sub.u32 %r1, %r1, %r2;
  mad.wide.u32 %rd0, %t, 8, %out;
  st.global.v2.b32 [%rd0], {%r0, %r1};)",
                                 config, 64);
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(run.out[2 * lane], lane);
    EXPECT_EQ(run.out[2 * lane + 1], 0u) << lane;
  }
}

TEST(SpecialRegister, IsAnElementOfAVector) {
  EXPECT_EQ(words("st.global.v2.u32 [%out], {%ntid.x, %r0};", "", 4)[0], 1u);
  EXPECT_EQ(words("mov.b32 %r0, 9; st.global.v4.u32 [%out], {%r0, %ntid.y, %nctaid.x, %tid.x};", "", 4),
            (Words{9, 1, 1, 0}));
  EXPECT_EQ(words("mov.b64 %rd0, {%nctaid.x, %ntid.x}; st.global.b64 [%out], %rd0;", "", 2), (Words{1, 1}));
}

TEST(SpecialRegister, GrididIsReadInFewerBits) {
  EXPECT_EQ(
      words("mov.u64 %rd0, %gridid; mov.u32 %r0, %gridid; cvt.u32.u64 %r1, %rd0; sub.u32 %r0, %r0, %r1;\n"
            "st.global.u32 [%out], %r0;",
            "", 1),
      (Words{0}));
  EXPECT_EQ(words("mov.u16 s, %gridid; cvt.u32.u16 %r0, s; mov.u64 %rd0, %gridid; cvt.u32.u64 %r1, %rd0;\n"
                  "and.b32 %r1, %r1, 65535; sub.u32 %r0, %r0, %r1; st.global.u32 [%out], %r0;",
                  "", 1),
            (Words{0}));
}

// _ leaves the bytes as they are: not modelled, and said so rather than written.
TEST(Store, WithHolesIsUnsupported) {
  const KernelRun run = run_body("st.global.v8.b32 [%out], {%r0, _, %r0, %r0, %r0, %r0, %r0, %r0};");
  ASSERT_FALSE(run.report.ok());
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::unsupported);
}

} // namespace
} // namespace lemma::vgpu
