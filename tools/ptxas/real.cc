// Programs are told apart by device and inode, so that a link to one counts as that one.
#include "real.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

namespace lemma::ptxas {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";
constexpr const char* kBefore = "LEMMA_PTXAS_BEFORE";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= list.size() && !list.empty();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    parts.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Programs by their files: links to them count as them.
class Programs {
public:
  void add(const std::string& path) {
    struct stat file{};
    if (::stat(path.c_str(), &file) == 0)
      files_.emplace_back(file.st_dev, file.st_ino);
  }
  bool has(const struct stat& file) const {
    return std::ranges::find(files_, std::pair(file.st_dev, file.st_ino)) != files_.end();
  }

private:
  std::vector<std::pair<dev_t, ino_t>> files_;
};

bool is_other_program(const std::string& path, const Programs& own) {
  struct stat file{};
  return ::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && ::access(path.c_str(), X_OK) == 0 &&
         !own.has(file);
}

} // namespace

std::string find_real() {
  Programs own;
  own.add(kThisProgram);
  for (const std::string& each : split(variable(kBefore)))
    own.add(each);
  if (const std::string named = variable("LEMMA_PTXAS"); is_other_program(named, own))
    return named;
  for (const std::string& folder : split(variable("PATH")))
    if (std::string path = (folder.empty() ? "." : folder) + "/ptxas"; is_other_program(path, own))
      return path;
  for (const std::string& toolkit :
       {variable("CUDA_HOME"), variable("CUDA_PATH"), std::string("/usr/local/cuda")})
    if (std::string path = toolkit + "/bin/ptxas"; !toolkit.empty() && is_other_program(path, own))
      return path;
  return {};
}

void pass_on() {
  char path[4096];
  const ssize_t length = ::readlink(kThisProgram, path, sizeof path);
  if (length <= 0)
    return;
  const std::string before = variable(kBefore), own(path, static_cast<size_t>(length));
  ::setenv(kBefore, (before.empty() ? own : before + ":" + own).c_str(), 1);
}

} // namespace lemma::ptxas
