// Whether the benchmarks run and compute what they should, without measuring: `lemma_bench --moment` runs
// each row once, on less where it takes long, and compares what its kernels leave in memory with
// bench/results.txt.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lemma::bench {

// Set before rows are registered; ends the process where the file of results cannot be read. `write_to`: a
// file to write the results to, in the place of comparing.
void begin_moment(const std::string& write_to);
bool is_moment();

// What takes long: `full`, or in a moment `little`.
template <class T>
T in_full_or(T full, T little) {
  return is_moment() ? little : full;
}

// A kernel of the row that runs ends, and leaves this in an allocation.
void leave(std::span<const std::byte> bytes);

// The row has run. What is wrong with what its kernels left; empty: nothing. Rows without kernels leave
// nothing.
std::string end_row(const std::string& name);

// All rows have run: writes what was asked for.
void end_moment();

} // namespace lemma::bench
