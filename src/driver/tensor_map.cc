// Tensor maps: from the API's numbers to lemma::TensorMap, which has the rules and the bits.
//
// CUDA Driver API, "Tensor Map Object Management". Tests: tests/driver/tensor_maps.cc.
#include "lemma/tensor_map.h"
#include "driver/api.h"
#include "driver/call.h"
#include "driver/error.h"
#include "support/verbose.h"

#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace lemma::driver {
namespace {

std::optional<TensorType> type_of(CUtensorMapDataType type) {
  switch (type) {
  case CU_TENSOR_MAP_DATA_TYPE_UINT8:
    return TensorType::u8;
  case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    return TensorType::u16;
  case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    return TensorType::u32;
  case CU_TENSOR_MAP_DATA_TYPE_INT32:
    return TensorType::s32;
  case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    return TensorType::u64;
  case CU_TENSOR_MAP_DATA_TYPE_INT64:
    return TensorType::s64;
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    return TensorType::f16;
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    return TensorType::f32;
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
    return TensorType::f64;
  case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
    return TensorType::bf16;
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    return TensorType::f32_ftz;
  case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    return TensorType::tf32;
  case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
    return TensorType::tf32_ftz;
  case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
    return TensorType::b4x16;
  case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B:
    return TensorType::b4x16_p64;
  case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B:
    return TensorType::b6x16_p32;
  }
  return std::nullopt;
}

// What both kinds of map have.
struct Common {
  CUtensorMapDataType type;
  cuuint32_t rank;
  void* address;
  const cuuint64_t* dims;
  const cuuint64_t* strides;
  const cuuint32_t* element_strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion l2_promotion;
  CUtensorMapFloatOOBfill fill;
};

CUresult map_of(const Common& from, TensorMap& map) {
  const std::optional<TensorType> type = type_of(from.type);
  if (!type || from.rank < 1 || from.rank > 5 || !from.dims || !from.element_strides ||
      (from.rank > 1 && !from.strides))
    return CUDA_ERROR_INVALID_VALUE;
  if (from.interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
      from.l2_promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
      from.fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
    return CUDA_ERROR_INVALID_VALUE;
  // Of sm_100: types of less than 8 bits, and swizzles of 128 bytes in atoms of more than 16.
  const bool has_newer = state().machine.sm >= 100;
  if (from.type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ && !has_newer)
    return CUDA_ERROR_INVALID_VALUE;
  if (from.swizzle > (has_newer ? CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B : CU_TENSOR_MAP_SWIZZLE_128B))
    return CUDA_ERROR_INVALID_VALUE;
  map.type = *type;
  map.address = reinterpret_cast<uintptr_t>(from.address);
  map.dims.assign(from.dims, from.dims + from.rank);
  map.strides_bytes.assign(from.strides, from.strides + (from.rank - 1));
  map.element_strides.assign(from.element_strides, from.element_strides + from.rank);
  map.interleave = static_cast<TensorInterleave>(from.interleave);
  map.swizzle = static_cast<TensorSwizzle>(from.swizzle);
  map.l2_promotion = static_cast<TensorL2>(from.l2_promotion);
  map.oob_fill = static_cast<TensorFill>(from.fill);
  return CUDA_SUCCESS;
}

CUresult encode(CUtensorMap* to, const TensorMap& map) {
  if (!to || reinterpret_cast<uintptr_t>(to) % 64 != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const Result<Argument, Error> bytes = state().device.encode(map);
  if (!bytes) {
    if (is_verbose())
      std::fprintf(stderr, "lemma: %s\n", bytes.error().text.c_str());
    return status_of(bytes.error());
  }
  std::memcpy(to, bytes->bytes().data(), sizeof *to);
  return CUDA_SUCCESS;
}

CUresult encode_pixels(CUtensorMap* to, const Common& from, TensorIm2col im2col) {
  TensorMap map;
  if (const CUresult wrong = map_of(from, map); wrong != CUDA_SUCCESS)
    return wrong;
  map.im2col = std::move(im2col);
  return encode(to, map);
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;
using lemma::TensorIm2col;
using lemma::TensorMap;

CUresult cuTensorMapEncodeTiled(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2_promotion,
                                CUtensorMapFloatOOBfill fill) {
  return initialized([&]() -> CUresult {
    TensorMap map;
    if (const CUresult wrong = map_of(
            {type, rank, address, dims, strides, element_strides, interleave, swizzle, l2_promotion, fill},
            map);
        wrong != CUDA_SUCCESS)
      return wrong;
    if (!box)
      return CUDA_ERROR_INVALID_VALUE;
    map.box.assign(box, box + rank);
    return encode(to, map);
  });
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* dims, const cuuint64_t* strides, const int* lower,
                                 const int* upper, cuuint32_t channels_per_pixel,
                                 cuuint32_t pixels_per_column, const cuuint32_t* element_strides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill fill) {
  return initialized([&]() -> CUresult {
    if (rank < 3 || rank > 5 || !lower || !upper)
      return CUDA_ERROR_INVALID_VALUE;
    return encode_pixels(
        to, {type, rank, address, dims, strides, element_strides, interleave, swizzle, l2_promotion, fill},
        {.lower = {lower, lower + (rank - 2)},
         .upper = {upper, upper + (rank - 2)},
         .channels_per_pixel = channels_per_pixel,
         .pixels_per_column = pixels_per_column});
  });
}

// The same map, whatever the mode, with corners that are 0 but along W (measured on an H200, which has no
// instruction that uses one: tests/golden/tensor_maps).
CUresult cuTensorMapEncodeIm2colWide(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank,
                                     void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                     int lower, int upper, cuuint32_t channels_per_pixel,
                                     cuuint32_t pixels_per_column, const cuuint32_t* element_strides,
                                     CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
                                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2_promotion,
                                     CUtensorMapFloatOOBfill fill) {
  return initialized([&]() -> CUresult {
    if (rank < 3 || rank > 5 || mode > CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128 ||
        swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B)
      return CUDA_ERROR_INVALID_VALUE;
    TensorIm2col im2col{.lower = std::vector<int32_t>(rank - 2),
                        .upper = std::vector<int32_t>(rank - 2),
                        .channels_per_pixel = channels_per_pixel,
                        .pixels_per_column = pixels_per_column};
    im2col.lower[0] = lower;
    im2col.upper[0] = upper;
    return encode_pixels(
        to, {type, rank, address, dims, strides, element_strides, interleave, swizzle, l2_promotion, fill},
        std::move(im2col));
  });
}

// The address is the first word's 57 low bits; those above stay (measured on an H200). The driver asks for 16
// bytes whatever the interleave: what a load asks beyond that, it says.
CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  return initialized([&]() -> CUresult {
    constexpr uint64_t kEnd = uint64_t{1} << 57, kAlign = 16;
    const auto value = reinterpret_cast<uintptr_t>(address);
    if (!map || reinterpret_cast<uintptr_t>(map) % 64 != 0 || value % kAlign != 0 || value >= kEnd)
      return CUDA_ERROR_INVALID_VALUE;
    uint64_t word;
    std::memcpy(&word, map, sizeof word);
    word = (word & ~(kEnd - 1)) | value;
    std::memcpy(map, &word, sizeof word);
    return CUDA_SUCCESS;
  });
}
