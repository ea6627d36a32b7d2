// What the two attention kernels share: the softmax of a tile of scores that knows only the tiles before it
// ("online"), and the division and store at the end.
//
// A score is a dot product q * k. With scale = log2(e) / sqrt(dim) its weight is exp(q * k / sqrt(dim)) =
// 2^(score * scale), divided by the weights of its row. As 2^x overflows, weights are taken relative to the
// largest score of the row so far; when a larger one comes, what was summed is multiplied by 2^(scale * (old
// - new)).
//
// A thread holds pieces of two rows, 8 apart, in the way of all accumulators of tensor cores: s[4 * j + 2 * h
// + i] is of row h * 8 + lane / 4 and column j * 8 + lane % 4 * 2 + i. Every operation on f32 is rounded by
// itself (__fmul_rn and so on), so that ptxas makes no fused one of two, and the bits are what the PTX says.
#pragma once
#include <cstdint>

// 2^x, nearly. 2^-infinity is 0.
__device__ inline float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float reciprocal_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The largest of the four lanes that hold pieces of a row, or their sum.
__device__ inline float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}
__device__ inline float row_sum(float x) {
  x = __fadd_rn(x, __shfl_xor_sync(0xffffffff, x, 1));
  return __fadd_rn(x, __shfl_xor_sync(0xffffffff, x, 2));
}

// What is known of a thread's two rows after some tiles.
struct Rows {
  float max[2] = {-INFINITY, -INFINITY}; // of the scores
  float sum[2] = {0, 0};                 // of this thread's weights
};

// Scores that do not count become -infinity: of keys from the end of the sequence on, and, if causal, after
// the query. `row` is the query of s[0], `column` the key.
template <int n>
__device__ void mask(float (&s)[n], int row, int column, int sequence, bool causal) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    int last = (causal ? min(row + h * 8, sequence - 1) : sequence - 1) - column;
#pragma unroll
    for (int i = 2 * h; i < n; i += 4) {
      s[i] = i / 4 * 8 > last ? -INFINITY : s[i];
      s[i + 1] = i / 4 * 8 + 1 > last ? -INFINITY : s[i + 1];
    }
  }
}

// Scores become weights. `factor` is what earlier sums of weights, or of weighted values, are multiplied by.
// In its first tile a row has a score that counts.
template <int n>
__device__ void softmax(float (&s)[n], float (&factor)[2], Rows& rows, float scale) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float max = rows.max[h];
#pragma unroll
    for (int i = 2 * h; i < n; i += 4)
      max = fmaxf(max, fmaxf(s[i], s[i + 1]));
    max = row_max(max);
    factor[h] = exp2_approx(__fmul_rn(__fsub_rn(rows.max[h], max), scale));
    float least = __fmul_rn(-max, scale), sum = __fmul_rn(rows.sum[h], factor[h]);
#pragma unroll
    for (int i = 2 * h; i < n; i += 4) {
      s[i] = exp2_approx(__fmaf_rn(s[i], scale, least));
      s[i + 1] = exp2_approx(__fmaf_rn(s[i + 1], scale, least));
      sum = __fadd_rn(sum, __fadd_rn(s[i], s[i + 1]));
    }
    rows.max[h] = max;
    rows.sum[h] = sum;
  }
}

template <int n>
__device__ void multiply(float (&o)[n], const float (&factor)[2]) {
#pragma unroll
  for (int i = 0; i < n; ++i)
    o[i] = __fmul_rn(o[i], factor[i / 2 % 2]);
}

// Divides by the weights and writes rows below `sequence` of a matrix with `dim` columns, as f32 or, two in a
// word, as what `pack` makes of them.
template <int dim, typename Pack>
__device__ void store(float (&o)[dim / 2], const Rows& rows, void* out, int row, int column, int sequence,
                      bool f32_out, Pack pack) {
  const float factor[2] = {reciprocal_approx(row_sum(rows.sum[0])), reciprocal_approx(row_sum(rows.sum[1]))};
  multiply(o, factor);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (row + h * 8 >= sequence)
      continue;
    size_t first = size_t(row + h * 8) * dim + column;
    if (f32_out) {
#pragma unroll
      for (int i = 2 * h; i < dim / 2; i += 4)
        *(float2*)((float*)out + first + i / 4 * 8) = make_float2(o[i], o[i + 1]);
    } else {
#pragma unroll
      for (int i = 2 * h; i < dim / 2; i += 4)
        *(uint32_t*)((uint16_t*)out + first + i / 4 * 8) = pack(o[i], o[i + 1]);
    }
  }
}
