// Copies of a tile and reads of its fragments, as text.
//
// PTX ISA: "Matrix Fragments for mma.m16n8k16 with floating point type" and the other shapes, "ldmatrix",
// "cp.async". Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/mma_tile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lemma::nvgpu {
namespace {

constexpr int64_t kChunkBytes = 16;
constexpr int64_t kStepBytes = 32; // of K, that a fragment of ldmatrix has

std::string to_text(int64_t value) {
  return fmt::format("{}", value);
}

bool divides(int64_t divisor, int64_t value) {
  return value >= 0 && value % divisor == 0;
}

} // namespace

MmaTile::MmaTile(const MatmulKernel& kernel, TemplateText& text, const std::string& which, int64_t start)
    : kernel_(kernel), text_(text), x_(which), matrix_(which == "a" ? kernel.a : kernel.b),
      is_a_(which == "a"), mn_major_(is_a_ == matrix_.transposed), element_bytes_(matrix_.element_bytes),
      extent_(is_a_ ? kernel.schedule.tile_m : kernel.schedule.tile_n),
      warp_extent_(extent_ / (is_a_ ? kernel.schedule.warps_m : kernel.schedule.warps_n)), start_(start),
      chunk_elems_(kChunkBytes / element_bytes_), tile_k_(kLineBytes / element_bytes_),
      rows_(mn_major_ ? tile_k_ : extent_), row_elems_(mn_major_ ? extent_ : tile_k_),
      row_chunks_(row_elems_ / chunk_elems_), copies_(rows_ * row_chunks_ / kernel.schedule.threads()) {
  if (kernel.schedule.family == MatmulFamily::fma)
    reads_ = Reads::lines;
  else
    reads_ = element_bytes_ == 8 || (element_bytes_ == 4 && mn_major_) ? Reads::elements : Reads::matrices;
  swizzle_ = Swizzle::row;
  if (reads_ == Reads::elements)
    swizzle_ = Swizzle::pairs;
  else if (reads_ == Reads::lines && mn_major_)
    swizzle_ = Swizzle::none;
}

void MmaTile::add(const std::string& id, std::string_view text, const Words& more) {
  std::string named;
  for (const char c : text)
    if (c == '@')
      named += x_;
    else if (c == '&')
      named += id;
    else
      named += c;
  text_.add(named, more);
}

// Text that makes it of %`row`; its name.
std::string MmaTile::swizzle_of(const std::string& row, const std::string& id) {
  if (swizzle_ == Swizzle::none)
    return "%zero";
  add(id,
      R"(      %&_period = arith.constant $period : i32
      %&_phase = arith.remui $row, %&_period : i32
)",
      {{"row", row}, {"period", to_text(swizzle_period())}});
  if (swizzle_ == Swizzle::row)
    return "%" + id + "_phase";
  add(id, "      %&_pairs = arith.muli %&_phase, %two : i32\n");
  return "%" + id + "_pairs";
}

std::string MmaTile::multiplied() const {
  return matrix_.is_unsigned ? "u" + matrix_.element : matrix_.element;
}

std::string MmaTile::shared_type() const {
  return fmt::format("memref<?x{}, #gpu.address_space<workgroup>>", matrix_.element);
}

std::string MmaTile::multiplied_type() const {
  return fmt::format("memref<?x{}, #gpu.address_space<workgroup>>", multiplied());
}

std::string MmaTile::warp_line() const {
  return is_a_ ? "%warp_row" : "%warp_column";
}

void MmaTile::begin() {
  add(R"(      %@_all = arith.constant $elems : index
      %@_shared = memref.view %shared[%c0][%@_all] : !shared to $shared
      %@_multiplied = memref.view %shared[%c0][%@_all] : !shared to $multiplied
)",
      {{"elems", to_text(kernel_.schedule.ring_bytes() / element_bytes_)},
       {"shared", shared_type()},
       {"multiplied", multiplied_type()}});
  begin_copies();
  begin_destinations();
  if (reads_ == Reads::lines)
    begin_lines();
  else
    reads_ == Reads::matrices ? begin_matrices() : begin_elements();
}

std::string MmaTile::flat_type() const {
  return fmt::format("memref<?x{}, strided<[1], offset: ?>{}", matrix_.element, space());
}

// What follows the element in the memref's type: the memory space.
std::string MmaTile::space() const {
  return matrix_.any_type.substr(std::string("memref<*x").size() + matrix_.element.size());
}

// The matrix as its elements lie, one row @_ld elements after the other, and the thread's first of the
// tile's.
void MmaTile::begin_copies() {
  add(R"(      %@_base, %@_offset, %@_sizes:2, %@_strides:2 = memref.extract_strided_metadata %@ : $type -> $base, index, index, index, index, index
      %@_ld = arith.muli %@_strides#0, %c1 : index
      %@_count = arith.muli %@_sizes#0, %@_ld : index
      %@_flat = memref.reinterpret_cast %@_base to offset: [%@_offset], sizes: [%@_count], strides: [1] : $base to $flat
      %@_row_chunks = arith.constant $row_chunks : i32
      %@_row_elems = arith.constant $row_elems : i32
      %@_chunk_elems = arith.constant $chunk_elems : i32
      %@_start = arith.constant $start : i32
      %@_copy_row = arith.divui %thread, %@_row_chunks : i32
      %@_copy = arith.remui %thread, %@_row_chunks : i32
      %@_copy_col = arith.muli %@_copy, %@_chunk_elems : i32
      %@_copy_row_index = arith.index_cast %@_copy_row : i32 to index
      %@_copy_col_index = arith.index_cast %@_copy_col : i32 to index
)",
      {{"type", matrix_.type},
       {"base", fmt::format("memref<{}{}", matrix_.element, space())},
       {"flat", flat_type()},
       {"row_chunks", to_text(row_chunks_)},
       {"row_elems", to_text(row_elems_)},
       {"chunk_elems", to_text(chunk_elems_)},
       {"start", to_text(start_)}});
  const std::string at = is_a_ ? "%row" : "%column";
  const Words words{{"at", at}, {"at32", at + "32"}, {"tile_k", to_text(tile_k_)}};
  if (mn_major_)
    add(R"(      %@_first_row = arith.muli %@_copy_row_index, %@_ld : index
      %@_first_column = arith.addi $at, %@_copy_col_index : index
      %@_first = arith.addi %@_first_row, %@_first_column : index
      %@_line = arith.addi $at32, %@_copy_col : i32
      %@_tile_k = arith.constant $tile_k : index
      %@_advance = arith.muli %@_ld, %@_tile_k : index
)",
        words);
  else
    add(R"(      %@_row = arith.addi $at, %@_copy_row_index : index
      %@_first_row = arith.muli %@_row, %@_ld : index
      %@_first = arith.addi %@_first_row, %@_copy_col_index : index
      %@_line = arith.addi $at32, %@_copy_row : i32
      %@_advance = arith.constant $tile_k : index
)",
        words);
  add(R"(      %@_lines = memref.dim %@, %$dim : $type
      %@_lines32 = arith.index_cast %@_lines : index to i32
      %@_lines_left = arith.subi %@_lines32, %@_line : i32
)",
      {{"dim", mn_major_ ? "c1" : "c0"}, {"type", matrix_.type}});
}

MmaTile::Copy MmaTile::copy_of(int64_t i) const {
  const int64_t threads = kernel_.schedule.threads();
  if (row_chunks_ <= threads)
    return {.row = i * (threads / row_chunks_), .column = 0};
  const int64_t in_row = row_chunks_ / threads;
  return {.row = i / in_row, .column = i % in_row * threads * chunk_elems_};
}

// The first copy whose place is but whole periods of the swizzle's rows away.
int64_t MmaTile::same_place(int64_t i) const {
  const Copy copy = copy_of(i);
  for (int64_t j = 0; j < i; ++j) {
    const Copy other = copy_of(j);
    if (other.column == copy.column && (copy.row - other.row) % swizzle_period() == 0)
      return j;
  }
  return i;
}

void MmaTile::begin_destinations() {
  for (int64_t i = 0; i < copies_; ++i) {
    const Copy copy = copy_of(i);
    const std::string id = fmt::format("{}_to{}", x_, i);
    add(id,
        R"(      %&_rows = arith.constant $rows : index
      %&_columns = arith.constant $columns : index
      %&_rows_on = arith.muli %@_ld, %&_rows : index
      %&_further = arith.addi %&_rows_on, %&_columns : index
)",
        {{"rows", to_text(copy.row)}, {"columns", to_text(copy.column)}});
    if (same_place(i) != i)
      continue;
    add(id,
        R"(      %&_delta = arith.constant $row : i32
      %&_row = arith.addi %@_copy_row, %&_delta : i32
)",
        {{"row", to_text(copy.row)}});
    const std::string swizzle = swizzle_of("%" + id + "_row", id);
    add(id,
        R"(      %&_skip = arith.constant $columns : i32
      %&_column = arith.addi %@_copy_col, %&_skip : i32
      %&_plain = arith.divui %&_column, %@_chunk_elems : i32
      %&_chunk = arith.xori %&_plain, $swizzle : i32
      %&_in_row = arith.muli %&_chunk, %@_chunk_elems : i32
      %&_at_row = arith.muli %&_row, %@_row_elems : i32
      %&_at = arith.addi %&_at_row, %&_in_row : i32
      %& = arith.addi %&_at, %@_start : i32
)",
        {{"columns", to_text(copy.column)}, {"swizzle", swizzle}});
  }
}

void MmaTile::copy(const Place& place, int64_t first, int64_t last) {
  for (int64_t i = first; i < last; ++i) {
    const int64_t same = same_place(i);
    const std::string id = fmt::format("{}_{}_{}", x_, place.id, i);
    const std::string elements = elements_of(place, i);
    add(id,
        R"(      %&_from = arith.addi %$from, %$further_further : index
      %&_apart = arith.constant $apart : i32
      %&_place = arith.addi %$stage, %$same : i32
      %&_to32 = arith.addi %&_place, %&_apart : i32
      %&_to = arith.index_cast %&_to32 : i32 to index
      %&_token = nvgpu.device_async_copy %@_flat[%&_from], %@_shared[%&_to], $chunk_elems, $elements {bypassL1} : $flat to $shared
)",
        {{"from", place.from},
         {"further_further", fmt::format("{}_to{}_further", x_, i)},
         {"stage", place.stage},
         {"same", fmt::format("{}_to{}", x_, same)},
         {"apart", to_text((copy_of(i).row - copy_of(same).row) * row_elems_)},
         {"chunk_elems", to_text(chunk_elems_)},
         {"elements", elements},
         {"flat", flat_type()},
         {"shared", shared_type()}});
  }
}

// How many elements copy `i` brings, zeros being the rest: all or none, where the matrix ends with a chunk.
std::string MmaTile::elements_of(const Place& place, int64_t i) {
  const Copy copy = copy_of(i);
  const std::string id = fmt::format("{}_{}_{}", x_, place.id, i);
  const int64_t lines = is_a_ ? kernel_.m : kernel_.n;
  const bool cuts_lines = !divides(extent_, lines), cuts_k = !divides(tile_k_, kernel_.k);
  const bool cuts_rows = mn_major_ ? cuts_k : cuts_lines, cuts_columns = mn_major_ ? cuts_lines : cuts_k;
  std::string has;
  const auto require = [&](const std::string& name, const std::string& left, const std::string& own,
                           int64_t at) {
    const std::string condition = "%" + id + "_" + name;
    add(id + "_" + name,
        R"(      %&_at = arith.constant $at : i32
      %&_from = arith.addi $own, %&_at : i32
      %& = arith.cmpi sgt, $left, %&_from : i32
)",
        {{"own", own}, {"left", left}, {"at", to_text(at)}});
    if (has.empty()) {
      has = condition;
      return;
    }
    add(id + "_also_" + name, "      %& = arith.andi $has, $condition : i1\n",
        {{"has", has}, {"condition", condition}});
    has = "%" + id + "_also_" + name;
  };
  // What is left of the lines is counted from the thread's own one, of k from the stage's first.
  const std::string lines_left = "%" + x_ + "_lines_left", k_left = "%" + place.k_left;
  if (!cuts_k)
    require("stage", k_left, "%zero", 0);
  if (cuts_rows)
    require("row", mn_major_ ? k_left : lines_left, mn_major_ ? "%" + x_ + "_copy_row" : "%zero", copy.row);
  if (cuts_columns)
    require("column", mn_major_ ? lines_left : k_left, mn_major_ ? "%zero" : "%" + x_ + "_copy_col",
            copy.column);
  std::string most = "%" + id + "_full";
  if (cuts_columns && !divides(chunk_elems_, mn_major_ ? lines : kernel_.k)) {
    add(id,
        R"(      %&_left32 = arith.subi $left, %&_column_from : i32
      %&_left = arith.index_cast %&_left32 : i32 to index
)",
        {{"left", mn_major_ ? lines_left : k_left}});
    most = "%" + id + "_left";
  } else {
    add(id, "      %&_full = arith.constant $chunk_elems : index\n",
        {{"chunk_elems", to_text(chunk_elems_)}});
  }
  add(id, "      %&_elements = arith.select $has, $most, %c0 : index\n", {{"has", has}, {"most", most}});
  return "%" + id + "_elements";
}

std::string MmaTile::fragment_type() const {
  return fmt::format("vector<4x{}x{}>", std::max<int64_t>(4 / element_bytes_, 1), multiplied());
}

// ldmatrix: lanes 0 to 7 say where the rows of the first 8x8 matrix of 16-bit units are, 8 to 15 those of the
// second, ... A's four are rows 0-7 and 8-15 of the first 16 bytes of K, then of the others; of B, of which a
// fragment is two of mma's, both parts of K of columns 0-7 come first.
void MmaTile::begin_matrices() {
  const bool is_straight = is_a_ != mn_major_;
  const std::string swizzle = swizzle_of(is_straight ? "%straight_line" : "%crossed_line", x_ + "_read");
  const std::string order = is_straight ? "straight" : "crossed";
  const Words words{{"order_line", order + "_line"}, {"order_half", order + "_half"}, {"warp", warp_line()}};
  const int64_t places = mn_major_ ? fragments() : kLineBytes / kStepBytes;
  if (mn_major_)
    add(R"(      %@_read_row = arith.muli %$order_line, %@_row_elems : i32
      %@_warp_chunk = arith.divui $warp, %@_chunk_elems : i32
      %@_first_chunk = arith.addi %@_warp_chunk, %$order_half : i32
)",
        words);
  else
    add(R"(      %@_read_line = arith.addi $warp, %$order_line : i32
      %@_read_row = arith.muli %@_read_line, %@_row_elems : i32
      %@_first_chunk = arith.addi %$order_half, %zero : i32
)",
        words);
  for (int64_t place = 0; place < places; ++place)
    add(fmt::format("{}_read{}", x_, place),
        R"(      %&_skip = arith.constant $skip : i32
      %&_plain = arith.addi %@_first_chunk, %&_skip : i32
      %&_chunk = arith.xori %&_plain, $swizzle : i32
      %&_in_row = arith.muli %&_chunk, %@_chunk_elems : i32
      %&_at = arith.addi %@_read_row, %&_in_row : i32
      %& = arith.addi %&_at, %@_start : i32
)",
        {{"skip", to_text(2 * place)}, {"swizzle", swizzle}});
}

void MmaTile::load(const std::string& stage, int64_t step, const std::string& prefix) {
  if (reads_ == Reads::elements)
    return load_elements(stage, step, prefix);
  for (int64_t f = 0; f < fragments(); ++f) {
    const int64_t place = mn_major_ ? f : step;
    add(prefix + to_text(f),
        R"(      %&_apart = arith.constant $apart : i32
      %&_place = arith.addi %$stage, %@_read$place : i32
      %&_at32 = arith.addi %&_place, %&_apart : i32
      %&_at = arith.index_cast %&_at32 : i32 to index
      %& = nvgpu.ldmatrix %@_multiplied[%&_at] {numTiles = 4 : i32, transpose = $transpose} : $shared -> $fragment
)",
        {{"stage", stage},
         {"place", to_text(place)},
         {"apart", to_text(16 * row_elems_ * (mn_major_ ? step : f))},
         {"transpose", mn_major_ ? "true" : "false"},
         {"shared", multiplied_type()},
         {"fragment", fragment_type()}});
  }
}

// One element a lane: row or column lane / 4 of eight, k lane % 4 of four.
void MmaTile::begin_elements() {
  const std::string swizzle = swizzle_of(mn_major_ ? "%in_quad" : "%quad", x_ + "_read");
  add(R"(      %@_read_line = arith.addi $warp, %quad : i32
      %@_read_row = arith.muli %$row, %@_row_elems : i32
)",
      {{"warp", warp_line()}, {"row", mn_major_ ? "in_quad" : x_ + "_read_line"}});
  const int64_t places = mn_major_ ? warp_extent_ / 8 : tile_k_ / 4;
  for (int64_t place = 0; place < places; ++place)
    add(fmt::format("{}_read{}", x_, place),
        R"(      %&_skip = arith.constant $skip : i32
      %&_column = arith.addi %$column, %&_skip : i32
      %&_plain = arith.divui %&_column, %@_chunk_elems : i32
      %&_in_chunk = arith.remui %&_column, %@_chunk_elems : i32
      %&_chunk = arith.xori %&_plain, $swizzle : i32
      %&_chunk_at = arith.muli %&_chunk, %@_chunk_elems : i32
      %&_in_row = arith.addi %&_chunk_at, %&_in_chunk : i32
      %&_at = arith.addi %@_read_row, %&_in_row : i32
      %& = arith.addi %&_at, %@_start : i32
)",
        {{"skip", to_text(mn_major_ ? 8 * place : 4 * place)},
         {"column", mn_major_ ? x_ + "_read_line" : "in_quad"},
         {"swizzle", swizzle}});
}

void MmaTile::load_elements(const std::string& stage, int64_t step, const std::string& prefix) {
  for (int64_t f = 0; f < fragments(); ++f) {
    std::string elements[4];
    for (int64_t i = 0; i < 4; ++i) {
      // Of A the eight rows below come first, of B the four k's behind.
      const int64_t line = 2 * f + (is_a_ ? i % 2 : i / 2), k = 2 * step + (is_a_ ? i / 2 : i % 2);
      elements[i] = fmt::format("%{}{}_{}", prefix, f, i);
      add(elements[i].substr(1),
          R"(      %&_apart = arith.constant $apart : i32
      %&_place = arith.addi %$stage, %@_read$place : i32
      %&_at32 = arith.addi %&_place, %&_apart : i32
      %&_at = arith.index_cast %&_at32 : i32 to index
      %& = memref.load %@_multiplied[%&_at] : $shared
)",
          {{"stage", stage},
           {"place", to_text(mn_major_ ? line : k)},
           {"apart", to_text(row_elems_ * (mn_major_ ? 4 * k : 8 * line))},
           {"shared", multiplied_type()}});
    }
    add(prefix + to_text(f), "      %& = vector.from_elements $elements : $fragment\n",
        {{"elements", fmt::format("{}", fmt::join(elements, ", "))}, {"fragment", fragment_type()}});
  }
}

// A lane has rows lane / 4 + 8 * i of A, columns 2 * (lane % 4) + 8 * j and the next ones of B, as of mma's
// accumulators.
void MmaTile::begin_lines() {
  add(R"(      %@_lane_line = arith.addi %$lane_line, %zero : i32
      %@_read_line = arith.addi $warp, %@_lane_line : i32
)",
      {{"warp", warp_line()}, {"lane_line", is_a_ ? "quad" : "pair32"}});
  if (mn_major_) {
    add("      %@_read = arith.addi %@_read_line, %@_start : i32\n");
    return;
  }
  add(R"(      %@_read_row = arith.muli %@_read_line, %@_row_elems : i32
      %@_read = arith.addi %@_read_row, %@_start : i32
      %@_swizzle0 = arith.addi %@_lane_line, %zero : i32
      %@_swizzle1 = arith.addi %@_lane_line, %one : i32
)");
}

void MmaTile::load_chunk(const std::string& stage, const std::string& chunk, const std::string& prefix) {
  if (mn_major_) {
    add(prefix, R"(      %&_k0 = arith.muli %$chunk, %four : i32
)",
        {{"chunk", chunk}});
    for (int64_t k = 0; k < 4; ++k)
      load_row(stage, fmt::format("{}_k0", prefix), k, prefix);
    return;
  }
  for (int64_t odd = 0; odd < (is_a_ ? 1 : 2); ++odd)
    add(fmt::format("{}_chunk{}", prefix, odd),
        R"(      %&_plain = arith.xori %$chunk, %@_swizzle$odd : i32
      %&_in_row = arith.muli %&_plain, %@_chunk_elems : i32
      %&_in_tile = arith.addi %&_in_row, %@_read : i32
      %& = arith.addi %&_in_tile, %$stage : i32
)",
        {{"chunk", chunk}, {"odd", to_text(odd)}, {"stage", stage}});
  for (int64_t line = 0; line < lines(); ++line) {
    add(fmt::format("{}{}", prefix, line),
        R"(      %&_apart = arith.constant $apart : i32
      %&_at32 = arith.addi %$chunk, %&_apart : i32
      %&_at = arith.index_cast %&_at32 : i32 to index
      %& = vector.load %@_multiplied[%&_at] {alignment = 16 : i64} : $shared, vector<4x$element>
)",
        {{"apart", to_text(line_offset(line) * row_elems_)},
         {"chunk", fmt::format("{}_chunk{}", prefix, is_a_ ? 0 : line % 2)},
         {"shared", multiplied_type()},
         {"element", matrix_.element}});
    for (int64_t k = 0; k < 4; ++k)
      add(fmt::format("{}{}", prefix, line),
          "      %&_$k = vector.extract %&[$k] : $element from vector<4x$element>\n",
          {{"k", to_text(k)}, {"element", matrix_.element}});
  }
}

// Of k `%k0` + `k`: columns of B come in pairs.
void MmaTile::load_row(const std::string& stage, const std::string& k0, int64_t k,
                       const std::string& prefix) {
  add(fmt::format("{}_row{}", prefix, k),
      R"(      %&_k = arith.constant $k : i32
      %&_row = arith.addi %$k0, %&_k : i32
      %&_at_row = arith.muli %&_row, %@_row_elems : i32
      %&_in_tile = arith.addi %&_at_row, %@_read : i32
      %& = arith.addi %&_in_tile, %$stage : i32
)",
      {{"k", to_text(k)}, {"k0", k0}, {"stage", stage}});
  const int64_t together = is_a_ ? 1 : 2;
  for (int64_t line = 0; line < lines(); line += together) {
    add(fmt::format("{}{}_k{}", prefix, line, k),
        R"(      %&_apart = arith.constant $apart : i32
      %&_at32 = arith.addi %$row, %&_apart : i32
      %&_at = arith.index_cast %&_at32 : i32 to index
      %& = vector.load %@_multiplied[%&_at] {alignment = $alignment : i64} : $shared, vector<$wide$element>
)",
        {{"apart", to_text(line_offset(line))},
         {"row", fmt::format("{}_row{}", prefix, k)},
         {"alignment", to_text(together * element_bytes_)},
         {"wide", fmt::format("{}x", together)},
         {"shared", multiplied_type()},
         {"element", matrix_.element}});
    for (int64_t i = 0; i < together; ++i)
      add(fmt::format("{}{}_{}", prefix, line + i, k),
          "      %& = vector.extract %$vector[$i] : $element from vector<$wide$element>\n",
          {{"vector", fmt::format("{}{}_k{}", prefix, line, k)},
           {"i", to_text(i)},
           {"wide", fmt::format("{}x", together)},
           {"element", matrix_.element}});
  }
}

void MmaTile::load_one(const std::string& stage, const std::string& k, const std::string& prefix) {
  if (mn_major_)
    return load_row(stage, k, 0, prefix);
  for (int64_t odd = 0; odd < (is_a_ ? 1 : 2); ++odd)
    add(fmt::format("{}_place{}", prefix, odd),
        R"(      %&_own = arith.divui %$k, %@_chunk_elems : i32
      %&_in_chunk = arith.remui %$k, %@_chunk_elems : i32
      %&_chunk = arith.xori %&_own, %@_swizzle$odd : i32
      %&_chunk_at = arith.muli %&_chunk, %@_chunk_elems : i32
      %&_in_row = arith.addi %&_chunk_at, %&_in_chunk : i32
      %&_in_tile = arith.addi %&_in_row, %@_read : i32
      %& = arith.addi %&_in_tile, %$stage : i32
)",
        {{"k", k}, {"odd", to_text(odd)}, {"stage", stage}});
  for (int64_t line = 0; line < lines(); ++line)
    add(fmt::format("{}{}_0", prefix, line),
        R"(      %&_apart = arith.constant $apart : i32
      %&_at32 = arith.addi %$place, %&_apart : i32
      %&_at = arith.index_cast %&_at32 : i32 to index
      %& = memref.load %@_multiplied[%&_at] : $shared
)",
        {{"apart", to_text(line_offset(line) * row_elems_)},
         {"place", fmt::format("{}_place{}", prefix, is_a_ ? 0 : line % 2)},
         {"shared", multiplied_type()}});
}

} // namespace lemma::nvgpu
