// CTA 0 makes two tensor maps in global memory, of two matrices; the others wait for a flag, take both maps
// and load a tile with each. Maps are copied by words, their addresses replaced where they lie.
#include "ops.cuh"

#define REPLACE_ADDRESS(map, to)                                                                             \
  asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map), "l"(to)        \
               : "memory")
#define MAP_RELEASE() asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory")
#define MAP_ACQUIRE(map)                                                                                     \
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory")

extern "C" __global__ void __launch_bounds__(32)
    map_pass(const __grid_constant__ TensorMap map, TensorMap* maps, uint32_t* flag, const uint32_t* first,
             const uint32_t* second, uint32_t* out) {
  __shared__ __align__(128) uint32_t tile[2][8 * 32];
  __shared__ __align__(8) uint64_t full;
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    maps[t / 16].words[t % 16] = map.words[t % 16]; // @copy
    __syncwarp();                                   // @sync_copy
    if (t == 0) {
      REPLACE_ADDRESS(&maps[0], first);  // @replace_0
      REPLACE_ADDRESS(&maps[1], second); // @replace_1
      MAP_RELEASE();                     // @release
      ST_RELEASE(flag, 1);               // @publish
    }
    return;
  }
  if (t == 0) {
    MBAR_INIT(SHARED(&full), 1); // @init
    FENCE_MBAR_INIT();           // @fence_init
    uint32_t set;
    do {
      LD_ACQUIRE(set, flag); // @poll
    } while (set == 0);
    MAP_ACQUIRE(&maps[0]);                                                     // @acquire_0
    MAP_ACQUIRE(&maps[1]);                                                     // @acquire_1
    MBAR_EXPECT(SHARED(&full), 2048);                                          // @expect
    TMA_LOAD(SHARED(tile[0]), &maps[0], 0, blockIdx.x * 8 - 8, SHARED(&full)); // @load_0
    TMA_LOAD(SHARED(tile[1]), &maps[1], 0, blockIdx.x * 8 - 8, SHARED(&full)); // @load_1
  }
  __syncwarp();                // @sync_init
  MBAR_WAIT(SHARED(&full), 0); // @wait
#pragma unroll 1
  for (int j = t; j < 256; j += 32)
    out[(blockIdx.x - 1) * 256 + j] = tile[0][j] * 3 + tile[1][j]; // @read
}
