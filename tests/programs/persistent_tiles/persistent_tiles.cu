// Persistent kernels whose tiles the hardware gives out: a CTA, or a cluster of two, works on its own tile and then takes
// those of CTAs of the grid that have not started (clusterlaunchcontrol), until none is left. Whoever does it, each tile
// is done once: its elements are added to what is there.
// compile_programs: -arch=compute_100a
#include <cuda/ptx>

#include <cstdint>

namespace ptx = cuda::ptx;

constexpr unsigned kTile = 32; // of kTile x kTile elements, a row a thread

__device__ void add_tile(const uint32_t* in, uint32_t* out, unsigned width, unsigned tile_x, unsigned tile_y) {
  const unsigned row = tile_y * kTile + threadIdx.x;
#pragma unroll 1
  for (unsigned i = 0; i < kTile; ++i) {
    const unsigned column = tile_x * kTile + i;
    atomicAdd(out + column * width + row, in[row * width + column] ^ (tile_y << 16 | tile_x));
  }
}

// A square of tiles, a CTA each. `launched` counts the CTAs that there were.
extern "C" __global__ void tiles(const uint32_t* in, uint32_t* out, unsigned* launched) {
  __shared__ uint4 response;
  __shared__ uint64_t done;
  const unsigned width = gridDim.x * kTile;
  dim3 tile = blockIdx;
  if (threadIdx.x == 0) {
    atomicAdd(launched, 1u);
    ptx::mbarrier_init(&done, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  for (unsigned phase = 0;; phase ^= 1) {
    if (threadIdx.x == 0) {
      // What was read of the last response is over before the next one is written.
      ptx::fence_proxy_async(ptx::space_shared);
      ptx::clusterlaunchcontrol_try_cancel(&response, &done);
      ptx::mbarrier_arrive_expect_tx(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &done, sizeof response);
    }
    add_tile(in, out, width, tile.x, tile.y);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cta, &done, phase)) {
    }
    const uint4 answer = response;
    if (!ptx::clusterlaunchcontrol_query_cancel_is_canceled(answer))
      break;
    tile.x = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_x<unsigned>(answer);
    tile.y = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_y<unsigned>(answer);
    __syncthreads(); // all have read it
  }
}

// The same by clusters of two CTAs, whose first asks for both.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    cluster_tiles(const uint32_t* in, uint32_t* out, unsigned* launched) {
  __shared__ uint4 response;
  __shared__ uint64_t done;
  const unsigned width = gridDim.x * kTile;
  unsigned rank, tile_x = blockIdx.x, tile_y = blockIdx.y;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    atomicAdd(launched, 1u);
    ptx::mbarrier_init(&done, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  for (unsigned phase = 0;; phase ^= 1) {
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait(); // both have their mbarrier, and have read the last response
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &done, sizeof response);
      if (rank == 0)
        ptx::clusterlaunchcontrol_try_cancel_multicast(&response, &done);
    }
    add_tile(in, out, width, tile_x, tile_y);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &done, phase)) {
    }
    const uint4 answer = response;
    if (!ptx::clusterlaunchcontrol_query_cancel_is_canceled(answer))
      break;
    tile_x = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_x<unsigned>(answer) + rank;
    tile_y = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_y<unsigned>(answer);
  }
}
