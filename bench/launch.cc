// What a launch costs beside the work of its CTAs: launches of next to nothing, one after the other, by the
// public API, of C++ and of C.
#include "table.h"

#include "lemma/c.h"
#include "lemma/device.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

namespace lemma::bench {
namespace {

constexpr const char* kText = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r, %ctaid.x;
  mul.wide.u32 %rd2, %r, 4;
  add.u64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r;
  ret;
}
)";

// A launch after the first: what starts with the first, threads for one, is there.
void run_launches(benchmark::State& state, uint32_t ctas) {
  const auto device = Device::open("cpu");
  const auto module = device->load_ptx(kText);
  const auto kernel = module->kernel();
  const auto out = device->allocate(uint64_t{4} * ctas);
  const auto launch = [&] {
    const auto report = kernel->launch({.grid = {ctas}, .block = {32}}, {*out});
    if (!report || !report->ok())
      std::abort();
  };
  launch();
  for (auto _ : state)
    launch();
  set_rate(state, static_cast<double>(state.iterations()) * 1e-3, "k launches");
}

// The same from C, where the report becomes a tree: by a module of two kernels, in turns.
void run_c_launches(benchmark::State& state, uint32_t ctas, uint32_t threads, uint32_t shared_bytes) {
  lemma_device* device = nullptr;
  lemma_module* module = nullptr;
  uint64_t out = 0;
  const std::string text = std::string(kText) + ".visible .entry other() { ret; }\n";
  const auto check = [](const lemma_error* error) {
    if (error)
      std::abort();
  };
  check(lemma_device_open("cpu", nullptr, &device));
  check(lemma_module_load(device, text.c_str(), text.size(), nullptr, &module));
  check(lemma_allocate(device, uint64_t{4} * ctas, nullptr, &out));
  lemma_launch_config config = LEMMA_SIZED(lemma_launch_config);
  config.grid[0] = ctas;
  config.block[0] = threads;
  config.shared_bytes = shared_bytes;
  const lemma_bytes argument = {&out, sizeof out};
  const auto launch = [&](const char* kernel, size_t arguments) {
    const lemma_report* report = nullptr;
    check(lemma_launch(module, kernel, &config, &argument, arguments, &report));
    if (report->outcome != LEMMA_OUTCOME_FINISHED)
      std::abort();
    lemma_report_release(report);
  };
  launch("k", 1);
  for (auto _ : state) {
    launch("k", 1);
    launch("other", 0);
  }
  lemma_module_unload(module);
  lemma_device_close(device);
  set_rate(state, static_cast<double>(state.iterations()) * 2e-3, "k launches");
}

} // namespace

void register_launch() {
  for (const uint32_t ctas : {1u, 2u, 16u, 128u})
    benchmark::RegisterBenchmark(fmt::format("launch/{} CTA{} of a warp", ctas, ctas == 1 ? "" : "s").c_str(),
                                 [ctas](benchmark::State& state) { run_launches(state, ctas); })
        ->UseRealTime();
  benchmark::RegisterBenchmark("launch/C API: 1 CTA of a warp", run_c_launches, 1, 32, 0)->UseRealTime();
  benchmark::RegisterBenchmark("launch/C API: 8 CTAs of 256 threads, 48 KiB", run_c_launches, 8, 256,
                               48 << 10)
      ->UseRealTime();
}

} // namespace lemma::bench
