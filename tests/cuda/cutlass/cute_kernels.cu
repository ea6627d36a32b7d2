// Kernels of our own in CuTe: a transposition through swizzled shared memory, a product in stages of cp.async with ldmatrix and mma.sync,
// tiles that TMA brings and takes away, and a product on wgmma whose tiles one warp fetches through CUTLASS's pipeline.
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/pipeline/pipeline.hpp>

#include "../../cudart/programs/cutlass_check.h"

using namespace cute;

__global__ void transpose_swizzled(const float* in, float* out, int m, int n) {
  __shared__ float words[32 * 32];
  auto layout = composition(Swizzle<5, 0, 5>{}, Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  Tensor tile = make_tensor(make_smem_ptr(words), layout);
  Tensor turned = make_tensor(make_smem_ptr(words), composition(layout, Layout<Shape<_32, _32>, Stride<_32, _1>>{}));
  Tensor from = make_tensor(make_gmem_ptr(in), make_shape(m, n), make_stride(n, _1{}));
  Tensor to = make_tensor(make_gmem_ptr(out), make_shape(n, m), make_stride(m, _1{}));
  Tensor from_here = local_tile(from, Shape<_32, _32>{}, make_coord(blockIdx.y, blockIdx.x));
  Tensor to_here = local_tile(to, Shape<_32, _32>{}, make_coord(blockIdx.x, blockIdx.y));
  auto threads = Layout<Shape<_8, _32>, Stride<_32, _1>>{};
  copy(local_partition(from_here, threads, threadIdx.x), local_partition(tile, threads, threadIdx.x));
  __syncthreads();
  copy(local_partition(turned, threads, threadIdx.x), local_partition(to_here, threads, threadIdx.x));
}

constexpr int kStages = 3;

__global__ void product_cp_async(const half_t* a, const half_t* b, float* d, int m, int n, int k) {
  using Atom = decltype(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, _32>, Stride<_32, _1>>{}));
  auto layout = tile_to_shape(Atom{}, Shape<_64, _32, Int<kStages>>{});
  __shared__ alignas(128) half_t words_a[cosize(layout)], words_b[cosize(layout)];
  Tensor tiles_a = make_tensor(make_smem_ptr(words_a), layout);
  Tensor tiles_b = make_tensor(make_smem_ptr(words_b), layout);
  Tensor all_a = make_tensor(make_gmem_ptr(a), make_shape(m, k), make_stride(k, _1{}));
  Tensor all_b = make_tensor(make_gmem_ptr(b), make_shape(n, k), make_stride(k, _1{}));
  Tensor all_d = make_tensor(make_gmem_ptr(d), make_shape(m, n), make_stride(n, _1{}));
  Tensor rows_a = local_tile(all_a, Shape<_64, _32>{}, make_coord(blockIdx.x, _));
  Tensor rows_b = local_tile(all_b, Shape<_64, _32>{}, make_coord(blockIdx.y, _));
  Tensor block_d = local_tile(all_d, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));

  auto fetch = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{}, Layout<Shape<_32, _4>, Stride<_4, _1>>{},
                               Layout<Shape<_1, _8>>{});
  auto fetching = fetch.get_slice(threadIdx.x);
  Tensor from_a = fetching.partition_S(rows_a);
  Tensor to_a = fetching.partition_D(tiles_a);
  Tensor from_b = fetching.partition_S(rows_b);
  Tensor to_b = fetching.partition_D(tiles_b);

  auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2>>{}, Tile<_32, _32, _16>{});
  auto multiplying = mma.get_slice(threadIdx.x);
  Tensor sums = multiplying.partition_fragment_C(block_d);
  Tensor part_a = multiplying.partition_fragment_A(tiles_a(_, _, 0));
  Tensor part_b = multiplying.partition_fragment_B(tiles_b(_, _, 0));
  auto take_a = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto take_b = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  Tensor taken_a = take_a.get_slice(threadIdx.x).partition_S(tiles_a);
  Tensor into_a = take_a.get_slice(threadIdx.x).retile_D(part_a);
  Tensor taken_b = take_b.get_slice(threadIdx.x).partition_S(tiles_b);
  Tensor into_b = take_b.get_slice(threadIdx.x).retile_D(part_b);

  clear(sums);
  const int count = size<2>(rows_a);
  for (int i = 0; i < kStages - 1; ++i) {
    if (i < count) {
      copy(fetch, from_a(_, _, _, i), to_a(_, _, _, i));
      copy(fetch, from_b(_, _, _, i), to_b(_, _, _, i));
    }
    cp_async_fence();
  }
  for (int i = 0; i < count; ++i) {
    cp_async_wait<kStages - 2>();
    __syncthreads();
    if (const int next = i + kStages - 1; next < count) {
      copy(fetch, from_a(_, _, _, next), to_a(_, _, _, next % kStages));
      copy(fetch, from_b(_, _, _, next), to_b(_, _, _, next % kStages));
    }
    cp_async_fence();
    copy(take_a, taken_a(_, _, _, i % kStages), into_a);
    copy(take_b, taken_b(_, _, _, i % kStages), into_b);
    gemm(mma, part_a, part_b, sums);
  }
  copy(sums, multiplying.partition_C(block_d));
}

template <class Load, class Store>
__global__ void double_by_tma(__grid_constant__ const Load load, __grid_constant__ const Store store, int m, int n) {
  __shared__ alignas(128) float words[64 * 32];
  __shared__ alignas(8) uint64_t arrived;
  Tensor tile = make_tensor(make_smem_ptr(words), Layout<Shape<_64, _32>, Stride<_32, _1>>{});
  auto loading = load.get_slice(0);
  auto storing = store.get_slice(0);
  const auto at = make_coord(blockIdx.x, blockIdx.y);
  Tensor from = local_tile(load.get_tma_tensor(make_shape(m, n)), Shape<_64, _32>{}, at);
  Tensor to = local_tile(store.get_tma_tensor(make_shape(m, n)), Shape<_64, _32>{}, at);
  if (threadIdx.x == 0) {
    initialize_barrier(arrived, 1);
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    set_barrier_transaction_bytes(arrived, sizeof words);
    copy(load.with(arrived), loading.partition_S(from), loading.partition_D(tile));
  }
  wait_barrier(arrived, 0);
  for (int i = threadIdx.x; i < size(tile); i += blockDim.x)
    tile(i) *= 2;
  tma_store_fence();
  __syncthreads();
  if (threadIdx.x == 0) {
    copy(store, storing.partition_S(tile), storing.partition_D(to));
    tma_store_arrive();
    tma_store_wait<0>();
  }
}

using Tiles = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64, Int<kStages>>{}));
using Pipeline = cutlass::PipelineTmaAsync<kStages>;

// The first warpgroup multiplies; a warp behind it fetches.
template <class LoadA, class LoadB>
__global__ void __launch_bounds__(160) product_wgmma(__grid_constant__ const LoadA load_a, __grid_constant__ const LoadB load_b, float* d,
                                                     int m, int n, int k) {
  struct Storage {
    alignas(1024) half_t a[cosize_v<Tiles>];
    alignas(1024) half_t b[cosize_v<Tiles>];
    typename Pipeline::SharedStorage pipeline;
  };
  extern __shared__ char dynamic[];
  Storage& storage = *reinterpret_cast<Storage*>((reinterpret_cast<uintptr_t>(dynamic) + 1023) / 1024 * 1024);
  Tensor tiles_a = make_tensor(make_smem_ptr(storage.a), Tiles{});
  Tensor tiles_b = make_tensor(make_smem_ptr(storage.b), Tiles{});
  Tensor rows_a = local_tile(load_a.get_tma_tensor(make_shape(m, k)), Shape<_64, _64>{}, make_coord(blockIdx.x, _));
  Tensor rows_b = local_tile(load_b.get_tma_tensor(make_shape(n, k)), Shape<_64, _64>{}, make_coord(blockIdx.y, _));
  const bool fetches = threadIdx.x >= 128;
  typename Pipeline::Params params;
  params.transaction_bytes = 2 * 64 * 64 * sizeof(half_t);
  params.role = fetches ? Pipeline::ThreadCategory::Producer : Pipeline::ThreadCategory::Consumer;
  params.is_leader = threadIdx.x == 128;
  params.num_consumers = 128;
  Pipeline pipeline(storage.pipeline, params, Shape<_1, _1, _1>{});
  __syncthreads();
  const int count = size<2>(rows_a);
  if (fetches) {
    if (threadIdx.x == 128) {
      auto loading_a = load_a.get_slice(0);
      auto loading_b = load_b.get_slice(0);
      Tensor from_a = loading_a.partition_S(rows_a);
      Tensor to_a = loading_a.partition_D(tiles_a);
      Tensor from_b = loading_b.partition_S(rows_b);
      Tensor to_b = loading_b.partition_D(tiles_b);
      auto state = cutlass::make_producer_start_state<Pipeline>();
      for (int i = 0; i < count; ++i, ++state) {
        pipeline.producer_acquire(state);
        auto* arrived = pipeline.producer_get_barrier(state);
        copy(load_a.with(*arrived), from_a(_, _, _, i), to_a(_, _, _, state.index()));
        copy(load_b.with(*arrived), from_b(_, _, _, i), to_b(_, _, _, state.index()));
      }
      pipeline.producer_tail(state);
    }
    return;
  }
  auto mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
  auto multiplying = mma.get_slice(threadIdx.x);
  Tensor all_d = make_tensor(make_gmem_ptr(d), make_shape(m, n), make_stride(n, _1{}));
  Tensor mine = multiplying.partition_C(local_tile(all_d, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y)));
  Tensor sums = multiplying.make_fragment_C(mine);
  Tensor part_a = multiplying.make_fragment_A(multiplying.partition_A(tiles_a));
  Tensor part_b = multiplying.make_fragment_B(multiplying.partition_B(tiles_b));
  clear(sums);
  cutlass::PipelineState<kStages> state;
  for (int i = 0; i < count; ++i, ++state) {
    pipeline.consumer_wait(state);
    warpgroup_fence_operand(sums);
    warpgroup_arrive();
    gemm(mma, part_a(_, _, _, state.index()), part_b(_, _, _, state.index()), sums);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    warpgroup_fence_operand(sums);
    pipeline.consumer_release(state);
  }
  copy(sums, mine);
}

int moved(const char* what, bool turns, float by) {
  constexpr int m = 128, n = 96;
  std::vector<float> in(m * n), got(m * n);
  for (int i = 0; i < m * n; ++i)
    in[i] = static_cast<float>(i % 1021);
  float *from, *to;
  cudaMalloc(&from, sizeof(float) * m * n);
  cudaMalloc(&to, sizeof(float) * m * n);
  cudaMemcpy(from, in.data(), sizeof(float) * m * n, cudaMemcpyHostToDevice);
  if (turns) {
    transpose_swizzled<<<dim3(n / 32, m / 32), 256>>>(from, to, m, n);
  } else {
    Layout<Shape<_64, _32>, Stride<_32, _1>> tile;
    auto load = make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(from), make_shape(m, n), make_stride(n, _1{})), tile);
    auto store = make_tma_copy(SM90_TMA_STORE{}, make_tensor(make_gmem_ptr(to), make_shape(m, n), make_stride(n, _1{})), tile);
    double_by_tma<<<dim3(m / 64, n / 32), 128>>>(load, store, m, n);
  }
  if (cudaMemcpy(got.data(), to, sizeof(float) * m * n, cudaMemcpyDeviceToHost) != cudaSuccess)
    return std::printf("%s fails\n", what), 1;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      if (got[turns ? j * m + i : i * n + j] != by * in[i * n + j])
        return std::printf("%s: (%d, %d) is wrong\n", what, i, j), 1;
  return 0;
}

int multiplied_by_wgmma() {
  Matrices x(128, 128, 256);
  const auto tile = take<0, 2>(Tiles{});
  auto load_a = make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(x.a), make_shape(x.m, x.k), make_stride(x.k, _1{})), tile);
  auto load_b = make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(x.b), make_shape(x.n, x.k), make_stride(x.k, _1{})), tile);
  const int bytes = 2 * cosize_v<Tiles> * sizeof(half_t) + sizeof(typename Pipeline::SharedStorage) + 2048;
  const auto kernel = product_wgmma<decltype(load_a), decltype(load_b)>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  kernel<<<dim3(x.m / 64, x.n / 64), 160, bytes>>>(load_a, load_b, x.d, x.m, x.n, x.k);
  return x.check(cutlass::Status::kSuccess);
}

int main() {
  Matrices x(128, 128, 160);
  product_cp_async<<<dim3(x.m / 64, x.n / 64), 128>>>(x.a, x.b, x.d, x.m, x.n, x.k);
  return moved("transpose", true, 1) | moved("TMA", false, 2) | x.check(cutlass::Status::kSuccess) | multiplied_by_wgmma();
}
