// tcgen05.commit: arrives at an mbarrier, or at one in each of several CTAs, when the operations of tcgen05
// that its thread has issued before are complete.
//
// Not here: when operations run, and in which order (async/async.h).
//
// PTX ISA: "tcgen05.commit". Tests: tests/unit/vgpu/tensor_mma_test.cc.
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/memory/async_operands.h"
#include "vgpu/handlers/tensor/tensor_operands.h"

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::Type;

struct TensorCommitPlan {
  PlacedAddress mbarrier;
  uint8_t cta_group = 1;
  bool has_mask = false;
};

namespace {

bool read_commit(Exec& x, const DecodedInst& in, int lane, AsyncOperation& operation) {
  const auto& plan = x.plan<TensorCommitPlan>(in);
  if (!use_cta_group(x, in, plan.cta_group, lane))
    return false;
  const uint64_t address = lane_address(x, in, 0, plan.mbarrier.offset, lane);
  operation.kind = AsyncKind::tensor_commit;
  operation.proxy = Proxy::generic;
  const SharedPlace at = find_mbarrier(x, in, plan.mbarrier.space, address, lane);
  if (!at.cta)
    return false;
  if (!plan.has_mask) {
    operation.targets.push_back({{}, at});
    return true;
  }
  operation.targets = find_targets(x, in, lane, at, plan.mbarrier.space, address,
                                   static_cast<uint16_t>(x.src_lane(in, 1, lane)));
  return !operation.targets.empty();
}

Step run_commit(Exec& x, const DecodedInst& in) {
  return issue(x, in, read_commit);
}

bool select_commit(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  if (instruction.has(Qual::sync_restrict_mma_a))
    return false;
  TensorCommitPlan& plan = d.make_plan<TensorCommitPlan>(in);
  plan.mbarrier = d.address(0);
  plan.cta_group = instruction.has(Qual::cta_group_2) ? 2 : 1;
  plan.has_mask = names_ctas(instruction);
  std::vector<Slot> srcs{plan.mbarrier.base};
  if (plan.has_mask)
    srcs.push_back(d.src(1, Type::b16));
  in.handler = run_commit;
  d.set_operands(in, {}, srcs);
  return true;
}

} // namespace

void add_tensor_commit_selectors(SelectorTable& table) {
  table.add(Opcode::tcgen05_commit, select_commit);
}

} // namespace lemma::vgpu
