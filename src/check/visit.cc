// Accesses meet the shadow memory. See checker.h.
#include "check/checker.h"
#include "check/places.h"
#include "check/shard.h"
#include "isa/catalogue.h"
#include "isa/effects.h"
#include "isa/form.h"
#include "vgpu/engine/exec.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lemma::check {

using vgpu::AccessKind;

namespace {

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

size_t most_members(const vgpu::MemoryPlace& place) {
  return place.is_shared() ? kMostMembers : kMostGlobalMembers;
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
    shadow->shared_by_threads = launch_->workers != 1;
    shadow->enters_updates = [this, allocation = place.allocation](Page& page, uint64_t offset,
                                                                   const Updates& updates) {
      enter_updates(*allocation, page, offset, updates);
    };
  }
  return keep(*shadow);
}

uint32_t Checker::number_of(ClusterState& cluster, WarpState& warp, const Record& record, bool global) {
  CachedRecord& cached = warp.cached_for(record.instruction);
  if (cached.is_like(record.instruction, record.agent, record.writes, global) &&
      cached.record.epoch == record.epoch) {
    ++cached.times;
    return cached.number;
  }
  cached.record = record;
  cached.global = global;
  number(cluster, cached);
  return cached.number;
}

// Gives the record a number of its own.
void Checker::number(ClusterState& cluster, CachedRecord& cached) {
  cached.times = 1;
  if (cached.global)
    cached.record.time = versions_.load(std::memory_order_relaxed);
  cached.number = cached.global ? global_records_.add(cluster.global_cursor, cached.record)
                                : cluster.records.add(cluster.cursor, cached.record);
}

// Of an access by a warp, in pieces of so many bytes.
Record Checker::record_of(const ClusterState& cluster, const Pending::Who& who, AccessKind kind,
                          vgpu::Proxy proxy, uint32_t bytes) {
  const vgpu::Code& code = *who.code;
  const vgpu::DecodedInst& in = code.at(who.instruction);
  const isa::Effects effects = isa::effects_of(code.opcode_of(in));
  Record record{.code = &code,
                .cluster = cluster.id,
                .instruction = who.instruction,
                .agent = who.agent,
                .epoch = who.epoch,
                .cta_rank = who.agent / cluster.warps_per_cta,
                .warp = static_cast<uint16_t>(who.agent % cluster.warps_per_cta),
                .bytes = static_cast<uint16_t>(bytes),
                .order = in.order,
                .proxy = proxy,
                .writes = vgpu::writes(kind),
                .atomic = kind == AccessKind::atomic};
  if (effects.has(isa::effect::on_mbarrier)) {
    record.order = {vgpu::Semantics::relaxed, vgpu::MemoryScope::cluster}; // whatever they are to others
    record.mbarrier = true;
  }
  record.initializes = effects.has_any(isa::effect::makes_mbarrier | isa::effect::ends_mbarrier);
  const auto text = [&]() -> const ptx::Instruction& { return code.function->instructions[in.source]; };
  const isa::MatrixRow* row = effects.has(isa::effect::by_warp) ? text().form()->matrix : nullptr;
  record.whole_warp = row && row->fragments == isa::FragmentRule::wmma;
  record.every_lane = effects.has(isa::effect::tensor_memory);
  record.nc = is_load(effects) && text().has(isa::Qual::nc);
  return record;
}

// What an operation on mbarriers says beside its access.
void Checker::uses_mbarriers(ClusterState& cluster, WarpState& warp, const vgpu::Exec& x,
                             const vgpu::WarpAccess& access, const Record& record) {
  for (const WarpState::Arriving& arriving : std::exchange(warp.arriving, {})) {
    MbarrierState& mbarrier = *arriving.mbarrier;
    (arriving.phase == mbarrier.phase ? mbarrier.arrived : mbarrier.observed)
        .advance(cluster.id, record.agent, arriving.lanes, record.epoch);
  }
  const isa::Effects does = isa::effects_of(x.code->opcode_of(*access.access.instruction));
  const bool tests = does.has(isa::effect::on_mbarrier) && does.acquires();
  if (record.initializes || tests)
    access.each([&](int lane, uint64_t offset) {
      const vgpu::SharedPlace at{access.access.cta, static_cast<uint32_t>(offset)};
      if (tests)
        tests_phase(cluster, warp, at);
      else
        initializes(cluster, x, at, lane);
    });
}

// The record of an access, with its number: that of the same instruction before, where that will do.
const CachedRecord& Checker::record_access(ClusterState& cluster, WarpState& warp, const Pending::Who& who,
                                           const vgpu::WarpAccess& access) {
  const vgpu::Access& what = access.access;
  const bool global = !what.is_shared();
  CachedRecord& cached = warp.cached_for(who.instruction);
  if (cached.is_like(who.instruction, who.agent, vgpu::writes(what.kind), global) &&
      !cached.record.asynchronous && cached.record.bytes == access.piece_bytes &&
      cached.record.proxy == what.proxy) [[likely]] {
    if (cached.record.epoch == who.epoch) {
      ++cached.times;
      return cached;
    }
    cached.record.epoch = who.epoch;
  } else {
    cached.record = record_of(cluster, who, what.kind, what.proxy, access.piece_bytes);
    cached.global = global;
  }
  number(cluster, cached);
  return cached;
}

void Checker::accesses(const vgpu::Exec& x, const vgpu::WarpAccess& access) {
  const vgpu::Access& what = access.access;
  const vgpu::InstId in = x.code->id_of(*what.instruction);
  stays_in_variable(x, access, in);
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
  const bool global = !what.is_shared();
  vgpu::LanesLie lie = access.by_lane ? access.lie : vgpu::LanesLie::anyhow;
  if (lie == vgpu::LanesLie::anyhow && what.proxy != vgpu::Proxy::tensormap && is_row(access))
    lie = vgpu::LanesLie::side_by_side;
  const Pending::Who who{x.code, in, warp.knowledge.agent(), warp.knowledge.epoch()};
  if (!global && cluster.forgets) {
    if (waits(cluster, who, x, access, lie))
      return;
    if (cluster.pending.meet(what))
      enter_pending(cluster);
  }
  const CachedRecord& cached = record_access(cluster, warp, who, access);
  const Record& record = cached.record;
  if (record.mbarrier || record.initializes || !warp.arriving.empty()) [[unlikely]]
    uses_mbarriers(cluster, warp, x, access, record);
  if (cached.number == 0)
    return;
  const Told told{record, cached.number, lie, nullptr};
  const bool returns = record.is_strong() && !record.mbarrier && value_is_taken(x, access, in);
  if (global && may_be_kept(warp, access, record, returns)) {
    vgpu::WarpAccess others = access;
    others.pieces = keep_updates(cluster, warp, access, told);
    if (others.pieces)
      enter_access(x, others, {record, cached.number, vgpu::LanesLie::anyhow, nullptr}, returns);
    return;
  }
  enter_access(x, access, told, returns);
}

void Checker::enter_access(const vgpu::Exec& x, const vgpu::WarpAccess& access, Told told, bool returns) {
  const vgpu::Access& what = access.access;
  ClusterState& cluster = state(*x.cta->cluster);
  WarpState& warp = cluster.warp(x);
  const Record& record = told.record;
  const bool is_strong = record.is_strong() && !record.mbarrier;
  // Reads do not race with each other, nor do atomic operations of one instruction: lanes at one place go
  // together.
  const bool merges = access.by_lane && (record.writes ? record.atomic && record.is_strong()
                                                       : record.is_strong() || may_have_twins(access));
  std::optional<Places> places;
  if ((merges && told.lie != vgpu::LanesLie::side_by_side) || is_strong)
    places.emplace(access, told.lie);
  told.places = merges && places ? &*places : nullptr;
  visit_access(cluster, warp, x, access, told);
  // tensormap.cp_fenceproxy
  if (const vgpu::DecodedInst& in = *what.instruction;
      record.writes && isa::effects_of(x.code->opcode_of(in)).has(isa::effect::fences))
    warp.knowledge.map_release(x.active, scope_of(x.ptx_instruction(in)));
  if (!is_strong)
    return;
  if (record.writes)
    return write_strongly(cluster, x, access, *places, reads(x, access), returns);
  places->each([&](LaneMask lanes, int first) {
    warp.reads.push_back({lanes, what.at(access.offset(first) - what.offset), what.order, returns});
  });
}

void Checker::visit_access(ClusterState& cluster, WarpState& warp, const vgpu::Exec& x,
                           const vgpu::WarpAccess& access, const Told& told) {
  const vgpu::Access& what = access.access;
  const Record& record = told.record;
  Visit visit{.cluster = cluster,
              .accessor = {warp, record},
              .number = told.number,
              .writes = record.writes,
              .x = &x,
              .access = &access};
  visit.place = what.at(access.offset(std::countr_zero(access.pieces)) - what.offset);
  enter(visit);
  const auto visit_piece = [&](LaneMask lanes, int piece) {
    visit.piece = piece;
    visit.lanes = access.by_lane ? lanes : what.lanes;
    visit.place = what.at(access.offset(piece) - what.offset);
    if (what.proxy == vgpu::Proxy::tensormap) { // a fence is for one of them
      visit.accessor.map = visit.place.allocation ? visit.place.allocation->base + visit.place.offset : 0;
      visit.passed = visit.passed_write = 0;
    }
    visit_range(visit, access.piece_bytes);
  };
  const bool in_a_row = told.lie == vgpu::LanesLie::side_by_side;
  if (in_a_row && !visit.is_special) {
    visit.lanes = what.lanes;
    visit_row(visit, {access.pieces, access.piece_bytes, access.by_lane});
    return;
  }
  const auto each = [&](const auto& visit_one) {
    if (told.places && !in_a_row)
      told.places->each(visit_one);
    else
      vgpu::for_lanes(access.pieces, [&](int piece) { visit_one(LaneMask{1} << piece, piece); });
  };
  if (access.by_lane && !visit.is_special && what.proxy != vgpu::Proxy::tensormap) {
    if (told.lie == vgpu::LanesLie::anyhow && !told.places && !visit.shadow->shared_by_threads)
      fetch_ahead(visit, access);
    each([&](LaneMask lanes, int piece) { visit_place(visit, lanes, piece); });
  } else {
    each(visit_piece);
  }
}

// The cells of scattered lanes, and their sets, lie far apart: the host fetches them all at once.
void Checker::fetch_ahead(const Visit& visit, const vgpu::WarpAccess& access) {
  const AccessSets& sets = sets_of(visit);
  std::array<uint32_t, vgpu::kWarpSize> since;
  size_t count = 0;
  access.each([&](int, uint64_t offset) { since[count++] = visit.shadow->peek(offset).since; });
  for (size_t i = 0; i < count; ++i)
    if (since[i] & Cell::kSet)
      sets.fetch(since[i] & ~Cell::kSet);
}

// A piece of which nothing is asked but what is ordered. Where it lies is said when there is a conflict.
void Checker::visit_place(Visit& visit, LaneMask lanes, int piece) {
  const uint64_t offset = visit.access->offset(piece), bytes = visit.access->piece_bytes;
  if (offset + bytes > visit.shadow->bytes())
    return;
  visit.piece = piece;
  visit.lanes = lanes;
  visit.bytes = bytes;
  if (!visit.place.is_shared())
    visit.last_read = ~0u; // others may have had the page since
  visit.shadow->each_of_place(
      offset, bytes, [&](Cell& cell, uint32_t position) { return visit_quickly(visit, cell, position); },
      [&](Cell& cell, uint64_t at) { visit_cell(visit, cell, at); });
}

// What visit_cell() does to most cells that lanes access by themselves; false: it is another case, and
// nothing is done.
bool Checker::visit_quickly(Visit& visit, Cell& cell, uint32_t position) {
  if (visit.accessor.record.is_strong() ||
      (cell.write != 0 && Records::record_of(cell.write) != visit.passed_write))
    return false;
  if (visit.writes) {
    if (cell.since != 0)
      return false;
    cell.write = Records::id(visit.number, std::countr_zero(visit.lanes));
    return true;
  }
  const AccessSets::Member member = AccessSets::Member::from({visit.number, visit.lanes}, position);
  const bool is_single = (visit.lanes & (visit.lanes - 1)) == 0;
  if (cell.since == 0 && is_single)
    cell.since = id_of(member);
  if (!(cell.since & Cell::kSet))
    return is_single && cell.since == id_of(member);
  AccessSets::Set& set = sets_of(visit)[cell.since & ~Cell::kSet];
  if (set.writers != 0)
    return false;
  return set.add_read(member, visit.accessor.record.cluster, most_members(visit.place)) ||
         (!set.may_have(visit.number) && is_full(visit, set));
}

// Whether an atomic operation on global memory is one of those that Updates has, if nothing else is done to
// its pages.
bool Checker::may_be_kept(const WarpState& warp, const vgpu::WarpAccess& access, const Record& record,
                          bool returns) const {
  return record.atomic && access.by_lane && !returns && record.order.semantics == vgpu::Semantics::relaxed &&
         AccessSets::strong_bytes(record) != 0 && (record.bytes == 4 || record.bytes == 8) &&
         !warp.knowledge.has_release_fence() && !gives_old_values_;
}

// The pieces for which it is not.
LaneMask Checker::keep_updates(ClusterState& cluster, WarpState& warp, const vgpu::WarpAccess& access,
                               const Told& told) {
  Shadow& shadow = shadow_of(cluster, access.access);
  const std::shared_ptr<const Known>& before = knew(warp, access.access.lanes);
  LaneMask rest = access.pieces;
  const auto keep = [&](LaneMask lanes, int first) {
    const uint64_t offset = access.offset(first);
    if (offset + access.piece_bytes <= shadow.bytes() &&
        shadow.update(offset, access.piece_bytes, [&](Updates& updates) {
          updates.add(offset % Page::kBytes, {told.number, lanes}, before);
        }))
      rest &= ~lanes;
  };
  if (told.lie == vgpu::LanesLie::at_one_place)
    keep(access.pieces, std::countr_zero(access.pieces));
  else
    vgpu::for_lanes(access.pieces, [&](int lane) { keep(LaneMask{1} << lane, lane); });
  return rest;
}

void Checker::enter_updates(const vgpu::Allocation& allocation, Page& page, uint64_t offset,
                            const Updates& updates) {
  updates.each([&](uint64_t in_page, const AccessSets::Member& by) {
    const Record& record = global_records_[by.record];
    page.each(in_page, updates.bytes(), updates.bytes(), global_sets_, [&](Cell& cell, uint64_t at) {
      if (cell.since == 0)
        cell.since = Cell::kSet | global_sets_.make();
      global_sets_[cell.since & ~Cell::kSet].add(AccessSets::Member::from(by, page.position(at)), record);
    });
    const StrongWriter writer{
        record.cluster, record.cta_rank, record.order.scope, updates.knew(by.record),
        record.agent,   by.lanes,        record.epoch,       {record.code, record.instruction}};
    const uint64_t address = allocation.base + offset + in_page;
    Shard& shard = shards_[shard_of(address)];
    const std::lock_guard lock(shard.mutex);
    note_writer(shard.locations[address], writer, ++versions_);
  });
}

// Whether the access may get a value: a red is part of no acquire pattern.
bool Checker::reads(const vgpu::Exec& x, const vgpu::WarpAccess& access) {
  return access.access.kind != AccessKind::write &&
         !isa::effects_of(x.code->opcode_of(*access.access.instruction)).has(isa::effect::reduces);
}

// ... and the thread goes by it.
bool Checker::value_is_taken(const vgpu::Exec& x, const vgpu::WarpAccess& access, vgpu::InstId in) const {
  return reads(x, access) && results_[function_of(*x.code)]->taken(in);
}

// Whether the access, to shared memory, may wait in ClusterState::pending.
bool Checker::waits(ClusterState& cluster, const Pending::Who& who, const vgpu::Exec& x,
                    const vgpu::WarpAccess& access, vgpu::LanesLie lie) const {
  const vgpu::Access& what = access.access;
  if (!access.by_lane)
    return false;
  if (what.order.semantics == vgpu::Semantics::weak)
    return !vgpu::writes(what.kind) && cluster.pending.add_read(access, who, lie);
  WarpState& warp = cluster.warp(x);
  return what.kind == AccessKind::atomic && what.order.semantics == vgpu::Semantics::relaxed &&
         !warp.knowledge.has_release_fence() && !value_is_taken(x, access, who.instruction) &&
         cluster.pending.add_update(access, who, lie, [&] { return knew(warp, what.lanes); });
}

// They conflict with nothing that is there.
void Checker::enter_pending(ClusterState& cluster) {
  for (const Pending::Waiting& waiting : cluster.pending.take()) {
    WarpState& warp = cluster.warps[waiting.who.agent];
    const uint32_t number = number_of(
        cluster, warp, record_of(cluster, waiting.who, waiting.kind, waiting.proxy, waiting.bytes), false);
    if (number == 0)
      continue;
    const Record& record = cluster.records[number];
    Visit visit{.cluster = cluster,
                .accessor = {warp, record},
                .number = number,
                .lanes = waiting.pieces,
                .writes = record.writes};
    visit.place.space = isa::StateSpace::shared;
    visit.place.cta = cluster.cluster.ctas.front().get();
    visit.shadow = cluster.shared.front().get();
    visit.is_judged = visit.is_late = true;
    StrongWriter writer{record.cluster,     record.cta_rank,
                        record.order.scope, record.writes ? cluster.pending.knew(waiting) : nullptr,
                        record.agent,       0,
                        record.epoch,       {record.code, record.instruction}};
    const auto enter_place = [&](LaneMask lanes, uint64_t offset) {
      visit.lanes = lanes;
      visit.shadow->each(offset, waiting.bytes,
                         [&](Cell& cell, uint64_t at) { visit_cell(visit, cell, at); });
      if (!record.writes)
        return;
      writer.lanes = lanes;
      note_writer(cluster.locations[offset], writer, ++versions_); // the rank of its one CTA is 0
    };
    const uint32_t* offset = cluster.pending.offsets(waiting);
    if (waiting.lie == vgpu::LanesLie::at_one_place) {
      enter_place(waiting.pieces, *offset);
    } else if (waiting.lie == vgpu::LanesLie::side_by_side && !record.writes) {
      visit.place.offset = *offset;
      visit_row(visit, {waiting.pieces, waiting.bytes, true});
    } else {
      const bool is_row = waiting.lie == vgpu::LanesLie::side_by_side;
      vgpu::for_lanes(waiting.pieces, [&, i = 0u](int lane) mutable {
        enter_place(LaneMask{1} << lane, is_row ? *offset + uint64_t{i} * waiting.bytes : offset[i]);
        ++i;
      });
    }
  }
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
  // Whom the cells are to remember is the same for all of them: they have no lanes, or hold one write.
  const bool alike = visit.accessor.collective || replaces(visit);
  visit.shadow->each_row(visit.place.offset, bytes, bytes, [&](Cell* cells, uint64_t count, uint64_t at) {
    const uint64_t granule = visit.shadow->granule(at);
    for (uint64_t i = 0, done = 0; i < count; i += done, at += done * granule)
      done = visit_cells(visit, cells + i, alike ? count - i : 1, at);
  });
}

// Pieces side by side, in one go. Where a piece lies is said when there is a conflict.
void Checker::visit_row(Visit& visit, const Row& row) {
  const int first = std::countr_zero(row.pieces), shift = std::countr_zero(row.piece_bytes);
  const uint64_t begin = visit.place.offset;
  const uint64_t bytes = static_cast<uint64_t>(std::bit_width(row.pieces >> first)) << shift;
  if (begin + bytes > visit.shadow->bytes())
    return;
  visit.bytes = row.piece_bytes;
  visit.last_read = ~0u;
  visit.next_lane = row.by_lane ? 1 : 0;
  const LaneMask lanes = visit.lanes;
  const bool turns = row.by_lane || lanes == vgpu::kAllLanes;
  visit.shadow->each_row(begin, bytes, row.piece_bytes, [&](Cell* cells, uint64_t count, uint64_t at) {
    const uint64_t granule = visit.shadow->granule(at);
    const bool alike = turns && granule == row.piece_bytes;
    for (uint64_t i = 0, done = 0; i < count; i += done, at += done * granule) {
      visit.piece = first + static_cast<int>((at - begin) >> shift);
      visit.lanes = row.by_lane ? LaneMask{1} << visit.piece : lanes;
      done = visit_cells(visit, cells + i, alike ? count - i : 1, at);
    }
  });
}

bool Checker::replaces(const Visit& visit) {
  return visit.writes && !visit.accessor.record.is_strong();
}

// Visits a cell; those after it that hold the same, up to `count`, likewise: they stand to those who access
// them as that one does. How many are done.
uint64_t Checker::visit_cells(Visit& visit, Cell* cells, uint64_t count, uint64_t offset) {
  const Cell before = cells[0];
  visit.by_lane = false;
  visit_cell(visit, cells[0], offset);
  return count > 1 && !visit.by_lane ? repeat(visit, before, cells, count) : 1;
}

// The same where nobody has accessed them.
uint64_t Checker::repeat_where_empty(const Visit& visit, Cell* cells, uint64_t count) {
  const auto is_empty = [&](uint64_t i) { return (cells[i].write | cells[i].since) == 0; };
  const Cell after = cells[0];
  uint64_t end = 1;
  while (end + 4 <= count && (is_empty(end) & is_empty(end + 1) & is_empty(end + 2) & is_empty(end + 3)))
    end += 4;
  while (end < count && is_empty(end))
    ++end;
  const uint32_t step = after.write != 0 ? visit.next_lane : 0;
  for (uint64_t i = 1; i < end; ++i)
    cells[i] = {after.write + step * static_cast<uint32_t>(i), after.since};
  return end;
}

// Does to the cells after the first what was done to that, as long as they held the same. How many are done,
// the first included.
uint64_t Checker::repeat(Visit& visit, const Cell& before, Cell* cells, uint64_t count) {
  const Cell after = cells[0];
  const bool replaces = Checker::replaces(visit);
  if (!replaces && before.since != after.since && !visit.accessor.warp.knowledge.all_know_the_same())
    return 1;
  const auto has_passed = [&](const Cell& cell) {
    return cell.write == 0 || Records::record_of(cell.write) == visit.passed_write;
  };
  if (!has_passed(before))
    return 1;
  if (before.write == 0 && before.since == 0 && !(after.since & Cell::kSet))
    return repeat_where_empty(visit, cells, count);
  AccessSets& sets = sets_of(visit);
  uint64_t i = 1;
  for (; i < count && cells[i].since == before.since && has_passed(cells[i]); ++i) {
    if (replaces) {
      release(visit, before.since);
      cells[i] = {after.write + visit.next_lane * static_cast<uint32_t>(i), 0};
    } else if (before.since != after.since) {
      if (after.since & Cell::kSet)
        sets.share(after.since & ~Cell::kSet);
      release(visit, before.since);
      cells[i].since = after.since;
    }
  }
  return i;
}

void Checker::visit_cell(Visit& visit, Cell& cell, uint64_t offset) {
  const bool asks = !visit.is_judged;
  if (cell.write && asks && Records::record_of(cell.write) != visit.passed_write) {
    check_earlier(visit, cell, offset,
                  {Records::record_of(cell.write), LaneMask{1} << Records::lane_of(cell.write)});
    if (visit.passed == Records::record_of(cell.write))
      visit.passed_write = visit.passed;
  }
  const bool replaces = Checker::replaces(visit);
  if (!replaces || cell.since != 0) {
    const uint32_t position = visit.shadow->position(offset);
    if (asks && (cell.since & Cell::kSet))
      check_set(visit, cell, offset, position);
    else if (asks && cell.since && !is_strong_with(visit, cell.since) &&
             (visit.writes || records_of(visit)[Records::record_of(cell.since)].writes))
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
    visit.by_lane = true;
    conflict(visit, cell, offset, Records::id(earlier.record, std::countr_zero(earlier.lanes)),
             std::countr_zero(visit.lanes));
    return;
  }
  if (visit.accessor.follows_all(record)) {
    visit.passed = earlier.record;
    return;
  }
  visit.by_lane = true;
  for (LaneMask lanes = earlier.lanes; lanes != 0; lanes &= lanes - 1) {
    const int lane = visit.accessor.unordered(record, std::countr_zero(lanes), visit.lanes);
    if (lane >= 0 && !visit.accessor.morally_strong(record))
      conflict(visit, cell, offset, Records::id(earlier.record, std::countr_zero(lanes)), lane);
  }
}

// Both are strong, between any two threads of a GPU.
bool Checker::is_strong_with(const Visit& visit, Records::Id earlier) const {
  const uint16_t bytes = AccessSets::strong_bytes(visit.accessor.record);
  return bytes != 0 && AccessSets::strong_bytes(records_of(visit)[Records::record_of(earlier)]) == bytes;
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
  if (visit.is_late) // what its threads knew then is no longer known
    return record.agent == visit.accessor.record.agent && earlier.lanes == visit.lanes;
  if (visit.accessor.follows_all(record))
    return true;
  if (!visit.accessor.warp.knowledge.is_settled() && !visit.accessor.collective)
    return visit.accessor.follows(record, earlier.lanes, visit.lanes);
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
                    (visit.lanes == visit.last_own || visit.accessor.warp.knowledge.all_know_the_same());
  visit.last_page = page;
  visit.last_lanes = lanes;
  visit.last_own = visit.lanes;
  if (!same)
    visit.last_read = ~0u; // until that is done
  return same;
}

void Checker::add_access(Visit& visit, Cell& cell, uint64_t offset, uint32_t position) {
  // Operations without lanes: so that neighbours hold the same.
  const AccessSets::Member member =
      AccessSets::Member::from({visit.number, visit.members()}, visit.accessor.collective ? 0 : position);
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
    if (known ? (member.lanes & ~known->lanes) == 0 : is_full(visit, sets[number]))
      return;
    if (const AccessSets::Number own = sets.own(free_sets(visit), number); own != number) {
      number = own;
      known = known ? sets[number].find(visit.number) : nullptr;
    }
  } else {
    if (only.record == visit.number && member.lanes == only.lanes)
      return;
    number = sets.make(free_sets(visit));
    if (before)
      sets[number].add(only, records_of(visit)[only.record]);
  }
  if (!(before & Cell::kSet))
    known = sets[number].find(visit.number);
  if (known)
    known->lanes |= member.lanes;
  else
    add_member(visit, sets[number], member, position);
  cell.since = Cell::kSet | number;
  const AccessSets::Members& members = sets[number].members;
  visit.last_read = before;
  if (members.size() == 1 && std::has_single_bit(members.front().lanes)) {
    cell.since = id_of(members.front());
    release(visit, Cell::kSet | number);
  }
  visit.last_set = cell.since;
}

// A read more is one that the set has no room for.
bool Checker::is_full(const Visit& visit, const AccessSets::Set& set) {
  return !visit.writes && set.members.size() >= most_members(visit.place) &&
         set.members.size() < set.tidy_at && !takes_last_place(visit, set);
}

// ... but in the place of the last one, if the one that came last is of another cluster.
bool Checker::takes_last_place(const Visit& visit, const AccessSets::Set& set) {
  return !visit.place.is_shared() && set.writers < set.members.size() &&
         set.newest_cluster != visit.accessor.record.cluster;
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
  if (record.writes || set.members.size() < most_members(visit.place))
    set.add(member, record);
  else if (takes_last_place(visit, set))
    set.replace_last(member, record);
}

} // namespace lemma::check
