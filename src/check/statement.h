// An instruction that somebody has executed, as findings name it.
//
// Tests: tests/unit/check/protocol_test.cc.
#pragma once

#include "lemma/report.h"
#include "vgpu/async/async_operation.h"
#include "vgpu/engine/exec.h"

#include <string>

namespace lemma::check {

// An instruction of the program.
struct Spot {
  const vgpu::Code* code = nullptr;
  vgpu::InstId instruction = {}; // none: not known

  // The one that the warp is at.
  static Spot at(const vgpu::Exec& x) { return {x.code, x.code->id_at(x.pc)}; }
  const ptx::Instruction& ptx() const { return code->function->instructions[instruction.index]; }
  friend bool operator==(const Spot&, const Spot&) = default;
};
// A strong write, or an arrival, and the read or wait that has seen it.
struct SyncPair {
  Spot write, read;
};

struct Statement {
  const vgpu::Code* code = nullptr;
  vgpu::InstId instruction = {}; // none: there is none
  Dim3 cta{};                    // its id
  uint32_t warp = 0;             // in the CTA
  int lane = -1;                 // -1: the warp as a whole

  // The one that the warp is at, by these lanes.
  static Statement at(const vgpu::Exec& x, vgpu::LaneMask lanes);
  static Statement of(const vgpu::AsyncIssuer& issuer);
  Spot spot() const { return {code, instruction}; }
};

// "waits", by whom.
CheckedAccess described(const Statement& who, std::string what);

} // namespace lemma::check
