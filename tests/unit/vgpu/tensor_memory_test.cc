// Tensor memory: who has which columns, and which cell each register of tcgen05.ld and st is; the cells are
// stated here by loops over lanes and columns, in the order in which registers come to them.
#include "kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

namespace lemma::vgpu {
namespace {

constexpr std::string_view kHead = R"(.version 8.6
.target sm_100a
.address_size 64
)";

// `body` after an allocation of %columns columns, whose address is %a; thread %t, `out` in %out; the warp 0
// gives them back. Registers %r0 to %r199.
std::string text_of(std::string_view body, int columns = 64, std::string_view rest = "") {
  return fmt::format(R"({}
.visible .entry k(.param .u64 out)
{{
  .reg .b32 %r<200>; .reg .b32 %t, %a, %warp, %at; .reg .b64 %out, %rd<9>; .reg .pred %p<9>, %first;
  .shared .align 4 .b32 slot;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  shr.u32 %warp, %t, 5;
  setp.eq.u32 %first, %warp, 0;
  mov.u32 %at, slot;
  @!%first bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%at], {};
ALLOCATED:
  bar.sync 0;
  ld.shared.b32 %a, [%at];
  {}
  bar.sync 0;
  {}
  @!%first bra END;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %a, {};
END:
  ret;
}})",
                     kHead, columns, body, rest, columns);
}

std::string fault_of(std::string_view body, int columns = 64, uint32_t threads = 32) {
  Kernel kernel(text_of(body, columns));
  kernel.config().block = {threads, 1, 1};
  return fault_text(kernel.run({kernel.buffer(std::vector<uint32_t>(256))}));
}

std::string registers(int first, int count) {
  std::string list;
  for (int i = 0; i < count; ++i)
    list += fmt::format("{}%r{}", i == 0 ? "" : ", ", first + i);
  return "{" + list + "}";
}

struct Cell {
  uint32_t lane, column;
};

// By register and thread, in that order: the cells of a shape of `columns` columns.
std::vector<Cell> cells_of(std::string_view shape, uint32_t columns, uint32_t half) {
  std::vector<Cell> cells;
  if (shape == "32x32b") {
    for (uint32_t column = 0; column < columns; ++column)
      for (uint32_t lane = 0; lane < 32; ++lane)
        cells.push_back({lane, column});
  } else if (shape == "16x64b") { // eight groups of four threads: two rows, eight apart, of two columns
    for (uint32_t column = 0; column < columns; column += 2)
      for (uint32_t row = 0; row < 8; ++row)
        for (const Cell& at : {Cell{0, 0}, {8, 0}, {0, 1}, {8, 1}})
          cells.push_back({row + at.lane, column + at.column});
  } else if (shape == "16x128b") { // four columns of eight rows, then of the eight after
    for (uint32_t column = 0; column < columns; column += 4)
      for (uint32_t eight = 0; eight < 16; eight += 8)
        for (uint32_t row = 0; row < 8; ++row)
          for (uint32_t i = 0; i < 4; ++i)
            cells.push_back({eight + row, column + i});
  } else if (shape == "16x256b") { // the accumulators of mma.sync: pairs of columns
    for (uint32_t column = 0; column < columns; column += 8)
      for (uint32_t eight = 0; eight < 16; eight += 8)
        for (uint32_t odd = 0; odd < 2; ++odd)
          for (uint32_t row = 0; row < 8; ++row)
            for (uint32_t i = 0; i < 8; i += 2)
              cells.push_back({eight + row, column + i + odd});
  } else { // 16x32bx2
    for (uint32_t column = 0; column < columns; ++column)
      for (const uint32_t begin : {0u, half})
        for (uint32_t lane = 0; lane < 16; ++lane)
          cells.push_back({lane, begin + column});
  }
  return cells;
}

// Stores a number in each register, by the shape, and looks at all 64 columns of the warp's 32 lanes.
void store_and_look(std::string_view shape, int num, int count, uint32_t columns) {
  SCOPED_TRACE(fmt::format("{}.x{}", shape, num));
  const bool is_split = shape == "16x32bx2";
  constexpr uint32_t kHalf = 24;
  std::string body;
  for (int i = 0; i < 64; ++i)
    body += fmt::format("mov.b32 %r{}, 0;\n", i);
  body += fmt::format("tcgen05.st.sync.aligned.32x32b.x64.b32 [%a], {};\n", registers(0, 64));
  for (int i = 0; i < count; ++i)
    body += fmt::format("add.u32 %r{}, %t, {};\n", i, 1000 + 32 * i);
  body += fmt::format("tcgen05.st.sync.aligned.{}.x{}.b32 [%a]{}, {};\n", shape, num,
                      is_split ? fmt::format(", {}", kHalf) : "", registers(0, count));
  body += "tcgen05.wait::st.sync.aligned;\n";
  body += fmt::format("tcgen05.ld.sync.aligned.32x32b.x64.b32 {}, [%a];\ntcgen05.wait::ld.sync.aligned;\n",
                      registers(0, 64));
  body += "mul.wide.u32 %rd0, %t, 256;\nadd.s64 %rd0, %out, %rd0;\n";
  for (int i = 0; i < 64; ++i)
    body += fmt::format("st.global.b32 [%rd0+{}], %r{};\n", 4 * i, i);
  // And the same registers come back.
  body += fmt::format("tcgen05.ld.sync.aligned.{}.x{}.b32 {}, [%a]{};\ntcgen05.wait::ld.sync.aligned;\n",
                      shape, num, registers(0, count), is_split ? fmt::format(", {}", kHalf) : "");
  body += "mul.wide.u32 %rd1, %t, 4;\nadd.s64 %rd1, %out, %rd1;\n";
  for (int i = 0; i < count; ++i)
    body += fmt::format("st.global.b32 [%rd1+{}], %r{};\n", 8192 + 128 * i, i);
  Kernel kernel(text_of(body));
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(2048 + 64 * 32));
  ASSERT_EQ(fault_text(kernel.run({out})), "");
  const auto found = kernel.read<uint32_t>(out, 2048 + 64 * 32);
  std::vector<uint32_t> expected(2048);
  uint32_t number = 1000;
  for (const Cell& cell : cells_of(shape, columns, kHalf))
    expected[cell.lane * 64 + cell.column] = number++;
  EXPECT_EQ(std::vector(found.begin(), found.begin() + 2048), expected);
  std::vector<uint32_t> back(static_cast<size_t>(count) * 32);
  std::iota(back.begin(), back.end(), 1000u);
  EXPECT_EQ(std::vector(found.begin() + 2048, found.begin() + 2048 + 32 * count), back);
}

TEST(TensorMemory, EveryShapeHasItsCells) {
  for (const int num : {1, 2, 16}) {
    store_and_look("32x32b", num, num, static_cast<uint32_t>(num));
    store_and_look("16x64b", num, num, static_cast<uint32_t>(2 * num));
    store_and_look("16x32bx2", num, num, static_cast<uint32_t>(num));
  }
  for (const int num : {1, 2, 8}) {
    store_and_look("16x128b", num, 2 * num, static_cast<uint32_t>(4 * num));
    store_and_look("16x256b", num, 4 * num, static_cast<uint32_t>(8 * num));
  }
}

TEST(TensorMemory, PackedRegistersHaveTwoColumns) {
  Kernel kernel(text_of(R"(
  add.u32 %r0, %t, 0x00050000;
  mov.b32 %r1, 0x00070006;
  tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32 [%a], {%r0, %r1};
  tcgen05.wait::st.sync.aligned;
  tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r2, %r3, %r4, %r5}, [%a];
  tcgen05.ld.sync.aligned.32x32b.x1.pack::16b.b32 {%r6}, [%a+2];
  tcgen05.wait::ld.sync.aligned;
  mul.wide.u32 %rd0, %t, 20;
  add.s64 %rd0, %out, %rd0;
  st.global.b32 [%rd0], %r2;
  st.global.b32 [%rd0+4], %r3;
  st.global.b32 [%rd0+8], %r4;
  st.global.b32 [%rd0+12], %r5;
  st.global.b32 [%rd0+16], %r6;
)"));
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(160));
  ASSERT_EQ(fault_text(kernel.run({out})), "");
  const auto found = kernel.read<uint32_t>(out, 160);
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(std::vector(found.begin() + 5 * t, found.begin() + 5 * t + 5),
              (std::vector<uint32_t>{t, 5, 6, 7, 0x00070006}));
}

TEST(TensorMemory, WarpsReachTheirQuarter) {
  const std::string body = R"(
  shl.b32 %r0, %warp, 21;
  add.u32 %r1, %a, %r0;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%t};
  tcgen05.wait::st.sync.aligned;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%ADDRESS];
  tcgen05.wait::ld.sync.aligned;
  mul.wide.u32 %rd0, %t, 4;
  add.s64 %rd0, %out, %rd0;
  st.global.b32 [%rd0], %r2;
)";
  const auto with = [&](std::string_view address) {
    std::string text = body;
    return text.replace(text.find("%ADDRESS"), 8, address);
  };
  for (const char* address : {"%r1", "%a"}) { // without its lanes too
    Kernel kernel(text_of(with(address)));
    kernel.config().block = {128, 1, 1};
    const uint64_t out = kernel.buffer(std::vector<uint32_t>(128));
    const Report report = kernel.run({out});
    ASSERT_EQ(fault_text(report), "");
    std::vector<uint32_t> expected(128);
    std::iota(expected.begin(), expected.end(), 0u);
    EXPECT_EQ(kernel.read<uint32_t>(out, 128), expected);
    EXPECT_EQ(report.warnings.size(), std::string_view(address) == "%a" ? 1u : 0u);
  }
  EXPECT_EQ(fault_of("xor.b32 %a, %a, 0x00400000;\n tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%a];"),
            "illegal instruction: warp 0 accesses lane 64 of tensor memory, and reaches lanes 0 to 31 alone "
            "(undefined behaviour)");
  EXPECT_EQ(fault_of("xor.b32 %a, %a, 0x00100000;\n tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%a];"),
            "illegal instruction: .32x32b begins at lane 16 of a warp's 32 (undefined behaviour)");
}

TEST(TensorMemory, AccessesStayInTheAllocation) {
  EXPECT_EQ(fault_of("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0, %r1}, [%a+31];", 32),
            "illegal instruction: columns 31 to 32 of tensor memory are not in one allocation of this CTA "
            "(undefined behaviour)");
  EXPECT_EQ(
      fault_of("tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%a], 32, {%r0};", 32),
      "illegal instruction: column 32 of tensor memory is not allocated by this CTA (undefined behaviour)");
  EXPECT_EQ(
      fault_of("add.u32 %a, %a, %t;\n tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%a];"),
      "illegal instruction: lanes 0 and 1 give tcgen05.ld different addresses of tensor memory: 0x0 and 0x1 "
      "(undefined behaviour)");
}

TEST(TensorMemory, CellsAreUnwrittenUntilTheyAreWritten) {
  Kernel kernel(text_of("tcgen05.st.sync.aligned.32x32b.x1.b32 [%a+1], {%t};\n"
                        "tcgen05.wait::st.sync.aligned;\n"
                        "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0, %r1}, [%a];\n"));
  EXPECT_EQ(
      uninitialized_text(kernel.run({kernel.buffer(std::vector<uint32_t>(1))})),
      "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0, %r1}, [%a];: tensor memory at lane 0, column 0 x32\n");
}

// Allocates `first` columns, then `second`, and stores both addresses; `before` goes between.
std::string two_allocations(int first, int second, std::string_view between = "") {
  return fmt::format(R"({}
.visible .entry k(.param .u64 out)
{{
  .reg .b32 %a, %b, %at; .reg .b64 %out;
  .shared .align 4 .b32 slot;
  mov.u32 %at, slot;
  ld.param.u64 %out, [out];
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%at], {};
  ld.shared.b32 %a, [%at];
  {}
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%at], {};
  ld.shared.b32 %b, [%at];
  st.global.v2.b32 [%out], {{%a, %b}};
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %b, {};
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %a, {};
  ret;
}})",
                     kHead, first, between, second, second, first);
}

std::string fault_of_two(int first, int second, std::string_view between = "") {
  Kernel kernel(two_allocations(first, second, between));
  return fault_text(kernel.run({kernel.buffer(std::vector<uint32_t>(2))}));
}

// A load that does not wait for the store before it finds what was there, or what is stored.
TEST(TensorMemory, StoresAreAsLateAsTheirWait) {
  const std::string store = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%a], {%r0};\n";
  const std::string wait = "tcgen05.wait::st.sync.aligned;\n";
  for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late}) {
    Kernel kernel(text_of("add.u32 %r0, %t, 100;\n" + store + wait + "add.u32 %r0, %t, 200;\n" + store + R"(
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%a];
)" + wait + R"(
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%a];
  tcgen05.wait::ld.sync.aligned;
  mul.wide.u32 %rd0, %t, 8;
  add.s64 %rd0, %out, %rd0;
  st.global.v2.b32 [%rd0], {%r1, %r2};
)"));
    kernel.config().async = mode;
    const uint64_t out = kernel.buffer(std::vector<uint32_t>(64));
    ASSERT_EQ(fault_text(kernel.run({out})), "");
    const auto found = kernel.read<uint32_t>(out, 64);
    for (uint32_t t = 0; t < 32; ++t) {
      EXPECT_EQ(found[2 * t], t + (mode == AsyncMode::eager ? 200 : 100));
      EXPECT_EQ(found[2 * t + 1], t + 200);
    }
  }
  Kernel kernel(text_of(store));
  kernel.config().async = AsyncMode::late;
  EXPECT_EQ(fault_text(kernel.run({kernel.buffer(std::vector<uint32_t>(256))})),
            "illegal instruction: the CTA gives back columns 0 to 63 of tensor memory, which a tcgen05.st at "
            "line 19 "
            "uses, and nobody has waited for it (undefined behaviour)");
}

TEST(TensorMemory, AllocationsFollowTheRules) {
  Kernel kernel(two_allocations(128, 64));
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(2));
  ASSERT_EQ(fault_text(kernel.run({out})), "");
  EXPECT_EQ(kernel.read<uint32_t>(out, 2), (std::vector<uint32_t>{0, 128}));
  EXPECT_EQ(fault_of_two(32, 64),
            "illegal instruction: the CTA allocates 64 columns after 32: the number must not grow from one "
            "tcgen05.alloc to the next (undefined behaviour)");
  EXPECT_EQ(
      fault_of_two(64, 64, "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"),
      "illegal instruction: the CTA allocates after tcgen05.relinquish_alloc_permit (undefined behaviour)");
  EXPECT_EQ(fault_of_two(64, 64, "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %a, 32;"),
            "illegal instruction: the CTA gives back 32 columns at address 0x0 of tensor memory, which is no "
            "allocation of its (undefined behaviour)");
  EXPECT_EQ(fault_of_two(64, 64, "ret;"), "illegal instruction: the CTA ends, and has not given back 64 "
                                          "columns of tensor memory, allocated at line "
                                          "11 (undefined behaviour)");
  EXPECT_EQ(fault_of_two(512, 32).substr(0, 18), "deadlock: nothing ");
}

// The same kernel with exclusive allocations.
std::string exclusive(std::string text) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replace(".version 8.6", ".version 9.4");
  replace("alloc.cta_group", "alloc.exclusive.cta_group");
  return text;
}

// Each CTA allocates, stores its number in every column, waits for `rounds` turns of a loop, and reads it
// back.
Report run_side_by_side(int columns, uint32_t ctas, std::vector<uint32_t>& out, uint64_t schedule = 0,
                        bool is_exclusive = false) {
  const std::string body = fmt::format(R"(
  mov.u32 %r0, %ctaid.x;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%a+{}], {{%r0}};
  tcgen05.wait::st.sync.aligned;
  mov.u32 %r1, 0;
LOOP:
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p0, %r1, 3000;
  @%p0 bra LOOP;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r2}}, [%a+{}];
  tcgen05.wait::ld.sync.aligned;
  mul.wide.u32 %rd0, %r0, 8;
  add.s64 %rd0, %out, %rd0;
  st.global.v2.b32 [%rd0], {{%r2, %a}};
)",
                                       columns - 1, columns - 1);
  Kernel kernel(is_exclusive ? exclusive(text_of(body, columns)) : text_of(body, columns));
  kernel.config().grid = {ctas, 1, 1};
  kernel.config().schedule = schedule;
  kernel.limits().sm_count = 1;
  const uint64_t at = kernel.buffer(std::vector<uint32_t>(2 * ctas));
  const Report report = kernel.run({at});
  out = kernel.read<uint32_t>(at, 2 * ctas);
  return report;
}

TEST(TensorMemory, CtasOfOneSmShareIt) {
  for (const int columns : {256, 512}) // 512: one after the other
    for (const uint64_t schedule : {0, 1, 2, 3, 4, 5, 6, 7}) {
      std::vector<uint32_t> out;
      ASSERT_EQ(fault_text(run_side_by_side(columns, 8, out, schedule)), "");
      for (uint32_t cta = 0; cta < 8; ++cta) {
        EXPECT_EQ(out[2 * cta], cta);
        EXPECT_EQ(out[2 * cta + 1] % static_cast<uint32_t>(columns), 0u);
      }
    }
}

TEST(TensorMemory, SchedulesMoveAllocations) {
  bool moved = false;
  for (uint64_t schedule = 1; schedule <= 16 && !moved; ++schedule) {
    std::vector<uint32_t> out;
    ASSERT_EQ(fault_text(run_side_by_side(32, 1, out, schedule)), "");
    moved = out[1] != 0;
  }
  EXPECT_TRUE(moved);
}

TEST(TensorMemory, PairsAllocateTogether) {
  std::string text = two_allocations(128, 64);
  for (size_t at; (at = text.find("cta_group::1")) != std::string::npos;)
    text.replace(at, 12, "cta_group::2");
  Kernel kernel(text);
  kernel.config().grid = kernel.config().cluster = {2, 1, 1};
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(2));
  ASSERT_EQ(fault_text(kernel.run({out})), "");
  EXPECT_EQ(kernel.read<uint32_t>(out, 2), (std::vector<uint32_t>{0, 128}));
  Kernel alone(text);
  EXPECT_EQ(fault_text(alone.run({alone.buffer(std::vector<uint32_t>(2))})),
            "illegal instruction: .cta_group::2 needs a pair of CTAs, and CTA rank 0 has no peer: its "
            "cluster has 1 "
            "CTA (undefined behaviour)");
}

// Side by side they would have different columns: one after the other each has the first.
TEST(TensorMemory, ExclusiveAllocationsAreTheOnlyOnesOfTheirSm) {
  for (const int columns : {32, 96, 512}) {
    std::vector<uint32_t> out;
    ASSERT_EQ(fault_text(run_side_by_side(columns, 8, out, 0, true)), "");
    for (uint32_t cta = 0; cta < 8; ++cta) {
      EXPECT_EQ(out[2 * cta], cta);
      EXPECT_EQ(out[2 * cta + 1], 0u);
    }
  }
}

TEST(TensorMemory, ExclusiveAllocationsFollowTheRules) {
  const auto fault_of = [](const std::string& text) {
    Kernel kernel(text);
    return fault_text(kernel.run({kernel.buffer(std::vector<uint32_t>(256))}));
  };
  std::string text = exclusive(text_of("", 64));
  text.replace(text.find("dealloc.exclusive"), 17, "dealloc");
  EXPECT_EQ(fault_of(text),
            "illegal instruction: the CTA gives back 64 columns at address 0x0 of tensor memory, "
            "which is no allocation of its (undefined behaviour)");
  EXPECT_EQ(fault_of(exclusive(two_allocations(64, 64))).substr(0, 18), "deadlock: nothing ");
  EXPECT_EQ(
      fault_of(exclusive(text_of("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%a+96];", 96))),
      "illegal instruction: column 96 of tensor memory is not allocated by this CTA (undefined behaviour)");
  std::string many = exclusive(text_of("", 96));
  many.replace(many.find("%at, slot;"), 10, "%at, slot;\n  mov.u32 %r9, 544;");
  many.replace(many.find("[%at], 96"), 9, "[%at], %r9");
  EXPECT_EQ(fault_of(many), "illegal instruction: 544 columns of tensor memory (undefined behaviour)");
  many.replace(many.find("sm_100a"), 7, "sm_107a");
  EXPECT_EQ(fault_of(many), "unsupported: 544 columns of tensor memory: more than 512 are not modelled");
}

TEST(TensorMemory, PairsAllocateExclusively) {
  std::string text = exclusive(text_of("mov.u32 %r0, %cluster_ctarank;\n mul.wide.u32 %rd0, %r0, 4;\n "
                                       "add.s64 %rd0, %out, %rd0;\n st.global.b32 [%rd0], %a;",
                                       160));
  for (size_t at; (at = text.find("cta_group::1")) != std::string::npos;)
    text.replace(at, 12, "cta_group::2");
  Kernel kernel(text);
  kernel.config().grid = {8, 1, 1};
  kernel.config().cluster = {2, 1, 1};
  kernel.limits().sm_count = 2;
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(2, 7));
  ASSERT_EQ(fault_text(kernel.run({out})), "");
  EXPECT_EQ(kernel.read<uint32_t>(out, 2), (std::vector<uint32_t>{0, 0}));
}

} // namespace
} // namespace lemma::vgpu
