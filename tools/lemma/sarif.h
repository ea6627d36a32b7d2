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
#include "lemma/result.h"

#include <nlohmann/json_fwd.hpp>

#include <set>
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

// "partialFingerprints" of the finding: 16 digits. Findings that are told apart by where they are alone have
// the same.
std::string fingerprint(const Finding& finding);
// Of all results of a SARIF file. Error: it is none of Lemma's.
Result<std::set<std::string>, std::string> read_fingerprints(const std::string& file);

} // namespace lemma::cli
