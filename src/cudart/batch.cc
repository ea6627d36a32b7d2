// Copies and prefetches by the batch: what the functions for one do, one after the other, which is an order
// that the stream is free to choose.
#include "cudart/api.h"
#include "cudart/call.h"

namespace lemma::cudart {
namespace {

// The legacy stream is not for batches.
bool may_batch(cudaStream_t stream) {
  return stream && stream != cudaStreamLegacy;
}

// What holds for the operations from its index to the next one's: the first index is 0, and they go up.
bool are_indices(const size_t* indices, size_t count, size_t operations) {
  if (!indices || count == 0 || count > operations || indices[0] != 0)
    return false;
  for (size_t i = 1; i < count; ++i)
    if (indices[i] <= indices[i - 1] || indices[i] >= operations)
      return false;
  return true;
}

// Managed memory, all of them.
cudaError_t check_managed(const Driver& driver, void* const* addresses, const size_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    int read_mostly = 0;
    if (const CUresult status = driver.cuMemRangeGetAttribute(
            &read_mostly, sizeof read_mostly, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
            reinterpret_cast<CUdeviceptr>(addresses[i]), bytes[i]);
        status != CUDA_SUCCESS)
      return error_of(status);
  }
  return cudaSuccess;
}

} // namespace
} // namespace lemma::cudart

using namespace lemma::cudart;

cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const size_t* bytes, size_t count,
                                 cudaMemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                                 cudaStream_t stream) {
  return pass(&Driver::cuMemcpyBatchAsync_v2, to, from, bytes, count, attributes, indices, attribute_count,
              stream);
}

cudaError_t cudaMemPrefetchBatchAsync(void** addresses, size_t* bytes, size_t count,
                                      cudaMemLocation* locations, size_t* indices, size_t location_count,
                                      unsigned long long flags, cudaStream_t stream) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!addresses || !bytes || !locations || flags != 0 || !may_batch(stream) ||
        !are_indices(indices, location_count, count))
      return cudaErrorInvalidValue;
    size_t at = 0;
    for (size_t i = 0; i < count; ++i) {
      if (at + 1 < location_count && indices[at + 1] == i)
        ++at;
      if (const CUresult status =
              call(driver, &Driver::cuMemPrefetchAsync_v2, addresses[i], bytes[i], locations[at], 0u, stream);
          status != CUDA_SUCCESS)
        return error_of(status);
    }
    return cudaSuccess;
  });
}

// What is in it from now on is undefined: it may stay as it is.
cudaError_t cudaMemDiscardBatchAsync(void** addresses, size_t* bytes, size_t count, unsigned long long flags,
                                     cudaStream_t stream) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!addresses || !bytes || count == 0 || flags != 0 || !may_batch(stream))
      return cudaErrorInvalidValue;
    return check_managed(driver, addresses, bytes, count);
  });
}

cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void** addresses, size_t* bytes, size_t count,
                                                cudaMemLocation* locations, size_t* indices,
                                                size_t location_count, unsigned long long flags,
                                                cudaStream_t stream) {
  return cudaMemPrefetchBatchAsync(addresses, bytes, count, locations, indices, location_count, flags,
                                   stream);
}
