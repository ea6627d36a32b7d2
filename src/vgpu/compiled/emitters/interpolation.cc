// Approximate functions whose results ptxas or the unit normalizes: lg2, sin, cos and tanh of f32, to the bit
// as numeric/mufu_lanes.inc has them. Where an active lane has no ordinary number, the handler does the
// instruction.
//
// V (numeric/mufu.h) has less than 53 bits, and so is exact in double; a conversion to float toward zero is
// the cut to 24 bits.
//
// Tests: tests/unit/vgpu/approximate_test.cc, compiled_test.cc.
#include "vgpu/compiled/emitters/approximate.h"

#include <bit>

namespace lemma::vgpu {
namespace {

using asmjit::Label;
using isa::Opcode;

constexpr int32_t kLg2Rows[] = {
#include "numeric/mufu/lg2.inc"
};
constexpr int32_t kSinRows[] = {
#include "numeric/mufu/sin.inc"
};
constexpr int32_t kTanhRows[] = {
#include "numeric/mufu/tanh.inc"
};

// V = c0 + c1 * x + c2 * square(x)
struct Curve {
  double c0 = 0, c1 = 0, c2 = 0, unused = 0;
};
constexpr int kCurveShift = 2; // of its size, in units of 8 bytes
using Curves = std::array<Curve, 64>;
template <size_t kCount>
constexpr Curves curves(const int32_t (&rows)[kCount], int a, int k, int32_t r) {
  Curves made{};
  for (size_t i = 0; i < kCount / 3; ++i)
    made[i] = {static_cast<double>((int64_t{rows[3 * i]} << a) + r), static_cast<double>(rows[3 * i + 1]),
               static_cast<double>(k * rows[3 * i + 2]), 0};
  return made;
}
constexpr Curves kLg2 = curves(kLg2Rows, 12, 2, 0x3345);
constexpr Curves kSin = curves(kSinRows, 11, 1, 0);
constexpr Curves kTanh = curves(kTanhRows, 14, 1, 0);

// Of the binades of tanh from 2^-8 on: how far the mantissa is shifted for 17 bits of x, and the first row.
using Binades = std::array<uint32_t, 16>;
constexpr uint32_t kTanhLowest = 119u << 23, kTanhHighest = 130u << 23;
constexpr std::pair<Binades, Binades> kTanhBinades = [] {
  constexpr uint32_t kSegmentBits[] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3};
  std::pair<Binades, Binades> made{};
  made.first.fill(6);
  uint32_t row = 0;
  for (size_t i = 0; i < std::size(kSegmentBits); ++i) {
    made.first[i] = 6 - kSegmentBits[i];
    made.second[i] = row;
    row += 1u << kSegmentBits[i];
  }
  return made;
}();

constexpr uint32_t kSignBit = 0x80000000, kMagnitudeBits = 0x7fffffff, kMantissaBits = 0x7fffff,
                   kLeastNormal = 0x00800000, kInfinityBits = 0x7f800000, kOneBits = 0x3f800000;

constexpr uint64_t power_of_two(int exponent) { // as a double
  return static_cast<uint64_t>(1023 + exponent) << 52;
}

class Interpolation {
public:
  Interpolation(Emit& e, uint32_t mode) : e_(e), a(e.a) {
    e.mode(mode);
    s_ = e.source(0);
    for (TwoParts* parts : {&v_, &row_, &sign_, &t_, &u_})
      *parts = {e.temporary(), e.temporary()};
    for (x86::Zmm* one : {&y_, &square_, &value_, &slope_, &x_})
      *one = e.temporary();
    d_ = e.destination();
    slow_ = e.slow();
  }

  // Of normal, positive and finite numbers.
  void lg2() {
    for (size_t part = 0; part < 2; ++part) {
      a.vpsubd(y_, s(part), e_.broadcast32(kLeastNormal));
      a.vpcmpud(kTests[part], y_, e_.broadcast32(kInfinityBits - kLeastNormal), kNotBelow);
      a.vpandd(v_[part], s(part), e_.broadcast32(kMantissaBits));
      a.vpsrld(u_[part], s(part), 23);
      a.vpsubd(u_[part], u_[part], e_.broadcast32(127));
    }
    e_.leave_if_any(slow_);
    // The sum with the exponent, less two bits; of a negative one the complement.
    evaluate(kLg2, 36, [&](size_t part, int half) {
      convert_half(x_, u_[part], half);
      a.vfmadd231pd(value_, x_, e_.broadcast64(power_of_two(38)));
      a.vmulpd(value_, value_, e_.broadcast64(power_of_two(-2)));
      a.vrndscalepd(value_, value_, 9); // down
      a.vpmovq2m(x86::k5, value_);
      a.k(x86::k5).vpxorq(value_, value_, e_.broadcast64(uint64_t{1} << 63));
      a.k(x86::k5).vsubpd(value_, value_, e_.broadcast64(power_of_two(0)));
      set_sign(part, half);
    });
    for (size_t part = 0; part < 2; ++part) {
      a.vpord(v_[part], v_[part], sign_[part]);
      a.vpcmpud(x86::k5, s(part), e_.broadcast32(kOneBits), kNotEqual);
      a.k(x86::k5).z().vmovdqa32(d(part), v_[part]);
    }
  }

  // Of finite numbers; a turn has four quarters.
  void wave(bool cosine) {
    constexpr uint32_t kTurnsPerRadian = 0x3e22f983;
    a.vbroadcastss(y_, e_.number32(kTurnsPerRadian));
    for (size_t part = 0; part < 2; ++part) {
      a.vpandd(x_, s(part), e_.broadcast32(kMagnitudeBits));
      a.vpcmpud(kTests[part], x_, e_.broadcast32(kInfinityBits), kNotBelow);
      a.rz_sae().vmulps(v_[part], s(part), y_);
    }
    e_.leave_if_any(slow_);
    for (size_t part = 0; part < 2; ++part) {
      quarters(part);
      if (cosine)
        a.vpaddd(u_[part], u_[part], e_.broadcast32(kLeastNormal));
      // The sign is that of the half turn, and of sin the argument's; in odd quarters backwards.
      a.vpslld(y_, u_[part], 7);
      if (!cosine)
        a.vpxord(y_, y_, v_[part]);
      a.vpandd(sign_[part], y_, e_.broadcast32(kSignBit));
      a.vpandd(v_[part], u_[part], e_.broadcast32(kMantissaBits));
      a.vptestmd(x86::k5, u_[part], e_.broadcast32(kLeastNormal));
      a.k(x86::k5).vpxord(v_[part], v_[part], e_.broadcast32(kMantissaBits));
    }
    evaluate(kSin, 37, [](size_t, int) {});
    for (size_t part = 0; part < 2; ++part)
      a.vpord(d(part), v_[part], sign_[part]);
  }

  // Of all numbers: below 2^-8 themselves, from 8 on 1.
  void tanh() {
    for (size_t part = 0; part < 2; ++part) {
      a.vpandd(u_[part], s(part), e_.broadcast32(kMagnitudeBits));
      a.vpcmpud(kTests[part], u_[part], e_.broadcast32(kInfinityBits), kAbove);
    }
    e_.leave_if_any(slow_);
    for (size_t part = 0; part < 2; ++part) {
      a.vpsrld(y_, u_[part], 23);
      a.vpsubd(y_, y_, e_.broadcast32(kTanhLowest >> 23));
      a.vpermd(x_, y_, table(kTanhBinades.first));
      a.vpandd(v_[part], s(part), e_.broadcast32(kMantissaBits));
      a.vpsrlvd(v_[part], v_[part], x_);
      a.vpermd(row_[part], y_, table(kTanhBinades.second));
      a.vpsrld(x_, v_[part], 17);
      a.vpaddd(row_[part], row_[part], x_);
    }
    evaluate(kTanh, 40, [](size_t, int) {}, true);
    a.vpbroadcastd(y_, e_.number32(kOneBits));
    for (size_t part = 0; part < 2; ++part) {
      a.vpcmpud(x86::k5, u_[part], e_.broadcast32(kTanhHighest), kNotBelow);
      a.k(x86::k5).vmovdqa32(v_[part], y_);
      a.vpternlogd(v_[part], s(part), e_.broadcast32(kSignBit), 0xf8); // | (s & sign)
      a.vpcmpud(x86::k5, u_[part], e_.broadcast32(kTanhLowest), kBelow);
      a.k(x86::k5).vmovdqa32(v_[part], s(part));
      a.vmovdqa64(d(part), v_[part]);
    }
  }

private:
  const x86::Zmm& s(size_t part) const { return s_[static_cast<int>(part)]; }
  const x86::Zmm& d(size_t part) const { return d_[static_cast<int>(part)]; }
  x86::Mem table(const Binades& of) {
    return e_.vector(std::bit_cast<std::array<std::byte, kPartBytes>>(of));
  }

  // u = 4 * |v| with 23 bits after the point, cut; bits above are lost. What is shifted too far is zero.
  void quarters(size_t part) {
    a.vpandd(row_[part], v_[part], e_.broadcast32(kMantissaBits));
    a.vpord(row_[part], row_[part], e_.broadcast32(kLeastNormal));
    a.vpandd(y_, v_[part], e_.broadcast32(kMagnitudeBits));
    a.vpsrld(y_, y_, 23);
    a.vpsubd(y_, y_, e_.broadcast32(125));
    a.vpsllvd(u_[part], row_[part], y_);
    a.vpxord(x_, x_, x_);
    a.vpsubd(y_, x_, y_);
    a.vpsrlvd(x_, row_[part], y_);
    a.vpord(u_[part], u_[part], x_);
  }

  // The numbers of one half of a part as doubles.
  void convert_half(const x86::Zmm& to, const x86::Zmm& from, int half) {
    if (half != 0)
      a.vextracti64x4(to.ymm(), from, 1);
    a.vcvtdq2pd(to, half != 0 ? to.ymm() : from.ymm());
  }
  // Where k5 is set the lane of the half has a sign.
  void set_sign(size_t part, int half) {
    if (half == 0) {
      a.kmovb(x86::k6, x86::k5);
      return;
    }
    a.kunpckbw(x86::k5, x86::k5, x86::k6);
    a.k(x86::k5).z().vpbroadcastd(sign_[part], e_.number32(kSignBit));
  }

  void gather(const x86::Zmm& to, const x86::Ymm& index, size_t offset) {
    a.kxnorw(x86::k5, x86::k5, x86::k5);
    a.vpxord(to, to, to);
    a.k(x86::k5).vgatherdpd(to, x86::ptr(x86::rax, index, 3, static_cast<int32_t>(offset)));
  }

  // v = V * 2^-scale as floats, of v: | row | 16..0 x |, or of the rows in row_. `finish` may change value_,
  // 8 lanes of V.
  template <class Finish>
  void evaluate(const Curves& of, int scale, Finish finish, bool has_rows = false) {
    emit_squares(e_, square_, v_, t_, y_);
    a.mov(x86::rax, reinterpret_cast<uint64_t>(of.data()));
    for (size_t part = 0; part < 2; ++part) {
      const x86::Zmm &index = row_[part], &square = t_[0], &low = t_[1];
      if (!has_rows)
        a.vpsrld(index, v_[part], 17);
      a.vpslld(index, index, kCurveShift);
      a.vpandd(v_[part], v_[part], e_.broadcast32(0x1ffff));
      part == 0 ? a.vpandd(square, square_, e_.broadcast32(0xffff)) : a.vpsrld(square, square_, 16);
      for (const int half : {0, 1}) {
        if (half != 0)
          a.vextracti64x4(index.ymm(), index, 1);
        gather(value_, index.ymm(), offsetof(Curve, c0));
        gather(slope_, index.ymm(), offsetof(Curve, c1));
        convert_half(x_, v_[part], half);
        a.vfmadd231pd(value_, slope_, x_);
        gather(slope_, index.ymm(), offsetof(Curve, c2));
        convert_half(x_, square, half);
        a.vfmadd231pd(value_, slope_, x_);
        finish(part, half);
        a.vmulpd(value_, value_, e_.broadcast64(power_of_two(-scale)));
        a.rz_sae().vcvtpd2ps(half == 0 ? low.ymm() : x_.ymm(), value_);
      }
      a.vinserti64x4(v_[part], low, x_.ymm(), 1);
    }
  }

  static constexpr std::array<x86::KReg, 2> kTests{x86::k5, x86::k6};
  static constexpr int kBelow = 1, kNotEqual = 4, kNotBelow = 5, kAbove = 6;

  Emit& e_;
  x86::Assembler& a;
  Value s_, d_;
  TwoParts v_, row_, sign_, t_, u_;
  x86::Zmm y_, square_, value_, slope_, x_;
  Label slow_;
};

} // namespace

bool emit_interpolation(Emit& e, const ptx::Instruction& i, bool ftz) {
  switch (i.opcode) {
  case Opcode::lg2:
    Interpolation(e, e.mode()).lg2();
    return true;
  case Opcode::sin:
  case Opcode::cos: // the bits are the same with .ftz
    Interpolation(e, kHostDefaultMode).wave(i.opcode == Opcode::cos);
    return true;
  case Opcode::tanh:
    if (ftz)
      return false;
    Interpolation(e, e.mode()).tanh();
    return true;
  default:
    return false;
  }
}

} // namespace lemma::vgpu
