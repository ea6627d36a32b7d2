// Instructions made from the form tables, and one-token mutations of them, inside a module that declares a
// register of every type and a variable of every state space. Deterministic for a seed.
//
// What comes out of sample() should be legal: the rows say so, and ptxas judges the rows. What comes out of
// mutate() may be legal or not: ptxas and the verifier must agree.
//
// Tests: tests/verify/, tests/fuzz/.
#pragma once

#include "isa/form.h"

#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::generate {

// SplitMix64: the same sequence on every platform, unlike the distributions of <random>.
class Rng {
public:
  explicit Rng(uint64_t seed) : state_(seed) {}
  // Choices are taken from the bytes, one a choice of up to 256, and when they are used up from a sequence
  // that follows from them: so that a fuzzer which changes a byte changes one choice. The bytes must outlive
  // it.
  static Rng of_bytes(std::span<const uint8_t> bytes);
  // Always 0, and no chance is taken.
  static Rng first() {
    Rng rng(0);
    rng.first_ = true;
    return rng;
  }
  uint64_t next();
  // 0 .. n-1; n > 0.
  size_t below(size_t n) { return bytes_.empty() ? next() % n : below_from_bytes(n); }
  bool chance(int percent) { return !first_ && below(100) < static_cast<size_t>(percent); }
  template <class Container>
  const auto& pick(const Container& choices) {
    return std::data(choices)[below(std::size(choices))];
  }

private:
  size_t below_from_bytes(size_t n);

  uint64_t state_;
  bool first_ = false;
  std::span<const uint8_t> bytes_;
};

// An instruction as tokens that a mutation can touch one by one.
struct Text {
  std::string opcode;             // "bar.warp.sync"
  std::vector<std::string> words; // qualifiers and types, without dots
  std::vector<std::string> operands;
  std::string str() const; // "add.rn.f32 %f1, %f2, %f3;"

  // Of what sample() made: the form, and what each operand is to it. Both live as long as the process.
  const isa::Form* form = nullptr;
  std::vector<const isa::OperandSpec*> specs;
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

// The qualifiers or the types that some form of the opcode has.
std::vector<std::string> vocabulary(isa::Opcode opcode, bool types);

// The names of the registers, eight of each type: "%rd" is a prefix of "%rd0" to "%rd7". PTX 8.3 and up has
// .b128.
struct RegisterClass {
  isa::Type type;
  std::string_view name;
};
inline constexpr int kRegistersOfClass = 8;
std::span<const RegisterClass> register_classes();

// Whether a register of sm_<sm> in a module of that version may have the type.
bool has_register(isa::Type type, int sm, std::string_view version);

// The module around an instruction. Where a register may not have a type, it has no registers of it.
std::string module_of(std::string_view instruction, std::string_view target = "sm_90a",
                      std::string_view version = "9.5");

} // namespace lemma::generate
