// The one place where exceptions end: CLI11's, a full disk at standard output, no memory. Commands return an
// exit status, and it counts only if standard output took all of it.
#include "application.h"

#include "command.h"
#include "files.h"
#include "say.h"

#include "lemma/printable.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace lemma::cli {
namespace {

std::vector<std::string> command_line;

// A word as a shell takes it.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos)
    return word;
  std::string text = "'";
  for (const char c : word)
    c == '\'' ? text += "'\\''" : text += c;
  return text + "'";
}

int parse_and_run(CLI::App& app, int argc, char** argv, const std::function<int()>& run) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { // --help and --version end here too, with 0
    std::ostringstream out, err;
    const bool said_all = app.exit(error, out, err) == 0;
    fmt::print("{}", out.str());
    fmt::print(stderr, "{}", printable_lines(err.str())); // words of the command line are in it
    return said_all ? kSuccess : kUsage;
  }
  return run();
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

std::string repeating_command(std::string_view without, std::string_view more) {
  std::string text;
  for (size_t i = 0; i < command_line.size(); ++i) {
    const std::string& word = command_line[i];
    if (!without.empty() && word == without)
      ++i; // and its value
    else if (without.empty() || !word.starts_with(std::string(without) + "="))
      text += (text.empty() ? "" : " ") + quoted(word);
  }
  return more.empty() ? text : text + " " + std::string(more);
}

int run_application(CLI::App& app, int argc, char** argv, const std::function<int()>& run) {
  command_line.assign(argv, argv + argc);
  std::signal(SIGXFSZ, SIG_IGN); // a file that may grow no more is an error of the write
  try {
    return with_output_flushed(parse_and_run(app, argc, argv, run));
  } catch (const std::bad_alloc&) {
    std::fputs("lemma: the host has no memory left\n", stderr);
    return kFailed;
  } catch (const std::system_error& error) { // fmt, when standard output takes no more
    say(error.what());
    return kUsage;
  } catch (const std::exception& error) {
    say(std::string("internal error: ") + error.what());
    return kFailed;
  }
}

} // namespace lemma::cli
