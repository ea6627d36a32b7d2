// Nodes of graphs: adding them, and what they do, in a graph or in its executable copy. A node's operation
// goes to the driver through one function a kind, whatever the program is about to do with it.
#include "cudart/api.h"
#include "cudart/call.h"
#include "cudart/copy.h"
#include "cudart/registration.h"

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

// Body: cudaError_t(const Driver&, CUDA_KERNEL_NODE_PARAMS&).
template <class Body>
cudaError_t with_kernel(const cudaKernelNodeParams* from, Body&& body) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!from)
      return cudaErrorInvalidValue;
    CUfunction function = nullptr;
    if (const cudaError_t error = find_kernel(driver, from->func, function); error != cudaSuccess)
      return error;
    const CUDA_KERNEL_NODE_PARAMS parameters = {.func = function,
                                                .gridDimX = from->gridDim.x,
                                                .gridDimY = from->gridDim.y,
                                                .gridDimZ = from->gridDim.z,
                                                .blockDimX = from->blockDim.x,
                                                .blockDimY = from->blockDim.y,
                                                .blockDimZ = from->blockDim.z,
                                                .sharedMemBytes = from->sharedMemBytes,
                                                .kernelParams = from->kernelParams,
                                                .extra = from->extra,
                                                .kern = nullptr,
                                                .ctx = nullptr};
    return error_of(body(driver, parameters));
  });
}

// Body: CUresult(const Driver&, const CUDA_MEMCPY3D&).
template <class Body>
cudaError_t with_copy(const cudaMemcpy3DParms* from, Body&& body) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_MEMCPY3D parameters;
    const cudaError_t error = from ? to_driver(*from, parameters) : cudaErrorInvalidValue;
    return error == cudaSuccess ? error_of(body(driver, parameters)) : error;
  });
}

// Body: cudaError_t(void*), with the address of the part of the variable.
template <class Body>
cudaError_t with_variable(const void* symbol, size_t bytes, size_t offset, Body&& body) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUdeviceptr address = 0;
    size_t size = 0;
    if (const cudaError_t error = find_variable(driver, symbol, address, size); error != cudaSuccess)
      return error;
    if (offset > size || bytes > size - offset)
      return cudaErrorInvalidValue;
    return body(reinterpret_cast<void*>(address + offset));
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

cudaError_t set_params(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaGraphNodeParams* p) {
  if (!p)
    return record(cudaErrorInvalidValue);
  switch (p->type) {
  case cudaGraphNodeTypeKernel:
    return exec ? cudaGraphExecKernelNodeSetParams(exec, node, &p->kernel)
                : cudaGraphKernelNodeSetParams(node, &p->kernel);
  case cudaGraphNodeTypeMemcpy:
    return set_copy(exec, node, &p->memcpy.copyParams);
  case cudaGraphNodeTypeMemset:
    return exec ? cudaGraphExecMemsetNodeSetParams(exec, node, &p->memset)
                : cudaGraphMemsetNodeSetParams(node, &p->memset);
  case cudaGraphNodeTypeHost:
    return exec ? cudaGraphExecHostNodeSetParams(exec, node, &p->host)
                : cudaGraphHostNodeSetParams(node, &p->host);
  case cudaGraphNodeTypeGraph:
    return exec ? cudaGraphExecChildGraphNodeSetParams(exec, node, p->graph.graph)
                : record(cudaErrorInvalidValue);
  case cudaGraphNodeTypeWaitEvent:
    return exec ? cudaGraphExecEventWaitNodeSetEvent(exec, node, p->eventWait.event)
                : cudaGraphEventWaitNodeSetEvent(node, p->eventWait.event);
  case cudaGraphNodeTypeEventRecord:
    return exec ? cudaGraphExecEventRecordNodeSetEvent(exec, node, p->eventRecord.event)
                : cudaGraphEventRecordNodeSetEvent(node, p->eventRecord.event);
  default:
    return record(cudaErrorNotSupported);
  }
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
  return with_variable(symbol, bytes, offset, [&](void* at) {
    return cudaGraphAddMemcpyNode1D(node, graph, dependencies, count, at, from, bytes, kind);
  });
}
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies, size_t count, void* to,
                                             const void* symbol, size_t bytes, size_t offset,
                                             cudaMemcpyKind kind) {
  return with_variable(symbol, bytes, offset, [&](void* at) {
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
      *parameters = from_driver(p);
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
  return with_variable(symbol, bytes, offset,
                       [&](void* at) { return set_row(nullptr, node, at, from, bytes, kind); });
}
cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* to, const void* symbol,
                                                   size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return with_variable(symbol, bytes, offset,
                       [&](void* at) { return set_row(nullptr, node, to, at, bytes, kind); });
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
  return with_variable(symbol, bytes, offset, [&](void* at) {
    return cudaGraphExecMemcpyNodeSetParams1D(exec, node, at, from, bytes, kind);
  });
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                                       const void* symbol, size_t bytes, size_t offset,
                                                       cudaMemcpyKind kind) {
  return with_variable(symbol, bytes, offset, [&](void* at) {
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
                             const cudaGraphEdgeData* edges, size_t count, cudaGraphNodeParams* p) {
  if (!p)
    return record(cudaErrorInvalidValue);
  for (size_t i = 0; edges && i < count; ++i)
    if (edges[i].from_port != 0 || edges[i].to_port != 0 || edges[i].type != 0)
      return record(cudaErrorNotSupported);
  switch (p->type) {
  case cudaGraphNodeTypeKernel:
    return cudaGraphAddKernelNode(node, graph, dependencies, count, &p->kernel);
  case cudaGraphNodeTypeMemcpy:
    return cudaGraphAddMemcpyNode(node, graph, dependencies, count, &p->memcpy.copyParams);
  case cudaGraphNodeTypeMemset:
    return cudaGraphAddMemsetNode(node, graph, dependencies, count, &p->memset);
  case cudaGraphNodeTypeHost:
    return cudaGraphAddHostNode(node, graph, dependencies, count, &p->host);
  case cudaGraphNodeTypeGraph:
    return cudaGraphAddChildGraphNode(node, graph, dependencies, count, p->graph.graph);
  case cudaGraphNodeTypeEmpty:
    return cudaGraphAddEmptyNode(node, graph, dependencies, count);
  case cudaGraphNodeTypeWaitEvent:
    return cudaGraphAddEventWaitNode(node, graph, dependencies, count, p->eventWait.event);
  case cudaGraphNodeTypeEventRecord:
    return cudaGraphAddEventRecordNode(node, graph, dependencies, count, p->eventRecord.event);
  case cudaGraphNodeTypeMemAlloc:
    return cudaGraphAddMemAllocNode(node, graph, dependencies, count, &p->alloc);
  case cudaGraphNodeTypeMemFree:
    return cudaGraphAddMemFreeNode(node, graph, dependencies, count, p->free.dptr);
  default:
    return record(cudaErrorNotSupported);
  }
}
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  return set_params(nullptr, node, parameters);
}
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                       cudaGraphNodeParams* parameters) {
  return exec ? set_params(exec, node, parameters) : record(cudaErrorInvalidValue);
}
