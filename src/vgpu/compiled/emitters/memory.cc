// Loads and stores of which all is well, as those of handlers/memory/memory_vectors.inc: all lanes in one
// allocation or in the CTA's own shared memory, aligned, and what is read was written. All else is the
// handler's, which the code calls where it finds out.
//
// All 32 lanes are taken to lie side by side where the second one is an element behind the first, and at one
// address where it is at the same; any other lanes have offsets, of which the host gathers and scatters.
//
// Tests: tests/unit/vgpu/memory_ops_test.cc, memory_vectors_test.cc, compiled_test.cc.
#include "vgpu/compiled/emitters/access.h"

namespace lemma::vgpu {

using asmjit::Label;
using isa::Opcode;
using isa::StateSpace;

namespace {

// Memory that lanes share: global, constant, and of the CTA.
class SharedAccess : AccessEmitter {
public:
  SharedAccess(Emit& e, bool writes) : AccessEmitter(e, writes) {}

  // False before anything was emitted: it is none of these.
  bool emit() {
    if (!take_shape())
      return false;
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
    else if (shape_.elements == 1)
      emit_some();
    else
      emit_scattered();
    return true;
  }

private:
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
      self.emit_scattered();
      a.jmp(done);
    });
  }

  // From or to rdx on.
  void move_side_by_side() {
    if (writes_)
      count_effect();
    if (shape_.elements > 1) {
      e_.check_host({.base = x86::rdx, .bytes = shape_.width(), .lanes = kWarpSize});
      writes_ ? store_interleaved() : load_interleaved();
      return;
    }
    for (int part = 0; part < value().parts; ++part) {
      const x86::Zmm& v = value()[part];
      const int32_t offset = part * kPartBytes * shape_.bytes / shape_.lane_bytes;
      const x86::Mem at = x86::ptr(x86::rdx, offset);
      const bool masks = e_.active() != Lanes::all;
      const uint32_t mask = masks ? e_.active_part(shape_.lane_bytes, part).id() : 0;
      e_.check_host({.base = x86::rdx,
                     .at = offset,
                     .bytes = shape_.bytes,
                     .lanes = kPartBytes / shape_.lane_bytes,
                     .mask = mask});
      if (masks) {
        a.k(x86::k(mask));
        if (!writes_)
          a.z();
      }
      if (shape_.bytes != shape_.lane_bytes)
        writes_ ? narrow(at, v) : widen(v, at);
      else if (masks && shape_.bytes == 2)
        writes_ ? a.vmovdqu16(at, v) : a.vmovdqu16(v, at);
      else if (masks && shape_.bytes == 4)
        writes_ ? a.vmovdqu32(at, v) : a.vmovdqu32(v, at);
      else
        writes_ ? a.vmovdqu64(at, v) : a.vmovdqu64(v, at);
    }
  }
  void widen(const x86::Zmm& to, const x86::Mem& from) {
    const bool is_signed = shape_.is_signed;
    if (shape_.lane_bytes == 8)
      is_signed ? a.vpmovsxdq(to, from) : a.vpmovzxdq(to, from);
    else if (shape_.lane_bytes == 2)
      is_signed ? a.vpmovsxbw(to, from) : a.vpmovzxbw(to, from);
    else if (shape_.bytes == 1)
      is_signed ? a.vpmovsxbd(to, from) : a.vpmovzxbd(to, from);
    else
      is_signed ? a.vpmovsxwd(to, from) : a.vpmovzxwd(to, from);
  }
  void narrow(const x86::Mem& to, const x86::Zmm& from) {
    if (shape_.lane_bytes == 8)
      a.vpmovqd(to, from);
    else if (shape_.lane_bytes == 2)
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

  // --- some lanes, side by side: one element

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
    move_side_by_side();
    a.bind(done);
    e_.forget_masks(); // the other way needs its own
    e_.aside([self = *this, scattered, done]() mutable {
      self.a.bind(scattered);
      self.emit_scattered();
      self.a.jmp(done);
    });
  }

  // --- any lanes

  void emit_scattered() {
    if (writes_ && shape_.bytes < 4) { // the host scatters none of these
      a.jmp(slow_);
      return;
    }
    if (is_shared_) {
      find_scattered_shared();
    } else {
      take_address();
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
      e_.check_host({.base = x86::rsi, .bytes = shape_.width(), .lanes = kWarpSize});
      if (bytes < kPartBytes)
        a.vmovdqu(x86::ptr(x86::rsi), x.ymm());
      for (int at = 0; at + kPartBytes <= bytes; at += kPartBytes)
        a.vmovdqu64(x86::ptr(x86::rsi, at), x);
      return;
    }
    a.sub(x86::rsi, x86::r8); // of lane 0
    const int width = shape_.width();
    for (int part = 0; part < std::max(width / 2, 1); ++part) {
      const x86::Mem at = x86::ptr(x86::rsi, part * kPartBytes);
      const x86::KReg lanes = e_.active_part(std::max(width, 2), part);
      e_.check_host({.base = x86::rsi,
                     .at = part * kPartBytes,
                     .bytes = width,
                     .lanes = std::min(kPartBytes / width, kWarpSize),
                     .mask = lanes.id()});
      a.k(lanes);
      if (width == 1)
        a.vmovdqu8(at, x.ymm());
      else if (width == 2)
        a.vmovdqu16(at, x);
      else
        width == 4 ? a.vmovdqu32(at, x) : a.vmovdqu64(at, x);
    }
    e_.forget_masks();
  }
  // The same of lanes at their offsets.
  void mark_scattered() {
    a.vpbroadcastd(x, e_.number32(kMarks));
    for (int part = 0; part < 2; ++part)
      for (int at = 0; at < shape_.width(); at += 4) {
        take_lanes(x86::k6, 4, part);
        check_lanes({.base = x86::rsi, .at = at, .bytes = 4, .lanes = 16}, o_[static_cast<size_t>(part)]);
        a.k(x86::k6).vpscatterdd(x86::ptr(x86::rsi, o_[static_cast<size_t>(part)], 0, at), x);
      }
  }

  static constexpr uint32_t kMarks = 0x01010101; // Cta::shared_written
  bool is_shared_ = false;
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
  return SharedAccess(e, false).emit() || emit_own_access(e, false);
}
bool emit_store(Emit& e, const ptx::Instruction&) {
  return SharedAccess(e, true).emit() || emit_own_access(e, true);
}

} // namespace

void add_memory_emitters(EmitterTable& table) {
  table.add({Opcode::ld, Opcode::ldu}, emit_load);
  table.add(Opcode::st, emit_store);
}

} // namespace lemma::vgpu
