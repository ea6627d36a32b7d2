// run_mlir(): the whole program. Device code becomes PTX inside the host module (gpu.binary); host code is
// compiled in memory and calls the runtime of src/mgpu, which has the device.
//
// Tests: tests/mlir/programs/.
#include "lemma/mlir.h"

#include "mgpu/context.h"
#include "mgpu/entry_points.h"
#include "nvgpu/bounds.h"
#include "nvgpu/compile.h"
#include "nvgpu/emit_module.h"
#include "nvgpu/host_code.h"
#include "nvgpu/passes.h"
#include "nvgpu/runner_functions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/Shared/ExecutorAddress.h"
#include "llvm/Support/TargetSelect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

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

// The host function to call, before its lowering.
Result<func::FuncOp, Error> find_entry(ModuleOp program, const std::string& name) {
  std::vector<std::string> names;
  func::FuncOp entry;
  for (auto function : program.getOps<func::FuncOp>())
    if (!function.isDeclaration()) {
      names.push_back(function.getName().str());
      if (names.back() == name)
        entry = function;
    }
  if (!entry)
    return wrong(fmt::format("the program has no host function {}; it has {}", name,
                             names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  const ArrayRef<Type> results = entry.getFunctionType().getResults();
  if (!results.empty() && (results.size() > 1 || !results[0].isInteger(32)))
    return wrong(fmt::format("host function {} must return nothing or an i32", name));
  return entry;
}

// What the lowered entry takes: a memref's words, a value in the low bytes of a word.
Result<std::vector<uint64_t>, Error> expand(func::FuncOp entry, std::span<const MlirArgument> arguments) {
  const ArrayRef<Type> types = entry.getFunctionType().getInputs();
  if (types.size() != arguments.size()) {
    std::vector<std::string> names;
    for (const Type type : types)
      names.push_back(parameter_of(type).type);
    return wrong(fmt::format("host function {} takes {} arguments, ({}); {} were given",
                             entry.getName().str(), types.size(), fmt::join(names, ", "), arguments.size()));
  }
  std::vector<uint64_t> words;
  for (size_t i = 0; i < types.size(); ++i) {
    const MlirParameter parameter = parameter_of(types[i]);
    const MlirArgument& argument = arguments[i];
    const auto mismatch = [&](const std::string& text) {
      return wrong(fmt::format("argument {} of host function {}: {}", i, entry.getName().str(), text));
    };
    if (parameter.is_memref) {
      if (!argument.is_memory)
        return mismatch(fmt::format("a {} takes memory, not a value", parameter.type));
      if (!argument.dtype.empty())
        if (const auto checked = check_array(parameter, argument.dtype, argument.shape); !checked)
          return mismatch(checked.error().text);
      const auto expanded = argument.buffer
                                ? expand_memref(parameter, argument.buffer->address(),
                                                argument.buffer->size_bytes(), argument.shape)
                                : expand_memref(parameter, reinterpret_cast<uintptr_t>(argument.bytes.data()),
                                                argument.bytes.size(), argument.shape);
      if (!expanded)
        return mismatch(expanded.error().text);
      words.insert(words.end(), expanded->begin(), expanded->end());
      continue;
    }
    const bool is_index = types[i].isIndex();
    if (!is_index && !types[i].isIntOrFloat())
      return mismatch(fmt::format("a {} cannot be given", parameter.type));
    const size_t bytes = is_index ? 8 : llvm::divideCeil(types[i].getIntOrFloatBitWidth(), 8);
    if (argument.is_memory || argument.bytes.size() != bytes || bytes > sizeof(uint64_t))
      return mismatch(fmt::format("a {} takes a value of {} bytes", parameter.type, bytes));
    if (argument.is_float && *argument.is_float != mlir::isa<FloatType>(types[i]) &&
        (types[i].isF32() || types[i].isF64() || *argument.is_float))
      return mismatch(fmt::format("a {} takes {}, and the value is {}", parameter.type,
                                  *argument.is_float ? "an integer" : "a floating-point number",
                                  *argument.is_float ? "a floating-point number" : "an integer"));
    std::memcpy(&words.emplace_back(), argument.bytes.data(), bytes);
  }
  return words;
}

std::string text_of(llvm::Error error) {
  return llvm::toString(std::move(error));
}

// Where the program's functions, and their wrappers, have come to lie.
std::vector<HostFunction> host_functions(ModuleOp program, const ExecutionEngine& engine) {
  std::vector<HostFunction> functions;
  const auto add = [&](const std::string& name, auto address) {
    if (address)
      functions.push_back({reinterpret_cast<uintptr_t>(*address), name});
    else
      llvm::consumeError(address.takeError());
  };
  for (auto function : program.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal()) {
      const std::string name = function.getName().str();
      add(name, engine.lookup(name));
      add(name, engine.lookupPacked(name));
    }
  return functions;
}

// A program that is ready to be called.
struct Compiled {
  std::unique_ptr<Program> program;
  std::vector<MlirProduct> products;
  std::vector<uint64_t> words; // the entry's arguments, of 64 bits or less
  bool returns_value = false;
  CodeMemory memory;
  std::unique_ptr<ExecutionEngine> engine; // in that memory
  std::vector<HostFunction> functions;
};

Unexpected<Error> internal(llvm::Error error) {
  return Unexpected<Error>{
      {.kind = ErrorKind::internal, .text = "host code: " + text_of(std::move(error)), .messages = {}}};
}

// Device code to PTX in the program, host code to the LLVM dialect.
Result<void, Error> lower(Program& program, const MlirRunOptions& options,
                          std::vector<MlirProduct>& products) {
  PassManager matmul(&program.context());
  matmul.addPass(create_matmul_pass({.schedule = options.schedule,
                                     .arch = options.arch,
                                     .allow_tf32 = options.allow_tf32,
                                     .products = &products}));
  if (!program.run(matmul))
    return program.fail();
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
  return {};
}

// The host as it is, but for instructions on bf16, which take subnormal numbers for zeros: LLVM rounds to
// bf16 by a call then, as on a host without them.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> host_machine() {
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  builder->addFeatures({"-avx512bf16", "-avxneconvert", "-avx10.2"});
  return builder->createTargetMachine();
}

// The host code in memory.
Result<void, Error> make_engine(Compiled& compiled) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  ExecutionEngineOptions options;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
  auto machine = host_machine();
  if (!machine)
    return internal(machine.takeError());
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  options.sectionMemoryMapper = &compiled.memory;
  auto engine = ExecutionEngine::create(compiled.program->module(), options, std::move(*machine));
  if (!engine)
    return internal(engine.takeError());
  compiled.engine = std::move(*engine);
  compiled.engine->registerSymbols([](llvm::orc::MangleAndInterner intern) {
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
  compiled.functions = host_functions(compiled.program->module(), *compiled.engine);
  return {};
}

Result<std::unique_ptr<Compiled>, Error> compile_whole(const std::string& text,
                                                       const MlirRunOptions& options) {
  auto compiled = std::make_unique<Compiled>();
  auto program = Program::parse(text, options.name);
  if (!program)
    return Unexpected<Error>{std::move(program).error()};
  compiled->program = *std::move(program);
  PassManager tensors(&compiled->program->context());
  tensors.addPass(create_tensors_pass());
  if (!compiled->program->run(tensors))
    return compiled->program->fail();
  auto entry = find_entry(compiled->program->module(), options.entry);
  if (!entry)
    return Unexpected<Error>{entry.error()};
  auto words = expand(*entry, options.arguments);
  if (!words)
    return Unexpected<Error>{words.error()};
  compiled->words = *std::move(words);
  compiled->returns_value = entry->getFunctionType().getNumResults() != 0;
  if (auto lowered = lower(*compiled->program, options, compiled->products); !lowered)
    return Unexpected<Error>{std::move(lowered).error()};
  for (const Message& message : compiled->program->take_messages())
    if (options.said)
      options.said(message.rendered);
    else
      fmt::print(stderr, "{}", message.rendered);
  if (options.compiled && !options.compiled(compiled->products))
    return compiled; // without host code that could run, or has to be taken down
  if (auto made = make_engine(*compiled); !made)
    return Unexpected<Error>{std::move(made).error()};
  return compiled;
}

// The entry with its arguments, as mgpu::Context::run() calls it: frames without destructors.
struct EntryCall {
  void (*function)(void**);
  void** arguments;
};
void call_entry(void* argument) {
  const auto* call = static_cast<const EntryCall*>(argument);
  call->function(call->arguments);
}

// The entry, once the program's constructors have loaded its modules.
Result<MlirRun, Error> call(Compiled& compiled, const MlirRunOptions& options, mgpu::Context& context) {
  MlirRun ran;
  SmallVector<void*> packed;
  for (uint64_t& word : compiled.words)
    packed.push_back(&word);
  if (compiled.returns_value)
    packed.push_back(&ran.returned);
  const PrintTo print(options.print);
  const HostGuard guard(options.name, compiled.functions, compiled.memory.code(), options.crashed);
  compiled.engine->initialize();
  std::optional<mgpu::Stop> stop = context.take_stop();
  if (!stop) {
    auto entry = compiled.engine->lookupPacked(options.entry);
    if (!entry)
      return internal(entry.takeError());
    EntryCall entry_call{*entry, packed.data()};
    stop = context.run(call_entry, &entry_call);
  }
  if (stop)
    ran.stopped = MlirStop{.text = std::move(stop->text),
                           .exit_status = stop->exit_status,
                           .kernel = std::move(stop->kernel),
                           .report = std::move(stop->report),
                           .error = std::move(stop->error)};
  std::fflush(stdout);
  return ran;
}

Result<MlirRun, Error> run(std::unique_ptr<Compiled> compiled, const MlirRunOptions& options) {
  mgpu::Hooks hooks{.said = options.said, .launched = {}, .stopped = {}};
  LaunchConfig launch = options.launch;
  if (options.print)
    launch.print = options.print;
  if (options.launched)
    hooks.launched = [&](const mgpu::Launched& launch) {
      options.launched({launch.kernel, launch.config, launch.arguments, launch.report});
    };
  std::vector<Buffer*> shared;
  for (const MlirArgument& argument : options.arguments)
    if (argument.buffer)
      shared.push_back(argument.buffer);
  const auto context =
      std::make_shared<mgpu::Context>(mgpu::Options{.device = options.device,
                                                    .opened = options.opened,
                                                    .shared_memory = std::move(shared),
                                                    .keeps_memory = options.keeps_memory,
                                                    .arch = options.arch,
                                                    .max_memory_bytes = options.max_memory_bytes,
                                                    .module_name = options.name + ".ptx",
                                                    .launch = std::move(launch)},
                                      std::move(hooks));
  const mgpu::Context::Bound bound(*context);
  auto ran = call(*compiled, options, *context);
  compiled->engine.reset(); // the program's destructors unload its modules
  if (ran) {
    ran->products = std::move(compiled->products);
    if (options.keeps_memory)
      ran->kept = context;
  }
  return ran;
}

} // namespace
} // namespace nvgpu

static Result<std::vector<MlirParameter>, Error>
find_parameters(const std::string& text, const std::string& entry, const std::string& name) {
  const auto program = nvgpu::Program::parse(text, name);
  if (!program)
    return Unexpected<Error>{program.error()};
  auto function = nvgpu::find_entry((*program)->module(), entry);
  if (!function)
    return Unexpected<Error>{function.error()};
  std::vector<MlirParameter> parameters;
  for (const mlir::Type type : function->getFunctionType().getInputs())
    parameters.push_back(nvgpu::parameter_of(type));
  return parameters;
}

Result<std::vector<MlirParameter>, Error> host_parameters(const std::string& text, const std::string& entry,
                                                          const std::string& name) {
  std::optional<Result<std::vector<MlirParameter>, Error>> found;
  if (auto ran = nvgpu::run_guarded(name, [&] { found = find_parameters(text, entry, name); }); !ran)
    return Unexpected<Error>{std::move(ran).error()};
  return *std::move(found);
}

Result<MlirRun, Error> run_mlir(const std::string& text, const MlirRunOptions& options) {
  std::optional<Result<std::unique_ptr<nvgpu::Compiled>, Error>> compiled;
  if (auto ran = nvgpu::run_guarded(options.name, [&] { compiled = nvgpu::compile_whole(text, options); });
      !ran)
    return Unexpected<Error>{std::move(ran).error()};
  if (!*compiled)
    return Unexpected<Error>{std::move(*compiled).error()};
  std::unique_ptr<nvgpu::Compiled> program = **std::move(compiled);
  if (!program->engine)
    return MlirRun{.products = std::move(program->products)};
  return nvgpu::run(std::move(program), options);
}

} // namespace lemma
