// wgmma.mma_async, wgmma.fence, wgmma.commit_group, wgmma.wait_group.
//
// The four warps of a warpgroup issue on their own: each computes its 16 rows of D from its rows of A and all
// of B, as its own instructions come along. What the ISA leaves undefined and can be seen by one warp is a
// fault: a warpgroup or a warp that is not complete, lanes that disagree about a descriptor or scale-d, a
// matrix outside the CTA's shared memory.
//
// Not here: how A and B come from shared memory (wgmma_matrices.h), the arithmetic (numeric/dot.h), what
// sparse metadata says (matrix_sparse.h).
//
// PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions". Tests: tests/unit/vgpu/wgmma_test.cc; recorded
// hardware bits: tests/golden, group wgmma.
#include "isa/catalogue.h"
#include "layout/smem_descriptor.h"
#include "numeric/dot.h"
#include "vgpu/decoder.h"
#include "vgpu/handlers/matrix_sparse.h"
#include "vgpu/handlers/wgmma_matrices.h"
#include "vgpu/matrix_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;
using layout::SmemDescriptor;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

constexpr uint32_t kWarpsInGroup = 4;
constexpr int kRows = 16;          // of A and D that a warp has
constexpr uint32_t kRowBytes = 32; // of A as it is stored, and of B: K elements
constexpr int kMaxColumns = 256;
constexpr int kARegisters = 4;

struct WgmmaPlan {
  numeric::DotModel model;
  int n = 0, k = 0;
  int d_bytes = 4;  // of an element
  WgmmaMatrix a, b; // but for their descriptors
  bool a_in_registers = false;
  std::optional<SparseIndex> sparse; // A is; its metadata is the source between B's descriptor and scale-d
  // Sources: A (a descriptor, or the four registers), B's descriptor, scale-d.
  int b_source = 1, scale_source = 2;
  uint64_t flops = 0; // of a warp
};

const WgmmaPlan& plan_of(const DecodedInst& in) {
  return *static_cast<const WgmmaPlan*>(in.extra);
}

// --- registers ---
//
// A register has 8 rows of 16 bytes: lane l has 4 bytes of row l / 4. Registers come in pairs, for rows 0-7
// and 8-15 of one or two (`in_turn`) times 16 bytes; pair after pair along the rows.

// blocks [row / 8][16 bytes of a row], as numeric::DotTile has them.
void find_blocks(const Slot* slots, int count, int in_turn, std::byte* registers, std::byte** blocks) {
  for (int i = 0; i < count; ++i) {
    const int half = i / in_turn % 2, column = i / (2 * in_turn) * in_turn + i % in_turn;
    blocks[half * count / 2 + column] = registers + slots[i].offset;
  }
}

// A, to rows.
void gather_a_registers(const Slot* slots, std::byte* registers, std::byte* tile) {
  std::byte* blocks[kARegisters];
  find_blocks(slots, kARegisters, 1, registers, blocks);
  for (size_t row = 0; row < kRows; ++row)
    for (size_t chunk = 0; chunk < kWgmmaRowChunks; ++chunk, tile += layout::kChunkBytes)
      std::memcpy(tile, blocks[row / 8 * kWgmmaRowChunks + chunk] + row % 8 * layout::kChunkBytes,
                  layout::kChunkBytes);
}

// --- executing ---

// Computes the operation on the registers at `registers`, laid out as the frame.
void execute(Exec& x, const WgmmaOperation& operation, std::byte* registers) {
  const DecodedInst& in = *operation.instruction;
  const WgmmaPlan& plan = plan_of(in);
  const std::byte* shared = x.cta->async_read(0);
  const uint32_t first_row = x.warp->index % kWarpsInGroup * kRows;
  alignas(64) std::byte a[kRows * kRowBytes];
  if (plan.a_in_registers) {
    gather_a_registers(in.ops + in.dst_count, registers, a);
    negate(a, sizeof a, plan.a.negate);
  } else {
    gather_rows(plan.a.at(operation.a_descriptor), shared, first_row, kRows, a);
  }
  std::byte* blocks[kMaxColumns / 2];
  find_blocks(in.ops, in.dst_count, plan.d_bytes == 4 ? 2 : 1, registers, blocks);
  numeric::DotTile tile{
      .m = kRows, .n = plan.n, .k = plan.k, .a = a, .blocks = blocks, .blocks_hold_c = operation.accumulates};
  uint8_t a_index[kRows * kRowBytes];
  if (plan.sparse) {
    // Checked when it was issued; what the register has become since is the program's mistake, but in range.
    const Slot& metadata = in.ops[in.dst_count + plan.scale_source - 1];
    plan.sparse->decode(reinterpret_cast<const uint32_t*>(registers + metadata.offset), a_index);
    tile.k = plan.sparse->stored();
    tile.k_b = plan.k;
    tile.a_index = a_index;
  }
  const WgmmaColumns b =
      columns_of(plan.b.at(operation.b_descriptor), shared,
                 plan.d_bytes == 4 ? ColumnOrder::even_first : ColumnOrder::as_is, plan.model, tile);
  tile.b = b.tile;
  tile.arranged_b = b.arranged;
  x.stats.matrix_paths += numeric::dot(plan.model, tile);
  x.stats.matrix_flops += plan.flops;
}

// True when the warp is whole and part of a whole warpgroup; else the handler returns `step`.
bool whole_warpgroup(Exec& x, const DecodedInst& in, Step& step) {
  if (!x.converge_all(in)) {
    step = Step::reschedule;
    return false;
  }
  const auto name = isa::to_string(x.ptx_instruction(in).opcode);
  if (x.active != kAllLanes) {
    step =
        x.fault(in, FaultKind::illegal_instruction,
                fmt::format("{} needs all 32 threads of the warp, but only those of mask {:#010x} execute it "
                            "(undefined behaviour)",
                            name, x.active));
    return false;
  }
  const uint32_t first = x.warp->index / kWarpsInGroup * kWarpsInGroup;
  if (first + kWarpsInGroup > x.cta->warps.size()) {
    step =
        x.fault(in, FaultKind::illegal_instruction,
                fmt::format("{} needs a warpgroup, four warps of which the first has a multiple of 4 as its "
                            "index: warp {} is in an incomplete one, for the CTA has {} warps",
                            name, x.warp->index, x.cta->warps.size()));
    return false;
  }
  return true;
}

// The 64-bit value of all lanes; false after a fault.
bool uniform(Exec& x, const DecodedInst& in, int source, const char* what, uint64_t& value) {
  const auto* lanes = x.src<uint64_t>(in, source);
  value = lanes[0];
  for (int lane = 1; lane < kWarpSize; ++lane)
    if (lanes[lane] != value) {
      x.fault(
          in, FaultKind::illegal_instruction,
          fmt::format("lanes 0 and {} give wgmma.mma_async different {}: {:#018x} and {:#018x} (undefined "
                      "behaviour)",
                      lane, what, value, lanes[lane]),
          lane);
      return false;
    }
  return true;
}

// Are all chunks of the matrix in the CTA's shared memory, and written? False after a fault.
bool check_matrix(Exec& x, const DecodedInst& in, const WgmmaMatrix& matrix, uint32_t first, uint32_t count,
                  const char* name) {
  const uint64_t bits = matrix.descriptor;
  const bool mn_major = matrix.mn_major;
  const uint32_t row_chunks = matrix.row_chunks;
  const WgmmaChecks::Matrix rows{bits,
                                 uint64_t{first} << 32 | row_chunks << 16 | count << 1 | uint64_t{mn_major}};
  if (x.cta->wgmma_checks.contains(rows))
    return true;
  const SmemDescriptor descriptor = SmemDescriptor::decode(bits);
  const uint64_t size = x.cta->shared.size();
  uint32_t hole = 0;
  const uint32_t depth = row_chunks * 8; // of 16-bit elements
  for (uint32_t i = 0; i < count * row_chunks; ++i) {
    const uint32_t at = mn_major ? descriptor.mn_major_chunk(first / 8 + i / depth, i % depth)
                                 : descriptor.k_major_chunk(first + i / row_chunks, i % row_chunks);
    if (at < kSharedReservedBytes || at + layout::kChunkBytes > size) {
      x.fault_at(
          in, FaultKind::out_of_bounds,
          fmt::format(
              "the descriptor of {} ({:#018x}) leads to shared address {:#x}, outside the CTA's shared "
              "memory ({:#x} to {:#x})",
              name, bits, at, kSharedReservedBytes, size),
          -1, at,
          {fmt::format(
              "start address {:#x}, leading dimension byte offset {}, stride dimension byte offset {}, "
              "swizzle {}",
              descriptor.start, descriptor.leading, descriptor.stride,
              descriptor.swizzle == layout::Swizzle::none
                  ? std::string("none")
                  : fmt::format("{}B", line_bytes(descriptor.swizzle)))});
      return false;
    }
    static_assert(layout::kChunkBytes == sizeof(uint64_t) * 2);
    uint64_t written[2];
    std::memcpy(written, x.cta->shared_written.data() + at, sizeof written);
    if (!hole && (written[0] & written[1]) != 0x0101010101010101)
      hole = at;
  }
  if (hole)
    x.uninitialized(in, -1, fmt::format("shared memory of {} at {:#x}", name, hole));
  else
    x.cta->wgmma_checks.insert(rows);
  return true;
}

// Reports the first accumulator that some lane has not written.
void check_accumulators(Exec& x, const DecodedInst& in) {
  for (int i = 0; i < in.dst_count; ++i) {
    const uint32_t reg = in.ops[i].reg;
    if (reg == ptx::kNone || !x.code->tracked[reg])
      continue;
    if (const LaneMask missing = ~x.frame->written[reg]; missing != 0) {
      x.uninitialized(in, std::countr_zero(missing), "register " + x.code->function->registers[reg].name);
      return;
    }
  }
}

Step run_mma(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warpgroup(x, in, step))
    return step;
  const WgmmaPlan& plan = plan_of(in);
  WgmmaOperation operation{.instruction = &in};
  if (!plan.a_in_registers) {
    const uint32_t first_row = x.warp->index % kWarpsInGroup * kRows;
    if (!uniform(x, in, 0, "descriptors of A", operation.a_descriptor) ||
        !check_matrix(x, in, plan.a.at(operation.a_descriptor), first_row, kRows, "A"))
      return Step::stopped;
  }
  if (!uniform(x, in, plan.b_source, "descriptors of B", operation.b_descriptor) ||
      !check_matrix(x, in, plan.b.at(operation.b_descriptor), 0, static_cast<uint32_t>(plan.n), "B"))
    return Step::stopped;
  if (plan.sparse && !plan.sparse->check(x, in, x.src<uint32_t>(in, plan.scale_source - 1)))
    return Step::stopped;
  const LaneMask scale = x.pred(in, plan.scale_source);
  if (scale != 0 && scale != kAllLanes)
    return x.fault(
        in, FaultKind::illegal_instruction,
        fmt::format("scale-d is true in lanes {:#010x} and false in the others: all lanes must agree "
                    "(undefined behaviour)",
                    scale));
  operation.accumulates = scale != 0;
  if (operation.accumulates && in.checks_updated)
    check_accumulators(x, in);
  if (x.launch->config.async == AsyncMode::eager)
    execute(x, operation, x.bases[0]);
  else
    x.warp->wgmma.open.push_back(operation);
  return Step::next;
}

// --- in flight ---

// Registers written since become visible to wgmma: all but the accumulators of operations in flight.
Step run_fence(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warpgroup(x, in, step))
    return step;
  if (x.launch->config.async == AsyncMode::eager)
    return Step::next;
  WgmmaState& state = x.warp->wgmma;
  std::vector<std::byte> view(x.bases[0], x.bases[0] + x.code->frame_bytes);
  const auto keep = [&](const WgmmaOperation& operation) {
    const DecodedInst& mma = *operation.instruction;
    for (int i = 0; i < mma.dst_count; ++i)
      std::copy_n(state.view.begin() + mma.ops[i].offset, 4 * kWarpSize, view.begin() + mma.ops[i].offset);
  };
  if (state.frame == x.frame) {
    for (const auto& group : state.committed)
      std::for_each(group.begin(), group.end(), keep);
    std::for_each(state.open.begin(), state.open.end(), keep);
  }
  state.frame = x.frame;
  state.view = std::move(view);
  return Step::next;
}

Step run_commit(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warpgroup(x, in, step))
    return step;
  WgmmaState& state = x.warp->wgmma;
  if (x.launch->config.async == AsyncMode::late)
    state.committed.push_back(std::exchange(state.open, {}));
  return Step::next;
}

Step run_wait(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warpgroup(x, in, step))
    return step;
  WgmmaState& state = x.warp->wgmma;
  if (state.committed.size() > static_cast<uint64_t>(in.imm) && state.frame != x.frame) {
    // No wgmma.fence in this function: wgmma has never seen these registers.
    state.frame = x.frame;
    state.view.assign(x.code->frame_bytes, std::byte{0xcb});
  }
  while (state.committed.size() > static_cast<uint64_t>(in.imm)) {
    for (const WgmmaOperation& operation : state.committed.front()) {
      execute(x, operation, state.view.data());
      const DecodedInst& mma = *operation.instruction;
      for (int i = 0; i < mma.dst_count; ++i)
        std::memcpy(x.bases[0] + mma.ops[i].offset, state.view.data() + mma.ops[i].offset, 4 * kWarpSize);
    }
    state.committed.erase(state.committed.begin());
  }
  return Step::next;
}

// --- decoding ---

uint32_t sign_bits(Type type) {
  switch (isa::bits_of(type)) {
  case 8:
    return 0x80808080;
  case 16:
    return 0x80008000;
  default:
    return 0x80000000;
  }
}

bool select_mma(Decoder& decoder, const Instruction& instruction, DecodedInst& in) {
  const auto& operands = instruction.operands;
  std::optional<std::array<int, 3>> shape;
  for (const Qual qual : instruction.quals)
    if (!shape)
      shape = isa::matrix_shape(isa::to_string(qual));
  const bool sparse = instruction.has(Qual::sp);
  const size_t scale = sparse ? 5 : 3; // the operand scale-d: after B's descriptor, metadata and selector
  if (!shape || operands.size() <= scale)
    return false;
  auto& plan = *decoder.make_extra<WgmmaPlan>(in);
  plan.n = (*shape)[1];
  plan.k = (*shape)[2];
  plan.flops = 2ull * kRows * static_cast<uint64_t>(plan.n) * static_cast<uint64_t>(plan.k);
  if (sparse) {
    // The ISA asks for no order of the indices here.
    plan.sparse =
        SparseIndex(plan.k, isa::bits_of(instruction.type(1)), static_cast<int>(operands[4].bits), false);
    plan.b.row_chunks = kWgmmaSparseRowChunks;
  }
  const isa::MatrixRow* row = isa::find_row(instruction.opcode, instruction.quals, instruction.types);
  const auto machine = numeric::arch_of_target(decoder.program().arch().sm);
  const auto model =
      row && machine ? matrix_model(*row, instruction.quals, instruction.types, *machine) : std::nullopt;
  if (!model)
    return false;
  plan.model = model->dot;
  plan.d_bytes = instruction.type(0) == Type::f16 ? 2 : 4;
  plan.a_in_registers = operands[1].kind == OperandKind::vector;
  std::vector<Slot> dsts, srcs;
  for (const Operand& element : operands[0].elems)
    dsts.push_back(decoder.dst(element, Type::b32));
  if (plan.a_in_registers)
    for (const Operand& element : operands[1].elems)
      srcs.push_back(decoder.src(element, Type::b32));
  else
    srcs.push_back(decoder.src(operands[1], Type::b64));
  plan.b_source = static_cast<int>(srcs.size());
  srcs.push_back(decoder.src(operands[2], Type::b64));
  if (sparse)
    srcs.push_back(decoder.src(operands[3], Type::b32));
  plan.scale_source = static_cast<int>(srcs.size());
  srcs.push_back(decoder.src(operands[scale], Type::pred));
  // imm-scale-a, imm-scale-b, then imm-trans-a (of a matrix in shared memory) and imm-trans-b.
  const auto immediate = [&](size_t index) {
    return index < operands.size() ? static_cast<int64_t>(operands[index].bits) : 0;
  };
  if (immediate(scale + 1) == -1)
    plan.a.negate = sign_bits(instruction.type(1));
  if (immediate(scale + 2) == -1)
    plan.b.negate = sign_bits(instruction.type(2));
  size_t next = scale + 3;
  if (!plan.a_in_registers)
    plan.a.mn_major = immediate(next++) == 1;
  plan.b.mn_major = immediate(next) == 1;
  in.handler = run_mma;
  in.updates = true;
  decoder.set_operands(in, dsts, srcs);
  return true;
}

bool select_ordering(Decoder& decoder, const Instruction& instruction, DecodedInst& in) {
  in.handler = instruction.opcode == Opcode::wgmma_fence          ? run_fence
               : instruction.opcode == Opcode::wgmma_commit_group ? run_commit
                                                                  : run_wait;
  if (instruction.opcode == Opcode::wgmma_wait_group)
    in.imm = static_cast<int64_t>(instruction.operands[0].bits);
  decoder.set_operands(in, {}, {});
  return true;
}

} // namespace

void add_wgmma_selectors(SelectorTable& table) {
  table.add(Opcode::wgmma_mma_async, select_mma);
  table.add({Opcode::wgmma_fence, Opcode::wgmma_commit_group, Opcode::wgmma_wait_group}, select_ordering);
}

} // namespace lemma::vgpu
