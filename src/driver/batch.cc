// Several copies by one call: they may be made in any order, and are made here in theirs.
#include "driver/api.h"
#include "driver/call.h"

#include <cstdint>

namespace lemma::driver {
namespace {

bool is_access_order(CUmemcpySrcAccessOrder order) {
  return order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ||
         order == CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

// Each attribute is that of the copies from its index to the next one's.
bool are_attributes(const CUmemcpyAttributes* attributes, const size_t* begins, size_t count, size_t copies) {
  if (!attributes || !begins || count == 0 || count > copies || begins[0] != 0)
    return false;
  for (size_t i = 0; i < count; ++i)
    if (!is_access_order(attributes[i].srcAccessOrder) || begins[i] >= copies ||
        (i > 0 && begins[i] <= begins[i - 1]))
      return false;
  return true;
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                            CUmemcpyAttributes* attributes, size_t* begins, size_t attribute_count,
                            size_t* failed, CUstream stream) {
  if (failed)
    *failed = SIZE_MAX; // not that of a copy
  return in_context([&](Context&) -> CUresult {
    // No default stream can be given: an H200 refuses it, too.
    if (!to || !from || !bytes || count == 0 || !stream || stream == CU_STREAM_LEGACY ||
        !are_attributes(attributes, begins, attribute_count, count))
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i)
      if (bytes[i] == 0 || to[i] == 0 || from[i] == 0) {
        if (failed)
          *failed = i;
        return CUDA_ERROR_INVALID_VALUE;
      }
    for (size_t i = 0; i < count; ++i)
      if (const CUresult status = cuMemcpyAsync(to[i], from[i], bytes[i], stream); status != CUDA_SUCCESS) {
        if (failed)
          *failed = i;
        return status;
      }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                               CUmemcpyAttributes* attributes, size_t* begins, size_t attribute_count,
                               CUstream stream) {
  return cuMemcpyBatchAsync(to, from, bytes, count, attributes, begins, attribute_count, nullptr, stream);
}
