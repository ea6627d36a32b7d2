// Quotients and remainders of 32 bits, through f64: the truncated quotient of two such numbers is exact.
// Wider ones are the handler's, which divides lane by lane as the host does.
//
// Where the divisor is zero, all bits of the result are set. The host gives all ones for what is no u32, and
// the lowest number for what is no s32, which is right where that number is divided by -1.
//
// What each computes stands in handlers/arithmetic/integer.inc. Tests: tests/unit/vgpu/integer_test.cc,
// through compiled code.
#include "vgpu/compiled/emitters/integer.h"

#include <cmath>
#include <optional>

namespace lemma::vgpu {
namespace {

using isa::Opcode;

// 1 / d and a little more, for a known d that is not 0: the truncated product of a number of 32 bits and this
// is its quotient. The product is never less, and the excess less than the 1 / d by which a quotient that is
// not whole misses the next number.
double factor_of(double d) {
  const double towards = d < 0 ? -INFINITY : INFINITY;
  return std::nextafter(std::nextafter(1 / d, towards), towards);
}

// Quotients of 8 lanes at the low ends of registers.
class Quotient {
public:
  Quotient(Emit& e, bool is_signed) : e_(e), is_signed_(is_signed), y_(e.temporary()) {
    if (!e.is_constant(1) || static_cast<uint32_t>(e.constant(1)) == 0)
      return;
    const auto d = static_cast<uint32_t>(e.constant(1));
    factor_ = e.broadcast64(__builtin_bit_cast(
        uint64_t,
        factor_of(is_signed ? static_cast<double>(static_cast<int32_t>(d)) : static_cast<double>(d))));
  }
  // x = the quotients of those in s and t, which it is neither of; of their lower or upper halves.
  void half(const x86::Zmm& x, const x86::Zmm& s, const x86::Zmm& t, bool upper) {
    widen(x, s, upper);
    if (factor_) {
      e_.a.vmulpd(x, x, *factor_);
    } else {
      widen(y_, t, upper);
      e_.a.vdivpd(x, x, y_);
    }
    is_signed_ ? e_.a.vcvttpd2dq(x.ymm(), x) : e_.a.vcvttpd2udq(x.ymm(), x);
  }

private:
  void widen(const x86::Zmm& to, const x86::Zmm& from, bool upper) {
    if (upper)
      e_.a.vextracti64x4(to.ymm(), from, 1);
    const x86::Ymm half = upper ? to.ymm() : from.ymm();
    is_signed_ ? e_.a.vcvtdq2pd(to, half) : e_.a.vcvtudq2pd(to, half);
  }

  Emit& e_;
  bool is_signed_;
  x86::Zmm y_;
  std::optional<x86::Mem> factor_; // of a divisor that is known
};

bool emit_divide(Emit& e, const ptx::Instruction& i) {
  constexpr int kOnes = 0xff; // of vpternlog
  if (bytes_of_integer(i.type()) != 4 || !i.quals().empty())
    return false;
  const bool is_signed = isa::is_signed(i.type()), remains = i.opcode == Opcode::rem;
  e.mode(kHostDefaultMode);
  Quotient quotient(e, is_signed);
  const x86::Zmm x = e.temporary(), y = e.temporary();
  e.binary([&](auto d, auto s, auto t) {
    quotient.half(x, s, t, false);
    quotient.half(y, s, t, true);
    e.a.vinserti64x4(x, x, y.ymm(), 1);
    if (remains) {
      e.a.vpmulld(x, x, t);
      e.a.vpsubd(x, s, x);
    }
    if (remains || is_signed) {
      e.a.vptestnmd(x86::k5, t, t);
      e.a.k(x86::k5).vpternlogd(x, x, x, kOnes);
    }
    e.a.vmovdqa64(d, x);
  });
  return true;
}

} // namespace

void add_divide_emitters(EmitterTable& table) {
  table.add(Opcode::div, either<emit_divide, emit_float_arithmetic>);
  table.add(Opcode::rem, emit_divide);
}

} // namespace lemma::vgpu
