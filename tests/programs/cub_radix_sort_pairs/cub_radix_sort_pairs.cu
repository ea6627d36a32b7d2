// cub::DeviceRadixSort::SortPairs of 32-bit keys and values: the kernels that it launches, for a single tile and
// for many (see cub_radix_sort_keys.cu).
#include <cub/device/device_radix_sort.cuh>

cudaError_t sort(void* temp, size_t& temp_bytes, const unsigned* keys_in, unsigned* keys_out,
                 const unsigned* values_in, unsigned* values_out, int n) {
  return cub::DeviceRadixSort::SortPairs(temp, temp_bytes, keys_in, keys_out, values_in, values_out, n);
}
