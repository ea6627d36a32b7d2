// Kernels in the manner of what people run: a stencil, a contraction in f64, a search by recursion, a hash, gathers,
// arrays of a thread's own, lists, a table in shared memory, many small CTAs, rays that end at different steps. All
// take (in, out, n): `in` has kWords words, `out` one word a thread; n is what the compiler must not know.
//
// Rows of bench/kernels.cc.
constexpr int kThreads = 256;
constexpr unsigned kWords = 4096;

// Five points of a field of 64 by 64, over and over in registers and shared memory.
extern "C" __global__ void __launch_bounds__(kThreads) jacobi(const unsigned* in, unsigned* out, int n) {
  __shared__ float field[18][18];
  const int x = threadIdx.x % 16 + 1, y = threadIdx.x / 16 + 1;
  for (int i = threadIdx.x; i < 18 * 18; i += kThreads)
    field[i / 18][i % 18] = static_cast<float>(in[i] & 1023);
  __syncthreads();
  for (int step = 0; step < n; ++step) {
    const float next = 0.2f * (field[y][x] + field[y][x - 1] + field[y][x + 1] + field[y - 1][x] + field[y + 1][x]);
    __syncthreads();
    field[y][x] = next;
    __syncthreads();
  }
  out[blockIdx.x * kThreads + threadIdx.x] = __float_as_uint(field[y][x]);
}

// Each thread a row of a small matrix, times all of another.
extern "C" __global__ void __launch_bounds__(kThreads) contraction(const unsigned* in, unsigned* out, int n) {
  double sums[4] = {0, 0, 0, 0};
  for (int k = 0; k < n; ++k) {
    const double left = static_cast<double>(in[(threadIdx.x * 16 + k) % kWords] & 255);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      sums[j] += left * static_cast<double>(in[(k * 4 + j) % kWords] & 255) * 0.001;
  }
  out[blockIdx.x * kThreads + threadIdx.x] = static_cast<unsigned>(sums[0] + sums[1] - sums[2] * 0.5 + sums[3]);
}

// How many ways there are to go on, by the occupied columns and diagonals.
__device__ __noinline__ unsigned place_queens(unsigned columns, unsigned left, unsigned right, unsigned all) {
  if (columns == all)
    return 1;
  unsigned ways = 0;
  for (unsigned free = all & ~(columns | left | right); free != 0; free &= free - 1) {
    const unsigned at = free & (0u - free);
    ways += place_queens(columns | at, (left | at) << 1, (right | at) >> 1, all);
  }
  return ways;
}
extern "C" __global__ void __launch_bounds__(kThreads) queens(const unsigned*, unsigned* out, int n) {
  const unsigned all = (1u << n) - 1, first = 1u << (threadIdx.x % n);
  out[blockIdx.x * kThreads + threadIdx.x] = place_queens(first, first << 1, first >> 1, all);
}

// By products of 64 bits.
extern "C" __global__ void __launch_bounds__(kThreads) hash(const unsigned* in, unsigned* out, int n) {
  unsigned long long state = blockIdx.x * kThreads + threadIdx.x;
  for (int i = 0; i < n; ++i) {
    state = (state ^ in[(i * 32 + threadIdx.x) % kWords]) * 0x9e3779b97f4a7c15ull;
    state ^= state >> 29;
    state += __umul64hi(state, 0xbf58476d1ce4e5b9ull);
  }
  out[blockIdx.x * kThreads + threadIdx.x] = static_cast<unsigned>(state >> 32);
}

// Rows of a sparse matrix: where the columns lie differs from lane to lane.
extern "C" __global__ void __launch_bounds__(kThreads) sparse_rows(const unsigned* in, unsigned* out, int n) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    const unsigned column = in[(row * 7 + i) % kWords] % kWords;
    sum += 0.25f * static_cast<float>(in[column] & 4095);
  }
  out[row] = __float_as_uint(sum);
}

// An array that is indexed by what it holds.
extern "C" __global__ void __launch_bounds__(kThreads) local_sort(const unsigned* in, unsigned* out, int n) {
  unsigned values[16];
  for (int i = 0; i < 16; ++i)
    values[i] = in[(threadIdx.x * 16 + i) % kWords];
  for (int i = 1; i < n; ++i) {
    const unsigned value = values[i];
    int at = i - 1;
    for (; at >= 0 && values[at] > value; --at)
      values[at + 1] = values[at];
    values[at + 1] = value;
  }
  unsigned sum = 0;
  for (int i = 0; i < n; ++i)
    sum = sum * 31 + values[i];
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
}

// Each element names the next.
extern "C" __global__ void __launch_bounds__(kThreads) list(const unsigned* in, unsigned* out, int n) {
  unsigned at = blockIdx.x * kThreads + threadIdx.x;
  for (int i = 0; i < n; ++i)
    at = in[at % kWords];
  out[blockIdx.x * kThreads + threadIdx.x] = at;
}

// The longest common part of two strings, an antidiagonal at a time.
extern "C" __global__ void __launch_bounds__(kThreads) common_part(const unsigned* in, unsigned* out, int n) {
  __shared__ unsigned short lengths[3][kThreads + 1];
  const int i = threadIdx.x;
  for (int row = 0; row < 3; ++row)
    lengths[row][i + 1] = 0;
  if (i < 3)
    lengths[i][0] = 0;
  const unsigned mine = in[i] & 3;
  __syncthreads();
  for (int step = 0; step < n; ++step) {
    const int j = step - i;
    unsigned short next = 0;
    if (j >= 0 && j < kThreads) {
      const unsigned short (*last)[kThreads + 1] = lengths;
      const unsigned short corner = last[(step + 1) % 3][i], above = last[(step + 2) % 3][i],
                           before = last[(step + 2) % 3][i + 1];
      const unsigned theirs = in[1024 + j] & 3;
      next = mine == theirs ? corner + 1 : above > before ? above : before;
    }
    lengths[step % 3][i + 1] = next;
    __syncthreads();
  }
  out[blockIdx.x * kThreads + threadIdx.x] = lengths[(n - 1) % 3][i + 1];
}

// A warp a CTA, and little to do in each.
extern "C" __global__ void __launch_bounds__(32) small_ctas(const unsigned* in, unsigned* out, int n) {
  const unsigned at = blockIdx.x * 32 + threadIdx.x;
  unsigned value = in[at % kWords];
  for (int i = 0; i < n; ++i)
    value = value * 1664525u + 1013904223u;
  out[at] = value;
}

// Steps through a field until something is met, which is sooner for some than for others.
extern "C" __global__ void __launch_bounds__(kThreads) rays(const unsigned* in, unsigned* out, int n) {
  const unsigned ray = blockIdx.x * kThreads + threadIdx.x;
  float x = 0.1f * static_cast<float>(ray % 61), y = 0.05f * static_cast<float>(ray % 37);
  const float dx = 0.3f + 0.01f * static_cast<float>(ray % 17), dy = 0.2f + 0.01f * static_cast<float>(ray % 23);
  int steps = 0;
  for (; steps < n; ++steps) {
    const int cell = (static_cast<int>(x) & 63) * 64 + (static_cast<int>(y) & 63);
    const unsigned what = in[cell];
    if ((what & 31) == 0)
      break;
    if ((what & 7) == 1)
      x += 0.5f * dx;
    else
      x += dx;
    y += dy;
  }
  out[ray] = static_cast<unsigned>(steps) * 65536u + (static_cast<unsigned>(x) & 0xffff);
}
