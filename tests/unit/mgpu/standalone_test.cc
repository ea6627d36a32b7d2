// The library that takes the place of MLIR's own: no context but the process's, options from the environment,
// the end of the process.
#include "program.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

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

// Pools of threads wait for their threads when the process exits, this one among them: what the program has
// registered for its exit does not run, and what it printed is there.
TEST_F(StandaloneDeathTest, AFailureOfAWorkerEndsTheProcess) {
  static std::atomic<bool> worker_is_done = false;
  const auto end = [] {
    dup2(STDERR_FILENO, STDOUT_FILENO); // which the test looks at
    std::atexit([] {
      while (!worker_is_done)
        usleep(1000);
    });
    std::thread([] {
      std::fputs("printed before\n", stdout);
      mgpuMemFree(&worker_is_done, nullptr);
      worker_is_done = true;
    }).detach();
    for (;;)
      pause();
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(1), "printed before.*mgpuMemFree");
}

TEST_F(StandaloneDeathTest, TheEnvironmentSaysHow) {
  const auto with = [](const char* name, const char* value) {
    setenv(name, value, 1);
    launch_out_of_bounds();
  };
  EXPECT_EXIT(with("LEMMA_DEVICE", "tpu"), testing::ExitedWithCode(1),
              "lemma: mgpuMemAlloc: the environment says LEMMA_DEVICE=tpu; there are cpu");
  EXPECT_EXIT(with("LEMMA_SEED", "x"), testing::ExitedWithCode(1), "LEMMA_SEED=x; it is a number");
  EXPECT_EXIT(with("LEMMA_ENGINE", "jit"), testing::ExitedWithCode(1),
              "lemma: mgpuMemAlloc: LEMMA_ENGINE is 'jit': legal are auto, interpreter, compiled");
  EXPECT_EXIT(with("LEMMA_ARCH", "sm_80"), testing::ExitedWithCode(1), "does not run on sm_80");
  EXPECT_EXIT(mgpuModuleLoadJIT(".version 6.0\n.target sm_61\n.address_size 64\n.entry k() { ret; }\n", 2),
              testing::ExitedWithCode(3),
              "sm_61 is not modelled.*or LEMMA_ARCH=sm_[0-9]+ in the environment");
}

} // namespace
} // namespace lemma::mgpu
