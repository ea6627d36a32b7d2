// Pages of the host's memory that hold compiled code: written first, executable afterwards, never both.
//
// Tests: tests/unit/vgpu/compiled_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lemma::vgpu {

class CodePages {
public:
  // Null: the host has no such pages for this process.
  static std::unique_ptr<CodePages> allocate(size_t bytes);
  ~CodePages();
  CodePages(const CodePages&) = delete;
  CodePages& operator=(const CodePages&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // They can be executed from now on, and no longer written. False where the host forbids it.
  bool make_executable();

private:
  CodePages(std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* data_;
  size_t bytes_;
};

} // namespace lemma::vgpu
