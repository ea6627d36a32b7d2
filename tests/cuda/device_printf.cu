// printf in kernels: its text comes when the program synchronizes, lines of one thread in order.
#include "check.h"

#include <unistd.h>

#include <cstring>
#include <string>

__global__ void speak(int base) {
  if (threadIdx.x % 16 == 0)
    printf("thread %d of block %u: %5.2f %s %c %x %lld %%\n", threadIdx.x, blockIdx.x, base + 0.25 * threadIdx.x,
           "text", 'c', 255, 1ll << 40);
}

__global__ void return_value(int* out) {
  out[0] = printf("%d %d\n", 1, 2);
}

int main() {
  char name[] = "/tmp/device_printf_XXXXXX";
  const int file = mkstemp(name), kept = dup(1);
  std::fflush(stdout);
  dup2(file, 1);
  DeviceArray<int> out(1);
  speak<<<2, 32>>>(10);
  return_value<<<1, 1>>>(out.data());
  ok(cudaDeviceSynchronize());
  std::fflush(stdout);
  dup2(kept, 1);
  std::string text(static_cast<size_t>(lseek(file, 0, SEEK_END)), '\0');
  expect(pread(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  unlink(name);
  for (const char* line : {"thread 0 of block 0: 10.00 text c ff 1099511627776 %\n",
                           "thread 16 of block 0: 14.00 text c ff 1099511627776 %\n",
                           "thread 0 of block 1: 10.00 text c ff 1099511627776 %\n",
                           "thread 16 of block 1: 14.00 text c ff 1099511627776 %\n", "1 2\n"}) {
    expect(text.find(line) != std::string::npos);
    if (text.find(line) != std::string::npos)
      text.erase(text.find(line), std::strlen(line));
  }
  expect(text.empty());
  equal(2, out.host()[0]);
  return result();
}
