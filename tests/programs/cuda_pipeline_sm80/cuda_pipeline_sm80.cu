// libcu++'s cuda::pipeline for sm_80: one of a CTA, with a producing warp and consuming ones; and one of a thread.
// compile_programs: -arch=compute_80
#include <cooperative_groups.h>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

constexpr int kStages = 3, kTile = 256;

// Warp 0 copies tiles, the others sum each: out[i] is the sum of tile i, weighted by the place in the tile.
extern "C" __global__ void specialized(const unsigned* in, unsigned* out, int tiles) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  __shared__ alignas(16) unsigned tile[kStages][kTile];
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const bool produces = warp.meta_group_rank() == 0;
  auto pipeline = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  for (int i = 0; i < tiles; ++i) {
    if (produces) {
      pipeline.producer_acquire();
      cuda::memcpy_async(warp, tile[i % kStages], in + i * kTile, cuda::aligned_size_t<16>(sizeof tile[0]), pipeline);
      pipeline.producer_commit();
    } else {
      pipeline.consumer_wait();
      unsigned sum = 0;
      for (int j = threadIdx.x - 32; j < kTile; j += blockDim.x - 32)
        sum += tile[i % kStages][j] * (j + 1);
      pipeline.consumer_release();
      atomicAdd(&out[i], sum);
    }
  }
}

// Each thread copies its own elements two steps ahead: out[i] = in[i] + in[i - threads].
extern "C" __global__ void own(const unsigned* in, unsigned* out, int steps) {
  __shared__ unsigned stage[kStages][kTile];
  auto pipeline = cuda::make_pipeline();
  const auto copy = [&](int i) {
    pipeline.producer_acquire();
    if (i < steps)
      cuda::memcpy_async(&stage[i % kStages][threadIdx.x], &in[i * kTile + threadIdx.x], sizeof(unsigned), pipeline);
    pipeline.producer_commit();
  };
  copy(0);
  copy(1);
  unsigned before = 0;
  for (int i = 0; i < steps; ++i) {
    copy(i + 2);
    pipeline.consumer_wait();
    const unsigned value = stage[i % kStages][threadIdx.x];
    pipeline.consumer_release();
    out[i * kTile + threadIdx.x] = value + before;
    before = value;
  }
}
