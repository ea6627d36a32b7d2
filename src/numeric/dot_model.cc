// The table of the machines: which numbers the fused rule has on which, and how that is known.
//
// | machine          | F  | K of one step | f32 results, scheme                                         |
// |------------------|----|---------------|-------------------------------------------------------------|
// | sm_70            | 23 | 4             |                                                             |
// | sm_75            | 24 | 8             |                                                             |
// | sm_80, sm_86     | 24 | 8; tf32 4     |                                                             |
// | sm_89            | 24 | 8; tf32 4     |                                                             |
// | sm_89, fp8       | 13 | 16            | 13 fraction bits                                            |
// | sm_90 mma        | 25 | all           | fp8: split_quad, operands as f16                            |
// | sm_90 wgmma      | 25 | all           |                                                             |
// | sm_90 wgmma, fp8 | 13 | all           | 13 fraction bits                                            |
// | sm_80 on, m8n8k4 | -- |               | scalar_k4, f16 only: no such instruction                    |
// | sm_100, sm_120   | 25 | all           | block_scale with k64: F = 35 over exact sums of 16 products |
//
// A result goes to f32 toward zero and to f16 to nearest even; a NaN is canonical, an overflow infinity.
//
// Published: MMA-Sim (arXiv:2511.10909). Measured by us on an H200, random, wide, subnormal and special
// operands, every bit equal: mma and wmma f16 (every pair of accumulators), bf16, tf32, fp8 and f64; wgmma
// f16 (f16 and f32), tf32 and fp8 (both). Published by the assembler's own code: scalar_k4. Assumed: what was
// carried over from the nearest form, such as wmma's longer K as several steps, accumulators whose type
// differs from the result's on other machines, fp8 mma on sm_100, every sparse form.
//
// Tests: tests/unit/numeric/dot_test.cc.
#include "numeric/dot.h"

namespace lemma::numeric {
namespace {

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

// Whether the machine's `unit` takes these multiplicands at all.
bool has_operands(Arch arch, DotUnit unit, FloatFormat a, FloatFormat b) {
  if (is_narrow(a) != is_narrow(b) || (!is_narrow(a) && a != b))
    return false;
  const bool both_fp8 = is_fp8(a) && is_fp8(b);
  const bool usual = a == FloatFormat::f16 || a == FloatFormat::bf16 || a == FloatFormat::tf32;
  switch (unit) {
  case DotUnit::wgmma:
    return arch == Arch::sm_90 && (usual || both_fp8);
  case DotUnit::tcgen05:
    return arch == Arch::sm_100 && (usual || is_narrow(a));
  case DotUnit::mma:
    if (a == FloatFormat::f16)
      return true;
    if (usual || a == FloatFormat::f64)
      return arch >= Arch::sm_80;
    return both_fp8 ? arch >= Arch::sm_89 : is_narrow(a) && arch == Arch::sm_120;
  }
  return false;
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

int fraction_bits(Arch arch) {
  switch (arch) {
  case Arch::sm_70:
    return 23;
  case Arch::sm_75:
  case Arch::sm_80:
  case Arch::sm_86:
  case Arch::sm_89:
    return 24;
  default:
    return 25;
  }
}

int max_fused_k(Arch arch, FloatFormat a) {
  if (arch >= Arch::sm_90)
    return 0;
  if (arch == Arch::sm_70)
    return 4;
  return a == FloatFormat::tf32 ? 4 : is_fp8(a) ? 16 : 8;
}

Evidence evidence(Arch arch, DotUnit unit, const DotModel& model, int k) {
  if (model.scheme == DotScheme::scalar_k4)
    return Evidence::published;
  if (arch == Arch::sm_90 && (model.c == model.d || unit == DotUnit::mma))
    return unit == DotUnit::wgmma && model.a == FloatFormat::bf16 ? Evidence::published : Evidence::measured;
  if (model.c != model.d)
    return Evidence::assumed;
  if (arch == Arch::sm_100 && unit == DotUnit::mma && is_fp8(model.a))
    return Evidence::assumed;
  const bool longer_than_published = (arch == Arch::sm_70 && k > 4) || (arch == Arch::sm_75 && k > 8);
  return longer_than_published ? Evidence::assumed : Evidence::published;
}

} // namespace

std::string_view to_string(Arch arch) {
  constexpr std::string_view names[] = {"sm_70", "sm_75", "sm_80",  "sm_86",
                                        "sm_89", "sm_90", "sm_100", "sm_120"};
  return names[static_cast<size_t>(arch)];
}

std::string_view to_string(Evidence evidence) {
  constexpr std::string_view names[] = {"measured", "published", "assumed"};
  return names[static_cast<size_t>(evidence)];
}

std::optional<Arch> arch_of_target(int sm_number) {
  constexpr struct {
    int from;
    Arch arch;
  } table[] = {{120, Arch::sm_120}, {100, Arch::sm_100}, {90, Arch::sm_90}, {89, Arch::sm_89},
               {86, Arch::sm_86},   {80, Arch::sm_80},   {75, Arch::sm_75}, {70, Arch::sm_70}};
  for (const auto& row : table)
    if (sm_number >= row.from)
      return row.arch;
  return std::nullopt;
}

std::optional<DotModel> dot_model(Arch arch, DotUnit unit, FloatFormat a, FloatFormat b, FloatFormat c,
                                  FloatFormat d, int k) {
  if (!has_operands(arch, unit, a, b) || !has_accumulator(a, c, d))
    return std::nullopt;
  DotModel model;
  model.a = a;
  model.b = b;
  model.c = c;
  model.d = d;
  if (a == FloatFormat::f64) {
    model.scheme = DotScheme::fma_chain;
    model.rounding = Rounding::rn;
  } else {
    model.fraction_bits = fraction_bits(arch);
    model.max_fused_k = max_fused_k(arch, a);
    model.rounding = d == FloatFormat::f16 ? Rounding::rn : Rounding::rz;
    if (is_fp8(a) && (arch == Arch::sm_89 || unit == DotUnit::wgmma)) {
      model.fraction_bits = 13;
      model.kept_fraction_bits = 13;
    } else if (is_fp8(a) && arch == Arch::sm_90) {
      model.scheme = DotScheme::split_quad;
    } else if (a == FloatFormat::f16 && k == 4 && unit == DotUnit::mma && arch >= Arch::sm_80) {
      model.scheme = DotScheme::scalar_k4;
    }
  }
  model.evidence = evidence(arch, unit, model, k);
  return model;
}

std::optional<DotModel> dot_model_block_scale(Arch arch, DotUnit unit, FloatFormat a, FloatFormat b,
                                              FloatFormat scale, int k, int scale_block) {
  const bool has_unit =
      (arch == Arch::sm_120 && unit == DotUnit::mma) || (arch == Arch::sm_100 && unit == DotUnit::tcgen05);
  const bool is_fp4 = a == FloatFormat::e2m1 && b == FloatFormat::e2m1;
  if (!has_unit || !is_narrow(a) || !is_narrow(b) || (k == 64 && !is_fp4))
    return std::nullopt;
  DotModel model;
  model.a = a;
  model.b = b;
  model.scale = scale;
  model.scale_block = scale_block;
  model.evidence = Evidence::published;
  if (k == 64) {
    model.scheme = DotScheme::block_sums;
    model.fraction_bits = 35;
  }
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
