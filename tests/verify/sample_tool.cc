// Prints samples or mutants of the form tables with the verifier's verdict, one a line, for looking into what
// ptxas thinks of them: sample_tool {sample|mutate} SEED COUNT TARGET[@VERSION] [scalar|all|OPCODE-PREFIX]
// Line: ok|bad TAB kind TAB instruction TAB first error.
#include "generate/sampler.h"
#include "oracle.h"
#include "ptx/parser.h"
#include "verify/verify.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  using namespace lemma;
  using namespace lemma::generate;
  using namespace lemma::verify_test;
  if (argc < 5)
    return 2;
  if (std::strcmp(argv[1], "record") == 0) {
    const auto verdicts = judge_mutants(std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]), argv[4]);
    if (!verdicts)
      return 1;
    for (const auto& v : *verdicts)
      std::printf("%s\n", to_line(v).c_str());
    return 0;
  }
  const bool mutants = std::strcmp(argv[1], "mutate") == 0;
  Rng rng(std::strtoull(argv[2], nullptr, 10));
  const int count = std::atoi(argv[3]);
  const std::string_view both = argv[4]; // sm_90a or sm_90a@8.0
  const std::string target(both.substr(0, both.find('@')));
  const std::string version(both.find('@') == both.npos ? "9.0" : both.substr(both.find('@') + 1));
  const std::string which = argc > 5 ? argv[5] : "all";
  std::vector<const isa::Form*> forms;
  const auto accepts = [&](const std::string& line) {
    const auto outcome = ptx::parse(std::make_shared<SourceText>("t.ptx", module_of(line, target, version)));
    return !has_errors(outcome.diagnostics) && !has_errors(verify::verify(*outcome.module));
  };
  for (const isa::Form& form : isa::forms()) {
    if (which == "scalar" ? !is_scalar(form.opcode)
                          : which != "all" && !isa::to_string(form.opcode).starts_with(which))
      continue;
    if (form.targets.contains(isa::parse_target(target).value_or(isa::Target{})))
      forms.push_back(&form);
  }
  if (std::strcmp(argv[1], "probe") == 0) {
    for (const isa::Form* form : forms)
      for (int n = 0; n < count; ++n) {
        const auto text = sample(*form, rng);
        if (!text)
          continue;
        std::printf("ok\tsample\t%s\t\n", text->str().c_str());
        for (size_t w = 0; w < text->words.size(); ++w) {
          Text t = *text;
          t.words.insert(t.words.begin() + static_cast<std::ptrdiff_t>(w), t.words[w]);
          std::printf("ok\tdup %s\t%s\t\n", text->words[w].c_str(), t.str().c_str());
          for (const bool front : {true, false}) {
            t = *text;
            t.words.erase(t.words.begin() + static_cast<std::ptrdiff_t>(w));
            t.words.insert(front ? t.words.begin() : t.words.end(), text->words[w]);
            if (t.words != text->words)
              std::printf("ok\t%s %s\t%s\t\n", front ? "front" : "back", text->words[w].c_str(),
                          t.str().c_str());
          }
        }
      }
    return 0;
  }
  if (std::strcmp(argv[1], "types") == 0) { // every register class at every operand
    for (const isa::Form* form : forms)
      for (int n = 0; n < count; ++n) {
        const auto text = sample(*form, rng);
        if (!text)
          continue;
        for (size_t o = 0; o < text->operands.size(); ++o)
          for (const char* with : {"%p1",
                                   "%c1",
                                   "%uc1",
                                   "%sc1",
                                   "%rs1",
                                   "%us1",
                                   "%ss1",
                                   "%h1",
                                   "%r1",
                                   "%u1",
                                   "%s1",
                                   "%f1",
                                   "%hh1",
                                   "%rd1",
                                   "%ul1",
                                   "%sl1",
                                   "%fd1",
                                   "%rq1",
                                   "1",
                                   "-1",
                                   "1.5",
                                   "0f3F800000",
                                   "0d3FF0000000000000",
                                   "_",
                                   "%tid.x",
                                   "gvar",
                                   "svar",
                                   "!%p1"}) {
            Text t = *text;
            t.operands[o] = with;
            const std::string line = t.str();
            std::printf("%s\t%zu %s %s\t%s\t\n", accepts(line) ? "ok" : "bad", o, with,
                        isa::syntax_of(*form).c_str(), line.c_str());
          }
      }
    return 0;
  }
  for (int i = 0; i < count; ++i) {
    const isa::Form& form = mutants ? *rng.pick(forms) : *forms[static_cast<size_t>(i) % forms.size()];
    const auto text = sample(form, rng);
    if (!text)
      continue;
    Mutant mutant{*text, "sample"};
    if (mutants)
      mutant = mutate(*text, rng);
    const std::string line = mutant.text.str();
    const auto outcome = ptx::parse(std::make_shared<SourceText>("t.ptx", module_of(line, target, version)));
    Diagnostics diagnostics = outcome.diagnostics;
    if (!has_errors(diagnostics))
      for (auto& d : verify::verify(*outcome.module))
        diagnostics.push_back(d);
    std::string first;
    for (const auto& d : diagnostics)
      if (first.empty() && d.severity != Severity::warning)
        first = d.id + ": " + d.message;
    std::printf("%s\t%s\t%s\t%s\n", first.empty() ? "ok" : "bad", mutant.kind.c_str(), line.c_str(),
                first.c_str());
  }
}
