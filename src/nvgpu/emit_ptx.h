// Instructions of the catalogue as inline assembly of the LLVM dialect.
//
// The lowering spells every instruction it makes; PtxCall looks the spelling up, says at the operation's
// location when the target has no such instruction, and notes the PTX version that the module will need.
//
// Tests: tests/mlir/.
#pragma once

#include "nvgpu/instruction.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

#include <optional>
#include <string>

namespace lemma::nvgpu {

// What a device module is compiled for, and what its instructions have asked for so far.
struct PtxTarget {
  isa::Target target{90, 'a'};
  isa::IsaVersion needed{};
};

// One instruction under construction, or several that nothing may come between. Operands are added in their
// order in PTX; `emit` makes it.
class PtxCall {
public:
  PtxCall(mlir::OpBuilder& builder, mlir::Location where, PtxTarget& target)
      : builder_(builder), where_(where), target_(target) {}

  PtxCall& spelled(std::string spelling, size_t form_index = 0);
  // Completes the instruction and begins the next.
  PtxCall& then(std::string spelling, size_t form_index = 0);
  // Executed only where `predicate`, an i1, is true; null: always.
  PtxCall& only_if(mlir::Value predicate);
  // Repeated until the predicate that it writes, its first operand, is true. Nothing else is written.
  PtxCall& until_true();

  PtxCall& writes(mlir::Type type);                                      // a register
  PtxCall& writes(mlir::TypeRange types);                                // {a, b, ...}
  PtxCall& updates(mlir::ValueRange registers);                          // {a, b, ...}, read and written
  PtxCall& reads(mlir::Value value);                                     // a register
  PtxCall& reads(mlir::ValueRange registers);                            // {a, b, ...}
  PtxCall& address(mlir::Value base, mlir::ValueRange coordinates = {}); // [base] or [base, {coordinates}]
  PtxCall& text(const std::string& literal);                             // an immediate, or a whole operand
  // Read and written as by `updates`, but no operand: keeps other uses of them before or after it.
  PtxCall& pins(mlir::ValueRange registers);
  // {a, b, ...}: `count` registers of those that are written, from the `first` on, in the order they were
  // added.
  PtxCall& again(size_t first, size_t count);

  // The registers written, in order; failure after an error at the location. Touching memory keeps it in its
  // place among loads and stores.
  mlir::FailureOr<mlir::SmallVector<mlir::Value>> emit(bool touches_memory = true);

private:
  std::string output(mlir::Type type);
  std::string input(mlir::Value value);
  void tie(mlir::Value value); // as input, to the output that follows
  void operand(const std::string& text);
  std::string slot(bool output, size_t index);
  static std::string list(const std::vector<std::string>& names);

  // In the order of the program; `current()` is under construction.
  struct Line {
    std::string spelling, predicate, operands;
    size_t form_index = 0;
  };
  Line& current() { return lines_.back(); }
  mlir::LogicalResult check(const Line& line) const;
  std::string assembly() const;

  mlir::OpBuilder& builder_;
  mlir::Location where_;
  PtxTarget& target_;
  std::vector<Line> lines_{1};
  bool until_true_ = false;
  // Operands of the assembly are numbered outputs first, so numbers are known only at the end: a placeholder
  // stands for each until then.
  struct Slot {
    bool output;
    size_t index;
  };
  std::vector<Slot> slots_;
  mlir::SmallVector<mlir::Type> outputs_;
  mlir::SmallVector<mlir::Value> inputs_;
  std::vector<std::string> input_constraints_;
};

// The values of a vector (or scalar), in order, packed into registers of `bits` bits: 4x2xf16 is four i32 (or
// f32 with `type`). `type` has that many bits; an element as wide as the register is bitcast alone.
mlir::SmallVector<mlir::Value> to_registers(mlir::OpBuilder& builder, mlir::Location where, mlir::Value value,
                                            mlir::VectorType type, mlir::Type register_type);
// And back: `type` is the vector type before conversion, `llvm_type` what it is converted to.
mlir::Value from_registers(mlir::OpBuilder& builder, mlir::Location where, mlir::ValueRange registers,
                           mlir::VectorType type, mlir::Type llvm_type);

// The type of a register that holds a PTX type: f32 for f32, i32 for b32, s32, f16x2, f64 for f64.
mlir::Type register_type(mlir::MLIRContext* context, isa::Type type);

} // namespace lemma::nvgpu
