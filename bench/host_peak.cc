// A dozen independent chains of multiply-adds for each width of vector, long enough that only the unit's rate
// counts: f32 by the compiler's contraction, 8-bit integers by each level's own instruction, AMX tiles by
// assembly. The best of ten repetitions is taken, in CPU time of the thread.
#include "host_peak.h"

#include "numeric/dot_levels.h"
#include "vgpu/handlers/arithmetic/levels.h"

#include <algorithm>
#include <cstdint>
#include <ctime>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace lemma::bench {
namespace {

// Enough independent chains to fill two pipes of latency 4, few enough for 16 registers.
constexpr int kChains = 12;
constexpr int kRounds = 200'000;
constexpr int kTileRounds = 20'000;

template <int kFloats>
struct Vector {
  typedef float Type __attribute__((vector_size(kFloats * 4)));
};

// Contraction makes an fma of `chain * scale + add`; the rest of Lemma is compiled without it.
#define LEMMA_FMA_CHAINS(name, floats, attributes)                                                           \
  attributes float name(float start) {                                                                       \
    using V = Vector<floats>::Type;                                                                          \
    V chains[kChains];                                                                                       \
    for (int i = 0; i < kChains; ++i)                                                                        \
      chains[i] = V{} + (start + static_cast<float>(i));                                                     \
    const V scale = V{} + 0.999f, add = V{} + 0.001f;                                                        \
    for (int round = 0; round < kRounds; ++round)                                                            \
      for (int i = 0; i < kChains; ++i)                                                                      \
        chains[i] = chains[i] * scale + add;                                                                 \
    V sum{};                                                                                                 \
    for (const V& chain : chains)                                                                            \
      sum += chain;                                                                                          \
    return sum[0];                                                                                           \
  }

LEMMA_FMA_CHAINS(chains_baseline, 4, )
#if defined(__GNUC__) && !defined(__clang__)
LEMMA_FMA_CHAINS(chains_avx2, 8, __attribute__((target("avx2,fma"), optimize("O3,fp-contract=fast"))))
LEMMA_FMA_CHAINS(chains_avx512, 16, __attribute__((target("avx512f,fma"), optimize("O3,fp-contract=fast"))))
#else
constexpr auto chains_avx2 = chains_baseline, chains_avx512 = chains_baseline;
#endif

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// `products`, two operations each, of one call.
template <class F>
double measure(F chains, double products) {
  double best = 0;
  volatile float sink = 1;
  for (int repeat = 0; repeat < 10; ++repeat) {
    const double begin = cpu_seconds();
    sink = chains(sink);
    best = std::max(best, 2e-9 * products / (cpu_seconds() - begin));
  }
  return best;
}

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
// 8-bit multiply-adds: `step` is a chain's next value, of the chain and of `a` and `b`. The operands do not
// matter; the sums wrap.
#define LEMMA_INT8_CHAINS(name, words, attributes, step)                                                     \
  attributes float name(float start) {                                                                       \
    typedef int32_t V __attribute__((vector_size(words * 4)));                                               \
    V chains[kChains];                                                                                       \
    V a = V{} + (static_cast<int>(start) + 0x00020004);                                                      \
    const V b = V{} + 0x00060008;                                                                            \
    for (int i = 0; i < kChains; ++i)                                                                        \
      chains[i] = V{} + i;                                                                                   \
    for (int round = 0; round < kRounds; ++round) {                                                          \
      asm volatile("" : "+x"(a)); /* no product is known from the round before */                            \
      _Pragma("GCC unroll 12") for (V& chain : chains) chain = (V)step;                                      \
    }                                                                                                        \
    V sum{};                                                                                                 \
    for (const V& chain : chains)                                                                            \
      sum ^= chain;                                                                                          \
    return static_cast<float>(sum[0]);                                                                       \
  }

LEMMA_INT8_CHAINS(int8_sse2, 4, ,
                  _mm_add_epi32((__m128i)chain, _mm_madd_epi16((__m128i)(a ^ chain), (__m128i)b)))
LEMMA_INT8_CHAINS(int8_avx2, 8, __attribute__((target("avx2"))),
                  _mm256_add_epi32((__m256i)chain, _mm256_madd_epi16((__m256i)(a ^ chain), (__m256i)b)))
LEMMA_INT8_CHAINS(int8_avx2_vnni, 8, __attribute__((target("avxvnni,avx2"))),
                  _mm256_dpbusd_avx_epi32((__m256i)chain, (__m256i)a, (__m256i)b))
LEMMA_INT8_CHAINS(int8_avx512_vnni, 16, __attribute__((target("avx512f,avx512vnni"))),
                  _mm512_dpbusd_epi32((__m512i)chain, (__m512i)a, (__m512i)b))

// Four tiles of sums, 16 x 16 x 64 each; a round is kChains of them.
float int8_tiles(float start) {
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16};
  } config;
  asm volatile("ldtilecfg %0" ::"m"(config) : "memory");
  for (int round = 0; round < kTileRounds; ++round)
    asm volatile("tdpbssd %tmm5, %tmm4, %tmm0\n tdpbssd %tmm5, %tmm4, %tmm1\n"
                 "tdpbssd %tmm5, %tmm4, %tmm2\n tdpbssd %tmm5, %tmm4, %tmm3");
  asm volatile("tilerelease" ::);
  return start;
}
#endif

} // namespace

double host_int8_peak_gops() {
  static const double peak = [] {
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
    using numeric::internal::DotLevel;
    switch (numeric::internal::dot_levels().back()) {
    case DotLevel::amx:
      return measure(int8_tiles, 4.0 * 16 * 16 * 64 * kTileRounds);
    case DotLevel::avx512_vnni:
      return measure(int8_avx512_vnni, 64.0 * kChains * kRounds);
    case DotLevel::avx2_vnni:
      return measure(int8_avx2_vnni, 32.0 * kChains * kRounds);
    case DotLevel::avx512:
    case DotLevel::avx2:
      return measure(int8_avx2, 16.0 * kChains * kRounds);
    case DotLevel::baseline:
      return measure(int8_sse2, 8.0 * kChains * kRounds);
    case DotLevel::scalar:
      break;
    }
#endif
    return 0.0;
  }();
  return peak;
}

double host_fma_peak_gflops() {
  static const double peak = [] {
    switch (vgpu::host_level()) {
    case vgpu::HostLevel::avx512:
      return measure(chains_avx512, 16.0 * kChains * kRounds);
    case vgpu::HostLevel::avx2:
      return measure(chains_avx2, 8.0 * kChains * kRounds);
    case vgpu::HostLevel::baseline:
      break;
    }
    return measure(chains_baseline, 4.0 * kChains * kRounds);
  }();
  return peak;
}

} // namespace lemma::bench
