// The functions that MLIR programs call to print, to check and to tell the time: what upstream has in
// libmlir_runner_utils and libmlir_c_runner_utils, without those libraries, which load all of LLVM once more.
//
// Tests: tests/mlir/programs/, tests/mlir/run/runner_functions.mlir.
#pragma once

#include <vector>

namespace lemma::nvgpu {

struct RunnerFunction {
  const char* name;
  void* address;
};

// printMemref*, verifyMemRef*, printI64 and kin, memrefCopy, rtclock, nanoTime, rtsrand and kin, stdSort*.
const std::vector<RunnerFunction>& runner_functions();

} // namespace lemma::nvgpu
