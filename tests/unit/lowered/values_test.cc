// What registers are known to hold, seen by what passes make of it: known ones stand before the blocks.
#include "lowered/values.h"

#include "text.h"

#include "lowered/lower.h"
#include "lowered/unwritten.h"
#include "ptx/parser.h"

#include <gtest/gtest.h>

#include <memory>

namespace lemma::lowered {
namespace {

// What is known of %x at the end of a kernel, or of a function.
Value value_of_x(const std::string& body, bool is_kernel = true) {
  const auto parsed = ptx::parse(std::make_shared<SourceText>(
      "values.ptx", ".version 8.6\n.target sm_90a\n.address_size 64\n" +
                        std::string(is_kernel ? ".entry" : ".func") +
                        " k(.param .u64 p) {\n.reg .pred %p;\n.reg .b32 %x, %r<5>;\n.reg .b64 %y, %rd<5>;\n"
                        ".shared .b32 tile[64];\n" +
                        body + " ret;\n}\n"));
  EXPECT_FALSE(has_errors(parsed.diagnostics)) << render(parsed.diagnostics, *parsed.module->source);
  Function function = lower(*parsed.module, parsed.module->functions[0], 90);
  find_unwritten_reads(function);
  return Values(function).of({.kind = OperandKind::reg, .bytes = 4, .index = 1}); // after %p
}

TEST(Values, constants_and_parameters_are_the_same_for_all) {
  for (const char* body : {"mov.u32 %x, 7;", "ld.param.u32 %x, [p];", "mov.u32 %x, %ntid.x;",
                           "mov.u32 %r0, %ctaid.x; mad.lo.u32 %x, %r0, 4, 12;", "mov.u32 %x, tile;"}) {
    const Value value = value_of_x(body);
    EXPECT_TRUE(value.is_known && value.is_uniform()) << body;
  }
  EXPECT_TRUE(value_of_x("mov.u32 %x, 7;").is_constant);
  EXPECT_FALSE(value_of_x("mov.u32 %x, %ntid.x;").is_constant);
  EXPECT_TRUE(value_of_x("mov.u32 %x, %ntid.x;").is_of_cta);
}

TEST(Values, have_the_steps_of_what_they_are_computed_of) {
  EXPECT_EQ(value_of_x("mov.u32 %x, %tid.x;").step, 1);
  EXPECT_EQ(value_of_x("mov.u32 %r0, %tid.x; mad.lo.u32 %x, %r0, 4, %r0;").step, 5);
  EXPECT_EQ(value_of_x("mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 3; sub.u32 %x, 100, %r1;").step, -8);
  EXPECT_EQ(value_of_x("mov.u32 %r0, %tid.x; shr.u32 %x, %r0, 5;").step, 0);
  EXPECT_EQ(value_of_x("mov.u32 %r0, %tid.x; and.b32 %x, %r0, 96;").step, 0);
  const Value unknown = value_of_x("mov.u32 %r0, %tid.x; xor.b32 %x, %r0, 1;");
  EXPECT_TRUE(unknown.is_known);
  EXPECT_FALSE(unknown.step);
}

TEST(Values, are_not_known_of_two_writers_or_of_memory_or_clocks) {
  for (const char* body :
       {"mov.u32 %x, 1; mov.u32 %x, 2;", "mov.pred %p, 1; @%p mov.u32 %x, 1;", "mov.u32 %x, %clock;",
        "ld.param.u64 %rd0, [p]; ld.global.u32 %x, [%rd0];", "add.u32 %x, %r4, 1;",
        "mov.u32 %r0, %clock; add.u32 %x, %r0, 1;", "add.cc.u32 %x, 1, 2;", "addc.u32 %x, 1, 2;"})
    EXPECT_FALSE(value_of_x(body).is_known) << body;
}

TEST(Values, of_a_function_are_its_callers) {
  const Value value = value_of_x("mov.u32 %x, %ntid.x;", false);
  EXPECT_TRUE(value.is_known);
  EXPECT_FALSE(value.is_of_cta);
  EXPECT_FALSE(value_of_x("ld.param.u32 %x, [p];", false).is_known);
}

} // namespace
} // namespace lemma::lowered
