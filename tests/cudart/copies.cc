// Copies and fills of every shape and direction, synchronous and in a stream.
#include "check.h"

#include <algorithm>
#include <numeric>

namespace {

std::vector<unsigned char> pattern(size_t count) {
  std::vector<unsigned char> bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<unsigned char>(i * 7 + i / 256);
  return bytes;
}

void rows() {
  const auto from = pattern(1000);
  std::vector<unsigned char> to(1000);
  auto* a = allocate<unsigned char>(1000);
  auto* b = allocate<unsigned char>(1000);
  for (const cudaMemcpyKind in : {cudaMemcpyHostToDevice, cudaMemcpyDefault}) {
    OK(cudaMemcpy(a, from.data(), 1000, in));
    OK(cudaMemcpy(b, a, 1000, in == cudaMemcpyDefault ? in : cudaMemcpyDeviceToDevice));
    std::fill(to.begin(), to.end(), 0);
    OK(cudaMemcpy(to.data(), b, 1000, in == cudaMemcpyDefault ? in : cudaMemcpyDeviceToHost));
    CHECK(to == from);
  }
  std::fill(to.begin(), to.end(), 0);
  OK(cudaMemcpy(to.data(), from.data(), 1000, cudaMemcpyHostToHost));
  CHECK(to == from);
  OK(cudaMemset(b, 0, 1000));
  OK(cudaMemcpyPeer(b, 0, a, 0, 500));
  OK(cudaMemcpyPeerAsync(b + 500, 0, a + 500, 0, 500, nullptr));
  std::fill(to.begin(), to.end(), 0);
  OK(cudaMemcpyAsync(to.data(), b, 1000, cudaMemcpyDeviceToHost, nullptr));
  OK(cudaStreamSynchronize(nullptr));
  CHECK(to == from);
  OK(cudaMemcpyAsync(b, to.data(), 1000, cudaMemcpyHostToDevice, cudaStreamLegacy));
  OK(cudaMemcpyAsync(a, b, 1000, cudaMemcpyDeviceToDevice, nullptr));
  OK(cudaMemcpyAsync(a, b, 1000, cudaMemcpyDefault, nullptr));
  OK(cudaMemcpy(nullptr, nullptr, 0, static_cast<cudaMemcpyKind>(9)));
  FAILS(cudaErrorInvalidValue, cudaMemcpy(to.data(), from.data(), 8, cudaMemcpyDeviceToDevice));
  FAILS(cudaErrorInvalidValue, cudaMemset(to.data(), 0, 8));
  FAILS(cudaErrorInvalidValue, cudaMemcpy(a, from.data(), 1001, cudaMemcpyHostToDevice));
  FAILS(cudaErrorInvalidValue, cudaMemcpy(nullptr, from.data(), 8, cudaMemcpyHostToDevice));
  FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(a, b, 8, static_cast<cudaMemcpyKind>(9)));
  FAILS(cudaErrorInvalidDevice, cudaMemcpyPeer(b, 0, a, 1, 8));
  OK(cudaFree(a));
  OK(cudaFree(b));
}

void planes() {
  constexpr size_t kWidth = 30, kHeight = 9;
  const auto from = pattern(40 * kHeight);
  void* memory = nullptr;
  size_t pitch = 0;
  OK(cudaMallocPitch(&memory, &pitch, kWidth, kHeight));
  OK(cudaMemset2D(memory, pitch, 0xee, kWidth, kHeight));
  OK(cudaMemcpy2D(memory, pitch, from.data(), 40, kWidth - 1, kHeight, cudaMemcpyHostToDevice));
  std::vector<unsigned char> to(50 * kHeight, 0xaa);
  OK(cudaMemcpy2DAsync(to.data(), 50, memory, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost, nullptr));
  OK(cudaDeviceSynchronize());
  for (size_t y = 0; y < kHeight; ++y)
    for (size_t x = 0; x < 50; ++x)
      if (to[50 * y + x] != (x < kWidth - 1 ? from[40 * y + x] : x < kWidth ? 0xee : 0xaa))
        return CHECK(!"a byte of the plane is another");
  OK(cudaMemset2DAsync(memory, pitch, 3, 10, 2, nullptr));
  OK(cudaMemcpy(to.data(), memory, 12, cudaMemcpyDeviceToHost));
  CHECK(to[9] == 3 && to[10] == from[10]);
  FAILS(cudaErrorInvalidPitchValue,
        cudaMemcpy2D(memory, 10, from.data(), 40, kWidth, kHeight, cudaMemcpyHostToDevice));
  OK(cudaFree(memory));
}

void cubes() {
  const cudaExtent extent = {12, 4, 3};
  const auto from = pattern(12 * 4 * 3);
  cudaPitchedPtr cube{};
  OK(cudaMalloc3D(&cube, extent));
  OK(cudaMemset3D(cube, 0x55, extent));
  cudaMemcpy3DParms in{};
  in.srcPtr = {const_cast<unsigned char*>(from.data()), 12, 12, 4};
  in.dstPtr = cube;
  in.extent = {12, 4, 3};
  in.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&in));
  std::vector<unsigned char> to(from.size());
  cudaMemcpy3DParms out{};
  out.srcPtr = cube;
  out.dstPtr = {to.data(), 12, 12, 4};
  out.extent = extent;
  out.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3DAsync(&out, nullptr));
  OK(cudaStreamSynchronize(nullptr));
  CHECK(to == from);
  // A box inside: two bytes, two rows, one plane, from (3, 1, 2) to (0, 0, 0) of a plane of 8.
  std::vector<unsigned char> box(16, 0);
  out.srcPos = {3, 1, 2};
  out.dstPtr = {box.data(), 8, 8, 2};
  out.extent = {2, 2, 1};
  OK(cudaMemcpy3D(&out));
  CHECK(box[0] == from[2 * 48 + 12 + 3] && box[9] == from[2 * 48 + 24 + 4] && box[2] == 0);

  cudaPitchedPtr other{};
  OK(cudaMalloc3D(&other, extent));
  cudaMemcpy3DPeerParms peer{};
  peer.srcPtr = cube;
  peer.dstPtr = other;
  peer.extent = extent;
  OK(cudaMemset3DAsync(other, 0, extent, nullptr));
  OK(cudaMemcpy3DPeer(&peer));
  OK(cudaMemcpy3DPeerAsync(&peer, nullptr));
  OK(cudaMemset3D(other, 9, {12, 2, 3})); // the first two rows of each plane
  out = {};
  out.srcPtr = other;
  out.dstPtr = {to.data(), 12, 12, 4};
  out.extent = extent;
  out.kind = cudaMemcpyDefault;
  OK(cudaMemcpy3D(&out));
  CHECK(to[0] == 9 && to[23] == 9 && to[24] == from[24] && to[48] == 9 && to[143] == from[143]);
  FAILS(cudaErrorInvalidValue, cudaMemcpy3D(nullptr));
  peer.dstDevice = 3;
  FAILS(cudaErrorInvalidDevice, cudaMemcpy3DPeer(&peer));
  OK(cudaFree(cube.ptr));
  OK(cudaFree(other.ptr));
}

} // namespace

int main() {
  rows();
  planes();
  cubes();
  return result();
}
