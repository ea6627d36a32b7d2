// An allocation that has to wait is tried again whenever something has changed (waiting.h): by then another
// CTA may have given columns back, or the peer of a pair may have asked.
#include "vgpu/handlers/tensor/tensor_allocation.h"

#include "vgpu/async/tensor_cp.h"
#include "vgpu/async/tensor_shift.h"
#include "vgpu/async/tensor_st.h"
#include "vgpu/code/decoder.h"
#include "vgpu/engine/observer.h"
#include "vgpu/engine/schedule.h"
#include "vgpu/engine/warp.h"
#include "vgpu/handlers/matrix/matrix_operands.h"
#include "vgpu/handlers/memory/lane_memory.h"
#include "vgpu/handlers/tensor/tensor_operands.h"
#include "vgpu/memory/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::Type;

struct TensorAllocationPlan {
  uint8_t cta_group = 1;
  bool is_exclusive = false;
  int sm = 0;                                       // the machine
  isa::StateSpace space = isa::StateSpace::generic; // of the address that alloc writes to
  int64_t offset = 0;
};

namespace {

Step wait_for_columns(Exec& x) {
  Split& split = x.warp->splits[x.split];
  split.pc = split.wait_pc = x.pc;
  split.state = SplitState::at_tensor_memory;
  return Step::reschedule;
}

TensorMemory& memory_of(Exec& x, Cta& cta) {
  if (!cta.tensor.memory)
    cta.tensor.memory =
        &x.launch->tensor_memories.of_sm(cta.sm, x.launch->memory->budget(), x.launch->config.seed);
  return *cta.tensor.memory;
}

// False after a fault.
bool check_count(Exec& x, const DecodedInst& in, uint64_t columns, int lane) {
  const auto& plan = x.plan<TensorAllocationPlan>(in);
  const bool is_exclusive = plan.is_exclusive;
  const bool is_step =
      is_exclusive ? columns % TensorMemory::kLeastColumns == 0 : std::has_single_bit(columns);
  if (columns >= TensorMemory::kLeastColumns && columns <= TensorMemory::kColumns && is_step)
    return true;
  constexpr uint64_t kOfRubin = 576;
  constexpr int kRubin = 107;
  if (is_exclusive && columns > TensorMemory::kColumns && columns <= kOfRubin && is_step &&
      plan.sm == kRubin) {
    x.fault(in, FaultKind::unsupported,
            fmt::format("{} columns of tensor memory: more than {} are not modelled", columns,
                        TensorMemory::kColumns),
            lane);
    return false;
  }
  x.misuse(in, "tcgen05.alloc", fmt::format("{} columns of tensor memory (undefined behaviour)", columns),
           lane, {is_exclusive ? "legal: multiples of 32 up to 512" : "legal: 32, 64, 128, 256, 512"});
  return false;
}

bool check_allocation(Exec& x, const DecodedInst& in, uint32_t columns, int lane) {
  const TensorUse& use = x.cta->tensor;
  if (use.relinquished) {
    x.misuse(in, "tcgen05.alloc",
             "the CTA allocates after tcgen05.relinquish_alloc_permit (undefined behaviour)", lane,
             {"fix: relinquish after the last tcgen05.alloc of the CTA"});
    return false;
  }
  if (use.last_columns != 0 && columns > use.last_columns) {
    x.misuse(in, "tcgen05.alloc",
             fmt::format(
                 "the CTA allocates {} columns after {}: the number must not grow from one tcgen05.alloc to "
                 "the next (undefined behaviour)",
                 columns, use.last_columns),
             lane, {"fix: allocate the larger part first"});
    return false;
  }
  return true;
}

void take(Exec& x, const DecodedInst& in, Cta& cta, uint32_t column, uint32_t columns) {
  cta.tensor.blocks.push_back({.column = column,
                               .columns = columns,
                               .code = x.code,
                               .instruction = x.code->id_of(in),
                               .is_exclusive = x.plan<TensorAllocationPlan>(in).is_exclusive});
  cta.tensor.last_columns = columns;
}

// The columns, once there are any; a pair's when both have asked.
std::optional<uint32_t> allocate(Exec& x, uint32_t columns) {
  return memory_of(x, *x.cta).allocate(columns, x.launch->schedule->first_column(x.cta->linear_id));
}

// The same columns in both CTAs' SMs.
std::optional<uint32_t> allocate_in_both(Exec& x, Cta& peer, uint32_t columns) {
  TensorMemory& own = memory_of(x, *x.cta);
  TensorMemory& other = memory_of(x, peer);
  const uint32_t first = x.launch->schedule->first_column(x.cta->linear_id);
  for (uint32_t i = 0; i < TensorMemory::kColumns; i += columns) {
    const uint32_t wanted = (first + i) % TensorMemory::kColumns / columns * columns;
    const std::optional<uint32_t> column = own.allocate(columns, wanted);
    if (!column)
      return std::nullopt;
    const std::optional<uint32_t> there = other.allocate(columns, *column);
    if (there == column)
      return column;
    own.release(*column, columns);
    if (there)
      other.release(*there, columns);
  }
  return std::nullopt;
}

// The columns from 0 on, once nobody has any.
std::optional<uint32_t> allocate_all(Exec& x, Cta* peer, uint32_t columns) {
  TensorMemory& own = memory_of(x, *x.cta);
  if (!own.allocate_all(columns))
    return std::nullopt;
  if (!peer || memory_of(x, *peer).allocate_all(columns))
    return 0;
  own.release_all();
  return std::nullopt;
}

Step run_alloc(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warp(x, in, step))
    return step;
  const auto& plan = x.plan<TensorAllocationPlan>(in);
  const std::optional<uint64_t> address = value_of_all(x, in, 0, "addresses");
  const std::optional<uint64_t> count = address ? value_of_all(x, in, 1, "numbers of columns") : std::nullopt;
  if (!count || !check_count(x, in, *count, 0))
    return Step::stopped;
  const auto columns = static_cast<uint32_t>(*count);
  TensorUse& use = x.cta->tensor;
  std::optional<uint32_t> column = std::exchange(use.asked.column, std::nullopt);
  if (!column) {
    if (!use_cta_group(x, in, plan.cta_group, 0) || !check_allocation(x, in, columns, 0))
      return Step::stopped;
    if (plan.cta_group == 1) {
      column = plan.is_exclusive ? allocate_all(x, nullptr, columns) : allocate(x, columns);
    } else {
      Cta* peer = find_peer(x, in, 0);
      if (!peer)
        return Step::stopped;
      use.asked.columns = columns;
      use.asked.is_exclusive = plan.is_exclusive;
      if (peer->tensor.asked.columns == columns && peer->tensor.asked.is_exclusive == plan.is_exclusive)
        column = plan.is_exclusive ? allocate_all(x, peer, columns) : allocate_in_both(x, *peer, columns);
      if (column) {
        peer->tensor.asked = {.columns = 0, .column = column};
        use.asked = {};
      }
    }
  }
  if (!column)
    return wait_for_columns(x);
  take(x, in, *x.cta, *column, columns);
  const Access access =
      x.access(in, plan.space, *address + static_cast<uint64_t>(plan.offset), 4, 4, AccessKind::write, 0);
  if (!access)
    return Step::stopped;
  PieceAccesses accesses(x, false); // the warp's
  accesses.add(0, access);
  accesses.tell();
  store_relaxed<uint32_t>(access.host, *column);
  x.effect();
  return Step::next;
}

Step run_dealloc(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warp(x, in, step))
    return step;
  const std::optional<uint64_t> address = value_of_all(x, in, 0, "addresses");
  const std::optional<uint64_t> columns =
      address ? value_of_all(x, in, 1, "numbers of columns") : std::nullopt;
  if (!columns || !check_count(x, in, *columns, 0) ||
      !use_cta_group(x, in, x.plan<TensorAllocationPlan>(in).cta_group, 0))
    return Step::stopped;
  TensorUse& use = x.cta->tensor;
  const auto block = std::find_if(use.blocks.begin(), use.blocks.end(), [&](const TensorUse::Block& each) {
    return each.column == *address && each.columns == *columns &&
           each.is_exclusive == x.plan<TensorAllocationPlan>(in).is_exclusive;
  });
  if (block == use.blocks.end()) {
    std::vector<std::string> notes;
    for (const TensorUse::Block& each : use.blocks)
      notes.push_back(fmt::format("allocated: {} columns at address {:#x}{}, at line {}", each.columns,
                                  each.column, each.is_exclusive ? ", .exclusive" : "",
                                  place_of(*each.code, each.instruction).ptx_line));
    if (notes.empty())
      notes.emplace_back("allocated: nothing, or no longer");
    return x.misuse(
        in, "tcgen05.alloc",
        fmt::format("the CTA gives back {} columns at address {:#x} of tensor memory, which is no "
                    "allocation of its (undefined behaviour)",
                    *columns, *address),
        0, std::move(notes));
  }
  if (const AsyncOperation* user = x.async().find([&](const AsyncOperation& operation) {
        return (operation.mma && accesses(*operation.mma, *x.cta, block->column, block->columns)) ||
               (operation.cp && accesses(*operation.cp, *x.cta, block->column, block->columns)) ||
               (operation.shift && accesses(*operation.shift, *x.cta, block->column, block->columns)) ||
               (operation.st && accesses(*operation.st, *x.cta, block->column, block->columns));
      }))
    return x.misuse(
        in, "tcgen05.alloc",
        fmt::format("the CTA gives back columns {} to {} of tensor memory, which a {} at line {} uses, "
                    "and nobody has waited for it (undefined behaviour)",
                    block->column, block->column + block->columns - 1, to_string(user->kind),
                    place_of(*user->issuer.code, user->issuer.instruction).ptx_line),
        0,
        {user->st ? "fix: tcgen05.wait::st behind it, before tcgen05.dealloc"
                  : "fix: tcgen05.commit behind it, and a wait at its mbarrier before tcgen05.dealloc"});
  x.watch.tell(&Observer::frees_tensor, x, block->column, block->columns);
  if (block->is_exclusive)
    use.memory->release_all();
  else
    use.memory->release(block->column, block->columns);
  use.blocks.erase(block);
  x.effect();
  return Step::next;
}

Step run_relinquish(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warp(x, in, step))
    return step;
  if (!use_cta_group(x, in, x.plan<TensorAllocationPlan>(in).cta_group, 0))
    return Step::stopped;
  x.cta->tensor.relinquished = true;
  return Step::next;
}

bool select_allocation(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  TensorAllocationPlan& plan = d.make_plan<TensorAllocationPlan>(in);
  plan.cta_group = instruction.has(Qual::cta_group_2) ? 2 : 1;
  plan.is_exclusive = instruction.has(Qual::exclusive);
  plan.sm = d.program().arch().sm;
  switch (instruction.opcode) {
  case Opcode::tcgen05_alloc: {
    const PlacedAddress address = d.address(0);
    plan.space = address.space;
    plan.offset = address.offset;
    in.handler = run_alloc;
    d.set_operands(in, {}, {address.base, d.src(1, Type::b32)});
    return true;
  }
  case Opcode::tcgen05_dealloc:
    in.handler = run_dealloc;
    d.set_operands(in, {}, {d.src(0, Type::b32), d.src(1, Type::b32)});
    return true;
  default:
    in.handler = run_relinquish;
    d.set_operands(in, {}, {});
    return true;
  }
}

} // namespace

Step end_tensor_memory(Exec& x, const DecodedInst& in) {
  const std::vector<TensorUse::Block>& blocks = x.cta->tensor.blocks;
  if (blocks.empty())
    return Step::reschedule;
  const TensorUse::Block& first = blocks.front();
  return x.misuse(
      in, "tcgen05.alloc",
      fmt::format("the CTA ends, and has not given back {} columns of tensor memory, allocated at line {} "
                  "(undefined behaviour)",
                  first.columns, place_of(*first.code, first.instruction).ptx_line),
      -1, {"fix: tcgen05.dealloc of every allocation before the CTA ends"});
}

void add_tensor_allocation_selectors(SelectorTable& table) {
  table.add({Opcode::tcgen05_alloc, Opcode::tcgen05_dealloc, Opcode::tcgen05_relinquish_alloc_permit},
            select_allocation);
}

} // namespace lemma::vgpu
