// Bulk copies and reductions, and the asynchronous stores and reductions of single threads: cp.async.bulk,
// cp.reduce.async.bulk, cp.async.bulk.prefetch, st.async, red.async; and st.bulk, which is no asynchronous
// one.
//
// Each lane that executes one issues an operation of its own. Both memories and the mbarrier are checked when
// it is issued. Shared memory is read and written as the async proxy does.
//
// st.async and red.async in global memory have nobody who waits for them: they are performed at once.
//
// Not here: groups of bulk operations and tensors (tensor_copy.cc), cp.async (cp_async.cc).
//
// PTX ISA: "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.prefetch", "st.async", "red.async".
// Tests: tests/unit/vgpu/async_copy_test.cc.
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/memory/async_operands.h"
#include "vgpu/handlers/memory/atomic_operations.h"
#include "vgpu/handlers/memory/memory_handlers.h"
#include "vgpu/handlers/memory/reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using isa::Type;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

constexpr uint32_t kBulkAlign = 16; // of addresses and sizes

struct BulkPlan {
  struct Address {
    StateSpace space = StateSpace::generic;
    int64_t offset = 0;
    int source = -1; // index among the sources; -1: the instruction has none
  };
  Address to, from, mbarrier;
  int size_source = -1, mask_source = -1;
  int ignored_source = -1;   // .ignore_oob: of the left, and after it of the right
  int byte_mask_source = -1; // .cp_mask
  bool to_global = false;
  Reduce reduce = nullptr; // null: a copy
  uint32_t element_bytes = 1;
  // st.async and red.async: the elements are sources from here on
  int first_element = -1, elements = 0;
};

namespace {

Access find_end(Exec& x, const DecodedInst& in, const BulkPlan::Address& plan, uint32_t bytes, uint32_t align,
                AccessKind kind, int lane, uint32_t skipped = 0) {
  const uint64_t address = lane_address(x, in, plan.source, plan.offset, lane) + skipped;
  const Access access = check_async(x, in, plan.space, address, bytes, align, kind, lane);
  if (!access || plan.space == StateSpace::global || access.is_shared())
    return access;
  x.fault_at(in, FaultKind::wrong_space,
             fmt::format("the instruction needs shared memory, but {:#x} is not", address), lane, address);
  return {};
}

// The end that the data go to: shared memory with its mbarrier, there and where a multicast's mask says, or
// global memory. False after a fault.
bool find_destination(Exec& x, const DecodedInst& in, uint32_t align, AsyncOperation& operation) {
  const auto& plan = x.plan<BulkPlan>(in);
  const int lane = operation.issuer.lane;
  const Access to = find_end(x, in, plan.to, operation.bytes, align,
                             plan.reduce ? AccessKind::atomic : AccessKind::write, lane);
  if (!to)
    return false;
  if (plan.to_global) {
    operation.destination = to;
    operation.group = AsyncGroup::bulk;
    return true;
  }
  std::optional<uint16_t> mask;
  if (plan.mask_source >= 0)
    mask = static_cast<uint16_t>(x.src_lane(in, plan.mask_source, lane));
  operation.targets =
      find_targets(x, in, lane, shared_place(to), plan.mbarrier.space,
                   lane_address(x, in, plan.mbarrier.source, plan.mbarrier.offset, lane), mask);
  return !operation.targets.empty();
}

AsyncOperation new_operation(const Exec& x, const DecodedInst& in, int lane, AsyncKind kind, uint32_t bytes) {
  AsyncOperation operation;
  operation.kind = kind;
  operation.issuer = x.issuer(in, lane);
  operation.bytes = bytes;
  operation.reduce = x.plan<BulkPlan>(in).reduce;
  operation.element_bytes = x.plan<BulkPlan>(in).element_bytes;
  return operation;
}

// The bytes at the ends that .ignore_oob leaves out. False after a fault.
bool find_ignored(Exec& x, const DecodedInst& in, AsyncOperation& operation) {
  const auto& plan = x.plan<BulkPlan>(in);
  const int lane = operation.issuer.lane;
  const uint64_t left = static_cast<uint32_t>(x.src_lane(in, plan.ignored_source, lane)),
                 right = static_cast<uint32_t>(x.src_lane(in, plan.ignored_source + 1, lane));
  if (left >= kBulkAlign || right >= kBulkAlign) {
    x.fault(in, FaultKind::illegal_instruction,
            fmt::format("{} bytes on the left and {} on the right are to be ignored: legal are 0 to {} "
                        "(undefined behaviour)",
                        left, right, kBulkAlign - 1),
            lane);
    return false;
  }
  const uint64_t address = lane_address(x, in, plan.from.source, plan.from.offset, lane);
  if (address % kBulkAlign != 0) {
    x.fault_at(in, FaultKind::misaligned,
               fmt::format("the source {:#x} is no multiple of {}", address, kBulkAlign), lane, address);
    return false;
  }
  operation.ignored_left = static_cast<uint32_t>(left);
  operation.ignored_right = std::min(static_cast<uint32_t>(right), operation.bytes - operation.ignored_left);
  return true;
}

// What is read. False after a fault.
bool find_source(Exec& x, const DecodedInst& in, AsyncOperation& operation) {
  const auto& plan = x.plan<BulkPlan>(in);
  const int lane = operation.issuer.lane;
  if (plan.ignored_source >= 0 && !find_ignored(x, in, operation))
    return false;
  if (plan.byte_mask_source >= 0)
    operation.byte_mask = static_cast<uint16_t>(x.src_lane(in, plan.byte_mask_source, lane));
  operation.source_bytes = operation.bytes - operation.ignored_left - operation.ignored_right;
  if (operation.source_bytes == 0)
    return true;
  // Of a masked copy only some bytes are read, and those that were never written stay so.
  const AccessKind kind = operation.byte_mask == 0xffff ? AccessKind::read : AccessKind::copy;
  const uint32_t align = plan.ignored_source >= 0 ? 1 : kBulkAlign; // which was checked
  operation.source =
      find_end(x, in, plan.from, operation.source_bytes, align, kind, lane, operation.ignored_left);
  return operation.source.host != nullptr;
}

// To shared memory, with an mbarrier; or to global memory, with a group.
bool issue(Exec& x, const DecodedInst& in, int lane) {
  const auto& plan = x.plan<BulkPlan>(in);
  const auto size = static_cast<uint32_t>(x.src_lane(in, plan.size_source, lane));
  if (size % kBulkAlign != 0) {
    x.fault(in, FaultKind::illegal_instruction,
            fmt::format("the size is {} bytes: legal are multiples of 16 (undefined behaviour)", size), lane);
    return false;
  }
  if (size == 0) { // nothing lies at the addresses, and nothing is signalled
    x.effect();
    return true;
  }
  AsyncOperation operation =
      new_operation(x, in, lane, plan.reduce ? AsyncKind::bulk_reduce : AsyncKind::bulk_copy, size);
  return find_source(x, in, operation) && find_destination(x, in, kBulkAlign, operation) &&
         start(x, std::move(operation));
}

// st.async and red.async: the data are the lane's registers.
bool issue_elements(Exec& x, const DecodedInst& in, int lane) {
  const auto& plan = x.plan<BulkPlan>(in);
  const uint32_t size = static_cast<uint32_t>(plan.elements) * plan.element_bytes;
  AsyncOperation operation =
      new_operation(x, in, lane, plan.reduce ? AsyncKind::red_async : AsyncKind::st_async, size);
  operation.data.resize(size);
  for (int i = 0; i < plan.elements; ++i) {
    std::byte* const element = operation.data.data() + static_cast<size_t>(i) * plan.element_bytes;
    using Wide = std::array<uint64_t, 2>;
    if (plan.element_bytes == sizeof(Wide)) {
      std::memcpy(element, &x.src<Wide>(in, plan.first_element + i)[lane], sizeof(Wide));
    } else {
      const uint64_t value = x.src_lane(in, plan.first_element + i, lane);
      std::memcpy(element, &value, plan.element_bytes);
    }
  }
  return find_destination(x, in, size, operation) && start(x, std::move(operation));
}

template <bool (*kIssue)(Exec&, const DecodedInst&, int)>
Step run(Exec& x, const DecodedInst& in) {
  for (LaneMask left = x.active; left != 0; left &= left - 1)
    if (!kIssue(x, in, std::countr_zero(left)))
      return Step::stopped;
  return Step::next;
}

// --- decoding ---

BulkPlan::Address add_address(Decoder& d, size_t operand, StateSpace space, std::vector<Slot>& srcs) {
  const PlacedAddress address = d.address(operand);
  srcs.push_back(address.base);
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
  auto& plan = d.make_plan<BulkPlan>(in);
  plan.to_global = instruction.has(Qual::bulk_group);
  const bool from_global = instruction.has(Qual::global) && !plan.to_global;
  const StateSpace shared =
      instruction.has(Qual::shared_cluster) ? StateSpace::shared_cluster : StateSpace::shared;
  std::vector<Slot> srcs;
  plan.to = add_address(d, 0, plan.to_global ? StateSpace::global : shared, srcs);
  plan.from = add_address(d, 1, from_global ? StateSpace::global : StateSpace::shared, srcs);
  plan.size_source = static_cast<int>(srcs.size());
  size_t next = 2;
  srcs.push_back(d.src(next++, Type::u32));
  if (instruction.has(Qual::ignore_oob)) {
    plan.ignored_source = static_cast<int>(srcs.size());
    srcs.push_back(d.src(next++, Type::u32));
    srcs.push_back(d.src(next++, Type::u32));
  }
  if (!plan.to_global) // beside the destination, which may be in another CTA
    plan.mbarrier = add_address(d, next++, shared, srcs);
  if (names_ctas(instruction)) {
    plan.mask_source = static_cast<int>(srcs.size());
    srcs.push_back(d.src(next++, Type::b16));
  }
  if (instruction.has(Qual::cp_mask)) { // after a cache policy
    plan.byte_mask_source = static_cast<int>(srcs.size());
    srcs.push_back(d.src(instruction.has(Qual::L2_cache_hint) ? next + 1 : next, Type::b16));
  }
  if (instruction.opcode == Opcode::cp_reduce_async_bulk && !choose_reduction(instruction, plan))
    return false;
  in.handler = run<issue>;
  d.set_operands(in, {}, srcs);
  return true;
}

bool select_elements(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  if (!instruction.has(Qual::mbarrier_complete_tx_bytes)) // nobody can wait for it: performed at once
    return instruction.opcode == Opcode::st_async ? select_store(d, instruction, in)
                                                  : select_atomic(d, instruction, in);
  auto& plan = d.make_plan<BulkPlan>(in);
  const StateSpace space =
      instruction.has(Qual::shared_cluster) ? StateSpace::shared_cluster : StateSpace::generic;
  std::vector<Slot> srcs;
  plan.to = add_address(d, 0, space, srcs);
  plan.mbarrier = add_address(d, 2, space, srcs);
  plan.first_element = static_cast<int>(srcs.size());
  d.add_srcs(srcs, 1, instruction.type());
  plan.elements = static_cast<int>(srcs.size()) - plan.first_element;
  plan.element_bytes = static_cast<uint32_t>(isa::bytes_of(instruction.type()));
  if (instruction.opcode == Opcode::red_async && !choose_reduction(instruction, plan))
    return false;
  in.handler = run<issue_elements>;
  d.set_operands(in, {}, srcs);
  return true;
}

// st.bulk: zeros to shared memory, by the generic proxy. Sources: address, bytes. Not checked on hardware: no
// H200 has it.
Step run_zeros(Exec& x, const DecodedInst& in) {
  constexpr uint32_t kUnit = 8; // of the address and the size
  const auto space = static_cast<StateSpace>(in.flags);
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const uint64_t bytes = x.src_lane(in, 1, lane), address = lane_address(x, in, 0, in.imm, lane);
    if (bytes % kUnit != 0)
      return x.fault(
          in, FaultKind::illegal_instruction,
          fmt::format("the size is {} bytes, not a multiple of {} (undefined behaviour)", bytes, kUnit),
          lane);
    if (bytes == 0)
      continue;
    const auto size = static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX)); // more than there is
    const Access access = x.access(in, space, address, size, kUnit, AccessKind::write, lane);
    if (!access)
      return Step::stopped;
    if (!access.is_shared())
      return x.fault_at(in, FaultKind::wrong_space,
                        fmt::format("st.bulk needs shared memory, but {:#x} is not", address), lane, address);
    std::memset(access.host, 0, size);
    PieceAccesses accesses(x);
    accesses.add(lane, access);
    accesses.tell();
  }
  return Step::next;
}

bool select_zeros(Decoder& d, const Instruction&, DecodedInst& in) {
  const PlacedAddress address = d.address(0);
  in.flags = static_cast<uint8_t>(address.space);
  in.imm = address.offset;
  in.handler = run_zeros;
  d.set_operands(in, {}, {address.base, d.src(1, Type::b64)});
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
  table.add(Opcode::st_bulk, select_zeros);
}

} // namespace lemma::vgpu
