// Loads the driver.
#include "cublas/driver.h"

#include "driver/beside.h"

#include <cstdio>

namespace lemma::cublas {
namespace {

const Driver* load() {
  void* library = driver::open_beside(reinterpret_cast<void*>(&load));
  if (!library) {
    std::fprintf(stderr, "lemma: there is no libcuda.so.1 beside libcublas.so.13\n");
    return nullptr;
  }
  auto* found = new Driver; // never destroyed: programs call from atexit handlers
  driver::Functions functions(library);
#define FUNCTION(symbol) functions.find(found->symbol, #symbol);
  LEMMA_CUBLAS_CALLED(FUNCTION)
#undef FUNCTION
  return functions.are_complete() && found->cuInit(0) == CUDA_SUCCESS ? found : nullptr;
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
