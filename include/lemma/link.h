// Several PTX texts as one: what nvlink and nvJitLink do with relocatable code (nvcc -rdc=true -ptx).
//
// A name that is .extern in one text is what another one defines: .visible once, .weak any number of times
// (the first counts), .common as large as the largest. Names without a linkage are a text's own, and renamed
// where two texts have them (NAME$1). The result has the latest .target and .version of the texts, and their
// line numbers.
//
// Tests: tests/unit/runtime/link_test.cc, tests/cli/.
#pragma once

#include "lemma/message.h"
#include "lemma/result.h"
#include "lemma/verify.h"

#include <span>
#include <string>
#include <vector>

namespace lemma {

struct LinkedPtx {
  std::string text;
  std::vector<Message> messages; // warnings about the texts, in their order
};

// Each text is checked as verify_ptx() does. Error::rejected: one of them is not legal, nothing or two things
// define a name, declarations differ, the targets are of different machines; the messages say where.
// Error::invalid_argument: no texts. Functions of the device runtime that a launch has (vprintf,
// __assertfail, malloc, free) need no definition. PtxText::lint is not looked at.
Result<LinkedPtx, Error> link_ptx(std::span<const PtxText> texts);

} // namespace lemma
