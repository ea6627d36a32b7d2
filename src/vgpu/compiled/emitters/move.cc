// mov, also of vectors and special registers, and cvta.
//
// What each computes stands in handlers/control/move.cc and engine/special_registers.cc. Tests:
// tests/unit/vgpu/move_test.cc, compiled_test.cc.
#include "vgpu/compiled/emitters/lanes.h"
#include "vgpu/engine/special_registers.h"

#include <algorithm>
#include <cstring>

namespace lemma::vgpu {

namespace {

using isa::Opcode;
using isa::Qual;
using isa::SpecialRegister;
using isa::Type;

// --- packing and unpacking

bool all_of_width(std::span<const Slot> slots, int bytes) {
  return std::ranges::all_of(slots, [&](const Slot& slot) { return slot.bytes == bytes; });
}

// {a, b} or {a, b, c, d} of registers that fill the destination.
bool emit_pack(Emit& e) {
  const auto count = static_cast<int>(e.sources());
  const int whole = e.destination_slot().bytes, bytes = whole / count;
  if ((count != 2 && count != 4) || whole > 8 || bytes < 2 || !all_of_width(e.code().srcs_of(e.in()), bytes))
    return false;
  std::array<Value, 4> s;
  for (int i = 0; i < count; ++i)
    s[static_cast<size_t>(i)] = e.source(i);
  const auto join = [&](const Value& to, const Value& low, const Value& high) {
    for (int part = 0; part < to.parts; ++part)
      interleave(e, to[part], low[part / 2], high[part / 2], low.lane_bytes, part % 2);
  };
  if (count == 2) {
    join(e.destination(), s[0], s[1]);
    return true;
  }
  const Value low = temporaries(e, 2 * bytes), high = temporaries(e, 2 * bytes);
  const Value d = e.destination();
  join(low, s[0], s[1]);
  join(high, s[2], s[3]);
  join(d, low, high);
  return true;
}

// The reverse.
bool emit_unpack(Emit& e) {
  const int count = e.in().dst_count;
  const int whole = e.source_slot(0).bytes, bytes = whole / count;
  if ((count != 2 && count != 4) || whole > 8 || bytes < 2 || !all_of_width(e.code().dsts_of(e.in()), bytes))
    return false;
  const Value s = e.source(0);
  const auto take = [&](const Value& to, const Value& from, bool odd) {
    for (int part = 0; part < to.parts; ++part)
      take_every_second(e, to[part], from[2 * part], from[2 * part + 1], to.lane_bytes, odd);
  };
  std::array<Value, 2> halves{s, s};
  if (count == 4) {
    halves = {temporaries(e, whole / 2), temporaries(e, whole / 2)};
    take(halves[0], s, false);
    take(halves[1], s, true);
  }
  for (int i = 0; i < count; ++i)
    take(e.destination(i), halves[static_cast<size_t>(i / 2)], i % 2 != 0);
  return true;
}

// --- special registers

x86::Mem lane_numbers(Emit& e, int half) {
  std::array<std::byte, kPartBytes> bytes;
  for (uint32_t i = 0; i < kWarpSize / 2; ++i) {
    const uint32_t lane = i + static_cast<uint32_t>(half) * kWarpSize / 2;
    std::memcpy(&bytes[i * sizeof(lane)], &lane, sizeof(lane));
  }
  return e.vector(bytes);
}

// %tid where the CTA is a row: x counts lanes from the warp's first thread on, y and z are 0. Else the
// handler.
void emit_tid(Emit& e, SpecialRegister sreg) {
  const Exec& x = e.example();
  const x86::Zmm first = e.temporary();
  const Value d = e.destination();
  const asmjit::Label slow = e.slow();
  e.a.mov(x86::rax, e.member(x.warp));
  e.a.mov(x86::ecx, member_of(x86::rax, *x.warp, x.warp->index));
  e.a.shl(x86::ecx, 5);
  e.a.mov(x86::rdx, e.member(x.launch));
  e.a.lea(x86::eax, x86::ptr(x86::rcx, kWarpSize));
  e.a.cmp(x86::eax, member_of(x86::rdx, *x.launch, x.launch->config.block[0]));
  e.a.ja(slow);
  if (sreg == SpecialRegister::tid_x)
    e.a.vpbroadcastd(first, x86::ecx);
  for (const int half : {0, 1})
    sreg == SpecialRegister::tid_x ? e.a.vpaddd(d[half], first, lane_numbers(e, half))
                                   : e.a.vpxord(d[half], d[half], d[half]);
}

// rax: points to the number that all lanes read; false: another register than %ntid, %ctaid, %nctaid.
bool find_uniform(Emit& e, SpecialRegister sreg, x86::Mem& at) {
  const Exec& x = e.example();
  const auto axis = [&](SpecialRegister first) {
    return static_cast<size_t>(sreg) - static_cast<size_t>(first);
  };
  using S = SpecialRegister;
  constexpr size_t kAxes = 3;
  const auto in_launch = [&](const uint32_t& number) {
    e.a.mov(x86::rax, e.member(x.launch));
    at = member_of(x86::rax, *x.launch, number);
    return true;
  };
  if (axis(S::ntid_x) < kAxes)
    return in_launch(x.launch->config.block[axis(S::ntid_x)]);
  if (axis(S::nctaid_x) < kAxes)
    return in_launch(x.launch->config.grid[axis(S::nctaid_x)]);
  if (axis(S::ctaid_x) >= kAxes)
    return false;
  e.a.mov(x86::rax, e.member(x.cta));
  at = member_of(x86::rax, *x.cta, x.cta->id[axis(S::ctaid_x)]);
  return true;
}

bool emit_special(Emit& e) {
  const auto sreg = static_cast<SpecialRegister>(e.in().imm);
  using S = SpecialRegister;
  const bool is_known = std::ranges::any_of(std::array{S::tid_x, S::laneid, S::ntid_x}, [&](S one) {
    return e.in().handler == special_register_reader(one);
  });
  if (!is_known || e.destination_slot().bytes != 4 || e.in().dst_count != 1)
    return false;
  if (sreg == S::tid_x || sreg == S::tid_y || sreg == S::tid_z) {
    emit_tid(e, sreg);
    return true;
  }
  if (sreg == S::laneid) {
    const Value d = e.destination();
    for (const int half : {0, 1})
      e.a.vmovdqa64(d[half], lane_numbers(e, half));
    return true;
  }
  x86::Mem number;
  if (!find_uniform(e, sreg, number))
    return false;
  const Value d = e.destination();
  for (const int half : {0, 1})
    e.a.vpbroadcastd(d[half], number);
  return true;
}

// --- mov and cvta

bool emit_mov(Emit& e, const ptx::Instruction& i) {
  if (!i.quals().empty())
    return false;
  if (e.sources() == 0)
    return emit_special(e);
  if (e.in().dst_count == 1 && e.sources() > 1)
    return emit_pack(e);
  if (e.in().dst_count > 1 && e.sources() == 1)
    return emit_unpack(e);
  if (e.in().dst_count != 1)
    return false;
  if (i.type() == Type::pred) {
    e.load_predicate(x86::eax, 0);
    e.store_predicate(0, x86::eax);
    return true;
  }
  const int bytes = e.destination_slot().bytes;
  if (bytes > 8 || e.source_slot(0).bytes != bytes)
    return false;
  e.unary([&](auto d, auto s) { e.a.vmovdqa64(d, s); });
  return true;
}

// in().imm: from addresses in the space to generic ones, or back.
bool emit_cvta(Emit& e, const ptx::Instruction&) {
  const int bytes = e.destination_slot().bytes;
  if (e.source_slot(0).bytes != bytes || e.in().width != bytes)
    return false;
  const auto window = static_cast<uint64_t>(e.in().imm);
  e.unary([&](auto d, auto s) {
    if (window == 0)
      e.a.vmovdqa64(d, s);
    else
      bytes == 8 ? e.a.vpaddq(d, s, e.broadcast64(window))
                 : e.a.vpaddd(d, s, e.broadcast32(static_cast<uint32_t>(window)));
  });
  return true;
}

} // namespace

void add_move_emitters(EmitterTable& table) {
  table.add(Opcode::mov, emit_mov);
  table.add({Opcode::cvta, Opcode::cvta_to}, emit_cvta);
}

} // namespace lemma::vgpu
