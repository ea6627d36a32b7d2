// Tensor stores and reductions: what they do to the elements, to the unit in which a row ends, and what they
// do not take.
#include "tensor_copy_fixture.h"

namespace lemma::vgpu {
namespace {

class TensorStores : public TensorCopies {};
INSTANTIATE_TEST_SUITE_P(Modes, TensorStores, every_async_mode(), async_mode_name);

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

TEST_P(TensorStores, ReduceIntoTheTensor) {
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
TEST_P(TensorStores, ReductionsFlushOnlyWithFtz) {
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

TEST_P(TensorStores, ReductionsSayWhichTypesTheyHave) {
  store_to_out = true;
  for (const auto& [type, operation] :
       {std::pair{TensorType::f32, "xor"}, {TensorType::f32, "min"}, {TensorType::s32, "inc"}}) {
    map.type = type;
    const Report report = run(kernel(reduce_box(operation, "0")));
    EXPECT_NE(fault_text(report).find(std::string("there is no reduction .") + operation), std::string::npos)
        << fault_text(report);
  }
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
TEST_P(TensorStores, StoresWriteWholeUnits) {
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

TEST_P(TensorStores, ReductionsTakeWholeUnits) {
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

TEST_P(TensorStores, LoadsTakeElements) {
  map = {.type = TensorType::u8, .dims = {77, 3}, .strides_bytes = {96}, .box = {48, 1}};
  const Report report = run(kernel(load_box(48, "48, 0") + kWait + copy_to_out(12)));
  ASSERT_EQ(fault_text(report), "");
  EXPECT_EQ(out[6], words[(48 + 24) / 4]);
  EXPECT_EQ(out[7], words[(48 + 28) / 4] & 0xff);
  EXPECT_EQ(out[8], 0u);
  EXPECT_TRUE(report.warnings.empty());
}

// 13 words, and memory that ends with them or with their unit.
TEST_P(TensorStores, AUnitPastTheMemorysEndIsOutOfBounds) {
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

TEST_P(TensorStores, Im2colStoresStayInTheTensor) {
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

TEST_P(TensorStores, ReductionsTakeNoNegativeCoordinates) {
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

} // namespace
} // namespace lemma::vgpu
