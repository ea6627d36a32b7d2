// Findings that are known, and stay: a text file says which, and why.
//
//   # comment
//   race.shared reduce.cu:41        # the warp runs in step here: see the note in reduce.cu
//   race.*      my_kernel           # hand-written, sm_70 only
//   async.unwaited gemm.ptx:100-120 copy_tile  # filled again by the next launch
//
// A line is an id, then in any order a place and a function, each at most once, then the reason, which must
// be there. Id, file and function may have `*` (any characters) and `?` (any one). A place is a file, with a
// line or a range of lines behind it: of the source (where the code was inlined, too), or of the PTX. `a.cu`
// stands for an a.cu in any folder. A function is the kernel's or the one that the access is in. A finding is
// suppressed if its id fits, and one of its two accesses fits the place and the function.
//
// Findings in the headers of libraries: suppress_in_libraries().
//
// Tests: tests/unit/runtime/suppressions_test.cc, library_suppressions_test.cc, tests/cli/check_cli_test.py.
#pragma once

#include "lemma/message.h"
#include "lemma/report.h"
#include "lemma/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma {

struct Suppression {
  std::string id;                         // may have * and ?
  std::string file = {};                  // likewise; empty: any
  uint32_t first_line = 0, last_line = 0; // 0: any
  std::string function = {};              // likewise; empty: any
  std::string why = {};                   // never empty
  uint32_t line = 0;                      // where it stands in the file
  uint64_t used = 0;                      // findings that it has suppressed
};

class Suppressions {
public:
  // `name`: of the file, for messages. Error: rejected, with a message for each line that is wrong.
  static Result<Suppressions, Error> parse(std::string_view text, std::string name);

  // Sets Finding::suppressed. Of several entries that fit the first counts as used.
  void apply(std::span<Finding> findings);

  const std::string& name() const { return name_; }
  const std::vector<Suppression>& entries() const { return entries_; }
  // A warning for each entry that has suppressed nothing so far.
  std::vector<Message> unused() const;

private:
  std::string name_;
  std::string text_;
  std::vector<Suppression> entries_;
};

// A finding in the headers of a library that holds by the letter of the PTX ISA, whatever the program does,
// and of which its user can do nothing: src/runtime/library_suppressions.def. It fits where both accesses lie
// in these headers, at lines of this version.
struct LibrarySuppression {
  std::string_view library;         // "CUB 3.0.1 (CUDA 13.0)"
  std::string_view mark;            // a part of the names of that version's functions
  std::string_view id;              // of the finding
  std::string_view access, earlier; // "FILE:LINE,LINE-LINE ...": all of them; `earlier` empty: it has none
  std::string_view why;
};

std::span<const LibrarySuppression> library_suppressions();

// The entry that fits a finding, if one does.
const LibrarySuppression* library_suppression_of(const Finding& finding);
// Sets Finding::suppressed, and the reason: "CUB 3.0.1 (CUDA 13.0): ...".
void suppress_in_libraries(std::span<Finding> findings);
// Has that suppressed it?
bool is_suppressed_in_library(const Finding& finding);

} // namespace lemma
