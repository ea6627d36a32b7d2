// The library's inner diagnostics and reports as the public API shows them: rendered for a terminal, in the
// form of support/diagnostic.h.
//
//   gemm.ptx:41: fault[out of bounds]: st.global of 4 bytes at 0x1f0000001000 is outside every allocation
//    41 |    st.global.f32 [%rd4], %f1;
//       |    ^~~~~~~~~~~~~~~~~~~~~~~~~~
//     source:  gemm.cu:17, in gemm
//     where:   CTA 3,0,0, warp 2, lane 31
//     address: 0x00001f0000001000
//     nearest: arg 2 (out), 4096 bytes, ends where this begins
//
// Tests: tests/unit/runtime/report_text_test.cc, tests/cli/.
#pragma once

#include "lemma/message.h"
#include "lemma/report.h"
#include "support/diagnostic.h"

#include <string>

namespace lemma::runtime {

Message to_message(const Diagnostic& diagnostic, const SourceText& source);

// Finding::rendered. The texts of the modules that the two accesses are in; null: it is no kernel's.
std::string render_finding(const Finding& finding, const SourceText* source,
                           const SourceText* earlier_source);

// Everything in the report that is worth a line, but for findings: fault, waiting warps, reads of what was
// never written, warnings. Empty if there is nothing. `source` is the module's text.
std::string render_report(const Report& report, const SourceText& source);

} // namespace lemma::runtime
