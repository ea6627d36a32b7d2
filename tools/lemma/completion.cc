// `lemma completion SHELL`: what bash, zsh or fish has to know to complete the words of a command line.
// Commands, options, their values and what is said of them are those that --help prints: this asks the same
// objects.
//
// Tests: tests/cli/completion_cli_test.py.
#include "command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::cli {
namespace {

constexpr const char* kCompletionFooter =
    R"(  lemma completion bash > ~/.local/share/bash-completion/completions/lemma
  lemma completion zsh > "${fpath[1]}/_lemma"
  lemma completion fish > ~/.config/fish/completions/lemma.fish
Exit status: 0 success; 2 another shell.)";

struct OptionWords {
  std::vector<std::string> names; // "--device", "-o"
  std::string says;
  bool takes_value = false;
  std::vector<std::string> values; // that are legal, where they are few
};

struct CommandWords {
  std::string name, says;
  std::vector<OptionWords> options;
};

// "cpu", "cuda" of "TEXT:{cpu,cuda}", as an option shows what it may be.
std::vector<std::string> values_in(const std::string& type) {
  const size_t open = type.find('{'), close = type.find('}');
  std::vector<std::string> values;
  if (open == type.npos || close == type.npos)
    return values;
  for (size_t begin = open + 1; begin < close;) {
    const size_t end = std::min(type.find(',', begin), close);
    values.push_back(type.substr(begin, end - begin));
    begin = end + 1;
  }
  return values;
}

std::vector<CommandWords> commands_of(const CLI::App& app) {
  std::vector<CommandWords> commands;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandWords& command = commands.emplace_back();
    command.name = sub->get_name();
    command.says = sub->get_description();
    for (const CLI::Option* option : sub->get_options()) {
      if (option->get_positional() && option->get_lnames().empty())
        continue;
      OptionWords words;
      for (const std::string& name : option->get_lnames())
        words.names.push_back("--" + name);
      for (const std::string& name : option->get_snames())
        words.names.push_back("-" + name);
      words.says = option->get_description();
      words.takes_value = option->get_items_expected_max() > 0;
      words.values = values_in(option->get_type_name());
      command.options.push_back(std::move(words));
    }
  }
  return commands;
}

// In single quotes of a shell; zsh's own signs too.
std::string in_quotes(std::string_view text, std::string_view escaped = {}) {
  std::string out = "'";
  for (const char c : text)
    if (c == '\'')
      out += "'\\''";
    else if (escaped.find(c) != escaped.npos)
      out += fmt::format("\\{}", c);
    else
      out += c;
  return out + "'";
}

// After "=" of a SPEC come files, as after a blank.
std::string for_bash(const std::vector<CommandWords>& commands) {
  std::string names, options, values;
  for (const CommandWords& command : commands) {
    names += (names.empty() ? "" : " ") + command.name;
    std::string words;
    for (const OptionWords& option : command.options) {
      for (const std::string& name : option.names)
        words += (words.empty() ? "" : " ") + name;
      if (!option.values.empty())
        values += fmt::format("    \"{} {}\") words=\"{}\" ;;\n", command.name, option.names.front(),
                              fmt::join(option.values, " "));
    }
    options += fmt::format("    {}) options=\"{}\" ;;\n", command.name, words);
  }
  return fmt::format(R"(# lemma completion bash
_lemma() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} options= words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$cur"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  [ "$prev" = "=" ] && prev=${{COMP_WORDS[COMP_CWORD-2]}}
  [ "$cur" = "=" ] && cur=
  case "${{COMP_WORDS[1]}} $prev" in
{}  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  else
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}}
complete -F _lemma lemma
)",
                     names, options, values);
}

std::string for_zsh(const std::vector<CommandWords>& commands) {
  std::string names, cases;
  for (const CommandWords& command : commands) {
    names += fmt::format("      {}\n", in_quotes(command.name + ":" + command.says));
    cases += fmt::format("    {})\n      _arguments \\\n", command.name);
    for (const OptionWords& option : command.options)
      for (const std::string& name : option.names) {
        const std::string value = !option.takes_value ? ""
                                  : option.values.empty()
                                      ? ":value:_files"
                                      : fmt::format(":value:({})", fmt::join(option.values, " "));
        cases += fmt::format("        {} \\\n",
                             "'*" + name + "['" + in_quotes(option.says, "[]:") + in_quotes("]" + value));
      }
    cases += "        '*:file:_files'\n      ;;\n";
  }
  return fmt::format(R"(#compdef lemma
# lemma completion zsh
_lemma() {{
  if (( CURRENT == 2 )); then
    local -a commands=(
{}    )
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{}  esac
}}
compdef _lemma lemma
)",
                     names, cases);
}

std::string for_fish(const std::vector<CommandWords>& commands) {
  std::string out = "# lemma completion fish\n";
  for (const CommandWords& command : commands) {
    out += fmt::format("complete -c lemma -f -n __fish_use_subcommand -a {} -d {}\n", command.name,
                       in_quotes(command.says));
    for (const OptionWords& option : command.options) {
      out += fmt::format("complete -c lemma -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : option.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.values.empty())
        out += fmt::format(" -x -a '{}'", fmt::join(option.values, " "));
      else if (option.takes_value)
        out += " -r";
      out += fmt::format(" -d {}\n", in_quotes(option.says));
    }
  }
  return out;
}

} // namespace

Command add_completion(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("completion", "print what a shell has to know to complete command lines");
  const auto shell = std::make_shared<std::string>();
  app->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  app->footer(kCompletionFooter);
  return {app, [&parent, shell] {
            const std::vector<CommandWords> commands = commands_of(parent);
            fmt::print("{}", *shell == "bash"  ? for_bash(commands)
                             : *shell == "zsh" ? for_zsh(commands)
                                               : for_fish(commands));
            return int{kSuccess};
          }};
}

} // namespace lemma::cli
