// Fragments whose registers are blocks of 8 rows by 16 bytes (of f64: 32), so that matrix products can be
// taken from registers and left there.
//
// Tests: tests/unit/vgpu/matrix_test.cc, mma_runs_test.cc.
#pragma once

#include "layout/fragment.h"

#include <array>
#include <cstdint>
#include <optional>

namespace lemma::layout {

// Which register of a fragment is which block (numeric::DotBlocks): row eight after row
// eight, and in them along the row; of B, whose rows are columns, along K.
struct RegisterBlocks {
  std::array<uint8_t, 8> a{}, b{}, d{};
  bool even_columns_first = false; // of D's, as numeric::DotLayout has it
};

// None: a register of D, of A or of B is no such block.
std::optional<RegisterBlocks> register_blocks(const Fragment& a, const Fragment& b, const Fragment& d);

} // namespace lemma::layout
