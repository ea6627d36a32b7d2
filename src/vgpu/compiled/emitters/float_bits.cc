// What floats of every width are asked by their bits alone: min, max, neg, abs, copysign, testp of f16, bf16,
// f32 and f64, packed ones too.
//
// What each computes stands in handlers/arithmetic/floats.inc and float.inc. Tests:
// tests/unit/vgpu/float_test.cc, half_test.cc, compiled_test.cc.
#include "vgpu/compiled/emit.h"

#include <optional>

namespace lemma::vgpu {
namespace {

using asmjit::InstId;
using isa::Opcode;
using isa::Qual;
using isa::Type;

// FloatFormat of floats.inc, and the host's instructions on integers of that width.
struct BitFormat {
  int bytes = 0; // of an element
  uint64_t infinity = 0, nan = 0;
  InstId shift_right, max, min, compare_unsigned, test_zero, subtract, move;

  uint64_t sign() const { return uint64_t{1} << (8 * bytes - 1); }
  uint64_t magnitude() const { return sign() - 1; }
  uint64_t min_normal() const { return infinity & (~infinity + 1); }
};
std::optional<BitFormat> bit_format_of(Type type) {
  const auto of_16 = [](uint64_t infinity) {
    return BitFormat{2,
                     infinity,
                     0x7fff,
                     ids::kIdVpsraw,
                     ids::kIdVpmaxsw,
                     ids::kIdVpminsw,
                     ids::kIdVpcmpuw,
                     ids::kIdVptestnmw,
                     ids::kIdVpsubw,
                     ids::kIdVmovdqu16};
  };
  switch (type) {
  case Type::f16:
  case Type::f16x2:
    return of_16(0x7c00);
  case Type::bf16:
  case Type::bf16x2:
    return of_16(0x7f80);
  case Type::f32:
    return BitFormat{4,
                     0x7f800000,
                     0x7fffffff,
                     ids::kIdVpsrad,
                     ids::kIdVpmaxsd,
                     ids::kIdVpminsd,
                     ids::kIdVpcmpud,
                     ids::kIdVptestnmd,
                     ids::kIdVpsubd,
                     ids::kIdVmovdqa32};
  case Type::f64:
    return BitFormat{8,
                     0x7ff0000000000000,
                     0xfff8000000000000,
                     ids::kIdVpsraq,
                     ids::kIdVpmaxsq,
                     ids::kIdVpminsq,
                     ids::kIdVpcmpuq,
                     ids::kIdVptestnmq,
                     ids::kIdVpsubq,
                     ids::kIdVmovdqa64};
  default:
    return std::nullopt;
  }
}

struct BitQuals {
  bool ftz = false, nan = false, xorsign = false, abs = false;
};
std::optional<BitQuals> bit_quals_of(const ptx::Instruction& i) {
  BitQuals quals;
  for (const Qual qual : i.quals())
    switch (qual) {
    case Qual::ftz:
      quals.ftz = true;
      break;
    case Qual::NaN:
      quals.nan = true;
      break;
    case Qual::xorsign:
      quals.xorsign = true;
      break;
    case Qual::abs:
      quals.abs = true;
      break;
    default:
      return std::nullopt;
    }
  return quals;
}

constexpr int kLess = 1, kLessOrEqual = 2, kEqual = 0, kGreater = 6; // of comparisons of integers

// Elements of a format, in parts.
class FloatBits {
public:
  FloatBits(Emit& e, const BitFormat& format) : e_(e), a(e.a), f_(format) {}

  // A number in all elements.
  x86::Zmm all(uint64_t value) {
    const x86::Zmm x = e_.temporary();
    if (f_.bytes == 8)
      a.vpbroadcastq(x, e_.number64(value));
    else
      a.vpbroadcastd(x, e_.number32(replicated(value)));
    return x;
  }
  // The same, an operand of VPAND and the like.
  void bitwise(InstId of_32, InstId of_64, const x86::Zmm& d, const x86::Zmm& s, uint64_t value) {
    if (f_.bytes == 8)
      a.emit(of_64, d, s, e_.broadcast64(value));
    else
      a.emit(of_32, d, s, e_.broadcast32(replicated(value)));
  }
  void and_(const x86::Zmm& d, const x86::Zmm& s, uint64_t value) {
    bitwise(ids::kIdVpandd, ids::kIdVpandq, d, s, value);
  }
  void or_(const x86::Zmm& d, const x86::Zmm& s, uint64_t value) {
    bitwise(ids::kIdVpord, ids::kIdVporq, d, s, value);
  }
  void xor_(const x86::Zmm& d, const x86::Zmm& s, uint64_t value) {
    bitwise(ids::kIdVpxord, ids::kIdVpxorq, d, s, value);
  }
  // d = t ? s : d
  void move_if(const x86::KReg& t, const x86::Zmm& d, const x86::Zmm& s) { a.k(t).emit(f_.move, d, s); }
  void compare(const x86::KReg& k, const x86::Zmm& s, const x86::Zmm& t, int relation) {
    a.emit(f_.compare_unsigned, k, s, t, asmjit::Imm(relation));
  }
  // k: where s is NaN; `t` is overwritten.
  void find_nan(const x86::KReg& k, const x86::Zmm& s, const x86::Zmm& t, const x86::Zmm& infinity) {
    and_(t, s, f_.magnitude());
    compare(k, t, infinity, kGreater);
  }
  // s's subnormal numbers become zeros; `t`, k5 are overwritten.
  void flush(const x86::Zmm& s, const x86::Zmm& t, const x86::Zmm& infinity) {
    a.emit(f_.test_zero, x86::k5, s, infinity);
    and_(t, s, f_.sign());
    move_if(x86::k5, s, t);
  }

protected:
  uint32_t replicated(uint64_t value) const {
    const auto word = static_cast<uint32_t>(value);
    return f_.bytes == 2 ? word << 16 | word : word;
  }

  Emit& e_;
  x86::Assembler& a;
  const BitFormat& f_;
};

// MinMax of floats.inc, and of three operands.
class EmitMinMax : FloatBits {
public:
  EmitMinMax(Emit& e, const BitFormat& format, BitQuals quals, bool max)
      : FloatBits(e, format), quals_(quals), max_(max) {}

  bool run() {
    const int count = e_.sources();
    std::array<Value, 3> s;
    for (int i = 0; i < count; ++i)
      s[static_cast<size_t>(i)] = e_.source(i);
    const Value d = e_.destination();
    infinity_ = all(f_.infinity);
    magnitude_ = all(f_.magnitude());
    if (f_.bytes != 8)
      nan_ = all(f_.nan);
    for (x86::Zmm* x : {&x_, &y_, &left_, &right_, &sign_})
      *x = e_.temporary();
    for (int part = 0; part < d.parts; ++part) {
      prepare(left_, s[0][part]);
      prepare(right_, s[1][part]);
      two();
      if (count == 3) {
        a.vmovdqa64(left_, x_);
        prepare(right_, s[2][part]);
        two();
      }
      a.vmovdqa64(d[part], x_);
    }
    return true;
  }

private:
  void prepare(const x86::Zmm& x, const x86::Zmm& s) {
    a.vmovdqa64(x, s);
    if (quals_.ftz)
      flush(x, y_, infinity_);
    if (quals_.abs && !quals_.xorsign)
      and_(x, x, f_.magnitude());
  }

  // y = a number in the order of the floats, from x; or back.
  void order(const x86::Zmm& y, const x86::Zmm& x) {
    a.emit(f_.shift_right, y, x, asmjit::Imm(8 * f_.bytes - 1));
    a.vpternlogd(y, x, magnitude_, 0x6c); // (y & magnitude) ^ x
  }

  // x = of left and right, which xorsign overwrites.
  void two() {
    if (quals_.xorsign) {
      a.vpxord(sign_, left_, right_);
      and_(sign_, sign_, f_.sign());
      and_(left_, left_, f_.magnitude());
      and_(right_, right_, f_.magnitude());
    }
    order(x_, left_);
    order(y_, right_);
    a.emit(max_ ? f_.max : f_.min, y_, x_, y_);
    order(x_, y_);
    find_nan(x86::k5, left_, y_, infinity_);
    find_nan(x86::k6, right_, y_, infinity_);
    move_if(x86::k6, x_, left_);
    move_if(x86::k5, x_, right_);
    if (quals_.xorsign) {
      and_(x_, x_, f_.magnitude());
      a.vpord(x_, x_, sign_);
    }
    quals_.nan ? a.kord(x86::k5, x86::k5, x86::k6) : a.kandd(x86::k5, x86::k5, x86::k6);
    if (f_.bytes == 8)
      or_(y_, right_, f_.min_normal() >> 1);
    move_if(x86::k5, x_, f_.bytes == 8 ? y_ : nan_);
  }

  BitQuals quals_;
  bool max_;
  x86::Zmm infinity_, magnitude_, nan_, x_, y_, left_, right_, sign_;
};

// neg and abs: a NaN is canonical, of f64 quiet.
class EmitSign : FloatBits {
public:
  using FloatBits::FloatBits;

  bool run(bool negates, bool ftz) {
    const Value s = e_.source(0), d = e_.destination();
    const x86::Zmm x = e_.temporary(), y = e_.temporary(), infinity = all(f_.infinity);
    const x86::Zmm nan = f_.bytes == 8 ? y : all(f_.nan);
    for (int part = 0; part < d.parts; ++part) {
      a.vmovdqa64(x, s[part]);
      if (ftz)
        flush(x, y, infinity);
      find_nan(x86::k5, x, y, infinity);
      if (f_.bytes == 8)
        or_(y, x, f_.min_normal() >> 1);
      negates ? xor_(x, x, f_.sign()) : and_(x, x, f_.magnitude());
      move_if(x86::k5, x, nan);
      a.vmovdqa64(d[part], x);
    }
    return true;
  }
};

class EmitCopysign : FloatBits {
public:
  using FloatBits::FloatBits;

  bool run() {
    const Value s = e_.source(0), t = e_.source(1), d = e_.destination();
    const x86::Zmm x = e_.temporary(), y = e_.temporary();
    for (int part = 0; part < d.parts; ++part) {
      and_(x, s[part], f_.sign());
      and_(y, t[part], f_.magnitude());
      a.vpord(d[part], x, y);
    }
    return true;
  }
};

class EmitTestp : FloatBits {
public:
  using FloatBits::FloatBits;

  static bool takes(Qual test) {
    switch (test) {
    case Qual::finite:
    case Qual::infinite:
    case Qual::number:
    case Qual::notanumber:
    case Qual::normal:
    case Qual::subnormal:
      return true;
    default:
      return false;
    }
  }

  bool run(Qual test) {
    const Value s = e_.source(0);
    const x86::Zmm x = e_.temporary(), infinity = all(f_.infinity), one = all(1),
                   subnormals = all(f_.min_normal() - 1);
    const std::array<x86::KReg, 4> masks{x86::k5, x86::k6, x86::k7, x86::k4};
    if (s.parts == 4)
      e_.forget_masks();
    const bool finite = test == Qual::finite || test == Qual::normal;
    for (int part = 0; part < s.parts; ++part) {
      const x86::KReg& k = masks[static_cast<size_t>(part)];
      and_(x, s[part], f_.magnitude());
      if (test != Qual::subnormal)
        compare(k, x, infinity,
                finite                   ? kLess
                : test == Qual::infinite ? kEqual
                : test == Qual::number   ? kLessOrEqual
                                         : kGreater);
      if (test != Qual::subnormal && test != Qual::normal)
        continue;
      // 1 to the highest subnormal number, or not.
      a.emit(f_.subtract, x, x, one);
      constexpr int kNotLess = 5;
      if (test == Qual::subnormal) {
        compare(k, x, subnormals, kLess);
      } else {
        a.k(k);
        compare(k, x, subnormals, kNotLess);
      }
    }
    e_.join_masks(x86::eax, std::span(masks).first(static_cast<size_t>(s.parts)), s.lane_bytes);
    e_.store_predicate(0, x86::eax);
    return true;
  }
};

// copysign and testp.
bool emit_bit_tests(Emit& e, const ptx::Instruction& i) {
  const auto format = i.types().size() == 1 ? bit_format_of(i.type()) : std::nullopt;
  if (!format || format->bytes == 2)
    return false;
  if (i.opcode == Opcode::copysign)
    return i.quals().empty() && EmitCopysign(e, *format).run();
  return i.quals().size() == 1 && EmitTestp::takes(i.quals()[0]) && EmitTestp(e, *format).run(i.quals()[0]);
}

} // namespace

bool emit_float_bits(Emit& e, const ptx::Instruction& i) {
  const auto format = i.types().size() == 1 ? bit_format_of(i.type()) : std::nullopt;
  const auto quals = bit_quals_of(i);
  if (!format || !quals)
    return false;
  switch (i.opcode) {
  case Opcode::min:
  case Opcode::max:
    return EmitMinMax(e, *format, *quals, i.opcode == Opcode::max).run();
  case Opcode::neg:
  case Opcode::abs:
    return !quals->nan && !quals->xorsign && !quals->abs &&
           EmitSign(e, *format).run(i.opcode == Opcode::neg, quals->ftz);
  default:
    return false;
  }
}

void add_float_bits_emitters(EmitterTable& table) {
  table.add({Opcode::copysign, Opcode::testp}, emit_bit_tests);
}

} // namespace lemma::vgpu
