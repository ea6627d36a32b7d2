// What a consumer does with its sums once a tile's products are done: convert, call the epilogue, store. Text
// for the kernels of kernel.cc and tcgen05_kernel.cc. In both a lane has of 16 rows and columns the elements
// that wgmma's accumulator gives it; a warp's blocks of 16 rows lie 64 rows apart, and of tcgen05 below each
// other.
//
// Takes from the text around it: %warp, %warpgroup, %lane, %consumer_index, %shared, %zero, %four; in a
// tile %row, %column, and the accumulator %total or, of tcgen05, %sums_at: the tensor memory address of the
// warp's lanes and of the sums' first column.
// Tests: tests/mlir/matmul/.
#pragma once

#include "nvgpu/matmul/kernel.h"
#include "nvgpu/matmul/text.h"

#include <string>
#include <vector>

namespace lemma::nvgpu {

class StoreText {
public:
  // Gives `text` words for C's box.
  StoreText(const MatmulKernel& kernel, TemplateText& text);

  // Of dynamic shared memory, after the ring of stages.
  int64_t shared_bytes() const;
  // What a lane needs for its stores, the same for all tiles.
  void before_tiles();
  // Where MatmulStore is elements, all of a tile.
  void tile();
  void end();

  // Where MatmulStore is tma, a warp stores its part of a tile in so many slices, one after the other.
  int64_t slices() const;
  // The results of slice `number`, of %total, as C has them: values of type result_type(), one for each 16
  // columns.
  std::vector<std::string> results(int64_t number);
  std::string result_type() const;
  int64_t results_of_slice() const { return slice_columns_ / 16; }
  // Puts them into shared memory, which a warp has for two slices; `unsent` of those before are still there
  // to be sent. Sends slices from `from` to `to` on their way to C.
  struct Place {
    std::string row, column; // where the tile begins in what is stored
  };
  void put(int64_t number, const std::vector<std::string>& results, int64_t unsent);
  void send(int64_t from, int64_t to, const Place& place);
  // All of a CTA's last tile: what the warpgroup alone has read of the ring's stages takes most slices, and
  // no store waits for another.
  void last_tile(const Place& place);

  // For a kernel that has sums from elsewhere: stores the vector<4x2xSUM> `raw` of a block of 16x16, whose
  // first row and column are %row and %column.
  void block_of_16(const std::string& raw);

private:
  void add(std::string_view text, const Words& more = {}) { text_.add(text, more); }
  void lanes();
  void swizzled_columns();
  std::string extract(int64_t block, int64_t columns);
  void load_cells(const std::string& raw, int64_t block, int64_t column);
  std::string convert(const std::string& raw, int64_t block, int64_t columns);
  void wait_for_reads(int64_t pending);
  void put_into(const std::string& box, int64_t number, const std::vector<std::string>& results);
  void fence();
  void send_from(const std::string& box, int64_t number, const Place& place);
  static std::string box_of(int64_t number); // the warp's own shared memory, by turns
  void put_16_columns(const std::string& result, int64_t number, Words words);
  bool is_in_tensor_memory() const { return s_.family == MatmulFamily::tcgen05; }
  int64_t blocks() const { return s_.rows_of_consumer() / 64; } // of 16 rows, of a warp
  int64_t block_rows() const { return is_in_tensor_memory() ? 16 : 64; }
  int64_t block_of(int64_t slice) const { return slice * slice_columns_ / s_.tile_n; }
  int64_t column_of(int64_t slice) const { return slice * slice_columns_ % s_.tile_n; }
  void begin_elements();
  void begin_rows(int64_t block);
  void store_16_columns(const std::string& raw, int64_t block, int64_t column);
  void store_element(const std::string& values, int64_t block, int64_t column, int64_t i, int64_t j);

  const MatmulKernel& kernel_;
  const Schedule& s_;
  TemplateText& text_;
  int64_t slice_columns_;
};

} // namespace lemma::nvgpu
