// Device printf: every conversion the device's formatter knows, several arguments, 64-bit ones, strings,
// lanes of one warp and of two CTAs. Lines of different lanes may come in any order. The result of printf is
// the argument count.
#include <cstdio>

extern "C" __global__ void printf_kernel(int* counts) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x % 16 == 3)
    counts[id] = printf("p: lane %d of cta %u: %5d|%-5d|%05d|%+d|%x|%X|%#o\n", threadIdx.x, blockIdx.x, id,
                        id, id, id, 0xbeef + id, 0xBEEF + id, id);
  if (id == 1)
    counts[id] = printf("p: %lld %llu %llx %ld %hd %c%c 100%%\n", -1234567890123456789LL,
                        18446744073709551615ULL, 0x123456789abcdefULL, -7L, (short)-3, 'o', 'k');
  if (id == 2)
    counts[id] =
        printf("p: %f %.3f %10.2f| %e %.10g %g %a\n", 1.5, 2.0 / 3.0, -3.14159, 12345.678, 1e-5, 1e20, 1.0);
  if (id == 4)
    counts[id] = printf("p: %s and %10s| %-6s| %.2s\n", "string", "right", "left", "truncated");
  if (id == 5)
    counts[id] = printf("p: no arguments\n");
}
