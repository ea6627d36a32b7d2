// Handles: modes, versions, texts; copies between host and device; what is refused.
#include "fixture.h"

namespace {

TEST_F(Cublas, Modes) {
  cudaStream_t stream = nullptr, got = reinterpret_cast<cudaStream_t>(7);
  OK(cublasGetStream_v2(handle, &got));
  EXPECT_EQ(got, nullptr);
  CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cublasSetStream_v2(handle, stream));
  OK(cublasGetStream_v2(handle, &got));
  EXPECT_EQ(got, stream);
  cublasPointerMode_t pointer{};
  OK(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE));
  OK(cublasGetPointerMode_v2(handle, &pointer));
  EXPECT_EQ(pointer, CUBLAS_POINTER_MODE_DEVICE);
  cublasAtomicsMode_t atomics{};
  OK(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_ALLOWED));
  OK(cublasGetAtomicsMode(handle, &atomics));
  EXPECT_EQ(atomics, CUBLAS_ATOMICS_ALLOWED);
  cublasMath_t math{};
  const auto both_flags = static_cast<cublasMath_t>(CUBLAS_TF32_TENSOR_OP_MATH |
                                                    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  OK(cublasSetMathMode(handle, both_flags));
  OK(cublasGetMathMode(handle, &math));
  EXPECT_EQ(math, both_flags);
  int count = -1;
  OK(cublasSetSmCountTarget(handle, 16));
  OK(cublasGetSmCountTarget(handle, &count));
  EXPECT_EQ(count, 16);
  const Bytes workspace(nullptr, 0);
  OK(cublasSetWorkspace_v2(handle, reinterpret_cast<void*>(workspace.address()), 1));
  const auto wrong = CUBLAS_STATUS_INVALID_VALUE;
  EXPECT_EQ(cublasSetWorkspace_v2(handle, reinterpret_cast<void*>(workspace.address() + 4), 1), wrong);
  EXPECT_EQ(cublasSetMathMode(handle, static_cast<cublasMath_t>(7)), wrong);
  EXPECT_EQ(cublasSetPointerMode_v2(handle, static_cast<cublasPointerMode_t>(2)), wrong);
  EXPECT_EQ(cublasGetStream_v2(handle, nullptr), wrong);
  EXPECT_EQ(cublasSetStream_v2(nullptr, stream), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasDestroy_v2(nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasCreate_v2(nullptr), wrong);
  CUDA(cuStreamDestroy_v2(stream));
}

TEST_F(Cublas, VersionsAndTexts) {
  int version = 0, major = 0;
  OK(cublasGetVersion_v2(handle, &version));
  EXPECT_EQ(version, 130100);
  OK(cublasGetProperty(MAJOR_VERSION, &major));
  EXPECT_EQ(major, 13);
  EXPECT_EQ(cublasGetProperty(static_cast<libraryPropertyType>(9), &major), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasGetCudartVersion(), 13000U);
  EXPECT_STREQ(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT_STREQ(cublasGetStatusString(CUBLAS_STATUS_ALLOC_FAILED), "the resource allocation failed");
  EXPECT_STREQ(cublasGetStatusString(static_cast<cublasStatus_t>(99)), "unknown status");
  cublasLogCallback callback = nullptr;
  OK(cublasLoggerConfigure(1, 0, 0, nullptr));
  OK(cublasSetLoggerCallback([](const char*) {}));
  OK(cublasGetLoggerCallback(&callback));
  EXPECT_NE(callback, nullptr);
  EXPECT_EQ(cublasXtCreate(), CUBLAS_STATUS_NOT_SUPPORTED);
}

// From the host to the device and back, with gaps on both sides.
TEST_F(Cublas, CopiesOfVectorsAndMatrices) {
  const std::vector<int> host{1, 2, 3, 4, 5, 6};
  const auto nothing = std::vector<int>(12, -1);
  const auto pick_second = std::vector<int>({1, -1, 3, -1, 5, -1});
  const auto vectors = [&](auto set, auto get) {
    const Array<int> to(nothing);
    OK(set(3, 4, host.data(), 2, to.at(), 3));
    CUDA(cuCtxSynchronize());
    EXPECT_EQ(to.get()[3], 3);
    EXPECT_EQ(to.get()[4], -1);
    std::vector<int> back(6, -1);
    OK(get(3, 4, to.at(), 3, back.data(), 2));
    CUDA(cuCtxSynchronize());
    EXPECT_EQ(back, pick_second);
  };
  vectors(cublasSetVector, cublasGetVector);
  vectors(cublasSetVector_64, cublasGetVector_64);
  vectors([](auto... all) { return cublasSetVectorAsync(all..., nullptr); },
          [](auto... all) { return cublasGetVectorAsync(all..., nullptr); });
  vectors([](auto... all) { return cublasSetVectorAsync_64(all..., nullptr); },
          [](auto... all) { return cublasGetVectorAsync_64(all..., nullptr); });
  const auto matrices = [&](auto set, auto get) {
    const Array<int> to(nothing);
    OK(set(2, 2, 4, host.data(), 3, to.at(), 4));
    CUDA(cuCtxSynchronize());
    EXPECT_EQ(to.get(), std::vector<int>({1, 2, -1, -1, 4, 5, -1, -1, -1, -1, -1, -1}));
    std::vector<int> back(6, -1);
    OK(get(2, 2, 4, to.at(), 4, back.data(), 3));
    CUDA(cuCtxSynchronize());
    EXPECT_EQ(back, std::vector<int>({1, 2, -1, 4, 5, -1}));
  };
  matrices(cublasSetMatrix, cublasGetMatrix);
  matrices(cublasSetMatrix_64, cublasGetMatrix_64);
  matrices([](auto... all) { return cublasSetMatrixAsync(all..., nullptr); },
           [](auto... all) { return cublasGetMatrixAsync(all..., nullptr); });
  matrices([](auto... all) { return cublasSetMatrixAsync_64(all..., nullptr); },
           [](auto... all) { return cublasGetMatrixAsync_64(all..., nullptr); });
  EXPECT_EQ(cublasSetMatrix(3, 1, 4, host.data(), 2, nullptr, 3), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetVector(1, 0, host.data(), 1, nullptr, 1), CUBLAS_STATUS_INVALID_VALUE);
}

} // namespace
