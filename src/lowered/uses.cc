// One pass over the code.
#include "lowered/uses.h"

namespace lemma::lowered {

std::vector<uint32_t> count_reads(const Function& function) {
  std::vector<uint32_t> reads(function.registers.size());
  for_each_parameter(function, [&](uint32_t reg) { reads[reg] += 2; });
  for (const Inst& inst : function.insts) {
    for_each_read(function, inst, [&](uint32_t reg) { ++reads[reg]; });
    if (effects_of(function, inst).has(isa::effect::accumulates))
      for_each_write(function, inst, [&](uint32_t reg) { ++reads[reg]; });
  }
  return reads;
}

} // namespace lemma::lowered
