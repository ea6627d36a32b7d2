// What linked_main.cu calls.
__device__ int helper_calls = 40;

__device__ int helper(int x) {
  return 3 * x + 1;
}
