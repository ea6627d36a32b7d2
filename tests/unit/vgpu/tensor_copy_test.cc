// Tensor copies: boxes through shared memory and back, swizzles, fills, multicast, when they run, and misuse.
#include "kernel.h"
#include "layout/tensor_map.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

namespace lemma::vgpu {
namespace {

constexpr uint32_t kWidth = 64, kHeight = 8; // of the tensor, f32

// One kernel: thread 0 does `body`. %map, %in (the tensor) and %out are addresses, %s that of `box` in shared
// memory, %b that of `bar`, an mbarrier of one arrival.
std::string kernel(const std::string& body, const std::string& tail = "") {
  return R"(
.visible .entry k(.param .u64 map, .param .u64 in, .param .u64 out) {
  .shared .align 1024 .b8 box[8192];
  .shared .align 128 .b8 map_copy[128];
  .shared .align 8 .b64 bar;
  .reg .b64 %map, %in, %out, %a<8>;
  .reg .b32 %t, %s, %b, %rank, %r<16>;
  .reg .b16 %h<4>;
  .reg .pred %p<4>;
  ld.param.u64 %map, [map];
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %s, box;
  mov.u32 %b, bar;
  setp.ne.u32 %p0, %t, 0;
  @%p0 bra after_init;
  mbarrier.init.shared.b64 [%b], 1;
  fence.mbarrier_init.release.cluster;
after_init:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%p0 bra done;
)" + body +
         R"(
done:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)" + tail +
         "  ret;\n}\n";
}

std::string load_box(uint32_t bytes, const std::string& coordinates, int rank = 2) {
  return "  mbarrier.arrive.expect_tx.shared.b64 _, [%b], " + std::to_string(bytes) +
         ";\n  cp.async.bulk.tensor." + std::to_string(rank) +
         "d.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%map, {" + coordinates + "}], [%b];\n";
}

constexpr const char* kWait = R"(
wait:
  mbarrier.try_wait.parity.shared.b64 %p1, [%b], 0;
  @!%p1 bra wait;
)";

// Copies `words` words of the box to %out, one thread.
std::string copy_to_out(uint32_t words) {
  return R"(
  mov.u32 %r0, 0;
copy:
  cvt.u64.u32 %a0, %r0;
  add.u64 %a0, %a0, %out;
  add.u32 %r1, %r0, %s;
  ld.shared.u32 %r2, [%r1];
  st.global.u32 [%a0], %r2;
  add.u32 %r0, %r0, 4;
  setp.lt.u32 %p2, %r0, )" +
         std::to_string(4 * words) + ";\n  @%p2 bra copy;\n";
}

class TensorCopies : public testing::TestWithParam<AsyncMode> {
protected:
  void SetUp() override {
    words.resize(kWidth * kHeight);
    std::iota(words.begin(), words.end(), 0x3f800000u);
  }

  Report run(const std::string& text, uint32_t ctas = 1, uint32_t threads = 32) {
    Kernel kernel(text);
    kernel.config().grid = {ctas, 1, 1};
    kernel.config().block = {threads, 1, 1};
    kernel.config().cluster = {ctas, 1, 1};
    kernel.config().async = GetParam();
    const uint64_t in = kernel.buffer(words, "tensor");
    const uint64_t to = kernel.buffer(std::vector<uint32_t>(4096, 0xaaaaaaaa), "out");
    map.address = store_to_out ? to : in;
    EXPECT_EQ(layout::wrong_with(map), "");
    layout::TensorMapBytes bytes = layout::encode(map);
    if (forge) {
      layout::TensorMapFields fields = layout::decode(bytes);
      forge(fields);
      bytes = layout::encode(fields);
    }
    if (forge_bytes)
      forge_bytes(bytes);
    const uint64_t at = kernel.buffer(std::vector<std::byte>(bytes.begin(), bytes.end()), "map");
    Report report = kernel.run({at, in, to});
    out = kernel.read<uint32_t>(to, 4096);
    return report;
  }

  uint32_t word(int64_t x, int64_t y, uint32_t outside = 0) const {
    return x < 0 || y < 0 || x >= kWidth || y >= kHeight ? outside
                                                         : words[static_cast<size_t>(y * kWidth + x)];
  }

  TensorMap map{
      .type = TensorType::f32, .dims = {kWidth, kHeight}, .strides_bytes = {kWidth * 4}, .box = {32, 4}};
  std::vector<uint32_t> words, out;
  std::function<void(layout::TensorMapFields&)> forge;
  std::function<void(layout::TensorMapBytes&)> forge_bytes;
  bool store_to_out = false;
};

INSTANTIATE_TEST_SUITE_P(Modes, TensorCopies,
                         testing::Values(AsyncMode::eager, AsyncMode::late, AsyncMode::random),
                         [](const auto& mode) {
                           return mode.param == AsyncMode::eager  ? "eager"
                                  : mode.param == AsyncMode::late ? "late"
                                                                  : "random";
                         });

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

TEST_P(TensorCopies, ReplacesFieldsOfTheMap) {
  const Report report = run(kernel(R"(
  tensormap.replace.tile.global_address.global.b1024.b64 [%map], %out;
  tensormap.replace.tile.global_dim.global.b1024.b32 [%map], 1, 3;
  tensormap.replace.tile.box_dim.global.b1024.b32 [%map], 0, 16;
  fence.proxy.tensormap::generic.release.gpu;
  fence.proxy.tensormap::generic.acquire.gpu [%map], 128;
)" + load_box(256, "0, 2") + kWait +
                                   R"(
  ld.shared.u32 %r0, [%s + 60];
  ld.shared.u32 %r1, [%s + 64];
  st.global.u32 [%out], %r0;
  st.global.u32 [%out + 4], %r1;
)"));
  ASSERT_EQ(fault_text(report), "");
  EXPECT_EQ(out[0], 0xaaaaaaaau); // of `out`
  EXPECT_EQ(out[1], 0u);          // row 3: outside now
}

TEST_P(TensorCopies, CopiesAMapAndLoadsByTheCopy) {
  const Report report = run(kernel(R"(
  mov.u32 %r3, map_copy;
  mov.u32 %r0, 0;
copy_map:
  cvt.u64.u32 %a0, %r0;
  add.u64 %a0, %a0, %map;
  ld.global.u32 %r1, [%a0];
  add.u32 %r2, %r0, %r3;
  st.shared.u32 [%r2], %r1;
  add.u32 %r0, %r0, 4;
  setp.lt.u32 %p2, %r0, 128;
  @%p2 bra copy_map;
  tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r3], 0, 1;
  add.u64 %map, %out, 1024;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%map], [%r3], 128;
  fence.proxy.tensormap::generic.acquire.gpu [%map], 128;
)" + load_box(512, "0, 0") + kWait +
                                   copy_to_out(2)),
                            1, 1);
  ASSERT_EQ(fault_text(report), "");
  EXPECT_EQ(out[0], word(0, 0));
  EXPECT_EQ(out[1], 0u);
}

// What a reduction leaves in row 0 of the tensor where the box is all `operand`, after the fence.
std::string reduce_box(const std::string& operation, const std::string& operand) {
  return R"(
  mov.u32 %r0, 0;
fill:
  add.u32 %r1, %r0, %s;
  st.shared.u32 [%r1], )" +
         operand + R"(;
  add.u32 %r0, %r0, 4;
  setp.lt.u32 %p2, %r0, 512;
  @%p2 bra fill;
  fence.proxy.async.shared::cta;
  cp.reduce.async.bulk.tensor.2d.global.shared::cta.)" +
         operation + R"(.bulk_group [%map, {48, 0}], [%s];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
)";
}

TEST_P(TensorCopies, ReduceIntoTheTensor) {
  struct Case {
    TensorType type;
    const char* operation;
    const char* operand;
    uint32_t result; // where 0xaaaaaaaa was
  };
  store_to_out = true;
  const Case cases[] = {
      {TensorType::u32, "add", "0x60000001", 0x0aaaaaab},
      {TensorType::s32, "max", "1", 1},
      {TensorType::u32, "max", "1", 0xaaaaaaaa},
      {TensorType::s32, "min", "1", 0xaaaaaaaa},
      {TensorType::u32, "inc", "0xaaaaaaaa", 0},
      {TensorType::u32, "dec", "0xaaaaaaaa", 0xaaaaaaa9},
      {TensorType::u32, "and", "0xff", 0xaa},
      {TensorType::u32, "or", "0xff", 0xaaaaaaff},
      {TensorType::s32, "xor", "0xff", 0xaaaaaa55},
      {TensorType::f32, "add", "0x40000000", 0x40000000},  // 2 - 3e-13
      {TensorType::f16, "add", "0x2aaaaaaa", 0xaeaa},      // 0xaaaa is -0x2aaa, twice it 0xaeaa
      {TensorType::bf16, "min", "0xbf80bf80", 0xbf80bf80}, // -1
      {TensorType::u64, "add", "0x80000000", 0x2aaaaaaa},
  };
  for (const Case& c : cases) {
    map.type = c.type;
    const uint32_t size = layout::element_bytes(c.type);
    map.dims = {kWidth * 4 / size, kHeight};
    map.box = {128 / size, 4};
    const std::string coordinate = std::to_string(48 * 4 / size);
    std::string body = reduce_box(c.operation, c.operand);
    body.replace(body.find("{48"), 3, "{" + coordinate);
    const Report report = run(kernel(body));
    ASSERT_EQ(fault_text(report), "") << c.operation;
    EXPECT_EQ(out[47], 0xaaaaaaaa);
    EXPECT_EQ(out[48], c.result) << c.operation;
    EXPECT_EQ(out[64 * 4 + 48], 0xaaaaaaaa);
  }
}

// As on an H200.
TEST_P(TensorCopies, ReductionsFlushOnlyWithFtz) {
  store_to_out = false;
  for (const TensorType type :
       {TensorType::f32, TensorType::tf32, TensorType::f32_ftz, TensorType::tf32_ftz}) {
    map.type = type;
    words[48] = 0x00400001;
    words[49] = 0x00000000;
    const Report report = run(kernel(reduce_box("add", "0x00400001") + R"(
  ld.global.u32 %r0, [%in + 192];
  ld.global.u32 %r1, [%in + 196];
  st.global.u32 [%out], %r0;
  st.global.u32 [%out + 4], %r1;
)"));
    ASSERT_EQ(fault_text(report), "");
    const bool flushes = type == TensorType::f32_ftz || type == TensorType::tf32_ftz;
    EXPECT_EQ(out[0], flushes ? 0u : 0x00800002u);
    EXPECT_EQ(out[1], flushes ? 0u : 0x00400001u);
  }
}

TEST_P(TensorCopies, ReductionsSayWhichTypesTheyHave) {
  store_to_out = true;
  for (const auto& [type, operation] :
       {std::pair{TensorType::f32, "xor"}, {TensorType::f32, "min"}, {TensorType::s32, "inc"}}) {
    map.type = type;
    const Report report = run(kernel(reduce_box(operation, "0")));
    EXPECT_NE(fault_text(report).find(std::string("there is no reduction .") + operation), std::string::npos)
        << fault_text(report);
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

// --- maps that nobody has encoded

// A map is checked where it is used, whoever wrote its bytes.
TEST_P(TensorCopies, ForgedMapsAreNamed) {
  using Map = layout::TensorMapFields;
  struct Case {
    std::function<void(Map&)> change;
    const char* message;
  };
  const Case cases[] = {
      {[](Map& m) { m.box[0] = 3; }, "box[0] takes 12 bytes: legal are multiples of 16"},
      {[](Map& m) { m.swizzle = TensorSwizzle::b32; }, "more than the 32 of the swizzle"},
      {[](Map& m) { m.interleave = TensorInterleave::b16; },
       "an interleaved tensor has 3 dimensions or more"},
      {[](Map& m) { m.mode = layout::TensorMode::im2col; }, "an im2col tensor has 3 to 5 dimensions"},
      {[](Map& m) { m.rank = 7; }, "its rank is 7"},
      {[](Map& m) { m.rank = 1; }, "the tensor map has 1 dimensions, the instruction has 2"},
      {[](Map& m) { m.address += 4; }, "is not a multiple of 16"},
      // Legal, and more than there is: of shared memory, and of the tensor's.
      {[](Map& m) { m.strides_bytes[0] = (uint64_t{1} << 40) - 16; }, "out of bounds"},
      {[](Map& m) { m.box = {256, 256, 1, 1, 1}; }, "the box takes 262144 bytes of shared memory"},
      {[](Map& m) { m.address = 0; }, "out of bounds: a null pointer"},
  };
  for (const Case& c : cases) {
    forge = c.change;
    const Report report = run(kernel(load_box(512, "0, 0") + kWait));
    EXPECT_NE(fault_text(report).find(c.message), std::string::npos) << fault_text(report);
  }
  forge = {};
  const std::pair<std::function<void(layout::TensorMapBytes&)>, const char*> bytes[] = {
      {[](layout::TensorMapBytes& m) { m.fill(std::byte{0}); }, "all 128 bytes are zero"},
      {[](layout::TensorMapBytes& m) { m.fill(std::byte{0xff}); }, "its rank is 8"},
      {[](layout::TensorMapBytes& m) { put(m, layout::map_field::type, 0, 15); },
       "its element type is number 15"},
      {[](layout::TensorMapBytes& m) { put(m, layout::map_field::interleave, 0, 3); }, "its interleave is 3"},
  };
  for (const auto& [change, message] : bytes) {
    forge_bytes = change;
    const Report report = run(kernel(load_box(512, "0, 0") + kWait));
    EXPECT_NE(fault_text(report).find(message), std::string::npos) << fault_text(report);
  }
}

// What no encoder writes: measured on an H200, tests/golden/tensor_maps/flips.txt.
TEST_P(TensorCopies, IgnoresBitsOfAMapThatMeanNothing) {
  forge_bytes = [](layout::TensorMapBytes& m) {
    for (const layout::TensorMapField field : {layout::TensorMapField{64 + 1, 3},
                                               {64 + 19, 13},
                                               {192 + 48, 16},
                                               {384 + 47, 9},
                                               {448 + 32, 32},
                                               {512, 64},
                                               {576, 64},
                                               {640, 64},
                                               {960, 64}})
      put(m, field, 0, ~uint64_t{0});
  };
  const Report report = run(kernel(load_box(512, "4, 2") + kWait + copy_to_out(128)));
  ASSERT_EQ(fault_text(report), "");
  for (uint32_t i = 0; i < 128; ++i)
    ASSERT_EQ(out[i], word(4 + i % 32, 2 + i / 32)) << i;
}

// As CUTLASS does with the maps of tensors below 128 KiB; here a kernel.
TEST_P(TensorCopies, ClearingBit21OfTheSecondWordChangesNothing) {
  const Report report = run(kernel(R"(
  ld.global.u64 %a0, [%map+8];
  and.b64 %a0, %a0, 0xffffffffffdfffff;
  st.global.u64 [%map+8], %a0;
  fence.proxy.tensormap::generic.acquire.gpu [%map], 128;
)" + load_box(512, "4, 2") + kWait +
                                   copy_to_out(128)),
                            1, 1);
  ASSERT_EQ(fault_text(report), "");
  for (uint32_t i = 0; i < 128; ++i)
    ASSERT_EQ(out[i], word(4 + i % 32, 2 + i / 32)) << i;
}

// 2^24 elements a row, 2^40 bytes a box: told without looking at its rows.
TEST_P(TensorCopies, AHugeBoxIsToldAtOnce) {
  forge = [](layout::TensorMapFields& m) {
    m.rank = 5;
    m.dims.fill(uint64_t{1} << 32);
    m.strides_bytes.fill(16);
    m.box.fill(256);
    m.element_strides.fill(1);
  };
  const Report report = run(kernel(load_box(512, "0, 0, 0, 0, 0", 5) + kWait));
  EXPECT_NE(fault_text(report).find("the box takes 4398046511104 bytes"), std::string::npos)
      << fault_text(report);
}

TEST_P(TensorCopies, OffsetsBeyond64BitsAreOutOfBounds) {
  forge = [](layout::TensorMapFields& m) {
    m.dims[1] = uint64_t{1} << 32;
    m.strides_bytes[0] = (uint64_t{1} << 40) - 16;
  };
  const Report report = run(kernel(load_box(512, "0, 0x7fffff00") + kWait));
  EXPECT_NE(fault_text(report).find("out of bounds"), std::string::npos) << fault_text(report);
}

// As compilers make descriptors in a kernel: 128 zeros, then each field.
std::string made_map(const std::string& without = "") {
  std::string text = "  mov.u32 %r3, map_copy;\n";
  for (int i = 0; i < 128; i += 4)
    text += "  st.shared.u32 [%r3+" + std::to_string(i) + "], 0;\n";
  const auto replace = [&](const std::string& field, const std::string& operands, int bits = 32) {
    if (without != field)
      text += "  tensormap.replace.tile." + field + ".shared::cta.b1024.b" + std::to_string(bits) +
              " [%r3], " + operands + ";\n";
  };
  replace("global_address", "%in", 64);
  replace("rank", "1");
  replace("box_dim", "0, 32");
  replace("box_dim", "1, 4");
  replace("global_dim", "0, 64");
  replace("global_dim", "1, 8");
  replace("global_stride", "0, 256", 64);
  replace("element_stride", "0, 1");
  replace("element_stride", "1, 1");
  replace("elemtype", "7");
  replace("interleave_layout", "0");
  replace("swizzle_mode", "0");
  replace("fill_mode", "0");
  return text + R"(
  add.u64 %map, %out, 1024;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%map], [%r3], 128;
  fence.proxy.tensormap::generic.acquire.gpu [%map], 128;
)";
}

TEST_P(TensorCopies, AMapMadeOfZerosIsOne) {
  const Report report = run(kernel(made_map() + load_box(512, "4, 2") + kWait + copy_to_out(128)), 1, 1);
  ASSERT_EQ(fault_text(report), "");
  for (uint32_t i = 0; i < 128; ++i)
    ASSERT_EQ(out[i], word(4 + i % 32, 2 + i / 32)) << i;
}

// Zeros are numbers too: a rank of 1, sizes and steps of 1.
TEST_P(TensorCopies, AMapMadeOfZerosLacksAField) {
  const std::pair<const char*, const char*> cases[] = {
      {"rank", "the tensor map has 1 dimensions, the instruction has 2"},
      {"box_dim", "box[0] takes 4 bytes: legal are multiples of 16"},
      {"global_address", "a null pointer"},
      {"elemtype", ""}, // 32 bytes a row
      {"element_stride", ""},
  };
  for (const auto& [field, message] : cases) {
    const uint32_t bytes = field == std::string("elemtype") ? 128 : 512;
    const Report report = run(kernel(made_map(field) + load_box(bytes, "16, 2") + kWait), 1, 1);
    EXPECT_EQ(report.ok(), *message == 0) << field;
    EXPECT_NE(fault_text(report).find(message), std::string::npos) << field << ": " << fault_text(report);
  }
}

// As Triton makes one of one dimension: it leaves out the fields whose numbers are zero, its rank less one
// among them.
TEST_P(TensorCopies, AMapOfOneDimensionIsMadeOfZeros) {
  for (const auto& [type, elements] : {std::pair{0, 128}, {3, 32}}) {
    std::string text = "  mov.u32 %r3, map_copy;\n  mov.u32 %r4, 0;\n";
    for (int at = 0; at < 128; at += 4)
      text += "  st.shared.u32 [%r3+" + std::to_string(at) + "], %r4;\n";
    const auto replace = [&](const std::string& field, const std::string& operands, int bits = 32) {
      text += "  tensormap.replace.tile." + field + ".shared::cta.b1024.b" + std::to_string(bits) +
              " [%r3], " + operands + ";\n";
    };
    replace("global_address", "%in", 64);
    replace("box_dim", "0, " + std::to_string(elements));
    replace("global_dim", "0, " + std::to_string(elements));
    if (type != 0)
      replace("elemtype", std::to_string(type));
    text += R"(
  add.u64 %map, %out, 1024;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%map], [%r3], 128;
  fence.proxy.tensormap::generic.acquire.gpu [%map], 128;
)";
    const Report report = run(kernel(text + load_box(128, "0", 1) + kWait + copy_to_out(32)), 1, 1);
    ASSERT_EQ(fault_text(report), "");
    for (uint32_t i = 0; i < 32; ++i)
      ASSERT_EQ(out[i], words[i]) << i;
  }
}

TEST_P(TensorCopies, ReplacedFieldsAreCheckedWhenUsed) {
  const std::pair<const char*, const char*> cases[] = {
      {"box_dim.global.b1024.b32 [%map], 0, 3", "box[0] takes 12 bytes: legal are multiples of 16"},
      {"box_dim.global.b1024.b32 [%map], 1, 0", "the box takes 32768 bytes of shared memory"}, // 256 rows
      {"global_stride.global.b1024.b64 [%map], 4, 16", "out of bounds"}, // 2^36 more in each
      {"rank.global.b1024.b32 [%map], 5", "its rank is 6"},
      {"rank.global.b1024.b32 [%map], 0xffffffff", "its rank is 8"},
      {"rank.global.b1024.b32 [%map], 2", "the tensor map has 3 dimensions, the instruction has 2"},
      {"elemtype.global.b1024.b32 [%map], 11;\n  tensormap.replace.tile.elemtype.global.b1024.b32 [%map], 2",
       "its element type is u32 with the bit of tf32"},
      {"fill_mode.global.b1024.b32 [%map], 1;\n  tensormap.replace.tile.elemtype.global.b1024.b32 [%map], 2",
       "oob_fill nan needs a floating-point type, not u32"},
      {"swizzle_mode.global.b1024.b32 [%map], 1", "box[0] takes 128 bytes, more than the 32 of the swizzle"},
      {"global_address.global.b1024.b64 [%map], 24", "is not a multiple of 16"},
      {"interleave_layout.global.b1024.b32 [%map], 2",
       "an interleaved tensor has 3 dimensions or more, not 2"},
  };
  for (const auto& [statement, message] : cases) {
    const Report report = run(
        kernel(std::string("  tensormap.replace.tile.") + statement + ";\n" + load_box(512, "0, 0") + kWait));
    EXPECT_NE(fault_text(report).find(message), std::string::npos) << statement << ": " << fault_text(report);
  }
}

// The bits that a field has no room for are lost (measured on an H200).
TEST_P(TensorCopies, ReplacedNumbersAreCut) {
  for (const char* statement :
       {"rank.global.b1024.b32 [%map], 9", "box_dim.global.b1024.b32 [%map], 1, 260",
        "element_stride.global.b1024.b32 [%map], 1, 257", "global_stride.global.b1024.b64 [%map], 0, 267",
        "global_stride.global.b1024.b64 [%map], 0, 0x10000000100",
        "global_dim.global.b1024.b32 [%map], 1, 0"}) {
    const Report report = run(kernel(std::string("  tensormap.replace.tile.") + statement + ";\n" +
                                     load_box(512, "4, 2") + kWait + copy_to_out(128)),
                              1, 1);
    ASSERT_EQ(fault_text(report), "") << statement;
    for (uint32_t i = 0; i < 128; ++i)
      ASSERT_EQ(out[i], word(4 + i % 32, 2 + i / 32)) << statement << ", " << i;
  }
}

TEST_P(TensorCopies, AFifthStrideIsWarnedOf) {
  const Report report = run(kernel("  tensormap.replace.tile.global_stride.global.b1024.b64 [%map], 4, 0;\n" +
                                   load_box(512, "4, 2") + kWait),
                            1, 1);
  ASSERT_EQ(fault_text(report), "");
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("the ordinal of the stride is 4: strides are 0 to 3"), std::string::npos)
      << report.warnings[0];
}

TEST_P(TensorCopies, AMapInSharedMemoryIsNone) {
  const Report report =
      run(kernel(made_map() + "  cvta.shared.u64 %map, map_copy;\n" + load_box(512, "0, 0")), 1, 1);
  EXPECT_NE(fault_text(report).find("lies in shared memory: it must be in .param, .const or .global"),
            std::string::npos)
      << fault_text(report);
}

// --- where a tensor's rows end inside a unit of 16 bytes

// A box of bytes 0, 1, 2, ... in shared memory, stored at 48, 1.
std::string store_bytes(const std::string& instruction = "cp.async.bulk.tensor.2d.global.shared::cta") {
  return R"(
  mov.u32 %r0, 0;
  mov.u32 %r2, 0x03020100;
fill:
  add.u32 %r1, %r0, %s;
  st.shared.u32 [%r1], %r2;
  add.u32 %r2, %r2, 0x04040404;
  add.u32 %r0, %r0, 4;
  setp.lt.u32 %p2, %r0, 96;
  @%p2 bra fill;
  fence.proxy.async.shared::cta;
  )" + instruction +
         R"(.bulk_group [%map, {48, 1}], [%s];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
)";
}

// As an H200: 77 bytes a row, and bytes 77 to 79 are written too.
TEST_P(TensorCopies, StoresWriteWholeUnits) {
  store_to_out = true;
  map = {.type = TensorType::u8, .dims = {77, 3}, .strides_bytes = {96}, .box = {48, 2}};
  const Report report = run(kernel(store_bytes()));
  ASSERT_EQ(fault_text(report), "");
  for (uint32_t row = 0; row < 4; ++row)
    for (uint32_t x = 0; x < 96; ++x) {
      const auto byte = static_cast<uint8_t>(out[(row * 96 + x) / 4] >> x % 4 * 8);
      const bool stored = (row == 1 || row == 2) && x >= 48 && x < 80;
      ASSERT_EQ(byte, stored ? (row - 1) * 48 + x - 48 : 0xaa) << row << ", " << x;
    }
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find(
                "the tensor's rows of 77 elements of 1 byte end inside a unit of 16 bytes, and a "
                "store writes whole units: 3 bytes after the end of a row change too"),
            std::string::npos)
      << report.warnings[0];
}

TEST_P(TensorCopies, ReductionsTakeWholeUnits) {
  store_to_out = true;
  map = {.type = TensorType::u32, .dims = {13, 3}, .strides_bytes = {96}, .box = {12, 1}};
  std::string body = store_bytes("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add");
  body.replace(body.find("{48"), 3, "{12");
  const Report report = run(kernel(body));
  ASSERT_EQ(fault_text(report), "");
  EXPECT_EQ(out[24 + 12], 0xaaaaaaaa + 0x03020100);
  EXPECT_EQ(out[24 + 15], 0xaaaaaaaa + 0x0f0e0d0c);
  EXPECT_EQ(out[24 + 16], 0xaaaaaaaa);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("a reduction writes whole units: 12 bytes"), std::string::npos)
      << report.warnings[0];
}

TEST_P(TensorCopies, LoadsTakeElements) {
  map = {.type = TensorType::u8, .dims = {77, 3}, .strides_bytes = {96}, .box = {48, 1}};
  const Report report = run(kernel(load_box(48, "48, 0") + kWait + copy_to_out(12)));
  ASSERT_EQ(fault_text(report), "");
  EXPECT_EQ(out[6], words[(48 + 24) / 4]);
  EXPECT_EQ(out[7], words[(48 + 28) / 4] & 0xff);
  EXPECT_EQ(out[8], 0u);
  EXPECT_TRUE(report.warnings.empty());
}

// 13 words, and memory that ends with them or with their unit.
TEST_P(TensorCopies, AUnitPastTheMemorysEndIsOutOfBounds) {
  map = {.type = TensorType::f32, .dims = {13}, .box = {12}};
  std::string body = store_bytes("cp.async.bulk.tensor.1d.global.shared::cta");
  body.replace(body.find("{48, 1}"), 7, "{12}");
  words.resize(16);
  EXPECT_EQ(fault_text(run(kernel(body))), "");
  words.resize(13);
  const Report report = run(kernel(body));
  EXPECT_NE(
      fault_text(report).find("out of bounds: the tensor's rows of 13 elements of 4 bytes end inside a unit "
                              "of 16 bytes, and a store writes whole units: 12 bytes after the end of a row"),
      std::string::npos)
      << fault_text(report);
}

TEST_P(TensorCopies, Im2colStoresStayInTheTensor) {
  map = {.type = TensorType::f32,
         .dims = {16, 4, 4, 2},
         .strides_bytes = {64, 256, 1024},
         .im2col = TensorIm2col{
             .lower = {0, -1}, .upper = {0, 0}, .channels_per_pixel = 8, .pixels_per_column = 4}};
  const Report report =
      run(kernel("  cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%map, {0, 0, 0, "
                 "0}], [%s];\n"));
  EXPECT_NE(fault_text(report).find("the bounding box of the im2col map, -1 to 0 in spatial dimension 1"),
            std::string::npos)
      << fault_text(report);
}

TEST_P(TensorCopies, ReductionsTakeNoNegativeCoordinates) {
  store_to_out = true;
  map.type = TensorType::u32;
  for (const char* coordinates : {"{-4, 0}", "{0, -1}"}) {
    std::string body = reduce_box("add", "1");
    body.replace(body.find("{48, 0}"), 7, coordinates);
    const Report report = run(kernel(body));
    EXPECT_NE(fault_text(report).find("a store or a reduction takes no negative ones"), std::string::npos)
        << fault_text(report);
  }
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
