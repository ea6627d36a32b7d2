// The registry. A library that registered goes (dlclose, exit) with __cudaUnregisterFatBinary: its addresses
// are forgotten, while what the driver has loaded stays, since a kernel may still run.
#include "cudart/registration.h"

#include "cudart/api.h"
#include "cudart/call.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace lemma::cudart {
namespace {

struct Managed {
  std::string name;
  void** pointer; // the program's
  size_t bytes;
  std::vector<std::byte> kept; // over a reset of the device
};

// A fatbin wrapper of nvcc's.
class Image {
public:
  explicit Image(const void* wrapper) : wrapper_(wrapper) {}

  // Addresses that it has registered, under the registry's mutex. PyTorch has so many images and kernels that
  // not all kernels can be looked at when an image goes.
  std::vector<const void*> functions, variables;

  cudaError_t load(const Driver& driver, CUlibrary& library) {
    const std::scoped_lock lock(mutex_);
    if (!loaded_) {
      error_ =
          error_of(driver.cuLibraryLoadData(&library_, wrapper_, nullptr, nullptr, 0, nullptr, nullptr, 0));
      loaded_ = true;
    }
    library = library_;
    return error_;
  }
  void add(Managed variable) {
    const std::scoped_lock lock(mutex_);
    managed_.push_back(std::move(variable));
  }
  // Gives the program the addresses of its managed variables.
  cudaError_t place_managed(const Driver& driver) {
    if (managed_.empty())
      return cudaSuccess;
    CUlibrary library = nullptr;
    if (const cudaError_t error = load(driver, library); error != cudaSuccess)
      return error;
    const std::scoped_lock lock(mutex_);
    placed_ = true;
    for (Managed& each : managed_) {
      CUdeviceptr address = 0;
      if (const CUresult status = driver.cuLibraryGetManaged(&address, nullptr, library, each.name.c_str());
          status != CUDA_SUCCESS)
        return error_of(status);
      *each.pointer = reinterpret_cast<void*>(address);
      std::copy(each.kept.begin(), each.kept.end(), static_cast<std::byte*>(*each.pointer));
      each.kept.clear();
    }
    return cudaSuccess;
  }
  void keep_managed() {
    const std::scoped_lock lock(mutex_);
    for (Managed& each : managed_) {
      const auto* from = static_cast<const std::byte*>(*each.pointer);
      each.kept.assign(from, from + each.bytes);
    }
  }
  bool is_placed() const { return placed_; }
  // The name of the managed variable whose address that is, or nothing.
  std::string managed_at(const void* address) {
    const std::scoped_lock lock(mutex_);
    for (const Managed& each : managed_)
      if (placed_ && *each.pointer == address)
        return each.name;
    return "";
  }

private:
  const void* const wrapper_;
  std::mutex mutex_;
  bool loaded_ = false;
  std::atomic<bool> placed_{false};
  CUlibrary library_ = nullptr;
  cudaError_t error_ = cudaSuccess;
  std::vector<Managed> managed_;
};

struct Function {
  std::shared_ptr<Image> image;
  std::string name;
  const void* address;
  CUkernel kernel = nullptr;
};

struct Variable {
  std::shared_ptr<Image> image;
  std::string name;
  bool is_managed;
};

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<void**, std::shared_ptr<Image>> images; // by the handle that the program has
  std::unordered_map<const void*, std::shared_ptr<Function>> functions;
  std::unordered_map<const void*, Variable> variables;
  std::unordered_map<const void*, void*> host_functions;                 // by kernel
  std::unordered_map<const void*, std::shared_ptr<Function>> unloadable; // by what __cudaGetKernel gave
};
// Programs register before this library's own statics would be there.
Registry& registry() {
  static Registry* all = new Registry;
  return *all;
}

std::shared_ptr<Function> find_function(const void* address) {
  const std::shared_lock lock(registry().mutex);
  const auto found = registry().functions.find(address);
  return found == registry().functions.end() ? nullptr : found->second;
}

// What a managed variable's symbol is in a .cu file is its address on the device.
std::optional<Variable> find_registered(const void* symbol) {
  const std::shared_lock lock(registry().mutex);
  if (const auto found = registry().variables.find(symbol); found != registry().variables.end())
    return found->second;
  if (symbol)
    for (const auto& [handle, image] : registry().images)
      if (std::string name = image->managed_at(symbol); !name.empty())
        return Variable{image, std::move(name), true};
  return std::nullopt;
}

cudaError_t kernel_of(const Driver& driver, Function& function, CUkernel& kernel) {
  {
    const std::shared_lock lock(registry().mutex);
    kernel = function.kernel;
  }
  if (kernel)
    return cudaSuccess;
  CUlibrary library = nullptr;
  if (const cudaError_t error = function.image->load(driver, library); error != cudaSuccess)
    return error;
  if (const CUresult status = driver.cuLibraryGetKernel(&kernel, library, function.name.c_str());
      status != CUDA_SUCCESS)
    return error_of(status);
  const std::scoped_lock lock(registry().mutex);
  function.kernel = kernel;
  registry().host_functions[kernel] = const_cast<void*>(function.address);
  return cudaSuccess;
}

// Whose managed variables the program has used.
std::vector<std::shared_ptr<Image>> images_with_managed() {
  std::vector<std::shared_ptr<Image>> placed;
  const std::shared_lock lock(registry().mutex);
  for (const auto& [handle, image] : registry().images)
    if (image->is_placed())
      placed.push_back(image);
  return placed;
}

std::shared_ptr<Image> image_of(void** handle) {
  const std::shared_lock lock(registry().mutex);
  const auto found = registry().images.find(handle);
  return found == registry().images.end() ? nullptr : found->second;
}

void forget_functions(const std::shared_ptr<Image>& image) {
  for (const void* address : image->functions) {
    const auto found = registry().functions.find(address);
    if (found == registry().functions.end() || found->second->image != image)
      continue;
    registry().host_functions.erase(found->second->kernel);
    registry().unloadable.erase(found->second.get());
    registry().functions.erase(found);
  }
}

void forget_variables(const std::shared_ptr<Image>& image) {
  for (const void* address : image->variables)
    if (const auto found = registry().variables.find(address);
        found != registry().variables.end() && found->second.image == image)
      registry().variables.erase(found);
}

} // namespace

cudaError_t find_kernel(const Driver& driver, const void* address, CUfunction& function) {
  if (!address)
    return cudaErrorInvalidDeviceFunction;
  const std::shared_ptr<Function> registered = find_function(address);
  if (!registered) {
    function = static_cast<CUfunction>(const_cast<void*>(address));
    return cudaSuccess;
  }
  CUkernel kernel = nullptr;
  const cudaError_t error = kernel_of(driver, *registered, kernel);
  function = reinterpret_cast<CUfunction>(kernel);
  return error;
}

void* host_function_of(void* kernel) {
  const std::shared_lock lock(registry().mutex);
  const auto found = registry().host_functions.find(kernel);
  return found == registry().host_functions.end() ? kernel : found->second;
}

const char* name_of_function(const void* address) {
  const std::shared_ptr<Function> function = find_function(address);
  return function ? function->name.c_str() : nullptr; // registered for as long as its code is there
}

cudaError_t why_not_loaded(const void* handle) {
  std::shared_ptr<Function> function;
  {
    const std::shared_lock lock(registry().mutex);
    if (const auto found = registry().unloadable.find(handle); found != registry().unloadable.end())
      function = found->second;
  }
  cudaError_t error = cudaSuccess;
  const Driver* driver = function ? start(error) : nullptr;
  CUkernel kernel = nullptr;
  return driver ? kernel_of(*driver, *function, kernel) : error;
}

cudaError_t find_variable(const Driver& driver, const void* symbol, CUdeviceptr& address, size_t& bytes) {
  const std::optional<Variable> found = find_registered(symbol);
  if (!found)
    return cudaErrorInvalidSymbol;
  const Variable& variable = *found;
  CUlibrary library = nullptr;
  if (const cudaError_t error = variable.image->load(driver, library); error != cudaSuccess)
    return error;
  const auto get = variable.is_managed ? driver.cuLibraryGetManaged : driver.cuLibraryGetGlobal;
  const CUresult status = get(&address, &bytes, library, variable.name.c_str());
  return status == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : error_of(status);
}

void keep_managed_variables() {
  for (const std::shared_ptr<Image>& image : images_with_managed())
    image->keep_managed();
}

void restore_managed_variables(const Driver& driver) {
  for (const std::shared_ptr<Image>& image : images_with_managed())
    image->place_managed(driver);
}

} // namespace lemma::cudart

using namespace lemma::cudart;

void** __cudaRegisterFatBinary(void* wrapper) {
  auto image = std::make_shared<Image>(wrapper);
  void** handle = new void*(wrapper); // of a type that programs may look at: never freed
  const std::scoped_lock lock(registry().mutex);
  registry().images[handle] = std::move(image);
  return handle;
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  const std::shared_ptr<Image> image = image_of(handle);
  if (!image)
    return;
  const std::scoped_lock lock(registry().mutex);
  forget_functions(image);
  forget_variables(image);
  registry().images.erase(handle);
}

void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  const std::shared_ptr<Image> image = image_of(handle);
  if (!image)
    return;
  auto function = std::make_shared<Function>(Function{image, name, host});
  const std::scoped_lock lock(registry().mutex);
  if (registry().functions.emplace(host, std::move(function)).second)
    image->functions.push_back(host);
}

void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t, int, int) {
  const std::shared_ptr<Image> image = image_of(handle);
  if (!image)
    return;
  const std::scoped_lock lock(registry().mutex);
  if (registry().variables.emplace(host, Variable{image, name, false}).second)
    image->variables.push_back(host);
}

void __cudaRegisterManagedVar(void** handle, void** pointer, char*, const char* name, int, size_t bytes, int,
                              int) {
  const std::shared_ptr<Image> image = image_of(handle);
  if (!image)
    return;
  image->add({name, pointer, bytes, {}});
  const std::scoped_lock lock(registry().mutex);
  if (registry().variables.emplace(pointer, Variable{image, name, true}).second)
    image->variables.push_back(pointer);
}

// Called before the first use of a managed variable, until it says 1.
char __cudaInitModule(void** handle) {
  const std::shared_ptr<Image> image = image_of(handle);
  if (!image)
    return 0;
  return in_context([&](const Driver& driver) { return image->place_managed(driver); }) == cudaSuccess;
}

// Called once for each place of a launch: the handle is kept by the program, so that one that cannot be
// loaded has one, too, by which the launch says why.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  return started([&](const Driver& driver) -> cudaError_t {
    if (!kernel)
      return cudaErrorInvalidValue;
    const std::shared_ptr<Function> function = find_function(host);
    if (!function)
      return cudaErrorInvalidDeviceFunction;
    const cudaError_t error = kernel_of(driver, *function, *kernel);
    if (error != cudaSuccess) {
      *kernel = reinterpret_cast<cudaKernel_t>(function.get());
      const std::scoped_lock lock(registry().mutex);
      registry().unloadable[function.get()] = function;
    }
    return error;
  });
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  return started([&](const Driver& driver) -> cudaError_t {
    if (!kernel)
      return cudaErrorInvalidValue;
    const std::shared_ptr<Function> function = find_function(host);
    return function ? kernel_of(driver, *function, *kernel) : cudaErrorInvalidDeviceFunction;
  });
}
