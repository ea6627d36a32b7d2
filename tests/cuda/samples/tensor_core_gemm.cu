// alpha A B + beta C by nvcuda::wmma, of the matrices that the samples of CUDA have: f16, s8 (4096^3), bf16 (8192^3), tf32,
// f64 (8192 x 8192 x 4096); the first argument says which. A block has 128 x 128 of the result, of f64 64 x 64, and brings slices
// of A and B to shared memory, as long as theirs; B lies by columns. Numbers are small and whole: sums are exact in every order.
#include "../check.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstring>
#include <mma.h>

using namespace nvcuda;

// Element, accumulator; shape of an instruction; bytes of a row's slice.
template <class T, class In, class Out, int kM, int kN, int kK, int kBytes>
struct Form {
  using Element = T;      // in memory
  using Multiplied = In;  // of the fragments
  using Sum = Out;
  static constexpr int m = kM, n = kN, k = kK, slice_bytes = kBytes;
};
using F16 = Form<half, half, float, 16, 16, 16, 128>;
using Bf16 = Form<__nv_bfloat16, __nv_bfloat16, float, 16, 16, 16, 256>;
using S8 = Form<signed char, signed char, int, 16, 16, 16, 128>;
using Tf32 = Form<float, wmma::precision::tf32, float, 16, 16, 8, 256>;
using F64 = Form<double, double, double, 8, 8, 4, 512>;

constexpr int kWarps = 8, kDown = 4, kAcross = 2; // 2 x 4 warps, each with so many tiles

// A row's slice and a few bytes, so that rows begin in other banks.
template <class F>
constexpr int kSlice = F::slice_bytes / static_cast<int>(sizeof(typename F::Element));
template <class F>
constexpr int kPitch = kSlice<F> + 32 / static_cast<int>(sizeof(typename F::Element));

template <class F>
constexpr int kSharedBytes = (2 * kDown * F::m + 4 * kAcross * F::n) * kPitch<F> * static_cast<int>(sizeof(typename F::Element));

template <class F>
__global__ void __launch_bounds__(kWarps * 32)
    multiply(const typename F::Element* a, const typename F::Element* b, const typename F::Sum* c, typename F::Sum* d, int n,
             int k, typename F::Sum alpha, typename F::Sum beta) {
  using T = typename F::Element;
  constexpr int rows = 2 * kDown * F::m, columns = 4 * kAcross * F::n, pitch = kPitch<F>, slice = kSlice<F>;
  extern __shared__ int4 memory[];
  T* a_slice = reinterpret_cast<T*>(memory);
  T* b_slice = a_slice + rows * pitch;
  const int warp = threadIdx.x / 32, down = warp / 4 * kDown * F::m, across = warp % 4 * kAcross * F::n;
  const size_t row = blockIdx.y * rows, column = blockIdx.x * columns;
  wmma::fragment<wmma::accumulator, F::m, F::n, F::k, typename F::Sum> sums[kDown][kAcross];
  for (auto& tiles : sums)
    for (auto& tile : tiles)
      wmma::fill_fragment(tile, typename F::Sum(0));
  // The first half of the warps brings A, the other one B. A lane has 16 bytes of a row, a warp so many rows at a time.
  static_assert(rows == columns);
  constexpr int lanes = F::slice_bytes / 16, at_once = 32 / lanes, of_warp = 2 * rows / kWarps;
  const int lane = threadIdx.x % 32, line = warp % (kWarps / 2) * of_warp + lane / lanes;
  const int at = lane % lanes * (16 / static_cast<int>(sizeof(T)));
  const T* source = (warp < kWarps / 2 ? a + (row + line) * k : b + (column + line) * k) + at;
  T* target = (warp < kWarps / 2 ? a_slice : b_slice) + line * pitch + at;
  for (int from = 0; from < k; from += slice) {
    const T* in = source + from;
    T* out = target;
#pragma unroll
    for (int i = 0; i < of_warp; i += at_once) {
      *reinterpret_cast<int4*>(out) = *reinterpret_cast<const int4*>(in);
      in += at_once * k;
      out += at_once * pitch;
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < slice; step += F::k) {
      wmma::fragment<wmma::matrix_a, F::m, F::n, F::k, typename F::Multiplied, wmma::row_major> a_tile[kDown];
      wmma::fragment<wmma::matrix_b, F::m, F::n, F::k, typename F::Multiplied, wmma::col_major> b_tile;
      for (int i = 0; i < kDown; ++i)
        wmma::load_matrix_sync(a_tile[i], a_slice + (down + i * F::m) * pitch + step, pitch);
      for (int j = 0; j < kAcross; ++j) {
        wmma::load_matrix_sync(b_tile, b_slice + (across + j * F::n) * pitch + step, pitch);
        for (int i = 0; i < kDown; ++i)
          wmma::mma_sync(sums[i][j], a_tile[i], b_tile, sums[i][j]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < kDown; ++i)
    for (int j = 0; j < kAcross; ++j) {
      const size_t at = (row + down + i * F::m) * n + column + across + j * F::n;
      wmma::fragment<wmma::accumulator, F::m, F::n, F::k, typename F::Sum> tile;
      wmma::load_matrix_sync(tile, c + at, n, wmma::mem_row_major);
      for (int e = 0; e < tile.num_elements; ++e)
        tile.x[e] = alpha * sums[i][j].x[e] + beta * tile.x[e];
      wmma::store_matrix_sync(d + at, tile, n, wmma::mem_row_major);
    }
}

template <class F>
void run(int m, int n, int k) {
  using Sum = typename F::Sum;
  Numbers numbers(7);
  std::vector<signed char> a(size_t{1} * m * k), b(size_t{1} * n * k), c(size_t{1} * m * n);
  for (auto* values : {&a, &b, &c})
    for (signed char& value : *values)
      value = static_cast<signed char>(numbers.below(7) - 3);
  DeviceArray<Sum> dc(std::vector<Sum>(c.begin(), c.end())), dd(c.size());
  const auto element = [](signed char value) { return typename F::Element(static_cast<float>(value)); };
  std::vector<typename F::Element> converted(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    converted[i] = element(a[i]);
  DeviceArray<typename F::Element> da(converted);
  converted.resize(b.size());
  for (size_t i = 0; i < b.size(); ++i)
    converted[i] = element(b[i]);
  DeviceArray<typename F::Element> db(converted);
  ok(cudaFuncSetAttribute(multiply<F>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes<F>));
  const dim3 grid(n / (4 * kAcross * F::n), m / (2 * kDown * F::m));
  multiply<F><<<grid, kWarps * 32, (kSharedBytes<F>)>>>(da.data(), db.data(), dc.data(), dd.data(), n, k, Sum(2), Sum(3));
  ok(cudaGetLastError());
  const auto d = dd.host();
  for (int i = 0; i < 4000; ++i) { // of all blocks of a row or a column, at every place in one
    const size_t row = numbers.below(m), column = numbers.below(n);
    int sum = 0;
    for (int step = 0; step < k; ++step)
      sum += a[row * k + step] * b[column * k + step];
    equal(2 * sum + 3 * c[row * n + column], static_cast<double>(d[row * n + column]));
  }
}

int main(int argc, char** argv) {
  const auto is = [&](const char* name) { return argc > 1 && !std::strcmp(argv[1], name); };
  const int part = argc > 2 ? std::atoi(argv[2]) : 1; // sizes are divided by it
  if (is("f16"))
    run<F16>(4096 / part, 4096 / part, 4096 / part);
  else if (is("s8"))
    run<S8>(4096 / part, 4096 / part, 4096 / part);
  else if (is("bf16"))
    run<Bf16>(8192 / part, 8192 / part, 8192 / part);
  else if (is("tf32"))
    run<Tf32>(8192 / part, 8192 / part, 4096 / part);
  else if (is("f64"))
    run<F64>(8192 / part, 8192 / part, 4096 / part);
  else
    expect(false);
  return result();
}
