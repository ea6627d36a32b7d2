// Pairs of CTAs, `.cta_group::2`: tcgen05.mma with a half of every matrix in each of them, tcgen05.cp, and
// tensor copies that signal the peer. Products are stated by integers, and where D lies by rows and columns
// of one CTA.
#include "tensor_copy_fixture.h"
#include "tensor_operand.h"
#include "tensor_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

namespace lemma::vgpu {
namespace {

constexpr uint32_t kB = 32768;             // where B begins in shared memory
constexpr uint32_t kAColumn = 256;         // of A in tensor memory
constexpr uint32_t kFilled = kAColumn + 8; // columns

struct PairCase {
  Element a = kF16, b = kF16;
  uint32_t m = 256, n = 64;
  Layout a_layout = Layout::k_none, b_layout = Layout::k_none;
  uint32_t d_code = 1;
  bool a_in_tensor_memory = false, accumulates = false;
  std::string_view before = "", disable = "";
  AsyncMode async = AsyncMode::eager;
  uint32_t issuer = 0;
  int unwritten_rank = -1;

  Operand half_of_a(uint32_t cta) const {
    return {.element = a, .layout = a_layout, .rows = m / 2, .matrix = 0, .first_row = cta * m / 2};
  }
  Operand half_of_b(uint32_t cta) const {
    return {.element = b, .layout = b_layout, .rows = n / 2, .matrix = 1, .first_row = cta * n / 2};
  }
};

// What stands in D, a small number of its own for each lane.
int old_number(uint32_t cta, uint32_t lane) {
  return static_cast<int>(cta * 200 + lane);
}

uint32_t result_bits(const PairCase& c, int number) {
  return c.d_code == 2
             ? static_cast<uint32_t>(number)
             : static_cast<uint32_t>(encode(c.d_code == 0 ? FloatFormat::f16 : FloatFormat::f32, number));
}

TensorRun run_pair(const PairCase& c) {
  TensorRun run;
  run.cta_group = 2;
  run.columns = 512;
  run.filled_columns = kFilled;
  run.async = c.async;
  run.issuer = c.issuer;
  run.unwritten_rank = c.unwritten_rank;
  for (uint32_t cta = 0; cta < 2; ++cta) {
    TensorRun::Memory memory{c.half_of_a(cta).image(), std::vector<uint32_t>(128 * kFilled)};
    const std::vector<std::byte> b = c.half_of_b(cta).image();
    memory.shared.insert(memory.shared.end(), b.begin(), b.end());
    for (uint32_t lane = 0; lane < 128; ++lane) {
      for (uint32_t column = 0; column < kAColumn; ++column)
        memory.tensor[lane * kFilled + column] = result_bits(c, old_number(cta, lane));
      for (uint32_t k = 0; k < c.half_of_a(cta).k(); ++k) { // rows of M = 128 twice
        const Operand a = c.half_of_a(cta);
        const uint32_t bits = bits_of(c.a, a.at(lane % a.rows, k)), bytes = c.a.bytes;
        memory.tensor[lane * kFilled + kAColumn + k * bytes / 4] |= bits << k * bytes % 4 * 8;
      }
    }
    run.ctas.push_back(std::move(memory));
  }
  const uint32_t idesc = c.d_code << 4 | c.a.code << 7 | c.b.code << 10 |
                         uint32_t{c.half_of_a(0).mn_major()} << 15 |
                         uint32_t{c.half_of_b(0).mn_major()} << 16 | c.n / 8 << 17 | c.m / 16 << 24;
  run.issue = fmt::format(R"(
  or.b64 %x0, %sm, {:#x};
  add.u64 %x1, %sm, {};
  or.b64 %x1, %x1, {:#x};
  add.u32 %y0, %d, {};
  {}
  tcgen05.mma.cta_group::2.kind::{} [%d], {}, %x1, {:#x}{}, {};)",
                          c.half_of_a(0).descriptor_bits(), kB / 16, c.half_of_b(0).descriptor_bits(),
                          kAColumn, c.before, c.a.kind, c.a_in_tensor_memory ? "[%y0]" : "%x0", idesc,
                          c.disable.empty() ? std::string() : fmt::format(", {}", c.disable),
                          c.accumulates ? "%p" : "%np");
  run.run();
  return run;
}

// `stays`: of a CTA and a lane, its elements of D are not written.
void expect_pair(
    const PairCase& c,
    const std::function<bool(uint32_t, uint32_t)>& stays = [](uint32_t, uint32_t) { return false; }) {
  SCOPED_TRACE(fmt::format("{} {} {} x {}, layouts {} and {}, A in tensor memory {}", c.a.kind, c.a.code, c.m,
                           c.n, static_cast<int>(c.a_layout), static_cast<int>(c.b_layout),
                           c.a_in_tensor_memory));
  const TensorRun run = run_pair(c);
  ASSERT_EQ(run.fault, "");
  EXPECT_EQ(uninitialized_text(run.report), "");
  for (uint32_t row = 0; row < c.m; ++row)
    for (uint32_t column = 0; column < c.n; ++column) {
      const uint32_t cta = row < c.m / 2 ? 0 : 1, in_cta = row - cta * c.m / 2;
      const bool second = c.m == 128 && column >= c.n / 2; // below the first half of the columns
      const uint32_t lane = second ? in_cta + 64 : in_cta, at = second ? column - c.n / 2 : column;
      const Operand a = c.half_of_a(cta), b = c.half_of_b(column < c.n / 2 ? 0 : 1);
      int sum = c.accumulates ? old_number(cta, lane) : 0;
      for (uint32_t k = 0; k < a.k(); ++k)
        sum += a.at(in_cta, k) * b.at(column % (c.n / 2), k);
      ASSERT_EQ(run.cell(cta, lane, at), result_bits(c, stays(cta, lane) ? old_number(cta, lane) : sum))
          << row << ", " << column;
    }
  const uint32_t beside = c.m == 128 ? c.n / 2 : c.n; // nothing behind D changes
  for (uint32_t cta = 0; cta < 2 && beside < kAColumn; ++cta)
    for (uint32_t lane = 0; lane < 128; ++lane)
      ASSERT_EQ(run.cell(cta, lane, beside), result_bits(c, old_number(cta, lane)));
}

TEST(TensorPair, EverySize) {
  for (const uint32_t m : {128u, 256u})
    for (const uint32_t n : {16u, 48u, 128u, 256u})
      expect_pair({.m = m, .n = n, .a_layout = Layout::k_128, .b_layout = Layout::k_64});
}

TEST(TensorPair, EveryKindAndLayout) {
  for (const uint32_t m : {128u, 256u})
    for (const Layout layout :
         {Layout::k_none, Layout::k_32, Layout::k_64, Layout::k_128, Layout::mn_none, Layout::mn_128}) {
      expect_pair({.m = m, .n = 256, .a_layout = Layout::k_128, .b_layout = layout});
      expect_pair({.a = kE4m3, .b = kE5m2, .m = m, .n = 256, .a_layout = layout, .b_layout = layout});
      expect_pair({.a = kS8, .b = kU8, .m = m, .n = 256, .a_layout = layout, .d_code = 2});
    }
  expect_pair({.a = kTf32, .b = kTf32, .m = 128});
  expect_pair({.a = kE2m1, .b = kE3m2, .m = 128});
  expect_pair({.a = kBf16, .b = kBf16, .d_code = 1});
  expect_pair({.m = 128, .d_code = 0});
}

TEST(TensorPair, AComesFromTensorMemory) {
  for (const uint32_t m : {128u, 256u})
    for (const Element& element : {kF16, kTf32, kE4m3, kS8})
      expect_pair({.a = element,
                   .b = element,
                   .m = m,
                   .d_code = element.is_integer ? 2u : 1u,
                   .a_in_tensor_memory = true});
}

TEST(TensorPair, AddsToDAndLeavesLanes) {
  for (const uint32_t m : {128u, 256u})
    for (const AsyncMode async : {AsyncMode::eager, AsyncMode::late, AsyncMode::random}) {
      expect_pair({.m = m, .accumulates = true, .async = async});
      expect_pair({.m = m,
                   .accumulates = true,
                   .before = "mov.b32 %r1, 0xf0; mov.b32 %r2, 0; mov.b32 %r3, 0xffffffff; mov.b32 %r4, 1;",
                   .disable = "{%r1, %r2, %r2, %r2, %r2, %r3, %r4, %r2}",
                   .async = async},
                  [](uint32_t cta, uint32_t lane) {
                    return cta == 0 ? lane / 4 == 1 : lane / 32 == 1 || lane == 64;
                  });
    }
}

TEST(TensorPair, TheEvenCtaIssues) {
  const std::string fault = run_pair({.issuer = 1}).fault;
  EXPECT_NE(fault.find("CTA rank 1, the odd one of its pair, issues tcgen05.mma with .cta_group::2"),
            std::string::npos)
      << fault;
}

TEST(TensorPair, ThePeersMemoryIsLookedAt) {
  const std::string text = uninitialized_text(run_pair({.unwritten_rank = 1}).report);
  EXPECT_NE(text.find("shared memory of a-desc at 0x400 of the peer, CTA rank 1"), std::string::npos) << text;
  const std::string far = run_pair({.before = "or.b64 %x1, %x1, 0x3fff00000000;"}).fault;
  EXPECT_NE(far.find("out of bounds: the descriptor of b-desc"), std::string::npos) << far;
  const std::string columns = run_pair({.before = "add.u32 %d, %d, 480;"}).fault;
  EXPECT_NE(columns.find("columns 480 to 543 of tensor memory are not in one allocation"), std::string::npos)
      << columns;
}

// --- scale factors

struct ScaledKind {
  std::string_view words;
  uint32_t k, scales, code;
  bool is_fp4 = false, is_ue4m3 = false;
};

// 0, 1 or -2, and scales of 2^-1 to 2^1.
int number_at(uint32_t matrix, uint32_t row, uint32_t k) {
  constexpr int kNumbers[] = {0, 1, 1, -2, 0, -2, 1, 0};
  return kNumbers[(row * 31 + k * 17 + matrix * 5) * 2654435761u >> 29];
}
int exponent_at(uint32_t matrix, uint32_t row, uint32_t block) {
  return static_cast<int>((row * 7 + block * 3 + matrix) % 3) - 1;
}

void put_row(const ScaledKind& kind, uint32_t matrix, uint32_t row, uint32_t at, std::byte* tile) {
  for (uint32_t k = 0; k < kind.k; ++k) {
    const int number = number_at(matrix, row, k);
    const uint32_t bits = number == 0   ? 0u
                          : kind.is_fp4 ? (number == 1 ? 0x2u : 0xcu)
                                        : (number == 1 ? 0x38u : 0xc0u);
    const uint32_t byte = kind.is_fp4 ? k / 2 : k;
    tile[at / 8 * 256 + byte / 16 * 128 + at % 8 * 16 + byte % 16] |=
        static_cast<std::byte>(bits << (kind.is_fp4 ? k % 2 * 4 : 0));
  }
}

uint32_t scale_word(const ScaledKind& kind, uint32_t matrix, uint32_t row) {
  uint32_t word = 0;
  for (uint32_t i = 0; i < kind.scales; ++i) {
    const int exponent = exponent_at(matrix, row, i);
    word |= static_cast<uint32_t>(kind.is_ue4m3 ? (7 + exponent) << 3 : 127 + exponent) << 8 * i;
  }
  return word;
}

void expect_scaled_pair(const ScaledKind& kind, uint32_t m, uint32_t n, AsyncMode async) {
  SCOPED_TRACE(fmt::format("{} {} x {}", kind.words, m, n));
  constexpr uint32_t kScalesA = 256, kScalesB = 264, kAll = 272;
  TensorRun run;
  run.cta_group = 2;
  run.columns = 512;
  run.filled_columns = kAll;
  run.async = async;
  for (uint32_t cta = 0; cta < 2; ++cta) {
    TensorRun::Memory memory{std::vector<std::byte>(2 * kB), std::vector<uint32_t>(128 * kAll)};
    for (uint32_t row = 0; row < m / 2; ++row)
      put_row(kind, 0, cta * m / 2 + row, row, memory.shared.data());
    for (uint32_t column = 0; column < n / 2; ++column)
      put_row(kind, 1, cta * n / 2 + column, column, memory.shared.data() + kB);
    for (uint32_t quarter = 0; quarter < 4; ++quarter) {
      uint32_t* lanes = &memory.tensor[size_t{quarter} * 32 * kAll];
      for (uint32_t row = 0; row < m / 2; ++row)
        lanes[row % 32 * kAll + kScalesA + row / 32] = scale_word(kind, 0, cta * m / 2 + row);
      // Of M = 128 a half of the columns each, in the two upper and the two lower quarters.
      const uint32_t first = m == 128 && quarter >= 2 ? n / 2 : 0, count = m == 128 ? n / 2 : n;
      for (uint32_t i = 0; i < count; ++i)
        lanes[i % 32 * kAll + kScalesB + i / 32] = scale_word(kind, 1, first + i);
    }
    run.ctas.push_back(std::move(memory));
  }
  run.issue = fmt::format(R"(
  or.b64 %x0, %sm, 0x0000401000080000;
  add.u64 %x1, %x0, {};
  add.u32 %y1, %d, {};
  add.u32 %y2, %d, {};
  tcgen05.mma.cta_group::2.{} [%d], %x0, %x1, {:#x}, [%y1], [%y2], %np;)",
                          kB / 16, kScalesA, kScalesB, kind.words,
                          kind.code << 7 | kind.code << 10 | n / 8 << 17 | uint32_t{!kind.is_ue4m3} << 23 |
                              m / 16 << 24);
  run.run();
  ASSERT_EQ(run.fault, "");
  const uint32_t in_block = kind.k / kind.scales;
  for (uint32_t row = 0; row < m; ++row)
    for (uint32_t column = 0; column < n; ++column) {
      float sum = 0;
      for (uint32_t k = 0; k < kind.k; ++k)
        sum += std::ldexp(static_cast<float>(number_at(0, row, k) * number_at(1, column, k)),
                          exponent_at(0, row, k / in_block) + exponent_at(1, column, k / in_block));
      const bool below = m == 128 && column >= n / 2;
      ASSERT_EQ(std::bit_cast<float>(run.cell(row / (m / 2), row % (m / 2) + (below ? 64 : 0),
                                              below ? column - n / 2 : column)),
                sum)
          << row << ", " << column;
    }
}

TEST(TensorPair, EveryKindOfScaleFactors) {
  const ScaledKind kinds[] = {{"kind::mxf8f6f4.block_scale.scale_vec::1X", 32, 1, 0},
                              {"kind::mxf4.block_scale.scale_vec::2X", 64, 2, 1, true},
                              {"kind::mxf4nvf4.block_scale.scale_vec::4X", 64, 4, 1, true, true}};
  for (const ScaledKind& kind : kinds)
    for (const uint32_t m : {128u, 256u})
      for (const uint32_t n : {48u, 256u})
        expect_scaled_pair(kind, m, n, n == 48 ? AsyncMode::eager : AsyncMode::late);
}

// --- tcgen05.cp

TEST(TensorPair, CopiesGoFromEachCtaToItself) {
  for (const AsyncMode async : {AsyncMode::eager, AsyncMode::late}) {
    TensorRun run;
    run.cta_group = 2;
    run.columns = run.dumped_columns = 32;
    run.filled_columns = 0;
    run.async = async;
    for (uint32_t cta = 0; cta < 2; ++cta) {
      TensorRun::Memory memory{std::vector<std::byte>(4096), {}};
      for (uint32_t i = 0; i < 1024; ++i) {
        const uint32_t number = 10000 * cta + i;
        std::memcpy(&memory.shared[size_t{i} * 4], &number, 4);
      }
      run.ctas.push_back(std::move(memory));
    }
    run.issue = R"(
  or.b64 %x0, %sm, 0x0000401000080000;
  tcgen05.cp.cta_group::2.128x256b [%d], %x0;)";
    run.run();
    ASSERT_EQ(run.fault, "");
    for (uint32_t cta = 0; cta < 2; ++cta)
      for (uint32_t lane = 0; lane < 128; ++lane)
        for (uint32_t column = 0; column < 8; ++column)
          ASSERT_EQ(run.cell(cta, lane, column),
                    10000 * cta + (lane / 8 * 256 + column / 4 * 128 + lane % 8 * 16 + column % 4 * 4) / 4);
  }
}

// The odd CTA has given its columns back.
TEST(TensorPair, ThePeerNeedsTheColumnsToo) {
  Kernel kernel(R"(.version 8.6
.target sm_100a
.address_size 64
.visible .entry k() {
  .reg .b32 %d, %slot, %rank; .reg .pred %even, %one;
  .shared .align 4 .b32 slot;
  mov.u32 %slot, slot;
  mov.u32 %rank, %cluster_ctarank;
  setp.eq.u32 %even, %rank, 0;
  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%slot], 32;
  ld.shared.b32 %d, [%slot];
  @%even bra ARRIVE;
  tcgen05.dealloc.cta_group::2.sync.aligned.b32 %d, 32;
ARRIVE:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @!%even bra END;
  tcgen05.shift.cta_group::2.down [%d];
END:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
})");
  kernel.config().grid = kernel.config().cluster = {2, 1, 1};
  EXPECT_EQ(
      fault_text(kernel.run({})),
      "illegal instruction: columns 0 to 7 of tensor memory are not in one allocation of the peer, CTA rank "
      "1 (undefined behaviour)");
}

// --- tensor copies that signal the peer

class TensorPairCopies : public TensorCopies {
protected:
  static std::string on_blackwell(const std::string& text) {
    return ".version 8.6\n.target sm_100a\n.address_size 64\n" + text;
  }
};

// Each CTA loads a box of its own, and both tell the mbarrier of the even one, by its address as kernels make
// it.
TEST_P(TensorPairCopies, BothSignalTheEvenCta) {
  const std::string body = R"(
  and.b32 %r3, %b, 0xfeffffff;
  shl.b32 %r4, %rank, 5;
  setp.ne.u32 %p3, %rank, 0;
  @!%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 1024;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%s], [%map, {%r4, 2}], [%r3];
  @%p3 bra done;
)" + std::string(kWait);
  const std::string tail = R"(
  @%p0 bra end;
  mul.wide.u32 %a1, %rank, 512;
  add.u64 %out, %out, %a1;
)" + copy_to_out(128) + "end:\n";
  const Report report = run(on_blackwell(kernel(body, tail)), 2);
  ASSERT_EQ(fault_text(report), "");
  for (uint32_t cta = 0; cta < 2; ++cta)
    for (uint32_t i = 0; i < 128; ++i)
      ASSERT_EQ(out[cta * 128 + i], word(cta * 32 + i % 32, 2 + i / 32)) << cta << ", " << i;
}

// A box for all four CTAs of two pairs: the odd one of each is told of both.
TEST_P(TensorPairCopies, MulticastsSignalInEveryPair) {
  const std::string body = R"(
  setp.eq.u32 %p3, %rank, 1;
  and.b32 %r5, %rank, 1;
  setp.eq.u32 %p2, %r5, 1;
  @%p2 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 1024;
  @!%p3 bra issued;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mov.u16 %h0, 15;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2 [%s], [%map, {32, 1}], [%b], %h0;
  bra ready;
issued:
  barrier.cluster.arrive;
  barrier.cluster.wait;
ready:
  @!%p2 bra done;
)" + std::string(kWait);
  std::string text =
      kernel(body, "  @%p0 bra end;\n  mul.wide.u32 %a1, %rank, 512;\n  add.u64 %out, %out, %a1;\n" +
                       copy_to_out(128) + "end:\n");
  const Report report = run(on_blackwell(text), 4, 1);
  ASSERT_EQ(fault_text(report), "");
  for (uint32_t cta = 0; cta < 4; ++cta)
    for (uint32_t i = 0; i < 128; ++i)
      ASSERT_EQ(out[cta * 128 + i], word(32 + i % 32, 1 + i / 32)) << cta << ", " << i;
}

TEST_P(TensorPairCopies, OtherPairsAreNotSignalled) {
  const std::string body = R"(
  xor.b32 %r3, %b, 0x02000000;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%s], [%map, {0, 0}], [%r3];
)";
  const std::string fault = fault_text(run(on_blackwell(kernel(body)), 4));
  EXPECT_NE(fault.find("they must be in one CTA or, with .cta_group::2, in one pair"), std::string::npos)
      << fault;
}

INSTANTIATE_TEST_SUITE_P(Modes, TensorPairCopies, every_async_mode(), async_mode_name);

} // namespace
} // namespace lemma::vgpu
