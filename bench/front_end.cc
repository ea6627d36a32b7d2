// The way from PTX text to decoded code, in megabytes of text per second: parsing, verifying, decoding.
//
// Two texts: the GEMM example as nvcc wrote it, its kernel many times under many names; and one kernel of
// many instructions and basic blocks, which shows what is not linear in a function's size. And both with 10^6
// instructions, as `lemma verify` reads them, and as `lemma run` takes them to launch a kernel that is over
// at once: time and the most memory of the process.
#include "kernel.h"
#include "moment.h"
#include "process.h"
#include "ptx/parser.h"
#include "table.h"
#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace lemma::bench {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

constexpr int kKernelInstructions = 401; // of examples/gemm_mma

std::string many_kernels(int count) {
  const std::string text = read_file(LEMMA_EXAMPLES "/gemm_mma/gemm_mma.ptx");
  const size_t begin = text.find(".visible .entry"), end = text.find("\n}\n", begin) + 3;
  std::string out = text.substr(0, begin);
  for (int i = 0; i < count; ++i) {
    std::string kernel = text.substr(begin, end - begin);
    replace_all(kernel, "gemm_mma", fmt::format("gemm_{}", i));
    out += kernel;
  }
  return out + text.substr(end); // the .file directives
}

constexpr int kBlocks = 2000;
constexpr int kBlockInstructions = 6;

std::string one_kernel(int blocks) {
  std::string out = header() + fmt::format(".visible .entry k(.param .u64 p) {{\n  .reg .pred %p<4>;\n"
                                           "  .reg .b32 %r<{}>;\n  .reg .b64 %rd<4>;\n"
                                           "  ld.param.u64 %rd0, [p];\n  mov.u32 %r0, %tid.x;\n",
                                           blocks + 1);
  for (int i = 0; i < blocks; ++i)
    out += fmt::format("  add.s32 %r{1}, %r{0}, {2};\n  setp.lt.s32 %p1, %r{1}, {2};\n  @%p1 bra L{2};\n"
                       "  mul.lo.s32 %r{1}, %r{1}, 5;\n  st.global.u32 [%rd0+{3}], %r{1};\nL{2}:\n"
                       "  xor.b32 %r{1}, %r{1}, %r{0};\n",
                       i, i + 1, i, 4 * i);
  return out + "  ret;\n}\n";
}

void add(const std::string& what, const std::string& text) {
  const auto source = std::make_shared<const SourceText>("benchmark.ptx", text);
  const std::shared_ptr<const ptx::Module> module = load_module("benchmark.ptx", text);
  const double megabytes = 1e-6 * static_cast<double>(text.size());
  const auto rate = [megabytes](benchmark::State& state) {
    set_rate(state, static_cast<double>(state.iterations()) * megabytes, "MB");
  };
  benchmark::RegisterBenchmark(("front end/parse, " + what).c_str(), [=](benchmark::State& state) {
    for (auto _ : state)
      benchmark::DoNotOptimize(ptx::parse(source));
    rate(state);
  });
  benchmark::RegisterBenchmark(("front end/verify, " + what).c_str(), [=](benchmark::State& state) {
    for (auto _ : state)
      benchmark::DoNotOptimize(verify::verify(*module));
    rate(state);
  });
  benchmark::RegisterBenchmark(("front end/decode, " + what).c_str(), [=](benchmark::State& state) {
    for (auto _ : state) {
      vgpu::GlobalMemory memory;
      benchmark::DoNotOptimize(vgpu::Program::load(module, memory, vgpu::Arch{90}));
    }
    rate(state);
  });
}

// Instructions of the texts that processes read.
int million() {
  return in_full_or(1'000'000, 10'000);
}

// Of three runs the median time and memory.
void add_process(const std::string& what, const std::string& command, std::string (*text)()) {
  const auto measure = [=](benchmark::State& state, double ProcessCost::* cost, const char* unit) {
    const std::string path =
        std::filesystem::temp_directory_path() / fmt::format("lemma_bench.{}.ptx", getpid());
    std::ofstream(path) << text() << ".visible .entry at_once() {\n  ret;\n}\n";
    Command words{LEMMA_CLI, command, path};
    if (command == "run")
      words.insert(words.end(), {"--entry", "at_once", "--grid", "1", "--block", "1"});
    std::vector<double> costs;
    for (auto _ : state)
      for (int i = 0; i < 3; ++i)
        if (const auto run_cost = run(words))
          costs.push_back(*run_cost.*cost);
    std::filesystem::remove(path);
    if (costs.size() != 3)
      return state.SkipWithError("FAILED: lemma refuses the text");
    std::sort(costs.begin(), costs.end());
    set_amount(state, costs[1], unit);
  };
  const std::string name = fmt::format("front end/lemma {}, 10^6, {}", command, what);
  if (command == "run")
    benchmark::RegisterBenchmark((name + ", wall").c_str(), [measure](benchmark::State& state) {
      measure(state, &ProcessCost::wall_ms, "ms");
    })->Iterations(1);
  benchmark::RegisterBenchmark((name + ", CPU").c_str(), [measure](benchmark::State& state) {
    measure(state, &ProcessCost::cpu_ms, "ms");
  })->Iterations(1);
  benchmark::RegisterBenchmark((name + ", memory").c_str(), [measure](benchmark::State& state) {
    measure(state, &ProcessCost::peak_mb, "MB");
  })->Iterations(1);
}

} // namespace

void register_front_end() {
  add("50 kernels of nvcc", many_kernels(50));
  add(fmt::format("one of {} instructions", kBlockInstructions * kBlocks), one_kernel(kBlocks));
  for (const char* command : {"verify", "run"}) {
    add_process("nvcc", command, [] { return many_kernels(million() / kKernelInstructions + 1); });
    add_process("one", command, [] { return one_kernel(million() / kBlockInstructions); });
  }
}

} // namespace lemma::bench
