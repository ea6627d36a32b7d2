// Lemma's benchmarks, one table; see docs/benchmarks.md.
//
//   lemma_bench                                       all
//   lemma_bench --benchmark_filter=matrix/            one group
//   lemma_bench --benchmark_min_time=2                longer, steadier
//   lemma_bench --benchmark_out=bench.json            Google Benchmark's own output beside the table
//   lemma_bench --host-level=avx2                     lane kernels as on hosts without AVX-512
//   lemma_bench --moment                              each row once: does it run, is its result right?
//   (moment.h)
#include "moment.h"
#include "table.h"

#include "vgpu/handlers/arithmetic/levels.h"

#include <string_view>
#include <vector>

namespace lemma::bench {
void register_scalar();
void register_kernels();
void register_dot();
void register_matrix();
void register_wgmma();
void register_tcgen05();
void register_front_end();
void register_start();
void register_gemm();
void register_gemm_hopper();
void register_gemm_triton();
void register_attention();
void register_check();
void register_compile();
void register_launch();
} // namespace lemma::bench

namespace {

// False: the host has no such level.
bool take_host_level(std::string_view name) {
  for (const lemma::vgpu::HostLevel level : lemma::vgpu::host_levels())
    if (to_string(level) == name) {
      lemma::vgpu::set_host_level(level);
      return true;
    }
  return false;
}

// Takes --moment, --host-level=LEVEL and --write FILE out of the arguments; a moment is Google Benchmark's
// shortest time.
std::vector<char*> without_own_options(int argc, char** argv) {
  static char shortest[] = "--benchmark_min_time=0";
  std::vector<char*> rest;
  bool moment = false;
  std::string write_to;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--moment")
      moment = true;
    else if (constexpr std::string_view kLevel = "--host-level=";
             word.starts_with(kLevel) && take_host_level(word.substr(kLevel.size())))
      continue;
    else if (word == "--write" && i + 1 < argc)
      write_to = argv[++i];
    else
      rest.push_back(argv[i]);
  }
  if (moment) {
    lemma::bench::begin_moment(write_to);
    rest.push_back(shortest);
  }
  return rest;
}

} // namespace

int main(int argc, char** argv) {
  std::vector<char*> arguments = without_own_options(argc, argv);
  argc = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  argv = arguments.data();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  lemma::bench::register_scalar();
  lemma::bench::register_kernels();
  lemma::bench::register_dot();
  lemma::bench::register_matrix();
  lemma::bench::register_wgmma();
  lemma::bench::register_tcgen05();
  lemma::bench::register_front_end();
  lemma::bench::register_start();
  lemma::bench::register_launch();
  lemma::bench::register_gemm();
  lemma::bench::register_gemm_hopper();
  lemma::bench::register_gemm_triton();
  lemma::bench::register_attention();
  lemma::bench::register_check();
  lemma::bench::register_compile();
  lemma::bench::TableReporter table;
  benchmark::RunSpecifiedBenchmarks(&table);
  benchmark::Shutdown();
  lemma::bench::end_moment();
  return table.failed() ? 1 : 0;
}
