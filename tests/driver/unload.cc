// Found by dlopen, as bindings do it, and closed: what it was asked for goes on.
#include "check.h"

#include <dlfcn.h>

namespace {

template <class F>
F* symbol(void* library, const char* name) {
  F* found = reinterpret_cast<F*>(dlsym(library, name));
  CHECK(found != nullptr);
  return found;
}

// Of this program, which has no driver yet.
bool on_gpu_alone() {
  return access(DRIVER, F_OK) != 0;
}

} // namespace

int main() {
  for (int round = 0; round < 3; ++round) {
    void* library = dlopen(on_gpu_alone() ? "libcuda.so.1" : DRIVER, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != nullptr);
    if (!library)
      break;
    EQUAL(CUDA_SUCCESS, symbol<decltype(cuInit)>(library, "cuInit")(0));
    int count = 0;
    EQUAL(CUDA_SUCCESS, symbol<decltype(cuDeviceGetCount)>(library, "cuDeviceGetCount")(&count));
    EQUAL(1, count);
    CUcontext context = nullptr;
    EQUAL(CUDA_SUCCESS,
          symbol<decltype(cuDevicePrimaryCtxRetain)>(library, "cuDevicePrimaryCtxRetain")(&context, 0));
    if (!on_gpu_alone())
      CHECK(symbol<decltype(cuLemmaVersion)>(library, "cuLemmaVersion")()[0] != '\0');
    EQUAL(0, dlclose(library));
  }
  return result();
}
