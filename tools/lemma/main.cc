// The `lemma` command: finds the subcommand, maps usage errors to exit status 2.
//
// Tests: tests/cli/.
#include "command.h"
#include "files.h"
#include "say.h"

#include "lemma/lemma.h"
#include "support/printable.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace lemma::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  lemma run saxpy.ptx --grid 16 --block 256 --arg f32=2 --arg in=x.npy --arg inout=y.npy:out.npy --arg u32=4096
  lemma verify kernel.ptx
  lemma compile gemm.mlir -o gemm.ptx
Exit status: 0 success; 1 fault, failed comparison or rejected file; 2 wrong command line, or a file that cannot be read
or written; 3 unsupported; 130 stopped by Ctrl-C.
`lemma SUBCOMMAND --help` says more.)";

int run_main(int argc, char** argv) {
  CLI::App app{
      "Lemma runs, checks and compiles NVIDIA tensor-core programs (PTX, MLIR), with and without a GPU.",
      "lemma"};
  app.set_version_flag("--version", "lemma " + std::string(version()));
  app.require_subcommand(1);
  app.footer(kFooter);
  const std::vector<Command> commands = {add_run(app),    add_verify(app), add_compile(app), add_isa(app),
                                         add_layout(app), add_mma(app),    add_record(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { // --help and --version end here too, with 0
    std::ostringstream out, err;
    const bool said_all = app.exit(error, out, err) == 0;
    fmt::print("{}", out.str());
    fmt::print(stderr, "{}", printable_lines(err.str())); // words of the command line are in it
    return said_all ? kSuccess : kUsage;
  }
  for (const Command& command : commands)
    if (command.app->parsed())
      return command.run();
  return kUsage;
}

// A command whose output did not arrive has not succeeded.
int with_output_flushed(int status) {
  const auto flushed = flush_standard_output();
  if (flushed)
    return status;
  say(flushed.error());
  return status == kSuccess ? kUsage : status;
}

} // namespace
} // namespace lemma::cli

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN); // a file that may grow no more is an error of the write
  try {
    return lemma::cli::with_output_flushed(lemma::cli::run_main(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("lemma: the host has no memory left\n", stderr);
    return lemma::cli::kFailed;
  } catch (const std::system_error& error) { // fmt, when standard output takes no more
    lemma::cli::say(error.what());
    return lemma::cli::kUsage;
  } catch (const std::exception& error) {
    lemma::cli::say(std::string("internal error: ") + error.what());
    return lemma::cli::kFailed;
  }
}
