// 8-bit floating point: every bit pattern to half precision, and back with saturation.
#include "check.h"

#include <cuda_fp16.h>
#include <cuda_fp8.h>

__global__ void convert(float* e4m3, float* e5m2, unsigned char* back4, unsigned char* back5) {
  const unsigned i = threadIdx.x;
  __nv_fp8_e4m3 a;
  __nv_fp8_e5m2 b;
  a.__x = b.__x = static_cast<unsigned char>(i);
  e4m3[i] = static_cast<float>(a);
  e5m2[i] = static_cast<float>(b);
  back4[i] = __nv_fp8_e4m3(3.0f * static_cast<float>(a)).__x;
  back5[i] = __nv_fp8_e5m2(3.0f * static_cast<float>(b)).__x;
}

int main() {
  DeviceArray<float> e4m3(256), e5m2(256);
  DeviceArray<unsigned char> back4(256), back5(256);
  convert<<<1, 256>>>(e4m3.data(), e5m2.data(), back4.data(), back5.data());
  const auto f4 = e4m3.host(), f5 = e5m2.host();
  const auto b4 = back4.host(), b5 = back5.host();
  for (int i = 0; i < 256; ++i) {
    __nv_fp8_e4m3 a; // the header's own conversion on the host
    __nv_fp8_e5m2 b;
    a.__x = b.__x = static_cast<unsigned char>(i);
    const float wanted4 = static_cast<float>(a), wanted5 = static_cast<float>(b);
    if (wanted4 == wanted4) {
      equal(wanted4, f4[i]);
      equal(__nv_fp8_e4m3(3.0f * wanted4).__x, b4[i]);
    } else {
      expect(f4[i] != f4[i]);
    }
    if (wanted5 == wanted5) {
      equal(wanted5, f5[i]);
      equal(__nv_fp8_e5m2(3.0f * wanted5).__x, b5[i]);
    } else {
      expect(f5[i] != f5[i]);
    }
  }
  return result();
}
