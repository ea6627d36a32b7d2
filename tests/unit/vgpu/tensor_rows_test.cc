// .tile::gather4 and .tile::scatter4: four rows of a tensor by their coordinates, as one box. No hardware
// that has them has been measured: what is expected is the ISA's text, and the rules of tiles.
#include "tensor_copy_fixture.h"

#include <array>

namespace lemma::vgpu {
namespace {

class TensorRows : public TensorCopies {
protected:
  TensorRows() { map.box = {32, 1}; }

  Report run_rows(const std::string& body, uint32_t ctas = 1, const std::string& target = "sm_100a") {
    return run(".version 8.6\n.target " + target + "\n.address_size 64\n" + kernel(body), ctas);
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, TensorRows, every_async_mode(), async_mode_name);

std::string gather(const std::string& coordinates, uint32_t bytes = 512,
                   const char* space = "shared::cluster", const char* group = "") {
  return "  mbarrier.arrive.expect_tx.shared.b64 _, [%b], " + std::to_string(bytes) +
         ";\n  cp.async.bulk.tensor.2d." + space + ".global.tile::gather4.mbarrier::complete_tx::bytes" +
         group + " [%s], [%map, {" + coordinates + "}], [%b];\n";
}

// Word i of the box at %s is 4 * i.
std::string scatter(const std::string& coordinates) {
  return R"(
  mov.u32 %r0, 0;
fill:
  add.u32 %r1, %r0, %s;
  st.shared.u32 [%r1], %r0;
  add.u32 %r0, %r0, 4;
  setp.lt.u32 %p2, %r0, 512;
  @%p2 bra fill;
  fence.proxy.async.shared::cta;
  cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%map, {)" +
         coordinates + R"(}], [%s];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
)";
}

TEST_P(TensorRows, AreGathered) {
  const std::array<int, 4> rows = {5, 0, 7, 5};
  const auto expect = [&](const Report& report) {
    ASSERT_EQ(fault_text(report), "");
    for (uint32_t i = 0; i < 128; ++i)
      ASSERT_EQ(out[i], word(4 + i % 32, rows[i / 32])) << i;
  };
  expect(run_rows(gather("4, 5, 0, 7, 5") + kWait + copy_to_out(128)));
  expect(run_rows(gather("4, 5, 0, 7, 5", 512, "shared::cta") + kWait + copy_to_out(128), 1, "sm_120"));
  expect(run_rows(gather("4, 5, 0, 7, 5", 512, "shared::cta", ".cta_group::1") + kWait + copy_to_out(128)));
}

// The stride of elements from row to row says nothing, since a box has one.
TEST_P(TensorRows, AreThoseThatAreNamed) {
  map.element_strides = {1, 2};
  const Report report = run_rows(gather("0, 1, 2, 3, 4") + kWait + copy_to_out(128));
  ASSERT_EQ(fault_text(report), "");
  for (uint32_t i = 0; i < 128; ++i)
    ASSERT_EQ(out[i], word(i % 32, 1 + i / 32)) << i;
}

TEST_P(TensorRows, OutsideAreFilledAndCounted) {
  const std::array<int, 4> rows = {-1, 3, 8, 0x7fffffff};
  for (const TensorFill fill : {TensorFill::zeros, TensorFill::nan}) {
    map.oob_fill = fill;
    const Report report = run_rows(gather("48, -1, 3, 8, 0x7fffffff") + kWait + copy_to_out(128));
    ASSERT_EQ(fault_text(report), "");
    for (uint32_t i = 0; i < 128; ++i)
      ASSERT_EQ(out[i], word(48 + i % 32, rows[i / 32], fill == TensorFill::nan ? 0x7ff77ff7 : 0)) << i;
  }
}

TEST_P(TensorRows, AreSwizzledAsABox) {
  map.swizzle = TensorSwizzle::b128;
  const Report report =
      run_rows("  add.u32 %s, %s, 512;\n" + gather("0, 6, 2, 4, 0") + kWait + copy_to_out(128));
  ASSERT_EQ(fault_text(report), "");
  const std::array<int, 4> rows = {6, 2, 4, 0};
  for (uint32_t i = 0; i < 128; ++i) {
    const uint32_t address = 512 + i * 4, swizzled = address ^ ((address >> 7 & 7) << 4);
    ASSERT_EQ(out[(swizzled - 512) / 4], word(i % 32, rows[i / 32])) << i;
  }
}

TEST_P(TensorRows, GoToEveryCtaOfAMask) {
  const Report report = run_rows(R"(
  mbarrier.arrive.expect_tx.shared.b64 _, [%b], 512;
  setp.ne.u32 %p1, %rank, 0;
  @%p1 bra wait;
  mov.u16 %h0, 3;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%map, {0, 3, 1, 2, 0}], [%b], %h0;
)" + std::string(kWait) + R"(
  ld.shared.u32 %r2, [%s + 132];
  mul.wide.u32 %a0, %rank, 4;
  add.u64 %a0, %a0, %out;
  st.global.u32 [%a0], %r2;
)",
                                 2);
  ASSERT_EQ(fault_text(report), "");
  EXPECT_EQ(out[0], word(1, 1));
  EXPECT_EQ(out[1], word(1, 1));
}

TEST_P(TensorRows, AreScattered) {
  store_to_out = true;
  const Report report = run_rows(scatter("48, 6, 1, 9, 0")); // half of each row, and one row, are outside
  ASSERT_EQ(fault_text(report), "");
  const std::array<int, 8> from = {3, 1, -1, -1, -1, -1, 0, -1}; // by row of the tensor, in the box
  for (uint32_t y = 0; y < kHeight + 4; ++y)
    for (uint32_t x = 0; x < kWidth; ++x) {
      const int row = y < kHeight ? from[y] : -1;
      EXPECT_EQ(out[y * kWidth + x],
                row >= 0 && x >= 48 ? 4 * (static_cast<uint32_t>(row) * 32 + x - 48) : 0xaaaaaaaa)
          << x << ", " << y;
    }
}

TEST_P(TensorRows, ArePrefetched) {
  const char* const prefetch =
      "  cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%map, {0, 1, 2, 3, 4}];\n";
  EXPECT_EQ(fault_text(run_rows(prefetch)), "");
  map.box = {32, 4};
  EXPECT_NE(fault_text(run_rows(prefetch)).find("the box of the tensor map has 4 rows: .tile::gather4 takes"),
            std::string::npos);
}

TEST_P(TensorRows, SayWhatIsWrong) {
  const auto expect = [&](const std::string& body, const std::string& message) {
    const std::string text = fault_text(run_rows(body));
    EXPECT_NE(text.find(message), std::string::npos) << text;
  };
  expect(gather("1, 0, 1, 2, 3"), "the innermost coordinate 1 is at byte 4");
  expect("  add.u32 %s, %s, 64;\n" + gather("0, 0, 1, 2, 3"), "align");
  expect(scatter("0, 0, 1, 2, -3"), "coordinate 4 is -3: a store or a reduction takes no negative ones");
  map.dims[1] = 9;
  expect(gather("0, 1, 2, 8, 3"), "out of bounds"); // of the memory
  map.dims[1] = kHeight;
  map.box = {32, 2};
  expect(gather("0, 0, 1, 2, 3"), "the box of the tensor map has 2 rows: .tile::gather4 takes four");
  expect(scatter("0, 0, 1, 2, 3"), "the box of the tensor map has 2 rows: .tile::scatter4 takes four");
  map = {.type = TensorType::f32, .dims = {16, 4, 8}, .strides_bytes = {64, 256}, .box = {16, 1, 1}};
  expect(gather("0, 0, 1, 2, 3"), "the tensor map has 3 dimensions, the instruction has 2");
  map = {.type = TensorType::f32,
         .dims = {16, 4, 8},
         .strides_bytes = {64, 256},
         .im2col = TensorIm2col{.lower = {0}, .upper = {0}, .channels_per_pixel = 8, .pixels_per_column = 8}};
  expect(gather("0, 0, 1, 2, 3"), "the tensor map has 3 dimensions, the instruction has 2");
  map = {.type = TensorType::f32, .dims = {64, 8}, .strides_bytes = {256}, .box = {64, 1}};
  expect("  add.u32 %s, %s, 7680;\n" + gather("0, 0, 1, 2, 3", 1024), "out of bounds"); // of shared memory
}

} // namespace
} // namespace lemma::vgpu
