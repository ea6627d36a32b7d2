#include "host_peak.h"

#include "vgpu/handlers/levels.h"

#include <algorithm>
#include <ctime>

namespace lemma::bench {
namespace {

// Enough independent chains to fill two pipes of latency 4, few enough for 16 registers.
constexpr int kChains = 12;
constexpr int kRounds = 200'000;

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

template <class F>
double measure(F chains, int floats) {
  double best = 0;
  volatile float sink = 1;
  for (int repeat = 0; repeat < 10; ++repeat) {
    const double begin = cpu_seconds();
    sink = chains(sink);
    best = std::max(best, 2e-9 * kRounds * kChains * floats / (cpu_seconds() - begin));
  }
  return best;
}

} // namespace

double host_fma_peak_gflops() {
  static const double peak = [] {
    switch (vgpu::host_level()) {
    case vgpu::HostLevel::avx512:
      return measure(chains_avx512, 16);
    case vgpu::HostLevel::avx2:
      return measure(chains_avx2, 8);
    case vgpu::HostLevel::baseline:
      break;
    }
    return measure(chains_baseline, 4);
  }();
  return peak;
}

} // namespace lemma::bench
