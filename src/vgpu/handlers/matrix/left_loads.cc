// What a load has left is in the frame: where its lines lie, or nothing once they have been brought.
#include "vgpu/handlers/matrix/left_loads.h"

#include <algorithm>

namespace lemma::vgpu {

bool may_leave_loads(const Code& code, std::span<const uint32_t> pcs) {
  return leaving_wmma_load() != nullptr && std::ranges::all_of(pcs, [&](uint32_t pc) {
           return code.insts[pc].plan && code.plan<WmmaMovePlan>(code.insts[pc]).seen != 0;
         });
}

LeftLoad leave_load(Code& code, uint32_t pc) {
  DecodedInst& in = code.insts[pc];
  in.handler = leaving_wmma_load();
  return {.offset = in.dst_offset, .left = code.plan<WmmaMovePlan>(in).left()};
}

void load_left(Exec& x, std::span<const LeftLoad> loads) {
  constexpr size_t kLines = 8, kLineBytes = kWarpSize * sizeof(double) / kLines;
  for (const LeftLoad& load : loads) {
    const LeftInMemory left = left_by(x, load);
    for (size_t line = 0; left.first && line < kLines; ++line)
      std::memcpy(x.bases[0] + load.offset + line * kLineBytes, left.first + line * left.pitch, kLineBytes);
    const LeftInMemory loaded;
    std::memcpy(x.bases[0] + load.left, &loaded, sizeof loaded);
  }
}

} // namespace lemma::vgpu
