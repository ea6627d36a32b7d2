// The `lemma` command: finds the subcommand, maps usage errors to exit status 2.
//
// Tests: tests/cli/.
#include "command.h"

#include "lemma/lemma.h"

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

namespace lemma::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  lemma run saxpy.ptx --grid 16 --block 256 --arg f32=2 --arg in=x.npy --arg inout=y.npy:out.npy --arg u32=4096
  lemma verify kernel.ptx
  lemma compile gemm.mlir -o gemm.ptx
Exit status: 0 success; 1 kernel fault, failed comparison or rejected file; 2 wrong command line; 3 unsupported.
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
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kUsage; // --help and --version end here too, with 0
  }
  for (const Command& command : commands)
    if (command.app->parsed())
      return command.run();
  return kUsage;
}

} // namespace
} // namespace lemma::cli

int main(int argc, char** argv) {
  try {
    return lemma::cli::run_main(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("lemma: the host has no memory left\n", stderr);
    return lemma::cli::kFailed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lemma: internal error: %s\n", error.what());
    return lemma::cli::kFailed;
  }
}
