// An SM has four partitions, with a quarter of the registers each; a warp's are one of them's, and a CTA has
// a multiple of four warps' worth at hand or does not start.
#include "vgpu/engine/occupancy.h"

#include "support/align.h"

#include <algorithm>

namespace lemma::vgpu {
namespace {

constexpr uint32_t kWarpThreads = 32;
// Of registers, alike on every machine that is modelled; a warp has a multiple of kRegisterUnit.
constexpr uint32_t kRegistersPerSm = 65536, kRegisterUnit = 256, kPartitions = 4;

uint32_t by_registers(uint32_t registers, uint32_t warps) {
  if (registers == 0)
    return UINT32_MAX;
  const uint64_t of_a_warp = align_up(uint64_t{registers} * kWarpThreads, kRegisterUnit);
  if (of_a_warp * align_up(uint64_t{warps}, kPartitions) > kRegistersPerSm)
    return 0;
  const uint64_t warps_of_a_partition = kRegistersPerSm / kPartitions / of_a_warp;
  return static_cast<uint32_t>(warps_of_a_partition * kPartitions / warps);
}

uint32_t by_shared(const MachineLimits& limits, uint64_t bytes) {
  if (bytes > limits.max_shared_bytes_per_cta)
    return 0;
  const uint64_t taken = align_up(bytes + limits.reserved_shared_bytes, limits.shared_unit_bytes);
  return taken == 0 ? UINT32_MAX : static_cast<uint32_t>(limits.shared_bytes_per_sm / taken);
}

} // namespace

Occupancy occupancy_of(const MachineLimits& limits, const CtaDemand& cta) {
  const auto warps = static_cast<uint32_t>(align_up(uint64_t{cta.threads}, kWarpThreads) / kWarpThreads);
  Occupancy found;
  found.sm_count = limits.sm_count;
  found.most_warps_per_sm = limits.threads_per_sm / kWarpThreads;
  found.by_warps = found.most_warps_per_sm / warps;
  found.by_ctas = limits.ctas_per_sm;
  found.by_shared = by_shared(limits, cta.shared_bytes);
  found.by_registers = by_registers(cta.registers, warps);
  found.ctas_per_sm = std::min({found.by_warps, found.by_ctas, found.by_shared, found.by_registers});
  found.warps_per_sm = found.ctas_per_sm * warps;
  return found;
}

uint32_t launch_registers(const MachineLimits& limits, const ptx::LaunchBounds& bounds, uint32_t wanted) {
  constexpr uint32_t kUnit = 8, kMost = 256; // a thread can name 255, and the last one is its own too
  const auto& declared = bounds.reqntid[0] != 0 ? bounds.reqntid : bounds.maxntid;
  const bool is_for_several = bounds.minnctapersm != 0 && declared[0] != 0;
  if (bounds.maxnreg == 0 && !is_for_several)
    return 0;
  uint32_t most = bounds.maxnreg == 0 || bounds.maxnreg >= kMost - 1
                      ? kMost
                      : (bounds.maxnreg + kUnit - 1) / kUnit * kUnit;
  if (wanted != 0)
    most = std::min(most, wanted);
  if (!is_for_several)
    return most;
  const uint32_t threads = declared[0] * std::max(declared[1], 1u) * std::max(declared[2], 1u);
  const auto leaves_room = [&] {
    return occupancy_of(limits, {.threads = threads, .shared_bytes = 0, .registers = most}).by_registers >=
           bounds.minnctapersm;
  };
  while (most > kUnit && !leaves_room())
    most -= kUnit;
  return most;
}

uint64_t shared_bytes_of_each(const MachineLimits& limits, uint32_t ctas_per_sm) {
  const uint64_t share =
      limits.shared_bytes_per_sm / ctas_per_sm / limits.shared_unit_bytes * limits.shared_unit_bytes;
  return share - std::min<uint64_t>(share, limits.reserved_shared_bytes);
}

} // namespace lemma::vgpu
