// PTX text checked against the PTX ISA, without a device.
//
// Tests: tests/unit/runtime/api_test.cc, tests/verify/, tests/cli/.
#pragma once

#include "lemma/message.h"
#include "lemma/result.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace lemma {

struct Verification {
  bool accepted = false;         // the assembler for the text's .target would take it; warnings do not matter
  std::vector<Message> messages; // in the order of the text
  // Pairs of mul and add or sub without .rn that ptxas may make one fma of: where it does, a GPU's bits are
  // not those of the virtual GPU. A warning at each add; none unless `accepted`.
  std::vector<Message> fusions;
  // What can be told without a run of races, missing waits and fences, and misuse, if asked for: warnings
  // with the ids of Finding. None unless `accepted`.
  std::vector<Message> lint = {};
  // Nothing is wrong, but something is not understood, as an `unsupported` message says: the text may be
  // legal in its PTX version, which is later than what is known here. `accepted` is false.
  bool undecided = false;
};

// Checks PTX text against the PTX ISA for its own .target and .version. `name` is for the messages. `lint`:
// finds what Verification::lint says.
Verification verify_ptx(std::string text, std::string name = "<ptx>", bool lint = false);

struct RepairedPtx {
  std::string text;
  size_t repairs = 0;        // made; 0: the text is as it was
  Verification verification; // of the repaired text
};

// The text with the repairs that its messages offer, and those that the messages about the result offer,
// until there are none: in the ISA's spelling, with what was forgotten. All else stays as it stands in the
// text.
RepairedPtx repair_ptx(std::string text, std::string name = "<ptx>");

struct PtxText {
  std::string text;
  std::string name; // for the messages
  bool lint = false;
};

// Checks `count` texts on up to `threads` threads (0: as many as the host has cores). `read(i)` gives text i,
// or why there is none; it is called on any thread, several at a time. `take(i, ...)` gets what became of it,
// in the order of i, one call at a time. What they throw comes out.
void verify_each(size_t count, const std::function<Result<PtxText, Error>(size_t)>& read,
                 const std::function<void(size_t, Result<Verification, Error>)>& take, unsigned threads = 0);

} // namespace lemma
