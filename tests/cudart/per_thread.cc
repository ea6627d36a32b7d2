// The thread's own default stream in the place of the legacy one: nvcc -default-stream per-thread.
#define LEMMA_TEST_PER_THREAD
#include "check.h"

#include <atomic>
#include <thread>

int main() {
  int* flag = nullptr;
  OK(cudaHostAlloc(reinterpret_cast<void**>(&flag), 8, cudaHostAllocMapped));
  flag[0] = flag[1] = 0;
  int* x = allocate(256);
  OK(launch(add, 1, 256, 0, nullptr, x, 0, 256)); // a GPU loads a kernel when nothing runs
  OK(cudaDeviceSynchronize());
  // This thread's stream waits for the host; another thread's goes on meanwhile.
  OK(launch(relay, 1, 1, 0, nullptr, flag, flag + 1));
  std::thread([&] {
    std::vector<int> back(256);
    OK(cudaMemsetAsync_ptsz(x, 0, 1024, nullptr));
    OK(launch(add, 1, 256, 0, nullptr, x, 5, 256));
    OK(cudaMemcpyAsync_ptsz(back.data(), x, 1024, cudaMemcpyDeviceToHost, nullptr));
    OK(cudaStreamSynchronize_ptsz(nullptr));
    EQUAL(5, back[255]);
    OK(cudaMemset_ptds(x, 0, 1024));
    OK(cudaMemcpy_ptds(back.data(), x, 1024, cudaMemcpyDeviceToHost));
    EQUAL(0, back[255]);
  }).join();
  FAILS(cudaErrorNotReady, cudaStreamQuery_ptsz(nullptr));
  FAILS(cudaErrorNotReady, cudaStreamQuery(cudaStreamPerThread));
  std::atomic_ref<int>(*flag).store(1);
  OK(cudaStreamSynchronize_ptsz(nullptr));
  EQUAL(2, flag[1]);
  OK(cudaStreamQuery_ptsz(nullptr));
  return result();
}
