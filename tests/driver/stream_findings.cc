// LEMMA_CHECK names operations of streams that use the same memory and that nothing orders.
#include "check.h"

#include <sys/wait.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace {

// Two kernels, each in a stream of its own, on the same memory; what is said of them.
std::string said_of(CUfunction add, bool ordered) {
  const CUdeviceptr x = allocate_ints(32);
  CUstream a = nullptr, b = nullptr;
  CUevent event = nullptr;
  OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
  OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
  OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  OK(cuMemsetD32_v2(x, 1, 32));
  const std::string said = stderr_of([&] {
    OK(launch(add, 1, 32, a, x, 1, 32));
    OK(cuEventRecord(event, a));
    if (ordered)
      OK(cuStreamWaitEvent(b, event, 0));
    OK(launch(add, 1, 32, b, x, 1, 32));
    OK(cuCtxSynchronize());
  });
  OK(cuMemFree_v2(x));
  OK(cuEventDestroy_v2(event));
  OK(cuStreamDestroy_v2(a));
  OK(cuStreamDestroy_v2(b));
  return said;
}

// The host uses what a kernel writes; the result, once it has waited.
std::string said_of_host(CUfunction add, CUdeviceptr x, bool waits) {
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const int before = *reinterpret_cast<volatile int*>(x);
  const std::string said = stderr_of([&] {
    OK(launch(add, 1, 1, stream, x, 1, 1));
    if (waits)
      OK(cuStreamSynchronize(stream));
    (void)*reinterpret_cast<volatile int*>(x);
    OK(cuCtxSynchronize());
  });
  EQUAL(before + 1, *reinterpret_cast<volatile int*>(x));
  OK(cuStreamDestroy_v2(stream));
  return said;
}

// Two launches of which the second may begin before the first has ended, and does not wait for it; what is
// said of them. `machine`: a process's first; `target`: the kernel's.
std::string said_of_programmatic(const char* machine, const std::string& target) {
  setenv("LEMMA_CHECK", "1", 1);
  setenv("LEMMA_ARCH", machine, 1);
  begin();
  CUmodule module = nullptr;
  const std::string text = ".version 8.0\n.target " + target + R"(
.address_size 64
.visible .entry adds(.param .u64 p) {
  .reg .b64 %p;
  .reg .b32 %r;
  ld.param.u64 %p, [p];
  ld.global.u32 %r, [%p];
  add.u32 %r, %r, 1;
  st.global.u32 [%p], %r;
  ret;
}
)";
  OK(cuModuleLoadData(&module, text.c_str()));
  CUdeviceptr x = allocate_ints(1);
  write_ints(x, {0});
  void* arguments[] = {&x};
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return stderr_of([&] {
    for (int i = 0; i < 2; ++i)
      OK(cuLaunchKernelEx(&config, function(module, "adds"), arguments, nullptr));
    OK(cuCtxSynchronize());
  });
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 2) { // only machines and kernels from sm_90 on have programmatic launches
    const std::string said = said_of_programmatic(argv[1], argv[2]);
    EQUAL(std::string(argv[1]) == "sm_90" && std::string(argv[2]) == "sm_90",
          said.find("error[stream.race]") != said.npos);
    return result();
  }
  for (const auto& [machine, target] :
       {std::pair("sm_80", "sm_80"), std::pair("sm_90", "sm_80"), std::pair("sm_90", "sm_90")}) {
    const pid_t child = fork();
    if (child == 0) {
      execl(argv[0], argv[0], machine, target, nullptr);
      _exit(2);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    EQUAL(0, status);
  }
  setenv("LEMMA_CHECK", "1", 1);
  begin();
  const CUmodule module = load_kernels();
  const CUfunction add = function(module, "add");
  const std::string said = said_of(add, false);
  CHECK(said.find("error[stream.race]: kernel add and kernel add use the same memory") != said.npos);
  CHECK(said.find("missing: an event") != said.npos);
  EQUAL(std::string(), said_of(add, true));

  // Managed memory, of the program's and of the module's; pinned memory is the host's own business.
  CUdeviceptr managed = 0, variable = 0;
  void* pinned = nullptr;
  OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  OK(cuModuleGetGlobal_v2(&variable, nullptr, module, "managed"));
  OK(cuMemHostAlloc(&pinned, 4096, 0));
  for (const CUdeviceptr x : {managed, variable}) {
    const std::string of_host = said_of_host(add, x, false);
    CHECK(of_host.find("error[stream.race]: the host and kernel add use the same memory") != of_host.npos);
    CHECK(of_host.find("the host reads at") != of_host.npos);
    EQUAL(std::string(), said_of_host(add, x, true));
  }
  EQUAL(std::string(), said_of_host(add, reinterpret_cast<CUdeviceptr>(pinned), false));
  // A copy to it is an operation, which the kernel of another stream meets.
  CUstream a = nullptr, b = nullptr;
  OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
  OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr source = allocate_ints(32);
  const std::string of_copy = stderr_of([&] {
    OK(cuMemcpyAsync(managed, source, 128, a));
    OK(launch(add, 1, 32, b, managed, 1, 32));
    OK(cuCtxSynchronize());
  });
  CHECK(of_copy.find("a copy on the device") != of_copy.npos);
  OK(cuMemFree_v2(managed));
  return result();
}
