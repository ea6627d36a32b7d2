// The pass that makes kernels of matrix products: each (product.h), with what can be fused with it
// (epilogue.h), becomes the call of a function of the host (host_part.h), which calls one with a gpu.launch
// (kernel.h). Products of the same types, sizes and schedule share that.
//
// Not here: tensors, which are memrefs by then. Tests: tests/mlir/matmul/.
#include "isa/machine.h"
#include "lemma/mlir.h"
#include "nvgpu/dialect.h"
#include "nvgpu/matmul/activation.h"
#include "nvgpu/matmul/epilogue.h"
#include "nvgpu/matmul/host_part.h"
#include "nvgpu/matmul/kernel.h"
#include "nvgpu/matmul/mma_kernel.h"
#include "nvgpu/matmul/product.h"
#include "nvgpu/matmul/resident.h"
#include "nvgpu/matmul/size_checks.h"
#include "nvgpu/matmul/tcgen05_kernel.h"
#include "nvgpu/matrix_type.h"
#include "nvgpu/passes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

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

class MatmulToNvgpu : public PassWrapper<MatmulToNvgpu, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MatmulToNvgpu)
  MatmulToNvgpu() = default;
  explicit MatmulToNvgpu(const MatmulOptions& options) : noted_(options.products) {
    schedule = options.schedule;
    arch = options.arch;
    allow_tf32 = options.allow_tf32;
  }
  MatmulToNvgpu(const MatmulToNvgpu& other) : PassWrapper(other), noted_(other.noted_) {}

  StringRef getArgument() const override { return "lemma-matmul-to-nvgpu"; }
  StringRef getDescription() const override {
    return "Make kernels of the matrix products in host functions";
  }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<NVGPUDialect, affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect,
                    func::FuncDialect, gpu::GPUDialect, LLVM::LLVMDialect, memref::MemRefDialect,
                    NVVM::NVVMDialect, scf::SCFDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    const Schedule* chosen = nullptr;
    if (!schedule.empty() && !(chosen = find_schedule(std::string(schedule)))) {
      auto error = getOperation().emitError() << "there is no schedule " << schedule << "; there are ";
      llvm::interleaveComma(schedules(), error, [&](const Schedule& row) { error << row.name; });
      return signalPassFailure();
    }
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>()); // the program's own
    if (has_device_code(getOperation()))
      return leave_to_host(functions, [](Operation*) { return std::string(); });
    const auto machine = isa::parse_target(arch.empty() ? kDefaultArch : std::string(arch));
    if (!machine)
      return; // who makes PTX says so
    const MatmulTarget target{*machine, allow_tf32, chosen};
    has_wide_f64_ = machine->sm >= 90;
    rounds_tf32_ = machine->sm >= 90;
    if (const isa::Machine* found = isa::find_machine(machine->sm)) {
      shared_bytes_ = int64_t{1024} * (found->shared_kib_per_sm - found->reserved_kib);
      if (found->sm_count)
        multiprocessors_ = found->sm_count;
    }
    if (chosen && failed(check_fits(*chosen, *machine)))
      return signalPassFailure();
    keep_on_device(products(target));
    functions_.clear();
    host_functions_.clear();
    for (const Product& product : products(target))
      if (failed(replace(product, chosen)))
        return signalPassFailure();
    leave_to_host(functions, [&](Operation* op) { return why_none(op, target); });
  }

  Option<std::string> schedule{*this, "schedule", llvm::cl::desc("Which schedule kernels have, by its name"),
                               llvm::cl::init("")};
  Option<std::string> arch{*this, "arch", llvm::cl::desc("What kernels are for (default: sm_90a)"),
                           llvm::cl::init("")};
  Option<bool> allow_tf32{*this, "allow-tf32", llvm::cl::desc("Multiply f32 as tf32"), llvm::cl::init(false)};

private:
  // What stays a loop of host code: sizes are looked at as those of products are, and of what could have been
  // a kernel somebody hears why it is none.
  static void leave_to_host(ArrayRef<func::FuncOp> functions,
                            llvm::function_ref<std::string(Operation*)> why_none) {
    for (func::FuncOp function : functions)
      function.walk<WalkOrder::PreOrder>([&](Operation* op) {
        if (llvm::isa<gpu::LaunchOp>(op))
          return WalkResult::skip();
        if (auto linalg_op = dyn_cast<linalg::LinalgOp>(op)) {
          if (const std::string why = why_none(op); !why.empty())
            op->emitRemark() << "no kernel is made of this " << op->getName()
                             << ", which loops of the host do: " << why;
          check_sizes_at_run(linalg_op, op);
        }
        return WalkResult::advance();
      });
  }

  SmallVector<Product> products(const MatmulTarget& target) {
    SmallVector<Product> products;
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](Operation* op) {
        if (const auto product = product_of(op, target))
          products.push_back(*product);
      });
    return products;
  }

  LogicalResult check_fits(const Schedule& chosen, isa::Target machine) {
    const auto fits = [&](const Schedule& row) {
      return row.family == chosen.family && row.ring_bytes() <= shared_bytes_;
    };
    if (has_tensor_maps(chosen.family) || fits(chosen))
      return success();
    auto error = getOperation().emitError()
                 << "schedule " << chosen.name << " needs " << chosen.ring_bytes()
                 << " bytes of shared memory for a CTA, of which " << isa::to_string(machine) << " has "
                 << shared_bytes_ << "; there are others that need less: ";
    llvm::interleaveComma(llvm::make_filter_range(schedules(), fits), error,
                          [&](const Schedule& row) { error << row.name; });
    return error;
  }

  // The product, and what is fused with it, as a call.
  LogicalResult replace(const Product& product, const Schedule* chosen) {
    const auto epilogue = epilogue_after(product);
    OpBuilder builder(epilogue ? epilogue->chain.back().op : product.op);
    SmallVector<Value> arguments{product.a, product.b, epilogue ? epilogue->result : product.c};
    if (epilogue)
      for (const EpilogueOperand& operand : epilogue->operands)
        arguments.push_back(operand.value);
    const auto function = host_function(product, epilogue, arguments, chosen);
    if (failed(function))
      return failure();
    auto call = func::CallOp::create(builder, product.op->getLoc(), *function, arguments);
    check_sizes_at_run(product.op, call);
    if (epilogue)
      for (const Elementwise& step : epilogue->chain)
        check_sizes_at_run(linalg::GenericOp(step.op), call);
    llvm::SetVector<Value> written;
    written.insert(product.c);
    if (epilogue)
      for (const Elementwise& step : epilogue->chain)
        written.insert(step.from);
    if (epilogue)
      for (const Elementwise& step : llvm::reverse(epilogue->chain))
        linalg::GenericOp(step.op).erase();
    product.op->erase();
    if (product.fill)
      linalg::FillOp(product.fill).erase();
    for (const Value memref : written)
      drop_unused(memref);
    return success();
  }

  // Memory that was for what the kernel has in registers.
  static void drop_unused(Value memref) {
    Operation* made = memref.getDefiningOp();
    if (!is_allocation(made) ||
        !llvm::all_of(memref.getUsers(), [&](Operation* user) { return freed_by(user) == memref; }))
      return;
    for (Operation* user : llvm::make_early_inc_range(memref.getUsers()))
      user->erase();
    made->erase();
  }

  // Products of the same types, in the same memory, have one; what is fused is one product's alone.
  FailureOr<func::FuncOp> host_function(const Product& product, const std::optional<Epilogue>& epilogue,
                                        ArrayRef<Value> arguments, const Schedule* chosen) {
    std::string key = fmt::format("{}{}{}{}{}", product.a_transposed, product.b_transposed,
                                  product.is_unsigned, bool(product.fill), static_cast<int>(product.family));
    for (const Value argument : arguments)
      key += fmt::format(" {} {}", text_of(argument.getType()),
                         llvm::isa<MemRefType>(argument.getType()) && is_device_memory(argument));
    func::FuncOp& function = host_functions_[key];
    if (function && !epilogue)
      return function;
    const HostPartCalls calls{
        .kernel =
            [&](const KernelArguments& arguments) {
              const Schedule& schedule = chosen && chosen->family == product.family
                                             ? *chosen
                                             : schedule_for(product.family, arguments);
              auto function = kernel_function(product, epilogue, arguments, schedule);
              if (succeeded(function))
                note(*function, product, arguments, schedule);
              return function;
            },
        .copy = [&](Type element, bool transposes) { return copy_function(element, transposes); }};
    OpBuilder at_module = OpBuilder::atBlockBegin(getOperation().getBody());
    const auto made =
        make_host_part(at_module, unused_name("multiply"), product, epilogue ? &*epilogue : nullptr, calls);
    if (failed(made))
      return failure();
    OpPassManager simplify(func::FuncOp::getOperationName());
    simplify.addPass(createCanonicalizerPass());
    simplify.addPass(createCSEPass());
    simplify.addPass(createCanonicalizerPass());
    if (failed(runPipeline(simplify, *made)))
      return failure();
    return epilogue ? *made : function = *made;
  }

  FailureOr<func::FuncOp> copy_function(Type element, bool transposes) {
    auto function =
        function_of([&](const std::string& name) { return copy_text(name, text_of(element), transposes); },
                    transposes ? "transpose_matrix" : "copy_matrix");
    if (succeeded(function) && noted_)
      noted_->push_back({.function = function->getName().str(), .is_copy = true, .a = text_of(element)});
    return function;
  }

  // What a kernel does, for who asked.
  void note(func::FuncOp function, const Product& product, const KernelArguments& arguments,
            const Schedule& schedule) const {
    if (!noted_)
      return;
    const auto extent = [](Value matrix, int64_t from_last) {
      const MemRefType type = type_of(matrix);
      const auto dimension = static_cast<unsigned>(type.getRank() - from_last);
      return type.isDynamicDim(dimension) ? -1 : type.getDimSize(dimension);
    };
    noted_->push_back({.function = function.getName().str(),
                       .schedule = schedule.name,
                       .a = text_of(arguments.a.getElementType()),
                       .b = text_of(arguments.b.getElementType()),
                       .c = text_of(arguments.c.getElementType()),
                       .a_transposed = arguments.a_transposed,
                       .b_transposed = arguments.b_transposed,
                       .is_tf32 = multiplies_as_tf32(product, allow_tf32),
                       .m = extent(product.c, 2),
                       .n = extent(product.c, 1),
                       .k = extent(product.a, product.a_transposed ? 2 : 1)});
  }

  FailureOr<func::FuncOp> kernel_function(const Product& product, const std::optional<Epilogue>& epilogue,
                                          const KernelArguments& arguments, const Schedule& schedule) {
    const auto operand = [](MemRefType type, bool transposed) {
      const auto any = UnrankedMemRefType::get(type.getElementType(), type.getMemorySpace());
      return MatmulOperand{.type = text_of(type),
                           .any_type = text_of(any),
                           .element = text_of(type.getElementType()),
                           .element_bytes = type.getElementTypeBitWidth() / 8,
                           .transposed = transposed};
    };
    const Type element = type_of(product.c).getElementType();
    MatmulKernel kernel{.name = "matmul",
                        .schedule = schedule,
                        .multiprocessors = multiprocessors_,
                        .a = operand(arguments.a, arguments.a_transposed),
                        .b = operand(arguments.b, arguments.b_transposed),
                        .c = operand(arguments.c, false),
                        .m = size_of(arguments.a, arguments.a_transposed ? 1 : 0),
                        .n = size_of(arguments.b, arguments.b_transposed ? 0 : 1),
                        .k = size_of(arguments.a, arguments.a_transposed ? 0 : 1),
                        // C's, if they are as wide as accumulators.
                        .sum = element.getIntOrFloatBitWidth() < 32 ? "f32" : text_of(element),
                        .has_wide_f64 = has_wide_f64_,
                        .rounds_tf32 = rounds_tf32_,
                        .accumulates = !product.fill,
                        .store = arguments.store};
    // Slices of 64-bit results are more than shared memory and registers have room for.
    if (has_tensor_maps(product.family) && kernel.c.element_bytes == 8)
      kernel.store = MatmulStore::elements;
    kernel.a.is_unsigned = kernel.b.is_unsigned =
        product.is_unsigned && arguments.a.getElementType().isInteger();
    if (epilogue)
      return kernel_with(*epilogue, product.family, std::move(kernel), element, arguments.operands);
    return function_of(
        [&](const std::string& name) {
          kernel.name = name;
          return kernel_text(product.family, kernel);
        },
        "matmul");
  }

  static int64_t size_of(MemRefType type, unsigned dimension, int64_t unknown = -1) {
    return type.isDynamicDim(dimension) ? unknown : type.getDimSize(dimension);
  }

  // Sizes that only a run knows are taken to be large.
  const Schedule& schedule_for(MatmulFamily family, const KernelArguments& arguments) const {
    constexpr int64_t kLarge = 8192;
    const int64_t m = size_of(arguments.c, 0, kLarge), n = size_of(arguments.c, 1, kLarge);
    if (family == MatmulFamily::wgmma)
      return choose_schedule({.type = isa::to_string(ptx_type(arguments.a.getElementType(), true)),
                              .a_transposed = arguments.a_transposed,
                              .b_transposed = arguments.b_transposed,
                              .m = m,
                              .n = n,
                              .k = size_of(arguments.a, arguments.a_transposed ? 0 : 1, kLarge)});
    if (family == MatmulFamily::tcgen05)
      return choose_tcgen05_schedule({.m = m,
                                      .n = n,
                                      .k = size_of(arguments.a, arguments.a_transposed ? 0 : 1, kLarge),
                                      .multiprocessors = multiprocessors_});
    return choose_mma_schedule({.family = family,
                                .element_bytes = arguments.a.getElementTypeBitWidth() / 8,
                                .m = m,
                                .n = n,
                                .b_transposed = arguments.b_transposed,
                                .shared_bytes = shared_bytes_});
  }

  static std::string kernel_text(MatmulFamily family, const MatmulKernel& kernel) {
    switch (family) {
    case MatmulFamily::wgmma:
      return matmul_text(kernel);
    case MatmulFamily::tcgen05:
      return tcgen05_text(kernel);
    case MatmulFamily::mma:
    case MatmulFamily::fma:
      return mma_text(kernel);
    }
    llvm_unreachable("a family without a kernel");
  }

  FailureOr<func::FuncOp> kernel_with(const Epilogue& epilogue, MatmulFamily family, MatmulKernel kernel,
                                      Type element, ArrayRef<Type> operands) {
    kernel.name = unused_name("matmul");
    kernel.epilogue = kernel.name + "_epilogue";
    for (const Type operand : operands)
      kernel.operands.push_back(text_of(operand));
    const auto function = parse(kernel_text(family, kernel), kernel.schedule.name, [&](OpBuilder& builder) {
      const Type sum = parseType(kernel.sum, &getContext());
      make_epilogue(builder, kernel.epilogue, epilogue, sum, element, operands);
    });
    if (succeeded(function))
      use_machine_functions(*function, /*is_narrow=*/kernel.c.element_bytes <= 2);
    return function;
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

  // Every call in `function` becomes the body of its callee, one block. Not by MLIR's inliner, which does not
  // go into the body of a gpu.launch.
  static void inline_calls(func::FuncOp function) {
    auto module = function->getParentOfType<ModuleOp>();
    SmallVector<func::CallOp> calls;
    function.walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls) {
      Block& body = module.lookupSymbol<func::FuncOp>(call.getCallee()).getBody().front();
      OpBuilder builder(call);
      IRMapping mapping;
      mapping.map(body.getArguments(), call.getArgOperands());
      for (Operation& inner : body.without_terminator())
        builder.clone(inner, mapping);
      for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
        result.replaceAllUsesWith(mapping.lookupOrDefault(value));
      call.erase();
    }
  }

  // `add`: what else the text's module has, for as long as it takes to inline it.
  FailureOr<func::FuncOp> parse(const std::string& text, StringRef name,
                                llvm::function_ref<void(OpBuilder&)> add = nullptr) {
    // Once, after all of this pass, is enough: here and below.
    const ParserConfig config(&getContext(), /*verifyAfterParse=*/false);
    OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(text, config, name);
    if (!parsed)
      return getOperation().emitError("internal error: the kernel of schedule ") << name << " does not parse";
    auto function = *parsed->getOps<func::FuncOp>().begin();
    function.setPublic(); // until it is where it is used
    if (add) {
      OpBuilder builder = OpBuilder::atBlockEnd(parsed->getBody());
      add(builder);
      inline_calls(function);
    }
    PassManager simplify(&getContext());
    simplify.enableVerifier(false);
    // Sizes that are known become constants. Not by the patterns that compare all values of a loop with each
    // other: sums are many, and none is another.
    simplify.addPass(createCanonicalizerPass(
        GreedyRewriteConfig(), {"(anonymous namespace)::RemoveDuplicateSuccessorInputUses",
                                "(anonymous namespace)::MakeRegionBranchOpSuccessorInputsDead"}));
    simplify.addPass(createCSEPass());
    simplify.addPass(createGpuLaunchSinkIndexComputationsPass()); // of the kernel
    if (failed(simplify.run(*parsed)))
      return failure();
    function.setPrivate();
    function->moveBefore(&getOperation().getBody()->front());
    return function;
  }

  std::map<std::string, func::FuncOp> functions_, host_functions_;
  // Of the target.
  bool has_wide_f64_ = true, rounds_tf32_ = true;
  int64_t shared_bytes_ = 0, multiprocessors_ = kMultiprocessors;
  std::vector<MlirProduct>* noted_ = nullptr;
};

} // namespace

bool has_device_code(ModuleOp module) {
  return module
      .walk([](Operation* op) {
        return llvm::isa<gpu::GPUModuleOp, gpu::LaunchOp>(op) ? WalkResult::interrupt()
                                                              : WalkResult::advance();
      })
      .wasInterrupted();
}

std::unique_ptr<Pass> create_matmul_pass(const MatmulOptions& options) {
  return std::make_unique<MatmulToNvgpu>(options);
}

} // namespace lemma::nvgpu
