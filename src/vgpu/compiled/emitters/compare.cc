// Comparison and selection: setp, set, selp, slct. Halves are compared as f32.
//
// What each computes stands in handlers/arithmetic/compare.inc. Tests: tests/unit/vgpu/compare_test.cc,
// compiled_test.cc.
#include "vgpu/compiled/emitters/lanes.h"

#include <optional>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;

// The relation of a comparison, by its number in the host's instructions.
struct Relation {
  int of_integers = -1; // _MM_CMPINT_...; -1: none
  int of_floats = -1;   // _CMP_...
};
Relation relation_of(Qual qual) {
  switch (qual) {
  case Qual::eq:
    return {0, 0x00}; // EQ_OQ
  case Qual::ne:
    return {4, 0x0c}; // NEQ_OQ
  case Qual::lt:
    return {1, 0x11}; // LT_OQ
  case Qual::le:
    return {2, 0x12};
  case Qual::gt:
    return {6, 0x1e};
  case Qual::ge:
    return {5, 0x1d};
  case Qual::lo:
    return {1, -1};
  case Qual::ls:
    return {2, -1};
  case Qual::hi:
    return {6, -1};
  case Qual::hs:
    return {5, -1};
  case Qual::equ:
    return {-1, 0x08}; // EQ_UQ
  case Qual::neu:
    return {-1, 0x04}; // NEQ_UQ
  case Qual::ltu:
    return {-1, 0x19}; // NGE_UQ
  case Qual::leu:
    return {-1, 0x1a}; // NGT_UQ
  case Qual::gtu:
    return {-1, 0x16}; // NLE_UQ
  case Qual::geu:
    return {-1, 0x15}; // NLT_UQ
  case Qual::num:
    return {-1, 0x07}; // ORD_Q
  case Qual::nan:
    return {-1, 0x03}; // UNORD_Q
  default:
    return {};
  }
}

// The comparison of a part, into k.
using Compare = asmjit::InstId;
std::optional<Compare> compare_of(Type type) {
  switch (type) {
  case Type::u16:
  case Type::b16:
    return ids::kIdVpcmpuw;
  case Type::s16:
    return ids::kIdVpcmpw;
  case Type::u32:
  case Type::b32:
    return ids::kIdVpcmpud;
  case Type::s32:
    return ids::kIdVpcmpd;
  case Type::u64:
  case Type::b64:
    return ids::kIdVpcmpuq;
  case Type::s64:
    return ids::kIdVpcmpq;
  case Type::f32:
  case Type::f16:
  case Type::bf16:
  case Type::f16x2:
  case Type::bf16x2:
    return ids::kIdVcmpps;
  case Type::f64:
    return ids::kIdVcmppd;
  default:
    return std::nullopt;
  }
}

// setp and set: the comparison of two sources.
class EmitComparison {
public:
  explicit EmitComparison(Emit& e) : e_(e), a(e.a) {}

  // Before anything is emitted: whether it can be.
  bool takes(const ptx::Instruction& i) {
    type_ = i.types().back();
    const auto compare = compare_of(type_);
    if (!compare)
      return false;
    compare_ = *compare;
    Relation relation;
    for (const Qual qual : i.quals()) {
      if (qual == Qual::and_ || qual == Qual::or_ || qual == Qual::xor_)
        joins_ = qual;
      else if (qual == Qual::ftz)
        ftz_ = true;
      else if (const Relation found = relation_of(qual); found.of_integers >= 0 || found.of_floats >= 0)
        relation = found;
      else
        return false;
    }
    const bool is_float = compare_ == ids::kIdVcmpps || compare_ == ids::kIdVcmppd;
    number_ = is_float ? relation.of_floats : relation.of_integers;
    if (number_ < 0 || (ftz_ && (!is_float || is_brain())))
      return false;
    if (is_float) // subnormal numbers are what they are, or zeros
      e_.mode(host_mode(Qual::rn, ftz_ && type_ == Type::f32));
    return true;
  }
  bool is_pair() const { return type_ == Type::f16x2 || type_ == Type::bf16x2; }
  void load() {
    s_ = e_.source(0);
    t_ = e_.source(1);
    if (is_half())
      for (x86::Zmm* x : {&x_, &y_, &u_})
        *x = e_.temporary();
  }

  // The lanes for which the relation holds; of a pair, for its element `which`.
  void compare(const x86::Gp& to, int which = 0) {
    // A comparison of 64 bits has four masks: those of the active lanes are made anew when they are needed.
    const std::array<x86::KReg, 4> masks{x86::k5, x86::k6, x86::k7, x86::k4};
    if (s_.parts == 4)
      e_.forget_masks();
    const int parts = is_half() ? 2 : s_.parts;
    for (int part = 0; part < parts; ++part) {
      const x86::KReg& mask = masks[static_cast<size_t>(part)];
      if (!is_half()) {
        a.emit(compare_, mask, s_[part], t_[part], asmjit::Imm(number_));
        continue;
      }
      widen(x_, s_, part, which);
      widen(y_, t_, part, which);
      a.vcmpps(mask, x_, y_, number_);
    }
    e_.join_masks(to, std::span(masks).first(static_cast<size_t>(parts)), is_half() ? 4 : s_.lane_bytes);
  }
  // With the predicate that .and, .or, .xor name. Overwrites edx.
  void join(const x86::Gp& lanes) {
    if (joins_ == Qual::none)
      return;
    e_.load_predicate(x86::edx, 2);
    a.emit(joins_ == Qual::and_  ? ids::kIdAnd
           : joins_ == Qual::or_ ? ids::kIdOr
                                 : ids::kIdXor,
           lanes, x86::edx);
  }

private:
  bool is_brain() const { return type_ == Type::bf16 || type_ == Type::bf16x2; }
  bool is_half() const { return is_pair() || type_ == Type::f16 || type_ == Type::bf16; }

  // x = 16 of the halves as f32. Overwrites u, k7.
  void widen(const x86::Zmm& x, const Value& s, int part, int which) {
    if (is_pair() && is_brain()) {
      which == 0 ? a.vpslld(x, s[part], 16) : a.vpandd(x, s[part], e_.broadcast32(0xffff0000));
      return;
    }
    if (is_pair()) {
      if (which == 0) {
        a.vpmovdw(x.ymm(), s[part]);
      } else {
        a.vpsrld(x, s[part], 16);
        a.vpmovdw(x.ymm(), x);
      }
    } else if (part == 0) {
      a.vmovdqa64(x.ymm(), s[0].ymm());
    } else {
      a.vextracti64x4(x.ymm(), s[0], 1);
    }
    if (is_brain()) {
      a.vpmovzxwd(x, x.ymm());
      a.vpslld(x, x, 16);
      return;
    }
    a.vcvtph2ps(x, x.ymm());
    if (ftz_) { // below 2^-14
      a.vpandd(u_, x, e_.broadcast32(0x7fffffff));
      a.vpcmpud(x86::k7, u_, e_.broadcast32(0x38800000), 1);
      a.k(x86::k7).vpandd(x, x, e_.broadcast32(0x80000000));
    }
  }

  Emit& e_;
  x86::Assembler& a;
  Type type_ = Type::none;
  asmjit::InstId compare_ = 0;
  int number_ = -1;
  Qual joins_ = Qual::none;
  bool ftz_ = false;
  Value s_, t_;
  x86::Zmm x_, y_, u_;
};

bool emit_setp(Emit& e, const ptx::Instruction& i) {
  EmitComparison comparison(e);
  if (i.types().size() != 1 || !comparison.takes(i))
    return false;
  comparison.load();
  comparison.compare(x86::eax);
  const bool two = e.in().dst_count > 1;
  if (two && comparison.is_pair()) {
    comparison.compare(x86::ecx, 1);
  } else if (two) {
    e.a.mov(x86::ecx, x86::eax);
    e.a.not_(x86::ecx);
  }
  comparison.join(x86::eax);
  if (two) {
    comparison.join(x86::ecx);
    e.store_predicate(1, x86::ecx);
  }
  e.store_predicate(0, x86::eax);
  return true;
}

// What `set` writes for true, in as many bytes.
struct SetTrue {
  int bytes = 0;
  uint32_t value = 0;
};
SetTrue set_true_of(Type type) {
  switch (type) {
  case Type::u32:
  case Type::s32:
    return {4, 0xffffffff};
  case Type::f32:
    return {4, 0x3f800000};
  case Type::u16:
  case Type::s16:
    return {2, 0xffff};
  case Type::f16:
    return {2, 0x3c00};
  case Type::bf16:
    return {2, 0x3f80};
  case Type::f16x2:
    return {4, 0x3c00};
  case Type::bf16x2:
    return {4, 0x3f80};
  default:
    return {};
  }
}

bool emit_set(Emit& e, const ptx::Instruction& i) {
  if (i.types().size() != 2)
    return false;
  const SetTrue if_true = set_true_of(i.type(0));
  EmitComparison comparison(e);
  if (if_true.bytes == 0 || e.destination_slot().bytes != if_true.bytes || !comparison.takes(i))
    return false;
  comparison.load();
  const Value d = e.destination();
  const x86::Zmm one = e.temporary(), x = e.temporary();
  const uint32_t word = if_true.value & 0xffff;
  const bool pair = comparison.is_pair();
  e.a.vpbroadcastd(one, e.number32(if_true.bytes == 2 || pair ? word << 16 | word : if_true.value));
  comparison.compare(x86::eax);
  comparison.join(x86::eax);
  if (pair) {
    comparison.compare(x86::ecx, 1);
    comparison.join(x86::ecx);
  }
  e.a.kmovd(x86::k5, x86::eax);
  if (pair)
    e.a.kmovd(x86::k6, x86::ecx);
  for (int part = 0; part < d.parts; ++part) {
    if (if_true.bytes == 2) {
      e.a.k(x86::k5).z().vmovdqu16(d[part], one);
      continue;
    }
    e.a.k(x86::k5).z().vmovdqa32(d[part], one);
    e.a.kshiftrd(x86::k5, x86::k5, 16);
    if (!pair)
      continue;
    e.a.k(x86::k6).z().vmovdqa32(x, one);
    e.a.kshiftrd(x86::k6, x86::k6, 16);
    e.a.vpternlogd(d[part], x, e.broadcast32(0xffff0000), 0xd8); // x where set, else d
  }
  return true;
}

// d = s where the mask is set, else t. Overwrites x.
void blend(Emit& e, const x86::KReg& mask, int lane_bytes, const x86::Zmm& x, const x86::Zmm& d,
           const x86::Zmm& s, const x86::Zmm& t) {
  e.a.k(mask).emit(lane_bytes == 2   ? ids::kIdVpblendmw
                   : lane_bytes == 4 ? ids::kIdVpblendmd
                                     : ids::kIdVpblendmq,
                   x, t, s);
  e.a.vmovdqa64(d, x);
}

bool emit_selp(Emit& e, const ptx::Instruction& i) {
  if (!i.quals().empty())
    return false;
  const Value s = e.source(0), t = e.source(1), d = e.destination();
  const x86::Zmm x = e.temporary();
  for (int part = 0; part < d.parts; ++part) {
    e.load_predicate_part(x86::k5, 2, d.lane_bytes, part);
    blend(e, x86::k5, d.lane_bytes, x, d[part], s[part], t[part]);
  }
  return true;
}

// a where c is not negative, else b: NaN is neither.
bool emit_slct(Emit& e, const ptx::Instruction& i) {
  constexpr int kNotLess = 5, kAtLeast = 0x1d; // of integers, of floats: GE_OQ
  const bool of_float = i.types().back() == Type::f32;
  if (of_float)
    e.mode(host_mode(Qual::none, i.has(Qual::ftz)));
  const Value s = e.source(0), t = e.source(1), c = e.source(2);
  const x86::Zmm x = e.temporary();
  const Value d = e.destination();
  e.a.vpxord(x, x, x);
  const std::array<x86::KReg, 2> masks{x86::k5, x86::k6};
  for (int part = 0; part < 2; ++part)
    e.a.emit(of_float ? ids::kIdVcmpps : ids::kIdVpcmpd, masks[static_cast<size_t>(part)], c[part], x,
             asmjit::Imm(of_float ? kAtLeast : kNotLess));
  e.join_masks(x86::eax, masks, 4);
  for (int part = 0; part < d.parts; ++part) {
    part_of_mask(e, x86::k5, x86::eax, d.lane_bytes, part);
    blend(e, x86::k5, d.lane_bytes, x, d[part], s[part], t[part]);
  }
  return true;
}

} // namespace

void add_compare_emitters(EmitterTable& table) {
  table.add(Opcode::setp, emit_setp);
  table.add(Opcode::set, emit_set);
  table.add(Opcode::selp, emit_selp);
  table.add(Opcode::slct, emit_slct);
}

} // namespace lemma::vgpu
