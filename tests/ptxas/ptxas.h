// ptxas as the judge of what is legal, and what it said before: answers.txt has its verdict on every text
// that the tests ask about, so that they need not start it, and ask the same where it is not installed.
//
// A text that is not among the answers is put to ptxas; where there is none, nobody answers. What the
// environment variable LEMMA_PTXAS says changes that, or else the CMake variable: `ask`, or the path of a
// ptxas, puts everything to ptxas and lets the process fail where an answer is another than the recorded one
// (`make test-long`); `write:FILE` does so without comparing and appends each answer to FILE
// (scripts/record_ptxas.sh makes answers.txt of that).
//
// Tests: tests/ptxas/ptxas_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace lemma::ptxas {

struct Answer {
  bool accepts = false;
  std::set<size_t> wrong_lines{}; // that it names in an error, counted from 1
  std::string text{};             // what it printed; empty if the answer is a recorded one
  friend bool operator==(const Answer& a, const Answer& b) {
    return a.accepts == b.accepts && a.wrong_lines == b.wrong_lines;
  }
};

// Path of ptxas: what LEMMA_PTXAS names, else $PTXAS, else the first in $PATH, else that of the toolkit;
// empty when there is none.
std::string find();
// Whether everything is put to it, recorded or not.
bool asks_all();

// What `ptxas OPTIONS` says of the module, for instance with "-c -O0 -arch=sm_90a". None: it is not recorded,
// and there is no ptxas. A crash of ptxas is a refusal.
std::optional<Answer> ask(std::string_view module, const std::string& options);

// What ptxas says now, of which nothing is recorded, for those who ask millions of questions; there has to be
// one.
struct Reading {
  bool succeeded = false;
  std::set<size_t> wrong_lines{}; // as in Answer
  size_t stopped_at = 0;          // the line that it read no further than; 0: it read all
  std::string text{};             // what it printed
};
Reading read(std::string_view module, const std::string& options);

// A digest of the machine code and the initialized data that ptxas makes of the module; 0 where it refuses.
std::optional<uint64_t> code_of(std::string_view module, const std::string& options);

// For messages of tests that cannot go on.
inline constexpr const char* kNobodyAnswers = "no ptxas, and its answer is not recorded";

// Skips a GoogleTest where there is no answer. A macro, since GTEST_SKIP returns from the function that it
// stands in.
#define LEMMA_SKIP_WITHOUT_PTXAS(answer)                                                                     \
  if (!(answer))                                                                                             \
  GTEST_SKIP() << ::lemma::ptxas::kNobodyAnswers

} // namespace lemma::ptxas
