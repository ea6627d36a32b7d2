// cuda::atomic and what is made of it: references, a semaphore, a latch, a lock, messages between blocks.
#include "check.h"

#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>

#include <new>

struct State {
  cuda::atomic<int, cuda::thread_scope_device> turn{0};
  cuda::binary_semaphore<cuda::thread_scope_device> lock{1};
  cuda::latch<cuda::thread_scope_device> all{8};
  int guarded = 0;
  int message = 0;
  int order[8] = {};
};

__global__ void make(State* state) {
  new (state) State;
}

__global__ void take_turns(State* state, int* late) {
  const int block = blockIdx.x;
  while (state->turn.load(cuda::memory_order_acquire) != 7 - block) {
  }
  state->order[7 - block] = block * 10 + state->message;
  state->message = block;
  state->turn.fetch_add(1, cuda::memory_order_release);
  for (int i = 0; i < 3; ++i) {
    state->lock.acquire();
    state->guarded = state->guarded + 1;
    state->lock.release();
  }
  state->all.arrive_and_wait();
  late[block] = state->guarded;
}

__global__ void references(int* x, float* f) {
  cuda::atomic_ref<int, cuda::thread_scope_block> number(x[0]);
  number.fetch_add(threadIdx.x, cuda::memory_order_relaxed);
  cuda::atomic_ref<int> greatest(x[1]);
  greatest.fetch_max(threadIdx.x * 3);
  cuda::atomic_ref<float, cuda::thread_scope_device> sum(*f);
  sum.fetch_add(0.5f);
}

int main() {
  DeviceArray<char> memory(sizeof(State));
  auto* state = reinterpret_cast<State*>(memory.data());
  DeviceArray<int> late(8), x(2);
  DeviceArray<float> f(1);
  make<<<1, 1>>>(state);
  take_turns<<<8, 1>>>(state, late.data());
  ok(cudaGetLastError());
  equal(std::vector<int>(8, 24), late.host());
  int order[8];
  ok(cudaMemcpy(order, state->order, sizeof order, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; ++i)
    equal((7 - i) * 10 + (i == 0 ? 0 : 8 - i), order[i]);
  references<<<1, 96>>>(x.data(), f.data());
  equal(std::vector<int>{95 * 48, 285}, x.host());
  equal(48, f.host()[0]);
  return result();
}
