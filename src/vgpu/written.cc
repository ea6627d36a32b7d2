// Forward data flow: a register is surely written at a place if it is on every path there. A write under a
// guard does not count, so code that writes a register under @p and under @!p is asked at run time; that
// costs little.
#include "vgpu/written.h"

namespace lemma::vgpu {
namespace {

// Beyond this many bits of state the analysis is not worth its memory: every read is asked.
constexpr uint64_t kMaxStateBits = uint64_t{1} << 30;

class BitSet {
public:
  BitSet(size_t bits, bool value) : words_((bits + 63) / 64, value ? ~uint64_t{0} : 0) {}
  bool test(size_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  void set(size_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  void intersect(const BitSet& other) {
    for (size_t i = 0; i < words_.size(); ++i)
      words_[i] &= other.words_[i];
  }
  friend bool operator==(const BitSet&, const BitSet&) = default;

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

} // namespace

void find_unwritten_reads(Code& code, const std::vector<BasicBlock>& blocks,
                          const std::vector<uint32_t>& order, const std::vector<PcRange>& ranges) {
  const size_t registers = code.registers.size();
  if (registers * blocks.size() > kMaxStateBits) {
    mark_all(code);
  } else {
    std::vector<BitSet> at_begin(blocks.size(), BitSet(registers, true));
    at_begin[0] = BitSet(registers, false);
    // Blocks lie in an order in which few passes are needed: one more than loops nest.
    for (bool changed = true; changed;) {
      changed = false;
      for (const uint32_t b : order) {
        BitSet state = at_begin[b];
        for (uint32_t pc = ranges[b].begin; pc < ranges[b].end; ++pc)
          apply_writes(code.insts[pc], state);
        for (const uint32_t successor : blocks[b].successors) {
          BitSet met = at_begin[successor];
          met.intersect(state);
          if (!(met == at_begin[successor])) {
            at_begin[successor] = std::move(met);
            changed = true;
          }
        }
      }
    }
    for (const uint32_t b : order) {
      BitSet state = at_begin[b];
      for (uint32_t pc = ranges[b].begin; pc < ranges[b].end; ++pc) {
        DecodedInst& in = code.insts[pc];
        for_each_read(in, [&](uint32_t reg) {
          if (!state.test(reg)) {
            in.checks_init = true;
            code.tracked[reg] = true;
          }
        });
        for (int i = 0; in.updates && i < in.dst_count; ++i)
          if (const uint32_t reg = in.ops[i].reg; reg != ptx::kNone && !state.test(reg)) {
            in.checks_updated = true;
            code.tracked[reg] = true;
          }
        apply_writes(in, state);
      }
    }
  }
  find_copied_registers(code);
  for (DecodedInst& in : code.insts)
    for (int i = 0; i < in.dst_count; ++i)
      if (const uint32_t reg = in.ops[i].reg; reg != ptx::kNone)
        in.marks_written |= code.tracked[reg] || (code.copied[reg] && !is_load(code, in));
  list_poisoned(code);
}

} // namespace lemma::vgpu
