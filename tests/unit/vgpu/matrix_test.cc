// Matrix instructions on the virtual GPU, driven by the catalogue: every row, in every spelling, is run as a
// kernel.
//
// mma and wmma.mma are compared with a plain triple loop on small whole numbers, where every machine is
// exact, and with numeric::dot() on operands of every exponent. Loads and stores are compared element by
// element with the fragment's layout.
#include "isa/catalogue.h"
#include "isa/form.h"
#include "numeric/convert.h"
#include "numeric/dot.h"
#include "numeric/hash.h"
#include "run_ptx.h"
#include "vgpu/handlers/arithmetic/levels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

namespace lemma::vgpu {
namespace {

using isa::MatrixRow;
using isa::Opcode;
using isa::Type;
using layout::Fragment;
using layout::MajorOrder;
using layout::Matrix;
using numeric::FloatFormat;
using numeric::IntegerFormat;

// A spelling of a row, taken apart.
struct Spelled {
  const MatrixRow* row = nullptr;
  std::string text;
  std::vector<isa::Qual> quals;
  std::vector<Type> types;

  Type type(Matrix matrix) const { return isa::type_of(*row, matrix, types); }
  // The four matrices of m8n8k4 lie below one another, those of B side by side.
  int matrices() const { return row->fragments == isa::FragmentRule::mma_m8n8k4 ? 4 : 1; }
  Fragment fragment(Matrix matrix) const {
    const bool col_of_a = text.find(".col.row.") != text.npos || text.find(".col.col.") != text.npos;
    const bool col_of_b = text.find(".row.col.") != text.npos || text.find(".col.col.") != text.npos;
    const bool col = matrix == Matrix::b ? col_of_b : col_of_a;
    return isa::fragment_of(*row, matrix, type(matrix), col ? MajorOrder::col : MajorOrder::row);
  }

  bool has(isa::Qual qual) const { return std::find(quals.begin(), quals.end(), qual) != quals.end(); }
};

void for_spellings(std::initializer_list<Opcode> opcodes, const std::function<void(const Spelled&)>& f) {
  isa::MatchCache cache;
  size_t count = 0;
  for (const MatrixRow& row : isa::matrix_rows()) {
    if (std::find(opcodes.begin(), opcodes.end(), row.opcode) == opcodes.end() ||
        row.sparse != isa::Qual::none) // matrix_sparse_test.cc
      continue;
    for (const std::string& text : isa::spellings_of(row)) {
      Diagnostic error;
      const isa::Match* match = cache.find(text, 0, error);
      ASSERT_NE(match, nullptr) << text;
      SCOPED_TRACE(text);
      f({&row, text, match->bindings.front().quals, match->bindings.front().types});
      ++count;
    }
  }
  EXPECT_GT(count, 0u);
}

// One matrix, elements as bits.
struct Dense {
  int rows = 0;
  int cols = 0;
  std::vector<uint64_t> bits;
  uint64_t& at(layout::Coord c) { return bits[static_cast<size_t>(c.row * cols + c.col)]; }
  uint64_t at(layout::Coord c) const { return bits[static_cast<size_t>(c.row * cols + c.col)]; }
};

Dense dense_like(const Fragment& f) {
  return {f.rows, f.cols, std::vector<uint64_t>(static_cast<size_t>(f.rows * f.cols))};
}

size_t words_of(const Fragment& f) {
  return static_cast<size_t>(f.registers() * 32 * f.register_bits / 32);
}

// Register r of lane l is word or double word r * 32 + l. Copies are filled with what no matrix holds.
std::vector<uint32_t> to_registers(const Fragment& f, const Dense& m) {
  const size_t per = static_cast<size_t>(f.register_bits / 32);
  std::vector<uint32_t> words(words_of(f), 0xdeadbeef);
  for (int r = 0; r < f.distinct_registers(); ++r)
    for (int l = 0; l < 32; ++l) {
      uint64_t value = 0;
      for (int e = 0; e < f.elems_per_register(); ++e)
        value |= m.at(f.at({l, r, e})) << (e * f.element_bits);
      for (size_t w = 0; w < per; ++w)
        words[static_cast<size_t>(r * 32 + l) * per + w] = static_cast<uint32_t>(value >> (32 * w));
    }
  return words;
}

// Every register, copies too, must hold what `m` says.
void expect_registers(const Fragment& f, const uint32_t* words, const Dense& m) {
  const size_t per = static_cast<size_t>(f.register_bits / 32);
  const uint64_t mask = f.element_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << f.element_bits) - 1;
  int wrong = 0;
  for (int r = 0; r < f.registers(); ++r)
    for (int l = 0; l < 32; ++l) {
      uint64_t value = 0;
      for (size_t w = 0; w < per; ++w)
        value |= static_cast<uint64_t>(words[static_cast<size_t>(r * 32 + l) * per + w]) << (32 * w);
      for (int e = 0; e < f.elems_per_register(); ++e) {
        const layout::Coord at = f.at({l, r, e});
        const uint64_t got = value >> (e * f.element_bits) & mask;
        if (got != m.at(at) && ++wrong <= 3)
          ADD_FAILURE() << fmt::format("({}, {}) in lane {} register {}: {:#x}, expected {:#x}", at.row,
                                       at.col, l, r, got, m.at(at));
      }
    }
  EXPECT_EQ(wrong, 0);
}

// PTX for the registers of one fragment.
struct RegisterText {
  std::string declare, names, list;
  bool wide = false;
  int count = 0;
};

RegisterText registers_text(const Fragment& f, std::string name) {
  RegisterText text;
  text.wide = f.register_bits == 64;
  text.count = f.registers();
  text.names = name;
  text.declare = fmt::format(".reg .b{} {}<{}>;\n", f.register_bits, name, f.registers());
  for (int i = 0; i < f.registers(); ++i)
    text.list += (i ? ", " : "") + fmt::format("{}{}", name, i);
  text.list = "{" + text.list + "}";
  return text;
}

// Loads or stores all registers from word `first` on; %rd1 is the base for words, %rd2 for double words.
std::string move_registers(const RegisterText& regs, bool load, size_t first, std::string_view base) {
  std::string text;
  for (int i = 0; i < regs.count; ++i) {
    const size_t offset = first * 4 + static_cast<size_t>(i) * 32 * (regs.wide ? 8 : 4);
    const std::string address = fmt::format("[{}{}+{}]", base, regs.wide ? 2 : 1, offset);
    const std::string reg = fmt::format("{}{}", regs.names, i);
    text += load ? fmt::format("  ld.global.b{} {}, {};\n", regs.wide ? 64 : 32, reg, address)
                 : fmt::format("  st.global.b{} {}, {};\n", regs.wide ? 64 : 32, address, reg);
  }
  return text;
}

constexpr std::string_view kBases = R"(
  mul.wide.u32 %rd8, %t, 4;
  mul.wide.u32 %rd9, %t, 8;
  .reg .b64 %src<4>;
  .reg .b64 %dst<4>;
  add.u64 %src1, %in, %rd8;
  add.u64 %src2, %in, %rd9;
  add.u64 %dst1, %out, %rd8;
  add.u64 %dst2, %out, %rd9;
)";

LaunchConfig one_warp() {
  LaunchConfig config;
  config.block = {32, 1, 1};
  config.workers = 1;
  return config;
}

// Runs one mma; returns D's registers.
std::vector<uint32_t> run_mma(const Spelled& s, const Dense& a, const Dense& b, const Dense& c) {
  const Fragment fd = s.fragment(Matrix::d), fa = s.fragment(Matrix::a), fb = s.fragment(Matrix::b),
                 fc = s.fragment(Matrix::c);
  std::vector<uint32_t> in = to_registers(fa, a);
  const size_t at_b = in.size();
  for (const uint32_t word : to_registers(fb, b))
    in.push_back(word);
  const size_t at_c = in.size();
  for (const uint32_t word : to_registers(fc, c))
    in.push_back(word);
  const RegisterText d_regs = registers_text(fd, "d"), a_regs = registers_text(fa, "a"),
                     b_regs = registers_text(fb, "b"), c_regs = registers_text(fc, "c");
  const std::string body =
      std::string(kBases) + d_regs.declare + a_regs.declare + b_regs.declare + c_regs.declare +
      move_registers(a_regs, true, 0, "%src") + move_registers(b_regs, true, at_b, "%src") +
      move_registers(c_regs, true, at_c, "%src") +
      fmt::format("  {} {}, {}, {}, {};\n", s.text, d_regs.list, a_regs.list, b_regs.list, c_regs.list) +
      move_registers(d_regs, false, 0, "%dst");
  auto run = run_body(body, one_warp(), words_of(fd), in);
  EXPECT_TRUE(run.report.ok()) << fault_in(run.report).message;
  EXPECT_EQ(run.report.stats.matrix_flops, isa::flops_of(*s.row));
  return run.out;
}

FloatFormat format_of(Type type) {
  switch (type) {
  case Type::f16:
    return FloatFormat::f16;
  case Type::bf16:
    return FloatFormat::bf16;
  case Type::tf32:
    return FloatFormat::tf32;
  case Type::f64:
    return FloatFormat::f64;
  case Type::e4m3:
    return FloatFormat::e4m3;
  case Type::e5m2:
    return FloatFormat::e5m2;
  default:
    return FloatFormat::f32;
  }
}

IntegerFormat integer_of(Type type) {
  switch (type) {
  case Type::s4:
    return IntegerFormat::s4;
  case Type::u4:
    return IntegerFormat::u4;
  case Type::s8:
    return IntegerFormat::s8;
  case Type::s32:
    return IntegerFormat::s32;
  default:
    return IntegerFormat::u8;
  }
}

bool is_whole(Type type) {
  return isa::is_integer(type) || type == Type::b1;
}

// A whole number in the type's bits.
uint64_t encode_whole(Type type, int64_t value) {
  if (is_whole(type))
    return static_cast<uint64_t>(value) & ((uint64_t{1} << isa::bits_of(type)) - 1);
  return numeric::integer_to_float(format_of(type), IntegerFormat::s64, static_cast<uint64_t>(value));
}

TEST(Mma, MultipliesWholeNumbersExactly) {
  numeric::Random random(1);
  for_spellings({Opcode::mma, Opcode::wmma_mma}, [&](const Spelled& s) {
    if (s.row->kind != isa::Qual::none)
      return; // block_scale_test.cc
    const auto [m, n, k] = s.row->shape;
    const auto fill = [&](Matrix matrix, std::vector<int64_t>& values) {
      Dense dense = dense_like(s.fragment(matrix));
      const Type type = s.type(matrix);
      const bool is_unsigned = isa::kind_of(type) == isa::TypeKind::unsigned_int || type == Type::b1;
      const uint64_t below = type == Type::b1 ? 2 : isa::bits_of(type) == 4 ? 16 : 17;
      for (uint64_t& bits : dense.bits) {
        values.push_back(static_cast<int64_t>(random.below(below)) - (is_unsigned ? 0 : 8));
        bits = encode_whole(s.type(matrix), values.back());
      }
      return dense;
    };
    std::vector<int64_t> a_values, b_values, c_values;
    const Dense a = fill(Matrix::a, a_values), b = fill(Matrix::b, b_values);
    Dense c = fill(Matrix::c, c_values);
    const int b_cols = n * s.matrices();
    Dense want = dense_like(s.fragment(Matrix::d));
    for (int i = 0; i < m * s.matrices(); ++i)
      for (int j = 0; j < n; ++j) {
        int64_t sum = c_values[static_cast<size_t>(i * n + j)];
        for (int x = 0; x < k; ++x) {
          const int64_t left = a_values[static_cast<size_t>(i * k + x)],
                        right = b_values[static_cast<size_t>(x * b_cols + i / m * n + j)];
          sum += s.row->op == isa::Qual::xor_ ? left ^ right : left * right;
        }
        if (sum == 0) { // whose sign depends on the rounding
          sum = 1;
          c.at({i, j}) = encode_whole(s.type(Matrix::c), c_values[static_cast<size_t>(i * n + j)] + 1);
        }
        want.at({i, j}) = encode_whole(s.type(Matrix::d), sum);
      }
    expect_registers(s.fragment(Matrix::d), run_mma(s, a, b, c).data(), want);
  });
}

// Dense rows of the element size that dot() wants, columns first for B.
std::vector<std::byte> packed(const Dense& m, int bits, bool columns_first) {
  const size_t bytes = bits < 8 ? 1 : static_cast<size_t>(bits / 8);
  std::vector<std::byte> out;
  size_t single_bits = 0;
  const auto put = [&](uint64_t value) {
    if (bits == 1 && single_bits++ % 8 != 0) {
      out.back() |= static_cast<std::byte>(value << (single_bits - 1) % 8);
      return;
    }
    const size_t at = out.size();
    out.resize(at + bytes);
    std::memcpy(&out[at], &value, bytes);
  };
  if (columns_first) {
    for (int col = 0; col < m.cols; ++col)
      for (int row = 0; row < m.rows; ++row)
        put(m.at({row, col}));
  } else {
    for (const uint64_t value : m.bits)
      put(value);
  }
  return out;
}

// What the machine's model gives, called without fragments.
Dense model_result(const Spelled& s, const Dense& a, const Dense& b, const Dense& c) {
  const Type at = s.type(Matrix::a), bt = s.type(Matrix::b), ct = s.type(Matrix::c), dt = s.type(Matrix::d);
  numeric::DotModel model;
  const bool narrow = ct == Type::f32 && dt == Type::f16;
  if (at == Type::b1) {
    model = numeric::dot_model_bits(s.row->op == isa::Qual::xor_ ? numeric::DotScheme::xor_popc
                                                                 : numeric::DotScheme::and_popc);
  } else if (isa::is_integer(at)) {
    model = numeric::dot_model_integer(integer_of(at), integer_of(bt), s.has(isa::Qual::satfinite));
  } else {
    model = *numeric::dot_model(numeric::Arch::sm_90, numeric::DotUnit::mma, format_of(at), format_of(bt),
                                format_of(ct), narrow ? FloatFormat::f32 : format_of(dt), s.row->shape.k);
    if (s.row->opcode == Opcode::wmma_mma && at == Type::tf32)
      model.max_fused_k = 4;
    if (s.has(isa::Qual::rz))
      model.rounding = numeric::Rounding::rz;
    if (s.has(isa::Qual::rm))
      model.rounding = numeric::Rounding::rm;
    if (s.has(isa::Qual::rp))
      model.rounding = numeric::Rounding::rp;
  }
  const auto a_bytes = packed(a, isa::bits_of(at), false), b_bytes = packed(b, isa::bits_of(bt), true),
             c_bytes = packed(c, isa::bits_of(ct), false);
  Dense want = dense_like(s.fragment(Matrix::d));
  const size_t bytes = narrow ? 4 : static_cast<size_t>(isa::bits_of(dt) / 8);
  std::vector<std::byte> d_bytes(want.bits.size() * bytes);
  const layout::Shape& shape = s.row->shape;
  const numeric::DotPlan plan(model, {shape.m, shape.n, shape.k});
  numeric::DotTile tile;
  numeric::DotScratch scratch;
  for (size_t i = 0, count = static_cast<size_t>(s.matrices()); i < count; ++i) {
    tile.a = a_bytes.data() + a_bytes.size() / count * i;
    tile.b = b_bytes.data() + b_bytes.size() / count * i;
    tile.c = c_bytes.data() + c_bytes.size() / count * i;
    tile.d = d_bytes.data() + d_bytes.size() / count * i;
    numeric::dot(plan, tile, scratch);
  }
  for (size_t i = 0; i < want.bits.size(); ++i) {
    std::memcpy(&want.bits[i], &d_bytes[i * bytes], bytes);
    if (narrow)
      want.bits[i] = numeric::convert_float(FloatFormat::f16, FloatFormat::f32, want.bits[i]);
  }
  return want;
}

TEST(Mma, GivesTheBitsOfTheModel) {
  numeric::Random random(2);
  for_spellings({Opcode::mma, Opcode::wmma_mma}, [&](const Spelled& s) {
    if (s.row->kind != isa::Qual::none)
      return; // block_scale_test.cc
    for (const auto operand_class : {numeric::OperandClass::ordinary, numeric::OperandClass::special}) {
      const auto fill = [&](Matrix matrix) {
        Dense dense = dense_like(s.fragment(matrix));
        const Type type = s.type(matrix);
        const size_t count = dense.bits.size();
        if (is_whole(type)) {
          dense.bits = numeric::operands(integer_of(type), operand_class, random, count);
          for (uint64_t& bits : dense.bits)
            bits &= (uint64_t{1} << isa::bits_of(type)) - 1;
        } else {
          dense.bits = numeric::operands(format_of(type), operand_class, random, count);
        }
        return dense;
      };
      const Dense a = fill(Matrix::a), b = fill(Matrix::b), c = fill(Matrix::c);
      expect_registers(s.fragment(Matrix::d), run_mma(s, a, b, c).data(), model_result(s, a, b, c));
    }
  });
}

TEST(Mma, NeedsTheWholeWarp) {
  LaunchConfig config = one_warp();
  config.block = {16, 1, 1};
  const auto run = run_body(
      "  .reg .b32 d, a;\n  mov.u32 a, %t;\n  movmatrix.sync.aligned.m8n8.trans.b16 d, a;\n", config);
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::illegal_instruction);
  EXPECT_NE(fault_in(run.report).message.find("movmatrix needs all 32 threads"), std::string::npos)
      << fault_in(run.report).message;
}

// The first of .row and .col is A's, wherever they stand among the other words.
TEST(Mma, TakesTheFirstLayoutForThatOfA) {
  std::vector<uint32_t> in(128);
  for (uint32_t i = 0; i < in.size(); ++i) // small whole numbers in f16
    in[i] = 0x3c00 + (i % 7) * 0x100 + ((0x3c00 + (i % 5) * 0x100) << 16);
  const auto product = [&](std::string_view name) {
    const std::string body = fmt::format(R"(
  .reg .b32 a<2>, b<2>;
  .reg .f32 d<8>;
  mul.lo.u32 %r0, %t, 16;
  cvt.u64.u32 %rd0, %r0;
  add.u64 %rd1, %in, %rd0;
  ld.global.v4.b32 {{a0, a1, b0, b1}}, [%rd1];
  mov.f32 d0, 0f00000000; mov.f32 d1, d0; mov.f32 d2, d0; mov.f32 d3, d0;
  mov.f32 d4, d0; mov.f32 d5, d0; mov.f32 d6, d0; mov.f32 d7, d0;
  {}.f32.f16.f16.f32 {{d0, d1, d2, d3, d4, d5, d6, d7}}, {{a0, a1}}, {{b0, b1}}, {{d0, d1, d2, d3, d4, d5, d6, d7}};
  add.u64 %rd2, %out, %rd0;
  add.u64 %rd2, %rd2, %rd0;
  st.global.v4.f32 [%rd2], {{d0, d1, d2, d3}};
  st.global.v4.f32 [%rd2+16], {{d4, d5, d6, d7}};
)",
                                         name);
    const auto run = run_body(body, one_warp(), 256, in);
    EXPECT_TRUE(run.report.ok()) << fault_in(run.report).message;
    return run.out;
  };
  const auto col_row = product("mma.sync.aligned.m8n8k4.col.row");
  EXPECT_EQ(product("mma.sync.col.aligned.m8n8k4.row"), col_row);
  EXPECT_EQ(product("mma.col.row.sync.m8n8k4.aligned"), col_row);
  const auto row_col = product("mma.sync.aligned.m8n8k4.row.col");
  EXPECT_EQ(product("mma.row.m8n8k4.sync.col.aligned"), row_col);
  EXPECT_NE(col_row, row_col);
}

// --- wmma.load, wmma.store ---

constexpr int kStride = 48;
// Of single bits: lines start at multiples of 16 bytes.
int stride_of(const Spelled& s) {
  const int bits = isa::bits_of(s.type(s.row->matrix));
  return bits == 1 ? 256 : bits == 4 ? 64 : kStride;
}

// The matrix in memory: element (r, c) at stride * r + c, or the other way round.
size_t memory_index(const Spelled& s, layout::Coord at) {
  const int stride = stride_of(s);
  return static_cast<size_t>(s.has(isa::Qual::row) ? at.row * stride + at.col : at.col * stride + at.row);
}

std::vector<std::byte> random_memory(const Fragment& f, numeric::Random& random) {
  std::vector<std::byte> memory(static_cast<size_t>(32 * kStride * std::max(f.element_bits, 8) / 8));
  for (std::byte& b : memory)
    b = static_cast<std::byte>(random.bits(8));
  return memory;
}

uint64_t element_at(const std::vector<std::byte>& memory, size_t index, int bits) {
  uint64_t value = 0;
  if (bits < 8) {
    const size_t bit = index * static_cast<size_t>(bits);
    return static_cast<uint64_t>(memory[bit / 8]) >> bit % 8 & ((uint64_t{1} << bits) - 1);
  }
  std::memcpy(&value, &memory[index * static_cast<size_t>(bits / 8)], static_cast<size_t>(bits / 8));
  return value;
}

std::vector<uint32_t> as_words(const std::vector<std::byte>& memory) {
  std::vector<uint32_t> words(memory.size() / 4);
  std::memcpy(words.data(), memory.data(), memory.size());
  return words;
}

std::string copy_to_shared(size_t words, std::string_view shared, std::string_view source) {
  std::string text;
  for (size_t i = 0; i < words; i += 32)
    text += fmt::format("  ld.global.b32 %r1, [{0}+{2}];\n  st.shared.b32 [{1}+{2}], %r1;\n", source, shared,
                        i * 4);
  return text + "  bar.warp.sync 0xffffffff;\n";
}

TEST(Wmma, LoadsEveryElementWhereItBelongs) {
  numeric::Random random(3);
  for_spellings({Opcode::wmma_load}, [&](const Spelled& s) {
    const Fragment f = s.fragment(s.row->matrix);
    const std::vector<std::byte> memory = random_memory(f, random);
    const RegisterText regs = registers_text(f, "x");
    const bool shared = s.text.find(".shared") != std::string::npos;
    const bool generic = !shared && s.text.find(".global") == std::string::npos;
    const auto run_at = [&](HostLevel level, bool in_shared) {
      std::string body =
          std::string(kBases) + regs.declare + "  .shared .align 128 .b8 sm[16384];\n  .reg .b32 %sm;\n";
      if (in_shared) {
        body += "  mov.u32 %r0, sm;\n  shl.b32 %sm, %t, 2;\n  add.u32 %sm, %sm, %r0;\n";
        body += copy_to_shared(memory.size() / 4, "%sm", "%src1");
      }
      if (in_shared && generic)
        body += "  mov.u64 %in, sm;\n  cvta.shared.u64 %in, %in;\n";
      body += fmt::format("  {} {}, [{}], {};\n", s.text, regs.list, shared ? "sm" : "%in", stride_of(s));
      body += move_registers(regs, false, 0, "%dst");
      set_host_level(level);
      auto run = run_body(body, one_warp(), words_of(f), as_words(memory));
      set_host_level(host_levels().back());
      EXPECT_TRUE(run.report.ok()) << fault_in(run.report).message;
      return run.out;
    };
    Dense want = dense_like(f);
    for (int r = 0; r < f.rows; ++r)
      for (int c = 0; c < f.cols; ++c)
        want.at({r, c}) = element_at(memory, memory_index(s, {r, c}), f.element_bits);
    for (const HostLevel level : host_levels())
      for (const bool in_shared : {false, true})
        if (generic || in_shared == shared) {
          SCOPED_TRACE(std::string(to_string(level)) + (in_shared ? ", in shared memory" : ""));
          expect_registers(f, run_at(level, in_shared).data(), want);
        }
  });
}

TEST(Wmma, StoresEveryElementAndNothingElse) {
  numeric::Random random(4);
  for_spellings({Opcode::wmma_store}, [&](const Spelled& s) {
    if (s.text.find(".shared") != std::string::npos)
      return; // the fragment and the lines are those of global; shared is run below
    const Fragment f = s.fragment(Matrix::d);
    Dense m = dense_like(f);
    for (uint64_t& bits : m.bits)
      bits = random.bits(f.element_bits);
    const RegisterText regs = registers_text(f, "x");
    const std::string body =
        std::string(kBases) + regs.declare + move_registers(regs, true, 0, "%src") +
        fmt::format("  mov.u32 %r5, {};\n  {} [%out], {}, %r5;\n", kStride, s.text, regs.list);
    std::vector<std::byte> want(static_cast<size_t>(32 * kStride * f.element_bits / 8));
    for (int r = 0; r < f.rows; ++r)
      for (int c = 0; c < f.cols; ++c)
        std::memcpy(&want[memory_index(s, {r, c}) * static_cast<size_t>(f.element_bits / 8)], &m.at({r, c}),
                    static_cast<size_t>(f.element_bits / 8));
    const auto run = run_body(body, one_warp(), want.size() / 4, to_registers(f, m));
    ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
    EXPECT_EQ(run.out, as_words(want));
  });
}

TEST(Wmma, TakesTheDenseStrideWhenNoneIsGiven) {
  std::vector<uint32_t> in(128);
  for (uint32_t i = 0; i < 128; ++i)
    in[i] = (2 * i + 1) << 16 | 2 * i;
  const auto run = run_body(std::string(kBases) + R"(
  .shared .align 128 .b8 sm[1024];
  .reg .b32 x<4>;
  wmma.load.c.sync.aligned.row.m16n16k16.f16 {x0, x1, x2, x3}, [%in];
  wmma.store.d.sync.aligned.col.m16n16k16.shared.f16 [sm], {x0, x1, x2, x3};
  wmma.load.c.sync.aligned.col.m16n16k16.shared::cta.f16 {x0, x1, x2, x3}, [sm];
  wmma.store.d.sync.aligned.row.m16n16k16.f16 [%out], {x0, x1, x2, x3};
)",
                            one_warp(), 128, in);
  EXPECT_TRUE(run.report.ok()) << fault_in(run.report).message;
  EXPECT_EQ(run.out, in);
}

KernelRun wmma_load_at(std::string_view address_code, std::string_view opcode, std::string_view stride) {
  return run_body(std::string(kBases) + "  .reg .b32 x<8>;\n  .shared .align 128 .b8 sm[4096];\n" +
                      std::string(address_code) +
                      fmt::format("  {} {{x0,x1,x2,x3,x4,x5,x6,x7}}, [%rd1], {};\n", opcode, stride),
                  one_warp(), 64, std::vector<uint32_t>(1024));
}

TEST(Wmma, FaultsWhereTheHardwareWould) {
  constexpr std::string_view global = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16";
  // Four bytes are enough for global memory, for shared memory rows start at sixteen.
  EXPECT_TRUE(wmma_load_at("  add.u64 %rd1, %in, 4;\n", global, "18").report.ok());
  EXPECT_EQ(fault_in(wmma_load_at("  add.u64 %rd1, %in, 2;\n", global, "16").report).kind,
            FaultKind::misaligned);
  EXPECT_EQ(fault_in(wmma_load_at("  mov.u64 %rd1, %in;\n", global, "17").report).kind,
            FaultKind::misaligned);
  constexpr std::string_view shared = "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16";
  EXPECT_EQ(
      fault_in(wmma_load_at("  mov.u64 %rd1, sm;\n  add.u64 %rd1, %rd1, 4;\n", shared, "16").report).kind,
      FaultKind::misaligned);
  EXPECT_EQ(fault_in(wmma_load_at("  mov.u64 %rd1, sm;\n", shared, "20").report).kind, FaultKind::misaligned);
  EXPECT_TRUE(wmma_load_at("  mov.u64 %rd1, sm;\n", shared, "24").report.ok());
  EXPECT_EQ(fault_in(wmma_load_at("  mov.u64 %rd1, %in;\n", global, "1024").report).kind,
            FaultKind::out_of_bounds);
  EXPECT_EQ(fault_in(wmma_load_at("  mov.u64 %rd1, %src1;\n", global, "16").report).kind,
            FaultKind::illegal_instruction);
  EXPECT_EQ(fault_in(wmma_load_at("  mov.u64 %rd1, %in;\n", global, "%t").report).kind,
            FaultKind::illegal_instruction);
}

// --- ldmatrix, stmatrix, movmatrix ---

int number_of(const Spelled& s) {
  return s.has(isa::Qual::x4) ? 4 : s.has(isa::Qual::x2) ? 2 : 1;
}

// Element `col` of the row of 16 bytes, of which a packed one uses the first 8 or 12.
uint64_t element_of_row(const Spelled& s, const uint32_t* row, int col) {
  const int bits = s.row->packing == isa::Qual::b6x16_p32   ? 6
                   : s.row->packing == isa::Qual::b4x16_p64 ? 4
                                                            : isa::bits_of(s.row->types.d.first());
  uint64_t value = 0;
  for (int bit = 0; bit < bits; ++bit) {
    const int at = col * bits + bit;
    value |= static_cast<uint64_t>(row[at / 32] >> at % 32 & 1) << bit;
  }
  return value;
}

// Rows of the matrices lie in shared memory in an order of their own: row i at 16 * (5 * i % 32). By the
// plain handler and by what the host has.
class M8n8Levels : public testing::TestWithParam<HostLevel> {
protected:
  void SetUp() override { set_host_level(GetParam()); }
  void TearDown() override { set_host_level(before_); }

private:
  HostLevel before_ = host_level();
};
INSTANTIATE_TEST_SUITE_P(Levels, M8n8Levels, testing::ValuesIn(host_levels()),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST_P(M8n8Levels, LoadsAndTransposes) {
  numeric::Random random(5);
  std::vector<uint32_t> in(128);
  for (uint32_t& word : in)
    word = static_cast<uint32_t>(random.bits(32));
  for_spellings({Opcode::ldmatrix}, [&](const Spelled& s) {
    const bool generic = s.text.find(".shared") == std::string::npos;
    const Fragment f = isa::memory_fragment(*s.row, number_of(s), s.has(isa::Qual::trans));
    const RegisterText regs = registers_text(f, "x");
    std::string body = std::string(kBases) + regs.declare +
                       "  .shared .align 128 .b8 sm[512];\n  .reg .b32 %sm;\n" +
                       "  mov.u32 %r0, sm;\n  shl.b32 %sm, %t, 2;\n  add.u32 %sm, %sm, %r0;\n" +
                       copy_to_shared(128, "%sm", "%src1") +
                       "  mul.lo.u32 %r2, %t, 80;\n  and.b32 %r2, %r2, 511;\n  add.u32 %r2, %r2, %r0;\n"
                       "  cvt.u64.u32 %rd1, %r2;\n";
    if (generic)
      body += "  cvta.shared.u64 %rd1, %rd1;\n";
    body += fmt::format("  {} {}, [%rd1];\n", s.text, regs.list) + move_registers(regs, false, 0, "%dst");
    const auto run = run_body(body, one_warp(), words_of(f), in);
    ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
    Dense want = dense_like(f);
    for (int r = 0; r < f.rows; ++r)
      for (int c = 0; c < f.cols; ++c)
        want.at({r, c}) = element_of_row(s, &in[static_cast<size_t>(r * 5 % 32 * 4)], c);
    expect_registers(f, run.out.data(), want);
  });
}

// Lane t has the address of row t, 8 bytes, and gets columns 4 (t % 4) to 4 (t % 4) + 3 of row t / 4 of each
// matrix.
TEST_P(M8n8Levels, LoadsFourBitsWithTheirSign) {
  numeric::Random random(9);
  std::vector<uint32_t> in(64);
  for (uint32_t& word : in)
    word = static_cast<uint32_t>(random.bits(32));
  for (const int num : {1, 2, 4}) {
    const std::string list = num == 1 ? "{%r10}" : num == 2 ? "{%r10, %r11}" : "{%r10, %r11, %r12, %r13}";
    std::string body = R"(
    .shared .align 16 .b8 sm[256];
    shl.b32 %r0, %t, 3;
    cvt.u64.u32 %rd0, %r0;
    add.u64 %rd1, %in, %rd0;
    ld.global.v2.u32 {%r1, %r2}, [%rd1];
    mov.u32 %r3, sm;
    add.u32 %r3, %r3, %r0;
    st.shared.v2.u32 [%r3], {%r1, %r2};
    bar.warp.sync 0xffffffff;
    shl.b32 %r0, %t, 4;
    cvt.u64.u32 %rd0, %r0;
    add.u64 %rd1, %out, %rd0;
)" + fmt::format("    ldmatrix.sync.aligned.m8n16.x{}.shared.s8.s4 {}, [%r3];\n", num, list);
    for (int i = 0; i < num; ++i)
      body += fmt::format("    st.global.u32 [%rd1+{}], %r{};\n", 4 * i, 10 + i);
    const auto r = run_body(body + "    ret;", one_warp(), 128, in);
    ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
    for (size_t lane = 0; lane < 32; ++lane)
      for (size_t i = 0; i < static_cast<size_t>(num); ++i)
        for (size_t e = 0; e < 4; ++e) {
          const size_t row = 8 * i + lane / 4, column = lane % 4 * 4 + e;
          const auto element = static_cast<int>(in[row * 2 + column / 8] >> column % 8 * 4 & 15);
          EXPECT_EQ(static_cast<int8_t>(r.out[lane * 4 + i] >> 8 * e), element < 8 ? element : element - 16)
              << num << " matrices, lane " << lane << ", register " << i << ", element " << e;
        }
  }
}

TEST(M8n8, StoresWhatItLoaded) {
  numeric::Random random(6);
  for_spellings({Opcode::stmatrix}, [&](const Spelled& s) {
    const int num = number_of(s);
    const Fragment f = isa::memory_fragment(*s.row, num, s.has(isa::Qual::trans));
    Dense m = dense_like(f);
    for (uint64_t& bits : m.bits)
      bits = random.bits(f.element_bits);
    const RegisterText regs = registers_text(f, "x");
    std::string body = std::string(kBases) + regs.declare +
                       "  .shared .align 128 .b8 sm[512];\n  .reg .b32 %sm;\n" +
                       move_registers(regs, true, 0, "%src") +
                       "  mov.u32 %r0, sm;\n  shl.b32 %r2, %t, 4;\n  add.u32 %r2, %r2, %r0;\n"
                       "  shl.b32 %sm, %t, 2;\n  add.u32 %sm, %sm, %r0;\n  cvt.u64.u32 %rd1, %r2;\n";
    if (s.text.find(".shared") == std::string::npos)
      body += "  cvta.shared.u64 %rd1, %rd1;\n";
    body += fmt::format("  {} [%rd1], {};\n  bar.warp.sync 0xffffffff;\n", s.text, regs.list);
    for (int i = 0; i < num; ++i)
      body += fmt::format("  ld.shared.b32 %r3, [%sm+{0}];\n  st.global.b32 [%dst1+{0}], %r3;\n", i * 128);
    const auto run = run_body(body, one_warp(), static_cast<size_t>(32 * num), to_registers(f, m));
    ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
    for (int r = 0; r < f.rows; ++r)
      for (int c = 0; c < f.cols; ++c)
        EXPECT_EQ(element_of_row(s, &run.out[static_cast<size_t>(r * 4)], c), m.at({r, c})) << r << " " << c;
  });
}

TEST(M8n8, MovesTransposed) {
  std::vector<uint32_t> in(32);
  for (uint32_t i = 0; i < 32; ++i)
    in[i] = (2 * i + 1) << 16 | 2 * i; // row-major 8 x 8: element i is i
  const auto run = run_body(std::string(kBases) + "  ld.global.b32 %r1, [%src1];\n"
                                                  "  movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;\n"
                                                  "  st.global.b32 [%dst1], %r2;\n",
                            one_warp(), 32, in);
  ASSERT_TRUE(run.report.ok()) << fault_in(run.report).message;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t col = lane / 4, row = lane % 4 * 2;
    EXPECT_EQ(run.out[lane], (8 * (row + 1) + col) << 16 | (8 * row + col)) << lane;
  }
}

TEST(M8n8, FaultsOutsideSharedMemory) {
  const auto run = run_body("  ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%in];\n", one_warp(), 32,
                            std::vector<uint32_t>(64));
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::wrong_space);
  const auto odd = run_body(
      "  .shared .align 128 .b8 sm[512];\n  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [sm+8];\n",
      one_warp());
  EXPECT_EQ(fault_in(odd.report).kind, FaultKind::misaligned);
}

} // namespace
} // namespace lemma::vgpu
