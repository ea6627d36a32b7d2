// A picture of 512 x 512 turned by half a radian, twice; five layers of 512 x 512; a surface that is written and read as a
// texture; and 2048 x 2048 numbers moved by a few texels, 100 times from memory with a pitch and 100 times from an array.
#include "../check.h"

#include <cmath>

__global__ void turn(float* out, cudaTextureObject_t picture, int width, int height, float sine, float cosine) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const float u = static_cast<float>(x) / width - 0.5f, v = static_cast<float>(y) / height - 0.5f;
  out[y * width + x] = tex2D<float>(picture, u * cosine - v * sine + 0.5f, v * cosine + u * sine + 0.5f);
}

__global__ void negate(float* out, cudaTextureObject_t layers, int width, int layer) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const float u = (x + 0.5f) / width, v = (y + 0.5f) / width;
  out[(layer * width + y) * width + x] = -tex2DLayered<float>(layers, u, v, layer) + layer;
}

__global__ void write(const float* in, cudaSurfaceObject_t surface, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  surf2Dwrite(in[y * width + x], surface, x * static_cast<int>(sizeof(float)), y, cudaBoundaryModeTrap);
}

__global__ void move(float* out, size_t pitch, cudaTextureObject_t texture, int width, int height, int right, int up) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  out[y * pitch + x] = tex2D<float>(texture, (x + right + 0.5f) / width, (y + up + 0.5f) / height);
}

cudaTextureObject_t texture_of(const cudaResourceDesc& resource, cudaTextureFilterMode filter) {
  cudaTextureDesc description = {};
  for (cudaTextureAddressMode& mode : description.addressMode)
    mode = cudaAddressModeWrap;
  description.filterMode = filter;
  description.normalizedCoords = 1;
  cudaTextureObject_t texture = 0;
  ok(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}

cudaResourceDesc resource_of(cudaArray_t array) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

const dim3 kBlock(8, 8);

// The picture in the array, turned: a fetch at the middle has what lies between four texels there.
void turn_picture(cudaArray_t array, const std::vector<float>& picture, int width) {
  const float angle = 0.5f;
  const cudaTextureObject_t texture = texture_of(resource_of(array), cudaFilterModeLinear);
  DeviceArray<float> turned(picture.size());
  for (int i = 0; i < 2; ++i)
    turn<<<dim3(width / 8, width / 8), kBlock>>>(turned.data(), texture, width, width, std::sin(angle), std::cos(angle));
  ok(cudaGetLastError());
  const auto got = turned.host();
  const int half = width / 2;
  const double middle = picture[(half - 1) * width + half - 1] + picture[(half - 1) * width + half] +
                        picture[half * width + half - 1] + picture[half * width + half];
  equal(middle / 4, got[half * width + half]);
  double sum = 0, wanted = 0;
  for (size_t i = 0; i < picture.size(); ++i) {
    sum += got[i];
    wanted += picture[i];
    expect(got[i] >= 0 && got[i] <= 255);
  }
  expect(std::abs(sum / wanted - 1) < 0.02);
  ok(cudaDestroyTextureObject(texture));
}

void pictures() {
  const int width = 512;
  const auto picture = small_numbers<float>(width * width, 0, 255);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  ok(cudaMallocArray(&array, &format, width, width));
  ok(cudaMemcpy2DToArray(array, 0, 0, picture.data(), width * 4, width * 4, width, cudaMemcpyHostToDevice));
  turn_picture(array, picture, width);
  ok(cudaFreeArray(array));

  ok(cudaMallocArray(&array, &format, width, width, cudaArraySurfaceLoadStore));
  const cudaResourceDesc resource = resource_of(array);
  cudaSurfaceObject_t surface = 0;
  ok(cudaCreateSurfaceObject(&surface, &resource));
  DeviceArray<float> in(picture);
  write<<<dim3(width / 8, width / 8), kBlock>>>(in.data(), surface, width);
  ok(cudaGetLastError());
  turn_picture(array, picture, width);
  ok(cudaDestroySurfaceObject(surface));
  ok(cudaFreeArray(array));
}

void layers() {
  const int width = 512, count = 5;
  const auto values = small_numbers<float>(width * width * count, 0, 1000);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  ok(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, width, count), cudaArrayLayered));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<float*>(values.data()), width * 4, width, width);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(width, width, count);
  copy.kind = cudaMemcpyHostToDevice;
  ok(cudaMemcpy3D(&copy));
  const cudaTextureObject_t texture = texture_of(resource_of(array), cudaFilterModeLinear);
  DeviceArray<float> out(values.size());
  for (int layer = 0; layer < count; ++layer)
    negate<<<dim3(width / 8, width / 8), kBlock>>>(out.data(), texture, width, layer);
  ok(cudaGetLastError());
  std::vector<float> wanted(values.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = -values[i] + static_cast<float>(i / (width * width));
  equal(wanted, out.host());
  ok(cudaDestroyTextureObject(texture));
  ok(cudaFreeArray(array));
}

void moves() {
  const int width = 2048, height = 2048, right = 64, up = 32;
  const auto values = small_numbers<float>(width * height, 0, 1000);
  std::vector<float> wanted(values.size());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      wanted[y * width + x] = values[(y + up) % height * width + (x + right) % width];
  float *in = nullptr, *out = nullptr;
  size_t in_pitch = 0, out_pitch = 0;
  ok(cudaMallocPitch(&in, &in_pitch, width * 4, height));
  ok(cudaMallocPitch(&out, &out_pitch, width * 4, height));
  ok(cudaMemcpy2D(in, in_pitch, values.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  ok(cudaMallocArray(&array, &format, width, height));
  ok(cudaMemcpy2DToArray(array, 0, 0, values.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
  cudaResourceDesc pitched = {};
  pitched.resType = cudaResourceTypePitch2D;
  pitched.res.pitch2D.devPtr = in;
  pitched.res.pitch2D.desc = format;
  pitched.res.pitch2D.width = width;
  pitched.res.pitch2D.height = height;
  pitched.res.pitch2D.pitchInBytes = in_pitch;
  for (const cudaResourceDesc& resource : {pitched, resource_of(array)}) {
    const cudaTextureObject_t texture = texture_of(resource, cudaFilterModePoint);
    ok(cudaMemset2D(out, out_pitch, 0, width * 4, height));
    for (int i = 0; i < 100; ++i)
      move<<<dim3(width / 16, height / 16), dim3(16, 16)>>>(out, out_pitch / 4, texture, width, height, right, up);
    ok(cudaGetLastError());
    std::vector<float> got(values.size());
    ok(cudaMemcpy2D(got.data(), width * 4, out, out_pitch, width * 4, height, cudaMemcpyDeviceToHost));
    equal(wanted, got);
    ok(cudaDestroyTextureObject(texture));
  }
  ok(cudaFreeArray(array));
  ok(cudaFree(in));
  ok(cudaFree(out));
}

int main() {
  pictures();
  layers();
  moves();
  return result();
}
