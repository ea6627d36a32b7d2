// Faults of kernels, each in a process of its own: the error is told by the next call that waits, and by all others
// from then on.
// unchecked: with --check such a fault fails the run
#include "check.h"

#include <cstdlib>
#include <string>

__global__ void trap() {
  if (threadIdx.x == 7)
    __trap();
}
__global__ void write_to(int* address) {
  *address = 1;
}

void expect_after(cudaError_t wanted) {
  fails(wanted, cudaDeviceSynchronize());
  void* memory = nullptr;
  fails(wanted, cudaMalloc(&memory, 16));
  fails(wanted, cudaGetLastError());
  fails(wanted, cudaDeviceSynchronize());
}

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "";
  if (kind == "trap") {
    trap<<<1, 32>>>();
    expect_after(cudaErrorLaunchFailure);
  } else if (kind == "nowhere") {
    write_to<<<1, 1>>>(nullptr);
    expect_after(cudaErrorIllegalAddress);
  } else if (kind == "misaligned") {
    char* memory = nullptr;
    ok(cudaMalloc(&memory, 64));
    write_to<<<1, 1>>>(reinterpret_cast<int*>(memory + 1));
    expect_after(cudaErrorMisalignedAddress);
  } else {
    for (const char* each : {"trap", "nowhere", "misaligned"})
      equal(0, std::system((std::string(argv[0]) + " " + each).c_str()));
  }
  return failures ? 1 : 0;
}
