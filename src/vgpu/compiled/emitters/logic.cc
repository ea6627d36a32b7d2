// Bitwise operations, of predicates too, and shifts.
//
// What each computes stands in handlers/arithmetic/logic.inc. Tests: tests/unit/vgpu/logic_test.cc,
// compiled_test.cc.
#include "vgpu/compiled/emitters/lanes.h"

#include <algorithm>

namespace lemma::vgpu {

namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;

bool emit_of_predicates(Emit& e, Opcode opcode) {
  e.load_predicate(x86::eax, 0);
  if (opcode == Opcode::not_) {
    e.a.not_(x86::eax);
  } else {
    e.load_predicate(x86::ecx, 1);
    if (opcode == Opcode::and_)
      e.a.and_(x86::eax, x86::ecx);
    else if (opcode == Opcode::or_)
      e.a.or_(x86::eax, x86::ecx);
    else
      e.a.xor_(x86::eax, x86::ecx);
  }
  e.store_predicate(0, x86::eax);
  return true;
}

bool emit_bitwise(Emit& e, const ptx::Instruction& i) {
  if (!i.quals().empty())
    return false;
  if (i.type() == Type::pred)
    return emit_of_predicates(e, i.opcode);
  switch (i.opcode) {
  case Opcode::and_:
    e.binary([&](auto d, auto s, auto t) { e.a.vpandd(d, s, t); });
    return true;
  case Opcode::or_:
    e.binary([&](auto d, auto s, auto t) { e.a.vpord(d, s, t); });
    return true;
  case Opcode::xor_:
    e.binary([&](auto d, auto s, auto t) { e.a.vpxord(d, s, t); });
    return true;
  default:
    e.unary([&](auto d, auto s) { e.a.vpternlogd(d, s, s, 0x55); }); // not of the third
    return true;
  }
}

// d|p = the table's bit for each of three, and whether some bit of d is set, with the predicate q.
bool emit_lop3_with_predicate(Emit& e, const ptx::Instruction& i, uint8_t table) {
  const Value s = e.source(0), t = e.source(1), u = e.source(2), d = e.destination();
  const x86::Zmm x = e.temporary();
  const std::array<x86::KReg, 2> masks{x86::k5, x86::k6};
  for (int part = 0; part < d.parts; ++part) {
    e.a.vmovdqa64(x, s[part]);
    e.a.vpternlogd(x, t[part], u[part], table);
    e.a.vptestmd(masks[static_cast<size_t>(part)], x, x);
    e.a.vmovdqa64(d[part], x);
  }
  if (e.in().dst_count < 2)
    return true;
  e.join_masks(x86::eax, masks, d.lane_bytes);
  e.load_predicate(x86::ecx, 3);
  i.has(Qual::and_) ? e.a.and_(x86::eax, x86::ecx) : e.a.or_(x86::eax, x86::ecx);
  e.store_predicate(1, x86::eax);
  return true;
}

bool emit_lop3(Emit& e, const ptx::Instruction& i) {
  const auto table = static_cast<uint8_t>(e.in().imm);
  if (!i.quals().empty())
    return emit_lop3_with_predicate(e, i, table);
  const x86::Zmm x = e.temporary();
  e.ternary([&](auto d, auto s, auto t, auto u) {
    e.a.vmovdqa64(x, s);
    e.a.vpternlogd(x, t, u, table);
    e.a.vmovdqa64(d, x);
  });
  return true;
}

// 1 where all bits are clear.
bool emit_cnot(Emit& e, const ptx::Instruction&) {
  const x86::Zmm one = e.temporary();
  const int bytes = e.destination_slot().bytes;
  fill(e, one, bytes, 1);
  e.unary([&](auto d, auto s) {
    switch (bytes) {
    case 2:
      e.a.vptestnmw(x86::k5, s, s);
      e.a.k(x86::k5).z().vmovdqu16(d, one);
      break;
    case 4:
      e.a.vptestnmd(x86::k5, s, s);
      e.a.k(x86::k5).z().vmovdqa32(d, one);
      break;
    default:
      e.a.vptestnmq(x86::k5, s, s);
      e.a.k(x86::k5).z().vmovdqa64(d, one);
      break;
    }
  });
  return true;
}

// The host's shifts of lanes of 16, 32 and 64 bits, by amounts of their own and by one for all.
struct Shift {
  std::array<asmjit::InstId, 3> by_lanes, by_number;
};
constexpr Shift kLeft = {{ids::kIdVpsllvw, ids::kIdVpsllvd, ids::kIdVpsllvq},
                         {ids::kIdVpsllw, ids::kIdVpslld, ids::kIdVpsllq}};
constexpr Shift kRight = {{ids::kIdVpsrlvw, ids::kIdVpsrlvd, ids::kIdVpsrlvq},
                          {ids::kIdVpsrlw, ids::kIdVpsrld, ids::kIdVpsrlq}};
constexpr Shift kSignedRight = {{ids::kIdVpsravw, ids::kIdVpsravd, ids::kIdVpsravq},
                                {ids::kIdVpsraw, ids::kIdVpsrad, ids::kIdVpsraq}};

// Amounts have 32 bits; at and above the width the host's instructions shift everything out too.
bool emit_shift(Emit& e, const ptx::Instruction& i) {
  const int bytes = e.destination_slot().bytes;
  if (!i.quals().empty() || e.source_slot(1).bytes != 4)
    return false;
  const bool is_signed = isa::is_signed(i.type());
  const Shift& shift = i.opcode == Opcode::shl ? kLeft : is_signed ? kSignedRight : kRight;
  const size_t width = bytes == 2 ? 0 : bytes == 4 ? 1 : 2;
  if (e.is_constant(1)) {
    const uint64_t bits = static_cast<uint64_t>(8 * bytes);
    const uint64_t amount = std::min(e.constant(1), is_signed ? bits - 1 : bits);
    e.unary([&](auto d, auto s) { e.a.emit(shift.by_number[width], d, s, asmjit::Imm(amount)); });
    return true;
  }
  const Value s = e.source(0), t = e.source(1), d = e.destination();
  if (bytes == 4) {
    for (int part = 0; part < d.parts; ++part)
      e.a.emit(shift.by_lanes[width], d[part], s[part], t[part]);
    return true;
  }
  const x86::Zmm amount = e.temporary();
  if (bytes == 2) { // an amount that does not fit becomes the greatest
    const x86::Zmm high = e.temporary();
    e.a.vpmovusdw(amount.ymm(), t[0]);
    e.a.vpmovusdw(high.ymm(), t[1]);
    e.a.vinserti64x4(amount, amount, high.ymm(), 1);
    e.a.emit(shift.by_lanes[width], d[0], s[0], amount);
    return true;
  }
  for (int part = 0; part < d.parts; ++part) {
    widen_part(e, amount, t, part, 8, false);
    e.a.emit(shift.by_lanes[width], d[part], s[part], amount);
  }
  return true;
}

// shf: by amounts modulo 32, or at most 32. VPSHLDV is of AVX-512 VBMI2, which not every host with AVX-512
// has.
bool emit_funnel(Emit& e, const ptx::Instruction& i) {
  if (i.type() != Type::b32)
    return false;
  const bool left = i.has(Qual::l), wraps = i.has(Qual::wrap);
  const x86::Zmm x = e.temporary(), y = e.temporary();
  if (e.is_constant(2)) {
    const auto written = static_cast<uint32_t>(e.constant(2));
    const uint32_t amount = wraps ? written & 31 : std::min(written, 32u);
    const Value low = e.source(0), high = e.source(1), d = e.destination();
    for (int part = 0; part < d.parts; ++part) {
      e.a.vpslld(x, high[part], left ? amount : 32 - amount);
      e.a.vpsrld(y, low[part], left ? 32 - amount : amount);
      e.a.vpord(d[part], x, y);
    }
    return true;
  }
  const x86::Zmm n = e.temporary(), width = e.temporary();
  fill(e, width, 4, 32);
  e.ternary([&](auto d, auto low, auto high, auto amount) {
    wraps ? e.a.vpandd(n, amount, e.broadcast32(31)) : e.a.vpminud(n, amount, width);
    e.a.vpsubd(y, width, n);
    if (left) { // high << n | low >> 32 - n
      e.a.vpsrlvd(y, low, y);
      e.a.vpsllvd(x, high, n);
    } else { // low >> n | high << 32 - n
      e.a.vpsllvd(y, high, y);
      e.a.vpsrlvd(x, low, n);
    }
    e.a.vpord(d, x, y);
  });
  return true;
}

} // namespace

void add_logic_emitters(EmitterTable& table) {
  table.add({Opcode::and_, Opcode::or_, Opcode::xor_, Opcode::not_}, emit_bitwise);
  table.add(Opcode::lop3, emit_lop3);
  table.add({Opcode::shl, Opcode::shr}, emit_shift);
  table.add(Opcode::shf, emit_funnel);
  table.add(Opcode::cnot, emit_cnot);
}

} // namespace lemma::vgpu
