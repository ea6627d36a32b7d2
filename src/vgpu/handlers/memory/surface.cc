// suld, sust and sured, on surface objects by their handles.
//
// `.b` moves bytes, and its first coordinate counts them; `.p` moves texels, as the surface's format has
// them. A coordinate outside is what .trap, .clamp or .zero says: a fault, the nearest texel, or zeros that
// are read and nothing that is written. Texels are accessed as any memory: bounds, what was never written,
// who watches.
//
// PTX ISA: "Surface Instructions". Tests: tests/unit/vgpu/texture_test.cc; recorded hardware bits:
// tests/textures.
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/memory/reduction.h"
#include "vgpu/handlers/memory/texture_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using isa::Type;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

struct SurfacePlan {
  TextureOperands operands;
  Qual mode = Qual::trap;
  bool formatted = false; // .p
  uint32_t element_bytes = 4;
  int elements = 1;
  Qual reduction = Qual::none;
  Type type = Type::b32;

  uint32_t bytes() const { return element_bytes * static_cast<uint32_t>(elements); }
  int first_datum() const {
    return 1 + operands.geometry.layered + operands.geometry.axes;
  } // among the sources
};

namespace {

// Where a lane's texel is.
struct Place {
  bool faulted = false, outside = false;
  uint64_t offset = 0; // bytes, from the first texel
};

// What a coordinate means on an axis of so many: one that there is, or none.
std::optional<uint64_t> on_axis(uint32_t coordinate, uint64_t size, Qual mode) {
  const auto value = static_cast<int32_t>(coordinate);
  if (value >= 0 && static_cast<uint64_t>(value) < size)
    return static_cast<uint64_t>(value);
  if (mode != Qual::clamp)
    return std::nullopt;
  return value < 0 ? 0 : size - 1;
}

Place outside(Exec& x, const DecodedInst& in, int lane, const texture::Object& object) {
  const auto& plan = x.plan<SurfacePlan>(in);
  if (plan.mode != Qual::trap)
    return {.outside = true};
  const texture::Coordinates at = plan.operands.coordinates(x, in, lane);
  std::string text;
  for (int axis = 0; axis < plan.operands.geometry.axes; ++axis)
    text += fmt::format("{}{}", axis ? ", " : "", static_cast<int32_t>(at[static_cast<size_t>(axis)]));
  x.fault_at(in, FaultKind::out_of_bounds,
             fmt::format(
                 "the {} surface has {} x {} x {} texels of {} bytes, and the coordinates ({}) lie outside{}",
                 texture::name_of(object.memory.shape), object.memory.width, object.memory.height,
                 object.memory.depth, object.texel_bytes(), text,
                 plan.formatted ? "" : "; the first counts bytes"),
             lane, object.memory.address);
  return {.faulted = true};
}

Place find_place(Exec& x, const DecodedInst& in, int lane, const texture::Object& object) {
  const auto& plan = x.plan<SurfacePlan>(in);
  const texture::Coordinates at = plan.operands.coordinates(x, in, lane);
  // Of .b a row is bytes, whatever the texels are.
  const uint32_t unit = plan.formatted ? object.texel_bytes() : plan.bytes();
  if (!plan.formatted && at[0] % unit != 0) {
    x.fault_at(in, FaultKind::misaligned,
               fmt::format("the coordinate {} counts bytes, and is no multiple of the {} that are accessed",
                           static_cast<int32_t>(at[0]), unit),
               lane, object.memory.address);
    return {.faulted = true};
  }
  const auto first = static_cast<int32_t>(at[0]) / (plan.formatted ? 1 : static_cast<int32_t>(unit));
  Place place;
  const std::optional<uint64_t> column =
      on_axis(static_cast<uint32_t>(first), object.memory.width * object.texel_bytes() / unit, plan.mode);
  if (!column)
    return outside(x, in, lane, object);
  place.offset = *column * unit;
  uint64_t row = 0, plane = 0;
  if (plan.operands.geometry.axes > 1) {
    const auto found = on_axis(at[1], object.memory.height, plan.mode);
    if (!found)
      return outside(x, in, lane, object);
    row = *found;
  }
  if (plan.operands.geometry.axes > 2 || plan.operands.geometry.layered) {
    const bool layered = plan.operands.geometry.layered;
    const uint32_t index = layered ? plan.operands.layer(x, in, lane) : at[2];
    auto found = on_axis(index, object.memory.depth, plan.mode);
    if (layered && index >= object.memory.depth && plan.mode == Qual::clamp) // an unsigned number
      found = object.memory.depth - 1;
    if (!found)
      return outside(x, in, lane, object);
    plane = *found;
  }
  place.offset += row * object.pitch_bytes() + plane * object.plane_bytes();
  return place;
}

// For each active lane: its surface and place. f(lane, object, place) says false after a fault.
template <class F>
Step each_lane(Exec& x, const DecodedInst& in, F f) {
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const texture::Object* object = find_object(x, in, lane, true, x.plan<SurfacePlan>(in).operands.geometry);
    if (!object)
      return Step::stopped;
    const Place place = find_place(x, in, lane, *object);
    if (place.faulted || !f(lane, *object, place))
      return Step::stopped;
  }
  return Step::next;
}

Step run_load(Exec& x, const DecodedInst& in) {
  const auto& plan = x.plan<SurfacePlan>(in);
  PieceAccesses accesses(x);
  const Step step = each_lane(x, in, [&](int lane, const texture::Object& object, const Place& place) {
    std::array<std::byte, 16> bytes{};
    if (!place.outside) {
      const Access access = x.access(in, StateSpace::global, object.memory.address + place.offset,
                                     plan.bytes(), 1, AccessKind::read, lane);
      if (!access)
        return false;
      accesses.add(lane, access);
      std::memcpy(bytes.data(), access.host, plan.bytes());
    }
    for (int i = 0; i < plan.elements; ++i) {
      uint64_t value = 0;
      std::memcpy(&value, bytes.data() + static_cast<size_t>(i) * plan.element_bytes, plan.element_bytes);
      switch (x.dst_slot(in, i).bytes) {
      case 2:
        x.dst<uint16_t>(in, i)[lane] = static_cast<uint16_t>(value);
        break;
      case 4:
        x.dst<uint32_t>(in, i)[lane] = static_cast<uint32_t>(value);
        break;
      default:
        x.dst<uint64_t>(in, i)[lane] = value;
      }
    }
    return true;
  });
  if (step != Step::next)
    return step;
  accesses.tell();
  x.watch.tell(&Observer::has_read, x);
  return Step::next;
}

std::array<std::byte, 16> data_of(const Exec& x, const DecodedInst& in, int lane) {
  const auto& plan = x.plan<SurfacePlan>(in);
  std::array<std::byte, 16> bytes{};
  for (int i = 0; i < plan.elements; ++i) {
    const uint64_t value = x.src_lane(in, plan.first_datum() + i, lane);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * plan.element_bytes, &value, plan.element_bytes);
  }
  return bytes;
}

Step run_store(Exec& x, const DecodedInst& in) {
  const auto& plan = x.plan<SurfacePlan>(in);
  PieceAccesses accesses(x);
  const Step step = each_lane(x, in, [&](int lane, const texture::Object& object, const Place& place) {
    if (place.outside)
      return true;
    const uint32_t bytes = plan.formatted ? object.texel_bytes() : plan.bytes();
    const Access access = x.access(in, StateSpace::global, object.memory.address + place.offset, bytes, 1,
                                   AccessKind::write, lane);
    if (!access)
      return false;
    accesses.add(lane, access);
    const std::array<std::byte, 16> data = data_of(x, in, lane);
    if (plan.formatted) {
      texture::Texel words;
      std::memcpy(words.data(), data.data(), sizeof words);
      store_texel(object, words, access.host);
    } else {
      std::memcpy(access.host, data.data(), bytes);
    }
    return true;
  });
  if (step == Step::next)
    accesses.tell();
  return step;
}

// Of .p, integers have the surface's sign.
Reduce reduction_of(const SurfacePlan& plan, const texture::Object& object) {
  Type type = plan.type;
  if (plan.formatted && plan.reduction != Qual::and_ && plan.reduction != Qual::or_) {
    const bool is_signed = object.memory.type == TexelType::s32;
    type = type == Type::b64 ? (is_signed ? Type::s64 : Type::u64) : is_signed ? Type::s32 : Type::u32;
  }
  return find_reduction(plan.reduction, type);
}

Step run_reduction(Exec& x, const DecodedInst& in) {
  const auto& plan = x.plan<SurfacePlan>(in);
  PieceAccesses accesses(x);
  const Step step = each_lane(x, in, [&](int lane, const texture::Object& object, const Place& place) {
    if (place.outside)
      return true;
    const Reduce reduce = reduction_of(plan, object);
    if (!reduce) {
      x.fault(in, FaultKind::unsupported, "the surface's format has no such reduction here", lane);
      return false;
    }
    const Access access = x.access(in, StateSpace::global, object.memory.address + place.offset, plan.bytes(),
                                   plan.bytes(), AccessKind::atomic, lane);
    if (!access)
      return false;
    accesses.add(lane, access);
    reduce(access.host, data_of(x, in, lane).data(), false);
    return true;
  });
  if (step != Step::next)
    return step;
  accesses.tell();
  x.effect();
  return step;
}

// --- decoding ---

bool select_surface(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  auto& plan = d.make_plan<SurfacePlan>(in);
  const bool loads = instruction.opcode == Opcode::suld;
  std::vector<Slot> sources, destinations;
  const auto operands = place_texture_operands(d, instruction, in, loads ? 1 : 0, sources);
  if (!operands)
    return in.handler != nullptr;
  plan.operands = *operands;
  plan.mode = instruction.one_of({Qual::trap, Qual::clamp, Qual::zero});
  plan.formatted = instruction.has(Qual::p);
  plan.type = instruction.type(0);
  plan.element_bytes = static_cast<uint32_t>(isa::bits_of(plan.type)) / 8;
  plan.elements = instruction.has(Qual::v4) ? 4 : instruction.has(Qual::v2) ? 2 : 1;
  const size_t data = loads ? 0 : 1;
  if (d.count(data) != static_cast<size_t>(plan.elements))
    return false;
  if (loads)
    d.add_dsts(destinations, data, plan.type);
  else
    d.add_srcs(sources, data, plan.type);
  in.handler = loads ? run_load : run_store;
  if (instruction.opcode == Opcode::sured) {
    plan.reduction = instruction.one_of({Qual::add, Qual::min, Qual::max, Qual::and_, Qual::or_});
    in.handler = run_reduction;
  }
  d.set_operands(in, destinations, sources);
  return true;
}

} // namespace

void add_surface_selectors(SelectorTable& table) {
  table.add({Opcode::suld, Opcode::sust, Opcode::sured}, select_surface);
}

} // namespace lemma::vgpu
