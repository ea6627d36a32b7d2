// A matrix's transpose through a padded tile in shared memory.
#include "check.h"

__global__ void transpose(const int* in, int* out, int rows, int columns) {
  __shared__ int tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    if (row + i < rows && column < columns)
      tile[threadIdx.y + i][threadIdx.x] = in[(row + i) * columns + column];
  __syncthreads();
  column = blockIdx.y * 32 + threadIdx.x;
  row = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    if (row + i < columns && column < rows)
      out[(row + i) * rows + column] = tile[threadIdx.x][threadIdx.y + i];
}

int main() {
  const int rows = 150, columns = 211;
  const auto values = small_numbers<int>(rows * columns, -1000000, 1000000);
  DeviceArray<int> in(values), out(rows * columns);
  transpose<<<dim3((columns + 31) / 32, (rows + 31) / 32), dim3(32, 8)>>>(in.data(), out.data(), rows,
                                                                          columns);
  ok(cudaGetLastError());
  std::vector<int> wanted(rows * columns);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      wanted[column * rows + row] = values[row * columns + column];
  equal(wanted, out.host());
  return result();
}
