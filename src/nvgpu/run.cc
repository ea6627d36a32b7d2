// run_mlir(): the whole program. Device code becomes PTX inside the host module (gpu.binary); host code is
// compiled in memory and calls the runtime of src/mgpu, which has the device.
//
// Tests: tests/mlir/programs/.
#include "lemma/mlir.h"

#include "mgpu/context.h"
#include "mgpu/entry_points.h"
#include "nvgpu/compile.h"
#include "nvgpu/emit_module.h"
#include "nvgpu/passes.h"
#include "nvgpu/runner_functions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/Shared/ExecutorAddress.h"
#include "llvm/Support/TargetSelect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

namespace lemma {
namespace nvgpu {

using namespace mlir;

namespace {

Unexpected<Error> wrong(std::string text) {
  return Unexpected<Error>{{.kind = ErrorKind::invalid_argument, .text = std::move(text), .messages = {}}};
}

// Replaces a lowered gpu.module by its PTX.
LogicalResult embed(gpu::GPUModuleOp module, const std::string& arch) {
  const auto ptx = emit_device(module, arch, DeviceText::ptx);
  if (mlir::failed(ptx))
    return failure();
  OpBuilder builder(module);
  MLIRContext* context = module.getContext();
  const auto target = NVVM::NVVMTargetAttr::get(context, /*optLevel=*/2, "nvptx64-nvidia-cuda", arch);
  const auto properties = DictionaryAttr::get(
      context, {NamedAttribute(StringAttr::get(context, "O"), builder.getI32IntegerAttr(2))});
  const Attribute object = gpu::ObjectAttr::get(target, gpu::CompilationTarget::Assembly,
                                                StringAttr::get(context, *ptx), properties);
  gpu::BinaryOp::create(builder, module.getLoc(), module.getName(),
                        gpu::SelectObjectAttr::get(context, Attribute()), ArrayRef<Attribute>{object});
  module.erase();
  return success();
}

// The entry point after lowering: no arguments, and no result or an i32.
Result<LLVM::LLVMFuncOp, Error> find_entry(ModuleOp program, const std::string& name) {
  std::vector<std::string> names;
  LLVM::LLVMFuncOp entry;
  for (auto function : program.getOps<LLVM::LLVMFuncOp>())
    if (!function.isDeclaration()) {
      names.push_back(function.getName().str());
      if (names.back() == name)
        entry = function;
    }
  if (!entry)
    return wrong(fmt::format("the program has no host function {}; it has {}", name,
                             names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  const LLVM::LLVMFunctionType type = entry.getFunctionType();
  if (type.getNumParams() != 0)
    return wrong(fmt::format("host function {} takes {} arguments; an entry point takes none", name,
                             type.getNumParams()));
  if (!llvm::isa<LLVM::LLVMVoidType>(type.getReturnType()) && !type.getReturnType().isInteger(32))
    return wrong(fmt::format("host function {} must return nothing or an i32", name));
  return entry;
}

std::string text_of(llvm::Error error) {
  return llvm::toString(std::move(error));
}

Result<int, Error> call(ModuleOp program, const std::string& entry, bool returns_value) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  ExecutionEngineOptions options;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  auto engine = ExecutionEngine::create(program, options);
  const auto internal = [](llvm::Error error) {
    return Unexpected<Error>{
        {.kind = ErrorKind::internal, .text = "host code: " + text_of(std::move(error)), .messages = {}}};
  };
  if (!engine)
    return internal(engine.takeError());
  (*engine)->registerSymbols([](llvm::orc::MangleAndInterner intern) {
    llvm::orc::SymbolMap symbols;
    const auto add = [&](const char* name, void* address) {
      symbols[intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    };
    for (const mgpu::EntryPoint& point : mgpu::entry_points())
      add(point.name, point.address);
    for (const RunnerFunction& function : runner_functions())
      add(function.name, function.address);
    return symbols;
  });
  (*engine)->initialize();
  int32_t status = 0;
  void* result = &status;
  if (auto error = (*engine)->invokePacked(entry, returns_value ? MutableArrayRef<void*>(result)
                                                                : MutableArrayRef<void*>()))
    return internal(std::move(error));
  std::fflush(stdout);
  return status;
}

Result<int, Error> run(Program& program, const MlirRunOptions& options) {
  PassManager device(&program.context());
  add_outline_passes(device);
  add_prepare_passes(device);
  device.addNestedPass<gpu::GPUModuleOp>(create_lower_device_pass(options.arch));
  if (!program.run(device))
    return program.fail();
  SmallVector<gpu::GPUModuleOp> modules(program.module().getOps<gpu::GPUModuleOp>());
  for (gpu::GPUModuleOp module : modules)
    if (mlir::failed(embed(module, arch_of(module, options.arch))))
      return program.fail();
  PassManager host(&program.context());
  host.addPass(create_lower_host_pass());
  if (!program.run(host))
    return program.fail();
  auto entry = find_entry(program.module(), options.entry);
  if (!entry)
    return Unexpected<Error>{entry.error()};
  mgpu::configure({.device = options.device,
                   .arch = options.arch,
                   .module_name = options.name,
                   .launch = options.launch});
  auto status = call(program.module(), options.entry, entry->getFunctionType().getReturnType().isInteger(32));
  mgpu::finish();
  return status;
}

} // namespace
} // namespace nvgpu

Result<int, Error> run_mlir(const std::string& text, const MlirRunOptions& options) {
  auto program = nvgpu::Program::parse(text, options.name);
  if (!program)
    return Unexpected<Error>{std::move(program).error()};
  return nvgpu::run(**program, options);
}

} // namespace lemma
