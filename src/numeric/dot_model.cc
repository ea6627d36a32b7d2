// The table of the machines: which numbers the fused rule has on which, and how that is known.
//
// A result goes to f32 toward zero and to f16 to nearest even; a NaN is canonical, an overflow infinity.
//
// Published: MMA-Sim (arXiv:2511.10909) for its machines; else the assembler's own code: m8n8k4 of f16 from
// sm_80 on is a call of scalar code (scalar_k4), on sm_75 HMMA.884 as on sm_70; fp8 on sm_100 is the code of
// sm_90, two HMMA of operands widened to f16 and an addition (ptxas 13.0, sm_100 and sm_103). Measured by us
// on an H200, random, wide, subnormal and special operands, every bit equal: mma and wmma f16 (every pair of
// accumulators), bf16, tf32, fp8 and f64; mma.sp f16, bf16, tf32 and fp8; wgmma and wgmma.sp f16 (f16 and
// f32), bf16, tf32 and fp8 (both). Assumed: what was carried over from the nearest form, such as the longer
// products of sm_70 and the sparse forms of other machines.
//
// Tests: tests/unit/numeric/dot_test.cc, arch_test.cc.
#include "numeric/dot.h"

namespace lemma::numeric {
namespace {

constexpr Evidence kMeasured = Evidence::measured, kPublished = Evidence::published;

// A row's columns: machines, unit, operands, depth, scheme, F, products of a step, kept bits, evidence.
using enum Arch;
using enum DotUnit;
using Ops = DotOperands;
constexpr auto fused = DotScheme::fused;
constexpr DotRule kRules[] = {
    {sm_70, sm_70, mma, Ops::f16, 0, fused, 23, 4, 23, kPublished},
    {sm_75, sm_75, mma, Ops::f16, 0, fused, 24, 8, 23, kPublished},
    {sm_80, sm_89, mma, Ops::f16, 0, fused, 24, 8, 23, kPublished},
    {sm_90, sm_90, mma, Ops::f16, 0, fused, 25, 0, 23, kMeasured},
    {sm_100, sm_120, mma, Ops::f16, 0, fused, 25, 0, 23, kPublished},
    {sm_80, sm_120, mma, Ops::f16, 4, DotScheme::scalar_k4, 0, 0, 23, kPublished},

    {sm_80, sm_89, mma, Ops::bf16, 0, fused, 24, 8, 23, kPublished},
    {sm_90, sm_90, mma, Ops::bf16, 0, fused, 25, 0, 23, kMeasured},
    {sm_100, sm_120, mma, Ops::bf16, 0, fused, 25, 0, 23, kPublished},

    {sm_80, sm_89, mma, Ops::tf32, 0, fused, 24, 4, 23, kPublished},
    {sm_90, sm_90, mma, Ops::tf32, 0, fused, 25, 0, 23, kMeasured},
    {sm_100, sm_120, mma, Ops::tf32, 0, fused, 25, 0, 23, kPublished},

    {sm_80, sm_89, mma, Ops::f64, 0, DotScheme::fma_chain, 0, 0, 23, kPublished},
    {sm_90, sm_90, mma, Ops::f64, 0, DotScheme::fma_chain, 0, 0, 23, kMeasured},
    {sm_100, sm_120, mma, Ops::f64, 0, DotScheme::fma_chain, 0, 0, 23, kPublished},

    {sm_89, sm_89, mma, Ops::fp8, 0, fused, 13, 16, 13, kPublished},
    {sm_90, sm_90, mma, Ops::fp8, 0, DotScheme::split_quad, 25, 0, 23, kMeasured},
    {sm_100, sm_100, mma, Ops::fp8, 0, DotScheme::split_quad, 25, 0, 23, kPublished},
    {sm_120, sm_120, mma, Ops::fp8, 0, fused, 25, 0, 23, kPublished},
    {sm_120, sm_120, mma, Ops::f8f6f4, 0, fused, 25, 0, 23, kPublished},
    {sm_120, sm_120, mma, Ops::mx_k32, 0, fused, 25, 0, 23, kPublished},
    {sm_120, sm_120, mma, Ops::mx_k64, 0, DotScheme::block_sums, 35, 0, 23, kPublished},

    {sm_90, sm_90, wgmma, Ops::f16, 0, fused, 25, 0, 23, kMeasured},
    {sm_90, sm_90, wgmma, Ops::bf16, 0, fused, 25, 0, 23, kMeasured},
    {sm_90, sm_90, wgmma, Ops::tf32, 0, fused, 25, 0, 23, kMeasured},
    {sm_90, sm_90, wgmma, Ops::fp8, 0, fused, 13, 0, 13, kMeasured},

    {sm_100, sm_100, tcgen05, Ops::f16, 0, fused, 25, 0, 23, kPublished},
    {sm_100, sm_100, tcgen05, Ops::bf16, 0, fused, 25, 0, 23, kPublished},
    {sm_100, sm_100, tcgen05, Ops::tf32, 0, fused, 25, 0, 23, kPublished},
    {sm_100, sm_100, tcgen05, Ops::fp8, 0, fused, 25, 0, 23, kPublished},
    {sm_100, sm_100, tcgen05, Ops::f8f6f4, 0, fused, 25, 0, 23, kPublished},
    {sm_100, sm_100, tcgen05, Ops::mx_k32, 0, fused, 25, 0, 23, kPublished},
    {sm_100, sm_100, tcgen05, Ops::mx_k64, 0, DotScheme::block_sums, 35, 0, 23, kPublished},
};

bool is_narrow(FloatFormat format) {
  switch (format) {
  case FloatFormat::e4m3:
  case FloatFormat::e5m2:
  case FloatFormat::e2m3:
  case FloatFormat::e3m2:
  case FloatFormat::e2m1:
    return true;
  default:
    return false;
  }
}

bool is_fp8(FloatFormat format) {
  return format == FloatFormat::e4m3 || format == FloatFormat::e5m2;
}

// None where no machine multiplies the two.
std::optional<DotOperands> operands_of(FloatFormat a, FloatFormat b) {
  if (is_narrow(a) && is_narrow(b))
    return is_fp8(a) && is_fp8(b) ? Ops::fp8 : Ops::f8f6f4;
  if (a != b)
    return std::nullopt;
  switch (a) {
  case FloatFormat::f16:
    return Ops::f16;
  case FloatFormat::bf16:
    return Ops::bf16;
  case FloatFormat::tf32:
    return Ops::tf32;
  case FloatFormat::f64:
    return Ops::f64;
  default:
    return std::nullopt;
  }
}

// Null where the machine has no such instruction.
const DotRule* find_rule(Arch arch, DotUnit unit, DotOperands operands, int k) {
  const DotRule* found = nullptr;
  for (const DotRule& rule : kRules)
    if (rule.first <= arch && arch <= rule.last && rule.unit == unit && rule.operands == operands &&
        (rule.only_k == k || (rule.only_k == 0 && found == nullptr)))
      found = &rule;
  return found;
}

bool has_accumulator(FloatFormat a, FloatFormat c, FloatFormat d) {
  if (a == FloatFormat::f64)
    return c == FloatFormat::f64 && d == FloatFormat::f64;
  if (is_narrow(a) && c != d)
    return false;
  const bool half_allowed = a == FloatFormat::f16 || is_narrow(a);
  for (const FloatFormat format : {c, d})
    if (format != FloatFormat::f32 && !(half_allowed && format == FloatFormat::f16))
      return false;
  return true;
}

void apply(const DotRule& rule, DotModel& model) {
  model.scheme = rule.scheme;
  if (rule.fraction_bits != 0)
    model.fraction_bits = rule.fraction_bits;
  model.max_fused_k = rule.max_fused_k;
  model.kept_fraction_bits = rule.kept_fraction_bits;
  model.evidence = rule.evidence;
}

} // namespace

std::string_view to_string(DotOperands operands) {
  constexpr std::string_view names[] = {"f16", "bf16", "tf32", "f64", "fp8", "f8f6f4", "mx k32", "mx k64"};
  return names[static_cast<size_t>(operands)];
}

std::span<const DotRule> dot_rules() {
  return kRules;
}

std::optional<DotModel> dot_model(Arch arch, DotUnit unit, FloatFormat a, FloatFormat b, FloatFormat c,
                                  FloatFormat d, int k) {
  const auto operands = operands_of(a, b);
  const DotRule* rule = operands ? find_rule(arch, unit, *operands, k) : nullptr;
  if (!rule || !has_accumulator(a, c, d))
    return std::nullopt;
  DotModel model;
  model.a = a;
  model.b = b;
  model.c = c;
  model.d = d;
  model.rounding = d == FloatFormat::f32 ? Rounding::rz : Rounding::rn;
  apply(*rule, model);
  // Accumulators of two types: from sm_75 on the assembler widens C before an f32 product and narrows the
  // product after it; m8n8k4 it leaves to the machine. Of sm_70 the step is known, not that a longer
  // instruction is several of them.
  const bool left_to_the_machine = rule->scheme == DotScheme::fused && (arch == Arch::sm_70 || k == 4);
  const bool carried_over =
      rule->evidence != Evidence::measured &&
      ((c != d && left_to_the_machine) || (arch == Arch::sm_70 && k > rule->max_fused_k));
  if (carried_over)
    model.evidence = Evidence::assumed;
  return model;
}

std::optional<DotModel> dot_model_sparse(Arch arch, DotUnit unit, FloatFormat a, FloatFormat b, FloatFormat c,
                                         FloatFormat d, int k) {
  if (arch < Arch::sm_80)
    return std::nullopt;
  // Stored products count, in the order in which they are stored: for fp8 on sm_90 the assembler converts the
  // low and the high halves of A's registers to f16 and multiplies first by those, then by these.
  std::optional<DotModel> model = dot_model(arch, unit, a, b, c, d, k / 2);
  // No H200 has mma.sp of fp8 with accumulators of f16.
  const bool measured =
      arch == Arch::sm_90 && (unit == DotUnit::wgmma || !(is_fp8(a) && d == FloatFormat::f16));
  if (model && !measured)
    model->evidence = Evidence::assumed;
  return model;
}

std::optional<DotModel> dot_model_block_scale(Arch arch, DotUnit unit, FloatFormat a, FloatFormat b,
                                              FloatFormat scale, int k, int scale_block) {
  const bool is_fp4 = a == FloatFormat::e2m1 && b == FloatFormat::e2m1;
  if (!is_narrow(a) || !is_narrow(b) || (k > 32 && !is_fp4))
    return std::nullopt;
  const DotRule* rule = find_rule(arch, unit, k > 32 ? Ops::mx_k64 : Ops::mx_k32, k);
  if (!rule)
    return std::nullopt;
  DotModel model;
  model.a = a;
  model.b = b;
  model.scale = scale;
  model.scale_block = scale_block;
  apply(*rule, model);
  if (k > 64)
    model.evidence = Evidence::assumed;
  return model;
}

DotModel dot_model_integer(IntegerFormat a, IntegerFormat b, bool satfinite) {
  DotModel model;
  model.scheme = DotScheme::integer;
  model.integer_a = a;
  model.integer_b = b;
  model.satfinite = satfinite;
  model.evidence = satfinite ? Evidence::assumed : Evidence::published; // the ISA itself defines the wrap
  return model;
}

DotModel dot_model_bits(DotScheme xor_or_and) {
  DotModel model;
  model.scheme = xor_or_and;
  model.evidence = Evidence::published;
  return model;
}

} // namespace lemma::numeric
