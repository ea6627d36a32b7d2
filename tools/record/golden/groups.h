// The groups of recorded cases: one file under tests/golden/<target>/ each.
//
// Tests: tests/unit/golden/, tests/golden/.
#pragma once

#include "golden/case.h"

namespace lemma::golden {

struct GroupInfo {
  std::string_view name;  // "f32"
  std::string_view title; // what is in it, for docs and lists
};

std::span<const GroupInfo> group_infos();

// The cases of one group. `name` is one of group_infos().
Group make_group(std::string_view name);

} // namespace lemma::golden
