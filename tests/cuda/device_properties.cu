// What the device says it is: the properties agree with the attributes, and are an H200's where programs choose by them.
#include "check.h"

#include <cstring>

int attribute(cudaDeviceAttr which) {
  int value = -1;
  ok(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

int main() {
  int count = 0, device = -1, driver = 0, runtime = 0;
  ok(cudaGetDeviceCount(&count));
  expect(count >= 1);
  ok(cudaSetDevice(0));
  ok(cudaGetDevice(&device));
  equal(0, device);
  ok(cudaDriverGetVersion(&driver));
  ok(cudaRuntimeGetVersion(&runtime));
  expect(driver >= runtime && runtime >= 13000);
  cudaDeviceProp p;
  ok(cudaGetDeviceProperties(&p, 0));
  expect(std::strlen(p.name) > 0);
  equal(9, p.major);
  equal(0, p.minor);
  equal(32, p.warpSize);
  equal(1024, p.maxThreadsPerBlock);
  equal(2048, p.maxThreadsPerMultiProcessor);
  equal(48 * 1024, static_cast<double>(p.sharedMemPerBlock));
  equal(227 * 1024, static_cast<double>(p.sharedMemPerBlockOptin));
  equal(2147483647, p.maxGridSize[0]);
  equal(64, p.maxThreadsDim[2]);
  equal(p.major, attribute(cudaDevAttrComputeCapabilityMajor));
  equal(p.multiProcessorCount, attribute(cudaDevAttrMultiProcessorCount));
  equal(static_cast<double>(p.l2CacheSize), attribute(cudaDevAttrL2CacheSize));
  equal(p.managedMemory, attribute(cudaDevAttrManagedMemory));
  equal(1, attribute(cudaDevAttrCooperativeLaunch));
  equal(1, attribute(cudaDevAttrMemoryPoolsSupported));
  equal(1, attribute(cudaDevAttrUnifiedAddressing));
  size_t free_bytes = 0, total = 0;
  ok(cudaMemGetInfo(&free_bytes, &total));
  expect(free_bytes <= total && total == p.totalGlobalMem);
  return result();
}
