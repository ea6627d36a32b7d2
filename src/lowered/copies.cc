// Both are of one block, under no guard, and know what they read and write. See copies.h.
#include "lowered/copies.h"

#include "lowered/unwritten.h"
#include "lowered/uses.h"

#include <algorithm>

namespace lemma::lowered {
namespace {

// What a store stores is what a load has loaded. Behind it may come a cache policy.
bool stores_loaded(const Function& function, const Inst& load, const Inst& store) {
  const std::span<const Operand> loaded = function.destinations_of(load),
                                 stored = function.sources_of(store).subspan(1);
  const uint32_t elements = width_of(function.instruction_of(store)->operands[1], *function.text);
  return elements == loaded.size() && std::ranges::equal(loaded, stored.first(elements)) &&
         std::ranges::all_of(loaded, &Operand::is_register);
}

} // namespace

void find_copies(Function& function) {
  std::vector<uint32_t> reads; // counted for the first copy
  for (const Block& block : function.blocks)
    for (uint32_t i = block.begin; i + 1 < block.end; ++i) {
      Inst& load = function.insts[i];
      const Inst& store = function.insts[i + 1];
      if (!is_load(function, load) || !isa::is_store(effects_of(function, store)) || !is_plain(load) ||
          !is_plain(store) || !stores_loaded(function, load, store))
        continue;
      if (reads.empty())
        reads = count_reads(function);
      if (std::ranges::all_of(function.destinations_of(load),
                              [&](const Operand& operand) { return reads[operand.index] == 1; }))
        load.notes.add(Note::copy);
    }
}

} // namespace lemma::lowered
