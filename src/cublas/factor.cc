// Batches of small square systems: LU, inverses, QR and least squares, by the textbook's loops in f64.
//
// Matrices are where an array of pointers in the device's memory says. `info` of each matrix: 0, or the
// number, counted from 1, of a diagonal element of U that is 0.
#include "cublas/gemm.h"
#include "cublas/routines.h"
#include "cublas/triangle.h"

#include <cmath>

namespace lemma::cublas::routines {
namespace {

double size_of(double value) {
  return std::abs(value);
}
double size_of(const Complex& value) {
  return std::abs(value.real()) + std::abs(value.imag());
}

// A becomes L (without its diagonal of ones) and U; rows[i]: which row, counted from 0, was swapped with i.
template <class V>
int factor(Dense<V>& a, std::vector<int>& rows, bool pivots) {
  const int64_t n = a.rows;
  int info = 0;
  for (int64_t step = 0; step < n; ++step) {
    int64_t pivot = step;
    for (int64_t i = step + 1; pivots && i < n; ++i)
      if (size_of(a(i, step)) > size_of(a(pivot, step)))
        pivot = i;
    rows[static_cast<size_t>(step)] = static_cast<int>(pivot);
    if (pivot != step)
      for (int64_t j = 0; j < n; ++j)
        std::swap(a(step, j), a(pivot, j));
    if (a(step, step) == V()) {
      info = info == 0 ? static_cast<int>(step) + 1 : info;
      continue;
    }
    for (int64_t i = step + 1; i < n; ++i)
      a(i, step) /= a(step, step);
    for (int64_t j = step + 1; j < n; ++j)
      for (int64_t i = step + 1; i < n; ++i)
        a(i, j) -= a(i, step) * a(step, j);
  }
  return info;
}

template <class V>
Dense<V> triangle_of(const Dense<V>& lu, cublasFillMode_t uplo) {
  Dense<V> to(lu.rows, lu.rows);
  each_column_of_triangle(uplo, lu.rows, [&](int64_t j, int64_t first, int64_t count) {
    std::copy_n(lu.column(j) + first, count, to.column(j) + first);
  });
  return uplo == CUBLAS_FILL_MODE_LOWER ? with_diagonal(std::move(to), CUBLAS_DIAG_UNIT) : to;
}

template <class V>
void swap_rows(Dense<V>& b, const std::vector<int>& rows, bool backward) {
  const auto n = static_cast<int64_t>(rows.size());
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = backward ? n - 1 - step : step, other = rows[static_cast<size_t>(i)];
    if (other != i)
      for (int64_t j = 0; j < b.columns; ++j)
        std::swap(b(i, j), b(other, j));
  }
}

// B becomes X of op(A) * X = B.
template <class V>
void solve(const Dense<V>& lu, const std::vector<int>& rows, cublasOperation_t op, Dense<V>& b) {
  const Dense<V> lower = triangle_of(lu, CUBLAS_FILL_MODE_LOWER),
                 upper = triangle_of(lu, CUBLAS_FILL_MODE_UPPER);
  if (op == CUBLAS_OP_N) {
    swap_rows(b, rows, false);
    solve_triangular(lower, CUBLAS_FILL_MODE_LOWER, op, b);
    solve_triangular(upper, CUBLAS_FILL_MODE_UPPER, op, b);
  } else {
    solve_triangular(upper, CUBLAS_FILL_MODE_UPPER, op, b);
    solve_triangular(lower, CUBLAS_FILL_MODE_LOWER, op, b);
    swap_rows(b, rows, true);
  }
}

template <class V>
Dense<V> identity(int64_t n) {
  return with_diagonal(Dense<V>(n, n), CUBLAS_DIAG_UNIT);
}

// The numbers of the rows are counted from 1 in the device's memory. 0: no pivots.
std::vector<int> load_pivots(const Memory& memory, CUdeviceptr at, int64_t n, int64_t batch) {
  std::vector<int> rows(static_cast<size_t>(n));
  if (at != 0)
    memory.read(rows.data(), at + static_cast<uint64_t>(batch * n) * sizeof(int), rows.size() * sizeof(int),
                1, 0);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = at != 0 ? std::clamp(rows[i] - 1, 0, static_cast<int>(n) - 1) : static_cast<int>(i);
  return rows;
}

void give_info(const Memory& memory, void* info, size_t batch, int value) {
  memory.write(address_of(info) + batch * sizeof value, &value, sizeof value, 1, 0);
}

// Where the matrices of a batch are, and a function for each.
struct Several {
  int64_t count;
  std::vector<std::pair<Matrix, const void*>> arrays; // shape, and the array of pointers

  template <class F>
  cublasStatus_t each(const cublasContext& with, F f) const {
    require(count >= 0);
    if (count == 0)
      return CUBLAS_STATUS_SUCCESS;
    return compute(with.stream, [all = *this, f](const Memory& memory) {
      with_values(is_complex(all.arrays.front().first.type), [&]<class V>(V) {
        std::vector<std::vector<CUdeviceptr>> pointers;
        for (const auto& [shape, array] : all.arrays)
          pointers.push_back(load_pointers(memory, address_of(array), all.count));
        for (size_t i = 0; i < static_cast<size_t>(all.count); ++i) {
          std::vector<Matrix> matrices;
          for (size_t j = 0; j < pointers.size(); ++j) {
            matrices.push_back(all.arrays[j].first);
            matrices.back().address = pointers[j][i];
          }
          f(memory, i, matrices, V());
        }
      });
    });
  }
};

} // namespace

cublasStatus_t getrf_batched(cudaDataType type, cublasHandle_t handle, int64_t n, const void* a, int64_t lda,
                             int* pivots, int* info, int64_t count) {
  const cublasContext& with = checked(handle);
  if (n == 0)
    return CUBLAS_STATUS_SUCCESS;
  require(info != nullptr);
  return Several{count, {{matrix(nullptr, type, n, n, lda), a}}}.each(
      with, [=]<class V>(const Memory& memory, size_t i, const std::vector<Matrix>& of, V) {
        Dense<V> values = load<V>(memory, of[0]);
        std::vector<int> rows(static_cast<size_t>(n));
        const int wrong = factor(values, rows, pivots != nullptr);
        store(memory, of[0], values);
        for (int& row : rows)
          ++row;
        if (pivots)
          memory.write(address_of(pivots) + i * rows.size() * sizeof(int), rows.data(),
                       rows.size() * sizeof(int), 1, 0);
        give_info(memory, info, i, wrong);
      });
}

cublasStatus_t getri_batched(cudaDataType type, cublasHandle_t handle, int64_t n, const void* a, int64_t lda,
                             const int* pivots, const void* c, int64_t ldc, int* info, int64_t count) {
  const cublasContext& with = checked(handle);
  if (n == 0)
    return CUBLAS_STATUS_SUCCESS;
  require(info != nullptr);
  return Several{count, {{matrix(nullptr, type, n, n, lda), a}, {matrix(nullptr, type, n, n, ldc), c}}}.each(
      with, [=]<class V>(const Memory& memory, size_t i, const std::vector<Matrix>& of, V) {
        const Dense<V> lu = load<V>(memory, of[0]);
        int wrong = 0;
        for (int64_t j = n; j-- > 0;)
          wrong = lu(j, j) == V() ? static_cast<int>(j) + 1 : wrong;
        if (wrong == 0) {
          Dense<V> inverse = identity<V>(n);
          solve(lu, load_pivots(memory, address_of(pivots), n, static_cast<int64_t>(i)), CUBLAS_OP_N,
                inverse);
          store(memory, of[1], inverse);
        }
        give_info(memory, info, i, wrong);
      });
}

cublasStatus_t matinv_batched(cudaDataType type, cublasHandle_t handle, int64_t n, const void* a, int64_t lda,
                              const void* inverses, int64_t ld, int* info, int64_t count) {
  const cublasContext& with = checked(handle);
  constexpr int64_t kMost = 32; // as cuBLAS has it
  if (n == 0)
    return CUBLAS_STATUS_SUCCESS;
  require(info != nullptr && n <= kMost);
  return Several{count, {{matrix(nullptr, type, n, n, lda), a}, {matrix(nullptr, type, n, n, ld), inverses}}}
      .each(with, [=]<class V>(const Memory& memory, size_t i, const std::vector<Matrix>& of, V) {
        Dense<V> lu = load<V>(memory, of[0]);
        std::vector<int> rows(static_cast<size_t>(n));
        const int wrong = factor(lu, rows, true);
        if (wrong == 0) {
          Dense<V> inverse = identity<V>(n);
          solve(lu, rows, CUBLAS_OP_N, inverse);
          store(memory, of[1], inverse);
        }
        give_info(memory, info, i, wrong);
      });
}

cublasStatus_t getrs_batched(cudaDataType type, cublasHandle_t handle, cublasOperation_t op, int64_t n,
                             int64_t nrhs, const void* a, int64_t lda, const int* pivots, const void* b,
                             int64_t ldb, int* info, int64_t count) {
  const cublasContext& with = checked(handle);
  require_operation(op);
  require(info != nullptr);
  *info = 0; // the host's: of arguments
  if (n == 0 || nrhs == 0)
    return CUBLAS_STATUS_SUCCESS;
  return Several{count, {{matrix(nullptr, type, n, n, lda), a}, {matrix(nullptr, type, n, nrhs, ldb), b}}}
      .each(with, [=]<class V>(const Memory& memory, size_t i, const std::vector<Matrix>& of, V) {
        Dense<V> values = load<V>(memory, of[1]);
        solve(load<V>(memory, of[0]), load_pivots(memory, address_of(pivots), n, static_cast<int64_t>(i)), op,
              values);
        store(memory, of[1], values);
      });
}

namespace {

// A reflection that makes zeros below (step, step) of A: v, in their place, and tau, as LAPACK's geqrf has
// them.
template <class V>
V reflect(Dense<V>& a, int64_t step) {
  double below = 0;
  for (int64_t i = step + 1; i < a.rows; ++i)
    below += std::norm(a(i, step));
  const V alpha = a(step, step);
  if (below == 0 && std::imag(alpha) == 0)
    return V();
  const double size = std::sqrt(std::norm(alpha) + below);
  const double beta = std::real(alpha) > 0 ? -size : size;
  const V tau = (V(beta) - alpha) / beta, scale = V(1) / (alpha - V(beta));
  for (int64_t i = step + 1; i < a.rows; ++i)
    a(i, step) *= scale;
  a(step, step) = beta;
  return tau;
}

// B := (I - tau' v v') B, from column `first` on: of a column of A that holds v.
template <class V>
void apply(const Dense<V>& a, int64_t step, V tau, Dense<V>& b, int64_t first) {
  for (int64_t j = first; j < b.columns; ++j) {
    V sum = b(step, j);
    for (int64_t i = step + 1; i < a.rows; ++i)
      sum += conjugate(a(i, step)) * b(i, j);
    sum *= conjugate(tau);
    b(step, j) -= sum;
    for (int64_t i = step + 1; i < a.rows; ++i)
      b(i, j) -= a(i, step) * sum;
  }
}

template <class V>
std::vector<V> factor_qr(Dense<V>& a) {
  std::vector<V> taus;
  for (int64_t step = 0; step < std::min(a.rows, a.columns); ++step) {
    taus.push_back(reflect(a, step));
    apply(a, step, taus.back(), a, step + 1);
  }
  return taus;
}

} // namespace

cublasStatus_t geqrf_batched(cudaDataType type, cublasHandle_t handle, int64_t m, int64_t n, const void* a,
                             int64_t lda, const void* taus, int* info, int64_t count) {
  const cublasContext& with = checked(handle);
  require(info != nullptr);
  *info = 0;
  if (m == 0 || n == 0)
    return CUBLAS_STATUS_SUCCESS;
  const int64_t steps = std::min(m, n);
  return Several{count,
                 {{matrix(nullptr, type, m, n, lda), a}, {matrix(nullptr, type, steps, 1, steps), taus}}}
      .each(with, []<class V>(const Memory& memory, size_t, const std::vector<Matrix>& of, V) {
        Dense<V> values = load<V>(memory, of[0]);
        const std::vector<V> made = factor_qr(values);
        store(memory, of[0], values);
        store(memory, of[1], made.data());
      });
}

// m >= n, as cuBLAS has it: the least squares of A * X = C, which X's n rows of C become.
cublasStatus_t gels_batched(cudaDataType type, cublasHandle_t handle, cublasOperation_t op, int64_t m,
                            int64_t n, int64_t nrhs, const void* a, int64_t lda, const void* c, int64_t ldc,
                            int* info, int* device_info, int64_t count) {
  const cublasContext& with = checked(handle);
  require(info != nullptr);
  *info = 0;
  require(op == CUBLAS_OP_N && m >= n, CUBLAS_STATUS_NOT_SUPPORTED);
  if (n == 0 || nrhs == 0)
    return CUBLAS_STATUS_SUCCESS;
  return Several{count, {{matrix(nullptr, type, m, n, lda), a}, {matrix(nullptr, type, m, nrhs, ldc), c}}}
      .each(with, [=]<class V>(const Memory& memory, size_t i, const std::vector<Matrix>& of, V) {
        Dense<V> values = load<V>(memory, of[0]), right = load<V>(memory, of[1]);
        const std::vector<V> taus = factor_qr(values);
        int wrong = 0;
        for (int64_t step = 0; step < n; ++step) {
          apply(values, step, taus[static_cast<size_t>(step)], right, 0);
          wrong = wrong == 0 && values(step, step) == V() ? static_cast<int>(step) + 1 : wrong;
        }
        Dense<V> upper(n, n), x(n, nrhs);
        for (int64_t j = 0; j < n; ++j)
          std::copy_n(values.column(j), j + 1, upper.column(j));
        for (int64_t j = 0; j < nrhs; ++j)
          std::copy_n(right.column(j), n, x.column(j));
        if (wrong == 0)
          solve_triangular(upper, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, x);
        for (int64_t j = 0; j < nrhs; ++j)
          std::copy_n(x.column(j), n, right.column(j));
        store(memory, of[0], values);
        store(memory, of[1], right);
        if (device_info)
          give_info(memory, device_info, i, wrong);
      });
}

} // namespace lemma::cublas::routines
