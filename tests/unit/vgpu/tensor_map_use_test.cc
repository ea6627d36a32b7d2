// Tensor copies by maps that no encoder has written: bytes that are forged, fields that tensormap.replace
// changes, maps that a kernel makes of zeros, and what is said of those that are none.
#include "tensor_copy_fixture.h"

namespace lemma::vgpu {
namespace {

class TensorMapUses : public TensorCopies {};
INSTANTIATE_TEST_SUITE_P(Modes, TensorMapUses, every_async_mode(), async_mode_name);

TEST_P(TensorMapUses, ReplacesFieldsOfTheMap) {
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

// A copy reads its map at any time until it is complete: where it is late, so is that.
TEST_P(TensorMapUses, ReadsTheMapWhenTheCopyIsMade) {
  const Report report = run(kernel(
      load_box(512, "0, 2") + "  tensormap.replace.tile.global_address.global.b1024.b64 [%map], %out;\n" +
      kWait + copy_to_out(2)));
  ASSERT_EQ(fault_text(report), "");
  const uint32_t by_old = word(0, 2), by_new = 0xaaaaaaaa;
  if (GetParam() == AsyncMode::random)
    EXPECT_TRUE(out[0] == by_old || out[0] == by_new) << out[0];
  else
    EXPECT_EQ(out[0], GetParam() == AsyncMode::late ? by_new : by_old);
}

// One that is no map, or of another shape, or of no memory, is not used.
TEST_P(TensorMapUses, KeepsTheMapThatWasCheckedWhereTheNewOneIsWrong) {
  for (const std::string change :
       {"rank.global.b1024.b32 [%map], 6", "box_dim.global.b1024.b32 [%map], 0, 16",
        "global_address.global.b1024.b64 [%map], 256"}) {
    const Report report = run(kernel(load_box(512, "0, 2") + "  tensormap.replace.tile." + change + ";\n" +
                                     kWait + copy_to_out(2)));
    ASSERT_EQ(fault_text(report), "") << change;
    EXPECT_EQ(out[0], word(0, 2)) << change;
  }
}

TEST_P(TensorMapUses, CopiesAMapAndLoadsByTheCopy) {
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

// A map is checked where it is used, whoever wrote its bytes.
TEST_P(TensorMapUses, ForgedMapsAreNamed) {
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
TEST_P(TensorMapUses, IgnoresBitsOfAMapThatMeanNothing) {
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
TEST_P(TensorMapUses, ClearingBit21OfTheSecondWordChangesNothing) {
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
TEST_P(TensorMapUses, AHugeBoxIsToldAtOnce) {
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

TEST_P(TensorMapUses, OffsetsBeyond64BitsAreOutOfBounds) {
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

TEST_P(TensorMapUses, AMapMadeOfZerosIsOne) {
  const Report report = run(kernel(made_map() + load_box(512, "4, 2") + kWait + copy_to_out(128)), 1, 1);
  ASSERT_EQ(fault_text(report), "");
  for (uint32_t i = 0; i < 128; ++i)
    ASSERT_EQ(out[i], word(4 + i % 32, 2 + i / 32)) << i;
}

// Zeros are numbers too: a rank of 1, sizes and steps of 1.
TEST_P(TensorMapUses, AMapMadeOfZerosLacksAField) {
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
TEST_P(TensorMapUses, AMapOfOneDimensionIsMadeOfZeros) {
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

TEST_P(TensorMapUses, ReplacedFieldsAreCheckedWhenUsed) {
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
TEST_P(TensorMapUses, ReplacedNumbersAreCut) {
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

TEST_P(TensorMapUses, AFifthStrideIsWarnedOf) {
  const Report report = run(kernel("  tensormap.replace.tile.global_stride.global.b1024.b64 [%map], 4, 0;\n" +
                                   load_box(512, "4, 2") + kWait),
                            1, 1);
  ASSERT_EQ(fault_text(report), "");
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("the ordinal of the stride is 4: strides are 0 to 3"), std::string::npos)
      << report.warnings[0];
}

TEST_P(TensorMapUses, AMapInSharedMemoryIsNone) {
  const Report report =
      run(kernel(made_map() + "  cvta.shared.u64 %map, map_copy;\n" + load_box(512, "0, 0")), 1, 1);
  EXPECT_NE(fault_text(report).find("lies in shared memory: it must be in .param, .const or .global"),
            std::string::npos)
      << fault_text(report);
}

} // namespace
} // namespace lemma::vgpu
