// Sums and differences with CC.CF, which a frame has as a mask of lanes.
//
//   add  a + b    addc  a + b + CF    sub  a + ~b + 1    subc  a + ~b + CF    mad, madc  as add with a
//   product
//
// What each computes stands in handlers/arithmetic/integer.inc. Tests: tests/unit/vgpu/integer_test.cc,
// through compiled code.
#include "vgpu/compiled/emitters/integer.h"
#include "vgpu/compiled/emitters/lanes.h"

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;

constexpr int kBelow = 1, kAtLeast = 5; // of comparisons ...
constexpr int kNot = 0x55;              // ... and of vpternlog, of the last

// rcx: the frame's CC.CF is at what this gives.
x86::Mem carry_of_frame(Emit& e) {
  const Exec& x = e.example();
  e.a.mov(x86::rcx, e.member(x.frame));
  return x86::Mem(x86::rcx,
                  static_cast<int32_t>(reinterpret_cast<const char*>(&x.frame->carry) -
                                       reinterpret_cast<const char*>(x.frame)),
                  4);
}

// Active lanes of CC.CF = those of eax. Overwrites rcx, rdx.
void store_carry(Emit& e) {
  const x86::Mem carry = carry_of_frame(e);
  if (e.active() != Lanes::all) {
    e.a.mov(x86::edx, carry);
    e.a.xor_(x86::eax, x86::edx);
    e.a.and_(x86::eax, e.active_lanes(x86::edx));
    e.a.xor_(x86::eax, x86::edx);
  }
  e.a.mov(carry, x86::eax);
}

struct Chain {
  int bytes;
  bool subtracts, takes, gives; // a carry
};

// x = s + t or s - t of a part. The carries in are in edx; those out are added to eax. Overwrites ecx, k5 ..
// k7.
void add_part(Emit& e, const Chain& chain, int part, const x86::Zmm& x, const x86::Zmm& s,
              const x86::Zmm& t) {
  const bool wide = chain.bytes == 8;
  const asmjit::InstId compare = wide ? ids::kIdVpcmpuq : ids::kIdVpcmpud;
  if (chain.subtracts && !chain.takes) {
    wide ? e.a.vpsubq(x, s, t) : e.a.vpsubd(x, s, t);
    if (chain.gives)
      e.a.emit(compare, x86::k5, s, t, asmjit::Imm(kAtLeast));
  } else {
    if (chain.subtracts)
      e.a.vpternlogd(x, t, t, kNot);
    const x86::Zmm& second = chain.subtracts ? x : t;
    wide ? e.a.vpaddq(x, s, second) : e.a.vpaddd(x, s, second);
    if (chain.gives)
      e.a.emit(compare, x86::k5, x, s, asmjit::Imm(kBelow));
  }
  if (chain.takes) {
    part_of_mask(e, x86::k6, x86::edx, chain.bytes, part);
    wide ? e.a.k(x86::k6).vpaddq(x, x, e.broadcast64(1)) : e.a.k(x86::k6).vpaddd(x, x, e.broadcast32(1));
    if (chain.gives) { // all ones have become zero
      e.a.k(x86::k6).emit(wide ? ids::kIdVptestnmq : ids::kIdVptestnmd, x86::k7, x, x);
      e.a.korw(x86::k5, x86::k5, x86::k7);
    }
  }
  if (!chain.gives)
    return;
  wide ? e.a.kmovb(x86::ecx, x86::k5) : e.a.kmovw(x86::ecx, x86::k5);
  if (part != 0)
    e.a.shl(x86::ecx, part * kPartBytes / chain.bytes);
  e.a.or_(x86::eax, x86::ecx);
}

// Whether the qualifiers are those of a sum, or product, with CC.CF.
bool is_chained(const ptx::Instruction& i) {
  for (const Qual qual : i.quals())
    if (qual != Qual::cc && qual != Qual::lo && qual != Qual::hi)
      return false;
  return bytes_of_integer(i.type()) >= 4;
}

} // namespace

bool emit_carry(Emit& e, const ptx::Instruction& i) {
  const bool subtracts = i.opcode == Opcode::sub || i.opcode == Opcode::subc;
  const bool multiplies = i.opcode == Opcode::mad || i.opcode == Opcode::madc;
  const Chain chain{.bytes = bytes_of_integer(i.type()),
                    .subtracts = subtracts,
                    .takes = i.opcode == Opcode::addc || i.opcode == Opcode::subc || i.opcode == Opcode::madc,
                    .gives = i.has(Qual::cc)};
  if ((!chain.takes && !chain.gives) || !is_chained(i))
    return false;
  const Value s = e.source(0), t = e.source(1);
  const Value c = multiplies ? e.source(2) : Value{};
  std::optional<Product> product;
  if (multiplies)
    product.emplace(e, i);
  const x86::Zmm x = e.temporary(), y = multiplies ? e.temporary() : x;
  const Value d = e.destination();
  if (chain.takes)
    e.a.mov(x86::edx, carry_of_frame(e));
  if (chain.gives)
    e.a.xor_(x86::eax, x86::eax);
  for (int part = 0; part < d.parts; ++part) {
    if (multiplies)
      product->part(y, s[part], t[part]);
    add_part(e, chain, part, x, multiplies ? y : s[part], multiplies ? c[part] : t[part]);
    e.a.vmovdqa64(d[part], x);
  }
  if (chain.gives)
    store_carry(e);
  return true;
}

void add_carry_emitters(EmitterTable& table) {
  table.add({Opcode::addc, Opcode::subc, Opcode::madc}, emit_carry);
}

} // namespace lemma::vgpu
