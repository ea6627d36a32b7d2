// C and D as a warp's registers have them (numeric::DotTile::blocks), for tests: blocks of 8 rows by 16
// bytes, the last first in memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

namespace lemma::numeric {

class RegisterBlocks {
public:
  // So many rows of so many bytes, which are whole blocks; zeros.
  RegisterBlocks(size_t rows, size_t row_bytes)
      : rows_(rows), in_row_(row_bytes / kBytes), memory_(rows * row_bytes), blocks_(rows / kRows * in_row_) {
    for (size_t i = 0; i < blocks_.size(); ++i)
      blocks_[i] = &memory_[(blocks_.size() - 1 - i) * kRows * kBytes];
  }

  std::byte* const* blocks() const { return blocks_.data(); }
  // From and to dense rows.
  void load(const void* rows) {
    for (size_t i = 0; i < rows_ * in_row_; ++i)
      std::memcpy(place(i), static_cast<const std::byte*>(rows) + i * kBytes, kBytes);
  }
  void store(void* rows) const {
    for (size_t i = 0; i < rows_ * in_row_; ++i)
      std::memcpy(static_cast<std::byte*>(rows) + i * kBytes, place(i), kBytes);
  }

private:
  static constexpr size_t kRows = 8, kBytes = 16;
  // The i-th 16 bytes of the rows.
  std::byte* place(size_t i) const {
    const size_t row = i / in_row_;
    return blocks_[row / kRows * in_row_ + i % in_row_] + row % kRows * kBytes;
  }

  size_t rows_, in_row_;
  std::vector<std::byte> memory_;
  std::vector<std::byte*> blocks_;
};

} // namespace lemma::numeric
