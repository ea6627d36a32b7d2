// See assemble.h. ptxas is started without a shell, works in a folder of its own for temporary files, and
// what it prints is read to the end; it has succeeded where it has written a cubin.
#include "runtime/assemble.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace lemma::runtime {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostPrinted = size_t{64} << 10; // of what ptxas prints; the rest is read and dropped

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "lemma-ptxas-XXXXXX").string();
    if (!error && ::mkdtemp(name.data()))
      path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  fs::path path; // empty: there is none
};

// Runs it to its end. Value: what it printed. Error: why it did not start.
Result<std::string, std::string> run(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(std::string(std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<char*> pointers;
  for (const std::string& word : words)
    pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int why = ::posix_spawn(&child, words[0].c_str(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string printed;
  std::array<char, 4096> buffer{};
  for (ssize_t bytes = 1; why == 0 && bytes != 0;) {
    bytes = ::read(ends[0], buffer.data(), buffer.size());
    if (bytes > 0 && printed.size() < kMostPrinted)
      printed.append(buffer.data(), static_cast<size_t>(bytes));
    if (bytes < 0 && errno != EINTR)
      break;
  }
  ::close(ends[0]);
  while (why == 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (why != 0)
    return fail(std::string(std::strerror(why)));
  return printed;
}

// "13.5.37" of "Cuda compilation tools, release 13.5, V13.5.37".
std::string release_of(const std::string& path) {
  const Result<std::string, std::string> printed = run({path, "--version"});
  const size_t at = printed ? printed->find(", V") : std::string::npos;
  if (at == std::string::npos)
    return "";
  const size_t begin = at + std::strlen(", V");
  return printed->substr(begin, printed->find_first_not_of("0123456789.", begin) - begin);
}

// Its errors alone, in a few lines; what ptxas calls the text is a file that nobody knows.
std::string shown(std::string printed, const std::string& file) {
  for (size_t at = printed.find(file); at != std::string::npos; at = printed.find(file, at))
    printed.replace(at, file.size(), "the text");
  std::istringstream lines(printed);
  constexpr int kMostLines = 8;
  std::string kept;
  int count = 0;
  for (std::string line; std::getline(lines, line) && count < kMostLines;)
    if (line.find("error") != line.npos || line.find("fatal") != line.npos) {
      kept += (count == 0 ? "" : "\n    ") + line;
      ++count;
    }
  return kept.empty() ? "made no cubin" : kept;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return std::move(bytes).str();
}

} // namespace

std::string newest_ptx_in(std::string_view log) {
  constexpr std::string_view kRefusal = "Unsupported .version ";
  constexpr std::string_view kNewest = "; current version is '";
  const size_t refusal = log.find(kRefusal);
  const size_t at = refusal == log.npos ? log.npos : log.find(kNewest, refusal);
  if (at == log.npos)
    return "";
  const std::string_view rest = log.substr(at + kNewest.size());
  const std::string_view version = rest.substr(0, rest.find('\''));
  return version.find_first_not_of("0123456789.") == version.npos ? std::string(version) : "";
}

Result<Assembled, std::vector<std::string>> assemble(const std::vector<std::string>& paths,
                                                     std::string_view ptx, const std::string& arch,
                                                     unsigned optimization) {
  std::vector<std::string> refusals;
  const TemporaryFolder folder;
  if (folder.path.empty())
    return fail(std::vector<std::string>{"cannot make a folder for temporary files (TMPDIR)"});
  const std::string text = folder.path / "text.ptx", cubin = folder.path / "text.cubin";
  if (!(std::ofstream(text, std::ios::binary) << ptx).flush())
    return fail(std::vector<std::string>{"cannot write temporary files (TMPDIR)"});
  for (const std::string& path : paths) {
    const Result<std::string, std::string> printed =
        run({path, fmt::format("-O{}", optimization), "-arch=" + arch, text, "-o", cubin});
    std::error_code error;
    if (printed && fs::file_size(cubin, error) > 0 && !error) {
      const std::string release = release_of(path);
      return Assembled{.cubin = read_file(cubin), .by = release.empty() ? path : path + " " + release};
    }
    const std::string newest = printed ? newest_ptx_in(*printed) : "";
    refusals.push_back(fmt::format("{}: {}", path,
                                   !newest.empty() ? fmt::format("takes PTX up to {}", newest)
                                                   : (printed ? shown(*printed, text) : printed.error())));
  }
  return fail(std::move(refusals));
}

} // namespace lemma::runtime
