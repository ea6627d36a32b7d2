// include/lemma/c/occupancy.h.
#include "lemma/occupancy.h"

#include "capi/messages.h"

namespace lemma::capi {
namespace {

CtaDemand demand_of(const lemma_cta_demand* cta, const char* name) {
  const lemma_cta_demand known = taken(&given(cta, name), name);
  return {.threads = known.threads, .shared_bytes = known.shared_bytes, .registers = known.registers};
}

} // namespace
} // namespace lemma::capi

using namespace lemma::capi;

void lemma_occupancy_release(const lemma_occupancy* occupancy) {
  release(occupancy);
}

const lemma_error* lemma_occupancy_of(const lemma_cta_demand* cta, const char* arch,
                                      const lemma_occupancy** occupancy) {
  return guarded([&] {
    const lemma_occupancy*& made = given(occupancy, "lemma_occupancy_of: occupancy");
    const lemma::Occupancy found =
        unwrap(lemma::occupancy(demand_of(cta, "lemma_occupancy_of: cta"), text_or(arch, "")));
    auto tree = std::make_unique<Tree<lemma_occupancy>>();
    tree->ctas_per_sm = found.ctas_per_sm;
    tree->warps_per_sm = found.warps_per_sm;
    tree->most_warps_per_sm = found.most_warps_per_sm;
    tree->sm_count = found.sm_count;
    tree->by_warps = found.by_warps;
    tree->by_ctas = found.by_ctas;
    tree->by_shared = found.by_shared;
    tree->by_registers = found.by_registers;
    tree->limited_by = tree->arena.text(found.limited_by());
    made = tree.release();
  });
}

const lemma_error* lemma_active_clusters(const lemma_cta_demand* cta, uint32_t cluster_ctas, const char* arch,
                                         uint32_t* clusters) {
  return guarded([&] {
    given(clusters, "lemma_active_clusters: clusters") = unwrap(lemma::active_clusters(
        demand_of(cta, "lemma_active_clusters: cta"), cluster_ctas, text_or(arch, "")));
  });
}

const lemma_error* lemma_best_block_size(const lemma_block_size_options* options, uint32_t* threads) {
  return guarded([&] {
    const lemma_block_size_options wanted = taken(options, "lemma_best_block_size: options");
    const auto demand = [&](uint32_t of_threads) {
      lemma_cta_demand cta = LEMMA_SIZED(lemma_cta_demand);
      if (wanted.demand)
        wanted.demand(wanted.user, of_threads, &cta);
      return demand_of(&cta, "lemma_best_block_size: a cta");
    };
    constexpr uint32_t kMostThreads = 1024;
    given(threads, "lemma_best_block_size: threads") =
        unwrap(lemma::best_block_size(demand, wanted.most_threads ? wanted.most_threads : kMostThreads,
                                      text_or(wanted.arch, "")))
            .threads;
  });
}

const lemma_error* lemma_available_dynamic_shared_bytes(const lemma_cta_demand* cta, uint32_t ctas_per_sm,
                                                        const char* arch, uint64_t* bytes) {
  return guarded([&] {
    given(bytes, "lemma_available_dynamic_shared_bytes: bytes") =
        unwrap(lemma::available_dynamic_shared_bytes(
            demand_of(cta, "lemma_available_dynamic_shared_bytes: cta"), ctas_per_sm, text_or(arch, "")));
  });
}
