// Variables in shared memory: alignment, and dynamic shared memory.
//
// Upstream leaves both as they fall: a variable has the alignment of its elements, and dynamic shared memory
// is a variable of no bytes that the assembler is hoped to put last. PTX ISA: "cp.async.bulk.tensor",
// "Tensor: Swizzling Modes", "Kernel Function Directives". Tests: tests/mlir/lower/shared_memory.mlir.
#include "nvgpu/shared_memory.h"

#include "nvgpu/dialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

constexpr uint64_t kVectorBytes = 16; // the widest access of one thread, and of cp.async
constexpr uint64_t kBoxAlign = 128;   // of a tensor copy without swizzle

// The pattern of a swizzle of w bytes repeats after 8 rows of w bytes, and counts from a multiple of that.
uint64_t alignment_of(TensorMapSwizzleKind swizzle) {
  switch (swizzle) {
  case TensorMapSwizzleKind::none:
    return kBoxAlign;
  case TensorMapSwizzleKind::swizzle_32b:
    return 256;
  case TensorMapSwizzleKind::swizzle_64b:
    return 512;
  case TensorMapSwizzleKind::swizzle_128b:
    return 1024;
  }
  return kBoxAlign;
}

// Of the boxes that the module copies or multiplies; which variable which box is in is not always to be seen.
uint64_t alignment_needed(gpu::GPUModuleOp module) {
  uint64_t alignment = kVectorBytes;
  module.walk([&](Operation* op) {
    for (const Type type : op->getOperandTypes())
      if (const auto map = dyn_cast<TensorMapDescriptorType>(type))
        alignment = std::max(alignment, alignment_of(map.getSwizzle()));
  });
  return alignment;
}

// What is smaller than a thread's widest access is no array of boxes or vectors: counters, flags.
bool is_small(MemRefType type) {
  return type.hasStaticShape() && type.getElementType().isIntOrFloat() &&
         static_cast<uint64_t>(type.getNumElements()) * type.getElementTypeBitWidth() < 8 * kVectorBytes;
}

bool has_no_elements(Type type) {
  const auto array = dyn_cast<LLVM::LLVMArrayType>(type);
  return array && (array.getNumElements() == 0 || has_no_elements(array.getElementType()));
}

} // namespace

uint64_t align_shared_memory(gpu::GPUModuleOp module) {
  const uint64_t alignment = alignment_needed(module);
  module.walk([&](memref::GlobalOp global) {
    if (is_shared_memory(global.getType().getMemorySpace()) && !is_small(global.getType()))
      global.setAlignment(std::max(alignment, global.getAlignment().value_or(1)));
  });
  module.walk([&](gpu::GPUFuncOp function) {
    Builder builder(function.getContext());
    const auto name = builder.getStringAttr(LLVM::LLVMDialect::getAlignAttrName());
    for (const auto& [index, variable] : llvm::enumerate(function.getWorkgroupAttributions())) {
      if (is_small(cast<MemRefType>(variable.getType())))
        continue;
      const auto i = static_cast<unsigned>(index);
      const auto said = dyn_cast_or_null<IntegerAttr>(function.getWorkgroupAttributionAttr(i, name));
      const int64_t least = said ? said.getInt() : 1;
      function.setWorkgroupAttributionAttr(
          i, name, builder.getI64IntegerAttr(std::max(static_cast<int64_t>(alignment), least)));
    }
  });
  return alignment;
}

void declare_dynamic_shared_memory(gpu::GPUModuleOp module, uint64_t alignment) {
  constexpr unsigned kShared = 3;
  module.walk([&](LLVM::GlobalOp global) {
    if (global.getAddrSpace() != kShared || !has_no_elements(global.getGlobalType()))
      return;
    global.setLinkage(LLVM::Linkage::External);
    global.removeValueAttr();
    global.getInitializerRegion().getBlocks().clear();
    global.setAlignment(std::max(alignment, global.getAlignment().value_or(1)));
  });
}

} // namespace lemma::nvgpu
