// Writing has two steps. FileWriter::add() writes each file to a temporary one beside its target, with
// interrupts held; commit() renames them all. find_destination() decides which files cannot be done so and
// are written directly, last. Symbolic links are followed to the file that they name, so that they stay
// links.
#include "files.h"

#include "interrupt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace lemma::cli {
namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr uint64_t kMostPipedBytes = uint64_t{1} << 30;

Unexpected<std::string> cannot_write(const std::string& path, const std::string& why) {
  return fail(fmt::format("cannot write {}: {}", path, why));
}
Unexpected<std::string> cannot_write(const std::string& path, int error) {
  return cannot_write(path, std::strerror(error));
}

// Where a file's bytes go.
struct Destination {
  std::string path;      // with symbolic links followed, so that they stay
  std::string directory; // for the temporary file; empty: it is written directly
  std::optional<struct stat> old = {};
};

// The file that a path names, through symbolic links, be they to nothing yet. One into /proc is an open file
// of this process (/dev/stdout is such a link), which no other can take the place of.
std::optional<std::string> follow(std::string path) {
  constexpr int kMostLinks = 40; // as the kernel
  for (int i = 0; i < kMostLinks; ++i) {
    if (path.starts_with("/proc/") || path.starts_with("/dev/fd/"))
      return std::nullopt;
    std::error_code error;
    const std::filesystem::path link = std::filesystem::read_symlink(path, error);
    if (error)
      return path;
    path = link.is_absolute() ? link.string() : (std::filesystem::path(path).parent_path() / link).string();
  }
  return path;
}

// Errors: what a file there cannot be written for, as far as that can be known now.
Result<Destination, std::string> find_destination(const std::string& path) {
  struct stat info = {};
  const bool there = stat(path.c_str(), &info) == 0;
  if (!there && errno != ENOENT)
    return cannot_write(path, errno);
  if (there && S_ISDIR(info.st_mode))
    return cannot_write(path, EISDIR);
  if (there && access(path.c_str(), W_OK) != 0)
    return cannot_write(path, errno);
  const std::optional<std::string> file = there && !S_ISREG(info.st_mode) ? std::nullopt : follow(path);
  if (!file)
    return Destination{.path = path, .directory = {}};
  Destination to{.path = *file, .directory = std::filesystem::path(*file).parent_path().string()};
  if (to.directory.empty())
    to.directory = ".";
  if (there)
    to.old = info;
  if (access(to.directory.c_str(), W_OK | X_OK) != 0) {
    if (!there)
      return cannot_write(path, errno);
    to.directory.clear();
  }
  return to;
}

// True if all of it was written; else errno says why not. An interrupt that was held back counts as EINTR.
bool write_all(int file, std::span<const std::byte> bytes, bool interruptible) {
  while (!bytes.empty()) {
    if (interruptible && HoldInterrupts::came()) {
      errno = EINTR;
      return false;
    }
    const ssize_t written = write(file, bytes.data(), std::min(bytes.size(), kChunkBytes));
    if (written < 0)
      return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

// Opens, writes and closes; 0, or the errno.
int write_to(int file, std::span<const std::byte> bytes, bool interruptible) {
  if (file < 0)
    return errno;
  const int failed = write_all(file, bytes, interruptible) ? 0 : errno;
  return close(file) != 0 && !failed ? errno : failed;
}

int write_directly(const std::string& path, std::span<const std::byte> bytes) {
  return write_to(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), bytes, false);
}

// Reads to the end whatever the file is: pipes have no size, directories an odd one, and /dev/zero no end.
template <class Bytes>
Result<Bytes, std::string> read_whole(const std::string& path, uint64_t most_bytes) {
  static bool input_was_read = false;
  const bool is_input = path == kStandardInput;
  if (is_input && std::exchange(input_was_read, true))
    return fail(std::string("cannot read standard input twice"));
  const File file(is_input ? fdopen(dup(STDIN_FILENO), "rb") : std::fopen(path.c_str(), "rb"));
  if (!file)
    return fail(fmt::format("cannot read {}: {}", shown_path(path), std::strerror(errno)));
  struct stat about = {};
  const bool has_size = fstat(fileno(file.get()), &about) == 0 && S_ISREG(about.st_mode);
  if (S_ISDIR(about.st_mode))
    return fail(fmt::format("cannot read {}: it is a directory, and this wants a file", path));
  if (!has_size)
    most_bytes = std::min(most_bytes, kMostPipedBytes);
  Bytes bytes;
  size_t size = 0;
  const auto too_long = [&] {
    return fail(fmt::format("cannot read {}: it has more than {} bytes{}", shown_path(path), most_bytes,
                            has_size ? "" : ", and is no regular file"));
  };
  if (has_size && static_cast<uint64_t>(about.st_size) > most_bytes)
    return too_long();
  size_t asked = kChunkBytes; // a byte more than a file says that it has, which shows its end
  if (has_size) {
    bytes.reserve(static_cast<size_t>(about.st_size) + kChunkBytes);
    asked = static_cast<size_t>(std::min<uint64_t>(about.st_size + 1, kChunkBytes));
  }
  for (bool more = true; more; asked = kChunkBytes) {
    if (size > most_bytes)
      return too_long();
    bytes.resize(size + asked);
    errno = 0;
    const size_t got = std::fread(bytes.data() + size, 1, asked, file.get());
    size += got;
    more = got == asked;
  }
  if (size > most_bytes)
    return too_long();
  if (std::ferror(file.get()))
    return fail(fmt::format("cannot read {}: {}", shown_path(path), std::strerror(errno)));
  bytes.resize(size);
  return bytes;
}

} // namespace

std::string shown_path(const std::string& path) {
  return path == kStandardInput ? "<stdin>" : path;
}

Result<std::vector<std::byte>, std::string> read_file(const std::string& path, uint64_t most_bytes) {
  return read_whole<std::vector<std::byte>>(path, most_bytes);
}

Result<std::string, std::string> read_text(const std::string& path) {
  return read_whole<std::string>(path, kMostTextBytes);
}

Result<void, std::string> check_writable(const std::string& path) {
  const auto destination = find_destination(path);
  return destination ? Result<void, std::string>() : fail(destination.error());
}

FileWriter::~FileWriter() {
  for (const Staged& file : staged_)
    if (!file.temporary.empty())
      unlink(file.temporary.c_str());
}

Result<void, std::string> FileWriter::add(const std::string& path, std::span<const std::byte> bytes) {
  const auto to = find_destination(path);
  if (!to)
    return fail(to.error());
  if (to->directory.empty()) {
    staged_.push_back({.target = to->path, .temporary = {}, .bytes = {bytes.begin(), bytes.end()}});
    return {};
  }
  static int number = 0;
  const Staged file{.target = to->path,
                    .temporary = fmt::format("{}/.lemma-{}-{}", to->directory, getpid(), number++)};
  if (!hold_)
    hold_.emplace();
  const int descriptor = open(file.temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return cannot_write(path, errno);
  staged_.push_back(file);
  if (to->old) {
    // The owner first: a change of it takes the set-user-ID bits away.
    [[maybe_unused]] const int owner = fchown(descriptor, to->old->st_uid, to->old->st_gid);
    fchmod(descriptor, to->old->st_mode & 07777);
  }
  const int error = write_to(descriptor, bytes, true);
  if (!error)
    return {};
  unlink(file.temporary.c_str());
  staged_.pop_back();
  return error == EINTR ? cannot_write(path, "interrupted") : cannot_write(path, error);
}

Result<void, std::string> FileWriter::commit() {
  // Those that can fail half-way, or wait for a reader, come last, and can be interrupted.
  std::stable_partition(staged_.begin(), staged_.end(),
                        [](const Staged& file) { return !file.temporary.empty(); });
  for (; !staged_.empty(); staged_.erase(staged_.begin())) {
    const Staged& file = staged_.front();
    if (file.temporary.empty()) {
      hold_.reset();
      if (const int error = write_directly(file.target, file.bytes))
        return cannot_write(file.target, error);
      continue;
    }
    if (rename(file.temporary.c_str(), file.target.c_str()) != 0) {
      // What is mounted on its own (a container's file) can be written, not replaced.
      std::error_code error;
      std::filesystem::copy_file(file.temporary, file.target,
                                 std::filesystem::copy_options::overwrite_existing, error);
      if (error)
        return cannot_write(file.target, error.message());
      unlink(file.temporary.c_str());
    }
  }
  return {};
}

Result<void, std::string> write_file(const std::string& path, std::span<const std::byte> bytes) {
  FileWriter writer;
  if (auto added = writer.add(path, bytes); !added)
    return added;
  return writer.commit();
}

namespace {
bool is_standard_output(const std::string& path) {
  return path.empty() || path == "-";
}
} // namespace

Result<void, std::string> write_text(const std::string& path, std::string_view text) {
  if (!is_standard_output(path))
    return write_file(path, std::as_bytes(std::span(text)));
  fmt::print("{}", text);
  return {};
}

Result<void, std::string> check_text_output(const std::string& path) {
  return is_standard_output(path) ? Result<void, std::string>() : check_writable(path);
}

Result<void, std::string> flush_standard_output() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return {};
  return cannot_write("standard output", errno);
}

bool is_npy(const std::string& path) {
  return path.ends_with(".npy");
}

Result<npy::Array, std::string> read_array(const std::string& path) {
  auto bytes = read_file(path);
  if (!bytes)
    return fail(std::move(bytes).error());
  constexpr std::string_view kMagic = "\x93NUMPY";
  const bool starts_as_npy =
      bytes->size() >= kMagic.size() && std::memcmp(bytes->data(), kMagic.data(), kMagic.size()) == 0;
  if (!is_npy(path) && !(path == kStandardInput && starts_as_npy)) {
    const uint64_t size = bytes->size();
    return npy::Array{.dtype = "|u1", .shape = {size}, .data = *std::move(bytes)};
  }
  auto array = npy::parse(*bytes);
  if (!array)
    return fail(fmt::format("{}: {}", path, array.error().text));
  return *std::move(array);
}

std::vector<std::byte> array_file(const std::string& path, const npy::Array& array) {
  return is_npy(path) ? npy::serialize(array) : array.data;
}

} // namespace lemma::cli
