// Every place that a report names: what src/runtime adds to all of them, and how it calls them.
#pragma once

#include "lemma/report.h"

#include <cstdint>
#include <string>
#include <utility>

namespace lemma::runtime {

// The file and the line of users_frame(); where the PTX has no .loc, `ptx` and the line there.
std::pair<std::string, uint32_t> users_line(const Place& place, const std::string& ptx); // source_frames.cc

// Is a source file, by its path, a header of the system, of a toolkit or of a template library?
bool is_library(const std::string& file); // source_frames.cc

template <class Visit>
void for_each_place(Report& report, const Visit& visit) {
  if (report.fault)
    visit(report.fault->place);
  for (Waiting& waiting : report.waiting)
    visit(waiting.place);
  for (UninitializedRead& read : report.uninitialized)
    visit(read.place);
  for (Finding& finding : report.findings) {
    visit(finding.access.place);
    if (finding.earlier)
      visit(finding.earlier->place);
  }
}

} // namespace lemma::runtime
