// Libraries that a program loads itself, and their kernels: the driver's, under the runtime's names.
#include "cudart/api.h"
#include "cudart/call.h"

using namespace lemma::cudart;

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* image, cudaJitOption* options,
                                void** values, unsigned count, cudaLibraryOption* library_options,
                                void** library_values, unsigned library_count) {
  return pass(&Driver::cuLibraryLoadData, library, image, options, values, count, library_options,
              library_values, library_count);
}
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* file, cudaJitOption* options,
                                    void** values, unsigned count, cudaLibraryOption* library_options,
                                    void** library_values, unsigned library_count) {
  return pass(&Driver::cuLibraryLoadFromFile, library, file, options, values, count, library_options,
              library_values, library_count);
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return pass(&Driver::cuLibraryUnload, library);
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return pass(&Driver::cuLibraryGetKernel, kernel, library, name);
}
cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  return pass(&Driver::cuLibraryGetKernelCount, count, library);
}
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count, cudaLibrary_t library) {
  return pass(&Driver::cuLibraryEnumerateKernels, kernels, count, library);
}
cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
  return pass(&Driver::cuLibraryGetGlobal, address, bytes, library, name);
}
cudaError_t cudaLibraryGetManaged(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
  return pass(&Driver::cuLibraryGetManaged, address, bytes, library, name);
}
