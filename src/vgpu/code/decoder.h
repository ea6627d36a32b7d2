// From the lowered program to decoded code. Each family of instructions gives a selector, which picks the
// handler and says which operands it reads and writes where; what no selector takes decodes to a handler that
// reports `unsupported` when reached.
//
// Tests: tests/unit/vgpu/operands_test.cc.
#pragma once

#include "lowered/program.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/exec.h"

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>

namespace lemma::vgpu {

// An address: the value of `base`, plus `offset`.
struct PlacedAddress {
  Slot base; // a register, or a constant: 0 where the offset is all of the address
  int64_t offset = 0;
  isa::StateSpace space = isa::StateSpace::generic;
  bool has_base = false;
};

class Decoder {
public:
  Decoder(Program& program, Code& code, const lowered::Function& lowered);

  // Has the selector of the opcode's family choose the handler and place the operands; false where it does
  // not model the instruction.
  bool select(const lowered::Inst& inst, DecodedInst& in);

  const ptx::Module& module() const { return *code_.module; }
  const ptx::Function& function() const { return *code_.function; }
  Program& program() { return program_; }
  Code& code() { return code_; }

  // Operands of the instruction that is being decoded: `operand` counts as its text does, `element` in a
  // vector, in d|p, or in what stands in an address, which is element 0 itself.
  std::span<const lowered::Operand> operands(size_t operand) const;
  const lowered::Notes& notes() const { return notes_; } // of it
  size_t count(size_t operand) const { return operands(operand).size(); }
  // A destination: a register, or for a sink a temporary nobody reads (of `type`'s width).
  Slot dst(size_t operand, isa::Type type, size_t element = 0);
  // A source: a register, or a value of the given type that is the same in all lanes. What is neither makes
  // the instruction unsupported. Of a part of a register (%r1.b0) the slot is the register's: the handler
  // selects the part.
  Slot src(size_t operand, isa::Type type, size_t element = 0);
  // All elements.
  void add_dsts(std::vector<Slot>& out, size_t operand, isa::Type type);
  void add_srcs(std::vector<Slot>& out, size_t operand, isa::Type type);
  Slot dst(const lowered::Operand& operand, isa::Type type);
  Slot src(const lowered::Operand& operand, isa::Type type);
  Slot src(const lowered::Operand& operand); // of the width that it has in the lowered program
  // [base + offset], with the state space of the instruction's qualifiers; of a shared variable by its name,
  // `shared` (an offset without the CTA's rank), whatever they say; a .param address of a device
  // function's parameter has the space `reg` (the frame's .param area).
  PlacedAddress address(size_t operand);
  // The pc that a label means.
  uint32_t target(size_t operand) const;
  // A constant, the same in every lane. Predicates: bits 0 or 1.
  Slot constant(uint64_t bits, isa::Type type);
  // A fresh register that no PTX name means.
  Slot temporary(isa::Type type);

  // Gives the instruction its operands.
  void set_operands(DecodedInst& in, std::span<const Slot> dsts, std::span<const Slot> srcs);
  void set_operands(DecodedInst& in, std::initializer_list<Slot> dsts, std::initializer_list<Slot> srcs) {
    set_operands(in, std::span(dsts.begin(), dsts.size()), std::span(srcs.begin(), srcs.size()));
  }
  // The common case: operand 0 is the destination of `dst_type`, the others are sources of `src_type`.
  void set_simple_operands(DecodedInst& in, isa::Type dst_type, isa::Type src_type);
  // Gives the instruction a plan, which the caller fills in.
  template <class T>
  T& make_plan(DecodedInst& in) {
    auto plan = std::make_shared<T>();
    in.plan = code_.plans.add(plan);
    return *plan;
  }
  // Gives the instruction the plan that those of its binding share, and of one `variant` of it: make() gives
  // the plan, or nothing where the instruction is not modelled, and is called for the first of them alone.
  // Null: nothing.
  template <class T, class Make>
  const T* shared_plan(DecodedInst& in, const isa::Binding& binding, uint64_t variant, Make make) {
    const auto [it, is_new] = shared_.try_emplace({&binding, variant});
    if (is_new)
      if (std::optional<T> plan = make())
        it->second = code_.plans.add(std::make_shared<T>(std::move(*plan)));
    in.plan = it->second;
    return in.plan ? &code_.plan<T>(in) : nullptr;
  }
  // For a variable in .param, its offset in the kernel's parameters or in a lane's param area.
  uint32_t param_offset(const lowered::VariableAddress& address) const;
  const lowered::Function& lowered() const { return lowered_; }

private:
  friend class FunctionDecoder;
  Slot place(int bytes);
  Slot source(const lowered::Operand& operand, int bytes);
  Slot constant_of(uint64_t bits, int bytes);
  Slot not_placed(isa::Type type);
  uint64_t value_of(const lowered::VariableAddress& address) const;
  uint64_t shared_offset(const ptx::Variable& variable) const;
  // The program's own.
  bool decode_special(const lowered::Inst& inst, DecodedInst& in);
  void decode_place(const lowered::Inst& inst, DecodedInst& in);
  void decode_add(const lowered::Inst& inst, DecodedInst& in);
  void decode_low(const lowered::Inst& inst, DecodedInst& in);
  void decode_not(const lowered::Inst& inst, DecodedInst& in);
  uint32_t allocate_frame(uint32_t bytes, uint32_t align);

  Program& program_;
  Code& code_;
  std::map<std::pair<const isa::Binding*, uint64_t>, PlanId> shared_; // plans of bindings
  const lowered::Function& lowered_;
  std::vector<Slot> registers_; // by lowered::Function::registers
  // Of the instruction being decoded; `by_text_`: what each operand of the text has become.
  lowered::Notes notes_;
  std::span<const lowered::Operand> operands_;
  std::vector<std::span<const lowered::Operand>> by_text_;
  bool all_placed_ = true; // every operand was one that a slot can stand for
};

using lowered::register_bytes;

// Picks handler and operands. Returns false for what it does not model.
using Selector = bool (*)(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in);

class SelectorTable {
public:
  void add(isa::Opcode opcode, Selector selector) { table_[static_cast<size_t>(opcode)] = selector; }
  void add(std::initializer_list<isa::Opcode> opcodes, Selector selector) {
    for (const isa::Opcode opcode : opcodes)
      add(opcode, selector);
  }
  Selector find(isa::Opcode opcode) const { return table_[static_cast<size_t>(opcode)]; }

private:
  Selector table_[1024] = {};
};

// One function a family, each in its own file under src/vgpu/handlers/; decoder.cc calls them all.
void add_integer_selectors(
    SelectorTable& table); // integer.cc: add sub mul mad ... bfe prmt dp4a, carry chains
void add_float_selectors(
    SelectorTable& table); // float.cc: f32, f64 arithmetic, approximations, testp, copysign
void add_half_selectors(SelectorTable& table);    // half.cc: f16, f16x2, bf16, bf16x2
void add_convert_selectors(SelectorTable& table); // convert.cc: cvt, cvt.pack
void add_compare_selectors(SelectorTable& table); // compare.cc: setp set selp slct
void add_move_selectors(
    SelectorTable& table); // move.cc: mov, cvta, isspacep, logic and shifts of predicates too
void add_memory_selectors(SelectorTable& table); // memory.cc: ld st ldu prefetch, .param access
void add_atomic_selectors(SelectorTable& table); // atomic.cc: atom red fence membar
void add_warp_selectors(
    SelectorTable& table); // warp_ops.cc: shfl vote match redux activemask elect bar.warp.sync
void add_control_selectors(
    SelectorTable& table); // control.cc: bra brx.idx call ret exit trap brkpt bar barrier
void add_stack_selectors(SelectorTable& table); // stack.cc: alloca stacksave stackrestore
void add_cluster_selectors(
    SelectorTable& table); // cluster.cc: mapa getctarank barrier.cluster griddepcontrol pmevent
void add_setmaxnreg_selectors(SelectorTable& table);        // setmaxnreg.cc
void add_tensor_allocation_selectors(SelectorTable& table); // tensor_allocation.cc
void add_tensor_mma_selectors(SelectorTable& table);        // tensor_mma.cc
void add_tensor_cp_selectors(SelectorTable& table);         // tensor_cp.cc
void add_tensor_shift_selectors(SelectorTable& table);      // tensor_shift.cc
void add_tensor_commit_selectors(SelectorTable& table);     // tensor_commit.cc
void add_tensor_move_selectors(SelectorTable& table);       // tensor_moves.cc
void add_launch_control_selectors(SelectorTable& table);    // launch_control.cc: clusterlaunchcontrol
void add_matrix_selectors(SelectorTable& table);      // matrix.cc: ldmatrix stmatrix wmma.load wmma.store
void add_mma_selectors(SelectorTable& table);         // mma.cc: mma wmma.mma
void add_mbarrier_selectors(SelectorTable& table);    // mbarrier.cc
void add_bulk_copy_selectors(SelectorTable& table);   // bulk_copy.cc: and st.async, red.async
void add_cp_async_selectors(SelectorTable& table);    // cp_async.cc
void add_tensor_copy_selectors(SelectorTable& table); // tensor_copy.cc
void add_wgmma_selectors(SelectorTable& table);       // wgmma.cc

// The ret that runs at the end of a body.
DecodedInst return_instruction(); // control.cc

} // namespace lemma::vgpu
