// cub::DeviceSelect::If: the kernels that it launches. Where a CTA writes what it has selected it finds by
// decoupled look-back.
#include <cub/device/device_select.cuh>

struct IsOdd {
  __device__ bool operator()(int x) const { return x & 1; }
};

cudaError_t select_odd(void* temp, size_t& temp_bytes, const int* in, int* out, int* count, int n) {
  return cub::DeviceSelect::If(temp, temp_bytes, in, out, count, n, IsOdd{});
}
