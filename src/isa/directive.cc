// The rows of directives.def as a table. They are few: looking one up goes through all.
#include "isa/directive.h"

#include <vector>

namespace lemma::isa {

std::span<const Directive> directives() {
  static const std::vector<Directive> rows = [] {
    std::vector<Directive> all;
    const auto version = [](int major, int minor) { return IsaVersion{major, minor}; };
#define DIRECTIVE(kind, name, places, since, until, targets, section)                                        \
  all.push_back({Directive::Kind::kind, name, static_cast<uint8_t>(places), version since, version until,    \
                 parse_targets(targets).value_or(TargetSet{}), section});
#include "isa/directives.def"
#undef DIRECTIVE
    return all;
  }();
  return rows;
}

const Directive* find_directive(Directive::Kind kind, std::string_view text) {
  for (const Directive& row : directives())
    if (row.kind == kind && (kind == Directive::Kind::pragma ? text.starts_with(row.name) : text == row.name))
      return &row;
  return nullptr;
}

std::string names_of_places(uint8_t places) {
  struct Name {
    uint8_t places;
    std::string_view text;
  };
  constexpr Name kNames[] = {{kModule, "module scope"},
                             {kEntry, "the head of an .entry"},
                             {kFunction, "the head of a .func"},
                             {kPrototype, "a .callprototype"},
                             {kBody, "a body"},
                             {kEntryBody, "the body of an .entry"},
                             {kVariable, "a variable"}};
  std::string text;
  for (const Name& name : kNames) {
    if ((places & name.places) != name.places)
      continue;
    text += (text.empty() ? "" : ", ") + std::string(name.text);
    places &= static_cast<uint8_t>(~name.places);
  }
  return text;
}

} // namespace lemma::isa
