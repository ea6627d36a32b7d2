// A row's targets and a machine's arithmetic are two lists; model_of() asks for a machine that has both.
// describe() puts a DotModel into words: each scheme of numeric/dot.h is a line here.
#include "inspect/matrix_model.h"

#include "isa/machine.h"
#include "isa/matrix_model.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::inspect {
namespace {

using numeric::DotModel;
using numeric::DotScheme;
using numeric::Rounding;

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

template <class Fits>
bool any_target(const Fits& fits) {
  return std::any_of(isa::target_words().begin(), isa::target_words().end(),
                     [&](std::string_view word) { return fits(*isa::parse_target(word)); });
}

} // namespace

bool is_in(const MatrixName& name, isa::Target target) {
  const isa::TargetSet& targets = isa::form_of(*name.row).targets;
  return any_target([&](isa::Target known) { return known.sm == target.sm && targets.contains(known); });
}

std::optional<DotModel> model_of(const MatrixName& name, numeric::Arch arch) {
  // An arithmetic may be that of several machines, of which not all have every instruction: sm_72 is the
  // first with integers, and counts as sm_70.
  const bool there = any_target(
      [&](isa::Target known) { return isa::arithmetic_of(known.sm) == arch && is_in(name, known); });
  if (!there)
    return std::nullopt;
  const auto model = isa::matrix_model(name.exact, name.quals, name.types, arch);
  return model ? std::optional(model->dot) : std::nullopt;
}

int products_of(const isa::MatrixRow& row) {
  return row.sparse == isa::Qual::none ? row.shape.k : row.shape.k / 2;
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

} // namespace lemma::inspect
