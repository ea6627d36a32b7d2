// What is asked of an opcode: all its plain instances and as many random ones, then changes of them. Changes
// are drawn: each instance has a hundred.
#include "agreement/questions.h"

#include <algorithm>
#include <set>

namespace lemma::verify_test {
namespace {

using generate::Rng;
using generate::Text;

constexpr size_t kDraws = 20; // for each question wanted, until as many are found that differ

template <class T>
void shuffle(std::vector<T>& items, Rng& rng) {
  for (size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[rng.below(i)]);
}

std::vector<Text> instances_of(isa::Opcode opcode, size_t count, Rng& rng) {
  std::vector<Text> plain, some;
  for (const isa::Form* form : isa::forms_of(opcode)) {
    for (Text& text : generate::plain_instances(*form))
      plain.push_back(std::move(text));
    if (auto text = generate::sample(*form, rng))
      some.push_back(*std::move(text));
  }
  shuffle(plain, rng);
  shuffle(some, rng);
  if (some.size() > count / 2)
    some.resize(count / 2);
  if (plain.size() > count - some.size())
    plain.resize(count - some.size());
  plain.insert(plain.end(), some.begin(), some.end());
  return plain;
}

Question changed(const Text& from, const std::vector<std::string>& quals,
                 const std::vector<std::string>& types, Rng& rng) {
  Question question{from, ""};
  std::vector<std::string>& words = question.text.words;
  const size_t at = rng.below(words.size() + 1);
  const auto place = words.begin() + static_cast<std::ptrdiff_t>(at);
  const bool takes_type = !types.empty() && (quals.empty() || rng.chance(30));
  const auto& vocabulary = takes_type ? types : quals;
  switch (words.empty() || at == words.size() ? 0 : rng.below(3)) {
  case 0:
    if (vocabulary.empty())
      break;
    question.change = "with ." + *words.insert(place, rng.pick(vocabulary));
    break;
  case 1:
    question.change = "without ." + *place;
    words.erase(place);
    break;
  default: {
    const auto& same_kind = isa::parse_type(*place) ? types : quals;
    const std::string word = rng.pick(same_kind);
    question.change = "." + word + " for ." + *place;
    *place = word;
  }
  }
  return question;
}

} // namespace

std::vector<Question> questions_about(isa::Opcode opcode, size_t count, Rng& rng) {
  std::vector<Question> questions;
  std::set<std::string> known;
  const std::vector<Text> instances = instances_of(opcode, count, rng);
  for (const Text& text : instances)
    if (known.insert(text.str()).second)
      questions.push_back({text, ""});
  const auto quals = generate::vocabulary(opcode, false), types = generate::vocabulary(opcode, true);
  const size_t wanted = questions.size() + count;
  for (size_t draw = 0; draw < count * kDraws && questions.size() < wanted && !instances.empty(); ++draw) {
    Question question = changed(rng.pick(instances), quals, types, rng);
    if (!question.change.empty() && known.insert(question.text.str()).second)
      questions.push_back(std::move(question));
  }
  return questions;
}

} // namespace lemma::verify_test
