// Nodes of graphs: adding them, and what they do, in a graph or in its executable copy. A node's operation
// goes to the driver through one function a kind, whatever the program is about to do with it.
#include "cudart/api.h"
#include "cudart/call.h"
#include "cudart/copy.h"
#include "cudart/registration.h"

#include <cstring>

namespace lemma::cudart {
namespace {

// What is before a node that is added.
struct Before {
  cudaGraph_t graph;
  const cudaGraphNode_t* dependencies;
  size_t count;
};

CUcontext current(const Driver& driver) {
  CUcontext context = nullptr;
  driver.cuCtxGetCurrent(&context);
  return context;
}

cudaError_t kernel_to_driver(const Driver& driver, const cudaKernelNodeParams& from,
                             CUDA_KERNEL_NODE_PARAMS& to) {
  CUfunction function = nullptr;
  if (const cudaError_t error = find_kernel(driver, from.func, function); error != cudaSuccess)
    return error == cudaErrorSymbolNotFound ? cudaErrorInvalidResourceHandle : error; // as on an H200
  to = {.func = function,
        .gridDimX = from.gridDim.x,
        .gridDimY = from.gridDim.y,
        .gridDimZ = from.gridDim.z,
        .blockDimX = from.blockDim.x,
        .blockDimY = from.blockDim.y,
        .blockDimZ = from.blockDim.z,
        .sharedMemBytes = from.sharedMemBytes,
        .kernelParams = from.kernelParams,
        .extra = from.extra,
        .kern = nullptr,
        .ctx = nullptr};
  return cudaSuccess;
}

// Body: CUresult(const Driver&, const CUDA_KERNEL_NODE_PARAMS&).
template <class Body>
cudaError_t with_kernel(const cudaKernelNodeParams* from, Body&& body) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_KERNEL_NODE_PARAMS parameters;
    const cudaError_t error = from ? kernel_to_driver(driver, *from, parameters) : cudaErrorInvalidValue;
    return error == cudaSuccess ? error_of(body(driver, parameters)) : error;
  });
}

// Body: CUresult(const Driver&, const CUDA_MEMCPY3D&).
template <class Body>
cudaError_t with_copy(const cudaMemcpy3DParms* from, Body&& body) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_MEMCPY3D parameters;
    const cudaError_t error = from ? to_driver(driver, *from, parameters) : cudaErrorInvalidValue;
    return error == cudaSuccess ? error_of(body(driver, parameters)) : error;
  });
}

cudaError_t add_copy(cudaGraphNode_t* node, const Before& before, const cudaMemcpy3DParms* parameters) {
  return with_copy(parameters, [&](const Driver& driver, const CUDA_MEMCPY3D& p) {
    return driver.cuGraphAddMemcpyNode(node, before.graph, before.dependencies, before.count, &p,
                                       current(driver));
  });
}

// In the executable copy, if there is one, else in the graph.
cudaError_t set_copy(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemcpy3DParms* parameters) {
  return with_copy(parameters, [&](const Driver& driver, const CUDA_MEMCPY3D& p) {
    return exec ? driver.cuGraphExecMemcpyNodeSetParams(exec, node, &p, current(driver))
                : driver.cuGraphMemcpyNodeSetParams(node, &p);
  });
}

cudaError_t set_row(cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                    cudaMemcpyKind kind) {
  const cudaMemcpy3DParms parameters = row(to, from, bytes, kind);
  return set_copy(exec, node, &parameters);
}

// Parameters of any kind: kernels, copies and fills say more to the driver, the rest lies the same.
cudaError_t node_to_driver(const Driver& driver, const cudaGraphNodeParams& from, CUgraphNodeParams& to) {
  static_assert(sizeof from == sizeof to);
  std::memcpy(&to, &from, sizeof to);
  switch (from.type) {
  case cudaGraphNodeTypeKernel:
    return kernel_to_driver(driver, from.kernel, to.kernel);
  case cudaGraphNodeTypeMemcpy:
    to.memcpy = {};
    to.memcpy.flags = from.memcpy.flags;
    to.memcpy.copyCtx = current(driver);
    return to_driver(driver, from.memcpy.copyParams, to.memcpy.copyParams);
  case cudaGraphNodeTypeMemset:
    to.memset.ctx = current(driver);
    return cudaSuccess;
  default:
    return cudaSuccess;
  }
}

// Body: CUresult(const Driver&, CUgraphNodeParams&).
template <class Body>
cudaError_t with_parameters(const cudaGraphNodeParams* from, Body&& body) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUgraphNodeParams parameters;
    const cudaError_t error = from ? node_to_driver(driver, *from, parameters) : cudaErrorInvalidValue;
    return error == cudaSuccess ? error_of(body(driver, parameters)) : error;
  });
}

} // namespace
} // namespace lemma::cudart

using namespace lemma::cudart;

// --- kernels

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaKernelNodeParams* parameters) {
  return with_kernel(parameters, [&](const Driver& driver, const CUDA_KERNEL_NODE_PARAMS& p) {
    return driver.cuGraphAddKernelNode_v2(node, graph, dependencies, count, &p);
  });
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  return with_kernel(parameters, [&](const Driver& driver, const CUDA_KERNEL_NODE_PARAMS& p) {
    return driver.cuGraphKernelNodeSetParams_v2(node, &p);
  });
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  return with_kernel(parameters, [&](const Driver& driver, const CUDA_KERNEL_NODE_PARAMS& p) {
    return driver.cuGraphExecKernelNodeSetParams_v2(exec, node, &p);
  });
}
// The kernel is given back as the program named it.
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_KERNEL_NODE_PARAMS p{};
    if (!parameters)
      return cudaErrorInvalidValue;
    if (const CUresult status = driver.cuGraphKernelNodeGetParams_v2(node, &p); status != CUDA_SUCCESS)
      return error_of(status);
    *parameters = {.func = p.kern ? host_function_of(p.kern) : p.func,
                   .gridDim = {p.gridDimX, p.gridDimY, p.gridDimZ},
                   .blockDim = {p.blockDimX, p.blockDimY, p.blockDimZ},
                   .sharedMemBytes = p.sharedMemBytes,
                   .kernelParams = p.kernelParams,
                   .extra = p.extra};
    return cudaSuccess;
  });
}
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            cudaLaunchAttributeValue* value) {
  return pass(&Driver::cuGraphKernelNodeGetAttribute, node, attribute, value);
}
cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            const cudaLaunchAttributeValue* value) {
  return pass(&Driver::cuGraphKernelNodeSetAttribute, node, attribute, value);
}
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  return pass(&Driver::cuGraphKernelNodeCopyAttributes, to, from);
}

// --- copies

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemcpy3DParms* parameters) {
  return add_copy(node, {graph, dependencies, count}, parameters);
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count, void* to,
                                     const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaMemcpy3DParms parameters = row(to, from, bytes, kind);
  return add_copy(node, {graph, dependencies, count}, &parameters);
}
cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies, size_t count,
                                           const void* symbol, const void* from, size_t bytes, size_t offset,
                                           cudaMemcpyKind kind) {
  return in_variable(symbol, bytes, offset, [&](const Driver&, void* at) {
    return cudaGraphAddMemcpyNode1D(node, graph, dependencies, count, at, from, bytes, kind);
  });
}
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies, size_t count, void* to,
                                             const void* symbol, size_t bytes, size_t offset,
                                             cudaMemcpyKind kind) {
  return in_variable(symbol, bytes, offset, [&](const Driver&, void* at) {
    return cudaGraphAddMemcpyNode1D(node, graph, dependencies, count, to, at, bytes, kind);
  });
}
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* parameters) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_MEMCPY3D p{};
    if (!parameters)
      return cudaErrorInvalidValue;
    const CUresult status = driver.cuGraphMemcpyNodeGetParams(node, &p);
    if (status == CUDA_SUCCESS)
      *parameters = from_driver(driver, p);
    return error_of(status);
  });
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* parameters) {
  return set_copy(nullptr, node, parameters);
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                           cudaMemcpyKind kind) {
  return set_row(nullptr, node, to, from, bytes, kind);
}
cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol, const void* from,
                                                 size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return in_variable(symbol, bytes, offset,
                     [&](const Driver&, void* at) { return set_row(nullptr, node, at, from, bytes, kind); });
}
cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* to, const void* symbol,
                                                   size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return in_variable(symbol, bytes, offset,
                     [&](const Driver&, void* at) { return set_row(nullptr, node, to, at, bytes, kind); });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* parameters) {
  return exec ? set_copy(exec, node, parameters) : record(cudaErrorInvalidValue);
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                               const void* from, size_t bytes, cudaMemcpyKind kind) {
  return exec ? set_row(exec, node, to, from, bytes, kind) : record(cudaErrorInvalidValue);
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                     const void* symbol, const void* from, size_t bytes,
                                                     size_t offset, cudaMemcpyKind kind) {
  return in_variable(symbol, bytes, offset, [&](const Driver&, void* at) {
    return cudaGraphExecMemcpyNodeSetParams1D(exec, node, at, from, bytes, kind);
  });
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                                       const void* symbol, size_t bytes, size_t offset,
                                                       cudaMemcpyKind kind) {
  return in_variable(symbol, bytes, offset, [&](const Driver&, void* at) {
    return cudaGraphExecMemcpyNodeSetParams1D(exec, node, to, at, bytes, kind);
  });
}

// --- fills

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemsetParams* parameters) {
  return in_context([&](const Driver& driver) {
    return call(driver, &Driver::cuGraphAddMemsetNode, node, graph, dependencies, count, parameters,
                current(driver));
  });
}
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* parameters) {
  return pass(&Driver::cuGraphMemsetNodeGetParams, node, parameters);
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* parameters) {
  return pass(&Driver::cuGraphMemsetNodeSetParams, node, parameters);
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* parameters) {
  return in_context([&](const Driver& driver) {
    return call(driver, &Driver::cuGraphExecMemsetNodeSetParams, exec, node, parameters, current(driver));
  });
}

// --- functions of the host

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, size_t count,
                                 const cudaHostNodeParams* parameters) {
  return pass(&Driver::cuGraphAddHostNode, node, graph, dependencies, count, parameters);
}
cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* parameters) {
  return pass(&Driver::cuGraphHostNodeGetParams, node, parameters);
}
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* parameters) {
  return pass(&Driver::cuGraphHostNodeSetParams, node, parameters);
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* parameters) {
  return pass(&Driver::cuGraphExecHostNodeSetParams, exec, node, parameters);
}

// --- graphs in graphs, events, nothing

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, size_t count) {
  return pass(&Driver::cuGraphAddEmptyNode, node, graph, dependencies, count);
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, size_t count, cudaGraph_t child) {
  return pass(&Driver::cuGraphAddChildGraphNode, node, graph, dependencies, count, child);
}
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  return pass(&Driver::cuGraphChildGraphNodeGetGraph, node, graph);
}
cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 cudaGraph_t child) {
  return pass(&Driver::cuGraphExecChildGraphNodeSetParams, exec, node, child);
}
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* dependencies, size_t count,
                                        cudaEvent_t event) {
  return pass(&Driver::cuGraphAddEventRecordNode, node, graph, dependencies, count, event);
}
cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return pass(&Driver::cuGraphEventRecordNodeGetEvent, node, event);
}
cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return pass(&Driver::cuGraphEventRecordNodeSetEvent, node, event);
}
cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 cudaEvent_t event) {
  return pass(&Driver::cuGraphExecEventRecordNodeSetEvent, exec, node, event);
}
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* dependencies, size_t count, cudaEvent_t event) {
  return pass(&Driver::cuGraphAddEventWaitNode, node, graph, dependencies, count, event);
}
cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return pass(&Driver::cuGraphEventWaitNodeGetEvent, node, event);
}
cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return pass(&Driver::cuGraphEventWaitNodeSetEvent, node, event);
}
cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                               cudaEvent_t event) {
  return pass(&Driver::cuGraphExecEventWaitNodeSetEvent, exec, node, event);
}

// --- memory

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count,
                                     cudaMemAllocNodeParams* parameters) {
  return pass(&Driver::cuGraphAddMemAllocNode, node, graph, dependencies, count, parameters);
}
cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* parameters) {
  return pass(&Driver::cuGraphMemAllocNodeGetParams, node, parameters);
}
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* dependencies, size_t count, void* address) {
  return pass(&Driver::cuGraphAddMemFreeNode, node, graph, dependencies, count, address);
}
cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* address) {
  return pass(&Driver::cuGraphMemFreeNodeGetParams, node, static_cast<CUdeviceptr*>(address));
}

// --- of any kind

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData* edges, size_t count, cudaGraphNodeParams* parameters) {
  return with_parameters(parameters, [&](const Driver& driver, CUgraphNodeParams& p) {
    const CUresult status =
        call(driver, &Driver::cuGraphAddNode_v2, node, graph, dependencies, edges, count, &p);
    if (status == CUDA_SUCCESS && parameters->type == cudaGraphNodeTypeMemAlloc)
      parameters->alloc.dptr = reinterpret_cast<void*>(p.alloc.dptr);
    return status;
  });
}
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  return with_parameters(parameters, [&](const Driver& driver, CUgraphNodeParams& p) {
    return driver.cuGraphNodeSetParams(node, &p);
  });
}
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                       cudaGraphNodeParams* parameters) {
  return with_parameters(parameters, [&](const Driver& driver, CUgraphNodeParams& p) {
    return driver.cuGraphExecNodeSetParams(exec, node, &p);
  });
}
