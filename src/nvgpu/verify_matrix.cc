// Rules of the warp's matrix operations, from the catalogue: ldmatrix, mma.sync, mma.sp.sync.
//
// Not checked here: whether the target has the instruction (the lowering knows the target).
// PTX ISA: "Warp Level Matrix Multiply-Accumulate Instructions".
// Tests: tests/mlir/dialect/.
#include "nvgpu/matrix_type.h"

#include "llvm/ADT/TypeSwitch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma::nvgpu {

using namespace mlir;

isa::Type ptx_type(Type element, bool multiplicand) {
  using enum isa::Type;
  if (element.isF16())
    return f16;
  if (element.isBF16())
    return bf16;
  if (element.isF32())
    return multiplicand ? tf32 : f32;
  if (element.isTF32())
    return tf32;
  if (element.isF64())
    return f64;
  if (llvm::isa<Float8E4M3FNType>(element))
    return e4m3;
  if (llvm::isa<Float8E5M2Type>(element))
    return e5m2;
  if (const auto integer = dyn_cast<IntegerType>(element))
    switch (integer.getWidth()) {
    case 1:
      return b1;
    case 4:
      return integer.isUnsigned() ? u4 : s4;
    case 8:
      return integer.isUnsigned() ? u8 : s8;
    case 32:
      return s32;
    default:
      return none;
    }
  return none;
}

unsigned storage_bits(Type element) {
  return element.isTF32() ? 32 : element.getIntOrFloatBitWidth();
}

bool is_packed(Type element) {
  return element.isIntOrFloat() && element.getIntOrFloatBitWidth() == 4;
}

namespace {

std::string to_text(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << type;
  return text;
}

// What the two products of a warp have in common.
struct Product {
  bool sparse = false;
  VectorType a, b, c, d;
  ArrayAttr shape;
  bool tf32_enabled = false, satfinite = false;
  std::string_view bit_op = "xor"; // b1
  std::string_view layout_a = "row", layout_b = "col";
};

template <class Op>
Product product_of(Op op) {
  Product product;
  product.a = cast<VectorType>(op.getMatrixA().getType());
  product.b = cast<VectorType>(op.getMatrixB().getType());
  product.c = cast<VectorType>(op.getMatrixC().getType());
  product.d = cast<VectorType>(op.getRes().getType());
  product.shape = op.getMmaShape();
  product.tf32_enabled = op.getTf32Enabled().value_or(false);
  product.satfinite = op.getSatfinite().value_or(false);
  return product;
}

// The words between `mma` and the shape, and after it.
std::string spell(const Product& product, std::string_view shape, std::span<const isa::Type> types) {
  std::string text = product.sparse ? "mma.sp.sync.aligned" : "mma.sync.aligned";
  text += fmt::format(".{}.{}.{}", shape, product.layout_a, product.layout_b);
  if (product.satfinite)
    text += ".satfinite";
  for (const isa::Type type : types)
    text += fmt::format(".{}", isa::to_string(type));
  if (types[1] == isa::Type::b1)
    text += fmt::format(".{}.popc", product.bit_op);
  return text;
}

// The vector that holds `count` registers of a matrix: multiplicands have a row a register, accumulators a
// row for two columns.
LogicalResult check_fragment(const ErrorSink& error, char name, VectorType type, Registers registers,
                             const std::string& spelling) {
  const unsigned bits = storage_bits(type.getElementType());
  const unsigned register_bits = static_cast<unsigned>(isa::bits_of(registers.type));
  const int64_t elements = static_cast<int64_t>(registers.count) * register_bits / bits;
  const bool multiplicand = name == 'A' || name == 'B';
  const int64_t columns = multiplicand ? register_bits / bits : 2;
  if (type.getRank() == 2 && !type.isScalable() && type.getDimSize(0) == elements / columns &&
      type.getDimSize(1) == columns)
    return success();
  return error() << "matrix " << name << " is " << to_text(type) << ", but a lane's part of it in "
                 << spelling << " is vector<" << elements / columns << "x" << columns << "x"
                 << to_text(type.getElementType()) << ">";
}

FailureOr<Instruction> find_product(const Product& product, const ErrorSink& error) {
  const std::string_view ptx = product.sparse ? "mma.sp.sync" : "mma.sync";
  if (product.shape.size() != 3)
    return error() << "mmaShape has " << product.shape.size() << " numbers; it is [M, N, K]";
  const auto extent = [&](unsigned i) { return cast<IntegerAttr>(product.shape[i]).getInt(); };
  const std::string shape = fmt::format("m{}n{}k{}", extent(0), extent(1), extent(2));
  const std::array<std::pair<Type, bool>, 4> elements = {{{product.d.getElementType(), false},
                                                          {product.a.getElementType(), true},
                                                          {product.b.getElementType(), true},
                                                          {product.c.getElementType(), false}}};
  std::vector<isa::Type> types;
  for (const auto& [element, multiplicand] : elements) {
    types.push_back(ptx_type(element, multiplicand));
    if (types.back() == isa::Type::none)
      return error() << ptx << " has no element type " << to_text(element);
  }
  const bool f32_multiplicands = product.a.getElementType().isF32() && product.b.getElementType().isF32();
  if (f32_multiplicands && !product.tf32_enabled)
    return error() << "f32 multiplicands need the attribute tf32Enabled: no tensor core multiplies f32, and "
                      "as tf32 they "
                      "lose 13 bits of their significands; legal: {tf32Enabled}, which mlir-opt's "
                      "--test-nvgpu-mmasync-f32-to-tf32-patterns=precision=tf32 sets, or vectors of tf32";
  if (product.tf32_enabled && types[1] != isa::Type::tf32)
    return error() << "tf32Enabled is for f32 multiplicands; matrix A is " << to_text(product.a);

  const auto found = Instruction::find(spell(product, shape, types));
  if (!found) {
    MatrixQuery query{isa::Opcode::mma, {}, {"block_scale", "kind::f8f6f4"}, types};
    if (product.sparse)
      query.with.push_back("sp");
    else
      query.without.insert(query.without.end(), {"sp", "sp::ordered_metadata"});
    const auto shapes = legal_shapes(query);
    auto diagnostic = error();
    const std::string names = fmt::format("{} x {} -> {}", isa::to_string(types[1]), isa::to_string(types[2]),
                                          isa::to_string(types[0]));
    if (const auto others = legal_types(query); shapes.empty())
      return diagnostic << ptx << " does not multiply " << names << " with C of " << isa::to_string(types[3])
                        << (others.empty() ? "; A is never of that type"
                                           : fmt::format("; legal: {}", fmt::join(others, ", ")));
    if (std::ranges::find(shapes, shape) != shapes.end())
      return diagnostic << found.error().message << " (" << spell(product, shape, types) << ")";
    return diagnostic << ptx << " of " << names << " has no shape " << shape
                      << "; legal: " << fmt::format("{}", fmt::join(shapes, ", "));
  }
  for (const auto& [name, type, operand] : std::initializer_list<std::tuple<char, VectorType, size_t>>{
           {'A', product.a, 1}, {'B', product.b, 2}, {'C', product.c, 3}, {'D', product.d, 0}})
    if (failed(check_fragment(error, name, type, found->registers(operand), found->spelling())))
      return failure();
  return *found;
}

} // namespace

FailureOr<Instruction> instruction_of(MmaSyncOp op, const ErrorSink& error) {
  Product product = product_of(op);
  if (op.getBitOp() == BitOp::and_popc)
    product.bit_op = "and";
  if (const auto layout = op.getLayoutA())
    product.layout_a = stringifyEnum(*layout);
  if (const auto layout = op.getLayoutB())
    product.layout_b = stringifyEnum(*layout);
  return find_product(product, error);
}

FailureOr<Instruction> instruction_of(MmaSparseSyncOp op, const ErrorSink& error) {
  Product product = product_of(op);
  product.sparse = true;
  auto found = find_product(product, error);
  if (failed(found))
    return failure();
  const isa::OperandSpec& selector = found->form().operands.back();
  const int64_t value = op.getSparsitySelector();
  if (value < selector.min || value > selector.max)
    return error() << "sparsitySelector is " << value << "; " << found->spelling() << " takes "
                   << selector.min << " to " << selector.max;
  return found;
}

LogicalResult MmaSyncOp::verify() {
  if (getBitOp() && !cast<VectorType>(getMatrixA().getType()).getElementType().isInteger(1))
    return emitOpError("bitOp is for multiplicands of i1");
  return instruction_of(*this, [&] { return emitOpError(); });
}

LogicalResult MmaSparseSyncOp::verify() {
  return instruction_of(*this, [&] { return emitOpError(); });
}

namespace {

// 8x8 matrices on their way from shared memory ("loads") or to it ("stores"): `vector` has `tiles` of them.
LogicalResult check_8x8(Operation* op, StringRef does, MemRefType memref, size_t indices, VectorType vector,
                        int64_t tiles, bool transpose) {
  const Type element = memref.getElementType();
  if (!is_shared_memory(memref.getMemorySpace()))
    return op->emitOpError() << does << " shared memory (#gpu.address_space<workgroup> or 3); the memref is "
                             << memref;
  if (element != vector.getElementType())
    return op->emitOpError("element types differ: ")
           << element << " in memory, " << vector.getElementType() << " in the vector";
  if (static_cast<int64_t>(indices) != memref.getRank())
    return op->emitOpError("has ") << indices << " indices for a memref of rank " << memref.getRank();
  if (!element.isIntOrFloat() || 32 % storage_bits(element) != 0)
    return op->emitOpError() << does << " no elements of " << element << "; legal: 4, 8, 16 and 32 bits";
  if (transpose && element.getIntOrFloatBitWidth() != 16)
    return op->emitOpError("transposes elements of 16 bits only; these are ") << element;
  const int64_t columns = 32 / storage_bits(element);
  if (vector.getRank() != 2 || vector.getDimSize(0) != tiles || vector.getDimSize(1) != columns)
    return op->emitOpError("the vector is ") << vector << "; " << tiles << " matrices of " << element
                                             << " are " << VectorType::get({tiles, columns}, element);
  return success();
}

} // namespace

LogicalResult LdMatrixOp::verify() {
  const int32_t tiles = getNumTiles();
  if (tiles != 1 && tiles != 2 && tiles != 4)
    return emitOpError("numTiles is ") << tiles << "; legal: 1, 2, 4";
  return check_8x8(*this, "reads", cast<MemRefType>(getSrcMemref().getType()), getIndices().size(),
                   cast<VectorType>(getRes().getType()), tiles, getTranspose());
}

LogicalResult StMatrixOp::verify() {
  const auto vector = cast<VectorType>(getValue().getType());
  const int64_t tiles = vector.getDimSize(0);
  if (tiles != 1 && tiles != 2 && tiles != 4)
    return emitOpError("the vector has ") << tiles << " rows, one for each matrix; legal: 1, 2, 4";
  return check_8x8(*this, "writes", cast<MemRefType>(getDstMemref().getType()), getIndices().size(), vector,
                   tiles, getTranspose());
}

} // namespace lemma::nvgpu
