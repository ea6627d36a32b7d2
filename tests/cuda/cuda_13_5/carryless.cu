// Products without carries (clmad, PTX 9.3): both halves, and a sum to them; and the check of a message by a
// polynomial, as CRC-64 has it, made of such products.
#include "../check.h"

__device__ uint64_t clmad_lo(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t d;
  asm("clmad.lo.u64 %0, %1, %2, %3;" : "=l"(d) : "l"(a), "l"(b), "l"(c));
  return d;
}
__device__ uint64_t clmad_hi(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t d;
  asm("clmad.hi.u64 %0, %1, %2, %3;" : "=l"(d) : "l"(a), "l"(b), "l"(c));
  return d;
}

__global__ void multiply(const uint64_t* a, const uint64_t* b, const uint64_t* c, uint64_t* low,
                         uint64_t* high) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  low[i] = clmad_lo(a[i], b[i], c[i]);
  high[i] = clmad_hi(a[i], b[i], c[i]);
}

constexpr uint64_t kPolynomial = 0x42f0e1eba9ea3693; // of x^64 + ..., ECMA-182
constexpr unsigned kWords = 64;                      // of a message

// One message a thread: what is left of each word times x^64, by the quotient that the polynomial's inverse
// gives (Barrett).
__global__ void check(const uint64_t* words, uint64_t inverse, uint64_t* left) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  uint64_t now = 0;
  for (unsigned k = 0; k < kWords; ++k) {
    const uint64_t word = now ^ words[i * kWords + k];
    const uint64_t quotient = clmad_hi(word, inverse, word);
    now = clmad_lo(quotient, kPolynomial, 0);
  }
  left[i] = now;
}

struct Wide {
  uint64_t low = 0, high = 0;
};

Wide product(uint64_t a, uint64_t b) {
  Wide sum;
  for (int bit = 0; bit < 64; ++bit)
    if (b >> bit & 1) {
      sum.low ^= a << bit;
      sum.high ^= bit ? a >> (64 - bit) : 0;
    }
  return sum;
}

uint64_t left_of(const uint64_t* words) {
  uint64_t now = 0;
  for (unsigned k = 0; k < kWords; ++k) {
    now ^= words[k];
    for (int bit = 0; bit < 64; ++bit)
      now = now << 1 ^ (now >> 63 ? kPolynomial : 0);
  }
  return now;
}

// The 64 bits below x^64 of x^128 / (x^64 + kPolynomial).
uint64_t inverse_of_polynomial() {
  uint64_t quotient = 0, left = kPolynomial; // of x^64 times x^64, the first bit of the quotient taken
  for (int bit = 63; bit >= 0; --bit) {
    const bool top = left >> 63;
    quotient |= static_cast<uint64_t>(top) << bit;
    left = left << 1 ^ (top ? kPolynomial : 0);
  }
  return quotient;
}

int main() {
  constexpr unsigned count = 4096;
  Numbers numbers;
  const auto words = [&](size_t size) {
    std::vector<uint64_t> all(size);
    for (uint64_t& word : all)
      word = static_cast<uint64_t>(numbers.next()) << 32 | numbers.next();
    return all;
  };
  std::vector<uint64_t> a = words(count), b = words(count);
  const std::vector<uint64_t> c = words(count);
  a[0] = b[1] = 0;
  a[2] = b[2] = a[3] = ~uint64_t{0};
  b[3] = 1;
  const DeviceArray<uint64_t> device_a(a), device_b(b), device_c(c), low(count), high(count);
  multiply<<<count / 128, 128>>>(device_a.data(), device_b.data(), device_c.data(), low.data(), high.data());
  std::vector<uint64_t> wanted_low(count), wanted_high(count);
  for (unsigned i = 0; i < count; ++i) {
    const Wide both = product(a[i], b[i]);
    wanted_low[i] = both.low ^ c[i];
    wanted_high[i] = both.high ^ c[i];
  }
  equal(wanted_low, low.host());
  equal(wanted_high, high.host());

  constexpr unsigned messages = 256;
  const std::vector<uint64_t> text = words(size_t{messages} * kWords);
  const DeviceArray<uint64_t> device_text(text), left(messages);
  check<<<messages / 64, 64>>>(device_text.data(), inverse_of_polynomial(), left.data());
  std::vector<uint64_t> wanted(messages);
  for (unsigned i = 0; i < messages; ++i)
    wanted[i] = left_of(&text[size_t{i} * kWords]);
  equal(wanted, left.host());
  return result();
}
