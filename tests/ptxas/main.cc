// ptxas for scripts, by the recorded answers: the arguments, the exit status and, as far as it matters, the
// words are ptxas's. A call that wants an output is ptxas's own.
#include "ptxas/ptxas.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

int main(int argc, char** argv) {
  const std::string ptxas = lemma::ptxas::find();
  std::string options, input, output;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "-o" && i + 1 < argc)
      output = argv[++i];
    else if (word.starts_with('-'))
      options += (options.empty() ? "" : " ") + word;
    else
      input = word;
  }
  if (input.empty() || output != "/dev/null") {
    std::vector<char*> words(argv, argv + argc);
    words.push_back(nullptr);
    execv(ptxas.c_str(), words.data());
    fmt::print(stderr, "ptxas_recorded: no ptxas here\n");
    return 2;
  }
  std::ifstream file(input, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    fmt::print(stderr, "ptxas_recorded: cannot read {}\n", input);
    return 2;
  }
  const auto answer = lemma::ptxas::ask(text.str(), options);
  if (!answer) {
    fmt::print(stderr, "ptxas_recorded: {}\n", lemma::ptxas::kNobodyAnswers);
    return 2;
  }
  if (!answer->text.empty() || answer->accepts) {
    fmt::print(stderr, "{}", answer->text);
    return answer->accepts ? 0 : 255;
  }
  for (const size_t line : answer->wrong_lines)
    fmt::print(stderr, "ptxas {}, line {}; error   : refused, by a recorded answer\n", input, line);
  return 255;
}
