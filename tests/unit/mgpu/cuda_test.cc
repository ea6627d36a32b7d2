// Host programs on the cuda device, over the driver made for the tests of src/runtime (fake_cuda.h): what
// reaches the driver, and what becomes of its errors.
#include "fake_cuda.h"
#include "program.h"

#include <dlfcn.h>

namespace lemma::mgpu {
namespace {

class Cuda : public Program {
protected:
  // dlopen("libcuda.so.1") finds a library that is already open under that name.
  static void SetUpTestSuite() {
    void* library = dlopen(FAKE_CUDA, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    state_ = reinterpret_cast<decltype(&fake_cuda_state)>(dlsym(library, "fake_cuda_state"))();
  }
  void SetUp() override {
    *state_ = {};
    configure({.device = "cuda"});
  }

  static fake_cuda::State* state_;
};
fake_cuda::State* Cuda::state_ = nullptr;

TEST_F(Cuda, LaunchesAndCopies) {
  void* x = device_memory({1, 2, 3});
  void* y = mgpuMemAlloc(12, nullptr, false);
  mgpuMemcpy(y, x, 12, nullptr);
  mgpuMemset16(y, 7, 1, nullptr);
  EXPECT_EQ(read(y, 3), (Words{7, 2, 3}));
  void* params[] = {&y};
  mgpuLaunchClusterKernel(kernel("ranks"), 2, 1, 1, 4, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr);
  ASSERT_EQ(state_->launches.size(), 1u);
  EXPECT_EQ(state_->launches[0].kernel, "ranks");
  EXPECT_EQ(state_->launches[0].grid[0], 4u);
  EXPECT_EQ(state_->launches[0].cluster[0], 2u);
  mgpuMemFree(x, nullptr);
  mgpuMemFree(y, nullptr);
  EXPECT_EQ(state_->allocations, 0);
}

TEST_F(Cuda, SharesAndRegistersHostMemory) {
  auto* shared = static_cast<uint32_t*>(mgpuMemAlloc(8, nullptr, true));
  shared[1] = 5;
  EXPECT_EQ(read(shared, 2)[1], 5u);
  EXPECT_EQ(state_->managed, 1);
  Words words(4);
  mgpuMemHostRegister(words.data(), 16);
  EXPECT_EQ(state_->registered.size(), 1u);
  mgpuMemHostUnregister(words.data());
  EXPECT_EQ(state_->registered.size(), 0u);
}

TEST_F(Cuda, LeavesNothingBehind) {
  device_memory({1});
  kernel("nothing");
  finish();
  EXPECT_EQ(state_->allocations, 0);
  EXPECT_EQ(state_->modules, 0);
}

TEST_F(Cuda, EncodesTensorMapsWithTheDriver) {
  struct {
    void *allocated, *aligned;
    int64_t offset, sizes[2], strides[2];
  } memref{nullptr, device_memory(Words(512)), 0, {16, 32}, {32, 1}};
  const int64_t box[] = {2, 4};
  void* map = mgpuTensorMapEncodeTiledMemref(2, &memref, 7, 0, 3, 2, 0, box);
  ASSERT_EQ(state_->maps.size(), 1u);
  const fake_cuda::EncodedMap& encoded = state_->maps[0];
  EXPECT_EQ(encoded.dims, (std::vector<uint64_t>{32, 16}));
  EXPECT_EQ(encoded.strides, std::vector<uint64_t>{128});
  EXPECT_EQ(encoded.box, (Words{4, 2}));
  EXPECT_EQ(encoded.type, 7);
  EXPECT_EQ(encoded.swizzle, 3);
  EXPECT_EQ(encoded.l2_promotion, 2);
  EXPECT_EQ(read(map, 1), Words{0x5a5a5a5a});
}

TEST_F(Cuda, AFaultEndsTheProgram) {
  constexpr const char* kText = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                                ".visible .entry fault_store() { ret; }\n";
  void* function = mgpuModuleGetFunction(mgpuModuleLoadJIT(kText, 2), "fault_store");
  EXPECT_STOP(mgpuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr, 0),
              "fault\\[out of bounds\\]: kernel fault_store failed on Fake H200");
}

TEST_F(Cuda, ThereIsOneGpu) {
  mgpuSetDefaultDevice(0);
  EXPECT_UNSUPPORTED(mgpuSetDefaultDevice(1), "no GPU 1: the driver sees 1");
}

} // namespace
} // namespace lemma::mgpu
