// Parser and verifier against what ptxas said (agreement.h). What differs is listed in exceptions.txt, with
// the reason.
#include "agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace lemma::verify_test {
namespace {

const std::string kFolder = LEMMA_AGREEMENT;

// "INSTRUCTION TAB TARGET VERSION TAB reason"
std::set<std::string> exceptions() {
  std::set<std::string> all;
  for (const std::string& line : read_lines(kFolder + "/exceptions.txt"))
    all.insert(line.substr(0, line.rfind('\t')));
  return all;
}

// Whether Lemma says what was recorded, but for what is listed, at most one in a thousand.
template <class Accepts>
void compare(const std::vector<Judgement>& judgements, const std::set<std::string>& listed, Accepts accepts) {
  std::set<std::string> seen;
  size_t told = 0;
  for (const Judgement& j : judgements) {
    std::string why;
    if (accepts(j.probe, &why) == j.legal)
      continue;
    const std::string key = j.probe.instruction + "\t" + j.probe.target + " " + j.probe.version;
    seen.insert(key);
    if (!listed.contains(key) && told++ < 40)
      ADD_FAILURE() << key << ": ptxas "
                    << (j.legal ? "takes it, Lemma does not: " : "refuses it, Lemma does not") << why;
  }
  EXPECT_EQ(told, 0u);
  EXPECT_LE(seen.size() * 1000, judgements.size()) << "at most one in a thousand may differ";
}

TEST(Agreement, OfInstructions) {
  const std::vector<Judgement> judgements = read_judgements(kFolder + "/verdicts.txt");
  ASSERT_GE(judgements.size(), 20000u);
  compare(judgements, exceptions(),
          [](const Probe& probe, std::string* why) { return lemma_accepts(probe, why); });
}

TEST(Agreement, OfDirectives) {
  const std::vector<Judgement> judgements = read_judgements(kFolder + "/directive_verdicts.txt");
  ASSERT_GE(judgements.size(), 1000u);
  std::map<std::string, DirectiveModule> modules;
  for (DirectiveModule& module : read_modules(kFolder + "/directives.txt"))
    modules[module.name] = module;
  compare(judgements, exceptions(), [&](const Probe& probe, std::string* why) {
    return lemma_accepts_module(text_of(modules.at(probe.instruction), probe.target, probe.version), why);
  });
}

TEST(Agreement, TheRecordIsBroad) {
  std::map<std::string, size_t> instructions;
  std::set<std::string> targets, versions;
  size_t refused = 0;
  const std::vector<Judgement> judgements = read_judgements(kFolder + "/verdicts.txt");
  for (const Judgement& j : judgements) {
    ++instructions[instruction_of(j.probe.instruction)];
    targets.insert(j.probe.target);
    versions.insert(j.probe.version);
    refused += !j.legal;
  }
  for (const auto& [instruction, times] : instructions)
    EXPECT_LE(times, 100u) << instruction;
  EXPECT_GE(targets.size(), 15u);
  EXPECT_GE(versions.size(), 10u);
  EXPECT_GE(refused * 10, judgements.size() * 3);
  EXPECT_LE(refused * 10, judgements.size() * 7);
}

} // namespace
} // namespace lemma::verify_test
