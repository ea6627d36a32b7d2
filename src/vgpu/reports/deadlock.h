// What is said when nothing can move: every part of a warp that waits, what it waits for, and who could have
// completed it; and where every part was when a launch is stopped.
//
// Tests: tests/unit/vgpu/cluster_test.cc, core_test.cc.
#pragma once

#include "vgpu/engine/launch.h"

#include <memory>
#include <span>

namespace lemma::vgpu {

// Why a part of a warp waits for ever, by its id of docs/checks.md; empty: it polls, and nobody knows.
struct Misuse {
  std::string_view id;
  bool is_root = false; // what it waits for shows that: it does not merely wait for others who wait
};
Misuse misuse_of(const Cta& cta, const Warp& warp, const Split& split);

// What a part of a warp waits for, how much of that has come, and who could have brought the rest.
Waiting explain(const Cta& cta, const Warp& warp, const Split& split);

// Makes the launch's fault a deadlock of the clusters, and lists in its report all that wait in them.
Fault& report_deadlock(Launch& launch, std::span<const std::unique_ptr<Cluster>> clusters);

// Says, as its fault, that the launch was stopped from outside when so many of its CTAs were
// done, and lists in its report where the warps of the other clusters were.
void report_stopped(Launch& launch, std::span<const Cluster* const> clusters, uint64_t ctas_done);

} // namespace lemma::vgpu
