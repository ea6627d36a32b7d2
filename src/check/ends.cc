// What shows when threads exit or a cluster ends: counts that are left, memory of CTAs that have gone. See
// checker.h.
#include "check/checker.h"
#include "vgpu/async/mbarrier.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::check {

void Checker::leaves(ClusterState& cluster, const vgpu::Exec& x, LaneMask lanes) {
  if (const LaneMask waiting = lanes & (x.warp->cluster_arrived | x.warp->cluster_passed))
    misuse({.id = "cluster.arrive",
            .message = "a thread exits that has arrived at the cluster's barrier and not waited there",
            .who = Statement::at(x, waiting),
            .what = "exits",
            .before = cluster.warp(x).cluster_arrival,
            .what_before = "arrives",
            .memory = "the cluster's barrier",
            .fix = {"barrier.cluster.wait before the exit",
                    {{.kind = Remedy::Kind::leave,
                      .at = Spot::at(x),
                      .from = cluster.warp(x).cluster_arrival.spot()}}}});
  if (cluster.exits.size() == 1)
    return;
  ExitState& state = cluster.exits[x.cta->rank];
  state.knowledge.join(cluster.warp(x).knowledge.all_of(lanes));
  state.last = Statement::at(x, lanes);
  state.arrival = (lanes & (x.warp->cluster_arrived | x.warp->cluster_passed)) != 0
                      ? cluster.warp(x).cluster_arrival.spot()
                      : Spot{};
  state.threads += static_cast<uint32_t>(std::popcount(lanes));
  if (state.threads == x.cta->threads)
    cta_ends(cluster, *x.cta);
}

// The CTA's shared memory is gone with its last thread.
void Checker::cta_ends(ClusterState& cluster, const vgpu::Cta& cta) {
  ExitState& state = cluster.exits[cta.rank];
  state.complete = true;
  for (const ExitState::Reading& reading : state.read_for_others)
    if (!state.knowledge.known.covers_any(cluster.id, reading.agent, reading.epoch))
      misuse({.id = "async.unwaited",
              .message = "a CTA exits while an operation may still read its shared memory",
              .who = state.last,
              .what = "exits last",
              .before = reading.issuer,
              .what_before = "issues it",
              .memory = "shared memory",
              .fix = {"barrier.cluster.arrive and wait before the exit, by threads that have waited on the "
                      "mbarrier that it completes on",
                      {{.kind = Remedy::Kind::before,
                        .text = barrier_of(Together::cluster).text,
                        .at = state.last.spot()}}}});
  for (auto at = cluster.remote.lower_bound({cta.rank, 0});
       at != cluster.remote.end() && at->first.first == cta.rank; ++at)
    for (int lane = 0; lane < vgpu::kWarpSize; ++lane)
      if (const uint32_t number = at->second[static_cast<size_t>(lane)]) {
        const Record& record = cluster.records[number];
        const bool observed =
            record.mbarrier && state.observed.covers(cluster.id, record.agent, lane, record.epoch);
        if (!observed && !state.knowledge.known.covers(cluster.id, record.agent, lane, record.epoch))
          outlives(cluster, cta, record, lane);
      }
}

void Checker::outlives(ClusterState& cluster, const vgpu::Cta& cta, const Record& record, int lane) {
  const ExitState& exit = cluster.exits[cta.rank];
  const Advice advice =
      exit.arrival.instruction
          ? Advice("barrier.cluster.wait before the exit",
                   {{.kind = Remedy::Kind::leave, .at = exit.last.spot(), .from = exit.arrival}})
      : record.asynchronous
          ? Advice(
                "barrier.cluster.arrive and wait before the exit, by threads that know that the operation is "
                "complete")
          : Advice("barrier.cluster.arrive and wait after the access and before the exit",
                   {meeting(Together::cluster, {record.code, record.instruction}, exit.last.spot())});
  misuse({.id = "cluster.exit",
          .message = fmt::format("CTA {},{},{} may have exited when its shared memory is accessed", cta.id[0],
                                 cta.id[1], cta.id[2]),
          .who = statement_of(record, lane),
          .what = "accesses it",
          .before = cluster.exits[cta.rank].last,
          .what_before = "exits",
          .memory = "shared memory of another CTA",
          .fix = advice});
}

// An access to the shared memory of another CTA of the cluster.
void Checker::reaches_out(const Visit& visit) {
  ClusterState& cluster = visit.cluster;
  const vgpu::Cta& cta = *visit.place.cta;
  const Record& record = visit.accessor.record;
  const int first = std::countr_zero(visit.lanes);
  const Clock& known = visit.accessor.warp.knowledge.group_of(first).knowledge.known;
  uint32_t& started = visit.accessor.warp.started;
  if (!(started >> cta.rank & 1)) {
    const uint32_t warp = cta.rank * cluster.warps_per_cta;
    for (uint32_t i = warp; i < warp + cluster.warps_per_cta; ++i)
      started |= uint32_t{known.covers_any(cluster.id, i, 1)} << cta.rank;
    if (!(started >> cta.rank & 1))
      misuse({.id = "cluster.start",
              .message = fmt::format("CTA {},{},{} may not have started when its shared memory is accessed",
                                     cta.id[0], cta.id[1], cta.id[2]),
              .who = statement_of(record, first),
              .what = "accesses it",
              .memory = "shared memory of another CTA",
              .fix = {"barrier.cluster.arrive and wait before the first access",
                      {{.kind = Remedy::Kind::first,
                        .text = barrier_of(Together::cluster).text,
                        .at = {record.code, record.instruction},
                        .together = Together::cluster}}},
              .address = visit.place.offset});
  }
  if (cluster.exits[cta.rank].complete)
    outlives(cluster, cta, record, first);
  auto& remote = cluster.remote[{cta.rank, record.agent}];
  vgpu::for_lanes(visit.lanes, [&](int lane) { remote[static_cast<size_t>(lane)] = visit.number; });
}

// What is left when all have exited.
void Checker::check_leftovers(ClusterState& cluster, const vgpu::Cluster& ended) {
  if (launch_->stop.load())
    return;
  for (const auto& cta : ended.ctas)
    for (const vgpu::Warpgroup& group : cta->warpgroups)
      if (const vgpu::RegisterRequest& request = group.register_requests[0]; request.warps != 0)
        misuse({.id = "warp.setmaxnreg",
                .message = fmt::format("{} of the {} warps of a warpgroup have executed setmaxnreg",
                                       std::popcount(request.warps), vgpu::kWarpsInGroup),
                .who = {request.code, request.instruction, cta->id, request.first_warp, -1},
                .what = "executes it",
                .memory = "registers of the CTA",
                .fix = Advice::either("setmaxnreg by all warps of the warpgroup",
                                      moved_out({request.code, request.instruction}, Together::cta))});
  for (const auto& [key, barrier] : cluster.barriers)
    if (!barrier.arrivals.empty() && barrier.waiting.empty())
      misuse({.id = "barrier.count",
              .is_note = true, // FlashAttention-3's warp schedulers leave one: no value depends on it
              .message = "threads have arrived at a barrier that has never completed again",
              .who = barrier.arrivals.back().who,
              .what = "arrives last",
              .memory = fmt::format("barrier {}", key.second),
              .fix = "as many arrivals as the barrier waits for"});
  for (const auto& [key, mbarrier] : cluster.mbarriers) {
    const vgpu::SharedPlace at{ended.ctas[key.first].get(), key.second};
    if (!mbarrier.alive || !mbarrier.last.instruction)
      continue;
    const vgpu::Mbarrier counts = vgpu::read_mbarrier(at);
    const auto left = [&](std::string_view id, std::string message, Advice fix, bool is_note = false) {
      misuse({.id = id,
              .is_note = is_note,
              .message = std::move(message),
              .who = mbarrier.last,
              .what = "changed its counts last",
              .memory = memory_of(at),
              .fix = std::move(fix),
              .address = at.offset});
    };
    const Advice exactly = {"an expect_tx of exactly the bytes that come",
                            {with_last(mbarrier.expects_last.spot(), -counts.pending_bytes, true)}};
    if (counts.pending_bytes > 0)
      left("mbarrier.tx",
           fmt::format("{} bytes were expected that have not come when all threads have exited",
                       counts.pending_bytes),
           exactly);
    else if (counts.pending_bytes < 0)
      left("mbarrier.tx", fmt::format("{} bytes have come that were never expected", -counts.pending_bytes),
           exactly);
    else if (counts.pending != counts.expected)
      left("mbarrier.count",
           fmt::format("a phase has {} of {} arrivals when all threads have exited",
                       counts.expected - counts.pending, counts.expected),
           "as many arrivals as mbarrier.init says, if somebody is to wait for that phase",
           true); // rings leave what nobody waits for
  }
}

} // namespace lemma::check
