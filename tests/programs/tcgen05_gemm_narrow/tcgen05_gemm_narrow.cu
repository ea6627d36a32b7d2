// compile_programs: -arch=compute_100a
// D = A * B^T of 4 to 8 bits, K contiguous, a tile of 128 rows a CTA: e4m3 times e5m2 summed in f32 and
// e4m3 times e4m3 in f16; e4m3 with a scale factor of ue8m0 for 32 of K (mxfp8), e2m1 with one of ue4m3 for
// 16 of K (nvfp4); e2m1 times e3m2, and e2m3 times e2m1 with scale factors, which lie packed in global memory
// and in shared memory one in a byte, as the tensor copies leave them. Warp 0 copies, 128 bytes of K a stage,
// warp 1 multiplies, warps 2 to 5 store. a and b have boxes of 128 bytes by 128 or tile_n rows with 128B
// swizzle. Scale factors are in global memory as they go to tensor memory: of 128 rows and four blocks of K
// 512 bytes, 16 of each 32nd row, which are one row's four, then those of the row 32 on.
#include "../tcgen05.cuh"

constexpr int stages = 3, tile_m = 128;
constexpr uint32_t a_bytes = tile_m * 128;

struct Fp8 {
  static constexpr int a_bits = 8, b_bits = 8;                  // in global memory
  static constexpr int tile_n = 128, columns = 128, scales = 0; // per stage and 128 rows, in 512 bytes
  static constexpr uint32_t shape = product_shape(tile_m, tile_n) | 1u << 10;
  static constexpr bool halves = false;
  __device__ static void multiply(uint32_t acc, uint64_t a, uint64_t b, uint32_t, uint32_t, int, bool adds) {
    TC_MMA_HOW("cta_group::1.kind::f8f6f4", acc, a, b, shape, adds);
  }
};

struct Fp8ToF16 : Fp8 {
  static constexpr uint32_t shape = product_shape(tile_m, tile_n) & ~(1u << 4);
  static constexpr bool halves = true;
  __device__ static void multiply(uint32_t acc, uint64_t a, uint64_t b, uint32_t, uint32_t, int, bool adds) {
    TC_MMA_HOW("cta_group::1.kind::f8f6f4", acc, a, b, shape, adds);
  }
};

struct MxFp8 : Fp8 {
  static constexpr int columns = 256, scales = 1;
  __device__ static void multiply(uint32_t acc, uint64_t a, uint64_t b, uint32_t scale_a, uint32_t scale_b,
                                  int step, bool adds) {
    uint32_t shape = scaled_shape(tile_m, tile_n) | step << 4 | step << 29;
    TC_MMA_SCALED_HOW("cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X", acc, a, b, shape, scale_a,
                      scale_b, adds);
  }
};

struct NvFp4 : Fp8 {
  static constexpr int tile_n = 256, columns = 512, scales = 4;
  static constexpr uint32_t shape = (scaled_shape(tile_m, tile_n) & ~(1u << 23)) | 1u << 7 | 1u << 10;
  __device__ static void multiply(uint32_t acc, uint64_t a, uint64_t b, uint32_t scale_a, uint32_t scale_b,
                                  int step, bool adds) {
    TC_MMA_SCALED_HOW("cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X", acc, a, b, shape,
                      scale_a + 4 * step, scale_b + 8 * step, adds);
  }
};

struct F4F6 : Fp8 {
  static constexpr int a_bits = 4, b_bits = 6;
  static constexpr uint32_t shape = product_shape(tile_m, tile_n) | 5u << 7 | 4u << 10;
  __device__ static void multiply(uint32_t acc, uint64_t a, uint64_t b, uint32_t, uint32_t, int, bool adds) {
    TC_MMA_HOW("cta_group::1.kind::f8f6f4", acc, a, b, shape, adds);
  }
};

struct MxF6F4 : MxFp8 {
  static constexpr int a_bits = 6, b_bits = 4;
  __device__ static void multiply(uint32_t acc, uint64_t a, uint64_t b, uint32_t scale_a, uint32_t scale_b,
                                  int step, bool adds) {
    uint32_t shape = scaled_shape(tile_m, tile_n) | 3u << 7 | 5u << 10 | step << 4 | step << 29;
    TC_MMA_SCALED_HOW("cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X", acc, a, b, shape, scale_a,
                      scale_b, adds);
  }
};

template <class Kind>
__device__ void gemm(const TensorMap* a, const TensorMap* b, const uint8_t* scales_a, const uint8_t* scales_b,
                     void* d, int m, int n, int k_tiles) {
  constexpr int tile_n = Kind::tile_n;
  constexpr uint32_t b_bytes = tile_n * 128, scales_a_bytes = Kind::scales * 512,
                     scales_b_bytes = scales_a_bytes * (tile_n / 128),
                     // An mbarrier counts no padding.
      stage_bytes = a_bytes / 8 * Kind::a_bits + b_bytes / 8 * Kind::b_bits + scales_a_bytes + scales_b_bytes;
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ __align__(8) Ring<stages> tiles_in;
  __shared__ __align__(8) uint64_t ready;
  __shared__ uint32_t slot;
  int warp = threadIdx.x / 32;
  if (elected_of(0)) {
    tiles_in.init(1, 1);
    MBAR_INIT(SHARED(&ready), 1);
    FENCE_MBAR_INIT();
  }
  uint32_t acc = begin_tensor_memory(&slot, warp == 1, Kind::columns), tensor_a = acc + tile_n,
           tensor_b = tensor_a + 4 * Kind::scales;
  // Tiles of A and B, then scale factors: a stage of these is no multiple of 1024 bytes.
  uint32_t tiles_at = SHARED(memory), scales_at = tiles_at + stages * (a_bytes + b_bytes);
  Turn<stages> stage;
  if (elected_of(0)) {
#pragma unroll 1
    for (int k = 0; k < k_tiles; ++k, stage.next()) {
      uint32_t to = tiles_at + stage.at * (a_bytes + b_bytes);
      uint32_t scales_to = scales_at + stage.at * (scales_a_bytes + scales_b_bytes);
      uint32_t full = tiles_in.begin_filling(stage, stage_bytes);
      TMA_LOAD(to, a, k * 128, blockIdx.y * tile_m, full);
      TMA_LOAD(to + a_bytes, b, k * 128, blockIdx.x * tile_n, full);
      if (Kind::scales) {
        BULK_LOAD(scales_to, scales_a + (blockIdx.y * k_tiles + k) * scales_a_bytes, scales_a_bytes, full);
        BULK_LOAD(scales_to + scales_a_bytes, scales_b + (blockIdx.x * k_tiles + k) * scales_b_bytes,
                  scales_b_bytes, full);
      }
    }
  } else if (elected_of(1)) {
#pragma unroll 1
    for (int k = 0; k < k_tiles; ++k, stage.next()) {
      uint32_t from = tiles_at + stage.at * (a_bytes + b_bytes);
      uint32_t scales_from = scales_at + stage.at * (scales_a_bytes + scales_b_bytes);
      uint64_t da = tensor_descriptor(from), db = tensor_descriptor(from + a_bytes);
      tiles_in.wait_full(stage);
      // The copies follow the products before them, and the products the copies: one thread's, in a pipeline.
      for (int i = 0; i < int(scales_a_bytes / 512); ++i)
        TC_CP_SCALES(tensor_a + 4 * i, scales_descriptor(scales_from + 512 * i));
      for (int i = 0; i < int(scales_b_bytes / 512); ++i)
        TC_CP_SCALES(tensor_b + 4 * i, scales_descriptor(scales_from + scales_a_bytes + 512 * i));
      for (int step = 0; step < 4; ++step)
        Kind::multiply(acc, da + 2 * step, db + 2 * step, tensor_a, tensor_b, step, k + step != 0);
      TC_COMMIT(tiles_in.empty_at(stage));
    }
    TC_COMMIT(SHARED(&ready));
  } else if (warp >= 2) {
    int row = blockIdx.y * tile_m + warp % 4 * 32 + threadIdx.x % 32;
    MBAR_WAIT(SHARED(&ready), 0);
    TC_AFTER();
#pragma unroll 1
    for (int c = 0; c < tile_n; c += 32) {
      int column = blockIdx.x * tile_n + c;
      uint32_t r[32];
      if constexpr (Kind::halves) {
        TC_LD32_PACKED(r, lanes_of_warp(acc) + c);
        TC_WAIT_LD();
#pragma unroll
        for (int j = 0; j < 32; ++j)
          if (row < m && column + j < n)
            static_cast<uint16_t*>(d)[(size_t)row * n + column + j] = r[j / 2] >> j % 2 * 16;
      } else {
        load_columns(r, lanes_of_warp(acc) + c);
        store_columns(static_cast<float*>(d), row, column, m, n, r);
      }
    }
  }
  end_tensor_memory(acc, warp == 1, Kind::columns);
}

#define GEMM(name, Kind)                                                                                     \
  extern "C" __global__ void __launch_bounds__(192)                                                          \
      name(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,                         \
           const uint8_t* scales_a, const uint8_t* scales_b, void* d, int m, int n, int k_tiles) {           \
    gemm<Kind>(&a, &b, scales_a, scales_b, d, m, n, k_tiles);                                                \
  }
GEMM(gemm_fp8, Fp8)
GEMM(gemm_fp8_to_f16, Fp8ToF16)
GEMM(gemm_mxfp8, MxFp8)
GEMM(gemm_nvfp4, NvFp4)
GEMM(gemm_f4f6, F4F6)
GEMM(gemm_mxf6f4, MxF6F4)
