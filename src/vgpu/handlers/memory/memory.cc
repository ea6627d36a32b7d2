// ld, st, ldu and the cache hints: prefetch, prefetchu, applypriority, discard, createpolicy.
//
// One warp instruction first finds where each lane's bytes lie - one check for the whole warp where the
// lanes' addresses lie in one allocation, else lane by lane - and then moves element after element.
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

// Where the lanes' bytes lie on the host.
struct Places {
  enum class Pattern : uint8_t { dense, uniform, scattered } pattern = Pattern::scattered;
  bool private_to_lanes = false; // every lane's bytes are in memory of its own
  bool fresh = false;            // ... and a store covers some that were not written before
  std::byte* host = nullptr;     // dense: of lane 0; uniform: of all
  std::byte* at[kWarpSize];      // scattered: of the active lanes
};

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

// --- where the lanes' bytes lie ---

// Lanes that need a check of their own: the range check said no, or the fault has to name the lane, or some
// of what they read was never written. False after a fault.
bool check_each_lane(Exec& x, const DecodedInst& in, const uint64_t* at, AccessKind kind, Places& places) {
  const uint32_t bytes = in.width;
  PieceAccesses accesses(x);
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const Access past = x.access_past_end(in, space_of(in), at[lane], bytes, kind, lane);
    const Access access = past ? past : x.access(in, space_of(in), at[lane], bytes, bytes, kind, lane);
    if (!access)
      return false;
    places.at[lane] = access.host;
    if (access.bytes != 0)
      accesses.add(lane, access);
    if (const uint32_t unwritten = writes(kind) ? 0 : access.unwritten(lane))
      load_unwritten(x, in, access, unwritten, lane);
  }
  accesses.tell();
  return true;
}

// Local memory: marks what a store covers as written; says of a load whether all that it reads was.
template <class Bytes>
[[gnu::always_inline]] inline bool note_local(const Exec& x, const Access& range, const uint64_t* at,
                                              uint64_t lowest, bool uniform, Bytes bytes, bool& fresh) {
  const LaneMask active = x.active;
  if (uniform) { // one mask a byte is for all lanes
    LaneMask all = active;
    for (uint64_t i = 0; i < bytes; ++i)
      all &= range.lanes_written[i];
    fresh = all != active;
    if (range.kind == AccessKind::write && fresh)
      for (uint64_t i = 0; i < bytes; ++i)
        range.lanes_written[i] |= active;
    return !fresh;
  }
  LaneMask all = active;
  for_lanes(active, [&](int lane) {
    LaneMask* written = range.lanes_written + (at[lane] - lowest);
    LaneMask have = ~LaneMask{0};
    for (uint64_t i = 0; i < bytes; ++i) {
      have &= written[i];
      if (range.kind == AccessKind::write)
        written[i] |= LaneMask{1} << lane;
    }
    all &= have | ~(LaneMask{1} << lane);
  });
  fresh = all != active;
  return !fresh;
}

std::pair<uint64_t, uint64_t> bounds(const uint64_t* at) {
  const auto [lowest, highest] = std::minmax_element(at, at + kWarpSize);
  return {*lowest, *highest};
}

// Zero where each lane's address is `bytes` after the one before; where all are the same; bits that any has.
struct Look {
  uint64_t not_dense = 0, not_uniform = 0, low_bits = 0;
};
[[gnu::always_inline]] inline Look look_at(const uint64_t* at, uint64_t bytes) {
  typedef uint64_t Lanes __attribute__((vector_size(16)));
  constexpr int kLanes = 2;
  Lanes not_dense{}, not_uniform{}, low_bits{}, dense = {at[0], at[0] + bytes};
  for (int lane = 0; lane < kWarpSize; lane += kLanes, dense += kLanes * bytes) {
    Lanes lanes;
    std::memcpy(&lanes, at + lane, sizeof lanes);
    not_uniform |= lanes ^ at[0];
    not_dense |= lanes ^ dense;
    low_bits |= lanes;
  }
  return {not_dense[0] | not_dense[1], not_uniform[0] | not_uniform[1], low_bits[0] | low_bits[1]};
}

// What a store covers is marked written here. False after a fault.
bool locate(Exec& x, const DecodedInst& in, AccessKind kind, Places& places) {
  alignas(64) uint64_t at[kWarpSize];
  lane_addresses(x, in, at);
  const uint64_t bytes = in.width;
  const auto [not_dense, not_uniform, low_bits] = look_at(at, bytes);
  if (low_bits & (bytes - 1))
    return check_each_lane(x, in, at, kind, places);

  const bool dense = not_dense == 0 && x.active == kAllLanes;
  const bool uniform = not_uniform == 0;
  const auto [lowest, highest] =
      dense || uniform ? std::pair(at[0], dense ? at[kWarpSize - 1] : at[0]) : bounds(at);
  const uint64_t span = span_of(lowest, highest, bytes);
  const Access range = x.find_access(in, space_of(in), lowest, span, kind);
  if (!range)
    return check_each_lane(x, in, at, kind, places);
  places.private_to_lanes = range.lane_stride != 0;
  if ((dense || uniform) && !places.private_to_lanes) {
    if (kind == AccessKind::write)
      range.mark_written(0, span);
    else if (!range.was_written(0, span))
      return check_each_lane(x, in, at, kind, places);
    places.pattern = dense ? Places::Pattern::dense : Places::Pattern::uniform;
    places.host = range.host;
    if (x.observer) [[unlikely]] // looked up again: so the range above stays in registers
      x.tell(x.find(in, space_of(in), lowest, span, kind), at, lowest, in.width,
             dense ? LanesLie::side_by_side : LanesLie::at_one_place);
    return true;
  }
  for (int lane = 0; lane < kWarpSize; ++lane)
    places.at[lane] = range.host + static_cast<uint64_t>(lane) * range.lane_stride + (at[lane] - lowest);
  if (range.is_tracked()) {
    const auto known = [&](auto size) { // of which the usual ones are known to the compiler
      if (range.lanes_written)
        return note_local(x, range, at, lowest, uniform, size, places.fresh);
      bool all = true;
      const auto one = [&](int lane) {
        if (kind == AccessKind::write)
          range.mark_written(at[lane] - lowest, size);
        else
          all &= range.was_written(at[lane] - lowest, size);
      };
      if (x.active == kAllLanes)
        for (int lane = 0; lane < kWarpSize; ++lane)
          one(lane);
      else
        for_lanes(x.active, one);
      return all;
    };
    const bool all = bytes == 4    ? known(std::integral_constant<uint64_t, 4>())
                     : bytes == 8  ? known(std::integral_constant<uint64_t, 8>())
                     : bytes == 16 ? known(std::integral_constant<uint64_t, 16>())
                                   : known(bytes);
    if (!all && kind == AccessKind::copy)
      return check_each_lane(x, in, at, kind, places);
  }
  if (x.observer) [[unlikely]]
    x.tell(x.find(in, space_of(in), lowest, span, kind), at, lowest, in.width);
  return true;
}

constexpr int kTogether = 8; // lanes in a turn of the loops, which else cost as much as what they move

// Lane l's element is kStep elements after that of the lane before.
template <size_t kStep, class T>
void take_every(const std::byte* from, T* d) {
  T elements[kWarpSize]; // which nobody else can see: no move waits for another
  for (size_t lane = 0; lane < kWarpSize; ++lane)
    std::memcpy(&elements[lane], from + lane * kStep * sizeof(T), sizeof(T));
  std::memcpy(d, elements, sizeof elements);
}

// Element `offset` bytes into each lane's bytes, into register lanes of type R.
template <class M, class R>
void load_element(const Exec& x, const DecodedInst& in, const Places& places, uint32_t offset, R* d) {
  if (places.pattern == Places::Pattern::uniform) {
    const R value = resize<R>(load_relaxed<M>(places.host + offset));
    if (x.active == kAllLanes) {
      std::fill_n(d, kWarpSize, value);
      return;
    }
    for (int lane = 0; lane < kWarpSize; ++lane)
      d[lane] = (x.active >> lane & 1) ? value : d[lane];
    return;
  }
  if (places.pattern == Places::Pattern::dense) {
    const std::byte* p = places.host + offset;
#if !defined(__SANITIZE_THREAD__)
    if constexpr (sizeof(M) == sizeof(R)) {
      // Compiles to vector moves, which read each aligned element whole.
      switch (in.width / sizeof(M)) {
      case 1:
        return take_every<1>(p, d);
      case 2:
        return take_every<2>(p, d);
      case 4:
        return take_every<4>(p, d);
      }
    }
#endif
    const size_t width = in.width; // stores may not change it
    for (int first = 0; first < kWarpSize; first += kTogether)
      for (int lane = first; lane < first + kTogether; ++lane, p += width)
        d[lane] = resize<R>(load_relaxed<M>(p));
    return;
  }
  for_lanes(x.active, [&](int lane) { d[lane] = resize<R>(load_relaxed<M>(places.at[lane] + offset)); });
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
      load_element<M>(x, in, places, static_cast<uint32_t>(i * sizeof(M)), x.dst<decltype(r)>(in, i));
    });
  if (in.flags & kOrdered)
    fence(std::memory_order_acquire);
  if (x.observer && in.order.semantics != Semantics::weak) [[unlikely]]
    x.observer->has_read(x);
  return Step::next;
}

namespace {

template <class M, class R>
void store_element(const Exec& x, const DecodedInst& in, const Places& places, uint32_t offset, const R* s) {
  if (places.pattern == Places::Pattern::dense) {
    std::byte* p = places.host + offset;
#if !defined(__SANITIZE_THREAD__)
    if constexpr (sizeof(M) == sizeof(R)) {
      if (in.width == sizeof(M)) {
        std::memcpy(p, s, sizeof(R) * kWarpSize);
        return;
      }
    }
#endif
    const size_t width = in.width; // stores may not change it
    for (int first = 0; first < kWarpSize; first += kTogether)
      for (int lane = first; lane < first + kTogether; ++lane, p += width)
        store_relaxed<M>(p, resize<M>(s[lane]));
    return;
  }
  if (places.pattern == Places::Pattern::uniform) {
    store_relaxed<M>(places.host + offset, resize<M>(s[last_to_store(x.active, in.width)]));
    return;
  }
  for_lanes_as_stored(x.active, in.width,
                      [&](int lane) { store_relaxed<M>(places.at[lane] + offset, resize<M>(s[lane])); });
}

// Would the store change any of the lanes' own memory?
template <class M>
bool changes(const Exec& x, const DecodedInst& in, const Places& places) {
  bool changed = false;
  for (int i = 0; i < in.op_count - in.dst_count - 1; ++i)
    with_register_type(x.src_slot(in, i + 1).bytes, [&](auto r) {
      const auto* s = x.src<decltype(r)>(in, i + 1);
      for_lanes(x.active, [&](int lane) {
        changed |= !(load_relaxed<M>(places.at[lane] + i * sizeof(M)) == resize<M>(s[lane]));
      });
    });
  return changed;
}

// Nobody else sees local memory, so a store there is an effect only where it changes something: unoptimized
// code spills what it polls in every turn of its loop. What stood there before the first store is no matter.
// The .param area is part of the frame.
template <class M>
void note_effect(Exec& x, const DecodedInst& in, const Places& places) {
  if (space_of(in) == StateSpace::reg)
    return;
  if (!places.private_to_lanes || places.fresh || changes<M>(x, in, places))
    x.effect();
}

} // namespace

template <class M>
Step store(Exec& x, const DecodedInst& in) {
  if (in.flags & kOrdered)
    fence(std::memory_order_release);
  const uint64_t effects = x.warp->effects;
  Places places;
  if (!locate(x, in, AccessKind::write, places))
    return Step::stopped;
  x.warp->effects = effects; // whichever way the addresses were checked, one store is one effect
  note_effect<M>(x, in, places);
  for (int i = 0; i < in.op_count - in.dst_count - 1; ++i)
    with_register_type(x.src_slot(in, i + 1).bytes, [&](auto r) {
      store_element<M>(x, in, places, static_cast<uint32_t>(i * sizeof(M)), x.src<decltype(r)>(in, i + 1));
    });
  if (!x.frame->carried.empty())
    store_unwritten(x, in);
  return Step::next;
}

template Step load<int8_t>(Exec&, const DecodedInst&);
template Step load<uint8_t>(Exec&, const DecodedInst&);
template Step load<int16_t>(Exec&, const DecodedInst&);
template Step load<uint16_t>(Exec&, const DecodedInst&);
template Step load<uint32_t>(Exec&, const DecodedInst&);
template Step load<uint64_t>(Exec&, const DecodedInst&);
template Step store<uint8_t>(Exec&, const DecodedInst&);
template Step store<uint16_t>(Exec&, const DecodedInst&);
template Step store<uint32_t>(Exec&, const DecodedInst&);
template Step store<uint64_t>(Exec&, const DecodedInst&);

namespace {

// The handler for elements of this type; null for what cannot be in memory.
Handler load_handler(Type type) {
  const bool is_signed = isa::is_signed(type);
  switch (isa::bits_of(type)) {
  case 8:
    return is_signed ? load<int8_t> : load<uint8_t>;
  case 16:
    return is_signed ? load<int16_t> : load<uint16_t>;
  case 32:
    return is_signed ? load<int32_t> : load<uint32_t>;
  case 64:
    return load<uint64_t>;
  case 128:
    return load<Bits128>;
  default:
    return nullptr;
  }
}

Handler store_handler(Type type) {
  switch (isa::bits_of(type)) {
  case 8:
    return store<uint8_t>;
  case 16:
    return store<uint16_t>;
  case 32:
    return store<uint32_t>;
  case 64:
    return store<uint64_t>;
  case 128:
    return store<Bits128>;
  default:
    return nullptr;
  }
}

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
  in.handler = load_handler(type);
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
  in.handler = store_handler(type);
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
