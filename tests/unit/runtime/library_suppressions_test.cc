// Which findings a library's entries stand for. Programs: tests/cuda/library.py.
#include "lemma/suppressions.h"

#include "lemma/findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace lemma {
namespace {

constexpr const char* kCub = "/usr/local/cuda-13.0/include/cccl/";
constexpr const char* kFunction = "_ZN3cub17CUB_300001_SM_9006detail6select7ScatterEv";

// An access inlined into these lines, the innermost first, all of functions of CUB 3.0.1.
CheckedAccess access(const std::vector<std::pair<std::string, uint32_t>>& frames) {
  CheckedAccess made;
  Place& place = made.place;
  place.file = frames.front().first;
  place.line = frames.front().second;
  place.inlined_function = kFunction;
  place.function = "_ZN3cub17CUB_300001_SM_9006detail6select23DeviceSelectSweepKernelEv";
  for (size_t i = 1; i < frames.size(); ++i)
    place.inlined_at.push_back({frames[i].first, frames[i].second, kFunction});
  return made;
}

CheckedAccess load() {
  return access({{std::string(kCub) + "cub/block/block_load.cuh", 479},
                 {std::string(kCub) + "cub/agent/agent_select_if.cuh", 819},
                 {"main.cu", 12}});
}

CheckedAccess store() {
  return access({{std::string(kCub) + "cub/agent/agent_select_if.cuh", 603}, {"main.cu", 12}});
}

Finding finding(std::string id, CheckedAccess second, std::optional<CheckedAccess> first) {
  Finding made;
  made.id = std::move(id);
  made.access = std::move(second);
  made.earlier = std::move(first);
  return made;
}

bool suppresses(Finding made) {
  suppress_in_libraries({&made, 1});
  EXPECT_EQ(made.suppressed, is_suppressed_in_library(made));
  EXPECT_EQ(made.suppressed, made.suppressed_because.starts_with("CUB 3.0.1 (CUDA 13.0): "));
  return made.suppressed;
}

TEST(LibrarySuppressions, AreOfKnownFindingsAndHaveLines) {
  ASSERT_FALSE(library_suppressions().empty());
  for (const LibrarySuppression& entry : library_suppressions()) {
    EXPECT_TRUE(std::ranges::any_of(finding_kinds(), [&](auto& kind) { return kind.id == entry.id; }));
    EXPECT_FALSE(entry.mark.empty() || entry.library.empty() || entry.why.empty()) << entry.id;
    for (const std::string_view places : {entry.access, entry.earlier})
      EXPECT_EQ(places.find_first_not_of("abcdefghijklmnopqrstuvwxyz_/.:,- 0123456789"), places.npos)
          << places;
    EXPECT_NE(entry.access.find(':'), entry.access.npos) << entry.access;
  }
}

TEST(LibrarySuppressions, FitWhereBothAccessesAreTheLibrarys) {
  EXPECT_TRUE(suppresses(finding("race.weak", store(), load())));
  EXPECT_TRUE(suppresses(finding("race.scope", store(), load())));
  EXPECT_FALSE(suppresses(finding("race.global", store(), load())));
  EXPECT_FALSE(suppresses(finding("race.weak", store(), std::nullopt)));
  EXPECT_FALSE(suppresses(finding("race.weak", store(), access({{"main.cu", 819}}))));
}

// What may be overwritten once it was read may not be read once it was overwritten.
TEST(LibrarySuppressions, FitInTheOrderOfTheEntry) {
  EXPECT_FALSE(suppresses(finding("race.weak", load(), store())));
  std::vector<Finding> all = {finding("race.weak", store(), load())};
  const std::vector<Finding> more = {finding("race.weak", load(), store()),
                                     finding("race.weak", store(), load())};
  merge(all, more);
  ASSERT_EQ(all.size(), 2u);
  suppress_in_libraries(all);
  EXPECT_TRUE(all[0].suppressed);
  EXPECT_FALSE(all[1].suppressed);
}

TEST(LibrarySuppressions, FitNoCodeOfTheUsersInBetween) {
  CheckedAccess read = load();
  read.place.file = "/home/user/iterator.h"; // CUB's load calls it
  EXPECT_FALSE(suppresses(finding("race.weak", store(), read)));
  read.place.file = "/home/user/cub/agent/agent_select_if.cuh"; // no library's header
  read.place.line = 819;
  read.place.inlined_at.clear();
  EXPECT_FALSE(suppresses(finding("race.weak", store(), read)));
}

TEST(LibrarySuppressions, FitOneVersion) {
  CheckedAccess write = store(), read = load();
  write.place.inlined_function = "_ZN3cub17CUB_300101_SM_9006detail6select7ScatterEv";
  EXPECT_FALSE(suppresses(finding("race.weak", write, read)));
  read.place.inlined_at[0].line = 820;
  EXPECT_FALSE(suppresses(finding("race.weak", store(), read)));
}

TEST(LibrarySuppressions, LeaveWhatIsSuppressedAlready) {
  Finding made = finding("race.weak", store(), load());
  made.suppressed = true;
  made.suppressed_because = "known";
  suppress_in_libraries({&made, 1});
  EXPECT_EQ(made.suppressed_because, "known");
  EXPECT_FALSE(is_suppressed_in_library(made));
}

} // namespace
} // namespace lemma
