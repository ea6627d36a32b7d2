// The checker: an observer that knows what the PTX memory consistency model orders, and reports accesses that
// it does not order.
//
// Two accesses race if they overlap, at least one writes, they are not morally strong relative to each other,
// and (proxy-preserved) causality orders neither before the other. The shadow memory (shadow.h) names the
// last write of each place and the reads since; whoever comes next asks its clocks (knowledge.h) whether they
// precede it. An asynchronous operation is an agent of its own: it knows what its issuer knew when it was
// issued, and what it does is known to those who have seen its completion. Its accesses enter the shadow when
// it is issued, for it may make them at any time from then on.
//
// Which rules there are, and how the ISA is read where it is silent: docs/checks.md.
//
// PTX ISA: "Memory Consistency Model", "Async proxy". Tests: tests/unit/check/, tests/check.
#pragma once

#include "check/access_sets.h"
#include "check/accessor.h"
#include "check/advice.h"
#include "check/cluster_state.h"
#include "check/needed_loads.h"
#include "check/provenance.h"
#include "check/results.h"
#include "lemma/report.h"
#include "vgpu/async/tensor_mma.h"
#include "vgpu/engine/observer.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace lemma::check {

class Places; // places.h

// By what threads of a cluster wait for each other, beside barriers of all: mbarriers and named barriers;
// words in shared memory that others have written.
enum class Roles : uint8_t { none, arrivals, flags };

class Checker : public vgpu::Observer {
public:
  Checker();
  ~Checker() override;

  // Of the launches that have ended, in the order of their PTX lines.
  std::vector<Finding> findings() const;
  // Of the launch that has ended last: its global memory, and the shared memory of the cluster of which most
  // is remembered; accesses and sets of them included.
  struct Sizes {
    ShadowSize global, shared;
    uint64_t handover_steps = 0; // Handovers::steps()
  };
  const Sizes& sizes() const { return sizes_; }
  // Nothing is noted to be worked out later: the slow and obvious way, for tests.
  void hand_over_at_once() { handovers_.close(); }

  void launch_begins(const vgpu::Launch& launch) override;
  void launch_ends(const vgpu::Launch& launch) override;
  void cluster_begins(const vgpu::Cluster& cluster) override;
  void cluster_ends(const vgpu::Cluster& cluster) override;
  void accesses(const vgpu::Exec& x, const vgpu::WarpAccess& access) override;
  void reads_past_shared(const vgpu::Exec& x, const vgpu::Access& access, int lane,
                         uint32_t past_bytes) override;
  void has_read(const vgpu::Exec& x) override;
  void asks_for_no_cluster(const vgpu::Exec& x, LaneMask lanes) override;
  void synchronizes(const vgpu::Exec& x, const vgpu::Synchronization& sync) override;
  void barrier_completes(const vgpu::Cta& cta, uint32_t id) override;
  void cluster_barrier_completes(const vgpu::Cluster& cluster) override;
  void issues(const vgpu::Exec& x, const vgpu::AsyncOperation& operation) override;
  void commits(const vgpu::Exec& x, vgpu::AsyncGroup group, LaneMask lanes) override;
  void waits(const vgpu::Exec& x, const vgpu::GroupWait& wait) override;
  void touches_wgmma_registers(const vgpu::Exec& x) override;
  void moves_tensor(const vgpu::Exec& x, const vgpu::TensorMove& move) override;
  void orders_tensor(const vgpu::Exec& x, vgpu::TensorOrder order) override;
  void frees_tensor(const vgpu::Exec& x, uint32_t column, uint32_t columns) override;
  void exits(const vgpu::Exec& x, LaneMask lanes) override;
  void is_stuck(const vgpu::Cluster& cluster, Fault& fault) override;
  void reads_absent(const vgpu::Exec& x, LaneMask readers, LaneMask absent) override;
  void finds_undefined(const vgpu::Exec& x, const vgpu::DecodedInst& in, int lane,
                       const std::string& what) override;
  void begins(const vgpu::Exec& x) override;
  void ends(const vgpu::Exec& x, const vgpu::DecodedInst& in) override;
  void shuffles(const vgpu::Exec& x, const int* sources) override;
  void arrives(const vgpu::MbarrierArrival& arrival) override;
  void finds_complete(const vgpu::Exec& x, const vgpu::MbarrierWait& wait) override;

private:
  struct Shard; // of the strong writes to global memory
  // An access that goes on: by whom, and what its cells are to hold.
  struct Visit {
    ClusterState& cluster;
    Accessor accessor;
    uint32_t number = 0; // of the record
    LaneMask lanes = 0;  // that access
    bool writes = false;
    vgpu::MemoryPlace place = {}; // of the range
    uint64_t bytes = 0;           // ... from there
    // Of what is no asynchronous operation: the piece that it is of.
    const vgpu::Exec* x = nullptr;
    const vgpu::WarpAccess* access = nullptr;
    int piece = 0;
    Shadow* shadow = nullptr;
    bool is_special = false; // see enter()
    bool is_judged = false;  // what was there before: by another visit
    bool is_late = false;    // it was made before: ClusterState::pending
    // What cells before have shown: a record that precedes all lanes, and what became of the reads of one.
    uint32_t passed = 0, passed_write = 0; // ... the last weak write of one
    uint32_t next_lane = 0;                // from cell to cell: so many lanes further
    bool by_lane = false;                  // its lanes one by one were asked of an earlier access
    uint32_t last_read = ~0u, last_set = 0;
    uint64_t last_page = 0;                // sets are of the cells of one page
    LaneMask last_lanes = 0, last_own = 0; // from the cell's position on, and as they are
    // An operation's reads have no lanes.
    LaneMask members() const { return accessor.collective ? 1 : lanes; }
  };

  ClusterState& state(const vgpu::Cluster& cluster);
  Shadow& shadow_of(ClusterState& cluster, const vgpu::MemoryPlace& place);
  // The number of an equal record, or of a new one. 0: there is no room.
  uint32_t number_of(ClusterState& cluster, WarpState& warp, const Record& record, bool global);
  void number(ClusterState& cluster, CachedRecord& cached);
  const CachedRecord& record_access(ClusterState& cluster, WarpState& warp, const Pending::Who& who,
                                    const vgpu::WarpAccess& access);
  static Record record_of(const ClusterState& cluster, const Pending::Who& who, vgpu::AccessKind kind,
                          vgpu::Proxy proxy, uint32_t bytes);
  void uses_mbarriers(ClusterState& cluster, WarpState& warp, const vgpu::Exec& x,
                      const vgpu::WarpAccess& access, const Record& record);
  // The record of an access, how its lanes lie, and, where those at one place go together, at which places.
  struct Told {
    const Record& record;
    uint32_t number;
    vgpu::LanesLie lie;
    const Places* places;
  };
  void visit_access(ClusterState& cluster, WarpState& warp, const vgpu::Exec& x,
                    const vgpu::WarpAccess& access, const Told& told);
  bool waits(ClusterState& cluster, const Pending::Who& who, const vgpu::Exec& x,
             const vgpu::WarpAccess& access, vgpu::LanesLie lie) const;
  bool value_is_taken(const vgpu::Exec& x, const vgpu::WarpAccess& access, vgpu::InstId in) const;
  void enter_pending(ClusterState& cluster);
  bool may_be_kept(const WarpState& warp, const vgpu::WarpAccess& access, const Record& record,
                   bool returns) const;
  LaneMask keep_updates(ClusterState& cluster, WarpState& warp, const vgpu::WarpAccess& access,
                        const Told& told);
  void enter_updates(const vgpu::Allocation& allocation, Page& page, uint64_t offset, const Updates& updates);
  static bool reads(const vgpu::Exec& x, const vgpu::WarpAccess& access);
  void enter_access(const vgpu::Exec& x, const vgpu::WarpAccess& access, Told told, bool returns);
  // visit.place is in its owner's memory: what follows is there too.
  void enter(Visit& visit);
  void visit_range(Visit& visit, uint64_t bytes);
  // Pieces side by side from visit.place on; where not `by_lane`, visit.lanes access them together.
  struct Row {
    LaneMask pieces = 0;
    uint32_t piece_bytes = 0;
    bool by_lane = true;
  };
  void visit_row(Visit& visit, const Row& row);
  void visit_place(Visit& visit, LaneMask lanes, int piece);
  bool visit_quickly(Visit& visit, Cell& cell, uint32_t position);
  static bool replaces(const Visit& visit); // what the cells hold: a weak write
  uint64_t visit_cells(Visit& visit, Cell* cells, uint64_t count, uint64_t offset);
  static uint64_t repeat_where_empty(const Visit& visit, Cell* cells, uint64_t count);
  uint64_t repeat(Visit& visit, const Cell& before, Cell* cells, uint64_t count);
  void visit(Visit& visit, uint64_t bytes); // the first two
  void visit_cell(Visit& visit, Cell& cell, uint64_t offset);
  // The visit with what was there before.
  void check_earlier(Visit& visit, const Cell& cell, uint64_t offset, const AccessSets::Member& earlier);
  void check_set(Visit& visit, const Cell& cell, uint64_t offset, uint32_t position);
  bool is_strong_with(const Visit& visit, Records::Id earlier) const;
  // `position`: of the cell in its page (access_sets.h).
  void add_access(Visit& visit, Cell& cell, uint64_t offset, uint32_t position);
  static bool repeats(Visit& visit, const Cell& cell, uint64_t offset, LaneMask lanes);
  bool stands_for(const Visit& visit, const AccessSets::Member& earlier) const;
  static bool is_full(const Visit& visit, const AccessSets::Set& set);
  static bool takes_last_place(const Visit& visit, const AccessSets::Set& set);
  void add_member(const Visit& visit, AccessSets::Set& set, const AccessSets::Member& member,
                  uint32_t position);
  void release(Visit& visit, uint32_t since);
  const Records& records_of(const Visit& visit) const {
    return visit.place.is_shared() ? visit.cluster.records : global_records_;
  }
  // Sets of accesses to the place, and those that this cluster may take.
  void fetch_ahead(const Visit& visit, const vgpu::WarpAccess& access);
  AccessSets& sets_of(const Visit& visit) {
    return visit.place.is_shared() ? visit.cluster.sets : global_sets_;
  }
  static AccessSets::Free& free_sets(const Visit& visit) {
    return visit.place.is_shared() ? visit.cluster.free_sets : visit.cluster.free_global;
  }
  // A cell's earlier access does not precede the visit.
  void conflict(Visit& visit, const Cell& cell, uint64_t offset, Records::Id earlier, int lane);
  static std::optional<int> earlier_piece(const Visit& visit, uint64_t offset);
  bool writes_since(const Visit& visit, const Cell& cell) const;
  bool writes_the_same(const Visit& visit, uint64_t offset, const Record& earlier) const;
  CheckedAccess describe_later(const Visit& visit, int lane) const;
  CheckedAccess describe_earlier(const Visit& visit, const Cell& cell, uint64_t offset, Records::Id id) const;
  // What might have ordered two accesses, and does not.
  struct Attempt {
    enum Kind : uint8_t { none, relaxed, narrow } kind = none;
    std::vector<SyncPair> by = {}; // what they have synchronized by
    bool is_released = false;      // what was written was released: the acquire is missing
  };
  static Attempt attempt(const Visit& visit, const Record& earlier, int earlier_lane, int lane);
  struct Verdict;
  // Not in words: its id, and whether it is a note, alone.
  Verdict judge(const Visit& visit, const Record& earlier, int earlier_lane, int lane, bool in_words) const;
  static Verdict judge_unwaited(const Visit& visit, const Record& earlier, int earlier_lane, int lane,
                                const Attempt& attempt);
  static Verdict judge_map(const Visit& visit, const Record& earlier, int earlier_lane, int lane);
  struct Progress;
  static Progress progress_of(const ClusterState& cluster, const Record& operation, int lane);
  Roles roles(const ClusterState& cluster) const;
  using Key = DefectKey;
  static Key defect_key(const std::string& id, bool is_note, vgpu::InstId one, vgpu::InstId other);
  // Counts the finding, and keeps the first of those between threads that are the farthest from each other.
  void report(const Key& key, uint8_t width, Finding finding, Advice advice);
  void report(Finding finding, Advice advice, vgpu::InstId one, vgpu::InstId other);
  // Counts it, if one between threads as far from each other is kept.
  bool is_reported(const Key& key, uint8_t width);
  WgmmaRegisters::Report reports_registers();

  // Values of loads that race (held.cc): true if nobody has used this one yet, and it is followed.
  bool holds(const Visit& visit, Records::Id earlier, const Key& key, uint8_t width,
             const std::function<Finding()>& finding, const Advice& advice);
  LaneMask racing_lanes(const Visit& visit, Records::Id earlier) const;
  bool follows_earlier(const Visit& visit, Records::Id earlier, uint32_t race);
  static const Fate& fate_in(ClusterState& cluster, const vgpu::Warp& warp, vgpu::InstId load,
                             const Whereabouts& where, bool every, uint64_t instructions);
  RacingValues::Report uses_racing(ClusterState& cluster);
  void tell_unused(ClusterState& cluster);
  void tell_unfinished(ClusterState& cluster);
  bool is_used_elsewhere(const Key& key) const;

  // Tensor memory (tensor_order.cc).
  static TensorOperation tensor_operation(ClusterState& cluster, const vgpu::Exec& x, TensorDeed deed,
                                          uint32_t agent, Epoch epoch);
  static TensorMoves& tensor_moves(ClusterState& cluster, WarpState& warp);
  using EachTensorCell = std::function<void(const vgpu::TensorVisit&)>;
  void use_tensor_memory(ClusterState& cluster, const WarpState& warp,
                         std::shared_ptr<const TensorOperation> operation, bool writes,
                         const EachTensorCell& each);
  void issues_in_tensor_memory(ClusterState& cluster, const vgpu::Exec& x,
                               const vgpu::AsyncOperation& operation, uint32_t agent, Epoch epoch);
  void conflict_in_tensor_memory(const ClusterState& cluster, const WarpState& warp,
                                 const TensorUses::Use& earlier, const TensorUses::Use& later,
                                 const TensorUses::Place& place);

  bool has_been_read(const TensorUses::Use& earlier, const TensorUses::Use& later);
  bool is_unwaited_too(const Key& key) const;

  // Rules of use (protocol.cc).
  struct Misuse {
    std::string_view id;
    bool is_note = false;
    std::string message;
    Statement who;
    std::string what;
    Statement before = {}; // what does not fit with it; without an instruction: there is none
    std::string what_before = {};
    std::string memory;
    Advice fix;
    std::optional<uint64_t> address = {}; // of the memory that both are about
    std::string_view kind = {};           // in the DefectKey: of what an id says, which
  };
  void misuse(Misuse found);
  void arrives_at_barrier(ClusterState& cluster, const vgpu::Exec& x, const vgpu::Synchronization& sync,
                          Gathering& barrier);
  void meets_at_barrier(const vgpu::Cta& cta, uint32_t id, const Gathering& barrier);
  void initializes(ClusterState& cluster, const vgpu::Exec& x, const vgpu::SharedPlace& at, int lane);
  void publishes(ClusterState& cluster, const vgpu::Exec& x);
  void signals(ClusterState& cluster, const vgpu::Exec& x, const vgpu::SharedPlace& at, int lane);
  std::vector<Remedy> invalidations(const ClusterState& cluster, const vgpu::SharedPlace& at, Spot last,
                                    Spot write) const;
  void touches_mbarriers(const Visit& visit, uint64_t bytes);
  void tests_phase(ClusterState& cluster, const WarpState& warp, const vgpu::SharedPlace& at);
  void ends_wait(ClusterState& cluster, const vgpu::Exec& x, const vgpu::MbarrierWait& wait);
  void lacks_scope(MbarrierState& mbarrier, const vgpu::Exec& x, const vgpu::MbarrierWait& wait,
                   const HandedOn::OfCta& threads);
  void counts_bytes(MbarrierState& mbarrier, const vgpu::MbarrierArrival& arrival);
  bool waits_for_others(const vgpu::Cluster& stuck, const vgpu::Split& split);
  void names_absent(const vgpu::Exec& x, const vgpu::Synchronization& sync);
  void depends_on_grids(ClusterState& cluster, const vgpu::Exec& x, const vgpu::Allocation* memory,
                        bool reads, bool writes, LaneMask lanes);
  void check_grid_waits();
  UndefinedValues::Report uses_undefined(const vgpu::Exec& x);
  static void votes(ClusterState& cluster, const vgpu::Exec& x, const vgpu::Synchronization& sync,
                    Gathering& barrier);
  static UndefinedValues& values(ClusterState& cluster, const vgpu::Exec& x);
  static RacingValues& racing_values(ClusterState& cluster, const vgpu::Exec& x);
  std::shared_ptr<const int64_t> reach(const ptx::Variable& variable, uint64_t bytes);
  void stays_in_variable(const vgpu::Exec& x, const vgpu::WarpAccess& access, vgpu::InstId in);
  void reads_map(ClusterState& cluster, const vgpu::Exec& x, const vgpu::AsyncOperation& operation,
                 Record record);
  // How tiles lie (tiles.cc).
  void looks_at_tiles(ClusterState& cluster, const vgpu::Exec& x, const vgpu::AsyncOperation& operation);
  void looks_at_box(const vgpu::Exec& x, const vgpu::AsyncOperation& operation);
  void looks_at_matrix(const vgpu::Exec& x, const vgpu::AsyncOperation& operation,
                       const vgpu::SharedMatrix& matrix);
  void notes_tile(const vgpu::Exec& x, const vgpu::AsyncOperation& operation, std::string message,
                  uint32_t address, std::string fix, std::string_view kind = {});
  bool is_read_too_early(const Key& key) const;
  void fences_proxy(const vgpu::Exec& x, WarpState& warp, const vgpu::Synchronization& sync);
  void leaves(ClusterState& cluster, const vgpu::Exec& x, LaneMask lanes);
  void cta_ends(ClusterState& cluster, const vgpu::Cta& cta);
  void outlives(ClusterState& cluster, const vgpu::Cta& cta, const Record& record, int lane);
  void reaches_out(const Visit& visit);
  void check_leftovers(ClusterState& cluster, const vgpu::Cluster& ended);
  std::string memory_of(const vgpu::SharedPlace& at) const;
  // Of the thread that made the access.
  Dim3 cta_of(const Record& record) const;
  Statement statement_of(const Record& record, int lane) const {
    return {record.code, record.instruction, cta_of(record), record.warp, lane};
  }
  CheckedAccess describe(const Record& record, int lane) const;

  void write_strongly(ClusterState& cluster, const vgpu::Exec& x, const vgpu::WarpAccess& access,
                      const Places& places, bool reads, bool returns);
  // What preceded a strong write of the lanes, and what they release with it.
  static const std::shared_ptr<const Known>& knew(WarpState& warp, LaneMask lanes);
  bool may_hand_over(const ClusterState& cluster, const WarpState& warp, const vgpu::Access& access) const;
  static std::optional<Released> release_at(WarpState& warp, const StrongWriter& writer,
                                            vgpu::MemoryOrder order);
  static void replaces(SyncLocation& location, const vgpu::MemoryPlace& place, uint32_t bytes,
                       const StrongWriter& by);
  bool may_give_old_value(const vgpu::Exec& x, const WarpState& warp, const WarpState::Read& read,
                          const SyncLocation& now, SyncLocation& old);
  // fence.sc (fences.cc).
  void fences_in_order(WarpState& warp, const vgpu::Synchronization& sync);
  static void reads_after_fence(WarpState& warp, LaneMask lanes, SyncLocation& location);
  static void overwrites_fenced(WarpState& warp, LaneMask lanes, const SyncLocation& location);
  static void hears_of_reads(WarpState& warp, LaneMask lanes, const StrongWriter& writer);
  static void would_know(WarpState& warp, const std::vector<StrongWriter>& writers);
  void learn(ClusterState& cluster, const vgpu::Exec& x, WarpState& warp, SyncLocation& location,
             const WarpState::Read& read);
  bool is_observed(const Visit& visit, uint64_t offset, const Record& earlier, int earlier_lane, int lane);
  // Calls f(map) for the map that has the place's strong writes, while nobody else does.
  template <class F>
  void with_locations(ClusterState& cluster, const vgpu::MemoryPlace& place, F&& f);

  const vgpu::Launch* launch_ = nullptr;
  // By vgpu::Cluster::place; null: none is there that is watched.
  std::vector<std::unique_ptr<ClusterState>> clusters_;
  std::mutex ended_mutex_; // guards what clusters that have ended leave: `spare_`, and of `sizes_` the shared
  // What clusters that have ended leave to others: memory for those of their own, the rest of a chunk of
  // global_records_, and sets of global_sets_ that nobody holds.
  struct Spare {
    ClusterState::Own own;
    Records::Cursor global_cursor;
    AccessSets::Free free_global;
  };
  std::vector<Spare> spare_;

  Handovers handovers_; // before what names them
  Records global_records_;
  AccessSets global_sets_;
  Sizes sizes_;
  std::shared_mutex shadows_mutex_;
  std::unordered_map<const vgpu::Allocation*, std::unique_ptr<Shadow>> shadows_;
  std::unique_ptr<Shard[]> shards_;
  std::atomic<uint64_t> versions_{0}; // SyncLocation::version
  // Of a schedule that gives old values (old_values.h), which has one host thread.
  bool gives_old_values_ = false;
  uint64_t old_value_key_ = 0, old_value_draws_ = 0;
  Knowledge fence_order_; // what the fence.sc so far have told each other

  // By ptx::Module::functions, of those that the launch may execute.
  std::vector<std::optional<Provenance>> provenances_;
  std::vector<std::optional<Results>> results_;
  NeededLoads needed_loads_;
  size_t function_of(const vgpu::Code& code) const; // its index

  // griddepcontrol.wait: what of each allocation was accessed before it, and whether it was after it.
  struct GridAccesses {
    std::optional<Statement> read, written; // before
    bool read_after = false;
  };
  bool waits_for_grids_ = false;   // a function of the launch does
  bool has_tensor_fences_ = false; // one has a tcgen05.fence
  bool polls_shared_ = false;      // one has a strong load, or a compare and swap, of shared memory
  bool may_forget_ = false;        // ClusterState::forgets, if the cluster is one CTA
  std::mutex grid_mutex_;
  std::map<const vgpu::Allocation*, GridAccesses> grid_accesses_;

  struct Found {
    Finding finding;
    Advice advice = "";
    uint8_t width = 0; // how far from each other its threads are
  };
  mutable std::mutex findings_mutex_;
  std::map<Key, Found> found_;
  std::unordered_map<const ptx::Variable*, std::shared_ptr<int64_t>> reaches_;
  std::vector<Finding> findings_;
};

} // namespace lemma::check
