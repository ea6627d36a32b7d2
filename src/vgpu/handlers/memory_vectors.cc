// Picks by level, element and register; the loops stand in memory_vectors.inc.
#include "vgpu/find_access.h"
#include "vgpu/handlers/lane_memory.h"
#include "vgpu/handlers/levels.h"
#include "vgpu/handlers/memory_handlers.h"
#include "vgpu/handlers/store_order.h"
#include "vgpu/launch_constants.h"
#include "vgpu/observer.h"

#include <array>
#include <immintrin.h>

namespace lemma::vgpu {

// What the first of the two instructions of a copy does by itself.
struct LoadOfCopy {
  Handler handler = nullptr;
};

namespace {

struct VectorHandlers {
  Handler (*load)(isa::Type type, const DecodedInst& in) = nullptr;
  Handler (*store)(isa::Type type, const DecodedInst& in) = nullptr;
  // Of the first instruction, for both; null: it is none such.
  Handler (*copy)(const DecodedInst& load, const DecodedInst& store) = nullptr;
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

void find_copies(Code& code, std::span<const lowered::Block> blocks) {
  const VectorHandlers& handlers = at_level();
  if (!handlers.copy)
    return;
  const auto is_plain = [](const DecodedInst& in) {
    return !in.guarded && !in.checks_init && !in.marks_written && !(in.flags & kOrdered);
  };
  std::vector<uint32_t> reads; // counted for the first copy
  for (const lowered::Block& block : blocks)
    for (uint32_t pc = block.begin; pc + 1 < block.end; ++pc) {
      DecodedInst& load = code.insts[pc];
      const DecodedInst& store = code.insts[pc + 1];
      const Handler copy = handlers.copy(load, store);
      if (!copy || !is_plain(load) || !is_plain(store))
        continue;
      if (reads.empty())
        reads = count_reads(code);
      bool same = true;
      for (int i = 0; i < load.dst_count; ++i) {
        const Slot& loaded = load.ops[i];
        same &= loaded.reg != ptx::kNone && reads[loaded.reg] == 1 && store.ops[1 + i].base == 0 &&
                store.ops[1 + i].offset == loaded.offset;
      }
      if (!same)
        continue;
      auto by_itself = std::make_shared<LoadOfCopy>();
      by_itself->handler = load.handler;
      load.handler = copy;
      load.plan = code.plans.add(std::move(by_itself));
    }
}

} // namespace lemma::vgpu
