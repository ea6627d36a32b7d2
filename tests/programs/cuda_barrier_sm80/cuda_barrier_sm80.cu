// libcu++'s cuda::barrier for sm_80, where a wait is a loop of mbarrier.test_wait with %globaltimer and nanosleep:
// tiles are copied asynchronously into two stages, and each tile's sum with its mirror image goes out.
// compile_programs: -arch=compute_80
#include <cooperative_groups.h>
#include <cuda/barrier>

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 128, kStages = 2, kTile = 512;

extern "C" __global__ void mirror_sums(const int* in, int* out, int tiles) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full[kStages], empty[kStages];
  __shared__ alignas(16) int tile[kStages][kTile];
  const cg::thread_block block = cg::this_thread_block();
  if (block.thread_rank() < kStages) {
    init(&full[block.thread_rank()], kThreads);
    init(&empty[block.thread_rank()], kThreads);
  }
  block.sync();
  Barrier::arrival_token copied[kStages], read[kStages];
  const auto start_copy = [&](int stage, int i) {
    cuda::memcpy_async(block, tile[stage], in + i * kTile, cuda::aligned_size_t<16>(sizeof tile[stage]), full[stage]);
    copied[stage] = full[stage].arrive();
  };
  for (int i = 0; i < kStages && i < tiles; ++i)
    start_copy(i, i);
  for (int i = 0; i < tiles; ++i) {
    const int stage = i % kStages;
    full[stage].wait(std::move(copied[stage]));
    for (int j = threadIdx.x; j < kTile; j += kThreads)
      out[i * kTile + j] = 2 * tile[stage][j] + tile[stage][kTile - 1 - j];
    read[stage] = empty[stage].arrive();
    if (i + kStages < tiles) {
      empty[stage].wait(std::move(read[stage]));
      start_copy(stage, i + kStages);
    }
  }
}
