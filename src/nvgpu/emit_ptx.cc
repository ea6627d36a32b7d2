// Inline assembly from the catalogue's spelling; vectors as registers.
//
// Tests: tests/mlir/.
#include "nvgpu/emit_ptx.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma::nvgpu {

using namespace mlir;

namespace {

// A placeholder that no PTX has.
constexpr char kSlot = '\x01';

const char* constraint_of(Type type) {
  if (type.isF32())
    return "f";
  if (type.isF64())
    return "d";
  if (llvm::isa<LLVM::LLVMPointerType>(type))
    return "l";
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return "b";
  case 16:
    return "h";
  case 64:
    return "l";
  default:
    return "r";
  }
}

} // namespace

PtxCall& PtxCall::spelled(std::string spelling, size_t form_index) {
  current().spelling = std::move(spelling);
  current().form_index = form_index;
  return *this;
}

PtxCall& PtxCall::then(std::string spelling, size_t form_index) {
  lines_.emplace_back();
  return spelled(std::move(spelling), form_index);
}

PtxCall& PtxCall::only_if(Value predicate) {
  if (predicate)
    current().predicate = "@" + input(predicate) + " ";
  return *this;
}

PtxCall& PtxCall::until_true() {
  until_true_ = true;
  operand("complete");
  return *this;
}

std::string PtxCall::slot(bool output, size_t index) {
  slots_.push_back({output, index});
  return {kSlot};
}

std::string PtxCall::output(Type type) {
  outputs_.push_back(type);
  return slot(true, outputs_.size() - 1);
}

std::string PtxCall::input(Value value) {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i] == value && input_constraints_[i].front() > '9')
      return slot(false, i);
  inputs_.push_back(value);
  input_constraints_.push_back(constraint_of(value.getType()));
  return slot(false, inputs_.size() - 1);
}

void PtxCall::tie(Value value) {
  inputs_.push_back(value);
  input_constraints_.push_back(std::to_string(outputs_.size()));
}

void PtxCall::operand(const std::string& text) {
  current().operands += (current().operands.empty() ? " " : ", ") + text;
}

std::string PtxCall::list(const std::vector<std::string>& names) {
  return fmt::format("{{{}}}", fmt::join(names, ", "));
}

PtxCall& PtxCall::writes(Type type) {
  operand(output(type));
  return *this;
}

PtxCall& PtxCall::writes(TypeRange types) {
  std::vector<std::string> names;
  for (const Type type : types)
    names.push_back(output(type));
  operand(list(names));
  return *this;
}

PtxCall& PtxCall::updates(ValueRange registers) {
  std::vector<std::string> names;
  for (const Value value : registers) {
    tie(value);
    names.push_back(output(value.getType()));
  }
  operand(list(names));
  return *this;
}

PtxCall& PtxCall::pins(ValueRange registers) {
  for (const Value value : registers) {
    tie(value);
    outputs_.push_back(value.getType());
  }
  return *this;
}

PtxCall& PtxCall::again(size_t first, size_t count) {
  std::vector<std::string> names;
  for (size_t i = first; i < first + count; ++i)
    names.push_back(slot(true, i));
  operand(list(names));
  return *this;
}

PtxCall& PtxCall::reads(Value value) {
  operand(input(value));
  return *this;
}

PtxCall& PtxCall::reads(ValueRange registers) {
  std::vector<std::string> names;
  for (const Value value : registers)
    names.push_back(input(value));
  operand(list(names));
  return *this;
}

PtxCall& PtxCall::address(Value base, ValueRange coordinates) {
  std::string text = "[" + input(base);
  if (!coordinates.empty()) {
    std::vector<std::string> names;
    for (const Value value : coordinates)
      names.push_back(input(value));
    text += ", " + list(names);
  }
  operand(text + "]");
  return *this;
}

PtxCall& PtxCall::text(const std::string& literal) {
  operand(literal);
  return *this;
}

LogicalResult PtxCall::check(const Line& line) const {
  const auto found = Instruction::find(line.spelling, line.form_index);
  if (!found)
    return emitError(where_) << "internal error: the lowering spells " << line.spelling << ", but "
                             << found.error().message;
  const isa::Form& form = found->form();
  if (!found->is_available(target_.target))
    return emitError(where_) << line.spelling << " is not there on " << isa::to_string(target_.target)
                             << ": it needs " << isa::to_string(form.targets);
  target_.needed = std::max(target_.needed, form.since);
  return success();
}

std::string PtxCall::assembly() const {
  std::string written;
  for (const Line& line : lines_)
    written += (written.empty() ? "" : "\n\t") + line.predicate + line.spelling + line.operands + ";";
  if (until_true_) // names in braces are the block's own, however often the compiler copies it
    written = "{\n\t.reg .pred complete;\ntry:\n\t" + written + "\n\t@!complete bra try;\n\t}";
  std::string text;
  size_t next = 0;
  for (const char c : written)
    if (c == kSlot) {
      const Slot slot = slots_[next++];
      text += fmt::format("${}", slot.output ? slot.index : outputs_.size() + slot.index);
    } else {
      text += c;
    }
  return text;
}

FailureOr<SmallVector<Value>> PtxCall::emit(bool touches_memory) {
  for (const Line& line : lines_)
    if (failed(check(line)))
      return failure();
  // A register that one instruction writes must not be one that a later one reads.
  const char* written = lines_.size() > 1 ? "=&" : "=";
  std::vector<std::string> constraints;
  for (const Type type : outputs_)
    constraints.push_back(std::string(written) + constraint_of(type));
  constraints.insert(constraints.end(), input_constraints_.begin(), input_constraints_.end());
  if (touches_memory)
    constraints.emplace_back("~{memory}");

  Type result;
  if (outputs_.size() == 1)
    result = outputs_[0];
  else if (outputs_.size() > 1)
    result = LLVM::LLVMStructType::getLiteral(builder_.getContext(), outputs_);
  auto call = LLVM::InlineAsmOp::create(
      builder_, where_, result ? TypeRange(result) : TypeRange(), inputs_, assembly(),
      fmt::format("{}", fmt::join(constraints, ",")),
      /*has_side_effects=*/touches_memory, /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder_.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  SmallVector<Value> values;
  if (outputs_.size() == 1)
    values.push_back(call.getRes());
  else
    for (size_t i = 0; i < outputs_.size(); ++i)
      values.push_back(
          LLVM::ExtractValueOp::create(builder_, where_, call.getRes(), static_cast<int64_t>(i)));
  return values;
}

Type register_type(MLIRContext* context, isa::Type type) {
  Builder builder(context);
  if (type == isa::Type::f32)
    return builder.getF32Type();
  if (type == isa::Type::f64)
    return builder.getF64Type();
  return builder.getIntegerType(static_cast<unsigned>(std::max(16, isa::bits_of(type))));
}

// A vector of several dimensions is converted to arrays of its innermost dimension: 4x2xf16 to [4 x <2 x
// half>].

namespace {

// Number of innermost vectors, and how to reach each.
SmallVector<SmallVector<int64_t>> rows_of(VectorType type) {
  SmallVector<SmallVector<int64_t>> rows{{}};
  for (const int64_t extent : type.getShape().drop_back()) {
    SmallVector<SmallVector<int64_t>> next;
    for (const auto& row : rows)
      for (int64_t i = 0; i < extent; ++i) {
        next.push_back(row);
        next.back().push_back(i);
      }
    rows = std::move(next);
  }
  return rows;
}

Value index_constant(OpBuilder& builder, Location where, int64_t value) {
  return LLVM::ConstantOp::create(builder, where, builder.getI32Type(),
                                  builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

} // namespace

SmallVector<Value> to_registers(OpBuilder& builder, Location where, Value value, VectorType type,
                                Type register_type) {
  const int64_t columns = type.getShape().back();
  SmallVector<Value> registers;
  for (const auto& row : rows_of(type)) {
    const Value inner = row.empty() ? value : LLVM::ExtractValueOp::create(builder, where, value, row);
    const auto inner_type = cast<VectorType>(inner.getType());
    const unsigned bits = inner_type.getElementType().getIntOrFloatBitWidth();
    const int64_t per_register = register_type.getIntOrFloatBitWidth() / bits;
    // A row may hold several registers: cast it to a vector of them.
    const int64_t count = columns / per_register;
    const Value cast =
        LLVM::BitcastOp::create(builder, where, VectorType::get({count}, register_type), inner);
    for (int64_t i = 0; i < count; ++i)
      registers.push_back(
          LLVM::ExtractElementOp::create(builder, where, cast, index_constant(builder, where, i)));
  }
  return registers;
}

Value from_registers(OpBuilder& builder, Location where, ValueRange registers, VectorType type,
                     Type llvm_type) {
  Value result = LLVM::PoisonOp::create(builder, where, llvm_type);
  size_t next = 0;
  for (const auto& row : rows_of(type)) {
    const Type inner_type = row.empty() ? llvm_type : Type(VectorType::get({type.getShape().back()}, [&] {
      Type at = llvm_type;
      while (auto array = dyn_cast<LLVM::LLVMArrayType>(at))
        at = array.getElementType();
      return cast<VectorType>(at).getElementType();
    }()));
    const Type register_type = registers[next].getType();
    const auto bits =
        cast<VectorType>(inner_type).getElementType().getIntOrFloatBitWidth() * type.getShape().back();
    const int64_t count = static_cast<int64_t>(bits) / register_type.getIntOrFloatBitWidth();
    const auto packed_type = VectorType::get({count}, register_type);
    Value packed = LLVM::PoisonOp::create(builder, where, packed_type);
    for (int64_t i = 0; i < count; ++i)
      packed = LLVM::InsertElementOp::create(builder, where, packed, registers[next++],
                                             index_constant(builder, where, i));
    const Value inner = LLVM::BitcastOp::create(builder, where, inner_type, packed);
    result = row.empty() ? inner : LLVM::InsertValueOp::create(builder, where, result, inner, row);
  }
  return result;
}

} // namespace lemma::nvgpu
