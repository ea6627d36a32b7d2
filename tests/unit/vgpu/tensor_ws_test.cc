// tcgen05.mma.ws: products of 32, 64 and 128 rows, whose columns lie in blocks below each other, columns of B
// that a mask takes for zeros, and columns that begin further on. Products are stated by integers, masks by
// spans.
#include "tensor_operand.h"
#include "tensor_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

constexpr uint32_t kB = 32768;
constexpr uint32_t kAColumn = 256, kFilled = kAColumn + 8;

// Of the spans of a block: the columns of it that are zeros.
struct Mask {
  uint32_t skip = 3, use = 4;                         // columns
  std::vector<uint32_t> start = {}, zeros_first = {}; // of a block; none: no mask
  uint32_t shift = 0;

  uint64_t bits() const {
    uint64_t value = uint64_t{skip - 1} << 40 | uint64_t{use - 1} << 48 | uint64_t{shift} << 56;
    for (size_t i = 0; i < start.size(); ++i)
      value |= uint64_t{1} << 39 | uint64_t{start[i]} << 8 * i | uint64_t{zeros_first[i]} << (32 + i);
    return value;
  }
  bool is_zero(uint32_t block, uint32_t column) const {
    if (start.empty())
      return false;
    uint32_t left = start[block] + column;
    bool zeros = zeros_first[block] != 0;
    for (uint32_t span = zeros ? skip : use; left >= span; span = zeros ? skip : use) {
      left -= span;
      zeros = !zeros;
    }
    return zeros;
  }
};

struct WsCase {
  Element a = kF16, b = kF16;
  uint32_t m = 64, n = 64;
  Layout b_layout = Layout::k_none;
  bool a_in_tensor_memory = false, accumulates = false, has_mask = false;
  Mask mask = {};
  uint32_t max_shift_code = 0; // of 0, 8, 16 and 32 columns
  AsyncMode async = AsyncMode::eager;
  std::string_view words = "";

  uint32_t d_code() const { return a.is_integer ? 2 : 1; }
  Operand operand_a() const { return {.element = a, .rows = m}; }
  Operand operand_b() const { return {.element = b, .layout = b_layout, .rows = n + 32, .matrix = 1}; }
};

int old_number(uint32_t lane, uint32_t column) {
  return static_cast<int>(lane + column % 3);
}

uint32_t result_bits(const WsCase& c, int number) {
  return c.a.is_integer ? static_cast<uint32_t>(number)
                        : static_cast<uint32_t>(encode(FloatFormat::f32, number));
}

TensorRun run_ws(const WsCase& c) {
  TensorRun run;
  run.columns = 512;
  run.filled_columns = kFilled;
  run.async = c.async;
  const Operand a = c.operand_a();
  TensorRun::Memory memory{a.image(), std::vector<uint32_t>(128 * kFilled)};
  const std::vector<std::byte> b = c.operand_b().image();
  memory.shared.insert(memory.shared.end(), b.begin(), b.end());
  for (uint32_t lane = 0; lane < 128; ++lane) {
    for (uint32_t column = 0; column < kAColumn; ++column)
      memory.tensor[lane * kFilled + column] = result_bits(c, old_number(lane, column));
    for (uint32_t k = 0; k < a.k(); ++k) // each block of D has A
      memory.tensor[lane * kFilled + kAColumn + k * c.a.bytes / 4] |= bits_of(c.a, a.at(lane % c.m, k))
                                                                      << k * c.a.bytes % 4 * 8;
  }
  run.ctas.push_back(std::move(memory));
  const uint32_t idesc = c.d_code() << 4 | c.a.code << 7 | c.b.code << 10 |
                         uint32_t{c.operand_b().mn_major()} << 16 | c.n / 8 << 17 | c.m / 16 << 24 |
                         c.max_shift_code << 30;
  run.issue = fmt::format(R"(
  or.b64 %x0, %sm, {:#x};
  add.u64 %x1, %sm, {};
  or.b64 %x1, %x1, {:#x};
  add.u32 %y0, %d, {};
  mov.b64 %x2, {:#x};
  tcgen05.mma.ws.cta_group::1.kind::{}{} [%d], {}, %x1, {:#x}, {}{};)",
                          a.descriptor_bits(), kB / 16, c.operand_b().descriptor_bits(), kAColumn,
                          c.mask.bits(), c.a.kind, c.words, c.a_in_tensor_memory ? "[%y0]" : "%x0", idesc,
                          c.accumulates ? "%p" : "%np", c.has_mask ? ", %x2" : "");
  run.run();
  return run;
}

void expect_ws(const WsCase& c) {
  SCOPED_TRACE(
      fmt::format("{} {} {} x {}, layout {}", c.a.kind, c.a.code, c.m, c.n, static_cast<int>(c.b_layout)));
  const TensorRun run = run_ws(c);
  ASSERT_EQ(run.fault, "");
  EXPECT_EQ(uninitialized_text(run.report), "");
  const uint32_t in_block = c.n * c.m / 128; // columns
  const Operand a = c.operand_a(), b = c.operand_b();
  for (uint32_t row = 0; row < c.m; ++row)
    for (uint32_t column = 0; column < c.n; ++column) {
      const uint32_t block = column / in_block, lane = row + c.m * block, at = column % in_block;
      int sum = c.accumulates ? old_number(lane, at) : 0;
      for (uint32_t k = 0; k < a.k() && !c.mask.is_zero(block, at); ++k)
        sum += a.at(row, k) * b.at(column + c.mask.shift, k);
      ASSERT_EQ(run.cell(0, lane, at), result_bits(c, sum)) << row << ", " << column;
    }
  for (uint32_t lane = 0; lane < 128 && in_block < kAColumn; ++lane) // nothing behind D changes
    ASSERT_EQ(run.cell(0, lane, in_block), result_bits(c, old_number(lane, in_block)));
}

TEST(TensorWs, EverySize) {
  for (const uint32_t m : {32u, 64u, 128u})
    for (const uint32_t n : {64u, 128u, 256u})
      expect_ws({.m = m, .n = n, .accumulates = n == 128});
}

TEST(TensorWs, EveryKind) {
  for (const uint32_t m : {32u, 64u, 128u})
    for (const bool in_tensor : {false, true}) {
      expect_ws({.a = kTf32, .b = kTf32, .m = m, .a_in_tensor_memory = in_tensor});
      expect_ws({.a = kE4m3, .b = kE2m3, .m = m, .a_in_tensor_memory = in_tensor});
      expect_ws({.a = kS8, .b = kU8, .m = m, .a_in_tensor_memory = in_tensor});
      expect_ws({.m = m, .a_in_tensor_memory = in_tensor, .words = ".collector::b2::fill"});
    }
}

TEST(TensorWs, MasksZeroColumnsOfTheirBlock) {
  for (const bool accumulates : {false, true})
    for (const AsyncMode async : {AsyncMode::eager, AsyncMode::late}) {
      const auto expect = [&](uint32_t m, const Mask& mask) {
        expect_ws(
            {.m = m, .n = 128, .accumulates = accumulates, .has_mask = true, .mask = mask, .async = async});
      };
      expect(128, {.start = {0}, .zeros_first = {0}});
      expect(64, {.start = {0, 5}, .zeros_first = {1, 0}});
      expect(32, {.skip = 5, .use = 9, .start = {0, 1, 2, 20}, .zeros_first = {1, 1, 0, 0}});
      expect(32, {}); // no mask
    }
}

TEST(TensorWs, ShiftsBeginAtALaterColumn) {
  for (const Layout layout : {Layout::k_none, Layout::k_128, Layout::mn_none})
    for (const uint32_t shift : {1u, 8u, 13u}) {
      WsCase c{.n = 128, .b_layout = layout, .has_mask = true, .mask = {.shift = shift}, .max_shift_code = 2};
      for (const uint32_t m : {32u, 64u, 128u}) {
        c.m = m;
        expect_ws(c);
      }
      c.mask.start = {3};
      c.mask.zeros_first = {1};
      expect_ws(c);
      c.a = c.b = kE4m3;
      expect_ws(c);
    }
  expect_ws({.m = 64, .n = 256, .has_mask = true, .mask = {.shift = 32}, .max_shift_code = 3});
}

TEST(TensorWs, WrongOperandsAreNamed) {
  const std::string shift = run_ws({.has_mask = true, .mask = {.shift = 9}, .max_shift_code = 1}).fault;
  EXPECT_NE(shift.find("column shift (bits 56-61) is 9; legal with M = 64"), std::string::npos) << shift;
  const std::string n = run_ws({.n = 96}).fault;
  EXPECT_NE(n.find("N (bits 17-22) is 96; legal for .kind::f16 .ws"), std::string::npos) << n;
}

} // namespace
} // namespace lemma::vgpu
