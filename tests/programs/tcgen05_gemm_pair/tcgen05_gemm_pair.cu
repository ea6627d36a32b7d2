// compile_programs: -arch=compute_100a
// D = A * B by pairs of CTAs: A is MxK in bf16 with K contiguous, B KxN with N contiguous, D MxN in f32. A
// cluster of two takes tiles of 256x256 in turns: each CTA brings 128 rows of A and 128 columns of B, telling
// the even one's mbarrier, whose warp 1 multiplies for both and tells both by multicast commits; each stores
// its 128 rows, 32 columns at a time, from two buffers in turns. a and out have boxes of 64x128 and 32x128, b
// of 64x64, all with 128B swizzle.
#include "../tcgen05.cuh"

constexpr int stages = 3, tile_m = 256, tile_n = 256, depth = 64;
constexpr uint32_t a_bytes = 128 * depth * 2, b_bytes = depth * 128 * 2, out_bytes = 128 * 128;

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(192)
    gemm_pair(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
              const __grid_constant__ TensorMap out, int m, int n, int k_count) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ __align__(8) uint64_t full[stages], empty[stages], ready[2], drained[2];
  __shared__ uint32_t slot;
  int t = threadIdx.x, warp = t / 32, cluster = blockIdx.x / 2, clusters = gridDim.x / 2;
  int tiles_n = (n + tile_n - 1) / tile_n, tiles = (m + tile_m - 1) / tile_m * tiles_n;
  int k_tiles = (k_count + depth - 1) / depth;
  uint32_t rank;
  CLUSTER_RANK(rank);
  if (t == 0) {
    for (int s = 0; s < stages; ++s) {
      MBAR_INIT(SHARED(&full[s]), 1);
      MBAR_INIT(SHARED(&empty[s]), 1);
    }
    for (int s = 0; s < 2; ++s) {
      MBAR_INIT(SHARED(&ready[s]), 1);
      MBAR_INIT(SHARED(&drained[s]), 256);
    }
    FENCE_MBAR_INIT();
  }
  if (warp == 1) {
    TC2_ALLOC(SHARED(&slot), 2 * tile_n);
    TC2_RELINQUISH();
  }
  TC_BEFORE();
  __syncthreads();
  CLUSTER_ARRIVE();
  CLUSTER_WAIT();
  TC_AFTER();
  uint32_t base = *(volatile uint32_t*)&slot;
  if (t == 0) {
    int s = 0, phase = 0;
#pragma unroll 1
    for (int tile = cluster; tile < tiles; tile += clusters)
#pragma unroll 1
      for (int k = 0; k < k_tiles; ++k) {
        uint32_t to = SHARED(memory) + s * (a_bytes + b_bytes), told = SHARED(&full[s]) & 0xfeffffff;
        int row = tile / tiles_n * tile_m + rank * 128, column = tile % tiles_n * tile_n + rank * 128;
        MBAR_WAIT(SHARED(&empty[s]), phase ^ 1);
        if (rank == 0)
          MBAR_EXPECT(SHARED(&full[s]), 2 * (a_bytes + b_bytes));
        TC2_TMA_LOAD(to, &a, k * depth, row, told);
        TC2_TMA_LOAD(to + a_bytes, &b, column, k * depth, told);
        TC2_TMA_LOAD(to + a_bytes + b_bytes / 2, &b, column + 64, k * depth, told);
        phase ^= ++s == stages;
        s %= stages;
      }
  } else if (t == 32 && rank == 0) {
    int s = 0, phase = 0, turn = 0;
#pragma unroll 1
    for (int tile = cluster; tile < tiles; tile += clusters, ++turn) {
      uint32_t acc = base + turn % 2 * tile_n;
      MBAR_WAIT_CLUSTER(SHARED(&drained[turn % 2]), (turn / 2 & 1) ^ 1);
      TC_AFTER();
#pragma unroll 1
      for (int k = 0; k < k_tiles; ++k) {
        uint32_t from = SHARED(memory) + s * (a_bytes + b_bytes);
        uint64_t da = tensor_descriptor(from), db = columns_descriptor(from + a_bytes, b_bytes / 2);
        MBAR_WAIT_CLUSTER(SHARED(&full[s]), phase);
        for (int step = 0; step < depth / 16; ++step)
          TC_MMA_HOW("cta_group::2.kind::f16", acc, da + 2 * step, db + 128 * step,
                     product_shape(tile_m, tile_n) | of_bf16 | transposed_b, k + step != 0);
        TC2_COMMIT(SHARED(&empty[s]), 3);
        phase ^= ++s == stages;
        s %= stages;
      }
      TC2_COMMIT(SHARED(&ready[turn % 2]), 3);
    }
  } else if (warp >= 2) {
    int turn = 0, quarter = warp % 4, row = quarter * 32 + t % 32;
    uint8_t* buffers = memory + stages * (a_bytes + b_bytes);
#pragma unroll 1
    for (int tile = cluster; tile < tiles; tile += clusters, ++turn) {
      uint32_t acc = base + turn % 2 * tile_n + (quarter << 21);
      int first_row = tile / tiles_n * tile_m + rank * 128, first_column = tile % tiles_n * tile_n;
      MBAR_WAIT_CLUSTER(SHARED(&ready[turn % 2]), turn / 2 & 1);
      TC_AFTER();
#pragma unroll 1
      for (int c = 0; c < tile_n; c += 32) {
        uint8_t* buffer = buffers + c / 32 % 2 * out_bytes;
        uint32_t r[32];
        TC_LD32(r, acc + c);
        TC_WAIT_LD();
        if (t == 64)
          BULK_WAIT_READ(1);
        BAR_SYNC(1, 128);
#pragma unroll
        for (int j = 0; j < 8; ++j)
          *reinterpret_cast<uint4*>(buffer + row * 128 + (j ^ row % 8) * 16) =
              make_uint4(r[4 * j], r[4 * j + 1], r[4 * j + 2], r[4 * j + 3]);
        FENCE_PROXY();
        BAR_SYNC(1, 128);
        if (t == 64) {
          TMA_STORE(&out, first_column + c, first_row, SHARED(buffer));
          BULK_COMMIT();
        }
      }
      TC_BEFORE();
      MBAR_ARRIVE_AT(SHARED(&drained[turn % 2]), 0);
    }
    if (t == 64)
      BULK_WAIT_READ(0);
  }
  __syncwarp();
  TC_BEFORE();
  __syncthreads();
  CLUSTER_ARRIVE();
  CLUSTER_WAIT();
  if (warp == 1)
    TC2_DEALLOC(base, 2 * tile_n);
}
