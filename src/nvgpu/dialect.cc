// Registration of the nvgpu dialect, and what it reads beyond LLVM 22's spelling: the names of 2023.
//
// Tests: tests/mlir/.
#include "nvgpu/dialect.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "nvgpu/dialect.cc.inc"
#include "nvgpu/enums.cc.inc"

// A value of an enumeration; in its attribute by itself it may have brackets, #nvgpu.swizzle<none>.
namespace lemma::nvgpu {
namespace {

template <class Enum>
mlir::ParseResult parseEnumValue(mlir::AsmParser& parser, Enum& value) {
  const bool bracket = mlir::succeeded(parser.parseOptionalLess());
  const mlir::FailureOr<Enum> parsed = mlir::FieldParser<Enum>::parse(parser);
  if (mlir::failed(parsed) || (bracket && parser.parseGreater()))
    return mlir::failure();
  value = *parsed;
  return mlir::success();
}

template <class Enum>
void printEnumValue(mlir::AsmPrinter& printer, Enum value) {
  printer << stringifyEnum(value);
}

} // namespace
} // namespace lemma::nvgpu

#define GET_ATTRDEF_CLASSES
#include "nvgpu/attributes.cc.inc"

#define GET_TYPEDEF_CLASSES
#include "nvgpu/types.cc.inc"

// Types of nvgpu.warpgroup.mma that upstream prints without their names, `<tensor = ...>`: its operands are
// one descriptor and one accumulator each. A may also be a vector here, and accumulators are a list. MLIR
// sets the functions' names.
namespace lemma::nvgpu {
namespace {

mlir::ParseResult parseMultiplicandA(mlir::OpAsmParser& parser, mlir::Type& type) {
  if (const mlir::OptionalParseResult whole = parser.parseOptionalType(type); whole.has_value())
    return *whole;
  type = WarpgroupMatrixDescriptorType::parse(parser);
  return mlir::success(bool(type));
}

void printMultiplicandA(mlir::OpAsmPrinter& printer, mlir::Operation*, mlir::Type type) {
  if (const auto descriptor = mlir::dyn_cast<WarpgroupMatrixDescriptorType>(type))
    printer.printStrippedAttrOrType(descriptor);
  else
    printer << type;
}

mlir::ParseResult parseAccumulators(mlir::OpAsmParser& parser, llvm::SmallVectorImpl<mlir::Type>& types) {
  return parser.parseCommaSeparatedList([&]() -> mlir::ParseResult {
    WarpgroupAccumulatorType type;
    if (parser.parseCustomTypeWithFallback(type))
      return mlir::failure();
    types.push_back(type);
    return mlir::success();
  });
}

void printAccumulators(mlir::OpAsmPrinter& printer, mlir::Operation*, mlir::TypeRange types) {
  llvm::interleaveComma(types, printer, [&](mlir::Type type) {
    printer.printStrippedAttrOrType(mlir::cast<WarpgroupAccumulatorType>(type));
  });
}

// %group[%id], %count, predicate = %p

mlir::ParseResult parseCountOfBarrier(mlir::OpAsmParser& parser,
                                      mlir::OpAsmParser::UnresolvedOperand& barriers,
                                      mlir::OpAsmParser::UnresolvedOperand& count,
                                      llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand>& last,
                                      llvm::SmallVectorImpl<mlir::Type>& last_types) {
  if (parser.parseOperand(barriers))
    return mlir::failure();
  if (mlir::succeeded(parser.parseOptionalLSquare())) {
    if (parser.parseOperand(last.emplace_back()) || parser.parseRSquare())
      return mlir::failure();
    last_types.push_back(parser.getBuilder().getIndexType());
  }
  if (parser.parseComma() || parser.parseOperand(count))
    return mlir::failure();
  if (mlir::succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("predicate") || parser.parseEqual() || parser.parseOperand(last.emplace_back()))
      return mlir::failure();
    last_types.push_back(parser.getBuilder().getI1Type());
  }
  return mlir::success();
}

void printCountOfBarrier(mlir::OpAsmPrinter& printer, mlir::Operation*, mlir::Value barriers,
                         mlir::Value count, mlir::OperandRange operands, mlir::TypeRange) {
  const IdAndPredicate last(operands);
  printer << barriers;
  if (last.id)
    printer << '[' << last.id << ']';
  printer << ", " << count;
  if (last.predicate)
    printer << ", predicate = " << last.predicate;
}

// [%x, %y, %z] im2col[%offset]

mlir::ParseResult parseCoordinates(mlir::OpAsmParser& parser,
                                   llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand>& operands,
                                   mlir::IntegerAttr& offsets) {
  using enum mlir::OpAsmParser::Delimiter;
  if (parser.parseOperandList(operands, Square))
    return mlir::failure();
  if (mlir::failed(parser.parseOptionalKeyword("im2col")))
    return mlir::success();
  const size_t coordinates = operands.size();
  const llvm::SMLoc where = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, Square))
    return mlir::failure();
  if (operands.size() == coordinates)
    return parser.emitError(where, "im2col needs offsets, one for each dimension but batch and channels");
  offsets = parser.getBuilder().getI32IntegerAttr(static_cast<int32_t>(operands.size() - coordinates));
  return mlir::success();
}

void printCoordinates(mlir::OpAsmPrinter& printer, mlir::Operation*, mlir::OperandRange operands,
                      mlir::IntegerAttr offsets) {
  const auto count = static_cast<size_t>(offsets ? offsets.getInt() : 0);
  printer << '[' << operands.drop_back(count) << ']';
  if (count != 0)
    printer << " im2col[" << operands.take_back(count) << ']';
}

} // namespace
} // namespace lemma::nvgpu

#define GET_OP_CLASSES
#include "nvgpu/ops.cc.inc"

namespace lemma::nvgpu {

using namespace mlir;

void NVGPUDialect::initialize() {
  registerTypes();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "nvgpu/attributes.cc.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "nvgpu/ops.cc.inc"
      >();
}

void NVGPUDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "nvgpu/types.cc.inc"
      >();
}

bool is_shared_memory(Attribute memory_space) {
  if (const auto number = dyn_cast_or_null<IntegerAttr>(memory_space))
    return number.getInt() == 3;
  if (const auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(memory_space))
    return space.getValue() == gpu::AddressSpace::Workgroup;
  return false;
}

// Names of 2023

Type NVGPUDialect::parseType(DialectAsmParser& parser) const {
  const SMLoc where = parser.getCurrentLocation();
  StringRef mnemonic;
  Type type;
  if (const OptionalParseResult result = generatedTypeParser(parser, &mnemonic, type); result.has_value())
    return type;
  if (mnemonic == "mbarrier.barrier")
    return MBarrierGroupType::parse(parser);
  if (mnemonic == "wgmma.descriptor")
    return WarpgroupMatrixDescriptorType::parse(parser);
  parser.emitError(where, "nvgpu has no type '") << mnemonic << "'";
  return {};
}

void NVGPUDialect::printType(Type type, DialectAsmPrinter& printer) const {
  (void)generatedTypePrinter(type, printer);
}

template <class Op>
static Dialect::ParseOpHook parse_as() {
  return [](OpAsmParser& parser, OperationState& state) {
    state.name = OperationName(Op::getOperationName(), parser.getContext());
    return Op::parse(parser, state);
  };
}

std::optional<Dialect::ParseOpHook> NVGPUDialect::getParseOperationHook(StringRef name) const {
  if (name == "nvgpu.wgmma.generate.descriptor")
    return parse_as<WarpgroupGenerateDescriptorOp>();
  if (name == "nvgpu.mbarrier.arrive.noComplete")
    return parse_as<MBarrierArriveNoCompleteOp>();
  return Dialect::getParseOperationHook(name);
}

// nvgpu.mbarrier.try_wait.parity %barriers[%id], %parity, %ticks : type
//
// The parity's type is not in the text. It is i1, or an index in programs of 2023: what the value is decides.

ParseResult MBarrierTryWaitParityOp::parse(OpAsmParser& parser, OperationState& state) {
  OpAsmParser::UnresolvedOperand barriers, parity, ticks, id;
  MBarrierGroupType barriers_type; // in full, or without its name, as upstream prints it
  bool has_id = false;
  if (parser.parseOperand(barriers))
    return failure();
  if (succeeded(parser.parseOptionalLSquare())) {
    has_id = true;
    if (parser.parseOperand(id) || parser.parseRSquare())
      return failure();
  }
  if (parser.parseComma() || parser.parseOperand(parity) || parser.parseComma() ||
      parser.parseOperand(ticks) || parser.parseOptionalAttrDict(state.attributes) || parser.parseColon() ||
      parser.parseCustomTypeWithFallback(barriers_type) ||
      parser.resolveOperand(barriers, barriers_type, state.operands))
    return failure();

  const Type index = parser.getBuilder().getIndexType();
  {
    ScopedDiagnosticHandler quiet(parser.getContext(), [](mlir::Diagnostic&) { return success(); });
    if (succeeded(parser.resolveOperand(parity, parser.getBuilder().getI1Type(), state.operands)))
      parity = {};
  }
  if (!parity.name.empty() && parser.resolveOperand(parity, index, state.operands))
    return failure();
  if (parser.resolveOperand(ticks, index, state.operands) ||
      (has_id && parser.resolveOperand(id, index, state.operands)))
    return failure();
  return success();
}

void MBarrierTryWaitParityOp::print(OpAsmPrinter& printer) {
  printer << ' ' << getBarriers();
  if (getMbarId())
    printer << '[' << getMbarId() << ']';
  printer << ", " << getPhaseParity() << ", " << getTicks();
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : ";
  printer.printStrippedAttrOrType(getBarriers().getType());
}

} // namespace lemma::nvgpu
