// Where each instruction is, asked of ptxas: the plainest instances of every form of the matrix instructions,
// for every target that ptxas knows, and the first one for every PTX version; and of every other form that
// only some machines have the plainest. The verifier, which reads target and version from the form, must say
// the same of each. So must the table of the machines of the targets themselves.
//
// With $LEMMA_ALL_FORMS set the plainest instance of every other form is asked about too: minutes.
//
// ptxas 13 knows no target below sm_75, so nothing is asked of those. A version older than the target itself
// cannot be asked about either.
#include "generate/sampler.h"
#include "oracle.h"
#include "ptxas/ptxas.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

namespace lemma::verify_test {

using namespace generate;

namespace {

constexpr std::string_view kNewest = "9.5";
constexpr std::string_view kNewestTarget = "sm_107"; // of which older toolkits know nothing
constexpr int kFirstSm = 75;                         // that ptxas knows

constexpr isa::IsaVersion kVersions[] = {{6, 0}, {6, 1}, {6, 2}, {6, 3}, {6, 4}, {6, 5}, {7, 0}, {7, 1},
                                         {7, 2}, {7, 3}, {7, 4}, {7, 5}, {7, 6}, {7, 7}, {7, 8}, {8, 0},
                                         {8, 1}, {8, 2}, {8, 3}, {8, 4}, {8, 5}, {8, 6}, {8, 7}, {8, 8},
                                         {9, 0}, {9, 1}, {9, 2}, {9, 3}, {9, 4}, {9, 5}};

std::string word(isa::IsaVersion version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

std::vector<isa::Target> known_targets() {
  std::vector<isa::Target> targets;
  for (const std::string_view name : isa::target_words())
    if (const auto target = isa::parse_target(name); target && target->sm >= kFirstSm)
      targets.push_back(*target);
  return targets;
}

// The target of the form that came first.
std::optional<isa::Target> oldest_target(const isa::Form& form) {
  std::optional<isa::Target> oldest;
  for (const isa::Target target : known_targets())
    if (form.targets.contains(target) && (!oldest || isa::target_since(target) < isa::target_since(*oldest)))
      oldest = target;
  return oldest;
}

// Of the machines that --gpu-name may name, sorted.
std::vector<std::string> targets_of(const std::string& ptxas) {
  std::string help;
  if (FILE* pipe = popen(fmt::format("'{}' --help", ptxas).c_str(), // NOLINT(bugprone-command-processor)
                         "r")) {
    char buffer[4096];
    while (const size_t bytes = fread(buffer, 1, sizeof buffer, pipe))
      help.append(buffer, bytes);
    pclose(pipe);
  }
  std::set<std::string> words;
  constexpr std::string_view quote = "'sm_";
  for (size_t at = help.find(quote); at != std::string::npos; at = help.find(quote, at + 1))
    words.insert(help.substr(at + 1, help.find('\'', at + 1) - at - 1));
  return {words.begin(), words.end()};
}

bool knows_the_newest() {
  const std::string ptxas = ptxas::find();
  const std::vector<std::string> here = ptxas.empty() ? std::vector<std::string>() : targets_of(ptxas);
  return std::find(here.begin(), here.end(), kNewestTarget) != here.end();
}

class PtxasTargets : public ::testing::Test {
protected:
  void SetUp() override {
    if (!knows_the_newest())
      GTEST_SKIP() << "no ptxas of CUDA 13.5 here";
  }
};

// What the table of the machines says: ptxas has just these targets, each from its version on.
TEST_F(PtxasTargets, AreThoseOfTheTable) {
  std::vector<std::string> known;
  for (const isa::Target target : known_targets())
    known.push_back(isa::to_string(target));
  std::sort(known.begin(), known.end());
  EXPECT_EQ(targets_of(ptxas::find()), known);
}

TEST_F(PtxasTargets, AreThereFromTheirVersionsOn) {
  std::vector<Probe> probes;
  for (const isa::Target target : known_targets()) {
    const auto* const since =
        std::find(std::begin(kVersions), std::end(kVersions), *isa::target_since(target));
    ASSERT_NE(since, std::end(kVersions)) << isa::to_string(target);
    for (const auto* const version : {since - 1, since})
      probes.push_back({"bar.sync 0;", isa::to_string(target), word(*version)});
  }
  const auto legal = judge(probes);
  LEMMA_SKIP_WITHOUT_PTXAS(legal);
  for (size_t i = 0; i < probes.size(); ++i) {
    EXPECT_EQ((*legal)[i], i % 2 == 1) << probes[i].target << ", PTX " << probes[i].version;
    EXPECT_EQ(lemma_accepts(probes[i]), i % 2 == 1) << probes[i].target << ", PTX " << probes[i].version;
  }
}

bool is_matrix(isa::Opcode opcode) {
  const std::string_view name = isa::to_string(opcode);
  for (const std::string_view prefix :
       {"mma", "wmma.", "wgmma.", "ldmatrix", "stmatrix", "movmatrix", "tcgen05."})
    if (name.starts_with(prefix))
      return true;
  return false;
}

// Whether the form is of some machines alone.
bool names_machines(const isa::Form& form) {
  return std::any_of(form.targets.any_of.begin(), form.targets.any_of.end(),
                     [](isa::Target target) { return target.suffix != 0; });
}

// The versions to ask about: all for the form's first instance, else the form's own and the one before it.
bool is_asked(isa::IsaVersion version, const isa::Form& form, bool first) {
  const auto at = std::find(std::begin(kVersions), std::end(kVersions), version);
  return first || version == form.since || (at + 1 != std::end(kVersions) && at[1] == form.since);
}

std::vector<Probe> probes_of(const isa::Form& form, bool first_only) {
  std::vector<Probe> probes;
  const auto oldest = oldest_target(form);
  bool first = true;
  for (const Text& text : plain_instances(form)) {
    for (const isa::Target target : known_targets())
      probes.push_back({text.str(), isa::to_string(target), std::string(kNewest)});
    for (const isa::IsaVersion version : kVersions)
      if (oldest && *isa::target_since(*oldest) <= version && is_asked(version, form, first))
        probes.push_back({text.str(), isa::to_string(*oldest), word(version)});
    first = false;
    if (first_only)
      break;
  }
  return probes;
}

// ptxas takes sparse .kind::f8f6f4 of two fp8 formats for the sm_100 and sm_110 families too. The ISA has it
// for sm_120 alone, and so have we.
bool is_beyond_the_isa(const Probe& probe) {
  const isa::Target target = isa::parse_target(probe.target).value_or(isa::Target{});
  return probe.instruction.starts_with("mma.sp") &&
         probe.instruction.find("kind::f8f6f4") != std::string::npos && target.sm >= 100 && target.sm < 120;
}

// Instances have one register wherever they can, which the code generator refuses of what several elements
// are written to, and any mask, where fabric.try_pullred wants that of all lanes.
bool is_refused_for_its_operands(const Probe& probe) {
  const std::string& text = probe.instruction;
  return text.starts_with("tcgen05.ld") || text.starts_with("spcompress") ||
         text.starts_with("spdecompress") || text.starts_with("fabric.try_pullred");
}

TEST_F(PtxasTargets, AgreeWithEveryForm) {
  const bool all = std::getenv("LEMMA_ALL_FORMS") != nullptr;
  std::vector<Probe> probes;
  size_t forms = 0;
  for (const isa::Form& form : isa::forms()) {
    if (!all && !is_matrix(form.opcode) && !names_machines(form))
      continue;
    const auto some = probes_of(form, !is_matrix(form.opcode));
    EXPECT_TRUE(all || !some.empty()) << isa::syntax_of(form) << ": no instance";
    probes.insert(probes.end(), some.begin(), some.end());
    ++forms;
  }
  const auto answered = judge(probes);
  LEMMA_SKIP_WITHOUT_PTXAS(answered);
  const std::vector<bool>& legal = *answered;
  size_t accepted = 0, beyond = 0;
  std::map<std::string, std::string> wrong; // one entry an instruction
  for (size_t i = 0; i < probes.size(); ++i) {
    accepted += legal[i];
    std::string why;
    if (legal[i] && is_beyond_the_isa(probes[i]))
      ++beyond;
    else if (!legal[i] && is_refused_for_its_operands(probes[i]))
      continue;
    else if (lemma_accepts(probes[i], &why) != legal[i])
      wrong[probes[i].instruction] +=
          fmt::format("\n  ptxas {} it for {}, PTX {} ({})", legal[i] ? "takes" : "refuses", probes[i].target,
                      probes[i].version, why);
  }
  for (const auto& [instruction, where] : wrong)
    ADD_FAILURE() << instruction << where;
  fmt::print("{} forms, {} probes, of which ptxas accepts {}\n", forms, probes.size(), accepted);
  EXPECT_GT(beyond, 0u) << "is_beyond_the_isa() is out of date";
  EXPECT_GT(accepted, forms);
  EXPECT_GT(probes.size() - accepted, forms);
}

} // namespace
} // namespace lemma::verify_test
