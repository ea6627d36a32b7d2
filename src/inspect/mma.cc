// lemma::mma(): the row of the catalogue says types and shape, src/numeric how the sum is made.
//
// A sparse A comes dense, of K columns, and must have the zeros that it should; or as stored, of half the
// columns, with its metadata: m x chunks fields of four bits.
#include "lemma/mma.h"

#include "inspect/availability.h"
#include "inspect/elements.h"
#include "inspect/matrix_model.h"
#include "inspect/matrix_name.h"
#include "isa/machine.h"
#include "layout/sparse.h"
#include "lemma/nearest.h"
#include "numeric/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lemma {
namespace inspect {
namespace {

using isa::Qual;
using isa::Type;
using layout::Matrix;
using numeric::FloatFormat;

struct SparseA {
  BitMatrix stored;           // M x K/2
  std::vector<uint8_t> index; // the column of each
};

// The columns of a chunk's stored elements as its four bits say; empty where they may not be so.
std::vector<uint8_t> columns_of(uint64_t field, layout::SparseChunk chunk) {
  const uint8_t first = field & 3, second = field >> 2 & 3;
  if (chunk.columns == 2)
    return field == 0b0100   ? std::vector<uint8_t>{0}
           : field == 0b1110 ? std::vector<uint8_t>{1}
                             : std::vector<uint8_t>{};
  if (first == second || field > 15)
    return {};
  if (chunk.columns == 4)
    return {first, second};
  const auto pair = [](int index) { return static_cast<uint8_t>(2 * index); };
  return {pair(first), static_cast<uint8_t>(2 * first + 1), pair(second),
          static_cast<uint8_t>(2 * second + 1)};
}

// Every set of columns that four bits can name with rising indices: the first that has all that is not zero.
Result<SparseA, std::string> compressed(const BitMatrix& dense, Type type, layout::SparseChunk chunk) {
  SparseA out;
  out.stored = {.rows = dense.rows, .cols = dense.cols / 2, .bits = {}};
  const auto width = static_cast<uint64_t>(chunk.columns);
  for (uint64_t row = 0; row < dense.rows; ++row)
    for (uint64_t first = 0; first < dense.cols; first += width) {
      std::vector<uint8_t> columns;
      for (uint64_t field = 0; field < 16 && columns.empty(); ++field) {
        std::vector<uint8_t> candidate = columns_of(field, chunk);
        const bool rises = chunk.columns == 2 || (field & 3) < (field >> 2);
        if (candidate.empty() || !rises)
          continue;
        bool all = true;
        for (uint8_t col = 0; col < width; ++col)
          all = all && (is_zero(type, dense.at(row, first + col)) ||
                        std::find(candidate.begin(), candidate.end(), col) != candidate.end());
        if (all)
          columns = std::move(candidate);
      }
      if (columns.empty())
        return fail(fmt::format("row {}, columns {} to {}: too many are not zero; legal: {} of {}{}", row,
                                first, first + width - 1, chunk.stored, chunk.columns,
                                chunk.columns == 8 ? ", in pairs" : ""));
      for (const uint8_t col : columns) {
        out.stored.bits.push_back(dense.at(row, first + col));
        out.index.push_back(static_cast<uint8_t>(first + col));
      }
    }
  return out;
}

Result<SparseA, std::string> with_metadata(BitMatrix stored, const BitMatrix& fields,
                                           layout::SparseChunk chunk) {
  SparseA out{.stored = std::move(stored), .index = {}};
  for (uint64_t row = 0; row < fields.rows; ++row)
    for (uint64_t c = 0; c < fields.cols; ++c) {
      const std::vector<uint8_t> columns = columns_of(fields.at(row, c), chunk);
      if (columns.empty())
        return fail(fmt::format("row {}, chunk {}: {:#06b} names no {} different columns of {}", row, c,
                                fields.at(row, c), chunk.stored, chunk.columns));
      for (const uint8_t col : columns)
        out.index.push_back(static_cast<uint8_t>(c * static_cast<uint64_t>(chunk.columns) + col));
    }
  return out;
}

// --- whose arithmetic

// sm_90, or the first machine that has the instruction.
numeric::Arch usual_arch(const MatrixName& name) {
  if (!model_of(name, numeric::Arch::sm_90))
    for (const numeric::Arch arch : numeric::kArchs)
      if (model_of(name, arch))
        return arch;
  return numeric::Arch::sm_90;
}

Unexpected<Error> not_there(const MatrixName& name, std::string_view arch) {
  std::string there;
  for (const numeric::Arch machine : numeric::kArchs)
    if (model_of(name, machine))
      there += fmt::format("{}{}", there.empty() ? "" : ", ", numeric::to_string(machine));
  Unexpected<Error> error = wrong(fmt::format("{} has no {}\n  machines whose arithmetic of it is known: {}",
                                              arch, name.spelling, there.empty() ? "none" : there));
  error.error.kind = ErrorKind::unsupported;
  return error;
}

struct Arithmetic {
  numeric::Arch arch{};
  numeric::DotModel model;
};

Result<Arithmetic, Error> arithmetic_of(const MatrixName& name, std::string_view word) {
  if (name.row->numeric == isa::Numeric::none)
    return wrong(fmt::format("{} moves data; it multiplies nothing", name.spelling));
  const auto target = isa::parse_target(word);
  const auto arch = word.empty()                           ? std::optional(usual_arch(name))
                    : target && isa::target_since(*target) ? isa::arithmetic_of(target->sm)
                                                           : std::nullopt;
  if (!arch)
    return wrong(fmt::format("arch {}: no machine with tensor cores{}; such as sm_80, sm_90, sm_120", word,
                             did_you_mean(word, isa::target_words())));
  const auto model = model_of(name, *arch);
  if (!model || (target && !is_in(name, *target)))
    return not_there(name, target ? word : numeric::to_string(*arch));
  return Arithmetic{*arch, *model};
}

// --- the product

// Types of the matrices.
struct Types {
  Type a = Type::none, b = Type::none, c = Type::none, d = Type::none;
};

Types types_of(const MatrixName& name) {
  const auto type = [&](Matrix matrix) { return isa::type_of(name.exact, matrix, name.types); };
  const Type d = type(Matrix::d);
  return {.a = type(Matrix::a),
          .b = type(Matrix::b),
          .c = name.exact.fragments == isa::FragmentRule::wgmma ? d : type(Matrix::c),
          .d = d};
}

layout::SparseChunk chunk_of(const MatrixName& name) {
  return layout::sparse_chunk(isa::container_bits(name.exact, Matrix::a, types_of(name).a));
}

MmaOperand operand(Type type, int rows, int cols) {
  return {.type = std::string(isa::to_string(type)),
          .rows = static_cast<uint64_t>(rows),
          .cols = static_cast<uint64_t>(cols)};
}

MmaForm form_for(const MatrixName& name, const Arithmetic& arithmetic) {
  const isa::MatrixRow& row = name.exact;
  const auto [m, n, k] = row.shape;
  const Types types = types_of(name);
  MmaForm form{.spelling = name.spelling,
               .arch = std::string(numeric::to_string(arithmetic.arch)),
               .rule = describe(arithmetic.model, row.shape.k),
               .evidence = std::string(numeric::to_string(arithmetic.model.evidence)),
               .a = operand(types.a, m, k),
               .b = operand(types.b, k, n),
               .c = operand(types.c, m, n),
               .d = operand(types.d, m, n),
               .sparse = row.sparse != Qual::none,
               .stored_a = {},
               .metadata = {},
               .scaled = isa::scales_of(row) != 0,
               .scale_a = {},
               .scale_b = {}};
  if (form.sparse) {
    form.stored_a = operand(types.a, m, k / 2);
    form.metadata = operand(Type::u4, m, k / chunk_of(name).columns);
  }
  if (form.scaled) {
    form.scale_a = operand(row.scale, m, isa::scales_of(row));
    form.scale_b = operand(row.scale, isa::scales_of(row), n);
  }
  return form;
}

// What is wrong with an operand's size; empty: nothing.
std::string wrong_size(const char* name, const MmaOperand& wanted, const BitMatrix& given) {
  if (given.rows == wanted.rows && given.cols == wanted.cols && given.bits.size() == given.rows * given.cols)
    return "";
  return fmt::format("{} is {} x {}; the instruction wants {} x {}", name, given.rows, given.cols,
                     wanted.rows, wanted.cols);
}

Unexpected<MmaError> wrong_in(std::string operand_name, std::string text) {
  return Unexpected<MmaError>{{.error = wrong(std::move(text)).error, .operand = std::move(operand_name)}};
}

std::optional<Unexpected<MmaError>> check_sizes(const MmaForm& form, const MmaOperands& operands) {
  if (form.scaled != (operands.scale_a && operands.scale_b) ||
      (!form.scaled && (operands.scale_a || operands.scale_b)))
    return wrong_in("", form.scaled ? fmt::format("{} needs the scales of a and b", form.spelling)
                                    : fmt::format("{} has no scales", form.spelling));
  if (operands.metadata && !form.sparse)
    return wrong_in("metadata", fmt::format("{} has a dense A", form.spelling));
  const std::pair<const char*, std::pair<const MmaOperand*, const BitMatrix*>> all[] = {
      {"a", {operands.metadata ? &form.stored_a : &form.a, &operands.a}},
      {"b", {&form.b, &operands.b}},
      {"c", {&form.c, operands.c ? &*operands.c : nullptr}},
      {"metadata", {&form.metadata, operands.metadata ? &*operands.metadata : nullptr}},
      {"scale-a", {&form.scale_a, operands.scale_a ? &*operands.scale_a : nullptr}},
      {"scale-b", {&form.scale_b, operands.scale_b ? &*operands.scale_b : nullptr}}};
  for (const auto& [name, pair] : all)
    if (pair.second)
      if (std::string problem = wrong_size(name, *pair.first, *pair.second); !problem.empty())
        return wrong_in(name, std::move(problem));
  return std::nullopt;
}

Result<SparseA, MmaError> sparse_a(const MatrixName& name, const MmaOperands& operands) {
  const layout::SparseChunk chunk = chunk_of(name);
  auto a = operands.metadata ? with_metadata(operands.a, *operands.metadata, chunk)
                             : compressed(operands.a, types_of(name).a, chunk);
  if (!a)
    return wrong_in(operands.metadata ? "metadata" : "a", std::move(a).error());
  return *std::move(a);
}

Result<BitMatrix, MmaError> multiply(const MatrixName& name, const numeric::DotModel& model,
                                     const MmaOperands& operands) {
  const isa::MatrixRow& row = name.exact;
  const Types types = types_of(name);
  const bool sparse = row.sparse != Qual::none;
  SparseA a;
  if (sparse) {
    auto made = sparse_a(name, operands);
    if (!made)
      return Unexpected<MmaError>{std::move(made).error()};
    a = *std::move(made);
  }
  const std::vector<std::byte> a_bytes = packed(sparse ? a.stored : operands.a, types.a, false),
                               b_bytes = packed(operands.b, types.b, true),
                               c_bytes = operands.c ? packed(*operands.c, types.c, false)
                                                    : std::vector<std::byte>();
  // With C in f32 and D in f16 the product is made in f32 and then rounded.
  const bool narrow = types.c == Type::f32 && types.d == Type::f16;
  const Type made = narrow ? Type::f32 : types.d;
  const uint64_t size = static_cast<uint64_t>(isa::bits_of(made)) / 8;
  const auto m = static_cast<uint64_t>(row.shape.m), n = static_cast<uint64_t>(row.shape.n);
  std::vector<std::byte> d_bytes(m * n * size);
  numeric::DotTile tile;
  tile.a = a_bytes.data();
  tile.b = b_bytes.data();
  tile.c = c_bytes.empty() ? nullptr : c_bytes.data();
  tile.d = d_bytes.data();
  if (sparse)
    tile.a_index = a.index.data();
  std::vector<std::byte> scales_a, scales_b;
  if (operands.scale_a) {
    scales_a = packed(*operands.scale_a, row.scale, false);
    scales_b = packed(*operands.scale_b, row.scale, true);
    tile.scale_a = reinterpret_cast<const uint8_t*>(scales_a.data());
    tile.scale_b = reinterpret_cast<const uint8_t*>(scales_b.data());
  }
  const numeric::DotPlan plan(
      model, {.m = row.shape.m, .n = row.shape.n, .k = products_of(row), .k_b = row.shape.k});
  numeric::DotScratch scratch;
  numeric::dot(plan, tile, scratch);
  BitMatrix d{.rows = m, .cols = n, .bits = std::vector<uint64_t>(m * n)};
  for (uint64_t i = 0; i < m * n; ++i) {
    std::memcpy(&d.bits[i], d_bytes.data() + i * size, size);
    if (narrow)
      d.bits[i] = numeric::convert_float(FloatFormat::f16, FloatFormat::f32, d.bits[i]);
  }
  return d;
}

} // namespace
} // namespace inspect

Result<MmaForm, Error> mma_form(std::string_view spelling, std::string_view arch) {
  const auto name = inspect::find_matrix(spelling);
  if (!name)
    return inspect::wrong(name.error());
  const auto arithmetic = inspect::arithmetic_of(*name, arch);
  if (!arithmetic)
    return Unexpected<Error>{arithmetic.error()};
  return inspect::form_for(*name, *arithmetic);
}

Result<BitMatrix, MmaError> mma(const MmaForm& form, const MmaOperands& operands) {
  const auto name = inspect::find_matrix(form.spelling);
  if (!name)
    return inspect::wrong_in("", name.error());
  for (const numeric::Arch arch : numeric::kArchs)
    if (const auto model = inspect::model_of(*name, arch); model && numeric::to_string(arch) == form.arch) {
      if (auto problem = inspect::check_sizes(inspect::form_for(*name, {arch, *model}), operands))
        return *std::move(problem);
      return inspect::multiply(*name, *model, operands);
    }
  return Unexpected<MmaError>{{.error = inspect::not_there(*name, form.arch).error}};
}

} // namespace lemma
