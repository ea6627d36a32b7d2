// Tensor copies (TMA): cp.async.bulk.tensor in both directions, their prefetch, cp.reduce.async.bulk.tensor,
// tensormap.replace and tensormap.cp_fenceproxy.
//
// Each lane that executes one issues a copy of its own. Everything is checked when it is issued - the map,
// the coordinates, both memories, the mbarriers - so that the copy itself, an asynchronous operation, cannot
// fail. Shared memory is read and written as the async proxy does. A map is whatever a kernel or a file has
// put into 128 bytes: tensormap.replace takes any, and what they must be is checked at each use, before
// anything is computed from them. The box must fit into shared memory before its rows are looked at.
//
// Reductions take the type of the elements from the map, so a type that the operation does not have shows
// when one is issued. They are those of red, element by element; f32 additions flush subnormals only
// with f32_ftz and tf32_ftz (measured on an H200).
//
// .tile::gather4 and .tile::scatter4 are copies of a box of four rows, wherever those are in the tensor. Of
// two rows of a scatter4 that are one in the tensor the ISA does not say which stays: here the later.
// .im2col::w and .im2col::w::128 are copies in im2col mode that move along W alone, with halos.
//
// Not here: which bytes a box has (layout/tensor_box.h), what a reduction does to an element (reduction.h),
// bulk copies without a tensor (bulk_copy.cc).
//
// PTX ISA: "Data Movement and Conversion Instructions: Tensor copy", "tensormap.replace".
// Tests: tests/unit/vgpu/tensor_copy_test.cc, tensor_store_test.cc, tensor_map_use_test.cc,
// tensor_rows_test.cc, tensor_wide_test.cc; recorded hardware bits: tests/golden, group tma.
#include "layout/tensor_box.h"
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/memory/async_operands.h"
#include "vgpu/handlers/memory/reduction.h"
#include "vgpu/memory/find_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using isa::Type;
using layout::BoxRun;
using layout::ReplacedField;
using layout::TensorMapFields;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

constexpr uint32_t kSharedAlign = 128; // of a box in shared memory

// Sources: the map's address, its coordinates, then as present: shared address, mbarrier, im2col offsets or,
// of wide rows, halo and offset, CTA mask.
struct TensorPlan {
  int64_t map_offset = 0, shared_offset = 0, mbarrier_offset = 0;
  StateSpace shared_space = StateSpace::shared, mbarrier_space = StateSpace::shared,
             map_space = StateSpace::generic;
  int coordinates = 0;
  int rank = 0; // of the tensor; by row there are more coordinates
  int sm = 0;   // the machine
  uint8_t cta_group = 1;
  bool im2col = false;
  bool by_row = false;         // .tile::gather4, .tile::scatter4
  Qual wide = Qual::none;      // .im2col::w, .im2col::w::128
  Qual reduction = Qual::none; // none: a copy
  int shared_source = -1, mbarrier_source = -1, offsets_source = -1, mask_source = -1;
};

namespace {

// A lane's access, to who watches.
void tell(const Exec& x, const Access& access, int lane) {
  PieceAccesses accesses(x);
  accesses.add(lane, access);
  accesses.tell();
}

// One lane's copy: what it asks for, and the box that becomes the operation's.
struct TensorCopy {
  std::unique_ptr<TensorBox> box = std::make_unique<TensorBox>();

  const TensorMapFields& map() const { return box->map; }
  layout::BoxRequest& request() { return box->request; }
  const layout::BoxRequest& request() const { return box->request; }
};

Step illegal(Exec& x, const DecodedInst& in, int lane, const std::string& message,
             std::vector<std::string> notes = {}) {
  return x.fault(in, FaultKind::illegal_instruction,
                 fmt::format("{}: {}", isa::to_string(x.ptx_instruction(in).opcode), message), lane,
                 std::move(notes));
}

// What the bytes of a map say; null after a fault: no instruction may use them. A loop uses the same few maps
// again and again, so the last ones that were found right are kept, by the place of the instruction.
const TensorMapFields* decode_map(Exec& x, const DecodedInst& in, int lane, uint64_t address,
                                  const layout::TensorMapBytes& bytes) {
  const layout::MapReader reader = layout::map_reader(x.plan<TensorPlan>(in).sm);
  struct Kept {
    bool any = false;
    layout::MapReader reader{};
    layout::TensorMapBytes bytes;
    TensorMapFields map;
  };
  thread_local std::array<Kept, 16> right;
  Kept& kept = right[x.pc % right.size()];
  if (kept.any && kept.reader == reader && kept.bytes == bytes)
    return &kept.map;
  if (const std::string wrong = layout::wrong_with(bytes, reader); !wrong.empty()) {
    illegal(x, in, lane,
            fmt::format("the 128 bytes at {:#x} are no tensor map that can be used: {}", address, wrong),
            {"lemma run makes one with --arg tmap=@FILE.json, the API with Device::encode, a kernel by "
             "tensormap.replace of every field in 128 zeroed bytes"});
    return nullptr;
  }
  kept = {true, reader, bytes, layout::decode(bytes, reader)};
  return &kept.map;
}

// PTX ISA, "Restriction on Tensor Copy instructions", for elements narrower than a byte. False after a fault.
bool check_packed(Exec& x, const DecodedInst& in, int lane, const TensorMapFields& map) {
  const auto& plan = x.plan<TensorPlan>(in);
  constexpr int kFirst = 100, kConsumer = 120;
  if (plan.sm < kFirst) {
    illegal(
        x, in, lane,
        fmt::format("the tensor map has elements of {} bits: sm_100 and up have them, the machine is sm_{}",
                    layout::element_bits(map.type), plan.sm));
    return false;
  }
  if (map.type == TensorType::b6x16_p32 && map.swizzle == TensorSwizzle::b128_atom_64b &&
      plan.mbarrier_source >= 0) {
    illegal(x, in, lane,
            "the tensor map has elements of 6 bits and swizzle 128B_ATOM_64B: stores take both, "
            "loads do not");
    return false;
  }
  if (plan.sm >= kConsumer && plan.shared_space == StateSpace::shared_cluster)
    x.remark(
        in, fmt::format("on sm_{} the PTX ISA has no tensor loads of elements of {} bits to .shared::cluster "
                        "(CUTLASS uses them); to .shared::cta it has",
                        plan.sm, layout::element_bits(map.type)));
  return true;
}

// PTX ISA, ".tile::scatter4 and .tile::gather4 modes". False after a fault.
bool check_rows(Exec& x, const DecodedInst& in, int lane, const TensorMapFields& map) {
  const auto& plan = x.plan<TensorPlan>(in);
  const char* mode =
      plan.shared_source >= 0 && plan.mbarrier_source < 0 ? ".tile::scatter4" : ".tile::gather4";
  if (map.interleave != TensorInterleave::none) {
    illegal(x, in, lane, fmt::format("the tensor map has an interleaved layout: {} takes none", mode));
    return false;
  }
  if (map.box[1] == 1)
    return true;
  illegal(
      x, in, lane,
      fmt::format("the box of the tensor map has {} rows: {} takes four by their coordinates, of a map whose "
                  "box has one row",
                  map.box[1], mode));
  return false;
}

// The bytes of a map, and which of them were never written.
using Unwritten = std::bitset<layout::kTensorMapBytes>;

Unwritten unwritten_in(const Access& map) {
  Unwritten unwritten;
  for (size_t i = 0; i < unwritten.size() && !map.was_written(0, unwritten.size()); ++i)
    unwritten[i] = !map.was_written(i, 1);
  return unwritten;
}

void forget_written(const Access& map, const Unwritten& unwritten) {
  for (size_t i = 0; i < unwritten.size() && unwritten.any(); ++i)
    if (unwritten[i] && map.cta)
      map.cta->forget_written(map.offset + i, 1);
    else if (unwritten[i] && map.init)
      map.init->unset_range(map.offset + i, 1);
}

// Whether the map would be another if these bytes were.
bool counts(layout::TensorMapBytes map, const Unwritten& unwritten, layout::MapReader reader) {
  if (unwritten.none() || !layout::wrong_with(map, reader).empty())
    return unwritten.any();
  const layout::TensorMapBytes known = layout::encode(layout::decode(map, reader));
  for (size_t i = 0; i < unwritten.size(); ++i)
    if (unwritten[i])
      map[i] = ~map[i];
  return !layout::wrong_with(map, reader).empty() || layout::encode(layout::decode(map, reader)) != known;
}

// PTX ISA, "im2col::w and im2col::w::128 modes", "Interleave layout". False after a fault.
bool check_wide(Exec& x, const DecodedInst& in, int lane, const TensorMapFields& map) {
  const std::string_view mode = isa::to_string(x.plan<TensorPlan>(in).wide);
  if (map.interleave != TensorInterleave::none)
    illegal(x, in, lane, fmt::format("the tensor map has an interleaved layout: .{} takes none", mode));
  else if (map.swizzle == TensorSwizzle::none)
    illegal(x, in, lane, fmt::format("the tensor map has no swizzle: .{} takes maps that have one", mode));
  else if (layout::has_atoms(map.swizzle) && map.swizzle != TensorSwizzle::b128_atom_32b)
    illegal(x, in, lane,
            fmt::format("the tensor map has swizzle {}: .{} takes 64B, 128B and 128B_ATOM_32B",
                        layout::swizzle_word(map.swizzle), mode));
  else
    return true;
  return false;
}

bool read_map(Exec& x, const DecodedInst& in, int lane, TensorBox& box) {
  const auto& plan = x.plan<TensorPlan>(in);
  const uint64_t address = lane_address(x, in, 0, plan.map_offset, lane);
  Access access = x.check(in, plan.map_space, address, layout::kTensorMapBytes, layout::kTensorMapAlign,
                          AccessKind::read, lane);
  if (!access)
    return false;
  access.proxy = Proxy::tensormap;
  layout::TensorMapBytes bytes;
  std::memcpy(bytes.data(), access.host, bytes.size());
  if (counts(bytes, unwritten_in(access), layout::map_reader(plan.sm)))
    x.report_unwritten(access, lane);
  tell(x, access, lane);
  if (access.is_shared()) {
    x.fault_at(in, FaultKind::wrong_space,
               fmt::format("the tensor map at {:#x} lies in shared memory: it must be in .param, .const or "
                           ".global (undefined behaviour)",
                           address),
               lane, address, {"tensormap.cp_fenceproxy copies one to global memory"});
    return false;
  }
  const TensorMapFields* decoded = decode_map(x, in, lane, address, bytes);
  if (!decoded)
    return false;
  const TensorMapFields& map = box.map = *decoded;
  if (access.space == StateSpace::global)
    box.map_at = access.at(0);
  box.map_bytes = bytes;
  if (map.rank != plan.rank) {
    illegal(x, in, lane,
            fmt::format("the tensor map has {} dimensions, the instruction has {}", map.rank, plan.rank));
    return false;
  }
  if (map.is_im2col() != plan.im2col) {
    illegal(x, in, lane,
            fmt::format("the tensor map was encoded for {}, the instruction is for {}",
                        map.is_im2col() ? "im2col" : "tiles", plan.im2col ? "im2col" : "tiles"));
    return false;
  }
  if (plan.by_row && !check_rows(x, in, lane, map))
    return false;
  if (plan.wide != Qual::none && !check_wide(x, in, lane, map))
    return false;
  return !layout::is_packed(map.type) || check_packed(x, in, lane, map);
}

// PTX ISA, cp.async.bulk.tensor: "restrictions on the .global.shared::cta direction". False after a fault.
bool check_store(Exec& x, const DecodedInst& in, int lane, const TensorCopy& copy) {
  for (int i = 0; i < x.plan<TensorPlan>(in).coordinates; ++i)
    if (const int32_t at = copy.request().coordinates[static_cast<size_t>(i)]; at < 0) {
      illegal(x, in, lane,
              fmt::format(
                  "coordinate {} is {}: a store or a reduction takes no negative ones (an H200 faults too: "
                  "illegal instruction)",
                  i, at));
      return false;
    }
  for (size_t i = 0; copy.map().is_im2col() && i + 2 < copy.map().rank; ++i)
    if (copy.map().lower[i] < 0 || copy.map().upper[i] > 0) {
      illegal(
          x, in, lane,
          fmt::format("the bounding box of the im2col map, {} to {} in spatial dimension {}, reaches over "
                      "the tensor: for a store or a reduction the lower corner is 0 or more, the upper one "
                      "0 or less (undefined behaviour)",
                      copy.map().lower[i], copy.map().upper[i], i));
      return false;
    }
  if (copy.map().type == TensorType::b4x16_p64) {
    illegal(x, in, lane,
            "the tensor map has elements of type b4x16_p64: stores do not take them, b4x16 they do");
    return false;
  }
  return true;
}

// False after a fault.
bool check_innermost(Exec& x, const DecodedInst& in, int lane, const TensorCopy& copy) {
  const TensorMapFields& map = copy.map();
  const int32_t at = copy.request().coordinates[0];
  if (map.interleave != TensorInterleave::none)
    return true;
  if (layout::is_packed(map.type)) {
    const auto multiple = static_cast<int32_t>(layout::coordinate_multiple(map.type));
    if (at % multiple == 0)
      return true;
    illegal(x, in, lane,
            fmt::format("the innermost coordinate is {}: with elements of {} bits it is a multiple of {}", at,
                        layout::element_bits(map.type), multiple));
    return false;
  }
  const int64_t inner = int64_t{at} * layout::element_bytes(map.type);
  if (inner % 16 == 0)
    return true;
  illegal(
      x, in, lane,
      fmt::format("the innermost coordinate {} is at byte {} of its row, which is not a multiple of 16 (an "
                  "H200 faults too: illegal instruction)",
                  at, inner));
  return false;
}

// A load in im2col mode begins at a pixel of the bounding box (an H200: illegal instruction); images and
// channels may be outside of the tensor. One of wide rows may begin to the left of it, and H and D say where
// the box is. False after a fault.
bool check_first_pixel(Exec& x, const DecodedInst& in, int lane, const TensorCopy& copy) {
  const TensorMapFields& map = copy.map();
  const bool wide = x.plan<TensorPlan>(in).wide != Qual::none;
  const size_t w = map.interleave == TensorInterleave::none ? 1 : 0;
  for (size_t i = 0; map.is_im2col() && i + 2 < map.rank && (i == 0 || !wide); ++i) {
    const int64_t at = copy.request().coordinates[w + i];
    const int64_t end = static_cast<int64_t>(map.dims[w + i]) + map.upper[i];
    if ((at >= map.lower[i] || wide) && at < end)
      continue;
    if (wide) {
      illegal(
          x, in, lane,
          fmt::format("coordinate {} is {}, on the right of the bounding box, which ends with {} (undefined "
                      "behaviour)",
                      w, at, end - 1));
      return false;
    }
    illegal(x, in, lane,
            fmt::format("coordinate {} is {}, outside the bounding box, which has {} to {} there (an H200 "
                        "faults too: illegal instruction)",
                        w + i, at, map.lower[i], end - 1));
    return false;
  }
  return true;
}

// PTX ISA, cp.async.bulk.tensor: wHalo and wOffset. False after a fault.
bool read_wide(Exec& x, const DecodedInst& in, int lane, TensorCopy& copy) {
  const auto& plan = x.plan<TensorPlan>(in);
  const bool is_128 = plan.wide == Qual::im2col_w_128;
  constexpr uint16_t kGroups = 4, kGroup = 32; // of .im2col::w::128
  constexpr uint16_t kOffsets = 32;
  const uint16_t halos = is_128 ? 32 : 512;
  const auto halo = static_cast<uint16_t>(x.src_lane(in, plan.offsets_source, lane));
  const auto offset = static_cast<uint16_t>(x.src_lane(in, plan.offsets_source + 1, lane));
  if (halo >= halos || offset >= kOffsets) {
    illegal(x, in, lane,
            fmt::format("wHalo is {} and wOffset {}: legal with .{} are 0 to {} and 0 to {}", halo, offset,
                        isa::to_string(plan.wide), halos - 1, kOffsets - 1));
    return false;
  }
  copy.request().im2col_offsets[0] = offset;
  copy.request().wide = is_128 ? layout::WideRows{.groups = kGroups, .pixels = kGroup, .halo = halo}
                               : layout::WideRows{.groups = 1, .pixels = copy.map().pixels, .halo = halo};
  copy.box->map = layout::map_of_wide(copy.map(), copy.request().wide);
  if (halo_leaves_box(copy.map(), copy.request()))
    x.remark(in,
             fmt::format("the halo of .{} goes beyond the bounding box: the PTX ISA does not say with which "
                         "pixels; assumed are those that follow in the same row of the same image",
                         isa::to_string(plan.wide)));
  return true;
}

// The map and the coordinates. False after a fault.
bool prepare(Exec& x, const DecodedInst& in, int lane, layout::BoxUse use, TensorCopy& copy) {
  const auto& plan = x.plan<TensorPlan>(in);
  if (!read_map(x, in, lane, *copy.box))
    return false;
  copy.request().by_row = plan.by_row;
  if (plan.by_row)
    copy.box->map = layout::map_of_rows(copy.map());
  for (int i = 0; i < plan.coordinates; ++i)
    copy.request().coordinates[static_cast<size_t>(i)] = static_cast<int32_t>(x.src_lane(in, 1 + i, lane));
  if (plan.wide != Qual::none && !read_wide(x, in, lane, copy))
    return false;
  for (int i = 0; plan.wide == Qual::none && plan.offsets_source >= 0 && i < plan.rank - 2; ++i)
    copy.request().im2col_offsets[static_cast<size_t>(i)] =
        static_cast<uint16_t>(x.src_lane(in, plan.offsets_source + i, lane));
  if (use == layout::BoxUse::store ? !check_store(x, in, lane, copy) : !check_first_pixel(x, in, lane, copy))
    return false;
  return check_innermost(x, in, lane, copy);
}

// "the tensor's rows of 77 elements of 1 byte end inside a unit of 16 bytes, and a store writes whole units"
std::string whole_units(const TensorPlan& plan, const TensorMapFields& map) {
  const uint32_t bits = layout::element_bits(map.type);
  const std::string size =
      bits < 8 ? fmt::format("{} bits", bits) : fmt::format("{} byte{}", bits / 8, bits == 8 ? "" : "s");
  return fmt::format("the tensor's rows of {} elements of {} end inside a unit of 16 bytes, and a {} "
                     "writes whole units",
                     map.dims[0], size, plan.reduction == Qual::none ? "store" : "reduction");
}

// The rest of a unit, after the tensor's last element. The hardware asks only whether there is memory; here
// it must be the allocation's.
Access find_past_end(Exec& x, const DecodedInst& in, int lane, const TensorCopy& copy, const BoxRun& run,
                     uint64_t address) {
  const Access range = x.find(in, StateSpace::global, address, run.bytes, AccessKind::write);
  if (!range)
    x.fault_at(in, FaultKind::out_of_bounds,
               fmt::format("{}: {} bytes after the end of a row, at {:#x}, are out of bounds",
                           whole_units(x.plan<TensorPlan>(in), copy.map()), run.bytes, address),
               lane, address, {"fix: round the size of the memory up to a multiple of 16 bytes"});
  return range;
}

// Where a run of the tensor's bytes lies; no host after a fault. Most are found at once, and nothing is to be
// said of them.
TensorBox::Run find_run(Exec& x, const DecodedInst& in, int lane, AccessKind kind, uint64_t address,
                        uint32_t bytes) {
  const Access at = x.find_access(in, StateSpace::global, address, bytes, kind);
  if (at && (kind == AccessKind::write || at.was_written(0, bytes)))
    return {at.allocation, at.host};
  const Access checked = check_async(x, in, StateSpace::global, address, bytes, 1, kind, lane);
  return {checked.allocation, checked.host};
}

// The runs of the box, and where the tensor's bytes are. The box is known to fit into shared memory. False
// after a fault.
bool find_runs(Exec& x, const DecodedInst& in, int lane, AccessKind kind, TensorCopy& copy) {
  TensorBox& box = *copy.box;
  box.runs = box_runs(box.map, copy.request(),
                      kind == AccessKind::read ? layout::BoxUse::load : layout::BoxUse::store);
  box.places.reserve(box.runs.size());
  uint32_t past_end = 0;
  for (const BoxRun& run : box.runs) {
    if (!run.inside) {
      box.places.push_back({});
      continue;
    }
    const uint64_t address = box.map.address + run.global_offset;
    TensorBox::Run place;
    if (run.past_end) {
      const Access at = find_past_end(x, in, lane, copy, run, address);
      place = {at.allocation, at.host};
      past_end = run.bytes;
    } else {
      place = find_run(x, in, lane, kind, address, run.bytes);
    }
    if (!place.host)
      return false;
    box.places.push_back(place);
  }
  if (past_end)
    x.remark(in, fmt::format("{}: {} bytes after the end of a row change too",
                             whole_units(x.plan<TensorPlan>(in), box.map), past_end));
  return true;
}

// The box in shared memory, which it fits into; none after a fault.
Access find_box(Exec& x, const DecodedInst& in, int lane, AccessKind kind, const TensorCopy& copy) {
  const auto& plan = x.plan<TensorPlan>(in);
  const uint64_t address = lane_address(x, in, plan.shared_source, plan.shared_offset, lane);
  const uint64_t bytes = shared_bytes(copy.map());
  if (bytes > x.cta->shared.size()) {
    x.fault_at(in, FaultKind::out_of_bounds,
               fmt::format("the box takes {} bytes of shared memory, of which a CTA of this launch has {}",
                           bytes, x.cta->shared.size()),
               lane, address);
    return {};
  }
  const Access at =
      check_async(x, in, plan.shared_space, address, static_cast<uint32_t>(bytes), kSharedAlign, kind, lane);
  if (!at || at.is_shared())
    return at;
  x.fault_at(in, FaultKind::wrong_space,
             fmt::format("a tensor copy needs shared memory, but {:#x} is not", address), lane, address);
  return {};
}

// --- issuing ---

AsyncOperation new_operation(const Exec& x, const DecodedInst& in, int lane, AsyncKind kind,
                             TensorCopy&& copy) {
  AsyncOperation operation;
  operation.kind = kind;
  operation.issuer = x.issuer(in, lane);
  operation.bytes = static_cast<uint32_t>(box_bytes(copy.map()));
  if (!layout::is_packed(copy.map().type)) // no reductions
    operation.element_bytes = layout::element_bytes(copy.map().type);
  operation.box = std::move(copy.box);
  return operation;
}

bool issue_load(Exec& x, const DecodedInst& in, int lane) {
  const auto& plan = x.plan<TensorPlan>(in);
  TensorCopy copy;
  if (!prepare(x, in, lane, layout::BoxUse::load, copy))
    return false;
  const Access at = find_box(x, in, lane, AccessKind::write, copy);
  if (!at)
    return false;
  std::optional<uint16_t> mask;
  if (plan.mask_source >= 0)
    mask = static_cast<uint16_t>(x.src_lane(in, plan.mask_source, lane));
  std::vector<AsyncTarget> targets = find_targets(
      x, in, lane, shared_place(at), plan.mbarrier_space,
      lane_address(x, in, plan.mbarrier_source, plan.mbarrier_offset, lane), mask, plan.cta_group);
  if (targets.empty() || !find_runs(x, in, lane, AccessKind::read, copy))
    return false;
  AsyncOperation operation = new_operation(x, in, lane, AsyncKind::tensor_load, std::move(copy));
  operation.targets = std::move(targets);
  return start(x, std::move(operation));
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
Reduce find_reduce(Exec& x, const DecodedInst& in, int lane, const TensorMapFields& map) {
  const Qual operation = x.plan<TensorPlan>(in).reduction;
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
                    isa::to_string(operation), layout::element_bits(map.type),
                    layout::is_floating(map.type) ? "a floating-point" : "an integer"));
  return reduce;
}

// Stores, and reductions into the tensor.
bool issue_store(Exec& x, const DecodedInst& in, int lane) {
  const bool reduces = x.plan<TensorPlan>(in).reduction != Qual::none;
  TensorCopy copy;
  if (!prepare(x, in, lane, layout::BoxUse::store, copy))
    return false;
  const Reduce reduce = reduces ? find_reduce(x, in, lane, copy.map()) : nullptr;
  if (reduces && !reduce)
    return false;
  const Access from = find_box(x, in, lane, AccessKind::read, copy);
  if (!from || !find_runs(x, in, lane, reduces ? AccessKind::atomic : AccessKind::write, copy))
    return false;
  AsyncOperation operation = new_operation(
      x, in, lane, reduces ? AsyncKind::tensor_reduce : AsyncKind::tensor_store, std::move(copy));
  operation.source = from;
  operation.source_bytes = operation.bytes;
  operation.reduce = reduce;
  operation.group = AsyncGroup::bulk;
  return start(x, std::move(operation));
}

template <bool (*kIssue)(Exec&, const DecodedInst&, int)>
Step run(Exec& x, const DecodedInst& in) {
  for (LaneMask left = x.active; left != 0; left &= left - 1)
    if (!kIssue(x, in, std::countr_zero(left)))
      return Step::stopped;
  return Step::next;
}

// A hint; but a map that is none would fault.
Step run_prefetch(Exec& x, const DecodedInst& in) {
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    TensorBox box;
    if (!read_map(x, in, std::countr_zero(left), box))
      return Step::stopped;
  }
  return Step::next;
}

// --- decoding ---

// A part of the instruction at an address: its base goes to the sources, its offset and space to the plan.
int add_address(Decoder& d, size_t operand, StateSpace space, std::vector<Slot>& srcs, int64_t& offset,
                StateSpace& out_space) {
  const PlacedAddress address = d.address(operand);
  srcs.push_back(address.base);
  offset = address.offset;
  // A shared variable's name is an address in the own CTA's window.
  out_space = address.has_base ? space : space == StateSpace::generic ? address.space : StateSpace::shared;
  return static_cast<int>(srcs.size()) - 1;
}

void add_coordinates(Decoder& d, size_t map, TensorPlan& plan, std::vector<Slot>& srcs) {
  for (const lowered::Operand& coordinate : d.operands(map).subspan(1)) {
    srcs.push_back(d.src(coordinate, Type::s32));
    ++plan.coordinates;
  }
}

bool select_tensor(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  auto& plan = d.make_plan<TensorPlan>(in);
  plan.cta_group = instruction.has(Qual::cta_group_2) ? 2 : 1;
  const bool store = instruction.has(Qual::bulk_group);
  const bool prefetch = instruction.opcode == Opcode::cp_async_bulk_prefetch_tensor;
  if (instruction.opcode == Opcode::cp_reduce_async_bulk_tensor)
    plan.reduction = instruction.one_of(
        {Qual::add, Qual::min, Qual::max, Qual::inc, Qual::dec, Qual::and_, Qual::or_, Qual::xor_});
  plan.wide = instruction.one_of({Qual::im2col_w, Qual::im2col_w_128});
  const bool has_offsets = plan.wide != Qual::none || instruction.has(Qual::im2col);
  plan.im2col = has_offsets || instruction.has(Qual::im2col_no_offs);
  plan.by_row = instruction.has(Qual::tile_gather4) || instruction.has(Qual::tile_scatter4);
  plan.sm = d.program().arch().sm;
  const StateSpace space =
      instruction.has(Qual::shared_cluster) ? StateSpace::shared_cluster : StateSpace::shared;
  const size_t map_at = store || prefetch ? 0 : 1;
  std::vector<Slot> srcs;
  add_address(d, map_at, StateSpace::generic, srcs, plan.map_offset, plan.map_space);
  add_coordinates(d, map_at, plan, srcs);
  if (plan.coordinates > layout::kMaxTensorRank)
    return false;
  plan.rank = plan.by_row ? 2 : plan.coordinates;
  if (!prefetch)
    plan.shared_source = add_address(d, store ? 1 : 0, space, srcs, plan.shared_offset, plan.shared_space);
  size_t next = 2;
  if (!store && !prefetch) {
    plan.mbarrier_source = add_address(d, next++, space, srcs, plan.mbarrier_offset, plan.mbarrier_space);
    if (has_offsets) {
      plan.offsets_source = static_cast<int>(srcs.size());
      d.add_srcs(srcs, next++, Type::b16);
    }
    if (names_ctas(instruction)) {
      plan.mask_source = static_cast<int>(srcs.size());
      srcs.push_back(d.src(next++, Type::b16));
    }
  }
  in.handler = prefetch ? run_prefetch : store ? run<issue_store> : run<issue_load>;
  d.set_operands(in, {}, srcs);
  return true;
}

// --- groups of bulk operations ---

Step run_commit(Exec& x, const DecodedInst&) {
  for_lanes(x.active, [&](int lane) { x.async().commit(x.thread(lane), AsyncGroup::bulk); });
  x.watch.tell(&Observer::commits, x, AsyncGroup::bulk, x.active);
  return Step::next;
}

// DecodedInst::flags: only the sources are waited for.
Step run_wait(Exec& x, const DecodedInst& in) {
  for_lanes(x.active, [&](int lane) {
    x.async().wait(x.thread(lane), AsyncGroup::bulk, static_cast<uint64_t>(in.imm), in.flags != 0);
  });
  x.watch.tell(&Observer::waits, x,
               {.group = AsyncGroup::bulk,
                .pending = static_cast<uint64_t>(in.imm),
                .read_only = in.flags != 0,
                .lanes = x.active});
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

} // namespace

// --- tensormap.replace ---

struct ReplacePlan {
  StateSpace space = StateSpace::generic;
  int64_t offset = 0;
  ReplacedField field{};
  size_t ordinal = 0;
};

namespace {

std::optional<ReplacedField> replaced_field(const Instruction& instruction) {
  using enum ReplacedField;
  constexpr std::pair<Qual, ReplacedField> kFields[] = {{Qual::global_address, global_address},
                                                        {Qual::rank, rank},
                                                        {Qual::box_dim, box_dim},
                                                        {Qual::global_dim, global_dim},
                                                        {Qual::global_stride, global_stride},
                                                        {Qual::element_stride, element_stride},
                                                        {Qual::elemtype, elemtype},
                                                        {Qual::interleave_layout, interleave_layout},
                                                        {Qual::swizzle_mode, swizzle_mode},
                                                        {Qual::swizzle_atomicity, swizzle_atomicity},
                                                        {Qual::fill_mode, fill_mode}};
  for (const auto& [qual, field] : kFields)
    if (instruction.has(qual))
      return field;
  return std::nullopt;
}

// The bytes that have a bit of the field.
Unwritten set_by(const ReplacePlan& plan) {
  layout::TensorMapBytes ones;
  ones.fill(static_cast<layout::TensorMapBytes::value_type>(0xff));
  layout::replace(ones, plan.field, plan.ordinal, 0);
  Unwritten set;
  for (size_t i = 0; i < set.size(); ++i)
    set[i] = ones[i] != static_cast<layout::TensorMapBytes::value_type>(0xff);
  return set;
}

Step run_replace(Exec& x, const DecodedInst& in) {
  const auto& plan = x.plan<ReplacePlan>(in);
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const uint64_t address = lane_address(x, in, 0, plan.offset, lane);
    const Access before = x.check(in, plan.space, address, layout::kTensorMapBytes, layout::kTensorMapAlign,
                                  AccessKind::write, lane);
    if (!before)
      return Step::stopped;
    const Unwritten unwritten = unwritten_in(before) & ~set_by(plan);
    const Access access = x.access(in, plan.space, address, layout::kTensorMapBytes, layout::kTensorMapAlign,
                                   AccessKind::write, lane);
    tell(x, access, lane);
    if (plan.field == ReplacedField::global_stride && plan.ordinal + 1 >= layout::kMaxTensorRank)
      x.remark(
          in,
          fmt::format("the ordinal of the stride is {}: strides are 0 to 3, and this one lies where the high "
                      "bits of all of them are (on an H200 too)",
                      plan.ordinal));
    layout::TensorMapBytes map;
    std::memcpy(map.data(), access.host, map.size());
    layout::replace(map, plan.field, plan.ordinal, x.src_lane(in, 1, lane));
    std::memcpy(access.host, map.data(), map.size());
    forget_written(access, unwritten);
  }
  return Step::next;
}

bool select_replace(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  auto& plan = d.make_plan<ReplacePlan>(in);
  const std::optional<ReplacedField> field = replaced_field(instruction);
  if (!field)
    return false;
  plan.field = *field;
  const auto& operands = instruction.operands;
  std::vector<Slot> srcs;
  const StateSpace space = isa::space_of(*instruction.binding);
  add_address(d, 0, space, srcs, plan.offset, plan.space);
  if (operands.size() == 3)
    plan.ordinal = static_cast<size_t>(operands[1].bits);
  const bool wide = plan.field == ReplacedField::global_address || plan.field == ReplacedField::global_stride;
  srcs.push_back(d.src(operands.size() - 1, wide ? Type::b64 : Type::b32));
  if (plan.ordinal >= layout::kMaxTensorRank ||
      (plan.field == ReplacedField::elemtype && operands.back().bits >= layout::kReplaceTypes) ||
      (plan.field == ReplacedField::swizzle_mode && operands.back().bits > uint64_t{3}))
    return false; // types and swizzles of later machines
  in.handler = run_replace;
  d.set_operands(in, {}, srcs);
  return true;
}

} // namespace

// --- tensormap.cp_fenceproxy ---

struct FencedCopyPlan {
  int64_t to_offset = 0, from_offset = 0;
  StateSpace to_space = StateSpace::global, from_space = StateSpace::shared;
};

namespace {

// The warp copies one map; the fence that comes with it has nothing to do, since tensor copies read maps
// where they are.
Step run_fenced_copy(Exec& x, const DecodedInst& in) {
  const auto& plan = x.plan<FencedCopyPlan>(in);
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
  const Access source = x.check(in, plan.from_space, from, layout::kTensorMapBytes, layout::kTensorMapAlign,
                                AccessKind::read, lane);
  if (!source)
    return Step::stopped;
  const Access target = x.access(in, plan.to_space, to, layout::kTensorMapBytes, layout::kTensorMapAlign,
                                 AccessKind::write, lane);
  if (!target)
    return Step::stopped;
  tell(x, source, lane);
  tell(x, target, lane);
  std::memcpy(target.host, source.host, layout::kTensorMapBytes);
  forget_written(target, unwritten_in(source));
  return Step::next;
}

bool select_fenced_copy(Decoder& d, const Instruction&, DecodedInst& in) {
  auto& plan = d.make_plan<FencedCopyPlan>(in);
  std::vector<Slot> srcs;
  add_address(d, 0, StateSpace::global, srcs, plan.to_offset, plan.to_space);
  add_address(d, 1, StateSpace::shared, srcs, plan.from_offset, plan.from_space);
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
