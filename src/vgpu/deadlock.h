// What is said when nothing can move: every part of a warp that waits, what it waits for, and who could have
// completed it.
//
// Tests: tests/unit/vgpu/cluster_test.cc, core_test.cc.
#pragma once

#include "vgpu/launch.h"

#include <memory>
#include <span>

namespace lemma::vgpu {

// Makes the launch's fault a deadlock of the clusters, and lists in its report all that wait in them.
void report_deadlock(Launch& launch, std::span<const std::unique_ptr<Cluster>> clusters);

} // namespace lemma::vgpu
