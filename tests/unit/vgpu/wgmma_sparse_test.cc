// wgmma.mma_async.sp on the virtual GPU: every type with every selector and both sources of A against a
// product of A written out in full; and metadata that is refused. Who holds which bits is stated again here.
// Every kind of descriptor is compared with recorded hardware bits (tests/golden, group wgmma_sp).
#include "isa/catalogue.h"
#include "kernel.h"
#include "numeric/convert.h"
#include "numeric/hash.h"
#include "run_ptx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

namespace lemma::vgpu {
namespace {

using isa::Type;
using numeric::FloatFormat;
using numeric::IntegerFormat;

constexpr int kM = 64, kN = 16, kThreads = 128;
constexpr int kBytesOfA = kM * 32, kBytesOfB = kN * 64;

struct Form {
  Type d, a, b;
  int k() const { return 64 * 8 / isa::bits_of(a); }
  int half() const { return k() / 2; }
  bool integer() const { return d == Type::s32; }
  int chunk() const { return isa::bits_of(a) == 32 ? 2 : 4; }
  int chunks() const { return k() / chunk(); }
  int selectors() const { return isa::bits_of(a) == 8 ? 1 : 2; }
  int element_bytes() const { return isa::bits_of(a) / 8; }
  std::string name() const {
    return fmt::format("wgmma.mma_async.sp.sync.aligned.m64n16k{}.{}.{}.{}", k(), isa::to_string(d),
                       isa::to_string(a), isa::to_string(b));
  }
};

constexpr Form kForms[] = {{Type::f32, Type::f16, Type::f16},   {Type::f16, Type::f16, Type::f16},
                           {Type::f32, Type::bf16, Type::bf16}, {Type::f32, Type::tf32, Type::tf32},
                           {Type::f32, Type::e4m3, Type::e5m2}, {Type::f16, Type::e5m2, Type::e4m3},
                           {Type::s32, Type::s8, Type::u8},     {Type::s32, Type::u8, Type::u8}};

// A small number in the type's bits.
uint64_t encode(Type type, int64_t value) {
  switch (type) {
  case Type::f16:
    return numeric::integer_to_float(FloatFormat::f16, IntegerFormat::s64, static_cast<uint64_t>(value));
  case Type::bf16:
    return numeric::integer_to_float(FloatFormat::bf16, IntegerFormat::s64, static_cast<uint64_t>(value));
  case Type::e4m3:
    return numeric::integer_to_float(FloatFormat::e4m3, IntegerFormat::s64, static_cast<uint64_t>(value));
  case Type::e5m2:
    return numeric::integer_to_float(FloatFormat::e5m2, IntegerFormat::s64, static_cast<uint64_t>(value));
  case Type::tf32:
  case Type::f32:
    return numeric::integer_to_float(FloatFormat::f32, IntegerFormat::s64, static_cast<uint64_t>(value));
  default:
    return static_cast<uint64_t>(value) & ((uint64_t{1} << isa::bits_of(type)) - 1);
  }
}

// What a kernel is given. Words: A of shared memory, B, then a word a thread: metadata, then A in registers.
struct Operands {
  std::vector<int64_t> a, b;     // a[64][k / 2], b[k][16]
  std::vector<int> column;       // of A's elements
  std::vector<uint32_t> nibbles; // metadata, a chunk each
};

Operands random_operands(const Form& f, numeric::Random& random) {
  Operands o;
  for (int i = 0; i < kM * f.half(); ++i)
    o.a.push_back(static_cast<int64_t>(random.below(4)));
  for (int i = 0; i < kN * f.k(); ++i)
    o.b.push_back(static_cast<int64_t>(random.below(4)));
  for (int chunk = 0; chunk < kM * f.chunks(); ++chunk) {
    const int base = chunk % f.chunks() * f.chunk();
    if (f.chunk() == 2) {
      const bool second = random.bits(1) != 0;
      o.nibbles.push_back(second ? 0b1110 : 0b0100);
      o.column.push_back(base + second);
      continue;
    }
    const auto first = static_cast<int>(random.below(4)),
               other = (first + 1 + static_cast<int>(random.below(3))) % 4;
    o.nibbles.push_back(static_cast<uint32_t>(first | other << 2));
    o.column.insert(o.column.end(), {base + first, base + other});
  }
  return o;
}

std::vector<uint32_t> metadata_words(const Form& f, const Operands& o, int selector) {
  std::vector<uint32_t> words(kThreads, 0);
  for (int row = 0; row < kM; ++row)
    for (int chunk = 0; chunk < f.chunks(); ++chunk) {
      int thread = row / 16 * 32 + row % 8 * 4, bit;
      const int lower = row % 16 / 8;
      if (f.element_bytes() >= 2) { // both rows in a register, half the columns each
        thread += 2 * selector + chunk / 4;
        bit = chunk % 4 * 4 + 16 * lower;
      } else {
        thread += lower + 2 * (chunk / 8);
        bit = chunk % 8 * 4;
      }
      words[static_cast<size_t>(thread)] |= o.nibbles[static_cast<size_t>(row * f.chunks() + chunk)] << bit;
    }
  return words;
}

// A K-major matrix without a swizzle: chunks of 16 bytes, 8 rows of one below each other, then the next
// chunk.
std::vector<uint32_t> in_shared_memory(int rows, int row_bytes, int element_bytes, const auto& value_at) {
  std::vector<uint32_t> words(static_cast<size_t>(rows * row_bytes / 4));
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < row_bytes / element_bytes; ++i) {
      const int byte = i * element_bytes;
      const int at = row % 8 * 16 + row / 8 * 8 * row_bytes + byte / 16 * 128 + byte % 16;
      const uint64_t bits = value_at(row, i);
      std::memcpy(reinterpret_cast<std::byte*>(words.data()) + at, &bits, static_cast<size_t>(element_bytes));
    }
  return words;
}

KernelRun run(const Form& f, const Operands& o, int selector, bool a_in_registers, AsyncMode mode) {
  const auto a_at = [&](int row, int i) { return encode(f.a, o.a[static_cast<size_t>(row * f.half() + i)]); };
  std::vector<uint32_t> in = in_shared_memory(kM, 32, f.element_bytes(), a_at);
  const auto append = [&](const std::vector<uint32_t>& words) {
    in.insert(in.end(), words.begin(), words.end());
  };
  append(in_shared_memory(kN, 64, f.element_bytes(),
                          [&](int n, int k) { return encode(f.b, o.b[static_cast<size_t>(k * kN + n)]); }));
  append(metadata_words(f, o, selector));
  // Register r: rows 8 * (r % 2) on, bytes 16 * (r / 2) + 4 * (thread % 4) on, of the warp's 16 rows.
  for (int r = 0; r < 4; ++r)
    for (int thread = 0; thread < kThreads; ++thread) {
      const int row = thread / 32 * 16 + thread % 32 / 4 + r % 2 * 8;
      const int first = (r / 2 * 16 + thread % 4 * 4) / f.element_bytes();
      uint32_t word = 0;
      for (int i = 0; i < 4 / f.element_bytes(); ++i)
        word |= static_cast<uint32_t>(a_at(row, first + i) << (i * isa::bits_of(f.a)));
      in.push_back(word);
    }
  const int registers = f.d == Type::f16 ? kN / 4 : kN / 2;
  std::string text =
      fmt::format("  .shared .align 1024 .b8 smem[{}];\n  .reg .b32 d<8>, a<4>, e;\n  .reg .b64 src;\n",
                  kBytesOfA + kBytesOfB);
  text += "  mov.u32 %r0, smem;\n  mad.lo.u32 %r1, %t, 8, %r0;\n  mad.wide.u32 %rd0, %t, 8, %in;\n";
  for (int at = 0; at < kBytesOfA + kBytesOfB; at += kThreads * 8)
    text += fmt::format("  ld.global.b64 %rd1, [%rd0+{0}];\n  st.shared.b64 [%r1+{0}], %rd1;\n", at);
  text += "  mad.wide.u32 src, %t, 4, %in;\n";
  text += fmt::format("  ld.global.b32 e, [src+{}];\n", kBytesOfA + kBytesOfB);
  for (int r = 0; r < 4; ++r)
    text +=
        fmt::format("  ld.global.b32 a{}, [src+{}];\n", r, kBytesOfA + kBytesOfB + (r + 1) * kThreads * 4);
  std::string d_list;
  for (int r = 0; r < registers; ++r) {
    text += fmt::format("  mov.b32 d{}, 0;\n", r);
    d_list += fmt::format("{}d{}", r ? ", " : "", r);
  }
  // Leading dimension byte offset 128; stride 256 of A, 512 of B.
  text += "  shr.u32 %r3, %r0, 4;\n  cvt.u64.u32 %rd1, %r3;\n";
  text += fmt::format("  add.u64 %rd2, %rd1, {:#x};\n  add.u64 %rd3, %rd1, {:#x};\n",
                      uint64_t{8} << 16 | uint64_t{16} << 32,
                      (uint64_t{8} << 16 | uint64_t{32} << 32) + kBytesOfA / 16);
  text += "  fence.proxy.async;\n  bar.sync 0;\n  wgmma.fence.sync.aligned;\n";
  text += fmt::format("  {} {{{}}}, {}, %rd3, e, {}, 1{}{};\n", f.name(), d_list,
                      a_in_registers ? "{a0, a1, a2, a3}" : "%rd2", selector, f.integer() ? "" : ", 1, 1",
                      f.element_bytes() != 2 ? ""
                      : a_in_registers       ? ", 0"
                                             : ", 0, 0");
  text += "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n  mad.wide.u32 %rd4, %t, "
          "4, %out;\n";
  for (int r = 0; r < registers; ++r)
    text += fmt::format("  st.global.b32 [%rd4+{}], d{};\n", r * kThreads * 4, r);
  LaunchConfig config;
  config.block = {kThreads, 1, 1};
  config.async = mode;
  return run_body(text, config, static_cast<size_t>(registers * kThreads), in);
}

void expect_product(const Form& f, const Operands& o, const KernelRun& ran) {
  ASSERT_EQ(fault_text(ran.report), "");
  EXPECT_EQ(uninitialized_text(ran.report), "");
  int wrong = 0;
  for (int row = 0; row < kM; ++row)
    for (int col = 0; col < kN; ++col) {
      int64_t sum = 0;
      for (int i = 0; i < f.half(); ++i) {
        const auto at = static_cast<size_t>(row * f.half() + i);
        sum += o.a[at] * o.b[static_cast<size_t>(o.column[at] * kN + col)];
      }
      const int thread = row / 16 * 32 + row % 8 * 4 + col % 8 / 2, pair = col / 8 * 2 + row % 16 / 8;
      const bool half = f.d == Type::f16;
      const uint32_t word =
          ran.out[static_cast<size_t>((half ? pair : 2 * pair + col % 2) * kThreads + thread)];
      const uint32_t got = half ? word >> (col % 2 * 16) & 0xffff : word;
      if (got != encode(f.d, sum) && ++wrong <= 3)
        ADD_FAILURE() << fmt::format("({}, {}): {:#x}, expected {:#x}", row, col, got, encode(f.d, sum));
    }
  EXPECT_EQ(wrong, 0);
}

TEST(SparseWgmma, MultipliesWholeNumbersExactly) {
  numeric::Random random(1);
  for (const Form& f : kForms)
    for (int selector = 0; selector < f.selectors(); ++selector)
      for (const bool a_in_registers : {false, true})
        for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late}) {
          SCOPED_TRACE(
              fmt::format("{} selector {}{}", f.name(), selector, a_in_registers ? ", A in registers" : ""));
          const Operands o = random_operands(f, random);
          expect_product(f, o, run(f, o, selector, a_in_registers, mode));
        }
}

// CUTLASS's compressor writes 0b0000 for a chunk of zeros, of which it does not matter what they meet.
TEST(SparseWgmma, IndicesThatAreTheSameGoOn) {
  numeric::Random random(3);
  for (const Form& f : kForms)
    for (const uint32_t v : {0b0000u, 0b0101u, 0b1010u, 0b1111u}) {
      if (f.chunk() == 2)
        continue;
      SCOPED_TRACE(fmt::format("{} {:#06b}", f.name(), v));
      Operands o = random_operands(f, random);
      o.nibbles[static_cast<size_t>(41 * f.chunks() + 2)] = v;
      const auto stored = static_cast<size_t>(41 * f.half() + 2 * 2); // two a chunk
      o.a[stored] = o.a[stored + 1] = 0;
      for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late})
        for (const bool a_in_registers : {false, true}) {
          const KernelRun ran = run(f, o, f.selectors() - 1, a_in_registers, mode);
          expect_product(f, o, ran);
          ASSERT_EQ(ran.report.warnings.size(), 1u);
          EXPECT_NE(ran.report.warnings[0].find("what two indices that are the same choose"),
                    std::string::npos)
              << ran.report.warnings[0];
        }
    }
}

TEST(SparseWgmma, MetadataThatTheIsaLeavesUndefinedIsAFault) {
  numeric::Random random(2);
  for (const Form& f : kForms)
    for (uint32_t v = 0; v < 16; ++v) {
      if (f.chunk() != 2 && (v & 3) == v >> 2)
        continue; // see above
      SCOPED_TRACE(fmt::format("{} {:#06b}", f.name(), v));
      Operands o = random_operands(f, random);
      o.nibbles[static_cast<size_t>(41 * f.chunks() + 2)] = v;
      const bool legal = f.chunk() == 2 ? v == 4 || v == 14 : (v & 3) != v >> 2;
      for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late}) {
        const KernelRun ran = run(f, o, f.selectors() - 1, true, mode);
        EXPECT_EQ(ran.report.ok(), legal);
        if (legal)
          continue;
        EXPECT_EQ(fault_in(ran.report).kind, FaultKind::illegal_instruction);
        // Row 41 is row 9 of the third warp.
        EXPECT_NE(
            fault_in(ran.report)
                .message.find(fmt::format("row 9, columns {} to {} of A", 2 * f.chunk(), 3 * f.chunk() - 1)),
            std::string::npos)
            << fault_in(ran.report).message;
      }
    }
}

} // namespace
} // namespace lemma::vgpu
