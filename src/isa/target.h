// GPUs and PTX versions: a target as `.target` and `-arch` name it, the set of targets that have something,
// and what a machine can run.
//
// A set is a predicate, not a minimum, and has three kinds of member:
//     sm_80     baseline: sm_80 and every later target
//     sm_90a    that machine alone
//     sm_120f   its family: the targets of the same major number from there on that are `a` or `f` themselves
//
// Not here: which targets there are (machines.def), and which instruction has which set (the rows).
//
// PTX ISA: "PTX Module Directives: .target". Tests: tests/unit/isa/target_test.cc.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::isa {

struct IsaVersion {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const IsaVersion&, const IsaVersion&) = default;
};

// The newest of which all is known here. A text for a later one is read as far as it is understood: what it
// has that is not known is unsupported, not illegal.
inline constexpr IsaVersion kNewestVersion = {9, 5};

// `sm` is 90 and `suffix` 'a' in sm_90a; suffix 0: none.
struct Target {
  int sm = 0;
  char suffix = 0;
  friend bool operator==(const Target&, const Target&) = default;
};

// "sm_90a"; none when the word is no target.
std::optional<Target> parse_target(std::string_view word);
std::string to_string(Target target);

// The first PTX version that has the target; none for an unknown one. All targets, as words.
std::optional<IsaVersion> target_since(Target target);
const std::vector<std::string_view>& target_words();

// Targets by their members, any of which will do. Empty: all.
struct TargetSet {
  std::vector<Target> any_of;
  bool contains(Target target) const;
  friend bool operator==(const TargetSet&, const TargetSet&) = default;
};

// "sm_100a sm_120f", words apart by blanks; none when one is no target.
std::optional<TargetSet> parse_targets(std::string_view words);
// "sm_90a", "sm_80 and up", "sm_100f family, sm_120f family", "all".
std::string to_string(const TargetSet& targets);

// Whether the GPU of compute capability sm / 10 . sm % 10 runs a module for the target: a later one runs
// sm_80, only sm_90 runs sm_90a, and sm_121 runs sm_120f. (A machine is a number: sm_90 and sm_90a are names
// of the same one.)
bool runs_on(Target module, int sm);
// The machines of which one would: "sm_80 and up", "sm_90 alone", "sm_120 and up in its family".
std::string machines_of(Target module);

} // namespace lemma::isa
