// Tensor memory: ld and st that are handed on with no wait, products that no commit follows, fences of
// tcgen05 that are missing where a wait on a commit's mbarrier, or an arrival that such a wait is for, lies
// between the two (async.unwaited, tcgen05.fence); allocations that are never given back, or come too late
// (tcgen05.alloc).
//
// A kernel that has no fence of tcgen05 at all relies on barriers, as compilers do: nothing is said of
// fences.
//
// PTX ISA: "Memory Consistency Model for 5th generation of TensorCore operations".
#include "verify/lint_function.h"

#include "isa/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace lemma::verify {
namespace {

namespace effect = isa::effect;
using isa::Opcode;
using ptx::Instruction;
using ptx::kNone;
using Variables = std::set<const ptx::Variable*>;

bool is_fence(Opcode opcode) {
  return isa::effects_of(opcode).has(effect::tensor_memory | effect::fences);
}

bool is_load(Opcode opcode) {
  return opcode == Opcode::tcgen05_ld || opcode == Opcode::tcgen05_ld_red;
}

// What a commit tracks.
bool is_tracked(Opcode opcode) {
  const isa::Effects does = isa::effects_of(opcode);
  return does.has(effect::tensor_memory | effect::async_proxy) && !does.has(effect::tracks);
}

// mbarrier.test_wait, try_wait.
bool is_wait(const Instruction& instruction) {
  const isa::Effects does = isa::effects_of(instruction.opcode);
  return does.has(effect::on_mbarrier) && does.acquires();
}

bool is_arrival(const Instruction& instruction) {
  const isa::Effects does = isa::effects_of(instruction.opcode);
  return does.has(effect::on_mbarrier) && !does.acquires() && !does.has(effect::tensor_memory);
}

class TensorRule {
public:
  explicit TensorRule(LintFunction& lint) : lint_(lint) {
    const auto& instructions = lint.function.instructions;
    for (uint32_t i = 0; i < instructions.size(); ++i) {
      has_fences_ |= is_fence(instructions[i].opcode);
      if (instructions[i].opcode == Opcode::tcgen05_commit)
        committed_to_.insert(mbarrier_of(instructions[i]));
      if (instructions[i].opcode == Opcode::tcgen05_fence_after_thread_sync)
        if (const ptx::Variable* variable = waited_for_before(i))
          fenced_behind_.insert(variable);
    }
    committed_to_.erase(nullptr);
    // A variable with several mbarriers: an arrival may be at one whose waits hand no tensor memory on.
    for (uint32_t i = 0; i < instructions.size(); ++i)
      if (is_wait(instructions[i]) && !is_fenced_behind(i))
        fenced_behind_.erase(mbarrier_of(instructions[i]));
  }

  // What every path says; an instruction, or none.
  struct State {
    uint32_t load = kNone, store = kNone; // that nobody has waited for
    uint32_t moved = kNone;               // the same since fence::before_thread_sync
    uint32_t waited = kNone;              // on a commit's mbarrier, and no fence since
    uint32_t relinquished = kNone;        // the permit to allocate
    friend bool operator==(const State&, const State&) = default;
  };
  State entry() const { return {}; }
  bool join(State& into, const State& from) const {
    const State old = into;
    for (const auto member : kMembers)
      if (into.*member != kNone && from.*member == kNone)
        into.*member = kNone;
    return !(into == old);
  }
  void step(State& state, uint32_t index, bool tells) {
    const Instruction& instruction = lint_.function.instructions[index];
    if (isa::effects_of(instruction.opcode).has(effect::calls)) {
      state = {};
      return;
    }
    if (instruction.opcode == Opcode::tcgen05_st || is_load(instruction.opcode))
      return move(state, index, tells);
    switch (instruction.opcode) {
    case Opcode::tcgen05_wait_ld:
      state.load = kNone;
      return;
    case Opcode::tcgen05_wait_st:
      state.store = kNone;
      return;
    case Opcode::tcgen05_fence_before_thread_sync:
      if (tells)
        hand_on(state, index);
      state.moved = kNone;
      return;
    case Opcode::tcgen05_fence_after_thread_sync:
      state.waited = kNone;
      return;
    case Opcode::tcgen05_relinquish_alloc_permit:
      state.relinquished = index;
      return;
    case Opcode::tcgen05_alloc:
      if (tells && state.relinquished != kNone)
        lint_.warn("tcgen05.alloc", index,
                   fmt::format("the CTA allocates, and has relinquished that at line {}",
                               lint_.line(state.relinquished)),
                   "tcgen05.relinquish_alloc_permit after the last tcgen05.alloc");
      return;
    default:
      synchronize(state, index, tells);
    }
  }

private:
  static constexpr std::array kMembers = {&State::load, &State::store, &State::moved, &State::waited,
                                          &State::relinquished};

  const ptx::Variable* mbarrier_of(const Instruction& instruction) const {
    for (const ptx::Operand& operand : instruction.operands)
      if (operand.kind == ptx::OperandKind::address)
        return lint_.shared_variable(operand);
    return nullptr;
  }

  static constexpr uint32_t kMostBetween = 8; // instructions: a wait and its fence

  // The last in the text, with no other synchronization between.
  const ptx::Variable* waited_for_before(uint32_t index) const {
    for (uint32_t i = index; i-- > 0 && index - i <= kMostBetween;)
      if (is_wait(lint_.function.instructions[i]))
        return mbarrier_of(lint_.function.instructions[i]);
    return nullptr;
  }

  bool is_fenced_behind(uint32_t wait) const {
    const auto& instructions = lint_.function.instructions;
    for (uint32_t i = wait + 1; i < instructions.size() && i - wait <= kMostBetween; ++i) {
      if (instructions[i].opcode == Opcode::tcgen05_fence_after_thread_sync)
        return true;
      if (is_wait(instructions[i]))
        return false;
    }
    return false;
  }

  void move(State& state, uint32_t index, bool tells) {
    const bool loads = is_load(lint_.function.instructions[index].opcode);
    if (tells && has_fences_ && state.waited != kNone)
      lint_.warn(
          "tcgen05.fence", index,
          fmt::format("no tcgen05.fence::after_thread_sync since the wait at line {} for a tcgen05.commit",
                      lint_.line(state.waited)),
          fmt::format("tcgen05.fence::after_thread_sync after line {}", lint_.line(state.waited)));
    (loads ? state.load : state.store) = index;
    state.moved = index;
  }

  void hand_on(const State& state, uint32_t index) {
    for (const auto& [move, name, wait] : {std::tuple(state.load, "tcgen05.ld", "tcgen05.wait::ld"),
                                           {state.store, "tcgen05.st", "tcgen05.wait::st"}})
      if (move != kNone)
        lint_.warn(
            "async.unwaited", index,
            fmt::format("tensor memory is handed on while the {} of line {} is not known to be complete",
                        name, lint_.line(move)),
            fmt::format("{} after line {}", wait, lint_.line(move)));
  }

  void synchronize(State& state, uint32_t index, bool tells) {
    const Instruction& instruction = lint_.function.instructions[index];
    if (is_wait(instruction)) {
      if (committed_to_.contains(mbarrier_of(instruction)))
        state.waited = index;
    } else if (tells && has_fences_ && state.moved != kNone && is_arrival(instruction) &&
               fenced_behind_.contains(mbarrier_of(instruction))) {
      lint_.warn(
          "tcgen05.fence", index,
          fmt::format("no tcgen05.fence::before_thread_sync between line {} and this arrival, which hands "
                      "tensor memory on",
                      lint_.line(state.moved)),
          "tcgen05.fence::before_thread_sync before it");
    }
  }

  LintFunction& lint_;
  bool has_fences_ = false;
  Variables committed_to_;  // mbarriers
  Variables fenced_behind_; // mbarriers, all waits on which a fence follows
};

} // namespace

void lint_tensor(LintFunction& lint) {
  const auto& instructions = lint.function.instructions;
  if (std::ranges::none_of(instructions, [](const Instruction& instruction) {
        return isa::effects_of(instruction.opcode).has(effect::tensor_memory);
      }))
    return;
  TensorRule rule(lint);
  solve(lint, rule);
  if (!lint.function.is_entry) // its callers may do the rest
    return;
  const auto calls = [](const Instruction& instruction) {
    return isa::effects_of(instruction.opcode).has(effect::calls);
  };
  const auto is = [](Opcode opcode) {
    return [opcode](const Instruction& instruction) { return instruction.opcode == opcode; };
  };
  const auto without = [&](auto&& issues, Opcode end, std::string_view id, std::string_view message,
                           std::string_view missing) {
    each_unended(
        lint, issues,
        [&](const Instruction& instruction) { return instruction.opcode == end || calls(instruction); },
        [&](uint32_t i) { lint.warn(id, i, std::string(message), std::string(missing)); });
  };
  const std::string_view nobody = "nothing waits for this operation, on any path";
  without([](const Instruction& i) { return is_load(i.opcode); }, Opcode::tcgen05_wait_ld, "async.unwaited",
          nobody, "tcgen05.wait::ld after it");
  without(is(Opcode::tcgen05_st), Opcode::tcgen05_wait_st, "async.unwaited", nobody,
          "tcgen05.wait::st after it");
  without([](const Instruction& i) { return is_tracked(i.opcode); }, Opcode::tcgen05_commit, "async.unwaited",
          "no tcgen05.commit follows, on any path", "tcgen05.commit after it, and a wait on its mbarrier");
  without(is(Opcode::tcgen05_alloc), Opcode::tcgen05_dealloc, "tcgen05.alloc",
          "tensor memory that is never given back, on any path", "tcgen05.dealloc before the CTA ends");
}

} // namespace lemma::verify
