// Scoped names: ranges, shadowing, clashes.
#include "ptx/names.h"

#include <gtest/gtest.h>

namespace lemma::ptx {
namespace {

using Kind = Binding::Kind;

uint32_t index_of(const ScopedNames& names, std::string_view name) {
  Binding binding;
  return names.find(name, binding) ? binding.index : UINT32_MAX;
}

TEST(ScopedNames, RangesHoldExactlyTheirNames) {
  ScopedNames names;
  names.open_scope(0);
  EXPECT_TRUE(names.declare_range("%r", 100, 7));
  EXPECT_EQ(index_of(names, "%r0"), 7u);
  EXPECT_EQ(index_of(names, "%r99"), 106u);
  for (const char* absent :
       {"%r", "%r100", "%r00", "%r01", "%q1", "%r1a", "%r4294967296", "%r99999999999999999999"})
    EXPECT_EQ(index_of(names, absent), UINT32_MAX) << absent;
  EXPECT_EQ(names.range_like("%r123"), "%r0 .. %r99");
  EXPECT_EQ(names.range_like("%q1"), "");
}

TEST(ScopedNames, InnerNamesHideOuterOnes) {
  ScopedNames names;
  names.open_scope(0);
  EXPECT_TRUE(names.declare_range("%r", 10, 0));
  EXPECT_TRUE(names.declare("a", Kind::reg, 50));
  names.open_scope(1);
  EXPECT_TRUE(names.declare_range("%r", 3, 100)); // hides %r0 .. %r2
  EXPECT_EQ(index_of(names, "%r2"), 102u);
  EXPECT_EQ(index_of(names, "%r3"), 3u);
  EXPECT_TRUE(names.declare("%r3", Kind::reg, 200)); // a single name hides one of an outer range
  EXPECT_EQ(index_of(names, "%r3"), 200u);
  EXPECT_TRUE(names.declare("a", Kind::variable, 60));
  EXPECT_EQ(index_of(names, "a"), 60u);
  names.open_scope(2);
  EXPECT_TRUE(names.declare_range("%r", 10, 300)); // and a range hides a single name
  EXPECT_EQ(index_of(names, "%r3"), 303u);
  names.close_scope();
  names.close_scope();
  EXPECT_EQ(index_of(names, "%r2"), 2u);
  EXPECT_EQ(index_of(names, "a"), 50u);
}

TEST(ScopedNames, ClashesWithinAScope) {
  ScopedNames names;
  names.open_scope(0);
  EXPECT_TRUE(names.declare("%r5", Kind::reg, 0));
  EXPECT_FALSE(names.declare_range("%r", 6, 1));
  EXPECT_TRUE(names.declare_range("%r", 5, 1)); // %r5 is not in it
  EXPECT_FALSE(names.declare_range("%r", 2, 9));
  EXPECT_FALSE(names.declare("%r4", Kind::label, 0));
  EXPECT_FALSE(names.declare("%r5", Kind::label, 0));
  EXPECT_TRUE(names.declare("%r05", Kind::reg, 0));
}

TEST(ScopedNames, PrefixesThatEndInDigits) {
  ScopedNames names;
  names.open_scope(0);
  EXPECT_TRUE(names.declare_range("%r1", 5, 0)); // %r10 .. %r14
  EXPECT_EQ(index_of(names, "%r12"), 2u);
  EXPECT_EQ(index_of(names, "%r15"), UINT32_MAX);
  EXPECT_FALSE(names.declare_range("%r", 12, 100)); // both would have %r10
  EXPECT_TRUE(names.declare_range("%r", 10, 100));
  EXPECT_EQ(index_of(names, "%r9"), 109u);
  EXPECT_EQ(index_of(names, "%r11"), 1u);
}

} // namespace
} // namespace lemma::ptx
