// What a program may take: memory by the device's budget, and time to decode in proportion to its text.
#include "kernel.h"

#include "ptx/flow.h"
#include "ptx/parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::string repeat(int count, const std::function<std::string(int)>& piece) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += piece(i);
  return text;
}

// The fault says what for, and everything that was taken is given back but for what the program itself holds.
void expect_out_of_memory(Kernel& kernel, const std::string& what) {
  const uint64_t before = kernel.memory().budget().in_use();
  kernel.config().engine = Engine::interpreter; // compiled code stays
  const Report report = kernel.run({});
  EXPECT_EQ(fault_in(report).kind, FaultKind::out_of_memory) << fault_text(report);
  EXPECT_NE(fault_in(report).message.find("no memory for " + what + ": "), std::string::npos)
      << fault_in(report).message;
  EXPECT_NE(fault_in(report).message.find("(--max-memory)"), std::string::npos) << fault_in(report).message;
  EXPECT_EQ(kernel.memory().budget().in_use(), before);
}

TEST(MemoryLimit, RegistersOfTheKernel) {
  Kernel kernel(".entry k() { .reg .b64 %a<300000>; ret; }", 64 * kMiB);
  kernel.config().block = {1024, 1, 1};
  expect_out_of_memory(kernel, "the registers of k");
}

TEST(MemoryLimit, CallsWithLargeParameters) {
  Kernel kernel(R"(
.func f(.param .align 16 .b8 p[65536]) {
  .param .align 16 .b8 q[65536];
  call f, (q);
  ret;
}
.entry k() { .param .align 16 .b8 q[65536]; call f, (q); ret; })",
                64 * kMiB);
  const Report report = kernel.run({});
  EXPECT_FALSE(report.ok()); // that the call stack is too deep is as good
  EXPECT_TRUE(fault_in(report).kind == FaultKind::out_of_memory ||
              fault_in(report).kind == FaultKind::call_too_deep)
      << fault_text(report);
  EXPECT_NE(fault_in(report).place.ptx_line, 0u);
  EXPECT_TRUE(fault_in(report).has_thread);
}

TEST(MemoryLimit, LocalMemory) {
  Kernel kernel(".entry k() { .local .align 16 .b8 big[262144]; ret; }", 64 * kMiB);
  kernel.config().block = {1024, 1, 1};
  expect_out_of_memory(kernel, "local memory");
}

TEST(MemoryLimit, SharedMemory) {
  Kernel kernel(".entry k() { ret; }", 2 * kMiB);
  kernel.config().shared_bytes = 128 << 10;
  kernel.config().cluster = {8, 1, 1};
  kernel.config().grid = {8, 1, 1};
  expect_out_of_memory(kernel, "shared memory");
}

TEST(MemoryLimit, AsynchronousOperationsInFlight) {
  Kernel kernel(R"(
.entry k() {
  .shared .align 128 .b8 sh[16384];
  .global .align 128 .b8 g[16384];
  .reg .b64 %rd<3>;
LOOP:
  cp.async.bulk.global.shared::cta.bulk_group [g], [sh], 16384;
  cp.async.bulk.commit_group;
  bra LOOP;
})",
                16 * kMiB);
  kernel.config().block = {1, 1, 1};
  kernel.config().async = AsyncMode::late;
  kernel.config().max_instructions = 100'000'000;
  expect_out_of_memory(kernel, "asynchronous operations in flight");
}

// They take no memory, however many are in flight.
TEST(MemoryLimit, GroupsWithNothingInThem) {
  Kernel kernel(".entry k() { .reg .b32 %r; .reg .pred %p; mov.b32 %r, 0; LOOP: cp.async.commit_group; "
                "add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 1000000; @%p bra LOOP; ret; }",
                4 * kMiB);
  kernel.config().async = AsyncMode::late;
  const Report report = kernel.run({});
  EXPECT_TRUE(report.ok()) << fault_text(report);
}

TEST(MemoryLimit, BuffersAndVariables) {
  GlobalMemory memory(kMiB);
  Allocation* half = memory.allocate(kMiB / 2, "half");
  EXPECT_THROW(memory.allocate(kMiB / 2, "other half"), OverBudget)
      << "it needs a little more than its bytes";
  EXPECT_THROW(memory.allocate(kMiB / 2 - 1024, "poisoned", true), OverBudget) << "an eighth more";
  EXPECT_THROW(memory.allocate_host_shared(kMiB / 2, "shared"), OverBudget);
  memory.free(half->base);
  EXPECT_EQ(memory.budget().in_use(), 0u);
  const Allocation* shared = memory.allocate_host_shared(kMiB / 2, "shared");
  memory.free(shared->base);
  EXPECT_EQ(memory.budget().in_use(), 0u);
  EXPECT_THROW(Kernel(".global .b8 huge[2000000]; .entry k() { ret; }", kMiB), OverBudget);
}

// As many CTAs are resident as there is memory for; the others come when these have ended.
TEST(MemoryLimit, FewerCtasAreResident) {
  Kernel kernel(R"(
.entry k(.param .u64 out) {
  .reg .b64 %big<20000>;
  .reg .b64 %rd;
  ld.param.u64 %rd, [out];
  red.global.add.u32 [%rd], 1;
  ret;
})",
                64 * kMiB); // 5 MB a warp
  const uint64_t out = kernel.buffer(std::vector<uint32_t>{0});
  kernel.config().grid = {200, 1, 1};
  kernel.config().workers = 16;
  const Report report = kernel.run({out});
  EXPECT_TRUE(report.ok()) << fault_text(report);
  EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], 200u * 32);
}

TEST(MemoryLimit, ADeadlockSaysThatFewerCtasWereResident) {
  Kernel kernel(R"(
.entry k(.param .u64 out) {
  .reg .b64 %big<2000>;
  .reg .b64 %rd;
  .reg .b32 %r;
  .reg .pred %p;
  ld.param.u64 %rd, [out];
  red.global.add.u32 [%rd], 1;
WAIT:
  ld.volatile.global.u32 %r, [%rd];
  setp.lt.u32 %p, %r, 640;
  @%p bra WAIT;
  ret;
})",
                6 * kMiB);
  const uint64_t out = kernel.buffer(std::vector<uint32_t>{0});
  kernel.config().grid = {20, 1, 1};
  const Report report = kernel.run({out});
  EXPECT_EQ(fault_in(report).kind, FaultKind::deadlock) << fault_text(report);
  ASSERT_FALSE(fault_in(report).notes.empty());
  EXPECT_NE(fault_in(report).notes.back().find("--max-memory has room for"), std::string::npos)
      << fault_in(report).notes.back();
}

TEST(Exceptions, InACallbackEndTheLaunchAndNotTheProcess) {
  Kernel printing(R"(
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[3] = {104, 105, 0};
.entry k() {
  .reg .b64 %rd;
  .param .b64 f; .param .b64 a; .param .b32 r;
  mov.u64 %rd, text;
  st.param.b64 [f], %rd;
  st.param.b64 [a], 0;
  call (r), vprintf, (f, a);
  ret;
})");
  printing.config().grid = {64, 1, 1};
  printing.config().workers = 4;
  printing.config().print = [](std::string_view) { throw std::runtime_error("the disk is full"); };
  const Report report = printing.run({});
  EXPECT_EQ(fault_text(report), "internal error: the disk is full");
  printing.config().print = [](std::string_view) { throw std::bad_alloc(); };
  EXPECT_EQ(fault_text(printing.run({})), "out of memory: the host has no memory left");
}

// --- time, by what is counted or by this test's end

uint64_t steps_of(int labels) {
  const std::string text =
      ".version 8.6\n.target sm_90a\n.address_size 64\n.entry k() { .reg .pred %p; " +
      repeat(labels, [](int i) { return "L" + std::to_string(i) + ": nanosleep.u32 1;\n"; }) +
      repeat(labels, [](int i) { return "@%p bra L" + std::to_string(i) + ";\n"; }) + "}";
  const auto parsed = ptx::parse(std::make_shared<SourceText>("labels.ptx", text));
  EXPECT_FALSE(has_errors(parsed.diagnostics));
  const ptx::Flow flow = flow_of(parsed.module->functions[0]);
  uint64_t steps = 0;
  std::vector<uint32_t> order = layout_order(flow, &steps);
  std::sort(order.begin(), order.end());
  for (uint32_t b = 0; b < order.size(); ++b)
    EXPECT_EQ(order[b], b);
  return steps;
}

TEST(DecodingTime, LoopsWithinLoopsTakeWhatTheirNumberTakes) {
  const uint64_t once = steps_of(2000), twice = steps_of(4000);
  EXPECT_GT(once, 2000u);
  EXPECT_LT(twice, once * 5 / 2);
}

TEST(DecodingTime, ManyLabelsManyFunctionsManyVariables) {
  Kernel labels(".entry k() { .reg .pred %p; .reg .b32 %r<2000>;\n" +
                repeat(20000,
                       [](int i) {
                         return "L" + std::to_string(i) + ": @%p mov.b32 %r" + std::to_string(i % 2000) +
                                ", 1;\n";
                       }) +
                repeat(20000, [](int i) { return "@%p bra L" + std::to_string(i) + ";\n"; }) + "}");
  Kernel functions(
      repeat(20000,
             [](int i) {
               const std::string callee = i ? "call f" + std::to_string(i - 1) + ";" : "";
               return ".func f" + std::to_string(i) + "() { " + callee + " ret; }\n";
             }) +
      repeat(2000, [](int i) { return ".entry k" + std::to_string(i) + "() { call f19999; ret; }\n"; }));
  Kernel variables(repeat(20000,
                          [](int i) {
                            const std::string value = i ? " = v" + std::to_string(i - 1) : "";
                            return ".global .u64 v" + std::to_string(i) + value + ";\n";
                          }) +
                   ".entry k() { ret; }");
  EXPECT_EQ(labels.check(), "");
  EXPECT_EQ(functions.check(), "");
  EXPECT_EQ(variables.check(), "");
}

// Every branch has all labels for its targets: there are more ways than words.
TEST(DecodingTime, BranchesThatShareAListOfTargets) {
  constexpr int kLabels = 5000;
  Kernel kernel(
      ".entry k(.param .u64 out) {\n.reg .b32 %r; .reg .b64 %rd; mov.b32 %r, 4999;\nts: .branchtargets L0" +
      repeat(kLabels - 1, [](int i) { return ", L" + std::to_string(i + 1); }) + ";\nbrx.idx %r, ts;\n" +
      repeat(kLabels,
             [](int i) {
               return "L" + std::to_string(i) + ": " + (i + 1 < kLabels ? "brx.idx %r, ts;\n" : "");
             }) +
      "ld.param.u64 %rd, [out]; st.global.b32 [%rd], %r; ret;\n}");
  const uint64_t out = kernel.buffer(std::vector<uint32_t>{0});
  const Report report = kernel.run({out});
  EXPECT_TRUE(report.ok()) << fault_text(report);
  EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], 4999u);
}

// Initializers take the address of what they name in their own function.
TEST(Initializers, NameTheirOwnFunctionsVariables) {
  Kernel kernel(R"(
.entry k(.param .u64 out) {
  .global .u32 v = 7;
  .global .u64 p = v;
  .reg .b64 %rd<3>; .reg .b32 %r;
  ld.global.u64 %rd1, [p];
  ld.global.u32 %r, [%rd1];
  ld.param.u64 %rd2, [out];
  st.global.u32 [%rd2], %r;
  ret;
}
.func f() { .global .u32 v = 8; .global .u64 p = v; ret; })");
  const uint64_t out = kernel.buffer(std::vector<uint32_t>{0});
  const Report report = kernel.run({out});
  EXPECT_TRUE(report.ok()) << fault_text(report);
  EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], 7u);
}

} // namespace
} // namespace lemma::vgpu
