// Parameters of the kernel and of functions, and local memory: what is each lane's own, or everybody's.
#include "vgpu/compiled/emitters/access.h"

namespace lemma::vgpu {

using asmjit::Label;
using isa::StateSpace;

namespace {

class OwnAccess : AccessEmitter {
public:
  OwnAccess(Emit& e, bool writes) : AccessEmitter(e, writes) {}

  // False before anything was emitted: it is none of these.
  bool emit() {
    if (!take_shape() || widens_words())
      return false;
    switch (space_) {
    case StateSpace::param:
      return !writes_ && e_.is_constant(0) && in_.src_bytes == 8 && shape_.bytes == shape_.lane_bytes &&
             emit_parameter();
    case StateSpace::reg:
      return emit_own_parameter();
    case StateSpace::local:
      return emit_local();
    default:
      return false;
    }
  }

private:
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
      a.vmovdqa64(o_[part],
                  numbers<uint32_t>(e_, [&](size_t lane) { return (16 * part + lane) * stride + at; }));
    a.lea(x86::rdx, e_.frame(static_cast<uint32_t>(e_.code().param_area_offset)));
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
    a.vpbroadcastd(y, x86::eax); // in the offsets: narrow loads take whole words, none beyond the end
    for (const x86::Zmm& o : o_)
      a.vpaddd(o, o, y);
    a.mov(x86::rdx, of(x86::rcx, warp, warp.local));
    if (writes_)
      store_to_local();
    else
      gather();
    return true;
  }

  // rax: the offset that all active lanes have.
  void take_one_offset() {
    take_address();
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
    e_.find_split(x86::rsi, x86::rcx);
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
    a.lea(x86::rsi, masks);
    masks = x86::ptr(x86::rsi);
    e_.check_host({.base = x86::rsi, .bytes = 4, .lanes = width});
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
          check_lanes({.base = x86::rdx, .at = e * 8, .bytes = 8, .lanes = 8}, x);
          a.k(x86::k6).vpgatherdq(y, x86::ptr(x86::rdx, x.ymm(), 0, e * 8));
          under_mask(8, part);
          a.vpcmpq(x86::k5, y, value(e)[part], kNotEqual);
        } else {
          check_lanes({.base = x86::rdx, .at = e * 4, .bytes = 4, .lanes = 16}, o);
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
};

} // namespace

bool emit_own_access(Emit& e, bool writes) {
  return OwnAccess(e, writes).emit();
}

} // namespace lemma::vgpu
