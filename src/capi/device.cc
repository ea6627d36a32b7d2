// include/lemma/c/device.h: devices, memory, tensor maps.
#include "capi/handles.h"
#include "capi/messages.h"

#include <fmt/format.h>

#include <algorithm>

using namespace lemma::capi;

lemma_device::lemma_device(lemma::Device opened) : device(std::move(opened)) {
  const lemma::DeviceInfo& known = device.info();
  info.kind = info.arena.text(known.kind);
  info.name = info.arena.text(known.name);
  info.driver = info.arena.text(known.driver);
  info.target = info.arena.text(known.target);
}

namespace lemma::capi {
namespace {

// The buffer that the range lies in, and where.
struct Place {
  lemma_device::SharedBuffer buffer;
  uint64_t offset = 0;
};
Place find(lemma_device& device, uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(device.mutex);
  auto after = device.buffers.upper_bound(address);
  if (after == device.buffers.begin())
    return {};
  --after;
  const uint64_t offset = address - after->first, size = after->second->size_bytes();
  return offset <= size && bytes <= size - offset ? Place{after->second, offset} : Place{};
}

TensorMap tensor_map(const lemma_tensor_map& given) {
  if (given.rank < 1 || given.rank > 5)
    invalid(fmt::format("tensor map: rank {}: legal are 1 to 5", given.rank));
  const auto first = [&](const auto* values, size_t count) { return std::vector(values, values + count); };
  TensorMap map{.type = to_cpp(given.type),
                .address = given.address,
                .dims = first(given.dims, given.rank),
                .strides_bytes = first(given.strides_bytes, given.rank - 1),
                .interleave = to_cpp(given.interleave),
                .swizzle = to_cpp(given.swizzle),
                .oob_fill = to_cpp(given.oob_fill),
                .l2_promotion = to_cpp(given.l2_promotion)};
  if (std::any_of(given.element_strides, given.element_strides + 5,
                  [](uint32_t stride) { return stride != 0; }))
    map.element_strides = first(given.element_strides, given.rank);
  if (given.is_im2col) {
    const size_t spatial = given.rank > 2 ? given.rank - 2 : 0;
    map.im2col = TensorIm2col{.lower = first(given.lower, spatial),
                              .upper = first(given.upper, spatial),
                              .channels_per_pixel = given.channels_per_pixel,
                              .pixels_per_column = given.pixels_per_column};
  } else {
    map.box = first(given.box, given.rank);
  }
  return map;
}

// Zero is the default.
double patience(double given) {
  return given == 0 ? DeviceOptions().patience_seconds : given < 0 ? 0 : given;
}

} // namespace
} // namespace lemma::capi

uint64_t lemma_default_max_memory_bytes(void) {
  return lemma::default_max_memory_bytes();
}

const lemma_error* lemma_device_open(const char* kind, const lemma_device_options* options,
                                     lemma_device** device) {
  return guarded([&] {
    const lemma_device_options wanted = taken(options, "lemma_device_open: options");
    lemma_device*& made = given(device, "lemma_device_open: device");
    made = new lemma_device(unwrap(lemma::Device::open(&given(kind, "lemma_device_open: kind"),
                                                       {.ordinal = wanted.ordinal,
                                                        .arch = text_or(wanted.arch, ""),
                                                        .max_memory_bytes = wanted.max_memory_bytes,
                                                        .patience_seconds = patience(wanted.patience_seconds),
                                                        .check_streams = wanted.check_streams})));
  });
}

void lemma_device_close(lemma_device* device) {
  if (device)
    (void)device->device.synchronize(); // what failed is nobody's any more
  delete device;
}

const lemma_device_info* lemma_device_describe(const lemma_device* device) {
  return device ? &device->info : nullptr;
}

const lemma_error* lemma_allocate(lemma_device* device, uint64_t size_bytes,
                                  const lemma_allocate_options* options, uint64_t* address) {
  return guarded([&] {
    const lemma_allocate_options wanted = taken(options, "lemma_allocate: options");
    uint64_t& made = given(address, "lemma_allocate: address");
    const auto shared = std::make_shared<lemma::Buffer>(
        unwrap(given(device, "lemma_allocate: device")
                   .device.allocate(size_bytes, {.name = text_or(wanted.name, "lemma_allocate"),
                                                 .poisoned = wanted.poisoned,
                                                 .host_shared = wanted.host_shared})));
    const std::lock_guard lock(device->mutex);
    device->buffers.emplace(shared->address(), shared);
    made = shared->address();
  });
}

const lemma_error* lemma_free(lemma_device* device, uint64_t address) {
  return guarded([&] {
    std::unique_lock lock(given(device, "lemma_free: device").mutex);
    const auto freed = device->buffers.extract(address);
    lock.unlock(); // freeing waits for the launch that runs
    if (!freed)
      invalid(fmt::format("lemma_free: {:#x} is no allocation", address));
  });
}

const lemma_error* lemma_copy_to_device(lemma_device* device, uint64_t address, const void* source,
                                        uint64_t size_bytes) {
  return guarded([&] {
    const Place place = find(given(device, "lemma_copy_to_device: device"), address, size_bytes);
    const auto bytes = bytes_of(source, size_bytes, "lemma_copy_to_device: source");
    unwrap(place.buffer ? place.buffer->copy_from(bytes, place.offset)
                        : device->device.write(address, bytes));
  });
}

const lemma_error* lemma_copy_from_device(lemma_device* device, void* destination, uint64_t address,
                                          uint64_t size_bytes) {
  return guarded([&] {
    const Place place = find(given(device, "lemma_copy_from_device: device"), address, size_bytes);
    bytes_of(destination, size_bytes, "lemma_copy_from_device: destination");
    const std::span bytes(static_cast<std::byte*>(destination), size_bytes);
    unwrap(place.buffer ? place.buffer->copy_to(bytes, place.offset) : device->device.read(address, bytes));
  });
}

const lemma_error* lemma_fill(lemma_device* device, uint64_t address, uint8_t value, uint64_t size_bytes) {
  return guarded([&] {
    // Held, so that no other thread frees it meanwhile.
    const Place place = find(given(device, "lemma_fill: device"), address, size_bytes);
    unwrap(device->device.fill(address, size_bytes, value));
  });
}

const lemma_error* lemma_register_host(lemma_device* device, void* memory, uint64_t size_bytes,
                                       const char* name) {
  return guarded([&] {
    unwrap(given(device, "lemma_register_host: device")
               .device.register_host(memory, size_bytes, text_or(name, "host memory")));
  });
}

const lemma_error* lemma_unregister_host(lemma_device* device, void* memory) {
  return guarded(
      [&] { unwrap(given(device, "lemma_unregister_host: device").device.unregister_host(memory)); });
}

const lemma_error* lemma_tensor_map_encode(lemma_device* device, const lemma_tensor_map* map, void* bytes) {
  return guarded([&] {
    given(map, "lemma_tensor_map_encode: map");
    given(static_cast<char*>(bytes), "lemma_tensor_map_encode: bytes");
    const lemma::Argument encoded =
        unwrap(given(device, "lemma_tensor_map_encode: device")
                   .device.encode(tensor_map(taken(map, "lemma_tensor_map_encode: map"))));
    std::copy(encoded.bytes().begin(), encoded.bytes().end(), static_cast<std::byte*>(bytes));
  });
}
