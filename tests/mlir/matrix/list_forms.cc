// Prints, as JSON, every spelling that the instruction forms have for the opcodes named on the command line:
// what matrix.py enumerates. One object a spelling: qualifiers, types, the registers of each operand,
// targets.
//
// It states no fact of its own, and says nothing about what the dialect or the virtual GPU does with a form.
#include "golden/spelling.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace lemma {
namespace {

using nlohmann::json;

json to_json(const golden::Spelling& spelling, const isa::OperandSpec& spec) {
  json operand = {{"name", spec.name},
                  {"count", isa::elems_of(spec, spelling.binding)}, // 0: a scalar
                  {"type", isa::to_string(golden::type_of(spelling, spec))},
                  {"optional", spec.group >= 0 || spec.if_slot >= 0}};
  if (spec.ranged)
    operand["range"] = {spec.min, spec.max};
  return operand;
}

json to_json(const golden::Spelling& spelling) {
  const isa::Form& form = *spelling.form;
  json operands = json::array(), types = json::array(), words = json::object();
  for (const isa::OperandSpec& spec : form.operands)
    operands.push_back(to_json(spelling, spec));
  for (const isa::Type type : spelling.types())
    types.push_back(isa::to_string(type));
  for (size_t i = 0; i < form.slots.size(); ++i)
    if (!form.slots[i].is_type() && spelling.binding.value[i] != 0)
      words[form.slots[i].name] = isa::to_string(spelling.binding.qual(static_cast<int>(i)));
  json targets = json::array();
  for (const std::string_view word : isa::target_words())
    if (form.targets.contains(*isa::parse_target(word)))
      targets.push_back(word);
  return {{"spelling", spelling.text}, {"words", words},     {"types", types},
          {"operands", operands},      {"targets", targets}, {"since", {form.since.major, form.since.minor}}};
}

} // namespace
} // namespace lemma

int main(int argc, char** argv) {
  using namespace lemma;
  const std::vector<std::string_view> wanted(argv + 1, argv + argc);
  nlohmann::json all = nlohmann::json::array();
  for (const isa::Form& form : isa::forms())
    if (std::ranges::find(wanted, isa::to_string(form.opcode)) != wanted.end())
      for (const golden::Spelling& spelling : golden::spellings_of(form))
        all.push_back(to_json(spelling));
  if (all.empty()) {
    fmt::print(stderr, "usage: nvgpu_matrix_forms OPCODE...: no form of such an opcode\n");
    return 2;
  }
  fmt::print("{}\n", all.dump());
  return 0;
}
