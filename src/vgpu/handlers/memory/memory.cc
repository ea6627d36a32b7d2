// ld, st, ldu and the cache hints: prefetch, prefetchu, applypriority, discard, createpolicy.
//
// The handlers here go from lane to lane, and know every case: what is wrong with an address, and bytes that
// were never written. Accesses of which all is well for the whole warp seldom come here (memory_vectors.inc).
//
// Loading bytes that were never written is reported where the program does anything with them but store them:
// a register that it only stores (Code::copied) carries them to where it is stored, and they stay unwritten
// there. Where that is not recorded - a buffer that the host gave, a call's parameters - a store of what was
// loaded from nothing but unwritten memory is reported as that load; a part of it passes, for it is what
// stands between the members of a struct.
//
// Cache
// operators, eviction priorities and prefetch sizes are hints and have no effect. Caches and write buffers
// are not modelled: every access is coherent, stronger than .weak promises.
//
// Not here: .param passing of calls beyond the lanes' .param area, atomics (atomic.cc), asynchronous copies.
//
// PTX ISA: "Data Movement and Conversion Instructions": ld, ld.global.nc, ldu, st, prefetch, prefetchu,
// applypriority, discard, createpolicy; "Operand Size Exceeding Instruction-Type Size". Tests:
// tests/unit/vgpu/memory_ops_test.cc.
#include "vgpu/code/decoder.h"
#include "vgpu/engine/observer.h"
#include "vgpu/engine/warp.h"
#include "vgpu/handlers/memory/lane_memory.h"
#include "vgpu/handlers/memory/memory_handlers.h"
#include "vgpu/handlers/memory/store_order.h"
#include "vgpu/memory/find_access.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using isa::Type;
using ptx::Operand;
using ptx::OperandKind;

// --- bytes that were never written ---

Frame::Carried& carried_in(Frame& frame, uint32_t offset) {
  for (Frame::Carried& carried : frame.carried)
    if (carried.offset == offset)
      return carried;
  frame.carried.push_back({.offset = offset});
  return frame.carried.back();
}

// A lane loads `unwritten` bytes (bit i: byte i) among those that it accesses: each register carries its own,
// or it is reported.
void load_unwritten(Exec& x, const DecodedInst& in, const Access& access, uint32_t unwritten, int lane) {
  const uint32_t element_bytes = in.width / in.dst_count;
  const uint32_t element = static_cast<uint32_t>((uint64_t{1} << element_bytes) - 1);
  const bool whole = unwritten == static_cast<uint32_t>((uint64_t{1} << in.width) - 1);
  uint32_t used = 0;
  for (int i = 0; i < in.dst_count; ++i) {
    const Slot& slot = x.dst_slot(in, i);
    const uint32_t shift = static_cast<uint32_t>(i) * element_bytes;
    uint32_t bytes = unwritten >> shift & element;
    if (bytes == 0 || slot.reg() == ptx::kNone) // `_` takes it
      continue;
    if (!x.code->copied[slot.reg()]) {
      used |= bytes << shift;
      continue;
    }
    if ((in.flags & kSigned) && bytes >> (element_bytes - 1))
      bytes |= ~element;
    Frame::Carried& carried = carried_in(*x.frame, slot.offset);
    const LaneMask bit = LaneMask{1} << lane;
    carried.lanes |= bit;
    carried.whole = whole ? carried.whole | bit : carried.whole & ~bit;
    carried.bytes[lane] = static_cast<uint16_t>(bytes);
    carried.from[lane] = access;
    carried.load[lane] = x.code->id_of(in);
  }
  if (used)
    x.uninitialized(in, lane, name_of(access.at(static_cast<uint64_t>(std::countr_zero(used))), x.cta));
}

// Whether another lane's value has taken the place of what the lane stored: store_order.h.
bool is_stored_over(Exec& x, const DecodedInst& in, const uint64_t* at, int lane) {
  LaneMask same = 0;
  for_lanes(x.active, [&](int other) { same |= LaneMask{at[other] == at[lane]} << other; });
  return last_to_store(same, in.width) != lane &&
         x.find(in, space_of(in), at[lane], in.width, AccessKind::write).lane_stride == 0;
}

// A store has moved registers that carry unwritten bytes.
void store_unwritten(Exec& x, const DecodedInst& in) {
  uint64_t at[kWarpSize];
  lane_addresses(x, in, at);
  const int elements = in.op_count - in.dst_count - 1;
  const uint32_t element_bytes = in.width / static_cast<uint32_t>(elements);
  LaneMask told = 0; // one store of a lane, one report
  for (int i = 0; i < elements; ++i)
    for (const Frame::Carried& carried : x.frame->carried) {
      if (x.src_slot(in, i + 1).base != 0 || carried.offset != x.src_slot(in, i + 1).offset)
        continue;
      for_lanes(carried.lanes & x.active, [&](int lane) {
        const auto element = static_cast<uint32_t>((uint64_t{1} << element_bytes) - 1);
        const uint32_t bytes = carried.bytes[lane] & element;
        const LaneMask bit = LaneMask{1} << lane;
        if (bytes == 0 || is_stored_over(x, in, at, lane))
          return;
        const Access stored = x.find(in, space_of(in), at[lane] + static_cast<uint32_t>(i) * element_bytes,
                                     element_bytes, AccessKind::write);
        if (stored.set_unwritten(bytes, lane) || !(carried.whole & bit) || (told & bit))
          return;
        told |= bit;
        x.uninitialized(x.code->at(carried.load[lane]), lane, name_of(carried.from[lane], x.cta));
      });
    }
}

// Where the lanes' bytes lie on the host, each checked by itself.
struct Places {
  std::byte* at[kWarpSize]; // of the active lanes
  bool are_private = false; // every lane's bytes are in memory of its own
};

// False after a fault.
bool locate(Exec& x, const DecodedInst& in, AccessKind kind, Places& places) {
  uint64_t at[kWarpSize];
  lane_addresses(x, in, at);
  const uint32_t bytes = in.width;
  PieceAccesses accesses(x);
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const Access past = x.access_past_end(in, space_of(in), at[lane], bytes, kind, lane);
    const Access access = past ? past : x.access(in, space_of(in), at[lane], bytes, bytes, kind, lane);
    if (!access)
      return false;
    places.at[lane] = access.host;
    places.are_private = access.space == StateSpace::local || access.space == StateSpace::reg;
    if (access.bytes != 0)
      accesses.add(lane, access);
    if (const uint32_t unwritten = writes(kind) ? 0 : access.unwritten(lane))
      load_unwritten(x, in, access, unwritten, lane);
  }
  accesses.tell();
  return true;
}

} // namespace

template <class M>
Step load(Exec& x, const DecodedInst& in) {
  if (!x.frame->carried.empty())
    for (int i = 0; i < in.dst_count; ++i)
      drop_carried(x, x.dst_slot(in, i));
  Places places;
  if (!locate(x, in, AccessKind::copy, places))
    return Step::stopped;
  for (int i = 0; i < in.dst_count; ++i)
    with_register_type(x.dst_slot(in, i).bytes, [&](auto r) {
      using R = decltype(r);
      for_lanes(x.active, [&](int lane) {
        x.dst<R>(in, i)[lane] = resize<R>(load_relaxed<M>(places.at[lane] + i * sizeof(M)));
      });
    });
  if (in.flags & kOrdered)
    fence(std::memory_order_acquire);
  if (in.order.semantics != Semantics::weak)
    x.watch.tell(&Observer::has_read, x);
  return Step::next;
}

template <class M>
Step store(Exec& x, const DecodedInst& in) {
  if (in.flags & kOrdered)
    fence(std::memory_order_release);
  const uint64_t effects = x.warp->effects;
  Places places;
  if (!locate(x, in, AccessKind::write, places))
    return Step::stopped;
  x.warp->effects = effects; // one store is one effect, in the lanes' own memory only if it changes something
  bool changes = !places.are_private;
  for (int i = 0; i < in.op_count - in.dst_count - 1; ++i)
    with_register_type(x.src_slot(in, i + 1).bytes, [&](auto r) {
      const auto* s = x.src<decltype(r)>(in, i + 1);
      for_lanes_as_stored(x.active, in.width, [&](int lane) {
        std::byte* const p = places.at[lane] + i * sizeof(M);
        const M value = resize<M>(s[lane]);
        changes = changes || !(load_relaxed<M>(p) == value);
        store_relaxed<M>(p, value);
      });
    });
  if (changes && space_of(in) != StateSpace::reg)
    x.effect();
  if (!x.frame->carried.empty())
    store_unwritten(x, in);
  return Step::next;
}

template Step load<int8_t>(Exec&, const DecodedInst&);
template Step load<uint8_t>(Exec&, const DecodedInst&);
template Step load<int16_t>(Exec&, const DecodedInst&);
template Step load<uint16_t>(Exec&, const DecodedInst&);
template Step load<uint32_t>(Exec&, const DecodedInst&);
template Step load<int32_t>(Exec&, const DecodedInst&);
template Step load<uint64_t>(Exec&, const DecodedInst&);
template Step load<Bits128>(Exec&, const DecodedInst&);
template Step store<uint8_t>(Exec&, const DecodedInst&);
template Step store<uint16_t>(Exec&, const DecodedInst&);
template Step store<uint32_t>(Exec&, const DecodedInst&);
template Step store<uint64_t>(Exec&, const DecodedInst&);
template Step store<Bits128>(Exec&, const DecodedInst&);

namespace {

// Places the address as source 0 and sets space, offset and width.
Slot place_address(Decoder& decoder, const ptx::Instruction& instruction, size_t operand, DecodedInst& in) {
  const PlacedAddress address = decoder.address(operand);
  in.flags = static_cast<uint8_t>(address.space);
  if (instruction.has(Qual::acquire) || instruction.has(Qual::release) || instruction.has(Qual::mmio))
    in.flags |= kOrdered;
  if (decoder.notes().has(lowered::Note::one_address))
    in.flags |= kOneAddress;
  if (decoder.notes().has(lowered::Note::side_by_side))
    in.flags |= kSideBySide;
  in.imm = address.offset;
  return address.base;
}

bool select_load(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  const Type type = instruction.type();
  in.handler = with_element_type<true>(type, []<class M>(M) -> Handler { return load<M>; });
  if (!in.handler || instruction.operands.size() < 2)
    return false;
  const Slot address = place_address(decoder, instruction, 1, in);
  std::vector<Slot> dsts;
  decoder.add_dsts(dsts, 0, type);
  in.width = static_cast<uint8_t>(dsts.size() * isa::bytes_of(type));
  if (isa::is_signed(type))
    in.flags |= kSigned;
  decoder.set_operands(in, dsts, std::span(&address, 1));
  if (const Handler handler = vector_load(type, decoder.code(), in))
    in.handler = handler;
  return true;
}

} // namespace

bool select_store(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  const Type type = instruction.type();
  in.handler = with_element_type<false>(type, []<class M>(M) -> Handler { return store<M>; });
  if (!in.handler || instruction.operands.size() < 2)
    return false;
  std::vector<Slot> srcs{place_address(decoder, instruction, 0, in)};
  for (const lowered::Operand& element : decoder.operands(1)) {
    if (element.kind == lowered::OperandKind::none)
      return false; // bytes that stay as they are, between others
    srcs.push_back(decoder.src(element, type));
  }
  in.width = static_cast<uint8_t>((srcs.size() - 1) * isa::bytes_of(type));
  decoder.set_operands(in, {}, srcs);
  if (const Handler handler = vector_store(type, decoder.code(), in))
    in.handler = handler;
  return true;
}

namespace {

// A hint about an address: nothing to do, and a wrong address is no fault.
bool select_hint(Decoder& decoder, const ptx::Instruction&, DecodedInst& in) {
  in.handler = [](Exec&, const DecodedInst&) { return Step::next; };
  decoder.set_operands(in, {}, {});
  return true;
}

// applypriority and discard name 128 bytes of global memory, aligned as much. Data that was discarded keeps
// its value: the ISA leaves it undefined, and so does this.
Step check_line(Exec& x, const DecodedInst& in) {
  constexpr uint32_t kLineBytes = 128;
  uint64_t at[kWarpSize];
  lane_addresses(x, in, at);
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (!x.check(in, space_of(in), at[lane], kLineBytes, kLineBytes, AccessKind::write, lane))
      return Step::stopped;
  }
  return Step::next;
}

bool select_line_hint(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  if (instruction.operands.empty())
    return false;
  const Slot address = place_address(decoder, instruction, 0, in);
  in.handler = check_line;
  decoder.set_operands(in, {}, std::span(&address, 1));
  return true;
}

// A policy is opaque and only ever a hint, so any value will do.
bool select_create_policy(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  if (instruction.operands.empty())
    return false;
  const Slot policy = decoder.dst(0, Type::b64);
  in.handler = [](Exec& x, const DecodedInst& in) {
    for_lanes(x.active, [&](int lane) { x.dst<uint64_t>(in)[lane] = 0; });
    return Step::next;
  };
  decoder.set_operands(in, std::span(&policy, 1), {});
  return true;
}

} // namespace

void add_memory_selectors(SelectorTable& table) {
  table.add({Opcode::ld, Opcode::ldu}, select_load);
  table.add(Opcode::st, select_store);
  table.add({Opcode::prefetch, Opcode::prefetchu}, select_hint);
  table.add({Opcode::applypriority, Opcode::discard}, select_line_hint);
  table.add(Opcode::createpolicy, select_create_policy);
}

} // namespace lemma::vgpu
