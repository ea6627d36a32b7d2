// The functions that add nodes to a graph, and get and set what they do: in a graph, or in the copy of one
// that is ready to be launched.
#include "driver/api.h"
#include "driver/call.h"
#include "driver/graph.h"
#include "driver/launch.h"
#include "driver/memory_operations.h"

#include <algorithm>
#include <cstring>

namespace lemma::driver {
namespace {

// Adds a node of the operation that make(Context&, Operation&) gives.
template <class Make>
CUresult add_node(CUgraphNode* node, CUgraph handle, const CUgraphNode* dependencies, size_t count,
                  Make&& make) {
  return in_context_or(living_primary_context, [&](Context& context) -> CUresult {
    const std::shared_ptr<Graph> graph = find_graph(handle);
    if (!node || !graph)
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<Node*> before;
    if (const CUresult wrong = find_nodes(*graph, dependencies, count, before); wrong != CUDA_SUCCESS)
      return wrong;
    for (size_t i = 0; i < count; ++i)
      if (std::count(before.begin(), before.end(), before[i]) != 1)
        return CUDA_ERROR_INVALID_VALUE;
    Operation operation;
    if (const CUresult wrong = make(context, operation); wrong != CUDA_SUCCESS)
      return wrong;
    if (const CUresult wrong = check(operation); wrong != CUDA_SUCCESS)
      return wrong;
    *node = graph->add(std::move(operation), std::move(before))->handle();
    return CUDA_SUCCESS;
  });
}

// body(the operation), if it is a Kind.
template <class Kind, class Body>
CUresult of_node(CUgraphNode handle, Body&& body) {
  return initialized([&]() -> CUresult {
    Node* node = find_node(handle);
    auto* operation = node ? std::get_if<Kind>(&node->operation) : nullptr;
    return operation ? body(*operation) : CUDA_ERROR_INVALID_VALUE;
  });
}

// Gives the node, or its copy in `exec`, another operation of its kind, from make(Context&, Kind&), which
// gets the old one.
template <class Kind, class Make>
CUresult set_node(CUgraphExec exec_handle, bool in_exec, CUgraphNode handle, Make&& make) {
  return in_context([&](Context& context) -> CUresult {
    Node* node = find_node(handle);
    if (in_exec) {
      const std::shared_ptr<GraphExec> exec = state().graph_execs.find(exec_handle);
      node = exec && node ? exec->copy_of(node) : nullptr;
    }
    auto* old = node ? std::get_if<Kind>(&node->operation) : nullptr;
    if (!old)
      return CUDA_ERROR_INVALID_VALUE;
    Kind changed = *old;
    if (const CUresult wrong = make(context, changed); wrong != CUDA_SUCCESS)
      return wrong;
    if (const CUresult wrong = check(Operation{changed}); wrong != CUDA_SUCCESS)
      return wrong;
    *old = std::move(changed);
    return CUDA_SUCCESS;
  });
}

CUDA_KERNEL_NODE_PARAMS newer(const CUDA_KERNEL_NODE_PARAMS_v1& old) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  std::memcpy(&parameters, &old, sizeof old);
  return parameters;
}

// Other arguments and sizes; attributes stay.
CUresult make_again(Context& context, const CUDA_KERNEL_NODE_PARAMS* parameters, KernelLaunch& launch) {
  if (!parameters)
    return CUDA_ERROR_INVALID_VALUE;
  launch.pointers.clear();
  return make_launch(context, *parameters, launch);
}

bool is_node_attribute(CUkernelNodeAttrID attribute) {
  switch (attribute) {
  case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
  case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
  case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
  case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
  case CU_LAUNCH_ATTRIBUTE_PRIORITY:
  case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
  case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
  case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
  case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    return true;
  default:
    return false;
  }
}

CUresult event_of(CUevent handle, std::shared_ptr<Event>& event) {
  event = state().events.find(handle);
  return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult child_of(CUgraph handle, ChildGraph& child) {
  const std::shared_ptr<Graph> graph = find_graph(handle);
  if (!graph)
    return CUDA_ERROR_INVALID_VALUE;
  child.graph = graph->clone();
  return CUDA_SUCCESS;
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;
using lemma::Parameter;

// --- kernels

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return add_node(node, graph, dependencies, count, [&](Context& context, Operation& operation) {
    KernelLaunch launch;
    const CUresult status = make_again(context, parameters, launch);
    operation = std::move(launch);
    return status;
  });
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* old) {
  if (!old)
    return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS parameters = newer(*old);
  return cuGraphAddKernelNode_v2(node, graph, dependencies, count, &parameters);
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
  return of_node<KernelLaunch>(node, [&](KernelLaunch& launch) -> CUresult {
    if (!parameters)
      return CUDA_ERROR_INVALID_VALUE;
    if (launch.pointers.empty())
      for (const Parameter& parameter : launch.function->kernel.parameters())
        launch.pointers.push_back(launch.arguments.data() + parameter.offset_bytes);
    *parameters = launch.parameters;
    parameters->func = launch.function->handle();
    parameters->kernelParams = launch.pointers.data();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* old) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  const CUresult status = cuGraphKernelNodeGetParams_v2(node, old ? &parameters : nullptr);
  if (status == CUDA_SUCCESS)
    std::memcpy(old, &parameters, sizeof *old);
  return status;
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return set_node<KernelLaunch>(nullptr, false, node, [&](Context& context, KernelLaunch& launch) {
    return make_again(context, parameters, launch);
  });
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* old) {
  if (!old)
    return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS parameters = newer(*old);
  return cuGraphKernelNodeSetParams_v2(node, &parameters);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return set_node<KernelLaunch>(exec, true, node, [&](Context& context, KernelLaunch& launch) {
    return make_again(context, parameters, launch);
  });
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* old) {
  if (!old)
    return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS parameters = newer(*old);
  return cuGraphExecKernelNodeSetParams_v2(exec, node, &parameters);
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       const CUkernelNodeAttrValue* value) {
  return set_node<KernelLaunch>(nullptr, false, node, [&](Context&, KernelLaunch& launch) -> CUresult {
    if (!value)
      return CUDA_ERROR_INVALID_VALUE;
    return add_attribute(launch, {.id = attribute, .pad = {}, .value = *value});
  });
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       CUkernelNodeAttrValue* value) {
  return of_node<KernelLaunch>(node, [&](KernelLaunch& launch) -> CUresult {
    if (!value || !is_node_attribute(attribute))
      return CUDA_ERROR_INVALID_VALUE;
    *value = {};
    for (const CUlaunchAttribute& each : launch.attributes)
      if (each.id == attribute)
        *value = each.value;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return of_node<KernelLaunch>(from, [&](KernelLaunch& source) {
    return of_node<KernelLaunch>(to, [&](KernelLaunch& target) -> CUresult {
      target.attributes = source.attributes;
      target.cluster = source.cluster;
      target.cooperative = source.cooperative;
      return CUDA_SUCCESS;
    });
  });
}

// --- copies and fills

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMCPY3D* copy, CUcontext) {
  return add_node(node, graph, dependencies, count, [&](Context&, Operation& operation) -> CUresult {
    if (!copy || copy->WidthInBytes == 0 || copy->Height == 0 || copy->Depth == 0)
      return CUDA_ERROR_INVALID_VALUE;
    operation = Copy{*copy};
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* copy) {
  return of_node<Copy>(node, [&](Copy& operation) -> CUresult {
    if (!copy)
      return CUDA_ERROR_INVALID_VALUE;
    *copy = operation.parameters;
    return CUDA_SUCCESS;
  });
}

namespace {

template <class Kind, class Parameters>
CUresult set_parameters(CUgraphExec exec, bool in_exec, CUgraphNode node, const Parameters* parameters) {
  return set_node<Kind>(exec, in_exec, node, [&](Context&, Kind& operation) -> CUresult {
    if (!parameters)
      return CUDA_ERROR_INVALID_VALUE;
    operation.parameters = *parameters;
    return CUDA_SUCCESS;
  });
}

} // namespace

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* copy) {
  return set_parameters<Copy>(nullptr, false, node, copy);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* copy,
                                        CUcontext) {
  return set_parameters<Copy>(exec, true, node, copy);
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext) {
  return add_node(node, graph, dependencies, count, [&](Context&, Operation& operation) -> CUresult {
    if (!fill || fill->width == 0 || fill->height == 0)
      return CUDA_ERROR_INVALID_VALUE;
    operation = Fill{*fill};
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* fill) {
  return of_node<Fill>(node, [&](Fill& operation) -> CUresult {
    if (!fill)
      return CUDA_ERROR_INVALID_VALUE;
    *fill = operation.parameters;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill) {
  return set_parameters<Fill>(nullptr, false, node, fill);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext) {
  return set_parameters<Fill>(exec, true, node, fill);
}

// --- functions of the host

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS* call) {
  return add_node(node, graph, dependencies, count, [&](Context&, Operation& operation) -> CUresult {
    if (!call || !call->fn)
      return CUDA_ERROR_INVALID_VALUE;
    operation = HostCall{*call};
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* call) {
  return of_node<HostCall>(node, [&](HostCall& operation) -> CUresult {
    if (!call)
      return CUDA_ERROR_INVALID_VALUE;
    *call = operation.parameters;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* call) {
  return call && !call->fn ? CUDA_ERROR_INVALID_VALUE : set_parameters<HostCall>(nullptr, false, node, call);
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* call) {
  return call && !call->fn ? CUDA_ERROR_INVALID_VALUE : set_parameters<HostCall>(exec, true, node, call);
}

// --- nothing, other graphs, events

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                             size_t count) {
  return add_node(node, graph, dependencies, count, [](Context&, Operation& operation) {
    operation = Nothing{};
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, CUgraph child_handle) {
  return add_node(node, graph, dependencies, count, [&](Context&, Operation& operation) {
    ChildGraph child;
    const CUresult status = child_of(child_handle, child);
    operation = std::move(child);
    return status;
  });
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  return of_node<ChildGraph>(node, [&](ChildGraph& child) -> CUresult {
    if (!graph)
      return CUDA_ERROR_INVALID_VALUE;
    *graph = child.graph->handle();
    know_child_graph(child.graph);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph graph) {
  return set_node<ChildGraph>(exec, true, node, [&](Context&, ChildGraph& child) {
    const CUresult status = child_of(graph, child);
    if (status == CUDA_SUCCESS)
      forget_nodes_of(*child.graph);
    return status;
  });
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                   size_t count, CUevent event) {
  return add_node(node, graph, dependencies, count, [&](Context&, Operation& operation) {
    return event_of(event, operation.emplace<RecordEvent>().event);
  });
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, CUevent event) {
  return add_node(node, graph, dependencies, count, [&](Context&, Operation& operation) {
    return event_of(event, operation.emplace<WaitEvent>().event);
  });
}

namespace {

template <class Kind>
CUresult get_event(CUgraphNode node, CUevent* event) {
  return of_node<Kind>(node, [&](Kind& operation) -> CUresult {
    if (!event)
      return CUDA_ERROR_INVALID_VALUE;
    *event = operation.event->handle();
    return CUDA_SUCCESS;
  });
}

template <class Kind>
CUresult set_event(CUgraphExec exec, bool in_exec, CUgraphNode node, CUevent event) {
  return set_node<Kind>(exec, in_exec, node,
                        [&](Context&, Kind& operation) { return event_of(event, operation.event); });
}

} // namespace

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  return get_event<RecordEvent>(node, event);
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return set_event<RecordEvent>(nullptr, false, node, event);
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_event<RecordEvent>(exec, true, node, event);
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return get_event<WaitEvent>(node, event);
}
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return set_event<WaitEvent>(nullptr, false, node, event);
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_event<WaitEvent>(exec, true, node, event);
}

// --- values in memory

namespace {

// The array that an asking program gets is the node's.
CUDA_BATCH_MEM_OP_NODE_PARAMS parameters_of(MemoryOperations& several) {
  CUDA_BATCH_MEM_OP_NODE_PARAMS parameters = several.parameters;
  parameters.paramArray = several.operations.data();
  return parameters;
}

CUresult set_memory_operations(CUgraphExec exec, bool in_exec, CUgraphNode node,
                               const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return set_node<MemoryOperations>(exec, in_exec, node, [&](Context&, MemoryOperations& several) {
    return parameters ? make_memory_operations(*parameters, several) : CUDA_ERROR_INVALID_VALUE;
  });
}

} // namespace

CUresult cuGraphAddBatchMemOpNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return add_node(node, graph, dependencies, count, [&](Context&, Operation& operation) {
    return parameters ? make_memory_operations(*parameters, operation.emplace<MemoryOperations>())
                      : CUDA_ERROR_INVALID_VALUE;
  });
}
CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return of_node<MemoryOperations>(node, [&](MemoryOperations& several) -> CUresult {
    if (!parameters)
      return CUDA_ERROR_INVALID_VALUE;
    *parameters = parameters_of(several);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return set_memory_operations(nullptr, false, node, parameters);
}
CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return set_memory_operations(exec, true, node, parameters);
}

// --- memory

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  return add_node(node, graph, dependencies, count, [&](Context& context, Operation& operation) -> CUresult {
    if (!parameters || parameters->bytesize == 0 ||
        parameters->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        parameters->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        parameters->poolProps.location.id != 0)
      return CUDA_ERROR_INVALID_VALUE;
    AllocateMemory allocate;
    allocate.parameters = *parameters;
    allocate.parameters.accessDescs = nullptr;
    allocate.parameters.accessDescCount = 0;
    allocate.pool = state().default_pool;
    if (const CUresult status = allocate_for_graph(allocate, context); status != CUDA_SUCCESS)
      return status;
    parameters->dptr = allocate.parameters.dptr;
    operation = std::move(allocate);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  return of_node<AllocateMemory>(node, [&](AllocateMemory& operation) -> CUresult {
    if (!parameters)
      return CUDA_ERROR_INVALID_VALUE;
    *parameters = operation.parameters;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                               size_t count, CUdeviceptr address) {
  return add_node(node, graph, dependencies, count, [&](Context&, Operation& operation) -> CUresult {
    const std::shared_ptr<Allocation> allocation = state().memory.find(address);
    const std::shared_ptr<Graph> all = find_graph(graph);
    const bool is_freed =
        std::any_of(all->nodes().begin(), all->nodes().end(), [&](const std::unique_ptr<Node>& each) {
          const auto* free = std::get_if<FreeMemory>(&each->operation);
          return free && free->address == address;
        });
    if (!allocation || !allocation->of_graph || is_freed)
      return CUDA_ERROR_INVALID_VALUE;
    operation = FreeMemory{address};
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
  return of_node<FreeMemory>(node, [&](FreeMemory& operation) -> CUresult {
    if (!address)
      return CUDA_ERROR_INVALID_VALUE;
    *address = operation.address;
    return CUDA_SUCCESS;
  });
}
