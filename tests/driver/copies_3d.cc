// Boxes out of boxes.
#include "check.h"

namespace {

constexpr size_t kPitch = 16, kRows = 6, kPlanes = 5;

unsigned char value(size_t x, size_t y, size_t z) {
  return static_cast<unsigned char>(x + 17 * y + 53 * z);
}

} // namespace

int main() {
  const CUcontext context = begin();
  std::vector<unsigned char> host(kPitch * kRows * kPlanes), back(host.size());
  for (size_t z = 0; z < kPlanes; ++z)
    for (size_t y = 0; y < kRows; ++y)
      for (size_t x = 0; x < kPitch; ++x)
        host[(z * kRows + y) * kPitch + x] = value(x, y, z);
  CUdeviceptr device = 0;
  OK(cuMemAlloc_v2(&device, 32 * 8 * 4));
  OK(cuMemsetD8_v2(device, 0, 32 * 8 * 4));
  CUDA_MEMCPY3D in{};
  in.srcXInBytes = 2;
  in.srcY = 1;
  in.srcZ = 1;
  in.srcMemoryType = CU_MEMORYTYPE_HOST;
  in.srcHost = host.data();
  in.srcPitch = kPitch;
  in.srcHeight = kRows;
  in.dstY = 3;
  in.dstZ = 1;
  in.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  in.dstDevice = device;
  in.dstPitch = 32;
  in.dstHeight = 8;
  in.WidthInBytes = 10;
  in.Height = 4;
  in.Depth = 3;
  CUDA_MEMCPY3D out{};
  out.srcY = 3;
  out.srcZ = 1;
  out.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  out.srcDevice = device;
  out.srcPitch = 32;
  out.srcHeight = 8;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = back.data();
  out.WidthInBytes = 10;
  out.Height = 4;
  out.Depth = 3; // pitch and height of the destination are 0: it has no gaps
  const auto right = [&] {
    bool all = true;
    for (size_t z = 0; z < 3; ++z)
      for (size_t y = 0; y < 4; ++y)
        for (size_t x = 0; x < 10; ++x)
          all &= back[(z * 4 + y) * 10 + x] == value(x + 2, y + 1, z + 1);
    std::fill(back.begin(), back.end(), 0);
    return all;
  };
  OK(cuMemcpy3D_v2(&in));
  OK(cuMemcpy3D_v2(&out));
  CHECK(right());
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, 0));
  OK(cuMemcpy3DAsync_v2(&out, stream));
  OK(cuStreamSynchronize(stream));
  CHECK(right());
  CUDA_MEMCPY3D_PEER peer{};
  peer.srcY = 3;
  peer.srcZ = 1;
  peer.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  peer.srcDevice = device;
  peer.srcContext = peer.dstContext = context;
  peer.srcPitch = 32;
  peer.srcHeight = 8;
  peer.dstMemoryType = CU_MEMORYTYPE_HOST;
  peer.dstHost = back.data();
  peer.WidthInBytes = 10;
  peer.Height = 4;
  peer.Depth = 3;
  OK(cuMemcpy3DPeer(&peer));
  CHECK(right());
  OK(cuMemcpy3DPeerAsync(&peer, stream));
  OK(cuStreamSynchronize(stream));
  CHECK(right());
  in.dstHeight = 5; // less than y and the box together
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(&in));
  out.srcLOD = 1; // of arrays alone
  OK(cuMemcpy3D_v2(&out));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(nullptr));
  return result();
}
