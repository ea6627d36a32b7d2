// The library: its beginning and end, its versions, the texts of its errors.
#include "nvml/api.h"
#include "nvml/call.h"

#include <atomic>
#include <string>

using namespace lemma::nvml;

namespace {

// The driver of CUDA 13.0 (its release notes).
constexpr std::string_view kDriverRelease = "580.65.06";
constexpr unsigned kKnownFlags =
    7; // NVML_INIT_FLAG_NO_GPUS, _NO_ATTACH, _FORCE_INIT: they change nothing here

std::atomic<unsigned> users{0};

} // namespace

bool lemma::nvml::is_initialized() {
  return users.load(std::memory_order_acquire) > 0;
}

nvmlReturn_t nvmlInitWithFlags(unsigned flags) {
  if (flags & ~kKnownFlags)
    return NVML_ERROR_INVALID_ARGUMENT;
  const Driver* loaded = driver();
  if (!loaded)
    return NVML_ERROR_DRIVER_NOT_LOADED;
  const nvmlReturn_t error = asking(*loaded, [](const Driver&) { return NVML_SUCCESS; });
  if (error == NVML_SUCCESS)
    ++users;
  return error;
}

nvmlReturn_t nvmlShutdown() {
  for (unsigned now = users; now > 0;)
    if (users.compare_exchange_weak(now, now - 1))
      return NVML_SUCCESS;
  return NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return initialized([&](const Driver&) { return give(version, length, kDriverRelease); });
}

// That of CUDA, and the driver's.
nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  int cuda = 0;
  if (const nvmlReturn_t error = nvmlSystemGetCudaDriverVersion(&cuda); error != NVML_SUCCESS)
    return error;
  return give(version, length, std::to_string(cuda / 1000) + "." + std::string(kDriverRelease));
}

// These two can be asked before nvmlInit.
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  const Driver* loaded = driver();
  return loaded ? error_of(loaded->cuDriverGetVersion(version)) : NVML_ERROR_DRIVER_NOT_LOADED;
}

const char* nvmlErrorString(nvmlReturn_t error) {
  switch (error) {
#define ERROR(name, number, text)                                                                            \
  case NVML_##name:                                                                                          \
    return text;
#include "nvml/errors.def"
#undef ERROR
  }
  return "Unknown Error";
}
