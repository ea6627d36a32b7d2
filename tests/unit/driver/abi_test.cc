// src/driver/types.h and entry_points.def against cuda.h and cudaTypedefs.h, where a CUDA toolkit is
// installed: layouts, and how every symbol of the table is called. The compiler checks it; the test says
// whether that happened. Numbers of enumerators: scripts/driver_entry_points.py --check (driver.headers).
#include <gtest/gtest.h>

#include "../same_call.h"

#ifdef LEMMA_HAVE_CUDA_H
#define __CUDA_API_VERSION_INTERNAL // signatures of older versions, too
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include <cstddef>
#include <cstdint>

namespace ours {

#include "driver/types.h"

#define IMPLEMENTED(name, version, symbol, parameters)                                                       \
  static_assert(SameCall<CUresult(*) parameters, PFN_##name##_v##version>::value, #symbol);
#define REFUSED(name, version, symbol, parameters, error) IMPLEMENTED(name, version, symbol, parameters)
#define PER_THREAD(name, version, variant, symbol, parameters, arguments, base)                              \
  static_assert(SameCall<CUresult(*) parameters, PFN_##name##_v##version##variant>::value, #symbol);
#include "driver/entry_points.def"

#define STRUCT(S) static_assert(sizeof(S) == sizeof(::S) && alignof(S) == alignof(::S), #S);
#define FIELD(S, field)                                                                                      \
  static_assert(offsetof(S, field) == offsetof(::S, field) && sizeof(S::field) == sizeof(::S::field),        \
                #S "::" #field);
// clang-format off
STRUCT(CUuuid)
FIELD(CUuuid, bytes)
STRUCT(CUipcEventHandle)
FIELD(CUipcEventHandle, reserved)
STRUCT(CUipcMemHandle)
FIELD(CUipcMemHandle, reserved)
STRUCT(CUdevprop)
FIELD(CUdevprop, maxThreadsPerBlock) FIELD(CUdevprop, maxThreadsDim) FIELD(CUdevprop, maxGridSize) FIELD(CUdevprop, sharedMemPerBlock) FIELD(CUdevprop, totalConstantMemory) FIELD(CUdevprop, SIMDWidth) FIELD(CUdevprop, memPitch) FIELD(CUdevprop, regsPerBlock) FIELD(CUdevprop, clockRate) FIELD(CUdevprop, textureAlign)
STRUCT(CUexecAffinitySmCount)
FIELD(CUexecAffinitySmCount, val)
STRUCT(CUexecAffinityParam)
FIELD(CUexecAffinityParam, type) FIELD(CUexecAffinityParam, param)
STRUCT(CUctxCreateParams)
FIELD(CUctxCreateParams, execAffinityParams) FIELD(CUctxCreateParams, numExecAffinityParams) FIELD(CUctxCreateParams, cigParams)
STRUCT(CUaccessPolicyWindow)
FIELD(CUaccessPolicyWindow, base_ptr) FIELD(CUaccessPolicyWindow, num_bytes) FIELD(CUaccessPolicyWindow, hitRatio) FIELD(CUaccessPolicyWindow, hitProp) FIELD(CUaccessPolicyWindow, missProp)
STRUCT(CUlaunchMemSyncDomainMap)
FIELD(CUlaunchMemSyncDomainMap, default_) FIELD(CUlaunchMemSyncDomainMap, remote)
STRUCT(CUlaunchAttributeValue)
FIELD(CUlaunchAttributeValue, pad) FIELD(CUlaunchAttributeValue, accessPolicyWindow) FIELD(CUlaunchAttributeValue, cooperative) FIELD(CUlaunchAttributeValue, syncPolicy) FIELD(CUlaunchAttributeValue, clusterDim) FIELD(CUlaunchAttributeValue, clusterSchedulingPolicyPreference) FIELD(CUlaunchAttributeValue, programmaticStreamSerializationAllowed) FIELD(CUlaunchAttributeValue, programmaticEvent) FIELD(CUlaunchAttributeValue, launchCompletionEvent) FIELD(CUlaunchAttributeValue, priority) FIELD(CUlaunchAttributeValue, memSyncDomainMap) FIELD(CUlaunchAttributeValue, memSyncDomain) FIELD(CUlaunchAttributeValue, preferredClusterDim) FIELD(CUlaunchAttributeValue, deviceUpdatableKernelNode) FIELD(CUlaunchAttributeValue, sharedMemCarveout) FIELD(CUlaunchAttributeValue, nvlinkUtilCentricScheduling)
STRUCT(CUlaunchAttribute)
FIELD(CUlaunchAttribute, id) FIELD(CUlaunchAttribute, pad) FIELD(CUlaunchAttribute, value)
STRUCT(CUlaunchConfig)
FIELD(CUlaunchConfig, gridDimX) FIELD(CUlaunchConfig, gridDimY) FIELD(CUlaunchConfig, gridDimZ) FIELD(CUlaunchConfig, blockDimX) FIELD(CUlaunchConfig, blockDimY) FIELD(CUlaunchConfig, blockDimZ) FIELD(CUlaunchConfig, sharedMemBytes) FIELD(CUlaunchConfig, hStream) FIELD(CUlaunchConfig, attrs) FIELD(CUlaunchConfig, numAttrs)
STRUCT(CUDA_MEMCPY2D)
FIELD(CUDA_MEMCPY2D, srcXInBytes) FIELD(CUDA_MEMCPY2D, srcY) FIELD(CUDA_MEMCPY2D, srcMemoryType) FIELD(CUDA_MEMCPY2D, srcHost) FIELD(CUDA_MEMCPY2D, srcDevice) FIELD(CUDA_MEMCPY2D, srcArray) FIELD(CUDA_MEMCPY2D, srcPitch) FIELD(CUDA_MEMCPY2D, dstXInBytes) FIELD(CUDA_MEMCPY2D, dstY) FIELD(CUDA_MEMCPY2D, dstMemoryType) FIELD(CUDA_MEMCPY2D, dstHost) FIELD(CUDA_MEMCPY2D, dstDevice) FIELD(CUDA_MEMCPY2D, dstArray) FIELD(CUDA_MEMCPY2D, dstPitch) FIELD(CUDA_MEMCPY2D, WidthInBytes) FIELD(CUDA_MEMCPY2D, Height)
STRUCT(CUDA_ARRAY_DESCRIPTOR)
FIELD(CUDA_ARRAY_DESCRIPTOR, Width) FIELD(CUDA_ARRAY_DESCRIPTOR, Height) FIELD(CUDA_ARRAY_DESCRIPTOR, Format) FIELD(CUDA_ARRAY_DESCRIPTOR, NumChannels)
STRUCT(CUDA_ARRAY3D_DESCRIPTOR)
FIELD(CUDA_ARRAY3D_DESCRIPTOR, Width) FIELD(CUDA_ARRAY3D_DESCRIPTOR, Depth) FIELD(CUDA_ARRAY3D_DESCRIPTOR, Format) FIELD(CUDA_ARRAY3D_DESCRIPTOR, NumChannels) FIELD(CUDA_ARRAY3D_DESCRIPTOR, Flags)
STRUCT(CUDA_RESOURCE_DESC)
FIELD(CUDA_RESOURCE_DESC, resType) FIELD(CUDA_RESOURCE_DESC, res.array.hArray) FIELD(CUDA_RESOURCE_DESC, res.linear.format) FIELD(CUDA_RESOURCE_DESC, res.linear.sizeInBytes) FIELD(CUDA_RESOURCE_DESC, res.pitch2D.width) FIELD(CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes) FIELD(CUDA_RESOURCE_DESC, flags)
STRUCT(CUDA_TEXTURE_DESC)
FIELD(CUDA_TEXTURE_DESC, addressMode) FIELD(CUDA_TEXTURE_DESC, filterMode) FIELD(CUDA_TEXTURE_DESC, flags) FIELD(CUDA_TEXTURE_DESC, maxAnisotropy) FIELD(CUDA_TEXTURE_DESC, maxMipmapLevelClamp) FIELD(CUDA_TEXTURE_DESC, borderColor) FIELD(CUDA_TEXTURE_DESC, reserved)
STRUCT(CUDA_RESOURCE_VIEW_DESC)
FIELD(CUDA_RESOURCE_VIEW_DESC, format) FIELD(CUDA_RESOURCE_VIEW_DESC, width) FIELD(CUDA_RESOURCE_VIEW_DESC, depth) FIELD(CUDA_RESOURCE_VIEW_DESC, lastLayer) FIELD(CUDA_RESOURCE_VIEW_DESC, reserved)
STRUCT(CUDA_MEMCPY3D)
FIELD(CUDA_MEMCPY3D, srcXInBytes) FIELD(CUDA_MEMCPY3D, srcY) FIELD(CUDA_MEMCPY3D, srcZ) FIELD(CUDA_MEMCPY3D, srcLOD) FIELD(CUDA_MEMCPY3D, srcMemoryType) FIELD(CUDA_MEMCPY3D, srcHost) FIELD(CUDA_MEMCPY3D, srcDevice) FIELD(CUDA_MEMCPY3D, srcArray) FIELD(CUDA_MEMCPY3D, reserved0) FIELD(CUDA_MEMCPY3D, srcPitch) FIELD(CUDA_MEMCPY3D, srcHeight) FIELD(CUDA_MEMCPY3D, dstXInBytes) FIELD(CUDA_MEMCPY3D, dstY) FIELD(CUDA_MEMCPY3D, dstZ) FIELD(CUDA_MEMCPY3D, dstLOD) FIELD(CUDA_MEMCPY3D, dstMemoryType) FIELD(CUDA_MEMCPY3D, dstHost) FIELD(CUDA_MEMCPY3D, dstDevice) FIELD(CUDA_MEMCPY3D, dstArray) FIELD(CUDA_MEMCPY3D, reserved1) FIELD(CUDA_MEMCPY3D, dstPitch) FIELD(CUDA_MEMCPY3D, dstHeight) FIELD(CUDA_MEMCPY3D, WidthInBytes) FIELD(CUDA_MEMCPY3D, Height) FIELD(CUDA_MEMCPY3D, Depth)
STRUCT(CUDA_MEMCPY3D_PEER)
FIELD(CUDA_MEMCPY3D_PEER, srcXInBytes) FIELD(CUDA_MEMCPY3D_PEER, srcY) FIELD(CUDA_MEMCPY3D_PEER, srcZ) FIELD(CUDA_MEMCPY3D_PEER, srcLOD) FIELD(CUDA_MEMCPY3D_PEER, srcMemoryType) FIELD(CUDA_MEMCPY3D_PEER, srcHost) FIELD(CUDA_MEMCPY3D_PEER, srcDevice) FIELD(CUDA_MEMCPY3D_PEER, srcArray) FIELD(CUDA_MEMCPY3D_PEER, srcContext) FIELD(CUDA_MEMCPY3D_PEER, srcPitch) FIELD(CUDA_MEMCPY3D_PEER, srcHeight) FIELD(CUDA_MEMCPY3D_PEER, dstXInBytes) FIELD(CUDA_MEMCPY3D_PEER, dstY) FIELD(CUDA_MEMCPY3D_PEER, dstZ) FIELD(CUDA_MEMCPY3D_PEER, dstLOD) FIELD(CUDA_MEMCPY3D_PEER, dstMemoryType) FIELD(CUDA_MEMCPY3D_PEER, dstHost) FIELD(CUDA_MEMCPY3D_PEER, dstDevice) FIELD(CUDA_MEMCPY3D_PEER, dstArray) FIELD(CUDA_MEMCPY3D_PEER, dstContext) FIELD(CUDA_MEMCPY3D_PEER, dstPitch) FIELD(CUDA_MEMCPY3D_PEER, dstHeight) FIELD(CUDA_MEMCPY3D_PEER, WidthInBytes) FIELD(CUDA_MEMCPY3D_PEER, Height) FIELD(CUDA_MEMCPY3D_PEER, Depth)
STRUCT(CUmemLocation)
FIELD(CUmemLocation, type) FIELD(CUmemLocation, id)
STRUCT(CUmemAccessDesc)
FIELD(CUmemAccessDesc, location) FIELD(CUmemAccessDesc, flags)
STRUCT(CUmemAllocationProp)
FIELD(CUmemAllocationProp, type) FIELD(CUmemAllocationProp, requestedHandleTypes) FIELD(CUmemAllocationProp, location) FIELD(CUmemAllocationProp, win32HandleMetaData) FIELD(CUmemAllocationProp, allocFlags)
STRUCT(CUmemPoolProps)
FIELD(CUmemPoolProps, allocType) FIELD(CUmemPoolProps, handleTypes) FIELD(CUmemPoolProps, location) FIELD(CUmemPoolProps, win32SecurityAttributes) FIELD(CUmemPoolProps, maxSize) FIELD(CUmemPoolProps, usage) FIELD(CUmemPoolProps, reserved)
STRUCT(CUmemcpyAttributes)
FIELD(CUmemcpyAttributes, srcAccessOrder) FIELD(CUmemcpyAttributes, srcLocHint) FIELD(CUmemcpyAttributes, dstLocHint) FIELD(CUmemcpyAttributes, flags)
STRUCT(CUgraphEdgeData)
FIELD(CUgraphEdgeData, from_port) FIELD(CUgraphEdgeData, to_port) FIELD(CUgraphEdgeData, type) FIELD(CUgraphEdgeData, reserved)
STRUCT(CUDA_KERNEL_NODE_PARAMS)
FIELD(CUDA_KERNEL_NODE_PARAMS, func) FIELD(CUDA_KERNEL_NODE_PARAMS, gridDimX) FIELD(CUDA_KERNEL_NODE_PARAMS, gridDimY) FIELD(CUDA_KERNEL_NODE_PARAMS, gridDimZ) FIELD(CUDA_KERNEL_NODE_PARAMS, blockDimX) FIELD(CUDA_KERNEL_NODE_PARAMS, blockDimY) FIELD(CUDA_KERNEL_NODE_PARAMS, blockDimZ) FIELD(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes) FIELD(CUDA_KERNEL_NODE_PARAMS, kernelParams) FIELD(CUDA_KERNEL_NODE_PARAMS, extra) FIELD(CUDA_KERNEL_NODE_PARAMS, kern) FIELD(CUDA_KERNEL_NODE_PARAMS, ctx)
STRUCT(CUDA_KERNEL_NODE_PARAMS_v1)
FIELD(CUDA_KERNEL_NODE_PARAMS_v1, func) FIELD(CUDA_KERNEL_NODE_PARAMS_v1, gridDimX) FIELD(CUDA_KERNEL_NODE_PARAMS_v1, gridDimY) FIELD(CUDA_KERNEL_NODE_PARAMS_v1, gridDimZ) FIELD(CUDA_KERNEL_NODE_PARAMS_v1, blockDimX) FIELD(CUDA_KERNEL_NODE_PARAMS_v1, blockDimY) FIELD(CUDA_KERNEL_NODE_PARAMS_v1, blockDimZ) FIELD(CUDA_KERNEL_NODE_PARAMS_v1, sharedMemBytes) FIELD(CUDA_KERNEL_NODE_PARAMS_v1, kernelParams) FIELD(CUDA_KERNEL_NODE_PARAMS_v1, extra)
STRUCT(CUDA_MEMSET_NODE_PARAMS)
FIELD(CUDA_MEMSET_NODE_PARAMS, dst) FIELD(CUDA_MEMSET_NODE_PARAMS, pitch) FIELD(CUDA_MEMSET_NODE_PARAMS, value) FIELD(CUDA_MEMSET_NODE_PARAMS, elementSize) FIELD(CUDA_MEMSET_NODE_PARAMS, width) FIELD(CUDA_MEMSET_NODE_PARAMS, height)
STRUCT(CUDA_HOST_NODE_PARAMS)
FIELD(CUDA_HOST_NODE_PARAMS, fn) FIELD(CUDA_HOST_NODE_PARAMS, userData)
STRUCT(CUDA_MEM_ALLOC_NODE_PARAMS)
FIELD(CUDA_MEM_ALLOC_NODE_PARAMS, poolProps) FIELD(CUDA_MEM_ALLOC_NODE_PARAMS, accessDescs) FIELD(CUDA_MEM_ALLOC_NODE_PARAMS, accessDescCount) FIELD(CUDA_MEM_ALLOC_NODE_PARAMS, bytesize) FIELD(CUDA_MEM_ALLOC_NODE_PARAMS, dptr)
STRUCT(CUDA_GRAPH_INSTANTIATE_PARAMS)
FIELD(CUDA_GRAPH_INSTANTIATE_PARAMS, flags) FIELD(CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream) FIELD(CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out) FIELD(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out)
STRUCT(CUgraphExecUpdateResultInfo)
FIELD(CUgraphExecUpdateResultInfo, result) FIELD(CUgraphExecUpdateResultInfo, errorNode) FIELD(CUgraphExecUpdateResultInfo, errorFromNode)
STRUCT(CUtensorMap)
FIELD(CUtensorMap, opaque)
// clang-format on

} // namespace ours

TEST(DriverAbi, AgreesWithTheToolkit) {
  EXPECT_GE(CUDA_VERSION, 13000);
}
#else
TEST(DriverAbi, AgreesWithTheToolkit) {
  GTEST_SKIP()
      << "no cuda.h of CUDA 13.0 on this machine: the driver's types and signatures were not compared";
}
#endif
