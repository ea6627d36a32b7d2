// __constant__ variables: initialized, written by the host, their address and size, copies out of the middle.
#include "check.h"

__constant__ float coefficients[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__constant__ int scale = 3;

__global__ void evaluate(float* out, int count) {
  const int i = threadIdx.x;
  if (i >= count)
    return;
  float sum = 0;
  for (int power = 7; power >= 0; --power)
    sum = sum * i + coefficients[power];
  out[i] = sum * scale;
}

std::vector<float> wanted(const float* c, int scale, int count) {
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) {
    float sum = 0;
    for (int power = 7; power >= 0; --power)
      sum = sum * i + c[power];
    values[i] = sum * scale;
  }
  return values;
}

int main() {
  const int count = 6;
  float c[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  DeviceArray<float> out(count);
  evaluate<<<1, 32>>>(out.data(), count);
  equal(wanted(c, 3, count), out.host());
  for (float& x : c)
    x = 9 - x;
  const int two = 2;
  ok(cudaMemcpyToSymbol(coefficients, c, sizeof c));
  ok(cudaMemcpyToSymbol(scale, &two, sizeof two));
  evaluate<<<1, 32>>>(out.data(), count);
  equal(wanted(c, 2, count), out.host());
  float middle[2] = {};
  ok(cudaMemcpyFromSymbol(middle, coefficients, sizeof middle, 3 * sizeof(float)));
  equal(c[3], middle[0]);
  equal(c[4], middle[1]);
  size_t bytes = 0;
  ok(cudaGetSymbolSize(&bytes, coefficients));
  equal(sizeof c, bytes);
  void* address = nullptr;
  ok(cudaGetSymbolAddress(&address, coefficients));
  ok(cudaMemset(address, 0, sizeof(float)));
  c[0] = 0;
  evaluate<<<1, 32>>>(out.data(), count);
  equal(wanted(c, 2, count), out.host());
  return result();
}
