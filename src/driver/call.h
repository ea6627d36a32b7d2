// What every entry point does around its body: is the library initialized, is a context current and sound,
// and no exception leaves.
//
// Tests: tests/driver/contexts.cc.
#pragma once

#include "driver/context.h"
#include "driver/state.h"
#include "driver/types.h"

#include <new>

namespace lemma::driver {

// Body: CUresult(). Needs cuInit, and not to be called by a function of the host that a stream has called.
template <class Body>
CUresult initialized(Body&& body) noexcept {
  if (const CUresult status = why_not_initialized(); status != CUDA_SUCCESS)
    return status;
  if (in_host_function())
    return CUDA_ERROR_NOT_PERMITTED;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

// Body: CUresult(Context&), with the current context, which no fault has taken.
template <class Body>
CUresult in_context(Body&& body) noexcept {
  return initialized([&]() -> CUresult {
    Context* context = current_context();
    if (!context)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (const CUresult status = context->status(); status != CUDA_SUCCESS)
      return status;
    return body(*context);
  });
}

} // namespace lemma::driver
