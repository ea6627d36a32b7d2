// Asks parser and verifier and ptxas the same thousands of questions, at every target and in every PTX
// version, and says where their answers differ, each difference as little as it can be:
//
//   ask_agreement [SEED [COUNT [OPCODE...]]]
//
// SEED, 1, chooses the questions, of which an opcode has COUNT, 60, and as many changed (questions.h); of all
// opcodes, or of those whose names begin so. $PTXAS is asked. Exit status 1 if something differs.
//
// All are asked at the points of cross(). Those that differ there are asked everywhere, which gives since
// when and on which targets they are legal to either; then words are left out as long as the answers still
// differ.
#include "agreement/grid.h"
#include "agreement/questions.h"
#include "oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

namespace {

using namespace lemma;
using namespace lemma::verify_test;

constexpr size_t kShown = 400; // differences that are made small and told

struct Difference {
  generate::Text text;
  std::string change;
  LegalAt lemma, ptxas;
  size_t alike = 0; // other questions that differ in the same way

  // The last point at which they differ.
  size_t where() const {
    size_t last = 0;
    for (size_t i = 0; i < lemma.size(); ++i)
      if (lemma[i] != ptxas[i])
        last = i;
    return last;
  }
};

std::vector<std::string> texts_of(const std::vector<Difference>& differences) {
  std::vector<std::string> texts;
  for (const Difference& each : differences)
    texts.push_back(each.text.str());
  return texts;
}

void judge_all(std::vector<Difference>& differences, const std::vector<size_t>& where) {
  const std::vector<std::string> texts = texts_of(differences);
  const auto ours = judged_by_lemma(texts, where), theirs = judged_by_ptxas(texts, where);
  for (size_t i = 0; i < differences.size(); ++i) {
    differences[i].lemma = ours[i];
    differences[i].ptxas = theirs[i];
  }
  std::erase_if(differences, [](const Difference& each) { return each.lemma == each.ptxas; });
}

// Without a word, as long as the answers differ at the same point.
void leave_words_out(Difference& difference) {
  const size_t point = difference.where();
  for (bool shorter = true; shorter;) {
    shorter = false;
    std::vector<generate::Text> fewer;
    std::vector<std::string> texts;
    for (size_t word = 0; word < difference.text.words.size(); ++word) {
      generate::Text text = difference.text;
      text.words.erase(text.words.begin() + static_cast<std::ptrdiff_t>(word));
      texts.push_back(text.str());
      fewer.push_back(std::move(text));
    }
    if (fewer.empty())
      return;
    const auto ours = judged_by_lemma(texts, {point}), theirs = judged_by_ptxas(texts, {point});
    for (size_t i = 0; i < fewer.size() && !shorter; ++i)
      if (ours[i][point] != theirs[i][point] && ours[i][point] == difference.lemma[point]) {
        difference.text = fewer[i];
        shorter = true;
      }
  }
}

// Of those that differ in the same way for the same change of the same opcode the shortest.
std::vector<Difference> representatives(std::vector<Difference> all) {
  std::map<std::string, Difference> by_kind;
  for (Difference& each : all) {
    const std::string kind = fmt::format("{}\t{}\t{}\t{}", each.text.opcode, each.change, to_text(each.lemma),
                                         to_text(each.ptxas));
    const auto [at, fresh] = by_kind.try_emplace(kind, each);
    if (fresh)
      continue;
    const size_t alike = at->second.alike + 1 + each.alike;
    if (each.text.str().size() < at->second.text.str().size())
      at->second = std::move(each);
    at->second.alike = alike;
  }
  std::vector<Difference> some;
  for (auto& [kind, each] : by_kind)
    some.push_back(std::move(each));
  return some;
}

} // namespace

int main(int argc, char** argv) {
  generate::Rng rng(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
  const size_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 60;
  std::vector<Difference> asked;
  for (int o = 1; o < isa::kOpcodeCount; ++o) {
    const auto opcode = static_cast<isa::Opcode>(o);
    bool wanted = argc < 4;
    for (int i = 3; i < argc; ++i)
      wanted |= isa::to_string(opcode).starts_with(argv[i]);
    if (wanted)
      for (Question& question : questions_about(opcode, count, rng))
        asked.push_back({std::move(question.text), std::move(question.change), {}, {}});
  }
  const size_t questions = asked.size(), points_asked = cross().size();
  judge_all(asked, cross());
  const size_t differ = asked.size();
  judge_all(asked, everywhere());
  std::vector<Difference> told = representatives(std::move(asked));
  fmt::print("{} questions at {} points: {} are answered otherwise, in {} ways\n", questions, points_asked,
             differ, told.size());
  if (told.size() > kShown)
    told.resize(kShown);
  on_all_cores(told.size(), [&](size_t i) { leave_words_out(told[i]); });
  judge_all(told, everywhere());
  for (const Difference& each : representatives(std::move(told)))
    fmt::print("{}  ({}{})\n  Lemma: {}\n  ptxas: {}\n", each.text.str(),
               each.change.empty() ? "a row" : each.change,
               each.alike == 0 ? "" : fmt::format(", and {} alike", each.alike), to_text(each.lemma),
               to_text(each.ptxas));
  return differ == 0 ? 0 : 1;
}
