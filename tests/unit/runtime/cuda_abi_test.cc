// src/runtime/cuda_driver.h against cuda.h, where a CUDA toolkit is installed: numbers, layouts, signatures.
// Most of it is checked by the compiler; the test says whether that happened.
#include "runtime/cuda_driver.h"

#include <gtest/gtest.h>

#ifdef LEMMA_HAVE_CUDA_H
#include <cuda.h>

#include <cstddef>
#include <type_traits>

namespace lemma::runtime::cuda {
namespace {

static_assert(kSuccess == CUDA_SUCCESS && kInvalidValue == CUDA_ERROR_INVALID_VALUE &&
              kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY && kNoBinaryForGpu == CUDA_ERROR_NO_BINARY_FOR_GPU &&
              kInvalidPtx == CUDA_ERROR_INVALID_PTX &&
              kUnsupportedPtxVersion == CUDA_ERROR_UNSUPPORTED_PTX_VERSION &&
              kIllegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS &&
              kLaunchOutOfResources == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES &&
              kLaunchTimeout == CUDA_ERROR_LAUNCH_TIMEOUT && kAssert == CUDA_ERROR_ASSERT &&
              kHardwareStackError == CUDA_ERROR_HARDWARE_STACK_ERROR &&
              kIllegalInstruction == CUDA_ERROR_ILLEGAL_INSTRUCTION &&
              kMisalignedAddress == CUDA_ERROR_MISALIGNED_ADDRESS &&
              kInvalidAddressSpace == CUDA_ERROR_INVALID_ADDRESS_SPACE &&
              kInvalidPc == CUDA_ERROR_INVALID_PC && kLaunchFailed == CUDA_ERROR_LAUNCH_FAILED &&
              kCooperativeLaunchTooLarge == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE &&
              kInvalidClusterSize == CUDA_ERROR_INVALID_CLUSTER_SIZE);
static_assert(kAttributeComputeCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              kAttributeComputeCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR &&
              kFunctionMaxThreads == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK &&
              kFunctionSharedBytes == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES &&
              kFunctionLocalBytes == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES &&
              kFunctionRegisters == CU_FUNC_ATTRIBUTE_NUM_REGS &&
              kFunctionMaxDynamicSharedBytes == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
              kFunctionNonPortableClusterSize == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED &&
              kJitErrorLogBuffer == CU_JIT_ERROR_LOG_BUFFER &&
              kJitErrorLogBufferBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES &&
              kManagedGlobal == CU_MEM_ATTACH_GLOBAL &&
              kHostRegisterPortable == CU_MEMHOSTREGISTER_PORTABLE &&
              kHostRegisterDeviceMap == CU_MEMHOSTREGISTER_DEVICEMAP &&
              kLaunchCooperative == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
              kLaunchClusterDimension == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);

static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value) &&
              sizeof(CUlaunchAttributeValue) == 64 && offsetof(CUlaunchAttributeValue, clusterDim.z) == 8);
static_assert(sizeof(LaunchConfiguration) == sizeof(CUlaunchConfig) &&
              offsetof(LaunchConfiguration, block) == offsetof(CUlaunchConfig, blockDimX) &&
              offsetof(LaunchConfiguration, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes) &&
              offsetof(LaunchConfiguration, stream) == offsetof(CUlaunchConfig, hStream) &&
              offsetof(LaunchConfiguration, attributes) == offsetof(CUlaunchConfig, attrs) &&
              offsetof(LaunchConfiguration, attribute_count) == offsetof(CUlaunchConfig, numAttrs));

// Two parameter types are alike if they are passed alike: enums as int, pointers as pointers.
template <class T>
struct Passed {
  using type = std::conditional_t<std::is_pointer_v<T>, void*, T>;
};
template <class T>
  requires std::is_enum_v<T>
struct Passed<T> {
  using type = int;
};
template <class A, class B>
struct SameCall : std::false_type {};
template <class R, class... A, class S, class... B>
struct SameCall<R (*)(A...), S (*)(B...)> {
  static constexpr bool same() {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return std::is_same_v<typename Passed<R>::type, typename Passed<S>::type> &&
             (std::is_same_v<typename Passed<A>::type, typename Passed<B>::type> && ...);
  }
  static constexpr bool value = same();
};
#define X(name, symbol, parameters)                                                                          \
  static_assert(SameCall<Status(*) parameters, decltype(&::symbol)>::value, #symbol);
LEMMA_CUDA_FUNCTIONS(X)
#undef X

TEST(CudaAbi, AgreesWithTheToolkit) {
  EXPECT_GE(CUDA_VERSION, 11080);
}

} // namespace
} // namespace lemma::runtime::cuda
#else
TEST(CudaAbi, AgreesWithTheToolkit) {
  GTEST_SKIP() << "no cuda.h on this machine: the driver API's declarations were not compared";
}
#endif
