// Records pairs.csv: what an H200 gives for the approximate functions that checksums.csv has not - the divisions, on 2^26
// pairs of each kind, rsqrt.approx.f64, on 2^26 numbers of each kind, and the scalar 16-bit forms, on all inputs. A line is
// form, kind, piece of 2^20 (16-bit: of 2^16), and the sum over it of mix(mix(inputs) ^ result).
//
//   nvcc -gencode=arch=compute_90a,code=sm_90a record_pairs.cu -o record_pairs && ./record_pairs >pairs.csv
//
// make_pair() and mix() stand in tests/unit/numeric/mufu_test.cc as well.
#include <cstdint>
#include <cstdio>
#include <vector>

constexpr int kKinds = 6, kPieces = 64;
constexpr uint32_t kPieceBits = 20;

__device__ uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

__device__ uint32_t with_exponent(uint32_t bits, int exponent) {
  return (bits & 0x807fffff) | uint32_t(exponent < 0 ? 0 : exponent > 255 ? 255 : exponent) << 23;
}

// Kinds: any bits; exponents near each other; quotients near 2^-126; divisors above 2^123; divisors below 2^-123; zeros,
// infinities, NaNs and the numbers beside them.
__device__ uint64_t make_pair(int kind, uint64_t index) {
  const uint64_t r = mix(index), s = mix(r);
  uint32_t a = uint32_t(r), b = uint32_t(r >> 32);
  const int near = int(s % 9) - 4, exponent = int(a >> 23 & 0xff);
  constexpr uint32_t specials[8] = {0, 1, 0x007fffff, 0x00800000, 0x3f800000, 0x7f7fffff, 0x7f800000, 0x7fc00001};
  if (kind == 1)
    b = with_exponent(b, exponent + near);
  else if (kind == 2)
    b = with_exponent(b, 128 + exponent % 127), a = with_exponent(a, 128 + exponent % 127 - 126 + near);
  else if (kind == 3)
    b = with_exponent(b, 255 - int(s % 5));
  else if (kind == 4)
    b = with_exponent(b, int(s % 5));
  else if (kind == 5) {
    a = (a & 0x80000000) | specials[s & 7];
    b = (s >> 8 & 1) != 0 ? (b & 0x80000000) | specials[s >> 3 & 7] : b;
  }
  return uint64_t(b) << 32 | a;
}

__device__ uint32_t divide(int form, uint32_t a, uint32_t b) {
  uint32_t d = 0;
  switch (form) {
  case 0:
    asm("{.reg .f32 x, y, z; mov.b32 x, %1; mov.b32 y, %2; div.approx.f32 z, x, y; mov.b32 %0, z;}" : "=r"(d) : "r"(a), "r"(b));
    break;
  case 1:
    asm("{.reg .f32 x, y, z; mov.b32 x, %1; mov.b32 y, %2; div.approx.ftz.f32 z, x, y; mov.b32 %0, z;}" : "=r"(d) : "r"(a), "r"(b));
    break;
  case 2:
    asm("{.reg .f32 x, y, z; mov.b32 x, %1; mov.b32 y, %2; div.full.f32 z, x, y; mov.b32 %0, z;}" : "=r"(d) : "r"(a), "r"(b));
    break;
  default:
    asm("{.reg .f32 x, y, z; mov.b32 x, %1; mov.b32 y, %2; div.full.ftz.f32 z, x, y; mov.b32 %0, z;}" : "=r"(d) : "r"(a), "r"(b));
  }
  return d;
}

// Of f64 the pair is one number; kinds 2 to 5 have special upper words.
__device__ uint64_t make_double(int kind, uint64_t index) {
  const uint64_t r = mix(index), s = mix(r);
  constexpr uint64_t upper[4] = {0x7ff, 0xfff, 0x000, 0x800};
  return kind == 0 ? r : kind == 1 ? (r & ~(uint64_t{0xfff} << 52)) | (1023 + (s & 1)) << 52
                                   : (r & (s & 7 ? ~uint64_t{0} >> 12 : 0)) | upper[kind - 2] << 52;
}
__device__ uint64_t rsqrt_f64(uint64_t a) {
  uint64_t d;
  asm("{.reg .f64 x, z; mov.b64 x, %1; rsqrt.approx.f64 z, x; mov.b64 %0, z;}" : "=l"(d) : "l"(a));
  return d;
}

__device__ uint32_t half(int form, uint32_t a) {
  uint16_t d = 0, x = uint16_t(a);
  switch (form) {
  case 0:
    asm("ex2.approx.f16 %0, %1;" : "=h"(d) : "h"(x));
    break;
  case 1:
    asm("ex2.approx.ftz.bf16 %0, %1;" : "=h"(d) : "h"(x));
    break;
  case 2:
    asm("tanh.approx.f16 %0, %1;" : "=h"(d) : "h"(x));
    break;
  default:
    asm("tanh.approx.bf16 %0, %1;" : "=h"(d) : "h"(x));
  }
  return d;
}

__global__ void divisions(int form, int kind, unsigned long long* sums) {
  const uint64_t piece = blockIdx.x, threads = blockDim.x;
  uint64_t sum = 0;
  for (uint64_t i = threadIdx.x; i < 1u << kPieceBits; i += threads) {
    const uint64_t pair = make_pair(kind, piece << kPieceBits | i);
    sum += mix(mix(pair) ^ divide(form, uint32_t(pair), uint32_t(pair >> 32)));
  }
  atomicAdd(&sums[piece], sum);
}
__global__ void roots(int kind, unsigned long long* sums) {
  const uint64_t piece = blockIdx.x, threads = blockDim.x;
  uint64_t sum = 0;
  for (uint64_t i = threadIdx.x; i < 1u << kPieceBits; i += threads) {
    const uint64_t a = make_double(kind, piece << kPieceBits | i);
    sum += mix(mix(a) ^ rsqrt_f64(a));
  }
  atomicAdd(&sums[piece], sum);
}
__global__ void halves(int form, unsigned long long* sums) {
  uint64_t sum = 0;
  for (uint32_t a = threadIdx.x; a < 1u << 16; a += blockDim.x)
    sum += mix(mix(a) ^ half(form, a));
  atomicAdd(&sums[0], sum);
}

// What rsqrt.approx.f64 makes of a few NaNs and other special numbers, to be looked at.
__global__ void show_roots(const uint64_t* in, uint64_t* out, int count) {
  if (int(threadIdx.x) < count)
    out[threadIdx.x] = rsqrt_f64(in[threadIdx.x]);
}

template <class Launch>
void record(const char* form, int kind, int pieces, Launch launch) {
  unsigned long long* on_device;
  std::vector<unsigned long long> sums(pieces);
  cudaMalloc(&on_device, pieces * sizeof sums[0]);
  cudaMemset(on_device, 0, pieces * sizeof sums[0]);
  launch(on_device);
  const cudaError_t error = cudaMemcpy(sums.data(), on_device, pieces * sizeof sums[0], cudaMemcpyDeviceToHost);
  if (error != cudaSuccess)
    fprintf(stderr, "%s: %s\n", form, cudaGetErrorString(error));
  for (int i = 0; i < pieces; ++i)
    printf("%s,%d,%d,%016llx\n", form, kind, i, sums[i]);
  cudaFree(on_device);
}

int main() {
  printf("form,kind,piece,sum\n");
  const char* division_names[] = {"div.approx.f32", "div.approx.ftz.f32", "div.full.f32", "div.full.ftz.f32"};
  const char* half_names[] = {"ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16", "tanh.approx.bf16"};
  for (int form = 0; form < 4; ++form)
    for (int kind = 0; kind < kKinds; ++kind)
      record(division_names[form], kind, kPieces, [&](unsigned long long* sums) { divisions<<<kPieces, 512>>>(form, kind, sums); });
  for (int kind = 0; kind < kKinds; ++kind)
    record("rsqrt.approx.f64", kind, kPieces, [&](unsigned long long* sums) { roots<<<kPieces, 512>>>(kind, sums); });
  for (int form = 0; form < 4; ++form)
    record(half_names[form], 0, 1, [&](unsigned long long* sums) { halves<<<1, 512>>>(form, sums); });

  const std::vector<uint64_t> shown = {0x7ff0000000000001, 0x7ff0000012345678, 0x7ff8000000000001, 0xfff0000000000001,
                                       0xfff8000012345678, 0x7fffffffffffffff, 0xffffffffffffffff, 0xbff0000000000000,
                                       0x8000000000000000, 0x8000000000000001, 1,                  0x000fffffffffffff,
                                       0x7ff0000000000000, 0xfff0000000000000, 0x7ff4000000000000, 0x7ff7ffffffffffff};
  std::vector<uint64_t> roots_of(shown.size());
  uint64_t *in, *out;
  const size_t bytes = shown.size() * sizeof shown[0];
  cudaMalloc(&in, bytes);
  cudaMalloc(&out, bytes);
  cudaMemcpy(in, shown.data(), bytes, cudaMemcpyHostToDevice);
  show_roots<<<1, 32>>>(in, out, int(shown.size()));
  cudaMemcpy(roots_of.data(), out, bytes, cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < shown.size(); ++i)
    fprintf(stderr, "rsqrt.approx.f64 %016lx -> %016lx\n", (unsigned long)shown[i], (unsigned long)roots_of[i]);
}
