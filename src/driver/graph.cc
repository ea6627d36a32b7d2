// What graphs are; the functions: graph_functions.cc, graph_nodes.cc.
#include "driver/graph.h"

#include "driver/state.h"

#include <algorithm>
#include <unordered_set>

namespace lemma::driver {
namespace {

struct KnownNodes {
  std::mutex mutex;
  std::unordered_set<const void*> all;
};
KnownNodes& known_nodes() {
  static KnownNodes* nodes = new KnownNodes; // calls may come after static objects are gone
  return *nodes;
}

struct ChildGraphs {
  std::mutex mutex;
  std::map<const void*, std::weak_ptr<Graph>> all;
};
ChildGraphs& child_graphs() {
  static ChildGraphs* graphs = new ChildGraphs; // see known_nodes()
  return *graphs;
}

std::atomic<uint64_t> execs_made{0};

} // namespace

void know_child_graph(const std::shared_ptr<Graph>& graph) {
  ChildGraphs& children = child_graphs();
  const std::scoped_lock lock(children.mutex);
  std::erase_if(children.all, [](const auto& each) { return each.second.expired(); });
  children.all[graph.get()] = graph;
}

std::shared_ptr<Graph> find_child_graph(CUgraph handle) {
  ChildGraphs& children = child_graphs();
  const std::scoped_lock lock(children.mutex);
  const auto found = children.all.find(handle);
  return found == children.all.end() ? nullptr : found->second.lock();
}

Node* find_node(CUgraphNode handle) {
  KnownNodes& known = known_nodes();
  const std::scoped_lock lock(known.mutex);
  return known.all.contains(handle) ? reinterpret_cast<Node*>(handle) : nullptr;
}

namespace {

void know(const Node& node) {
  {
    KnownNodes& known = known_nodes();
    const std::scoped_lock lock(known.mutex);
    known.all.insert(&node);
  }
  if (const auto* child = std::get_if<ChildGraph>(&node.operation))
    know_nodes_of(*child->graph);
}

} // namespace

void know_nodes_of(const Graph& graph) {
  for (const std::unique_ptr<Node>& node : graph.nodes())
    know(*node);
}

void forget_nodes_of(const Graph& graph) {
  KnownNodes& known = known_nodes();
  for (const std::unique_ptr<Node>& node : graph.nodes()) {
    {
      const std::scoped_lock lock(known.mutex);
      known.all.erase(node.get());
    }
    if (const auto* child = std::get_if<ChildGraph>(&node->operation))
      forget_nodes_of(*child->graph);
  }
}

CUresult find_nodes(const Graph& graph, const CUgraphNode* handles, size_t count, std::vector<Node*>& nodes) {
  if (count && !handles)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    Node* node = find_node(handles[i]);
    if (!node || node->graph != &graph)
      return CUDA_ERROR_INVALID_VALUE;
    nodes.push_back(node);
  }
  return CUDA_SUCCESS;
}

bool Node::depends_on(const Node* other) const {
  return std::find(dependencies.begin(), dependencies.end(), other) != dependencies.end();
}

Node* Graph::add(Operation operation, std::vector<Node*> dependencies) {
  Node* node = append(std::move(operation), std::move(dependencies));
  know(*node);
  return node;
}

Node* Graph::append(Operation operation, std::vector<Node*> dependencies) {
  auto node = std::make_unique<Node>();
  node->operation = std::move(operation);
  node->graph = this;
  node->dependencies = std::move(dependencies);
  node->number = next_number_++;
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

void Graph::remove(Node* node) {
  if (const auto* child = std::get_if<ChildGraph>(&node->operation))
    forget_nodes_of(*child->graph);
  {
    KnownNodes& known = known_nodes();
    const std::scoped_lock lock(known.mutex);
    known.all.erase(node);
  }
  for (const std::unique_ptr<Node>& other : nodes_)
    std::erase(other->dependencies, node);
  std::erase_if(nodes_, [&](const std::unique_ptr<Node>& each) { return each.get() == node; });
}

bool Graph::has(const Node* node) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& each) { return each.get() == node; });
}

std::vector<Node*> Graph::in_order() const {
  std::map<const Node*, size_t> missing;
  std::map<const Node*, std::vector<Node*>> behind;
  std::vector<Node*> order;
  for (const std::unique_ptr<Node>& node : nodes_) {
    missing[node.get()] = node->dependencies.size();
    for (const Node* before : node->dependencies)
      behind[before].push_back(node.get());
    if (node->dependencies.empty())
      order.push_back(node.get());
  }
  for (size_t i = 0; i < order.size(); ++i)
    for (Node* next : behind[order[i]])
      if (--missing[next] == 0)
        order.push_back(next);
  return order;
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>(parent);
  std::map<const Node*, Node*> copies;
  for (const std::unique_ptr<Node>& node : nodes_) {
    Operation operation = node->operation;
    if (auto* child = std::get_if<ChildGraph>(&operation))
      child->graph = child->graph->clone();
    Node* made = copies[node.get()] = copy->append(std::move(operation), {});
    made->cloned_from = node.get();
    made->is_enabled = node->is_enabled;
  }
  for (const std::unique_ptr<Node>& node : nodes_)
    for (Node* before : node->dependencies)
      copies[node.get()]->dependencies.push_back(copies[before]);
  return copy;
}

GraphExec::GraphExec(Context& context, const Graph& graph, uint64_t flags)
    : context(&context), id(++execs_made), flags(flags), graph_(graph.clone()) {
  for (const std::unique_ptr<Node>& node : graph_->nodes())
    copies_.emplace(node->cloned_from, node.get());
}

Node* GraphExec::copy_of(const Node* node) const {
  const auto found = copies_.find(node);
  return found == copies_.end() ? nullptr : found->second;
}

// Nodes are matched by the order of their making.
CUresult GraphExec::update(const Graph& graph, CUgraphExecUpdateResultInfo& info) {
  info = {.result = CU_GRAPH_EXEC_UPDATE_SUCCESS, .errorNode = nullptr, .errorFromNode = nullptr};
  const auto refuse = [&](CUgraphExecUpdateResult why, Node* node) {
    info.result = why;
    info.errorNode = node ? node->handle() : nullptr;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  };
  const auto& mine = graph_->nodes();
  const auto& theirs = graph.nodes();
  if (mine.size() != theirs.size())
    return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
  const auto place_of = [](const auto& nodes, const Node* node) {
    return std::find_if(nodes.begin(), nodes.end(), [&](const auto& each) { return each.get() == node; }) -
           nodes.begin();
  };
  for (size_t i = 0; i < mine.size(); ++i) {
    Node* other = theirs[i].get();
    if (mine[i]->operation.index() != other->operation.index())
      return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, other);
    std::set<ptrdiff_t> before, other_before;
    for (const Node* node : mine[i]->dependencies)
      before.insert(place_of(mine, node));
    for (const Node* node : other->dependencies)
      other_before.insert(place_of(theirs, node));
    if (before != other_before)
      return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, other);
    if (std::holds_alternative<AllocateMemory>(other->operation) ||
        std::holds_alternative<FreeMemory>(other->operation))
      return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, other);
    if (const auto* launch = std::get_if<KernelLaunch>(&mine[i]->operation))
      if (launch->function->context != std::get<KernelLaunch>(other->operation).function->context)
        return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE, other);
  }
  copies_.clear();
  for (size_t i = 0; i < mine.size(); ++i) {
    Operation operation = theirs[i]->operation;
    if (auto* child = std::get_if<ChildGraph>(&operation))
      child->graph = child->graph->clone();
    mine[i]->operation = std::move(operation);
    mine[i]->cloned_from = theirs[i].get();
    copies_.emplace(theirs[i].get(), mine[i].get());
  }
  return CUDA_SUCCESS;
}

bool is_known_edge(const CUgraphEdgeData& edge, bool is_between_kernels) {
  constexpr unsigned char kProgrammatic =
      1; // CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, CU_GRAPH_KERNEL_NODE_PORT_...
  const bool is_plain = edge.type == 0 && edge.from_port == 0,
             is_programmatic = edge.type == kProgrammatic && edge.from_port == kProgrammatic;
  return edge.to_port == 0 && (is_plain || (is_programmatic && is_between_kernels));
}

} // namespace lemma::driver
