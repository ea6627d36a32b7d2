// tcgen05.shift: what a thread asks for, and what is checked of it: the lane, the columns.
//
// Not here: what moves (async/tensor_shift.h), when it does (async/async.h).
//
// PTX ISA: "tcgen05.shift". Tests: tests/unit/vgpu/tensor_shift_test.cc.
#include "vgpu/async/tensor_shift.h"

#include "vgpu/code/decoder.h"
#include "vgpu/handlers/tensor/tensor_operands.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using layout::TensorAddress;

struct TensorShiftPlan {
  uint8_t cta_group = 1;
  int64_t offset = 0; // of the address
};

namespace {

bool read_shift(Exec& x, const DecodedInst& in, int lane, AsyncOperation& operation) {
  const auto& plan = x.plan<TensorShiftPlan>(in);
  TensorShift shift;
  shift.ctas = find_ctas(x, in, plan.cta_group, lane);
  if (shift.ctas.is_empty())
    return false;
  const auto at = TensorAddress::decode(
      static_cast<uint32_t>(x.src_lane(in, 0, lane) + static_cast<uint64_t>(plan.offset)));
  if (at.lane % kWarpSize != 0 || at.lane >= TensorMemory::kLanes) {
    x.misuse(in, "tcgen05.address",
             fmt::format("the shift begins at lane {} of tensor memory (undefined behaviour)", at.lane), lane,
             {"legal: lanes 0, 32, 64, 96"}, at.encode());
    return false;
  }
  shift.at = {at.lane, at.column};
  if (!std::ranges::all_of(shift.ctas, [&](Cta* cta) {
        return check_columns(x, in, *cta, at.column, TensorShift::kColumns, lane);
      }))
    return false;
  operation.kind = AsyncKind::tensor_shift;
  operation.shift = std::make_shared<const TensorShift>(shift);
  return true;
}

Step run_shift(Exec& x, const DecodedInst& in) {
  return issue(x, in, read_shift);
}

bool select_shift(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  TensorShiftPlan& plan = d.make_plan<TensorShiftPlan>(in);
  plan.cta_group = instruction.has(Qual::cta_group_2) ? 2 : 1;
  const PlacedAddress at = d.address(0);
  plan.offset = at.offset;
  in.handler = run_shift;
  d.set_operands(in, {}, {at.base});
  return true;
}

} // namespace

void add_tensor_shift_selectors(SelectorTable& table) {
  table.add(Opcode::tcgen05_shift, select_shift);
}

} // namespace lemma::vgpu
