// What the instruction forms see of an operand.
#include "parse_text.h"
#include "ptx/shapes.h"

#include <gtest/gtest.h>

namespace lemma::ptx {
namespace {

using Kind = isa::OperandShape::Kind;

isa::OperandShapes shapes(const char* body) {
  const ParseOutcome outcome = parse_text(kernel(body));
  EXPECT_FALSE(has_errors(outcome.diagnostics)) << render(outcome.diagnostics, *outcome.module->source);
  isa::OperandShapes out;
  const Function& function = outcome.module->functions[0];
  shapes_of(function.instructions.at(0), function, *outcome.module, out);
  return out;
}

TEST(Shapes, KindsAndTypes) {
  const auto s = shapes("setp.eq.and.s32 %p1|%p2, %r1, -7, !%p3;");
  ASSERT_EQ(s.count, 4u);
  EXPECT_EQ(s.nodes[0].kind, Kind::pair);
  EXPECT_EQ(s.nodes[1].type, Type::b32);
  EXPECT_EQ(s.nodes[2].kind, Kind::imm_int);
  EXPECT_EQ(s.nodes[2].value, -7);
  EXPECT_TRUE(s.nodes[3].negated);
  EXPECT_EQ(shapes("mov.f32 %f1, 0f00000000;").nodes[1].kind, Kind::imm_f32);
  EXPECT_EQ(shapes("mov.f32 %f1, 1.0;").nodes[1].kind, Kind::imm_f64);
  EXPECT_EQ(shapes("mov.u32 %r1, %laneid;").nodes[1].type, Type::u32);
  EXPECT_EQ(shapes("mov.u32 %r1, sh;").nodes[1].space, StateSpace::shared);
}

TEST(Shapes, ChildrenStandTogetherBehindTheirParents) {
  const auto s = shapes("ld.shared.v2.b32 {%r1, _}, [sh+4];");
  ASSERT_EQ(s.count, 2u);
  ASSERT_EQ(s.nodes.size(), 5u);
  EXPECT_EQ(s.nodes[0].children, 2);
  EXPECT_EQ(s.nodes[s.nodes[0].first_child + 1].kind, Kind::sink);
  EXPECT_EQ(s.nodes[1].children, 1);
  EXPECT_EQ(s.nodes[s.nodes[1].first_child].kind, Kind::symbol);
}

TEST(Shapes, AComponentOfAVectorIsAScalar) {
  const auto s = shapes(".reg .v4 .f32 %v; add.f32 %v.x, %v.g, %f1;");
  EXPECT_EQ(s.nodes[0].vector_elems, 1);
  EXPECT_LT(s.nodes[0].selector, 0);
  EXPECT_EQ(shapes("vadd.u32.u32.u32 %r1, %r2.b0, %r3.h1;").nodes[1].selector, 4);
  EXPECT_EQ(shapes(".reg .v2 .b32 %v; st.shared.v2.b32 [sh], %v;").nodes[1].vector_elems, 2);
}

} // namespace
} // namespace lemma::ptx
