// The table of allocations and how bytes are reached. The functions that allocate: allocate.cc; that copy:
// copy.cc.
#include "driver/memory.h"

#include "driver/error.h"
#include "driver/state.h"
#include "runtime/host_watch.h"
#include "vgpu/memory/memory.h"

#include <algorithm>
#include <cstring>

namespace lemma::driver {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{1} << 20; // a multiple of every element

const char* name_of(MemoryKind kind) {
  switch (kind) {
  case MemoryKind::device:
    return "cuMemAlloc";
  case MemoryKind::pinned:
    return "cuMemHostAlloc";
  case MemoryKind::managed:
    return "cuMemAllocManaged";
  case MemoryKind::registered:
    return "cuMemHostRegister";
  case MemoryKind::mapped:
    return "cuMemMap";
  case MemoryKind::variable:
  case MemoryKind::managed_variable:
    return "variable";
  }
  return "";
}

bool is_of_the_gpu(CUdeviceptr address) {
  return address >= vgpu::kGlobalBase && address < vgpu::kGlobalEnd;
}

} // namespace

Memory::~Memory() = default;

void Memory::put(std::shared_ptr<Allocation> allocation) {
  allocation->id = next_id_++;
  if (allocation->buffer.address() != 0)
    allocated_bytes_ += allocation->size_bytes;
  allocations_.emplace(allocation->base, std::move(allocation));
}

Result<std::shared_ptr<Allocation>, Error> Memory::allocate(MemoryKind kind, uint64_t size_bytes,
                                                            Context& context) {
  Result<Buffer, Error> buffer =
      state().device.allocate(size_bytes, {.name = name_of(kind),
                                           .poisoned = state().machine.check && kind != MemoryKind::pinned,
                                           .host_shared = kind != MemoryKind::device});
  if (!buffer)
    return Unexpected<Error>{std::move(buffer).error()};
  if (kind == MemoryKind::pinned) // the system may write there, for read(), while a kernel runs
    runtime::leave_host_accesses_alone(buffer->address());
  auto allocation = std::make_shared<Allocation>();
  add(kind, *std::move(buffer), context, allocation);
  return allocation;
}

void Memory::add(MemoryKind kind, Buffer buffer, Context& context,
                 const std::shared_ptr<Allocation>& allocation) {
  allocation->kind = kind;
  allocation->base = buffer.address();
  allocation->size_bytes = buffer.size_bytes();
  allocation->context = &context;
  allocation->buffer = std::move(buffer);
  const std::scoped_lock lock(mutex_);
  put(allocation);
}

Result<std::shared_ptr<Allocation>, Error> Memory::allocate_in_order(uint64_t size_bytes, Context& context,
                                                                     std::shared_ptr<MemoryPool> pool,
                                                                     const lemma::Stream& queue) {
  const auto done = [&context](const Result<void, Error>& taken) {
    if (!taken && taken.error().kind == ErrorKind::out_of_memory)
      context.fail(CUDA_ERROR_OUT_OF_MEMORY);
  };
  Result<Buffer, Error> buffer =
      queue.allocate(size_bytes, {.name = "cuMemAllocAsync", .poisoned = state().machine.check}, done);
  if (!buffer)
    return Unexpected<Error>{std::move(buffer).error()};
  auto allocation = std::make_shared<Allocation>();
  allocation->pool = std::move(pool);
  add(MemoryKind::device, *std::move(buffer), context, allocation);
  return allocation;
}

CUresult Memory::free_in_order(const std::shared_ptr<Allocation>& allocation, const lemma::Stream& queue) {
  Buffer buffer;
  {
    const std::scoped_lock lock(mutex_);
    if (allocation->buffer.address() == 0)
      return CUDA_ERROR_INVALID_VALUE;
    buffer = std::move(allocation->buffer);
    allocated_bytes_ -= allocation->size_bytes;
  }
  return status_of(
      queue.free(std::move(buffer), [this, base = allocation->base] { take(base, MemoryKind::device); }));
}

CUresult Memory::add_host(MemoryKind kind, void* memory, uint64_t size_bytes, Context* context,
                          unsigned flags) {
  auto allocation = std::make_shared<Allocation>();
  allocation->kind = kind;
  allocation->base = reinterpret_cast<uintptr_t>(memory);
  allocation->size_bytes = size_bytes;
  allocation->context = context;
  allocation->flags = flags;
  {
    const std::scoped_lock lock(mutex_);
    const auto next = allocations_.lower_bound(allocation->base);
    if (next != allocations_.end() && next->first - allocation->base < size_bytes)
      return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (next != allocations_.begin() && std::prev(next)->second->holds(allocation->base, 1))
      return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    put(allocation);
  }
  const CUresult status = status_of(state().device.register_host(memory, size_bytes, name_of(kind)));
  if (status != CUDA_SUCCESS) {
    const std::scoped_lock lock(mutex_);
    allocations_.erase(allocation->base);
  }
  return status;
}

void Memory::add_variable(const Variable& variable, Context& context) {
  auto allocation = std::make_shared<Allocation>();
  allocation->kind = variable.is_managed ? MemoryKind::managed_variable : MemoryKind::variable;
  allocation->base = variable.address;
  allocation->size_bytes = variable.size_bytes;
  allocation->context = &context;
  const std::scoped_lock lock(mutex_);
  put(std::move(allocation));
}

std::shared_ptr<Allocation> Memory::find(CUdeviceptr address) const {
  const std::scoped_lock lock(mutex_);
  const auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin() || !std::prev(next)->second->holds(address, 1))
    return nullptr;
  return std::prev(next)->second;
}

std::shared_ptr<Allocation> Memory::take(CUdeviceptr base, MemoryKind kind) {
  std::shared_ptr<Allocation> taken;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = allocations_.find(base);
    if (found == allocations_.end() || found->second->kind != kind)
      return nullptr;
    taken = std::move(found->second);
    allocations_.erase(found);
    if (taken->buffer.address() != 0)
      allocated_bytes_ -= taken->size_bytes;
  }
  if (kind == MemoryKind::registered || kind == MemoryKind::mapped)
    (void)state().device.unregister_host(reinterpret_cast<void*>(base));
  return taken;
}

void Memory::free_all_of(const Context& context) {
  std::vector<std::pair<CUdeviceptr, MemoryKind>> mine;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [base, allocation] : allocations_)
      if (allocation->context == &context)
        mine.emplace_back(base, allocation->kind);
  }
  for (const auto& [base, kind] : mine)
    take(base, kind);
}

uint64_t Memory::allocated_bytes() const {
  const std::scoped_lock lock(mutex_);
  return allocated_bytes_;
}

Place place_of_host(const void* memory) {
  return {.host = static_cast<std::byte*>(const_cast<void*>(memory)), .device = 0};
}

CUresult place_of(CUdeviceptr address, CheckedSize size, bool device_only, Place& place) {
  if (size + address > kHostEnd)
    return CUDA_ERROR_INVALID_VALUE;
  const uint64_t bytes = *size.value();
  const std::shared_ptr<Allocation> allocation = state().memory.find(address);
  if (allocation && !allocation->holds(address, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (!allocation && is_of_the_gpu(address)) // freed, or a kernel's own
    return CUDA_ERROR_INVALID_VALUE;
  // Copies of managed memory are the device's where somebody looks at what uses it.
  const bool looked_at =
      allocation && state().machine.check &&
      (allocation->kind == MemoryKind::managed || allocation->kind == MemoryKind::managed_variable);
  if (allocation && (looked_at || !allocation->host_sees_it())) {
    place = {.host = nullptr, .device = address};
    return CUDA_SUCCESS;
  }
  if (!allocation && (device_only || address == 0))
    return CUDA_ERROR_INVALID_VALUE;
  place = place_of_host(reinterpret_cast<const void*>(address));
  return CUDA_SUCCESS;
}

CUresult enqueue_bytes(const lemma::Stream& queue, Place destination, Place source, uint64_t bytes) {
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (destination.host && source.host)
    return status_of(queue.call([=] { std::memmove(destination.host, source.host, bytes); }));
  if (destination.host)
    return status_of(queue.read(source.device, {destination.host, bytes}));
  if (source.host)
    return status_of(queue.write(destination.device, {source.host, bytes}));
  const CUdeviceptr to = destination.device, from = source.device;
  if (to >= from + bytes || from >= to + bytes)
    return status_of(queue.copy(to, from, bytes));
  if (to == from)
    return CUDA_SUCCESS;
  auto between = std::make_shared<std::vector<std::byte>>(bytes); // they overlap
  if (const CUresult status = status_of(queue.read(from, *between)); status != CUDA_SUCCESS)
    return status;
  if (const CUresult status = status_of(queue.write(to, *between)); status != CUDA_SUCCESS)
    return status;
  return keep_until_here(queue, std::move(between));
}

CUresult keep_until_here(const lemma::Stream& queue, std::shared_ptr<const std::vector<std::byte>> bytes) {
  return status_of(queue.call([bytes = std::move(bytes)] {}));
}

CUresult enqueue_elements(const lemma::Stream& queue, Place destination, unsigned value,
                          unsigned element_bytes, uint64_t count) {
  const uint64_t bytes = count * element_bytes;
  if (bytes == 0)
    return CUDA_SUCCESS;
  std::byte element[4];
  std::memcpy(element, &value, sizeof element); // little endian
  const bool all_same =
      std::all_of(element, element + element_bytes, [&](std::byte each) { return each == element[0]; });
  if (all_same && destination.host)
    return status_of(queue.call([=] { std::memset(destination.host, static_cast<int>(element[0]), bytes); }));
  if (all_same)
    return status_of(queue.fill(destination.device, bytes, static_cast<uint8_t>(element[0])));
  auto chunk = std::make_shared<std::vector<std::byte>>(std::min(bytes, kChunkBytes));
  for (uint64_t i = 0; i < chunk->size(); i += element_bytes)
    std::memcpy(chunk->data() + i, element, element_bytes);
  for (uint64_t done = 0; done < bytes; done += chunk->size())
    if (const CUresult status = enqueue_bytes(queue, destination.at(done), place_of_host(chunk->data()),
                                              std::min<uint64_t>(chunk->size(), bytes - done));
        status != CUDA_SUCCESS)
      return status;
  return keep_until_here(queue, std::move(chunk));
}

} // namespace lemma::driver
