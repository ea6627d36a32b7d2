// A memref argument of a gpu.func, from the memory of one --arg.
//
// Tests: tests/mlir/run/.
#pragma once

#include "lemma/mlir.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lemma::cli {

// The kernel parameters of a memref: pointers, offset, sizes, strides. Extents that the type leaves open are
// `shape`'s, of the .npy file behind the memory (empty: unknown). The error says what does not fit.
Result<std::vector<Argument>, std::string> expand_memref(const MlirParameter& parameter, uint64_t address,
                                                         uint64_t size_bytes,
                                                         std::span<const uint64_t> shape);

} // namespace lemma::cli
