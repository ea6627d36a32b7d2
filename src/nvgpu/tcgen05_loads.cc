// Registers of tcgen05.ld through assembly without text, which stays behind the wait.
//
// Tests: tests/mlir/lower/tcgen05_loads.mlir.
#include "nvgpu/tcgen05_loads.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

#include <string>

namespace lemma::nvgpu {
namespace {

bool is_call_of(const llvm::Instruction& instruction, llvm::StringRef prefix) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
  return callee && callee->isIntrinsic() && callee->getName().starts_with(prefix);
}

// The same registers as assembly writes them at the builder's place.
llvm::SmallVector<llvm::Value*> settled(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::Value*> registers) {
  llvm::SmallVector<llvm::Type*> types;
  std::string outputs, inputs;
  for (size_t i = 0; i < registers.size(); ++i) {
    types.push_back(registers[i]->getType());
    outputs += i ? ",=r" : "=r";
    inputs += "," + std::to_string(i);
  }
  llvm::Type* result = types.size() == 1 ? types[0] : llvm::StructType::get(builder.getContext(), types);
  llvm::Value* all = builder.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false),
                                                             "", outputs + inputs, /*hasSideEffects=*/true),
                                        registers);
  if (types.size() == 1)
    return {all};
  llvm::SmallVector<llvm::Value*> each;
  for (unsigned i = 0; i < types.size(); ++i)
    each.push_back(builder.CreateExtractValue(all, i));
  return each;
}

// What uses the load behind the wait, in this block or in others, uses what is there then.
void take_behind(llvm::Instruction& load, llvm::Instruction& wait) {
  llvm::SmallVector<llvm::Use*> later;
  for (llvm::Use& use : load.uses()) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    if (user->getParent() != wait.getParent() || wait.comesBefore(user))
      later.push_back(&use);
  }
  llvm::IRBuilder<> builder(wait.getNextNode());
  llvm::Value* there = nullptr;
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(load.getType())) {
    llvm::SmallVector<llvm::Value*> elements;
    for (unsigned i = 0; i < vector->getNumElements(); ++i)
      elements.push_back(builder.CreateExtractElement(&load, i));
    there = llvm::PoisonValue::get(vector);
    for (const auto& [i, element] : llvm::enumerate(settled(builder, elements)))
      there = builder.CreateInsertElement(there, element, i);
  } else {
    there = settled(builder, {&load})[0];
  }
  for (llvm::Use* use : later)
    use->set(there);
}

} // namespace

void settle_tcgen05_loads(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    llvm::SmallVector<llvm::Instruction*> pending;
    llvm::SmallVector<std::pair<llvm::Instruction*, llvm::Instruction*>> settles; // a load, its wait
    for (llvm::Instruction& instruction : block) {
      if (is_call_of(instruction, "llvm.nvvm.tcgen05.ld."))
        pending.push_back(&instruction);
      if (!is_call_of(instruction, "llvm.nvvm.tcgen05.wait.ld"))
        continue;
      for (llvm::Instruction* load : pending)
        settles.emplace_back(load, &instruction);
      pending.clear();
    }
    for (const auto& [load, wait] : settles)
      take_behind(*load, *wait);
  }
}

} // namespace lemma::nvgpu
