// Picks by level; the loops stand in wmma_moves.inc.
#include "vgpu/handlers/matrix/wmma_moves.h"

#include "vgpu/code/constant_groups.h"
#include "vgpu/handlers/arithmetic/levels.h"
#include "vgpu/memory/find_access.h"

#include <immintrin.h>

namespace lemma::vgpu {
namespace {

struct WmmaLoads {
  Handler words = nullptr, pairs = nullptr; // registers of 4 and 8 bytes
  Handler leaves = nullptr;
};

} // namespace
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/matrix/wmma_moves.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {

namespace {

const WmmaLoads& loads() {
  static const LeveledTables<WmmaLoads> tables(LEMMA_FILLS);
  return tables.now();
}

} // namespace

Handler vector_wmma_load(const WmmaMovePlan& plan, uint32_t register_bytes) {
  const bool may_be_shared = plan.space == isa::StateSpace::generic || plan.space == isa::StateSpace::shared;
  if (!plan.map.is_in_eights() || plan.line_bytes > 64 || !may_be_shared)
    return nullptr;
  return register_bytes == 4 ? loads().words : loads().pairs;
}

Handler leaving_wmma_load() {
  return loads().leaves;
}

} // namespace lemma::vgpu
