// Streams, callbacks, functions of the host, attributes.
#include "check.h"

#include <atomic>

namespace {

std::atomic<int> called{0};

void count_call(void* data) {
  called += *static_cast<int*>(data);
}
void count_callback(cudaStream_t, cudaError_t status, void* data) {
  called += status == cudaSuccess ? *static_cast<int*>(data) : 1000;
}

} // namespace

int main() {
  cudaStream_t plain = nullptr, other = nullptr, high = nullptr;
  OK(cudaStreamCreate(&plain));
  OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  int least = 1, greatest = 1, priority = 1, device = -1;
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(greatest < least);
  OK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
  OK(cudaStreamGetPriority(high, &priority));
  EQUAL(greatest, priority);
  unsigned flags = 9;
  OK(cudaStreamGetFlags(plain, &flags));
  EQUAL(cudaStreamDefault, flags);
  OK(cudaStreamGetFlags(other, &flags));
  EQUAL(cudaStreamNonBlocking, flags);
  unsigned long long id = 0, other_id = 0;
  OK(cudaStreamGetId(plain, &id));
  OK(cudaStreamGetId(other, &other_id));
  CHECK(id != other_id);
  OK(cudaStreamGetDevice(plain, &device));
  EQUAL(0, device);

  int* x = allocate(1024);
  OK(cudaMemsetAsync(x, 0, 4096, plain));
  for (int i = 0; i < 5; ++i)
    OK(launch(add, 4, 256, 0, plain, x, 3, 1024));
  int one = 1, ten = 10;
  OK(cudaLaunchHostFunc(plain, count_call, &one));
  OK(cudaStreamAddCallback(plain, count_callback, &ten, 0));
  OK(cudaStreamSynchronize(plain));
  OK(cudaStreamQuery(plain));
  EQUAL(11, called.load());
  EQUAL(15, read_ints(x, 1024)[1023]);

  // One waits for the other, by an event.
  cudaEvent_t event = nullptr;
  OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  OK(launch(indices, 4, 256, 0, plain, x));
  OK(cudaEventRecord(event, plain));
  OK(cudaStreamWaitEvent(other, event, 0));
  OK(launch(add, 4, 256, 0, other, x, 1, 1024));
  OK(cudaStreamSynchronize(other));
  EQUAL(1024, read_ints(x, 1024)[1023]);

  cudaLaunchAttributeValue value{}, got{};
  value.accessPolicyWindow = {x, 4096, 0.5f, cudaAccessPropertyPersisting, cudaAccessPropertyStreaming};
  OK(cudaStreamSetAttribute(plain, cudaLaunchAttributeAccessPolicyWindow, &value));
  OK(cudaStreamCopyAttributes(other, plain));
  OK(cudaStreamGetAttribute(other, cudaLaunchAttributeAccessPolicyWindow, &got));
  EQUAL(size_t{4096}, got.accessPolicyWindow.num_bytes);

  // A kernel that waits for the host's memory is not ready before.
  int* flag = nullptr;
  OK(cudaHostAlloc(reinterpret_cast<void**>(&flag), 8, cudaHostAllocMapped));
  flag[0] = flag[1] = 0;
  OK(launch(relay, 1, 1, 0, other, flag, flag + 1));
  FAILS(cudaErrorNotReady, cudaStreamQuery(other));
  OK(cudaGetLastError()); // that is none
  std::atomic_ref<int>(*flag).store(41);
  OK(cudaStreamSynchronize(other));
  EQUAL(42, flag[1]);

  OK(cudaEventDestroy(event));
  for (cudaStream_t each : {plain, other, high})
    OK(cudaStreamDestroy(each));
  return result();
}
