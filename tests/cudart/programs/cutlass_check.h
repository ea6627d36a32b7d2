// Matrices of small whole numbers, so that every order of adding gives the same bits, and whether their
// product is right.
#pragma once

#include <cutlass/cutlass.h>
#include <cutlass/half.h>

#include <cstdio>
#include <vector>

// a is m x k by rows, b is k x n by columns, d is m x n by rows.
struct Matrices {
  Matrices(int m, int n, int k) : m(m), n(n), k(k), host_a(m * k), host_b(k * n) {
    for (size_t i = 0; i < host_a.size(); ++i)
      host_a[i] = cutlass::half_t(static_cast<float>(static_cast<int>(i % 7) - 3));
    for (size_t i = 0; i < host_b.size(); ++i)
      host_b[i] = cutlass::half_t(static_cast<float>(static_cast<int>(i % 5) - 2));
    cudaMalloc(&a, host_a.size() * 2);
    cudaMalloc(&b, host_b.size() * 2);
    cudaMalloc(&d, sizeof(float) * m * n);
    cudaMemcpy(a, host_a.data(), host_a.size() * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(b, host_b.data(), host_b.size() * 2, cudaMemcpyHostToDevice);
  }

  int check(cutlass::Status status) {
    if (status != cutlass::Status::kSuccess)
      return std::printf("CUTLASS says %s\n", cutlassGetStatusString(status)), 1;
    std::vector<float> got(m * n);
    if (cudaMemcpy(got.data(), d, sizeof(float) * m * n, cudaMemcpyDeviceToHost) != cudaSuccess)
      return std::puts("the kernel fails"), 1;
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        float wanted = 0;
        for (int l = 0; l < k; ++l)
          wanted += float(host_a[i * k + l]) * float(host_b[j * k + l]);
        if (got[i * n + j] != wanted)
          return std::printf("(%d, %d) is %g, and not %g\n", i, j, got[i * n + j], wanted), 1;
      }
    std::puts("ok");
    return 0;
  }

  const int m, n, k;
  cutlass::half_t *a = nullptr, *b = nullptr;
  float* d = nullptr;

private:
  std::vector<cutlass::half_t> host_a, host_b;
};
