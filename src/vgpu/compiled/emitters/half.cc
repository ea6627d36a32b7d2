// Sums, products and fma of f16 and bf16, single or packed, and conversions from and to them.
//
// Halves are computed as f32 and rounded from there. A sum or product rounded to f32 first may be rounded
// again; of fma the f32 is the one of the two neighbours of the exact value whose last bit is odd.
//
// What each computes stands in handlers/arithmetic/half.inc, half_bits.inc, float.inc and convert.inc. Tests:
// tests/unit/vgpu/half_test.cc, convert_test.cc, compiled_test.cc.
#include "vgpu/compiled/emit.h"

#include <optional>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;

constexpr uint32_t kHalfNan = 0x7fffffff; // as f32, from which that of a half is cut
constexpr uint32_t kUpperHalf = 0xffff0000;
constexpr int kNearestEven = 0;

bool is_half(Type type) {
  return type == Type::f16 || type == Type::bf16;
}
bool is_pair(Type type) {
  return type == Type::f16x2 || type == Type::bf16x2;
}
bool is_brain(Type type) {
  return type == Type::bf16 || type == Type::bf16x2;
}

// The qualifiers of half.inc's flags, and a rounding.
struct HalfQuals {
  bool ftz = false, sat = false, relu = false;
  Qual rounding = Qual::none;
};
std::optional<HalfQuals> half_quals_of(const ptx::Instruction& i) {
  HalfQuals quals;
  for (const Qual qual : i.quals())
    switch (qual) {
    case Qual::ftz:
      quals.ftz = true;
      break;
    case Qual::sat:
      quals.sat = true;
      break;
    case Qual::relu:
      quals.relu = true;
      break;
    case Qual::rn:
    case Qual::rz:
    case Qual::rm:
    case Qual::rp:
      quals.rounding = qual;
      break;
    default:
      return std::nullopt;
    }
  return quals;
}

// 32 halves in a register of the host, and as f32 in two: of f16 the lower and the upper half of the
// register, of bf16 the even and the odd elements.
class Halves {
public:
  Halves(Emit& e, bool brain, HalfQuals quals) : e_(e), a(e.a), brain_(brain), quals_(quals) {
    if (brain)
      e.mode(kHostDefaultMode); // f16 is no subnormal number as f32
  }
  // Before any of what follows: registers that it uses.
  void take_constants() {
    nan_ = e_.temporary();
    t_ = e_.temporary();
    a.vbroadcastss(nan_, e_.number32(kHalfNan));
    if (quals_.sat || quals_.relu) {
      zero_ = e_.temporary();
      a.vpxord(zero_, zero_, zero_);
    }
  }

  void widen(const x86::Zmm& x, const x86::Zmm& halves, int which) {
    if (brain_) {
      which == 0 ? a.vpslld(x, halves, 16) : a.vpandd(x, halves, e_.broadcast32(kUpperHalf));
      return;
    }
    if (which == 0) {
      a.vcvtph2ps(x, halves.ymm());
    } else {
      a.vextracti64x4(x.ymm(), halves, 1);
      a.vcvtph2ps(x, x.ymm());
    }
  }
  // An operand whose subnormal numbers are flushed; f16 alone.
  void flush(const x86::Zmm& x, const x86::Zmm& halves) {
    a.vpbroadcastd(x, e_.number32(0x7c007c00));
    a.vptestnmw(x86::k5, halves, x);
    a.vpandd(t_, halves, e_.broadcast32(0x80008000));
    a.vmovdqa64(x, halves);
    a.k(x86::k5).vmovdqu16(x, t_);
  }

  // .sat, .relu and .ftz on what is still to be rounded. Overwrites k5.
  void limit(const x86::Zmm& x) {
    if (quals_.sat) { // NaN and -0 are +0: the second operand is taken then
      a.vmaxps(x, x, zero_);
      a.vminps(x, x, e_.broadcast32(0x3f800000));
    }
    if (quals_.relu) {
      a.vcmpps(x86::k5, x, zero_, 2); // not above
      a.k(x86::k5).vmovaps(x, zero_);
    }
  }
  void flush_tiny(const x86::Zmm& x) {
    constexpr uint32_t kTiny = 0x387ff000; // 2^-14 * (1 - 2^-12)
    a.vpandd(t_, x, e_.broadcast32(0x7fffffff));
    a.vpcmpud(x86::k5, t_, e_.broadcast32(kTiny), 1); // below
    a.k(x86::k5).vpandd(x, x, e_.broadcast32(0x80000000));
  }

  // Overwrites x, y, k5.
  void narrow(const x86::Zmm& d, const x86::Zmm& x, const x86::Zmm& y) {
    if (!brain_) {
      for (const x86::Zmm& z : {x, y}) {
        a.vcmpps(x86::k5, z, z, 3); // unordered
        a.k(x86::k5).vmovaps(z, nan_);
        a.vcvtps2ph(z.ymm(), z, kNearestEven);
      }
      a.vinserti64x4(d, x, y.ymm(), 1);
      return;
    }
    round_brain(x);
    round_brain(y);
    a.vpsrld(x, x, 16);
    a.vpternlogd(y, x, e_.broadcast32(kUpperHalf), 0xe4); // y where set, else x
    a.vmovdqa64(d, y);
  }
  // The upper halves become the numbers.
  void round_brain(const x86::Zmm& x) {
    a.vcmpps(x86::k5, x, x, 3); // unordered
    a.vpsrld(t_, x, 16);
    a.vpandd(t_, t_, e_.broadcast32(1));
    a.vpaddd(x, x, e_.broadcast32(0x7fff));
    a.vpaddd(x, x, t_);
    a.k(x86::k5).vmovaps(x, nan_);
  }
  // 16 numbers to the lower half of each 32 bits. Overwrites x, k5.
  void narrow_in_place(const x86::Zmm& x) {
    if (brain_) {
      round_brain(x);
      a.vpsrld(x, x, 16);
      return;
    }
    a.vcmpps(x86::k5, x, x, 3); // unordered
    a.k(x86::k5).vmovaps(x, nan_);
    a.vcvtps2ph(x.ymm(), x, kNearestEven);
    a.vpmovzxwd(x, x.ymm());
  }

protected:
  Emit& e_;
  x86::Assembler& a;
  bool brain_;
  HalfQuals quals_;
  x86::Zmm nan_, t_, zero_;
};

class HalfArithmetic : Halves {
public:
  using Halves::Halves;

  void run(Opcode opcode) {
    const int count = e_.sources();
    std::array<Value, 3> s;
    for (int i = 0; i < count; ++i)
      s[static_cast<size_t>(i)] = e_.source(i);
    const Value d = e_.destination();
    take_constants();
    std::array<x86::Zmm, 3> in, x;
    for (x86::Zmm& one : x)
      one = e_.temporary();
    if (quals_.ftz)
      for (x86::Zmm& one : in)
        one = e_.temporary();
    const x86::Zmm first = e_.temporary();
    for (int part = 0; part < d.parts; ++part) {
      for (int i = 0; i < count; ++i) {
        const auto at = static_cast<size_t>(i);
        if (quals_.ftz)
          flush(in[at], s[at][part]);
        else
          in[at] = s[at][part];
      }
      for (const int which : {0, 1}) {
        for (int i = 0; i < count; ++i)
          widen(x[static_cast<size_t>(i)], in[static_cast<size_t>(i)], which);
        compute(opcode, x);
        limit(x[0]);
        if (quals_.ftz)
          flush_tiny(x[0]);
        if (which == 0)
          a.vmovaps(first, x[0]);
      }
      narrow(d[part], first, x[0]);
    }
  }

private:
  // To x[0], which has been rounded to nearest, or to odd.
  void compute(Opcode opcode, const std::array<x86::Zmm, 3>& x) {
    switch (opcode) {
    case Opcode::add:
      a.rn_sae().vaddps(x[0], x[0], x[1]);
      return;
    case Opcode::sub:
      a.rn_sae().vsubps(x[0], x[0], x[1]);
      return;
    case Opcode::mul:
      a.rn_sae().vmulps(x[0], x[0], x[1]);
      return;
    default: // the neighbours, below in x[2]
      a.vmovaps(t_, x[2]);
      a.rd_sae().vfmadd231ps(x[2], x[0], x[1]);
      a.ru_sae().vfmadd213ps(x[0], x[1], t_);
      a.vptestmd(x86::k5, x[2], e_.broadcast32(1));
      a.k(x86::k5).vmovaps(x[0], x[2]);
    }
  }
};

// The same of f16 without flags, where the host computes that.
bool host_has_f16() {
  static const bool has = asmjit::CpuInfo::host().features().x86().hasAVX512_FP16();
  return has;
}
void emit_f16(Emit& e, Opcode opcode) {
  const bool fused = opcode == Opcode::fma;
  const Value s = e.source(0), t = e.source(1), c = fused ? e.source(2) : Value{}, d = e.destination();
  const x86::Zmm x = e.temporary(), nan = e.temporary();
  e.a.vpbroadcastd(nan, e.number32(0x7fff7fff));
  for (int part = 0; part < d.parts; ++part) {
    if (fused)
      e.a.vmovdqa64(x, c[part]);
    e.a.rn_sae();
    switch (opcode) {
    case Opcode::add:
      e.a.vaddph(x, s[part], t[part]);
      break;
    case Opcode::sub:
      e.a.vsubph(x, s[part], t[part]);
      break;
    case Opcode::mul:
      e.a.vmulph(x, s[part], t[part]);
      break;
    default:
      e.a.vfmadd231ph(x, s[part], t[part]);
      break;
    }
    e.a.vcmpph(x86::k5, x, x, 3); // unordered
    e.a.k(x86::k5).vmovdqu16(x, nan);
    e.a.vmovdqa64(d[part], x);
  }
}

// 16 halves, that fill half a register, from part `part` of 32 lanes to f32, NaN as it is.
void widen_single(Emit& e, bool brain, const x86::Zmm& x, const x86::Zmm& halves, int part) {
  x86::Ymm from = halves.ymm();
  if (part != 0) {
    e.a.vextracti64x4(x.ymm(), halves, 1);
    from = x.ymm();
  }
  if (brain) {
    e.a.vpmovzxwd(x, from);
    e.a.vpslld(x, x, 16);
  } else {
    e.a.vcvtph2ps(x, from);
  }
}

// x is settled: NaN the machine's, or in [+0, 1]. Overwrites k5.
void settle_single(Emit& e, bool sat, const x86::Zmm& x, const x86::Zmm& nan_or_zero) {
  if (sat) {
    e.a.vmaxps(x, x, nan_or_zero);
    e.a.vminps(x, x, e.broadcast32(0x3f800000));
  } else {
    e.a.vcmpps(x86::k5, x, x, 3); // unordered
    e.a.k(x86::k5).vmovaps(x, nan_or_zero);
  }
}
x86::Zmm take_nan_or_zero(Emit& e, bool sat) {
  const x86::Zmm x = e.temporary();
  if (sat)
    e.a.vpxord(x, x, x);
  else
    e.a.vbroadcastss(x, e.number32(kHalfNan));
  return x;
}

// add, sub and fma of f32 where all operands but the last are halves.
bool emit_mixed(Emit& e, const ptx::Instruction& i) {
  const auto quals = half_quals_of(i);
  const bool is_known = i.opcode == Opcode::add || i.opcode == Opcode::sub || i.opcode == Opcode::fma;
  if (!is_known || i.type(0) != Type::f32 || !is_half(i.type(1)) || !quals || quals->relu)
    return false;
  const bool brain = is_brain(i.type(1)), fused = i.opcode == Opcode::fma;
  e.mode(host_mode(quals->rounding, quals->ftz));
  const Value s = e.source(0), t = fused ? e.source(1) : s, c = e.source(fused ? 2 : 1), d = e.destination();
  const x86::Zmm x = e.temporary(), y = e.temporary(), other = take_nan_or_zero(e, quals->sat);
  for (int part = 0; part < d.parts; ++part) {
    widen_single(e, brain, x, s[0], part);
    if (fused) {
      widen_single(e, brain, y, t[0], part);
      e.a.vfmadd213ps(x, y, c[part]);
    } else {
      e.a.emit(i.opcode == Opcode::add ? ids::kIdVaddps : ids::kIdVsubps, x, x, c[part]);
    }
    settle_single(e, quals->sat, x, other);
    e.a.vmovaps(d[part], x);
  }
  return true;
}

// --- conversions ---

bool has_bytes(const Slot& slot, int bytes) {
  return slot.bytes == bytes;
}

// cvt.f32.f16, cvt.f32.bf16
bool emit_half_to_single(Emit& e, bool brain, HalfQuals quals) {
  if (quals.rounding != Qual::none || quals.relu || (brain && (quals.sat || quals.ftz)) ||
      !has_bytes(e.source_slot(0), 2) || !has_bytes(e.destination_slot(), 4))
    return false;
  const Value s = e.source(0), d = e.destination();
  const x86::Zmm x = e.temporary(), other = take_nan_or_zero(e, quals.sat);
  for (int part = 0; part < 2; ++part) {
    widen_single(e, brain, x, s[0], part);
    if (!brain) // bf16 keeps the bits of NaN
      settle_single(e, quals.sat, x, other);
    e.a.vmovaps(d[part], x);
  }
  return true;
}

class SingleToHalf : Halves {
public:
  using Halves::Halves;

  // Two parts to one. Overwrites k5.
  void to_one(const Value& d, const Value& s) {
    const x86::Zmm x = e_.temporary(), y = e_.temporary();
    take_constants();
    prepare(x, s[0]);
    prepare(y, s[1]);
    narrow_in_place(x);
    narrow_in_place(y);
    a.vpmovdw(x.ymm(), x);
    a.vpmovdw(y.ymm(), y);
    a.vinserti64x4(d[0], x, y.ymm(), 1);
  }
  // The first source in the upper halves.
  void to_two(const Value& d, const Value& s, const Value& t) {
    const x86::Zmm x = e_.temporary(), y = e_.temporary();
    take_constants();
    for (int part = 0; part < 2; ++part) {
      prepare(x, s[part]);
      prepare(y, t[part]);
      if (brain_) {
        narrow(d[part], y, x);
        continue;
      }
      narrow_in_place(x);
      narrow_in_place(y);
      a.vpslld(x, x, 16);
      a.vpord(d[part], x, y);
    }
  }

private:
  void prepare(const x86::Zmm& x, const x86::Zmm& s) {
    a.vmovaps(x, s);
    limit(x);
  }
};

} // namespace

bool emit_half_arithmetic(Emit& e, const ptx::Instruction& i) {
  if (i.types().size() == 2)
    return emit_mixed(e, i);
  const auto quals = half_quals_of(i);
  if (!quals || i.types().size() != 1)
    return false;
  const Type type = i.type();
  if (!(is_half(type) || is_pair(type)) || (is_brain(type) && quals->ftz) ||
      (quals->rounding != Qual::none && quals->rounding != Qual::rn))
    return false;
  switch (i.opcode) {
  case Opcode::add:
  case Opcode::sub:
  case Opcode::mul:
  case Opcode::fma:
    if (!is_brain(type) && !quals->ftz && !quals->sat && !quals->relu && host_has_f16())
      emit_f16(e, i.opcode);
    else
      HalfArithmetic(e, is_brain(type), *quals).run(i.opcode);
    return true;
  default:
    return false;
  }
}

bool emit_half_conversion(Emit& e, const ptx::Instruction& i) {
  const auto quals = half_quals_of(i);
  if (!quals || i.types().size() != 2)
    return false;
  const Type to = i.type(0), from = i.type(1);
  if (to == Type::f32 && is_half(from))
    return emit_half_to_single(e, is_brain(from), *quals);
  if (from != Type::f32 || quals->rounding != Qual::rn || !(is_half(to) || is_pair(to)) || quals->ftz)
    return false;
  const bool pair = is_pair(to);
  if (e.sources() != (pair ? 2 : 1) || !has_bytes(e.source_slot(0), 4) ||
      !has_bytes(e.destination_slot(), pair ? 4 : 2))
    return false;
  SingleToHalf halves(e, is_brain(to), *quals);
  const Value s = e.source(0), t = pair ? e.source(1) : s, d = e.destination();
  pair ? halves.to_two(d, s, t) : halves.to_one(d, s);
  return true;
}

} // namespace lemma::vgpu
