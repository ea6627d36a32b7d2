// What the host application sets and hears: options, hooks, the end of a program, several programs; the table
// of entry points.
#include "program.h"

#include <csignal>
#include <set>
#include <thread>

namespace lemma::mgpu {
namespace {

using Context = Program;

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
  configure({.launch = {.deterministic = true}}, {.launched = [&](const mgpu::Launched& launched) {
              kernels.push_back(launched.kernel.name());
              instructions += launched.report.stats.lane_instructions.value_or(0);
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
  configure();
  void* again = mgpuMemAlloc(8, nullptr, false);
  EXPECT_EQ(memory, again); // of another device: the same address comes first
}

TEST_F(Context, ServesSeveralThreads) {
  kernel("scale");
  std::vector<std::thread> threads;
  std::vector<Words> results(4);
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const mgpu::Context::Bound bound(context());
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

TEST_F(Context, SaysWhyAProgramCannotGoOn) {
  std::vector<Stop> stops;
  configure({.module_name = "gemm.mlir"}, {.stopped = [&](const Stop& stop) { stops.push_back(stop); }});
  void* y = device_memory({0});
  EXPECT_STOP(launch("ranks", 2, 1, y), "^gemm.mlir:[0-9]+: fault");
  EXPECT_STOP(mgpuMemFree(&y, nullptr), "^lemma: mgpuMemFree: 0x.* is not what");
  ASSERT_EQ(stops.size(), 2u);
  EXPECT_EQ(stops[0].entry_point, "mgpuLaunchKernel");
  EXPECT_EQ(stops[0].kernel, "ranks");
  EXPECT_TRUE(stops[0].report && !stops[0].error);
  EXPECT_EQ(stops[1].kernel, "");
  EXPECT_TRUE(stops[1].error && !stops[1].report);
  EXPECT_EQ(read(y, 1), Words{100}) << "memory stays";
}

TEST_F(Context, RefusesAnArchThatThereIsNot) {
  configure({.arch = "hopper"});
  EXPECT_STOP(kernel("nothing"), "hopper");
}

// As constructors of a program do, which nobody may leave by a jump.
TEST_F(Context, OutsideARunCallsReturnNothingUntilTheReasonIsTaken) {
  EXPECT_EQ(mgpuModuleLoadJIT("no PTX", 2), nullptr);
  EXPECT_EQ(mgpuMemAlloc(4, nullptr, false), nullptr) << "nor do later calls";
  const std::optional<Stop> stop = context().take_stop();
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->entry_point, "mgpuModuleLoadJIT");
  EXPECT_FALSE(context().take_stop());
  EXPECT_NE(mgpuMemAlloc(4, nullptr, false), nullptr);
}

TEST_F(Context, ProgramsRunAtTheSameTime) {
  std::vector<std::thread> threads;
  std::vector<std::string> ends(4);
  for (size_t t = 0; t < ends.size(); ++t)
    threads.emplace_back([&, t] {
      struct Program {
        void* y = nullptr;
        int launches = 0;
      } program;
      mgpu::Context own({}, {.launched = [&](const mgpu::Launched&) { ++program.launches; }});
      const auto stop = own.run(
          [](void* argument) {
            auto* program = static_cast<Program*>(argument);
            program->y = mgpuMemAlloc(8, nullptr, false);
            void* function = mgpuModuleGetFunction(mgpuModuleLoadJIT(kKernels, 2), "ranks");
            void* params[] = {&program->y};
            for (intptr_t grid = 1; grid <= 3; ++grid) // the third is out of bounds
              mgpuLaunchKernel(function, grid, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr, 1);
          },
          &program);
      ends[t] = std::to_string(program.launches) + (stop ? " launches, then " + stop->text : "");
    });
  for (std::thread& thread : threads)
    thread.join();
  for (const std::string& end : ends)
    EXPECT_TRUE(end.starts_with("2 launches, then <ptx>:") &&
                end.find("at the end of gpu.alloc 1") != end.npos)
        << end;
}

TEST(ContextDeathTest, AThreadWithoutAProgramAborts) {
  EXPECT_EXIT(mgpuMemAlloc(4, nullptr, false), testing::KilledBySignal(SIGABRT),
              "mgpuMemAlloc was called by a thread that runs no MLIR program");
}

TEST_F(Context, RefusesModulesForOtherMachines) {
  configure({.arch = "sm_80"});
  EXPECT_STOP(kernel("nothing"), "a module for sm_90a does not run on sm_80");
}

TEST_F(Context, TheVirtualGpuIsDeviceZero) {
  mgpuSetDefaultDevice(0);
  EXPECT_STOP(mgpuSetDefaultDevice(1), "mgpuSetDefaultDevice: no device 1: the virtual GPU is device 0");
}

TEST_F(Context, NoSuchDevice) {
  configure({.device = "tpu"});
  EXPECT_STOP(mgpuMemAlloc(4, nullptr, false), "no device 'tpu'; there are cpu and cuda");
}

} // namespace
} // namespace lemma::mgpu
