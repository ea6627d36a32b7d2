// compile_programs: -arch=compute_100a
// D = A * B^T: A is MxK, B NxK in f16 with K contiguous, D MxN in f32 or bf16, each of any size that a tensor
// map can have. CTAs take tiles of 128x128 in turns. Warp 0 copies, through three stages of 64 of K; warp 1
// multiplies, with two accumulators in turns; warps 2 to 5 store: f32 element by element, bf16 by way of
// shared memory, by a tensor copy that leaves out what is past the edges. a and b have boxes of 64x128,
// out 64x128, all with 128B swizzle.
#include "../tcgen05.cuh"
#include <cuda_bf16.h>

constexpr int stages = 3, tile_m = 128, tile_n = 128, depth = 64;
constexpr uint32_t a_bytes = tile_m * depth * 2, b_bytes = tile_n * depth * 2;

struct Sizes {
  int m, n, k;
};

// A row of 32 columns of the tile, and the columns from n on.
struct StoreF32 {
  float* d;
  Sizes sizes;
  __device__ void begin_tile() {}
  __device__ void row(int row, int column, int, int, const uint32_t (&r)[32]) {
    store_columns(d, row, column, sizes.m, sizes.n, r);
  }
  __device__ void end_tile(int, int) {}
  __device__ void end() {}
};

// Two boxes of 64 columns in shared memory, as the tensor map has them.
struct StoreBf16 {
  const TensorMap* out;
  uint8_t* staged;
  __device__ bool is_first() { return threadIdx.x == 64; }
  __device__ void begin_tile() {
    if (is_first())
      BULK_WAIT_READ(0);
    BAR_SYNC(1, 128);
  }
  __device__ void row(int, int, int row, int column, const uint32_t (&r)[32]) {
#pragma unroll
    for (int j = 0; j < 32; j += 8) {
      uint32_t words[4];
      for (int i = 0; i < 4; ++i) {
        __nv_bfloat162 pair =
            __floats2bfloat162_rn(__uint_as_float(r[j + 2 * i]), __uint_as_float(r[j + 2 * i + 1]));
        words[i] = *reinterpret_cast<uint32_t*>(&pair);
      }
      int chunk = (column % 64 + j) / 8 ^ row % 8;
      *reinterpret_cast<uint4*>(staged + column / 64 * (128 * 128) + row * 128 + chunk * 16) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
  __device__ void end_tile(int row, int column) {
    FENCE_PROXY();
    BAR_SYNC(1, 128);
    if (is_first()) {
      TMA_STORE(out, column, row, SHARED(staged));
      TMA_STORE(out, column + 64, row, SHARED(staged) + 128 * 128);
      BULK_COMMIT();
    }
  }
  __device__ void end() {
    if (is_first())
      BULK_WAIT_READ(0);
  }
};

template <class Store>
__device__ void gemm(const TensorMap* a, const TensorMap* b, Store store, Sizes sizes, uint8_t* memory) {
  __shared__ __align__(8) Ring<stages> tiles_in;
  __shared__ __align__(8) Ring<2> sums;
  __shared__ uint32_t slot;
  int warp = threadIdx.x / 32;
  int tiles_n = (sizes.n + tile_n - 1) / tile_n, tiles = (sizes.m + tile_m - 1) / tile_m * tiles_n;
  int k_tiles = (sizes.k + depth - 1) / depth;
  if (elected_of(0)) {
    tiles_in.init(1, 1);
    sums.init(1, 128);
    FENCE_MBAR_INIT();
  }
  uint32_t base = begin_tensor_memory(&slot, warp == 1, 2 * tile_n);
  if (elected_of(0)) {
    Turn<stages> stage;
#pragma unroll 1
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
#pragma unroll 1
      for (int k = 0; k < k_tiles; ++k, stage.next()) {
        uint32_t to = SHARED(memory) + stage.at * (a_bytes + b_bytes);
        uint32_t full = tiles_in.begin_filling(stage, a_bytes + b_bytes);
        TMA_LOAD(to, a, k * depth, tile / tiles_n * tile_m, full);
        TMA_LOAD(to + a_bytes, b, k * depth, tile % tiles_n * tile_n, full);
      }
  } else if (elected_of(1)) {
    Turn<stages> stage;
    Turn<2> sum;
#pragma unroll 1
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, sum.next()) {
      uint32_t acc = base + sum.at * tile_n;
      sums.wait_empty(sum);
      TC_AFTER();
#pragma unroll 1
      for (int k = 0; k < k_tiles; ++k, stage.next()) {
        uint32_t from = SHARED(memory) + stage.at * (a_bytes + b_bytes);
        uint64_t da = tensor_descriptor(from), db = tensor_descriptor(from + a_bytes);
        tiles_in.wait_full(stage);
        for (int step = 0; step < depth / 16; ++step)
          TC_MMA(acc, da + 2 * step, db + 2 * step, product_shape(tile_m, tile_n), k + step != 0);
        TC_COMMIT(tiles_in.empty_at(stage));
      }
      TC_COMMIT(sums.full_at(sum));
    }
  } else if (warp >= 2) {
    int row = warp % 4 * 32 + threadIdx.x % 32;
    Turn<2> sum;
#pragma unroll 1
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, sum.next()) {
      uint32_t acc = lanes_of_warp(base + sum.at * tile_n);
      int first_row = tile / tiles_n * tile_m, first_column = tile % tiles_n * tile_n;
      sums.wait_full(sum);
      TC_AFTER();
      store.begin_tile();
#pragma unroll 1
      for (int c = 0; c < tile_n; c += 32) {
        uint32_t r[32];
        load_columns(r, acc + c);
        store.row(first_row + row, first_column + c, row, c, r);
      }
      TC_BEFORE();
      MBAR_ARRIVE(sums.empty_at(sum));
      store.end_tile(first_row, first_column);
    }
    store.end();
  }
  end_tensor_memory(base, warp == 1, 2 * tile_n);
}

extern __shared__ __align__(1024) uint8_t memory[];

extern "C" __global__ void __launch_bounds__(192)
    gemm_f32(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* d,
             Sizes sizes) {
  gemm(&a, &b, StoreF32{d, sizes}, sizes, memory);
}

extern "C" __global__ void __launch_bounds__(192)
    gemm_bf16(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
              const __grid_constant__ TensorMap out, Sizes sizes) {
  gemm(&a, &b, StoreBf16{&out, memory + stages * (a_bytes + b_bytes)}, sizes, memory);
}
