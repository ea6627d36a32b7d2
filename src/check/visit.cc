// Accesses meet the shadow memory. See checker.h.
#include "check/checker.h"
#include "vgpu/exec.h"

#include <algorithm>

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
// with.
constexpr size_t kMostMembers = 64, kMostWriters = 8;

bool has(const AccessSets::Set& set, uint32_t record, LaneMask lanes) {
  return std::any_of(set.members.begin(), set.members.end(), [&](const AccessSets::Member& member) {
    return member.record == record && (lanes & ~member.lanes) == 0;
  });
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
    shadow = std::make_unique<Shadow>(place.allocation->size_bytes);
    shadow->shared_by_threads = true;
  }
  return keep(*shadow);
}

uint32_t Checker::number_of(ClusterState& cluster, WarpState& warp, const Record& record, bool global) {
  CachedRecord& cached = warp.cached[static_cast<size_t>(reinterpret_cast<uintptr_t>(record.instruction) /
                                                         sizeof(vgpu::DecodedInst)) %
                                     warp.cached.size()];
  if (cached.instruction == record.instruction && cached.epoch == record.epoch &&
      cached.agent == record.agent && cached.global == global && cached.writes == record.writes)
    return cached.record;
  const uint32_t number = global ? global_records_.add(cluster.global_cursor, record)
                                 : cluster.records.add(cluster.cursor, record);
  cached = {record.instruction, record.epoch, global, record.writes, record.agent, number};
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
    depends_on_grids(cluster, x, access);
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
  for (LaneMask left = access.pieces; left != 0;) {
    const int piece = std::countr_zero(left);
    LaneMask alike = LaneMask{1} << piece; // pieces at the same place
    if (!writes && access.by_lane)
      for (LaneMask rest = left & (left - 1); rest != 0; rest &= rest - 1)
        alike |= LaneMask{access.addresses[std::countr_zero(rest)] == access.addresses[piece]}
                 << std::countr_zero(rest);
    left &= ~alike;
    visit.lanes = access.by_lane ? alike : what.lanes;
    visit.last_read = ~0u;
    visit.piece = piece;
    visit.place = what.at(access.offset(piece) - what.offset);
    if (what.proxy == vgpu::Proxy::tensormap) { // a fence is for one of them
      visit.accessor.map = visit.place.allocation ? visit.place.allocation->base + visit.place.offset : 0;
      visit.passed = 0;
    }
    this->visit(visit, access.piece_bytes);
  }
  if (!record.is_strong() || record.mbarrier)
    return;
  if (what.kind != AccessKind::write) {
    const bool returns = results_[function_of(x)].taken(in);
    access.each([&](int lane, uint64_t offset) {
      warp.reads.push_back({lane, what.at(offset - what.offset), what.order, returns});
    });
  }
  if (writes)
    write_strongly(cluster, x, access);
}

void Checker::visit(Visit& visit, uint64_t bytes) {
  Shadow& shadow = shadow_of(visit.cluster, visit.place);
  visit.shadow = &shadow;
  if (visit.place.offset + bytes > shadow.bytes())
    return;
  visit.bytes = bytes;
  if (visit.place.is_shared()) {
    const Record& record = visit.accessor.record;
    const ClusterState::Span& span = visit.cluster.mbarrier_spans[visit.place.cta->rank];
    if (visit.place.offset < span.end && visit.place.offset + bytes > span.begin && !record.mbarrier &&
        !record.initializes) [[unlikely]]
      touches_mbarriers(visit, bytes);
    if (record.asynchronous && record.writes && !visit.cluster.undefined.bytes.empty()) [[unlikely]]
      visit.cluster.undefined.erase(visit.place, bytes);
    if (visit.place.cta->rank != record.cta_rank)
      reaches_out(visit);
  }
  shadow.each(visit.place.offset, bytes, [&](Cell& cell, uint64_t at) { visit_cell(visit, cell, at); });
}

void Checker::visit_cell(Visit& visit, Cell& cell, uint64_t offset) {
  const Records::Id id = Records::id(visit.number, std::countr_zero(visit.lanes));
  const bool global = !visit.place.is_shared();
  const Records& records = global ? global_records_ : visit.cluster.records;
  const auto check = [&](uint32_t number, LaneMask lanes) {
    if (number == visit.passed)
      return;
    const Record& record = records[number];
    if (visit.accessor.record.nc || record.nc) { // whatever orders it
      conflict(visit, cell, offset, Records::id(number, std::countr_zero(lanes)),
               std::countr_zero(visit.lanes));
      return;
    }
    if (visit.accessor.follows_all(record)) {
      visit.passed = number;
      return;
    }
    for (; lanes != 0; lanes &= lanes - 1) {
      const int lane = visit.accessor.unordered(record, std::countr_zero(lanes), visit.lanes);
      if (lane >= 0 && !visit.accessor.morally_strong(record))
        conflict(visit, cell, offset, Records::id(number, std::countr_zero(lanes)), lane);
    }
  };
  if (cell.write)
    check(Records::record_of(cell.write), LaneMask{1} << Records::lane_of(cell.write));
  // Reads do not conflict with reads.
  const auto check_since = [&](const AccessSets::Member& member) {
    if (visit.writes || records[member.record].writes)
      check(member.record, member.lanes);
  };
  if (cell.since & Cell::kSet) {
    const AccessSets& sets = global ? global_sets_ : visit.cluster.sets;
    const AccessSets::Set& set = sets[cell.since & ~Cell::kSet];
    if (visit.writes || set.has_writes)
      std::for_each(set.members.begin(), set.members.end(), check_since);
  } else if (cell.since) {
    check_since({Records::record_of(cell.since), LaneMask{1} << Records::lane_of(cell.since)});
  }
  if (visit.writes && !visit.accessor.record.is_strong())
    cell = {.write = id, .since = 0};
  else if (cell.since != id)
    add_access(visit, cell);
}

void Checker::add_access(Visit& visit, Cell& cell) {
  const LaneMask lanes = visit.members();
  const bool single = (lanes & (lanes - 1)) == 0;
  const bool global = !visit.place.is_shared();
  const Records& records = global ? global_records_ : visit.cluster.records;
  const auto supersedes = [&](const Record& record, int lane) {
    return visit.accessor.stands_for(record) &&
           (visit.accessor.follows_all(record) || visit.accessor.unordered(record, lane, visit.lanes) < 0);
  };
  if (single && !(cell.since & Cell::kSet) &&
      (cell.since == 0 ||
       (Records::record_of(cell.since) != visit.number &&
        supersedes(records[Records::record_of(cell.since)], Records::lane_of(cell.since))))) {
    cell.since = Records::id(visit.number, std::countr_zero(lanes));
    return;
  }
  if (cell.since == visit.last_read) { // as the cell before
    cell.since = visit.last_set;
    return;
  }
  visit.last_read = cell.since;
  visit.last_set = cell.since;
  AccessSets& sets = global ? global_sets_ : visit.cluster.sets;
  if ((cell.since & Cell::kSet) && has(sets[cell.since & ~Cell::kSet], visit.number, lanes))
    return;
  AccessSets::Set set;
  const auto add = [&](const AccessSets::Member& member) {
    set.members.push_back(member);
    set.has_writes |= records[member.record].writes;
  };
  const auto keep = [&](const AccessSets::Member& member) {
    const Record& record = records[member.record];
    LaneMask left = member.lanes;
    if (member.record != visit.number && visit.accessor.stands_for(record)) {
      if (visit.accessor.follows_all(record))
        return;
      for (LaneMask lanes = left; lanes != 0; lanes &= lanes - 1)
        if (visit.accessor.unordered(record, std::countr_zero(lanes), visit.lanes) < 0)
          left &= ~(lanes & -lanes);
    }
    if (left)
      add({member.record, left});
  };
  if (cell.since & Cell::kSet) {
    for (const AccessSets::Member& member : sets[cell.since & ~Cell::kSet].members)
      keep(member);
  } else if (cell.since) {
    keep({Records::record_of(cell.since), LaneMask{1} << Records::lane_of(cell.since)});
  }
  std::vector<AccessSets::Member>& members = set.members;
  const auto same = std::find_if(members.begin(), members.end(), [&](const AccessSets::Member& member) {
    return member.record == visit.number;
  });
  if (same != members.end())
    same->lanes |= lanes;
  else if (visit.writes && members.size() >= kMostWriters)
    members[visit.number % kMostWriters] = {visit.number, lanes};
  else if (members.size() < kMostMembers)
    members.push_back({visit.number, lanes});
  set.has_writes |= visit.writes;
  if (members.size() == 1 && single && members.front().lanes == lanes)
    cell.since = Records::id(visit.number, std::countr_zero(lanes));
  else
    cell.since = Cell::kSet | sets.number_of(set);
  visit.last_set = cell.since;
}

} // namespace lemma::check
