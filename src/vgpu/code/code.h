// Decoded code: what the interpreter runs. A PTX function is decoded once a module; one decoded instruction
// is one call that works on all active lanes of a warp.
//
// Registers lie in a frame, one array of 32 lane values each:
//
//   frame  | predicates, 4 bytes each (bit i = lane i) | 16-bit: 64 B | 32-bit: 128 B | 64-bit: 256 B |
//   128-bit: 512 B | .param area |
//
// 8-bit registers take 16 bits. Constants lie in the same way in the program's constant pool, so that an
// operand is always a base and an offset and handlers do not branch on its kind.
//
// Blocks lie in reverse post-order: of the diverged parts of a warp the one with the lowest pc runs first,
// and parts that meet at a pc join (thread frontiers, Diamos et al., MICRO 2011).
//
// Tests: tests/unit/vgpu/core_test.cc, sizes_test.cc.
#pragma once

#include "isa/effects.h"
#include "lemma/report.h"
#include "ptx/module.h"
#include "vgpu/code/inst_id.h"
#include "vgpu/code/memory_order.h"
#include "vgpu/code/plans.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lemma::vgpu {

// Local memory of a thread, on every machine (CUDA C++ Programming Guide, "Compute Capabilities"). What a
// function passes in .param variables lies there too, as on the hardware.
inline constexpr uint64_t kMaxLocalBytes = 512 * 1024;

using LaneMask = uint32_t;
inline constexpr int kWarpSize = 32;
inline constexpr LaneMask kAllLanes = 0xffffffffu;

class Exec;
struct DecodedInst;
struct Code;
class CompiledCode; // compiled/compiled_code.h

// What becomes of the part of the warp that executed an instruction.
enum class Step : uint8_t {
  next,       // go on with the following instruction
  jumped,     // Exec::pc was set
  reschedule, // the set of splits changed, or this one waits; look again for what to run
  done,       // the instruction is done, and the split stands behind it; look again for what to run
  stopped,    // the launch is over: a fault was recorded
};

using Handler = Step (*)(Exec& x, const DecodedInst& in);

// Where an operand's 32 lane values lie.
struct Slot {
  uint32_t offset = 0;   // bytes from the base
  uint8_t base : 1 = 0;  // 0: the frame, 1: the constant pool
  uint8_t bytes : 5 = 0; // of one lane value: 2, 4, 8, 16; predicates are masks of 4 bytes for all lanes: 0

  // The register's index, for the record of what was written; ptx::kNone: a constant, a temporary or a sink.
  uint32_t reg() const { return reg_ == kNoRegister ? ptx::kNone : reg_; }
  void set_reg(uint32_t reg) { reg_ = reg & kNoRegister; }
  // No register's index: the parser takes no function that has so many.
  static constexpr uint32_t kNoRegister = (1u << 26) - 1;

private:
  uint32_t reg_ : 26 = kNoRegister;
};
static_assert(sizeof(Slot) == 8);

// One line of the host's cache, since the interpreter comes by millions of them. The operands are in
// Code::slots; what it says of the first ones itself, it says twice.
struct alignas(64) DecodedInst {
  Handler handler = nullptr;
  int64_t imm = 0; // handler's own: address offset, immediate control operand; of a jump, the pc it goes to
  static constexpr int kNearSources = 3;
  uint32_t dst_offset = 0;                          // Slot::offset of the first destination ...
  std::array<uint32_t, kNearSources> src_offsets{}; // ... and of the first sources
  uint32_t first_op = 0;                            // index in Code::slots, where destinations come first
  PlanId plan;                                      // handler's own data, in Code::plans
  uint32_t source =
      ptx::kNone;            // index in ptx::Function::instructions; kNone: made by the decoder, not counted
  uint32_t guard_offset = 0; // frame offset of the guard's mask
  std::array<uint8_t, kNearSources> src_bases{}; // Slot::base of the first sources
  uint8_t dst_count = 0;
  uint8_t op_count = 0;
  uint8_t flags = 0;         // handler's own
  uint8_t width = 0;         // handler's own: bytes of an access, ...
  uint8_t asks_itself = 255; // the source that the handler checks, since it does not read every lane of it
  MemoryOrder order;         // of its memory operation
  uint16_t run = 0;          // this instruction and those after it in its segment that execute for all lanes
                             // of a split and ask nothing of the loop
  uint16_t plain = 0;        // ... and of those, it and those after it that are `computes`
  bool computes : 1 = false; // the handler reads and writes registers of the active lanes alone, and always
                             // goes on to the next
  bool guarded : 1 = false;
  bool guard_negated : 1 = false;
  bool guards_itself : 1 = false;  // the handler looks at the guard, and counts the lanes that do not execute
  bool always_run : 1 = false;     // handler runs even when no lane is active (control flow)
  bool checks_init : 1 = false;    // some source may be read before it was written
  bool marks_written : 1 = false;  // some destination is a source that is checked, or is in Code::copied
  bool updates : 1 = false;        // destinations may be read too (accumulators): the handler knows
  bool checks_updated : 1 = false; // with `updates`: some may not have been written; the handler asks
  bool touches_wgmma : 1 = false;  // names a register that Code::wgmma_numbers has, and is no wgmma itself
  bool begins_segment : 1 = false; // the part of a warp that runs may give way before it: segments.h
  uint8_t src_bytes : 5 = 0;       // Slot::bytes of the first source

  uint32_t target() const { return static_cast<uint32_t>(imm); } // of a jump
};
static_assert(sizeof(DecodedInst) == 64);

struct FrameRange {
  uint32_t begin = 0; // bytes from the frame's begin, half open
  uint32_t end = 0;
};

struct PcRange {
  uint32_t begin = 0; // half open
  uint32_t end = 0;
};

// A decoded function.
struct Code {
  const ptx::Function* function = nullptr;
  const ptx::Module* module = nullptr;
  uint32_t number = 0; // of the function, in ptx::Module::functions
  std::vector<DecodedInst> insts;
  std::vector<Slot> slots; // of all instructions: ops_of()
  Plans plans;
  uint32_t unsupported = 0;             // so many of them are not modelled, and say so when they are reached
  uint64_t frame_bytes = 0;             // what a Slot can say at most: decode_function() sees to it
  uint32_t param_area_offset = 0;       // in the frame: [lane][param_bytes]
  uint32_t param_bytes = 0;             // of one lane: own parameters and returns, then .param variables
  uint32_t passed_bytes = 0;            // of those, the parameters, which the caller fills
  uint32_t local_bytes = 0;             // .local variables of one lane
  uint32_t local_align = 16;            // what they are aligned to
  uint32_t wanted_registers = 0;        // of a thread, at most, by its setmaxnreg.inc; 0: it has none
  bool has_wgmma = false;               // wgmma.mma_async is among its instructions
  uint32_t wgmma_registers = 0;         // that it has as accumulators or as A (wgmma_registers.h) ...
  std::vector<uint32_t> wgmma_numbers;  // ... their numbers, by kWgmmaUnit bytes of the frame; else kNone
  uint32_t shared_bytes = 0;            // entry: static shared memory of everything reachable
  uint64_t kernel_param_bytes = 0;      // entry: of its parameters, which lie in the launch
  std::vector<uint32_t> param_offsets;  // there, else in the lane's param area; by ptx::Function::params
  std::vector<uint32_t> return_offsets; // ptx::Function::returns
  std::vector<uint32_t> variable_offsets; // ptx::Function::variables (.local, .param, .shared by space)
  std::vector<uint32_t> inst_to_pc; // ptx instruction index -> pc; one past the last: the end of the body
  std::vector<Slot> registers;      // by ptx register; of a vector register, its first component
  std::vector<bool> tracked;        // by ptx register: what was written is recorded
  std::vector<bool> copied;         // by ptx register: loads write it, and all that reads it is stores of it
  struct Lanes {                    // in the frame
    uint32_t offset = 0;
    uint32_t bytes = 0; // of all components and lanes; 4 of a predicate
    uint8_t lane_bytes = 0;
  };
  std::vector<Lanes> poisoned; // the tracked registers: what they hold at the beginning is set
  // What of the frame tells whether a loop has come round: all but the registers that hold clocks and what
  // was computed from them.
  std::vector<FrameRange> loop_state;
  struct Loop {
    uint32_t begin = 0; // pcs, half open
    uint32_t end = 0;
    std::vector<FrameRange> changes; // what of `loop_state` its instructions can change
  };
  std::vector<Loop> loops;                   // outermost ones, by pc; see loops.h
  std::vector<uint32_t> constant_predicates; // offsets in the frame, in order; see lowered/constants.h
  std::vector<PcRange> constant_groups;      // see constant_groups.h
  // For launches that nobody watches, and for watched ones; null: it has none, and never will.
  std::array<std::shared_ptr<CompiledCode>, 2> compiled;

  static constexpr uint32_t kWgmmaUnit = 64; // no register but predicates is smaller
  // kNone: no wgmma has it.
  uint32_t wgmma_number(const Slot& slot) const {
    const size_t at = slot.offset / kWgmmaUnit;
    return slot.base == 0 && slot.bytes != 0 && at < wgmma_numbers.size() ? wgmma_numbers[at] : ptx::kNone;
  }

  // The operands of an instruction of this code, destinations first; the destinations; the sources.
  std::span<const Slot> ops_of(const DecodedInst& in) const {
    return {slots.data() + in.first_op, in.op_count};
  }
  std::span<const Slot> dsts_of(const DecodedInst& in) const { return ops_of(in).first(in.dst_count); }
  std::span<const Slot> srcs_of(const DecodedInst& in) const { return ops_of(in).subspan(in.dst_count); }
  // Gives it the operands, which are none of `slots`; 255 at most.
  void set_operands(DecodedInst& in, std::span<const Slot> dsts, std::span<const Slot> srcs);

  // The register of the instruction's guard; ptx::kNone: it has none.
  uint32_t guard_register(const DecodedInst& in) const {
    return in.guarded ? function->instructions[in.source].guard.reg : ptx::kNone;
  }

  // What instructions take of the host's memory, with their operands and plans, about.
  uint64_t bytes() const;

  // The plan of an instruction of this code that has one of type T.
  template <class T>
  const T& plan(const DecodedInst& in) const {
    return plans.get<T>(in.plan);
  }

  isa::Opcode opcode_of(const DecodedInst& in) const {
    return in.source == ptx::kNone ? isa::Opcode::none : function->instructions[in.source].opcode;
  }

  // ld and ldu move registers from memory as they are.
  bool is_load(const DecodedInst& in) const { return isa::is_load(isa::effects_of(opcode_of(in))); }

  isa::Opcode opcode_of(InstId id) const {
    return id.is_of_text() ? function->instructions[id.index].opcode : isa::Opcode::none;
  }

  // Which one it is. Of what the decoder has made for no instruction of the text: none.
  InstId id_of(const DecodedInst& in) const {
    const DecodedInst* at = &in;
    const DecodedInst* const end = insts.data() + insts.size();
    if (at->source == ptx::kNone) [[unlikely]] // it lies just before the one that it serves
      while (++at < end && at->source == ptx::kNone) {
      }
    return at == end ? InstId{} : InstId{number, at->source, static_cast<uint32_t>(at - &in)};
  }
  InstId id_at(uint32_t pc) const { return id_of(insts[pc]); }
  // Where it lies; the decoded instruction.
  uint32_t pc_of(InstId id) const {
    uint32_t pc = inst_to_pc[id.index];
    while (insts[pc].source != id.index)
      ++pc;
    return pc - id.before;
  }
  const DecodedInst& at(InstId id) const { return insts[pc_of(id)]; }

  Slot register_slot(uint32_t reg, int component) const {
    Slot slot = registers[reg];
    slot.offset += static_cast<uint32_t>(component * slot.bytes * kWarpSize);
    return slot;
  }
};

} // namespace lemma::vgpu
