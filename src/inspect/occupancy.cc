// Occupancy as the public API asks for it (lemma/occupancy.h): arguments are checked here, src/vgpu counts.
#include "lemma/occupancy.h"

#include "isa/machine.h"
#include "vgpu/engine/occupancy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace lemma {
namespace inspect {
namespace {

constexpr uint32_t kMostRegisters = 255, kWarpThreads = 32;

Unexpected<Error> invalid(std::string text) {
  return fail(Error{ErrorKind::invalid_argument, std::move(text), {}});
}

Result<vgpu::MachineLimits, Error> machine(std::string_view arch) {
  const auto target = isa::parse_target(arch);
  const isa::Machine* const row = target ? isa::find_machine(target->sm) : nullptr;
  if (!row || !row->arithmetic)
    return invalid(fmt::format("there is no machine '{}' that is modelled; sm_90a is one", arch));
  return vgpu::limits_of(vgpu::Arch{row->sm});
}

Result<Occupancy, Error> checked(const vgpu::MachineLimits& limits, const CtaDemand& cta) {
  if (cta.threads == 0 || cta.threads > limits.max_threads_per_cta)
    return invalid(
        fmt::format("a CTA of {} threads: legal are 1 to {}", cta.threads, limits.max_threads_per_cta));
  if (cta.registers > kMostRegisters)
    return invalid(fmt::format("{} registers of a thread: legal are 1 to {}, and 0 for any number",
                               cta.registers, kMostRegisters));
  return vgpu::occupancy_of(limits, cta);
}

} // namespace
} // namespace inspect

std::string Occupancy::limited_by() const {
  std::vector<std::string_view> names;
  for (const auto& [room, name] :
       {std::pair(by_warps, "warps"), std::pair(by_ctas, "CTAs"), std::pair(by_shared, "shared memory"),
        std::pair(by_registers, "registers")})
    if (room == ctas_per_sm)
      names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<Occupancy, Error> occupancy(const CtaDemand& cta, std::string_view arch) {
  const auto limits = inspect::machine(arch);
  return limits ? inspect::checked(*limits, cta) : Unexpected<Error>{limits.error()};
}

Result<uint32_t, Error> active_clusters(const CtaDemand& cta, uint32_t cluster_ctas, std::string_view arch) {
  const auto limits = inspect::machine(arch);
  if (!limits)
    return Unexpected<Error>{limits.error()};
  if (cluster_ctas == 0 || cluster_ctas > limits->max_cluster_ctas)
    return inspect::invalid(fmt::format("a cluster of {} CTAs: legal on {} are 1 to {}", cluster_ctas, arch,
                                        limits->max_cluster_ctas));
  const auto found = inspect::checked(*limits, cta);
  if (!found)
    return Unexpected<Error>{found.error()};
  return found->ctas_per_sm * found->sm_count / cluster_ctas;
}

Result<BlockSize, Error> best_block_size(const std::function<CtaDemand(uint32_t threads)>& demand,
                                         uint32_t most_threads, std::string_view arch) {
  const auto limits = inspect::machine(arch);
  if (!limits)
    return Unexpected<Error>{limits.error()};
  if (auto legal = inspect::checked(*limits, {.threads = most_threads}); !legal)
    return Unexpected<Error>{std::move(legal).error()};
  BlockSize best;
  for (uint32_t threads = most_threads; threads > 0;
       threads = (threads - 1) / inspect::kWarpThreads * inspect::kWarpThreads) {
    CtaDemand cta = demand(threads);
    cta.threads = threads;
    const auto found = inspect::checked(*limits, cta);
    if (!found)
      return Unexpected<Error>{found.error()};
    if (found->ctas_per_sm * threads > best.occupancy.ctas_per_sm * best.threads)
      best = {threads, *found};
  }
  return best;
}

Result<uint64_t, Error> available_dynamic_shared_bytes(const CtaDemand& cta, uint32_t ctas_per_sm,
                                                       std::string_view arch) {
  const auto limits = inspect::machine(arch);
  if (!limits)
    return Unexpected<Error>{limits.error()};
  const auto found = inspect::checked(*limits, cta);
  if (!found)
    return Unexpected<Error>{found.error()};
  if (ctas_per_sm == 0 || ctas_per_sm > found->ctas_per_sm)
    return inspect::invalid(fmt::format("{} CTAs on an SM: {} fit, for {}", ctas_per_sm, found->ctas_per_sm,
                                        found->limited_by()));
  return vgpu::shared_bytes_of_each(*limits, ctas_per_sm) - cta.shared_bytes;
}

} // namespace lemma
