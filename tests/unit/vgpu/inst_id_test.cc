// Ids of instructions: each decoded one has its own, finds its way back, and says where in the text it is.
#include "kernel.h"
#include "vgpu/code/inst_id.h"
#include "vgpu/memory/place.h"

#include <gtest/gtest.h>

#include <unordered_set>

namespace lemma::vgpu {
namespace {

// What the decoder makes itself - the special register, the negated predicate, a branch of a block laid out
// elsewhere - is named by the instruction that it serves.
TEST(InstId, NamesEachDecodedInstruction) {
  Kernel kernel(R"(
.func (.reg .b32 %d) half(.reg .b32 %a) {
  shr.u32 %d, %a, 1;
  ret;
}
.visible .entry k(.param .u64 p) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<4>;
  .reg .pred %p, %q;
  ld.param.u64 %rd0, [p];
  add.u32 %r0, %tid.x, %ctaid.x;
  setp.lt.u32 %p, %r0, 4;
  selp.u32 %r1, 1, 2, %p;
  and.pred %q, !%p, %p;
  call (%r2), half, (%r1);
@%q bra DONE;
  st.global.u32 [%rd0], %r2;
DONE:
  ret;
}
)");
  const Code& code = kernel.code();
  EXPECT_EQ(code.number, 1u);
  std::unordered_set<InstId, InstIdHash> ids;
  size_t made = 0;
  for (uint32_t pc = 0; pc < code.insts.size(); ++pc) {
    const DecodedInst& in = code.insts[pc];
    const InstId id = code.id_of(in);
    if (pc + 1 == code.insts.size()) { // the end of the body serves none
      EXPECT_FALSE(id);
      continue;
    }
    ASSERT_TRUE(id) << pc;
    EXPECT_EQ(id.function, 1u);
    EXPECT_TRUE(ids.insert(id).second) << pc;
    EXPECT_EQ(code.pc_of(id), pc);
    EXPECT_EQ(&code.at(id), &in);
    EXPECT_EQ(id, code.id_at(pc));
    EXPECT_EQ(id.is_of_text(), in.source != ptx::kNone);
    EXPECT_EQ(code.opcode_of(id), code.opcode_of(in));
    EXPECT_EQ(place_of(code, id).instruction, place_of(code, in).instruction);
    made += !id.is_of_text();
  }
  EXPECT_GE(made, 2u);
  EXPECT_FALSE(InstId());
  EXPECT_FALSE(InstId().is_of_text());
}

TEST(InstId, AreInTheOrderOfTheText) {
  EXPECT_LT((InstId{0, 7}), (InstId{1, 2}));
  EXPECT_LT((InstId{1, 2}), (InstId{1, 3}));
  EXPECT_NE((InstId{1, 2}), (InstId{1, 2, 1}));
}

} // namespace
} // namespace lemma::vgpu
