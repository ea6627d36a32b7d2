// The recorded judgements as text. One line an instruction keeps the file small: most are judged ten times.
#include "agreement.h"

#include "isa/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

namespace lemma::verify_test {

std::string instruction_of(std::string_view text) {
  const std::string_view dotted = text.substr(0, text.find_first_of(" ;"));
  std::vector<isa::Word> words;
  for (size_t at = 0; at <= dotted.size();) {
    const size_t end = std::min(dotted.find('.', at), dotted.size());
    words.push_back({dotted.substr(at, end - at), {}});
    at = end + 1;
  }
  const auto match = isa::match(words);
  if (!match)
    return std::string(words.front().text);
  return fmt::format("{}, {}", isa::to_string(match->opcode), match->bindings.front().form->section);
}

std::vector<std::string> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#')
      lines.push_back(line);
  return lines;
}

std::vector<DirectiveModule> read_modules(const std::string& path) {
  std::vector<DirectiveModule> modules;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("== "))
      modules.push_back({line.substr(3), ""});
    else if (!modules.empty())
      modules.back().body += line + "\n";
  return modules;
}

std::string text_of(const DirectiveModule& module, std::string_view target, std::string_view version) {
  std::string_view body = module.body;
  // "%target texmode_unified" or "%address 32" in the first line.
  const auto option = [&](std::string_view name, std::string_view otherwise) {
    if (!body.starts_with(name))
      return std::string(otherwise);
    const std::string words(body.substr(name.size(), body.find('\n') - name.size()));
    body.remove_prefix(body.find('\n') + 1);
    return words;
  };
  const std::string more = option("%target ", "");
  const std::string address = option("%address ", "64");
  return fmt::format(".version {}\n.target {}{}{}\n.address_size {}\n{}", version, target,
                     more.empty() ? "" : ", ", more, address, body);
}

std::vector<Judgement> read_judgements(const std::string& path) {
  std::vector<Judgement> judgements;
  for (const std::string& line : read_lines(path)) {
    std::istringstream fields(line);
    std::string instruction;
    std::getline(fields, instruction, '\t');
    for (std::string target, version, said; fields >> target >> version >> said;)
      judgements.push_back({{instruction, target, version}, said == "ok"});
  }
  return judgements;
}

std::string to_text(const std::vector<Judgement>& judgements) {
  std::map<std::string, std::string> lines;
  for (const Judgement& j : judgements)
    lines[j.probe.instruction] += "\t" + j.probe.target + " " + j.probe.version + (j.legal ? " ok" : " bad");
  std::string text;
  for (const auto& [instruction, rest] : lines)
    text += instruction + rest + "\n";
  return text;
}

} // namespace lemma::verify_test
