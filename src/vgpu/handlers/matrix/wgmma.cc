// wgmma.mma_async: what each warp of a warpgroup issues, and what the operation of the four computes. Here
// the selectors of wgmma.fence, commit_group and wait_group are, too.
//
// What the ISA leaves undefined and can be seen is a fault: a warpgroup or a warp that is not complete, lanes
// or warps that disagree about the instruction, a descriptor or scale-d, a matrix outside the CTA's shared
// memory.
//
// Not here: how the warps wait for each other and for operations (wgmma_groups.h), how A and B come from
// shared memory (wgmma_matrices.h), the arithmetic (numeric/dot.h), what sparse metadata says
// (matrix_sparse.h).
//
// PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions". Tests: tests/unit/vgpu/wgmma_test.cc,
// wgmma_group_test.cc; recorded hardware bits: tests/golden, group wgmma.
#include "isa/catalogue.h"
#include "isa/form.h"
#include "isa/machine.h"
#include "isa/matrix_model.h"
#include "layout/smem_descriptor.h"
#include "numeric/dot.h"
#include "vgpu/code/decoder.h"
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/matrix/matrix_sparse.h"
#include "vgpu/handlers/matrix/wgmma_groups.h"
#include "vgpu/handlers/matrix/wgmma_matrices.h"
#include "vgpu/memory/mix.h"
#include "vgpu/memory/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::Type;
using layout::SmemDescriptor;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

constexpr int kWarpRows = 16;      // of A and D that a warp has
constexpr int kRows = 64;          // ... and a warpgroup
constexpr uint32_t kRowBytes = 32; // of A as it is stored, and of B: K elements
constexpr int kMaxColumns = 256;
constexpr int kARegisters = 4;

struct WgmmaPlan {
  // Of one operation, of two on the same accumulators as one product, and so on.
  std::vector<numeric::DotPlan> products;
  int n = 0, k = 0;
  int d_bytes = 4;  // of an element
  WgmmaMatrix a, b; // but for their descriptors
  bool a_in_registers = false;
  std::optional<SparseIndex> sparse; // A is; its metadata is the source between B's descriptor and scale-d
  // Sources: A (a descriptor, or the four registers), B's descriptor, scale-d.
  int b_source = 1, scale_source = 2;
  uint64_t flops = 0;
  std::vector<uint32_t> d_offsets; // where D's blocks lie in a frame, as numeric::DotBlocks lists them
};

namespace {

// DecodedInst::flags of a wgmma.mma_async: its warp may go on to the commit_group (lowered/wgmma.h).
constexpr uint8_t kDeferred = 1;

const WgmmaPlan& plan_of(const WgmmaOperation& operation) {
  return operation.code->plan<WgmmaPlan>(decoded(operation));
}

// --- registers ---
//
// A register has 8 rows of 16 bytes: lane l has 4 bytes of row l / 4. Registers come in pairs, for rows 0-7
// and 8-15 of one or two (`in_turn`) times 16 bytes; pair after pair along the rows.

// Calls visit(register, its place in [row / 8][16 bytes of a row], as numeric::DotBlocks has them).
template <class Visit>
void visit_blocks(int count, int in_turn, Visit visit) {
  for (int i = 0; i < count; ++i) {
    const int half = i / in_turn % 2, column = i / (2 * in_turn) * in_turn + i % in_turn;
    visit(i, half * count / 2 + column);
  }
}

// A, to rows.
void gather_a_registers(std::span<const Slot> slots, std::byte* const* bases, std::byte* tile) {
  std::byte* blocks[kARegisters];
  visit_blocks(kARegisters, 1,
               [&](int i, int place) { blocks[place] = bases[slots[i].base] + slots[i].offset; });
  for (size_t row = 0; row < kWarpRows; ++row)
    for (size_t chunk = 0; chunk < kWgmmaRowChunks; ++chunk, tile += layout::kChunkBytes)
      std::memcpy(tile, blocks[row / 8 * kWgmmaRowChunks + chunk] + row % 8 * layout::kChunkBytes,
                  layout::kChunkBytes);
}

// Takes what the metadata of a sparse A says, in the registers of the warp as they are.
void take_metadata(const Exec& x, WgmmaOperation& operation, uint32_t warp) {
  const DecodedInst& in = decoded(operation);
  const auto& plan = operation.code->plan<WgmmaPlan>(in);
  const auto indices = kWarpRows * static_cast<size_t>(plan.sparse->stored());
  operation.a_index.resize(kWarpsInGroup * indices);
  plan.sparse->decode(x.src<uint32_t>(in, plan.scale_source - 1), &operation.a_index[warp * indices]);
}

// --- issuing ---

// The 64-bit value of all lanes; false after a fault.
bool uniform(Exec& x, const DecodedInst& in, int source, const char* what, uint64_t& value) {
  const auto* lanes = x.src<uint64_t>(in, source);
  value = lanes[0];
  uint64_t difference = 0;
  for (int lane = 1; lane < kWarpSize; ++lane)
    difference |= lanes[lane] ^ value;
  for (int lane = 1; difference != 0 && lane < kWarpSize; ++lane)
    if (lanes[lane] != value) {
      x.misuse(
          in, "wgmma.warps",
          fmt::format("lanes 0 and {} give wgmma.mma_async different {}: {:#018x} and {:#018x} (undefined "
                      "behaviour)",
                      lane, what, value, lanes[lane]),
          lane);
      return false;
    }
  return true;
}

// Are all chunks of the matrix's rows in the CTA's shared memory, and written? False after a fault.
bool check_matrix(Exec& x, const DecodedInst& in, const WgmmaMatrix& matrix, int rows_of_matrix,
                  const char* name) {
  const auto count = static_cast<uint32_t>(rows_of_matrix);
  const uint64_t bits = matrix.descriptor;
  const bool mn_major = matrix.mn_major;
  const uint32_t row_chunks = matrix.row_chunks;
  const WgmmaChecks::Matrix rows{bits, row_chunks << 16 | count << 1 | uint64_t{mn_major}};
  if (x.cta->wgmma_checks.contains(rows))
    return true;
  const SmemDescriptor descriptor = SmemDescriptor::decode(bits);
  if (!mn_major && lies_in_written(*x.cta, descriptor, count, row_chunks)) {
    x.cta->wgmma_checks.insert(rows);
    return true;
  }
  const uint64_t size = x.cta->shared.size();
  const Access shared = x.find(in, isa::StateSpace::shared, kSharedReservedBytes, size - kSharedReservedBytes,
                               AccessKind::read);
  uint32_t hole = 0;
  const uint32_t depth = row_chunks * 8; // of 16-bit elements
  for (uint32_t i = 0; i < count * row_chunks; ++i) {
    const uint32_t at = mn_major ? descriptor.mn_major_chunk(i / depth, i % depth)
                                 : descriptor.k_major_chunk(i / row_chunks, i % row_chunks);
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
    if (!hole && !shared.was_written(at - kSharedReservedBytes, layout::kChunkBytes))
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
  for (const Slot& slot : x.code->dsts_of(in)) {
    const uint32_t reg = slot.reg();
    if (reg == ptx::kNone || !x.code->tracked[reg])
      continue;
    if (const LaneMask missing = ~x.frame->written[reg]; missing != 0) {
      x.uninitialized(in, std::countr_zero(missing), "register " + x.code->function->register_name(reg));
      return;
    }
  }
}

// What the warp asks for; false after a fault.
bool read_request(Exec& x, const DecodedInst& in, WgmmaOperation& request) {
  const auto& plan = x.plan<WgmmaPlan>(in);
  request.code = x.code;
  request.instruction = x.code->id_of(in);
  request.first_warp = x.warp->index;
  if (!plan.a_in_registers && !uniform(x, in, 0, "descriptors of A", request.a_descriptor))
    return false;
  if (!uniform(x, in, plan.b_source, "descriptors of B", request.b_descriptor))
    return false;
  if (plan.sparse && !plan.sparse->check(x, in, x.src<uint32_t>(in, plan.scale_source - 1)))
    return false;
  const LaneMask scale = x.pred(in, plan.scale_source);
  if (scale != 0 && scale != kAllLanes) {
    x.misuse(in, "wgmma.warps",
             fmt::format("scale-d is true in lanes {:#010x} and false in the others: all lanes must agree "
                         "(undefined behaviour)",
                         scale));
    return false;
  }
  request.accumulates = scale != 0;
  return true;
}

// Does the warp ask for what another warp of its group has issued under this number? Else a fault.
bool agrees(Exec& x, const DecodedInst& in, const WgmmaOperation& request, const WgmmaOperation& first) {
  std::string difference;
  if (first.instruction != request.instruction)
    difference =
        fmt::format("execute different instructions, at lines {} and {}",
                    place_of(*first.code, first.instruction).ptx_line, place_of(*x.code, in).ptx_line);
  else if (first.a_descriptor != request.a_descriptor)
    difference = fmt::format("give wgmma.mma_async different descriptors of A: {:#018x} and {:#018x}",
                             first.a_descriptor, request.a_descriptor);
  else if (first.b_descriptor != request.b_descriptor)
    difference = fmt::format("give wgmma.mma_async different descriptors of B: {:#018x} and {:#018x}",
                             first.b_descriptor, request.b_descriptor);
  else if (first.accumulates != request.accumulates)
    difference = fmt::format("give wgmma.mma_async different scale-d: {} and {}", first.accumulates,
                             request.accumulates);
  if (difference.empty())
    return true;
  x.misuse(in, "wgmma.warps",
           fmt::format("warps {} and {} of a warpgroup {} (undefined behaviour)", first.first_warp,
                       request.first_warp, difference));
  return false;
}

// AsyncMode::random: is the operation executed when it is issued, with those before it, and not when it is
// waited for?
bool runs_early(const Exec& x, uint64_t number) {
  return mix(x.launch->config.seed ^ mix(x.cta->linear_id) ^ mix(x.warp->index / kWarpsInGroup + 1) ^
             number) &
         1;
}

// Adds the warp to the operation of its number. Null after a fault.
WgmmaOperation* join_operation(Exec& x, const DecodedInst& in, const WgmmaOperation& request) {
  Warpgroup& group = warpgroup_of(x);
  const uint64_t number = x.warp->wgmma.issued;
  if (number == group.first + group.operations.size())
    group.operations.push_back(request);
  WgmmaOperation& operation = group.operation(number);
  if (!agrees(x, in, request, operation))
    return nullptr;
  ++operation.issued;
  WgmmaOperation::Part& part = operation.parts[place_in_group(x)];
  const auto& plan = x.plan<WgmmaPlan>(in);
  const uint32_t place = place_in_group(x);
  if (plan.sparse)
    take_metadata(x, operation, place);
  bool takes_a = plan.a_in_registers;
  if (x.launch->config.async != AsyncMode::eager) {
    part.view = view_of_frame(x);
    take_moves(x, in, *part.view);
    // Accumulators in flight, in front of a fence: ptxas does not see that they are to be waited for.
    takes_a &= are_in_flight(x, registers_of_a(operation), x.warp->wgmma.fenced);
  } else {
    part.frame = x.bases[0];
  }
  if (takes_a) {
    take_a(x, operation, place, x.bases[0]);
    operation.took_a[place] = true;
  }
  return &operation;
}

SharedMatrix watched_matrix(const WgmmaMatrix& matrix, uint64_t descriptor, int rows) {
  return {.descriptor = descriptor,
          .mn_major = matrix.mn_major,
          .rows = static_cast<uint32_t>(rows),
          .row_chunks = matrix.row_chunks};
}

// The warp's part of the operation, to the observer there is: which of the CTA's shared memory will be read,
// in the async proxy.
void tell_issue(Observer& observer, Exec& x, const DecodedInst& in, WgmmaOperation& operation) {
  if (!operation.watched) {
    const auto& plan = x.plan<WgmmaPlan>(in);
    operation.watched = std::make_shared<AsyncOperation>();
    AsyncOperation& watched = *operation.watched;
    watched.kind = AsyncKind::wgmma;
    watched.group = AsyncGroup::wgmma;
    watched.issuer = x.issuer(in, 0);
    watched.number = x.async().next_number();
    if (!plan.a_in_registers)
      watched.matrices[0] = watched_matrix(plan.a, operation.a_descriptor, kRows);
    watched.matrices[1] = watched_matrix(plan.b, operation.b_descriptor, plan.n);
  }
  operation.watched->parts = operation.issued;
  observer.issues(x, *operation.watched);
}

Step run_mma(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warpgroup(x, in, step))
    return step;
  WgmmaOperation request;
  if (!read_request(x, in, request))
    return Step::stopped;
  if (request.accumulates && in.checks_updated)
    check_accumulators(x, in);
  const uint64_t number = x.warp->wgmma.issued;
  WgmmaOperation* operation = join_operation(x, in, request);
  if (!operation)
    return Step::stopped;
  ++x.warp->wgmma.issued;
  x.watch.tell([&](Observer& observer) { tell_issue(observer, x, in, *operation); });
  const bool is_late = x.launch->config.async != AsyncMode::eager;
  if (operation->issued == kWarpsInGroup) {
    const auto& plan = x.plan<WgmmaPlan>(in);
    if (!plan.a_in_registers && !check_matrix(x, in, plan.a.at(request.a_descriptor), kRows, "A"))
      return Step::stopped;
    if (!check_matrix(x, in, plan.b.at(request.b_descriptor), plan.n, "B"))
      return Step::stopped;
    if (operation->watched && !is_late) // who watches is told of each by itself
      execute_operations(x, number + 1);
    else if (x.launch->config.async == AsyncMode::random && runs_early(x, number))
      execute_operations(x, number + 1);
  }
  const bool ends_run = number % kWgmmaRun == kWgmmaRun - 1;
  if (ends_run && is_late && !complete_operations(x, in, number + 1 - kWgmmaRun))
    return Step::stopped;
  if (!ends_run && in.flags == kDeferred)
    return Step::next;
  return meet(x, in);
}

// --- executing ---

// Is `next`, the one after `operation`, on the same accumulators, and else alike, so that both are one
// product that is twice as deep?
bool continues(const WgmmaOperation& operation, const WgmmaOperation& next) {
  const WgmmaPlan &of_a = plan_of(operation), &of_b = plan_of(next);
  if (operation.watched || !next.accumulates || operation.code != next.code)
    return false;
  for (uint32_t warp = 0; warp < kWarpsInGroup; ++warp) {
    const WgmmaOperation::Part &part = operation.parts[warp], &other = next.parts[warp];
    // A of a view is taken when the operation executes, and not before.
    if (part.registers() != other.registers() || (part.view && of_a.a_in_registers))
      return false;
  }
  return &of_a == &of_b ||
         (of_a.n == of_b.n && of_a.k == of_b.k && of_a.products[0].model() == of_b.products[0].model() &&
          !of_b.sparse && of_a.a_in_registers == of_b.a_in_registers && of_a.b == of_b.b &&
          of_a.d_offsets == of_b.d_offsets);
}

// The operation's A, 64 rows of 32 bytes, `stride` apart.
void put_a(const WgmmaOperation& operation, const std::byte* shared, std::byte* rows, size_t stride) {
  const WgmmaPlan& plan = plan_of(operation);
  if (!plan.a_in_registers)
    return gather_rows(plan.a.at(operation.a_descriptor), shared, rows, stride);
  for (size_t row = 0; row < kRows; ++row)
    std::memcpy(rows + row * stride, &operation.a[row * kRowBytes], kRowBytes);
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
  for (const Qual qual : instruction.quals())
    if (!shape)
      shape = isa::matrix_shape(isa::to_string(qual));
  const bool sparse = instruction.has(Qual::sp);
  const size_t scale = sparse ? 5 : 3; // the operand scale-d: after B's descriptor, metadata and selector
  if (!shape || operands.size() <= scale)
    return false;
  auto& plan = decoder.make_plan<WgmmaPlan>(in);
  plan.n = (*shape)[1];
  plan.k = (*shape)[2];
  plan.flops = 2ull * kRows * static_cast<uint64_t>(plan.n) * static_cast<uint64_t>(plan.k);
  if (sparse) {
    // The ISA asks for no order of the indices here.
    plan.sparse =
        SparseIndex(plan.k, isa::bits_of(instruction.type(1)), static_cast<int>(operands[4].bits), false);
    plan.b.row_chunks = kWgmmaSparseRowChunks;
  }
  const auto machine = isa::arithmetic_of(decoder.program().arch().sm);
  const auto model = machine ? isa::matrix_model(*instruction.form()->matrix, instruction.quals(),
                                                 instruction.types(), *machine)
                             : std::nullopt;
  if (!model)
    return false;
  plan.products = numeric::make_chain(
      model->dot, {.m = kRows, .n = plan.n, .k = plan.sparse ? plan.sparse->stored() : plan.k, .k_b = plan.k},
      {.blocks = numeric::DotBlocks::outputs});
  plan.d_bytes = instruction.type(0) == Type::f16 ? 2 : 4;
  plan.a_in_registers = operands[1].kind == OperandKind::vector;
  std::vector<Slot> dsts, srcs;
  decoder.add_dsts(dsts, 0, Type::b32);
  decoder.add_srcs(srcs, 1, plan.a_in_registers ? Type::b32 : Type::b64);
  plan.b_source = static_cast<int>(srcs.size());
  srcs.push_back(decoder.src(2, Type::b64));
  if (sparse)
    srcs.push_back(decoder.src(3, Type::b32));
  plan.scale_source = static_cast<int>(srcs.size());
  srcs.push_back(decoder.src(scale, Type::pred));
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
  in.flags = decoder.notes().has(lowered::Note::deferred) ? kDeferred : 0;
  in.updates = true;
  decoder.code().has_wgmma = true;
  decoder.set_operands(in, dsts, srcs);
  plan.d_offsets.resize(dsts.size());
  visit_blocks(static_cast<int>(dsts.size()), plan.d_bytes == 4 ? 2 : 1, [&](int i, int place) {
    plan.d_offsets[static_cast<size_t>(place)] = dsts[static_cast<size_t>(i)].offset;
  });
  return true;
}

bool select_ordering(Decoder& decoder, const Instruction& instruction, DecodedInst& in) {
  in.handler = instruction.opcode == Opcode::wgmma_fence          ? run_wgmma_fence
               : instruction.opcode == Opcode::wgmma_commit_group ? run_wgmma_commit
                                                                  : run_wgmma_wait;
  if (instruction.opcode == Opcode::wgmma_wait_group)
    in.imm = static_cast<int64_t>(instruction.operands[0].bits);
  decoder.set_operands(in, {}, {});
  return true;
}

} // namespace

std::span<const Slot> registers_of_a(const WgmmaOperation& operation) {
  const DecodedInst& in = decoded(operation);
  return operation.code->srcs_of(in).first(operation.code->plan<WgmmaPlan>(in).a_in_registers ? kARegisters
                                                                                              : size_t{0});
}

void take_a(const Exec& x, WgmmaOperation& operation, uint32_t warp, std::byte* registers) {
  const DecodedInst& in = decoded(operation);
  std::byte* const bases[2] = {registers, x.bases[1]};
  constexpr size_t kBytes = kWarpRows * kRowBytes;
  operation.a.resize(kWarpsInGroup * kBytes);
  gather_a_registers(operation.code->srcs_of(in), bases, &operation.a[warp * kBytes]);
  negate(&operation.a[warp * kBytes], kBytes, operation.code->plan<WgmmaPlan>(in).a.negate);
}

uint64_t chain_from(Warpgroup& group, uint64_t first, uint64_t end) {
  const WgmmaOperation& operation = group.operation(first);
  const uint64_t longest = plan_of(operation).products.size();
  uint64_t length = 1;
  while (length < longest && first + length < end && continues(operation, group.operation(first + length)))
    ++length;
  return length;
}

void execute_chain(Exec& x, Warpgroup& group, uint64_t first, uint64_t length) {
  WgmmaOperation& operation = group.operation(first);
  const DecodedInst& in = decoded(operation);
  const auto& plan = operation.code->plan<WgmmaPlan>(in);
  const std::byte* shared = x.cta->async_read(0);
  std::byte* blocks[kWarpsInGroup * kMaxColumns / 2];
  for (uint32_t warp = 0; warp < kWarpsInGroup; ++warp) {
    std::byte* frame = operation.parts[warp].registers();
    if (plan.a_in_registers && !operation.took_a[warp])
      take_a(x, operation, warp, frame);
    std::byte** of_warp = blocks + warp * plan.d_offsets.size();
    for (size_t i = 0; i < plan.d_offsets.size(); ++i)
      of_warp[i] = frame + plan.d_offsets[i];
  }
  alignas(64) std::byte a[kRows * kRowBytes * numeric::kMostInChain];
  uint64_t b_descriptors[numeric::kMostInChain];
  for (uint64_t i = 0; i < length; ++i) {
    const WgmmaOperation& part = group.operation(first + i);
    b_descriptors[i] = part.b_descriptor;
    put_a(part, shared, a + i * kRowBytes, length * kRowBytes);
  }
  const numeric::DotPlan& product = plan.products[length - 1];
  const WgmmaColumns b =
      columns_of(plan.b, {b_descriptors, length}, shared,
                 plan.d_bytes == 4 ? ColumnOrder::even_first : ColumnOrder::as_is, product);
  const numeric::DotTile tile{.a = a,
                              .b = b.tile,
                              .c = operation.accumulates ? blocks : nullptr,
                              .d = blocks,
                              .a_index = plan.sparse ? operation.a_index.data() : nullptr,
                              .arranged_b = b.arranged};
  const MatrixOutputs outputs = numeric::dot(product, tile, x.dot_scratch);
  for (uint64_t i = 0; i < length; ++i)
    x.stats.matrix_outputs += outputs;
  x.stats.matrix_flops += length * plan.flops;
  if (operation.watched) [[unlikely]] {
    operation.watched->state = AsyncState::source_read;
    x.watch.tell(&Observer::reads_source, *operation.watched);
    operation.watched->state = AsyncState::done;
    x.watch.tell(&Observer::completes, *operation.watched);
  }
}

void add_wgmma_selectors(SelectorTable& table) {
  table.add(Opcode::wgmma_mma_async, select_mma);
  table.add({Opcode::wgmma_fence, Opcode::wgmma_commit_group, Opcode::wgmma_wait_group}, select_ordering);
}

} // namespace lemma::vgpu
