// O = softmax(Q * K^T / sqrt(dim)) * V with mma.sync, for each head: Q, K and V are sequence x dim in f16,
// dim 64 or 128; O is f16 or f32. With `causal`, query i sees keys 0 to i. For Ampere (sm_80) and what came
// after.
//
// A CTA of four warps makes 64 rows of O, a warp 16 of them. It walks along the keys in tiles of 64, in two
// stages: while one is multiplied, cp.async fills the other.
//
//   stage    tile 0                    tile 1                        tile 2
//     0      copy, wait, S softmax O   copy tile 2                   wait, S softmax O
//     1      copy tile 1               wait, S softmax O             copy tile 3
//
// Both products are mma.m16n8k16. S = Q * K^T wants of K two neighbours in a row, as they lie; O += P * V
// wants of V two neighbours in a column, so ldmatrix transposes. P needs no shared memory at all:
// accumulators of S, two in a word, are what A is.
//
// The grid is sequence/64 (rounded up), heads; 128 threads a CTA; 640 * dim bytes of dynamic shared memory.
// Q, K and V follow each other, each heads x sequence x dim. Rows of a tile from the end of the sequence on
// are zeros.
// compile_programs: -arch=compute_80
#include "softmax.cuh"

constexpr int tile_rows = 64, stages = 2, threads = 128;

// 16-byte piece number p of row r of a tile stands at p ^ r % 8, so that the eight rows that ldmatrix reads
// at once use all 32 banks.
template <int dim>
struct Shared {
  static constexpr int row_bytes = dim * 2, tile_bytes = tile_rows * row_bytes;
  static constexpr int bytes = (1 + 2 * stages) * tile_bytes;

  uint32_t base;
  __device__ uint32_t q() const { return base; }
  __device__ uint32_t k(int stage) const { return base + (1 + 2 * stage) * tile_bytes; }
  __device__ uint32_t v(int stage) const { return k(stage) + tile_bytes; }
  static __device__ uint32_t place(uint32_t tile, int row, int piece) {
    return tile + row * row_bytes + (piece ^ row % 8) * 16;
  }
};
static_assert(Shared<64>::bytes == 40960 && Shared<128>::bytes == 81920, "what to launch them with");

// ---- the instructions

// 16 bytes from global to shared memory, or zeros.
__device__ void copy_async(uint32_t to, const uint16_t* from, bool zeros) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(zeros ? 0 : 16)
               : "memory");
}

__device__ void copies_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `pending` groups of this thread are on the way.
template <int pending>
__device__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// Four 8x8 matrices. Lane i gives the address of row i % 8 of matrix i / 8, and gets of each matrix the two
// neighbouring elements (i / 4, i % 4 * 2) and the next in one register.
__device__ void ldmatrix_x4(uint32_t (&r)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}

// The same with each matrix transposed, so that the two elements of a register are neighbours in a column.
__device__ void ldmatrix_x4_trans(uint32_t (&r)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}

// d += a * b, where a is 16x16, b is 16x8 and d is 16x8.
__device__ void mma_m16n8k16(float* d, const uint32_t* a, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

struct PackF16 {
  __device__ uint32_t operator()(float low, float high) const {
    uint32_t both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
  }
};

// ---- the kernel

// All threads: copies a tile, from row `first` of the sequence on.
template <int dim>
__device__ void copy_tile(uint32_t to, const uint16_t* from, int first, int sequence) {
  constexpr int pieces = dim / 8; // of a row
#pragma unroll
  for (int i = 0; i < tile_rows * pieces / threads; ++i) {
    int piece = i * threads + threadIdx.x, row = piece / pieces;
    bool outside = first + row >= sequence;
    copy_async(Shared<dim>::place(to, row, piece % pieces),
               from + size_t(outside ? 0 : first + row) * dim + piece % pieces * 8, outside);
  }
}

// A warp: s = its 16 rows of Q times K^T.
template <int dim>
__device__ void scores(float (&s)[32], uint32_t q, uint32_t k, int warp, int lane) {
#pragma unroll
  for (int i = 0; i < 32; ++i)
    s[i] = 0;
#pragma unroll
  for (int i = 0; i < dim / 16; ++i) {
    uint32_t a[4], b[4];
    ldmatrix_x4(a, Shared<dim>::place(q, warp * 16 + lane % 16, i * 2 + lane / 16));
#pragma unroll
    for (int j = 0; j < tile_rows / 16; ++j) { // 16 keys: b of two products
      ldmatrix_x4(b, Shared<dim>::place(k, j * 16 + lane / 16 * 8 + lane % 8, i * 2 + lane / 8 % 2));
      mma_m16n8k16(&s[j * 8], a, b[0], b[1]);
      mma_m16n8k16(&s[j * 8 + 4], a, b[2], b[3]);
    }
  }
}

// A warp: o += the weights s times V.
template <int dim>
__device__ void values(float (&o)[dim / 2], const float (&s)[32], uint32_t v, int lane) {
#pragma unroll
  for (int i = 0; i < tile_rows / 16; ++i) {
    uint32_t a[4], b[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      a[j] = PackF16()(s[i * 8 + j * 2], s[i * 8 + j * 2 + 1]);
#pragma unroll
    for (int j = 0; j < dim / 16; ++j) { // 16 columns: b of two products
      ldmatrix_x4_trans(b, Shared<dim>::place(v, i * 16 + lane % 16, j * 2 + lane / 16));
      mma_m16n8k16(&o[j * 8], a, b[0], b[1]);
      mma_m16n8k16(&o[j * 8 + 4], a, b[2], b[3]);
    }
  }
}

template <int dim>
__device__ void attention(const uint16_t* qkv, void* out, int sequence, bool causal, bool f32_out,
                          float scale) {
  extern __shared__ __align__(128) uint8_t memory[];
  Shared<dim> shared{(uint32_t)__cvta_generic_to_shared(memory)};
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, head = blockIdx.y, heads = gridDim.y;
  int row = blockIdx.x * tile_rows + warp * 16 + lane / 4, column = lane % 4 * 2;
  // As tiles of queries and of keys are as long, only the last tile of keys has any to be masked.
  int tiles = causal ? blockIdx.x + 1 : (sequence + tile_rows - 1) / tile_rows;

  size_t head_size = size_t(sequence) * dim;
  const uint16_t *q = qkv + head * head_size, *k = q + heads * head_size, *v = k + heads * head_size;
  copy_tile<dim>(shared.q(), q, blockIdx.x * tile_rows, sequence);
  copy_tile<dim>(shared.k(0), k, 0, sequence);
  copy_tile<dim>(shared.v(0), v, 0, sequence);
  copies_commit();

  float s[32], o[dim / 2] = {}, factor[2];
  Rows rows;
#pragma unroll 1
  for (int j = 0; j < tiles; ++j) {
    int stage = j % stages, next = (j + 1) % stages;
    if (j + 1 < tiles) {
      copy_tile<dim>(shared.k(next), k, (j + 1) * tile_rows, sequence);
      copy_tile<dim>(shared.v(next), v, (j + 1) * tile_rows, sequence);
    }
    copies_commit();  // an empty group, when there was nothing to copy
    copies_wait<1>(); // this thread's pieces of tile j are there,
    __syncthreads();  // and everyone's

    scores<dim>(s, shared.q(), shared.k(stage), warp, lane);
    if (j + 1 == tiles)
      mask(s, row, column + j * tile_rows, sequence, causal);
    softmax(s, factor, rows, scale);
    multiply(o, factor);
    values<dim>(o, s, shared.v(stage), lane);
    __syncthreads(); // everyone has read the stage, so it may be filled again
  }
  store<dim>(o, rows, (char*)out + head * head_size * (f32_out ? 4 : 2), row, column, sequence, f32_out,
             PackF16());
}

extern "C" __global__ void __launch_bounds__(threads)
    attention_mma_64(const uint16_t* qkv, void* o, int sequence, int causal, int f32_out, float scale) {
  attention<64>(qkv, o, sequence, causal, f32_out, scale);
}

extern "C" __global__ void __launch_bounds__(threads)
    attention_mma_128(const uint16_t* qkv, void* o, int sequence, int causal, int f32_out, float scale) {
  attention<128>(qkv, o, sequence, causal, f32_out, scale);
}
