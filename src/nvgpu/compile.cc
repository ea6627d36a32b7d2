// compile_mlir(): a program to PTX and the stages before it.
//
// Tests: tests/mlir/, tests/unit/nvgpu/.
#include "lemma/mlir.h"

#include "nvgpu/bounds.h"
#include "nvgpu/compile.h"
#include "nvgpu/emit_module.h"
#include "nvgpu/matrix_type.h"
#include "nvgpu/passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

namespace lemma {
namespace nvgpu {

using namespace mlir;

namespace {

std::string to_text(auto value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  value.print(stream);
  return text;
}

Result<gpu::GPUModuleOp, Error> choose_module(ModuleOp program, const std::string& name) {
  std::vector<std::string> names;
  gpu::GPUModuleOp chosen;
  program.walk([&](gpu::GPUModuleOp module) {
    names.push_back(module.getName().str());
    if (name.empty() || name == names.back())
      chosen = module;
  });
  const auto wrong = [&](const std::string& text) {
    return Unexpected<Error>{{.kind = ErrorKind::invalid_argument, .text = text, .messages = {}}};
  };
  if (names.empty())
    return wrong("the program has no gpu.module, nor a gpu.launch that becomes one");
  if (name.empty() && names.size() > 1)
    return wrong(
        fmt::format("the program has {} gpu.modules: {}; choose one", names.size(), fmt::join(names, ", ")));
  if (!chosen)
    return wrong(fmt::format("there is no gpu.module {}; there is {}", name, fmt::join(names, ", ")));
  return chosen;
}

// gpu.modules that gpu.launch has become, as one: nobody has given them names to choose by. A kernel whose
// name another has is called as its module was. What else they have, of the host's symbols, is the same in
// all.
void join_modules(ModuleOp program) {
  SmallVector<gpu::GPUModuleOp> modules(program.getOps<gpu::GPUModuleOp>());
  if (modules.size() < 2)
    return;
  SymbolTable symbols(modules.front());
  for (gpu::GPUModuleOp module : ArrayRef(modules).drop_front()) {
    for (Operation& op : llvm::make_early_inc_range(*module.getBody())) {
      const auto name = SymbolTable::getSymbolName(&op);
      const bool is_known = symbols.lookup(name);
      if (is_known && !llvm::isa<gpu::GPUFuncOp>(op))
        continue;
      op.moveBefore(modules.front().getBody(), modules.front().getBody()->end());
      if (is_known)
        SymbolTable::setSymbolName(&op, module.getName());
      symbols.insert(&op, modules.front().getBody()->end());
    }
    module.erase();
  }
}

} // namespace

bool is_device_space(mlir::Attribute space) {
  if (const auto number = dyn_cast_or_null<IntegerAttr>(space))
    return number.getInt() == 1;
  const auto address_space = dyn_cast_or_null<gpu::AddressSpaceAttr>(space);
  return address_space && address_space.getValue() == gpu::AddressSpace::Global;
}

MlirParameter parameter_of(mlir::Type type) {
  MlirParameter parameter;
  parameter.type = to_text(type);
  const auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return parameter;
  parameter.is_memref = true;
  parameter.element = to_text(memref.getElementType());
  parameter.on_device = is_device_space(memref.getMemorySpace());
  if (memref.getElementType().isIntOrFloat())
    parameter.element_bits = storage_bits(memref.getElementType());
  const auto put = [](int64_t value) { return ShapedType::isDynamic(value) ? -1 : value; };
  for (const int64_t extent : memref.getShape())
    parameter.shape.push_back(put(extent));
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (succeeded(memref.getStridesAndOffset(strides, offset))) {
    parameter.offset = put(offset);
    for (const int64_t stride : strides)
      parameter.strides.push_back(put(stride));
  }
  return parameter;
}

std::vector<MlirKernel> kernels_of(gpu::GPUModuleOp module) {
  std::vector<MlirKernel> kernels;
  module.walk([&](gpu::GPUFuncOp function) {
    if (!function.isKernel())
      return;
    MlirKernel& kernel = kernels.emplace_back();
    kernel.name = function.getName().str();
    for (const mlir::Type type : function.getFunctionType().getInputs())
      kernel.parameters.push_back(parameter_of(type));
  });
  return kernels;
}

static Result<CompiledMlir, Error> compile(Program& program, const MlirOptions& options) {
  CompiledMlir compiled;
  if (options.stage == MlirStage::nvgpu) {
    compiled.text = to_text(program.module());
    return compiled;
  }
  PassManager matmul(&program.context());
  matmul.addPass(create_tensors_pass());
  matmul.addPass(create_matmul_pass(
      {.schedule = options.schedule, .arch = options.arch, .allow_tf32 = options.allow_tf32}));
  if (!program.run(matmul))
    return program.fail();
  const bool has_modules = !program.module().getOps<gpu::GPUModuleOp>().empty();
  PassManager outline(&program.context());
  add_outline_passes(outline);
  if (!program.run(outline))
    return program.fail();
  PassManager prepare(&program.context());
  if (options.stage != MlirStage::nvvm)
    prepare.addPass(create_drop_host_pass());
  if (options.stage != MlirStage::nvvm && !has_modules && options.module.empty())
    join_modules(program.module());
  add_prepare_passes(prepare);
  prepare.enableVerifier(false); // after the lowering is enough
  if (!program.run(prepare))
    return program.fail();
  PassManager lower(&program.context());
  lower.addNestedPass<gpu::GPUModuleOp>(create_lower_device_pass(options.arch));
  if (options.stage == MlirStage::nvvm) {
    lower.addPass(create_lower_host_pass());
    if (!program.run(lower))
      return program.fail();
    compiled.text = to_text(program.module());
    return compiled;
  }
  auto module = choose_module(program.module(), options.module);
  if (!module)
    return Unexpected<Error>{module.error()};
  compiled.kernels = kernels_of(*module);
  if (!program.run(lower))
    return program.fail();
  const std::string name = module->getName().str(); // passes may have replaced the operation
  module = choose_module(program.module(), name);
  auto text = emit_device(*module, arch_of(*module, options.arch),
                          options.stage == MlirStage::llvm ? DeviceText::llvm : DeviceText::ptx);
  if (mlir::failed(text))
    return program.fail();
  compiled.text = *std::move(text);
  return compiled;
}

} // namespace nvgpu

static Result<CompiledMlir, Error> compile(const std::string& text, const MlirOptions& options) {
  auto program = nvgpu::Program::parse(text, options.name);
  if (!program)
    return Unexpected<Error>{std::move(program).error()};
  auto compiled = nvgpu::compile(**program, options);
  if (compiled)
    compiled->messages = (*program)->take_messages();
  return compiled;
}

static bool find_host_code(const std::string& text) {
  const auto program = nvgpu::Program::parse(text, "");
  if (!program)
    return false;
  for (auto function : (*program)->module().getOps<mlir::func::FuncOp>())
    if (!function.isDeclaration())
      return true;
  return !(*program)->module().getOps<mlir::LLVM::LLVMFuncOp>().empty();
}

Result<CompiledMlir, Error> compile_mlir(const std::string& text, const MlirOptions& options) {
  std::optional<Result<CompiledMlir, Error>> compiled;
  if (auto ran = nvgpu::run_guarded(options.name, [&] { compiled = compile(text, options); }); !ran)
    return Unexpected<Error>{std::move(ran).error()};
  return *std::move(compiled);
}

bool has_host_code(const std::string& text) {
  bool found = false;
  return nvgpu::run_guarded("", [&] { found = find_host_code(text); }).ok() && found;
}

} // namespace lemma
