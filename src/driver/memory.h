// Memory that programs know by addresses: what they have allocated, mapped or registered, and the bytes
// there.
//
// Device memory and module variables are Lemma's own, at addresses that the host cannot use; pinned, managed,
// registered and mapped memory has one address for both. Any other address is the host's own.
//
// Tests: tests/driver/memory*.cc, copies*.cc.
#pragma once

#include "driver/types.h"
#include "lemma/device.h"
#include "lemma/stream.h"
#include "support/checked_size.h"

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace lemma::driver {

class Context;
class MemoryPool;

enum class MemoryKind : uint8_t {
  device,     // cuMemAlloc, pools
  pinned,     // cuMemAllocHost, cuMemHostAlloc
  managed,    // cuMemAllocManaged
  registered, // cuMemHostRegister: the program's own
  mapped,     // cuMemMap
  variable,   // a module's
  managed_variable,
};

struct Allocation {
  MemoryKind kind = MemoryKind::device;
  CUdeviceptr base = 0;
  uint64_t size_bytes = 0;
  Context* context = nullptr; // null: mapped, which belongs to no context
  uint64_t id = 0;            // of the process, never used again
  unsigned flags = 0;         // as the program gave them
  Buffer buffer;              // device, pinned, managed
  std::shared_ptr<MemoryPool> pool;
  bool sync_memops = false;
  // Advice for managed memory, given back when it is asked for.
  int read_mostly = 0, preferred = -2, last_prefetch = -2; // CU_DEVICE_INVALID: none
  bool of_graph = false;                                   // freed with the graph alone
  std::atomic<bool> is_freed{false}; // by cuMemFreeAsync: it goes in the order of the stream

  bool host_sees_it() const { return kind != MemoryKind::device && kind != MemoryKind::variable; }
  bool holds(CUdeviceptr address, uint64_t bytes) const {
    return address - base < size_bytes && bytes <= size_bytes - (address - base);
  }
};

class Memory {
public:
  ~Memory();

  // Errors: as Device::allocate().
  Result<std::shared_ptr<Allocation>, Error> allocate(MemoryKind kind, uint64_t size_bytes, Context& context);
  // Device memory in the order of the queue (lemma::Stream::allocate()), of a pool. The context fails if the
  // queue finds none.
  Result<std::shared_ptr<Allocation>, Error> allocate_in_order(uint64_t size_bytes, Context& context,
                                                               std::shared_ptr<MemoryPool> pool,
                                                               const lemma::Stream& queue);
  // Frees it in the order of the queue; it is known by its address until then, and not counted from now on.
  CUresult free_in_order(const std::shared_ptr<Allocation>& allocation, const lemma::Stream& queue);
  // Memory of the host's own, or mapped: kernels may use it from now on.
  // CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED if it overlaps with what is there.
  CUresult add_host(MemoryKind kind, void* memory, uint64_t size_bytes, Context* context, unsigned flags);

  // A module's variable, which the module has.
  void add_variable(const Variable& variable, Context& context);

  // The allocation that holds the address; null if none does.
  std::shared_ptr<Allocation> find(CUdeviceptr address) const;
  // The one that begins there, if it is of the kind; it is none of these any more, and freed with the last
  // pointer to it.
  std::shared_ptr<Allocation> take(CUdeviceptr base, MemoryKind kind);
  void free_all_of(const Context& context);
  // Without what streams have been told to free.
  uint64_t allocated_bytes() const;

private:
  void put(std::shared_ptr<Allocation> allocation);
  void add(MemoryKind kind, Buffer buffer, Context& context, const std::shared_ptr<Allocation>& allocation);

  mutable std::mutex mutex_;
  std::map<CUdeviceptr, std::shared_ptr<Allocation>> allocations_; // by base
  uint64_t allocated_bytes_ = 0;
  uint64_t next_id_ = 1;
};

// No process has memory at this address, or above.
inline constexpr uint64_t kHostEnd = uint64_t{1} << 56;

// Where bytes lie: in the host's memory, or at an address that only the virtual GPU has.
struct Place {
  std::byte* host = nullptr;
  CUdeviceptr device = 0; // if `host` is null
  Place at(uint64_t offset) const { return host ? Place{host + offset, 0} : Place{nullptr, device + offset}; }
};

// Of so many bytes from an address. `device_only`: memory that is only the host's is
// CUDA_ERROR_INVALID_VALUE, as is a range that leaves its allocation, or that no address space has.
CUresult place_of(CUdeviceptr address, CheckedSize bytes, bool device_only, Place& place);
Place place_of_host(const void* memory);

// Copies: both ranges must stay until it has been made.
CUresult enqueue_bytes(const lemma::Stream& queue, Place destination, Place source, uint64_t bytes);
// `count` times the low `element_bytes` (1, 2, 4) of the value.
CUresult enqueue_elements(const lemma::Stream& queue, Place destination, unsigned value,
                          unsigned element_bytes, uint64_t count);
// The bytes stay until what the queue was given so far is done.
CUresult keep_until_here(const lemma::Stream& queue, std::shared_ptr<const std::vector<std::byte>> bytes);

} // namespace lemma::driver
