// compile_programs: -arch=compute_100a
// O = softmax(Q * K^T * scale) * V, for each of several heads of 64 columns in f16, in the manner of
// FlashAttention-4. A CTA has two tiles of 128 queries, and takes the keys 128 at a time:
//
//   warps 0 to 3, 4 to 7   the softmax of a tile each: S from tensor memory, a thread a row; P back, as f16,
//                          where it is A of the second product
//   warps 8 to 11          the correction: O is multiplied when the maximum of its row has grown by a lot; at
//   the
//                          end divided and stored
//   warp 12                multiplies: O0 += P0 * V, S0 = Q0 * next K, and the same of the other tile
//   warp 13                copies, K and V in turns through three buffers
//
// There P is in columns of S, so that the next S overwrites it as soon as the product before has read it:
// that relies on the order of the products of a thread, which the PTX ISA leaves open for different D. Kernel
// attention_overlapping does that, attention has P apart.
//
// A quarter of the exponentials is a polynomial in place of ex2.approx. A maximum that has grown by less than
// 2^8 stays: weights are then greater than 1, and the sum as well. The maps have boxes of 64x128x1 with
// 128B swizzle.
#include "../tcgen05.cuh"
#include <cuda_fp16.h>

constexpr int dim = 64, block = 128, buffers = 3;
constexpr uint32_t tile_bytes = block * dim * 2;

struct Barriers {
  Ring<buffers> kv; // tiles in shared memory
  uint64_t q_full[2];
  uint64_t s_full[2], p_full[2];  // S of the multiplying warp, P of a softmax
  uint64_t o_full[2], o_ready[2]; // O is summed; is corrected, for the next sum
  Ring<1> row[2];                 // a number a row, of a softmax for the correction
};

__device__ float2 fma2(float2 a, float2 b, float2 c) {
  float2 d;
  asm("fma.rn.f32x2 %0, %1, %2, %3;"
      : "=l"(reinterpret_cast<uint64_t&>(d))
      : "l"(reinterpret_cast<uint64_t&>(a)), "l"(reinterpret_cast<uint64_t&>(b)),
        "l"(reinterpret_cast<uint64_t&>(c)));
  return d;
}
__device__ float2 add2(float2 a, float2 b) {
  float2 d;
  asm("add.rn.f32x2 %0, %1, %2;"
      : "=l"(reinterpret_cast<uint64_t&>(d))
      : "l"(reinterpret_cast<uint64_t&>(a)), "l"(reinterpret_cast<uint64_t&>(b)));
  return d;
}

__device__ float exp2_unit(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// 2^x for x <= 8: of the part after the point by a polynomial, then the exponent of the rest is added.
__device__ float2 exp2_polynomial(float2 x) {
  float2 whole, rest;
  uint32_t bits[2];
  for (int i = 0; i < 2; ++i) {
    float at = fmaxf(i ? x.y : x.x, -127.0f), moved = __fadd_rd(at, 12582912.0f);
    bits[i] = __float_as_uint(moved) << 23;
    (i ? whole.y : whole.x) = __fsub_rn(moved, 12582912.0f);
    (i ? rest.y : rest.x) = __fsub_rn(at, i ? whole.y : whole.x);
  }
  float2 y = fma2(make_float2(0.077119089663028717f, 0.077119089663028717f), rest,
                  make_float2(0.227564394474029541f, 0.227564394474029541f));
  y = fma2(y, rest, make_float2(0.695146143436431885f, 0.695146143436431885f));
  y = fma2(y, rest, make_float2(1.0f, 1.0f));
  return make_float2(__uint_as_float(bits[0] + __float_as_uint(y.x)),
                     __uint_as_float(bits[1] + __float_as_uint(y.y)));
}

// The columns of tile i: S has 128, O 64, and P 64 of its own, or the upper ones of S.
template <bool overlaps>
struct Columns {
  uint32_t base;
  __device__ uint32_t s(int i) const { return base + 128 * i; }
  __device__ uint32_t o(int i) const { return base + 256 + 64 * i; }
  __device__ uint32_t p(int i) const { return overlaps ? s(i) + 64 : base + 384 + 64 * i; }
};

__device__ void copy(const TensorMap* q, const TensorMap* k, const TensorMap* v, uint32_t tiles,
                     Barriers& bars, int blocks) {
  for (int i = 0; i < 2; ++i) {
    MBAR_EXPECT(SHARED(&bars.q_full[i]), tile_bytes);
    TMA_LOAD_3D(tiles + i * tile_bytes, q, 0, (blockIdx.x * 2 + i) * block, blockIdx.y,
                SHARED(&bars.q_full[i]));
  }
  Turn<buffers> buffer;
#pragma unroll 1
  for (int n = 0; n < 2 * blocks; ++n, buffer.next()) {
    uint32_t full = bars.kv.begin_filling(buffer, tile_bytes);
    TMA_LOAD_3D(tiles + (2 + buffer.at) * tile_bytes, n % 2 ? v : k, 0, n / 2 * block, blockIdx.y, full);
  }
}

template <bool overlaps>
__device__ void multiply_qk(uint32_t tiles, Barriers& bars, Columns<overlaps> at, int i, int buffer) {
  uint64_t q = tensor_descriptor(tiles + i * tile_bytes),
           k = tensor_descriptor(tiles + (2 + buffer) * tile_bytes);
  for (int step = 0; step < dim / 16; ++step)
    TC_MMA(at.s(i), q + 2 * step, k + 2 * step, product_shape(block, block), step != 0);
  TC_COMMIT(SHARED(&bars.s_full[i]));
}

template <bool overlaps>
__device__ void multiply(uint32_t tiles, Barriers& bars, Columns<overlaps> at, int blocks) {
  Turn<buffers> of_k, of_v;
  bars.kv.wait_full(of_k);
  for (int i = 0; i < 2; ++i) {
    MBAR_WAIT(SHARED(&bars.q_full[i]), 0);
    multiply_qk(tiles, bars, at, i, of_k.at);
  }
  TC_COMMIT(bars.kv.empty_at(of_k));
#pragma unroll 1
  for (int j = 0; j < blocks; ++j) {
    of_v = of_k;
    of_v.next();
    of_k = of_v;
    of_k.next();
    uint64_t v = columns_descriptor(tiles + (2 + of_v.at) * tile_bytes, tile_bytes);
    bars.kv.wait_full(of_v);
    if (j + 1 < blocks)
      bars.kv.wait_full(of_k);
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
      MBAR_WAIT(SHARED(&bars.p_full[i]), j & 1);
      if (j > 0)
        MBAR_WAIT(SHARED(&bars.o_ready[i]), (j & 1) ^ 1);
      TC_AFTER();
      for (int step = 0; step < block / 16; ++step)
        TC_MMA_T(at.o(i), at.p(i) + 8 * step, v + 128 * step, product_shape(block, dim) | transposed_b,
                 j + step != 0);
      TC_COMMIT(SHARED(&bars.o_full[i]));
      if (j + 1 < blocks)
        multiply_qk(tiles, bars, at, i, of_k.at);
    }
    TC_COMMIT(bars.kv.empty_at(of_v));
    if (j + 1 < blocks)
      TC_COMMIT(bars.kv.empty_at(of_k));
  }
}

template <bool overlaps>
__device__ void softmax(Barriers& bars, float* number, Columns<overlaps> at, int i, int keys, float scale) {
  int blocks = (keys + block - 1) / block;
  float max = -INFINITY, sum = 0;
  Turn<1> row;
#pragma unroll 1
  for (int j = 0; j < blocks; ++j) {
    uint32_t s[4][32];
    MBAR_WAIT(SHARED(&bars.s_full[i]), j & 1);
    TC_AFTER();
    for (int c = 0; c < 4; ++c)
      TC_LD32(s[c], lanes_of_warp(at.s(i)) + 32 * c);
    TC_WAIT_LD();
    float new_max = max;
#pragma unroll
    for (int c = 0; c < 128; ++c) {
      if (j * block + c >= keys)
        s[c / 32][c % 32] = __float_as_uint(-INFINITY);
      new_max = fmaxf(new_max, __uint_as_float(s[c / 32][c % 32]));
    }
    float exponent = __fmul_rn(__fsub_rn(max, new_max), scale), factor = exp2_unit(exponent);
    if (exponent >= -8.0f) {
      new_max = max;
      factor = 1.0f;
    }
    max = new_max;
    if (j > 0) {
      bars.row[i].wait_empty(row);
      *number = factor;
      MBAR_ARRIVE(bars.row[i].full_at(row));
      row.next();
    }
    float from = -__fmul_rn(max, scale);
    float2 sums = make_float2(__fmul_rn(sum, factor), 0.0f);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t p[32];
#pragma unroll
      for (int c = 0; c < 32; ++c) {
        float2 x = make_float2(__uint_as_float(s[2 * half + c / 16][c % 16 * 2]),
                               __uint_as_float(s[2 * half + c / 16][c % 16 * 2 + 1]));
        x = fma2(x, make_float2(scale, scale), make_float2(from, from));
        x = c % 4 == 3 ? exp2_polynomial(x) : make_float2(exp2_unit(x.x), exp2_unit(x.y));
        sums = add2(sums, x);
        __half2 pair = __float22half2_rn(x);
        p[c] = *reinterpret_cast<uint32_t*>(&pair);
      }
      TC_ST32(lanes_of_warp(at.p(i)) + 32 * half, p);
    }
    TC_WAIT_ST();
    TC_BEFORE();
    MBAR_ARRIVE(SHARED(&bars.p_full[i]));
    sum = __fadd_rn(sums.x, sums.y);
  }
  bars.row[i].wait_empty(row);
  *number = sum;
  MBAR_ARRIVE(bars.row[i].full_at(row));
}

template <bool overlaps>
__device__ void correct(Barriers& bars, const float (*numbers)[block], Columns<overlaps> at, __half* o,
                        int queries, int blocks) {
  int t = threadIdx.x % 128;
  Turn<1> row;
#pragma unroll 1
  for (int j = 1; j <= blocks; ++j, row.next())
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
      bars.row[i].wait_full(row);
      float factor = numbers[i][t];
      MBAR_ARRIVE(bars.row[i].empty_at(row));
      MBAR_WAIT(SHARED(&bars.o_full[i]), (j & 1) ^ 1);
      TC_AFTER();
      uint32_t o_at = lanes_of_warp(at.o(i)), r[32];
      if (j == blocks) {
        int query = (blockIdx.x * 2 + i) * block + t;
        float inverse = __frcp_rn(factor);
#pragma unroll 1
        for (int c = 0; c < dim; c += 32) {
          load_columns(r, o_at + c);
#pragma unroll
          for (int n = 0; n < 32; n += 2)
            if (query < queries)
              *reinterpret_cast<__half2*>(o + ((size_t)blockIdx.y * queries + query) * dim + c + n) =
                  __floats2half2_rn(__fmul_rn(__uint_as_float(r[n]), inverse),
                                    __fmul_rn(__uint_as_float(r[n + 1]), inverse));
        }
      } else {
        if (__any_sync(0xffffffff, factor < 1.0f))
#pragma unroll 1
          for (int c = 0; c < dim; c += 32) {
            load_columns(r, o_at + c);
            for (int n = 0; n < 32; ++n)
              r[n] = __float_as_uint(__fmul_rn(__uint_as_float(r[n]), factor));
            TC_ST32(o_at + c, r);
            TC_WAIT_ST();
          }
        TC_BEFORE();
        MBAR_ARRIVE(SHARED(&bars.o_ready[i]));
      }
    }
}

template <bool overlaps>
__device__ void attend(const TensorMap* q, const TensorMap* k, const TensorMap* v, __half* o, int queries,
                       int keys, float scale) {
  extern __shared__ __align__(1024) uint8_t tiles[];
  __shared__ __align__(8) Barriers bars;
  __shared__ float numbers[2][block];
  __shared__ uint32_t slot;
  int t = threadIdx.x, warp = t / 32, blocks = (keys + block - 1) / block;
  if (elected_of(0)) {
    bars.kv.init(1, 1);
    init_mbarriers(bars.q_full, 1);
    init_mbarriers(bars.s_full, 1);
    init_mbarriers(bars.p_full, 128);
    init_mbarriers(bars.o_full, 1);
    init_mbarriers(bars.o_ready, 128);
    for (Ring<1>& row : bars.row)
      row.init(128, 128);
    FENCE_MBAR_INIT();
  }
  Columns<overlaps> at{begin_tensor_memory(&slot, warp == 12, 512)};
  if (warp < 8) {
    REGISTERS_TAKE(192);
    softmax(bars, &numbers[warp / 4][t % 128], at, warp / 4, keys, scale);
  } else if (warp < 12) {
    REGISTERS_GIVE(80);
    correct(bars, numbers, at, o, queries, blocks);
  } else {
    REGISTERS_GIVE(48);
    if (elected_of(12))
      multiply(SHARED(tiles), bars, at, blocks);
    else if (elected_of(13))
      copy(q, k, v, SHARED(tiles), bars, blocks);
  }
  end_tensor_memory(at.base, warp == 12, 512);
}

#define ATTENTION(name, overlaps)                                                                            \
  extern "C" __global__ void __launch_bounds__(512)                                                          \
      name(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,                         \
           const __grid_constant__ TensorMap v, __half* o, int queries, int keys, float scale) {             \
    attend<overlaps>(&q, &k, &v, o, queries, keys, scale);                                                   \
  }
ATTENTION(attention, false)
ATTENTION(attention_overlapping, true)
