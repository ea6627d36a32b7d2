// Bulk copies and reductions, and the asynchronous stores and reductions of single threads: cp.async.bulk,
// cp.reduce.async.bulk, cp.async.bulk.prefetch, st.async, red.async.
//
// Each lane that executes one issues an operation of its own. Both memories and the mbarrier are checked when
// it is issued. Shared memory is read and written as the async proxy does.
//
// Not here: groups of bulk operations and tensors (tensor_copy.cc), cp.async (cp_async.cc).
//
// PTX ISA: "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.prefetch", "st.async", "red.async".
// Tests: tests/unit/vgpu/async_copy_test.cc.
#include "vgpu/handlers/async_operands.h"
#include "vgpu/handlers/lane_memory.h"
#include "vgpu/handlers/reduction.h"

#include <fmt/format.h>

#include <memory>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using isa::Type;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

constexpr uint32_t kBulkAlign = 16; // of addresses and sizes

struct AddressPlan {
  StateSpace space = StateSpace::generic;
  int64_t offset = 0;
  int source = -1; // index among the sources; -1: the instruction has none
};

struct BulkPlan {
  AddressPlan to, from, mbarrier;
  int size_source = -1, mask_source = -1;
  bool to_global = false;
  Reduce reduce = nullptr; // null: a copy
  uint32_t element_bytes = 1;
  // st.async and red.async: the elements are sources from here on
  int first_element = -1, elements = 0;
};

const BulkPlan& plan_of(const DecodedInst& in) {
  return *static_cast<const BulkPlan*>(in.extra);
}

using Bytes = std::vector<std::byte>;

// One end of an operation: host memory of the global state space, or a place in shared memory.
struct End {
  std::byte* host = nullptr;
  MbarrierPlace shared; // no CTA: global
};

bool find_end(Exec& x, const DecodedInst& in, const AddressPlan& plan, uint32_t bytes, uint32_t align,
              Access kind, int lane, End& end) {
  const uint64_t address = lane_address(x, in, plan.source, plan.offset, lane);
  end.host = x.access(in, plan.space, address, bytes, align, kind, lane);
  if (!end.host)
    return false;
  if (plan.space != StateSpace::global)
    end.shared = shared_place(x, end.host);
  return true;
}

// What the operation does to its destination.
void write_to(const End& to, const Bytes& bytes, Reduce reduce, uint32_t element_bytes) {
  const auto count = static_cast<uint32_t>(bytes.size());
  if (!to.shared.cta) {
    if (!reduce)
      std::memcpy(to.host, bytes.data(), count);
    for (uint32_t at = 0; reduce && at < count; at += element_bytes)
      reduce(to.host + at, bytes.data() + at, false);
    return;
  }
  if (!reduce) {
    to.shared.cta->async_write(to.shared.offset, bytes.data(), count);
    return;
  }
  const std::byte* before = to.shared.cta->async_read(to.shared.offset);
  Bytes values(before, before + count);
  for (uint32_t at = 0; at < count; at += element_bytes)
    reduce(values.data() + at, bytes.data() + at, false);
  to.shared.cta->async_write(to.shared.offset, values.data(), count);
}

// The destinations of a multicast: the same places in every CTA of the mask. False after a fault.
bool find_multicast(Exec& x, const DecodedInst& in, int lane, std::vector<End>& to,
                    std::vector<MbarrierPlace>& mbarriers) {
  const Cluster& cluster = *x.cta->cluster;
  const auto mask = static_cast<uint32_t>(x.src_lane(in, plan_of(in).mask_source, lane)) & 0xffff;
  if (mask == 0 || mask >> cluster.ctas.size() != 0) {
    x.fault(in, FaultKind::illegal_instruction,
            fmt::format("the CTA mask {:#06x} names CTAs that the cluster of {} does not have", mask,
                        cluster.ctas.size()),
            lane);
    return false;
  }
  const End first = to[0];
  const MbarrierPlace mbarrier = mbarriers[0];
  to.clear();
  mbarriers.clear();
  for (uint32_t rank = 0; rank < cluster.ctas.size(); ++rank)
    if (mask >> rank & 1) {
      Cta* cta = cluster.ctas[rank].get();
      to.push_back({cta->shared.data() + first.shared.offset, {cta, first.shared.offset}});
      mbarriers.push_back({cta, mbarrier.offset});
    }
  for (const MbarrierPlace& place : mbarriers)
    if (!is_mbarrier(place)) {
      x.fault_at(
          in, FaultKind::illegal_instruction,
          fmt::format("CTA rank {} has no mbarrier object at shared address {:#x}: mbarrier.init has not run "
                      "there, or not yet (undefined behaviour)",
                      place.cta->rank, place.offset),
          lane, place.offset);
      return false;
    }
  return true;
}

bool issue(Exec& x, const DecodedInst& in, int lane) {
  const BulkPlan& plan = plan_of(in);
  const auto size = static_cast<uint32_t>(x.src_lane(in, plan.size_source, lane));
  if (size % kBulkAlign != 0) {
    x.fault(in, FaultKind::illegal_instruction,
            fmt::format("the size is {} bytes: legal are multiples of 16 (undefined behaviour)", size), lane);
    return false;
  }
  End from;
  std::vector<End> to(1);
  std::vector<MbarrierPlace> mbarriers;
  if (!find_end(x, in, plan.from, size, kBulkAlign, Access::read, lane, from) ||
      !find_end(x, in, plan.to, size, kBulkAlign, plan.reduce ? Access::atomic : Access::write, lane, to[0]))
    return false;
  if (plan.mbarrier.source >= 0) {
    mbarriers.push_back(find_mbarrier(x, in, plan.mbarrier.space,
                                      lane_address(x, in, plan.mbarrier.source, plan.mbarrier.offset, lane),
                                      lane));
    if (!mbarriers[0].cta)
      return false;
    if (plan.mask_source >= 0 && !find_multicast(x, in, lane, to, mbarriers))
      return false;
  }
  auto bytes = std::make_shared<Bytes>(size);
  x.start_async(lane, {.read =
                           [from, bytes] {
                             const std::byte* source = from.shared.cta
                                                           ? from.shared.cta->async_read(from.shared.offset)
                                                           : from.host;
                             std::memcpy(bytes->data(), source, bytes->size());
                           },
                       .write =
                           [to = std::move(to), mbarriers = std::move(mbarriers), bytes, reduce = plan.reduce,
                            element = plan.element_bytes] {
                             for (const End& end : to)
                               write_to(end, *bytes, reduce, element);
                             for (const MbarrierPlace& mbarrier : mbarriers)
                               complete_bytes(mbarrier, static_cast<uint32_t>(bytes->size()));
                           },
                       .group = plan.to_global ? AsyncGroup::bulk : AsyncGroup::none});
  return true;
}

// st.async and red.async: the data are the lane's registers.
bool issue_elements(Exec& x, const DecodedInst& in, int lane) {
  const BulkPlan& plan = plan_of(in);
  auto bytes = std::make_shared<Bytes>(static_cast<size_t>(plan.elements) * plan.element_bytes);
  for (int i = 0; i < plan.elements; ++i) {
    const uint64_t value = x.src_lane(in, plan.first_element + i, lane);
    std::memcpy(bytes->data() + static_cast<size_t>(i) * plan.element_bytes, &value, plan.element_bytes);
  }
  const auto size = static_cast<uint32_t>(bytes->size());
  End to;
  if (!find_end(x, in, plan.to, size, size, plan.reduce ? Access::atomic : Access::write, lane, to))
    return false;
  const MbarrierPlace mbarrier =
      find_mbarrier(x, in, plan.mbarrier.space,
                    lane_address(x, in, plan.mbarrier.source, plan.mbarrier.offset, lane), lane);
  if (!mbarrier.cta)
    return false;
  if (mbarrier.cta != to.shared.cta) {
    x.fault(
        in, FaultKind::illegal_instruction,
        fmt::format("the data go to CTA rank {}, but the mbarrier is in CTA rank {}: they must be in one CTA "
                    "(undefined behaviour)",
                    to.shared.cta ? to.shared.cta->rank : 0, mbarrier.cta->rank),
        lane);
    return false;
  }
  x.start_async(
      lane, {.read = {}, .write = [to, mbarrier, bytes, reduce = plan.reduce, element = plan.element_bytes] {
               write_to(to, *bytes, reduce, element);
               complete_bytes(mbarrier, static_cast<uint32_t>(bytes->size()));
             }});
  return true;
}

template <bool (*kIssue)(Exec&, const DecodedInst&, int)>
Step run(Exec& x, const DecodedInst& in) {
  for (LaneMask left = x.active; left != 0; left &= left - 1)
    if (!kIssue(x, in, std::countr_zero(left)))
      return Step::stopped;
  return Step::next;
}

// --- decoding ---

AddressPlan add_address(Decoder& d, const Instruction& instruction, const Operand& operand, StateSpace space,
                        std::vector<Slot>& srcs) {
  const AddressOperand address = d.address(instruction, operand);
  srcs.push_back(address.has_base ? address.base : d.constant(0, Type::u64));
  // By its name a shared variable is the CTA's own.
  const bool named_shared = !address.has_base && space != StateSpace::global;
  return {.space = named_shared ? StateSpace::shared : space,
          .offset = address.offset,
          .source = static_cast<int>(srcs.size()) - 1};
}

Qual operation_of(const Instruction& instruction) {
  return instruction.one_of(
      {Qual::and_, Qual::or_, Qual::xor_, Qual::add, Qual::inc, Qual::dec, Qual::min, Qual::max});
}

bool choose_reduction(const Instruction& instruction, BulkPlan& plan) {
  plan.reduce = find_reduction(operation_of(instruction), instruction.type());
  plan.element_bytes = static_cast<uint32_t>(isa::bytes_of(instruction.type()));
  return plan.reduce != nullptr;
}

bool select_bulk(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  if (instruction.has(Qual::cp_mask))
    return false;
  const auto& operands = instruction.operands;
  auto& plan = *d.make_extra<BulkPlan>(in);
  plan.to_global = instruction.has(Qual::bulk_group);
  const bool from_global = instruction.has(Qual::global) && !plan.to_global;
  const StateSpace shared =
      instruction.has(Qual::shared_cluster) ? StateSpace::shared_cluster : StateSpace::shared;
  std::vector<Slot> srcs;
  plan.to = add_address(d, instruction, operands[0], plan.to_global ? StateSpace::global : shared, srcs);
  plan.from =
      add_address(d, instruction, operands[1], from_global ? StateSpace::global : StateSpace::shared, srcs);
  plan.size_source = static_cast<int>(srcs.size());
  srcs.push_back(d.src(operands[2], Type::u32));
  if (!plan.to_global) // beside the destination, which may be in another CTA
    plan.mbarrier = add_address(d, instruction, operands[3], shared, srcs);
  if (instruction.has(Qual::multicast_cluster)) {
    plan.mask_source = static_cast<int>(srcs.size());
    srcs.push_back(d.src(operands[4], Type::b16));
  }
  if (instruction.opcode == Opcode::cp_reduce_async_bulk && !choose_reduction(instruction, plan))
    return false;
  in.handler = run<issue>;
  d.set_operands(in, {}, srcs);
  return true;
}

bool select_elements(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  if (instruction.has(Qual::mmio))
    return false;
  const auto& operands = instruction.operands;
  auto& plan = *d.make_extra<BulkPlan>(in);
  std::vector<Slot> srcs;
  plan.to = add_address(d, instruction, operands[0], StateSpace::shared_cluster, srcs);
  plan.mbarrier = add_address(d, instruction, operands[2], StateSpace::shared_cluster, srcs);
  plan.first_element = static_cast<int>(srcs.size());
  for (const Operand& element :
       operands[1].kind == OperandKind::vector ? std::span(operands[1].elems) : std::span(&operands[1], 1))
    srcs.push_back(d.src(element, instruction.type()));
  plan.elements = static_cast<int>(srcs.size()) - plan.first_element;
  plan.element_bytes = static_cast<uint32_t>(isa::bytes_of(instruction.type()));
  if (instruction.opcode == Opcode::red_async && !choose_reduction(instruction, plan))
    return false;
  in.handler = run<issue_elements>;
  d.set_operands(in, {}, srcs);
  return true;
}

// A hint about global memory.
bool select_prefetch(Decoder& d, const Instruction&, DecodedInst& in) {
  in.handler = [](Exec&, const DecodedInst&) { return Step::next; };
  d.set_operands(in, {}, {});
  return true;
}

} // namespace

void add_bulk_copy_selectors(SelectorTable& table) {
  table.add({Opcode::cp_async_bulk, Opcode::cp_reduce_async_bulk}, select_bulk);
  table.add({Opcode::st_async, Opcode::red_async}, select_elements);
  table.add(Opcode::cp_async_bulk_prefetch, select_prefetch);
}

} // namespace lemma::vgpu
