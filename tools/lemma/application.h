// What every command line tool does around its work: parses the words, turns errors into exit statuses, and
// sees to it that standard output has arrived.
//
// Tests: tests/cli/.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace lemma::cli {

// Parses, runs `run` unless the words are wrong or ask for help, and returns the process's exit status. No
// exception leaves it.
int run_application(CLI::App& app, int argc, char** argv, const std::function<int()>& run);

// The command line as a shell takes it, once run_application() has begun: without an option that has a value,
// and with words after it.
std::string repeating_command(std::string_view without = {}, std::string_view more = {});

} // namespace lemma::cli
