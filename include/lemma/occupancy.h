// How many CTAs of a kernel are resident at once on a modelled GPU, and which block size fills it: what the
// CUDA driver's cuOccupancy functions compute.
//
//   const auto found = lemma::occupancy({.threads = 384, .shared_bytes = 196672, .registers = 168},
//   "sm_90a");
//   // found->ctas_per_sm == 1, found->limited_by() == "shared memory, registers"
//
// The virtual GPU keeps as many resident. It allocates no registers, since only ptxas knows how many a kernel
// has: they count where the caller says so (ptxas -v, cuobjdump -res-usage), and no launch is bound by them.
// The GPU is the card of the machine's row (docs/virtual-gpu.md), with as much shared memory as it can have.
//
// Source: CUDA's cuda_occupancy.h, which the tests ask where there is a toolkit.
// Tests: tests/unit/inspect/occupancy_test.cc.
#pragma once

#include "lemma/message.h"
#include "lemma/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace lemma {

// What a CTA takes of an SM.
struct CtaDemand {
  uint32_t threads = 0;      // 1 to 1024; whole warps are taken
  uint64_t shared_bytes = 0; // static and dynamic; the system's share comes on top
  uint32_t registers = 0;    // of a thread, up to 255; 0: they are no limit
};

struct Occupancy {
  uint32_t ctas_per_sm = 0;       // 0: not even one fits
  uint32_t warps_per_sm = 0;      // of these CTAs
  uint32_t most_warps_per_sm = 0; // that an SM holds
  uint32_t sm_count = 0;          // of the card
  // For how many CTAs there is room in each; UINT32_MAX: for any number.
  uint32_t by_warps = 0;
  uint32_t by_ctas = 0;
  uint32_t by_shared = 0;
  uint32_t by_registers = 0;

  // What there is no more of: "warps", "CTAs", "shared memory", "registers", several with commas.
  std::string limited_by() const;
};

// `arch`: the machine, "sm_90a". Error: invalid_argument (no such machine, none that is modelled; 0 threads
// or more than 1024, more than 255 registers).
Result<Occupancy, Error> occupancy(const CtaDemand& cta, std::string_view arch);

// Clusters of `cluster_ctas` CTAs that are resident at once on the whole GPU (cuOccupancyMaxActiveClusters).
// In the model a cluster's CTAs lie on any SMs; on a card they share a GPC, so that somewhat fewer fit.
// Errors as above, and a cluster that the machine has not (0 CTAs, more than 8 or 16, any before sm_90 but
// 1).
Result<uint32_t, Error> active_clusters(const CtaDemand& cta, uint32_t cluster_ctas, std::string_view arch);

struct BlockSize {
  uint32_t threads = 0; // 0: none fits
  Occupancy occupancy;
};
// The block size with which most threads are resident, the largest of those that are equal
// (cuOccupancyMaxPotentialBlockSize): among the multiples of 32 up to `most_threads`, and that. `demand` says
// what a CTA of so many threads takes. Errors as above, for `most_threads` and what `demand` returns.
Result<BlockSize, Error> best_block_size(const std::function<CtaDemand(uint32_t threads)>& demand,
                                         uint32_t most_threads, std::string_view arch);

// The dynamic shared memory that each of `ctas_per_sm` CTAs may have
// (cuOccupancyAvailableDynamicSMemPerBlock); `cta` without it. Errors as above, and that so many do not fit
// even so.
Result<uint64_t, Error> available_dynamic_shared_bytes(const CtaDemand& cta, uint32_t ctas_per_sm,
                                                       std::string_view arch);

} // namespace lemma
