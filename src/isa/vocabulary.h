// The words of PTX: types, opcodes, qualifiers, state spaces, as enumerators. A spelling is written once, in
// the .def files beside this one; an enumerator is the PTX token (`and_`, `or_`, `xor_`, `not_` where C++ has
// the word; `::` and a leading digit become `_`: `.shared::cta` is shared_cta, `.2d` is _2d).
//
// Tests: tests/unit/isa/.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace lemma::isa {

enum class Type : uint8_t {
  none,
#define TYPE(name, bits, kind) name,
#include "isa/types.def"
#undef TYPE
};

enum class TypeKind : uint8_t { none, predicate, untyped, unsigned_int, signed_int, floating, opaque };

inline constexpr int kTypeCount = static_cast<int>(std::size({
    0, // none
#define TYPE(name, bits, kind) 0,
#include "isa/types.def"
#undef TYPE
}));

// Spelling without the dot: "f32".
std::string_view to_string(Type type);
std::optional<Type> parse_type(std::string_view spelling);
int bits_of(Type type);
TypeKind kind_of(Type type);
// Bytes of a register or variable of this type: pred counts 1, sub-byte types 1.
int bytes_of(Type type);
inline bool is_signed(Type type) {
  return kind_of(type) == TypeKind::signed_int;
}
inline bool is_float(Type type) {
  return kind_of(type) == TypeKind::floating;
}
inline bool is_integer(Type type) {
  return kind_of(type) == TypeKind::signed_int || kind_of(type) == TypeKind::unsigned_int;
}

// An opcode is the instruction's leading words, up to where qualifiers vary: `add`, `bar.warp.sync`,
// `cp.async.bulk.tensor`, `mma`, `wgmma.mma_async`.
enum class Opcode : uint16_t {
  none,
#define OPCODE(name, spelling) name,
#include "isa/opcodes.def"
#undef OPCODE
};

inline constexpr int kOpcodeCount = static_cast<int>(std::size({
    0, // none
#define OPCODE(name, spelling) 0,
#include "isa/opcodes.def"
#undef OPCODE
}));

std::string_view to_string(Opcode opcode);
std::optional<Opcode> parse_opcode(std::string_view spelling); // the whole: "bar.warp.sync"

// A qualifier that is not a type: rounding modes, scopes, cache operators, shapes, ...
enum class Qual : uint16_t {
  none,
#define QUAL(name, spelling) name,
#include "isa/qualifiers.def"
#undef QUAL
};

inline constexpr int kQualCount = static_cast<int>(std::size({
    0, // none
#define QUAL(name, spelling) 0,
#include "isa/qualifiers.def"
#undef QUAL
}));

// Spelling without the dot: "shared::cta".
std::string_view to_string(Qual qual);
std::optional<Qual> parse_qual(std::string_view spelling);
// M, N and K of a word like m16n8k16; none if it is no shape.
std::optional<std::array<int, 3>> matrix_shape(std::string_view word);

// `generic` stands for an instruction without a state space.
enum class StateSpace : uint8_t {
  generic,
  reg,
  sreg,
  const_,
  global,
  local,
  param,
  shared,
  shared_cluster,
  tex
};
std::string_view to_string(StateSpace space); // without the dot: "shared::cluster"
// What a declaration may say: "reg", "const", "global", "local", "param", "shared", "tex".
std::optional<StateSpace> parse_state_space(std::string_view spelling);

// Special registers. Vectors are spelled with their component: %tid.x is tid_x.
enum class SpecialRegister : uint8_t {
  none,
#define SREG(name, spelling, type, major, minor, targets) name,
#include "isa/special_registers.def"
#undef SREG
};
std::string_view to_string(SpecialRegister sreg); // with its %: "%tid.x"
std::optional<SpecialRegister> parse_special_register(std::string_view spelling);
Type type_of(SpecialRegister sreg);

} // namespace lemma::isa
