// Tensor copies: boxes through shared memory and back, swizzles, fills, multicast, when they run, and misuse.
#include "tensor_copy_fixture.h"

namespace lemma::vgpu {
namespace {

INSTANTIATE_TEST_SUITE_P(Modes, TensorCopies, every_async_mode(), async_mode_name);

TEST_P(TensorCopies, LoadsABox) {
  const Report report = run(kernel(load_box(512, "4, 2") + kWait + copy_to_out(128)));
  ASSERT_EQ(fault_text(report), "");
  for (uint32_t i = 0; i < 128; ++i)
    ASSERT_EQ(out[i], word(4 + i % 32, 2 + i / 32)) << i;
}

TEST_P(TensorCopies, SwizzlesByTheAddress) {
  for (const TensorSwizzle swizzle : {TensorSwizzle::b32, TensorSwizzle::b64, TensorSwizzle::b128}) {
    map.swizzle = swizzle;
    const uint32_t mask = (1u << static_cast<int>(swizzle)) - 1, width = (mask + 1) * 4;
    map.box = {width, 8};
    // 128 bytes after the pattern's beginning, so that offsets in the box do not do.
    const Report report = run(
        kernel("  add.u32 %s, %s, 128;\n" + load_box(width * 32, "8, 0") + kWait + copy_to_out(width * 8)));
    ASSERT_EQ(fault_text(report), "");
    for (uint32_t i = 0; i < width * 8; ++i) {
      const uint32_t address = 128 + i * 4;
      const uint32_t swizzled = address ^ ((address >> 7 & mask) << 4);
      ASSERT_EQ(out[(swizzled - 128) / 4], word(8 + i % width, i / width)) << mask << ", " << i;
    }
  }
}

TEST_P(TensorCopies, FillsOutsideAndCompletesAllBytes) {
  for (const TensorFill fill : {TensorFill::zeros, TensorFill::nan}) {
    map.oob_fill = fill;
    const Report report = run(kernel(load_box(512, "-16, 6") + kWait + copy_to_out(128)));
    ASSERT_EQ(fault_text(report), "");
    for (uint32_t i = 0; i < 128; ++i)
      ASSERT_EQ(out[i],
                word(static_cast<int>(i % 32) - 16, 6 + i / 32, fill == TensorFill::nan ? 0x7ff77ff7 : 0))
          << i;
  }
}

// The values are an H200's.
TEST_P(TensorCopies, RoundToTf32ButFlushNothing) {
  const std::vector<std::pair<uint32_t, uint32_t>> pairs = {
      {0x00000001, 0x00000000}, {0x807fffff, 0x80800000}, {0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f800000},
      {0x3f801001, 0x3f802000}, {0x3f803000, 0x3f804000}, {0x7f7fffff, 0x7f800000}, {0xff7ff000, 0xff800000},
      {0xff800000, 0xff800000}, {0x7f800001, 0x7fffe000}, {0xffc12345, 0x7fffe000}, {0x00001000, 0x00000000},
      {0x80003000, 0x80004000}, {0xbf801800, 0xbf802000}, {0x80000000, 0x80000000}};
  for (size_t i = 0; i < pairs.size(); ++i)
    words[i] = pairs[i].first;
  for (const TensorType type : {TensorType::tf32, TensorType::tf32_ftz, TensorType::f32_ftz}) {
    map.type = type;
    const Report report = run(kernel(load_box(512, "0, 0") + kWait + copy_to_out(16)));
    ASSERT_EQ(fault_text(report), "");
    for (size_t i = 0; i < pairs.size(); ++i)
      EXPECT_EQ(out[i], type == TensorType::f32_ftz ? pairs[i].first : pairs[i].second) << i;
  }
}

TEST_P(TensorCopies, StoresWhatLiesInTheTensor) {
  store_to_out = true;
  const Report report = run(kernel(R"(
  mov.u32 %r0, 0;
fill:
  add.u32 %r1, %r0, %s;
  st.shared.u32 [%r1], %r0;
  add.u32 %r0, %r0, 4;
  setp.lt.u32 %p2, %r0, 512;
  @%p2 bra fill;
  fence.proxy.async.shared::cta;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {48, 6}], [%s];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
)"));
  ASSERT_EQ(fault_text(report), "");
  for (uint32_t y = 0; y < kHeight + 4; ++y)
    for (uint32_t x = 0; x < kWidth; ++x) {
      const bool stored = x >= 48 && y >= 6 && y < kHeight;
      EXPECT_EQ(out[y * kWidth + x], stored ? 4 * ((y - 6) * 32 + x - 48) : 0xaaaaaaaa) << x << ", " << y;
    }
}

TEST_P(TensorCopies, SwizzledBoxesComeBack) {
  store_to_out = false;
  map.swizzle = TensorSwizzle::b128;
  // The tensor's upper left box goes to its lower right one.
  const Report report = run(kernel(load_box(512, "0, 0") + kWait + R"(
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {32, 4}], [%s];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ld.global.u32 %r0, [%in + 1424];
  st.global.u32 [%out], %r0;
)"));
  ASSERT_EQ(fault_text(report), "");
  EXPECT_EQ(out[0], word(36 - 32, 5 - 4)); // byte 1424: x 100 - 64, y 5
}

TEST_P(TensorCopies, MulticastReachesEveryCtaOfTheMask) {
  const Report report = run(kernel(R"(
  mbarrier.arrive.expect_tx.shared.b64 _, [%b], 512;
  setp.ne.u32 %p1, %rank, 1;
  @%p1 bra wait;
  mov.u16 %h0, 5;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%map, {0, 1}], [%b], %h0;
  bra done;
wait:
  setp.eq.u32 %p1, %rank, 3;
  @%p1 bra done;
again:
  mbarrier.try_wait.parity.shared.b64 %p1, [%b], 0;
  @!%p1 bra again;
  ld.shared.u32 %r2, [%s + 4];
  mul.wide.u32 %a0, %rank, 4;
  add.u64 %a0, %a0, %out;
  st.global.u32 [%a0], %r2;
)"),
                            4);
  ASSERT_EQ(fault_text(report), "");
  EXPECT_EQ(out[0], word(1, 1));
  EXPECT_EQ(out[1], 0xaaaaaaaa);
  EXPECT_EQ(out[2], word(1, 1));
  EXPECT_EQ(out[3], 0xaaaaaaaa);
}

// The mbarrier is where the data go, here in CTA 1.
TEST_P(TensorCopies, SignalTheMbarrierBesideTheData) {
  const auto text = [](bool beside) {
    return kernel(std::string(R"(
  mov.u32 %r3, 1;
  setp.eq.u32 %p1, %rank, 1;
  @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 512;
  @%p1 bra wait;
  mapa.shared::cluster.u32 %s, %s, %r3;
)") + (beside ? "  mapa.shared::cluster.u32 %b, %b, %r3;\n" : "") +
                  R"(
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%map, {0, 1}], [%b];
  bra done;
)" + kWait + copy_to_out(8));
  };
  const Report report = run(text(true), 2);
  ASSERT_EQ(fault_text(report), "");
  EXPECT_EQ(out[1], word(1, 1));
  EXPECT_NE(
      fault_text(run(text(false), 2)).find("the data go to CTA rank 1, but the mbarrier is in CTA rank 0"),
      std::string::npos);
}

// Only the CTAs that the mask names need an mbarrier.
TEST_P(TensorCopies, AMulticastSignalsTheMasksCtas) {
  const auto text = [](const std::string& mask) {
    return kernel(R"(
  setp.ne.u32 %p1, %rank, 0;
  @%p1 bra ready;
  mbarrier.inval.shared.b64 [%b];
ready:
  @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 512;
  @%p1 bra wait;
  mov.u16 %h0, )" +
                  mask + R"(;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%map, {0, 1}], [%b], %h0;
  bra done;
)" + kWait + copy_to_out(8));
  };
  EXPECT_EQ(fault_text(run(text("2"), 2)), "");
  EXPECT_EQ(out[1], word(1, 1));
  EXPECT_NE(fault_text(run(text("3"), 2)).find("there is no mbarrier object at shared address"),
            std::string::npos);
  EXPECT_NE(fault_text(run(text("0"), 2)).find("the CTA mask is 0"), std::string::npos);
  EXPECT_NE(fault_text(run(text("0xffff"), 2)).find("names CTAs that the cluster of 2 does not have"),
            std::string::npos);
}

TEST_P(TensorCopies, LoadsPixels) {
  map = {.type = TensorType::f32,
         .dims = {16, 4, 4, 2},
         .strides_bytes = {64, 256, 1024},
         .im2col = TensorIm2col{
             .lower = {-1, -1}, .upper = {-1, -1}, .channels_per_pixel = 8, .pixels_per_column = 8}};
  const Report report = run(kernel(R"(
  mbarrier.arrive.expect_tx.shared.b64 _, [%b], 256;
  mov.u16 %h0, 1;
  mov.u16 %h1, 2;
  cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%s], [%map, {8, -1, 0, 0}], [%b], {%h0, %h1};
)" + std::string(kWait) + copy_to_out(64)));
  ASSERT_EQ(fault_text(report), "");
  for (int i = 0; i < 64; ++i) {
    const int w = i / 8 % 4 - 1 + 1, h = i / 32 + 2, c = 8 + i % 8;
    ASSERT_EQ(out[static_cast<size_t>(i)],
              w >= 0 && w < 4 && h < 4 ? words[static_cast<size_t>(h * 64 + w * 16 + c)] : 0)
        << i;
  }
}

TEST_P(TensorCopies, SayWhatIsWrong) {
  // The tensor's own elements: any bytes are a map of something.
  const Report none = run(kernel("  mov.u64 %map, %in;\n" + load_box(512, "0, 0")));
  EXPECT_NE(fault_text(none).find("the tensor map has 1 dimensions, the instruction has 2"),
            std::string::npos)
      << fault_text(none);
  const Report rank = run(kernel(load_box(512, "0, 0, 0", 3)));
  EXPECT_NE(fault_text(rank).find("the tensor map has 2 dimensions, the instruction has 3"),
            std::string::npos)
      << fault_text(rank);
  const Report inner = run(kernel(load_box(512, "1, 0")));
  EXPECT_NE(fault_text(inner).find("innermost coordinate 1 is at byte 4"), std::string::npos)
      << fault_text(inner);
  const Report align = run(kernel("  add.u32 %s, %s, 64;\n" + load_box(512, "0, 0")));
  EXPECT_NE(fault_text(align).find("align"), std::string::npos) << fault_text(align);
  const Report bounds = run(kernel("  add.u32 %s, %s, 0x100000;\n" + load_box(512, "0, 0")));
  EXPECT_NE(fault_text(bounds).find("out of bounds"), std::string::npos) << fault_text(bounds);
  map.dims[1] = 9;
  const Report tensor = run(kernel(load_box(512, "0, 8")));
  EXPECT_NE(fault_text(tensor).find("out of bounds"), std::string::npos) << fault_text(tensor);
}

class LateTensorCopies : public TensorCopies {};
INSTANTIATE_TEST_SUITE_P(Late, LateTensorCopies, testing::Values(AsyncMode::late));

// Without a wait the box is as it was.
TEST_P(LateTensorCopies, ShowAMissingWait) {
  const Report report = run(kernel("  st.shared.u32 [%s], 7;\n" + load_box(512, "0, 0") +
                                   "  ld.shared.u32 %r0, [%s];\n  st.global.u32 [%out], %r0;\n"));
  ASSERT_EQ(fault_text(report), "");
  EXPECT_EQ(out[0], 7u);
}

// Without the proxy fence the store takes what was there before.
TEST_P(LateTensorCopies, ShowAMissingFence) {
  store_to_out = true;
  const Report report = run(kernel(load_box(512, "0, 0") + kWait + R"(
  st.shared.u32 [%s], 7;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {32, 0}], [%s];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
)"));
  ASSERT_EQ(fault_text(report), "");
  EXPECT_EQ(out[32], 0xaaaaaaaau);
}

} // namespace
} // namespace lemma::vgpu
