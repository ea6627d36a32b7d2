// The time from .mlir to PTX, as a whole process: `lemma compile` of a wgmma GEMM's kernel, beside upstream's
// own pipeline for the same file; and of products as linalg.matmul, whose kernels Lemma writes, for which
// upstream has nothing. The programs take turns, so that what else the machine does meets all alike; the
// table has the medians of wall time and of CPU time.
//
// Without mlir-opt of LLVM 22 its rows say so, and lemma has nothing to be compared with.
#include "moment.h"
#include "process.h"
#include "table.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace lemma::bench {
namespace {

int turns() {
  return in_full_or(21, 1);
}
constexpr const char* kFile = LEMMA_BENCH "/gemm_128x128x128.mlir";
constexpr const char* kProduct = "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"; // in its PTX

// Whether the command makes the GEMM's PTX: its products are in what it writes.
bool compiles(Command command, const std::string& product) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("lemma_bench." + std::to_string(getpid()));
  command.insert(command.end(), {"-o", path});
  const bool ran = run(command).has_value();
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  return ran && text.str().find(product) != std::string::npos;
}

struct Contender {
  std::string name;
  Command command;
  std::string product{}; // in the PTX that it makes; empty: it makes none
  bool has_rival = true; // upstream's pipeline does the same
  std::string skipped{}; // why; empty if it is not
  ProcessCost median{};
};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

std::vector<Contender> contenders() {
  std::vector<Contender> all{
      {.name = "lemma compile", .command = {LEMMA_CLI, "compile", kFile}, .product = kProduct},
      {.name = "mlir-opt 22",
       .command = {LEMMA_MLIR_OPT, kFile,
                   "--gpu-lower-to-nvvm-pipeline=cubin-chip=sm_90a cubin-features=+ptx80 cubin-format=isa"},
       .product = kProduct},
      {.name = "mlir-opt 22, only read and print", .command = {LEMMA_MLIR_OPT, kFile}}};
  const std::pair<const char*, const char*> products[] = {
      {"matmul_4096", "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"},
      {"matmul_8192_tf32", "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32"},
      {"matmul_8192_s8", "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8"},
      {"matmul_8192_f64", "mma.sync.aligned.m16n8k8.row.col.f64"}};
  for (const auto& [file, product] : products)
    all.push_back(
        {.name = std::string("lemma compile, ") + file,
         .command = {LEMMA_CLI, "compile", std::string(LEMMA_BENCH "/") + file + ".mlir", "--allow-tf32"},
         .product = product,
         .has_rival = false});
  return all;
}

// In turns; each first shows that it does the work.
std::vector<Contender> measure() {
  std::vector<Contender> all = contenders();
  for (Contender& contender : all)
    if (!std::filesystem::exists(contender.command[0]))
      contender.skipped = "skipped: no " + contender.name;
    else if (contender.command[0] == LEMMA_CLI && !LEMMA_CLI_HAS_MLIR)
      contender.skipped = "skipped: lemma was built without MLIR";
    else if (!contender.product.empty() && !compiles(contender.command, contender.product))
      contender.skipped = contender.name + " makes no PTX with " + contender.product;
  std::vector<std::vector<ProcessCost>> times(all.size());
  for (int turn = 0; turn < turns(); ++turn)
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].skipped.empty())
        if (const auto one = run(all[i].command))
          times[i].push_back(*one);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].skipped.empty() && times[i].size() < static_cast<size_t>(turns()))
      all[i].skipped = all[i].name + " fails now and then";
    if (!all[i].skipped.empty())
      continue;
    std::vector<double> wall, cpu;
    for (const ProcessCost& one : times[i]) {
      wall.push_back(one.wall_ms);
      cpu.push_back(one.cpu_ms);
    }
    all[i].median = {median(wall), median(cpu)};
  }
  return all;
}

const std::vector<Contender>& measured() {
  static const std::vector<Contender> all = measure();
  return all;
}

void report(benchmark::State& state, size_t which, double ProcessCost::* time) {
  for (auto _ : state)
    benchmark::DoNotOptimize(measured().data());
  const Contender& contender = measured()[which];
  const Contender& upstream = measured()[1];
  if (!contender.skipped.empty())
    state.SkipWithError(contender.skipped.c_str());
  else if (which == 1 || !contender.has_rival || !upstream.skipped.empty())
    set_time(state, contender.median.*time);
  else
    compare_time(state, contender.median.*time, upstream.median.*time, "mlir-opt 22");
}

} // namespace

void register_compile() {
  const std::vector<Contender> all = contenders();
  for (size_t i = 0; i < all.size(); ++i)
    for (const auto& [what, time] :
         {std::pair{"wall", &ProcessCost::wall_ms}, std::pair{"CPU", &ProcessCost::cpu_ms}})
      benchmark::RegisterBenchmark(("compile/" + all[i].name + ", " + what).c_str(),
                                   [=](benchmark::State& state) { report(state, i, time); })
          ->Iterations(1);
}

} // namespace lemma::bench
