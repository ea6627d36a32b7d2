// What a CTA was before - the cluster's last one in the grid, or an earlier launch's - must not be seen: all
// that a program can ask for is set here. See cluster_start.h.
#include "vgpu/engine/cluster_start.h"

#include "vgpu/engine/schedule.h"
#include "vgpu/engine/warp.h"
#include "vgpu/memory/poison.h"

#include <algorithm>
#include <bit>

namespace lemma::vgpu {
namespace {

Dim3 coordinates(uint64_t linear, const Dim3& size) {
  return {static_cast<uint32_t>(linear % size[0]), static_cast<uint32_t>(linear / size[0] % size[1]),
          static_cast<uint32_t>(linear / size[0] / size[1])};
}

// A CTA whose id and place in its cluster are known.
void start_cta(const Launch& launch, Cta& cta) {
  const Dim3& grid = launch.config.grid;
  cta.linear_id = cta.id[0] + uint64_t{grid[0]} * (cta.id[1] + uint64_t{grid[1]} * cta.id[2]);
  cta.sm = static_cast<uint32_t>(cta.linear_id % launch.sm_count);
  cta.threads = static_cast<uint32_t>(product(launch.config.block));
  const size_t warps = (cta.threads + kWarpSize - 1) / kWarpSize;
  if (cta.taken.bytes() == 0) { // else its memory is used again
    const uint64_t bytes_for_each = launch.config.async != AsyncMode::eager ? 4 : 2; // what follows
    cta.taken = MemoryShare(launch.memory->budget());
    cta.taken.take(launch.shared_bytes * bytes_for_each + sizeof(Cta) +
                       warps * (sizeof(Warp) + sizeof(Split)),
                   "shared memory");
  }
  cta.shared.resize(launch.shared_bytes);
  cta.shared_written.resize(launch.shared_bytes);
  // What the system has to itself no access can name.
  const uint32_t begin = launch.shared_begin, bytes = launch.shared_bytes - begin;
  poison(cta.shared.data() + begin, poison_key(launch.config.seed, Poisoned::shared, cta.linear_id), begin,
         bytes);
  std::fill_n(cta.shared_written.begin() + begin, bytes, uint8_t{0});
  cta.written_pages = {};
  cta.shared_begin = launch.shared_begin;
  if (cta.shared_begin == 0) { // the system's part: zeros, which cooperative groups count on
    std::fill_n(cta.shared.begin(), kSharedReservedBytes, std::byte{});
    std::fill_n(cta.shared_written.begin(), kSharedReservedBytes, uint8_t{1});
  }
  if (launch.config.async != AsyncMode::eager) {
    cta.async_view = cta.shared;
    cta.unpublished.assign(launch.shared_bytes, 0);
  }
  for (; cta.used_barriers; cta.used_barriers &= cta.used_barriers - 1)
    cta.barriers[std::countr_zero(cta.used_barriers)] = {};
  cta.mbarriers.clear();
  cta.warps.resize(warps);
  while (cta.frames.size() < warps)
    cta.frames.push_back(make_frame(*launch.entry, cta.taken));
  if (cta.free_frames.size() != warps) { // not all were given back
    cta.free_frames.clear();
    for (size_t w = warps; w-- > 0;)
      cta.free_frames.push_back(cta.frames[w].get());
  }
  cta.live_warps = static_cast<uint32_t>(warps);
  cta.warpgroups.resize(cta.warps.size() / kWarpsInGroup);
  for (Warpgroup& group : cta.warpgroups)
    group.reset(launch.registers);
  cta.free_registers = 0;
  cta.wgmma_checks.clear();
  cta.launched_dependents = false;
  cta.failed_request = {};
  cta.tensor = {};
  cta.next_warp = launch.schedule->first_warp(cta.linear_id, static_cast<uint32_t>(warps));
  const uint64_t warps_key = poison_key(launch.config.seed, Poisoned::warp, cta.linear_id);
  for (uint32_t w = 0; w < cta.warps.size(); ++w) {
    const uint32_t lanes = std::min<uint32_t>(cta.threads - w * kWarpSize, kWarpSize);
    start_warp(cta.warps[w], w, lanes == kWarpSize ? kAllLanes : (LaneMask{1} << lanes) - 1, *launch.entry,
               poison_key(warps_key, Poisoned::warp, w), launch.memory->budget());
  }
}

// Of a cluster, among the clusters.
Dim3 cluster_id(const Launch& launch, uint64_t id) {
  const Dim3& grid = launch.config.grid;
  const Dim3& size = launch.config.cluster;
  return coordinates(id, {grid[0] / size[0], grid[1] / size[1], grid[2] / size[2]});
}

} // namespace

Dim3 first_cta(const Launch& launch, uint64_t id) {
  Dim3 first = cluster_id(launch, id);
  for (size_t i = 0; i < first.size(); ++i)
    first[i] *= launch.config.cluster[i];
  return first;
}

void start_cluster(const Launch& launch, Cluster& cluster, uint64_t id) {
  const Dim3& size = launch.config.cluster;
  cluster.linear_id = id;
  cluster.id = cluster_id(launch, id);
  cluster.scheduled = {};
  cluster.had_turn = false;
  cluster.next_wake = kNever;
  cluster.barrier = {.expected = static_cast<uint32_t>(product(launch.config.block) * product(size))};
  cluster.ctas.resize(product(size));
  for (uint32_t rank = 0; rank < cluster.ctas.size(); ++rank) {
    auto& cta = cluster.ctas[rank];
    if (!cta)
      cta = std::make_unique<Cta>();
    const Dim3 within = coordinates(rank, size);
    for (int i = 0; i < 3; ++i)
      cta->id[i] = cluster.id[i] * size[i] + within[i];
    cta->cluster = &cluster;
    cta->rank = rank;
    start_cta(launch, *cta);
  }
}

} // namespace lemma::vgpu
