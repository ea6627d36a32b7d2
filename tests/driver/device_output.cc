// printf and malloc of kernels.
#include "check.h"

#include <algorithm>
#include <unistd.h>

int main() {
  begin();
  const CUmodule module = load_kernels();
  char name[] = "/tmp/lemma_printf_XXXXXX";
  const int file = mkstemp(name), kept = dup(1);
  std::fflush(stdout);
  dup2(file, 1);
  OK(launch(function(module, "prints"), 1, 2, nullptr, 42));
  OK(cuCtxSynchronize());
  std::fflush(stdout);
  dup2(kept, 1);
  std::string text(static_cast<size_t>(lseek(file, 0, SEEK_END)), '\0');
  CHECK(pread(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  unlink(name);
  CHECK(text.find("thread 0 says 42, hello\n") != text.npos);
  CHECK(text.find("thread 1 says 42, hello\n") != text.npos);
  EQUAL(2, std::count(text.begin(), text.end(), '\n'));

  CUdeviceptr pointers = 0;
  OK(cuMemAlloc_v2(&pointers, 32 * sizeof(void*)));
  const CUdeviceptr out = allocate_ints(32);
  OK(launch(function(module, "mallocs"), 1, 32, nullptr, pointers));
  OK(launch(function(module, "frees"), 1, 32, nullptr, pointers, out)); // another launch: the heap stays
  EQUAL(131, read_ints(out, 32)[31]);
  return result();
}
