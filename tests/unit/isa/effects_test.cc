// Effects against the forms of their opcodes: what a row says of memory, membermasks and results, its
// operands bear out.
#include "isa/effects.h"
#include "isa/form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace lemma::isa {
namespace {

using namespace effect;

template <class F>
void for_each_form(F&& f) {
  for (const Form& form : forms())
    f(form, effects_of(form.opcode), std::string(to_string(form.opcode)) + ": " + syntax_of(form));
}

bool has_address(const Form& form) {
  return std::any_of(form.operands.begin(), form.operands.end(),
                     [](const OperandSpec& operand) { return operand.kind == OperandSpec::Kind::address; });
}

TEST(Effects, OfEveryOpcodeAreStated) {
  for (int i = 1; i < kOpcodeCount; ++i)
    EXPECT_TRUE(effects_of(static_cast<Opcode>(i)).is_stated()) << to_string(static_cast<Opcode>(i));
  EXPECT_FALSE(effects_of(Opcode::none).is_stated());
}

TEST(Effects, WhatIsPureHasADestinationAndNoAddress) {
  size_t seen = 0;
  for_each_form([&](const Form& form, Effects effects, const std::string& text) {
    if (!effects.has(pure))
      return;
    ++seen;
    EXPECT_FALSE(has_address(form)) << text;
    ASSERT_FALSE(form.operands.empty()) << text;
    EXPECT_TRUE(form.operands[0].written) << text;
  });
  EXPECT_GE(seen, 400u);
}

TEST(Effects, WhatAccessesMemorySaysWhere) {
  size_t seen = 0;
  for_each_form([&](const Form& form, Effects effects, const std::string& text) {
    if (!effects.has_any(updates | on_mbarrier | makes_mbarrier | ends_mbarrier | hints))
      return;
    ++seen;
    EXPECT_TRUE(has_address(form) || effects.has_any(shared_operands | textures)) << text;
  });
  EXPECT_GE(seen, 400u);
}

// So many operands are written, and so many read as data; which of the latter are predicates.
struct Operands {
  size_t written = 0, sources = 0;
  bool gives_predicate = false, ends_with_predicate = false;
};

Operands operands_of(const Form& form) {
  Operands of;
  for (const OperandSpec& operand : form.operands)
    ++(operand.written ? of.written : of.sources);
  if (of.written + of.sources != 0) {
    of.gives_predicate = form.operands.front().written && form.operands.front().type == Type::pred;
    of.ends_with_predicate = !form.operands.back().written && form.operands.back().type == Type::pred;
  }
  return of;
}

TEST(Effects, WhatAPureOneMakesFitsItsOperands) {
  size_t seen = 0;
  for_each_form([&](const Form& form, Effects effects, const std::string& text) {
    const Operands of = operands_of(form);
    if (effects.has_any(moves | converts)) {
      EXPECT_GE(of.sources, 1u) << text;
    } else if (effects.has_any(adds | bitwise | shifts_left | shifts_right)) {
      EXPECT_EQ(of.sources, 2u) << text;
    } else if (effects.has(selects)) {
      EXPECT_TRUE(of.sources == 3 && of.ends_with_predicate) << text;
    } else if (effects.has(compares)) {
      EXPECT_TRUE(of.gives_predicate && of.sources >= 2 && (of.sources == 2) != of.ends_with_predicate)
          << text;
    } else {
      return;
    }
    ++seen;
    EXPECT_TRUE(effects.has(pure) && of.written == 1) << text;
    EXPECT_TRUE(!effects.has_any(zero_decides | one_decides) || effects.has(bitwise)) << text;
  });
  EXPECT_GE(seen, 100u);
}

TEST(Effects, LoadsStoresAndAtomicsHaveTheirOperands) {
  size_t seen = 0;
  for_each_form([&](const Form& form, Effects effects, const std::string& text) {
    if (effects.has(accesses)) {
      ++seen;
      const size_t address = form.operands.front().written;
      EXPECT_EQ(form.operands.at(address).kind, OperandSpec::Kind::address) << text;
      EXPECT_EQ(is_load(effects) + is_store(effects) + is_atomic(effects), 1) << text;
      EXPECT_EQ(form.operands.front().written,
                is_load(effects) || (is_atomic(effects) && !effects.has(reduces)))
          << text;
    }
    if (effects.has(reduces)) {
      EXPECT_TRUE(effects.has(updates) && !form.operands.front().written) << text;
    }
    if (effects.has_any(shuffles | collects)) {
      EXPECT_TRUE(form.operands.front().written && effects.has_any(masked | by_warp)) << text;
    }
    if (effects.has(leaves)) {
      EXPECT_TRUE(form.operands.empty()) << text;
    }
    EXPECT_EQ(effects.has(tensor_memory), to_string(form.opcode).starts_with("tcgen05.")) << text;
  });
  EXPECT_GE(seen, 70u);
}

TEST(Effects, WhatIsMaskedHasItsMembermaskLast) {
  size_t seen = 0;
  for_each_form([&](const Form& form, Effects effects, const std::string& text) {
    const bool has_mask = !form.operands.empty() && form.operands.back().name == "membermask";
    EXPECT_EQ(effects.has(masked), has_mask) << text;
    seen += has_mask;
  });
  EXPECT_GE(seen, 10u);
}

TEST(Effects, FencesWithWordsForSemanticsAreOrdered) {
  size_t seen = 0;
  for_each_form([&](const Form& form, Effects effects, const std::string& text) {
    const bool has_words = std::any_of(form.slots.begin(), form.slots.end(), [](const Slot& slot) {
      return slot.has(Qual::acquire) || slot.has(Qual::release) || slot.has(Qual::sc);
    });
    if (!effects.has(fences) || !has_words)
      return;
    ++seen;
    EXPECT_TRUE(effects.has(ordered)) << text;
  });
  EXPECT_GE(seen, 5u);
}

TEST(Effects, HaveTheIsasDefaults) {
  const auto order_of = [](Opcode opcode) {
    return std::pair(effects_of(opcode).semantics(), effects_of(opcode).scope());
  };
  EXPECT_EQ(order_of(Opcode::ld), std::pair(Semantics::weak, MemoryScope::none));
  EXPECT_EQ(order_of(Opcode::atom), std::pair(Semantics::relaxed, MemoryScope::gpu));
  EXPECT_EQ(order_of(Opcode::membar), std::pair(Semantics::sc, MemoryScope::gpu));
  EXPECT_EQ(order_of(Opcode::mbarrier_arrive), std::pair(Semantics::release, MemoryScope::cta));
  EXPECT_EQ(order_of(Opcode::barrier_cluster_wait), std::pair(Semantics::acquire, MemoryScope::cluster));
}

TEST(Effects, OfBothAreThoseOfEach) {
  const Effects both = reads | faults;
  EXPECT_TRUE(both.has(reads));
  EXPECT_FALSE(both.has(updates));
  EXPECT_TRUE(both.has_any(updates));
  EXPECT_FALSE(both.has_any(waits | masked));
  EXPECT_EQ(effects_of(Opcode::addc), pure | carry);
}

} // namespace
} // namespace lemma::isa
