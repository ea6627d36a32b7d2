// Libraries: an image that every context loads for itself when it first needs it. And the linker, which joins
// PTX texts.
#include "driver/api.h"
#include "driver/call.h"
#include "driver/error.h"
#include "driver/module.h"
#include "lemma/link.h"

#include <algorithm>

namespace lemma::driver {

void Library::add_kernels(const lemma::Module& loaded) {
  const std::scoped_lock lock(mutex_);
  if (!kernels_.empty())
    return;
  for (const Kernel& kernel : loaded.kernels())
    kernels_.push_back(std::make_shared<LibraryKernel>(*this, kernel.name()));
}

CUresult Library::module_in(Context& context, std::shared_ptr<Module>& module) {
  const std::scoped_lock lock(mutex_);
  module = modules_[&context].lock();
  if (module && state().modules.find(module.get()))
    return CUDA_SUCCESS;
  const CUresult status = load_module(context, text_, name_, {}, module);
  if (status == CUDA_SUCCESS) {
    module->of_library = true;
    modules_[&context] = module;
  }
  return status;
}

void Library::unload() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [context, loaded] : modules_)
    if (const std::shared_ptr<Module> module = loaded.lock())
      module->forget();
  modules_.clear();
}

namespace {

std::atomic<uint64_t> libraries_named{0};

CUresult load_library(CUlibrary* handle, std::string text, const std::string& name, const JitOptions& jit) {
  // Whether it is a library is found out without a context.
  Result<lemma::Module, Error> loaded = state().device.load_ptx(text, {.name = name});
  if (!loaded) {
    jit.report(loaded.error());
    return status_of(loaded.error());
  }
  jit.report_nothing();
  auto library = std::make_shared<Library>(std::move(text), name);
  library->add_kernels(*loaded);
  for (const std::shared_ptr<LibraryKernel>& kernel : library->kernels())
    state().kernels.add(kernel);
  *handle = state().libraries.add(std::move(library))->handle();
  return CUDA_SUCCESS;
}

template <class Body>
CUresult in_library(CUlibrary handle, Body&& body) {
  return initialized([&]() -> CUresult {
    const std::shared_ptr<Library> library = state().libraries.find(handle);
    return library ? body(*library) : CUDA_ERROR_INVALID_HANDLE;
  });
}

// With the module of the current context.
template <class Body>
CUresult in_library_module(CUlibrary handle, Body&& body) {
  return in_context([&](Context& context) -> CUresult {
    const std::shared_ptr<Library> library = state().libraries.find(handle);
    if (!library)
      return CUDA_ERROR_INVALID_HANDLE;
    std::shared_ptr<Module> module;
    const CUresult status = library->module_in(context, module);
    return status == CUDA_SUCCESS ? body(*module) : status;
  });
}

template <class Body>
CUresult of_kernel(CUkernel handle, Body&& body) {
  return initialized([&]() -> CUresult {
    const std::shared_ptr<LibraryKernel> kernel = state().kernels.find(handle);
    return kernel ? body(*kernel) : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult get_variable(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name,
                      bool managed) {
  return in_library_module(library, [&](Module& module) -> CUresult {
    if (!name || (!address && !bytes))
      return CUDA_ERROR_INVALID_VALUE;
    const lemma::Variable* variable = module.variable(name);
    if (!variable || (managed && !variable->is_managed))
      return CUDA_ERROR_NOT_FOUND;
    if (address)
      *address = variable->address;
    if (bytes)
      *bytes = variable->size_bytes;
    return CUDA_SUCCESS;
  });
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;
using lemma::Error;
using lemma::ErrorKind;
using lemma::link_ptx;
using lemma::LinkedPtx;
using lemma::PtxText;
using lemma::Result;

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* options, void** values,
                           unsigned count, CUlibraryOption*, void**, unsigned) {
  return initialized([&]() -> CUresult {
    if (!library || !image)
      return CUDA_ERROR_INVALID_VALUE;
    JitOptions jit;
    if (const CUresult wrong = JitOptions::from(count, options, values, jit); wrong != CUDA_SUCCESS)
      return wrong;
    std::string text;
    if (const CUresult wrong = text_of_image(image, jit, text); wrong != CUDA_SUCCESS)
      return wrong;
    return load_library(library, std::move(text), "<library " + std::to_string(++libraries_named) + ">", jit);
  });
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* file, CUjit_option* options, void** values,
                               unsigned count, CUlibraryOption*, void**, unsigned) {
  return initialized([&]() -> CUresult {
    if (!library || !file)
      return CUDA_ERROR_INVALID_VALUE;
    JitOptions jit;
    if (const CUresult wrong = JitOptions::from(count, options, values, jit); wrong != CUDA_SUCCESS)
      return wrong;
    std::string image, text;
    if (const CUresult wrong = read_file(file, image); wrong != CUDA_SUCCESS)
      return wrong;
    if (const CUresult wrong = text_of_image(std::as_bytes(std::span(image)), jit, text);
        wrong != CUDA_SUCCESS)
      return wrong;
    return load_library(library, std::move(text), file, jit);
  });
}

CUresult cuLibraryUnload(CUlibrary handle) {
  return initialized([&]() -> CUresult {
    const std::shared_ptr<Library> library = state().libraries.take(handle);
    if (!library)
      return CUDA_ERROR_INVALID_HANDLE;
    state().kernels.take_if([&](const LibraryKernel& kernel) { return kernel.library == library.get(); });
    library->unload();
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) {
  return in_library(handle, [&](Library& library) -> CUresult {
    if (!kernel || !name || !*name)
      return CUDA_ERROR_INVALID_VALUE;
    for (const std::shared_ptr<LibraryKernel>& each : library.kernels())
      if (each->name == name) {
        *kernel = each->handle();
        return CUDA_SUCCESS;
      }
    return CUDA_ERROR_NOT_FOUND;
  });
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary handle) {
  return in_library(handle, [&](Library& library) -> CUresult {
    if (!count)
      return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(library.kernels().size());
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary handle) {
  return in_library(handle, [&](Library& library) -> CUresult {
    if (!kernels)
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < std::min<size_t>(count, library.kernels().size()); ++i)
      kernels[i] = library.kernels()[i]->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary handle) {
  return in_library_module(handle, [&](Module& loaded) -> CUresult {
    if (!module)
      return CUDA_ERROR_INVALID_VALUE;
    *module = loaded.handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return get_variable(address, bytes, library, name, false);
}

CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return get_variable(address, bytes, library, name, true);
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel handle) {
  return in_context([&](Context& context) -> CUresult {
    if (!function)
      return CUDA_ERROR_INVALID_VALUE;
    if (!state().kernels.find(handle))
      return CUDA_ERROR_INVALID_HANDLE;
    std::shared_ptr<Function> found;
    const CUresult status = find_function(context, reinterpret_cast<CUfunction>(handle), found);
    if (status == CUDA_SUCCESS)
      *function = found->handle();
    return status;
  });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel handle) {
  return of_kernel(handle, [&](LibraryKernel& kernel) -> CUresult {
    if (!library)
      return CUDA_ERROR_INVALID_VALUE;
    *library = kernel.library->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetName(const char** name, CUkernel handle) {
  return of_kernel(handle, [&](LibraryKernel& kernel) -> CUresult {
    if (!name)
      return CUDA_ERROR_INVALID_VALUE;
    *name = kernel.name.c_str();
    return CUDA_SUCCESS;
  });
}

// --- the linker: of PTX texts; cuLinkComplete gives one back, which cuModuleLoadData takes

CUresult cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values, CUlinkState* linker) {
  return in_context([&](Context& context) -> CUresult {
    JitOptions jit;
    if (!linker)
      return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult wrong = JitOptions::from(count, options, values, jit); wrong != CUDA_SUCCESS)
      return wrong;
    auto made = std::make_shared<Linker>();
    made->context = &context;
    made->jit = jit;
    *linker = reinterpret_cast<CUlinkState>(state().linkers.add(std::move(made)));
    return CUDA_SUCCESS;
  });
}

CUresult cuLinkCreate(unsigned count, CUjit_option* options, void** values, CUlinkState* linker) {
  return cuLinkCreate_v2(count, options, values, linker);
}

CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void* data, size_t bytes, const char* name,
                          unsigned count, CUjit_option* options, void** values) {
  return in_context([&](Context&) -> CUresult {
    const std::shared_ptr<Linker> linker = state().linkers.find(handle);
    if (!linker)
      return CUDA_ERROR_INVALID_HANDLE;
    JitOptions jit;
    if (!data || bytes == 0 || type >= CU_JIT_NUM_INPUT_TYPES || linker->is_complete)
      return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult wrong = JitOptions::from(count, options, values, jit); wrong != CUDA_SUCCESS)
      return wrong;
    if (type == CU_JIT_INPUT_NVVM)
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    return parts_of_image({static_cast<const std::byte*>(data), bytes}, linker->jit,
                          name ? name : "<input " + std::to_string(linker->inputs.size() + 1) + ">",
                          linker->inputs);
  });
}

CUresult cuLinkAddData(CUlinkState linker, CUjitInputType type, void* data, size_t bytes, const char* name,
                       unsigned count, CUjit_option* options, void** values) {
  return cuLinkAddData_v2(linker, type, data, bytes, name, count, options, values);
}

CUresult cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char* file, unsigned count,
                          CUjit_option* options, void** values) {
  if (!file)
    return CUDA_ERROR_INVALID_VALUE;
  std::string image;
  if (const CUresult wrong = read_file(file, image); wrong != CUDA_SUCCESS)
    return wrong;
  return cuLinkAddData_v2(handle, type, image.data(), image.size(), file, count, options, values);
}

CUresult cuLinkAddFile(CUlinkState linker, CUjitInputType type, const char* file, unsigned count,
                       CUjit_option* options, void** values) {
  return cuLinkAddFile_v2(linker, type, file, count, options, values);
}

CUresult cuLinkComplete(CUlinkState handle, void** image, size_t* bytes) {
  return in_context([&](Context&) -> CUresult {
    const std::shared_ptr<Linker> linker = state().linkers.find(handle);
    if (!linker || linker->is_complete)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!image)
      return CUDA_ERROR_INVALID_VALUE;
    linker->is_complete = true;
    Result<LinkedPtx, Error> linked = link_ptx(linker->inputs);
    if (!linked) {
      linker->jit.report(linked.error());
      return linked.error().kind == ErrorKind::rejected ? CUDA_ERROR_INVALID_SOURCE
                                                        : status_of(linked.error());
    }
    linker->jit.report_nothing();
    linker->linked = std::move(linked->text);
    *image = linker->linked.data();
    if (bytes)
      *bytes = linker->linked.size() + 1; // with the NUL
    return CUDA_SUCCESS;
  });
}

CUresult cuLinkDestroy(CUlinkState handle) {
  return in_context([&](Context&) -> CUresult {
    return state().linkers.take(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}
