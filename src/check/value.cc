// Values from registers. See value.h.
#include "check/value.h"

#include "isa/effects.h"
#include "vgpu/engine/matrix_moves.h"

#include <fmt/format.h>

#include <cstring>

namespace lemma::check {

using vgpu::Slot;

namespace {

std::vector<std::byte> value_of_st(const vgpu::Exec& x, const vgpu::DecodedInst& in, int lane) {
  const int elements = in.op_count - in.dst_count - 1;
  if (elements < 1 || in.width % elements != 0)
    return {};
  const auto bytes = static_cast<size_t>(in.width / elements);
  std::vector<std::byte> value(in.width);
  for (int i = 0; i < elements; ++i) {
    const Slot& slot = x.src_slot(in, 1 + i);
    if (slot.bytes < bytes)
      return {};
    std::memcpy(value.data() + static_cast<size_t>(i) * bytes,
                x.bases[slot.base] + slot.offset + static_cast<size_t>(lane) * slot.bytes, bytes);
  }
  return value;
}

std::vector<std::byte> value_of_matrix(const vgpu::Exec& x, const vgpu::DecodedInst& in,
                                       const vgpu::MatrixMove& move, int piece, uint32_t bytes) {
  std::vector<const std::byte*> registers;
  for (int i = move.first_source; i < in.op_count - in.dst_count; ++i)
    registers.push_back(x.bases[x.src_slot(in, i).base] + x.src_slot(in, i).offset);
  std::vector<std::byte> tile(static_cast<size_t>(move.map->tile_bytes()));
  move.map->gather(registers.data(), tile.data());
  const auto begin = tile.begin() + static_cast<ptrdiff_t>(piece) * move.piece_bytes;
  return {begin, begin + bytes};
}

} // namespace

std::vector<std::byte> written_value(const vgpu::Exec& x, const vgpu::WarpAccess& access, int piece) {
  const vgpu::DecodedInst& in = *access.access.instruction;
  if (access.access.kind != vgpu::AccessKind::write || &in != &x.code->insts[x.pc])
    return {};
  if (is_store(isa::effects_of(x.code->opcode_of(in))))
    return value_of_st(x, in, piece);
  const auto move = vgpu::matrix_move_of(*x.code, in);
  return move ? value_of_matrix(x, in, *move, piece, access.piece_bytes) : std::vector<std::byte>{};
}

std::string value_text(std::span<const std::byte> bytes, const vgpu::Code& code, vgpu::InstId in) {
  constexpr size_t kMost = 32; // bytes that are worth reading
  if (bytes.size() > kMost)
    return "";
  auto element = static_cast<size_t>(isa::bytes_of(code.function->instructions[in.index].type()));
  if (element == 0 || element > 8 || bytes.size() % element != 0)
    element = bytes.size() % 4 == 0 ? 4 : 1;
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += element) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, element);
    text += fmt::format("{}0x{:0{}x}", at ? ", " : "", value, 2 * element);
  }
  return bytes.size() > element ? "{" + text + "}" : text;
}

} // namespace lemma::check
