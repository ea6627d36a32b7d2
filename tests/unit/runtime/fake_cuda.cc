// Built as a libcuda.so.1 of its own, with the driver's symbols as functions of C; a test reads its state
// through fake_cuda_state(). After a fault calls fail until the context is reset, as with the real driver.
#include "fake_cuda.h"

#include "runtime/cuda_driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

using namespace lemma::runtime::cuda;

namespace {

struct Kernel {
  std::string name;
  int max_dynamic_shared = 0;
};
fake_cuda::State g_state;
std::map<std::string, Kernel> g_kernels;
std::set<void*> g_memory;
int g_context_storage;
uint32_t g_variable[2]; // every variable of every module

// What every call says first.
Status alive() {
  return g_state.broken ? kIllegalAddress : kSuccess;
}

} // namespace

extern "C" {

fake_cuda::State* fake_cuda_state() {
  return &g_state;
}

Status cuInit(unsigned) {
  return kSuccess;
}
Status cuDriverGetVersion(int* version) {
  return *version = 13000, kSuccess;
}
Status cuGetErrorName(Status status, const char** name) {
  *name = status == kIllegalAddress          ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : status == kInvalidPtx            ? "CUDA_ERROR_INVALID_PTX"
          : status == kInvalidValue          ? "CUDA_ERROR_INVALID_VALUE"
          : status == kNoBinaryForGpu        ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : status == kUnsupportedPtxVersion ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
                                             : nullptr;
  return *name ? kSuccess : kInvalidValue;
}
Status cuGetErrorString(Status, const char** text) {
  return *text = "as the fake driver says", kSuccess;
}
Status cuDeviceGetCount(int* count) {
  return *count = 1, kSuccess;
}
Status cuDeviceGet(DeviceHandle* device, int ordinal) {
  return *device = ordinal, kSuccess;
}
Status cuDeviceGetName(char* name, int bytes, DeviceHandle) {
  std::strncpy(name, "Fake H200", static_cast<size_t>(bytes));
  return kSuccess;
}
Status cuDeviceGetAttribute(int* value, int attribute, DeviceHandle) {
  *value = attribute == kAttributeComputeCapabilityMajor ? 9 : 0;
  return kSuccess;
}
Status cuDeviceGetPCIBusId(char* id, int bytes, DeviceHandle) {
  std::strncpy(id, "0000:4e:00.0", static_cast<size_t>(bytes));
  return kSuccess;
}
Status cuDevicePrimaryCtxRetain(Context* context, DeviceHandle) {
  if (g_state.broken)
    return kIllegalAddress;
  *context = reinterpret_cast<Context>(&g_context_storage);
  return kSuccess;
}
Status cuDevicePrimaryCtxRelease_v2(DeviceHandle) {
  return alive();
}
Status cuDevicePrimaryCtxReset_v2(DeviceHandle) {
  ++g_state.resets;
  if (g_state.reopens_after_fault)
    g_state.broken = false;
  for (void* memory : g_memory) // the context's
    std::free(memory);
  g_memory.clear();
  g_state.allocations = g_state.modules = 0;
  return kSuccess;
}
Status cuCtxPushCurrent_v2(Context) {
  return kSuccess;
}
Status cuCtxPopCurrent_v2(Context* context) {
  return *context = nullptr, kSuccess;
}
Status cuCtxSynchronize() {
  return alive();
}

Status cuModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned count, int* options,
                          void** values) {
  if (alive() != kSuccess)
    return alive();
  const std::string text = static_cast<const char*>(image); // a fake cubin has no NUL in it
  const auto refuse = [&](const std::string& log, Status status) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == kJitErrorLogBuffer)
        std::memcpy(values[i], log.c_str(), log.size() + 1);
    return status;
  };
  if (text.find("not_for_this_driver") != text.npos)
    return refuse("ptxas fatal: the fake log\n", kInvalidPtx);
  if (text.find(".target sm_100a") != text.npos)
    return refuse("", kNoBinaryForGpu);
  int major = 0, minor = 0;
  if (std::sscanf(text.c_str(), ".version %d.%d", &major, &minor) != 2)
    g_state.cubins.push_back(text);
  else if (100 * major + minor > g_state.newest_ptx)
    return refuse("ptxas application ptx input, line 1; fatal   : Unsupported .version " +
                      std::to_string(major) + "." + std::to_string(minor) + "; current version is '" +
                      std::to_string(g_state.newest_ptx / 100) + "." +
                      std::to_string(g_state.newest_ptx % 100) + "'\n",
                  kUnsupportedPtxVersion);
  ++g_state.modules;
  *module = reinterpret_cast<ModuleHandle>(&g_state);
  return kSuccess;
}
Status cuModuleUnload(ModuleHandle) {
  return --g_state.modules, alive();
}
Status cuModuleGetFunction(Function* function, ModuleHandle, const char* name) {
  Kernel& kernel = g_kernels[name];
  kernel.name = name;
  *function = reinterpret_cast<Function>(&kernel);
  return alive();
}
Status cuModuleGetGlobal_v2(Pointer* address, size_t* bytes, ModuleHandle, const char* name) {
  if (alive() != kSuccess)
    return alive();
  if (std::strcmp(name, "dropped") == 0)
    return kInvalidPtx;
  *address = reinterpret_cast<uintptr_t>(g_variable);
  *bytes = sizeof g_variable;
  return kSuccess;
}
Status cuFuncGetAttribute(int* value, int attribute, Function) {
  *value = attribute == kFunctionMaxThreads ? 896 : attribute == kFunctionRegisters ? 40 : 16;
  return kSuccess;
}
Status cuFuncSetAttribute(Function function, int attribute, int value) {
  if (attribute == kFunctionMaxDynamicSharedBytes) {
    if (value > 227 * 1024)
      return kInvalidValue;
    reinterpret_cast<Kernel*>(function)->max_dynamic_shared = value;
  }
  return kSuccess;
}
Status cuLaunchKernelEx(const LaunchConfiguration* config, Function function, void** parameters, void**) {
  if (alive() != kSuccess)
    return alive();
  const Kernel& kernel = *reinterpret_cast<Kernel*>(function);
  fake_cuda::Launch launch;
  launch.kernel = kernel.name;
  std::memcpy(launch.grid, config->grid, sizeof launch.grid);
  std::memcpy(launch.block, config->block, sizeof launch.block);
  launch.shared_bytes = config->shared_bytes;
  launch.max_dynamic_shared = kernel.max_dynamic_shared;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    launch.attributes.push_back(config->attributes[i].id);
    if (config->attributes[i].id == kLaunchClusterDimension)
      std::memcpy(launch.cluster, config->attributes[i].value.cluster, sizeof launch.cluster);
  }
  const size_t parameter_count = kernel.name == "two_parameters" ? 2 : 0;
  for (size_t i = 0; i < parameter_count; ++i) {
    uint32_t word = 0;
    std::memcpy(&word, parameters[i], sizeof word);
    launch.parameters.push_back(word);
  }
  g_state.launches.push_back(launch);
  g_state.clock_ms += g_state.launch_ms;
  if (kernel.name.starts_with("fault_"))
    g_state.broken = true;
  return kSuccess;
}

Status cuMemAlloc_v2(Pointer* address, size_t bytes) {
  if (alive() != kSuccess)
    return alive();
  void* memory = bytes < (size_t{1} << 40) ? std::malloc(bytes) : nullptr;
  if (!memory)
    return kOutOfMemory;
  g_memory.insert(memory);
  ++g_state.allocations;
  *address = reinterpret_cast<Pointer>(memory);
  return kSuccess;
}
Status cuMemAllocManaged(Pointer* address, size_t bytes, unsigned flags) {
  if (flags != kManagedGlobal)
    return kInvalidValue;
  ++g_state.managed;
  return cuMemAlloc_v2(address, bytes);
}
Status cuMemHostRegister_v2(void* memory, size_t bytes, unsigned) {
  constexpr Status kAlreadyRegistered = 712;
  auto* begin = static_cast<char*>(memory);
  for (const auto& [other, other_bytes] : g_state.registered)
    if (begin < static_cast<char*>(other) + other_bytes && static_cast<char*>(other) < begin + bytes)
      return kAlreadyRegistered;
  g_state.registered[memory] = bytes;
  return alive();
}
Status cuMemHostUnregister(void* memory) {
  return g_state.registered.erase(memory) ? alive() : kInvalidValue;
}
Status cuMemHostGetDevicePointer_v2(Pointer* address, void* memory, unsigned) {
  *address = reinterpret_cast<Pointer>(memory) + (g_state.one_address_space ? 0 : 4096);
  return alive();
}
Status cuMemFree_v2(Pointer address) {
  if (!g_memory.erase(reinterpret_cast<void*>(address)))
    return kInvalidValue;
  std::free(reinterpret_cast<void*>(address));
  --g_state.allocations;
  return alive();
}
Status cuMemcpyHtoD_v2(Pointer destination, const void* source, size_t bytes) {
  if (alive() == kSuccess)
    std::memcpy(reinterpret_cast<void*>(destination), source, bytes);
  return alive();
}
Status cuMemcpyDtoH_v2(void* destination, Pointer source, size_t bytes) {
  if (alive() == kSuccess)
    std::memcpy(destination, reinterpret_cast<void*>(source), bytes);
  return alive();
}
Status cuMemcpyDtoD_v2(Pointer destination, Pointer source, size_t bytes) {
  if (alive() == kSuccess)
    std::memcpy(reinterpret_cast<void*>(destination), reinterpret_cast<void*>(source), bytes);
  return alive();
}
Status cuMemsetD8_v2(Pointer destination, unsigned char value, size_t count) {
  if (alive() == kSuccess)
    std::memset(reinterpret_cast<void*>(destination), value, count);
  return alive();
}
Status cuMemsetD8Async(Pointer destination, unsigned char value, size_t count, Stream) {
  constexpr size_t kMost = 4096; // tests flush again and again
  ++g_state.flushes;
  g_state.clock_ms += 0.1;
  return cuMemsetD8_v2(destination, value, count < kMost ? count : kMost);
}
Status cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address, const uint64_t* dims,
                              const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,
                              int interleave, int swizzle, int l2_promotion, int oob_fill) {
  if (reinterpret_cast<uintptr_t>(map) % 64 || !strides)
    return kInvalidValue;
  g_state.maps.push_back({.im2col = false,
                          .type = type,
                          .interleave = interleave,
                          .swizzle = swizzle,
                          .l2_promotion = l2_promotion,
                          .oob_fill = oob_fill,
                          .address = address,
                          .dims = {dims, dims + rank},
                          .strides = {strides, strides + rank - 1},
                          .box = {box, box + rank},
                          .element_strides = {element_strides, element_strides + rank},
                          .corners = {}});
  std::memset(map, 0x5a, 128);
  return alive();
}
Status cuTensorMapEncodeIm2col(void* map, int type, unsigned rank, void* address, const uint64_t* dims,
                               const uint64_t* strides, const int* lower, const int* upper, unsigned channels,
                               unsigned pixels, const uint32_t* element_strides, int interleave, int swizzle,
                               int l2_promotion, int oob_fill) {
  if (reinterpret_cast<uintptr_t>(map) % 64)
    return kInvalidValue;
  std::vector<int> corners(lower, lower + rank - 2);
  corners.insert(corners.end(), upper, upper + rank - 2);
  g_state.maps.push_back({.im2col = true,
                          .type = type,
                          .interleave = interleave,
                          .swizzle = swizzle,
                          .l2_promotion = l2_promotion,
                          .oob_fill = oob_fill,
                          .address = address,
                          .dims = {dims, dims + rank},
                          .strides = {strides, strides + rank - 1},
                          .box = {channels, pixels},
                          .element_strides = {element_strides, element_strides + rank},
                          .corners = corners});
  std::memset(map, 0xa5, 128);
  return alive();
}
Status cuEventCreate(Event* event, unsigned) {
  ++g_state.events;
  return *event = reinterpret_cast<Event>(new double{0}), alive();
}
Status cuEventRecord(Event event, Stream) {
  return *reinterpret_cast<double*>(event) = g_state.clock_ms, kSuccess;
}
Status cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  const double elapsed = *reinterpret_cast<double*>(end) - *reinterpret_cast<double*>(begin);
  return *milliseconds = static_cast<float>(elapsed), alive();
}
Status cuEventDestroy_v2(Event event) {
  --g_state.events;
  delete reinterpret_cast<double*>(event);
  return alive();
}

} // extern "C"
