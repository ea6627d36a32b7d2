// The findings of a run, and its fault, as SARIF 2.1.0: what GitHub's code scanning and editors read.
//
// A result's place is the line of the source if the PTX has .loc, else of the PTX; of inlined code the user's
// own line (users_frame() in lemma/report.h): an alert in a header of CUDA would be in no file of the
// repository. The earlier access, the PTX behind a source line and the other lines of inlined code are
// related places. A suppressed finding is a result with a suppression. Fingerprints follow from ids and text,
// not from line numbers.
//
// SARIF 2.1.0, OASIS; "SARIF support for code scanning", GitHub. Tests: tests/cli/check_cli_test.py.
#pragma once

#include "lemma/findings.h"
#include "lemma/process_reports.h"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>

namespace lemma::cli {

struct SarifRun {
  std::span<const Finding> findings; // notes and suppressed ones too
  std::span<const KernelFault> faults = {};
  std::string file = {}; // that was run: the PTX that faults' places are in
  std::string command = {};
  int exit_status = 0;
};
nlohmann::json to_sarif(const SarifRun& run);

} // namespace lemma::cli
