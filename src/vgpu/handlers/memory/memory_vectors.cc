// Picks by level, element and register; the loops stand in memory_vectors.inc.
#include "vgpu/code/constant_groups.h"
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/arithmetic/levels.h"
#include "vgpu/handlers/memory/lane_memory.h"
#include "vgpu/handlers/memory/memory_handlers.h"
#include "vgpu/handlers/memory/store_order.h"
#include "vgpu/memory/find_access.h"

#include <array>
#include <atomic>
#include <immintrin.h>

namespace lemma::vgpu {
namespace {

struct VectorHandlers {
  Handler (*load)(isa::Type type, const Code& code, const DecodedInst& in) = nullptr;
  Handler (*store)(isa::Type type, const Code& code, const DecodedInst& in) = nullptr;
};

} // namespace
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/memory/memory_vectors.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {
namespace {

std::atomic<bool> takes_plain{false};

const VectorHandlers& at_level() {
  static const LeveledTables<VectorHandlers> tables(LEMMA_FILLS);
  static const VectorHandlers none;
  return takes_plain.load() ? none : tables.now();
}

} // namespace

void take_plain_memory_handlers(bool plain) {
  takes_plain.store(plain);
}
bool takes_plain_memory_handlers() {
  return takes_plain.load();
}

Handler vector_load(isa::Type type, const Code& code, const DecodedInst& in) {
  const VectorHandlers& handlers = at_level();
  return handlers.load ? handlers.load(type, code, in) : nullptr;
}

Handler vector_store(isa::Type type, const Code& code, const DecodedInst& in) {
  const VectorHandlers& handlers = at_level();
  return handlers.store ? handlers.store(type, code, in) : nullptr;
}

} // namespace lemma::vgpu
