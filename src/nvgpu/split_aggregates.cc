// Phis of structures to phis of scalars.
//
// Tests: tests/unit/nvgpu/split_aggregates_test.cc.
#include "nvgpu/split_aggregates.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/Local.h"

#include <map>
#include <vector>

namespace lemma::nvgpu {
namespace {

using Path = std::vector<unsigned>; // the indices that lead to a scalar

void add_scalars(llvm::Type* type, Path& at, std::vector<Path>& paths) {
  auto* structure = llvm::dyn_cast<llvm::StructType>(type);
  if (!structure) {
    paths.push_back(at);
    return;
  }
  for (unsigned i = 0; i < structure->getNumElements(); ++i) {
    at.push_back(i);
    add_scalars(structure->getElementType(i), at, paths);
    at.pop_back();
  }
}

std::vector<Path> scalars_of(llvm::Type* type) {
  std::vector<Path> paths;
  Path at;
  add_scalars(type, at, paths);
  return paths;
}

class Splitter {
public:
  explicit Splitter(llvm::Function& function) {
    for (llvm::BasicBlock& block : function)
      for (llvm::PHINode& phi : block.phis())
        if (phi.getType()->isStructTy())
          phis_.push_back(&phi);
  }

  void run() {
    for (llvm::PHINode* phi : phis_)
      make_scalars(*phi);
    for (llvm::PHINode* phi : phis_)
      fill_scalars(*phi);
    for (llvm::PHINode* phi : phis_)
      replace_uses(*phi);
    // They may be one another's incoming values: none goes before all are free of uses.
    std::vector<llvm::WeakTrackingVH> dead;
    for (llvm::PHINode* phi : phis_) {
      for (llvm::Value* incoming : phi->incoming_values())
        if (!llvm::isa<llvm::PHINode>(incoming))
          dead.emplace_back(incoming);
      phi->replaceAllUsesWith(llvm::PoisonValue::get(phi->getType()));
      phi->dropAllReferences();
    }
    for (llvm::PHINode* phi : phis_)
      phi->eraseFromParent();
    for (const llvm::WeakTrackingVH& value : dead)
      if (value)
        llvm::RecursivelyDeleteTriviallyDeadInstructions(value);
  }

private:
  void make_scalars(llvm::PHINode& phi) {
    llvm::IRBuilder<> builder(&phi);
    for (const Path& path : scalars_of(phi.getType()))
      scalars_[&phi][path] = builder.CreatePHI(llvm::ExtractValueInst::getIndexedType(phi.getType(), path),
                                               phi.getNumIncomingValues());
  }

  void fill_scalars(llvm::PHINode& phi) {
    for (auto& [path, scalar] : scalars_[&phi])
      for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i)
        llvm::cast<llvm::PHINode>(scalar)->addIncoming(
            scalar_of(phi.getIncomingValue(i), path, *phi.getIncomingBlock(i)), phi.getIncomingBlock(i));
  }

  void replace_uses(llvm::PHINode& phi) {
    std::map<Path, llvm::Value*>& scalars = scalars_[&phi];
    std::vector<llvm::Use*> whole; // uses of more than a scalar
    for (llvm::Use& use : llvm::make_early_inc_range(phi.uses())) {
      auto* element = llvm::dyn_cast<llvm::ExtractValueInst>(use.getUser());
      const auto scalar = element ? scalars.find(element->getIndices().vec()) : scalars.end();
      if (scalar != scalars.end()) {
        element->replaceAllUsesWith(scalar->second);
        element->eraseFromParent();
      } else if (auto* other = llvm::dyn_cast<llvm::PHINode>(use.getUser());
                 !other || !scalars_.contains(other)) {
        whole.push_back(&use);
      }
    }
    if (whole.empty())
      return;
    llvm::IRBuilder<> builder(phi.getParent(), phi.getParent()->getFirstInsertionPt());
    llvm::Value* structure = llvm::PoisonValue::get(phi.getType());
    for (const auto& [path, scalar] : scalars)
      structure = builder.CreateInsertValue(structure, scalar, path);
    for (llvm::Use* use : whole)
      use->set(structure);
  }

  // A scalar of a structure, as known at the end of a block.
  llvm::Value* scalar_of(llvm::Value* structure, const Path& path, llvm::BasicBlock& block) {
    llvm::Value* from = structure;
    while (auto* insert = llvm::dyn_cast<llvm::InsertValueInst>(from)) {
      if (insert->getIndices().equals(path))
        return insert->getInsertedValueOperand();
      if (insert->getNumIndices() != path.size())
        break; // a structure in a structure
      from = insert->getAggregateOperand();
    }
    if (const auto split = scalars_.find(from); split != scalars_.end())
      return split->second[path];
    if (llvm::isa<llvm::PoisonValue>(from))
      return llvm::PoisonValue::get(llvm::ExtractValueInst::getIndexedType(from->getType(), path));
    llvm::Value*& taken = taken_[from][path];
    if (!taken) {
      auto* definition = llvm::dyn_cast<llvm::Instruction>(from);
      llvm::IRBuilder<> builder(block.getTerminator());
      if (definition && !definition->isTerminator())
        builder.SetInsertPoint(definition->getParent(), *definition->getInsertionPointAfterDef());
      taken = builder.CreateExtractValue(from, path);
    }
    return taken;
  }

  std::vector<llvm::PHINode*> phis_;
  std::map<llvm::Value*, std::map<Path, llvm::Value*>> scalars_; // of phis
  std::map<llvm::Value*, std::map<Path, llvm::Value*>> taken_;   // of others
};

} // namespace

void split_aggregates(llvm::Function& function) {
  Splitter(function).run();
}

} // namespace lemma::nvgpu
