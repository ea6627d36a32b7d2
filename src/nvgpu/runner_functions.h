// The functions that MLIR programs call to print, to check and to tell the time: what upstream has in
// libmlir_runner_utils and libmlir_c_runner_utils, without those libraries, which load all of LLVM once more.
//
// Tests: tests/mlir/programs/, tests/mlir/run/runner_functions.mlir.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace lemma::nvgpu {

struct RunnerFunction {
  const char* name;
  void* address;
};

// printMemref*, verifyMemRef*, printI64 and kin, memrefCopy, rtclock, nanoTime, rtsrand and kin, stdSort*;
// C's printf, puts and putchar, so that a program's output is in one piece; and the conversions to f16 and
// bf16 that LLVM calls, so that every host has them.
const std::vector<RunnerFunction>& runner_functions();

// While it lives, what these functions print on this thread goes to `print`; empty: to standard output.
class PrintTo {
public:
  explicit PrintTo(const std::function<void(std::string_view)>& print);
  PrintTo(const PrintTo&) = delete;
  ~PrintTo();

private:
  const std::function<void(std::string_view)>* outer_;
};

} // namespace lemma::nvgpu
