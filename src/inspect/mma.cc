// lemma::mma(): the row of the catalogue, or the instruction descriptor of a tcgen05.mma, says types and
// shape, src/numeric how the sum is made.
//
// A sparse A comes dense, of K columns, and must have the zeros that it should; or as stored, of half the
// columns, with its metadata: m x chunks fields of four bits.
#include "lemma/mma.h"

#include "inspect/availability.h"
#include "inspect/elements.h"
#include "inspect/matrix_model.h"
#include "inspect/matrix_name.h"
#include "inspect/tensor_name.h"
#include "isa/machine.h"
#include "layout/sparse.h"
#include "layout/tensor_operands.h"
#include "lemma/nearest.h"
#include "numeric/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

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

// --- which product

// Types of the matrices.
struct Types {
  Type a = Type::none, b = Type::none, c = Type::none, d = Type::none;
};

// An instruction as numbers, wherever they are stated.
struct Product {
  std::string spelling;
  layout::Shape shape;
  Types types;
  bool computes = true;
  bool sparse = false;
  layout::SparseChunk chunk; // of a sparse A
  int scales = 0;            // of a row; 0: it is not block scaled
  Type scale = Type::none;
  // None: the machine has no such instruction.
  std::function<std::optional<numeric::DotModel>(numeric::Arch)> model_of;
  std::function<bool(isa::Target)> is_in;

  int products() const { return sparse ? shape.k / 2 : shape.k; } // of an output
};

Product product_of(const MatrixName& name) {
  const isa::MatrixRow& row = name.exact;
  const auto type = [&](Matrix matrix) { return isa::type_of(row, matrix, name.types); };
  Product product{.spelling = name.spelling,
                  .shape = row.shape,
                  .types = {},
                  .computes = row.numeric != isa::Numeric::none,
                  .sparse = row.sparse != Qual::none,
                  .chunk = {},
                  .scales = isa::scales_of(row),
                  .scale = row.scale,
                  .model_of = [name](numeric::Arch arch) { return model_of(name, arch); },
                  .is_in = [name](isa::Target target) { return is_in(name, target); }};
  if (!product.computes)
    return product;
  product.types = {.a = type(Matrix::a),
                   .b = type(Matrix::b),
                   .c = row.fragments == isa::FragmentRule::wgmma ? type(Matrix::d) : type(Matrix::c),
                   .d = type(Matrix::d)};
  product.chunk = layout::sparse_chunk(isa::container_bits(row, Matrix::a, product.types.a));
  return product;
}

Product product_of(const TensorName& name) {
  const layout::TensorInstructionDescriptor& d = name.descriptor;
  const auto type = [](auto format) { return isa::parse_type(layout::to_string(format)).value(); };
  return {.spelling = spelling_of(name),
          .shape = {static_cast<int>(d.m), static_cast<int>(d.n), static_cast<int>(d.k())},
          .types = {.a = type(d.a), .b = type(d.b), .c = type(d.d), .d = type(d.d)},
          .computes = true,
          .sparse = d.sparse,
          .chunk = layout::sparse_chunk(static_cast<int>(layout::a_element_bits(d.kind, d.a))),
          .scales = static_cast<int>(name.scales()),
          .scale = type(d.scale),
          .model_of = [name](numeric::Arch arch) { return model_of(name, arch); },
          .is_in = [name](isa::Target target) { return is_in(name, target); }};
}

Result<Product, std::string> find_product(std::string_view name) {
  if (find_tensor_move(name)) {
    Product product;
    product.spelling = name;
    product.computes = false;
    return product;
  }
  if (name.starts_with(kTensorPrefix)) {
    const auto found = find_tensor(name);
    return found ? Result<Product, std::string>(product_of(*found)) : fail(found.error());
  }
  const auto found = find_matrix(name);
  return found ? Result<Product, std::string>(product_of(*found)) : fail(found.error());
}

// --- whose arithmetic

// sm_90, or the first machine that has the instruction.
numeric::Arch usual_arch(const Product& product) {
  if (!product.model_of(numeric::Arch::sm_90))
    for (const numeric::Arch arch : numeric::kArchs)
      if (product.model_of(arch))
        return arch;
  return numeric::Arch::sm_90;
}

Unexpected<Error> not_there(const Product& product, std::string_view arch) {
  std::string there;
  for (const isa::Machine& machine : isa::modelled_machines()) // of which several may have one arithmetic
    if (machine.arithmetic && product.is_in({.sm = machine.sm}) && product.model_of(*machine.arithmetic))
      there += fmt::format("{}sm_{}", there.empty() ? "" : ", ", machine.sm);
  Unexpected<Error> error = wrong(fmt::format("{} has no {}\n  machines whose arithmetic of it is known: {}",
                                              arch, product.spelling, there.empty() ? "none" : there));
  error.error.kind = ErrorKind::unsupported;
  return error;
}

struct Arithmetic {
  numeric::Arch arch{};
  numeric::DotModel model;
};

Result<Arithmetic, Error> arithmetic_of(const Product& product, std::string_view word) {
  if (!product.computes)
    return wrong(fmt::format("{} moves data; it multiplies nothing", product.spelling));
  const auto target = isa::parse_target(word);
  const auto arch = word.empty()                           ? std::optional(usual_arch(product))
                    : target && isa::target_since(*target) ? isa::arithmetic_of(target->sm)
                                                           : std::nullopt;
  if (!arch)
    return wrong(fmt::format("arch {}: no machine with tensor cores{}; such as sm_80, sm_90, sm_120", word,
                             did_you_mean(word, isa::target_words())));
  const auto model = product.model_of(*arch);
  if (!model || (target && !product.is_in(*target)))
    return not_there(product, target ? word : numeric::to_string(*arch));
  return Arithmetic{*arch, *model};
}

// --- the product

MmaOperand operand(Type type, int rows, int cols) {
  return {.type = std::string(isa::to_string(type)),
          .rows = static_cast<uint64_t>(rows),
          .cols = static_cast<uint64_t>(cols)};
}

MmaForm form_for(const Product& product, const Arithmetic& arithmetic) {
  const auto [m, n, k] = product.shape;
  const Types& types = product.types;
  MmaForm form{.spelling = product.spelling,
               .arch = std::string(numeric::to_string(arithmetic.arch)),
               .rule = describe(arithmetic.model, k),
               .evidence = std::string(numeric::to_string(arithmetic.model.evidence)),
               .a = operand(types.a, m, k),
               .b = operand(types.b, k, n),
               .c = operand(types.c, m, n),
               .d = operand(types.d, m, n),
               .sparse = product.sparse,
               .stored_a = {},
               .metadata = {},
               .scaled = product.scales != 0,
               .scale_a = {},
               .scale_b = {}};
  if (form.sparse) {
    form.stored_a = operand(types.a, m, k / 2);
    form.metadata = operand(Type::u4, m, k / product.chunk.columns);
  }
  if (form.scaled) {
    form.scale_a = operand(product.scale, m, product.scales);
    form.scale_b = operand(product.scale, product.scales, n);
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

Result<SparseA, MmaError> sparse_a(const Product& product, const MmaOperands& operands) {
  const layout::SparseChunk chunk = product.chunk;
  auto a = operands.metadata ? with_metadata(operands.a, *operands.metadata, chunk)
                             : compressed(operands.a, product.types.a, chunk);
  if (!a)
    return wrong_in(operands.metadata ? "metadata" : "a", std::move(a).error());
  return *std::move(a);
}

Result<BitMatrix, MmaError> multiply(const Product& product, const numeric::DotModel& model,
                                     const MmaOperands& operands) {
  const Types& types = product.types;
  const bool sparse = product.sparse;
  SparseA a;
  if (sparse) {
    auto made = sparse_a(product, operands);
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
  const auto m = static_cast<uint64_t>(product.shape.m), n = static_cast<uint64_t>(product.shape.n);
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
    scales_a = packed(*operands.scale_a, product.scale, false);
    scales_b = packed(*operands.scale_b, product.scale, true);
    tile.scale_a = reinterpret_cast<const uint8_t*>(scales_a.data());
    tile.scale_b = reinterpret_cast<const uint8_t*>(scales_b.data());
  }
  const numeric::DotPlan plan(
      model, {.m = product.shape.m, .n = product.shape.n, .k = product.products(), .k_b = product.shape.k});
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
  const auto product = inspect::find_product(spelling);
  if (!product)
    return inspect::wrong(product.error());
  const auto arithmetic = inspect::arithmetic_of(*product, arch);
  if (!arithmetic)
    return Unexpected<Error>{arithmetic.error()};
  return inspect::form_for(*product, *arithmetic);
}

Result<BitMatrix, MmaError> mma(const MmaForm& form, const MmaOperands& operands) {
  const auto product = inspect::find_product(form.spelling);
  if (!product)
    return inspect::wrong_in("", product.error());
  for (const numeric::Arch arch : numeric::kArchs)
    if (const auto model = product->model_of(arch); model && numeric::to_string(arch) == form.arch) {
      if (auto problem = inspect::check_sizes(inspect::form_for(*product, {arch, *model}), operands))
        return *std::move(problem);
      return inspect::multiply(*product, *model, operands);
    }
  return Unexpected<MmaError>{{.error = inspect::not_there(*product, form.arch).error}};
}

} // namespace lemma
