// Clusters and their clocks: what synchronization does. Accesses are in visit.cc, asynchronous operations in
// operations.cc. See checker.h.
#include "check/checker.h"

#include "check/old_values.h"
#include "check/places.h"
#include "check/shard.h"
#include "isa/effects.h"
#include "lemma/explore.h"
#include "vgpu/code/program.h"
#include "vgpu/memory/mix.h"
#include "vgpu/memory/racing_copy.h"

#include <algorithm>

namespace lemma::check {

using vgpu::MemoryOrder;
using vgpu::Semantics;
using vgpu::SyncKind;

namespace {

constexpr size_t kMostReaders = 64;

// What a barrier of the CTA's threads does not order: operations that go on, proxies, objects that others are
// told by.
bool outlasts_barriers(isa::Opcode opcode) {
  namespace effect = isa::effect;
  return isa::effects_of(opcode).has_any(
      effect::asynchronous | effect::async_proxy | effect::tensormap_proxy | effect::aliases |
      effect::on_mbarrier | effect::makes_mbarrier | effect::ends_mbarrier | effect::cp_group |
      effect::bulk_group | effect::wgmma_group | effect::tensor_memory | effect::tracks);
}

// What an arrival with that order adds to what others will know who are so far away.
void hand_on(WarpState& warp, LaneMask lanes, MemoryOrder order, Distance distance, Knowledge& to) {
  to.tensor.join(warp.knowledge.tensor_of(lanes));
  if (releases(order.semantics))
    to.join(warp.knowledge.release(lanes));
  else if (const std::optional<Knowledge> released = warp.knowledge.released_at_fence(lanes, distance))
    to.join(*released);
}

// ... and what they would know if it released. What the lanes do afterwards is no part of that.
bool hold_back(WarpState& warp, LaneMask lanes, MemoryOrder order, Clock& unreleased) {
  if (releases(order.semantics))
    return false;
  unreleased.join(warp.knowledge.all_of(lanes).known);
  warp.knowledge.end_epoch();
  return true;
}

// The place's address, by which SyncLocations know it.
uint64_t sync_address(const vgpu::MemoryPlace& place) {
  return place.is_shared() ? uint64_t{place.cta->rank} << vgpu::kSharedRankShift | place.offset
                           : place.allocation->base + place.offset;
}

void add_reader(SyncLocation& location, const Reader& reader) {
  for (Reader& known : location.readers)
    if (known.agent == reader.agent && known.cluster == reader.cluster && known.epoch == reader.epoch &&
        known.scope == reader.scope) {
      known.lanes |= reader.lanes;
      return;
    }
  if (location.readers.size() < kMostReaders)
    location.readers.push_back(reader);
}

// Of an operation on an mbarrier. What has none has .cta by the ISA, and CUTLASS leaves it out where it means
// the cluster.
enum class SpelledScope : uint8_t { none, cta, cluster };
SpelledScope spelled_scope(const vgpu::Exec& x) {
  const ptx::Instruction& instruction = x.ptx_instruction(x.code->insts[x.pc]);
  return instruction.has(isa::Qual::cta)       ? SpelledScope::cta
         : instruction.has(isa::Qual::cluster) ? SpelledScope::cluster
                                               : SpelledScope::none;
}

bool is_of(const StrongWriter& earlier, const StrongWriter& later) {
  return earlier.cluster == later.cluster && earlier.agent == later.agent &&
         (later.lanes & ~earlier.lanes) == 0;
}

// Beside what others have released with that scope.
void add_released(SyncLocation& location, Released released) {
  for (Released& earlier : location.released)
    if (earlier.scope == released.scope &&
        (released.scope >= vgpu::MemoryScope::gpu ||
         (earlier.cluster == released.cluster && earlier.cta_rank == released.cta_rank))) {
      earlier.knowledge.join(released.knowledge);
      return;
    }
  location.released.push_back(std::move(released));
}

// The same, noted: a chain of handovers.
const Handover* hand_over(WarpKnowledge& knowledge, HandingOver& instruction, const StrongWriter& writer,
                          SyncLocation& location, uint64_t time) {
  auto found = std::ranges::find_if(location.released,
                                    [&](const Released& earlier) { return earlier.scope == writer.scope; });
  if (found == location.released.end())
    found = location.released.insert(found, Released{writer, {}});
  Knowledge& all = found->knowledge;
  const Handover* before = all.later;
  if (!all.known.empty()) {
    Handovers& handovers = *instruction.owner;
    all.later = nullptr;
    before = handovers.both(before, handovers.root(all, time));
    all = {};
  }
  return all.later = knowledge.hand_over(instruction, writer.lanes, before, time);
}

// What lanes come after that have handed that on, and find this there.
const Handover* newest(const Handover& own, const Knowledge& there) {
  if (there.later && there.known.empty() && there.later->is_soon_after(own))
    return there.later;
  Handovers& handovers = *own.of->owner; // another thread of the host was there meanwhile
  return handovers.both(&own, handovers.root(there, ~uint64_t{0}));
}

} // namespace

Checker::Checker() : global_records_(Records::kMost), shards_(std::make_unique<Shard[]>(kShards)) {}
Checker::~Checker() = default;

namespace {

// What locks and flags in shared memory are read by.
bool polls_shared(const ptx::Instruction& instruction) {
  if (!instruction.has(isa::Qual::shared) && !instruction.has(isa::Qual::shared_cta) &&
      !instruction.has(isa::Qual::shared_cluster))
    return false;
  const isa::Effects does = isa::effects_of(instruction.opcode);
  return (is_load(does) && vgpu::order_of(instruction).semantics != Semantics::weak) ||
         (is_atomic(does) && (instruction.has(isa::Qual::cas) || instruction.has(isa::Qual::exch)));
}

} // namespace

// --- launches and clusters

void Checker::launch_begins(const vgpu::Launch& launch) {
  launch_ = &launch;
  gives_old_values_ = launch.workers == 1 && gives_old_values(launch.config.schedule);
  old_value_key_ = vgpu::mix(vgpu::mix(launch.config.schedule) ^ launch.config.seed);
  old_value_draws_ = 0;
  fence_order_.clear();
  sizes_ = {};
  clusters_.resize(launch.most_clusters);
  const auto& functions = launch.program->module().functions;
  provenances_.assign(functions.size(), {});
  results_.assign(functions.size(), {});
  waits_for_grids_ = false;
  has_tensor_fences_ = false;
  polls_shared_ = false;
  may_forget_ = true;
  for (uint32_t i = 0; i < functions.size(); ++i) {
    if (functions[i].is_entry && &functions[i] != launch.entry->function)
      continue; // nobody calls a kernel
    provenances_[i].emplace(*launch.program, launch.program->code(i));
    results_[i].emplace(launch.program->code(i));
    for (const ptx::Instruction& instruction : functions[i].instructions) {
      waits_for_grids_ |= isa::effects_of(instruction.opcode).has(isa::effect::meets_grid) &&
                          instruction.has(isa::Qual::wait);
      has_tensor_fences_ |=
          isa::effects_of(instruction.opcode).has(isa::effect::tensor_memory | isa::effect::fences);
      may_forget_ &= !outlasts_barriers(instruction.opcode);
      polls_shared_ |= polls_shared(instruction);
    }
  }
}

size_t Checker::function_of(const vgpu::Code& code) const {
  return static_cast<size_t>(code.function - launch_->program->module().functions.data());
}

// What the launch did precedes the next one.
void Checker::launch_ends(const vgpu::Launch&) {
  check_grid_waits();
  std::map<uint64_t, ClusterState*> unfinished; // a fault has ended them
  for (const std::unique_ptr<ClusterState>& state : clusters_)
    if (state)
      unfinished[state->id] = state.get();
  for (const auto& [id, state] : unfinished)
    tell_unfinished(*state);
  sizes_.global = {0, global_records_.bytes() + global_sets_.bytes()};
  for (const auto& [allocation, shadow] : shadows_)
    sizes_.global += shadow->size();
  clusters_.clear();
  spare_.clear();
  shadows_.clear();
  global_records_.clear();
  global_sets_.clear();
  for (size_t i = 0; i < kShards; ++i)
    shards_[i].locations.clear();
  sizes_.handover_steps = handovers_.steps();
  handovers_.clear();
  Repairs repairs;
  for (auto& [key, found] : found_) {
    if (is_used_elsewhere(key) || is_read_too_early(key) || is_unwaited_too(key))
      continue;
    const Advice& advice = found.advice;
    if (gives_old_values_ && !advice.if_not.empty()) // in the order of the run nothing may be amiss
      found.finding.fix +=
          "; where each thread writes a word of its own and then reads the other's, fence.sc "
          "between the two";
    else if (repairs.contradicts(advice.remedies))
      found.finding.fix = advice.if_not;
    else
      found.finding.repairs = repairs.of(advice.remedies);
    if (found.finding.repairs.empty())
      found.finding.repairs = repairs.of(advice.or_else);
    repairs.add_alternatives(advice, found.finding);
    findings_.push_back(std::move(found.finding));
  }
  found_.clear();
  reaches_.clear();
  std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
    return a.access.place.ptx_line < b.access.place.ptx_line;
  });
}

std::vector<Finding> Checker::findings() const {
  const std::lock_guard lock(findings_mutex_);
  return findings_;
}

void Checker::cluster_begins(const vgpu::Cluster& cluster) {
  Spare spare;
  {
    const std::lock_guard lock(ended_mutex_);
    if (!spare_.empty()) {
      spare = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  auto made = std::make_unique<ClusterState>(
      cluster, spare.own.records ? std::move(spare.own) : ClusterState::Own::make(), may_forget_);
  made->global_cursor = spare.global_cursor;
  made->free_global = std::move(spare.free_global);
  for (const auto& cta : cluster.ctas)
    for (const vgpu::Warp& warp : cta->warps)
      warp.follows_values = false;
  clusters_[cluster.place] = std::move(made);
}

void Checker::cluster_ends(const vgpu::Cluster& cluster) {
  check_leftovers(state(cluster), cluster);
  tell_unused(state(cluster));
  ShadowSize size{0, state(cluster).records.bytes() + state(cluster).sets.bytes()};
  for (const std::unique_ptr<Shadow>& shadow : state(cluster).shared)
    size += shadow->size();
  const std::unique_ptr<ClusterState> ended = std::move(clusters_[cluster.place]);
  const std::lock_guard lock(ended_mutex_); // `ended` is deleted when nobody waits for it
  if (size.remembered_bytes > sizes_.shared.remembered_bytes)
    sizes_.shared = size;
  ended->records.clear();
  ended->sets.clear();
  spare_.push_back({std::move(ended->own), ended->global_cursor, std::move(ended->free_global)});
}

ClusterState& Checker::state(const vgpu::Cluster& cluster) {
  return *clusters_[cluster.place];
}

// --- fences and barriers

void Checker::synchronizes(const vgpu::Exec& x, const vgpu::Synchronization& sync) {
  ClusterState& cluster = state(*x.cta->cluster);
  WarpState& warp = cluster.warp(x);
  switch (sync.kind) {
  case SyncKind::fence:
    fences_in_order(warp, sync);
    if (x.code->opcode_of(x.code->insts[x.pc]) == isa::Opcode::fence_mbarrier_init)
      publishes(cluster, x);
    break;
  case SyncKind::proxy_fence:
    fences_proxy(x, warp, sync);
    break;
  case SyncKind::warp_barrier:
    warp.knowledge.synchronize(sync.lanes, versions_.load(std::memory_order_relaxed));
    names_absent(x, sync);
    break;
  case SyncKind::grid_wait: {
    Knowledge waited;
    waited.known.advance(cluster.id, cluster.grid_wait, kAllLanes, 1);
    warp.knowledge.acquire(sync.lanes, waited);
    break;
  }
  case SyncKind::convergence:
    names_absent(x, sync);
    break;
  case SyncKind::wgmma_fence:
    warp.registers.fence();
    break;
  case SyncKind::barrier_arrive: {
    Gathering& barrier = cluster.barriers[{x.cta->rank, sync.id}];
    arrives_at_barrier(cluster, x, sync, barrier);
    if (sync.waits && sync.lanes == kAllLanes && warp.knowledge.is_settled() &&
        warp.knowledge.all_know_the_same())
      barrier.whole.emplace_back(&warp, warp.knowledge.end_epoch());
    else
      barrier.knowledge.join(
          warp.knowledge.release_later(sync.lanes, versions_.load(std::memory_order_relaxed)));
    votes(cluster, x, sync, barrier);
    if (sync.waits)
      barrier.waiting.emplace_back(&warp, sync.lanes);
    break;
  }
  case SyncKind::cluster_arrive:
    warp.cluster_arrival = Statement::at(x, sync.lanes);
    hand_on(warp, sync.lanes, sync.order, kSameCta, cluster.cluster_barrier.knowledge);
    if (hold_back(warp, sync.lanes, sync.order, cluster.cluster_barrier.unreleased))
      cluster.cluster_barrier.unreleased_by = Spot::at(x);
    break;
  case SyncKind::cluster_wait:
    if (sync.lanes & x.warp->cluster_passed)
      warp.started = ~0u;
    else
      cluster.cluster_barrier.started.push_back(&warp);
    if (!acquires(sync.order.semantics))
      break;
    if (const LaneMask passed = sync.lanes & x.warp->cluster_passed) {
      warp.knowledge.acquire(passed, cluster.cluster_passed);
      cluster.hear(x.cta->rank, warp, cluster.cluster_unreleased, false,
                   {cluster.cluster_unreleased_by, Spot::at(x)});
    }
    if (const LaneMask waiting = sync.lanes & ~x.warp->cluster_passed)
      cluster.cluster_barrier.waiting.emplace_back(&warp, waiting);
    break;
  }
}

// fence.proxy.async towards the async proxy, fence.proxy.tensormap towards that of tensor maps: a release,
// and an acquire that names one; those with a semantics order memory, too.
void Checker::fences_proxy(const vgpu::Exec& x, WarpState& warp, const vgpu::Synchronization& sync) {
  const ptx::Instruction& instruction = x.ptx_instruction(x.code->insts[x.pc]);
  const bool tensormap = instruction.has(isa::Qual::tensormap_generic);
  if (tensormap && releases(sync.order.semantics))
    warp.knowledge.map_release(sync.lanes, sync.order.scope);
  if (tensormap && sync.order.semantics != Semantics::weak)
    warp.knowledge.fence(sync.lanes, sync.order);
  if (sync.addresses) {
    for (LaneMask left = sync.lanes; left != 0;) {
      const uint64_t map = sync.addresses[std::countr_zero(left)];
      LaneMask alike = 0;
      vgpu::for_lanes(left, [&](int lane) { alike |= LaneMask{sync.addresses[lane] == map} << lane; });
      warp.knowledge.map_acquire(alike, sync.order.scope, map);
      left &= ~alike;
    }
  } else if (instruction.has(isa::Qual::async) || instruction.has(isa::Qual::async_generic)) {
    const bool global = instruction.has(isa::Qual::global);
    const bool shared = instruction.has(isa::Qual::shared_cta) || instruction.has(isa::Qual::shared_cluster);
    warp.knowledge.proxy_fence(sync.lanes, global || !shared, shared || !global);
  }
}

void Checker::barrier_completes(const vgpu::Cta& cta, uint32_t id) {
  ClusterState& cluster = state(*cta.cluster);
  Gathering& barrier = cluster.barriers[{cta.rank, id}];
  meets_at_barrier(cta, id, barrier);
  if (barrier.vote && barrier.vote->is_unknown)
    for (const vgpu::Warp& each : cta.warps)
      each.follows_values = true;
  for (const auto& [warp, epoch] : barrier.whole) // first what many of them share
    barrier.knowledge.join(warp->knowledge.groups().front().knowledge);
  for (const auto& [warp, epoch] : barrier.whole)
    warp->knowledge.add_own(barrier.knowledge.known, kAllLanes, epoch);
  uint64_t threads = 0;
  for (const auto& [warp, lanes] : barrier.waiting) {
    warp->knowledge.become(lanes, barrier.knowledge);
    threads += static_cast<uint64_t>(std::popcount(lanes));
  }
  barrier.last_phase.swap(barrier.arrivals);
  barrier.arrivals.clear();
  barrier.whole.clear();
  barrier.waiting.clear();
  barrier.knowledge.clear();
  barrier.vote.reset();
  const Dim3& block = launch_->config.block;
  if (threads == uint64_t{block[0]} * block[1] * block[2]) {
    barrier.last_phase.clear(); // those arrivals precede everything
    if (cluster.forgets)
      cluster.forget();
  }
}

void Checker::cluster_barrier_completes(const vgpu::Cluster& cluster) {
  ClusterState& state = this->state(cluster);
  state.cluster_passed = std::exchange(state.cluster_barrier.knowledge, {});
  state.cluster_unreleased = std::exchange(state.cluster_barrier.unreleased, {});
  state.cluster_unreleased_by = std::exchange(state.cluster_barrier.unreleased_by, {});
  for (WarpState* warp : std::exchange(state.cluster_barrier.started, {}))
    warp->started = ~0u;
  for (const auto& [warp, lanes] : std::exchange(state.cluster_barrier.waiting, {})) {
    warp->knowledge.acquire(lanes, state.cluster_passed);
    state.hear(warp->knowledge.agent() / state.warps_per_cta, *warp, state.cluster_unreleased, false,
               {state.cluster_unreleased_by, {}});
  }
}

// --- mbarriers

void Checker::arrives(const vgpu::MbarrierArrival& arrival) {
  ClusterState& cluster = state(*arrival.at.cta->cluster);
  MbarrierState& mbarrier = cluster.mbarrier(arrival.at);
  mbarrier.last =
      arrival.operation ? Statement::of(arrival.operation->issuer) : Statement::at(*arrival.x, arrival.lanes);
  if (const vgpu::AsyncOperation* operation = arrival.operation) {
    mbarrier.participants.add(
        cluster.warp(*operation->issuer.cta, *operation->issuer.warp).knowledge.agent());
    if (const auto found = cluster.arriving.find(operation->number); found != cluster.arriving.end()) {
      const auto& [agent, lane, epoch, knew] = found->second;
      mbarrier.arrivals.add(agent, {.by = mbarrier.last.spot(), .lanes = LaneMask{1} << lane});
      Knowledge& done = mbarrier.gathered.operations;
      done.known.advance(cluster.id, agent, LaneMask{1} << lane, epoch);
      if (operation->kind == vgpu::AsyncKind::tensor_commit) {
        done.join(knew);
        done.tensor.advance(cluster.id, agent, LaneMask{1} << lane, epoch);
      }
      if (operation->targets.back().mbarrier.cta == arrival.at.cta) // of several the last one
        cluster.arriving.erase(found);
    } else {
      mbarrier.gathered.operations.known.advance(cluster.id, mbarrier.agent, kAllLanes, mbarrier.phase);
      if (mbarrier.map_agent != 0)
        mbarrier.gathered.operations.known.advance(cluster.id, mbarrier.map_agent, kAllLanes, mbarrier.phase);
    }
  } else if (arrival.change.arrivals > 0) {
    WarpState& warp = cluster.warp(*arrival.x);
    const WarpKnowledge& arriving = warp.knowledge;
    mbarrier.participants.add(arriving.agent());
    mbarrier.arrivals.add(arriving.agent(), {.by = Spot::at(*arrival.x), .lanes = arrival.lanes});
    HandedOn::OfCta& to = mbarrier.gathered.of(arrival.x->cta->rank);
    to.by = Spot::at(*arrival.x);
    const SpelledScope scope = spelled_scope(*arrival.x);
    if (scope == SpelledScope::none)
      to.unscoped = mbarrier.last;
    if (scope != SpelledScope::cta)
      hand_on(warp, arrival.lanes, arrival.order, kSameCluster, to.wide);
    if (scope == SpelledScope::cta || !releases(arrival.order.semantics))
      hand_on(warp, arrival.lanes, arrival.order, kSameCta, to.narrow);
    hold_back(warp, arrival.lanes, arrival.order, to.unreleased);
    if (cluster.exits.size() > 1)
      warp.arriving.push_back({&mbarrier, arrival.lanes, mbarrier.phase});
  }
  counts_bytes(mbarrier, arrival);
  if (arrival.completes_phase) {
    mbarrier.completed.join(std::exchange(mbarrier.gathered, {}));
    mbarrier.observed.join(std::exchange(mbarrier.arrived, {}));
    mbarrier.participants.next_phase();
    ++mbarrier.phase;
  }
}

void Checker::finds_complete(const vgpu::Exec& x, const vgpu::MbarrierWait& wait) {
  ClusterState& cluster = state(*x.cta->cluster);
  MbarrierState& mbarrier = cluster.mbarrier(wait.at);
  ends_wait(cluster, x, wait);
  if (cluster.exits.size() > 1 && wait.at.cta == x.cta)
    cluster.exits[x.cta->rank].observed.join(mbarrier.observed);
  WarpState& warp = cluster.warp(x);
  SyncPair by{{}, Spot::at(x)};
  const auto learn = [&](const Knowledge& handed_on, Distance distance) {
    if (acquires(wait.order.semantics))
      return warp.knowledge.acquire(wait.lanes, handed_on);
    warp.knowledge.see(wait.lanes, handed_on, distance, by);
    warp.knowledge.take_tensor(wait.lanes, handed_on.tensor);
  };
  const auto hear = [&](const Clock& knew, bool narrow) {
    cluster.hear(x.cta->rank, warp, knew, narrow, by);
  };
  const SpelledScope scope = spelled_scope(x);
  learn(mbarrier.completed.operations, kSameCta);
  for (uint32_t rank = 0; rank < mbarrier.completed.threads.size(); ++rank) {
    const HandedOn::OfCta& threads = mbarrier.completed.threads[rank];
    by.write = threads.by;
    hear(threads.unreleased, false);
    if (rank == x.cta->rank) {
      learn(threads.wide, kSameCta);
      learn(threads.narrow, kSameCta);
      continue;
    }
    if (scope == SpelledScope::cta)
      hear(threads.wide.known, true);
    else
      learn(threads.wide, kSameCluster);
    hear(threads.narrow.known, true);
    if (scope != SpelledScope::cta && (scope == SpelledScope::none || threads.unscoped.instruction) &&
        !threads.wide.known.empty())
      lacks_scope(mbarrier, x, wait, threads);
  }
}

// --- strong accesses

template <class F>
void Checker::with_locations(ClusterState& cluster, const vgpu::MemoryPlace& place, F&& f) {
  if (place.is_shared()) {
    f(cluster.locations);
    return;
  }
  Shard& shard = shards_[shard_of(sync_address(place))];
  std::unique_lock lock(shard.mutex, std::defer_lock);
  if (launch_->workers != 1)
    lock.lock();
  f(shard.locations);
}

void Checker::replaces(SyncLocation& location, const vgpu::MemoryPlace& place, uint32_t bytes,
                       const StrongWriter& by) {
  uint64_t value = 0;
  if (bytes > sizeof value) {
    location.history.reset();
    return;
  }
  if (!location.history)
    location.history = std::make_shared<History>();
  vgpu::copy_racing(reinterpret_cast<std::byte*>(&value), place.host, bytes);
  location.history->replace(value, bytes, location, by);
}

// Whether the lanes get an older value than `now` has; then that is in their registers, and `old` is what the
// place was.
bool Checker::may_give_old_value(const vgpu::Exec& x, const WarpState& warp, const WarpState::Read& read,
                                 const SyncLocation& now, SyncLocation& old) {
  if (!now.history)
    return false;
  const vgpu::DecodedInst& in = x.code->insts[x.pc];
  const uint32_t bytes = in.dst_count == 1 ? x.code->dsts_of(in)[0].bytes : 0;
  uint64_t version = now.version;
  if (is_load(isa::effects_of(x.code->opcode_of(in))) && (bytes == 4 || bytes == 8)) {
    const std::vector<OldValue*> allowed = now.history->allowed(warp.knowledge, read.lanes, bytes);
    // As often the newest value as any of the others.
    const uint64_t drawn =
        vgpu::mix(old_value_key_ + ++old_value_draws_) % (2 * std::max<size_t>(allowed.size(), 1));
    if (drawn < allowed.size()) {
      OldValue& chosen = *allowed[drawn];
      ++chosen.given;
      vgpu::for_lanes(read.lanes, [&](int lane) {
        if (bytes == 4)
          x.dst<uint32_t>(in)[lane] = static_cast<uint32_t>(chosen.value);
        else
          x.dst<uint64_t>(in)[lane] = chosen.value;
      });
      ++x.warp->effects; // it does not merely poll: the next value may be another
      old = chosen.then;
      version = old.version;
    }
  }
  now.history->has_read(warp.knowledge.cluster(), warp.knowledge.agent(), warp.knowledge.epoch(), version);
  return version != now.version;
}

const std::shared_ptr<const Known>& Checker::knew(WarpState& warp, LaneMask lanes) {
  const WarpKnowledge& knowledge = warp.knowledge;
  WarpState::Knew& last = warp.knew;
  if (!last.known || last.lanes != lanes || last.epoch != knowledge.epoch() ||
      last.changes != knowledge.changes() || last.would_know != warp.would_know) {
    Clock known = knowledge.all_of(lanes).known;
    if (warp.would_know)
      known.join(*warp.would_know);
    last = {lanes, knowledge.epoch(), knowledge.changes(), warp.would_know,
            std::make_shared<const Known>(std::move(known))};
  }
  return last.known;
}

// What the lanes release with a strong write; nullopt: nothing.
std::optional<Released> Checker::release_at(WarpState& warp, const StrongWriter& writer, MemoryOrder order) {
  if (releases(order.semantics))
    return Released{writer, warp.knowledge.release(writer.lanes)};
  std::optional<Knowledge> at_fence = warp.knowledge.released_at_fence(writer.lanes, kSameCta);
  if (!at_fence)
    return {};
  Released released{writer, std::move(*at_fence)};
  for (const LaneGroup& group : warp.knowledge.groups())
    if ((group.lanes & writer.lanes) != 0 && group.fence_epoch)
      released.scope = std::min(released.scope, group.fence_scope);
  return released;
}

// Whether what an atomic operation releases and acquires is noted, and worked out when somebody asks.
bool Checker::may_hand_over(const ClusterState& cluster, const WarpState& warp,
                            const vgpu::Access& access) const {
  return access.order.semantics == Semantics::acq_rel && access.order.scope >= vgpu::MemoryScope::gpu &&
         access.allocation && cluster.exits.size() == 1 && warp.knowledge.may_hand_over() &&
         !gives_old_values_ && !warp.last_fence.knew && handovers_.has_room();
}

// Before the write: what the lanes release is there before anybody can see it. An atomic operation reads,
// too, unless it is a red, which is part of no acquire pattern; what it has read is asked for when it has.
void Checker::write_strongly(ClusterState& cluster, const vgpu::Exec& x, const vgpu::WarpAccess& access,
                             const Places& places, bool reads, bool returns) {
  WarpState& warp = cluster.warp(x);
  const MemoryOrder order = access.access.order;
  const bool keeps_chain = access.access.kind == vgpu::AccessKind::atomic;
  const bool hands_over = keeps_chain && reads && !returns && may_hand_over(cluster, warp, access.access);
  const Epoch epoch = warp.knowledge.epoch();
  std::shared_ptr<const Known> known;
  if (!hands_over || warp.knowledge.is_settled())
    known = knew(warp, access.access.lanes);
  HandingOver* instruction = nullptr;
  if (hands_over)
    instruction = &warp.knowledge.begin_handover(handovers_, std::popcount(access.access.lanes));
  if (!known)
    known = std::make_shared<const Known>(*instruction, warp.would_know);
  StrongWriter writer{cluster.id, x.cta->rank, order.scope, std::move(known), warp.knowledge.agent(),
                      0,          epoch,       Spot::at(x)};
  const bool may_release = !hands_over && (releases(order.semantics) || warp.knowledge.has_release_fence());
  uint64_t version = versions_.fetch_add(places.count(), std::memory_order_relaxed);
  places.each([&](LaneMask lanes, int first) {
    writer.lanes = lanes;
    std::optional<Released> released;
    if (may_release)
      released = release_at(warp, writer, order);
    const vgpu::MemoryPlace place = access.access.at(access.offset(first) - access.access.offset);
    with_locations(cluster, place, [&](SyncLocations& locations) {
      SyncLocation& location = locations[sync_address(place)];
      if (gives_old_values_ && place.allocation)
        replaces(location, place, access.piece_bytes, writer);
      overwrites_fenced(warp, lanes, location);
      if (!keeps_chain) // but what this thread has released there itself: "Release and acquire patterns"
        location.keep_released([&](const Released& earlier) { return is_of(earlier, writer); });
      note_writer(location, writer, ++version);
      if (released)
        add_released(location, std::move(*released));
      const Handover* const own =
          instruction ? hand_over(warp.knowledge, *instruction, writer, location, version) : nullptr;
      // A value that tells the thread nothing is no more than what came with it.
      if (reads && (returns || !location.released.empty() || location.history || warp.last_fence.knew))
        warp.reads.push_back({lanes, place, order, returns, &location, own});
    });
  });
}

// Whether the visiting lane knows somebody who has read the earlier access, a strong write: then that write
// precedes it, though what was done before the write need not. PTX ISA: "Causality Order", by observation.
bool Checker::is_observed(const Visit& visit, uint64_t offset, const Record& earlier, int earlier_lane,
                          int lane) {
  const Record& later = visit.accessor.record;
  if (!earlier.is_strong() || !earlier.writes || earlier.mbarrier || earlier.asynchronous ||
      earlier.bytes == 0 || later.nc || later.asynchronous)
    return false;
  vgpu::MemoryPlace place = visit.place;
  place.offset = offset - offset % earlier.bytes;
  const auto is_writer = [&](const StrongWriter& writer) {
    return writer.cluster == earlier.cluster && writer.agent == earlier.agent &&
           (writer.lanes >> earlier_lane & 1) != 0;
  };
  const auto is_known = [&](const Reader& reader) {
    const Record read{.cluster = reader.cluster, .agent = reader.agent, .epoch = reader.epoch};
    const Distance distance = distance_between(reader, earlier);
    if (!includes(reader.scope, distance) || !includes(earlier.order.scope, distance))
      return false;
    for (LaneMask lanes = reader.lanes; lanes != 0; lanes &= lanes - 1)
      if (visit.accessor.is_known(read, std::countr_zero(lanes), lane))
        return true;
    return false;
  };
  bool observed = false;
  with_locations(visit.cluster, place, [&](SyncLocations& locations) {
    const SyncLocation* const found = locations.find(sync_address(place));
    if (!found)
      return;
    const SyncLocation& location = *found;
    observed =
        (location.writers.size() == SyncLocation::kMostWriters || // others are forgotten: in doubt it was one
         std::any_of(location.writers.begin(), location.writers.end(), is_writer)) &&
        std::any_of(location.readers.begin(), location.readers.end(), is_known);
  });
  return observed;
}

// After the read: whatever was there is what it has seen.
void Checker::has_read(const vgpu::Exec& x) {
  ClusterState& cluster = state(*x.cta->cluster);
  WarpState& warp = cluster.warp(x);
  for (const WarpState::Read& read : warp.reads)
    with_locations(cluster, read.place, [&](SyncLocations& locations) {
      SyncLocation* now = read.location ? read.location : locations.find(sync_address(read.place));
      if (!now && warp.last_fence.knew)
        now = &locations[sync_address(read.place)]; // others may write there yet
      if (!now)
        return;
      if (warp.last_fence.knew)
        reads_after_fence(warp, read.lanes, *now);
      SyncLocation old;
      SyncLocation& location = may_give_old_value(x, warp, read, *now, old) ? old : *now;
      if (location.writers.empty())
        return;
      // A lane that polls learns once: what it knows, or has seen, it keeps.
      const WarpState::Learned seen{location.version, read.order};
      LaneMask new_to = 0;
      vgpu::for_lanes(read.lanes, [&](int lane) {
        new_to |= LaneMask{std::exchange(warp.learned[static_cast<size_t>(lane)], seen) != seen} << lane;
      });
      if (!new_to)
        return;
      if (read.returns)
        add_reader(location, {cluster.id, x.cta->rank, warp.knowledge.agent(), read.lanes,
                              warp.knowledge.epoch(), read.order.scope});
      learn(cluster, x, warp, location, read);
    });
  warp.reads.clear();
}

// Had these released, and the warp acquired: what it writes itself hands that on.
void Checker::would_know(WarpState& warp, const std::vector<StrongWriter>& writers) {
  std::shared_ptr<Clock> more;
  for (const StrongWriter& writer : writers) {
    const Clock* const all = more ? more.get() : warp.would_know.get();
    if (all && all->covers_any(writer.cluster, writer.agent, writer.epoch))
      continue;
    if (!more)
      more = warp.would_know ? std::make_shared<Clock>(*warp.would_know) : std::make_shared<Clock>();
    more->join(writer.knew->clock());
  }
  if (more)
    warp.would_know = std::move(more);
}

void Checker::learn(ClusterState& cluster, const vgpu::Exec& x, WarpState& warp, SyncLocation& location,
                    const WarpState::Read& read) {
  const MemoryOrder order = read.order;
  const Reader reader{.cluster = cluster.id, .cta_rank = x.cta->rank};
  const auto reaches = [&](const StrongWriter& writer) {
    const Distance distance = distance_between(writer, reader);
    return includes(writer.scope, distance) && includes(order.scope, distance);
  };
  // What would be known by now if all of these did: it says of a race later what was amiss.
  const auto hear = [&](const StrongWriter& writer) {
    cluster.hear(x.cta->rank, {writer.knew,
                               !reaches(writer),
                               warp.knowledge.agent(),
                               warp.knowledge.epoch(),
                               {writer.by, Spot::at(x)},
                               writer.cluster,
                               writer.agent});
  };
  for (const StrongWriter& writer : location.writers)
    if (!warp.overwritten.empty() && reaches(writer))
      hears_of_reads(warp, read.lanes, writer);
  // The lanes of a warp that read one place hear the same.
  ClusterState::Hearsay& hearsay = cluster.hearsay[x.cta->rank];
  const bool is_new =
      read.returns && (hearsay.version != location.version || hearsay.agent != warp.knowledge.agent());
  hearsay.version = location.version;
  hearsay.agent = warp.knowledge.agent();
  if (is_new) {
    std::for_each(location.writers.begin(), location.writers.end(), hear);
    would_know(warp, location.writers);
  }
  // Where the lanes have handed on what they knew: first, for they may learn more beside that.
  const Released* chain = nullptr;
  if (read.own) {
    const auto found = std::ranges::find_if(
        location.released, [&](const Released& released) { return released.scope == order.scope; });
    if (found != location.released.end())
      chain = &*found;
    warp.knowledge.come_after(read.lanes, chain ? newest(*read.own, chain->knowledge) : read.own);
  }
  for (Released& released : location.released) {
    if (!reaches(released)) {
      if (is_new)
        hear(released);
      continue;
    }
    if (&released == chain)
      continue;
    released.knowledge.settle(); // others will ask for the same
    if (acquires(order.semantics)) {
      warp.knowledge.acquire(read.lanes, released.knowledge);
      continue;
    }
    const SyncPair by{released.by, Spot::at(x)};
    warp.knowledge.see(read.lanes, released.knowledge, distance_between(released, reader), by);
    if (is_new) // more than `writers` remembers
      cluster.hear(x.cta->rank, {.knew = std::make_shared<const Known>(released.knowledge.known),
                                 .agent = warp.knowledge.agent(),
                                 .epoch = warp.knowledge.epoch(),
                                 .by = by,
                                 .is_released = true});
  }
}

} // namespace lemma::check
