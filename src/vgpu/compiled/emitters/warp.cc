// Instructions through which lanes speak to each other, where all 32 are here and every membermask names all:
// shfl, vote, activemask, redux of integers, bar.warp.sync. Any other case is the handler's, which waits.
//
// Tests: tests/unit/vgpu/warp_ops_test.cc, compiled_test.cc.
#include "vgpu/compiled/emitters/lanes.h"
#include "vgpu/handlers/control/lane_moves.h"

#include <array>

namespace lemma::vgpu {
namespace {

using asmjit::Label;
using isa::Opcode;
using isa::Qual;
using isa::Type;

constexpr int kLessEqual = 2, kNotEqual = 4, kNotLess = 5; // predicates of comparisons

// The membermask is the last source, where there is one: DecodedInst::imm.
class Members {
public:
  explicit Members(Emit& e) : e_(e), index_(static_cast<int>(e.in().imm)) {}

  // Whether code of its own may be emitted at all.
  bool may_name_all() const {
    if (e_.active() != Lanes::all)
      return false;
    return index_ < 0 || !e_.is_constant(index_) || static_cast<uint32_t>(e_.constant(index_)) == kAllLanes;
  }
  // Loads it, with the other sources: before the destination is asked for.
  void take() {
    is_asked_ = index_ >= 0 && !e_.is_constant(index_);
    if (!is_asked_)
      return;
    members_ = e_.source(index_);
    both_ = e_.temporary();
  }
  // To the handler where one does not name all. When everything is taken that the instruction wants.
  // Overwrites k5.
  void require_all() {
    if (!is_asked_)
      return;
    const Label slow = e_.slow();
    e_.a.vpandd(both_, members_[0], members_[1]);
    e_.a.vpcmpd(x86::k5, both_, e_.broadcast32(kAllLanes), kNotEqual);
    e_.a.kortestw(x86::k5, x86::k5);
    e_.a.jnz(slow);
  }

private:
  Emit& e_;
  int index_;
  bool is_asked_ = false;
  Value members_;
  x86::Zmm both_;
};

TwoParts two_temporaries(Emit& e) {
  const x86::Zmm first = e.temporary();
  return {first, e.temporary()};
}

// --- shfl

// source = where the lanes of a part read from; k5 or k6: which reach one in range. By the ISA's formulas.
void emit_shuffle_sources(Emit& e, Qual mode, int part, const x86::Zmm& source, const Value& b,
                          const Value& c, const std::array<x86::Zmm, 3>& t) {
  x86::Assembler& a = e.a;
  const x86::KReg reaches = part == 0 ? x86::k5 : x86::k6;
  const x86::Mem low5 = e.broadcast32(31);
  const x86::Mem lane = numbers<uint32_t>(e, [&](size_t i) { return static_cast<size_t>(16 * part) + i; });
  const auto& [segment, last, by] = t;
  a.vpsrld(segment, c[part], 8);
  a.vpandd(segment, segment, low5);
  a.vpandd(last, c[part], low5);
  a.vpandnd(last, segment, last);
  a.vpandd(by, b[part], low5);
  a.vmovdqa64(source, lane);
  if (mode == Qual::idx)
    a.vpandnd(by, segment, by);
  a.vpandd(segment, segment, source); // the lane's own part of it
  a.vpord(last, last, segment);
  switch (mode) {
  case Qual::up:
    a.vpsubd(source, source, by);
    break;
  case Qual::down:
    a.vpaddd(source, source, by);
    break;
  case Qual::bfly:
    a.vpxord(source, source, by);
    break;
  default:
    a.vpord(source, segment, by);
    break;
  }
  a.vpcmpd(reaches, source, last, mode == Qual::up ? kNotLess : kLessEqual);
  a.knotw(x86::k7, reaches);
  a.k(x86::k7).vmovdqa32(source, lane);
}

bool emit_shuffle(Emit& e, const ptx::Instruction& i) {
  Members members(e);
  if (!members.may_name_all())
    return false;
  const bool is_fixed = static_cast<bool>(e.in().plan); // no other shuffle has one
  const Value value = e.source(0);
  Value b, c;
  if (!is_fixed) {
    b = e.source(1);
    c = e.source(2);
    members.take();
  }
  const Value d = e.destination();
  const TwoParts source = two_temporaries(e);
  if (is_fixed) {
    const auto& fixed = e.code().plan<FixedShuffle>(e.in());
    for (size_t part = 0; part < 2; ++part)
      e.a.vmovdqa64(source[part],
                    numbers<uint32_t>(e, [&](size_t i) { return fixed.sources[16 * part + i]; }));
    e.a.mov(x86::eax, fixed.in_range);
  } else {
    const std::array<x86::Zmm, 3> t{e.temporary(), e.temporary(), e.temporary()};
    members.require_all();
    const Qual mode = i.one_of({Qual::up, Qual::down, Qual::bfly, Qual::idx});
    for (int part = 0; part < 2; ++part)
      emit_shuffle_sources(e, mode, part, source[static_cast<size_t>(part)], b, c, t);
    const std::array<x86::KReg, 2> reach{x86::k5, x86::k6};
    e.join_masks(x86::eax, reach, 4);
  }
  for (const x86::Zmm& part : source)
    e.a.vpermi2d(part, value[0], value[1]);
  for (int part = 0; part < 2; ++part)
    e.a.vmovdqa64(d[part], source[static_cast<size_t>(part)]);
  if (e.in().dst_count > 1)
    e.store_predicate(1, x86::eax);
  return true;
}

// --- vote, activemask, bar.warp.sync

bool emit_vote(Emit& e, const ptx::Instruction&) {
  Members members(e);
  if (!members.may_name_all())
    return false;
  const auto mode = static_cast<Vote>(e.in().flags);
  x86::Assembler& a = e.a;
  members.take();
  if (mode == Vote::ballot) {
    const Value d = e.destination();
    members.require_all();
    e.load_predicate(x86::eax, 0);
    for (int part = 0; part < d.parts; ++part)
      a.vpbroadcastd(d[part], x86::eax);
    return true;
  }
  members.require_all();
  e.load_predicate(x86::ecx, 0);
  a.xor_(x86::eax, x86::eax);
  a.xor_(x86::edx, x86::edx);
  if (mode == Vote::any) {
    a.test(x86::ecx, x86::ecx);
    a.setne(x86::al);
  } else {
    a.cmp(x86::ecx, -1);
    a.sete(x86::al);
    if (mode == Vote::uni) {
      a.test(x86::ecx, x86::ecx);
      a.sete(x86::dl);
      a.or_(x86::eax, x86::edx);
    }
  }
  a.neg(x86::eax);
  e.store_predicate(0, x86::eax);
  return true;
}

bool emit_active_mask(Emit& e, const ptx::Instruction&) {
  const Value d = e.destination();
  const x86::Gp lanes = e.active_lanes(x86::rax);
  for (int part = 0; part < d.parts; ++part)
    e.a.vpbroadcastd(d[part], lanes);
  return true;
}

bool emit_warp_barrier(Emit& e, const ptx::Instruction&) {
  Members members(e);
  if (!members.may_name_all())
    return false;
  members.take();
  members.require_all();
  return true;
}

// --- redux

asmjit::InstId combining(const ptx::Instruction& i) {
  const bool is_signed = i.type() == Type::s32;
  switch (i.one_of({Qual::add, Qual::min, Qual::max, Qual::and_, Qual::or_, Qual::xor_})) {
  case Qual::add:
    return ids::kIdVpaddd;
  case Qual::min:
    return is_signed ? ids::kIdVpminsd : ids::kIdVpminud;
  case Qual::max:
    return is_signed ? ids::kIdVpmaxsd : ids::kIdVpmaxud;
  case Qual::and_:
    return ids::kIdVpandd;
  case Qual::or_:
    return ids::kIdVpord;
  case Qual::xor_:
    return ids::kIdVpxord;
  default:
    return 0;
  }
}

bool emit_reduce(Emit& e, const ptx::Instruction& i) {
  Members members(e);
  const asmjit::InstId combine = combining(i);
  if (i.type() == Type::f32 || combine == 0 || !members.may_name_all())
    return false;
  const Value value = e.source(0);
  members.take();
  const Value d = e.destination();
  const auto [x, y] = two_temporaries(e);
  members.require_all();
  x86::Assembler& a = e.a;
  a.emit(combine, x, value[0], value[1]);
  a.vextracti64x4(y.ymm(), x, 1);
  a.emit(combine, x.ymm(), x.ymm(), y.ymm());
  a.vextracti32x4(y.xmm(), x.ymm(), 1);
  a.emit(combine, x.xmm(), x.xmm(), y.xmm());
  for (const int swap : {0x4e, 0xb1}) { // halves, neighbours
    a.vpshufd(y.xmm(), x.xmm(), swap);
    a.emit(combine, x.xmm(), x.xmm(), y.xmm());
  }
  for (int part = 0; part < d.parts; ++part)
    a.vpbroadcastd(d[part], x.xmm());
  return true;
}

} // namespace

void add_warp_emitters(EmitterTable& table) {
  table.add({Opcode::shfl, Opcode::shfl_sync}, emit_shuffle);
  table.add({Opcode::vote, Opcode::vote_sync}, emit_vote);
  table.add(Opcode::activemask, emit_active_mask);
  table.add(Opcode::redux_sync, emit_reduce);
  table.add(Opcode::bar_warp_sync, emit_warp_barrier);
}

} // namespace lemma::vgpu
