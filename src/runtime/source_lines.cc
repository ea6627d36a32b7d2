// Files are read once a report, and only if a place names one. See source_lines.h.
#include "runtime/source_lines.h"

#include "runtime/places.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace lemma::runtime {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytes = uint64_t{1} << 24;

bool is_source(const fs::path& path) {
  constexpr std::string_view kEndings[] = {".cu",  ".cuh", ".py",  ".mlir", ".c",   ".h",  ".cc", ".hh",
                                           ".cpp", ".hpp", ".cxx", ".inl",  ".inc", ".jl", ".rs", ".ptx"};
  return std::find(std::begin(kEndings), std::end(kEndings), path.extension().string()) != std::end(kEndings);
}

bool is_readable(const fs::path& path) {
  std::error_code error;
  return is_source(path) && fs::is_regular_file(path, error) && fs::file_size(path, error) <= kMostBytes &&
         !error;
}

} // namespace

SourceLines::SourceLines(std::string_view ptx) : folder_(fs::path(ptx).parent_path().string()) {}

const std::vector<std::string>& SourceLines::lines_of(const std::string& file) {
  const auto [at, is_new] = files_.try_emplace(file);
  if (!is_new)
    return at->second;
  const fs::path named(file), folder(folder_);
  for (const fs::path& path :
       {folder / named, named, folder / named.filename()}) // `folder / absolute` is that
    if (is_readable(path)) {
      std::ifstream in(path, std::ios::binary);
      for (std::string line; std::getline(in, line);)
        at->second.push_back(std::move(line));
      break;
    }
  return at->second;
}

std::string SourceLines::line(const std::string& file, uint32_t line) {
  if (file.empty() || line == 0)
    return {};
  const std::vector<std::string>& lines = lines_of(file);
  if (line > lines.size())
    return {};
  const std::string& text = lines[line - 1];
  const size_t begin = text.find_first_not_of(" \t\r");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

void SourceLines::show(Place& place) {
  place.source_text = line(place.file, place.line);
  for (SourceFrame& call : place.inlined_at)
    call.source_text = line(call.file, call.line);
}

void show_sources(Report& report, std::string_view ptx) {
  SourceLines sources(ptx);
  for_each_place(report, [&](Place& place) { sources.show(place); });
}

} // namespace lemma::runtime
