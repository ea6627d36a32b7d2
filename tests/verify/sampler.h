// Instructions made from the form tables, and one-token mutations of them, inside a module that declares a
// register of every type and a variable of every state space. Deterministic for a seed.
//
// What comes out of sample() should be legal: the rows say so, and ptxas judges the rows. What comes out of
// mutate() may be legal or not: ptxas and the verifier must agree.
#pragma once

#include "isa/form.h"

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::verify_test {

// SplitMix64: the same sequence on every platform, unlike the distributions of <random>.
class Rng {
public:
  explicit Rng(uint64_t seed) : state_(seed) {}
  // Always 0, and no chance is taken.
  static Rng first() {
    Rng rng(0);
    rng.first_ = true;
    return rng;
  }
  uint64_t next();
  // 0 .. n-1; n > 0.
  size_t below(size_t n) { return next() % n; }
  bool chance(int percent) { return !first_ && below(100) < static_cast<size_t>(percent); }
  template <class Container>
  const auto& pick(const Container& choices) {
    return std::data(choices)[below(std::size(choices))];
  }

private:
  uint64_t state_;
  bool first_ = false;
};

// An instruction as tokens that a mutation can touch one by one.
struct Text {
  std::string opcode;             // "bar.warp.sync"
  std::vector<std::string> words; // qualifiers and types, without dots
  std::vector<std::string> operands;
  std::string str() const; // "add.rn.f32 %f1, %f2, %f3;"
};

// One legal instance of the form for the target, or none when the form is not made for sampling (calls,
// tables).
std::optional<Text> sample(const isa::Form& form, Rng& rng);

// The plainest instances of the form: no optional word or operand, registers of no kind, every class at its
// first word. Then one for every other word of each class (of long classes the first, middle and last) and
// for every optional word, the rest as before. Empty where sample() gives none.
std::vector<Text> plain_instances(const isa::Form& form);

// What a mutation did, for the report of disagreements.
struct Mutant {
  Text text;
  std::string kind; // "replace-qualifier", "drop-qualifier", ...
};
Mutant mutate(const Text& text, Rng& rng);

// Whether the opcode is one of the scalar ISA: arithmetic, logic, comparison, conversion, loads and stores,
// scalar synchronization, control flow. Not matrices, tensors, asynchronous units, textures, video.
bool is_scalar(isa::Opcode opcode);

// The module around an instruction.
std::string module_of(std::string_view instruction, std::string_view target = "sm_90a",
                      std::string_view version = "9.0");

} // namespace lemma::verify_test
