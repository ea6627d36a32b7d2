// What one core of the host does at most: f32 fused multiply-adds from registers, with the widest vectors
// that the virtual GPU's lane loops use.
#pragma once

namespace lemma::bench {

// GFLOP/s of CPU time, measured once a process (a fused multiply-add is two).
double host_fma_peak_gflops();

// The same of 8-bit integer multiply-adds, by what the matrix arithmetic would use at best: AMX, VNNI, or
// products of 16-bit pairs.
double host_int8_peak_gops();

} // namespace lemma::bench
