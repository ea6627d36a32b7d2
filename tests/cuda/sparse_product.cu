// A sparse matrix by rows times a vector, a warp a row; and the same by columns with atomic additions.
#include "check.h"

__global__ void by_rows(const int* begin, const int* columns, const double* values, const double* x, double* y,
                        int rows) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  double sum = 0;
  for (int i = begin[row] + lane; i < begin[row + 1]; i += 32)
    sum += values[i] * x[columns[i]];
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  if (lane == 0)
    y[row] = sum;
}
__global__ void transposed(const int* begin, const int* columns, const double* values, const double* x, double* y,
                           int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows)
    for (int i = begin[row]; i < begin[row + 1]; ++i)
      atomicAdd(&y[columns[i]], values[i] * x[row]);
}

int main() {
  const int rows = 300;
  Numbers numbers;
  std::vector<int> begin{0}, columns;
  for (int row = 0; row < rows; ++row) {
    for (int n = numbers.below(row % 50 == 0 ? 200 : 12); n > 0; --n)
      columns.push_back(numbers.below(rows));
    begin.push_back(static_cast<int>(columns.size()));
  }
  const auto values = small_numbers<double>(columns.size(), -9, 9, 2), x = small_numbers<double>(rows, -9, 9, 3);
  std::vector<double> wanted(rows, 0), wanted_transposed(rows, 0);
  for (int row = 0; row < rows; ++row)
    for (int i = begin[row]; i < begin[row + 1]; ++i) {
      wanted[row] += values[i] * x[columns[i]];
      wanted_transposed[columns[i]] += values[i] * x[row];
    }
  DeviceArray<int> dbegin(begin), dcolumns(columns);
  DeviceArray<double> dvalues(values), dx(x), y(rows), yt(rows);
  by_rows<<<(rows + 3) / 4, 128>>>(dbegin.data(), dcolumns.data(), dvalues.data(), dx.data(), y.data(), rows);
  transposed<<<(rows + 127) / 128, 128>>>(dbegin.data(), dcolumns.data(), dvalues.data(), dx.data(), yt.data(),
                                          rows);
  equal(wanted, y.host());
  equal(wanted_transposed, yt.host());
  return result();
}
