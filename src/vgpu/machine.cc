// The table of the machines' sizes. See machine.h.
#include "vgpu/machine.h"

namespace lemma::vgpu {
namespace {

struct Row {
  int sm;
  uint32_t sm_count; // of the GPU named
  uint32_t threads_per_sm;
  uint32_t ctas_per_sm;
  uint32_t shared_kib_per_sm;
  uint32_t shared_kib_per_cta;
  uint32_t cluster_ctas;
};

constexpr Row kRows[] = {
    {70, 80, 2048, 32, 96, 96, 1},      // V100
    {75, 72, 1024, 16, 64, 64, 1},      // TU102
    {80, 108, 2048, 32, 164, 163, 1},   // A100
    {86, 84, 1536, 16, 100, 99, 1},     // GA102
    {87, 16, 1536, 16, 164, 163, 1},    // Orin
    {89, 142, 1536, 24, 100, 99, 1},    // L40
    {90, 132, 2048, 32, 228, 227, 16},  // H200
    {100, 148, 2048, 32, 228, 227, 16}, // B200
    {120, 170, 1536, 24, 100, 99, 8},   // GB202
};

} // namespace

MachineLimits limits_of(Arch arch) {
  const Row* row = kRows;
  for (const Row& candidate : kRows)
    if (candidate.sm <= arch.sm)
      row = &candidate;
  MachineLimits limits;
  limits.sm_count = row->sm_count;
  limits.threads_per_sm = row->threads_per_sm;
  limits.ctas_per_sm = row->ctas_per_sm;
  limits.shared_bytes_per_sm = row->shared_kib_per_sm * 1024;
  limits.max_shared_bytes_per_cta = row->shared_kib_per_cta * 1024;
  limits.max_cluster_ctas = row->cluster_ctas;
  return limits;
}

} // namespace lemma::vgpu
