// Every place that a report names: what src/runtime adds to all of them.
#pragma once

#include "lemma/report.h"

namespace lemma::runtime {

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
