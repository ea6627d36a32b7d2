// The CLI's subcommands. Each is a file of its own that adds its options to the application and says what to
// run; to add one, write the file and its row in commands.def.
//
// The tool parses arguments and prints; everything else it asks of the public API (include/lemma/), the only
// headers that it sees.
//
// Tests: tests/cli/.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace lemma::cli {

enum ExitStatus : int {
  kSuccess = 0,
  kFailed = 1,      // kernel fault, failed comparison, rejected file
  kUsage = 2,       // wrong command line, a file that cannot be read or written
  kUnsupported = 3, // legal, but not modelled; or no such device on this machine
                    // from 128 up: 128 and the signal that stopped the run, 130 for Ctrl-C
};

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run; // called if the command line names this subcommand; an ExitStatus
};

#define COMMAND(name) Command add_##name(CLI::App& parent);
#include "commands.def"
#undef COMMAND

} // namespace lemma::cli
