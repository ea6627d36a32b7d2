// What the host application sets and hears: options, hooks, the end of a program, the table of entry points.
#include "program.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

namespace lemma::mgpu {
namespace {

using Context = Program;
using ContextDeathTest = Program;

TEST(EntryPoints, AreListedOnceWithTheirNames) {
  std::set<std::string_view> names;
  for (const EntryPoint& entry : entry_points()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_NE(entry.address, nullptr);
    if (std::string_view(entry.name) == "mgpuMemcpy") {
      EXPECT_EQ(entry.address, reinterpret_cast<void*>(&mgpuMemcpy));
    }
  }
  EXPECT_TRUE(names.contains("mgpuLaunchClusterKernel"));
  EXPECT_GE(names.size(), 29u);
}

TEST_F(Context, TellsOfLaunches) {
  std::vector<std::string> kernels;
  uint64_t instructions = 0;
  configure({.launch = {.deterministic = true}},
            {.launched = [&](const Kernel& kernel, const Report& report) {
              kernels.push_back(kernel.name());
              instructions += report.stats.lane_instructions.value_or(0);
            }});
  launch("nothing", 2, 32);
  void* x = device_memory({1});
  launch("scale", 1, 1, x, x, uint32_t{2});
  EXPECT_EQ(kernels, (std::vector<std::string>{"nothing", "scale"}));
  EXPECT_GT(instructions, 64u);
}

TEST_F(Context, PrintsWhereItIsTold) {
  constexpr const char* kText = R"(.version 8.0
.target sm_90a
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 format, .param .b64 args);
.global .align 1 .b8 hello[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry hello_kernel()
{
  .reg .b64 %rd<3>;
  .reg .b32 %r1;
  mov.u64 %rd1, hello;
  cvta.global.u64 %rd2, %rd1;
  {
    .param .b64 p0;
    .param .b64 p1;
    .param .b32 r;
    st.param.b64 [p0], %rd2;
    st.param.b64 [p1], 0;
    call.uni (r), vprintf, (p0, p1);
    ld.param.b32 %r1, [r];
  }
  ret;
}
)";
  std::string printed;
  configure({.launch = {.print = [&](std::string_view text) { printed += text; }}});
  void* function = mgpuModuleGetFunction(mgpuModuleLoadJIT(kText, 2), "hello_kernel");
  mgpuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr, 0);
  EXPECT_EQ(printed, "hello\n");
}

TEST_F(Context, StartsAnewAfterItsEnd) {
  void* memory = device_memory({1, 2});
  finish();
  void* again = mgpuMemAlloc(8, nullptr, false);
  EXPECT_EQ(memory, again); // of another device: the same address comes first
}

TEST_F(Context, ModulesMayBeUnloadedAfterTheEnd) {
  void* module = mgpuModuleLoadJIT(kKernels, 2);
  finish();
  mgpuModuleUnload(module);
}

TEST_F(Context, ServesSeveralThreads) {
  kernel("scale");
  std::vector<std::thread> threads;
  std::vector<Words> results(4);
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        void* x = device_memory({t, t + 1});
        launch("scale", 1, 2, x, x, uint32_t{10});
        results[t] = read(x, 2);
        mgpuMemFree(x, nullptr);
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  for (uint32_t t = 0; t < 4; ++t)
    EXPECT_EQ(results[t], (Words{10 * t, 10 * t + 10}));
}

TEST_F(ContextDeathTest, HandsTheEndToTheHook) {
  configure({.module_name = "gemm.mlir"}, {.stopped = [](const Stop& stop) {
              std::fprintf(stderr, "[%s|%s|%d|%s]%s", stop.entry_point.c_str(), stop.kernel.c_str(),
                           stop.report.has_value(), stop.error ? stop.error->text.c_str() : "",
                           stop.text.c_str());
              std::_Exit(40 + stop.exit_status);
            }});
  void* y = device_memory({0});
  EXPECT_EXIT(launch("ranks", 2, 1, y), testing::ExitedWithCode(41),
              "^\\[mgpuLaunchKernel\\|ranks\\|1\\|\\]gemm.mlir:[0-9]+: fault");
  EXPECT_EXIT(mgpuMemFree(&y, nullptr), testing::ExitedWithCode(41),
              "^\\[mgpuMemFree\\|\\|0\\|0x.* is not what");
}

TEST_F(ContextDeathTest, ExitsWhenTheHookReturns) {
  configure({.arch = "hopper"}, {.stopped = [](const Stop& stop) { std::fputs(stop.text.c_str(), stderr); }});
  EXPECT_STOP(kernel("nothing"), "hopper");
}

TEST_F(ContextDeathTest, RefusesModulesForOtherMachines) {
  configure({.arch = "sm_80"}, {.stopped = [](const Stop& stop) { std::fputs(stop.text.c_str(), stderr); }});
  EXPECT_STOP(kernel("nothing"), "a module for sm_90a does not run on sm_80");
}

// A program's destructors run at exit; what they call then must neither hang nor hide the status.
TEST_F(ContextDeathTest, EntryPointsMayBeCalledOnTheWayOut) {
  static void* module = nullptr;
  const auto end = [&] {
    module = mgpuModuleLoadJIT(kKernels, 2);
    std::atexit([] { mgpuModuleUnload(module); });
    std::atexit([] { mgpuModuleUnload(nullptr); });
    mgpuMemFree(&module, nullptr);
  };
  EXPECT_STOP(end(), "mgpuMemFree");
}

TEST_F(ContextDeathTest, TheVirtualGpuIsDeviceZero) {
  mgpuSetDefaultDevice(0);
  EXPECT_STOP(mgpuSetDefaultDevice(1), "mgpuSetDefaultDevice: no device 1: the virtual GPU is device 0");
}

TEST_F(ContextDeathTest, NoSuchDevice) {
  configure({.device = "tpu"});
  EXPECT_STOP(mgpuMemAlloc(4, nullptr, false), "no device 'tpu'; there are cpu and cuda");
}

} // namespace
} // namespace lemma::mgpu
