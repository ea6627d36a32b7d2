// Loading the driver, and the context behind the calls.
//
// The driver is looked for beside this library first, so that the two of a build go together, then where the
// loader looks.
#include "cudart/runtime.h"

#include "cudart/registration.h"
#include "driver/beside.h"
#include "support/verbose.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <mutex>

namespace lemma::cudart {
namespace {

constexpr int kVersion = 13000;

thread_local int per_thread_default = 0;
thread_local cudaError_t error_of_thread = cudaSuccess;

void* open_driver() {
  if (void* beside = driver::open_beside(reinterpret_cast<void*>(&open_driver)))
    return beside;
  return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}

// Loaded once a process. `legacy` takes stream 0 for the legacy stream, `per_thread` for the thread's own.
struct Loaded {
  Driver legacy, per_thread;
  cudaError_t error = cudaSuccess;

  Loaded() {
    void* library = open_driver();
    if (!library) {
      std::fprintf(stderr, "lemma: libcudart.so.13 finds no libcuda.so.1: %s\n", dlerror());
      error = cudaErrorInsufficientDriver;
      return;
    }
    driver::Functions functions(library);
#define IMPLEMENTED(name, version, symbol, parameters)                                                       \
  functions.find(legacy.symbol, #symbol);                                                                    \
  per_thread.symbol = legacy.symbol;
#define REFUSED(name, version, symbol, parameters, error) IMPLEMENTED(name, version, symbol, parameters)
#define PER_THREAD(name, version, variant, symbol, parameters, arguments, base)
#include "driver/entry_points.def"
#undef IMPLEMENTED
#undef REFUSED
#undef PER_THREAD
#define IMPLEMENTED(name, version, symbol, parameters)
#define REFUSED(name, version, symbol, parameters, error)
#define PER_THREAD(name, version, variant, symbol, parameters, arguments, base)                              \
  functions.find(per_thread.base, #symbol);
#include "driver/entry_points.def"
#undef IMPLEMENTED
#undef REFUSED
#undef PER_THREAD
    int version = 0;
    if (!functions.are_complete() || legacy.cuDriverGetVersion(&version) != CUDA_SUCCESS ||
        version < kVersion)
      error = cudaErrorInsufficientDriver;
  }
};

const Loaded& loaded() {
  static const Loaded* once = new Loaded;
  return *once;
}

// The primary context of device 0, the only one.
struct Primary {
  std::mutex mutex;
  std::atomic<bool> retained{false};
  std::atomic<CUcontext> context{nullptr};
};
Primary& primary() {
  static Primary* only = new Primary;
  return *only;
}

cudaError_t retain_primary(const Driver& driver) {
  Primary& all = primary();
  if (all.retained.load(std::memory_order_acquire))
    return cudaSuccess;
  {
    const std::scoped_lock lock(all.mutex);
    if (all.retained)
      return cudaSuccess;
    CUcontext context = nullptr;
    if (const CUresult status = driver.cuDevicePrimaryCtxRetain(&context, 0); status != CUDA_SUCCESS)
      return static_cast<cudaError_t>(status);
    all.context = context;
    all.retained.store(true, std::memory_order_release);
  }
  CUcontext before = nullptr;
  driver.cuCtxGetCurrent(&before);
  driver.cuCtxSetCurrent(all.context);
  restore_managed_variables(driver);
  driver.cuCtxSetCurrent(before);
  return cudaSuccess;
}

} // namespace

const Driver* start(cudaError_t& error) {
  const Loaded& all = loaded();
  error = all.error;
  if (error != cudaSuccess)
    return nullptr;
  static std::atomic<bool> initialized{false};
  if (!initialized.load(std::memory_order_acquire)) {
    error = static_cast<cudaError_t>(all.legacy.cuInit(0));
    if (error != cudaSuccess)
      return nullptr;
    initialized.store(true, std::memory_order_release);
  }
  return per_thread_default > 0 ? &all.per_thread : &all.legacy;
}

cudaError_t ensure_context(const Driver& driver) {
  CUcontext current = nullptr;
  if (const CUresult status = driver.cuCtxGetCurrent(&current); status != CUDA_SUCCESS)
    return static_cast<cudaError_t>(status);
  if (current && current != primary().context)
    return cudaSuccess; // one of the program's own
  if (const cudaError_t error = retain_primary(driver); error != cudaSuccess || current)
    return error;
  return static_cast<cudaError_t>(driver.cuCtxSetCurrent(primary().context));
}

cudaError_t use_primary_context(const Driver& driver) {
  if (const cudaError_t error = retain_primary(driver); error != cudaSuccess)
    return error;
  return static_cast<cudaError_t>(driver.cuCtxSetCurrent(primary().context));
}

cudaError_t reset_primary_context(const Driver& driver) {
  Primary& all = primary();
  const std::scoped_lock lock(all.mutex);
  if (all.retained) {
    keep_managed_variables();
    driver.cuDevicePrimaryCtxRelease_v2(0);
  }
  all.retained = false;
  return static_cast<cudaError_t>(driver.cuDevicePrimaryCtxReset_v2(0));
}

PerThreadDefault::PerThreadDefault() {
  ++per_thread_default;
}
PerThreadDefault::~PerThreadDefault() {
  --per_thread_default;
}

cudaError_t record(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady)
    error_of_thread = error;
  return error;
}
cudaError_t last_error() {
  return error_of_thread;
}
void clear_last_error() {
  error_of_thread = cudaSuccess;
}

cudaError_t refuse(const char* symbol) {
  if (is_verbose())
    std::fprintf(stderr, "lemma: %s is not implemented (docs/cudart.md)\n", symbol);
  return record(cudaErrorNotSupported);
}

} // namespace lemma::cudart
