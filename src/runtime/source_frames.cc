// The lines of the source behind a place, and which is the user's own. See include/lemma/report.h.
//
// Of a header only its path is known. It is the system's or a toolkit's - in a folder `include` of /usr (not
// /usr/src), of /opt/nvidia, of a folder cuda or cuda-13.0, or of targets/<platform> as in every CUDA
// toolkit -, that of a template library (include/cute), or a Python package's, such as the functions of
// Triton's language.
//
// Tests: tests/unit/runtime/source_frames_test.cc.
#include "lemma/report.h"

#include "runtime/places.h"

#include <algorithm>
#include <filesystem>

namespace lemma {
namespace {

bool is_cuda_folder(std::string_view name) {
  return name == "cuda" || name == "cuda_runtime" ||
         (name.starts_with("cuda-") && name.size() > 5 && name[5] <= '9');
}

// Of NVIDIA's, as projects have them in a folder of their own.
bool is_template_library(std::string_view name) {
  return name == "cutlass" || name == "cute" || name == "cub" || name == "thrust";
}

} // namespace

bool runtime::is_library(const std::string& file) {
  std::vector<std::string> folders;
  const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
  for (const auto& folder : path.parent_path())
    folders.push_back(folder.string());
  const auto has = [&](std::string_view name) {
    return std::find(folders.begin(), folders.end(), name) != folders.end();
  };
  if (has("site-packages") || has("dist-packages"))
    return true;
  const auto begins = [&](std::string_view prefix) { return path.string().starts_with(prefix); };
  for (size_t i = 0; i < folders.size(); ++i) {
    if (folders[i] != "include")
      continue;
    if ((i >= 1 && is_cuda_folder(folders[i - 1])) || (i >= 2 && folders[i - 2] == "targets") ||
        (i + 1 < folders.size() && is_template_library(folders[i + 1])))
      return true;
  }
  const bool is_systems =
      (begins("/usr/") && !begins("/usr/src/") && !begins("/usr/local/src/")) || begins("/opt/nvidia/");
  return is_systems && has("include");
}

std::vector<SourceFrame> frames_of(const Place& place) {
  if (place.file.empty() && place.inlined_at.empty())
    return {};
  std::vector<SourceFrame> frames = {
      {.file = place.file,
       .line = place.line,
       .function = place.inlined_at.empty() ? place.function : place.inlined_function,
       .source_text = place.source_text}};
  frames.insert(frames.end(), place.inlined_at.begin(), place.inlined_at.end());
  return frames;
}

size_t users_frame(const Place& place) {
  const std::vector<SourceFrame> frames = frames_of(place);
  const auto own = std::find_if(frames.begin(), frames.end(), [](const SourceFrame& frame) {
    return !frame.file.empty() && !runtime::is_library(frame.file);
  });
  if (own != frames.end())
    return static_cast<size_t>(own - frames.begin());
  return frames.empty() ? 0 : frames.size() - 1;
}

} // namespace lemma

std::pair<std::string, uint32_t> lemma::runtime::users_line(const Place& place, const std::string& ptx) {
  const std::vector<SourceFrame> frames = frames_of(place);
  if (frames.empty())
    return {ptx, place.ptx_line};
  const SourceFrame& own = frames[users_frame(place)];
  return {own.file, own.line};
}
