// What emitters of loads and stores have in common: what an access moves, the addresses of its lanes, and
// lanes that lie anywhere, of which the host gathers and scatters.
//
//   rax  address of the first active lane, without the instruction's offset     rdx  where it, or offset 0,
//   is on the host
//
// Tests: tests/unit/vgpu/memory_ops_test.cc, memory_vectors_test.cc, compiled_test.cc.
#pragma once

#include "vgpu/compiled/emitters/lanes.h"
#include "vgpu/handlers/memory/memory_handlers.h"
#include "vgpu/handlers/memory/store_order.h"

#include <array>
#include <bit>

namespace lemma::vgpu {

// A pointer there, or so many bytes: members of containers, whose own size is none of an operand.
template <class T, class M>
x86::Mem of(const x86::Gp& base, const T& object, const M& member, int32_t more = 0, uint32_t bytes = 8) {
  return member_of(base, object, member, more, bytes);
}

// What an access moves: `elements` of `bytes` a lane, in registers of `lane_bytes`.
struct Shape {
  int elements = 1;
  int bytes = 4;
  int lane_bytes = 4;
  bool is_signed = false;

  int width() const { return elements * bytes; }
};

class AccessEmitter {
protected:
  AccessEmitter(Emit& e, bool writes)
      : e_(e), a(e.a), in_(e.in()), x_(e.example()), writes_(writes), space_(space_of(in_)) {}

  // --- what it moves

  // False: it is ordered, or moves what these emitters do not.
  bool take_shape() {
    if ((in_.flags & kOrdered) != 0 || in_.plan)
      return false;
    const int elements = writes_ ? e_.sources() - 1 : in_.dst_count;
    const auto slot = [&](int i) -> const Slot& {
      return writes_ ? e_.source_slot(1 + i) : e_.destination_slot(i);
    };
    if (elements != 1 && elements != 2 && elements != 4)
      return false;
    shape_ = {.elements = elements,
              .bytes = in_.width / elements,
              .lane_bytes = slot(0).bytes,
              .is_signed = (in_.flags & kSigned) != 0};
    for (int i = 1; i < elements; ++i)
      if (slot(i).bytes != shape_.lane_bytes)
        return false;
    if (widens_words())
      return true;
    if (shape_.bytes >= 4)
      return shape_.bytes <= 8 && shape_.bytes == shape_.lane_bytes && shape_.width() <= 16;
    return elements == 1 && shape_.lane_bytes <= 4 && shape_.bytes >= 1;
  }

  // Is it a word in a register of 64 bits?
  bool widens_words() const { return shape_.elements == 1 && shape_.bytes == 4 && shape_.lane_bytes == 8; }

  void take_temporaries() {
    for (x86::Zmm* reg : {&o_[0], &o_[1], &x, &y, &z})
      *reg = e_.temporary();
  }
  void take_values() {
    for (int i = 0; i < shape_.elements; ++i)
      values_[static_cast<size_t>(i)] = writes_ ? e_.source(1 + i) : e_.destination(i);
  }
  const Value& value(int i = 0) const { return values_[static_cast<size_t>(i)]; }

  // --- what must be so

  // No register carries unwritten bytes.
  void ask_carried() {
    const Frame& frame = *x_.frame;
    a.mov(x86::rcx, e_.member(x_.frame));
    a.mov(x86::rdx, of(x86::rcx, frame, frame.carried));
    a.cmp(x86::rdx, of(x86::rcx, frame, frame.carried, 8));
    a.jne(slow_);
  }

  // --- addresses, of 4 or 8 bytes

  bool has_64_bits() const { return address_.lane_bytes == 8; }
  int address_lanes() const { return kPartBytes / address_.lane_bytes; }
  void broadcast_address(const x86::Zmm& to, const x86::Gp& from) {
    has_64_bits() ? a.vpbroadcastq(to, from) : a.vpbroadcastd(to, from.r32());
  }
  // k5: lanes of the part's that differ, or any of those before.
  void note_difference(int part, const x86::Zmm& s, const x86::Zmm& t) {
    const x86::KReg to = part == 0 ? x86::k5 : x86::k6;
    under_mask(address_.lane_bytes, part);
    has_64_bits() ? a.vpcmpq(to, s, t, kNotEqual) : a.vpcmpd(to, s, t, kNotEqual);
    if (part != 0)
      a.korw(x86::k5, x86::k5, x86::k6);
  }
  void under_mask(int lane_bytes, int part) {
    if (e_.active() != Lanes::all)
      a.k(e_.active_part(lane_bytes, part));
  }
  void slow_if_any(const x86::KReg& mask) {
    a.kortestw(mask, mask);
    a.jnz(slow_);
  }
  // What each lane's address is beyond that of a lane 0 that lies side by side with it.
  void subtract_steps(const x86::Zmm& d, int part) {
    const auto step = [&](size_t lane) {
      return (static_cast<size_t>(part * address_lanes()) + lane) * static_cast<size_t>(shape_.width());
    };
    if (has_64_bits())
      a.vpsubq(d, address_[part], numbers<uint64_t>(e_, step));
    else
      a.vpsubd(d, address_[part], numbers<uint32_t>(e_, step));
  }
  // rax: the address of lane 0.
  void take_first() {
    has_64_bits() ? a.vmovq(x86::rax, address_[0].xmm()) : a.vmovd(x86::eax, address_[0].xmm());
  }

  // --- lanes at one address

  void broadcast_elements(int32_t at) {
    e_.check_host({.base = x86::rdx, .at = at, .bytes = shape_.width()});
    for (int e = 0; e < shape_.elements; ++e)
      for (int part = 0; part < value(e).parts; ++part)
        broadcast(value(e)[part], x86::ptr(x86::rdx, at + e * shape_.bytes));
  }
  void broadcast(const x86::Zmm& to, const x86::Mem& from) {
    switch (shape_.bytes) {
    case 1:
    case 2:
      load_narrow(x86::ecx, from);
      shape_.lane_bytes == 4 ? a.vpbroadcastd(to, x86::ecx) : a.vpbroadcastw(to, x86::ecx);
      return;
    case 4:
      if (shape_.lane_bytes == 8) {
        x86::Mem word = from;
        word.setSize(4);
        shape_.is_signed ? a.movsxd(x86::rcx, word) : a.mov(x86::ecx, word);
        a.vpbroadcastq(to, x86::rcx);
      } else {
        a.vpbroadcastd(to, from);
      }
      return;
    default:
      a.vpbroadcastq(to, from);
      return;
    }
  }
  void load_narrow(const x86::Gp& to, x86::Mem from) {
    from.setSize(static_cast<uint32_t>(shape_.bytes));
    shape_.is_signed ? a.movsx(to, from) : a.movzx(to, from);
  }

  void count_effect() {
    const Warp& warp = *x_.warp;
    a.mov(x86::rax, e_.member(x_.warp));
    a.inc(of(x86::rax, warp, warp.effects));
  }

  // rax: the address of the first active lane, ecx: which lane that is. The addresses are at rsp, less
  // `steps`.
  void take_first_active(const x86::Gp& lanes) {
    a.tzcnt(x86::ecx, lanes);
    if (has_64_bits())
      a.mov(x86::rax, x86::ptr(x86::rsp, x86::rcx, 3, 0, 8));
    else
      a.mov(x86::eax, x86::ptr(x86::rsp, x86::rcx, 2, 0, 4));
  }

  // rax: the address of the first active lane. The addresses are at rsp where not all are active.
  void take_address() {
    if (e_.active() == Lanes::all) {
      take_first();
      return;
    }
    const x86::Gp lanes = e_.active_lanes(x86::r11d);
    for (int part = 0; part < address_.parts; ++part)
      a.vmovdqu64(x86::ptr(x86::rsp, part * kPartBytes), address_[part]);
    take_first_active(lanes);
  }

  // --- any lanes

  // The active lanes of a part, in a register that may be overwritten.
  void take_lanes(const x86::KReg& to, int lane_bytes, int part) {
    if (e_.active() != Lanes::all)
      a.kmovd(to, e_.active_part(lane_bytes, part));
    else
      a.kxnord(to, to, to);
  }

  // The lanes of k6, at their offsets.
  void check_lanes(Emit::HostAccess access, const x86::Zmm& offsets) {
    access.offsets = static_cast<int>(offsets.id());
    access.mask = x86::k6.id();
    e_.check_host(access);
  }

  void gather() {
    for (int e = 0; e < shape_.elements; ++e)
      for (int part = 0; part < 2; ++part) {
        const x86::Zmm& o = o_[static_cast<size_t>(part)];
        if (shape_.bytes == 8) {
          for (int half = 0; half < 2; ++half) {
            half == 0 ? a.vmovdqa64(x.ymm(), o.ymm()) : a.vextracti64x4(x.ymm(), o, 1);
            const x86::Zmm& to = value(e)[2 * part + half];
            take_lanes(x86::k6, 8, 2 * part + half);
            check_lanes({.base = x86::rdx, .at = e * 8, .bytes = 8, .lanes = 8}, x);
            a.vpxord(to, to, to);
            a.k(x86::k6).vpgatherdq(to, x86::ptr(x86::rdx, x.ymm(), 0, e * 8));
          }
        } else if (widens_words()) {
          gather_words(y, o, part, e);
          for (const int half : {0, 1}) {
            const x86::Zmm& to = value()[2 * part + half];
            if (half == 1)
              a.vextracti64x4(y.ymm(), y, 1);
            shape_.is_signed ? a.vpmovsxdq(to, y.ymm()) : a.vpmovzxdq(to, y.ymm());
          }
        } else if (shape_.bytes == 4) {
          gather_words(value(e)[part], o, part, e);
        } else {
          gather_narrow(o, part);
        }
      }
  }
  // Half of a warp is often a row of a tile, and lies side by side.
  void gather_words(const x86::Zmm& to, const x86::Zmm& o, int part, int e) {
    const asmjit::Label apart = a.newLabel(), done = a.newLabel();
    if (jump_if_apart(o, apart)) {
      a.vmovdqu32(to, x86::ptr(x86::rax));
      a.jmp(done);
    }
    a.bind(apart);
    take_lanes(x86::k6, 4, part);
    check_lanes({.base = x86::rdx, .at = e * 4, .bytes = 4, .lanes = 16}, o);
    a.vpxord(to, to, to);
    a.k(x86::k6).vpgatherdd(to, x86::ptr(x86::rdx, o, 0, e * 4));
    a.bind(done);
  }
  // Where the lanes of a part do not lie side by side; else rax is where the first one is on the host. False,
  // and nothing is emitted, where they are not to be asked. Overwrites x, k6.
  bool jump_if_apart(const x86::Zmm& o, const asmjit::Label& apart) {
    if (e_.active() != Lanes::all || shape_.elements != 1 || shape_.bytes != 4)
      return false;
    a.vpbroadcastd(x, o.xmm());
    a.vpaddd(x, x, numbers<uint32_t>(e_, [](size_t lane) { return 4 * lane; }));
    a.vpcmpd(x86::k6, o, x, kNotEqual);
    a.kortestw(x86::k6, x86::k6);
    a.jnz(apart);
    a.vmovd(x86::eax, o.xmm());
    a.add(x86::rax, x86::rdx);
    e_.check_host({.base = x86::rax, .bytes = 4, .lanes = 16});
    return true;
  }

  // The words that hold the elements, which are then moved to their lowest bits.
  void gather_narrow(const x86::Zmm& o, int part) {
    a.vpandd(x, o, e_.broadcast32(~uint32_t{3}));
    take_lanes(x86::k6, 4, part);
    check_lanes({.base = x86::rdx, .bytes = shape_.bytes, .lanes = 16}, o);
    a.vpxord(y, y, y);
    a.k(x86::k6).vpgatherdd(y, x86::ptr(x86::rdx, x));
    a.vpandd(x, o, e_.broadcast32(3));
    a.vpslld(x, x, 3);
    a.vpsrlvd(y, y, x);
    const int shift = 32 - 8 * shape_.bytes;
    a.vpslld(y, y, shift);
    shape_.is_signed ? a.vpsrad(y, y, shift) : a.vpsrld(y, y, shift);
    if (shape_.lane_bytes == 4) {
      a.vmovdqa64(value()[part], y);
    } else if (part == 0) {
      a.vpmovdw(z.ymm(), y);
    } else {
      a.vpmovdw(y.ymm(), y);
      a.vinserti64x4(value()[0], z, y.ymm(), 1);
    }
  }

  // Of lanes at one address the value of one stays (store_order.h): the host's scatter leaves that of the
  // last one, so that lanes are brought in their order first.
  void scatter() {
    const uint32_t turn = lanes_of_turn(static_cast<uint32_t>(shape_.width()));
    for (int e = 0; e < shape_.elements; ++e)
      if (shape_.bytes == 8)
        scatter_64(e, turn);
      else
        for (const int part : turn == 32 ? std::array{1, 0} : std::array{0, 1})
          scatter_part(e, part, turn);
  }
  void scatter_part(int e, int part, uint32_t turn) {
    const auto order = [&](uint32_t lane) { return lane ^ (std::min(turn, 16u) - 1); };
    const x86::Mem places = numbers<uint32_t>(e_, [&](size_t i) { return order(static_cast<uint32_t>(i)); });
    const asmjit::Label apart = a.newLabel(), done = a.newLabel();
    if (!widens_words() && jump_if_apart(o_[static_cast<size_t>(part)], apart)) {
      a.vmovdqu32(x86::ptr(x86::rax), value()[part]);
      a.jmp(done);
    }
    a.bind(apart);
    a.vmovdqa64(z, places);
    take_ordered_lanes(4, part, 16, order);
    if (widens_words()) {
      a.vpmovqd(y.ymm(), value()[2 * part]);
      a.vpmovqd(x.ymm(), value()[2 * part + 1]);
      a.vinserti64x4(y, y, x.ymm(), 1);
      a.vpermd(y, z, y);
    } else if (shape_.lane_bytes == 2) { // 32 lanes in a part
      part == 0 ? a.vpmovzxwd(y, value(e)[0].ymm()) : a.vextracti64x4(y.ymm(), value(e)[0], 1);
      if (part != 0)
        a.vpmovzxwd(y, y.ymm());
      a.vpermd(y, z, y);
    } else {
      a.vpermd(y, z, value(e)[part]);
    }
    a.vpermd(x, z, o_[static_cast<size_t>(part)]);
    check_lanes({.base = x86::rdx, .at = e * shape_.bytes, .bytes = shape_.bytes, .lanes = 16}, x);
    a.k(x86::k6).vpscatterdd(x86::ptr(x86::rdx, x, 0, e * shape_.bytes), y);
    a.bind(done);
  }
  void scatter_64(int e, uint32_t turn) {
    // Eights of lanes, the last of a turn first.
    for (const int part : turn == 16 ? std::array{1, 0, 3, 2} : std::array{0, 1, 2, 3}) {
      const auto order = [](uint32_t lane) { return lane ^ 7; };
      a.vmovdqa64(z, numbers<uint64_t>(e_, [&](size_t i) { return order(static_cast<uint32_t>(i)); }));
      take_ordered_lanes(8, part, 8, order);
      const x86::Zmm& o = o_[static_cast<size_t>(part / 2)];
      part % 2 == 0 ? a.vpmovzxdq(x, o.ymm()) : a.vextracti64x4(x.ymm(), o, 1);
      if (part % 2 != 0)
        a.vpmovzxdq(x, x.ymm());
      a.vpermq(x, z, x);
      check_lanes({.base = x86::rdx, .at = e * 8, .bytes = 8, .lanes = 8, .has_wide_offsets = true}, x);
      a.vpermq(y, z, value(e)[part]);
      a.k(x86::k6).vpscatterqq(x86::ptr(x86::rdx, x, 0, e * 8), y);
    }
  }
  // k6: the active lanes of a part, in the order of the scatter. Overwrites rcx.
  template <class Order>
  void take_ordered_lanes(int lane_bytes, int part, uint32_t count, Order) {
    if (e_.active() == Lanes::all) {
      a.kxnord(x86::k6, x86::k6, x86::k6);
      return;
    }
    // Lanes as numbers that are not 0, in their order.
    a.vpternlogd(y, y, y, 0xff);
    a.k(e_.active_part(lane_bytes, part)).z();
    if (count == 16) {
      a.vmovdqa32(y, y);
      a.vpermd(y, z, y);
      a.vptestmd(x86::k6, y, y);
    } else {
      a.vmovdqa64(y, y);
      a.vpermq(y, z, y);
      a.vptestmq(x86::k6, y, y);
    }
  }

  static constexpr int kNotEqual = 4, kGreater = 6; // predicates of comparisons
  Emit& e_;
  x86::Assembler& a;
  const DecodedInst& in_;
  Exec& x_;
  const bool writes_;
  const isa::StateSpace space_;
  Shape shape_;
  Value address_;
  std::array<Value, 4> values_;
  std::array<x86::Zmm, 2> o_;
  x86::Zmm x, y, z;
  asmjit::Label slow_;
};

// The lanes' own memory, and the parameters of kernels and functions: own_memory.cc.
bool emit_own_access(Emit& e, bool writes);

} // namespace lemma::vgpu
