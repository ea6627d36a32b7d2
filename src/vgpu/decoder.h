// From a typed PTX function to decoded code. Each family of instructions gives a selector, which picks the
// handler and places the operands; what no selector takes decodes to a handler that reports `unsupported`
// when reached.
//
// Tests: tests/unit/vgpu/decode_test.cc.
#pragma once

#include "vgpu/exec.h"
#include "vgpu/program.h"

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>

namespace lemma::vgpu {

// How an address operand decodes: the address is source `operand` (if any) plus DecodedInst::imm.
struct AddressOperand {
  isa::StateSpace space = isa::StateSpace::generic;
  bool has_base = false; // a register; else the address is `offset` alone
  Slot base;
  int64_t offset = 0;
};

class Decoder {
public:
  Decoder(Program& program, Code& code);

  // Has the selector of the opcode's family choose the handler and place the operands; false where it does
  // not model the instruction.
  bool select(const ptx::Instruction& instruction, DecodedInst& in);

  const ptx::Module& module() const { return *code_.module; }
  const ptx::Function& function() const { return *code_.function; }
  Program& program() { return program_; }
  Code& code() { return code_; }

  // A destination: a register, or for a sink a temporary nobody reads (of `type`'s width).
  Slot dst(const ptx::Operand& operand, isa::Type type);
  // A source of the given type: a register, an immediate converted to the type's bits, a special register
  // (read by an instruction emitted before this one), the address of a variable or function. Negated
  // predicates and sums of a register and a constant become a temporary. All but registers have the type's
  // width.
  //
  // An operand that is none of these - a vector where one value is wanted - makes the instruction
  // unsupported. Of a part of a register (%r1.b0) the slot is the register's: the handler selects the part.
  Slot src(const ptx::Operand& operand, isa::Type type);
  // A constant, the same in every lane. Predicates: bits 0 or 1.
  Slot constant(uint64_t bits, isa::Type type);
  Slot constant128(uint64_t low, uint64_t high);
  // A fresh register that no PTX name means.
  Slot temporary(isa::Type type);
  // [base + offset], with the state space of the instruction's qualifiers; of a shared variable by its name,
  // `shared` (an offset without the CTA's rank), whatever they say; a .param address of a device
  // function's parameter decodes to space `reg` (the frame's .param area).
  AddressOperand address(const ptx::Instruction& instruction, const ptx::Operand& operand);

  // Gives the instruction its operands.
  void set_operands(DecodedInst& in, std::span<const Slot> dsts, std::span<const Slot> srcs);
  void set_operands(DecodedInst& in, std::initializer_list<Slot> dsts, std::initializer_list<Slot> srcs) {
    set_operands(in, std::span(dsts.begin(), dsts.size()), std::span(srcs.begin(), srcs.size()));
  }
  // The common case: operand 0 is the destination of `dst_type`, the others are sources of `src_type`.
  void set_simple_operands(DecodedInst& in, const ptx::Instruction& instruction, isa::Type dst_type,
                           isa::Type src_type);
  // Makes a mov of that type from a special register the reading of it; false: it has a type of its own, or
  // counts the instructions before it.
  bool read_special_register_to(DecodedInst& in, const ptx::Instruction& mov, isa::Type type);
  // A block of handler data that lives as long as the code.
  template <class T>
  T* make_extra(DecodedInst& in) {
    auto block = std::make_shared<T>();
    T* raw = block.get();
    code_.extras.push_back(std::move(block));
    in.extra = raw;
    return raw;
  }
  // The same for instructions of one binding, and of one `variant` of it: make() gives the block, or nothing
  // where the instruction is not modelled, and is called for the first of them alone. Null: nothing.
  template <class T, class Make>
  const T* shared_extra(DecodedInst& in, const isa::Binding& binding, uint64_t variant, Make make) {
    const auto [it, is_new] = shared_.try_emplace({&binding, variant});
    if (is_new)
      if (std::optional<T> block = make()) {
        it->second = std::make_shared<T>(std::move(*block));
        code_.extras.push_back(it->second);
      }
    in.extra = it->second.get();
    return static_cast<const T*>(it->second.get());
  }
  // An instruction that runs before the one being decoded, under no guard.
  void emit(DecodedInst in) { code_.insts.push_back(in); }

  // The variable or parameter that a symbol operand names, and for one in .param its offset in the kernel's
  // parameters or in a lane's param area.
  const ptx::Variable& variable_of(const ptx::Operand& operand) const;
  uint32_t param_offset(const ptx::Operand& operand) const;

private:
  friend class FunctionDecoder;
  Slot place(isa::Type type);
  Slot register_slot(const ptx::Operand& operand) const;
  Slot symbol_address(const ptx::Operand& operand, isa::Type type);
  enum class AddressBase : uint8_t { local, shared, dynamic_shared };
  Slot launch_dependent_address(AddressBase base, int64_t offset, isa::Type type);
  Slot read_special_register(isa::SpecialRegister sreg, isa::Type type);
  void place_special_register(DecodedInst& in, isa::SpecialRegister sreg, Slot value);
  Slot negated_predicate(Slot slot);
  Slot sum(Slot slot, int64_t addend);
  Slot narrowed(Slot slot, isa::Type type);
  Slot not_placed(isa::Type type);
  uint32_t allocate_frame(uint32_t bytes, uint32_t align);

  Program& program_;
  Code& code_;
  std::map<std::pair<const isa::Binding*, uint64_t>, std::shared_ptr<void>> shared_;
  const bool has_vectors_; // some register is declared .v2 or .v4
  bool all_placed_ = true; // every operand of the instruction being decoded was one that a slot can stand for
};

// Bytes of one lane value of a register of this type: 0 for predicates, at least 2 otherwise.
int register_bytes(isa::Type type);

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
void add_setmaxnreg_selectors(SelectorTable& table);     // setmaxnreg.cc
void add_launch_control_selectors(SelectorTable& table); // launch_control.cc: clusterlaunchcontrol
void add_matrix_selectors(SelectorTable& table);         // matrix.cc: ldmatrix stmatrix wmma.load wmma.store
void add_mma_selectors(SelectorTable& table);            // mma.cc: mma wmma.mma
void add_mbarrier_selectors(SelectorTable& table);       // mbarrier.cc
void add_bulk_copy_selectors(SelectorTable& table);      // bulk_copy.cc: and st.async, red.async
void add_cp_async_selectors(SelectorTable& table);       // cp_async.cc
void add_tensor_copy_selectors(SelectorTable& table);    // tensor_copy.cc
void add_wgmma_selectors(SelectorTable& table);          // wgmma.cc

// The ret that runs at the end of a body.
DecodedInst return_instruction(); // control.cc

} // namespace lemma::vgpu
