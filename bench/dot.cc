// The matrix arithmetic alone on one core, numeric::dot() on dense tiles of one instruction's size: every row
// of the catalogue that multiplies, by vectors beside the host's peak and by the scalar code, which is the
// reference and gives the same bits; some of them by each level of vectors in between.
#include "dot_form.h"
#include "host_peak.h"
#include "isa/catalogue.h"
#include "isa/machine.h"
#include "isa/matrix_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace lemma::bench {
namespace {

using isa::MatrixRow;
using isa::Qual;
using layout::Matrix;
using numeric::Arch;
using numeric::internal::DotLevel;

// "mma.sp 16x8x32 f32.f16", with what its arithmetic differs by at the end.
std::string name_of(const MatrixRow& row) {
  const auto type = [&](Matrix matrix) { return isa::to_string(isa::type_of(row, matrix, {})); };
  const std::string_view opcode = row.fragments == isa::FragmentRule::wgmma  ? "wgmma"
                                  : row.fragments == isa::FragmentRule::wmma ? "wmma"
                                                                             : "mma";
  std::string name = fmt::format("{}{} {}x{}x{} {}.{}", opcode, row.sparse == Qual::none ? "" : ".sp",
                                 row.shape.m, row.shape.n, row.shape.k, type(Matrix::d), type(Matrix::a));
  if (type(Matrix::c) != type(Matrix::d) && row.fragments != isa::FragmentRule::wgmma)
    name += fmt::format(" + {}", type(Matrix::c));
  for (const Qual qual : {row.op, row.kind, row.scale_vec})
    if (qual != Qual::none)
      name += fmt::format(" {}", isa::to_string(qual));
  if (row.scale != isa::Type::none)
    name += fmt::format(" {}", isa::to_string(row.scale));
  return name;
}

// The machine whose arithmetic is measured: sm_90 where it has the row.
Arch machine_of(const MatrixRow& row) {
  if (row.fragments == isa::FragmentRule::mma_m8n8k4) // in the place of which later machines have code
    return Arch::sm_70;
  return *isa::arithmetic_of(std::max(isa::parse_targets(row.targets)->any_of.front().sm, 90));
}

std::vector<DotForm> forms() {
  std::vector<DotForm> out;
  std::set<std::string> names; // rows that differ in spelling alone are one
  for (const MatrixRow& row : isa::matrix_rows()) {
    const auto model = isa::matrix_model(row, {}, {}, machine_of(row));
    if (model && names.insert(name_of(row)).second)
      out.push_back({.name = name_of(row),
                     .model = model->dot,
                     .m = row.shape.m,
                     .n = row.shape.n,
                     .k = row.shape.k,
                     .is_sparse = row.sparse != Qual::none});
  }
  return out;
}

bool takes_every_level(const std::string& name) {
  constexpr std::string_view names[] = {"wgmma 64x256x16 f32.f16", "wgmma 64x256x16 f32.bf16",
                                        "wgmma 64x256x8 f32.tf32", "wgmma 64x256x32 f32.e4m3",
                                        "wgmma 64x256x16 f16.f16", "wgmma 64x256x32 s32.s8",
                                        "mma 16x8x16 f32.f16",     "mma 16x8x8 f32.tf32",
                                        "mma 16x8x32 s32.s8",      "mma 16x8x16 f64.f64"};
  return std::ranges::find(names, name) != std::end(names);
}

} // namespace

void register_dot() {
  const auto add_peak = [](const char* name, double (*peak)(), const char* unit) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) {
      for (auto _ : state)
        benchmark::DoNotOptimize(peak());
      set_value(state, peak(), unit);
    })->Iterations(1);
  };
  add_peak("dot/host f32 fma peak", host_fma_peak_gflops, "GFLOP");
  add_peak("dot/host int8 peak", host_int8_peak_gops, "GOP");
  for (const DotForm& form : forms()) {
    const auto& levels = numeric::internal::dot_levels();
    for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
      const bool is_best = level == levels.rbegin(), is_last = level + 1 == levels.rend();
      if (!is_best && !is_last && !takes_every_level(form.name))
        continue;
      const std::string by = is_best ? "" : fmt::format(", {}", to_string(*level));
      benchmark::RegisterBenchmark(
          fmt::format("dot/{}{}", form.name, by).c_str(),
          [form, level = *level](benchmark::State& state) { run_dot(state, form, level); });
    }
  }
}

} // namespace lemma::bench
