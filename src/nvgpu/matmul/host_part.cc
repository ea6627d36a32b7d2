// The host's part of a product, operation by operation; whatever is known when compiling is folded.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/host_part.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

using Sizes = SmallVector<OpFoldResult>;

// A condition: known when compiling, or a value.
struct Condition {
  bool never = false;
  Value at_run = {}; // null, and not never: always
};

// C on the device, as the kernel writes it.
struct Destination {
  Value there;             // what the kernel gets
  Condition in_place = {}; // `there` is C itself
  MatmulStore store = MatmulStore::elements;
};

class HostPart {
public:
  HostPart(OpBuilder& builder, const Product& product, const Epilogue* epilogue, const HostPartCalls& calls)
      : b_(product.op->getLoc(), builder), product_(product), epilogue_(epilogue), calls_(calls) {}

  LogicalResult make(func::FuncOp function) {
    b_.setInsertionPointToStart(function.addEntryBlock());
    func::ReturnOp end = func::ReturnOp::create(b_);
    b_.setInsertionPoint(end);
    const ValueRange arguments = function.getArguments();
    const Value a = arguments[0], b = arguments[1], c = arguments[2];
    if (const Condition some = is_not_empty(a, c); some.at_run)
      b_.setInsertionPointToStart(scf::IfOp::create(b_, some.at_run).thenBlock());
    const auto there_a = multiplicand(a, is_device_memory(product_.a), product_.a_transposed, k_of_a());
    const auto there_b = multiplicand(b, is_device_memory(product_.b), !product_.b_transposed, k_of_b());
    if (failed(there_a) || failed(there_b))
      return failure();
    const Value host_c = epilogue_ ? epilogue_->result : product_.c;
    const bool is_device_c = is_device_memory(host_c);
    const Destination result = is_device_c ? device_result(c) : host_result(c);
    SmallVector<Value> operands;
    for (const auto& [i, argument] : llvm::enumerate(arguments.drop_front(3)))
      operands.push_back(operand(argument, is_device_memory_or_number(epilogue_->operands[i].value)));
    if (failed(call({*there_a, *there_b, result.there}, operands, result.store)) ||
        failed(give_back(c, is_device_c, result)))
      return failure();
    for (const auto& [memref, unless] : llvm::reverse(device_))
      free(memref, unless);
    return success();
  }

private:
  bool accumulates() const { return !product_.fill; }
  // What has 8 or 32 bits is multiplied K-major alone by wgmma and tcgen05: A as M x K, B as N x K.
  bool turns(bool is_turned) const {
    const unsigned bits = type_of(product_.a).getElementTypeBitWidth();
    return is_turned && (has_tensor_maps(product_.family) ? bits != 16 : bits == 8);
  }
  // Which of the last two dimensions of A or B is K.
  int64_t k_of_a() const { return product_.a_transposed ? 0 : 1; }
  int64_t k_of_b() const { return product_.b_transposed ? 1 : 0; }

  static bool is_device_memory_or_number(Value value) {
    return !llvm::isa<MemRefType>(value.getType()) || is_device_memory(value);
  }

  // --- Sizes, which fold where they are known

  OpFoldResult number(int64_t value) { return b_.getIndexAttr(value); }
  Value value(OpFoldResult size) { return getValueOrCreateConstantIndexOp(b_, b_.getLoc(), size); }
  Sizes sizes_of(Value memref) { return memref::getMixedSizes(b_, b_.getLoc(), memref); }

  OpFoldResult at_least_one(OpFoldResult size) {
    const AffineMap map =
        AffineMap::get(0, 1, {b_.getAffineConstantExpr(1), b_.getAffineSymbolExpr(0)}, b_.getContext());
    return affine::makeComposedFoldedAffineMax(b_, b_.getLoc(), map, {size});
  }
  OpFoldResult aligned(OpFoldResult size, int64_t unit) {
    return affine::makeComposedFoldedAffineApply(b_, b_.getLoc(),
                                                 b_.getAffineSymbolExpr(0).ceilDiv(unit) * unit, {size});
  }
  static int64_t unit_of(MemRefType type) { return 16 * 8 / type.getElementTypeBitWidth(); }

  Value compare(arith::CmpIPredicate predicate, OpFoldResult left, OpFoldResult right) {
    return arith::CmpIOp::create(b_, predicate, value(left), value(right));
  }
  void require(Condition& condition, Value also) {
    condition.at_run =
        condition.at_run ? arith::AndIOp::create(b_, condition.at_run, also).getResult() : also;
  }
  void require_equal(Condition& condition, OpFoldResult left, OpFoldResult right) {
    if (isEqualConstantIntOrValue(left, right))
      return;
    if (getConstantIntValue(left) && getConstantIntValue(right))
      condition.never = true;
    else
      require(condition, compare(arith::CmpIPredicate::eq, left, right));
  }
  // Known to be, or so when the program runs.
  void require_multiple(Condition& condition, OpFoldResult size, int64_t unit) {
    if (const auto known = getConstantIntValue(size))
      condition.never |= *known % unit != 0;
    else
      require(condition, compare(arith::CmpIPredicate::eq,
                                 affine::makeComposedFoldedAffineApply(
                                     b_, b_.getLoc(), b_.getAffineSymbolExpr(0) % unit, {size}),
                                 number(0)));
  }
  void require_some(Condition& condition, OpFoldResult size) {
    if (!getConstantIntValue(size)) // products that are known to be empty are not taken
      require(condition, compare(arith::CmpIPredicate::ne, size, number(0)));
  }

  // C has elements; and if it is added to, there is something to add.
  Condition is_not_empty(Value a, Value c) {
    Condition some;
    for (const OpFoldResult size : sizes_of(c))
      require_some(some, size);
    if (accumulates())
      require_some(some, sizes_of(a)[static_cast<size_t>(type_of(a).getRank() - 2 + k_of_a())]);
    return some;
  }

  // --- Memory

  Value allocate(const Sizes& sizes, Type element) {
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    dispatchIndexOpFoldResults(sizes, dynamic, shape);
    return gpu::AllocOp::create(b_, MemRefType::get(shape, element), Type(), ValueRange(), dynamic,
                                ValueRange())
        .getMemref();
  }
  void free(Value memref, const Condition& unless) {
    const OpBuilder::InsertionGuard guard(b_);
    if (unless.at_run) {
      const Value yes = arith::ConstantIntOp::create(b_, 1, 1);
      const Value copied = arith::XOrIOp::create(b_, unless.at_run, yes);
      b_.setInsertionPointToStart(scf::IfOp::create(b_, copied).thenBlock());
    }
    gpu::DeallocOp::create(b_, TypeRange(), memref);
  }

  Value view(Value memref, const Sizes& sizes) {
    if (isEqualConstantIntOrValueArray(sizes, sizes_of(memref)))
      return memref;
    const Sizes zeros(sizes.size(), number(0)), ones(sizes.size(), number(1));
    return memref::SubViewOp::create(b_, memref, zeros, sizes, ones);
  }

  Value cast_to(MemRefType type, Value memref) {
    const MemRefType from = type_of(memref);
    if (from.getMemorySpace() != type.getMemorySpace())
      memref = memref::MemorySpaceCastOp::create(
          b_,
          MemRefType::get(from.getShape(), from.getElementType(), from.getLayout(), type.getMemorySpace()),
          memref);
    return type_of(memref) == type ? memref : memref::CastOp::create(b_, type, memref).getResult();
  }

  // As a matrix of the memref's shape, whose rows are dense and anywhere.
  Value cast_to_rows(Value memref) {
    const MemRefType type = type_of(memref);
    SmallVector<int64_t> strides(static_cast<size_t>(type.getRank()), ShapedType::kDynamic);
    strides.back() = 1;
    const auto layout = StridedLayoutAttr::get(b_.getContext(), ShapedType::kDynamic, strides);
    const SmallVector<int64_t> shape(static_cast<size_t>(type.getRank()), ShapedType::kDynamic);
    return cast_to(MemRefType::get(shape, type.getElementType(), layout), memref);
  }

  // Matrix `i` of a batch; a matrix is itself.
  Value matrix_of(Value memref, Value i) {
    return type_of(memref).getRank() == 3 ? slice(memref, 0, i) : memref;
  }
  Value slice(Value memref, unsigned dimension, Value i) {
    Sizes sizes = sizes_of(memref), offsets(sizes.size(), number(0)), ones(sizes.size(), number(1));
    SmallVector<int64_t> shape(type_of(memref).getShape());
    shape.erase(shape.begin() + dimension);
    offsets[dimension] = i;
    sizes[dimension] = number(1);
    const auto type = cast<MemRefType>(
        memref::SubViewOp::inferRankReducedResultType(shape, type_of(memref), offsets, sizes, ones));
    return memref::SubViewOp::create(b_, type, memref, offsets, sizes, ones);
  }

  // `make` for each matrix of the batch, or for the one.
  template <class Make>
  LogicalResult for_each_matrix(bool is_batch, OpFoldResult count, Make make) {
    if (!is_batch)
      return make(Value());
    const OpBuilder::InsertionGuard guard(b_);
    auto loop = scf::ForOp::create(b_, value(number(0)), value(count), value(number(1)));
    b_.setInsertionPointToStart(loop.getBody());
    return make(loop.getInductionVar());
  }

  // By a kernel, in device memory.
  LogicalResult copy(Value from, Value to, bool transposes) {
    auto function = calls_.copy(type_of(from).getElementType(), transposes);
    if (failed(function))
      return failure();
    return for_each_matrix(type_of(from).getRank() == 3, sizes_of(from)[0], [&](Value i) {
      SmallVector<Value> arguments;
      for (const auto& [memref, input] :
           llvm::zip(ValueRange{matrix_of(from, i), matrix_of(to, i)}, function->getArgumentTypes()))
        arguments.push_back(cast_to(cast<MemRefType>(input), memref));
      func::CallOp::create(b_, *function, arguments);
      return success();
    });
  }

  // --- From the host and back

  // Memory on the device for such matrices, their rows at multiples of 16 bytes.
  Value allocate_rows(Sizes sizes, MemRefType type) {
    sizes.back() = aligned(sizes.back(), unit_of(type));
    return allocate(sizes, type.getElementType());
  }
  // Until the end.
  Value keep(Value memref) {
    device_.push_back({memref, {}});
    return memref;
  }

  // Whether the memref has what `whole` has, without gaps.
  Condition is_dense_in(Value memref, Value whole) {
    Condition same{.never = !type_of(memref).getLayout().isIdentity()};
    for (const auto& [own, there] : llvm::zip(sizes_of(memref), sizes_of(whole)))
      require_equal(same, own, there);
    return same;
  }

  // Either, as the condition says.
  template <class Then, class Else>
  void choose(const Condition& condition, Then then, Else otherwise) {
    if (condition.never)
      return otherwise();
    if (!condition.at_run)
      return then();
    const OpBuilder::InsertionGuard guard(b_);
    auto branch = scf::IfOp::create(b_, condition.at_run, /*withElseRegion=*/true);
    b_.setInsertionPointToStart(branch.thenBlock());
    then();
    b_.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }

  Value allocate_on_host(Value as) {
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    dispatchIndexOpFoldResults(sizes_of(as), dynamic, shape);
    return memref::AllocOp::create(b_, MemRefType::get(shape, type_of(as).getElementType()), dynamic);
  }

  // What the host's memref has to `whole` on the device; zeros where that is larger, if its sizes are the
  // run's.
  void to_device(Value memref, Value whole) {
    choose(
        is_dense_in(memref, whole),
        [&] { gpu::MemcpyOp::create(b_, TypeRange(), ValueRange{whole, memref}); },
        [&] {
          const Value host = allocate_on_host(whole);
          if (!type_of(memref).hasStaticShape()) {
            const Type element = type_of(memref).getElementType();
            linalg::FillOp::create(b_, arith::ConstantOp::create(b_, b_.getZeroAttr(element)).getResult(),
                                   host);
          }
          linalg::CopyOp::create(b_, memref, view(host, sizes_of(memref)));
          gpu::MemcpyOp::create(b_, TypeRange(), ValueRange{whole, host});
          memref::DeallocOp::create(b_, host);
        });
  }

  void to_host(Value whole, Value memref) {
    choose(
        is_dense_in(memref, whole),
        [&] { gpu::MemcpyOp::create(b_, TypeRange(), ValueRange{memref, whole}); },
        [&] {
          const Value host = allocate_on_host(whole);
          gpu::MemcpyOp::create(b_, TypeRange(), ValueRange{host, whole});
          linalg::CopyOp::create(b_, view(host, sizes_of(memref)), memref);
          memref::DeallocOp::create(b_, host);
        });
  }

  // --- A, B, C

  // Whether a tensor map takes the memref as it lies: rows at multiples of 16 bytes, elements side by side,
  // and some of them. Memory is taken to begin at such a multiple.
  Condition has_map(Value memref) {
    const MemRefType type = type_of(memref);
    const int64_t unit = unit_of(type);
    Condition fits;
    auto metadata = memref::ExtractStridedMetadataOp::create(b_, memref);
    const Sizes strides = metadata.getConstifiedMixedStrides();
    require_equal(fits, strides.back(), number(1));
    for (const OpFoldResult stride : ArrayRef(strides).drop_back()) {
      require_multiple(fits, stride, unit);
      fits.never |= isConstantIntValue(stride, 0);
    }
    const OpFoldResult offset = metadata.getConstifiedMixedOffset();
    if (getConstantIntValue(offset)) {
      require_multiple(fits, offset, unit);
    } else if (!fits.never) {
      const Value base = memref::ExtractAlignedPointerAsIndexOp::create(b_, memref);
      const AffineExpr bytes = b_.getAffineSymbolExpr(1) * (16 / unit);
      require_multiple(fits,
                       affine::makeComposedFoldedAffineApply(
                           b_, b_.getLoc(), b_.getAffineSymbolExpr(0) + bytes, {OpFoldResult(base), offset}),
                       16);
    }
    return fits;
  }

  // A or B on the device where a tensor map can describe it: itself, or a copy; transposed if it `turns`.
  // `k` is K's place among the last two dimensions: an empty sum is one of one zero.
  FailureOr<Value> multiplicand(Value memref, bool is_on_device, bool may_turn, int64_t k) {
    const MemRefType type = type_of(memref);
    const size_t k_dim = static_cast<size_t>(type.getRank() - 2 + k);
    const bool turned = turns(may_turn);
    if (!is_on_device) {
      Sizes sizes = sizes_of(memref);
      sizes[k_dim] = at_least_one(sizes[k_dim]);
      const Value whole = keep(allocate_rows(sizes, type));
      to_device(memref, whole);
      memref = view(whole, sizes);
      if (!turned)
        return memref;
    }
    Condition fits{.never = turned};
    if (!turned) {
      fits = has_map(memref);
      require_some(fits, sizes_of(memref)[k_dim]);
    }
    if (!fits.never && !fits.at_run)
      return memref;
    Sizes sizes = sizes_of(memref);
    sizes[k_dim] = at_least_one(sizes[k_dim]);
    if (turned)
      std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    if (fits.never) {
      const Value there = view(keep(allocate_rows(sizes, type)), sizes);
      return failed(copy(memref, there, turned)) ? FailureOr<Value>(failure()) : there;
    }
    LogicalResult copied = success();
    const Value there = choose_rows(
        fits, [&] { return cast_to_rows(memref); },
        [&] {
          const Value made = view(allocate_rows(sizes, type), sizes);
          copied = copy(memref, made, false);
          return cast_to_rows(made);
        });
    return failed(copied) ? FailureOr<Value>(failure()) : there;
  }

  // A memref from either branch; from the second it is a copy, to be freed.
  template <class Then, class Else>
  Value choose_rows(const Condition& condition, Then then, Else otherwise) {
    auto branch = scf::IfOp::create(
        b_, condition.at_run, [&](OpBuilder&, Location) { scf::YieldOp::create(b_, then()); },
        [&](OpBuilder&, Location) { scf::YieldOp::create(b_, otherwise()); });
    device_.push_back({branch.getResult(0), condition});
    return branch.getResult(0);
  }

  Destination host_result(Value c) {
    const Value whole = keep(allocate_rows(sizes_of(c), type_of(c)));
    if (accumulates())
      to_device(c, whole);
    return {.there = whole,
            .in_place = {.never = true},
            .store = accumulates() ? MatmulStore::elements : MatmulStore::tma};
  }

  // A copy from shared memory writes 16 bytes at a time: C's rows end there, or what follows them would
  // change.
  Destination device_result(Value c) {
    if (accumulates())
      return {.there = c};
    const MemRefType type = type_of(c);
    Condition fits = has_map(c);
    const Sizes sizes = sizes_of(c);
    require_multiple(fits, sizes.back(), unit_of(type));
    if (fits.never)
      return {.there = c};
    if (!fits.at_run)
      return {.there = c, .store = MatmulStore::tma};
    const Value there = choose_rows(
        fits, [&] { return cast_to_rows(c); }, [&] { return cast_to_rows(allocate_rows(sizes, type)); });
    return {.there = there, .in_place = fits, .store = MatmulStore::tma};
  }

  LogicalResult give_back(Value c, bool is_on_device, const Destination& result) {
    if (!is_on_device) {
      to_host(result.there, c);
      return success();
    }
    if (!result.in_place.at_run)
      return success();
    LogicalResult copied = success();
    choose(result.in_place, [] {}, [&] { copied = copy(result.there, c, false); });
    return copied;
  }

  // Something that the epilogue reads, on the device.
  Value operand(Value argument, bool is_there) {
    if (is_there)
      return argument;
    const Value whole = keep(allocate(sizes_of(argument), type_of(argument).getElementType()));
    to_device(argument, whole);
    return whole;
  }

  LogicalResult call(std::array<Value, 3> matrices, ArrayRef<Value> operands, MatmulStore store) {
    return for_each_matrix(product_.is_batch, sizes_of(matrices[2])[0], [&](Value i) {
      SmallVector<Value> arguments;
      for (const Value matrix : matrices)
        arguments.push_back(matrix_of(matrix, i));
      for (const auto& [at, value] : llvm::enumerate(operands)) {
        const auto& batch = epilogue_->operands[at].batch_dim;
        arguments.push_back(batch ? slice(value, *batch, i) : value);
      }
      KernelArguments kernel{.a = type_of(arguments[0]),
                             .b = type_of(arguments[1]),
                             .c = type_of(arguments[2]),
                             .operands = {},
                             .a_transposed = product_.a_transposed && !turns(product_.a_transposed),
                             .b_transposed = product_.b_transposed || turns(!product_.b_transposed),
                             .store = store};
      for (const Value argument : ArrayRef(arguments).drop_front(3))
        kernel.operands.push_back(argument.getType());
      auto function = calls_.kernel(kernel);
      if (failed(function))
        return failure();
      func::CallOp::create(b_, *function, arguments);
      return success();
    });
  }

  ImplicitLocOpBuilder b_;
  const Product& product_;
  const Epilogue* epilogue_;
  const HostPartCalls& calls_;
  SmallVector<std::pair<Value, Condition>> device_; // to be freed, unless it is the program's own
};

} // namespace

FailureOr<func::FuncOp> make_host_part(OpBuilder& builder, const std::string& name, const Product& product,
                                       const Epilogue* epilogue, const HostPartCalls& calls) {
  SmallVector<Type> inputs{product.a.getType(), product.b.getType(),
                           (epilogue ? epilogue->result : product.c).getType()};
  if (epilogue)
    for (const EpilogueOperand& operand : epilogue->operands)
      inputs.push_back(operand.value.getType());
  auto function =
      func::FuncOp::create(builder, product.op->getLoc(), name, builder.getFunctionType(inputs, {}));
  function.setPrivate();
  if (failed(HostPart(builder, product, epilogue, calls).make(function)))
    return failure();
  return function;
}

} // namespace lemma::nvgpu
