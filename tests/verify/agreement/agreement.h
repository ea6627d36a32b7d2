// What ptxas said of many instructions on many targets in many PTX versions, recorded, so that whoever has no
// ptxas can ask whether parser and verifier say the same.
//
// Spellings come from four places: libcu++'s headers (libcudacxx.txt), LLVM's back end (llvm.txt), the rows
// of Lemma itself (tests/generate/sampler.h), and what none of them writes (written.txt); directives and
// pragmas from modules of one each (directives.txt). record_agreement asks ptxas; agreement_test replays what
// it said.
#pragma once

#include "agreement/grid.h"
#include "oracle.h"

#include <string>
#include <string_view>
#include <vector>

namespace lemma::verify_test {

// An instruction, and where ptxas takes it.
struct Verdicts {
  std::string instruction;
  LegalAt legal;
};

// A module of directives by its name at one target and version, and whether ptxas takes it.
struct Judgement {
  Probe probe;
  bool legal = false;
};

// The instruction as the PTX ISA counts them: opcode and section, "add, floating-point-instructions-add", of
// what the text's words name; the first word where Lemma knows none.
std::string instruction_of(std::string_view text);

// Instructions that are legal at the same points (grid.h) stand together, a line each, below "== " and where
// that is; # begins a comment. Empty when the file is not there.
std::vector<Verdicts> read_verdicts_on_grid(const std::string& path);
std::string to_text(const std::vector<Verdicts>& verdicts);

// A line for each module: its name, then "target version ok" or "... bad" for each judgement, apart by
// tabs; # begins a comment. Empty when the file is not there.
std::vector<Judgement> read_judgements(const std::string& path);
std::string to_text(const std::vector<Judgement>& judgements);

// A module of directives.txt: what comes after its head.
struct DirectiveModule {
  std::string name; // "reqnctapercluster three"
  std::string body;
};
std::vector<DirectiveModule> read_modules(const std::string& path);
// With .version, .target and .address_size.
std::string text_of(const DirectiveModule& module, std::string_view target, std::string_view version);

// Lines of a file that are neither empty nor comments.
std::vector<std::string> read_lines(const std::string& path);

} // namespace lemma::verify_test
