// tcgen05.ld, st, wait and fence: the cells of a warp's quarter of tensor memory, to and from registers.
//
// A load is done when it is executed: the hardware respects that a later instruction needs its registers, and
// wait::ld has nothing left to wait for. A store takes its registers then, and writes by wait::st.
//
// What a warp may not do and can be seen is a fault: a quarter that is another warp's, columns that are not
// the CTA's, lanes that disagree about the address. An address without lanes names the quarter of the warp
// that uses it: hardware takes it so (many kernels leave lanes out), and it is only remarked upon.
//
// PTX ISA: "tcgen05.ld", "tcgen05.st", "tcgen05.wait", "tcgen05.fence".
// Tests: tests/unit/vgpu/tensor_memory_test.cc.
#include "layout/tensor_memory.h"
#include "numeric/arithmetic.h"
#include "vgpu/async/tensor_st.h"
#include "vgpu/code/decoder.h"
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/matrix/matrix_operands.h"
#include "vgpu/handlers/memory/async_operands.h"
#include "vgpu/handlers/tensor/tensor_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace lemma::vgpu {
using isa::Opcode;
using isa::Qual;
using isa::Type;
using layout::TensorAddress;
using layout::TensorCell;
using layout::TensorShape;

struct TensorMovePlan {
  TensorShape shape = TensorShape::s32x32b;
  uint32_t columns = 0;                                 // from the address on; of .16x32bx2, of either half
  uint32_t second_half = 0;                             // of .16x32bx2: where it begins
  int64_t offset = 0;                                   // of the address
  bool packed = false;                                  // .pack::16b, .unpack::16b
  uint32_t (*reduce)(uint32_t a, uint32_t b) = nullptr; // of .red: of each lane's registers
  bool is_row_of_lanes = false;                         // register r has the quarter's lanes of column r
  // Of register r and thread t, from the cell of the address: [r * 32 + t]; packed, two each.
  std::vector<TensorCell> cells;
  std::vector<LaneMask> lanes; // the same cells: lanes, by column

  size_t cells_of_value() const { return packed ? 2 : 1; }
  std::span<const TensorCell> cells_of(int reg) const {
    const size_t count = kWarpSize * cells_of_value();
    return std::span(cells).subspan(static_cast<size_t>(reg) * count, count);
  }
};

namespace {

// Where the cell of the address is.
struct Located {
  TensorMemory* memory = nullptr; // null after a fault
  uint32_t lane = 0, column = 0;

  uint32_t& cell(TensorCell at) const { return memory->column(column + at.column)[lane + at.lane]; }
  LaneMask& written(TensorCell at) const {
    return memory->written(column + at.column)[(lane + at.lane) / kWarpSize];
  }
  LaneMask bit(TensorCell at) const { return LaneMask{1} << (lane + at.lane) % kWarpSize; }
};

// The lane of an address in the warp's quarter; none after a fault.
std::optional<uint32_t> lane_of(Exec& x, const DecodedInst& in, TensorAddress at, TensorShape shape) {
  const uint32_t quarter = x.warp->index % TensorMemory::kQuarters * kWarpSize;
  const uint32_t within = at.lane % kWarpSize;
  const bool names_none = at.lane < kWarpSize && quarter != 0;
  if (at.lane - within != quarter && !names_none) {
    x.misuse(
        in, "tcgen05.address",
        fmt::format("warp {} accesses lane {} of tensor memory, and reaches lanes {} to {} alone (undefined "
                    "behaviour)",
                    x.warp->index, at.lane, quarter, quarter + kWarpSize - 1),
        0, {"legal: the 32 lanes from 32 * (warp % 4) on, of the warp's index in the CTA"}, at.encode());
    return std::nullopt;
  }
  if (within != 0 && (shape == TensorShape::s32x32b || within != kWarpSize / 2)) {
    x.misuse(in, "tcgen05.address",
             fmt::format("{} begins at lane {} of a warp's 32 (undefined behaviour)",
                         layout::to_string(shape), within),
             0,
             {shape == TensorShape::s32x32b ? "legal: lane 0 of the 32" : "legal: lanes 0 and 16 of the 32"},
             at.encode());
    return std::nullopt;
  }
  if (names_none)
    x.remark(in,
             "the address names none of the 32 lanes of tensor memory that its warp reaches, from 32 * (warp "
             "% 4) on: the PTX ISA leaves undefined what happens. GPUs take the lanes of the warp, and so "
             "does this run");
  return quarter + within;
}

Located locate(Exec& x, const DecodedInst& in, const TensorMovePlan& plan) {
  const std::optional<uint64_t> address = value_of_all(x, in, 0, "addresses of tensor memory");
  if (!address)
    return {};
  const auto at = TensorAddress::decode(static_cast<uint32_t>(*address + static_cast<uint64_t>(plan.offset)));
  const std::optional<uint32_t> lane = lane_of(x, in, at, plan.shape);
  if (!lane || !check_columns(x, in, *x.cta, at.column, plan.columns, 0) ||
      (plan.shape == TensorShape::s16x32bx2 &&
       !check_columns(x, in, *x.cta, at.column + plan.second_half, plan.columns, 0)))
    return {};
  return {x.cta->tensor.memory, *lane, at.column};
}

// Counts reads of cells that were never written, the first of each lane.
void report_unwritten(Exec& x, const DecodedInst& in, const Located& located,
                      std::span<const TensorCell> cells) {
  const size_t each = cells.size() / kWarpSize;
  for (int lane = 0; lane < kWarpSize; ++lane)
    for (size_t i = 0; i < each; ++i) {
      const TensorCell at = cells[static_cast<size_t>(lane) * each + i];
      if ((located.written(at) & located.bit(at)) != 0)
        continue;
      x.uninitialized(in, lane,
                      fmt::format("tensor memory at lane {}, column {}", located.lane + at.lane,
                                  located.column + at.column));
      break;
    }
}

void tell_move(Exec& x, const TensorMovePlan& plan, const Located& located, bool writes) {
  x.watch.tell([&](Observer& observer) {
    std::vector<LaneMask> lanes = plan.lanes;
    for (LaneMask& of_column : lanes)
      of_column <<= located.lane % kWarpSize;
    observer.moves_tensor(x, {.writes = writes, .column = located.column, .lanes = lanes});
  });
}

Step run_load(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warp(x, in, step))
    return step;
  const auto& plan = x.plan<TensorMovePlan>(in);
  const Located located = locate(x, in, plan);
  if (!located.memory)
    return Step::stopped;
  tell_move(x, plan, located, false);
  const int registers = in.dst_count - (plan.reduce ? 1 : 0);
  for (int r = 0; r < registers; ++r) {
    const std::span<const TensorCell> cells = plan.cells_of(r);
    auto* d = x.dst<uint32_t>(in, r);
    if (plan.is_row_of_lanes && located.written(cells[0]) == kAllLanes) [[likely]] {
      std::memcpy(d, &located.cell(cells[0]), kWarpSize * sizeof *d);
      continue;
    }
    report_unwritten(x, in, located, cells);
    for (size_t lane = 0; lane < kWarpSize; ++lane)
      d[lane] = plan.packed
                    ? (located.cell(cells[2 * lane]) & 0xffff) | located.cell(cells[2 * lane + 1]) << 16
                    : located.cell(cells[lane]);
  }
  if (plan.reduce)
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      uint32_t result = x.dst<uint32_t>(in, 0)[lane];
      result = plan.reduce(result, result); // of one that is NaN, or a magnitude
      for (int r = 1; r < registers; ++r)
        result = plan.reduce(result, x.dst<uint32_t>(in, r)[lane]);
      x.dst<uint32_t>(in, registers)[lane] = result;
    }
  return Step::next;
}

// Later: as late as its warp's wait::st.
bool start_store(Exec& x, const DecodedInst& in, const TensorMovePlan& plan, const Located& located) {
  TensorSt st{.cta = x.cta,
              .at = {located.lane, located.column},
              .cells = &plan.cells,
              .packed = plan.packed,
              .values = {}};
  for (int r = 0; r < in.op_count - 1; ++r) {
    const auto* values = x.src<uint32_t>(in, r + 1);
    st.values.insert(st.values.end(), values, values + kWarpSize);
  }
  AsyncOperation operation;
  operation.kind = AsyncKind::tensor_st;
  operation.group = AsyncGroup::tensor_st;
  operation.proxy = Proxy::generic;
  operation.issuer = x.issuer(in, 0);
  operation.bytes = static_cast<uint32_t>(st.values.size() * sizeof(uint32_t));
  operation.st = std::make_shared<const TensorSt>(std::move(st));
  return start(x, std::move(operation));
}

Step run_store(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warp(x, in, step))
    return step;
  const auto& plan = x.plan<TensorMovePlan>(in);
  const Located located = locate(x, in, plan);
  if (!located.memory)
    return Step::stopped;
  tell_move(x, plan, located, true);
  if (x.launch->config.async != AsyncMode::eager || !x.is_quick() || !plan.is_row_of_lanes)
    return start_store(x, in, plan, located) ? Step::next : Step::stopped;
  for (int r = 0; r < in.op_count - 1; ++r) {
    const TensorCell at = plan.cells_of(r)[0];
    std::memcpy(&located.cell(at), x.src<uint32_t>(in, r + 1), kWarpSize * sizeof(uint32_t));
    located.written(at) = kAllLanes;
  }
  x.effect();
  return Step::next;
}

template <TensorOrder kOrder>
Step run_wait(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warp(x, in, step))
    return step;
  if (kOrder == TensorOrder::wait_st)
    x.async().complete(x.thread(0), AsyncGroup::tensor_st);
  x.watch.tell(&Observer::orders_tensor, x, kOrder);
  return Step::next;
}

// Operations run in an order that has no need of them.
template <TensorOrder kOrder>
Step run_fence(Exec& x, const DecodedInst&) {
  x.watch.tell(&Observer::orders_tensor, x, kOrder);
  return Step::next;
}

// Minimum and maximum of f32, or of the magnitudes: as redux.sync has them.
template <bool kMax, bool kAbs, bool kNan>
uint32_t combine_f32(uint32_t a, uint32_t b) {
  constexpr uint32_t kMask = kAbs ? 0x7fffffff : 0xffffffff;
  constexpr numeric::MinMaxOptions options{.nan = kNan};
  constexpr numeric::FloatFormat f32 = numeric::FloatFormat::f32;
  return static_cast<uint32_t>(kMax ? numeric::max(f32, a & kMask, b & kMask, options)
                                    : numeric::min(f32, a & kMask, b & kMask, options));
}

template <bool kMax>
auto reduction_of(const ptx::Instruction& instruction) -> uint32_t (*)(uint32_t, uint32_t) {
  const auto of = []<class T>(T) -> uint32_t (*)(uint32_t, uint32_t) {
    return [](uint32_t a, uint32_t b) {
      const T x = static_cast<T>(a), y = static_cast<T>(b);
      return static_cast<uint32_t>(kMax ? std::max(x, y) : std::min(x, y));
    };
  };
  const bool abs = instruction.has(Qual::abs);
  if (instruction.has(Qual::NaN))
    return abs ? combine_f32<kMax, true, true> : combine_f32<kMax, false, true>;
  if (instruction.type() == Type::f32)
    return abs ? combine_f32<kMax, true, false> : combine_f32<kMax, false, false>;
  return instruction.type() == Type::s32 ? of(int32_t{}) : of(uint32_t{});
}

// Operands: ld {d}, [taddr]{, immHalfSplitoff}, of .red {d}, d, [taddr] and so on; st [taddr]{,
// immHalfSplitoff}, {r}.
bool select_move(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const bool reduces = instruction.opcode == Opcode::tcgen05_ld_red;
  const bool loads = instruction.opcode == Opcode::tcgen05_ld || reduces;
  const size_t address_at = reduces ? 2 : loads ? 1 : 0;
  TensorMovePlan& plan = d.make_plan<TensorMovePlan>(in);
  for (const Qual qual : instruction.quals())
    if (const std::optional<TensorShape> shape =
            layout::tensor_shape(fmt::format(".{}", isa::to_string(qual))))
      plan.shape = *shape;
  const bool is_split = plan.shape == TensorShape::s16x32bx2;
  const size_t values_at = loads ? 0 : is_split ? 2 : 1;
  if (is_split)
    plan.second_half = static_cast<uint32_t>(instruction.operands[address_at + 1].bits);
  plan.packed = instruction.has(Qual::pack_16b) || instruction.has(Qual::unpack_16b);
  const auto registers = static_cast<uint32_t>(d.count(values_at));
  plan.columns = layout::columns_of(plan.shape, registers / layout::registers_of(plan.shape, 1), plan.packed);
  plan.is_row_of_lanes = plan.shape == TensorShape::s32x32b && !plan.packed;
  for (uint32_t r = 0; r < registers; ++r)
    for (uint32_t thread = 0; thread < kWarpSize; ++thread)
      if (plan.packed)
        for (const TensorCell cell : layout::packed_cells_of(plan.shape, thread, r, plan.second_half))
          plan.cells.push_back(cell);
      else
        plan.cells.push_back(layout::cell_of(plan.shape, thread, r, plan.second_half));
  for (const TensorCell cell : plan.cells) {
    plan.lanes.resize(std::max<size_t>(plan.lanes.size(), cell.column + 1));
    plan.lanes[cell.column] |= LaneMask{1} << cell.lane;
  }
  const PlacedAddress address = d.address(address_at);
  plan.offset = address.offset;
  std::vector<Slot> dsts, srcs{address.base};
  if (loads)
    d.add_dsts(dsts, values_at, Type::b32);
  else
    d.add_srcs(srcs, values_at, Type::b32);
  if (reduces) {
    plan.reduce =
        instruction.has(Qual::max) ? reduction_of<true>(instruction) : reduction_of<false>(instruction);
    dsts.push_back(d.dst(1, Type::b32));
  }
  in.handler = loads ? run_load : run_store;
  d.set_operands(in, dsts, srcs);
  return true;
}

template <Handler kHandler>
bool select_order(Decoder& d, const ptx::Instruction&, DecodedInst& in) {
  in.handler = kHandler;
  d.set_operands(in, {}, {});
  return true;
}

} // namespace

void add_tensor_move_selectors(SelectorTable& table) {
  table.add({Opcode::tcgen05_ld, Opcode::tcgen05_ld_red, Opcode::tcgen05_st}, select_move);
  table.add(Opcode::tcgen05_wait_ld, select_order<run_wait<TensorOrder::wait_ld>>);
  table.add(Opcode::tcgen05_wait_st, select_order<run_wait<TensorOrder::wait_st>>);
  table.add(Opcode::tcgen05_fence_before_thread_sync,
            select_order<run_fence<TensorOrder::before_thread_sync>>);
  table.add(Opcode::tcgen05_fence_after_thread_sync, select_order<run_fence<TensorOrder::after_thread_sync>>);
}

} // namespace lemma::vgpu
