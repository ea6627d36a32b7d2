// Lemma's benchmarks, one table; see docs/benchmarks.md.
//
//   lemma_bench                                       all
//   lemma_bench --benchmark_filter=matrix/            one group
//   lemma_bench --benchmark_min_time=2                longer, steadier
//   lemma_bench --benchmark_out=bench.json            Google Benchmark's own output beside the table
#include "table.h"

namespace lemma::bench {
void register_scalar();
void register_kernels();
void register_dot();
void register_matrix();
void register_wgmma();
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

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  lemma::bench::register_scalar();
  lemma::bench::register_kernels();
  lemma::bench::register_dot();
  lemma::bench::register_matrix();
  lemma::bench::register_wgmma();
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
  return table.failed() ? 1 : 0;
}
