// Texts that are linked run, and what is wrong with one is said of it.
#include "lemma/lemma.h"

#include <gtest/gtest.h>

namespace lemma {
namespace {

constexpr const char* kMain = R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) twice(.param .b32 x);
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  .param .b32 a;
  .param .b32 b;
  ld.param.u64 %rd1, [out];
  st.param.b32 [a], 21;
  call.uni (b), twice, (a);
  ld.param.b32 %r1, [b];
  st.global.u32 [%rd1], %r1;
  ret;
}
)";
constexpr const char* kHelper = R"(.version 8.6
.target sm_90
.address_size 64
.visible .func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %r<2>;
  ld.param.b32 %r1, [x];
  add.u32 %r1, %r1, %r1;
  st.param.b32 [r], %r1;
  ret;
}
)";

TEST(LinkPtx, WhatIsLinkedRuns) {
  const std::vector<PtxText> texts = {{.text = kMain, .name = "main.ptx"},
                                      {.text = kHelper, .name = "helper.ptx"}};
  const auto linked = link_ptx(texts);
  ASSERT_TRUE(linked) << linked.error().text;
  EXPECT_NE(linked->text.find(".version 8.6\n.target sm_90\n"), std::string::npos);
  const auto device = Device::open("cpu");
  ASSERT_TRUE(device);
  const auto module = device->load_ptx(linked->text, {.name = "linked"});
  ASSERT_TRUE(module) << module.error().text;
  auto out = device->allocate(4);
  ASSERT_TRUE(out);
  const auto report = module->kernel("k")->launch({.grid = {1}, .block = {1}}, {*out});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_TRUE(report->ok()) << report->rendered;
  uint32_t value = 0;
  ASSERT_TRUE(out->copy_to(std::as_writable_bytes(std::span(&value, 1))));
  EXPECT_EQ(value, 42u);
}

TEST(LinkPtx, ErrorsNameTheirText) {
  const auto nothing = link_ptx({});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::invalid_argument);

  const std::vector<PtxText> alone = {{.text = kMain, .name = "main.ptx"}};
  const auto unresolved = link_ptx(alone);
  ASSERT_FALSE(unresolved);
  EXPECT_EQ(unresolved.error().kind, ErrorKind::rejected);
  EXPECT_EQ(unresolved.error().text, "main.ptx:4:9: no module defines the function 'twice'");

  const std::vector<PtxText> illegal = {{.text = kMain, .name = "main.ptx"},
                                        {.text = "nonsense", .name = "b.ptx"}};
  const auto rejected = link_ptx(illegal);
  ASSERT_FALSE(rejected);
  EXPECT_EQ(rejected.error().messages.front().file, "b.ptx");
}

} // namespace
} // namespace lemma
