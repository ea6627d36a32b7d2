// Of the C API (lemma/c.h): how many CTAs a modelled GPU keeps resident. As lemma/occupancy.h.
//
// Tests: tests/unit/capi/inspect_test.cc.
#ifndef LEMMA_C_OCCUPANCY_H
#define LEMMA_C_OCCUPANCY_H

#include "lemma/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a CTA takes of an SM.
typedef struct lemma_cta_demand {
  size_t size;
  uint32_t threads;      // 1 to 1024; whole warps are taken
  uint32_t registers;    // of a thread, up to 255; 0: they are no limit
  uint64_t shared_bytes; // static and dynamic; the system's share comes on top
} lemma_cta_demand;

typedef struct lemma_occupancy {
  uint32_t ctas_per_sm;       // 0: not even one fits
  uint32_t warps_per_sm;      // of these CTAs
  uint32_t most_warps_per_sm; // that an SM holds
  uint32_t sm_count;          // of the card
  // For how many CTAs there is room in each; UINT32_MAX: for any number.
  uint32_t by_warps;
  uint32_t by_ctas;
  uint32_t by_shared;
  uint32_t by_registers;
  const char* limited_by; // "shared memory, registers": what there is no more of
} lemma_occupancy;
LEMMA_API void lemma_occupancy_release(const lemma_occupancy* occupancy);

// `arch`: the machine, "sm_90a". Error: invalid_argument.
LEMMA_API const lemma_error* lemma_occupancy_of(const lemma_cta_demand* cta, const char* arch,
                                                const lemma_occupancy** occupancy);

// Clusters of `cluster_ctas` CTAs that are resident at once on the whole GPU. Error: invalid_argument.
LEMMA_API const lemma_error* lemma_active_clusters(const lemma_cta_demand* cta, uint32_t cluster_ctas,
                                                   const char* arch, uint32_t* clusters);

typedef struct lemma_block_size_options {
  size_t size;
  const char* arch;      // the machine, "sm_90a"
  uint32_t most_threads; // 0: 1024
  uint32_t reserved;     // 0
  // Sets what a CTA of `threads` threads takes; null: nothing. Called during the call.
  void (*demand)(void* user, uint32_t threads, lemma_cta_demand* cta);
  void* user; // for it
} lemma_block_size_options;

// The block size with which most threads are resident, the largest of those that are equal; 0: none fits.
// Error: invalid_argument.
LEMMA_API const lemma_error* lemma_best_block_size(const lemma_block_size_options* options,
                                                   uint32_t* threads);

// The dynamic shared memory that each of `ctas_per_sm` CTAs may have; `cta` without it. Error:
// invalid_argument.
LEMMA_API const lemma_error* lemma_available_dynamic_shared_bytes(const lemma_cta_demand* cta,
                                                                  uint32_t ctas_per_sm, const char* arch,
                                                                  uint64_t* bytes);

#ifdef __cplusplus
}
#endif

#endif
