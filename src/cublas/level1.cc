// Vectors.
#include "cublas/operand.h"
#include "cublas/routines.h"

#include <cmath>

namespace lemma::cublas::routines {
namespace {

double magnitude(double value) {
  return std::abs(value);
}
double magnitude(const Complex& value) { // as BLAS compares and adds complex numbers
  return std::abs(value.real()) + std::abs(value.imag());
}

void require_type(cudaDataType type) {
  require(bytes_of(type) != 0, CUBLAS_STATUS_NOT_SUPPORTED);
}

// One real number from a vector; `f` of no elements is 0.
template <class F>
cublasStatus_t reduce(cublasHandle_t handle, int64_t n, cudaDataType x_type, const void* x, int64_t incx,
                      cudaDataType result_type, void* result, F f) {
  const cublasContext& with = checked(handle);
  require_type(x_type);
  require_type(result_type);
  const size_t bytes = bytes_of(result_type);
  const Result to(with, result, bytes);
  const bool is_empty = n <= 0 || incx <= 0;
  const Vector from = vector(x, x_type, is_empty ? 0 : n, incx);
  return to.fetch(with, compute(with.stream, [=](const Memory& memory) {
                    with_values(is_complex(x_type), [&]<class V>(V) {
                      const auto value = f(load<V>(memory, from));
                      std::array<std::byte, 16> encoded{};
                      encode(result_type, &value, 1, encoded.data());
                      to.give(memory, encoded.data(), bytes);
                    });
                  }));
}

cublasStatus_t find_extreme(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                            void* result, size_t bytes, bool is_least) {
  const cublasContext& with = checked(handle);
  require_type(type);
  const Result to(with, result, bytes);
  const Vector from = vector(x, type, n <= 0 || incx <= 0 ? 0 : n, incx);
  return to.fetch(with, compute(with.stream, [=](const Memory& memory) {
                    with_values(is_complex(type), [&]<class V>(V) {
                      const std::vector<V> values = load<V>(memory, from);
                      int64_t found = values.empty() ? 0 : 1; // counted from 1
                      for (size_t i = 1; i < values.size(); ++i) {
                        const double best = magnitude(values[static_cast<size_t>(found - 1)]),
                                     here = magnitude(values[i]);
                        if (is_least ? here < best : here > best)
                          found = static_cast<int64_t>(i) + 1;
                      }
                      to.give(memory, &found, bytes); // little endian
                    });
                  }));
}

// y = f(x, y), element by element.
template <class F>
cublasStatus_t combine(const cublasContext& handle, const Vector& x, const Vector& y, F f) {
  if (y.n <= 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(handle.stream, [=](const Memory& memory) {
    with_values(is_complex(y.type), [&]<class V>(V) {
      if constexpr (std::is_invocable_v<F, const Memory&, std::vector<V>, V>)
        f(memory, load<V>(memory, x), V());
    });
  });
}

} // namespace

cublasStatus_t iamax(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                     int* result) {
  return find_extreme(type, handle, n, x, incx, result, sizeof *result, false);
}
cublasStatus_t iamax(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                     int64_t* result) {
  return find_extreme(type, handle, n, x, incx, result, sizeof *result, false);
}
cublasStatus_t iamin(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                     int* result) {
  return find_extreme(type, handle, n, x, incx, result, sizeof *result, true);
}
cublasStatus_t iamin(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                     int64_t* result) {
  return find_extreme(type, handle, n, x, incx, result, sizeof *result, true);
}

cublasStatus_t asum_ex(cublasHandle_t handle, int64_t n, const void* x, cudaDataType x_type, int64_t incx,
                       void* result, cudaDataType result_type, cudaDataType) {
  return reduce(handle, n, x_type, x, incx, result_type, result, [](const auto& values) {
    double sum = 0;
    for (const auto& value : values)
      sum += magnitude(value);
    return sum;
  });
}
cublasStatus_t asum(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                    void* result) {
  return asum_ex(handle, n, x, type, incx, result, real_type_of(type), type);
}

// Scaled, so that no square leaves f64's range.
cublasStatus_t nrm2_ex(cublasHandle_t handle, int64_t n, const void* x, cudaDataType x_type, int64_t incx,
                       void* result, cudaDataType result_type, cudaDataType) {
  return reduce(handle, n, x_type, x, incx, result_type, result, [](const auto& values) {
    double largest = 0;
    for (const auto& value : values)
      if (const double here = magnitude(value); !(here <= largest)) // a NaN too
        largest = here;
    if (largest == 0 || !std::isfinite(largest))
      return largest;
    int exponent = 0;
    std::frexp(largest, &exponent);
    double sum = 0;
    for (const auto& value : values)
      sum += std::norm(value * std::ldexp(1.0, -exponent));
    return std::ldexp(std::sqrt(sum), exponent);
  });
}
cublasStatus_t nrm2(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                    void* result) {
  return nrm2_ex(handle, n, x, type, incx, result, real_type_of(type), type);
}

namespace {

cublasStatus_t dot_of(bool conjugates, cublasHandle_t handle, int64_t n, const Vector& x, const Vector& y,
                      void* result, cudaDataType result_type) {
  const cublasContext& with = checked(handle);
  require_type(x.type);
  require_type(y.type);
  require_type(result_type);
  const size_t bytes = bytes_of(result_type);
  const Result to(with, result, bytes);
  return to.fetch(with, compute(with.stream, [=](const Memory& memory) {
                    with_values(is_complex(result_type), [&]<class V>(V) {
                      V sum{};
                      if (n > 0) {
                        const std::vector<V> a = load<V>(memory, x), b = load<V>(memory, y);
                        multiply(1, 1, n, {a.data(), 1, 1, conjugates}, {b.data(), 1, 1}, &sum, 1);
                      }
                      std::array<std::byte, 16> encoded{};
                      encode(result_type, &sum, 1, encoded.data());
                      to.give(memory, encoded.data(), bytes);
                    });
                  }));
}

} // namespace

cublasStatus_t dot_ex(cublasHandle_t handle, int64_t n, const void* x, cudaDataType x_type, int64_t incx,
                      const void* y, cudaDataType y_type, int64_t incy, void* result,
                      cudaDataType result_type, cudaDataType) {
  return dot_of(false, handle, n, vector(x, x_type, n, incx), vector(y, y_type, n, incy), result,
                result_type);
}
cublasStatus_t dotc_ex(cublasHandle_t handle, int64_t n, const void* x, cudaDataType x_type, int64_t incx,
                       const void* y, cudaDataType y_type, int64_t incy, void* result,
                       cudaDataType result_type, cudaDataType) {
  return dot_of(true, handle, n, vector(x, x_type, n, incx), vector(y, y_type, n, incy), result, result_type);
}
cublasStatus_t dot(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                   const void* y, int64_t incy, void* result) {
  return dot_of(false, handle, n, vector(x, type, n, incx), vector(y, type, n, incy), result, type);
}
cublasStatus_t dotc(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                    const void* y, int64_t incy, void* result) {
  return dot_of(true, handle, n, vector(x, type, n, incx), vector(y, type, n, incy), result, type);
}

cublasStatus_t axpy_ex(cublasHandle_t handle, int64_t n, const void* alpha, cudaDataType alpha_type,
                       const void* x, cudaDataType x_type, int64_t incx, void* y, cudaDataType y_type,
                       int64_t incy, cudaDataType) {
  const cublasContext& with = checked(handle);
  require_type(x_type);
  require_type(y_type);
  const Scalar factor(with, alpha_type, alpha);
  const Vector to = vector(y, y_type, n, incy);
  return combine(with, vector(x, x_type, n, incx), to,
                 [=]<class V>(const Memory& memory, const std::vector<V>& from, V) {
                   const V a = factor.get<V>(memory);
                   if (a == V())
                     return;
                   std::vector<V> values = load<V>(memory, to);
                   for (size_t i = 0; i < values.size(); ++i)
                     values[i] += a * from[i];
                   store(memory, to, std::move(values));
                 });
}
cublasStatus_t axpy(cudaDataType type, cublasHandle_t handle, int64_t n, const void* alpha, const void* x,
                    int64_t incx, void* y, int64_t incy) {
  return axpy_ex(handle, n, alpha, type, x, type, incx, y, type, incy, type);
}

cublasStatus_t copy_ex(cublasHandle_t handle, int64_t n, const void* x, cudaDataType x_type, int64_t incx,
                       void* y, cudaDataType y_type, int64_t incy) {
  const cublasContext& with = checked(handle);
  require_type(x_type);
  require_type(y_type);
  const Vector to = vector(y, y_type, n, incy);
  return combine(
      with, vector(x, x_type, n, incx), to,
      [=]<class V>(const Memory& memory, const std::vector<V>& from, V) { store(memory, to, from); });
}
cublasStatus_t copy(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx, void* y,
                    int64_t incy) {
  return copy_ex(handle, n, x, type, incx, y, type, incy);
}

cublasStatus_t swap_ex(cublasHandle_t handle, int64_t n, void* x, cudaDataType x_type, int64_t incx, void* y,
                       cudaDataType y_type, int64_t incy) {
  const cublasContext& with = checked(handle);
  require_type(x_type);
  require_type(y_type);
  const Vector first = vector(x, x_type, n, incx), second = vector(y, y_type, n, incy);
  return combine(with, first, second, [=]<class V>(const Memory& memory, const std::vector<V>& from, V) {
    std::vector<V> other = load<V>(memory, second);
    store(memory, second, from);
    store(memory, first, std::move(other));
  });
}
cublasStatus_t swap(cudaDataType type, cublasHandle_t handle, int64_t n, void* x, int64_t incx, void* y,
                    int64_t incy) {
  return swap_ex(handle, n, x, type, incx, y, type, incy);
}

cublasStatus_t scal_ex(cublasHandle_t handle, int64_t n, const void* alpha, cudaDataType alpha_type, void* x,
                       cudaDataType x_type, int64_t incx, cudaDataType) {
  const cublasContext& with = checked(handle);
  require_type(x_type);
  const Scalar factor(with, alpha_type, alpha);
  const Vector to = vector(x, x_type, incx <= 0 ? 0 : n, incx);
  return combine(with, to, to, [=]<class V>(const Memory& memory, std::vector<V> values, V) {
    const V a = factor.get<V>(memory);
    for (V& value : values)
      value = a == V() ? V() : a * value;
    store(memory, to, std::move(values));
  });
}
cublasStatus_t scal(cudaDataType type, cudaDataType alpha_type, cublasHandle_t handle, int64_t n,
                    const void* alpha, void* x, int64_t incx) {
  return scal_ex(handle, n, alpha, alpha_type, x, type, incx, type);
}

namespace {

cublasStatus_t rotate(cublasHandle_t handle, int64_t n, void* x, cudaDataType x_type, int64_t incx, void* y,
                      cudaDataType y_type, int64_t incy, const void* c, cudaDataType c_type, const void* s,
                      cudaDataType s_type) {
  const cublasContext& with = checked(handle);
  require_type(x_type);
  const Scalar cosine(with, c_type, c), sine(with, s_type, s);
  const Vector first = vector(x, x_type, n, incx), second = vector(y, y_type, n, incy);
  return combine(with, first, second, [=]<class V>(const Memory& memory, std::vector<V> a, V) {
    std::vector<V> b = load<V>(memory, second);
    const auto cos = cosine.get<V>(memory), sin = sine.get<V>(memory);
    for (size_t i = 0; i < a.size(); ++i) {
      const V before = a[i];
      a[i] = cos * before + sin * b[i];
      b[i] = cos * b[i] - conjugate(sin) * before;
    }
    store(memory, first, std::move(a));
    store(memory, second, std::move(b));
  });
}

} // namespace

cublasStatus_t rot_ex(cublasHandle_t handle, int64_t n, void* x, cudaDataType x_type, int64_t incx, void* y,
                      cudaDataType y_type, int64_t incy, const void* c, const void* s, cudaDataType c_s_type,
                      cudaDataType) {
  return rotate(handle, n, x, x_type, incx, y, y_type, incy, c, c_s_type, s, c_s_type);
}
cublasStatus_t rot(cudaDataType type, cudaDataType sine_type, cublasHandle_t handle, int64_t n, void* x,
                   int64_t incx, void* y, int64_t incy, const void* c, const void* s) {
  return rotate(handle, n, x, type, incx, y, type, incy, c, real_type_of(type), s, sine_type);
}

// param: a flag, then h11, h21, h12, h22, of which the flag says which are 1, 0 or -1.
cublasStatus_t rotm(cudaDataType type, cublasHandle_t handle, int64_t n, void* x, int64_t incx, void* y,
                    int64_t incy, const void* param) {
  const cublasContext& with = checked(handle);
  const size_t bytes = bytes_of(type);
  std::vector<Scalar> parameters;
  for (size_t i = 0; i < 5; ++i)
    parameters.emplace_back(with, type, param ? static_cast<const char*>(param) + i * bytes : nullptr);
  const Vector first = vector(x, type, n, incx), second = vector(y, type, n, incy);
  return combine(with, first, second, [=](const Memory& memory, std::vector<double> a, double) {
    const double flag = parameters[0].get<double>(memory);
    const auto h = [&](size_t i) { return parameters[i].get<double>(memory); };
    if (flag == -2)
      return;
    const double h11 = flag == 0 ? 1 : h(1), h21 = flag == 1 ? -1 : h(2), h12 = flag == 1 ? 1 : h(3),
                 h22 = flag == 0 ? 1 : h(4);
    std::vector<double> b = load<double>(memory, second);
    for (size_t i = 0; i < a.size(); ++i) {
      const double before = a[i];
      a[i] = h11 * before + h12 * b[i];
      b[i] = h21 * before + h22 * b[i];
    }
    store(memory, first, std::move(a));
    store(memory, second, std::move(b));
  });
}

namespace {

// A few numbers, each where the pointer mode says: what f makes of their values goes back, but for the last
// `kept`.
template <size_t count, size_t kept = 0, class F>
cublasStatus_t change_numbers(cublasHandle_t handle, const std::array<void*, count>& at,
                              const std::array<cudaDataType, count>& types, F f) {
  const cublasContext& with = checked(handle);
  for (void* each : at)
    require(each != nullptr);
  if (with.pointer_mode == CUBLAS_POINTER_MODE_HOST) {
    std::array<Complex, count> values;
    for (size_t i = 0; i < count; ++i)
      decode(types[i], at[i], 1, &values[i]);
    f(values);
    for (size_t i = 0; i < count - kept; ++i)
      encode(types[i], &values[i], 1, at[i]);
    return CUBLAS_STATUS_SUCCESS;
  }
  return compute(with.stream, [=](const Memory& memory) {
    std::array<Complex, count> values;
    std::array<std::byte, 16> bytes{};
    for (size_t i = 0; i < count; ++i) {
      memory.read(bytes.data(), address_of(at[i]), bytes_of(types[i]), 1, 0);
      decode(types[i], bytes.data(), 1, &values[i]);
    }
    f(values);
    for (size_t i = 0; i < count - kept; ++i) {
      encode(types[i], &values[i], 1, bytes.data());
      memory.write(address_of(at[i]), bytes.data(), bytes_of(types[i]), 1, 0);
    }
  });
}

// a, b, c, s: the rotation that makes b zero; z in b's place says how, as the reference BLAS does.
void make_real_rotation(std::array<Complex, 4>& v) {
  const double a = v[0].real(), b = v[1].real();
  const double sign = (std::abs(a) > std::abs(b) ? a : b) < 0 ? -1 : 1;
  const double r = sign * std::hypot(a, b);
  const double c = r == 0 ? 1 : a / r, s = r == 0 ? 0 : b / r;
  const double z = r == 0 ? 0 : std::abs(a) > std::abs(b) ? s : c != 0 ? 1 / c : 1;
  v = {r, z, c, s};
}
void make_complex_rotation(std::array<Complex, 4>& v) {
  const double size = std::abs(v[0]), r = std::hypot(size, std::abs(v[1]));
  if (size == 0) {
    v = {v[1], v[1], 0.0, 1.0};
    return;
  }
  const Complex direction = v[0] / size;
  v = {direction * r, v[1], size / r, direction * std::conj(v[1]) / r};
}

// d1, d2, x1, then a flag and h11, h21, h12, h22 (rotm()), and y1: the modified rotation that makes the
// second of (x1 sqrt(d1), y1 sqrt(d2)) zero, scaled so that d1 and d2 stay near 1.
//
// Source: C. L. Lawson et al., "Basic Linear Algebra Subprograms for Fortran Usage", 1979, appendix.
void make_modified_rotation(std::array<Complex, 9>& v) {
  double d1 = v[0].real(), d2 = v[1].real(), x1 = v[2].real(), flag = -2;
  const double y1 = v[8].real(), p2 = d2 * y1, p1 = d1 * x1, q2 = p2 * y1, q1 = p1 * x1;
  double h11 = 0, h21 = 0, h12 = 0, h22 = 0;
  const auto make_nothing = [&] { flag = -1, h11 = h21 = h12 = h22 = d1 = d2 = x1 = 0; };
  if (d1 < 0) {
    make_nothing();
  } else if (p2 == 0) {
    v[3] = flag;
    return;
  } else if (std::abs(q1) > std::abs(q2)) {
    h21 = -y1 / x1, h12 = p2 / p1;
    const double u = 1 - h12 * h21;
    flag = 0, d1 /= u, d2 /= u, x1 *= u;
    if (u <= 0)
      make_nothing();
  } else if (q2 < 0) {
    make_nothing();
  } else {
    flag = 1, h11 = p1 / p2, h22 = x1 / y1;
    const double u = 1 + h11 * h22, first = d2 / u;
    d2 = d1 / u, d1 = first, x1 = y1 * u;
  }
  constexpr double kStep = 4096;
  const auto scale = [&](double& d, double& h_first, double& h_second, double* x) {
    while (d != 0 && (std::abs(d) <= 1 / (kStep * kStep) || std::abs(d) >= kStep * kStep)) {
      if (flag == 0)
        h11 = h22 = 1;
      else if (flag == 1)
        h21 = -1, h12 = 1;
      flag = -1;
      const double by = std::abs(d) < 1 ? kStep : 1 / kStep;
      d *= by * by, h_first /= by, h_second /= by;
      if (x)
        *x /= by;
    }
  };
  scale(d1, h11, h12, &x1);
  scale(d2, h21, h22, nullptr);
  v[0] = d1, v[1] = d2, v[2] = x1, v[3] = flag;
  if (flag != 0)
    v[4] = h11, v[7] = h22;
  if (flag != 1)
    v[5] = h21, v[6] = h12;
}

} // namespace

cublasStatus_t rotmg(cudaDataType type, cublasHandle_t handle, void* d1, void* d2, void* x1, const void* y1,
                     void* param) {
  require(param != nullptr);
  std::array<void*, 9> at{d1, d2, x1};
  for (size_t i = 0; i < 5; ++i)
    at[3 + i] = static_cast<char*>(param) + i * bytes_of(type);
  at[8] = const_cast<void*>(y1); // which is kept
  std::array<cudaDataType, 9> types;
  types.fill(type);
  return change_numbers<9, 1>(handle, at, types, make_modified_rotation);
}

cublasStatus_t rotg(cudaDataType type, cublasHandle_t handle, void* a, void* b, void* c, void* s) {
  return change_numbers<4>(handle, {a, b, c, s}, {type, type, real_type_of(type), type},
                           is_complex(type) ? make_complex_rotation : make_real_rotation);
}

} // namespace lemma::cublas::routines
