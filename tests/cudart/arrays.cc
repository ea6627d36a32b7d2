// Arrays, texture and surface objects: made, copied to and from, used by kernels, described.
#include "check.h"

#include <numeric>

namespace {

const Kernel sample_1d{"sample_1d"}, sample_2d{"sample_2d"}, sample_3d{"sample_3d"},
    sample_layers{"sample_layers"}, fetch_linear{"fetch_linear"}, transpose_surface{"transpose_surface"};

cudaChannelFormatDesc floats(int channels = 1) {
  const auto bits = [&](int channel) { return channel < channels ? 32 : 0; };
  return cudaCreateChannelDesc(bits(0), bits(1), bits(2), bits(3), cudaChannelFormatKindFloat);
}

cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureFilterMode filter = cudaFilterModePoint,
                               cudaTextureAddressMode mode = cudaAddressModeClamp, bool normalized = false) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc texture{};
  for (cudaTextureAddressMode& each : texture.addressMode)
    each = mode;
  texture.filterMode = filter;
  texture.readMode = cudaReadModeElementType;
  texture.normalizedCoords = normalized;
  cudaTextureObject_t object = 0;
  OK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  return object;
}

std::vector<float> read_floats(const float* from, size_t count) {
  std::vector<float> values(count, -1.0f);
  OK(cudaMemcpy(values.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost));
  return values;
}

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

void rows(float* out) {
  const cudaChannelFormatDesc channel = floats();
  cudaArray_t array = nullptr;
  OK(cudaMallocArray(&array, &channel, 8, 4, 0));
  cudaChannelFormatDesc same{};
  cudaExtent extent{};
  unsigned flags = 77;
  OK(cudaArrayGetInfo(&same, &extent, &flags, array));
  EQUAL(32, same.x);
  EQUAL(0, same.y);
  EQUAL(8u, extent.width);
  EQUAL(4u, extent.height);
  EQUAL(0u, flags);
  OK(cudaGetChannelDesc(&same, array));
  CHECK(same.f == cudaChannelFormatKindFloat);

  const std::vector<float> values = ramp(32);
  OK(cudaMemcpy2DToArray(array, 0, 0, values.data(), 32, 32, 4, cudaMemcpyHostToDevice));
  std::vector<float> back(32, -1.0f);
  OK(cudaMemcpy2DFromArray(back.data(), 12, array, 8, 1, 12, 2, cudaMemcpyDeviceToHost));
  EQUAL(10.0f, back[0]);
  EQUAL(20.0f, back[5]);
  EQUAL(-1.0f, back[6]);
  OK(cudaMemcpyToArray(array, 0, 3, values.data(), 32, cudaMemcpyHostToDevice));
  OK(cudaMemcpyFromArray(back.data(), array, 0, 0, 128, cudaMemcpyDeviceToHost));
  EQUAL(23.0f, back[23]);
  EQUAL(0.0f, back[24]);
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  OK(cudaMemcpy2DToArrayAsync(array, 0, 0, values.data(), 32, 32, 4, cudaMemcpyHostToDevice, stream));
  OK(cudaMemcpy2DFromArrayAsync(back.data(), 32, array, 0, 0, 32, 4, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  EQUAL(31.0f, back[31]);
  FAILS(cudaErrorInvalidValue,
        cudaMemcpy2DToArray(array, 8, 0, values.data(), 32, 32, 4, cudaMemcpyHostToDevice));
  FAILS(cudaErrorInvalidValue, cudaMemcpyToArray(array, 4, 0, values.data(), 32, cudaMemcpyHostToDevice));

  const cudaTextureObject_t texture = texture_of(array, cudaFilterModeLinear);
  OK(launch(sample_2d, 1, dim3(8, 4), 0, nullptr, out, texture, 1.0f, 1.0f));
  OK(cudaDeviceSynchronize());
  EQUAL(4.5f, read_floats(out, 32)[0]); // between 0, 1, 8 and 9
  cudaResourceDesc resource{};
  cudaTextureDesc description{};
  OK(cudaGetTextureObjectResourceDesc(&resource, texture));
  CHECK(resource.res.array.array == array);
  OK(cudaGetTextureObjectTextureDesc(&description, texture));
  CHECK(description.filterMode == cudaFilterModeLinear && description.readMode == cudaReadModeElementType);
  OK(cudaDestroyTextureObject(texture));
  OK(cudaFreeArray(array));
  OK(cudaFreeArray(nullptr));
  const cudaChannelFormatDesc three = floats(3);
  FAILS(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&array, &three, 8, 4, 0));
}

// Boxes: with an array widths and places are in its elements.
void boxes(float* out) {
  const cudaChannelFormatDesc channel = floats();
  cudaArray_t array = nullptr, other = nullptr;
  OK(cudaMalloc3DArray(&array, &channel, {4, 3, 5}, 0));
  OK(cudaMalloc3DArray(&other, &channel, {4, 3, 5}, 0));
  std::vector<float> values = ramp(60), back(60, -1.0f);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = {values.data(), 16, 4, 3};
  copy.dstArray = array;
  copy.extent = {4, 3, 5};
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&copy));
  copy = {};
  copy.srcArray = array;
  copy.dstArray = other;
  copy.extent = {4, 3, 5};
  copy.kind = cudaMemcpyDeviceToDevice;
  OK(cudaMemcpy3D(&copy));
  copy = {};
  copy.srcArray = other;
  copy.srcPos = {1, 2, 3};
  copy.dstPtr = {back.data(), 8, 2, 1};
  copy.extent = {2, 1, 2};
  copy.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3DAsync(&copy, nullptr));
  OK(cudaDeviceSynchronize());
  EQUAL(45.0f, back[0]);
  EQUAL(58.0f, back[3]);
  OK(cudaMemcpy2DArrayToArray(array, 0, 0, other, 4, 1, 8, 1, cudaMemcpyDeviceToDevice));
  const cudaTextureObject_t texture = texture_of(array);
  OK(launch(sample_3d, 1, 5, 0, nullptr, out, texture, 1.5f, 0.5f, 1.0f));
  OK(cudaDeviceSynchronize());
  EQUAL(6.0f, read_floats(out, 5)[0]);
  EQUAL(49.0f, read_floats(out, 5)[4]);
}

void layers(float* out) {
  const cudaChannelFormatDesc channel = floats(4);
  cudaArray_t array = nullptr;
  OK(cudaMalloc3DArray(&array, &channel, {2, 2, 3}, 1)); // cudaArrayLayered
  std::vector<float> values = ramp(48);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = {values.data(), 32, 2, 2};
  copy.dstArray = array;
  copy.extent = {2, 2, 3};
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&copy));
  OK(launch(sample_layers, 1, 3, 0, nullptr, out, texture_of(array), 1.5f, 1.5f));
  OK(cudaDeviceSynchronize());
  EQUAL(44.0f, read_floats(out, 12)[8]);
}

void linear(float* out) {
  float* memory = nullptr;
  OK(cudaMalloc(reinterpret_cast<void**>(&memory), 256));
  const std::vector<float> values = ramp(64);
  OK(cudaMemcpy(memory, values.data(), 256, cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = floats();
  resource.res.linear.sizeInBytes = 256;
  cudaTextureDesc texture{};
  cudaTextureObject_t object = 0;
  OK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  OK(launch(fetch_linear, 1, 8, 0, nullptr, out, object, 60));
  OK(cudaDeviceSynchronize());
  EQUAL(63.0f, read_floats(out, 8)[3]);
  EQUAL(0.0f, read_floats(out, 8)[4]);
  cudaResourceDesc same{};
  OK(cudaGetTextureObjectResourceDesc(&same, object));
  CHECK(same.res.linear.devPtr == memory && same.res.linear.desc.x == 32);
  size_t most = 0;
  const cudaChannelFormatDesc channel = floats();
  OK(cudaDeviceGetTexture1DLinearMaxWidth(&most, &channel, 0));
  EQUAL(size_t{1} << 30, most);
}

void surfaces() {
  const cudaChannelFormatDesc channel = floats();
  cudaArray_t from = nullptr, to = nullptr;
  OK(cudaMallocArray(&from, &channel, 8, 8, 2)); // cudaArraySurfaceLoadStore
  OK(cudaMallocArray(&to, &channel, 8, 8, 2));
  const std::vector<float> values = ramp(64);
  OK(cudaMemcpy2DToArray(from, 0, 0, values.data(), 32, 32, 8, cudaMemcpyHostToDevice));
  cudaSurfaceObject_t objects[2] = {};
  for (int i = 0; i < 2; ++i) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = i ? to : from;
    OK(cudaCreateSurfaceObject(&objects[i], &resource));
  }
  OK(launch(transpose_surface, 1, dim3(8, 8), 0, nullptr, objects[1], objects[0]));
  std::vector<float> back(64, -1.0f);
  OK(cudaMemcpy2DFromArray(back.data(), 32, to, 0, 0, 32, 8, cudaMemcpyDeviceToHost));
  EQUAL(8.0f, back[1]);
  EQUAL(1.0f, back[8]);
  EQUAL(62.0f, back[55]);
  cudaResourceDesc same{};
  OK(cudaGetSurfaceObjectResourceDesc(&same, objects[1]));
  CHECK(same.res.array.array == to);
  OK(cudaDestroySurfaceObject(objects[0]));
}

void nothing_there() {
  cudaResourceViewDesc view{};
  (void)cudaGetTextureObjectResourceViewDesc(&view, 0);
  cudaTextureObject_t object = 0;
  cudaResourceDesc resource{};
  cudaTextureDesc texture{};
  FAILS(cudaErrorInvalidValue, cudaCreateTextureObject(nullptr, &resource, &texture, nullptr));
  FAILS(cudaErrorInvalidValue, cudaCreateTextureObject(&object, nullptr, &texture, nullptr));
  (void)cudaMemcpyToArrayAsync(nullptr, 0, 0, &view, 4, cudaMemcpyHostToDevice, nullptr);
  (void)cudaMemcpyFromArrayAsync(&view, nullptr, 0, 0, 4, cudaMemcpyDeviceToHost, nullptr);
  (void)cudaGetLastError();
}

} // namespace

int main() {
  DeviceCode code(text_of_file(DEVICE_CODE "textures.ptx"));
  for (const Kernel* each :
       {&sample_1d, &sample_2d, &sample_3d, &sample_layers, &fetch_linear, &transpose_surface})
    code.kernel(*each);
  code.end();
  float* out = nullptr;
  OK(cudaMalloc(reinterpret_cast<void**>(&out), 1024));
  rows(out);
  boxes(out);
  layers(out);
  linear(out);
  surfaces();
  nothing_there();
  return result();
}
