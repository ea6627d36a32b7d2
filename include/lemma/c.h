/* Lemma's C API, over the C++ one (lemma/device.h), for programs in C and for foreign-function interfaces.
 *
 * Functions return a status; lemma_last_error() has the words. Handles are released by the function that the
 * one which made them names, null is allowed there. A device must outlive its modules. Strings that are
 * returned live as long as the object they were asked of. Functions may be called from several threads, on
 * one device too: launches run one after the other, and a copy or a free waits for the launch that runs. But
 * no handle may be released while another thread uses it.
 *
 * Tests: tests/package/consumer/c_api.c, tests/unit/runtime/threads_test.cc.
 */
#ifndef LEMMA_C_H
#define LEMMA_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lemma_status { /* as lemma::ErrorKind */
                            LEMMA_OK = 0,
                            LEMMA_INVALID_ARGUMENT = 1,
                            LEMMA_REJECTED = 2,
                            LEMMA_UNSUPPORTED = 3,
                            LEMMA_UNAVAILABLE = 4,
                            LEMMA_OUT_OF_MEMORY = 5,
                            LEMMA_DEVICE_LOST = 6,
                            LEMMA_INTERNAL = 7
} lemma_status;

typedef enum lemma_outcome { /* as lemma::Outcome */
                             LEMMA_FINISHED = 0,
                             LEMMA_FAULT = 1,
                             LEMMA_REACHED_UNSUPPORTED = 2,
                             LEMMA_INTERNAL_FAULT = 3,
                             LEMMA_STOPPED = 4
} lemma_outcome;

typedef struct lemma_device lemma_device;
typedef struct lemma_module lemma_module;
typedef struct lemma_report lemma_report;
typedef struct lemma_stop lemma_stop;

typedef struct lemma_launch_config {
  uint32_t grid[3];    /* CTAs; y or z of 0 counts as 1 */
  uint32_t block[3];   /* threads of a CTA; likewise */
  uint32_t cluster[3]; /* CTAs of a cluster; zeros: as the kernel declares */
  uint32_t shared_bytes;
  int cooperative;
  int deterministic;
  int async_late; /* asynchronous operations complete: 0 when issued, 1 as late as the ISA allows, 2 at times
                     that the seed draws */
  uint64_t seed;
  uint64_t max_instructions;
  const lemma_stop* stop; /* ends the launch when it is requested; null: nothing does. "cpu" only */
  /* Zeros in these: as without them. "cpu" only. */
  int check;           /* races, missing fences and waits: lemma_report_finding */
  uint64_t check_ctas; /* of how many CTAs; 0: all */
  uint64_t schedule;   /* who runs when: 0 the usual order, any other number a legal and unusual one */
} lemma_launch_config;

/* One of the accesses of a finding. Strings are empty where nothing is known. */
typedef struct lemma_access {
  uint32_t ptx_line;
  const char* instruction; /* the PTX statement */
  const char* file;        /* of the source that it was compiled from */
  uint32_t line;
  const char* function;
  uint32_t cta[3];
  uint32_t warp;
  int32_t lane;     /* -1: the warp as a whole */
  const char* what; /* "writes 4 bytes" */
} lemma_access;

/* What the PTX ISA leaves undefined, as lemma::Finding; docs/checks.md has a section for each id. */
typedef struct lemma_finding {
  const char* id; /* "race.shared" */
  int is_note;    /* the ISA leaves it doubtful */
  const char* message;
  const char* memory; /* "tile + 0x40" */
  const char* fix;    /* the least that would order the two */
  const char* kernel;
  const char* text; /* all of that for a terminal */
  uint64_t count;   /* how often it was seen */
  lemma_access access;
  int has_earlier;
  lemma_access earlier; /* with which it is not ordered */
} lemma_finding;

/* "0.1.0" */
const char* lemma_version(void);

/* Why the last call of this thread that failed did; lines end in newlines, but for the last. Never null. */
const char* lemma_last_error(void);

/* kind: "cpu" or "cuda". Release with lemma_device_close, which frees all of its memory. */
lemma_status lemma_device_open(const char* kind, lemma_device** device);
/* The same. arch: what a virtual GPU is ("sm_90a"), may be null. max_memory_bytes: of the host's memory, what
 * a virtual GPU may take with its allocations, modules and launches; 0: half of what this process may use. */
lemma_status lemma_device_open_limited(const char* kind, const char* arch, uint64_t max_memory_bytes,
                                       lemma_device** device);
void lemma_device_close(lemma_device* device);
const char* lemma_device_name(const lemma_device* device);

/* Zeroed memory, or poisoned (0xCB on "cuda"; on "cpu" bytes that the launch's seed changes, and their use
 * before the first write is reported). The address is the kernel's. */
lemma_status lemma_allocate(lemma_device* device, uint64_t size_bytes, int poisoned, uint64_t* address);
lemma_status lemma_free(lemma_device* device, uint64_t address);
/* The range must lie inside one allocation. */
lemma_status lemma_copy_to_device(lemma_device* device, uint64_t address, const void* source,
                                  uint64_t size_bytes);
lemma_status lemma_copy_from_device(lemma_device* device, void* destination, uint64_t address,
                                    uint64_t size_bytes);

/* name: for messages; arch: what a virtual GPU is ("sm_90a"); both may be null. Release with
 * lemma_module_unload.
 */
lemma_status lemma_module_load(lemma_device* device, const char* text, size_t text_bytes, const char* name,
                               const char* arch, lemma_module** module);
void lemma_module_unload(lemma_module* module);

/* A way to end launches: those that have it in their configuration end soon after the request, with the
 * outcome LEMMA_STOPPED. A request may come from any thread, and from a signal handler; it holds for later
 * launches too. Create returns null if there is no memory. */
lemma_stop* lemma_stop_create(void);
void lemma_stop_request(lemma_stop* stop);
void lemma_stop_release(lemma_stop* stop);

/* Runs a kernel (null: the only one) to its end. arguments[i] points to the bytes of parameter i, sizes[i] of
 * them. LEMMA_OK means that it ran, or faulted: the report says which. Release with lemma_report_release. */
lemma_status lemma_launch(lemma_module* module, const char* kernel, const lemma_launch_config* config,
                          const void* const* arguments, const size_t* sizes, size_t argument_count,
                          lemma_report** report);
void lemma_report_release(lemma_report* report);
lemma_outcome lemma_report_outcome(const lemma_report* report);
/* Faults, reads of what was never written, warnings, findings but for notes; empty if there are none. */
const char* lemma_report_text(const lemma_report* report);
/* Of a launch with `check`: notes too. */
size_t lemma_report_finding_count(const lemma_report* report);
/* index: below the count. The strings are the report's. */
lemma_status lemma_report_finding(const lemma_report* report, size_t index, lemma_finding* finding);
double lemma_report_seconds(const lemma_report* report);
/* 0 where the device does not count. */
uint64_t lemma_report_lane_instructions(const lemma_report* report);
uint64_t lemma_report_matrix_flops(const lemma_report* report);

#ifdef __cplusplus
}
#endif

#endif
