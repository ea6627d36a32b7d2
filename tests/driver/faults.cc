// A kernel's fault: every context of the process has it until that ends, and the report is printed once. Each
// kind in a process of its own.
#include "check.h"

#include <sys/wait.h>

#include <thread>

namespace {

void fails_with(CUresult wanted, const char* kernel, const char* in_report) {
  CUcontext context = nullptr;
  OK(cuCtxCreate_v4(&context, nullptr, 0, 0));
  const CUmodule module = load_kernels();
  const CUfunction faulty = function(module, kernel), add = function(module, "add");
  const CUdeviceptr x = allocate_ints(32);
  OK(cuMemsetD32_v2(x, 1, 32));
  OK(cuCtxSynchronize());
  CUresult first = CUDA_SUCCESS;
  const std::string report = stderr_of([&] {
    const CUresult launched = launch(faulty, 1, 32, nullptr, x);
    first = cuCtxSynchronize();
    if (launched != CUDA_SUCCESS)
      EQUAL(wanted, launched);
  });
  EQUAL(wanted, first);
  if (!on_gpu() && (report.find(kernel) == report.npos || report.find(in_report) == report.npos))
    FAILS(CUDA_SUCCESS, CUDA_ERROR_UNKNOWN),
        std::fprintf(stderr, "the report of %s: %s\n", kernel, report.c_str());
  // From then on everything that needs the context says the same, and says it silently.
  int value = 0;
  CUdeviceptr other = 0;
  const std::string silence = stderr_of([&] {
    FAILS(wanted, cuCtxSynchronize());
    FAILS(wanted, cuMemAlloc_v2(&other, 4));
    FAILS(wanted, cuMemcpyDtoH_v2(&value, x, 4));
    FAILS(wanted, launch(add, 1, 32, nullptr, x, 1, 32));
    FAILS(wanted, cuMemFree_v2(x));
    FAILS(wanted, cuModuleUnload(module));
  });
  EQUAL(std::string(), silence);
  CUcontext current = nullptr;
  OK(cuCtxGetCurrent(&current));
  CHECK(current == context);
  unsigned flags = 0;
  CUdevice device = -1;
  OK(cuCtxGetFlags(&flags)); // ... that needs it
  OK(cuCtxGetDevice(&device));
  OK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, x));
  // Another context is of no help, nor is the primary one.
  OK(cuCtxDestroy_v2(context));
  FAILS(wanted, cuCtxCreate_v4(&context, nullptr, 0, 0));
  FAILS(wanted, cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuDevicePrimaryCtxReset_v2(0));
  FAILS(wanted, cuDevicePrimaryCtxRetain(&context, 0));
}

struct Fault {
  CUresult error;
  const char *kernel, *in_report;
};
const Fault kFaults[] = {
    {CUDA_ERROR_ILLEGAL_ADDRESS, "out_of_bounds", "out of bounds"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned", "misaligned"},
    {CUDA_ERROR_LAUNCH_FAILED, "trap", "trap"},
    {CUDA_ERROR_ASSERT, "asserts", "kernels.cu"},
};

// Where the program wants it so, a reset cures.
void is_cured() {
  setenv("LEMMA_RESET_CURES", "1", 1);
  const CUcontext primary = begin();
  const CUdeviceptr x = allocate_ints(32);
  (void)stderr_of([&] {
    OK(launch(function(load_kernels(), "trap"), 1, 1, nullptr, x));
    FAILS(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
  });
  OK(cuDevicePrimaryCtxReset_v2(0));
  CUcontext again = nullptr;
  OK(cuDevicePrimaryCtxRetain(&again, 0));
  CHECK(again == primary);
  OK(cuCtxSetCurrent(again));
  const CUdeviceptr y = allocate_ints(32);
  OK(cuMemsetD32_v2(y, 1, 32));
  OK(launch(function(load_kernels(), "add"), 1, 32, nullptr, y, 1, 32));
  EQUAL(2, read_ints(y, 32)[31]);
}

CUresult wait_by_asking(CUstream stream) {
  CUresult status = CUDA_ERROR_NOT_READY;
  while ((status = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY)
    std::this_thread::yield();
  return status;
}

// An instruction, or a call, that Lemma does not execute is an error of that launch, told once.
void lack_is_the_launchs() {
  begin();
  CUmodule other = nullptr;
  OK(cuModuleLoadData(&other, R"(.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f);
.visible .entry launches(.param .u64 p) {
  .reg .b64 %r<3>;
  .param .b64 f;
  .param .b64 r;
  st.param.b64 [f], 0;
  call (r), __cudaCDP2GetParameterBufferV2, (f);
  ret;
}
)"));
  const CUfunction lacking = function(other, "launches"), add = function(load_kernels(), "add");
  const CUdeviceptr x = allocate_ints(32);
  CUstream stream = nullptr;
  CUevent event = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuEventCreate(&event, 0));
  write_ints(x, std::vector<int>(32, 1));
  for (int way = 0; way < 4; ++way) {
    const std::string said = stderr_of([&] {
      OK(launch(lacking, 1, 1, stream, x));
      if (way == 2)
        OK(launch(add, 1, 32, stream, x, 100, 32)); // behind it: does not run
      OK(cuEventRecord(event, stream));
      FAILS(CUDA_ERROR_NOT_SUPPORTED, way == 0   ? cuStreamSynchronize(stream)
                                      : way == 1 ? cuCtxSynchronize()
                                      : way == 2 ? cuEventSynchronize(event)
                                                 : wait_by_asking(stream));
    });
    CHECK(said.find("dynamic parallelism") != said.npos);
    CHECK(said.find("dynamic parallelism") == said.rfind("dynamic parallelism"));
    if (way == 2) // the stream itself has not been asked
      FAILS(CUDA_ERROR_LAUNCH_FAILED, cuStreamSynchronize(stream));
    OK(cuStreamSynchronize(stream));
    OK(cuCtxSynchronize());
    OK(launch(add, 1, 32, stream, x, 1, 32)); // all goes on
    OK(cuStreamSynchronize(stream));
    EQUAL(2 + way, read_ints(x, 32)[31]);
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    OK(cuInit(0));
    const Fault& fault = kFaults[std::atoi(argv[1])];
    fails_with(fault.error, fault.kernel, fault.in_report);
    return result();
  }
  for (const char* number : {"0", "1", "2", "3"}) {
    const pid_t child = fork();
    if (child == 0) {
      execl(argv[0], argv[0], number, nullptr);
      _exit(2);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    EQUAL(0, status);
  }
  if (!on_gpu()) {
    is_cured();
    lack_is_the_launchs();
  }
  return result();
}
