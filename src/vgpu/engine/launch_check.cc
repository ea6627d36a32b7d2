// Each rule is the driver's, and its message says what is legal.
#include "vgpu/engine/launch_check.h"

#include "support/align.h"
#include "vgpu/engine/cluster_start.h"
#include "vgpu/engine/occupancy.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::vgpu {

uint64_t resident_ctas(const MachineLimits& limits, uint64_t threads, uint64_t shared_bytes) {
  const Occupancy found = occupancy_of(limits, {.threads = static_cast<uint32_t>(threads),
                                                .shared_bytes = shared_bytes - kSharedReservedBytes});
  return uint64_t{std::max(1u, found.ctas_per_sm)} * limits.sm_count;
}

uint64_t shared_bytes_of(const Program& program, const Code& entry, const LaunchConfig& config) {
  const uint64_t align = program.dynamic_shared_align();
  return align_up(entry.shared_bytes, align) + config.shared_bytes;
}

bool names_cluster(const LaunchConfig& config) {
  return config.cluster[0] != 0;
}

LaunchConfig settled(LaunchConfig config, const Code& entry) {
  if (!names_cluster(config))
    config.cluster = {1, 1, 1};
  if (entry.function->bounds.blocks_are_clusters)
    for (int i = 0; i < 3; ++i)
      config.grid[i] =
          static_cast<uint32_t>(std::min<uint64_t>(uint64_t{config.grid[i]} * config.cluster[i], UINT32_MAX));
  return config;
}

namespace {

std::string text_of(const Dim3& d) {
  return fmt::format("{},{},{}", d[0], d[1], d[2]);
}

// What a directive says: dimensions that it leaves out are 1.
Dim3 declared(Dim3 dimensions) {
  for (uint32_t& d : dimensions)
    d = std::max(d, 1u);
  return dimensions;
}

// The cluster against the grid, the machine, and what the kernel declares.
std::string check_cluster(const ptx::LaunchBounds& bounds, const LaunchConfig& config, bool is_explicit,
                          const MachineLimits& limits) {
  const Dim3& size = config.cluster;
  if (bounds.explicit_cluster && !is_explicit)
    return "the kernel is declared .explicitcluster: the launch must name the cluster's size";
  if (bounds.reqnctapercluster[0]) {
    const Dim3 required = declared(bounds.reqnctapercluster);
    if (required != size)
      return fmt::format("the cluster is {}, but the kernel requires .reqnctapercluster {}", text_of(size),
                         text_of(required));
  }
  const uint64_t ctas = product(size);
  if (ctas == 0 || ctas > limits.max_cluster_ctas)
    return fmt::format("the cluster of {} has {} CTAs: legal are 1 to {} (more than 8 is not portable)",
                       text_of(size), ctas, limits.max_cluster_ctas);
  if (bounds.maxclusterrank && ctas > bounds.maxclusterrank)
    return fmt::format("the cluster of {} has {} CTAs, but the kernel was compiled for at most {} "
                       "(.maxclusterrank)",
                       text_of(size), ctas, bounds.maxclusterrank);
  for (int i = 0; i < 3; ++i)
    if (config.grid[i] % size[i])
      return fmt::format("grid {} is {}, which is not a multiple of the cluster's {}", "xyz"[i],
                         config.grid[i], size[i]);
  return {};
}

// A cooperative grid is resident as a whole.
std::string check_cooperative(const LaunchConfig& config, const MachineLimits& limits,
                              uint64_t shared_bytes) {
  const uint64_t size = product(config.cluster);
  const uint64_t resident = resident_ctas(limits, product(config.block), shared_bytes) / size * size;
  if (!config.cooperative || product(config.grid) <= resident)
    return {};
  return fmt::format(
      "a cooperative launch, as a kernel that reads %envreg needs, has all of its CTAs resident "
      "at once: the grid has {}, and of these, with {} threads and {} bytes of shared memory "
      "each, the machine holds {}",
      product(config.grid), product(config.block), shared_bytes - kSharedReservedBytes, resident);
}

} // namespace

std::string check_launch(const Program& program, const Code& entry, const LaunchConfig& asked,
                         size_t param_bytes, const MachineLimits& limits) {
  const LaunchConfig config = settled(asked, entry);
  for (int i = 0; i < 3; ++i) {
    const char axis = "xyz"[i];
    if (config.grid[i] == 0 || config.grid[i] > limits.max_grid[i])
      return fmt::format("grid {} is {}: legal are 1 to {}", axis, config.grid[i], limits.max_grid[i]);
    if (config.block[i] == 0 || config.block[i] > limits.max_block[i])
      return fmt::format("block {} is {}: legal are 1 to {}", axis, config.block[i], limits.max_block[i]);
  }
  const ptx::LaunchBounds& bounds = entry.function->bounds;
  if (std::string wrong = check_cluster(bounds, config, names_cluster(asked), limits); !wrong.empty())
    return wrong;
  const uint64_t threads = product(config.block);
  if (threads > limits.max_threads_per_cta)
    return fmt::format("the block has {} threads: legal are at most {}", threads, limits.max_threads_per_cta);
  if (bounds.reqntid[0]) {
    const Dim3 required = declared(bounds.reqntid);
    if (required != config.block)
      return fmt::format("the block is {}, but the kernel requires .reqntid {}", text_of(config.block),
                         text_of(required));
  }
  if (bounds.maxntid[0]) {
    const uint64_t most = product(declared(bounds.maxntid));
    if (threads > most)
      return fmt::format("the block has {} threads, but the kernel was compiled for at most {} (.maxntid)",
                         threads, most);
  }
  const uint64_t shared = shared_bytes_of(program, entry, config) - kSharedReservedBytes;
  if (shared > limits.max_shared_bytes_per_cta)
    return fmt::format(
        "the kernel needs {} bytes of shared memory ({} of them dynamic): a CTA has at most {}", shared,
        config.shared_bytes, limits.max_shared_bytes_per_cta);
  if (std::string wrong = check_cooperative(config, limits, shared + kSharedReservedBytes); !wrong.empty())
    return wrong;
  if (param_bytes < entry.kernel_param_bytes)
    return fmt::format("the kernel takes {} bytes of parameters, and {} were given", entry.kernel_param_bytes,
                       param_bytes);
  return {};
}

} // namespace lemma::vgpu
