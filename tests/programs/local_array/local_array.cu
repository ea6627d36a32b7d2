// Arrays of a thread with indices known only at run time live in local memory: insertion sort, a stack of
// bytes that walks a heap-shaped tree, and a vector of doubles.
extern "C" __global__ void local_array(const int* in, int* sorted, unsigned* walk, double* sums) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int v[24];
  for (int k = 0; k < 24; ++k)
    v[k] = in[i * 24 + k];
  for (int k = 1; k < 24; ++k) {
    int x = v[k], j = k;
    for (; j > 0 && v[j - 1] > x; --j)
      v[j] = v[j - 1];
    v[j] = x;
  }
  for (int k = 0; k < 24; ++k)
    sorted[i * 24 + k] = v[k];

  unsigned char stack[16];
  int top = 0;
  unsigned hash = i;
  stack[top++] = 1;
  while (top > 0) {
    unsigned node = stack[--top];
    hash = hash * 31 + node;
    if (node < 32) {
      if ((hash ^ node) & 3)
        stack[top++] = node * 2;
      stack[top++] = node * 2 + 1;
    }
  }
  walk[i] = hash;

  double bins[8] = {};
  for (int k = 0; k < 24; ++k)
    bins[v[k] & 7] += v[k];
  double alternating = 0;
  for (int k = 0; k < 8; ++k)
    alternating += bins[(k + i) & 7] * (k + 1);
  sums[i] = alternating;
}
