// What the rules of lint.h share: a function's flow, where a warp is surely divided, what its registers hold,
// and a solver of forward data flow. Not for other folders.
//
// Tests: tests/verify/lint_test.cc.
#pragma once

#include "ptx/flow.h"
#include "ptx/module.h"
#include "ptx/origins.h"
#include "support/diagnostic.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lemma::verify {

// Of a CTA, by %tid.x.
using Threads = std::bitset<1024>;

// Those for which a predicate may hold, and those for which it may not.
struct Outcomes {
  Threads holds, fails;
};

// What is known of a register, or of another operand, without a run.
struct Known {
  enum class Kind : uint8_t {
    nothing,
    constant, // `bits`
    thread,   // %tid.x, shifted right by `shift`; or the remainder of it by a multiple of 32, if `is_part`
    lane,     // from 0 to `bits`, each value in some lane, as many lanes for each
    divided,  // a predicate that surely differs among the lanes of some warp
  } kind = Kind::nothing;
  uint8_t shift = 0;
  uint64_t bits = 0;
  bool is_part = false;
  std::shared_ptr<const Outcomes> outcomes = {}; // of a predicate; null: either, for all threads
};

class LintFunction {
public:
  LintFunction(const ptx::Module& module, const ptx::Function& function, Diagnostics& found);

  const ptx::Module& module;
  const ptx::Function& function;
  const ptx::Flow flow;
  const std::vector<uint32_t> order;    // of the blocks
  const std::vector<uint32_t> block_of; // by instruction
  const ptx::Origins origins;

  // The guard, where there is one, holds in some lanes of a warp and not in others.
  bool is_guard_divided(uint32_t instruction) const { return guard_divided_[instruction]; }
  // The membermask that the instruction has, if that is a constant.
  std::optional<uint32_t> membermask(uint32_t instruction) const;
  // The one that an address, or a matrix descriptor, is computed from; null: not known.
  const ptx::Variable* shared_variable(const ptx::Operand& operand) const;

  // A branch that some lanes of a warp take and others do not, and the blocks that only one of the two
  // executes: to where they meet again, without those that only whole warps come to.
  struct Division {
    uint32_t branch = 0; // instruction
    std::vector<bool> blocks;
  };
  const std::vector<Division>& divisions() const { return divisions_; }
  // The innermost that the instruction is in; null: none that is known.
  const Division* division_of(uint32_t instruction) const;
  // Every thread that does not exit comes here.
  bool is_on_every_path(uint32_t instruction) const { return on_every_path_[block_of[instruction]]; }

  uint32_t line(uint32_t instruction) const;
  // One finding an id and instruction.
  void warn(std::string_view id, uint32_t instruction, std::string message, std::string missing);

private:
  void find_known();
  void find_divisions();
  void find_reaching();
  bool is_for_whole_warps(uint32_t block) const;
  Known known(const ptx::Operand& operand) const;
  Known compute(const ptx::Instruction& instruction) const;
  Known compare(const ptx::Instruction& instruction) const;
  Known mask(Known a, Known b) const;

  std::vector<Known> known_; // by register, while the text is gone through
  std::vector<bool> guard_divided_;
  std::map<uint32_t, std::shared_ptr<const Outcomes>> guard_outcomes_; // by instruction; others: either
  std::vector<Threads> reaching_;      // by block: threads that come there, at most
  std::map<uint32_t, uint32_t> masks_; // by instruction
  std::vector<Division> divisions_;
  std::vector<bool> on_every_path_;
  uint64_t threads_ = 0; // of a CTA along x, at most; 0: not known
  std::set<std::pair<std::string, uint32_t>> warned_;
  Diagnostics& found_;
};

// Forward data flow: what holds where each block begins; nothing for blocks that are not reached. Rule has
//   State: what holds; State entry() const;
//   void step(State&, uint32_t instruction, bool tells): what an instruction makes of it;
//   bool join(State& into, const State& from): true if that made a difference.
// Then every instruction is stepped over once more, and may tell.
template <class Rule>
void solve(const LintFunction& lint, Rule& rule) {
  using State = typename Rule::State;
  const auto& blocks = lint.flow.blocks;
  std::vector<std::optional<State>> at_begin(blocks.size());
  at_begin[0] = rule.entry();
  const auto run = [&](State& state, uint32_t block, bool tells) {
    for (uint32_t i = blocks[block].begin; i < blocks[block].end; ++i)
      rule.step(state, i, tells);
  };
  constexpr int kMostPasses = 64; // a state changes seldom, and loops nest less deep
  int pass = 0;
  std::vector<bool> changed(blocks.size(), false);
  changed[0] = true;
  for (bool again = true; again;) {
    again = false;
    if (++pass > kMostPasses)
      return;
    for (const uint32_t block : lint.order) {
      if (!changed[block] || !at_begin[block])
        continue;
      changed[block] = false;
      State state = *at_begin[block];
      run(state, block, false);
      for (const uint32_t next : blocks[block].successors) {
        bool differs = true;
        if (!at_begin[next])
          at_begin[next] = state;
        else
          differs = rule.join(*at_begin[next], state);
        if (differs)
          changed[next] = again = true;
      }
    }
  }
  for (uint32_t block = 0; block < blocks.size(); ++block)
    if (at_begin[block]) {
      State state = *at_begin[block];
      run(state, block, true);
    }
}

// Instructions, of those that `issues` says, that none of those that `ends` says follows on any path.
template <class Issues, class Ends, class F>
void each_unended(const LintFunction& lint, Issues&& issues, Ends&& ends, F&& tell) {
  const auto& blocks = lint.flow.blocks;
  std::vector<bool> leads(blocks.size()); // to an end, from the block's begin
  const auto goes_on = [&](uint32_t b) {
    return std::ranges::any_of(blocks[b].successors, [&](uint32_t next) { return bool(leads[next]); });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = lint.order.size(); k-- > 0;) {
      const uint32_t b = lint.order[k];
      bool found = leads[b] || goes_on(b);
      for (uint32_t i = blocks[b].begin; !found && i < blocks[b].end; ++i)
        found = ends(lint.function.instructions[i]);
      changed |= found && !leads[b];
      leads[b] = found;
    }
  }
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    bool after = goes_on(b);
    for (uint32_t i = blocks[b].end; i-- > blocks[b].begin;) {
      after |= ends(lint.function.instructions[i]);
      if (!after && issues(lint.function.instructions[i]))
        tell(i);
    }
  }
}

// The rules, each in a file of its name.
void lint_wgmma(LintFunction& lint);
void lint_async(LintFunction& lint);  // groups, cluster barriers, the async proxy
void lint_tensor(LintFunction& lint); // tcgen05
void lint_warps(LintFunction& lint);  // divided warps, masks, mbarrier.init

} // namespace lemma::verify
