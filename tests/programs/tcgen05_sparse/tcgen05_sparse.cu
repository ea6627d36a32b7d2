// compile_programs: -arch=compute_100a
// D = A * B^T with a sparse A, two of four of f16 or of e4m3, a tile of 128x128 a CTA: A has K / 2 stored
// elements a row, 128 bytes of them a stage, B twice as many, in two boxes. Warp 0 copies, warp 1 copies the
// metadata on to tensor memory and multiplies, warps 2 to 5 store f32. a and b have boxes of 128 bytes by 128
// with 128B swizzle. The metadata of a stage's 128 rows is in global memory as it goes to tensor memory: rows
// of f16 are 16 bytes, a column for each of the four products; those of e4m3 32, two columns a product, in
// core matrices of eight rows of 16 bytes.
#include "../tcgen05.cuh"

constexpr int stages = 3, tile_m = 128, tile_n = 128;
constexpr uint32_t a_bytes = tile_m * 128, b_bytes = tile_n * 128;

struct F16 {
  static constexpr int element_bytes = 2;
  static constexpr uint32_t metadata_bytes = 128 * 16;
  __device__ static void copy(uint32_t to, uint32_t from) { TC_CP("128x128b", to, scales_descriptor(from)); }
  // Two columns, of which the selector picks one.
  __device__ static void multiply(uint32_t acc, uint64_t a, uint64_t b, uint32_t metadata, int step,
                                  bool adds) {
    TC_MMA_SPARSE("cta_group::1.kind::f16", acc, a, b, metadata + step / 2 * 2,
                  product_shape(tile_m, tile_n) | sparse_a | step % 2, adds);
  }
};

struct E4m3 {
  static constexpr int element_bytes = 1;
  static constexpr uint32_t metadata_bytes = 128 * 32;
  __device__ static void copy(uint32_t to, uint32_t from) { TC_CP("128x256b", to, plain_descriptor(from)); }
  __device__ static void multiply(uint32_t acc, uint64_t a, uint64_t b, uint32_t metadata, int step,
                                  bool adds) {
    TC_MMA_SPARSE("cta_group::1.kind::f8f6f4", acc, a, b, metadata + step * 2,
                  product_shape(tile_m, tile_n) | sparse_a, adds);
  }
};

template <class Kind>
__device__ void gemm(const TensorMap* a, const TensorMap* b, const uint8_t* metadata, float* d, int m, int n,
                     int k_tiles) {
  constexpr uint32_t metadata_bytes = Kind::metadata_bytes;
  constexpr int columns = 256, metadata_columns = metadata_bytes / 512, box = 128 / Kind::element_bytes;
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
  uint32_t acc = begin_tensor_memory(&slot, warp == 1, columns);
  Turn<stages> stage;
  if (elected_of(0)) {
#pragma unroll 1
    for (int k = 0; k < k_tiles; ++k, stage.next()) {
      uint32_t to = SHARED(memory) + stage.at * (a_bytes + 2 * b_bytes);
      uint32_t full = tiles_in.begin_filling(stage, a_bytes + 2 * b_bytes + metadata_bytes);
      TMA_LOAD(to, a, k * box, blockIdx.y * tile_m, full);
      TMA_LOAD(to + a_bytes, b, 2 * k * box, blockIdx.x * tile_n, full);
      TMA_LOAD(to + a_bytes + b_bytes, b, (2 * k + 1) * box, blockIdx.x * tile_n, full);
      BULK_LOAD(SHARED(memory) + stages * (a_bytes + 2 * b_bytes) + stage.at * metadata_bytes,
                metadata + (blockIdx.y * k_tiles + k) * metadata_bytes, metadata_bytes, full);
    }
  } else if (elected_of(1)) {
#pragma unroll 1
    for (int k = 0; k < k_tiles; ++k, stage.next()) {
      uint32_t from = SHARED(memory) + stage.at * (a_bytes + 2 * b_bytes);
      uint64_t da = tensor_descriptor(from), db = tensor_descriptor(from + a_bytes);
      // Two buffers, in turns.
      uint32_t metadata_at = acc + tile_n + k % 2 * metadata_columns;
      tiles_in.wait_full(stage);
      Kind::copy(metadata_at, SHARED(memory) + stages * (a_bytes + 2 * b_bytes) + stage.at * metadata_bytes);
      for (int step = 0; step < 4; ++step)
        Kind::multiply(acc, da + 2 * step, db + step / 2 * (b_bytes >> 4) + step % 2 * 4, metadata_at, step,
                       k + step != 0);
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
      load_columns(r, lanes_of_warp(acc) + c);
      store_columns(d, row, column, m, n, r);
    }
  }
  end_tensor_memory(acc, warp == 1, columns);
}

#define GEMM(name, Kind)                                                                                     \
  extern "C" __global__ void __launch_bounds__(192)                                                          \
      name(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,                         \
           const uint8_t* metadata, float* d, int m, int n, int k_tiles) {                                   \
    gemm<Kind>(&a, &b, metadata, d, m, n, k_tiles);                                                          \
  }
GEMM(sparse_f16, F16)
GEMM(sparse_e4m3, E4m3)
