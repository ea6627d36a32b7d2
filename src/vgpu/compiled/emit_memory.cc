// Loads and stores of which all is well, as those of handlers/memory/memory_vectors.inc: all lanes in one
// allocation or in the CTA's own shared memory, aligned, and what is read was written. All else is the
// handler's, which the code calls where it finds out.
//
// All 32 lanes are taken to lie side by side where the second one is an element behind the first, and at one
// address where it is at the same; any other lanes have offsets, of which the host gathers and scatters.
//
//   rax  address of the first active lane, without the instruction's offset     rdx  where it, or offset 0,
//   is on the host
//
// Tests: tests/unit/vgpu/memory_ops_test.cc, memory_vectors_test.cc, compiled_test.cc.
#include "vgpu/compiled/emit.h"
#include "vgpu/handlers/memory/memory_handlers.h"
#include "vgpu/handlers/memory/store_order.h"

#include <array>
#include <bit>
#include <cstring>

namespace lemma::vgpu {

using asmjit::Label;
using isa::Opcode;
using isa::StateSpace;

namespace {

// 64 bytes of the pool that hold numbers of type T, f(i) the i-th.
template <class T, class F>
x86::Mem numbers(Emit& e, F f) {
  std::array<std::byte, kPartBytes> bytes{};
  for (size_t i = 0; i < kPartBytes / sizeof(T); ++i) {
    const T value = static_cast<T>(f(i));
    std::memcpy(&bytes[i * sizeof(T)], &value, sizeof value);
  }
  return e.vector(bytes);
}

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
public:
  AccessEmitter(Emit& e, bool writes) : e_(e), a(e.a), in_(e.in()), x_(e.example()), writes_(writes) {}

  // False before anything was emitted: it is none of these.
  bool emit() {
    space_ = space_of(in_);
    if ((in_.flags & kOrdered) != 0 || in_.plan || !take_shape())
      return false;
    if (space_ == StateSpace::param)
      return !writes_ && e_.is_constant(0) && in_.src_bytes == 8 && shape_.bytes == shape_.lane_bytes &&
             emit_parameter();
    if (space_ == StateSpace::reg)
      return emit_own_parameter();
    if (space_ == StateSpace::local)
      return emit_local();
    is_shared_ = space_ == StateSpace::shared || space_ == StateSpace::shared_cluster;
    const bool is_global =
        space_ == StateSpace::global || space_ == StateSpace::generic || space_ == StateSpace::const_;
    if (e_.is_constant(0) || !(is_shared_ ? in_.src_bytes == 4 : is_global && in_.src_bytes == 8))
      return false;
    address_ = e_.source(0);
    take_values();
    take_temporaries();
    e_.skip_if_none();
    slow_ = e_.slow();
    ask_carried();
    if (is_shared_)
      ask_shared();
    if (e_.active() == Lanes::all)
      emit_all();
    else if (shape_.elements == 1 && shape_.bytes >= 4)
      emit_some();
    else
      emit_scattered();
    return true;
  }

private:
  // --- what it moves

  bool take_shape() {
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
    if (shape_.bytes >= 4)
      return shape_.bytes <= 8 && shape_.bytes == shape_.lane_bytes && shape_.width() <= 16;
    return elements == 1 && shape_.lane_bytes <= 4 && shape_.bytes >= 1;
  }

  void take_temporaries() {
    for (x86::Zmm* reg : {&o_[0], &o_[1], &x, &y, &z})
      *reg = e_.temporary();
  }
  void take_values() {
    for (int i = 0; i < shape_.elements; ++i)
      values_[static_cast<size_t>(i)] = writes_ ? e_.source(1 + i) : e_.destination(i);
  }
  const Value& value(int i = 0) const { return values_[static_cast<size_t>(i)]; }

  // --- parameters

  bool emit_parameter() {
    take_values();
    slow_ = e_.slow();
    ask_carried();
    const uint64_t at = e_.constant(0) + static_cast<uint64_t>(in_.imm);
    if (at > UINT16_MAX || at % static_cast<uint64_t>(shape_.width()) != 0) {
      a.jmp(slow_);
      return true;
    }
    const Launch& launch = *x_.launch;
    a.mov(x86::rax, e_.member(x_.launch));
    a.mov(x86::rdx, of(x86::rax, launch, launch.params));
    a.lea(x86::rcx, x86::ptr(x86::rdx, static_cast<int32_t>(at) + shape_.width()));
    a.cmp(x86::rcx, of(x86::rax, launch, launch.params, 8));
    a.ja(slow_);
    broadcast_elements(static_cast<int32_t>(at));
    return true;
  }

  // The function's .param variables, in its frame: each lane's side by side.
  bool emit_own_parameter() {
    const uint64_t stride = e_.code().param_bytes, width = static_cast<uint64_t>(shape_.width());
    const uint64_t at = e_.is_constant(0) ? e_.constant(0) + static_cast<uint64_t>(in_.imm) : stride;
    if (at >= stride || stride - at < width || at % width != 0 || (writes_ && shape_.bytes < 4))
      return false;
    take_values();
    take_temporaries();
    e_.skip_if_none();
    slow_ = e_.slow();
    ask_carried();
    for (size_t part = 0; part < 2; ++part)
      a.vmovdqa64(o_[part], numbers<uint32_t>(e_, [&](size_t lane) { return (16 * part + lane) * stride; }));
    a.lea(x86::rdx, e_.frame(static_cast<uint32_t>(e_.code().param_area_offset + at)));
    writes_ ? scatter() : gather();
    return true;
  }

  // --- local memory: the lanes' own, one after the other, where all access it at one offset

  bool emit_local() {
    if (writes_ && shape_.bytes < 4)
      return false;
    const bool is_constant = e_.is_constant(0);
    if (!is_constant)
      address_ = e_.source(0);
    take_values();
    take_temporaries();
    e_.skip_if_none();
    slow_ = e_.slow();
    ask_carried();
    if (is_constant)
      a.mov(x86::rax, e_.constant(0));
    else
      take_one_offset();
    if (in_.imm != 0)
      a.add(x86::rax, static_cast<int32_t>(in_.imm));
    if (!is_constant && in_.src_bytes == 4)
      a.mov(x86::eax, x86::eax);
    if (shape_.width() > 1) {
      a.test(x86::eax, shape_.width() - 1);
      a.jnz(slow_);
    }
    ask_local_end();
    ask_local_written();
    const Warp& warp = *x_.warp;
    a.vpbroadcastd(y, of(x86::rcx, warp, warp.local_capacity, 0, 4));
    for (size_t part = 0; part < 2; ++part)
      a.vpmulld(o_[part], y, numbers<uint32_t>(e_, [&](size_t lane) { return 16 * part + lane; }));
    a.mov(x86::rdx, of(x86::rcx, warp, warp.local));
    a.add(x86::rdx, x86::rax);
    if (writes_)
      store_to_local();
    else
      gather();
    return true;
  }

  // rax: the offset that all active lanes have.
  void take_one_offset() {
    if (e_.active() == Lanes::all) {
      take_first();
    } else {
      const x86::Gp lanes = e_.active_lanes(x86::r11d);
      for (int part = 0; part < address_.parts; ++part)
        a.vmovdqu64(x86::ptr(x86::rsp, part * kPartBytes), address_[part]);
      take_first_active(lanes);
    }
    broadcast_address(y, x86::rax);
    for (int part = 0; part < address_.parts; ++part)
      note_difference(part, address_[part], y);
    slow_if_any(x86::k5);
  }

  // rcx: the warp, of whose lanes each has the bytes at rax: Exec::local_limit(). Overwrites rdx, rsi, rdi.
  void ask_local_end() {
    const Warp& warp = *x_.warp;
    const Split& split = warp.splits[0];
    const CallFrame& call = split.stack.back();
    constexpr int kEnd = 8; // in a vector, where its elements end
    a.mov(x86::rcx, e_.member(x_.warp));
    a.mov(x86::rsi, e_.member(x_.split));
    a.imul(x86::rsi, x86::rsi, static_cast<int32_t>(sizeof(Split)));
    a.add(x86::rsi, of(x86::rcx, warp, warp.splits));
    a.mov(x86::rsi, of(x86::rsi, split, split.stack, kEnd));
    a.mov(x86::edx, of(x86::rsi, call, call.local_base, -static_cast<int32_t>(sizeof(CallFrame)), 4));
    a.add(x86::edx, of(x86::rsi, call, call.alloca_bytes, -static_cast<int32_t>(sizeof(CallFrame)), 4));
    a.add(x86::rdx, static_cast<int32_t>(e_.code().local_bytes));
    a.sub(x86::rdx, shape_.width());
    a.jb(slow_);
    a.cmp(x86::rax, x86::rdx);
    a.ja(slow_);
  }

  // Of each byte of a lane there is a mask of lanes. The active ones have written what is read. What is
  // written is marked; r8d: whether some of it was not. Overwrites rsi, r8, r11.
  void ask_local_written() {
    const Warp& warp = *x_.warp;
    const int width = shape_.width();
    a.mov(x86::rsi, of(x86::rcx, warp, warp.local_written));
    x86::Mem masks = x86::ptr(x86::rsi, x86::rax, 2);
    const auto move = [&](bool stores) {
      switch (width) {
      case 1:
        stores ? a.vmovd(masks, x.xmm()) : a.vmovd(x.xmm(), masks);
        return;
      case 2:
        stores ? a.vmovq(masks, x.xmm()) : a.vmovq(x.xmm(), masks);
        return;
      case 4:
        stores ? a.vmovdqu32(masks, x.xmm()) : a.vmovdqu32(x.xmm(), masks);
        return;
      case 8:
        stores ? a.vmovdqu32(masks, x.ymm()) : a.vmovdqu32(x.ymm(), masks);
        return;
      default:
        stores ? a.vmovdqu32(masks, x) : a.vmovdqu32(x, masks);
        return;
      }
    };
    move(false);
    a.vpbroadcastd(y, e_.active_lanes(x86::r11));
    a.vpandnd(z, x, y);
    a.vptestmd(x86::k5, z, z);
    a.kmovw(x86::r8d, x86::k5);
    if (!writes_) {
      a.test(x86::r8d, (1 << width) - 1);
      a.jnz(slow_);
      return;
    }
    a.and_(x86::r8d, (1 << width) - 1);
    const Label written = a.newLabel();
    a.jz(written);
    a.vpord(x, x, y);
    move(true);
    a.bind(written);
  }

  // An effect if it changes something, which nothing else of a store to local memory is. Overwrites r8, r11.
  void store_to_local() {
    for (int e = 0; e < shape_.elements; ++e)
      for (int part = 0; part < value(e).parts; ++part) {
        a.vpxord(y, y, y);
        take_lanes(x86::k6, shape_.bytes, part);
        const x86::Zmm& o = o_[static_cast<size_t>(shape_.bytes == 8 ? part / 2 : part)];
        if (shape_.bytes == 8) {
          part % 2 == 0 ? a.vmovdqa64(x.ymm(), o.ymm()) : a.vextracti64x4(x.ymm(), o, 1);
          a.k(x86::k6).vpgatherdq(y, x86::ptr(x86::rdx, x.ymm(), 0, e * 8));
          under_mask(8, part);
          a.vpcmpq(x86::k5, y, value(e)[part], kNotEqual);
        } else {
          a.k(x86::k6).vpgatherdd(y, x86::ptr(x86::rdx, o, 0, e * 4));
          under_mask(4, part);
          a.vpcmpd(x86::k5, y, value(e)[part], kNotEqual);
        }
        a.kmovw(x86::r11d, x86::k5);
        a.or_(x86::r8d, x86::r11d);
      }
    const Label same = a.newLabel();
    a.test(x86::r8d, x86::r8d);
    a.jz(same);
    count_effect();
    a.bind(same);
    scatter();
  }

  // --- what must be so

  // Nobody watches, and no register carries unwritten bytes.
  void ask_carried() {
    e_.leave_if_watched(slow_);
    const Frame& frame = *x_.frame;
    a.mov(x86::rcx, e_.member(x_.frame));
    a.mov(x86::rdx, of(x86::rcx, frame, frame.carried));
    a.cmp(x86::rdx, of(x86::rcx, frame, frame.carried, 8));
    a.jne(slow_);
  }

  // The CTA's own memory, which both proxies see alike.
  void ask_shared() {
    const Cta& cta = *x_.cta;
    a.mov(x86::rcx, e_.member(x_.cta));
    a.mov(x86::rdx, of(x86::rcx, cta, cta.unpublished));
    a.cmp(x86::rdx, of(x86::rcx, cta, cta.unpublished, 8));
    a.jne(slow_);
    if (space_ != StateSpace::shared) {
      a.cmp(of(x86::rcx, cta, cta.rank, 0, 4), 0);
      a.jne(slow_);
    }
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

  // --- all 32 lanes

  void emit_all() {
    const Label otherwise = a.newLabel(), scattered = a.newLabel(), done = a.newLabel();
    take_first();
    if (has_64_bits())
      a.vpextrq(x86::rcx, address_[0].xmm(), 1);
    else
      a.vpextrd(x86::ecx, address_[0].xmm(), 1);
    has_64_bits() ? a.sub(x86::rcx, x86::rax) : a.sub(x86::ecx, x86::eax);
    a.cmp(x86::rcx, shape_.width());
    a.jne(otherwise);
    broadcast_address(y, x86::rax);
    for (int part = 0; part < address_.parts; ++part) {
      subtract_steps(x, part);
      note_difference(part, x, y);
    }
    a.kortestw(x86::k5, x86::k5);
    a.jnz(scattered);
    if (shape_.elements > 1 && shape_.bytes == 8) {
      a.jmp(scattered);
    } else {
      a.mov(x86::r9d, shape_.width() * kWarpSize);
      find();
      move_side_by_side();
    }
    a.bind(done);
    e_.aside([self = *this, otherwise, scattered, done]() mutable {
      auto& a = self.a;
      a.bind(otherwise);
      if (!self.writes_) {
        a.test(x86::rcx, x86::rcx);
        a.jnz(scattered);
        self.broadcast_address(self.y, x86::rax);
        for (int part = 0; part < self.address_.parts; ++part)
          self.note_difference(part, self.address_[part], self.y);
        a.kortestw(x86::k5, x86::k5);
        a.jnz(scattered);
        a.mov(x86::r9d, self.shape_.width());
        self.find();
        self.broadcast_elements(0);
        a.jmp(done);
      }
      a.bind(scattered);
      self.take_first();
      self.emit_scattered();
      a.jmp(done);
    });
  }

  void broadcast_elements(int32_t at) {
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
      a.vpbroadcastd(to, from);
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

  // From or to rdx on.
  void move_side_by_side() {
    if (writes_)
      count_effect();
    if (shape_.elements > 1) {
      writes_ ? store_interleaved() : load_interleaved();
      return;
    }
    for (int part = 0; part < value().parts; ++part) {
      const x86::Zmm& v = value()[part];
      const x86::Mem at = x86::ptr(x86::rdx, part * kPartBytes * shape_.bytes / shape_.lane_bytes);
      if (shape_.bytes == shape_.lane_bytes)
        writes_ ? a.vmovdqu64(at, v) : a.vmovdqu64(v, at);
      else if (writes_)
        narrow(at, v);
      else
        widen(v, at);
    }
  }
  void widen(const x86::Zmm& to, const x86::Mem& from) {
    const bool is_signed = shape_.is_signed;
    if (shape_.lane_bytes == 2)
      is_signed ? a.vpmovsxbw(to, from) : a.vpmovzxbw(to, from);
    else if (shape_.bytes == 1)
      is_signed ? a.vpmovsxbd(to, from) : a.vpmovzxbd(to, from);
    else
      is_signed ? a.vpmovsxwd(to, from) : a.vpmovzxwd(to, from);
  }
  void narrow(const x86::Mem& to, const x86::Zmm& from) {
    if (shape_.lane_bytes == 2)
      a.vpmovwb(to, from);
    else if (shape_.bytes == 1)
      a.vpmovdb(to, from);
    else
      a.vpmovdw(to, from);
  }

  // Of 4 bytes: lane i's elements lie one after the other, 64 bytes of them in each vector in memory.
  void load_interleaved() {
    const auto n = static_cast<size_t>(shape_.elements);
    for (int part = 0; part < 2; ++part)
      for (size_t e = 0; e < n; ++e) {
        const x86::Mem memory = x86::ptr(x86::rdx, part * kPartBytes * shape_.elements);
        // The lanes of two vectors at a time.
        const size_t lanes = 32 / n; // that two vectors have
        const auto take = [&](const x86::Zmm& to, int first) {
          a.vmovdqa64(to, numbers<uint32_t>(e_, [&](size_t i) { return i < lanes ? i * n + e : 0; }));
          a.vmovdqu64(y, memory.cloneAdjusted(first * kPartBytes));
          a.vpermi2d(to, y, memory.cloneAdjusted((first + 1) * kPartBytes));
        };
        if (n == 2) {
          take(x, 0);
        } else {
          take(x, 0);
          take(z, 2);
          a.vinserti64x4(x, x, z.ymm(), 1);
        }
        a.vmovdqa64(value(static_cast<int>(e))[part], x);
      }
  }
  void store_interleaved() {
    const auto n = static_cast<size_t>(shape_.elements);
    const auto lanes = 16 / n; // of each vector in memory
    for (int part = 0; part < 2; ++part)
      for (size_t v = 0; v < n; ++v) {
        // Elements e of lanes v * lanes on: from the pairs of elements, two at a time.
        const auto index_of = [&](size_t pair) {
          return numbers<uint32_t>(e_, [&](size_t i) {
            const size_t e = i % n, lane = v * lanes + i / n;
            return e / 2 == pair ? lane + (e % 2) * 16 : 0;
          });
        };
        a.vmovdqa64(x, index_of(0));
        a.vpermi2d(x, value(0)[part], value(1)[part]);
        if (n == 4) {
          a.vmovdqa64(y, index_of(1));
          a.vpermi2d(y, value(2)[part], value(3)[part]);
          a.mov(x86::eax, 0xcccc); // the third and fourth of each four
          a.kmovw(x86::k5, x86::eax);
          a.k(x86::k5).vmovdqa32(x, y);
        }
        a.vmovdqu64(
            x86::ptr(x86::rdx, static_cast<int32_t>((static_cast<size_t>(part) * n + v) * kPartBytes)), x);
      }
  }

  void count_effect() {
    const Warp& warp = *x_.warp;
    a.mov(x86::rax, e_.member(x_.warp));
    a.inc(of(x86::rax, warp, warp.effects));
  }

  // --- some lanes, side by side: one element of 4 or 8 bytes

  // rax: the address of the first active lane, ecx: which lane that is. The addresses are at rsp, less
  // `steps`.
  void take_first_active(const x86::Gp& lanes) {
    a.tzcnt(x86::ecx, lanes);
    if (has_64_bits())
      a.mov(x86::rax, x86::ptr(x86::rsp, x86::rcx, 3, 0, 8));
    else
      a.mov(x86::eax, x86::ptr(x86::rsp, x86::rcx, 2, 0, 4));
  }

  void emit_some() {
    const int width = shape_.width();
    const x86::Gp lanes = e_.active_lanes(x86::r11d);
    const Label scattered = a.newLabel(), done = a.newLabel();
    for (int part = 0; part < address_.parts; ++part) {
      subtract_steps(x, part);
      a.vmovdqu64(x86::ptr(x86::rsp, part * kPartBytes), x);
    }
    take_first_active(lanes); // where lane 0 would lie by it
    broadcast_address(y, x86::rax);
    for (int part = 0; part < address_.parts; ++part) {
      a.vmovdqu64(x, x86::ptr(x86::rsp, part * kPartBytes));
      note_difference(part, x, y);
    }
    a.kortestw(x86::k5, x86::k5);
    a.jnz(scattered);
    // The first lane's address, and how many bytes there are up to the last one's end.
    a.lzcnt(x86::r9d, lanes);
    a.neg(x86::r9d);
    a.add(x86::r9d, kWarpSize);
    a.sub(x86::r9d, x86::ecx);
    const int shift = std::countr_zero(static_cast<uint32_t>(width));
    a.shl(x86::r9d, shift);
    a.shl(x86::ecx, shift);
    has_64_bits() ? a.add(x86::rax, x86::rcx) : a.add(x86::eax, x86::ecx);
    a.mov(x86::r8d, x86::ecx);
    find();
    a.sub(x86::rdx, x86::r8);
    if (writes_)
      count_effect();
    for (int part = 0; part < value().parts; ++part) {
      const x86::Mem at = x86::ptr(x86::rdx, part * kPartBytes);
      const x86::Zmm& v = value()[part];
      a.k(e_.active_part(width, part));
      if (writes_)
        width == 4 ? a.vmovdqu32(at, v) : a.vmovdqu64(at, v);
      else
        width == 4 ? a.z().vmovdqu32(v, at) : a.z().vmovdqu64(v, at);
    }
    a.bind(done);
    e_.forget_masks(); // the other way needs its own
    e_.aside([self = *this, scattered, done]() mutable {
      self.a.bind(scattered);
      self.emit_scattered();
      self.a.jmp(done);
    });
  }

  // --- any lanes

  // Where not all are active, the first active one's address is taken here.
  void emit_scattered() {
    if (writes_ && shape_.bytes < 4) { // the host scatters none of these
      a.jmp(slow_);
      return;
    }
    if (is_shared_) {
      find_scattered_shared();
    } else {
      if (e_.active() != Lanes::all) {
        const x86::Gp lanes = e_.active_lanes(x86::r11d);
        for (int part = 0; part < address_.parts; ++part)
          a.vmovdqu64(x86::ptr(x86::rsp, part * kPartBytes), address_[part]);
        take_first_active(lanes);
      }
      find_scattered_global();
    }
    if (writes_) {
      count_effect();
      scatter();
    } else {
      gather();
    }
  }

  // o: the offsets of lanes in the CTA's memory, which begins at rdx.
  void find_scattered_shared() {
    const Cta& cta = *x_.cta;
    const int width = shape_.width();
    a.mov(x86::rcx, e_.member(x_.cta));
    a.mov(x86::rdx, of(x86::rcx, cta, cta.shared));
    a.mov(x86::rsi, of(x86::rcx, cta, cta.shared, 8));
    a.sub(x86::rsi, x86::rdx);
    a.sub(x86::esi, of(x86::rcx, cta, cta.shared_begin, 0, 4));
    a.sub(x86::esi, width);
    a.jb(slow_);
    a.vpbroadcastd(z, x86::esi);
    for (int part = 0; part < 2; ++part) {
      const x86::Zmm& o = o_[static_cast<size_t>(part)];
      a.vpaddd(o, address_[part], e_.broadcast32(static_cast<uint32_t>(in_.imm)));
      a.vpbroadcastd(x, of(x86::rcx, cta, cta.shared_begin, 0, 4));
      a.vpsubd(x, o, x);
      under_mask(4, part);
      a.vpcmpud(part == 0 ? x86::k5 : x86::k6, x, z, kGreater);
      if (part != 0)
        a.korw(x86::k5, x86::k5, x86::k6);
      note_misaligned(o, part);
    }
    slow_if_any(x86::k5);
    // A bit for each page.
    for (int part = 0; part < 2; ++part) {
      a.vpsrld(x, o_[static_cast<size_t>(part)], WrittenPages::kPageShift);
      a.vpsrld(y, x, 5);
      a.vpermd(y, y, of(x86::rcx, cta, cta.written_pages.words(), 0, kPartBytes));
      a.vprorvd(y, y, x);
      under_mask(4, part);
      a.vptestnmd(part == 0 ? x86::k5 : x86::k6, y, e_.broadcast32(1));
    }
    a.kortestw(x86::k5, x86::k6);
    if (!writes_) {
      a.jnz(slow_);
      return;
    }
    const Label written = a.newLabel();
    a.jz(written);
    a.mov(x86::rsi, of(x86::rcx, cta, cta.shared_written));
    mark_scattered();
    a.bind(written);
    e_.forget_masks();
  }

  // Overwrites k6.
  void note_misaligned(const x86::Zmm& offsets, int part) {
    if (shape_.width() == 1)
      return;
    under_mask(4, part);
    a.vptestmd(x86::k6, offsets, e_.broadcast32(static_cast<uint32_t>(shape_.width() - 1)));
    a.korw(x86::k5, x86::k5, x86::k6);
  }

  // o: the offsets of lanes in the allocation of the first active one, which begins at rdx.
  void find_scattered_global() {
    const Translation& entry = e_.example_translation();
    const int width = shape_.width();
    a.mov(x86::r9d, width);
    find(); // rcx: the entry
    a.mov(x86::rdx, of(x86::rcx, entry, entry.host));
    a.mov(x86::rsi, of(x86::rcx, entry, entry.bytes));
    a.mov(x86::rdi, of(x86::rcx, entry, entry.begin));
    a.test(x86::edi, width - 1);
    a.jnz(slow_);
    a.sub(x86::rsi, width);
    a.cmp(x86::rsi, INT32_MAX);
    a.ja(slow_);
    a.vpbroadcastq(z, x86::rsi);
    a.neg(x86::rdi);
    if (in_.imm != 0) {
      a.mov(x86::rsi, in_.imm);
      a.add(x86::rdi, x86::rsi);
    }
    a.vpbroadcastq(y, x86::rdi);
    for (int part = 0; part < 4; ++part) {
      const x86::Zmm& o = o_[static_cast<size_t>(part / 2)];
      a.vpaddq(x, address_[part], y);
      under_mask(8, part);
      a.vpcmpuq(part == 0 ? x86::k5 : x86::k6, x, z, kGreater);
      if (part != 0)
        a.korw(x86::k5, x86::k5, x86::k6);
      if (part % 2 == 0) {
        a.vpmovqd(o.ymm(), x);
      } else {
        a.vpmovqd(x.ymm(), x);
        a.vinserti64x4(o, o, x.ymm(), 1);
      }
    }
    for (int part = 0; part < 2; ++part)
      note_misaligned(o_[static_cast<size_t>(part)], part);
    slow_if_any(x86::k5);
    ask_pages();
  }

  // All pages are wholly written.
  void ask_pages() {
    const Translation& entry = e_.example_translation();
    const Label written = a.newLabel();
    a.mov(x86::rsi, of(x86::rcx, entry, entry.init));
    a.test(x86::rsi, x86::rsi);
    a.jz(written);
    a.mov(x86::rsi, x86::Mem(x86::rsi, WrittenBytes::place_of_full_words(), 8));
    for (int part = 0; part < 2; ++part) {
      a.vpsrld(x, o_[static_cast<size_t>(part)], WrittenBytes::kPageShift);
      take_lanes(x86::k6, 4, part);
      a.vpxord(y, y, y);
      a.k(x86::k6).vpgatherdd(y, x86::ptr(x86::rsi, x));
      a.vpandd(y, y, e_.broadcast32(0xff));
      under_mask(4, part);
      a.vpcmpud(x86::k5, y, e_.broadcast32(WrittenBytes::kPageWords), kNotEqual);
      slow_if_any(x86::k5);
    }
    a.bind(written);
    e_.forget_masks(); // those of the way that was not taken
  }

  // The active lanes of a part, in a register that may be overwritten.
  void take_lanes(const x86::KReg& to, int lane_bytes, int part) {
    if (e_.active() != Lanes::all)
      a.kmovd(to, e_.active_part(lane_bytes, part));
    else
      a.kxnord(to, to, to);
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
            a.vpxord(to, to, to);
            a.k(x86::k6).vpgatherdq(to, x86::ptr(x86::rdx, x.ymm(), 0, e * 8));
          }
        } else if (shape_.bytes == 4) {
          const x86::Zmm& to = value(e)[part];
          take_lanes(x86::k6, 4, part);
          a.vpxord(to, to, to);
          a.k(x86::k6).vpgatherdd(to, x86::ptr(x86::rdx, o, 0, e * 4));
        } else {
          gather_narrow(o, part);
        }
      }
  }

  // The words that hold the elements, which are then moved to their lowest bits.
  void gather_narrow(const x86::Zmm& o, int part) {
    a.vpandd(x, o, e_.broadcast32(~uint32_t{3}));
    take_lanes(x86::k6, 4, part);
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
    a.vmovdqa64(z, places);
    take_ordered_lanes(4, part, 16, order);
    a.vpermd(x, z, o_[static_cast<size_t>(part)]);
    if (shape_.lane_bytes == 2) { // 32 lanes in a part
      part == 0 ? a.vpmovzxwd(y, value(e)[0].ymm()) : a.vextracti64x4(y.ymm(), value(e)[0], 1);
      if (part != 0)
        a.vpmovzxwd(y, y.ymm());
      a.vpermd(y, z, y);
    } else {
      a.vpermd(y, z, value(e)[part]);
    }
    a.k(x86::k6).vpscatterdd(x86::ptr(x86::rdx, x, 0, e * shape_.bytes), y);
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

  // rdx: where the byte at rax + imm is on the host, of r9d bytes from there on, of which all is well; else
  // slow. Overwrites rax, rcx, rsi, rdi; rcx is the entry of an allocation.
  void find() {
    if (is_shared_)
      find_shared();
    else
      e_.find_global(space_ == StateSpace::const_, writes_, in_.imm, shape_.width(), slow_);
  }

  void find_shared() {
    const Cta& cta = *x_.cta;
    a.mov(x86::rcx, e_.member(x_.cta));
    if (in_.imm != 0)
      a.add(x86::eax, static_cast<int32_t>(in_.imm));
    if (shape_.width() > 1) {
      a.test(x86::eax, shape_.width() - 1);
      a.jnz(slow_);
    }
    a.cmp(x86::eax, of(x86::rcx, cta, cta.shared_begin, 0, 4));
    a.jb(slow_);
    a.mov(x86::rdx, of(x86::rcx, cta, cta.shared));
    a.lea(x86::rsi, x86::ptr(x86::rdx, x86::rax));
    a.add(x86::rsi, x86::r9);
    a.cmp(x86::rsi, of(x86::rcx, cta, cta.shared, 8));
    a.ja(slow_);
    // Both pages that it may touch are known to be written.
    a.lea(x86::edi, x86::ptr(x86::rax, x86::r9, 0, -1));
    a.mov(x86::esi, x86::eax);
    const Label unwritten = writes_ ? a.newLabel() : slow_, written = a.newLabel();
    for (const x86::Gp& page : {x86::edi, x86::esi}) {
      a.shr(page, WrittenPages::kPageShift);
      a.bt(of(x86::rcx, cta, cta.written_pages.words(), 0, 4), page);
      a.jnc(unwritten);
    }
    a.bind(written);
    a.add(x86::rdx, x86::rax);
    if (writes_)
      e_.aside([self = *this, unwritten, written, &cta]() mutable {
        auto& a = self.a;
        a.bind(unwritten);
        a.mov(x86::rsi, of(x86::rcx, cta, cta.shared_written));
        a.add(x86::rsi, x86::rax);
        self.mark_side_by_side();
        a.jmp(written);
      });
  }

  // Marks of bytes, a byte each: those of the lanes from rsi on are set.
  void mark_side_by_side() {
    a.vpbroadcastd(x, e_.number32(kMarks));
    if (e_.active() == Lanes::all) {
      const int bytes = shape_.width() * kWarpSize;
      if (bytes < kPartBytes)
        a.vmovdqu(x86::ptr(x86::rsi), x.ymm());
      for (int at = 0; at + kPartBytes <= bytes; at += kPartBytes)
        a.vmovdqu64(x86::ptr(x86::rsi, at), x);
      return;
    }
    a.sub(x86::rsi, x86::r8); // of lane 0
    for (int part = 0; part < value().parts; ++part) {
      a.k(e_.active_part(shape_.width(), part));
      shape_.width() == 4 ? a.vmovdqu32(x86::ptr(x86::rsi, part * kPartBytes), x)
                          : a.vmovdqu64(x86::ptr(x86::rsi, part * kPartBytes), x);
    }
    e_.forget_masks();
  }
  // The same of lanes at their offsets.
  void mark_scattered() {
    a.vpbroadcastd(x, e_.number32(kMarks));
    for (int part = 0; part < 2; ++part)
      for (int at = 0; at < shape_.width(); at += 4) {
        take_lanes(x86::k6, 4, part);
        a.k(x86::k6).vpscatterdd(x86::ptr(x86::rsi, o_[static_cast<size_t>(part)], 0, at), x);
      }
  }

  static constexpr int kNotEqual = 4, kGreater = 6; // predicates of comparisons
  static constexpr uint32_t kMarks = 0x01010101;    // Cta::shared_written
  Emit& e_;
  x86::Assembler& a;
  const DecodedInst& in_;
  Exec& x_;
  const bool writes_;
  bool is_shared_ = false;
  StateSpace space_ = StateSpace::generic;
  Shape shape_;
  Value address_;
  std::array<Value, 4> values_;
  std::array<x86::Zmm, 2> o_;
  x86::Zmm x, y, z;
  Label slow_;
};

} // namespace

const Translation& Emit::example_translation() const {
  return example_.translations_.entries_[0];
}

void Emit::find_global(bool is_constant, bool writes, int64_t imm, int width, const Label& slow) {
  const Translations& translations = example_.translations_;
  const Translation& entry = example_translation();
  const auto of_entry = [&](const auto& member) { return of(x86::rcx, entry, member, 0, sizeof(member)); };
  if (imm != 0) {
    a.mov(x86::rsi, imm);
    a.add(x86::rax, x86::rsi);
  }
  if (width > 1) {
    a.test(x86::eax, width - 1);
    a.jnz(slow);
  }
  a.movzx(x86::ecx, member(translations.hints_[pc_ % Translations::kHints]));
  a.shl(x86::ecx, std::countr_zero(sizeof(Translation)));
  x86::Mem first = member(entry, 8);
  first.setIndex(x86::rcx);
  a.lea(x86::rcx, first);
  a.mov(x86::rdx, x86::rax);
  a.sub(x86::rdx, of_entry(entry.begin));
  a.mov(x86::rsi, of_entry(entry.bytes));
  a.sub(x86::rsi, x86::rdx); // bytes from there on
  a.jbe(slow);
  a.cmp(x86::rsi, x86::r9);
  a.jb(slow);
  const Launch& launch = *example_.launch;
  const GlobalMemory& memory = *launch.memory;
  a.mov(x86::rsi, member(example_.launch));
  a.mov(x86::rsi, of(x86::rsi, launch, launch.memory));
  a.mov(x86::rsi, of(x86::rsi, memory, memory.translations_));
  a.cmp(x86::rsi, of_entry(entry.generation));
  a.jne(slow);
  if (writes || is_constant) {
    a.cmp(of_entry(entry.is_read_only), 0);
    writes ? a.jne(slow) : a.je(slow);
  }
  // Both pages that it may touch were written.
  const Label written = a.newLabel();
  a.mov(x86::rsi, of_entry(entry.init));
  a.test(x86::rsi, x86::rsi);
  a.jz(written);
  a.mov(x86::rsi, x86::Mem(x86::rsi, WrittenBytes::place_of_full_words(), 8));
  a.lea(x86::rdi, x86::ptr(x86::rdx, x86::r9, 0, -1));
  a.shr(x86::rdi, WrittenBytes::kPageShift);
  a.cmp(x86::ptr(x86::rsi, x86::rdi, 0, 0, 1), WrittenBytes::kPageWords);
  a.jne(slow);
  a.mov(x86::rdi, x86::rdx);
  a.shr(x86::rdi, WrittenBytes::kPageShift);
  a.cmp(x86::ptr(x86::rsi, x86::rdi, 0, 0, 1), WrittenBytes::kPageWords);
  a.jne(slow);
  a.bind(written);
  a.add(x86::rdx, of_entry(entry.host));
}

namespace {

bool emit_load(Emit& e, const ptx::Instruction&) {
  return AccessEmitter(e, false).emit();
}
bool emit_store(Emit& e, const ptx::Instruction&) {
  return AccessEmitter(e, true).emit();
}

} // namespace

void add_memory_emitters(EmitterTable& table) {
  table.add({Opcode::ld, Opcode::ldu}, emit_load);
  table.add(Opcode::st, emit_store);
}

} // namespace lemma::vgpu
