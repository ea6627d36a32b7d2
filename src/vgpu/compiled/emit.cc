// Registers of the host are given to values as they are used; the one that was used longest ago gives way.
// Those of a zone's values are kept for them as long as others are free.
#include "vgpu/compiled/emit.h"

#include <algorithm>
#include <bit>

namespace lemma::vgpu {

using asmjit::Label;

Emit::Emit(asmjit::CodeHolder& holder, const Code& code, const Liveness& liveness, Exec& example)
    : a(&holder), code_(code), liveness_(liveness), example_(example), pool_label_(a.newLabel()),
      host_check_(a.newLabel()) {}

uint64_t Emit::constant(int i) const {
  const Slot& slot = source_slot(i);
  return Exec::load_lane(example_.bases[1] + slot.offset, slot.bytes == 0 ? 4 : slot.bytes, 0);
}

// --- places

x86::Mem Emit::place(Place place, int part) const {
  const bool is_constant = place >> 32 != 0;
  return x86::Mem(
      is_constant ? x86::r12 : x86::rbx,
      static_cast<int32_t>(static_cast<uint32_t>(place) + static_cast<uint32_t>(part * kPartBytes)),
      kPartBytes);
}

void Emit::store(const Held& value) {
  for (int i = 0; i < parts_of(value.lane_bytes); ++i)
    a.vmovdqa64(place(value.place, i), x86::zmm(value.reg[i]));
}

void Emit::load_parts(const Held& value) {
  for (int i = 0; i < parts_of(value.lane_bytes); ++i)
    a.vmovdqa64(x86::zmm(value.reg[i]), place(value.place, i));
}

// --- what is held

Held* Emit::find(Place place) {
  for (Held& value : held_)
    if (value.place == place)
      return &value;
  return nullptr;
}

// Of the values that are held, the one that was used longest ago goes, one of the zone's last.
void Emit::make_room() {
  const auto is_locked = [&](const Held& value) {
    for (int i = 0; i < parts_of(value.lane_bytes); ++i)
      if (locked_ >> value.reg[i] & 1)
        return true;
    return false;
  };
  const auto is_of_zone = [&](const Held& value) { return (zone_registers_ >> value.reg[0] & 1) != 0; };
  auto oldest = held_.end();
  for (auto at = held_.begin(); at != held_.end(); ++at)
    if (!is_locked(*at) && (oldest == held_.end() || std::pair(is_of_zone(*at), at->last_use) <
                                                         std::pair(is_of_zone(*oldest), oldest->last_use)))
      oldest = at;
  if (oldest == held_.end()) {
    a.reportError(asmjit::kErrorOutOfMemory, "an instruction has more operands than the host has registers");
    free_ |= 1; // the code is not used
    return;
  }
  if (oldest->is_new)
    store(*oldest);
  for (int i = 0; i < parts_of(oldest->lane_bytes); ++i)
    free_ |= 1u << oldest->reg[i];
  held_.erase(oldest);
}

uint8_t Emit::take_register() {
  if (is_sealed_)
    a.reportError(asmjit::kErrorInvalidState, "an operand is asked for after slow()");
  if (free_ == 0)
    make_room();
  const uint32_t others = free_ & ~zone_registers_;
  const auto reg = static_cast<uint8_t>(std::countr_zero(others != 0 ? others : free_));
  free_ &= ~(1u << reg);
  locked_ |= 1u << reg;
  return reg;
}

// The value's registers, those that a zone keeps for it where they are free; not loaded if it was not held.
Value Emit::hold(const Slot& slot, bool& was_held, bool is_written) {
  Held* held = find(place_of(slot));
  if (held && held->lane_bytes != slot.bytes) { // another register of the same place
    forget(held->place);
    held = nullptr;
  }
  was_held = held != nullptr;
  if (!held) {
    Held made{.place = place_of(slot), .lane_bytes = slot.bytes};
    const auto home = std::ranges::find(zone_, made.place, &Held::place);
    const bool is_home = home != zone_.end() && home->lane_bytes == slot.bytes &&
                         std::ranges::all_of(std::span(home->reg).first(parts_of(slot.bytes)),
                                             [&](uint8_t reg) { return free_ >> reg & 1; });
    for (int part = 0; part < parts_of(slot.bytes); ++part) {
      if (is_home) {
        made.reg[part] = home->reg[part];
        free_ &= ~(1u << made.reg[part]);
      } else {
        made.reg[part] = take_register();
      }
    }
    held_.push_back(made);
    held = &held_.back();
  }
  held->is_new |= is_written;
  held->last_use = now_;
  Value value{.parts = parts_of(slot.bytes), .lane_bytes = slot.bytes};
  for (int part = 0; part < value.parts; ++part) {
    value.part[part] = x86::zmm(held->reg[part]);
    locked_ |= 1u << held->reg[part];
  }
  return value;
}

Value Emit::load(const Slot& slot) {
  if (std::ranges::find(overwritten_, place_of(slot)) != overwritten_.end())
    a.reportError(asmjit::kErrorInvalidState, "a source is asked for after the destination that it is");
  bool was_held = false;
  const Value value = hold(slot, was_held, false);
  if (!was_held)
    load_parts(held_.back());
  return value;
}

void Emit::forget(Place place) {
  Held* const held = find(place);
  if (!held)
    return;
  if (held->is_new)
    store(*held);
  for (int i = 0; i < parts_of(held->lane_bytes); ++i)
    free_ |= 1u << held->reg[i];
  held_.erase(held_.begin() + (held - held_.data()));
}

Value Emit::destination(int i) {
  const Slot& slot = destination_slot(i);
  if (active_ == Lanes::all) {
    bool was_held = false;
    const Value value = hold(slot, was_held, true);
    if (!was_held)
      overwritten_.push_back(place_of(slot));
    return value;
  }
  Value value{.parts = parts_of(slot.bytes), .lane_bytes = slot.bytes};
  for (int part = 0; part < value.parts; ++part)
    value.part[part] = temporary();
  written_.push_back({slot, value});
  return value;
}

x86::Zmm Emit::temporary() {
  const uint8_t reg = take_register();
  temporaries_ |= 1u << reg;
  return x86::zmm(reg);
}

// --- lanes

void Emit::forget_masks() {
  masks_.lane_bytes = 0;
}

x86::Gp Emit::active_lanes(const x86::Gp& scratch) {
  switch (active_) {
  case Lanes::part:
    return x86::r14d;
  case Lanes::guarded:
    return x86::r10d;
  case Lanes::all:
    break;
  }
  a.mov(scratch.r32(), -1);
  return scratch.r32();
}

x86::KReg Emit::active_part(int lane_bytes, int part) {
  const bool same =
      masks_.lane_bytes == lane_bytes && masks_.active == active_ &&
      (active_ == Lanes::part || (masks_.guard == in().guard_offset && masks_.negated == in().guard_negated));
  if (!same) {
    const x86::Gp lanes = active_ == Lanes::guarded ? x86::r10d : x86::r14d;
    a.kmovd(x86::k1, lanes);
    const int parts = parts_of(lane_bytes), step = kWarpSize / parts;
    for (int i = 1; i < parts; ++i)
      a.kshiftrd(x86::k(static_cast<uint32_t>(1 + i)), x86::k1, i * step);
    masks_ = {active_, lane_bytes, in().guard_offset, in().guard_negated};
  }
  return x86::k(static_cast<uint32_t>(1 + part));
}

void Emit::leave_if_any(const asmjit::Label& slow) {
  if (active_ != Lanes::all) {
    a.kandw(x86::k5, x86::k5, active_part(4, 0));
    a.kandw(x86::k6, x86::k6, active_part(4, 1));
  }
  a.kortestw(x86::k5, x86::k6);
  a.jnz(slow);
}

void Emit::load_predicate(const x86::Gp& to, int source) {
  const Slot& slot = source_slot(source);
  a.mov(to.r32(), x86::Mem(slot.base ? x86::r12 : x86::rbx, static_cast<int32_t>(slot.offset), 4));
}

void Emit::load_predicate_part(const x86::KReg& to, int source, int lane_bytes, int part) {
  const Slot& slot = source_slot(source);
  const auto at = [&](int bytes) {
    return x86::Mem(slot.base ? x86::r12 : x86::rbx, static_cast<int32_t>(slot.offset) + bytes * part,
                    static_cast<uint32_t>(bytes));
  };
  switch (lane_bytes) {
  case 2:
    a.kmovd(to, at(4));
    return;
  case 4:
    a.kmovw(to, at(2));
    return;
  default:
    a.kmovb(to, at(1));
    return;
  }
}

void Emit::store_predicate(int destination, const x86::Gp& value) {
  const Slot& slot = destination_slot(destination);
  if (active_ != Lanes::all) { // old ^ ((old ^ value) & active)
    a.mov(x86::r11d, frame(slot.offset, 4));
    a.xor_(value.r32(), x86::r11d);
    a.and_(value.r32(), active_ == Lanes::guarded ? x86::r10d : x86::r14d);
    a.xor_(value.r32(), x86::r11d);
  }
  a.mov(frame(slot.offset, 4), value.r32());
  if (masks_.active == Lanes::guarded && masks_.guard == slot.offset)
    forget_masks();
}

void Emit::join_masks(const x86::Gp& to, std::span<const x86::KReg> masks, int lane_bytes) {
  if (lane_bytes == 8) {
    a.kunpckbw(masks[0], masks[1], masks[0]);
    a.kunpckbw(masks[2], masks[3], masks[2]);
    a.kunpckwd(masks[0], masks[2], masks[0]);
  } else if (lane_bytes == 4) {
    a.kunpckwd(masks[0], masks[1], masks[0]);
  }
  a.kmovd(to.r32(), masks[0]);
}

void Emit::mode(uint32_t mode) {
  if (mode != mode_)
    a.ldmxcsr(number32(mode));
  mode_ = mode;
}

void Emit::find_split(const x86::Gp& to, const x86::Gp& warp) {
  constexpr uint32_t kPointer = 8; // a vector's first member is where its elements are
  a.mov(warp, member(example_.warp));
  a.mov(to, member(example_.split));
  a.imul(to, to, static_cast<int32_t>(sizeof(Split)));
  a.add(to, member_of(warp, *example_.warp, example_.warp->splits, 0, kPointer));
}

// --- the pool

x86::Mem Emit::pooled(std::span<const std::byte> bytes) {
  const auto [place, is_new] = pool_places_.try_emplace(
      std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), pool_.size());
  if (is_new) {
    place->second = (pool_.size() + bytes.size() - 1) / bytes.size() * bytes.size();
    pool_.resize(place->second);
    pool_.insert(pool_.end(), bytes.begin(), bytes.end());
  }
  return x86::ptr(pool_label_, static_cast<int32_t>(place->second), static_cast<uint32_t>(bytes.size()));
}

x86::Mem Emit::broadcast32(uint32_t value) {
  x86::Mem mem = pooled(std::as_bytes(std::span(&value, 1)));
  mem.setBroadcast(x86::Mem::Broadcast::k1To16);
  return mem;
}

x86::Mem Emit::broadcast64(uint64_t value) {
  x86::Mem mem = pooled(std::as_bytes(std::span(&value, 1)));
  mem.setBroadcast(x86::Mem::Broadcast::k1To8);
  return mem;
}

x86::Mem Emit::vector(const std::array<std::byte, kPartBytes>& bytes) {
  return pooled(bytes);
}

void Emit::emit_pool() {
  a.align(asmjit::AlignMode::kData, kPartBytes);
  a.bind(pool_label_);
  if (!pool_.empty())
    a.embed(pool_.data(), pool_.size());
}

// --- for the generator

void Emit::begin_instruction(uint32_t pc, bool all_lanes) {
  pc_ = pc;
  ++now_;
  active_ = all_lanes ? Lanes::all : Lanes::part;
  if (in().guarded) {
    active_ = Lanes::guarded;
    a.mov(x86::r10d, frame(in().guard_offset, 4));
    if (in().guard_negated)
      a.not_(x86::r10d);
    if (!all_lanes)
      a.and_(x86::r10d, x86::r14d);
  }
}

void Emit::end_instruction() {
  is_sealed_ = false;
  overwritten_.clear();
  for (const Written& written : std::exchange(written_, {})) {
    const Value old = load(written.slot);
    for (int i = 0; i < old.parts; ++i) {
      const x86::KReg lanes = active_part(old.lane_bytes, i);
      switch (old.lane_bytes) {
      case 2:
        a.k(lanes).vmovdqu16(old[i], written.to[i]);
        break;
      case 4:
        a.k(lanes).vmovdqa32(old[i], written.to[i]);
        break;
      default:
        a.k(lanes).vmovdqa64(old[i], written.to[i]);
        break;
      }
    }
    find(place_of(written.slot))->is_new = true;
  }
  free_ |= std::exchange(temporaries_, 0);
  locked_ = 0;
}

void Emit::set_held(const HeldValues& values) {
  held_ = values;
  free_ = 0xffffffff;
  for (Held& value : held_) {
    value.last_use = now_;
    for (int i = 0; i < parts_of(value.lane_bytes); ++i)
      free_ &= ~(1u << value.reg[i]);
  }
}

void Emit::change_held(const HeldValues& to, std::optional<uint32_t> pc) {
  const auto same = [](const Held& x, const Held& y) {
    return x.place == y.place && x.lane_bytes == y.lane_bytes && x.reg == y.reg;
  };
  for (const Held& value : held_) {
    const auto kept = std::ranges::find_if(to, [&](const Held& other) { return same(value, other); });
    const bool is_wanted = !pc || liveness_.is_live(*pc, value.place);
    if (value.is_new && is_wanted && (kept == to.end() || !kept->is_new))
      store(value);
  }
  for (const Held& value : to)
    if (std::ranges::none_of(held_, [&](const Held& other) { return same(value, other); }))
      load_parts(value);
  set_held(to);
}

void Emit::store_new(std::optional<uint32_t> pc) {
  for (Held& value : held_)
    if (std::exchange(value.is_new, false) && (!pc || liveness_.is_live(*pc, value.place)))
      store(value);
}

void Emit::forget_held() {
  held_.clear();
  free_ = 0xffffffff;
}

HeldValues Emit::held_in_zone(const std::vector<Kept>& values) const {
  HeldValues held;
  uint8_t reg = 31;
  for (const Kept& kept : values) {
    Held value{.place = kept.place, .lane_bytes = kept.bytes, .is_new = kept.is_written};
    for (int i = 0; i < parts_of(kept.bytes); ++i)
      value.reg[i] = reg--;
    held.push_back(value);
  }
  return held;
}

void Emit::prefer(const std::vector<Kept>& values) {
  zone_ = held_in_zone(values);
  zone_registers_ = 0;
  for (const Held& value : zone_)
    for (int i = 0; i < parts_of(value.lane_bytes); ++i)
      zone_registers_ |= 1u << value.reg[i];
}

void Emit::aside(std::function<void()> emit) {
  asides_.push_back({held_, pc_, active_, mode_, std::move(emit)});
}

void Emit::emit_asides() {
  for (size_t i = 0; i < asides_.size(); ++i) { // one may add others
    const Aside aside = asides_[i];
    set_held(aside.held);
    forget_masks();
    pc_ = aside.pc;
    active_ = aside.active;
    mode_ = aside.mode;
    aside.emit();
  }
}

const EmitterTable& emitters() {
  static const EmitterTable table = [] {
    EmitterTable t;
    add_integer_emitters(t);
    add_product_emitters(t);
    add_carry_emitters(t);
    add_divide_emitters(t);
    add_logic_emitters(t);
    add_bit_emitters(t);
    add_float_emitters(t);
    add_compare_emitters(t);
    add_approximate_emitters(t);
    add_float_bits_emitters(t);
    add_convert_emitters(t);
    add_move_emitters(t);
    add_memory_emitters(t);
    add_warp_emitters(t);
    return t;
  }();
  return table;
}

} // namespace lemma::vgpu
