// clusterlaunchcontrol: a CTA takes clusters of its grid that have not started, and does their work itself.
//
// try_cancel is an asynchronous operation of the async proxy (AsyncKind::try_cancel). When it reads its
// source, it asks the scheduler for a cluster that has not started; that one never will. When it completes,
// the response goes to shared memory, and the mbarrier is told 16 bytes. Each lane that executes one makes a
// request of its own.
//
// No hardware that has these instructions has been measured: all here follows from the ISA's text and the
// CUDA Programming Guide, "Cluster Launch Control". What they leave open is decided so:
//
// - The response is opaque. Here it is the id of the first CTA and a word that tells it from all else, so
//   that other bytes are found out: stale memory that nobody has waited for, for one.
// - A CTA has observed that a request failed once query_cancel.is_canceled has told one of its threads so.
// - Clusters that the schedule has not begun can be canceled, be there room for them or not.
// - A cooperative launch has launched all its clusters: every request fails.
// - The fourth element of get_first_ctaid is unspecified, and all of them are undefined where the request has
//   failed: a pattern that is no id. The latter is no fault, since compiled code asks and then leaves the
//   answer (CUTLASS's CuTe DSL); who watches is told.
//
// PTX ISA: "clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.query_cancel".
// Tests: tests/unit/vgpu/launch_control_test.cc, tests/programs/persistent_tiles.
#include "vgpu/engine/launch_response.h"
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/memory/async_operands.h"
#include "vgpu/memory/place.h"

#include <fmt/format.h>

#include <utility>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using isa::Type;
using ptx::Instruction;

constexpr std::string_view kId = "cluster.cancel";

// --- try_cancel

struct RequestPlan {
  StateSpace response_space = StateSpace::generic, mbarrier_space = StateSpace::generic;
  int64_t response_offset = 0, mbarrier_offset = 0;
  bool multicast = false;
};

namespace {

bool check_request(Exec& x, const DecodedInst& in, int lane, const RequestPlan& plan) {
  if (const FailedRequest& seen = x.cta->failed_request; seen.code) {
    x.misuse(in, kId,
             fmt::format("this CTA asks for a cluster after it has seen, at line {}, that a request failed "
                         "(undefined behaviour)",
                         place_of(*seen.code, seen.instruction).ptx_line),
             lane, {"fix: no try_cancel once query_cancel.is_canceled was false"});
    return false;
  }
  for (const auto& cta : x.cta->cluster->ctas)
    if (plan.multicast && cta->is_finished()) {
      x.misuse(in, kId,
               fmt::format("CTA rank {} has exited, and .multicast::cluster::all writes the response to "
                           "every CTA of the cluster (undefined behaviour)",
                           cta->rank),
               lane,
               {"fix: let every CTA of the cluster go on until the response says that no cluster is left"});
      return false;
    }
  return true;
}

// Where the response goes in the executing CTA; no CTA after a fault.
SharedPlace find_response(Exec& x, const DecodedInst& in, int lane, const RequestPlan& plan) {
  const uint64_t address = lane_address(x, in, 0, plan.response_offset, lane);
  const Access at = check_async(x, in, plan.response_space, address, kResponseBytes, kResponseBytes,
                                AccessKind::write, lane);
  if (!at)
    return {};
  if (const SharedPlace place = shared_place(at); place.cta == x.cta)
    return place;
  x.fault_at(in, FaultKind::wrong_space,
             fmt::format("the response goes to shared memory of the executing CTA, but {:#x} is not there "
                         "(undefined behaviour)",
                         address),
             lane, address);
  return {};
}

bool request(Exec& x, const DecodedInst& in, int lane) {
  const auto& plan = x.plan<RequestPlan>(in);
  if (!check_request(x, in, lane, plan))
    return false;
  const SharedPlace response = find_response(x, in, lane, plan);
  if (!response.cta)
    return false;
  std::optional<uint16_t> mask;
  if (plan.multicast)
    mask = static_cast<uint16_t>((1u << x.cta->cluster->ctas.size()) - 1);
  AsyncOperation operation;
  operation.kind = AsyncKind::try_cancel;
  operation.issuer = x.issuer(in, lane);
  operation.bytes = kResponseBytes;
  operation.targets = find_targets(x, in, lane, response, plan.mbarrier_space,
                                   lane_address(x, in, 1, plan.mbarrier_offset, lane), mask);
  return !operation.targets.empty() && start(x, std::move(operation));
}

Step run_try_cancel(Exec& x, const DecodedInst& in) {
  for (LaneMask left = x.active; left != 0; left &= left - 1)
    if (!request(x, in, std::countr_zero(left)))
      return Step::stopped;
  return Step::next;
}

bool select_try_cancel(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  auto& plan = d.make_plan<RequestPlan>(in);
  const PlacedAddress response = d.address(0);
  const PlacedAddress mbarrier = d.address(1);
  plan = {.response_space = response.space,
          .mbarrier_space = mbarrier.space,
          .response_offset = response.offset,
          .mbarrier_offset = mbarrier.offset,
          .multicast = instruction.has(Qual::multicast_cluster_all)};
  in.handler = run_try_cancel;
  d.set_operands(in, {}, {response.base, mbarrier.base});
  return true;
}

// --- query_cancel

// The lane's response; false after a fault.
bool is_response(Exec& x, const DecodedInst& in, const LaunchResponse& response, int lane) {
  if (response.canceled() || response.failed())
    return true;
  x.misuse(in, kId, "these 16 bytes are no response of clusterlaunchcontrol.try_cancel (undefined behaviour)",
           lane, {"the response is there once the mbarrier that try_cancel names has completed its phase"});
  return false;
}

Step run_is_canceled(Exec& x, const DecodedInst& in) {
  const auto* responses = x.src<LaunchResponse>(in, 0);
  LaneMask canceled = 0;
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const LaunchResponse& response = responses[lane];
    if (!is_response(x, in, response, lane))
      return Step::stopped;
    if (response.canceled())
      canceled |= LaneMask{1} << lane;
    else if (!x.cta->failed_request.code)
      x.cta->failed_request = {x.code, x.code->id_of(in)};
  }
  x.set_pred(in, 0, canceled);
  return Step::next;
}

// DecodedInst::imm: the dimension, or kAllDimensions.
constexpr int64_t kAllDimensions = -1;

Step run_first_ctaid(Exec& x, const DecodedInst& in) {
  const auto* responses = x.src<LaunchResponse>(in, 0);
  LaneMask failed = 0;
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const LaunchResponse response = responses[lane];
    if (!is_response(x, in, response, lane))
      return Step::stopped;
    if (response.failed())
      failed |= LaneMask{1} << lane;
    if (in.imm != kAllDimensions) {
      x.dst<uint32_t>(in)[lane] = response.first_cta[static_cast<size_t>(in.imm)];
      continue;
    }
    for (int i = 0; i < 3; ++i)
      x.dst<uint32_t>(in, i)[lane] = response.first_cta[static_cast<size_t>(i)];
    x.dst<uint32_t>(in, 3)[lane] = LaunchResponse::kUnspecified;
  }
  if (failed != 0)
    x.watch.tell(&Observer::asks_for_no_cluster, x, failed);
  return Step::next;
}

bool select_query(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  const auto& operands = instruction.operands;
  const Slot response = d.src(1, Type::b128);
  if (instruction.has(Qual::is_canceled)) {
    in.handler = run_is_canceled;
    d.set_operands(in, {d.dst(0, Type::pred)}, {response});
    return true;
  }
  in.handler = run_first_ctaid;
  if (operands[0].kind != ptx::OperandKind::vector) {
    in.imm = instruction.has(Qual::get_first_ctaid_x) ? 0 : instruction.has(Qual::get_first_ctaid_y) ? 1 : 2;
    d.set_operands(in, {d.dst(0, Type::b32)}, {response});
    return true;
  }
  in.imm = kAllDimensions;
  std::vector<Slot> ids;
  d.add_dsts(ids, 0, Type::b32);
  d.set_operands(in, ids, std::vector<Slot>{response});
  return true;
}

} // namespace

void add_launch_control_selectors(SelectorTable& table) {
  table.add(Opcode::clusterlaunchcontrol_try_cancel, select_try_cancel);
  table.add(Opcode::clusterlaunchcontrol_query_cancel, select_query);
}

} // namespace lemma::vgpu
