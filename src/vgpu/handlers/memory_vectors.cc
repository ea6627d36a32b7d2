// Picks by level, element and register; the loops stand in memory_vectors.inc.
#include "vgpu/find_access.h"
#include "vgpu/handlers/lane_memory.h"
#include "vgpu/handlers/levels.h"
#include "vgpu/handlers/memory_handlers.h"

#include <array>
#include <immintrin.h>

namespace lemma::vgpu {
namespace {

struct VectorHandlers {
  Handler (*load)(isa::Type type, const DecodedInst& in) = nullptr;
  Handler (*store)(isa::Type type, const DecodedInst& in) = nullptr;
};

} // namespace
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/memory_vectors.inc"
#include "vgpu/handlers/levels.inc"

namespace lemma::vgpu {
namespace {

const VectorHandlers& at_level() {
  static const LeveledTables<VectorHandlers> tables(LEMMA_FILLS);
  return tables.now();
}

} // namespace

Handler vector_load(isa::Type type, const DecodedInst& in) {
  const VectorHandlers& handlers = at_level();
  return handlers.load ? handlers.load(type, in) : nullptr;
}

Handler vector_store(isa::Type type, const DecodedInst& in) {
  const VectorHandlers& handlers = at_level();
  return handlers.store ? handlers.store(type, in) : nullptr;
}

} // namespace lemma::vgpu
