// Instructions of tcgen05 as public data: names that go on with shape and types, operands in tensor memory
// against the figures of the PTX ISA, registers, products.
#include "lemma/isa.h"
#include "lemma/mma.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace lemma {
namespace {

const MatrixOperand& operand(const MatrixDescription& of, const std::string& name) {
  const auto found =
      std::ranges::find_if(of.operands, [&](const MatrixOperand& each) { return each.name == name; });
  EXPECT_NE(found, of.operands.end()) << name;
  return *found;
}

MatrixDescription described(const std::string& name) {
  auto found = describe_matrix(name);
  EXPECT_TRUE(found) << found.error().text;
  return found ? *std::move(found) : MatrixDescription{};
}

// Every place of each element is what `lane` and `column` say; and no two elements share bits.
using Of = std::function<int(int row, int col)>;
void expect_cells(const std::string& name, const std::string& which, const Of& lane, const Of& column) {
  const MatrixDescription mma = described(name);
  const MatrixOperand& at = operand(mma, which);
  EXPECT_TRUE(at.in_tensor_memory);
  std::set<std::tuple<int, int, int>> held;
  std::set<std::pair<int, int>> elements;
  for (const FragmentElement& e : at.elements) {
    EXPECT_TRUE(held.emplace(e.lane, e.reg, e.elem).second) << name;
    if (elements.emplace(e.row, e.col).second) {
      EXPECT_EQ(e.lane, lane(e.row, e.col)) << name << " " << which << " " << e.row << ", " << e.col;
      EXPECT_EQ(e.reg, column(e.row, e.col)) << name << " " << which << " " << e.row << ", " << e.col;
    }
  }
  EXPECT_EQ(elements.size(), static_cast<size_t>(at.rows * at.cols)) << name;
  EXPECT_EQ(at.elements.size(), elements.size() * static_cast<size_t>(at.copies)) << name;
}

const Of kColumn = [](int, int col) { return col; };
const Of kRow = [](int row, int) { return row; };

// "Data Path Layout Organization": layouts A to G; lanes of the second CTA count from 128.
TEST(Tensor, DLiesInSevenDataPaths) {
  const std::string one = "tcgen05.mma.cta_group::1.kind::f16", two = "tcgen05.mma.cta_group::2.kind::f16",
                    ws = "tcgen05.mma.ws.cta_group::1.kind::f16", types = ".f32.f16.f16";
  expect_cells(two + ".m256n32k16" + types, "d", kRow, kColumn); // A
  expect_cells(
      two + ".m128n32k16" + types, "d", // B
      [](int row, int col) { return row / 64 * 128 + row % 64 + col / 16 * 64; },
      [](int, int col) { return col % 16; });
  const Of scattered = [](int row, int) { return row / 16 * 32 + row % 16; };
  expect_cells(
      "tcgen05.mma.sp.cta_group::2.kind::f16.m128n32k32" + types, "d", // C
      [&](int row, int col) { return row / 64 * 128 + scattered(row % 64, col); }, kColumn);
  expect_cells(one + ".m128n24k16" + types, "d", kRow, kColumn); // D
  expect_cells(
      ws + ".m64n64k16" + types, "d", [](int row, int col) { return row + col / 32 * 64; }, // E
      [](int, int col) { return col % 32; });
  expect_cells(one + ".m64n8k16" + types, "d", scattered, kColumn); // F
  expect_cells(
      ws + ".m32n64k16" + types, "d", [](int row, int col) { return row + col / 16 * 32; }, // G
      [](int, int col) { return col % 16; });
}

TEST(Tensor, AHasItsRowsInTheLanesOfD) {
  const std::string end = ".f32.f16.f16";
  expect_cells("tcgen05.mma.cta_group::1.kind::f16.m128n8k16" + end, "a", kRow,
               [](int, int k) { return k / 2; });
  const MatrixDescription f = described("tcgen05.mma.cta_group::1.kind::f16.m64n8k16" + end);
  EXPECT_EQ(operand(f, "a").lane_formula, "row % 16 + 32 * (row / 16)");
  EXPECT_EQ(operand(f, "a").column_formula, "col / 2");
  EXPECT_EQ(operand(f, "a").adjacent_cols, 2);
  EXPECT_TRUE(std::ranges::any_of(f.readings, [](const std::string& reading) {
    return reading.find("CUTLASS") != std::string::npos &&
           reading.find("assumed are D's lanes") != std::string::npos;
  }));
  const MatrixDescription g = described("tcgen05.mma.ws.cta_group::1.kind::f16.m32n64k16" + end);
  EXPECT_EQ(operand(g, "a").copies, 4) << "a lane multiplies what it has";
  expect_cells("tcgen05.mma.cta_group::1.kind::f8f6f4.m128n8k32.f32.e2m1.e4m3", "a", kRow,
               [](int, int k) { return k / 4; }); // a byte each
  expect_cells("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X.m128n8k64.f32.e2m1.e2m1.ue8m0",
               "a", kRow, [](int, int k) { return k / 8; });
}

// "Scale Factor A Layout", "Scale Factor B Layout".
TEST(Tensor, ScaleFactorsAreInEveryQuarter) {
  const std::string name =
      "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X.m128n136k64.f32.e2m1.e2m1.ue4m3";
  expect_cells(name, "scale-a", [](int row, int) { return row % 32; }, [](int row, int) { return row / 32; });
  expect_cells(name, "scale-b", [](int, int col) { return col % 32; }, [](int, int col) { return col / 32; });
  const MatrixDescription mma = described(name);
  EXPECT_EQ(operand(mma, "scale-a").copies, 4);
  EXPECT_EQ(operand(mma, "scale-a").cols, 4);
  EXPECT_EQ(operand(mma, "scale-b").held_registers, 5);
  std::map<std::pair<int, int>, std::set<int>> lanes;
  for (const FragmentElement& e : operand(mma, "scale-a").elements) {
    EXPECT_EQ(e.elem, e.col) << "byte of the cell";
    lanes[{e.row, e.col}].insert(e.lane);
  }
  EXPECT_EQ((lanes[{33, 2}]), (std::set<int>{1, 33, 65, 97}));
}

// Of a pair's 128 rows B's columns lie in two blocks; CUTLASS's tmem_sf_frg has each half of N in two
// quarters.
TEST(Tensor, ScaleFactorsOfAPairAreInBothCtas) {
  const MatrixDescription pair = described(
      "tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale.scale_vec::1X.m128n128k32.f32.e4m3.e4m3.ue8m0");
  std::map<int, std::set<int>> a, b;
  for (const FragmentElement& e : operand(pair, "scale-a").elements)
    a[e.row].insert(e.lane);
  for (const FragmentElement& e : operand(pair, "scale-b").elements)
    b[e.col].insert(e.lane);
  EXPECT_EQ(a[3], (std::set<int>{3, 35, 67, 99}));
  EXPECT_EQ(a[64 + 3], (std::set<int>{128 + 3, 128 + 35, 128 + 67, 128 + 99}));
  EXPECT_EQ(b[3], (std::set<int>{3, 35, 128 + 3, 128 + 35}));
  EXPECT_EQ(b[64 + 3], (std::set<int>{67, 99, 128 + 67, 128 + 99}));
}

TEST(Tensor, ANameTakesWhatItLacksFromTheFirst) {
  const MatrixDescription mma = described("tcgen05.mma.cta_group::1.kind::f16");
  EXPECT_EQ(mma.spelling, "tcgen05.mma.cta_group::1.kind::f16.m64n8k16.f32.f16.f16");
  EXPECT_EQ(described("tcgen05.mma.cta_group::1.kind::f16.m128n64k16.f16").spelling,
            "tcgen05.mma.cta_group::1.kind::f16.m128n64k16.f16.f16.f16");
  EXPECT_EQ(described("tcgen05.mma.ws.cta_group::1.kind::tf").instruction.k, 8) << "a beginning of one alone";
  EXPECT_TRUE(mma.by_thread);
  EXPECT_EQ(mma.flops, 2u * 64 * 8 * 16);
  EXPECT_EQ(mma.instruction_descriptor, 0x0402'0010u);
  EXPECT_EQ(mma.instruction.availability.since.minor, 6);
  ASSERT_FALSE(mma.arithmetic.empty());
  for (const ArithmeticRule& rule : mma.arithmetic)
    EXPECT_EQ(rule.evidence, "published") << "nothing is recorded";
  EXPECT_FALSE(mma.instruction.checked.any());
  EXPECT_EQ(described("tcgen05.mma.sp.cta_group::1.kind::f16").arithmetic.front().evidence, "assumed");
}

TEST(Tensor, ANameThatIsWrongSaysWhatIsLegal) {
  const auto error = [](const std::string& name) {
    const auto found = describe_matrix(name);
    EXPECT_FALSE(found) << name;
    return found ? std::string() : found.error().text;
  };
  const std::string half = "tcgen05.mma.cta_group::1.kind::f16";
  EXPECT_NE(error(half + ".m128n20k16").find("legal"), std::string::npos);
  EXPECT_NE(error(half + ".m96n16k16").find("64, 128"), std::string::npos);
  EXPECT_NE(error(half + ".m128n16k8").find("K is 8; legal: 16"), std::string::npos);
  EXPECT_NE(error(half + ".m128n16k16.f32.e4m3").find("the type of A is e4m3; legal: f16, bf16"),
            std::string::npos);
  EXPECT_NE(error(half + ".m128n16k16.f32.f16.f16.f16").find("more than the types of D, A, B"),
            std::string::npos);
  EXPECT_NE(error(half + ".m128n16k16.f16.bf16.bf16").find("as D is f16"), std::string::npos);
  EXPECT_NE(error(half + ".m2147483647n8k16").find("legal"), std::string::npos);
  EXPECT_NE(error("tcgen05.mma.cta_group::1.kind::f61").find("kind::f16"), std::string::npos);
  EXPECT_NE(error("tcgen05.mma").find("begins the names of"), std::string::npos);
  EXPECT_NE(error("tcgen05.commit").find("no matrix instruction"), std::string::npos);
  // 32 bits would wrap.
  EXPECT_NE(error(half + ".m64n4294967304k16").find("no matrix instruction"), std::string::npos);
}

TEST(Tensor, ListsItsProducts) {
  const std::string words[] = {"tcgen05.mma", "kind::mxf4nvf4"};
  const auto found = matrix_instructions(words);
  ASSERT_TRUE(found);
  std::set<std::string> opcodes;
  for (const MatrixInstruction& one : *found) {
    opcodes.insert(one.opcode);
    EXPECT_EQ(one.k, one.opcode == "tcgen05.mma.sp" ? 128 : 64);
    for (const std::string& spelling : {one.spellings.front(), one.spellings.back()}) {
      const auto explained = describe_matrix(spelling);
      ASSERT_TRUE(explained) << explained.error().text;
      EXPECT_EQ(explained->spelling, spelling);
      EXPECT_EQ(explained->instruction.pattern, one.pattern);
    }
  }
  EXPECT_EQ(opcodes, (std::set<std::string>{"tcgen05.mma", "tcgen05.mma.sp"}));
  const std::string integers[] = {"kind::i8", "sm_103a"};
  EXPECT_TRUE(matrix_instructions(integers)->empty()) << "sm_103 has none";
  const std::string others[] = {"kind::i8", "sm_100a"};
  EXPECT_FALSE(matrix_instructions(others)->empty());
  const std::string mma[] = {"mma.sync"};
  for (const MatrixInstruction& one : *matrix_instructions(mma))
    EXPECT_FALSE(one.opcode.starts_with("tcgen05"));
}

// As CUTLASS has them, and tests/unit/vgpu/tensor_k96_test.cc: rows count by 128.
TEST(Tensor, ScaleFactorsOfK96GoOnBehindAllRows) {
  const std::string six =
      "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X.m128n144k96.f32.e2m1.e2m1.ue4m3";
  expect_cells(
      six, "scale-a", [](int row, int) { return row % 32; },
      [](int row, int k) { return row / 32 + k / 4 * 4; });
  expect_cells(
      six, "scale-b", [](int, int col) { return col % 32; },
      [](int k, int col) { return col / 32 + k / 4 * 8; });
  const MatrixDescription mma = described(six);
  EXPECT_EQ(operand(mma, "scale-a").adjacent_cols, 2) << "a cell has four or two";
  EXPECT_EQ(operand(mma, "scale-b").column_formula, "8 * (row / 4) + col / 32");
  EXPECT_EQ(mma.instruction.availability.targets_text, "sm_103a");
  EXPECT_EQ(mma.other_shapes, std::vector<std::string>{"m128nNk64"});
  EXPECT_EQ(mma.instruction_descriptor >> 31, 1u);
  // Of a pair's 128 rows each block of B's columns has its own quarters.
  const MatrixDescription pair = described(
      "tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.scale_vec::4X.m128n256k96.f32.e2m1.e2m1.ue4m3");
  int last = 0;
  for (const FragmentElement& e : operand(pair, "scale-b").elements)
    last = std::max(last, e.reg);
  EXPECT_EQ(last, 4 + 3);
}

// "Data Movement Shape": the accumulator fragment of mma.sync.
TEST(Tensor, RegistersOfLoadsAreFragments) {
  const MatrixDescription load = described("tcgen05.ld.sync.aligned.16x256b.x2.b32");
  EXPECT_FALSE(load.computes);
  const MatrixOperand& d = operand(load, "d");
  EXPECT_FALSE(d.in_tensor_memory);
  EXPECT_EQ(d.registers, 8);
  EXPECT_EQ(d.rows, 16);
  EXPECT_EQ(d.cols, 16);
  for (const FragmentElement& e : d.elements) {
    EXPECT_EQ(e.row, e.lane / 4 + 8 * (e.reg / 2 % 2));
    EXPECT_EQ(e.col, e.reg % 2 + 2 * (e.lane % 4) + 8 * (e.reg / 4));
  }
  const MatrixDescription packed = described("tcgen05.st.sync.aligned.32x32b.x4.unpack::16b.b32");
  EXPECT_EQ(operand(packed, "r").elems_per_register, 2);
  EXPECT_EQ(operand(packed, "r").cols, 8);
  const MatrixDescription halves = described("tcgen05.ld.sync.aligned.16x32bx2.x4.b32");
  EXPECT_EQ(operand(halves, "d").rows, 16);
  EXPECT_EQ(operand(halves, "d").cols, 8);
}

TEST(Tensor, AReductionHasARegisterBeside) {
  const MatrixDescription rows = described("tcgen05.ld.red.sync.aligned.32x32b.x4.min.abs.NaN.f32");
  EXPECT_EQ(operand(rows, "d").registers, 4);
  EXPECT_EQ(operand(rows, "red").registers, 1);
  EXPECT_EQ(operand(rows, "red").type, "f32");
  EXPECT_EQ(operand(rows, "red").rows, 32);
  const MatrixDescription halves = described("tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.u32");
  EXPECT_EQ(operand(halves, "red").cols, 2);
  for (const FragmentElement& e : operand(halves, "red").elements)
    EXPECT_EQ(e.lane, e.row + 16 * e.col);
  EXPECT_FALSE(describe_matrix("tcgen05.ld.red.spcompress.sync.aligned.32x32b.x4.min.sp::2:4.f32.b2"));
}

TEST(Tensor, CopiesSayWhichLanesARowGoesTo) {
  const MatrixDescription copy = described("tcgen05.cp.cta_group::1.64x128b.warpx2::01_23");
  const MatrixOperand& rows = operand(copy, "taddr");
  EXPECT_EQ(rows.copies, 2);
  EXPECT_EQ(rows.rows, 64);
  std::set<int> lanes;
  for (const FragmentElement& e : rows.elements)
    if (e.row == 32)
      lanes.insert(e.lane);
  EXPECT_EQ(lanes, (std::set<int>{64, 96}));
}

TEST(Tensor, ItsTilesHaveDescriptors) {
  const auto k_major = lay_out({});
  ASSERT_EQ(k_major->tensor_descriptors.size(), 4u);
  EXPECT_EQ(k_major->tensor_descriptors[1].bits, 0x4000'4040'0001'0002u);
  const SmemTile tf32{.type = "tf32", .atoms_of_32_bytes = true, .k_major = false, .rows = 32, .cols = 16};
  const auto atoms = lay_out(tf32);
  ASSERT_TRUE(atoms) << atoms.error().text;
  ASSERT_EQ(atoms->tensor_descriptors.size(), 2u);
  EXPECT_EQ(atoms->tensor_descriptors[1].bits >> 61, 1u);
  EXPECT_EQ(atoms->tensor_descriptors[1].start, 8u * 128);
  EXPECT_EQ(atoms->tensor_descriptors[1].stride, 4u * 128);
  EXPECT_TRUE(atoms->descriptors.empty()) << "wgmma has no such swizzle";
  EXPECT_TRUE(
      lay_out({.type = "tf32", .k_major = false, .rows = 32, .cols = 16})->tensor_descriptors.empty());
  EXPECT_TRUE(lay_out({.swizzle = TensorSwizzle::b64, .atoms_of_32_bytes = true})
                  .error()
                  .text.starts_with("swizzle 64B"));
  EXPECT_EQ(lay_out({.type = "e2m1", .rows = 8, .cols = 128})->chunk_elems, 16u) << "padded";
}

TEST(Tensor, ComputesOneProduct) {
  const auto form = mma_form("tcgen05.mma.cta_group::1.kind::f16.m64n8k16.f32.f16.f16");
  ASSERT_TRUE(form) << form.error().text;
  EXPECT_EQ(form->arch, "sm_100");
  EXPECT_EQ(form->evidence, "published");
  EXPECT_EQ(form->rule, "F = 25, all K at once, rounded toward zero");
  BitMatrix a{.rows = 64, .cols = 16, .bits = std::vector<uint64_t>(64 * 16)},
      b{.rows = 16, .cols = 8, .bits = std::vector<uint64_t>(16 * 8, 0x3c00)};
  a.at(5, 3) = 0x4000; // 2
  a.at(5, 9) = 0xc200; // -3
  const auto d = mma(*form, {.a = a, .b = b});
  ASSERT_TRUE(d) << d.error().error.text;
  EXPECT_EQ(d->at(5, 7), 0xbf80'0000u); // -1
  EXPECT_EQ(d->at(4, 7), 0u);
  EXPECT_FALSE(mma_form("tcgen05.mma.cta_group::1.kind::i8", "sm_103a")) << "no integers there";
  EXPECT_TRUE(mma_form("tcgen05.mma.cta_group::1.kind::i8", "sm_100a"));
  const std::string k96 = "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X.m128n64k96";
  const auto longer = mma_form(k96, "sm_103a");
  ASSERT_TRUE(longer) << longer.error().text;
  EXPECT_EQ(longer->a.cols, 96u);
  EXPECT_EQ(longer->scale_a.cols, 3u);
  EXPECT_EQ(longer->evidence, "assumed");
  const auto none = mma_form(k96, "sm_100a");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unsupported);
  EXPECT_NE(none.error().text.find("known: sm_103"), std::string::npos) << none.error().text;
  EXPECT_NE(mma_form("tcgen05.ld.sync.aligned.32x32b.x1.b32").error().text.find("moves data"),
            std::string::npos);
}

} // namespace
} // namespace lemma
