// cp.async by the pipeline primitives: two stages of tiles that are copied while the ones before are used.
#include "check.h"

#include <cuda_pipeline.h>

constexpr int kTile = 128, kStages = 2;

__global__ void sum_tiles(const int4* in, int4* out, int tiles) {
  __shared__ int4 stage[kStages][kTile];
  const int t = threadIdx.x;
  const auto copy = [&](int tile) {
    if (tile < tiles)
      __pipeline_memcpy_async(&stage[tile % kStages][t], &in[tile * kTile + t], sizeof(int4));
    __pipeline_commit();
  };
  copy(0);
  int4 sum = make_int4(0, 0, 0, 0);
  for (int tile = 0; tile < tiles; ++tile) {
    copy(tile + 1);
    __pipeline_wait_prior(1);
    __syncthreads();
    const int4 v = stage[tile % kStages][(t + tile) % kTile];
    sum = make_int4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
    __syncthreads();
  }
  out[t] = sum;
}

int main() {
  const int tiles = 20;
  const auto values = small_numbers<int>(tiles * kTile * 4, -1000, 1000);
  DeviceArray<int> in(values), out(kTile * 4);
  sum_tiles<<<1, kTile>>>(reinterpret_cast<const int4*>(in.data()), reinterpret_cast<int4*>(out.data()), tiles);
  std::vector<int> wanted(kTile * 4, 0);
  for (int tile = 0; tile < tiles; ++tile)
    for (int t = 0; t < kTile; ++t)
      for (int i = 0; i < 4; ++i)
        wanted[t * 4 + i] += values[(tile * kTile + (t + tile) % kTile) * 4 + i];
  equal(wanted, out.host());
  return result();
}
