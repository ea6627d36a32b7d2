// Indirect calls: a table of device functions in global memory, one in constant memory, and a pointer chosen
// at run time; the lanes of a warp call different functions. The functions write through a pointer too.
using Operation = int (*)(int, int, int*);

__device__ __noinline__ int op_add(int a, int b, int* calls) {
  return *calls += 1, a + b;
}
__device__ __noinline__ int op_sub(int a, int b, int* calls) {
  return *calls += 10, a - b;
}
__device__ __noinline__ int op_mul(int a, int b, int* calls) {
  return *calls += 100, a * b;
}
__device__ __noinline__ int op_loop(int a, int b, int* calls) {
  *calls += 1000;
  int sum = 0;
  for (int i = 0; i <= (b & 7); ++i)
    sum = sum * 3 + (a ^ i);
  return sum;
}

__device__ Operation global_table[4] = {op_add, op_sub, op_mul, op_loop};
__constant__ Operation constant_table[4] = {op_loop, op_mul, op_sub, op_add};

extern "C" __global__ void function_pointers(const int* a, const int* b, const int* which, int* out,
                                             int* calls_out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, calls = 0;
  int x = global_table[which[i]](a[i], b[i], &calls);
  Operation op = x & 1 ? constant_table[which[i] ^ 1] : op_mul;
  out[i] = op(x, b[i], &calls);
  calls_out[i] = calls;
}
