// What an access writes, before it does: for a finding, and to tell whether two writes are of the same value.
//
// Tests: tests/unit/check/order_test.cc.
#pragma once

#include "vgpu/engine/exec.h"
#include "vgpu/engine/observer.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace lemma::check {

// Of a piece of the access that `x` makes: what st, stmatrix and wmma.store have in registers. Empty: not
// known.
std::vector<std::byte> written_value(const vgpu::Exec& x, const vgpu::WarpAccess& access, int piece);

// "0x3f800000", "{0x1, 0x2}": the elements that the instruction says.
std::string value_text(std::span<const std::byte> bytes, const vgpu::Code& code, vgpu::InstId in);

} // namespace lemma::check
