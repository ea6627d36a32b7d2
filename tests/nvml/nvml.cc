// NVML's answers beside the driver's, in the order in which a process asks that looks at a GPU, forks, and
// uses it later.
#include "check.h"

#include "nvml/api.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>

inline const char* name_of(nvmlReturn_t error) {
  return nvmlErrorString(error);
}

namespace {

#define NVML_OK(...) expect_status(NVML_SUCCESS, (__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define NVML_FAILS(error, ...) expect_status(error, (__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

int attribute(CUdevice_attribute which) {
  int value = -1;
  OK(cuDeviceGetAttribute(&value, which, 0));
  return value;
}

void every_row_is_exported() {
#define IMPLEMENTED(symbol, parameters) CHECK(dlsym(RTLD_DEFAULT, #symbol) != nullptr);
#define SAME(symbol, parameters, arguments, base) IMPLEMENTED(symbol, parameters)
#define REFUSED(symbol) IMPLEMENTED(symbol, ())
#include "nvml/functions.def"
#undef IMPLEMENTED
#undef SAME
#undef REFUSED
}

void nothing_before_init() {
  unsigned count = 7;
  NVML_FAILS(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetCount_v2(&count));
  NVML_FAILS(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetPowerUsage());
  NVML_FAILS(NVML_ERROR_UNINITIALIZED, nvmlShutdown());
  NVML_FAILS(NVML_ERROR_INVALID_ARGUMENT, nvmlInitWithFlags(8));
  EQUAL(std::string("Not Supported"), nvmlErrorString(NVML_ERROR_NOT_SUPPORTED));
  EQUAL(std::string("Unknown Error"), nvmlErrorString(static_cast<nvmlReturn_t>(500)));
  int version = 0, of_driver = 0;
  NVML_OK(nvmlSystemGetCudaDriverVersion_v2(&version));
  OK(cuDriverGetVersion(&of_driver));
  EQUAL(of_driver, version);
}

// A child may use the driver: asking has not initialized it.
void a_child_begins_anew() {
  size_t bytes = 0;
  FAILS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceTotalMem_v2(&bytes, 0));
  const pid_t child = fork();
  if (child == 0)
    _exit(cuInit(0) == CUDA_SUCCESS && cuDeviceTotalMem_v2(&bytes, 0) == CUDA_SUCCESS && bytes > 0 ? 0 : 1);
  int status = -1;
  EQUAL(child, waitpid(child, &status, 0));
  EQUAL(0, status);
}

struct Identity {
  char name[96] = {}, uuid[96] = {}, driver[80] = {}, library[80] = {};
  nvmlPciInfo_t bus = {};
};

Identity identity(nvmlDevice_t device) {
  Identity of;
  NVML_OK(nvmlDeviceGetName(device, of.name, sizeof of.name));
  NVML_OK(nvmlDeviceGetUUID(device, of.uuid, sizeof of.uuid));
  NVML_OK(nvmlDeviceGetPciInfo_v3(device, &of.bus));
  NVML_OK(nvmlSystemGetDriverVersion(of.driver, sizeof of.driver));
  NVML_OK(nvmlSystemGetNVMLVersion(of.library, sizeof of.library));
  return of;
}

void it_is_the_drivers_device(nvmlDevice_t device) {
  const Identity of = identity(device);
  char name[96] = {}, bus[16] = {}, uuid[64] = {};
  OK(cuDeviceGetName(name, sizeof name, 0));
  EQUAL(std::string(name), std::string(of.name));
  CUuuid bytes{};
  OK(cuDeviceGetUuid_v2(&bytes, 0));
  const auto* b = reinterpret_cast<const unsigned char*>(bytes.bytes);
  std::snprintf(uuid, sizeof uuid, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
                b[15]);
  EQUAL(std::string(uuid), std::string(of.uuid));
  OK(cuDeviceGetPCIBusId(bus, sizeof bus, 0));
  EQUAL("0000" + std::string(bus), std::string(of.bus.busId)); // no letter in it
  EQUAL(std::string(bus), std::string(of.bus.busIdLegacy));
  EQUAL(attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID), of.bus.bus);
  EQUAL(attribute(CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID), of.bus.pciDeviceId);
  EQUAL("13." + std::string(of.driver), std::string(of.library));

  nvmlDevice_t same = nullptr;
  NVML_OK(nvmlDeviceGetHandleByUUID(uuid, &same));
  CHECK(same == device);
  same = nullptr;
  NVML_OK(nvmlDeviceGetHandleByPciBusId_v2(bus, &same));
  CHECK(same == device);
  same = nullptr;
  NVML_OK(nvmlDeviceGetHandleByPciBusId(of.bus.busId, &same));
  CHECK(same == device);
  NVML_FAILS(NVML_ERROR_NOT_FOUND, nvmlDeviceGetHandleByPciBusId_v2("0000:7f:00.0", &same));
  NVML_FAILS(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetHandleByPciBusId_v2("nonsense", &same));
  NVML_FAILS(NVML_ERROR_NOT_FOUND, nvmlDeviceGetHandleByUUID("GPU-0", &same));
  NVML_FAILS(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetHandleByIndex_v2(1, &same));
  NVML_FAILS(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetName(device, name, 4));
  NVML_FAILS(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetName(nullptr, name, sizeof name));

  // The older struct is shorter.
  nvmlPciInfo_t before = {};
  std::memset(before.busId, '?', sizeof before.busId);
  NVML_OK(nvmlDeviceGetPciInfo(device, &before));
  EQUAL(of.bus.bus, before.bus);
  EQUAL('?', before.busId[16]);
}

void its_kind(nvmlDevice_t device) {
  struct Kind {
    unsigned architecture, cores;
  };
  const std::map<int, Kind> kinds = {{80, {NVML_DEVICE_ARCH_AMPERE, 6912}},
                                     {90, {NVML_DEVICE_ARCH_HOPPER, 16896}},
                                     {120, {NVML_DEVICE_ARCH_BLACKWELL, 21760}}};
  int major = 0, minor = 0;
  NVML_OK(nvmlDeviceGetCudaComputeCapability(device, &major, &minor));
  EQUAL(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), major);
  EQUAL(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), minor);
  const auto kind = kinds.find(major * 10 + minor);
  CHECK(kind != kinds.end());
  unsigned value = 0;
  NVML_OK(nvmlDeviceGetArchitecture(device, &value));
  EQUAL(kind->second.architecture, value);
  NVML_OK(nvmlDeviceGetNumGpuCores(device, &value));
  EQUAL(kind->second.cores, value);
  NVML_OK(nvmlDeviceGetMemoryBusWidth(device, &value));
  EQUAL(attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH), value);
  NVML_OK(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &value));
  EQUAL(attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE), value * 1000);
  NVML_OK(nvmlDeviceGetMaxClockInfo(device, NVML_CLOCK_MEM, &value));
  EQUAL(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE), value * 1000);
  NVML_FAILS(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetMaxClockInfo(device, 3, &value));
  unsigned pending = 7;
  NVML_OK(nvmlDeviceGetEccMode(device, &value, &pending));
  EQUAL(attribute(CU_DEVICE_ATTRIBUTE_ECC_ENABLED), value);
  NVML_OK(nvmlDeviceGetMigMode(device, &value, &pending));
  EQUAL(0U, pending);
  NVML_OK(nvmlDeviceGetComputeMode(device, &value));
  EQUAL(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE), value);
  NVML_OK(nvmlDeviceGetTopologyCommonAncestor(device, device, &value));
  EQUAL(NVML_TOPOLOGY_INTERNAL, value);
  NVML_FAILS(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetNvLinkState());
  NVML_FAILS(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetTemperature());
  value = 5;
  NVML_OK(nvmlDeviceGetComputeRunningProcesses_v3(device, &value, nullptr));
  EQUAL(0U, value);
}

void memory_is_what_the_process_has(nvmlDevice_t device) {
  nvmlMemory_t before{}, now{};
  NVML_OK(nvmlDeviceGetMemoryInfo(device, &before));
  CUdeviceptr address = 0;
  OK(cuMemAlloc_v2(&address, size_t{64} << 20));
  std::thread([&] { NVML_OK(nvmlDeviceGetMemoryInfo(device, &now)); }).join(); // no context is current there
  EQUAL(before.used + (64ULL << 20), now.used);
  size_t free = 0, total = 0;
  OK(cuMemGetInfo_v2(&free, &total));
  EQUAL(total, now.total);
  EQUAL(free, now.free);
  nvmlMemory_v2_t second{};
  NVML_FAILS(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, nvmlDeviceGetMemoryInfo_v2(device, &second));
  second.version = 0x02000028;
  NVML_OK(nvmlDeviceGetMemoryInfo_v2(device, &second));
  EQUAL(now.used, second.used);
  OK(cuMemFree_v2(address));
}

void it_is_busy_while_a_stream_has_work(nvmlDevice_t device) {
  const auto percent = [&] {
    nvmlUtilization_t utilization{7, 7};
    NVML_OK(nvmlDeviceGetUtilizationRates(device, &utilization));
    return utilization.gpu;
  };
  EQUAL(0U, percent());
  CUstream created = nullptr;
  OK(cuStreamCreate(&created, CU_STREAM_NON_BLOCKING));
  for (CUstream stream : {CUstream{nullptr}, CU_STREAM_PER_THREAD, created}) {
    std::atomic<bool> may_end{false};
    OK(cuLaunchHostFunc(
        stream, [](void* end) { static_cast<std::atomic<bool>*>(end)->wait(false); }, &may_end));
    EQUAL(100U, percent());
    may_end = true;
    may_end.notify_all();
    OK(cuStreamSynchronize(stream));
    EQUAL(0U, percent());
  }
  OK(cuStreamBeginCapture_v2(created, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EQUAL(0U, percent());
  CUgraph graph = nullptr;
  OK(cuStreamEndCapture(created, &graph));
  OK(cuGraphDestroy(graph));
  OK(cuStreamDestroy_v2(created));
}

} // namespace

int main() {
  every_row_is_exported();
  nothing_before_init();
  NVML_OK(nvmlInit_v2());
  NVML_OK(nvmlInit());
  unsigned count = 0;
  NVML_OK(nvmlDeviceGetCount_v2(&count));
  EQUAL(1U, count);
  nvmlDevice_t device = nullptr;
  NVML_OK(nvmlDeviceGetHandleByIndex_v2(0, &device));
  const Identity before = identity(device);
  a_child_begins_anew();
  begin();
  const Identity now = identity(device);
  CHECK(std::memcmp(&before, &now, sizeof now) == 0);
  it_is_the_drivers_device(device);
  its_kind(device);
  memory_is_what_the_process_has(device);
  it_is_busy_while_a_stream_has_work(device);
  NVML_OK(nvmlShutdown());
  NVML_OK(nvmlDeviceGetCount(&count));
  NVML_OK(nvmlShutdown());
  NVML_FAILS(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetCount(&count));
  return result();
}
