// Integer functions of the device, against the same computed by hand.
#include "check.h"

#include <bit>

__global__ void compute(const unsigned* in, unsigned* out, int count) {
  const int i = threadIdx.x;
  const unsigned a = in[i], b = in[(i + 1) % count];
  unsigned* o = out + i * 12;
  o[0] = __popc(a);
  o[1] = __clz(a);
  o[2] = __brev(a);
  o[3] = __ffs(a);
  o[4] = __byte_perm(a, b, 0x5140);
  o[5] = __umulhi(a, b);
  o[6] = __funnelshift_l(a, b, 9);
  o[7] = __usad(a, b, 7);
  o[8] = __vaddus4(a, b);
  o[9] = __popcll((static_cast<unsigned long long>(a) << 32) | b);
  o[10] = __uhadd(a, b);
  o[11] = a % (b | 1) + a / (b | 1);
}

int main() {
  const int count = 64;
  std::vector<unsigned> in(count), wanted;
  Numbers numbers;
  for (unsigned& x : in)
    x = numbers.next();
  in[0] = 0, in[1] = ~0u, in[2] = 1;
  DeviceArray<unsigned> din(in), out(count * 12);
  compute<<<1, count>>>(din.data(), out.data(), count);
  for (int i = 0; i < count; ++i) {
    const unsigned a = in[i], b = in[(i + 1) % count];
    unsigned reversed = 0, sums = 0;
    for (int bit = 0; bit < 32; ++bit)
      reversed |= (a >> bit & 1) << (31 - bit);
    for (int byte = 0; byte < 32; byte += 8) {
      const unsigned sum = (a >> byte & 255) + (b >> byte & 255);
      sums |= (sum > 255 ? 255 : sum) << byte;
    }
    const unsigned long long ab = a, product = ab * b;
    wanted.insert(wanted.end(),
                  {unsigned(std::popcount(a)), unsigned(std::countl_zero(a)), reversed,
                   a ? unsigned(std::countr_zero(a)) + 1 : 0,
                   (a & 255) | (b & 255) << 8 | (a >> 8 & 255) << 16 | (b >> 8 & 255) << 24,
                   unsigned(product >> 32), b << 9 | a >> 23, (a > b ? a - b : b - a) + 7, sums,
                   unsigned(std::popcount(a) + std::popcount(b)), unsigned((ab + b) >> 1),
                   a % (b | 1) + a / (b | 1)});
  }
  equal(wanted, out.host());
  return result();
}
