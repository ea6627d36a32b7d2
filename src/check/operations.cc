// Asynchronous operations: whose agents they are, and what waiting for them tells. See checker.h.
#include "check/checker.h"
#include "layout/tensor_map.h"
#include "vgpu/async/async_operation.h"
#include "vgpu/engine/exec.h"

#include <algorithm>
#include <utility>

namespace lemma::check {

using vgpu::AsyncGroup;
using vgpu::AsyncKind;
using vgpu::AsyncOperation;

namespace {

// The groups of a kind, with their agents, made when the warp first issues one.
LaneGroups& groups_of(ClusterState& cluster, std::unique_ptr<LaneGroups>& groups) {
  if (!groups) {
    groups = std::make_unique<LaneGroups>();
    groups->write_agent = cluster.new_agent();
    groups->read_agent = cluster.new_agent();
  }
  return *groups;
}

std::unique_ptr<LaneGroups>& groups_of_kind(WarpState& warp, AsyncGroup group) {
  return group == AsyncGroup::cp_async ? warp.knowledge.copies : warp.knowledge.bulk;
}

} // namespace

void Checker::issues(const vgpu::Exec& x, const AsyncOperation& operation) {
  ClusterState& cluster = state(*x.cta->cluster);
  WarpState& warp = cluster.warp(x);
  const int lane = operation.issuer.lane;
  Record record{.code = x.code,
                .cluster = cluster.id,
                .instruction = operation.issuer.instruction,
                .cta_rank = x.cta->rank,
                .warp = static_cast<uint16_t>(x.warp->index),
                .proxy = operation.proxy,
                .asynchronous = true,
                .kind = operation.kind,
                .group = operation.group};
  Record read = record, write = record;
  write.writes = true;
  if (operation.reduce) { // as PTX says of each reduction
    write.order = {vgpu::Semantics::relaxed, vgpu::MemoryScope::gpu};
    write.atomic = true;
  }
  LaneMask lanes = LaneMask{1} << lane;
  // Where operations complete on mbarriers, each target's writes are known to those who wait there.
  bool by_target = false;
  switch (operation.group) {
  case AsyncGroup::cp_async:
  case AsyncGroup::bulk: {
    LaneGroups& groups = groups_of(cluster, groups_of_kind(warp, operation.group));
    GroupsOfThread& thread = groups.lanes[static_cast<size_t>(lane)];
    if (operation.kind == AsyncKind::cp_async_arrive) {
      cluster.arriving[operation.number] = {groups.write_agent, lane, thread.open++};
      return;
    }
    read.agent = operation.group == AsyncGroup::bulk ? groups.read_agent : groups.write_agent;
    write.agent = groups.write_agent;
    read.epoch = write.epoch = thread.issued = thread.open;
    if (operation.group == AsyncGroup::bulk && operation.source.is_shared())
      thread.last = Statement::of(operation.issuer);
    break;
  }
  case AsyncGroup::wgmma:
    read.agent = cluster.products_agent(*x.cta, x.warp->index);
    read.epoch = warp.knowledge.products.open;
    lanes = x.active;
    warp.registers.issue(x, warp.knowledge.products, reports_registers());
    break;
  case AsyncGroup::tensor_st: // told by moves_tensor()
    return;
  case AsyncGroup::none: {
    if (operation.is_in_order()) { // each thread's are complete when a commit behind them has arrived
      LaneGroups& groups = groups_of(cluster, warp.knowledge.tensor);
      GroupsOfThread& thread = groups.lanes[static_cast<size_t>(lane)];
      if (operation.kind == AsyncKind::tensor_commit) {
        const LaneGroup& group = warp.knowledge.group_of(lane);
        Knowledge knew = group.knowledge;
        knew.tensor.join(group.tensor_fenced);
        cluster.arriving[operation.number] = {groups.write_agent, lane, thread.open++, std::move(knew)};
        return;
      }
      read.agent = groups.write_agent;
      read.epoch = thread.open;
      issues_in_tensor_memory(cluster, x, operation, read.agent, read.epoch);
      break;
    }
    if (operation.kind == AsyncKind::cp_async_arrive) {
      LaneGroups& groups = groups_of(cluster, warp.knowledge.copies);
      cluster.arriving[operation.number] = {groups.write_agent, lane,
                                            groups.lanes[static_cast<size_t>(lane)].open++};
      return;
    }
    by_target = true;
    for (const vgpu::AsyncTarget& target : operation.targets)
      if (target.mbarrier.cta == x.cta) {
        MbarrierState& mbarrier = cluster.mbarrier(target.mbarrier);
        mbarrier.expects_late |= !mbarrier.expects_last.instruction;
      }
    if (operation.proxy == vgpu::Proxy::async)
      for (const vgpu::AsyncTarget& target : operation.targets)
        signals(cluster, x, target.mbarrier, lane);
    if (!operation.targets.empty()) {
      const MbarrierState& mbarrier = cluster.mbarrier(operation.targets.front().mbarrier);
      read.agent = mbarrier.agent;
      read.epoch = mbarrier.phase;
      if (operation.source.is_shared() && operation.targets.front().mbarrier.cta != x.cta)
        cluster.exits[x.cta->rank].read_for_others.push_back(
            {read.agent, read.epoch, Statement::of(operation.issuer)});
    }
    break;
  }
  }
  if (operation.box || operation.kind == AsyncKind::wgmma)
    looks_at_tiles(cluster, x, operation);
  if (operation.box && operation.box->map_at.allocation)
    reads_map(cluster, x, operation, read);
  // Ranges come in runs of the same record: what the cells of one have shown serves the next. Rows of a tile
  // often lie one after the other: they are one range.
  std::optional<Visit> visit;
  struct Range {
    const Record* what = nullptr;
    vgpu::MemoryPlace place;
    uint64_t bytes = 0;
  } range;
  const auto visit_whole = [&] {
    const uint64_t bytes = std::exchange(range.bytes, 0);
    if (bytes == 0)
      return;
    const Record& what = *range.what;
    const vgpu::MemoryPlace& place = range.place;
    if (visit && &visit->accessor.record == &what && visit->place.cta == place.cta && place.is_shared() &&
        records_of(*visit)[visit->number].epoch == what.epoch &&
        records_of(*visit)[visit->number].agent == what.agent) {
      visit->place = place; // of the same owner
      this->visit_range(*visit, bytes);
      return;
    }
    const uint32_t number = number_of(cluster, warp, what, !place.is_shared());
    if (number == 0)
      return;
    if (!visit || visit->number != number || visit->place.is_shared() != place.is_shared()) {
      visit.emplace(Visit{.cluster = cluster,
                          .accessor = {warp, what},
                          .number = number,
                          .lanes = lanes,
                          .writes = what.writes});
      visit->accessor.collective = operation.group == AsyncGroup::wgmma;
    }
    visit->place = place;
    if (waits_for_grids_ && place.allocation) [[unlikely]]
      depends_on_grids(cluster, x, place.allocation, !what.writes || what.atomic, what.writes, lanes);
    this->visit(*visit, bytes);
  };
  const auto visit_range = [&](const Record& what, const vgpu::MemoryPlace& place, uint64_t bytes) {
    if (range.what == &what && place.space == range.place.space && place.cta == range.place.cta &&
        place.allocation == range.place.allocation && place.offset == range.place.offset + range.bytes) {
      range.bytes += bytes;
      return;
    }
    visit_whole();
    range = {&what, place, bytes};
  };
  const auto visit_read = [&](const vgpu::MemoryPlace& place, uint64_t bytes) {
    visit_range(read, place, bytes);
  };
  if (operation.kind == AsyncKind::wgmma)
    vgpu::each_source_of_warp(operation, x.warp->index, visit_read);
  else
    operation.each_source(visit_read);
  operation.each_destination([&](const vgpu::MemoryPlace& place, uint64_t bytes) {
    if (by_target && place.is_shared())
      for (const vgpu::AsyncTarget& target : operation.targets)
        if (target.data.cta == place.cta) {
          const MbarrierState& mbarrier = cluster.mbarrier(target.mbarrier);
          if (write.agent != mbarrier.agent || write.epoch != mbarrier.phase)
            visit_whole();
          write.agent = mbarrier.agent;
          write.epoch = mbarrier.phase;
        }
    visit_range(write, place, bytes);
  });
  visit_whole();
  if (x.warp->follows_values || !cluster.undefined.bytes.empty()) [[unlikely]]
    values(cluster, x).issue(operation, uses_undefined(x));
}

// The operation reads its tensor map, in global memory, at any time until it is complete; what was written
// there before has met the map's access at the issue. A bulk wait_group.read for all groups of the thread
// waits for maps of loads too: CUTLASS counts on that before it changes one.
void Checker::reads_map(ClusterState& cluster, const vgpu::Exec& x, const AsyncOperation& operation,
                        Record record) {
  WarpState& warp = cluster.warp(x);
  record.proxy = vgpu::Proxy::tensormap;
  if (operation.group == AsyncGroup::none && !operation.targets.empty()) {
    MbarrierState& mbarrier = cluster.mbarrier(operation.targets.front().mbarrier);
    if (mbarrier.map_agent == 0)
      mbarrier.map_agent = cluster.new_agent();
    record.agent = mbarrier.map_agent;
    const auto known =
        std::ranges::find(warp.map_reads, record.agent, [](const auto& read) { return read.first; });
    if (known == warp.map_reads.end())
      warp.map_reads.emplace_back(record.agent, record.epoch);
    else
      known->second = record.epoch;
  }
  const vgpu::MemoryPlace& map = operation.box->map_at;
  const uint32_t number = number_of(cluster, warp, record, true);
  if (number == 0)
    return;
  Visit visit{.cluster = cluster,
              .accessor = {warp, record},
              .number = number,
              .lanes = LaneMask{1} << operation.issuer.lane};
  visit.is_judged = true;
  visit.accessor.map = map.allocation->base + map.offset;
  visit.place = map;
  this->visit(visit, layout::kTensorMapBytes);
}

void Checker::commits(const vgpu::Exec& x, AsyncGroup group, LaneMask lanes) {
  ClusterState& cluster = state(*x.cta->cluster);
  WarpState& warp = cluster.warp(x);
  if (group == AsyncGroup::wgmma) {
    warp.knowledge.products.commit();
    return;
  }
  LaneGroups& groups = groups_of(cluster, groups_of_kind(warp, group));
  vgpu::for_lanes(lanes, [&](int lane) { groups.lanes[static_cast<size_t>(lane)].commit(); });
}

// The CTA's shared memory may be another's as soon as its threads are gone.
void Checker::exits(const vgpu::Exec& x, LaneMask lanes) {
  ClusterState& cluster = state(*x.cta->cluster);
  leaves(cluster, x, lanes);
  WarpState& warp = cluster.warp(x);
  if (x.code == launch_->entry)
    warp.exited.emplace_back(x.pc, lanes);
  if (!warp.knowledge.bulk)
    return;
  vgpu::for_lanes(lanes, [&](int lane) {
    const GroupsOfThread& thread = warp.knowledge.bulk->lanes[static_cast<size_t>(lane)];
    if (!thread.last.instruction || thread.read >= thread.issued)
      return;
    misuse({.id = "async.unwaited",
            .message = "a thread exits while a bulk operation of its may still read shared memory",
            .who = Statement::at(x, LaneMask{1} << lane),
            .what = "exits",
            .before = thread.last,
            .what_before = "reads shared memory, in the async proxy",
            .memory = "shared memory",
            .fix = {"cp.async.bulk.commit_group and wait_group.read 0 before the exit",
                    {{.kind = Remedy::Kind::before,
                      .text = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;",
                      .at = Spot::at(x)}}}});
  });
}

void Checker::waits(const vgpu::Exec& x, const vgpu::GroupWait& wait) {
  ClusterState& cluster = state(*x.cta->cluster);
  WarpState& warp = cluster.warp(x);
  if (wait.group == AsyncGroup::wgmma) {
    GroupsOfThread& products = warp.knowledge.products;
    products.wait(wait.pending, false);
    warp.registers.wait();
    if (!products.done)
      return;
    Knowledge done;
    done.known.advance(cluster.id, cluster.products_agent(*x.cta, x.warp->index), kAllLanes, products.done);
    warp.knowledge.acquire(wait.lanes, done);
    return;
  }
  if (wait.group == AsyncGroup::bulk && wait.pending == 0 && !warp.map_reads.empty()) {
    Knowledge read;
    for (const auto& [agent, epoch] : std::exchange(warp.map_reads, {}))
      read.known.advance(cluster.id, agent, kAllLanes, epoch);
    warp.knowledge.acquire(wait.lanes, read);
  }
  LaneGroups& groups = groups_of(cluster, groups_of_kind(warp, wait.group));
  vgpu::for_lanes(wait.lanes, [&](int lane) {
    GroupsOfThread& thread = groups.lanes[static_cast<size_t>(lane)];
    if (wait.uncommitted)
      thread.wait_all();
    else
      thread.wait(wait.pending, wait.read_only);
  });
}

void Checker::touches_wgmma_registers(const vgpu::Exec& x) {
  WarpState& warp = state(*x.cta->cluster).warp(x);
  warp.registers.touch(x, warp.knowledge.products, reports_registers());
}

WgmmaRegisters::Report Checker::reports_registers() {
  return [this](Finding finding, Advice advice, vgpu::InstId kept_under) {
    report(std::move(finding), std::move(advice), kept_under, kept_under);
  };
}

} // namespace lemma::check
