// The memory of a host program: what it allocated on the device, and what host memory it registered. Tells
// device pointers from host pointers, which programs mix freely, and names what is wrong with one.
//
// Not thread-safe. Tests: tests/unit/mgpu/memory_test.cc.
#pragma once

#include "mgpu/failure.h"

#include "lemma/device.h"

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace lemma::mgpu {

class Memory {
public:
  // Null for 0 bytes.
  OrFailure<void*> allocate(const Device& device, uint64_t bytes, bool host_shared);
  // Device memory that holds the bytes, aligned to 256.
  OrFailure<void*> allocate_copy(const Device& device, std::span<const std::byte> bytes, std::string name);
  OrFailure<void> free(void* pointer);
  // Makes memory that somebody else owns the program's to use.
  void share(Buffer& buffer);
  // What is freed stays the device's, unseen, until this goes.
  bool keeps_freed = false;

  OrFailure<void> copy(void* destination, const void* source, uint64_t bytes) const;
  // `count` times the lowest `value_bytes` bytes of the value: 2 or 4.
  OrFailure<void> set(void* destination, uint32_t value, uint64_t value_bytes, uint64_t count) const;

  OrFailure<void> register_host(const Device& device, void* pointer, uint64_t bytes);
  OrFailure<void> unregister_host(const Device& device, void* pointer);

  // Whether kernels may use the address: it is in live device memory, or in registered host memory.
  OrFailure<void> check_visible(const void* pointer, const char* what) const;

private:
  struct Block {
    Buffer own;
    std::string name; // "gpu.alloc 3"
    bool host_shared = false;
    Buffer* shared = nullptr; // somebody else's, in the place of `own`

    Buffer& buffer() { return shared ? *shared : own; }
    const Buffer& buffer() const { return shared ? *shared : own; }
  };
  struct Range {
    uint64_t bytes = 0;
    std::string name;
  };
  struct Registered {
    uint64_t bytes = 0;
    uint64_t times = 0;
  };
  // A pointer that may be used: in device memory (`buffer`), else the host's.
  struct Place {
    Buffer* buffer = nullptr;
    uint64_t offset = 0;
  };
  using Blocks = std::map<uint64_t, Block>; // by address

  void* add(Buffer buffer, std::string name, bool host_shared, bool device_has_own_addresses);
  const Blocks::value_type* find(uint64_t address) const;
  OrFailure<Place> place(const void* pointer, uint64_t bytes, const char* what) const;
  std::string whereabouts(uint64_t address) const;
  bool is_registered(uint64_t address, uint64_t bytes) const;

  mutable Blocks blocks_;
  std::map<uint64_t, Range> freed_; // the last ones, without host-shared ones
  std::deque<uint64_t> freed_order_;
  std::vector<Buffer> kept_; // keeps_freed
  std::map<uint64_t, Registered> registered_;
  // Where no host pointer is, because the virtual GPU has it: from the lowest to the highest address so far.
  uint64_t device_begin_ = UINT64_MAX, device_end_ = 0;
  uint64_t allocations_ = 0, registrations_ = 0, shared_ = 0;
};

} // namespace lemma::mgpu
