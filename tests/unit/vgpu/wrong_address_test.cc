// What faults say of an address that wrapped, and of an index that was never written.
// src/vgpu/reports/wrong_address.h.
#include "kernel.h"

#include <fmt/format.h>

#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

// Reads one element at `a` plus what the text makes of `b`.
std::string reading(const std::string& text) {
  return R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {
  .reg .b64 %a, %b, %c, %d;
  .reg .b32 %r<8>;
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  cvt.u32.u64 %r0, %b;
)" + text +
         "\n  ret;\n}\n";
}

std::string after_colon(const std::string& text) {
  const size_t at = text.find("out of bounds: ", text.find("is out of"));
  return at == text.npos ? text : text.substr(at + 15);
}

TEST(WrongAddress, NamesIndicesThatWrapped) {
  Kernel kernel(reading("  mad.wide.u32 %c, %r0, 4, %a;\n  ld.global.u32 %r1, [%c];"));
  const uint64_t buffer = kernel.buffer(std::vector<uint8_t>(1024), "arg 0 (x: in)");
  const auto text = [&](uint64_t base, uint32_t index) {
    return after_colon(fault_text(kernel.run({base, index})));
  };
  EXPECT_EQ(text(buffer, 255), "");
  EXPECT_EQ(text(buffer, 0xffffffff), "an unsigned index of 32 bits has wrapped below zero: -1 element from "
                                      "the begin of arg 0 (x: in, 1024 bytes)");
  EXPECT_EQ(text(buffer, 0u - 100u),
            "an unsigned index of 32 bits has wrapped below zero: -100 elements from "
            "the begin of arg 0 (x: in, 1024 bytes)");
  EXPECT_EQ(text(buffer + 512, 0u - 100u),
            "an unsigned index of 32 bits has wrapped below zero: else it were "
            "112 bytes into arg 0 (x: in, 1024 bytes)");
  EXPECT_EQ(text(buffer, 0x7fffffff), "far from every allocation");
}

TEST(WrongAddress, NamesOffsetsThatWrapped) {
  Kernel kernel(reading("  cvt.u64.u32 %c, %r0;\n  add.u64 %c, %c, %a;\n  ld.global.u32 %r1, [%c];"));
  const uint64_t buffer = kernel.buffer(std::vector<uint8_t>(1024), "table");
  EXPECT_EQ(
      after_colon(fault_text(kernel.run({buffer, 0u - 8u}))),
      "an unsigned byte offset of 32 bits has wrapped below zero: -8 bytes from the begin of table (1024 "
      "bytes)");
}

TEST(WrongAddress, NamesAnIndexThatWasNeverWritten) {
  Kernel from_memory(reading("  ld.global.u32 %r2, [%b];\n  add.u32 %r2, %r2, 1;\n"
                             "  mad.wide.u32 %c, %r2, 4, %a;\n  ld.global.u32 %r1, [%c];"));
  const uint64_t x = from_memory.buffer(std::vector<uint8_t>(64), "x");
  Report report = from_memory.run({x, from_memory.uninitialized_buffer(64, "arg 1 (indices: buf)")});
  ASSERT_TRUE(report.fault);
  ASSERT_FALSE(report.fault->notes.empty());
  EXPECT_EQ(report.fault->notes.back(),
            "index: may come from line 10, which reads 'arg 1 (indices: buf)' at byte "
            "0, which was never written");

  Kernel from_register(reading("  mad.wide.u32 %c, %r5, 4, %a;\n  ld.global.u32 %r1, [%c];"));
  report = from_register.run({from_register.buffer(std::vector<uint8_t>(64), "x"), 0});
  ASSERT_TRUE(report.fault);
  ASSERT_FALSE(report.fault->notes.empty());
  EXPECT_EQ(report.fault->notes.back(),
            "index: may come from line 10, which reads register %r5, which was never written");

  Kernel direct(reading("  mov.b64 %c, %d;\n  ld.global.u32 %r1, [%c];"));
  report = direct.run({direct.buffer(std::vector<uint8_t>(64), "x"), 0});
  ASSERT_TRUE(report.fault);
  ASSERT_FALSE(report.fault->notes.empty());

  // What the access has read, before, is not its address.
  Kernel again(reading("LOOP:\n  ld.global.u32 %r1, [%a];\n  add.u64 %a, %a, 4096;\n  bra LOOP;"));
  report = again.run({again.uninitialized_buffer(64, "x"), 0});
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(report.uninitialized_reads, 32u);
  EXPECT_TRUE(report.fault->notes.empty());

  // What was written says nothing, and neither does another value that was not.
  Kernel other(reading("  ld.global.u32 %r2, [%b];\n  mad.wide.u32 %c, %r0, 4, %a;\n  add.u32 %r3, %r2, 1;\n"
                       "  ld.global.u32 %r1, [%c+4096];"));
  report = other.run({other.buffer(std::vector<uint8_t>(64), "x"), other.uninitialized_buffer(64, "y")});
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(report.uninitialized_reads, 32u);
  EXPECT_TRUE(report.fault->notes.empty());
}

} // namespace
} // namespace lemma::vgpu
