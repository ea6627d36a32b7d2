// Products of a warpgroup from MLIR, compiled and run on the virtual GPU, against three plain loops: every
// element type, swizzle and order in memory, A from shared memory and from registers.
//
// Tensor copies fill shared memory, so that what a matrix descriptor says and what the tensor map's boxes do
// must agree. Elements are small whole numbers: every sum is exact, whatever the order of additions, and so
// the same bits are owed. D is a part of a larger matrix, whose other elements must stay.
//
// Not here: rounding (tests/unit/vgpu/wgmma_test.cc, recorded hardware bits), text of the PTX
// (tests/mlir/lower/warpgroup.mlir), messages (tests/mlir/dialect/warpgroup_invalid.mlir).
#include "layout/fragment.h"
#include "lemma/device.h"
#include "lemma/mlir.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace lemma {
namespace {

// An element type: of memory, and of tensor maps.
struct Element {
  const char* mlir;
  int bits;
  int exponent_bits, mantissa_bits; // 0: an integer
  int lowest, highest;              // values to draw
  const char* map_mlir;
  TensorType map_type;
};
constexpr Element f16{"f16", 16, 5, 10, -3, 3, "f16", TensorType::f16};
constexpr Element bf16{"bf16", 16, 8, 7, -3, 3, "bf16", TensorType::bf16};
constexpr Element f32{"f32", 32, 8, 23, -3, 3, "f32", TensorType::f32};
constexpr Element tf32{"tf32", 32, 8, 23, -3, 3, "f32", TensorType::f32};
constexpr Element e4m3{"f8E4M3FN", 8, 4, 3, -3, 3, "i8", TensorType::u8};
constexpr Element e5m2{"f8E5M2", 8, 5, 2, -3, 3, "i8", TensorType::u8};
constexpr Element s8{"i8", 8, 0, 0, -128, 127, "i8", TensorType::u8};
constexpr Element u8{"ui8", 8, 0, 0, 0, 255, "ui8", TensorType::u8};
constexpr Element b1{"i1", 1, 0, 0, 0, 1, "i8", TensorType::u8};
constexpr Element i32{"i32", 32, 0, 0, 0, 0, "i32", TensorType::s32};

// The bits of a small whole number.
uint32_t encode(const Element& type, int64_t value) {
  const uint32_t mask = type.bits == 32 ? ~0u : (1u << type.bits) - 1;
  if (type.exponent_bits == 0 || value == 0)
    return static_cast<uint32_t>(value) & mask;
  const auto magnitude = static_cast<uint64_t>(std::abs(value));
  const int exponent = std::bit_width(magnitude) - 1;
  const int bias = (1 << (type.exponent_bits - 1)) - 1;
  const uint64_t mantissa = (magnitude << 32 >> exponent & 0xffffffffu) >> (32 - type.mantissa_bits);
  return (value < 0 ? 1u << (type.bits - 1) : 0) |
         static_cast<uint32_t>(static_cast<uint64_t>(bias + exponent) << type.mantissa_bits | mantissa);
}

struct Values {
  int rows, columns;
  std::vector<int> at;
  int operator()(int row, int column) const { return at[static_cast<size_t>(row * columns + column)]; }
};

Values draw(const Element& type, int rows, int columns, uint32_t seed) {
  std::mt19937 random(seed);
  Values values{rows, columns, std::vector<int>(static_cast<size_t>(rows * columns))};
  for (int& value : values.at)
    value = type.lowest + static_cast<int>(random() % static_cast<uint32_t>(type.highest - type.lowest + 1));
  return values;
}

void put(std::vector<std::byte>& bytes, uint64_t index, int bits, uint32_t value) {
  for (int bit = 0; bit < bits; ++bit) {
    const uint64_t at = index * static_cast<uint64_t>(bits) + static_cast<uint64_t>(bit);
    if (value >> bit & 1)
      bytes[at / 8] |= std::byte(1u << at % 8);
  }
}

struct Case {
  Element a, b, d;
  int m, n, k;
  TensorSwizzle swizzle_a, swizzle_b;
  bool transpose_a = false, transpose_b = false, a_in_registers = false;
  std::string attributes = {}; // of warpgroup.mma
  int products = 1;            // one after the other, on the same accumulators
  int factor = 1;              // A * B comes out so many times
  int accumulators = 1;        // among which M is shared
  bool descriptor_as_in_memory = false;
  uint32_t warpgroups = 1;
};

void PrintTo(const Case& c, std::ostream* stream) {
  *stream << c.m << "x" << c.n << "x" << c.k << " " << c.attributes;
}

std::string_view name_of(TensorSwizzle swizzle) {
  constexpr const char* kNames[] = {"none", "swizzle_32b", "swizzle_64b", "swizzle_128b"};
  return kNames[static_cast<int>(swizzle)];
}

// A multiplicand in memory: rows of the major dimension, loaded as boxes of one swizzle line side by side.
struct Tile {
  const Element& type;
  TensorSwizzle swizzle;
  int rows, columns; // as memory has them

  int line_bytes() const { return 16 << static_cast<int>(swizzle); }
  int row_bytes() const { return columns * type.bits / 8; }
  int boxes() const { return (row_bytes() + line_bytes() - 1) / line_bytes(); }
  int box_bytes() const { return rows * line_bytes(); }
  int bytes() const { return boxes() * box_bytes(); }
  // Elements that tensor maps have: bytes for bits.
  int map_bits() const { return std::max(8, type.bits); }
  int box_columns() const { return line_bytes() * 8 / map_bits(); }
  std::string box_type() const {
    return fmt::format("memref<{}x{}x{}, #gpu.address_space<workgroup>>", rows, box_columns(), type.map_mlir);
  }
  std::string map_type() const {
    return fmt::format("!nvgpu.tensormap.descriptor<tensor = {}, swizzle = {}, l2promo = none, oob = zero, "
                       "interleave = none>",
                       box_type(), name_of(swizzle));
  }
  TensorMap map(uint64_t address) const {
    TensorMap map{.type = type.map_type, .address = address};
    map.dims = {static_cast<uint64_t>(row_bytes() * 8 / map_bits()), static_cast<uint64_t>(rows)};
    map.strides_bytes = {static_cast<uint64_t>(row_bytes())};
    map.box = {static_cast<uint32_t>(box_columns()), static_cast<uint32_t>(rows)};
    map.swizzle = swizzle;
    return map;
  }
  // Statements that copy it to byte `at` of %shared.
  std::string loads(const std::string& name, int at) const {
    std::string text;
    for (int i = 0; i < boxes(); ++i)
      text += fmt::format(R"(
        %at_{0}{1} = arith.constant {2} : index
        %x_{0}{1} = arith.constant {3} : index
        %to_{0}{1} = memref.view %shared[%at_{0}{1}][] : !bytes to {4}
        nvgpu.tma.async.load %map_{0}[%x_{0}{1}, %zero], %barriers[%zero] to %to_{0}{1} : {5}, !barriers -> {4})",
                          name, i, at + i * box_bytes(), i * box_columns(), box_type(), map_type());
    return text;
  }
};

constexpr int kPadding = 4; // columns of D that the product does not have

std::string kernel_of(const Case& c, const Tile& a, const Tile& b) {
  const int a_bytes = c.a_in_registers ? 0 : (a.bytes() + 1023) / 1024 * 1024;
  const int load_bytes = b.bytes() + (c.a_in_registers ? 0 : a.bytes());
  const int k_step = 256 / c.a.bits;
  const int registers = 4 * (c.m / 64) * (c.k / k_step), per_register = 32 / c.a.bits;
  const auto descriptor = [&](const Element& type, int rows, int columns) {
    return fmt::format(
        "!nvgpu.warpgroup.descriptor<tensor = memref<{}x{}x{}, #gpu.address_space<workgroup>>>", rows,
        columns, type.mlir);
  };
  const std::string a_vector = fmt::format("vector<{}x{}x{}>", registers, per_register, c.a.mlir);
  const std::string a_type = c.a_in_registers            ? a_vector
                             : c.descriptor_as_in_memory ? descriptor(c.a, a.rows, a.columns)
                                                         : descriptor(c.a, c.m, c.k);
  const std::string b_type =
      c.descriptor_as_in_memory ? descriptor(c.b, b.rows, b.columns) : descriptor(c.b, c.k, c.n);
  const int each_m = c.m / c.accumulators;
  const std::string accumulator =
      fmt::format("!nvgpu.warpgroup.accumulator<fragmented = vector<{}x{}x{}>>", each_m, c.n, c.d.mlir);

  std::string text = fmt::format(R"(
!bytes = memref<49152xi8, #gpu.address_space<workgroup>>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!d = memref<{0}x{1}x{2}>
!tile = memref<{3}x{4}x{2}, strided<[{1}, 1], offset: ?>>
gpu.module @m {{
  gpu.func @k(%map_a: {5}, %map_b: {6}, %a_words: memref<128x{7}xi32>, %d: !d)
      workgroup(%shared: !bytes {{llvm.align = 1024 : i64}}) kernel {{
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %load_bytes = arith.constant {8} : index
    %ticks = arith.constant 1000000 : index
    %even = arith.constant false
    %x = gpu.thread_id x
    %y = gpu.thread_id y
    %width = gpu.block_dim x
    %y0 = arith.muli %y, %width : index
    %thread = arith.addi %y0, %x : index
    %barriers = nvgpu.mbarrier.create -> !barriers
    %first = arith.cmpi eq, %thread, %zero : index
    scf.if %first {{
      nvgpu.mbarrier.init %barriers[%zero], %one : !barriers
    }}
    gpu.barrier
    scf.if %first {{
      nvgpu.mbarrier.arrive.expect_tx %barriers[%zero], %load_bytes : !barriers)",
                                 c.m * static_cast<int>(c.warpgroups), c.n + kPadding, c.d.mlir, each_m, c.n,
                                 a.map_type(), b.map_type(), registers, load_bytes);
  if (!c.a_in_registers)
    text += a.loads("a", 0);
  text += b.loads("b", a_bytes);
  text += R"(
    }
    nvgpu.mbarrier.try_wait.parity %barriers[%zero], %even, %ticks : !barriers)";
  if (c.a_in_registers) {
    text += fmt::format(R"(
    %warpgroup_threads = arith.constant 128 : index
    %lane = arith.remui %thread, %warpgroup_threads : index
    %v0 = arith.constant dense<0> : vector<{0}x1xi32>)",
                        registers);
    for (int i = 0; i < registers; ++i)
      text += fmt::format(R"(
    %i{0} = arith.constant {0} : index
    %w{0} = memref.load %a_words[%lane, %i{0}] : memref<128x{1}xi32>
    %v{2} = vector.insert %w{0}, %v{0}[{0}, 0] : i32 into vector<{1}x1xi32>)",
                          i, registers, i + 1);
    text += fmt::format("\n    %a = vector.bitcast %v{0} : vector<{0}x1xi32> to {1}", registers, a_vector);
  } else {
    text += fmt::format(R"(
    %a_bytes = memref.view %shared[%zero][] : !bytes to {0}
    %a = nvgpu.warpgroup.generate.descriptor %a_bytes, %map_a : {0}, {1} -> {2})",
                        a.box_type(), a.map_type(), a_type);
  }
  text += fmt::format(R"(
    %at_b = arith.constant {0} : index
    %b_bytes = memref.view %shared[%at_b][] : !bytes to {1}
    %b = nvgpu.warpgroup.generate.descriptor %b_bytes, %map_b : {1}, {2} -> {3})",
                      a_bytes, b.box_type(), b.map_type(), b_type);

  // %d<product>_<accumulator>; those of product 0 are zeros.
  const auto sums = [&](int product) {
    std::string names;
    for (int i = 0; i < c.accumulators; ++i)
      names += fmt::format("{}%d{}_{}", i ? ", " : "", product, i);
    return names;
  };
  std::string types;
  for (int i = 0; i < c.accumulators; ++i) {
    text += fmt::format("\n    %d0_{} = nvgpu.warpgroup.mma.init.accumulator -> {}", i, accumulator);
    types += (i ? ", " : "") + accumulator;
  }
  std::string attributes = c.attributes;
  for (const auto& [is, word] :
       {std::pair(c.transpose_a, "transposeA"), std::pair(c.transpose_b, "transposeB")})
    if (is)
      attributes += (attributes.empty() ? "" : ", ") + std::string(word);
  for (int i = 1; i <= c.products; ++i)
    text += fmt::format("\n    {} = nvgpu.warpgroup.mma %a, %b, {} {{{}}} : {}, {}, {} -> {}", sums(i),
                        sums(i - 1), attributes, a_type, b_type, types, types);
  for (int i = 0; i < c.accumulators; ++i)
    text += fmt::format(R"(
    %threads{0} = arith.constant 128 : index
    %m{0} = arith.constant {1} : index
    %warpgroup{0} = arith.divui %thread, %threads{0} : index
    %begin{0} = arith.muli %warpgroup{0}, %m{0} : index
    %offset{0} = arith.constant {2} : index
    %row{0} = arith.addi %begin{0}, %offset{0} : index
    %tile{0} = memref.subview %d[%row{0}, 0] [{3}, {4}] [1, 1] : !d to !tile
    nvgpu.warpgroup.mma.store %d{6}_{0}, %tile{0} : {5} to !tile)",
                        i, c.m, i * each_m, each_m, c.n, accumulator, c.products);
  return text + "\n    gpu.return\n  }\n}\n";
}

// What lane by lane the registers of A hold: of each block of 64 rows, of each step of K.
std::vector<std::byte> a_registers(const Case& c, const Values& a) {
  const int k_step = 256 / c.a.bits;
  const auto fragment = layout::wgmma_fragment(layout::Matrix::a, {64, 8, k_step}, c.a.bits);
  std::vector<std::byte> bytes(static_cast<size_t>(c.m * c.k * c.a.bits / 8));
  uint64_t index = 0;
  for (int lane = 0; lane < fragment.lanes(); ++lane)
    for (int block = 0; block < c.m / 64; ++block)
      for (int step = 0; step < c.k / k_step; ++step)
        for (int reg = 0; reg < fragment.registers(); ++reg)
          for (int elem = 0; elem < fragment.elems_per_register(); ++elem) {
            const layout::Coord at = fragment.at({lane, reg, elem});
            put(bytes, index++, c.a.bits, encode(c.a, a(block * 64 + at.row, step * k_step + at.col)));
          }
  return bytes;
}

std::vector<std::byte> in_memory(const Element& type, const Values& values, bool transposed) {
  std::vector<std::byte> bytes(static_cast<size_t>(values.rows * values.columns * type.bits / 8));
  uint64_t index = 0;
  const int rows = transposed ? values.columns : values.rows,
            columns = transposed ? values.rows : values.columns;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      put(bytes, index++, type.bits, encode(type, transposed ? values(column, row) : values(row, column)));
  return bytes;
}

Buffer upload(const Device& device, std::span<const std::byte> bytes) {
  auto buffer = device.allocate(bytes.size());
  EXPECT_TRUE(buffer && buffer->copy_from(bytes));
  return std::move(*buffer);
}

class Warpgroup : public testing::TestWithParam<Case> {};

TEST_P(Warpgroup, MultipliesAsThreeLoopsDo) {
  const Case& c = GetParam();
  // A and B with K along their rows: A as M x K, B as N x K.
  const Values a = draw(c.a, c.m, c.k, 1), b = draw(c.b, c.n, c.k, 2);
  const Tile a_tile{c.a, c.swizzle_a, c.transpose_a ? c.k : c.m, c.transpose_a ? c.m : c.k};
  const Tile b_tile{c.b, c.swizzle_b, c.transpose_b ? c.k : c.n, c.transpose_b ? c.n : c.k};
  const std::string text = kernel_of(c, a_tile, b_tile);
  const auto compiled = compile_mlir(text, {.name = "k.mlir"});
  if (!compiled) {
    for (const Message& message : compiled.error().messages)
      ADD_FAILURE() << message.rendered;
    FAIL() << compiled.error().text << "\n" << text;
  }

  const auto device = Device::open("cpu");
  const auto module = device->load_ptx(compiled->text, {.name = "k.ptx"});
  ASSERT_TRUE(module) << module.error().text << "\n" << compiled->text;
  const Buffer a_buffer = upload(*device, in_memory(c.a, a, c.transpose_a)),
               b_buffer = upload(*device, in_memory(c.b, b, c.transpose_b)),
               words = upload(*device, a_registers(c, a));
  const auto map_buffer = [&](const Tile& tile, const Buffer& memory) {
    const auto map = device->encode(tile.map(memory.address()));
    EXPECT_TRUE(map) << map.error().text;
    return upload(*device, map->bytes());
  };
  const Buffer a_map = map_buffer(a_tile, a_buffer), b_map = map_buffer(b_tile, b_buffer);
  const int columns = c.n + kPadding, rows = c.m * static_cast<int>(c.warpgroups);
  std::vector<std::byte> got(static_cast<size_t>(rows * columns * c.d.bits / 8));
  Buffer d = *device->allocate(got.size());
  ASSERT_TRUE(d.fill(0xcc));

  // A memref is allocated and aligned pointer, offset, sizes and strides.
  std::vector<Argument> arguments{a_map, b_map};
  const auto memref = [&](const Buffer& buffer, std::vector<uint64_t> shape) {
    arguments.insert(arguments.end(), {buffer, buffer, uint64_t{0}});
    for (const uint64_t extent : shape)
      arguments.emplace_back(extent);
    for (size_t i = 0; i < shape.size(); ++i)
      arguments.emplace_back(i + 1 < shape.size() ? shape.back() : uint64_t{1});
  };
  memref(words, {128, words.size_bytes() / 512});
  memref(d, {static_cast<uint64_t>(rows), static_cast<uint64_t>(columns)});

  for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late}) {
    SCOPED_TRACE(mode == AsyncMode::late ? "late" : "eager");
    LaunchConfig config{.block = {64, 2 * c.warpgroups}, .async = mode};
    const auto report = module->kernels().front().launch(config, arguments);
    ASSERT_TRUE(report) << report.error().text;
    ASSERT_TRUE(report->ok()) << report->fault->message << "\n" << compiled->text;
    ASSERT_TRUE(d.copy_to(got));
    int wrong = 0;
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        uint32_t expected = 0xccccccccu >> (32 - c.d.bits), found = 0;
        if (column < c.n) {
          int64_t sum = 0;
          for (int k = 0; k < c.k; ++k)
            sum += int64_t{a(row % c.m, k)} * b(column, k);
          expected = encode(c.d, c.factor * sum);
        }
        std::memcpy(&found, &got[static_cast<size_t>((row * columns + column) * c.d.bits / 8)],
                    static_cast<size_t>(c.d.bits / 8));
        if (found != expected && wrong++ < 8)
          ADD_FAILURE() << fmt::format("D[{}][{}] is 0x{:x}, not 0x{:x}", row, column, found, expected);
      }
    EXPECT_EQ(wrong, 0);
    ASSERT_TRUE(d.fill(0xcc));
  }
}

constexpr auto kNone = TensorSwizzle::none, k32 = TensorSwizzle::b32, k64 = TensorSwizzle::b64,
               k128 = TensorSwizzle::b128;

// Orders in memory and swizzles, where all orders are legal.
std::vector<Case> orders() {
  std::vector<Case> cases;
  for (const TensorSwizzle swizzle : {kNone, k32, k64, k128})
    for (int order = 0; order < 4; ++order) {
      Case c{f16, f16, f32, 128, 64, 64, swizzle, swizzle};
      c.transpose_a = order & 1;
      c.transpose_b = order & 2;
      cases.push_back(c);
    }
  // Swizzles of A and B differ; types of descriptors are those of memory.
  for (int i = 0; i < 4; ++i) {
    const auto swizzle_a = static_cast<TensorSwizzle>(i), swizzle_b = static_cast<TensorSwizzle>(3 - i);
    Case c{bf16, bf16, f32, 64, 8 << i, 32, swizzle_a, swizzle_b};
    c.transpose_a = i % 2 == 0;
    c.transpose_b = i % 2 == 1;
    c.descriptor_as_in_memory = true;
    cases.push_back(c);
  }
  return cases;
}

// Element types, each with A from shared memory and from registers.
std::vector<Case> types() {
  std::vector<Case> cases;
  const auto add = [&](const Element& a, const Element& b, const Element& d, int n) {
    const int line = 1024 / a.bits; // of 128 bytes
    int i = static_cast<int>(cases.size());
    for (const TensorSwizzle swizzle : {kNone, k32, k64, k128}) {
      Case c{a, b, d, i % 3 ? 64 : 128, n, i % 2 ? line : line / 2, swizzle, swizzle};
      cases.push_back(c);
      c.a_in_registers = true;
      c.transpose_b = a.bits == 16 && i % 2;
      cases.push_back(c);
      ++i;
    }
  };
  add(f16, f16, f32, 128);
  add(f16, f16, f16, 24);
  add(bf16, bf16, f32, 40);
  add(tf32, f32, f32, 16);
  add(f32, f32, f32, 96);
  add(e4m3, e4m3, f32, 8);
  add(e4m3, e5m2, f16, 64);
  add(e5m2, e5m2, f32, 200);
  add(s8, s8, i32, 32);
  add(s8, u8, i32, 24);
  add(u8, u8, i32, 128);
  add(b1, b1, i32, 48);
  for (Case& c : cases)
    if (c.a.mlir == std::string_view("tf32") && c.a_in_registers)
      c.a = f32; // vectors of tf32 have no LLVM type
  return cases;
}

// What the operation's attributes and accumulators do.
std::vector<Case> attributes() {
  const Case plain{f16, f16, f32, 128, 128, 64, k128, k128};
  std::vector<Case> cases;
  const auto add = [&](std::string attributes, int products, int factor) {
    cases.push_back(plain);
    cases.back().attributes = std::move(attributes);
    cases.back().products = products;
    cases.back().factor = factor;
  };
  add("negateA", 1, -1);
  add("negateB", 2, -2);
  add("negateA, negateB", 1, 1);
  add("scaleD = false", 2, 1);
  add("scaleD = true", 2, 2);
  add("waitGroup = 1 : i32", 3, 3);
  add("waitGroup = 0 : i64", 3, 3);
  add("", 1, 1);
  cases.back().accumulators = 2;
  add("waitGroup = 2 : i32", 2, 2);
  cases.back().accumulators = 2;
  cases.back().a_in_registers = true;
  add("", 1, 1);
  cases.back().warpgroups = 2;
  cases.push_back({s8, s8, i32, 64, 256, 32, k32, k32});
  cases.back().attributes = "satfinite";
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  std::string text = fmt::format("{}_{}_{}_{}_{}x{}x{}_{}_{}{}{}", info.index, c.a.mlir, c.b.mlir, c.d.mlir,
                                 c.m, c.n, c.k, name_of(c.swizzle_a), name_of(c.swizzle_b),
                                 c.a_in_registers ? "_registers"
                                 : c.transpose_a  ? "_KxM"
                                                  : "_MxK",
                                 c.transpose_b ? "_KxN" : "_NxK");
  return text;
}

INSTANTIATE_TEST_SUITE_P(Orders, Warpgroup, testing::ValuesIn(orders()), case_name);
INSTANTIATE_TEST_SUITE_P(Types, Warpgroup, testing::ValuesIn(types()), case_name);
INSTANTIATE_TEST_SUITE_P(Attributes, Warpgroup, testing::ValuesIn(attributes()), case_name);

} // namespace
} // namespace lemma
