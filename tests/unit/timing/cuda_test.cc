// Times on the cuda device, over a driver and a cuBLAS made for the tests, whose clock moves by what each
// launch takes: what is queued, what counts, what cuBLAS is asked for.
#include "fake_cublaslt.h"
#include "fake_cuda.h"

#include "lemma/timing.h"

#include <gtest/gtest.h>

#include <dlfcn.h>

namespace lemma {
namespace {

constexpr const char* kText = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry first() { ret; }
.visible .entry second() { ret; }
.visible .entry fault_store() { ret; }
)";

template <class State>
State* state_of(const char* library, const char* function) {
  void* opened = dlopen(library, RTLD_NOW);
  EXPECT_NE(opened, nullptr) << dlerror();
  return opened ? reinterpret_cast<State* (*)()>(dlsym(opened, function))() : nullptr;
}

class TimingOnCuda : public testing::Test {
protected:
  static void SetUpTestSuite() {
    cuda_ = state_of<fake_cuda::State>(FAKE_CUDA, "fake_cuda_state");
    blas_ = state_of<fake_cublaslt::State>(FAKE_CUBLASLT, "fake_cublaslt_state");
  }
  void SetUp() override {
    *cuda_ = {};
    *blas_ = {};
    auto device = Device::open("cuda");
    ASSERT_TRUE(device) << device.error().text;
    device_ = *std::move(device);
  }

  Step step(const char* name) {
    auto module = device_->load_ptx(kText);
    auto made = Step::launch(*module->kernel(name), {.grid = {4}, .block = {32}}, {});
    EXPECT_TRUE(made) << made.error().text;
    return *made;
  }
  CublasLt cublas() {
    auto opened = CublasLt::open(*device_, FAKE_CUBLASLT);
    EXPECT_TRUE(opened) << opened.error().text;
    return *opened;
  }

  static fake_cuda::State* cuda_;
  static fake_cublaslt::State* blas_;
  std::optional<Device> device_;
};
fake_cuda::State* TimingOnCuda::cuda_ = nullptr;
fake_cublaslt::State* TimingOnCuda::blas_ = nullptr;

TEST_F(TimingOnCuda, CountsKernelsAndNotTheFlush) {
  const Work work{step("first"), step("second")};
  const auto times = time_in_turns(*device_, std::span(&work, 1), {.rounds = 2, .launches = 3, .warm_up = 1});
  ASSERT_TRUE(times) << times.error().text;
  ASSERT_EQ(times->works.size(), 1u);
  ASSERT_EQ(times->works[0].seconds.size(), 2u);
  for (const std::vector<double>& step : times->works[0].seconds) {
    EXPECT_EQ(step.size(), 6u);
    for (const double seconds : step)
      EXPECT_NEAR(seconds, 2.5e-3, 1e-8);
  }
  EXPECT_NEAR(totals(times->works[0])[0], 5e-3, 1e-8);
  // One launch that says how long it takes, then of each round one to warm up and three.
  EXPECT_EQ(cuda_->launches.size(), 2 * (1 + 2 * (1 + 3)));
  EXPECT_EQ(cuda_->flushes, 1 + 2 * (1 + 3));
  EXPECT_EQ(cuda_->events, 0);
  EXPECT_FALSE(times->works[0].state); // nobody has an NVML for this driver
  EXPECT_NE(times->no_state, "");
}

TEST_F(TimingOnCuda, WarmMeansThatNothingHappensBetweenLaunches) {
  const Work work{step("first")};
  ASSERT_TRUE(
      time_in_turns(*device_, std::span(&work, 1), {.rounds = 1, .launches = 3, .flushes_l2 = false}));
  EXPECT_EQ(cuda_->flushes, 0);
}

TEST_F(TimingOnCuda, WorksTakeTurns) {
  const Work works[] = {{step("first")}, {step("second")}};
  ASSERT_TRUE(time_in_turns(*device_, works, {.rounds = 2, .launches = 2, .warm_up = 0}));
  std::string order;
  for (const fake_cuda::Launch& launch : cuda_->launches)
    order += launch.kernel[0];
  EXPECT_EQ(order, "fs"
                   "ffss"
                   "ssff");
}

TEST_F(TimingOnCuda, AFaultIsAnError) {
  const Work work{step("fault_store")};
  const auto times = time_in_turns(*device_, std::span(&work, 1), {});
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().kind, ErrorKind::device_lost);
}

TEST_F(TimingOnCuda, AStepOfAnotherDeviceIsAnError) {
  const auto cpu = Device::open("cpu");
  const Work work{step("first")};
  const auto times = time_in_turns(*cpu, std::span(&work, 1), {});
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().kind, ErrorKind::invalid_argument);
}

TEST_F(TimingOnCuda, AsksCublasForTheTranspose) {
  const CublasLt blas = cublas();
  EXPECT_EQ(blas.version(), "13.0.2");
  const auto steps =
      blas.products({.type = "bf16", .result = "f32", .m = 10, .n = 20, .k = 30, .b_transposed = true},
                    0x1000, 0x2000, 0x3000);
  ASSERT_TRUE(steps) << steps.error().text;
  ASSERT_EQ(steps->size(), 3u);
  EXPECT_EQ((*steps)[1].name(), "cuBLAS, heuristic 1");
  const Work work{(*steps)[1]};
  const auto times = time_in_turns(*device_, std::span(&work, 1), {.rounds = 1, .launches = 1, .warm_up = 0});
  ASSERT_TRUE(times) << times.error().text;
  EXPECT_NEAR(times->works[0].seconds[0][0], 1e-3, 1e-8);
  ASSERT_EQ(blas_->products.size(), 2u);
  const fake_cublaslt::Product& product = blas_->products[0];
  // Its A is our B: 20 rows of 30 are, column by column, 30 rows of 20, which it transposes.
  EXPECT_EQ(product.transposes_a, 1);
  EXPECT_EQ(product.transposes_b, 0);
  EXPECT_EQ(product.a.rows, 30u);
  EXPECT_EQ(product.a.columns, 20u);
  EXPECT_EQ(product.a.leading_dimension, 30);
  EXPECT_EQ(product.b.rows, 30u);
  EXPECT_EQ(product.b.columns, 10u);
  EXPECT_EQ(product.c.rows, 20u);
  EXPECT_EQ(product.c.columns, 10u);
  EXPECT_EQ(product.a_address, reinterpret_cast<void*>(0x2000));
  EXPECT_EQ(product.b_address, reinterpret_cast<void*>(0x1000));
  EXPECT_EQ(product.c_address, reinterpret_cast<void*>(0x3000));
  EXPECT_EQ(product.a.type, 14);
  EXPECT_EQ(product.c.type, 0);
  EXPECT_EQ(product.compute, 68);
  EXPECT_EQ(product.fast_accumulation, 0);
  EXPECT_EQ(product.alpha, 1);
  EXPECT_EQ(product.beta, 0);
  EXPECT_GE(product.workspace_bytes, 32u << 20);
}

TEST_F(TimingOnCuda, EachTypeHasItsComputeType) {
  struct {
    const char *type, *result;
    int compute, scale, ab, fast;
  } const rows[] = {{"f16", "f16", 68, 0, 2, 0}, {"tf32", "f32", 77, 0, 0, 0},   {"f32", "f32", 68, 0, 0, 0},
                    {"f64", "f64", 70, 1, 1, 0}, {"e4m3", "bf16", 68, 0, 28, 1}, {"s8", "s32", 72, 10, 3, 0}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.type);
    const auto steps = cublas().products(
        {.type = row.type, .result = row.result, .m = 16, .n = 16, .k = 16, .b_transposed = true}, 1, 2, 3);
    ASSERT_TRUE(steps) << steps.error().text;
    const Work work{steps->front()};
    ASSERT_TRUE(
        time_in_turns(*device_, std::span(&work, 1), {.rounds = 1, .launches = 1, .flushes_l2 = false}));
    const fake_cublaslt::Product& product = blas_->products.back();
    EXPECT_EQ(product.compute, row.compute);
    EXPECT_EQ(product.scale, row.scale);
    EXPECT_EQ(product.a.type, row.ab);
    EXPECT_EQ(product.fast_accumulation, row.fast);
    EXPECT_EQ(product.alpha, 1);
    EXPECT_EQ(product.beta, 0);
  }
}

TEST_F(TimingOnCuda, SaysWhatCublasHasNot) {
  const CublasLt blas = cublas();
  const auto none = blas.products({.type = "e5m2", .result = "bf16", .m = 16, .n = 16, .k = 16}, 1, 2, 3);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unsupported);
  EXPECT_NE(none.error().text.find("as the fake cuBLAS says"), std::string::npos) << none.error().text;
  const auto unknown = blas.products({.type = "f17", .result = "f32", .m = 16, .n = 16, .k = 16}, 1, 2, 3);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::invalid_argument);
}

TEST_F(TimingOnCuda, LeavesNothingOfCublasBehind) {
  {
    const CublasLt blas = cublas();
    const auto steps = blas.products({.type = "f16", .result = "f16", .m = 16, .n = 16, .k = 16}, 1, 2, 3);
    EXPECT_EQ(blas_->handles, 1);
    EXPECT_EQ(blas_->objects, 5);
  }
  EXPECT_EQ(blas_->handles, 0);
  EXPECT_EQ(blas_->objects, 0);
  EXPECT_EQ(cuda_->allocations, 0);
}

TEST_F(TimingOnCuda, ALibraryThatIsNoneIsUnavailable) {
  const auto missing = CublasLt::open(*device_, "/nowhere/libcublasLt.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::unavailable);
  EXPECT_NE(missing.error().text.find("/nowhere/libcublasLt.so"), std::string::npos);
  const auto other = CublasLt::open(*device_, FAKE_CUDA);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::unavailable);
  const auto cpu = Device::open("cpu");
  EXPECT_EQ(CublasLt::open(*cpu).error().kind, ErrorKind::invalid_argument);
}

} // namespace
} // namespace lemma
