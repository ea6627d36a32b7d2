// compile_programs: -arch=compute_100a
// Two ways to have one operand stay. few_rows: D = A * B^T in tf32, 64 rows of A as two products of 32 rows
// by tcgen05.mma.ws, of which the second finds B where the first has left it; a tile of 64x256 a CTA. D's
// blocks of 64 columns lie below each other, so each warp that stores has a block. a has boxes of 32x64, b of
// 32x256, both with 128B swizzle. widened: D = W * X^T, W of s8 with a factor of f16 for 64 of K, which four
// warps widen to f16 and put into tensor memory, two buffers in turns, where it is A; a tile of 128 rows and
// 64 columns a CTA. x has boxes of 64x64 with 128B swizzle.
#include "../tcgen05.cuh"
#include <cuda_fp16.h>

constexpr int stages = 3;

// Of 192 threads: warps 0 to 3 store, warp 4 copies, warp 5 multiplies.
extern "C" __global__ void __launch_bounds__(192)
    few_rows(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* d, int m, int n,
             int k_tiles) {
  constexpr uint32_t a_bytes = 64 * 128, b_bytes = 256 * 128, stage_bytes = a_bytes + b_bytes;
  constexpr uint32_t shape = product_shape(32, 256) | of_tf32;
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ __align__(8) Ring<stages> tiles_in;
  __shared__ __align__(8) uint64_t ready;
  __shared__ uint32_t slot;
  int warp = threadIdx.x / 32;
  if (elected_of(4)) {
    tiles_in.init(1, 1);
    MBAR_INIT(SHARED(&ready), 1);
    FENCE_MBAR_INIT();
  }
  uint32_t acc = begin_tensor_memory(&slot, warp == 5, 128);
  Turn<stages> stage;
  if (elected_of(4)) {
#pragma unroll 1
    for (int k = 0; k < k_tiles; ++k, stage.next()) {
      uint32_t to = SHARED(memory) + stage.at * stage_bytes,
               full = tiles_in.begin_filling(stage, stage_bytes);
      TMA_LOAD(to, &a, k * 32, blockIdx.y * 64, full);
      TMA_LOAD(to + a_bytes, &b, k * 32, blockIdx.x * 256, full);
    }
  } else if (elected_of(5)) {
#pragma unroll 1
    for (int k = 0; k < k_tiles; ++k, stage.next()) {
      uint32_t from = SHARED(memory) + stage.at * stage_bytes;
      uint64_t upper = tensor_descriptor(from), lower = tensor_descriptor(from + a_bytes / 2),
               db = tensor_descriptor(from + a_bytes);
      tiles_in.wait_full(stage);
      for (int step = 0; step < 4; ++step) {
        TC_MMA_HOW("ws.cta_group::1.kind::tf32.collector::b0::fill", acc, upper + 2 * step, db + 2 * step,
                   shape, k + step != 0);
        TC_MMA_HOW("ws.cta_group::1.kind::tf32.collector::b0::lastuse", acc + 64, lower + 2 * step,
                   db + 2 * step, shape, k + step != 0);
      }
      TC_COMMIT(tiles_in.empty_at(stage));
    }
    TC_COMMIT(SHARED(&ready));
  } else if (warp < 4) {
    MBAR_WAIT(SHARED(&ready), 0);
    TC_AFTER();
#pragma unroll 1
    for (int c = 0; c < 128; c += 32) {
      int row = blockIdx.y * 64 + c / 64 * 32 + threadIdx.x % 32,
          column = blockIdx.x * 256 + warp * 64 + c % 64;
      uint32_t r[32];
      load_columns(r, lanes_of_warp(acc) + c);
      store_columns(d, row, column, m, n, r);
    }
  }
  end_tensor_memory(acc, warp == 5, 128);
}

// Two of W, and their factor.
__device__ uint32_t widen(uint32_t pair, __half factor) {
  __half low = __hmul(__int2half_rn((int8_t)pair), factor),
         high = __hmul(__int2half_rn((int8_t)(pair >> 8)), factor);
  return __half_as_ushort(low) | (uint32_t)__half_as_ushort(high) << 16;
}

// Warps 0 to 3 widen and store, warp 4 copies, warp 5 multiplies.
extern "C" __global__ void __launch_bounds__(192)
    widened(const uint32_t* w, const __half* factors, const __grid_constant__ TensorMap x, float* d, int m,
            int n, int k_tiles) {
  constexpr uint32_t x_bytes = 64 * 128;
  __shared__ __align__(1024) uint8_t xs[stages][x_bytes];
  __shared__ __align__(8) Ring<stages> x_in;
  __shared__ __align__(8) Ring<2> widened_in;
  __shared__ __align__(8) uint64_t ready;
  __shared__ uint32_t slot;
  int t = threadIdx.x, warp = t / 32;
  if (elected_of(4)) {
    x_in.init(1, 1);
    widened_in.init(128, 1);
    MBAR_INIT(SHARED(&ready), 1);
    FENCE_MBAR_INIT();
  }
  uint32_t acc = begin_tensor_memory(&slot, warp == 5, 128), buffers = acc + 64;
  Turn<stages> stage;
  Turn<2> buffer;
  if (elected_of(4)) {
#pragma unroll 1
    for (int k = 0; k < k_tiles; ++k, stage.next())
      TMA_LOAD(SHARED(xs[stage.at]), &x, k * 64, blockIdx.x * 64, x_in.begin_filling(stage, x_bytes));
  } else if (elected_of(5)) {
#pragma unroll 1
    for (int k = 0; k < k_tiles; ++k, stage.next(), buffer.next()) {
      uint64_t db = tensor_descriptor(SHARED(xs[stage.at]));
      x_in.wait_full(stage);
      widened_in.wait_full(buffer);
      TC_AFTER();
      for (int step = 0; step < 4; ++step)
        TC_MMA_T(acc, buffers + buffer.at * 32 + step * 8, db + 2 * step, product_shape(128, 64),
                 k + step != 0);
      TC_COMMIT(x_in.empty_at(stage));
      TC_COMMIT(widened_in.empty_at(buffer));
    }
    TC_COMMIT(SHARED(&ready));
  } else if (warp < 4) {
    int row = blockIdx.y * 128 + t;
#pragma unroll 1
    for (int k = 0; k < k_tiles; ++k, buffer.next()) {
      uint32_t words[32] = {};
      if (row < m) {
        __half factor = factors[row * k_tiles + k];
#pragma unroll
        for (int j = 0; j < 16; ++j) {
          uint32_t four = w[(row * k_tiles + k) * 16 + j];
          words[2 * j] = widen(four, factor);
          words[2 * j + 1] = widen(four >> 16, factor);
        }
      }
      widened_in.wait_empty(buffer);
      TC_AFTER();
      TC_ST32(lanes_of_warp(buffers + buffer.at * 32), words);
      TC_WAIT_ST();
      TC_BEFORE();
      MBAR_ARRIVE(widened_in.full_at(buffer));
    }
    MBAR_WAIT(SHARED(&ready), 0);
    TC_AFTER();
#pragma unroll 1
    for (int c = 0; c < 64; c += 32) {
      int column = blockIdx.x * 64 + c;
      uint32_t r[32];
      load_columns(r, lanes_of_warp(acc) + c);
      store_columns(d, row, column, m, n, r);
    }
  }
  end_tensor_memory(acc, warp == 5, 128);
}
