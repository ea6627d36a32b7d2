// A block reads its neighbour's shared memory, which may have ended by then.
#include "../check.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) read_neighbour(int* out) {
  __shared__ int mine;
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0)
    mine = blockIdx.x;
  cluster.sync();
  if (threadIdx.x == 0)
    out[blockIdx.x] = *cluster.map_shared_rank(&mine, 1 - cluster.block_rank()); // fault: cluster.exit
}

int main() {
  DeviceArray<int> out(2);
  read_neighbour<<<2, 32>>>(out.data());
  return result();
}
