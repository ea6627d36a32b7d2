// Looks instructions up in the catalogue's forms.
//
// Tests: tests/unit/nvgpu/instruction_test.cc.
#include "nvgpu/instruction.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::nvgpu {
namespace {

std::vector<isa::Word> words_of(std::string_view dotted) {
  std::vector<isa::Word> words;
  for (size_t at = 0; at <= dotted.size();) {
    const size_t end = std::min(dotted.find('.', at), dotted.size());
    words.push_back({dotted.substr(at, end - at), {static_cast<uint32_t>(at), static_cast<uint32_t>(end)}});
    at = end + 1;
  }
  return words;
}

bool has_word(const isa::Form& form, std::string_view word) {
  return std::ranges::any_of(form.slots, [&](const isa::Slot& slot) {
    return std::ranges::any_of(slot.quals, [&](isa::Qual qual) { return isa::to_string(qual) == word; });
  });
}

// Whether the form's type words, in order, may be these.
bool has_types(const isa::Form& form, const std::vector<isa::Type>& types) {
  if (types.empty())
    return true;
  size_t next = 0;
  for (const isa::Slot& slot : form.slots)
    if (slot.is_type() && next < types.size() && slot.has(types[next]))
      ++next;
  return next == types.size();
}

bool has_words(const isa::Form& form, const MatrixQuery& query) {
  const auto in_form = [&](std::string_view word) { return has_word(form, word); };
  return std::ranges::all_of(query.with, in_form) && std::ranges::none_of(query.without, in_form);
}

} // namespace

Result<Instruction, Diagnostic> Instruction::find(std::string_view spelling, size_t form_index) {
  auto match = isa::match(words_of(spelling));
  if (!match)
    return fail(std::move(match.error()));
  Instruction found;
  found.spelling_ = spelling;
  found.binding_ = match->bindings[std::min(form_index, match->bindings.size() - 1)];
  return found;
}

Registers Instruction::registers(size_t index) const {
  const isa::OperandSpec& spec = form().operands.at(index);
  Registers registers;
  registers.count = std::max(1, isa::elems_of(spec, binding_));
  registers.type = isa::type_of(spec, binding_);
  return registers;
}

std::vector<std::string> legal_shapes(const MatrixQuery& query) {
  std::vector<std::string> shapes;
  for (const isa::Form* form : isa::forms_of(query.opcode)) {
    if (!has_words(*form, query) || !has_types(*form, query.types))
      continue;
    for (const isa::Slot& slot : form->slots)
      for (const isa::Qual qual : slot.quals)
        if (const std::string_view word = isa::to_string(qual);
            isa::matrix_shape(word) && std::ranges::find(shapes, word) == shapes.end())
          shapes.emplace_back(word);
  }
  return shapes;
}

std::vector<std::string> legal_types(const MatrixQuery& query) {
  std::vector<std::string> found;
  for (const isa::Form* form : isa::forms_of(query.opcode)) {
    std::vector<std::vector<isa::Type>> slots; // D A B C
    for (const isa::Slot& slot : form->slots)
      if (slot.is_type())
        slots.push_back(slot.types);
    if (slots.size() != 4 || !has_words(*form, query))
      continue;
    for (const isa::Type d : slots[0])
      for (const isa::Type b : slots[2])
        for (const isa::Type c : slots[3]) {
          if (std::ranges::find(slots[1], query.types.at(1)) == slots[1].end())
            continue;
          std::string text = fmt::format("{} x {} + {} -> {}", isa::to_string(query.types[1]),
                                         isa::to_string(b), isa::to_string(c), isa::to_string(d));
          if (std::ranges::find(found, text) == found.end())
            found.push_back(std::move(text));
        }
  }
  return found;
}

} // namespace lemma::nvgpu
