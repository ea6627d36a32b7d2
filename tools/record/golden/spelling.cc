// Enumerates the spellings of a form. See spelling.h.
#include "golden/spelling.h"

#include "golden/case.h"

#include <fmt/format.h>

#include <cassert>

namespace lemma::golden {
namespace {

using isa::Binding;
using isa::Form;
using isa::Qual;
using isa::Type;

// Fills slot after slot; a group of optional slots is there as a whole or not at all.
class Spellings {
public:
  Spellings(const Form& form, const std::function<bool(Qual)>& wanted)
      : form_(form), wanted_(wanted), present_(form.group_parents.size()) {
    choose_group(0);
  }
  std::vector<Spelling> take() { return std::move(out_); }

private:
  void choose_group(size_t group) {
    if (group == present_.size())
      return choose_slot(0);
    present_[group] = false;
    choose_group(group + 1);
    const int8_t parent = form_.group_parents[group];
    if (parent >= 0 && !present_[static_cast<size_t>(parent)])
      return;
    present_[group] = true;
    choose_group(group + 1);
  }

  void choose_slot(size_t index) {
    if (index == form_.slots.size())
      return finish();
    const isa::Slot& slot = form_.slots[index];
    if (slot.group >= 0 && !present_[static_cast<size_t>(slot.group)]) {
      binding_.value[index] = 0;
      return choose_slot(index + 1);
    }
    for (const Type type : slot.types) {
      binding_.value[index] = static_cast<uint16_t>(type);
      choose_slot(index + 1);
    }
    for (const Qual qual : slot.quals) {
      if (wanted_ && !wanted_(qual))
        continue;
      binding_.value[index] = static_cast<uint16_t>(qual);
      choose_slot(index + 1);
    }
  }

  void finish() {
    binding_.form = &form_;
    out_.push_back({&form_, binding_, isa::spelling_of(binding_)});
  }

  const Form& form_;
  const std::function<bool(Qual)>& wanted_;
  std::vector<bool> present_;
  Binding binding_;
  std::vector<Spelling> out_;
};

} // namespace

bool Spelling::has(Qual qual) const {
  for (size_t i = 0; i < form->slots.size(); ++i)
    if (!form->slots[i].is_type() && binding.qual(static_cast<int>(i)) == qual)
      return true;
  return false;
}

std::vector<Type> Spelling::types() const {
  std::vector<Type> found;
  for (size_t i = 0; i < form->slots.size(); ++i)
    if (form->slots[i].is_type() && binding.value[i] != 0)
      found.push_back(binding.type(static_cast<int>(i)));
  return found;
}

bool on_golden_target(const Form& form) {
  const auto target = isa::parse_target(kTarget);
  assert(target);
  return form.targets.contains(*target) && form.since <= isa::IsaVersion{kPtxMajor, kPtxMinor};
}

std::vector<Spelling> spellings_of(const Form& form, const std::function<bool(Qual)>& wanted) {
  return Spellings(form, wanted).take();
}

Type type_of(const Spelling& spelling, const isa::OperandSpec& spec) {
  return isa::type_of(spec, spelling.binding);
}

} // namespace lemma::golden
