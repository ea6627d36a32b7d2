// Files as the CLI reads and writes them: whole, as bytes, or as .npy by their extension. Every file that a
// command writes is written here.
//
// A file is written to a temporary one in its directory (.lemma-PID-N), which then takes its place: a full
// disk or Ctrl-C leaves what was there. Mode and, where allowed, owner stay. What is no regular file -
// /dev/stdout, a pipe, a device - is written directly, and so is a file in a directory that takes no new
// ones.
//
// Tests: tests/cli/.
#pragma once

#include "interrupt.h"

#include "lemma/device.h"
#include "lemma/npy.h"
#include "lemma/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::cli {

// The path that means standard input, wherever a file is read; and how messages call it.
inline constexpr std::string_view kStandardInput = "-";
std::string shown_path(const std::string& path);

// Errors are one line that names the file. What has more bytes than `most_bytes` is not read, what is no
// regular file (a pipe, a device) not if it has more than 1 GiB.
Result<std::vector<std::byte>, std::string> read_file(const std::string& path,
                                                      uint64_t most_bytes = default_max_memory_bytes());

// What is read as text, and as JSON, may have so many bytes.
inline constexpr uint64_t kMostTextBytes = uint64_t{1} << 30;
Result<std::string, std::string> read_text(const std::string& path);
inline constexpr uint64_t kMostJsonBytes = uint64_t{1} << 24;

// Whether a file could be written there now; touches nothing. To be asked before work that takes long.
Result<void, std::string> check_writable(const std::string& path);

// Several files, all or none of them.
//
//   FileWriter files;
//   files.add("d.npy", bytes); ...   errors: nothing has changed
//   files.commit();
class FileWriter {
public:
  FileWriter() = default;
  ~FileWriter(); // without commit(): the temporary files go
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  Result<void, std::string> add(const std::string& path, std::span<const std::byte> bytes);
  Result<void, std::string> commit();

private:
  struct Staged {
    std::string target, temporary; // empty: it is written directly, from `bytes`
    std::vector<std::byte> bytes = {};
  };
  std::vector<Staged> staged_;
  std::optional<HoldInterrupts> hold_; // while there are temporary files
};

// One file.
Result<void, std::string> write_file(const std::string& path, std::span<const std::byte> bytes);

// A text that a command gives: to a file, or to standard output where the path is empty or "-". And, before
// the work, whether it could be written there.
Result<void, std::string> write_text(const std::string& path, std::string_view text);
Result<void, std::string> check_text_output(const std::string& path);

// What was printed to standard output, to the last byte: a full disk shows only here.
Result<void, std::string> flush_standard_output();

bool is_npy(const std::string& path);

// A .npy file, or any other file as an array of bytes (|u1).
Result<npy::Array, std::string> read_array(const std::string& path);
// What to write for an array: .npy if the path says so, else the elements alone.
std::vector<std::byte> array_file(const std::string& path, const npy::Array& array);

} // namespace lemma::cli
