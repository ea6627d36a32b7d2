// Pages that may be written, and pages that may not.
#include "support/host_pages.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

namespace lemma {
namespace {

TEST(HostPages, SaysWhatMayBeWritten) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* pages = static_cast<std::byte*>(
      mmap(nullptr, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  EXPECT_EQ(writable_part(pages, 8 * page), Writable::all);
  ASSERT_EQ(mprotect(pages + 2 * page, 3 * page, PROT_READ), 0);
  EXPECT_EQ(writable_part(pages, 8 * page), Writable::some);
  EXPECT_EQ(writable_part(pages, 2 * page), Writable::all);
  EXPECT_EQ(writable_part(pages, 2 * page + 1), Writable::some);
  EXPECT_EQ(writable_part(pages + 2 * page, 3 * page), Writable::none);
  EXPECT_EQ(writable_part(pages + 3 * page + 5, 1), Writable::none);
  EXPECT_EQ(writable_part(pages + 5 * page, 3 * page), Writable::all);
  EXPECT_EQ(writable_part(pages + 5 * page - 1, 2), Writable::some);
  ASSERT_EQ(mprotect(pages, page, PROT_NONE), 0);
  EXPECT_EQ(writable_part(pages, 1), Writable::none);
  munmap(pages, 8 * page);
  int own = 0;
  EXPECT_EQ(writable_part(reinterpret_cast<std::byte*>(&own), sizeof own), Writable::all);
  static const char constant[] = "the program's constants may not be written";
  EXPECT_EQ(writable_part(reinterpret_cast<const std::byte*>(constant), sizeof constant), Writable::none);
}

} // namespace
} // namespace lemma
