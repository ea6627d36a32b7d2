// Picks by level; the loops stand in atomic_vectors.inc.
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/arithmetic/levels.h"
#include "vgpu/handlers/memory/atomic_operations.h"
#include "vgpu/handlers/memory/memory_handlers.h"
#include "vgpu/memory/find_access.h"

#include <array>
#include <immintrin.h>

namespace lemma::vgpu {
namespace {

using isa::StateSpace;

// Of an operation: by whether the space is shared, and whether the old value is returned.
struct VectorAtomic {
  Handler by_space[2][2] = {};
  uint8_t element_bytes = 0;
};
using VectorAtomics = std::array<VectorAtomic, atomic_operations::VectorOperations::kCount>;

} // namespace
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/memory/atomic_vectors.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {

Handler vector_atomic(int operation, const Code& code, const DecodedInst& in) {
  static const LeveledTables<VectorAtomics> tables(LEMMA_FILLS);
  if (operation == atomic_operations::VectorOperations::kNone)
    return nullptr;
  const VectorAtomic& found = tables.now()[static_cast<size_t>(operation)];
  if (in.width != found.element_bytes)
    return nullptr;
  const std::span<const Slot> operands = code.ops_of(in);
  for (size_t i = 0; i < operands.size(); ++i)
    if (i != in.dst_count && operands[i].bytes != in.width) // but for the address
      return nullptr;
  const StateSpace space = space_of(in);
  const bool shared = space == StateSpace::shared;
  return shared || space == StateSpace::global || space == StateSpace::generic
             ? found.by_space[shared][in.dst_count]
             : nullptr;
}

} // namespace lemma::vgpu
