// The table of a program's memory. See memory.h.
#include "mgpu/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace lemma::mgpu {
namespace {

constexpr size_t kRememberedFrees = 4096;
constexpr uint64_t kChunkBytes = uint64_t{1} << 24; // of a copy that goes through the host
constexpr uint64_t kGuardBytes = uint64_t{1} << 20; // behind an allocation of the virtual GPU

uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

OrFailure<void> passed_on(Result<void, Error> result) {
  if (!result)
    return failed(std::move(result).error());
  return {};
}

} // namespace

void* Memory::add(Buffer buffer, std::string name, bool host_shared, bool device_has_own_addresses) {
  const uint64_t address = buffer.address();
  const uint64_t end = address + buffer.size_bytes();
  // A GPU gives addresses again.
  std::erase_if(freed_, [&](const auto& freed) {
    return freed.first < end && address < freed.first + freed.second.bytes;
  });
  if (device_has_own_addresses) {
    device_begin_ = std::min(device_begin_, address);
    device_end_ = std::max(device_end_, end + kGuardBytes);
  }
  blocks_[address] = {std::move(buffer), std::move(name), host_shared, nullptr};
  return reinterpret_cast<void*>(address);
}

OrFailure<void*> Memory::allocate(const Device& device, uint64_t bytes, bool host_shared) {
  if (bytes == 0)
    return nullptr;
  std::string name = fmt::format("gpu.alloc {}", ++allocations_);
  Result<Buffer, Error> buffer =
      device.allocate(bytes, {.name = name, .poisoned = !host_shared, .host_shared = host_shared});
  if (!buffer)
    return failed(std::move(buffer).error());
  return add(*std::move(buffer), std::move(name), host_shared, !host_shared && device.info().kind == "cpu");
}

OrFailure<void*> Memory::allocate_copy(const Device& device, std::span<const std::byte> bytes,
                                       std::string name) {
  Result<Buffer, Error> buffer = device.allocate(bytes.size(), {.name = name});
  if (!buffer)
    return failed(std::move(buffer).error());
  if (Result<void, Error> copied = buffer->copy_from(bytes); !copied)
    return failed(std::move(copied).error());
  return add(*std::move(buffer), std::move(name), false, device.info().kind == "cpu");
}

OrFailure<void> Memory::free(void* pointer) {
  if (!pointer)
    return {};
  const uint64_t address = address_of(pointer);
  const auto found = blocks_.find(address);
  if (found == blocks_.end())
    return wrong(fmt::format("{} is not what gpu.alloc gave: {}", pointer, whereabouts(address)));
  Block& block = found->second;
  if (block.shared)
    return wrong(fmt::format("{} is {}, which whoever called the program frees", pointer, block.name));
  if (!block.host_shared) {
    if (freed_order_.size() == kRememberedFrees) {
      freed_.erase(freed_order_.front());
      freed_order_.pop_front();
    }
    freed_[address] = {block.buffer().size_bytes(), block.name};
    freed_order_.push_back(address);
  }
  if (keeps_freed)
    kept_.push_back(std::move(block.own));
  blocks_.erase(found);
  return {};
}

void Memory::share(Buffer& buffer) {
  Block& block = blocks_[buffer.address()];
  block.name = fmt::format("shared memory {}", ++shared_);
  block.shared = &buffer;
}

const Memory::Blocks::value_type* Memory::find(uint64_t address) const {
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin())
    return nullptr;
  --after;
  return address - after->first < after->second.buffer().size_bytes() ? &*after : nullptr;
}

// What is at an address that is in no live block.
std::string Memory::whereabouts(uint64_t address) const {
  if (const auto* inside = find(address))
    return fmt::format("it lies {} bytes into {} ({} bytes)", address - inside->first, inside->second.name,
                       inside->second.buffer().size_bytes());
  if (auto after = freed_.upper_bound(address); after != freed_.begin()) {
    const auto& [begin, range] = *--after;
    if (address - begin < range.bytes)
      return fmt::format("it lies in {} ({} bytes), which was freed", range.name, range.bytes);
  }
  auto after = blocks_.upper_bound(address);
  if (address >= device_begin_ && address < device_end_ && after != blocks_.begin()) {
    const auto& [begin, block] = *--after;
    return fmt::format("it lies {} bytes past the end of {} ({} bytes)",
                       address - begin - block.buffer().size_bytes(), block.name,
                       block.buffer().size_bytes());
  }
  if (is_registered(address, 1))
    return "it lies in host memory that was registered";
  return "it is the host's";
}

OrFailure<Memory::Place> Memory::place(const void* pointer, uint64_t bytes, const char* what) const {
  const uint64_t address = address_of(pointer);
  if (!pointer)
    return wrong(fmt::format("the {} is a null pointer", what));
  if (const auto found = blocks_.upper_bound(address); found != blocks_.begin()) {
    auto& [begin, block] = *std::prev(found);
    const uint64_t size = block.buffer().size_bytes(), offset = address - begin;
    if (offset < size) {
      if (bytes > size - offset)
        return wrong(fmt::format("{} bytes from the {} {} on run {} bytes past the end of {} ({} bytes)",
                                 bytes, what, pointer, bytes - (size - offset), block.name, size));
      return Place{&block.buffer(), offset};
    }
  }
  auto freed = freed_.upper_bound(address);
  const bool was_freed =
      freed != freed_.begin() && address - std::prev(freed)->first < std::prev(freed)->second.bytes;
  if (was_freed || (address >= device_begin_ && address < device_end_))
    return wrong(fmt::format("the {} {} is no live device memory: {}", what, pointer, whereabouts(address)));
  return Place{};
}

OrFailure<void> Memory::copy(void* destination, const void* source, uint64_t bytes) const {
  if (bytes == 0)
    return {};
  const OrFailure<Place> to = place(destination, bytes, "destination");
  if (!to)
    return Unexpected<Failure>{to.error()};
  const OrFailure<Place> from = place(source, bytes, "source");
  if (!from)
    return Unexpected<Failure>{from.error()};
  if (!to->buffer && !from->buffer) {
    std::memmove(destination, source, bytes);
    return {};
  }
  if (!from->buffer)
    return passed_on(to->buffer->copy_from({static_cast<const std::byte*>(source), bytes}, to->offset));
  if (!to->buffer)
    return passed_on(from->buffer->copy_to({static_cast<std::byte*>(destination), bytes}, from->offset));
  std::vector<std::byte> chunk(std::min(bytes, kChunkBytes));
  for (uint64_t done = 0; done < bytes; done += chunk.size()) {
    chunk.resize(std::min<uint64_t>(chunk.size(), bytes - done));
    if (auto read = from->buffer->copy_to(chunk, from->offset + done); !read)
      return passed_on(std::move(read));
    if (auto written = to->buffer->copy_from(chunk, to->offset + done); !written)
      return passed_on(std::move(written));
  }
  return {};
}

OrFailure<void> Memory::set(void* destination, uint32_t value, uint64_t value_bytes, uint64_t count) const {
  if (count == 0)
    return {};
  if (count > UINT64_MAX / value_bytes)
    return wrong(fmt::format("{} values of {} bytes are more than there is memory", count, value_bytes));
  const uint64_t bytes = count * value_bytes, address = address_of(destination);
  const OrFailure<Place> to = place(destination, bytes, "destination");
  if (!to)
    return Unexpected<Failure>{to.error()};
  if (address % value_bytes != 0)
    return wrong(fmt::format("the destination {} must be a multiple of {}", destination, value_bytes));
  if (!to->buffer && !is_registered(address, bytes))
    return wrong(fmt::format("the destination {} is host memory that was not registered: gpu.memset is for "
                             "device memory",
                             destination));
  std::vector<std::byte> chunk(std::min(bytes, kChunkBytes));
  for (uint64_t i = 0; i < chunk.size(); i += value_bytes)
    std::memcpy(chunk.data() + i, &value, value_bytes); // little-endian: the lowest bytes come first
  for (uint64_t done = 0; done < bytes; done += chunk.size()) {
    chunk.resize(std::min<uint64_t>(chunk.size(), bytes - done));
    if (!to->buffer)
      std::memcpy(static_cast<std::byte*>(destination) + done, chunk.data(), chunk.size());
    else if (auto written = to->buffer->copy_from(chunk, to->offset + done); !written)
      return passed_on(std::move(written));
  }
  return {};
}

OrFailure<void> Memory::register_host(const Device& device, void* pointer, uint64_t bytes) {
  if (bytes == 0)
    return {};
  const OrFailure<Place> at = place(pointer, bytes, "host memory");
  if (!at)
    return Unexpected<Failure>{at.error()};
  if (at->buffer)
    return wrong(fmt::format("{} is device memory, which kernels can use as it is: {}", pointer,
                             whereabouts(address_of(pointer))));
  auto done = device.register_host(pointer, bytes, fmt::format("gpu.host_register {}", ++registrations_));
  if (!done)
    return failed(std::move(done).error());
  Registered& registered = registered_[address_of(pointer)];
  registered.bytes = std::max(registered.bytes, bytes);
  ++registered.times;
  return {};
}

OrFailure<void> Memory::unregister_host(const Device& device, void* pointer) {
  const auto found = registered_.find(address_of(pointer));
  if (found == registered_.end())
    return wrong(fmt::format("no host memory that begins at {} is registered", pointer));
  if (--found->second.times == 0)
    registered_.erase(found);
  return passed_on(device.unregister_host(pointer));
}

bool Memory::is_registered(uint64_t address, uint64_t bytes) const {
  return std::any_of(registered_.begin(), registered_.end(), [&](const auto& entry) {
    const uint64_t offset = address - entry.first;
    return offset < entry.second.bytes && bytes <= entry.second.bytes - offset;
  });
}

OrFailure<void> Memory::check_visible(const void* pointer, const char* what) const {
  const OrFailure<Place> at = place(pointer, 1, what);
  if (!at)
    return Unexpected<Failure>{at.error()};
  if (!at->buffer && !is_registered(address_of(pointer), 1))
    return wrong(
        fmt::format("the {} {} is host memory that kernels cannot reach: gpu.alloc and gpu.memcpy put it on "
                    "the device, gpu.host_register shares it",
                    what, pointer));
  return {};
}

} // namespace lemma::mgpu
