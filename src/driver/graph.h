// Graphs: operations and what each has to wait for; and graphs ready to be launched.
//
// A GraphExec is a copy of its graph, in an order that is legal. The nodes of the graph it was made from name
// its copies in the functions that change a parameter of one.
//
// Tests: tests/driver/graphs*.cc, capture.cc.
#pragma once

#include "driver/operation.h"
#include "driver/types.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace lemma::driver {

class Context;
class Graph;

struct Node {
  Operation operation;
  Graph* graph = nullptr;
  std::vector<Node*> dependencies = {}; // of the same graph
  Node* cloned_from = nullptr;          // cuGraphClone
  bool is_enabled = true;
  uint64_t number = 0; // in the order of making, in its graph

  CUgraphNode handle() { return reinterpret_cast<CUgraphNode>(this); }
  bool depends_on(const Node* other) const;
};

class Graph {
public:
  explicit Graph(Graph* parent = nullptr) : parent(parent) {}

  CUgraph handle() { return reinterpret_cast<CUgraph>(this); }
  // Known by its handle from now on, as are the nodes of a child graph.
  Node* add(Operation operation, std::vector<Node*> dependencies);
  // With all edges to and from it.
  void remove(Node* node);
  bool has(const Node* node) const;
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  // Each behind what it waits for; fewer than there are nodes if they wait in a circle.
  std::vector<Node*> in_order() const;
  // Child graphs are copied, too. Its nodes are not known by handles: know_nodes_of().
  std::shared_ptr<Graph> clone() const;

  Graph* const parent; // of a child graph's, the graph it is a node of; null: the program's own

  // What is launched is not launched beside itself.
  mutable std::mutex launching;
  mutable lemma::Event last_launch; // under `launching`

private:
  Node* append(Operation operation, std::vector<Node*> dependencies);

  std::vector<std::unique_ptr<Node>> nodes_; // in the order of making
  uint64_t next_number_ = 0;
};

class GraphExec {
public:
  GraphExec(Context& context, const Graph& graph, uint64_t flags);

  CUgraphExec handle() { return reinterpret_cast<CUgraphExec>(this); }
  const std::shared_ptr<Graph>& graph() const { return graph_; }
  // The copy of a node of the graph that this was made from; null: there is none.
  Node* copy_of(const Node* node) const;
  CUresult update(const Graph& graph, CUgraphExecUpdateResultInfo& info);

  Context* const context;
  const uint64_t id;
  const uint64_t flags;

private:
  std::shared_ptr<Graph> graph_;
  std::map<const Node*, Node*> copies_; // by the original
};

// All of its operations; branches run at the same time.
CUresult enqueue_graph(const Graph& graph, const lemma::Stream& queue, Context& context);

// The program's own graph, or a child's that it has asked for; null: it is none.
std::shared_ptr<Graph> find_graph(CUgraph handle);
// So that it can be found as long as its node has it.
void know_child_graph(const std::shared_ptr<Graph>& graph);
std::shared_ptr<Graph> find_child_graph(CUgraph handle);

// The node of a handle; null: it is none.
Node* find_node(CUgraphNode handle);
// Makes it known as a node's handle, or forgets it.
void know_nodes_of(const Graph& graph);
void forget_nodes_of(const Graph& graph);

// The nodes of these handles, all of the graph. CUDA_ERROR_INVALID_VALUE.
CUresult find_nodes(const Graph& graph, const CUgraphNode* handles, size_t count, std::vector<Node*>& nodes);

// Is it plain, or a programmatic one between kernels? That lets the second kernel begin when the first one's
// CTAs have executed griddepcontrol.launch_dependents; here it waits for their end, and the edge is given
// back as plain.
bool is_known_edge(const CUgraphEdgeData& edge, bool is_between_kernels);

} // namespace lemma::driver
