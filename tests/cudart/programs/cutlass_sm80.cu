// CUTLASS: a product on mma.sync with cp.async, by device::Gemm.
#include <cutlass/gemm/device/gemm.h>

#include "cutlass_check.h"

using Product = cutlass::gemm::device::Gemm<cutlass::half_t, cutlass::layout::RowMajor, cutlass::half_t,
                                            cutlass::layout::ColumnMajor, float, cutlass::layout::RowMajor, float,
                                            cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80>;

int main() {
  Matrices m(256, 256, 128);
  Product product;
  const auto status = product({{m.m, m.n, m.k}, {m.a, m.k}, {m.b, m.k}, {m.d, m.n}, {m.d, m.n}, {1.0f, 0.0f}});
  return m.check(status);
}
