// A graph as operations of streams: a node goes on in the stream of one that it waits for, where that one is
// the last there, and else has a stream of its own. So branches run at the same time, and a chain is as if it
// had been given to the stream. Streams that are made for it are non-blocking, and wait for the one it is
// launched in, which waits for them at the end.
#include "driver/error.h"
#include "driver/graph.h"
#include "driver/state.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace lemma::driver {
namespace {

class GraphLaunch {
public:
  GraphLaunch(const lemma::Stream& queue, Context& context) : context_(context) {
    lanes_.push_back({.stream = queue});
  }

  CUresult run(const std::vector<Node*>& order) {
    for (const Node* node : order)
      for (const Node* before : node->dependencies)
        dependents_[before].push_back(node);
    const bool is_chain = std::all_of(order.begin(), order.end(), [&](const Node* node) {
      return node->dependencies.size() == (node == order.front() ? 0 : 1) && dependents_[node].size() <= 1;
    });
    if (!is_chain)
      if (const CUresult status = record(lanes_.front(), begin_); status != CUDA_SUCCESS)
        return status;
    for (const Node* node : order)
      if (const CUresult status = add(*node); status != CUDA_SUCCESS)
        return status;
    for (size_t i = 1; i < lanes_.size(); ++i) {
      lemma::Event end;
      if (const CUresult status = record(lanes_[i], end); status != CUDA_SUCCESS)
        return status;
      if (const CUresult status = wait(lanes_.front(), end); status != CUDA_SUCCESS)
        return status;
    }
    return CUDA_SUCCESS;
  }

private:
  struct Lane {
    lemma::Stream stream;
    const Node* last = nullptr;
  };
  struct Place {
    Lane* lane = nullptr;
    lemma::Event end = {}; // where it is needed
  };

  static CUresult record(const Lane& lane, lemma::Event& event) {
    Result<lemma::Event, Error> recorded = lane.stream.record();
    if (!recorded)
      return status_of(recorded.error());
    event = *std::move(recorded);
    return CUDA_SUCCESS;
  }
  static CUresult wait(const Lane& lane, const lemma::Event& event) {
    return status_of(lane.stream.wait(event));
  }

  Lane& lane_for(const Node& node) {
    for (const Node* before : node.dependencies)
      if (Lane* lane = places_[before].lane; lane->last == before)
        return *lane;
    if (!lanes_.front().last)
      return lanes_.front();
    return lanes_.emplace_back(Lane{.stream = state().device.create_stream({.non_blocking = true})});
  }

  CUresult add(const Node& node) {
    Lane& lane = lane_for(node);
    const bool is_new = !lane.last && &lane != &lanes_.front();
    if (is_new && node.dependencies.empty())
      if (const CUresult status = wait(lane, begin_); status != CUDA_SUCCESS)
        return status;
    for (const Node* before : node.dependencies)
      if (places_[before].lane != &lane)
        if (const CUresult status = wait(lane, places_[before].end); status != CUDA_SUCCESS)
          return status;
    lane.last = &node;
    Place& place = places_[&node];
    place.lane = &lane;
    if (node.is_enabled)
      if (const CUresult status = enqueue(node.operation, lane.stream, context_, HostMemoryIsRead::in_turn);
          status != CUDA_SUCCESS)
        return status;
    const std::vector<const Node*>& next = dependents_[&node];
    if (next.empty() || (next.size() == 1 && next.front()->dependencies.size() == 1))
      return CUDA_SUCCESS;
    return record(lane, place.end);
  }

  Context& context_;
  std::deque<Lane> lanes_; // the first: that of the launch
  lemma::Event begin_;
  std::map<const Node*, std::vector<const Node*>> dependents_;
  std::map<const Node*, Place> places_;
};

} // namespace

CUresult enqueue_graph(const Graph& graph, const lemma::Stream& queue, Context& context) {
  const std::scoped_lock lock(graph.launching);
  if (const CUresult status = status_of(queue.wait(graph.last_launch)); status != CUDA_SUCCESS)
    return status;
  if (const CUresult status = GraphLaunch(queue, context).run(graph.in_order()); status != CUDA_SUCCESS)
    return status;
  Result<lemma::Event, Error> end = queue.record();
  if (!end)
    return status_of(end.error());
  graph.last_launch = *std::move(end);
  return CUDA_SUCCESS;
}

} // namespace lemma::driver
