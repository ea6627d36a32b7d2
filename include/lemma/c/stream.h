// Of the C API (lemma/c.h): streams, events and asynchronous copies. As lemma/stream.h.
//
// Tests: tests/unit/capi/stream_test.cc.
#ifndef LEMMA_C_STREAM_H
#define LEMMA_C_STREAM_H

#include "lemma/c/device.h"
#include "lemma/c/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

// A queue: its operations run in the order in which it was given them, the host goes on meanwhile.
typedef struct lemma_stream lemma_stream;
// A point in a stream.
typedef struct lemma_event lemma_event;

typedef struct lemma_stream_options {
  size_t size;
  bool non_blocking; // does not wait for the legacy default stream, nor that for it
  uint8_t reserved[7];
} lemma_stream_options;

// --- streams

LEMMA_API const lemma_error* lemma_stream_create(lemma_device* device, const lemma_stream_options* options,
                                                 lemma_stream** stream);
// Handles to the legacy default stream, and to the calling thread's own default stream; the caller's, as one
// that was created.
LEMMA_API const lemma_error* lemma_stream_default(lemma_device* device, lemma_stream** stream);
LEMMA_API const lemma_error* lemma_stream_thread_default(lemma_device* device, lemma_stream** stream);
// Does not wait: what the stream was given is still done.
LEMMA_API void lemma_stream_release(lemma_stream* stream);

// --- what a stream is given

// Called when a launch has ended, before anything after it runs, or when it is known not to run: with a
// report, or with an error, the other is null. Both are the callback's, to be released. It comes from any
// thread, and must not wait for the device: a copy, a launch or a synchronize in it is an error.
typedef struct lemma_launch_done {
  size_t size;
  void (*call)(void* user, const lemma_report* report, const lemma_error* error);
  void* user;
} lemma_launch_done;

// As lemma_launch(), but returns before the kernel has run; its faults are errors of the stream. What the
// configuration points to (stop, what an observer points to), and `user`, must live until then; the handles
// may be released. `done` may be null. Error: invalid_argument, if the arguments do not fit the kernel; then
// `done` is not called.
LEMMA_API const lemma_error* lemma_stream_launch(lemma_stream* stream, lemma_module* module,
                                                 const char* kernel, const lemma_launch_config* config,
                                                 const lemma_bytes* arguments, size_t argument_count,
                                                 const lemma_launch_done* done);

// As lemma_copy_to_device(), lemma_copy_from_device() and lemma_fill(); copy: from device memory to device
// memory, which do not overlap. Host memory must stay, and a source as it is, until the copy has been made. A
// range that does not lie inside one allocation then is an error of the stream.
LEMMA_API const lemma_error* lemma_stream_write(lemma_stream* stream, uint64_t address, const void* source,
                                                uint64_t size_bytes);
LEMMA_API const lemma_error* lemma_stream_read(lemma_stream* stream, void* destination, uint64_t address,
                                               uint64_t size_bytes);
LEMMA_API const lemma_error* lemma_stream_fill(lemma_stream* stream, uint64_t address, uint8_t value,
                                               uint64_t size_bytes);
LEMMA_API const lemma_error* lemma_stream_copy(lemma_stream* stream, uint64_t to, uint64_t from,
                                               uint64_t size_bytes);

// A function of the host. Returns null, or an error, which becomes the library's and fails the stream
// (lemma_error_create()). It must not wait for the device. It is not called after what has failed.
typedef struct lemma_host_function {
  size_t size;
  const lemma_error* (*call)(void* user);
  void* user;
} lemma_host_function;
LEMMA_API const lemma_error* lemma_stream_call(lemma_stream* stream, const lemma_host_function* function);

// --- waiting

// Whether all has ended that the stream was given; of null: true.
LEMMA_API bool lemma_stream_is_done(const lemma_stream* stream);
// Waits for that. Errors: that of the first operation that failed, once (kernel_failed: the text is the
// fault's report); invalid_argument in a callback.
LEMMA_API const lemma_error* lemma_stream_synchronize(lemma_stream* stream);
// Waits until all streams of the device have done what they were given. Errors: likewise.
LEMMA_API const lemma_error* lemma_device_synchronize(lemma_device* device);

// The point behind all that the stream was given so far: the caller's.
LEMMA_API const lemma_error* lemma_stream_record(lemma_stream* stream, lemma_event** event);
LEMMA_API void lemma_event_release(lemma_event* event);
// What the stream is given from now on waits for the event. Error: invalid_argument (another device's).
LEMMA_API const lemma_error* lemma_stream_wait(lemma_stream* stream, const lemma_event* event);
// Whether all that its stream was given before it has ended; of null: true.
LEMMA_API bool lemma_event_is_done(const lemma_event* event);
// Waits for that. Errors: that of what failed before it; invalid_argument in a callback.
LEMMA_API const lemma_error* lemma_event_synchronize(const lemma_event* event);
// From one to the other, of the host's time. Error: invalid_argument if one of them is not done.
LEMMA_API const lemma_error* lemma_event_elapsed(const lemma_event* begin, const lemma_event* end,
                                                 double* seconds);

#ifdef __cplusplus
}
#endif

#endif
