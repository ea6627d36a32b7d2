// The rows, and what their readers ask of them.
#include "isa/catalogue.h"

#include "isa/form.h"
#include "isa/row.h"
#include "layout/sparse.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::isa {
namespace {

using layout::Fragment;
using layout::Matrix;

constexpr TypeSet operator|(TypeSet set, Type type) {
  set.types[static_cast<size_t>(set.count++)] = type;
  return set;
}

constexpr std::string_view SPEC_MMA = "warp-level-matrix-instructions-mma";
constexpr std::string_view SPEC_MMA_SP = "warp-level-matrix-instructions-for-sparse-mma";
constexpr std::string_view SPEC_WMMA_LOAD = "warp-level-matrix-instructions-wmma-ld";
constexpr std::string_view SPEC_WMMA_STORE = "warp-level-matrix-instructions-wmma-st";
constexpr std::string_view SPEC_WMMA_MMA = "warp-level-matrix-instructions-wmma-mma";

constexpr std::string_view SPEC_WGMMA_SP =
    "asynchronous-warpgroup-level-matrix-instructions-wgmma-mma-async-sp";
constexpr std::string_view SPEC_WGMMA = "asynchronous-warpgroup-level-matrix-instructions-wgmma-mma-async";

constexpr TypeSet f16 = Type::f16, bf16 = Type::bf16, tf32 = Type::tf32, f32 = Type::f32, f64 = Type::f64,
                  s32 = Type::s32, b16 = Type::b16, b8 = Type::b8, b1 = Type::b1, s4 = Type::s4,
                  u4 = Type::u4;
constexpr TypeSet s8 = Type::s8, e4m3 = Type::e4m3;
constexpr Type u8 = Type::u8, e5m2 = Type::e5m2;
constexpr TypeSet fp8 = e4m3 | e5m2, fp6_or_fp4 = TypeSet(Type::e3m2) | Type::e2m3 | Type::e2m1,
                  f8f6f4 = fp8 | Type::e3m2 | Type::e2m3 | Type::e2m1, e2m1 = Type::e2m1;

// What ROW(...) and BLOCK(...) state beside since(), target() and see() (row.h): a field of MatrixRow each.
namespace parts {
template <auto kField, class T>
struct Part {
  T value;
  constexpr void put(MatrixRow& row) const { row.*kField = value; }
};
#define PART(field)                                                                                          \
  constexpr auto field(decltype(MatrixRow::field) value) {                                                   \
    return Part<&MatrixRow::field, decltype(value)>{value};                                                  \
  }
PART(opcode)
PART(matrix)
PART(sparse)
PART(columns)
PART(spelled)
PART(layouts)
PART(fragments)
PART(numeric)
PART(step_k)
PART(packing)
PART(op)
PART(kind)
PART(scale_vec)
PART(scale)
PART(satfinite)
PART(rounding)
PART(transposes)
PART(sinks)
PART(checked)
#undef PART
constexpr auto shape(int m, int n, int k) {
  return Part<&MatrixRow::shape, layout::Shape>{{m, n, k}};
}
constexpr auto types(MatrixTypes types) {
  return Part<&MatrixRow::types, MatrixTypes>{types};
}
constexpr auto types(TypeSet d, TypeSet a, TypeSet b, TypeSet c = {}) {
  return types(MatrixTypes{d, a, b, c});
}
} // namespace parts

constexpr size_t kRowCount = 0
#define OPCODE(...)
#define BLOCK(...)
#define ROW(...) +1
#include "isa/rows/all.inc"
#undef ROW
#undef BLOCK
#undef OPCODE
    ;

// BLOCK(...) says what the rows after it have in common, until the next.
constexpr std::array<MatrixRow, kRowCount> kRows = [] {
  using namespace parts;
  std::array<MatrixRow, kRowCount> rows;
  MatrixRow block;
  size_t next = 0;
#define OPCODE(...)
#define BLOCK(...) block = row_like(MatrixRow{}, __VA_ARGS__);
#define ROW(...) rows[next++] = row_like(block, __VA_ARGS__);
#include "isa/rows/all.inc"
#undef ROW
#undef BLOCK
#undef OPCODE
  return rows;
}();

bool has_columns(const MatrixRow& row, int n) {
  switch (row.columns) {
  case Columns::by_8:
    return n >= 8 && n <= row.shape.n && n % 8 == 0;
  case Columns::by_16:
    return n == 8 || n == 24 || (n >= 16 && n <= row.shape.n && n % 16 == 0);
  default:
    return n == row.shape.n;
  }
}

} // namespace

std::span<const MatrixRow> matrix_rows() {
  return kRows;
}

const TypeSet& types_of(const MatrixRow& row, Matrix matrix) {
  switch (matrix) {
  case Matrix::a:
    return row.types.a;
  case Matrix::b:
    return row.types.b;
  case Matrix::c:
    return row.types.c;
  default:
    return row.types.d;
  }
}

Matrix matrix_of(const MatrixRow& row, char letter) {
  switch (letter) {
  case 'a':
    return Matrix::a;
  case 'b':
    return Matrix::b;
  case 'c':
    return Matrix::c;
  case 'd':
    return Matrix::d;
  default:
    return row.matrix;
  }
}

std::vector<int> columns_of(const MatrixRow& row) {
  std::vector<int> columns;
  for (int n = row.columns == Columns::one ? row.shape.n : 8; n <= row.shape.n; n += 8)
    if (has_columns(row, n))
      columns.push_back(n);
  if (row.columns == Columns::by_16) // 24 stands with 8, before those in steps of 16
    std::rotate(columns.begin() + 1, columns.begin() + 2, columns.begin() + 3);
  return columns;
}

Type type_of(const MatrixRow& row, Matrix matrix, std::span<const Type> types) {
  for (size_t i = 0; i < row.spelled.size() && i < types.size(); ++i)
    if (row.spelled[i] != 's' && matrix_of(row, row.spelled[i]) == matrix)
      return types[i];
  return types_of(row, matrix).first();
}

// The first and the second of the two that it says.
layout::MajorOrder order_of(const Binding& binding, Matrix matrix) {
  int to_skip = matrix == Matrix::b ? 1 : 0;
  for (const Qual qual : binding.quals)
    if ((qual == Qual::row || qual == Qual::col) && to_skip-- == 0)
      return qual == Qual::row ? layout::MajorOrder::row : layout::MajorOrder::col;
  return layout::MajorOrder::row;
}

Fragment fragment_of(const MatrixRow& row, Matrix matrix, Type type, layout::MajorOrder order) {
  const int bits = container_bits(row, matrix, type);
  layout::Shape shape = row.shape;
  if (row.sparse != Qual::none && matrix == Matrix::a)
    shape.k /= 2;
  switch (row.fragments) {
  case FragmentRule::mma:
    return layout::mma_fragment(matrix, shape, bits);
  case FragmentRule::mma_m8n8k4:
    if (matrix == Matrix::a)
      return layout::m8n8k4_a(order);
    return matrix == Matrix::b ? layout::m8n8k4_b(order) : layout::m8n8k4_c(bits);
  case FragmentRule::wmma: {
    const Fragment fragment = layout::wmma_fragment(matrix, row.shape, bits);
    const bool eight = type == Type::f16 && (matrix == Matrix::a || matrix == Matrix::b);
    return eight ? layout::repeated(fragment, layout::kWmmaF16Registers) : fragment;
  }
  case FragmentRule::wgmma:
    return layout::wgmma_fragment(matrix, shape, bits);
  case FragmentRule::m8n8:
    break;
  }
  const Fragment fragment = memory_fragment(row, 1, false);
  return fragment.rows == row.shape.m ? fragment : layout::transposed(fragment);
}

Fragment memory_fragment(const MatrixRow& row, int num, bool trans) {
  if (row.shape.n == 16)
    return row.shape.m == 8 ? layout::m8n16_b8(num) : layout::m16n16_b8(num);
  return row.shape.m == 16 ? layout::m16n8_b8(num) : layout::m8n8_b16(num, trans);
}

int container_bits(const MatrixRow& row, Matrix matrix, Type type) {
  const bool multiplicand = matrix == Matrix::a || matrix == Matrix::b;
  const bool containers = row.kind == Qual::kind_f8f6f4 || row.kind == Qual::kind_mxf8f6f4;
  return multiplicand && containers ? 8 : bits_of(type);
}

int scales_of(const MatrixRow& row) {
  switch (row.scale_vec) {
  case Qual::scale_vec_1X:
    return 1;
  case Qual::scale_vec_2X:
    return 2;
  case Qual::scale_vec_4X:
    return 4;
  default:
    return 0;
  }
}

layout::ScaleFragment scale_fragment_of(const MatrixRow& row, Matrix matrix) {
  return layout::scale_fragment(matrix, row.shape, scales_of(row));
}

FragmentRegisters registers_of(const MatrixRow& row, Matrix matrix, Type type) {
  FragmentRegisters out{fragment_of(row, matrix, type).registers(), type};
  const bool multiplicand = matrix == Matrix::a || matrix == Matrix::b;
  if ((row.fragments == FragmentRule::wgmma && matrix == Matrix::a) ||
      (row.sparse != Qual::none && multiplicand)) {
    out.type = Type::b32;
    return out;
  }
  switch (type) {
  case Type::f16:
    out.type = Type::f16x2;
    break;
  case Type::bf16:
    out.type = Type::bf16x2;
    break;
  case Type::s8:
  case Type::u8:
    out.type = Type::s32;
    break;
  case Type::b16:
  case Type::b8:
  case Type::s4:
  case Type::u4:
  case Type::b1:
  case Type::e4m3:
  case Type::e5m2:
  case Type::e3m2:
  case Type::e2m3:
  case Type::e2m1:
    out.type = Type::b32;
    break;
  default:
    break;
  }
  return out;
}

layout::Fragment metadata_of(const MatrixRow& row) {
  return layout::metadata_fragment(row.shape.m, row.shape.k,
                                   container_bits(row, Matrix::a, row.types.a.first()));
}

const Form& form_of(const MatrixRow& row) {
  const auto forms = forms_of(row.opcode);
  return **std::find_if(forms.begin(), forms.end(), [&](const Form* form) { return form->matrix == &row; });
}

std::vector<std::string> spellings_of(const MatrixRow& row) {
  std::vector<std::string> spellings = {std::string(to_string(row.opcode))};
  for (const Slot& slot : form_of(row).slots) {
    std::vector<std::string_view> words;
    if (slot.optional)
      words.emplace_back();
    for (const Qual qual : slot.quals)
      words.push_back(to_string(qual));
    if (slot.name == "shape") // by rising N
      std::ranges::sort(words, {}, [](std::string_view word) { return (*matrix_shape(word))[1]; });
    for (const Type type : slot.types)
      words.push_back(to_string(type));
    std::vector<std::string> longer;
    for (const std::string& spelling : spellings)
      for (const std::string_view word : words)
        longer.push_back(word.empty() ? spelling : fmt::format("{}.{}", spelling, word));
    spellings = std::move(longer);
  }
  return spellings;
}

uint64_t flops_of(const MatrixRow& row) {
  const uint64_t matrices = row.fragments == FragmentRule::mma_m8n8k4 ? 4 : 1;
  return 2 * matrices * static_cast<uint64_t>(row.shape.m) * static_cast<uint64_t>(row.shape.n) *
         static_cast<uint64_t>(row.shape.k);
}

} // namespace lemma::isa
