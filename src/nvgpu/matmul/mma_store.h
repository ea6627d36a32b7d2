// What a warp does with its sums in the kernel of mma_kernel.h: convert, call the epilogue, store.
//
// Where C's rows are multiples of 16 bytes, each warp brings 16 rows at a time through shared memory, which
// the ring of stages no longer needs, and stores 16 bytes a lane, row after row. Else each thread stores its
// elements.
//
// Takes from the text around it the sums %total_I_J, as of mma's accumulators: 16 rows x 8 columns each.
// Tests: tests/mlir/matmul/.
#pragma once

#include "nvgpu/matmul/kernel.h"
#include "nvgpu/matmul/text.h"

namespace lemma::nvgpu {

class MmaStore {
public:
  MmaStore(const MatmulKernel& kernel, TemplateText& text);
  void tile();

private:
  // In `text` & stands for `id`.
  void add(const std::string& id, std::string_view text, const Words& more = {});
  std::string convert(int64_t i, int64_t j);
  void elements();
  void element(const std::string& values, int64_t i, int64_t j, int64_t row, int64_t column);
  void begin_chunks();
  void chunks(int64_t i);

  const MatmulKernel& kernel_;
  TemplateText& text_;
  int64_t warp_m_, warp_n_;                      // rows and columns of C that a warp has
  int64_t chunk_elems_, row_chunks_, row_elems_; // of a slice of 16 rows in shared memory
};

} // namespace lemma::nvgpu
