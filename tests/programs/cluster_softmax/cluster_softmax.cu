// Rows longer than one CTA wants to hold: the CTAs of a cluster take a part each, tell each other their maxima
// and sums through distributed shared memory, and scale their parts. Integers in place of exp() keep it exact:
// each value becomes 2^(value - row's maximum), and the sum's reciprocal a shift. The cluster is the kernel's
// own (.reqnctapercluster).
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int kCtas = 4;
constexpr int kThreads = 128;
constexpr int kPerThread = 3;

// The value of `combine` over the block, in every thread.
template <class T, class F>
__device__ T reduce_block(T value, T* scratch, F combine) {
  for (int offset = 16; offset; offset /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffff, value, offset));
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[0];
  for (int w = 1; w < kThreads / 32; ++w)
    value = combine(value, scratch[w]);
  return value;
}

extern "C" __global__ void __cluster_dims__(kCtas, 1, 1) __launch_bounds__(kThreads)
    cluster_softmax(const int* rows, unsigned long long* weights, unsigned long long* sums) {
  __shared__ int scratch[kThreads / 32];
  __shared__ unsigned long long wide_scratch[kThreads / 32];
  __shared__ int maxima[kCtas];              // of the parts; each CTA writes its own into all CTAs
  __shared__ unsigned long long part_sum;    // of this CTA's part, read by the others
  cg::cluster_group cluster = cg::this_cluster();
  const int rank = cluster.block_rank();
  const int row = blockIdx.x / kCtas;
  const int* in = rows + (row * kCtas + rank) * kThreads * kPerThread;

  int values[kPerThread], greatest = -1000;
  for (int i = 0; i < kPerThread; ++i) {
    values[i] = in[i * kThreads + threadIdx.x];
    greatest = max(greatest, values[i]);
  }
  greatest = reduce_block(greatest, scratch, [](int a, int b) { return max(a, b); });
  cluster.sync(); // the others have started
  if (threadIdx.x < kCtas)
    *cluster.map_shared_rank(&maxima[rank], threadIdx.x) = greatest;
  cluster.sync();
  for (int r = 0; r < kCtas; ++r)
    greatest = max(greatest, maxima[r]);

  unsigned long long sum = 0;
  for (int i = 0; i < kPerThread; ++i)
    sum += 1ull << max(0, 40 + values[i] - greatest);
  sum = reduce_block(sum, wide_scratch, [](unsigned long long a, unsigned long long b) { return a + b; });
  if (threadIdx.x == 0)
    part_sum = sum;
  cluster.sync();
  sum = 0;
  for (int r = 0; r < kCtas; ++r)
    sum += *cluster.map_shared_rank(&part_sum, r);
  cluster.sync(); // nobody reads our sum any more

  for (int i = 0; i < kPerThread; ++i)
    weights[(row * kCtas + rank) * kThreads * kPerThread + i * kThreads + threadIdx.x] =
        ((1ull << max(0, 40 + values[i] - greatest)) << 16) / sum;
  if (rank == 0 && threadIdx.x == 0)
    sums[row] = sum;
}
