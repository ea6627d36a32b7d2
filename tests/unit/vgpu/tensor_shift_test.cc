// Rows that move down: tcgen05.shift, and .ashift of tcgen05.mma; and the reductions of tcgen05.ld.red. What
// is expected is stated lane by lane.
#include "tensor_operand.h"
#include "tensor_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace lemma::vgpu {
namespace {

// --- tcgen05.shift

TensorRun run_shift(uint32_t ctas, std::string_view address, AsyncMode async) {
  TensorRun run;
  run.cta_group = ctas;
  run.columns = run.filled_columns = run.dumped_columns = 32;
  run.async = async;
  for (uint32_t cta = 0; cta < ctas; ++cta) {
    TensorRun::Memory memory{std::vector<std::byte>(2048), std::vector<uint32_t>(128 * 32)};
    for (uint32_t i = 0; i < memory.tensor.size(); ++i)
      memory.tensor[i] = cta * 10000 + i;
    run.ctas.push_back(std::move(memory));
  }
  run.issue = fmt::format("add.u32 %y0, %d, {};\n  tcgen05.shift.cta_group::{}.down [%y0];", address, ctas);
  run.run();
  return run;
}

TEST(TensorShift, MovesAWarpsRowsDownByOne) {
  for (const uint32_t ctas : {1u, 2u})
    for (const AsyncMode async : {AsyncMode::eager, AsyncMode::late, AsyncMode::random}) {
      const TensorRun run = run_shift(ctas, "0x400008", async); // lane 64, column 8
      ASSERT_EQ(run.fault, "");
      for (uint32_t cta = 0; cta < ctas; ++cta)
        for (uint32_t lane = 0; lane < 128; ++lane)
          for (uint32_t column = 0; column < 32; ++column) {
            const bool moved = lane > 64 && lane < 96 && column >= 8 && column < 16;
            ASSERT_EQ(run.cell(cta, lane, column), cta * 10000 + (moved ? lane - 1 : lane) * 32 + column);
          }
    }
}

TEST(TensorShift, WrongAddressesAreNamed) {
  const std::string lane = run_shift(1, "0x100000", AsyncMode::eager).fault;
  EXPECT_NE(lane.find("the shift begins at lane 16 of tensor memory"), std::string::npos) << lane;
  const std::string columns = run_shift(1, "25", AsyncMode::eager).fault;
  EXPECT_NE(columns.find("columns 25 to 32 of tensor memory are not in one allocation of this CTA"),
            std::string::npos)
      << columns;
}

// Two shifts, and a row for the first lane between them, in the order of the ISA's pipeline.
TEST(TensorShift, CopiesBringTheFirstRow) {
  TensorRun run;
  run.columns = run.filled_columns = run.dumped_columns = 32;
  run.async = AsyncMode::late;
  TensorRun::Memory memory{std::vector<std::byte>(2048), std::vector<uint32_t>(128 * 32)};
  for (uint32_t i = 0; i < memory.tensor.size(); ++i)
    memory.tensor[i] = i;
  for (uint32_t i = 0; i < 512; ++i)
    std::memcpy(&memory.shared[size_t{i} * 4], &i, 4);
  run.ctas.push_back(std::move(memory));
  run.issue = R"(
  or.b64 %x0, %sm, 0x0000401000080000;
  tcgen05.shift.cta_group::1.down [%d];
  tcgen05.cp.cta_group::1.4x256b [%d], %x0;
  tcgen05.shift.cta_group::1.down [%d];)";
  run.run();
  ASSERT_EQ(run.fault, "");
  for (uint32_t column = 0; column < 8; ++column) {
    const uint32_t brought = column / 4 * 32 + column % 4; // row 0 of the tile
    EXPECT_EQ(run.cell(0, 0, column), brought);
    EXPECT_EQ(run.cell(0, 1, column), brought);
    for (uint32_t lane = 2; lane < 32; ++lane)
      EXPECT_EQ(run.cell(0, lane, column), (lane - 2) * 32 + column);
    EXPECT_EQ(run.cell(0, 32, column), column / 4 * 32 + 4 + column % 4); // row 1, which did not move
  }
}

// --- .ashift

TensorRun run_ashift(const Element& element, uint32_t ctas, uint32_t m, uint32_t n) {
  constexpr uint32_t kAColumn = 128, kFilled = 136;
  const uint32_t rows = m / ctas;
  TensorRun run;
  run.cta_group = ctas;
  run.filled_columns = kFilled;
  run.dumped_columns = 128;
  for (uint32_t cta = 0; cta < ctas; ++cta) {
    const Operand a{.element = element, .rows = rows, .first_row = cta * rows},
        b{.element = element, .rows = n / ctas, .matrix = 1, .first_row = cta * n / ctas};
    TensorRun::Memory memory{b.image(), std::vector<uint32_t>(128 * kFilled)};
    for (uint32_t lane = 0; lane < 128; ++lane)
      for (uint32_t k = 0; k < a.k(); ++k)
        memory.tensor[lane * kFilled + kAColumn + k * element.bytes / 4] |=
            bits_of(element, a.at(lane % rows, k)) << k * element.bytes % 4 * 8;
    run.ctas.push_back(std::move(memory));
  }
  run.issue = fmt::format(R"(
  or.b64 %x1, %sm, {:#x};
  add.u32 %y0, %d, {};
  tcgen05.mma.cta_group::{}.kind::{}.ashift [%d], [%y0], %x1, {:#x}, %np;)",
                          Operand{.element = element}.descriptor_bits(), kAColumn, ctas, element.kind,
                          1u << 4 | element.code << 7 | element.code << 10 | n / 8 << 17 | m / 16 << 24);
  run.run();
  return run;
}

TEST(TensorAshift, RowsOfATakeThePlaceOfTheNext) {
  constexpr uint32_t kN = 64;
  for (const Element& element : {kF16, kE4m3, kTf32})
    for (const auto& [ctas, m] : {std::pair{1u, 128u}, {2u, 256u}, {2u, 128u}}) {
      SCOPED_TRACE(fmt::format("{} {} {}", element.kind, ctas, m));
      const TensorRun run = run_ashift(element, ctas, m, kN);
      ASSERT_EQ(run.fault, "");
      const uint32_t rows = m / ctas;
      for (uint32_t row = 0; row < m; ++row)
        for (uint32_t column = 0; column < kN; ++column) {
          const uint32_t first = row / rows * rows; // of the CTA
          const Operand a{.element = element}, b{.element = element, .matrix = 1};
          int sum = 0;
          for (uint32_t k = 0; k < a.k(); ++k)
            sum += a.at(row == first ? row : row - 1, k) * b.at(column, k);
          const bool below = rows == 64 && column >= kN / 2;
          ASSERT_EQ(std::bit_cast<float>(run.cell(row / rows, row - first + (below ? 64 : 0),
                                                  below ? column - kN / 2 : column)),
                    static_cast<float>(sum))
              << row << ", " << column;
        }
    }
}

TEST(TensorAshift, NeedsManyRows) {
  const std::string fault = run_ashift(kF16, 1, 64, 64).fault;
  EXPECT_NE(fault.find("M (bits 24-28) is 64; legal for .kind::f16 with .cta_group::1, .ashift: 128"),
            std::string::npos)
      << fault;
}

// --- tcgen05.ld.red

struct Reduction {
  std::string_view words; // behind the number
  std::function<uint32_t(uint32_t, uint32_t)> combine;
};

float number_of(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
bool is_nan(uint32_t bits) {
  return std::isnan(number_of(bits));
}

// By cases: of a NaN and a number, of two zeros, of two numbers.
std::function<uint32_t(uint32_t, uint32_t)> of_floats(bool max, bool abs, bool nan) {
  return [=](uint32_t a, uint32_t b) -> uint32_t {
    if (abs)
      a &= 0x7fffffff, b &= 0x7fffffff;
    if (is_nan(a) || is_nan(b)) {
      if (nan || (is_nan(a) && is_nan(b)))
        return 0x7fffffff;
      return is_nan(a) ? b : a;
    }
    if (number_of(a) == number_of(b)) // a negative zero is less than the other
      return max ? a & b : a | b;
    return (number_of(a) < number_of(b)) == max ? b : a;
  };
}

constexpr uint32_t kCells = 48;

// What stands in a cell: lanes 8 to 11 have zeros of both signs, 12 to 15 NaNs among numbers, 16 NaNs alone.
uint32_t cell_at(uint32_t lane, uint32_t column) {
  const uint32_t random = (lane * 67 + column * 1031 + 7) * 2654435761u;
  if (lane >= 8 && lane < 12)
    return random & 0x80000000;
  if (lane == 16 || (lane >= 12 && lane < 16 && random >> 30 == 0))
    return 0x7fc00000 | (random & 0x80000fff);
  return random % 0x7f800000 | (random & 0x80000000);
}

void expect_reduction(std::string_view shape, uint32_t num, const Reduction& reduction) {
  SCOPED_TRACE(fmt::format("{} x{} {}", shape, num, reduction.words));
  const bool is_split = shape == "16x32bx2";
  const uint32_t half = 24;
  const bool is_float = reduction.words.find("f32") != std::string_view::npos;
  std::string registers, stores;
  for (uint32_t i = 0; i < num; ++i) {
    registers += fmt::format("{}%{}{}", i == 0 ? "" : ", ", is_float ? 'f' : 'r', i);
    stores += fmt::format("st.global.b32 [%to+{}], %{}{};\n", 4 * i + 4, is_float ? 'f' : 'r', i);
  }
  Kernel kernel(fmt::format(R"(.version 8.8
.target sm_103a
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in) {{
  .reg .b32 %r<64>, %at, %a, %t, %i; .reg .f32 %f<64>, %fred; .reg .b32 %rred; .reg .b64 %to, %from, %rd; .reg .pred %p;
  .shared .align 4 .b32 slot;
  mov.u32 %t, %tid.x;
  mov.u32 %at, slot;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%at], 64;
  ld.shared.b32 %a, [%at];
  ld.param.u64 %from, [in];
  mul.wide.u32 %rd, %t, {};
  add.s64 %from, %from, %rd;
  mov.u32 %i, 0;
FILL:
  ld.global.b32 %r0, [%from];
  add.u32 %r1, %a, %i;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {{%r0}};
  add.s64 %from, %from, 4;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, {};
  @%p bra FILL;
  tcgen05.wait::st.sync.aligned;
  tcgen05.ld.red.sync.aligned.{}.x{}.{} {{{}}}, %{}red, [%a]{};
  tcgen05.wait::ld.sync.aligned;
  ld.param.u64 %to, [out];
  mul.wide.u32 %rd, %t, {};
  add.s64 %to, %to, %rd;
  st.global.b32 [%to], %{}red;
  {}
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %a, 64;
  ret;
}})",
                            4 * kCells, kCells, shape, num, reduction.words, registers, is_float ? 'f' : 'r',
                            is_split ? fmt::format(", {}", half) : "", 4 * num + 4, is_float ? 'f' : 'r',
                            stores));
  std::vector<uint32_t> in;
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t column = 0; column < kCells; ++column)
      in.push_back(cell_at(lane, column));
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(32 * (num + 1)));
  ASSERT_EQ(fault_text(kernel.run({out, kernel.buffer(in)})), "");
  const auto found = kernel.read<uint32_t>(out, 32 * (num + 1));
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t lane = is_split ? t % 16 : t, first = is_split ? t / 16 * half : 0;
    uint32_t expected = reduction.combine(cell_at(lane, first), cell_at(lane, first));
    for (uint32_t i = 0; i < num; ++i) {
      ASSERT_EQ(found[t * (num + 1) + 1 + i], cell_at(lane, first + i)) << t;
      expected = reduction.combine(expected, cell_at(lane, first + i));
    }
    ASSERT_EQ(found[t * (num + 1)], expected) << t;
  }
}

TEST(TensorLoadReduces, EveryOperation) {
  const Reduction reductions[] = {
      {"min.u32", [](uint32_t a, uint32_t b) { return a < b ? a : b; }},
      {"max.u32", [](uint32_t a, uint32_t b) { return a < b ? b : a; }},
      {"min.s32", [](uint32_t a, uint32_t b) { return (a ^ 0x80000000) < (b ^ 0x80000000) ? a : b; }},
      {"max.s32", [](uint32_t a, uint32_t b) { return (a ^ 0x80000000) < (b ^ 0x80000000) ? b : a; }},
      {"min.f32", of_floats(false, false, false)},
      {"max.f32", of_floats(true, false, false)},
      {"min.abs.f32", of_floats(false, true, false)},
      {"max.abs.NaN.f32", of_floats(true, true, true)},
      {"max.NaN.f32", of_floats(true, false, true)},
  };
  for (const Reduction& reduction : reductions)
    for (const uint32_t num : {2u, 16u}) {
      expect_reduction("32x32b", num, reduction);
      expect_reduction("16x32bx2", num, reduction);
    }
}

} // namespace
} // namespace lemma::vgpu
