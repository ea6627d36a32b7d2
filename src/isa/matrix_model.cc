// A row names a family (Numeric) and types; here they become the call of src/numeric that has the
// numbers. Read from top to bottom it is a list of the special cases: single bits, integers, block scales, an
// f16 result of an f32 sum, rows whose K goes in steps, f64 with a rounding.
#include "isa/matrix_model.h"

#include <algorithm>
#include <utility>

namespace lemma::isa {
namespace {

using layout::Matrix;
using numeric::FloatFormat;
using numeric::IntegerFormat;
using numeric::Rounding;

std::optional<FloatFormat> float_format(Type type) {
  return numeric::float_format_of(to_string(type));
}

std::optional<IntegerFormat> integer_format(Type type) {
  for (const IntegerFormat format :
       {IntegerFormat::u4, IntegerFormat::s4, IntegerFormat::u8, IntegerFormat::s8})
    if (numeric::to_string(format) == to_string(type))
      return format;
  return std::nullopt;
}

bool has(std::span<const Qual> quals, Qual qual) {
  return std::find(quals.begin(), quals.end(), qual) != quals.end();
}

} // namespace

std::optional<MatrixModel> matrix_model(const MatrixRow& row, std::span<const Qual> quals,
                                        std::span<const Type> types, numeric::Arch machine) {
  const auto type = [&](Matrix matrix) { return type_of(row, matrix, types); };
  const bool wgmma = row.fragments == FragmentRule::wgmma;
  if (row.numeric == Numeric::none)
    return std::nullopt;
  if (row.op != Qual::none)
    return MatrixModel{numeric::dot_model_bits(row.op == Qual::xor_ ? numeric::DotScheme::xor_popc
                                                                    : numeric::DotScheme::and_popc)};
  if (row.numeric == Numeric::integer) {
    const auto a = integer_format(type(Matrix::a)), b = integer_format(type(Matrix::b));
    if (!a || !b)
      return std::nullopt;
    return MatrixModel{numeric::dot_model_integer(*a, *b, has(quals, Qual::satfinite))};
  }
  const auto a = float_format(type(Matrix::a)), b = float_format(type(Matrix::b)),
             d = float_format(type(Matrix::d)), c = wgmma ? d : float_format(type(Matrix::c));
  if (!a || !b || !c || !d)
    return std::nullopt;
  if (row.scale_vec != Qual::none) {
    const auto scale = float_format(row.scale);
    const int products = row.sparse == Qual::none ? row.shape.k : row.shape.k / 2;
    if (!scale)
      return std::nullopt;
    auto scaled = numeric::dot_model_block_scale(machine, numeric::DotUnit::mma, *a, *b, *scale, products,
                                                 products / scales_of(row));
    if (!scaled)
      return std::nullopt;
    if (row.sparse != Qual::none)
      scaled->evidence = numeric::Evidence::assumed;
    return MatrixModel{*scaled};
  }
  // With C in f32 and D in f16 the assembler makes an f32 product and converts it (sm_80 and up).
  const bool narrow_result = *c == FloatFormat::f32 && *d == FloatFormat::f16;
  const auto model_of = row.sparse == Qual::none ? numeric::dot_model : numeric::dot_model_sparse;
  auto model = model_of(machine, wgmma ? numeric::DotUnit::wgmma : numeric::DotUnit::mma, *a, *b, *c,
                        narrow_result ? FloatFormat::f32 : *d, row.shape.k);
  if (!model)
    return std::nullopt;
  if (row.step_k != 0 && (model->max_fused_k == 0 || model->max_fused_k > row.step_k))
    model->max_fused_k = row.step_k;
  const std::pair<Qual, Rounding> roundings[] = {
      {Qual::rn, Rounding::rn}, {Qual::rz, Rounding::rz}, {Qual::rm, Rounding::rm}, {Qual::rp, Rounding::rp}};
  for (const auto& [qual, rounding] : roundings)
    if (row.rounding && has(quals, qual))
      model->rounding = rounding;
  return MatrixModel{*model, narrow_result};
}

} // namespace lemma::isa
