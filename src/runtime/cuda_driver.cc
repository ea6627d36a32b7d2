// Every function of LEMMA_CUDA_FUNCTIONS (the header) is looked up by name once, when the first device is
// opened; one that is missing means a driver older than CUDA 12.0. The result, error or driver, is the
// process's for good.
#include "runtime/cuda_driver.h"

#include "runtime/device_impl.h"

#include <dlfcn.h>
#include <filesystem>
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
  if (dlsym(library, "cuLemmaVersion"))
    return failure(
        ErrorKind::unavailable,
        "no CUDA driver: the libcuda.so.1 found first is Lemma's own, which has no GPU (take its folder "
        "out of LD_LIBRARY_PATH, or use the device cpu)");
  auto driver = std::make_shared<Driver>();
#define X(name, symbol, parameters)                                                                          \
  driver->name = reinterpret_cast<Status(*) parameters>(dlsym(library, #symbol));                            \
  if (!driver->name)                                                                                         \
    return failure(ErrorKind::unavailable,                                                                   \
                   "the CUDA driver is too old: it has no " #symbol " (CUDA 12.0 has)");
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
  const std::string cuda = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  Dl_info info = {};
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(driver_get_version), &info) == 0 || !info.dli_fname)
    return cuda;
  const std::string release = release_of(std::filesystem::canonical(info.dli_fname, error).string());
  return release.empty() ? cuda : fmt::format("{} ({})", cuda, release);
}

std::string release_of(std::string_view file) {
  constexpr std::string_view prefix = "libcuda.so.";
  file.remove_prefix(file.rfind('/') + 1); // npos + 1 is 0
  if (file.substr(0, prefix.size()) != prefix)
    return "";
  file.remove_prefix(prefix.size());
  const bool is_release = file.find('.') != file.npos && file.find_first_not_of("0123456789.") == file.npos;
  return is_release ? std::string(file) : "";
}

} // namespace lemma::runtime::cuda
