// Loads and stores of vector types, with cache hints, and of unaligned structs.
#include "check.h"

#include <cstring>

struct __align__(16) Particle {
  float3 position;
  int id;
};
struct Packed {
  char letter;
  short number;
  double value;
};

__global__ void move(const float4* in, float4* out, const Particle* particles, Particle* moved, Packed* packed) {
  const int i = threadIdx.x;
  const float4 v = __ldg(&in[i]);
  __stcs(&out[i], make_float4(v.w, v.z, v.y, v.x));
  Particle p = particles[i];
  p.position.x += p.id;
  moved[i] = p;
  packed[i] = {static_cast<char>('a' + i % 26), static_cast<short>(-i), i * 0.5};
}

int main() {
  const int count = 96;
  std::vector<float4> in(count);
  std::vector<Particle> particles(count);
  for (int i = 0; i < count; ++i) {
    in[i] = make_float4(i, i + 0.25f, i + 0.5f, i + 0.75f);
    particles[i] = {make_float3(i, 2 * i, 3 * i), 1000 + i};
  }
  DeviceArray<float4> din(in), out(count);
  DeviceArray<Particle> dparticles(particles), moved(count);
  DeviceArray<Packed> packed(count);
  move<<<1, count>>>(din.data(), out.data(), dparticles.data(), moved.data(), packed.data());
  const auto o = out.host();
  const auto m = moved.host();
  const auto p = packed.host();
  for (int i = 0; i < count; ++i) {
    equal(in[i].w, o[i].x);
    equal(in[i].x, o[i].w);
    equal(i + 1000 + i, m[i].position.x);
    equal(3 * i, m[i].position.z);
    equal('a' + i % 26, p[i].letter);
    equal(-i, p[i].number);
    equal(i * 0.5, p[i].value);
  }
  return result();
}
