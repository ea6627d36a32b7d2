// What each kind of instruction does with undefined values. See undefined.h.
#include "check/undefined.h"

#include "isa/catalogue.h"
#include "isa/effects.h"
#include "isa/form.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

namespace lemma::check {

namespace effect = isa::effect;
using isa::StateSpace;
using vgpu::AsyncKind;
using vgpu::AsyncOperation;
using vgpu::DecodedInst;
using vgpu::Exec;
using vgpu::MatrixMove;
using vgpu::MemoryPlace;
using vgpu::Slot;

namespace {

constexpr size_t kMostOrigins = 4096; // of a cluster
constexpr uint16_t kAllBytes = 0xffff;
constexpr int kFirstOfStAsync = 2; // sources before are addresses

enum class Deed : uint8_t {
  computes,
  moves,
  converts,
  shifts,
  masks,
  selects,
  shuffles,
  collects,
  votes,
  decides,
  accesses,
  issues,
  matrices,
  forgets
};

// Of what is asynchronous: that its registers have what is stored, or reduced with: st.async and red.async.
bool has_values(isa::Effects does) {
  return does.has(effect::asynchronous | effect::ordered);
}

Deed deed_of(const ptx::Instruction& instruction) {
  static constexpr std::pair<isa::Effects, Deed> kDeeds[] = {
      {effect::jumps, Deed::decides},      {effect::calls, Deed::forgets},
      {effect::moves, Deed::moves},        {effect::converts, Deed::converts},
      {effect::shifts_left, Deed::shifts}, {effect::shifts_right, Deed::shifts},
      {effect::zero_decides, Deed::masks}, {effect::one_decides, Deed::masks},
      {effect::selects, Deed::selects},    {effect::shuffles, Deed::shuffles},
      {effect::collects, Deed::collects},  {effect::meets_cta, Deed::votes},
      {effect::accesses, Deed::accesses},
  };
  const isa::Effects does = isa::effects_of(instruction.opcode);
  for (const auto& [what, deed] : kDeeds)
    if (does.has(what))
      return deed;
  // st.async and red.async in global memory are as st and red.
  if (does.has(effect::asynchronous | effect::writes))
    return !has_values(does) || instruction.has(isa::Qual::mbarrier_complete_tx_bytes) ? Deed::issues
                                                                                       : Deed::accesses;
  if (const isa::MatrixRow* row = instruction.form()->matrix; row && !does.has(effect::wgmma))
    return row->numeric == isa::Numeric::none ? Deed::matrices : Deed::forgets;
  return Deed::computes;
}

// Of a register of that slot; predicates have one.
uint32_t bytes_of(const Slot& slot) {
  return slot.bytes == 0 ? 1u : (1u << slot.bytes) - 1;
}

// Of the first four bytes.
uint32_t bits_in(uint32_t bytes) {
  uint32_t bits = 0;
  for (uint32_t byte = 0; byte < sizeof(uint32_t); ++byte)
    bits |= (bytes >> byte & 1) * (0xffu << 8 * byte);
  return bits;
}

// Lanes in which a register that an instruction reads was never written.
LaneMask missing_lanes(const Exec& x, uint32_t reg) {
  return reg != ptx::kNone && x.code->tracked[reg] ? x.mask & ~x.frame->written[reg] : 0;
}

Slot guard_of(const Exec& x, const DecodedInst& in) {
  Slot slot;
  slot.offset = in.guard_offset;
  slot.set_reg(x.code->guard_register(in));
  return slot;
}

// Of memory whose owner knows it by byte.
bool was_written(const MemoryPlace& place, uint64_t offset) {
  if (place.is_shared())
    return place.cta->shared_written[offset] != 0;
  return !place.allocation || !place.allocation->init || place.allocation->init->all_set(offset, 1);
}

} // namespace

// --- values

void UndefinedValues::Value::add(const Value& value, LaneMask of) {
  const LaneMask more = value.lanes & of;
  if (!more)
    return;
  if (bits || value.bits) {
    Bits both{};
    vgpu::for_lanes(lanes | more, [&](int lane) {
      both[static_cast<size_t>(lane)] =
          (lanes >> lane & 1 ? bits_of(lane) : 0) | (more >> lane & 1 ? value.bits_of(lane) : 0);
    });
    bits = std::make_shared<const Bits>(both);
  }
  if (lanes == 0)
    origin = value.origin;
  lanes |= more;
  computed |= value.computed & more;
  vgpu::for_lanes(
      more, [&](int lane) { bytes[static_cast<size_t>(lane)] |= value.bytes[static_cast<size_t>(lane)]; });
}

uint32_t UndefinedValues::Value::bits_of(int lane) const {
  return bits ? (*bits)[static_cast<size_t>(lane)] : bits_in(bytes[static_cast<size_t>(lane)]);
}

void UndefinedValues::Value::set_bits(LaneMask of, const Bits& undefined, uint32_t from) {
  vgpu::for_lanes(of, [&](int lane) {
    uint32_t in_bytes = 0;
    for (uint32_t byte = 0; byte < sizeof(uint32_t); ++byte)
      in_bytes |= uint32_t{(undefined[static_cast<size_t>(lane)] >> 8 * byte & 0xff) != 0} << byte;
    if (in_bytes)
      add(lane, in_bytes, {from, true});
  });
  bits = std::make_shared<const Bits>(undefined);
}

void UndefinedValues::Value::add(int lane, uint32_t undefined, const UndefinedByte& how) {
  if (bits) {
    Bits more = *bits;
    more[static_cast<size_t>(lane)] =
        (lanes >> lane & 1 ? more[static_cast<size_t>(lane)] : 0) | bits_in(undefined);
    bits = std::make_shared<const Bits>(more);
  }
  if (lanes == 0)
    origin = how.origin;
  lanes |= LaneMask{1} << lane;
  computed |= LaneMask{how.computed} << lane;
  bytes[static_cast<size_t>(lane)] |= static_cast<uint16_t>(undefined);
}

void UndefinedValues::Value::compute() {
  computed = lanes;
  bits.reset();
  vgpu::for_lanes(lanes, [&](int lane) { bytes[static_cast<size_t>(lane)] = kAllBytes; });
}

UndefinedValues::Value UndefinedValues::value_of(const Exec& x, const Slot& slot) const {
  if (slot.base != 0)
    return {};
  Value value;
  if (const auto found = values_.find({x.bases[0], slot.offset}); found != values_.end())
    value = found->second;
  if (in_registers_ && in_registers_ == x.code->id_at(x.pc))
    vgpu::for_lanes(missing_lanes(x, slot.reg()),
                    [&](int lane) { value.add(lane, bytes_of(slot), origin_); });
  return value;
}

UndefinedValues::Value UndefinedValues::value_of_sources(const Exec& x, const DecodedInst& in, int first,
                                                         int last) const {
  Value all;
  for (int i = first; i < last; ++i)
    all.add(value_of(x, x.src_slot(in, i)), x.active);
  return all;
}

void UndefinedValues::find(const Exec& x, const DecodedInst& in, int lane, const std::string& what) {
  if (&in != &x.code->insts[x.pc]) // it moves what another has found
    return;
  const vgpu::InstId id = x.code->id_of(in);
  const auto same = std::find_if(memory_->origins.begin(), memory_->origins.end(),
                                 [&](const UndefinedOrigin& origin) { return origin.who.instruction == id; });
  if (same == memory_->origins.end() && memory_->origins.size() >= kMostOrigins)
    return;
  origin_ = {static_cast<uint32_t>(same - memory_->origins.begin()), false};
  if (same == memory_->origins.end())
    memory_->origins.push_back({Statement::at(x, lane < 0 ? kAllLanes : LaneMask{1} << lane), what});
  bool in_register = missing_lanes(x, x.code->guard_register(in)) != 0;
  for (const Slot& slot : x.code->srcs_of(in))
    in_register |= slot.base == 0 && missing_lanes(x, slot.reg());
  if (in_register) {
    in_registers_ = id;
    return;
  }
  vgpu::for_lanes(lane < 0 ? x.active : LaneMask{1} << lane,
                  [&](int each) { found_.add(each, kAllBytes, origin_); });
}

// --- instructions

void UndefinedValues::begin(const Exec& x, const Report& report) {
  const DecodedInst& in = x.code->insts[x.pc];
  now_ = x.code->id_of(in);
  frame_ = x.bases[0];
  made_ = {};
  apart_.clear();
  given_.clear();
  tile_.clear();
  by_byte_ = shuffled_ = false;
  if (values_.empty() && votes_.empty() && in_registers_ != now_)
    return;
  const isa::Effects does = isa::effects_of(x.code->opcode_of(in));
  const Deed deed = in.source == ptx::kNone ? Deed::computes : deed_of(x.ptx_instruction(in));
  const int sources = in.op_count - in.dst_count;
  const auto use = [&](const Value& value, LaneMask lanes, std::string_view how) {
    if (const LaneMask used = value.lanes & lanes)
      report(memory_->origins[value.origin], how, std::countr_zero(used));
  };
  Value guard = in.guarded ? value_of(x, guard_of(x, in)) : Value{};
  const auto give = [&](int first) {
    for (int i = first; i < sources; ++i)
      given_.push_back(value_of(x, x.src_slot(in, i)));
  };
  switch (deed) {
  case Deed::decides:
    use(guard, x.mask, "decides a branch");
    use(value_of_sources(x, in, 0, sources), x.active, "decides a branch");
    return;
  case Deed::accesses:
    use(value_of(x, x.src_slot(in, 0)), x.active, "is an address");
    use(guard, x.mask, "decides whether memory is accessed");
    give(1);
    return;
  case Deed::issues: {
    const int accesses = has_values(does) ? kFirstOfStAsync : sources;
    use(value_of_sources(x, in, 0, accesses), x.active, "says what an asynchronous operation accesses");
    use(guard, x.mask, "decides whether memory is accessed");
    give(accesses);
    return;
  }
  case Deed::matrices:
    begin_matrix(x, in, report);
    break;
  case Deed::moves:
    move(x, in);
    break;
  case Deed::converts:
    convert(x, in);
    break;
  case Deed::shifts:
    shift(x, in, does.has(effect::shifts_left));
    break;
  case Deed::masks:
    mask(x, in, does.has(effect::one_decides));
    break;
  case Deed::selects: {
    const LaneMask first = x.pred(in, 2);
    made_.add(value_of(x, x.src_slot(in, 0)), first & x.active);
    made_.add(value_of(x, x.src_slot(in, 1)), ~first & x.active);
    Value decides = value_of(x, x.src_slot(in, 2));
    decides.compute();
    made_.add(decides, x.active);
    break;
  }
  case Deed::collects:
    collect(x, in);
    break;
  case Deed::votes: // when the barrier has completed
    take_vote(x);
    break;
  case Deed::shuffles: // once it is known who takes whose
  case Deed::forgets:
    break;
  case Deed::computes:
    made_ = value_of_sources(x, in, 0, sources);
    made_.compute();
    break;
  }
  guard.compute();
  made_.add(guard, x.mask);
}

// Of several registers into one, or of one into several: the bytes stay in their order.
void UndefinedValues::move(const Exec& x, const DecodedInst& in) {
  const int sources = in.op_count - in.dst_count;
  const auto total = [](std::span<const Slot> slots) {
    return std::accumulate(slots.begin(), slots.end(), 0u,
                           [](uint32_t sum, const Slot& slot) { return sum + slot.bytes; });
  };
  const std::span<const Slot> destinations = x.code->dsts_of(in);
  const uint32_t bytes = total(destinations);
  if ((sources == 1 && in.dst_count == 1) || bytes > 16 || bytes != total(x.code->srcs_of(in))) {
    made_ = value_of_sources(x, in, 0, sources);
    return;
  }
  Value whole;
  for (uint32_t i = 0, at = 0; i < static_cast<uint32_t>(sources); at += x.src_slot(in, i++).bytes) {
    const Value part = value_of(x, x.src_slot(in, static_cast<int>(i)));
    if (part.bits) // its bytes say too much
      continue;
    vgpu::for_lanes(part.lanes & x.active, [&](int lane) {
      whole.add(lane, static_cast<uint32_t>(part.bytes[static_cast<size_t>(lane)]) << at,
                {part.origin, (part.computed >> lane & 1) != 0});
    });
  }
  apart_.resize(in.dst_count);
  for (uint32_t i = 0, at = 0; i < in.dst_count; at += destinations[i++].bytes)
    vgpu::for_lanes(whole.lanes, [&](int lane) {
      if (const uint32_t part = whole.bytes[static_cast<size_t>(lane)] >> at & bytes_of(destinations[i]))
        apart_[i].add(lane, part, {whole.origin, (whole.computed >> lane & 1) != 0});
    });
}

// Of an integer to another: the low bytes stay what they are, and the sign's go on.
void UndefinedValues::convert(const Exec& x, const DecodedInst& in) {
  const ptx::Instruction& instruction = x.ptx_instruction(in);
  const isa::Type to = instruction.type(0), from = instruction.type(1);
  made_ = value_of_sources(x, in, 0, in.op_count - in.dst_count);
  if (!isa::is_integer(to) || !isa::is_integer(from) || instruction.has(isa::Qual::sat)) {
    made_.compute();
    return;
  }
  // The bytes that a value of the type has, and the one that its sign is in.
  const auto bytes_in = [](isa::Type type) { return (1u << isa::bytes_of(type)) - 1; };
  const auto sign_in = [](isa::Type type) {
    return isa::is_signed(type) ? 1u << (isa::bytes_of(type) - 1) : 0;
  };
  const Value given = std::exchange(made_, {});
  if (given.bits) // its bytes say too much
    return;
  vgpu::for_lanes(given.lanes, [&](int lane) {
    uint32_t undefined = given.bytes[static_cast<size_t>(lane)] & bytes_in(from);
    if ((undefined & sign_in(from)) != 0)
      undefined |= kAllBytes & ~bytes_in(from);
    undefined &= bytes_in(to);
    if ((undefined & sign_in(to)) != 0) // the register may be wider
      undefined |= kAllBytes & ~bytes_in(to);
    if (undefined)
      made_.add(lane, undefined, {given.origin, (given.computed >> lane & 1) != 0});
  });
}

// By whole bytes these stay what they are; else a byte has bits of two.
void UndefinedValues::shift(const Exec& x, const DecodedInst& in, bool left) {
  const Value given = value_of(x, x.src_slot(in, 0)), amount = value_of(x, x.src_slot(in, 1));
  const auto bytes = std::max<uint32_t>(x.dst_slot(in).bytes, 1);
  if (given.bits && amount.lanes == 0 && !isa::is_signed(x.ptx_instruction(in).type(0))) {
    Value::Bits moved{};
    vgpu::for_lanes(given.lanes & x.active, [&](int lane) {
      const uint64_t amount_of_lane = std::min<uint64_t>(x.src_lane(in, 1, lane), 32);
      const uint64_t undefined = given.bits_of(lane);
      moved[static_cast<size_t>(lane)] =
          static_cast<uint32_t>(left ? undefined << amount_of_lane : undefined >> amount_of_lane);
    });
    made_.set_bits(given.lanes & x.active, moved, given.origin);
    return;
  }
  const uint32_t all = (1u << bytes) - 1, sign = 1u << (bytes - 1);
  const bool is_signed = !left && isa::is_signed(x.ptx_instruction(in).type(0));
  vgpu::for_lanes((given.lanes | amount.lanes) & x.active, [&](int lane) {
    if (amount.lanes >> lane & 1) {
      made_.add(lane, kAllBytes, {amount.origin, true});
      return;
    }
    const uint32_t undefined = given.bytes[static_cast<size_t>(lane)] & all;
    const auto bits = static_cast<uint32_t>(std::min<uint64_t>(x.src_lane(in, 1, lane), 8 * bytes));
    const uint32_t whole = bits / 8;
    uint32_t moved = left ? undefined << whole : undefined >> whole;
    if (bits % 8 != 0)
      moved |= left ? undefined << (whole + 1) : undefined >> (whole + 1);
    if (is_signed && (undefined & sign) != 0)
      moved |= all & ~(all >> whole);
    if (moved &= all)
      made_.add(lane, moved, {given.origin, bits % 8 != 0 || (given.computed >> lane & 1) != 0});
  });
}

// Zeros of the one, ones of an `or`, leave nothing of the other.
void UndefinedValues::mask(const Exec& x, const DecodedInst& in, bool with_ones) {
  const uint32_t absorbing = with_ones ? 0xff : 0;
  const std::array<Value, 2> sources = {value_of(x, x.src_slot(in, 0)), value_of(x, x.src_slot(in, 1))};
  const auto absorbs = [&](int source, int lane, uint32_t byte) {
    if (sources[static_cast<size_t>(source)].bytes[static_cast<size_t>(lane)] >> byte & 1)
      return false;
    if (x.src_slot(in, source).bytes == 0)
      return (x.pred(in, source) >> lane & 1) == (absorbing & 1);
    return (x.src_lane(in, source, lane) >> byte * 8 & 0xff) == absorbing;
  };
  Value both = sources[0];
  both.add(sources[1], kAllLanes);
  if (both.bits) {
    const auto absorbed = [&](int source, int lane) {
      const auto value = static_cast<uint32_t>(x.src_lane(in, source, lane));
      const Value& of = sources[static_cast<size_t>(source)];
      return (with_ones ? value : ~value) & ~(of.lanes >> lane & 1 ? of.bits_of(lane) : 0);
    };
    Value::Bits left{};
    vgpu::for_lanes(both.lanes & x.active, [&](int lane) {
      left[static_cast<size_t>(lane)] = both.bits_of(lane) & ~absorbed(0, lane) & ~absorbed(1, lane);
    });
    made_.set_bits(both.lanes & x.active, left, both.origin);
    return;
  }
  vgpu::for_lanes(both.lanes & x.active, [&](int lane) {
    uint32_t undefined = 0;
    for (uint32_t byte = 0; byte < std::max<uint32_t>(x.dst_slot(in).bytes, 1); ++byte)
      if ((both.bytes[static_cast<size_t>(lane)] >> byte & 1) && !absorbs(0, lane, byte) &&
          !absorbs(1, lane, byte))
        undefined |= 1u << byte;
    if (undefined)
      made_.add(lane, undefined, {both.origin, true});
  });
}

void UndefinedValues::shuffle(const int* sources) {
  std::copy_n(sources, kWarpSize, sources_.begin());
  shuffled_ = true;
}

// What it stores, or moves from register to register, by byte of the tile.
void UndefinedValues::begin_matrix(const Exec& x, const DecodedInst& in, const Report& report) {
  const std::optional<MatrixMove> move = vgpu::matrix_move_of(*x.code, in);
  const Value address = move->addressing ? value_of(x, x.src_slot(in, 0)) : Value{};
  if (const LaneMask used = address.lanes & move->addressing)
    report(memory_->origins[address.origin], "is an address", std::countr_zero(used));
  const int count = in.op_count - in.dst_count - move->first_source;
  if (count <= 0 || (in.dst_count != 0 && !move->transposed))
    return;
  const size_t lane_bytes = x.src_slot(in, move->first_source).bytes;
  std::vector<uint8_t> flags(static_cast<size_t>(count) * kWarpSize * lane_bytes);
  std::vector<const std::byte*> registers;
  bool any = false;
  for (int i = 0; i < count; ++i) {
    uint8_t* const of_register = flags.data() + static_cast<size_t>(i) * kWarpSize * lane_bytes;
    registers.push_back(reinterpret_cast<const std::byte*>(of_register));
    const Value value = value_of(x, x.src_slot(in, move->first_source + i));
    vgpu::for_lanes(value.lanes, [&](int lane) {
      for (size_t byte = 0; byte < lane_bytes; ++byte)
        if (value.bytes[static_cast<size_t>(lane)] >> byte & 1)
          of_register[static_cast<size_t>(lane) * lane_bytes + byte] =
              kUndefined | ((value.computed >> lane & 1) != 0 ? kComputed : 0);
    });
    if (value.lanes) {
      any = true;
      tile_origin_ = value.origin;
      tile_lane_ = std::countr_zero(value.lanes);
    }
  }
  if (!any)
    return;
  tile_.assign(static_cast<size_t>(move->map->tile_bytes()), kDefined);
  move->map->gather(registers.data(), reinterpret_cast<std::byte*>(tile_.data()));
  if (move->transposed) {
    scatter(x, in, *move->transposed);
    tile_.clear();
  }
}

// What the tile's bytes make of the destinations.
void UndefinedValues::scatter(const Exec& x, const DecodedInst& in, const layout::TileMap& map) {
  const size_t lane_bytes = x.dst_slot(in).bytes;
  std::vector<uint8_t> flags(in.dst_count * kWarpSize * lane_bytes);
  std::vector<std::byte*> registers;
  for (size_t i = 0; i < in.dst_count; ++i)
    registers.push_back(reinterpret_cast<std::byte*>(flags.data() + i * kWarpSize * lane_bytes));
  map.scatter(reinterpret_cast<const std::byte*>(tile_.data()), registers.data());
  apart_.resize(in.dst_count);
  for (size_t i = 0; i < flags.size(); ++i)
    if (flags[i])
      apart_[i / lane_bytes / kWarpSize].add(static_cast<int>(i / lane_bytes % kWarpSize),
                                             1u << i % lane_bytes,
                                             {tile_origin_, (flags[i] & kComputed) != 0});
}

void UndefinedValues::end(const Exec& x, const DecodedInst& in) {
  const bool is_it = now_ == x.code->id_of(in);
  Value made = is_it ? made_ : Value{};
  if (!by_byte_)
    made.add(found_, kAllLanes);
  if (found_.lanes) // what an atomic has found and updated
    vgpu::for_lanes(found_.lanes, [&](int lane) {
      if (const uint64_t begin = updated_[static_cast<size_t>(lane)])
        for (uint64_t byte = begin; byte < begin + updated_bytes_; ++byte)
          memory_->bytes[byte] = {found_.origin, true};
    });
  if (shuffled_) {
    const Value given = value_of(x, x.src_slot(in, 0));
    for (int lane = 0; lane < kWarpSize; ++lane)
      if (const int source = sources_[static_cast<size_t>(lane)]; !given.bits && given.lanes >> source & 1)
        made.add(lane, given.bytes[static_cast<size_t>(source)],
                 {given.origin, (given.computed >> source & 1) != 0});
  }
  if (!tile_.empty() && in.dst_count != 0)
    scatter(x, in, *vgpu::matrix_move_of(*x.code, in)->map);
  for (size_t i = 0; i < in.dst_count; ++i) {
    const Slot& slot = x.code->dsts_of(in)[i];
    if (slot.base != 0)
      continue;
    const Key key{is_it ? frame_ : x.bases[0], slot.offset};
    const auto at = values_.find(key);
    const bool apart = i < apart_.size() && apart_[i].lanes != 0;
    if (made.lanes == 0 && !apart && at == values_.end())
      continue;
    Value& value = at != values_.end() ? at->second : values_[key];
    vgpu::for_lanes(value.lanes & x.active, [&](int lane) { value.bytes[static_cast<size_t>(lane)] = 0; });
    value.lanes &= ~x.active;
    value.computed &= ~x.active;
    value.add(made, kAllLanes);
    if (apart)
      value.add(apart_[i], kAllLanes);
    vgpu::for_lanes(value.lanes, [&](int lane) {
      value.bytes[static_cast<size_t>(lane)] &= static_cast<uint16_t>(bytes_of(slot));
    });
    if (!value.lanes)
      values_.erase(key);
  }
  made_ = found_ = {};
  apart_.clear();
  given_.clear();
  tile_.clear();
  by_byte_ = shuffled_ = false;
  updated_ = {};
  now_ = in_registers_ = {};
}

// --- memory

UndefinedMemory::Bytes* UndefinedValues::bytes_in(const MemoryPlace& place) {
  return place.is_shared() ? &memory_->bytes : place.space == StateSpace::local ? &local_ : nullptr;
}

const UndefinedByte* UndefinedValues::at(const MemoryPlace& place, uint64_t offset, int lane) {
  if (UndefinedMemory::Bytes* bytes = bytes_in(place); bytes && !bytes->empty()) {
    const uint64_t owner = place.is_shared() ? place.cta->rank : static_cast<uint64_t>(lane);
    if (const auto found = bytes->find(owner << 32 | offset); found != bytes->end())
      return &found->second;
  }
  return by_byte_ && !was_written(place, offset) ? &origin_ : nullptr;
}

void UndefinedValues::set(const MemoryPlace& place, uint64_t offset, int lane, const UndefinedByte* what) {
  UndefinedMemory::Bytes* bytes = bytes_in(place);
  if (!bytes)
    return;
  const uint64_t owner = place.is_shared() ? place.cta->rank : static_cast<uint64_t>(lane);
  if (what)
    (*bytes)[owner << 32 | offset] = *what;
  else if (!bytes->empty())
    bytes->erase(owner << 32 | offset);
}

void UndefinedValues::access(const Exec& x, const vgpu::WarpAccess& access, const Report& report) {
  const vgpu::Access& what = access.access;
  const bool is_own = what.instruction == &x.code->insts[x.pc];
  if (what.proxy == vgpu::Proxy::tensormap) {
    if (const LaneMask used = found_.lanes & access.pieces)
      report(memory_->origins[found_.origin], "says what a tensor copy accesses", std::countr_zero(used));
    return;
  }
  if (const std::optional<MatrixMove> move = vgpu::matrix_move_of(*x.code, *what.instruction); is_own && move)
    access_matrix(access, *move, report);
  else if (is_own && access.by_lane)
    access_lanes(x, access, report);
  else if (vgpu::writes(what.kind) && what.is_shared())
    access.each(
        [&](int, uint64_t offset) { memory_->erase(what.at(offset - what.offset), access.piece_bytes); });
}

void UndefinedValues::access_lanes(const Exec& x, const vgpu::WarpAccess& access, const Report& report) {
  const vgpu::Access& what = access.access;
  const DecodedInst& in = *what.instruction;
  const bool writes = vgpu::writes(what.kind), is_atomic = what.kind == vgpu::AccessKind::atomic;
  const bool loads = is_load(isa::effects_of(x.code->opcode_of(in)));
  if (writes && what.space == StateSpace::global)
    for (const Value& given : given_)
      if (const LaneMask used = given.lanes & (is_atomic ? kAllLanes : given.computed) & access.pieces) {
        report(memory_->origins[given.origin], "is computed with, and stored", std::countr_zero(used));
        break;
      }
  if (is_atomic && what.space == StateSpace::global && !x.ptx_instruction(in).has(isa::Qual::exch))
    if (const LaneMask used = found_.lanes & access.pieces) // what is in global memory is not followed
      report(memory_->origins[found_.origin], "is updated", std::countr_zero(used));
  by_byte_ |= loads && found_.lanes && what.space != StateSpace::local;
  const UndefinedMemory::Bytes* bytes = bytes_in(what);
  if (!found_.lanes && given_.empty() && (!bytes || bytes->empty()))
    return;
  if (loads)
    apart_.resize(in.dst_count);
  const size_t elements = loads ? apart_.size() : given_.size();
  const uint32_t element_bytes = elements ? access.piece_bytes / static_cast<uint32_t>(elements) : 0;
  access.each([&](int lane, uint64_t offset) {
    for (uint32_t byte = 0; byte < access.piece_bytes; ++byte) {
      const UndefinedByte* held = !writes || is_atomic ? at(what, offset + byte, lane) : nullptr;
      if (held && loads) { // the sign of an element goes on in the register
        const uint32_t i = byte / element_bytes;
        apart_[i].add(lane,
                      x.code->dsts_of(in)[i].bytes > element_bytes ? kAllBytes : 1u << byte % element_bytes,
                      *held);
      } else if (held) {
        found_.add(lane, kAllBytes, *held);
      }
      if (!writes)
        continue;
      const Value* given = element_bytes ? &given_[byte / element_bytes] : nullptr;
      const uint32_t undefined = given && !given->bits ? given->bytes[static_cast<size_t>(lane)] : 0;
      if (is_atomic ? undefined != 0 : (undefined >> byte % std::max(element_bytes, 1u) & 1) != 0) {
        const UndefinedByte stored{given->origin, is_atomic || (given->computed >> lane & 1) != 0};
        set(what, offset + byte, lane, &stored);
      } else if (!is_atomic) {
        set(what, offset + byte, lane, nullptr);
      }
    }
    if (is_atomic && what.is_shared())
      updated_[static_cast<size_t>(lane)] = uint64_t{what.cta->rank} << 32 | offset;
  });
  updated_bytes_ = access.piece_bytes;
}

void UndefinedValues::access_matrix(const vgpu::WarpAccess& access, const MatrixMove& move,
                                    const Report& report) {
  const vgpu::Access& what = access.access;
  const bool writes = vgpu::writes(what.kind);
  by_byte_ |= !writes && found_.lanes != 0;
  if (!writes)
    tile_.resize(static_cast<size_t>(move.map->tile_bytes()), kDefined);
  bool stores_computed = false;
  access.each([&](int piece, uint64_t offset) {
    const size_t begin = static_cast<size_t>(piece) * move.piece_bytes;
    for (uint32_t byte = 0; byte < access.piece_bytes; ++byte) {
      if (writes) {
        const uint8_t flags = tile_.empty() ? uint8_t{kDefined} : tile_[begin + byte];
        stores_computed |= (flags & kComputed) != 0;
        const UndefinedByte stored{tile_origin_, (flags & kComputed) != 0};
        set(what, offset + byte, 0, flags ? &stored : nullptr);
      } else if (const UndefinedByte* held = at(what, offset + byte, 0)) {
        tile_origin_ = held->origin;
        const uint32_t bits = move.packed_bits ? move.packed_bits : 8;
        for (uint32_t i = byte * 8 / bits; i <= (byte * 8 + 7) / bits; ++i)
          tile_[begin + i] |= static_cast<uint8_t>(kUndefined | (held->computed ? kComputed : 0));
      }
    }
  });
  if (stores_computed && what.space == StateSpace::global)
    report(memory_->origins[tile_origin_], "is computed with, and stored", tile_lane_);
}

void UndefinedValues::issue(const AsyncOperation& operation, const Report& report) {
  const int lane = operation.issuer.lane;
  const bool reduces = operation.reduce != nullptr;
  by_byte_ |= found_.lanes != 0;
  const auto write = [&](uint32_t byte, UndefinedByte what) {
    for (const vgpu::AsyncTarget& target : operation.targets)
      memory_->bytes[uint64_t{target.data.cta->rank} << 32 | (target.data.offset + byte)] = what;
  };
  if (reduces)
    reduce(operation, report);
  switch (operation.kind) {
  case AsyncKind::st_async:
  case AsyncKind::red_async:
    for (uint32_t byte = 0; byte < operation.bytes && !given_.empty(); ++byte) {
      const Value& given = given_[byte / operation.element_bytes];
      const uint32_t undefined = given.bytes[static_cast<size_t>(lane)];
      if (reduces ? undefined != 0 : (undefined >> byte % operation.element_bytes & 1) != 0)
        write(byte, {given.origin, reduces || (given.computed >> lane & 1) != 0});
    }
    break;
  case AsyncKind::bulk_copy:
  case AsyncKind::bulk_reduce:
  case AsyncKind::tensor_store:
  case AsyncKind::tensor_reduce: {
    bool told = false;
    uint32_t position = 0;
    operation.each_source([&](const MemoryPlace& place, uint64_t count) {
      for (uint64_t byte = 0; byte < count && place.is_shared(); ++byte)
        if (const UndefinedByte* held = at(place, place.offset + byte, lane)) {
          write(position + static_cast<uint32_t>(byte), {held->origin, held->computed || reduces});
          if (operation.targets.empty() && (held->computed || reduces) && !std::exchange(told, true))
            report(memory_->origins[held->origin], "is computed with, and stored", lane);
        }
      position += static_cast<uint32_t>(count);
    });
    break;
  }
  default: // what a load brings is carried along
    break;
  }
}

// What a reduction finds and updates: of shared memory it goes on there, of global memory it is a use.
void UndefinedValues::reduce(const AsyncOperation& operation, const Report& report) {
  for (const vgpu::AsyncTarget& target : operation.targets)
    for (uint32_t byte = 0; byte < operation.bytes; ++byte) {
      const MemoryPlace place{
          .space = StateSpace::shared, .cta = target.data.cta, .offset = target.data.offset};
      const UndefinedByte* held = at(place, place.offset + byte, operation.issuer.lane);
      if (!held)
        continue;
      const UndefinedByte made{held->origin, true};
      const uint64_t element =
          UndefinedMemory::key(place) + byte / operation.element_bytes * operation.element_bytes;
      for (uint64_t each = element; each < element + operation.element_bytes; ++each)
        memory_->bytes[each] = made;
    }
  bool told = false;
  operation.each_destination([&](const MemoryPlace& place, uint64_t count) {
    if (!place.is_shared() && by_byte_ && place.allocation->init && !told &&
        !place.allocation->init->all_set(place.offset, count)) {
      told = true;
      report(memory_->origins[origin_.origin], "is updated", operation.issuer.lane);
    }
  });
}

} // namespace lemma::check
