// A product of a 320 x 320 and a 320 x 640 matrix by tiles in shared memory, once and then 300 times.
#include "../check.h"

constexpr int kTile = 32, kRows = 320, kDepth = 320, kColumns = 640;

__global__ void multiply(const float* a, const float* b, float* c) {
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int from = 0; from < kDepth; from += kTile) {
    a_tile[y][x] = a[row * kDepth + from + x];
    b_tile[y][x] = b[(from + y) * kColumns + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i)
      sum += a_tile[y][i] * b_tile[i][x];
    __syncthreads();
  }
  c[row * kColumns + column] = sum;
}

int main() {
  const auto a = small_numbers<float>(kRows * kDepth, -8, 8, 1), b = small_numbers<float>(kDepth * kColumns, -8, 8, 2);
  DeviceArray<float> da(a), db(b), c(kRows * kColumns);
  const dim3 grid(kColumns / kTile, kRows / kTile), block(kTile, kTile);
  cudaStream_t stream;
  cudaEvent_t begin, end;
  ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  ok(cudaEventCreate(&begin));
  ok(cudaEventCreate(&end));
  ok(cudaDeviceSynchronize());
  multiply<<<grid, block, 0, stream>>>(da.data(), db.data(), c.data());
  ok(cudaEventRecord(begin, stream));
  for (int i = 0; i < 300; ++i)
    multiply<<<grid, block, 0, stream>>>(da.data(), db.data(), c.data());
  ok(cudaEventRecord(end, stream));
  ok(cudaStreamSynchronize(stream));
  float milliseconds = 0;
  ok(cudaEventElapsedTime(&milliseconds, begin, end));
  expect(milliseconds > 0);
  std::vector<float> wanted(kRows * kColumns, 0);
  for (int row = 0; row < kRows; ++row)
    for (int i = 0; i < kDepth; ++i)
      for (int column = 0; column < kColumns; ++column)
        wanted[row * kColumns + column] += a[row * kDepth + i] * b[i * kColumns + column];
  equal(wanted, c.host());
  ok(cudaEventDestroy(begin));
  ok(cudaEventDestroy(end));
  ok(cudaStreamDestroy(stream));
  return result();
}
