// Textures with linear filtering, where the weights are such that the result is exact; and gathers of four.
#include "check.h"

__global__ void between(cudaTextureObject_t texture, float* out, float4* gathered, int width) {
  const int x = threadIdx.x, y = blockIdx.x;
  out[y * width + x] = tex2D<float>(texture, x + 1.0f, y + 0.75f); // halves and quarters of the weights
  gathered[y * width + x] = tex2Dgather<float4>(texture, x + 1.0f, y + 1.0f, 0);
}

int main() {
  const int width = 17, height = 9;
  const auto values = small_numbers<float>(width * height, -1000, 1000);
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  ok(cudaMallocArray(&array, &format, width, height, cudaArrayTextureGather));
  ok(cudaMemcpy2DToArray(array, 0, 0, values.data(), width * sizeof(float), width * sizeof(float), height,
                         cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description = {};
  description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
  description.filterMode = cudaFilterModeLinear;
  description.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture = 0;
  ok(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  DeviceArray<float> out(width * height);
  DeviceArray<float4> gathered(width * height);
  between<<<height, width>>>(texture, out.data(), gathered.data(), width);
  const auto got = out.host();
  const auto four = gathered.host();
  const auto at = [&](int x, int y) {
    return values[(y < height ? y : height - 1) * width + (x < width ? x : width - 1)];
  };
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const float upper = (at(x, y) + at(x + 1, y)) / 2, lower = (at(x, y + 1) + at(x + 1, y + 1)) / 2;
      equal(upper * 0.75f + lower * 0.25f, got[y * width + x]);
      const float4 g = four[y * width + x];
      equal(at(x, y + 1), g.x);
      equal(at(x + 1, y + 1), g.y);
      equal(at(x + 1, y), g.z);
      equal(at(x, y), g.w);
    }
  ok(cudaDestroyTextureObject(texture));
  ok(cudaFreeArray(array));
  return result();
}
