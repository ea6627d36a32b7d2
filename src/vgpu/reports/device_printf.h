// The text of a kernel's printf: C's format with the arguments that nvcc packed for vprintf.
//
// Each argument lies at a multiple of its size, in order: 4 bytes for int and char, 8 for long, long long,
// double and pointers (char, short and float arrive promoted, as C says).
//
// Not here: reading device memory, which the caller lends as an interface; %n, which CUDA does not have
// either.
//
// CUDA C++ Programming Guide, "Formatted Output". Tests: tests/unit/vgpu/device_printf_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lemma::vgpu {

class PrintfArguments {
public:
  virtual ~PrintfArguments() = default;
  // `bytes` (4 or 8) of the packed arguments, `offset` bytes from their start; none: they cannot be read.
  virtual std::optional<uint64_t> read(uint64_t offset, int bytes) = 0;
  // The zero-terminated string at a generic address; none: it cannot be read.
  virtual std::optional<std::string> read_string(uint64_t address) = 0;
};

// The longest text of one printf, and the longest string that one reads: CUDA's default buffer holds no more.
inline constexpr size_t kMaxPrintfBytes = size_t{1} << 20;

struct PrintfResult {
  std::string text;
  int arguments = 0; // how many the format took: what CUDA's printf returns
};

// None as soon as an argument cannot be read. Fields are at most 64 KiB wide or precise; a specification that
// is none stays as it is written. A text beyond the limit is cut.
std::optional<PrintfResult> format_device_printf(std::string_view format, PrintfArguments& arguments);

} // namespace lemma::vgpu
