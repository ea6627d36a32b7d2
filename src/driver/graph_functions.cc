// The functions of graphs as a whole: making, edges, instantiation, launch, update.
#include "driver/api.h"
#include "driver/call.h"
#include "driver/graph.h"

#include <algorithm>

namespace lemma::driver {
namespace {

template <class Body>
CUresult in_graph(CUgraph handle, Body&& body) {
  return initialized([&]() -> CUresult {
    const std::shared_ptr<Graph> graph = find_graph(handle);
    return graph ? body(*graph) : CUDA_ERROR_INVALID_VALUE;
  });
}

template <class Body>
CUresult of_node(CUgraphNode handle, Body&& body) {
  return initialized([&]() -> CUresult {
    Node* node = find_node(handle);
    return node ? body(*node) : CUDA_ERROR_INVALID_VALUE;
  });
}

// The array as far as it is long, then how many there are; a null array asks for the number alone.
CUresult give_nodes(const std::vector<Node*>& from, CUgraphNode* nodes, size_t* count) {
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  if (!nodes) {
    *count = from.size();
    return CUDA_SUCCESS;
  }
  for (size_t i = 0; i < *count; ++i)
    nodes[i] = i < from.size() ? from[i]->handle() : nullptr;
  *count = std::min(*count, from.size());
  return CUDA_SUCCESS;
}

void give_plain_edges(CUgraphEdgeData* edges, const size_t* count) {
  if (edges)
    std::fill_n(edges, *count, CUgraphEdgeData{});
}

bool is_kernel(const Node& node) {
  return node_type_of(node.operation) == CU_GRAPH_NODE_TYPE_KERNEL;
}

std::vector<Node*> dependents_of(const Node& node) {
  std::vector<Node*> found;
  for (const std::unique_ptr<Node>& other : node.graph->nodes())
    if (other->depends_on(&node))
      found.push_back(other.get());
  return found;
}

constexpr uint64_t kInstantiateFlags =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
    CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult instantiate(CUgraphExec* exec, CUgraph handle, uint64_t flags, CUgraphInstantiateResult* result) {
  return in_context([&](Context& context) -> CUresult {
    const std::shared_ptr<Graph> graph = find_graph(handle);
    if (!exec || !graph || (flags & ~kInstantiateFlags))
      return CUDA_ERROR_INVALID_VALUE;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
      return CUDA_ERROR_NOT_SUPPORTED;
    if (graph->in_order().size() != graph->nodes().size()) { // a circle
      if (result)
        *result = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
      return CUDA_ERROR_INVALID_VALUE;
    }
    *exec = state().graph_execs.add(std::make_shared<GraphExec>(context, *graph, flags))->handle();
    if (result)
      *result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return CUDA_SUCCESS;
  });
}

} // namespace

std::shared_ptr<Graph> find_graph(CUgraph handle) {
  if (std::shared_ptr<Graph> graph = state().graphs.find(handle))
    return graph;
  return find_child_graph(handle);
}

} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  return initialized([&]() -> CUresult {
    if (!graph || flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    *graph = state().graphs.add(std::make_shared<Graph>())->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return initialized([&]() -> CUresult {
    const std::shared_ptr<Graph> graph = state().graphs.take(handle);
    if (!graph)
      return CUDA_ERROR_INVALID_VALUE;
    forget_nodes_of(*graph);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph* clone, CUgraph handle) {
  return in_graph(handle, [&](Graph& graph) -> CUresult {
    if (!clone)
      return CUDA_ERROR_INVALID_VALUE;
    for (const std::unique_ptr<Node>& node : graph.nodes())
      if (std::holds_alternative<AllocateMemory>(node->operation) ||
          std::holds_alternative<FreeMemory>(node->operation))
        return CUDA_ERROR_NOT_SUPPORTED; // memory is of one graph
    std::shared_ptr<Graph> made = graph.clone();
    know_nodes_of(*made);
    *clone = state().graphs.add(std::move(made))->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* found, CUgraphNode original, CUgraph clone) {
  return in_graph(clone, [&](Graph& graph) -> CUresult {
    if (!found)
      return CUDA_ERROR_INVALID_VALUE;
    for (const std::unique_ptr<Node>& node : graph.nodes())
      if (node->cloned_from && node->cloned_from->handle() == original) {
        *found = node->handle();
        return CUDA_SUCCESS;
      }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return in_graph(handle, [&](Graph& graph) {
    std::vector<Node*> all;
    for (const std::unique_ptr<Node>& node : graph.nodes())
      all.push_back(node.get());
    return give_nodes(all, nodes, count);
  });
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return in_graph(handle, [&](Graph& graph) {
    std::vector<Node*> roots;
    for (const std::unique_ptr<Node>& node : graph.nodes())
      if (node->dependencies.empty())
        roots.push_back(node.get());
    return give_nodes(roots, nodes, count);
  });
}

CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edges,
                            size_t* count) {
  return in_graph(handle, [&](Graph& graph) -> CUresult {
    if (!count || !from != !to)
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<Node*> begins, ends;
    for (const std::unique_ptr<Node>& node : graph.nodes())
      for (Node* before : node->dependencies) {
        begins.push_back(before);
        ends.push_back(node.get());
      }
    size_t again = *count;
    give_nodes(begins, from, &again);
    const CUresult status = give_nodes(ends, to, count);
    if (from)
      give_plain_edges(edges, count);
    return status;
  });
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* edges,
                                       size_t* count) {
  return of_node(handle, [&](Node& node) {
    const CUresult status = give_nodes(node.dependencies, nodes, count);
    if (nodes && status == CUDA_SUCCESS)
      give_plain_edges(edges, count);
    return status;
  });
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  return cuGraphNodeGetDependencies_v2(node, nodes, nullptr, count);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* edges,
                                         size_t* count) {
  return of_node(handle, [&](Node& node) {
    const CUresult status = give_nodes(dependents_of(node), nodes, count);
    if (nodes && status == CUDA_SUCCESS)
      give_plain_edges(edges, count);
    return status;
  });
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  return cuGraphNodeGetDependentNodes_v2(node, nodes, nullptr, count);
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return of_node(handle, [&](Node& node) -> CUresult {
    if (!type)
      return CUDA_ERROR_INVALID_VALUE;
    *type = node_type_of(node.operation);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddDependencies_v2(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edges, size_t count) {
  return in_graph(handle, [&](Graph& graph) -> CUresult {
    std::vector<Node*> begins, ends;
    if (find_nodes(graph, from, count, begins) != CUDA_SUCCESS ||
        find_nodes(graph, to, count, ends) != CUDA_SUCCESS)
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; edges && i < count; ++i)
      if (!is_known_edge(edges[i], is_kernel(*begins[i]) && is_kernel(*ends[i])))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i)
      if (ends[i]->depends_on(begins[i]) || begins[i] == ends[i])
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i)
      ends[i]->dependencies.push_back(begins[i]);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData*, size_t count) {
  return in_graph(handle, [&](Graph& graph) -> CUresult {
    std::vector<Node*> begins, ends;
    if (find_nodes(graph, from, count, begins) != CUDA_SUCCESS ||
        find_nodes(graph, to, count, ends) != CUDA_SUCCESS)
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i)
      if (!ends[i]->depends_on(begins[i]))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i)
      std::erase(ends[i]->dependencies, begins[i]);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
  return of_node(handle, [](Node& node) -> CUresult {
    node.graph->remove(&node);
    return CUDA_SUCCESS;
  });
}

// --- ready to be launched

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  if (!parameters)
    return CUDA_ERROR_INVALID_VALUE;
  parameters->hErrNode_out = nullptr;
  parameters->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  return instantiate(exec, graph, parameters->flags, &parameters->result_out);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return instantiate(exec, graph, flags, nullptr);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                               size_t log_bytes) {
  if (error_node)
    *error_node = nullptr;
  if (log && log_bytes)
    *log = '\0';
  return instantiate(exec, graph, 0, nullptr);
}

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                            size_t log_bytes) {
  return cuGraphInstantiate_v2(exec, graph, error_node, log, log_bytes);
}

namespace {

template <class Body>
CUresult of_exec(CUgraphExec handle, Body&& body) {
  return in_context_of(handle, [&](Context& context) -> CUresult {
    const std::shared_ptr<GraphExec> exec = state().graph_execs.find(handle);
    return exec ? body(*exec, context) : CUDA_ERROR_INVALID_VALUE;
  });
}

} // namespace

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  return in_stream(stream_handle, [&](Stream& stream) -> CUresult {
    const std::shared_ptr<GraphExec> exec = state().graph_execs.find(handle);
    if (!exec)
      return CUDA_ERROR_INVALID_VALUE;
    return stream.submit(ChildGraph{stream.capture() ? exec->graph()->clone() : exec->graph()});
  });
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream_handle) {
  return in_stream(stream_handle, [&](Stream&) {
    return state().graph_execs.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return initialized([&]() -> CUresult {
    return state().graph_execs.take(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
  return of_exec(handle, [&](GraphExec& exec, Context&) -> CUresult {
    if (!flags)
      return CUDA_ERROR_INVALID_VALUE;
    *flags = exec.flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo* info) {
  return of_exec(handle, [&](GraphExec& exec, Context&) -> CUresult {
    const std::shared_ptr<Graph> graph = find_graph(graph_handle);
    CUgraphExecUpdateResultInfo unwanted{};
    return graph ? exec.update(*graph, info ? *info : unwanted) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                           CUgraphExecUpdateResult* result) {
  CUgraphExecUpdateResultInfo info{};
  const CUresult status = cuGraphExecUpdate_v2(exec, graph, &info);
  if (error_node)
    *error_node = info.errorNode;
  if (result)
    *result = info.result;
  return status;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node, unsigned enabled) {
  return of_exec(handle, [&](GraphExec& exec, Context&) -> CUresult {
    Node* copy = exec.copy_of(find_node(node));
    if (!copy)
      return CUDA_ERROR_INVALID_VALUE;
    const CUgraphNodeType type = node_type_of(copy->operation);
    if (type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_MEMCPY &&
        type != CU_GRAPH_NODE_TYPE_MEMSET)
      return CUDA_ERROR_INVALID_VALUE;
    copy->is_enabled = enabled != 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node, unsigned* enabled) {
  return of_exec(handle, [&](GraphExec& exec, Context&) -> CUresult {
    const Node* copy = exec.copy_of(find_node(node));
    if (!copy || !enabled)
      return CUDA_ERROR_INVALID_VALUE;
    *enabled = copy->is_enabled;
    return CUDA_SUCCESS;
  });
}
