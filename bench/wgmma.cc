// wgmma on one core: FLOP/s (two a product) of m64n256 from swizzled shared memory, and of the same product
// as numeric::dot() alone on dense tiles, a warp's rows at a time, each beside the host's peak; the former as
// a part of the latter too.
#include "dot_form.h"
#include "host_peak.h"
#include "kernel.h"
#include "numeric/convert.h"
#include "numeric/dot.h"
#include "table.h"

#include <fmt/format.h>

#include <bit>
#include <ctime>
#include <map>
#include <random>

namespace lemma::bench {
namespace {

using numeric::DotModel;
using numeric::FloatFormat;

constexpr int kColumns = 256, kRowBytes = 32, kWarpRows = 16;
constexpr size_t kSharedBytes = 40960; // A: 64 lines of 128 bytes, B: 256
constexpr uint32_t kRounds = 50;
constexpr int kInChain = 4; // 32-byte steps along K in a line

struct WgmmaForm {
  std::string name, spelling; // after the shape
  int k = 0;
  DotModel model;
  bool is_float = true;
  bool a_in_registers = false;
  int transposes = 0; // trailing operands
};

DotModel float_model(FloatFormat format, int k) {
  return *numeric::dot_model(numeric::Arch::sm_90, numeric::DotUnit::wgmma, format, format, FloatFormat::f32,
                             FloatFormat::f32, k);
}

// Elements between -1 and 1, or any integers.
std::vector<uint32_t> random_elements(const WgmmaForm& form, size_t bytes) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<uint32_t> words(bytes / 4);
  const int bits = kRowBytes * 8 / form.k;
  for (uint32_t& word : words)
    for (int at = 0; at < 32; at += bits) {
      const uint64_t value = form.is_float
                                 ? numeric::convert_float(form.model.a, FloatFormat::f32,
                                                          std::bit_cast<uint32_t>(uniform(generator)))
                                 : generator() & ((1u << bits) - 1);
      word |= static_cast<uint32_t>(value) << at;
    }
  return words;
}

std::string kernel_text(const WgmmaForm& form) {
  std::string text = header() + fmt::format(R"(
.visible .entry k(.param .u64 p_in, .param .u64 p_out, .param .u32 p_rounds) {{
  .reg .pred %p;
  .reg .b32 %t, %i, %n, %s, %x, %a<4>;
  .reg .b64 %in, %out, %da, %db, %e, %f;
  .reg .b32 %d<{0}>;
  .shared .align 1024 .b8 smem[{1}];
  ld.param.u64 %in, [p_in];
  ld.param.u64 %out, [p_out];
  ld.param.u32 %n, [p_rounds];
  mov.u32 %t, %tid.x;
  mov.u32 %s, smem;
  shr.u32 %x, %s, 4;
  cvt.u64.u32 %e, %x;
  or.b64 %da, %e, {2:#x};
  add.u64 %db, %da, 512;
  mad.lo.u32 %s, %t, 4, %s;
  mad.wide.u32 %in, %t, 4, %in;
  mad.wide.u32 %out, %t, 4, %out;
  mov.u32 %i, 0;
FILL:
  ld.global.b32 %x, [%in];
  st.shared.b32 [%s], %x;
  add.u32 %s, %s, 512;
  add.u64 %in, %in, 512;
  add.u32 %i, %i, 512;
  setp.lt.u32 %p, %i, {1};
  @%p bra FILL;
  fence.proxy.async;
  bar.sync 0;
)",
                                            kColumns / 2, kSharedBytes,
                                            uint64_t{1} << 62 | uint64_t{64} << 32 | uint64_t{1} << 16);
  for (int i = 0; i < 4; ++i)
    text += fmt::format("  mov.b32 %a{}, %x;\n", i);
  std::string d;
  for (int i = 0; i < kColumns / 2; ++i) {
    text += fmt::format("  mov.b32 %d{}, 0;\n", i);
    d += fmt::format("{}%d{}", i == 0 ? "" : ", ", i);
  }
  text += "  mov.u32 %i, 0;\nLOOP:\n  wgmma.fence.sync.aligned;\n";
  std::string immediates = form.is_float ? ", 1, 1" : "";
  for (int i = 0; i < form.transposes - (form.a_in_registers ? 1 : 0); ++i)
    immediates += ", 0";
  for (int i = 0; i < kInChain; ++i)
    text += fmt::format("  add.u64 %e, %da, {};\n  add.u64 %f, %db, {};\n"
                        "  wgmma.mma_async.sync.aligned.m64n{}k{}.{} {{{}}}, {}, %f, 1{};\n",
                        2 * i, 2 * i, kColumns, form.k, form.spelling, d,
                        form.a_in_registers ? "{%a0, %a1, %a2, %a3}" : "%e", immediates);
  return text + R"(  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %n;
  @%p bra LOOP;
  st.global.b32 [%out], %d0;
  ret;
}
)";
}

// The rate of the arithmetic alone, by form, as far as it has been measured in this run.
std::map<std::string, double>& dot_rates() {
  static std::map<std::string, double> rates;
  return rates;
}

void compare_to_peak(benchmark::State& state, const WgmmaForm& form) {
  if (form.is_float)
    compare(state, host_fma_peak_gflops(), "the host's f32 fma peak", "GFLOP");
  else
    compare(state, host_int8_peak_gops(), "the host's int8 peak", "GOP");
}

// The rows of `warps` warps: of four as they take turns, of one again and again, its accumulators in the
// nearest cache and B arranged before.
void run_dot(benchmark::State& state, const WgmmaForm& form, int warps) {
  const int rows = warps * kWarpRows;
  const auto aligned = [&](size_t bytes) {
    const std::vector<uint32_t> words = random_elements(form, bytes);
    return Array<uint32_t>(words.begin(), words.end());
  };
  const Array<uint32_t> a = aligned(static_cast<size_t>(rows * kRowBytes)),
                        b = aligned(size_t{kColumns} * kRowBytes);
  Array<uint32_t> d(static_cast<size_t>(rows * kColumns));
  const numeric::DotPlan plan(form.model, {kWarpRows, kColumns, form.k});
  numeric::DotScratch scratch;
  numeric::ArrangedB arranged;
  double flops = 0;
  benchmark::IterationCount rounds = 0;
  const std::clock_t before = std::clock();
  for (auto _ : state) {
    // The accumulators start anew, so that they stay in the products' range.
    numeric::DotTile tile{
        .a = a.data(), .b = b.data(), .c = rounds++ % 64 == 0 ? nullptr : d.data(), .d = d.data()};
    if (warps == 4) {
      dot_of_warpgroup(plan, tile, arranged, scratch);
    } else {
      if (rounds == 1)
        arranged.arrange(plan, tile);
      tile.arranged_b = &arranged;
      numeric::dot(plan, tile, scratch);
    }
    flops += 2.0 * rows * kColumns * form.k;
  }
  const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  if (warps == 4)
    dot_rates()[form.name] = flops / seconds * 1e-9;
  const std::string unit = form.is_float ? "GFLOP" : "GOP";
  set_rate(state, flops * 1e-9, unit);
  compare_to_peak(state, form);
}

void run_wgmma(benchmark::State& state, const WgmmaForm& form, const std::string& alone) {
  Kernel kernel(kernel_text(form), "k");
  kernel.launch.block = {128, 1, 1};
  const uint64_t in = kernel.allocate(random_elements(form, kSharedBytes));
  kernel.params = pack_params(in, kernel.allocate(uint64_t{128} * 4), kRounds);
  double flops = 0;
  for (auto _ : state)
    flops += static_cast<double>(*kernel.run().matrix_flops);
  require_vector_paths(state, kernel.stats().matrix_outputs.value());
  const std::string unit = form.is_float ? "GFLOP" : "GOP";
  set_rate(state, flops * 1e-9, unit);
  const auto rate = dot_rates().find(alone);
  if (rate != dot_rates().end())
    compare(state, rate->second, "the arithmetic alone", unit);
  else
    compare_to_peak(state, form);
}

std::vector<WgmmaForm> forms() {
  return {{"f32.f16 k16", "f32.f16.f16", 16, float_model(FloatFormat::f16, 16), true, false, 2},
          {"f32.bf16 k16", "f32.bf16.bf16", 16, float_model(FloatFormat::bf16, 16), true, false, 2},
          {"f32.tf32 k8", "f32.tf32.tf32", 8, float_model(FloatFormat::tf32, 8), true, false, 0},
          {"f32.e4m3 k32", "f32.e4m3.e4m3", 32, float_model(FloatFormat::e4m3, 32), true, false, 0},
          {"s32.s8 k32", "s32.s8.s8", 32,
           numeric::dot_model_integer(numeric::IntegerFormat::s8, numeric::IntegerFormat::s8, false), false,
           false, 0}};
}

} // namespace

void register_wgmma() {
  for (const WgmmaForm& form : forms()) {
    for (const auto& [warps, tile] : {std::pair{1, "16x256"}, std::pair{4, "4 x 16x256"}})
      benchmark::RegisterBenchmark(
          fmt::format("wgmma/dot {} {}", tile, form.name).c_str(),
          [form, warps = warps](benchmark::State& state) { run_dot(state, form, warps); });
    benchmark::RegisterBenchmark(fmt::format("wgmma/m64n256 {}", form.name).c_str(),
                                 [form](benchmark::State& state) { run_wgmma(state, form, form.name); });
    WgmmaForm registers = form;
    registers.a_in_registers = true;
    if (form.k != 16)
      continue;
    benchmark::RegisterBenchmark(
        fmt::format("wgmma/m64n256 {}, A in registers", form.name).c_str(),
        [registers](benchmark::State& state) { run_wgmma(state, registers, registers.name); });
  }
}

} // namespace lemma::bench
