// The lines of the sources that PTX was compiled from, as far as the files are there: beside the PTX or under
// the working directory, by the name that .file gives, and beside the PTX by its last part.
//
// A PTX text may name any file, so only regular files are read whose names end as sources do (.cu, .py,
// .mlir,
// ...), and none above 16 MiB.
//
// Tests: tests/unit/runtime/source_lines_test.cc.
#pragma once

#include "lemma/report.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::runtime {

class SourceLines {
public:
  // `ptx`: the name of the PTX file.
  explicit SourceLines(std::string_view ptx);

  // Without the blanks at its ends; empty if there is none, or it is not known. `line` is 1-based.
  std::string line(const std::string& file, uint32_t line);

  // Fills in the source_text of the place and of the calls that inlined it.
  void show(Place& place);

private:
  const std::vector<std::string>& lines_of(const std::string& file);

  std::string folder_; // of the PTX
  std::map<std::string, std::vector<std::string>, std::less<>> files_;
};

// SourceLines::show() wherever a report has a place.
void show_sources(Report& report, std::string_view ptx);

} // namespace lemma::runtime
