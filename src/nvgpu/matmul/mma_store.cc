// From mma's accumulators to C, as text.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/mma_store.h"

#include "nvgpu/matmul/common_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::nvgpu {
namespace {

constexpr int64_t kChunkBytes = 16;

std::string to_text(int64_t value) {
  return fmt::format("{}", value);
}

} // namespace

MmaStore::MmaStore(const MatmulKernel& kernel, TemplateText& text)
    : kernel_(kernel), text_(text), warp_m_(kernel.schedule.tile_m / kernel.schedule.warps_m),
      warp_n_(kernel.schedule.tile_n / kernel.schedule.warps_n),
      chunk_elems_(kChunkBytes / kernel.c.element_bytes), row_chunks_(warp_n_ / chunk_elems_),
      row_elems_(std::max(warp_n_, kLineBytes / kernel.c.element_bytes)) {
  text_.put("epilogue", kernel_.epilogue);
  const std::string space =
      kernel_.c.any_type.substr(std::string("memref<*x").size() + kernel_.c.element.size());
  text_.put("c_base", fmt::format("memref<{}{}", kernel_.c.element, space));
  text_.put("c_flat", fmt::format("memref<?x{}, strided<[1], offset: ?>{}", kernel_.c.element, space));
  text_.put("c_shared", fmt::format("memref<?x{}, #gpu.address_space<workgroup>>", kernel_.c.element));
  text_.put("c_pair", fmt::format("vector<2x{}>", kernel_.c.element));
  text_.put("c_chunk", fmt::format("vector<{}x{}>", chunk_elems_, kernel_.c.element));
}

void MmaStore::add(const std::string& id, std::string_view text, const Words& more) {
  std::string named;
  for (const char c : text)
    c == '&' ? named += id : named += c;
  text_.add(named, more);
}

void MmaStore::tile() {
  add("", R"(      %quad_index = arith.index_cast %quad : i32 to index
      %pair = arith.index_cast %pair32 : i32 to index
      %warp_row_index = arith.index_cast %warp_row : i32 to index
      %warp_column_index = arith.index_cast %warp_column : i32 to index
      %warp_first_row = arith.addi %row, %warp_row_index : index
      %warp_first_column = arith.addi %column, %warp_column_index : index
      %lane_row = arith.addi %warp_first_row, %quad_index : index
      %lane_column = arith.addi %warp_first_column, %pair : index
)");
  if (kernel_.store != MatmulStore::tma)
    return elements();
  begin_chunks();
  for (int64_t i = 0; i < warp_m_ / 16; ++i)
    chunks(i);
}

// The lane's elements of 16 rows from row 16 * `i` on and 16 columns from 8 * `j` on, as C has them.
std::string MmaStore::convert(int64_t i, int64_t j) {
  const std::string id = fmt::format("ready_{}_{}", i, j);
  const Words words{{"left", fmt::format("{}_{}", i, j)},
                    {"right_one", fmt::format("{}_{}", i, j + 1)},
                    {"down", to_text(16 * i)},
                    {"right", to_text(8 * j)}};
  add(id, "      %&_raw = vector.shuffle %total_$left, %total_$right_one [0, 1, 2, 3] : !sum, !sum\n", words);
  if (!kernel_.epilogue.empty()) {
    add(id,
        R"(      %&_down = arith.constant $down : index
      %&_right = arith.constant $right : index
      %&_row = arith.addi %lane_row, %&_down : index
      %&_column = arith.addi %lane_column, %&_right : index
      %& = func.call @$epilogue(%&_raw, %&_row, %&_column$operand_names) : (vector<4x2x$sum_element>, index, index$operand_types) -> vector<4x2x$c_element>
)",
        words);
    return "%" + id;
  }
  if (kernel_.sum == kernel_.c.element || kernel_.accumulates)
    return "%" + id + "_raw";
  add(id, "      %& = arith.truncf %&_raw : vector<4x2x$sum_element> to vector<4x2x$c_element>\n");
  return "%" + id;
}

// Each element where C has it; on top of what is there if the product is added to it.
void MmaStore::elements() {
  for (int64_t i = 0; i < warp_m_ / 16; ++i)
    for (int64_t j = 0; j < warp_n_ / 8; j += 2) {
      const std::string values = convert(i, j);
      for (int64_t row = 0; row < 4; ++row)
        for (int64_t column = 0; column < 2; ++column)
          element(values, i, j, row, column);
    }
}

void MmaStore::element(const std::string& values, int64_t i, int64_t j, int64_t row, int64_t column) {
  const std::string id = fmt::format("e_{}_{}_{}_{}", i, j, row, column);
  const Words words{{"values", values},
                    {"row", to_text(row)},
                    {"column", to_text(column)},
                    {"down", to_text(16 * i + row % 2 * 8)},
                    {"right", to_text(8 * j + row / 2 * 8 + column)},
                    {"element", kernel_.accumulates ? kernel_.sum : kernel_.c.element}};
  add(id,
      R"(      %&_down = arith.constant $down : index
      %&_right = arith.constant $right : index
      %&_row = arith.addi %lane_row, %&_down : index
      %&_column = arith.addi %lane_column, %&_right : index
      %&_has_row = arith.cmpi ult, %&_row, %m : index
      %&_has_column = arith.cmpi ult, %&_column, %n : index
      %&_has = arith.andi %&_has_row, %&_has_column : i1
      %& = vector.extract $values[$row, $column] : $element from vector<4x2x$element>
      scf.if %&_has {
)",
      words);
  add_element_store(kernel_, text_, {.name = id, .value = id, .row = id + "_row", .column = id + "_column"});
  add(id, "      }\n");
}

// Chunks of 16 bytes of a slice's row are permuted: of elements of 8 and 16 bits eight rows' chunks at a time
// are written, of wider ones fewer rows' more chunks. Of 8 bits a chunk is two times 8 columns.
void MmaStore::begin_chunks() {
  add("", R"(      gpu.barrier
      %c_base, %c_offset, %c_sizes:2, %c_strides:2 = memref.extract_strided_metadata %c : $c_type -> $c_base, index, index, index, index, index
      %c_ld = arith.muli %c_strides#0, %c1 : index
      %c_count = arith.muli %c_sizes#0, %c_ld : index
      %c_flat = memref.reinterpret_cast %c_base to offset: [%c_offset], sizes: [%c_count], strides: [1] : $c_base to $c_flat
      %c_all = arith.constant $slices_elems : index
      %c_shared = memref.view %shared[%c0][%c_all] : !shared to $c_shared
      %c_slice_elems = arith.constant $slice_elems : i32
      %c_slice = arith.muli %warp, %c_slice_elems : i32
      %c_row_elems = arith.constant $row_elems : i32
      %c_chunk_elems = arith.constant $chunk_elems : i32
      %c_row_chunks = arith.constant $row_chunks : i32
      %c_swizzle_step = arith.constant $swizzle_step : i32
      %c_seven = arith.constant 7 : i32
      %all_lanes = arith.constant -1 : i32
      %c_write_row0 = arith.muli %quad, %c_row_elems : i32
      %c_write_row = arith.addi %c_write_row0, %c_slice : i32
      %c_write_swizzle0 = arith.muli %quad, %c_swizzle_step : i32
      %c_write_swizzle = arith.andi %c_write_swizzle0, %c_seven : i32
      %c_in_chunk = arith.remui %pair32, %c_chunk_elems : i32
      %c_own_chunk = arith.divui %pair32, %c_chunk_elems : i32
      %c_read_row = arith.divui %lane, %c_row_chunks : i32
      %c_read_chunk = arith.remui %lane, %c_row_chunks : i32
      %c_read_column = arith.muli %c_read_chunk, %c_chunk_elems : i32
      %c_read_column_index = arith.index_cast %c_read_column : i32 to index
      %c_to_column = arith.addi %warp_first_column, %c_read_column_index : index
      %c_has_column = arith.cmpi ult, %c_to_column, %n : index
      %c_read_row_index = arith.index_cast %c_read_row : i32 to index
      %c_first_row = arith.addi %warp_first_row, %c_read_row_index : index
)",
      {{"slices_elems", to_text(kernel_.schedule.warps_m * kernel_.schedule.warps_n * 16 * row_elems_)},
       {"slice_elems", to_text(16 * row_elems_)},
       {"row_elems", to_text(row_elems_)},
       {"chunk_elems", to_text(chunk_elems_)},
       {"row_chunks", to_text(row_chunks_)},
       {"swizzle_step", to_text(std::max<int64_t>(kernel_.c.element_bytes / 2, 1))}});
  for (int64_t j = 0; j < warp_n_ / 8; ++j)
    add(fmt::format("c_write{}", j),
        R"(      %&_first = arith.constant $first : i32
      %&_plain = arith.addi %c_own_chunk, %&_first : i32
      %&_chunk = arith.xori %&_plain, %c_write_swizzle : i32
      %&_chunk_at = arith.muli %&_chunk, %c_chunk_elems : i32
      %&_skip = arith.constant $skip : i32
      %&_pair = arith.addi %c_in_chunk, %&_skip : i32
      %&_in_row = arith.addi %&_chunk_at, %&_pair : i32
      %& = arith.addi %c_write_row, %&_in_row : i32
)",
        {{"first", to_text(8 * j / chunk_elems_)}, {"skip", to_text(8 * j % chunk_elems_)}});
}

void MmaStore::chunks(int64_t i) {
  if (i > 0)
    add("", "      nvvm.bar.warp.sync %all_lanes : i32\n");
  for (int64_t j = 0; j < warp_n_ / 8; j += 2) {
    const std::string values = convert(i, j);
    for (int64_t row = 0; row < 4; ++row)
      add(fmt::format("c_{}_{}_{}", i, j, row),
          R"(      %&_down = arith.constant $down : i32
      %&_at32 = arith.addi %c_write$j, %&_down : i32
      %&_at = arith.index_cast %&_at32 : i32 to index
      %&_pair = vector.extract $values[$row] : $c_pair from vector<4x2x$c_element>
      vector.store %&_pair, %c_shared[%&_at] {alignment = $alignment : i64} : $c_shared, $c_pair
)",
          {{"down", to_text(row % 2 * 8 * row_elems_)},
           {"j", to_text(j + row / 2)},
           {"values", values},
           {"row", to_text(row)},
           {"alignment", to_text(2 * kernel_.c.element_bytes)}});
  }
  add("", "      nvvm.bar.warp.sync %all_lanes : i32\n");
  const int64_t rows = 32 / row_chunks_; // that a warp reads at a time
  for (int64_t row = 0; row < 16; row += rows)
    add(fmt::format("c_{}_{}", i, row),
        R"(      %&_skip = arith.constant $row : i32
      %&_row = arith.addi %c_read_row, %&_skip : i32
      %&_row_at0 = arith.muli %&_row, %c_row_elems : i32
      %&_row_at = arith.addi %&_row_at0, %c_slice : i32
      %&_swizzle0 = arith.muli %&_row, %c_swizzle_step : i32
      %&_swizzle = arith.andi %&_swizzle0, %c_seven : i32
      %&_chunk = arith.xori %c_read_chunk, %&_swizzle : i32
      %&_chunk_at = arith.muli %&_chunk, %c_chunk_elems : i32
      %&_at32 = arith.addi %&_row_at, %&_chunk_at : i32
      %&_at = arith.index_cast %&_at32 : i32 to index
      %& = vector.load %c_shared[%&_at] {alignment = 16 : i64} : $c_shared, $c_chunk
      %&_down = arith.constant $down : index
      %&_to_row = arith.addi %c_first_row, %&_down : index
      %&_has_row = arith.cmpi ult, %&_to_row, %m : index
      %&_has = arith.andi %&_has_row, %c_has_column : i1
      scf.if %&_has {
        %&_before = arith.muli %&_to_row, %c_ld : index
        %&_to = arith.addi %&_before, %c_to_column : index
        vector.store %&, %c_flat[%&_to] {alignment = 16 : i64} : $c_flat, $c_chunk
      }
)",
        {{"row", to_text(row)}, {"down", to_text(16 * i + row)}});
}

} // namespace lemma::nvgpu
