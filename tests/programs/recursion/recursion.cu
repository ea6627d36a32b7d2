// Recursive device functions, so every call keeps a frame on the lane's own stack: Fibonacci (two calls a
// level), Ackermann (a call as the argument of a call), mutual recursion, and quicksort over an array in
// local memory that is passed by generic address. The lanes recurse to different depths. At most 1 KiB of
// stack, CUDA's default limit.
__device__ __noinline__ unsigned fib(unsigned n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0)
    return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

// Hofstadter's female and male sequences.
__device__ __noinline__ int male(int n);
__device__ __noinline__ int female(int n) {
  return n == 0 ? 1 : n - male(female(n - 1));
}
__device__ __noinline__ int male(int n) {
  return n == 0 ? 0 : n - female(male(n - 1));
}

__device__ __noinline__ void quicksort(int* v, int lo, int hi) {
  while (lo < hi) {
    int pivot = v[(lo + hi) / 2], i = lo, j = hi;
    while (i <= j) {
      while (v[i] < pivot)
        ++i;
      while (v[j] > pivot)
        --j;
      if (i <= j) {
        int x = v[i];
        v[i++] = v[j];
        v[j--] = x;
      }
    }
    // The smaller part by recursion, the larger by the loop: the depth stays logarithmic.
    if (j - lo < hi - i) {
      quicksort(v, lo, j);
      lo = i;
    } else {
      quicksort(v, i, hi);
      hi = j;
    }
  }
}

extern "C" __global__ void recursion(const int* keys, unsigned* fibs, unsigned* ackermanns, int* hofstadter,
                                     int* sorted) {
  unsigned t = threadIdx.x;
  fibs[t] = fib(t % 11);
  ackermanns[t] = ackermann(t % 3, t / 3 % 3);
  hofstadter[t] = female(t % 7) * 16 + male(t % 6);
  int v[16];
  for (int i = 0; i < 16; ++i)
    v[i] = keys[t * 16 + i];
  quicksort(v, 0, 15);
  for (int i = 0; i < 16; ++i)
    sorted[t * 16 + i] = v[i];
}
