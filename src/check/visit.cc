// Accesses meet the shadow memory. See checker.h.
#include "check/checker.h"
#include "check/places.h"
#include "vgpu/exec.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lemma::check {

using isa::Opcode;
using vgpu::AccessKind;

namespace {

bool is_mbarrier_operation(Opcode opcode) {
  switch (opcode) {
  case Opcode::mbarrier_arrive:
  case Opcode::mbarrier_arrive_drop:
  case Opcode::mbarrier_expect_tx:
  case Opcode::mbarrier_complete_tx:
  case Opcode::mbarrier_test_wait:
  case Opcode::mbarrier_try_wait:
    return true;
  default:
    return false;
  }
}

// Of a cell: what more there are, nobody remembers. Strong writes meet many others that they do not race
// with. Of global memory there is much, and CTAs that nothing orders read it: a few of them are enough for a
// write to race with, if they are not all of its own cluster.
constexpr uint32_t kMostMembers = 256, kMostGlobalMembers = 16, kMostWriters = 8;

// Of the fence that tensormap.cp_fenceproxy has in it.
vgpu::MemoryScope scope_of(const ptx::Instruction& instruction) {
  using vgpu::MemoryScope;
  return instruction.has(isa::Qual::cta)       ? MemoryScope::cta
         : instruction.has(isa::Qual::cluster) ? MemoryScope::cluster
                                               : MemoryScope::gpu;
}

// An operation writes what it has in the place of what was there. A reduction combines the two.
bool replaces_undefined(const Record& record) {
  return record.asynchronous && record.writes && !record.atomic;
}

// Of a cell that has no set: Cell::since as a member, and back.
AccessSets::Member member_of(Records::Id id) {
  return {Records::record_of(id), LaneMask{1} << Records::lane_of(id)};
}
Records::Id id_of(const AccessSets::Member& member) {
  return Records::id(member.record, std::countr_zero(member.lanes));
}

} // namespace

Shadow& Checker::shadow_of(ClusterState& cluster, const vgpu::MemoryPlace& place) {
  if (place.is_shared())
    return *cluster.shared[place.cta->rank];
  for (const auto& [allocation, shadow] : cluster.shadows)
    if (allocation == place.allocation)
      return *shadow;
  const auto keep = [&](Shadow& shadow) -> Shadow& {
    cluster.shadows[cluster.oldest_shadow++ % cluster.shadows.size()] = {place.allocation, &shadow};
    return shadow;
  };
  {
    const std::shared_lock lock(shadows_mutex_);
    if (const auto found = shadows_.find(place.allocation); found != shadows_.end())
      return keep(*found->second);
  }
  const std::lock_guard lock(shadows_mutex_);
  std::unique_ptr<Shadow>& shadow = shadows_[place.allocation];
  if (!shadow) {
    shadow = std::make_unique<Shadow>(place.allocation->size_bytes, global_sets_);
    shadow->shared_by_threads = true;
  }
  return keep(*shadow);
}

uint32_t Checker::number_of(ClusterState& cluster, WarpState& warp, const Record& record, bool global) {
  CachedRecord& cached = warp.cached[warp.cached_at(*record.instruction)];
  if (cached.instruction == record.instruction && cached.epoch == record.epoch &&
      cached.agent == record.agent && cached.global == global && cached.writes == record.writes) {
    ++cached.times;
    return cached.record;
  }
  const uint32_t number = global ? global_records_.add(cluster.global_cursor, record)
                                 : cluster.records.add(cluster.cursor, record);
  cached = {record.instruction, record.epoch, global, record.writes, record.agent, number, 1};
  return number;
}

void Checker::accesses(const vgpu::Exec& x, const vgpu::WarpAccess& access) {
  const vgpu::Access& what = access.access;
  stays_in_variable(x, access);
  ClusterState& cluster = state(*x.cta->cluster);
  if (x.warp->follows_values || (what.is_shared() && !cluster.undefined.bytes.empty())) [[unlikely]] {
    values(cluster, x).access(x, access, uses_undefined(x));
    x.warp->follows_values = true; // it may have found something
  }
  if (what.space != isa::StateSpace::shared && what.space != isa::StateSpace::global)
    return;
  WarpState& warp = cluster.warp(x);
  if (waits_for_grids_ && !what.is_shared()) [[unlikely]]
    depends_on_grids(cluster, x, what.allocation, what.kind != AccessKind::write, vgpu::writes(what.kind),
                     what.lanes);
  const vgpu::DecodedInst& in = *what.instruction;
  const bool writes = vgpu::writes(what.kind);
  Record record{.code = x.code,
                .instruction = &in,
                .cluster = cluster.id,
                .agent = warp.knowledge.agent(),
                .epoch = warp.knowledge.epoch(),
                .cta_rank = x.cta->rank,
                .warp = static_cast<uint16_t>(x.warp->index),
                .bytes = static_cast<uint16_t>(access.piece_bytes),
                .order = what.order,
                .proxy = what.proxy,
                .writes = writes,
                .atomic = what.kind == AccessKind::atomic};
  if (is_mbarrier_operation(x.code->opcode_of(in))) {
    record.order = {vgpu::Semantics::relaxed, vgpu::MemoryScope::cluster}; // whatever they are to others
    record.mbarrier = true;
  }
  const Opcode opcode = x.code->opcode_of(in);
  record.initializes = opcode == Opcode::mbarrier_init || opcode == Opcode::mbarrier_inval;
  record.whole_warp = opcode == Opcode::wmma_load || opcode == Opcode::wmma_store;
  record.nc = opcode == Opcode::ld && x.ptx_instruction(in).has(isa::Qual::nc);
  for (const WarpState::Arriving& arriving : std::exchange(warp.arriving, {})) {
    MbarrierState& mbarrier = *arriving.mbarrier;
    (arriving.phase == mbarrier.phase ? mbarrier.arrived : mbarrier.observed)
        .advance(cluster.id, record.agent, arriving.lanes, record.epoch);
  }
  const bool tests = opcode == Opcode::mbarrier_test_wait || opcode == Opcode::mbarrier_try_wait;
  if (record.initializes || tests)
    access.each([&](int lane, uint64_t offset) {
      const vgpu::SharedPlace at{what.cta, static_cast<uint32_t>(offset)};
      if (tests)
        tests_phase(cluster, warp, at);
      else
        initializes(cluster, x, at, lane);
    });
  const bool global = !what.is_shared();
  const uint32_t number = number_of(cluster, warp, record, global);
  if (number == 0)
    return;
  Visit visit{.cluster = cluster,
              .accessor = {warp, record},
              .number = number,
              .writes = writes,
              .x = &x,
              .access = &access};
  // Atomic operations of one instruction do not race with each other.
  const bool merges = access.by_lane && (!writes || (record.atomic && record.is_strong()));
  visit.place = what.at(access.offset(std::countr_zero(access.pieces)) - what.offset);
  enter(visit);
  const auto visit_piece = [&](LaneMask lanes, int piece) {
    visit.piece = piece;
    visit.lanes = access.by_lane ? lanes : what.lanes;
    visit.place = what.at(access.offset(piece) - what.offset);
    if (what.proxy == vgpu::Proxy::tensormap) { // a fence is for one of them
      visit.accessor.map = visit.place.allocation ? visit.place.allocation->base + visit.place.offset : 0;
      visit.passed = 0;
    }
    visit_range(visit, access.piece_bytes);
  };
  if (const bool in_a_row = what.proxy != vgpu::Proxy::tensormap && is_row(access);
      in_a_row && !visit.is_special)
    visit_row(visit);
  else if (merges && !in_a_row)
    Places(access).each(visit_piece);
  else
    vgpu::for_lanes(access.pieces, [&](int piece) { visit_piece(LaneMask{1} << piece, piece); });
  if (opcode == Opcode::tensormap_cp_fenceproxy && writes)
    warp.knowledge.map_release(x.active, scope_of(x.ptx_instruction(in)));
  if (!record.is_strong() || record.mbarrier)
    return;
  if (what.kind != AccessKind::write && opcode != Opcode::red) { // a red is part of no acquire pattern
    const bool returns = results_[function_of(*x.code)].taken(in);
    Places(access).each([&](LaneMask lanes, int first) {
      warp.reads.push_back({lanes, what.at(access.offset(first) - what.offset), what.order, returns});
    });
  }
  if (writes)
    write_strongly(cluster, x, access);
}

// The shadow of the place's owner, and whether more is to be asked there than what is ordered.
void Checker::enter(Visit& visit) {
  visit.shadow = &shadow_of(visit.cluster, visit.place);
  visit.accessor.shared = visit.place.is_shared();
  if (!visit.place.is_shared())
    return;
  const Record& record = visit.accessor.record;
  const ClusterState::Span& span = visit.cluster.mbarrier_spans[visit.place.cta->rank];
  visit.is_special = span.begin < span.end || visit.place.cta->rank != record.cta_rank ||
                     (replaces_undefined(record) && !visit.cluster.undefined.bytes.empty());
}

void Checker::visit(Visit& visit, uint64_t bytes) {
  enter(visit);
  visit_range(visit, bytes);
}

void Checker::visit_range(Visit& visit, uint64_t bytes) {
  if (visit.place.offset + bytes > visit.shadow->bytes())
    return;
  visit.bytes = bytes;
  if (!visit.place.is_shared())
    visit.last_read = ~0u; // others may have had the page since
  if (visit.is_special) {
    const Record& record = visit.accessor.record;
    const ClusterState::Span& span = visit.cluster.mbarrier_spans[visit.place.cta->rank];
    if (visit.place.offset < span.end && visit.place.offset + bytes > span.begin && !record.mbarrier &&
        !record.initializes) [[unlikely]]
      touches_mbarriers(visit, bytes);
    if (replaces_undefined(record) && !visit.cluster.undefined.bytes.empty()) [[unlikely]]
      visit.cluster.undefined.erase(visit.place, bytes);
    if (visit.place.cta->rank != record.cta_rank)
      reaches_out(visit);
  }
  visit.shadow->each(visit.place.offset, bytes,
                     [&](Cell& cell, uint64_t at) { visit_cell(visit, cell, at); });
}

// Pieces side by side, in one go. Where a piece lies is said when there is a conflict.
void Checker::visit_row(Visit& visit) {
  const vgpu::WarpAccess& access = *visit.access;
  const int first = std::countr_zero(access.pieces), shift = std::countr_zero(access.piece_bytes);
  const uint64_t begin = visit.place.offset;
  const uint64_t bytes = static_cast<uint64_t>(std::popcount(access.pieces)) << shift;
  if (begin + bytes > visit.shadow->bytes())
    return;
  visit.bytes = access.piece_bytes;
  visit.last_read = ~0u;
  visit.shadow->each(begin, bytes, access.piece_bytes, [&](Cell& cell, uint64_t at) {
    const int piece = first + static_cast<int>((at - begin) >> shift);
    visit.piece = piece;
    visit.lanes = access.by_lane ? LaneMask{1} << piece : access.access.lanes;
    visit_cell(visit, cell, at);
  });
}

void Checker::visit_cell(Visit& visit, Cell& cell, uint64_t offset) {
  const bool asks = !visit.is_judged;
  if (cell.write && asks)
    check_earlier(visit, cell, offset,
                  {Records::record_of(cell.write), LaneMask{1} << Records::lane_of(cell.write)});
  const bool replaces = visit.writes && !visit.accessor.record.is_strong();
  if (!replaces || cell.since != 0) {
    const auto position = static_cast<uint32_t>(offset % Page::kBytes / visit.shadow->granule(offset));
    if (asks && (cell.since & Cell::kSet))
      check_set(visit, cell, offset, position);
    else if (asks && cell.since && (visit.writes || records_of(visit)[Records::record_of(cell.since)].writes))
      check_earlier(visit, cell, offset, member_of(cell.since).at(position));
    if (!replaces)
      return add_access(visit, cell, offset, position);
    release(visit, cell.since);
  }
  cell = {.write = Records::id(visit.number, std::countr_zero(visit.lanes)), .since = 0};
}

void Checker::check_earlier(Visit& visit, const Cell& cell, uint64_t offset,
                            const AccessSets::Member& earlier) {
  if (earlier.record == visit.passed)
    return;
  const Record& record = records_of(visit)[earlier.record];
  if (visit.accessor.record.nc) { // whatever orders it
    conflict(visit, cell, offset, Records::id(earlier.record, std::countr_zero(earlier.lanes)),
             std::countr_zero(visit.lanes));
    return;
  }
  if (visit.accessor.follows_all(record)) {
    visit.passed = earlier.record;
    return;
  }
  for (LaneMask lanes = earlier.lanes; lanes != 0; lanes &= lanes - 1) {
    const int lane = visit.accessor.unordered(record, std::countr_zero(lanes), visit.lanes);
    if (lane >= 0 && !visit.accessor.morally_strong(record))
      conflict(visit, cell, offset, Records::id(earlier.record, std::countr_zero(lanes)), lane);
  }
}

// Reads do not conflict with reads.
void Checker::check_set(Visit& visit, const Cell& cell, uint64_t offset, uint32_t position) {
  const AccessSets::Set& set = sets_of(visit)[cell.since & ~Cell::kSet];
  const uint16_t bytes = AccessSets::strong_bytes(visit.accessor.record);
  if (bytes && set.strong_bytes == bytes)
    return; // morally strong with all of them
  const size_t count = visit.writes ? set.members.size() : set.writers;
  for (size_t i = 0; i < count; ++i)
    check_earlier(visit, cell, offset, set.members[i].at(position));
}

// Of all lanes of the member.
bool Checker::stands_for(const Visit& visit, const AccessSets::Member& earlier) const {
  const Record& record = records_of(visit)[earlier.record];
  if (!visit.accessor.stands_for(record))
    return false;
  if (visit.accessor.follows_all(record))
    return true;
  for (LaneMask lanes = earlier.lanes; lanes != 0; lanes &= lanes - 1)
    if (visit.accessor.unordered(record, std::countr_zero(lanes), visit.lanes) >= 0)
      return false;
  return true;
}

// A cell forgets what it has of accesses since its last weak write.
void Checker::release(Visit& visit, uint32_t since) {
  if (!(since & Cell::kSet))
    return;
  if (sets_of(visit).release(free_sets(visit), since & ~Cell::kSet) && since == visit.last_read)
    visit.last_read = ~0u; // another set may get that number
}

// What was done to the cell before may be done to this one, if that lane stood to that cell as this one to
// this, and all lanes know the same.
bool Checker::repeats(Visit& visit, const Cell& cell, uint64_t offset, LaneMask lanes) {
  const uint64_t page = offset / Page::kBytes;
  const bool same = page == visit.last_page && cell.since == visit.last_read && lanes == visit.last_lanes &&
                    (visit.lanes == visit.last_own || visit.accessor.warp.knowledge.groups().size() == 1);
  visit.last_page = page;
  visit.last_lanes = lanes;
  visit.last_own = visit.lanes;
  if (!same)
    visit.last_read = ~0u; // until that is done
  return same;
}

void Checker::add_access(Visit& visit, Cell& cell, uint64_t offset, uint32_t position) {
  const AccessSets::Member member = AccessSets::Member::from({visit.number, visit.members()}, position);
  const uint32_t before = cell.since;
  const AccessSets::Member only = member_of(before); // if it is no set
  if (std::has_single_bit(member.lanes) && !(before & Cell::kSet) &&
      (before == 0 || (only.record != visit.number && stands_for(visit, only.at(position))))) {
    cell.since = id_of(member);
    return;
  }
  AccessSets& sets = sets_of(visit);
  if (repeats(visit, cell, offset, member.lanes)) {
    if (visit.last_set & Cell::kSet)
      sets.share(visit.last_set & ~Cell::kSet);
    cell.since = visit.last_set;
    release(visit, before);
    return;
  }
  AccessSets::Number number = before & ~Cell::kSet;
  AccessSets::Member* known = nullptr;
  if (before & Cell::kSet) {
    known = sets[number].find(visit.number);
    if (known && (member.lanes & ~known->lanes) == 0)
      return;
    number = sets.own(free_sets(visit), number);
  } else {
    if (only.record == visit.number && member.lanes == only.lanes)
      return;
    number = sets.make(free_sets(visit));
    if (before)
      sets[number].add(only, records_of(visit)[only.record]);
  }
  if (known = sets[number].find(visit.number); known)
    known->lanes |= member.lanes;
  else
    add_member(visit, sets[number], member, position);
  cell.since = Cell::kSet | number;
  const std::vector<AccessSets::Member>& members = sets[number].members;
  visit.last_read = before;
  if (members.size() == 1 && std::has_single_bit(members.front().lanes)) {
    cell.since = id_of(members.front());
    release(visit, Cell::kSet | number);
  }
  visit.last_set = cell.since;
}

// Over many accesses a set costs each of them a constant: it is searched for what the newest member stands
// for when it has grown to twice what was left then.
void Checker::add_member(const Visit& visit, AccessSets::Set& set, const AccessSets::Member& member,
                         uint32_t position) {
  const Record& record = visit.accessor.record;
  const auto is_covered = [&](const AccessSets::Member& earlier) {
    return stands_for(visit, earlier.at(position));
  };
  if (set.members.size() >= set.tidy_at || (set.members.size() == 1 && is_covered(set.members.front())))
    set.erase_if(is_covered);
  if (record.writes && set.writers >= 2 * kMostWriters) {
    set.erase_writers(kMostWriters);
  }
  const size_t most = visit.place.is_shared() ? kMostMembers : kMostGlobalMembers;
  if (record.writes || set.members.size() < most)
    set.add(member, record);
  else if (!visit.place.is_shared() && set.writers < set.members.size() &&
           records_of(visit)[set.members.back().record].cluster != record.cluster)
    set.replace_last(member, record); // of another cluster than the one that came before
}

} // namespace lemma::check
