// What a cluster begins with, and the agents that it gets on the way. See cluster_state.h.
#include "check/cluster_state.h"

#include "vgpu/engine/exec.h"

namespace lemma::check {

namespace {
constexpr uint32_t kMostOwnRecords = 1u << 22; // of accesses to a cluster's shared memory
}

ClusterState::Own ClusterState::Own::make() {
  return {std::make_unique<Records>(kMostOwnRecords), std::make_unique<AccessSets>()};
}

ClusterState::ClusterState(const vgpu::Cluster& of, Own given, bool may_forget)
    : cluster(of), id(of.linear_id), warps_per_cta(static_cast<uint32_t>(cluster.ctas.front()->warps.size())),
      own(std::move(given)), records(*own.records), sets(*own.sets), tensor_uses(cluster.ctas.size()),
      forgets(may_forget && cluster.ctas.size() == 1),
      pending(forgets ? cluster.ctas.front()->shared.size() : 0) {
  warps.reserve(cluster.ctas.size() * warps_per_cta);
  for (const auto& cta : cluster.ctas) {
    for (uint32_t i = 0; i < warps_per_cta; ++i)
      warps.emplace_back(id, new_agent(), cta->id);
    shared.push_back(std::make_unique<Shadow>(cta->shared.size(), sets));
  }
  undefined_values.resize(warps.size(), UndefinedValues(undefined));
  racing_values.resize(warps.size());
  grid_wait = new_agent();
  exits.resize(cluster.ctas.size());
  hearsay.resize(cluster.ctas.size());
  mbarrier_spans.resize(cluster.ctas.size());
}

void ClusterState::forget() {
  shared.front()->forget();
  pending.forget();
  records.clear();
  cursor = {};
  sets.clear();
  free_sets.clear();
  if (!locations.empty())
    locations.clear();
}

void HandedOn::join(const HandedOn& other) {
  operations.join(other.operations);
  for (uint32_t rank = 0; rank < other.threads.size(); ++rank) {
    OfCta& ours = of(rank);
    ours.wide.join(other.threads[rank].wide);
    ours.narrow.join(other.threads[rank].narrow);
    ours.unreleased.join(other.threads[rank].unreleased);
    if (other.threads[rank].by.instruction)
      ours.by = other.threads[rank].by;
    if (other.threads[rank].unscoped.instruction)
      ours.unscoped = other.threads[rank].unscoped;
  }
}

MbarrierState& ClusterState::mbarrier(const vgpu::SharedPlace& at) {
  const auto [found, added] = mbarriers.try_emplace({at.cta->rank, at.offset});
  if (added)
    found->second.agent = new_agent();
  if (found->second.waits_since.empty()) {
    found->second.waits_since.resize(warps.size());
    found->second.found.resize(warps.size());
  }
  return found->second;
}

uint32_t ClusterState::products_agent(const vgpu::Cta& cta, uint32_t warp) {
  const auto [found, added] = products.try_emplace({cta.rank, warp / vgpu::kWarpsInGroup});
  if (added)
    found->second = new_agent();
  return found->second;
}

} // namespace lemma::check
