// What a launch costs beside the work of its CTAs: launches of next to nothing, one after the other, by the
// public API.
#include "table.h"

#include "lemma/device.h"

#include <fmt/format.h>

#include <cstdlib>

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

} // namespace

void register_launch() {
  for (const uint32_t ctas : {1u, 2u, 16u, 128u})
    benchmark::RegisterBenchmark(fmt::format("launch/{} CTA{} of a warp", ctas, ctas == 1 ? "" : "s").c_str(),
                                 [ctas](benchmark::State& state) { run_launches(state, ctas); })
        ->UseRealTime();
}

} // namespace lemma::bench
