// Forward data flow: a register is surely written at a place if it is on every path there. A write under a
// guard does not count, so code that writes a register under @p and under @!p is asked at run time; that
// costs little.
#include "lowered/unwritten.h"

namespace lemma::lowered {
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

bool accumulates(const Function& function, const Inst& inst) {
  return effects_of(function, inst).has(isa::effect::accumulates);
}

// By register of the text, whose components are one. What the program computes itself is written before it is
// read.
class Unwritten {
public:
  explicit Unwritten(Function& function)
      : function_(function), size_(function.text->registers.size()), asked_(size_), carried_(size_) {}

  void run() {
    if (const std::vector<BitSet> at_begin = find_written(); at_begin.empty())
      ask_all();
    else
      for (size_t b = 0; b < at_begin.size(); ++b)
        ask(function_.blocks[b], at_begin[b]);
    find_carried();
    for (Inst& inst : function_.insts)
      if (must_mark(inst))
        inst.notes.add(Note::marks_written);
    for (Register& reg : function_.registers)
      if (reg.text != kNone) {
        reg.is_asked = asked_[reg.text];
        reg.is_carried = carried_[reg.text];
      }
  }

private:
  template <class F>
  void for_each_text(uint32_t reg, F&& f) const {
    if (const uint32_t text = function_.registers[reg].text; text != kNone)
      f(text);
  }
  template <class F>
  void reads(const Inst& inst, F&& f) const {
    for_each_read(function_, inst, [&](uint32_t reg) { for_each_text(reg, f); });
  }
  template <class F>
  void writes(const Inst& inst, F&& f) const {
    for_each_write(function_, inst, [&](uint32_t reg) { for_each_text(reg, f); });
  }

  void apply_writes(const Inst& inst, BitSet& written) const {
    if (inst.guard == kNone)
      writes(inst, [&](uint32_t reg) { written.set(reg); });
  }

  // What is surely written where each block begins; empty if that is too much to find out.
  std::vector<BitSet> find_written() const {
    const std::vector<Block>& blocks = function_.blocks;
    if (!function_.has_successors || size_ * blocks.size() > kMaxStateBits)
      return {};
    std::vector<BitSet> at_begin(blocks.size(), BitSet(size_, true));
    at_begin[0] = BitSet(size_, false);
    uint64_t words = 0;
    // Blocks lie in an order in which few passes are needed: one more than loops nest.
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t b = 0; b < blocks.size(); ++b) {
        BitSet state = at_begin[b];
        for (uint32_t i = blocks[b].begin; i < blocks[b].end; ++i)
          apply_writes(function_.insts[i], state);
        for (const uint32_t successor : blocks[b].successors)
          changed |= at_begin[successor].intersect(state);
        words += (blocks[b].successors.size() + 1) * (state.words() + 1) + blocks[b].end - blocks[b].begin;
        if (words > kMaxWords)
          return {};
      }
    }
    return at_begin;
  }

  void ask_all() {
    asked_.assign(size_, true);
    for (Inst& inst : function_.insts) {
      reads(inst, [&](uint32_t) { inst.notes.add(Note::reads_unwritten); });
      if (accumulates(function_, inst))
        inst.notes.add(Note::updates_unwritten);
    }
  }

  void ask(const Block& block, BitSet state) {
    for (uint32_t i = block.begin; i < block.end; ++i) {
      Inst& inst = function_.insts[i];
      const auto ask_by = [&](Note note) {
        return [this, &inst, &state, note](uint32_t reg) {
          if (!state.test(reg)) {
            inst.notes.add(note);
            asked_[reg] = true;
          }
        };
      };
      reads(inst, ask_by(Note::reads_unwritten));
      if (accumulates(function_, inst))
        writes(inst, ask_by(Note::updates_unwritten));
      apply_writes(inst, state);
    }
  }

  // Registers that only carry bytes from memory to memory. Only what plain instructions write and read
  // counts: parameters and what a call returns go their own ways.
  void find_carried() {
    std::vector<bool> loaded(size_), stored(size_), used(size_);
    for (const auto* variables : {&function_.text->params, &function_.text->returns})
      for (const ptx::Variable& variable : *variables)
        if (variable.reg != kNone)
          used[variable.reg] = true;
    const auto mark = [&](std::vector<bool>& set) { return [&set](uint32_t reg) { set[reg] = true; }; };
    for (const Inst& inst : function_.insts) {
      if (inst.guard != kNone)
        for_each_text(inst.guard, mark(used));
      if (is_load(function_, inst))
        writes(inst, mark(loaded));
      else if (accumulates(function_, inst) || effects_of(function_, inst).has(isa::effect::calls))
        writes(inst, mark(used));
      const bool is_store = isa::is_store(effects_of(function_, inst));
      for (const Operand& operand : function_.sources_of(inst))
        if (operand.is_register())
          for_each_text(operand.index, mark(is_store ? stored : used));
        else if (operand.kind == OperandKind::address &&
                 function_.addresses[operand.index].base.is_register())
          for_each_text(function_.addresses[operand.index].base.index, mark(used));
    }
    for (size_t reg = 0; reg < size_; ++reg)
      carried_[reg] = loaded[reg] && stored[reg] && !used[reg];
  }

  bool must_mark(const Inst& inst) const {
    bool must = false;
    writes(inst, [&](uint32_t reg) { must |= asked_[reg] || (carried_[reg] && !is_load(function_, inst)); });
    return must;
  }

  Function& function_;
  size_t size_; // registers of the text
  std::vector<bool> asked_, carried_;
};

} // namespace

bool is_load(const Function& function, const Inst& inst) {
  return isa::is_load(effects_of(function, inst));
}

void find_unwritten_reads(Function& function) {
  Unwritten(function).run();
}

} // namespace lemma::lowered
