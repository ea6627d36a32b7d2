// The rows of directives: each is found by its word, and says something.
#include "isa/directive.h"

#include <gtest/gtest.h>

namespace lemma::isa {
namespace {

TEST(Directives, AreFoundByTheirWords) {
  using Kind = Directive::Kind;
  for (const Directive& row : directives()) {
    EXPECT_EQ(find_directive(row.kind, row.name), &row) << row.name;
    EXPECT_NE(row.places, 0) << row.name;
    EXPECT_NE(row.since.major, 0) << row.name;
    EXPECT_FALSE(row.section.empty()) << row.name;
  }
  const Directive* mask = find_directive(Kind::pragma, "used_bytes_mask 0xfff");
  ASSERT_NE(mask, nullptr);
  EXPECT_EQ(mask->since, (IsaVersion{8, 3}));
  EXPECT_EQ(find_directive(Kind::pragma, "used_bytes_masks"), mask); // as the assembler has it
  EXPECT_EQ(find_directive(Kind::pragma, "anything else"), nullptr);
  EXPECT_EQ(find_directive(Kind::word, "nounroll"), nullptr);
}

TEST(Directives, NameTheirPlaces) {
  EXPECT_EQ(names_of_places(kEntry), "the head of an .entry");
  EXPECT_EQ(names_of_places(kFunction | kPrototype), "the head of a .func, a .callprototype");
  EXPECT_EQ(names_of_places(kBody), "a body");
  EXPECT_EQ(names_of_places(kEntryBody), "the body of an .entry");
  EXPECT_EQ(names_of_places(kModule | kBody), "module scope, a body");
}

} // namespace
} // namespace lemma::isa
