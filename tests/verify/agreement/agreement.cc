// The record as text. Few sets of points are where all instructions are legal, which keeps the file small.
#include "agreement.h"

#include "isa/form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
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

std::vector<Verdicts> read_verdicts_on_grid(const std::string& path) {
  constexpr std::string_view kHeading = "== ";
  std::vector<Verdicts> verdicts;
  LegalAt legal;
  for (const std::string& line : read_lines(path))
    if (line.starts_with(kHeading))
      legal = parse_legal(std::string_view(line).substr(kHeading.size()));
    else
      verdicts.push_back({line, legal});
  return verdicts;
}

std::string to_text(const std::vector<Verdicts>& verdicts) {
  std::map<std::string, std::set<std::string>> by_place;
  for (const Verdicts& each : verdicts)
    by_place[to_text(each.legal)].insert(each.instruction);
  std::string text;
  for (const auto& [place, instructions] : by_place)
    text += fmt::format("== {}\n{}\n", place, fmt::join(instructions, "\n"));
  return text;
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
