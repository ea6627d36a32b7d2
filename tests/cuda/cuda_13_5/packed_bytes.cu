// Four bytes in a word: sums, differences, the smaller and the larger, limited or not (PTX 9.2, sm_120f).
// arch: 120f
#include "../check.h"

#define BYTES(name, opcode)                                                                                  \
  __device__ unsigned name(unsigned a, unsigned b) {                                                         \
    unsigned d;                                                                                              \
    asm(opcode " %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));                                                   \
    return d;                                                                                                \
  }
BYTES(add_u, "add.u8x4")
BYTES(add_s, "add.s8x4")
BYTES(add_sat_u, "add.sat.u8x4")
BYTES(add_sat_s, "add.sat.s8x4")
BYTES(sub_u, "sub.u8x4")
BYTES(sub_s, "sub.s8x4")
BYTES(sub_sat_u, "sub.sat.u8x4")
BYTES(sub_sat_s, "sub.sat.s8x4")
BYTES(min_u, "min.u8x4")
BYTES(min_s, "min.s8x4")
BYTES(max_u, "max.u8x4")
BYTES(max_s, "max.s8x4")
#undef BYTES

constexpr int kOperations = 12; // in the order above

__global__ void compute(const unsigned* a, const unsigned* b, unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned x = a[i], y = b[i];
  const unsigned all[kOperations] = {add_u(x, y), add_s(x, y), add_sat_u(x, y), add_sat_s(x, y),
                                     sub_u(x, y), sub_s(x, y), sub_sat_u(x, y), sub_sat_s(x, y),
                                     min_u(x, y), min_s(x, y), max_u(x, y),     max_s(x, y)};
  for (int operation = 0; operation < kOperations; ++operation)
    out[i * kOperations + operation] = all[operation];
}

int limited(int value, int least, int most) {
  return value < least ? least : value > most ? most : value;
}

int wanted_byte(int operation, unsigned char a, unsigned char b) {
  const bool is_signed = operation % 2 != 0, is_limited = operation / 2 % 2 != 0;
  const int x = is_signed ? static_cast<signed char>(a) : a, y = is_signed ? static_cast<signed char>(b) : b;
  if (operation >= 10)
    return x > y ? x : y;
  if (operation >= 8)
    return x < y ? x : y;
  const int exact = operation < 4 ? x + y : x - y;
  return !is_limited ? exact : is_signed ? limited(exact, -128, 127) : limited(exact, 0, 255);
}

int main() {
  // Every two bytes in the lowest place, others in the places above.
  std::vector<unsigned> a, b;
  Numbers numbers;
  for (unsigned i = 0; i < 256; ++i)
    for (unsigned k = 0; k < 256; ++k) {
      a.push_back((numbers.next() & ~0xffu) | i);
      b.push_back((numbers.next() & ~0xffu) | k);
    }
  const DeviceArray<unsigned> device_a(a), device_b(b), out(a.size() * kOperations);
  compute<<<static_cast<unsigned>(a.size() / 256), 256>>>(device_a.data(), device_b.data(), out.data());
  std::vector<unsigned> wanted(out.size());
  for (size_t i = 0; i < a.size(); ++i)
    for (int operation = 0; operation < kOperations; ++operation)
      for (int place = 0; place < 32; place += 8) {
        const int byte = wanted_byte(operation, static_cast<unsigned char>(a[i] >> place),
                                     static_cast<unsigned char>(b[i] >> place));
        wanted[i * kOperations + operation] |= (static_cast<unsigned>(byte) & 0xff) << place;
      }
  equal(wanted, out.host());
  return result();
}
