// The form tables against each other, through instructions made from them: each is accepted by the parser and
// the verifier, and no row is superfluous because another accepts all that it does.
#include "generate/sampler.h"
#include "ptx/parser.h"
#include "ptx/shapes.h"
#include "verify/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::verify_test {

using namespace generate;

namespace {

constexpr int kSamples = 24;

// A target that has the form and the words of the instruction, rather a common one.
std::string target_of(const isa::Form& form, const std::vector<isa::Qual>& words = {}) {
  for (const char* name : {"sm_90a", "sm_100a", "sm_120a", "sm_103a", "sm_110a", "sm_107a"}) {
    const isa::Target target = isa::parse_target(name).value_or(isa::Target{});
    const auto has = [&](isa::Qual word) {
      const isa::Need* need = isa::need_of(word);
      return need == nullptr || need->targets.contains(target);
    };
    if (form.targets.contains(target) && std::all_of(words.begin(), words.end(), has))
      return name;
  }
  return "";
}

std::vector<isa::Qual> words_of(std::string_view instruction) {
  instruction = instruction.substr(0, instruction.find(' '));
  std::vector<isa::Qual> words;
  while (instruction.find('.') != instruction.npos) {
    instruction.remove_prefix(instruction.find('.') + 1);
    if (const auto word = isa::parse_qual(instruction.substr(0, instruction.find('.'))))
      words.push_back(*word);
  }
  return words;
}

bool is_gone(const isa::Form& form) {
  return form.until.major != 0;
}

// The forms that accept an instruction, and are there wherever `form` is.
std::set<const isa::Form*> also_accepting(const isa::Form& form, const std::string& text,
                                          const std::string& target) {
  const auto outcome = ptx::parse(std::make_shared<SourceText>("sample.ptx", module_of(text, target)));
  EXPECT_FALSE(has_errors(outcome.diagnostics)) << text << "\n"
                                                << render(outcome.diagnostics, *outcome.module->source);
  std::set<const isa::Form*> found;
  if (has_errors(outcome.diagnostics))
    return found;
  const Diagnostics diagnostics = verify::verify(*outcome.module);
  if (std::any_of(diagnostics.begin(), diagnostics.end(),
                  [](const Diagnostic& d) { return d.id == "texture-mode"; }))
    return found; // samples stand in modules of the other mode
  EXPECT_FALSE(has_errors(diagnostics)) << isa::syntax_of(form) << "\n"
                                        << render(diagnostics, *outcome.module->source);
  const ptx::Function& function = outcome.module->functions[0];
  const ptx::Instruction& instruction = function.instructions[0];
  isa::OperandShapes shapes;
  ptx::shapes_of(instruction, function, *outcome.module, shapes);
  for (const isa::Form* other : isa::forms_of(form.opcode)) {
    if (other == &form || other->since > form.since || is_gone(*other) || other->targets != form.targets)
      continue;
    const auto binding = isa::bind(*other, instruction.quals(), instruction.types());
    if (binding && isa::operands_fit(*other, *binding, shapes))
      found.insert(other);
  }
  return found;
}

TEST(Rows, AreAcceptedAndNoneIsSuperfluous) {
  Rng rng(1);
  int made = 0;
  for (const isa::Form& form : isa::forms()) {
    const std::string target = target_of(form);
    ASSERT_FALSE(target.empty()) << isa::syntax_of(form);
    if (is_gone(form))
      continue;
    std::set<const isa::Form*> others;
    for (int i = 0; i < kSamples; ++i) {
      const auto text = sample(form, rng);
      if (!text)
        break;
      ++made;
      const auto also = also_accepting(form, text->str(), target_of(form, words_of(text->str())));
      if (i == 0)
        others = also;
      std::erase_if(others, [&](const isa::Form* other) { return !also.contains(other); });
    }
    for (const isa::Form* other : others)
      ADD_FAILURE() << isa::syntax_of(form) << "\n  where " << isa::where_of(form) << "\nis all in\n  "
                    << isa::syntax_of(*other) << "\n  where " << isa::where_of(*other);
  }
  EXPECT_GT(made, 5000);
}

} // namespace
} // namespace lemma::verify_test
