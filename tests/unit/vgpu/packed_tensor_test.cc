// Tensor copies of elements of 4 and 6 bits: where they lie in global and in shared memory, what is not
// initialized, and misuse. What is expected follows the PTX ISA, "Padding and alignment of the sub-byte
// types" and "Restriction on Tensor Copy instructions"; no hardware has confirmed it.
#include "kernel.h"
#include "layout/tensor_map.h"
#include "numeric/hash.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

namespace lemma::vgpu {
namespace {

constexpr uint32_t kRows = 3;
constexpr uint32_t kBoxBytes = 1024;

// One thread: loads a box of `bytes` bytes to shared memory, which it copies to out; or fills shared memory
// from out and stores it.
std::string kernel(const std::string& target, const std::string& coordinates, uint32_t bytes,
                   const std::string& space, bool store) {
  const std::string head = ".version 8.7\n.target " + target + R"(
.address_size 64
.visible .entry k(.param .u64 map, .param .u64 out) {
  .shared .align 1024 .b8 box[1024];
  .shared .align 8 .b64 bar;
  .reg .b64 %map, %out, %a;
  .reg .b32 %s, %b, %i, %r;
  .reg .pred %p;
  ld.param.u64 %map, [map];
  ld.param.u64 %out, [out];
  mov.u32 %s, box;
  mov.u32 %b, bar;
)";
  const std::string load = "  mbarrier.init.shared.b64 [%b], 1;\n  fence.proxy.async.shared::cta;\n"
                           "  mbarrier.arrive.expect_tx.shared.b64 _, [%b], " +
                           std::to_string(bytes) + ";\n  cp.async.bulk.tensor.2d.shared::" + space +
                           ".global.mbarrier::complete_tx::bytes [%s], [%map, {" + coordinates +
                           "}], [%b];\nwait:\n  mbarrier.try_wait.parity.shared.b64 %p, [%b], 0;\n"
                           "  @!%p bra wait;\n";
  const auto copy = [&](const char* words) {
    return std::string("  mov.u32 %i, 0;\ncopy:\n  cvt.u64.u32 %a, %i;\n  add.u64 %a, %a, %out;\n") + words +
           fmt::format("  add.u32 %s, %s, 4;\n  add.u32 %i, %i, 4;\n  setp.lt.u32 %p, %i, {};\n"
                       "  @%p bra copy;\n",
                       kBoxBytes);
  };
  const std::string stored = "  fence.proxy.async.shared::cta;\n  cp.async.bulk.tensor.2d.global.shared::cta"
                             ".bulk_group [%map, {" +
                             coordinates +
                             "}], [box];\n  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n";
  return head +
         (store ? copy("  ld.global.u32 %r, [%a];\n  st.shared.u32 [%s], %r;\n") + stored
                : load + copy("  ld.shared.u32 %r, [%s];\n  st.global.u32 [%a], %r;\n")) +
         "  ret;\n}\n";
}

struct Ran {
  Report report;
  std::vector<uint8_t> tensor, out;
};

class PackedTensors : public testing::TestWithParam<AsyncMode> {
protected:
  // `tensor` and `out` hold 0, 1, 2, ... times an odd number.
  Ran run(TensorMap map, const std::string& coordinates, uint32_t bytes, bool store = false) {
    Kernel kernel(vgpu::kernel(target, coordinates, bytes, space, store));
    kernel.config().block = {1, 1, 1};
    kernel.config().async = GetParam();
    std::vector<uint8_t> values(kBoxBytes);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<uint8_t>(i * 167 + i / 256);
    const uint64_t tensor = kernel.buffer(values, "tensor"), out = kernel.buffer(values, "out");
    map.address = tensor;
    EXPECT_EQ(layout::wrong_with(map), "");
    layout::TensorMapFields fields = layout::decode(layout::encode(map));
    if (forge)
      forge(fields);
    const layout::TensorMapBytes bytes_of_map = layout::encode(fields);
    const uint64_t at =
        kernel.buffer(std::vector<std::byte>(bytes_of_map.begin(), bytes_of_map.end()), "map");
    Ran ran{.report = kernel.run({at, out}), .tensor = {}, .out = {}};
    ran.tensor = kernel.read<uint8_t>(tensor, kBoxBytes);
    ran.out = kernel.read<uint8_t>(out, kBoxBytes);
    return ran;
  }

  std::string target = "sm_100a", space = "cta";
  std::function<void(layout::TensorMapFields&)> forge;
};

INSTANTIATE_TEST_SUITE_P(Modes, PackedTensors, testing::Values(AsyncMode::eager, AsyncMode::late),
                         [](const auto& mode) { return mode.param == AsyncMode::eager ? "eager" : "late"; });

TensorMap tensor_of(TensorType type, uint32_t box, TensorSwizzle swizzle = TensorSwizzle::none) {
  return {.type = type,
          .dims = {256, kRows},
          .strides_bytes = {256 * layout::element_bits(type) / 8},
          .box = {box, 2},
          .swizzle = swizzle};
}

TEST_P(PackedTensors, B4x16IsAlikeInBothMemories) {
  const Ran ran = run(tensor_of(TensorType::b4x16, 64), "32, 1", 64);
  ASSERT_EQ(fault_text(ran.report), "");
  for (uint32_t row = 0; row < 2; ++row)
    for (uint32_t i = 0; i < 32; ++i)
      ASSERT_EQ(ran.out[row * 32 + i], ran.tensor[(row + 1) * 128 + 16 + i]) << row << ", " << i;
}

// Sixteen elements, then padding, which is not initialized; the mbarrier counts the elements' bytes.
TEST_P(PackedTensors, APaddedTypeHasItsElementsAtTheFrontOfEachChunk) {
  for (const auto& [type, payload] :
       {std::pair{TensorType::b4x16_p64, 8u}, std::pair{TensorType::b6x16_p32, 12u}})
    for (const TensorSwizzle swizzle : {TensorSwizzle::none, TensorSwizzle::b128}) {
      const uint32_t row_bytes = payload * 8;
      const Ran ran = run(tensor_of(type, 128, swizzle), "128, 1", 2 * row_bytes);
      ASSERT_EQ(fault_text(ran.report), "");
      for (uint32_t row = 0; row < 2; ++row)
        for (uint32_t i = 0; i < row_bytes; ++i) {
          uint32_t chunk = i / payload;
          if (swizzle == TensorSwizzle::b128)
            chunk ^= row; // the box lies at a multiple of 1024
          ASSERT_EQ(ran.out[row * 128 + chunk * 16 + i % payload],
                    ran.tensor[(row + 1) * 2 * row_bytes + row_bytes + i])
              << row << ", " << i;
        }
      // What the two rows do not fill was never written either.
      EXPECT_EQ(ran.report.uninitialized_reads, (kBoxBytes - 2 * row_bytes) / 4);
    }
}

TEST_P(PackedTensors, WhatLiesOutsideIsZeros) {
  const Ran ran = run(tensor_of(TensorType::b4x16_p64, 128), "-128, 2", 128);
  ASSERT_EQ(fault_text(ran.report), "");
  for (uint32_t i = 0; i < 256; ++i)
    if (i % 16 < 8) {
      ASSERT_EQ(ran.out[i], 0) << i;
    }
}

TEST_P(PackedTensors, StoresOfSixBitsTakeThemFromABytesLowest) {
  const Ran ran = run(tensor_of(TensorType::b6x16_p32, 128), "128, 1", 0, true);
  ASSERT_EQ(fault_text(ran.report), "");
  for (uint32_t row = 0; row < 2; ++row)
    for (uint32_t i = 0; i < 128; ++i) {
      const uint32_t bit = i * 6, at = (row + 1) * 192 + 96 + bit / 8;
      const uint32_t two = ran.tensor[at] | ran.tensor[at + 1] << 8;
      ASSERT_EQ(two >> bit % 8 & 0x3f, ran.out[row * 128 + i] & 0x3fu) << row << ", " << i;
    }
}

TEST_P(PackedTensors, StoresOfFourBitsAreCopies) {
  const Ran ran = run(tensor_of(TensorType::b4x16, 64), "192, 1", 0, true);
  ASSERT_EQ(fault_text(ran.report), "");
  for (uint32_t i = 0; i < 64; ++i)
    ASSERT_EQ(ran.tensor[(i / 32 + 1) * 128 + 96 + i % 32], ran.out[i]) << i;
}

TEST_P(PackedTensors, SayWhatIsWrong) {
  const auto said = [&](const TensorMap& map, const std::string& coordinates, bool store = false) {
    return fault_text(run(map, coordinates, 64, store).report);
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  std::string text = said(tensor_of(TensorType::b4x16, 64), "16, 0");
  EXPECT_TRUE(has(text, "the innermost coordinate is 16: with elements of 4 bits it is a multiple of 32"))
      << text;
  text = said(tensor_of(TensorType::b6x16_p32, 128), "64, 0");
  EXPECT_TRUE(has(text, "the innermost coordinate is 64: with elements of 6 bits it is a multiple of 128"))
      << text;
  text = said(tensor_of(TensorType::b4x16_p64, 128), "0, 0", true);
  EXPECT_TRUE(has(text, "b4x16_p64: stores do not take them")) << text;
  target = "sm_90a";
  text = said(tensor_of(TensorType::b4x16, 64), "0, 0");
  EXPECT_TRUE(has(text, "elements of 4 bits: sm_100 and up have them, the machine is sm_90")) << text;
}

// Whatever is in the map, an end is named: no field makes a part of a byte, or an empty row.
TEST_P(PackedTensors, ForgedMapsEndByName) {
  constexpr uint64_t kValues[] = {0,         1, 2, 31, 32, 64, 127, 128, 255, 256, 65535, uint64_t{1} << 32,
                                  UINT64_MAX};
  numeric::Random random(7);
  const auto any = [&] { return kValues[random.below(std::size(kValues))]; };
  uint32_t ended_well = 0;
  for (int i = 0; i < 150; ++i) {
    forge = [&](layout::TensorMapFields& map) {
      for (uint64_t changes = random.below(4); changes > 0; --changes)
        switch (random.below(7)) {
        case 0:
          map.dims[random.below(2)] = any();
          break;
        case 1:
          map.box[random.below(2)] = static_cast<uint16_t>(any());
          break;
        case 2:
          map.strides_bytes[0] = any();
          break;
        case 3:
          map.address += any() % 256;
          break;
        case 4:
          map.swizzle = static_cast<TensorSwizzle>(random.below(5));
          break;
        case 5:
          map.type = static_cast<TensorType>(random.below(17));
          break;
        default:
          map.interleave = static_cast<TensorInterleave>(random.below(3));
        }
    };
    const auto type = static_cast<TensorType>(13 + random.below(3));
    const bool store = random.below(2) != 0;
    const Report report = run(tensor_of(type, 128), random.below(2) ? "128, 1" : "0, 2", 64, store).report;
    EXPECT_NE(report.outcome, Outcome::internal) << fault_text(report);
    ended_well += report.ok();
  }
  EXPECT_GT(ended_well, 10u);
}

// The PTX ISA leaves it out there, and CUTLASS does it.
TEST_P(PackedTensors, LoadsToAClusterOnSm120AreWarnedOf) {
  target = "sm_120a";
  EXPECT_TRUE(run(tensor_of(TensorType::b4x16, 64), "0, 0", 64).report.warnings.empty());
  space = "cluster";
  const Ran ran = run(tensor_of(TensorType::b4x16, 64), "0, 0", 64);
  ASSERT_EQ(fault_text(ran.report), "");
  ASSERT_EQ(ran.report.warnings.size(), 1u);
  EXPECT_NE(ran.report.warnings[0].find("no tensor loads of elements of 4 bits to .shared::cluster"),
            std::string::npos)
      << ran.report.warnings[0];
}

} // namespace
} // namespace lemma::vgpu
