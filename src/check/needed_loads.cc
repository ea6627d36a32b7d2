// Paths from a load on which nothing needs its registers. See needed_loads.h.
#include "check/needed_loads.h"

#include "isa/effects.h"
#include "ptx/registers.h"

#include <utility>
#include <vector>

namespace lemma::check {
namespace {

namespace effect = isa::effect;

// By register: it has what the load gives, or a copy.
std::vector<bool> copies_of(const ptx::Function& function, const ptx::Instruction& load) {
  std::vector<bool> copies(function.registers.size());
  ptx::for_each_written(load, [&](uint32_t reg) { copies[reg] = true; });
  constexpr int kMostRounds = 4; // copies mostly stand behind what they copy: a text may be hostile
  bool more = true;
  for (int round = 0; round < kMostRounds && std::exchange(more, false); ++round)
    for (const ptx::Instruction& instruction : function.instructions) {
      if (!instruction.form() || !isa::effects_of(instruction.opcode).has(effect::moves))
        continue;
      bool copied = false;
      ptx::for_each_read(instruction, [&](uint32_t reg, size_t) { copied |= copies[reg]; });
      if (copied)
        ptx::for_each_written(instruction, [&](uint32_t reg) {
          more |= !copies[reg];
          copies[reg] = true;
        });
    }
  return copies;
}

// What has no text is the runtime's own: printf, malloc, assert.
bool calls_program(const ptx::Module& module, const ptx::Instruction& call) {
  const ptx::Operand& callee = call.operands[0];
  return callee.kind != ptx::OperandKind::function || module.functions[callee.symbol].has_body;
}

bool hands_on(const ptx::Module& module, const ptx::Instruction& instruction) {
  const isa::Effects does = isa::effects_of(instruction.opcode);
  if (does.has(effect::calls))
    return calls_program(module, instruction);
  return does.has(effect::leaves) || does.has_any(effect::meets_cta | effect::meets_cluster |
                                                  effect::meets_grid | effect::on_mbarrier | effect::fences);
}

} // namespace

const Paths& NeededLoads::paths_of(const ptx::Function& function) {
  std::unique_ptr<Paths>& found = paths_[&function];
  if (!found)
    found = std::make_unique<Paths>(function);
  return *found;
}

bool NeededLoads::is_needed_before(const Spot& load, const Paths::Stops& is_later) {
  const ptx::Function& function = *load.code->function;
  const Paths& paths = paths_of(function);
  if (!paths.is_known())
    return false;
  const std::vector<bool> copies = copies_of(function, load.ptx());
  bool is_reached = false; // something later, by a path on which nothing needs it
  const Paths::Stops needs = [&](uint32_t i) {
    const ptx::Instruction& instruction = function.instructions[i];
    if (is_later(i))
      return is_reached = true;
    if (!instruction.form() || instruction.guard.reg != ptx::kNone ||
        isa::effects_of(instruction.opcode).has(effect::moves))
      return false;
    bool needed = false;
    ptx::for_each_read(instruction, [&](uint32_t reg, size_t) { needed |= copies[reg]; });
    return needed;
  };
  return !paths.reaches(load.instruction.index, ptx::kNone, needs) && !is_reached;
}

bool NeededLoads::before(const Spot& load, const Spot& later) {
  if (load.code != later.code)
    return false;
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = known_.try_emplace({&load.ptx(), &later.ptx()});
  if (is_new)
    at->second = is_needed_before(load, [&](uint32_t i) { return i == later.instruction.index; });
  return at->second;
}

bool NeededLoads::before_others_hear(const Spot& load, const Spot& later) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = known_to_others_.try_emplace({&load.ptx(), &later.ptx()});
  if (!is_new)
    return at->second;
  const ptx::Function& function = *load.code->function;
  const Paths& paths = paths_of(function);
  const Paths::Stops tells = [&](uint32_t i) {
    return hands_on(*load.code->module, function.instructions[i]);
  };
  const uint32_t to = later.instruction.index;
  const bool follows =
      later.code == load.code && paths.is_known() && paths.reaches(load.instruction.index, to, {});
  std::map<uint32_t, bool> is_last;
  return at->second = is_needed_before(load, [&](uint32_t i) {
           if (!tells(i) || !follows)
             return tells(i);
           const auto [last, is_unknown] = is_last.try_emplace(i);
           if (is_unknown)
             last->second = paths.reaches(i, to, tells);
           return last->second;
         });
}

} // namespace lemma::check
