// When the first of a group in a loop is executed by a whole warp, the frame's activation is noted in the
// frame; as long as it is the same one, the registers have their values. Of what a CTA has once, the launch
// and the CTA are noted.
#include "vgpu/code/constant_groups.h"

#include "support/align.h"
#include "vgpu/engine/exec.h"

#include <algorithm>

namespace lemma::vgpu {

// Observers know instructions by their places: the first one's own handler runs it where it stands.
struct LaunchConstants {
  Handler first = nullptr;
  uint64_t place = 0; // in the frame: 1 more than the activation in which all of it was executed
  uint32_t count = 0;
};

struct CtaConstants {
  Handler first = nullptr;
  uint64_t place = 0;           // in the frame: of which CTA it has the values
  uint32_t count = 0;           // of instructions
  std::vector<uint32_t> others; // that warps have values each of: so many after the first
};

namespace {

Step run_of_launch(Exec& x, const DecodedInst& in) {
  const auto& group = x.plan<LaunchConstants>(in);
  uint64_t executed_in = 0;
  std::byte* const place = x.bases[0] + group.place;
  std::memcpy(&executed_in, place, sizeof executed_in);
  const uint64_t now = x.frame->activation + 1;
  if (executed_in == now && x.may_pass_over())
    return x.pass_over(group.count);
  if (x.active == kAllLanes)
    std::memcpy(place, &now, sizeof now);
  return group.first(x, in);
}

// Grids have numbers of their own.
struct CtaOfGrid {
  uint64_t grid = 0, cta = 0;

  friend bool operator==(const CtaOfGrid&, const CtaOfGrid&) = default;
};

Step run_of_cta(Exec& x, const DecodedInst& in) {
  const auto& group = x.plan<CtaConstants>(in);
  if (x.active != kAllLanes || !x.may_pass_over())
    return group.first(x, in);
  const CtaOfGrid now{.grid = x.launch->grid_id, .cta = x.cta->linear_id};
  CtaOfGrid has;
  std::byte* const place = x.bases[0] + group.place;
  std::memcpy(&has, place, sizeof has);
  if (has != now) {
    std::memcpy(place, &now, sizeof now);
    return group.first(x, in);
  }
  for (const uint32_t i : group.others)
    (&in)[i].handler(x, (&in)[i]);
  return x.pass_over(group.count);
}

// Has the first instruction run the group, which has the plan's type. `state_bytes`: of the frame, its own.
template <class Plan>
Plan& make_group(Code& code, const lowered::Range& group, Handler run, uint64_t state_bytes) {
  auto plan = std::make_shared<Plan>();
  DecodedInst& first = code.insts[group.begin];
  plan->first = first.handler;
  plan->count = group.end - group.begin;
  plan->place = code.frame_bytes;
  code.frame_bytes += state_bytes;
  first.handler = run;
  first.plan = code.plans.add(plan);
  first.computes = false; // it may jump
  code.constant_groups.push_back({group.begin, group.end});
  return *plan;
}

} // namespace

void make_constant_groups(Code& code, const lowered::Function& lowered) {
  code.frame_bytes = align_up(code.frame_bytes, sizeof(uint64_t));
  for (const lowered::Range& group : lowered.constants_of_launch)
    if (!code.insts[group.begin].plan)
      make_group<LaunchConstants>(code, group, run_of_launch, sizeof(uint64_t));
  const auto computes = [&](uint32_t pc) { return code.insts[pc].computes; };
  for (const lowered::CtaConstants& group : lowered.constants_of_cta)
    if (!code.insts[group.begin].plan && std::ranges::all_of(group.others, computes)) {
      auto& plan = make_group<CtaConstants>(code, group, run_of_cta, sizeof(CtaOfGrid));
      for (const uint32_t pc : group.others)
        plan.others.push_back(pc - group.begin);
    }
}

} // namespace lemma::vgpu
