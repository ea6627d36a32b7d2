// A tensor map that the kernel changes: it is copied to global memory, its address replaced, and then tiles
// are loaded with it. One CTA, two tiles of 8x32 u32.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(64)
    map_swap(const __grid_constant__ TensorMap map, TensorMap* maps, const uint32_t* other, uint32_t* out) {
  __shared__ __align__(128) TensorMap copy;
  __shared__ __align__(128) uint32_t tile[8 * 32];
  __shared__ __align__(8) uint64_t full;
  int t = threadIdx.x;
  if (t == 0) {
    MBAR_INIT(SHARED(&full), 1); // @init
    FENCE_MBAR_INIT();           // @fence_init
  }
  if (t < 16)
    copy.words[t] = map.words[t]; // @copy
  __syncthreads();                // @sync_copy
  if (t < 32) {
    if (t == 0)
      asm volatile(
          "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(SHARED(&copy)),
          "l"(other)
          : "memory"); // @replace
    __syncwarp();      // @sync_replace
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
                 "[%0], [%1], 128;" ::"l"(maps + blockIdx.x),
                 "r"(SHARED(&copy))
                 : "memory"); // @publish
  }
  __syncthreads(); // @sync_publish
#pragma unroll 1
  for (int i = 0; i < 2; ++i) {
    if (t == 0) {
      asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(maps + blockIdx.x)
                   : "memory");                                           // @acquire
      MBAR_EXPECT(SHARED(&full), 1024);                                   // @expect
      TMA_LOAD(SHARED(tile), maps + blockIdx.x, 0, i * 8, SHARED(&full)); // @load
    }
    MBAR_WAIT(SHARED(&full), i); // @wait
    for (int j = t; j < 256; j += 64)
      out[i * 256 + j] = tile[j ^ 1]; // @read
    FENCE_PROXY();                    // @fence_read
    __syncthreads();                  // @sync_read
  }
}
