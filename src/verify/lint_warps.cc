// Warps that are surely divided: `.aligned` instructions there (barrier.divergent, warp.aligned,
// warp.setmaxnreg), membermasks that name lanes which do not come or lack lanes which do (warp.mask,
// warp.elect), and mbarrier objects that one thread initializes and others use with no barrier between
// (mbarrier.init).
//
// PTX ISA: "bar, barrier", "shfl.sync", "mbarrier.init".
#include "verify/lint_function.h"

#include "isa/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace lemma::verify {
namespace {

namespace effect = isa::effect;
using isa::Opcode;
using isa::Qual;
using ptx::Instruction;
using ptx::kNone;

bool is_barrier(const Instruction& instruction) {
  return isa::effects_of(instruction.opcode).has_any(effect::meets_cta | effect::meets_cluster);
}

bool is_aligned(const Instruction& instruction) {
  return isa::effects_of(instruction.opcode).has(effect::aligned) || instruction.has(Qual::aligned);
}

class WarpRules {
public:
  explicit WarpRules(LintFunction& lint) : lint_(lint), instructions_(lint.function.instructions) {}

  void run() {
    uint32_t named = 0; // by masks that every thread comes to
    for (uint32_t i = 0; i < instructions_.size(); ++i)
      if (const auto mask = lint_.membermask(i); mask && is_for_all(i))
        named |= *mask;
    for (uint32_t i = 0; i < instructions_.size(); ++i) {
      check_aligned(i);
      check_mask(i, named);
    }
  }

private:
  bool is_for_all(uint32_t i) const {
    return instructions_[i].guard.reg == kNone && lint_.is_on_every_path(i);
  }
  void check_aligned(uint32_t i) {
    if (!is_aligned(instructions_[i]))
      return;
    const LintFunction::Division* division = lint_.division_of(i);
    if (!division && !lint_.is_guard_divided(i))
      return;
    const std::string_view id = is_barrier(instructions_[i])                    ? "barrier.divergent"
                                : instructions_[i].opcode == Opcode::setmaxnreg ? "warp.setmaxnreg"
                                                                                : "warp.aligned";
    const std::string name = std::string(isa::to_string(instructions_[i].opcode));
    if (!division)
      lint_.warn(id, i, fmt::format("{} under a guard that holds in some lanes of a warp alone", name),
                 "all lanes of the warp, or none");
    else
      lint_.warn(
          id, i,
          fmt::format("{} in code that some lanes of a warp alone come to: the branch at line {} "
                      "divides them",
                      name, lint_.line(division->branch)),
          "the instruction where the lanes have met again, or a condition that is the same in all of them");
  }

  void check_mask(uint32_t i, uint32_t named) {
    const auto mask = lint_.membermask(i);
    if (!mask)
      return;
    const std::string name = std::string(isa::to_string(instructions_[i].opcode));
    if (*mask == 0) {
      lint_.warn("warp.mask", i, fmt::format("the membermask of {} is 0: it lacks whoever executes it", name),
                 "the lanes that execute it");
      return;
    }
    if (is_for_all(i) && (*mask & named) != named) {
      lint_.warn("warp.mask", i,
                 fmt::format("the membermask {:#x} of {} lacks lanes that execute it: others like it in this "
                             "function name {:#x}",
                             *mask, name, named),
                 fmt::format("membermask {:#x}", named));
      return;
    }
    const LintFunction::Division* division = lint_.division_of(i);
    if (*mask != UINT32_MAX || (!division && !lint_.is_guard_divided(i)) ||
        (division && meets_elsewhere(*division, i)))
      return;
    lint_.warn(instructions_[i].opcode == Opcode::elect_sync ? "warp.elect" : "warp.mask", i,
               division ? fmt::format("the membermask of {} names all lanes, but the branch at line {} lets "
                                      "some of them alone come here",
                                      name, lint_.line(division->branch))
                        : fmt::format("the membermask of {} names all lanes, but its guard holds in some of "
                                      "them alone",
                                      name),
               "a membermask of the lanes that come, or the instruction where all of them do");
  }

  // Do the lanes that the division sends elsewhere come to such an instruction as well? In another block of
  // it, then.
  bool meets_elsewhere(const LintFunction::Division& division, uint32_t i) {
    const auto [at, is_new] = several_.try_emplace(&division);
    if (is_new) {
      std::map<Opcode, uint32_t> first; // block that has one
      for (uint32_t block = 0; block < division.blocks.size(); ++block)
        for (uint32_t k = lint_.flow.blocks[block].begin; k < lint_.flow.blocks[block].end; ++k)
          if (division.blocks[block] && first.emplace(instructions_[k].opcode, block).first->second != block)
            at->second.insert(instructions_[k].opcode);
    }
    return at->second.count(instructions_[i].opcode) != 0;
  }

  LintFunction& lint_;
  const std::vector<Instruction>& instructions_;
  // What stands in several blocks of a division.
  std::map<const LintFunction::Division*, std::set<Opcode>> several_;
};

// An initialization by some lanes, and a use by others.
class MbarrierRule {
public:
  explicit MbarrierRule(LintFunction& lint) : lint_(lint) {}

  struct State {
    enum class Order : uint8_t { none, initialized, ordered } order = Order::none;
    uint32_t init = kNone;
    friend bool operator==(const State&, const State&) = default;
  };
  using Order = State::Order;
  State entry() const { return {}; }
  bool join(State& into, const State& from) const {
    const State old = into;
    if (from.order > into.order)
      into = from;
    else if (from.order == into.order)
      into.init = std::min(into.init, from.init);
    return !(into == old);
  }
  void step(State& state, uint32_t index, bool tells) {
    const Instruction& instruction = lint_.function.instructions[index];
    const isa::Effects does = isa::effects_of(instruction.opcode);
    const isa::Effects meets = effect::masked | effect::meets_cta | effect::meets_cluster;
    // Of a flag, perhaps.
    const bool acquires =
        instruction.has(Qual::acquire) && (is_load(does) || (does.has(effect::fences) && does.acquires()));
    if (does.has(effect::makes_mbarrier)) {
      if (state.order == Order::none && lane_of(index))
        state = {Order::initialized, index};
    } else if (does.has_any(effect::on_mbarrier | effect::tracks)) {
      if (tells && state.order == Order::initialized && is_by_others(state.init, index))
        lint_.warn("mbarrier.init", state.init,
                   fmt::format("other threads use an mbarrier object at line {}, and no barrier lies between",
                               lint_.line(index)),
                   "bar.sync (__syncthreads) after the initialization");
    } else if (acquires || does.has(effect::calls) || (does.has_any(meets) && does.acquires()) ||
               (is_atomic(does) && !does.has(effect::reduces))) {
      state = {Order::ordered, kNone};
    }
  }

private:
  // What makes it one of some lanes: a division or a divided guard.
  bool lane_of(uint32_t index) const { return lint_.division_of(index) || lint_.is_guard_divided(index); }
  bool is_by_others(uint32_t init, uint32_t use) const {
    const auto& instructions = lint_.function.instructions;
    if (const LintFunction::Division* division = lint_.division_of(init))
      return !division->blocks[lint_.block_of[use]] && instructions[use].guard.reg == kNone;
    return instructions[use].guard.reg == kNone && !lint_.division_of(use);
  }

  LintFunction& lint_;
};

} // namespace

void lint_warps(LintFunction& lint) {
  WarpRules(lint).run();
  if (!lint.function.is_entry)
    return;
  MbarrierRule rule(lint);
  solve(lint, rule);
}

} // namespace lemma::verify
