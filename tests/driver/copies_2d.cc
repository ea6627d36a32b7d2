// Rectangles out of rectangles.
#include "check.h"

int main() {
  begin();
  constexpr size_t kWidth = 20, kHeight = 5, kHostPitch = 32;
  std::vector<unsigned char> host(kHostPitch * 8), back(kHostPitch * 8, 0);
  for (size_t i = 0; i < host.size(); ++i)
    host[i] = static_cast<unsigned char>(i);
  CUdeviceptr device = 0;
  size_t pitch = 0;
  OK(cuMemAllocPitch_v2(&device, &pitch, 64, 8, 4));
  CUDA_MEMCPY2D in{};
  in.srcXInBytes = 3;
  in.srcY = 2;
  in.srcMemoryType = CU_MEMORYTYPE_HOST;
  in.srcHost = host.data();
  in.srcPitch = kHostPitch;
  in.dstXInBytes = 10;
  in.dstY = 1;
  in.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  in.dstDevice = device;
  in.dstPitch = pitch;
  in.WidthInBytes = kWidth;
  in.Height = kHeight;
  CUDA_MEMCPY2D out{};
  out.srcXInBytes = 10;
  out.srcY = 1;
  out.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  out.srcDevice = device;
  out.srcPitch = pitch;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = back.data();
  out.dstPitch = kWidth;
  out.WidthInBytes = kWidth;
  out.Height = kHeight;
  const auto right = [&] {
    bool all = true;
    for (size_t y = 0; y < kHeight; ++y)
      for (size_t x = 0; x < kWidth; ++x)
        all &= back[y * kWidth + x] == static_cast<unsigned char>((y + 2) * kHostPitch + x + 3);
    std::fill(back.begin(), back.end(), 0);
    return all;
  };
  OK(cuMemcpy2D_v2(&in));
  OK(cuMemcpy2D_v2(&out));
  CHECK(right());
  OK(cuMemcpy2DUnaligned_v2(&out));
  CHECK(right());
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, 0));
  OK(cuMemcpy2DAsync_v2(&in, stream));
  OK(cuMemcpy2DAsync_v2(&out, stream));
  OK(cuStreamSynchronize(stream));
  CHECK(right());
  out.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  OK(cuMemcpy2D_v2(&out));
  CHECK(right());
  // Device to device, with other pitches.
  CUdeviceptr packed = 0;
  OK(cuMemAlloc_v2(&packed, kWidth * kHeight));
  CUDA_MEMCPY2D inside = out;
  inside.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  inside.dstDevice = packed;
  OK(cuMemcpy2D_v2(&inside));
  OK(cuMemcpyDtoH_v2(back.data(), packed, kWidth * kHeight));
  CHECK(right());

  CUDA_MEMCPY2D wrong = in;
  wrong.dstPitch = kWidth; // and x is 10
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&wrong));
  wrong = in;
  wrong.Height = 8; // below the last row
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&wrong));
  wrong = in;
  wrong.dstMemoryType = static_cast<CUmemorytype>(9);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&wrong));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(nullptr));
  wrong = in;
  wrong.WidthInBytes = 0;
  OK(cuMemcpy2D_v2(&wrong));
  return result();
}
