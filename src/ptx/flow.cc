// Basic blocks, then their order: strongly connected components in topological order, each loop ordered again
// without the edges to its head. Recursion is a work list and Tarjan's stack an explicit one, because a
// hostile text may nest as deep as it is long.
//
// F. Bourdoncle, "Efficient chaotic iteration strategies with widenings", 1993.
#include "ptx/flow.h"

#include "isa/effects.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace lemma::ptx {
namespace {

constexpr uint64_t kMostBranchTargets = uint64_t{1} << 18; // of a function
constexpr int kDeepestLoop = 64;

// Explicit targets of a control instruction, as instruction indices.
std::span<const uint32_t> targets_of(const Function& function, const Instruction& instruction) {
  if (is_branch(instruction))
    return {&function.labels[instruction.operands[0].symbol].target, 1};
  if (is_table_branch(instruction))
    return function.target_lists[instruction.operands.back().symbol].labels;
  return {};
}

// Instructions share their lists, so these may be far more than the text has words.
bool has_too_many_targets(const Function& function) {
  uint64_t targets = 0;
  for (const Instruction& instruction : function.instructions)
    targets += targets_of(function, instruction).size();
  return targets > kMostBranchTargets;
}

// Strongly connected components of the sub-graph of `nodes`, in topological order. Tarjan's algorithm with
// its own stack, since hostile input may nest as deep as it is long.
class Components {
public:
  explicit Components(std::span<const BasicBlock> blocks)
      : blocks_(blocks), region_of_(blocks.size(), 0), index_(blocks.size()), low_(blocks.size()),
        on_stack_(blocks.size()) {}

  std::vector<std::vector<uint32_t>> find(const std::vector<uint32_t>& nodes) {
    ++region_;
    counter_ = 0;
    found_.clear();
    for (const uint32_t node : nodes) {
      region_of_[node] = region_;
      index_[node] = kUnseen;
    }
    for (const uint32_t node : nodes)
      if (index_[node] == kUnseen)
        visit(node);
    std::reverse(found_.begin(), found_.end());
    return std::move(found_);
  }
  uint64_t steps() const { return steps_; }

private:
  static constexpr uint32_t kUnseen = UINT32_MAX;
  struct Level {
    uint32_t node;
    size_t next_successor;
  };

  void open(uint32_t node, std::vector<Level>& levels) {
    index_[node] = low_[node] = counter_++;
    stack_.push_back(node);
    on_stack_[node] = true;
    levels.push_back({node, 0});
  }

  void close(uint32_t node) {
    std::vector<uint32_t> component;
    uint32_t popped;
    do {
      popped = stack_.back();
      stack_.pop_back();
      on_stack_[popped] = false;
      component.push_back(popped);
    } while (popped != node);
    std::sort(component.begin(), component.end());
    found_.push_back(std::move(component));
  }

  void visit(uint32_t root) {
    std::vector<Level> levels;
    open(root, levels);
    while (!levels.empty()) {
      ++steps_;
      const uint32_t node = levels.back().node;
      const auto& successors = blocks_[node].successors;
      if (levels.back().next_successor < successors.size()) {
        // Last successor first: the order is reversed in the end, so what is fallen into stays near.
        const uint32_t next = successors[successors.size() - 1 - levels.back().next_successor++];
        if (region_of_[next] != region_)
          continue;
        if (index_[next] == kUnseen)
          open(next, levels);
        else if (on_stack_[next])
          low_[node] = std::min(low_[node], index_[next]);
        continue;
      }
      if (low_[node] == index_[node])
        close(node);
      levels.pop_back();
      if (!levels.empty())
        low_[levels.back().node] = std::min(low_[levels.back().node], low_[node]);
    }
  }

  std::span<const BasicBlock> blocks_;
  uint64_t steps_ = 0;
  std::vector<uint32_t> region_of_; // which call of find() last looked at a block
  uint32_t region_ = 0;
  std::vector<uint32_t> index_, low_;
  std::vector<bool> on_stack_;
  std::vector<uint32_t> stack_;
  uint32_t counter_ = 0;
  std::vector<std::vector<uint32_t>> found_;
};

bool has_self_loop(const BasicBlock& block, uint32_t index) {
  return std::find(block.successors.begin(), block.successors.end(), index) != block.successors.end();
}

std::vector<bool> reachable(std::span<const BasicBlock> blocks) {
  std::vector<bool> reached(blocks.size(), false);
  std::vector<uint32_t> stack{0};
  reached[0] = true;
  while (!stack.empty()) {
    const uint32_t block = stack.back();
    stack.pop_back();
    for (const uint32_t next : blocks[block].successors)
      if (!reached[next]) {
        reached[next] = true;
        stack.push_back(next);
      }
  }
  return reached;
}

} // namespace

bool ends_block(Opcode opcode) {
  return isa::effects_of(opcode).has_any(isa::effect::jumps | isa::effect::stops);
}

Flow flow_of(const Function& function) {
  const auto count = static_cast<uint32_t>(function.instructions.size());
  std::vector<bool> leads(count + 1, false);
  leads[0] = true;
  for (uint32_t i = 0; i < count; ++i) {
    const Instruction& instruction = function.instructions[i];
    if (!ends_block(instruction.opcode))
      continue;
    leads[i + 1] = true;
    for (const uint32_t target : targets_of(function, instruction))
      leads[target] = true;
  }
  Flow flow;
  flow.has_successors = !has_too_many_targets(function);
  std::vector<BasicBlock>& blocks = flow.blocks;
  std::vector<uint32_t> block_at(count + 1, 0);
  for (uint32_t i = 0; i <= count; ++i) {
    if (leads[i] || i == count) {
      if (!blocks.empty())
        blocks.back().end = i;
      blocks.push_back({i, i, {}, false});
    }
    block_at[i] = static_cast<uint32_t>(blocks.size() - 1);
  }
  // The last block is empty and stands for the end of the body: running into it returns.
  for (uint32_t b = 0; b + 1 < blocks.size(); ++b) {
    BasicBlock& block = blocks[b];
    const Instruction& last = function.instructions[block.end - 1];
    const bool leaves = ends_block(last.opcode) && last.guard.reg == kNone;
    block.falls_through = !leaves;
    if (!flow.has_successors)
      continue;
    if (block.falls_through)
      block.successors.push_back(b + 1);
    if (ends_block(last.opcode))
      for (const uint32_t target : targets_of(function, last))
        block.successors.push_back(block_at[target]);
  }
  return flow;
}

std::vector<uint32_t> layout_order(const Flow& flow, uint64_t* steps) {
  // A work list instead of recursion. Each item is a region still to be ordered, in the order of the text;
  // regions come out in order because they are pushed in reverse.
  struct Region {
    std::vector<uint32_t> nodes;
    int depth = 0; // loops around it
  };
  const std::vector<BasicBlock>& blocks = flow.blocks;
  std::vector<uint32_t> order;
  std::vector<uint32_t> all(blocks.size());
  std::iota(all.begin(), all.end(), 0u);
  if (!flow.has_successors)
    return all;
  Components components_of(blocks);
  std::vector<Region> pending;
  pending.push_back({std::move(all), 0});
  while (!pending.empty()) {
    const auto [nodes, depth] = std::move(pending.back());
    pending.pop_back();
    if (nodes.size() == 1 || depth == kDeepestLoop) {
      order.insert(order.end(), nodes.begin(), nodes.end());
      continue;
    }
    std::vector<std::vector<uint32_t>> components = components_of.find(nodes);
    if (components.size() == 1 && (components[0].size() > 1 || has_self_loop(blocks[nodes[0]], nodes[0]))) {
      // One loop: its head, the first block of the text, then the rest without the edges back to it.
      order.push_back(nodes[0]);
      pending.push_back({{nodes.begin() + 1, nodes.end()}, depth + 1});
      continue;
    }
    for (size_t i = components.size(); i-- > 0;)
      pending.push_back({std::move(components[i]), depth});
  }
  if (steps)
    *steps = components_of.steps();
  const std::vector<bool> reached = reachable(blocks);
  std::stable_partition(order.begin(), order.end(), [&](uint32_t block) { return reached[block]; });
  return order;
}

} // namespace lemma::ptx
