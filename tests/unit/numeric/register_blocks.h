// C and D as a warp's registers have them (numeric::DotBlocks), for tests: blocks of 8 rows by 16
// bytes, of f64 by 32, the last first in memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

namespace lemma::numeric {

class RegisterBlocks {
public:
  // So many rows of so many bytes, which are whole blocks; zeros.
  RegisterBlocks(size_t rows, size_t row_bytes, bool of_f64 = false)
      : bytes_(of_f64 ? 32 : 16), rows_(rows), in_row_(row_bytes / bytes_), memory_(rows * row_bytes),
        blocks_(rows / kRows * in_row_) {
    for (size_t i = 0; i < blocks_.size(); ++i)
      blocks_[i] = &memory_[(blocks_.size() - 1 - i) * kRows * bytes_];
  }

  std::byte* const* blocks() const { return blocks_.data(); }
  // From and to dense rows.
  void load(const void* rows) {
    for (size_t i = 0; i < rows_ * in_row_; ++i)
      std::memcpy(place(i), static_cast<const std::byte*>(rows) + i * bytes_, bytes_);
  }
  void store(void* rows) const {
    for (size_t i = 0; i < rows_ * in_row_; ++i)
      std::memcpy(static_cast<std::byte*>(rows) + i * bytes_, place(i), bytes_);
  }

private:
  static constexpr size_t kRows = 8;
  // The i-th block's row of the rows.
  std::byte* place(size_t i) const {
    const size_t row = i / in_row_;
    return blocks_[row / kRows * in_row_ + i % in_row_] + row % kRows * bytes_;
  }

  size_t bytes_, rows_, in_row_; // bytes_: of a block's row
  std::vector<std::byte> memory_;
  std::vector<std::byte*> blocks_;
};

} // namespace lemma::numeric
