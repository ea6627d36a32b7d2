// Races of a load and a write that wait for somebody to use what the load has got (loaded.h).
//
// These count as used: what a thread of another cluster has loaded, for that runs on another host thread;
// what a load gives that is more than weak, for its thread goes by it; and a value that no instruction of the
// function takes. No compiler leaves such a load in, so somebody has written it for the access itself.
//
// Tests: tests/unit/check/loaded_test.cc.
#include "check/checker.h"
#include "isa/effects.h"

#include <algorithm>

namespace lemma::check {

namespace effect = isa::effect;

namespace {

// A weak load into registers.
bool is_load(const Record& record) {
  if (record.writes || record.asynchronous || record.mbarrier || record.initializes || record.is_strong())
    return false;
  const isa::Effects does = isa::effects_of(record.code->opcode_of(record.instruction));
  return does.has(effect::reads) &&
         !does.has_any(effect::textures | effect::tensormap_proxy | effect::fences);
}

// Whose uses count. A warp reads shared memory together, a tile that one barrier was to protect: that of any
// lane. So it is of a matrix, of which each lane has a part.
LaneMask lanes_given(const Record& load, LaneMask lanes, bool is_shared) {
  const bool alone = is_load(isa::effects_of(load.code->opcode_of(load.instruction))) && !is_shared;
  return alone ? lanes : vgpu::kAllLanes;
}

bool is_race(const std::string& id) {
  return id.starts_with("race.") || id == "async.unwaited";
}

// Of a warp, its activation of the kernel.
const std::byte* kernel_registers(const vgpu::Warp& warp) {
  const std::vector<vgpu::CallFrame>& stack =
      warp.splits.empty() ? warp.spare_stack : warp.splits.front().stack;
  return stack.empty() ? nullptr : stack.front().registers;
}

} // namespace

// A conflict is told of one lane for all those whose accesses it is about.
LaneMask Checker::racing_lanes(const Visit& visit, Records::Id earlier_id) const {
  const Record& earlier = records_of(visit)[Records::record_of(earlier_id)];
  LaneMask lanes = 0;
  vgpu::for_lanes(visit.lanes, [&](int lane) {
    const LaneMask own = LaneMask{1} << lane;
    if (visit.accessor.record.nc || visit.accessor.unordered(earlier, Records::lane_of(earlier_id), own) >= 0)
      lanes |= own;
  });
  return lanes;
}

bool Checker::holds(const Visit& visit, Records::Id earlier_id, const Key& key, uint8_t width,
                    const std::function<Finding()>& finding, const Advice& advice) {
  const Record& later = visit.accessor.record;
  const Record& earlier = records_of(visit)[Records::record_of(earlier_id)];
  const bool loads_now = is_load(later) && visit.x && later.instruction == visit.x->code->id_at(visit.x->pc);
  const Record& load = loads_now ? later : earlier;
  if (!is_race(std::get<0>(key)) || !is_load(load) ||
      !results_[function_of(*load.code)]->taken(load.instruction))
    return false;
  ClusterState& cluster = visit.cluster;
  const auto [known, is_new] = cluster.held_at.try_emplace(key, static_cast<uint32_t>(cluster.held.size()));
  const uint32_t race = known->second;
  if (loads_now) {
    const LaneMask lanes = lanes_given(later, racing_lanes(visit, earlier_id), visit.place.is_shared());
    cluster.racing_values[visit.accessor.warp.knowledge.agent()].load({race, later.instruction},
                                                                      lanes & visit.x->active);
    visit.x->warp->follows_values = true;
  } else if (!follows_earlier(visit, earlier_id, race)) {
    if (is_new)
      cluster.held_at.erase(known);
    return false;
  }
  if (is_new)
    cluster.held.push_back({key, width, finding(), advice});
  else if (cluster.held[race].width < width)
    cluster.held[race] = {key, width, finding(), advice, cluster.held[race].used};
  return true;
}

// Where the value of an earlier load is, it is followed from now on. False: somebody has used it, or may
// have.
bool Checker::follows_earlier(const Visit& visit, Records::Id earlier_id, uint32_t race) {
  const Record& load = records_of(visit)[Records::record_of(earlier_id)];
  ClusterState& cluster = visit.cluster;
  if (load.cluster != cluster.id || load.code != launch_->entry)
    return false;
  const vgpu::Warp& warp = cluster.cluster.ctas[load.cta_rank]->warps[load.warp];
  WarpState& state = cluster.warp(*cluster.cluster.ctas[load.cta_rank], warp);
  const bool runs = &state == &visit.accessor.warp;
  if (runs && !visit.x)
    return false;
  const CachedRecord& last = state.cached_for(load.instruction);
  const bool is_last = last.record.instruction == load.instruction && last.times == 1 &&
                       last.number == Records::record_of(earlier_id);
  const LaneMask given =
      lanes_given(load, LaneMask{1} << Records::lane_of(earlier_id), visit.place.is_shared()) &
      (warp.live | warp.exited);
  const uint64_t instructions = warp.instructions + (runs ? visit.x->executed : 0);
  LaneMask found = 0;
  std::vector<std::pair<const std::byte*, Holding>> held;
  std::vector<std::pair<const std::byte*, Entering>> led;
  const auto follow = [&](const Whereabouts& where) {
    if (!(where.lanes & given))
      return true;
    if (!where.registers)
      return false;
    const Fate& fate = fate_in(cluster, warp, load.instruction, where, !is_last, instructions);
    if ((fate.used & given) != 0)
      return false;
    found |= where.lanes & given;
    for (const Holding& holding : fate.holds)
      if (const LaneMask lanes = holding.lanes & given & ~warp.exited)
        held.emplace_back(where.registers, Holding{holding.offset, lanes});
    for (const Entering& entering : fate.in)
      led.emplace_back(where.registers, Entering{entering.region, entering.lanes & given & ~warp.exited});
    return true;
  };
  for (const auto& [pc, lanes] : state.exited)
    if (!follow({load.code, pc, lanes, kernel_registers(warp)}))
      return false;
  for (size_t i = 0; i < warp.splits.size(); ++i) {
    const vgpu::Split& split = warp.splits[i];
    const bool executes = runs && i == visit.x->split;
    if ((split.mask & given) != 0 &&
        (split.stack.size() != 1 ||
         !follow({load.code, executes ? visit.x->pc : split.pc, split.mask, split.stack.back().registers,
                  executes, executes ? visit.x->active : 0})))
      return false;
  }
  if (found != given)
    return false;
  RacingValues& racing = cluster.racing_values[state.knowledge.agent()];
  for (const auto& [registers, holding] : held)
    racing.hold({race, load.instruction}, registers, holding);
  for (const auto& [registers, entering] : led)
    racing.branch({race, load.instruction}, registers, entering);
  warp.follows_values = true;
  return true;
}

const Fate& Checker::fate_in(ClusterState& cluster, const vgpu::Warp& warp, vgpu::InstId load,
                             const Whereabouts& where, bool every, uint64_t instructions) {
  ClusterState::KnownFate& known = cluster.fates[{&warp, load}];
  const Whereabouts& was = known.where;
  if (was.code != where.code || was.pc != where.pc || was.lanes != where.lanes ||
      was.executes != where.executes || was.active != where.active || known.every != every ||
      known.instructions != instructions)
    known = {where, every, instructions,
             fate_of(where.code->pc_of(load), where, every, cluster.private_regions)};
  return known.fate;
}

RacingValues::Report Checker::uses_racing(ClusterState& cluster) {
  return [this, &cluster](uint32_t race, int) {
    HeldRace& held = cluster.held[race];
    held.used = true;
    if (!is_reported(held.key, held.width))
      report(held.key, held.width, held.finding, held.advice);
  };
}

namespace {
constexpr std::string_view kUnused = " (unused)"; // in a DefectKey
}

// What nobody has used is a note.
void Checker::tell_unused(ClusterState& cluster) {
  for (HeldRace& held : cluster.held) {
    if (held.used)
      continue;
    held.finding.is_note = true;
    held.finding.message += ", and nobody uses the value that is read";
    std::get<0>(held.key) += kUnused;
    report(held.key, held.width, std::move(held.finding), std::move(held.advice));
  }
}

// Of a cluster that a fault has ended nobody knows what it would have used.
void Checker::tell_unfinished(ClusterState& cluster) {
  for (HeldRace& held : cluster.held)
    if (!held.used)
      report(held.key, held.width, std::move(held.finding), std::move(held.advice));
}

// Such a note says nothing where somebody else has used what the same load has got of the same write.
bool Checker::is_used_elsewhere(const Key& key) const {
  const auto& [id, one, other] = key;
  return id.ends_with(kUnused) && found_.contains({id.substr(0, id.size() - kUnused.size()), one, other});
}

} // namespace lemma::check
