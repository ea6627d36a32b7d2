// Calls of inlined code in LLVM's comments. src/runtime/inlined_comments.h.
#include "runtime/inlined_comments.h"

#include "ptx/parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::runtime {
namespace {

// "rows.py:20 k" of each call behind a trap whose .loc is followed by the text.
std::vector<std::string> calls(const std::string& behind, uint32_t line = 7) {
  const std::string text = fmt::format(R"(.version 8.7
.target sm_80
.address_size 64
.visible .entry k() {{
 .loc 1 {} 5{}
 // .loc 1 1 1 // no directive
 .local .b32 x; // nor is this
 trap;
}}
.file 1 "/lib/standard.py"
.file 2 "/home/me/rows.py"
)",
                                       line, behind);
  const auto parsed = ptx::parse(std::make_shared<const SourceText>("k.ptx", text));
  if (!parsed.module) {
    ADD_FAILURE() << text;
    return {};
  }
  Report report;
  Place& place = report.fault.emplace().place;
  place.ptx_line = 8;
  place.file = "/lib/standard.py";
  place.line = line;
  place.function = "k";
  add_inlined_calls(report, *parsed.module);
  std::vector<std::string> texts;
  for (const SourceFrame& call : place.inlined_at)
    texts.push_back(fmt::format("{}:{} {}", call.file, call.line, call.function));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(InlinedComments, NameTheCalls) {
  EXPECT_EQ(calls(" // standard.py:7:5 @[ rows.py:20:19 ]"), (Texts{"/home/me/rows.py:20 k"}));
  EXPECT_EQ(calls("\t// standard.py:7:5 @[ rows.py:20:19 @[ rows.py:30 @[ other.py:4:4 ] ] ]"),
            (Texts{"/home/me/rows.py:20 ", "/home/me/rows.py:30 ", "other.py:4 k"}));
}

TEST(InlinedComments, AreTakenOnlyForWhatTheyAre) {
  EXPECT_EQ(calls(""), Texts{});
  EXPECT_EQ(calls(" // standard.py:7:5"), Texts{});
  EXPECT_EQ(calls(" // standard.py:8:5 @[ rows.py:20:19 ]"), Texts{}) << "another line";
  EXPECT_EQ(calls(" // ard.py:7:5 @[ rows.py:20:19 ]"), Texts{}) << "another file";
  EXPECT_EQ(calls(" // standard.py:7:5 @[ rows.py ]"), Texts{});
  EXPECT_EQ(calls(" // @[ @[ ] ] :::"), Texts{});
  EXPECT_EQ(calls(" // standard.py:7:5 @[ "), Texts{});
  EXPECT_EQ(calls(" // standard.py:7:99999999999 @[ rows.py:20:19 ]"), Texts{});
}

} // namespace
} // namespace lemma::runtime
