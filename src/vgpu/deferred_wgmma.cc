// One pass over each basic block. `line_` numbers stretches in which nothing touches an accumulator; an
// operation is deferred if its stretch reaches an unguarded commit_group. Whatever breaks a stretch - a use,
// a call, the block's end - is a new number, so that no table need be cleared.
#include "vgpu/deferred_wgmma.h"

namespace lemma::vgpu {
namespace {

using isa::Opcode;

class DeferredWgmma {
public:
  explicit DeferredWgmma(Code& code) : code_(code), owner_(code.registers.size(), 0) {}

  void visit(const PcRange& block) {
    forget();
    for (uint32_t pc = block.begin; pc < block.end; ++pc)
      visit(code_.insts[pc]);
  }

private:
  void visit(DecodedInst& in) {
    // What the decoder adds before an instruction is not on its own.
    const auto opcode =
        in.source == ptx::kNone ? Opcode::mov : code_.function->instructions[in.source].opcode;
    switch (opcode) {
    case Opcode::wgmma_mma_async:
      if (names_accumulator(in, in.dst_count))
        forget();
      open_.push_back(&in);
      for (int i = 0; i < in.dst_count; ++i)
        if (in.ops[i].reg != ptx::kNone)
          owner_[in.ops[i].reg] = line_;
      break;
    case Opcode::wgmma_commit_group:
      if (!in.guarded)
        for (DecodedInst* operation : open_)
          operation->flags = kWgmmaDeferred;
      forget();
      break;
    case Opcode::call: // of others' registers nothing is known
      forget();
      break;
    default:
      if (!open_.empty() && names_accumulator(in, 0))
        forget();
    }
  }

  bool names_accumulator(const DecodedInst& in, int first) const {
    for (int i = first; i < in.op_count; ++i)
      if (in.ops[i].base == 0 && in.ops[i].reg != ptx::kNone && owner_[in.ops[i].reg] == line_)
        return true;
    return false;
  }

  // Another line begins.
  void forget() {
    open_.clear();
    ++line_;
  }

  Code& code_;
  std::vector<DecodedInst*> open_; // operations on the line since the last commit_group
  std::vector<uint64_t> owner_;    // by register: the line on which it is an accumulator of one
  uint64_t line_ = 0;
};

} // namespace

void find_deferred_wgmma(Code& code, std::span<const PcRange> ranges) {
  DeferredWgmma deferred(code);
  for (const PcRange& block : ranges)
    deferred.visit(block);
}

} // namespace lemma::vgpu
