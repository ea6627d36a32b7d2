// The device runtime's functions that Lemma has, in a text that declares them.
#include "lemma/lemma.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lemma {
namespace {

// Each thread stores its number, waits for the grid, and adds what the last thread of the next CTA has
// stored; and the status of the wait.
constexpr const char* kSum = R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .b32 %r<12>;
  .reg .b64 %rd<8>;
  .reg .pred %p;
  .param .b32 scope, flags, status;
  .param .b64 handle;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %rd3, %r4, 4;
  add.u64 %rd4, %rd1, %rd3;
  add.u64 %rd5, %rd2, %rd3;
  st.global.u32 [%rd4], %r4;
  st.param.b32 [scope], 1;
  call.uni (handle), cudaCGGetIntrinsicHandle, (scope);
  ld.param.b64 %rd6, [handle];
  st.param.b64 [handle], %rd6;
  st.param.b32 [flags], 0;
  call.uni (status), cudaCGSynchronize, (handle, flags);
  ld.param.b32 %r5, [status];
  add.u32 %r6, %r1, 1;
  mov.u32 %r7, %nctaid.x;
  setp.eq.u32 %p, %r6, %r7;
  selp.b32 %r6, 0, %r6, %p;
  mul.lo.u32 %r8, %r6, %r2;
  add.u32 %r8, %r8, %r2;
  mul.wide.u32 %rd7, %r8, 4;
  add.u64 %rd7, %rd7, %rd1;
  ld.global.u32 %r9, [%rd7 + -4];
  shl.b32 %r5, %r5, 16;
  add.u32 %r9, %r9, %r5;
  st.global.u32 [%rd5], %r9;
  ret;
}
)";
constexpr uint32_t kCtas = 5, kThreads = 64;

std::vector<uint32_t> run(const Device& device, bool is_cooperative, uint32_t times) {
  const auto module = device.load_ptx(kSum, {.name = "sum.ptx"});
  EXPECT_TRUE(module) << module.error().text;
  auto in = device.allocate(kCtas * kThreads * 4), out = device.allocate(kCtas * kThreads * 4);
  EXPECT_TRUE(in->fill(0));
  LaunchConfig config{.grid = {kCtas}, .block = {kThreads}};
  config.cooperative = is_cooperative;
  config.check = is_cooperative;
  for (uint32_t i = 0; i < times; ++i) {
    const auto report = module->kernel("k")->launch(config, {*in, *out});
    EXPECT_TRUE(report) << report.error().text;
    EXPECT_TRUE(report->ok()) << report->rendered;
    EXPECT_TRUE(report->findings.empty()) << report->rendered;
  }
  std::vector<uint32_t> values(kCtas * kThreads);
  EXPECT_TRUE(out->copy_to(std::as_writable_bytes(std::span(values))));
  return values;
}

TEST(DeviceRuntime, TheGridWaits) {
  const auto device = Device::open("cpu");
  ASSERT_TRUE(device);
  const std::vector<uint32_t> values = run(*device, true, 2);
  for (uint32_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], ((i / kThreads + 1) % kCtas + 1) * kThreads - 1) << i;
}

TEST(DeviceRuntime, LinesStayWhereTheyAre) {
  const auto device = Device::open("cpu");
  const std::string wrong = std::string(kSum) + "\n.func wrong() { add.u32 x; }\n";
  const auto line = static_cast<uint32_t>(std::count(wrong.begin(), wrong.end(), '\n'));
  const auto module = device->load_ptx(wrong, {.name = "sum.ptx"});
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().messages.front().line, line);
}

// The linker leaves the declarations, and who loads the result has the functions.
TEST(DeviceRuntime, IsNotMissingInALink) {
  const std::vector<PtxText> texts = {{.text = kSum, .name = "sum.ptx"}};
  const auto linked = link_ptx(texts);
  ASSERT_TRUE(linked) << linked.error().text;
  const auto device = Device::open("cpu");
  EXPECT_TRUE(device->load_ptx(linked->text, {.name = "linked"}));
}

// A text that brings its own keeps it.
TEST(DeviceRuntime, AProgramsOwn) {
  const auto device = Device::open("cpu");
  const auto module =
      device->load_ptx(".version 8.0\n.target sm_80\n.address_size 64\n"
                       ".visible .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 s)\n"
                       "{\nst.param.b64 [r], 7;\nret;\n}\n.visible .entry k() {\nret;\n}\n",
                       {.name = "own.ptx"});
  EXPECT_TRUE(module) << module.error().text;
}

} // namespace
} // namespace lemma
