// differential [--programs N] [--first SEED] [--jobs N] [--batch N] [--device cuda] [--optimization 4]
//              [--keep FOLDER] [--engine auto]
//
// Runs the defined programs of the seeds FIRST, FIRST + 1, ... on the virtual GPU and on another device, and
// compares all that they store, bit for bit. BATCH programs make a module; JOBS processes share the work. A
// program that differs or fails on a GPU is assembled again as it is written (LoadOptions::optimization 0):
// if it does not then, the assembler's optimizer has changed it; it is counted apart and left in FOLDER
// (optimized-SEED.ptx). Any other is reduced, statement by statement, and left in FOLDER (differs-SEED.ptx)
// with what each device stored. Ends with 1 if one differs so, or if nothing was compared.
//
// --device cpu compares compiled code of the virtual GPU with its interpreter, under another seed and with
// asynchronous operations late, and how many instructions both execute under the same; it needs no GPU.
// --device none only runs the programs, all of which must end well. differential --print SEED: the program.
#include "generate/defined.h"
#include "lemma/engine.h"
#include "lemma/lemma.h"
#include "numeric/hash.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace lemma;
using generate::DefinedProgram;

using Bytes = std::vector<std::byte>;

constexpr unsigned kAsWritten = 0, kOptimized = 4; // LoadOptions::optimization
constexpr size_t kOutputBytes = size_t{DefinedProgram::kThreads} * DefinedProgram::kOutputBytes;

struct Options {
  uint64_t programs = 1000;
  uint64_t first = 1;
  unsigned jobs = 1; // at most as many as Counts::work has
  uint64_t batch = 100;
  std::string device = "cuda";
  unsigned optimization = kOptimized;
  Engine engine = Engine::compiled; // of the virtual GPU
  std::filesystem::path keep = ".";
};

struct Counts { // shared by the processes
  std::atomic<uint64_t> next{0};
  std::atomic<uint64_t> compared{0};
  std::atomic<uint64_t> statements{0};
  std::atomic<uint64_t> differing{0};
  std::atomic<uint64_t> optimized{0}; // differ only when they are optimized
  std::atomic<uint64_t> failed{0};    // refused, or faults
  std::atomic<uint64_t> hash{0};      // of all outputs, in any order
  // What each process works on: the seeds [at, end). One that has lost its GPU ends, and another one goes on.
  struct Work {
    std::atomic<uint64_t> at{0}, end{0};
    std::atomic<bool> has_failed{false}; // the first one, on the GPU
  };
  std::array<Work, 256> work{};
};

constexpr int kLostTheGpu = 3; // exit status of a process: a failed launch leaves it no GPU

// What a program has done.
struct Outcome {
  Bytes stored;
  std::pair<uint64_t, uint64_t> executed; // warp instructions, and those of lanes; of a GPU none
};

// How the virtual GPU runs programs: the first of two, the one that it is compared with, and the same as the
// first by the interpreter.
enum class Way : uint8_t { first, other, interpreted };

// One device with the buffers of a program.
class Runner {
public:
  Engine first_engine = Engine::compiled;

  explicit Runner(Device device) : device_(std::move(device)) {
    in_ = take(device_.allocate(size_t{DefinedProgram::kThreads} * DefinedProgram::kInputBytes));
    out_ = take(device_.allocate(kOutputBytes));
  }

  // Empty on success.
  std::string load(const std::string& text, unsigned optimization) {
    auto module = device_.load_ptx(text, {.name = "defined.ptx", .optimization = optimization});
    if (!module) {
      std::string why = "refused: " + module.error().text;
      for (const Message& message : module.error().messages)
        why += fmt::format("\n  line {}: {}", message.line, message.text);
      return why;
    }
    module_ = std::move(*module);
    return {};
  }

  // What the program has done, or why not.
  Result<Outcome, std::string> run(const DefinedProgram& program, Way way) {
    auto kernel = module_->kernel(program.name());
    if (!kernel)
      return Unexpected<std::string>{kernel.error().text};
    if (!in_.copy_from(program.inputs()) || !out_.fill(0))
      return Unexpected<std::string>{"the device takes no memory"};
    LaunchConfig config{.block = {DefinedProgram::kThreads, 1, 1}, .max_instructions = 1000000, .workers = 1};
    config.engine = way == Way::first ? first_engine : Engine::interpreter;
    if (way == Way::other) {
      config.seed = 1;
      config.async = AsyncMode::late;
    }
    const auto report = kernel->launch(config, {in_, out_});
    if (!report)
      return Unexpected<std::string>{report.error().text};
    if (!report->ok())
      return Unexpected<std::string>{fmt::format(
          "{} at line {}: {}", report->fault ? to_string(report->fault->kind) : "fault",
          report->fault ? report->fault->place.ptx_line : 0, report->fault ? report->fault->message : "")};
    if (report->uninitialized_reads)
      return Unexpected<std::string>{"it reads what was never written: " +
                                     report->uninitialized.front().what};
    Outcome outcome{.stored = Bytes(kOutputBytes),
                    .executed = {report->stats.warp_instructions.value_or(0),
                                 report->stats.lane_instructions.value_or(0)}};
    if (!out_.copy_to(outcome.stored))
      return Unexpected<std::string>{"the device gives no memory back"};
    return outcome;
  }

private:
  template <class T>
  static T take(Result<T, Error> result) {
    if (!result) {
      fmt::print(stderr, "{}\n", result.error().text);
      std::exit(2);
    }
    return std::move(*result);
  }

  Device device_;
  Buffer in_, out_;
  std::optional<Module> module_;
};

class Comparison {
public:
  Comparison(const Options& options, Counts& counts, unsigned job)
      : options_(options), counts_(counts), job_(job), virtual_gpu_(open("cpu")) {
    virtual_gpu_.first_engine = options.engine;
    open_other();
  }

  void work() {
    Counts::Work& work = counts_.work[job_];
    for (;;) {
      if (work.has_failed) {
        DefinedProgram program(work.at);
        settle_failure(program);
        work.has_failed = false;
        ++work.at;
      }
      const uint64_t last = options_.first + options_.programs;
      if (work.at >= work.end) {
        work.at = counts_.next.fetch_add(options_.batch);
        work.end = std::min(last, work.at + options_.batch);
      }
      if (work.at >= last)
        return;
      std::vector<DefinedProgram> programs;
      for (uint64_t seed = work.at; seed < work.end; ++seed)
        programs.emplace_back(seed);
      compare_all(programs, work.at);
      work.at = work.end.load();
    }
  }

private:
  static Device open(const std::string& kind) {
    auto device = Device::open(kind);
    if (!device) {
      fmt::print(stderr, "{}\n", device.error().text);
      std::exit(2);
    }
    return std::move(*device);
  }

  void open_other() {
    other_.reset();
    if (options_.device != "none")
      other_.emplace(open(options_.device));
  }

  std::string load(std::span<const DefinedProgram> programs, unsigned optimization) {
    const std::string text = DefinedProgram::module_of(programs);
    if (std::string why = virtual_gpu_.load(text, optimization); !why.empty())
      return "the virtual GPU: " + why;
    if (other_)
      if (std::string why = other_->load(text, optimization); !why.empty())
        return options_.device + ": " + why;
    return {};
  }

  void compare_all(std::span<DefinedProgram> programs, uint64_t first) {
    if (const std::string why = load(programs, options_.optimization);
        !why.empty()) { // find which: one at a time
      for (size_t i = 0; i < programs.size(); ++i)
        if (programs.size() > 1)
          compare_all(programs.subspan(i, 1), first + i);
        else
          fail(programs[i], why);
      return;
    }
    for (size_t i = 0; i < programs.size(); ++i) {
      DefinedProgram& program = programs[i];
      counts_.statements += program.live_statements();
      const auto expected = virtual_gpu_.run(program, Way::first);
      if (!expected) {
        fail(program, "the virtual GPU: " + expected.error());
        continue;
      }
      counts_.hash += numeric::hash128(expected->stored.data(), expected->stored.size()).low;
      if (options_.device == "cpu" && !counts_as_interpreted(program, *expected))
        continue;
      if (!other_) {
        ++counts_.compared;
        continue;
      }
      const auto actual = other_->run(program, Way::other);
      if (!actual && options_.device != "cpu")
        give_up_the_gpu(first + i, actual.error());
      if (!actual) {
        fail(program, options_.device + ": " + actual.error());
        continue;
      }
      ++counts_.compared;
      if (actual->stored == expected->stored)
        continue;
      explain(program);
      (void)load(programs, options_.optimization);
    }
  }

  // The stored values of the program differ.
  void explain(DefinedProgram& program) {
    if (const auto said = difference(program); !said) {
      fail(program, options_.device + ": not to be compared as it is written");
    } else if (said->empty()) {
      ++counts_.optimized;
      keep("optimized", program, "");
    } else {
      reduce(program);
    }
  }

  // Whether the interpreter executes as many instructions; else it fails.
  bool counts_as_interpreted(const DefinedProgram& program, const Outcome& compiled) {
    const auto interpreted = virtual_gpu_.run(program, Way::interpreted);
    if (interpreted && interpreted->executed == compiled.executed)
      return true;
    fail(program, interpreted ? fmt::format("compiled code executes {} and {} instructions, the interpreter "
                                            "{} and {}",
                                            compiled.executed.first, compiled.executed.second,
                                            interpreted->executed.first, interpreted->executed.second)
                              : "the interpreter: " + interpreted.error());
    return false;
  }

  // After a launch that has failed a process has no GPU any more: another one goes on with that program.
  [[noreturn]] void give_up_the_gpu(uint64_t seed, const std::string& why) {
    fmt::print("k{}: {}: {}\n", seed, options_.device, why);
    std::fflush(stdout);
    counts_.work[job_].at = seed;
    counts_.work[job_].has_failed = true;
    _exit(kLostTheGpu);
  }

  // The program has failed on the GPU: does it as it is written?
  void settle_failure(const DefinedProgram& program) {
    if (const std::string why = load({&program, 1}, kAsWritten); !why.empty())
      return fail(program, why);
    const auto expected = virtual_gpu_.run(program, Way::first);
    const auto as_written = other_->run(program, Way::other);
    if (!expected || !as_written || as_written->stored != expected->stored) {
      fail(program, options_.device + ": it fails as it is written, too");
      return;
    }
    ++counts_.compared;
    ++counts_.optimized;
    keep("optimized", program, fmt::format("// {}: the launch fails\n", options_.device));
  }

  void fail(const DefinedProgram& program, const std::string& why) {
    ++counts_.failed;
    fmt::print("{}: {}\n  {}\n", program.name(), why, keep("fails", program, ""));
    std::fflush(stdout);
  }

  // The program as a file in the folder, `said` above it, and its input beside; the file's name.
  std::string keep(std::string_view how, const DefinedProgram& program, const std::string& said) {
    const auto path = options_.keep / fmt::format("{}-{}.ptx", how, program.name());
    std::ofstream(path) << said << DefinedProgram::module_of({&program, 1});
    const Bytes inputs = program.inputs();
    std::ofstream(std::filesystem::path(path).replace_extension("in"), std::ios::binary)
        .write(reinterpret_cast<const char*>(inputs.data()), static_cast<std::streamsize>(inputs.size()));
    return path.string();
  }

  // Where the outputs of the program as it is written first differ; empty: nowhere. None: one of them fails.
  std::optional<std::string> difference(const DefinedProgram& program) {
    if (!load({&program, 1}, kAsWritten).empty())
      return std::nullopt;
    const auto expected = virtual_gpu_.run(program, Way::first);
    const auto actual = other_->run(program, Way::other);
    if (!expected || !actual)
      return std::nullopt;
    std::string out;
    size_t words = 0;
    for (size_t at = 0; at < kOutputBytes; at += 4) {
      uint32_t a = 0, b = 0;
      std::memcpy(&a, expected->stored.data() + at, 4);
      std::memcpy(&b, actual->stored.data() + at, 4);
      if (a != b && ++words <= 8)
        out +=
            fmt::format("// thread {} {}: virtual GPU {:08x}, {} {:08x}\n", at / DefinedProgram::kOutputBytes,
                        DefinedProgram::output_name(static_cast<uint32_t>(at % DefinedProgram::kOutputBytes)),
                        a, options_.device, b);
    }
    return words ? fmt::format("// {} words differ\n", words) + out : std::string();
  }

  // Takes out every statement without which the devices still differ, until none can go.
  void reduce(DefinedProgram& program) {
    ++counts_.differing;
    std::string said = difference(program).value_or("");
    keep("differs", program, said);
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (generate::DefinedNode* node : program.nodes()) {
        if (!node->live)
          continue;
        node->live = false;
        if (const auto still = difference(program); still && !still->empty()) {
          said = *still;
          smaller = true;
        } else {
          node->live = true;
        }
      }
    }
    keep("reduced", program, said);
    std::string statements;
    for (const generate::DefinedNode* node : program.nodes())
      if (node->live)
        statements += node->before;
    fmt::print("{} differs; what is left of it:\n{}{}", program.name(), statements, said);
    std::fflush(stdout);
  }

  const Options& options_;
  Counts& counts_;
  unsigned job_;
  Runner virtual_gpu_;
  std::optional<Runner> other_;
};

// A process, which has a context of the driver's own.
pid_t start_process(const Options& options, Counts& counts, unsigned job) {
  const pid_t process = fork();
  if (process != 0)
    return process;
  Comparison(options, counts, job).work();
  std::fflush(stdout);
  _exit(0);
}

int run(const Options& options) {
  void* memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return 2;
  Counts& counts = *new (memory) Counts;
  counts.next = options.first;
  std::filesystem::create_directories(options.keep);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<pid_t> processes(options.jobs);
  for (unsigned job = 0; job < options.jobs; ++job) {
    processes[job] = start_process(options, counts, job);
  }
  bool well = true;
  for (unsigned job = 0; job < options.jobs; ++job) {
    int status = 0;
    for (;;) {
      waitpid(processes[job], &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != kLostTheGpu)
        break;
      processes[job] = start_process(options, counts, job);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      continue;
    well = false;
    fmt::print("the process of the batch from seed {} on ended with {} {}\n", counts.work[job].at.load(),
               WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{} programs of {} statements {} {} in {:.1f} s: {} differ, {} more when optimized, "
             "{} failed; outputs {:016x}{}\n",
             counts.compared.load(), counts.statements.load(),
             options.device == "none" ? "run on the virtual GPU" : "compared with", options.device, seconds,
             counts.differing.load(), counts.optimized.load(), counts.failed.load(), counts.hash.load(),
             well ? "" : "; a process did not end well");
  return well && counts.compared == options.programs && counts.differing == 0 && counts.failed == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const auto number = [&] { return std::strtoull(argv[i + 1], nullptr, 0); };
    if (name == "--programs")
      options.programs = number();
    else if (name == "--first")
      options.first = number();
    else if (name == "--jobs")
      options.jobs = static_cast<unsigned>(std::clamp<uint64_t>(number(), 1, Counts{}.work.size()));
    else if (name == "--batch")
      options.batch = std::max(1ull, number());
    else if (name == "--device")
      options.device = argv[i + 1];
    else if (name == "--optimization")
      options.optimization = static_cast<unsigned>(number());
    else if (name == "--engine")
      options.engine = engine_named(argv[i + 1]).value_or(Engine::compiled);
    else if (name == "--keep")
      options.keep = argv[i + 1];
    else if (name == "--print") {
      const DefinedProgram program(number());
      fmt::print("{}", DefinedProgram::module_of({&program, 1}));
      return 0;
    } else {
      fmt::print(stderr, "no option {}\n", name);
      return 2;
    }
  }
  return run(options);
}
