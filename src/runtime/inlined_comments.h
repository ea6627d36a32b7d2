// The calls of inlined code where the PTX has them in a comment alone. LLVM's back end, and so Triton, writes
// .loc without `inlined_at`, and behind it what it knows:
//
//   .loc 2 291 36    // standard.py:291:36 @[ rows.py:20:19 @[ rows.py:30:5 ] ]
//
// The comment is taken only if it begins with the line that .loc has. Names of functions are not in it.
//
// LLVM: DebugLoc::print, MCAsmStreamer. Tests: tests/unit/runtime/inlined_comments_test.cc,
// tests/cli/lines_cli_test.py.
#pragma once

#include "lemma/report.h"

#include "ptx/module.h"

namespace lemma::runtime {

// Fills in Place::inlined_at of a place without; the same wherever a report has one.
void add_inlined_calls(Place& place, const ptx::Module& module);
void add_inlined_calls(Report& report, const ptx::Module& module);

} // namespace lemma::runtime
