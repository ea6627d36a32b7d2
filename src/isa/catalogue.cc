// The rows, and what their readers ask of them.
#include "isa/catalogue.h"

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

constexpr MatrixRow kRows[] = {
#define ROW(...) MatrixRow{__VA_ARGS__},
#include "isa/rows/m8n8.inc"
#include "isa/rows/mma.inc"
#include "isa/rows/mma_sp.inc"
#include "isa/rows/wgmma.inc"
#include "isa/rows/wgmma_sp.inc"
#include "isa/rows/wmma.inc"
#undef ROW
};

const TypeSet& types_of(const MatrixTypes& types, Matrix matrix) {
  switch (matrix) {
  case Matrix::a:
    return types.a;
  case Matrix::b:
    return types.b;
  case Matrix::c:
    return types.c;
  default:
    return types.d;
  }
}

// 'd' of "dabc"; 'm' is the matrix that moves.
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

char letter_of(Matrix matrix) {
  return "abcd"[static_cast<int>(matrix)];
}

std::string shape_word(const MatrixRow& row) {
  const auto [m, n, k] = row.shape;
  return k == 0 ? fmt::format("m{}n{}", m, n) : fmt::format("m{}n{}k{}", m, n, k);
}

bool has(std::span<const Qual> quals, Qual qual) {
  return std::find(quals.begin(), quals.end(), qual) != quals.end();
}

// The head's types: ".f32" where there is one, else the class's name.
std::string type_words(const MatrixRow& row) {
  std::string words;
  for (const char letter : row.spelled) {
    const TypeSet set = letter == 's' ? TypeSet(row.scale) : types_of(row.types, matrix_of(row, letter));
    if (set.count == 1)
      words += fmt::format(".{}", to_string(set.first()));
    else
      words += row.spelled == "m" ? ".type" : fmt::format(".{}type", letter);
  }
  return words;
}

// "f32[8]": the registers of a fragment as an operand.
std::string operand_type(const MatrixRow& row, Matrix matrix) {
  const auto [count, type] = registers_of(row, matrix, types_of(row.types, matrix).first());
  return type == Type::f64 ? fmt::format("bits(f64)[{}]", count)
                           : fmt::format("{}[{}]", to_string(type), count);
}

// ".xor.popc"
std::string bit_operation(const MatrixRow& row) {
  return row.op == Qual::none ? "" : fmt::format(".{}.popc", to_string(row.op));
}

// ".kind::mxf4.block_scale{.scale_vec::2X}"
std::string kind_words(const MatrixRow& row) {
  if (row.kind == Qual::none)
    return "";
  std::string words = fmt::format(".{}", to_string(row.kind));
  if (row.scale_vec != Qual::none)
    words += row.kind == Qual::kind_mxf4nvf4 ? fmt::format(".block_scale.{}", to_string(row.scale_vec))
                                             : fmt::format(".block_scale{{.{}}}", to_string(row.scale_vec));
  return words;
}

bool has_kind(const MatrixRow& row, std::span<const Qual> quals) {
  if (row.kind != Qual::none)
    return has(quals, row.kind);
  return !has(quals, Qual::kind_f8f6f4); // the others need types that only rows with a kind have
}

// The scales and their selectors, {byte-id, thread-id}; nothing for a row that has none.
std::string scale_operands(const MatrixRow& row) {
  const int scales = scales_of(row);
  if (scales == 0)
    return "";
  const std::string_view bytes = scales == 1 ? "0 1 2 3" : scales == 2 ? "0 2" : "0";
  const auto last_thread = [&](Matrix matrix) { return scale_fragment_of(row, matrix).threads() - 1; };
  return fmt::format(", scale-a-data:bits(b32)[1]-imm, id-a:b16({0})(0..{1})[2], "
                     "scale-b-data:bits(b32)[1]-imm, id-b:b16({0})(0..{2})[2]",
                     bytes, last_thread(Matrix::a), last_thread(Matrix::b));
}

std::string mma_syntax(const MatrixRow& row) {
  const std::string layouts = row.layouts == Layouts::any ? ".alayout.blayout" : ".row.col";
  const std::string satfinite = row.satfinite ? "{.satfinite}" : "", rnd = row.rounding ? "{.rnd}" : "";
  std::string head;
  if (row.opcode == Opcode::mma)
    head = fmt::format("mma.sync.aligned.{}{}{}{}{}{}{}", shape_word(row), layouts, kind_words(row),
                       satfinite, rnd, type_words(row), bit_operation(row));
  else
    head = fmt::format("wmma.mma{}.sync.aligned{}.{}{}{}{}", bit_operation(row), layouts, shape_word(row),
                       rnd, type_words(row), satfinite);
  return fmt::format("{}  d:{}{}, a:{}, b:{}, c:{}{}", head, operand_type(row, Matrix::d),
                     row.sinks ? "+_" : "-_", operand_type(row, Matrix::a), operand_type(row, Matrix::b),
                     operand_type(row, Matrix::c), scale_operands(row));
}

// The layout word of wmma.load and wmma.store.
std::string_view moved_layout(const MatrixRow& row) {
  if (row.layouts == Layouts::row_col && row.matrix == Matrix::a)
    return "row";
  return row.layouts == Layouts::row_col && row.matrix == Matrix::b ? "col" : "layout";
}

// ldmatrix and stmatrix.
std::string moved_rows_syntax(const MatrixRow& row) {
  const auto [m, n, k] = row.shape;
  const std::string_view trans = m * n == 64 ? "{.trans}" : m == 16 ? ".trans" : "";
  const std::string elements =
      row.packing == Qual::none ? type_words(row) : fmt::format(".b8x16.{}", to_string(row.packing));
  const std::string head = fmt::format("sync.aligned.{}.num{}{{.ss}}{}", shape_word(row), trans, elements);
  if (row.opcode == Opcode::stmatrix)
    return fmt::format("stmatrix.{}  [a], r:bits(b32)[num]-imm", head);
  return fmt::format("ldmatrix.{}  d:bits(b32)[num{}]+_, [a]", head, m * n == 256 ? "*2" : "");
}

std::string sparse_mma_syntax(const MatrixRow& row) {
  return fmt::format("mma.{}.sync.aligned.{}.row.col{}{}{}  d:{}-_, a:{}, b:{}, c:{}, e:b32-imm, "
                     "selector:imm(0..{}){}",
                     to_string(row.sparse), shape_word(row), kind_words(row),
                     row.satfinite ? "{.satfinite}" : "", type_words(row), operand_type(row, Matrix::d),
                     operand_type(row, Matrix::a), operand_type(row, Matrix::b), operand_type(row, Matrix::c),
                     layout::selectors(metadata_of(row)) - 1, scale_operands(row));
}

// The shapes of a wgmma row as the form tables write them.
std::string wgmma_shapes(const MatrixRow& row) {
  const int n = row.shape.n, k = row.shape.k;
  return row.columns == Columns::by_8 ? fmt::format(".m64n(8..{}/8)k{}", n, k)
                                      : fmt::format(".m64n8k{0} .m64n24k{0} .m64n(16..{1}/16)k{0}", k, n);
}

std::string wgmma_syntax(const MatrixRow& row, bool a_in_registers) {
  const auto [count, type] = registers_of(row, Matrix::d, row.types.d.first());
  std::string text =
      fmt::format("wgmma.mma_async{}.sync.aligned.shape{}{}{}  d:{}[shape.n/{}]-_, {}, b-desc:b64-imm, "
                  "{}{{!}}scale-d:pred",
                  row.sparse == Qual::none ? "" : ".sp", row.satfinite ? "{.satfinite}" : "", type_words(row),
                  bit_operation(row), to_string(type), row.shape.n / count,
                  a_in_registers ? "a:b32[4]" : "a-desc:b64-imm",
                  row.sparse == Qual::none ? ""
                                           : fmt::format("sp-meta:b32-imm, sp-sel:imm(0..{}), ",
                                                         layout::selectors(metadata_of(row)) - 1));
  if (row.numeric == Numeric::floating)
    text += ", imm-scale-a:imm(-1..1/2), imm-scale-b:imm(-1..1/2)";
  if (row.transposes && !a_in_registers)
    text += ", imm-trans-a:imm(0..1)";
  if (row.transposes)
    text += ", imm-trans-b:imm(0..1)";
  return text;
}

// Of the row's kind: dense, or with this spelling of a sparse A.
bool has_sparsity(const MatrixRow& row, std::span<const Qual> quals) {
  if (row.sparse != Qual::none)
    return has(quals, row.sparse);
  return !has(quals, Qual::sp) && !has(quals, Qual::sp_ordered_metadata);
}

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

bool has_shape(const MatrixRow& row, std::span<const Qual> quals) {
  return std::any_of(quals.begin(), quals.end(), [&](Qual qual) {
    const auto shape = matrix_shape(to_string(qual));
    return shape && (*shape)[0] == row.shape.m && (*shape)[2] == row.shape.k && has_columns(row, (*shape)[1]);
  });
}

// One word of a head: its alternatives, each with its dot; an absent one is empty.
using Alternatives = std::vector<std::string>;

Alternatives class_values(std::string_view where, std::string_view name) {
  Alternatives values;
  while (!where.empty()) {
    const size_t end = std::min(where.find(';'), where.size());
    std::string_view entry = where.substr(0, end);
    where.remove_prefix(std::min(end + 1, where.size()));
    entry.remove_prefix(std::min(entry.find_first_not_of(' '), entry.size()));
    const size_t equal = entry.find(" =");
    if (entry.substr(0, equal) != name)
      continue;
    for (size_t at = entry.find('.'); at != std::string_view::npos; at = entry.find('.', at + 1))
      values.emplace_back(entry.substr(at, entry.find(' ', at) - at));
  }
  return values;
}

} // namespace

std::span<const MatrixRow> matrix_rows() {
  return kRows;
}

const MatrixRow* find_row(Opcode opcode, std::span<const Qual> quals, std::span<const Type> types) {
  for (const MatrixRow& row : kRows) {
    if (row.opcode != opcode || types.size() != row.spelled.size() ||
        (row.op != Qual::none && !has(quals, row.op)) ||
        (row.packing != Qual::none && !has(quals, row.packing)) || !has_sparsity(row, quals) ||
        !has_kind(row, quals))
      continue;
    if (row.columns != Columns::one) {
      if (!has_shape(row, quals))
        continue;
    } else if (const auto shape = parse_qual(shape_word(row)); !shape || !has(quals, *shape)) {
      continue;
    }
    if (opcode == Opcode::wmma_load || opcode == Opcode::wmma_store) {
      const auto which = parse_qual(std::string_view("abcd").substr(static_cast<size_t>(row.matrix), 1));
      if (!which || !has(quals, *which))
        continue;
    }
    bool fits = true;
    for (size_t i = 0; i < types.size(); ++i)
      fits =
          fits && (row.spelled[i] == 's' ? row.scale == types[i]
                                         : types_of(row.types, matrix_of(row, row.spelled[i])).has(types[i]));
    if (fits)
      return &row;
  }
  return nullptr;
}

Type type_of(const MatrixRow& row, Matrix matrix, std::span<const Type> types) {
  for (size_t i = 0; i < row.spelled.size() && i < types.size(); ++i)
    if (row.spelled[i] != 's' && matrix_of(row, row.spelled[i]) == matrix)
      return types[i];
  return types_of(row.types, matrix).first();
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

std::string syntax_of(const MatrixRow& row) {
  const std::string moved = operand_type(row, row.matrix);
  const char letter = letter_of(row.matrix);
  switch (row.opcode) {
  case Opcode::wmma_load:
    return fmt::format("wmma.load.{}.sync.aligned.{}.{}{{.ss}}{}  d:{}{}, [a]{{, stride:u32}}", letter,
                       moved_layout(row), shape_word(row), type_words(row), moved, row.sinks ? "+_" : "");
  case Opcode::wmma_store:
    return fmt::format("wmma.store.{}.sync.aligned.{}.{}{{.ss}}{}  [a], r:{}{{, stride:u32}}", letter,
                       moved_layout(row), shape_word(row), type_words(row), moved);
  case Opcode::ldmatrix:
  case Opcode::stmatrix:
    return moved_rows_syntax(row);
  case Opcode::movmatrix:
    return "movmatrix.sync.aligned.m8n8.trans.b16  d:bits(b32), a:bits(b32)-imm";
  case Opcode::wgmma_mma_async:
    return wgmma_syntax(row, false);
  default:
    return row.sparse != Qual::none ? sparse_mma_syntax(row) : mma_syntax(row);
  }
}

std::string syntax_with_a_in_registers(const MatrixRow& row) {
  return wgmma_syntax(row, true);
}

std::string where_of(const MatrixRow& row) {
  std::string where;
  const auto add = [&](std::string_view entry) {
    where += where.empty() ? "" : "; ";
    where += entry;
  };
  switch (row.opcode) {
  case Opcode::wmma_load:
  case Opcode::wmma_store:
    if (moved_layout(row) == "layout")
      add("layout = .row .col");
    add("ss = .global .shared .shared::cta");
    break;
  case Opcode::ldmatrix:
  case Opcode::stmatrix:
    add(row.shape.m * row.shape.n == 256 ? "num = .x1 .x2" : "num = .x1 .x2 .x4");
    add("ss = .shared .shared::cta");
    break;
  case Opcode::wgmma_mma_async:
    add("shape = " + wgmma_shapes(row));
    break;
  default:
    if (row.layouts == Layouts::any)
      add("alayout = .row .col; blayout = .row .col");
  }
  if (row.rounding)
    add("rnd = .rn .rz .rm .rp");
  for (const char letter : row.spelled) {
    const TypeSet& set = types_of(row.types, matrix_of(row, letter));
    if (letter == 's' || set.count == 1)
      continue;
    std::string entry = row.spelled == "m" ? "type =" : fmt::format("{}type =", letter);
    for (const Type type : set)
      entry += fmt::format(" .{}", to_string(type));
    add(entry);
  }
  return where;
}

std::vector<FormRow> matrix_form_rows() {
  std::vector<FormRow> rows;
  for (const MatrixRow& row : kRows) {
    FormRow form;
    form.syntax = syntax_of(row);
    form.where = where_of(row);
    form.targets = row.targets;
    form.section = row.spec;
    form.major = row.since.major;
    form.minor = row.since.minor;
    rows.push_back(form);
    if (row.opcode == Opcode::wgmma_mma_async) {
      form.syntax = syntax_with_a_in_registers(row);
      rows.push_back(std::move(form));
    }
  }
  return rows;
}

std::vector<std::string> spellings_of(const MatrixRow& row) {
  const std::string syntax = syntax_of(row), where = where_of(row);
  const std::string_view head = std::string_view(syntax).substr(0, syntax.find(' '));
  std::vector<std::string> spellings(1);
  for (size_t at = 0; at < head.size();) {
    const bool optional = head[at] == '{';
    at += optional;
    const size_t end = std::min(head.find_first_of(".{}", at + 1), head.size());
    const std::string_view word = head.substr(at, end - at);
    Alternatives values;
    if (word == ".shape")
      for (int n = 8; n <= row.shape.n; n += 8) {
        if (has_columns(row, n))
          values.push_back(fmt::format(".m{}n{}k{}", row.shape.m, n, row.shape.k));
      }
    else
      values = class_values(where, word.substr(word.front() == '.'));
    if (values.empty())
      values.emplace_back(word);
    if (optional)
      values.insert(values.begin(), "");
    at = end + optional;
    std::vector<std::string> longer;
    for (const std::string& spelling : spellings)
      for (const std::string& value : values)
        longer.push_back(spelling + value);
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
