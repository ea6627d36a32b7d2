// Surfaces: what a kernel writes into an array another one reads, as surface and as texture, in two dimensions and in
// layers.
#include "check.h"

__global__ void write(cudaSurfaceObject_t surface) {
  const int x = threadIdx.x, y = blockIdx.x;
  surf2Dwrite(make_int2(x * 100 + y, x - y), surface, x * sizeof(int2), y);
}
__global__ void read_turned(cudaSurfaceObject_t surface, int2* out) {
  const int x = threadIdx.x, y = blockIdx.x;
  out[y * blockDim.x + x] = surf2Dread<int2>(surface, (blockDim.x - 1 - x) * sizeof(int2), gridDim.x - 1 - y);
}
__global__ void write_layers(cudaSurfaceObject_t surface) {
  surf2DLayeredwrite(1000.0f * blockIdx.y + 10 * blockIdx.x + threadIdx.x, surface, threadIdx.x * sizeof(float),
                     blockIdx.x, blockIdx.y);
}
__global__ void read_layers(cudaTextureObject_t texture, float* out) {
  out[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] =
      tex2DLayered<float>(texture, threadIdx.x + 0.5f, blockIdx.x + 0.5f, gridDim.y - 1 - blockIdx.y);
}

int main() {
  const int width = 12, height = 10, layers = 3;
  cudaArray_t array, layered;
  const cudaChannelFormatDesc pairs = cudaCreateChannelDesc<int2>(), floats = cudaCreateChannelDesc<float>();
  ok(cudaMallocArray(&array, &pairs, width, height, cudaArraySurfaceLoadStore));
  ok(cudaMalloc3DArray(&layered, &floats, make_cudaExtent(width, height, layers),
                       cudaArrayLayered | cudaArraySurfaceLoadStore));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface = 0, layer_surface = 0;
  ok(cudaCreateSurfaceObject(&surface, &resource));
  DeviceArray<int2> out(width * height);
  write<<<height, width>>>(surface);
  read_turned<<<height, width>>>(surface, out.data());
  const auto got = out.host();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const int from_x = width - 1 - x, from_y = height - 1 - y;
      equal(from_x * 100 + from_y, got[y * width + x].x);
      equal(from_x - from_y, got[y * width + x].y);
    }
  resource.res.array.array = layered;
  ok(cudaCreateSurfaceObject(&layer_surface, &resource));
  cudaTextureDesc description = {};
  description.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture = 0;
  ok(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  write_layers<<<dim3(height, layers), width>>>(layer_surface);
  DeviceArray<float> read(width * height * layers);
  read_layers<<<dim3(height, layers), width>>>(texture, read.data());
  std::vector<float> wanted;
  for (int layer = layers - 1; layer >= 0; --layer)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        wanted.push_back(1000.0f * layer + 10 * y + x);
  equal(wanted, read.host());
  ok(cudaDestroyTextureObject(texture));
  ok(cudaDestroySurfaceObject(surface));
  ok(cudaDestroySurfaceObject(layer_surface));
  ok(cudaFreeArray(array));
  ok(cudaFreeArray(layered));
  return result();
}
