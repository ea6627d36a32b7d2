// Which wgmma operations may wait for their commit_group.
#include "lowered/wgmma.h"

#include "text.h"

#include <gtest/gtest.h>

namespace lemma::lowered {
namespace {

std::string mma(const std::string& accumulators) {
  std::string list;
  for (const char i : {'0', '1', '2', '3'})
    list += (list.empty() ? "%" : ", %") + accumulators + i;
  return "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {" + list + "}, %rd0, %rd0, %p0, 1, 1, 0, 0;\n";
}

const std::string kCommit = "wgmma.commit_group.sync.aligned;\n";

// Of each wgmma.mma_async in turn: d deferred, - not.
std::string deferred(const std::string& body) {
  const std::string text = lowered(body + "ret;", {}, "wgmma");
  std::string result;
  for (size_t at = text.find("= wgmma"); at != text.npos; at = text.find("= wgmma", at + 1))
    result += text.substr(at, text.find('\n', at) - at).ends_with("!deferred") ? 'd' : '-';
  return result;
}

TEST(DeferredWgmma, waits_for_its_commit) {
  EXPECT_EQ(deferred(mma("acc") + kCommit), "d");
  EXPECT_EQ(deferred(mma("acc") + mma("more") + "add.u32 %r0, %r0, 1;\n" + kCommit), "dd");
}

TEST(DeferredWgmma, not_where_others_touch_its_accumulators) {
  EXPECT_EQ(deferred(mma("acc") + "add.f32 %f0, %acc0, %f1;\n" + kCommit), "-");
  EXPECT_EQ(deferred(mma("acc") + "mov.f32 %acc0, 0f00000000;\n" + mma("more") + kCommit), "-d");
  EXPECT_EQ(deferred(mma("acc") + "add.f32 %f0, %more0, %f1;\n" + kCommit), "d");
}

TEST(DeferredWgmma, not_where_no_commit_follows_at_once) {
  EXPECT_EQ(deferred(mma("acc")), "-");
  EXPECT_EQ(deferred(mma("acc") + "@%p0 " + kCommit), "-");
  EXPECT_EQ(deferred(mma("acc") + "@%p0 bra L;\nL:\n" + kCommit), "-");
}

} // namespace
} // namespace lemma::lowered
