// What the programs of tcgen05 of this folder have in common: instructions beside those of the checker's
// kernels, and how such a kernel begins, passes buffers on, and ends.
#pragma once
#include "../check/corpus/kernels/tensor.cuh"

// ---- a warp's 32 lanes, 32 columns
#define TC_EACH32(of, r)                                                                                     \
  of(r[0]), of(r[1]), of(r[2]), of(r[3]), of(r[4]), of(r[5]), of(r[6]), of(r[7]), of(r[8]), of(r[9]),        \
      of(r[10]), of(r[11]), of(r[12]), of(r[13]), of(r[14]), of(r[15]), of(r[16]), of(r[17]), of(r[18]),     \
      of(r[19]), of(r[20]), of(r[21]), of(r[22]), of(r[23]), of(r[24]), of(r[25]), of(r[26]), of(r[27]),     \
      of(r[28]), of(r[29]), of(r[30]), of(r[31])
#define TC_OUT(x) "=r"(x)
#define TC_IN(x) "r"(x)
#define TC_32_REGISTERS                                                                                      \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "    \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define TC_LD32(r, from)                                                                                     \
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 " TC_32_REGISTERS ", [%32];"                          \
               : TC_EACH32(TC_OUT, r)                                                                        \
               : "r"(from)                                                                                   \
               : "memory")
#define TC_ST32(to, r)                                                                                       \
  asm volatile("tcgen05.st.sync.aligned.32x32b.x32.b32 [%32], " TC_32_REGISTERS ";" ::TC_EACH32(TC_IN, r),   \
               "r"(to)                                                                                       \
               : "memory")

// ---- products of any group and kind: how is "cta_group::1.kind::f16" or the like
#define TC_MMA_HOW(how, d, a, b, shape, adds)                                                                \
  asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.u32 adds, %4, 0;\n\t"                                       \
               "tcgen05.mma." how " [%0], %1, %2, %3, adds;\n\t}" ::"r"(d),                                  \
               "l"(a), "l"(b), "r"(shape), "r"((uint32_t)(adds))                                             \
               : "memory")

// ---- descriptors
// Rows of K of 64 columns of 16 bits, swizzled as a tensor map with 128B swizzle leaves them, and 64 more
// columns each `next` bytes on; sixteen of K are 128 more.
__device__ inline uint64_t columns_descriptor(uint32_t tile, uint32_t next) {
  return (tile & 0x3ffff) >> 4 | uint64_t(next >> 4) << 16 | 64ull << 32 | 1ull << 46 | 2ull << 61;
}
// Beside product_shape(m, n), which is of f16.
constexpr uint32_t of_bf16 = 1u << 7 | 1u << 10, transposed_b = 1u << 16;

// ---- products with scale factors, and half of D
#define TC_MMA_SCALED_HOW(how, d, a, b, shape, scale_a, scale_b, adds)                                       \
  asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.u32 adds, %6, 0;\n\t"                                       \
               "tcgen05.mma." how " [%0], %1, %2, %3, [%4], [%5], adds;\n\t}" ::"r"(d),                      \
               "l"(a), "l"(b), "r"(shape), "r"(scale_a), "r"(scale_b), "r"((uint32_t)(adds))                 \
               : "memory")
// The low halves of 32 columns, two a register.
#define TC_LD32_PACKED(r, from)                                                                              \
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.pack::16b.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "  \
               "%10, %11, %12, %13, %14, %15}, [%16];"                                                       \
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]),         \
                 "=r"(r[7]), "=r"(r[8]), "=r"(r[9]), "=r"(r[10]), "=r"(r[11]), "=r"(r[12]), "=r"(r[13]),     \
                 "=r"(r[14]), "=r"(r[15])                                                                    \
               : "r"(from)                                                                                   \
               : "memory")

// ---- a sparse A, whose metadata is in tensor memory
#define TC_MMA_SPARSE(how, d, a, b, metadata, shape, adds)                                                   \
  asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.u32 adds, %5, 0;\n\t"                                       \
               "tcgen05.mma.sp." how " [%0], %1, %2, [%3], %4, adds;\n\t}" ::"r"(d),                         \
               "l"(a), "l"(b), "r"(metadata), "r"(shape), "r"((uint32_t)(adds))                              \
               : "memory")
// 128 rows of 16 or 32 bytes, one a lane.
#define TC_CP(rows, to, from)                                                                                \
  asm volatile("tcgen05.cp.cta_group::1." rows " [%0], %1;" ::"r"(to), "l"(from) : "memory")
constexpr uint32_t sparse_a = 1u << 2;
constexpr uint32_t of_tf32 = 2u << 7 | 2u << 10;

#define TMA_LOAD_3D(to, map, x, y, z, bar)                                                                   \
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "           \
               "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),                                                  \
               "l"(map), "r"(x), "r"(y), "r"(z), "r"(bar)                                                    \
               : "memory")

// ---- how the programs begin, and end
// Which of `count` buffers is next, and the parity with which a thread waits until it is full; with the other
// parity, until it is empty, as all are at first.
template <int count>
struct Turn {
  int at = 0;
  uint32_t parity = 0;
  __device__ void next() {
    parity ^= ++at == count;
    at %= count;
  }
};

template <int count>
__device__ inline void init_mbarriers(uint64_t (&bars)[count], uint32_t arrivals) {
  for (int i = 0; i < count; ++i)
    MBAR_INIT(SHARED(&bars[i]), arrivals);
}

// The mbarriers of buffers that one side fills and the other empties, in turns.
template <int count>
struct Ring {
  uint64_t full[count], empty[count];

  __device__ void init(uint32_t filling, uint32_t emptying) {
    init_mbarriers(full, filling);
    init_mbarriers(empty, emptying);
  }
  __device__ uint32_t full_at(Turn<count> turn) { return SHARED(&full[turn.at]); }
  __device__ uint32_t empty_at(Turn<count> turn) { return SHARED(&empty[turn.at]); }
  __device__ void wait_full(Turn<count> turn) { MBAR_WAIT(full_at(turn), turn.parity); }
  __device__ void wait_empty(Turn<count> turn) { MBAR_WAIT(empty_at(turn), turn.parity ^ 1); }
  // For copies of so many bytes: waits for the buffer, and returns the mbarrier that they tell.
  __device__ uint32_t begin_filling(Turn<count> turn, uint32_t bytes) {
    wait_empty(turn);
    MBAR_EXPECT(full_at(turn), bytes);
    return full_at(turn);
  }
};

// Is this the thread that elect.sync names in that warp?
__device__ inline bool elected_of(uint32_t warp) {
  uint32_t elected = 0;
  if (threadIdx.x / 32 == warp)
    ELECT(elected);
  return elected;
}

// All threads call it: one warp allocates columns, for its CTA or for a pair. Then all have their address,
// and the mbarriers that were initialized before.
template <int ctas = 1>
__device__ inline uint32_t begin_tensor_memory(uint32_t* slot, bool allocates, uint32_t columns) {
  if (allocates) {
    if constexpr (ctas == 2) {
      TC2_ALLOC(SHARED(slot), columns);
      TC2_RELINQUISH();
    } else {
      TC_ALLOC(SHARED(slot), columns);
      TC_RELINQUISH();
    }
  }
  TC_BEFORE();
  __syncthreads();
  if constexpr (ctas == 2) {
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
  }
  TC_AFTER();
  return *slot;
}
// All threads call it when they have done with the columns.
template <int ctas = 1>
__device__ inline void end_tensor_memory(uint32_t address, bool allocated, uint32_t columns) {
  __syncwarp();
  TC_BEFORE();
  __syncthreads();
  if constexpr (ctas == 2) {
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
    if (allocated)
      TC2_DEALLOC(address, columns);
  } else if (allocated) {
    TC_DEALLOC(address, columns);
  }
}

// The address of the same column in the quarter of the lanes that this warp can access.
__device__ inline uint32_t lanes_of_warp(uint32_t address) {
  return address + (threadIdx.x / 32 % 4 << 21);
}

// A lane's 32 columns.
__device__ inline void load_columns(uint32_t (&r)[32], uint32_t from) {
  TC_LD32(r, from);
  TC_WAIT_LD();
}

// 32 columns of a row of D, without those past the edges.
__device__ inline void store_columns(float* d, int row, int column, int m, int n, const uint32_t (&r)[32]) {
#pragma unroll
  for (int j = 0; j < 32; ++j)
    if (row < m && column + j < n)
      d[(size_t)row * n + column + j] = __uint_as_float(r[j]);
}
