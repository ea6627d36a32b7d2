// Products of CUTLASS's kernels for sm_90: TMA and wgmma, whose warpgroups are of a kind, take turns, or share tiles, and with K split among
// CTAs (stream-K).
#include <cute/tensor.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/util/packed_stride.hpp>

#include "../../cudart/programs/cutlass_check.h"

using Half = cutlass::half_t;
using Rows = cutlass::layout::RowMajor;
using Columns = cutlass::layout::ColumnMajor;
using Hopper = cutlass::arch::Sm90;
using TensorCores = cutlass::arch::OpClassTensorOp;
using namespace cute;

template <class Block, class Clusters, class MainloopSchedule, class EpilogueSchedule, class Scheduler = void>
int multiplied(int m, int n, int k) {
  using Epilogue =
      typename cutlass::epilogue::collective::CollectiveBuilder<Hopper, TensorCores, Block, Clusters,
                                                                cutlass::epilogue::collective::EpilogueTileAuto, float, float, float, Rows,
                                                                4, float, Rows, 4, EpilogueSchedule>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      Hopper, TensorCores, Half, Rows, 8, Half, Columns, 8, float, Block, Clusters,
      cutlass::gemm::collective::StageCountAutoCarveout<sizeof(typename Epilogue::SharedStorage)>, MainloopSchedule>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue, Scheduler>;
  using Product = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
  Matrices x(m, n, k);
  const auto a = cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {m, k, 1});
  const auto b = cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {n, k, 1});
  const auto d = cutlass::make_cute_packed_stride(typename Kernel::StrideC{}, {m, n, 1});
  cutlass::KernelHardwareInfo machine;
  machine.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(0);
  typename Product::Arguments arguments{cutlass::gemm::GemmUniversalMode::kGemm,
                                        {m, n, k, 1},
                                        {x.a, a, x.b, b},
                                        {{1.0f, 0.0f}, x.d, d, x.d, d},
                                        machine};
  if constexpr (std::is_same_v<Scheduler, cutlass::gemm::StreamKScheduler>)
    arguments.scheduler.splits = 2;
  char* workspace = nullptr;
  if (const size_t bytes = Product::get_workspace_size(arguments))
    cudaMalloc(&workspace, bytes);
  Product product;
  const auto status = product.initialize(arguments, workspace);
  return x.check(status == cutlass::Status::kSuccess ? product.run() : status);
}

int main() {
  using One = Shape<_1, _1, _1>;
  using Two = Shape<_2, _1, _1>;
  using cutlass::epilogue::NoSmemWarpSpecialized;
  using cutlass::epilogue::TmaWarpSpecialized;
  using cutlass::epilogue::TmaWarpSpecializedCooperative;
  using cutlass::gemm::KernelTmaWarpSpecialized;
  using cutlass::gemm::KernelTmaWarpSpecializedCooperative;
  using cutlass::gemm::KernelTmaWarpSpecializedPingpong;
  return multiplied<Shape<_64, _64, _64>, One, KernelTmaWarpSpecialized, NoSmemWarpSpecialized>(128, 128, 128) |
         multiplied<Shape<_64, _64, _64>, Two, KernelTmaWarpSpecializedPingpong, TmaWarpSpecialized>(256, 128, 192) |
         multiplied<Shape<_128, _64, _64>, Two, KernelTmaWarpSpecializedCooperative, TmaWarpSpecializedCooperative>(256, 128, 192) |
         multiplied<Shape<_128, _64, _64>, One, KernelTmaWarpSpecializedCooperative, TmaWarpSpecializedCooperative,
                 cutlass::gemm::StreamKScheduler>(128, 64, 512);
}
