// The matrix arithmetic alone on one core, numeric::dot() on dense tiles of one instruction's size: by
// vectors beside the host's peak, and by each lower level of them that the host has, down to the scalar code,
// which is the reference and gives the same bits.
// Operands are ordinary numbers, of which the loops for them have to take nearly all: else the row fails.
#include "numeric/dot.h"
#include "host_peak.h"
#include "numeric/dot_levels.h"
#include "numeric/hash.h"
#include "table.h"

#include <fmt/format.h>

#include <cstring>
#include <ctime>

namespace lemma::bench {
namespace {

using numeric::DotModel;
using numeric::DotScheme;
using numeric::DotUnit;
using numeric::FloatFormat;
using numeric::internal::DotLevel;

struct DotForm {
  std::string name; // of the instruction whose tile it is
  DotModel model;
  int m, n, k;
  bool is_sparse = false; // two of four, or one of two; k counts all columns

  bool is_float() const { return model.scheme != DotScheme::integer && !is_bits(); }
  bool is_bits() const { return model.scheme == DotScheme::xor_popc || model.scheme == DotScheme::and_popc; }
  std::string unit() const { return is_float() ? "GFLOP" : "GOP"; }
};

size_t bytes_of(FloatFormat format) {
  return static_cast<size_t>(std::max(traits(format).storage_bits / 8, 1));
}

size_t bytes_of_result(const DotForm& form) {
  return form.is_float() ? bytes_of(form.model.d) : 4;
}

// A matrix of `elements` as dot() wants it.
std::vector<uint8_t> random_matrix(const DotForm& form, FloatFormat format, int rows, int columns,
                                   numeric::Random& random) {
  const auto elements = static_cast<size_t>(rows) * static_cast<size_t>(columns);
  std::vector<uint8_t> bytes;
  if (!form.is_float()) {
    bytes.resize(form.is_bits() ? elements / 8 : elements);
    for (uint8_t& byte : bytes)
      byte = static_cast<uint8_t>(random.next());
    return bytes;
  }
  for (const uint64_t value : operands(format, numeric::OperandClass::ordinary, random, elements))
    for (size_t i = 0; i < bytes_of(format); ++i)
      bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  return bytes;
}

struct Operands {
  std::vector<uint8_t> a, b, d, a_index;
};

Operands operands_of(const DotForm& form) {
  numeric::Random random(1);
  const int stored = form.is_sparse ? form.k / 2 : form.k;
  Operands out{.a = random_matrix(form, form.model.a, form.m, stored, random),
               .b = random_matrix(form, form.model.b, form.n, form.k, random),
               .d = std::vector<uint8_t>(static_cast<size_t>(form.m * form.n) * bytes_of_result(form)),
               .a_index = {}};
  for (int i = 0; form.is_sparse && i < form.m; ++i)
    for (int s = 0; s < stored; ++s) // the first two of each four columns, or the last two
      out.a_index.push_back(static_cast<uint8_t>(s / 2 * 4 + s % 2 + 2 * static_cast<int>(i % 2)));
  return out;
}

void run_form(benchmark::State& state, const DotForm& form, DotLevel level) {
  Operands in = operands_of(form);
  const DotLevel best = numeric::internal::dot_level();
  numeric::internal::set_dot_level(level);
  numeric::DotPaths paths;
  uint64_t tiles = 0;
  for (auto _ : state)
    // The accumulators start anew, so that they stay in the products' range.
    paths += numeric::dot(form.model, {.m = form.m,
                                       .n = form.n,
                                       .k = form.is_sparse ? form.k / 2 : form.k,
                                       .a = in.a.data(),
                                       .b = in.b.data(),
                                       .c = tiles++ % 64 == 0 ? nullptr : in.d.data(),
                                       .d = in.d.data(),
                                       .a_index = form.is_sparse ? in.a_index.data() : nullptr,
                                       .k_b = form.k});
  numeric::internal::set_dot_level(best);
  set_rate(state, 2e-9 * static_cast<double>(tiles) * form.m * form.n * form.k, form.unit());
  if (level == DotLevel::scalar)
    return;
  require_vector_paths(state, paths);
  if (level != best)
    return;
  if (form.is_float())
    compare(state, host_fma_peak_gflops(), "the host's f32 fma peak", form.unit());
  else if (!form.is_bits())
    compare(state, host_int8_peak_gops(), "the host's int8 peak", form.unit());
}

DotModel model_of(DotUnit unit, FloatFormat ab, FloatFormat d, int k) {
  return *numeric::dot_model(numeric::Arch::sm_90, unit, ab, ab, d, d, k);
}

std::vector<DotForm> forms() {
  using enum FloatFormat;
  std::vector<DotForm> out;
  const auto add = [&](DotUnit unit, int m, int n, int k, FloatFormat ab, FloatFormat d,
                       bool is_sparse = false) {
    out.push_back({.name = fmt::format("{}{} {}x{}x{} {}.{}", unit == DotUnit::mma ? "mma" : "wgmma",
                                       is_sparse ? ".sp" : "", m, n, k, to_string(d), to_string(ab)),
                   .model = model_of(unit, ab, d, k),
                   .m = m,
                   .n = n,
                   .k = k,
                   .is_sparse = is_sparse});
  };
  for (const auto& [ab, k] : {std::pair{f16, 16}, std::pair{bf16, 16}, std::pair{tf32, 8},
                              std::pair{e4m3, 32}, std::pair{e5m2, 32}})
    add(DotUnit::wgmma, 64, 256, k, ab, f32);
  add(DotUnit::wgmma, 64, 256, 16, f16, f16);
  for (const auto& [ab, k] :
       {std::pair{f16, 16}, std::pair{bf16, 16}, std::pair{tf32, 8}, std::pair{e4m3, 32}})
    add(DotUnit::mma, 16, 8, k, ab, f32);
  add(DotUnit::mma, 16, 8, 16, f16, f16);
  add(DotUnit::mma, 16, 16, 16, f16, f32);
  add(DotUnit::mma, 16, 8, 32, f16, f32, true);
  add(DotUnit::mma, 16, 8, 16, f64, f64);
  using numeric::IntegerFormat;
  for (const auto& [name, format, m, n, k] :
       {std::tuple{"wgmma 64x256x32 s32.s8", IntegerFormat::s8, 64, 256, 32},
        std::tuple{"mma 16x8x32 s32.s8", IntegerFormat::s8, 16, 8, 32},
        std::tuple{"mma 16x8x64 s32.s4", IntegerFormat::s4, 16, 8, 64}})
    out.push_back(
        {.name = name, .model = numeric::dot_model_integer(format, format, false), .m = m, .n = n, .k = k});
  out.push_back({.name = "mma 16x8x256 s32.b1",
                 .model = numeric::dot_model_bits(DotScheme::and_popc),
                 .m = 16,
                 .n = 8,
                 .k = 256});
  return out;
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
    benchmark::RegisterBenchmark(("dot/" + form.name).c_str(), [form](benchmark::State& state) {
      run_form(state, form, numeric::internal::dot_level());
    });
    const auto& levels = numeric::internal::dot_levels();
    for (auto level = levels.rbegin() + 1; level != levels.rend(); ++level)
      benchmark::RegisterBenchmark(
          fmt::format("dot/{}, {}", form.name, to_string(*level)).c_str(),
          [form, level = *level](benchmark::State& state) { run_form(state, form, level); });
  }
}

} // namespace lemma::bench
