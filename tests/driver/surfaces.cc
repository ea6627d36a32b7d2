// Surface objects: read and written by kernels, inside and outside.
#include "array.h"

#include <numeric>

int main() {
  begin();
  const CUmodule module = load_textures();
  constexpr int kSize = 8;
  const CUarray from = make_array(kSize, kSize, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST);
  const CUarray to = make_array(kSize, kSize, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST);
  std::vector<float> values(kSize * kSize), back(values.size());
  std::iota(values.begin(), values.end(), 1.0f);
  fill_array(from, values.data(), kSize * sizeof(float), kSize);
  CUsurfObject source = make_surface(from), target = make_surface(to);
  void* arguments[] = {&target, &source};
  OK(cuLaunchKernel(function(module, "transpose_surface"), 1, 1, 1, kSize, kSize, 1, 0, nullptr, arguments,
                    nullptr));
  const CUDA_MEMCPY3D copy = between(back.data(), to, false, kSize * sizeof(float), kSize, 1);
  OK(cuMemcpy3D_v2(&copy));
  for (int y = 0; y < kSize; ++y)
    for (int x = 0; x < kSize; ++x)
      EQUAL(values[static_cast<size_t>(x * kSize + y)], back[static_cast<size_t>(y * kSize + x)]);

  const CUdeviceptr out = allocate_ints(2);
  OK(launch(function(module, "read_outside"), 1, 1, nullptr, out, source, -3, 9));
  float got[2] = {-1, -1};
  OK(cuMemcpyDtoH_v2(got, out, sizeof got));
  EQUAL(0.0f, got[0]);
  EQUAL(57.0f, got[1]);

  CUDA_RESOURCE_DESC same{};
  OK(cuSurfObjectGetResourceDesc(&same, source));
  CHECK(same.res.array.hArray == from);
  CUsurfObject none = 0;
  CUDA_RESOURCE_DESC nothing{};
  FAILS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(&none, &nothing));
  OK(cuSurfObjectDestroy(target));

  OK(launch(function(module, "write_outside"), 1, 1, nullptr, source, kSize));
  const std::string told = stderr_of([] { CHECK(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS); });
  return result();
}
