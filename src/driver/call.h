// What every entry point does around its body: is the library initialized, is a context current and sound,
// and no exception leaves.
//
// Tests: tests/driver/contexts.cc.
#pragma once

#include "driver/context.h"
#include "driver/state.h"
#include "driver/types.h"

#include <memory>
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

// Body: CUresult(Context&), with the current context, or in a thread that has none with own(); null: none
// either. No fault has taken it.
template <class Own, class Body>
CUresult in_context_or(Own&& own, Body&& body) noexcept {
  return initialized([&]() -> CUresult {
    Context* context = current_context();
    if (!context)
      context = own();
    if (!context)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (const CUresult status = context->status(); status != CUDA_SUCCESS)
      return status;
    return body(*context);
  });
}

// In the current context alone.
template <class Body>
CUresult in_context(Body&& body) noexcept {
  return in_context_or([]() -> Context* { return nullptr; }, body);
}

// The context that a thing belongs to, by its handle or address. Null: it is none, or a default stream.
template <class Found>
Context* context_of_found(const std::shared_ptr<Found>& thing) {
  return thing ? thing->context : nullptr;
}
inline Context* context_of(CUstream handle) {
  return context_of_found(state().streams.find(handle));
}
inline Context* context_of(CUevent handle) {
  return context_of_found(state().events.find(handle));
}
inline Context* context_of(CUmodule handle) {
  return context_of_found(state().modules.find(handle));
}
inline Context* context_of(CUfunction handle) {
  return context_of_found(state().functions.find(handle));
}
inline Context* context_of(CUgraphExec handle) {
  return context_of_found(state().graph_execs.find(handle));
}
inline Context* context_of(CUdeviceptr address) {
  return context_of_found(state().memory.find(address));
}

// In the current context, or that of the thing which the call names. Which calls need no current one was
// asked of an H200: tests/driver/hardware/without_context.cc.
template <class Handle, class Body>
CUresult in_context_of(Handle thing, Body&& body) noexcept {
  return in_context_or([thing] { return context_of(thing); }, body);
}

// Body: CUresult(Stream&). A default stream needs a current context; another has its own.
template <class Body>
CUresult in_stream(CUstream handle, Body&& body) noexcept {
  return in_context_of(handle, [&](Context& context) -> CUresult {
    std::shared_ptr<Stream> stream;
    const CUresult wrong = find_stream(context, handle, stream);
    return wrong == CUDA_SUCCESS ? body(*stream) : wrong;
  });
}

} // namespace lemma::driver
