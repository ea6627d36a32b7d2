// Functions that a module may call but that have no body: the device runtime's vprintf, __assertfail, malloc,
// free.
//
// Tests: tests/unit/vgpu/builtins_test.cc, tests/programs/printf.
#pragma once

#include "vgpu/engine/exec.h"

#include <span>
#include <string_view>

namespace lemma::vgpu {

// Which builtin a name means; -1: none.
int find_builtin(std::string_view name);

// All of them.
std::span<const std::string_view> builtin_names();

// May a call pass .param variables of these sizes? Each must hold what the function takes or gives there.
bool fits_builtin(int builtin, std::span<const uint32_t> argument_bytes,
                  std::span<const uint32_t> result_bytes);

// Calls it for the active lanes. Argument i of lane L lies at
//   x.bases[0] + x.code->param_area_offset + L * x.code->param_bytes + arguments[i]
// and results likewise.
Step call_builtin(Exec& x, const DecodedInst& in, int builtin, std::span<const uint32_t> arguments,
                  std::span<const uint32_t> results);

} // namespace lemma::vgpu
