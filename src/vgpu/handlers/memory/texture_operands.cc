// Placing operands when a function is decoded, and finding a lane's object when it runs: what no object fits
// is a fault.
#include "vgpu/handlers/memory/texture_operands.h"

#include <fmt/format.h>

namespace lemma::vgpu {

using isa::Qual;
using isa::Type;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

std::optional<TextureGeometry> geometry_of(const Instruction& instruction) {
  switch (
      instruction.one_of({Qual::_1d, Qual::_2d, Qual::_3d, Qual::a1d, Qual::a2d, Qual::cube, Qual::acube})) {
  case Qual::_1d:
    return TextureGeometry{.axes = 1};
  case Qual::_2d:
    return TextureGeometry{.axes = 2};
  case Qual::_3d:
    return TextureGeometry{.axes = 3};
  case Qual::a1d:
    return TextureGeometry{.layered = true, .axes = 1};
  case Qual::a2d:
    return TextureGeometry{.layered = true, .axes = 2};
  case Qual::cube:
    return TextureGeometry{.axes = 3, .cube = true};
  case Qual::acube:
    return TextureGeometry{.layered = true, .axes = 3, .cube = true};
  default:
    return std::nullopt;
  }
}

namespace {

bool fits(const TextureGeometry& geometry, const texture::Object& object) {
  const TextureShape shape = object.memory.shape;
  if (!object.is_surface && !geometry.layered && geometry.axes == 1)
    return shape == (geometry.whole ? TextureShape::linear : TextureShape::d1);
  const bool is_cube = shape == TextureShape::cube || shape == TextureShape::layered_cube;
  return geometry.cube == is_cube && geometry.layered == object.is_layered() &&
         (is_cube || geometry.axes == object.axes());
}

} // namespace

bool place_handle(Decoder& decoder, size_t operand, std::vector<Slot>& sources) {
  const lowered::Operand& first = decoder.operands(operand)[0];
  if (first.kind != lowered::OperandKind::address)
    return false;
  const lowered::Address& address = decoder.lowered().addresses[first.index];
  if (!address.base.is_register() || address.variable != ptx::kNone || address.offset != 0)
    return false;
  sources.push_back(decoder.src(address.base, Type::u64));
  return true;
}

struct Refusal {
  const char* what = nullptr; // not executed, to follow "with"
};

namespace {

Step run_refused(Exec& x, const DecodedInst& in) {
  return x.fault(in, FaultKind::unsupported,
                 fmt::format("{} is legal here, but the virtual GPU does not execute it yet with {}",
                             isa::spelling_of(*x.ptx_instruction(in).binding), x.plan<Refusal>(in).what));
}

} // namespace

void refuse(Decoder& decoder, DecodedInst& in, const char* what) {
  in.handler = run_refused;
  decoder.make_plan<Refusal>(in).what = what;
  decoder.set_operands(in, {}, {});
}

std::optional<TextureOperands> place_texture_operands(Decoder& decoder, const Instruction& instruction,
                                                      DecodedInst& in, size_t operand,
                                                      std::vector<Slot>& sources) {
  const Operand& text = instruction.operands[operand];
  const std::optional<TextureGeometry> geometry = geometry_of(instruction);
  if (!geometry || geometry->cube || text.kind != OperandKind::address)
    return std::nullopt;
  if (text.elems.size() != 2) {
    refuse(decoder, in, "a sampler of its own");
    return std::nullopt;
  }
  if (!place_handle(decoder, operand, sources)) {
    refuse(decoder, in, kName);
    return std::nullopt;
  }
  const std::span<const lowered::Operand> coordinates = decoder.operands(operand).subspan(1);
  const size_t wanted = static_cast<size_t>(geometry->axes + geometry->layered);
  if (coordinates.size() < wanted)
    return std::nullopt;
  for (const lowered::Operand& coordinate : coordinates.first(wanted))
    sources.push_back(decoder.src(coordinate, Type::b32));
  return TextureOperands{*geometry};
}

const texture::Object* find_object(Exec& x, const DecodedInst& in, int lane, bool surface) {
  const uint64_t handle = x.src<uint64_t>(in, 0)[lane];
  const texture::Object* object = find_texture_object(*x.launch->memory, handle);
  const char* wanted = surface ? "surface" : "texture";
  if (object && object->is_surface == surface)
    return object;
  x.fault(in, FaultKind::illegal_instruction,
          object ? fmt::format("the handle {:#x} is that of a {}, where a {} is wanted", handle,
                               surface ? "texture" : "surface", wanted)
                 : fmt::format("the handle {:#x} is that of no {}: it was never made, or destroyed", handle,
                               wanted),
          lane, {fmt::format("cu{}ObjectCreate makes one", surface ? "Surf" : "Tex")});
  return nullptr;
}

const texture::Object* find_object(Exec& x, const DecodedInst& in, int lane, bool surface,
                                   const TextureGeometry& geometry) {
  const texture::Object* object = find_object(x, in, lane, surface);
  if (!object || fits(geometry, *object))
    return object;
  x.fault(in, FaultKind::illegal_instruction,
          fmt::format("the {} is {}, and the instruction is of another shape (on one axis, .s32 coordinates "
                      "are of linear "
                      "memory, .f32 ones of a 1D array)",
                      surface ? "surface" : "texture", texture::name_of(object->memory.shape)),
          lane);
  return nullptr;
}

} // namespace lemma::vgpu
