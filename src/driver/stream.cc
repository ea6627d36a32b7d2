// Streams, their captures, and the functions of both.
#include "driver/stream.h"

#include "driver/api.h"
#include "driver/call.h"
#include "driver/entry_points.h"

#include <algorithm>
#include <atomic>

namespace lemma::driver {
namespace {

// What a graph may free: not what the program has by cuMemAlloc.
bool is_of_pool(CUdeviceptr address) {
  const std::shared_ptr<Allocation> allocation = state().memory.find(address);
  return allocation && (allocation->pool || allocation->of_graph);
}

std::atomic<uint64_t> streams_made{0};
std::atomic<uint64_t> captures_made{0};
std::atomic<uint64_t> captures_open{0};
thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

struct OpenCaptures {
  std::mutex mutex;
  std::vector<std::weak_ptr<Capture>> all;
};
OpenCaptures& open_captures() {
  static OpenCaptures* captures = new OpenCaptures; // calls may come after static objects are gone
  return *captures;
}

} // namespace

Stream::Stream(Context& context, lemma::Stream queue, unsigned flags, int priority, CUstream number)
    : context(&context), id(++streams_made), flags(flags), priority(priority), queue_(std::move(queue)),
      number_(number) {}

CUresult find_stream(Context& context, CUstream handle, std::shared_ptr<Stream>& stream) {
  if (!handle)
    handle = PerThreadDefault::is_on() ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  if (handle == CU_STREAM_LEGACY)
    stream = context.legacy_stream();
  else if (handle == CU_STREAM_PER_THREAD)
    stream = context.per_thread_stream();
  else
    stream = state().streams.find(handle);
  return stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; // other contexts' too
}

CUresult Stream::submit(Operation operation) {
  if (capture_ && capture_->is_invalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (const CUresult wrong = check(operation); wrong != CUDA_SUCCESS) {
    if (capture_ && !std::holds_alternative<FreeMemory>(operation))
      capture_->is_invalid = true;
    return wrong;
  }
  if (capture_) {
    if (const auto* free = std::get_if<FreeMemory>(&operation); free && !is_of_pool(free->address))
      return CUDA_ERROR_INVALID_VALUE;
    if (std::holds_alternative<Callback>(operation)) {
      capture_->is_invalid = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    add_to_capture(std::move(operation));
    return CUDA_SUCCESS;
  }
  if (is_kept_by_capture())
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  // A default stream is that of other contexts, too: what one of them has
  // failed with is not this one's.
  if (number_ && context->status() == CUDA_SUCCESS && Context::take_failed())
    (void)queue_.synchronize();
  return enqueue(operation, queue_, *context, HostMemoryIsRead::at_once);
}

CUresult Stream::synchronize() {
  if (capture_) {
    capture_->is_invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  const Result<void, Error> done = queue_.synchronize();
  if (!done && done.error().kind == ErrorKind::invalid_argument)
    context->fail(CUDA_ERROR_ILLEGAL_ADDRESS); // a copy or fill of memory that had gone
  tell_stream_findings();
  return context->status_after_wait(!done);
}

CUresult Stream::query() {
  if (capture_) {
    capture_->is_invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return queue_.is_done() ? context->status_after_wait(!queue_.synchronize()) : CUDA_ERROR_NOT_READY;
}

void Stream::add_to_capture(Operation operation) {
  tail_ = {capture_->graph->add(std::move(operation), tail_)};
}

void Stream::join_capture(std::shared_ptr<Capture> capture) {
  capture->joined.push_back(weak_from_this());
  capture_ = std::move(capture);
}

CUresult Stream::begin_capture(CUstreamCaptureMode mode, std::shared_ptr<Graph> graph,
                               std::vector<Node*> dependencies) {
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  if (is_legacy_default())
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (capture_)
    return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = ++captures_made;
  capture->graph = std::move(graph);
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = this;
  tail_ = std::move(dependencies);
  {
    OpenCaptures& open = open_captures();
    const std::scoped_lock lock(open.mutex);
    open.all.push_back(capture);
  }
  ++captures_open;
  join_capture(std::move(capture));
  return CUDA_SUCCESS;
}

CUresult Stream::end_capture(std::shared_ptr<Graph>& graph) {
  if (!capture_)
    return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<Capture> capture = capture_;
  if (capture->origin != this) {
    capture->is_invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  const bool by_another =
      capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id();
  // What other streams have last must be something that this one has waited for.
  std::vector<Node*> reached = tail_;
  for (size_t i = 0; i < reached.size(); ++i)
    for (Node* before : reached[i]->dependencies)
      if (std::find(reached.begin(), reached.end(), before) == reached.end())
        reached.push_back(before);
  bool unjoined = false;
  for (const std::weak_ptr<Stream>& other : capture->joined)
    if (const std::shared_ptr<Stream> stream = other.lock()) {
      for (Node* last : stream->tail_)
        unjoined |= std::find(reached.begin(), reached.end(), last) == reached.end();
      if (stream.get() != this) {
        stream->capture_ = nullptr;
        stream->tail_.clear();
      }
    }
  capture_ = nullptr;
  tail_.clear();
  --captures_open;
  graph = capture->is_invalid || unjoined || by_another ? nullptr : capture->graph;
  return by_another            ? CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD // and over all the same
         : capture->is_invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
         : unjoined            ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                               : CUDA_SUCCESS;
}

namespace {

// Makes those captures invalid that are `meant`; whether there are any.
template <class Meant>
bool invalidate_captures(Meant&& meant) {
  if (captures_open == 0)
    return false;
  OpenCaptures& open = open_captures();
  const std::scoped_lock lock(open.mutex);
  bool any = false;
  std::erase_if(open.all, [](const std::weak_ptr<Capture>& each) { return each.expired(); });
  for (const std::weak_ptr<Capture>& each : open.all)
    if (const std::shared_ptr<Capture> capture = each.lock(); capture && meant(*capture)) {
      capture->is_invalid = true;
      any = true;
    }
  return any;
}

} // namespace

bool Stream::any_captures(const Context&) {
  return invalidate_captures([](const Capture&) { return true; });
}

bool Stream::any_captures_strictly(const Context&) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
    return false;
  return invalidate_captures([](const Capture& capture) {
    const bool of_this_thread = capture.thread == std::this_thread::get_id();
    return (capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL) ||
           (capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED && of_this_thread);
  });
}

bool Stream::is_kept_by_capture() const {
  return is_legacy_default() && invalidate_captures([](const Capture& capture) {
           return std::ranges::any_of(capture.joined, [](const std::weak_ptr<Stream>& each) {
             const std::shared_ptr<Stream> stream = each.lock();
             return stream && !(stream->flags & CU_STREAM_NON_BLOCKING);
           });
         });
}

namespace {

bool are_edges_plain(const CUgraphEdgeData* edges, size_t count) {
  for (size_t i = 0; edges && i < count; ++i)
    if (edges[i].from_port || edges[i].to_port || edges[i].type)
      return false;
  return true;
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return in_context([&](Context& context) -> CUresult {
    if (!stream || (flags & ~unsigned{CU_STREAM_NON_BLOCKING}))
      return CUDA_ERROR_INVALID_VALUE;
    const bool non_blocking = (flags & CU_STREAM_NON_BLOCKING) != 0;
    auto made =
        std::make_shared<Stream>(context, state().device.create_stream({.non_blocking = non_blocking}), flags,
                                 std::clamp(priority, kGreatestPriority, kLeastPriority));
    *stream = state().streams.add(std::move(made))->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  return in_context_of(handle, [&](Context&) -> CUresult {
    // The default streams cannot be destroyed.
    const std::shared_ptr<Stream> stream = state().streams.take(handle);
    return stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuStreamDestroy(CUstream stream) {
  return cuStreamDestroy_v2(stream);
}

CUresult cuStreamSynchronize(CUstream handle) {
  return in_stream(handle, [](Stream& stream) -> CUresult {
    if (stream.is_kept_by_capture())
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (Stream::any_captures_strictly(*stream.context))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return stream.synchronize();
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return in_stream(handle, [](Stream& stream) -> CUresult {
    if (stream.is_kept_by_capture())
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (Stream::any_captures_strictly(*stream.context))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return stream.query();
  });
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* data, unsigned flags) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    if (!callback || flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    return stream.submit(Callback{[=](CUresult status) { callback(handle, status, data); }});
  });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    if (!flags)
      return CUDA_ERROR_INVALID_VALUE;
    *flags = stream.flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    if (!priority)
      return CUDA_ERROR_INVALID_VALUE;
    *priority = stream.priority;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    if (!id)
      return CUDA_ERROR_INVALID_VALUE;
    *id = stream.id;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  return in_stream(handle, [&](Stream&) -> CUresult {
    if (!device)
      return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    if (!context)
      return CUDA_ERROR_INVALID_VALUE;
    *context = stream.context->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
  if (green)
    *green = nullptr;
  return cuStreamGetCtx(handle, context);
}

namespace {

bool is_stream_attribute(CUstreamAttrID attribute) {
  return attribute == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW ||
         attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
         attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY || attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN ||
         attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP;
}

} // namespace

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID attribute, const CUstreamAttrValue* value) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    if (!value || !is_stream_attribute(attribute))
      return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY &&
        (value->syncPolicy < CU_SYNC_POLICY_AUTO || value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC))
      return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY)
      stream.priority = std::clamp(value->priority, kGreatestPriority, kLeastPriority);
    stream.attributes[attribute] = *value;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    if (!value || !is_stream_attribute(attribute))
      return CUDA_ERROR_INVALID_VALUE;
    CUstreamAttrValue unset{};
    if (attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
      unset.syncPolicy = CU_SYNC_POLICY_AUTO;
    if (attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP)
      unset.memSyncDomainMap.remote = 1;
    *value = stream.attributes[attribute].value_or(unset);
    if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY)
      value->priority = stream.priority;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
  return in_stream(to, [&](Stream& target) -> CUresult {
    return in_stream(from, [&](Stream& source) -> CUresult {
      target.attributes = source.attributes;
      target.priority = source.priority;
      return CUDA_SUCCESS;
    });
  });
}

// --- capture

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return in_stream(handle,
                   [&](Stream& stream) { return stream.begin_capture(mode, std::make_shared<Graph>(), {}); });
}

CUresult cuStreamBeginCapture(CUstream stream) {
  return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph_handle, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    const std::shared_ptr<Graph> graph = state().graphs.find(graph_handle);
    if (!graph)
      return CUDA_ERROR_INVALID_VALUE;
    if (!are_edges_plain(edges, count))
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<Node*> nodes;
    if (const CUresult wrong = find_nodes(*graph, dependencies, count, nodes); wrong != CUDA_SUCCESS)
      return wrong;
    return stream.begin_capture(mode, graph, std::move(nodes));
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    if (graph)
      *graph = nullptr;
    std::shared_ptr<Graph> captured;
    const CUresult status = stream.end_capture(captured);
    if (captured && graph) {
      *graph = captured->handle();
      if (!state().graphs.find(captured.get())) // else the program has it already
        state().graphs.add(std::move(captured));
    }
    return status;
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    if (!status)
      return CUDA_ERROR_INVALID_VALUE;
    if (stream.is_kept_by_capture())
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = !stream.capture()              ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream.capture()->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                             : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, size_t* count) {
  const CUresult wrong = cuStreamIsCapturing(handle, status);
  if (wrong != CUDA_SUCCESS || *status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return wrong;
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    const Capture& capture = *stream.capture();
    if (id)
      *id = capture.id;
    if (graph) {
      *graph = capture.graph->handle();
      if (!state().graphs.find(capture.graph.get()))
        state().graphs.add(capture.graph); // whose handle the program has from now on
    }
    if (dependencies)
      *dependencies = reinterpret_cast<const CUgraphNode*>(stream.capture_tail().data());
    if (edges)
      *edges = nullptr;
    if (count)
      *count = stream.capture_tail().size();
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies, size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, nullptr, count);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode* dependencies,
                                              const CUgraphEdgeData* edges, size_t count, unsigned flags) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    if (!stream.capture())
      return CUDA_ERROR_ILLEGAL_STATE;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
      return CUDA_ERROR_INVALID_VALUE;
    if (!are_edges_plain(edges, count))
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<Node*> nodes;
    if (const CUresult wrong = find_nodes(*stream.capture()->graph, dependencies, count, nodes);
        wrong != CUDA_SUCCESS)
      return wrong;
    std::vector<Node*>& tail = stream.capture_tail();
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
      tail.clear();
    for (Node* node : nodes)
      if (std::find(tail.begin(), tail.end(), node) == tail.end())
        tail.push_back(node);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, size_t count,
                                           unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return initialized([&]() -> CUresult {
    if (!mode)
      return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, thread_mode);
    return CUDA_SUCCESS;
  });
}
