// mma.sp and mma.sp::ordered_metadata on the virtual GPU: every spelling with every selector is run as a
// kernel and compared with a product of A written out in full. Who holds which element of A, and which bits
// of metadata and scales, is stated here again, by the PTX ISA's formulae, and not taken from the catalogue.
#include "isa/catalogue.h"
#include "isa/form.h"
#include "numeric/convert.h"
#include "numeric/dot.h"
#include "numeric/hash.h"
#include "run_ptx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>

namespace lemma::vgpu {
namespace {

using isa::MatrixRow;
using isa::Type;
using numeric::FloatFormat;
using numeric::IntegerFormat;

constexpr int kM = 16, kN = 8;

struct Spelled {
  const MatrixRow* row = nullptr;
  std::string text;
  Type d = Type::none, a = Type::none, b = Type::none, c = Type::none;

  int k() const { return row->shape.k; }
  bool containers() const {
    return row->kind == isa::Qual::kind_f8f6f4 || row->kind == isa::Qual::kind_mxf8f6f4;
  }
  bool sm_120() const { return row->kind != isa::Qual::none || row->targets.starts_with("sm_120"); }
  int bits() const { return containers() ? 8 : isa::bits_of(a); }
  int scales() const { return isa::scales_of(*row); }
  bool ordered() const { return row->sparse == isa::Qual::sp_ordered_metadata; }
  bool wide_chunks() const { return bits() >= 16; } // metadata of two rows in one register
  int chunk() const { return bits() == 4 ? 8 : bits() == 32 ? 2 : 4; }
  int chunks() const { return k() / chunk(); }
  int lanes_with_metadata() const { return kM * chunks() * 4 / 32 / 8; } // of four
  int selectors() const { return 4 / lanes_with_metadata(); }
};

void for_spellings(const std::function<void(const Spelled&)>& f) {
  isa::MatchCache cache;
  int count = 0;
  for (const MatrixRow& row : isa::matrix_rows()) {
    if (row.opcode != isa::Opcode::mma || row.sparse == isa::Qual::none)
      continue;
    for (const std::string& text : isa::spellings_of(row)) {
      Diagnostic error;
      const isa::Match* match = cache.find(text, 0, error);
      ASSERT_NE(match, nullptr) << text;
      ASSERT_GE(match->bindings.front().types.size(), 4u); // and that of the scales
      SCOPED_TRACE(text);
      f({&row, text, match->bindings.front().types[0], match->bindings.front().types[1],
         match->bindings.front().types[2], match->bindings.front().types[3]});
      ++count;
    }
  }
  EXPECT_GE(count, 190);
}

using Bits = std::vector<uint64_t>; // row after row

// A sparse A: what is stored, k / 2 columns, and where it stands in the full matrix.
struct Sparse {
  Bits stored;
  std::vector<int> column;       // of each stored element
  std::vector<uint32_t> nibbles; // metadata, a chunk each
};

// Random legal metadata.
void choose_columns(const Spelled& s, numeric::Random& random, Sparse& a) {
  for (int chunk = 0; chunk < kM * s.chunks(); ++chunk) {
    const int base = chunk % s.chunks() * s.chunk();
    if (s.bits() == 32) {
      const bool second = random.bits(1) != 0;
      a.column.push_back(base + second);
      a.nibbles.push_back(second ? 0b1110 : 0b0100);
      continue;
    }
    auto first = static_cast<int>(random.below(4)), other = static_cast<int>(random.below(3));
    other += other >= first;
    if (s.ordered() && first > other)
      std::swap(first, other);
    a.nibbles.push_back(static_cast<uint32_t>(first | other << 2));
    for (const int place : {first, other})
      if (s.bits() == 4)
        a.column.insert(a.column.end(), {base + 2 * place, base + 2 * place + 1});
      else
        a.column.push_back(base + place);
  }
}

Bits in_full(const Spelled& s, const Sparse& a) {
  Bits full(static_cast<size_t>(kM * s.k()));
  const int half = s.k() / 2;
  for (int i = 0; i < kM * half; ++i)
    full[static_cast<size_t>(i / half * s.k() + a.column[static_cast<size_t>(i)])] =
        a.stored[static_cast<size_t>(i)];
  return full;
}

using Words = std::vector<uint32_t>; // register after register, lane after lane

void put(Words& words, int reg, int lane, int element, int bits, uint64_t value) {
  const auto at = static_cast<size_t>(reg * 32 + lane);
  words.resize(std::max(words.size(), (at / 32 + 1) * 32));
  words[at] |= static_cast<uint32_t>(value << (element * bits));
}

// groupID = lane / 4, threadID_in_group = lane % 4; a register has `per` neighbours in K.
Words a_registers(const Spelled& s, const Sparse& a) {
  Words words;
  const int per = 32 / s.bits(), half = s.k() / 2;
  for (int row = 0; row < kM; ++row)
    for (int col = 0; col < half; ++col)
      put(words, row / 8 + 2 * (col / (4 * per)), row % 8 * 4 + col / per % 4, col % per, s.bits(),
          a.stored[static_cast<size_t>(row * half + col)]);
  return words;
}

Words b_registers(const Spelled& s, const Bits& b) {
  Words words;
  const int per = 32 / s.bits();
  for (int row = 0; row < s.k(); ++row)
    for (int col = 0; col < kN; ++col)
      put(words, row / (4 * per), col * 4 + row / per % 4, row % per, s.bits(),
          b[static_cast<size_t>(row * kN + col)]);
  return words;
}

// (register, lane, element) of C and D.
std::array<int, 3> accumulator_place(Type type, int row, int col) {
  const int lane = row % 8 * 4 + col / 2;
  return type == Type::f16 ? std::array{row / 8, lane, col % 2} : std::array{row / 8 * 2 + col % 2, lane, 0};
}

Words c_registers(Type type, const Bits& c) {
  Words words;
  for (int i = 0; i < kM * kN; ++i) {
    const auto [reg, lane, element] = accumulator_place(type, i / kN, i % kN);
    put(words, reg, lane, element, isa::bits_of(type), c[static_cast<size_t>(i)]);
  }
  return words;
}

// Of lanes that the selector does not choose: what no chunk may have.
Words metadata_registers(const Spelled& s, const Sparse& a, int selector) {
  Words words(32);
  std::vector<bool> chosen(32);
  for (int row = 0; row < kM; ++row)
    for (int chunk = 0; chunk < s.chunks(); ++chunk) {
      int thread = selector * s.lanes_with_metadata(), bit = 0;
      if (s.wide_chunks()) {
        thread += chunk / 4;
        bit = chunk % 4 * 4 + row / 8 * 16;
      } else {
        thread += row / 8 + chunk / 8 * 2;
        bit = chunk % 8 * 4;
      }
      const auto lane = static_cast<size_t>(row % 8 * 4 + thread);
      words[lane] |= a.nibbles[static_cast<size_t>(row * s.chunks() + chunk)] << bit;
      chosen[lane] = true;
    }
  for (size_t lane = 0; lane < 32; ++lane)
    if (!chosen[lane])
      words[lane] = 0xffff0000;
  return words;
}

// Powers of two: of A's row or B's column `line`.
int scale_exponent(bool of_a, int line, int scale) {
  return of_a ? (line + scale) % 3 : (line + 2 * scale) % 2;
}

// Lane 4 * (line % 8), and the one after it for A's rows from 8 on; a byte each, from the lowest.
Words scale_registers(const Spelled& s, bool of_a) {
  Words words(32);
  for (int line = 0; line < (of_a ? kM : kN); ++line)
    for (int scale = 0; scale < s.scales(); ++scale) {
      const int exponent = scale_exponent(of_a, line, scale);
      const int bits = s.row->scale == Type::ue4m3 ? (exponent + 7) << 3 : exponent + 127;
      words[static_cast<size_t>(line % 8 * 4 + line / 8)] |= static_cast<uint32_t>(bits) << (8 * scale);
    }
  return words;
}

KernelRun run(const Spelled& s, const Sparse& a, const Bits& b, const Bits& c, int selector,
              const Words* metadata = nullptr, bool check = false) {
  Words in;
  std::string text, lists[7];
  const Words parts[] = {a_registers(s, a),        b_registers(s, b),
                         c_registers(s.c, c),      metadata ? *metadata : metadata_registers(s, a, selector),
                         scale_registers(s, true), scale_registers(s, false)};
  text = "  .reg .b64 %src, %dst;\n  mad.wide.u32 %src, %t, 4, %in;\n  mad.wide.u32 %dst, %t, 4, %out;\n";
  size_t index = 0;
  for (const Words& part : parts) {
    const char name = "abcexy"[index];
    text += fmt::format("  .reg .b32 {}<{}>;\n", name, part.size() / 32);
    for (size_t i = 0; i < part.size() / 32; ++i) {
      text += fmt::format("  ld.global.b32 {}{}, [%src+{}];\n", name, i, (in.size() + i * 32) * 4);
      lists[index] += fmt::format("{}{}{}", i ? ", " : "", name, i);
    }
    in.insert(in.end(), part.begin(), part.end());
    ++index;
  }
  const size_t d_count = s.d == Type::f16 ? 2 : 4;
  text += fmt::format("  .reg .b32 d<{}>;\n", d_count);
  for (size_t i = 0; i < d_count; ++i)
    lists[6] += fmt::format("{}d{}", i ? ", " : "", i);
  const std::string scales = s.scales() == 0 ? "" : ", x0, {0, 0}, y0, {0, 0}";
  text += fmt::format("  {} {{{}}}, {{{}}}, {{{}}}, {{{}}}, {}, {}{};\n", s.text, lists[6], lists[0],
                      lists[1], lists[2], lists[3], selector, scales);
  for (size_t i = 0; i < d_count; ++i)
    text += fmt::format("  st.global.b32 [%dst+{}], d{};\n", i * 128, i);
  LaunchConfig config;
  config.block = {32, 1, 1};
  config.workers = 1;
  config.check = check;
  const char* target = s.sm_120() ? "sm_120a" : "sm_90a";
  return run_body(text, config, d_count * 32, in,
                  fmt::format(".version 8.7\n.target {}\n.address_size 64\n", target));
}

uint64_t result_at(const Spelled& s, const Words& words, int row, int col) {
  const auto [reg, lane, element] = accumulator_place(s.d, row, col);
  const int bits = isa::bits_of(s.d);
  return static_cast<uint64_t>(words[static_cast<size_t>(reg * 32 + lane)]) >> (element * bits) &
         ((uint64_t{1} << bits) - 1);
}

void expect_result(const Spelled& s, const KernelRun& ran, const Bits& want) {
  ASSERT_TRUE(ran.report.ok()) << fault_in(ran.report).message;
  int wrong = 0;
  for (int i = 0; i < kM * kN; ++i) {
    const uint64_t got = result_at(s, ran.out, i / kN, i % kN);
    if (got != want[static_cast<size_t>(i)] && ++wrong <= 3)
      ADD_FAILURE() << fmt::format("({}, {}): {:#x}, expected {:#x}", i / kN, i % kN, got,
                                   want[static_cast<size_t>(i)]);
  }
  EXPECT_EQ(wrong, 0);
}

FloatFormat format_of(Type type) {
  switch (type) {
  case Type::f16:
    return FloatFormat::f16;
  case Type::bf16:
    return FloatFormat::bf16;
  case Type::tf32:
    return FloatFormat::tf32;
  case Type::e4m3:
    return FloatFormat::e4m3;
  case Type::e5m2:
    return FloatFormat::e5m2;
  case Type::e3m2:
    return FloatFormat::e3m2;
  case Type::e2m3:
    return FloatFormat::e2m3;
  case Type::e2m1:
    return FloatFormat::e2m1;
  default:
    return FloatFormat::f32;
  }
}

uint64_t encode_whole(Type type, int64_t value) {
  if (isa::is_integer(type))
    return static_cast<uint64_t>(value) & ((uint64_t{1} << isa::bits_of(type)) - 1);
  return numeric::integer_to_float(format_of(type), IntegerFormat::s64, static_cast<uint64_t>(value));
}

// Whole numbers that every type has.
std::vector<int64_t> small_numbers(Type type, size_t count, numeric::Random& random) {
  const bool is_unsigned = isa::kind_of(type) == isa::TypeKind::unsigned_int;
  std::vector<int64_t> values(count);
  for (int64_t& value : values)
    value = static_cast<int64_t>(random.below(8)) - (is_unsigned ? 0 : 4);
  return values;
}

// `shift`: of e2m1 in a container.
Bits encoded(Type type, const std::vector<int64_t>& values, int shift = 0) {
  Bits bits;
  for (const int64_t value : values)
    bits.push_back(encode_whole(type, value) << shift);
  return bits;
}

TEST(SparseMma, MultipliesWholeNumbersExactly) {
  numeric::Random random(1);
  for_spellings([&](const Spelled& s) {
    for (int selector = 0; selector < s.selectors(); ++selector) {
      Sparse a;
      choose_columns(s, random, a);
      const int half = s.k() / 2;
      const auto av = small_numbers(s.a, static_cast<size_t>(kM * half), random),
                 bv = small_numbers(s.b, static_cast<size_t>(s.k() * kN), random),
                 cv = small_numbers(s.c, static_cast<size_t>(kM * kN), random);
      const auto shift = [&](Type type) { return s.containers() && type == Type::e2m1 ? 2 : 0; };
      a.stored = encoded(s.a, av, shift(s.a));
      Bits want;
      for (int i = 0; i < kM * kN; ++i) {
        int64_t sum = cv[static_cast<size_t>(i)];
        for (int e = i / kN * half; e < (i / kN + 1) * half; ++e) {
          const int scale = s.scales() == 0 ? 0 : e % half / (half / s.scales());
          const int power = s.scales() == 0
                                ? 0
                                : scale_exponent(true, i / kN, scale) + scale_exponent(false, i % kN, scale);
          sum += av[static_cast<size_t>(e)] *
                 bv[static_cast<size_t>(a.column[static_cast<size_t>(e)] * kN + i % kN)] * (1 << power);
        }
        want.push_back(encode_whole(s.d, sum));
      }
      expect_result(s, run(s, a, encoded(s.b, bv, shift(s.b)), encoded(s.c, cv), selector), want);
    }
  });
}

// Where one fused step has all of K, zeros change nothing: the result is that of the dense form.
TEST(SparseMma, GivesTheBitsOfTheDenseProduct) {
  numeric::Random random(2);
  for_spellings([&](const Spelled& s) {
    if (isa::is_integer(s.a) || s.bits() <= 8)
      return;
    Sparse a;
    choose_columns(s, random, a);
    a.stored = numeric::operands(format_of(s.a), numeric::OperandClass::wide, random,
                                 static_cast<size_t>(kM * s.k() / 2));
    const Bits b = numeric::operands(format_of(s.b), numeric::OperandClass::ordinary, random,
                                     static_cast<size_t>(s.k() * kN)),
               c = numeric::operands(format_of(s.c), numeric::OperandClass::ordinary, random, kM * kN);
    const auto bytes_of = [](const Bits& values, Type type, int rows, int cols, bool transposed) {
      const auto size = static_cast<size_t>(isa::bits_of(type) / 8);
      std::vector<std::byte> out(values.size() * size);
      for (int r = 0; r < rows; ++r)
        for (int col = 0; col < cols; ++col)
          std::memcpy(&out[static_cast<size_t>(transposed ? col * rows + r : r * cols + col) * size],
                      &values[static_cast<size_t>(r * cols + col)], size);
      return out;
    };
    const auto a_bytes = bytes_of(in_full(s, a), s.a, kM, s.k(), false),
               b_bytes = bytes_of(b, s.b, s.k(), kN, true), c_bytes = bytes_of(c, s.c, kM, kN, false);
    std::vector<std::byte> d_bytes(kM * kN * static_cast<size_t>(isa::bits_of(s.d) / 8));
    const auto model = *numeric::dot_model(numeric::Arch::sm_90, numeric::DotUnit::mma, format_of(s.a),
                                           format_of(s.b), format_of(s.c), format_of(s.d), s.k());
    ASSERT_EQ(model.max_fused_k, 0);
    numeric::DotScratch scratch;
    numeric::dot(numeric::DotPlan(model, {kM, kN, s.k()}),
                 {.a = a_bytes.data(), .b = b_bytes.data(), .c = c_bytes.data(), .d = d_bytes.data()},
                 scratch);
    Bits want(kM * kN);
    const size_t size = d_bytes.size() / want.size();
    for (size_t i = 0; i < want.size(); ++i)
      std::memcpy(&want[i], &d_bytes[i * size], size);
    expect_result(s, run(s, a, b, c, 0), want);
  });
}

TEST(SparseMma, ColumnsOfBThatMeetNothingDoNotMatter) {
  numeric::Random random(3);
  for_spellings([&](const Spelled& s) {
    if (s.a != Type::f16)
      return;
    Sparse a;
    a.nibbles.assign(static_cast<size_t>(kM * s.chunks()), 0b0100);
    for (int i = 0; i < kM * s.k() / 2; ++i)
      a.column.push_back(i % (s.k() / 2) / 2 * 4 + i % 2);
    a.stored = encoded(s.a, small_numbers(s.a, static_cast<size_t>(kM * s.k() / 2), random));
    Bits b = encoded(s.b, small_numbers(s.b, static_cast<size_t>(s.k() * kN), random));
    const Bits c(kM * kN, encode_whole(s.c, 3000));
    const KernelRun finite = run(s, a, b, c, 0);
    for (size_t i = 0; i < b.size(); ++i)
      if (i / kN % 4 >= 2)
        b[i] = i % 2 != 0 ? 0x7c00 : 0x7e00; // infinity, NaN
    EXPECT_EQ(run(s, a, b, c, 0).out, finite.out);
  });
}

// A run with four bits of metadata replaced: those of row 9, chunk 1.
KernelRun run_with(const Spelled& s, uint32_t nibble, bool check) {
  numeric::Random random(4);
  Sparse a;
  choose_columns(s, random, a);
  a.nibbles[static_cast<size_t>(9 * s.chunks() + 1)] = nibble;
  a.stored.assign(static_cast<size_t>(kM * s.k() / 2), 0);
  const Bits b(static_cast<size_t>(s.k() * kN)), c(kM * kN);
  return run(s, a, b, c, s.selectors() - 1, nullptr, check);
}

// As CUTLASS's compressor has it for four zeros: indices that are the same are told, and an error with
// --check.
TEST(SparseMma, IndicesThatAreTheSameGoOn) {
  for_spellings([&](const Spelled& s) {
    if (s.bits() == 32 || s.text.find("satfinite") != std::string::npos || s.a != s.b)
      return;
    for (const uint32_t v : {0b0000u, 0b0101u, 0b1010u, 0b1111u}) {
      const KernelRun ran = run_with(s, v, false);
      expect_result(s, ran, Bits(kM * kN)); // of zeros
      ASSERT_EQ(ran.report.warnings.size(), 1u);
      EXPECT_NE(ran.report.warnings[0].find(fmt::format("is {:#06b}: the PTX ISA leaves undefined", v)),
                std::string::npos)
          << ran.report.warnings[0];
    }
  });
}

TEST(SparseMma, MetadataThatTheIsaLeavesUndefinedIsAFault) {
  for_spellings([&](const Spelled& s) {
    if (s.text.find("satfinite") != std::string::npos || s.a != s.b)
      return;
    for (uint32_t v = 0; v < 16; ++v) {
      const uint32_t first = v & 3, second = v >> 2;
      const bool legal = s.bits() == 32 ? v == 4 || v == 14 : s.ordered() ? first < second : first != second;
      const bool goes_on = first == second && s.bits() != 32;
      const KernelRun ran = run_with(s, v, goes_on);
      EXPECT_EQ(ran.report.ok(), legal) << v;
      if (legal)
        continue;
      EXPECT_EQ(fault_in(ran.report).kind, FaultKind::illegal_instruction);
      EXPECT_NE(fault_in(ran.report)
                    .message.find(fmt::format("row 9, columns {} to {} of A", s.chunk(), 2 * s.chunk() - 1)),
                std::string::npos)
          << fault_in(ran.report).message;
      EXPECT_NE(fault_in(ran.report).message.find(fmt::format("is {:#06b}", v)), std::string::npos)
          << fault_in(ran.report).message;
    }
  });
}

} // namespace
} // namespace lemma::vgpu
