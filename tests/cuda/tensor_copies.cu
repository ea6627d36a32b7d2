// Tensor copies (TMA): a map that the driver encodes, boxes in with an mbarrier, out again transposed by the program.
#include "tensor_map.h"

#include <cuda/barrier>
#include <cuda/ptx>

namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kBox = 32;

#pragma nv_diag_suppress static_var_with_dynamic_init // barriers in shared memory: init() makes them
__global__ void transpose(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out) {
  __shared__ alignas(128) int tile[kBox][kBox], turned[kBox][kBox];
  __shared__ Barrier arrived;
  const int t = threadIdx.x, x = blockIdx.x * kBox, y = blockIdx.y * kBox;
  if (t == 0) {
    init(&arrived, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (t == 0) {
    const int from[] = {x, y};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &in, from,
                              cuda::device::barrier_native_handle(arrived));
    token = cuda::device::barrier_arrive_tx(arrived, 1, sizeof tile);
  } else {
    token = arrived.arrive();
  }
  arrived.wait(std::move(token));
  for (int i = t; i < kBox * kBox; i += blockDim.x)
    turned[i % kBox][i / kBox] = tile[i / kBox][i % kBox];
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (t == 0) {
    const int to[] = {y, x};
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, to, turned);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

int main() {
  const int rows = 60, columns = 100; // boxes reach over the edges
  const auto values = small_numbers<int>(rows * columns, -1000, 1000);
  DeviceArray<int> in(values), out(values.size());
  transpose<<<dim3((columns + kBox - 1) / kBox, (rows + kBox - 1) / kBox), 128>>>(
      map_of(in.data(), columns, rows, kBox), map_of(out.data(), rows, columns, kBox));
  ok(cudaGetLastError());
  std::vector<int> wanted(values.size());
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x)
      wanted[x * rows + y] = values[y * columns + x];
  equal(wanted, out.host());
  return result();
}
