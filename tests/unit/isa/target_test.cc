// Targets: words, sets and their names, and which machine runs what.
#include "isa/machine.h"
#include "isa/target.h"

#include "isa/form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace lemma::isa {
namespace {

Target target(std::string_view word) {
  return parse_target(word).value_or(Target{});
}
TargetSet targets(std::string_view words) {
  return parse_targets(words).value_or(TargetSet{{Target{1, 'a'}}});
}

TEST(Targets, AreWords) {
  EXPECT_EQ(target("sm_121a"), (Target{121, 'a'}));
  EXPECT_EQ(to_string(target("sm_121f")), "sm_121f");
  EXPECT_FALSE(parse_target("sm_90b"));
  EXPECT_FALSE(parse_target("sm_"));
  EXPECT_FALSE(parse_target("compute_90"));
  EXPECT_EQ(target_since(target("sm_90a")), (IsaVersion{8, 0}));
  EXPECT_EQ(target_since(target("sm_91")), std::nullopt);
}

TEST(Targets, SetsAreRead) {
  EXPECT_EQ(targets("sm_100a sm_120f"), (TargetSet{{{100, 'a'}, {120, 'f'}}}));
  EXPECT_EQ(targets(" sm_80  "), (TargetSet{{{80, 0}}}));
  EXPECT_EQ(targets(""), TargetSet{});
  EXPECT_FALSE(parse_targets("sm_80 hopper"));
  EXPECT_EQ(to_string(targets("sm_80")), "sm_80 and up");
  EXPECT_EQ(to_string(targets("sm_90a sm_120f")), "sm_90a, sm_120f family");
  EXPECT_EQ(to_string(TargetSet{}), "all");
}

struct NamedSet {
  std::string_view name;
  TargetSet targets;
};

std::vector<NamedSet> named_sets() {
  return {
#define TARGET_SET(name, words) {#name, targets(words)},
#include "isa/target_sets.def"
#undef TARGET_SET
  };
}

std::string members(const TargetSet& set) {
  std::string text;
  for (const std::string_view word : target_words())
    if (set.contains(target(word)))
      text += std::string(word) + " ";
  return text;
}

// A set has one name, and a list of targets is written once, in target_sets.def.
TEST(Targets, EverySetHasOneName) {
  std::map<std::string, std::string_view> names;
  for (const auto& [name, set] : named_sets()) {
    EXPECT_GT(set.any_of.size(), 1u) << name << ": a target is its own name";
    for (const Target one : set.any_of)
      EXPECT_TRUE(target_since(one)) << name << " has " << to_string(one) << ", which there is not";
    const auto [same, fresh] = names.emplace(members(set), name);
    EXPECT_TRUE(fresh) << name << " and " << same->second << " are the same";
  }
  EXPECT_GT(names.size(), 5u);
}

TEST(Targets, EveryRowNamesItsSet) {
  const std::vector<NamedSet> sets = named_sets();
  std::set<std::string_view> used;
  const auto use = [&](const TargetSet& targets, const auto& what) {
    if (targets.any_of.size() < 2)
      return;
    const auto it = std::find_if(sets.begin(), sets.end(),
                                 [&](const NamedSet& named) { return named.targets == targets; });
    ASSERT_NE(it, sets.end()) << what << ": '" << to_string(targets) << "' has no name in target_sets.def";
    used.insert(it->name);
  };
  for (const Form& form : forms()) {
    use(form.targets, syntax_of(form));
    use(form.until_targets, syntax_of(form));
  }
  for (size_t i = 0; i < kQualCount; ++i)
    if (const Need* need = need_of(static_cast<Qual>(i)))
      use(need->targets, to_string(static_cast<Qual>(i)));
  for (const auto& [name, set] : sets)
    EXPECT_TRUE(used.contains(name)) << "no row has " << name;
}

TEST(Targets, SetsAreWhatTheirNamesSay) {
  std::map<std::string_view, std::string> sets;
  for (const auto& [name, set] : named_sets())
    sets[name] = members(set);
  EXPECT_EQ(sets["sm_100_family"], "sm_100a sm_100f sm_103a sm_103f sm_107a sm_107f ");
  EXPECT_EQ(sets["sm_120_family_each"], "sm_120a sm_121a ");
  EXPECT_EQ(sets["tensor_memory"], "sm_100a sm_100f sm_103a sm_103f sm_107a sm_107f sm_110a sm_110f ");
  EXPECT_EQ(sets["tensor_memory_integers"], "sm_100a sm_110a ");
  EXPECT_EQ(sets["hopper_and_blackwell"], "sm_90a " + sets["blackwell"]);
  EXPECT_EQ(sets["blackwell"], sets["tensor_memory"] + sets["sm_120_family"]);
}

TEST(Targets, SetsArePredicates) {
  EXPECT_TRUE(TargetSet{}.contains(target("sm_20")));
  EXPECT_TRUE(targets("sm_80").contains(target("sm_90a")));
  EXPECT_TRUE(targets("sm_80").contains(target("sm_121f")));
  EXPECT_FALSE(targets("sm_80").contains(target("sm_75")));
  EXPECT_TRUE(targets("sm_90a").contains(target("sm_90a")));
  EXPECT_FALSE(targets("sm_90a").contains(target("sm_90")));
  EXPECT_FALSE(targets("sm_90a").contains(target("sm_100a")));
  EXPECT_TRUE(targets("sm_100f").contains(target("sm_103a")));
  EXPECT_TRUE(targets("sm_100f").contains(target("sm_100f")));
  EXPECT_FALSE(targets("sm_100f").contains(target("sm_100")));
  EXPECT_FALSE(targets("sm_103f").contains(target("sm_100f")));
  EXPECT_FALSE(targets("sm_100f").contains(target("sm_120f")));
  EXPECT_TRUE(targets("sm_90a sm_120a").contains(target("sm_120a")));
}

TEST(Targets, MachinesRunModules) {
  EXPECT_TRUE(runs_on(target("sm_80"), 80));
  EXPECT_TRUE(runs_on(target("sm_80"), 120));
  EXPECT_FALSE(runs_on(target("sm_80"), 75));
  EXPECT_TRUE(runs_on(target("sm_90a"), 90));
  EXPECT_FALSE(runs_on(target("sm_90a"), 100));
  EXPECT_FALSE(runs_on(target("sm_90a"), 89));
  EXPECT_TRUE(runs_on(target("sm_120f"), 120));
  EXPECT_TRUE(runs_on(target("sm_120f"), 121));
  EXPECT_FALSE(runs_on(target("sm_121f"), 120));
  EXPECT_FALSE(runs_on(target("sm_100f"), 120));
  EXPECT_EQ(machines_of(target("sm_80")), "sm_80 and up");
  EXPECT_EQ(machines_of(target("sm_90a")), "sm_90 alone");
  EXPECT_EQ(machines_of(target("sm_100f")), "sm_100 and up in its family");
}

// sm_101 was what is sm_110 from PTX 9.0 on.
TEST(Target, HasAnEarlierName) {
  const Target old{101, 'a'}, now{110, 'a'};
  EXPECT_EQ(to_string(old), "sm_101a");
  EXPECT_EQ(target_since(old), (IsaVersion{8, 6}));
  EXPECT_EQ(target_since(Target{101, 'f'}), (IsaVersion{8, 8}));
  EXPECT_EQ(target_since(now), (IsaVersion{9, 0}));
  EXPECT_EQ(number_now(101), 110);
  EXPECT_EQ(number_now(103), 103);
  EXPECT_TRUE(parse_targets("sm_110a")->contains(old));
  EXPECT_TRUE(parse_targets("sm_110f")->contains(old));
  EXPECT_TRUE(parse_targets("sm_103")->contains(Target{101, 0}));
  EXPECT_FALSE(parse_targets("sm_100f")->contains(old));
  EXPECT_TRUE(runs_on(old, 110));
  EXPECT_FALSE(runs_on(old, 101 + 2));
  EXPECT_EQ(find_machine(101), find_machine(110));
}

} // namespace
} // namespace lemma::isa
