// Neighbours that compute some, in a loop, are a group. Of what a CTA has once others may stand between,
// which each warp executes. See constants.h.
#include "lowered/constants.h"

#include "lowered/loops.h"
#include "lowered/uses.h"
#include "lowered/values.h"

#include <algorithm>

namespace lemma::lowered {
namespace {

class Groups {
public:
  explicit Groups(Function& function) : function_(function), values_(function) {}

  void run() {
    std::vector<bool> of_cta(function_.insts.size());
    for (uint32_t i = 0; i < function_.insts.size(); ++i) {
      Inst& inst = function_.insts[i];
      note_address(inst);
      if (!values_.makes_known(inst))
        continue;
      for_each_write(function_, inst, [&](uint32_t reg) { function_.registers[reg].is_known = true; });
      if (inst.source != kNone && loop_around(function_, i))
        inst.notes.add(Note::launch_constant);
      of_cta[i] = function_.text->is_entry && is_of_cta(inst);
    }
    for (const Block& block : function_.blocks) {
      add_groups_of_launch(block);
      if (function_.text->is_entry)
        add_groups_of_cta(block, of_cta);
    }
  }

private:
  // What an access need not find out of its lanes' addresses.
  void note_address(Inst& inst) {
    const ptx::Instruction* instruction = function_.instruction_of(inst);
    if (!instruction || inst.notes.has(Note::partial))
      return;
    switch (instruction->opcode) {
    case isa::Opcode::ld:
      return note_lanes(inst, 1, 0);
    case isa::Opcode::st:
      return note_lanes(inst, 0, 1);
    case isa::Opcode::wmma_load:
      if (std::ranges::all_of(function_.sources_of(inst),
                              [&](const Operand& source) { return values_.of(source).is_uniform(); }))
        inst.notes.add(Note::uniform_lines);
      return;
    default:
      return;
    }
  }

  // Operands of the text: the address, and what is moved.
  void note_lanes(Inst& inst, size_t address, size_t data) {
    const ptx::Instruction& instruction = *function_.instruction_of(inst);
    const Operand& from = function_.sources_of(inst)[0];
    if (inst.notes.has(Note::reads_unwritten) || instruction.operands.size() <= std::max(address, data) ||
        from.kind != OperandKind::address || !function_.addresses[from.index].base.is_register())
      return;
    const Value base = values_.of_address(from);
    const auto bytes = static_cast<int64_t>(width_of(instruction.operands[data], *function_.text)) *
                       isa::bytes_of(instruction.type());
    if (base.is_known && base.step == bytes)
      inst.notes.add(Note::side_by_side);
    else if (base.is_uniform())
      inst.notes.add(Note::one_address);
  }

  bool is_of_cta(const Inst& inst) const {
    bool is = inst.destinations != 0;
    for_each_write(function_, inst, [&](uint32_t reg) {
      is &= values_.of({.kind = OperandKind::reg, .bytes = 0, .index = reg}).is_of_cta;
    });
    return is;
  }

  void add_groups_of_launch(const Block& block) {
    const auto is_one = [&](uint32_t i) { return function_.insts[i].notes.has(Note::launch_constant); };
    for (uint32_t begin = block.begin; begin < block.end; ++begin) {
      uint32_t end = begin;
      while (end < block.end && is_one(end))
        ++end;
      if (end - begin < 2)
        continue;
      function_.constants_of_launch.push_back({.begin = begin, .end = end});
      begin = end;
    }
  }

  // What each warp executes between: it computes, and neither waits nor jumps.
  bool may_stand_between(uint32_t i) const {
    const Inst& inst = function_.insts[i];
    return inst.source != kNone && is_plain(inst) &&
           (inst.op == Op::special || effects_of(function_, inst).has(isa::effect::pure));
  }

  void add_groups_of_cta(const Block& block, const std::vector<bool>& of_cta) {
    const auto may_be_in_one = [&](uint32_t i) {
      return function_.insts[i].source != kNone && !loop_around(function_, i) &&
             (of_cta[i] || may_stand_between(i));
    };
    for (uint32_t begin = block.begin; begin < block.end; ++begin) {
      uint32_t end = begin;
      while (end < block.end && may_be_in_one(end))
        ++end;
      add_group_of_cta(of_cta, begin, end);
      begin = end;
    }
  }

  void add_group_of_cta(const std::vector<bool>& of_cta, uint32_t begin, uint32_t end) {
    while (begin < end && !of_cta[begin])
      ++begin;
    while (end > begin && !of_cta[end - 1])
      --end;
    if (std::count(of_cta.begin() + begin, of_cta.begin() + end, true) < 2)
      return;
    CtaConstants& group = function_.constants_of_cta.emplace_back();
    group.begin = begin;
    group.end = end;
    for (uint32_t i = begin; i < end; ++i)
      if (!of_cta[i])
        group.others.push_back(i);
  }

  Function& function_;
  const Values values_;
};

} // namespace

void find_launch_constants(Function& function) {
  Groups(function).run();
}

} // namespace lemma::lowered
