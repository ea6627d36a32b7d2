// A histogram whose bins do not fit one CTA: a cluster of CTAs holds them, each a part in its shared memory,
// and every thread counts into the part of whichever CTA has its bin (distributed shared memory). The launch
// names the cluster.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr unsigned kBinsPerCta = 256;

extern "C" __global__ void cluster_histogram(const unsigned* values, unsigned n, unsigned* bins) {
  __shared__ unsigned counts[kBinsPerCta];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned ctas = cluster.num_blocks();
  for (unsigned i = threadIdx.x; i < kBinsPerCta; i += blockDim.x)
    counts[i] = 0;
  cluster.sync(); // every CTA has started and zeroed its part
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const unsigned bin = values[i] % (kBinsPerCta * ctas);
    unsigned* part = cluster.map_shared_rank(counts, bin / kBinsPerCta);
    atomicAdd(part + bin % kBinsPerCta, 1u);
  }
  cluster.sync(); // all have counted, and none has exited
  const unsigned first = cluster.block_rank() * kBinsPerCta;
  for (unsigned i = threadIdx.x; i < kBinsPerCta; i += blockDim.x)
    atomicAdd(bins + first + i, counts[i]);
}
