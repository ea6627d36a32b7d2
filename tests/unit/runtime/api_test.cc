// The public API on the virtual GPU, end to end: memory, modules, launches, errors. include/lemma/lemma.h.
#include "lemma/lemma.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace lemma {
namespace {

// y[i] = a * x[i] + y[i]
constexpr const char* kSaxpy = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<5>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<6>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r1, %r1, %r2, %r3;
  ld.param.u32 %r4, [n];
  setp.ge.u32 %p, %r1, %r4;
  @%p bra DONE;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.f32 %f1, [a];
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  ld.global.f32 %f3, [%rd5];
  fma.rn.f32 %f3, %f1, %f2, %f3;
  st.global.f32 [%rd5], %f3;
DONE:
  ret;
}
.visible .entry idle() { ret; }
)";

Device open() {
  auto device = Device::open("cpu");
  EXPECT_TRUE(device);
  return *std::move(device);
}

Kernel saxpy(const Device& device) {
  const auto module = device.load_ptx(kSaxpy, {.name = "saxpy.ptx"});
  EXPECT_TRUE(module) << module.error().text;
  return *module->kernel("saxpy");
}

TEST(Api, KnowsItsDevices) {
  EXPECT_EQ(open().info().kind, "cpu");
  const auto other = Device::open("tpu");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::invalid_argument);
}

TEST(Api, KernelsUseRegisteredHostMemory) {
  const Device device = open();
  const Kernel kernel = saxpy(device);
  std::vector<float> x{1, 2, 3, 4}, y{10, 20, 30, 40};
  const auto launch = [&] {
    return kernel.launch({.grid = {1}, .block = {4}}, {reinterpret_cast<uint64_t>(x.data()),
                                                       reinterpret_cast<uint64_t>(y.data()), 2.0f, 4u});
  };
  ASSERT_TRUE(device.register_host(x.data(), 16, "x"));
  const auto without = launch();
  ASSERT_TRUE(without);
  ASSERT_FALSE(without->ok());
  EXPECT_NE(without->rendered.find(", or host memory that was not registered"), std::string::npos)
      << without->rendered;
  ASSERT_TRUE(device.register_host(y.data(), 16, "y"));
  const auto with = launch();
  ASSERT_TRUE(with);
  EXPECT_TRUE(with->ok()) << with->rendered;
  EXPECT_EQ(y, (std::vector<float>{12, 24, 36, 48}));

  ASSERT_TRUE(device.unregister_host(x.data()));
  EXPECT_FALSE(device.unregister_host(x.data()));
  const auto after = launch();
  ASSERT_TRUE(after);
  EXPECT_FALSE(after->ok());
  EXPECT_FALSE(device.register_host(nullptr, 4));
  EXPECT_FALSE(device.register_host(x.data(), 0));
}

TEST(Api, HostSharedMemoryIsTheHostsToo) {
  const Device device = open();
  const Kernel kernel = saxpy(device);
  auto x = device.allocate(16, {.host_shared = true}), y = device.allocate(16, {.host_shared = true});
  ASSERT_TRUE(x && y);
  auto* host_x = reinterpret_cast<float*>(x->address());
  auto* host_y = reinterpret_cast<float*>(y->address());
  for (int i = 0; i < 4; ++i)
    host_x[i] = static_cast<float>(i);
  const auto report = kernel.launch({.grid = {1}, .block = {4}}, {*x, *y, 2.0f, 4u});
  ASSERT_TRUE(report && report->ok());
  EXPECT_EQ(host_y[3], 6.0f);
  ASSERT_TRUE(y->fill(0));
  EXPECT_EQ(host_y[3], 0.0f);
  EXPECT_FALSE(device.allocate(16, {.poisoned = true, .host_shared = true}));
}

TEST(Api, ManagedVariablesAreTheHostsToo) {
  const Device device = open();
  const auto module = device.load_ptx(R"(.version 8.0
.target sm_90a
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 shared_with_host = 5;
.visible .global .align 4 .u32 own = 6;
.visible .entry increment() {
  .reg .b32 %r<2>;
  ld.global.u32 %r1, [shared_with_host];
  add.u32 %r1, %r1, 1;
  st.global.u32 [shared_with_host], %r1;
  ret;
}
)");
  ASSERT_TRUE(module) << module.error().text;
  const auto variable = module->variable("shared_with_host");
  ASSERT_TRUE(variable);
  EXPECT_TRUE(variable->is_managed);
  EXPECT_FALSE(module->variable("own")->is_managed);
  auto* value = reinterpret_cast<uint32_t*>(variable->address);
  EXPECT_EQ(*value, 5u);
  *value = 40;
  ASSERT_TRUE(module->kernel("increment")->launch({}, {})->ok());
  EXPECT_EQ(*value, 41u);
}

TEST(Api, SaysWhatAKernelTakes) {
  const Device device = open();
  const auto module = device.load_ptx(R"(.version 8.0
.target sm_90a
.address_size 64
.shared .align 16 .b8 tile[96];
.visible .entry limited() .reqntid 32, 4, 1 .reqnctapercluster 2, 1, 1 {
  .local .align 16 .b8 spill[32];
  .reg .b32 %r<2>;
  mov.u32 %r1, tile;
  st.shared.u32 [%r1], %r1;
  ret;
}
.visible .entry plain() .maxntid 256 { ret; }
)");
  ASSERT_TRUE(module) << module.error().text;
  const auto limited = module->kernel("limited")->resources();
  ASSERT_TRUE(limited);
  EXPECT_EQ(limited->static_shared_bytes, 96u);
  EXPECT_EQ(limited->local_bytes, 32u);
  EXPECT_EQ(limited->max_threads, 128u);
  EXPECT_EQ(limited->required_block, (Dim3{32, 4, 1}));
  EXPECT_EQ(limited->required_cluster, (Dim3{2, 1, 1}));
  const auto plain = module->kernel("plain")->resources();
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->static_shared_bytes, 0u);
  EXPECT_EQ(plain->max_threads, 256u);
  EXPECT_EQ(plain->required_block, (Dim3{}));
}

TEST(Api, RunsAKernelSeveralTimes) {
  const Device device = open();
  const Kernel kernel = saxpy(device);
  constexpr uint32_t kCount = 1000;
  std::vector<float> x(kCount), y(kCount);
  for (uint32_t i = 0; i < kCount; ++i)
    x[i] = static_cast<float>(i);
  auto x_buffer = device.allocate(4 * kCount), y_buffer = device.allocate(4 * kCount);
  ASSERT_TRUE(x_buffer && y_buffer);
  ASSERT_TRUE(x_buffer->copy_from(std::as_bytes(std::span(x))));
  for (int round = 1; round <= 3; ++round) {
    const auto report = kernel.launch({.grid = {8}, .block = {128}}, {*x_buffer, *y_buffer, 2.0f, kCount});
    ASSERT_TRUE(report) << report.error().text;
    ASSERT_TRUE(report->ok()) << report->rendered;
    EXPECT_EQ(report->arithmetic, "sm_90");
    EXPECT_EQ(report->rendered, "");
    EXPECT_GT(report->stats.lane_instructions.value_or(0), kCount);
    ASSERT_TRUE(y_buffer->copy_to(std::as_writable_bytes(std::span(y))));
    for (uint32_t i = 0; i < kCount; ++i)
      ASSERT_EQ(y[i], 2.0f * static_cast<float>(round) * x[i]) << i;
  }
}

TEST(Api, ReportsAFaultWithItsPlace) {
  const Device device = open();
  const Kernel kernel = saxpy(device);
  auto x = device.allocate(400, {.name = "x"}), y = device.allocate(400, {.name = "y"});
  const auto report = kernel.launch({.grid = {1}, .block = {128}}, {*x, *y, 1.0f, 128u});
  ASSERT_TRUE(report) << report.error().text;
  ASSERT_EQ(report->outcome, Outcome::fault);
  EXPECT_EQ(report->fault->kind, FaultKind::out_of_bounds);
  EXPECT_EQ(report->fault->place.ptx_line, 23u);
  EXPECT_TRUE(report->fault->address.has_value());
  EXPECT_EQ(report->rendered.substr(0, 34), "saxpy.ptx:23: fault[out of bounds]") << report->rendered;
  // The process and the device live.
  EXPECT_TRUE(kernel.launch({.block = {64}}, {*x, *y, 1.0f, 64u})->ok());
}

// Warp 0 of every CTA counts for ever, warp 1 waits for it.
constexpr const char* kForEver = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry for_ever()
{
  .reg .pred %p;
  .reg .b32 %r<3>;
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p, %r1, 32;
  @%p bra WAIT;
COUNT:
  add.u32 %r2, %r2, 1;
  bra COUNT;
WAIT:
  bar.sync 0;
  ret;
}
)";

TEST(Api, StopsALaunch) {
  const Device device = open();
  const Kernel kernel = *device.load_ptx(kForEver, {.name = "for_ever.ptx"})->kernel();
  std::atomic<bool> stop{false};
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.store(true);
  });
  const auto report = kernel.launch({.grid = {1000}, .block = {64}, .workers = 2, .stop = &stop}, {});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->outcome, Outcome::stopped);
  EXPECT_FALSE(report->ok());
  EXPECT_EQ(report->fault->message, "on request, when 0 of 1000 CTAs of kernel for_ever were done");
  EXPECT_FALSE(report->fault->has_thread);
  ASSERT_GE(report->waiting.size(), 2u);
  EXPECT_EQ(report->waiting[0].reason, "");
  EXPECT_TRUE(report->waiting[0].place.ptx_line == 12 || report->waiting[0].place.ptx_line == 13);
  EXPECT_EQ(report->waiting[1].place.ptx_line, 15u);
  EXPECT_EQ(report->waiting[1].reason, "barrier 0: 32 of 64 threads have arrived");
  EXPECT_NE(report->rendered.find("for_ever.ptx: stopped: on request"), std::string::npos)
      << report->rendered;
  EXPECT_NE(report->rendered.find(": runs: CTA 0,0,0, warp 0, lanes 0xffffffff"), std::string::npos)
      << report->rendered;
}

TEST(Api, StopsNothingThatHasEnded) {
  const Device device = open();
  const Kernel idle = *device.load_ptx(kSaxpy)->kernel("idle");
  std::atomic<bool> stop{false};
  EXPECT_TRUE(idle.launch({.grid = {100}, .block = {32}, .stop = &stop}, {})->ok());
  stop.store(true); // it holds for later launches
  const auto report = idle.launch({.grid = {100}, .block = {32}, .stop = &stop}, {});
  EXPECT_EQ(report->outcome, Outcome::stopped);
  EXPECT_EQ(report->fault->message, "on request, when 0 of 100 CTAs of kernel idle were done");
  EXPECT_TRUE(idle.launch({.grid = {100}, .block = {32}}, {})->ok());
}

TEST(Api, CountsReadsOfPoisonedMemory) {
  const Device device = open();
  auto x = device.allocate(128, {.name = "x", .poisoned = true}), y = device.allocate(128);
  const auto report = saxpy(device).launch({.block = {32}}, {*x, *y, 1.0f, 32u});
  ASSERT_TRUE(report && report->ok());
  EXPECT_EQ(report->uninitialized_reads, 32u);
  ASSERT_EQ(report->uninitialized.size(), 1u);
  EXPECT_EQ(report->uninitialized[0].place.ptx_line, 23u);
  ASSERT_TRUE(x->fill(0)); // written now
  EXPECT_EQ(saxpy(device).launch({.block = {32}}, {*x, *y, 1.0f, 32u})->uninitialized_reads, 0u);
}

TEST(Api, RefusesWrongCalls) {
  const Device device = open();
  const auto module = device.load_ptx(kSaxpy, {.name = "saxpy.ptx"});
  ASSERT_TRUE(module);
  EXPECT_EQ(module->kernels().size(), 2u);
  const auto unnamed = module->kernel();
  ASSERT_FALSE(unnamed);
  EXPECT_NE(unnamed.error().text.find("saxpy, idle"), std::string::npos) << unnamed.error().text;
  const auto misspelt = module->kernel("saxpi");
  ASSERT_FALSE(misspelt);
  EXPECT_NE(misspelt.error().text.find("did you mean saxpy"), std::string::npos) << misspelt.error().text;
  const Kernel idle = *module->kernel("idle");
  EXPECT_EQ(idle.launch({}, {1}).error().kind, ErrorKind::invalid_argument);
  EXPECT_EQ(idle.launch({.grid = {0}}, {}).error().kind, ErrorKind::invalid_argument);
  EXPECT_EQ(idle.launch({.block = {2048}}, {}).error().kind, ErrorKind::invalid_argument);
  EXPECT_TRUE(idle.launch({}, {})->ok());
}

TEST(Api, RefusesRangesOutsideABuffer) {
  auto buffer = open().allocate(16); // the device lives as long as the buffer does
  ASSERT_TRUE(buffer);
  std::array<std::byte, 8> bytes{};
  EXPECT_TRUE(buffer->copy_from(bytes, 8));
  EXPECT_FALSE(buffer->copy_from(bytes, 9));
  EXPECT_FALSE(buffer->copy_to(bytes, UINT64_MAX));
  buffer->free();
  EXPECT_FALSE(buffer->copy_to(bytes));
  EXPECT_EQ(buffer->address(), 0u);
}

TEST(Api, AModulesVariablesAreMemory) {
  const Device device = open();
  const auto module = device.load_ptx(R"(.version 8.0
.target sm_90a
.address_size 64
.visible .const .align 8 .v2 .u32 pair[2] = {{1, 2}, {3, 4}};
.visible .global .align 4 .u32 sum;
.shared .align 4 .u32 tile;
.visible .entry add()
{
  .reg .b32 %r<3>;
  ld.const.u32 %r1, [pair + 4];
  ld.const.u32 %r2, [pair + 12];
  add.u32 %r1, %r1, %r2;
  st.global.u32 [sum], %r1;
  ret;
}
)",
                                      {.name = "add.ptx"});
  ASSERT_TRUE(module) << module.error().text;
  ASSERT_EQ(module->variables().size(), 2u); // .shared is the CTA's
  const Variable pair = *module->variable("pair"), sum = *module->variable("sum");
  EXPECT_EQ(pair.space, "const");
  EXPECT_EQ(pair.type, ".v2 .u32[2]");
  EXPECT_EQ(pair.size_bytes, 16u);
  EXPECT_EQ(sum.space, "global");
  std::array<uint32_t, 4> values{};
  ASSERT_TRUE(device.read(pair.address, std::as_writable_bytes(std::span(values))));
  EXPECT_EQ(values, (std::array<uint32_t, 4>{1, 2, 3, 4}));
  const uint32_t last = 40;
  ASSERT_TRUE(device.write(pair.address + 12, std::as_bytes(std::span(&last, 1))));
  for (const uint32_t wanted : {42u, 42u}) { // it stays
    const auto report = module->kernel()->launch({}, {});
    ASSERT_TRUE(report && report->ok());
    ASSERT_TRUE(device.read(sum.address, std::as_writable_bytes(std::span(values).first(1))));
    EXPECT_EQ(values[0], wanted);
    ASSERT_TRUE(device.fill(sum.address, 4, 0));
  }
  const auto beyond = device.write(pair.address + 13, std::as_bytes(std::span(&last, 1)));
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().kind, ErrorKind::invalid_argument);
  EXPECT_NE(beyond.error().text.find("do not lie inside one allocation"), std::string::npos);
  const auto none = module->variable("tile");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().text, "the module has no variable 'tile'; it has: pair, sum");
}

TEST(Api, LoadsForAnArchitecture) {
  const Device device = open();
  std::string text(kSaxpy);
  text.replace(text.find("sm_90a"), 6, "sm_80");
  for (const char* arch : {"sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120a"}) {
    const auto module = device.load_ptx(text, {.arch = arch});
    ASSERT_TRUE(module) << module.error().text;
    EXPECT_TRUE(std::string_view(arch).starts_with(module->arithmetic())) << arch;
    EXPECT_EQ(module->target(), "sm_80");
  }
  const auto older = device.load_ptx(text, {.arch = "sm_75"});
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().kind, ErrorKind::rejected);
  EXPECT_EQ(older.error().text, "a module for sm_80 does not run on sm_75");
  EXPECT_EQ(device.load_ptx(kSaxpy, {.arch = "hopper"}).error().kind, ErrorKind::invalid_argument);
  EXPECT_EQ(device.load_ptx(kSaxpy, {.arch = "sm_35"}).error().kind, ErrorKind::unsupported);
}

TEST(Api, AVirtualGpuIsWhatItWasOpenedAs) {
  const auto device = Device::open("cpu", {.arch = "sm_80"});
  ASSERT_TRUE(device);
  EXPECT_EQ(device->info().target, "sm_80");
  EXPECT_EQ(device->load_ptx(kSaxpy).error().kind, ErrorKind::rejected);
  std::string text(kSaxpy);
  text.replace(text.find("sm_90a"), 6, "sm_75");
  const auto module = device->load_ptx(text);
  ASSERT_TRUE(module) << module.error().text;
  EXPECT_EQ(module->arithmetic(), "sm_80");
  const Kernel idle = *module->kernel("idle");
  EXPECT_TRUE(idle.launch({.grid = {1}, .block = {32}, .shared_bytes = 163 * 1024}, {}));
  EXPECT_FALSE(idle.launch({.grid = {1}, .block = {32}, .shared_bytes = 164 * 1024}, {}));
  EXPECT_FALSE(idle.launch({.grid = {2}, .block = {32}, .cluster = {2}}, {}));

  EXPECT_EQ(open().info().target, "sm_90");
  EXPECT_EQ(Device::open("cpu", {.arch = "hopper"}).error().kind, ErrorKind::invalid_argument);
  const Error none = Device::open("cpu", {.arch = "sm_95"}).error();
  EXPECT_EQ(none.kind, ErrorKind::invalid_argument);
  EXPECT_TRUE(none.text.starts_with(
      "there is no machine 'sm_95' (did you mean sm_90?); the virtual GPU can be sm_70,"))
      << none.text;
}

// One output of an mma: 1 - 1 + c, of which every machine keeps other bits.
TEST(Api, MatricesRoundAsTheMachineDoes) {
  static constexpr char text[] = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 c) {
  .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %d; .reg .pred %p;
  ld.param.u64 %d, [out];
  ld.param.u32 %r4, [c];
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p, %r0, 0;
  selp.b32 %r1, 0xbc003c00, 0, %p;   // A[0][0] = 1, A[0][1] = -1
  selp.b32 %r2, 0x3c003c00, 0, %p;   // B[0][0] = B[1][0] = 1
  mov.b32 %r3, 0;
  mov.f32 %f1, 0f00000000;
  mov.b32 %f0, %r4;
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r3}, {%r2}, {%f0, %f1, %f1, %f1};
  @%p st.global.f32 [%d], %f0;
  ret;
}
)";
  constexpr uint32_t bit_24 = 0x33800000, bit_25 = 0x33000000, bit_26 = 0x32800000; // 2^-24, ...
  const auto run = [&](const char* arch, uint32_t c) {
    const auto device = Device::open("cpu", {.arch = arch});
    const auto out = device->allocate(4);
    const auto report =
        device->load_ptx(text)->kernel()->launch({.grid = {1}, .block = {32}}, {out->address(), c});
    EXPECT_TRUE(report && report->ok());
    uint32_t bits = 0;
    EXPECT_TRUE(out->copy_to(std::as_writable_bytes(std::span(&bits, 1))));
    return bits;
  };
  for (const char* arch : {"sm_75", "sm_80", "sm_86", "sm_89"}) {
    EXPECT_EQ(run(arch, bit_24), bit_24) << arch;
    EXPECT_EQ(run(arch, bit_25), 0u) << arch;
  }
  for (const char* arch : {"sm_90", "sm_100", "sm_120"}) {
    EXPECT_EQ(run(arch, bit_25), bit_25) << arch;
    EXPECT_EQ(run(arch, bit_26), 0u) << arch;
  }
}

TEST(Api, RejectsIllegalText) {
  const auto module =
      open().load_ptx(".version 8.0\n.target sm_90a\n.entry k() { frobnicate.u32; }\n", {.name = "k.ptx"});
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().kind, ErrorKind::rejected);
  ASSERT_FALSE(module.error().messages.empty());
  EXPECT_EQ(module.error().messages[0].line, 3u);
  const Verification verification =
      verify_ptx(".version 8.0\n.target sm_90a\n.entry k() { frobnicate.u32; }\n", "k.ptx");
  EXPECT_FALSE(verification.accepted);
  EXPECT_EQ(verification.messages.size(), module.error().messages.size());
  EXPECT_TRUE(verify_ptx(kSaxpy).accepted);
}

TEST(Api, VerifyEachTakesInOrder) {
  constexpr size_t kCount = 60;
  const auto read = [](size_t i) -> Result<PtxText, Error> {
    if (i % 5 == 3)
      return fail(Error{.kind = ErrorKind::invalid_argument, .text = std::to_string(i), .messages = {}});
    std::string text(i % 2 ? kSaxpy : "nothing");
    return PtxText{text + std::string(20 * (kCount - i), '\n'), std::to_string(i)};
  };
  for (const unsigned threads : {0u, 1u, 7u, 200u}) {
    std::string seen, expected;
    verify_each(
        kCount, read,
        [&](size_t i, const Result<Verification, Error>& result) {
          seen += fmt::format("{}:{} ", i, result ? (result->accepted ? "+" : "-") : result.error().text);
        },
        threads);
    for (size_t i = 0; i < kCount; ++i)
      expected += fmt::format("{}:{} ", i, i % 5 == 3 ? std::to_string(i) : i % 2 ? "+" : "-");
    EXPECT_EQ(seen, expected);
  }
  verify_each(0, read, [](size_t, const auto&) { FAIL(); });
  EXPECT_THROW(verify_each(kCount, read, [](size_t, const auto&) { throw std::runtime_error("x"); }),
               std::runtime_error);
}

// An accumulator that is moved before its product is waited for: a line for a run that is not checked.
TEST(Api, SaysWhereRegistersAreTouchedInFlight) {
  const auto warnings = [](const char* between, bool check) {
    const Device device = open();
    const std::string text = fmt::format(R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) .maxntid 128 {{
  .shared .align 1024 .b8 tile[4096];
  .reg .b64 %d, %e, %out; .reg .b32 %t, %s, %a; .reg .f32 %f<9>;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x; mov.u32 %s, tile; mad.lo.u32 %a, %t, 16, %s;
  st.shared.v4.b32 [%a], {{0, 0, 0, 0}}; st.shared.v4.b32 [%a+2048], {{0, 0, 0, 0}};
  fence.proxy.async; bar.sync 0;
  shr.u32 %s, %s, 4; cvt.u64.u32 %d, %s; or.b64 %d, %d, 0x1000080000; add.u64 %e, %d, 128;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %d, %e, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  {}
  wgmma.wait_group.sync.aligned 0;
  st.global.f32 [%out], %f0;
  ret;
}})",
                                         between);
    const auto module = device.load_ptx(text, {.name = "k.ptx"});
    EXPECT_TRUE(module) << module.error().text;
    const auto out = device.allocate(4);
    const auto report = module->kernel("k")->launch({.block = {128}, .check = check}, {*out});
    EXPECT_TRUE(report && report->ok());
    return report->warnings;
  };
  EXPECT_TRUE(warnings("", false).empty());
  const char* moves =
      "add.f32 %f4, %f1, %f1;\nwgmma.wait_group.sync.aligned 0;\n"
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d, %e, 0, 1, 1, "
      "0, 0;\nwgmma.commit_group.sync.aligned;\nadd.f32 %f5, %f2, %f2;";
  const std::vector<std::string> said = warnings(moves, false);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0],
            "line 15: %f1 is read while the wgmma.mma_async of line 13 is in flight: no wait_group lies "
            "between, and so in another place: this run waits for it there; ptxas makes code that does, or, "
            "of a loop that it unrolls, code that leaves products out. The PTX ISA asks for a wait "
            "(wgmma.inflight, an error with --check)");
  EXPECT_TRUE(warnings(moves, true).empty());
}

} // namespace
} // namespace lemma
