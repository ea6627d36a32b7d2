// Each event of src/vgpu becomes one of the public kinds; what the observer does not watch goes no further.
//
// A thread gets its number at its first event, so that completions, which no warp executes, have one too.
#include "runtime/launch_watcher.h"

#include "isa/binding.h"
#include "runtime/callers_code.h"
#include "runtime/inlined_comments.h"
#include "vgpu/memory/place.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace lemma::runtime {

using isa::StateSpace;
using vgpu::LaneMask;

namespace {

// The watcher that this thread has been a worker of last, and its number there.
thread_local uint64_t last_watcher = 0;
thread_local uint32_t last_worker = 0;

uint64_t next_id() {
  static std::atomic<uint64_t> ids{0};
  return ++ids;
}

MemorySpace public_space(StateSpace space) {
  switch (space) {
  case StateSpace::const_:
    return MemorySpace::constant;
  case StateSpace::shared:
    return MemorySpace::shared;
  case StateSpace::local:
    return MemorySpace::local;
  case StateSpace::param:
  case StateSpace::reg:
    return MemorySpace::param;
  default:
    return MemorySpace::global;
  }
}

AccessType type_of(vgpu::AccessKind kind) {
  return kind == vgpu::AccessKind::write    ? AccessType::write
         : kind == vgpu::AccessKind::atomic ? AccessType::atomic
                                            : AccessType::read;
}

// "" where there is none.
std::string_view scope_of(vgpu::MemoryOrder order) {
  return order.scope == vgpu::MemoryScope::none ? "" : vgpu::to_string(order.scope);
}

std::string_view name_of(vgpu::AsyncGroup group) {
  switch (group) {
  case vgpu::AsyncGroup::cp_async:
    return "cp.async";
  case vgpu::AsyncGroup::bulk:
    return "bulk";
  case vgpu::AsyncGroup::wgmma:
    return "wgmma";
  case vgpu::AsyncGroup::tensor_st:
    return "tcgen05.st";
  case vgpu::AsyncGroup::none:
    break;
  }
  return "";
}

SyncEvent event_of(vgpu::SyncKind kind) {
  using vgpu::SyncKind;
  switch (kind) {
  case SyncKind::fence:
    return SyncEvent::fence;
  case SyncKind::proxy_fence:
    return SyncEvent::proxy_fence;
  case SyncKind::warp_barrier:
    return SyncEvent::warp_barrier;
  case SyncKind::convergence:
    return SyncEvent::convergence;
  case SyncKind::barrier_arrive:
    return SyncEvent::barrier_arrive;
  case SyncKind::cluster_arrive:
    return SyncEvent::cluster_arrive;
  case SyncKind::cluster_wait:
    return SyncEvent::cluster_wait;
  case SyncKind::wgmma_fence:
    return SyncEvent::wgmma_fence;
  case SyncKind::grid_wait:
    break;
  }
  return SyncEvent::grid_wait;
}

// Where the owner of the memory begins, as it is addressed.
uint64_t base_of(const vgpu::MemoryPlace& place) {
  return place.allocation ? place.allocation->base : 0;
}

void add_range(std::vector<MemoryRange>& ranges, const vgpu::MemoryPlace& place, uint64_t bytes) {
  ranges.push_back({.space = public_space(place.space),
                    .owner_rank = place.cta ? place.cta->rank : 0,
                    .address = base_of(place) + place.offset,
                    .bytes = bytes});
}

} // namespace

// --- the launch

LaunchWatcher::View::View(const vgpu::Program& program, const InstructionNumbers& numbers)
    : program_(program), numbers_(numbers), sources_(program.module().source->name()) {
  ptx = program.module().source->name();
  instructions = numbers.count();
  const auto& all = program.module().functions;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].has_body)
      functions_.push_back({.name = all[i].name,
                            .is_kernel = all[i].is_entry,
                            .first = numbers.first_of(i),
                            .count = static_cast<uint32_t>(all[i].instructions.size())});
  functions = functions_;
}

Place LaunchWatcher::View::place(uint32_t instruction) const {
  if (instruction >= instructions)
    return {};
  const auto function =
      static_cast<uint32_t>(&numbers_.function_of(instruction) - program_.module().functions.data());
  const vgpu::Code& code = program_.code(function);
  const uint32_t source = instruction - numbers_.first_of(function);
  Place place = vgpu::place_of(code, code.insts[code.inst_to_pc[source]]);
  const std::lock_guard lock(mutex_);
  add_inlined_calls(place, *code.module);
  sources_.show(place);
  return place;
}

std::string LaunchWatcher::View::form(uint32_t instruction) const {
  return instruction < instructions ? isa::spelling_of(*numbers_.instruction(instruction).binding) : "";
}

LaunchWatcher::LaunchWatcher(LaunchObserver& observer, const vgpu::Program& program,
                             std::string_view arithmetic)
    : observer_(observer), numbers_(program.module()), view_(program, numbers_), id_(next_id()) {
  view_.arithmetic = arithmetic;
}

template <class F>
void LaunchWatcher::call(F&& f) {
  if (failed_.load(std::memory_order_relaxed))
    return;
  try {
    call_callers("observer", f);
  } catch (...) {
    failed_.store(true);
    throw;
  }
}

uint32_t LaunchWatcher::worker() {
  if (last_watcher != id_) {
    last_watcher = id_;
    last_worker = workers_.fetch_add(1);
  }
  return last_worker;
}

void LaunchWatcher::launch_begins(const vgpu::Launch& launch) {
  view_.kernel = launch.entry->function->name;
  view_.number = launch.grid_id;
  view_.grid = launch.config.grid;
  view_.block = launch.config.block;
  view_.cluster = launch.config.cluster;
  view_.shared_bytes = launch.static_shared_bytes + launch.config.shared_bytes;
  view_.dynamic_shared_from = launch.dynamic_shared_offset;
  view_.workers = launch.workers;
  worker(); // works too: the first
  call([&] {
    watch_ = observer_.watches();
    observer_.launch_begins(view_);
  });
}

void LaunchWatcher::launch_ends(const vgpu::Launch&) {
  const bool failed = failed_.exchange(false); // it is told of the end all the same
  try {
    call([&] { observer_.launch_ends(view_); });
  } catch (const std::exception&) {
    if (!failed) // else the launch has its fault
      throw;
  }
}

WatchedCta LaunchWatcher::cta(const vgpu::Cta& cta) {
  return {.worker = worker(),
          .index = cta.linear_id,
          .id = cta.id,
          .cluster = cta.cluster->linear_id,
          .rank = cta.rank};
}

void LaunchWatcher::cluster_begins(const vgpu::Cluster& cluster) {
  for (const auto& each : cluster.ctas)
    call([&] { observer_.cta_begins(cta(*each)); });
}

void LaunchWatcher::cluster_ends(const vgpu::Cluster& cluster) {
  for (const auto& each : cluster.ctas)
    call([&] { observer_.cta_ends(cta(*each)); });
}

// --- steps

WarpStep LaunchWatcher::step(const vgpu::Cta& cta) {
  return {.worker = worker(), .cta_index = cta.linear_id, .cta = cta.id, .cta_rank = cta.rank};
}

WarpStep LaunchWatcher::step(const vgpu::Exec& x, LaneMask lanes) {
  WarpStep step = this->step(*x.cta);
  step.instruction = numbers_.of(x.code->id_at(x.pc));
  step.warp = x.warp->index;
  step.lanes = lanes;
  return step;
}

WarpStep LaunchWatcher::step(const vgpu::AsyncOperation& operation) {
  const vgpu::AsyncIssuer& issuer = operation.issuer;
  WarpStep step = this->step(*issuer.cta);
  step.instruction = numbers_.of(issuer.instruction);
  step.warp = issuer.warp->index;
  step.lanes = operation.kind == vgpu::AsyncKind::wgmma ? vgpu::kAllLanes : LaneMask{1} << issuer.lane;
  return step;
}

void LaunchWatcher::executes(const vgpu::Exec& x, const vgpu::DecodedInst&) {
  call([&] { observer_.executes(step(x, x.active)); });
}

void LaunchWatcher::accesses(const vgpu::Exec& x, const vgpu::WarpAccess& access) {
  if (!watch_.accesses)
    return;
  const vgpu::Access& place = access.access;
  std::array<uint64_t, vgpu::kWarpSize> addresses{};
  const uint64_t base = base_of(place);
  access.each([&](int piece, uint64_t offset) { addresses[static_cast<size_t>(piece)] = base + offset; });
  const WatchedAccess watched{.space = public_space(place.space),
                              .type = type_of(place.kind),
                              .by_lane = access.by_lane,
                              .pieces = access.pieces,
                              .piece_bytes = access.piece_bytes,
                              .addresses = addresses.data(),
                              .owner_rank = place.cta ? place.cta->rank : 0,
                              .semantics = vgpu::to_string(place.order.semantics),
                              .scope = scope_of(place.order)};
  call([&] { observer_.accesses(step(x, place.lanes), watched); });
}

// --- synchronization

void LaunchWatcher::synchronizes(const vgpu::Exec& x, const vgpu::Synchronization& sync) {
  if (!watch_.synchronization)
    return;
  const WatchedSync watched{.event = event_of(sync.kind),
                            .semantics = vgpu::to_string(sync.order.semantics),
                            .scope = scope_of(sync.order),
                            .members = sync.members,
                            .barrier = sync.id,
                            .waits = sync.waits,
                            .threads = sync.expected,
                            .group = {}};
  call([&] { observer_.synchronizes(step(x, sync.lanes), watched); });
}

void LaunchWatcher::exits(const vgpu::Exec& x, LaneMask lanes) {
  if (watch_.synchronization)
    call([&] {
      observer_.synchronizes(step(x, lanes),
                             {.event = SyncEvent::exit, .semantics = {}, .scope = {}, .group = {}});
    });
}

void LaunchWatcher::barrier_completes(const vgpu::Cta& cta, uint32_t id) {
  if (watch_.synchronization)
    call([&] {
      observer_.synchronizes(
          step(cta),
          {.event = SyncEvent::barrier_complete, .semantics = {}, .scope = {}, .barrier = id, .group = {}});
    });
}

void LaunchWatcher::cluster_barrier_completes(const vgpu::Cluster& cluster) {
  if (watch_.synchronization)
    call([&] {
      observer_.synchronizes(
          step(*cluster.ctas.front()),
          {.event = SyncEvent::cluster_complete, .semantics = {}, .scope = {}, .group = {}});
    });
}

void LaunchWatcher::arrives(const vgpu::MbarrierArrival& arrival) {
  if (!watch_.synchronization)
    return;
  const WatchedSync watched{.event = SyncEvent::mbarrier_arrive,
                            .semantics = vgpu::to_string(arrival.order.semantics),
                            .scope = scope_of(arrival.order),
                            .mbarrier_rank = arrival.at.cta->rank,
                            .mbarrier_address = arrival.at.offset,
                            .parity = arrival.parity,
                            .completes_phase = arrival.completes_phase,
                            .arrivals = arrival.change.arrivals,
                            .expected_bytes = arrival.change.expect_bytes,
                            .by_operation = arrival.operation != nullptr,
                            .operation = arrival.operation ? arrival.operation->number : 0,
                            .group = {}};
  call([&] {
    observer_.synchronizes(arrival.operation ? step(*arrival.operation) : step(*arrival.x, arrival.lanes),
                           watched);
  });
}

void LaunchWatcher::finds_complete(const vgpu::Exec& x, const vgpu::MbarrierWait& wait) {
  if (!watch_.synchronization)
    return;
  const WatchedSync watched{.event = SyncEvent::mbarrier_wait,
                            .semantics = vgpu::to_string(wait.order.semantics),
                            .scope = scope_of(wait.order),
                            .mbarrier_rank = wait.at.cta->rank,
                            .mbarrier_address = wait.at.offset,
                            .parity = wait.parity,
                            .completes_phase = true,
                            .group = {}};
  call([&] { observer_.synchronizes(step(x, wait.lanes), watched); });
}

void LaunchWatcher::commits(const vgpu::Exec& x, vgpu::AsyncGroup group, LaneMask lanes) {
  if (watch_.synchronization)
    call([&] {
      observer_.synchronizes(
          step(x, lanes),
          {.event = SyncEvent::group_commit, .semantics = {}, .scope = {}, .group = name_of(group)});
    });
}

void LaunchWatcher::waits(const vgpu::Exec& x, const vgpu::GroupWait& wait) {
  if (!watch_.synchronization)
    return;
  const WatchedSync watched{.event = SyncEvent::group_wait,
                            .semantics = {},
                            .scope = {},
                            .group = name_of(wait.group),
                            .pending = wait.pending,
                            .read_only = wait.read_only,
                            .uncommitted = wait.uncommitted};
  call([&] { observer_.synchronizes(step(x, wait.lanes), watched); });
}

// --- asynchronous operations

void LaunchWatcher::operates(const vgpu::AsyncOperation& operation, OperationEvent event) {
  if (!watch_.operations)
    return;
  std::vector<MemoryRange> reads, writes;
  if (watch_.ranges) {
    operation.each_source([&](const auto& place, uint64_t bytes) { add_range(reads, place, bytes); });
    operation.each_destination([&](const auto& place, uint64_t bytes) { add_range(writes, place, bytes); });
  }
  const WatchedOperation watched{.event = event,
                                 .kind = vgpu::to_string(operation.kind),
                                 .group = name_of(operation.group),
                                 .number = operation.number,
                                 .parts = operation.parts,
                                 .bytes_read = operation.bytes_read(),
                                 .bytes_written = operation.bytes_written(),
                                 .reads = reads,
                                 .writes = writes};
  call([&] { observer_.operates(step(operation), watched); });
}

void LaunchWatcher::issues(const vgpu::Exec&, const vgpu::AsyncOperation& operation) {
  operates(operation, OperationEvent::issued);
}
void LaunchWatcher::reads_source(const vgpu::AsyncOperation& operation) {
  operates(operation, OperationEvent::source_read);
}
void LaunchWatcher::completes(const vgpu::AsyncOperation& operation) {
  operates(operation, OperationEvent::completed);
}

} // namespace lemma::runtime

namespace lemma {

std::string_view to_string(SyncEvent event) {
  constexpr std::string_view kNames[] = {"fence",
                                         "proxy fence",
                                         "warp barrier",
                                         "convergence",
                                         "barrier arrive",
                                         "barrier complete",
                                         "cluster arrive",
                                         "cluster wait",
                                         "cluster complete",
                                         "wgmma fence",
                                         "grid wait",
                                         "mbarrier arrive",
                                         "mbarrier wait",
                                         "group commit",
                                         "group wait",
                                         "exit"};
  return kNames[static_cast<size_t>(event)];
}

} // namespace lemma
