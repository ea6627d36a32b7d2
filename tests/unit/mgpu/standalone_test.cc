// The library that takes the place of MLIR's own: no context but the process's, options from the environment,
// the end of the process.
#include "program.h"

#include <cstdlib>

namespace lemma::mgpu {
namespace {

class StandaloneDeathTest : public testing::Test {
protected:
  StandaloneDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); } // a launch leaves threads behind
};

void launch_out_of_bounds() {
  void* y = mgpuMemAlloc(8, nullptr, false);
  void* params[] = {&y};
  void* function = mgpuModuleGetFunction(mgpuModuleLoadJIT(kKernels, 2), "ranks");
  mgpuLaunchKernel(function, 3, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr, 1);
}

TEST_F(StandaloneDeathTest, AFailureEndsTheProcess) {
  EXPECT_EXIT(launch_out_of_bounds(), testing::ExitedWithCode(1),
              "^<ptx>:[0-9]+: fault\\[out of bounds\\]: write of 4 bytes .* at the end of gpu.alloc 1");
  EXPECT_EXIT(mgpuModuleLoad("\x7f"
                             "ELF\2\1\1",
                             7),
              testing::ExitedWithCode(3), "a cubin, machine code of a GPU");
}

// A program's destructors run at exit; what they call then must neither hang nor hide the status.
TEST_F(StandaloneDeathTest, EntryPointsMayBeCalledOnTheWayOut) {
  static void* module = nullptr;
  const auto end = [] {
    module = mgpuModuleLoadJIT(kKernels, 2);
    std::atexit([] { mgpuModuleUnload(module); });
    std::atexit([] { mgpuModuleUnload(nullptr); });
    mgpuMemFree(&module, nullptr);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(1), "mgpuMemFree");
}

TEST_F(StandaloneDeathTest, TheEnvironmentSaysHow) {
  const auto with = [](const char* name, const char* value) {
    setenv(name, value, 1);
    launch_out_of_bounds();
  };
  EXPECT_EXIT(with("LEMMA_DEVICE", "tpu"), testing::ExitedWithCode(1),
              "lemma: mgpuMemAlloc: the environment says LEMMA_DEVICE=tpu; there are cpu");
  EXPECT_EXIT(with("LEMMA_SEED", "x"), testing::ExitedWithCode(1), "LEMMA_SEED=x; it is a number");
  EXPECT_EXIT(with("LEMMA_ARCH", "sm_80"), testing::ExitedWithCode(1), "does not run on sm_80");
}

} // namespace
} // namespace lemma::mgpu
