// Memory of the device, of the host, managed; what a pointer is.
#include "check.h"

namespace {

void of_the_device() {
  void* memory = &memory;
  OK(cudaMalloc(&memory, 0));
  CHECK(memory == nullptr);
  OK(cudaFree(nullptr));
  FAILS(cudaErrorInvalidValue, cudaMalloc(nullptr, 8));
  FAILS(cudaErrorMemoryAllocation, cudaMalloc(&memory, size_t{1} << 60));
  size_t free = 0, total = 0, less = 0;
  OK(cudaMemGetInfo(&free, &total));
  OK(cudaMalloc(&memory, 1 << 20));
  OK(cudaMemGetInfo(&less, &total));
  CHECK(less < free && free <= total);
  CHECK(reinterpret_cast<uintptr_t>(memory) % 256 == 0);
  OK(cudaFree(memory));
  FAILS(cudaErrorInvalidValue, cudaFree(memory));
  size_t pitch = 0;
  OK(cudaMallocPitch(&memory, &pitch, 100, 7));
  CHECK(pitch >= 100 && pitch % 32 == 0);
  OK(cudaFree(memory));
  cudaPitchedPtr cube{};
  OK(cudaMalloc3D(&cube, {100, 5, 3}));
  CHECK(cube.ptr && cube.pitch >= 100 && cube.xsize == 100 && cube.ysize == 5);
  OK(cudaFree(cube.ptr));
}

void of_the_host() {
  int* pinned = nullptr;
  OK(cudaMallocHost(reinterpret_cast<void**>(&pinned), 4096));
  void* device = nullptr;
  OK(cudaHostGetDevicePointer(&device, pinned, 0));
  OK(launch(indices, 4, 256, 0, nullptr, static_cast<int*>(device)));
  OK(cudaDeviceSynchronize());
  EQUAL(1023, pinned[1023]);
  OK(cudaFreeHost(pinned));
  OK(cudaFreeHost(nullptr));
  unsigned flags = 0;
  OK(cudaHostAlloc(reinterpret_cast<void**>(&pinned), 64, cudaHostAllocPortable | cudaHostAllocMapped));
  OK(cudaHostGetFlags(&flags, pinned));
  CHECK(flags & cudaHostAllocPortable);
  OK(cudaFreeHost(pinned));

  std::vector<int> own(4096);
  OK(cudaHostRegister(own.data(), own.size() * 4, cudaHostRegisterMapped));
  FAILS(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(own.data(), own.size() * 4, 0));
  OK(cudaHostGetDevicePointer(&device, own.data(), 0));
  OK(launch(indices, 16, 256, 0, nullptr, static_cast<int*>(device)));
  OK(cudaDeviceSynchronize());
  EQUAL(4095, own[4095]);
  OK(cudaHostUnregister(own.data()));
  FAILS(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own.data()));
}

void managed_memory() {
  int* shared = nullptr;
  OK(cudaMallocManaged(reinterpret_cast<void**>(&shared), 0, cudaMemAttachGlobal));
  OK(cudaMallocManaged(reinterpret_cast<void**>(&shared), 4096, cudaMemAttachGlobal));
  shared[7] = 70;
  const cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
  OK(cudaMemAdvise(shared, 4096, cudaMemAdviseSetPreferredLocation, device));
  OK(cudaMemPrefetchAsync(shared, 4096, device, 0, nullptr));
  OK(cudaStreamAttachMemAsync(nullptr, shared, 0, cudaMemAttachGlobal));
  OK(launch(add, 4, 256, 0, nullptr, shared, 7, 1024));
  OK(cudaDeviceSynchronize());
  EQUAL(77, shared[7]);
  int values[2] = {-5, -5};
  OK(cudaMemRangeGetAttribute(&values[0], 4, cudaMemRangeAttributeReadMostly, shared, 4096));
  EQUAL(0, values[0]);
  void* data[2] = {&values[0], &values[1]};
  size_t sizes[2] = {4, 4};
  cudaMemRangeAttribute attributes[2] = {cudaMemRangeAttributePreferredLocation,
                                         cudaMemRangeAttributeReadMostly};
  OK(cudaMemRangeGetAttributes(data, sizes, attributes, 2, shared, 4096));
  EQUAL(0, values[1]);
  OK(cudaFree(shared));
}

void pointers() {
  void *device = nullptr, *host = nullptr, *shared = nullptr;
  int own = 0;
  OK(cudaMalloc(&device, 64));
  OK(cudaMallocHost(&host, 64));
  OK(cudaMallocManaged(&shared, 64, cudaMemAttachGlobal));
  cudaPointerAttributes a{};
  OK(cudaPointerGetAttributes(&a, static_cast<char*>(device) + 5));
  CHECK(a.type == cudaMemoryTypeDevice && a.device == 0 &&
        a.devicePointer == static_cast<char*>(device) + 5 && !a.hostPointer);
  OK(cudaPointerGetAttributes(&a, host));
  CHECK(a.type == cudaMemoryTypeHost && a.device == 0 && a.hostPointer == host && a.devicePointer);
  OK(cudaPointerGetAttributes(&a, shared));
  CHECK(a.type == cudaMemoryTypeManaged && a.devicePointer == shared && a.hostPointer == shared);
  OK(cudaPointerGetAttributes(&a, &own));
  CHECK(a.type == cudaMemoryTypeUnregistered && a.device == cudaInvalidDeviceId && !a.devicePointer &&
        a.hostPointer == &own);
  OK(cudaFree(device));
  OK(cudaFreeHost(host));
  OK(cudaFree(shared));
}

} // namespace

int main() {
  of_the_device();
  of_the_host();
  managed_memory();
  pointers();
  return result();
}
