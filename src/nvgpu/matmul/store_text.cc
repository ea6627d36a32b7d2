// From the accumulator's registers, or tensor memory, to C: through slices of shared memory, each warp its
// own, and by TMA; or each thread its elements, where C's rows are no multiples of 16 bytes or the product is
// added to what C has.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/store_text.h"

#include "nvgpu/matmul/common_text.h"

#include <fmt/format.h>

namespace lemma::nvgpu {
namespace {

constexpr int64_t kSliceRows = 16; // of C, that a warp stores at a time: rows of one wgmma that it has
constexpr int64_t kSliceBytes = kSliceRows * kLineBytes;
constexpr int64_t kSlices = 2;          // that a warp has
constexpr int64_t kElementColumns = 64; // that a warp reads at a time where each thread stores its elements

} // namespace

StoreText::StoreText(const MatmulKernel& kernel, TemplateText& text)
    : kernel_(kernel), s_(kernel.schedule), text_(text), slice_columns_(kLineBytes / kernel.c.element_bytes) {
  text_.put("epilogue", kernel_.epilogue);
  text_.put("c_box", fmt::format("{}x{}x{}", kSliceRows, slice_columns_, kernel_.c.element));
  text_.put("slice_columns", slice_columns_);
  text_.put("slice_bytes", kSliceBytes);
  text_.put("c_element", kernel_.c.element);
  text_.put("rows_of_consumer", s_.rows_of_consumer());
  text_.put("warp_rows", is_in_tensor_memory() ? 16 * blocks() : 16);
}

int64_t StoreText::shared_bytes() const {
  return kernel_.store == MatmulStore::tma ? s_.consumers * 4 * kSlices * kSliceBytes : 0;
}

// What a lane needs for its stores, the same for all tiles.
void StoreText::before_tiles() {
  add(R"(      %in_consumer = arith.remui %warp, %four : i32
      %in_consumer_index = arith.index_cast %in_consumer : i32 to index
      %slice_rows_of_warp = arith.constant $warp_rows : index
      %warp_row = arith.muli %in_consumer_index, %slice_rows_of_warp : index
      %rows_of_consumer = arith.constant $rows_of_consumer : index
      %consumer_row = arith.muli %consumer_index, %rows_of_consumer : index
      %first_row = arith.addi %consumer_row, %warp_row : index
      %is_lane0 = arith.cmpi eq, %lane, %zero : i32
      %all_lanes = arith.constant -1 : i32
)");
  lanes();
  if (kernel_.store != MatmulStore::tma)
    return;
  add(R"(      // Two slices of C for each warp, in turns: one is filled while the tensor memory accelerator reads the other.
      %ring_bytes = arith.constant $ring_bytes : index
      %warp_slices_bytes = arith.constant $warp_slices_bytes : index
      %consumer_warps = arith.constant 4 : index
      %warp0 = arith.muli %consumer_index, %consumer_warps : index
      %consumer_warp = arith.addi %warp0, %in_consumer_index : index
      %slices_at = arith.muli %consumer_warp, %warp_slices_bytes : index
      %at_slice0 = arith.addi %ring_bytes, %slices_at : index
      %skip_slice = arith.constant $slice_bytes : index
      %at_slice1 = arith.addi %at_slice0, %skip_slice : index
      %slice0 = memref.view %shared[%at_slice0][] : !shared to !c_box
      %slice1 = memref.view %shared[%at_slice1][] : !shared to !c_box
)",
      {{"warp_slices_bytes", std::to_string(kSlices * kSliceBytes)}});
  swizzled_columns();
}

// Row and column of the first element that a lane has of 16 rows and columns.
void StoreText::lanes() {
  add(R"(      %quad = arith.divui %lane, %four : i32
      %in_quad = arith.remui %lane, %four : i32
      %quad_row = arith.index_cast %quad : i32 to index
      %two = arith.constant 2 : i32
      %pair32 = arith.muli %in_quad, %two : i32
      %pair = arith.index_cast %pair32 : i32 to index
)");
}

// Columns of a slice where a lane stores: chunks of 16 bytes, the number exclusive or the row's. Of 16-bit
// elements there is one for each 16 columns, the chunk of the lane's row of the four 8x8 matrices of
// stmatrix; of others one for each 8 columns, the pair that the lane has.
void StoreText::swizzled_columns() {
  const bool by_matrices = kernel_.c.element_bytes == 2;
  const int64_t chunk_elems = 16 / kernel_.c.element_bytes;
  if (by_matrices)
    add(R"(      %sixteen = arith.constant 16 : i32
      %chunk_elements = arith.constant 8 : i32
      %slice_row32 = arith.remui %lane, %sixteen : i32
      %slice_row = arith.index_cast %slice_row32 : i32 to index
      %swizzle = arith.remui %lane, %chunk_elements : i32
      %half = arith.divui %lane, %sixteen : i32
      %in_chunk = arith.constant 0 : i32
)");
  else
    add(R"(      %eight_rows = arith.constant 8 : index
      %chunk_elements = arith.constant $chunk_elems : i32
      %quad_row_below = arith.addi %quad_row, %eight_rows : index
      %half = arith.divui %pair32, %chunk_elements : i32
      %in_chunk = arith.remui %pair32, %chunk_elements : i32
)",
        {{"chunk_elems", std::to_string(chunk_elems)}});
  const int64_t columns = by_matrices ? 16 : 8;
  for (int64_t q = 0; q < slice_columns_ / columns; ++q)
    add(R"(      %chunk_base$q = arith.constant $chunk : i32
      %chunk_own$q = arith.addi %chunk_base$q, %half : i32
      %chunk$q = arith.xori %chunk_own$q, %$swizzle : i32
      %chunk_at$q = arith.muli %chunk$q, %chunk_elements : i32
      %chunk_skip$q = arith.constant $skip : i32
      %chunk_pair$q = arith.addi %in_chunk, %chunk_skip$q : i32
      %chunk_column$q = arith.addi %chunk_at$q, %chunk_pair$q : i32
      %slice_column$q = arith.index_cast %chunk_column$q : i32 to index
)",
        {{"q", std::to_string(q)},
         {"chunk", std::to_string(q * columns / chunk_elems)},
         {"skip", std::to_string(q * columns % chunk_elems)},
         {"swizzle", by_matrices ? "swizzle" : "quad"}});
}

// A lane's sums of 16 columns, `columns` from the tile's first on, of the block `block` of rows that its warp
// has.
std::string StoreText::extract(int64_t block, int64_t columns) {
  const std::string raw = fmt::format("%raw_{}_{}", block, columns);
  if (is_in_tensor_memory()) {
    load_cells(raw, block, columns);
    return raw;
  }
  add("        $raw = nvgpu.warpgroup.mma.extract %total[$block_row, $columns] : !sum -> "
      "vector<4x2x$sum_element>\n",
      {{"raw", raw},
       {"block_row", std::to_string(block * block_rows())},
       {"columns", std::to_string(columns)}});
  return raw;
}

// The same out of tensor memory, whose .16x256b gives a lane the elements that wgmma gives it. As many
// columns at a time as are stored together.
void StoreText::load_cells(const std::string& raw, int64_t block, int64_t column) {
  const int64_t columns = kernel_.store == MatmulStore::tma ? slice_columns_ : kElementColumns;
  const int64_t first = column / columns * columns;
  Words words{{"raw", raw},
              {"raw_flat", raw + "_flat"},
              {"id", fmt::format("{}_{}", block, first)},
              {"cells", fmt::format("vector<{}xi32>", columns / 2)},
              {"sums", fmt::format("vector<{}x{}>", columns / 2, kernel_.sum)},
              {"at", std::to_string((block << 20) + first)}, // lanes are in the upper half
              {"skip", std::to_string((column - first) / 2)}};
  if (column == first)
    add(R"(        %skip_to_cells_$id = arith.constant $at : i32
        %at_cells_$id = arith.addi %sums_at, %skip_to_cells_$id : i32
        %to_cells_$id = llvm.inttoptr %at_cells_$id : i32 to !llvm.ptr<6>
        %cells_$id = nvvm.tcgen05.ld %to_cells_$id {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : $cells
        nvvm.tcgen05.wait <load>
        %sums_$id = vector.bitcast %cells_$id : $cells to $sums
)",
        words);
  add(R"(        $raw_flat = vector.extract_strided_slice %sums_$id {offsets = [$skip], sizes = [8], strides = [1]} : $sums to vector<8x$sum_element>
        $raw = vector.shape_cast $raw_flat : vector<8x$sum_element> to vector<4x2x$sum_element>
)",
      words);
}

// The same sums as C has them.
std::string StoreText::convert(const std::string& raw, int64_t block, int64_t columns) {
  const std::string id = fmt::format("{}_{}", block, columns);
  Words words{{"id", id},
              {"raw", raw},
              {"block_row", std::to_string(block * block_rows())},
              {"columns", std::to_string(columns)}};
  for (const char* word : {"ready", "skip", "down", "r", "c", "r0", "c0"})
    words[fmt::format("{}_", word)] = fmt::format("{}_{}", word, id);
  if (!kernel_.epilogue.empty()) {
    add(R"(        %$skip_ = arith.constant $columns : index
        %$down_ = arith.constant $block_row : index
        %$r0_ = arith.addi %row, %first_row : index
        %$c0_ = arith.addi %column, %pair : index
        %$c_ = arith.addi %$c0_, %$skip_ : index
        %below_$id = arith.addi %$r0_, %$down_ : index
        %$r_ = arith.addi %below_$id, %quad_row : index
        %$ready_ = func.call @$epilogue($raw, %$r_, %$c_$operand_names) : (vector<4x2x$sum_element>, index, index$operand_types) -> vector<4x2x$c_element>
)",
        words);
    return "%ready_" + id;
  }
  if (kernel_.sum == kernel_.c.element || kernel_.accumulates)
    return raw;
  add("        %$ready_ = arith.truncf $raw : vector<4x2x$sum_element> to vector<4x2x$c_element>\n", words);
  return "%ready_" + id;
}

void StoreText::tile() {
  begin_elements();
  for (int64_t block = 0; block < blocks(); ++block) {
    begin_rows(block);
    for (int64_t column = 0; column < s_.tile_n; column += 16)
      store_16_columns(extract(block, column), block, column);
  }
}

void StoreText::block_of_16(const std::string& raw) {
  add("        %first_row = arith.constant 0 : index\n");
  lanes();
  begin_elements();
  begin_rows(0);
  store_16_columns(raw, 0, 0);
}

// Each element where C has it; on top of what is there if the product is added to it.
void StoreText::begin_elements() {
  add(R"(        %e_row = arith.addi %row, %first_row : index
        %e_quad_row = arith.addi %e_row, %quad_row : index
        %e_column = arith.addi %column, %pair : index
)");
}

void StoreText::begin_rows(int64_t block) {
  for (int64_t half = 0; half < 2; ++half)
    add(R"(        %rows_down_$id = arith.constant $down : index
        %to_row_$id = arith.addi %e_quad_row, %rows_down_$id : index
        %has_row_$id = arith.cmpi ult, %to_row_$id, %m : index
)",
        {{"id", fmt::format("{}_{}", block, half)},
         {"down", std::to_string(block * block_rows() + half * 8)}});
}

void StoreText::store_16_columns(const std::string& raw, int64_t block, int64_t column) {
  const std::string values = convert(raw, block, column);
  for (int64_t i = 0; i < 8; ++i)
    store_element(values, block, column, i / 2, i % 2);
}

// Element `j` of row `i` of the vector.
void StoreText::store_element(const std::string& values, int64_t block, int64_t column, int64_t i,
                              int64_t j) {
  const std::string id = fmt::format("{}_{}_{}_{}", block, column, i, j);
  Words words{{"id", id},
              {"row_id", fmt::format("{}_{}", block, i % 2)},
              {"skip", std::to_string(column + i / 2 * 8 + j)},
              {"values", values},
              {"i", std::to_string(i)},
              {"j", std::to_string(j)},
              {"value_element", kernel_.accumulates ? kernel_.sum : kernel_.c.element}};
  add(R"(        %skip_$id = arith.constant $skip : index
        %to_column_$id = arith.addi %e_column, %skip_$id : index
        %has_column_$id = arith.cmpi ult, %to_column_$id, %n : index
        %has_$id = arith.andi %has_row_$row_id, %has_column_$id : i1
        %value_$id = vector.extract $values[$i, $j] : $value_element from vector<4x2x$value_element>
        scf.if %has_$id {
)",
      words);
  add_element_store(kernel_, text_,
                    {.name = "element_" + id,
                     .value = "value_" + id,
                     .row = fmt::format("to_row_{}_{}", block, i % 2),
                     .column = "to_column_" + id});
  add("        }\n");
}

int64_t StoreText::slices() const {
  return blocks() * (s_.tile_n / slice_columns_);
}

std::string StoreText::result_type() const {
  return fmt::format("vector<4x2x{}>", kernel_.c.element);
}

std::vector<std::string> StoreText::results(int64_t number) {
  const int64_t block = block_of(number);
  std::vector<std::string> all;
  for (int64_t at = 0; at < slice_columns_; at += 16)
    all.push_back(convert(extract(block, column_of(number) + at), block, column_of(number) + at));
  return all;
}

std::string StoreText::box_of(int64_t number) {
  return fmt::format("%slice{}", number % kSlices);
}

void StoreText::put(int64_t number, const std::vector<std::string>& results, int64_t unsent) {
  wait_for_reads(kSlices - 1 - unsent);
  put_into(box_of(number), number, results);
}

void StoreText::send(int64_t from, int64_t to, const Place& place) {
  fence();
  for (int64_t i = from; i < to; ++i)
    send_from(box_of(i), i, place);
}

// Until at most `pending` of the warp's stores have not been read from shared memory.
void StoreText::wait_for_reads(int64_t pending) {
  add("        nvvm.cp.async.bulk.wait_group $pending {read}\n"
      "        nvvm.bar.warp.sync %all_lanes : i32\n",
      {{"pending", std::to_string(pending)}});
}

void StoreText::put_into(const std::string& box, int64_t number, const std::vector<std::string>& results) {
  for (int64_t i = 0; i < results_of_slice(); ++i)
    put_16_columns(results[static_cast<size_t>(i)], i, {{"id", std::to_string(number)}, {"slice", box}});
}

// What the warp has put into shared memory is there for the tensor memory accelerator.
void StoreText::fence() {
  add(R"(        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
        nvvm.bar.warp.sync %all_lanes : i32
)");
}

void StoreText::send_from(const std::string& box, int64_t number, const Place& place) {
  add(R"(        %skip_of_$id = arith.constant $skip : index
        %down_of_$id = arith.constant $down : index
        %to_column_$id = arith.addi %$column, %skip_of_$id : index
        %c_row_$id = arith.addi %$row, %first_row : index
        %to_row_$id = arith.addi %c_row_$id, %down_of_$id : index
        nvgpu.tma.async.store $slice to %c_map[%to_column_$id, %to_row_$id], predicate = %is_lane0 : !c_box -> !c_map
        nvvm.cp.async.bulk.commit.group
)",
      {{"id", std::to_string(number)},
       {"row", place.row},
       {"column", place.column},
       {"skip", std::to_string(column_of(number))},
       {"down", std::to_string(block_of(number) * block_rows())},
       {"slice", box}});
}

void StoreText::last_tile(const Place& place) {
  // What this warpgroup alone has read of a stage, in slices that a warp has of it.
  const int64_t of_stage = blocks(), in_ring = s_.stages * of_stage;
  add(R"(        // Other warps of the warpgroup may still read A.
        %own_threads = arith.constant 128 : i32
        nvvm.barrier id = %warpgroup number_of_threads = %own_threads
        %bytes_of_stage = arith.constant $bytes_of_stage : index
        %at_free = arith.muli %consumer_warp, %bytes_of_stage : index
)",
      {{"bytes_of_stage", std::to_string(of_stage * kSliceBytes)}});
  for (int64_t i = 0; i < slices(); ++i) {
    std::string box = box_of(i);
    if (i < in_ring) {
      box = fmt::format("%free{}", i);
      add(R"(        %skip_to_free$i = arith.constant $bytes : index
        %at_free$i = arith.addi %at_free, %skip_to_free$i : index
        %free$i = memref.view %shared[%at_free$i][] : !shared to !c_box
)",
          {{"i", std::to_string(i)},
           {"bytes", std::to_string(i / of_stage * s_.stage_bytes() + i % of_stage * kSliceBytes)}});
    } else { // the last store by this box was so many before
      wait_for_reads(i < in_ring + kSlices ? in_ring + kSlices - 1 : kSlices - 1);
    }
    put_into(box, i, results(i));
    fence();
    send_from(box, i, place);
  }
}

// Into a slice of shared memory, whose words `words` are: the `number`-th 16 columns.
void StoreText::put_16_columns(const std::string& result, int64_t number, Words words) {
  words["result"] = result;
  if (kernel_.c.element_bytes == 2) {
    words["q"] = std::to_string(number);
    add("        nvgpu.stmatrix $result, $slice[%slice_row, %slice_column$q] : vector<4x2x$c_element>, "
        "!c_box\n",
        words);
    return;
  }
  for (int64_t i = 0; i < 4; ++i) {
    words["i"] = std::to_string(i);
    words["q"] = std::to_string(number * 2 + i / 2);
    words["at_row"] = i % 2 ? "quad_row_below" : "quad_row";
    words["pair_i"] = fmt::format("pair_{}_{}_{}", words["id"], number, i);
    add(R"(        %$pair_i = vector.extract $result[$i] : vector<2x$c_element> from vector<4x2x$c_element>
        vector.store %$pair_i, $slice[%$at_row, %slice_column$q] : !c_box, vector<2x$c_element>
)",
        words);
  }
}

void StoreText::end() {
  if (kernel_.store == MatmulStore::tma)
    add(R"(      // Shared memory is there until the stores have read it.
      nvvm.cp.async.bulk.wait_group 0 {read}
)");
}

} // namespace lemma::nvgpu
