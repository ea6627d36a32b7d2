// src/cudart/types.h and functions.def against cuda_runtime_api.h, where a CUDA toolkit is installed:
// layouts, and how every function of the table is called; and types.h against the driver's, whose structs the
// runtime's are passed as. The compiler checks it; the test says whether that happened. Numbers of
// enumerators: scripts/cudart_functions.py --check (cudart.headers).
#include <gtest/gtest.h>

#include "../same_call.h"

#ifdef LEMMA_HAVE_CUDA_RUNTIME
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

// What crt/host_runtime.h and crt/device_functions.h declare for nvcc alone.
extern "C" {
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*);
char __cudaInitModule(void**);
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, CUstream_st*);
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
void __cudaUnregisterFatBinary(void**);
}
#endif

#include <cstddef>
#include <cstdint>

namespace ours {

#include "cudart/types.h"

} // namespace ours

namespace driver {

#include "driver/types.h"

} // namespace driver

namespace ours {

// What is passed to the driver as it is.
#define SAME_AS(S, D) static_assert(sizeof(S) == sizeof(driver::D) && alignof(S) == alignof(driver::D), #S);
#define SAME_FIELD(S, field, D, other)                                                                       \
  static_assert(offsetof(S, field) == offsetof(driver::D, other) &&                                          \
                    sizeof(S::field) == sizeof(driver::D::other),                                            \
                #S "::" #field);
// clang-format off
SAME_AS(cudaLaunchAttributeValue, CUlaunchAttributeValue)
SAME_FIELD(cudaLaunchAttributeValue, accessPolicyWindow, CUlaunchAttributeValue, accessPolicyWindow)
SAME_FIELD(cudaLaunchAttributeValue, clusterDim, CUlaunchAttributeValue, clusterDim)
SAME_FIELD(cudaLaunchAttributeValue, programmaticEvent, CUlaunchAttributeValue, programmaticEvent)
SAME_AS(cudaLaunchAttribute, CUlaunchAttribute)
SAME_FIELD(cudaLaunchAttribute, id, CUlaunchAttribute, id) SAME_FIELD(cudaLaunchAttribute, val, CUlaunchAttribute, value)
SAME_AS(cudaMemLocation, CUmemLocation)
SAME_FIELD(cudaMemLocation, type, CUmemLocation, type) SAME_FIELD(cudaMemLocation, id, CUmemLocation, id)
SAME_AS(cudaMemAccessDesc, CUmemAccessDesc)
SAME_FIELD(cudaMemAccessDesc, location, CUmemAccessDesc, location) SAME_FIELD(cudaMemAccessDesc, flags, CUmemAccessDesc, flags)
SAME_AS(cudaMemPoolProps, CUmemPoolProps)
SAME_FIELD(cudaMemPoolProps, handleTypes, CUmemPoolProps, handleTypes) SAME_FIELD(cudaMemPoolProps, location, CUmemPoolProps, location) SAME_FIELD(cudaMemPoolProps, maxSize, CUmemPoolProps, maxSize) SAME_FIELD(cudaMemPoolProps, usage, CUmemPoolProps, usage)
SAME_AS(cudaMemsetParams, CUDA_MEMSET_NODE_PARAMS)
SAME_FIELD(cudaMemsetParams, value, CUDA_MEMSET_NODE_PARAMS, value) SAME_FIELD(cudaMemsetParams, width, CUDA_MEMSET_NODE_PARAMS, width)
SAME_AS(cudaHostNodeParams, CUDA_HOST_NODE_PARAMS)
SAME_AS(cudaMemAllocNodeParams, CUDA_MEM_ALLOC_NODE_PARAMS)
SAME_FIELD(cudaMemAllocNodeParams, bytesize, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize) SAME_FIELD(cudaMemAllocNodeParams, dptr, CUDA_MEM_ALLOC_NODE_PARAMS, dptr)
SAME_AS(cudaGraphEdgeData, CUgraphEdgeData)
SAME_FIELD(cudaGraphEdgeData, type, CUgraphEdgeData, type)
SAME_AS(cudaGraphInstantiateParams, CUDA_GRAPH_INSTANTIATE_PARAMS)
SAME_FIELD(cudaGraphInstantiateParams, uploadStream, CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream) SAME_FIELD(cudaGraphInstantiateParams, result_out, CUDA_GRAPH_INSTANTIATE_PARAMS, result_out)
SAME_AS(cudaGraphExecUpdateResultInfo, CUgraphExecUpdateResultInfo)
SAME_FIELD(cudaGraphExecUpdateResultInfo, errorNode, CUgraphExecUpdateResultInfo, errorNode)
SAME_AS(cudaUUID_t, CUuuid)
// clang-format on

#ifdef LEMMA_HAVE_CUDA_RUNTIME

#define STRUCT(S) static_assert(sizeof(S) == sizeof(::S) && alignof(S) == alignof(::S), #S);
#define FIELD(S, field)                                                                                      \
  static_assert(offsetof(S, field) == offsetof(::S, field) && sizeof(S::field) == sizeof(::S::field),        \
                #S "::" #field);
    // clang-format off
STRUCT(cudaUUID_t)
STRUCT(cudaIpcEventHandle_t)
FIELD(cudaIpcEventHandle_t, reserved)
STRUCT(cudaIpcMemHandle_t)
FIELD(cudaIpcMemHandle_t, reserved)
STRUCT(cudaDeviceProp)
FIELD(cudaDeviceProp, name) FIELD(cudaDeviceProp, uuid) FIELD(cudaDeviceProp, luid) FIELD(cudaDeviceProp, luidDeviceNodeMask) FIELD(cudaDeviceProp, totalGlobalMem) FIELD(cudaDeviceProp, sharedMemPerBlock) FIELD(cudaDeviceProp, regsPerBlock) FIELD(cudaDeviceProp, warpSize) FIELD(cudaDeviceProp, memPitch) FIELD(cudaDeviceProp, maxThreadsPerBlock) FIELD(cudaDeviceProp, maxThreadsDim) FIELD(cudaDeviceProp, maxGridSize) FIELD(cudaDeviceProp, totalConstMem) FIELD(cudaDeviceProp, major) FIELD(cudaDeviceProp, minor) FIELD(cudaDeviceProp, textureAlignment) FIELD(cudaDeviceProp, texturePitchAlignment) FIELD(cudaDeviceProp, multiProcessorCount) FIELD(cudaDeviceProp, integrated) FIELD(cudaDeviceProp, canMapHostMemory) FIELD(cudaDeviceProp, maxTexture1D) FIELD(cudaDeviceProp, maxTexture1DMipmap) FIELD(cudaDeviceProp, maxTexture2D) FIELD(cudaDeviceProp, maxTexture2DMipmap) FIELD(cudaDeviceProp, maxTexture2DLinear) FIELD(cudaDeviceProp, maxTexture2DGather) FIELD(cudaDeviceProp, maxTexture3D) FIELD(cudaDeviceProp, maxTexture3DAlt) FIELD(cudaDeviceProp, maxTextureCubemap) FIELD(cudaDeviceProp, maxTexture1DLayered) FIELD(cudaDeviceProp, maxTexture2DLayered) FIELD(cudaDeviceProp, maxTextureCubemapLayered) FIELD(cudaDeviceProp, maxSurface1D) FIELD(cudaDeviceProp, maxSurface2D) FIELD(cudaDeviceProp, maxSurface3D) FIELD(cudaDeviceProp, maxSurface1DLayered) FIELD(cudaDeviceProp, maxSurface2DLayered) FIELD(cudaDeviceProp, maxSurfaceCubemap) FIELD(cudaDeviceProp, maxSurfaceCubemapLayered) FIELD(cudaDeviceProp, surfaceAlignment) FIELD(cudaDeviceProp, concurrentKernels) FIELD(cudaDeviceProp, ECCEnabled) FIELD(cudaDeviceProp, pciBusID) FIELD(cudaDeviceProp, pciDeviceID) FIELD(cudaDeviceProp, pciDomainID) FIELD(cudaDeviceProp, tccDriver) FIELD(cudaDeviceProp, asyncEngineCount) FIELD(cudaDeviceProp, unifiedAddressing) FIELD(cudaDeviceProp, memoryBusWidth) FIELD(cudaDeviceProp, l2CacheSize) FIELD(cudaDeviceProp, persistingL2CacheMaxSize) FIELD(cudaDeviceProp, maxThreadsPerMultiProcessor) FIELD(cudaDeviceProp, streamPrioritiesSupported) FIELD(cudaDeviceProp, globalL1CacheSupported) FIELD(cudaDeviceProp, localL1CacheSupported) FIELD(cudaDeviceProp, sharedMemPerMultiprocessor) FIELD(cudaDeviceProp, regsPerMultiprocessor) FIELD(cudaDeviceProp, managedMemory) FIELD(cudaDeviceProp, isMultiGpuBoard) FIELD(cudaDeviceProp, multiGpuBoardGroupID) FIELD(cudaDeviceProp, hostNativeAtomicSupported) FIELD(cudaDeviceProp, pageableMemoryAccess) FIELD(cudaDeviceProp, concurrentManagedAccess) FIELD(cudaDeviceProp, computePreemptionSupported) FIELD(cudaDeviceProp, canUseHostPointerForRegisteredMem) FIELD(cudaDeviceProp, cooperativeLaunch) FIELD(cudaDeviceProp, sharedMemPerBlockOptin) FIELD(cudaDeviceProp, pageableMemoryAccessUsesHostPageTables) FIELD(cudaDeviceProp, directManagedMemAccessFromHost) FIELD(cudaDeviceProp, maxBlocksPerMultiProcessor) FIELD(cudaDeviceProp, accessPolicyMaxWindowSize) FIELD(cudaDeviceProp, reservedSharedMemPerBlock) FIELD(cudaDeviceProp, hostRegisterSupported) FIELD(cudaDeviceProp, sparseCudaArraySupported) FIELD(cudaDeviceProp, hostRegisterReadOnlySupported) FIELD(cudaDeviceProp, timelineSemaphoreInteropSupported) FIELD(cudaDeviceProp, memoryPoolsSupported) FIELD(cudaDeviceProp, gpuDirectRDMASupported) FIELD(cudaDeviceProp, gpuDirectRDMAFlushWritesOptions) FIELD(cudaDeviceProp, gpuDirectRDMAWritesOrdering) FIELD(cudaDeviceProp, memoryPoolSupportedHandleTypes) FIELD(cudaDeviceProp, deferredMappingCudaArraySupported) FIELD(cudaDeviceProp, ipcEventSupported) FIELD(cudaDeviceProp, clusterLaunch) FIELD(cudaDeviceProp, unifiedFunctionPointers) FIELD(cudaDeviceProp, deviceNumaConfig) FIELD(cudaDeviceProp, deviceNumaId) FIELD(cudaDeviceProp, mpsEnabled) FIELD(cudaDeviceProp, hostNumaId) FIELD(cudaDeviceProp, gpuPciDeviceID) FIELD(cudaDeviceProp, gpuPciSubsystemID) FIELD(cudaDeviceProp, hostNumaMultinodeIpcSupported) FIELD(cudaDeviceProp, reserved)
STRUCT(cudaFuncAttributes)
FIELD(cudaFuncAttributes, sharedSizeBytes) FIELD(cudaFuncAttributes, constSizeBytes) FIELD(cudaFuncAttributes, localSizeBytes) FIELD(cudaFuncAttributes, maxThreadsPerBlock) FIELD(cudaFuncAttributes, numRegs) FIELD(cudaFuncAttributes, ptxVersion) FIELD(cudaFuncAttributes, binaryVersion) FIELD(cudaFuncAttributes, cacheModeCA) FIELD(cudaFuncAttributes, maxDynamicSharedSizeBytes) FIELD(cudaFuncAttributes, preferredShmemCarveout) FIELD(cudaFuncAttributes, clusterDimMustBeSet) FIELD(cudaFuncAttributes, requiredClusterWidth) FIELD(cudaFuncAttributes, requiredClusterHeight) FIELD(cudaFuncAttributes, requiredClusterDepth) FIELD(cudaFuncAttributes, clusterSchedulingPolicyPreference) FIELD(cudaFuncAttributes, nonPortableClusterSizeAllowed) FIELD(cudaFuncAttributes, reserved)
STRUCT(cudaPointerAttributes)
FIELD(cudaPointerAttributes, type) FIELD(cudaPointerAttributes, device) FIELD(cudaPointerAttributes, devicePointer) FIELD(cudaPointerAttributes, hostPointer) FIELD(cudaPointerAttributes, reserved)
STRUCT(cudaAccessPolicyWindow)
FIELD(cudaAccessPolicyWindow, base_ptr) FIELD(cudaAccessPolicyWindow, num_bytes) FIELD(cudaAccessPolicyWindow, hitRatio) FIELD(cudaAccessPolicyWindow, hitProp) FIELD(cudaAccessPolicyWindow, missProp)
STRUCT(cudaLaunchMemSyncDomainMap)
FIELD(cudaLaunchMemSyncDomainMap, default_) FIELD(cudaLaunchMemSyncDomainMap, remote)
STRUCT(cudaLaunchAttributeValue)
FIELD(cudaLaunchAttributeValue, pad) FIELD(cudaLaunchAttributeValue, accessPolicyWindow) FIELD(cudaLaunchAttributeValue, cooperative) FIELD(cudaLaunchAttributeValue, syncPolicy) FIELD(cudaLaunchAttributeValue, clusterDim) FIELD(cudaLaunchAttributeValue, clusterSchedulingPolicyPreference) FIELD(cudaLaunchAttributeValue, programmaticStreamSerializationAllowed) FIELD(cudaLaunchAttributeValue, programmaticEvent) FIELD(cudaLaunchAttributeValue, priority) FIELD(cudaLaunchAttributeValue, memSyncDomainMap) FIELD(cudaLaunchAttributeValue, memSyncDomain) FIELD(cudaLaunchAttributeValue, preferredClusterDim) FIELD(cudaLaunchAttributeValue, launchCompletionEvent) FIELD(cudaLaunchAttributeValue, deviceUpdatableKernelNode) FIELD(cudaLaunchAttributeValue, sharedMemCarveout) FIELD(cudaLaunchAttributeValue, nvlinkUtilCentricScheduling)
STRUCT(cudaLaunchAttribute)
FIELD(cudaLaunchAttribute, id) FIELD(cudaLaunchAttribute, pad) FIELD(cudaLaunchAttribute, val)
STRUCT(cudaLaunchConfig_t)
FIELD(cudaLaunchConfig_t, gridDim) FIELD(cudaLaunchConfig_t, blockDim) FIELD(cudaLaunchConfig_t, dynamicSmemBytes) FIELD(cudaLaunchConfig_t, stream) FIELD(cudaLaunchConfig_t, attrs) FIELD(cudaLaunchConfig_t, numAttrs)
STRUCT(cudaPitchedPtr)
FIELD(cudaPitchedPtr, ptr) FIELD(cudaPitchedPtr, pitch) FIELD(cudaPitchedPtr, xsize) FIELD(cudaPitchedPtr, ysize)
STRUCT(cudaExtent)
FIELD(cudaExtent, width) FIELD(cudaExtent, height) FIELD(cudaExtent, depth)
STRUCT(cudaPos)
FIELD(cudaPos, x) FIELD(cudaPos, y) FIELD(cudaPos, z)
STRUCT(cudaMemcpy3DParms)
FIELD(cudaMemcpy3DParms, srcArray) FIELD(cudaMemcpy3DParms, srcPos) FIELD(cudaMemcpy3DParms, srcPtr) FIELD(cudaMemcpy3DParms, dstArray) FIELD(cudaMemcpy3DParms, dstPos) FIELD(cudaMemcpy3DParms, dstPtr) FIELD(cudaMemcpy3DParms, extent) FIELD(cudaMemcpy3DParms, kind)
STRUCT(cudaMemcpy3DPeerParms)
FIELD(cudaMemcpy3DPeerParms, srcArray) FIELD(cudaMemcpy3DPeerParms, srcPos) FIELD(cudaMemcpy3DPeerParms, srcPtr) FIELD(cudaMemcpy3DPeerParms, srcDevice) FIELD(cudaMemcpy3DPeerParms, dstArray) FIELD(cudaMemcpy3DPeerParms, dstPos) FIELD(cudaMemcpy3DPeerParms, dstPtr) FIELD(cudaMemcpy3DPeerParms, dstDevice) FIELD(cudaMemcpy3DPeerParms, extent)
STRUCT(cudaMemsetParams)
FIELD(cudaMemsetParams, dst) FIELD(cudaMemsetParams, pitch) FIELD(cudaMemsetParams, value) FIELD(cudaMemsetParams, elementSize) FIELD(cudaMemsetParams, width) FIELD(cudaMemsetParams, height)
STRUCT(cudaMemLocation)
FIELD(cudaMemLocation, type) FIELD(cudaMemLocation, id)
STRUCT(cudaMemAccessDesc)
FIELD(cudaMemAccessDesc, location) FIELD(cudaMemAccessDesc, flags)
STRUCT(cudaMemPoolProps)
FIELD(cudaMemPoolProps, allocType) FIELD(cudaMemPoolProps, handleTypes) FIELD(cudaMemPoolProps, location) FIELD(cudaMemPoolProps, win32SecurityAttributes) FIELD(cudaMemPoolProps, maxSize) FIELD(cudaMemPoolProps, usage) FIELD(cudaMemPoolProps, reserved)
STRUCT(cudaMemcpyAttributes)
FIELD(cudaMemcpyAttributes, srcAccessOrder) FIELD(cudaMemcpyAttributes, srcLocHint) FIELD(cudaMemcpyAttributes, dstLocHint) FIELD(cudaMemcpyAttributes, flags)
STRUCT(cudaChannelFormatDesc)
FIELD(cudaChannelFormatDesc, x) FIELD(cudaChannelFormatDesc, y) FIELD(cudaChannelFormatDesc, z) FIELD(cudaChannelFormatDesc, w) FIELD(cudaChannelFormatDesc, f)
STRUCT(cudaResourceDesc)
FIELD(cudaResourceDesc, resType) FIELD(cudaResourceDesc, res) FIELD(cudaResourceDesc, flags)
STRUCT(cudaResourceViewDesc)
FIELD(cudaResourceViewDesc, format) FIELD(cudaResourceViewDesc, width) FIELD(cudaResourceViewDesc, height) FIELD(cudaResourceViewDesc, depth) FIELD(cudaResourceViewDesc, firstMipmapLevel) FIELD(cudaResourceViewDesc, lastMipmapLevel) FIELD(cudaResourceViewDesc, firstLayer) FIELD(cudaResourceViewDesc, lastLayer) FIELD(cudaResourceViewDesc, reserved)
STRUCT(cudaTextureDesc)
FIELD(cudaTextureDesc, addressMode) FIELD(cudaTextureDesc, filterMode) FIELD(cudaTextureDesc, readMode) FIELD(cudaTextureDesc, sRGB) FIELD(cudaTextureDesc, borderColor) FIELD(cudaTextureDesc, normalizedCoords) FIELD(cudaTextureDesc, maxAnisotropy) FIELD(cudaTextureDesc, mipmapFilterMode) FIELD(cudaTextureDesc, mipmapLevelBias) FIELD(cudaTextureDesc, minMipmapLevelClamp) FIELD(cudaTextureDesc, maxMipmapLevelClamp) FIELD(cudaTextureDesc, disableTrilinearOptimization) FIELD(cudaTextureDesc, seamlessCubemap)
STRUCT(cudaGraphEdgeData)
FIELD(cudaGraphEdgeData, from_port) FIELD(cudaGraphEdgeData, to_port) FIELD(cudaGraphEdgeData, type) FIELD(cudaGraphEdgeData, reserved)
STRUCT(cudaKernelNodeParams)
FIELD(cudaKernelNodeParams, func) FIELD(cudaKernelNodeParams, gridDim) FIELD(cudaKernelNodeParams, blockDim) FIELD(cudaKernelNodeParams, sharedMemBytes) FIELD(cudaKernelNodeParams, kernelParams) FIELD(cudaKernelNodeParams, extra)
STRUCT(cudaHostNodeParams)
FIELD(cudaHostNodeParams, fn) FIELD(cudaHostNodeParams, userData)
STRUCT(cudaMemcpyNodeParams)
FIELD(cudaMemcpyNodeParams, flags) FIELD(cudaMemcpyNodeParams, reserved) FIELD(cudaMemcpyNodeParams, copyParams)
STRUCT(cudaMemAllocNodeParams)
FIELD(cudaMemAllocNodeParams, poolProps) FIELD(cudaMemAllocNodeParams, accessDescs) FIELD(cudaMemAllocNodeParams, accessDescCount) FIELD(cudaMemAllocNodeParams, bytesize) FIELD(cudaMemAllocNodeParams, dptr)
STRUCT(cudaMemFreeNodeParams)
FIELD(cudaMemFreeNodeParams, dptr)
STRUCT(cudaChildGraphNodeParams)
FIELD(cudaChildGraphNodeParams, graph) FIELD(cudaChildGraphNodeParams, ownership)
STRUCT(cudaEventRecordNodeParams)
FIELD(cudaEventRecordNodeParams, event)
STRUCT(cudaEventWaitNodeParams)
FIELD(cudaEventWaitNodeParams, event)
STRUCT(cudaConditionalNodeParams)
FIELD(cudaConditionalNodeParams, handle) FIELD(cudaConditionalNodeParams, type) FIELD(cudaConditionalNodeParams, size) FIELD(cudaConditionalNodeParams, phGraph_out)
STRUCT(cudaGraphNodeParams)
FIELD(cudaGraphNodeParams, type) FIELD(cudaGraphNodeParams, kernel) FIELD(cudaGraphNodeParams, memcpy) FIELD(cudaGraphNodeParams, memset) FIELD(cudaGraphNodeParams, host) FIELD(cudaGraphNodeParams, graph) FIELD(cudaGraphNodeParams, eventWait) FIELD(cudaGraphNodeParams, eventRecord) FIELD(cudaGraphNodeParams, alloc) FIELD(cudaGraphNodeParams, free) FIELD(cudaGraphNodeParams, conditional) FIELD(cudaGraphNodeParams, reserved2)
STRUCT(cudaGraphInstantiateParams)
FIELD(cudaGraphInstantiateParams, flags) FIELD(cudaGraphInstantiateParams, uploadStream) FIELD(cudaGraphInstantiateParams, errNode_out) FIELD(cudaGraphInstantiateParams, result_out)
STRUCT(cudaGraphExecUpdateResultInfo)
FIELD(cudaGraphExecUpdateResultInfo, result) FIELD(cudaGraphExecUpdateResultInfo, errorNode) FIELD(cudaGraphExecUpdateResultInfo, errorFromNode)
    // clang-format on
    static_assert(sizeof(dim3) == sizeof(::dim3) && sizeof(uint3) == sizeof(::uint3));

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // of which there are some
#define IMPLEMENTED(result, symbol, parameters)                                                              \
  static_assert(SameCall<result(*) parameters, decltype(&::symbol)>::value, #symbol);
#define REFUSED(result, symbol, parameters) IMPLEMENTED(result, symbol, parameters)
#define PER_THREAD(result, symbol, parameters, arguments, base)
#define UNDECLARED(symbol)
#include "cudart/functions.def"
#endif
} // namespace ours

#ifdef LEMMA_HAVE_CUDA_RUNTIME
TEST(CudartAbi, AgreesWithTheToolkit) {
  EXPECT_EQ(CUDART_VERSION, 13000);
}
#else
TEST(CudartAbi, AgreesWithTheToolkit) {
  GTEST_SKIP()
      << "no cuda_runtime_api.h of CUDA 13.0 on this machine: types and signatures were not compared";
}
#endif
