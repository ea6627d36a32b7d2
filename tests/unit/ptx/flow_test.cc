// The order of blocks, on kernels of a few labels: bodies that stand far away, loops, unreachable code.
#include "ptx/dominators.h"

#include "ptx/flow.h"
#include "ptx/parser.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lemma::ptx {
namespace {

std::unique_ptr<Module> module_of(std::string_view body) {
  const std::string text = std::string(".version 8.6\n.target sm_90a\n.address_size 64\n.entry k() {\n"
                                       ".reg .pred %p<9>;\n.reg .b32 %r<9>;\n") +
                           std::string(body) + "\n}\n";
  auto parsed = parse(std::make_shared<SourceText>("flow.ptx", text));
  EXPECT_FALSE(has_errors(parsed.diagnostics)) << render(parsed.diagnostics, *parsed.module->source);
  return std::move(parsed.module);
}

// Every block but those at the end of a back edge comes after all its predecessors.
TEST(Flow, an_if_whose_body_stands_at_the_end_comes_before_what_follows) {
  const auto module = module_of(R"(
    @%p0 bra FAR;
  BACK:
    mov.b32 %r1, 1;
    ret;
  FAR:
    mov.b32 %r1, 2;
    bra BACK;
  )");
  const Flow flow = flow_of(module->functions[0]);
  const auto& blocks = flow.blocks;
  const auto order = layout_order(flow);
  ASSERT_EQ(order.size(), blocks.size());
  const auto at = [&](uint32_t block) {
    return std::find(order.begin(), order.end(), block) - order.begin();
  };
  EXPECT_EQ(at(0), 0);
  EXPECT_LT(at(2), at(1)) << "FAR must run before BACK, where its lanes join the others";
}

TEST(Flow, a_loop_lies_together_and_its_exit_after_it) {
  const auto module = module_of(R"(
    mov.b32 %r0, 0;
  LOOP:
    @%p0 bra OUT;
    @%p1 bra SKIP;
    add.u32 %r0, %r0, 1;
  SKIP:
    bra LOOP;
  OUT:
    ret;
  )");
  const Flow flow = flow_of(module->functions[0]);
  const auto& blocks = flow.blocks;
  const auto order = layout_order(flow);
  const auto out = std::find_if(order.begin(), order.end(), [&](uint32_t b) {
    return blocks[b].begin < blocks[b].end &&
           module->functions[0].instructions[blocks[b].begin].opcode == isa::Opcode::ret;
  });
  for (auto it = order.begin(); it != out; ++it)
    EXPECT_LT(blocks[*it].begin, blocks[*out].begin);
}

TEST(Flow, every_block_occurs_once_even_unreachable_ones) {
  const auto module = module_of(R"(
    bra A;
  B:
    @%p0 bra A;
    bra C;
  A:
    @%p1 bra B;
  C:
    @%p2 bra C;
    ret;
    mov.b32 %r0, 1;
  )");
  const Flow flow = flow_of(module->functions[0]);
  const auto& blocks = flow.blocks;
  auto order = layout_order(flow);
  EXPECT_EQ(order[0], 0u);
  std::sort(order.begin(), order.end());
  for (uint32_t b = 0; b < blocks.size(); ++b)
    EXPECT_EQ(order[b], b);
}

// Two ways from the first block, of which one loops, and a block that nothing leads to.
TEST(Dominators, are_what_every_path_comes_through) {
  const auto module = module_of(R"(
    @%p0 bra ELSE;
  LOOP:
    add.u32 %r0, %r0, 1;
    @%p1 bra LOOP;
    bra MEET;
  ELSE:
    mov.b32 %r1, 2;
  MEET:
    ret;
    mov.b32 %r1, 3;
    ret;
  )");
  const Flow flow = flow_of(module->functions[0]);
  const auto end = static_cast<uint32_t>(flow.blocks.size());
  ASSERT_GE(end, 6u); // the branch, LOOP, its end, ELSE, MEET, and what nothing leads to
  const auto first = [](std::vector<uint32_t> all) {
    all.resize(6);
    return all;
  };
  EXPECT_EQ(first(dominators(flow)), (std::vector<uint32_t>{0, 0, 1, 0, 0, kNone}));
  EXPECT_EQ(first(post_dominators(flow)), (std::vector<uint32_t>{4, 2, 4, 4, end, end}));
}

// Round and round: no path leads to the end.
TEST(Dominators, of_a_loop_without_an_end) {
  const auto module = module_of("LOOP:\nadd.u32 %r0, %r0, 1;\nbra LOOP;\n");
  const Flow flow = flow_of(module->functions[0]);
  EXPECT_EQ(dominators(flow).front(), 0u);
  EXPECT_EQ(post_dominators(flow).front(), kNone);
}

} // namespace
} // namespace lemma::ptx
