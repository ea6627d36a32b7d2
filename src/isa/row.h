// A row of the form tables as it is written, before it is read into a Form. Only the tables and form.cc see
// this; the catalogue of matrix instructions makes rows too.
//
// Tests: tests/unit/isa/.
#pragma once

#include <string>
#include <string_view>

namespace lemma::isa {

struct FormRow {
  std::string syntax;  // "add{.rnd}{.ftz}{.sat}.f32  d, a, b"
  std::string where;   // "rnd = .rn .rz .rm .rp; type = .f32 .f64"
  std::string targets; // "sm_80", "sm_90a sm_100f", a set of target_sets.def; empty: all
  std::string section;
  int major = 1;
  int minor = 0;
  // The last PTX version that has the form on `until_targets` and up; major 0: all have it.
  std::string until_targets;
  int until_major = 0;
  int until_minor = 0;
};

// The parts of FORM(...), so that a row names what it states.
struct where {
  std::string_view text;
  void put(FormRow& row) const { row.where = text; }
};
struct since {
  int major;
  int minor;
  void put(FormRow& row) const {
    row.major = major;
    row.minor = minor;
  }
};
struct until {
  int major;
  int minor;
  std::string_view targets;
  void put(FormRow& row) const {
    row.until_major = major;
    row.until_minor = minor;
    row.until_targets = targets;
  }
};
struct target {
  std::string_view text;
  void put(FormRow& row) const { row.targets = text; }
};
inline constexpr std::string_view any = "";
#define TARGET_SET(name, targets) inline constexpr std::string_view name = targets;
#include "isa/target_sets.def"
#undef TARGET_SET
struct see {
  std::string_view text;
  void put(FormRow& row) const { row.section = text; }
};

template <class... Parts>
FormRow form_row(std::string_view syntax, const Parts&... parts) {
  FormRow row;
  row.syntax = syntax;
  (parts.put(row), ...);
  return row;
}

} // namespace lemma::isa
