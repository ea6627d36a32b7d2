// Several copies by one call.
#include "check.h"

int main() {
  begin();
  const CUdeviceptr x = allocate_ints(64), y = allocate_ints(64);
  std::vector<int> values(64);
  for (int i = 0; i < 64; ++i)
    values[i] = i;
  write_ints(x, values);
  OK(cuMemsetD32_v2(y, 0, 64));
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr to[] = {y + 128, y}, from[] = {x, x + 128};
  size_t bytes[] = {128, 64}, begins[] = {0};
  CUmemcpyAttributes attributes[1] = {};
  attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  OK(cuMemcpyBatchAsync_v2(to, from, bytes, 2, attributes, begins, 1, stream));
  OK(cuStreamSynchronize(stream));
  const std::vector<int> got = read_ints(y, 64);
  EQUAL(32, got[0]);
  EQUAL(47, got[15]);
  EQUAL(0, got[16]);
  EQUAL(31, got[63]);

  size_t failed = 5;
  OK(cuMemcpyBatchAsync(to, from, bytes, 2, attributes, begins, 1, &failed, stream));
  EQUAL(SIZE_MAX, failed);
  to[1] = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuMemcpyBatchAsync(to, from, bytes, 2, attributes, begins, 1, &failed, stream));
  EQUAL(size_t{1}, failed);
  to[1] = y;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_v2(to, from, bytes, 2, attributes, begins, 1, nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_v2(to, from, bytes, 0, attributes, begins, 1, stream));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_v2(to, from, bytes, 2, attributes, begins, 0, stream));
  begins[0] = 1;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_v2(to, from, bytes, 2, attributes, begins, 1, stream));
  OK(cuStreamSynchronize(stream));
  return result();
}
