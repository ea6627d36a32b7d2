// Counts and fields of bits, and bytes permuted: popc, clz, bfind, brev, bfe, bfi, szext, bmsk, prmt.
//
// The host's shifts by amounts of their own shift everything out at and above the width, as fields want it.
//
// What each computes stands in handlers/arithmetic/integer.inc and logic.inc. Tests:
// tests/unit/vgpu/integer_test.cc, logic_test.cc, through compiled code.
#include "vgpu/compiled/emitters/integer.h"
#include "vgpu/compiled/emitters/lanes.h"

#include <bit>

namespace lemma::vgpu {

namespace {

using isa::Opcode;
using isa::Qual;

constexpr int kAndOrNot = 0xca; // of vpternlog: (mask, a, b): a where the mask is set, else b

// 64 bytes, each `f` of its number.
template <class F>
std::array<std::byte, kPartBytes> bytes_by(F f) {
  std::array<std::byte, kPartBytes> bytes;
  for (int i = 0; i < kPartBytes; ++i)
    bytes[static_cast<size_t>(i)] = static_cast<std::byte>(f(i));
  return bytes;
}

// --- counts; what they give is 32 bits wide

// f(to, from) for each part, then the results as 32 bits.
template <class F>
bool emit_count(Emit& e, F f) {
  const Value s = e.source(0), d = e.destination();
  if (s.lane_bytes == 4) {
    for (int part = 0; part < d.parts; ++part)
      f(d[part], s[part]);
    return true;
  }
  const Value x = temporaries(e, 8);
  for (int part = 0; part < x.parts; ++part)
    f(x[part], s[part]);
  resize(e, d, x, false);
  return true;
}

bool emit_popc(Emit& e, const ptx::Instruction&) {
  const bool wide = e.source_slot(0).bytes == 8;
  const x86::Zmm x = e.temporary(), y = e.temporary(), table = e.temporary(), one = e.temporary();
  e.a.vmovdqa64(table,
                e.vector(bytes_by([](int i) { return std::popcount(static_cast<uint32_t>(i % 16)); })));
  wide ? e.a.vpxord(one, one, one) : e.a.vmovdqa64(one, e.vector(bytes_by([](int) { return 1; })));
  return emit_count(e, [&](auto d, auto s) { // of the halves of each byte, by the table
    e.a.vpandd(x, s, e.broadcast32(0x0f0f0f0f));
    e.a.vpsrlw(y, s, 4);
    e.a.vpandd(y, y, e.broadcast32(0x0f0f0f0f));
    e.a.vpshufb(x, table, x);
    e.a.vpshufb(y, table, y);
    e.a.vpaddb(x, x, y);
    if (wide) {
      e.a.vpsadbw(d, x, one);
    } else {
      e.a.vpmaddubsw(x, x, one);
      e.a.vpmaddwd(d, x, e.vector(bytes_by([](int i) { return i % 2 == 0; })));
    }
  });
}

bool emit_clz(Emit& e, const ptx::Instruction&) {
  const bool wide = e.source_slot(0).bytes == 8;
  return emit_count(e, [&](auto d, auto s) { wide ? e.a.vplzcntq(d, s) : e.a.vplzcntd(d, s); });
}

// The highest bit that differs from the sign, or the shift to the left that brings it to the top.
bool emit_bfind(Emit& e, const ptx::Instruction& i) {
  constexpr int kOnes = 0xff, kEqual = 0;
  const bool wide = e.source_slot(0).bytes == 8, shift = i.has(Qual::shiftamt);
  const bool is_signed = isa::is_signed(i.type());
  const int bits = wide ? 64 : 32;
  const x86::Zmm x = e.temporary(), top = e.temporary();
  fill(e, top, bits / 8, static_cast<uint64_t>(shift ? bits : bits - 1));
  return emit_count(e, [&](auto d, auto s) {
    if (is_signed) {
      wide ? e.a.vpsraq(x, s, 63) : e.a.vpsrad(x, s, 31);
      e.a.vpxord(x, x, s);
    }
    wide ? e.a.vplzcntq(x, is_signed ? x : s) : e.a.vplzcntd(x, is_signed ? x : s);
    if (shift) {
      wide ? e.a.vpcmpq(x86::k5, x, top, kEqual) : e.a.vpcmpd(x86::k5, x, top, kEqual);
      e.a.k(x86::k5).emit(wide ? ids::kIdVpternlogq : ids::kIdVpternlogd, x, x, x, asmjit::Imm(kOnes));
      e.a.vmovdqa64(d, x);
    } else {
      wide ? e.a.vpsubq(d, top, x) : e.a.vpsubd(d, top, x);
    }
  });
}

int reversed_half(int half) {
  return (half & 1) << 3 | (half & 2) << 1 | (half & 4) >> 1 | (half & 8) >> 3;
}

bool emit_brev(Emit& e, const ptx::Instruction&) {
  const int bytes = e.source_slot(0).bytes;
  const x86::Zmm x = e.temporary(), y = e.temporary(), low = e.temporary(), high = e.temporary();
  e.a.vmovdqa64(low, e.vector(bytes_by([](int i) { return reversed_half(i % 16) << 4; })));
  e.a.vmovdqa64(high, e.vector(bytes_by([](int i) { return reversed_half(i % 16); })));
  const x86::Mem order =
      e.vector(bytes_by([&](int i) { return i % 16 / bytes * bytes + bytes - 1 - i % bytes; }));
  e.unary([&](auto d, auto s) {
    e.a.vpandd(x, s, e.broadcast32(0x0f0f0f0f));
    e.a.vpsrlw(y, s, 4);
    e.a.vpandd(y, y, e.broadcast32(0x0f0f0f0f));
    e.a.vpshufb(x, low, x);
    e.a.vpshufb(y, high, y);
    e.a.vpord(x, x, y);
    e.a.vpshufb(d, x, order);
  });
  return true;
}

// --- fields

// Amounts of so many bits of an operand of 32, for lanes of 4 or 8 bytes, in turn by parts.
class Amounts {
public:
  // Positions and lengths in lanes of 32 bits are the operand's low 8 bits; in those of 64 it is all of it.
  Amounts(Emit& e, int source, int lane_bytes, uint32_t mask)
      : e_(e), value_(e.source(source)), lane_bytes_(lane_bytes), mask_(mask), x_(e.temporary()) {}
  const x86::Zmm& part(int i) {
    if (lane_bytes_ == 8) {
      widen_part(e_, x_, value_, i, 8, false);
      return x_;
    }
    if (mask_ == UINT32_MAX)
      return value_[i];
    e_.a.vpandd(x_, value_[i], e_.broadcast32(mask_));
    return x_;
  }

private:
  Emit& e_;
  Value value_;
  int lane_bytes_;
  uint32_t mask_;
  x86::Zmm x_;
};

uint32_t field_mask(int lane_bytes) {
  return lane_bytes == 4 ? 0xff : UINT32_MAX;
}

// What fields of 32 and 64 bits are made with.
struct Fields {
  explicit Fields(int bytes)
      : wide(bytes == 8), sll(wide ? ids::kIdVpsllvq : ids::kIdVpsllvd),
        srl(wide ? ids::kIdVpsrlvq : ids::kIdVpsrlvd), sra(wide ? ids::kIdVpsravq : ids::kIdVpsravd),
        sub(wide ? ids::kIdVpsubq : ids::kIdVpsubd), add(wide ? ids::kIdVpaddq : ids::kIdVpaddd),
        min(wide ? ids::kIdVpminuq : ids::kIdVpminud) {}
  bool wide;
  asmjit::InstId sll, srl, sra, sub, add, min;
};

// x = its low bits, so many, extended. `number`: of all lanes: one, or where signed the width.
void keep_low_bits(Emit& e, const Fields& of, bool is_signed, const x86::Zmm& x, const x86::Zmm& y,
                   const x86::Zmm& length, const x86::Zmm& number) {
  if (is_signed) {
    e.a.emit(of.min, y, length, number);
    e.a.emit(of.sub, y, number, y);
    e.a.emit(of.sll, x, x, y);
    e.a.emit(of.sra, x, x, y);
  } else {
    e.a.emit(of.sll, y, number, length);
    e.a.emit(of.sub, y, y, number);
    e.a.vpandd(x, x, y);
  }
}

bool emit_constant_bfe(Emit& e, bool is_signed, int bytes) {
  const uint32_t bits = static_cast<uint32_t>(8 * bytes), mask = field_mask(bytes);
  const uint32_t position = static_cast<uint32_t>(e.constant(1)) & mask;
  const uint32_t length = static_cast<uint32_t>(e.constant(2)) & mask;
  if (position >= bits || length == 0 || length > bits - position)
    return false;
  const auto shift = [&](asmjit::InstId of_32, asmjit::InstId of_64, auto d, auto s, uint32_t amount) {
    e.a.emit(bytes == 8 ? of_64 : of_32, d, s, asmjit::Imm(amount));
  };
  e.unary([&](auto d, auto s) {
    shift(ids::kIdVpslld, ids::kIdVpsllq, d, s, bits - position - length);
    is_signed ? shift(ids::kIdVpsrad, ids::kIdVpsraq, d, d, bits - length)
              : shift(ids::kIdVpsrld, ids::kIdVpsrlq, d, d, bits - length);
  });
  return true;
}

bool emit_bfe(Emit& e, const ptx::Instruction& i) {
  const int bytes = e.destination_slot().bytes;
  const bool is_signed = isa::is_signed(i.type());
  if (e.is_constant(1) && e.is_constant(2) && emit_constant_bfe(e, is_signed, bytes))
    return true;
  const Fields of(bytes);
  const Value s = e.source(0);
  Amounts position(e, 1, bytes, field_mask(bytes)), length(e, 2, bytes, field_mask(bytes));
  const x86::Zmm x = e.temporary(), y = e.temporary(), number = e.temporary();
  fill(e, number, bytes, is_signed ? static_cast<uint64_t>(8 * bytes) : 1);
  const Value d = e.destination();
  for (int part = 0; part < d.parts; ++part) {
    e.a.emit(is_signed ? of.sra : of.srl, x, s[part], position.part(part));
    keep_low_bits(e, of, is_signed, x, y, length.part(part), number);
    e.a.vmovdqa64(d[part], x);
  }
  return true;
}

bool emit_szext(Emit& e, const ptx::Instruction& i) {
  const bool is_signed = isa::is_signed(i.type());
  const Fields of(4);
  const Value s = e.source(0);
  Amounts length(e, 1, 4, i.has(Qual::wrap) ? 31 : UINT32_MAX);
  const x86::Zmm x = e.temporary(), y = e.temporary(), number = e.temporary();
  fill(e, number, 4, is_signed ? 32 : 1);
  const Value d = e.destination();
  for (int part = 0; part < d.parts; ++part) {
    e.a.vmovdqa64(x, s[part]);
    keep_low_bits(e, of, is_signed, x, y, length.part(part), number);
    e.a.vmovdqa64(d[part], x);
  }
  return true;
}

// to = so many bits from the position on.
void make_mask(Emit& e, const Fields& of, const x86::Zmm& to, const x86::Zmm& length,
               const x86::Zmm& position, const x86::Zmm& one) {
  e.a.emit(of.sll, to, one, length);
  e.a.emit(of.sub, to, to, one);
  e.a.emit(of.sll, to, to, position);
}

bool emit_bmsk(Emit& e, const ptx::Instruction& i) {
  const Fields of(4);
  const uint32_t mask = i.has(Qual::wrap) ? 31 : UINT32_MAX;
  Amounts position(e, 0, 4, mask), length(e, 1, 4, mask);
  const x86::Zmm x = e.temporary(), one = e.temporary();
  fill(e, one, 4, 1);
  const Value d = e.destination();
  for (int part = 0; part < d.parts; ++part) {
    make_mask(e, of, x, length.part(part), position.part(part), one);
    e.a.vmovdqa64(d[part], x);
  }
  return true;
}

bool emit_bfi(Emit& e, const ptx::Instruction&) {
  const int bytes = e.destination_slot().bytes;
  const Fields of(bytes);
  const Value s = e.source(0), t = e.source(1);
  Amounts position(e, 2, bytes, field_mask(bytes)), length(e, 3, bytes, field_mask(bytes));
  const x86::Zmm x = e.temporary(), y = e.temporary(), one = e.temporary();
  fill(e, one, bytes, 1);
  const Value d = e.destination();
  for (int part = 0; part < d.parts; ++part) {
    const x86::Zmm at = position.part(part);
    make_mask(e, of, x, length.part(part), at, one);
    e.a.emit(of.sll, y, s[part], at);
    e.a.vpternlogd(x, y, t[part], kAndOrNot);
    e.a.vmovdqa64(d[part], x);
  }
  return true;
}

// --- bytes

// Selectors that are known, none of which takes a sign: a permutation of each source's bytes.
void emit_constant_prmt(Emit& e, uint32_t selectors) {
  constexpr int kZero = 0x80;
  const auto order = [&](int source) { // of the bytes of one of them; zero where the other one is taken
    return bytes_by([&](int i) {
      const int selector = static_cast<int>(selectors >> 4 * (i % 4)) & 7;
      return selector / 4 == source ? i % 16 / 4 * 4 + selector % 4 : kZero;
    });
  };
  bool takes[2] = {};
  for (int i = 0; i < 4; ++i)
    takes[selectors >> (4 * i + 2) & 1] = true;
  const Value s = e.source(0), t = e.source(1);
  const x86::Zmm x = e.temporary(), y = e.temporary();
  const Value d = e.destination();
  for (int part = 0; part < d.parts; ++part) {
    if (takes[0] && takes[1]) {
      e.a.vpshufb(x, s[part], e.vector(order(0)));
      e.a.vpshufb(y, t[part], e.vector(order(1)));
      e.a.vpord(d[part], x, y);
    } else {
      e.a.vpshufb(d[part], takes[0] ? s[part] : t[part], e.vector(order(takes[0] ? 0 : 1)));
    }
  }
}

bool emit_prmt(Emit& e, const ptx::Instruction& i) {
  if (!i.quals().empty())
    return false;
  if (e.is_constant(2) && (e.constant(2) & 0x8888) == 0) {
    emit_constant_prmt(e, static_cast<uint32_t>(e.constant(2)));
    return true;
  }
  const x86::Zmm x = e.temporary(), y = e.temporary(), z = e.temporary();
  const x86::Mem lanes = e.vector(bytes_by([](int i) { return i % 16 / 4 * 4; }));
  const x86::Mem of_second = e.vector(bytes_by([](int) { return 4; }));
  const x86::Mem of_sign = e.vector(bytes_by([](int) { return 8; }));
  e.ternary([&](auto d, auto s, auto t, auto c) {
    e.a.vpandd(x, c, e.broadcast32(0xffff)); // a selector to each byte of its lane
    for (const auto& [shift, mask] : {std::pair(8, 0x00ff00ffu), std::pair(4, 0x0f0f0f0fu)}) {
      e.a.vpslld(y, x, shift);
      e.a.vpord(x, x, y);
      e.a.vpandd(x, x, e.broadcast32(mask));
    }
    e.a.vpandd(y, x, e.broadcast32(0x03030303));
    e.a.vpord(y, y, lanes);
    e.a.vpshufb(z, s, y);
    e.a.vpshufb(y, t, y);
    e.a.vptestmb(x86::k5, x, of_second);
    e.a.k(x86::k5).vmovdqu8(z, y);
    e.a.vptestmb(x86::k5, x, of_sign);
    e.a.vpmovb2m(x86::k6, z);
    e.a.vpmovm2b(y, x86::k6);
    e.a.k(x86::k5).vmovdqu8(z, y);
    e.a.vmovdqa64(d, z);
  });
  return true;
}

} // namespace

void add_bit_emitters(EmitterTable& table) {
  table.add(Opcode::popc, emit_popc);
  table.add(Opcode::clz, emit_clz);
  table.add(Opcode::bfind, emit_bfind);
  table.add(Opcode::brev, emit_brev);
  table.add(Opcode::bfe, emit_bfe);
  table.add(Opcode::bfi, emit_bfi);
  table.add(Opcode::szext, emit_szext);
  table.add(Opcode::bmsk, emit_bmsk);
  table.add(Opcode::prmt, emit_prmt);
}

} // namespace lemma::vgpu
