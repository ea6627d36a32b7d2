// `lemma run FILE`: launches one kernel with arguments from files and the command line, writes its outputs,
// compares them, and says how it went. Of a fatbin, a cubin or an executable the PTX in it is taken
// (ptx_file.h). FILE.mlir is compiled to PTX first; with host code, and without --grid, the program runs
// whole: it launches its kernels itself.
//
//   the words  ->  options, --arg         run_options.h, run_arguments.h
//   the files are read, the outputs tried
//   one kernel, or a whole program        run_kernel.cc, run_whole.cc; with --explore: exploration.h
//     the launch; outputs written         run_steps.h
//     what is said about it               run_report.h; its findings: check_output.h, sarif.h
//
// Standard output has the kernel's printf, --stats, --coverage and --fidelity (with --json: one JSON object,
// and nothing else); standard error has everything that is said about the run.
//
// Tests: tests/cli/.
#include "command.h"
#include "files.h"
#include "ptx_file.h"
#include "run_options.h"
#include "run_report.h"
#include "run_steps.h"

#include "lemma/mlir.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

namespace lemma::cli {
namespace {

// Whether a text without a name is PTX: it begins with a directive, after comments.
bool is_ptx(std::string_view text) {
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    const std::string_view end = text.starts_with("//") ? "\n" : text.starts_with("/*") ? "*/" : "";
    if (end.empty())
      return text.starts_with('.');
    const size_t at = text.find(end, 2);
    text.remove_prefix(at == text.npos ? text.size() : at + end.size());
  }
}

Result<std::string, Stop> read_program(Run& run) {
  auto text = read_text(run.file);
  if (!text)
    return usage(text.error());
  const bool is_standard_input = run.file == kStandardInput;
  run.file = shown_path(run.file);
  if (is_image_text(*text)) {
    auto modules = texts_of_image(*text, run.file, run.options.arch);
    if (!modules)
      return stop(std::move(modules).error());
    auto chosen = module_with_kernel(*std::move(modules), run.file, run.options.entry);
    if (!chosen)
      return Unexpected<Stop>{std::move(chosen).error()};
    run.file = chosen->name;
    return std::move(chosen->text);
  }
  run.is_mlir = is_standard_input ? !is_ptx(*text) : run.file.ends_with(".mlir");
  return *std::move(text);
}

Result<ExitStatus, Stop> run_file(Run& run) {
  auto text = read_program(run);
  if (!text)
    return Unexpected<Stop>{std::move(text).error()};
  // What may be wrong is found before the run, which takes long.
  if (auto read = run.found.read_files(); !read)
    return Unexpected<Stop>{std::move(read).error()};
  if (auto read = run.arguments.read_files(); !read)
    return Unexpected<Stop>{std::move(read).error()};
  if (auto writable = run.arguments.check_outputs(); !writable)
    return Unexpected<Stop>{std::move(writable).error()};
  if (!run.options.sarif.empty())
    if (auto writable = check_writable(run.options.sarif); !writable)
      return usage(std::move(writable).error());
  if (run.is_mlir && !run.options.has_grid && run.options.dump_code.empty() && has_host_code(*text))
    return run_whole(run, *text);
  return run_kernel(run, *std::move(text));
}

int run(const RunCommandLine& words) {
  RunOptions options;
  RunArguments arguments;
  const auto read = words.read(options, arguments);
  Run run(options, std::move(arguments), words.wants_json());
  const Result<ExitStatus, Stop> status =
      read ? run_file(run) : Result<ExitStatus, Stop>(Unexpected<Stop>{read.error()});
  return status ? *status : show_stop(run, status.error());
}

} // namespace

Command add_run(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("run", "run a kernel of a PTX file or of a CUDA program, or an MLIR program");
  const auto words = std::make_shared<RunCommandLine>(*app);
  return {app, [words] { return run(*words); }};
}

} // namespace lemma::cli
