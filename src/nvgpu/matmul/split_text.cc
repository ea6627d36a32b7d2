// Sums of parts of K, and their sum.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/split_text.h"

#include "nvgpu/matmul/store_text.h"

#include <fmt/format.h>

namespace lemma::nvgpu {

MatmulKernel parts_of(const MatmulKernel& kernel) {
  MatmulKernel parts = kernel;
  parts.c = {.type = fmt::format("memref<?x?x{}>", kernel.sum),
             .any_type = fmt::format("memref<*x{}>", kernel.sum),
             .element = kernel.sum,
             .element_bytes = 4};
  parts.accumulates = false;
  parts.store = MatmulStore::tma;
  parts.epilogue.clear();
  return parts;
}

std::string parts_alloc_text() {
  return R"(  %rows_of_part = arith.muli %tiles_m, %cluster_rows : index
  %rows_of_parts = arith.muli %rows_of_part, %splits : index
  // Rows of whole 16 bytes.
  %chunk_columns = arith.constant 4 : index
  %chunks = arith.ceildivui %n, %chunk_columns : index
  %columns_of_parts = arith.muli %chunks, %chunk_columns : index
  %parts_of_c = gpu.alloc (%rows_of_parts, %columns_of_parts) : memref<?x?x$sum_element>
)";
}

// A warp adds up 16 rows and columns, each lane the elements that it would have of an accumulator.
void add_sum_of_parts(const MatmulKernel& kernel, TemplateText& text) {
  text.put("adds", kernel.sum == "i32" ? "arith.addi" : "arith.addf");
  text.put("pairs", fmt::format("vector<2x{0}>, vector<2x{0}>, vector<2x{0}>, vector<2x{0}>", kernel.sum));
  text.add(R"(  %block_rows = arith.constant 16 : index
  %warps = arith.constant 8 : index
  %lanes = arith.constant 32 : index
  %blocks_m = arith.ceildivui %m, %block_rows : index
  %blocks_n = arith.ceildivui %n, %block_rows : index
  %blocks_of_c = arith.muli %blocks_m, %blocks_n : index
  %sum_ctas = arith.ceildivui %blocks_of_c, %warps : index
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %sum_ctas, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %lanes, %nty = %warps, %ntz = %c1) {
    %lane = arith.index_cast %tx : index to i32
    %four = arith.constant 4 : i32
    %first_block = arith.muli %bx, %warps : index
    %block = arith.addi %first_block, %ty : index
    %has_block = arith.cmpi ult, %block, %blocks_of_c : index
    scf.if %has_block {
      %block_row = arith.divui %block, %blocks_n : index
      %block_column = arith.remui %block, %blocks_n : index
      %row = arith.muli %block_row, %block_rows : index
      %column = arith.muli %block_column, %block_rows : index
      %lane_row32 = arith.divui %lane, %four : i32
      %lane_row = arith.index_cast %lane_row32 : i32 to index
      %lane_pair = arith.remui %lane, %four : i32
      %lane_pair_index = arith.index_cast %lane_pair : i32 to index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %lane_column = arith.muli %lane_pair_index, %c2 : index
      %row0 = arith.addi %row, %lane_row : index
      %row1 = arith.addi %row0, %c8 : index
      // Of columns that C has not got any that it has: nobody uses them.
      %last_pair = arith.subi %columns_of_parts, %c2 : index
      %own_column0 = arith.addi %column, %lane_column : index
      %own_column1 = arith.addi %own_column0, %c8 : index
      %column0 = arith.minui %own_column0, %last_pair : index
      %column1 = arith.minui %own_column1, %last_pair : index
)");
  for (int i = 0; i < 4; ++i)
    text.add("      %part0_$i = vector.load %parts_of_c[%row$r, %column$c] : memref<?x?x$sum_element>, "
             "vector<2x$sum_element>\n",
             {{"i", std::to_string(i)}, {"r", std::to_string(i % 2)}, {"c", std::to_string(i / 2)}});
  text.add(R"(      %pairs:4 = scf.for %split = %c1 to %splits step %c1
          iter_args(%sum0 = %part0_0, %sum1 = %part0_1, %sum2 = %part0_2, %sum3 = %part0_3) -> ($pairs) {
        %down = arith.muli %split, %rows_of_part : index
        %at0 = arith.addi %row0, %down : index
        %at1 = arith.addi %row1, %down : index
)");
  for (int i = 0; i < 4; ++i)
    text.add(
        R"(        %part$i = vector.load %parts_of_c[%at$r, %column$c] : memref<?x?x$sum_element>, vector<2x$sum_element>
        %next$i = $adds %sum$i, %part$i : vector<2x$sum_element>
)",
        {{"i", std::to_string(i)}, {"r", std::to_string(i % 2)}, {"c", std::to_string(i / 2)}});
  text.add(R"(        scf.yield %next0, %next1, %next2, %next3 : $pairs
      }
      %none = arith.constant dense<$zero> : vector<4x2x$sum_element>
      %made0 = vector.insert %pairs#0, %none[0] : vector<2x$sum_element> into vector<4x2x$sum_element>
      %made1 = vector.insert %pairs#1, %made0[1] : vector<2x$sum_element> into vector<4x2x$sum_element>
      %made2 = vector.insert %pairs#2, %made1[2] : vector<2x$sum_element> into vector<4x2x$sum_element>
      %sums = vector.insert %pairs#3, %made2[3] : vector<2x$sum_element> into vector<4x2x$sum_element>
)",
           {{"zero", kernel.sum == "i32" ? "0" : "0.0"}});
  StoreText(kernel, text).block_of_16("%sums");
  text.add(R"(    }
    gpu.terminator
  }
  gpu.dealloc %parts_of_c : memref<?x?x$sum_element>
)");
}

} // namespace lemma::nvgpu
