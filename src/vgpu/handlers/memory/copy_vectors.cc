// Makes one of the two instructions of a copy; the loops stand in copy_vectors.inc.
#include "vgpu/code/constant_groups.h"
#include "vgpu/handlers/arithmetic/levels.h"
#include "vgpu/handlers/memory/lane_memory.h"
#include "vgpu/handlers/memory/memory_handlers.h"
#include "vgpu/handlers/memory/store_order.h"
#include "vgpu/memory/find_access.h"

#include <array>
#include <immintrin.h>

namespace lemma::vgpu {

// What the first of the two instructions of a copy does by itself.
struct LoadOfCopy {
  Handler handler = nullptr;
};

namespace {

// Of the first instruction, for both; null: it is none such.
using CopyPick = Handler (*)(const Code& code, const DecodedInst& load, const DecodedInst& store);

} // namespace
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/memory/copy_vectors.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {

void make_copies(Code& code, const lowered::Function& lowered) {
  static const LeveledTables<CopyPick> picks(LEMMA_FILLS);
  const CopyPick pick = takes_plain_memory_handlers() ? nullptr : picks.now();
  for (uint32_t pc = 0; pick && pc < lowered.insts.size(); ++pc) {
    DecodedInst& load = code.insts[pc];
    if (!lowered.insts[pc].notes.has(lowered::Note::copy) || load.plan)
      continue;
    const Handler copy = pick(code, load, code.insts[pc + 1]);
    if (!copy)
      continue;
    auto by_itself = std::make_shared<LoadOfCopy>();
    by_itself->handler = load.handler;
    load.handler = copy;
    load.plan = code.plans.add(std::move(by_itself));
  }
}

} // namespace lemma::vgpu
