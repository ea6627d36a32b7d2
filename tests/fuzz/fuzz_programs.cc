// fuzz_programs [--programs N] [--first N] [--jobs N] [--seconds N] [--keep FOLDER] [--report FILE] [--target
// T]
//
// Runs the hostile programs of the seeds FIRST, FIRST + 1, ... in JOBS processes. A process that crashes,
// hangs or reports what should not be leaves the program and what was said in FOLDER (finding-SEED.ptx,
// finding-SEED.log), and another goes on. Prints how launches ended; FILE gets how often each handler and
// each form was executed. All programs are for the target T, or for several. Ends with 1 if there is a
// finding, or if nothing was executed.
//
// fuzz_programs [--target T] --print SEED: the program.
#include "execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <new>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace lemma;
using fuzz::ExecutionCounts;
using generate::Rng;

constexpr unsigned kLongestRun = 60;    // seconds of the processor for a program: more is a hang
constexpr unsigned kLongestWait = 600;  // ... by the clock, on a host that has more to do
constexpr size_t kMostFindings = 100;   // then there is enough to mend
constexpr uint64_t kOftenEnough = 1000; // executions of a handler

struct Options {
  uint64_t programs = 10000;
  uint64_t first = 1;
  unsigned jobs = 1;
  uint64_t seconds = 0; // 0: until all programs were run
  std::filesystem::path keep = ".";
  std::string report;
  std::string target; // of the programs; empty: several
};

struct Job {
  std::atomic<uint64_t> seed{0}; // of the program that runs
  ExecutionCounts counts;
};

// What the processes share.
struct Shared {
  std::atomic<uint64_t> next{0};
  std::atomic<bool> stop{false};
};

template <class T>
T* share(size_t count) {
  void* memory = mmap(nullptr, sizeof(T) * count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  return new (memory) T[count];
}

std::string log_of(const Options& options, size_t job) {
  return (options.keep / fmt::format("job-{}.log", job)).string();
}

[[noreturn]] void work(const Options& options, size_t index, Job& job, Shared& shared) {
  const int log = open(log_of(options, index).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (log >= 0)
    dup2(log, 2);
  while (!shared.stop.load()) {
    const uint64_t seed = shared.next.fetch_add(1);
    if (seed >= options.first + options.programs)
      break;
    job.seed.store(seed);
    const itimerval longest{.it_interval = {}, .it_value = {.tv_sec = kLongestRun, .tv_usec = 0}};
    setitimer(ITIMER_PROF, &longest, nullptr);
    alarm(kLongestWait);
    Rng rng(seed);
    if (const std::string failure = fuzz::check_execution(rng, job.counts, options.target);
        !failure.empty()) {
      fmt::print(stderr, "{}\n", failure);
      _exit(3);
    }
  }
  _exit(0);
}

pid_t start(const Options& options, size_t index, Job& job, Shared& shared) {
  const pid_t pid = fork();
  if (pid == 0)
    work(options, index, job, shared);
  return pid;
}

std::string ending_of(int status) {
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGPROF ? fmt::format("it ran for more than {} s", kLongestRun)
           : WTERMSIG(status) == SIGALRM
               ? fmt::format("it waited for more than {} s", kLongestWait)
               : fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("it ended with {}", WEXITSTATUS(status));
}

void keep_finding(const Options& options, size_t index, uint64_t seed, int status) {
  Rng rng(seed);
  const std::string name = fmt::format("finding-{}", seed);
  std::ofstream(options.keep / (name + ".ptx")) << fuzz::program_of(rng, options.target).str();
  std::error_code error;
  std::filesystem::copy_file(log_of(options, index), options.keep / (name + ".log"),
                             std::filesystem::copy_options::overwrite_existing, error);
  std::ifstream log(options.keep / (name + ".log"));
  std::string line, what;
  while (std::getline(log, line))
    if (what.empty() &&
        (line.find("ERROR: ") != std::string::npos || line.find("runtime error: ") != std::string::npos ||
         line.find("internal") != std::string::npos || line.find("exception") != std::string::npos))
      what = line;
  fmt::print("finding: seed {}: {}: {}\n", seed, ending_of(status), what);
  std::fflush(stdout);
}

// Returns the number of findings.
size_t run(const Options& options, Shared& shared, Job* jobs) {
  const auto begin = std::chrono::steady_clock::now();
  shared.next = options.first;
  std::vector<pid_t> pids(options.jobs);
  for (size_t i = 0; i < options.jobs; ++i)
    pids[i] = start(options, i, jobs[i], shared);
  size_t findings = 0, running = options.jobs;
  while (running > 0) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid == 0) {
      usleep(20000);
      if (options.seconds && std::chrono::steady_clock::now() - begin > std::chrono::seconds(options.seconds))
        shared.stop = true;
      continue;
    }
    const auto index = static_cast<size_t>(std::find(pids.begin(), pids.end(), pid) - pids.begin());
    if (pid < 0 || index == pids.size())
      continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      --running;
      continue;
    }
    keep_finding(options, index, jobs[index].seed, status);
    if (++findings >= kMostFindings)
      shared.stop = true;
    pids[index] = start(options, index, jobs[index], shared);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{:.1f} s, {} processes\n", seconds, options.jobs);
  return findings;
}

void add(ExecutionCounts& to, const ExecutionCounts& from) {
  to.programs += from.programs;
  to.launches += from.launches;
  to.warp_instructions += from.warp_instructions;
  to.compiled_instructions += from.compiled_instructions;
  const auto add_all = [](auto& a, const auto& b) {
    std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::plus<>());
  };
  add_all(to.outcomes, from.outcomes);
  add_all(to.forms, from.forms);
  add_all(to.handlers, from.handlers);
}

void write_report(const std::string& path, const ExecutionCounts& counts) {
  std::ofstream out(path);
  out << "# executions, handler (by an instruction that decodes to it)\n";
  const auto& handlers = fuzz::known_handlers();
  for (size_t i = 0; i < handlers.size(); ++i)
    out << counts.handlers[i] << "\t" << handlers[i].spelling << "\n";
  out << "# executions, form\n";
  for (size_t i = 0; i < isa::forms().size(); ++i)
    out << counts.forms[i] << "\t" << isa::syntax_of(isa::forms()[i]) << "\n";
}

void print_counts(const ExecutionCounts& counts) {
  fmt::print("{} programs, {} launches, {} warp instructions, {} of them compiled\n", counts.programs,
             counts.launches, counts.warp_instructions, counts.compiled_instructions);
  for (size_t i = 0; i < counts.outcomes.size(); ++i)
    if (counts.outcomes[i])
      fmt::print("{:>12}  {}\n", counts.outcomes[i], fuzz::outcome_name(i));
  const auto& handlers = fuzz::known_handlers();
  const auto often = std::count_if(counts.handlers.begin(),
                                   counts.handlers.begin() + static_cast<ptrdiff_t>(handlers.size()),
                                   [](uint64_t n) { return n >= kOftenEnough; });
  fmt::print("{} of {} handlers were executed {} times or more\n", often, handlers.size(), kOftenEnough);
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
      options.jobs = static_cast<unsigned>(std::max(1ull, number()));
    else if (name == "--seconds")
      options.seconds = number();
    else if (name == "--keep")
      options.keep = argv[i + 1];
    else if (name == "--report")
      options.report = argv[i + 1];
    else if (name == "--target")
      options.target = argv[i + 1];
    else if (name == "--print") {
      Rng rng(number());
      fmt::print("{}", fuzz::program_of(rng, options.target).str());
      return 0;
    } else {
      fmt::print(stderr, "no option {}\n", name);
      return 2;
    }
  }
  std::filesystem::create_directories(options.keep);
  Shared& shared = *share<Shared>(1);
  Job* jobs = share<Job>(options.jobs);
  fmt::print("{} handlers, {} forms\n", fuzz::known_handlers().size(), isa::forms().size());
  for (uint64_t seed = 0; seed < 64;
       ++seed) { // tables that are made at the first use, before there are processes
    Rng rng(seed);
    fuzz::program_of(rng, options.target);
  }
  const size_t findings = run(options, shared, jobs);
  ExecutionCounts counts;
  for (size_t i = 0; i < options.jobs; ++i)
    add(counts, jobs[i].counts);
  print_counts(counts);
  if (!options.report.empty())
    write_report(options.report, counts);
  fmt::print("{} findings\n", findings);
  return findings == 0 && counts.warp_instructions > 0 ? 0 : 1;
}
