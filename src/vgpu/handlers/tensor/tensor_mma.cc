// tcgen05.mma, tcgen05.cp and tcgen05.commit: what a thread issues.
//
// An operation runs after those that its thread has issued before: that is one of the orders that the PTX ISA
// allows, for it orders only some of them. What the ISA leaves undefined and can be seen is a fault: a field
// of a descriptor, a matrix outside the CTA's shared memory, columns that are not the CTA's.
//
// Not here: what a product computes (async/tensor_mma.h), when operations run (async/async.h).
//
// PTX ISA: "tcgen05.mma", "tcgen05.commit". Tests: tests/unit/vgpu/tensor_mma_test.cc.
#include "vgpu/async/tensor_mma.h"
#include "vgpu/async/tensor_cp.h"

#include "isa/machine.h"
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/memory/async_operands.h"
#include "vgpu/handlers/tensor/tensor_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

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
  int64_t d_offset = 0, a_offset = 0; // of the addresses
  int64_t a_scales_offset = 0, b_scales_offset = 0;
  uint32_t disable_words = 0;
  int scale_d = 0; // scale-input-d
  // The products that were asked for, by instruction descriptor.
  mutable std::mutex mutex;
  mutable std::map<uint32_t, TensorProduct> products;
};

struct TensorCpPlan {
  layout::CopyShape shape{};
  layout::CopyMulticast multicast{};
  uint8_t cta_group = 1;
  uint32_t packed_bits = 8;
  int64_t offset = 0; // of the address
};

struct TensorCommitPlan {
  PlacedAddress mbarrier;
  uint8_t cta_group = 1;
  bool has_mask = false;
};

namespace {

// Sources of tcgen05.mma; the words of disable-output-lane follow, or the addresses of the scale factors.
enum : int { kD, kA, kB, kDescriptor, kEnable, kDisable, kScaleA = kDisable, kScaleB };

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
  if (!problem && !path)
    problem = fmt::format("instruction descriptor {:#010x}: no data path has M = {}", bits, descriptor.m);
  if (problem) {
    x.misuse(in, "tcgen05.descriptor", *problem + " (undefined behaviour)", lane);
    return nullptr;
  }
  std::optional<TensorProduct> product =
      make_tensor_product(descriptor, *path, plan.instruction.scale_vec, plan.machine);
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

// Chunks in shared memory, chunk_at(0) to chunk_at(count - 1), all of which are there and written. False
// after a fault.
template <class F>
bool check_chunks(Exec& x, const DecodedInst& in, const TensorSmemDescriptor& d, uint32_t count, F&& chunk_at,
                  std::string_view name, int lane, bool& all_written) {
  const uint64_t bits = d.bits;
  const uint64_t size = x.cta->shared.size();
  const Access shared = x.find(in, isa::StateSpace::shared, kSharedReservedBytes, size - kSharedReservedBytes,
                               AccessKind::read);
  uint32_t hole = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t at = chunk_at(i);
    if (at < kSharedReservedBytes || at + layout::kChunkBytes > size) {
      x.fault_at(
          in, FaultKind::out_of_bounds,
          fmt::format("the descriptor of {} ({:#018x}) leads to shared address {:#x}, outside the CTA's "
                      "shared memory ({:#x} to {:#x})",
                      name, bits, at, kSharedReservedBytes, size),
          lane, at,
          {fmt::format("start address {:#x}, leading dimension byte offset {}, stride dimension byte offset "
                       "{}, swizzle {}",
                       d.start, d.leading, d.stride, layout::to_string(d.swizzle))});
      return false;
    }
    if (hole == 0 && !shared.was_written(at - kSharedReservedBytes, layout::kChunkBytes))
      hole = at;
  }
  all_written = hole == 0;
  if (hole != 0)
    x.uninitialized(in, lane, fmt::format("shared memory of {} at {:#x}", name, hole));
  return true;
}

// The same of a matrix, once for all of its products.
bool check_shared(Exec& x, const DecodedInst& in, const TensorShared& matrix, const TensorProduct& product,
                  uint32_t rows, std::string_view name, int lane) {
  const WgmmaChecks::Matrix known{matrix.descriptor.bits, uint64_t{product.element_bytes} << 32 | rows << 1 |
                                                              uint64_t{matrix.mn_major}};
  bool all_written = x.cta->wgmma_checks.contains(known);
  if (all_written)
    return true;
  const auto chunk_at = [&](uint32_t i) { return matrix.chunk(i, product.element_bytes); };
  if (!check_chunks(x, in, matrix.descriptor, rows * kTensorRowChunks, chunk_at, name, lane, all_written))
    return false;
  if (all_written)
    x.cta->wgmma_checks.insert(known);
  return true;
}

// None after a fault.
std::optional<TensorShared> find_shared(Exec& x, const DecodedInst& in, uint64_t bits, bool mn_major,
                                        const TensorProduct& product, uint32_t rows, std::string_view name,
                                        int lane) {
  TensorShared matrix{.descriptor = TensorSmemDescriptor::decode(bits), .chunks = {}, .mn_major = mn_major};
  if (const auto problem =
          layout::wrong(matrix.descriptor, {.operand = name,
                                            .mn_major = mn_major,
                                            .tf32 = product.descriptor.kind == layout::TensorKind::tf32})) {
    x.misuse(in, "tcgen05.descriptor", *problem + " (undefined behaviour)", lane);
    return std::nullopt;
  }
  if (const auto chunks = matrix.descriptor.as_wgmma())
    matrix.chunks = *chunks;
  if (!check_shared(x, in, matrix, product, rows, name, lane))
    return std::nullopt;
  return matrix;
}

// An operand in tensor memory begins at lane 0 or, where `has_halves`, at lane 16. False after a fault.
bool check_lane(Exec& x, const DecodedInst& in, TensorAddress at, bool has_halves, std::string_view name,
                int lane) {
  if (at.lane == 0 || (has_halves && at.lane == kWarpSize / 2))
    return true;
  x.misuse(in, "tcgen05.address",
           fmt::format("{} begins at lane {} of tensor memory (undefined behaviour)", name, at.lane), lane,
           {has_halves ? "legal: lane 0 or 16" : "legal: lane 0"}, at.encode());
  return false;
}

// Data paths c and f: D, and A with it, has 16 of each 32 lanes.
bool has_halves(const TensorProduct& product) {
  return product.row_lanes.size() > kWarpSize / 2 && product.row_lanes[kWarpSize / 2] == kWarpSize;
}

// Counts cells of D that the product is added to and that were never written.
void check_written(Exec& x, const DecodedInst& in, const TensorMma& mma, int lane) {
  for (const layout::TensorCell at : mma.product->columns) {
    const uint32_t column = mma.d_cell.column + at.column;
    const LaneMask* written = x.cta->tensor.memory->written(column);
    const auto lanes = lanes_of_d(mma, at);
    for (uint32_t quarter = 0; quarter < TensorMemory::kQuarters; ++quarter)
      if (const LaneMask missing = lanes[quarter] & ~written[quarter]; missing != 0) {
        x.uninitialized(in, lane,
                        fmt::format("tensor memory of D at lane {}, column {}",
                                    quarter * kWarpSize + static_cast<uint32_t>(std::countr_zero(missing)),
                                    column));
        return;
      }
  }
}

// Where the scale factors of so many rows begin, a column; those that were never written are counted. None
// after a fault.
std::optional<uint32_t> find_scales(Exec& x, const DecodedInst& in, TensorAddress at, uint32_t rows,
                                    std::string_view name, int lane) {
  if (!check_lane(x, in, at, false, name, lane) ||
      !check_columns(x, in, *x.cta, at.column, scale_columns(rows), lane))
    return std::nullopt;
  if (x.launch->config.async != AsyncMode::eager) // they may be yet to come
    return at.column;
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t quarter = 0; quarter < TensorMemory::kQuarters; ++quarter) {
      const uint32_t column = at.column + row / kWarpSize;
      if ((x.cta->tensor.memory->written(column)[quarter] >> row % kWarpSize & 1) != 0)
        continue;
      x.uninitialized(in, lane,
                      fmt::format("tensor memory of {} at lane {}, column {}", name,
                                  quarter * kWarpSize + row % kWarpSize, column));
      return at.column;
    }
  return at.column;
}

// What one lane asks for; false after a fault.
bool read_request(Exec& x, const DecodedInst& in, int lane, TensorMma& mma) {
  const auto& plan = x.plan<TensorMmaPlan>(in);
  if (!use_cta_group(x, in, static_cast<uint8_t>(plan.instruction.cta_group), lane))
    return false;
  mma.product = find_product(x, in, static_cast<uint32_t>(x.src_lane(in, kDescriptor, lane)), lane);
  if (!mma.product)
    return false;
  const TensorInstructionDescriptor& descriptor = mma.product->descriptor;
  mma.cta = x.cta;
  const auto address = [&](int source, int64_t offset) {
    return TensorAddress::decode(
        static_cast<uint32_t>(x.src_lane(in, source, lane) + static_cast<uint64_t>(offset)));
  };
  const TensorAddress d = address(kD, plan.d_offset);
  const bool halves = has_halves(*mma.product);
  if (!check_lane(x, in, d, halves, "D", lane) ||
      !check_columns(x, in, *x.cta, d.column, mma.product->d_columns, lane))
    return false;
  mma.d_cell = {d.lane, d.column};
  if (plan.instruction.a_in_tensor_memory) {
    const TensorAddress a = address(kA, plan.a_offset);
    if (!check_lane(x, in, a, halves, "A", lane) ||
        !check_columns(x, in, *x.cta, a.column, kTensorRowBytes / 4, lane))
      return false;
    mma.a_cell = {a.lane, a.column};
  } else {
    mma.a = find_shared(x, in, x.src_lane(in, kA, lane), descriptor.transpose_a, *mma.product, descriptor.m,
                        "a-desc", lane);
    if (!mma.a)
      return false;
  }
  const auto b = find_shared(x, in, x.src_lane(in, kB, lane), descriptor.transpose_b, *mma.product,
                             descriptor.n, "b-desc", lane);
  if (!b)
    return false;
  mma.b = *b;
  if (mma.product->scales != 0) {
    const auto of_a =
        find_scales(x, in, address(kScaleA, plan.a_scales_offset), descriptor.m, "scale-A", lane);
    const auto of_b =
        of_a ? find_scales(x, in, address(kScaleB, plan.b_scales_offset), descriptor.n, "scale-B", lane)
             : std::nullopt;
    if (!of_b)
      return false;
    mma.a_scales = *of_a;
    mma.b_scales = *of_b;
  }
  mma.scale_d = plan.scale_d;
  mma.accumulates = (x.pred(in, kEnable) >> lane & 1) != 0;
  for (uint32_t i = 0; i < plan.disable_words && i < mma.disabled.size(); ++i)
    mma.disabled[i] = static_cast<LaneMask>(x.src_lane(in, kDisable + static_cast<int>(i), lane));
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
      x.stats.matrix_outputs += execute(mma, x.dot_scratch);
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
  constexpr Qual kWords[] = {Qual::cta_group_2,         Qual::ashift,
                             Qual::collector_b_fill,    Qual::collector_b_use,
                             Qual::collector_b_lastuse, Qual::collector_b_discard,
                             Qual::decompress_lut_b};
  return std::ranges::any_of(kWords, [&](Qual word) { return instruction.has(word); });
}

uint32_t scales_of_row(const ptx::Instruction& instruction, layout::TensorKind kind) {
  if (instruction.has(Qual::scale_vec_4X) || instruction.has(Qual::block16))
    return 4;
  return kind == layout::TensorKind::mxf8f6f4 ? 1 : 2;
}

bool select_mma(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const auto& operands = instruction.operands;
  TensorMmaPlan& plan = d.make_plan<TensorMmaPlan>(in);
  bool has_kind = false;
  for (const Qual qual : instruction.quals())
    if (const auto kind = layout::tensor_kind(fmt::format(".{}", isa::to_string(qual)))) {
      plan.kind = *kind;
      has_kind = true;
    }
  const auto machine = isa::arithmetic_of(d.program().arch().sm);
  const size_t after_descriptor = 4;
  const size_t disable =
      after_descriptor < operands.size() && operands[after_descriptor].kind == ptx::OperandKind::vector
          ? d.count(after_descriptor)
          : 0;
  const bool is_scaled = layout::is_block_scaled(plan.kind);
  const size_t enable = after_descriptor + (is_scaled ? 2 : disable != 0 ? 1 : 0);
  if (!has_kind || !machine || has_word_not_modelled(instruction))
    return false;
  plan.instruction.scale_vec = is_scaled ? scales_of_row(instruction, plan.kind) : 0;
  if (operands.size() > enable + 1)
    plan.scale_d = static_cast<int>(operands[enable + 1].bits);
  plan.machine = *machine;
  plan.disable_words = static_cast<uint32_t>(disable);
  plan.instruction.a_in_tensor_memory = operands[1].kind == ptx::OperandKind::address;
  const PlacedAddress to = d.address(0);
  plan.d_offset = to.offset;
  std::vector<Slot> srcs{to.base};
  if (plan.instruction.a_in_tensor_memory) {
    const PlacedAddress a = d.address(1);
    plan.a_offset = a.offset;
    srcs.push_back(a.base);
  } else {
    srcs.push_back(d.src(1, Type::b64));
  }
  srcs.push_back(d.src(2, Type::b64));
  srcs.push_back(d.src(3, Type::b32));
  srcs.push_back(d.src(enable, Type::pred));
  if (disable != 0)
    d.add_srcs(srcs, after_descriptor, Type::b32);
  if (is_scaled) {
    const PlacedAddress of_a = d.address(after_descriptor), of_b = d.address(after_descriptor + 1);
    plan.a_scales_offset = of_a.offset;
    plan.b_scales_offset = of_b.offset;
    srcs.insert(srcs.end(), {of_a.base, of_b.base});
  }
  in.handler = run_mma;
  d.set_operands(in, {}, srcs);
  return true;
}

// --- tcgen05.cp

bool read_cp(Exec& x, const DecodedInst& in, int lane, TensorCp& cp) {
  const auto& plan = x.plan<TensorCpPlan>(in);
  if (!use_cta_group(x, in, plan.cta_group, lane))
    return false;
  cp.cta = x.cta;
  cp.shape = plan.shape;
  cp.multicast = plan.multicast;
  cp.packed_bits = plan.packed_bits;
  const auto to = TensorAddress::decode(
      static_cast<uint32_t>(x.src_lane(in, 0, lane) + static_cast<uint64_t>(plan.offset)));
  if (!check_lane(x, in, to, false, "the copy", lane) ||
      !check_columns(x, in, *x.cta, to.column, layout::copy_columns(plan.shape), lane))
    return false;
  cp.to = {to.lane, to.column};
  cp.from.descriptor = TensorSmemDescriptor::decode(x.src_lane(in, 1, lane));
  if (const auto problem = layout::wrong(cp.from.descriptor, {.operand = "s-desc"})) {
    x.misuse(in, "tcgen05.descriptor", *problem + " (undefined behaviour)", lane);
    return false;
  }
  if (const auto chunks = cp.from.descriptor.as_wgmma())
    cp.from.chunks = *chunks;
  bool all_written = false;
  return check_chunks(
      x, in, cp.from.descriptor, layout::copy_rows(cp.shape) * cp.row_chunks(),
      [&](uint32_t i) { return cp.chunk(i); }, "s-desc", lane, all_written);
}

Step run_cp(Exec& x, const DecodedInst& in) {
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    TensorCp cp;
    if (!read_cp(x, in, lane, cp))
      return Step::stopped;
    AsyncOperation operation;
    operation.kind = AsyncKind::tensor_cp;
    operation.issuer = x.issuer(in, lane);
    operation.cp = std::make_shared<const TensorCp>(cp);
    if (!start(x, std::move(operation)))
      return Step::stopped;
  }
  return Step::next;
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
  if (instruction.has(Qual::cta_group_2))
    return false;
  plan.packed_bits = instruction.has(Qual::b4x16_p64) ? 4 : instruction.has(Qual::b6x16_p32) ? 6 : 8;
  const PlacedAddress to = d.address(0);
  plan.offset = to.offset;
  in.handler = run_cp;
  d.set_operands(in, {}, {to.base, d.src(1, Type::b64)});
  return true;
}

// --- tcgen05.commit

Step run_commit(Exec& x, const DecodedInst& in) {
  const auto& plan = x.plan<TensorCommitPlan>(in);
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (!use_cta_group(x, in, plan.cta_group, lane))
      return Step::stopped;
    const uint64_t address = lane_address(x, in, 0, plan.mbarrier.offset, lane);
    AsyncOperation operation;
    operation.kind = AsyncKind::tensor_commit;
    operation.proxy = Proxy::generic;
    operation.issuer = x.issuer(in, lane);
    const SharedPlace at = find_mbarrier(x, in, plan.mbarrier.space, address, lane);
    if (!at.cta)
      return Step::stopped;
    if (plan.has_mask) {
      operation.targets = find_targets(x, in, lane, at, plan.mbarrier.space, address,
                                       static_cast<uint16_t>(x.src_lane(in, 1, lane)));
      if (operation.targets.empty())
        return Step::stopped;
    } else {
      operation.targets.push_back({{}, at});
    }
    if (!start(x, std::move(operation)))
      return Step::stopped;
  }
  return Step::next;
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

void add_tensor_mma_selectors(SelectorTable& table) {
  table.add(Opcode::tcgen05_mma, select_mma);
  table.add(Opcode::tcgen05_cp, select_cp);
  table.add(Opcode::tcgen05_commit, select_commit);
}

} // namespace lemma::vgpu
