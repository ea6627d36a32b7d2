// Nodes of any type by one function: what the functions of the single types do.
#include "driver/api.h"
#include "driver/call.h"
#include "driver/graph.h"

#include <algorithm>
#include <cstring>

namespace lemma::driver {
namespace {

bool is_zero(const void* bytes, size_t count) {
  const auto* each = static_cast<const unsigned char*>(bytes);
  return std::all_of(each, each + count, [](unsigned char byte) { return byte == 0; });
}

CUDA_MEMSET_NODE_PARAMS plain(const CUDA_MEMSET_NODE_PARAMS_v2& fill) {
  return {.dst = fill.dst,
          .pitch = fill.pitch,
          .value = fill.value,
          .elementSize = fill.elementSize,
          .width = fill.width,
          .height = fill.height};
}

// Sets the node's parameters, in the graph or in the copy of one that is ready.
CUresult set(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams& p) {
  switch (p.type) {
  case CU_GRAPH_NODE_TYPE_KERNEL:
    return exec ? cuGraphExecKernelNodeSetParams_v2(exec, node, &p.kernel)
                : cuGraphKernelNodeSetParams_v2(node, &p.kernel);
  case CU_GRAPH_NODE_TYPE_MEMCPY:
    return exec ? cuGraphExecMemcpyNodeSetParams(exec, node, &p.memcpy.copyParams, p.memcpy.copyCtx)
                : cuGraphMemcpyNodeSetParams(node, &p.memcpy.copyParams);
  case CU_GRAPH_NODE_TYPE_MEMSET: {
    const CUDA_MEMSET_NODE_PARAMS fill = plain(p.memset);
    return exec ? cuGraphExecMemsetNodeSetParams(exec, node, &fill, p.memset.ctx)
                : cuGraphMemsetNodeSetParams(node, &fill);
  }
  case CU_GRAPH_NODE_TYPE_HOST:
    return exec ? cuGraphExecHostNodeSetParams(exec, node, &p.host) : cuGraphHostNodeSetParams(node, &p.host);
  case CU_GRAPH_NODE_TYPE_GRAPH:
    return exec ? cuGraphExecChildGraphNodeSetParams(exec, node, p.graph.graph) : CUDA_ERROR_NOT_SUPPORTED;
  case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    return exec ? cuGraphExecEventRecordNodeSetEvent(exec, node, p.eventRecord.event)
                : cuGraphEventRecordNodeSetEvent(node, p.eventRecord.event);
  case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    return exec ? cuGraphExecEventWaitNodeSetEvent(exec, node, p.eventWait.event)
                : cuGraphEventWaitNodeSetEvent(node, p.eventWait.event);
  case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
    return exec ? cuGraphExecBatchMemOpNodeSetParams(exec, node, &p.memOp)
                : cuGraphBatchMemOpNodeSetParams(node, &p.memOp);
  case CU_GRAPH_NODE_TYPE_EMPTY:
  case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
  case CU_GRAPH_NODE_TYPE_MEM_FREE:
    return CUDA_ERROR_INVALID_VALUE;
  default:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                        CUgraphNodeParams* p) {
  if (!p || !is_zero(p->reserved0, sizeof p->reserved0) || p->reserved2 != 0)
    return CUDA_ERROR_INVALID_VALUE;
  switch (p->type) {
  case CU_GRAPH_NODE_TYPE_KERNEL:
    return cuGraphAddKernelNode_v2(node, graph, dependencies, count, &p->kernel);
  case CU_GRAPH_NODE_TYPE_MEMCPY:
    if (p->memcpy.flags != 0 || p->memcpy.reserved != 0)
      return CUDA_ERROR_INVALID_VALUE;
    return cuGraphAddMemcpyNode(node, graph, dependencies, count, &p->memcpy.copyParams, p->memcpy.copyCtx);
  case CU_GRAPH_NODE_TYPE_MEMSET: {
    const CUDA_MEMSET_NODE_PARAMS fill = plain(p->memset);
    return cuGraphAddMemsetNode(node, graph, dependencies, count, &fill, p->memset.ctx);
  }
  case CU_GRAPH_NODE_TYPE_HOST:
    return cuGraphAddHostNode(node, graph, dependencies, count, &p->host);
  case CU_GRAPH_NODE_TYPE_GRAPH:
    return cuGraphAddChildGraphNode(node, graph, dependencies, count, p->graph.graph);
  case CU_GRAPH_NODE_TYPE_EMPTY:
    return cuGraphAddEmptyNode(node, graph, dependencies, count);
  case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    return cuGraphAddEventRecordNode(node, graph, dependencies, count, p->eventRecord.event);
  case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    return cuGraphAddEventWaitNode(node, graph, dependencies, count, p->eventWait.event);
  case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    return cuGraphAddMemAllocNode(node, graph, dependencies, count, &p->alloc);
  case CU_GRAPH_NODE_TYPE_MEM_FREE:
    return cuGraphAddMemFreeNode(node, graph, dependencies, count, p->free.dptr);
  case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
    return cuGraphAddBatchMemOpNode(node, graph, dependencies, count, &p->memOp);
  case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
  case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
  case CU_GRAPH_NODE_TYPE_CONDITIONAL:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* parameters) {
  if (edges && (!parameters || !dependencies))
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; edges && i < count; ++i) {
    CUgraphNodeType from{};
    if (const CUresult wrong = cuGraphNodeGetType(dependencies[i], &from); wrong != CUDA_SUCCESS)
      return wrong;
    if (!is_known_edge(edges[i],
                       from == CU_GRAPH_NODE_TYPE_KERNEL && parameters->type == CU_GRAPH_NODE_TYPE_KERNEL))
      return CUDA_ERROR_INVALID_VALUE;
  }
  return cuGraphAddNode(node, graph, dependencies, count, parameters);
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* parameters) {
  return parameters ? set(nullptr, node, *parameters) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* parameters) {
  return parameters && exec ? set(exec, node, *parameters) : CUDA_ERROR_INVALID_VALUE;
}
