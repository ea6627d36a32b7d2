// The memory that kernels of the virtual GPU may reach, as Repeats looks at it: allocations and variables of
// modules, and whether the host shares any.
//
// Tests: tests/unit/runtime/repeats_test.cc.
#pragma once

#include "runtime/repeats.h"
#include "vgpu/memory/memory.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace lemma::runtime {

// All that kernels of a device may reach. Thread-safe.
class ReachableMemory final : public Repeats::Memory {
public:
  explicit ReachableMemory(vgpu::GlobalMemory& memory) : memory_(memory) {}

  void add(uint64_t base, uint64_t size_bytes) {
    const std::lock_guard lock(mutex_);
    blocks_[base] = size_bytes;
    bytes_ += size_bytes;
  }
  // Memory that the host has too; removed as often as it was added.
  void add_shared(uint64_t base) {
    const std::lock_guard lock(mutex_);
    shared_.insert(base);
  }
  // What is not there is nothing.
  void remove(uint64_t base) {
    const std::lock_guard lock(mutex_);
    if (const auto block = blocks_.find(base); block != blocks_.end()) {
      bytes_ -= block->second;
      blocks_.erase(block);
    } else if (const auto one = shared_.find(base); one != shared_.end()) {
      shared_.erase(one);
    }
  }

  uint64_t bytes() const override {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }
  std::optional<Digest> digest() const override {
    const std::lock_guard lock(mutex_);
    if (!shared_.empty())
      return std::nullopt;
    const vgpu::GlobalMemory::Users user(memory_, 1);
    Digest digest;
    for (const auto& [base, size_bytes] : blocks_) {
      const vgpu::Allocation* allocation = memory_.find(base);
      if (!allocation || allocation->init) // what was written of it is no part of the digest
        return std::nullopt;
      digest = digest_of({allocation->host, size_bytes}, {digest.low + base, digest.high});
    }
    return digest;
  }

private:
  vgpu::GlobalMemory& memory_;
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> blocks_; // base -> bytes
  std::multiset<uint64_t> shared_;
  uint64_t bytes_ = 0;
};

} // namespace lemma::runtime
