// A way that comes back to the instruction it began at stays within what the backward jumps span, if those
// that overlap count as one: it could leave that only by another backward jump that overlaps it. So no loop
// need be known, in whatever order the blocks lie.
#include "lowered/loops.h"

#include "lowered/uses.h"

#include <algorithm>
#include <unordered_map>

namespace lemma::lowered {
namespace {

// Where a table leads is not looked at, nor when a wgmma writes its registers.
bool goes_unknown_ways(const Function& function, const Inst& inst) {
  const isa::Effects effects = effects_of(function, inst);
  return effects.has(isa::effect::wgmma) ||
         (effects.has(isa::effect::jumps) &&
          std::ranges::any_of(function.sources_of(inst),
                              [](const Operand& operand) { return operand.kind == OperandKind::table; }));
}

bool reads_clock(const Function& function, const Inst& inst) {
  return inst.op == Op::special && isa::extent_of(special_register_of(function, inst)) == isa::Extent::moment;
}

// What is read from memory is no function of the address.
bool reads_memory(const Function& function, const Inst& inst) {
  return effects_of(function, inst).has(isa::effect::reads);
}

bool is_predicate(const Function& function, uint32_t reg) {
  return function.registers[reg].bytes == 0;
}

// Marks the instruction's destinations, and those of all that reads them, and so on.
class Clocks {
public:
  explicit Clocks(Function& function) : function_(function) {
    for (const Inst& inst : function.insts)
      if (!reads_memory(function, inst))
        for_each_source(function, inst, [&](uint32_t reg) {
          if (!is_predicate(function, reg))
            readers_[reg].push_back(&inst);
        });
  }

  void mark(const Inst& first) {
    std::vector<const Inst*> left{&first};
    while (!left.empty()) {
      const Inst& inst = *left.back();
      left.pop_back();
      for_each_write(function_, inst, [&](uint32_t reg) {
        if (is_predicate(function_, reg) || function_.registers[reg].holds_clock)
          return;
        function_.registers[reg].holds_clock = true;
        if (const auto found = readers_.find(reg); found != readers_.end())
          left.insert(left.end(), found->second.begin(), found->second.end());
      });
    }
  }

private:
  Function& function_;
  std::unordered_map<uint32_t, std::vector<const Inst*>> readers_; // by register
};

} // namespace

void find_loops(Function& function) {
  if (std::ranges::any_of(function.insts,
                          [&](const Inst& inst) { return goes_unknown_ways(function, inst); }))
    return;
  for (uint32_t i = 0; i < function.insts.size(); ++i) // so their ends are in order
    for (const Operand& operand : function.sources_of(function.insts[i])) {
      if (operand.kind != OperandKind::block || function.blocks[operand.index].begin > i)
        continue;
      uint32_t begin = function.blocks[operand.index].begin;
      for (; !function.loops.empty() && function.loops.back().end > begin; function.loops.pop_back())
        begin = std::min(begin, function.loops.back().begin);
      function.loops.push_back({.begin = begin, .end = i + 1});
    }
}

const Range* loop_around(const Function& function, uint32_t inst) {
  const auto after =
      std::ranges::partition_point(function.loops, [&](const Range& l) { return l.end <= inst; });
  return after != function.loops.end() && after->begin <= inst ? &*after : nullptr;
}

void find_clocks(Function& function) {
  if (std::ranges::none_of(function.insts, [&](const Inst& inst) { return reads_clock(function, inst); }))
    return;
  Clocks clocks(function);
  for (const Inst& inst : function.insts)
    if (reads_clock(function, inst))
      clocks.mark(inst);
}

} // namespace lemma::lowered
