// Cases of group `layout`: who holds what, shown by the hardware itself.
//
// Matrix instructions meet elements that tell their places, numbered [register][lane][element], so that the
// cases are made without any notion of the fragments. See layout.cc.
//
// Tests: tests/golden/layout_test.cc.
#pragma once

#include "golden/case.h"
#include "golden/matrix.h"

namespace lemma::golden {

// What a case of the group is of.
struct LayoutSubject {
  MatrixSpelling spelling = {};
  int selector = -1; // of a sparse row; dense: -1
  int columns = 0;   // N of the spelling

  std::string name() const; // the case's: the spelling, and ".selector0"
};

// Every row that the target has: a spelling for each of its orders of A and B, or numbers of matrices, and a
// few widths of wgmma.
std::vector<LayoutSubject> layout_subjects();
std::vector<Case> layout_cases(std::string_view group);

} // namespace lemma::golden
