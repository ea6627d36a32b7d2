// vprintf, __assertfail, malloc and free, called as nvcc calls them.
#include "kernel.h"

#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

constexpr const char* kDeclarations = R"(
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 g, .param .b64 c);
.global .align 1 .b8 format[13] = {108, 97, 110, 101, 32, 37, 100, 32, 37, 115, 10, 0, 0}; // lane %d %s
.global .align 1 .b8 word[6] = {119, 111, 114, 100, 0, 0};
)";

TEST(Builtins, NamesThatAreKnown) {
  // Through the decoder: an unknown one cannot be called.
  Kernel kernel(".extern .func other();\n.visible .entry k() {\n  call other, ();\n  ret;\n}\n");
  EXPECT_FALSE(kernel.run({}).ok());
}

TEST(Builtins, PrintfOfActiveLanesInOrder) {
  Kernel kernel(std::string(kDeclarations) + R"(
.visible .entry k(.param .u64 out) {
  .local .align 8 .b8 args[16];
  .reg .b32 %t, %r;
  .reg .b64 %sp, %f, %w, %out, %d;
  .reg .pred %p;
  .param .b64 p0;
  .param .b64 p1;
  .param .b32 result;
  mov.u32 %t, %tid.x;
  ld.param.u64 %out, [out];
  mul.wide.u32 %d, %t, 4;
  add.u64 %out, %out, %d;
  mov.u64 %sp, args;
  cvta.local.u64 %sp, %sp;
  mov.u64 %f, format;
  cvta.global.u64 %f, %f;
  mov.u64 %w, word;
  cvta.global.u64 %w, %w;
  st.local.u32 [args], %t;
  st.local.u64 [args+8], %w;
  setp.lt.u32 %p, %t, 3;
  st.param.b64 [p0], %f;
  st.param.b64 [p1], %sp;
  @!%p exit;
  call (result), vprintf, (p0, p1);
  ld.param.b32 %r, [result];
  st.global.u32 [%out], %r;
  ret;
})");
  std::string text;
  kernel.config().print = [&](std::string_view printed) { text += printed; };
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(32));
  EXPECT_EQ(fault_text(kernel.run({out})), "");
  EXPECT_EQ(text, "lane 0 word\nlane 1 word\nlane 2 word\n");
  EXPECT_EQ(kernel.read<uint32_t>(out, 4), (std::vector<uint32_t>{2, 2, 2, 0}));
}

TEST(Builtins, PrintfFaultsWhereItsFormatIsNone) {
  Kernel kernel(std::string(kDeclarations) + R"(
.visible .entry k(.param .u64 address) {
  .reg .b64 %f;
  .param .b64 p0;
  .param .b64 p1;
  .param .b32 result;
  ld.param.u64 %f, [address];
  st.param.b64 [p0], %f;
  st.param.b64 [p1], 0;
  call (result), vprintf, (p0, p1);
  ret;
})");
  EXPECT_EQ(fault_in(kernel.run({12})).kind, FaultKind::out_of_bounds);
  const uint64_t endless = kernel.buffer(std::vector<uint8_t>(100, 'x'));
  const Report report = kernel.run({endless});
  EXPECT_EQ(fault_in(report).kind, FaultKind::out_of_bounds);
  EXPECT_EQ(fault_in(report).address, endless + 100);
  EXPECT_EQ(fault_text(kernel.run({0})), "") << "a null format prints nothing and returns -1";
}

TEST(Builtins, AssertionNamesFileLineAndFunction) {
  Kernel kernel(std::string(kDeclarations) + R"(
.global .align 1 .b8 message[6] = {120, 32, 62, 32, 48, 0};
.global .align 1 .b8 file[5] = {116, 46, 99, 117, 0};
.global .align 1 .b8 function[9] = {118, 111, 105, 100, 32, 107, 40, 41, 0};
.visible .entry k() {
  .reg .b32 %t;
  .reg .b64 %m, %f, %g;
  .reg .pred %p;
  .param .b64 p0;
  .param .b64 p1;
  .param .b32 p2;
  .param .b64 p3;
  .param .b64 p4;
  mov.u32 %t, %tid.x;
  setp.eq.u32 %p, %t, 7;
  mov.u64 %m, message;
  cvta.global.u64 %m, %m;
  mov.u64 %f, file;
  cvta.global.u64 %f, %f;
  mov.u64 %g, function;
  cvta.global.u64 %g, %g;
  st.param.b64 [p0], %m;
  st.param.b64 [p1], %f;
  st.param.b32 [p2], 42;
  st.param.b64 [p3], %g;
  st.param.b64 [p4], 1;
  @%p call __assertfail, (p0, p1, p2, p3, p4);
  ret;
})");
  const Report report = kernel.run({});
  EXPECT_EQ(fault_text(report),
            "assertion failed: t.cu:42: void k(): block: [0,0,0], thread: [7,0,0] Assertion `x > 0` failed.");
  EXPECT_EQ(fault_in(report).lane, 7);
}

std::string heap_kernel(const std::string& body) {
  return std::string(kDeclarations) + R"(
.visible .entry k(.param .u64 bytes) {
  .reg .b32 %t, %r;
  .reg .b64 %n, %block;
  .param .b64 size;
  .param .b64 block;
  .param .b64 old;
  mov.u32 %t, %tid.x;
  ld.param.u64 %n, [bytes];
  st.param.b64 [size], %n;
  call (block), malloc, (size);
  ld.param.b64 %block, [block];
)" + body +
         "\n  ret;\n}\n";
}

TEST(Builtins, EveryLaneMallocsItsOwnBlock) {
  Kernel kernel(heap_kernel(R"(
  .reg .pred %p;
  st.u32 [%block], %t;
  st.u32 [%block+20], %t;
  bar.sync 0;
  ld.u32 %r, [%block+20];
  setp.ne.u32 %p, %r, %t;
  @%p trap;
  st.param.b64 [old], %block;
  call free, (old);)"));
  kernel.config().block = {128, 1, 1};
  kernel.config().grid = {64, 1, 1};
  EXPECT_EQ(fault_text(kernel.run({24})), "");
}

TEST(Builtins, WrongUseOfTheHeap) {
  EXPECT_EQ(Kernel(heap_kernel("  ld.u32 %r, [%block];")).run({4}).uninitialized_reads, 32u);
  const auto fault = [](const std::string& body) { return fault_text(Kernel(heap_kernel(body)).run({24})); };
  const std::string free_block = "  st.param.b64 [old], %block;\n  call free, (old);\n";
  EXPECT_TRUE(fault("  ld.u32 %r, [%block+24];").ends_with("at the end of device malloc (24 bytes)"));
  EXPECT_TRUE(fault(free_block + "  st.u32 [%block], %t;")
                  .ends_with("0 bytes into device malloc (24 bytes), which was freed"));
  EXPECT_TRUE(fault(free_block + free_block).ends_with("which was freed before"));
  EXPECT_TRUE(
      fault("  add.u64 %block, %block, 8;\n" + free_block).ends_with("which no malloc of a kernel returned"));
  EXPECT_EQ(fault("  st.param.b64 [old], 0;\n  call free, (old);\n"), "");
}

TEST(Builtins, MallocOfTooMuchIsNull) {
  EXPECT_TRUE(
      fault_text(Kernel(heap_kernel("  st.u32 [%block], %t;")).run({9 << 20})).ends_with("a null pointer"));
}

} // namespace
} // namespace lemma::vgpu
