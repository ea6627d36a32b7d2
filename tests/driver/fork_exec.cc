// A child of fork() has no driver until it has called exec; its parent goes on.
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc > 1) { // the child, after exec
    begin();
    const CUdeviceptr x = allocate_ints(32);
    OK(launch(function(load_kernels(), "indices"), 1, 32, nullptr, x));
    EQUAL(31, read_ints(x, 32)[31]);
    return result();
  }
  begin();
  const CUdeviceptr x = allocate_ints(32);
  const CUfunction indices = function(load_kernels(), "indices");
  for (const bool with_exec : {false, true}) {
    const pid_t child = fork();
    if (child == 0) {
      if (with_exec)
        execl(argv[0], argv[0], "child", nullptr);
      int count = 0;
      FAILS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
      FAILS(CUDA_ERROR_NOT_INITIALIZED, cuInit(0));
      _exit(with_exec ? 2 : result());
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    EQUAL(0, status);
  }
  OK(launch(indices, 1, 32, nullptr, x));
  EQUAL(31, read_ints(x, 32)[31]);
  return result();
}
