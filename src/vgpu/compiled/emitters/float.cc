// Arithmetic of f32 and f64.
//
// An f32 result that is no number becomes the one NaN of the machine. f64 keeps a payload, and where several
// operands are no numbers the host takes another one's than the machine: where a result is none, the handler
// computes it.
//
// What each computes stands in handlers/arithmetic/float.inc. Tests: tests/unit/vgpu/float_test.cc,
// compiled_test.cc.
#include "vgpu/compiled/emit.h"

#include <optional>

namespace lemma::vgpu {
namespace {

using asmjit::InstId;
using asmjit::Label;
using isa::Opcode;
using isa::Qual;
using isa::Type;

constexpr uint32_t kNan = 0x7fffffff;
constexpr int kUnordered = 3; // a predicate of comparisons

// What a row's handlers do by modes of the host.
struct Modes {
  uint32_t mode = kHostDefaultMode;
  bool sat = false;
};
// Nothing where a qualifier is none of them.
std::optional<Modes> modes_of(const ptx::Instruction& i) {
  Modes modes;
  Qual rounding = Qual::rn;
  bool ftz = false;
  for (const Qual qual : i.quals())
    switch (qual) {
    case Qual::rn:
    case Qual::rz:
    case Qual::rm:
    case Qual::rp:
      rounding = qual;
      break;
    case Qual::ftz:
      ftz = true;
      break;
    case Qual::sat:
      modes.sat = true;
      break;
    default:
      return std::nullopt;
    }
  modes.mode = host_mode(rounding, ftz && i.type() != Type::f64);
  return modes;
}

// The instructions of an operation on parts, for f32 and f64.
struct Operation {
  InstId of_f32, of_f64;
};
std::optional<Operation> operation_of(Opcode opcode) {
  switch (opcode) {
  case Opcode::add:
    return Operation{ids::kIdVaddps, ids::kIdVaddpd};
  case Opcode::sub:
    return Operation{ids::kIdVsubps, ids::kIdVsubpd};
  case Opcode::mul:
    return Operation{ids::kIdVmulps, ids::kIdVmulpd};
  case Opcode::div:
    return Operation{ids::kIdVdivps, ids::kIdVdivpd};
  case Opcode::sqrt:
    return Operation{ids::kIdVsqrtps, ids::kIdVsqrtpd};
  default:
    return std::nullopt;
  }
}

// [+0, 1] of each, NaN and -0 being +0: maximum and minimum take their second operand then.
void saturate(Emit& e, bool is_double, const x86::Zmm& d, const x86::Zmm& zero, const x86::Zmm& one) {
  if (is_double) {
    e.a.vmaxpd(d, d, zero);
    e.a.vminpd(d, d, one);
  } else {
    e.a.vmaxps(d, d, zero);
    e.a.vminps(d, d, one);
  }
}

// x = op(sources) of a part; `x` is none of the sources.
void compute(Emit& e, const ptx::Instruction& i, bool is_double, const x86::Zmm& x,
             std::span<const x86::Zmm> s) {
  switch (i.opcode) {
  case Opcode::fma:
  case Opcode::mad:
    e.a.vmovaps(x, s[2]);
    is_double ? e.a.vfmadd231pd(x, s[0], s[1]) : e.a.vfmadd231ps(x, s[0], s[1]);
    return;
  case Opcode::rcp:
    if (is_double) {
      e.a.vbroadcastsd(x, e.number64(0x3ff0000000000000));
      e.a.vdivpd(x, x, s[0]);
    } else {
      e.a.vbroadcastss(x, e.number32(0x3f800000));
      e.a.vdivps(x, x, s[0]);
    }
    return;
  case Opcode::sqrt:
    is_double ? e.a.vsqrtpd(x, s[0]) : e.a.vsqrtps(x, s[0]);
    return;
  default: {
    const Operation operation = *operation_of(i.opcode);
    e.a.emit(is_double ? operation.of_f64 : operation.of_f32, x, s[0], s[1]);
  }
  }
}

bool is_modal(Opcode opcode) {
  switch (opcode) {
  case Opcode::add:
  case Opcode::sub:
  case Opcode::mul:
  case Opcode::div:
  case Opcode::fma:
  case Opcode::mad:
  case Opcode::rcp:
  case Opcode::sqrt:
    return true;
  default:
    return false;
  }
}

bool emit_modal(Emit& e, const ptx::Instruction& i) {
  const auto modes = modes_of(i);
  const bool is_double = i.type() == Type::f64, is_pair = i.type() == Type::f32x2;
  if (!modes || (is_pair && (modes->sat || i.opcode == Opcode::mad)))
    return false;
  const bool settles_aside = is_double && !modes->sat;
  e.mode(modes->mode);
  std::array<Value, 3> sources;
  const int count = e.sources();
  for (int s = 0; s < count; ++s)
    sources[static_cast<size_t>(s)] = e.source(s);
  const auto part_of = [&](int part) {
    return std::array<x86::Zmm, 3>{sources[0][part], sources[1][part], sources[2][part]};
  };
  if (settles_aside) {
    std::array<x86::Zmm, kMostParts> x;
    for (x86::Zmm& part : x)
      part = e.temporary();
    const Value d = e.destination();
    const Label slow = e.slow();
    for (int part = 0; part < 4; ++part)
      compute(e, i, true, x[static_cast<size_t>(part)], part_of(part));
    // Two at a time: a number that is none in either.
    e.a.vcmppd(x86::k5, x[0], x[1], kUnordered);
    e.a.vcmppd(x86::k6, x[2], x[3], kUnordered);
    e.a.kortestw(x86::k5, x86::k6);
    e.a.jnz(slow);
    for (int part = 0; part < 4; ++part)
      e.a.vmovapd(d[part], x[static_cast<size_t>(part)]);
    return true;
  }
  const Value d = e.destination();
  const x86::Zmm x = e.temporary(), y = e.temporary(), z = modes->sat ? e.temporary() : y;
  if (modes->sat) {
    e.a.vpxord(y, y, y);
    is_double ? e.a.vbroadcastsd(z, e.number64(0x3ff0000000000000))
              : e.a.vbroadcastss(z, e.number32(0x3f800000));
  } else {
    e.a.vbroadcastss(y, e.number32(kNan));
  }
  for (int part = 0; part < d.parts; ++part) {
    compute(e, i, is_double, x, part_of(part));
    if (modes->sat) {
      saturate(e, is_double, x, y, z);
    } else {
      e.a.vcmpps(x86::k5, x, x, kUnordered);
      e.a.k(x86::k5).vmovaps(x, y);
    }
    e.a.vmovaps(d[part], x);
  }
  return true;
}

// Of f32, where none of the operands is NaN.
bool emit_f32_min_max(Emit& e, const ptx::Instruction& i) {
  if (!i.quals().empty() || i.type() != Type::f32 || e.sources() != 2)
    return false;
  const bool max = i.opcode == Opcode::max;
  e.mode(kHostDefaultMode);
  const Value s = e.source(0), t = e.source(1), d = e.destination();
  const Label slow = e.slow();
  e.a.vcmpps(x86::k5, s[0], t[0], kUnordered);
  e.a.vcmpps(x86::k6, s[1], t[1], kUnordered);
  e.a.kortestw(x86::k5, x86::k6);
  e.a.jnz(slow);
  constexpr int kSignOfResult = 1 << 2;
  for (int part = 0; part < 2; ++part)
    e.a.vrangeps(d[part], s[part], t[part], kSignOfResult | (max ? 1 : 0));
  return true;
}

} // namespace

bool emit_float_arithmetic(Emit& e, const ptx::Instruction& i) {
  switch (i.opcode) {
  case Opcode::min:
  case Opcode::max:
    return emit_f32_min_max(e, i) || emit_float_bits(e, i);
  case Opcode::neg:
  case Opcode::abs:
    return emit_float_bits(e, i);
  default:
    break;
  }
  const bool is_f32 = i.types().size() == 1 && (i.type() == Type::f32 || i.type() == Type::f32x2);
  const bool is_f64 = i.types().size() == 1 && i.type() == Type::f64;
  return ((is_f32 || is_f64) && is_modal(i.opcode) && emit_modal(e, i)) || emit_approximate(e, i) ||
         emit_half_arithmetic(e, i);
}

void add_float_emitters(EmitterTable& table) {
  table.add({Opcode::fma, Opcode::rcp, Opcode::sqrt}, emit_float_arithmetic);
}

} // namespace lemma::vgpu
