// Block-scaled tcgen05.mma, whose scale factors tcgen05.cp brings to tensor memory, and where tcgen05.cp
// brings rows. Matrices lie unswizzled; numbers and scales are small enough for every sum to be exact.
#include "kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace lemma::vgpu {
namespace {

constexpr std::string_view kHead = R"(.version 8.8
.target sm_100a
.address_size 64
)";

// --- tcgen05.cp

struct Copy {
  std::string_view words; // shape and multicast
  uint32_t rows, chunks;  // of 16 bytes
  std::vector<uint32_t> (*lanes)(uint32_t row);
};

// Shared memory has the numbers of its words; rows as in core matrices, chunks of a row 4096 bytes apart.
uint32_t word_of(uint32_t row, uint32_t chunk, uint32_t cell) {
  return (row / 8 * 128 + row % 8 * 16 + chunk * 4096) / 4 + cell;
}

std::vector<uint32_t> run_copy(std::string_view words, std::string& fault,
                               AsyncMode async = AsyncMode::eager) {
  Kernel kernel(fmt::format(R"({}
.visible .entry k(.param .u64 out)
{{
  .reg .b32 %r<9>, %t, %w, %d, %own, %at, %i; .reg .b64 %to, %desc, %rd; .reg .pred %p, %q;
  .shared .align 1024 .b8 tile[8192];
  .shared .align 8 .b64 bar;
  .shared .align 4 .b32 slot;
  mov.u32 %t, %tid.x;
  shr.u32 %w, %t, 5;
  setp.ne.u32 %p, %w, 0;
  setp.ne.u32 %q, %t, 0;
  @%p bra A1;
  mov.u32 %at, slot;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%at], 32;
A1:
  mov.u32 %at, bar;
  @!%q mbarrier.init.shared::cta.b64 [%at], 1;
  mov.u32 %i, %t;
  mov.u32 %r5, tile;
FILL:
  mad.lo.u32 %r4, %i, 4, %r5;
  st.shared.b32 [%r4], %i;
  add.u32 %i, %i, 128;
  setp.lt.u32 %p, %i, 2048;
  @%p bra FILL;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mov.u32 %r1, slot;
  ld.shared.b32 %d, [%r1];
  shl.b32 %own, %w, 21;
  add.u32 %own, %own, %d;
  mov.b32 %r0, 0xffffffff;
  tcgen05.st.sync.aligned.32x32b.x8.b32 [%own], {{%r0, %r0, %r0, %r0, %r0, %r0, %r0, %r0}};
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  @%q bra WAIT;
  shr.u32 %r0, %r5, 4;
  cvt.u64.u32 %desc, %r0;
  or.b64 %desc, %desc, 0x0000400801000000; // chunks 4096 bytes apart, eights of rows 128
  tcgen05.cp.cta_group::1.{} [%d], %desc;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%at];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%at], 0;
  @!%p bra WAIT;
  tcgen05.fence::after_thread_sync;
  tcgen05.ld.sync.aligned.32x32b.x8.b32 {{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}}, [%own];
  tcgen05.wait::ld.sync.aligned;
  ld.param.u64 %to, [out];
  mul.wide.u32 %rd, %t, 32;
  add.s64 %to, %to, %rd;
  st.global.v4.b32 [%to], {{%r0, %r1, %r2, %r3}};
  st.global.v4.b32 [%to+16], {{%r4, %r5, %r6, %r7}};
  bar.sync 0;
  setp.ne.u32 %p, %w, 0;
  @%p bra END;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 32;
END:
  ret;
}})",
                            kHead, words));
  kernel.config().block = {128, 1, 1};
  kernel.config().async = async;
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(128 * 8));
  fault = fault_text(kernel.run({out}));
  return kernel.read<uint32_t>(out, 128 * 8);
}

TEST(TensorCp, BringsRowsToTheirLanes) {
  using Lanes = std::vector<uint32_t>;
  const Copy copies[] = {
      {"128x256b", 128, 2, [](uint32_t row) { return Lanes{row}; }},
      {"128x128b", 128, 1, [](uint32_t row) { return Lanes{row}; }},
      {"4x256b", 4, 2, [](uint32_t row) { return Lanes{32 * row}; }},
      {"64x128b.warpx2::02_13", 64, 1, [](uint32_t row) { return Lanes{row, row + 64}; }},
      {"64x128b.warpx2::01_23", 64, 1,
       [](uint32_t row) { return Lanes{row + row / 32 * 32, row + row / 32 * 32 + 32}; }},
      {"32x128b.warpx4", 32, 1, [](uint32_t row) { return Lanes{row, row + 32, row + 64, row + 96}; }},
  };
  for (const Copy& copy : copies)
    for (const AsyncMode async : {AsyncMode::eager, AsyncMode::late, AsyncMode::random}) {
      SCOPED_TRACE(copy.words);
      std::string fault;
      const std::vector<uint32_t> found = run_copy(copy.words, fault, async);
      ASSERT_EQ(fault, "");
      std::vector<uint32_t> expected(128 * 8, 0xffffffff);
      for (uint32_t row = 0; row < copy.rows; ++row)
        for (const uint32_t lane : copy.lanes(row))
          for (uint32_t i = 0; i < 4 * copy.chunks; ++i)
            expected[lane * 8 + i] = word_of(row, i / 4, i % 4);
      EXPECT_EQ(found, expected);
    }
}

TEST(TensorCp, UnpacksElements) {
  std::string fault;
  const std::vector<uint32_t> found = run_copy("32x128b.warpx4.b8x16.b4x16_p64", fault);
  ASSERT_EQ(fault, "");
  for (uint32_t row = 0; row < 32; ++row)
    for (uint32_t i = 0; i < 16; ++i) { // element i: half a byte of the first two words
      const uint32_t packed = word_of(row, 0, i / 8) >> i % 8 * 4 & 0xf;
      EXPECT_EQ(found[(row + 96) * 8 + i / 4] >> i % 4 * 8 & 0xff, packed) << row << ", " << i;
    }
}

// --- products

struct Kind {
  std::string_view words;
  uint32_t k, scales; // of a row
  uint32_t code;      // of e4m3 or e2m1
  bool is_fp4 = false, is_ue4m3 = false;
};

// Bits of 0, 1 and -2; and of a scale of 2^exponent, -1 to 1.
uint32_t number_bits(const Kind& kind, int number) {
  if (number == 0)
    return 0;
  return kind.is_fp4 ? (number == 1 ? 0x2 : 0xc) : (number == 1 ? 0x38 : 0xc0);
}
uint32_t scale_bits(const Kind& kind, int exponent) {
  return kind.is_ue4m3 ? static_cast<uint32_t>(7 + exponent) << 3 : static_cast<uint32_t>(127 + exponent);
}

int number_at(uint32_t matrix, uint32_t row, uint32_t k) {
  constexpr int kNumbers[] = {0, 1, 1, -2, 0, -2, 1, 0};
  return kNumbers[(row * 31 + k * 17 + matrix * 5) * 2654435761u >> 29];
}
int exponent_at(uint32_t matrix, uint32_t row, uint32_t block) {
  return static_cast<int>((row * 7 + block * 3 + matrix) % 3) - 1;
}

std::vector<std::byte> tile_of(const Kind& kind, uint32_t matrix, uint32_t rows) {
  std::vector<std::byte> bytes(8192);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t k = 0; k < kind.k; ++k) {
      const uint32_t byte = kind.is_fp4 ? k / 2 : k, shift = kind.is_fp4 ? k % 2 * 4 : 0;
      bytes[row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16] |=
          static_cast<std::byte>(number_bits(kind, number_at(matrix, row, k)) << shift);
    }
  return bytes;
}

// Tiles of 32 rows by 16 bytes: rows r, r + 32, r + 64 and r + 96, four scales each.
std::vector<uint32_t> scales_of(const Kind& kind, uint32_t matrix, uint32_t rows, uint32_t id) {
  std::vector<uint32_t> words(256);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t i = 0; i < kind.scales; ++i)
      words[row / 128 * 128 + row % 32 * 4 + row % 128 / 32] |= scale_bits(kind, exponent_at(matrix, row, i))
                                                                << 8 * (id + i);
  return words;
}

void expect_scaled_product(const Kind& kind, uint32_t n, uint32_t a_id, uint32_t b_id, AsyncMode async) {
  SCOPED_TRACE(fmt::format("{} n {} ids {} {}", kind.words, n, a_id, b_id));
  std::string stores;
  for (uint32_t first = 0; first < n; first += 8)
    stores += fmt::format(R"(
  tcgen05.ld.sync.aligned.32x32b.x8.b32 {{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}}, [%own+{}];
  tcgen05.wait::ld.sync.aligned;
  st.global.v4.b32 [%to+{}], {{%r0, %r1, %r2, %r3}};
  st.global.v4.b32 [%to+{}], {{%r4, %r5, %r6, %r7}};)",
                          first, 4 * first, 4 * first + 16);
  const uint32_t descriptor = b_id << 4 | kind.code << 7 | kind.code << 10 | n / 8 << 17 |
                              uint32_t{!kind.is_ue4m3} << 23 | 8u << 24 | a_id << 29;
  Kernel kernel(fmt::format(R"({}
.visible .entry k(.param .u64 out, .param .u64 in)
{{
  .reg .b32 %r<9>, %t, %w, %d, %own, %at, %i, %sa, %sb, %idesc; .reg .b64 %to, %from, %ad, %bd, %sd, %rd; .reg .pred %p, %q;
  .shared .align 1024 .b8 tiles[18432]; // A, B, 1 KiB of scales each
  .shared .align 8 .b64 bar;
  .shared .align 4 .b32 slot;
  mov.u32 %t, %tid.x;
  shr.u32 %w, %t, 5;
  setp.ne.u32 %p, %w, 0;
  setp.ne.u32 %q, %t, 0;
  @%p bra A1;
  mov.u32 %at, slot;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%at], 512;
A1:
  mov.u32 %at, bar;
  @!%q mbarrier.init.shared::cta.b64 [%at], 1;
  ld.param.u64 %from, [in];
  mov.u32 %i, %t;
  mov.u32 %r5, tiles;
COPY:
  mul.wide.u32 %rd, %i, 16;
  add.s64 %rd, %from, %rd;
  ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%rd];
  mad.lo.u32 %r4, %i, 16, %r5;
  st.shared.v4.b32 [%r4], {{%r0, %r1, %r2, %r3}};
  add.u32 %i, %i, 128;
  setp.lt.u32 %p, %i, 1152;
  @%p bra COPY;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mov.u32 %r1, slot;
  ld.shared.b32 %d, [%r1];
  shl.b32 %own, %w, 21;
  add.u32 %own, %own, %d;
  @%q bra WAIT;
  shr.u32 %r0, %r5, 4;
  cvt.u64.u32 %ad, %r0;
  add.u64 %sd, %ad, 1024;
  add.u64 %bd, %ad, 512;
  or.b64 %ad, %ad, 0x0000401000080000;
  or.b64 %bd, %bd, 0x0000401000080000;
  or.b64 %sd, %sd, 0x0000400800010000; // eights of rows 128 bytes apart
  add.u32 %sa, %d, 300;
  add.u32 %sb, %d, 320;
  tcgen05.cp.cta_group::1.32x128b.warpx4 [%sa], %sd;
  add.u64 %sd, %sd, 64;
  tcgen05.cp.cta_group::1.32x128b.warpx4 [%sb], %sd;
  add.u64 %sd, %sd, 32;
  tcgen05.cp.cta_group::1.32x128b.warpx4 [%sb+4], %sd;
  setp.ne.u32 %p, 0, 0;
  mov.b32 %idesc, {:#x};
  or.b32 %sa, %sa, {:#x}; // the id, as CUTLASS has it there
  or.b32 %sb, %sb, {:#x};
  tcgen05.mma.cta_group::1.{} [%d], %ad, %bd, %idesc, [%sa], [%sb], %p;
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
                            kHead, descriptor, a_id << 30, b_id << 30, kind.words, 4 * n, stores));
  kernel.config().block = {128, 1, 1};
  kernel.config().async = async;
  std::vector<std::byte> in = tile_of(kind, 0, 128);
  const std::vector<std::byte> b = tile_of(kind, 1, n);
  in.insert(in.end(), b.begin(), b.end());
  for (const auto& words : {scales_of(kind, 0, 128, a_id), scales_of(kind, 1, n, b_id)}) {
    const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
    in.insert(in.end(), bytes, bytes + 1024);
  }
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(128 * n));
  ASSERT_EQ(fault_text(kernel.run({out, kernel.buffer(in)})), "");
  const auto found = kernel.read<uint32_t>(out, 128 * n);
  const uint32_t in_block = kind.k / kind.scales;
  for (uint32_t row = 0; row < 128; ++row)
    for (uint32_t column = 0; column < n; ++column) {
      float sum = 0;
      for (uint32_t k = 0; k < kind.k; ++k)
        sum += std::ldexp(static_cast<float>(number_at(0, row, k) * number_at(1, column, k)),
                          exponent_at(0, row, k / in_block) + exponent_at(1, column, k / in_block));
      ASSERT_EQ(std::bit_cast<float>(found[row * n + column]), sum) << row << ", " << column;
    }
}

TEST(TensorScale, EveryKindAndId) {
  const Kind kinds[] = {
      {"kind::mxf8f6f4.block_scale.scale_vec::1X", 32, 1, 0},
      {"kind::mxf8f6f4.block_scale.block32", 32, 1, 0},
      {"kind::mxf4.block_scale.scale_vec::2X", 64, 2, 1, true},
      {"kind::mxf4nvf4.block_scale.scale_vec::2X", 64, 2, 1, true},
      {"kind::mxf4nvf4.block_scale.scale_vec::4X", 64, 4, 1, true, true},
      {"kind::mxf4nvf4.block_scale.block16", 64, 4, 1, true, true},
  };
  for (const Kind& kind : kinds)
    for (uint32_t id = 0; id + kind.scales <= 4; id += kind.scales) {
      expect_scaled_product(kind, 64, id, 4 - kind.scales - id, AsyncMode::eager);
      expect_scaled_product(kind, 256, id, id, AsyncMode::late);
    }
}

} // namespace
} // namespace lemma::vgpu
