// A row names a family (Numeric) and types; here they become the call of src/numeric that has the
// numbers. Read from top to bottom it is a list of the special cases: single bits, integers, block scales, an
// f16 result of an f32 sum, rows whose K goes in steps, f64 with a rounding.
#include "isa/matrix_model.h"

#include <fmt/format.h>

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

std::optional<numeric::DotModel> tensor_model(const layout::TensorInstructionDescriptor& descriptor,
                                              uint32_t scales, numeric::Arch machine) {
  using layout::TensorFormat;
  const auto format = [](TensorFormat of) { return numeric::float_format_of(layout::to_string(of)).value(); };
  const auto integer = [](TensorFormat of) {
    return of == TensorFormat::u8 ? IntegerFormat::u8 : IntegerFormat::s8;
  };
  const auto k = static_cast<int>(descriptor.k());
  if (descriptor.kind == layout::TensorKind::i8)
    return numeric::dot_model_integer(integer(descriptor.a), integer(descriptor.b), descriptor.saturate);
  if (!layout::is_block_scaled(descriptor.kind)) {
    const FloatFormat d = format(descriptor.d);
    const auto model_of = descriptor.sparse ? numeric::dot_model_sparse : numeric::dot_model;
    return model_of(machine, numeric::DotUnit::tcgen05, format(descriptor.a), format(descriptor.b), d, d, k);
  }
  const FloatFormat scale =
      numeric::float_format_of(layout::to_string(descriptor.scale)).value_or(FloatFormat::ue8m0);
  const int products = descriptor.sparse ? k / 2 : k;
  auto model = numeric::dot_model_block_scale(machine, numeric::DotUnit::tcgen05, format(descriptor.a),
                                              format(descriptor.b), scale, products,
                                              products / static_cast<int>(scales));
  if (model && (descriptor.sparse || descriptor.k96))
    model->evidence = numeric::Evidence::assumed;
  return model;
}

std::span<const Opcode> tensor_products() {
  static constexpr Opcode kAll[] = {Opcode::tcgen05_mma, Opcode::tcgen05_mma_sp, Opcode::tcgen05_mma_ws,
                                    Opcode::tcgen05_mma_ws_sp};
  return kAll;
}

std::optional<TensorWords> tensor_words(Opcode opcode, std::span<const Qual> quals) {
  TensorWords words;
  bool has_kind = false;
  for (const Qual qual : quals)
    if (const auto kind = layout::tensor_kind(fmt::format(".{}", to_string(qual)))) {
      words.kind = *kind;
      has_kind = true;
    }
  if (!has_kind)
    return std::nullopt;
  words.instruction.cta_group = has(quals, Qual::cta_group_2) ? 2 : 1;
  words.instruction.ws = opcode == Opcode::tcgen05_mma_ws || opcode == Opcode::tcgen05_mma_ws_sp;
  words.instruction.sp = opcode == Opcode::tcgen05_mma_sp || opcode == Opcode::tcgen05_mma_ws_sp;
  if (has(quals, Qual::scale_vec_4X) || has(quals, Qual::block16))
    words.instruction.scale_vec = 4;
  else if (layout::is_block_scaled(words.kind)) // as the ISA has it where no word says so
    words.instruction.scale_vec = words.kind == layout::TensorKind::mxf8f6f4 ? 1 : 2;
  return words;
}

} // namespace lemma::isa
