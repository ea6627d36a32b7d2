// .im2col::w and .im2col::w::128: rows of pixels along W with halos. Which pixels those are is for
// tests/unit/layout/wide_box_test.cc. No hardware that has them has been measured: what is expected is the
// ISA's text.
#include "tensor_copy_fixture.h"

namespace lemma::vgpu {
namespace {

// Images of f32: 8 channels, W 8, H 2, N 4, so that word i of the tensor is 0x3f800000 + i.
class WideRows : public TensorCopies {
protected:
  WideRows() {
    map = {.type = TensorType::f32,
           .dims = {8, 8, 2, 4},
           .strides_bytes = {32, 256, 512},
           .swizzle = TensorSwizzle::b32,
           .im2col = TensorIm2col{
               .lower = {0, 0}, .upper = {0, 0}, .channels_per_pixel = 8, .pixels_per_column = 6}};
  }

  Report run_wide(const std::string& body, uint32_t ctas = 1, const std::string& target = "sm_100a") {
    return run(".version 8.6\n.target " + target + "\n.address_size 64\n" + kernel(body), ctas);
  }

  // Of a pixel's channel in row H = 1.
  uint32_t pixel(uint32_t w, uint32_t n, uint32_t channel) const {
    return words[n * 128 + 64 + w * 8 + channel];
  }
  // Of pixel i of the box, as 32-byte swizzling leaves it: its halves change places with address bit 7.
  uint32_t got(uint32_t i, uint32_t channel) const {
    const uint32_t address = i * 32 + channel * 4;
    return out[(address ^ ((address >> 7 & 1) << 4)) / 4];
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, WideRows, every_async_mode(), async_mode_name);

std::string load(uint32_t pixels, const std::string& coordinates, int halo, int offset,
                 const std::string& mode = "im2col::w", const std::string& space = "shared::cluster") {
  return "  mov.u16 %h0, " + std::to_string(halo) + ";\n  mov.u16 %h1, " + std::to_string(offset) +
         ";\n  mbarrier.arrive.expect_tx.shared.b64 _, [%b], " + std::to_string(pixels * 32) +
         ";\n  cp.async.bulk.tensor.4d." + space + ".global." + mode +
         ".mbarrier::complete_tx::bytes [%s], [%map, {" + coordinates + "}], [%b], {%h0, %h1};\n";
}

// Six pixels from W = 5 of image 1 on, and the two after the last.
TEST_P(WideRows, AreLoadedWithTheirHalo) {
  for (const char* target : {"sm_100a", "sm_120"}) {
    const std::string space = target == std::string("sm_120") ? "shared::cta" : "shared::cluster";
    const Report report =
        run_wide(load(8, "0, 5, 1, 1", 2, 0, "im2col::w", space) + kWait + copy_to_out(80), 1, target);
    ASSERT_EQ(fault_text(report), "");
    EXPECT_TRUE(report.warnings.empty());
    for (uint32_t i = 0; i < 8; ++i)
      for (uint32_t c = 0; c < 8; ++c)
        ASSERT_EQ(got(i, c), i < 3 ? pixel(5 + i, 1, c) : pixel(i - 3, 2, c)) << i << ", " << c;
  }
}

TEST_P(WideRows, AreMovedByTheOffset) {
  const Report report = run_wide(load(6, "0, 0, 1, 0", 0, 3) + kWait + copy_to_out(48));
  ASSERT_EQ(fault_text(report), "");
  for (uint32_t i = 0; i < 6; ++i)
    for (uint32_t c = 0; c < 8; ++c)
      ASSERT_EQ(got(i, c), i < 5 ? pixel(3 + i, 0, c) : 0) << i << ", " << c;
}

// 128 pixels whatever the map says, and one after each 32: the first three are on the left of the image, and
// the fourth image ends early in the second group.
TEST_P(WideRows, Of128HaveAHaloAfterEach32) {
  const Report report =
      run_wide(load(132, "0, -3, 1, 0", 1, 0, "im2col::w::128") + kWait + copy_to_out(1056));
  ASSERT_EQ(fault_text(report), "");
  EXPECT_TRUE(report.warnings.empty());
  for (uint32_t i = 0; i < 132; ++i)
    for (uint32_t c = 0; c < 8; ++c) {
      const uint32_t at = i / 33 * 32 + i % 33;
      ASSERT_EQ(got(i, c), at >= 3 && at < 35 ? pixel((at - 3) % 8, (at - 3) / 8, c) : 0) << i << ", " << c;
    }
}

TEST_P(WideRows, GoToEveryCtaOfAMask) {
  const Report report = run_wide(R"(
  mbarrier.arrive.expect_tx.shared.b64 _, [%b], 192;
  setp.ne.u32 %p1, %rank, 0;
  @%p1 bra wait;
  mov.u16 %h0, 0;
  mov.u16 %h1, 3;
  cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%map, {0, 2, 1, 3}], [%b], {%h0, %h0}, %h1;
)" + std::string(kWait) + R"(
  ld.shared.u32 %r2, [%s + 36];
  mul.wide.u32 %a0, %rank, 4;
  add.u64 %a0, %a0, %out;
  st.global.u32 [%a0], %r2;
)",
                                 2);
  ASSERT_EQ(fault_text(report), "");
  EXPECT_EQ(out[0], pixel(3, 3, 1));
  EXPECT_EQ(out[1], pixel(3, 3, 1));
}

// The last pixel is the last of its row.
TEST_P(WideRows, SayWhatTheIsaLeavesOpen) {
  const Report report = run_wide(load(8, "0, 2, 1, 0", 2, 0) + kWait + copy_to_out(64));
  ASSERT_EQ(fault_text(report), "");
  EXPECT_EQ(got(5, 1), pixel(7, 0, 1));
  EXPECT_EQ(got(6, 1), 0u);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find(
                "the halo of .im2col::w goes beyond the bounding box: the PTX ISA does not say"),
            std::string::npos)
      << report.warnings[0];
}

TEST_P(WideRows, ArePrefetched) {
  const char* const prefetch =
      "  cp.async.bulk.prefetch.tensor.4d.L2.global.im2col::w [%map, {0, 2, 1, 0}], {%h0, %h1};\n";
  EXPECT_EQ(fault_text(run_wide(prefetch)), "");
  map.swizzle = TensorSwizzle::none;
  EXPECT_NE(
      fault_text(run_wide(prefetch)).find("the tensor map has no swizzle: .im2col::w takes maps that have"),
      std::string::npos);
}

TEST_P(WideRows, SayWhatIsWrong) {
  const auto expect = [&](const std::string& body, const std::string& message) {
    const std::string text = fault_text(run_wide(body));
    EXPECT_NE(text.find(message), std::string::npos) << text;
  };
  expect(load(6, "0, 8, 1, 0", 0, 0),
         "coordinate 1 is 8, on the right of the bounding box, which ends with 7");
  expect(load(6, "0, 0, 1, 0", 512, 0),
         "wHalo is 512 and wOffset 0: legal with .im2col::w are 0 to 511 and 0 to 31");
  expect(load(6, "0, 0, 1, 0", 0, 32), "wHalo is 0 and wOffset 32: legal");
  expect(load(6, "0, 0, 1, 0", 32, 0, "im2col::w::128"),
         "legal with .im2col::w::128 are 0 to 31 and 0 to 31");
  map.interleave = TensorInterleave::b32;
  expect(load(6, "0, 0, 1, 0", 0, 0), "the tensor map has an interleaved layout: .im2col::w takes none");
  map = {.type = TensorType::f32, .dims = {8, 8, 2, 4}, .strides_bytes = {32, 256, 512}, .box = {8, 1, 1, 1}};
  expect(load(6, "0, 0, 1, 0", 0, 0), "the tensor map was encoded for tiles, the instruction is for im2col");
}

} // namespace
} // namespace lemma::vgpu
