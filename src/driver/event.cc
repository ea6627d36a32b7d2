// Events and their functions.
#include "driver/event.h"

#include "driver/api.h"
#include "driver/call.h"
#include "driver/error.h"

#include <algorithm>

namespace lemma::driver {

CUresult Event::record(const lemma::Stream& queue) {
  Result<lemma::Event, Error> made = queue.record();
  if (!made)
    return status_of(made.error());
  const std::scoped_lock lock(mutex);
  point = *std::move(made);
  return CUDA_SUCCESS;
}

CUresult Event::make_wait(const lemma::Stream& queue) {
  const std::optional<lemma::Event> at = last();
  return at ? status_of(queue.wait(*at)) : CUDA_SUCCESS;
}

std::optional<lemma::Event> Event::last() {
  const std::scoped_lock lock(mutex);
  return point;
}

namespace {

template <class Body>
CUresult in_event(CUevent handle, Body&& body) {
  return in_context_of(handle, [&](Context&) -> CUresult {
    const std::shared_ptr<Event> event = state().events.find(handle);
    return event ? body(event) : CUDA_ERROR_INVALID_HANDLE;
  });
}

// The capture that it was last recorded in goes on.
std::shared_ptr<Capture> capture_of(Event& event) {
  const std::scoped_lock lock(event.mutex);
  return event.capture.lock();
}

// It stood for a place in a graph, and the capture is over.
bool was_lost(Event& event) {
  const std::scoped_lock lock(event.mutex);
  return event.was_lost || (event.was_captured && event.capture.expired());
}

// Why the host cannot ask for it: it stands for a place in a graph, and asking spoils the capture.
CUresult why_not_to_be_asked(Event& event) {
  if (was_lost(event))
    return CUDA_ERROR_INVALID_VALUE;
  if (const std::shared_ptr<Capture> capture = capture_of(event)) {
    capture->is_invalid = true;
    const std::scoped_lock lock(event.mutex);
    event.was_lost = true;
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  return Stream::any_captures_strictly(*event.context) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return in_context([&](Context& context) -> CUresult {
    constexpr unsigned kKnown = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!event || (flags & ~kKnown))
      return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS)
      return flags & CU_EVENT_DISABLE_TIMING ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    *event = state().events.add(std::make_shared<Event>(context, flags))->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy_v2(CUevent handle) {
  return in_context_of(handle, [&](Context&) -> CUresult {
    return state().events.take(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuEventDestroy(CUevent event) {
  return cuEventDestroy_v2(event);
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned flags) {
  return in_context_of(stream_handle, [&](Context& context) -> CUresult {
    const std::shared_ptr<Event> event = state().events.find(handle);
    if (!event)
      return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL})
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Stream> stream;
    if (const CUresult wrong = find_stream(context, stream_handle, stream); wrong != CUDA_SUCCESS)
      return wrong;
    if (event->context != stream->context)
      return CUDA_ERROR_INVALID_HANDLE;
    if ((flags & CU_EVENT_RECORD_EXTERNAL) && !stream->capture())
      return CUDA_ERROR_ILLEGAL_STATE;
    if (stream->capture() && !(flags & CU_EVENT_RECORD_EXTERNAL)) { // stands for a place in the graph
      const std::scoped_lock lock(event->mutex);
      event->capture = stream->capture();
      event->captured = stream->capture_tail();
      event->was_captured = true;
      event->was_lost = false;
      return CUDA_SUCCESS;
    }
    {
      const std::scoped_lock lock(event->mutex);
      event->capture.reset();
      event->captured.clear();
      event->was_captured = event->was_lost = false;
    }
    return stream->submit(RecordEvent{event});
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return cuEventRecordWithFlags(event, stream, 0);
}

CUresult cuEventQuery(CUevent handle) {
  return in_event(handle, [](const std::shared_ptr<Event>& event) -> CUresult {
    if (const CUresult wrong = why_not_to_be_asked(*event); wrong != CUDA_SUCCESS)
      return wrong;
    const std::optional<lemma::Event> last = event->last();
    return !last || last->is_done() ? event->context->status_after_wait() : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return in_event(handle, [](const std::shared_ptr<Event>& event) -> CUresult {
    if (const CUresult wrong = why_not_to_be_asked(*event); wrong != CUDA_SUCCESS)
      return wrong;
    if (const std::optional<lemma::Event> last = event->last())
      (void)last->synchronize(); // what failed before it is the context's fault
    return event->context->status_after_wait();
  });
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent begin_handle, CUevent end_handle) {
  return in_context_of(end_handle, [&](Context&) -> CUresult {
    const std::shared_ptr<Event> begin = state().events.find(begin_handle),
                                 end = state().events.find(end_handle);
    if (!begin || !end || !milliseconds)
      return CUDA_ERROR_INVALID_HANDLE;
    if (capture_of(*begin) || capture_of(*end))
      return CUDA_ERROR_CAPTURED_EVENT;
    const std::optional<lemma::Event> from = begin->last(), to = end->last();
    if (!begin->has_time() || !end->has_time() || !from || !to)
      return CUDA_ERROR_INVALID_HANDLE;
    const lemma::Result<double, lemma::Error> seconds = lemma::Event::elapsed_seconds(*from, *to);
    if (!seconds)
      return CUDA_ERROR_NOT_READY;
    *milliseconds = static_cast<float>(*seconds * 1e3);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, begin, end);
}

CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned flags) {
  return in_context_of(stream_handle, [&](Context& context) -> CUresult {
    const std::shared_ptr<Event> event = state().events.find(handle);
    if (!event)
      return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL})
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Stream> stream;
    if (const CUresult wrong = find_stream(context, stream_handle, stream); wrong != CUDA_SUCCESS)
      return wrong;
    if (was_lost(*event))
      return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Capture> captured = capture_of(*event);
    if (!captured || (flags & CU_EVENT_WAIT_EXTERNAL)) {
      if (stream->capture() && !(flags & CU_EVENT_WAIT_EXTERNAL)) {
        stream->capture()->is_invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION; // it would wait for something outside of the graph
      }
      return stream->submit(WaitEvent{event});
    }
    if (stream->is_legacy_default())
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (stream->capture() && stream->capture() != captured) {
      stream->capture()->is_invalid = captured->is_invalid = true;
      return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (!stream->capture())
      stream->join_capture(captured);
    for (Node* node : event->captured)
      if (std::find(stream->capture_tail().begin(), stream->capture_tail().end(), node) ==
          stream->capture_tail().end())
        stream->capture_tail().push_back(node);
    return CUDA_SUCCESS;
  });
}
