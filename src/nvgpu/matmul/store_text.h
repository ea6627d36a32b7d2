// What a consumer does with its sums once a tile's products are done: convert, call the epilogue, store. Text
// for the kernel of kernel.cc.
//
// Takes from the text around it: %warp, %warpgroup, %lane, %consumer_index, %shared, %zero, %four; in a
// tile %row, %column and the accumulator %total.
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
  // `row`: where the tile begins in what is stored.
  void tile(const std::string& row);
  void end();

  // Where MatmulStore is tma, a warp stores its part of a tile in so many slices, one after the other.
  int64_t slices() const;
  // The results of slice `number`, of %total, as C has them: values of type result_type(), one for each 16
  // columns.
  std::vector<std::string> results(int64_t number);
  std::string result_type() const;
  int64_t results_of_slice() const { return slice_columns_ / 16; }
  // Stores them. In a block there is one store of a slice.
  struct Place {
    std::string row, column; // where the tile begins in what is stored
  };
  void slice(int64_t number, const std::vector<std::string>& results, const Place& place);
  // The slices from `first` on, after a CTA's last product: those stages of the ring that the warpgroup alone
  // has read take most of them, and no store waits for another.
  void last_slices(int64_t first, const std::vector<std::vector<std::string>>& results, const Place& place);

  // For a kernel that has sums from elsewhere: stores the vector<4x2xSUM> `raw` of a block of 16x16, whose
  // first row and column are %row and %column.
  void block_of_16(const std::string& raw);

private:
  void add(std::string_view text, const Words& more = {}) { text_.add(text, more); }
  void lanes();
  void swizzled_columns();
  std::string extract(int64_t block, int64_t columns);
  std::string convert(const std::string& raw, int64_t block, int64_t columns);
  void wait_for_reads(int64_t pending);
  void slice_by(const std::string& box, int64_t number, const std::vector<std::string>& results,
                const Place& place);
  void put_16_columns(const std::string& result, int64_t number, Words words);
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
