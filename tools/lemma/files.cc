#include "files.h"

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
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
constexpr uint64_t kMostPipedBytes = uint64_t{1} << 30;

} // namespace

// Reads to the end whatever the file is: pipes have no size, directories an odd one, and /dev/zero no end.
Result<std::vector<std::byte>, std::string> read_file(const std::string& path, uint64_t most_bytes) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file)
    return fail(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  struct stat about = {};
  const bool has_size = fstat(fileno(file.get()), &about) == 0 && S_ISREG(about.st_mode);
  if (!has_size)
    most_bytes = std::min(most_bytes, kMostPipedBytes);
  std::vector<std::byte> bytes;
  size_t size = 0, got = 0;
  const auto too_long = [&] {
    return fail(fmt::format("cannot read {}: it has more than {} bytes{}", path, most_bytes,
                            has_size ? "" : ", and is no regular file"));
  };
  if (has_size && static_cast<uint64_t>(about.st_size) > most_bytes)
    return too_long();
  if (has_size)
    bytes.reserve(static_cast<size_t>(about.st_size) + kChunkBytes);
  do {
    if (size > most_bytes)
      return too_long();
    bytes.resize(size + kChunkBytes);
    errno = 0;
    got = std::fread(bytes.data() + size, 1, kChunkBytes, file.get());
    size += got;
  } while (got == kChunkBytes);
  if (size > most_bytes)
    return too_long();
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
