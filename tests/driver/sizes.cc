// Sizes whose sums and products do not fit 64 bits, or that no memory has: each is refused, nothing is
// touched, and the context stays sound.
#include "check.h"

#include <utility>

namespace {

constexpr size_t kAll = ~size_t{0}, kTop = size_t{1} << 63;

struct Rectangle {
  size_t source_pitch, destination_pitch, width, height, source_x, source_y, destination_x, destination_y;
};

// From the host to the device, and back.
void copy_rectangles(CUdeviceptr device, void* host) {
  const Rectangle wrong[] = {
      {64, kAll, 64, 2, 0, 0, 0, 0},
      {kAll, 64, 64, 2, 0, 0, 0, 0},
      {64, kAll - 63, 64, 2, 0, 0, 0, 0},
      {64, 64, 64, size_t{1} << 60, 0, 0, 0, 0}, // height * pitch
      {64, size_t{1} << 60, 64, 16, 0, 0, 0, 0},
      {64, 64, 1, 1, kTop, 0, 0, 0},
      {0, 0, 64, 1, kAll - 32, 0, 0, 0}, // x + width
      {0, 0, 64, 1, 0, 0, kAll - 32, 0},
      {64, 64, 1, 1, 0, 0, 0, kAll},
      {64, size_t{1} << 31, 1, 1, 0, 0, 0, size_t{1} << 40},
      {64, kTop, 1, 1, 0, 0, 0, 2},  // y * pitch
      {64, 64, 1, kAll, 0, 2, 0, 0}, // y + height
  };
  for (const Rectangle& each : wrong) {
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host;
    copy.srcPitch = each.source_pitch;
    copy.srcXInBytes = each.source_x;
    copy.srcY = each.source_y;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = device;
    copy.dstPitch = each.destination_pitch;
    copy.dstXInBytes = each.destination_x;
    copy.dstY = each.destination_y;
    copy.WidthInBytes = each.width;
    copy.Height = each.height;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&copy));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2DUnaligned_v2(&copy));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2DAsync_v2(&copy, nullptr));
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = device;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = host;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&copy));
  }
}

void copy_boxes(CUdeviceptr device) {
  CUDA_MEMCPY3D good{};
  good.srcMemoryType = good.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  good.srcDevice = device;
  good.dstDevice = device + 4096;
  good.WidthInBytes = 64;
  good.Height = good.Depth = 2;
  good.srcPitch = good.dstPitch = 64;
  good.srcHeight = good.dstHeight = 2;
  OK(cuMemcpy3D_v2(&good));
  for (size_t CUDA_MEMCPY3D::* member :
       {&CUDA_MEMCPY3D::srcXInBytes, &CUDA_MEMCPY3D::srcY, &CUDA_MEMCPY3D::srcZ, &CUDA_MEMCPY3D::srcPitch,
        &CUDA_MEMCPY3D::srcHeight, &CUDA_MEMCPY3D::dstXInBytes, &CUDA_MEMCPY3D::dstY, &CUDA_MEMCPY3D::dstZ,
        &CUDA_MEMCPY3D::dstPitch, &CUDA_MEMCPY3D::dstHeight, &CUDA_MEMCPY3D::WidthInBytes,
        &CUDA_MEMCPY3D::Height, &CUDA_MEMCPY3D::Depth})
    for (const size_t value : {kAll, kAll - 1, kAll - 63, kTop, kTop + 1, size_t{1} << 58, size_t{1} << 57}) {
      CUDA_MEMCPY3D wrong = good;
      wrong.*member = value;
      FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(&wrong));
    }
  CUDA_MEMCPY3D flat = good; // 2^64 bytes in rows without gaps
  flat.Height = flat.srcHeight = flat.dstHeight = size_t{1} << 58;
  flat.Depth = 1;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(&flat));
}

void fill(CUdeviceptr device) {
  OK(cuMemsetD32_v2(device, 7, 16));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(device, 1, size_t{1} << 62));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(device, 1, (size_t{1} << 62) + 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD16_v2(device, 1, kTop + 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(device, 1, kAll));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D8_v2(device, 1 << 30, 1, 1, (size_t{1} << 34) + 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32_v2(device, 4, 1, (size_t{1} << 62) + 1, 2));
  EQUAL(7, read_ints(device, 16)[0]);
  EQUAL(7, read_ints(device, 16)[1]);
}

void allocate() {
  CUdeviceptr address = 0;
  size_t pitch = 0;
  for (const auto& [width, height] : {std::pair<size_t, size_t>{kAll, 2},
                                      {kAll, 1},
                                      {size_t{1} << 33, size_t{1} << 33},
                                      {(size_t{1} << 33) + 512, size_t{1} << 55},
                                      {1, kAll}}) {
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocPitch_v2(&address, &pitch, width, height, 4));
    EQUAL(0ull, address);
  }
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&address, kAll));
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&address, kTop));
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&address, kAll, nullptr));
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocManaged(&address, kAll, CU_MEM_ATTACH_GLOBAL));
  void* host = nullptr;
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemHostAlloc(&host, kAll, 0));
  int own = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(&own, kAll, 0));
}

} // namespace

int main() {
  begin();
  static char host[4096];
  CUdeviceptr device = 0;
  OK(cuMemAlloc_v2(&device, 65536));
  copy_rectangles(device, host);
  copy_boxes(device);
  fill(device);
  allocate();
  OK(cuCtxSynchronize());
  return result();
}
