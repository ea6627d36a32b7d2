// Messages for people: where, what was found, what is legal, what to do, which section says so.
//
//   gemm.ptx:41:33: error[shape]: wgmma.mma_async has no shape .m64n20k16
//    41 |    wgmma.mma_async.sync.aligned.m64n20k16.f32.f16.f16 ...
//       |                                ^~~~~~~~~~
//     legal: .m64nNk16 with N = 8..256 in steps of 8 (nearest: 16, 24)
//     see:   PTX ISA, wgmma.mma_async (since PTX 8.0, sm_90a)
//
// Severity and Note are public: include/lemma/message.h.
//
// Tests: tests/unit/support/.
#pragma once

#include "lemma/message.h"
#include "support/result.h"
#include "support/source.h"

#include <string>
#include <string_view>
#include <vector>

namespace lemma {

// A part of the text, and what would be right there.
struct Replacement {
  SourceRange range; // empty: to be inserted
  std::string text;
};

struct Diagnostic {
  Severity severity = Severity::error;
  std::string id;      // stable, one word or dashed words: "shape", "unknown-opcode"
  std::string message; // one line, no full stop
  SourceRange range;   // what the caret marks
  // Further lines, in order, each a label and its text: {"legal", "..."}, {"did you mean", "..."}, {"see",
  // "..."}.
  using Note = lemma::Note;
  std::vector<Note> notes;
  // Where the repair is mechanical: of all places that the message is about. It is shown as a note, "fix".
  std::vector<Replacement> repairs = {};
};

using Diagnostics = std::vector<Diagnostic>;

bool has_errors(const Diagnostics& diagnostics); // anything but warnings
// Whether what is wrong, if anything is, is but unsupported.
bool may_be_legal(const Diagnostics& diagnostics);

// The notes of a message, with the one that its repairs make.
std::vector<Diagnostic::Note> notes_of(const Diagnostic& diagnostic);

// The text with all repairs but those that overlap others before them; `made` counts.
std::string apply_repairs(std::string_view text, const Diagnostics& diagnostics, size_t& made);

// What a message says is in bytes no longer than this, however long the names are that it quotes.
inline constexpr size_t kLongestMessage = 4000;

// The text, or its beginning and its end with " ... " between them: `most` bytes at most.
std::string shortened(std::string text, size_t most);

// The message as above, with a trailing newline. Tabs before the caret are kept, so that it stands under its
// text; long source lines are cut around the caret, long texts in their middle.
std::string render(const Diagnostic& diagnostic, const SourceText& source);
std::string render(const Diagnostics& diagnostics, const SourceText& source);

// The candidates nearest to `word` by edit distance (a swap of neighbours is one edit), nearest first, none
// further than a third of its length; none for a word so long that nobody has mistyped it.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string_view>& candidates,
                                 size_t at_most = 3);

} // namespace lemma
