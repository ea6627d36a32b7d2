// mov (also packing and unpacking), cvta, isspacep.
//
// PTX ISA, "Data Movement and Conversion Instructions: mov, cvta, isspacep". Tests:
// tests/unit/vgpu/move_test.cc.
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/control/lane_moves.h"

#include <algorithm>
#include <span>

namespace lemma::vgpu {
namespace {

using isa::Qual;
using isa::StateSpace;
using isa::Type;
using ptx::Operand;
using ptx::OperandKind;

struct Bits128 {
  uint64_t low, high;
};

Step run_mov_128(Exec& x, const DecodedInst& in) {
  Bits128 values[kWarpSize];
  std::memcpy(values, x.src<Bits128>(in, 0), sizeof(values));
  keep_active(x.dst<Bits128>(in), values, x.active);
  return Step::next;
}

// mov.v2, mov.v4. Elements may be permuted among the same registers, so all are read before one is written.
template <class T>
Step run_mov_vector(Exec& x, const DecodedInst& in) {
  constexpr int kMostElements = 4;
  const int count = std::min<int>(in.dst_count, kMostElements);
  T values[kMostElements][kWarpSize];
  for (int i = 0; i < count; ++i)
    std::memcpy(values[i], x.src<T>(in, i), sizeof(values[i]));
  for (int i = 0; i < count; ++i)
    keep_active(x.dst<T>(in, i), values[i], x.active);
  return Step::next;
}

Step run_mov_pred(Exec& x, const DecodedInst& in) {
  x.set_pred(in, 0, x.pred(in, 0));
  return Step::next;
}

// Lane by lane, the bits of the sources one after the other become the bits of the destinations. in.width:
// bytes of one element on the side that has several.
Step run_repack(Exec& x, const DecodedInst& in) {
  const int src_count = in.op_count - in.dst_count;
  const auto part_bytes = [&](int count, const Slot& slot) {
    return count == 1 ? int{slot.bytes} : int{in.width};
  };
  for_lanes(x.active, [&](int lane) {
    std::byte bits[16] = {};
    int at = 0;
    for (int i = 0; i < src_count; ++i) {
      const Slot& slot = x.src_slot(in, i);
      const int bytes = part_bytes(src_count, slot);
      std::memcpy(bits + at, x.bases[slot.base] + slot.offset + lane * slot.bytes, bytes);
      at += bytes;
    }
    at = 0;
    for (int i = 0; i < in.dst_count; ++i) {
      const Slot& slot = x.dst_slot(in, i);
      const int bytes = part_bytes(in.dst_count, slot);
      std::byte* target = x.bases[0] + slot.offset + lane * slot.bytes;
      std::memset(target, 0, slot.bytes);
      std::memcpy(target, bits + at, bytes);
      at += bytes;
    }
  });
  return Step::next;
}

// Where every part has a register of its own size. Null: other shapes.
Handler repack_handler(bool unpacks, std::span<const Slot> parts, const Slot& whole, int part_bytes) {
  const bool exact =
      std::all_of(parts.begin(), parts.end(), [&](const Slot& s) { return s.bytes == part_bytes; });
  if (!exact || whole.bytes != part_bytes * static_cast<int>(parts.size()))
    return nullptr;
  const LaneMoves& moves = lane_moves();
  if (part_bytes == 2 && whole.bytes == 4)
    return unpacks ? moves.unpack_32_16 : moves.pack_32_16;
  if (part_bytes == 4 && whole.bytes == 8)
    return unpacks ? moves.unpack_64_32 : moves.pack_64_32;
  if (part_bytes == 2 && whole.bytes == 8)
    return unpacks ? moves.unpack_64_16 : moves.pack_64_16;
  return nullptr;
}

// Packing 8-bit elements of 16-bit registers works because in.width is 1 while the register's lanes take 2
// bytes.
bool select_repack(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const Operand& to = instruction.operands[0];
  const Operand& from = instruction.operands[1];
  const bool unpacks = to.kind == OperandKind::vector;
  const size_t count = unpacks ? to.elems.size() : from.elems.size();
  const int whole = isa::bytes_of(instruction.type());
  in.width = static_cast<uint8_t>(whole / static_cast<int>(count));
  const Type part = in.width == 8   ? Type::b64
                    : in.width == 4 ? Type::b32
                    : in.width == 2 ? Type::b16
                                    : Type::b8;
  std::vector<Slot> dsts, srcs;
  d.add_dsts(dsts, 0, unpacks ? part : instruction.type());
  d.add_srcs(srcs, 1, from.kind == OperandKind::vector ? part : instruction.type());
  d.set_operands(in, dsts, srcs);
  in.handler = unpacks != (from.kind == OperandKind::vector)
                   ? repack_handler(unpacks, unpacks ? dsts : srcs, unpacks ? srcs[0] : dsts[0], in.width)
                   : nullptr;
  if (!in.handler)
    in.handler = run_repack;
  return true;
}

bool select_mov_vector(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const Type type = instruction.type();
  std::vector<Slot> dsts, srcs;
  d.add_srcs(srcs, 1, type);
  d.add_dsts(dsts, 0, type);
  if (dsts.empty() || dsts.size() > 4 || srcs.size() != dsts.size())
    return false;
  d.set_operands(in, dsts, srcs);
  in.handler = register_bytes(type) == 2   ? run_mov_vector<uint16_t>
               : register_bytes(type) == 4 ? run_mov_vector<uint32_t>
                                           : run_mov_vector<uint64_t>;
  return true;
}

bool select_mov(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const Type type = instruction.type();
  if (instruction.has(Qual::v2) || instruction.has(Qual::v4))
    return select_mov_vector(d, instruction, in);
  in.computes = true;
  if (instruction.operands[0].kind == OperandKind::vector ||
      instruction.operands[1].kind == OperandKind::vector)
    return select_repack(d, instruction, in);
  d.set_simple_operands(in, type, type);
  switch (register_bytes(type)) {
  case 0:
    in.handler = run_mov_pred;
    return true;
  case 2:
    in.handler = lane_moves().mov_16;
    return true;
  case 4:
    in.handler = lane_moves().mov_32;
    return true;
  case 8:
    in.handler = lane_moves().mov_64;
    return true;
  case 16:
    in.handler = run_mov_128;
    return true;
  default:
    return false;
  }
}

uint64_t window_of(StateSpace space) {
  switch (space) {
  case StateSpace::shared:
  case StateSpace::shared_cluster:
    return kSharedWindow;
  case StateSpace::local:
    return kLocalWindow;
  case StateSpace::param:
    return kParamWindow;
  default:
    return 0; // global and const addresses are generic addresses
  }
}

Step run_cvta(Exec& x, const DecodedInst& in) {
  const auto delta = static_cast<uint64_t>(in.imm);
  if (in.width == 8)
    map1<uint64_t, uint64_t>(x, in, [&](uint64_t a) { return a + delta; });
  else
    map1<uint32_t, uint32_t>(x, in, [&](uint32_t a) { return static_cast<uint32_t>(a + delta); });
  return Step::next;
}

bool select_cvta(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  const Type type = instruction.type();
  const uint64_t window = window_of(isa::space_of(*instruction.binding));
  const bool to_space = instruction.opcode == isa::Opcode::cvta_to;
  in.imm = static_cast<int64_t>(to_space ? -window : window);
  in.width = static_cast<uint8_t>(register_bytes(type));
  in.handler = in.imm != 0     ? run_cvta
               : in.width == 8 ? lane_moves().mov_64
                               : lane_moves().mov_32; // global and const addresses are generic ones
  in.computes = true;
  // `cvta.space d, var+4` takes the variable's address in its space.
  d.set_simple_operands(in, type, type);
  return true;
}

Step run_isspacep(Exec& x, const DecodedInst& in) {
  const auto space = static_cast<StateSpace>(in.flags);
  const auto* a = x.src<uint64_t>(in, 0);
  LaneMask result = 0;
  for_lanes(x.active, [&](int lane) {
    const uint64_t address = a[lane];
    const auto within = [&](uint64_t window) { return address - window < kWindowBytes; };
    const bool is_shared = address - kSharedWindow < kSharedWindowBytes;
    const auto is_constant = [&] {
      const Allocation* allocation = x.launch->memory->find(address);
      return allocation != nullptr && allocation->read_only && allocation->registrations == 0;
    };
    bool is = false;
    switch (space) {
    case StateSpace::shared: // measured on an H200: .shared is .shared::cta, this CTA's memory alone
      is = is_shared && (address - kSharedWindow) >> kSharedRankShift == x.cta->rank;
      break;
    case StateSpace::shared_cluster:
      is = is_shared;
      break;
    case StateSpace::local:
      is = within(kLocalWindow);
      break;
    case StateSpace::param:
      is = within(kParamWindow);
      break;
    case StateSpace::const_:
      is = is_constant();
      break;
    default: // global; measured on an H200: an address that cvta.const gives is not
      is = !is_shared && !within(kLocalWindow) && !is_constant();
      break;
    }
    result |= static_cast<LaneMask>(is) << lane;
  });
  x.set_pred(in, 0, result);
  return Step::next;
}

bool select_isspacep(Decoder& d, const ptx::Instruction& instruction, DecodedInst& in) {
  in.flags = static_cast<uint8_t>(isa::space_of(*instruction.binding));
  in.handler = run_isspacep;
  d.set_simple_operands(in, Type::pred, Type::u64);
  return true;
}

} // namespace

void add_move_selectors(SelectorTable& table) {
  using isa::Opcode;
  table.add(Opcode::mov, select_mov);
  table.add({Opcode::cvta, Opcode::cvta_to}, select_cvta);
  table.add(Opcode::isspacep, select_isspacep);
}

} // namespace lemma::vgpu
