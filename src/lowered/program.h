// The program in the middle: what one function does, as the virtual GPU will execute it, and nothing yet
// about how. A function of PTX is lowered once (lower.h); passes work on that; the virtual GPU then picks a
// handler for each instruction and a place for each register. print.h writes it as text.
//
// What PTX leaves to the reader is resolved. Operands are lists of registers, constants and addresses:
// elements of vectors lie one after the other, `%r1+4`, `!%p`, `%ctaid.x` and the address of a .shared
// variable have become registers, which instructions of the program's own compute before. Blocks lie in the
// order in which they are executed (ptx/flow.h), so that an index in Function::insts is a place to jump to.
//
// Not here: where registers and variables lie, and the values of addresses.
//
// Tests: tests/unit/lowered.
#pragma once

#include "isa/effects.h"
#include "ptx/module.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lemma::lowered {

using ptx::kNone;

enum class Op : uint8_t {
#define OP(name, spelling) name,
#include "lowered/ops.def"
};
std::string_view to_string(Op op); // as ops.def spells it

// What passes have found out, as notes.def lists it.
enum class Note : uint8_t {
#define NOTE(name, spelling) name,
#include "lowered/notes.def"
};
std::string_view to_string(Note note);

class Notes {
public:
  bool has(Note note) const { return bits_ >> static_cast<int>(note) & 1; }
  void add(Note note) { bits_ |= static_cast<uint16_t>(1u << static_cast<int>(note)); }

private:
  uint16_t bits_ = 0;
};

// Of an operand, and what its `index` counts in.
enum class OperandKind : uint8_t {
  none,     // a destination that nobody reads, or a source that is 0
  reg,      // Function::registers
  constant, // Function::constants
  special,  // isa::SpecialRegister
  variable, // the address of a variable: Function::variables
  function, // a function, or its address: ptx::Module::functions
  address,  // of memory: Function::addresses
  block,    // Function::blocks
  table,    // what brx.idx and an indirect call choose from: ptx::Function::target_lists
  proto,    // ptx::Function::prototypes
};

struct Operand {
  OperandKind kind = OperandKind::none;
  uint8_t bytes = 0; // of a lane's value; 0: a predicate, or no value
  uint32_t index = 0;

  bool is_register() const { return kind == OperandKind::reg; }
  friend bool operator==(const Operand&, const Operand&) = default;
};

// A register of the text, or one component of it; or one that no name means.
struct Register {
  uint32_t text = kNone; // ptx::Function::registers
  uint8_t component = 0;
  uint8_t bytes = 0; // of a lane's value, at least 2; 0: a predicate
  // What passes have found out.
  bool is_asked = false;    // unwritten.h: whether it was written is not known everywhere
  bool is_carried = false;  // unwritten.h: loads write it, and all that reads it is stores of it
  bool holds_clock = false; // loops.h: the value of a clock, or what was computed from one
  bool is_known = false;    // constants.h: the same each time, as long as the activation lasts
};

// A variable, and how far in it or behind it.
struct VariableAddress {
  ptx::Operand::SymbolScope scope = ptx::Operand::SymbolScope::module;
  uint32_t symbol = 0; // as of a ptx::Operand
  int64_t offset = 0;  // bytes; wraps
};

// [variable + base + offset]
struct Address {
  // `reg` is .param memory of this activation, not of the launch.
  isa::StateSpace space = isa::StateSpace::generic;
  Operand base;              // of kind none: there is none
  uint32_t variable = kNone; // Function::variables
  int64_t offset = 0;        // bytes, beside the variable's; wraps
};

struct Inst {
  uint32_t source = kNone; // ptx::Function::instructions; kNone: of no instruction of the text by itself
  uint32_t guard = kNone;  // Function::registers
  uint32_t operands = 0;   // the first, in Function::operands
  uint8_t count = 0;       // of operands, destinations first
  uint8_t destinations = 0;
  bool guard_negated = false;
  Op op = Op::instruction;
  Notes notes;
};

// Basic blocks of the text, in the order in which they are executed.
struct Block {
  uint32_t begin = 0; // Function::insts, half open
  uint32_t end = 0;
  std::vector<uint32_t> successors; // the one fallen into, if any, first
};

struct Range {
  uint32_t begin = 0; // Function::insts, half open
  uint32_t end = 0;
};

// Instructions of one block, most of which all threads of a CTA have the same of.
struct CtaConstants : Range {
  std::vector<uint32_t> others; // which each warp executes
};

// D = A B + C, larger than an instruction's. The operands are in the order in which their blocks are a
// tile's: row eight after row eight, and in them along the row, of B, whose rows are columns, along K
// (layout/register_blocks.h).
struct MatrixProduct {
  int m = 0, n = 0;
  int steps = 1; // along K, of the instruction's depth each
  std::vector<Operand> a, b, c, d;
};

// Instructions of one spelling and one block that may be multiplied together, when the last one comes.
struct MatrixRun {
  std::vector<uint32_t> insts; // in order
  std::vector<MatrixProduct> products;
  std::vector<uint32_t> left; // the loads of all that is multiplied, where each is noted `left`; else empty
  // In a loop: where all that stands before the last instruction, from here on, is others of the run, `left`
  // loads of the same lines in all lanes and constants of the launch; kNone: it is not so.
  uint32_t settled_from = kNone;
};

struct Function {
  const ptx::Module* module = nullptr;
  const ptx::Function* text = nullptr;
  int sm = 0;                            // the machine that it is for: 90
  std::vector<Register> registers;       // those of the text come first
  std::vector<uint32_t> first_component; // by register of the text; empty: there are no vectors
  std::vector<uint64_t> constants;
  std::vector<VariableAddress> variables;
  std::vector<Address> addresses;
  std::vector<Operand> operands;
  std::vector<Inst> insts;
  std::vector<Block> blocks;                  // the entry first
  bool has_successors = true;                 // false: there are too many, and Block::successors are empty
  std::vector<Range> loops;                   // what can come round, outermost ones, in order; loops.h
  std::vector<Range> constants_of_launch;     // of one block each; constants.h
  std::vector<CtaConstants> constants_of_cta; // likewise
  std::vector<MatrixRun> matrix_runs;         // matrix_runs.h
  // By instruction of the text the first of what it has become, and then that of the body's end.
  std::vector<uint32_t> first_inst;

  std::span<const Operand> operands_of(const Inst& inst) const {
    return std::span(operands).subspan(inst.operands, inst.count);
  }
  std::span<const Operand> destinations_of(const Inst& inst) const {
    return operands_of(inst).first(inst.destinations);
  }
  std::span<const Operand> sources_of(const Inst& inst) const {
    return operands_of(inst).subspan(inst.destinations);
  }
  // Null: of none by itself.
  const ptx::Instruction* instruction_of(const Inst& inst) const {
    return inst.source == kNone ? nullptr : &text->instructions[inst.source];
  }
  uint32_t register_of(uint32_t of_text, uint32_t component = 0) const {
    return (first_component.empty() ? of_text : first_component[of_text]) + component;
  }
  const ptx::Variable& variable_of(const VariableAddress& address) const;
};

// Of a lane's value in a register of this type: 0 for predicates, at least 2 otherwise.
uint8_t register_bytes(isa::Type type);

// How many operands an operand of the text has become.
uint32_t width_of(const ptx::Operand& operand, const ptx::Function& text);

// f(register) for each register that the instruction takes as a source, or as the base of an address.
template <class F>
void for_each_source(const Function& function, const Inst& inst, F&& f) {
  for (const Operand& operand : function.sources_of(inst))
    if (operand.is_register())
      f(operand.index);
    else if (operand.kind == OperandKind::address && function.addresses[operand.index].base.is_register())
      f(function.addresses[operand.index].base.index);
}

// The same, and its guard.
template <class F>
void for_each_read(const Function& function, const Inst& inst, F&& f) {
  if (inst.guard != kNone)
    f(inst.guard);
  for_each_source(function, inst, f);
}

// f(register) for each that it writes.
template <class F>
void for_each_write(const Function& function, const Inst& inst, F&& f) {
  for (const Operand& operand : function.destinations_of(inst))
    if (operand.is_register())
      f(operand.index);
}

// What the instruction does, by its row (isa/effects.h); nothing is stated of the program's own.
isa::Effects effects_of(const Function& function, const Inst& inst);

} // namespace lemma::lowered
