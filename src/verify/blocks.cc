// Both analyses go over the text a fixed number of times and never iterate to a fixed point: a back edge is
// summed up as "the first block that may run again" (find_blocks, `after`). A read that may come later in the
// text or around such an edge keeps a write alive; so code is called dead too rarely, never too often.
#include "verify/blocks.h"

#include "isa/effects.h"
#include "ptx/flow.h"
#include "ptx/registers.h"

#include <algorithm>

namespace lemma::verify {
namespace {

using isa::Qual;
using ptx::ends_block;
using ptx::first_source;
using ptx::for_each_register;
using ptx::Instruction;
using ptx::kNone;

// Does nothing but write its first operand, so that ptxas leaves it out where nobody reads that.
bool only_gives(const Instruction& instruction) {
  const isa::Effects does = isa::effects_of(instruction.opcode);
  return first_source(instruction) == 1 && (does.has(isa::effect::pure) || is_load(does)) &&
         !instruction.has(Qual::volatile_) && !instruction.has(Qual::cc);
}

class DeadCode {
public:
  DeadCode(const ptx::Function& function, const Blocks& blocks)
      : function_(function), blocks_(blocks), registers_(function.registers.size()) {}

  std::vector<bool> find() {
    std::vector<bool> dead(function_.instructions.size());
    for (uint32_t b = 0; b < blocks_.count(); ++b)
      for (uint32_t i = blocks_.begins[b]; i < blocks_.begins[b + 1]; ++i)
        find_entry_reads(function_.instructions[i], b);
    for (uint32_t b = 0; b < blocks_.count(); ++b)
      for (uint32_t i = blocks_.begins[b + 1]; i-- > blocks_.begins[b];)
        dead[i] = step_back(function_.instructions[i], b);
    return dead;
  }

private:
  template <class F>
  static void for_each_read(const Instruction& instruction, F f) {
    if (instruction.guard.reg != kNone)
      f(instruction.guard.reg);
    for (size_t k = first_source(instruction); k < instruction.operands.size(); ++k)
      for_each_register(instruction.operands[k], [&](uint32_t reg, bool) { f(reg); });
    if (first_source(instruction) == 1)
      for_each_register(instruction.operands[0], [&](uint32_t reg, bool in_part) {
        if (in_part)
          f(reg);
      });
  }

  void find_entry_reads(const Instruction& instruction, uint32_t block) {
    for_each_read(instruction, [&](uint32_t reg) {
      if (registers_[reg].written_in != block)
        registers_[reg].last_read_in = block;
    });
    if (first_source(instruction) == 1 && instruction.guard.reg == kNone)
      for_each_register(instruction.operands[0],
                        [&](uint32_t reg, bool) { registers_[reg].written_in = block; });
  }

  bool is_live(uint32_t reg, uint32_t block) const {
    const Register& r = registers_[reg];
    return r.known_in == block ? r.is_live
                               : r.last_read_in != kNone && r.last_read_in >= blocks_.after[block];
  }

  void set_live(uint32_t reg, uint32_t block, bool live) {
    registers_[reg].known_in = block;
    registers_[reg].is_live = live;
  }

  // Whether the instruction is dead; what is live before it.
  bool step_back(const Instruction& instruction, uint32_t block) {
    bool is_read = !only_gives(instruction);
    if (first_source(instruction) == 1)
      for_each_register(instruction.operands[0], [&](uint32_t reg, bool) { is_read |= is_live(reg, block); });
    if (!is_read)
      return true;
    if (first_source(instruction) == 1 && instruction.guard.reg == kNone)
      for_each_register(instruction.operands[0], [&](uint32_t reg, bool) { set_live(reg, block, false); });
    for_each_read(instruction, [&](uint32_t reg) { set_live(reg, block, true); });
    return false;
  }

  struct Register {
    uint32_t written_in = kNone;   // the last block that wrote it
    uint32_t last_read_in = kNone; // the last block that reads it before it writes it
    uint32_t known_in = kNone;     // the block that `is_live` is of
    bool is_live = false;
  };

  const ptx::Function& function_;
  const Blocks& blocks_;
  std::vector<Register> registers_;
};

// The first instruction that each list of branch targets names.
std::vector<uint32_t> first_targets(const ptx::Function& function) {
  std::vector<uint32_t> first;
  for (const ptx::TargetList& list : function.target_lists)
    first.push_back(list.labels.empty() ? kNone : *std::min_element(list.labels.begin(), list.labels.end()));
  return first;
}

// Of each block the first that may follow it at once; count(): none.
std::vector<uint32_t> first_successors(const ptx::Function& function, const Blocks& blocks) {
  const std::vector<uint32_t> lists = first_targets(function);
  std::vector<uint32_t> first(blocks.count(), blocks.count());
  for (uint32_t b = 0; b < blocks.count(); ++b) {
    const Instruction& last = function.instructions[blocks.begins[b + 1] - 1];
    if (!ends_block(last.opcode) || last.guard.reg != kNone)
      first[b] = b + 1;
    const uint32_t target = is_branch(last)         ? function.labels[last.operands[0].symbol].target
                            : is_table_branch(last) ? lists[last.operands.back().symbol]
                                                    : kNone;
    if (target != kNone) {
      const auto at = std::upper_bound(blocks.begins.begin(), blocks.begins.end(), target) - 1;
      first[b] = std::min(first[b], static_cast<uint32_t>(at - blocks.begins.begin()));
    }
  }
  return first;
}

} // namespace

Blocks find_blocks(const ptx::Function& function) {
  Blocks blocks{{0, static_cast<uint32_t>(function.instructions.size())}, {}};
  for (const ptx::Label& label : function.labels)
    blocks.begins.push_back(label.target);
  for (uint32_t i = 0; i < function.instructions.size(); ++i)
    if (ends_block(function.instructions[i].opcode))
      blocks.begins.push_back(i + 1);
  std::sort(blocks.begins.begin(), blocks.begins.end());
  blocks.begins.erase(std::unique(blocks.begins.begin(), blocks.begins.end()), blocks.begins.end());
  blocks.after = first_successors(function, blocks);
  // From block b on, the first block that one of them leads back to; and where that leads to in turn.
  std::vector<uint32_t> back(blocks.count() + 1, blocks.count());
  for (uint32_t b = blocks.count(); b-- > 0;)
    back[b] = std::min(back[b + 1], blocks.after[b]);
  for (uint32_t b = 0; b < blocks.count(); ++b)
    back[b] = back[b] < b ? back[back[b]] : b;
  for (uint32_t& after : blocks.after)
    after = back[after];
  return blocks;
}

std::vector<bool> find_dead_code(const ptx::Function& function, const Blocks& blocks) {
  return DeadCode(function, blocks).find();
}

} // namespace lemma::verify
