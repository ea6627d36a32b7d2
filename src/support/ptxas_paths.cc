// The environment is read anew at each call. See ptxas_paths.h.
#include "support/ptxas_paths.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

namespace lemma {

namespace fs = std::filesystem;

std::vector<std::string> ptxas_paths() {
  if (const char* given = std::getenv("PTXAS"))
    return *given ? std::vector<std::string>{given} : std::vector<std::string>();
  std::vector<std::string> paths;
  std::set<fs::path> seen;
  const auto look_in = [&](const std::string& folder) {
    const std::string path = folder + "/ptxas";
    std::error_code error;
    if (!folder.empty() && fs::is_regular_file(path, error) && seen.insert(fs::canonical(path, error)).second)
      paths.push_back(path);
  };
  const char* const folders = std::getenv("PATH");
  std::istringstream in(folders ? folders : "");
  for (std::string folder; std::getline(in, folder, ':');)
    look_in(folder);
  look_in("/usr/local/cuda/bin");
  return paths;
}

} // namespace lemma
