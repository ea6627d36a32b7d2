// O = softmax(Q * K^T / sqrt(dim)) * V on the tensor cores of Hopper, for each head: Q, K and V are sequence
// x dim in bf16, dim 64 or 128; O is bf16 or f32. With `causal`, query i sees keys 0 to i.
//
// A CTA makes 128 rows of O: one warpgroup copies, two multiply 64 rows each. It walks along the keys in
// tiles of 128.
//
//   producer: warpgroup 0     ring of 2 stages       consumers: warpgroups 1, 2
//   wait k_empty[s]         --------------------
//   TMA: a tile of K    --> | K 128 x dim      | --> S = Q * K^T  wgmma m64n128k16, all in shared memory
//   wait v_empty[s]         |                  |     P = softmax of S, on the ordinary cores
//   TMA: a tile of V    --> | V 128 x dim      | --> O += P * V   wgmma m64n64k16 or n128, P in registers
//                           --------------------
//
// While a warpgroup is in softmax the tensor cores should have something to do, twice. Within a warpgroup:
// the product for the scores of tile j + 1 and that of the weights of tile j are issued together, and the
// second runs while softmax works on the result of the first. And between the two: they take turns in issuing
// (named barriers), so that one multiplies while the other is in softmax.
//
// The grid is sequence/128 (rounded up), heads; 384 threads a CTA; dynamic shared memory: see Shared. The map
// is of one tensor of four dimensions, innermost first: dim, sequence, heads, and 3 for Q, K and V; box
// 64x128x1x1, 128B swizzle. Rows of a tile from the end of the sequence on are zeros.
//
// What it leaves out, to stay readable: O leaves by ordinary stores; of causal tiles of O, which differ in
// the time they take, the short ones come first.
#include "../hopper.cuh"
#include "softmax.cuh"

constexpr int tile_rows = 128; // of Q, of K and of V
constexpr int stages = 2;
constexpr int consumer_threads = 256, consumer_warps = consumer_threads / 32;

// Where things are in shared memory. A tile is boxes of 128 rows of 64 elements; each begins at a multiple of
// 1024, as its swizzle wants.
template <int dim>
struct Shared {
  static constexpr int box_bytes = tile_rows * 128, boxes = dim / 64, tile_bytes = boxes * box_bytes;
  static constexpr int bytes = (1 + 2 * stages) * tile_bytes + (1 + 4 * stages) * 8;

  uint32_t base;
  __device__ uint32_t q() const { return base; }
  __device__ uint32_t k(int stage) const { return base + (1 + stage) * tile_bytes; }
  __device__ uint32_t v(int stage) const { return base + (1 + stages + stage) * tile_bytes; }
  __device__ uint32_t q_full() const { return base + (1 + 2 * stages) * tile_bytes; }
  __device__ uint32_t k_full(int stage) const { return q_full() + 8 + stage * 8; }
  __device__ uint32_t v_full(int stage) const { return k_full(stages + stage); }
  __device__ uint32_t k_empty(int stage) const { return v_full(stages + stage); }
  __device__ uint32_t v_empty(int stage) const { return k_empty(stages + stage); }
};
static_assert(Shared<64>::bytes == 81992 && Shared<128>::bytes == 163912, "what to launch them with");

// ---- wgmma with A in registers: d += a * b, issued. a is 64x16; b is 16 rows that are contiguous along N,
// as the 1 in the end says.

__device__ inline void wgmma_registers(float (&d)[32], const uint32_t* a, uint64_t b) {
  asm volatile("{\n\t"
               ".reg .pred accumulate;\n\t"
               "setp.eq.u32 accumulate, 0, 0;\n\t"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
               "{%32, %33, %34, %35}, %36, accumulate, 1, 1, 1;\n\t"
               "}"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                 "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                 "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                 "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
               : "memory");
}

__device__ inline void wgmma_registers(float (&d)[64], const uint32_t* a, uint64_t b) {
  asm volatile("{\n\t"
               ".reg .pred accumulate;\n\t"
               "setp.eq.u32 accumulate, 0, 0;\n\t"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
               "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
               "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
               "{%64, %65, %66, %67}, %68, accumulate, 1, 1, 1;\n\t"
               "}"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                 "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                 "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                 "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
                 "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
                 "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
                 "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                 "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
                 "+f"(d[63])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
               : "memory");
}

// As wgmma_pin of hopper.cuh: for other accumulators, and for the A of a wgmma, which nothing may overwrite
// before the wait.
__device__ inline void wgmma_pin(uint32_t (&a)[32]) {
  for (int i = 0; i < 32; ++i)
    asm volatile("" : "+r"(a[i])::"memory");
}
__device__ inline void wgmma_pin(float (&d)[32]) {
  for (int i = 0; i < 32; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}

// ---- producer

// A tile of Q, K or V (`which` 0, 1, 2).
template <int dim>
__device__ void load(uint32_t to, const TensorMap* qkv, int row, int which, uint32_t barrier) {
  mbarrier_arrive_expect(barrier, Shared<dim>::tile_bytes);
  for (int box = 0; box < dim / 64; ++box)
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to + box * Shared<dim>::box_bytes),
                 "l"(qkv), "r"(box * 64), "r"(row), "r"(blockIdx.y), "r"(which), "r"(barrier)
                 : "memory");
}

// One thread: all copies of the CTA.
template <int dim>
__device__ void produce(Shared<dim> shared, const TensorMap* qkv, int tiles) {
  load<dim>(shared.q(), qkv, blockIdx.x * tile_rows, 0, shared.q_full());
  for (int j = 0; j < tiles; ++j) {
    int stage = j % stages, parity = j / stages & 1;
    mbarrier_wait(shared.k_empty(stage), parity ^ 1);
    load<dim>(shared.k(stage), qkv, j * tile_rows, 1, shared.k_full(stage));
    mbarrier_wait(shared.v_empty(stage), parity ^ 1);
    load<dim>(shared.v(stage), qkv, j * tile_rows, 2, shared.v_full(stage));
  }
}

// ---- consumers

// The two warpgroups take turns: each waits for its own barrier, at which the other arrives.
__device__ inline void turn_wait(int consumer) {
  asm volatile("barrier.sync %0, %1;" ::"r"(1 + consumer), "n"(consumer_threads) : "memory");
}
__device__ inline void turn_pass(int consumer) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(2 - consumer), "n"(consumer_threads) : "memory");
}

// s = 64 rows of Q times K^T, issued: a group. 16 elements are 32 bytes of a row.
template <int dim>
__device__ void issue_scores(float (&s)[64], Shared<dim> shared, int consumer, int stage) {
  uint64_t q = matrix_descriptor(shared.q() + consumer * 64 * 128);
  uint64_t k = matrix_descriptor(shared.k(stage));
#pragma unroll
  for (int i = 0; i < dim / 16; ++i) {
    int offset = (i / 4 * Shared<dim>::box_bytes + i % 4 * 32) / 16;
    WGMMA_M64N128("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", "1, 1, 0, 0", s, q + offset,
                  k + offset, i != 0);
  }
  wgmma_commit();
}

// o += p * V, issued: a group. Along N, box follows box (leading dimension offset); 16 rows are 2048 bytes.
template <int dim>
__device__ void issue_values(float (&o)[dim / 2], const uint32_t (&p)[32], Shared<dim> shared, int stage) {
  constexpr uint64_t leading = Shared<dim>::box_bytes >> 4, mask = 0x3fffull << 16;
  uint64_t v = (matrix_descriptor(shared.v(stage)) & ~mask) | leading << 16;
#pragma unroll
  for (int i = 0; i < tile_rows / 16; ++i)
    wgmma_registers(o, p + i * 4, v + i * (2048 >> 4));
  wgmma_commit();
}

struct PackBf16 {
  __device__ uint32_t operator()(float low, float high) const {
    uint32_t both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
  }
};

// Weights as accumulators hold them are, two in a word, A as wgmma wants it.
__device__ void pack(uint32_t (&p)[32], const float (&s)[64]) {
#pragma unroll
  for (int i = 0; i < 32; ++i)
    p[i] = PackBf16()(s[2 * i], s[2 * i + 1]);
}

// A warp has read a tile for the last time.
__device__ inline void release(uint32_t barrier) {
  if (threadIdx.x % 32 == 0)
    mbarrier_arrive(barrier);
}

// A warpgroup: o = its 64 rows of O, not divided yet. `row` and `column` are those of the thread's s[0].
template <int dim>
__device__ void consume(float (&o)[dim / 2], Rows& rows, Shared<dim> shared, int consumer, int tiles, int row,
                        int column, int sequence, bool causal, float scale) {
  float s[64] = {}, factor[2]; // not added to: their first product starts from nothing
  uint32_t p[32] = {};

  mbarrier_wait(shared.q_full(), 0);
  mbarrier_wait(shared.k_full(0), 0);
  wgmma_fence();
  issue_scores(s, shared, consumer, 0);
  wgmma_wait<0>();
  if (consumer == 1 && tiles > 1)
    turn_pass(consumer); // the other warpgroup begins

#pragma unroll 1
  for (int j = 0;; ++j) {
    int stage = j % stages, next = (j + 1) % stages, before = (j + stages - 1) % stages;
    wgmma_pin(s);
    release(shared.k_empty(stage));
    if (j + 1 == tiles)
      mask(s, row, column + j * tile_rows, sequence, causal);
    softmax(s, factor, rows, scale);

    wgmma_wait<0>(); // o, of the tiles before
    wgmma_pin(o);
    wgmma_pin(p);
    if (j > 0)
      release(shared.v_empty(before));
    multiply(o, factor);
    pack(p, s);
    mbarrier_wait(shared.v_full(stage), j / stages & 1);
    if (j + 1 == tiles)
      break;

    mbarrier_wait(shared.k_full(next), (j + 1) / stages & 1);
    turn_wait(consumer);
    wgmma_fence(); // s, o and p were written by other instructions
    issue_scores(s, shared, consumer, next);
    issue_values(o, p, shared, stage);
    if (consumer == 0 || j + 2 < tiles) // nobody waits for the last turn
      turn_pass(consumer);
    wgmma_wait<1>(); // s
  }
  wgmma_fence();
  issue_values(o, p, shared, (tiles - 1) % stages);
  wgmma_wait<0>();
  wgmma_pin(o);
}

template <int dim>
__device__ void attention(const TensorMap* qkv, void* out, int sequence, bool causal, bool f32_out,
                          float scale) {
  extern __shared__ __align__(1024) uint8_t memory[];
  Shared<dim> shared{shared_address(memory)};
  // As tiles of queries and of keys are as long, only the last tile of keys has any to be masked.
  int tiles = causal ? blockIdx.x + 1 : (sequence + tile_rows - 1) / tile_rows;

  if (threadIdx.x == 0) {
    mbarrier_init(shared.q_full(), 1);
    for (int stage = 0; stage < stages; ++stage) {
      mbarrier_init(shared.k_full(stage), 1);
      mbarrier_init(shared.v_full(stage), 1);
      mbarrier_init(shared.k_empty(stage), consumer_warps);
      mbarrier_init(shared.v_empty(stage), consumer_warps);
    }
    fence_proxy_async(); // TMA completes on them
    tma_prefetch(qkv);
  }
  __syncthreads();

  if (threadIdx.x < 128) {
    registers_give<24>();
    if (threadIdx.x < 32 && elect_one())
      produce(shared, qkv, tiles);
  } else {
    registers_take<240>();
    int thread = threadIdx.x - 128, consumer = thread / 128, lane = thread % 32;
    int row = blockIdx.x * tile_rows + thread / 32 * 16 + lane / 4, column = lane % 4 * 2;
    float o[dim / 2] = {};
    Rows rows;
    consume(o, rows, shared, consumer, tiles, row, column, sequence, causal, scale);
    size_t head_bytes = size_t(sequence) * dim * (f32_out ? 4 : 2);
    store<dim>(o, rows, (char*)out + blockIdx.y * head_bytes, row, column, sequence, f32_out, PackBf16());
  }
}

extern "C" __global__ void __launch_bounds__(384, 1)
    attention_64(const __grid_constant__ TensorMap qkv, void* o, int sequence, int causal, int f32_out,
                 float scale) {
  attention<64>(&qkv, o, sequence, causal, f32_out, scale);
}

extern "C" __global__ void __launch_bounds__(384, 1)
    attention_128(const __grid_constant__ TensorMap qkv, void* o, int sequence, int causal, int f32_out,
                  float scale) {
  attention<128>(&qkv, o, sequence, causal, f32_out, scale);
}
