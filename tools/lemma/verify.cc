// `lemma verify FILE...`: prints every error and warning with its caret and what is legal, and a line about
// mul and add that ptxas may fuse.
//
// Exit status 0 if the assembler would accept every file, 1 if not, 2 if a file cannot be read.
//
// Tests: tests/cli/.
#include "command.h"
#include "files.h"
#include "json_output.h"
#include "say.h"

#include "lemma/lemma.h"
#include "lemma/printable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace lemma::cli {
namespace {

constexpr const char* kFooter =
    R"(Messages go to standard output. A note says where ptxas may make one fma of a mul and an add that do not say how they
round; nvcc -fmad=false and Triton's enable_fp_fusion=False make PTX in which it may not. Exit status: 0 every file is legal for its own .target; 1 one is not; 2 wrong
command line or unreadable file.)";

struct VerifyOptions {
  std::vector<std::string> files;
  bool json = false;
  bool verbose = false;
};

void show(const std::string& path, const Verification& verification, bool verbose) {
  for (const Message& message : verification.messages)
    fmt::print("{}", message.rendered);
  fmt::print("{}: {}\n", printable(path), verification.accepted ? "accepted" : "rejected");
  const std::vector<Message>& fusions = verification.fusions;
  if (fusions.empty())
    return;
  if (verbose)
    for (const Message& message : fusions)
      fmt::print("{}", message.rendered);
  fmt::print("{}: note: ptxas may make fma of {} pair{} of mul and add without .rn, {}: then a GPU's bits "
             "are not the "
             "virtual GPU's\n",
             printable(path), fusions.size(), fusions.size() == 1 ? "" : "s",
             verbose ? "listed above"
                     : fmt::format("the first at line {} (--verbose lists them)", fusions.front().line));
}

int run_verify(const VerifyOptions& options) {
  int status = kSuccess;
  nlohmann::json files = nlohmann::json::array();
  for (const std::string& path : options.files) {
    auto text = read_text(path);
    if (!text) {
      say(text.error());
      return kUsage;
    }
    const Verification verification = verify_ptx(*std::move(text), path);
    if (!verification.accepted)
      status = kFailed;
    if (options.json)
      files.push_back({{"file", path},
                       {"accepted", verification.accepted},
                       {"fusions", to_json(verification.fusions)},
                       {"diagnostics", to_json(verification.messages)}});
    else
      show(path, verification, options.verbose);
  }
  if (options.json)
    JsonOutput().print({{"accepted", status == kSuccess}, {"files", std::move(files)}});
  return status;
}

} // namespace

Command add_verify(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("verify", "check PTX files against the PTX ISA");
  const auto options = std::make_shared<VerifyOptions>();
  app->add_option("FILE", options->files, "PTX files")->required();
  app->add_flag("--verbose", options->verbose, "list every mul and add that ptxas may fuse");
  app->add_flag("--json", options->json, "print one JSON object instead");
  app->footer(kFooter);
  return {app, [options] { return run_verify(*options); }};
}

} // namespace lemma::cli
