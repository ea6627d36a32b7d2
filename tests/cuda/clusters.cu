// Clusters: a histogram whose bins lie in the shared memory of several blocks, and sizes at compile and launch time.
#include "check.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int kBins = 64; // of a block

__global__ void histogram(const int* data, int count, int* bins) {
  __shared__ int mine[kBins];
  const cg::cluster_group cluster = cg::this_cluster();
  mine[threadIdx.x] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    int* const owner = cluster.map_shared_rank(mine, data[i] / kBins);
    atomicAdd(&owner[data[i] % kBins], 1);
  }
  cluster.sync();
  atomicAdd(&bins[cluster.block_rank() * kBins + threadIdx.x], mine[threadIdx.x]);
}

__global__ void __cluster_dims__(2, 2, 1) ranks(int* out) {
  __shared__ int number;
  const cg::cluster_group cluster = cg::this_cluster();
  const dim3 where = cluster.block_index();
  if (threadIdx.x == 0)
    number = 100 * where.y + 10 * where.x + cluster.num_blocks();
  cluster.sync();
  if (threadIdx.x < cluster.num_blocks())
    out[(blockIdx.y * gridDim.x + blockIdx.x) * 4 + threadIdx.x] =
        *cluster.map_shared_rank(&number, threadIdx.x);
  cluster.sync();
}

int main() {
  const auto values = small_numbers<int>(5000, 0, 4 * kBins - 1);
  DeviceArray<int> in(values), bins(4 * kBins), out(4 * 2 * 4);
  cudaLaunchAttribute size[1];
  size[0].id = cudaLaunchAttributeClusterDimension;
  size[0].val.clusterDim.x = 4;
  size[0].val.clusterDim.y = size[0].val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(8);
  config.blockDim = dim3(kBins);
  config.attrs = size;
  config.numAttrs = 1;
  int clusters = 0;
  ok(cudaOccupancyMaxActiveClusters(&clusters, histogram, &config));
  expect(clusters > 0);
  ok(cudaLaunchKernelEx(&config, histogram, static_cast<const int*>(in.data()), 5000, bins.data()));
  std::vector<int> wanted(4 * kBins, 0);
  for (const int value : values)
    ++wanted[value];
  equal(wanted, bins.host());

  ranks<<<dim3(4, 2), 32>>>(out.data());
  const auto got = out.host();
  for (int i = 0; i < 32; ++i)
    equal(100 * (i % 4 / 2) + 10 * (i % 2) + 4, got[i]);
  ranks<<<dim3(3, 2), 32>>>(out.data()); // no multiple of the cluster
  expect(cudaGetLastError() != cudaSuccess);
  return result();
}
