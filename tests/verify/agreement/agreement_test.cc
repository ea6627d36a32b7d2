// Parser and verifier against what ptxas said (agreement.h). What differs is listed in exceptions.txt, with
// the reason.
#include "agreement.h"

#include "generate/sampler.h"
#include "ptxas/ptxas.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace lemma::verify_test {
namespace {

const std::string kFolder = LEMMA_AGREEMENT;

// "INSTRUCTION or module TAB where it differs (grid.h), or TARGET VERSION of a module TAB reason"
std::map<std::string, std::string> exceptions() {
  std::map<std::string, std::string> all;
  for (const std::string& line : read_lines(kFolder + "/exceptions.txt")) {
    const size_t name = line.find('\t'), where = line.rfind('\t');
    all[line.substr(0, name)] = line.substr(name + 1, where - name - 1);
  }
  return all;
}

const std::vector<Verdicts>& record() {
  static const auto verdicts = read_verdicts_on_grid(kFolder + "/verdicts.txt");
  return verdicts;
}

std::vector<std::string> instructions() {
  std::vector<std::string> all;
  for (const Verdicts& each : record())
    all.push_back(each.instruction);
  return all;
}

LegalAt difference(const LegalAt& a, const LegalAt& b) {
  LegalAt different(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    different[i] = a[i] != b[i];
  return different;
}

size_t count(const LegalAt& where) {
  return static_cast<size_t>(std::count(where.begin(), where.end(), true));
}

bool is_of_matrix_or_memory(std::string_view instruction) {
  constexpr std::string_view kOpcodes[] = {
      "mma",  "wmma", "wgmma", "tcgen05",  "ldmatrix", "stmatrix", "movmatrix", "ld",       "ldu",     "st",
      "atom", "red",  "cp",    "multimem", "cvta",     "fence",    "membar",    "mbarrier", "prefetch"};
  const std::string_view opcode = instruction.substr(0, instruction.find('.'));
  return std::find(std::begin(kOpcodes), std::end(kOpcodes), opcode) != std::end(kOpcodes);
}

TEST(Agreement, OfInstructions) {
  const auto listed = exceptions();
  const std::vector<LegalAt> ours = judged_by_lemma(instructions(), everywhere());
  size_t judged = 0, differ = 0, told = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const Verdicts& theirs = record()[i];
    judged += theirs.legal.size();
    const LegalAt where = difference(ours[i], theirs.legal);
    differ += count(where);
    const auto exception = listed.find(theirs.instruction);
    if (exception != listed.end()) {
      EXPECT_EQ(to_text(where), exception->second) << theirs.instruction << ": exceptions.txt is out of date";
      bool accepts = false;
      for (size_t p = 0; p < where.size(); ++p)
        accepts |= where[p] && ours[i][p];
      EXPECT_FALSE(accepts && is_of_matrix_or_memory(theirs.instruction)) << theirs.instruction;
    } else if (count(where) != 0 && told++ < 40) {
      ADD_FAILURE() << theirs.instruction << "\n  Lemma: " << to_text(ours[i])
                    << "\n  ptxas: " << to_text(theirs.legal);
    }
  }
  EXPECT_EQ(told, 0u);
  EXPECT_GE(judged, 60000u);
  EXPECT_LE(differ * 1000, judged) << "at most one in a thousand may differ";
  fmt::print("{} instructions, {} verdicts, of which {} differ\n", ours.size(), judged, differ);
}

// What the headers of a toolkit have as inline assembly, on the targets that they are for: without
// exceptions.
TEST(Agreement, OfHeaders) {
  const std::vector<Verdicts> verdicts = read_verdicts_on_grid(kFolder + "/headers.txt");
  ASSERT_GE(verdicts.size(), 4000u);
  std::vector<std::string> spellings;
  for (const Verdicts& each : verdicts)
    spellings.push_back(each.instruction);
  const std::vector<LegalAt> ours = judged_by_lemma(spellings, headers());
  size_t told = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    LegalAt theirs(points().size());
    for (const size_t point : headers())
      theirs[point] = verdicts[i].legal[point];
    EXPECT_GT(count(theirs), 0u) << spellings[i];
    if (ours[i] != theirs && told++ < 40)
      ADD_FAILURE() << spellings[i] << "\n  Lemma: " << to_text(ours[i]) << "\n  ptxas: " << to_text(theirs);
  }
}

// The fast way to judge a line at all points, and a module of its own at one, are the same.
TEST(Agreement, OfALineAndItsModule) {
  generate::Rng rng(1);
  for (int n = 0; n < 1000; ++n) {
    const Verdicts& each = rng.pick(record());
    const size_t i = rng.below(points().size());
    const Point& point = points()[i];
    const Probe probe{each.instruction, isa::to_string(point.target),
                      fmt::format("{}.{}", point.version.major, point.version.minor)};
    EXPECT_EQ(lemma_accepts(probe), judged_by_lemma({each.instruction}, {i})[0][i])
        << each.instruction << " at " << to_string(point);
  }
}

TEST(Agreement, PlacesReadAsTheyAreWritten) {
  for (const char* text : {"nowhere", "2.3 sm_10+", "7.0 sm_80+", "8.6-8.7 sm_100a sm_101a; 8.8 sm_100f",
                           "3.1 sm_35 sm_100+", "8.0 sm_90a"}) {
    EXPECT_EQ(to_text(parse_legal(text)), text);
  }
  const LegalAt matrix = parse_legal("7.0 sm_80+");
  for (size_t i = 0; i < points().size(); ++i)
    EXPECT_EQ(matrix[i], points()[i].target.sm >= 80) << to_string(points()[i]); // none of them is older
}

// Where LEMMA_PTXAS has the assembler asked.
TEST(Agreement, ThatTheAssemblerHereSaysToo) {
  if (!ptxas::asks_all())
    GTEST_SKIP() << "LEMMA_PTXAS does not say that the assembler is to be asked";
  std::vector<size_t> some;
  for (size_t i = 0; i < points().size(); i += 23)
    some.push_back(i);
  const std::vector<LegalAt> now = judged_by_ptxas(instructions(), some);
  for (size_t i = 0; i < now.size(); ++i)
    for (const size_t point : some)
      EXPECT_EQ(now[i][point], record()[i].legal[point])
          << record()[i].instruction << " at " << to_string(points()[point]);
}

TEST(Agreement, OfDirectives) {
  const std::vector<Judgement> judgements = read_judgements(kFolder + "/directive_verdicts.txt");
  ASSERT_GE(judgements.size(), 2000u);
  std::map<std::string, DirectiveModule> modules;
  for (DirectiveModule& module : read_modules(kFolder + "/directives.txt"))
    modules[module.name] = module;
  const auto listed = exceptions();
  for (const Judgement& j : judgements) {
    const Probe& probe = j.probe;
    std::string why = "accepted";
    const bool ours =
        lemma_accepts_module(text_of(modules.at(probe.instruction), probe.target, probe.version), &why);
    if (const auto exception = listed.find(probe.instruction); exception == listed.end()) {
      EXPECT_EQ(ours, j.legal) << probe.instruction << " at " << probe.target << " " << probe.version << ": "
                               << why;
    } else if (exception->second == probe.target + " " + probe.version) {
      EXPECT_NE(ours, j.legal) << probe.instruction << ": exceptions.txt is out of date";
    }
  }
}

TEST(Agreement, TheRecordIsBroad) {
  std::map<std::string, size_t> spellings;
  std::set<isa::IsaVersion> versions;
  std::set<std::string> targets;
  size_t legal = 0, judged = 0;
  for (const Verdicts& each : record()) {
    ++spellings[instruction_of(each.instruction)];
    legal += count(each.legal);
    judged += each.legal.size();
  }
  for (const Point& point : points()) {
    versions.insert(point.version);
    targets.insert(isa::to_string(point.target));
  }
  EXPECT_GE(spellings.size(), 250u);
  EXPECT_GE(targets.size(), 25u);
  EXPECT_GE(versions.size(), 24u);
  EXPECT_GE(legal * 10, judged * 2);
  EXPECT_LE(legal * 10, judged * 8);
}

} // namespace
} // namespace lemma::verify_test
