// LLVM IR of a gpu.module, and LLVM's NVPTX back end over it.
//
// Tests: tests/mlir/lower/.
#include "nvgpu/emit_module.h"

#include "nvgpu/passes.h"
#include "nvgpu/split_aggregates.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/LoopInfo.h"
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

std::unique_ptr<llvm::TargetMachine> make_machine(gpu::GPUModuleOp module, const std::string& arch) {
  initialize_nvptx();
  std::string error;
  const llvm::Triple triple(kTriple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    module.emitError() << "this LLVM has no NVPTX back end: " << error;
    return nullptr;
  }
  // The PTX version is the architecture's first, unless an instruction needs a newer one.
  std::string features;
  const auto needed = module->getAttrOfType<IntegerAttr>(kPtxVersionAttr);
  const auto parsed = isa::parse_target(arch);
  const auto since = parsed ? isa::target_since(*parsed) : std::nullopt;
  // LLVM 22 makes nothing older.
  const int64_t first = std::max<int64_t>(since ? since->major * 10 + since->minor : 0, 60);
  features = fmt::format("+ptx{}", std::max<int64_t>(first, needed ? needed.getInt() : 0));
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, arch, features, llvm::TargetOptions(), llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
  if (machine->getMCSubtargetInfo()->isCPUStringValid(arch))
    return machine;
  module.emitError() << "this LLVM's NVPTX back end has no target " << arch << "; sm_90a it has";
  return nullptr;
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

} // namespace

FailureOr<std::string> emit_device(gpu::GPUModuleOp module, const std::string& arch, DeviceText as) {
  const auto machine = make_machine(module, arch);
  if (!machine)
    return failure();
  auto scoped = with_scopes(module);
  if (failed(scoped))
    return failure();
  llvm::LLVMContext context;
  const auto ir = translateModuleToLLVMIR(**scoped, context, module.getName());
  if (!ir)
    return module.emitError() << "internal error: no LLVM IR of this module";
  ir->setTargetTriple(llvm::Triple(kTriple));
  ir->setDataLayout(machine->createDataLayout());
  mark_assembly_convergent(*ir);
  keep_loops_of_products(*ir);
  optimize(*ir, *machine);
  for (llvm::Function& function : *ir)
    split_aggregates(function);
  llvm::OptDisable left_out;
  if (ir->getInstructionCount() > kManyInstructions) {
    left_out.setDisabled("slsr");
    left_out.setDisabled("nary-reassociate");
    context.setOptPassGate(left_out);
  }

  std::string text;
  if (as == DeviceText::llvm) {
    llvm::raw_string_ostream stream(text);
    ir->print(stream, nullptr);
    return text;
  }
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                   /*DisableVerify=*/true))
    return module.emitError() << "internal error: the NVPTX back end makes no assembly";
  passes.run(*ir);
  return std::string(ptx);
}

} // namespace lemma::nvgpu
