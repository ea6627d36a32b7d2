// Products of CUTLASS's kernels for sm_80: in stages by cp.async, with K split among CTAs that take turns at a semaphore, and with K split
// and added up by another kernel.
#include <cutlass/gemm/device/gemm.h>
#include <cutlass/gemm/device/gemm_splitk_parallel.h>

#include "../../cudart/programs/cutlass_check.h"

using Half = cutlass::half_t;
using Rows = cutlass::layout::RowMajor;
using Columns = cutlass::layout::ColumnMajor;
using TensorCores = cutlass::arch::OpClassTensorOp;
using Ampere = cutlass::arch::Sm80;
using Block = cutlass::gemm::GemmShape<64, 64, 32>;
using Warp = cutlass::gemm::GemmShape<32, 32, 32>;
using Instruction = cutlass::gemm::GemmShape<16, 8, 16>;
using Scale = cutlass::epilogue::thread::LinearCombination<float, 4, float, float>;
using Order = cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>;

template <int kStages, bool kSplits>
using Staged = cutlass::gemm::device::Gemm<Half, Rows, Half, Columns, float, Rows, float, TensorCores, Ampere, Block, Warp, Instruction,
                                           Scale, Order, kStages, 8, 8, kSplits>;
using Parallel = cutlass::gemm::device::GemmSplitKParallel<Half, Rows, Half, Columns, float, Rows, float, TensorCores, Ampere, Block, Warp,
                                                           Instruction, Scale>;

template <class Product>
int product(int m, int n, int k, int parts) {
  Matrices x(m, n, k);
  typename Product::Arguments arguments({m, n, k}, {x.a, k}, {x.b, k}, {x.d, n}, {x.d, n}, {1.0f, 0.0f}, parts);
  char* workspace = nullptr;
  if (const size_t bytes = Product::get_workspace_size(arguments)) {
    cudaMalloc(&workspace, bytes);
    cudaMemset(workspace, 0, bytes);
  }
  Product product;
  const auto status = product.initialize(arguments, workspace);
  return x.check(status == cutlass::Status::kSuccess ? product() : status);
}

int main() {
  return product<Staged<3, false>>(128, 128, 128, 1) | product<Staged<2, false>>(64, 128, 96, 1) |
         product<Staged<4, true>>(64, 64, 256, 4) | product<Parallel>(64, 64, 256, 4);
}
