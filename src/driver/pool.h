// Memory pools: counts and attributes. Memory itself is taken and given back when a stream comes to it, and
// nothing is kept; it is counted when the stream is told, so that what is freed and allocated in the order of
// one stream counts once.
//
// Tests: tests/driver/pools.cc, stream_ordered.cc.
#pragma once

#include "driver/types.h"

#include <array>
#include <mutex>

namespace lemma::driver {

class MemoryPool {
public:
  explicit MemoryPool(bool is_default, size_t most_bytes = 0)
      : is_default(is_default), most_bytes_(most_bytes) {
    attributes_[CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = 1;
    attributes_[CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC] = 1;
    attributes_[CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES] = 1;
  }

  CUmemoryPool handle() { return reinterpret_cast<CUmemoryPool>(this); }
  // CUDA_ERROR_OUT_OF_MEMORY: more than the pool may have.
  CUresult take(uint64_t bytes);
  void give_back(uint64_t bytes);
  // 64 bits, or 32 of the three that say what is reused.
  CUresult get(CUmemPool_attribute attribute, void* value);
  CUresult set(CUmemPool_attribute attribute, const void* value);

  const bool is_default;

private:
  static constexpr size_t kAttributes = CU_MEMPOOL_ATTR_USED_MEM_HIGH + 1;
  std::mutex mutex_;
  uint64_t most_bytes_; // 0: no limit
  std::array<uint64_t, kAttributes> attributes_{};
};

} // namespace lemma::driver
