// Textures read at points: linear memory, a 1D and a 2D array, addressing modes, integers read as they are and as
// fractions.
#include "check.h"

__global__ void fetch(cudaTextureObject_t texture, const int* where, float* out, int count) {
  if (threadIdx.x < count)
    out[threadIdx.x] = tex1Dfetch<float>(texture, where[threadIdx.x]);
}
template <class T> __global__ void read_2d(cudaTextureObject_t texture, const float2* where, T* out) {
  out[threadIdx.x] = tex2D<T>(texture, where[threadIdx.x].x, where[threadIdx.x].y);
}

cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureAddressMode mode, cudaTextureReadMode read,
                               bool normalized) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description = {};
  description.addressMode[0] = description.addressMode[1] = mode;
  description.filterMode = cudaFilterModePoint;
  description.readMode = read;
  description.normalizedCoords = normalized;
  cudaTextureObject_t texture = 0;
  ok(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}

int main() {
  const int count = 100;
  const auto values = small_numbers<float>(count, -1000, 1000);
  DeviceArray<float> memory(values), out(64);
  const auto where = small_numbers<int>(64, 0, count - 1, 2);
  DeviceArray<int> dwhere(where);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory.data();
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = memory.bytes();
  cudaTextureDesc description = {};
  description.readMode = cudaReadModeElementType;
  cudaTextureObject_t linear = 0;
  ok(cudaCreateTextureObject(&linear, &resource, &description, nullptr));
  fetch<<<1, 64>>>(linear, dwhere.data(), out.data(), 64);
  std::vector<float> wanted(64);
  for (int i = 0; i < 64; ++i)
    wanted[i] = values[where[i]];
  equal(wanted, out.host());
  ok(cudaDestroyTextureObject(linear));

  const int width = 16, height = 8;
  const auto bytes = small_numbers<unsigned char>(width * height, 0, 255, 3);
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned char>();
  ok(cudaMallocArray(&array, &format, width, height));
  ok(cudaMemcpy2DToArray(array, 0, 0, bytes.data(), width, width, height, cudaMemcpyHostToDevice));
  std::vector<float2> places(64);
  Numbers numbers(4);
  for (float2& place : places) // eighths from -8 to 24, from -4 to 12
    place = make_float2(numbers.below(256) / 8.0f - 8, numbers.below(128) / 8.0f - 4);
  DeviceArray<float2> dplaces(places);
  DeviceArray<unsigned char> read(64);
  const cudaTextureObject_t clamped = texture_of(array, cudaAddressModeClamp, cudaReadModeElementType, false);
  read_2d<<<1, 64>>>(clamped, dplaces.data(), read.data());
  const auto got = read.host();
  const auto floor_of = [](float x) { return static_cast<int>(x) - (x < static_cast<int>(x)); };
  const auto clamp = [](int x, int size) { return x < 0 ? 0 : x >= size ? size - 1 : x; };
  for (int i = 0; i < 64; ++i)
    equal(bytes[clamp(floor_of(places[i].y), height) * width + clamp(floor_of(places[i].x), width)], got[i]);
  const cudaTextureObject_t bordered = texture_of(array, cudaAddressModeBorder, cudaReadModeNormalizedFloat, false);
  read_2d<<<1, 64>>>(bordered, dplaces.data(), out.data());
  for (int i = 0; i < 64; ++i) {
    const int x = floor_of(places[i].x), y = floor_of(places[i].y);
    const bool inside = x >= 0 && x < width && y >= 0 && y < height;
    wanted[i] = inside ? bytes[y * width + x] / 255.0f : 0;
  }
  equal(wanted, out.host());
  const cudaTextureObject_t wrapped = texture_of(array, cudaAddressModeWrap, cudaReadModeElementType, true);
  for (float2& place : places)
    place = make_float2(place.x / width, place.y / height);
  ok(cudaMemcpy(dplaces.data(), places.data(), dplaces.bytes(), cudaMemcpyHostToDevice));
  read_2d<<<1, 64>>>(wrapped, dplaces.data(), read.data());
  const auto around = read.host();
  for (int i = 0; i < 64; ++i) {
    const int x = floor_of(places[i].x * width), y = floor_of(places[i].y * height);
    equal(bytes[(y + height) % height * width + (x + width) % width], around[i]);
  }
  for (const cudaTextureObject_t texture : {clamped, bordered, wrapped})
    ok(cudaDestroyTextureObject(texture));
  ok(cudaFreeArray(array));
  return result();
}
