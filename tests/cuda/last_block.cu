// One launch for a whole sum: the block that comes last, as a counter and a fence tell it, adds the others' sums.
#include "check.h"

__device__ unsigned arrived = 0;

__global__ void sum_all(const int* in, int count, volatile int* partial, int* total) {
  __shared__ bool last;
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    sum += in[i];
  sum = __reduce_add_sync(0xffffffff, sum);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last)
    return;
  __threadfence();
  int mine = 0;
  for (int i = threadIdx.x; i < gridDim.x; i += 32)
    mine += partial[i];
  mine = __reduce_add_sync(0xffffffff, mine);
  if (threadIdx.x == 0)
    *total = mine;
}

int main() {
  const auto values = small_numbers<int>(50000, -100, 100);
  int wanted = 0;
  for (const int value : values)
    wanted += value;
  DeviceArray<int> in(values), partial(50), total(1);
  for (int round = 0; round < 3; ++round) { // the counter wraps
    ok(cudaMemset(total.data(), 0, sizeof(int)));
    sum_all<<<50, 32>>>(in.data(), static_cast<int>(values.size()), partial.data(), total.data());
    equal(wanted, total.host()[0]);
  }
  return result();
}
