// Tensor copies whose swizzle has atoms of more than 16 bytes, of sm_100, in both directions, and
// tensormap.replace.tile.swizzle_atomicity. What is expected follows the CUDA driver's manual and what
// layout/swizzle.h assumes; no hardware has confirmed it.
#include "tensor_copy_fixture.h"

namespace lemma::vgpu {
namespace {

constexpr TensorSwizzle kAtoms[] = {TensorSwizzle::b128_atom_32b, TensorSwizzle::b128_atom_32b_flip_8b,
                                    TensorSwizzle::b128_atom_64b};

// Where word `word` of line `line` of 128 bytes goes to.
uint32_t swizzled(uint32_t line, uint32_t word, TensorSwizzle swizzle) {
  uint32_t atom_words = 8, atoms = 4;
  if (swizzle == TensorSwizzle::b128_atom_64b)
    atom_words = 16, atoms = 2;
  uint32_t in_atom = word % atom_words;
  if (swizzle == TensorSwizzle::b128_atom_32b_flip_8b && line % 2 == 1)
    in_atom = in_atom / 4 * 4 + (in_atom + 2) % 4;
  return line * 32 + (word / atom_words ^ line % atoms) * atom_words + in_atom;
}

class SwizzleAtoms : public TensorCopies {
protected:
  void SetUp() override {
    TensorCopies::SetUp();
    map.box = {32, 8};
  }
  Report run_on(const std::string& target, const std::string& body) {
    return run(".version 8.7\n.target " + target + "\n.address_size 64\n" + kernel(body), 1, 1);
  }
  // A line after the pattern's beginning.
  std::string load() const {
    return "  add.u32 %s, %s, 128;\n" + load_box(1024, "8, 0") + kWait + copy_to_out(256);
  }
  void expect_loaded(TensorSwizzle swizzle) const {
    for (uint32_t row = 0; row < 8; ++row)
      for (uint32_t i = 0; i < 32; ++i)
        ASSERT_EQ(out[swizzled(row + 1, i, swizzle) - 32], word(8 + i, row)) << row << ", " << i;
  }
};

INSTANTIATE_TEST_SUITE_P(Modes, SwizzleAtoms, every_async_mode(), async_mode_name);

TEST_P(SwizzleAtoms, AreLoaded) {
  for (const TensorSwizzle swizzle : kAtoms)
    for (const char* target : {"sm_100a", "sm_120a"}) {
      map.swizzle = swizzle;
      const Report report = run_on(target, load());
      ASSERT_EQ(fault_text(report), "");
      expect_loaded(swizzle);
    }
}

TEST_P(SwizzleAtoms, AreStored) {
  store_to_out = true;
  for (const TensorSwizzle swizzle : kAtoms) {
    map.swizzle = swizzle;
    const Report report = run_on("sm_100a", R"(
  add.u32 %s, %s, 128;
  mov.u32 %r0, 0;
fill:
  add.u32 %r1, %r0, %s;
  st.shared.u32 [%r1], %r0;
  add.u32 %r0, %r0, 4;
  setp.lt.u32 %p2, %r0, 1024;
  @%p2 bra fill;
  fence.proxy.async.shared::cta;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {16, 0}], [%s];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
)");
    ASSERT_EQ(fault_text(report), "");
    EXPECT_EQ(report.uninitialized_reads, 0u);
    for (uint32_t y = 0; y < kHeight; ++y)
      for (uint32_t x = 0; x < kWidth; ++x)
        ASSERT_EQ(out[y * kWidth + x],
                  x < 16 || x >= 48 ? 0xaaaaaaaa : 4 * (swizzled(y + 1, x - 16, swizzle) - 32))
            << x << ", " << y;
  }
}

TEST_P(SwizzleAtoms, AreReplaced) {
  for (int atoms = 0; atoms <= 3; ++atoms) {
    map.swizzle = TensorSwizzle::b128;
    const std::string replace = "  tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%map], " +
                                std::to_string(atoms) + ";\n";
    const Report report = run_on("sm_100a", replace + load());
    ASSERT_EQ(fault_text(report), "");
    if (atoms != 0)
      expect_loaded(kAtoms[atoms - 1]);
    else
      EXPECT_EQ(out[(1 ^ 0) * 4], word(8, 0)); // chunk 0 of line 1
  }
  map.swizzle = TensorSwizzle::b64;
  map.box = {16, 8};
  const Report report =
      run_on("sm_100a", "  tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%map], 1;\n" +
                            load_box(512, "0, 0"));
  EXPECT_NE(fault_text(report).find("its swizzle atomicity is 1 with swizzle 64B"), std::string::npos)
      << fault_text(report);
}

// The bits say nothing to sm_90.
TEST_P(SwizzleAtoms, AreIgnoredBySm90) {
  map.swizzle = TensorSwizzle::b128_atom_64b;
  const Report report = run_on("sm_90a", load());
  ASSERT_EQ(fault_text(report), "");
  for (uint32_t row = 0; row < 8; ++row)
    for (uint32_t i = 0; i < 32; ++i)
      ASSERT_EQ(out[row * 32 + ((i / 4) ^ (row + 1) % 8) * 4 + i % 4], word(8 + i, row)) << row << ", " << i;
}

// The CUDA driver's manual has no loads of it.
TEST_P(SwizzleAtoms, Of64BytesAreForStoresOf6Bits) {
  map = {.type = TensorType::b6x16_p32,
         .dims = {128, 4},
         .strides_bytes = {96},
         .box = {128, 4},
         .swizzle = TensorSwizzle::b128_atom_64b};
  const std::string said = fault_text(run_on("sm_100a", load_box(384, "0, 0") + kWait));
  EXPECT_NE(said.find("elements of 6 bits and swizzle 128B_ATOM_64B: stores take both, loads do not"),
            std::string::npos)
      << said;
  EXPECT_EQ(fault_text(run_on("sm_100a", R"(
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {0, 0}], [%s];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
)")),
            "");
}

} // namespace
} // namespace lemma::vgpu
