// The catalogue of matrix instructions: one row a form, and every fact about it is read from the row.
//
//   parser, printer, verifier   matrix_forms(): spelling, qualifier classes, operands, targets
//   layout                      fragment_of(): who holds what
//   virtual GPU                 Form::matrix of an instruction: shape, types, numeric family, steps of K
//   docs, tests                 everything
//
// How a matrix product rounds is not here (src/numeric, by architecture): a row only names the family. A row
// of which no recorded hardware bits exist has an empty `checked`.
//
// PTX ISA: "Warp Level Matrix Multiply-Accumulate Instructions", "Asynchronous Warpgroup Level Matrix
// Instructions". Rows: src/isa/rows/*.inc.
// Tests: tests/unit/isa/catalogue_test.cc, tests/unit/vgpu/matrix_test.cc.
#pragma once

#include "isa/target.h"
#include "isa/vocabulary.h"
#include "layout/fragment.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::isa {

struct Binding;
struct Form;

// A few types that a qualifier may be, such as s8 | u8.
struct TypeSet {
  std::array<Type, 5> types{};
  int count = 0;

  constexpr TypeSet() = default;
  constexpr TypeSet(Type type) : types{type}, count(1) {}
  constexpr bool has(Type type) const {
    for (int i = 0; i < count; ++i)
      if (types[static_cast<size_t>(i)] == type)
        return true;
    return false;
  }
  constexpr bool empty() const { return count == 0; }
  constexpr Type first() const { return types[0]; }
  constexpr const Type* begin() const { return types.data(); }
  constexpr const Type* end() const { return types.data() + count; }
};

// Types of D, A, B and C; empty where the spelling does not say it (and the operand has none).
struct MatrixTypes {
  TypeSet d{};
  TypeSet a{};
  TypeSet b{};
  TypeSet c{};
};

// Which of `.row` and `.col` the spelling may have for A and B, or for the matrix that is loaded or stored.
// row_col: A is row-major and B column-major; C and D, which wmma moves, may be either.
enum class Layouts : uint8_t { none, row_col, any };

// Rule by which lanes hold the matrices.
enum class FragmentRule : uint8_t { mma, mma_m8n8k4, wmma, wgmma, m8n8 };

// What N may be: the shape's; 8 to that in steps of 8; 8, 24, and 16 to that in steps of 16.
enum class Columns : uint8_t { one, by_8, by_16 };

// Whose arithmetic: numeric::dot_model() for the row's types, integers, or none (data movement).
enum class Numeric : uint8_t { none, floating, integer };

struct MatrixRow {
  Opcode opcode = Opcode::none;
  layout::Matrix matrix = layout::Matrix::d; // wmma.load and .store: which matrix moves; stmatrix and kin: d
  // sp or sp_ordered_metadata: A has half its columns, layout/sparse.h says which; none: dense.
  Qual sparse = Qual::none;
  layout::Shape shape{}; // ldmatrix and kin: m x n of one matrix
  Columns columns = Columns::one;
  MatrixTypes types{};
  // The types that the spelling has, in order: "dabc", "dab" (wgmma), "dc" (wmma.mma of f16), "m" (the matrix
  // that moves); "s", at the end, is that of the scales.
  std::string_view spelled = "dabc";
  Layouts layouts = Layouts::none;
  FragmentRule fragments = FragmentRule::mma;
  Numeric numeric = Numeric::none;
  // K of the machine instruction that this one assembles to, where that is less than the shape's: the product
  // is then taken in several steps, each from the result of the one before. 0: the shape's.
  int step_k = 0;
  // ldmatrix: .b4x16_p64 or .b6x16_p32, elements of which 16 are packed in memory and become a byte each.
  Qual packing = Qual::none;
  Qual op = Qual::none;   // of single bits: .and or .xor, before .popc
  Qual kind = Qual::none; // .kind::..., which has the narrow formats: container_bits()
  // Block scaling: how many scales a row of A and a column of B have, .scale_vec::1X to 4X; and their type.
  Qual scale_vec = Qual::none;
  Type scale = Type::none;
  bool satfinite = false;  // {.satfinite}
  bool rounding = false;   // {.rn .rz .rm .rp}
  bool transposes = false; // wgmma: imm-trans-a, imm-trans-b
  bool sinks = true;       // mma: an element of d may be _; not where the assembler emulates the form
  IsaVersion since{};
  std::string_view targets{}; // "sm_80": and up; or a set of target_sets.def
  std::string_view section{}; // anchor in the PTX ISA document, without #
  std::string_view checked{}; // recorded hardware bits, a path under tests/golden; empty: none
};

std::span<const MatrixRow> matrix_rows();

// The types that a matrix may have; the matrix of a letter of `spelled` ('m' is the one that moves); and what
// N may be, in the order of the form.
const TypeSet& types_of(const MatrixRow& row, layout::Matrix matrix);
layout::Matrix matrix_of(const MatrixRow& row, char letter);
std::vector<int> columns_of(const MatrixRow& row);

// The type of a matrix in an instruction of the row, from its types as written.
Type type_of(const MatrixRow& row, layout::Matrix matrix, std::span<const Type> types);

// Who holds matrix `matrix`, whose elements are of `type`, in an instruction of the row. `order` matters to
// m8n8k4 alone. For ldmatrix and kin: one matrix, not transposed where that is a choice; memory_fragment()
// gives the others. wgmma: of the row's largest N; B has none. A sparse
// A has the columns that are stored.
layout::Fragment fragment_of(const MatrixRow& row, layout::Matrix matrix, Type type,
                             layout::MajorOrder order = layout::MajorOrder::row);

// The order of a multiplicand as an instruction's `.alayout` or `.blayout` says; row where it says nothing.
layout::MajorOrder order_of(const Binding& binding, layout::Matrix matrix);

// ldmatrix, stmatrix, movmatrix: `num` matrices below one another, in the coordinates of memory, where each
// row is one that a lane gives the address of. `trans`: as .trans loads or stores m8n8; the other shapes have
// one way only.
layout::Fragment memory_fragment(const MatrixRow& row, int num, bool trans);

// Bits that an element of a multiplicand takes in its register: 8 in .kind::f8f6f4 and .kind::mxf8f6f4, where
// e2m1 lies in the middle four of them (kContainerShift) and e2m3 and e3m2 in the lower six; else those of
// its type.
int container_bits(const MatrixRow& row, layout::Matrix matrix, Type type);
inline constexpr int kContainerShift = 2;

// Scales of a row of A, or of a column of B; 0: not block scaled.
int scales_of(const MatrixRow& row);

// Who holds the scales of A or B of a block-scaled row.
layout::ScaleFragment scale_fragment_of(const MatrixRow& row, layout::Matrix matrix);

// Registers of that fragment: their number and the type that the assembler wants them to have.
struct FragmentRegisters {
  int count = 0;
  Type type = Type::none;
};
FragmentRegisters registers_of(const MatrixRow& row, layout::Matrix matrix, Type type);

// Who holds the metadata of a sparse row (layout/sparse.h).
layout::Fragment metadata_of(const MatrixRow& row);

// The forms of the row, made of it as src/isa/forms/README.md would write them: one, or two of wgmma, whose A
// lies in shared memory or in registers. What is wrong with the row goes to `errors`. form_of() is the first
// of them, as the tables have it.
std::vector<Form> matrix_forms(const MatrixRow& row, std::vector<std::string>& errors);
constexpr int forms_of_row(const MatrixRow& row) {
  return row.opcode == Opcode::wgmma_mma_async ? 2 : 1;
}
const Form& form_of(const MatrixRow& row);
std::string syntax_of(const MatrixRow& row); // of form_of(), for people

// Every spelling of the row, modifiers and state spaces included, in the ISA's order:
// "mma.sync.aligned.m16n8k16...".
std::vector<std::string> spellings_of(const MatrixRow& row);

// 2 * M * N * K of one instruction, four matrices for m8n8k4. Of sparse forms too, as is usual: half of the
// products are none.
uint64_t flops_of(const MatrixRow& row);

} // namespace lemma::isa
