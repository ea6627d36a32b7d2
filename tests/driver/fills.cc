// Fills of 8, 16 and 32 bits, in a row and in rectangles.
#include "check.h"

int main() {
  begin();
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr x = allocate_ints(64);
  const auto at = [&](size_t i) { return static_cast<unsigned>(read_ints(x, 64)[i]); };
  OK(cuMemsetD8_v2(x, 0xab, 256));
  EQUAL(0xababababu, at(63));
  OK(cuMemsetD16_v2(x, 0x1234, 128));
  EQUAL(0x12341234u, at(63));
  OK(cuMemsetD32_v2(x, 0xdeadbeef, 64));
  EQUAL(0xdeadbeefu, at(63));
  OK(cuMemsetD8Async(x + 4, 1, 4, stream));
  OK(cuMemsetD16Async(x + 8, 2, 2, stream));
  OK(cuMemsetD32Async(x + 12, 3, 1, stream));
  OK(cuStreamSynchronize(stream));
  EQUAL(0xdeadbeefu, at(0));
  EQUAL(0x01010101u, at(1));
  EQUAL(0x00020002u, at(2));
  EQUAL(3u, at(3));
  EQUAL(0xdeadbeefu, at(4));
  // Four rows of 64 bytes.
  OK(cuMemsetD8_v2(x, 0, 256));
  OK(cuMemsetD2D32_v2(x + 4, 64, 7, 2, 4));
  EQUAL(0u, at(16));
  EQUAL(7u, at(17));
  EQUAL(7u, at(50));
  EQUAL(0u, at(51));
  OK(cuMemsetD2D16_v2(x, 64, 0x0505, 2, 4));
  EQUAL(0x05050505u, at(48));
  OK(cuMemsetD2D8_v2(x, 64, 9, 4, 3));
  EQUAL(0x09090909u, at(32));
  OK(cuMemsetD2D8Async(x, 64, 1, 4, 2, stream));
  OK(cuMemsetD2D16Async(x + 8, 64, 2, 2, 2, stream));
  OK(cuMemsetD2D32Async(x + 16, 64, 3, 1, 2, stream));
  OK(cuStreamSynchronize(stream));
  EQUAL(0x01010101u, at(16));
  EQUAL(0x00020002u, at(18));
  EQUAL(3u, at(20));

  OK(cuMemsetD32_v2(x, 1, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(x, 1, 65));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(x + 2, 1, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD16_v2(x + 1, 1, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(0, 1, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32_v2(x, 4, 1, 2, 2));
  int own = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(reinterpret_cast<CUdeviceptr>(&own), 1, 4));
  return result();
}
