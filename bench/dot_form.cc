// Operands of a form - random finite numbers, scales near one, sparse columns that are legal - and the loop
// around dot(). A row by vectors is compared with the host's peak, and fails if its products left the vector
// path; one by the scalar code stands alone.
#include "dot_form.h"

#include "host_peak.h"
#include "numeric/dot_internal.h"
#include "numeric/hash.h"

namespace lemma::bench {
namespace {

using numeric::FloatFormat;
using numeric::internal::DotLevel;
using numeric::internal::element_bytes;

size_t bytes_of_result(const DotForm& form) {
  return form.is_float() ? static_cast<size_t>(element_bytes(form.model.d)) : 4;
}

// A matrix of `elements` as dot() wants it.
Array<uint8_t> random_matrix(const DotForm& form, FloatFormat format, int rows, int columns,
                             numeric::Random& random) {
  const auto elements = static_cast<size_t>(rows) * static_cast<size_t>(columns);
  Array<uint8_t> bytes;
  if (!form.is_float()) {
    bytes.resize(form.is_bits() ? elements / 8 : elements);
    for (uint8_t& byte : bytes)
      byte = static_cast<uint8_t>(random.next());
    return bytes;
  }
  for (const uint64_t value : operands(format, numeric::OperandClass::ordinary, random, elements))
    for (int i = 0; i < element_bytes(format); ++i)
      bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  return bytes;
}

// Scales near one.
Array<uint8_t> random_scales(const DotForm& form, int rows, int products, numeric::Random& random) {
  if (form.model.scale_block == 0)
    return {};
  const int one = traits(form.model.scale).bias << traits(form.model.scale).mantissa_bits;
  Array<uint8_t> scales(static_cast<size_t>(rows * (products / form.model.scale_block)));
  for (uint8_t& scale : scales)
    scale = static_cast<uint8_t>(one - 3 + static_cast<int>(random.below(7)));
  return scales;
}

struct Operands {
  Array<uint8_t> a, b, c, d, a_index, scale_a, scale_b; // c: empty, it is d
};

Operands operands_of(const DotForm& form) {
  numeric::Random random(1);
  const int stored = form.is_sparse ? form.k / 2 : form.k;
  Operands out{.a = random_matrix(form, form.model.a, form.m, stored, random),
               .b = random_matrix(form, form.model.b, form.n, form.k, random),
               .c = form.is_float() && form.model.c != form.model.d
                        ? random_matrix(form, form.model.c, form.m, form.n, random)
                        : Array<uint8_t>(),
               .d = Array<uint8_t>(static_cast<size_t>(form.m * form.n) * bytes_of_result(form)),
               .a_index = {},
               .scale_a = random_scales(form, form.m, stored, random),
               .scale_b = random_scales(form, form.n, stored, random)};
  for (int i = 0; form.is_sparse && i < form.m; ++i)
    for (int s = 0; s < stored; ++s) // the first two of each four columns, or the last two
      out.a_index.push_back(static_cast<uint8_t>(s / 2 * 4 + s % 2 + 2 * static_cast<int>(i % 2)));
  return out;
}

} // namespace

void run_dot(benchmark::State& state, const DotForm& form, DotLevel level) {
  Operands in = operands_of(form);
  const DotLevel best = numeric::internal::dot_level();
  numeric::internal::set_dot_level(level);
  const numeric::DotPlan plan(
      form.model, {.m = form.m, .n = form.n, .k = form.is_sparse ? form.k / 2 : form.k, .k_b = form.k});
  numeric::DotScratch scratch;
  MatrixOutputs paths;
  uint64_t tiles = 0;
  const uint8_t* c = in.c.empty() ? in.d.data() : in.c.data();
  for (auto _ : state)
    // The accumulators start anew, so that they stay in the products' range.
    paths += numeric::dot(plan,
                          {.a = in.a.data(),
                           .b = in.b.data(),
                           .c = tiles++ % 64 == 0 ? nullptr : c,
                           .d = in.d.data(),
                           .scale_a = in.scale_a.empty() ? nullptr : in.scale_a.data(),
                           .scale_b = in.scale_b.empty() ? nullptr : in.scale_b.data(),
                           .a_index = form.is_sparse ? in.a_index.data() : nullptr},
                          scratch);
  numeric::internal::set_dot_level(best);
  const std::string unit = form.is_float() ? "GFLOP" : "GOP";
  set_rate(state, 2e-9 * static_cast<double>(tiles) * form.m * form.n * form.k, unit);
  const bool has_loop = level == best || paths.vector > 0; // f64 has none below fused multiply-adds
  if (level == DotLevel::scalar || !has_loop)
    return;
  require_vector_paths(state, paths);
  if (level != best)
    return;
  if (form.is_float())
    compare(state, host_fma_peak_gflops(), "the host's f32 fma peak", unit);
  else if (!form.is_bits())
    compare(state, host_int8_peak_gops(), "the host's int8 peak", unit);
}

MatrixOutputs dot_of_warpgroup(const numeric::DotPlan& plan, const numeric::DotTile& tile,
                               numeric::ArrangedB& arranged, numeric::DotScratch& scratch) {
  constexpr int kRows = 64, kRowBytes = 32;
  numeric::DotTile part = tile;
  arranged.arrange(plan, tile);
  part.arranged_b = &arranged;
  MatrixOutputs paths;
  for (int row = 0; row < kRows; row += plan.shape().m) {
    const auto outputs = static_cast<size_t>(row) * static_cast<size_t>(plan.shape().n) * 4;
    part.a = tile.a.rows() + row * kRowBytes;
    part.c = tile.c ? tile.c.rows() + outputs : nullptr;
    part.d = tile.d.rows() + outputs;
    paths += numeric::dot(plan, part, scratch);
  }
  return paths;
}

} // namespace lemma::bench
