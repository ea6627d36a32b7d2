// Files as the CLI reads and writes them: whole, as bytes, or as .npy by their extension.
//
// Tests: tests/cli/.
#pragma once

#include "lemma/device.h"
#include "lemma/npy.h"
#include "lemma/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lemma::cli {

// Errors are one line that names the file. What has more bytes than `most_bytes` is not read, what is no
// regular file (a pipe, a device) not if it has more than 1 GiB.
Result<std::vector<std::byte>, std::string> read_file(const std::string& path,
                                                      uint64_t most_bytes = default_max_memory_bytes());

// What is read as text, and as JSON, may have so many bytes.
inline constexpr uint64_t kMostTextBytes = uint64_t{1} << 30;
inline constexpr uint64_t kMostJsonBytes = uint64_t{1} << 24;
Result<void, std::string> write_file(const std::string& path, std::span<const std::byte> bytes);

bool is_npy(const std::string& path);

// A .npy file, or any other file as an array of bytes (|u1).
Result<npy::Array, std::string> read_array(const std::string& path);
// As .npy if the path says so, else the elements alone.
Result<void, std::string> write_array(const std::string& path, const npy::Array& array);

} // namespace lemma::cli
