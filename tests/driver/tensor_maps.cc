// Tensor maps: encoded here, used by a kernel that copies a tile.
#include "check.h"

int main() {
  begin();
  const CUfunction tile = function(load_kernels(), "copy_tile");
  constexpr int kColumns = 64, kRows = 16;
  CUdeviceptr x = allocate_ints(kColumns * kRows), out = allocate_ints(64);
  std::vector<int> values(kColumns * kRows);
  for (int i = 0; i < kColumns * kRows; ++i)
    values[i] = i;
  write_ints(x, values);
  CUtensorMap map;
  const cuuint64_t dims[] = {kColumns, kRows}, strides[] = {kColumns * sizeof(int)};
  const cuuint32_t box[] = {8, 4}, steps[] = {1, 1};
  const auto encode = [&](CUtensorMap* to, cuuint32_t rank, const cuuint64_t* pitch,
                          CUtensorMapSwizzle swizzle) {
    return cuTensorMapEncodeTiled(to, CU_TENSOR_MAP_DATA_TYPE_INT32, rank, reinterpret_cast<void*>(x), dims,
                                  pitch, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  OK(encode(&map, 2, strides, CU_TENSOR_MAP_SWIZZLE_NONE));
  int column = 60, row = 5, count = 32;
  void* arguments[] = {&map, &column, &row, &count, &out};
  OK(cuLaunchKernel(tile, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  const std::vector<int> got = read_ints(out, 32);
  EQUAL(5 * kColumns + 60, got[0]);
  EQUAL(0, got[4]); // right of the tensor
  EQUAL(8 * kColumns + 63, got[27]);

  cuuint64_t crooked[] = {kColumns * sizeof(int) + 4};
  FAILS(CUDA_ERROR_INVALID_VALUE, encode(&map, 2, crooked, CU_TENSOR_MAP_SWIZZLE_NONE));
  FAILS(CUDA_ERROR_INVALID_VALUE, encode(&map, 6, strides, CU_TENSOR_MAP_SWIZZLE_NONE));
  FAILS(CUDA_ERROR_INVALID_VALUE, encode(&map, 2, strides, static_cast<CUtensorMapSwizzle>(77)));
  FAILS(CUDA_ERROR_INVALID_VALUE, encode(nullptr, 2, strides, CU_TENSOR_MAP_SWIZZLE_NONE));
  FAILS(CUDA_ERROR_INVALID_VALUE, encode(&map, 2, strides, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B)); // of sm_100
  // Programs change the bytes themselves; the second word, from bit 32 on, has the stride in units of 16.
  OK(encode(&map, 2, strides, CU_TENSOR_MAP_SWIZZLE_NONE));
  uint64_t words[16];
  std::memcpy(words, &map, sizeof words);
  EQUAL(x, words[0]);
  EQUAL(uint64_t{kColumns * sizeof(int) / 16} << 32 | 3 << 7 | 1 << 4, words[1]);
  EQUAL(uint64_t{kRows - 1} << 32 | (kColumns - 1), words[4]);
  OK(cuTensorMapReplaceAddress(&map, reinterpret_cast<void*>(x + 16)));
  column = 8;
  OK(cuLaunchKernel(tile, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  EQUAL(5 * kColumns + 8 + 4, read_ints(out, 1)[0]);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuTensorMapReplaceAddress(&map, reinterpret_cast<void*>(x + 8)));
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuTensorMapReplaceAddress(&map, reinterpret_cast<void*>(uint64_t{1} << 57)));

  const cuuint64_t image_dims[] = {64, 8, 8, 2}, image_strides[] = {128, 1024, 8192};
  const int lower[] = {-1, -1}, upper[] = {-1, -1};
  const cuuint32_t image_steps[] = {1, 1, 1, 1};
  const auto encode_image = [&](cuuint32_t rank, cuuint32_t channels) {
    return cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank, reinterpret_cast<void*>(x),
                                   image_dims, image_strides, lower, upper, channels, 32, image_steps,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                   CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  OK(encode_image(4, 64));
  FAILS(CUDA_ERROR_INVALID_VALUE, encode_image(2, 64));
  FAILS(CUDA_ERROR_INVALID_VALUE, encode_image(4, 300));

  // The same with a border of one pixel along W alone, but for the corners: lower and upper W, 8 bits each
  // of 16.
  CUtensorMap wide;
  OK(encode_image(4, 64));
  const auto encode_wide = [&](cuuint32_t rank, int mode, cuuint32_t channels) {
    return cuTensorMapEncodeIm2colWide(
        &wide, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank, reinterpret_cast<void*>(x), image_dims, image_strides,
        -1, -2, channels, 32, image_steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        static_cast<CUtensorMapIm2ColWideMode>(mode), CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  for (int mode = 0; mode < 2; ++mode) {
    OK(encode_wide(4, mode, 64));
    uint64_t same[16];
    std::memcpy(words, &map, sizeof words);
    std::memcpy(same, &wide, sizeof same);
    EQUAL(uint64_t{0x00fe00ff}, same[7] & 0xffffffff);
    same[7] = (same[7] & ~uint64_t{0xffffffff}) | (words[7] & 0xffffffff);
    EQUAL(0, std::memcmp(words, same, sizeof words));
  }
  FAILS(CUDA_ERROR_INVALID_VALUE, encode_wide(2, 0, 64));
  FAILS(CUDA_ERROR_INVALID_VALUE, encode_wide(4, 2, 64));
  FAILS(CUDA_ERROR_INVALID_VALUE, encode_wide(4, 0, 300));
  return result();
}
