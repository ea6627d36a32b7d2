// Tables of plans: an id finds the plan that was added, of its type alone.
#include "vgpu/code/plans.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace lemma::vgpu {
namespace {

struct Number {
  int value = 0;
};
struct Name {
  std::string value;
};
using Tables = PlanTables<Number, Name>;

TEST(Plans, AnIdFindsItsPlan) {
  Tables plans;
  EXPECT_EQ(plans.size(), 0u);
  const PlanId one = plans.add(std::make_shared<Number>(1));
  const PlanId two = plans.add(std::make_shared<Number>(2));
  const PlanId name = plans.add(std::make_shared<Name>("a"));
  EXPECT_EQ(plans.size(), 3u);
  EXPECT_EQ(plans.get<Number>(one).value, 1);
  EXPECT_EQ(plans.get<Number>(two).value, 2);
  EXPECT_EQ(plans.get<Name>(name).value, "a");
}

TEST(Plans, IdsOfDifferentPlansDiffer) {
  static_assert(sizeof(PlanId) == 4);
  Tables plans;
  const PlanId none;
  const PlanId number = plans.add(std::make_shared<Number>());
  const PlanId name = plans.add(std::make_shared<Name>());
  EXPECT_FALSE(none);
  EXPECT_TRUE(number);
  EXPECT_TRUE(name);
  EXPECT_NE(number, none);
  EXPECT_NE(number, name); // both are the first of their type
  EXPECT_EQ(number, PlanId(number));
}

TEST(Plans, PlansStayWhereTheyAreAndMayBeFilledIn) {
  Tables plans;
  const auto made = std::make_shared<Name>();
  const PlanId id = plans.add(made);
  const Name* const at = &plans.get<Name>(id);
  for (int i = 0; i < 1000; ++i)
    plans.add(std::make_shared<Name>());
  made->value = "later";
  EXPECT_EQ(&plans.get<Name>(id), at);
  EXPECT_EQ(at->value, "later");
}

#ifndef NDEBUG
TEST(PlansDeathTest, AnIdOfAnotherTypeIsABug) {
  Tables plans;
  plans.add(std::make_shared<Number>());
  const PlanId name = plans.add(std::make_shared<Name>());
  EXPECT_DEATH(plans.get<Number>(name), "kNumber");
}
#endif

} // namespace
} // namespace lemma::vgpu
