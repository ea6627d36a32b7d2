// Tensor copies (TMA): cp.async.bulk.tensor in both directions, their prefetch, cp.reduce.async.bulk.tensor,
// tensormap.replace and tensormap.cp_fenceproxy.
//
// Each lane that executes one issues a copy of its own. Everything is checked when it is issued - the map,
// the coordinates, both memories, the mbarriers - so that the copy itself, an asynchronous operation, cannot
// fail. Shared memory is read and written as the async proxy does.
//
// Reductions take the type of the elements from the map, so a type that the operation does not have shows
// when one is issued. They are those of red, element by element; f32 additions flush subnormals only
// with f32_ftz and tf32_ftz (measured on an H200).
//
// Not here: which bytes a box has (layout/tensor_box.h), what a reduction does to an element (reduction.h),
// bulk copies without a tensor (bulk_copy.cc).
//
// PTX ISA: "Data Movement and Conversion Instructions: Tensor copy", "tensormap.replace".
// Tests: tests/unit/vgpu/tensor_copy_test.cc; recorded hardware bits: tests/golden, group tma.
#include "layout/tensor_box.h"
#include "numeric/arithmetic.h"
#include "vgpu/handlers/async_operands.h"
#include "vgpu/handlers/reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using isa::Type;
using layout::BoxRun;
using layout::EncodedTensorMap;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

constexpr uint32_t kSharedAlign = 128; // of a box in shared memory

// Sources: the map's address, its coordinates, then as present: shared address, mbarrier, im2col offsets, CTA
// mask.
struct TensorPlan {
  int64_t map_offset = 0, shared_offset = 0, mbarrier_offset = 0;
  StateSpace shared_space = StateSpace::shared, mbarrier_space = StateSpace::shared,
             map_space = StateSpace::generic;
  int rank = 0;
  bool im2col = false;
  Qual reduction = Qual::none; // none: a copy
  int shared_source = -1, mbarrier_source = -1, offsets_source = -1, mask_source = -1;
};

const TensorPlan& plan_of(const DecodedInst& in) {
  return *static_cast<const TensorPlan*>(in.extra);
}

// One lane's copy: the map, and the runs of its box with their host memory.
struct TensorCopy {
  EncodedTensorMap map;
  layout::BoxRequest request;
  std::vector<BoxRun> runs;
  std::vector<std::byte*> hosts; // by run: of the tensor's bytes; null outside
  uint32_t bytes = 0;            // of the box
};

Step illegal(Exec& x, const DecodedInst& in, int lane, std::string message) {
  return x.fault(in, FaultKind::illegal_instruction,
                 fmt::format("{}: {}", isa::to_string(x.ptx_instruction(in).opcode), message), lane);
}

bool read_map(Exec& x, const DecodedInst& in, int lane, EncodedTensorMap& map) {
  const TensorPlan& plan = plan_of(in);
  const uint64_t address = lane_address(x, in, 0, plan.map_offset, lane);
  const std::byte* host = x.access(in, plan.map_space, address, layout::kTensorMapBytes,
                                   layout::kTensorMapAlign, Access::read, lane);
  if (!host)
    return false;
  std::memcpy(&map, host, sizeof map);
  if (map.magic != EncodedTensorMap::kMagic) {
    illegal(x, in, lane,
            fmt::format(
                "the 128 bytes at {:#x} are no tensor map (lemma run makes one with --arg tmap=@FILE.json, "
                "the API with Device::encode)",
                address));
    return false;
  }
  if (map.rank != plan.rank) {
    illegal(x, in, lane,
            fmt::format("the tensor map has {} dimensions, the instruction has {}", map.rank, plan.rank));
    return false;
  }
  if (map.is_im2col != plan.im2col) {
    illegal(x, in, lane,
            fmt::format("the tensor map was encoded for {}, the instruction is for {}",
                        map.is_im2col ? "im2col" : "tiles", plan.im2col ? "im2col" : "tiles"));
    return false;
  }
  return true;
}

// The map, the coordinates, and where the tensor's bytes are. False after a fault.
bool prepare(Exec& x, const DecodedInst& in, int lane, Access kind, TensorCopy& copy) {
  const TensorPlan& plan = plan_of(in);
  EncodedTensorMap& map = copy.map;
  if (!read_map(x, in, lane, map))
    return false;
  for (int i = 0; i < plan.rank; ++i)
    copy.request.coordinates[static_cast<size_t>(i)] = static_cast<int32_t>(x.src_lane(in, 1 + i, lane));
  for (int i = 0; plan.offsets_source >= 0 && i < plan.rank - 2; ++i)
    copy.request.im2col_offsets[static_cast<size_t>(i)] =
        static_cast<uint16_t>(x.src_lane(in, plan.offsets_source + i, lane));
  const bool interleaved = map.interleave != TensorInterleave::none;
  if (kind == Access::write)
    for (int i = 0; i < plan.rank; ++i)
      if (const int32_t at = copy.request.coordinates[static_cast<size_t>(i)]; at < 0) {
        illegal(x, in, lane,
                fmt::format(
                    "coordinate {} is {}: a store or a reduction takes no negative ones (an H200 faults too: "
                    "illegal instruction)",
                    i, at));
        return false;
      }
  const int64_t inner = int64_t{copy.request.coordinates[0]} * layout::element_bytes(map.type);
  if (!plan.im2col && !interleaved && inner % 16 != 0) {
    illegal(
        x, in, lane,
        fmt::format("the innermost coordinate {} is at byte {} of its row, which is not a multiple of 16 (an "
                    "H200 faults too: illegal instruction)",
                    copy.request.coordinates[0], inner));
    return false;
  }
  copy.bytes = box_bytes(map);
  copy.runs = box_runs(map, copy.request);
  copy.hosts.reserve(copy.runs.size());
  for (const BoxRun& run : copy.runs) {
    std::byte* host = nullptr;
    if (run.inside) {
      const uint64_t address = map.address + run.global_offset;
      const MemoryRange range = x.access_range(StateSpace::global, address, run.bytes, kind);
      host = range.host && (kind == Access::write || range.was_written(0, run.bytes))
                 ? range.host
                 : x.access(in, StateSpace::global, address, run.bytes, 1, kind, lane);
      if (!host)
        return false;
      if (range.host && kind == Access::write)
        range.mark_written(0, run.bytes);
    }
    copy.hosts.push_back(host);
  }
  return true;
}

// The box in shared memory; no CTA after a fault.
MbarrierPlace find_box(Exec& x, const DecodedInst& in, int lane, uint32_t bytes, Access kind) {
  const TensorPlan& plan = plan_of(in);
  const uint64_t address = lane_address(x, in, plan.shared_source, plan.shared_offset, lane);
  std::byte* host = x.access(in, plan.shared_space, address, bytes, kSharedAlign, kind, lane);
  if (!host)
    return {};
  const MbarrierPlace at = shared_place(x, host);
  if (!at.cta)
    x.fault_at(in, FaultKind::wrong_space,
               fmt::format("a tensor copy needs shared memory, but {:#x} is not", address), lane, address);
  return at;
}

// --- moving ---

using Buffer = std::shared_ptr<std::vector<std::byte>>;

void copy_out(const TensorCopy& copy, std::vector<std::byte>& box) {
  for (size_t i = 0; i < copy.runs.size(); ++i)
    if (copy.hosts[i])
      std::memcpy(box.data() + copy.runs[i].box_offset, copy.hosts[i], copy.runs[i].bytes);
}

void fill_outside(const TensorCopy& copy, std::vector<std::byte>& box) {
  // Of every type, 16 bits after 16 bits (measured on an H200).
  const uint16_t word = copy.map.oob_fill == TensorFill::nan ? numeric::kOobNan : 0;
  for (size_t i = 0; i < copy.runs.size(); ++i)
    for (uint32_t at = 0; !copy.hosts[i] && at < copy.runs[i].bytes; ++at)
      box[copy.runs[i].box_offset + at] = static_cast<std::byte>(word >> (at % 2 * 8));
}

// Loads of tf32 and tf32_ftz round to nearest even, subnormals too, and have one NaN (measured on an H200).
// f32_ftz loads as f32 does.
void round_to_tf32(const TensorCopy& copy, std::vector<std::byte>& box) {
  if (copy.map.type != TensorType::tf32 && copy.map.type != TensorType::tf32_ftz)
    return;
  constexpr uint32_t kNan = 0x7fffe000, kDropped = 0x1fff;
  for (const BoxRun& run : copy.runs)
    for (size_t at = run.box_offset; run.inside && at < run.box_offset + run.bytes; at += 4) {
      uint32_t bits;
      std::memcpy(&bits, box.data() + at, 4);
      const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
      bits = is_nan ? kNan : (bits + (kDropped >> 1) + (bits >> 13 & 1)) & ~kDropped;
      std::memcpy(box.data() + at, &bits, 4);
    }
}

// Calls f(offset in the box, shared address of the same bytes, bytes).
template <class F>
void each_chunk(const TensorCopy& copy, uint32_t shared, F&& f) {
  const layout::Swizzle swizzle = layout::swizzle_of(copy.map.swizzle);
  if (swizzle == layout::Swizzle::none) {
    f(0u, shared, copy.bytes);
    return;
  }
  constexpr uint32_t kChunk = 16;
  const uint32_t row = row_bytes(copy.map), pitch = row_pitch(copy.map);
  for (uint32_t begin = 0, line = shared; begin < copy.bytes; begin += row, line += pitch)
    for (uint32_t at = 0; at < row; at += kChunk)
      f(begin + at, layout::swizzle_address(line + at, swizzle), kChunk);
}

struct Destination {
  MbarrierPlace box, mbarrier;
};

// The CTAs that the copy goes to: the one that the address names, or those of the mask. Empty after a fault.
std::vector<Destination> destinations(Exec& x, const DecodedInst& in, int lane, uint32_t bytes) {
  const TensorPlan& plan = plan_of(in);
  const MbarrierPlace box = find_box(x, in, lane, bytes, Access::write);
  if (!box.cta)
    return {};
  MbarrierPlace mbarrier =
      find_mbarrier(x, in, plan.mbarrier_space,
                    lane_address(x, in, plan.mbarrier_source, plan.mbarrier_offset, lane), lane);
  if (!mbarrier.cta)
    return {};
  const Cluster& cluster = *x.cta->cluster;
  if (plan.mask_source < 0) {
    mbarrier.cta = box.cta; // an mbarrier beside the destination
    return {{box, mbarrier}};
  }
  const auto mask = static_cast<uint32_t>(x.src_lane(in, plan.mask_source, lane)) & 0xffff;
  if (mask == 0 || mask >> cluster.ctas.size() != 0) {
    illegal(x, in, lane,
            fmt::format("the CTA mask {:#06x} names CTAs that the cluster of {} does not have", mask,
                        cluster.ctas.size()));
    return {};
  }
  std::vector<Destination> all;
  for (uint32_t rank = 0; rank < cluster.ctas.size(); ++rank)
    if (mask >> rank & 1)
      all.push_back({{cluster.ctas[rank].get(), box.offset}, {cluster.ctas[rank].get(), mbarrier.offset}});
  return all;
}

bool check_mbarriers(Exec& x, const DecodedInst& in, int lane, const std::vector<Destination>& all) {
  for (const Destination& d : all)
    if (!is_mbarrier(d.mbarrier)) {
      illegal(
          x, in, lane,
          fmt::format("CTA rank {} has no mbarrier object at shared address {:#x}: mbarrier.init has not run "
                      "there, or not yet (undefined behaviour)",
                      d.mbarrier.cta->rank, d.mbarrier.offset));
      return false;
    }
  return true;
}

Step run_load(Exec& x, const DecodedInst& in) {
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    auto copy = std::make_shared<TensorCopy>();
    if (!prepare(x, in, lane, Access::read, *copy))
      return Step::stopped;
    std::vector<Destination> to = destinations(x, in, lane, shared_bytes(copy->map));
    if (to.empty() || !check_mbarriers(x, in, lane, to))
      return Step::stopped;
    auto box = std::make_shared<std::vector<std::byte>>(copy->bytes);
    x.start_async(lane, {.read =
                             [copy, box] {
                               copy_out(*copy, *box);
                               fill_outside(*copy, *box);
                               round_to_tf32(*copy, *box);
                             },
                         .write =
                             [copy, box, to = std::move(to)] {
                               for (const Destination& d : to) {
                                 each_chunk(*copy, d.box.offset,
                                            [&](uint32_t at, uint32_t address, uint32_t bytes) {
                                              d.box.cta->async_write(address, box->data() + at, bytes);
                                            });
                                 complete_bytes(d.mbarrier, copy->bytes);
                               }
                             }});
  }
  return Step::next;
}

// The type of the elements to the arithmetic; none where there are no reductions of it.
Type reduced_type(TensorType type) {
  switch (type) {
  case TensorType::u32:
    return Type::u32;
  case TensorType::s32:
    return Type::s32;
  case TensorType::u64:
    return Type::u64;
  case TensorType::s64:
    return Type::s64;
  case TensorType::f16:
    return Type::f16;
  case TensorType::bf16:
    return Type::bf16;
  case TensorType::f32:
  case TensorType::f32_ftz:
  case TensorType::tf32: // they add in full precision
  case TensorType::tf32_ftz:
    return Type::f32;
  case TensorType::f64:
    return Type::f64;
  default:
    return Type::none;
  }
}

// The plan's reduction for the map; null after a fault.
Reduce find_reduce(Exec& x, const DecodedInst& in, int lane, const EncodedTensorMap& map) {
  const Qual operation = plan_of(in).reduction;
  const Type type = reduced_type(map.type);
  const bool bitwise = operation == Qual::and_ || operation == Qual::or_ || operation == Qual::xor_;
  const Reduce reduce = type == Type::none || (bitwise && (isa::is_float(type) || type == Type::s64))
                            ? nullptr
                            : find_reduction(operation, type);
  if (!reduce)
    illegal(
        x, in, lane,
        fmt::format("there is no reduction .{} of the tensor map's elements, which are {} bits of {} type: "
                    ".add is for integers of 32 and 64 bits, f16, bf16, f32 and f64, .min and .max for "
                    "those integers, f16 and bf16, .inc and .dec for u32, .and, .or and .xor for those "
                    "integers",
                    isa::to_string(operation), 8 * layout::element_bytes(map.type),
                    layout::is_floating(map.type) ? "a floating-point" : "an integer"));
  return reduce;
}

// Stores, and reductions into the tensor.
Step run_store(Exec& x, const DecodedInst& in) {
  const bool reduces = plan_of(in).reduction != Qual::none;
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    auto copy = std::make_shared<TensorCopy>();
    if (!prepare(x, in, lane, reduces ? Access::atomic : Access::write, *copy))
      return Step::stopped;
    const Reduce reduce = reduces ? find_reduce(x, in, lane, copy->map) : nullptr;
    if (reduces && !reduce)
      return Step::stopped;
    const MbarrierPlace from = find_box(x, in, lane, shared_bytes(copy->map), Access::read);
    if (!from.cta)
      return Step::stopped;
    auto box = std::make_shared<std::vector<std::byte>>(copy->bytes);
    x.start_async(lane,
                  {.read =
                       [copy, box, from] {
                         each_chunk(*copy, from.offset, [&](uint32_t at, uint32_t address, uint32_t bytes) {
                           std::memcpy(box->data() + at, from.cta->async_read(address), bytes);
                         });
                       },
                   .write =
                       [copy, box, reduce] {
                         const TensorType type = copy->map.type;
                         const uint32_t size = layout::element_bytes(type);
                         const bool flush = type == TensorType::f32_ftz || type == TensorType::tf32_ftz;
                         for (size_t i = 0; i < copy->runs.size(); ++i) {
                           const BoxRun& run = copy->runs[i];
                           const std::byte* source = box->data() + run.box_offset;
                           if (copy->hosts[i] && !reduce)
                             std::memcpy(copy->hosts[i], source, run.bytes);
                           else if (copy->hosts[i])
                             for (uint32_t at = 0; at < run.bytes; at += size)
                               reduce(copy->hosts[i] + at, source + at, flush);
                         }
                       },
                   .group = AsyncGroup::bulk});
  }
  return Step::next;
}

// A hint; but a map that is none would fault.
Step run_prefetch(Exec& x, const DecodedInst& in) {
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    EncodedTensorMap map;
    if (!read_map(x, in, std::countr_zero(left), map))
      return Step::stopped;
  }
  return Step::next;
}

// --- decoding ---

// A part of the instruction at an address: its base goes to the sources, its offset and space to the plan.
int add_address(Decoder& d, const Instruction& instruction, const Operand& operand, StateSpace space,
                std::vector<Slot>& srcs, int64_t& offset, StateSpace& out_space) {
  const AddressOperand address = d.address(instruction, operand);
  srcs.push_back(address.has_base ? address.base : d.constant(0, Type::u64));
  offset = address.offset;
  // A shared variable's name is an address in the own CTA's window.
  out_space = address.has_base ? space : space == StateSpace::generic ? address.space : StateSpace::shared;
  return static_cast<int>(srcs.size()) - 1;
}

void add_coordinates(Decoder& d, const Operand& map, TensorPlan& plan, std::vector<Slot>& srcs) {
  for (size_t i = 1; i < map.elems.size(); ++i) {
    const Operand& part = map.elems[i];
    const auto coordinates = part.kind == OperandKind::vector ? std::span(part.elems) : std::span(&part, 1);
    for (const Operand& coordinate : coordinates) {
      srcs.push_back(d.src(coordinate, Type::s32));
      ++plan.rank;
    }
  }
}

bool select_tensor(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  for (const Qual qual : {Qual::tile_gather4, Qual::tile_scatter4, Qual::im2col_w, Qual::im2col_w_128,
                          Qual::cta_group_1, Qual::cta_group_2})
    if (instruction.has(qual))
      return false;
  const auto& operands = instruction.operands;
  auto& plan = *d.make_extra<TensorPlan>(in);
  const bool store = instruction.has(Qual::bulk_group);
  const bool prefetch = instruction.opcode == Opcode::cp_async_bulk_prefetch_tensor;
  if (instruction.opcode == Opcode::cp_reduce_async_bulk_tensor)
    plan.reduction = instruction.one_of(
        {Qual::add, Qual::min, Qual::max, Qual::inc, Qual::dec, Qual::and_, Qual::or_, Qual::xor_});
  plan.im2col = instruction.has(Qual::im2col) || instruction.has(Qual::im2col_no_offs);
  const size_t map_at = store || prefetch ? 0 : 1;
  std::vector<Slot> srcs;
  add_address(d, instruction, operands[map_at], StateSpace::generic, srcs, plan.map_offset, plan.map_space);
  add_coordinates(d, operands[map_at], plan, srcs);
  if (!prefetch) {
    const StateSpace space =
        instruction.has(Qual::shared_cluster) ? StateSpace::shared_cluster : StateSpace::shared;
    plan.shared_source = add_address(d, instruction, operands[store ? 1 : 0], space, srcs, plan.shared_offset,
                                     plan.shared_space);
  }
  size_t next = 2;
  if (!store && !prefetch) {
    plan.mbarrier_source = add_address(d, instruction, operands[next++], StateSpace::shared, srcs,
                                       plan.mbarrier_offset, plan.mbarrier_space);
    if (instruction.has(Qual::im2col)) {
      plan.offsets_source = static_cast<int>(srcs.size());
      const Operand& offsets = operands[next++];
      for (const Operand& offset :
           offsets.kind == OperandKind::vector ? std::span(offsets.elems) : std::span(&offsets, 1))
        srcs.push_back(d.src(offset, Type::b16));
    }
    if (instruction.has(Qual::multicast_cluster)) {
      plan.mask_source = static_cast<int>(srcs.size());
      srcs.push_back(d.src(operands[next++], Type::b16));
    }
  }
  in.handler = prefetch ? run_prefetch : store ? run_store : run_load;
  d.set_operands(in, {}, srcs);
  return true;
}

// --- groups of bulk operations ---

Step run_commit(Exec& x, const DecodedInst&) {
  for_lanes(x.active, [&](int lane) { x.async().commit(x.thread(lane), AsyncGroup::bulk); });
  return Step::next;
}

// DecodedInst::flags: only the sources are waited for.
Step run_wait(Exec& x, const DecodedInst& in) {
  for_lanes(x.active, [&](int lane) {
    x.async().wait(x.thread(lane), AsyncGroup::bulk, static_cast<uint64_t>(in.imm), in.flags != 0);
  });
  return Step::next;
}

bool select_group(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  const bool wait = instruction.opcode == Opcode::cp_async_bulk_wait_group;
  in.handler = wait ? run_wait : run_commit;
  if (wait)
    in.imm = static_cast<int64_t>(instruction.operands[0].bits);
  in.flags = instruction.has(Qual::read) ? 1 : 0;
  d.set_operands(in, {}, {});
  return true;
}

// --- tensormap.replace ---

struct ReplacePlan {
  StateSpace space = StateSpace::generic;
  int64_t offset = 0;
  Qual field = Qual::none;
  size_t ordinal = 0;
};

constexpr TensorType kReplaceTypes[] = {
    TensorType::u8,   TensorType::u16,  TensorType::u32,     TensorType::s32,     TensorType::u64,
    TensorType::s64,  TensorType::f16,  TensorType::f32,     TensorType::f32_ftz, TensorType::f64,
    TensorType::bf16, TensorType::tf32, TensorType::tf32_ftz};

void replace(EncodedTensorMap& map, Qual field, size_t ordinal, uint64_t value) {
  switch (field) {
  case Qual::global_address:
    map.address = value;
    break;
  case Qual::rank:
    map.rank = static_cast<uint8_t>(value + 1); // zero-based, as the ISA has it
    break;
  case Qual::box_dim:
    map.box[ordinal] = static_cast<uint16_t>(value);
    break;
  case Qual::global_dim:
    map.last[ordinal] = static_cast<uint32_t>(value - 1);
    break;
  case Qual::global_stride:
    map.strides_bytes[std::min<size_t>(ordinal, 3)] = value;
    break;
  case Qual::element_stride:
    map.element_strides[ordinal] = static_cast<uint8_t>(value);
    break;
  case Qual::elemtype:
    map.type = kReplaceTypes[value];
    break;
  case Qual::interleave_layout:
    map.interleave = static_cast<TensorInterleave>(value);
    break;
  case Qual::swizzle_mode:
    map.swizzle = static_cast<TensorSwizzle>(value);
    break;
  case Qual::fill_mode:
    map.oob_fill = static_cast<TensorFill>(value);
    break;
  default:
    break;
  }
}

Step run_replace(Exec& x, const DecodedInst& in) {
  const auto& plan = *static_cast<const ReplacePlan*>(in.extra);
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::byte* host = x.access(in, plan.space, lane_address(x, in, 0, plan.offset, lane),
                               layout::kTensorMapBytes, layout::kTensorMapAlign, Access::write, lane);
    if (!host)
      return Step::stopped;
    EncodedTensorMap map;
    std::memcpy(&map, host, sizeof map);
    if (map.magic != EncodedTensorMap::kMagic)
      return illegal(x, in, lane, "the 128 bytes at its address are no tensor map");
    replace(map, plan.field, plan.ordinal, x.src_lane(in, 1, lane));
    std::memcpy(host, &map, sizeof map);
  }
  return Step::next;
}

bool select_replace(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  auto& plan = *d.make_extra<ReplacePlan>(in);
  plan.field = instruction.one_of({Qual::global_address, Qual::rank, Qual::box_dim, Qual::global_dim,
                                   Qual::global_stride, Qual::element_stride, Qual::elemtype,
                                   Qual::interleave_layout, Qual::swizzle_mode, Qual::fill_mode});
  if (plan.field == Qual::none)
    return false;
  const auto& operands = instruction.operands;
  std::vector<Slot> srcs;
  const StateSpace space = instruction.has(Qual::shared_cta) ? StateSpace::shared
                           : instruction.has(Qual::global)   ? StateSpace::global
                                                             : StateSpace::generic;
  add_address(d, instruction, operands[0], space, srcs, plan.offset, plan.space);
  if (operands.size() == 3)
    plan.ordinal = static_cast<size_t>(operands[1].bits);
  const bool wide = plan.field == Qual::global_address || plan.field == Qual::global_stride;
  srcs.push_back(d.src(operands.back(), wide ? Type::b64 : Type::b32));
  in.handler = run_replace;
  d.set_operands(in, {}, srcs);
  return true;
}

// --- tensormap.cp_fenceproxy ---

struct FencedCopyPlan {
  int64_t to_offset = 0, from_offset = 0;
  StateSpace to_space = StateSpace::global, from_space = StateSpace::shared;
};

// The warp copies one map; the fence that comes with it has nothing to do, since tensor copies read maps
// where they are.
Step run_fenced_copy(Exec& x, const DecodedInst& in) {
  const auto& plan = *static_cast<const FencedCopyPlan*>(in.extra);
  const int lane = std::countr_zero(x.active);
  const uint64_t to = lane_address(x, in, 0, plan.to_offset, lane);
  const uint64_t from = lane_address(x, in, 1, plan.from_offset, lane);
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int other = std::countr_zero(left);
    if (lane_address(x, in, 0, plan.to_offset, other) != to ||
        lane_address(x, in, 1, plan.from_offset, other) != from)
      return illegal(x, in, other,
                     fmt::format("the addresses of lanes {} and {} differ: all threads of the warp give the "
                                 "same ones",
                                 lane, other));
  }
  const std::byte* source = x.access(in, plan.from_space, from, layout::kTensorMapBytes,
                                     layout::kTensorMapAlign, Access::read, lane);
  std::byte* target = source ? x.access(in, plan.to_space, to, layout::kTensorMapBytes,
                                        layout::kTensorMapAlign, Access::write, lane)
                             : nullptr;
  if (!target)
    return Step::stopped;
  std::memcpy(target, source, layout::kTensorMapBytes);
  return Step::next;
}

bool select_fenced_copy(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  auto& plan = *d.make_extra<FencedCopyPlan>(in);
  std::vector<Slot> srcs;
  add_address(d, instruction, instruction.operands[0], StateSpace::global, srcs, plan.to_offset,
              plan.to_space);
  add_address(d, instruction, instruction.operands[1], StateSpace::shared, srcs, plan.from_offset,
              plan.from_space);
  in.handler = run_fenced_copy;
  d.set_operands(in, {}, srcs);
  return true;
}

} // namespace

void add_tensor_copy_selectors(SelectorTable& table) {
  table.add({Opcode::cp_async_bulk_tensor, Opcode::cp_async_bulk_prefetch_tensor,
             Opcode::cp_reduce_async_bulk_tensor},
            select_tensor);
  table.add({Opcode::cp_async_bulk_commit_group, Opcode::cp_async_bulk_wait_group}, select_group);
  table.add(Opcode::tensormap_replace, select_replace);
  table.add(Opcode::tensormap_cp_fenceproxy, select_fenced_copy);
}

} // namespace lemma::vgpu
