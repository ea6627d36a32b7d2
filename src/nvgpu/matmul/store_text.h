// What a consumer does with its sums once a tile's products are done: convert, call the epilogue, store. Text
// for the kernel of kernel.cc.
//
// Takes from the text around it: %warp, %lane, %consumer_index, %shared, %zero, %four; in a tile %row,
// %column and the accumulator %total. Tests: tests/mlir/matmul/.
#pragma once

#include "nvgpu/matmul/kernel.h"
#include "nvgpu/matmul/text.h"

namespace lemma::nvgpu {

class StoreText {
public:
  // Gives `text` words for C's box.
  StoreText(const MatmulKernel& kernel, TemplateText& text);

  // Of dynamic shared memory, after the ring of stages.
  int64_t shared_bytes() const;
  // What a lane needs for its stores, the same for all tiles.
  void before_tiles();
  void tile();
  void end();

private:
  void add(std::string_view text, const Words& more = {}) { text_.add(text, more); }
  void swizzled_columns();
  std::string convert(int64_t block, int64_t columns, const std::string& id);
  void store_slices();
  void fill_slice(int64_t block, int64_t column, const std::string& slice);
  void store_elements();
  void store_element(const std::string& values, int64_t block, int64_t column, int64_t i, int64_t j);

  const MatmulKernel& kernel_;
  const Schedule& s_;
  TemplateText& text_;
  int64_t slice_columns_;
};

} // namespace lemma::nvgpu
