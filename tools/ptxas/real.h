// Which ptxas stands behind Lemma's:
//
//   LEMMA_PTXAS          that program, if it is one
//   PATH                 the first ptxas in it that is none of Lemma's
//   CUDA_HOME, CUDA_PATH, /usr/local/cuda    in their bin
//
// Lemma's own: this program, and those that have started it one after the other (LEMMA_PTXAS_BEFORE), as a
// `lemma exec` inside another has it.
//
// Tests: tests/exec/ptxas_test.py.
#pragma once

#include <string>

namespace lemma::ptxas {

// Its path; empty: there is none.
std::string find_real();

// What starts next knows that this was one of Lemma's.
void pass_on();

} // namespace lemma::ptxas
