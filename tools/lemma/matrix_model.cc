#include "matrix_model.h"

#include <fmt/format.h>

namespace lemma::cli {
namespace {

using isa::Qual;
using isa::Type;
using layout::Matrix;
using numeric::DotModel;
using numeric::DotScheme;
using numeric::FloatFormat;
using numeric::IntegerFormat;
using numeric::Rounding;

std::optional<FloatFormat> float_format(Type type) {
  for (const numeric::FormatTraits& t : numeric::kFormatTraits)
    if (t.name == isa::to_string(type))
      return static_cast<FloatFormat>(&t - numeric::kFormatTraits);
  return std::nullopt;
}

std::optional<IntegerFormat> integer_format(Type type) {
  for (const IntegerFormat format :
       {IntegerFormat::u4, IntegerFormat::s4, IntegerFormat::u8, IntegerFormat::s8})
    if (numeric::to_string(format) == isa::to_string(type))
      return format;
  return std::nullopt;
}

std::string_view to_words(Rounding rounding) {
  switch (rounding) {
  case Rounding::rn:
    return "to nearest even";
  case Rounding::rz:
    return "toward zero";
  case Rounding::rm:
    return "down";
  case Rounding::rp:
    return "up";
  default:
    return "as its modifier says";
  }
}

} // namespace

std::span<const numeric::Arch> all_archs() {
  using numeric::Arch;
  static constexpr Arch kAll[] = {Arch::sm_70, Arch::sm_75, Arch::sm_80,  Arch::sm_86,
                                  Arch::sm_89, Arch::sm_90, Arch::sm_100, Arch::sm_120};
  return kAll;
}

std::optional<DotModel> model_of(const MatrixName& name, numeric::Arch arch) {
  const isa::MatrixRow& row = name.exact;
  const auto type = [&](Matrix matrix) { return isa::type_of(row, matrix, name.types); };
  const bool wgmma = row.fragments == isa::FragmentRule::wgmma;
  if (row.numeric == isa::Numeric::none || (wgmma && arch != numeric::Arch::sm_90))
    return std::nullopt;
  if (row.numeric == isa::Numeric::integer) {
    if (type(Matrix::a) == Type::b1)
      return numeric::dot_model_bits(name.has(Qual::xor_) ? DotScheme::xor_popc : DotScheme::and_popc);
    const auto a = integer_format(type(Matrix::a)), b = integer_format(type(Matrix::b));
    if (!a || !b)
      return std::nullopt;
    return numeric::dot_model_integer(*a, *b, name.has(Qual::satfinite));
  }
  const Type type_c = wgmma ? type(Matrix::d) : type(Matrix::c);
  const auto a = float_format(type(Matrix::a)), b = float_format(type(Matrix::b)), c = float_format(type_c),
             d = float_format(type(Matrix::d));
  if (!a || !b || !c || !d)
    return std::nullopt;
  if (row.scale_vec != Qual::none) {
    const auto scale = float_format(row.scale);
    const int products = row.sparse == Qual::none ? row.shape.k : row.shape.k / 2;
    if (!scale)
      return std::nullopt;
    auto scaled = numeric::dot_model_block_scale(arch, numeric::DotUnit::mma, *a, *b, *scale, products,
                                                 products / isa::scales_of(row));
    if (scaled && row.sparse != Qual::none)
      scaled->evidence = numeric::Evidence::assumed;
    return scaled;
  }
  const bool narrow_result = *c == FloatFormat::f32 && *d == FloatFormat::f16;
  const auto model_of_types = row.sparse == Qual::none ? numeric::dot_model : numeric::dot_model_sparse;
  auto model = model_of_types(arch, wgmma ? numeric::DotUnit::wgmma : numeric::DotUnit::mma, *a, *b, *c,
                              narrow_result ? FloatFormat::f32 : *d, row.shape.k);
  if (!model)
    return std::nullopt;
  if (row.step_k != 0 && (model->max_fused_k == 0 || model->max_fused_k > row.step_k))
    model->max_fused_k = row.step_k;
  const std::pair<Qual, Rounding> roundings[] = {
      {Qual::rn, Rounding::rn}, {Qual::rz, Rounding::rz}, {Qual::rm, Rounding::rm}, {Qual::rp, Rounding::rp}};
  for (const auto& [qual, rounding] : roundings)
    if (row.rounding && name.has(qual))
      model->rounding = rounding;
  return model;
}

std::string describe(const DotModel& model, int k) {
  const bool in_steps = model.max_fused_k != 0 && model.max_fused_k < k;
  const std::string steps = in_steps ? fmt::format("K in steps of {}", model.max_fused_k) : "all K at once";
  const std::string rounded = fmt::format(
      "rounded {}{}", to_words(model.rounding),
      model.kept_fraction_bits < 23 ? fmt::format(", {} fraction bits kept", model.kept_fraction_bits) : "");
  switch (model.scheme) {
  case DotScheme::fused:
    return fmt::format("F = {}, {}{}, {}", model.fraction_bits, steps,
                       model.scale_block != 0 ? ", products scaled" : "", rounded);
  case DotScheme::split_quad:
    return fmt::format("F = {}, two sums (k mod 4 in 0,1 and 2,3), {}; then C, to nearest even",
                       model.fraction_bits, rounded);
  case DotScheme::block_sums:
    return fmt::format("exact sums of 16, scaled; F = {} over them and C, {}", model.fraction_bits, rounded);
  case DotScheme::fma_chain:
    return fmt::format("one fma after another, k ascending from C, each {}", rounded);
  case DotScheme::scalar_k4:
    return "no such unit: f32 fma over k, then C, to nearest even";
  case DotScheme::integer:
    return model.satfinite ? "exact, saturated to 32 bits" : "exact, wraps to 32 bits";
  case DotScheme::xor_popc:
    return "exact: bits set in a ^ b, wraps to 32 bits";
  case DotScheme::and_popc:
    return "exact: bits set in a & b, wraps to 32 bits";
  }
  return "";
}

} // namespace lemma::cli
