// Every target in every PTX version that has it, from PTX 2.3 on - the points of the grid -, and at which of
// them an instruction is legal: to the assembler, and to parser and verifier.
//
// Both are asked about many instructions at once, a line each in one module. Of the assembler only what names
// a line counts: what its code generator has to say of operands is not asked (oracle.h, judge()).
#pragma once

#include "isa/target.h"

#include <string>
#include <string_view>
#include <vector>

namespace lemma::verify_test {

struct Point {
  isa::Target target;
  isa::IsaVersion version;
};

// Target by target, versions ascending.
const std::vector<Point>& points();
// "sm_90a 8.0"
std::string to_string(const Point& point);

// For each of points(): whether the instruction is legal there.
using LegalAt = std::vector<bool>;

// Since which version on which targets: "7.0 sm_80+; 8.6-8.7 sm_100a sm_101a". sm_80+ is sm_80 and every
// later target, a version without a last one goes up to the newest; "nowhere".
std::string to_text(const LegalAt& legal);
LegalAt parse_legal(std::string_view text);

// For each instruction; at other points than those of `where`, which are indices, the answer is false.
std::vector<LegalAt> judged_by_ptxas(const std::vector<std::string>& instructions,
                                     const std::vector<size_t>& where);
std::vector<LegalAt> judged_by_lemma(const std::vector<std::string>& instructions,
                                     const std::vector<size_t>& where);
std::vector<size_t> everywhere();
// All versions of the targets that code with the newest instructions is written for, as CUDA's headers are.
std::vector<size_t> headers();
// Every target in the newest version, and some targets in all versions.
std::vector<size_t> cross();

} // namespace lemma::verify_test
