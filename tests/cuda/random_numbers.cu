// A counter-based generator (Philox 4x32-10 as its authors describe it) on device and host, and an estimate of pi.
#include "check.h"

struct Block {
  unsigned x[4];
};

__host__ __device__ inline Block philox(Block counter, unsigned key0, unsigned key1) {
  for (int round = 0; round < 10; ++round) {
    const unsigned long long p0 = 0xD2511F53ull * counter.x[0], p1 = 0xCD9E8D57ull * counter.x[2];
    counter = {{static_cast<unsigned>(p1 >> 32) ^ counter.x[1] ^ key0, static_cast<unsigned>(p1),
                static_cast<unsigned>(p0 >> 32) ^ counter.x[3] ^ key1, static_cast<unsigned>(p0)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

__host__ __device__ inline int inside(const Block& b) {
  const unsigned long long x = b.x[0] >> 8, y = b.x[1] >> 8;
  return x * x + y * y < 1ull << 48;
}

__global__ void estimate(Block* first, int* hits, int each) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  int mine = 0;
  for (int i = 0; i < each; ++i) {
    const Block b = philox({{static_cast<unsigned>(i), thread, 0, 0}}, 1, 2);
    if (i == 0)
      first[thread] = b;
    mine += inside(b);
  }
  atomicAdd(hits, mine);
}

int main() {
  const int threads = 512, each = 8;
  DeviceArray<Block> first(threads);
  DeviceArray<int> hits(1);
  estimate<<<threads / 128, 128>>>(first.data(), hits.data(), each);
  const auto got = first.host();
  int wanted = 0;
  for (unsigned thread = 0; thread < threads; ++thread)
    for (unsigned i = 0; i < each; ++i) {
      const Block b = philox({{i, thread, 0, 0}}, 1, 2);
      for (int word = 0; i == 0 && word < 4; ++word)
        equal(b.x[word], got[thread].x[word]);
      wanted += inside(b);
    }
  equal(wanted, hits.host()[0]);
  const double pi = 4.0 * wanted / (threads * each);
  expect(pi > 3.0 && pi < 3.3);
  return result();
}
