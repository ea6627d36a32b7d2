// Picks by level; the loops stand in atomic_vectors.inc.
#include "vgpu/find_access.h"
#include "vgpu/handlers/atomic_operations.h"
#include "vgpu/handlers/levels.h"
#include "vgpu/handlers/memory_handlers.h"
#include "vgpu/observer.h"

#include <immintrin.h>
#include <unordered_map>

namespace lemma::vgpu {
namespace {

using isa::StateSpace;

// What stands for a plain handler: by whether the space is shared, and whether the old value is returned.
struct VectorAtomic {
  Handler by_space[2][2] = {};
  uint8_t element_bytes = 0;
};
using VectorAtomics = std::unordered_map<Handler, VectorAtomic>;

} // namespace
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/atomic_vectors.inc"
#include "vgpu/handlers/levels.inc"

namespace lemma::vgpu {

Handler vector_atomic(const Code& code, const DecodedInst& in) {
  static const LeveledTables<VectorAtomics> tables(LEMMA_FILLS);
  const VectorAtomics& handlers = tables.now();
  const auto found = handlers.find(in.handler);
  if (found == handlers.end() || in.width != found->second.element_bytes)
    return nullptr;
  const std::span<const Slot> operands = code.ops_of(in);
  for (size_t i = 0; i < operands.size(); ++i)
    if (i != in.dst_count && operands[i].bytes != in.width) // but for the address
      return nullptr;
  const StateSpace space = space_of(in);
  const bool shared = space == StateSpace::shared;
  return shared || space == StateSpace::global || space == StateSpace::generic
             ? found->second.by_space[shared][in.dst_count]
             : nullptr;
}

} // namespace lemma::vgpu
