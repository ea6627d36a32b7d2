// Streams: where operations go. Each is a stream of Lemma's (lemma/stream.h), in which they run while the
// program goes on; while it captures they become nodes of a graph instead.
//
// Tests: tests/driver/streams.cc, capture.cc.
#pragma once

#include "driver/operation.h"
#include "driver/types.h"
#include "lemma/stream.h"

#include <array>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace lemma::driver {

class Context;
class Graph;
class Stream;
struct Node;

inline constexpr int kLeastPriority = 0;
inline constexpr int kGreatestPriority = -5;

// A capture under way, shared by the streams that have joined it.
struct Capture {
  uint64_t id = 0;
  std::shared_ptr<Graph> graph;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread; // that began it
  const void* origin = nullptr;
  bool is_invalid = false;
  std::vector<std::weak_ptr<Stream>> joined = {}; // with the origin
};

class Stream : public std::enable_shared_from_this<Stream> {
public:
  // `handle`: of the default streams, the number that stands for them; else null.
  Stream(Context& context, lemma::Stream queue, unsigned flags, int priority, CUstream number = nullptr);

  CUstream handle() { return number_ ? number_ : reinterpret_cast<CUstream>(this); }
  bool is_legacy_default() const { return number_ == reinterpret_cast<CUstream>(1); }

  // Gives it to the queue, or captures it. The status is what the asynchronous function returns.
  CUresult submit(Operation operation);
  // Until all that was submitted has run: the context's status.
  CUresult synchronize();
  // CUDA_ERROR_NOT_READY while something runs.
  CUresult query();
  bool has_work() const { return !queue_.is_done(); } // no call of the program's: a capture stays valid

  // --- capture
  // Null: it captures nothing.
  const std::shared_ptr<Capture>& capture() const { return capture_; }
  std::vector<Node*>& capture_tail() { return tail_; }
  CUresult begin_capture(CUstreamCaptureMode mode, std::shared_ptr<Graph> graph,
                         std::vector<Node*> dependencies);
  CUresult end_capture(std::shared_ptr<Graph>& graph);
  void join_capture(std::shared_ptr<Capture> capture);
  void add_to_capture(Operation operation);

  // While some stream captures, calls that wait, or touch what other streams may be using, are not allowed:
  // any for cuCtxSynchronize, for the others those whose mode says so. True: the captures are invalid now.
  static bool any_captures(const Context& context);
  static bool any_captures_strictly(const Context& context);
  // Whether it is the legacy stream, and would wait for a blocking stream that captures; that is invalid now.
  bool is_kept_by_capture() const;

  Context* const context;
  const uint64_t id; // of the process, never used again
  const unsigned flags;
  int priority;
  std::array<std::optional<CUstreamAttrValue>, CU_LAUNCH_ATTRIBUTE_MAX> attributes = {};

private:
  const lemma::Stream queue_;
  const CUstream number_;
  std::shared_ptr<Capture> capture_;
  std::vector<Node*> tail_; // the nodes that the next one depends on
};

// The stream of that handle, or the default stream that its number stands for. CUDA_ERROR_INVALID_HANDLE.
CUresult find_stream(Context& context, CUstream handle, std::shared_ptr<Stream>& stream);

} // namespace lemma::driver
