// Version 2 tells in /proc/self/cgroup where the process lies; of version 1 a container sees its group as the
// root.
#include "support/control_group.h"

#include <fstream>

namespace lemma {
namespace {

const std::string kRoot = "/sys/fs/cgroup";

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

} // namespace

std::vector<std::string> control_group_lines(std::string_view file) {
  std::vector<std::string> lines;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) // "0::/user.slice/session"
      continue;
    for (std::string path = line.substr(3);; path.resize(path.rfind('/'))) {
      if (std::string found = first_line(kRoot + path + "/" + std::string(file)); !found.empty())
        lines.push_back(std::move(found));
      if (path.find('/') == path.npos)
        break;
    }
  }
  return lines;
}

std::string old_control_group_line(std::string_view file) {
  return first_line(kRoot + "/" + std::string(file));
}

} // namespace lemma
