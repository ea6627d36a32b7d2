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
  __shared__ __align__(8) Ring<stages> tiles_in;
  __shared__ __align__(8) Ring<2> sums;
  __shared__ uint32_t slot;
  int t = threadIdx.x, warp = t / 32, cluster = blockIdx.x / 2, clusters = gridDim.x / 2;
  int tiles_n = (n + tile_n - 1) / tile_n, tiles = (m + tile_m - 1) / tile_m * tiles_n;
  int k_tiles = (k_count + depth - 1) / depth;
  uint32_t rank;
  CLUSTER_RANK(rank);
  if (elected_of(0)) {
    tiles_in.init(1, 1);
    sums.init(1, 256);
    FENCE_MBAR_INIT();
  }
  uint32_t base = begin_tensor_memory<2>(&slot, warp == 1, 2 * tile_n);
  if (elected_of(0)) {
    Turn<stages> stage;
#pragma unroll 1
    for (int tile = cluster; tile < tiles; tile += clusters)
#pragma unroll 1
      for (int k = 0; k < k_tiles; ++k, stage.next()) {
        uint32_t to = SHARED(memory) + stage.at * (a_bytes + b_bytes);
        uint32_t told = tiles_in.full_at(stage) & 0xfeffffff;
        int row = tile / tiles_n * tile_m + rank * 128, column = tile % tiles_n * tile_n + rank * 128;
        tiles_in.wait_empty(stage);
        if (rank == 0)
          MBAR_EXPECT(tiles_in.full_at(stage), 2 * (a_bytes + b_bytes));
        TC2_TMA_LOAD(to, &a, k * depth, row, told);
        TC2_TMA_LOAD(to + a_bytes, &b, column, k * depth, told);
        TC2_TMA_LOAD(to + a_bytes + b_bytes / 2, &b, column + 64, k * depth, told);
      }
  } else if (rank == 0 && elected_of(1)) {
    Turn<stages> stage;
    Turn<2> sum;
#pragma unroll 1
    for (int tile = cluster; tile < tiles; tile += clusters, sum.next()) {
      uint32_t acc = base + sum.at * tile_n;
      MBAR_WAIT_CLUSTER(sums.empty_at(sum), sum.parity ^ 1);
      TC_AFTER();
#pragma unroll 1
      for (int k = 0; k < k_tiles; ++k, stage.next()) {
        uint32_t from = SHARED(memory) + stage.at * (a_bytes + b_bytes);
        uint64_t da = tensor_descriptor(from), db = columns_descriptor(from + a_bytes, b_bytes / 2);
        MBAR_WAIT_CLUSTER(tiles_in.full_at(stage), stage.parity);
        for (int step = 0; step < depth / 16; ++step)
          TC_MMA_HOW("cta_group::2.kind::f16", acc, da + 2 * step, db + 128 * step,
                     product_shape(tile_m, tile_n) | of_bf16 | transposed_b, k + step != 0);
        TC2_COMMIT(tiles_in.empty_at(stage), 3);
      }
      TC2_COMMIT(sums.full_at(sum), 3);
    }
  } else if (warp >= 2) {
    int row = warp % 4 * 32 + t % 32;
    uint8_t* buffers = memory + stages * (a_bytes + b_bytes);
    Turn<2> sum;
#pragma unroll 1
    for (int tile = cluster; tile < tiles; tile += clusters, sum.next()) {
      uint32_t acc = lanes_of_warp(base + sum.at * tile_n);
      int first_row = tile / tiles_n * tile_m + rank * 128, first_column = tile % tiles_n * tile_n;
      MBAR_WAIT_CLUSTER(sums.full_at(sum), sum.parity);
      TC_AFTER();
#pragma unroll 1
      for (int c = 0; c < tile_n; c += 32) {
        uint8_t* buffer = buffers + c / 32 % 2 * out_bytes;
        uint32_t r[32];
        load_columns(r, acc + c);
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
      MBAR_ARRIVE_AT(sums.empty_at(sum), 0);
    }
    if (t == 64)
      BULK_WAIT_READ(0);
  }
  end_tensor_memory<2>(base, warp == 1, 2 * tile_n);
}
