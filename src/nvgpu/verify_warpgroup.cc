// Rules of the warpgroup's matrix operations, from the catalogue.
//
// Not checked here: whether the target has the instruction, and that the swizzle of a descriptor is known (an
// argument's may be, once functions are inlined); the lowering says so.
// PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions".
// Tests: tests/mlir/dialect/warpgroup.mlir, warpgroup_invalid.mlir.
#include "nvgpu/warpgroup_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma::nvgpu {

using namespace mlir;

layout::SmemDescriptor TileLayout::descriptor(bool mn_major) const {
  auto box = static_cast<uint32_t>(box_bytes()), rows = static_cast<uint32_t>(8 * line_bytes());
  if (mn_major && swizzle == layout::Swizzle::none)
    std::swap(box, rows);
  return {.start = 0, .leading = box, .stride = rows, .base_offset = 0, .swizzle = swizzle};
}

namespace {

constexpr layout::Swizzle swizzle_of(TensorMapSwizzleKind kind) {
  return static_cast<layout::Swizzle>(kind); // both count none, 32, 64, 128 bytes
}
static_assert(swizzle_of(TensorMapSwizzleKind::swizzle_32b) == layout::Swizzle::b32);
static_assert(swizzle_of(TensorMapSwizzleKind::swizzle_128b) == layout::Swizzle::b128);

std::string_view name_of(TensorMapSwizzleKind kind) {
  return stringifyEnum(kind);
}

LogicalResult check_descriptor(WarpgroupMatrixDescriptorType type, const ErrorSink& error) {
  const MemRefType tensor = type.getTensor();
  if (tensor.getRank() != 2 || !tensor.hasStaticShape())
    return error() << "a matrix descriptor's tensor has two static dimensions; this one is " << tensor;
  if (ptx_type(tensor.getElementType(), true) == isa::Type::none)
    return error() << "no matrix has elements of " << tensor.getElementType();
  return success();
}

// "f16 x f16 -> f32", one for each row of the catalogue.
std::string legal_types() {
  const auto any_of = [](const isa::TypeSet& types) {
    std::vector<std::string_view> names;
    for (const isa::Type type : types)
      names.push_back(isa::to_string(type));
    return fmt::format("{}", fmt::join(names, "|"));
  };
  std::vector<std::string> rows;
  for (const isa::MatrixRow& row : isa::matrix_rows())
    if (row.fragments == isa::FragmentRule::wgmma && row.sparse == isa::Qual::none)
      rows.push_back(
          fmt::format("{} x {} -> {}", any_of(row.types.a), any_of(row.types.b), any_of(row.types.d)));
  return fmt::format("{}", fmt::join(rows, ", "));
}

const isa::MatrixRow* find_row(isa::Type d, isa::Type a, isa::Type b) {
  for (const isa::MatrixRow& row : isa::matrix_rows())
    if (row.fragments == isa::FragmentRule::wgmma && row.sparse == isa::Qual::none && row.types.d.has(d) &&
        row.types.a.has(a) && row.types.b.has(b))
      return &row;
  return nullptr;
}

std::string legal_columns(const isa::MatrixRow& row) {
  return row.columns == isa::Columns::by_8 ? fmt::format("8 to {} in steps of 8", row.shape.n)
                                           : fmt::format("8, 24, and 16 to {} in steps of 16", row.shape.n);
}

Type element_of(Type multiplicand) {
  if (const auto descriptor = dyn_cast<WarpgroupMatrixDescriptorType>(multiplicand))
    return descriptor.getTensor().getElementType();
  return cast<VectorType>(multiplicand).getElementType();
}

// All accumulators are of one type, and the operation yields what it takes. Adds M and N.
LogicalResult read_accumulators(WarpgroupMmaOp op, WarpgroupProduct& product, const ErrorSink& error) {
  const auto taken = op.getMatrixC().getTypes();
  const auto given = op.getMatrixD().getTypes();
  if (taken.empty())
    return error() << "has no accumulator";
  if (!llvm::equal(taken, given))
    return error() << "yields accumulators of other types than it takes";
  const auto first = cast<WarpgroupAccumulatorType>(*taken.begin());
  if (failed(check_accumulator(first, error)))
    return failure();
  for (const Type type : taken)
    if (type != first)
      return error() << "has accumulators of different types: " << first << " and " << type
                     << "; they share M equally";
  product.m = first.getFragmented().getDimSize(0) * static_cast<int64_t>(taken.size());
  product.n = first.getFragmented().getDimSize(1);
  return success();
}

// The instruction of the types, and whether it can do what the attributes ask.
LogicalResult read_instruction(WarpgroupMmaOp op, WarpgroupProduct& product, const ErrorSink& error) {
  const Type element_a = element_of(op.getDescriptorA().getType());
  const Type element_b = element_of(op.getDescriptorB().getType());
  const Type element_d =
      cast<WarpgroupAccumulatorType>(op.getMatrixD().front().getType()).getFragmented().getElementType();
  const isa::Type a = ptx_type(element_a, true), b = ptx_type(element_b, true),
                  d = ptx_type(element_d, false);
  product.row = find_row(d, a, b);
  if (!product.row)
    return error() << "a warpgroup does not multiply " << element_a << " x " << element_b << " -> "
                   << element_d << "; legal: " << legal_types();
  const isa::MatrixRow& row = *product.row;
  if (op.getSatfinite().value_or(false) && !row.satfinite)
    return error() << "satfinite is for products of s8 and u8; this one is of " << isa::to_string(a);
  if ((op.getNegateA().value_or(false) || op.getNegateB().value_or(false)) &&
      row.numeric != isa::Numeric::floating)
    return error() << "negateA and negateB are for floating point; this product is of " << isa::to_string(a);
  if ((op.getTransposeA().value_or(false) || op.getTransposeB().value_or(false)) && !row.transposes)
    return error() << "transposes multiplicands of 16 bits only; these are " << element_a << " and "
                   << element_b << ", which lie K-major in memory: A as M x K, B as N x K rows";

  const std::string spelling =
      fmt::format("wgmma.mma_async.sync.aligned.m{}n{}k{}{}.{}.{}.{}{}", row.shape.m, product.n, row.shape.k,
                  op.getSatfinite().value_or(false) ? ".satfinite" : "", isa::to_string(d), isa::to_string(a),
                  isa::to_string(b), a == isa::Type::b1 ? ".and.popc" : "");
  for (const size_t form : {0u, 1u}) {
    auto found = Instruction::find(spelling, form);
    if (!found)
      return error() << "N is " << product.n << " (the accumulator's columns); legal for "
                     << isa::to_string(a) << " x " << isa::to_string(b) << " -> " << isa::to_string(d) << ": "
                     << legal_columns(row);
    product.instruction = *found;
    product.form_index = form;
    if ((found->registers(1).count > 1) == product.a_in_registers)
      return success();
  }
  return error() << "internal error: " << spelling << " has no form with A "
                 << (product.a_in_registers ? "in registers" : "in shared memory");
}

// K, from B: K x N, or N x K as it lies in memory when it is not transposed.
LogicalResult read_depth(WarpgroupMmaOp op, WarpgroupProduct& product, const ErrorSink& error) {
  const MemRefType b = cast<WarpgroupMatrixDescriptorType>(op.getDescriptorB().getType()).getTensor();
  const bool transposed = op.getTransposeB().value_or(false);
  if (b.getDimSize(1) == product.n)
    product.k = b.getDimSize(0);
  else if (!transposed && b.getDimSize(0) == product.n)
    product.k = b.getDimSize(1);
  else
    return error() << "N is " << product.n << " (the accumulator's columns), but matrix B is " << b
                   << "; it is K x N" << (transposed ? "" : ", or N x K as it lies in memory");
  if (product.k % product.row->shape.k != 0)
    return error() << "K is " << product.k << "; for " << b.getElementType() << " it is a multiple of "
                   << product.row->shape.k;
  return success();
}

LogicalResult check_a_in_registers(WarpgroupMmaOp op, const WarpgroupProduct& product,
                                   const ErrorSink& error) {
  if (op.getTransposeA().value_or(false))
    return error() << "transposeA is for a matrix in shared memory; A is in registers";
  const auto type = cast<VectorType>(op.getDescriptorA().getType());
  const int64_t per_register = 32 / storage_bits(type.getElementType());
  const int64_t rows = product.instruction.registers(1).count * product.blocks() * product.steps();
  const VectorType wanted = VectorType::get({rows, per_register}, type.getElementType());
  if (type == wanted)
    return success();
  return error() << "matrix A is " << type << ", but a thread's part of " << product.m << " x " << product.k
                 << " is " << wanted << ": a row for each 32-bit register, "
                 << product.instruction.registers(1).count << " for each 64 rows of M and "
                 << product.row->shape.k << " of K";
}

LogicalResult check_a_in_memory(WarpgroupMmaOp op, const WarpgroupProduct& product, const ErrorSink& error) {
  const MemRefType a = cast<WarpgroupMatrixDescriptorType>(op.getDescriptorA().getType()).getTensor();
  const bool transposed = op.getTransposeA().value_or(false);
  const auto is = [&](int64_t rows, int64_t columns) {
    return a.getDimSize(0) == rows && a.getDimSize(1) == columns;
  };
  if (is(product.m, product.k) || (transposed && is(product.k, product.m)))
    return success();
  return error() << "matrix A is " << a << ", but the accumulators have " << product.m
                 << " rows and B has K = " << product.k << ": A is " << product.m << "x" << product.k
                 << (transposed ? ", or K x M as it lies in memory" : "");
}

} // namespace

FailureOr<TileLayout> tile_layout_of(TensorMapDescriptorType map, const ErrorSink& error) {
  const MemRefType box = map.getTensor();
  if (map.getInterleave() != TensorMapInterleaveKind::none)
    return error() << "no matrix descriptor names the boxes of an interleaved tensor map ("
                   << std::string_view(stringifyEnum(map.getInterleave())) << "); legal: none";
  if (box.getRank() < 2 || !box.hasStaticShape())
    return error() << "the tensor map's box has two or more static dimensions; this one is " << box;
  TileLayout tile{.swizzle = swizzle_of(map.getSwizzle()), .box_rows = 1};
  for (const int64_t extent : box.getShape().drop_back())
    tile.box_rows *= extent;
  const unsigned bits = storage_bits(box.getElementType());
  const int64_t row_bits = box.getShape().back() * bits;
  if (row_bits != tile.line_bytes() * 8)
    return error() << "the rows of the tensor map's box, " << box << ", have " << row_bits / 8
                   << " bytes; a matrix descriptor wants " << tile.line_bytes()
                   << " with swizzle = " << name_of(map.getSwizzle()) << ": " << tile.line_bytes() * 8 / bits
                   << " elements of " << box.getElementType();
  return tile;
}

bool knows_swizzle(Value descriptor) {
  return descriptor.getDefiningOp<WarpgroupGenerateDescriptorOp>() ||
         cast<WarpgroupMatrixDescriptorType>(descriptor.getType()).getSwizzle();
}

LogicalResult check_accumulator(WarpgroupAccumulatorType type, const ErrorSink& error) {
  const VectorType matrix = type.getFragmented();
  const Type element = matrix.getElementType();
  if (!element.isF32() && !element.isF16() && !element.isSignlessInteger(32))
    return error() << "an accumulator has elements of f32, f16 or i32; this one is " << matrix;
  if (matrix.getRank() != 2 || matrix.isScalable() || matrix.getDimSize(0) % 64 != 0)
    return error() << "an accumulator is M x N, M a multiple of 64; this one is " << matrix;
  if (matrix.getDimSize(1) % 8 != 0)
    return error() << "an accumulator's N is a multiple of 8; this one is " << matrix;
  return success();
}

FailureOr<WarpgroupProduct> product_of(WarpgroupMmaOp op, const ErrorSink& error) {
  WarpgroupProduct product;
  product.a_in_registers = llvm::isa<VectorType>(op.getDescriptorA().getType());
  for (const Type type : {op.getDescriptorA().getType(), Type(op.getDescriptorB().getType())})
    if (const auto descriptor = dyn_cast<WarpgroupMatrixDescriptorType>(type))
      if (failed(check_descriptor(descriptor, error)))
        return failure();
  if (failed(read_accumulators(op, product, error)) || failed(read_instruction(op, product, error)) ||
      failed(read_depth(op, product, error)) ||
      failed(product.a_in_registers ? check_a_in_registers(op, product, error)
                                    : check_a_in_memory(op, product, error)))
    return failure();
  return product;
}

FailureOr<SharedMatrix> shared_matrix_of(WarpgroupMmaOp op, const WarpgroupProduct& product,
                                         Multiplicand which, const ErrorSink& error) {
  const bool is_a = which == Multiplicand::a;
  const char name = is_a ? 'A' : 'B';
  const Value value = is_a ? op.getDescriptorA() : op.getDescriptorB();
  const auto type = cast<WarpgroupMatrixDescriptorType>(value.getType());
  SharedMatrix matrix;
  matrix.mn_major = (is_a ? op.getTransposeA() : op.getTransposeB()).value_or(false);
  matrix.element_bits = storage_bits(type.getTensor().getElementType());
  const int64_t mn = is_a ? product.m : product.n;
  const int64_t rows = matrix.mn_major ? product.k : mn;
  const int64_t row_bytes = (matrix.mn_major ? mn : product.k) * matrix.element_bits / 8;

  if (auto made = value.getDefiningOp<WarpgroupGenerateDescriptorOp>()) {
    const auto tile = tile_layout_of(cast<TensorMapDescriptorType>(made.getTensorMap().getType()), error);
    if (failed(tile))
      return failure();
    matrix.tile = *tile;
  } else if (const auto swizzle = type.getSwizzle()) {
    matrix.tile = {.swizzle = swizzle_of(*swizzle), .box_rows = rows};
  } else {
    return error()
           << "the swizzle of matrix " << name
           << " is not known here, as its warpgroup.generate.descriptor cannot be seen: write it in the "
              "type, !nvgpu.warpgroup.descriptor<tensor = "
           << type.getTensor() << ", swizzle = swizzle_128b>";
  }
  if (row_bytes > matrix.tile.line_bytes() && rows > matrix.tile.box_rows)
    return error() << "matrix " << name << " lies in memory as " << rows << " rows of " << row_bytes
                   << " bytes, in boxes side by side; a box has only " << matrix.tile.box_rows
                   << " rows, so that where the next rows are is not known";
  return matrix;
}

int64_t pending_groups(WarpgroupMmaOp op) {
  return op.getWaitGroup() ? op.getWaitGroup()->getInt() : 0;
}

int64_t pending_groups(WarpgroupMmaWaitOp op) {
  return op.getWaitGroup() ? op.getWaitGroup()->getInt() : 0;
}

bool may_be_pending(Value accumulator) {
  Operation* made = accumulator.getDefiningOp();
  if (auto product = dyn_cast_or_null<WarpgroupMmaOp>(made))
    return pending_groups(product) > 0;
  if (auto wait = dyn_cast_or_null<WarpgroupMmaWaitOp>(made))
    return pending_groups(wait) > 0;
  return !isa_and_nonnull<WarpgroupMmaInitAccumulatorOp>(made);
}

LogicalResult WarpgroupGenerateDescriptorOp::verify() {
  const ErrorSink error = [&] { return emitOpError(); };
  const auto source = cast<MemRefType>(getTensor().getType());
  const auto descriptor = cast<WarpgroupMatrixDescriptorType>(getDescriptor().getType());
  const auto map = cast<TensorMapDescriptorType>(getTensorMap().getType());
  if (!is_shared_memory(source.getMemorySpace()))
    return emitOpError("describes shared memory (#gpu.address_space<workgroup> or 3); the memref is ")
           << source;
  if (failed(check_descriptor(descriptor, error)) || failed(tile_layout_of(map, error)))
    return failure();
  // Bits come in bytes: tensor maps have no smaller element.
  const Type element = descriptor.getTensor().getElementType();
  for (const Type other : {source.getElementType(), map.getTensor().getElementType()})
    if (!other.isIntOrFloat() ||
        (storage_bits(other) != storage_bits(element) && !(element.isInteger(1) && storage_bits(other) == 8)))
      return emitOpError("element types differ: ")
             << source.getElementType() << " in memory, " << map.getTensor().getElementType()
             << " in the tensor map, " << element << " in the descriptor";
  if (const auto stated = descriptor.getSwizzle(); stated && *stated != map.getSwizzle())
    return emitOpError("the descriptor's type says ")
           << name_of(*stated) << ", the tensor map " << name_of(map.getSwizzle());
  return success();
}

LogicalResult WarpgroupMmaOp::verify() {
  const ErrorSink error = [&] { return emitOpError(); };
  const auto product = product_of(*this, error);
  if (failed(product))
    return failure();
  if (pending_groups(*this) < 0)
    return emitOpError("waitGroup is ") << pending_groups(*this) << "; it is 0 or more";
  if (!product->a_in_registers && knows_swizzle(getDescriptorA()) &&
      failed(shared_matrix_of(*this, *product, Multiplicand::a, error)))
    return failure();
  if (knows_swizzle(getDescriptorB()) && failed(shared_matrix_of(*this, *product, Multiplicand::b, error)))
    return failure();
  return success();
}

LogicalResult WarpgroupMmaStoreOp::verify() {
  const auto type = cast<WarpgroupAccumulatorType>(getMatrixD().getType());
  if (failed(check_accumulator(type, [&] { return emitOpError(); })))
    return failure();
  const VectorType matrix = type.getFragmented();
  const auto memref = cast<MemRefType>(getDstMemref().getType());
  if (memref.getElementType() != matrix.getElementType())
    return emitOpError("stores elements of ")
           << matrix.getElementType() << " as they are; the memref is " << memref;
  const auto fits = [&](unsigned dimension) {
    return memref.isDynamicDim(dimension) || memref.getDimSize(dimension) == matrix.getDimSize(dimension);
  };
  if (memref.getRank() != 2 || !fits(0) || !fits(1))
    return emitOpError("stores an accumulator of ")
           << matrix.getDimSize(0) << "x" << matrix.getDimSize(1) << "; the memref is " << memref;
  return success();
}

LogicalResult WarpgroupMmaWaitOp::verify() {
  if (failed(check_accumulator(cast<WarpgroupAccumulatorType>(getAccumulator().getType()),
                               [&] { return emitOpError(); })))
    return failure();
  if (pending_groups(*this) < 0)
    return emitOpError("waitGroup is ") << pending_groups(*this) << "; it is 0 or more";
  return success();
}

LogicalResult WarpgroupMmaExtractOp::verify() {
  const auto type = cast<WarpgroupAccumulatorType>(getMatrixD().getType());
  if (failed(check_accumulator(type, [&] { return emitOpError(); })))
    return failure();
  if (may_be_pending(getMatrixD()))
    return emitOpError(
        "takes elements out of an accumulator to which products may still be added; legal: the "
        "result of nvgpu.warpgroup.mma.wait, or of a warpgroup.mma without waitGroup");
  const VectorType matrix = type.getFragmented();
  const auto vector = cast<VectorType>(getRegisters().getType());
  if (vector.getRank() != 2 || vector.getDimSize(0) % 2 != 0 || vector.getDimSize(1) != 2 ||
      vector.getElementType() != matrix.getElementType())
    return emitOpError("yields two rows of two elements for each 8 columns, such as ")
           << VectorType::get({4, 2}, matrix.getElementType()) << " of 16 columns, not " << vector;
  const int64_t columns = vector.getDimSize(0) / 2 * 8;
  const auto row = static_cast<int64_t>(getRow()), column = static_cast<int64_t>(getColumn());
  if (row < 0 || row % 64 != 0 || row >= matrix.getDimSize(0))
    return emitOpError("begins at row ") << row << "; legal: multiples of 64 below " << matrix.getDimSize(0);
  if (column < 0 || column % 8 != 0 || column + columns > matrix.getDimSize(1))
    return emitOpError("takes ") << columns << " columns from " << column
                                 << " on; legal: from a multiple of 8 on, of an accumulator of "
                                 << matrix.getDimSize(1) << " columns";
  return success();
}

LogicalResult WarpgroupMmaInitAccumulatorOp::verify() {
  return check_accumulator(cast<WarpgroupAccumulatorType>(getMatrixC().getType()),
                           [&] { return emitOpError(); });
}

} // namespace lemma::nvgpu
