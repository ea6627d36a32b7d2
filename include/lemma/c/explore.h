// Of the C API (lemma/c.h): one launch in many schedules. As lemma/explore.h, where more is said.
//
// Tests: tests/unit/capi/explore_test.cc.
#ifndef LEMMA_C_EXPLORE_H
#define LEMMA_C_EXPLORE_H

#include "lemma/c/base.h"
#include "lemma/c/launch.h"
#include "lemma/c/report.h"

#ifdef __cplusplus
extern "C" {
#endif

// What is unusual about lemma_launch_config.schedule: "the last warps first, asynchronous operations late".
// Null if there is no memory.
LEMMA_API const lemma_text* lemma_schedule_text(uint64_t schedule);

// How one schedule went, and what it has written: filled in by lemma_explore_options.run. Both functions
// copy.
typedef struct lemma_schedule_run lemma_schedule_run;
// `kernel`: that the report is of, where there are several; else null.
LEMMA_API const lemma_error* lemma_schedule_run_set_report(lemma_schedule_run* run,
                                                           const lemma_report* report, const char* kernel);
// As many in each schedule.
LEMMA_API const lemma_error* lemma_schedule_run_add_output(lemma_schedule_run* run, const void* data,
                                                           size_t size_bytes);

typedef struct lemma_explore_options {
  size_t size;
  const char* kernel;     // lemma_finding.kernel and ptx, for faults; may be null
  const char* ptx;        //
  uint64_t schedules;     // with the usual one; 0: 8
  const lemma_stop* stop; // no further schedule begins; may be null
  uint32_t workers;       // host threads; 0: one for each core that the process may use
  uint32_t reserved;      // 0
  // Opens a device that takes its `share`th part of the memory that there is, loads, allocates, launches with
  // lemma_launch_config.schedule = `schedule`, and fills `run` in: a launch of its own in memory of its own.
  // Called first with schedule 0, then from several threads with the others, all at the same time. One that
  // finds too little memory, or waits for ever because of that, is called again with a share of 1. Returns
  // null, or an error, which becomes the library's: lemma_explore() ends with the first.
  const lemma_error* (*run)(void* user, uint64_t schedule, uint64_t share, lemma_schedule_run* run);
  void* user; // for `run`
} lemma_explore_options;

// Bytes of an output that are others than in the first schedule.
typedef struct lemma_output_difference {
  size_t output;
  uint64_t offset; // of the first that differs
  uint64_t bytes;  // that differ, in this output
} lemma_output_difference;

typedef struct lemma_explored_schedule {
  uint64_t schedule;
  lemma_outcome outcome;
  const lemma_fault* fault;                  // null: none
  const lemma_output_difference* difference; // null: none
  bool has_new_finding;                      // one that the first schedule lacks; no note
} lemma_explored_schedule;

typedef struct lemma_exploration {
  size_t schedule_count; // by number, the first included
  const lemma_explored_schedule* const* schedules;
  size_t finding_count; // of all, merged; a fault that the usual schedule lacks is one
  const lemma_finding* const* findings;
  bool float_atomics; // were executed: they explain differences of outputs
  // The first schedule that has a finding or a fault that the usual one lacks, or other outputs; null: none.
  const uint64_t* first_unlike;
  const char* text; // the findings for a terminal
} lemma_exploration;
LEMMA_API void lemma_exploration_release(const lemma_exploration* exploration);

LEMMA_API const lemma_error* lemma_explore(const lemma_explore_options* options,
                                           const lemma_exploration** exploration);

#ifdef __cplusplus
}
#endif

#endif
