// Modules, functions, launches, streams and events of host programs.
#include "program.h"

#include <cstring>
#include <thread>

namespace lemma::mgpu {
namespace {

using Launches = Program;
using StreamsAndEvents = Program;

TEST_F(Launches, PassParametersByPointer) {
  void* x = device_memory({1, 2, 3, 4, 5, 6});
  void* y = mgpuMemAlloc(24, nullptr, false);
  launch("scale", 2, 3, x, y, uint32_t{7});
  EXPECT_EQ(read(y, 6), (Words{7, 14, 21, 28, 35, 42}));
  EXPECT_EQ(said, "");
}

TEST_F(Launches, TakeDynamicSharedMemoryAndAStream) {
  void* y = mgpuMemAlloc(4, nullptr, false);
  void* stream = mgpuStreamCreate();
  void* params[] = {&y};
  mgpuLaunchKernel(kernel("dynamic"), 1, 1, 1, 32, 1, 1, 100000, stream, params, nullptr, 1);
  EXPECT_EQ(read(y, 1), Words{100000});
  mgpuStreamDestroy(stream);
}

TEST_F(Launches, OfClusters) {
  void* y = mgpuMemAlloc(24, nullptr, false);
  void* params[] = {&y};
  mgpuLaunchClusterKernel(kernel("ranks"), 3, 1, 1, 6, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr);
  EXPECT_EQ(read(y, 6), (Words{300, 301, 302, 300, 301, 302}));
}

TEST_F(Launches, WithoutParametersNeedNone) {
  mgpuLaunchKernel(kernel("nothing"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr, 0);
}

TEST_F(Launches, ReportReadsOfWhatWasNeverWritten) {
  void* x = mgpuMemAlloc(4, nullptr, false);
  launch("scale", 1, 1, x, x, uint32_t{1});
  EXPECT_NE(said.find("'gpu.alloc 1' at byte 0"), std::string::npos) << said;
}

TEST_F(Launches, ModulesComeAsSizedTextToo) {
  std::string text = kKernels;
  text += "this is no PTX";
  void* module = mgpuModuleLoad(text.data(), std::strlen(kKernels));
  EXPECT_NE(mgpuModuleGetFunction(module, "ranks"), nullptr);
  EXPECT_EQ(mgpuModuleGetFunction(module, "ranks"), mgpuModuleGetFunction(module, "ranks"));
  void* with_nul = mgpuModuleLoad(kKernels, std::strlen(kKernels) + 1);
  EXPECT_NE(module, with_nul);
  mgpuModuleUnload(module);
  mgpuModuleUnload(with_nul);
}

TEST_F(Launches, SayWhatIsWrong) {
  void* params[] = {nullptr};
  void* null = nullptr;
  const auto clusters = [&](intptr_t cluster) {
    mgpuLaunchClusterKernel(kernel("nothing"), cluster, 1, 1, 4, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr);
  };
  EXPECT_STOP(launch("nothing", 0, 1),
              "mgpuLaunchKernel of kernel nothing: the grid is 0 x 1 x 1: each size");
  EXPECT_STOP(launch("nothing", 1, -1), "the block is -1 x 1 x 1");
  EXPECT_STOP(launch("nothing", 1, 2000), "2000");
  EXPECT_STOP(launch("nothing", 1, 1, 5), "has 0 parameters, the launch passes 1");
  EXPECT_STOP(clusters(0), "the cluster is 0 x 1 x 1");
  EXPECT_STOP(clusters(3), "lemma: mgpuLaunchClusterKernel of kernel nothing: ");
  EXPECT_STOP(mgpuLaunchKernel(kernel("ranks"), 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr, 1),
              "parameter 0 \\(y\\) is a null pointer");
  EXPECT_STOP(mgpuLaunchKernel(kernel("ranks"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr, 1),
              "the launch passes none");
  EXPECT_STOP(mgpuLaunchKernel(kernel("nothing"), 1, 1, 1, 1, 1, 1, -4, nullptr, params, nullptr, 0),
              "-4 bytes of dynamic shared memory");
  EXPECT_STOP(launch("nothing", int64_t{1} << 32, 1), "the grid is 4294967296 x 1 x 1");
  EXPECT_STOP(mgpuLaunchKernel(kernel("nothing"), 1, 1, 1, 1, 1, 1, 0, nullptr, params, &null, 0),
              "`extra` is not null");
  EXPECT_STOP(mgpuLaunchKernel(kernel("nothing"), 1, 1, 1, 1, 1, 1, 0, params, params, nullptr, 0),
              "is no stream");
  EXPECT_STOP(mgpuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr, 0), "is no function");
}

TEST_F(Launches, OfAFaultyKernelEndWithItsReport) {
  void* y = mgpuMemAlloc(8, nullptr, false);
  EXPECT_STOP(
      launch("ranks", 3, 1, y),
      "^<ptx>:[0-9]+: fault\\[out of bounds\\]: write of 4 bytes .* at the end of gpu.alloc 1 \\(8 bytes\\)\n"
      ".*st.global.u32 \\[%rd1\\], %r3;\n.*\n.*CTA 2,0,0, warp 0, lane 0");
}

TEST_F(Launches, BadModulesAreNamed) {
  EXPECT_STOP(mgpuModuleLoadJIT(".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() { nop; }\n", 2),
              "<ptx>:4:.*error");
  EXPECT_STOP(mgpuModuleLoadJIT("", 2), "lemma: mgpuModuleLoadJIT: the module is empty");
  EXPECT_STOP(mgpuModuleLoadJIT(nullptr, 2), "null pointer");
  EXPECT_UNSUPPORTED(mgpuModuleLoad("\x7f"
                                    "ELF\2\1\1",
                                    7),
                     "a cubin, machine code of a GPU; PTX text is wanted: .*format=isa");
  EXPECT_STOP(kernel("scales"), "mgpuModuleGetFunction: .*no kernel 'scales' \\(did you mean scale\\?\\)");
  EXPECT_STOP(mgpuModuleGetFunction(nullptr, "scale"), "is no module");
  EXPECT_STOP((kernel("nothing"), mgpuModuleUnload(nullptr)), "is no module");
}

TEST_F(Launches, FunctionsGoWithTheirModule) {
  void* module = mgpuModuleLoadJIT(kKernels, 0);
  void* function = mgpuModuleGetFunction(module, "nothing");
  mgpuModuleUnload(module);
  EXPECT_STOP(mgpuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr, 0),
              "is no function");
  EXPECT_STOP(mgpuModuleUnload(module), "unloaded before");
}

TEST_F(StreamsAndEvents, TellTheTime) {
  void* stream = mgpuStreamCreate();
  void* begin = mgpuEventCreate();
  void* end = mgpuEventCreate();
  EXPECT_NE(begin, end);
  mgpuEventRecord(begin, stream);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  mgpuEventRecord(end, nullptr);
  mgpuStreamWaitEvent(stream, end);
  mgpuEventSynchronize(end);
  mgpuStreamSynchronize(stream);
  mgpuStreamSynchronize(nullptr);
  EXPECT_GE(mgpuEventElapsedTime(begin, end), 20.0f);
  EXPECT_EQ(mgpuEventElapsedTime(begin, begin), 0.0f);
  mgpuEventDestroy(begin);
  mgpuEventDestroy(end);
  mgpuStreamDestroy(stream);
}

TEST_F(StreamsAndEvents, AreChecked) {
  void* stream = mgpuStreamCreate();
  void* event = mgpuEventCreate();
  EXPECT_STOP(mgpuEventElapsedTime(event, event), "the first event was never recorded");
  EXPECT_STOP(mgpuEventRecord(nullptr, stream), "mgpuEventRecord: the event is null");
  EXPECT_STOP(mgpuEventRecord(stream, stream), "is no event: never created, or destroyed before");
  EXPECT_STOP(mgpuStreamWaitEvent(event, event), "is no stream");
  EXPECT_STOP(mgpuStreamWaitEvent(stream, nullptr), "the event is null");
  EXPECT_STOP(mgpuEventSynchronize(stream), "is no event");
  EXPECT_STOP(mgpuEventDestroy(stream), "is no event");
  EXPECT_STOP(mgpuStreamDestroy(nullptr), "the default stream \\(null\\) cannot be destroyed");
  EXPECT_STOP(mgpuMemAlloc(4, event, false), "mgpuMemAlloc: .* is no stream");
  mgpuStreamDestroy(stream);
  EXPECT_STOP(mgpuStreamSynchronize(stream), "mgpuStreamSynchronize: .* is no stream");
}

} // namespace
} // namespace lemma::mgpu
