// tcgen05.mma: what a thread asks for, and what is checked of it.
//
// An operation of tcgen05 runs after those that its thread has issued before: that is one of the orders that
// the PTX ISA allows, for it orders only some of them. What the ISA leaves undefined and can be seen is a
// fault: a field of a descriptor, a matrix outside the CTA's shared memory, columns that are not the CTA's.
//
// Not here: what a product computes (async/tensor_mma.h), when operations run (async/async.h), products that
// are multiplied together (tensor_chain.h).
//
// PTX ISA: "tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp". Tests:
// tests/unit/vgpu/tensor_mma_test.cc and those that async/tensor_mma.h names.
#include "vgpu/async/tensor_mma.h"

#include "isa/machine.h"
#include "isa/matrix_model.h"
#include "layout/sparse.h"
#include "layout/tensor_metadata.h"
#include "layout/tensor_operands.h"
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/matrix/wgmma_matrices.h"
#include "vgpu/handlers/memory/async_operands.h"
#include "vgpu/handlers/tensor/tensor_chain.h"
#include "vgpu/handlers/tensor/tensor_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::Type;
using layout::DataPath;
using layout::TensorAddress;
using layout::TensorInstructionDescriptor;
using layout::TensorSmemDescriptor;

struct TensorMmaPlan {
  layout::TensorKind kind = layout::TensorKind::f16;
  layout::TensorInstruction instruction;
  numeric::Arch machine{};
  int sm = 0;                         // the machine
  int64_t d_offset = 0, a_offset = 0; // of the addresses
  int64_t a_scales_offset = 0, b_scales_offset = 0, metadata_offset = 0;
  // Sources, by their index; -1: there is none.
  int disable_source = -1, a_scales_source = -1, b_scales_source = -1, mask_source = -1, metadata_source = -1;
  uint32_t disable_words = 0;
  int scale_d = 0; // scale-input-d
  // The products that were asked for, by instruction descriptor.
  mutable std::mutex mutex;
  mutable std::map<uint32_t, TensorProduct> products;
};

namespace {

// DecodedInst::flags: its product may be left for the next one.
constexpr uint8_t kLeavesProduct = 1;

// Sources that every instruction has.
enum : int { kD, kA, kB, kDescriptor, kEnable };

// Null after a fault.
const TensorProduct* find_product(Exec& x, const DecodedInst& in, uint32_t bits, int lane) {
  const auto& plan = x.plan<TensorMmaPlan>(in);
  const std::lock_guard lock(plan.mutex);
  if (const auto found = plan.products.find(bits); found != plan.products.end())
    return &found->second;
  const auto descriptor = TensorInstructionDescriptor::decode(bits, plan.kind);
  std::optional<std::string> problem = layout::wrong(descriptor, plan.instruction);
  const std::optional<DataPath> path =
      layout::data_path(descriptor.m, plan.instruction.cta_group, plan.instruction.ws, plan.instruction.sp);
  if (!problem && descriptor.k96 && plan.sm != isa::kSmWithK96)
    problem = fmt::format(
        "instruction descriptor {:#010x}: size of K (bit 31) is 1, K = 96; legal on sm_{}: 0, and "
        "1 on sm_{}a alone",
        bits, plan.sm, isa::kSmWithK96);
  if (!problem && !path)
    problem = fmt::format("instruction descriptor {:#010x}: no data path has M = {}", bits, descriptor.m);
  if (problem) {
    x.misuse(in, "tcgen05.descriptor", *problem + " (undefined behaviour)", lane);
    return nullptr;
  }
  const uint32_t scales = layout::scales_of(descriptor, plan.instruction.scale_vec);
  std::optional<TensorProduct> product = make_tensor_product(descriptor, *path, scales, plan.machine);
  if (!product) {
    x.fault(in, FaultKind::unsupported,
            fmt::format(
                "tcgen05.mma of the instruction descriptor {:#010x}: its arithmetic on this machine is not "
                "known",
                bits),
            lane);
    return nullptr;
  }
  return &plan.products.emplace(bits, std::move(*product)).first->second;
}

// The chunks of a matrix, once for all of its products. False after a fault.
bool check_shared(Exec& x, const DecodedInst& in, Cta& cta, const TensorShared& matrix, std::string_view name,
                  int lane) {
  const WgmmaChecks::Matrix known{matrix.descriptor.bits,
                                  uint64_t{matrix.row_chunks} << 40 | uint64_t{matrix.element_bytes} << 32 |
                                      matrix.first << 16 | matrix.rows << 1 | uint32_t{matrix.mn_major}};
  if (cta.wgmma_checks.contains(known))
    return true;
  if (!matrix.mn_major && !matrix.descriptor.leading_is_address && matrix.first == 0 &&
      lies_in_written(cta, matrix.chunks, matrix.rows, matrix.row_chunks)) {
    cta.wgmma_checks.insert(known);
    return true;
  }
  const uint32_t first = matrix.first_chunk();
  const std::optional<bool> all_written =
      check_chunks(x, in, cta,
                   {.descriptor = matrix.descriptor,
                    .count = matrix.end_chunk() - first,
                    .chunk_at = [&](uint32_t i) { return matrix.chunk(first + i); },
                    .name = name},
                   lane);
  if (all_written.value_or(false))
    cta.wgmma_checks.insert(known);
  return all_written.has_value();
}

// `matrix` has its size already; its descriptor is `bits`. False after a fault.
bool find_shared(Exec& x, const DecodedInst& in, const TensorMma& mma, uint64_t bits, TensorShared& matrix,
                 std::string_view name, int lane) {
  matrix.descriptor = TensorSmemDescriptor::decode(bits);
  matrix.element_bytes = mma.product->element_bytes;
  if (const auto problem = layout::wrong(
          matrix.descriptor, {.operand = name,
                              .k_bytes = matrix.row_chunks * layout::kChunkBytes,
                              .mn_major = matrix.mn_major,
                              .tf32 = mma.product->descriptor.kind == layout::TensorKind::tf32})) {
    x.misuse(in, "tcgen05.descriptor", *problem + " (undefined behaviour)", lane);
    return false;
  }
  if (const auto chunks = matrix.descriptor.as_wgmma())
    matrix.chunks = *chunks;
  return std::ranges::all_of(mma.ctas,
                             [&](Cta* cta) { return check_shared(x, in, *cta, matrix, name, lane); });
}

// Data paths c and f: D, and A with it, has 16 of each 32 lanes.
bool has_halves(const TensorProduct& product) {
  return product.row_lanes.size() > kWarpSize / 2 && product.row_lanes[kWarpSize / 2] == kWarpSize;
}

// "tensor memory of D at lane 3, column 5", and whose, where it is the peer's.
void report_unwritten(Exec& x, const DecodedInst& in, const Cta& cta, std::string_view name,
                      uint32_t tensor_lane, uint32_t column, int lane) {
  x.uninitialized(in, lane,
                  fmt::format("tensor memory of {} at lane {}, column {}{}", name, tensor_lane, column,
                              &cta == x.cta ? "" : fmt::format(" of the peer, CTA rank {}", cta.rank)));
}

// Counts cells of D that the product is added to and that were never written, the first of them.
void check_written(Exec& x, const DecodedInst& in, const TensorMma& mma, int lane) {
  TensorLanes lanes{};
  uint32_t of_lane = ~0u; // neighbours have the same
  for (Cta* cta : mma.ctas)
    for (const layout::TensorCell at : mma.product->columns) {
      const uint32_t column = mma.d_cell.column + at.column;
      const LaneMask* written = cta->tensor.memory->written(column);
      if (std::exchange(of_lane, at.lane) != at.lane)
        lanes = lanes_of_d(mma, at);
      for (uint32_t quarter = 0; quarter < TensorMemory::kQuarters; ++quarter)
        if (const LaneMask missing = lanes[quarter] & ~written[quarter]; missing != 0)
          return report_unwritten(x, in, *cta, "D",
                                  quarter * kWarpSize + static_cast<uint32_t>(std::countr_zero(missing)),
                                  column, lane);
    }
}

// Columns of an operand in tensor memory that begins at an address, in all of the CTAs. False after a fault.
bool check_operand(Exec& x, const DecodedInst& in, const TensorMma& mma, TensorAddress at, bool has_halves,
                   uint32_t columns, std::string_view name, int lane) {
  return check_lane(x, in, at, has_halves, name, lane) && std::ranges::all_of(mma.ctas, [&](Cta* cta) {
           return check_columns(x, in, *cta, at.column, columns, lane);
         });
}

// Where the scale factors begin, a column; those that were never written are counted. None after a fault.
std::optional<uint32_t> find_scales(Exec& x, const DecodedInst& in, const TensorMma& mma, TensorAddress at,
                                    const TensorScales& lie, std::string_view name, int lane) {
  at.lane &= layout::kScaleLaneMask;
  if (!check_operand(x, in, mma, at, false, lie.columns(), name, lane))
    return std::nullopt;
  if (x.launch->config.async != AsyncMode::eager) // they may be yet to come
    return at.column;
  for (Cta* cta : mma.ctas)
    for (uint32_t row = 0; row < lie.rows; ++row)
      for (uint32_t i = 0; i < lie.words * TensorMemory::kQuarters; ++i) {
        const uint32_t column = at.column + i / TensorMemory::kQuarters * lie.stride + row / kWarpSize,
                       quarter = i % TensorMemory::kQuarters;
        if ((cta->tensor.memory->written(column)[quarter] >> row % kWarpSize & 1) != 0)
          continue;
        report_unwritten(x, in, *cta, name, quarter * kWarpSize + row % kWarpSize, column, lane);
        return at.column;
      }
  return at.column;
}

// The zero-column mask of .ws. False after a fault.
bool read_mask(Exec& x, const DecodedInst& in, int lane, TensorMma& mma) {
  mma.mask = layout::TensorColumnMask::decode(x.src_lane(in, x.plan<TensorMmaPlan>(in).mask_source, lane));
  const TensorInstructionDescriptor& descriptor = mma.product->descriptor;
  const std::optional<std::string> problem = layout::wrong(mma.mask, descriptor.m, descriptor.max_shift);
  if (problem)
    x.misuse(in, "tcgen05.descriptor", *problem + " (undefined behaviour)", lane);
  return !problem;
}

// The metadata that is there now: what was never written is counted, and what is undefined is a fault. But
// indices of a chunk that are the same go on without --check, as those of mma.sp do (matrix_sparse.h). False
// after a fault.
bool check_metadata(Exec& x, const DecodedInst& in, const TensorMma& mma, int lane) {
  if (x.launch->config.async != AsyncMode::eager) // it may be yet to come
    return true;
  const TensorProduct& product = *mma.product;
  constexpr uint16_t kOfTwo = 1 << layout::kFirstColumn | 1 << layout::kSecondColumn;
  constexpr uint16_t kOfFour = kOfTwo | 1 << 0b1000 | 1 << 0b1100 | 1 << 0b1001 | 1 << 0b1101 | 1 << 0b0110;
  const layout::SparseChunk sparse = layout::sparse_chunk(static_cast<int>(product.metadata_bits));
  const bool is_of_two = sparse.stored == 1;
  const uint16_t legal = is_of_two ? kOfTwo : kOfFour, same = layout::same_indices(sparse);
  std::string doubtful;
  for (Cta* cta : mma.ctas)
    for (uint32_t block = 0; block < product.blocks(); ++block)
      for (uint32_t row = 0; row < product.cta_rows(); ++row)
        for (uint32_t chunk = 0; chunk < metadata_chunks(product); ++chunk) {
          const TensorMetadata at = metadata_of(mma, block, row, chunk);
          TensorMemory& memory = *cta->tensor.memory;
          if ((memory.written(at.cell.column)[at.cell.lane / kWarpSize] >> at.cell.lane % kWarpSize & 1) ==
              0) {
            report_unwritten(x, in, *cta, "the metadata", at.cell.lane, at.cell.column, lane);
            return true;
          }
          const uint32_t bits = memory.column(at.cell.column)[at.cell.lane] >> at.bit & 15;
          if ((legal >> bits & 1) != 0)
            continue;
          const std::string text = fmt::format(
              "the metadata of row {}, chunk {} of A, bits {} to {} at lane {}, column {} of tensor "
              "memory, is {:#06b}",
              row, chunk, at.bit, at.bit + 3, at.cell.lane, at.cell.column, bits);
          if ((same >> bits & 1) == 0 || x.launch->config.check) {
            x.fault(in, FaultKind::illegal_instruction, text + " (undefined behaviour)", lane,
                    {is_of_two ? "legal: 0b0100, the first of the two columns, or 0b1110, the second"
                               : "legal: 0b0100, 0b0110, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110"});
            return false;
          }
          if (doubtful.empty())
            doubtful = text;
        }
  if (!doubtful.empty())
    x.remark(in, doubtful +
                     ": the PTX ISA leaves undefined what two indices that are the same choose. In this "
                     "run both elements meet the one column; where they are zeros it makes no difference");
  return true;
}

// D lies in 16 of each 32 lanes, and this operand with it. False after a fault.
bool check_half(Exec& x, const DecodedInst& in, const TensorMma& mma, TensorAddress at, std::string_view name,
                int lane) {
  if (!has_halves(*mma.product) || at.lane == mma.d_cell.lane)
    return true;
  x.misuse(in, "tcgen05.address",
           fmt::format("{} begins at lane {} of tensor memory, and D at lane {} (undefined behaviour)", name,
                       at.lane, mma.d_cell.lane),
           lane, {"legal: the same lane"}, at.encode());
  return false;
}

// The metadata of a sparse A. False after a fault.
bool find_metadata(Exec& x, const DecodedInst& in, TensorAddress at, int lane, TensorMma& mma) {
  const TensorProduct& product = *mma.product;
  uint32_t selector = 0;
  if (layout::has_metadata_selector(product.metadata_bits)) {
    selector = product.descriptor.sparsity_selector;
    if (at.column % 2 != 0 || selector > 1) {
      x.fault(
          in, FaultKind::unsupported,
          fmt::format("metadata at column {} with the sparsity selector {}: which column that is, is known "
                      "for even columns and the selectors 0 and 1 alone",
                      at.column, selector),
          lane);
      return false;
    }
  }
  mma.metadata_cell = {at.lane, at.column + selector};
  return check_operand(x, in, mma, {at.lane, mma.metadata_cell.column}, has_halves(product),
                       layout::metadata_columns(product.metadata_bits), "the metadata", lane) &&
         check_half(x, in, mma, at, "the metadata", lane) && check_metadata(x, in, mma, lane);
}

// What one lane asks for; false after a fault.
bool read_request(Exec& x, const DecodedInst& in, int lane, TensorMma& mma) {
  const auto& plan = x.plan<TensorMmaPlan>(in);
  mma.ctas = find_ctas(x, in, static_cast<uint8_t>(plan.instruction.cta_group), lane);
  if (mma.ctas.is_empty())
    return false;
  mma.product = find_product(x, in, static_cast<uint32_t>(x.src_lane(in, kDescriptor, lane)), lane);
  if (!mma.product)
    return false;
  const TensorProduct& product = *mma.product;
  const auto address = [&](int source, int64_t offset) {
    return TensorAddress::decode(
        static_cast<uint32_t>(x.src_lane(in, source, lane) + static_cast<uint64_t>(offset)));
  };
  const TensorAddress d = address(kD, plan.d_offset);
  const bool halves = has_halves(product);
  if (!check_operand(x, in, mma, d, halves, product.d_columns, "D", lane))
    return false;
  mma.d_cell = {d.lane, d.column};
  if (plan.instruction.a_in_tensor_memory) {
    const TensorAddress a = address(kA, plan.a_offset);
    if (!check_operand(x, in, mma, a, halves, a_columns(product), "A", lane))
      return false;
    if (!check_half(x, in, mma, a, "A", lane))
      return false;
    mma.a_cell = {a.lane, a.column};
    mma.shifts_a = plan.instruction.ashift;
  } else {
    mma.a = TensorShared{.mn_major = product.descriptor.transpose_a,
                         .rows = product.cta_rows(),
                         .row_chunks = product.a_chunks};
    if (!find_shared(x, in, mma, x.src_lane(in, kA, lane), *mma.a, "a-desc", lane))
      return false;
  }
  if (plan.metadata_source >= 0 &&
      !find_metadata(x, in, address(plan.metadata_source, plan.metadata_offset), lane, mma))
    return false;
  if (plan.mask_source >= 0 && !read_mask(x, in, lane, mma))
    return false;
  mma.b = {.mn_major = product.descriptor.transpose_b,
           .first = mma.mask.shift,
           .rows = product.cta_columns,
           .row_chunks = product.b_chunks};
  if (!find_shared(x, in, mma, x.src_lane(in, kB, lane), mma.b, "b-desc", lane))
    return false;
  if (product.scales != 0) {
    const auto of_a = find_scales(x, in, mma, address(plan.a_scales_source, plan.a_scales_offset),
                                  a_scales_of(product), "scale-A", lane);
    const auto of_b = of_a ? find_scales(x, in, mma, address(plan.b_scales_source, plan.b_scales_offset),
                                         b_scales_of(product), "scale-B", lane)
                           : std::nullopt;
    if (!of_b)
      return false;
    mma.a_scales = *of_a;
    mma.b_scales = *of_b;
  }
  mma.scale_d = plan.scale_d;
  mma.accumulates = (x.pred(in, kEnable) >> lane & 1) != 0;
  constexpr uint32_t kMostWords = 2 * TensorMemory::kQuarters;
  for (uint32_t i = 0; i < std::min(plan.disable_words, kMostWords); ++i)
    mma.disabled[i / TensorMemory::kQuarters][i % TensorMemory::kQuarters] =
        static_cast<LaneMask>(x.src_lane(in, plan.disable_source + static_cast<int>(i), lane));
  return true;
}

Step run_mma(Exec& x, const DecodedInst& in) {
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    TensorMma mma;
    if (!read_request(x, in, lane, mma))
      return Step::stopped;
    x.stats.matrix_flops += mma.product->flops;
    const bool at_once = x.launch->config.async == AsyncMode::eager; // else D may be yet to come
    if (at_once && mma.accumulates)
      check_written(x, in, mma, lane);
    if (at_once && !x.watch.is_on()) {
      multiply_or_leave(x, std::move(mma), in.flags == kLeavesProduct && lanes_of(x.active) == 1);
      x.effect();
      continue;
    }
    AsyncOperation operation;
    operation.kind = AsyncKind::tensor_mma;
    operation.issuer = x.issuer(in, lane);
    operation.mma = std::make_shared<const TensorMma>(std::move(mma));
    if (!start(x, std::move(operation)))
      return Step::stopped;
  }
  return Step::next;
}

bool has_word_not_modelled(const ptx::Instruction& instruction) {
  constexpr Qual kWords[] = {Qual::collector_b_fill, Qual::collector_b_use, Qual::collector_b_lastuse,
                             Qual::collector_b_discard, Qual::decompress_lut_b};
  return std::ranges::any_of(kWords, [&](Qual word) { return instruction.has(word); });
}

// Operands: [d], a, b, of a sparse A [metadata], idesc; then of a block-scaled product the addresses of its
// scale factors, of others disable-output-lane; the predicate; and then scale-input-d or, of .ws, the
// zero-column mask.
bool select_mma(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const auto& operands = instruction.operands;
  TensorMmaPlan& plan = d.make_plan<TensorMmaPlan>(in);
  const auto words = isa::tensor_words(instruction.opcode, instruction.quals());
  const auto machine = isa::arithmetic_of(d.program().arch().sm);
  if (!words || !machine || has_word_not_modelled(instruction))
    return false;
  plan.machine = *machine;
  plan.kind = words->kind;
  plan.instruction = words->instruction;
  plan.sm = d.program().arch().sm;
  plan.instruction.a_in_tensor_memory = operands[1].kind == ptx::OperandKind::address;
  plan.instruction.ashift = instruction.has(Qual::ashift);
  std::vector<Slot> srcs;
  const auto add = [&](Slot slot) {
    srcs.push_back(slot);
    return static_cast<int>(srcs.size()) - 1;
  };
  const auto add_address = [&](size_t operand, int64_t& offset) {
    const PlacedAddress address = d.address(operand);
    offset = address.offset;
    return add(address.base);
  };
  const size_t next = plan.instruction.sp ? 5 : 4; // behind idesc
  const bool is_scaled = layout::is_block_scaled(plan.kind);
  const bool disables = !is_scaled && operands[next].kind == ptx::OperandKind::vector;
  const size_t enable = next + (is_scaled ? 2 : disables ? 1 : 0);
  add_address(0, plan.d_offset);
  if (plan.instruction.a_in_tensor_memory)
    add_address(1, plan.a_offset);
  else
    add(d.src(1, Type::b64));
  add(d.src(2, Type::b64));
  add(d.src(next - 1, Type::b32));
  add(d.src(enable, Type::pred));
  if (plan.instruction.sp)
    plan.metadata_source = add_address(3, plan.metadata_offset);
  if (is_scaled) {
    plan.a_scales_source = add_address(next, plan.a_scales_offset);
    plan.b_scales_source = add_address(next + 1, plan.b_scales_offset);
  } else if (disables) {
    plan.disable_source = static_cast<int>(srcs.size());
    plan.disable_words = static_cast<uint32_t>(d.count(next));
    d.add_srcs(srcs, next, Type::b32);
  }
  if (operands.size() > enable + 1 && plan.instruction.ws)
    plan.mask_source = add(d.src(enable + 1, Type::b64));
  else if (operands.size() > enable + 1)
    plan.scale_d = static_cast<int>(operands[enable + 1].bits);
  in.handler = run_mma;
  d.set_operands(in, {}, srcs);
  return true;
}

bool is_mma(const Code& code, const DecodedInst& in) {
  if (in.source == ptx::kNone)
    return false;
  const Opcode opcode = code.function->instructions[in.source].opcode;
  return opcode == Opcode::tcgen05_mma || opcode == Opcode::tcgen05_mma_ws;
}

// Others look at what stands in tensor memory when they are issued, beside D.
bool may_be_in_chain(const Code& code, const DecodedInst& in) {
  if (!is_mma(code, in) || in.guarded)
    return false;
  const auto& plan = code.plan<TensorMmaPlan>(in);
  return plan.metadata_source < 0 && plan.a_scales_source < 0;
}

} // namespace

bool may_leave_product(const Code& code, const DecodedInst& in) {
  return is_mma(code, in) && in.flags == kLeavesProduct;
}

void find_tensor_chains(Code& code) {
  size_t next = code.insts.size(); // the instruction that is no arithmetic behind this one
  for (size_t i = code.insts.size(); i-- > 0;) {
    DecodedInst& in = code.insts[i];
    if (in.computes)
      continue;
    if (next < code.insts.size() && may_be_in_chain(code, in) && may_be_in_chain(code, code.insts[next]))
      in.flags = kLeavesProduct;
    next = i;
  }
}

void add_tensor_mma_selectors(SelectorTable& table) {
  table.add({Opcode::tcgen05_mma, Opcode::tcgen05_mma_sp, Opcode::tcgen05_mma_ws, Opcode::tcgen05_mma_ws_sp},
            select_mma);
}

} // namespace lemma::vgpu
