// Does what its words say, in order, with the driver API: scale, exchange and store launch, spin launches
// what takes hours, trap launches and wants the fault, fork has a child do the rest, refused
// wants no call to work any more, _exit, kill and abort end it, status=N is its exit status, schedule fails
// in every schedule but 0.
#include "driver/api.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

CUmodule module_loaded = nullptr;
CUdeviceptr memory = 0;

void want(bool good, const char* what) {
  if (good)
    return;
  std::fprintf(stderr, "launcher: not so: %s\n", what);
  std::_Exit(99);
}

void begin() {
  if (module_loaded)
    return;
  CUcontext context = nullptr;
  std::ifstream file(KERNELS);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  want(cuInit(0) == CUDA_SUCCESS, "cuInit");
  want(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS, "a context");
  want(cuCtxSetCurrent(context) == CUDA_SUCCESS, "a current context");
  want(cuModuleLoadData(&module_loaded, text.c_str()) == CUDA_SUCCESS, "a module");
  want(cuMemAlloc_v2(&memory, 256) == CUDA_SUCCESS, "memory");
}

constexpr const char* kSpin = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry spin(.param .u64 p, .param .u32 n) {
  .reg .b64 %i;
  .reg .pred %p;
  mov.u64 %i, 0;
AGAIN:
  add.u64 %i, %i, 1;
  setp.lt.u64 %p, %i, 1099511627776;
  @%p bra AGAIN;
  ret;
}
)";

CUresult launch(const char* kernel) {
  begin();
  if (std::strcmp(kernel, "spin") == 0)
    want(cuModuleLoadData(&module_loaded, kSpin) == CUDA_SUCCESS, "a module");
  CUfunction function = nullptr;
  want(cuModuleGetFunction(&function, module_loaded, kernel) == CUDA_SUCCESS, kernel);
  int factor = 3;
  void* arguments[] = {&memory, &factor};
  want(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr) == CUDA_SUCCESS,
       "a launch");
  return cuCtxSynchronize();
}

} // namespace

int main(int argc, char** argv) {
  int status = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "scale")
      want(launch("_Z5scalePji") == CUDA_SUCCESS, "scale");
    else if (word == "exchange")
      want(launch("_Z8exchangePji") == CUDA_SUCCESS, "exchange");
    else if (word == "store")
      want(launch("_Z5storePji") == CUDA_SUCCESS, "store");
    else if (word == "spin")
      want(launch("spin") == CUDA_SUCCESS, "spin");
    else if (word == "trap")
      want(launch("_Z4trapPji") == CUDA_ERROR_LAUNCH_FAILED, "trap");
    else if (word == "_exit")
      _exit(0);
    else if (word == "kill")
      ::kill(::getpid(), SIGKILL);
    else if (word == "abort")
      std::abort();
    else if (word == "schedule")
      status = std::getenv("LEMMA_SCHEDULE") && std::strcmp(std::getenv("LEMMA_SCHEDULE"), "0") != 0 ? 5 : 0;
    else if (word.starts_with("status="))
      status = std::atoi(word.c_str() + 7);
    else if (word == "refused") {
      CUdeviceptr more = 0;
      want(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED, "no cuInit");
      want(cuMemAlloc_v2(&more, 256) == CUDA_ERROR_NOT_INITIALIZED, "no memory");
    } else if (word == "fork") {
      if (const pid_t child = ::fork(); child != 0) {
        int ended = 0;
        want(::waitpid(child, &ended, 0) == child, "a child");
        return WEXITSTATUS(ended);
      }
    } else
      want(false, argv[i]);
  }
  return status;
}
