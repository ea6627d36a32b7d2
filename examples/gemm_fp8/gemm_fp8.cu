// D = A * B^T on the tensor cores of Hopper: A is MxK and B is NxK, both e4m3 with K contiguous; D is MxN in
// f32, row-major. The pipeline of examples/gemm_bf16 without its cluster: one warpgroup copies with TMA into
// a ring of four stages of 32 KiB, two multiply with wgmma m64n128k32, and write their accumulators to D with
// ordinary stores.
//
// The grid is M/128, N/128, 384 threads a CTA, 131136 bytes of dynamic shared memory. The maps of a and b:
// boxes 128x128 (elements of K, then rows) of u8, with 128B swizzle. n is the number of columns of D, k_tiles
// is K/128.
//
// What it leaves out, to stay readable: M, N and K must be multiples of 128; the tensor cores add e4m3
// products with less than f32 precision, and the accumulators are not moved to other registers now and then
// to make up for that.
#include "../hopper.cuh"

constexpr int tile_m = 128, tile_n = 128, tile_k = 128, stages = 4;
constexpr int tile_bytes = 128 * tile_k; // of A, and as much of B
constexpr int ring_bytes = stages * 2 * tile_bytes;
static_assert(ring_bytes + 2 * stages * 8 == 131136, "what to launch it with");

// Where things are in shared memory. Tiles begin at multiples of 1024, as their swizzle wants.
struct Ring {
  uint32_t base;
  __device__ uint32_t a(int stage) const { return base + stage * 2 * tile_bytes; }
  __device__ uint32_t b(int stage) const { return a(stage) + tile_bytes; }
  __device__ uint32_t full(int stage) const { return base + ring_bytes + stage * 8; }
  __device__ uint32_t empty(int stage) const { return full(stage) + stages * 8; }
};

// One thread: all copies.
__device__ void produce(Ring ring, const TensorMap* a, const TensorMap* b, int row, int column, int k_tiles) {
  for (int k = 0; k < k_tiles; ++k) {
    int stage = k % stages, round = k / stages;
    mbarrier_wait(ring.empty(stage), (round & 1) ^ 1);
    mbarrier_arrive_expect(ring.full(stage), 2 * tile_bytes);
    tma_load(ring.a(stage), a, k * tile_k, row, ring.full(stage));
    tma_load(ring.b(stage), b, k * tile_k, column, ring.full(stage));
  }
}

// A warpgroup: acc = its 64 rows of A times B^T. k_tiles is at least 1.
__device__ void consume(float (&acc)[64], Ring ring, int consumer, int k_tiles) {
  int k = 0;
  do {
    int stage = k % stages, round = k / stages;
    mbarrier_wait(ring.full(stage), round & 1);

    uint64_t a = matrix_descriptor(ring.a(stage) + consumer * (tile_bytes / 2));
    uint64_t b = matrix_descriptor(ring.b(stage));
    wgmma_fence();
    for (int i = 0; i < tile_k / 32; ++i) // 32 elements are 32 bytes along K
      WGMMA_M64N128("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3", "1, 1", acc, a + i * 2,
                    b + i * 2, k + i != 0);
    wgmma_commit();
    wgmma_wait<1>(); // the products of the stage before are done with
    if (k > 0 && threadIdx.x % 32 == 0)
      mbarrier_arrive(ring.empty((k - 1) % stages));
  } while (++k < k_tiles);
  wgmma_wait<0>(); // nobody waits for the last stage to be free
  wgmma_pin(acc);
}

extern "C" __global__ void __launch_bounds__(384, 1)
    gemm_fp8(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* d, int n,
             int k_tiles) {
  extern __shared__ __align__(1024) uint8_t shared[];
  Ring ring{shared_address(shared)};
  int row = blockIdx.x * tile_m, column = blockIdx.y * tile_n, warpgroup = threadIdx.x / 128;

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < stages; ++stage) {
      mbarrier_init(ring.full(stage), 1);
      mbarrier_init(ring.empty(stage), 8); // an arrival from each consumer warp
    }
    fence_proxy_async(); // TMA completes on them
    tma_prefetch(&a);
    tma_prefetch(&b);
  }
  __syncthreads();

  if (warpgroup == 0) {
    registers_give<40>();
    if (threadIdx.x < 32 && elect_one())
      produce(ring, &a, &b, row, column, k_tiles);
  } else {
    registers_take<232>();
    float acc[64] = {}; // not added to: the first wgmma starts from nothing
    consume(acc, ring, warpgroup - 1, k_tiles);

    int warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32; // warps of the consumers, 16 rows each
    for (int j = 0; j < 16; ++j)
      for (int h = 0; h < 2; ++h) {
        float* place = &d[(row + warp * 16 + h * 8 + lane / 4) * n + column + j * 8 + lane % 4 * 2];
        *(float2*)place = make_float2(acc[j * 4 + h * 2], acc[j * 4 + h * 2 + 1]);
      }
  }
}
