// Nothing in a cluster can move any more: the waits that this comes from, each a finding that says who waits
// for what, how much of it has come, who could have brought the rest, and what to do. See checker.h.
#include "check/checker.h"
#include "vgpu/async/mbarrier.h"
#include "vgpu/memory/place.h"
#include "vgpu/reports/deadlock.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace lemma::check {
namespace {

// A wait, and what is known of what it waits for.
struct Wait {
  Statement here;
  vgpu::SharedPlace at = {};               // the mbarrier
  const MbarrierState* mbarrier = nullptr; // likewise
  std::shared_ptr<const Uses> waits = {};  // on mbarriers of the cluster
  std::shared_ptr<const Uses> uses = {};   // of the barrier
  Epoch unseen_phases = 0;                 // of the mbarrier
};

std::string plural(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// What ends a wait for arrivals or bytes.
Advice fix_of_mbarrier(std::string_view id, const Wait& wait) {
  const vgpu::SharedPlace& at = wait.at;
  if (!vgpu::is_mbarrier(at))
    return "mbarrier.inval after all threads have waited";
  const vgpu::Mbarrier counts = vgpu::read_mbarrier(at);
  if (counts.pending_bytes > 0)
    return {fmt::format("an expect_tx of {} less, or copies of as many more that complete on it",
                        plural(counts.pending_bytes, "byte")),
            {with_last(wait.mbarrier->expects_last.spot(), -counts.pending_bytes, true)}};
  if (counts.pending_bytes < 0)
    return {fmt::format("an expect_tx of {} more", plural(-counts.pending_bytes, "byte")),
            {with_last(wait.mbarrier->expects_last.spot(), -counts.pending_bytes, true)}};
  const std::vector<Remedy> alternating = {
      {.kind = Remedy::Kind::alternate, .at = wait.here.spot(), .uses = wait.waits, .object = at.offset}};
  // As many as come to it, where nobody has come twice.
  std::vector<std::vector<Remedy>> counted;
  if (const int64_t threads = wait.mbarrier->arrivals.threads(0); threads > counts.expected)
    counted = {{with_last(wait.mbarrier->init.spot(), threads)},
               {with_last_here(wait.mbarrier->init.spot(), threads)}};
  const auto arrived = counts.expected - counts.pending;
  const auto either = [&](std::string words, std::vector<std::vector<Remedy>> lists) {
    counted.insert(counted.end(), lists.begin(), lists.end());
    return Advice::either(std::move(words), counted);
  };
  if (wait.unseen_phases >= 2)
    return either(kWaitForUsers, {});
  if (id == "mbarrier.phase")
    return either(fmt::format("the parity of the phase before, if that is meant; else {} in this phase",
                              plural(counts.pending, arrived == 0 ? "arrival" : "more arrival")),
                  {alternating});
  if (arrived == 0)
    return either(
        fmt::format("{} by the threads that are to complete the phase", plural(counts.pending, "arrival")),
        {});
  return either(
      fmt::format("{}, or {} as the count of mbarrier.init", plural(counts.pending, "more arrival"), arrived),
      {{with_last(wait.mbarrier->init.spot(), arrived)},
       {with_last_here(wait.mbarrier->init.spot(), arrived)}});
}

Advice fix_of_barrier(const vgpu::Cta& cta, uint32_t number, const Wait& wait) {
  const vgpu::Barrier& barrier = cta.barriers[number];
  if (barrier.expected == 0)
    return "this barrier by all warps that have not exited, as often by each";
  return {fmt::format("{} at barrier {}, or {} as its count",
                      plural(barrier.expected - barrier.arrived, "more thread"), number, barrier.arrived),
          {{.kind = Remedy::Kind::arrivals,
            .at = wait.here.spot(),
            .number = std::make_shared<const int64_t>(barrier.arrived),
            .uses = wait.uses,
            .object = number}}};
}

// What would have let it go on. The same for all that wait alike, so that they are one defect.
Advice fix_of(std::string_view id, const vgpu::Cta& cta, const vgpu::Split& split, const Wait& wait) {
  using vgpu::SplitState;
  const Spot here = wait.here.spot();
  switch (split.state) {
  case SplitState::at_mbarrier:
    return fix_of_mbarrier(id, wait);
  case SplitState::at_barrier:
    if (id == "barrier.count")
      return fix_of_barrier(cta, split.barrier, wait);
    break;
  case SplitState::at_cluster_barrier:
    return "barrier.cluster.arrive by all threads of the cluster that have not exited";
  case SplitState::at_warpgroup:
    return "the instruction by all four warps of the warpgroup";
  case SplitState::at_registers:
    return "setmaxnreg.dec by other warpgroups first, or fewer registers here";
  default:
    break;
  }
  if (id == "barrier.divergent")
    return Advice::either(
        "a barrier that all threads of the warp reach together: move it out of the divergent code",
        moved_out(here, Together::warp));
  if (id == "warp.setmaxnreg")
    return Advice::either("setmaxnreg by all lanes of the warp: move it out of the divergent code",
                          moved_out(here, Together::warp));
  if (id == "warp.aligned")
    return Advice::either(
        "the instruction by all lanes of the warp together: move it out of the divergent code",
        moved_out(here, Together::warp));
  std::vector<std::vector<Remedy>> either = moved_out(here, Together::warp);
  either.push_back({with_last(here, split.mask)});
  return Advice::either(
      fmt::format("a membermask of the lanes that come here ({:#010x}), or the instruction by "
                  "all lanes that it names",
                  split.mask),
      std::move(either));
}

// "barrier 0: 16 of 32 threads have arrived; missing: warp 1 waits at line 12"
std::string text_of(const Waiting& waiting) {
  std::string text = waiting.reason;
  for (const std::string& note : waiting.notes)
    text += "; " + note;
  return text;
}

std::string text_of_unseen(Epoch phases) {
  return phases < 2
             ? std::string()
             : fmt::format("; {} phases have ended before this thread saw them: the parity that it waits for "
                           "has come again",
                           phases);
}

} // namespace

// Whether those who took part in the object's last phase, and have not yet in the one that is waited for,
// live and wait elsewhere: then the wait is no root, but theirs may be.
bool Checker::waits_for_others(const vgpu::Cluster& stuck, const vgpu::Split& split) {
  const ClusterState& cluster = state(stuck);
  const auto found = cluster.mbarriers.find({split.mbarrier_rank, split.mbarrier_offset});
  if (found == cluster.mbarriers.end())
    return false;
  const Participants& participants = found->second.participants;
  const auto waits_elsewhere = [&](uint32_t agent) {
    const vgpu::Warp& warp = stuck.ctas[agent / cluster.warps_per_cta]->warps[agent % cluster.warps_per_cta];
    return !warp.splits.empty() &&
           std::none_of(warp.splits.begin(), warp.splits.end(), [&](const auto& other) {
             return other.state == vgpu::SplitState::at_mbarrier &&
                    other.mbarrier_rank == split.mbarrier_rank &&
                    other.mbarrier_offset == split.mbarrier_offset;
           });
  };
  std::vector<uint32_t> missing;
  std::copy_if(participants.before.begin(), participants.before.end(), std::back_inserter(missing),
               [&](uint32_t agent) {
                 return std::find(participants.now.begin(), participants.now.end(), agent) ==
                        participants.now.end();
               });
  return !missing.empty() && std::all_of(missing.begin(), missing.end(), waits_elsewhere);
}

// Of all that wait, those by a misuse; or, if none shows one, all but those who merely lack bytes of somebody
// who waits. The fault is to name one of them, if it can one that waits for nobody who does.
void Checker::is_stuck(const vgpu::Cluster& stuck, Fault& fault) {
  struct Stuck {
    const vgpu::Cta* cta;
    const vgpu::Warp* warp;
    const vgpu::Split* split;
    vgpu::Misuse wrong;
    bool follows;
    int rank; // the higher, the nearer to the cause
  };
  ClusterState& cluster = state(stuck);
  std::vector<Stuck> waits;
  for (const auto& cta : stuck.ctas)
    for (const vgpu::Warp& warp : cta->warps)
      for (const vgpu::Split& split : warp.splits) {
        const vgpu::Misuse wrong = vgpu::misuse_of(*cta, warp, split);
        if (wrong.id.empty())
          continue;
        const bool follows = split.state == vgpu::SplitState::at_mbarrier && waits_for_others(stuck, split);
        waits.push_back({cta.get(), &warp, &split, wrong, follows,
                         follows && wrong.id == "mbarrier.tx" ? 0
                         : wrong.is_root                      ? 2
                                                              : 1});
      }
  if (waits.empty())
    return;
  const int highest = std::max_element(waits.begin(), waits.end(), [](const Stuck& a, const Stuck& b) {
                        return a.rank < b.rank;
                      })->rank;
  std::erase_if(waits, [&](const Stuck& wait) { return wait.rank < highest; });
  std::stable_partition(waits.begin(), waits.end(), [](const Stuck& wait) { return !wait.follows; });
  bool is_named = std::none_of(stuck.ctas.begin(), stuck.ctas.end(),
                               [&](const auto& cta) { return cta->id == fault.cta; }) ||
                  std::any_of(waits.begin(), waits.end(), [&](const Stuck& wait) {
                    return wait.cta->id == fault.cta && wait.warp->index == fault.warp;
                  });
  for (Stuck& wait : waits) {
    const vgpu::Code& code = *wait.split->stack.back().code;
    const Statement here{&code, code.id_at(wait.split->wait_pc), wait.cta->id, wait.warp->index,
                         std::countr_zero(wait.split->mask)};
    std::string memory;
    Statement last;
    std::optional<uint64_t> address;
    Wait its{.here = here, .waits = cluster.waits};
    if (wait.split->state == vgpu::SplitState::at_barrier)
      its.uses = cluster.barriers[{wait.cta->rank, wait.split->barrier}].uses;
    if (wait.split->state == vgpu::SplitState::at_mbarrier) {
      const vgpu::SharedPlace at{stuck.ctas[wait.split->mbarrier_rank].get(), wait.split->mbarrier_offset};
      const MbarrierState& mbarrier = cluster.mbarrier(at);
      memory = memory_of(at);
      address = at.offset;
      last = mbarrier.last;
      its.at = at;
      its.mbarrier = &mbarrier;
      if (wait.rank == 1 && mbarrier.phase > 1) {
        wait.wrong.id = "mbarrier.phase"; // it has worked until now
        if (fault.id == "mbarrier.count" && wait.cta->id == fault.cta && wait.warp->index == fault.warp)
          fault.id = wait.wrong.id;
        its.unseen_phases =
            mbarrier.unseen_phases(cluster.warp(*wait.cta, *wait.warp).knowledge.agent(), wait.split->mask);
      }
    }
    misuse({.id = wait.wrong.id,
            .message = "this waits for ever: " + text_of(vgpu::explain(*wait.cta, *wait.warp, *wait.split)) +
                       text_of_unseen(its.unseen_phases),
            .who = here,
            .what = "waits",
            .before = last,
            .what_before = "changed the counts last",
            .memory = std::move(memory),
            .fix = fix_of(wait.wrong.id, *wait.cta, *wait.split, its),
            .address = address});
    if (!std::exchange(is_named, true)) {
      fault.id = wait.wrong.id;
      fault.place = vgpu::place_of(code, here.instruction);
      fault.cta = wait.cta->id;
      fault.warp = wait.warp->index;
    }
  }
}

} // namespace lemma::check
