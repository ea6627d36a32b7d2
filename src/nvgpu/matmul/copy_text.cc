// The kernels that copy a matrix, or its transpose: what no tensor map, or no wgmma, takes as it lies.
//
// The transpose goes through a square of shared memory, so that a warp reads and writes whole rows of 32
// elements. Lines of the square are one word longer than its rows: elements of a column lie in different
// banks.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/kernel.h"
#include "nvgpu/matmul/text.h"

#include <algorithm>
#include <string_view>

namespace lemma::nvgpu {
namespace {

constexpr int64_t kSquare = 64; // rows and columns that a CTA transposes

// Bytes of "f8E4M3FN": what its first number says.
int64_t bytes_of(const std::string& element) {
  return std::stoll(element.substr(element.find_first_of("0123456789"))) / 8;
}

// What both begin with.
constexpr std::string_view kBegin = R"(
!any = memref<?x?x$element, strided<[?, ?], offset: ?>>
!square = memref<$shape, #gpu.address_space<workgroup>>
func.func private @$name(%from: !any, %to: !any) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant $zero : $element
  %from_rows = memref.dim %from, %c0 : !any
  %from_columns = memref.dim %from, %c1 : !any
  %rows = memref.dim %to, %c0 : !any
  %columns = memref.dim %to, %c1 : !any
)";

// Of a row that is there, if %has_row, the element of a column, %value; zero of what is not.
constexpr std::string_view kRead = R"(        %has_column = arith.cmpi ult, %$column, %from_columns : index
        %has = arith.andi %has_row, %has_column : i1
        %value = scf.if %has -> $element {
          %there = memref.load %from[%$row, %$column] : !any
          scf.yield %there : $element
        } else {
          scf.yield %zero : $element
        }
)";

void add_transpose(TemplateText& text) {
  text.add(R"(  %extent = arith.constant $square : index
  %lanes = arith.constant 32 : index
  %warps = arith.constant 8 : index
  %across = arith.ceildivui %columns, %extent : index
  %down = arith.ceildivui %rows, %extent : index
  %squares = arith.muli %across, %down : index
  gpu.launch blocks(%block, %by, %bz) in (%nbx = %squares, %nby = %c1, %nbz = %c1)
             threads(%lane, %warp, %tz) in (%ntx = %lanes, %nty = %warps, %ntz = %c1)
             workgroup(%square : !square) {
    %at_row = arith.divui %block, %across : index
    %at_column = arith.remui %block, %across : index
    %row0 = arith.muli %at_row, %extent : index
    %column0 = arith.muli %at_column, %extent : index
    scf.for %i = %warp to %extent step %warps {
      %from_row = arith.addi %column0, %i : index
      %has_row = arith.cmpi ult, %from_row, %from_rows : index
      scf.for %j = %lane to %extent step %lanes {
        %from_column = arith.addi %row0, %j : index
)");
  text.add(kRead, {{"row", "from_row"}, {"column", "from_column"}});
  text.add(R"(        memref.store %value, %square[%i, %j] : !square
      }
    }
    gpu.barrier
    scf.for %i = %warp to %extent step %warps {
      %row = arith.addi %row0, %i : index
      %has_row = arith.cmpi ult, %row, %rows : index
      scf.for %j = %lane to %extent step %lanes {
        %column = arith.addi %column0, %j : index
        %has_column = arith.cmpi ult, %column, %columns : index
        %has = arith.andi %has_row, %has_column : i1
        scf.if %has {
          %value = memref.load %square[%j, %i] : !square
          memref.store %value, %to[%row, %column] : !any
        }
      }
    }
    gpu.terminator
  }
  return
}
)");
}

void add_straight(TemplateText& text) {
  text.add(R"(  %threads = arith.constant 256 : index
  gpu.launch blocks(%row, %by, %bz) in (%nbx = %rows, %nby = %c1, %nbz = %c1)
             threads(%thread, %ty, %tz) in (%ntx = %threads, %nty = %c1, %ntz = %c1) {
    %has_row = arith.cmpi ult, %row, %from_rows : index
    scf.for %column = %thread to %columns step %threads {
)");
  text.add(kRead, {{"row", "row"}, {"column", "column"}});
  text.add(R"(        memref.store %value, %to[%row, %column] : !any
    }
    gpu.terminator
  }
  return
}
)");
}

} // namespace

std::string copy_text(const std::string& name, const std::string& element, bool transposes) {
  const int64_t line = kSquare + std::max<int64_t>(1, 4 / bytes_of(element));
  TemplateText text;
  text.put("name", name);
  text.put("element", element);
  text.put("zero", element.starts_with('i') ? "0" : "0.0");
  text.put("square", kSquare);
  text.put("shape", fmt::format("{}x{}x{}", kSquare, line, element));
  text.add(kBegin);
  transposes ? add_transpose(text) : add_straight(text);
  return text.take();
}

} // namespace lemma::nvgpu
