// Memory of the host's that kernels use: allocated pinned, or the program's own, registered.
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

int main() {
  begin();
  const CUfunction add = function(load_kernels(), "add");
  int* pinned = nullptr;
  OK(cuMemHostAlloc(reinterpret_cast<void**>(&pinned), 64 * sizeof(int), CU_MEMHOSTALLOC_DEVICEMAP));
  CUdeviceptr address = 0;
  OK(cuMemHostGetDevicePointer_v2(&address, pinned, 0));
  for (int i = 0; i < 64; ++i)
    pinned[i] = i;
  OK(launch(add, 1, 64, nullptr, address, 5, 64));
  OK(cuCtxSynchronize());
  EQUAL(68, pinned[63]);
  unsigned flags = 0;
  OK(cuMemHostGetFlags(&flags, pinned));
  CHECK(flags & CU_MEMHOSTALLOC_DEVICEMAP);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address));
  OK(cuMemFreeHost(pinned));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(pinned));
  OK(cuMemFreeHost(nullptr));
  void* other = nullptr;
  OK(cuMemAllocHost_v2(&other, 100));
  OK(cuMemFreeHost(other));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(&other, 100, 64));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(nullptr, 100, 0));

  std::vector<int> own(64, 1);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer_v2(&address, own.data(), 0));
  OK(cuMemHostRegister_v2(own.data(), 64 * sizeof(int), CU_MEMHOSTREGISTER_DEVICEMAP));
  FAILS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(own.data(), 64 * sizeof(int), 0));
  FAILS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(own.data() + 10, 8, 0));
  OK(cuMemHostGetDevicePointer_v2(&address, own.data(), 0));
  OK(launch(add, 1, 64, nullptr, address, 5, 64));
  OK(cuCtxSynchronize());
  EQUAL(6, own[63]);
  OK(cuMemHostUnregister(own.data()));
  FAILS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(own.data()));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(nullptr, 8, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(own.data(), 0, 0));
  OK(cuMemHostRegister(own.data(), 8, 0));
  OK(cuMemHostUnregister(own.data()));

  // What the process may not write a kernel may not either: an error of its launch, which is the last.
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* constant = mmap(nullptr, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!on_gpu()) {
    OK(cuMemHostRegister_v2(constant, 2 * page, CU_MEMHOSTREGISTER_DEVICEMAP));
    OK(cuMemHostGetDevicePointer_v2(&address, constant, 0));
    const CUdeviceptr copied = allocate_ints(64);
    OK(cuMemcpyDtoD_v2(copied, address, 64 * sizeof(int))); // it can be read
    EQUAL(0, read_ints(copied, 64)[63]);
    const std::string said = stderr_of([&] {
      OK(launch(add, 1, 64, nullptr, address, 5, 64));
      FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    });
    CHECK(said.find("read-only memory") != said.npos);
  }
  return result();
}
