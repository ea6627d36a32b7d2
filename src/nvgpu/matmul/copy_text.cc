// The kernel that copies a matrix, or its transpose: what no tensor map, or no wgmma, takes as it lies.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/kernel.h"
#include "nvgpu/matmul/text.h"

namespace lemma::nvgpu {

std::string copy_text(const std::string& name, const std::string& element, bool transposes) {
  const bool is_integer = element.starts_with('i');
  return fill(R"(
!any = memref<?x?x$element, strided<[?, ?], offset: ?>>
func.func private @$name(%from: !any, %to: !any) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %threads = arith.constant 256 : index
  %zero = arith.constant $zero : $element
  %from_rows = memref.dim %from, %$row_dim : !any
  %from_columns = memref.dim %from, %$column_dim : !any
  %rows = memref.dim %to, %c0 : !any
  %columns = memref.dim %to, %c1 : !any
  gpu.launch blocks(%row, %by, %bz) in (%nbx = %rows, %nby = %c1, %nbz = %c1)
             threads(%thread, %ty, %tz) in (%ntx = %threads, %nty = %c1, %ntz = %c1) {
    %has_row = arith.cmpi ult, %row, %from_rows : index
    scf.for %column = %thread to %columns step %threads {
      %has_column = arith.cmpi ult, %column, %from_columns : index
      %has = arith.andi %has_row, %has_column : i1
      %value = scf.if %has -> $element {
        %there = memref.load %from[$place] : !any
        scf.yield %there : $element
      } else {
        scf.yield %zero : $element
      }
      memref.store %value, %to[%row, %column] : !any
    }
    gpu.terminator
  }
  return
}
)",
              {{"name", name},
               {"element", element},
               {"zero", is_integer ? "0" : "0.0"},
               {"row_dim", transposes ? "c1" : "c0"},
               {"column_dim", transposes ? "c0" : "c1"},
               {"place", transposes ? "%column, %row" : "%row, %column"}});
}

} // namespace lemma::nvgpu
