// Forward data flow: a register is surely written at a place if it is on every path there. A write under a
// guard does not count, so code that writes a register under @p and under @!p is asked at run time; that
// costs little.
#include "vgpu/written.h"

namespace lemma::vgpu {
namespace {

// Beyond this much state, or work, the analysis is not worth its memory or time: every read is asked.
constexpr uint64_t kMaxStateBits = uint64_t{1} << 30;
constexpr uint64_t kMaxWords = uint64_t{1} << 27; // of state that are met with others

class BitSet {
public:
  BitSet(size_t bits, bool value) : words_((bits + 63) / 64, value ? ~uint64_t{0} : 0) {}
  bool test(size_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  void set(size_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  // True: that made a difference.
  bool intersect(const BitSet& other) {
    uint64_t lost = 0;
    for (size_t i = 0; i < words_.size(); ++i) {
      lost |= words_[i] & ~other.words_[i];
      words_[i] &= other.words_[i];
    }
    return lost != 0;
  }
  size_t words() const { return words_.size(); }

private:
  std::vector<uint64_t> words_;
};

// Calls f(register) for every register the instruction reads; the guard too.
template <class F>
void for_each_read(const DecodedInst& in, F&& f) {
  if (in.guard_reg != ptx::kNone)
    f(in.guard_reg);
  for (int i = in.dst_count; i < in.op_count; ++i)
    if (in.ops[i].base == 0 && in.ops[i].reg != ptx::kNone)
      f(in.ops[i].reg);
}

void apply_writes(const DecodedInst& in, BitSet& written) {
  if (in.guarded)
    return;
  for (int i = 0; i < in.dst_count; ++i)
    if (in.ops[i].reg != ptx::kNone)
      written.set(in.ops[i].reg);
}

void mark_all(Code& code) {
  code.tracked.assign(code.tracked.size(), true);
  for (DecodedInst& in : code.insts) {
    for_each_read(in, [&](uint32_t) { in.checks_init = true; });
    in.checks_updated = in.updates;
  }
}

// Registers that only carry bytes from memory to memory. Only what plain instructions write and read counts:
// parameters and what a call returns go their own ways.
void find_copied_registers(Code& code) {
  std::vector<bool> loaded(code.registers.size()), stored(code.registers.size()), used(code.registers.size());
  for (const auto* variables : {&code.function->params, &code.function->returns})
    for (const ptx::Variable& variable : *variables)
      if (variable.reg != ptx::kNone)
        used[variable.reg] = true;
  const auto mark = [](std::vector<bool>& set, uint32_t reg) {
    if (reg != ptx::kNone)
      set[reg] = true;
  };
  for (const DecodedInst& in : code.insts) {
    mark(used, in.guard_reg);
    const isa::Opcode opcode = code.opcode_of(in);
    for (int i = 0; i < in.dst_count; ++i)
      if (in.updates || opcode == isa::Opcode::call)
        mark(used, in.ops[i].reg);
      else if (is_load(code, in))
        mark(loaded, in.ops[i].reg);
    for (int i = in.dst_count; i < in.op_count; ++i) // the first of a store is the address
      mark(opcode == isa::Opcode::st && i > in.dst_count ? stored : used, in.ops[i].reg);
  }
  code.copied.resize(code.registers.size());
  for (size_t reg = 0; reg < code.registers.size(); ++reg)
    code.copied[reg] = loaded[reg] && stored[reg] && !used[reg];
}

// Where the registers lie that may be read before they are written.
void list_poisoned(Code& code) {
  for (size_t reg = 0; reg < code.registers.size(); ++reg) {
    if (!code.tracked[reg])
      continue;
    const Slot& slot = code.registers[reg];
    const auto components = static_cast<uint32_t>(code.function->registers[reg].vector_elems);
    code.poisoned.push_back({.offset = slot.offset,
                             .bytes = slot.bytes == 0 ? 4 : components * slot.bytes * kWarpSize,
                             .lane_bytes = slot.bytes});
  }
}

// What is surely written where each block begins; empty if that is too much to find out.
std::vector<BitSet> find_written(const Code& code, const ptx::Flow& flow, const std::vector<uint32_t>& order,
                                 const std::vector<PcRange>& ranges) {
  const std::vector<ptx::BasicBlock>& blocks = flow.blocks;
  const size_t registers = code.registers.size();
  if (!flow.has_successors || registers * blocks.size() > kMaxStateBits)
    return {};
  std::vector<BitSet> at_begin(blocks.size(), BitSet(registers, true));
  at_begin[0] = BitSet(registers, false);
  uint64_t words = 0;
  // Blocks lie in an order in which few passes are needed: one more than loops nest.
  for (bool changed = true; changed;) {
    changed = false;
    for (const uint32_t b : order) {
      BitSet state = at_begin[b];
      for (uint32_t pc = ranges[b].begin; pc < ranges[b].end; ++pc)
        apply_writes(code.insts[pc], state);
      for (const uint32_t successor : blocks[b].successors)
        changed |= at_begin[successor].intersect(state);
      words += (blocks[b].successors.size() + 1) * (state.words() + 1) + ranges[b].end - ranges[b].begin;
      if (words > kMaxWords)
        return {};
    }
  }
  return at_begin;
}

} // namespace

void find_unwritten_reads(Code& code, const ptx::Flow& flow, const std::vector<uint32_t>& order,
                          const std::vector<PcRange>& ranges) {
  const std::vector<BitSet> at_begin = find_written(code, flow, order, ranges);
  if (at_begin.empty())
    mark_all(code);
  for (size_t i = 0; i < order.size() && !at_begin.empty(); ++i) {
    BitSet state = at_begin[order[i]];
    for (uint32_t pc = ranges[order[i]].begin; pc < ranges[order[i]].end; ++pc) {
      DecodedInst& in = code.insts[pc];
      for_each_read(in, [&](uint32_t reg) {
        if (!state.test(reg)) {
          in.checks_init = true;
          code.tracked[reg] = true;
        }
      });
      for (int d = 0; in.updates && d < in.dst_count; ++d)
        if (const uint32_t reg = in.ops[d].reg; reg != ptx::kNone && !state.test(reg)) {
          in.checks_updated = true;
          code.tracked[reg] = true;
        }
      apply_writes(in, state);
    }
  }
  find_copied_registers(code);
  for (DecodedInst& in : code.insts)
    for (int i = 0; i < in.dst_count; ++i)
      if (const uint32_t reg = in.ops[i].reg; reg != ptx::kNone)
        in.marks_written |= code.tracked[reg] || (code.copied[reg] && !is_load(code, in));
  list_poisoned(code);
}

std::vector<uint32_t> count_reads(const Code& code) {
  std::vector<uint32_t> reads(code.registers.size());
  const auto note = [&](uint32_t reg, uint32_t count) {
    if (reg != ptx::kNone)
      reads[reg] += count;
  };
  for (const auto* variables : {&code.function->params, &code.function->returns})
    for (const ptx::Variable& variable : *variables)
      note(variable.reg, 2);
  for (const DecodedInst& in : code.insts) {
    note(in.guard_reg, 1);
    for (int i = in.updates ? 0 : in.dst_count; i < in.op_count; ++i)
      note(in.ops[i].reg, 1);
  }
  return reads;
}

} // namespace lemma::vgpu
