// A pass over decoded code that sets a bit at each begin: segments.h.
#include "vgpu/code/segments.h"

namespace lemma::vgpu {
namespace {

// What a warp may stand at, or part at, so that it goes on behind it.
bool may_stop_at(const Code& code, const DecodedInst& in) {
  using namespace isa::effect;
  return isa::effects_of(code.opcode_of(in))
      .has_any(masked | by_warp | aligned | by_warpgroup | meets_cta | meets_cluster | meets_grid | calls |
               jumps | waits | on_mbarrier | asynchronous);
}

} // namespace

void cut_into_segments(Code& code, const lowered::Function& lowered) {
  const auto begin = [&](uint32_t pc) {
    if (pc < code.insts.size())
      code.insts[pc].begins_segment = true;
  };
  for (const lowered::Block& block : lowered.blocks)
    begin(block.begin);
  for (const lowered::Range& group : lowered.constants_of_launch)
    begin(group.end);
  for (const lowered::CtaConstants& group : lowered.constants_of_cta)
    begin(group.end);
  for (const lowered::MatrixRun& run : lowered.matrix_runs)
    if (!run.insts.empty())
      begin(run.insts.back() + 1);
  uint32_t length = 0;
  for (uint32_t pc = 0; pc < code.insts.size(); ++pc) {
    DecodedInst& in = code.insts[pc];
    if (length == kMostInSegment && (pc == 0 || code.insts[pc - 1].source != ptx::kNone))
      in.begins_segment = true; // what serves an instruction stays with it
    length = in.begins_segment ? 1 : std::min(length + 1, kMostInSegment);
    if (may_stop_at(code, in))
      begin(pc + 1);
  }
}

} // namespace lemma::vgpu
