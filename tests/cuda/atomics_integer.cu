// Every atomic function of 32-bit and 64-bit integers, in global and in shared memory.
#include "check.h"

#include <algorithm>

using Wide = unsigned long long;

__global__ void all_of_32(unsigned* u, int* s) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&u[0], i);
  atomicSub(&u[1], 2u);
  atomicMin(&u[2], i + 5);
  atomicMax(&u[3], i);
  atomicInc(&u[4], 99);
  atomicDec(&u[5], 99);
  atomicAnd(&u[6], ~(1u << i % 32));
  atomicOr(&u[7], 1u << i % 16);
  atomicXor(&u[8], i);
  atomicExch(&u[9], 77u);
  for (unsigned seen = atomicAdd(&u[10], 0), assumed;;) { // a maximum by compare and swap
    assumed = seen;
    seen = atomicCAS(&u[10], assumed, max(assumed, 3 * i));
    if (seen == assumed)
      break;
  }
  atomicMin(&s[0], -static_cast<int>(i));
  atomicMax(&s[1], static_cast<int>(i) - 100);
  atomicAdd(&s[2], -1);
}

__global__ void all_of_64(Wide* u, long long* s) {
  __shared__ Wide sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  const Wide i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&sum, i << 30);
  __syncthreads();
  if (threadIdx.x == 0)
    atomicAdd(&u[0], sum);
  atomicMin(&u[1], (i + 1) << 40);
  atomicMax(&u[2], i << 40);
  atomicAnd(&u[3], ~(Wide{1} << i % 64));
  atomicOr(&u[4], Wide{1} << i % 48);
  atomicXor(&u[5], i << 20);
  atomicExch(&u[6], Wide{1} << 50);
  atomicCAS(&u[7], i, i + 1); // 0 to whatever the order makes of it, one at least
  atomicMin(&s[0], -static_cast<long long>(i) << 33);
  atomicMax(&s[1], static_cast<long long>(i) - 1000);
}

int main() {
  const unsigned count = 512;
  std::vector<unsigned> u(11, 0), u_wanted;
  u[1] = 5000, u[2] = ~0u, u[6] = ~0u;
  DeviceArray<unsigned> du(u);
  DeviceArray<int> ds(std::vector<int>{0, -1000, 0});
  all_of_32<<<4, 128>>>(du.data(), ds.data());
  unsigned x = 0;
  for (unsigned i = 0; i < count; ++i)
    x ^= i;
  u_wanted = {count * (count - 1) / 2, 5000 - 2 * count, 5, count - 1, count % 100,
              (100 - count % 100) % 100, 0, 0xffff, x, 77, 3 * (count - 1)};
  equal(u_wanted, du.host());
  equal(std::vector<int>{-int(count - 1), int(count - 1) - 100, -int(count)}, ds.host());

  std::vector<Wide> w(8, 0);
  w[1] = w[3] = ~Wide{0};
  DeviceArray<Wide> dw(w);
  DeviceArray<long long> dsw(std::vector<long long>{0, -5000});
  all_of_64<<<4, 128>>>(dw.data(), dsw.data());
  const auto got = dw.host();
  const std::vector<Wide> w_wanted = {Wide{count * (count - 1) / 2} << 30, Wide{1} << 40,
                                      Wide{count - 1} << 40, 0, (Wide{1} << 48) - 1, Wide{x} << 20,
                                      Wide{1} << 50};
  equal(w_wanted, std::vector<Wide>(got.begin(), got.end() - 1));
  expect(got[7] >= 1 && got[7] <= count);
  equal(std::vector<long long>{-(511ll << 33), 511 - 1000}, dsw.host());
  return result();
}
