// Accesses that were found piece by piece, gathered by owner; several observers at once, and the counter. See
// observer.h.
#include "vgpu/engine/observer.h"

#include <algorithm>

namespace lemma::vgpu {

using isa::StateSpace;

void PieceAccesses::tell_all() const {
  std::vector<bool> told(pieces_.size());
  for (size_t first = 0; first < pieces_.size(); ++first) {
    if (told[first])
      continue;
    Access lowest = pieces_[first].access;
    lowest.lanes = 0;
    uint64_t offsets[kWarpSize] = {}, end = 0;
    LaneMask indices = 0;
    for (size_t i = first; i < pieces_.size(); ++i) {
      const Access& access = pieces_[i].access;
      const LaneMask index = LaneMask{1} << pieces_[i].index;
      if (told[i] || access.space != lowest.space || access.cta != lowest.cta ||
          access.allocation != lowest.allocation || access.bytes != pieces_[first].access.bytes ||
          (indices & index))
        continue;
      told[i] = true;
      offsets[pieces_[i].index] = access.offset;
      indices |= index;
      end = std::max(end, access.offset + access.bytes);
      lowest.lanes |= access.lanes;
      if (access.offset < lowest.offset) {
        lowest.offset = access.offset;
        lowest.host = access.host;
      }
    }
    const uint64_t piece_bytes = std::exchange(lowest.bytes, end - lowest.offset);
    if (!by_lane_)
      lowest.lanes = x_.active;
    x_.watch.tell(&Observer::accesses, x_,
                  {.access = lowest,
                   .pieces = indices,
                   .piece_bytes = static_cast<uint32_t>(piece_bytes),
                   .addresses = offsets,
                   .lowest = lowest.offset,
                   .by_lane = by_lane_});
  }
}

void Exec::tell(const Access& range, const uint64_t* addresses, uint64_t lowest, uint32_t bytes,
                LanesLie lie) const {
  watch.tell(&Observer::accesses, *this,
             {.access = range,
              .pieces = range.lanes,
              .piece_bytes = bytes,
              .addresses = addresses,
              .lowest = lowest,
              .lie = lie});
}

AccessCounter::Count& AccessCounter::Count::operator+=(const Count& other) {
  warp_accesses += other.warp_accesses;
  lane_accesses += other.lane_accesses;
  bytes += other.bytes;
  return *this;
}

void AccessCounter::launch_begins(const Launch& launch) {
  workers_.assign(launch.workers, {});
}

void AccessCounter::launch_ends(const Launch&) {
  for (const Counts& counts : workers_) {
    for (int space = 0; space < kSpaces; ++space)
      for (int kind = 0; kind < kKinds; ++kind)
        total_.memory[space][kind] += counts.memory[space][kind];
    for (int kind = 0; kind < kAsyncKinds; ++kind) {
      total_.async[kind].operations += counts.async[kind].operations;
      total_.async[kind].bytes += counts.async[kind].bytes;
    }
  }
  workers_.clear();
}

namespace {

AccessCounter::Space counted_space(StateSpace space) {
  switch (space) {
  case StateSpace::const_:
    return AccessCounter::kConst;
  case StateSpace::shared:
    return AccessCounter::kShared;
  case StateSpace::local:
    return AccessCounter::kLocal;
  case StateSpace::param:
  case StateSpace::reg:
    return AccessCounter::kParam;
  default:
    return AccessCounter::kGlobal;
  }
}

} // namespace

void AccessCounter::accesses(const Exec& x, const WarpAccess& access) {
  const AccessKind kind = access.access.kind;
  workers_[x.worker].memory[counted_space(access.access.space)][kind == AccessKind::write    ? kWrite
                                                                : kind == AccessKind::atomic ? kAtomic
                                                                                             : kRead] +=
      {1, static_cast<uint64_t>(std::popcount(access.pieces)), access.bytes()};
}

void AccessCounter::issues(const Exec& x, const AsyncOperation& operation) {
  Counts::Async& count = workers_[x.worker].async[static_cast<size_t>(operation.kind)];
  if (operation.parts > 1) // of one wgmma
    return;
  ++count.operations;
  count.bytes += operation.kind == AsyncKind::wgmma ? operation.bytes_read() : operation.bytes_written();
}

void AccessCounter::report(Stats& stats) const {
  stats.accesses.emplace();
  stats.async_operations.emplace();
  for (int space = 0; space < kSpaces; ++space)
    for (int kind = 0; kind < kKinds; ++kind)
      if (const Count& count = total_.memory[space][kind]; count.warp_accesses)
        stats.accesses->push_back({.space = to_string(static_cast<Space>(space)),
                                   .kind = to_string(static_cast<Kind>(kind)),
                                   .warp_accesses = count.warp_accesses,
                                   .lane_accesses = count.lane_accesses,
                                   .bytes = count.bytes});
  for (int kind = 0; kind < kAsyncKinds; ++kind)
    if (const Counts::Async& count = total_.async[kind]; count.operations)
      stats.async_operations->push_back({.kind = to_string(static_cast<AsyncKind>(kind)),
                                         .operations = count.operations,
                                         .bytes = count.bytes});
}

const char* to_string(AccessCounter::Space space) {
  constexpr const char* kNames[] = {"global", "const", "shared", "local", "param"};
  return kNames[space];
}

const char* to_string(AccessCounter::Kind kind) {
  constexpr const char* kNames[] = {"read", "write", "atomic"};
  return kNames[kind];
}

// --- several observers

void Observers::launch_begins(const Launch& launch) {
  tell(&Observer::launch_begins, launch);
}
void Observers::launch_ends(const Launch& launch) {
  tell(&Observer::launch_ends, launch);
}
void Observers::cluster_begins(const Cluster& cluster) {
  tell(&Observer::cluster_begins, cluster);
}
void Observers::cluster_ends(const Cluster& cluster) {
  tell(&Observer::cluster_ends, cluster);
}
void Observers::exits(const Exec& x, LaneMask lanes) {
  tell(&Observer::exits, x, lanes);
}
bool Observers::watches_instructions() const {
  return std::any_of(observers_.begin(), observers_.end(),
                     [](const Observer* observer) { return observer->watches_instructions(); });
}
void Observers::executes(const Exec& x, const DecodedInst& in) {
  tell(&Observer::executes, x, in);
}
void Observers::is_stuck(const Cluster& cluster, Fault& fault) {
  tell(&Observer::is_stuck, cluster, fault);
}
void Observers::finds_undefined(const Exec& x, const DecodedInst& in, int lane, const std::string& what) {
  tell(&Observer::finds_undefined, x, in, lane, what);
}
void Observers::begins(const Exec& x) {
  tell(&Observer::begins, x);
}
void Observers::ends(const Exec& x, const DecodedInst& in) {
  tell(&Observer::ends, x, in);
}
void Observers::shuffles(const Exec& x, const int* sources) {
  tell(&Observer::shuffles, x, sources);
}
void Observers::reads_absent(const Exec& x, LaneMask readers, LaneMask absent) {
  tell(&Observer::reads_absent, x, readers, absent);
}
void Observers::accesses(const Exec& x, const WarpAccess& access) {
  tell(&Observer::accesses, x, access);
}
void Observers::reads_past_shared(const Exec& x, const Access& access, int lane, uint32_t past_bytes) {
  tell(&Observer::reads_past_shared, x, access, lane, past_bytes);
}
void Observers::has_read(const Exec& x) {
  tell(&Observer::has_read, x);
}
void Observers::asks_for_no_cluster(const Exec& x, LaneMask lanes) {
  tell(&Observer::asks_for_no_cluster, x, lanes);
}
void Observers::synchronizes(const Exec& x, const Synchronization& sync) {
  tell(&Observer::synchronizes, x, sync);
}
void Observers::barrier_completes(const Cta& cta, uint32_t id) {
  tell(&Observer::barrier_completes, cta, id);
}
void Observers::cluster_barrier_completes(const Cluster& cluster) {
  tell(&Observer::cluster_barrier_completes, cluster);
}
void Observers::issues(const Exec& x, const AsyncOperation& operation) {
  tell(&Observer::issues, x, operation);
}
void Observers::commits(const Exec& x, AsyncGroup group, LaneMask lanes) {
  tell(&Observer::commits, x, group, lanes);
}
void Observers::reads_source(const AsyncOperation& operation) {
  tell(&Observer::reads_source, operation);
}
void Observers::completes(const AsyncOperation& operation) {
  tell(&Observer::completes, operation);
}
void Observers::waits(const Exec& x, const GroupWait& wait) {
  tell(&Observer::waits, x, wait);
}
void Observers::touches_wgmma_registers(const Exec& x) {
  tell(&Observer::touches_wgmma_registers, x);
}
void Observers::moves_tensor(const Exec& x, const TensorMove& move) {
  tell(&Observer::moves_tensor, x, move);
}
void Observers::orders_tensor(const Exec& x, TensorOrder order) {
  tell(&Observer::orders_tensor, x, order);
}
void Observers::frees_tensor(const Exec& x, uint32_t column, uint32_t columns) {
  tell(&Observer::frees_tensor, x, column, columns);
}
void Observers::arrives(const MbarrierArrival& arrival) {
  tell(&Observer::arrives, arrival);
}
void Observers::finds_complete(const Exec& x, const MbarrierWait& wait) {
  tell(&Observer::finds_complete, x, wait);
}

} // namespace lemma::vgpu
