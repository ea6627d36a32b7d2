// tcgen05.mma of K = 96, which sm_103a alone has: rows of 48 bytes, which begin anywhere in a line of 128
// bytes and go on in another buffer, and three or six scale factors a row. Both are stated byte by byte.
#include "tensor_run.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace lemma::vgpu {
namespace {

constexpr uint32_t kK = 96, kScalesA = 256, kScalesB = 264, kFilled = 288;

struct K96Case {
  uint32_t cta_group = 1, m = 128, n = 64;
  uint32_t offset = 0; // of a row in its line, a multiple of 16
  uint32_t scales = 3; // of a row
  uint32_t a_id = 0, b_id = 0;
  bool a_in_tensor_memory = false;
  std::string_view head = ".version 8.8\n.target sm_103a\n";
  std::string_view before = "";
};

int number_at(uint32_t matrix, uint32_t row, uint32_t k) {
  constexpr int kNumbers[] = {0, 1, 1, -2, 0, -2, 1, 0};
  return kNumbers[(row * 31 + k * 17 + matrix * 5) * 2654435761u >> 29];
}
int exponent_at(uint32_t matrix, uint32_t row, uint32_t block) {
  return static_cast<int>((row * 7 + block * 3 + matrix) % 3) - 1;
}
uint32_t nibble(int number) {
  return number == 0 ? 0 : number == 1 ? 0x2 : 0xc;
}

// Two buffers of lines for A and for B.
constexpr uint32_t kBuffers[2][2] = {{0, 16384}, {32768, 65536}}, kBytes = 98304;

void put_row(const K96Case& c, uint32_t matrix, uint32_t row, uint32_t at, std::vector<std::byte>& memory) {
  for (uint32_t k = 0; k < kK; ++k) {
    const uint32_t along = c.offset + k / 2;
    const uint32_t linear = kBuffers[matrix][along / 128] + at * 128 + along % 128;
    memory[linear ^ (linear >> 7 & 7) << 4] |=
        static_cast<std::byte>(nibble(number_at(matrix, row, k)) << k % 2 * 4);
  }
}

// Scale `i` of row `at`, where rows are laid out with `together`, in a quarter: a byte behind `id` others;
// every four bytes all rows' columns further on.
void put_scales(const K96Case& c, uint32_t matrix, uint32_t row, uint32_t at, uint32_t id,
                uint32_t columns_apart, uint32_t* cells) {
  for (uint32_t i = 0; i < c.scales; ++i) {
    const int exponent = exponent_at(matrix, row, i);
    const auto scale = static_cast<uint32_t>(c.scales == 6 ? (7 + exponent) << 3 : 127 + exponent);
    cells[at % 32 * kFilled + at / 32 + (id + i) / 4 * columns_apart] |= scale << (id + i) % 4 * 8;
  }
}

TensorRun run_k96(const K96Case& c) {
  TensorRun run;
  run.cta_group = c.cta_group;
  run.columns = 512;
  run.filled_columns = kFilled;
  run.head = c.head;
  const uint32_t rows = c.m / c.cta_group, columns = c.n / c.cta_group;
  const bool has_blocks = c.cta_group == 2 && c.m == 128;
  const uint32_t b_apart = (c.n + 127) / 128 * 4 / (has_blocks ? 2 : 1);
  for (uint32_t cta = 0; cta < c.cta_group; ++cta) {
    TensorRun::Memory memory{std::vector<std::byte>(kBytes), std::vector<uint32_t>(128 * kFilled)};
    for (uint32_t row = 0; row < rows; ++row)
      put_row(c, 0, cta * rows + row, row, memory.shared);
    for (uint32_t column = 0; column < columns; ++column)
      put_row(c, 1, cta * columns + column, column, memory.shared);
    for (uint32_t lane = 0; lane < 128 && c.a_in_tensor_memory; ++lane) // in the columns behind D
      for (uint32_t k = 0; k < kK; ++k)
        memory.tensor[lane * kFilled + 128 + k / 8] |= nibble(number_at(0, cta * rows + lane % rows, k))
                                                       << k % 8 * 4;
    for (uint32_t quarter = 0; quarter < 4; ++quarter) {
      uint32_t* cells = &memory.tensor[size_t{quarter} * 32 * kFilled];
      for (uint32_t row = 0; row < rows; ++row)
        put_scales(c, 0, cta * rows + row, row, c.a_id, 4, cells + kScalesA);
      const uint32_t first = has_blocks && quarter >= 2 ? c.n / 2 : 0;
      for (uint32_t i = 0; i < (has_blocks ? c.n / 2 : c.n); ++i)
        put_scales(c, 1, first + i, i, c.b_id, b_apart, cells + kScalesB);
    }
    run.ctas.push_back(std::move(memory));
  }
  const auto descriptor = [&](uint32_t matrix) {
    return fmt::format(R"(
  add.u64 %x{0}, %sm, {1};
  add.u64 %x5, %sm, {2};
  shl.b64 %x5, %x5, 16;
  or.b64 %x{0}, %x{0}, %x5;
  or.b64 %x{0}, %x{0}, 0x4010404000000000; // 128B swizzle, an address in place of an offset, eights 1024 bytes apart)",
                       matrix, (kBuffers[matrix][0] + c.offset) / 16, kBuffers[matrix][1] / 16);
  };
  const std::string words =
      c.scales == 6 ? "kind::mxf4nvf4.block_scale.block16" : "kind::mxf4.block_scale.block32";
  run.issue =
      descriptor(0) + descriptor(1) +
      fmt::format(R"(
  add.u32 %y1, %d, {};
  add.u32 %y2, %d, {};
  add.u32 %y3, %d, 128;
  {}
  tcgen05.mma.cta_group::{}.{} [%d], {}, %x1, {:#x}, [%y1], [%y2], %np;)",
                  kScalesA, kScalesB, c.before, c.cta_group, words, c.a_in_tensor_memory ? "[%y3]" : "%x0",
                  c.b_id << 4 | 1u << 7 | 1u << 10 | c.n / 8 << 17 | (c.scales == 3 ? 1u << 23 : 0) |
                      c.m / 16 << 24 | c.a_id << 29 | 1u << 31);
  run.run();
  return run;
}

void expect_k96(const K96Case& c) {
  SCOPED_TRACE(fmt::format("pair {}, {} x {}, offset {}, {} scales from {} and {}", c.cta_group, c.m, c.n,
                           c.offset, c.scales, c.a_id, c.b_id));
  const TensorRun run = run_k96(c);
  ASSERT_EQ(run.fault, "");
  EXPECT_EQ(uninitialized_text(run.report), "");
  const uint32_t rows = c.m / c.cta_group;
  for (uint32_t row = 0; row < c.m; ++row)
    for (uint32_t column = 0; column < c.n; ++column) {
      float sum = 0;
      for (uint32_t k = 0; k < kK; ++k)
        sum += std::ldexp(static_cast<float>(number_at(0, row, k) * number_at(1, column, k)),
                          exponent_at(0, row, k * c.scales / kK) + exponent_at(1, column, k * c.scales / kK));
      const bool below = rows == 64 && column >= c.n / 2;
      ASSERT_EQ(std::bit_cast<float>(
                    run.cell(row / rows, row % rows + (below ? 64 : 0), below ? column - c.n / 2 : column)),
                sum)
          << row << ", " << column;
    }
}

TEST(TensorK96, RowsBeginAnywhereInTheirLine) {
  for (const uint32_t offset : {0u, 16u, 48u, 80u, 96u, 112u})
    expect_k96({.offset = offset});
}

TEST(TensorK96, EveryIdOfScaleFactors) {
  for (uint32_t id = 0; id < 4; ++id)
    expect_k96({.n = 192, .a_id = id, .b_id = 3 - id});
  for (const uint32_t id : {0u, 2u})
    expect_k96({.n = 256, .scales = 6, .a_id = id, .b_id = 2 - id});
}

TEST(TensorK96, PairsAndTensorMemory) {
  for (const uint32_t m : {128u, 256u})
    for (const uint32_t scales : {3u, 6u})
      expect_k96({.cta_group = 2, .m = m, .n = 256, .offset = 96, .scales = scales, .a_id = 2, .b_id = 2});
  expect_k96({.a_in_tensor_memory = true});
}

TEST(TensorK96, ElsewhereItIsNamed) {
  const std::string machine = run_k96({.head = ".version 8.8\n.target sm_100a\n"}).fault;
  EXPECT_NE(machine.find("size of K (bit 31) is 1, K = 96; legal on sm_100: 0, and 1 on sm_103a alone"),
            std::string::npos)
      << machine;
  const std::string swizzle = run_k96({.before = "xor.b64 %x0, %x0, 0xc000000000000000;"}).fault;
  EXPECT_NE(swizzle.find(
                "swizzle (bits 61-63) is 4 (64B); legal where the leading dimension is an address: 2 (128B)"),
            std::string::npos)
      << swizzle;
  const std::string far = run_k96({.offset = 96, .before = "or.b64 %x1, %x1, 0x3fff0000;"}).fault;
  EXPECT_NE(far.find("the descriptor of b-desc"), std::string::npos) << far;
}

} // namespace
} // namespace lemma::vgpu
