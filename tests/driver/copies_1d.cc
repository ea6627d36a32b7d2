// Copies of bytes between all kinds of memory, at once and in streams; ranges that do not lie inside an
// allocation.
#include "check.h"

int main() {
  const CUcontext context = begin();
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, 0));
  const CUdeviceptr a = allocate_ints(100), b = allocate_ints(100);
  std::vector<int> values(100), back(100);
  for (int i = 0; i < 100; ++i)
    values[i] = i * i;
  const size_t bytes = 400;
  const auto arrives = [&](CUdeviceptr from) {
    const bool same = read_ints(from, 100) == values;
    OK(cuMemsetD8_v2(from, 0xee, bytes));
    return same;
  };
  OK(cuMemcpyHtoD_v2(a, values.data(), bytes));
  OK(cuMemcpyDtoD_v2(b, a, bytes));
  CHECK(arrives(b));
  OK(cuMemcpy(b, a, bytes));
  CHECK(arrives(b));
  OK(cuMemcpy(b, reinterpret_cast<CUdeviceptr>(values.data()), bytes)); // of whatever kind
  CHECK(arrives(b));
  OK(cuMemcpyDtoDAsync_v2(b, a, bytes, stream));
  OK(cuStreamSynchronize(stream));
  CHECK(arrives(b));
  OK(cuMemcpyHtoDAsync_v2(b, values.data(), bytes, stream));
  OK(cuStreamSynchronize(stream));
  CHECK(arrives(b));
  OK(cuMemcpyAsync(b, a, bytes, stream));
  OK(cuStreamSynchronize(stream));
  CHECK(arrives(b));
  OK(cuMemcpyPeer(b, context, a, context, bytes));
  CHECK(arrives(b));
  OK(cuMemcpyPeerAsync(b, context, a, context, bytes, stream));
  OK(cuStreamSynchronize(stream));
  CHECK(arrives(b));
  OK(cuMemcpyDtoHAsync_v2(back.data(), a, bytes, stream));
  OK(cuStreamSynchronize(stream));
  CHECK(back == values);
  OK(cuMemcpyDtoH_v2(back.data(), a + 40, 40)); // a part
  EQUAL(100, back[0]);
  // A source that is the program's own may change once the call has returned.
  std::vector<int> scratch = values;
  OK(cuMemcpyHtoDAsync_v2(b, scratch.data(), bytes, stream));
  std::fill(scratch.begin(), scratch.end(), 0);
  OK(cuStreamSynchronize(stream));
  CHECK(arrives(b));

  OK(cuMemcpyHtoD_v2(a, values.data(), 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(a, values.data(), 401));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(a + 396, values.data(), 8));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(0, values.data(), 4));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(a, nullptr, 4));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(nullptr, a, 4));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD_v2(reinterpret_cast<CUdeviceptr>(back.data()), a, 4));
  if (!on_gpu())
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuMemcpyDtoDAsync_v2(b, a, 4, reinterpret_cast<CUstream>(&back)));
  OK(cuMemcpyPeer(b, nullptr, a, context, 4)); // none: the current one
  OK(cuMemcpyDtoD_v2(a + 4, a, 200));          // onto itself
  OK(cuMemFree_v2(a));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(back.data(), a, 4));
  return result();
}
