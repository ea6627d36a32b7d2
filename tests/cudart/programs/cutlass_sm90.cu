// CUTLASS: a product on wgmma with TMA in clusters of two, warp-specialized, by the collective builder.
#include <cute/tensor.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/util/packed_stride.hpp>

#include "cutlass_check.h"

using Half = cutlass::half_t;
using Rows = cutlass::layout::RowMajor;
using Columns = cutlass::layout::ColumnMajor;
using Hopper = cutlass::arch::Sm90;
using TensorCores = cutlass::arch::OpClassTensorOp;
using Block = cute::Shape<cute::_128, cute::_128, cute::_64>;
using TwoBlocks = cute::Shape<cute::_2, cute::_1, cute::_1>;
using Epilogue = cutlass::epilogue::collective::CollectiveBuilder<
    Hopper, TensorCores, Block, TwoBlocks, cutlass::epilogue::collective::EpilogueTileAuto, float, float, float, Rows, 4,
    float, Rows, 4, cutlass::epilogue::collective::EpilogueScheduleAuto>::CollectiveOp;
using Mainloop = cutlass::gemm::collective::CollectiveBuilder<
    Hopper, TensorCores, Half, Rows, 8, Half, Columns, 8, float, Block, TwoBlocks,
    cutlass::gemm::collective::StageCountAutoCarveout<sizeof(Epilogue::SharedStorage)>,
    cutlass::gemm::collective::KernelScheduleAuto>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue>;
using Product = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

int main() {
  Matrices m(256, 256, 256);
  const auto a = cutlass::make_cute_packed_stride(Kernel::StrideA{}, {m.m, m.k, 1});
  const auto b = cutlass::make_cute_packed_stride(Kernel::StrideB{}, {m.n, m.k, 1});
  const auto d = cutlass::make_cute_packed_stride(Kernel::StrideC{}, {m.m, m.n, 1});
  cutlass::KernelHardwareInfo machine;
  machine.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(0);
  const Product::Arguments arguments{cutlass::gemm::GemmUniversalMode::kGemm,
                                     {m.m, m.n, m.k, 1},
                                     {m.a, a, m.b, b},
                                     {{1.0f, 0.0f}, m.d, d, m.d, d},
                                     machine};
  Product product;
  void* workspace = nullptr;
  cudaMalloc(&workspace, Product::get_workspace_size(arguments));
  auto status = product.can_implement(arguments);
  if (status == cutlass::Status::kSuccess)
    status = product.initialize(arguments, workspace);
  if (status == cutlass::Status::kSuccess)
    status = product.run();
  return m.check(status);
}
