// Of the C API (lemma/c.h): findings of several launches put together, the kinds that there are, and those
// that are known and stay. As lemma/findings.h and lemma/suppressions.h.
//
// Tests: tests/unit/capi/findings_test.cc.
#ifndef LEMMA_C_FINDINGS_H
#define LEMMA_C_FINDINGS_H

#include "lemma/c/base.h"
#include "lemma/c/device.h"
#include "lemma/c/explore.h"
#include "lemma/c/report.h"

#ifdef __cplusplus
extern "C" {
#endif

// A kind of finding.
typedef struct lemma_finding_kind {
  const char* id;      // "race.shared"
  const char* summary; // one line, without a full stop
} lemma_finding_kind;
typedef struct lemma_finding_kinds {
  size_t count; // in the order of docs/checks.md
  const lemma_finding_kind* const* items;
} lemma_finding_kinds;
// Of the process: not to be released. Null if there is no memory.
LEMMA_API const lemma_finding_kinds* lemma_list_finding_kinds(void);

// --- suppressions: a text file that says which findings are known, and why

typedef struct lemma_suppressions lemma_suppressions;

typedef struct lemma_suppression {
  const char* id;                 // may have * and ?
  const char* file;               // likewise; empty: any
  uint32_t first_line, last_line; // 0: any
  const char* function;           // likewise; empty: any
  const char* why;
  uint32_t line; // where it stands in the file
  uint64_t used; // findings that it has suppressed
} lemma_suppression;

typedef struct lemma_suppressions_info {
  const char* name;
  size_t entry_count;
  const lemma_suppression* const* entries;
  size_t unused_count; // a warning for each entry that has suppressed nothing so far
  const lemma_message* const* unused;
} lemma_suppressions_info;

// `name`: of the file, for messages. Error: rejected, with a message for each line that is wrong.
LEMMA_API const lemma_error* lemma_suppressions_parse(const char* text, size_t text_bytes, const char* name,
                                                      lemma_suppressions** suppressions);
LEMMA_API void lemma_suppressions_release(lemma_suppressions* suppressions);
// Lives until the next call with the same handle.
LEMMA_API const lemma_error* lemma_suppressions_describe(lemma_suppressions* suppressions,
                                                         const lemma_suppressions_info** info);

// --- findings of several launches

typedef struct lemma_findings lemma_findings;

typedef struct lemma_findings_info {
  size_t finding_count;
  const lemma_finding* const* findings;
  size_t errors; // neither notes nor suppressed
  size_t notes;
  size_t suppressed;           // errors and notes
  const char* summary;         // "2 findings, 1 note, 3 suppressed"
  const char* text;            // for a terminal: those that are neither notes nor suppressed
  const char* text_with_notes; // for a terminal: those that are not suppressed
} lemma_findings_info;

LEMMA_API const lemma_error* lemma_findings_create(lemma_findings** findings);
LEMMA_API void lemma_findings_release(lemma_findings* findings);
// Adds those of a launch. A defect that both have - the same id between the same instructions - stays one,
// and its counts are added.
LEMMA_API const lemma_error* lemma_findings_add(lemma_findings* findings, const lemma_report* report);
// Likewise those of several schedules.
LEMMA_API const lemma_error* lemma_findings_add_explored(lemma_findings* findings,
                                                         const lemma_exploration* exploration);
// Adds those of the id "stream.race" that a device has made since the last call
// (lemma_device_options.check_streams), between operations of streams that have ended.
LEMMA_API const lemma_error* lemma_findings_add_streams(lemma_findings* findings, lemma_device* device);
// Sets lemma_finding.suppressed. Of several entries that fit the first counts as used.
LEMMA_API const lemma_error* lemma_findings_suppress(lemma_findings* findings,
                                                     lemma_suppressions* suppressions);
// Lives until the next call with the same handle.
LEMMA_API const lemma_error* lemma_findings_describe(lemma_findings* findings,
                                                     const lemma_findings_info** info);

#ifdef __cplusplus
}
#endif

#endif
