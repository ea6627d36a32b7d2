// `lemma bench`: how long the kernels of a program take, by CUDA events, and its matrix products beside
// cuBLAS's.
//
//   the words  ->  products, or a file    bench_products.h
//   the program runs once                 bench_program.h
//   its launches, in turns with cuBLAS's  bench_measure.h
//   a row each                            bench_output.h
//
// Tests: tests/cli/bench_cli_test.py.
#include "bench_measure.h"
#include "bench_output.h"
#include "bench_products.h"
#include "bench_program.h"
#include "command.h"
#include "run_arguments.h"

#include "lemma/timing.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lemma::cli {
namespace {

constexpr const char* kFooter =
    R"(The program runs once; then each kernel that it has launched is launched again and again, with the same arguments. What
is timed is kernels alone, no copies between host and device. A matrix product of known size (docs/matmul.md) takes turns
with the fastest of the first eight algorithms that cuBLAS's heuristics name, if its library can be opened:
libcublasLt.so.13 or .12, of the loader, CUDA's folder, or the Python that is found first. 8-bit floats have fast
accumulation on both sides. Without --arg, memrefs hold random elements: normal numbers, or any integers.
Examples:
  lemma bench --matmul bf16,f16,tf32,e4m3,s8 --sizes 2048,4096,8192,16384 --device cuda
  lemma bench product.mlir --device cuda --json
Exit status: 0 success; 1 a kernel faulted, or the file is rejected; 2 wrong command line; 3 no such device.)";

struct Words {
  ProgramWords program;
  BenchWords bench;
};

// One program: a row for each of its kernels and products.
Result<void, Stop> bench_program(const Device& device, const BenchProgram& program, RunArguments& given,
                                 const CublasLt* cublas, const std::string& why, const TimingOptions& options,
                                 BenchOutput& output) {
  auto memory = BenchMemory::make(device, program, given);
  if (!memory)
    return Unexpected<Stop>{std::move(memory).error()};
  auto run = run_once(device, program, **memory);
  if (!run)
    return Unexpected<Stop>{std::move(run).error()};
  std::optional<Matrices> matrices;
  if (program.shape && program.epilogue == "none") // what cuBLAS's is compared with
    matrices = Matrices{(*memory)->address(0), (*memory)->address(1), (*memory)->address(2)};
  for (const BenchGroup& group : run->groups) {
    // Where a copy of ours turns an operand, cuBLAS, which gets the order of the copy, needs other matrices.
    const bool turns = program.shape && group.shape && order_of(*group.shape) != order_of(*program.shape);
    auto result = measure(device, group, cublas, why, turns ? std::nullopt : matrices, options);
    if (!result)
      return Unexpected<Stop>{std::move(result).error()};
    output.add(group, *result);
  }
  return {};
}

Result<void, Stop> bench(const Words& words) {
  auto started = start(words.program, words.bench);
  if (!started)
    return Unexpected<Stop>{std::move(started).error()};
  auto& [options, programs, given, device] = *started;
  BenchOutput output(words.bench.json, device.info(), words.bench.l2);
  std::optional<CublasLt> cublas;
  std::string why = "--cublaslt none";
  if (words.bench.cublaslt != "none") {
    auto opened = CublasLt::open(device, words.bench.cublaslt);
    if (!opened && !words.bench.cublaslt.empty())
      return stop(std::move(opened).error());
    if (opened)
      cublas = *std::move(opened);
    else
      why = opened.error().text;
  }
  output.begin(cublas ? &*cublas : nullptr, why);
  for (const BenchProgram& program : programs) {
    auto done = bench_program(device, program, given, cublas ? &*cublas : nullptr, why, options, output);
    if (done)
      continue;
    // Of many products, one that cannot be made is a row that says so.
    if (programs.size() == 1 || done.error().error.kind == ErrorKind::device_lost)
      return done;
    output.skip(program.name, done.error().error.text);
  }
  output.finish();
  return {};
}

} // namespace

Command add_bench(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("bench", "time a program's kernels, and its matrix products beside cuBLAS's");
  const auto words = std::make_shared<Words>();
  add_program_options(*app, words->program);
  add_bench_options(*app, words->bench);
  app->add_option("--schedule,--matmul-schedule", words->program.schedule,
                  "how kernels of products are cut (docs/matmul.md)")
      ->type_name("NAME");
  app->add_option("--cublaslt", words->bench.cublaslt,
                  "where cuBLAS is (libcublasLt.so); none: not beside it")
      ->type_name("PATH");
  app->footer(kFooter);
  return {app, [words] { return show(words->bench.json, bench(*words)); }};
}

} // namespace lemma::cli
