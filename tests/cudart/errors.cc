// Names and texts of errors; each thread's last one; a fault, which every later call gives until the device
// is reset.
#include "check.h"

#include <thread>

namespace {

void last_error() {
  FAILS(cudaErrorInvalidValue, cudaMalloc(nullptr, 4));
  std::thread([] { OK(cudaPeekAtLastError()); }).join();
  FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(&failures, &failures, 4, static_cast<cudaMemcpyKind>(7)));
  OK(cudaDeviceSynchronize()); // success takes nothing back
  FAILS(cudaErrorInvalidMemcpyDirection, cudaPeekAtLastError());
  FAILS(cudaErrorInvalidMemcpyDirection, cudaGetLastError());
  OK(cudaGetLastError());
  OK(cudaPeekAtLastError());
}

void fails_with(cudaError_t wanted, const Kernel& kernel, const char* in_report) {
  int* x = allocate(32);
  OK(cudaMemset(x, 1, 128));
  OK(cudaDeviceSynchronize());
  cudaError_t first = cudaSuccess;
  const std::string report = stderr_of([&] {
    (void)launch(kernel, 1, 32, 0, nullptr, x);
    first = cudaDeviceSynchronize();
  });
  EQUAL(wanted, first);
  CHECK(report.find(in_report) != report.npos);
  void* other = nullptr;
  const std::string silence = stderr_of([&] {
    FAILS(wanted, cudaGetLastError());
    FAILS(wanted, cudaMalloc(&other, 4));
    FAILS(wanted, launch(indices, 1, 32, 0, nullptr, x));
    FAILS(wanted, cudaFree(x));
    FAILS(wanted, cudaDeviceSynchronize());
    FAILS(wanted, cudaGetLastError());
  });
  EQUAL(std::string(), silence);
  FAILS(wanted, cudaFree(x));
  OK(cudaDeviceReset());
  FAILS(wanted, cudaGetLastError()); // it is the thread's
  x = allocate(32);
  OK(launch(indices, 1, 32, 0, nullptr, x));
  EQUAL(31, read_ints(x, 32)[31]);
}

} // namespace

int main() {
  setenv("LEMMA_RESET_CURES", "1", 1); // several faults in one process
  EQUAL(std::string("cudaErrorInvalidValue"), cudaGetErrorName(cudaErrorInvalidValue));
  EQUAL(std::string("cudaErrorInvalidConfiguration"), cudaGetErrorName(cudaErrorInvalidConfiguration));
  EQUAL(std::string("invalid configuration argument"), cudaGetErrorString(cudaErrorInvalidConfiguration));
  EQUAL(std::string("no error"), cudaGetErrorString(cudaSuccess));
  EQUAL(std::string("unrecognized error code"), cudaGetErrorString(static_cast<cudaError_t>(4711)));
  EQUAL(std::string("unrecognized error code"), cudaGetErrorName(static_cast<cudaError_t>(4711)));
  last_error();
  fails_with(cudaErrorIllegalAddress, out_of_bounds, "out of bounds");
  fails_with(cudaErrorAssert, asserts, "kernels.cu");
  fails_with(cudaErrorLaunchFailure, trap, "trap");
  return result();
}
