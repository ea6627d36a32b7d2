#include "runtime/cuda_driver.h"

#include "runtime/device_impl.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace lemma::runtime::cuda {
namespace {

Result<std::shared_ptr<const Driver>, Error> load_driver() {
  // Never closed: the driver keeps threads and exit handlers of its own.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    return failure(ErrorKind::unavailable,
                   fmt::format("no CUDA driver: {}", why ? why : "libcuda.so.1 not found"));
  }
  auto driver = std::make_shared<Driver>();
#define X(name, symbol, parameters)                                                                          \
  driver->name = reinterpret_cast<Status(*) parameters>(dlsym(library, #symbol));                            \
  if (!driver->name)                                                                                         \
    return failure(ErrorKind::unavailable,                                                                   \
                   "the CUDA driver is too old: it has no " #symbol " (CUDA 11.8 has)");
  LEMMA_CUDA_FUNCTIONS(X)
#undef X
  if (const Status status = driver->init(0); status != kSuccess)
    return failure(ErrorKind::unavailable,
                   fmt::format("the CUDA driver does not start: {}", driver->describe(status)));
  return std::shared_ptr<const Driver>(std::move(driver));
}

} // namespace

Result<std::shared_ptr<const Driver>, Error> Driver::open() {
  static const Result<std::shared_ptr<const Driver>, Error> driver = load_driver();
  return driver;
}

std::string Driver::describe(Status status) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (get_error_name(status, &name) != kSuccess || !name)
    return fmt::format("CUDA error {}", status);
  if (get_error_string(status, &text) != kSuccess || !text)
    return name;
  return fmt::format("{}: {}", name, text);
}

std::string Driver::version() const {
  int version = 0;
  if (driver_get_version(&version) != kSuccess)
    return "";
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

} // namespace lemma::runtime::cuda
