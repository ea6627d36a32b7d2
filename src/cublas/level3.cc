// Matrices: of symmetric, Hermitian and triangular ones the whole is made, and then products.
#include "cublas/gemm.h"
#include "cublas/routines.h"
#include "cublas/triangle.h"

namespace lemma::cublas {

cublasStatus_t copy_triangle(const cublasContext& handle, cublasFillMode_t uplo, const Triangle& from,
                             const Triangle& to) {
  require_fill(uplo);
  if (from.n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(handle.stream, [=](const Memory& memory) {
    with_values(is_complex(from.type),
                [&]<class V>(V) { to.store(memory, uplo, from.load<V>(memory, uplo)); });
  });
}

namespace routines {
namespace {

// What c was, times beta, is added.
template <class V>
void add_scaled(Dense<V>& sums, V alpha, V beta, const Dense<V>& before) {
  for (size_t i = 0; i < sums.values.size(); ++i)
    sums.values[i] =
        before.values.empty() ? alpha * sums.values[i] : alpha * sums.values[i] + beta * before.values[i];
}

} // namespace

cublasStatus_t symm(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasSideMode_t side,
                    cublasFillMode_t uplo, int64_t m, int64_t n, const void* alpha, const void* a,
                    int64_t lda, const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc) {
  const cublasContext& with = checked(handle);
  require_fill(uplo);
  require(side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT);
  const bool is_left = side == CUBLAS_SIDE_LEFT;
  const Triangle half = Triangle::full(a, type, is_left ? m : n, lda);
  const Matrix other = matrix(b, type, m, n, ldb), to = matrix(c, type, m, n, ldc);
  const Scalar scale(with, type, alpha), scale_c(with, type, beta);
  if (m == 0 || n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(with.stream, [=](const Memory& memory) {
    with_values(is_complex(type), [&]<class V>(V) {
      const V of_product = scale.get<V>(memory), of_c = scale_c.get<V>(memory);
      Dense<V> sums(m, n);
      if (of_product != V()) {
        const Dense<V> whole = filled(half.load<V>(memory, uplo), uplo, is_hermitian);
        const Dense<V> right = load<V>(memory, other);
        sums = is_left ? product(whole, CUBLAS_OP_N, right, CUBLAS_OP_N)
                       : product(right, CUBLAS_OP_N, whole, CUBLAS_OP_N);
      }
      add_scaled(sums, of_product, of_c, of_c == V() ? Dense<V>() : load<V>(memory, to));
      store(memory, to, sums);
    });
  });
}

namespace {

enum class Rank : uint8_t { k, kx, two_k }; // alpha A A'; alpha A B'; alpha A B' + alpha' B A'

cublasStatus_t update(const cublasContext& with, Rank rank, bool is_hermitian, cublasFillMode_t uplo,
                      cublasOperation_t op, int64_t n, int64_t k, const Scalar& alpha, const Matrix& a,
                      const Matrix& b, const Scalar& beta, const Matrix& c) {
  require_fill(uplo);
  require(op == CUBLAS_OP_N || op == (is_hermitian ? CUBLAS_OP_C : CUBLAS_OP_T) ||
          (op == CUBLAS_OP_C && !is_complex(c.type)));
  if (n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(with.stream, [=](const Memory& memory) {
    with_values(is_complex(c.type), [&]<class V>(V) {
      const V scale = alpha.get<V>(memory), scale_c = beta.get<V>(memory);
      Dense<V> sums(n, n);
      if (scale != V() && k > 0) {
        const Dense<V> left = load<V>(memory, a), right = rank == Rank::k ? left : load<V>(memory, b);
        const cublasOperation_t prime = is_hermitian ? CUBLAS_OP_C : CUBLAS_OP_T;
        const bool flips = op != CUBLAS_OP_N;
        const cublasOperation_t first = flips ? prime : CUBLAS_OP_N, second = flips ? CUBLAS_OP_N : prime;
        sums = product(left, first, right, second);
        for (V& value : sums.values)
          value = scale * value;
        if (rank == Rank::two_k) {
          const Dense<V> more = product(right, first, left, second);
          for (size_t i = 0; i < sums.values.size(); ++i)
            sums.values[i] += (is_hermitian ? conjugate(scale) : scale) * more.values[i];
        }
      }
      if (scale_c != V()) {
        const Dense<V> before = load_triangle<V>(memory, c, uplo);
        for (size_t i = 0; i < sums.values.size(); ++i)
          sums.values[i] += scale_c * before.values[i];
      }
      if (is_hermitian)
        make_diagonal_real(sums);
      store_triangle(memory, c, uplo, sums);
    });
  });
}

Matrix operand_of(const void* at, cudaDataType type, cublasOperation_t op, int64_t n, int64_t k, int64_t ld) {
  require_operation(op);
  return op == CUBLAS_OP_N ? matrix(at, type, n, k, ld) : matrix(at, type, k, n, ld);
}

} // namespace

cublasStatus_t syrk(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                    cublasOperation_t op, int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda,
                    const void* beta, void* c, int64_t ldc) {
  const cublasContext& with = checked(handle);
  const cudaDataType scale = is_hermitian ? real_type_of(type) : type;
  const Matrix from = operand_of(a, type, op, n, k, lda);
  return update(with, Rank::k, is_hermitian, uplo, op, n, k, {with, scale, alpha}, from, from,
                {with, scale, beta}, matrix(c, type, n, n, ldc));
}
cublasStatus_t syr2k(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                     cublasOperation_t op, int64_t n, int64_t k, const void* alpha, const void* a,
                     int64_t lda, const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc) {
  const cublasContext& with = checked(handle);
  return update(with, Rank::two_k, is_hermitian, uplo, op, n, k, {with, type, alpha},
                operand_of(a, type, op, n, k, lda), operand_of(b, type, op, n, k, ldb),
                {with, is_hermitian ? real_type_of(type) : type, beta}, matrix(c, type, n, n, ldc));
}
cublasStatus_t syrkx(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                     cublasOperation_t op, int64_t n, int64_t k, const void* alpha, const void* a,
                     int64_t lda, const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc) {
  const cublasContext& with = checked(handle);
  return update(with, Rank::kx, is_hermitian, uplo, op, n, k, {with, type, alpha},
                operand_of(a, type, op, n, k, lda), operand_of(b, type, op, n, k, ldb),
                {with, is_hermitian ? real_type_of(type) : type, beta}, matrix(c, type, n, n, ldc));
}

cublasStatus_t trmm(cudaDataType type, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diagonal, int64_t m, int64_t n, const void* alpha,
                    const void* a, int64_t lda, const void* b, int64_t ldb, void* c, int64_t ldc) {
  const cublasContext& with = checked(handle);
  require_fill(uplo);
  require_operation(op);
  const bool is_left = side == CUBLAS_SIDE_LEFT;
  const Triangle half = Triangle::full(a, type, is_left ? m : n, lda);
  const Matrix from = matrix(b, type, m, n, ldb), to = matrix(c, type, m, n, ldc);
  const Scalar scale(with, type, alpha);
  if (m == 0 || n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(with.stream, [=](const Memory& memory) {
    with_values(is_complex(type), [&]<class V>(V) {
      const V factor = scale.get<V>(memory);
      Dense<V> sums(m, n);
      if (factor != V()) {
        const Dense<V> triangle = with_diagonal(half.load<V>(memory, uplo), diagonal);
        const Dense<V> values = load<V>(memory, from);
        sums =
            is_left ? product(triangle, op, values, CUBLAS_OP_N) : product(values, CUBLAS_OP_N, triangle, op);
        add_scaled(sums, factor, V(), Dense<V>());
      }
      store(memory, to, sums);
    });
  });
}

namespace {

// op(A) * X = alpha * B, or X * op(A) = alpha * B.
template <class V>
void solve(const Memory& memory, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t op,
           cublasDiagType_t diagonal, V alpha, const Triangle& a, const Matrix& b) {
  Dense<V> values(b.rows, b.columns);
  if (alpha != V()) {
    values = load<V>(memory, b);
    for (V& value : values.values)
      value *= alpha;
    const Dense<V> triangle = with_diagonal(a.load<V>(memory, uplo), diagonal);
    if (side == CUBLAS_SIDE_LEFT) {
      solve_triangular(triangle, uplo, op, values);
    } else if (op == CUBLAS_OP_N) {
      values = transposed(values);
      solve_triangular(triangle, uplo, CUBLAS_OP_T, values);
      values = transposed(values);
    } else { // X * op(A) = B: A * X' = B', or with conjugates
      const bool conjugates = op == CUBLAS_OP_C;
      values = transposed(values);
      for (V& value : values.values)
        value = conjugates ? conjugate(value) : value;
      solve_triangular(triangle, uplo, CUBLAS_OP_N, values);
      values = transposed(values);
      for (V& value : values.values)
        value = conjugates ? conjugate(value) : value;
    }
  }
  store(memory, b, values);
}

void require_triangular(cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t op,
                        cublasDiagType_t diagonal) {
  require_fill(uplo);
  require_operation(op);
  require(side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT);
  require(diagonal == CUBLAS_DIAG_UNIT || diagonal == CUBLAS_DIAG_NON_UNIT);
}

} // namespace

cublasStatus_t trsm(cudaDataType type, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diagonal, int64_t m, int64_t n, const void* alpha,
                    const void* a, int64_t lda, void* b, int64_t ldb) {
  const cublasContext& with = checked(handle);
  require_triangular(side, uplo, op, diagonal);
  const Triangle half = Triangle::full(a, type, side == CUBLAS_SIDE_LEFT ? m : n, lda);
  const Matrix to = matrix(b, type, m, n, ldb);
  const Scalar scale(with, type, alpha);
  if (m == 0 || n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(with.stream, [=](const Memory& memory) {
    with_values(is_complex(type),
                [&]<class V>(V) { solve(memory, side, uplo, op, diagonal, scale.get<V>(memory), half, to); });
  });
}

cublasStatus_t trsm_batched(cudaDataType type, cublasHandle_t handle, cublasSideMode_t side,
                            cublasFillMode_t uplo, cublasOperation_t op, cublasDiagType_t diagonal, int64_t m,
                            int64_t n, const void* alpha, const void* a, int64_t lda, const void* b,
                            int64_t ldb, int64_t count) {
  const cublasContext& with = checked(handle);
  require_triangular(side, uplo, op, diagonal);
  require(count >= 0);
  const Triangle half = Triangle::full(nullptr, type, side == CUBLAS_SIDE_LEFT ? m : n, lda);
  const Matrix to = matrix(nullptr, type, m, n, ldb);
  const Scalar scale(with, type, alpha);
  if (m == 0 || n == 0 || count == 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(with.stream, [=](const Memory& memory) {
    with_values(is_complex(type), [&]<class V>(V) {
      const V factor = scale.get<V>(memory);
      const std::vector<CUdeviceptr> all_a = load_pointers(memory, address_of(a), count),
                                     all_b = load_pointers(memory, address_of(b), count);
      for (size_t i = 0; i < all_a.size(); ++i) {
        Triangle triangle = half;
        triangle.matrix.address = all_a[i];
        Matrix values = to;
        values.address = all_b[i];
        solve(memory, side, uplo, op, diagonal, factor, triangle, values);
      }
    });
  });
}

cublasStatus_t geam(cudaDataType type, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                    int64_t m, int64_t n, const void* alpha, const void* a, int64_t lda, const void* beta,
                    const void* b, int64_t ldb, void* c, int64_t ldc) {
  const cublasContext& with = checked(handle);
  const Matrix first = operand_of(a, type, op_a, m, n, lda), second = operand_of(b, type, op_b, m, n, ldb);
  const Matrix to = matrix(c, type, m, n, ldc);
  const Scalar scale_a(with, type, alpha), scale_b(with, type, beta);
  if (m == 0 || n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(with.stream, [=](const Memory& memory) {
    with_values(is_complex(type), [&]<class V>(V) {
      Dense<V> sums(m, n);
      const auto add = [&](const Scalar& scale, const Matrix& from, cublasOperation_t op) {
        const V factor = scale.get<V>(memory);
        if (factor == V())
          return;
        const Dense<V> values = load<V>(memory, from);
        for (int64_t j = 0; j < n; ++j)
          for (int64_t i = 0; i < m; ++i) {
            const V value = op == CUBLAS_OP_N ? values(i, j) : values(j, i);
            sums(i, j) += factor * (op == CUBLAS_OP_C ? conjugate(value) : value);
          }
      };
      add(scale_a, first, op_a);
      add(scale_b, second, op_b);
      store(memory, to, sums);
    });
  });
}

cublasStatus_t dgmm(cudaDataType type, cublasHandle_t handle, cublasSideMode_t side, int64_t m, int64_t n,
                    const void* a, int64_t lda, const void* x, int64_t incx, void* c, int64_t ldc) {
  const cublasContext& with = checked(handle);
  require(side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT);
  const bool is_left = side == CUBLAS_SIDE_LEFT;
  const Matrix from = matrix(a, type, m, n, lda), to = matrix(c, type, m, n, ldc);
  const Vector diagonal = vector(x, type, is_left ? m : n, incx);
  if (m == 0 || n == 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(with.stream, [=](const Memory& memory) {
    with_values(is_complex(type), [&]<class V>(V) {
      Dense<V> values = load<V>(memory, from);
      const std::vector<V> factors = load<V>(memory, diagonal);
      for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i)
          values(i, j) *= factors[static_cast<size_t>(is_left ? i : j)];
      store(memory, to, values);
    });
  });
}

} // namespace routines
} // namespace lemma::cublas
