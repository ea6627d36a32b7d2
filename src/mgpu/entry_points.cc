// The entry points over state.h. See entry_points.h.
#include "mgpu/entry_points.h"

#include "mgpu/memref.h"
#include "mgpu/runtime.h"
#include "mgpu/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

namespace lemma::mgpu {
namespace {

// Both ends are in bytes from `aligned`; empty if a dimension has no elements.
struct Extent {
  int64_t begin = 0, end = 0;
};

// What the memref's elements span, whatever its strides.
OrFailure<std::pair<void*, uint64_t>> span_of(int64_t rank, const void* descriptor, int64_t element_bytes) {
  constexpr int64_t kMaxRank = 64;
  if (rank < 0 || rank > kMaxRank || !descriptor || element_bytes < 1)
    return wrong(fmt::format("no memref: rank {}, descriptor {}, elements of {} bytes", rank, descriptor,
                             element_bytes));
  const MemRef memref = MemRef::of(rank, descriptor);
  Extent extent;
  bool too_large = __builtin_mul_overflow(memref.offset, element_bytes, &extent.begin) ||
                   __builtin_add_overflow(extent.begin, element_bytes, &extent.end);
  for (size_t i = 0; i < memref.sizes.size(); ++i) {
    if (memref.sizes[i] < 0)
      return wrong(fmt::format("no memref: dimension {} has size {}", i, memref.sizes[i]));
    if (memref.sizes[i] == 0)
      return std::pair<void*, uint64_t>{memref.aligned, 0};
    int64_t reach = 0;
    too_large = too_large || __builtin_mul_overflow(memref.sizes[i] - 1, memref.strides[i], &reach) ||
                __builtin_mul_overflow(reach, element_bytes, &reach);
    int64_t& end = reach < 0 ? extent.begin : extent.end;
    too_large = too_large || __builtin_add_overflow(end, reach, &end);
  }
  int64_t bytes = 0;
  if (too_large || __builtin_sub_overflow(extent.end, extent.begin, &bytes))
    return wrong("the memref spans more memory than there are addresses");
  return std::pair<void*, uint64_t>{memref.aligned + extent.begin,
                                    static_cast<uint64_t>(extent.end - extent.begin)};
}

OrFailure<std::vector<std::byte>> encode(State& state, const TensorMap& map) {
  if (OrFailure<void> visible =
          state.memory.check_visible(reinterpret_cast<const void*>(map.address), "tensor's address");
      !visible)
    return Unexpected<Failure>{std::move(visible).error()};
  const OrFailure<Device*> device = state.device();
  if (!device)
    return Unexpected<Failure>{device.error()};
  Result<Argument, Error> encoded = (*device)->encode(map);
  if (!encoded)
    return failed(std::move(encoded).error());
  return encoded->bytes();
}

// The map of a memref in device memory; `finish(map)` adds the box.
template <class F>
OrFailure<void*> encode_memref(State& state, int64_t rank, const void* descriptor, const TensorModes& modes,
                               const int64_t* element_strides, F finish) {
  OrFailure<TensorMap> map = of_memref(rank, descriptor, modes, element_strides);
  if (!map)
    return Unexpected<Failure>{std::move(map).error()};
  if (OrFailure<void> finished = finish(*map); !finished)
    return Unexpected<Failure>{std::move(finished).error()};
  const auto bytes = encode(state, *map);
  if (!bytes)
    return Unexpected<Failure>{bytes.error()};
  return state.memory.allocate_copy(**state.device(), *bytes, "tensor map");
}

struct Nothing {};
inline Nothing value_of(const OrFailure<void>&) {
  return {};
}
template <class T>
T value_of(OrFailure<T> result) {
  return *std::move(result);
}

// What f(state) returns; nothing (null, zero) after a failure, if Call::leave() comes back.
template <class F>
auto call(const char* entry_point, const F& f) {
  using Value = std::remove_cvref_t<decltype(value_of(f(std::declval<State&>())))>;
  static_assert(std::is_trivially_destructible_v<F> && std::is_trivially_destructible_v<Value>);
  Value value{};
  const bool done = Call(entry_point).attempt([&](State& state) -> OrFailure<void> {
    auto result = f(state);
    if (!result)
      return Unexpected<Failure>{std::move(result).error()};
    value = value_of(std::move(result));
    return {};
  });
  if (!done)
    Call::leave();
  return value;
}

// f(state, device), for what needs a device.
template <class F>
auto call_on_device(const char* entry_point, const F& f) {
  return call(entry_point, [&](State& state) -> decltype(f(state, std::declval<Device&>())) {
    const OrFailure<Device*> device = state.device();
    if (!device)
      return Unexpected<Failure>{device.error()};
    return f(state, **device);
  });
}

bool try_launch(const char* entry_point, void* function, const LaunchSizes& sizes, void* stream,
                void** params, void** extra, std::optional<size_t> param_count) {
  Call call(entry_point);
  std::optional<Launched> launched;
  const bool done = call.attempt([&](State& state) -> OrFailure<void> {
    OrFailure<Launched> result = state.launch(function, sizes, stream, params, extra, param_count);
    if (!result)
      return Unexpected<Failure>{std::move(result).error()};
    launched = *std::move(result);
    return {};
  });
  if (launched)
    call.launched(*launched);
  return done;
}

void launch(const char* entry_point, void* function, const LaunchSizes& sizes, void* stream, void** params,
            void** extra, std::optional<size_t> param_count) {
  if (!try_launch(entry_point, function, sizes, stream, params, extra, param_count))
    Call::leave();
}

// Work has ended when its call returns: what is left of a stream or event is that it must be one.
void check_both(const char* entry_point, const void* stream, const void* event) {
  call(entry_point, [&](State& state) {
    OrFailure<void> checked = state.check_stream(stream);
    return checked ? state.check_event(event) : checked;
  });
}

// f() once the stream is known to be one.
template <class F>
auto call_in(const char* entry_point, const void* stream, const F& f) {
  return call_on_device(entry_point, [&](State& state, Device& device) -> decltype(f(state, device)) {
    if (OrFailure<void> checked = state.check_stream(stream); !checked)
      return Unexpected<Failure>{std::move(checked).error()};
    return f(state, device);
  });
}

} // namespace

std::span<const EntryPoint> entry_points() {
  static const EntryPoint all[] = {
#define LEMMA_MGPU(result, name, parameters) {#name, reinterpret_cast<void*>(&name)},
#include "mgpu/entry_points.def"
#undef LEMMA_MGPU
  };
  return all;
}

// Functions with C linkage are the global ones of entry_points.h, though their scope is this one.
extern "C" {

// --- modules

void* mgpuModuleLoad(const void* image, size_t bytes) noexcept {
  return call("mgpuModuleLoad", [&](State& state) -> OrFailure<void*> {
    if (!image)
      return wrong("the module is a null pointer");
    const auto* text = static_cast<const char*>(image);
    return state.load_module(std::string(text, strnlen(text, bytes)));
  });
}

void* mgpuModuleLoadJIT(const void* text, int32_t) noexcept {
  return call("mgpuModuleLoadJIT", [&](State& state) -> OrFailure<void*> {
    if (!text)
      return wrong("the module is a null pointer");
    return state.load_module(static_cast<const char*>(text));
  });
}

void mgpuModuleUnload(void* module) noexcept {
  call("mgpuModuleUnload", [&](State& state) { return state.unload_module(module); });
}

void* mgpuModuleGetFunction(void* module, const char* name) noexcept {
  return call("mgpuModuleGetFunction", [&](State& state) { return state.function(module, name); });
}

// --- launches

void mgpuLaunchKernel(void* function, intptr_t grid_x, intptr_t grid_y, intptr_t grid_z, intptr_t block_x,
                      intptr_t block_y, intptr_t block_z, int32_t shared_bytes, void* stream, void** params,
                      void** extra, size_t param_count) noexcept {
  launch(
      "mgpuLaunchKernel", function,
      {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .shared_bytes = shared_bytes},
      stream, params, extra, param_count);
}

void mgpuLaunchClusterKernel(void* function, intptr_t cluster_x, intptr_t cluster_y, intptr_t cluster_z,
                             intptr_t grid_x, intptr_t grid_y, intptr_t grid_z, intptr_t block_x,
                             intptr_t block_y, intptr_t block_z, int32_t shared_bytes, void* stream,
                             void** params, void** extra) noexcept {
  launch("mgpuLaunchClusterKernel", function,
         {.grid = {grid_x, grid_y, grid_z},
          .block = {block_x, block_y, block_z},
          .cluster = {cluster_x, cluster_y, cluster_z},
          .shared_bytes = shared_bytes},
         stream, params, extra, std::nullopt);
}

// --- streams and events

void* mgpuStreamCreate() noexcept {
  return call("mgpuStreamCreate", [](State& state) { return state.create_stream(); });
}

void mgpuStreamDestroy(void* stream) noexcept {
  call("mgpuStreamDestroy", [&](State& state) { return state.destroy_stream(stream); });
}

void mgpuStreamSynchronize(void* stream) noexcept {
  call("mgpuStreamSynchronize", [&](State& state) { return state.check_stream(stream); });
}

void mgpuStreamWaitEvent(void* stream, void* event) noexcept {
  check_both("mgpuStreamWaitEvent", stream, event);
}

void* mgpuEventCreate() noexcept {
  return call("mgpuEventCreate", [](State& state) { return state.create_event(); });
}

void mgpuEventDestroy(void* event) noexcept {
  call("mgpuEventDestroy", [&](State& state) { return state.destroy_event(event); });
}

void mgpuEventRecord(void* event, void* stream) noexcept {
  call("mgpuEventRecord", [&](State& state) { return state.record_event(event, stream); });
}

void mgpuEventSynchronize(void* event) noexcept {
  call("mgpuEventSynchronize", [&](State& state) { return state.check_event(event); });
}

float mgpuEventElapsedTime(void* begin, void* end) noexcept {
  return call("mgpuEventElapsedTime", [&](State& state) { return state.elapsed_milliseconds(begin, end); });
}

// --- memory

void* mgpuMemAlloc(uint64_t bytes, void* stream, bool host_shared) noexcept {
  return call_in("mgpuMemAlloc", stream, [&](State& state, Device& device) {
    return state.memory.allocate(device, bytes, host_shared);
  });
}

void mgpuMemFree(void* memory, void* stream) noexcept {
  call_in("mgpuMemFree", stream, [&](State& state, Device&) { return state.memory.free(memory); });
}

void mgpuMemcpy(void* destination, const void* source, size_t bytes, void* stream) noexcept {
  call_in("mgpuMemcpy", stream,
          [&](State& state, Device&) { return state.memory.copy(destination, source, bytes); });
}

void mgpuMemset32(void* destination, uint32_t value, size_t count, void* stream) noexcept {
  call_in("mgpuMemset32", stream,
          [&](State& state, Device&) { return state.memory.set(destination, value, 4, count); });
}

void mgpuMemset16(void* destination, uint16_t value, size_t count, void* stream) noexcept {
  call_in("mgpuMemset16", stream,
          [&](State& state, Device&) { return state.memory.set(destination, value, 2, count); });
}

void mgpuMemHostRegister(void* memory, uint64_t bytes) noexcept {
  call_on_device("mgpuMemHostRegister", [&](State& state, Device& device) {
    return state.memory.register_host(device, memory, bytes);
  });
}

void mgpuMemHostUnregister(void* memory) noexcept {
  call_on_device("mgpuMemHostUnregister",
                 [&](State& state, Device& device) { return state.memory.unregister_host(device, memory); });
}

void mgpuMemHostRegisterMemRef(int64_t rank, const void* descriptor, int64_t element_bytes) noexcept {
  call_on_device("mgpuMemHostRegisterMemRef", [&](State& state, Device& device) -> OrFailure<void> {
    const auto span = span_of(rank, descriptor, element_bytes);
    if (!span)
      return Unexpected<Failure>{span.error()};
    return state.memory.register_host(device, span->first, span->second);
  });
}

void mgpuMemHostUnregisterMemRef(int64_t rank, const void* descriptor, int64_t element_bytes) noexcept {
  call_on_device("mgpuMemHostUnregisterMemRef", [&](State& state, Device& device) -> OrFailure<void> {
    const auto span = span_of(rank, descriptor, element_bytes);
    if (!span)
      return Unexpected<Failure>{span.error()};
    return span->second == 0 ? OrFailure<void>() : state.memory.unregister_host(device, span->first);
  });
}

void mgpuSetDefaultDevice(int32_t ordinal) noexcept {
  call("mgpuSetDefaultDevice", [&](State& state) { return state.set_device(ordinal); });
}

// --- tensor maps

void mgpuTensorMapEncodeTiled(void* map, int32_t type, uint32_t rank, void* address, const uint64_t* dims,
                              const uint64_t* strides_bytes, const uint32_t* box,
                              const uint32_t* element_strides, int32_t interleave, int32_t swizzle,
                              int32_t l2_promotion, int32_t oob_fill) noexcept {
  call("mgpuTensorMapEncodeTiled", [&](State& state) -> OrFailure<void> {
    OrFailure<TensorMap> tensor = with_modes({type, interleave, swizzle, l2_promotion, oob_fill});
    if (!tensor)
      return Unexpected<Failure>{std::move(tensor).error()};
    if (rank < 1 || rank > 5)
      return wrong(fmt::format("tensor map: a tensor has 1 to 5 dimensions, not {}", rank));
    if (!map || !dims || !box || !element_strides || (!strides_bytes && rank > 1))
      return wrong("tensor map: the map, dims, strides, box or element strides are null");
    tensor->address = reinterpret_cast<uintptr_t>(address);
    tensor->dims.assign(dims, dims + rank);
    tensor->strides_bytes.assign(strides_bytes, strides_bytes + rank - 1);
    tensor->box.assign(box, box + rank);
    tensor->element_strides.assign(element_strides, element_strides + rank);
    const auto bytes = encode(state, *tensor);
    if (!bytes)
      return Unexpected<Failure>{bytes.error()};
    std::memcpy(map, bytes->data(), bytes->size());
    return {};
  });
}

void* mgpuTensorMapEncodeTiledMemref(int64_t rank, const void* descriptor, int32_t type, int32_t interleave,
                                     int32_t swizzle, int32_t l2_promotion, int32_t oob_fill,
                                     const int64_t* box) noexcept {
  return call("mgpuTensorMapEncodeTiledMemref", [&](State& state) {
    return encode_memref(state, rank, descriptor, {type, interleave, swizzle, l2_promotion, oob_fill},
                         nullptr, [&](TensorMap& map) { return set_box(map, box); });
  });
}

void* mgpuTensorMapEncodeTiledStridedMemref(int64_t rank, const void* descriptor, int32_t type,
                                            int32_t interleave, int32_t swizzle, int32_t l2_promotion,
                                            int32_t oob_fill, const int64_t* box,
                                            const int64_t* element_strides) noexcept {
  return call("mgpuTensorMapEncodeTiledStridedMemref", [&](State& state) {
    return encode_memref(state, rank, descriptor, {type, interleave, swizzle, l2_promotion, oob_fill},
                         element_strides, [&](TensorMap& map) { return set_box(map, box); });
  });
}

void* mgpuTensorMapEncodeIm2colMemref(int64_t rank, const void* descriptor, int32_t type, int32_t interleave,
                                      int32_t swizzle, int32_t l2_promotion, int32_t oob_fill,
                                      const int64_t* lower, const int64_t* upper, int64_t channels,
                                      int64_t pixels, const int64_t* element_strides) noexcept {
  return call("mgpuTensorMapEncodeIm2colMemref", [&](State& state) {
    return encode_memref(state, rank, descriptor, {type, interleave, swizzle, l2_promotion, oob_fill},
                         element_strides,
                         [&](TensorMap& map) { return set_im2col(map, lower, upper, channels, pixels); });
  });
}

} // extern "C"

} // namespace lemma::mgpu
