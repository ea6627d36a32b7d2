// Parts of a warp that compiled code has told apart come to wait, join and go on: three pieces of code of a
// unit, which its segments call.
//
// They do what warp.cc does with splits: the part with the lowest pc runs; one gives way after kGiveWayAfter
// instructions while there are others; what it remembers of its loops (Polling) is its own. A part that waits
// has no record of that until one that runs jumps backward, since it is the same until then.
//
// Tests: tests/unit/vgpu/compiled_test.cc.
#pragma once

#include "vgpu/compiled/emit.h"

namespace lemma::vgpu {

// All overwrite rax, rcx, rdx, rsi, rdi, and nothing else.
class PartsCode {
public:
  explicit PartsCode(Emit& e);

  asmjit::Label wait; // called: the lanes edx wait at join point ecx, which the running part may be one of
  asmjit::Label join; // called: those that wait at join point ecx join the part that runs
  asmjit::Label jump; // called, before a backward jump of a part while others wait
  // Jumped to: the part that runs waits now, and of all the one with the lowest pc goes on. The frame has
  // everything.
  asmjit::Label dispatch;

  // `loads`: by join point, where its segment begins with nothing held.
  void emit(std::span<const asmjit::Label> loads);

private:
  void emit_wait();
  void emit_join();
  void emit_jump();
  void emit_dispatch(std::span<const asmjit::Label> loads);
  void count_part();
  void set_end();
  void find_polling();
  void find_record();
  void copy_polling(const x86::Gp& to, const x86::Gp& from);
  x86::Mem indexed(x86::Mem array, uint32_t shift, uint32_t bytes) const;

  Emit& e_;
  x86::Assembler& a;
  const CompiledState& state_;
};

} // namespace lemma::vgpu
