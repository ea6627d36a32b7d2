// cub::DeviceRadixSort::SortKeys of 32-bit keys: the kernels that it launches, for a single tile and for many
// ("onesweep": a histogram of all digits, its prefix sums, and one pass a digit with decoupled look-back).
#include <cub/device/device_radix_sort.cuh>

cudaError_t sort(void* temp, size_t& temp_bytes, const unsigned* in, unsigned* out, int n) {
  return cub::DeviceRadixSort::SortKeys(temp, temp_bytes, in, out, n);
}
