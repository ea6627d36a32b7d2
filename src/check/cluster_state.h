// What the checker keeps of a cluster while it runs. One host thread at a time works on it.
#pragma once

#include "check/access_sets.h"
#include "check/advice.h"
#include "check/knowledge.h"
#include "check/loaded.h"
#include "check/pending.h"
#include "check/registers.h"
#include "check/shadow.h"
#include "check/sync_location.h"
#include "check/tensor_uses.h"
#include "check/undefined.h"
#include "vgpu/engine/exec.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lemma::check {

// Which record an instruction of a warp got last: in one epoch it has one.
struct CachedRecord {
  Record record; // without an instruction: none
  bool global = false;
  uint32_t number = 0; // 0: there was no room
  uint32_t times = 0;  // that it was executed so
  // That of the same accesses, perhaps of another epoch.
  bool is_like(vgpu::InstId instruction, uint32_t agent, bool writes, bool of_global) const {
    return record.instruction == instruction && record.agent == agent && record.writes == writes &&
           global == of_global;
  }
};

// What a thread has read of a strong writer, whether that ordered anything or not.
struct Heard {
  std::shared_ptr<const Known> knew = {};
  bool narrow = false; // the scopes do not reach
  uint32_t agent = 0;  // who read, and when
  Epoch epoch = 0;
  SyncPair by = {};
  uint64_t writer_cluster = ~uint64_t{0}; // who wrote, if it was one
  uint32_t writer = 0;
  bool is_released = false; // all that a chain of releases there hands on: the reader's acquire is missing
};
struct MbarrierState;

struct WarpState {
  WarpState(uint64_t cluster, uint32_t agent, const Dim3& id) : knowledge(cluster, agent), cta(id) {}
  WarpKnowledge knowledge;
  Dim3 cta{};                            // its CTA's id
  Statement cluster_arrival;             // the last barrier.cluster.arrive
  uint32_t started = 0;                  // CTAs of the cluster, by rank, that are known to have
  std::array<CachedRecord, 32> cached{}; // by instruction
  CachedRecord& cached_for(vgpu::InstId in) { return cached[in.index % cached.size()]; }
  // Strong reads whose values are being taken: the places.
  struct Read {
    LaneMask lanes = 0;
    vgpu::MemoryPlace place;
    vgpu::MemoryOrder order;
    bool returns = true;              // a value that the thread may go by
    SyncLocation* location = nullptr; // of an atomic operation, which has written there
    const Handover* own = nullptr;    // ... and handed that on; null: nothing, or it is not noted
  };
  std::vector<Read> reads;
  // Arrivals of the instruction that is being executed, whose accesses are told after them all.
  struct Arriving {
    MbarrierState* mbarrier = nullptr;
    LaneMask lanes = 0;
    Epoch phase = 0; // that was open
  };
  std::vector<Arriving> arriving;
  // Tensor maps in global memory that operations of its lanes may still read: agents and epochs.
  std::vector<std::pair<uint32_t, Epoch>> map_reads;
  // What a lane's last strong read has learned: of SyncLocation::version, with that order.
  struct Learned {
    uint64_t version = 0; // 0: nothing
    vgpu::MemoryOrder order = {};
    friend bool operator==(const Learned&, const Learned&) = default;
  };
  std::array<Learned, kWarpSize> learned{};
  // What preceded the last strong write: of those lanes, in that epoch, before anything else was learned.
  struct Knew {
    LaneMask lanes = 0;
    Epoch epoch = 0;
    uint64_t changes = 0;
    std::shared_ptr<const Clock> would_know;
    std::shared_ptr<const Known> known;
  } knew;
  WgmmaRegisters registers;
  // The last fence.sc of scope .gpu, and what lanes knew then; and reads of others, after such a fence, of
  // what lanes have written over since, with a fence of their own after that or not (fences.cc).
  struct Fenced {
    LaneMask lanes = 0;
    std::shared_ptr<const Knowledge> knew;
  };
  Fenced last_fence;
  struct Overwritten {
    LaneMask lanes = 0;
    bool is_fenced = false;
    FencedRead read;
  };
  std::vector<Overwritten> overwritten;
  // What it would know had all that it has read been released and acquired; null: no more than it does.
  std::shared_ptr<const Clock> would_know;
  std::vector<std::pair<uint32_t, LaneMask>> exited; // lanes, and at which pc of the kernel
};

struct BarrierArrival {
  uint32_t agent = 0;
  LaneMask lanes = 0;
  Epoch epoch = 0;
  Statement who;
};

// A barrier in the making.
struct Gathering {
  Knowledge knowledge;
  Clock unreleased;        // of the cluster's: what those knew who have arrived and released nothing
  Spot unreleased_by = {}; // the last such arrival
  std::vector<std::pair<WarpState*, LaneMask>> waiting;
  // Of those, warps that have arrived as a whole and all know the same, and the epochs that end there: what
  // they hand on is collected when the phase completes.
  std::vector<std::pair<WarpState*, Epoch>> whole;
  std::vector<WarpState*>
      started; // that wait at the cluster's barrier: all CTAs have started when it completes
  std::vector<BarrierArrival> arrivals, last_phase;      // of bar.sync and bar.arrive
  std::shared_ptr<Uses> uses = std::make_shared<Uses>(); // likewise
  std::shared_ptr<UndefinedVote> vote;                   // null: nobody has come by bar.red
};

// Warps that have something to do with each phase of an object.
struct Participants {
  std::vector<uint32_t> now, before; // by agent: of the open phase, and of the last one

  void add(uint32_t agent) {
    if (std::find(now.begin(), now.end(), agent) == now.end())
      now.push_back(agent);
  }
  void next_phase() {
    before.swap(now);
    now.clear();
  }
};

// What arrivals hand on.
struct HandedOn {
  // Of the threads of a CTA, with the scope .cluster, or with none; and with a scope of .cta that is spelled,
  // or that of the fence before a relaxed arrival.
  struct OfCta {
    Knowledge wide, narrow;
    Clock unreleased;   // what those knew who have arrived and released nothing
    Spot by;            // the last arrival
    Statement unscoped; // a thread that has arrived without a scope
  };
  Knowledge operations;       // that have completed on the object
  std::vector<OfCta> threads; // by rank

  OfCta& of(uint32_t rank) {
    if (threads.size() <= rank)
      threads.resize(rank + 1);
    return threads[rank];
  }
  void join(const HandedOn& other);
};

struct MbarrierState {
  uint32_t agent = 0;     // of the operations that complete on it
  uint32_t map_agent = 0; // of their reads of tensor maps in global memory; 0: there were none
  Epoch phase = 1;        // the current one
  Epoch first_phase = 1;  // since it was initialized
  HandedOn gathered, completed;
  bool told_unscoped = false;
  Clock arrived, observed; // the arrivals alone, of the open phase and of those before
  // mbarrier.init: by whom, when, and whether a fence.mbarrier_init has followed.
  Statement init;
  uint32_t init_agent = 0;
  Epoch init_epoch = 0;
  bool published = false;
  bool alive = false; // initialized, and not invalidated since
  Statement last;     // to change its counts
  // By warp of the cluster: the phase that was open when it began to wait; 0: it does not.
  std::vector<Epoch> waits_since;
  // By warp and lane: the phase whose completion it has found last; 0: none.
  std::vector<std::array<Epoch, kWarpSize>> found;
  bool begun = false;        // somebody has arrived, or expected bytes, in the open phase
  bool expects_late = false; // before any bytes were expected, an operation was issued or completed
  Participants participants; // that arrive, or whose operations complete
  Uses arrivals;             // of all phases
  int64_t tx = 0;            // bytes that the phase waits for
  Statement expects_last;    // the last expect_tx

  // Phases that have ended since the lanes of a warp last found one complete, or since the object began.
  Epoch unseen_phases(uint32_t agent, LaneMask lanes) const {
    Epoch next = first_phase;
    for (size_t lane = 0; lane < found[agent].size(); ++lane)
      if (lanes >> lane & 1)
        next = std::max(next, found[agent][lane] + 1);
    return phase - next;
  }
};

// What a phase that passes unseen lacks.
inline constexpr const char* kWaitForUsers =
    "a wait of whoever completes phases, for those who have used the one before (an \"empty\" mbarrier)";

// What the threads of a CTA knew together when they exited.
struct ExitState {
  // Operations that read its shared memory and complete on another CTA's mbarrier.
  struct Reading {
    uint32_t agent = 0;
    Epoch epoch = 0;
    Statement issuer;
  };
  std::vector<Reading> read_for_others;
  Knowledge knowledge;
  Clock observed;       // arrivals at its mbarriers that its threads have waited for
  uint32_t threads = 0; // that have exited
  bool complete = false;
  Spot arrival = {}; // at the cluster's barrier, by the last thread, which has not waited there
  Statement last;
};

// One defect is one finding: an id and two instructions. Which of them comes first is up to the schedule.
using DefectKey = std::tuple<std::string, vgpu::InstId, vgpu::InstId>;

// Two accesses that race, as long as nobody has used what the load of the two has got.
struct HeldRace {
  DefectKey key;
  uint8_t width = 0;
  Finding finding;
  Advice advice;
  bool used = false;
};

struct ClusterState {
  // What is remembered of accesses to its shared memory: those of another cluster, that are empty now, or new
  // ones.
  struct Own {
    std::unique_ptr<Records> records;
    std::unique_ptr<AccessSets> sets;
    static Own make();
  };
  ClusterState(const vgpu::Cluster& cluster, Own own, bool forgets);
  // All threads know what was done to shared memory.
  void forget();

  WarpState& warp(const vgpu::Cta& cta, const vgpu::Warp& warp) {
    return warps[cta.rank * warps_per_cta + warp.index];
  }
  WarpState& warp(const vgpu::Exec& x) { return warp(*x.cta, *x.warp); }
  uint32_t new_agent() { return agents++; }
  MbarrierState& mbarrier(const vgpu::SharedPlace& at);
  // Of the warpgroup that the warp belongs to.
  uint32_t products_agent(const vgpu::Cta& cta, uint32_t warp);

  const vgpu::Cluster& cluster;
  uint64_t id = 0;
  uint32_t warps_per_cta = 0;
  std::vector<WarpState> warps; // their agents are their indices
  uint32_t agents = 0;

  Own own; // before what names it
  Records& records;
  AccessSets& sets;
  AccessSets::Free free_sets, free_global;     // of these, and of those of accesses to global memory
  std::vector<std::unique_ptr<Shadow>> shared; // by rank
  TensorUses tensor_uses;
  // The shadows of the allocations that were accessed last.
  std::array<std::pair<const vgpu::Allocation*, Shadow*>, 8> shadows{};
  size_t oldest_shadow = 0;
  Records::Cursor cursor, global_cursor;
  // Of its one CTA, whose threads know at a barrier of all what each has done to shared memory: that is
  // forgotten there. Not where asynchronous operations may ask for it, which a barrier alone does not order.
  bool forgets = false;
  Pending pending; // of a cluster that forgets

  std::map<std::pair<uint32_t, uint32_t>, Gathering> barriers;      // by CTA rank and number
  Gathering cluster_barrier;                                        // of the phase that is open
  Knowledge cluster_passed;                                         // of the last complete one
  Clock cluster_unreleased;                                         // Gathering::unreleased of that
  Spot cluster_unreleased_by;                                       // likewise
  std::map<std::pair<uint32_t, uint32_t>, MbarrierState> mbarriers; // by CTA rank and offset
  std::shared_ptr<Uses> waits = std::make_shared<Uses>();           // on mbarriers, that have ended
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> products;       // agents by CTA rank and warpgroup
  UndefinedMemory undefined;
  std::vector<UndefinedValues> undefined_values; // by agent of a warp
  std::vector<HeldRace> held;
  std::map<DefectKey, uint32_t> held_at;
  std::vector<RacingValues> racing_values; // of these, by agent of a warp
  PrivateRegions private_regions;          // that these ask for
  // What was answered last about a load of a warp, and when.
  struct KnownFate {
    Whereabouts where;
    bool every = false; // time that it was executed
    uint64_t instructions = 0;
    Fate fate;
  };
  std::map<std::pair<const vgpu::Warp*, vgpu::InstId>, KnownFate> fates;
  SyncLocations locations; // in shared memory
  // What threads of other CTAs last did to a CTA's shared memory: records, by rank and agent, and lane.
  std::map<std::pair<uint32_t, uint32_t>, std::array<uint32_t, kWarpSize>> remote;
  std::vector<ExitState> exits; // by rank
  uint32_t grid_wait = 0;       // agent of the grids that griddepcontrol.wait has waited for
  // The mbarriers that are alive lie between these offsets, by rank.
  struct Span {
    uint64_t begin = ~uint64_t{0}, end = 0;
  };
  std::vector<Span> mbarrier_spans;
  // Strong writes that threads of a CTA have read, by its rank: the last ones.
  struct Hearsay {
    static constexpr size_t kMost = 64;
    std::vector<Heard> heard;
    size_t next = 0;
    // What was heard last: of which SyncLocation::version, by whom.
    uint64_t version = 0;
    uint32_t agent = 0;
  };
  std::vector<Hearsay> hearsay;
  // Threads of that warp have learned nothing of what others knew who have synchronized with them.
  void hear(uint32_t rank, const WarpState& warp, const Clock& knew, bool narrow, const SyncPair& by) {
    if (!knew.empty())
      hear(rank,
           {std::make_shared<const Known>(knew), narrow, warp.knowledge.agent(), warp.knowledge.epoch(), by});
  }
  void hear(uint32_t rank, const Heard& heard) {
    Hearsay& of = hearsay[rank];
    if (of.heard.size() < Hearsay::kMost)
      of.heard.push_back(heard);
    else
      of.heard[of.next++ % Hearsay::kMost] = heard;
  }
  // Descriptors of wgmma that were looked at, by instruction.
  std::set<std::pair<vgpu::InstId, uint64_t>> matrices;
  // cp.async.mbarrier.arrive and tcgen05.commit in flight, by AsyncOperation::number: what they wait for.
  struct OthersArrive {
    uint32_t agent = 0;
    int lane = 0;
    Epoch epoch = 0;
    Knowledge knew = {}; // of tcgen05.commit: what its thread came after, and so do its operations
  };
  std::unordered_map<uint64_t, OthersArrive> arriving;
};

} // namespace lemma::check
