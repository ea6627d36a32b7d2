// tcgen05.mma.sp: products with a sparse A, whose metadata lies in tensor memory. The metadata is stated here
// cell by cell - which rows and chunks a cell has -, products by integers or, of block-scaled ones, by powers
// of two.
#include "tensor_run.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>

namespace lemma::vgpu {
namespace {

struct Form {
  std::string_view words;
  uint32_t bits; // of an element
  uint32_t code; // in the instruction descriptor
  uint32_t ones, minus_twos;
  uint32_t scales = 0; // of a row
  bool is_integer = false;

  uint32_t stored() const { return 256 / bits; }                           // elements of a row of A
  uint32_t in_chunk() const { return bits == 32 ? 1 : bits == 4 ? 4 : 2; } // that are stored
  uint32_t chunks() const { return stored() / in_chunk(); }
  uint32_t encoded(int number) const { return number == 0 ? 0 : number == 1 ? ones : minus_twos; }
};

const Form kF16{"kind::f16", 16, 0, 0x3c00, 0xc000}, kBf16{"kind::f16", 16, 1, 0x3f80, 0xc000},
    kTf32{"kind::tf32", 32, 2, 0x3f800000, 0xc0000000}, kE4m3{"kind::f8f6f4", 8, 0, 0x38, 0xc0},
    kS8{"kind::i8", 8, 1, 1, 0xfe, 0, true},
    kMxf8{"kind::mxf8f6f4.block_scale.scale_vec::1X", 8, 0, 0x38, 0xc0, 1},
    kMxf4{"kind::mxf4.block_scale.scale_vec::2X", 4, 1, 0x2, 0xc, 2},
    kNvf4{"kind::mxf4nvf4.block_scale.block16", 4, 1, 0x2, 0xc, 4};

struct SparseCase {
  Form form = kF16;
  uint32_t cta_group = 1, m = 128, n = 64;
  bool ws = false, a_in_tensor_memory = false, accumulates = false;
  uint32_t half = 0; // lane of D's, A's and the metadata's address
  uint32_t selector = 0;
  AsyncMode async = AsyncMode::eager;
  std::string_view before = "";
  uint32_t code = UINT32_MAX; // of the first chunk of row 3, in place of its own

  uint32_t cta_rows() const { return m / cta_group; }
  uint32_t blocks() const { return ws ? 128 / m : 1; } // of columns
  bool has_halves() const { return !ws && cta_rows() == 64; }
  // Lane of row r of a CTA.
  uint32_t lane_of(uint32_t row) const { return has_halves() ? row / 16 * 32 + row % 16 + half : row; }
};

int number_at(uint32_t matrix, uint32_t row, uint32_t k) {
  constexpr int kNumbers[] = {0, 1, 1, -2, 0, -2, 1, 1};
  return kNumbers[(row * 31 + k * 17 + matrix * 5) * 2654435761u >> 29];
}
int exponent_at(uint32_t matrix, uint32_t row, uint32_t block) {
  return static_cast<int>((row * 7 + block * 3 + matrix) % 3) - 1;
}

// One of the values that mean something, and the columns of the chunk that they choose.
struct Code {
  uint32_t bits;
  std::array<uint32_t, 4> columns; // by stored element
};
Code code_at(const SparseCase& c, uint32_t row, uint32_t chunk) {
  const uint32_t random = (row * 13 + chunk * 29) * 2654435761u >> 24;
  if (c.form.bits == 32)
    return random % 2 ? Code{0b1110, {1}} : Code{0b0100, {0}};
  constexpr Code kPairs[] = {{0b0100, {0, 1}}, {0b1000, {0, 2}}, {0b1100, {0, 3}}, {0b1001, {1, 2}},
                             {0b1101, {1, 3}}, {0b1110, {2, 3}}, {0b0110, {2, 1}}};
  const Code& code = kPairs[random % std::size(kPairs)];
  if (c.form.bits != 4)
    return code;
  return {code.bits,
          {2 * code.columns[0], 2 * code.columns[0] + 1, 2 * code.columns[1], 2 * code.columns[1] + 1}};
}
uint32_t bits_at(const SparseCase& c, uint32_t row, uint32_t chunk) {
  return c.code != UINT32_MAX && row == 3 && chunk == 0 ? c.code : code_at(c, row, chunk).bits;
}

// Element `k` of a row of `row_bytes`, in core matrices.
void put(std::vector<std::byte>& memory, uint32_t row, uint32_t row_bytes, uint32_t k, uint32_t bits,
         uint32_t value) {
  const uint32_t byte = k * bits / 8;
  const size_t at = row / 8 * 8 * row_bytes + byte / 16 * 128 + row % 8 * 16 + byte % 16;
  for (uint32_t i = 0; i < std::max(bits, 8u) / 8; ++i)
    memory[at + i] |= static_cast<std::byte>(value << k * bits % 8 >> 8 * i);
}

constexpr uint32_t kB = 16384, kAColumn = 128, kMetadata = 136, kScalesA = 140, kScalesB = 148, kFilled = 160;

// The cells of a CTA's metadata: rows begin at `first`, counted over both CTAs.
void put_metadata(const SparseCase& c, uint32_t first, std::vector<uint32_t>& tensor) {
  for (uint32_t block = 0; block < c.blocks(); ++block)
    for (uint32_t row = 0; row < c.cta_rows(); ++row) {
      uint32_t* cells = &tensor[(c.lane_of(row) + block * c.m) * kFilled + kMetadata];
      if (c.form.bits < 16) { // its own 16 chunks, eight in a column
        for (uint32_t chunk = 0; chunk < 16; ++chunk)
          cells[chunk / 8] |= bits_at(c, first + row, chunk) << chunk % 8 * 4;
        continue;
      }
      // The lanes of 16 rows: four chunks of one row in the low half, four of the row eight below in the high
      // one; eight lanes with the first four chunks, then eight with the others.
      const uint32_t upper = row / 16 * 16 + row % 8, chunk = row % 16 / 8 * 4;
      for (uint32_t i = 0; i < 4; ++i) {
        cells[c.selector] |= bits_at(c, first + upper, chunk + i) << 4 * i;
        cells[c.selector] |= bits_at(c, first + upper + 8, chunk + i) << (16 + 4 * i);
      }
      cells[1 - c.selector] = 0xeeeeeeee; // not looked at
    }
}

TensorRun run_sparse(const SparseCase& c) {
  TensorRun run;
  run.cta_group = c.cta_group;
  run.columns = 256;
  run.filled_columns = kFilled;
  run.dumped_columns = 128;
  run.async = c.async;
  for (uint32_t cta = 0; cta < c.cta_group; ++cta) {
    TensorRun::Memory memory{std::vector<std::byte>(2 * kB), std::vector<uint32_t>(128 * kFilled)};
    std::vector<std::byte> b(kB);
    const uint32_t first = cta * c.cta_rows(), first_column = cta * c.n / c.cta_group;
    for (uint32_t row = 0; row < c.cta_rows(); ++row)
      for (uint32_t k = 0; k < c.form.stored(); ++k) {
        const uint32_t bits = c.form.encoded(number_at(0, first + row, k)), at = k * c.form.bits;
        put(memory.shared, row, 32, k, c.form.bits, bits);
        for (uint32_t block = 0; block < c.blocks(); ++block)
          memory.tensor[(c.lane_of(row) + block * c.m) * kFilled + kAColumn + at / 32] |= bits << at % 32;
      }
    for (uint32_t column = 0; column < c.n / c.cta_group; ++column)
      for (uint32_t k = 0; k < 2 * c.form.stored(); ++k)
        put(b, column, 64, k, c.form.bits, c.form.encoded(number_at(1, first_column + column, k)));
    std::copy(b.begin(), b.end(), memory.shared.begin() + kB);
    put_metadata(c, first, memory.tensor);
    for (uint32_t quarter = 0; quarter < 4 && c.form.scales != 0; ++quarter)
      for (uint32_t i = 0; i < 256; ++i) {
        uint32_t of_a = 0, of_b = 0;
        for (uint32_t s = 0; s < c.form.scales; ++s) {
          of_a |= static_cast<uint32_t>(127 + exponent_at(0, first + i, s)) << 8 * s;
          of_b |= static_cast<uint32_t>(127 + exponent_at(1, i, s)) << 8 * s;
        }
        uint32_t* cells = &memory.tensor[(quarter * 32 + i % 32) * kFilled];
        cells[kScalesA + i / 32] = of_a;
        cells[kScalesB + i / 32] = of_b;
      }
    for (uint32_t lane = 0; lane < 128; ++lane)
      for (uint32_t column = 0; column < kAColumn; ++column) {
        const uint32_t number = lane % 8;
        memory.tensor[lane * kFilled + column] =
            c.form.is_integer ? number : std::bit_cast<uint32_t>(static_cast<float>(number));
      }
    run.ctas.push_back(std::move(memory));
  }
  const bool scaled = c.form.scales != 0;
  const uint32_t idesc = c.selector | 4u | (scaled ? 1u << 23 : (c.form.is_integer ? 2u : 1u) << 4) |
                         c.form.code << 7 | c.form.code << 10 | c.n / 8 << 17 | c.m / 16 << 24;
  run.issue =
      fmt::format(R"(
  or.b64 %x0, %sm, 0x0000401000080000;
  add.u64 %x1, %sm, {};
  or.b64 %x1, %x1, 0x0000402000080000;
  add.u32 %y4, %d, {};
  add.u32 %y0, %y4, {};
  add.u32 %y1, %y4, {};
  add.u32 %y2, %d, {};
  add.u32 %y3, %d, {};
  {}
  tcgen05.mma{}.sp.cta_group::{}.{} [%y4], {}, %x1, [%y1], {:#x}{}, {};)",
                  kB / 16, c.half << 16, kAColumn, kMetadata, kScalesA, kScalesB, c.before, c.ws ? ".ws" : "",
                  c.cta_group, c.form.words, c.a_in_tensor_memory ? "[%y0]" : "%x0", idesc,
                  scaled ? ", [%y2], [%y3]" : "", c.accumulates ? "%p" : "%np");
  run.run();
  return run;
}

void expect_sparse(const SparseCase& c) {
  SCOPED_TRACE(fmt::format("{} {} of {} x {}, pair {}, ws {}, half {}, selector {}, A in tensor memory {}",
                           c.form.words, c.form.code, c.m, c.n, c.cta_group, c.ws, c.half, c.selector,
                           c.a_in_tensor_memory));
  const TensorRun run = run_sparse(c);
  ASSERT_EQ(run.fault, "");
  EXPECT_EQ(uninitialized_text(run.report), "");
  EXPECT_TRUE(run.report.warnings.empty());
  const Form& form = c.form;
  const uint32_t in_block = c.n / c.blocks(),
                 per_scale = form.scales != 0 ? form.stored() / form.scales : 256;
  for (uint32_t row = 0; row < c.m; ++row)
    for (uint32_t column = 0; column < c.n; ++column) {
      const uint32_t cta = row / c.cta_rows(),
                     lane = c.lane_of(row % c.cta_rows()) + column / in_block * (c.ws ? c.m : 0);
      float sum = c.accumulates ? static_cast<float>(lane % 8) : 0;
      for (uint32_t chunk = 0; chunk < form.chunks(); ++chunk) {
        const Code code = code_at(c, row, chunk);
        for (uint32_t i = 0; i < form.in_chunk(); ++i) {
          const uint32_t k = chunk * form.in_chunk() + i, met = chunk * 2 * form.in_chunk() + code.columns[i];
          const int exponent =
              form.scales != 0 ? exponent_at(0, row, k / per_scale) + exponent_at(1, column, k / per_scale)
                               : 0;
          sum += std::ldexp(static_cast<float>(number_at(0, row, k) * number_at(1, column, met)), exponent);
        }
      }
      const uint32_t bits = run.cell(cta, lane, column % in_block);
      ASSERT_EQ(form.is_integer ? static_cast<float>(static_cast<int32_t>(bits)) : std::bit_cast<float>(bits),
                sum)
          << row << ", " << column;
    }
}

TEST(TensorSparse, EveryKindInEveryDataPath) {
  for (const Form& form : {kF16, kBf16, kTf32, kE4m3, kS8})
    for (const bool in_tensor : {false, true}) {
      expect_sparse({.form = form, .m = 128, .a_in_tensor_memory = in_tensor});
      expect_sparse({.form = form, .m = 64, .a_in_tensor_memory = in_tensor});
      expect_sparse({.form = form, .m = 64, .a_in_tensor_memory = in_tensor, .half = 16});
      expect_sparse({.form = form, .cta_group = 2, .m = 256, .a_in_tensor_memory = in_tensor});
      expect_sparse({.form = form, .cta_group = 2, .m = 128, .a_in_tensor_memory = in_tensor, .half = 16});
      for (const uint32_t m : {32u, 64u, 128u})
        expect_sparse({.form = form, .m = m, .n = 128, .ws = true, .a_in_tensor_memory = in_tensor});
    }
}

TEST(TensorSparse, ScaledKinds) {
  for (const Form& form : {kMxf8, kMxf4, kNvf4})
    for (const AsyncMode async : {AsyncMode::eager, AsyncMode::late}) {
      expect_sparse({.form = form, .n = 128, .async = async});
      expect_sparse({.form = form, .n = 128, .a_in_tensor_memory = true, .async = async});
      expect_sparse({.form = form, .cta_group = 2, .m = 256, .n = 128, .async = async});
    }
}

TEST(TensorSparse, SelectorsAndAccumulators) {
  for (const Form& form : {kF16, kTf32})
    for (const AsyncMode async : {AsyncMode::eager, AsyncMode::late, AsyncMode::random})
      expect_sparse({.form = form, .accumulates = true, .selector = 1, .async = async});
}

TEST(TensorSparse, UndefinedMetadataIsNamed) {
  const auto fault_of = [](const SparseCase& c) { return run_sparse(c).fault; };
  EXPECT_EQ(
      fault_of({.code = 0b0001}),
      "illegal instruction: the metadata of row 3, chunk 0 of A, bits 0 to 3 at lane 3, column 136 of tensor "
      "memory, is 0b0001 (undefined behaviour)");
  EXPECT_NE(fault_of({.form = kTf32, .code = 0b0101}).find("is 0b0101"), std::string::npos);
  const TensorRun same = run_sparse({.code = 0b1010});
  EXPECT_EQ(same.fault, "");
  ASSERT_EQ(same.report.warnings.size(), 1u);
  EXPECT_NE(same.report.warnings[0].find("is 0b1010: the PTX ISA leaves undefined"), std::string::npos);
  EXPECT_NE(fault_of({.m = 64, .before = "add.u32 %y1, %y1, 0x100000;"})
                .find("the metadata begins at lane 16 of tensor memory, and D at lane 0"),
            std::string::npos);
  EXPECT_NE(fault_of({.before = "add.u32 %y1, %y1, 1;"}).find("unsupported: metadata at column 137"),
            std::string::npos);
  EXPECT_NE(fault_of({.before = "add.u32 %y1, %y1, 300;"})
                .find("column 436 of tensor memory is not allocated by this CTA"),
            std::string::npos);
}

} // namespace
} // namespace lemma::vgpu
