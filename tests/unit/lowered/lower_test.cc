// What operands become, and in which order blocks lie: PTX in, the lowered program as text out.
#include "lowered/lower.h"

#include "text.h"

#include "ptx/parser.h"

#include <gtest/gtest.h>

#include <memory>

namespace lemma::lowered {
namespace {

TEST(Lower, operands_are_registers_and_constants) {
  EXPECT_EQ(lowered("add.s32 %r0, %r1, -4; mov.f32 %f0, 0f3F800000; mov.f64 %d0, 0f3F800000;\n"
                    "setp.eq.u32 %p0|%p1, %r0, 0; @!%p1 mov.b64 %rd0, {%r1, %r2};"),
            "b0:\n"
            "  %r0 = add.s32 %r1, -4\n"
            "  %f0 = mov.f32 0x3f800000\n"
            "  %d0 = mov.f64 0x3ff0000000000000\n"
            "  %p0, %p1 = setp.eq.u32 %r0, 0\n"
            "  @!%p1 %rd0 = mov.b64 %r1, %r2\n"
            "b1:\n"
            "  end\n");
}

TEST(Lower, what_an_operand_needs_is_computed_before) {
  EXPECT_EQ(lowered("selp.b32 %r0, %r1+8, %r2, !%p0;\n @%p0 mov.b64 %rd0, {%r1, %ntid.x};\n"
                    "mov.u16 %h0, %ctaid.y;\n ret;"),
            "b0:\n"
            "  t0 = add %r1, 8\n"
            "  t1 = not %p0\n"
            "  %r0 = selp.b32 t0, %r2, t1\n"
            "  t2 = special %ntid.x\n"
            "  @%p0 %rd0 = mov.b64 %r1, t2\n"
            "  t3 = special %ctaid.y\n"
            "  t4 = low t3\n"
            "  %h0 = mov.u16 t4\n"
            "  ret\n"
            "b1:\n"
            "  end\n");
}

TEST(Lower, a_special_register_is_read_where_it_goes) {
  EXPECT_EQ(lowered("@%p0 mov.u32 %r0, %tid.x; mov.u32 %r1, %clock; ret;"),
            "b0:\n"
            "  @%p0 %r0 = special %tid.x\n"
            "  t0 = special %clock\n" // a clock counts the instructions before it
            "  %r1 = mov.u32 t0\n"
            "  ret\n"
            "b1:\n"
            "  end\n");
}

TEST(Lower, variables_lie_where_their_names_say) {
  EXPECT_EQ(lowered(".local .b32 frame[4];\n.shared .b32 tile[64];\n"
                    "ld.param.u64 %rd0, [p+8]; ld.u32 %r0, [table+4]; st.shared.u32 [tile+16], %r0;\n"
                    "ld.shared.u32 %r1, [dynamic+4]; mov.u32 %r2, tile; mov.u64 %rd1, table+8;\n"
                    "st.local.u32 [frame+4], %r2; ld.global.v2.u32 {%r3, _}, [%rd0+32]; ld.global.u32 %r4, "
                    "[%rd1]; ret;",
                    {.before = ".global .b32 table[4];\n.extern .shared .b32 dynamic[];",
                     .parameters = ".param .u64 p[2]"}),
            "b0:\n"
            "  %rd0 = ld.param.u64 [p+8]\n"
            "  %r0 = ld.u32 [table+4]\n"
            "  st.shared.u32 [tile+16], %r0\n"
            "  t0 = place dynamic\n"
            "  %r1 = ld.shared.u32 [t0+4]\n"
            "  t1 = place tile\n"
            "  %r2 = mov.u32 t1\n"
            "  %rd1 = mov.u64 table+8\n"
            "  t2 = place frame\n"
            "  st.local.u32 [t2+4], %r2\n"
            "  %r3, _ = ld.global.v2.u32 [%rd0+32]\n"
            "  %r4 = ld.global.u32 [%rd1]\n"
            "  ret\n"
            "b1:\n"
            "  end\n");
}

TEST(Lower, a_vector_register_is_its_components) {
  EXPECT_EQ(lowered("ld.global.v2.b32 %v, [%rd0]; add.u32 %r0, %v.x, %v.y; mov.b64 %rd1, %v; ret;"),
            "b0:\n"
            "  %v.x, %v.y = ld.global.v2.b32 [%rd0]\n"
            "  %r0 = add.u32 %v.x, %v.y\n"
            "  %rd1 = mov.b64 %v.x, %v.y\n"
            "  ret\n"
            "b1:\n"
            "  end\n");
}

TEST(Lower, coordinates_follow_their_map) {
  EXPECT_EQ(lowered("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                    " [tile], [%rd0, {%r0, 64}], [%r1]; ret;",
                    {.before = ".shared .align 128 .b8 tile[4096];"}),
            "b0:\n"
            "  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], "
            "[%rd0], %r0, 64, [%r1]\n"
            "  ret\n"
            "b1:\n"
            "  end\n");
}

TEST(Lower, calls_give_results_first) {
  EXPECT_EQ(lowered("{ .param .b32 out; .param .b64 in; st.param.b64 [in], %rd0; call (out), f, (in);\n"
                    "ld.param.b32 %r0, [out]; }\n call (%r1), g, (%r0, 7);\n ret;",
                    {.before = ".func (.param .b32 r) f(.param .b64 x) { ret; }\n"
                               ".func (.reg .b32 r) g(.reg .b32 a, .reg .b16 b) { ret; }"}),
            "b0:\n"
            "  st.param.b64 [in], %rd0\n"
            "  out = call f, in\n"
            "  %r0 = ld.param.b32 [out]\n"
            "  %r1 = call g, %r0, 7\n"
            "  ret\n"
            "b1:\n"
            "  end\n");
}

TEST(Lower, blocks_lie_in_the_order_of_execution) {
  EXPECT_EQ(lowered("@%p0 bra FAR;\nBACK:\n mov.b32 %r1, 1;\n ret;\nFAR:\n mov.b32 %r1, 2;\n bra BACK;\n"),
            "b0:\n"
            "  @%p0 bra b1\n"
            "  jump b2\n"
            "b1:\n"
            "  %r1 = mov.b32 2\n"
            "  bra b2\n"
            "b2:\n"
            "  %r1 = mov.b32 1\n"
            "  ret\n"
            "b3:\n"
            "  end\n");
}

TEST(Lower, an_instruction_has_its_first_one) {
  const auto parsed = ptx::parse(std::make_shared<SourceText>(
      "two.ptx", ".version 8.6\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .b64 %rd<3>;\n"
                 "mov.b64 %rd0, {%ntid.x, %ntid.y};\n add.u64 %rd1, %rd0, 1;\n ret;\n}\n"));
  ASSERT_FALSE(has_errors(parsed.diagnostics)) << render(parsed.diagnostics, *parsed.module->source);
  const Function function = lower(*parsed.module, parsed.module->functions[0], 90);
  EXPECT_EQ(function.first_inst, (std::vector<uint32_t>{0, 3, 4, 5}));
  EXPECT_EQ(function.insts[2].source, 0u);
}

} // namespace
} // namespace lemma::lowered
