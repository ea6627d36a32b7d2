// tcgen05.cp: what a thread asks for, and what is checked of it: the descriptor, the bytes in shared memory
// that it leads to, the columns.
//
// Not here: what a copy moves (async/tensor_cp.h), when it does (async/async.h).
//
// PTX ISA: "tcgen05.cp". Tests: tests/unit/vgpu/tensor_scale_test.cc.
#include "vgpu/async/tensor_cp.h"

#include "vgpu/code/decoder.h"
#include "vgpu/handlers/tensor/tensor_operands.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::Type;
using layout::TensorAddress;
using layout::TensorSmemDescriptor;

struct TensorCpPlan {
  layout::CopyShape shape{};
  layout::CopyMulticast multicast{};
  uint8_t cta_group = 1;
  uint32_t packed_bits = 8;
  int64_t offset = 0; // of the address
};

namespace {

bool read_cp(Exec& x, const DecodedInst& in, int lane, AsyncOperation& operation) {
  const auto& plan = x.plan<TensorCpPlan>(in);
  TensorCp cp;
  cp.ctas = find_ctas(x, in, plan.cta_group, lane);
  if (cp.ctas.is_empty())
    return false;
  cp.shape = plan.shape;
  cp.multicast = plan.multicast;
  cp.packed_bits = plan.packed_bits;
  const auto to = TensorAddress::decode(
      static_cast<uint32_t>(x.src_lane(in, 0, lane) + static_cast<uint64_t>(plan.offset)));
  if (!check_lane(x, in, to, false, "the copy", lane) || !std::ranges::all_of(cp.ctas, [&](Cta* cta) {
        return check_columns(x, in, *cta, to.column, layout::copy_columns(plan.shape), lane);
      }))
    return false;
  cp.to = {to.lane, to.column};
  cp.from.descriptor = TensorSmemDescriptor::decode(x.src_lane(in, 1, lane));
  if (const auto problem = layout::wrong(cp.from.descriptor, {.operand = "s-desc"})) {
    x.misuse(in, "tcgen05.descriptor", *problem + " (undefined behaviour)", lane);
    return false;
  }
  if (const auto chunks = cp.from.descriptor.as_wgmma())
    cp.from.chunks = *chunks;
  const TensorChunks chunks{.descriptor = cp.from.descriptor,
                            .count = layout::copy_rows(cp.shape) * cp.row_chunks(),
                            .chunk_at = [&](uint32_t i) { return cp.chunk(i); },
                            .name = "s-desc"};
  if (!std::ranges::all_of(cp.ctas,
                           [&](Cta* cta) { return check_chunks(x, in, *cta, chunks, lane).has_value(); }))
    return false;
  operation.kind = AsyncKind::tensor_cp;
  operation.cp = std::make_shared<const TensorCp>(cp);
  return true;
}

Step run_cp(Exec& x, const DecodedInst& in) {
  return issue(x, in, read_cp);
}

bool select_cp(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  TensorCpPlan& plan = d.make_plan<TensorCpPlan>(in);
  for (const Qual qual : instruction.quals()) {
    const std::string word = fmt::format(".{}", isa::to_string(qual));
    if (const auto shape = layout::copy_shape(word))
      plan.shape = *shape;
    if (const auto multicast = layout::copy_multicast(word))
      plan.multicast = *multicast;
  }
  plan.cta_group = instruction.has(Qual::cta_group_2) ? 2 : 1;
  plan.packed_bits = instruction.has(Qual::b4x16_p64) ? 4 : instruction.has(Qual::b6x16_p32) ? 6 : 8;
  const PlacedAddress to = d.address(0);
  plan.offset = to.offset;
  in.handler = run_cp;
  d.set_operands(in, {}, {to.base, d.src(1, Type::b64)});
  return true;
}

} // namespace

void add_tensor_cp_selectors(SelectorTable& table) {
  table.add(Opcode::tcgen05_cp, select_cp);
}

} // namespace lemma::vgpu
