// Sums, minimum and maximum of integers of 16, 32 and 64 bits, and of packed ones.
//
// What each computes stands in handlers/arithmetic/integer.inc. Tests: tests/unit/vgpu/integer_test.cc,
// compiled_test.cc.
#include "vgpu/compiled/emitters/integer.h"

#include <algorithm>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;

constexpr int kBelow = 1, kAllOnes = 0xff; // of comparisons, of vpternlog

// d = op(a, b), one instruction a part.
bool emit_each(Emit& e, asmjit::InstId id) {
  e.binary([&](auto d, auto s, auto t) { e.a.emit(id, d, s, t); });
  return true;
}
// An operation of elements of lanes of 32 bits, or of whole ones, in one instruction of the host.
struct PackedOperation {
  Opcode opcode;
  Type type;
  Qual qual; // the only one, or none
  asmjit::InstId id;
  asmjit::InstId relu = ids::kIdNone; // with zero, afterwards
};
constexpr PackedOperation kPackedOperations[] = {
    {Opcode::add, Type::u16x2, Qual::none, ids::kIdVpaddw},
    {Opcode::add, Type::s16x2, Qual::none, ids::kIdVpaddw},
    {Opcode::add, Type::u16x2, Qual::sat, ids::kIdVpaddusw},
    {Opcode::add, Type::s16x2, Qual::sat, ids::kIdVpaddsw},
    {Opcode::add, Type::u8x4, Qual::none, ids::kIdVpaddb},
    {Opcode::add, Type::s8x4, Qual::none, ids::kIdVpaddb},
    {Opcode::add, Type::u8x4, Qual::sat, ids::kIdVpaddusb},
    {Opcode::add, Type::s8x4, Qual::sat, ids::kIdVpaddsb},
    {Opcode::sub, Type::u8x4, Qual::none, ids::kIdVpsubb},
    {Opcode::sub, Type::s8x4, Qual::none, ids::kIdVpsubb},
    {Opcode::sub, Type::u8x4, Qual::sat, ids::kIdVpsubusb},
    {Opcode::sub, Type::s8x4, Qual::sat, ids::kIdVpsubsb},
    {Opcode::min, Type::u16x2, Qual::none, ids::kIdVpminuw},
    {Opcode::max, Type::u16x2, Qual::none, ids::kIdVpmaxuw},
    {Opcode::min, Type::s16x2, Qual::none, ids::kIdVpminsw},
    {Opcode::max, Type::s16x2, Qual::none, ids::kIdVpmaxsw},
    {Opcode::min, Type::u8x4, Qual::none, ids::kIdVpminub},
    {Opcode::max, Type::u8x4, Qual::none, ids::kIdVpmaxub},
    {Opcode::min, Type::s8x4, Qual::none, ids::kIdVpminsb},
    {Opcode::max, Type::s8x4, Qual::none, ids::kIdVpmaxsb},
    {Opcode::min, Type::s16x2, Qual::relu, ids::kIdVpminsw, ids::kIdVpmaxsw},
    {Opcode::max, Type::s16x2, Qual::relu, ids::kIdVpmaxsw, ids::kIdVpmaxsw},
    {Opcode::min, Type::s8x4, Qual::relu, ids::kIdVpminsb, ids::kIdVpmaxsb},
    {Opcode::max, Type::s8x4, Qual::relu, ids::kIdVpmaxsb, ids::kIdVpmaxsb},
    {Opcode::min, Type::s32, Qual::relu, ids::kIdVpminsd, ids::kIdVpmaxsd},
    {Opcode::max, Type::s32, Qual::relu, ids::kIdVpmaxsd, ids::kIdVpmaxsd},
};

bool emit_packed(Emit& e, const ptx::Instruction& i) {
  const Qual qual = i.quals().empty() ? Qual::none : i.quals()[0];
  const auto* const row = std::ranges::find_if(kPackedOperations, [&](const PackedOperation& row) {
    return row.opcode == i.opcode && row.type == i.type() && row.qual == qual;
  });
  if (row == std::end(kPackedOperations) || i.quals().size() > 1)
    return false;
  if (row->relu == ids::kIdNone)
    return emit_each(e, row->id);
  const x86::Zmm zero = e.temporary();
  e.a.vpxord(zero, zero, zero);
  e.binary([&](auto d, auto s, auto t) {
    e.a.emit(row->id, d, s, t);
    e.a.emit(row->relu, d, d, zero);
  });
  return true;
}

// add.sat.u32
bool emit_unsigned_saturated_sum(Emit& e) {
  const x86::Zmm x = e.temporary();
  e.binary([&](auto d, auto s, auto t) {
    e.a.vpaddd(x, s, t);
    e.a.vpcmpud(x86::k5, x, s, kBelow);
    e.a.k(x86::k5).vpternlogd(x, x, x, kAllOnes);
    e.a.vmovdqa64(d, x);
  });
  return true;
}

bool emit_add_sub(Emit& e, const ptx::Instruction& i) {
  if (emit_packed(e, i))
    return true;
  const bool adds = i.opcode == Opcode::add;
  if (i.quals().size() == 1 && i.has(Qual::sat) && i.type() == Type::s32) {
    const std::array<x86::Zmm, 3> x{e.temporary(), e.temporary(), e.temporary()};
    e.binary([&](auto d, auto s, auto t) {
      saturated_sum(e, x, s, t, !adds);
      e.a.vmovdqa64(d, x[0]);
    });
    return true;
  }
  if (i.quals().size() == 1 && i.has(Qual::sat) && i.type() == Type::u32 && adds)
    return emit_unsigned_saturated_sum(e);
  const int bytes = bytes_of_integer(i.type());
  if (bytes == 0 || !i.quals().empty())
    return false;
  return emit_each(e, adds ? by_width(bytes, ids::kIdVpaddw, ids::kIdVpaddd, ids::kIdVpaddq)
                           : by_width(bytes, ids::kIdVpsubw, ids::kIdVpsubd, ids::kIdVpsubq));
}

asmjit::InstId min_or_max(Type type, bool max) {
  const int bytes = bytes_of_integer(type);
  if (isa::is_signed(type))
    return max ? by_width(bytes, ids::kIdVpmaxsw, ids::kIdVpmaxsd, ids::kIdVpmaxsq)
               : by_width(bytes, ids::kIdVpminsw, ids::kIdVpminsd, ids::kIdVpminsq);
  return max ? by_width(bytes, ids::kIdVpmaxuw, ids::kIdVpmaxud, ids::kIdVpmaxuq)
             : by_width(bytes, ids::kIdVpminuw, ids::kIdVpminud, ids::kIdVpminuq);
}

bool emit_min_max(Emit& e, const ptx::Instruction& i) {
  if (emit_packed(e, i))
    return true;
  if (bytes_of_integer(i.type()) == 0 || !i.quals().empty())
    return false;
  return emit_each(e, min_or_max(i.type(), i.opcode == Opcode::max));
}

// c + |a - b|, the difference without a sign.
bool emit_sad(Emit& e, const ptx::Instruction& i) {
  const int bytes = bytes_of_integer(i.type());
  if (bytes == 0)
    return false;
  const asmjit::InstId add = by_width(bytes, ids::kIdVpaddw, ids::kIdVpaddd, ids::kIdVpaddq);
  const asmjit::InstId sub = by_width(bytes, ids::kIdVpsubw, ids::kIdVpsubd, ids::kIdVpsubq);
  const x86::Zmm x = e.temporary(), y = e.temporary();
  e.ternary([&](auto d, auto s, auto t, auto c) {
    e.a.emit(min_or_max(i.type(), true), x, s, t);
    e.a.emit(min_or_max(i.type(), false), y, s, t);
    e.a.emit(sub, x, x, y);
    e.a.emit(add, d, x, c);
  });
  return true;
}

bool emit_neg(Emit& e, const ptx::Instruction& i) {
  const int bytes = bytes_of_integer(i.type());
  const bool of_bytes = i.type() == Type::s8x4;
  if ((bytes == 0 && !of_bytes) || !i.quals().empty())
    return false;
  const asmjit::InstId id =
      of_bytes ? ids::kIdVpsubb : by_width(bytes, ids::kIdVpsubw, ids::kIdVpsubd, ids::kIdVpsubq);
  const x86::Zmm zero = e.temporary();
  e.a.vpxord(zero, zero, zero);
  e.unary([&](auto d, auto s) { e.a.emit(id, d, zero, s); });
  return true;
}

bool emit_abs(Emit& e, const ptx::Instruction& i) {
  const int bytes = bytes_of_integer(i.type());
  if (bytes == 0 || !i.quals().empty() || !isa::is_signed(i.type()))
    return false;
  const asmjit::InstId id = by_width(bytes, ids::kIdVpabsw, ids::kIdVpabsd, ids::kIdVpabsq);
  e.unary([&](auto d, auto s) { e.a.emit(id, d, s); });
  return true;
}

} // namespace

int bytes_of_integer(Type type) {
  switch (type) {
  case Type::u16:
  case Type::s16:
    return 2;
  case Type::u32:
  case Type::s32:
    return 4;
  case Type::u64:
  case Type::s64:
    return 8;
  default:
    return 0;
  }
}

// Where the sum leaves the range, its sign is neither operand's, or for a difference the sign of the first
// one is not that of the second one nor of the difference.
void saturated_sum(Emit& e, const std::array<x86::Zmm, 3>& x, const x86::Zmm& s, const x86::Zmm& t,
                   bool subtracts) {
  constexpr int kSignOfNeither = 0x18, kSignOfSecond = 0x24; // of (result, s, t)
  subtracts ? e.a.vpsubd(x[0], s, t) : e.a.vpaddd(x[0], s, t);
  e.a.vmovdqa64(x[1], x[0]);
  e.a.vpternlogd(x[1], s, t, subtracts ? kSignOfSecond : kSignOfNeither);
  e.a.vpmovd2m(x86::k5, x[1]);
  e.a.vpsrad(x[2], s, 31); // the bound on the side of s
  e.a.k(x86::k5).vpxord(x[0], x[2], e.broadcast32(INT32_MAX));
}

void add_integer_emitters(EmitterTable& table) {
  table.add({Opcode::add, Opcode::sub}, either<emit_carry, emit_add_sub, emit_float_arithmetic>);
  table.add({Opcode::min, Opcode::max}, either<emit_min_max, emit_float_arithmetic>);
  table.add(Opcode::neg, either<emit_neg, emit_float_arithmetic>);
  table.add(Opcode::abs, either<emit_abs, emit_float_arithmetic>);
  table.add(Opcode::sad, emit_sad);
}

} // namespace lemma::vgpu
