// What a launch costs beside the work of its CTAs: launches of next to nothing, one after the other, by the
// public API, of C++ and of C; and in streams, with copies and events. And what many CTAs that do little cost
// all cores, beside one worker.
#include "kernel.h"
#include "table.h"

#include "lemma/c.h"
#include "lemma/device.h"
#include "lemma/stream.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

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

// One addition a thread to 2^20 numbers, in CTAs of so many threads: all cores, in turns with one worker.
void run_small_ctas(benchmark::State& state, uint32_t threads) {
  constexpr uint32_t kNumbers = 1 << 20;
  Kernel kernel(header() + R"(.visible .entry add(.param .u64 data) {
  .reg .b32 %r<5>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r1, %r2, %r3, %r1;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd1, %rd1, %rd2;
  ld.global.u32 %r4, [%rd1];
  add.u32 %r4, %r4, 1;
  st.global.u32 [%rd1], %r4;
  ret;
}
)",
                "add");
  kernel.params = pack_params(kernel.allocate(uint64_t{4} * kNumbers));
  kernel.launch.grid = {kNumbers / threads, 1, 1};
  kernel.launch.block = {threads, 1, 1};
  run_on_all_cores(state, kernel, kernel.launch.grid[0] * 1e-6, "M CTAs");
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

// What is given to streams: so many launches to each of several, then a wait for them all.
void run_stream_launches(benchmark::State& state, size_t streams, int launches) {
  const auto device = Device::open("cpu");
  const auto module = device->load_ptx(kText);
  const auto kernel = module->kernel();
  std::vector<Stream> all;
  std::vector<Buffer> out;
  for (size_t i = 0; i < streams; ++i) {
    all.push_back(device->create_stream());
    out.push_back(*device->allocate(4));
  }
  for (auto _ : state) {
    for (int launch = 0; launch < launches; ++launch)
      for (size_t i = 0; i < streams; ++i)
        if (!all[i].launch(*kernel, {.block = {32}}, {out[i]}))
          std::abort();
    if (!device->synchronize())
      std::abort();
  }
  set_rate(state, static_cast<double>(state.iterations()) * 1e-3 * launches * static_cast<double>(streams),
           "k launches");
}

void run_stream_copies(benchmark::State& state, size_t bytes) {
  constexpr int kCopies = 16;
  const auto device = Device::open("cpu");
  const auto memory = device->allocate(bytes);
  const Stream stream = device->create_stream();
  const std::vector<std::byte> source(bytes);
  for (auto _ : state) {
    for (int i = 0; i < kCopies; ++i)
      if (!stream.write(memory->address(), source))
        std::abort();
    if (!stream.synchronize())
      std::abort();
  }
  set_rate(state, static_cast<double>(state.iterations()) * kCopies * static_cast<double>(bytes) * 1e-9,
           "GB");
}

// Two streams that wait for each other's events in turns.
void run_stream_events(benchmark::State& state) {
  constexpr int kRounds = 1000;
  const auto device = Device::open("cpu");
  const Stream a = device->create_stream(), b = device->create_stream();
  for (auto _ : state) {
    for (int i = 0; i < kRounds; ++i)
      if (!b.wait(*a.record()) || !a.wait(*b.record()))
        std::abort();
    if (!device->synchronize())
      std::abort();
  }
  set_rate(state, static_cast<double>(state.iterations()) * 2e-3 * kRounds, "k events");
}

} // namespace

void register_launch() {
  for (const uint32_t ctas : {1u, 2u, 16u, 128u})
    benchmark::RegisterBenchmark(fmt::format("launch/{} CTA{} of a warp", ctas, ctas == 1 ? "" : "s").c_str(),
                                 [ctas](benchmark::State& state) { run_launches(state, ctas); })
        ->UseRealTime();
  for (const uint32_t threads : {64u, 256u})
    benchmark::RegisterBenchmark(fmt::format("launch/CTAs of {} threads, all cores", threads).c_str(),
                                 run_small_ctas, threads)
        ->UseRealTime();
  benchmark::RegisterBenchmark("stream/a launch, then a wait", run_stream_launches, 1, 1)->UseRealTime();
  benchmark::RegisterBenchmark("stream/1000 launches, then a wait", run_stream_launches, 1, 1000)
      ->UseRealTime();
  benchmark::RegisterBenchmark("stream/250 launches in each of 4, then a wait", run_stream_launches, 4, 250)
      ->UseRealTime();
  benchmark::RegisterBenchmark("stream/copies of 4 KiB", run_stream_copies, 4096)->UseRealTime();
  benchmark::RegisterBenchmark("stream/copies of 16 MiB", run_stream_copies, 16 << 20)->UseRealTime();
  benchmark::RegisterBenchmark("stream/events that two wait for in turns", run_stream_events)->UseRealTime();
  benchmark::RegisterBenchmark("launch/C API: 1 CTA of a warp", run_c_launches, 1, 32, 0)->UseRealTime();
  benchmark::RegisterBenchmark("launch/C API: 8 CTAs of 256 threads, 48 KiB", run_c_launches, 8, 256,
                               48 << 10)
      ->UseRealTime();
}

} // namespace lemma::bench
