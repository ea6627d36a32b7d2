// Variables, stacks and shared memory that are too large: an error that names them, never a size cut to 32
// bits.
#include "kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

// A kernel with these statements, that takes the address of `d` if there is one.
std::string with(const std::string& statements, const std::string& before = "") {
  return before +
         "\n.visible .entry k(.param .u64 out) {\n  .reg .b64 %out, %a, %b;\n  .reg .b32 %r<4>;\n  " +
         statements + "\n  ld.param.u64 %out, [out];\n  ret;\n}\n";
}

constexpr uint64_t kHuge[] = {
    uint64_t{1} << 27, (uint64_t{1} << 32) - 16, uint64_t{1} << 32, (uint64_t{1} << 32) + 16,
    uint64_t{1} << 40, uint64_t{1} << 63,        ~uint64_t{15},     ~uint64_t{0}};

TEST(Sizes, LocalVariables) {
  EXPECT_EQ(load_error(with(".local .align 4 .b8 d[524288];")), "");
  EXPECT_EQ(
      load_error(with(".local .align 4 .b8 d[524289];")),
      "d (524289 bytes) does not fit: the .local variables of k before it take 0 bytes a thread [legal: "
      "524288 bytes of local memory a thread]");
  EXPECT_EQ(
      load_error(with(".local .align 4 .b8 c[524280]; .local .b64 d, e;")),
      "e (8 bytes) does not fit: the .local variables of k before it take 524288 bytes a thread [legal: "
      "524288 bytes of local memory a thread]");
  for (const uint64_t bytes : kHuge)
    EXPECT_TRUE(load_error(with(fmt::format(".local .align 16 .b8 d[{}];", bytes)))
                    .starts_with(fmt::format("d ({} bytes) does not fit", bytes)));
  EXPECT_TRUE(
      load_error(with(".local .b8 c; .local .align 1073741824 .b8 d[16];"))
          .starts_with("d (16 bytes) does not fit: the .local variables of k before it take 1073741824"));
}

TEST(Sizes, ParamVariables) {
  EXPECT_EQ(load_error(with(".param .align 4 .b8 d[524288];")), "");
  for (const uint64_t bytes : kHuge) {
    const std::string error = load_error(with(fmt::format(".param .align 16 .b8 d[{}];", bytes)));
    EXPECT_EQ(error,
              fmt::format("d ({} bytes) does not fit: the .param variables of k before it take 0 bytes "
                          "a thread [legal: 524288 bytes of local memory a thread, which holds what is "
                          "passed to and from functions]",
                          bytes));
    EXPECT_NE(load_error(with("", fmt::format(".func f(.param .align 16 .b8 d[{}]) {{ ret; }}", bytes))), "");
    EXPECT_NE(load_error(with("", fmt::format(".func (.param .align 16 .b8 d[{}]) f() {{ ret; }}", bytes))),
              "");
  }
}

TEST(Sizes, SharedVariables) {
  const auto use = [](uint64_t bytes, const std::string& more = "") {
    return with("mov.u64 %a, d; " + more, fmt::format(".shared .align 16 .b8 d[{}]; .shared .b32 e;", bytes));
  };
  EXPECT_EQ(load_error(use(232448)), "");
  EXPECT_EQ(load_error(use(232449)),
            "d (232449 bytes) does not fit: the .shared variables before it take 0 bytes of the CTA [legal: "
            "232448 bytes of shared memory a CTA]");
  EXPECT_EQ(load_error(use(232448, "mov.u64 %b, e;")),
            "e (4 bytes) does not fit: the .shared variables before it take 232448 bytes of the CTA [legal: "
            "232448 bytes of shared memory a CTA]");
  EXPECT_NE(load_error(use(102400), 89), "") << "99 KiB on sm_89";
  EXPECT_EQ(load_error(use(101376), 89), "");
  for (const uint64_t bytes : kHuge)
    EXPECT_TRUE(load_error(use(bytes)).starts_with(fmt::format("d ({} bytes) does not fit", bytes)));
  // What no kernel uses takes nothing.
  EXPECT_EQ(load_error(with("", fmt::format(".shared .b8 d[{}];", kHuge[2]))), "");
}

TEST(Sizes, GlobalVariables) {
  for (const uint64_t bytes : {uint64_t{1} << 50, uint64_t{1} << 63, ~uint64_t{0}})
    EXPECT_EQ(load_error(with("", fmt::format(".global .b8 d[{}];", bytes))),
              fmt::format("no memory for d ({} bytes)", bytes));
}

TEST(Sizes, DynamicSharedMemory) {
  Kernel kernel(
      with("mov.u64 %a, d;", ".shared .align 16 .b8 d[64];\n.extern .shared .align 128 .b8 x[];\n"));
  const auto say = [&](uint32_t bytes) {
    kernel.config().shared_bytes = bytes;
    return kernel.check();
  };
  kernel.params().resize(8);
  EXPECT_EQ(say(232448 - 128), "");
  for (const uint32_t bytes : {232448u, 0x7fffffffu, 0xfffffbffu, 0xfffffc00u, 0xffffffffu})
    EXPECT_EQ(say(bytes),
              fmt::format("the kernel needs {} bytes of shared memory ({} of them dynamic): a CTA "
                          "has at most 232448",
                          uint64_t{bytes} + 128, bytes));
}

TEST(Sizes, RegistersOfAFunction) {
  EXPECT_EQ(
      load_error(with(".reg .b128 %v<600000>;")),
      "the registers and .param variables of k take 307201280 bytes a warp [supported: 268435456 bytes a "
      "warp]");
}

// --- calls

TEST(Sizes, CalleesShareTheLocalMemoryOfTheThread) {
  const std::string callee = ".func f() {\n  .local .align 16 .b8 own[300000];\n  .reg .b32 %r;\n"
                             "  st.local.u32 [own+299996], 1;\n  ret;\n}\n";
  EXPECT_EQ(fault_text(Kernel(with("call f, ();", callee)).run({0})), "");
  EXPECT_EQ(
      fault_text(Kernel(with(".local .align 16 .b8 own[300000]; st.local.u32 [own], 1; call f, ();", callee))
                     .run({0})),
      "call too deep: call of f at depth 1: a thread has at most 512 KiB of frames and 512 KiB of local "
      "memory");
  // Local variables lie where they are said to.
  const std::string aligned =
      ".func (.reg .b32 %r) f() {\n  .local .align 256 .b8 own[4];\n  .reg .b64 %a;\n"
      "  mov.u64 %a, own;\n  cvt.u32.u64 %r, %a;\n  st.local.u32 [%a], 1;\n  ret;\n}\n";
  Kernel kernel(
      with(".local .align 4 .b8 own[20]; st.local.u32 [own], 1; call (%r0), f, (); ld.param.u64 %out, "
           "[out]; st.global.u32 [%out], %r0;",
           aligned));
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(1));
  EXPECT_EQ(fault_text(kernel.run({out})), "");
  EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], 256u);
}

TEST(Sizes, AllocaKeepsLanesAligned) {
  Kernel kernel(with("alloca.u64 %a, 24; st.local.v2.u64 [%a], {%a, %a}; ld.local.v2.u64 {%a, %b}, [%a];"));
  EXPECT_EQ(fault_text(kernel.run({0})), "");
  for (const std::string size :
       {"524289", "4294967295", "4294967296", "9223372036854775808", "18446744073709551615"})
    EXPECT_EQ(fault_text(Kernel(with("mov.b64 %b, " + size + "; alloca.u64 %a, %b;")).run({0})),
              "call too deep: alloca of " + size +
                  " bytes: a thread has at most 512 KiB of local memory, and 0 are in use");
}

// A returned value that nobody takes goes nowhere.
TEST(Sizes, AReturnedValueMayBeDropped) {
  const std::string callee = ".func (.reg .b64 %r) f() {\n  mov.u64 %r, 7;\n  ret;\n}\n";
  Kernel kernel(with("mov.b64 %a, 1; mov.b64 %b, 2; call (_), f, (); ld.param.u64 %out, [out]; "
                     "st.global.v2.u64 [%out], {%a, %b};",
                     callee));
  const uint64_t out = kernel.buffer(std::vector<uint64_t>(2));
  EXPECT_EQ(fault_text(kernel.run({out})), "");
  EXPECT_EQ(kernel.read<uint64_t>(out, 2), (std::vector<uint64_t>{1, 2}));
}

// Builtins are called with registers, constants, and variables too small for what they take.
TEST(Sizes, BuiltinsTakeWhatFitsThem) {
  const std::string declared = ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
                               ".extern .func free(.param .b64 p);\n";
  Kernel kernel(
      with("call (%a), malloc, (64); ld.param.u64 %out, [out]; st.u32 [%a+60], 5; ld.u32 %r0, [%a+60]; "
           "call free, (%a); st.global.u32 [%out], %r0;",
           declared));
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(1));
  EXPECT_EQ(fault_text(kernel.run({out})), "");
  EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], 5u);
  for (const std::string narrow : {".extern .func (.param .b64 r) malloc(.param .b32 n);",
                                   ".extern .func (.param .b8 r) malloc(.param .b64 n);"}) {
    const bool argument = narrow.find(".b32") != narrow.npos;
    Kernel wrong(with(fmt::format("{{ .param .b{} n; .param .b{} r; call (r), malloc, (n); }}",
                                  argument ? 32 : 64, argument ? 64 : 8),
                      narrow));
    EXPECT_EQ(fault_in(wrong.run({0})).kind, FaultKind::unsupported);
  }
}

// What millions of instructions are made of: a loop of multiply-adds, loads and stores, and what comes
// before.
TEST(Sizes, AnInstructionTakesAtMost96Bytes) {
  std::string body = ".reg .pred %p; .reg .b32 %i; .reg .f32 %f<8>;\n mov.b32 %i, 0;\nLOOP:\n";
  for (int i = 0; i < 64; ++i)
    body += fmt::format(" ld.global.f32 %f{0}, [%out+{1}];\n fma.rn.f32 %f{0}, %f{0}, %f{2}, %f{2};\n"
                        " st.global.f32 [%out+{1}], %f{0};\n",
                        i % 8, 4 * i, (i + 1) % 8);
  body += " add.u32 %i, %i, 1;\n setp.lt.u32 %p, %i, 100;\n @%p bra LOOP;";
  const Kernel kernel(with(body));
  const Code& code = kernel.code();
  EXPECT_GT(code.insts.size(), 192u);
  EXPECT_LE(code.bytes(), 96 * code.insts.size());
}

} // namespace
} // namespace lemma::vgpu
