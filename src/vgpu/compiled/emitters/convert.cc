// cvt between integers, f32 and f64.
//
// Operands may lie in registers wider than their type: a source's low bits are taken, a result is extended by
// its sign if its type has one, else by zeros. Those of floating-point types in wider registers, and half
// precision, are the handler's.
//
// What each computes stands in handlers/arithmetic/convert.inc. Tests: tests/unit/vgpu/convert_test.cc,
// through compiled code.
#include "vgpu/compiled/emitters/lanes.h"

#include <algorithm>
#include <optional>

namespace lemma::vgpu {
namespace {

using asmjit::InstId;
using isa::Opcode;
using isa::Qual;
using isa::Type;

enum class Direction : uint8_t { even, zero, down, up };

struct Conversion {
  Type to = Type::none, from = Type::none;
  bool is_rounded = false; // as written
  Direction direction = Direction::even;
  uint32_t mode = kHostDefaultMode; // of the direction
  bool ftz = false;
  bool sat = false;
};

bool is_scalar_integer(Type type) {
  switch (type) {
  case Type::u8:
  case Type::s8:
  case Type::u16:
  case Type::s16:
  case Type::u32:
  case Type::s32:
  case Type::u64:
  case Type::s64:
    return true;
  default:
    return false;
  }
}
bool is_wide_float(Type type) {
  return type == Type::f32 || type == Type::f64;
}

std::optional<Conversion> conversion_of(const ptx::Instruction& i) {
  if (i.types().size() != 2)
    return std::nullopt;
  Conversion c{.to = i.type(0), .from = i.type(1)};
  for (const Qual qual : i.quals())
    switch (qual) {
    case Qual::rn:
    case Qual::rni:
    case Qual::rz:
    case Qual::rzi:
    case Qual::rm:
    case Qual::rmi:
    case Qual::rp:
    case Qual::rpi:
      c.is_rounded = true;
      c.mode = host_mode(qual, false);
      c.direction = qual == Qual::rz || qual == Qual::rzi   ? Direction::zero
                    : qual == Qual::rm || qual == Qual::rmi ? Direction::down
                    : qual == Qual::rp || qual == Qual::rpi ? Direction::up
                                                            : Direction::even;
      break;
    case Qual::ftz:
      c.ftz = true;
      break;
    case Qual::sat:
      c.sat = true;
      break;
    default:
      return std::nullopt;
    }
  return c;
}

// to = the low bits of `from`, so many, extended to lanes of so many bytes.
void extend_bits(Emit& e, const x86::Zmm& to, const x86::Zmm& from, int lane_bytes, int bits,
                 bool is_signed) {
  if (is_signed) {
    const asmjit::Imm above(8 * lane_bytes - bits);
    e.a.emit(lane_bytes == 2   ? ids::kIdVpsllw
             : lane_bytes == 4 ? ids::kIdVpslld
                               : ids::kIdVpsllq,
             to, from, above);
    e.a.emit(lane_bytes == 2   ? ids::kIdVpsraw
             : lane_bytes == 4 ? ids::kIdVpsrad
                               : ids::kIdVpsraq,
             to, to, above);
    return;
  }
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  if (lane_bytes == 8)
    e.a.vpandq(to, from, e.broadcast64(mask));
  else
    e.a.vpandd(to, from, e.broadcast32(static_cast<uint32_t>(lane_bytes == 2 ? mask << 16 | mask : mask)));
}

// The integers of source 0, in lanes of so many bytes, as they are or, where that is asked for, extended.
Value integers_of_source(Emit& e, Type type, int lane_bytes, bool extended) {
  const Value source = e.source(0);
  const int bits = isa::bits_of(type);
  const bool is_signed = isa::is_signed(type);
  const Value s = resized(e, source, lane_bytes, is_signed);
  if (!extended || bits >= 8 * source.lane_bytes || bits >= 8 * lane_bytes)
    return s;
  const Value x = source.lane_bytes == lane_bytes ? temporaries(e, lane_bytes) : s;
  for (int part = 0; part < s.parts; ++part)
    extend_bits(e, x[part], s[part], lane_bytes, bits, is_signed);
  return x;
}

// --- integer to integer

// The bounds of a type that a source of another type can reach, in registers.
struct Bounds {
  Bounds(Emit& e, Type to, Type from, int lane_bytes) {
    const int to_bits = isa::bits_of(to), from_bits = isa::bits_of(from);
    const bool to_signed = isa::is_signed(to);
    by_sign = isa::is_signed(from);
    bytes = lane_bytes;
    binds_below = by_sign && (!to_signed || to_bits < from_bits);
    binds_above = to_bits < from_bits || (to_bits == from_bits && to_signed && !by_sign);
    const uint64_t top = uint64_t{1} << (to_bits - 1);
    if (binds_below)
      fill(e, low = e.temporary(), lane_bytes, to_signed ? -top : 0);
    if (binds_above)
      fill(e, high = e.temporary(), lane_bytes, to_signed ? top - 1 : top + (top - 1));
  }
  // to = `from` within them; false: nothing binds.
  bool apply(Emit& e, const x86::Zmm& to, const x86::Zmm& from) const {
    const auto by_width = [&](InstId of_16, InstId of_32, InstId of_64) {
      return bytes == 2 ? of_16 : bytes == 4 ? of_32 : of_64;
    };
    if (binds_below)
      e.a.emit(by_width(ids::kIdVpmaxsw, ids::kIdVpmaxsd, ids::kIdVpmaxsq), to, from, low);
    if (binds_above)
      e.a.emit(by_sign ? by_width(ids::kIdVpminsw, ids::kIdVpminsd, ids::kIdVpminsq)
                       : by_width(ids::kIdVpminuw, ids::kIdVpminud, ids::kIdVpminuq),
               to, binds_below ? to : from, high);
    return binds_below || binds_above;
  }
  bool by_sign, binds_below, binds_above;
  int bytes;
  x86::Zmm low, high;
};

// Whether every number of one type is one of the other.
bool holds_all(Type to, Type from) {
  const int to_bits = isa::bits_of(to), from_bits = isa::bits_of(from);
  return isa::is_signed(from) ? isa::is_signed(to) && to_bits >= from_bits
                              : to_bits > from_bits || (to_bits == from_bits && !isa::is_signed(to));
}

bool emit_integer_to_integer(Emit& e, const Conversion& c) {
  const int from_bytes = e.source_slot(0).bytes, to_bytes = e.destination_slot().bytes;
  const int to_bits = isa::bits_of(c.to);
  // Numbers are compared in the wider lanes; their low bits alone can be taken in those of the result.
  const int lane_bytes = c.sat ? std::max(from_bytes, to_bytes) : to_bytes;
  const bool extended = c.sat || to_bits > isa::bits_of(c.from);
  const Value s = integers_of_source(e, c.from, lane_bytes, extended);
  const bool extends = to_bits < 8 * to_bytes && !(extended && (c.sat || holds_all(c.to, c.from)));
  std::optional<Bounds> bounds;
  if (c.sat)
    bounds.emplace(e, c.to, c.from, lane_bytes);
  const Value x = lane_bytes == to_bytes ? Value{} : temporaries(e, lane_bytes);
  const Value d = e.destination();
  const Value& to = lane_bytes == to_bytes ? d : x;
  for (int part = 0; part < to.parts; ++part) {
    if (!(bounds && bounds->apply(e, to[part], s[part])) && !extends)
      e.a.vmovdqa64(to[part], s[part]);
    if (extends)
      extend_bits(e, to[part], s[part], lane_bytes, to_bits, isa::is_signed(c.to));
  }
  if (lane_bytes != to_bytes)
    resize(e, d, x, false);
  return true;
}

// --- integer to floating point

// [+0, 1] of each, NaN being +0: maximum and minimum take their second operand then.
class UnitInterval {
public:
  UnitInterval(Emit& e, bool is_double)
      : e_(e), is_double_(is_double), zero_(e.temporary()), one_(e.temporary()) {
    fill(e, zero_, 4, 0);
    is_double ? fill(e, one_, 8, 0x3ff0000000000000) : fill(e, one_, 4, 0x3f800000);
  }
  void apply(const x86::Zmm& x) {
    e_.a.emit(is_double_ ? ids::kIdVmaxpd : ids::kIdVmaxps, x, x, zero_);
    e_.a.emit(is_double_ ? ids::kIdVminpd : ids::kIdVminps, x, x, one_);
  }

private:
  Emit& e_;
  bool is_double_;
  x86::Zmm zero_, one_;
};

bool emit_integer_to_float(Emit& e, const Conversion& c) {
  const bool to_double = c.to == Type::f64, wide = isa::bits_of(c.from) == 64;
  if (e.destination_slot().bytes != isa::bytes_of(c.to))
    return false;
  e.mode(c.mode);
  const Value s = integers_of_source(e, c.from, wide ? 8 : 4, true);
  const bool is_signed = isa::is_signed(c.from) || isa::bits_of(c.from) < 32;
  std::optional<UnitInterval> interval;
  if (c.sat)
    interval.emplace(e, to_double);
  const x86::Zmm x = e.temporary();
  const Value d = e.destination();
  for (int part = 0; part < d.parts; ++part) {
    if (wide && to_double) {
      e.a.emit(is_signed ? ids::kIdVcvtqq2pd : ids::kIdVcvtuqq2pd, d[part], s[part]);
    } else if (wide) {
      const InstId id = is_signed ? ids::kIdVcvtqq2ps : ids::kIdVcvtuqq2ps;
      e.a.emit(id, d[part].ymm(), s[2 * part]);
      e.a.emit(id, x.ymm(), s[2 * part + 1]);
      e.a.vinserti64x4(d[part], d[part], x.ymm(), 1);
    } else if (to_double) {
      if (part % 2 != 0)
        e.a.vextracti64x4(x.ymm(), s[part / 2], 1);
      e.a.emit(is_signed ? ids::kIdVcvtdq2pd : ids::kIdVcvtudq2pd, d[part],
               part % 2 != 0 ? x.ymm() : s[part / 2].ymm());
    } else {
      e.a.emit(is_signed ? ids::kIdVcvtdq2ps : ids::kIdVcvtudq2ps, d[part], s[part]);
    }
    if (interval)
      interval->apply(d[part]);
  }
  return true;
}

// --- floating point to integer

constexpr int kOrdered = 7, kNotOrdered = 3, kAtOrAbove = 0x1d, kBelowOf = 0x11,
              kAboveOf = 0x1e;    // of comparisons
constexpr int kComplement = 0x55; // of vpternlog

// The next instruction rounds so.
x86::Assembler& rounding(Emit& e, Direction direction) {
  switch (direction) {
  case Direction::zero:
    e.a.rz_sae();
    break;
  case Direction::down:
    e.a.rd_sae();
    break;
  case Direction::up:
    e.a.ru_sae();
    break;
  default:
    e.a.rn_sae();
    break;
  }
  return e.a;
}

// A number of a power of two as the host has it.
uint32_t power_f32(int exponent) {
  return static_cast<uint32_t>(127 + exponent) << 23;
}
uint64_t power_f64(int exponent) {
  return static_cast<uint64_t>(1023 + exponent) << 52;
}

// Of f32 to 32 bits at most; NaN gives 0. The host gives all ones for what is no u32, and the lowest number
// for what is no s32.
Value single_to_integer(Emit& e, const Conversion& c) {
  const int bits = isa::bits_of(c.to);
  const bool is_signed = isa::is_signed(c.to), is_small = bits < 32;
  const Value s = e.source(0), x = temporaries(e, 4);
  const x86::Zmm low = e.temporary(), high = e.temporary();
  const auto bound = [&](const x86::Zmm& to, float number) {
    fill(e, to, 4, __builtin_bit_cast(uint32_t, number));
  };
  const float top = static_cast<float>(1 << std::min(bits - 1, 16)); // of a small one
  bound(low, is_signed ? -top : 0);
  if (is_small)
    bound(high, is_signed ? top - 1 : 2 * top - 1);
  else
    fill(e, high, 4, power_f32(31));
  for (int part = 0; part < s.parts; ++part) {
    const bool clamps = is_small || !is_signed;
    if (clamps)
      e.a.vmaxps(x[part], s[part], low); // of NaN: the bound
    if (is_small)
      e.a.vminps(x[part], x[part], high);
    const x86::Zmm& from = clamps ? x[part] : s[part];
    if (!is_signed) {
      rounding(e, c.direction).vcvtps2udq(x[part], from);
      continue;
    }
    e.a.vcmpps(x86::k5, s[part], s[part], kOrdered);
    rounding(e, c.direction).k(x86::k5).z().vcvtps2dq(x[part], from);
    if (is_small)
      continue;
    e.a.vcmpps(x86::k5, s[part], high, kAtOrAbove);
    e.a.k(x86::k5).vpternlogd(x[part], x[part], x[part], kComplement);
  }
  return x;
}

// Of f64 to 32 bits at most; NaN gives the top bit alone, which is the lowest number where there is a sign.
Value double_to_integer(Emit& e, const Conversion& c) {
  const int bits = isa::bits_of(c.to);
  const bool is_signed = isa::is_signed(c.to);
  const Value s = e.source(0), to = temporaries(e, 4);
  const x86::Zmm low = e.temporary(), high = e.temporary(), x = e.temporary();
  const auto bound = [&](const x86::Zmm& to, double number) {
    fill(e, to, 8, __builtin_bit_cast(uint64_t, number));
  };
  const double top = static_cast<double>(uint64_t{1} << (bits - 1));
  bound(low, is_signed ? -top : 0);
  bound(high, is_signed ? top - 1 : 2 * top - 1);
  for (int part = 0; part < s.parts; ++part) {
    e.a.vmaxpd(x, s[part], low);
    e.a.vminpd(x, x, high);
    if (!is_signed) {
      e.a.vcmppd(x86::k5, s[part], s[part], kNotOrdered);
      e.a.k(x86::k5).vbroadcastsd(x, e.number64(power_f64(bits - 1)));
    }
    const x86::Ymm half = part % 2 == 0 ? to[part / 2].ymm() : x.ymm();
    is_signed ? rounding(e, c.direction).vcvtpd2dq(half, x) : rounding(e, c.direction).vcvtpd2udq(half, x);
    if (part % 2 != 0)
      e.a.vinserti64x4(to[part / 2], to[part / 2], x.ymm(), 1);
  }
  return to;
}

// To 64 bits; NaN gives the top bit alone, as the host's conversion to s64 gives it.
Value float_to_wide_integer(Emit& e, const Conversion& c) {
  const bool is_signed = isa::is_signed(c.to);
  const Value s = e.source(0), x = temporaries(e, 8);
  const x86::Zmm bound = e.temporary(), wide = e.temporary(), nan = e.temporary();
  fill(e, bound, 8, is_signed ? power_f64(63) : 0);
  fill(e, nan, 8, uint64_t{1} << 63);
  for (int part = 0; part < x.parts; ++part) {
    x86::Zmm from = s[c.from == Type::f64 ? part : 0];
    if (c.from == Type::f32) {
      if (part % 2 != 0)
        e.a.vextracti64x4(wide.ymm(), s[part / 2], 1);
      e.a.vcvtps2pd(wide, part % 2 != 0 ? wide.ymm() : s[part / 2].ymm());
      from = wide;
    }
    if (is_signed) {
      e.a.vcmppd(x86::k5, from, bound, kAtOrAbove);
      rounding(e, c.direction).vcvtpd2qq(x[part], from);
      e.a.k(x86::k5).vpternlogq(x[part], x[part], x[part], kComplement);
    } else {
      e.a.vcmppd(x86::k5, from, from, kNotOrdered);
      e.a.vmaxpd(x[part], from, bound);
      rounding(e, c.direction).vcvtpd2uqq(x[part], x[part]);
      e.a.k(x86::k5).vmovdqa64(x[part], nan);
    }
  }
  return x;
}

bool emit_float_to_integer(Emit& e, const Conversion& c) {
  const bool from_double = c.from == Type::f64;
  if (e.source_slot(0).bytes != isa::bytes_of(c.from))
    return false;
  e.mode(host_mode(Qual::none, c.ftz && !from_double));
  const Value x = isa::bits_of(c.to) == 64 ? float_to_wide_integer(e, c)
                  : from_double            ? double_to_integer(e, c)
                                           : single_to_integer(e, c);
  resize(e, e.destination(), x, isa::is_signed(c.to));
  return true;
}

// --- floating point to floating point

// Of one type to itself: rounded to an integral value, flushed, saturated. NaN of f32 is the machine's, of
// f64 it becomes quiet.
bool emit_float_to_itself(Emit& e, const Conversion& c) {
  constexpr int kQuietly = 8; // of vrndscale: its low bits are the direction
  constexpr int kDirections[] = {0, 3, 1, 2};
  const bool is_double = c.to == Type::f64;
  const int bytes = is_double ? 8 : 4;
  if (!c.is_rounded && !c.ftz && !c.sat) {
    e.unary([&](auto d, auto s) { e.a.vmovdqa64(d, s); });
    return true;
  }
  e.mode(host_mode(Qual::none, c.ftz && !is_double));
  std::optional<UnitInterval> interval;
  if (c.sat)
    interval.emplace(e, is_double);
  const x86::Zmm x = e.temporary(), y = e.temporary();
  fill(e, y, bytes, is_double ? uint64_t{1} << 51 : c.is_rounded || !c.ftz ? 0x7fffffff : 0x3f800000);
  e.unary([&](auto d, auto s) {
    if (c.is_rounded)
      e.a.emit(is_double ? ids::kIdVrndscalepd : ids::kIdVrndscaleps, x, s,
               asmjit::Imm(kQuietly | kDirections[static_cast<size_t>(c.direction)]));
    else if (c.ftz && !is_double)
      e.a.vmulps(x, s, y); // by one
    else
      e.a.vmovaps(x, s);
    if (interval) {
      interval->apply(x);
    } else if (is_double) {
      e.a.vcmppd(x86::k5, s, s, kNotOrdered);
      e.a.k(x86::k5).vporq(x, s, y);
    } else {
      e.a.vcmpps(x86::k5, s, s, kNotOrdered);
      e.a.k(x86::k5).vbroadcastss(x, e.number32(0x7fffffff));
    }
    e.a.vmovaps(d, x);
  });
  return true;
}

bool emit_single_to_double(Emit& e, const Conversion& c) {
  constexpr uint64_t kMachineNan = 0x7fffffffe0000000; // that of f32
  if (c.is_rounded)
    return false;
  e.mode(host_mode(Qual::none, c.ftz));
  const Value s = e.source(0);
  std::optional<UnitInterval> interval;
  if (c.sat)
    interval.emplace(e, true);
  const Value d = e.destination();
  for (int part = 0; part < d.parts; ++part) {
    if (part % 2 != 0)
      e.a.vextracti64x4(d[part].ymm(), s[part / 2], 1);
    e.a.vcvtps2pd(d[part], part % 2 != 0 ? d[part].ymm() : s[part / 2].ymm());
    if (interval) {
      interval->apply(d[part]);
    } else if (c.ftz) {
      e.a.vcmppd(x86::k5, d[part], d[part], kNotOrdered);
      e.a.k(x86::k5).vbroadcastsd(d[part], e.number64(kMachineNan));
    }
  }
  return true;
}

// The least number that .ftz does not make zero where it is rounded so: is_flushed() of convert.inc.
uint64_t least_unflushed(const Conversion& c, bool is_negative) {
  const bool away = c.direction == (is_negative ? Direction::down : Direction::up);
  const double least = c.direction == Direction::even ? 0x1p-126 * (1 - 0x1p-25)
                       : away                         ? 0x1p-126 * (1 - 0x1p-24)
                                                      : 0x1p-126;
  return __builtin_bit_cast(uint64_t, is_negative ? -least : least);
}

bool emit_double_to_single(Emit& e, const Conversion& c) {
  e.mode(c.mode);
  const Value s = e.source(0);
  std::optional<UnitInterval> interval;
  if (c.sat)
    interval.emplace(e, false);
  const x86::Zmm x = e.temporary();
  const Value d = e.destination();
  const auto find_flushed = [&](const x86::KReg& k, const x86::Zmm& from) {
    e.a.vcmppd(k, from, e.broadcast64(least_unflushed(c, false)), kBelowOf);
    e.a.k(k).vcmppd(k, from, e.broadcast64(least_unflushed(c, true)), kAboveOf);
  };
  for (int part = 0; part < d.parts; ++part) {
    e.a.vcvtpd2ps(d[part].ymm(), s[2 * part]);
    e.a.vcvtpd2ps(x.ymm(), s[2 * part + 1]);
    e.a.vinserti64x4(d[part], d[part], x.ymm(), 1);
    if (interval)
      interval->apply(d[part]);
    if (!c.ftz)
      continue;
    find_flushed(x86::k5, s[2 * part]);
    find_flushed(x86::k6, s[2 * part + 1]);
    e.a.kunpckbw(x86::k5, x86::k6, x86::k5);
    e.a.k(x86::k5).vpandd(d[part], d[part], e.broadcast32(0x80000000));
  }
  return true;
}

bool emit_float_to_float(Emit& e, const Conversion& c) {
  if (e.source_slot(0).bytes != isa::bytes_of(c.from) || e.destination_slot().bytes != isa::bytes_of(c.to))
    return false;
  return c.to == c.from        ? emit_float_to_itself(e, c)
         : c.from == Type::f32 ? emit_single_to_double(e, c)
                               : emit_double_to_single(e, c);
}

bool emit_cvt(Emit& e, const ptx::Instruction& i) {
  const auto c = conversion_of(i);
  if (!c || e.sources() != 1 || e.in().dst_count != 1)
    return false;
  if (is_scalar_integer(c->to))
    return is_scalar_integer(c->from) ? emit_integer_to_integer(e, *c)
           : is_wide_float(c->from)   ? emit_float_to_integer(e, *c)
                                      : false;
  if (!is_wide_float(c->to))
    return false;
  return is_scalar_integer(c->from) ? emit_integer_to_float(e, *c)
         : is_wide_float(c->from)   ? emit_float_to_float(e, *c)
                                    : false;
}

} // namespace

void add_convert_emitters(EmitterTable& table) {
  table.add(Opcode::cvt,
            [](Emit& e, const ptx::Instruction& i) { return emit_cvt(e, i) || emit_half_conversion(e, i); });
}

} // namespace lemma::vgpu
