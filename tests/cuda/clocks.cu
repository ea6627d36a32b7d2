// Clocks go on, sleeping takes time, and special registers say who one is.
#include "check.h"

__global__ void measure(long long* out, unsigned* ids) {
  unsigned long long before, after;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
  const long long begin = clock64();
  __nanosleep(100000);
  const long long end = clock64();
  for (int i = 0; i < 100; ++i) { // the timer may tick in steps
    __nanosleep(100000);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
    if (after > before)
      break;
  }
  out[threadIdx.x * 2] = end - begin;
  out[threadIdx.x * 2 + 1] = static_cast<long long>(after - before);
  unsigned lane, sm;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  ids[threadIdx.x * 2] = lane;
  ids[threadIdx.x * 2 + 1] = sm;
}

int main() {
  DeviceArray<long long> out(64);
  DeviceArray<unsigned> ids(64);
  measure<<<1, 32>>>(out.data(), ids.data());
  const auto times = out.host();
  const auto who = ids.host();
  int sms = 0;
  ok(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  for (unsigned i = 0; i < 32; ++i) {
    expect(times[i * 2] > 0);
    expect(times[i * 2 + 1] > 0);
    equal(i, who[i * 2]);
    expect(who[i * 2 + 1] < static_cast<unsigned>(sms));
  }
  return result();
}
