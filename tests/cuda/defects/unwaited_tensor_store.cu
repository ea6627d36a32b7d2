// A tensor store (TMA) out of a tile that is written again before anybody has waited for it.
#include "../tensor_map.h"

#include <cuda/ptx>

namespace ptx = cuda::ptx;

constexpr int kBox = 16;

__global__ void write_boxes(const __grid_constant__ CUtensorMap out, int boxes) {
  __shared__ alignas(128) int tile[kBox][kBox];
  for (int i = 0; i < boxes; ++i) {
    tile[threadIdx.y][threadIdx.x] = i * 1000 + threadIdx.y * kBox + threadIdx.x; // finding: async.unwaited
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
      const int to[] = {i * kBox, 0};
      ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, to, tile);
      ptx::cp_async_bulk_commit_group();
    }
    __syncthreads();
  }
  if (threadIdx.x == 0 && threadIdx.y == 0)
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
}

int main() {
  const int boxes = 4;
  DeviceArray<int> out(boxes * kBox * kBox);
  write_boxes<<<1, dim3(kBox, kBox)>>>(map_of(out.data(), boxes * kBox, kBox, kBox), boxes);
  return result();
}
