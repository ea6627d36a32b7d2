// The one place where exceptions end: CLI11's, a full disk at standard output, no memory. Commands return an
// exit status, and it counts only if standard output took all of it.
#include "application.h"

#include "command.h"
#include "files.h"
#include "say.h"
#include "terminal.h"

#include "lemma/nearest.h"
#include "lemma/printable.h"
#include "lemma/result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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

const CLI::App& command_of(const CLI::App& app) {
  const std::vector<CLI::App*> used = app.get_subcommands();
  return used.empty() ? app : *used.front();
}

// "lemma run"
std::string name_of(const CLI::App& app) {
  return (app.get_parent() ? app.get_parent()->get_name() + " " : "") + app.get_name();
}

// Of words that no command and no option is: the first, and what is meant perhaps. Empty: there are none.
std::string about_unknown(const CLI::App& app, const CLI::App& used) {
  if (used.get_prefix_command()) // the rest is another program's
    return {};
  std::vector<std::string> names;
  if (&used == &app) {
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(command->get_name());
  } else {
    for (const CLI::Option* option : used.get_options())
      for (const std::string& name : option->get_lnames())
        names.push_back("--" + name);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::vector<std::string> rest = app.remaining(true);
  const auto option =
      std::find_if(rest.begin(), rest.end(), [](const std::string& word) { return word.starts_with('-'); });
  if (option != rest.end() && (&used != &app || names.empty())) {
    const std::string name = option->substr(0, option->find('='));
    return fmt::format("{} has no option {}{}", name_of(used), name, did_you_mean(name, candidates));
  }
  if (rest.empty())
    return {};
  if (&used != &app || names.empty())
    return fmt::format("{} has no use for '{}'", name_of(used), rest.front());
  return fmt::format("there is no {} '{}'{}; there are {}", option == rest.begin() ? "option" : "command",
                     rest.front(), did_you_mean(rest.front(), candidates), fmt::join(names, ", "));
}

// The words of @FILE: between blanks, or in quotes; a backslash takes the next character as it is, and # at
// the beginning of a word the rest of the line away.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!quote && std::string_view(" \t\r\n").find(c) != std::string_view::npos) {
      in_word = false;
      continue;
    }
    if (!quote && !in_word && c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (!quote && text.substr(i).starts_with("\\\n")) { // the line goes on
      ++i;
      continue;
    }
    if (!in_word)
      words.emplace_back();
    in_word = true;
    if (c == quote)
      quote = 0;
    else if (!quote && (c == '\'' || c == '"'))
      quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < text.size())
      words.back() += text[++i];
    else
      words.back() += c;
  }
  return words;
}

// The command line with the words of a file in the place of every @FILE.
Result<std::vector<std::string>, std::string> with_files(const std::vector<std::string>& line,
                                                         int depth = 0) {
  constexpr int kDeepest = 8;
  constexpr size_t kMostWords = 100'000;
  if (depth == 0 && !line.empty() && line.front() == "exec")
    return line; // another program's words
  std::vector<std::string> words;
  for (const std::string& word : line) {
    if (!word.starts_with('@') || word.size() == 1) {
      words.push_back(word);
      continue;
    }
    if (depth == kDeepest)
      return fail(fmt::format("{}: files of arguments name one another, {} deep", word, kDeepest));
    const auto bytes = read_file(word.substr(1), kMostJsonBytes);
    if (!bytes)
      return fail(fmt::format("{}: {}", word, bytes.error()));
    const auto more =
        with_files(words_of({reinterpret_cast<const char*>(bytes->data()), bytes->size()}), depth + 1);
    if (!more)
      return more;
    words.insert(words.end(), more->begin(), more->end());
    if (words.size() > kMostWords)
      return fail(fmt::format("{}: more than {} arguments", word, kMostWords));
  }
  return words;
}

int parse_and_run(CLI::App& app, const std::function<int()>& run) {
  auto words = with_files({command_line.begin() + 1, command_line.end()});
  if (!words) {
    say(words.error());
    return kUsage;
  }
  try {
    std::reverse(words->begin(), words->end()); // as it takes them
    app.parse(*std::move(words));
  } catch (const CLI::ParseError& error) { // --help and --version end here too, with 0
    std::ostringstream out, err;
    const bool said_all = app.exit(error, out, err) == 0;
    print_text(stdout, out.str());
    if (said_all)
      return kSuccess;
    const CLI::App& used = command_of(app);
    const std::string unknown = about_unknown(app, used);
    if (unknown.empty())
      print_text(stderr, printable_lines(err.str())); // words of the command line are in it
    else
      say(fmt::format("{}\n`{} --help` says more.", unknown, name_of(used)));
    return kUsage;
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

// Where standard error is closed, the next file that is opened would have its number, and our messages in it.
void keep_standard_error_apart() {
  if (::fcntl(STDERR_FILENO, F_GETFD) >= 0)
    return;
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); // for other programs it stays closed
  if (nowhere >= 0 && nowhere != STDERR_FILENO) {
    ::dup3(nowhere, STDERR_FILENO, O_CLOEXEC);
    ::close(nowhere);
  }
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
  keep_standard_error_apart();
  command_line.assign(argv, argv + argc);
  std::signal(SIGXFSZ, SIG_IGN); // a file that may grow no more is an error of the write
  try {
    return with_output_flushed(parse_and_run(app, run));
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
