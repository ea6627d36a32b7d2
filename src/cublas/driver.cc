// Loads the driver.
#include "cublas/driver.h"

#include "driver/beside.h"

#include <cstdio>
#include <type_traits>

namespace lemma::cublas {
namespace {

const Driver* load() {
  void* library = driver::open_beside(reinterpret_cast<void*>(&load));
  if (!library) {
    std::fprintf(stderr, "lemma: there is no libcuda.so.1 beside libcublas.so.13\n");
    return nullptr;
  }
  auto* found = new Driver; // never destroyed: programs call from atexit handlers
  bool is_complete = true;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
    is_complete &= function != nullptr;
  };
#define FUNCTION(symbol) find(found->symbol, #symbol);
  LEMMA_CUBLAS_CALLED(FUNCTION)
#undef FUNCTION
  return is_complete && found->cuInit(0) == CUDA_SUCCESS ? found : nullptr;
}

} // namespace

const Driver* driver() {
  static const Driver* once = load();
  return once;
}

CUresult ensure_context(const Driver& driver) {
  CUcontext context = nullptr;
  if (const CUresult status = driver.cuCtxGetCurrent(&context); status != CUDA_SUCCESS || context)
    return status;
  if (const CUresult status = driver.cuDevicePrimaryCtxRetain(&context, 0); status != CUDA_SUCCESS)
    return status;
  return driver.cuCtxSetCurrent(context);
}

} // namespace lemma::cublas
