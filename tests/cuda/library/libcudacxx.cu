// libcu++: barriers, pipelines, atomics, asynchronous copies, latches, semaphores.
#include "../check.h"

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

#include <cooperative_groups.h>

#include <numeric>

#pragma nv_diag_suppress static_var_with_dynamic_init // barriers in shared memory: init() makes them

namespace cg = cooperative_groups;

constexpr int kThreads = 128;

using BlockBarrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void barrier_phases(const int* in, int* out) {
  __shared__ BlockBarrier barrier;
  __shared__ int values[kThreads];
  if (threadIdx.x == 0)
    init(&barrier, kThreads);
  __syncthreads();
  int sum = in[threadIdx.x];
  for (int step = 1; step < 4; ++step) {
    values[threadIdx.x] = sum;
    barrier.arrive_and_wait();
    sum += values[(threadIdx.x + 32 * step) % kThreads];
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
  }
  out[threadIdx.x] = sum;
}

// Half of the threads leaves; the last to arrive runs the completion.
struct Count {
  int* rounds;
  __device__ void operator()() const noexcept { ++*rounds; }
};
__global__ void barrier_completion(int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block, Count>;
  __shared__ cuda::std::aligned_storage_t<sizeof(Barrier), alignof(Barrier)> storage;
  __shared__ int rounds;
  Barrier* barrier = reinterpret_cast<Barrier*>(&storage);
  if (threadIdx.x == 0) {
    rounds = 0;
    new (barrier) Barrier(kThreads, Count{&rounds});
  }
  __syncthreads();
  barrier->arrive_and_wait();
  if (threadIdx.x < 64) {
    barrier->arrive_and_drop();
    return;
  }
  barrier->arrive_and_wait();
  barrier->arrive_and_wait();
  out[threadIdx.x] = rounds;
}

__global__ void barrier_device(cuda::barrier<cuda::thread_scope_device>* barrier, int* values, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] += 1;
  barrier->arrive_and_wait();
  out[i] = values[(i + blockDim.x) % (gridDim.x * blockDim.x)];
}

__global__ void copy_to_barrier(const int* in, int* out) {
  __shared__ BlockBarrier barrier;
  __shared__ alignas(16) int values[kThreads];
  const cg::thread_block block = cg::this_thread_block();
  if (threadIdx.x == 0)
    init(&barrier, kThreads);
  block.sync();
  cuda::memcpy_async(block, values, in, cuda::aligned_size_t<16>(sizeof values), barrier);
  barrier.arrive_and_wait();
  out[threadIdx.x] = values[kThreads - 1 - threadIdx.x];
}

__global__ void copy_own_words(const int* in, int* out) {
  __shared__ BlockBarrier barrier;
  __shared__ int values[kThreads];
  if (threadIdx.x == 0)
    init(&barrier, kThreads);
  __syncthreads();
  cuda::memcpy_async(&values[threadIdx.x], &in[threadIdx.x], sizeof(int), barrier);
  barrier.arrive_and_wait();
  out[threadIdx.x] = values[kThreads - 1 - threadIdx.x];
}

__global__ void copy_bulk(const int* in, int* out) {
  __shared__ BlockBarrier barrier;
  __shared__ alignas(16) int values[kThreads];
  if (threadIdx.x == 0) {
    init(&barrier, kThreads);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  BlockBarrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::experimental::cp_async_bulk_global_to_shared(values, in, sizeof values, barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof values);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));
  values[threadIdx.x] *= 2;
  cuda::device::experimental::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::device::experimental::cp_async_bulk_shared_to_global(out, values, sizeof values);
    cuda::device::experimental::cp_async_bulk_commit_group();
    cuda::device::experimental::cp_async_bulk_wait_group_read<0>();
  }
}

__global__ void pipeline_of_threads(const int* in, int* out, int rounds) {
  __shared__ int values[2][kThreads];
  auto pipeline = cuda::make_pipeline();
  int sum = 0;
  for (int round = 0, ahead = 0; round < rounds; ++round) {
    for (; ahead < rounds && ahead < round + 2; ++ahead) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&values[ahead % 2][threadIdx.x], &in[ahead * kThreads + threadIdx.x], sizeof(int),
                         pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += values[round % 2][threadIdx.x];
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}

__global__ void pipeline_of_a_block(const int* in, int* out, int rounds) {
  constexpr int kStages = 2;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  __shared__ alignas(16) int values[kStages][kThreads];
  const cg::thread_block block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int round = 0, ahead = 0; round < rounds; ++round) {
    for (; ahead < rounds && ahead < round + kStages; ++ahead) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, values[ahead % kStages], in + ahead * kThreads,
                         cuda::aligned_size_t<16>(sizeof values[0]), pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += values[round % kStages][kThreads - 1 - threadIdx.x];
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}

// Half of the threads produces, the other half consumes.
__global__ void pipeline_of_two_roles(const int* in, int* out, int rounds) {
  constexpr int kStages = 2, kHalf = kThreads / 2;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  __shared__ int values[kStages][kHalf];
  const cg::thread_block block = cg::this_thread_block();
  const bool produces = threadIdx.x < kHalf;
  auto pipeline = cuda::make_pipeline(
      block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (produces) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&values[round % kStages][threadIdx.x], &in[round * kHalf + threadIdx.x], sizeof(int),
                         pipeline);
      pipeline.producer_commit();
    } else {
      pipeline.consumer_wait();
      sum += values[round % kStages][kThreads - 1 - threadIdx.x];
      pipeline.consumer_release();
    }
  }
  if (!produces)
    out[threadIdx.x - kHalf] = sum;
}

__global__ void atomic_refs(const int* in, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> sum(out[0]), largest(out[1]), changed(out[2]);
  const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  sum.fetch_add(value, cuda::memory_order_relaxed);
  largest.fetch_max(value);
  for (int old = changed.load(); !changed.compare_exchange_weak(old, old ^ value);)
    ;
}

// A flag that is waited for: what stands before it is seen behind it.
__global__ void atomic_waits(cuda::atomic<int, cuda::thread_scope_device>* flag, int* data, int* out) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = static_cast<int>(threadIdx.x) * 3;
    __syncthreads();
    if (threadIdx.x == 0) {
      flag->store(1, cuda::memory_order_release);
      flag->notify_all();
    }
  } else {
    flag->wait(0, cuda::memory_order_acquire);
    out[threadIdx.x] = data[blockDim.x - 1 - threadIdx.x];
  }
}

__global__ void latches(cuda::latch<cuda::thread_scope_device>* latch, int* data, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = i + 1;
  latch->arrive_and_wait();
  out[i] = data[(i + blockDim.x) % (gridDim.x * blockDim.x)];
}

// As many permits as there are slots: a slot is taken, used, given back.
__global__ void semaphores(cuda::counting_semaphore<cuda::thread_scope_device, 1>* lock, int* total) {
  if (threadIdx.x % 32 == 0) {
    lock->acquire();
    *total += 1;
    lock->release();
  }
}
__global__ void binary_semaphores(cuda::binary_semaphore<cuda::thread_scope_block>* unused, int* out) {
  __shared__ cuda::std::aligned_storage_t<sizeof(*unused), alignof(decltype(*unused))> storage;
  __shared__ int value;
  auto* filled = reinterpret_cast<cuda::binary_semaphore<cuda::thread_scope_block>*>(&storage);
  if (threadIdx.x == 0)
    new (filled) cuda::binary_semaphore<cuda::thread_scope_block>(0);
  __syncthreads();
  if (threadIdx.x == 0) {
    value = 7;
    filled->release();
  } else if (threadIdx.x == 32) {
    filled->acquire();
    out[0] = value;
  }
}

template <class T>
__global__ void construct(T* at, int count) {
  new (at) T(count);
}

int main() {
  const int rounds = 4, count = rounds * kThreads;
  const auto values = small_numbers<int>(count, 0, 99);
  DeviceArray<int> in(values), out(count), data(count);
  DeviceArray<long long> object(16);
  const auto run = [&](void (*kernel)(const int*, int*)) {
    kernel<<<1, kThreads>>>(in.data(), out.data());
    ok(cudaDeviceSynchronize());
    return out.host();
  };
  std::vector<int> wanted(values.begin(), values.begin() + kThreads);
  for (int step = 1; step < 4; ++step) {
    const auto before = wanted;
    for (int i = 0; i < kThreads; ++i)
      wanted[i] += before[(i + 32 * step) % kThreads];
  }
  auto got = run(barrier_phases);
  got.resize(kThreads);
  equal(wanted, got);
  barrier_completion<<<1, kThreads>>>(out.data());
  equal(3, out.host()[100]);
  const auto at = [&]<class T>(T*) { return reinterpret_cast<T*>(object.data()); };
  auto* barrier = at(static_cast<cuda::barrier<cuda::thread_scope_device>*>(nullptr));
  construct<<<1, 1>>>(barrier, count);
  barrier_device<<<rounds, kThreads>>>(barrier, data.data(), out.data());
  equal(1, out.host()[300]);
  equal(values[127], run(copy_to_barrier)[0]);
  equal(values[127], run(copy_own_words)[0]);
  equal(values[5] * 2, run(copy_bulk)[5]);

  int sum = 0;
  for (int round = 0; round < rounds; ++round)
    sum += values[round * kThreads + 3];
  pipeline_of_threads<<<1, kThreads>>>(in.data(), out.data(), rounds);
  equal(sum, out.host()[3]);
  pipeline_of_a_block<<<1, kThreads>>>(in.data(), out.data(), rounds);
  equal(sum, out.host()[kThreads - 1 - 3]);
  pipeline_of_two_roles<<<1, kThreads>>>(in.data(), out.data(), rounds);
  sum = 0;
  for (int round = 0; round < rounds; ++round)
    sum += values[round * kThreads / 2 + kThreads / 2 - 1];
  equal(sum, out.host()[0]);

  ok(cudaMemset(out.data(), 0, out.bytes()));
  atomic_refs<<<rounds, kThreads>>>(in.data(), out.data());
  equal(std::accumulate(values.begin(), values.end(), 0), out.host()[0]);
  auto* flag = at(static_cast<cuda::atomic<int, cuda::thread_scope_device>*>(nullptr));
  construct<<<1, 1>>>(flag, 0);
  atomic_waits<<<2, kThreads>>>(flag, data.data(), out.data());
  equal(127 * 3, out.host()[0]);
  auto* latch = at(static_cast<cuda::latch<cuda::thread_scope_device>*>(nullptr));
  construct<<<1, 1>>>(latch, count);
  latches<<<rounds, kThreads>>>(latch, data.data(), out.data());
  equal(kThreads + 1, out.host()[0]);
  auto* lock = at(static_cast<cuda::counting_semaphore<cuda::thread_scope_device, 1>*>(nullptr));
  construct<<<1, 1>>>(lock, 1);
  ok(cudaMemset(out.data(), 0, out.bytes()));
  semaphores<<<rounds, kThreads>>>(lock, out.data());
  equal(count / 32, out.host()[0]);
  binary_semaphores<<<1, kThreads>>>(nullptr, out.data());
  equal(7, out.host()[0]);
  return result();
}
