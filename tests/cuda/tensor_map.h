// A tensor map of rows of integers, in square boxes, as a program that has no -lcuda makes one.
#pragma once

#include "check.h"

#include <cuda.h>

inline CUtensorMap map_of(int* memory, cuuint64_t columns, cuuint64_t rows, cuuint32_t side) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  ok(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
  equal(cudaDriverEntryPointSuccess, found);
  CUtensorMap map;
  const cuuint64_t size[] = {columns, rows}, stride[] = {columns * sizeof(int)};
  const cuuint32_t box[] = {side, side}, step[] = {1, 1};
  const CUresult status = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
      &map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, memory, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  equal(CUDA_SUCCESS, status);
  return map;
}
