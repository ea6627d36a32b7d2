// `lemma verify FILE...`: prints every error and warning with its caret and what is legal, and a line about
// mul and add that ptxas may fuse; with --lint what can be told of races and misuse without a run. A
// directory stands for the .ptx files below it; of several files all host threads read, what they say comes
// in the order of the files, and a line sums it up.
//
// Exit status 0 if the assembler would accept every file and --lint finds nothing, 2 if a file cannot be
// read, else 1 if one is not legal, else 3: of one nobody knows.
//
// Tests: tests/cli/verify_cli_test.py.
#include "command.h"
#include "files.h"
#include "json_output.h"
#include "ptx_file.h"
#include "say.h"
#include "terminal.h"

#include "lemma/lemma.h"
#include "lemma/printable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>

namespace lemma::cli {
namespace {

constexpr const char* kVerifyFooter =
    R"(Messages go to standard output. A note says where ptxas may make one fma of a mul and an add that do not say how they
round; nvcc -fmad=false and Triton's enable_fp_fusion=False make PTX in which it may not. --lint also looks for wgmma registers touched in flight, missing fences,
waits and commits, barriers in divided warps and the like: docs/checks.md has its ids. --json prints one line for each
file, an object with "file", "accepted" and either "diagnostics", "fusions" and with --lint "lint", or the "error" for which it
could not be read. Exit status: 0 every file is legal for its own .target, and --lint finds nothing; 1 one is not, or has a
finding; 2 wrong command line or unreadable file, whatever the others are; 3 none is illegal, but one has what is not known here, as
a later PTX version may have it: "accepted" is null.)";

struct VerifyOptions {
  std::vector<std::string> files;
  std::string output; // of --fix
  unsigned jobs = 0;
  bool fix = false;
  bool json = false;
  bool verbose = false;
  bool lint = false;
};

// The .ptx files below a directory, in the order of their names.
Result<std::vector<std::string>, std::string> files_below(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(directory, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error))
    if (at->path().extension() == ".ptx" && !at->is_directory(error))
      files.push_back(at->path().string());
  if (error)
    return fail(fmt::format("cannot read {}: {}", directory, error.message()));
  if (files.empty())
    return fail(fmt::format("{} has no .ptx file", directory));
  std::sort(files.begin(), files.end());
  return files;
}

// Without reading what can be read but once.
bool begins_as_image(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return false;
  std::string magic(8, '\0'); // as long as any
  std::ifstream(path, std::ios::binary).read(magic.data(), static_cast<std::streamsize>(magic.size()));
  return is_image_text(magic);
}

// Of a file that is not legal, one that is, and one of which nobody knows.
constexpr int status_of(const Verification& verification) {
  return verification.accepted ? kSuccess : verification.undecided ? kUnsupported : kFailed;
}

nlohmann::json accepted(const Verification& verification) {
  return verification.undecided ? nlohmann::json() : nlohmann::json(verification.accepted);
}

void show(const std::string& path, const Verification& verification, bool verbose, bool lint = false) {
  for (const Message& message : verification.messages)
    print_messages(stdout, message.rendered);
  fmt::print("{}: {}\n", printable(path),
             verification.accepted    ? "accepted"
             : verification.undecided ? "not known here whether it is legal"
                                      : "rejected");
  for (const Message& message : verification.lint)
    print_messages(stdout, message.rendered);
  if (lint && verification.accepted)
    fmt::print("{}: lint: {} finding{}\n", printable(path), verification.lint.size(),
               verification.lint.size() == 1 ? "" : "s");
  const std::vector<Message>& fusions = verification.fusions;
  if (fusions.empty())
    return;
  if (verbose)
    for (const Message& message : fusions)
      print_messages(stdout, message.rendered);
  fmt::print("{}: note: ptxas may make fma of {} pair{} of mul and add without .rn, {}: then a GPU's bits "
             "are not the "
             "virtual GPU's\n",
             printable(path), fusions.size(), fusions.size() == 1 ? "" : "s",
             verbose ? "listed above"
                     : fmt::format("the first at line {} (--verbose lists them)", fusions.front().line));
}

class Verifier {
public:
  explicit Verifier(const VerifyOptions& options) : options_(options) {
    if (options.json)
      json_.emplace();
  }

  int run() {
    for (const std::string& path : options_.files)
      add(path);
    verify_each(
        inputs_.size(), [this](size_t i) { return read(inputs_[i]); },
        [this](size_t i, Result<Verification, Error> result) { take(inputs_[i], result); }, options_.jobs);
    if (!options_.json && (inputs_.size() > 1 || has_directory_))
      fmt::print(
          "{} file{}: {} accepted, {} rejected{}{}{}\n", inputs_.size(), inputs_.size() == 1 ? "" : "s",
          accepted_, rejected_, undecided_ ? fmt::format(", {} not known", undecided_) : "",
          unreadable_ ? fmt::format(", {} not read", unreadable_) : "",
          options_.lint ? fmt::format("; lint: {} finding{}", findings_, findings_ == 1 ? "" : "s") : "");
    return unreadable_ ? kUsage : rejected_ || findings_ ? kFailed : undecided_ ? kUnsupported : kSuccess;
  }

private:
  struct Input {
    std::string path;
    std::string problem = {};             // why there is no such file
    std::optional<std::string> text = {}; // of an image's module
  };

  void add(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored))
      return begins_as_image(path) ? add_image(path) : inputs_.push_back({path});
    has_directory_ = true;
    auto below = files_below(path);
    if (!below)
      return inputs_.push_back({path, std::move(below).error()});
    for (std::string& file : *below)
      inputs_.push_back({std::move(file)});
  }

  // A module is an input.
  void add_image(const std::string& path) {
    auto modules = read_ptx_texts(path);
    if (!modules)
      return inputs_.push_back({path, modules.error().text});
    for (PtxText& each : *modules)
      inputs_.push_back({.path = std::move(each.name), .text = std::move(each.text)});
  }

  Result<PtxText, Error> read(const Input& input) const {
    if (input.text)
      return PtxText{*input.text, input.path, options_.lint};
    Result<std::string, std::string> text =
        input.problem.empty() ? read_text(input.path) : fail(std::string(input.problem));
    if (!text)
      return fail(
          Error{.kind = ErrorKind::invalid_argument, .text = std::move(text).error(), .messages = {}});
    return PtxText{*std::move(text), shown_path(input.path), options_.lint};
  }

  void take(const Input& input, const Result<Verification, Error>& result) {
    ++(!result ? unreadable_ : result->accepted ? accepted_ : result->undecided ? undecided_ : rejected_);
    findings_ += result ? result->lint.size() : 0;
    if (!result)
      say(result.error().text);
    if (json_)
      json_->print_line(to_object(input.path, result));
    else if (result)
      show(shown_path(input.path), *result, options_.verbose, options_.lint);
  }

  nlohmann::json to_object(const std::string& path, const Result<Verification, Error>& result) const {
    if (!result)
      return {{"file", path}, {"accepted", false}, {"error", to_json(result.error())}};
    nlohmann::json object{{"file", path},
                          {"accepted", accepted(*result)},
                          {"fusions", to_json(result->fusions)},
                          {"diagnostics", to_json(result->messages)}};
    if (options_.lint)
      object["lint"] = to_json(result->lint);
    return object;
  }

  const VerifyOptions& options_;
  std::vector<Input> inputs_;
  std::optional<JsonOutput> json_;
  bool has_directory_ = false;
  size_t accepted_ = 0, rejected_ = 0, undecided_ = 0, unreadable_ = 0;
  size_t findings_ = 0; // of --lint
};

// --fix FILE -o OUT.
int run_fix(const VerifyOptions& options) {
  if (options.files.size() != 1 || options.output.empty())
    return refuse(options.json, "--fix takes one file, and -o to say where the repaired one goes");
  const std::string& path = options.files.front();
  if (const auto writable = check_writable(options.output); !writable)
    return refuse(options.json, writable.error());
  auto text = read_text(path);
  if (!text)
    return refuse(options.json, text.error());
  const RepairedPtx repaired = repair_ptx(*std::move(text), options.output);
  if (auto written = write_file(options.output, std::as_bytes(std::span(repaired.text))); !written)
    return refuse(options.json, written.error());
  const Verification& verification = repaired.verification;
  if (options.json) {
    JsonOutput().print_line({{"file", path},
                             {"output", options.output},
                             {"repairs", repaired.repairs},
                             {"accepted", accepted(verification)},
                             {"fusions", to_json(verification.fusions)},
                             {"diagnostics", to_json(verification.messages)}});
  } else {
    fmt::print("{}: {} repair{}\n", printable(path), repaired.repairs, repaired.repairs == 1 ? "" : "s");
    show(options.output, verification, options.verbose);
  }
  return status_of(verification);
}

} // namespace

Command add_verify(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("verify", "check PTX files against the PTX ISA");
  const auto options = std::make_shared<VerifyOptions>();
  app->add_option("FILE", options->files,
                  "PTX files, or fatbins, cubins and executables with PTX; a directory stands for the .ptx "
                  "files below it")
      ->required();
  app->add_option("-j,--jobs", options->jobs, "files read at a time (default: as many as there are cores)");
  app->add_flag("--verbose", options->verbose, "list every mul and add that ptxas may fuse");
  app->add_flag("--lint", options->lint, "find races, missing waits and fences, and misuse without a run");
  app->add_flag("--json", options->json, "print one JSON object a file instead, each on a line");
  app->footer(kVerifyFooter);
  app->add_flag("--fix", options->fix,
                "write the file with the repairs that messages offer, in the ISA's spelling, to -o");
  app->add_option("-o", options->output, "where --fix writes; the same file is overwritten");
  return {app, [options] {
            if (!options->fix && !options->output.empty())
              return refuse(options->json, "-o is for --fix");
            if (options->fix && options->lint)
              return refuse(options->json, "--fix and --lint do not go together");
            return options->fix ? run_fix(*options) : Verifier(*options).run();
          }};
}

} // namespace lemma::cli
