// tex, tld4 and txq, on texture objects by their handles; suq, which is txq of surfaces.
//
// A lane at a time: find the object, say which texels its coordinates mean (texture/filter.h), read each as
// any load does - bounds, what was never written, who watches - and combine them. Where all lanes fetch one
// texel each of one object, and nobody watches, the texels of all are found and checked at once
// (texture_lanes.h). The texture cache is not modelled: a fetch sees what was written before, where on the
// hardware it may not.
//
// There is one level, so that .level and .grad give what .base gives. Not modelled, and so refused when
// reached: offsets, depth comparison, samplers, cubes, multisample geometries, names of .texref variables,
// and the queries that the driver's compiler has not for handles either.
//
// PTX ISA: "Texture Instructions". Tests: tests/unit/vgpu/texture_test.cc; recorded hardware bits:
// tests/textures.
#include "numeric/convert.h"
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/memory/texture_lanes.h"
#include "vgpu/handlers/memory/texture_operands.h"
#include "vgpu/memory/find_access.h"

#include <algorithm>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using isa::Type;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;
using texture::Texel;

struct TexturePlan {
  TextureOperands operands;
  Type type = Type::f32;      // of the result
  bool has_predicate = false; // the destination after the vector: are the texels there
  int component = -1;         // tld4
  TextureLanes lanes;
};

namespace {

// False after a fault.
bool read_texels(Exec& x, const DecodedInst& in, int lane, const texture::Object& object,
                 const texture::Taps& taps, PieceAccesses& accesses, std::array<Texel, 8>& texels) {
  for (int i = 0; i < taps.count; ++i) {
    const texture::Tap& tap = taps.taps[static_cast<size_t>(i)];
    Texel& texel = texels[static_cast<size_t>(i)];
    if (tap.is_border || tap.is_zero) {
      texel = tap.is_border ? border_texel(object) : Texel{};
      continue;
    }
    const Access access = x.access(in, StateSpace::global, object.memory.address + tap.offset,
                                   object.texel_bytes(), 1, AccessKind::read, lane);
    if (!access)
      return false;
    accesses.add(lane, access);
    texel = load_texel(object, access.host);
  }
  return true;
}

texture::Taps find(const TexturePlan& plan, const texture::Object& object,
                   const texture::Coordinates& coordinates, uint32_t index) {
  if (plan.operands.geometry.whole)
    return find_texel(object, coordinates, index);
  const uint64_t layer = layer_of(object, index);
  return plan.component < 0 ? find_taps(object, coordinates, layer) : find_gather(object, coordinates, layer);
}

// To the four registers of a lane, or the two of .f16x2.
void store_result(Exec& x, const DecodedInst& in, int lane, const TexturePlan& plan, const Texel& result) {
  const int count = plan.type == Type::f16x2 ? 2 : 4;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    if (plan.type == Type::f16x2)
      x.dst<uint32_t>(in, i)[lane] =
          texture::half_of(result[2 * at]) | uint32_t{texture::half_of(result[2 * at + 1])} << 16;
    else if (plan.type == Type::f16)
      x.dst<uint16_t>(in, i)[lane] = texture::half_of(result[at]);
    else
      x.dst<uint32_t>(in, i)[lane] = result[at];
  }
}

// Is the handle the same in all active lanes?
bool is_one_object(const Exec& x, const DecodedInst& in) {
  const auto* handles = x.src<uint64_t>(in, 0);
  const uint64_t first = handles[std::countr_zero(x.active)];
  uint64_t other = 0;
  for (int lane = 0; lane < kWarpSize; ++lane)
    other |= (x.active >> lane & 1) ? handles[lane] ^ first : 0;
  return other == 0;
}

// The texels of all lanes that have one, beside the lowest of them; none where each needs a check of its own.
Access texels_at_once(Exec& x, const DecodedInst& in, const texture::Object& object, LaneMask lanes,
                      const LaneTexels& texels) {
  const uint64_t lowest = texels.lowest;
  const uint32_t bytes = object.texel_bytes();
  const Access range = x.find_access(in, StateSpace::global, object.memory.address + lowest,
                                     span_of(lowest, texels.highest, bytes), AccessKind::read);
  if (!range || range.lane_stride != 0)
    return {};
  // Neighbours are asked for together.
  uint64_t begin = 0, end = 0;
  bool all_written = true;
  for_lanes(lanes, [&](int lane) {
    const uint64_t at = texels.offsets[lane] - lowest;
    if (at != end) {
      all_written &= end == begin || range.was_written(begin, end - begin);
      begin = at;
    }
    end = at + bytes;
  });
  return all_written && range.was_written(begin, end - begin) ? range : Access{};
}

// Of texels that are words: no number is made of them.
bool are_words(const texture::Object& object) {
  return texture::bytes_of(object.memory.type) == sizeof(uint32_t);
}

void load_words(Exec& x, const DecodedInst& in, const texture::Object& object, const std::byte* host,
                const LaneTexels& texels) {
  const LaneMask inside = x.active & ~texels.outside;
  for (uint32_t channel = 0; channel < 4; ++channel) {
    auto* const to = x.dst<uint32_t>(in, static_cast<int>(channel));
    if (channel < object.memory.channels)
      for_lanes(inside, [&](int lane) {
        std::memcpy(&to[lane], host + (texels.offsets[lane] - texels.lowest) + channel * sizeof(uint32_t),
                    sizeof(uint32_t));
      });
    else if (inside == kAllLanes)
      std::fill_n(to, kWarpSize, 0u);
    else
      for (int lane = 0; lane < kWarpSize; ++lane)
        to[lane] = (inside >> lane & 1) ? 0 : to[lane];
  }
}

enum class Fetched : uint8_t { all, nothing, fault };

// Every lane's texel where each has one, of the same object, and all is well. `nothing`: by the plain way.
Fetched fetch_at_once(Exec& x, const DecodedInst& in, const TexturePlan& plan) {
  if (x.watch.is_on() || plan.component >= 0 || !x.active || !is_one_object(x, in))
    return Fetched::nothing;
  const TextureGeometry& geometry = plan.operands.geometry;
  const texture::Object* object = find_object(x, in, std::countr_zero(x.active), false, geometry);
  if (!object)
    return Fetched::fault;
  if (!geometry.whole && object->descriptor.filter == TextureFilter::linear)
    return Fetched::nothing;
  std::array<const uint32_t*, texture::kMostAxes> coordinates{};
  for (int axis = 0; axis < geometry.axes; ++axis)
    coordinates[static_cast<size_t>(axis)] = x.src<uint32_t>(in, 1 + geometry.layered + axis);
  LaneTexels texels;
  (geometry.whole ? plan.lanes.find_whole
                  : plan.lanes.find)(grid_of(*object), coordinates.data(),
                                     geometry.layered ? x.src<uint32_t>(in, 1) : nullptr, x.active, texels);
  const LaneMask inside = x.active & ~texels.outside;
  Access range;
  if (inside && !(range = texels_at_once(x, in, *object, inside, texels)))
    return Fetched::nothing;
  const Texel outside = geometry.whole || inside == x.active ? Texel{} : border_texel(*object);
  if (are_words(*object) && plan.type != Type::f16 && plan.type != Type::f16x2)
    load_words(x, in, *object, range.host, texels);
  else
    for_lanes(inside, [&](int lane) {
      const std::array<Texel, 8> one{
          load_texel(*object, range.host + (texels.offsets[lane] - texels.lowest))};
      store_result(x, in, lane, plan, combine(*object, {}, one));
    });
  const std::array<Texel, 8> one{outside};
  for_lanes(x.active & texels.outside,
            [&](int lane) { store_result(x, in, lane, plan, combine(*object, {}, one)); });
  return Fetched::all;
}

Step run_fetch(Exec& x, const DecodedInst& in) {
  const auto& plan = x.plan<TexturePlan>(in);
  if (const Fetched fetched = fetch_at_once(x, in, plan); fetched != Fetched::nothing) {
    if (fetched == Fetched::fault)
      return Step::stopped;
    if (plan.has_predicate) // memory that is not there is a fault instead
      x.set_pred(in, in.dst_count - 1, x.active);
    return Step::next;
  }
  PieceAccesses accesses(x);
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const texture::Object* object = find_object(x, in, lane, false, plan.operands.geometry);
    if (!object)
      return Step::stopped;
    const texture::Taps taps =
        find(plan, *object, plan.operands.coordinates(x, in, lane), plan.operands.layer(x, in, lane));
    std::array<Texel, 8> texels;
    if (!read_texels(x, in, lane, *object, taps, accesses, texels))
      return Step::stopped;
    if (plan.component < 0) {
      store_result(x, in, lane, plan, combine(*object, taps, texels));
    } else {
      Texel result;
      for (size_t i = 0; i < result.size(); ++i)
        result[i] = texture::gathered(*object, texels[i][static_cast<size_t>(plan.component)]);
      store_result(x, in, lane, plan, result);
    }
  }
  accesses.tell();
  x.watch.tell(&Observer::has_read, x);
  if (plan.has_predicate) // memory that is not there is a fault instead
    x.set_pred(in, in.dst_count - 1, x.active);
  return Step::next;
}

// DecodedInst::flags: a Query.
enum class Query : uint8_t { width, height, depth };

// The layers stand in the place of the first size that the shape has not; of what it has not, linear memory
// and surfaces have 0, a 1D texture 1 row (measured on an H200).
uint32_t answer(const texture::Object& object, Query query) {
  const TextureMemory& memory = object.memory;
  const TextureShape shape = memory.shape;
  const bool is_row = shape == TextureShape::d1 || shape == TextureShape::linear;
  const bool is_volume = shape == TextureShape::d3 || shape == TextureShape::layered_2d;
  switch (query) {
  case Query::width:
    return static_cast<uint32_t>(memory.width);
  case Query::height:
    if (is_row)
      return shape == TextureShape::d1 && !object.is_surface;
    return static_cast<uint32_t>(shape == TextureShape::layered_1d ? memory.depth : memory.height);
  case Query::depth:
    return is_volume ? static_cast<uint32_t>(memory.depth) : 0;
  }
  return 0;
}

template <bool kSurface>
Step run_query(Exec& x, const DecodedInst& in) {
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const texture::Object* object = find_object(x, in, lane, kSurface);
    if (!object)
      return Step::stopped;
    x.dst<uint32_t>(in)[lane] = answer(*object, static_cast<Query>(in.flags));
  }
  return Step::next;
}

// --- decoding ---

bool select_fetch(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  const bool gather = instruction.opcode == Opcode::tld4;
  const size_t levels = instruction.has(Qual::level) ? 1 : instruction.has(Qual::grad) ? 2 : 0;
  auto& plan = d.make_plan<TexturePlan>(in);
  plan.lanes = texture_lanes();
  std::vector<Slot> sources, destinations;
  const auto operands = place_texture_operands(d, instruction, in, 1, sources);
  if (!operands)
    return in.handler != nullptr;
  if (instruction.operands.size() != 2 + levels) {
    refuse(d, in, "an offset, or a depth to compare with");
    return true;
  }
  plan.operands = *operands;
  plan.operands.geometry.whole = instruction.type(1) == Type::s32;
  plan.type = instruction.type(0);
  if (gather)
    plan.component = instruction.has(Qual::r)   ? 0
                     : instruction.has(Qual::g) ? 1
                     : instruction.has(Qual::b) ? 2
                                                : 3;
  const Operand* vector = &instruction.operands[0];
  if (vector->kind == OperandKind::pair) {
    plan.has_predicate = true;
    vector = &instruction.operands[0].elems[0];
  }
  if (vector->kind != OperandKind::vector)
    return false;
  const size_t elements = d.count(0) - plan.has_predicate;
  for (size_t i = 0; i < d.count(0); ++i)
    destinations.push_back(d.dst(0, i < elements ? plan.type : Type::pred, i));
  in.handler = run_fetch;
  d.set_operands(in, destinations, sources);
  return true;
}

std::optional<Query> query_of(const Instruction& instruction) {
  switch (instruction.one_of({Qual::width, Qual::height, Qual::depth})) {
  case Qual::width:
    return Query::width;
  case Qual::height:
    return Query::height;
  case Qual::depth:
    return Query::depth;
  default:
    return std::nullopt;
  }
}

bool select_query(Decoder& d, const Instruction& instruction, DecodedInst& in) {
  const std::optional<Query> query = query_of(instruction);
  std::vector<Slot> sources;
  if (!query || instruction.has(Qual::level))
    return false;
  if (!place_handle(d, 1, sources)) {
    refuse(d, in, kName);
    return true;
  }
  in.handler = instruction.opcode == Opcode::suq ? run_query<true> : run_query<false>;
  in.flags = static_cast<uint8_t>(*query);
  const Slot destination = d.dst(0, Type::b32);
  d.set_operands(in, std::span(&destination, 1), sources);
  return true;
}

} // namespace

void add_texture_selectors(SelectorTable& table) {
  table.add({Opcode::tex, Opcode::tld4}, select_fetch);
  table.add({Opcode::txq, Opcode::suq}, select_query);
}

} // namespace lemma::vgpu
