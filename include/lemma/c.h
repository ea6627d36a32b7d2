// Lemma's C API: all that the C++ one does, for programs in C and for foreign-function interfaces. C99.
//
//   lemma_device* device = NULL;
//   const lemma_error* error = lemma_device_open("cpu", NULL, &device);
//   if (error) { fputs(error->rendered, stderr); lemma_error_release(error); return 1; }
//
//   lemma/c/base.h      the version, errors, messages
//   lemma/c/device.h    devices and their memory, modules, kernels, module variables, tensor maps
//   lemma/c/launch.h    how a kernel is launched
//   lemma/c/stream.h    streams, events and asynchronous copies
//   lemma/c/report.h    what a launch has to say
//   lemma/c/observer.h  what a launch does, event by event
//   lemma/c/findings.h  what checked launches have found, suppressions
//   lemma/c/explore.h   one launch in many schedules
//   lemma/c/verify.h    PTX text checked and repaired; many texts at a time
//   lemma/c/link.h     several PTX texts as one
//   lemma/c/image.h    fatbins, cubins, executables: the PTX in them
//   lemma/c/isa.h       the instructions: which there are, where they run
//   lemma/c/layout.h    who holds what: in registers, in tensor memory, tiles in shared memory
//   lemma/c/descriptor.h  descriptors of wgmma and tcgen05, field by field
//   lemma/c/mma.h       one matrix product, bit for bit
//   lemma/c/occupancy.h  how many CTAs an SM holds
//   lemma/c/npy.h       .npy files
//   lemma/c/mlir.h      MLIR programs
//
// Each is the C++ header of its name, which says more. docs/c-api.md has an example and how to link.
//
// Errors. What can fail returns an error, null if there is none; it is the caller's, to be released by
// lemma_error_release(). Results are left as they were then. No C++ exception leaves a function, and none
// prints or ends the process.
//
// Structs that the caller fills in begin with `size`: LEMMA_SIZED(type), or zeros and sizeof. Zero, and null,
// is the default of every field; a null struct is all defaults. A library that is newer than the caller's
// header takes the fields that the caller lacks for zeros; one that is older refuses fields that it lacks
// unless they are zero. In arrays of such structs all have the same size.
//
// Structs that the library fills in are seen through const pointers only, arrays of them are arrays of
// pointers, and later versions may add fields at their ends: do not copy them whole. They live as long as
// what they were asked of. What may be absent is a pointer that may be null. Strings are never null, UTF-8
// and NUL-terminated; empty if there is nothing to say. Exceptions, which never grow: lemma_bytes,
// lemma_strings, lemma_fragment_element.
//
// What the caller gives is copied, or used only during the call, unless it says otherwise. Each handle, and
// each struct by the library that is the caller's, has a release function, which takes null too. Handles may
// be released in any order: a module keeps its device until both are gone.
//
// Threads. Every function may be called from any thread, and for the same device, module or other handle from
// several at a time, except that nobody may use what another thread releases. What lemma_findings and
// lemma_suppressions have collected changes by one thread at a time. Launches on one device run one after the
// other, but for those of streams, and a copy or a free waits for the launch that runs. Callbacks come from
// any thread, one at a time and in order; one that uses the device of its launch gets an error, because the
// launch waits for it. They must not throw, nor jump out.
//
// Tests: tests/unit/capi/, tests/package/.
#ifndef LEMMA_C_H
#define LEMMA_C_H

#include "lemma/c/base.h"
#include "lemma/c/descriptor.h"
#include "lemma/c/device.h"
#include "lemma/c/explore.h"
#include "lemma/c/findings.h"
#include "lemma/c/image.h"
#include "lemma/c/isa.h"
#include "lemma/c/launch.h"
#include "lemma/c/layout.h"
#include "lemma/c/link.h"
#include "lemma/c/mlir.h"
#include "lemma/c/mma.h"
#include "lemma/c/npy.h"
#include "lemma/c/observer.h"
#include "lemma/c/occupancy.h"
#include "lemma/c/report.h"
#include "lemma/c/stream.h"
#include "lemma/c/verify.h"

#endif
