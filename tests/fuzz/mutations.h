// What programs that mutate seeds have in common: PROGRAM [--inputs N] [--seed N] FILE_OR_FOLDER...
// N times a seed is mutated, the same way for the same seed, and checked. Every seed must be accepted as it
// is. An input that fails is written to failed.input. Not a substitute for libFuzzer: nothing is learned from
// one input to the next.
#pragma once

#include "front_end.h"

#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::fuzz {

using Check = std::function<Verdict(std::string_view)>;
using Mutate = std::function<std::string(const std::vector<std::string>& seeds, std::mt19937_64& random)>;

// The program's exit status.
int run_mutations(int argc, char** argv, const Check& check, const Mutate& mutate);

} // namespace lemma::fuzz
