// What the checker keeps of a cluster while it runs. One host thread at a time works on it.
#pragma once

#include "check/knowledge.h"
#include "check/shadow.h"
#include "vgpu/exec.h"

#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lemma::check {

// Which record an instruction of a warp got last: in one epoch it has one.
struct CachedRecord {
  const vgpu::DecodedInst* instruction = nullptr;
  Epoch epoch = 0;
  bool global = false, writes = false;
  uint32_t agent = 0;
  uint32_t record = 0;
};

// A strong write and what it released; a chain of atomics hands it on.
struct Released {
  Knowledge knowledge;
  uint64_t cluster = 0;
  uint32_t cta_rank = 0;
  vgpu::MemoryScope scope = vgpu::MemoryScope::none;
};
using SyncLocation = std::vector<Released>;
// By allocation or CTA, and offset there.
using SyncLocations = std::map<std::pair<const void*, uint64_t>, SyncLocation>;

struct WarpState {
  WarpState(uint64_t cluster, uint32_t agent) : knowledge(cluster, agent) {}
  WarpKnowledge knowledge;
  std::array<CachedRecord, 64> cached{}; // by pc
  // Strong reads whose values are being taken: the places, by lane.
  struct Read {
    int lane = 0;
    vgpu::MemoryPlace place;
    vgpu::MemoryOrder order;
  };
  std::vector<Read> reads;
};

// A barrier in the making.
struct Gathering {
  Knowledge knowledge;
  std::vector<std::pair<WarpState*, LaneMask>> waiting;
};

struct MbarrierState {
  uint32_t agent = 0; // of the operations that complete on it
  Epoch phase = 1;    // the current one
  Knowledge gathered, completed;
};

struct ClusterState {
  explicit ClusterState(const vgpu::Cluster& cluster);

  WarpState& warp(const vgpu::Cta& cta, const vgpu::Warp& warp) {
    return warps[cta.rank * warps_per_cta + warp.index];
  }
  WarpState& warp(const vgpu::Exec& x) { return warp(*x.cta, *x.warp); }
  uint32_t new_agent() { return agents++; }
  MbarrierState& mbarrier(const vgpu::SharedPlace& at);
  // Of the warpgroup that the warp belongs to.
  uint32_t products_agent(const vgpu::Cta& cta, uint32_t warp);

  uint64_t id = 0;
  uint32_t warps_per_cta = 0;
  std::vector<WarpState> warps; // their agents are their indices
  uint32_t agents = 0;

  std::vector<std::unique_ptr<Shadow>> shared; // by rank
  Records records;                             // of accesses to shared memory
  AccessSets sets;
  Records::Cursor cursor, global_cursor;

  std::map<std::pair<uint32_t, uint32_t>, Gathering> barriers;      // by CTA rank and number
  Gathering cluster_barrier;                                        // of the phase that is open
  Knowledge cluster_passed;                                         // of the last complete one
  std::map<std::pair<uint32_t, uint32_t>, MbarrierState> mbarriers; // by CTA rank and offset
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> products;       // agents by CTA rank and warpgroup
  SyncLocations locations;                                          // in shared memory
  // cp.async.mbarrier.arrive in flight, by AsyncOperation::number: the copies that it waits for.
  struct CopiesArrive {
    uint32_t agent = 0;
    int lane = 0;
    Epoch epoch = 0;
  };
  std::unordered_map<uint64_t, CopiesArrive> arriving;
};

} // namespace lemma::check
