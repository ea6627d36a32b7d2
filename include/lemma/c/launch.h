// Of the C API (lemma/c.h): how a kernel is launched. As lemma/launch.h.
//
// Tests: tests/unit/capi/launch_test.cc, tests/package/consumer/.
#ifndef LEMMA_C_LAUNCH_H
#define LEMMA_C_LAUNCH_H

#include "lemma/c/device.h"
#include "lemma/c/observer.h"
#include "lemma/c/report.h"

#ifdef __cplusplus
extern "C" {
#endif

// When the virtual GPU completes asynchronous operations.
typedef enum lemma_async_mode LEMMA_INT {
  LEMMA_ASYNC_EAGER = 0, // when they are issued
  LEMMA_ASYNC_LATE = 1,  // as late as the ISA allows, so that a missing wait or fence shows
  LEMMA_ASYNC_RANDOM = 2 // each at a time that the seed draws
} lemma_async_mode;

// What becomes of an access just past the end of an allocation, where a GPU has memory mapped.
typedef enum lemma_on_fault LEMMA_INT {
  LEMMA_ON_FAULT_STOP = 0, // it is a fault
  LEMMA_ON_FAULT_WARN = 1  // loads, stores and atomics go on there, and lemma_report.warnings says so
} lemma_on_fault;

// What executes a kernel's instructions on the virtual GPU. The results are the same.
typedef enum lemma_engine LEMMA_INT {
  LEMMA_ENGINE_DEFAULT = 0,     // what LEMMA_ENGINE of the environment says; else auto
  LEMMA_ENGINE_AUTO = 1,        // the interpreter, and code of the host for what has run often
  LEMMA_ENGINE_INTERPRETER = 2, // alone
  LEMMA_ENGINE_COMPILED = 3     // what can be compiled is when it first runs
} lemma_engine;

// A way to end launches: those that have it in their configuration end soon after the request, with
// LEMMA_OUTCOME_STOPPED. A request may come from any thread, and from a signal handler; it holds for later
// launches too, until lemma_stop_reset(). Create returns null if there is no memory.
typedef struct lemma_stop lemma_stop;
LEMMA_API lemma_stop* lemma_stop_create(void);
LEMMA_API void lemma_stop_request(lemma_stop* stop);
LEMMA_API void lemma_stop_reset(lemma_stop* stop);
LEMMA_API void lemma_stop_release(lemma_stop* stop);

typedef struct lemma_launch_config {
  size_t size;
  uint32_t grid[3];      // CTAs (clusters, if the kernel is .blocksareclusters); a 0 counts as 1
  uint32_t block[3];     // threads of a CTA; likewise
  uint32_t cluster[3];   // CTAs of a cluster; zeros: as the kernel declares
  uint32_t shared_bytes; // dynamic shared memory of a CTA
  bool cooperative;      // all CTAs are resident at once

  // cpu only, as what follows; a GPU does as it likes.
  bool deterministic;  // CTAs in a fixed order, so that floating-point atomics repeat
  bool check;          // lemma_report.findings: races, missing fences and waits
  bool count_accesses; // lemma_stats.accesses and async_operations
  bool fidelity;       // lemma_report.forms
  lemma_async_mode async;
  uint32_t workers;          // host threads; 0: one for each core that the process may use
  uint64_t seed;             // moves every choice that the schedule has
  uint64_t max_instructions; // of any one warp, then a fault; 0: no limit
  uint64_t schedule;         // who runs when: 0 the usual order, any other number a legal and unusual one
  uint64_t check_ctas;       // of so many CTAs at most are accesses followed; 0: of all
  const lemma_stop* stop;    // must live as long as the launch

  // Device printf; null: stdout. `text` has `bytes` bytes, and no NUL.
  void (*print)(void* user, const char* text, size_t bytes);
  // CTAs that are done, now and then.
  void (*progress)(void* user, uint64_t done, uint64_t total);
  void* user; // for the callbacks
  // Is told what the launch does (lemma/c/observer.h); copied, what it points to must live as long as the
  // launch.
  const lemma_observer* observer;
  // In a stream (lemma/c/stream.h), behind a kernel: may begin when every CTA of that one has executed
  // griddepcontrol.launch_dependents or ended. "cpu" only.
  bool programmatic;
  bool elect_any; // "cpu" only: elect.sync elects the highest lane, in the usual schedule and every other one
  uint8_t reserved[2];
  lemma_on_fault on_fault; // "cpu" only; without effect with `check` or an observer
  lemma_engine engine;     // "cpu" only
  uint8_t reserved_too[4];
} lemma_launch_config;

// Runs a kernel (null: the only one) to its end. arguments[i] are the bytes of parameter i: a number, an
// address, a struct, a tensor map. No error means that it ran, or faulted: the report, which is the caller's,
// says which. Errors, where nothing ran: invalid_argument (arguments or configuration do not fit the kernel;
// a callback of a launch asks), device_lost, out_of_memory, unavailable.
LEMMA_API const lemma_error* lemma_launch(lemma_module* module, const char* kernel,
                                          const lemma_launch_config* config, const lemma_bytes* arguments,
                                          size_t argument_count, const lemma_report** report);

#ifdef __cplusplus
}
#endif

#endif
