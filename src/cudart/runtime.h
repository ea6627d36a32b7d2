// What the runtime stands on: the driver, loaded when it is first needed; the primary context, made current
// in a thread when its first call needs one; each thread's last error.
//
// Nothing of it is ever destroyed: programs call from atexit handlers and destructors of their own.
//
// Tests: tests/cudart/errors.cc, device.cc, threads.cc.
#pragma once

#include "cudart/types.h"
#include "driver/types.h"

namespace lemma::cudart {

// The driver's functions by their symbols.
struct Driver {
#define IMPLEMENTED(name, version, symbol, parameters) CUresult(*symbol) parameters = nullptr;
#define REFUSED(name, version, symbol, parameters, error) IMPLEMENTED(name, version, symbol, parameters)
#define PER_THREAD(name, version, variant, symbol, parameters, arguments, base)
#include "driver/entry_points.def"
#undef IMPLEMENTED
#undef REFUSED
#undef PER_THREAD
};

// The driver, initialized. Null: it is not there, or cannot start; `error` says which. While this thread is
// inside a PerThreadDefault, the one whose functions take the thread's own default stream for stream 0.
const Driver* start(cudaError_t& error);

// Makes the primary context current if this thread has none, and brings it back after a reset.
cudaError_t ensure_context(const Driver& driver);
// The primary context is current from now on.
cudaError_t use_primary_context(const Driver& driver);
// Destroys what lives in the primary context. The next call that needs one begins it anew.
cudaError_t reset_primary_context(const Driver& driver);

// While one lives, stream 0 is the calling thread's default stream, not the legacy one.
class PerThreadDefault {
public:
  PerThreadDefault();
  ~PerThreadDefault();
  PerThreadDefault(const PerThreadDefault&) = delete;
};

// Remembers it for cudaGetLastError, unless it is cudaSuccess or, as on an H200, cudaErrorNotReady; gives it
// back.
cudaError_t record(cudaError_t error);
cudaError_t last_error();
void clear_last_error();

// Returns cudaErrorNotSupported; with LEMMA_VERBOSE set, a line on standard error names the function.
cudaError_t refuse(const char* symbol);

} // namespace lemma::cudart
