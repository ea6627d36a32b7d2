// A register is such a constant if one instruction alone writes it, under no guard, and makes it of others by
// a function. One pass in the order of the code finds them: what is read comes later than what is written but
// in loops, and what a loop carries has two writers.
//
// Neighbours that compute some, in a loop, are a group. When its first one is executed by a whole warp, the
// frame's activation is noted in the frame; as long as it is the same one, the registers have their values.
// Of what a CTA has once, the launch and the CTA are noted; others may stand between, which are executed.
#include "vgpu/launch_constants.h"

#include "isa/effects.h"
#include "support/align.h"
#include "vgpu/handlers/memory_handlers.h"
#include "vgpu/handlers/wmma_moves.h"
#include "vgpu/lane_steps.h"
#include "vgpu/loops.h"
#include "vgpu/special_registers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace lemma::vgpu {
namespace {

using isa::Opcode;

// uniform: of all lanes the same, where warps are rows of the block.
enum class Kind : uint8_t { varies, constant, tid_x, uniform };

// Results are functions of the sources, lane by lane.
bool is_function(const Code& code, const DecodedInst& in) {
  if (reads_clock(in))
    return false;
  if (in.source == ptx::kNone) // the decoder's own: read a special register, add, negate, narrow
    return !in.always_run;
  const ptx::Instruction& instruction = code.function->instructions[in.source];
  if (instruction.has(isa::Qual::cc))
    return false;
  if (instruction.opcode == Opcode::ld) // of the kernel's parameters; not what a call has returned
    return instruction.has(isa::Qual::param) && space_of(in) == isa::StateSpace::param;
  return isa::effects_of(instruction.opcode) == isa::effect::pure; // of no carry
}

class Constants {
public:
  explicit Constants(const Code& code) : code_(code) {
    for (const auto* variables : {&code.function->params, &code.function->returns})
      for (const ptx::Variable& variable : *variables)
        if (variable.reg != ptx::kNone)
          for (int i = 0; i < variable.vector_elems; ++i)
            writers_[code.register_slot(variable.reg, i).offset] += 2;
    for (const DecodedInst& in : code.insts)
      for (int i = 0; i < in.dst_count; ++i)
        ++writers_[in.ops[i].offset];
    for (const DecodedInst& in : code.insts)
      if (computes_constants(in)) {
        const LaneStep step = find_step(in);
        for (int i = 0; i < in.dst_count; ++i) {
          kinds_[in.ops[i].offset] = kind_of_result(in);
          steps_[in.ops[i].offset] = step;
          if (is_of_cta(in))
            of_cta_.insert(in.ops[i].offset);
        }
      }
  }

  // Of all threads of a CTA the same: of a kernel's own constants.
  bool is_of_cta(const DecodedInst& in) const {
    const bool reads_register = in.op_count == in.dst_count && code_.opcode_of(in) != Opcode::ld;
    return code_.function->is_entry && (!reads_register || reads_by_cta(in)) &&
           std::all_of(in.ops + in.dst_count, in.ops + in.op_count,
                       [&](const Slot& slot) { return slot.base != 0 || of_cta_.contains(slot.offset); });
  }

  bool computes_constants(const DecodedInst& in) const {
    if (in.guarded || in.checks_init || in.marks_written || in.updates || in.dst_count == 0 ||
        !is_function(code_, in))
      return false;
    return std::all_of(in.ops, in.ops + in.dst_count,
                       [&](const Slot& slot) { return writers_.at(slot.offset) == 1; }) &&
           std::all_of(in.ops + in.dst_count, in.ops + in.op_count,
                       [&](const Slot& slot) { return kind(slot) != Kind::varies; });
  }

  Kind kind(const Slot& slot) const {
    if (slot.base != 0)
      return Kind::uniform;
    const auto found = kinds_.find(slot.offset);
    return found != kinds_.end() ? found->second : Kind::varies;
  }

  // Of a constant, where warps are rows of the block.
  LaneStep step(const Slot& slot) const {
    switch (kind(slot)) {
    case Kind::varies:
      return std::nullopt;
    case Kind::uniform:
      return 0;
    case Kind::tid_x:
      return 1;
    case Kind::constant:
      break;
    }
    const auto found = steps_.find(slot.offset);
    return found != steps_.end() ? found->second : std::nullopt;
  }

private:
  LaneStep find_step(const DecodedInst& in) const {
    std::vector<LaneStep> sources;
    for (const Slot* slot = in.ops + in.dst_count; slot != in.ops + in.op_count; ++slot)
      sources.push_back(step(*slot));
    return step_of_result(code_, in, sources);
  }

  Kind kind_of_result(const DecodedInst& in) const {
    const Slot* const sources = in.ops + in.dst_count;
    const int count = in.op_count - in.dst_count;
    if (reads_tid_x(in))
      return Kind::tid_x;
    if (reads_by_lane(in) ||
        (count == 0 && !code_.function->is_entry)) // or a variable's place, of each call's
      return Kind::constant;
    if (std::all_of(sources, sources + count, [&](const Slot& slot) { return kind(slot) == Kind::uniform; }))
      return Kind::uniform;
    const bool of_tid_x = count > 0 && kind(sources[0]) == Kind::tid_x;
    if (of_tid_x && count == 1 && code_.opcode_of(in) == Opcode::mov)
      return Kind::tid_x;
    if (of_tid_x && leaves_lanes_out(in))
      return Kind::uniform;
    return Kind::constant;
  }

  // The bits in which the lanes of a row differ.
  bool leaves_lanes_out(const DecodedInst& in) const {
    constexpr uint64_t kLaneBits = 5;
    const Opcode opcode = code_.opcode_of(in);
    if (opcode != Opcode::shr && opcode != Opcode::and_)
      return false;
    const ptx::Operand& by = code_.function->instructions[in.source].operands[2];
    return by.kind == ptx::OperandKind::imm &&
           (opcode == Opcode::shr ? by.bits >= kLaneBits : by.bits % (uint64_t{1} << kLaneBits) == 0);
  }

  const Code& code_;
  std::unordered_map<uint32_t, uint32_t> writers_; // by offset in the frame
  std::unordered_map<uint32_t, Kind> kinds_;
  std::unordered_map<uint32_t, LaneStep> steps_;
  std::unordered_set<uint32_t> of_cta_;
};

// What ld and st need not find out of their lanes' addresses.
void note_lanes_of_address(const Constants& constants, isa::Opcode opcode, DecodedInst& in) {
  if ((opcode != Opcode::ld && opcode != Opcode::st) || in.checks_init || in.op_count <= in.dst_count)
    return;
  const Slot& address = in.ops[in.dst_count];
  const LaneStep step = address.base == 0 ? constants.step(address) : std::nullopt;
  if (step == in.width)
    in.flags |= kSideBySide;
  else if (step == 0)
    in.flags |= kOneAddress;
}

// A group has a handler's data.
bool may_begin(const DecodedInst& in) {
  return !in.plan;
}

} // namespace

// Observers know instructions by their places: the first one's own handler runs it where it stands.
struct LaunchConstants {
  Handler first = nullptr;
  uint64_t place = 0; // in the frame: 1 more than the activation in which all of it was executed
  uint32_t count = 0;
};

namespace {

Step run_group(Exec& x, const DecodedInst& in) {
  const auto& group = x.plan<LaunchConstants>(in);
  uint64_t executed_in = 0;
  std::byte* const place = x.bases[0] + group.place;
  std::memcpy(&executed_in, place, sizeof executed_in);
  const uint64_t now = x.frame->activation + 1;
  if (executed_in == now && x.may_pass_over())
    return x.pass_over(group.count);
  if (x.active == kAllLanes)
    std::memcpy(place, &now, sizeof now);
  return group.first(x, in);
}

void make_group(Code& code, uint32_t begin, uint32_t end) {
  auto group = std::make_shared<LaunchConstants>();
  DecodedInst& first = code.insts[begin];
  group->first = first.handler;
  group->count = end - begin;
  group->place = code.frame_bytes;
  code.frame_bytes += sizeof(uint64_t);
  first.handler = run_group;
  first.plan = code.plans.add(std::move(group));
  first.computes = false; // it may jump
}

// --- Of a CTA

// Grids have numbers of their own.
struct CtaOfGrid {
  uint64_t grid = 0, cta = 0;

  friend bool operator==(const CtaOfGrid&, const CtaOfGrid&) = default;
};

} // namespace

struct CtaConstants {
  Handler first = nullptr;
  uint64_t place = 0;         // in the frame: of which CTA it has the values
  uint32_t count = 0;         // of instructions
  std::vector<uint32_t> rest; // that warps have values each of: so many after the first
};

namespace {

Step run_cta_group(Exec& x, const DecodedInst& in) {
  const auto& group = x.plan<CtaConstants>(in);
  if (x.active != kAllLanes || !x.may_pass_over())
    return group.first(x, in);
  const CtaOfGrid now{.grid = x.launch->grid_id, .cta = x.cta->linear_id};
  CtaOfGrid has;
  std::byte* const place = x.bases[0] + group.place;
  std::memcpy(&has, place, sizeof has);
  if (has != now) {
    std::memcpy(place, &now, sizeof now);
    return group.first(x, in);
  }
  for (const uint32_t i : group.rest)
    (&in)[i].handler(x, (&in)[i]);
  return x.pass_over(group.count);
}

// Those in [begin, end), which nothing comes between: all execute and ask nothing.
void make_cta_group(Code& code, const std::vector<bool>& of_cta, uint32_t begin, uint32_t end) {
  while (begin < end && !(of_cta[begin] && may_begin(code.insts[begin])))
    ++begin;
  while (end > begin && !of_cta[end - 1])
    --end;
  if (std::count(of_cta.begin() + begin, of_cta.begin() + end, true) < 2)
    return;
  auto group = std::make_shared<CtaConstants>();
  DecodedInst& first = code.insts[begin];
  group->first = first.handler;
  group->place = code.frame_bytes;
  group->count = end - begin;
  for (uint32_t pc = begin; pc < end; ++pc)
    if (!of_cta[pc])
      group->rest.push_back(pc - begin);
  code.frame_bytes += sizeof(CtaOfGrid);
  first.handler = run_cta_group;
  first.plan = code.plans.add(std::move(group));
  first.computes = false; // it may jump
}

void find_constants_of_ctas(Code& code, std::span<const lowered::Block> blocks, const Constants& constants) {
  std::vector<bool> of_cta(code.insts.size());
  for (uint32_t pc = 0; pc < of_cta.size(); ++pc)
    of_cta[pc] = constants.computes_constants(code.insts[pc]) && constants.is_of_cta(code.insts[pc]);
  const auto may_stand_in_one = [&](uint32_t pc) {
    const DecodedInst& in = code.insts[pc];
    return (of_cta[pc] || in.computes) && !in.guarded && !in.always_run && !in.checks_init &&
           !in.marks_written && in.source != ptx::kNone && !loop_around(code, pc);
  };
  for (const lowered::Block& block : blocks)
    for (uint32_t begin = block.begin; begin < block.end; ++begin) {
      uint32_t end = begin;
      while (end < block.end && may_stand_in_one(end))
        ++end;
      make_cta_group(code, of_cta, begin, end);
      begin = end;
    }
}

} // namespace

bool begins_constants_of_cta(const DecodedInst& in) {
  return in.handler == run_cta_group;
}

bool begins_launch_constants(const DecodedInst& in) {
  return in.handler == run_group;
}

std::vector<bool> find_launch_constants(Code& code, std::span<const lowered::Block> blocks) {
  const Constants constants(code);
  for (DecodedInst& in : code.insts)
    if (code.opcode_of(in) == Opcode::wmma_load && in.op_count == in.dst_count + 2 &&
        constants.kind(in.ops[in.dst_count]) == Kind::uniform &&
        constants.kind(in.ops[in.dst_count + 1]) == Kind::uniform)
      in.flags |= kUniformLines;
  for (DecodedInst& in : code.insts)
    note_lanes_of_address(constants, code.opcode_of(in), in);
  std::vector<bool> computes(code.insts.size());
  for (uint32_t pc = 0; pc < computes.size(); ++pc)
    computes[pc] = code.insts[pc].source != ptx::kNone && loop_around(code, pc) &&
                   constants.computes_constants(code.insts[pc]);
  for (const DecodedInst& in : code.insts)
    if (constants.computes_constants(in))
      for (const Slot* slot = in.ops; slot != in.ops + in.dst_count; ++slot)
        if (slot->base == 0 && slot->bytes == 0)
          code.constant_predicates.push_back(slot->offset);
  std::sort(code.constant_predicates.begin(), code.constant_predicates.end());
  code.frame_bytes = align_up(code.frame_bytes, sizeof(uint64_t));
  for (const lowered::Block& block : blocks)
    for (uint32_t begin = block.begin; begin < block.end; ++begin) {
      uint32_t end = begin;
      while (end < block.end && computes[end] && may_begin(code.insts[begin]))
        ++end;
      if (end - begin < 2)
        continue;
      make_group(code, begin, end);
      begin = end;
    }
  if (code.function->is_entry)
    find_constants_of_ctas(code, blocks, constants);
  return computes;
}

} // namespace lemma::vgpu
