// Each .def file is included once as a table of spellings in the order of its enumerators, so that
// to_string() is an index; the way back is a hash map that the first caller makes. Entry 0 is `none`, which
// has no spelling.
#include "isa/vocabulary.h"

#include <charconv>

#include <array>
#include <string>
#include <unordered_map>

namespace lemma::isa {
namespace {

struct TypeEntry {
  std::string_view spelling;
  int bits;
  TypeKind kind;
};

constexpr TypeEntry kTypes[] = {
    {"", 0, TypeKind::none},
#define TYPE(name, bits, kind) {#name, bits, TypeKind::kind},
#include "isa/types.def"
#undef TYPE
};

constexpr std::string_view kOpcodes[] = {
    "",
#define OPCODE(name, spelling) spelling,
#include "isa/opcodes.def"
#undef OPCODE
};

constexpr std::string_view kQuals[] = {
    "",
#define QUAL(name, spelling) spelling,
#include "isa/qualifiers.def"
#undef QUAL
};

struct SregEntry {
  std::string_view spelling;
  Type type;
};

constexpr SregEntry kSregs[] = {
    {"", Type::none},
#define SREG(name, spelling, type, major, minor, targets) {spelling, Type::type},
#include "isa/special_registers.def"
#undef SREG
};

template <class Enum, class Table, class Spelling>
std::optional<Enum> find(const Table& table, std::string_view word, Spelling spelling) {
  static const auto index = [&] {
    std::unordered_map<std::string_view, Enum> map;
    for (size_t i = 1; i < std::size(table); ++i)
      map.emplace(spelling(table[i]), static_cast<Enum>(i));
    return map;
  }();
  const auto it = index.find(word);
  return it == index.end() ? std::nullopt : std::optional(it->second);
}

} // namespace

std::string_view to_string(Type type) {
  return kTypes[static_cast<size_t>(type)].spelling;
}
std::optional<Type> parse_type(std::string_view spelling) {
  return find<Type>(kTypes, spelling, [](const TypeEntry& e) { return e.spelling; });
}
int bits_of(Type type) {
  return kTypes[static_cast<size_t>(type)].bits;
}
TypeKind kind_of(Type type) {
  return kTypes[static_cast<size_t>(type)].kind;
}
int bytes_of(Type type) {
  return (bits_of(type) + 7) / 8;
}

std::string_view to_string(Opcode opcode) {
  return kOpcodes[static_cast<size_t>(opcode)];
}

std::optional<Opcode> parse_opcode(std::string_view spelling) {
  return find<Opcode>(kOpcodes, spelling, [](std::string_view s) { return s; });
}

std::string_view to_string(Qual qual) {
  return kQuals[static_cast<size_t>(qual)];
}
std::optional<Qual> parse_qual(std::string_view spelling) {
  return find<Qual>(kQuals, spelling, [](std::string_view s) { return s; });
}

std::string_view to_string(StateSpace space) {
  constexpr std::array<std::string_view, 10> names = {
      "generic", "reg", "sreg", "const", "global", "local", "param", "shared", "shared::cluster", "tex"};
  return names[static_cast<size_t>(space)];
}

std::optional<StateSpace> parse_state_space(std::string_view spelling) {
  for (const StateSpace space : {StateSpace::reg, StateSpace::const_, StateSpace::global, StateSpace::local,
                                 StateSpace::param, StateSpace::shared, StateSpace::tex})
    if (to_string(space) == spelling)
      return space;
  return std::nullopt;
}

std::string_view to_string(SpecialRegister sreg) {
  return kSregs[static_cast<size_t>(sreg)].spelling;
}
std::optional<SpecialRegister> parse_special_register(std::string_view spelling) {
  return find<SpecialRegister>(kSregs, spelling, [](const SregEntry& e) { return e.spelling; });
}
Type type_of(SpecialRegister sreg) {
  return kSregs[static_cast<size_t>(sreg)].type;
}

std::optional<std::array<int, 3>> matrix_shape(std::string_view word) {
  std::array<int, 3> shape{};
  const char* at = word.data();
  const char* const end = at + word.size();
  for (size_t i = 0; i < 3; ++i) {
    if (at == end || *at != "mnk"[i])
      return std::nullopt;
    ++at;
    const auto [next, error] = std::from_chars(at, end, shape[i]);
    if (error != std::errc())
      return std::nullopt;
    at = next;
  }
  return at == end ? std::optional(shape) : std::nullopt;
}

} // namespace lemma::isa
