// A multiplicand of the kernel of mma_kernel.h: how its tile lies in shared memory, how it comes there, and
// how a lane reads its fragments.
//
// A tile has a row of 128 bytes of K for each row of A or column of B; or, where the matrix lies the other
// way round (MN-major), a row for each k. Chunks of 16 bytes of a row are permuted so that lanes that read
// together read different banks: see Swizzle.
//
// Takes from the text around it what MmaText::begin_kernel says. Tests: tests/mlir/matmul/.
#pragma once

#include "nvgpu/matmul/kernel.h"
#include "nvgpu/matmul/text.h"

namespace lemma::nvgpu {

class MmaTile {
public:
  // `which`: "a" or "b". `start`: where in a stage the tile begins, in elements.
  MmaTile(const MatmulKernel& kernel, TemplateText& text, const std::string& which, int64_t start);

  int64_t elems() const { return rows_ * row_elems_; }

  // Before the loop over K: what a thread copies, where a lane's fragments begin.
  void begin();
  // How many copies a thread starts for a stage.
  int64_t copies() const { return copies_; }
  // Copies `first` to `last` - 1 of a stage whose first k is %`k_left` before the end, to the stage at
  // %`stage`; a thread's first element of the matrix is %`from`. `id`: for names.
  struct Place {
    std::string stage, from, k_left, id;
  };
  void copy(const Place& place, int64_t first, int64_t last);
  // How much further `from` is in the next stage: %X_advance.
  std::string advance() const { return "%" + x_ + "_advance"; }
  std::string first() const { return "%" + x_ + "_first"; }

  // A fragment is what a lane has of 16 rows of A or columns of B, in a k-step of 32 bytes (f64: 64).
  int64_t fragments() const { return warp_extent_ / 16; }
  std::string fragment_type() const;
  // Those of k-step `step` of the stage at %`stage`, as %`prefix`0, %`prefix`1, ...
  void load(const std::string& stage, int64_t step, const std::string& prefix);

  // For fused multiply-adds: rows of A or columns of B of which a lane has the elements.
  int64_t lines() const { return warp_extent_ / 8 * (is_a_ ? 1 : 2); }
  // Four k's, which lie in chunk %`chunk` of a row of K, as %`prefix`LINE_K.
  void load_chunk(const std::string& stage, const std::string& chunk, const std::string& prefix);
  // One, which a run knows, as %`prefix`LINE_0.
  void load_one(const std::string& stage, const std::string& k, const std::string& prefix);

private:
  // What a chunk's number is exclusively or'ed with.
  enum class Swizzle : uint8_t {
    row,   // row % 8: eight rows' chunks at a time, as ldmatrix reads them
    pairs, // 2 * (row % 4): one element a lane, of four rows' pairs of chunks
    none,  // loads along a row
  };
  enum class Reads : uint8_t { matrices, elements, lines };
  struct Copy {
    int64_t row, column; // from the thread's first, in elements
  };

  // In `text` @ stands for a or b, & for `id`.
  void add(const std::string& id, std::string_view text, const Words& more = {});
  void add(std::string_view text, const Words& more = {}) { add("", text, more); }
  std::string space() const;
  std::string flat_type() const;
  std::string shared_type() const;
  std::string multiplied() const; // the element as it is multiplied: with its sign
  std::string multiplied_type() const;
  std::string warp_line() const;
  void begin_copies();
  void begin_destinations();
  void begin_matrices();
  void begin_elements();
  void begin_lines();
  std::string swizzle_of(const std::string& row, const std::string& id);
  int64_t swizzle_period() const { return swizzle_ == Swizzle::row ? 8 : swizzle_ == Swizzle::pairs ? 4 : 1; }
  Copy copy_of(int64_t i) const;
  int64_t same_place(int64_t i) const;
  std::string elements_of(const Place& place, int64_t i);
  void load_elements(const std::string& stage, int64_t step, const std::string& prefix);
  int64_t line_offset(int64_t line) const { return is_a_ ? 8 * line : 8 * (line / 2) + line % 2; }
  void load_row(const std::string& stage, const std::string& k0, int64_t k, const std::string& prefix);

  const MatmulKernel& kernel_;
  TemplateText& text_;
  std::string x_;
  const MatmulOperand& matrix_;
  bool is_a_, mn_major_;
  int64_t element_bytes_, extent_, warp_extent_, start_;
  int64_t chunk_elems_, tile_k_, rows_, row_elems_;
  int64_t row_chunks_, copies_; // copies of a thread for a stage, a chunk each
  Swizzle swizzle_;
  Reads reads_;
};

} // namespace lemma::nvgpu
