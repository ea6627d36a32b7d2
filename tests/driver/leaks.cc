// Nothing stays of what was allocated and freed: of each call that allocates, again and again, the bytes that
// malloc has handed out do not grow, nor do the process's own; and no address is used up.
//
//   driver_leaks [ROUNDS]   scripts/test_long.sh: a million
#include "check.h"

#include <malloc.h>

#include <cstdlib>
#include <functional>

namespace {

// At first the allocations that are known as freed become more (vgpu/memory/memory.h: 1024), and tables grow.
constexpr long kFirstRounds = 2200;
constexpr long kMostBytesARound = 8, kMostBytes = 32 << 10;

long rounds = 2000;

#ifdef __SANITIZE_THREAD__ // to which every byte of an address costs time
constexpr long kLargeRounds = 3;
#else
constexpr long kLargeRounds = 3000;
#endif

// 0 under a sanitizer, which has a malloc of its own.
long bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<long>(info.uordblks + info.hblkhd);
}

long resident_kib() {
  long kib = 0;
  std::FILE* file = std::fopen("/proc/self/status", "r");
  char line[256];
  while (file && std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "VmRSS: %ld", &kib) == 1)
      break;
  if (file)
    std::fclose(file);
  return kib;
}

void again(const char* what, const std::function<void()>& once) {
  for (long i = 0; i < kFirstRounds; ++i)
    once();
  const long before = bytes_in_use(), resident_before = resident_kib();
  for (long i = 0; i < rounds; ++i)
    once();
  const long bytes = bytes_in_use() - before, kib = resident_kib() - resident_before;
  const bool stays = bytes <= kMostBytesARound * rounds / 16 + kMostBytes && kib <= 50 << 10;
  CHECK(stays);
  if (!stays || rounds > 100000)
    std::fprintf(stderr, "%-24s %ld rounds: %+ld bytes in use, %+ld KiB resident\n", what, rounds, bytes,
                 kib);
}

void memory(CUstream stream) {
  CUdeviceptr address = 0;
  size_t pitch = 0;
  void* host = nullptr;
  again("cuMemAlloc", [&] {
    OK(cuMemAlloc_v2(&address, 4096));
    OK(cuMemFree_v2(address));
  });
  again("cuMemAllocPitch", [&] {
    OK(cuMemAllocPitch_v2(&address, &pitch, 100, 10, 4));
    OK(cuMemFree_v2(address));
  });
  again("cuMemAllocManaged", [&] {
    OK(cuMemAllocManaged(&address, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemFree_v2(address));
  });
  again("cuMemHostAlloc", [&] {
    OK(cuMemHostAlloc(&host, 4096, 0));
    OK(cuMemFreeHost(host));
  });
  again("cuMemAllocAsync", [&] {
    OK(cuMemAllocAsync(&address, 4096, stream));
    OK(cuMemFreeAsync(address, stream));
    OK(cuStreamSynchronize(stream));
  });
  again("cuMemPoolCreate", [&] {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool pool = nullptr;
    OK(cuMemPoolCreate(&pool, &properties));
    OK(cuMemPoolDestroy(pool));
  });
  static int own[64];
  again("cuMemHostRegister", [&] {
    OK(cuMemHostRegister_v2(own, sizeof own, 0));
    OK(cuMemHostUnregister(own));
  });
  again("cuArrayCreate", [&] {
    CUarray array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR descriptor{
        .Width = 8, .Height = 8, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    OK(cuArrayCreate_v2(&array, &descriptor));
    OK(cuArrayDestroy(array));
  });
}

void objects() {
  again("cuStreamCreate", [] {
    CUstream stream = nullptr;
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamDestroy_v2(stream));
  });
  again("cuEventCreate", [] {
    CUevent event = nullptr;
    OK(cuEventCreate(&event, 0));
    OK(cuEventDestroy_v2(event));
  });
  again("cuGraphCreate", [] {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddEmptyNode(&node, graph, nullptr, 0));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
  });
  again("cuCtxCreate", [] {
    CUcontext context = nullptr;
    OK(cuCtxCreate_v4(&context, nullptr, 0, 0));
    OK(cuCtxDestroy_v2(context));
  });
}

} // namespace

int main(int argc, char** argv) {
  const bool is_long = argc > 1;
  if (is_long)
    rounds = std::atol(argv[1]);
  begin();
  if (on_gpu())
    return result();
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, 0));
  memory(stream);
  objects();
  // Addresses: many times as many as there are.
  CUdeviceptr address = 0;
  for (long i = 0; i < (is_long ? 100000 : kLargeRounds); ++i) {
    OK(cuMemAlloc_v2(&address, size_t{4} << 30));
    OK(cuMemFree_v2(address));
    if (failures != 0)
      break;
  }
  return result();
}
