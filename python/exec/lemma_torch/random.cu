// Random numbers as PyTorch's CUDA generator draws them: Philox 4x32-10 by seed, thread and offset, and which
// thread draws which element.
//
// Elements lie in `out` without gaps. With vector 0 a thread draws 4 floats, 2 doubles, 4 or 2 integers at a
// time for elements that are a whole grid apart; with vector 2, 4 or 8, floats for so many elements side by
// side.
//
// Compiled to random.ptx, which is what runs (CUDA 13.0): nvcc -std=c++20 -arch=compute_80 -ptx random.cu
#include <cstdint>

// Where a generator is, as torch's PhiloxCudaState has it. In a captured graph the first two are addresses of
// what a replay has written there, and its draws begin `in_graph` after that offset.
struct Place {
  uint64_t seed, offset, in_graph;
  bool captured;
};

namespace {

__device__ uint64_t seed_of(const Place& at) {
  return at.captured ? *reinterpret_cast<const uint64_t*>(at.seed) : at.seed;
}
__device__ uint64_t offset_of(const Place& at) {
  return at.captured ? *reinterpret_cast<const uint64_t*>(at.offset) + at.in_graph : at.offset;
}

// Philox 4x32-10 (Salmon et al., 2011): 128 bits of each counter, whose upper half is the thread's number.
class Philox {
public:
  __device__ Philox(const Place& at, uint64_t thread)
      : counter_(offset_of(at) / 4), thread_(thread), seed_(seed_of(at)) {}

  __device__ uint4 draw() {
    uint4 c = make_uint4(static_cast<uint32_t>(counter_), counter_ >> 32, static_cast<uint32_t>(thread_),
                         thread_ >> 32);
    uint32_t low = static_cast<uint32_t>(seed_), high = seed_ >> 32;
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t(0xD2511F53) * c.x, b = uint64_t(0xCD9E8D57) * c.z;
      c = make_uint4((b >> 32) ^ c.y ^ low, static_cast<uint32_t>(b), (a >> 32) ^ c.w ^ high,
                     static_cast<uint32_t>(a));
      low += 0x9E3779B9;
      high += 0xBB67AE85;
    }
    ++counter_;
    return c;
  }

private:
  uint64_t counter_, thread_, seed_;
};

// From numbers in (0, 1], as cuRAND makes them of 32 and of 53 bits; normal ones by Box and Muller.
constexpr float kStep = 1.0f / (1ull << 32);
constexpr double kStep53 = 1.0 / (1ull << 53);

__device__ float uniform(uint32_t x) {
  return x * kStep + kStep / 2;
}
__device__ uint64_t bits53(uint32_t x, uint32_t y) {
  return x ^ (static_cast<uint64_t>(y) << 21);
}
__device__ double uniform(uint32_t x, uint32_t y) {
  return bits53(x, y) * kStep53 + kStep53 / 2;
}
__device__ float2 normal(uint32_t x, uint32_t y) {
  constexpr float kAngle = 2.3283064e-10f * 6.2831855f;
  const float radius = sqrtf(-2.0f * logf(uniform(x)));
  float2 point;
  __sincosf(y * kAngle + kAngle / 2, &point.x, &point.y);
  return make_float2(point.x * radius, point.y * radius);
}
__device__ double2 normal(uint4 x) {
  const double radius = sqrt(-2.0 * log(uniform(x.x, x.y)));
  double2 point;
  sincospi(bits53(x.z, x.w) * (kStep53 * 2) + kStep53, &point.x, &point.y);
  return make_double2(point.x * radius, point.y * radius);
}

enum Distribution { kUniform, kNormal, kLogNormal, kExponential, kCauchy, kGeometric, kBernoulli };

__device__ bool is_normal(int distribution) {
  return distribution == kNormal || distribution == kLogNormal;
}

// float has the fast functions, double those of the library.
__device__ float log_of(float x) {
  return __logf(x);
}
__device__ double log_of(double x) {
  return log(x);
}
__device__ float exp_of(float x) {
  return __expf(x);
}
__device__ double exp_of(double x) {
  return exp(x);
}
__device__ float tan_of(float x) {
  return __tanf(x);
}
__device__ double tan_of(double x) {
  return tan(x);
}

template <class T>
__device__ T transformed(T drawn, int distribution, T a, T b, T below_one) {
  switch (distribution) {
  case kUniform:
  case kNormal:
    return drawn * a + b;
  case kLogNormal:
    return exp_of(drawn * a + b);
  case kExponential: {
    const T log = drawn >= T(1) - below_one ? -below_one : log_of(drawn);
    return T(-1) / a * log;
  }
  case kCauchy: {
    constexpr T kPi = T(3.14159265358979323846);
    return b + a * tan_of(kPi * (drawn - T(0.5)));
  }
  case kGeometric:
    return ceil(log_of(drawn) / log_of(T(1) - a));
  default:
    return drawn < a;
  }
}

__device__ float4 draw(Philox& philox, int distribution, float) {
  const uint4 x = philox.draw();
  if (!is_normal(distribution))
    return make_float4(uniform(x.x), uniform(x.y), uniform(x.z), uniform(x.w));
  const float2 a = normal(x.x, x.y), b = normal(x.z, x.w);
  return make_float4(a.x, a.y, b.x, b.y);
}
__device__ double2 draw(Philox& philox, int distribution, double) {
  const uint4 x = philox.draw();
  return is_normal(distribution) ? normal(x) : make_double2(uniform(x.x, x.y), uniform(x.z, x.w));
}

__device__ float element(float4 of, int i) {
  return i == 0 ? of.x : i == 1 ? of.y : i == 2 ? of.z : of.w;
}
__device__ double element(double2 of, int i) {
  return i == 0 ? of.x : of.y;
}
__device__ uint32_t element(uint4 of, int i) {
  return i == 0 ? of.x : i == 1 ? of.y : i == 2 ? of.z : of.w;
}
__device__ uint64_t element(ulonglong2 of, int i) {
  return i == 0 ? of.x : of.y;
}

__device__ int64_t threads() {
  return static_cast<int64_t>(blockDim.x) * gridDim.x;
}
__device__ int64_t thread() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// f(element, what is drawn for it), of which draw_more() gives `Unroll` at a time.
template <int Unroll, class Draw, class F>
__device__ void each_of_grid(int64_t count, Draw draw_more, F f) {
  for (int64_t first = thread(); first < count; first += threads() * Unroll) {
    const auto drawn = draw_more();
    for (int i = 0; i < Unroll; ++i)
      if (first + threads() * i < count)
        f(first + threads() * i, element(drawn, i));
  }
}

} // namespace

extern "C" __global__ void draw_f32(float* out, int64_t count, Place at, int distribution, float a, float b,
                                    int vector) {
  constexpr float kBelowOne = 1.1920928955078125e-07f / 2;
  Philox philox(at, thread());
  if (vector == 0) {
    each_of_grid<4>(
        count, [&] { return draw(philox, distribution, 0.0f); },
        [=](int64_t i, float drawn) { out[i] = transformed(drawn, distribution, a, b, kBelowOne); });
    return;
  }
  for (int64_t first = thread() * vector; first < count; first += threads() * vector) {
    float4 drawn{};
    for (int i = 0; i < vector && first + i < count; ++i) {
      if (i % 4 == 0)
        drawn = draw(philox, kUniform, 0.0f);
      out[first + i] = transformed(element(drawn, i % 4), distribution, a, b, kBelowOne);
    }
  }
}

extern "C" __global__ void draw_f64(double* out, int64_t count, Place at, int distribution, double a,
                                    double b) {
  constexpr double kBelowOne = 2.220446049250313e-16 / 2;
  Philox philox(at, thread());
  each_of_grid<2>(
      count, [&] { return draw(philox, distribution, 0.0); },
      [=](int64_t i, double drawn) { out[i] = transformed(drawn, distribution, a, b, kBelowOne); });
}

// base + x % range, of 32 bits or of 64; a range of 0 is that of all numbers.
extern "C" __global__ void draw_i64(int64_t* out, int64_t count, Place at, int bits, uint64_t range,
                                    int64_t base) {
  Philox philox(at, thread());
  const auto place = [=](int64_t i, uint64_t drawn) {
    out[i] = static_cast<int64_t>(range == 0 ? drawn : drawn % range) + base;
  };
  if (bits == 32) {
    each_of_grid<4>(count, [&] { return philox.draw(); }, place);
    return;
  }
  each_of_grid<2>(
      count,
      [&] {
        const uint4 x = philox.draw();
        return make_ulonglong2((static_cast<uint64_t>(x.x) << 32) | x.y,
                               (static_cast<uint64_t>(x.z) << 32) | x.w);
      },
      place);
}

// How often what is expected so often happens, by a number in (0, 1]: the first whose distribution function
// reaches it. Sums begin where there is next to nothing, by Stirling's series.
__device__ unsigned poisson_quantile(double expected, double reach) {
  const double far = 12 * sqrt(expected);
  double count = 0, probability = exp(-expected);
  if (expected > 700) {
    count = floor(expected - far);
    const double stirling = 1 / (12 * count) - 1 / (360 * count * count * count);
    probability =
        exp(count * log(expected / count) - expected + count - stirling) * rsqrt(6.283185307179586 * count);
  }
  for (double sum = probability; sum < reach && count < expected + far; sum += probability) {
    count += 1;
    probability *= expected / count;
  }
  return static_cast<unsigned>(count);
}

// By Knuth: how many uniform numbers it takes until their product with e^expected is 1 at most.
__device__ unsigned poisson_product(float expected, Philox& philox) {
  float product = expf(expected);
  uint4 drawn{};
  for (unsigned count = 0;; ++count) {
    if (count % 4 == 0)
      drawn = philox.draw();
    product *= uniform(element(drawn, count % 4));
    if (product <= 1.0f)
      return count;
  }
}

// Poisson's numbers in place of their expectations. cuRAND rejects by approximations of the incomplete gamma
// function from 64 to 4000; these here are others.
extern "C" __global__ void draw_poisson(double* out, int64_t count, Place at) {
  for (int64_t i = thread(); i < count; i += threads()) {
    Philox philox(at, i);
    const double expected = out[i];
    if (expected < 64)
      out[i] = poisson_product(static_cast<float>(expected), philox);
    else if (expected > 4000)
      out[i] = static_cast<unsigned>(sqrt(expected) * normal(philox.draw()).x + expected + 0.5);
    else
      out[i] = poisson_quantile(expected, uniform(philox.draw().x));
  }
}

// out * factor + summand, rounded once.
extern "C" __global__ void scale_and_shift(double* out, int64_t count, double factor, double summand) {
  for (int64_t i = thread(); i < count; i += threads())
    out[i] = fma(out[i], factor, summand);
}

// Shuffles the numbers in `out` whose keys, which are sorted, are equal.
extern "C" __global__ void shuffle_equal(int64_t* out, int64_t count, Place at, const int64_t* keys) {
  for (int64_t first = thread(); first < count; first += threads()) {
    if (first > 0 && keys[first] == keys[first - 1])
      continue;
    int64_t equal = 1;
    while (first + equal < count && keys[first + equal] == keys[first])
      ++equal;
    Philox philox(at, first);
    uint4 drawn{};
    for (int64_t i = equal - 1, n = 0; i > 0; --i, ++n) {
      if (n % 4 == 0)
        drawn = philox.draw();
      const int64_t other = element(drawn, n % 4) % (i + 1);
      const int64_t kept = out[first + i];
      out[first + i] = out[first + other];
      out[first + other] = kept;
    }
  }
}
