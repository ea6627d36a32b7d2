// LLVM IR of a gpu.module, and LLVM's NVPTX back end over it.
//
// Tests: tests/mlir/lower/.
#include "nvgpu/emit_module.h"

#include "nvgpu/bounds.h"
#include "nvgpu/passes.h"
#include "nvgpu/split_aggregates.h"
#include "nvgpu/tcgen05_loads.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <fmt/format.h>

extern "C" {
void LLVMInitializeNVPTXTargetInfo(void);
void LLVMInitializeNVPTXTarget(void);
void LLVMInitializeNVPTXTargetMC(void);
void LLVMInitializeNVPTXAsmPrinter(void);
}

namespace lemma::nvgpu {

using namespace mlir;

namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";
// Memory accesses of a loop, and instructions of a module, beyond which passes that compare each with all
// others are left out: they took up to a fourth of the time of a long kernel, and changed none of its PTX.
constexpr unsigned kManyAccesses = 64;
constexpr unsigned kManyInstructions = 1000;

void initialize_nvptx() {
  static const bool once = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)once;
}

const llvm::Target* find_back_end(gpu::GPUModuleOp module) {
  initialize_nvptx();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(llvm::Triple(kTriple), error);
  if (!target)
    module.emitError() << "this LLVM has no NVPTX back end: " << error;
  return target;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const llvm::Target& back_end, const std::string& arch,
                                                  int64_t ptx) {
  return std::unique_ptr<llvm::TargetMachine>(back_end.createTargetMachine(
      llvm::Triple(kTriple), arch, fmt::format("+ptx{}", ptx), llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Default));
}

// "ptx86" among LLVM's words for features: 86. 0: it is another.
int64_t ptx_version_of(StringRef feature) {
  int64_t version = 0;
  feature.consume_front("+");
  return feature.consume_front("ptx") && !feature.getAsInteger(10, version) ? version : 0;
}

// PTX versions that this LLVM makes, ascending.
std::vector<int64_t> ptx_versions(const llvm::TargetMachine& machine) {
  std::vector<int64_t> versions;
  for (const llvm::SubtargetFeatureKV& feature : machine.getMCSubtargetInfo()->getAllProcessorFeatures())
    if (const int64_t version = ptx_version_of(feature.Key))
      versions.push_back(version);
  llvm::sort(versions);
  return versions;
}

// The lowest PTX version that the module may have: the architecture's first, or that of the newest
// instruction of the catalogue's in it, or what its #nvvm.target says.
int64_t least_ptx_version(gpu::GPUModuleOp module, const std::string& arch) {
  const auto needed = module->getAttrOfType<IntegerAttr>(kPtxVersionAttr);
  const auto parsed = isa::parse_target(arch);
  const auto since = parsed ? isa::target_since(*parsed) : std::nullopt;
  // LLVM 22 makes nothing older.
  int64_t least = std::max<int64_t>(since ? since->major * 10 + since->minor : 0, 60);
  least = std::max<int64_t>(least, needed ? needed.getInt() : 0);
  if (const auto targets = module.getTargetsAttr())
    for (const Attribute target : targets)
      if (const auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(target))
        for (const StringRef feature : llvm::split(nvvm.getFeatures(), ','))
          least = std::max(least, ptx_version_of(feature));
  return least;
}

// Warp-wide instructions must stay where all lanes pass; LLVM knows by this attribute alone.
void mark_assembly_convergent(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* call = dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm()) {
        call->setConvergent();
        function.setConvergent();
      }
}

// A product that is not waited for has its registers from trip to trip. Copies of a loop's body would have
// registers of their own, and moves between them while the product runs (wgmma.inflight in docs/checks.md).
void keep_loops_of_products(llvm::Module& module) {
  const auto is_product = [](const llvm::Instruction& instruction) {
    const auto* call = dyn_cast<llvm::CallInst>(&instruction);
    const auto* text = call ? dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
    return text && StringRef(text->getAsmString()).contains("wgmma.mma_async");
  };
  for (llvm::Function& function : module) {
    if (function.isDeclaration())
      continue;
    const llvm::DominatorTree dominators(function);
    const llvm::LoopInfo loops(dominators);
    for (llvm::Loop* loop : loops.getLoopsInPreorder())
      if (llvm::any_of(loop->blocks(),
                       [&](llvm::BasicBlock* block) { return llvm::any_of(*block, is_product); }))
        loop->setLoopAlreadyUnrolled();
  }
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LicmMssaNoAccForPromotionCap = kManyAccesses;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgscc;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cgscc);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cgscc, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

// The translation to LLVM IR wants line tables' scopes, which the pass makes only in a builtin.module.
FailureOr<OwningOpRef<ModuleOp>> with_scopes(gpu::GPUModuleOp module) {
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc(), module.getName());
  IRMapping mapping;
  OpBuilder builder(copy->getBodyRegion());
  for (Operation& op : *module.getBody())
    builder.clone(op, mapping);
  if (Attribute layout = module->getAttr("llvm.data_layout"))
    (*copy)->setAttr("llvm.data_layout", layout);
  PassManager manager(module.getContext());
  LLVM::DIScopeForLLVMFuncOpPassOptions options;
  options.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
  manager.addPass(LLVM::createDIScopeForLLVMFuncOpPass(options));
  manager.enableVerifier(false); // the lowering's result has been
  if (failed(manager.run(*copy)))
    return failure();
  return copy;
}

// The place that LLVM's reason names, "FILE:LINE:COLUMN" or "In function: NAME"; else the module's.
Location place_in(const std::string& reason, gpu::GPUModuleOp module) {
  Location found = module.getLoc();
  bool is_found = false;
  module.walk([&](Operation* op) {
    if (const auto place = op->getLoc()->findInstanceOf<FileLineColLoc>(); place && !is_found) {
      const std::string text =
          fmt::format("{}:{}:{}", place.getFilename().str(), place.getLine(), place.getColumn());
      const size_t at = reason.find(text);
      if (at != reason.npos && !std::isdigit(static_cast<unsigned char>(reason[at + text.size()]))) {
        found = place;
        is_found = true;
      }
    }
  });
  if (is_found)
    return found;
  module.walk([&](LLVM::LLVMFuncOp function) {
    if (StringRef(reason).contains(("In function: " + function.getName() + "\n").str()) ||
        StringRef(reason).ends_with(("In function: " + function.getName()).str()))
      found = function.getLoc();
  });
  return found;
}

// What LLVM says by itself about the code that it is given, as errors of the module.
void report(const llvm::DiagnosticInfo* info, void* data) {
  if (info->getSeverity() != llvm::DS_Error)
    return;
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
  mlir::emitError(place_in(text, *static_cast<gpu::GPUModuleOp*>(data))) << "LLVM's NVPTX back end: " << text;
}

// The module in LLVM IR by the machine, as `as`. Fails after an error.
FailureOr<std::string> emit(gpu::GPUModuleOp module, ModuleOp scoped, llvm::TargetMachine& machine,
                            DeviceText as) {
  llvm::LLVMContext context;
  context.setDiagnosticHandlerCallBack(report, &module);
  const auto ir = translateModuleToLLVMIR(scoped, context, module.getName());
  if (!ir)
    return module.emitError() << "internal error: no LLVM IR of this module";
  ir->setTargetTriple(llvm::Triple(kTriple));
  ir->setDataLayout(machine.createDataLayout());
  mark_assembly_convergent(*ir);
  keep_loops_of_products(*ir);
  optimize(*ir, machine);
  for (llvm::Function& function : *ir) {
    split_aggregates(function);
    settle_tcgen05_loads(function);
  }
  llvm::OptDisable left_out;
  if (ir->getInstructionCount() > kManyInstructions) {
    left_out.setDisabled("slsr");
    left_out.setDisabled("nary-reassociate");
    context.setOptPassGate(left_out);
  }
  if (as == DeviceText::llvm) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    ir->print(stream, nullptr);
    return text;
  }
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                  /*DisableVerify=*/true))
    return module.emitError() << "internal error: the NVPTX back end makes no assembly";
  passes.run(*ir);
  return std::string(ptx);
}

std::string version_text(int64_t version) {
  return fmt::format("{}.{}", version / 10, version % 10);
}

// Where the intrinsic is called, in the file of `otherwise`; else that.
Location place_of_call(ModuleOp scoped, StringRef intrinsic, Location otherwise) {
  const auto file = otherwise->findInstanceOf<FileLineColLoc>();
  llvm::LLVMContext context;
  const auto ir = translateModuleToLLVMIR(scoped, context);
  if (!ir || !file)
    return otherwise;
  for (const llvm::Function& function : *ir)
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = dyn_cast<llvm::CallBase>(&instruction);
      const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
      if (callee && callee->getName() == intrinsic && call->getDebugLoc())
        return FileLineColLoc::get(file.getFilename(), call->getDebugLoc().getLine(),
                                   call->getDebugLoc().getCol());
    }
  return otherwise;
}

LogicalResult refuse(gpu::GPUModuleOp module, ModuleOp scoped, const std::string& arch, int64_t newest,
                     const std::string& reason) {
  // "Cannot select: t14: i1,ch = llvm.nvvm.NAME t0, ..." and "Cannot select: intrinsic %llvm.nvvm.NAME"
  StringRef what = StringRef(reason).split('\n').first;
  if (const size_t at = reason.find("llvm.nvvm."); at != reason.npos)
    what = StringRef(reason).substr(at).take_until(
        [](char c) { return !std::isalnum(c) && c != '.' && c != '_'; });
  return mlir::emitError(place_of_call(scoped, what, place_in(reason, module)))
         << "LLVM's NVPTX back end makes nothing for " << arch << " of this, in no PTX version up to "
         << version_text(newest) << ": " << what;
}

} // namespace

FailureOr<std::string> emit_device(gpu::GPUModuleOp module, const std::string& arch, DeviceText as) {
  const llvm::Target* back_end = find_back_end(module);
  if (!back_end)
    return failure();
  const int64_t least = least_ptx_version(module, arch);
  auto machine = make_machine(*back_end, arch, least);
  if (!machine->getMCSubtargetInfo()->isCPUStringValid(arch))
    return module.emitError() << "this LLVM's NVPTX back end has no target " << arch << "; sm_90a it has";
  std::vector<int64_t> versions = ptx_versions(*machine);
  const int64_t newest = versions.back();
  std::erase_if(versions, [&](int64_t version) { return version < least; });
  if (versions.empty())
    return module.emitError() << "this LLVM makes PTX up to version " << version_text(newest) << ", not "
                              << version_text(least);
  auto scoped = with_scopes(module);
  if (failed(scoped))
    return failure();
  bool has_error = false;
  const ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic& diagnostic) {
    has_error |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return failure(); // for the handler around this one
  });
  FailureOr<std::string> text = failure();
  const auto try_with = [&](int64_t version) {
    return run_recovered([&] {
      machine = make_machine(*back_end, arch, version);
      text = emit(module, **scoped, *machine, as);
    });
  };
  const auto result = [&] { return has_error ? FailureOr<std::string>(failure()) : text; };
  const std::optional<std::string> reason = try_with(versions.front());
  if (!reason || has_error)
    return result();
  // What LLVM has no instruction for may be newer than that: the lowest version that has it all.
  if (versions.front() == newest || try_with(newest))
    return has_error ? failure() : refuse(module, **scoped, arch, newest, *reason);
  for (const int64_t version : ArrayRef(versions).drop_front())
    if (!try_with(version))
      break;
  return result();
}

} // namespace lemma::nvgpu
