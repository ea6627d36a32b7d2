// The deadlock report. Who could have completed a wait is worked out from what there is when nothing moves
// any more: for barriers and warpgroups the warps that have not arrived, for an mbarrier its counts and the
// warps that do not wait at it themselves. Which of them the program meant is not known.
#include "vgpu/reports/deadlock.h"

#include "isa/effects.h"
#include "vgpu/async/mbarrier.h"
#include "vgpu/memory/place.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::vgpu {
namespace {

constexpr size_t kNamed = 8; // warps that one note names; the others are counted

Place place_of(const Split& split) {
  const Code& code = *split.stack.back().code;
  return vgpu::place_of(code, code.insts[split.state == SplitState::ready ? split.pc : split.wait_pc]);
}

bool waits_at_barrier(const Warp& warp, uint32_t barrier) {
  for (const Split& split : warp.splits)
    if (split.state == SplitState::at_barrier && split.barrier == barrier)
      return true;
  return false;
}

// What keeps a warp from arriving: "has exited", or where it waits.
std::string whereabouts(const Warp& warp) {
  if (warp.splits.empty())
    return "has exited";
  std::string text;
  for (const Split& split : warp.splits)
    text += fmt::format("{}waits at line {}", text.empty() ? "" : ", ", place_of(split).ptx_line);
  return text;
}

// "missing: warp 1 waits at line 12; warp 3 has exited; and 4 more".
class Missing {
public:
  explicit Missing(std::string label = "missing") : label_(std::move(label)) {}
  void add(const std::string& warp, const Warp& state) {
    if (++count_ <= kNamed)
      text_ += fmt::format("{}{} {}", text_.empty() ? "" : "; ", warp, whereabouts(state));
  }
  bool is_empty() const { return count_ == 0; }
  void note_in(Waiting& waiting) const {
    if (!count_)
      return;
    waiting.notes.push_back(label_ + ": " + text_ +
                            (count_ > kNamed ? fmt::format("; and {} more", count_ - kNamed) : ""));
  }

private:
  std::string label_;
  std::string text_;
  size_t count_ = 0;
};

void explain_barrier(const Cta& cta, const Split& split, Waiting& waiting) {
  const Barrier& barrier = cta.barriers[split.barrier];
  uint32_t all = 0;
  Missing missing;
  for (const Warp& warp : cta.warps) {
    all += warp.live ? kWarpSize : 0;
    if (!waits_at_barrier(warp, split.barrier) && (warp.live || barrier.expected))
      missing.add(fmt::format("warp {}", warp.index), warp);
  }
  waiting.reason = fmt::format("barrier {}: {} of {} threads have arrived", split.barrier, barrier.arrived,
                               barrier.expected ? barrier.expected : all);
  missing.note_in(waiting);
}

void explain_cluster_barrier(const Cluster& cluster, Waiting& waiting) {
  const ClusterBarrier& barrier = cluster.barrier;
  waiting.reason =
      fmt::format("the cluster's barrier: {} of {} threads have arrived", barrier.arrived, barrier.expected);
  Missing missing;
  for (const auto& cta : cluster.ctas)
    for (const Warp& warp : cta->warps)
      if (warp.live & ~warp.cluster_arrived)
        missing.add(fmt::format("CTA {},{},{} warp {}", cta->id[0], cta->id[1], cta->id[2], warp.index),
                    warp);
  missing.note_in(waiting);
}

void explain_warpgroup(const Cta& cta, const Warp& warp, Waiting& waiting) {
  const uint32_t first = warp.index / kWarpsInGroup * kWarpsInGroup;
  Missing missing;
  uint32_t arrived = 0;
  for (uint32_t i = first; i < first + kWarpsInGroup; ++i) {
    const Warp& other = cta.warps[i];
    const bool waits = std::any_of(other.splits.begin(), other.splits.end(), [](const Split& split) {
      return split.state == SplitState::at_warpgroup;
    });
    arrived += waits;
    if (!waits)
      missing.add(fmt::format("warp {}", i), other);
  }
  waiting.reason = fmt::format("the warpgroup of warps {} to {}: {} of {} warps have come", first,
                               first + kWarpsInGroup - 1, arrived, kWarpsInGroup);
  missing.note_in(waiting);
}

void explain_registers(const Cta& cta, const Warp& warp, const Split& split, Waiting& waiting) {
  const Code& code = *split.stack.back().code;
  const uint32_t has = cta.warpgroups[warp.index / kWarpsInGroup].registers;
  const auto wanted = static_cast<uint32_t>(code.insts[split.wait_pc].imm);
  waiting.reason =
      fmt::format("setmaxnreg.inc: its warpgroup has {} registers a thread and wants {}, {} more; those of "
                  "the CTA have given back {}",
                  has, wanted, wanted - has, cta.free_registers);
  uint32_t all = cta.free_registers;
  for (const Warpgroup& group : cta.warpgroups)
    all += group.registers;
  waiting.notes.push_back(
      fmt::format("legal: the {} warpgroups of a CTA have {} registers a thread together, {} each at "
                  "the launch (.maxnreg, .minnctapersm), those included that have exited",
                  cta.warpgroups.size(), all, all / cta.warpgroups.size()));
}

void explain_tensor_memory(const Cta& cta, Waiting& waiting) {
  const TensorUse& use = cta.tensor;
  waiting.reason =
      use.asked.columns != 0
          ? fmt::format("tcgen05.alloc of .cta_group::2: for the other CTA of its pair to allocate {} "
                        "columns, or for columns of either SM",
                        use.asked.columns)
          : fmt::format("tcgen05.alloc: for columns of tensor memory; {} of {} are free on SM {}",
                        use.memory->free_columns(), TensorMemory::kColumns, cta.sm);
  for (const TensorUse::Block& block : use.blocks)
    waiting.notes.push_back(fmt::format("allocated: {} columns by this CTA, at line {}", block.columns,
                                        place_of(*block.code, block.instruction).ptx_line));
}

void explain_lanes(const Warp& warp, const Split& split, Waiting& waiting) {
  waiting.reason = fmt::format("other lanes of its warp: 0x{:08x} of the living 0x{:08x} have come, with the "
                               "same membermask if it has one",
                               split.mask, warp.live);
  for (const Split& other : warp.splits)
    if (&other != &split)
      waiting.notes.push_back(
          fmt::format("missing: lanes 0x{:08x} wait at line {}", other.mask, place_of(other).ptx_line));
}

bool waits_at_mbarrier(const Warp& warp, const Split& like) {
  for (const Split& split : warp.splits)
    if (split.state == SplitState::at_mbarrier && split.mbarrier_rank == like.mbarrier_rank &&
        split.mbarrier_offset == like.mbarrier_offset)
      return true;
  return false;
}

std::string plural(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Arrivals come from threads, bytes from asynchronous operations; none of these is left in flight.
void explain_mbarrier(const Cluster& cluster, const Split& split, Waiting& waiting) {
  const SharedPlace at{cluster.ctas[split.mbarrier_rank].get(), split.mbarrier_offset};
  const std::string object =
      fmt::format("mbarrier at shared address {:#x}{}", split.mbarrier_offset,
                  cluster.ctas.size() > 1 ? fmt::format(" of CTA rank {}", split.mbarrier_rank) : "");
  if (!is_mbarrier(at)) {
    waiting.reason = object + ", which was invalidated";
    return;
  }
  const Mbarrier barrier = read_mbarrier(at);
  waiting.reason = fmt::format("{}: its phase of parity {} has {} of {}, and waits for {}", object,
                               split.mbarrier_parity ? 1 : 0, barrier.expected - barrier.pending,
                               plural(barrier.expected, "arrival"), plural(barrier.pending_bytes, "byte"));
  if (barrier.pending_bytes != 0)
    waiting.notes.push_back(
        barrier.pending_bytes > 0
            ? fmt::format("bytes: {} were expected that no asynchronous operation in flight will bring",
                          barrier.pending_bytes)
            : fmt::format("bytes: {} have come that no expect_tx has announced", -barrier.pending_bytes));
  if (barrier.pending == 0)
    return;
  Missing others("others");
  for (const auto& cta : cluster.ctas)
    for (const Warp& warp : cta->warps)
      if (!waits_at_mbarrier(warp, split))
        others.add(cluster.ctas.size() > 1 ? fmt::format("CTA rank {} warp {}", cta->rank, warp.index)
                                           : fmt::format("warp {}", warp.index),
                   warp);
  if (others.is_empty())
    waiting.notes.emplace_back("others: none, all warps that live wait here");
  others.note_in(waiting);
}

// The first part that waits by a misuse, or else for somebody who may wait by one.
struct Culprit {
  Misuse misuse;
  size_t waiting = 0; // index in Report::waiting
};

// CTAs that have not ended, and warps of them.
struct Unfinished {
  uint64_t ctas = 0, warps = 0;
};

// Every part of their warps, in the order of the CTAs: host threads left them in any.
Unfinished list_warps(std::vector<const Cluster*> clusters, Report& report, Culprit& culprit) {
  std::sort(clusters.begin(), clusters.end(),
            [](const Cluster* a, const Cluster* b) { return a->linear_id < b->linear_id; });
  Unfinished left;
  for (const Cluster* cluster : clusters)
    for (const auto& cta : cluster->ctas) {
      left.ctas += !cta->is_finished();
      for (const Warp& warp : cta->warps) {
        left.warps += !warp.splits.empty();
        for (const Split& split : warp.splits) {
          report.waiting.push_back(explain(*cta, warp, split));
          const Misuse misuse = misuse_of(*cta, warp, split);
          if (culprit.misuse.id.empty() || (misuse.is_root && !culprit.misuse.is_root))
            culprit = {misuse, report.waiting.size() - 1};
        }
      }
    }
  return left;
}

// A warp that has not come to the barrier waits at an mbarrier or for registers.
bool waits_for_something_else(const Cta& cta, uint32_t barrier) {
  return std::any_of(cta.warps.begin(), cta.warps.end(), [&](const Warp& warp) {
    return !waits_at_barrier(warp, barrier) &&
           std::any_of(warp.splits.begin(), warp.splits.end(), [](const Split& split) {
             return split.state == SplitState::at_mbarrier || split.state == SplitState::at_registers;
           });
  });
}

} // namespace

Waiting explain(const Cta& cta, const Warp& warp, const Split& split) {
  Waiting waiting{.place = place_of(split),
                  .cta = cta.id,
                  .warp = warp.index,
                  .lanes = split.mask,
                  .reason = {},
                  .notes = {}};
  switch (split.state) {
  case SplitState::at_barrier:
    explain_barrier(cta, split, waiting);
    break;
  case SplitState::at_cluster_barrier:
    explain_cluster_barrier(*cta.cluster, waiting);
    break;
  case SplitState::at_mbarrier:
    explain_mbarrier(*cta.cluster, split, waiting);
    break;
  case SplitState::at_warpgroup:
    explain_warpgroup(cta, warp, waiting);
    break;
  case SplitState::at_collective:
    explain_lanes(warp, split, waiting);
    break;
  case SplitState::at_registers:
    explain_registers(cta, warp, split, waiting);
    break;
  case SplitState::at_tensor_memory:
    explain_tensor_memory(cta, waiting);
    break;
  case SplitState::at_grid_wait:
    waiting.reason = "for the grids before this one to end";
    break;
  case SplitState::polling:
    waiting.reason = "its loop only polls memory that nobody changes";
    break;
  case SplitState::sleeping:
    waiting.reason = "nothing: it sleeps";
    break;
  case SplitState::ready:
    break; // it runs
  }
  return waiting;
}

Misuse misuse_of(const Cta& cta, const Warp& warp, const Split& split) {
  switch (split.state) {
  case SplitState::at_barrier:
    return warp.splits.size() > 1 ? Misuse{"barrier.divergent", true}
                                  : Misuse{"barrier.count", !waits_for_something_else(cta, split.barrier)};
  case SplitState::at_cluster_barrier:
    return {"cluster.arrive", false};
  case SplitState::at_mbarrier: {
    const SharedPlace at{cta.cluster->ctas[split.mbarrier_rank].get(), split.mbarrier_offset};
    if (!is_mbarrier(at))
      return {"mbarrier.inval", true};
    const Mbarrier counts = read_mbarrier(at);
    return counts.pending_bytes != 0 ? Misuse{"mbarrier.tx", true}
                                     : Misuse{"mbarrier.count", counts.pending != counts.expected};
  }
  case SplitState::at_warpgroup:
    return {"wgmma.warps", true};
  case SplitState::at_registers:
    return {"warp.setmaxnreg", true};
  case SplitState::at_tensor_memory:
    return {"tcgen05.alloc", true};
  case SplitState::at_collective: {
    const Code& code = *split.stack.back().code;
    const isa::Opcode opcode = code.opcode_of(code.insts[split.wait_pc]);
    switch (opcode) {
    case isa::Opcode::bar:
    case isa::Opcode::barrier:
      return {"barrier.divergent", true};
    case isa::Opcode::setmaxnreg:
      return {"warp.setmaxnreg", true};
    case isa::Opcode::elect_sync:
      return {"warp.elect", true};
    default:
      return {isa::effects_of(opcode).has(isa::effect::masked) ? "warp.mask" : "warp.aligned", true};
    }
  }
  default:
    return {};
  }
}

void report_stopped(Launch& launch, std::span<const Cluster* const> clusters, uint64_t ctas_done) {
  Culprit nobody;
  list_warps({clusters.begin(), clusters.end()}, launch.report, nobody);
  Fault& fault = launch.report.fault.emplace();
  fault.kind = FaultKind::stopped;
  fault.message = fmt::format("on request, when {} of {} CTAs of kernel {} were done", ctas_done,
                              launch.cta_count, launch.entry->function->name);
}

Fault& report_deadlock(Launch& launch, std::span<const std::unique_ptr<Cluster>> clusters) {
  Report& report = launch.report;
  std::vector<const Cluster*> all;
  for (const auto& cluster : clusters)
    all.push_back(cluster.get());
  Culprit culprit;
  const Unfinished left = list_warps(std::move(all), report, culprit);
  Fault& fault = report.fault.emplace();
  fault.kind = FaultKind::deadlock;
  fault.message = fmt::format("nothing can move: {} warp{} in {} CTA{} wait{} for ever{}", left.warps,
                              left.warps == 1 ? "" : "s", left.ctas, left.ctas == 1 ? "" : "s",
                              left.warps == 1 ? "s" : "",
                              report.waiting.size() > left.warps
                                  ? fmt::format(", diverged into {} groups of lanes", report.waiting.size())
                                  : "");
  fault.id = culprit.misuse.id;
  if (!report.waiting.empty()) {
    const Waiting& waiting = report.waiting[culprit.waiting];
    fault.place = waiting.place;
    fault.cta = waiting.cta;
    fault.warp = waiting.warp;
  }
  return fault;
}

} // namespace lemma::vgpu
