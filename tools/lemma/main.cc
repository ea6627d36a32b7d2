// The `lemma` command: finds the subcommand.
//
// Tests: tests/cli/.
#include "application.h"
#include "command.h"

#include "lemma/lemma.h"

#include <string>
#include <vector>

namespace {

constexpr const char* kMainFooter = R"(Examples:
  lemma run saxpy.ptx --grid 16 --block 256 --arg f32=2 --arg in=x.npy --arg inout=y.npy:out.npy --arg u32=4096
  lemma verify kernel.ptx
  lemma compile gemm.mlir -o gemm.ptx
Exit status: 0 success; 1 fault, failed comparison or rejected file; 2 wrong command line, or a file that cannot be read
or written; 3 unsupported; 130 stopped by Ctrl-C.
`lemma SUBCOMMAND --help` says more.)";

} // namespace

int main(int argc, char** argv) {
  using namespace lemma::cli;
  CLI::App app{
      "Lemma runs, checks and compiles NVIDIA tensor-core programs (PTX, MLIR), with and without a GPU.",
      "lemma"};
  app.set_version_flag("--version", "lemma " + std::string(lemma::version()));
  app.require_subcommand(1);
  app.footer(kMainFooter);
  const std::vector<Command> commands = {
#define COMMAND(name) add_##name(app),
#include "commands.def"
#undef COMMAND
  };
  return run_application(app, argc, argv, [&] {
    for (const Command& command : commands)
      if (command.app->parsed())
        return command.run();
    return int{kUsage};
  });
}
