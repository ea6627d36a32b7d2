// Of the C API (lemma/c.h): watching a launch on the virtual GPU. As lemma/observer.h, which says what comes
// when, and from which threads.
//
//   static void executes(void* user, const lemma_warp_step* step) { ++((uint64_t*)user)[step->worker]; }
//   lemma_observer observer = LEMMA_SIZED(lemma_observer);
//   observer.executes = executes;
//   observer.user = counts;
//   config.observer = &observer;
//
// Unlike other callbacks these come from several threads at the same time: events of different clusters do.
// `worker` tells the threads of a launch apart. What a function is shown lives as long as the call, the
// launch until launch_ends has returned.
//
// Tests: tests/unit/capi/observer_test.cc.
#ifndef LEMMA_C_OBSERVER_H
#define LEMMA_C_OBSERVER_H

#include "lemma/c/report.h"

#ifdef __cplusplus
extern "C" {
#endif

// Of events that no instruction causes.
#define LEMMA_NO_INSTRUCTION UINT32_MAX

// Lanes of a warp at an instruction: whose event it is.
typedef struct lemma_warp_step {
  uint32_t worker;      // below lemma_watched_launch.workers
  uint32_t instruction; // below lemma_watched_launch.instructions
  uint64_t cta_index;   // in the grid, x first
  uint32_t cta[3];
  uint32_t cta_rank; // in its cluster
  uint32_t warp;     // in the CTA
  uint32_t lanes;    // mask
} lemma_warp_step;

// A function of the module, and which of the instructions are its.
typedef struct lemma_watched_function {
  const char* name;
  bool is_kernel;
  uint32_t first, count;
} lemma_watched_function;

// Instructions are those of the whole module, numbered in the order of its text.
typedef struct lemma_watched_launch {
  const char* kernel;
  const char* ptx;        // the name that the text was loaded with
  const char* arithmetic; // "sm_90"
  uint64_t number;        // of the process's launches
  uint32_t grid[3], block[3], cluster[3];
  uint32_t shared_bytes;        // of a CTA, static and dynamic
  uint32_t dynamic_shared_from; // the shared address of the dynamic part
  uint32_t workers;             // host threads
  uint32_t instructions;
  size_t function_count;
  const lemma_watched_function* const* functions;
} lemma_watched_launch;

// An instruction in words. It is the caller's; null if there is no memory. From any thread.
typedef struct lemma_watched_instruction {
  const lemma_place* place;
  const char* form; // "ld.global.v4.f32"
} lemma_watched_instruction;
LEMMA_API const lemma_watched_instruction* lemma_watched_instruction_of(const lemma_watched_launch* launch,
                                                                        uint32_t instruction);
LEMMA_API void lemma_watched_instruction_release(const lemma_watched_instruction* instruction);

typedef struct lemma_watched_cta {
  uint32_t worker;
  uint32_t rank;  // in its cluster
  uint64_t index; // in the grid, x first
  uint64_t cluster;
  uint32_t id[3];
} lemma_watched_cta;

typedef enum lemma_memory_space LEMMA_INT {
  LEMMA_MEMORY_GLOBAL = 0,
  LEMMA_MEMORY_CONSTANT = 1,
  LEMMA_MEMORY_SHARED = 2,
  LEMMA_MEMORY_LOCAL = 3,
  LEMMA_MEMORY_PARAM = 4
} lemma_memory_space;

typedef enum lemma_access_type LEMMA_INT {
  LEMMA_ACCESS_READ = 0,
  LEMMA_ACCESS_WRITE = 1,
  LEMMA_ACCESS_ATOMIC = 2
} lemma_access_type;

// What one execution of an instruction accesses in one allocation, one CTA's shared memory, or the lanes'
// own.
typedef struct lemma_watched_access {
  lemma_memory_space space;
  lemma_access_type type;
  bool by_lane;    // piece i is lane i's; else the lanes access all of them together
  uint32_t pieces; // mask
  uint32_t piece_bytes;
  uint32_t owner_rank;       // shared: of the CTA whose memory it is
  const uint64_t* addresses; // 32, by piece
  const char* semantics;     // "weak", "acquire"
  const char* scope;         // "gpu"; empty: none
} lemma_watched_access;

typedef enum lemma_sync_event LEMMA_INT {
  LEMMA_SYNC_FENCE = 0,
  LEMMA_SYNC_PROXY_FENCE = 1,
  LEMMA_SYNC_WARP_BARRIER = 2,
  LEMMA_SYNC_CONVERGENCE = 3,      // shfl.sync, vote.sync, ...
  LEMMA_SYNC_BARRIER_ARRIVE = 4,   // bar.arrive, bar.sync, bar.red
  LEMMA_SYNC_BARRIER_COMPLETE = 5, // no warp's
  LEMMA_SYNC_CLUSTER_ARRIVE = 6,
  LEMMA_SYNC_CLUSTER_WAIT = 7,
  LEMMA_SYNC_CLUSTER_COMPLETE = 8, // no warp's
  LEMMA_SYNC_WGMMA_FENCE = 9,
  LEMMA_SYNC_GRID_WAIT = 10,
  LEMMA_SYNC_MBARRIER_ARRIVE = 11, // by lanes, or by an operation's completion
  LEMMA_SYNC_MBARRIER_WAIT = 12,   // lanes have found that a phase is complete
  LEMMA_SYNC_GROUP_COMMIT = 13,
  LEMMA_SYNC_GROUP_WAIT = 14, // lanes have waited for their groups
  LEMMA_SYNC_EXIT = 15        // lanes are no more
} lemma_sync_event;
LEMMA_API const char* lemma_sync_event_name(lemma_sync_event event);

typedef struct lemma_watched_sync {
  lemma_sync_event event;
  const char* semantics;
  const char* scope;
  uint32_t members;          // warp_barrier, convergence: the membermask
  uint32_t barrier;          // barrier_*: 0 to 15
  bool waits;                // barrier_arrive: the lanes go on when the phase completes
  uint32_t threads;          // barrier_arrive: that the phase waits for; 0: all of the CTA
  uint32_t mbarrier_rank;    // mbarrier_*: of the CTA in whose shared memory it lies
  uint32_t mbarrier_address; // there
  bool parity;               // of the phase
  bool completes_phase;
  bool by_operation; // the step is that which issued it
  uint32_t arrivals;
  int64_t expected_bytes; // negative: so many have come
  uint64_t operation;     // by_operation: lemma_watched_operation.number
  const char* group;      // group_*: "cp.async", "bulk", "wgmma"
  uint64_t pending;       // group_wait: groups that need not be complete
  bool read_only;         // group_wait: their sources have been read, no more
  bool uncommitted;       // group_wait: what was not committed has completed, too
} lemma_watched_sync;

// Bytes that an operation reads or writes: device addresses, or shared memory of a CTA.
typedef struct lemma_memory_range {
  lemma_memory_space space;
  uint32_t owner_rank;
  uint64_t address;
  uint64_t bytes;
} lemma_memory_range;

typedef enum lemma_operation_event LEMMA_INT {
  LEMMA_OPERATION_ISSUED = 0,      // of wgmma by each of the four warps, `parts` counting up
  LEMMA_OPERATION_SOURCE_READ = 1, // its source may be written again
  LEMMA_OPERATION_COMPLETED = 2    // the destination is written
} lemma_operation_event;

// An asynchronous operation. Its step is that which issued it.
typedef struct lemma_watched_operation {
  lemma_operation_event event;
  uint32_t parts;
  const char* kind;  // "tensor load"
  const char* group; // by which it is waited for; empty: by an mbarrier
  uint64_t number;   // of its cluster's operations, in the order of issue
  uint64_t bytes_read, bytes_written;
  size_t read_count; // lemma_observer.ranges
  const lemma_memory_range* const* reads;
  size_t write_count;
  const lemma_memory_range* const* writes;
} lemma_watched_operation;

// What is null is not watched, and costs little.
typedef struct lemma_observer {
  size_t size;
  void (*launch_begins)(void* user, const lemma_watched_launch* launch);
  void (*launch_ends)(void* user, const lemma_watched_launch* launch);
  void (*cta_begins)(void* user, const lemma_watched_cta* cta);
  void (*cta_ends)(void* user, const lemma_watched_cta* cta);
  void (*executes)(void* user, const lemma_warp_step* step);
  void (*accesses)(void* user, const lemma_warp_step* step, const lemma_watched_access* access);
  void (*synchronizes)(void* user, const lemma_warp_step* step, const lemma_watched_sync* sync);
  void (*operates)(void* user, const lemma_warp_step* step, const lemma_watched_operation* operation);
  bool ranges; // operations have `reads` and `writes`
  void* user;
} lemma_observer;

#ifdef __cplusplus
}
#endif

#endif
