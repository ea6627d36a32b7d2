// The kernel that copies a matrix, or its transpose: what no tensor map, or no wgmma, takes as it lies.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/kernel.h"
#include "nvgpu/matmul/text.h"

namespace lemma::nvgpu {

std::string copy_text(const std::string& name, const std::string& from, const std::string& to,
                      bool transposes) {
  return fill(R"(
func.func private @$name(%from: $from, %to: $to) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %threads = arith.constant 256 : index
  %rows = memref.dim %from, %c0 : $from
  %columns = memref.dim %from, %c1 : $from
  gpu.launch blocks(%row, %by, %bz) in (%nbx = %rows, %nby = %c1, %nbz = %c1)
             threads(%thread, %ty, %tz) in (%ntx = %threads, %nty = %c1, %ntz = %c1) {
    scf.for %column = %thread to %columns step %threads {
      %value = memref.load %from[%row, %column] : $from
      memref.store %value, %to[$place] : $to
    }
    gpu.terminator
  }
  return
}
)",
              {{"name", name},
               {"from", from},
               {"to", to},
               {"place", transposes ? "%column, %row" : "%row, %column"}});
}

} // namespace lemma::nvgpu
