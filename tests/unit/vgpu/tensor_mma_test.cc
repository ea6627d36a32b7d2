// tcgen05.mma: products of small integers, which every type has exactly, from matrices that lie in shared
// memory in each layout; the products are stated by integers. How sums are
// rounded: tests/unit/numeric/dot_test.cc.
#include "kernel.h"
#include "tensor_operand.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

namespace lemma::vgpu {
namespace {

struct Case {
  Operand a = {}, b = {};
  uint32_t d_code = 1; // f16 0, f32 1, s32 2
  uint32_t more = 0;   // bits of the instruction descriptor
  std::string_view before = "", disable = "";
  bool a_in_tensor_memory = false;
  bool accumulates = false; // to what stands in D: its lane, in f32 or s32
  AsyncMode async = AsyncMode::eager;
};

uint32_t instruction_descriptor(const Case& c) {
  return c.d_code << 4 | c.a.element.code << 7 | c.b.element.code << 10 | uint32_t{c.a.mn_major()} << 15 |
         uint32_t{c.b.mn_major()} << 16 | c.b.rows / 8 << 17 | c.a.rows / 16 << 24 | c.more;
}

// Shared memory: A at 1024, B 32 KiB behind, then the mbarrier and the address; D in 256 columns, A behind.
std::string text_of(const Case& c) {
  std::string body;
  for (uint32_t first = 0; first < c.b.rows; first += 8)
    body += fmt::format(R"(
  tcgen05.ld.sync.aligned.32x32b.x8.b32 {{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}}, [%own+{}];
  tcgen05.wait::ld.sync.aligned;
  st.global.v4.b32 [%to+{}], {{%r0, %r1, %r2, %r3}};
  st.global.v4.b32 [%to+{}], {{%r4, %r5, %r6, %r7}};)",
                        first, 4 * first, 4 * first + 16);
  std::string fill, a_to_tensor;
  const char* number = c.d_code == 2 ? "mov.b32 %r0, %t;" : "cvt.rn.f32.u32 %f, %t; mov.b32 %r0, %f;";
  for (uint32_t column = 0; column < 256; ++column)
    fill += fmt::format("tcgen05.st.sync.aligned.32x32b.x1.b32 [%own+{}], {{%r0}};\n", column);
  if (c.a_in_tensor_memory) // rows of K, as they come in the second buffer
    for (uint32_t column = 0; column < 8; ++column)
      a_to_tensor += fmt::format("ld.global.b32 %r1, [%a_rows+{}];\n"
                                 "tcgen05.st.sync.aligned.32x32b.x1.b32 [%own+{}], {{%r1}};\n",
                                 4 * column, 256 + column);
  return fmt::format(R"(.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in, .param .u64 rows)
{{
  .reg .b32 %r<9>, %t, %w, %d, %own, %at, %i, %zero; .reg .f32 %f; .reg .b64 %to, %from, %ad, %bd, %rd, %a_rows; .reg .pred %p, %q;
  .shared .align 1024 .b8 tiles[65536];
  .shared .align 8 .b64 bar;
  .shared .align 4 .b32 slot;
  mov.u32 %t, %tid.x;
  mov.u32 %zero, 0;
  shr.u32 %w, %t, 5;
  setp.ne.u32 %p, %w, 0;
  @%p bra A1;
  mov.u32 %at, slot;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%at], 512;
A1:
  setp.ne.u32 %q, %t, 0;
  mov.u32 %at, bar;
  @!%q mbarrier.init.shared::cta.b64 [%at], 1;
  ld.param.u64 %from, [in];
  mov.u32 %i, %t;
COPY:
  mul.wide.u32 %rd, %i, 16;
  add.s64 %rd, %from, %rd;
  ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%rd];
  shl.b32 %r4, %i, 4;
  mov.u32 %r5, tiles;
  add.u32 %r4, %r4, %r5;
  st.shared.v4.b32 [%r4], {{%r0, %r1, %r2, %r3}};
  add.u32 %i, %i, 128;
  setp.lt.u32 %p, %i, 4096;
  @%p bra COPY;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mov.u32 %at, slot;
  ld.shared.b32 %d, [%at];
  shl.b32 %own, %w, 21;
  add.u32 %own, %own, %d;
  {}
  {}
  ld.param.u64 %a_rows, [rows];
  mul.wide.u32 %rd, %t, 32;
  add.s64 %a_rows, %a_rows, %rd;
  {}
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  mov.u32 %at, bar;
  @%q bra WAIT;
  mov.u32 %r0, tiles;
  shr.u32 %r0, %r0, 4;
  cvt.u64.u32 %ad, %r0;
  add.s64 %bd, %ad, 2048;
  or.b64 %ad, %ad, {:#x};
  or.b64 %bd, %bd, {:#x};
  add.u32 %r8, %d, 256;
  setp.ne.u32 %p, {}, 0;
  {}
  tcgen05.mma.cta_group::1.kind::{} [%d], {}, %bd, {:#x}{}, %p;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%at];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%at], 0;
  @!%p bra WAIT;
  tcgen05.fence::after_thread_sync;
  ld.param.u64 %to, [out];
  mul.wide.u32 %rd, %t, {};
  add.s64 %to, %to, %rd;
  {}
  bar.sync 0;
  setp.ne.u32 %p, %w, 0;
  @%p bra END;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 512;
END:
  ret;
}})",
                     number, fill, a_to_tensor, c.a.descriptor_bits(), c.b.descriptor_bits(),
                     c.accumulates ? 1 : 0, c.before, c.a.element.kind,
                     c.a_in_tensor_memory ? "[%r8]" : "%ad", instruction_descriptor(c),
                     c.disable.empty() ? std::string() : fmt::format(", {}", c.disable), 4 * c.b.rows, body);
}

std::string fault_of(const Case& c, std::vector<uint32_t>* found = nullptr) {
  Kernel kernel(text_of(c));
  kernel.config().block = {128, 1, 1};
  kernel.config().async = c.async;
  std::vector<std::byte> tiles = c.a.image(), rows(128 * 32);
  const std::vector<std::byte> b = c.b.image();
  tiles.insert(tiles.end(), b.begin(), b.end());
  for (uint32_t row = 0; row < c.a.rows; ++row)
    for (uint32_t i = 0; i < c.a.k(); ++i) {
      const uint32_t number = bits_of(c.a.element, c.a.at(row, i));
      const uint32_t lane = c.a.rows == 64 ? row / 16 * 32 + row % 16 : row;
      std::memcpy(&rows[lane * 32 + i * c.a.element.bytes], &number, c.a.element.bytes);
    }
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(128 * c.b.rows));
  const std::string fault = fault_text(kernel.run({out, kernel.buffer(tiles), kernel.buffer(rows)}));
  if (found)
    *found = kernel.read<uint32_t>(out, 128 * c.b.rows);
  return fault;
}

uint32_t result_bits(const Case& c, int number) {
  return c.d_code == 2
             ? static_cast<uint32_t>(number)
             : static_cast<uint32_t>(encode(c.d_code == 0 ? FloatFormat::f16 : FloatFormat::f32, number));
}

// `stays`: of a lane, its elements of D are not written.
void expect_product(
    const Case& c, const std::function<bool(uint32_t)>& stays = [](uint32_t) { return false; }) {
  SCOPED_TRACE(fmt::format("{} {}, layouts {} and {}, {} x {}", c.a.element.kind, c.a.element.code,
                           static_cast<int>(c.a.layout), static_cast<int>(c.b.layout), c.a.rows, c.b.rows));
  std::vector<uint32_t> found;
  ASSERT_EQ(fault_of(c, &found), "");
  const int sign_a = c.more >> 13 & 1 ? -1 : 1, sign_b = c.more >> 14 & 1 ? -1 : 1;
  for (uint32_t row = 0; row < c.a.rows; ++row)
    for (uint32_t column = 0; column < c.b.rows; ++column) {
      const uint32_t lane = c.a.rows == 64 ? row / 16 * 32 + row % 16 : row;
      int sum = c.accumulates ? static_cast<int>(lane) : 0;
      for (uint32_t k = 0; k < c.a.k(); ++k)
        sum += sign_a * c.a.at(row, k) * sign_b * c.b.at(column, k);
      const uint32_t bits = stays(lane)
                                ? result_bits(Case{.d_code = c.d_code == 2 ? 2u : 1u}, static_cast<int>(lane))
                                : result_bits(c, sum);
      ASSERT_EQ(found[lane * c.b.rows + column], bits) << row << ", " << column;
    }
}

Case case_of(const Element& a, const Element& b, Layout a_layout = Layout::k_none,
             Layout b_layout = Layout::k_none, uint32_t m = 128, uint32_t n = 16) {
  return {.a = {.element = a, .layout = a_layout, .rows = m},
          .b = {.element = b, .layout = b_layout, .rows = n, .matrix = 1},
          .d_code = a.is_integer ? 2u : 1u};
}

TEST(TensorMma, EveryTypeOfOperands) {
  for (const Element& a : {kF16, kBf16})
    for (const Element& b : {kF16, kBf16})
      if (a.code == b.code)
        expect_product(case_of(a, b));
  expect_product(case_of(kTf32, kTf32));
  for (const Element& a : {kE4m3, kE5m2, kE2m3, kE3m2, kE2m1})
    for (const Element& b : {kE4m3, kE5m2, kE2m3, kE3m2, kE2m1})
      expect_product(case_of(a, b));
  for (const Element& a : {kU8, kS8})
    for (const Element& b : {kU8, kS8})
      expect_product(case_of(a, b));
}

TEST(TensorMma, EveryLayoutOfSharedMemory) {
  for (const Layout a :
       {Layout::k_none, Layout::k_32, Layout::k_64, Layout::k_128, Layout::mn_none, Layout::mn_128})
    for (const Layout b :
         {Layout::k_none, Layout::k_32, Layout::k_64, Layout::k_128, Layout::mn_none, Layout::mn_128}) {
      expect_product(case_of(kF16, kF16, a, b, 128, 64));
      expect_product(case_of(kE4m3, kE5m2, a, b, 64, 128));
    }
}

TEST(TensorMma, EverySize) {
  for (const uint32_t m : {64u, 128u})
    for (const uint32_t n : {8u, 24u, 128u, 256u})
      if (m == 64 || n % 16 == 0)
        expect_product(case_of(kBf16, kBf16, Layout::k_128, Layout::k_64, m, n));
}

TEST(TensorMma, ResultsOfF16AreTheLowHalvesOfCells) {
  Case c = case_of(kF16, kF16);
  c.d_code = 0;
  expect_product(c);
}

TEST(TensorMma, AccumulatesAndNegates) {
  for (const uint32_t more : {0u, 1u << 13, 1u << 14}) {
    Case c = case_of(kF16, kF16, Layout::k_128, Layout::k_128);
    c.more = more;
    c.accumulates = true;
    expect_product(c);
  }
  Case integers = case_of(kS8, kU8, Layout::k_128, Layout::k_128);
  integers.accumulates = true;
  expect_product(integers);
}

TEST(TensorMma, LanesOfDThatAreDisabledStay) {
  Case c = case_of(kF16, kF16);
  c.before = "mov.b32 %r4, 0x000000f0; mov.b32 %r5, 0; mov.b32 %r6, 0xffffffff; mov.b32 %r7, 1;";
  c.disable = "{%r4, %r5, %r6, %r7}";
  expect_product(c, [](uint32_t lane) { return lane / 4 == 1 || lane / 32 == 2 || lane == 96; });
}

TEST(TensorMma, AComesFromTensorMemory) {
  for (const Element& element : {kF16, kTf32, kE4m3, kE2m1, kS8})
    for (const uint32_t m : {64u, 128u}) {
      Case c = case_of(element, element, Layout::k_none, Layout::k_32, m, 32);
      c.a_in_tensor_memory = true;
      expect_product(c);
    }
}

TEST(TensorMma, LateOperationsRunInTheirOrder) {
  for (const AsyncMode async : {AsyncMode::late, AsyncMode::random}) {
    Case c = case_of(kF16, kF16, Layout::k_128, Layout::k_128);
    c.accumulates = true;
    c.async = async;
    expect_product(c);
  }
}

// Without a wait, the columns are given back under the product.
TEST(TensorMma, ColumnsInUseMayNotBeGivenBack) {
  const Case c = case_of(kF16, kF16);
  std::string text = text_of(c);
  const size_t wait = text.find("mbarrier.try_wait");
  text.replace(wait, text.find("bra WAIT;", wait) + 9 - wait, "");
  Kernel kernel(text);
  kernel.config().block = {128, 1, 1};
  kernel.config().async = AsyncMode::late;
  const uint64_t zeros = kernel.buffer(std::vector<std::byte>(65536));
  const Report report = kernel.run({kernel.buffer(std::vector<uint32_t>(128 * 16)), zeros, zeros});
  EXPECT_NE(fault_text(report).find("which a tcgen05.mma at line "), std::string::npos) << fault_text(report);
}

TEST(TensorMma, WrongDescriptorsAreNamed) {
  Case c = case_of(kF16, kF16);
  c.more = 1u << 6;
  EXPECT_NE(fault_of(c).find("instruction descriptor 0x08040050: "), std::string::npos) << fault_of(c);
  c = case_of(kF16, kF16);
  c.before = "and.b64 %ad, %ad, 0xffffbfffffffffff;"; // no version
  EXPECT_NE(fault_of(c).find("a-desc 0x"), std::string::npos) << fault_of(c);
  c.before = "or.b64 %bd, %bd, 0x3fff00000000;"; // far apart
  EXPECT_NE(fault_of(c).find("out of bounds: the descriptor of b-desc"), std::string::npos) << fault_of(c);
  c.before = "add.u32 %d, %d, 500;";
  EXPECT_NE(fault_of(c).find("columns 500 to 515 of tensor memory are not in one allocation"),
            std::string::npos)
      << fault_of(c);
}

} // namespace
} // namespace lemma::vgpu
