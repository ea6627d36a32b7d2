// The way of tests/unit/vgpu/kernel.cc without the tests: parse, verify, load, launch with one worker, the
// machine an sm_90, or a later one that the module is for. A kernel that reads what was never written ends
// the benchmarks too: its rate would be that of reporting.
#include "kernel.h"

#include "check/checker.h"
#include "isa/target.h"
#include "lemma/engine.h"
#include "moment.h"
#include "ptx/parser.h"
#include "table.h"
#include "verify/verify.h"
#include "vgpu/engine/launch_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>

namespace lemma::bench {
namespace {

[[noreturn]] void give_up(const std::string& message) {
  fmt::print(stderr, "lemma_bench: {}\n", message);
  std::exit(1);
}

} // namespace

std::shared_ptr<const ptx::Module> load_module(std::string name, std::string text) {
  ptx::ParseOutcome outcome = ptx::parse(std::make_shared<SourceText>(std::move(name), std::move(text)));
  Diagnostics diagnostics = std::move(outcome.diagnostics);
  if (!has_errors(diagnostics))
    diagnostics = verify::verify(*outcome.module);
  if (has_errors(diagnostics))
    give_up(render(diagnostics, *outcome.module->source));
  return std::move(outcome.module);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    give_up("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::string header() {
  return ".version 8.6\n.target sm_90a\n.address_size 64\n";
}

Kernel::Kernel(std::string text, std::string_view name) {
  const auto module = load_module(std::string(name), std::move(text));
  const auto target = isa::parse_target(module->targets.front());
  auto program = vgpu::Program::load(module, memory_, vgpu::Arch{target ? std::max(target->sm, 90) : 90});
  if (!program)
    give_up(program.error().message);
  program_ = std::move(*program);
  const auto& functions = program_->module().functions;
  const auto entry = std::find_if(functions.begin(), functions.end(), [&](const ptx::Function& function) {
    return function.is_entry && function.name.find(name) != std::string::npos;
  });
  if (entry == functions.end())
    give_up(fmt::format("there is no kernel {}", name));
  entry_ = program_->find(entry->name);
  launch.workers = 1;
  const auto engine = engine_of_environment();
  if (!engine)
    give_up(engine.error().text);
  launch.engine = *engine;
}

Kernel::~Kernel() {
  for (const vgpu::Allocation* allocation : allocations_)
    leave({allocation->host, allocation->size_bytes});
}

uint64_t Kernel::allocate(uint64_t bytes) {
  allocations_.push_back(memory_.allocate(bytes, "benchmark"));
  return allocations_.back()->base;
}

uint64_t Kernel::allocate(std::span<const uint32_t> words) {
  const uint64_t address = allocate(words.size_bytes());
  std::memcpy(allocations_.back()->host, words.data(), words.size_bytes());
  return address;
}

const Stats& Kernel::run() {
  const std::string wrong = vgpu::check_launch(*program_, *entry_, launch, params.size());
  if (!wrong.empty())
    give_up(wrong);
  std::optional<check::Checker> checker;
  std::vector<vgpu::Observer*> observers;
  if (launch.check)
    observers.push_back(&checker.emplace());
  const Report report =
      vgpu::run_launch(*program_, *entry_, memory_, launch, params, {.observers = std::move(observers)});
  if (!report.ok())
    give_up(report.fault->message);
  if (checker && !checker->findings().empty())
    give_up("a benchmark's kernel has findings: " + checker->findings().front().message);
  if (checker) {
    check::ShadowSize size = checker->sizes().global;
    size += checker->sizes().shared;
    remembered = static_cast<double>(size.remembered_bytes) / static_cast<double>(size.accessed_bytes);
  }
  if (report.uninitialized_reads)
    give_up("a benchmark's kernel reads what was never written");
  stats_ = report.stats;
  return stats_;
}

double seconds_of(Kernel& kernel) {
  const auto begin = std::chrono::steady_clock::now();
  kernel.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double cpu_seconds_of(Kernel& kernel) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  kernel.run();
  return now() - begin;
}

void run_on_all_cores(benchmark::State& state, Kernel& kernel, double work, const std::string& unit) {
  double of_one = 0, of_all = 0;
  for (auto _ : state)
    for (const unsigned workers : {1u, 0u}) {
      kernel.launch.workers = workers;
      (workers == 1 ? of_one : of_all) += seconds_of(kernel);
    }
  work *= static_cast<double>(state.iterations());
  set_value(state, work / of_all, unit);
  compare(state, work / of_one, "one worker", unit);
}

} // namespace lemma::bench
