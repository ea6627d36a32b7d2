// What the threads of a cluster know of what came before: the clocks, and how synchronization moves them.
//
// Each lane has clocks. `known` is what precedes it. `fenced` is what proxy fences on the way have made known
// to the async proxy, for each kind of memory, since a fence may be of one alone: accesses of the generic
// proxy precede an asynchronous operation only if both have them. `mapped` is that for the tensormap proxy,
// whose fences come in pairs. `tensor` is what synchronization of any kind, relaxed too, takes along of the
// asynchronous operations of tcgen05, once tcgen05.fence::before_thread_sync or tcgen05.commit has handed it
// on; what precedes such an operation its thread has from there by tcgen05.fence::after_thread_sync. Lanes
// that know the same share a group.
//
// A lane's own accesses are known to it without a clock; they enter the clocks that it hands on, with the
// warp's epoch, which then ends.
//
// PTX ISA: "Causality Order", "Proxy-preserved base causality order". Tests: tests/unit/check/order_test.cc.
#pragma once

#include "check/clock.h"
#include "check/handover.h"
#include "check/statement.h"
#include "vgpu/code/memory_order.h"

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace lemma::check {

// How far one thread is from another: what a scope has to include. 0: they are in one CTA, 1: in one cluster,
// 2: on one GPU.
enum Distance : uint8_t { kSameCta, kSameCluster, kSameGpu, kDistances };
// Of any two that have a cluster and a CTA rank.
template <class A, class B>
Distance distance_between(const A& a, const B& b) {
  return a.cluster != b.cluster ? kSameGpu : a.cta_rank != b.cta_rank ? kSameCluster : kSameCta;
}
inline bool includes(vgpu::MemoryScope scope, Distance distance) {
  return static_cast<int>(scope) > static_cast<int>(distance); // MemoryScope::cta is 1
}

// What proxy fences have made known towards the proxy of tensor maps, of accesses by threads so far away: the
// release half alone, whichever map it is for; and the acquire half after it, by the address of the map,
// which it names.
class MapClocks {
public:
  using Clocks = std::array<Clock, kDistances>;

  // Both halves; null: nothing.
  const Clock* of(uint64_t map, Distance distance) const;
  // The release half.
  bool is_released(Distance distance, uint64_t cluster, uint32_t agent, int lane, Epoch epoch) const;
  // A thread that knows that has a release fence of that scope.
  void release(const Clock& known, vgpu::MemoryScope scope);
  // ... an acquire fence, for the map.
  void acquire(uint64_t map, vgpu::MemoryScope scope);
  void join(const MapClocks& other);
  bool shares_with(const MapClocks& other) const { return fenced_ == other.fenced_; }

private:
  struct Fenced {
    Clocks released;
    std::map<uint64_t, Clocks> acquired;
  };
  std::shared_ptr<const Fenced> fenced_; // null: there is no such fence
};

struct Knowledge {
  Clock known;
  std::array<Clock, 2> fenced; // of global, and of shared memory
  MapClocks mapped;
  Clock tensor;
  const Handover* later = nullptr; // what is to be added to these before they are asked; null: nothing

  void join_settled(const Knowledge& other) { // but for `later`
    known.join(other.known);
    for (size_t i = 0; i < fenced.size(); ++i)
      fenced[i].join(other.fenced[i]);
    mapped.join(other.mapped);
    tensor.join(other.tensor);
  }
  void join(const Knowledge& other) {
    join_settled(other);
    if (other.later)
      later = other.later->of->owner->both(other.later, later);
  }
  void settle() {
    if (later)
      later->of->owner->settle(*this);
  }
  void clear() { *this = {}; }
  bool shares_with(const Knowledge& other) const {
    return known.shares_with(other.known) && fenced[0].shares_with(other.fenced[0]) &&
           fenced[1].shares_with(other.fenced[1]) && mapped.shares_with(other.mapped) &&
           tensor.shares_with(other.tensor) && later == other.later;
  }
};

struct Base {
  LaneMask lanes = 0;
  Knowledge knowledge;
  mutable uint32_t mark = 0; // the last question that has come by
};

// The asynchronous operations of one kind that a thread waits for by groups. Epochs of its operations: those
// of an open group, and of what is known to be complete.
struct GroupsOfThread {
  Epoch open = 1;
  Epoch done = 0, read = 0; // complete; their sources have been read
  Epoch issued = 0;         // the last that has an operation
  std::deque<Epoch> committed;
  Statement last; // that reads shared memory
  // The last wait: the group that was open then, how many it did not wait for, whether for reads alone.
  Epoch waited = 0;
  uint64_t waited_but = 0;
  bool waited_for_reads = false;

  void commit() { committed.push_back(open++); }
  // All but the last `pending` groups are complete, or have been read.
  void wait(uint64_t pending, bool read_only) {
    waited = open;
    waited_but = pending;
    waited_for_reads = read_only;
    if (committed.size() <= pending)
      return;
    const Epoch epoch = committed[committed.size() - 1 - pending];
    read = std::max(read, epoch);
    if (read_only)
      return;
    done = std::max(done, epoch);
    committed.erase(committed.begin(), committed.end() - static_cast<ptrdiff_t>(pending));
  }
  void wait_all() {
    done = read = open++;
    committed.clear();
  }
};

// A kind of operations that lanes issue, and agents that stand for their reads and writes.
struct LaneGroups {
  uint32_t write_agent = 0, read_agent = 0;
  std::array<GroupsOfThread, kWarpSize> lanes;
};

// tcgen05.ld and st of a warp, which it waits for as a whole: agents, and epochs that a wait ends.
struct TensorMoves {
  uint32_t load_agent = 0, store_agent = 0;
  Epoch loads = 1, stores = 1;
  Spot last_wait; // none: there was none
};

// Lanes that know the same.
struct LaneGroup {
  LaneMask lanes = kAllLanes;
  Knowledge knowledge;
  Clock tensor_fenced; // Knowledge::tensor, as of the last tcgen05.fence::after_thread_sync
  // What relaxed reads have seen, by how far away it was released: an acquire fence makes it known.
  std::array<Knowledge, kDistances> seen;
  bool has_seen = false;
  bool fenced_narrowly = false;  // since then, with a scope that does not reach as far
  std::vector<SyncPair> seen_by; // what they have seen then, by which reads: the first ones
  // As of the last release fence: what a strong write after it releases.
  Knowledge at_fence;
  Epoch fence_epoch = 0; // 0: there was none
  vgpu::MemoryScope fence_scope = vgpu::MemoryScope::none;

  bool same_as(const LaneGroup& other) const {
    return !has_seen && !other.has_seen && fence_epoch == other.fence_epoch &&
           fence_scope == other.fence_scope && knowledge.shares_with(other.knowledge) &&
           at_fence.shares_with(other.at_fence) && tensor_fenced.shares_with(other.tensor_fenced);
  }
};

class WarpKnowledge {
public:
  WarpKnowledge(uint64_t cluster, uint32_t agent) : cluster_(cluster), agent_(agent), groups_(1) {}

  uint64_t cluster() const { return cluster_; }
  uint32_t agent() const { return agent_; }
  Epoch epoch() const { return epoch_; }
  const std::vector<LaneGroup>& groups() const {
    if (!is_settled())
      settle();
    return groups_;
  }
  const LaneGroup& group_of(int lane) const;
  // What the lanes know, and what they did themselves.
  Knowledge all_of(LaneMask lanes) const;

  // What lanes have learned by handovers is worked out when somebody asks for groups(). Until then: whether
  // there is any; what they know beside that; and what they have come after, null: nothing.
  bool is_settled() const { return after_lanes_ == 0 && !has_later_; }
  const std::vector<LaneGroup>& settled_part() const { return groups_; }
  const Handover* after(int lane) const;
  bool all_know_the_same() const { return groups_.size() == 1 && after_lanes_ == 0; }
  // Whether what lanes release may be noted as a handover.
  bool may_hand_over() const { return !copies && !bulk && !tensor && !moves; }
  // An instruction of so many lanes that hands on what they know. Their epoch ends.
  HandingOver& begin_handover(Handovers& handovers, int lanes);
  // Those lanes of it, behind what is handed on there already.
  const Handover* hand_over(HandingOver& instruction, LaneMask lanes, const Handover* before, uint64_t time);
  // The lanes have come after that, which comes after what they have handed on themselves.
  void come_after(LaneMask lanes, const Handover* after);

  // What the lanes hand on now. Their epoch ends.
  Knowledge release(LaneMask lanes);
  // The same, not worked out yet where what they know is not either. `time`: of Handover.
  Knowledge release_later(LaneMask lanes, uint64_t time);
  // The same of all lanes that wait until they have got what they hand on: only the epoch ends, which is
  // returned, and whoever collects the rest by then asks for groups() and add_own().
  Epoch end_epoch() { return epoch_++; }
  // Own accesses and finished operations of the lanes, up to `epoch`.
  void add_own(Clock& clock, LaneMask lanes, Epoch epoch) const;
  // Counts what changes the clocks of any lane.
  uint64_t changes() const { return changes_; }
  // What relaxed operations of the lanes hand on to threads so far away: what was known at the last release
  // fence, if there was one whose scope reaches as far.
  std::optional<Knowledge> released_at_fence(LaneMask lanes, Distance distance) const;
  // The lanes learn that.
  void acquire(LaneMask lanes, const Knowledge& learned);
  // ... once they have a fence.
  void see(LaneMask lanes, const Knowledge& learned, Distance distance, const SyncPair& by);
  // They know that, and what they knew is part of it.
  void become(LaneMask lanes, const Knowledge& knowledge);
  void fence(LaneMask lanes, vgpu::MemoryOrder order);
  bool has_release_fence() const { return has_release_fence_; } // some lanes have, or had
  // Towards the async proxy, of accesses to both kinds of memory or to one.
  void proxy_fence(LaneMask lanes, bool global, bool shared);
  // Towards that of tensor maps: the release of what was done to them, and the acquire for the one at an
  // address.
  void map_release(LaneMask lanes, vgpu::MemoryScope scope);
  void map_acquire(LaneMask lanes, vgpu::MemoryScope scope, uint64_t map);
  // tcgen05.fence; and what a relaxed arrival hands on to one, and a relaxed wait takes.
  void tensor_fence_before(LaneMask lanes);
  void tensor_fence_after(LaneMask lanes);
  Clock tensor_of(LaneMask lanes) const;
  void take_tensor(LaneMask lanes, const Clock& tensor);
  // bar.warp.sync of these lanes. `time`: of Handover.
  void synchronize(LaneMask lanes, uint64_t time);

  // Of cp.async, and of bulk operations; null: the warp has issued none.
  std::unique_ptr<LaneGroups> copies, bulk;
  // Of wgmma.
  GroupsOfThread products;
  // Of tcgen05: what comes before a commit, by thread; ld and st. Null: the warp has issued none.
  std::unique_ptr<LaneGroups> tensor;
  std::unique_ptr<TensorMoves> moves;

private:
  // Calls f(group) for groups that are these lanes, splitting those that are not wholly.
  template <class F>
  void each_part(LaneMask lanes, F&& f);
  template <class F>
  void split(LaneMask lanes, F&& f) const;
  // ... and puts together those that have come to know the same.
  template <class F>
  void each_group(LaneMask lanes, F&& f);
  void merge() const;
  // A group for each of what lanes have come after, which it has to learn later.
  void fold() const;
  void settle() const;

  uint64_t cluster_;
  uint32_t agent_;
  Epoch epoch_ = 1;
  uint64_t changes_ = 0;
  bool has_release_fence_ = false;
  mutable std::vector<LaneGroup> groups_;
  mutable LaneMask after_lanes_ = 0; // that have come after something that their groups do not know
  std::array<const Handover*, kWarpSize> after_{};
  mutable bool has_later_ = false;             // a group has
  mutable std::shared_ptr<const Bases> bases_; // what groups know, for handovers; null: not made yet
};

} // namespace lemma::check
