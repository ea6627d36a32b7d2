// What is reported of a wrong access, to the word, and of reads of what was never written.
#include "kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

// A kernel of one statement, %a and %b its parameters, %lane4 four times the lane.
std::string statement(const std::string& text) {
  return R"(
.shared .align 16 .b8 table[256];
.extern .shared .align 16 .b8 dynamic[];
.const .align 4 .b32 constant[4] = {1, 2, 3, 4};
.global .align 4 .b32 variable[4];
.visible .entry k(.param .u64 a, .param .u64 b) {
  .local .align 16 .b8 depot[64];
  .reg .b64 %a, %b, %c, %d, %lane4;
  .reg .b32 %r<8>, %t;
  .reg .pred %p;
  mov.u32 %t, %tid.x;
  mul.wide.u32 %lane4, %t, 4;
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  mov.b32 %r0, 1;
)" + text +
         "\n  ret;\n}\n";
}

std::string at(uint64_t address) {
  return fmt::format("{:#x}", address);
}

TEST(Fault, GlobalOutOfBounds) {
  Kernel kernel(statement("  ld.global.u32 %r1, [%a];"));
  const uint64_t buffer = kernel.buffer(std::vector<uint8_t>(1024), "arg 2 (buf)");
  const auto text = [&](uint64_t address) { return fault_text(kernel.run({address, 0})); };
  EXPECT_EQ(text(buffer + 1020), "");
  EXPECT_EQ(text(buffer + 1024), "out of bounds: read of 4 bytes at global address " + at(buffer + 1024) +
                                     " is out of bounds: at the end of arg 2 (buf, 1024 bytes)");
  EXPECT_EQ(text(buffer + 1088), "out of bounds: read of 4 bytes at global address " + at(buffer + 1088) +
                                     " is out of bounds: 64 bytes past the end of arg 2 (buf, 1024 bytes)");
  EXPECT_EQ(text(buffer - 8), "out of bounds: read of 4 bytes at global address " + at(buffer - 8) +
                                  " is out of bounds: 8 bytes before arg 2 (buf, 1024 bytes)");
  EXPECT_EQ(text(0), "out of bounds: read of 4 bytes at global address 0x0 is out of bounds: a null pointer");
  EXPECT_EQ(
      text(16),
      "out of bounds: read of 4 bytes at global address 0x10 is out of bounds: a null pointer plus 16 bytes");
  EXPECT_EQ(text(uint64_t{1} << 60),
            "out of bounds: read of 4 bytes at global address 0x1000000000000000 is out of "
            "bounds: far from every allocation");
  EXPECT_EQ(text(kSharedWindow + 1024),
            "out of bounds: read of 4 bytes at global address 0x10000000400 is out of "
            "bounds: a generic address of shared memory");
}

TEST(Fault, AnAccessThatBeginsInside) {
  Kernel kernel(statement("  st.global.v4.b32 [%a], {%r0, %r0, %r0, %r0};"));
  const uint64_t buffer = kernel.buffer(std::vector<uint8_t>(24), "table");
  EXPECT_EQ(fault_text(kernel.run({buffer + 16, 0})),
            "out of bounds: write of 16 bytes at global address " + at(buffer + 16) +
                " is out of bounds: 16 bytes into table (24 bytes), so its last 8 lie past the end");
  EXPECT_EQ(kernel.read<uint8_t>(buffer, 24), std::vector<uint8_t>(24)) << "nothing may be written";
}

TEST(Fault, NamesTheLaneAndThePlace) {
  Kernel kernel(statement("  add.u64 %c, %a, %lane4;\n  st.global.u32 [%c], %r0;"));
  const uint64_t buffer = kernel.buffer(std::vector<uint32_t>(20), "short");
  kernel.config().grid = {3, 1, 1};
  const Report report = kernel.run({buffer, 0});
  EXPECT_EQ(fault_in(report).kind, FaultKind::out_of_bounds);
  EXPECT_EQ(fault_in(report).lane, 20);
  EXPECT_EQ(fault_in(report).address, buffer + 80);
  EXPECT_EQ(fault_in(report).place.instruction, "st.global.u32 [%c], %r0;");
  EXPECT_EQ(fault_in(report).place.function, "k");
}

TEST(Fault, UseAfterFree) {
  Kernel kernel(statement("  ld.global.u32 %r1, [%a];"));
  const uint64_t buffer = kernel.buffer(std::vector<uint8_t>(64), "old");
  kernel.memory().free(buffer);
  EXPECT_EQ(fault_text(kernel.run({buffer + 4, 0})),
            "out of bounds: read of 4 bytes at global address " + at(buffer + 4) +
                " is out of bounds: 4 bytes into old (64 bytes), which was "
                "freed");
}

TEST(Fault, Misaligned) {
  for (const auto& [text, bytes] : {std::pair{"ld.global.u16 %r1, [%a]", 2},
                                    {"ld.global.u32 %r1, [%a]", 4},
                                    {"ld.global.u64 %c, [%a]", 8},
                                    {"ld.global.v2.u64 {%c, %d}, [%a]", 16},
                                    {"ld.v2.u32 {%r1, %r2}, [%a]", 8},
                                    {"atom.global.add.u32 %r1, [%a], 1", 4}}) {
    Kernel kernel(statement(std::string("  ") + text + ";"));
    const uint64_t buffer = kernel.buffer(std::vector<uint8_t>(64));
    EXPECT_EQ(fault_text(kernel.run({buffer + bytes, 0})), "") << text;
    const Report report = kernel.run({buffer + bytes / 2, 0});
    EXPECT_EQ(fault_in(report).kind, FaultKind::misaligned) << text;
    EXPECT_TRUE(fault_in(report).message.ends_with(fmt::format("is not a multiple of {}", bytes)))
        << fault_in(report).message;
  }
}

TEST(Fault, SharedMemory) {
  Kernel kernel(statement("  mov.u64 %c, table;\n  add.u64 %c, %c, %a;\n  st.shared.u32 [%c], %r0;"));
  kernel.config().shared_bytes = 256;
  EXPECT_EQ(fault_text(kernel.run({508, 0})), "");
  EXPECT_EQ(fault_text(kernel.run({512, 0})),
            "out of bounds: write of 4 bytes at shared address 0x600 is out of "
            "bounds: at the end of the CTA's shared memory (1536 bytes)");
  EXPECT_EQ(fault_text(kernel.run({1512, 0})),
            "out of bounds: write of 4 bytes at shared address 0x9e8 is out of "
            "bounds: 1000 bytes past the end of the CTA's shared memory (1536 "
            "bytes)");
  EXPECT_EQ(fault_text(kernel.run({uint64_t(-4), 0})),
            "out of bounds: write of 4 bytes at shared address 0x3fc is "
            "out of bounds: the first 1024 bytes of the CTA's shared "
            "memory are the system's");
  const Report report = kernel.run({kSharedWindow, 0});
  EXPECT_EQ(fault_in(report).kind, FaultKind::out_of_bounds);
  ASSERT_EQ(fault_in(report).notes.size(), 1u);
  EXPECT_EQ(fault_in(report).notes[0], "this is a generic address; cvta.to.shared makes a shared one of it");
}

TEST(Fault, LocalMemoryEndsWithTheFrame) {
  Kernel kernel(statement("  mov.u64 %c, depot;\n  add.u64 %c, %c, %a;\n  ld.local.u32 %r1, [%c];"));
  EXPECT_EQ(fault_text(kernel.run({60, 0})), "");
  EXPECT_EQ(fault_text(kernel.run({64, 0})),
            "out of bounds: read of 4 bytes at local address 0x40 is out of bounds: "
            "at the end of the lane's local memory (64 bytes)");
}

TEST(Fault, ReadOnlyAndOtherSpaces) {
  const auto run = [](const std::string& text) {
    Kernel kernel(statement(text));
    return fault_in(kernel.run({kernel.buffer(std::vector<uint8_t>(64), "plain"), 0}));
  };
  EXPECT_EQ(run("  ld.const.u32 %r1, [constant+12];").message, "no fault");
  EXPECT_EQ(run("  ld.const.u32 %r1, [constant+16];").kind, FaultKind::out_of_bounds);
  EXPECT_EQ(run("  mov.u64 %c, constant;\n  cvta.const.u64 %c, %c;\n  ld.u32 %r1, [%c];").message,
            "no fault");
  EXPECT_EQ(run("  mov.u64 %c, constant;\n  cvta.const.u64 %c, %c;\n  st.u32 [%c], %r0;").kind,
            FaultKind::read_only);
  EXPECT_EQ(run("  ld.const.u32 %r1, [%a];").kind, FaultKind::wrong_space);
  EXPECT_EQ(run("  mov.u64 %c, a;\n  cvta.param.u64 %c, %c;\n  st.u32 [%c], %r0;").kind,
            FaultKind::read_only);
  EXPECT_EQ(run("  mov.u64 %c, depot;\n  cvta.local.u64 %c, %c;\n  atom.add.u32 %r1, [%c], 1;").kind,
            FaultKind::wrong_space);
}

TEST(Uninitialized, BuffersByTheByte) {
  Kernel kernel(statement(R"(
  add.u64 %c, %a, %lane4;
  setp.lt.u32 %p, %t, 16;
  @%p st.global.u16 [%c], %r0;
  ld.global.u32 %r1, [%c];
  ld.global.u16 %r2, [%a];
  ld.global.u16 %r3, [%a+2];)"));
  const Report report = kernel.run({kernel.uninitialized_buffer(128, "arg 0 (buf)"), 0});
  EXPECT_EQ(fault_text(report), "");
  EXPECT_EQ(uninitialized_text(report), "ld.global.u32 %r1, [%c];: 'arg 0 (buf)' at byte 2 x32\n"
                                        "ld.global.u16 %r3, [%a+2];: 'arg 0 (buf)' at byte 2 x32\n");
  EXPECT_EQ(report.uninitialized_reads, 64u);
}

TEST(Uninitialized, SharedMemory) {
  Kernel kernel(statement(R"(
  mov.u64 %c, table;
  add.u64 %c, %c, %lane4;
  setp.lt.u32 %p, %t, 31;
  @%p st.shared.u32 [%c], %r0;
  ld.shared.u32 %r1, [%c];
  atom.shared.add.u32 %r1, [%c+128], 1;
  ld.shared.u32 %r1, [%c+128];)"));
  kernel.config().grid = {2, 1, 1};
  const Report report = kernel.run({0, 0});
  EXPECT_EQ(fault_text(report), "");
  EXPECT_EQ(uninitialized_text(report),
            "ld.shared.u32 %r1, [%c];: shared memory at 0x47c x2\n"
            "atom.shared.add.u32 %r1, [%c+128], 1;: shared memory at 0x480 x64\n");
}

TEST(Uninitialized, TenInstructionsAreToldAllAreCounted) {
  std::string text;
  for (int i = 0; i < 12; ++i)
    text += fmt::format("  ld.global.u32 %r1, [%a+{}];\n", 4 * i);
  Kernel kernel(statement(text));
  const Report report = kernel.run({kernel.uninitialized_buffer(64), 0});
  EXPECT_EQ(report.uninitialized.size(), 10u);
  EXPECT_EQ(report.uninitialized_reads, 12u * 32);
}

} // namespace
} // namespace lemma::vgpu
