// One algorithm, on the graph and on the graph turned round. See dominators.h.
#include "ptx/dominators.h"

#include <utility>

namespace lemma::ptx {
namespace {

using Edges = std::vector<std::vector<uint32_t>>; // by node

Edges turned_round(const Edges& edges) {
  Edges turned(edges.size());
  for (uint32_t from = 0; from < edges.size(); ++from)
    for (const uint32_t to : edges[from])
      turned[to].push_back(from);
  return turned;
}

// The nodes that `root` leads to, in post-order. A work list: a hostile text may nest as deep as it is long.
std::vector<uint32_t> post_order(const Edges& edges, uint32_t root) {
  std::vector<uint32_t> order;
  std::vector<std::pair<uint32_t, size_t>> stack{{root, 0}};
  std::vector<bool> seen(edges.size());
  seen[root] = true;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next < edges[node].size()) {
      const uint32_t to = edges[node][next++];
      if (!seen[to]) {
        seen[to] = true;
        stack.emplace_back(to, 0);
      }
      continue;
    }
    order.push_back(node);
    stack.pop_back();
  }
  return order;
}

std::vector<uint32_t> immediate(const Edges& edges, uint32_t root) {
  const Edges before = turned_round(edges);
  const std::vector<uint32_t> order = post_order(edges, root);
  std::vector<uint32_t> number(edges.size(), kNone), dominator(edges.size(), kNone);
  for (uint32_t i = 0; i < order.size(); ++i)
    number[order[i]] = i;
  dominator[root] = root;
  const auto meet = [&](uint32_t a, uint32_t b) {
    while (a != b)
      (number[a] < number[b] ? a : b) = dominator[number[a] < number[b] ? a : b];
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = order.size() - 1; i-- > 0;) {
      const uint32_t node = order[i];
      uint32_t found = kNone;
      for (const uint32_t each : before[node])
        if (dominator[each] != kNone)
          found = found == kNone ? each : meet(found, each);
      changed |= std::exchange(dominator[node], found) != found;
    }
  }
  return dominator;
}

} // namespace

std::vector<uint32_t> dominators(const Flow& flow) {
  Edges edges;
  for (const BasicBlock& block : flow.blocks)
    edges.push_back(block.successors);
  return edges.empty() ? std::vector<uint32_t>{} : immediate(edges, 0);
}

std::vector<uint32_t> post_dominators(const Flow& flow) {
  const auto count = static_cast<uint32_t>(flow.blocks.size());
  Edges edges;
  for (const BasicBlock& block : flow.blocks)
    edges.push_back(block.successors.empty() ? std::vector{count} : block.successors);
  edges.emplace_back();
  return immediate(turned_round(edges), count);
}

} // namespace lemma::ptx
