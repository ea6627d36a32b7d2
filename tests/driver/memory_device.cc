// Device memory: sizes, addresses, what is free.
#include "check.h"

int main() {
  begin();
  size_t free_before = 0, free_now = 0, total = 0;
  OK(cuMemGetInfo_v2(&free_before, &total));
  CHECK(free_before <= total && total > 0);
  CUdeviceptr a = 0, b = 0, base = 0;
  OK(cuMemAlloc_v2(&a, 1000));
  OK(cuMemAlloc_v2(&b, 1));
  CHECK(a != b && a % 256 == 0 && b % 256 == 0);
  OK(cuMemGetInfo_v2(&free_now, nullptr));
  CHECK(free_now < free_before);
  size_t bytes = 0;
  OK(cuMemGetAddressRange_v2(&base, &bytes, a + 999));
  EQUAL(a, base);
  EQUAL(size_t{1000}, bytes);
  FAILS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange_v2(&base, &bytes, a + 1000));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(&base, 0));
  EQUAL(0ull, base); // what is not allocated has no address
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(nullptr, 16));
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&base, total * 2));
  OK(cuMemGetInfo_v2(nullptr, nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(a + 4));
  OK(cuMemFree_v2(a));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(a));
  OK(cuMemFree_v2(b));
  OK(cuMemFree_v2(0));
  OK(cuMemGetInfo_v2(&free_now, &total));
  if (!on_gpu()) // which others use, too
    EQUAL(free_before, free_now);

  size_t pitch = 0;
  OK(cuMemAllocPitch_v2(&a, &pitch, 100, 7, 4));
  CHECK(pitch >= 100 && pitch % 512 == 0);
  OK(cuMemGetAddressRange_v2(nullptr, &bytes, a));
  EQUAL(pitch * 7, bytes);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2(&b, &pitch, 100, 7, 5));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2(&b, &pitch, 0, 7, 4));
  OK(cuMemFree_v2(a));
  return result();
}
