// What one core of the host does at most: f32 fused multiply-adds from registers, with the widest vectors
// that the virtual GPU's lane loops use.
#pragma once

namespace lemma::bench {

// GFLOP/s of CPU time, measured once a process (a fused multiply-add is two).
double host_fma_peak_gflops();

} // namespace lemma::bench
