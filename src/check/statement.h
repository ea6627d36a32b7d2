// An instruction that somebody has executed, as findings name it.
//
// Tests: tests/unit/check/protocol_test.cc.
#pragma once

#include "lemma/report.h"
#include "vgpu/async_operation.h"
#include "vgpu/exec.h"

#include <string>

namespace lemma::check {

struct Statement {
  const vgpu::Code* code = nullptr;
  const vgpu::DecodedInst* instruction = nullptr; // null: there is none
  Dim3 cta{};                                     // its id
  uint32_t warp = 0;                              // in the CTA
  int lane = -1;                                  // -1: the warp as a whole

  // The one that the warp is at, by these lanes.
  static Statement at(const vgpu::Exec& x, vgpu::LaneMask lanes);
  static Statement of(const vgpu::AsyncIssuer& issuer);
};

// "waits", by whom.
CheckedAccess described(const Statement& who, std::string what);

} // namespace lemma::check
