// Fragments and tiles as public data: against the formulae of the PTX ISA.
#include "lemma/isa.h"

#include <gtest/gtest.h>

#include <set>

namespace lemma {
namespace {

// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type": A.
TEST(Layout, FragmentsAreThoseOfTheIsa) {
  const auto mma = describe_matrix("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  ASSERT_TRUE(mma) << mma.error().text;
  const MatrixOperand& a = mma->operands[1];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.type, "f16");
  EXPECT_EQ(a.registers, 4);
  EXPECT_EQ(a.elements.size(), 16u * 16);
  EXPECT_EQ(a.adjacent_cols, 2);
  std::set<std::pair<int, int>> seen;
  for (const FragmentElement& e : a.elements) {
    const int i = 2 * e.reg + e.elem, group = e.lane >> 2, in_group = e.lane % 4;
    EXPECT_EQ(e.row, group + ((i >> 1) % 2 ? 8 : 0));
    EXPECT_EQ(e.col, in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0));
    seen.emplace(e.row, e.col);
  }
  EXPECT_EQ(seen.size(), 256u);
}

TEST(Layout, MetadataAndScalesSayWhatTheirSelectorsDo) {
  const auto sparse =
      describe_matrix("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32");
  ASSERT_TRUE(sparse) << sparse.error().text;
  const MatrixOperand& metadata = sparse->operands.back();
  EXPECT_EQ(metadata.kind, MatrixOperand::Kind::metadata);
  EXPECT_EQ(metadata.matrix, 'a');
  ASSERT_EQ(metadata.notes.size(), 1u);
  EXPECT_TRUE(metadata.notes[0].starts_with("metadata: a field is a chunk of 4 columns"));
}

TEST(Layout, TilesAreSwizzledWithinEightLines) {
  const auto tile = lay_out({});
  ASSERT_TRUE(tile) << tile.error().text;
  EXPECT_EQ(tile->element_bytes, 2u);
  EXPECT_EQ(tile->chunk_elems, 8u);
  EXPECT_EQ(tile->lines, 64u);
  EXPECT_EQ(tile->chunks, 8u);
  for (uint32_t line = 0; line < tile->lines; ++line)
    for (uint32_t chunk = 0; chunk < tile->chunks; ++chunk)
      EXPECT_EQ(tile->address(line, chunk), line * 128 + (chunk ^ line % 8) * 16);
  ASSERT_EQ(tile->conflicts.size(), 3u);
  EXPECT_EQ(tile->conflicts[0].worst, 1u) << "ldmatrix meets no conflict";
  ASSERT_EQ(tile->descriptors.size(), 4u);
  EXPECT_EQ(tile->descriptors[1].start, 32u);
  EXPECT_EQ(tile->descriptors[0].bits >> 62, 1u) << "128B";
}

TEST(Layout, ATileThatCannotBeSaysWhichFieldIsWrong) {
  EXPECT_TRUE(lay_out({.cols = 63}).error().text.starts_with("cols 63: "));
  EXPECT_TRUE(lay_out({.rows = 3}).error().text.starts_with("rows 3: "));
  EXPECT_TRUE(lay_out({.type = "f64"}).error().text.starts_with("type f64: "));
  EXPECT_TRUE(lay_out({.type = "half"}).error().text.starts_with("type half: no such type"));
}

} // namespace
} // namespace lemma
