// Every other atomic of CUDA C++ on global and on shared memory, with and without its result, in orders whose
// outcome is the same for all: integers, f32 and f64 sums that are exact, packed halves, 16- and 64-bit
// compare-and-swap.
#include <cuda_fp16.h>
using u64 = unsigned long long;

extern "C" __global__ void atomics_all(unsigned* w, u64* d, int* s, float* f, double* g, half2* h,
                                       unsigned* tickets) {
  __shared__ unsigned sw[4];
  __shared__ u64 sd;
  __shared__ float sf;
  unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (t < 4)
    sw[t] = 0;
  if (t == 0) {
    sd = 0;
    sf = 0;
  }
  __syncthreads();

  atomicSub(&w[0], i);
  atomicMin(&w[1], i * 2654435761u);
  atomicMax(&w[2], i * 2654435761u);
  atomicAnd(&w[3], ~(1u << i % 31));
  atomicOr(&w[4], 1u << i % 29);
  atomicXor(&w[5], i * i * 77777u);
  atomicInc(&w[6], 36);                 // wraps to 0 above 36
  atomicDec(&w[7], 36);                 // wraps to 36 below 0
  unsigned old = atomicInc(&w[8], ~0u); // each thread its own ticket
  tickets[old] = old * 3;
  atomicExch(&w[9], 1234u);

  atomicAdd(&d[0], (u64)i << 33);
  atomicMin(&d[1], (u64)i * 11400714819323198485ull);
  atomicMax(&d[2], (u64)i * 11400714819323198485ull);
  atomicXor(&d[3], (u64)i * i << 20);
  atomicOr(&d[4], 1ull << i % 61);
  atomicCAS(&d[5], 0ull, 99ull);
  atomicAnd(&d[6], ~(1ull << i % 50));

  atomicMin(&s[0], (int)(i * 2654435761u));
  atomicMax(&s[1], (int)(i * 2654435761u));
  atomicAdd(&s[2], -(int)i);

  atomicAdd(&f[0], (float)(i % 16) * 0.25f);
  atomicAdd(&g[0], (double)(i % 16) * 0.125);
  atomicAdd(&h[0], __halves2half2(__int2half_rn(1), __int2half_rn(-2)));
  unsigned short seen = atomicCAS((unsigned short*)&h[1], (unsigned short)0, (unsigned short)7);
  if (seen != 0 && seen != 7)
    w[10] = seen;

  atomicAdd(&sw[0], i);
  atomicMax(&sw[1], i * 40503u % 65536);
  if (atomicAdd(&sw[2], 1u) == 0) // exactly one thread of the CTA
    atomicAdd(&w[11], 1u);
  atomicXor(&sw[3], i * 99u);
  atomicAdd(&sd, (u64)i * 5000000000ull);
  atomicAdd(&sf, (float)(t % 8));
  __syncthreads();
  if (t == 0) {
    atomicAdd(&w[12], sw[0]);
    atomicAdd(&w[13], sw[1]);
    atomicAdd(&w[14], sw[3]);
    atomicAdd(&d[7], sd);
    atomicAdd(&f[1], sf);
  }
}
