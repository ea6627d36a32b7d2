// The pass that makes kernels of matrix products: linalg.matmul on memrefs, in host functions, becomes the
// call of a function with a gpu.launch (kernel.h). Products of the same types, sizes and schedule share one.
//
// A memref is device memory if it comes from gpu.alloc, or its memory space says so
// (#gpu.address_space<global>, 1); any other is copied there and back.
//
// Not here: tensors, which are memrefs by then. Tests: tests/mlir/matmul/.
#include "nvgpu/dialect.h"
#include "nvgpu/matmul/epilogue.h"
#include "nvgpu/matmul/kernel.h"
#include "nvgpu/matmul/kernel_choice.h"
#include "nvgpu/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <fmt/format.h>

#include <map>

namespace lemma::nvgpu {

using namespace mlir;

namespace {

std::string text_of(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << type;
  return text;
}

MemRefType type_of(Value memref) {
  return cast<MemRefType>(memref.getType());
}

// A product that a kernel can be made of.
struct Product {
  Operation* op = nullptr;
  linalg::FillOp fill = {}; // with zero, before it: the sums begin there
  Value a, b, c;
  bool a_transposed = false, b_transposed = false;
  MatmulFamily family = MatmulFamily::wgmma;
};

// What products are compiled for.
struct Target {
  isa::Target machine;
  bool allow_tf32 = false;
};

// What a view is of.
Value root_of(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

bool is_device_memory(Value memref) {
  if (root_of(memref).getDefiningOp<gpu::AllocOp>())
    return true;
  const Attribute space = type_of(memref).getMemorySpace();
  if (const auto number = dyn_cast_or_null<IntegerAttr>(space))
    return number.getInt() == 1;
  const auto address_space = dyn_cast_or_null<gpu::AddressSpaceAttr>(space);
  return address_space && address_space.getValue() == gpu::AddressSpace::Global;
}

// The fill with zero whose result the product adds to, if nothing between them can see the memory.
linalg::FillOp fill_before(Operation* product, Value c) {
  for (Operation* before = product->getPrevNode(); before; before = before->getPrevNode()) {
    if (auto fill = dyn_cast<linalg::FillOp>(before)) {
      if (fill.getDpsInits()[0] != c)
        continue;
      const Value value = fill.getDpsInputs()[0];
      return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero()) ? fill : linalg::FillOp();
    }
    if (!isMemoryEffectFree(before) && !llvm::isa<memref::AllocOp>(before))
      return {};
  }
  return {};
}

// Whether `map` of (m, n, k) takes the dimensions `first` and `second`, in that order.
bool takes(AffineMap map, unsigned first, unsigned second) {
  return map.getNumResults() == 2 && map.getResult(0) == getAffineDimExpr(first, map.getContext()) &&
         map.getResult(1) == getAffineDimExpr(second, map.getContext());
}

// Rows that begin at multiples of 16 bytes: what a tensor map takes.
bool has_map(Value memref) {
  const MemRefType type = type_of(memref);
  const int64_t bytes = type.getElementTypeBitWidth() / 8;
  const auto is_aligned = [&](int64_t elems) {
    return !ShapedType::isDynamic(elems) && elems * bytes % 16 == 0;
  };
  SmallVector<int64_t> strides, batch_strides;
  int64_t offset = 0, batch_offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1 || !is_aligned(strides[0]))
    return false;
  if (!ShapedType::isDynamic(offset))
    return is_aligned(offset);
  // One of a batch, which one only a run knows.
  auto view = memref.getDefiningOp<memref::SubViewOp>();
  return view && succeeded(view.getSourceType().getStridesAndOffset(batch_strides, batch_offset)) &&
         is_aligned(batch_offset) && is_aligned(batch_strides[0]) &&
         llvm::all_of(view.getStaticOffsets().drop_front(), [](int64_t at) { return at == 0; });
}

// A copy to such a matrix writes 16 bytes at a time: its rows end there, or what follows them would change.
bool takes_stores(Value memref) {
  const MemRefType type = type_of(memref);
  return has_map(memref) && type.getDimSize(1) * type.getElementTypeBitWidth() % (16 * 8) == 0;
}

// On a product of f32: it may be multiplied as tf32, as nvgpu.mma.sync says it.
constexpr const char* kTf32Attr = "nvgpu.tf32Enabled";

template <class Op>
std::optional<MatmulFamily> kernel_of(Op op, const Target& target) {
  const auto element = [](Value memref) { return type_of(memref).getElementType(); };
  return kernel_for(target.machine, {.a = element(op.getDpsInputs()[0]),
                                     .b = element(op.getDpsInputs()[1]),
                                     .c = element(op.getDpsInits()[0]),
                                     .is_unsigned = op.getCast() == linalg::TypeFn::cast_unsigned,
                                     .allows_tf32 = target.allow_tf32 || op->hasAttr(kTf32Attr)});
}

std::optional<Product> product_of(Operation* op, const Target& target) {
  auto matmul = dyn_cast<linalg::MatmulOp>(op);
  if (!matmul || !matmul.hasPureBufferSemantics())
    return std::nullopt;
  Product product{.op = op,
                  .fill = {},
                  .a = matmul.getDpsInputs()[0],
                  .b = matmul.getDpsInputs()[1],
                  .c = matmul.getDpsInits()[0]};
  const SmallVector<AffineMap> maps = matmul.getIndexingMapsArray();
  constexpr unsigned m = 0, n = 1, k = 2;
  product.a_transposed = takes(maps[0], k, m);
  product.b_transposed = takes(maps[1], n, k);
  if ((!product.a_transposed && !takes(maps[0], m, k)) || (!product.b_transposed && !takes(maps[1], k, n)) ||
      !takes(maps[2], m, n))
    return std::nullopt;
  for (const Value operand : {product.a, product.b, product.c})
    if (!type_of(operand).hasStaticShape() || type_of(operand).getNumElements() == 0)
      return std::nullopt;
  const auto family = kernel_of(matmul, target);
  if (!family)
    return std::nullopt;
  product.family = *family;
  product.fill = fill_before(op, product.c);
  return product;
}

// Device memory that a product needs for as long as it takes, and copies between it and the host's.
class Memory {
public:
  Memory(OpBuilder& builder, Location where) : builder(builder), where(where) {}

  struct Copy {
    Value device; // as large as the original, its rows perhaps further apart
    Value host;   // all that `whole` has, without gaps; null: there is no copy
    Value whole;  // in device memory
  };

  // The memref, which is the host's, in device memory, with rows that a tensor map can describe. `filled`:
  // with what it has. Copies between host and device take memory without gaps.
  Copy to_device(Value memref, bool filled) {
    const MemRefType type = type_of(memref);
    Copy copy;
    const int64_t pitch = padded_columns(type);
    const MemRefType whole = MemRefType::get({type.getDimSize(0), pitch}, type.getElementType());
    copy.whole = on_device(whole);
    copy.device = part(copy.whole, type);
    copy.host = memref;
    if (!type.getLayout().isIdentity() || pitch != type.getDimSize(1)) {
      copy.host = memref::AllocOp::create(builder, where, whole).getMemref();
      host_.push_back(copy.host);
      if (filled)
        linalg::CopyOp::create(builder, where, memref, part(copy.host, type));
    }
    if (filled)
      gpu::MemcpyOp::create(builder, where, TypeRange(), ValueRange{copy.whole, copy.host});
    return copy;
  }

  // Of a memref without gaps: itself if it is the device's.
  Value copy_of(Value memref, bool filled = true) {
    if (is_device_memory(memref))
      return memref;
    const Value copy =
        on_device(MemRefType::get(type_of(memref).getShape(), type_of(memref).getElementType()));
    if (filled)
      gpu::MemcpyOp::create(builder, where, TypeRange(), ValueRange{copy, memref});
    return copy;
  }

  void to_host(const Copy& copy, Value memref) {
    gpu::MemcpyOp::create(builder, where, TypeRange(), ValueRange{copy.host, copy.whole});
    if (copy.host != memref)
      linalg::CopyOp::create(builder, where, part(copy.host, type_of(memref)), memref);
  }

  // Device memory for such a matrix, that a tensor map can describe.
  Value padded(MemRefType type) {
    return part(on_device(MemRefType::get({type.getDimSize(0), padded_columns(type)}, type.getElementType())),
                type);
  }

  void free() {
    for (const Value memref : device_)
      gpu::DeallocOp::create(builder, where, TypeRange(), memref);
    for (const Value memref : host_)
      memref::DeallocOp::create(builder, where, memref);
  }

  OpBuilder& builder;
  Location where;

private:
  static int64_t padded_columns(MemRefType type) {
    return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(type.getDimSize(1)),
                                              static_cast<uint64_t>(16 * 8 / type.getElementTypeBitWidth())));
  }

  Value on_device(MemRefType type) {
    device_.push_back(
        gpu::AllocOp::create(builder, where, type, Type(), ValueRange(), ValueRange(), ValueRange())
            .getMemref());
    return device_.back();
  }

  // The first columns of a matrix, as many as `type` has.
  Value part(Value matrix, MemRefType type) {
    if (type_of(matrix).getShape() == type.getShape())
      return matrix;
    const auto indices = [&](ArrayRef<int64_t> values) {
      return llvm::map_to_vector(values,
                                 [&](int64_t value) { return OpFoldResult(builder.getIndexAttr(value)); });
    };
    return memref::SubViewOp::create(builder, where, matrix, indices({0, 0}), indices(type.getShape()),
                                     indices({1, 1}));
  }

  SmallVector<Value> device_, host_;
};

// A batch as products of matrices, one after the other, in device memory.
void split(linalg::BatchMatmulOp op, const Target& target) {
  const Value a = op.getDpsInputs()[0], b = op.getDpsInputs()[1], c = op.getDpsInits()[0];
  for (const Value operand : {a, b, c})
    if (!type_of(operand).hasStaticShape() || type_of(operand).getNumElements() == 0 ||
        !type_of(operand).getLayout().isIdentity())
      return;
  if (!kernel_of(op, target))
    return;
  SmallVector<AffineMap> maps;
  for (const AffineMap map : op.getIndexingMapsArray()) {
    if (map.getNumResults() != 3 || map.getResult(0) != getAffineDimExpr(0, op.getContext()))
      return;
    SmallVector<AffineExpr> matrix;
    for (const AffineExpr result : map.getResults().drop_front())
      matrix.push_back(getAffineDimExpr(cast<AffineDimExpr>(result).getPosition() - 1, op.getContext()));
    maps.push_back(AffineMap::get(3, 0, matrix, op.getContext()));
  }

  OpBuilder builder(op);
  const Location where = op.getLoc();
  Memory memory(builder, where);
  linalg::FillOp fill = fill_before(op, c);
  const Value there[] = {memory.copy_of(a), memory.copy_of(b), memory.copy_of(c, !fill)};
  const auto index = [&](int64_t value) { return arith::ConstantIndexOp::create(builder, where, value); };
  auto loop = scf::ForOp::create(builder, where, index(0), index(type_of(c).getDimSize(0)), index(1));
  {
    const OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> slices;
    for (const Value memref : there) {
      const ArrayRef<int64_t> shape = type_of(memref).getShape();
      const auto attribute = [&](int64_t value) { return OpFoldResult(builder.getIndexAttr(value)); };
      const SmallVector<OpFoldResult> offsets{OpFoldResult(loop.getInductionVar()), attribute(0),
                                              attribute(0)},
          sizes{attribute(1), attribute(shape[1]), attribute(shape[2])}, steps(3, attribute(1));
      const auto type = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
          shape.drop_front(), type_of(memref), offsets, sizes, steps));
      slices.push_back(memref::SubViewOp::create(builder, where, type, memref, offsets, sizes, steps));
    }
    if (fill)
      linalg::FillOp::create(builder, where, fill.getDpsInputs()[0], slices[2]);
    auto product =
        linalg::MatmulOp::create(builder, where, ValueRange{slices[0], slices[1]}, ValueRange(slices[2]));
    product.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
    product.setCast(op.getCast());
    product->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  }
  if (there[2] != c)
    gpu::MemcpyOp::create(builder, where, TypeRange(), ValueRange{c, there[2]});
  memory.free();
  op.erase();
  if (fill)
    fill.erase();
}

class MatmulToNvgpu : public PassWrapper<MatmulToNvgpu, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MatmulToNvgpu)
  MatmulToNvgpu() = default;
  explicit MatmulToNvgpu(const MatmulOptions& options) {
    schedule = options.schedule;
    arch = options.arch;
    allow_tf32 = options.allow_tf32;
  }
  MatmulToNvgpu(const MatmulToNvgpu& other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "lemma-matmul-to-nvgpu"; }
  StringRef getDescription() const override {
    return "Make kernels of the matrix products in host functions";
  }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<NVGPUDialect, arith::ArithDialect, func::FuncDialect, gpu::GPUDialect,
                    memref::MemRefDialect, NVVM::NVVMDialect, scf::SCFDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    const Schedule* chosen = nullptr;
    if (!schedule.empty() && !(chosen = find_schedule(std::string(schedule)))) {
      auto error = getOperation().emitError() << "there is no schedule " << schedule << "; there are ";
      llvm::interleaveComma(schedules(), error, [&](const Schedule& row) { error << row.name; });
      return signalPassFailure();
    }
    if (has_device_code(getOperation()))
      return;
    const auto machine = isa::parse_target(arch.empty() ? kDefaultArch : std::string(arch));
    if (!machine)
      return; // who makes PTX says so
    const Target target{*machine, allow_tf32};
    SmallVector<Product> products;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      function.walk([&](linalg::BatchMatmulOp op) {
        if (op.hasPureBufferSemantics())
          split(op, target);
      });
      function.walk([&](Operation* op) {
        if (const auto product = product_of(op, target))
          products.push_back(*product);
      });
    }
    functions_.clear();
    for (Product& product : products)
      if (failed(replace(product, chosen)))
        return signalPassFailure();
  }

  Option<std::string> schedule{*this, "schedule", llvm::cl::desc("Which schedule kernels have, by its name"),
                               llvm::cl::init("")};
  Option<std::string> arch{*this, "arch", llvm::cl::desc("What kernels are for (default: sm_90a)"),
                           llvm::cl::init("")};
  Option<bool> allow_tf32{*this, "allow-tf32", llvm::cl::desc("Multiply f32 as tf32"), llvm::cl::init(false)};

private:
  // Who writes kernels says what runs on the device: there, a product is one of the host's.
  static bool has_device_code(ModuleOp module) {
    return module
        .walk([](Operation* op) {
          return llvm::isa<gpu::GPUModuleOp, gpu::LaunchOp>(op) ? WalkResult::interrupt()
                                                                : WalkResult::advance();
        })
        .wasInterrupted();
  }

  LogicalResult replace(Product& product, const Schedule* chosen) {
    auto epilogue = product.fill ? epilogue_after(product.op, product.c) : std::nullopt;
    if (epilogue &&
        (root_of(epilogue->result) == root_of(product.a) || root_of(epilogue->result) == root_of(product.b)))
      epilogue.reset(); // tiles of it would be there before all of A and B was read
    OpBuilder builder(epilogue ? epilogue->op.getOperation() : product.op);
    const Location where = product.op->getLoc();
    Memory memory(builder, where);
    SmallVector<Value> arguments;
    // What is not 16 bits wide is multiplied K-major alone: A as M x K, B as N x K.
    const bool any_order = type_of(product.a).getElementTypeBitWidth() == 16;
    const bool turn_a = !any_order && product.a_transposed, turn_b = !any_order && !product.b_transposed;
    product.a_transposed ^= turn_a;
    product.b_transposed ^= turn_b;
    for (const auto& [operand, turns] : {std::pair(product.a, turn_a), std::pair(product.b, turn_b)}) {
      const auto there = multiplicand(memory, operand, turns);
      if (failed(there))
        return failure();
      arguments.push_back(*there);
    }
    const bool reads_c = !product.fill;
    const Value result = epilogue ? epilogue->result : product.c;
    const Memory::Copy c =
        is_device_memory(result) ? Memory::Copy{result, {}, result} : memory.to_device(result, reads_c);
    arguments.push_back(c.whole);
    if (epilogue)
      for (const Value operand : epilogue->operands)
        arguments.push_back(memory.copy_of(operand));
    const auto function = function_for(product, epilogue, arguments, chosen);
    if (failed(function))
      return failure();
    func::CallOp::create(builder, where, *function, arguments);
    if (c.host)
      memory.to_host(c, result);
    memory.free();
    if (epilogue)
      epilogue->op->erase();
    product.op->erase();
    if (product.fill)
      product.fill->erase();
    return success();
  }

  // A or B where a tensor map can describe it, transposed if it `turns`: itself, or a copy.
  FailureOr<Value> multiplicand(Memory& memory, Value matrix, bool turns) {
    if (!is_device_memory(matrix))
      matrix = memory.to_device(matrix, /*filled=*/true).device;
    if (has_map(matrix) && !turns)
      return matrix;
    const MemRefType type = type_of(matrix);
    const Value copy = memory.padded(
        turns ? MemRefType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType()) : type);
    const auto function = function_of(
        [&](const std::string& name) {
          return copy_text(name, text_of(matrix.getType()), text_of(copy.getType()), turns);
        },
        turns ? "transpose_matrix" : "copy_matrix");
    if (failed(function))
      return failure();
    func::CallOp::create(memory.builder, memory.where, *function, ValueRange{matrix, copy});
    return copy;
  }

  FailureOr<func::FuncOp> function_for(const Product& product, const std::optional<Epilogue>& epilogue,
                                       ArrayRef<Value> arguments, const Schedule* chosen) {
    const MemRefType a = type_of(arguments[0]), b = type_of(arguments[1]), c = type_of(arguments[2]);
    const auto operand = [](MemRefType type, bool transposed) {
      const auto any = UnrankedMemRefType::get(type.getElementType(), type.getMemorySpace());
      return MatmulOperand{.type = text_of(type),
                           .any_type = text_of(any),
                           .element = text_of(type.getElementType()),
                           .element_bytes = type.getElementTypeBitWidth() / 8,
                           .transposed = transposed};
    };
    MatmulKernel kernel{.name = "matmul",
                        .schedule = chosen ? *chosen
                                           : choose_schedule(c.getDimSize(0), c.getDimSize(1),
                                                             a.getDimSize(product.a_transposed ? 0 : 1)),
                        .a = operand(a, product.a_transposed),
                        .b = operand(b, product.b_transposed),
                        .c = operand(c, false),
                        .sum = type_of(product.c).getElementType().isInteger(32) ? "i32" : "f32",
                        .accumulates = !product.fill,
                        .store = product.fill && takes_stores(arguments[2]) ? MatmulStore::tma
                                                                            : MatmulStore::elements};
    if (epilogue)
      return function_with(*epilogue, product.family, std::move(kernel), type_of(product.c).getElementType(),
                           arguments.drop_front(3));
    return function_of(
        [&](const std::string& name) {
          kernel.name = name;
          return kernel_text(product.family, kernel);
        },
        "matmul");
  }

  static std::string kernel_text(MatmulFamily family, const MatmulKernel& kernel) {
    switch (family) {
    case MatmulFamily::wgmma:
      return matmul_text(kernel);
    }
    llvm_unreachable("a family without a kernel");
  }

  FailureOr<func::FuncOp> function_with(const Epilogue& epilogue, MatmulFamily family, MatmulKernel kernel,
                                        Type element, ArrayRef<Value> operands) {
    kernel.name = unused_name("matmul");
    kernel.epilogue = kernel.name + "_epilogue";
    for (const Value operand : operands)
      kernel.operands.push_back(text_of(operand.getType()));
    return parse(kernel_text(family, kernel), kernel.schedule.name, [&](OpBuilder& builder) {
      const Type sum = kernel.sum == "i32" ? Type(builder.getI32Type()) : Type(builder.getF32Type());
      make_epilogue(builder, kernel.epilogue, epilogue, sum, element, ValueRange(operands).getTypes());
    });
  }

  std::string unused_name(const std::string& word) {
    std::string name = word;
    for (unsigned i = 1; getOperation().lookupSymbol(name); ++i)
      name = fmt::format("{}_{}", word, i);
    return name;
  }

  // The function of such a text, under a name of its own.
  FailureOr<func::FuncOp> function_of(llvm::function_ref<std::string(const std::string&)> text,
                                      const std::string& word) {
    func::FuncOp& function = functions_[text(word)];
    if (function)
      return function;
    const auto parsed = parse(text(unused_name(word)), word);
    if (failed(parsed))
      return failure();
    return function = *parsed;
  }

  // `add`: what else the text's module has, for as long as it takes to inline it.
  FailureOr<func::FuncOp> parse(const std::string& text, StringRef name,
                                llvm::function_ref<void(OpBuilder&)> add = nullptr) {
    const ParserConfig config(&getContext(), /*verifyAfterParse=*/!add); // what it calls may be to come
    OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(text, config, name);
    if (!parsed)
      return getOperation().emitError("internal error: the kernel of schedule ") << name << " does not parse";
    auto function = *parsed->getOps<func::FuncOp>().begin();
    function.setPublic(); // until it is where it is used
    if (add) {
      OpBuilder builder = OpBuilder::atBlockEnd(parsed->getBody());
      add(builder);
    }
    PassManager simplify(&getContext());
    simplify.addPass(createInlinerPass());       // the epilogue
    simplify.addPass(createCanonicalizerPass()); // sizes that are known become constants
    simplify.addPass(createCSEPass());
    simplify.addPass(createGpuLaunchSinkIndexComputationsPass()); // of the kernel
    if (failed(simplify.run(*parsed)))
      return failure();
    function.setPrivate();
    function->moveBefore(&getOperation().getBody()->front());
    return function;
  }

  std::map<std::string, func::FuncOp> functions_;
};

} // namespace

std::unique_ptr<Pass> create_matmul_pass(const MatmulOptions& options) {
  return std::make_unique<MatmulToNvgpu>(options);
}

} // namespace lemma::nvgpu
