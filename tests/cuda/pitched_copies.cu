// Rows with a pitch, copied in two and three dimensions, and filled.
#include "check.h"

__global__ void add_index(cudaPitchedPtr memory, cudaExtent extent) {
  const unsigned x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
  auto* row = reinterpret_cast<int*>(static_cast<char*>(memory.ptr) + (z * extent.height + y) * memory.pitch);
  row[x] += z * 10000 + y * 100 + x;
}

int main() {
  const size_t width = 19, height = 7, depth = 5;
  const auto values = small_numbers<int>(width * height * depth, -1000, 1000);
  int* plane = nullptr;
  size_t pitch = 0;
  ok(cudaMallocPitch(&plane, &pitch, width * sizeof(int), height));
  expect(pitch >= width * sizeof(int) && pitch % 32 == 0);
  ok(cudaMemset2D(plane, pitch, 0, width * sizeof(int), height));
  ok(cudaMemcpy2D(plane, pitch, values.data(), width * sizeof(int), 10 * sizeof(int), height,
                  cudaMemcpyHostToDevice));
  std::vector<int> got(width * height);
  ok(cudaMemcpy2D(got.data(), width * sizeof(int), plane, pitch, width * sizeof(int), height,
                  cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < got.size(); ++i)
    equal(i % width < 10 ? values[i] : 0, got[i]);
  ok(cudaFree(plane));

  cudaPitchedPtr volume;
  const cudaExtent extent = make_cudaExtent(width * sizeof(int), height, depth);
  ok(cudaMalloc3D(&volume, extent));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<int*>(values.data()), width * sizeof(int), width, height);
  copy.dstPtr = volume;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  ok(cudaMemcpy3D(&copy));
  add_index<<<dim3(height, depth), width>>>(volume, extent);
  std::vector<int> back(values.size());
  copy.srcPtr = volume;
  copy.dstPtr = make_cudaPitchedPtr(back.data(), width * sizeof(int), width, height);
  copy.kind = cudaMemcpyDeviceToHost;
  ok(cudaMemcpy3D(&copy));
  for (size_t z = 0, i = 0; z < depth; ++z)
    for (size_t y = 0; y < height; ++y)
      for (size_t x = 0; x < width; ++x, ++i)
        equal(values[i] + static_cast<int>(z * 10000 + y * 100 + x), back[i]);
  ok(cudaMemset3D(volume, 0x11, make_cudaExtent(4 * sizeof(int), height, 1)));
  ok(cudaMemcpy3D(&copy));
  equal(0x11111111, back[width + 3]);
  equal(values[width + 4] + 104, back[width + 4]);
  ok(cudaFree(volume.ptr));
  return result();
}
