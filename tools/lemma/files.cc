#include "files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace lemma::cli {
namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

constexpr size_t kChunkBytes = size_t{1} << 20;

} // namespace

// Reads to the end whatever the file is: pipes have no size, directories an odd one.
Result<std::vector<std::byte>, std::string> read_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file)
    return fail(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::vector<std::byte> bytes;
  size_t size = 0, got = 0;
  do {
    bytes.resize(size + kChunkBytes);
    errno = 0;
    got = std::fread(bytes.data() + size, 1, kChunkBytes, file.get());
    size += got;
  } while (got == kChunkBytes);
  if (std::ferror(file.get()))
    return fail(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  bytes.resize(size);
  return bytes;
}

Result<void, std::string> write_file(const std::string& path, std::span<const std::byte> bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  const bool written = file && std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  if (!written || std::fclose(file.release()) != 0)
    return fail(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  return {};
}

bool is_npy(const std::string& path) {
  return path.ends_with(".npy");
}

Result<npy::Array, std::string> read_array(const std::string& path) {
  auto bytes = read_file(path);
  if (!bytes)
    return fail(std::move(bytes).error());
  if (!is_npy(path)) {
    const uint64_t size = bytes->size();
    return npy::Array{.dtype = "|u1", .shape = {size}, .data = *std::move(bytes)};
  }
  auto array = npy::parse(*bytes);
  if (!array)
    return fail(fmt::format("{}: {}", path, array.error().text));
  return *std::move(array);
}

Result<void, std::string> write_array(const std::string& path, const npy::Array& array) {
  return write_file(path, is_npy(path) ? npy::serialize(array) : array.data);
}

} // namespace lemma::cli
