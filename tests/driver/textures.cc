// Texture objects: of linear memory, of rows with a pitch, of arrays; read by kernels, described, destroyed.
#include "array.h"

#include <numeric>

namespace {

std::vector<float> read_floats(CUdeviceptr address, size_t count) {
  std::vector<float> values(count, -1.0f);
  OK(cuMemcpyDtoH_v2(values.data(), address, count * sizeof(float)));
  return values;
}

void linear(CUmodule module, CUdeviceptr out) {
  const CUdeviceptr memory = allocate_ints(64);
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 1.0f);
  OK(cuMemcpyHtoD_v2(memory, values.data(), 256));
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = memory;
  resource.res.linear.format = CU_AD_FORMAT_FLOAT;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = 256;
  const CUtexObject texture = make_texture(resource, {});
  OK(launch(function(module, "fetch_linear"), 1, 8, nullptr, out, texture, 60));
  const std::vector<float> got = read_floats(out, 8);
  EQUAL(61.0f, got[0]);
  EQUAL(64.0f, got[3]);
  EQUAL(0.0f, got[4]); // behind the last
  OK(cuTexObjectDestroy(texture));
  size_t most = 0;
  OK(cuDeviceGetTexture1DLinearMaxWidth(&most, CU_AD_FORMAT_FLOAT, 1, 0));
  EQUAL(size_t{1} << 30, most);
}

void pitch(CUmodule module, CUdeviceptr out) {
  CUdeviceptr memory = 0;
  size_t pitch = 0;
  OK(cuMemAllocPitch_v2(&memory, &pitch, 8 * sizeof(float), 8, 4));
  for (int y = 0; y < 8; ++y) {
    std::vector<float> row(8);
    std::iota(row.begin(), row.end(), 10.0f * static_cast<float>(y));
    OK(cuMemcpyHtoD_v2(memory + static_cast<size_t>(y) * pitch, row.data(), 32));
  }
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_PITCH2D;
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
  resource.res.pitch2D.numChannels = 1;
  resource.res.pitch2D.width = resource.res.pitch2D.height = 8;
  resource.res.pitch2D.pitchInBytes = pitch;
  const CUtexObject texture =
      make_texture(resource, texture_of(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR));
  void* arguments[4];
  float step = 1.0f, offset = 1.0f; // between four texels
  CUtexObject handle = texture;
  arguments[0] = &out, arguments[1] = &handle, arguments[2] = &step, arguments[3] = &offset;
  OK(cuLaunchKernel(function(module, "sample_2d"), 1, 1, 1, 8, 8, 1, 0, nullptr, arguments, nullptr));
  const std::vector<float> got = read_floats(out, 64);
  EQUAL(5.5f, got[0]);
  EQUAL(16.5f, got[9]);
  EQUAL(77.0f, got[63]); // clamped
  OK(cuTexObjectDestroy(texture));
}

void arrays(CUmodule module, CUdeviceptr out) {
  const CUarray line = make_array(4, 0, 0, CU_AD_FORMAT_FLOAT, 1);
  const float four[] = {1, 2, 3, 4};
  fill_array(line, four, sizeof four);
  const CUtexObject wrapped =
      make_texture(resource_of(line), texture_of(CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_POINT,
                                                 CU_TRSF_NORMALIZED_COORDINATES));
  OK(launch(function(module, "sample_1d"), 1, 8, nullptr, out, wrapped, 0.25f, 0.125f));
  EQUAL(2.0f, read_floats(out, 8)[5]);

  const CUarray box = make_array(2, 2, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1);
  std::vector<unsigned char> bytes(16, 0);
  bytes[3] = 51;
  bytes[7] = 255;
  fill_array(box, bytes.data(), 2, 2, 4);
  const CUtexObject numbers =
      make_texture(resource_of(box), texture_of(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT));
  OK(launch(function(module, "sample_3d"), 1, 4, nullptr, out, numbers, 1.5f, 1.5f, 1.0f));
  EQUAL(0.2f, read_floats(out, 4)[0]);
  EQUAL(1.0f, read_floats(out, 4)[1]);

  const CUarray layers = make_array(2, 2, 3, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_LAYERED);
  std::vector<float> texels(2 * 2 * 3 * 4);
  std::iota(texels.begin(), texels.end(), 0.0f);
  fill_array(layers, texels.data(), 32, 2, 3);
  const CUtexObject stack =
      make_texture(resource_of(layers), texture_of(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT));
  OK(launch(function(module, "sample_layers"), 1, 3, nullptr, out, stack, 1.5f, 0.5f));
  EQUAL(36.0f, read_floats(out, 12)[8]);
  EQUAL(39.0f, read_floats(out, 12)[11]);

  const CUarray quad = make_array(4, 4, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_TEXTURE_GATHER);
  std::vector<unsigned char> colours(64);
  std::iota(colours.begin(), colours.end(), static_cast<unsigned char>(0));
  fill_array(quad, colours.data(), 16, 4);
  const CUtexObject whole =
      make_texture(resource_of(quad),
                   texture_of(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER));
  OK(launch(function(module, "sample_bytes"), 1, 4, nullptr, out, whole));
  EQUAL(0x1f1e1d1c, read_ints(out, 4)[3]);
  const CUtexObject parts =
      make_texture(resource_of(quad), texture_of(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT));
  OK(launch(function(module, "gather"), 1, 1, nullptr, out, parts, 1.0f, 1.0f));
  const std::vector<float> gathered = read_floats(out, 4); // from the lower left, counter-clockwise
  EQUAL(16.0f / 255, gathered[0]);
  EQUAL(20.0f / 255, gathered[1]);
  EQUAL(4.0f / 255, gathered[2]);
  EQUAL(0.0f, gathered[3]);
}

void descriptions() {
  const CUarray array = make_array(4, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1);
  const CUDA_RESOURCE_DESC resource = resource_of(array);
  CUDA_TEXTURE_DESC texture = texture_of(CU_TR_ADDRESS_MODE_MIRROR, CU_TR_FILTER_MODE_POINT);
  const CUtexObject object = make_texture(resource, texture);
  CUDA_RESOURCE_DESC same{};
  CUDA_TEXTURE_DESC same_texture{};
  CUDA_RESOURCE_VIEW_DESC view{};
  OK(cuTexObjectGetResourceDesc(&same, object));
  CHECK(same.res.array.hArray == array);
  OK(cuTexObjectGetTextureDesc(&same_texture, object));
  EQUAL(CU_TR_ADDRESS_MODE_MIRROR, same_texture.addressMode[1]);
  OK(cuTexObjectGetResourceViewDesc(&view, object));
  CUtexObject none = 0;
  view.format = CU_RES_VIEW_FORMAT_UINT_4X8;
  view.width = view.height = 4;
  OK(cuTexObjectCreate(&none, &resource, &texture, &view));
  OK(cuTexObjectDestroy(none));
  OK(cuTexObjectDestroy(none)); // no more
  view.width = 3;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&none, &resource, &texture, &view));
  CUDA_RESOURCE_DESC nothing{};
  FAILS(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&none, &nothing, &texture, nullptr));
  OK(cuTexObjectDestroy(object));
}

} // namespace

int main() {
  begin();
  const CUmodule module = load_textures();
  const CUdeviceptr out = allocate_ints(64);
  linear(module, out);
  pitch(module, out);
  arrays(module, out);
  descriptions();
  return result();
}
