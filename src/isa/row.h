// A row of the form tables as it is written, before it is read into a Form, and what a row may state. Only
// the tables, form.cc and the tests of both see this.
//
// Tests: tests/unit/isa/.
#pragma once

#include "isa/form.h"

#include <string>
#include <string_view>
#include <vector>

namespace lemma::isa {

struct FormRow {
  std::string_view syntax;  // "add{.rnd}{.ftz}{.sat}.f32  d, a, b"
  std::string_view where;   // "rnd = .rn .rz .rm .rp; type = .f32 .f64"
  std::string_view targets; // "sm_80", "sm_90a sm_100f", a set of target_sets.def; empty: all
  std::string_view section;
  std::string_view needs; // ".relaxed 8.6 sm_90; .u64 .s64 8.1": words that came later than the form
  IsaVersion since = {1, 0};
  // The last PTX version that has the form on `until_targets` and up; 0.0: all have it.
  IsaVersion until;
  std::string_view until_targets;
};

// The parts of FORM(...), so that a row names what it states.
struct where {
  std::string_view text;
  constexpr void put(FormRow& row) const { row.where = text; }
};
struct since {
  int major;
  int minor;
  constexpr void put(auto& row) const { row.since = {major, minor}; }
};
struct until {
  int major;
  int minor;
  std::string_view targets;
  constexpr void put(FormRow& row) const {
    row.until = {major, minor};
    row.until_targets = targets;
  }
};
struct target {
  std::string_view text;
  constexpr void put(auto& row) const { row.targets = text; }
};
inline constexpr std::string_view any = "";
#define TARGET_SET(name, targets) inline constexpr std::string_view name = targets;
#include "isa/target_sets.def"
#undef TARGET_SET
// Words that came later than the form: since which PTX version, on which targets.
struct needs {
  std::string_view text;
  constexpr void put(FormRow& row) const { row.needs = text; }
};
// The anchor in the PTX ISA document, without #.
struct see {
  std::string_view text;
  constexpr void put(auto& row) const { row.section = text; }
};

// A row like another, but for its parts.
template <class Row, class... Parts>
constexpr Row row_like(Row row, const Parts&... parts) {
  (parts.put(row), ...);
  return row;
}
template <class... Parts>
constexpr FormRow form_row(FormRow row, std::string_view syntax, const Parts&... parts) {
  row.syntax = syntax;
  return row_like(row, parts...);
}

// What a row says; what is wrong with it goes to `errors`.
Form read_form(const FormRow& row, std::vector<std::string>& errors);

} // namespace lemma::isa
