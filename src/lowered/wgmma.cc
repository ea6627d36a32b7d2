// One pass over each basic block. `line_` numbers stretches in which nothing touches an accumulator; an
// operation is deferred if its stretch reaches an unguarded commit_group. Whatever breaks a stretch - a use,
// a call, the block's end - is a new number, so that no table need be cleared.
#include "lowered/wgmma.h"

#include <algorithm>

namespace lemma::lowered {
namespace {

namespace effect = isa::effect;

class DeferredWgmma {
public:
  explicit DeferredWgmma(Function& function) : function_(function), owner_(function.registers.size()) {}

  void visit(const Block& block) {
    forget();
    for (uint32_t i = block.begin; i < block.end; ++i)
      visit(function_.insts[i]);
  }

private:
  void visit(Inst& inst) {
    const isa::Effects effects = effects_of(function_, inst);
    if (effects.has(effect::wgmma)) {
      if (reads_accumulator(inst))
        forget();
      open_.push_back(&inst);
      for_each_write(function_, inst, [&](uint32_t reg) { owner_[reg] = line_; });
    } else if (effects.has(effect::commits | effect::wgmma_group)) {
      if (inst.guard == kNone)
        for (Inst* operation : open_)
          operation->notes.add(Note::deferred);
      forget();
    } else if (effects.has(effect::calls)) { // of others' registers nothing is known
      forget();
    } else if (!open_.empty() && (reads_accumulator(inst) || writes_accumulator(inst))) {
      forget();
    }
  }

  bool reads_accumulator(const Inst& inst) const {
    bool reads = false;
    for_each_source(function_, inst, [&](uint32_t reg) { reads |= owner_[reg] == line_; });
    return reads;
  }
  bool writes_accumulator(const Inst& inst) const {
    bool writes = false;
    for_each_write(function_, inst, [&](uint32_t reg) { writes |= owner_[reg] == line_; });
    return writes;
  }

  // Another line begins.
  void forget() {
    open_.clear();
    ++line_;
  }

  Function& function_;
  std::vector<Inst*> open_;     // operations on the line since the last commit_group
  std::vector<uint64_t> owner_; // by register: the line on which it is an accumulator of one
  uint64_t line_ = 0;
};

} // namespace

void find_deferred_wgmma(Function& function) {
  if (std::ranges::none_of(function.insts,
                           [&](const Inst& inst) { return effects_of(function, inst).has(effect::wgmma); }))
    return;
  DeferredWgmma deferred(function);
  for (const Block& block : function.blocks)
    deferred.visit(block);
}

} // namespace lemma::lowered
