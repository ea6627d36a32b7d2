// `lemma exec PROGRAM ARGS...`: runs a CUDA program, and whatever it starts, on the virtual GPU.
//
//   the environment       exec_program.h: Lemma's libcuda and libcudart first, and a library that is
//                         preloaded (tools/preload); LEMMA_... of the options, which src/driver reads
//   the program           becomes this process, if nothing is to be said about it afterwards; else a child
//   what processes leave  lemma/process_reports.h, in a folder that goes when all is read
//   what is said          exec_report.h
//
// Tests: tests/exec/.
#include "application.h"
#include "command.h"
#include "exec_program.h"
#include "exec_report.h"
#include "files.h"
#include "say.h"
#include "stop.h"

#include "lemma/engine.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace lemma::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExecFooter = R"(Usage: lemma exec [OPTIONS] PROGRAM ARGS...
What stands behind PROGRAM is PROGRAM's. It and all that it starts find Lemma's libcuda.so.1 and libcudart.so.13 first,
and what NVRTC and nvJitLink compile gets -lineinfo. Programs of nvcc are built with -cudart shared, and with -lineinfo
for the lines of the .cu file.
Examples:
  lemma exec ./test_gemm
  lemma exec --check ctest
  lemma exec --check --sarif findings.sarif pytest -n 4 tests
  lemma exec --explore 8 --stats ./reduction 1000000
Exit status: PROGRAM's, 128 and the signal that ended it; 1 if it is 0 and something was found, or what was found could not
be written down; 2 wrong command line, a file that cannot be written, or no such program.)";

struct ExecOptions {
  CheckOptions check;
  bool stats = false, strict = false, isolate = false;
  uint64_t explore = 0;
  std::string arch, async, engine, report, sarif;
  std::vector<std::string> words; // the program and its arguments

  // Is there anything to be said when the program has ended?
  bool wants_reports() const {
    return check.check || check.notes || check.all || !check.suppress.empty() || !check.baseline.empty() ||
           check.show_in_libraries || stats || explore > 0 || !report.empty() || !sarif.empty();
  }
};

// A folder that goes when it is left. It is open meanwhile: process_reports_folder() looks for that.
class Folder {
public:
  Folder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "lemma-exec-XXXXXX").string();
    if (error || !::mkdtemp(name.data()))
      return;
    path_ = name;
    file_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  ~Folder() {
    std::error_code error;
    if (file_ >= 0)
      ::close(file_);
    if (!path_.empty())
      fs::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; } // empty: it could not be made

private:
  std::string path_;
  int file_ = -1;
};

// A runtime linked in is the driver's to name, in whichever process it asks.
void warn_about_other_runtime(const std::string& name, const std::string& path) {
  if (const std::string runtime = other_runtime_of(path); !runtime.empty())
    say(fmt::format("{} needs {}, and Lemma has libcudart.so.13: build with CUDA 13, and -cudart shared "
                    "(NVCC_APPEND_FLAGS=\"-cudart shared\"; CMake: -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared)",
                    name, runtime));
}

Variables variables_of(const ExecOptions& options) {
  Variables variables;
  if (options.check.check)
    variables.emplace_back("LEMMA_CHECK", "1");
  if (!options.arch.empty())
    variables.emplace_back("LEMMA_ARCH", options.arch);
  if (!options.async.empty())
    variables.emplace_back("LEMMA_ASYNC", options.async);
  if (!options.engine.empty())
    variables.emplace_back("LEMMA_ENGINE", options.engine);
  if (options.strict)
    variables.emplace_back("LEMMA_TORCH_STRICT", "1");
  if (options.isolate) {
    const char* others = std::getenv("PYTEST_PLUGINS");
    variables.emplace_back("PYTEST_PLUGINS",
                           others && *others ? fmt::format("lemma_pytest,{}", others) : "lemma_pytest");
  }
  return variables;
}

// This command with --check.
std::string checking_command() {
  constexpr std::string_view kExec = " exec";
  std::string command = repeating_command();
  return command.insert(command.find(kExec) + kExec.size(), " --check");
}

// One run more, whose processes report to a folder of their own.
Result<void, Stop> run_once(const std::string& path, const ExecOptions& options, Variables variables,
                            std::optional<uint64_t> schedule, ExecReport& report) {
  const Folder folder;
  if (folder.path().empty())
    return usage("cannot make a folder for temporary files (TMPDIR)");
  if (auto ready = expect_process_reports(folder.path()); !ready)
    return usage(std::move(ready).error().text);
  variables.emplace_back("LEMMA_REPORTS", folder.path());
  if (schedule)
    variables.emplace_back("LEMMA_SCHEDULE", std::to_string(*schedule));
  const auto status = run_program(path, options.words, variables);
  if (!status)
    return usage(status.error());
  auto reports = read_process_reports(folder.path());
  if (!reports) { // somebody has removed the folder
    say(reports.error().text);
    reports = ProcessReports();
    reports->are_complete = false;
  }
  report.add({.schedule = schedule, .status = *status}, *std::move(reports));
  return {};
}

Result<void, Stop> write_json(const std::string& path, const nlohmann::json& object) {
  const std::string text = object.dump(1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  if (auto written = write_text(path, text); !written)
    return usage(std::move(written).error());
  return {};
}

Result<int, Stop> run_and_report(const std::string& path, const ExecOptions& options,
                                 const Variables& variables) {
  for (const std::string& file : {options.report, options.sarif})
    if (!file.empty())
      if (auto writable = check_writable(file); !writable)
        return usage(std::move(writable).error());
  ExecReport report(options.check);
  if (auto read = report.found.read_files(); !read)
    return Unexpected<Stop>{std::move(read).error()};
  if (options.explore == 0)
    if (auto ran = run_once(path, options, variables, std::nullopt, report); !ran)
      return Unexpected<Stop>{std::move(ran).error()};
  uint64_t schedule = 0;
  for (; schedule < options.explore && !was_asked_to_end(); ++schedule)
    if (auto ran = run_once(path, options, variables, schedule, report); !ran)
      return Unexpected<Stop>{std::move(ran).error()};
  if (schedule < options.explore)
    say(fmt::format("ended by a signal in schedule {}; {} of {} were to follow", schedule - 1,
                    options.explore - schedule, options.explore));
  report.show(options.words.front(), options.stats);
  if (!options.report.empty())
    if (auto written = write_json(options.report, report.to_json()); !written)
      return Unexpected<Stop>{std::move(written).error()};
  if (!options.sarif.empty())
    if (auto written = write_json(options.sarif, report.to_sarif()); !written)
      return Unexpected<Stop>{std::move(written).error()};
  return report.exit_status();
}

Result<int, Stop> exec(const ExecOptions& options) {
  if (options.words.empty())
    return usage("which program? lemma exec [OPTIONS] PROGRAM ARGS...");
  if (options.words.front().starts_with('-'))
    return usage(fmt::format("lemma exec has no option {}", options.words.front()));
  auto folder = libraries_folder();
  if (!folder)
    return usage(std::move(folder).error());
  Variables variables = library_variables(*folder);
  auto path = find_program(options.words.front(), variables);
  if (!path)
    return usage(std::move(path).error());
  warn_about_other_runtime(options.words.front(), *path);
  for (auto& variable : variables_of(options))
    variables.push_back(std::move(variable));
  if (options.wants_reports())
    return run_and_report(*path, options, variables);
  // Nobody is left to say it.
  variables.emplace_back("LEMMA_SAY_WHEN_KILLED", "1");
  variables.emplace_back("LEMMA_IF_FAILED", fmt::format("{} {}", ::getpid(), checking_command()));
  return usage(become_program(*path, options.words, variables));
}

int exec_and_say(const ExecOptions& options) {
  const Result<int, Stop> status = exec(options);
  if (status)
    return *status;
  say(status.error().error.text);
  return status.error().status;
}

} // namespace

Command add_exec(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("exec", "run a CUDA program, and what it starts, on the virtual GPU");
  const auto o = std::make_shared<ExecOptions>();
  app->prefix_command(); // options end where PROGRAM stands
  app->add_flag("--check", o->check.check,
                "look for what is not ordered: races, missing fences, waits and events");
  app->add_flag("--notes", o->check.notes, "show notes too: what the ISA leaves doubtful");
  app->add_flag("--all", o->check.all, "show all findings, and not the first ten");
  app->add_option("--suppress", o->check.suppress,
                  "findings that are known, with the reason (docs/checks.md)")
      ->type_name("FILE");
  app->add_flag(
      "--no-library-suppressions", o->check.show_in_libraries,
      "show findings in headers of CUB, Thrust, libcu++ and cooperative groups that are known, too");
  app->add_option("--baseline", o->check.baseline,
                  "findings of a run before, as --sarif wrote them: only others fail")
      ->type_name("FILE");
  app->add_option("--explore", o->explore, "run the program N times, in schedules 0 to N-1")->type_name("N");
  app->add_option("--arch", o->arch, "what the GPU is (default: sm_90, an H200)")->type_name("sm_XX");
  app->add_option("--async", o->async, "when asynchronous copies complete")
      ->check(CLI::IsMember({"eager", "late", "random"}));
  app->add_option(
         "--engine", o->engine,
         "what executes kernels: the interpreter, code of the host, or (auto) what Lemma chooses, at "
         "present the interpreter")
      ->check(CLI::IsMember(std::vector<std::string>(kEngineNames.begin(), kEngineNames.end())));
  app->add_flag("--strict", o->strict,
                "an operator of PyTorch that would run on the CPU is an error (docs/exec.md)");
  app->add_flag("--isolate", o->isolate,
                "pytest runs each test that fails again, in a process of its own, whose outcome counts");
  app->add_flag("--stats", o->stats, "a line a kernel at the end: launches, time, instructions, findings");
  app->add_option("--report", o->report, "findings, faults and kernels as JSON")->type_name("FILE");
  app->add_option("--sarif", o->sarif, "findings and faults as SARIF 2.1.0")->type_name("FILE");
  app->footer(kExecFooter);
  return {app, [app, o] {
            o->words = app->remaining();
            return exec_and_say(*o);
          }};
}

} // namespace lemma::cli
