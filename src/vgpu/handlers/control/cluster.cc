// What the CTAs of a cluster share: addresses of each other's shared memory (mapa, getctarank) and their
// barrier (barrier.cluster); and what kernels say to the machine: griddepcontrol, pmevent.
//
// A barrier.cluster is complete when every thread of the cluster that has not exited has arrived. Each thread
// arrives, then waits: two arrivals without a wait, or a wait without an arrival, are undefined, and a fault
// here. All CTAs of a cluster run on one host thread, which orders memory more than .release and .acquire
// ask.
//
// griddepcontrol waits where the launch was a programmatic one, and lets the next start where that was
// (LaunchSurroundings).
//
// Loads, stores and atomics on shared::cluster are those of memory.cc and atomic.cc; access.cc finds the CTA.
//
// PTX ISA: "mapa", "getctarank", "barrier.cluster", "griddepcontrol", "pmevent".
// Tests: tests/unit/vgpu/cluster_test.cc, tests/golden/*/cluster.json,
// tests/programs/cluster_histogram.
#include "vgpu/code/decoder.h"
#include "vgpu/engine/launch.h"
#include "vgpu/engine/observer.h"
#include "vgpu/engine/scheduler.h"
#include "vgpu/engine/warp.h"

#include <bit>
#include <utility>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Type;

// --- addresses

// The same offset in the shared memory of CTA rank b. Generic or not, the rank is in the same bits; like the
// hardware this puts any rank there, and the access that uses it faults.
template <class T>
Step run_mapa(Exec& x, const DecodedInst& in) {
  T values[kWarpSize];
  const T* a = x.src<T>(in, 0);
  const auto* rank = x.src<uint32_t>(in, 1);
  constexpr T kRankBits = T{0xff} << kSharedRankShift;
  for (int lane = 0; lane < kWarpSize; ++lane)
    values[lane] = (a[lane] & ~kRankBits) | (static_cast<T>(rank[lane]) << kSharedRankShift & kRankBits);
  keep_active(x.dst<T>(in), values, x.active);
  return Step::next;
}

template <class T>
Step run_getctarank(Exec& x, const DecodedInst& in) {
  uint32_t values[kWarpSize];
  const T* a = x.src<T>(in, 0);
  for (int lane = 0; lane < kWarpSize; ++lane)
    values[lane] = static_cast<uint32_t>(a[lane] >> kSharedRankShift) & 0xff;
  keep_active(x.dst<uint32_t>(in), values, x.active);
  return Step::next;
}

bool select_mapa(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const Type type = instruction.type();
  in.handler = register_bytes(type) == 8 ? run_mapa<uint64_t> : run_mapa<uint32_t>;
  d.set_operands(in, {d.dst(0, type)}, {d.src(1, type), d.src(2, Type::u32)});
  return true;
}

bool select_getctarank(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const Type type = instruction.type();
  in.handler = register_bytes(type) == 8 ? run_getctarank<uint64_t> : run_getctarank<uint32_t>;
  d.set_operands(in, {d.dst(0, Type::u32)}, {d.src(1, type)});
  return true;
}

// --- barrier.cluster

void complete_if_all_arrived(Cluster& cluster) {
  ClusterBarrier& barrier = cluster.barrier;
  if (!barrier.arrived || barrier.arrived < barrier.expected)
    return;
  barrier.arrived = 0;
  cluster.async.watch().tell(&Observer::cluster_barrier_completes, cluster);
  for (const auto& cta : cluster.ctas)
    for (Warp& warp : cta->warps) {
      warp.cluster_passed |= std::exchange(warp.cluster_arrived, 0);
      for (Split& split : warp.splits)
        if (split.state == SplitState::at_cluster_barrier) {
          split.state = SplitState::ready;
          warp.cluster_passed &= ~split.mask;
        }
    }
}

Step run_cluster_arrive(Exec& x, const DecodedInst& in) {
  Warp& warp = *x.warp;
  if (const LaneMask again = x.active & (warp.cluster_arrived | warp.cluster_passed))
    return x.misuse(
        in, "cluster.arrive",
        "a thread arrives at the cluster's barrier a second time without waiting there in between "
        "(undefined behaviour)",
        std::countr_zero(again), {"fix: a barrier.cluster.wait belongs to every barrier.cluster.arrive"});
  x.effect();
  x.watch.tell(&Observer::synchronizes, x,
               {.kind = SyncKind::cluster_arrive, .lanes = x.active, .order = in.order});
  warp.cluster_arrived |= x.active;
  x.cta->cluster->barrier.arrived += static_cast<uint32_t>(std::popcount(x.active));
  complete_if_all_arrived(*x.cta->cluster);
  return Step::next;
}

Step run_cluster_wait(Exec& x, const DecodedInst& in) {
  Warp& warp = *x.warp;
  if (const LaneMask never = x.active & ~(warp.cluster_arrived | warp.cluster_passed))
    return x.misuse(
        in, "cluster.arrive",
        "a thread waits at the cluster's barrier and has not arrived there: it would wait for itself",
        std::countr_zero(never),
        {"fix: every thread executes barrier.cluster.arrive before barrier.cluster.wait"});
  x.watch.tell(&Observer::synchronizes, x,
               {.kind = SyncKind::cluster_wait, .lanes = x.active, .order = in.order});
  const LaneMask waiting = x.active & warp.cluster_arrived;
  warp.cluster_passed &= ~x.active;
  if (!waiting)
    return Step::next;
  x.active = waiting; // what has passed goes on, as what is not active
  leave_inactive_behind(x);
  Split& split = warp.splits[x.split];
  split.wait_pc = x.pc;
  split.pc = x.pc + 1;
  split.state = SplitState::at_cluster_barrier;
  return Step::reschedule;
}

bool select_cluster_barrier(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  in.handler = instruction.opcode == Opcode::barrier_cluster_arrive ? run_cluster_arrive : run_cluster_wait;
  d.set_operands(in, {}, {});
  return true;
}

// --- what the machine is told

bool select_nothing(Decoder& d, const ptx::Instruction&, DecodedInst& in) {
  in.handler = [](Exec&, const DecodedInst&) { return Step::next; };
  d.set_operands(in, {}, {});
  return true;
}

} // namespace

void leave_cluster_barrier(Cluster& cluster, Warp& warp, LaneMask lanes) {
  cluster.barrier.expected -= lanes_of(lanes);
  if (warp.cluster_arrived != 0)
    cluster.barrier.arrived -= lanes_of(lanes & warp.cluster_arrived);
  warp.cluster_arrived &= ~lanes;
  warp.cluster_passed &= ~lanes;
  complete_if_all_arrived(cluster);
}

namespace {

Step run_launch_dependents(Exec& x, const DecodedInst&) {
  if (!std::exchange(x.cta->launched_dependents, true))
    x.launch->dependents_launched_by(1);
  return Step::next;
}

Step run_grid_wait(Exec& x, const DecodedInst&) {
  const std::atomic<bool>* done = x.launch->surroundings->prerequisites_done;
  if (done && !done->load(std::memory_order_acquire)) {
    leave_inactive_behind(x);
    Split& split = x.warp->splits[x.split];
    split.pc = split.wait_pc = x.pc;
    split.state = SplitState::at_grid_wait;
    return Step::reschedule;
  }
  x.watch.tell(&Observer::synchronizes, x, {.kind = SyncKind::grid_wait, .lanes = x.active});
  return Step::next;
}

} // namespace

bool select_griddepcontrol(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  in.handler = instruction.has(isa::Qual::wait) ? run_grid_wait : run_launch_dependents;
  d.set_operands(in, {}, {});
  return true;
}

void add_cluster_selectors(SelectorTable& table) {
  table.add(Opcode::mapa, select_mapa);
  table.add(Opcode::getctarank, select_getctarank);
  table.add({Opcode::barrier_cluster_arrive, Opcode::barrier_cluster_wait}, select_cluster_barrier);
  table.add(Opcode::griddepcontrol, select_griddepcontrol);
  table.add(Opcode::pmevent, select_nothing);
}

} // namespace lemma::vgpu
