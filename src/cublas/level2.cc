// A matrix and vectors: made dense, the other triangle, what is packed or banded too, and then products.
#include "cublas/operand.h"
#include "cublas/routines.h"
#include "cublas/triangle.h"

namespace lemma::cublas::routines {
namespace {

template <class V>
Dense<V> as_column(std::vector<V> values) {
  Dense<V> column;
  column.rows = static_cast<int64_t>(values.size());
  column.columns = 1;
  column.values = std::move(values);
  return column;
}

// y = alpha * product + beta * y.
template <class V>
void add_to(const Memory& memory, const Vector& y, V alpha, const Dense<V>& product, V beta) {
  std::vector<V> values = beta == V() ? std::vector<V>(product.values.size()) : load<V>(memory, y);
  for (size_t i = 0; i < values.size(); ++i) {
    const V sum = product.values.empty() ? V() : alpha * product.values[i];
    values[i] = beta == V() ? sum : sum + beta * values[i];
  }
  store(memory, y, std::move(values));
}

// y = alpha * op(A) * x + beta * y; `load_a`, Dense<V>(memory, V()), makes A.
template <class F>
cublasStatus_t multiply_vector(const cublasContext& with, cublasOperation_t op, const Scalar& alpha, F load_a,
                               const Vector& x, const Scalar& beta, const Vector& y) {
  require(x.increment != 0 && y.increment != 0);
  if (y.n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(with.stream, [=](const Memory& memory) {
    with_values(is_complex(y.type), [&]<class V>(V) {
      const V a = alpha.get<V>(memory), b = beta.get<V>(memory);
      Dense<V> sums(y.n, 1);
      if (a != V() && x.n > 0)
        sums = product(load_a(memory, V()), op, as_column(load<V>(memory, x)), CUBLAS_OP_N);
      add_to(memory, y, a, sums, b);
    });
  });
}

template <class V>
Dense<V> load_band(const Memory& memory, const Matrix& band, int64_t m, int64_t n, int64_t kl, int64_t ku) {
  Dense<V> to(m, n);
  for (int64_t j = 0; j < n; ++j) {
    const int64_t first = std::max<int64_t>(0, j - ku), end = std::min(m, j + kl + 1);
    if (first >= end)
      continue;
    const Dense<V> column = load<V>(memory, band.part(ku + first - j, j, end - first, 1));
    std::copy(column.values.begin(), column.values.end(), to.column(j) + first);
  }
  return to;
}

} // namespace

cublasStatus_t gemv(cudaDataType type, cublasHandle_t handle, cublasOperation_t op, int64_t m, int64_t n,
                    const void* alpha, const void* a, int64_t lda, const void* x, int64_t incx,
                    const void* beta, void* y, int64_t incy) {
  const cublasContext& with = checked(handle);
  require_operation(op);
  const Matrix from = matrix(a, type, m, n, lda);
  const bool flips = op != CUBLAS_OP_N;
  if (m == 0 || n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return multiply_vector(
      with, op, {with, type, alpha}, [=]<class V>(const Memory& memory, V) { return load<V>(memory, from); },
      vector(x, type, flips ? m : n, incx), {with, type, beta}, vector(y, type, flips ? n : m, incy));
}

cublasStatus_t gbmv(cudaDataType type, cublasHandle_t handle, cublasOperation_t op, int64_t m, int64_t n,
                    int64_t kl, int64_t ku, const void* alpha, const void* a, int64_t lda, const void* x,
                    int64_t incx, const void* beta, void* y, int64_t incy) {
  const cublasContext& with = checked(handle);
  require_operation(op);
  require(m >= 0 && n >= 0 && kl >= 0 && ku >= 0);
  const Matrix from = matrix(a, type, kl + ku + 1, n, lda);
  const bool flips = op != CUBLAS_OP_N;
  return multiply_vector(
      with, op, {with, type, alpha},
      [=]<class V>(const Memory& memory, V) { return load_band<V>(memory, from, m, n, kl, ku); },
      vector(x, type, flips ? m : n, incx), {with, type, beta}, vector(y, type, flips ? n : m, incy));
}

namespace {

cublasStatus_t symmetric(const cublasContext& with, cublasFillMode_t uplo, const Triangle& triangle,
                         bool is_hermitian, const void* alpha, const void* x, int64_t incx, const void* beta,
                         void* y, int64_t incy) {
  require_fill(uplo);
  const cudaDataType type = triangle.type;
  return multiply_vector(
      with, CUBLAS_OP_N, {with, type, alpha},
      [=]<class V>(const Memory& memory, V) {
        return filled(triangle.load<V>(memory, uplo), uplo, is_hermitian);
      },
      vector(x, type, triangle.n, incx), {with, type, beta}, vector(y, type, triangle.n, incy));
}

} // namespace

cublasStatus_t symv(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                    int64_t n, const void* alpha, const void* a, int64_t lda, const void* x, int64_t incx,
                    const void* beta, void* y, int64_t incy) {
  return symmetric(checked(handle), uplo, Triangle::full(a, type, n, lda), is_hermitian, alpha, x, incx, beta,
                   y, incy);
}
cublasStatus_t sbmv(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                    int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda, const void* x,
                    int64_t incx, const void* beta, void* y, int64_t incy) {
  return symmetric(checked(handle), uplo, Triangle::band(a, type, n, k, lda), is_hermitian, alpha, x, incx,
                   beta, y, incy);
}
cublasStatus_t spmv(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                    int64_t n, const void* alpha, const void* ap, const void* x, int64_t incx,
                    const void* beta, void* y, int64_t incy) {
  return symmetric(checked(handle), uplo, Triangle::packed(ap, type, n), is_hermitian, alpha, x, incx, beta,
                   y, incy);
}

cublasStatus_t ger(cudaDataType type, bool conjugates, cublasHandle_t handle, int64_t m, int64_t n,
                   const void* alpha, const void* x, int64_t incx, const void* y, int64_t incy, void* a,
                   int64_t lda) {
  const cublasContext& with = checked(handle);
  require(incx != 0 && incy != 0);
  const Matrix to = matrix(a, type, m, n, lda);
  const Vector left = vector(x, type, m, incx), right = vector(y, type, n, incy);
  const Scalar factor(with, type, alpha);
  if (m == 0 || n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(with.stream, [=](const Memory& memory) {
    with_values(is_complex(type), [&]<class V>(V) {
      const V scale = factor.get<V>(memory);
      if (scale == V())
        return;
      const std::vector<V> down = load<V>(memory, left), across = load<V>(memory, right);
      Dense<V> values = load<V>(memory, to);
      for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i) {
          const V other = across[static_cast<size_t>(j)];
          values(i, j) += scale * down[static_cast<size_t>(i)] * (conjugates ? conjugate(other) : other);
        }
      store(memory, to, values);
    });
  });
}

namespace {

// A += alpha * x * x' (Hermitian: alpha is real), or with y alpha * x * y' + alpha' * y * x'.
cublasStatus_t update(const cublasContext& with, cublasFillMode_t uplo, const Triangle& to, bool is_hermitian,
                      const Scalar& alpha, const Vector& x, const Vector* y) {
  require_fill(uplo);
  require(x.increment != 0 && (!y || y->increment != 0));
  const bool has_two = y != nullptr;
  const Vector other = y ? *y : x;
  if (to.n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(with.stream, [=](const Memory& memory) {
    with_values(is_complex(to.type), [&]<class V>(V) {
      const V scale = alpha.get<V>(memory);
      if (scale == V())
        return;
      const auto primed = [&](const V& value) { return is_hermitian ? conjugate(value) : value; };
      const std::vector<V> a = load<V>(memory, x), b = load<V>(memory, other);
      Dense<V> values = to.load<V>(memory, uplo);
      each_column_of_triangle(uplo, to.n, [&](int64_t j, int64_t first, int64_t rows) {
        const auto column = static_cast<size_t>(j);
        for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(first + rows); ++i) {
          V& value = values(static_cast<int64_t>(i), j);
          value += scale * a[i] * primed(b[column]);
          if (has_two)
            value += primed(scale) * b[i] * primed(a[column]);
        }
      });
      if (is_hermitian)
        make_diagonal_real(values);
      to.store(memory, uplo, values);
    });
  });
}

cudaDataType type_of_alpha(cudaDataType type, bool is_hermitian) {
  return is_hermitian ? real_type_of(type) : type;
}

} // namespace

cublasStatus_t syr(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                   int64_t n, const void* alpha, const void* x, int64_t incx, void* a, int64_t lda) {
  const cublasContext& with = checked(handle);
  return update(with, uplo, Triangle::full(a, type, n, lda), is_hermitian,
                {with, type_of_alpha(type, is_hermitian), alpha}, vector(x, type, n, incx), nullptr);
}
cublasStatus_t spr(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                   int64_t n, const void* alpha, const void* x, int64_t incx, void* ap) {
  const cublasContext& with = checked(handle);
  return update(with, uplo, Triangle::packed(ap, type, n), is_hermitian,
                {with, type_of_alpha(type, is_hermitian), alpha}, vector(x, type, n, incx), nullptr);
}
cublasStatus_t syr2(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                    int64_t n, const void* alpha, const void* x, int64_t incx, const void* y, int64_t incy,
                    void* a, int64_t lda) {
  const cublasContext& with = checked(handle);
  const Vector other = vector(y, type, n, incy);
  return update(with, uplo, Triangle::full(a, type, n, lda), is_hermitian, {with, type, alpha},
                vector(x, type, n, incx), &other);
}
cublasStatus_t spr2(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                    int64_t n, const void* alpha, const void* x, int64_t incx, const void* y, int64_t incy,
                    void* ap) {
  const cublasContext& with = checked(handle);
  const Vector other = vector(y, type, n, incy);
  return update(with, uplo, Triangle::packed(ap, type, n), is_hermitian, {with, type, alpha},
                vector(x, type, n, incx), &other);
}

namespace {

// x = op(A) * x, or the solution of op(A) * x = what was there.
cublasStatus_t triangular(const cublasContext& with, cublasFillMode_t uplo, cublasOperation_t op,
                          cublasDiagType_t diagonal, const Triangle& a, const Vector& x, bool solves) {
  require_fill(uplo);
  require_operation(op);
  require(x.increment != 0 && (diagonal == CUBLAS_DIAG_UNIT || diagonal == CUBLAS_DIAG_NON_UNIT));
  if (a.n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(with.stream, [=](const Memory& memory) {
    with_values(is_complex(a.type), [&]<class V>(V) {
      const Dense<V> factor = with_diagonal(a.load<V>(memory, uplo), diagonal);
      Dense<V> values = as_column(load<V>(memory, x));
      if (solves)
        solve_triangular(factor, uplo, op, values);
      else
        values = product(factor, op, values, CUBLAS_OP_N);
      store(memory, x, std::move(values.values));
    });
  });
}

} // namespace

cublasStatus_t trmv(cudaDataType type, bool solves, cublasHandle_t handle, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diagonal, int64_t n, const void* a, int64_t lda,
                    void* x, int64_t incx) {
  return triangular(checked(handle), uplo, op, diagonal, Triangle::full(a, type, n, lda),
                    vector(x, type, n, incx), solves);
}
cublasStatus_t tbmv(cudaDataType type, bool solves, cublasHandle_t handle, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diagonal, int64_t n, int64_t k, const void* a,
                    int64_t lda, void* x, int64_t incx) {
  return triangular(checked(handle), uplo, op, diagonal, Triangle::band(a, type, n, k, lda),
                    vector(x, type, n, incx), solves);
}
cublasStatus_t tpmv(cudaDataType type, bool solves, cublasHandle_t handle, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diagonal, int64_t n, const void* ap, void* x,
                    int64_t incx) {
  return triangular(checked(handle), uplo, op, diagonal, Triangle::packed(ap, type, n),
                    vector(x, type, n, incx), solves);
}

cublasStatus_t trttp(cudaDataType type, cublasHandle_t handle, cublasFillMode_t uplo, int64_t n,
                     const void* a, int64_t lda, void* ap) {
  return copy_triangle(checked(handle), uplo, Triangle::full(a, type, n, lda), Triangle::packed(ap, type, n));
}
cublasStatus_t tpttr(cudaDataType type, cublasHandle_t handle, cublasFillMode_t uplo, int64_t n,
                     const void* ap, void* a, int64_t lda) {
  return copy_triangle(checked(handle), uplo, Triangle::packed(ap, type, n), Triangle::full(a, type, n, lda));
}

} // namespace lemma::cublas::routines
