// D = A * B^T on the tensor cores of Hopper: A is MxK and B is NxK, both bf16 with K contiguous; D is MxN in
// f32, row-major. A warp-specialized pipeline: one warpgroup copies, two multiply.
//
//   producer: warpgroup 0              ring of 4 stages        consumers: warpgroups 1, 2
//   wait empty[s]                    ---------------------
//   expect 32 KiB on full[s]         | A 128x64 B 128x64 |     wait full[s]
//   TMA: its tile of A          ---> | A        B        | --> 4 x wgmma m64n128k16
//   TMA: half of B, to both CTAs     | A        B        |     when those of the stage before are done:
//                                    | A        B        |       arrive at its empty, in both CTAs
//                                    ---------------------
//
// Two CTAs are a cluster. They are neighbours along M, so they need the same tile of B: each loads one half
// of it, for both. A stage is free when the consumers of *both* CTAs have read it, as each producer writes to
// both.
//
// In the end each consumer warpgroup writes its 64x128 accumulators to shared memory and one thread of it
// stores them with TMA, four boxes of 64x32.
//
// The grid is M/128, N/128 (M a multiple of 256), 384 threads a CTA, 196672 bytes of dynamic shared memory.
// The maps: a box 64x128, b box 64x64 (elements of K, then rows), d box 32x64 (columns, then rows), all with
// 128B swizzle.
//
// What it leaves out, to stay readable: a CTA makes one tile of D and ends, so nothing covers the time of its
// epilogue.
#include "../hopper.cuh"

constexpr int tile_m = 128, tile_n = 128, tile_k = 64, stages = 4;
constexpr int tile_bytes = 128 * tile_k * 2; // of A, and as much of B
constexpr int ring_bytes = stages * 2 * tile_bytes;
constexpr int result_bytes = tile_m * tile_n * 4;
constexpr int shared_bytes = ring_bytes + result_bytes + 2 * stages * 8;
static_assert(shared_bytes == 196672, "what to launch it with");

// Arrivals that free a stage: one from each warp of two warpgroups in two CTAs.
constexpr int consumer_warps = 2 * 2 * 4;

// Where things are in the shared memory of a CTA. Tiles begin at multiples of 1024, as their swizzle wants.
struct Ring {
  uint32_t base;
  __device__ uint32_t a(int stage) const { return base + stage * 2 * tile_bytes; }
  __device__ uint32_t b(int stage) const { return a(stage) + tile_bytes; }
  __device__ uint32_t result(int consumer) const { return base + ring_bytes + consumer * (result_bytes / 2); }
  __device__ uint32_t full(int stage) const { return base + ring_bytes + result_bytes + stage * 8; }
  __device__ uint32_t empty(int stage) const { return full(stage) + stages * 8; }
};

// One thread: all copies of the CTA.
__device__ void produce(Ring ring, const TensorMap* a, const TensorMap* b, int row, int column, int k_tiles) {
  int rank = cluster_rank();
  for (int k = 0; k < k_tiles; ++k) {
    int stage = k % stages, round = k / stages;
    mbarrier_wait(ring.empty(stage), (round & 1) ^ 1);
    mbarrier_arrive_expect(ring.full(stage), 2 * tile_bytes);
    tma_load(ring.a(stage), a, k * tile_k, row, ring.full(stage));
    tma_load_multicast(ring.b(stage) + rank * (tile_bytes / 2), b, k * tile_k, column + rank * (tile_n / 2),
                       ring.full(stage), 0b11);
  }
}

// A warpgroup: acc = its 64 rows of A times B^T. k_tiles is at least 1.
__device__ void consume(float (&acc)[64], Ring ring, int consumer, int k_tiles) {
  int lane = threadIdx.x % 32;
  int k = 0;
  do {
    int stage = k % stages, round = k / stages;
    mbarrier_wait(ring.full(stage), round & 1);

    uint64_t a = matrix_descriptor(ring.a(stage) + consumer * (tile_bytes / 2));
    uint64_t b = matrix_descriptor(ring.b(stage));
    wgmma_fence();
    for (int i = 0; i < tile_k / 16; ++i) // 16 elements are 32 bytes along K
      WGMMA_M64N128("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", "1, 1, 0, 0", acc, a + i * 2,
                    b + i * 2, k + i != 0);
    wgmma_commit();
    wgmma_wait<1>(); // the products of the stage before are done with
    if (k > 0 && lane < 2)
      mbarrier_arrive_at(ring.empty((k - 1) % stages), lane);
  } while (++k < k_tiles);
  wgmma_wait<0>(); // nobody waits for the last stage to be free
  wgmma_pin(acc);
}

// A warpgroup: its 64x128 results to D, from element (row, column) on. In shared memory they are four boxes
// of 64 rows of 128 bytes; of row r, the piece of 16 bytes that is number p stands at p ^ r % 8.
__device__ void store(const float (&acc)[64], Ring ring, int consumer, const TensorMap* d, int row,
                      int column) {
  constexpr int box_bytes = 64 * 128;
  int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  for (int j = 0; j < 16; ++j)
    for (int h = 0; h < 2; ++h) {
      int r = warp * 16 + h * 8 + lane / 4, piece = j % 4 * 2 + lane % 4 / 2;
      uint32_t place =
          ring.result(consumer) + j / 4 * box_bytes + r * 128 + (piece ^ r % 8) * 16 + lane % 2 * 8;
      asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(place), "f"(acc[j * 4 + h * 2]),
                   "f"(acc[j * 4 + h * 2 + 1])
                   : "memory");
    }
  fence_proxy_async();
  warpgroup_sync(1 + consumer);
  if (thread == 0) {
    for (int box = 0; box < 4; ++box)
      tma_store(d, column + box * 32, row, ring.result(consumer) + box * box_bytes);
    tma_store_wait();
  }
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1)
    gemm_bf16(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
              const __grid_constant__ TensorMap d, int k_tiles) {
  extern __shared__ __align__(1024) uint8_t shared[];
  Ring ring{shared_address(shared)};
  int row = blockIdx.x * tile_m, column = blockIdx.y * tile_n, warpgroup = threadIdx.x / 128;

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < stages; ++stage) {
      mbarrier_init(ring.full(stage), 1);
      mbarrier_init(ring.empty(stage), consumer_warps);
    }
    fence_mbarrier_init();
    tma_prefetch(&a);
    tma_prefetch(&b);
    tma_prefetch(&d);
  }
  cluster_sync(); // both CTAs run, and their mbarriers are ready

  if (warpgroup == 0) {
    registers_give<40>();
    if (threadIdx.x < 32 && elect_one())
      produce(ring, &a, &b, row, column, k_tiles);
  } else {
    registers_take<232>();
    int consumer = warpgroup - 1;
    float acc[64] = {}; // not added to: the first wgmma starts from nothing
    consume(acc, ring, consumer, k_tiles);
    store(acc, ring, consumer, &d, row + consumer * 64, column);
  }
  cluster_sync(); // the other CTA neither copies to nor arrives at this one any more
}
