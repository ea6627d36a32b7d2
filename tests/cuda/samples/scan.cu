// Exclusive prefix sums of 13 * 2^19 integers, in arrays of 4 to 1024, which a part of a block scans in shared memory, and
// of 2048 to 262144, whose parts' sums are scanned then; each length 100 times.
#include "../check.h"

constexpr unsigned kBlock = 256, kPart = 4 * kBlock, kCount = 13 * 1048576 / 2;

// The sum of what `size` neighbouring threads have up to this one's, by doubled distances; zeros stand before them.
__device__ unsigned scan_inclusive(unsigned value, volatile unsigned* shared, unsigned size) {
  unsigned at = 2 * threadIdx.x - (threadIdx.x & (size - 1));
  shared[at] = 0;
  at += size;
  shared[at] = value;
  for (unsigned distance = 1; distance < size; distance *= 2) {
    __syncthreads();
    const unsigned sum = shared[at] + shared[at - distance];
    __syncthreads();
    shared[at] = sum;
  }
  return shared[at];
}

// Four numbers a thread.
__device__ uint4 scan_four(uint4 in, volatile unsigned* shared, unsigned size) {
  const uint4 sums = make_uint4(in.x, in.x + in.y, in.x + in.y + in.z, in.x + in.y + in.z + in.w);
  const unsigned before = scan_inclusive(sums.w, shared, size / 4) - sums.w;
  return make_uint4(before, before + sums.x, before + sums.y, before + sums.z);
}

__global__ void scan_parts(uint4* out, const uint4* in, unsigned size) {
  __shared__ unsigned shared[2 * kBlock];
  const unsigned i = blockIdx.x * kBlock + threadIdx.x;
  out[i] = scan_four(in[i], shared, size);
}

// The last number of each part, and its sum: these are scanned as arrays of `size`.
__global__ void scan_sums(unsigned* sums, const unsigned* out, const unsigned* in, unsigned count, unsigned size) {
  __shared__ unsigned shared[2 * kBlock];
  const unsigned i = blockIdx.x * kBlock + threadIdx.x;
  unsigned sum = 0;
  if (i < count)
    sum = out[(i + 1) * kPart - 1] + in[(i + 1) * kPart - 1];
  const unsigned before = scan_inclusive(sum, shared, size) - sum;
  if (i < count)
    sums[i] = before;
}

__global__ void add_sums(uint4* out, const unsigned* sums) {
  __shared__ unsigned sum;
  if (threadIdx.x == 0)
    sum = sums[blockIdx.x];
  __syncthreads();
  const unsigned i = blockIdx.x * kBlock + threadIdx.x;
  uint4 value = out[i];
  value.x += sum, value.y += sum, value.z += sum, value.w += sum;
  out[i] = value;
}

int main() {
  const auto values = small_numbers<unsigned>(kCount, 0, 1 << 24);
  const unsigned parts = kCount / kPart;
  DeviceArray<unsigned> in(values), out(kCount), sums(parts);
  const auto* in4 = reinterpret_cast<const uint4*>(in.data());
  auto* out4 = reinterpret_cast<uint4*>(out.data());
  for (unsigned length = 4; length <= 262144; length *= 2) {
    const unsigned whole = kCount / length * length; // what remains is no array
    for (int i = 0; i < 100; ++i)
      if (length <= kPart) {
        scan_parts<<<whole / kPart, kBlock>>>(out4, in4, length);
      } else {
        scan_parts<<<whole / kPart, kBlock>>>(out4, in4, kPart);
        scan_sums<<<(whole / kPart + kBlock - 1) / kBlock, kBlock>>>(sums.data(), out.data(), in.data(), whole / kPart,
                                                                     length / kPart);
        add_sums<<<whole / kPart, kBlock>>>(out4, sums.data());
      }
    ok(cudaDeviceSynchronize());
    std::vector<unsigned> wanted(whole), got = out.host();
    got.resize(whole);
    for (unsigned i = 0; i < whole; ++i)
      wanted[i] = i % length ? wanted[i - 1] + values[i - 1] : 0;
    equal(wanted, got);
  }
  return result();
}
