// Game of life on a torus, with a halo in shared memory, many steps between two buffers.
#include "check.h"

#include <utility>

constexpr int kSize = 64, kTile = 16;

__global__ void step(const unsigned char* in, unsigned char* out) {
  __shared__ unsigned char cells[kTile + 2][kTile + 2];
  const int left = blockIdx.x * kTile - 1, top = blockIdx.y * kTile - 1;
  for (int i = threadIdx.y * kTile + threadIdx.x; i < (kTile + 2) * (kTile + 2); i += kTile * kTile) {
    const int x = (left + i % (kTile + 2) + kSize) % kSize, y = (top + i / (kTile + 2) + kSize) % kSize;
    cells[i / (kTile + 2)][i % (kTile + 2)] = in[y * kSize + x];
  }
  __syncthreads();
  int around = 0;
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 3; ++x)
      around += cells[threadIdx.y + y][threadIdx.x + x];
  const bool lives = cells[threadIdx.y + 1][threadIdx.x + 1];
  out[(top + 1 + threadIdx.y) * kSize + left + 1 + threadIdx.x] = around == 3 || (lives && around == 4);
}

int main() {
  auto world = small_numbers<unsigned char>(kSize * kSize, 0, 1);
  DeviceArray<unsigned char> a(world), b(world.size());
  unsigned char *now = a.data(), *next = b.data();
  for (int i = 0; i < 10; ++i) {
    step<<<dim3(kSize / kTile, kSize / kTile), dim3(kTile, kTile)>>>(now, next);
    std::swap(now, next);
    std::vector<unsigned char> after(world.size());
    for (int y = 0; y < kSize; ++y)
      for (int x = 0; x < kSize; ++x) {
        int around = 0;
        for (int v = -1; v <= 1; ++v)
          for (int u = -1; u <= 1; ++u)
            around += world[(y + v + kSize) % kSize * kSize + (x + u + kSize) % kSize];
        after[y * kSize + x] = around == 3 || (world[y * kSize + x] && around == 4);
      }
    world = after;
  }
  ok(cudaGetLastError());
  equal(world, a.host());
  return result();
}
