// What compiled code calls: runtime.h.
#include "vgpu/compiled/runtime.h"

#include "vgpu/compiled/compiled_code.h"
#include "vgpu/engine/waiting.h"
#include "vgpu/engine/warp.h"

#include <bit>

namespace lemma::vgpu {

namespace {

Step make_splits(Exec& x, Step step) {
  CompiledState& state = x.compiled;
  std::vector<Split>& splits = x.warp->splits;
  state.ran += x.executed - std::exchange(state.part_begin, x.executed);
  splits[x.split].mask = x.mask;
  splits[x.split].ran_before_others = state.ran;
  if (step == Step::jumped)
    splits[x.split].pc = x.pc;
  for (; state.waiting_at != 0; state.waiting_at &= state.waiting_at - 1) {
    const int point = std::countr_zero(state.waiting_at);
    const auto at = static_cast<size_t>(point);
    Split part = splits[x.split];
    part.mask = std::exchange(state.waiting[at], 0);
    part.pc = state.join_pcs[point];
    part.state = SplitState::ready;
    part.wake = kNever;
    part.ran_before_others = state.waiting_ran[at];
    if (state.remembers >> point & 1)
      part.polling = state.polling[at];
    splits.push_back(std::move(part));
  }
  state.remembers = 0;
  state.has_made_splits = true;
  return step;
}

template <class F>
uint32_t catching(Exec& x, F f) {
  try {
    return static_cast<uint32_t>(f());
  } catch (...) {
    x.compiled.problem = std::current_exception();
    return static_cast<uint32_t>(Step::stopped);
  }
}

} // namespace

uint32_t call_handler(Exec& x, const DecodedInst& in) {
  return catching(x, [&] { return in.handler(x, in); });
}

template <bool is_watched>
uint32_t call_with_care(Exec& x, const DecodedInst& in) {
  return catching(x, [&] {
    const Step step = WarpRunner::execute_with_care(x, in, is_watched);
    if (!is_watched || !x.warp->follows_values || step != Step::next) [[likely]]
      return step;
    ++x.pc;
    return Step::jumped;
  });
}
template uint32_t call_with_care<false>(Exec& x, const DecodedInst& in);
template uint32_t call_with_care<true>(Exec& x, const DecodedInst& in);

template <bool is_watched>
const void* follow(Exec& x) {
  const std::vector<Split>& splits = x.warp->splits;
  if (splits.size() != 1 || splits[0].state != SplitState::ready)
    return nullptr;
  const CallFrame& call = splits[0].stack.back();
  const void* const inside = call.code->compiled[is_watched]->inside(splits[0].pc, splits[0].mask);
  if (!inside)
    return nullptr;
  x.split = 0;
  x.mask = splits[0].mask;
  x.pc = splits[0].pc;
  x.code = call.code;
  x.frame = call.frame;
  x.bases[0] = call.registers;
  return inside;
}

template const void* follow<false>(Exec& x);
template const void* follow<true>(Exec& x);

uint32_t notices_backward_jump(Exec& x, uint32_t pc) {
  x.pc = pc;
  // The part's lanes alone: others may wait in CompiledState, and come by before the code returns.
  const LaneMask lanes = std::exchange(x.warp->splits[x.split].mask, x.mask);
  if (notice_backward_jump(x))
    return 1;
  x.warp->splits[x.split].mask = lanes;
  return 0;
}

uint32_t leave_parts(Exec& x, uint32_t step) {
  return catching(x, [&] { return make_splits(x, static_cast<Step>(step)); });
}

} // namespace lemma::vgpu
