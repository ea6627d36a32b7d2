// Approximate functions: rcp, sqrt, rsqrt, ex2 and div of f32, to the bit as numeric/mufu.h has them;
// lg2, sin, cos and tanh are interpolation.cc.
//
// Ordinary numbers are computed here, 32 at once; where an active lane has another one, the handler does the
// instruction. Forms of f64 and half precision are always its own.
//
// The arithmetic is that of numeric/mufu_ordinary.inc, with fewer instructions. With x = hi << a | lo,
//
//   V >> a = C0 + C1 * hi + ((C1 * lo + k * C2 * square(x) + R) >> a)
//
// where C1 less a number that all rows share has 16 bits, so that one VPMADDWD makes both products of the
// last sum, and another one C1 * hi. With C0 comes what the exponent and the shared number need. A table of
// 128 rows is 8 registers of the host, in which VPERMI2D looks up 16 lanes at once: a gather loads each.
//
// Tests: tests/unit/vgpu/approximate_test.cc, compiled_test.cc.
#include "vgpu/compiled/emitters/approximate.h"
#include "vgpu/handlers/arithmetic/select.h"

#include <bit>
#include <cmath>

namespace lemma::vgpu {
namespace {

using asmjit::Label;
using isa::Opcode;
using isa::Qual;
using isa::Type;

constexpr uint32_t kApproximateNan = 0x7fffffff;
constexpr int kXBits = 17; // of x
constexpr size_t kMostRows = 128;

constexpr int32_t kRcpRows[] = {
#include "numeric/mufu/rcp.inc"
};
constexpr int32_t kRsqrtRows[] = {
#include "numeric/mufu/rsq.inc"
};
constexpr int32_t kSqrtRows[] = {
#include "numeric/mufu/sqrt.inc"
};
constexpr int32_t kEx2Rows[] = {
#include "numeric/mufu/ex2.inc"
};

// A function: V >> 2 + a is its significand, 2^23 to 2^24. An element of `slopes` has
//
//   | 31..16 k * C2 | 15..0 C1 - shared |
struct Interpolator {
  int a = 0;
  uint32_t r = 0;
  size_t rows = 0;
  alignas(kPartBytes) std::array<uint32_t, kMostRows> whole{}; // C0 and the rest
  alignas(kPartBytes) std::array<uint32_t, kMostRows> slopes{};
};
// `fold`: what is added to C0 for a row, modulo 2^32.
template <class Fold, size_t kCount>
constexpr Interpolator interpolator(const int32_t (&rows)[kCount], int a, int k, uint32_t r, int shared,
                                    Fold fold) {
  Interpolator made{.a = a, .r = r, .rows = kCount / 3};
  for (size_t row = 0; row < made.rows; ++row) {
    const int32_t c1 = rows[3 * row + 1] - shared, c2 = k * rows[3 * row + 2];
    if (c1 != static_cast<int16_t>(c1) || c2 != static_cast<int16_t>(c2))
      std::abort(); // no constant then
    made.whole[row] = static_cast<uint32_t>(rows[3 * row]) + fold(static_cast<uint32_t>(row));
    made.slopes[row] = static_cast<uint32_t>(c2) << 16 | (static_cast<uint32_t>(c1) & 0xffff);
  }
  return made;
}

// rcp: x is twice the lower 16 bits of the mantissa. The result's magnitude is (252 << 23) - |a| + mantissa
// + significand, of which the lower bits of the mantissa go with the shared slope.
constexpr Interpolator kRcp = interpolator(kRcpRows, 14, 2, 2 * 0x47e7, -2 << 14, [](uint32_t row) {
  return 4 * ((row << 16) + (252u << 23) - 0x7fffffffu);
});
// Roots: the exponent's part is 7 bits above 2^23, and 62.
constexpr uint32_t kRootExponent = 4 * (62u << 23);
constexpr Interpolator kRsqrt = interpolator(
    kRsqrtRows, 14, 4, 0x7fff, -2 << 14, [](uint32_t row) { return 2 * (row << kXBits) + kRootExponent; });
constexpr Interpolator kSqrt = interpolator(kSqrtRows, 15, 2, 0x7fff, 2 << 15,
                                            [](uint32_t row) { return kRootExponent - 2 * (row << kXBits); });
// ex2: the result is the argument in units of 2^-23, 126 << 23, and what is left of the significand.
constexpr Interpolator kEx2 = interpolator(
    kEx2Rows, 13, 1, 0x77e2, 4 << 13, [](uint32_t row) { return 4 * (126u << 23) - 4 * (row << kXBits); });

// What an instruction computes with. All registers are taken before the slow way is asked for.
class Approximation {
public:
  Approximation(Emit& e, uint32_t mode) : e_(e), a(e.a) {
    e.mode(mode);
    s_ = e.source(0);
    for (TwoParts* parts : {&v_, &w_, &t_, &u_, &slopes_})
      *parts = {e.temporary(), e.temporary()};
    for (x86::Zmm* one : {&x_, &y_, &square_})
      *one = e.temporary();
  }

  void rcp() { reciprocals(s_, destination()); }
  void root(bool reciprocal) { roots(reciprocal, destination()); }
  void ex2(bool ftz) { powers(ftz, destination()); }
  void div() {
    const Value divisor = e_.source(1);
    const Value d = destination();
    reciprocals(divisor, d, false);
    multiply_and_settle(d);
  }
  void div_by(float divisor) {
    const Value d = e_.destination();
    for (const x86::Zmm& part : w_)
      a.vbroadcastss(part, e_.number32(std::bit_cast<uint32_t>(1.0f / divisor)));
    multiply_and_settle(d);
  }

private:
  Value destination() {
    const Value d = e_.destination();
    slow_ = e_.slow();
    return d;
  }

  // w = V >> a less the shared slope, of v: | rows | 16..0 x |; what is above the rows is anything.
  void interpolate(const Interpolator& of) {
    emit_squares(e_, square_, v_, t_, y_);
    for (size_t part = 0; part < 2; ++part)
      a.vpsrld(t_[part], v_[part], kXBits);
    for (size_t part = 0; part < 2; ++part) {
      a.vptestmd(kOdd, t_[part], e_.broadcast32(32)); // the rows that the second two of four registers have
      a.vptestmd(kUpper, t_[part], e_.broadcast32(64));
      look_up(w_[part], t_[part], of.whole, of.rows);
      look_up(slopes_[part], t_[part], of.slopes, of.rows);
    }
    for (size_t part = 0; part < 2; ++part) {
      // Words: the lower bits of x, the square.
      if (part == 0)
        a.vpslld(t_[0], square_, 16);
      else
        a.vpandd(t_[0], square_, e_.broadcast32(0xffff0000));
      a.vpternlogd(t_[0], v_[part], e_.broadcast32((1u << of.a) - 1), 0xf8); // | (v & mask)
      a.vpsrld(t_[1], v_[part], of.a);
      a.vpandd(t_[1], t_[1], e_.broadcast32((1u << (kXBits - of.a)) - 1));
      a.vpmaddwd(t_[0], t_[0], slopes_[part]);
      a.vpmaddwd(t_[1], t_[1], slopes_[part]);
      a.vpaddd(t_[0], t_[0], e_.broadcast32(of.r));
      a.vpsrad(t_[0], t_[0], of.a);
      a.vpaddd(w_[part], w_[part], t_[1]);
      a.vpaddd(w_[part], w_[part], t_[0]);
    }
  }

  // to = the elements at `index`, whose bits above are in kOdd and kUpper. Overwrites x, y.
  void look_up(const x86::Zmm& to, const x86::Zmm& index, const std::array<uint32_t, kMostRows>& table,
               size_t rows) {
    const auto two = [&](const x86::Zmm& found, size_t which) { // of the registers that have 32 rows each
      const auto at = static_cast<int32_t>(which * 2 * kPartBytes);
      a.vmovdqa64(found, index);
      a.vmovdqa64(y_, x86::zmmword_ptr(x86::rax, at));
      a.vpermi2d(found, y_, x86::zmmword_ptr(x86::rax, at + kPartBytes));
    };
    a.mov(x86::rax, reinterpret_cast<uint64_t>(table.data()));
    two(to, 0);
    two(x_, 1);
    a.k(kOdd).vmovdqa32(to, x_);
    if (rows <= kMostRows / 2)
      return;
    two(x_, 2);
    a.k(kUpper).vmovdqa32(to, x_);
    two(x_, 3);
    a.kandw(x86::k7, kOdd, kUpper);
    a.k(x86::k7).vmovdqa32(to, x_);
  }

  // Of magnitudes from 2^-126 to 2^126, to d or w.
  void reciprocals(const Value& s, const Value& d, bool to_destination = true) {
    constexpr uint32_t kLeast = 0x00800000, kMost = 0x7e800000;
    for (int part = 0; part < 2; ++part) {
      const x86::Zmm& v = v_[static_cast<size_t>(part)];
      a.vpaddd(v, s[part], s[part]);
      a.vpsubd(y_, v, e_.broadcast32(2 * kLeast));
      a.vpcmpud(kTests[static_cast<size_t>(part)], y_, e_.broadcast32(2 * (kMost - kLeast)), kAbove);
    }
    e_.leave_if_any(slow_);
    interpolate(kRcp);
    for (int part = 0; part < 2; ++part) {
      const x86::Zmm &v = v_[static_cast<size_t>(part)], &w = w_[static_cast<size_t>(part)];
      a.vpsrad(w, w, 2);
      a.vpxord(v, s[part], e_.broadcast32(0x7fffffff));
      a.vpaddd(to_destination ? d[part] : w, w, v);
    }
  }

  // Of normal, positive and finite numbers.
  void roots(bool reciprocal, const Value& d) {
    constexpr uint32_t kImplicit = 0x00800000;
    for (int part = 0; part < 2; ++part) {
      const x86::Zmm &v = v_[static_cast<size_t>(part)], &exponent = u_[static_cast<size_t>(part)];
      a.vpaddd(exponent, s_[part], e_.broadcast32(kImplicit));
      a.vpcmpd(kTests[static_cast<size_t>(part)], exponent, e_.broadcast32(2 * kImplicit), kBelow);
      a.vpandd(v, s_[part], e_.broadcast32(2 * kImplicit - 1));
      a.vpxord(v, v, e_.broadcast32(kImplicit));
    }
    e_.leave_if_any(slow_);
    interpolate(reciprocal ? kRsqrt : kSqrt);
    for (int part = 0; part < 2; ++part) {
      const auto at = static_cast<size_t>(part);
      const x86::Zmm &v = v_[at], &w = w_[at], &exponent = u_[at];
      const x86::Mem bits = e_.broadcast32(0x3f800000);
      a.vpaddd(y_, v, v); // the shared slope
      a.emit(reciprocal ? ids::kIdVpsubd : ids::kIdVpaddd, w, w, y_);
      a.vpsrld(w, w, 2);
      a.vpsrld(exponent, exponent, 1);
      a.emit(reciprocal ? ids::kIdVpandnd : ids::kIdVpandd, exponent, exponent, bits); // bits less it, or it
      if (reciprocal) { // of a power of 4 the significand is 2^24, one more than interpolated
        a.vptestnmd(x86::k5, v, v);
        a.k(x86::k5).vpaddd(w, w, e_.broadcast32(1));
      }
      a.vpaddd(d[part], w, exponent);
    }
  }

  // Zero below the least normal number; without .ftz the handler's, as far as -152.
  void powers(bool ftz, const Value& d) {
    constexpr uint32_t kTwoTo23 = 0x4b000000, k128 = 0x43000000, kMinus126 = 0xc2fc0000,
                       kMinus152 = 0xc3180000;
    constexpr int kUnordered = 3, kLess = 0x11, kGreater = 0x1e;
    a.vcmpps(x86::k5, s_[0], s_[1], kUnordered);
    a.kmovw(x86::k6, x86::k5);
    for (int part = 0; part < 2 && !ftz; ++part) {
      a.vcmpps(x86::k7, s_[part], e_.broadcast32(kMinus126), kLess);
      a.k(x86::k7).vcmpps(x86::k7, s_[part], e_.broadcast32(kMinus152), kGreater);
      a.korw(kTests[static_cast<size_t>(part)], kTests[static_cast<size_t>(part)], x86::k7);
    }
    e_.leave_if_any(slow_);
    a.vbroadcastss(x_, e_.number32(k128)); // whose power is infinite
    // Of a negative number the complement: the one's if there is a fraction, so that the whole part is
    // rounded down.
    a.vpternlogd(y_, y_, y_, 0xff);
    for (int part = 0; part < 2; ++part) {
      const x86::Zmm& v = v_[static_cast<size_t>(part)];
      a.vminps(v, x_, s_[part]);
      a.vmulps(v, v, e_.broadcast32(kTwoTo23));
      a.vcvttps2dq(v, v);
      a.vpmovd2m(x86::k5, v);
      a.k(x86::k5).vptestmd(x86::k5, v, e_.broadcast32(0x7fffff));
      a.k(x86::k5).vpaddd(v, v, y_);
    }
    interpolate(kEx2);
    for (int part = 0; part < 2; ++part) {
      const x86::Zmm& w = w_[static_cast<size_t>(part)];
      a.vpsrld(w, w, 2);
      a.vpaddd(w, w, v_[static_cast<size_t>(part)]);
      a.vpcmpd(x86::k5, w, e_.broadcast32(0x00800000), kNotBelow);
      a.k(x86::k5).z().vmovdqa32(d[part], w);
    }
  }

  // d = w * s, where NaN is the machine's.
  void multiply_and_settle(const Value& d) {
    a.vbroadcastss(y_, e_.number32(kApproximateNan));
    for (int part = 0; part < 2; ++part) {
      const x86::Zmm& w = w_[static_cast<size_t>(part)];
      a.vmulps(w, w, s_[part]);
      a.vcmpps(x86::k5, w, w, 3); // unordered
      a.k(x86::k5).vmovaps(w, y_);
      a.vmovdqa64(d[part], w);
    }
  }

  static constexpr std::array<x86::KReg, 2> kTests{x86::k5, x86::k6};
  static constexpr x86::KReg kOdd = x86::k5, kUpper = x86::k6;
  static constexpr int kBelow = 1, kNotBelow = 5, kAbove = 6;

  Emit& e_;
  x86::Assembler& a;
  Value s_;
  TwoParts v_, w_, t_, u_, slopes_;
  x86::Zmm x_, y_, square_;
  Label slow_;
};

struct ApproximateForm {
  bool ftz = false;
  bool is_approximate = false; // .approx or .full
  bool is_known = true;        // no other qualifier
};
ApproximateForm form_of(const ptx::Instruction& i) {
  ApproximateForm form;
  for (const Qual qual : i.quals()) {
    form.ftz |= qual == Qual::ftz;
    form.is_approximate |= qual == Qual::approx || qual == Qual::full;
    form.is_known &= qual == Qual::ftz || qual == Qual::approx || qual == Qual::full;
  }
  return form;
}

// A divisor that the assembler knows is replaced by its reciprocal, rounded to nearest: nearest_rcp() of
// numeric/mufu_units.inc.
bool emit_division(Emit& e, const ptx::Instruction& i, bool ftz) {
  const uint32_t mode = host_mode(Qual::rn, ftz);
  Selection selection;
  if (!pick_approximate(i, selection))
    return false;
  if (e.in().handler != selection.by_constant) {
    Approximation(e, mode).div();
    return true;
  }
  if (!e.is_constant(1))
    return false;
  const auto divisor = std::bit_cast<float>(static_cast<uint32_t>(e.constant(1)));
  if (!(std::fabs(divisor) >= 0x1p-126f && std::fabs(divisor) <= 0x1p126f))
    return false;
  Approximation(e, mode).div_by(divisor);
  return true;
}

bool emit_of_form(Emit& e, const ptx::Instruction& i, bool ftz) {
  switch (i.opcode) {
  case Opcode::rcp:
    Approximation(e, e.mode()).rcp();
    return true;
  case Opcode::sqrt:
  case Opcode::rsqrt:
    Approximation(e, e.mode()).root(i.opcode == Opcode::rsqrt);
    return true;
  case Opcode::ex2: // exact in every mode
    Approximation(e, e.mode()).ex2(ftz);
    return true;
  case Opcode::div:
    return emit_division(e, i, ftz);
  default:
    return emit_interpolation(e, i, ftz);
  }
}

} // namespace

// The products of upper bits i and lower bits j of x with i + j = 9 and above, of two i at a time: the one
// product too many is cut with the fraction.
void emit_squares(Emit& e, const x86::Zmm& square, const TwoParts& v, const TwoParts& t, const x86::Zmm& y) {
  // The upper 16 bits of x: | 15..8 upper | 7..0 lower >> 1 |
  e.a.vpsrld(y, v[0], 1);
  e.a.vpslld(t[0], v[1], 15);
  e.a.mov(x86::eax, 0xaaaaaaaa);
  e.a.kmovd(x86::k5, x86::eax);
  e.a.k(x86::k5).vmovdqu16(y, t[0]);
  const auto twice = [&](uint32_t word) { return e.broadcast32(word << 16 | word); };
  e.a.vpandd(t[0], y, twice(0xff00));
  e.a.vpsrlw(t[1], t[0], 1);
  e.a.vpmulhuw(square, t[0], t[1]);
  constexpr std::array<std::pair<uint32_t, uint32_t>, 4> kGroups{
      {{0xc000, 0xfe}, {0x3000, 0xf8}, {0x0c00, 0xe0}, {0x0200, 0x80}}};
  for (const auto& [upper, lower] : kGroups) {
    e.a.vpandd(t[0], y, twice(upper));
    e.a.vpandd(t[1], y, twice(lower));
    e.a.vpmulhuw(t[0], t[0], t[1]);
    e.a.vpaddw(square, square, t[0]);
  }
}

bool emit_approximate(Emit& e, const ptx::Instruction& i) {
  const ApproximateForm form = form_of(i);
  if (!form.is_approximate || !form.is_known || i.types().size() != 1 || i.type() != Type::f32 ||
      !emit_of_form(e, i, form.ftz))
    return false;
  e.a.mov(e.member(e.example().approximate), 1);
  return true;
}

void add_approximate_emitters(EmitterTable& table) {
  table.add({Opcode::rsqrt, Opcode::ex2, Opcode::lg2, Opcode::sin, Opcode::cos, Opcode::tanh},
            emit_approximate);
}

} // namespace lemma::vgpu
