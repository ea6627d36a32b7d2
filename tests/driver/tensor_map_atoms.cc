// Tensor maps with swizzles of 128 bytes in atoms of more than 16, which sm_100 has.
#include "check.h"

#include <cstdlib>

int main() {
  setenv("LEMMA_ARCH", "sm_100", 1);
  begin();
  CUdeviceptr x = allocate_ints(1024);
  const cuuint64_t dims[] = {32, 32}, strides[] = {128};
  const cuuint32_t steps[] = {1, 1};
  const auto encode = [&](CUtensorMap* to, int swizzle, cuuint32_t columns) {
    const cuuint32_t box[] = {columns, 8};
    return cuTensorMapEncodeTiled(to, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, reinterpret_cast<void*>(x), dims,
                                  strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  static_cast<CUtensorMapSwizzle>(swizzle), CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  CUtensorMap plain, map;
  OK(encode(&plain, CU_TENSOR_MAP_SWIZZLE_128B, 32));
  uint64_t words[16], others[16];
  std::memcpy(words, &plain, sizeof words);
  for (int atoms = 1; atoms <= 3; ++atoms) {
    OK(encode(&map, CU_TENSOR_MAP_SWIZZLE_128B + atoms, 32));
    std::memcpy(others, &map, sizeof others);
    EQUAL(words[1] | static_cast<uint64_t>(atoms) << 23, others[1]);
    others[1] = words[1];
    EQUAL(0, std::memcmp(words, others, sizeof words));
    FAILS(CUDA_ERROR_INVALID_VALUE, encode(&map, CU_TENSOR_MAP_SWIZZLE_128B + atoms, 36)); // 144 bytes
  }
  FAILS(CUDA_ERROR_INVALID_VALUE, encode(&map, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B + 1, 32));
  return result();
}
