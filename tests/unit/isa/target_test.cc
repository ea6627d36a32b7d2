// Targets: words, sets, and which machine runs what.
#include "isa/target.h"

#include <gtest/gtest.h>

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

} // namespace
} // namespace lemma::isa
