// What costs a checker of races: words that many threads read, counters and bins that many update, barriers
// between passes over shared memory, flags between CTAs. Each kernel is free of races and gives the same
// result in every order; all take (in, out, scratch), 256 threads a CTA.
//
// Rows of bench/check.cc.
constexpr int kThreads = 256, kTable = 512;

extern "C" __global__ void __launch_bounds__(kThreads) shared_table(const unsigned* in, unsigned* out, unsigned*) {
  __shared__ unsigned table[kTable];
  for (int i = threadIdx.x; i < kTable; i += kThreads)
    table[i] = in[i];
  __syncthreads();
  unsigned at = threadIdx.x, sum = 0;
  for (int i = 0; i < 32; ++i) {
    at = table[at % kTable];
    sum += at;
  }
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
}

// Each word is read by every warp.
extern "C" __global__ void __launch_bounds__(kThreads) shared_broadcast(const unsigned* in, unsigned* out, unsigned*) {
  __shared__ unsigned table[kTable];
  for (int i = threadIdx.x; i < kTable; i += kThreads)
    table[i] = in[i];
  __syncthreads();
  unsigned sum = threadIdx.x;
  for (int i = 0; i < 64; ++i)
    sum = sum * 3 + table[i];
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(kThreads) global_broadcast(const unsigned* in, unsigned* out, unsigned*) {
  unsigned sum = threadIdx.x;
  for (int i = 0; i < 64; ++i)
    sum = sum * 3 + in[i];
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(kThreads) global_gather(const unsigned* in, unsigned* out, unsigned*) {
  unsigned at = blockIdx.x * kThreads + threadIdx.x, sum = 0;
  for (int i = 0; i < 32; ++i) {
    at = in[at % 4096];
    sum += at;
  }
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
}

// Threads of many warps read the neighbours that other warps have written.
extern "C" __global__ void __launch_bounds__(kThreads) stencil(const unsigned* in, unsigned* out, unsigned*) {
  __shared__ unsigned row[kThreads + 2];
  row[threadIdx.x + 1] = in[threadIdx.x];
  if (threadIdx.x < 2)
    row[threadIdx.x * (kThreads + 1)] = 0;
  __syncthreads();
  for (int i = 0; i < 16; ++i) {
    const unsigned sum = row[threadIdx.x] + row[threadIdx.x + 1] + row[threadIdx.x + 2];
    __syncthreads();
    row[threadIdx.x + 1] = sum;
    __syncthreads();
  }
  out[blockIdx.x * kThreads + threadIdx.x] = row[threadIdx.x + 1];
}

extern "C" __global__ void __launch_bounds__(kThreads) global_counter(const unsigned* in, unsigned* out, unsigned* scratch) {
  for (int i = 0; i < 8; ++i)
    atomicAdd(scratch, in[threadIdx.x] & 1);
  out[blockIdx.x * kThreads + threadIdx.x] = threadIdx.x;
}

extern "C" __global__ void __launch_bounds__(kThreads) shared_counter(const unsigned* in, unsigned* out, unsigned*) {
  __shared__ unsigned counter;
  if (threadIdx.x == 0)
    counter = 0;
  __syncthreads();
  for (int i = 0; i < 8; ++i)
    atomicAdd(&counter, in[threadIdx.x] & 1);
  __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = counter;
}

extern "C" __global__ void __launch_bounds__(kThreads) shared_histogram(const unsigned* in, unsigned* out, unsigned* scratch) {
  __shared__ unsigned bins[64];
  if (threadIdx.x < 64)
    bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = 0; i < 16; ++i)
    atomicAdd(&bins[in[(blockIdx.x * 16 + i) * kThreads % 4096 + threadIdx.x] % 64], 1);
  __syncthreads();
  if (threadIdx.x < 64)
    atomicAdd(&scratch[threadIdx.x], bins[threadIdx.x]);
  out[blockIdx.x * kThreads + threadIdx.x] = bins[threadIdx.x % 64];
}

extern "C" __global__ void __launch_bounds__(kThreads) global_histogram(const unsigned* in, unsigned* out, unsigned* scratch) {
  for (int i = 0; i < 8; ++i)
    atomicAdd(&scratch[in[i * kThreads + threadIdx.x] % 256], 1);
  out[blockIdx.x * kThreads + threadIdx.x] = threadIdx.x;
}

extern "C" __global__ void __launch_bounds__(kThreads) scan_by_barriers(const unsigned* in, unsigned* out, unsigned*) {
  __shared__ unsigned sums[2][kThreads];
  int now = 0;
  sums[0][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int step = 1; step < kThreads; step *= 2) {
    sums[1 - now][threadIdx.x] =
        sums[now][threadIdx.x] + (threadIdx.x >= step ? sums[now][threadIdx.x - step] : 0);
    now = 1 - now;
    __syncthreads();
  }
  out[blockIdx.x * kThreads + threadIdx.x] = sums[now][threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(kThreads) scan_by_warps(const unsigned* in, unsigned* out, unsigned*) {
  __shared__ unsigned of_warp[kThreads / 32];
  unsigned total = 0;
  for (int tile = 0; tile < 8; ++tile) {
    unsigned sum = in[tile * kThreads + threadIdx.x];
    for (int step = 1; step < 32; step *= 2) {
      const unsigned other = __shfl_up_sync(~0u, sum, step);
      if (threadIdx.x % 32 >= step)
        sum += other;
    }
    if (threadIdx.x % 32 == 31)
      of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    for (int warp = 0; warp < threadIdx.x / 32; ++warp)
      sum += of_warp[warp];
    total = total * 5 + sum;
    __syncthreads();
  }
  out[blockIdx.x * kThreads + threadIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(kThreads) bitonic_sort(const unsigned* in, unsigned* out, unsigned*) {
  __shared__ unsigned keys[kThreads];
  keys[threadIdx.x] = in[blockIdx.x * kThreads + threadIdx.x];
  __syncthreads();
  for (unsigned size = 2; size <= kThreads; size *= 2)
    for (unsigned step = size / 2; step > 0; step /= 2) {
      const unsigned other = threadIdx.x ^ step;
      if (other > threadIdx.x) {
        const unsigned a = keys[threadIdx.x], b = keys[other];
        if ((a > b) == ((threadIdx.x & size) == 0)) {
          keys[threadIdx.x] = b;
          keys[other] = a;
        }
      }
      __syncthreads();
    }
  out[blockIdx.x * kThreads + threadIdx.x] = keys[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(kThreads) tree_sum(const unsigned* in, unsigned* out, unsigned*) {
  __shared__ unsigned sums[kThreads];
  unsigned total = 0;
  for (int tile = 0; tile < 8; ++tile) {
    sums[threadIdx.x] = in[tile * kThreads + threadIdx.x];
    __syncthreads();
    for (int step = kThreads / 2; step > 0; step /= 2) {
      if (threadIdx.x < step)
        sums[threadIdx.x] += sums[threadIdx.x + step];
      __syncthreads();
    }
    total = total * 3 + sums[0];
    __syncthreads();
  }
  out[blockIdx.x * kThreads + threadIdx.x] = total;
}

// The last CTA to come adds what all have left.
extern "C" __global__ void __launch_bounds__(kThreads) last_block_sum(const unsigned* in, unsigned* out, unsigned* scratch) {
  __shared__ bool last;
  unsigned* sums = scratch + 64;
  sums[blockIdx.x * kThreads + threadIdx.x] = in[threadIdx.x] + blockIdx.x;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(scratch, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last)
    return;
  unsigned sum = 0;
  for (int i = 0; i < gridDim.x; ++i)
    sum += sums[i * kThreads + threadIdx.x];
  out[threadIdx.x] = sum;
}

// Edit distance, a diagonal of the table at a time.
extern "C" __global__ void __launch_bounds__(kThreads) edit_distance(const unsigned* in, unsigned* out, unsigned*) {
  constexpr int kLength = 64;
  __shared__ unsigned cost[kLength + 1][kLength + 1];
  for (int i = threadIdx.x; i <= kLength; i += kThreads)
    cost[i][0] = cost[0][i] = i;
  __syncthreads();
  for (int diagonal = 2; diagonal <= 2 * kLength; ++diagonal) {
    const int i = threadIdx.x + 1, j = diagonal - i;
    if (i <= kLength && j >= 1 && j <= kLength) {
      const bool equal = in[i] % 4 == in[256 + j] % 4;
      const unsigned replaced = cost[i - 1][j - 1] + !equal;
      cost[i][j] = min(replaced, min(cost[i - 1][j], cost[i][j - 1]) + 1);
    }
    __syncthreads();
  }
  out[blockIdx.x * kThreads + threadIdx.x] = cost[kLength][threadIdx.x % kLength];
}

extern "C" __global__ void __launch_bounds__(kThreads) knapsack(const unsigned* in, unsigned* out, unsigned*) {
  __shared__ unsigned best[2][kThreads];
  best[0][threadIdx.x] = 0;
  __syncthreads();
  int now = 0;
  for (int item = 0; item < 32; ++item) {
    const unsigned weight = in[item] % 32 + 1, value = in[64 + item] % 100;
    unsigned most = best[now][threadIdx.x];
    if (threadIdx.x >= weight)
      most = max(most, best[now][threadIdx.x - weight] + value);
    best[1 - now][threadIdx.x] = most;
    now = 1 - now;
    __syncthreads();
  }
  out[blockIdx.x * kThreads + threadIdx.x] = best[now][threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(kThreads) tiled_product(const unsigned* in, unsigned* out, unsigned*) {
  __shared__ unsigned a[16][16], b[16][17];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  unsigned sum = 0;
  for (int tile = 0; tile < 8; ++tile) {
    a[y][x] = in[y * 128 + tile * 16 + x];
    b[y][x] = in[(tile * 16 + y) * 16 + x];
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      sum += a[y][k] * b[k][x];
    __syncthreads();
  }
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(kThreads) transpose(const unsigned* in, unsigned* out, unsigned*) {
  __shared__ unsigned tile[32][33];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  unsigned sum = 0;
  for (int i = 0; i < 4; ++i) {
    for (int row = y; row < 32; row += 8)
      tile[row][x] = in[i * 1024 + row * 32 + x];
    __syncthreads();
    for (int row = y; row < 32; row += 8)
      sum = sum * 7 + tile[x][row];
    __syncthreads();
  }
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
}

// Each CTA hands the sum so far on to the next one.
extern "C" __global__ void __launch_bounds__(kThreads) chained_scan(const unsigned* in, unsigned* out, unsigned* scratch) {
  __shared__ unsigned before;
  unsigned* sums = scratch + 64;
  volatile unsigned* flags = scratch;
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    if (blockIdx.x > 0) {
      while (flags[blockIdx.x - 1] == 0) {
      }
      __threadfence();
      sum = sums[blockIdx.x - 1];
    }
    before = sum;
    sums[blockIdx.x] = sum + in[blockIdx.x];
    __threadfence();
    flags[blockIdx.x] = 1;
  }
  __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = before + in[threadIdx.x];
}

// Numbers that pass go to the end of a queue; their order is nobody's affair.
extern "C" __global__ void __launch_bounds__(kThreads) compaction(const unsigned* in, unsigned* out, unsigned* scratch) {
  unsigned passed = 0;
  for (int i = 0; i < 8; ++i) {
    const unsigned value = in[i * kThreads + threadIdx.x];
    if (value % 3 == 0) {
      scratch[64 + atomicAdd(scratch, 1)] = 1;
      ++passed;
    }
  }
  out[blockIdx.x * kThreads + threadIdx.x] = passed;
}
