// Groups that nobody commits or waits for (async.unwaited), arrivals at the cluster's barrier without a wait
// (cluster.arrive), and shared memory that the async proxy reads with no proxy fence on any path
// (race.proxy).
//
// PTX ISA: "Data Movement and Conversion Instructions: Asynchronous copy", "barrier.cluster", "Async proxy".
#include "verify/lint_function.h"

#include "isa/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace lemma::verify {
namespace {

namespace effect = isa::effect;
using isa::Qual;
using ptx::Instruction;
using ptx::kNone;
using ptx::Operand;

enum class GroupEvent : uint8_t { none, issue, commit, wait, opaque };

// Of operations of the group that rows name so.
GroupEvent event_of(const Instruction& instruction, isa::Effects group) {
  const isa::Effects effects = isa::effects_of(instruction.opcode);
  if (effects.has(effect::calls))
    return GroupEvent::opaque;
  if (!effects.has(group))
    return GroupEvent::none;
  // Without a group of their own: cp.async.mbarrier.arrive and cp.async.wait_all.
  if (effects.has(effect::tracks) || effects.has(effect::commits | effect::waits))
    return GroupEvent::opaque;
  return effects.has(effect::commits) ? GroupEvent::commit
         : effects.has(effect::waits) ? GroupEvent::wait
                                      : GroupEvent::issue;
}

GroupEvent copy_event(const Instruction& instruction) {
  return event_of(instruction, effect::cp_group);
}

GroupEvent bulk_event(const Instruction& instruction) {
  const GroupEvent event = event_of(instruction, effect::bulk_group);
  return event == GroupEvent::issue && !instruction.has(Qual::bulk_group) ? GroupEvent::none : event;
}

// Of an entry: a device function may leave the rest to its callers.
class GroupRule {
public:
  using EventOf = GroupEvent (*)(const Instruction&);
  GroupRule(LintFunction& lint, EventOf event_of, const char* family)
      : lint_(lint), event_of_(event_of), family_(family) {}

  enum class State : uint8_t { nothing, issued, committed }; // committed: something, some time, on some path
  State entry() const { return State::nothing; }
  bool join(State& into, State from) const {
    const State old = into;
    into = std::max(into, from);
    return into != old;
  }
  void step(State& state, uint32_t index, bool tells) {
    switch (event_of_(lint_.function.instructions[index])) {
    case GroupEvent::issue:
      state = std::max(state, State::issued);
      break;
    case GroupEvent::commit:
    case GroupEvent::opaque:
      state = State::committed;
      break;
    case GroupEvent::wait:
      if (tells && state == State::issued)
        lint_.warn("async.unwaited", index,
                   fmt::format("{}.wait_group waits for groups that were committed: none was", family_),
                   fmt::format("{}.commit_group between the copies and the wait", family_));
      break;
    case GroupEvent::none:
      break;
    }
  }

  // Operations after which nobody waits on any path.
  void find_without_wait() {
    each_unended(
        lint_, [&](const Instruction& i) { return event_of_(i) == GroupEvent::issue; },
        [&](const Instruction& i) {
          return event_of_(i) == GroupEvent::wait || event_of_(i) == GroupEvent::opaque;
        },
        [&](uint32_t i) {
          lint_.warn("async.unwaited", i, "nothing waits for this operation, on any path",
                     fmt::format("{0}.commit_group and {0}.wait_group 0 after it", family_));
        });
  }

private:
  LintFunction& lint_;
  EventOf event_of_;
  const char* family_;
};

// barrier.cluster.arrive; else what meets the cluster waits for it.
bool is_arrival(isa::Effects does) {
  return does.has(effect::meets_cluster) && !does.acquires();
}

class ClusterRule {
public:
  explicit ClusterRule(LintFunction& lint) : lint_(lint) {}

  struct State {
    enum class Phase : uint8_t { open, arrived, unknown } phase = Phase::open;
    uint32_t arrival = kNone;
    friend bool operator==(const State&, const State&) = default;
  };
  using Phase = State::Phase;
  State entry() const { return {}; }
  bool join(State& into, const State& from) const {
    const State old = into;
    if (into.phase != from.phase)
      into = {Phase::unknown, kNone};
    into.arrival = std::min(into.arrival, from.arrival);
    return !(into == old);
  }
  void step(State& state, uint32_t index, bool tells) {
    const Instruction& instruction = lint_.function.instructions[index];
    const bool is_sure = instruction.guard.reg == kNone;
    const isa::Effects does = isa::effects_of(instruction.opcode);
    if (is_arrival(does)) {
      if (tells && is_sure && state.phase == Phase::arrived)
        lint_.warn("cluster.arrive", index,
                   fmt::format("a thread arrives again that has arrived at line {} and not waited",
                               lint_.line(state.arrival)),
                   "barrier.cluster.wait between the two");
      state = is_sure ? State{Phase::arrived, index} : State{Phase::unknown, kNone};
    } else if (does.has(effect::meets_cluster)) {
      if (tells && is_sure && state.phase == Phase::open)
        lint_.warn("cluster.arrive", index, "a thread waits that has not arrived",
                   "barrier.cluster.arrive before it");
      state = is_sure ? State{} : State{Phase::unknown, kNone};
    } else if (does.has(effect::calls)) {
      state = {Phase::unknown, kNone};
    } else if (does.has(effect::leaves) && tells && is_sure && state.phase == Phase::arrived) {
      lint_.warn("cluster.arrive", state.arrival, "a thread arrives here, and exits without a wait",
                 "barrier.cluster.wait before the end");
    }
  }

private:
  LintFunction& lint_;
};

// Shared variables that no asynchronous operation writes: what one reads of them, ordinary stores have
// written.
class ProxyRule {
public:
  explicit ProxyRule(LintFunction& lint) : lint_(lint) {
    for (const Instruction& instruction : lint.function.instructions)
      if (const Operand* to = async_destination(instruction)) {
        if (const ptx::Variable* variable = lint.shared_variable(*to))
          written_by_async_[variable] = true;
        else
          is_decidable_ = false;
      }
  }
  bool is_decidable() const { return is_decidable_; }

  struct State {
    bool fenced = false;                                  // on some path
    std::map<const ptx::Variable*, uint32_t> stored = {}; // an instruction, on some path
  };
  State entry() const { return {.fenced = !lint_.function.is_entry}; }
  bool join(State& into, const State& from) const {
    bool differs = from.fenced && !into.fenced;
    into.fenced |= from.fenced;
    for (const auto& [variable, instruction] : from.stored)
      differs |= into.stored.emplace(variable, instruction).second;
    return differs;
  }
  void step(State& state, uint32_t index, bool tells) {
    const Instruction& instruction = lint_.function.instructions[index];
    const isa::Effects does = isa::effects_of(instruction.opcode);
    if (does.has(effect::calls) || does.has(effect::fences | effect::async_proxy))
      state.fenced = true;
    else if (does.has(effect::wgmma))
      for (const size_t matrix : {1, 2})
        read(state, instruction.operands[matrix], index, tells);
    else if (does.has(effect::tensor_memory | effect::shared_operands)) // a copy, a product
      for (const ptx::Operand& matrix : instruction.operands)
        read(state, matrix, index, tells);
    else if (does.has(effect::bulk)) {
      const bool loads = async_destination(instruction) && instruction.has(Qual::global);
      if (!loads && instruction.operands.size() > 1)
        read(state, instruction.operands[1], index, tells);
    } else if (does.has(effect::writes) && !does.has_any(kNotGeneric)) {
      store(state, instruction, index);
    }
  }

private:
  // What writes in another proxy, or mbarrier objects, which it reads itself.
  static constexpr isa::Effects kNotGeneric =
      effect::asynchronous | effect::on_mbarrier | effect::makes_mbarrier | effect::ends_mbarrier |
      effect::tensormap_proxy | effect::tensor_memory | effect::textures;

  // In shared memory; null: there is none.
  static const Operand* async_destination(const Instruction& instruction) {
    const isa::Effects does = isa::effects_of(instruction.opcode);
    const bool writes = does.has(effect::bulk)
                            ? !instruction.has(Qual::bulk_group)
                            : does.has(effect::asynchronous | effect::writes | effect::ordered);
    return writes ? &instruction.operands[0] : nullptr;
  }

  void store(State& state, const Instruction& instruction, uint32_t index) {
    for (const Operand& operand : instruction.operands)
      if (operand.kind == ptx::OperandKind::address) {
        if (const ptx::Variable* variable = lint_.shared_variable(operand))
          state.stored.emplace(variable, index);
        return;
      }
  }

  void read(State& state, const Operand& operand, uint32_t index, bool tells) {
    const ptx::Variable* variable = lint_.shared_variable(operand);
    if (!tells || state.fenced || !variable || written_by_async_.count(variable))
      return;
    const auto stored = state.stored.find(variable);
    if (stored != state.stored.end())
      lint_.warn(
          "race.proxy", index,
          fmt::format("the async proxy reads {}, which is written at line {} in the generic proxy, and "
                      "no path to here has a fence.proxy.async",
                      variable->name, lint_.line(stored->second)),
          fmt::format("fence.proxy.async after line {}, before the barrier that orders the two",
                      lint_.line(stored->second)));
  }

  LintFunction& lint_;
  std::map<const ptx::Variable*, bool> written_by_async_;
  bool is_decidable_ = true;
};

} // namespace

void lint_async(LintFunction& lint) {
  const auto has = [&](auto&& what) {
    return std::any_of(lint.function.instructions.begin(), lint.function.instructions.end(), what);
  };
  if (lint.function.is_entry) {
    for (const auto& [event_of, family] :
         {std::pair(&copy_event, "cp.async"), std::pair(&bulk_event, "cp.async.bulk")}) {
      if (!has([&](const Instruction& i) { return event_of(i) == GroupEvent::issue; }))
        continue;
      GroupRule rule(lint, event_of, family);
      solve(lint, rule);
      rule.find_without_wait();
    }
    if (has([](const Instruction& i) { return isa::effects_of(i.opcode).has(effect::meets_cluster); })) {
      ClusterRule rule(lint);
      solve(lint, rule);
    }
  }
  ProxyRule rule(lint);
  if (rule.is_decidable())
    solve(lint, rule);
}

} // namespace lemma::verify
