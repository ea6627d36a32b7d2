// parts.h. rcx is a join point everywhere, but for loops over several.
#include "vgpu/compiled/parts.h"

#include "vgpu/engine/warp.h"

namespace lemma::vgpu {

using asmjit::Label;

static_assert(sizeof(Polling) % 8 == 0);

PartsCode::PartsCode(Emit& e)
    : wait(e.a.newLabel()), join(e.a.newLabel()), jump(e.a.newLabel()), dispatch(e.a.newLabel()), e_(e),
      a(e.a), state_(e.example().compiled) {}

void PartsCode::emit(std::span<const Label> loads) {
  emit_wait();
  emit_join();
  emit_jump();
  emit_dispatch(loads);
}

// An array's element rcx.
x86::Mem PartsCode::indexed(x86::Mem array, uint32_t shift, uint32_t bytes) const {
  array.setIndex(x86::rcx, shift);
  array.setSize(bytes);
  return array;
}

// rdi: what the running part remembers. Overwrites rax.
void PartsCode::find_polling() {
  e_.find_split(x86::rdi, x86::rax);
  a.add(x86::rdi, static_cast<int32_t>(offsetof(Split, polling)));
}

// rsi: the record of the part that waits at rcx. Overwrites rax.
void PartsCode::find_record() {
  a.imul(x86::rsi, x86::rcx, static_cast<int32_t>(sizeof(Polling)));
  a.lea(x86::rax, e_.member(state_.polling));
  a.add(x86::rsi, x86::rax);
}

void PartsCode::copy_polling(const x86::Gp& to, const x86::Gp& from) {
  for (int32_t at = 0; at < static_cast<int32_t>(sizeof(Polling)); at += 8) {
    a.mov(x86::rax, x86::qword_ptr(from, at));
    a.mov(x86::qword_ptr(to, at), x86::rax);
  }
}

// rax: what the running part has run, which is noted.
void PartsCode::count_part() {
  a.mov(x86::rax, x86::r15);
  a.sub(x86::rax, e_.member(state_.part_begin));
  a.add(x86::rax, e_.member(state_.ran));
  a.mov(e_.member(state_.ran), x86::rax);
  a.mov(e_.member(state_.part_begin), x86::r15);
}

// Of a part that has run rax, while there are others. Overwrites rax, rsi.
void PartsCode::set_end() {
  a.mov(x86::esi, static_cast<uint32_t>(kGiveWayAfter));
  a.sub(x86::rsi, x86::rax);
  a.mov(x86::eax, 0);
  a.cmovb(x86::rsi, x86::rax);
  a.add(x86::rsi, x86::r15);
  a.mov(x86::rax, e_.member(state_.turn_end));
  a.cmp(x86::rsi, x86::rax);
  a.cmova(x86::rsi, x86::rax);
  a.mov(e_.member(state_.end), x86::rsi);
}

void PartsCode::emit_wait() {
  const Label divided = a.newLabel(), put = a.newLabel(), joins = a.newLabel(), ran = a.newLabel(),
              out = a.newLabel();
  a.bind(wait);
  a.mov(x86::rax, e_.member(state_.waiting_at));
  a.or_(x86::rax, e_.member(state_.is_divided));
  a.jnz(divided);
  a.mov(e_.member(state_.ran), x86::rax); // 0
  a.mov(e_.member(state_.part_begin), x86::r15);
  set_end();
  a.xor_(x86::eax, x86::eax);
  a.jmp(put);
  a.bind(divided);
  count_part();
  a.bind(put);
  a.mov(x86::rsi, e_.member(state_.waiting_at));
  a.bts(x86::rsi, x86::rcx);
  a.mov(e_.member(state_.waiting_at), x86::rsi);
  a.jc(joins);
  a.mov(indexed(e_.member(state_.waiting), 2, 4), x86::edx);
  a.mov(indexed(e_.member(state_.waiting_ran), 3, 8), x86::rax);
  a.ret();
  // Others wait there already.
  a.bind(joins);
  a.or_(indexed(e_.member(state_.waiting), 2, 4), x86::edx);
  a.cmp(x86::rax, indexed(e_.member(state_.waiting_ran), 3, 8));
  a.jbe(ran);
  a.mov(indexed(e_.member(state_.waiting_ran), 3, 8), x86::rax);
  a.bind(ran);
  a.mov(x86::rsi, e_.member(state_.remembers));
  a.bt(x86::rsi, x86::rcx);
  a.jnc(out);
  find_polling();
  find_record();
  a.mov(x86::rax, x86::qword_ptr(x86::rdi, offsetof(Polling, backward_jumps)));
  a.cmp(x86::rax, x86::qword_ptr(x86::rsi, offsetof(Polling, backward_jumps)));
  a.jbe(out);
  copy_polling(x86::rsi, x86::rdi);
  a.bind(out);
  a.ret();
}

void PartsCode::emit_join() {
  const Label shared = a.newLabel(), others = a.newLabel();
  a.bind(join);
  a.or_(x86::r14d, indexed(e_.member(state_.waiting), 2, 4));
  a.mov(indexed(e_.member(state_.waiting), 2, 4), 0);
  a.mov(x86::rsi, e_.member(state_.remembers));
  a.btr(x86::rsi, x86::rcx);
  a.jnc(shared);
  a.mov(e_.member(state_.remembers), x86::rsi);
  find_polling();
  find_record();
  a.mov(x86::rax, x86::qword_ptr(x86::rsi, offsetof(Polling, backward_jumps)));
  a.cmp(x86::rax, x86::qword_ptr(x86::rdi, offsetof(Polling, backward_jumps)));
  a.jbe(shared);
  copy_polling(x86::rdi, x86::rsi);
  a.bind(shared);
  count_part();
  a.mov(x86::rdx, indexed(e_.member(state_.waiting_ran), 3, 8));
  a.cmp(x86::rax, x86::rdx);
  a.cmovb(x86::rax, x86::rdx);
  a.mov(e_.member(state_.ran), x86::rax);
  a.mov(x86::rsi, e_.member(state_.waiting_at));
  a.btr(x86::rsi, x86::rcx);
  a.mov(e_.member(state_.waiting_at), x86::rsi);
  a.or_(x86::rsi, e_.member(state_.is_divided));
  a.jnz(others);
  a.mov(x86::rax, e_.member(state_.turn_end));
  a.mov(e_.member(state_.end), x86::rax);
  a.ret();
  a.bind(others);
  set_end();
  a.ret();
}

// Those that wait get records of their own.
void PartsCode::emit_jump() {
  const Label next = a.newLabel();
  a.bind(jump);
  find_polling();
  a.mov(x86::rdx, e_.member(state_.remembers));
  a.andn(x86::rdx, x86::rdx, e_.member(state_.waiting_at));
  a.or_(e_.member(state_.remembers), x86::rdx);
  a.bind(next);
  a.bsf(x86::rcx, x86::rdx);
  find_record();
  copy_polling(x86::rsi, x86::rdi);
  a.blsr(x86::rdx, x86::rdx);
  a.jnz(next);
  a.ret();
}

void PartsCode::emit_dispatch(std::span<const Label> loads) {
  const Label table = a.newLabel(), shared = a.newLabel(), recorded = a.newLabel();
  a.bind(dispatch);
  a.mov(x86::rdx, e_.member(state_.remembers));
  a.mov(x86::rax, e_.member(state_.waiting_at));
  a.bsf(x86::rcx, x86::rax);
  a.bt(x86::rdx, x86::rcx);
  a.jnc(shared);
  a.andn(x86::rdx, x86::rdx, x86::rax); // they share what the running part remembers, which it has for itself
  a.jz(recorded);
  a.call(jump);
  a.bind(recorded);
  a.bsf(x86::rcx, e_.member(state_.waiting_at));
  find_polling();
  find_record();
  copy_polling(x86::rdi, x86::rsi);
  a.mov(x86::rdx, e_.member(state_.remembers));
  a.btr(x86::rdx, x86::rcx);
  a.mov(e_.member(state_.remembers), x86::rdx);
  a.bind(shared);
  a.mov(x86::rax, e_.member(state_.waiting_at));
  a.btr(x86::rax, x86::rcx);
  a.mov(e_.member(state_.waiting_at), x86::rax);
  a.mov(x86::r14d, indexed(e_.member(state_.waiting), 2, 4));
  a.mov(indexed(e_.member(state_.waiting), 2, 4), 0);
  a.mov(x86::rax, indexed(e_.member(state_.waiting_ran), 3, 8));
  a.mov(e_.member(state_.ran), x86::rax);
  a.mov(e_.member(state_.part_begin), x86::r15);
  set_end();
  a.lea(x86::rax, x86::ptr(table));
  a.movsxd(x86::rcx, x86::ptr(x86::rax, x86::rcx, 2, 0, 4));
  a.add(x86::rax, x86::rcx);
  a.jmp(x86::rax);
  a.align(asmjit::AlignMode::kData, 8);
  a.bind(table);
  for (const Label& load : loads)
    a.embedLabelDelta(load, table, 4);
}

} // namespace lemma::vgpu
