// cuda::pipeline: producers and consumers of a block, two stages.
#include "check.h"

#include <cooperative_groups.h>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

constexpr int kTile = 64, kStages = 2;

#pragma nv_diag_suppress static_var_with_dynamic_init // barriers in shared memory: init() makes them
__global__ void sum_tiles(const int* in, int* out, int tiles) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  __shared__ int stage[kStages][kTile];
  const cg::thread_block block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int computed = 0, fetched = 0; computed < tiles; ++computed) {
    for (; fetched < tiles && fetched < computed + kStages; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, stage[fetched % kStages], in + fetched * kTile, sizeof(int) * kTile, pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += stage[computed % kStages][(threadIdx.x + computed) % kTile];
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}

int main() {
  const int tiles = 9;
  const auto values = small_numbers<int>(tiles * kTile, -1000, 1000);
  DeviceArray<int> in(values), out(kTile);
  sum_tiles<<<1, kTile>>>(in.data(), out.data(), tiles);
  std::vector<int> wanted(kTile, 0);
  for (int tile = 0; tile < tiles; ++tile)
    for (int t = 0; t < kTile; ++t)
      wanted[t] += values[tile * kTile + (t + tile) % kTile];
  equal(wanted, out.host());
  return result();
}
