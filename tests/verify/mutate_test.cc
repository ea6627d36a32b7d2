// One-token mutations of scalar instructions: parser and verifier must agree with ptxas on at least 98 in
// 100, of which at least 30 in 100 are legal.
//
// 2,000 mutants are made from a seed ($LEMMA_MUTATE_SEED, else 1, whose answers are recorded), and there are
// those of ptxas_verdicts.txt, made by `sample_tool record`.
#include "generate/sampler.h"
#include "oracle.h"
#include "ptxas/ptxas.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace lemma::verify_test {

using namespace generate;

namespace {

constexpr int kMutants = 2000;

std::vector<Verdict> recorded() {
  return read_verdicts(LEMMA_TEST_DATA "/ptxas_verdicts.txt");
}

void expect_agreement(const std::vector<Verdict>& verdicts) {
  std::map<std::string, std::vector<std::string>> disagreements; // by kind of mutation
  int agreed = 0;
  int legal = 0;
  for (const Verdict& v : verdicts) {
    std::string why = "accepted";
    legal += v.legal;
    if (lemma_accepts(v, &why) == v.legal)
      ++agreed;
    else
      disagreements[v.kind].push_back(v.target + " " + v.instruction + " (" +
                                      (v.legal ? "legal" : "illegal") + " to ptxas; here: " + why + ")");
  }
  std::string report;
  for (const auto& [kind, lines] : disagreements) {
    report += kind + ": " + std::to_string(lines.size()) + "\n";
    for (const std::string& line : lines)
      report += "  " + line + "\n";
  }
  const int count = static_cast<int>(verdicts.size());
  std::printf("%d of %d mutants judged as ptxas does, %d legal\n%s", agreed, count, legal, report.c_str());
  EXPECT_GE(agreed * 100, count * 98);
  EXPECT_GE(legal * 100, count * 30);
}

TEST(Mutants, AgreeWithPtxas) {
  const char* given = std::getenv("LEMMA_MUTATE_SEED");
  const auto verdicts = judge_mutants(given ? std::strtoull(given, nullptr, 10) : 1, kMutants, "sm_90a");
  LEMMA_SKIP_WITHOUT_PTXAS(verdicts);
  expect_agreement(*verdicts);
}

TEST(Mutants, AgreeWithRecordedVerdicts) {
  const auto verdicts = recorded();
  ASSERT_GE(verdicts.size(), static_cast<size_t>(kMutants));
  expect_agreement(verdicts);
}

// Every 20th of them, so that a new toolkit that judges otherwise is noticed.
TEST(Mutants, RecordedVerdictsAreThoseOfPtxas) {
  const auto verdicts = recorded();
  for (size_t i = 0; i < verdicts.size(); i += 20) {
    const Verdict& v = verdicts[i];
    const auto accepts = ptxas_accepts(module_of(v.instruction, v.target, kMutantVersion), v.target);
    LEMMA_SKIP_WITHOUT_PTXAS(accepts);
    EXPECT_EQ(*accepts, v.legal) << v.instruction;
  }
}

} // namespace
} // namespace lemma::verify_test
