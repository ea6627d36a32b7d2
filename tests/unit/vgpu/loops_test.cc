// What loops can change, of code made by hand: which bytes of the frame count.
#include "vgpu/code/loops.h"

#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

// A function whose instruction `pc` writes register `pc`, of 32 bits.
Code code_of(uint32_t size) {
  Code code;
  code.frame_bytes = code.param_area_offset = size * 128;
  code.loop_state = {{0, static_cast<uint32_t>(code.frame_bytes)}};
  for (uint32_t pc = 0; pc < size; ++pc) {
    Slot slot;
    slot.offset = pc * 128;
    slot.bytes = 4;
    code.set_operands(code.insts.emplace_back(), std::span(&slot, 1), {});
  }
  return code;
}

std::string text(const std::vector<FrameRange>& ranges) {
  std::string text;
  for (const FrameRange& range : ranges)
    text += std::to_string(range.begin) + "-" + std::to_string(range.end) + " ";
  return text;
}
std::string changes_at(const Code& code, uint32_t pc) {
  const Code::Loop* loop = loop_around(code, pc);
  return loop ? text(loop->changes) : "none";
}

TEST(Loops, ChangeWhatTheirInstructionsWrite) {
  Code code = code_of(10);
  code.loops = {{.begin = 2, .end = 4, .changes = {}}, {.begin = 8, .end = 9, .changes = {}}};
  code.insts[8] = {};
  find_changes(code);
  EXPECT_EQ(changes_at(code, 1), "none");
  EXPECT_EQ(changes_at(code, 2), "256-512 ");
  EXPECT_EQ(changes_at(code, 3), "256-512 ");
  EXPECT_EQ(changes_at(code, 4), "none");
  EXPECT_EQ(changes_at(code, 8), "");
  EXPECT_EQ(changes_at(code, 9), "none");
}

TEST(Loops, ClocksAreNoStateAndParametersAlwaysAre) {
  Code code = code_of(6);
  code.param_area_offset = 6 * 128;
  code.frame_bytes = 7 * 128;
  code.loop_state = {{0, 256}, {384, 896}}; // register 2 holds a clock
  code.loops = {{.begin = 1, .end = 4, .changes = {}}};
  find_changes(code);
  EXPECT_EQ(changes_at(code, 1), "128-256 384-512 768-896 ");
}

TEST(Loops, PredicatesAreLookedAtInWholeWords) {
  Code code = code_of(4);
  Slot predicate;
  predicate.offset = 12;
  code.set_operands(code.insts[1], std::span(&predicate, 1), {});
  code.loops = {{.begin = 1, .end = 2, .changes = {}}};
  find_changes(code);
  EXPECT_EQ(changes_at(code, 1), "8-16 ");
}

} // namespace
} // namespace lemma::vgpu
