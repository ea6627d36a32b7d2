// Products of integers and their sums: mul, mad, mul24, mad24, dp4a, dp2a.
//
// The host multiplies the low halves of lanes of 64 bits. High halves of products of 32 bits are made of two
// such, of 64 bits of four.
//
// What each computes stands in handlers/arithmetic/integer.inc. Tests: tests/unit/vgpu/integer_test.cc,
// through compiled code.
#include "vgpu/compiled/emitters/integer.h"
#include "vgpu/compiled/emitters/lanes.h"

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;

// The even 32-bit lanes of the sources multiplied, as 64 bits.
void multiply_even(Emit& e, bool is_signed, const x86::Zmm& d, const x86::Zmm& s, const x86::Zmm& t) {
  is_signed ? e.a.vpmuldq(d, s, t) : e.a.vpmuludq(d, s, t);
}

// mul.wide and mad.wide of 32 bits: products of the even lanes and of the odd ones, in turn.
void emit_wide_32(Emit& e, bool is_signed, bool adds) {
  const Value s = e.source(0), t = e.source(1);
  const Value c = adds ? e.source(2) : Value{};
  const Value d = e.destination();
  const x86::Zmm even = e.temporary(), odd = e.temporary(), x = e.temporary();
  for (int part = 0; part < s.parts; ++part) {
    e.a.vpsrlq(odd, s[part], 32);
    e.a.vpsrlq(x, t[part], 32);
    multiply_even(e, is_signed, odd, odd, x);
    multiply_even(e, is_signed, even, s[part], t[part]);
    for (const int half : {0, 1}) {
      const int to = 2 * part + half;
      if (!adds) {
        interleave(e, d[to], even, odd, 8, half);
        continue;
      }
      interleave(e, x, even, odd, 8, half);
      e.a.vpaddq(d[to], x, c[to]);
    }
  }
}

// ... of 16 bits.
void emit_wide_16(Emit& e, bool is_signed, bool adds) {
  const Value s = e.source(0), t = e.source(1);
  const Value c = adds ? e.source(2) : Value{};
  const Value d = e.destination();
  const x86::Zmm x = e.temporary(), y = e.temporary();
  for (int part = 0; part < d.parts; ++part) {
    widen_part(e, x, s, part, 4, is_signed);
    widen_part(e, y, t, part, 4, is_signed);
    e.a.vpmulld(adds ? x : d[part], x, y);
    if (adds)
      e.a.vpaddd(d[part], x, c[part]);
  }
}

bool emit_wide(Emit& e, const ptx::Instruction& i, bool adds) {
  const int bytes = bytes_of_integer(i.type());
  if (i.quals().size() != 1 || (bytes != 2 && bytes != 4))
    return false;
  (bytes == 4 ? emit_wide_32 : emit_wide_16)(e, isa::is_signed(i.type()), adds);
  return true;
}

// Whether the qualifiers are .lo or .hi, and perhaps .sat.
bool is_product(const ptx::Instruction& i) {
  for (const Qual qual : i.quals())
    if (qual != Qual::lo && qual != Qual::hi && qual != Qual::sat)
      return false;
  return bytes_of_integer(i.type()) != 0 && !i.quals().empty();
}

bool emit_mul(Emit& e, const ptx::Instruction& i) {
  if (i.has(Qual::wide))
    return emit_wide(e, i, false);
  if (!is_product(i) || i.has(Qual::sat))
    return false;
  Product product(e, i);
  const x86::Zmm x = e.temporary();
  e.binary([&](auto d, auto s, auto t) {
    product.part(x, s, t);
    e.a.vmovdqa64(d, x);
  });
  return true;
}

bool emit_mad(Emit& e, const ptx::Instruction& i) {
  if (i.has(Qual::wide))
    return emit_wide(e, i, true);
  if (!is_product(i))
    return false;
  Product product(e, i);
  const x86::Zmm x = e.temporary();
  if (i.has(Qual::sat)) {
    const std::array<x86::Zmm, 3> sum{e.temporary(), e.temporary(), e.temporary()};
    e.ternary([&](auto d, auto s, auto t, auto c) {
      product.part(x, s, t);
      saturated_sum(e, sum, x, c, false);
      e.a.vmovdqa64(d, sum[0]);
    });
    return true;
  }
  const asmjit::InstId add =
      by_width(bytes_of_integer(i.type()), ids::kIdVpaddw, ids::kIdVpaddd, ids::kIdVpaddq);
  e.ternary([&](auto d, auto s, auto t, auto c) {
    product.part(x, s, t);
    e.a.emit(add, d, x, c);
  });
  return true;
}

// to = the elements of 16 bits of s that are bytes 0 and 2 of its lanes, or 1 and 3.
void take_bytes(Emit& e, const x86::Zmm& to, const x86::Zmm& s, bool odd, bool is_signed) {
  if (!odd) {
    e.a.vpsllw(to, s, 8);
    is_signed ? e.a.vpsraw(to, to, 8) : e.a.vpsrlw(to, to, 8);
  } else {
    is_signed ? e.a.vpsraw(to, s, 8) : e.a.vpsrlw(to, s, 8);
  }
}

bool emit_dp4a(Emit& e, const ptx::Instruction& i) {
  const bool of_s = isa::is_signed(i.type(0)), of_t = isa::is_signed(i.type(1));
  const x86::Zmm x = e.temporary(), y = e.temporary(), sum = e.temporary();
  e.ternary([&](auto d, auto s, auto t, auto c) {
    take_bytes(e, x, s, false, of_s);
    take_bytes(e, y, t, false, of_t);
    e.a.vpmaddwd(x, x, y);
    e.a.vpaddd(sum, x, c);
    take_bytes(e, x, s, true, of_s);
    take_bytes(e, y, t, true, of_t);
    e.a.vpmaddwd(x, x, y);
    e.a.vpaddd(d, sum, x);
  });
  return true;
}

// to = so many bits of s from there on, extended.
void take_field(Emit& e, const x86::Zmm& to, const x86::Zmm& s, int from, int bits, bool is_signed) {
  e.a.vpslld(to, s, 32 - from - bits);
  is_signed ? e.a.vpsrad(to, to, 32 - bits) : e.a.vpsrld(to, to, 32 - bits);
}

bool emit_dp2a(Emit& e, const ptx::Instruction& i) {
  const bool of_s = isa::is_signed(i.type(0)), of_t = isa::is_signed(i.type(1));
  const int first = i.has(Qual::hi) ? 16 : 0;
  const x86::Zmm x = e.temporary(), y = e.temporary(), sum = e.temporary();
  e.ternary([&](auto d, auto s, auto t, auto c) {
    take_field(e, x, s, 0, 16, of_s);
    take_field(e, y, t, first, 8, of_t);
    e.a.vpmulld(x, x, y);
    e.a.vpaddd(sum, x, c);
    take_field(e, x, s, 16, 16, of_s);
    take_field(e, y, t, first + 8, 8, of_t);
    e.a.vpmulld(x, x, y);
    e.a.vpaddd(d, sum, x);
  });
  return true;
}

} // namespace

Product::Product(Emit& e, const ptx::Instruction& i)
    : e_(e), bytes_(bytes_of_integer(i.type())), is_signed_(isa::is_signed(i.type())),
      is_high_(i.has(Qual::hi)), is_of_24_(i.opcode == Opcode::mul24 || i.opcode == Opcode::mad24) {
  const size_t wanted = !is_high_     ? (is_of_24_ ? 1 : 0)
                        : bytes_ == 8 ? 4
                        : is_of_24_   ? 3
                        : bytes_ == 4 ? 1
                                      : 0;
  for (size_t n = 0; n < wanted; ++n)
    y_[n] = e.temporary();
}

void Product::part(const x86::Zmm& x, const x86::Zmm& s, const x86::Zmm& t) {
  if (is_of_24_ && is_high_) { // 24 bits at the top: the product's bits 16 to 47 are the high half of theirs
    e_.a.vpslld(y_[1], s, 8);
    e_.a.vpslld(y_[2], t, 8);
    high_32(x, y_[1], y_[2]);
  } else if (is_of_24_) {
    for (const auto& [to, from] : {std::pair(x, s), std::pair(y_[0], t)}) {
      e_.a.vpslld(to, from, 8);
      is_signed_ ? e_.a.vpsrad(to, to, 8) : e_.a.vpsrld(to, to, 8);
    }
    e_.a.vpmulld(x, x, y_[0]);
  } else if (!is_high_) {
    e_.a.emit(by_width(bytes_, ids::kIdVpmullw, ids::kIdVpmulld, ids::kIdVpmullq), x, s, t);
  } else if (bytes_ == 2) {
    is_signed_ ? e_.a.vpmulhw(x, s, t) : e_.a.vpmulhuw(x, s, t);
  } else {
    bytes_ == 4 ? high_32(x, s, t) : high_64(x, s, t);
  }
}

void Product::high_32(const x86::Zmm& x, const x86::Zmm& s, const x86::Zmm& t) {
  constexpr int kSecondOrBothOthers = 0xec; // of three: b | (a & c)
  e_.a.vpsrlq(x, s, 32);
  e_.a.vpsrlq(y_[0], t, 32);
  multiply_even(e_, is_signed_, x, x, y_[0]); // of the odd lanes
  multiply_even(e_, is_signed_, y_[0], s, t);
  e_.a.vpsrlq(y_[0], y_[0], 32);
  e_.a.vpternlogq(x, y_[0], e_.broadcast64(0xffffffff00000000), kSecondOrBothOthers);
}

// Of halves S s and T t: S*T + the high halves of (S*t + s*t's high half) and of (s*T + that one's low half).
void Product::high_64(const x86::Zmm& x, const x86::Zmm& s, const x86::Zmm& t) {
  const auto& [high_s, high_t, low, middle] = y_;
  e_.a.vpsrlq(high_s, s, 32);
  e_.a.vpsrlq(high_t, t, 32);
  e_.a.vpmuludq(low, s, t);
  e_.a.vpsrlq(low, low, 32);
  e_.a.vpmuludq(middle, high_s, t);
  e_.a.vpaddq(middle, middle, low);
  e_.a.vpmuludq(x, high_s, high_t);
  e_.a.vpmuludq(low, s, high_t);
  e_.a.vpandq(high_s, middle, e_.broadcast64(0xffffffff));
  e_.a.vpaddq(low, low, high_s);
  for (const x86::Zmm& sum : {middle, low}) {
    e_.a.vpsrlq(sum, sum, 32);
    e_.a.vpaddq(x, x, sum);
  }
  if (!is_signed_)
    return;
  for (const auto& [negative, other] : {std::pair(s, t), std::pair(t, s)}) {
    e_.a.vpsraq(low, negative, 63);
    e_.a.vpandq(low, low, other);
    e_.a.vpsubq(x, x, low);
  }
}

void add_product_emitters(EmitterTable& table) {
  table.add(Opcode::mul, either<emit_mul, emit_float_arithmetic>);
  table.add(Opcode::mad, either<emit_carry, emit_mad, emit_float_arithmetic>);
  table.add(Opcode::mul24, emit_mul);
  table.add(Opcode::mad24, emit_mad);
  table.add(Opcode::dp4a, emit_dp4a);
  table.add(Opcode::dp2a, emit_dp2a);
}

} // namespace lemma::vgpu
